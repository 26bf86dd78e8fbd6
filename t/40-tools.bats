#!/usr/bin/env bats
# What is the same in all programs: help, version, usage errors, settings,
# completion, manual pages.

# shellcheck disable=SC2030,SC2031,SC2154 # variables of bats and of lib
load lib

# Each program of the build, and each command of bk-ledger, one a line.
programs() {
	local p
	for p in "$build"/bin/*; do
		echo "${p##*/}"
	done
	bk-ledger --help | sed -n 's/^  \([a-z][a-z]*\)  .*/bk-ledger \1/p'
}

# each FUNCTION: calls it with the words of each line of programs.
each() {
	local words
	while read -ra words; do
		"$1" "${words[@]}" </dev/null || fail "${words[*]}"
	done < <(programs)
}

helps() {
	run --separate-stderr -0 "$@" --help || return
	[ -z "$stderr" ] || return
	[ "${#lines[@]}" -le 24 ] || return
	[[ ${lines[0]} = "usage: $1 "* ]] || return
	awk 'length($0) > 79 { exit 1 }' <<<"$output"
}

@test "--help is short, narrow, on standard output, and 0" {
	each helps
}

tells_version() {
	run --separate-stderr -0 "$@" --version || return
	[ -z "$stderr" ] || return
	[ "${#lines[@]}" -eq 2 ] || return
	[[ ${lines[0]} = "$1 "* ]]
}

@test "--version is two lines, and 0" {
	each tells_version
}

refuses_option() {
	run --separate-stderr -64 "$@" --xyzzy || return
	[ -z "$output" ] || return
	[ "${#stderr_lines[@]}" -eq 2 ] || return
	[ "${stderr_lines[0]}" = "$1: unknown option --xyzzy" ] || return
	[ "${stderr_lines[1]}" = "try '$* --help'" ]
}

@test "an unknown option is named in two lines, and 64" {
	each refuses_option
}

@test "the option that was meant is suggested" {
	run --separate-stderr -64 bk-add --unakced=x t
	[ "${stderr_lines[0]}" = \
	    "bk-add: unknown option --unakced; did you mean --unacked?" ]
}

has_full_disk() {
	run -74 sh -c 'exec "$@" --help >/dev/full' sh "$@" || return
	run -74 sh -c 'exec "$@" --version >/dev/full' sh "$@" || return
	run -74 sh -c 'exec "$@" --version >&-' sh "$@"
}

@test "help and version that cannot be written are 74" {
	each has_full_disk
}

completes() {
	run -0 "$@" --complete || return
	grep -qx -e $'--cluster\tURI' <<<"$output"
}

@test "every program gives the words for completion" {
	each completes
}

# completion WORD...: what bash makes of the last one.
completion() {
	(
		# shellcheck source=/dev/null
		source "$top/lib/tool/completion.bash"
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_bk "$1" "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf '%s\n' "${COMPREPLY[@]}"
	)
}

@test "bash completes options, commands and files" {
	[ "$(completion bk-add --una)" = --unacked ]
	[ "$(completion bk-ledger boo)" = $'bookies\nbookie' ]
	[ "$(completion bk-ledger list --orp)" = --orphans ]
	echo x >some-file
	[ "$(completion bk-add --unacked some)" = some-file ]
}

@test "a setting comes from the line, the environment, the user's file" {
	mkdir -p config/bk
	echo 'cluster local:/one' >config/bk/config
	export XDG_CONFIG_HOME=$PWD/config
	bk-ledger config | grep -F "config/bk/config:1" | grep -F /one
	BK_CLUSTER=local:/two bk-ledger config | grep -F BK_CLUSTER |
	    grep -F /two
	BK_CLUSTER=local:/two bk-ledger config --cluster local:/three |
	    grep -F /three
	echo 'cluster local:/four' >other
	bk-ledger config -C other | grep -F /four
	BK_CONFIG=other bk-ledger config | grep -F /four
}

@test "an unknown setting is 78, with file and line" {
	printf '# fine\n\nwidnow 7\n' >config
	run --separate-stderr -78 bk-add -C config -n t </dev/null
	[ "$stderr" = "bk-add: config:3: widnow: unknown setting" ]
	run --separate-stderr -78 bk-ledger list -C config
	[ "$stderr" = "bk-ledger: config:3: widnow: unknown setting" ]
}

@test "a setting of another program is none of ours" {
	echo 'journal /srv' >config
	bk-ledger config -C config
}

@test "a bad value is 78 in a file and 64 on the line" {
	echo 'ensemble 0' >config
	run --separate-stderr -78 bk-add -C config -n t </dev/null
	[ "$stderr" = "bk-add: config:1: ensemble: is less than 1" ]
	run --separate-stderr -64 bk-add -E 0 t </dev/null
	[ "${stderr_lines[0]}" = \
	    "bk-add: option --ensemble: '0' is less than 1" ]
}

@test "a file that is included counts, and a circle is an error" {
	mkdir sub
	echo 'include sub/more' >config
	echo 'cluster local:/deep' >sub/more
	bk-ledger config -C config | grep -F /deep
	echo 'include more' >sub/more
	run -78 bk-ledger config -C config
	[[ $output = *"include each other" ]]
	run -78 bk-ledger config -C missing
}

# Options of a page: the words behind "Fl" in its lists.
documented() {
	grep '^\.It' "$1" | grep -o 'Fl -[a-z-]*' | sed 's/Fl -/--/' | sort -u
}

@test "each page has each option of its program, and no other" {
	local page name
	for page in "$top"/man/bk-add.1 "$top"/man/bk-read.1 \
	    "$top"/man/bk-bookied.8; do
		name=${page##*/}
		name=${name%.*}
		"$name" --complete | sed -n 's/^\(--[a-z-]*\).*/\1/p' |
		    grep -vx -e --quiet -e --verbose | sort -u >have
		documented "$page" | grep -vx -e --quiet -e --verbose >told
		diff have told
	done
}

@test "pages have the sections they need" {
	local page section
	for page in "$top"/man/*.[18]; do
		for section in SYNOPSIS ENVIRONMENT FILES 'EXIT STATUS' \
		    SIGNALS EXAMPLES; do
			grep -qxF ".Sh $section" "$page" ||
			    fail "$page has no $section"
		done
	done
}
