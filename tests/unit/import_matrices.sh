#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Matrices of nvidia-smi topo -m, written by hand: the GPU that follows from its NVLinks, the cores,
# adapters behind switches and far from all GPUs, lists of names, and tables that are cut.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# matrix: the rows of the standard input with blanks as tabs
matrix() {
	tr ' ' '\t' >m.txt
}
import() {
	expect 0 'records read' import topology m.txt "$@"
}
has() { # COUNT PATTERN
	found=$(grep -c -e "$2" "$scratch.out")
	[ "$found" = "$1" ] || complain "$found lines with '$2', not $1: $(cat "$scratch.out")"
}
# Two GPUs with up to 4 NVLinks of each one are P100, up to 6 V100, up to 12 A100, and with more H100. A GPU with more
# than 18 in its row is at a switch.
while read -r cell profile links ends; do
	printf '%s\n' ' GPU0 GPU1 CPU' "GPU0 X $cell 0-7,16-23" "GPU1 $cell X 8-15" | matrix
	import
	has 2 "profile = \"$profile\"; }"
	has "$links" "\"gpu1\", *\"$ends\"\\|\"$ends\", *\"gpu1\""
done <<'END'
NV1 p100-sxm2 1 gpu0
NV4 p100-sxm2 1 gpu0
NV5 v100-sxm2 1 gpu0
NV6 v100-sxm2 1 gpu0
NV7 a100-sxm4-80 1 gpu0
NV12 a100-sxm4-80 1 gpu0
NV13 h100-sxm5 1 gpu0
NV18 h100-sxm5 1 gpu0
SYS a100-pcie-80 0 gpu0
END
printf '%s\n' ' GPU0 GPU1 GPU2 CPU' 'GPU0 X NV12 NV12 0-7' 'GPU1 NV12 X NV12 0-7' 'GPU2 NV12 NV12 X 0-7' | matrix
import
has 3 'profile = "a100-sxm4-80"; }'
has 3 'nvswitch"\]; generation = 3; links = 12;'
verdict import_matrices.gpus_follow_from_their_links

# 16 processors in two ranges are 8 cores, and so are 8 in one range. An adapter behind a switch (PIX, PXB) shares it with
# its GPU, and one that is far from all GPUs is at a second socket, if they are at one.
for path in PIX PXB; do
	printf '%s\n' ' GPU0 GPU1 NIC0 CPU' "GPU0 X SYS $path 0-7,16-23" 'GPU1 SYS X SYS 8-15,24-31' "NIC0 $path SYS X" '' ' NIC0: mlx5_0' | matrix
	import
	has 1 'cores = 16; # two threads of a core'
	has 1 'ends = \["sw0", "gpu0"\]'
	has 1 'ends = \["sw0", "nic0"\]'
	has 1 'ends = \["cpu1", "gpu1"\]'
	has 1 'name = "mlx5_0"; node = "nic0"'
done
printf '%s\n' ' GPU0 NIC0 NIC1 CPU' 'GPU0 X NODE SYS 0-7' 'NIC0 NODE X SYS' 'NIC1 SYS SYS X' | matrix
import
has 1 'ends = \["cpu0", "nic0"\]'
has 1 'ends = \["cpu1", "nic1"\]'
grep -q 'is assumed at the socket' "$scratch.err" && complain 'the second socket is assumed'
printf '%s\n' ' GPU0 GPU1 NIC0 CPU' 'GPU0 X SYS SYS 0-7' 'GPU1 SYS X SYS 8-15' 'NIC0 SYS SYS X' | matrix
import
has 1 'ends = \["cpu0", "nic0"\]'
grep -q '^NIC0 is assumed at the socket of GPU0, because no cell says' "$scratch.err" || complain "the notes: $(cat "$scratch.err")"
verdict import_matrices.adapters_are_behind_their_switch_or_socket

# The list of names (nvidia-smi -L) gives the GPUs, and slices of one.
printf '%s\n' ' GPU0 GPU1 CPU' 'GPU0 X SYS 0-7' 'GPU1 SYS X 0-7' | matrix
printf '%s\n' 'GPU 0: NVIDIA H100 PCIe (UUID: GPU-1)' 'GPU 1: Tesla V100-SXM2-16GB   ' 'GPU x: no number' 'GPU 2 no colon' 'GPU 3:' >names.txt
cat m.txt names.txt >both.txt
expect 0 'records read' import topology both.txt
has 1 'name = "gpu0"; profile = "h100-pcie"; }'
has 1 'name = "gpu1"; profile = "v100-sxm2"; }'
printf '%s\n' 'GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)' '  MIG 1g.5gb     Device  0: (UUID: MIG-1)' '  MIG 2g.10gb    Device  1: (UUID: MIG-2)' \
	'GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-2)' >slices.txt
cat m.txt slices.txt >both.txt
expect 2 "^both.txt:2: the GPU 'NVIDIA A100-SXM4-40GB MIG 1g.5gb' has no profile: a MIG slice has a part of a GPU" import topology both.txt
verdict import_matrices.names_of_gpus_replace_the_guess

bad() { # MESSAGE ROWS...
	message=$1
	shift
	printf '%s\n' "$@" | matrix
	expect 2 "^m.txt:$message" import topology m.txt
}
bad '3: this row has fewer cells than the header' ' GPU0 GPU1' 'GPU0 X SYS' 'GPU1 SYS'
bad '2: the row of GPU1 is missing' ' GPU0 GPU1' 'GPU0 X SYS'
bad "2: 'OK' is not a kind of path such as PIX or NV4" ' GPU0 GPU1' 'GPU0 X OK' 'GPU1 OK X'
bad '3: the path to GPU0 is PIX, but SYS in line 2' ' GPU0 GPU1' 'GPU0 X SYS' 'GPU1 PIX X'
bad ' no matrix of nvidia-smi topo -m, and no other known topology was found' 'nothing here'
bad '1: this table has affinities but no paths between GPUs' 'GPU0 0-7 0'
verdict import_matrices.tables_that_are_cut_or_of_another_kind_are_refused
