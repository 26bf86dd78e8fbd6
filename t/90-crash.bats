#!/usr/bin/env bats
# kill -9 of bookies and writers at random times under load: what was
# acknowledged is read back, and the next start needs no hand.
# limit: 420 s

# shellcheck disable=SC2154 # variables of lib
load lib

# feed NAME OPTION...: lines into bk-add until the file "enough" is there.
feed() {
	local name=$1
	shift
	(
		i=0
		until [ -e enough ]; do
			seq $((i * 500 + 1)) $((i * 500 + 500))
			i=$((i + 1))
			sleep 0.005
		done
	) | bk-add -E 3 -W 3 -A 2 "$@" "$name"
}

all_listed() {
	[ "$(bk-ledger bookies | grep -c writable)" -eq 3 ]
}

# One round: bk-add in the background, one bookie killed and started again.
# $1 is how long to wait before the kill, in milliseconds.
kill_once() {
	local victim=b$((RANDOM % 3 + 1))
	sleep "$(printf '0.%03d' "$1")"
	stop $victim KILL
	start_bookie $victim
}

@test "50 kills of a bookie under load lose no acknowledged entry" {
	new_cluster
	start_bookies 3
	for round in $(seq 50); do
		wait_until 20 all_listed
		rm -f add.out
		start add feed "load$round" -o '%s\n'
		wait_until 20 test -s add.out
		kill_once $((RANDOM % 300))
		touch enough
		await add
		[ "$status" -eq 0 ] || fail "round $round: bk-add ends with $status"
		bk-read "load$round" | cmp - add.out || fail "round $round"
		bk-ledger delete -y "load$round" >/dev/null
		rm -f enough
	done
}

@test "kill -9 of bk-add: every id it printed is read back, without a gap" {
	new_cluster
	start_bookies 3
	seq 20000000 >numbers
	for round in $(seq 10); do
		rm -f add.out
		start add bk-add -E 3 -W 3 -A 2 -o '%e %s\n' "w$round" numbers
		wait_until 20 test -s add.out
		sleep "$(printf '0.%03d' $((RANDOM % 400)))"
		stop add KILL
		bk-ledger close "w$round" >/dev/null
		# The last line may have been cut by the kill.
		sed '$d' add.out >printed
		bk-read -o '%e %s\n' "w$round" |
		    head -n "$(wc -l <printed)" | cmp - printed
		awk '$1 != NR - 1 {exit 1}' printed
	done
}

@test "all bookies killed and started again keep everything" {
	new_cluster
	start_bookies 3
	seq 1 200000 | bk-add -E 3 -W 3 -A 2 all
	for b in b1 b2 b3; do stop $b KILL; done
	start_bookies 3
	bk-read all | cmp - <(seq 1 200000)
}
