#!/usr/bin/env bats
# A bookie is listed while it serves, whatever happens to its session
# (spec/metadata.md 5.3, design/bookie.md 6).
# stores: local zk
# limit: 240 s

load lib
load frames

setup() {
	enter_own_folder
	start_own_store
	new_cluster
}

teardown() {
	[ "$store" != zk ] || stop_zookeeper
	leave_own_folder
}

# A test that stops ZooKeeper needs one of its own.
setup_file() {
	:
}

teardown_file() {
	:
}

start_own_store() {
	[ "$store" != zk ] || start_zookeeper
}

# listed ID STATE MODE: as bk-ledger shows it.
listed() {
	bk-ledger bookies 2>/dev/null | cut -f 1-3 | grep -qx "$1	$2	$3"
}

@test "listed when ready, in the other list when read-only, gone at the end" {
	start_bookie b1 --id one
	listed one up writable
	kill -USR2 "${pid[b1]}"
	wait_until 10 listed one up read-only
	kill -USR2 "${pid[b1]}"
	wait_until 10 listed one up writable
	stop b1
	listed one down ''
	start_bookie b1 --id one --read-only
	listed one up read-only
}

@test "what it tells: address, and on the embedded store its pid" {
	start_bookie b1 --id one --rack /floor/2 --advertise 127.0.0.1:7777
	bk-ledger bookies -J one | jq -e '.address == "127.0.0.1:7777"'
	[ "$store" = zk ] ||
	    bk-ledger bookies -J one | jq -e ".pid == ${pid[b1]}"
}

@test "killed and started again it serves at once, and stays listed" {
	start_bookie b1 --id one --session-timeout 2s
	stop b1 KILL
	local began=$EPOCHREALTIME
	start_bookie b1 --id one --session-timeout 2s
	[ $((${EPOCHREALTIME/[.,]/} - ${began/[.,]/})) -lt 1900000 ]
	expect "127.0.0.1:${port[b1]}" "$(add2 1 0)" "$(added2 0 1 0)"
	# The predecessor's node goes with its session, and ours takes its place.
	[ "$store" != zk ] || wait_until 20 grep -q 'registered' b1.log
	wait_until 20 listed one up writable
}

@test "an expired session is replaced by itself, and adds go on" {
	[ "$store" = zk ] || return 0
	start_bookie b1 --id one --session-timeout 1s
	kill -STOP "${pid[b1]}"
	wait_until 30 listed one down ''
	kill -CONT "${pid[b1]}"
	expect "127.0.0.1:${port[b1]}" "$(add2 1 0)" "$(added2 0 1 0)"
	wait_until 30 listed one up writable
	grep -q 'session expired' b1.log
}

@test "the store goes away and comes back: adds go on, the bookie is listed" {
	[ "$store" = zk ] || return 0
	start_bookie b1 --id one
	kill -KILL "$ZK_PID"
	wait_until 20 grep -q 'metadata store:.*serving goes on' b1.log
	expect "127.0.0.1:${port[b1]}" "$(add2 1 0)" "$(added2 0 1 0)"
	restart_zookeeper
	wait_until 30 grep -q 'in touch again' b1.log
	wait_until 30 listed one up writable
	stop b1
	[ "$status" -eq 0 ]
}

@test "the store is away at the end: the bookie ends all the same" {
	[ "$store" = zk ] || return 0
	start_bookie b1 --id one
	kill -KILL "$ZK_PID"
	wait_until 20 grep -q 'metadata store:.*serving goes on' b1.log
	stop b1
	[ "$status" -eq 0 ]
	restart_zookeeper
}

@test "--stay-listed: unused it leaves, and remains listed" {
	start_bookie b1 --id one --idle-exit 300ms --stay-listed
	await b1
	[ "$status" -eq 0 ]
	listed one down writable
	start_bookie b1 --id one --read-only --stay-listed
	wait_until 10 listed one up read-only
	stop b1
	listed one down read-only
	start_bookie b1 --id one
	wait_until 10 listed one up writable
	stop b1
	listed one down ''
}
