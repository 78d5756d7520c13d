#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The numbers of docs/ACCURACY.md and of the README's table are what validate prints,
# of the datasets that take seconds; tests/long/accuracy is about all of them.
cd "$(dirname "$0")/../.." || exit 2
if tools/accuracy --check ddl_p100 c4140_v100 nvidia_mxnet_resnet50 flexdirect_1050ti bitfusion_networks; then
	echo "ok accuracy.quick_datasets"
else
	echo "  \`make accuracy\` writes what has changed (> now)"
	echo "FAIL accuracy.quick_datasets"
fi
