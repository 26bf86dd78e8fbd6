# The tests' own tools: a count that can be believed, and nothing left behind.
# limit: 60 s

load lib

setup() {
	enter_own_folder
	unset BUILD JOBS LIMIT_SCALE
}

# Makes a tree of its own, with the runner in it and unit tests that are shell
# scripts: program NAME LINE...
program() {
	local file=tree/build/t/$1
	mkdir -p tree/t/unit tree/build/t
	cp "$top/t/run" "$top/t/reap" tree/t/
	echo "/* limit: 2 s */" >"tree/t/unit/$1.c"
	shift
	printf '%s\n' '#!/bin/sh' "$@" >"$file"
	chmod +x "$file"
}

# The last line of a run.
counts() {
	tree/t/run unit | tail -n 1
}

@test "claims that hold and that do not are counted" {
	program one 'echo "ok 1 - a"' 'echo "not ok 2 - b"' 'echo 1..2' 'exit 1'
	program two 'echo "ok 1 - a"' 'echo 1..1'
	[ "$(counts)" = "2 passed, 1 failed" ]
}

@test "all that do not hold make the status 1, none make it 0" {
	program one 'echo "ok 1 - a"' 'echo 1..1'
	run -0 tree/t/run unit
	program two 'echo "not ok 1 - a"' 'echo 1..1'
	run -1 tree/t/run unit
}

@test "a skipped test is a failure" {
	program one 'echo "ok 1 - a # skip no tool"' 'echo 1..1'
	[ "$(counts)" = "0 passed, 1 failed" ]
}

@test "an end before the plan is a failure" {
	program one 'echo "ok 1 - a"'
	[ "$(counts)" = "1 passed, 1 failed" ]
}

@test "fewer claims than planned are failures" {
	program one 'echo 1..3' 'echo "ok 1 - a"'
	[ "$(counts)" = "1 passed, 2 failed" ]
}

@test "death after the last claim is a failure" {
	program one 'echo "ok 1 - a"' 'echo 1..1' 'kill -SEGV $$'
	[ "$(counts)" = "1 passed, 1 failed" ]
}

@test "a program that never ends is ended at its limit, and is a failure" {
	program one 'echo "ok 1 - a"' 'setsid sleep 1000 &' 'sleep 1000'
	[ "$(counts)" = "1 passed, 1 failed" ]
	run -1 pgrep -f "$dir/tree"
}

@test "a test that does not exist is a usage error" {
	program one 'echo 1..0'
	run -64 tree/t/run nonesuch
}

@test "what a test started is found by its folder, also in another session" {
	start one sleep 1000
	setsid --fork sh -c 'echo $$ >other; exec sleep 1000' 3>&-
	wait_until 5 test -s other
	"$top/t/reap" "$dir"
	wait_until 5 has_ended "${pid[one]}"
	wait_until 5 has_ended "$(cat other)"
}

@test "a process of a folder whose name only begins alike is spared" {
	start one env -i "AT=$dir-other/x" /bin/sleep 1000
	start two env -i "AT=$dir/x" /bin/sleep 1000
	wait_until 5 grep -q AT= "/proc/${pid[one]}/environ"
	wait_until 5 grep -q AT= "/proc/${pid[two]}/environ"
	"$top/t/reap" "$dir"
	wait_until 5 has_ended "${pid[two]}"
	run -1 has_ended "${pid[one]}"
	kill "${pid[one]}"
}
