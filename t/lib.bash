# What every bats file loads first: "load lib". A test then runs in a folder of
# its own, with the programs of the build in its PATH, a home that nobody else
# uses and no cluster named. Whatever it starts ends with it, and what its
# daemons said is shown when it fails.
#
# The store under test is "local" (embedded) or "zk", by $BK_TEST_STORE; see
# new_cluster. A file that is to run on both has a line "# stores: local zk".
# A file with a setup or teardown of its own calls the ones of here by their
# other names.
# shellcheck shell=bash disable=SC2034

bats_require_minimum_version 1.5.0

top=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
build=$(cd "$top" && realpath -m "${BUILD:-build}")
data=$top/t/data
store=${BK_TEST_STORE:-local}
PATH=$build/bin:$build/t/helper:$PATH
export PATH

declare -gA pid port

setup_file() {
	start_store
}

teardown_file() {
	stop_store
}

setup() {
	enter_own_folder
}

teardown() {
	leave_own_folder
}

# start_store: what all tests of a file share of the store under test.
start_store() {
	[ "$store" != zk ] || start_zookeeper
}

stop_store() {
	[ "$store" != zk ] || stop_zookeeper
}

enter_own_folder() {
	cd "$BATS_TEST_TMPDIR" || return
	dir=$PWD
	mkdir home
	export HOME=$dir/home LC_ALL=C.UTF-8
	export XDG_STATE_HOME=$HOME/state XDG_CONFIG_HOME=$HOME/config
	unset BK_CLUSTER BK_CONFIG BK_PASSWORD_FILE HUB XDG_RUNTIME_DIR \
	    NOTIFY_SOCKET LISTEN_FDS LISTEN_PID LISTEN_FDNAMES JOURNAL_STREAM
	local reports="log_path=$dir/sanitizer"
	export ASAN_OPTIONS=$reports:abort_on_error=1:detect_leaks=1
	export UBSAN_OPTIONS=$reports:abort_on_error=1:print_stacktrace=1
	export LSAN_OPTIONS=$reports
}

# A daemon's sanitizer report fails the test that started it.
leave_own_folder() {
	{
		"$top/t/reap" "$dir"
		wait
	} 2>/dev/null
	if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
		show_logs "$dir"/*.log "$dir"/home/state/bk/*.log
	fi
	if compgen -G "$dir/sanitizer.*" >/dev/null; then
		show_logs "$dir"/sanitizer.*
		return 1
	fi
}

show_logs() {
	local log
	for log; do
		[ -s "$log" ] || continue
		echo "--- ${log#"$dir"/}"
		tail -n 40 "$log"
	done
}

# fail TEXT: ends the test, saying why.
fail() {
	echo "$*" >&2
	return 1
}

# wait_until SECONDS COMMAND...: tries the command until it succeeds.
wait_until() {
	local limit=$1 deadline
	shift
	deadline=$((${EPOCHREALTIME/[.,]/} + limit * 1000000))
	until "$@"; do
		if [ "${EPOCHREALTIME/[.,]/}" -gt "$deadline" ]; then
			fail "not in $limit s: $*"
			return
		fi
		sleep 0.02
	done
}

# start NAME COMMAND...: runs it in the background, its output in NAME.out,
# its messages in NAME.log, its process id in ${pid[NAME]}.
start() {
	local name=$1
	shift
	"$@" </dev/null >"$name.out" 2>"$name.log" 3>&- 4>&- &
	pid[$name]=$!
}

# stop NAME [SIGNAL]: ends what was started, and leaves the program's exit
# status in $status.
stop() {
	kill "-${2:-TERM}" "${pid[$1]}" 2>/dev/null
	await "$1"
}

# await NAME: the same for a program that ends by itself, within 20 s.
await() {
	status=0
	wait_until 20 has_ended "${pid[$1]}" || return
	wait "${pid[$1]}" 2>/dev/null || status=$?
	unset "pid[$1]"
}

# has_ended PID: gone, or a child of ours that only waits to be asked for.
has_ended() {
	local state
	state=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) || return 0
	[ -z "$state" ] || [ "${state%% *}" = Z ]
}

# free_port: a TCP port of 127.0.0.1 that nobody has now.
free_port() {
	perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1,
	    LocalAddr => "127.0.0.1")->sockport'
}

# new_cluster: names a cluster that nobody used before in BK_CLUSTER, on the
# store under test. It has no bookies yet.
new_cluster() {
	case $store in
	local)
		export BK_CLUSTER=local:$dir/cluster
		;;
	zk)
		export BK_CLUSTER=zk://$ZK/cluster-$BATS_TEST_NUMBER-$RANDOM
		bk-ledger cluster init
		;;
	esac
}

# start_bookie NAME [OPTION...]: a bookie of the cluster, on the same port and
# folders each time it is started by that name. Returns once it is ready.
start_bookie() {
	launch_bookie "$@" && await_bookie "$1"
}

# start_bookies N [OPTION...]: bookies b1 to bN.
start_bookies() {
	local n=$1 i
	shift
	for ((i = 1; i <= n; i++)); do
		launch_bookie "b$i" "$@" || return
	done
	for ((i = 1; i <= n; i++)); do
		await_bookie "b$i" || return
	done
}

launch_bookie() {
	local name=$1
	shift
	[ -n "${port[$name]:-}" ] || port[$name]=$(free_port)
	rm -f "$name.ready"
	start "$name" with_ready_fd "$name.ready" bk-bookied \
	    --listen "127.0.0.1:${port[$name]}" \
	    --journal "$dir/$name/journal" --data "$dir/$name/data" \
	    --ready-fd 5 "$@"
}

# with_ready_fd FILE COMMAND...: becomes the command, descriptor 5 to the file.
with_ready_fd() {
	exec 5>"$1"
	shift
	exec "$@"
}

await_bookie() {
	wait_until 20 ready_or_dead "$1"
	[ -s "$1.ready" ] || fail "bookie $1 did not start"
}

ready_or_dead() {
	[ -s "$1.ready" ] || has_ended "${pid[$1]}"
}

# start_zookeeper: a ZooKeeper server for this test, or, from setup_file, for
# all tests of the file; its address is then in ZK, its process id in ZK_PID.
# What setup_file starts, teardown_file stops with stop_zookeeper.
start_zookeeper() {
	local home=${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}/zookeeper
	ZK=127.0.0.1:$(free_port)
	export ZK ZK_HOME=$home
	mkdir -p "$home/data"
	cat >"$home/zoo.cfg" <<-END
		tickTime=500
		dataDir=$home/data
		clientPort=${ZK#*:}
		clientPortAddress=127.0.0.1
		admin.enableServer=false
		4lw.commands.whitelist=*
		maxClientCnxns=0
	END
	restart_zookeeper
}

# restart_zookeeper: the same server again, with its data, after kill $ZK_PID.
restart_zookeeper() {
	local jars=/usr/share/java/zookeeper.jar:/etc/zookeeper/conf
	java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
	    -Dzookeeper.forceSync=no -cp "$jars:/usr/share/java/*" \
	    org.apache.zookeeper.server.quorum.QuorumPeerMain \
	    "$ZK_HOME/zoo.cfg" </dev/null >"$ZK_HOME/log" 2>&1 3>&- 4>&- &
	export ZK_PID=$!
	if ! wait_until 60 zookeeper_answers; then
		tail -n 20 "$ZK_HOME/log"
		return 1
	fi
}

stop_zookeeper() {
	kill -KILL "$ZK_PID"
	"$top/t/reap" "$ZK_HOME"
}

zookeeper_answers() {
	[ "$(ask_zookeeper ruok 2>/dev/null)" = imok ]
}

# ask_zookeeper WORD: a four letter word's answer.
ask_zookeeper() {
	local answer
	exec {zk}<>"/dev/tcp/${ZK%:*}/${ZK#*:}" || return
	printf %s "$1" >&"$zk"
	answer=$(timeout 5 cat <&"$zk")
	exec {zk}>&-
	printf '%s\n' "$answer"
}
