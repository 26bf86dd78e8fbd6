#!/usr/bin/env bats
# A bookie's signals, readiness and ways of ending (cli.md 1.5, 3.6).

load lib
load frames

setup() {
	enter_own_folder
	new_cluster
}

@test "TERM and INT: what is in hand is answered, exit status 0" {
	local signal
	for signal in TERM INT; do
		start_bookie b1
		at=127.0.0.1:${port[b1]}
		start "$signal" frame "$at" send "$(add2 1 0)" recv 1 end
		wait_until 10 test -s "$signal.out"
		stop b1 "$signal"
		[ "$status" -eq 0 ]
		await "$signal"
		[ "$(cat "$signal.out")" = "$(added2 0 1 0)"$'\n'end ]
	done
}

@test "after TERM the next start replays nothing" {
	start_bookie b1
	at=127.0.0.1:${port[b1]}
	expect "$at" "$(add2 1 0)" "$(added2 0 1 0)"
	stop b1
	start_bookie b1
	run grep replayed b1.log
	[ "$status" -eq 1 ]
	expect "$at" "$(read2 1 0)" "$(got2 1 0 "$(entry 1 0)")"
	stop b1 KILL
	start_bookie b1
	expect "$at" "$(read2 1 0)" "$(got2 1 0 "$(entry 1 0)")"
}

@test "a stopped bookie is off the list at once" {
	start_bookie b1
	stop b1
	[ "$(bk-ledger bookies | cut -f 2)" = down ]
}

@test "no signal ends it that does not mean to" {
	local signal
	start_bookie b1
	for signal in HUP USR1 USR2 PIPE WINCH ALRM VTALRM PROF IO PWR STKFLT \
	    XFSZ RTMIN RTMAX CONT CHLD URG; do
		kill -$signal "${pid[b1]}"
	done
	expect "127.0.0.1:${port[b1]}" "$(read2 1 0)" "$(failed2 1 1 0)"
	stop b1
	[ "$status" -eq 0 ]
}

@test "USR1 writes one line of JSON" {
	start_bookie b1
	expect "127.0.0.1:${port[b1]}" "$(add2 1 0)" "$(added2 0 1 0)"
	kill -USR1 "${pid[b1]}"
	wait_until 10 grep -q '^{' b1.log
	grep '^{' b1.log | jq -e '.adds == 1 and .readonly == false and
	    .connections_ever == 1 and .space_total > 0'
}

@test "HUP: a new setting is taken, a bad file refused and the old one kept" {
	echo 'gc-interval 1h' >config
	start_bookie b1 -C config
	at=127.0.0.1:${port[b1]}
	echo 'read-only yes' >>config
	kill -HUP "${pid[b1]}"
	wait_until 10 grep -q 'configuration read again' b1.log
	expect "$at" "$(add2 1 0)" "$(added2 105 1 0)"
	echo 'no-such-name 1' >>config
	kill -HUP "${pid[b1]}"
	wait_until 10 grep -q 'error: .*config:3' b1.log
	[ "$(grep -c error: b1.log)" -eq 1 ]
	expect "$at" "$(add2 1 0)" "$(added2 105 1 0)"
	echo 'read-only no' >config
	kill -HUP "${pid[b1]}"
	wait_until 10 grep -q writable b1.log
	expect "$at" "$(add2 1 0)" "$(added2 0 1 0)"
}

@test "ready means ready: a newline, and the first add succeeds at once" {
	local port
	mkfifo ready
	start b1 bk-bookied --listen 127.0.0.1:0 --data "$dir/b1" --id one \
	    --ready-fd 7 --ports-file ports 7<>ready
	[ "$(timeout 20 head -c 1 ready | xxd -p)" = 0a ]
	expect "$(cat ports)" "$(add2 1 0)" "$(added2 0 1 0)"
}

@test "--ports-file names every socket, --listen takes several" {
	start_bookie b1 --listen "[::1]:0" --listen "unix:$dir/here" \
	    --ports-file ports
	[ "$(sed -n 1p ports)" = "127.0.0.1:${port[b1]}" ]
	[[ $(sed -n 2p ports) == '[::1]:'[0-9]* ]]
	[ "$(sed -n 3p ports)" = "unix:$dir/here" ]
	while read -r at; do
		expect "$at" "$(add2 1 0)" "$(added2 0 1 0)"
	done <ports
	stop b1
	[ ! -e here ]
}

@test "--advertise is what clients are told and the id is made of" {
	start_bookie b1 --advertise bookie.example:7000
	grep -q '^bookieHost: "bookie.example:7000"' b1/data/current/VERSION
}

@test "a port in use: 71, with the address, and nothing else is bound" {
	start_bookie b1
	start b2 bk-bookied --data "$dir/b2" --listen 127.0.0.1:0 \
	    --listen "127.0.0.1:${port[b1]}"
	await b2
	[ "$status" -eq 71 ]
	grep -q "127.0.0.1:${port[b1]}.*process ${pid[b1]}" b2.log
}

@test "--daemon returns when ready, and passes on why it is not" {
	run bk-bookied --daemon --data "$dir/b1" --id one --listen 127.0.0.1:0 \
	    --ports-file ports --pidfile pid
	[ "$status" -eq 0 ]
	expect "$(cat ports)" "$(add2 1 0)" "$(added2 0 1 0)"
	run bk-bookied --daemon --data "$dir/b2" --id two --listen 127.0.0.1:0 \
	    --pidfile pid
	[ "$status" -eq 78 ]
	[[ $output == *pid:*locked* ]]
	kill "$(cat pid)"
	wait_until 10 flock -n pid true
}

@test "-t tests the configuration and touches nothing" {
	echo "data $dir/b1" >config
	bk-bookied -t -C config
	echo 'dta x' >>config
	run bk-bookied -t -C config
	[ "$status" -eq 78 ]
	[[ $output == *config:2* ]]
	run bk-bookied -t --cluster nonsense:// --data "$dir/b1"
	[ "$status" -eq 78 ]
	[ ! -e b1 ]
}

@test "usage errors are 64" {
	run bk-bookied --data "$dir/b1" operand
	[ "$status" -eq 64 ]
	run bk-bookied --cluster zk://127.0.0.1/l --data d --idle-exit 5s
	[ "$status" -eq 64 ]
	[[ $output == *--stay-listed* ]]
	run bk-bookied --cluster zk://127.0.0.1/l
	[ "$status" -eq 64 ]
	[ "${#lines[@]}" -eq 2 ]
}

@test "a metadata store that is not there is 69, and named" {
	run bk-bookied --cluster "zk://127.0.0.1:$(free_port)/l" --data "$dir/b1"
	[ "$status" -eq 69 ]
	[[ $output == *'Connection refused'* ]]
}

@test "-u: it becomes that user once the sockets are bound" {
	[ "$(id -u)" -eq 0 ] || return 0
	install -d -o nobody b1 cluster
	local above=$dir
	until [ "$above" = / ]; do
		chmod o+x "$above"
		above=${above%/*}
		above=${above:-/}
	done
	start_bookie b1 -u nobody
	[ "$(stat -c %U "/proc/${pid[b1]}")" = nobody ]
	grep -q '^Uid:.*65534.*65534.*65534.*65534' "/proc/${pid[b1]}/status"
	run bk-bookied --data "$dir/b2" --id x -u no-such-user
	[ "$status" -eq 78 ]
}

@test "an idle bookie is small" {
	start_bookie b1
	expect "127.0.0.1:${port[b1]}" "$(add2 1 0)" "$(added2 0 1 0)"
	# Sanitizers have a shadow of all memory; the figure is the program's own.
	local most=8192
	[[ $build != */san ]] || most=81920
	[ "$(awk '/^VmRSS:/ { print $2 }' "/proc/${pid[b1]}/status")" -lt $most ]
}
