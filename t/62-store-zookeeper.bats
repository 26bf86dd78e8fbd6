#!/usr/bin/env bats
# ZooKeeper as people meet it when it is away, wants something else, or goes in
# the middle.
# shellcheck disable=SC2034 # what lib.bash reads

load lib

setup() {
	enter_own_folder
	start_zookeeper
	export BK_CLUSTER=zk://$ZK/ledgers
}

teardown() {
	stop_zookeeper
	leave_own_folder
}

@test "no ZooKeeper: 69, and where there is none" {
	local nowhere
	nowhere=127.0.0.1:$(free_port)
	export BK_CLUSTER=zk://$nowhere/ledgers
	run --separate-stderr -69 bk-ledger list
	[[ $stderr == *"$nowhere: Connection refused"* ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
	export BK_CLUSTER=zk://nowhere.invalid/ledgers
	run --separate-stderr -69 bk-ledger list
	[[ $stderr == *"nowhere.invalid: unknown host"* ||
	    $stderr == *"nowhere.invalid: the name server does not answer"* ]]
}

@test "a store that demands TLS: 78 at once, and that" {
	local at
	at=127.0.0.1:$(free_port)
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert \
	    -days 2 -subj /CN=zk 2>/dev/null
	start tls openssl s_server -accept "$at" -key key -cert cert -quiet
	wait_until 10 bash -c "exec 9<>/dev/tcp/${at/://}"
	export BK_CLUSTER=zk://$at/ledgers
	SECONDS=0
	run --separate-stderr -78 bk-ledger list
	[ "$SECONDS" -lt 5 ]
	[[ $stderr == *"$at: the server demands TLS"* ]]
}

@test "a store that demands SASL: 78 at once, and that" {
	stop_zookeeper
	cat >>"$ZK_HOME/zoo.cfg" <<-'END'
		authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
		sessionRequireClientSASLAuth=true
	END
	restart_zookeeper
	SECONDS=0
	run --separate-stderr -78 bk-ledger list
	[ "$SECONDS" -lt 5 ]
	[[ $stderr == *"$ZK: the server demands a login by SASL"* ]]
}

@test "a login from a file; one that everybody can read is refused" {
	(umask 077 && echo bk:secret >auth)
	bk-ledger cluster init --auth-file "$dir/auth"
	bk-ledger list --auth-file "$dir/auth"
	run --separate-stderr -77 bk-ledger list
	chmod 644 auth
	run --separate-stderr -78 bk-ledger list --auth-file "$dir/auth"
	[[ $stderr == *"$dir/auth: open to everybody"* ]]
}

@test "a restart of ZooKeeper in the middle loses nothing and ends nothing" {
	bk-ledger cluster init
	start_bookies 3
	mkfifo in
	bk-add middle <in >add.out 2>add.log 3>&- 6>&- &
	pid[writer]=$!
	exec 6>in
	seq 1 1000 >&6
	kill -KILL "$ZK_PID"
	wait_until 10 has_ended "$ZK_PID"
	seq 1001 2000 >&6
	restart_zookeeper 6>&-
	seq 2001 3000 >&6
	exec 6>&-
	await writer
	[ "$status" -eq 0 ]
	bk-read middle | cmp - <(seq 1 3000)
	wait_until 20 all_up
}

all_up() {
	[ "$(bk-ledger bookies | cut -f 2 | sort -u)" = up ]
}
