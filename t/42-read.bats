#!/usr/bin/env bats
# bk-read: what it prints, where it begins and ends, what it says of trouble.
# stores: local zk

load lib

cluster_of() {
	new_cluster
	start_bookies "$1"
}

# add NAME OPTION...: one more ledger of the name, two copies.
add() {
	local name=$1
	shift
	bk-add -E 2 -W 2 -A 2 "$@" "$name"
}

@test "any bytes come back in each framing" {
	cluster_of 2
	local size
	for size in 0 1 4095 65536 300000; do
		head -c "$size" /dev/urandom >in
		add "raw$size" --raw <in
		bk-read --raw "raw$size" | cmp - in
		base64 -w 60 in | tr 'AB' '\r ' >lines
		add "line$size" <lines
		bk-read "line$size" | cmp - lines
		tr '\n' '\0' <lines >nuls
		add "nul$size" -0 <nuls
		bk-read -0 "nul$size" | cmp - nuls
		add "delim$size" -d ';;' < <(sed 's/$/;;/' lines | tr -d '\n')
		bk-read -d ';;' "delim$size" | cmp - \
		    <(sed 's/$/;;/' lines | tr -d '\n')
	done
	printf 'a\0b\n\n\r\nlast' | add odd
	bk-read odd | cmp - <(printf 'a\0b\n\n\r\nlast\n')
	bk-read -r odd | add again -r
	bk-read again | cmp - <(printf 'a\0b\n\n\r\nlast\n')
}

@test "a name is read across its ledgers; ranges count over all of them" {
	cluster_of 2
	seq 0 9 | add n
	seq 10 19 | add n
	seq 20 29 | add n
	[ "$(bk-read n)" = "$(seq 0 29)" ]
	[ "$(bk-read -n 3 n)" = "$(seq 27 29)" ]
	[ "$(bk-read -n 12 n)" = "$(seq 18 29)" ]
	[ -z "$(bk-read -n 0 n)" ]
	[ "$(bk-read -n +25 n)" = "$(seq 25 29)" ]
	[ "$(bk-read -c 12 n)" = "$(seq 0 11)" ]
	[ "$(bk-read --range 8:21 n)" = "$(seq 8 21)" ]
	[ "$(bk-read --range :2 n)" = "$(seq 0 2)" ]
	[ "$(bk-read --range 28: n)" = "$(seq 28 29)" ]
	id=$(bk-ledger list n -o '%l\n' | sed -n 2p)
	[ "$(bk-read "$id")" = "$(seq 10 19)" ]
	[ "$(bk-read n "$id" | wc -l)" -eq 40 ]
}

@test "formats and JSON lose nothing" {
	cluster_of 2
	printf 'a"b\n\377x\n' | add f
	[ "$(bk-read -o '%e %S %n %s{hex}\n' f)" = $'0 3 f 612262\n1 2 f ff78' ]
	bk-read -J f | jq -es '.[0].payload == "a\"b" and .[0].size == 3
	    and .[1].payload_b64 == "/3g=" and .[1].entry == 1'
	run --separate-stderr -64 bk-read -o '%q' f
}

@test "-f shows an entry while the writer lives, and ends with it" {
	cluster_of 2
	mkfifo lines
	exec 6<>lines
	# shellcheck disable=SC2016 # for the inner shell
	start add sh -c 'exec bk-add -E 2 -W 2 -A 2 f <lines 6>&-'
	start follow bk-read --wait -f f
	echo one >&6
	wait_until 20 grep -qx one follow.out
	echo two >&6
	wait_until 20 grep -qx two follow.out
	stop add TERM
	[ "$status" -eq 0 ]
	await follow
	[ "$status" -eq 0 ]
	[ "$(cat follow.out)" = $'one\ntwo' ]
}

@test "-f goes on over a roll, -F over the end" {
	cluster_of 2
	seq 1 2000 | add r --roll-size 1k
	[ "$(bk-ledger list r | wc -l)" -gt 2 ]
	[ "$(bk-read -f r)" = "$(seq 1 2000)" ]
	start for_ever bk-read -F r
	wait_until 20 grep -qx 2000 for_ever.out
	echo more | add r
	wait_until 20 grep -qx more for_ever.out
	stop for_ever
}

@test "it leaves at once when its reader does, also with nothing to write" {
	cluster_of 2
	mkfifo lines
	exec 6<>lines
	start add sh -c 'exec bk-add -E 2 -W 2 -A 2 f <lines 6>&-'
	echo one >&6
	wait_until 20 sh -c '[ "$(bk-read f 2>/dev/null)" = one ]'
	timeout 20 bash -c 'set -o pipefail; bk-read -f f | head -n 1' 6>&- \
	    && false || [ $? -eq 141 ]
	stop add TERM
}

@test "a full device is 74" {
	cluster_of 2
	seq 1 10 | add f
	run -74 sh -c 'bk-read f >/dev/full'
}

@test "--cursor goes on where the last run stopped" {
	cluster_of 2
	seq 1 5 | add c
	[ "$(bk-read --cursor place c)" = "$(seq 1 5)" ]
	[ -z "$(bk-read --cursor place c)" ]
	seq 6 8 | add c
	[ "$(bk-read --cursor place c)" = "$(seq 6 8)" ]
	run -74 sh -c 'bk-read --cursor other c >/dev/full'
	[ ! -e other ]
	echo rubbish >bad
	sed -i 's/.*/c x y/' bad
	run -65 bk-read --cursor bad c
}

@test "a lost bookie is read around" {
	cluster_of 3
	seq 1 20000 | add f
	b=$(bk-ledger list f -o '%b\n' | cut -d, -f1)
	local i
	for i in 1 2 3; do
		[[ $b != *":${port[b$i]}" ]] || stop "b$i" KILL
	done
	bk-read f | cmp - <(seq 1 20000)
	run -1 bk-read --verify -n 3 f
	[ "${#lines[@]}" -ge 3 ]
}

@test "--verify is 0 when all copies agree" {
	cluster_of 2
	seq 1 50 | add f
	run -0 bk-read --verify f
	[ -z "$output" ]
}

@test "what is not there is 66, a wrong password 77" {
	cluster_of 2
	run --separate-stderr -66 bk-read nobody
	[ "$stderr" = "bk-read: nobody: no such ledger" ]
	run -66 bk-read 999
	run -66 bk-read --wait=100ms nobody
	echo right >right
	echo wrong >wrong
	seq 1 3 | add p --password-file right
	[ "$(bk-read --password-file right p)" = "$(seq 1 3)" ]
	run --separate-stderr -77 bk-read --password-file wrong p
	[ "${#stderr_lines[@]}" -eq 1 ]
}

@test "reading takes over from a writer only with --recover" {
	cluster_of 2
	mkfifo lines
	exec 6<>lines
	start add sh -c 'exec bk-add -E 2 -W 2 -A 2 f <lines 6>&-'
	echo one >&6
	wait_until 20 sh -c '[ "$(bk-read f 2>/dev/null)" = one ]'
	[ "$(bk-ledger list f -o '%S\n')" = OPEN ]
	[ "$(bk-read --recover f)" = one ]
	[ "$(bk-ledger list f -o '%S\n')" = CLOSED ]
	echo two >&6
	await add
	[ "$status" -eq 77 ]
}
