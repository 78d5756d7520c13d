#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Bash completions of some command lines, with the built program.
[ -x "$FARWIRE" ] || exit 77
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tools/completion/farwire.bash
. tools/completion/farwire.bash

offers() { # WORD ARGS...: the last argument is incomplete, and WORD must complete it
	local wanted=$1
	shift
	COMP_WORDS=("$FARWIRE" "$@")
	COMP_CWORD=$#
	_farwire
	case " ${COMPREPLY[*]} " in
	*" $wanted "*) echo "ok completion: ${*@Q} offers $wanted" ;;
	*)
		echo "  offered: ${COMPREPLY[*]}"
		echo "FAIL completion: ${*@Q} does not offer $wanted"
		;;
	esac
}

offers validate val
offers --topology run --to
offers --help run --h
offers t320-same-lan run --topology t320-same-l
offers resnet50 run --topology t320-same-lan --model resn
offers none run --runtime no
offers ddp run --exchange dd
offers all_reduce sweep --collective all_r
offers --gpus scale --gp
offers --vary-all sensitivity --vary
offers gpu_utilization solve case.cfg --target gpu
offers jsonl compare --format js
offers flexdirect_1050ti validate flex
offers topologies list topo
offers quarter-gpu run quart
offers topologies/t320-same-lan.cfg check topologies/t320-same-l
offers exchange-policies list exchange-p
offers dgx1-scaling report dgx1-s
offers ddl-streams report ddl-st
