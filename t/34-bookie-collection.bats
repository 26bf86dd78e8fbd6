#!/usr/bin/env bats
# Ledgers whose metadata is gone are removed, and no others (design/bookie.md
# 5, spec/metadata.md 2.6).
# stores: local zk

load lib
load frames

setup() {
	enter_own_folder
	new_cluster
}

# make N: a ledger in the metadata; its id is printed.
make() {
	bk-ledger create -E 1 -W 1 -A 1
}

holds() {
	expect "$at" "$(read2 "$1" 0)" "$(got2 "$1" 0 "$(entry "$1" 0)")" \
	    2>/dev/null
}

lacks() {
	expect "$at" "$(read2 "$1" 0)" "$(failed2 1 "$1" 0)" 2>/dev/null
}

@test "a deleted ledger goes after two passes, others stay" {
	local kept gone
	start_bookie b1 --gc-interval 200ms
	at=127.0.0.1:${port[b1]}
	kept=$(make)
	gone=$(make)
	expect "$at" "$(add2 "$kept" 0)" "$(added2 0 "$kept" 0)"
	expect "$at" "$(add2 "$gone" 0)" "$(added2 0 "$gone" 0)"
	bk-ledger delete -y "$gone"
	wait_until 20 lacks "$gone"
	holds "$kept"
	grep -q "ledger $gone: removed" b1.log
	# And it is gone for good.
	stop b1 KILL
	start_bookie b1
	lacks "$gone"
	holds "$kept"
}

@test "a fenced ledger that was deleted stays fenced" {
	local gone
	start_bookie b1 --gc-interval 200ms
	at=127.0.0.1:${port[b1]}
	gone=$(make)
	expect "$at" "$(add2 "$gone" 0)" "$(added2 0 "$gone" 0)"
	expect "$at" "$(fence2 "$gone" 0)" \
	    "$(got2 "$gone" 0 "$(entry "$gone" 0)")"
	bk-ledger delete -y "$gone"
	wait_until 20 lacks "$gone"
	expect "$at" "$(add2 "$gone" 1)" "$(added2 104 "$gone" 1)"
	expect "$at" "$(add2 "$gone" 1 x 0006)" "$(added2 104 "$gone" 1)"
	expect "$at" "$(fence2 "$gone" 0)" "$(failed2 1 "$gone" 0)"
	stop b1 KILL
	start_bookie b1
	expect "$at" "$(add2 "$gone" 1)" "$(added2 104 "$gone" 1)"
}

@test "too many at once: it stops and says so" {
	local i all=
	start_bookie b1 --gc-interval 200ms
	at=127.0.0.1:${port[b1]}
	for ((i = 1000; i < 1150; i++)); do
		all+=$(add2 $i 0)
	done
	frame "$at" send "$all" recv 150 >answers
	wait_until 20 grep -q 'collection: stopped: 150 of 150' b1.log
	holds 1000
	holds 1149
}

@test "a store that is away keeps everything" {
	[ "$store" = zk ] || return 0
	start_bookie b1 --gc-interval 200ms
	at=127.0.0.1:${port[b1]}
	expect "$at" "$(add2 7 0)" "$(added2 0 7 0)"
	kill -STOP "$ZK_PID"
	wait_until 20 grep -q 'serving goes on' b1.log
	holds 7
	kill -CONT "$ZK_PID"
	wait_until 30 lacks 7
}
