# completion.bash - completion of all programs for bash. The words come from
# the option table of the program itself (--complete): "WORD<TAB>WHAT", where
# WHAT names the value that follows, if one does.
# shellcheck shell=bash

# _bk_table PROGRAM [COMMAND]: its option table.
_bk_table() {
	"$@" --complete 2>/dev/null
}

# _bk_value WHAT WORD: words for an option's value.
_bk_value() {
	case $1 in
	FILE | DIR) compgen -f -- "$2" ;;
	ID) compgen -W "$(bk-ledger bookies -o '%i\n' 2>/dev/null)" -- "$2" ;;
	esac
}

# _bk_operand PROGRAM WORD: names, and what else the program takes.
_bk_operand() {
	case $1 in
	*bk-add | *bk-read | *bk-ledger)
		compgen -W "$(bk-ledger list --names -o '%n\n' 2>/dev/null)" \
		    -- "$2"
		;;
	esac
	case $1 in
	*bk-add) compgen -f -- "$2" ;;
	esac
}

_bk_commands() {
	"$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p'
}

# _bk PROGRAM WORD PREVIOUS: what bash calls.
_bk() {
	local program=("$1") word=$2 previous=$3 table what
	COMPREPLY=()
	if [[ ${1##*/} = bk-ledger ]]; then
		if ((COMP_CWORD == 1)) && [[ $word != -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W \
			    "$(_bk_commands "$1")" -- "$word")
			return
		fi
		((COMP_CWORD == 1)) || program+=("${COMP_WORDS[1]}")
	fi
	table=$(_bk_table "${program[@]}")
	what=$(awk -F '\t' -v option="$previous" \
	    '$1 == option && $2 !~ /\?$/ { print $2 }' <<<"$table")
	if [[ $previous = -* && -n $what ]]; then
		mapfile -t COMPREPLY < <(_bk_value "$what" "$word")
	elif [[ $word = -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(cut -f 1 <<<"$table")" \
		    -- "$word")
	else
		mapfile -t COMPREPLY < <(_bk_operand "$1" "$word")
	fi
}

complete -o filenames -F _bk bk-add bk-read bk-ledger bk-bookied hub-pub \
    hub-sub hub-relay
