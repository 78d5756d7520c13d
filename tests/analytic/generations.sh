#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Spreads of constants between GPU generations, by hand. If one of two generations reaches twice the part of the
# other, each is wrong by ln 2 = 0.693 when the other predicts it. A constant of one generation has no spread.
# Student's t with one degree of freedom has its 95 % point at 6.31; the expansion in 1 / freedom gives 4.59, so the
# factor is exp(0.693 x 4.59) = 24.1.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
for name in kepler pascal volta ampere ada hopper blackwell collectives-ampere collectives-ada collectives-hopper \
	collectives-blackwell; do
	: >"$scratch/$name.cfg"
done
for row in kepler:0.4 pascal:0.8; do
	printf '\t{ path = "kernels.%s.product_fp32";\n\t    follows = ( { path = "stack.peak"; by = 2; } );\n\t  fit = { value = "%s"; };\n' \
		"${row%:*}" "${row#*:}" >"$scratch/${row%:*}.cfg"
done
printf '\t{ path = "kernels.volta.sustained";\n\t  fit = { value = "0.8"; };\n' >"$scratch/volta.cfg"
tools/generations "$scratch" >"$scratch/out"
tab=$(printf '\t')
for wanted in "reached${tab}product_fp32${tab}2${tab}0.693" "reached${tab}all${tab}2${tab}0.693${tab}x/÷ 24.08"; do
	grep -qxF "$wanted" "$scratch/out" || complain "no line '$wanted' in: $(cat "$scratch/out")"
done
[ "$(wc -l <"$scratch/out")" -eq 2 ] || complain "more than two lines: $(cat "$scratch/out")"
verdict generations.spreads_between_generations_give_the_factors_of_priors
exit 0
