#!/usr/bin/env bats
# A bookie started by others: systemd, inetd, --local (cli.md 1.5, 3.6).

load lib
load frames

setup() {
	enter_own_folder
	new_cluster
}

# systemd-socket-activate waits for a connection before it starts us.
activate() {
	start activate systemd-socket-activate -l "127.0.0.1:$1" \
	    --fdname=bookie -E BK_CLUSTER -E HOME \
	    "$build/bin/bk-bookied" --data "$dir/b1" --id one "${@:2}"
	wait_until 10 listens "$1"
}

# listens PORT: somebody does.
listens() {
	local hex
	hex=$(printf %04X "$1")
	awk -v at=":$hex" '$2 ~ at "$" && $4 == "0A" { found = 1 }
	    END { exit !found }' /proc/net/tcp
}

@test "systemd hands in the socket" {
	local port
	port=$(free_port)
	activate "$port" --listen 127.0.0.1:1
	expect "127.0.0.1:$port" "$(add2 1 0)" "$(added2 0 1 0)"
	grep -q -- '--listen is overridden' activate.log
	stop activate
	[ "$status" -eq 0 ]
}

@test "systemd is told of readiness, reload and the end" {
	start told socat -u UNIX-RECVFROM:notify,fork STDOUT
	wait_until 10 test -S notify
	NOTIFY_SOCKET=$dir/notify start_bookie b1
	wait_until 10 grep -q READY=1 told.out
	kill -HUP "${pid[b1]}"
	wait_until 10 grep -q RELOADING=1 told.out
	stop b1
	wait_until 10 grep -q STOPPING=1 told.out
}

# begin_inetd HOW OPTION...: a real inetd in front of b1's data, at $inetd_port.
begin_inetd() {
	inetd_port=$(free_port)
	cat >bookie-of-inetd <<-END
		#!/bin/sh
		HOME='$HOME' BK_CLUSTER='$BK_CLUSTER' exec '$build/bin/bk-bookied' \
		    --data '$dir/b1' --id one ${*:2}
	END
	chmod +x bookie-of-inetd
	echo "127.0.0.1:$inetd_port stream tcp $1 $(id -un) $dir/bookie-of-inetd bookie" \
	    >inetd.conf
	start inetd /usr/sbin/inetd -i "$dir/inetd.conf"
	wait_until 10 listens "$inetd_port"
}

@test "inetd wait: a bookie comes, leaves when unused, and comes again" {
	local i
	begin_inetd wait --idle-exit 300ms --gc-interval 1h
	for i in 0 1 2; do
		expect "127.0.0.1:$inetd_port" "$(add2 1 $i)" "$(added2 0 1 $i)"
		wait_until 20 nobody_serves
	done
	expect "127.0.0.1:$inetd_port" "$(read2 1 0)" \
	    "$(got2 1 0 "$(entry 1 0)")"
}

nobody_serves() {
	! pgrep -f "bk-bookied --data $dir/b1" >/dev/null
}

@test "inetd wait: no connection is lost while it comes and goes" {
	local i
	begin_inetd wait --idle-exit 20ms --gc-interval 1h
	for ((i = 0; i < 60; i++)); do
		expect "127.0.0.1:$inetd_port" "$(add2 1 "$i")" \
		    "$(added2 0 1 "$i")"
	done
}

@test "inetd wait: a start that fails ends what waits, and takes its time" {
	begin_inetd wait --no-such-option
	local began=$EPOCHREALTIME
	[ "$(frame "127.0.0.1:$inetd_port" end)" = end ]
	wait_until 20 nobody_serves
	[ $((${EPOCHREALTIME/[.,]/} - ${began/[.,]/})) -gt 4000000 ]
}

@test "inetd nowait: the connection is handed to the running bookie" {
	start b1 bk-bookied --data "$dir/b1" --id one --listen 127.0.0.1:0 \
	    --ports-file ports
	wait_until 20 test -s ports
	begin_inetd nowait
	expect "127.0.0.1:$inetd_port" "$(add2 1 0)" "$(added2 0 1 0)"
	expect "$(cat ports)" "$(read2 1 0)" "$(got2 1 0 "$(entry 1 0)")"
	stop b1
	run frame "127.0.0.1:$inetd_port" end
	[[ $output =~ ^(end|reset)$ ]]
}

@test "the shipped unit files, inetd line and cron line are sound" {
	local folder=$top/bk-bookied
	sed "s|/usr/local/sbin|$build/bin|" "$folder/bk-bookied.service" \
	    >bk-bookied.service
	cp "$folder/bk-bookied.socket" .
	systemd-analyze verify --man=no ./bk-bookied.service ./bk-bookied.socket 2>errors ||
	    true
	run grep bk-bookied errors
	[ "$status" -eq 1 ] || fail "$output"
	[ "$(grep -cv '^#' "$folder/inetd.conf")" -eq 1 ]
	[ "$(awk '!/^#/ { print (NF >= 8 && $4 == "wait") }' \
	    "$folder/inetd.conf")" -eq 1 ]
	[ "$(grep -cv '^#' "$folder/crontab")" -eq 2 ]
}

@test "idle-exit: it leaves with 0 when unused, not while connected" {
	start_bookie b1 --idle-exit 300ms
	at=127.0.0.1:${port[b1]}
	start guest frame "$at" send "$(add2 1 0)" recv 1 quiet 1500
	await guest
	[ "$status" -eq 0 ]
	await b1
	[ "$status" -eq 0 ]
	grep -q unused b1.log
}

@test "--local 3: three bookies, ready as one, a signal for all" {
	unset BK_CLUSTER
	start local bk-bookied --local 3 --ready-fd 7 7>ready
	wait_until 30 test -s ready
	local state=$XDG_STATE_HOME/bk i
	for i in 1 2 3; do
		expect "unix:$state/b$i/socket" "$(add2 1 0)" "$(added2 0 1 0)"
	done
	stop local
	[ "$status" -eq 0 ]
	[ ! -e "$state/b1/socket" ]
}

@test "--local: a dead bookie is named and the others stay" {
	unset BK_CLUSTER
	start local bk-bookied --local 2 --ready-fd 7 7>ready
	wait_until 30 test -s ready
	local state=$XDG_STATE_HOME/bk
	kill -KILL "$(pgrep -f -- "--data $state/b2")"
	wait_until 10 grep -q 'b2: ended by signal 9' local.log
	expect "unix:$state/b1/socket" "$(add2 1 0)" "$(added2 0 1 0)"
	stop local
	[ "$status" -eq 0 ]
}

# of_cluster NAME: a bookie as one started on demand.
of_cluster() {
	rm -f "$1.ready"
	start "$1" with_ready_fd "$1.ready" bk-bookied --id "$1" \
	    --cluster "local:$dir/state/store" --data "$dir/state/$1" \
	    --listen "unix:$dir/state/$1/socket" --idle-exit 700ms --ready-fd 5
}

@test "bookies of an embedded cluster leave as one, when nobody is there" {
	local b
	mkdir -p state
	for b in b1 b2 b3; do
		of_cluster $b
	done
	for b in b1 b2 b3; do
		await_bookie $b
	done
	# Whoever is about to come holds the lock, and keeps all of them.
	start coming flock -s -o state/start.lock sleep 60
	run frame "unix:$dir/state/b2/socket" quiet 1500
	[ "$status" -eq 0 ]
	run frame "unix:$dir/state/b3/socket" quiet 1500
	[ "$status" -eq 0 ]
	for b in b1 b2 b3; do
		expect "unix:$dir/state/$b/socket" "$(add2 1 0)" \
		    "$(added2 0 1 0)"
	done
	stop coming
	for b in b1 b2 b3; do
		await $b
		[ "$status" -eq 0 ]
	done
	[ "$(cat b?.log | grep -c 'unused: leaving')" -eq 3 ]
}
