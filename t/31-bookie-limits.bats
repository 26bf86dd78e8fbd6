#!/usr/bin/env bats
# A bookie among odd, slow and silent peers: each costs little, is told in one
# line, and nobody else notices (spec/bookie-protocol.md 5.11, design/bookie.md
# 7 and 8).

load lib
load frames

setup() {
	enter_own_folder
	new_cluster
	start_bookie b1
	at=127.0.0.1:${port[b1]}
}

still_serves() {
	expect "$at" "$(add2 99 "$1")" "$(added2 0 99 "$1")"
}

# ends HEX: the connection ends with a FIN and without a word.
ends() {
	[ "$(frame "$at" send "$1" end)" = end ] ||
	    fail "no clean end after $1"
}

@test "what is no frame of the protocol ends the connection" {
	ends 00000000
	ends 004ffffd
	ends ffffffff
	ends 474554202f20485454502f312e310d0a486f73743a20780d0a0d0a
	ends 16030100050100000100
	ends 0000000c9f3c00ff1122334455667788
	ends 000000090aff00112233445566
	ends 0000000102
	ends 00000003020100
	for opcode in 00 04 05 06 08 7f ff; do
		ends "0000001402${opcode}0000$(i64 1)$(i64 0)"
	done
	ends "$(v2 1 0000 "$key$(i64 1)")"
	ends "$(v2 2 0000 "$(i64 1)")"
	ends "$(v2 2 0000 "$(i64 1)$(i64 0)01020304")"
	ends "$(v2 2 0001 "$(i64 1)$(i64 0)")"
	ends "$(v2 2 0001 "$(i64 1)$(i64 0)${key:2}")"
	ends "$(v2 3 0000 '')"
	ends 000000110a0608041001186da2060608e09d251000
	ends 000000110a060803100c1871a2060608e09d251000
	ends 000000110a06080310631874a2060608e09d251000
	ends 00000009a2060608e09d251000
	ends 0000000f0a0408031001a2060608e09d251000
	ends 0000000f0a0608031001187fa2060408e09d25
	ends 000000130a0708031001188801a2060608e09d25100000
	[ "$(grep -c ended b1.log)" -eq 1 ]
	still_serves 0
}

@test "answers already earned are sent before the end" {
	local bad
	for bad in "0000001402090000$(i64 1)$(i64 0)" 474554202f204854 \
	    ffffffff; do
		run frame "$at" send "$(add2 1 0)$(add3 7 1 1)$bad$(read2 1 0)" \
		    recv 2 end
		[ "$status" -eq 0 ]
		[ "${lines[0]}" = "$(added2 0 1 0)" ]
		[ "${lines[1]}" = "$(added3 7 0 1 1)" ]
		[ "${lines[2]}" = end ]
	done
	run frame "$at" send "$(add2 1 2)" shut recv 1 end
	[ "$output" = "$(added2 0 1 2)"$'\n'end ]
}

@test "frames in pieces and in heaps are the same to it" {
	local frame
	frame=$(add2 1 0)
	run frame "$at" send "${frame:0:6}" quiet 50 send "${frame:6:60}" \
	    quiet 50 send "${frame:66}$(read2 1 0)" recv 2
	[ "$status" -eq 0 ]
	[ "${lines[1]}" = "$(got2 1 0 "$(entry 1 0)")" ]
}

@test "v2 and v3 frames may follow each other on one connection" {
	expect "$at" "$(add2 1 0)$(add3 5 1 1)$(add2 1 2)" \
	    "$(added2 0 1 0)" "$(added3 5 0 1 1)" "$(added2 0 1 2)"
}

@test "an entry that could not be read back within a v3 frame is refused" {
	local size got
	for size in 5242800 5242801; do
		{
			printf %s "$(printf %08x $((24 + size)))02010000$key"
			printf '%s%s%s' "$(i64 1)" "$(i64 $size)" "$(i64 -1)"
			head -c $((size - 24)) /dev/zero | xxd -p | tr -d '\n'
		} | xxd -r -p >add.$size
	done
	exec {bookie}<>"/dev/tcp/127.0.0.1/${port[b1]}"
	cat add.5242800 add.5242801 >&"$bookie"
	# The refusal need not wait for the other's sync.
	got=$(timeout 20 head -c 56 <&"$bookie" | xxd -p | tr -d '\n')
	[ "$got" = "$(added2 0 1 5242800)$(added2 100 1 5242801)" ] ||
	    [ "$got" = "$(added2 100 1 5242801)$(added2 0 1 5242800)" ]
	exec {bookie}>&-
	frame "$at" send "$(read3 1 1 5242800)" recv 1 | head -c 8 >length
	[ $((16#$(cat length) + 4)) -le 5242880 ]
}

@test "a hundred silent and a hundred half-sent connections cost little" {
	local i fd before after
	before=$(resident)
	for ((i = 0; i < 100; i++)); do
		exec {fd}<>"/dev/tcp/127.0.0.1/${port[b1]}"
		exec {fd}<>"/dev/tcp/127.0.0.1/${port[b1]}"
		printf '\0\117\0\0\2\1\0\0' >&"$fd"
	done
	still_serves 0
	after=$(resident)
	[ $((after - before)) -lt 4000 ] || fail "from $before kB to $after kB"
}

resident() {
	awk '/^VmRSS:/ { print $2 }' "/proc/${pid[b1]}/status"
}

@test "a peer that takes no answers is not read, and nobody else waits" {
	local i fd reads=
	add_big 1
	for ((i = 0; i < 500; i++)); do
		reads+=$(read2 1 0)
	done
	exec {fd}<>"/dev/tcp/127.0.0.1/${port[b1]}"
	xxd -r -p <<<"$reads" >&"$fd"
	still_serves 0
	for ((i = 1; i < 20; i++)); do
		still_serves $i
	done
	[ "$(resident)" -lt 200000 ]
	# All of it comes in the end: 28 bytes around each entry of 1 MiB.
	[ "$(timeout 60 head -c $((500 * (1048576 + 28))) <&"$fd" | wc -c)" -eq \
	    $((500 * (1048576 + 28))) ]
}

# add_big LEDGER: entry 0 of 1 MiB.
add_big() {
	local fd
	exec {fd}<>"/dev/tcp/127.0.0.1/${port[b1]}"
	{
		printf %s "$(printf %08x $((24 + 1048576)))02010000$key"
		printf '%s%s%s' "$(i64 "$1")" "$(i64 0)" "$(i64 -1)"
		head -c $((1048576 - 24)) /dev/zero | xxd -p | tr -d '\n'
	} | xxd -r -p >&"$fd"
	[ "$(timeout 20 head -c 28 <&"$fd" | xxd -p)" = "$(added2 0 "$1" 0)" ]
}

@test "with all connections taken the next one waits for an end" {
	local i
	stop b1
	start_bookie b1 --max-connections 5
	for ((i = 0; i < 5; i++)); do
		start "hold$i" frame "$at" quiet 60000
	done
	wait_until 10 grep -q 'no more are accepted' b1.log
	start sixth frame "$at" send "$(add2 1 0)" recv 1
	run frame "$at" send "$(add2 1 0)" limit 200 recv 1
	[ "$status" -eq 1 ]
	stop hold0
	await sixth
	[ "$(cat sixth.out)" = "$(added2 0 1 0)" ]
}
