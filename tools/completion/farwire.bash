# SPDX-License-Identifier: GPL-3.0-or-later
# Bash completion of farwire: verbs, options, and the names of shipped files, which the program
# lists (farwire list WHAT --plain).

_farwire_names() {
	local program=${COMP_WORDS[0]}
	command -v "$program" >/dev/null 2>&1 || program=farwire
	"$program" list "$@" --plain 2>/dev/null
}

_farwire_words() {
	local IFS=$' \t\n'
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_farwire_files() { # $1: ending
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -d -- "$2"; compgen -f -X "!*.$1" -- "$2")
}

_farwire_paths() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_farwire_value() { # completes the value of an option; returns 1 if the option takes none
	local current=$2
	case $1 in
	# `make documents` writes the values from here ...
	--topology) _farwire_words "$(_farwire_names topologies)" "$current" ;;
	--model) _farwire_words "$(_farwire_names models)" "$current" ;;
	--calls) _farwire_files 'jsonl' "$current" ;;
	--stack) _farwire_words "$(_farwire_names stacks)" "$current" ;;
	--engine) _farwire_words "$(_farwire_names engines)" "$current" ;;
	--runtime) _farwire_words "$(_farwire_names runtimes) none" "$current" ;;
	--transport) _farwire_words "$(_farwire_names transports)" "$current" ;;
	--profile) _farwire_words "$(_farwire_names profiles)" "$current" ;;
	--prices) _farwire_words "$(_farwire_names prices)" "$current" ;;
	--exchange) _farwire_words "$(_farwire_names exchanges)" "$current" ;;
	--collective) _farwire_words 'all_reduce reduce_scatter all_gather broadcast all_to_all' "$current" ;;
	--target) _farwire_words 'ratio efficiency speedup throughput bus_bandwidth step time gpu_utilization training_time elapsed goodput failures gpu_hours exposed bubble input_wait tokens tokens_gpu tflops_gpu mfu hfu latency_p50 latency_p99 first_token_p99 between_tokens_p99 slo_attainment' "$current" ;;
	--of) _farwire_words 'ratio efficiency speedup throughput bus_bandwidth step time gpu_utilization training_time elapsed goodput failures gpu_hours exposed bubble input_wait tokens tokens_gpu tflops_gpu mfu hfu latency_p50 latency_p99 first_token_p99 between_tokens_p99 slo_attainment' "$current" ;;
	--format) _farwire_words 'table csv json jsonl' "$current" ;;
	-o | --output) _farwire_paths "$current" ;;
	--plot) _farwire_files '@(svg|pdf|png)' "$current" ;;
	--trace) _farwire_files 'json' "$current" ;;
	--timeline) _farwire_files '@(svg|pdf|png)' "$current" ;;
	--color) _farwire_words 'auto always never' "$current" ;;
	--program | --server | --gpu | --batch | --fraction | --copies | --gpus | --tokens | --devices | --adapters | --fail | --degrade | --plan | --serve | --events | --set | --users | --active | --vary | --for | --between | --vary-all | --best | --seed | --draws | --jobs | --noise | --step | --link | --budget | --title | --port) COMPREPLY=() ;;
	# ... to here.
	*) return 1 ;;
	esac
}

_farwire_options() { # VERB: prints the options that its --help lists
	local program=${COMP_WORDS[0]}
	command -v "$program" >/dev/null 2>&1 || program=farwire
	echo --help
	"$program" "$1" --help 2>/dev/null | sed -nE 's/^ +(-[a-z], )?(--[a-z-]+).*/\2/p'
}

_farwire() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local verb=${COMP_WORDS[1]}
	shopt -q extglob || shopt -s extglob
	COMPREPLY=()
	if [ "$current" = '=' ]; then
		current=
	elif [ "$previous" = '=' ]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [ "$COMP_CWORD" -eq 1 ]; then
		_farwire_words "$(_farwire_names verbs) --help --version" "$current"
		return
	fi
	_farwire_value "$previous" "$current" && return
	if [[ $current == -* ]]; then
		_farwire_words "$(_farwire_options "$verb")" "$current"
		return
	fi
	case $verb in
	validate) _farwire_words "$(_farwire_names datasets what-ifs)" "$current" ;;
	fit)
		_farwire_files jsonl "$current"
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(_farwire_names fits)" -- "$current")
		;;
	import)
		if [ "$COMP_CWORD" -eq 2 ]; then
			_farwire_words "$(_farwire_names importers)" "$current"
		else
			_farwire_files '@(json|log|txt)' "$current"
		fi
		;;
	list)
		_farwire_words 'topologies machines networks gpus models stacks programs runtimes profiles datasets fits cases
			what-ifs exchanges storages links wirings transports policies frameworks algorithms
			collectives exchange-policies importers verbs parameters' "$current"
		;;
	plot) _farwire_files '@(json|jsonl)' "$current" ;;
	report)
		_farwire_files cfg "$current"
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(_farwire_names datasets what-ifs cases)" -- "$current")
		;;
	check) _farwire_files cfg "$current" ;;
	*)
		_farwire_files cfg "$current"
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(_farwire_names cases)" -- "$current")
		;;
	esac
}

complete -F _farwire farwire
