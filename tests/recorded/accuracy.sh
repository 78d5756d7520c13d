#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The numbers of docs/ACCURACY.md must be what validate prints. This
# test covers the datasets that take seconds, tests/long/accuracy all of them.
cd "$(dirname "$0")/../.." || exit 2
if tools/accuracy --check ddl_p100 c4140_v100 nvidia_mxnet_resnet50 flexdirect_1050ti bitfusion_networks; then
	echo "ok accuracy.pages_show_the_numbers_of_validate"
else
	echo "  \`make accuracy\` writes the new numbers (lines with > above)"
	echo "FAIL accuracy.pages_show_the_numbers_of_validate"
fi
