#!/usr/bin/env bats
# With nothing configured: bookies started on demand, and what they need.
# limit: 180 s

# shellcheck disable=SC2030,SC2031,SC2154 # variables of bats and of lib
load lib

# bookies: how many of ours run.
bookies() {
	bk-ledger bookies -o '%p\n' | grep -cx '[1-9][0-9]*' || :
}

@test "the first command starts three bookies, and says so once" {
	echo hi >in
	run --separate-stderr -0 bk-add t <in
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr = *"$XDG_STATE_HOME/bk"*"this one disk" ]]
	[ "$(bookies)" -eq 3 ]
	run --separate-stderr -0 bk-add t <in
	[ -z "$stderr" ]
	[ "$(bk-read t)" = $'hi\nhi' ]
}

@test "the bookies keep nothing of their caller" {
	x=$(echo hi | bk-add -o '%s\n' t 2>&1 | tail -n 1)
	[ "$x" = hi ]
	local p
	for p in $(bk-ledger bookies -o '%p\n'); do
		[ "$(readlink "/proc/$p/cwd")" = / ]
		[ "$(readlink "/proc/$p/fd/0")" = /dev/null ]
		[ "$(readlink "/proc/$p/fd/1")" = \
		    "$XDG_STATE_HOME/bk/bookie.log" ]
		[ "$(cut -d ' ' -f 6 "/proc/$p/stat")" != \
		    "$(cut -d ' ' -f 6 /proc/$$/stat)" ]
		grep -q '^Umask:.*0077' "/proc/$p/status"
	done
	[ "$(stat -c %a "$XDG_STATE_HOME/bk")" = 700 ]
}

@test "several first commands at once start three bookies" {
	local i
	for i in 1 2 3 4; do
		start "a$i" bk-add -m "$i" "t$i"
	done
	for i in 1 2 3 4; do
		await "a$i"
		[ "$status" -eq 0 ]
		[ "$(bk-read "t$i")" = "$i" ]
	done
	[ "$(bookies)" -eq 3 ]
}

@test "who looks starts nothing; who writes starts what is missing" {
	bk-add -m one t
	victim=$(bk-ledger bookies -o '%p\n' b2)
	kill -KILL "$victim"
	wait_until 10 has_ended "$victim"
	wait_until 10 test "$(bookies)" -eq 2
	bk-ledger list >/dev/null
	[ "$(bookies)" -eq 2 ]
	bk-add -m two t
	[ "$(bookies)" -eq 3 ]
	[ "$(bk-read t)" = $'one\ntwo' ]
}

@test "who reads starts them when none is there" {
	bk-add -m one t
	local p
	for p in $(bk-ledger bookies -o '%p\n'); do
		kill -TERM "$p"
		wait_until 10 has_ended "$p"
	done
	[ "$(bk-read t)" = one ]
}

@test "a state directory's path may be long" {
	XDG_STATE_HOME=$dir/$(printf 'x%.0s' {1..200})
	bk-add -m hi t
	[ "$(bk-read t)" = hi ]
}

@test "another user's state is 77" {
	mkdir -p "$XDG_STATE_HOME"
	if [ "$(id -u)" -eq 0 ]; then
		mkdir "$XDG_STATE_HOME/bk"
		chown 65534 "$XDG_STATE_HOME/bk"
	else
		ln -s / "$XDG_STATE_HOME/bk"
	fi
	run --separate-stderr -77 bk-add -m hi t
	[[ $stderr = "bk-add: state directory $XDG_STATE_HOME/bk: belongs to \
user "* ]]
}

@test "no place for state is 78, with what to do" {
	run --separate-stderr -78 env XDG_STATE_HOME=/proc/x bk-add -m hi t
	[[ $stderr = *"set XDG_STATE_HOME"* ]]
	echo file >not-a-directory
	run -78 env XDG_STATE_HOME="$dir/not-a-directory" bk-add -m hi t
}

@test "nothing stored yet is 66 to read, and an empty list" {
	run -66 bk-read t
	run -0 bk-ledger list
	[ -z "$output" ]
	[ ! -e "$XDG_STATE_HOME/bk" ]
}

@test "bookies that cannot start are 69, with their log named" {
	bk-add -m one t
	local p
	for p in $(bk-ledger bookies -o '%p\n'); do
		kill -TERM "$p"
		wait_until 10 has_ended "$p"
	done
	rm -r "$XDG_STATE_HOME"/bk/b?
	touch "$XDG_STATE_HOME"/bk/b{1,2,3}
	run --separate-stderr -69 bk-add -m two t
	[[ ${stderr_lines[0]} = \
	    "bk-add: bookie b1 did not start: "*"/bookie.log" ]]
}
