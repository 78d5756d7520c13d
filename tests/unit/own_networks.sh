#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A network in a file of the user is the one that the case uses, whatever name the file gives it.
# Llama 3 8B with 2 of its 32 layers has 2 x 0.218 G + 0.525 G (the last product) parameters that each
# token reads, of 7.5 G: 0.128 of the time between tokens, plus the engine's own work.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
shipped=$PWD/models/networks
cd "$scratch" || exit 2
sed 's/repeat = 32/repeat = 2/' "$shipped/llama3-8b.cfg" >same-name.cfg
sed 's/repeat = 32/repeat = 2/; s/"llama3-8b"/"tiny"/' "$shipped/llama3-8b.cfg" >tiny-file.cfg
cp "$shipped/resnet50.cfg" copy.cfg
sed 's/classes = 1001/classes = 2001/; s/out = 1001/out = 2001/' "$shipped/resnet50.cfg" >wide.cfg

between_ms() { # the mean time of a token
	farwire run --topology hgx-h100 --model "$1" --serve rate=1,prompt=64,output=100,output_spread=0 --draws 0
	sed -n 's/^per token of a request *\([0-9.]* [mu]s\).*/\1/p' "$scratch.out" |
		awk '{ print $2 == "us" ? $1 / 1000 : $1 }'
}
full=$(between_ms llama3-8b)
for file in ./same-name.cfg ./tiny-file.cfg; do
	few=$(between_ms $file)
	awk -v few="${few:-0}" -v full="${full:-0}" 'BEGIN { exit !(few > 0.128 * full && few < 0.18 * full) }' ||
		complain "$file: a token takes '$few' ms, llama3-8b '$full' ms"
done
verdict own_networks.served_networks_have_the_layers_of_their_file

# Fits of ResNet-50 act on an unchanged copy of the shipped network, and on no other one.
first=$("$FARWIRE" run --topology dgx1-v100 --model resnet50 --stack tf-1.4 --draws 0 -q | sed 's/.*: //; 1q')
second=$("$FARWIRE" run --topology dgx1-v100 --model ./copy.cfg --stack tf-1.4 --draws 0 -q | sed 's/.*: //; 1q')
[ "$first" = "$second" ] || complain "a copy of ResNet-50 has '$second', not '$first'"
cmp -s wide.cfg copy.cfg && complain 'the changed network is not changed'
expect 0 '' run --topology dgx1-v100 --model ./wide.cfg --stack tf-1.4 --draws 0 --format json
! grep -q 'efficiency.v100[^"]*[.]resnet50' "$scratch.out" || complain 'fits of resnet50 act on another network'
grep -q 'efficiency.v100[^"]*.own-resnet50' "$scratch.out" || complain 'the changed network has no name of its own'
verdict own_networks.fits_act_only_on_the_network_that_was_measured
exit 0
