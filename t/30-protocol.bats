#!/usr/bin/env bats
# What a bookie answers, byte for byte (spec/bookie-protocol.md 5.1 and 8), in
# both protocols and after a restart.
# stores: local zk

load lib
load frames

setup_file() {
	start_store
}

setup() {
	enter_own_folder
	new_cluster
	start_bookie b1
	at=127.0.0.1:${port[b1]}
}

# stop_and_start SIGNAL: the same bookie again.
stop_and_start() {
	stop b1 "$1"
	start_bookie b1
}

@test "v2: adds, reads, the last entry, an absent entry, an unknown ledger" {
	expect "$at" "$(read2 1 0)" "$(failed2 1 1 0)"
	expect "$at" "$(add2 1 0)$(add2 1 5 five)$(add2 1 3 three)" \
	    "$(added2 0 1 0)" "$(added2 0 1 5)" "$(added2 0 1 3)"
	expect "$at" "$(read2 1 0)" "$(got2 1 0 "$(entry 1 0)")"
	expect "$at" "$(read2 1 -1)" "$(got2 1 -1 "$(entry 1 5 five)")"
	expect "$at" "$(read2 1 2)" "$(failed2 2 1 2)"
}

@test "v2: a wrong key is EUA, on adds, recovery adds and fencing reads" {
	expect "$at" "$(add2 1 0)" "$(added2 0 1 0)"
	expect "$at" "$(add2 1 1 x 0000 "$other_key")" "$(added2 102 1 1)"
	expect "$at" "$(add2 1 1 x 0002 "$other_key")" "$(added2 102 1 1)"
	expect "$at" "$(fence2 1 0 "$other_key")" "$(failed2 102 1 0)"
	expect "$at" "$(read2 1 0)" "$(got2 1 0 "$(entry 1 0)")"
}

@test "v2: a fence refuses adds, passes recovery, and outlives kill -9" {
	expect "$at" "$(add2 1 0)" "$(added2 0 1 0)"
	expect "$at" "$(fence2 1 -1)" "$(got2 1 -1 "$(entry 1 0)")"
	expect "$at" "$(fence2 2 -1)" "$(failed2 2 2 -1)"
	for i in 1 2; do
		expect "$at" "$(add2 1 1)" "$(added2 104 1 1)"
		expect "$at" "$(add2 2 0)" "$(added2 104 2 0)"
		expect "$at" "$(add2 1 1 x 0000 "$other_key")" "$(added2 102 1 1)"
		expect "$at" "$(add2 1 $i again 0006)" "$(added2 0 1 $i)"
		stop_and_start KILL
	done
	expect "$at" "$(add2 2 0)" "$(added2 104 2 0)"
	expect "$at" "$(read2 1 -1)" "$(got2 1 -1 "$(entry 1 2 again)")"
}

@test "the key compared is the one on disk, after a clean end and after kill -9" {
	expect "$at" "$(add2 1 0)" "$(added2 0 1 0)"
	for signal in TERM KILL; do
		stop_and_start $signal
		expect "$at" "$(fence2 1 -1 "$other_key")" "$(failed2 102 1 -1)"
		expect "$at" "$(add2 1 1 x 0000 "$other_key")" "$(added2 102 1 1)"
		expect "$at" "$(add2 1 1)" "$(added2 0 1 1)"
	done
}

@test "negative ids are refused" {
	expect "$at" "$(add2 -7 0)" "$(added2 100 -7 0)"
	expect "$at" "$(read2 -7 0)" "$(failed2 100 -7 0)"
	expect "$at" "$(add2 1 -5)" "$(added2 100 1 -5)"
	expect "$at" "$(read2 1 -2)" "$(failed2 100 1 -2)"
	expect "$at" "$(of_ledger 10 1 107 -1)" \
	    "$(answer3 10 1 404 107 "10$(varint -1)")"
}

@test "an entry of 24 bytes is stored, one of 16 to 23 is EBADREQ" {
	local e
	e=$(i64 1)$(i64 0)$(i64 -1)
	expect "$at" "$(v2 1 0000 "$key$e")" "$(added2 0 1 0)"
	expect "$at" "$(read2 1 0)" "$(got2 1 0 "$e")"
	expect "$at" "$(v2 1 0000 "$key${e:0:32}")" "$(added2 100 1 0)"
	expect "$at" "$(v2 1 0000 "$key${e:0:46}")" "$(added2 100 1 0)"
}

@test "the same entry may be added again, also with other bytes" {
	expect "$at" "$(add2 1 0)$(add2 1 0)$(add2 1 0 other)" \
	    "$(added2 0 1 0)" "$(added2 0 1 0)" "$(added2 0 1 0)"
}

@test "the largest ids there are" {
	local max=9223372036854775807
	expect "$at" "$(add2 $max $max)" "$(added2 0 $max $max)"
	expect "$at" "$(read2 $max -1)" "$(got2 $max -1 "$(entry $max $max)")"
	expect "$at" "$(fence2 $max 0)" "$(failed2 2 $max 0)"
}

@test "v2: batches end at count, size, gap, and always have one entry" {
	local e0 e1 head
	e0=00000025$(entry 1 0)
	e1=00000025$(entry 1 1 world)
	head=0207000000000000$(i64 1)$(i64 0)$(i64 42)
	# batch COUNT SIZE
	batch() {
		v2 7 0000 "$(i64 1)$(i64 0)$(i64 42)$(printf %08x "$1")$(i64 "$2")"
	}
	expect "$at" "$(add2 1 0)$(add2 1 1 world)$(add2 1 3)" \
	    "$(added2 0 1 0)" "$(added2 0 1 1)" "$(added2 0 1 3)"
	expect "$at" "$(batch 1 5000000)" "$(framed "$head$e0")"
	expect "$at" "$(batch 9 5000000)" "$(framed "$head$e0$e1")"
	expect "$at" "$(batch 0 118)" "$(framed "$head$e0$e1")"
	expect "$at" "$(batch 0 117)" "$(framed "$head$e0")"
	expect "$at" "$(batch 0 0)" "$(framed "$head$e0")"
	expect "$at" "$(v2 7 0000 "$(i64 1)$(i64 2)$(i64 42)00000000$(i64 99)")" \
	    "$(framed "0207000000000002$(i64 1)$(i64 2)$(i64 42)")"
	expect "$at" "$(v2 7 0000 "$(i64 9)$(i64 2)$(i64 42)00000000$(i64 99)")" \
	    "$(framed "0207000000000001$(i64 9)$(i64 2)$(i64 42)")"
	expect "$at" "$(v2 7 0001 "$(i64 1)$(i64 0)$(i64 42)00000000$(
	    i64 99)$other_key")" \
	    "$(framed "0207000000000066$(i64 1)$(i64 0)$(i64 42)")"
	expect "$at" "$(v2 7 0001 "$(i64 1)$(i64 0)$(i64 42)00000001$(i64 99)$key")" \
	    "$(framed "$head$e0")"
	expect "$at" "$(add2 1 4)" "$(added2 104 1 4)"
}

@test "v3: adds, reads with the LAC, absent entry, unknown ledger" {
	expect "$at" "$(read3 1 1 0)" "$(failed3 1 402 1 0)"
	expect "$at" "$(add3 1 1 0)$(add3 2 1 1 two 2801)" \
	    "$(added3 1 0 1 0)" "$(added3 2 0 1 1)"
	expect "$at" "$(read3 3 1 0)" "$(answer3 1 3 0 100 "10011800$(
	    printf '28%s' "$(varint -1)")$(field 4 "$(entry 1 0)")")"
	expect "$at" "$(read3 4 1 7)" "$(failed3 4 403 1 7)"
}

@test "v3: fencing, EFENCED, EUA, recovery adds" {
	expect "$at" "$(add3 1 1 0)" "$(added3 1 0 1 0)"
	expect "$at" "$(fence3 2 1 -1 "$other_key")" "$(failed3 2 502 1 -1)"
	expect "$at" "$(read3 3 1 -1 a00601)" "$(failed3 3 502 1 -1)"
	expect "$at" "$(fence3 4 1 -1)" \
	    "$(answer3 1 4 0 100 "100118$(varint -1)$(field 4 "$(entry 1 0)")")"
	expect "$at" "$(fence3 5 2 3)" "$(failed3 5 403 2 3)"
	expect "$at" "$(add3 6 1 1)" "$(added3 6 504 1 1)"
	expect "$at" "$(add3 7 1 1 x a00601 100)" "$(added3 7 0 1 1)"
}

@test "v3: explicit LAC, also without entries, wrong key, after a restart" {
	expect "$at" "$(of_ledger 7 1 104 1)" "$(answer3 7 1 403 104 1001)"
	expect "$at" "$(write_lac 2 1 3)" "$(answer3 6 2 0 103 1001)"
	expect "$at" "$(write_lac 3 1 9 "$other_key")" "$(answer3 6 3 502 103 1001)"
	expect "$at" "$(of_ledger 7 4 104 1)" \
	    "$(answer3 7 4 0 104 "1001$(field 3 "$(i64 1)$(i64 3)")")"
	expect "$at" "$(read2 1 -1)" "$(failed2 2 1 -1)"
	expect "$at" "$(add3 5 1 0)" "$(added3 5 0 1 0)"
	stop_and_start KILL
	expect "$at" "$(of_ledger 7 6 104 1)" "$(answer3 7 6 0 104 \
	    "1001$(field 3 "$(i64 1)$(i64 3)")$(field 4 "$(entry 1 0)")")"
	expect "$at" "$(fence2 1 0)" "$(got2 1 0 "$(entry 1 0)")"
	expect "$at" "$(write_lac 7 1 5)" "$(answer3 6 7 0 103 1001)"
}

@test "v3: force, list, bookie info, AUTH, START_TLS" {
	local zeros
	zeros=$(printf %0112d 0)
	expect "$at" "$(of_ledger 10 1 107 77)" "$(answer3 10 1 0 107 104d)"
	expect "$at" "$(of_ledger 11 2 108 1)" "$(answer3 11 2 402 108 1001)"
	expect "$at" "$(add2 1 0)$(add2 1 1)$(add2 1 5)" \
	    "$(added2 0 1 0)" "$(added2 0 1 1)" "$(added2 0 1 5)"
	expect "$at" "$(of_ledger 11 3 108 1)" "$(answer3 11 3 0 108 \
	    "1001$(field 3 "0000000000000002$zeros$(
	    )$(i64 0)$(i64 0)0000000200000000$(i64 5)$(i64 5)0000000100000000")")"
	expect "$at" "$(v3 8 4 105 '')" "$(answer3 8 4 0 105 '')"
	run frame "$at" send "$(v3 8 5 105 0803)" recv 1
	[ "$status" -eq 0 ]
	[[ $output == ????????0a0608031008180[5]1000ca06*0800*10*18* ]]
	expect "$at" 0000000b0a0608031009180ad20600 0000000b0a0608031009180a109403
	expect "$at" "$(v3 5 6 102 0a066d796175746812020102)" \
	    "$(framed "0a06080310051806""1000$(
	    field 102 "$(field 1 "$(hex AuthDisabledPlugin)")1200")")"
}

@test "unknown versions are EBADVERSION, in the version that asked" {
	local of
	of=$(i64 1)$(i64 0)
	expect "$at" "0000001403020000$of" "000000180302000000000067$of"
	expect "$at" "00000014ff020000$of" "00000018ff02000000000067$of"
	expect "$at" 0000000f0a0608011001186ba2060408011000 \
	    "$(failed3 107 503 1 0)"
}

@test "long poll: a hit, nothing in time, woken by an add, ended by a fence" {
	local minus1
	minus1=$(varint -1)
	# poll TXN PREVIOUS MS
	poll() {
		read3 "$1" 1 -1 "20$(varint "$2")28$(varint "$3")a00602"
	}
	# empty TXN LAC
	empty() {
		answer3 1 "$1" 0 100 "100118${minus1}28$(varint "$2")"
	}
	expect "$at" "$(poll 1 0 5000)" "$(failed3 1 402 1 -1)"
	expect "$at" "$(add2 1 0)$(add2 1 1 one 0000 "$key" 0)" \
	    "$(added2 0 1 0)" "$(added2 0 1 1)"
	expect "$at" "$(poll 2 -1 5000)" "$(answer3 1 2 0 100 \
	    "100118002800$(field 4 "$(entry 1 0)")")"
	expect "$at" "$(poll 3 0 100)" "$(empty 3 0)"
	expect "$at" "$(poll 4 9 0)" "$(empty 4 0)"
	start poll frame "$at" send "$(poll 5 0 60000)" recv 1
	wait_until 10 has_polls 1
	expect "$at" "$(add2 1 2 two 0000 "$key" 1)" "$(added2 0 1 2)"
	await poll
	[ "$status" -eq 0 ]
	grep -q "$(entry 1 1 one 0)" poll.out
	start poll frame "$at" send "$(poll 6 1 60000)" recv 1
	wait_until 10 has_polls 1
	expect "$at" "$(fence2 1 0)" "$(got2 1 0 "$(entry 1 0)")"
	await poll
	[ "$(cat poll.out)" = "$(empty 6 1)" ]
}

# has_polls N: as the bookie counts them.
has_polls() {
	kill -USR1 "${pid[b1]}"
	grep -q "\"long_polls\":$1," b1.log &&
	    tail -n 1 b1.log | grep -q "\"long_polls\":$1,"
}

@test "read-only: adds and WRITE_LAC are EREADONLY, the urgent ones pass" {
	expect "$at" "$(add2 1 0)" "$(added2 0 1 0)"
	kill -USR2 "${pid[b1]}"
	wait_until 10 grep -q read-only b1.log
	expect "$at" "$(add2 1 1)" "$(added2 105 1 1)"
	expect "$at" "$(add2 1 1 x 0002)" "$(added2 105 1 1)"
	expect "$at" "$(add3 1 1 1)" "$(added3 1 505 1 1)"
	expect "$at" "$(write_lac 2 1 0)" "$(answer3 6 2 505 103 1001)"
	expect "$at" "$(add2 1 1 x 0006)" "$(added2 0 1 1)"
	expect "$at" "$(add3 3 1 2 x '' 100)" "$(added3 3 0 1 2)"
	expect "$at" "$(fence2 1 0)" "$(got2 1 0 "$(entry 1 0)")"
	kill -USR2 "${pid[b1]}"
	wait_until 10 grep -q writable b1.log
	expect "$at" "$(add2 2 1)" "$(added2 0 2 1)"
}

@test "answers to one connection: a fence does not overtake the add before it" {
	local all='' want=() i
	for ((i = 0; i < 50; i++)); do
		all+=$(add2 1 $i)$(read2 1 $i)
		want+=("$(added2 0 1 $i)" "$(got2 1 $i "$(entry 1 $i)")")
	done
	all+=$(fence2 1 -1)$(add2 1 60)
	want+=("$(got2 1 -1 "$(entry 1 49)")" "$(added2 104 1 60)")
	expect "$at" "$all" "${want[@]}"
}

@test "kill -9 keeps every acknowledged entry" {
	local i
	for ((i = 0; i < 20; i++)); do
		expect "$at" "$(add2 1 $i "line $i")" "$(added2 0 1 $i)"
	done
	stop_and_start KILL
	for ((i = 0; i < 20; i++)); do
		expect "$at" "$(read2 1 $i)" \
		    "$(got2 1 $i "$(entry 1 $i "line $i")")"
	done
	expect "$at" "$(read2 1 20)" "$(failed2 2 1 20)"
}
