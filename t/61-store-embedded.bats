#!/usr/bin/env bats
# The embedded store as people meet it: who may use it, who holds it, how full
# its disk is.

load lib

setup() {
	enter_own_folder
	export BK_CLUSTER=local:$dir/cluster
	tree-check "$BK_CLUSTER" init
}

# hold_store: a process that takes the writer's lock and is then stopped; its
# process id in ${pid[holder]}.
hold_store() {
	# shellcheck disable=SC2016 # Perl's
	start holder perl -e '
		use Fcntl qw(:DEFAULT :seek);
		open(F, "+<", $ARGV[0]) or die;
		my $lock = pack("s s x![q] q q l x![q]", F_WRLCK, SEEK_SET,
		    0, 0, 0);
		fcntl(F, F_SETLK, $lock) or die;
		$| = 1;
		print "held\n";
		kill STOP => $$;' "$dir/cluster/writer"
	wait_until 10 is_stopped "${pid[holder]}"
}

is_stopped() {
	grep -qs '^State:.*stopped' "/proc/$1/status"
}

@test "a store held by a stopped process: 75, in seconds, and by whom" {
	hold_store
	SECONDS=0
	run --separate-stderr -75 bk-ledger list
	[ "$SECONDS" -lt 8 ]
	[[ $stderr == *"store held by pid ${pid[holder]} (stopped)"* ]]
	kill -KILL "${pid[holder]}"
	wait_until 5 bk-ledger list
}

@test "another user gets 77, and whose store it is" {
	if [ $EUID -eq 0 ]; then
		chmod 755 "$dir" "$dir/cluster"
		chown -R 12345 "$dir/cluster"
		run --separate-stderr -77 bk-ledger list
		[[ $stderr == *"$dir/cluster: belongs to user 12345"* ]]
	else
		run --separate-stderr -77 bk-ledger list --cluster local:/
		[[ $stderr == *"belongs to user 0"* ]]
	fi
}

@test "a second pid namespace gets 78" {
	start_bookie b1
	run --separate-stderr -78 unshare --user --map-root-user --pid --fork \
	    --mount-proc bk-ledger list
	[[ $stderr == *"another pid namespace"* ]]
	stop b1
	unshare --user --map-root-user --pid --fork --mount-proc \
	    bk-ledger list
}

@test "a store that was emptied is damaged, not new: 74" {
	truncate -s 0 "$dir/cluster/data.mdb"
	run --separate-stderr -74 bk-ledger list
	[[ $stderr == *"the store has lost its mark"* ]]
}

@test "a full disk: what is there is shown, nothing new is half stored" {
	mkdir small
	cat >inner <<-'END'
		set -e
		mount -t tmpfs -o size=1m none small
		export BK_CLUSTER=local:$PWD/small/store
		tree-check "$BK_CLUSTER" init
		tree-check "$BK_CLUSTER" create 20 | sort -n >before
		dd if=/dev/zero of=small/fill bs=4k 2>dd.log || true
		n=0
		while tree-check "$BK_CLUSTER" create 100 >>made 2>>create.log
		do
			n=$((n + 1))
			[ "$n" -lt 100 ] || exit 1
		done
		tree-check "$BK_CLUSTER" list >after
		rm small/fill
		tree-check "$BK_CLUSTER" create 1 >>made
		tree-check "$BK_CLUSTER" list >last
	END
	unshare --user --map-root-user --mount sh inner
	sort -n before made >all
	comm -23 <(sort all) <(sort last) >lost
	[ ! -s lost ]
	comm -23 <(sort before) <(sort after) >hidden
	[ ! -s hidden ]
}

@test "killed writers leave a store that can be written" {
	for _ in 1 2 3 4 5; do
		start a tree-check "$BK_CLUSTER" create 100000
		start b tree-check "$BK_CLUSTER" create 100000
		wait_until 10 test -s a.out
		wait_until 10 test -s b.out
		kill -KILL "${pid[a]}" "${pid[b]}"
		await a
		await b
		head -n -1 a.out >>made
		head -n -1 b.out >>made
	done
	run tree-check "$BK_CLUSTER" list
	[ "$status" -eq 0 ]
	comm -23 <(sort made) <(sort <<<"$output") >lost
	[ ! -s lost ]
	[ -z "$(sort made | uniq -d)" ]
}
