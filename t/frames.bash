# Frames of the bookie protocol in hex, for "frame" (t/helper/frame.c). Numbers
# are decimal; -1 is the last entry. Digests are not checked by bookies, so
# entries carry none. Load after lib.
# shellcheck shell=bash disable=SC2034

key=e793cbc379107648537183605cd361d3bb789a39 # of the password "secret"
other_key=850bf1071c5e3d8c24235676f8816ae0cbe2f14f

i64() {
	printf %016x "$1"
}

# hex TEXT: its bytes.
hex() {
	printf %s "$1" | xxd -p | tr -d '\n'
}

# varint N: as protobuf has it; -1 in ten bytes.
varint() {
	local n=$1 out=''
	if [ "$n" = -1 ]; then
		printf 'ffffffffffffffffff01'
		return
	fi
	while [ "$n" -ge 128 ]; do
		out+=$(printf %02x $((n % 128 + 128)))
		n=$((n / 128))
	done
	printf '%s%02x' "$out" "$n"
}

# framed HEX: with its length before it.
framed() {
	printf '%08x%s' $((${#1} / 2)) "$1"
}

# field NUMBER HEX: a field of bytes.
field() {
	printf '%s%s%s' "$(varint $(($1 * 8 + 2)))" \
	    "$(varint $((${#2} / 2)))" "$2"
}

# entry LEDGER ENTRY [TEXT [LAC]]
entry() {
	local text=${3-hello}
	printf '%s%s%s%s%s' "$(i64 "$1")" "$(i64 "$2")" "$(i64 "${4:--1}")" \
	    "$(i64 ${#text})" "$(hex "$text")"
}

# v2 OPCODE FLAGS HEX
v2() {
	framed "02$(printf %02x "$1")$2$3"
}

# add2 LEDGER ENTRY [TEXT [FLAGS [KEY [LAC]]]]
add2() {
	v2 1 "${4:-0000}" "${5:-$key}$(entry "$1" "$2" "${3-hello}" "${6:--1}")"
}

# read2 LEDGER ENTRY
read2() {
	v2 2 0000 "$(i64 "$1")$(i64 "$2")"
}

# fence2 LEDGER ENTRY [KEY]: a fencing read.
fence2() {
	v2 2 0001 "$(i64 "$1")$(i64 "$2")${3:-$key}"
}

# added2 CODE LEDGER ENTRY: the answer to an add.
added2() {
	framed "02010000$(printf %08x "$1")$(i64 "$2")$(i64 "$3")"
}

# failed2 CODE LEDGER ENTRY: the answer to a read without an entry.
failed2() {
	framed "02020000$(printf %08x "$1")$(i64 "$2")$(i64 "$3")"
}

# got2 LEDGER ENTRY HEX: the answer to a read, with what is stored.
got2() {
	framed "0202000000000000$(i64 "$1")$(i64 "$2")$3"
}

# v3 OPERATION TXN FIELD HEX [PRIORITY]
v3() {
	local header
	header=0803$(printf '10%s18%s' "$(varint "$1")" "$(varint "$2")")
	[ -z "${5:-}" ] || header+=20$(varint "$5")
	framed "$(field 1 "$header")$(field "$3" "$4")"
}

# add3 TXN LEDGER ENTRY [TEXT [FURTHER [PRIORITY]]]: FURTHER are fields in hex,
# a00601 for a recovery add, 2801 for a deferred sync.
add3() {
	v3 2 "$1" 101 "08$(varint "$2")10$(varint "$3")1a14$key$(
	    field 4 "$(entry "$2" "$3" "${4-hello}")")${5:-}" "${6:-}"
}

# read3 TXN LEDGER ENTRY [FURTHER]
read3() {
	v3 1 "$1" 100 "08$(varint "$2")10$(varint "$3")${4:-}"
}

# fence3 TXN LEDGER ENTRY [KEY]
fence3() {
	read3 "$1" "$2" "$3" "1a14${4:-$key}a00601"
}

# answer3 OPERATION TXN STATUS FIELD HEX: HEX without the inner status.
answer3() {
	local status
	status=$(varint "$3")
	framed "$(field 1 "080310$(varint "$1")18$(varint "$2")")10$status$(
	    field "$4" "08$status$5")"
}

# added3 TXN STATUS LEDGER ENTRY
added3() {
	answer3 2 "$1" "$2" 101 "10$(varint "$3")18$(varint "$4")"
}

# failed3 TXN STATUS LEDGER ENTRY: the answer to a read without an entry.
failed3() {
	answer3 1 "$1" "$2" 100 "10$(varint "$3")18$(varint "$4")"
}

# of_ledger OPERATION TXN FIELD LEDGER: READ_LAC, FORCE and LIST.
of_ledger() {
	v3 "$1" "$2" "$3" "08$(varint "$4")"
}

# write_lac TXN LEDGER LAC [KEY]
write_lac() {
	v3 6 "$1" 103 "08$(varint "$2")10$(varint "$3")1a14${4:-$key}$(
	    field 4 "$(i64 "$2")$(i64 "$3")")"
}

# expect ADDRESS SENT ANSWER...: one connection, and these frames in order.
expect() {
	local address=$1 sent=$2 got
	shift 2
	got=$(frame "$address" send "$sent" recv $#) || return
	[ "$got" = "$(printf '%s\n' "$@")" ] || {
		printf 'sent %s\nwant:\n' "$sent"
		printf '%s\n' "$@"
		printf 'got:\n%s\n' "$got"
		return 1
	} >&2
}
