# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# warpway.bash - completes verbs, options, names of objects and files
#
# Verbs and options come from the command's own help, names from the broker that the line means; where none runs
# there are no names, and none is started. Words are taken from the line itself: bash would cut
# them at ':' and '=', which names and devices may contain.

# Puts those candidates that begin with the current word into COMPREPLY, less what bash has cut off.
_warpway_offer() {
	local candidate quoted head=${_warpway_word%"${_warpway_word##*[:=]}"}
	for candidate in "$@"; do
		[[ $candidate == "$_warpway_word"* ]] || continue
		printf -v quoted '%q' "${candidate#"$head"}"
		COMPREPLY+=("$quoted")
	done
}

_warpway_offer_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$_warpway_word")
}

_warpway_offer_names() {
	local names
	mapfile -t names < <("$_warpway_command" ls --names "${_warpway_broker[@]}" 2>/dev/null)
	_warpway_offer "${names[@]}"
}

_warpway_offer_options() { # VERB...
	local options
	mapfile -t options < <("$_warpway_command" "$@" --help 2>/dev/null |
		grep -oE -e '--[a-z]+(-[a-z]+)*' | sort -u)
	_warpway_offer "${options[@]}"
}

# The first words of the lines below a heading of the help.
_warpway_offer_listed() { # HEADING VERB...
	local heading=$1 words
	shift
	mapfile -t words < <("$_warpway_command" "$@" --help 2>/dev/null |
		sed -n "/^$heading/,/^\$/s/^  \([a-z]*\) .*/\1/p")
	_warpway_offer "${words[@]}"
}

_warpway_offer_devices() {
	local devices=(host) gpu count=0
	for gpu in /proc/driver/nvidia/gpus/*/; do
		[[ -d $gpu ]] && devices+=("cuda:$((count++))")
	done
	_warpway_offer "${devices[@]}"
}

# Offers what an option takes. Fails for an option that takes nothing.
_warpway_offer_value() { # OPTION
	case $1 in
	--device) _warpway_offer_devices ;;
	--life) _warpway_offer kept owner held ;;
	--mode | --socket-mode) _warpway_offer 0600 0640 0644 0660 0666 ;;
	--group)
		local groups
		mapfile -t groups < <(id -Gn | tr ' ' '\n')
		_warpway_offer "${groups[@]}"
		;;
	--broker | --socket | --config | --signature | --report | --html | --from) _warpway_offer_files ;;
	--wait) _warpway_offer forever ;;
	--access) _warpway_offer read write ;;
	--policy) _warpway_offer block drop-oldest latest ;;
	--view) _warpway_offer objects processes users devices requests ;;
	--history) _warpway_offer oldest ;;
	--mpi)
		[[ ${words[1]} == bench ]] || return 1 # of run it takes no word
		_warpway_offer openmpi mpich
		;;
	--dtype) _warpway_offer uint8 uint16 int16 int32 int64 float16 bfloat16 float32 float64 ;;
	-o | --output) _warpway_offer_files ;;
	--time-limit | --ttl | --token | --escrow | --uses | --count | --elements | --processes | --timeout | --sizes | --iterations | --objects | \
		--clients | --kills | --slices | --ranks | --bytes | --shape | --rate | --speed | --slots | --consumers | --held | \
		--interval | --rows | --listen | \
		--wait-consumers | --evict-after | --metadata | --metadata-type) ;;
	*) return 1 ;;
	esac
}

# The functions of the service that the first word behind the verb names.
_warpway_offer_functions() {
	local functions
	mapfile -t functions < <("$_warpway_command" functions "${_warpway_broker[@]}" "$_warpway_first" 2>/dev/null |
		sed '1,/^FUNCTION /d; s/ .*//')
	_warpway_offer "${functions[@]}"
}

# The numbers of the consumers of the channel that the first word behind the verb names.
_warpway_offer_consumers() {
	local numbers
	mapfile -t numbers < <("$_warpway_command" channel stat "${_warpway_broker[@]}" "$_warpway_first" 2>/dev/null |
		sed -n '1,/^CONSUMER /d; s/^ *\([0-9]*\) .*/\1/p')
	_warpway_offer "${numbers[@]}"
}

# Behind ARGUMENT=@ the names of objects.
_warpway_offer_arguments() {
	local names
	[[ $_warpway_word == *=@* ]] || return
	mapfile -t names < <("$_warpway_command" ls --names "${_warpway_broker[@]}" 2>/dev/null)
	_warpway_offer "${names[@]/#/${_warpway_word%%=@*}=@}"
}

# Looks over the words behind the verb: how many are no options, the first of them, and which broker is meant.
_warpway_look_over() { # WORD...
	while (($#)); do
		case $1 in
		--broker)
			_warpway_broker=(--broker "${2-}")
			shift
			;;
		--broker=*) _warpway_broker=("$1") ;;
		--token) # stands for the name
			_warpway_place=$((_warpway_place + 1))
			shift
			;;
		--token=*) _warpway_place=$((_warpway_place + 1)) ;;
		--*=*) ;;
		--report | --time-limit | --device | --mode | --alloc-max | --keep | --after-streams | --group | --life | --ttl | --wait | --access | --escrow | --uses | \
			--count | --socket | --socket-mode | --config | --signature | --elements | --processes | --timeout | --sizes | --iterations | --objects | --clients | \
			--kills | --slices | --ranks | --mpi | --html | --from | --policy | --history | --dtype | -o | --output | --bytes | --shape | --rate | --speed | --slots | \
			--consumers | --held | --wait-consumers | --evict-after | --metadata | --metadata-type) shift ;;
		-?*) ;;
		*)
			((_warpway_place)) || _warpway_first=$1
			_warpway_place=$((_warpway_place + 1))
			;;
		esac
		shift || break
	done
}

_warpway_offer_word() { # VERB...
	case $*:$_warpway_place in
	channel*:0 | ls:0 | watch:0 | stat:0 | get:0 | put:0 | export:0 | functions:0 | call:0 | rm:*) _warpway_offer_names ;;
	offer:0) ;;
	offer:*) _warpway_offer_files ;;
	call:1) _warpway_offer_functions ;;
	'channel evict:1') _warpway_offer_consumers ;;
	call:*) _warpway_offer_arguments ;;
	put:1 | get:1 | 'channel pub':* | 'channel replay':1) _warpway_offer_files ;;
	bench:*)
		if [[ $line == *' --compare '* ]]; then
			_warpway_offer_files
		else
			_warpway_offer all
			_warpway_offer_listed Suites bench
		fi
		;;
	esac
}

_warpway() {
	local line=${COMP_LINE:0:COMP_POINT}
	local words verb=() _warpway_word='' _warpway_command=$1 _warpway_broker=() _warpway_place=0 _warpway_first=''
	COMPREPLY=()
	read -ra words <<<"$line"
	if [[ $line != *[[:space:]] ]]; then
		_warpway_word=${words[-1]}
		unset 'words[-1]'
	fi
	if ((${#words[@]} < 2)); then
		_warpway_offer_listed Verbs
		_warpway_offer help --help --version
		return
	fi
	if [[ ${words[1]} == help ]]; then
		((${#words[@]} > 2)) || _warpway_offer_listed Verbs
		return
	fi
	verb=("${words[1]}")
	if [[ ${words[1]} == channel ]]; then
		if ((${#words[@]} < 3)); then
			_warpway_offer_listed Verbs channel
			return
		fi
		verb+=("${words[2]}")
	fi
	_warpway_look_over "${words[@]:1+${#verb[@]}}"
	if [[ $_warpway_word == --*=* ]]; then
		local option=${_warpway_word%%=*}
		_warpway_word=${_warpway_word#*=}
		_warpway_offer_value "$option"
	elif ((${#words[@]} > 1 + ${#verb[@]})) && _warpway_offer_value "${words[-1]}"; then
		:
	elif [[ $_warpway_word == -* ]]; then
		_warpway_offer_options "${verb[@]}"
	else
		_warpway_offer_word "${verb[@]}"
	fi
}

complete -F _warpway warpway
