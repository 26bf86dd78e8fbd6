#!/usr/bin/env bats
# Every block of the README runs as printed, and prints what it says. What
# varies (ids, sizes, the home) is compared by pattern.

load lib

# block N: the commands and output of the README's Nth block of commands.
block() {
	awk -v n="$1" '/^```sh/ {if (++i == n) on = 1; next}
	    /^```/ {on = 0} on' "$top/README"
}

commands() {
	sed -n 's/^\$ //p'
}

# The output it promises, as extended regular expressions, a line each.
patterns() {
	grep -v '^\$ ' | sed -E 's/[][().*+?^{}|\\]/\\&/g
	    s/~[^ ]*/[^ ]*/g; s/[0-9]+G/[0-9.]+[KMGT]/g
	    s/[0-9a-f]{8}-[0-9a-f-]+/[0-9a-f-]{36}/
	    s/^13:/[0-9]+:/; s,/ledgers,/[a-z0-9-]+,'
}

# run_block N: all of it in one shell; each promised line is printed, and
# nothing else.
run_block() {
	block "$1" >printed
	commands <printed >script
	run -0 bash -e script
	patterns <printed >want
	matches "$output"
}

matches() {
	local pattern
	while IFS= read -r pattern; do
		grep -qxE -- "$pattern" <<<"$1" || fail "not printed: $pattern"
	done <want
	[ "$(grep -c . <<<"$1")" -eq "$(grep -c . want)" ] || fail "printed: $1"
}

# What the blocks take for granted.
materials() {
	mkdir src bin
	echo 'int main(void) { return 0; }' >src/main.c
	printf '#!/bin/sh\nseq 1 1000\n' >bin/big-export
	chmod +x bin/big-export
	PATH=$PWD/bin:$PATH
}

@test "try it" {
	run_block 1
}

@test "a log is followed while it grows" {
	echo first >app.log
	# On a terminal grep prints at once; here its output is a file.
	echo 'grep() { command grep --line-buffered "$@"; }' >script
	block 2 | commands >>script
	start follow bash script
	wait_until 20 sh -c 'bk-read app 2>/dev/null | grep -q first'
	echo 'an ERROR' >>app.log
	wait_until 20 grep -qx 'an ERROR' follow.out
}

@test "a bookie is killed, and writing goes on" {
	seq 1 10 | bk-add -q first 2>/dev/null
	block 3 >printed
	commands <printed >script
	run -0 --separate-stderr bash -e script
	patterns <printed >want
	matches "$output"
}

@test "what was stored, line by line" {
	materials
	seq 1 10 | bk-add -q first 2>/dev/null
	run_block 4
	[ "$(bk-read export)" = "$(seq 1 1000)" ]
}

@test "any bytes, any separator" {
	materials
	seq 1 10 | bk-add -q numbers 2>/dev/null
	run_block 5
}

@test "a cluster" {
	start_zookeeper
	block 6 | sed "s,zk1\,zk2\,zk3/ledgers,$ZK/cluster," >printed
	grep -v bk-bookied printed | commands | sed '$d' >script
	export BK_CLUSTER=zk://$ZK/cluster
	bash -e script
	start_bookies 3
	run -0 bash -ec "$(commands <printed | tail -n 1)"
	patterns <printed >want
	matches "$output"
}
