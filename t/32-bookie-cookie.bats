#!/usr/bin/env bats
# "This disk is that bookie's": a bookie starts on its own directories and on
# no others, and says which one is wrong (spec/metadata.md 5.4 to 5.6).
# stores: local zk

load lib
load frames

setup() {
	enter_own_folder
	new_cluster
}

# refuses WHY OPTION...: a bookie with these options on b1's directories ends
# with 78 and one line.
refuses() {
	local why=$1
	shift
	start refused bk-bookied --listen "127.0.0.1:${port[b1]}" \
	    --journal "$dir/b1/journal" --data "$dir/b1/data" "$@"
	await refused
	[ "$status" -eq 78 ] || fail "exit status $status"
	grep -q "error: .*$why" refused.log || fail "$(cat refused.log)"
	[ "$(grep -c error: refused.log)" -eq 1 ]
}

@test "a new bookie writes its cookie to every directory, as Apache's" {
	start_bookie b1 --data "$dir/b1/more"
	local id=127.0.0.1:${port[b1]}
	for d in journal data more; do
		head -n 4 "b1/$d/current/VERSION" >cookie
		diff cookie - <<-END
			5
			bookieHost: "$id"
			journalDir: "$dir/b1/journal"
			ledgerDirs: "2\\t$dir/b1/data\\t$dir/b1/more"
		END
		grep -q '^instanceId: "[-0-9a-f]*"$' "b1/$d/current/VERSION"
	done
	stop b1
	start_bookie b1 --data "$dir/b1/more"
}

@test "another id on the same directories is refused" {
	start_bookie b1
	stop b1
	refuses "belongs to bookie 127.0.0.1:${port[b1]}" --id other
}

@test "other directories than before are refused" {
	start_bookie b1
	stop b1
	refuses 'other directories' --data "$dir/b1/new"
}

@test "another cluster's disk is refused" {
	start_bookie b1
	stop b1
	case $store in
	local) BK_CLUSTER=local:$dir/elsewhere/store ;;
	zk)
		BK_CLUSTER+=-elsewhere
		bk-ledger cluster init
		;;
	esac
	refuses 'belongs to another cluster'
}

@test "an emptied directory is refused" {
	start_bookie b1
	expect "127.0.0.1:${port[b1]}" "$(add2 1 0)" "$(added2 0 1 0)"
	stop b1
	rm -r b1/data
	refuses 'no cookie there'
	mv b1/journal aside
	refuses 'no cookie there'
	[ ! -e b1/data/current ]
}

@test "a directory with something else in it is refused" {
	port[b1]=$(free_port)
	mkdir -p b1/data/current
	echo >b1/data/current/strange
	refuses 'not a bookie.s directory'
	rm -r b1/data
	mkdir -p b1/data
	echo >b1/data/0.log
	refuses 'not a bookie.s directory'
}

@test "a VERSION that is no cookie is refused" {
	start_bookie b1
	stop b1
	echo rubbish >b1/data/current/VERSION
	refuses 'not a cookie'
}

@test "a directory in use is refused" {
	start_bookie b1
	start second bk-bookied --listen 127.0.0.1:0 \
	    --id "127.0.0.1:${port[b1]}" \
	    --journal "$dir/b1/journal" --data "$dir/b1/data"
	await second
	[ "$status" -eq 78 ]
	grep -q 'in use' second.log
	expect "127.0.0.1:${port[b1]}" "$(add2 1 0)" "$(added2 0 1 0)"
}

@test "a start that was cut before the store had the cookie goes on" {
	start_bookie b1
	stop b1 KILL
	case $store in
	local) rm -r cluster ;;
	zk)
		wait_until 30 bk-ledger bookie "127.0.0.1:${port[b1]}" \
		    --cookie delete -y
		;;
	esac
	rm -rf b1/journal/current/* b1/data/current/[!V]*
	[ "$store" = zk ] || rm b1/data/current/VERSION
	start_bookie b1
}

@test "without the cluster's own nodes nothing is made" {
	[ "$store" = zk ] || return 0
	BK_CLUSTER=zk://$ZK/nowhere
	start lost bk-bookied --data "$dir/lost"
	await lost
	[ "$status" -eq 78 ]
	grep -q 'cluster init' lost.log
	[ ! -e lost/current ]
}
