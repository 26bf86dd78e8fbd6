#!/usr/bin/env bats
# bk-add: what is stored, what is said of it, and how it ends.
# stores: local zk
# limit: 300 s

# shellcheck disable=SC2030,SC2031,SC2154 # variables of bats and of lib
load lib

# Two bookies and a spare, with the quorums of a single machine.
cluster() {
	new_cluster
	printf 'ensemble 2\nwrite-quorum 2\nack-quorum 2\n' >config
	export BK_CONFIG=$dir/config
	start_bookies 3
}

# comes_back NAME OPTION... <INPUT: what is added comes back the same.
comes_back() {
	local name=$1
	shift
	cat >in
	bk-add "$@" "$name" <in
	bk-read "$@" "$name" >out
	cmp in out
}

@test "lines come back, byte for byte" {
	cluster
	printf 'one\n\ntwo\r\n\xff\0x\n\n' | comes_back lines
	bk-read -o '%S ' lines >sizes
	[ "$(cat sizes)" = "3 0 4 3 0 " ]
}

@test "a last line without newline is kept" {
	cluster
	printf 'first\nlast' | bk-add t
	[ "$(bk-read t)" = $'first\nlast' ]
}

@test "no input is no entry, and fine" {
	cluster
	bk-add t </dev/null
	run -0 bk-read t
	[ -z "$output" ]
}

@test "random bytes come back in every framing" {
	cluster
	local n size
	for size in 0 1 2 511 70000 1048576; do
		n=$((n + 1))
		head -c $size /dev/urandom >bytes
		comes_back raw$n --raw <bytes
		bk-add --raw=1000 chunks$n <bytes
		bk-read --raw chunks$n | cmp - bytes
		bk-add -w whole$n <bytes
		bk-read --raw whole$n | cmp - bytes
		tr '\n' '\0' <bytes >nuls
		[ $size -eq 0 ] || printf '\0' >>nuls
		comes_back null$n -0 <nuls
		[ $size -eq 0 ] || printf 'ab' >>bytes
		comes_back delim$n -d ab <bytes
	done
}

@test "length-framed entries come back" {
	cluster
	printf '\0\0\0\2ab\0\0\0\0\0\0\0\1\n' | comes_back t -r
}

@test "files are read in turn, or whole" {
	cluster
	printf 'a\nb' >one
	printf 'c\n' >two
	bk-add lines one - two <<<middle
	[ "$(bk-read lines)" = $'a\nb\nmiddle\nc' ]
	bk-add -w whole one two
	[ "$(bk-read -o '%S ' whole)" = "3 2 " ]
	run --separate-stderr -66 bk-add lines nowhere
	[ "$stderr" = "bk-add: nowhere: No such file or directory" ]
}

@test "-m stores its text and leaves standard input alone" {
	cluster
	printf '1\n2\n3\n' | while read -r line; do
		bk-add -m "$line" t
	done
	[ "$(bk-read t)" = $'1\n2\n3' ]
	bk-add -m '' empty
	[ "$(bk-read -o '%S' empty)" = 0 ]
}

@test "-o tells of each entry once it is stored, in order" {
	cluster
	seq 1 1000 | bk-add -o '%n %e %s %S\n' t >told
	seq 1 1000 | awk '{ print "t", NR - 1, $1, length($1) }' | cmp - told
}

@test "-o tells at once" {
	cluster
	mkfifo pipe
	bk-add -o '%s\n' t <pipe >told 3>&- &
	exec 7>pipe
	echo one >&7
	wait_until 10 grep -qx one told
	exec 7>&-
	wait $!
}

# comes_out FILE OPTION... NAME: what is read is copied.
comes_out() {
	local file=$1
	shift
	bk-add -T "$@" <"$file" >copy
	cmp copy "$file"
}

@test "-T copies what was read" {
	cluster
	printf 'a\n\nb' >in
	comes_out in t
	head -c 100000 /dev/urandom >in
	comes_out in --raw raw
	printf '\0\0\0\2ab\0\0\0\0' >in
	comes_out in -r framed
}

@test "standard output that cannot be written is 74, and the entry is stored" {
	cluster
	run -74 sh -c 'echo hi | bk-add -T t >/dev/full'
	[ "$(bk-read t)" = hi ]
	run -74 sh -c 'echo hi | bk-add -o %e t >&-'
}

@test "a reader that leaves ends it" {
	cluster
	# shellcheck disable=SC2016 # for the inner shell
	run -141 bash -c 'yes | timeout 20 bk-add -T t | head -1 >/dev/null
	    exit ${PIPESTATUS[1]}'
}

@test "an entry over the limit is 65: named, and nothing of it is stored" {
	cluster
	{
		echo one
		echo two
		head -c 5242749 /dev/zero
		echo
		echo four
	} >in
	run --separate-stderr -65 bk-add --unacked rest t <in
	[ "$stderr" = "bk-add: line 3: over the limit of 5242748 bytes for \
an entry" ]
	[ "$(bk-read t)" = $'one\ntwo' ]
	tail -n +3 in | cmp - rest
}

@test "an entry of just the limit is stored" {
	cluster
	head -c 5242748 /dev/zero | tr '\0' x >in
	bk-add t <in
	bk-read t | head -c 5242748 | cmp - in
}

@test "--split cuts what is over the limit" {
	cluster
	head -c 12000000 /dev/zero | tr '\0' y >in
	bk-add --split t <in
	[ "$(bk-read -o '%S ' t)" = "5242748 5242748 1514504 " ]
}

@test "a frame that is broken off is 65" {
	cluster
	run --separate-stderr -65 sh -c "printf '\0\0\0\2a' | bk-add -r t"
	[ "$stderr" = "bk-add: frame 1: the input ends within it" ]
}

@test "--skip-empty stores no empty lines" {
	cluster
	printf '\na\n\n\nb\n' | bk-add --skip-empty t
	[ "$(bk-read t)" = $'a\nb' ]
}

@test "a name is written to again and again" {
	cluster
	for i in 1 2 3; do
		echo $i | bk-add t
	done
	[ "$(bk-read t)" = $'1\n2\n3' ]
}

@test "a ledger rolls when it is large" {
	cluster
	seq 1 1000 | bk-add --roll-size 1k t
	bk-read t | cmp - <(seq 1 1000)
	[ "$(bk-ledger list t | wc -l)" -ge 3 ]
}

@test "a second writer of a name is told who holds it, and takes it with --fence" {
	cluster
	mkfifo pipe
	bk-add -o '%s\n' t <pipe >told 2>first.log 3>&- &
	pid[first]=$!
	exec 7>pipe
	echo one >&7
	wait_until 10 test -s told
	run --separate-stderr -75 bk-add t </dev/null
	[[ $stderr = "bk-add: t: held by another writer: "*" ${pid[first]} "* ]]
	echo two | bk-add --fence t
	await first
	[ "$status" -eq 77 ]
	exec 7>&-
	[ "$(bk-read t)" = $'one\ntwo' ]
}

@test "a ledger made beforehand is written to once" {
	cluster
	id=$(bk-ledger create)
	echo one | bk-add "$id"
	[ "$(bk-read "$id")" = one ]
	run --separate-stderr -77 bk-add "$id" </dev/null
	[[ $stderr = "bk-add: ledger $id: "* ]]
	run -64 bk-add -E 2 "$id" </dev/null
	run --separate-stderr -66 bk-add 4711 </dev/null
	[[ $stderr = "bk-add: ledger 4711: "* ]]
}

@test "a ledger that has a writer is no other's" {
	cluster
	id=$(bk-ledger create)
	mkfifo pipe
	bk-add -o '%s\n' "$id" <pipe >told 3>&- &
	pid[first]=$!
	exec 7>pipe
	echo one >&7
	wait_until 10 test -s told
	run --separate-stderr -77 bk-add "$id" </dev/null
	[[ $stderr = *"has a writer already"* || $stderr = *"has entries"* ]]
	exec 7>&-
	await first
	[ "$status" -eq 0 ]
}

@test "a ledger of a name is not written to by its id" {
	cluster
	echo one | bk-add t
	id=$(bk-ledger list -o '%l\n' t)
	run -77 bk-add "$id" </dev/null
}

@test "a wrong password is 77, a missing password file 66" {
	cluster
	echo secret >pw
	echo wrong >other
	id=$(bk-ledger create --password-file pw)
	run -77 bk-add --password-file other "$id" </dev/null
	echo hi | BK_PASSWORD_FILE=pw bk-add "$id"
	[ "$(bk-read --password-file pw "$id")" = hi ]
	run -66 bk-add --password-file nowhere t </dev/null
}

@test "quorums that make no sense are 64, too few bookies 69" {
	cluster
	run --separate-stderr -64 bk-add -E 2 -W 3 t </dev/null
	[ "${stderr_lines[0]}" = \
	    "bk-add: write quorum 3 is more than ensemble 2" ]
	run -64 bk-add -W 2 -A 3 t </dev/null
	run -64 bk-add --digest md5 t </dev/null
	run -64 bk-add </dev/null
	run -64 bk-add -0 -r t </dev/null
	run -64 bk-add -bad t </dev/null
	run --separate-stderr -69 bk-add -E 9 -W 2 -A 2 t </dev/null
	[ "$stderr" = "bk-add: t: not enough bookies" ]
}

@test "each digest does" {
	cluster
	for d in crc32c crc32 hmac dummy; do
		echo $d | bk-add --digest $d $d
		[ "$(bk-read $d)" = $d ]
	done
}

@test "-n reads, counts and stores nothing" {
	cluster
	bk-ledger dump >before
	run -0 bk-add -n t < <(seq 1 10)
	[ "${lines[0]}" = "entries 10" ] && [ "${lines[1]}" = "bytes 11" ]
	[[ ${lines[4]} = "bookies "* ]]
	bk-ledger dump | cmp - before
}

# find_victim: a bookie that stores million, once its first entries are
# confirmed to readers.
find_victim() {
	victim=$(bk-read -n 1 -o '%b\n' million)
	[ -n "$victim" ]
}

@test "a bookie that is killed is replaced, with one line, and all is there" {
	cluster
	mkfifo pipe
	bk-add -o '%e\n' million <pipe >told 2>log 3>&- &
	pid[add]=$!
	exec 7>pipe
	seq 1 1000 >&7
	wait_until 10 grep -qx 999 told
	wait_until 10 find_victim
	for b in b1 b2 b3; do
		[[ $victim != *":${port[$b]}" ]] || stop $b KILL
	done
	seq 1001 20000 >&7
	exec 7>&-
	await add
	[ "$status" -eq 0 ]
	cat log
	[ "$(wc -l <log)" -eq 1 ]
	grep -q "^bk-add: million: bookie $victim lost at entry [0-9]*; .*\
 takes its place$" log
	bk-read million | cmp - <(seq 1 20000)
}

@test "with all bookies gone it says from where on to try again" {
	cluster
	printf 'ensemble 1\nwrite-quorum 1\nack-quorum 1\n' >config
	mkfifo pipe
	bk-add --unacked rest -o '%s\n' t <pipe >told 2>log 3>&- &
	pid[add]=$!
	exec 7>pipe
	seq 1 100 >&7
	wait_until 10 grep -qx 100 told
	stop b1 KILL
	stop b2 KILL
	stop b3 KILL
	seq 101 200 >&7
	exec 7>&-
	wait_until 60 has_ended "${pid[add]}"
	await add
	[ "$status" -eq 75 ]
	grep -qx "bk-add: t: first unacknowledged line 101" log
	cat told rest | cmp - <(seq 1 200)
}

@test "a store that is not there is 69, and the input is written back" {
	run --separate-stderr -69 bk-add --unacked rest \
	    --cluster "zk://127.0.0.1:$(free_port)/x" t < <(seq 1 3)
	[ "${#stderr_lines[@]}" -eq 1 ]
	cmp rest <(seq 1 3)
	run -73 bk-add --unacked nowhere/rest t </dev/null
}

@test "TERM finishes the line and leaves the rest to a successor" {
	cluster
	mkfifo pipe
	exec 7<>pipe
	bk-add -v -o '%s\n' t <&7 >told 2>log 3>&- &
	pid[add]=$!
	printf 'one\ntwo\nthr' >&7
	wait_until 10 grep -qx two told
	kill -TERM "${pid[add]}"
	wait_until 10 grep -q 'asked to end' log
	printf 'ee\nfour\n' >&7
	await add
	[ "$status" -eq 0 ]
	[ "$(bk-read t)" = $'one\ntwo\nthree' ]
	read -r next <&7
	[ "$next" = four ]
}

@test "INT ends it as by the signal, with what is stored closed" {
	cluster
	mkfifo pipe
	exec 7<>pipe
	perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' \
	    bk-add -o '%s\n' t <&7 >told 2>log 3>&- &
	pid[add]=$!
	printf 'one\ntw' >&7
	wait_until 10 grep -qx one told
	stop add INT
	[ "$status" -eq 130 ]
	grep -qx "bk-add: t: first unacknowledged line 2" log
	[ "$(bk-read t)" = one ]
	bk-ledger show t -J | jq -e '.state == "ended"'
}

@test "standard input that is closed is 74" {
	cluster
	run -74 sh -c 'bk-add t <&-'
	[[ $output = *"standard input: "* ]]
}

@test "what was told of is there after kill -9, without a gap" {
	cluster
	yes | nl | bk-add -o '%s\n' t >told 2>/dev/null 3>&- &
	pid[add]=$!
	wait_until 20 grep -qE '^ *5000' told
	kill -KILL "${pid[add]}"
	await add
	echo end | bk-add t
	n=$(grep -c . told)
	bk-read t | head -n "$((n - 1))" | cmp - <(head -n "$((n - 1))" told)
	bk-read t | sed '$d' | awk '$1 != NR { exit 1 }'
}
