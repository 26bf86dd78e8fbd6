#!/usr/bin/env bats
# bk-ledger: every command, its output and its exit statuses.
# stores: local zk
# limit: 300 s

# shellcheck disable=SC2030,SC2031,SC2154 # variables of bats and of lib
load lib

# A cluster of three bookies with one closed name of 100 lines.
cluster_with_numbers() {
	new_cluster
	start_bookies 3
	seq 1 100 | bk-add -E 2 -W 2 -A 2 numbers
}

@test "an empty cluster lists nothing and that is no error" {
	new_cluster
	start_bookie b1
	run --separate-stderr bk-ledger list
	[ "$status" -eq 0 ] && [ -z "$output" ] && [ -z "$stderr" ]
}

@test "list shows id, state, last entry, length and name, split by tabs" {
	cluster_with_numbers
	run -0 bk-ledger list
	[ "${output#*	}" = "CLOSED	99	192	numbers" ]
	bk-ledger show "${output%%	*}"
}

@test "list --open, --closed, --bookie and a name choose" {
	cluster_with_numbers
	id=$(bk-ledger create -E 1 -W 1 -A 1)
	[ "$(bk-ledger list --open -o '%l\n')" = "$id" ]
	[ "$(bk-ledger list --closed -o '%n\n')" = numbers ]
	[ "$(bk-ledger list numbers -o '%e\n')" = 99 ]
	[ -z "$(bk-ledger list --bookie nobody:1)" ]
	b=$(bk-ledger list "numbers" -o '%b\n' | cut -d, -f1)
	bk-ledger list --bookie "$b" -o '%n\n' | grep -qx numbers
}

@test "list -J and show -J are JSON objects, a line each" {
	cluster_with_numbers
	bk-ledger list -J | jq -e '.name == "numbers" and .last == 99'
	bk-ledger show -J numbers | jq -e '.state == "ended"'
	id=$(bk-ledger list -o '%l\n')
	bk-ledger show -J "$id" | jq -e '.segments[0].bookies | length == 2'
	bk-ledger list --names -J | jq -e '.ledgers == 1'
	bk-ledger bookies -J | jq -e .bookie
	bk-ledger cluster -J | jq -e '.bookies == 3'
}

@test "show of what is not there is 66 and one line that names it" {
	new_cluster
	start_bookie b1
	run --separate-stderr -66 bk-ledger show 4711
	[ "$stderr" = "bk-ledger: ledger 4711: no such ledger" ]
	run --separate-stderr -66 bk-ledger show nobody
	[ "$stderr" = "bk-ledger: nobody: no such ledger" ]
}

@test "create prints an id; sizes that make no sense are 64" {
	new_cluster
	start_bookies 2
	run -0 bk-ledger create -E 2 -W 2 -A 1
	[[ $output =~ ^[0-9]+$ ]]
	run --separate-stderr -64 bk-ledger create -E 1 -W 2 -A 1
	run --separate-stderr -64 bk-ledger create -E 2 -W 1 -A 2
	run --separate-stderr -64 bk-ledger create -E 99
}

@test "create with more bookies than there are is 69 and makes nothing" {
	new_cluster
	start_bookies 2
	run --separate-stderr -69 bk-ledger create -E 3 -W 3 -A 2
	[ "${#stderr_lines[@]}" -eq 1 ]
	[ -z "$(bk-ledger list)" ]
}

@test "create --id takes an id of 63 bits, once" {
	new_cluster
	start_bookie b1
	big=9223372036854775807
	[ "$(bk-ledger create -E 1 -W 1 -A 1 --id $big)" = $big ]
	run -73 bk-ledger create -E 1 -W 1 -A 1 --id $big
	[ "$(bk-ledger list -o '%l\n')" = $big ]
}

@test "close ends a ledger whose writer was killed, at what was acknowledged" {
	new_cluster
	start_bookies 3
	id=$(bk-ledger create -E 3 -W 3 -A 2)
	mkfifo lines
	exec 6<>lines
	# shellcheck disable=SC2016 # for the inner shell
	start add sh -c 'exec bk-add -o "%e\n" "$1" <lines 6>&-' sh "$id"
	printf 'a\nb\nc\n' >&6
	wait_until 20 grep -qx 2 add.out
	stop add KILL
	exec 6>&-
	run -0 bk-ledger close "$id"
	[ "$output" = "$id"$'\t'CLOSED$'\t'2$'\t'3 ]
	run -0 bk-ledger close "$id"
	[ "$output" = "$id"$'\t'CLOSED$'\t'2$'\t'3 ]
	[ "$(bk-read "$id")" = $'a\nb\nc' ]
}

@test "close with a wrong password is 77 and fences nobody" {
	new_cluster
	start_bookies 2
	echo right >right
	echo wrong >wrong
	id=$(bk-ledger create -E 2 -W 2 -A 2 --password-file right)
	run --separate-stderr -77 bk-ledger close --password-file wrong "$id"
	[ "$(bk-ledger list -o '%S\n')" = OPEN ]
	bk-ledger close --password-file right "$id"
}

@test "delete needs -y without a terminal, and says what went" {
	cluster_with_numbers
	id=$(bk-ledger create -E 1 -W 1 -A 1)
	run --separate-stderr -64 bk-ledger delete "$id" </dev/null
	run -0 bk-ledger delete -n "$id"
	[ "$output" = "$id" ]
	bk-ledger show "$id" >show.out
	run -0 bk-ledger delete -y "$id"
	[ "$output" = "$id" ]
	run -66 bk-ledger show "$id"
}

@test "delete refuses a ledger that a name holds, with 77 and the name" {
	cluster_with_numbers
	id=$(bk-ledger list -o '%l\n')
	run --separate-stderr -77 bk-ledger delete -y "$id"
	[[ $stderr == *numbers* ]]
	bk-ledger delete -y --force "$id"
	run -66 bk-ledger show "$id"
}

@test "delete of a name takes its ledgers; the word is free again" {
	cluster_with_numbers
	bk-ledger delete -y numbers
	[ -z "$(bk-ledger list)" ]
	run -66 bk-read numbers
	echo new | bk-add -E 1 -W 1 -A 1 numbers
	[ "$(bk-read numbers)" = new ]
}

@test "ids from standard input, as list prints them" {
	new_cluster
	start_bookie b1
	for _ in 1 2 3; do bk-ledger create -E 1 -W 1 -A 1; done
	bk-ledger list | bk-ledger delete -y -
	[ -z "$(bk-ledger list)" ]
}

@test "truncate drops old ledgers of a name, never the last" {
	new_cluster
	start_bookies 2
	for i in 1 2 3; do echo "$i" | bk-add -E 2 -W 2 -A 2 log; done
	mapfile -t ids < <(bk-ledger list log -o '%l\n')
	run -0 bk-ledger truncate -n --before "${ids[1]}:0" log
	[ "$output" = "${ids[0]}" ]
	[ "$(bk-read log)" = $'1\n2\n3' ]
	bk-ledger truncate -y --before "${ids[1]}:0" log
	[ "$(bk-read log)" = $'2\n3' ]
	run -66 bk-ledger show "${ids[0]}"
	bk-ledger truncate -y --count 0 log
	[ "$(bk-read log)" = 3 ]
}

@test "bookies shows who is there, and who no longer is" {
	new_cluster
	start_bookies 2
	run -0 bk-ledger bookies
	[ "${#lines[@]}" -eq 2 ]
	grep -qE '	up	writable	[0-9]+$' <<<"${lines[0]}"
	stop b1 KILL
	gone() { [ "$(bk-ledger bookies -o '%s\n' | grep -c down)" -eq 1 ]; }
	wait_until 30 gone
	run -66 bk-ledger bookies nobody:1
}

@test "bookie shows one, and its cookie" {
	new_cluster
	start_bookie b1
	id=$(bk-ledger bookies -o '%i\n')
	bk-ledger bookie "$id" | grep -qx "state"$'\t'"up"
	bk-ledger bookie --cookie show "$id" | grep -q "bookieHost: \"$id\""
	run --separate-stderr -77 bk-ledger bookie --cookie delete -y "$id"
}

@test "check is 0 when whole, and 1 with what is short of copies" {
	cluster_with_numbers
	bk-ledger check
	bk-ledger check --deep numbers
	b=$(bk-ledger list numbers -o '%b\n' | cut -d, -f1)
	for i in 1 2 3; do
		[[ $b != *":${port[b$i]}" ]] || stop "b$i"
	done
	run -1 bk-ledger check numbers
	[[ $output == numbers$'\t'*$'\t'0-99$'\t'"1 of 2 copies"$'\t'* ]]
	[[ $output == *$'\t'"$b" ]]
}

@test "what dump prints, load makes again in an empty cluster" {
	cluster_with_numbers
	bk-ledger dump >before
	grep -q ^ledger before
	export BK_CLUSTER=local:$dir/copy
	start_bookie c1
	bk-ledger load <before
	bk-ledger dump | cmp - before
	bk-ledger load <before
	run --separate-stderr -65 bk-ledger load <<<rubbish
}

@test "-n of a changing command leaves the metadata as it was" {
	cluster_with_numbers
	id=$(bk-ledger list -o '%l\n')
	bk-ledger dump >before
	bk-ledger delete -n "$id" --force
	bk-ledger delete -n numbers
	bk-ledger truncate -n --count 0 numbers
	bk-ledger close -n numbers
	bk-ledger create -n -E 1 -W 1 -A 1
	bk-ledger load -n <before
	bk-ledger dump | cmp - before
}

@test "metrics are in Prometheus' text format, also as an HTTP answer" {
	new_cluster
	start_bookie b1
	run -0 bk-ledger metrics
	[[ $output == *"# TYPE bk_bookie_up gauge"* ]]
	[[ $output =~ bk_bookie_up\{bookie=\"[^\"]+\"\}\ 1 ]]
	run -0 bk-ledger metrics --http <<<$'GET /metrics HTTP/1.0\r\n\r'
	[[ ${lines[0]} == "HTTP/1.0 200 OK"* ]]
}

@test "config prints every setting and where it comes from" {
	mkdir -p "$XDG_CONFIG_HOME/bk"
	echo 'ack-quorum 1' >"$XDG_CONFIG_HOME/bk/config"
	export BK_CLUSTER=local:$dir/x
	bk-ledger config | grep -qx "ack-quorum	1	$XDG_CONFIG_HOME/bk/config:1"
	bk-ledger config | grep -qx "cluster	$BK_CLUSTER	BK_CLUSTER"
	bk-ledger config -J | jq -es 'length > 10'
}

@test "a config file with an unknown name is 78 with file and line" {
	printf '# fine\nno-such-thing 1\n' >config
	run --separate-stderr -78 bk-ledger list -C config
	[[ $stderr == *config:2* ]]
}

@test "every command has --help; a wrong one is 64 in two lines" {
	for c in list show create close recover truncate delete check bookies \
	    bookie cluster dump load metrics config; do
		run --separate-stderr -0 bk-ledger "$c" --help
		[ -z "$stderr" ] && [ "${#lines[@]}" -le 24 ]
	done
	run --separate-stderr -64 bk-ledger lisst
	[ "${#stderr_lines[@]}" -le 2 ]
	run --separate-stderr -64 bk-ledger list --opne
	[[ $stderr == *--open* ]]
	run -0 bk-ledger --version
}

@test "standard output that cannot be written is 74" {
	cluster_with_numbers
	for c in "list" "show numbers" "bookies" "dump" "--help" "--version" \
	    "list --help"; do
		# shellcheck disable=SC2086 # words on purpose
		run -74 sh -c "bk-ledger $c >/dev/full"
	done
}
