# The ledger tree, bookies and chains over a real store, by several processes.
# stores: local zk

load lib

# A cluster of its own, made by tree-check.
new_tree() {
	case $store in
	local) cluster=local:$dir/cluster ;;
	zk) cluster=zk://$ZK/tree-$BATS_TEST_NUMBER-$RANDOM ;;
	esac
	[ "$1" = bare ] || tree-check "$cluster" init
}

# is_line FILE TEXT: whether that is its last line.
is_line() {
	[ "$(tail -n 1 "$1")" = "$2" ]
}

@test "one client can do everything" {
	new_tree bare
	[ "$store" = local ] || cluster=zk://$ZK/ledgers
	run tree-check "$cluster" all
	echo "$output" | grep -v '^ok' || true
	[ "$status" -eq 0 ]
}

@test "ids are given once, whoever asks" {
	new_tree made
	for i in 1 2 3 4; do
		start "c$i" tree-check "$cluster" create 25
	done
	for i in 1 2 3 4; do
		await "c$i"
		[ "$status" -eq 0 ]
	done
	sort -n c?.out >ids
	[ "$(uniq ids | wc -l)" -eq 100 ]
	tree-check "$cluster" list >listed
	cmp ids listed
}

@test "of changes that race none is lost" {
	new_tree made
	[ "$(tree-check "$cluster" create 1)" = 0 ]
	for i in 1 2 3 4; do
		start "u$i" tree-check "$cluster" update 10
	done
	for i in 1 2 3 4; do
		await "u$i"
		[ "$status" -eq 0 ]
	done
	[ "$(tree-check "$cluster" keys 0)" -eq 40 ]
}

@test "bookies come and go before the eyes of others" {
	new_tree made
	start watcher tree-check "$cluster" follow 4
	wait_until 20 test -s watcher.out
	start b1 tree-check "$cluster" register b:1
	wait_until 20 is_line watcher.out b:1:w
	start b2 tree-check "$cluster" register b:2
	wait_until 20 is_line watcher.out "b:1:w b:2:w"
	stop b1 KILL
	wait_until 30 is_line watcher.out b:2:w
	stop b2 KILL
	await watcher
	[ "$status" -eq 0 ]
	is_line watcher.out ""
}

@test "a bookie that is killed and started again is there in the end" {
	new_tree made
	start b1 tree-check "$cluster" register b:1
	wait_until 20 is_line b1.out registered
	stop b1 KILL
	start b1 tree-check "$cluster" register b:1
	wait_until 30 is_line b1.out registered
	[ "$(tree-check "$cluster" follow 0)" = b:1:w ]
}
