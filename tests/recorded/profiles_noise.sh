#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Test values cannot matter to a profile: on a copy of the data without profiles,
# whose every value of role test is noise, `farwire fit` writes the same profiles.
# That it would notice shows in a fit value that is changed.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
shipped=$PWD/calib
cp -R topologies models calib "$scratch"
cd "$scratch" || exit 2
rm calib/profiles/*.cfg
FARWIRE_DATA=$scratch

# Noise for what is no fit row: values of role test or report, more GPUs than may
# be fitted, and every claim; failures become numbers, and a use of the GPU
# another one.
cat >noise.awk <<'END'
function noise() { return sprintf("%.4g", 0.5 + 99 * rand()) }
BEGIN {
	FS = OFS = "\t"
	srand(20)
	values["images_per_s"] = values["value"] = values["time_us"] = 1
}
/^#/ || NF == 0 { print; next }
!header {
	header = 1
	for (i = 1; i <= NF; i++)
		at[$i] = i
	print
	next
}
{
	role = "role" in at ? $at["role"] : ""
	if (role == "test" || role == "report") {
		for (name in values)
			if (name in at)
				$at[name] = noise()
		if ("max_util" in at)
			$at["max_util"] = sprintf("%.2f", rand())
	}
	upto = "fit_upto" in at ? $at["fit_upto"] : 1
	for (name in at)
		if (name ~ /^gpus_/ && substr(name, 6) + 0 > upto + 0 && $at[name] != "NA")
			$at[name] = noise()
	if ("claim" in at)
		$at["value"] = noise()
	print
}
END
for file in flexdirect_1050ti tensorflow_benchmarks_2017 nvidia_mxnet_resnet50 bitfusion_networks ddl_p100 \
	c4140_v100 nccl_allreduce_a100_nvswitch nccl_allreduce_2nodes; do
	awk -f noise.awk "calib/measured/$file.tsv" >noisy.tsv && mv noisy.tsv "calib/measured/$file.tsv"
	lines=$(diff "calib/measured/$file.tsv" "$shipped/measured/$file.tsv" | grep -c '^<')
	[ "$lines" -ge 4 ] || complain "$file.tsv: noise in $lines rows only"
done

farwire fit -q
[ "$code" = 0 ] || complain "fit: ended with $code, $(cat "$scratch.err")"
diff -r calib/profiles "$shipped/profiles" >"$scratch.diff" ||
	complain "differs (< fitted with noise, > shipped): $(cat "$scratch.diff")"
farwire validate flexdirect_1050ti --draws 0 -q # with broken bounds, of course
shows '^verdicts: 0 of 4 agree$'
verdict 'profiles_noise.test_values_do_not_matter'

changes() { # profile, fit, sed for a fit row, file
	sed -i "$3" "calib/measured/$4.tsv"
	farwire fit "$2" -q
	[ "$code" = 0 ] || complain "fit $2: ended with $code, $(cat "$scratch.err")"
	if cmp -s "calib/profiles/$1.cfg" "$shipped/profiles/$1.cfg"; then
		complain "$1 does not depend on its fit rows"
	fi
}
changes flexdirect-1050ti flexdirect-1050ti '/^same_lan	no	32	/s/2\.9/3.9/' flexdirect_1050ti
cmp -s calib/profiles/gtx-1050ti.cfg "$shipped/profiles/gtx-1050ti.cfg" ||
	complain 'gtx-1050ti depends on a row of another stage'
changes ddl-c10-calico ddl-p100 '/^c10	resnet50	4	2	128	calico/s/652/600/' ddl_p100
changes c4140-tf-1.8 c4140-v100 '/^tf1.8_2018	resnet50	128	1/s/641/600/' c4140_v100
changes k80 k80 '/^gce_k80	synthetic	ps_cpu	vgg16/s/35\.4/36.4/' tensorflow_benchmarks_2017
changes v100-sxm2 v100 '/^dgx1_v100_16gb	fp32/s/384/300/' nvidia_mxnet_resnet50
verdict 'profiles_noise.fit_values_do'
