#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Costs and energy follow from prices, power and times by the sums that docs/models/money.md states.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
root=$PWD
cd "$scratch" || exit 2

# a server with two GPUs of 300 W and a client without one, on one cable of 100 Gb/s
cat >box.cfg <<'END'
topology = {
	name = "box";
	hosts = ( { name = "box"; cores = 8; }, { name = "desk"; cores = 8; } );
	guests = ( { name = "server"; host = "box"; kind = "bare"; }, { name = "client"; host = "desk"; kind = "bare"; } );
	gpus = ( { name = "gpu0"; host = "box"; profile = "v100-sxm2"; }, { name = "gpu1"; host = "box"; profile = "v100-sxm2"; } );
	links = (
		{ name = "slot0"; kind = "pcie"; ends = ["box", "gpu0"]; generation = 3; lanes = 16; },
		{ name = "slot1"; kind = "pcie"; ends = ["box", "gpu1"]; generation = 3; lanes = 16; },
		{ name = "cable"; kind = "ethernet"; ends = ["server", "client"]; bandwidth = "100 Gbit/s"; latency = "2 us"; }
	);
};
END
# predict ARGS...: predicts a program on one GPU, without ports and with a PUE of 1
predict() {
	"$FARWIRE" run --topology box.cfg -q --draws 0 --format csv --set cost.facility=1 --set cost.port_power=0W \
		--set cost.port_rate_power=0W --set machine_cost.box.power=100W "$@" >found.csv
}
# column NAME: the last row's value in that column of found.csv
column() {
	tr -d '\r' <found.csv | sed 's/"[^"]*"/text/g' |
		awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i; next } { x = $k } END { print x }'
}
# is NAME EXPRESSION: compares a column with a number to a part in 10^6
is() {
	awk -v x="$(column "$1")" "BEGIN { y = $2; exit !(x > y * (1 - 1e-6) && x < y * (1 + 1e-6)) }" ||
		complain "$1 is $(column "$1"), not $2"
}

gpu='--set gpu_cost.v100-sxm2.idle=0.1 --set gpu_cost.v100-sxm2.busy=0.5'
kernel='--set kernel.m=4096 --set kernel.n=4096 --set kernel.k=4096 --set kernel.type=fp16'
# 100 W / 2, because the case uses one of two GPUs, and 10 % or 50 % of 300 W
# shellcheck disable=SC2086 # lists of words
{
	predict --calls "$root/models/programs/null-call.jsonl" $gpu
	is power_W '50 + 30'
	is energy_per_sample_J "80 * $(column step_s)"
	[ -z "$(column cost_per_hour)" ] || complain 'an hour without a price costs something'
	predict $kernel $gpu
	is power_W '50 + 150'
	# a busy GPU takes no less than an idle one
	predict $kernel --set gpu_cost.v100-sxm2.idle=0.6 --set gpu_cost.v100-sxm2.busy=0.5
	is power_W '50 + 180'
	predict $kernel $gpu --set cost.facility=1.5 --set cost.port_power=4W --set cost.port_rate_power=6W
	# both ends of the cable take 4 + 6 W; 0.5 of 2 machines are in use
	is power_W '1.5 * (200 + 2 * 10 * 0.25)'
	predict --model resnet50 --batch 32 --stack pytorch $gpu
	is power_W "50 + 30 + 120 * $(column gpu_utilization)"
	predict $kernel $gpu --set cost.facility=1.5 --set cost.port_power=4W --set cost.port_rate_power=6W \
		--set link.cable.bandwidth=200Gbit/s
	is power_W '1.5 * (200 + 2 * 16 * 0.25)'
	# an adapter has the power of its faster direction
	predict $kernel $gpu --set cost.facility=1.5 --set cost.port_power=4W --set cost.port_rate_power=6W \
		--set link.cable.bandwidth=10Gbit/s --set link.cable.reverse_bandwidth=100Gbit/s
	is power_W '1.5 * (200 + 2 * 10 * 0.25)'
}
verdict 'money.power_is_idle_power_and_the_share_of_busy_time'

# shellcheck disable=SC2086 # lists of words
{
	predict $kernel $gpu --set gpu_cost.v100-sxm2.hour_price=3.6
	is cost_per_hour 3.6
	is cost_per_sample "0.001 * $(column step_s)"
	predict $kernel $gpu --set machine_cost.box.hour_price=8
	is cost_per_hour 4
	# 87660 hours are 10 years; half of the machine and one GPU work in half of them
	own='--set machine_cost.box.price=87660 --set gpu_cost.v100-sxm2.price=8766 --set cost.years=10 --set cost.used=0.5'
	predict $kernel $gpu $own --set cost.kwh_price=0.2 --set cost.port_price=876.6
	# the cable has two ends, of which the case uses a quarter
	is cost_per_hour '2 * (0.5 + 0.1 + 2 * 0.25 * 0.01) + 0.2 * 0.2'
	# a free machine has a price
	predict $kernel $gpu --set machine_cost.box.price=0 --set cost.kwh_price=0.2 --set cost.port_price=0
	is cost_per_hour 0.04
	predict $kernel $gpu $own --set cost.port_price=0
	[ -z "$(column cost_per_hour)" ] || complain 'an own machine without a price of electricity costs something'
	# who buys the machine pays no rent, although a file of prices states one
	predict $kernel $gpu $own --set cost.kwh_price=0.2 --set cost.port_price=876.6 --set gpu_cost.v100-sxm2.hour_price=3 \
		--set machine_cost.box.hour_price=8
	is cost_per_hour '2 * (0.5 + 0.1 + 2 * 0.25 * 0.01) + 0.2 * 0.2'
}
# a machine without a network needs no price of a port, one with a network does
sed -e '/"cable"/d' -e '/guests/s/, { name = "client".*/ );/' -e '/hosts/s/, { name = "desk".*/ );/' \
	-e '/"slot1"/s/},$/}/' box.cfg >lone.cfg
# shellcheck disable=SC2086 # lists of words
{
	predict $kernel $gpu $own --set cost.kwh_price=0.2 --topology lone.cfg
	is cost_per_hour '2 * (0.5 + 0.1) + 0.2 * 0.2'
	expect 0 '' run --topology box.cfg -q --draws 0 $kernel $gpu $own --set cost.kwh_price=0.2
	shows 'cost: unknown, because nothing states the price of a network port .write --set cost.port_price=300'
}
expect 0 '' run --topology box.cfg -q --draws 0 $kernel $gpu
shows 'cost: unknown, because nothing states a price of box with v100-sxm2 .write --set gpu_cost.v100-sxm2.hour_price=2.5'
shows '^energy: '
# a rent is known without the power limit of the GPU, and the cost of an own machine is not
expect 0 '' run --topology box.cfg -q --draws 0 $kernel --set gpu.gpu0.profile=p40 --set machine_cost.box.price=87660
shows '^cost: unknown, because the power limit of p40 is not known'
predict $kernel --set gpu.gpu0.profile=p40 --set gpu_cost.p40.hour_price=2
is cost_per_sample "2 / 3600 * $(column step_s)"
expect 0 '' run --topology box.cfg -q --draws 0 $kernel --set gpu.gpu0.profile=p40 --set gpu_cost.p40.hour_price=2
shows "^energy: unknown, because nothing states the power limit of a GPU .write for example --set 'gpu..*.power=300 W'"
expect 0 '' run --topology box.cfg -q --draws 0 $kernel
grep -qE '^(cost|energy):' "$scratch.out" && complain 'a case without prices prints costs'
verdict 'money.costs_are_rents_or_written_off_prices_and_none_is_assumed'

# a forwarded program uses the client and half of the server
remote='--model resnet50 --batch 32 --stack pytorch --program client --server server --runtime asynchronous'
# shellcheck disable=SC2086 # lists of words
{
	predict $remote $gpu --set machine_cost.desk.power=60W --set machine_cost.desk.hour_price=1 --set gpu_cost.v100-sxm2.hour_price=2
	is cost_per_hour 3
	is power_W "60 + 50 + 30 + 120 * $(column gpu_utilization)"
}
# A rented client and half of an own server use 1.5 ends of the cable, a third of them the own machine. That machine also
# takes a third of the further power. Its price of 87660 in 5 years of work is 2 an hour.
# shellcheck disable=SC2086 # lists of words
{
	predict $remote $gpu $own --set machine_cost.desk.hour_price=1 --set cost.kwh_price=0.2 --set cost.port_price=876.6 \
		--set cost.port_power=4W --set cost.further_power=30W
	is cost_per_hour "1 + 0.5 * 2 + 0.2 + 0.5 * 0.02 + 0.0002 * (50 + 30 + 120 * $(column gpu_utilization) + (1.5 * 4 + 30) / 3)"
}
expect 0 '' run --topology box.cfg -q --draws 0 $remote --set gpu_cost.v100-sxm2.hour_price=2
shows 'nothing states a price of desk '
verdict 'money.client_and_server_of_a_forwarded_program_both_count'

# two rents of one system: the ratio is exact, although times and the common price are uncertain
cat >prices.cfg <<'END'
parameters = ( { path = "gpu_cost.v100-sxm2.hour_price"; fit = { value = 2; low = 1; high = 4; }; } );
END
for rent in 2 3; do
	cat >rent$rent.cfg <<END
case = { name = "rent $rent"; topology = "box.cfg"; settings = ["gpu_cost.v100-sxm2.hour_price=$rent"]; };
END
	cat >batch$rent.cfg <<END
case = { name = "batch $rent"; topology = "box.cfg"; batch = $((16 * rent)); };
END
done
network='--model resnet50 --stack pytorch'
# shellcheck disable=SC2086 # lists of words
{
	"$FARWIRE" compare rent2.cfg rent3.cfg $network -q --draws 8 --format csv >found.csv
	is cost_per_hour 3
	[ "$(column cheaper)" = 0 ] || complain "a rent of 3 is cheaper than 2 with a probability of $(column cheaper)"
	"$FARWIRE" compare batch2.cfg batch3.cfg $network --prices prices.cfg -q --draws 8 --format csv >found.csv
	[ "$(column cheaper)" = "$(column faster)" ] || complain 'a common price does not cancel'
	awk -v low="$(column cost_per_hour_low)" -v high="$(column cost_per_hour_high)" 'BEGIN { exit !(low < 1.5 && high > 2.7) }' ||
		complain 'the interval of the price is lost'
}
verdict 'money.chance_to_be_cheaper_excludes_common_errors'

# shellcheck disable=SC2086 # lists of words
{
	expect 0 '' compare rent3.cfg rent2.cfg $network -q --draws 0 --target 'step<=10 s'
	shows '^cheapest with step time <= 10 s: rent 2, cost of a sample '
	grep -nE '^rent [23]' "$scratch.out" | head -n 1 | grep -q 'rent 2' || complain 'the cheapest is not the first row'
	expect 0 '' compare batch2.cfg batch3.cfg $network -q --draws 0 --set gpu_cost.v100-sxm2.hour_price=1 --target 'cost<=1'
	shows '^fastest with cost of a sample <= 1: batch 3'
	expect 0 '' compare rent3.cfg rent2.cfg $network -q --draws 0 --target 'step<=1 us'
	shows '^no row meets step time <= 1 us'
	expect 0 '' sweep rent2.cfg $network -q --draws 0 --vary case.batch=16,64 --target 'cost_per_hour<=3'
	shows '^fastest with cost of an hour <= 3: case.batch=64'
	expect 2 'no result called .euro' compare rent3.cfg rent2.cfg $network -q --target 'euro<=1'
}
verdict 'money.target_puts_the_cheapest_or_the_fastest_row_first'

# A mistyped key in a file of prices would leave out the price, and a second price of one GPU would hide the first.
price() { # PATH VALUE
	echo "{ path = \"$1\"; fit = { value = $2; low = 1; high = 9; }; }"
}
# shellcheck disable=SC2086 # lists of words
{
	echo "parameters = ( $(price gpu_cost.v100-sxm2.hour_prise 2) );" >wrong.cfg
	expect 2 "^wrong.cfg:1: unknown parameter 'gpu_cost.v100-sxm2.hour_prise'" run batch2.cfg $network -q --prices wrong.cfg
	printf 'parameters = ( %s,\n%s );\n' "$(price gpu_cost.v100-sxm2.hour_price 2)" \
		"$(price gpu_cost.v100-sxm2.hour_price 3)" >wrong.cfg
	expect 2 "^wrong.cfg:2: 'gpu_cost.v100-sxm2.hour_price' is set twice, first at line 1" run batch2.cfg $network -q --prices wrong.cfg
	echo "parameters = ( $(price gpu_cost.v100-sxm2.hour_price 2), $(price gpu_cost.other.hour_price 2) );" >good.cfg
	expect 0 '' run batch2.cfg $network -q --prices good.cfg
}
verdict 'money.faults_in_a_file_of_prices_are_refused'

# With a price for one of two GPUs, the rows cannot be ranked by cost.
echo "parameters = ( $(price gpu_cost.h100-sxm5.hour_price 2) );" >one.cfg
"$FARWIRE" compare --topology dgx-h100,dgx-a100 --model resnet50 --stack pytorch-amp --batch 64 --gpus 1 -q --draws 0 \
	--prices one.cfg --target 'throughput>=1' >found.txt
grep -q 'not ranked by cost, because resnet50 on dgx-a100, batch 64 has no price (write --set gpu_cost.GPU.hour_price' found.txt ||
	complain "a row without a price is not named: $(head -n 3 found.txt)"
verdict 'money.ranking_names_a_row_without_a_price'

# Larger batches are cheaper and faster, but only a step of up to 64 images meets the limit.
"$FARWIRE" sweep --topology dgx-h100 --model resnet50 --stack pytorch-amp --gpus 1 -q --draws 0 --prices one.cfg \
	--vary case.batch=8,16,32,64,128,256 --target 'step<=30 ms' --plot chart.svg --no-data >found.txt
best=$(awk '/<path .*#d55e00/ { wanted = NR + 1 } NR == wanted { print }' chart.svg |
	sed -n 's/.*<title>\(.*\)<\/title>.*/\1/p')
[ "$best" = case.batch=64 ] || complain "filled markers in a chart of costs: $best"
verdict 'money.filled_markers_of_a_chart_meet_the_target'

# A price may be that of a GPU that only other rows have, whichever row is the first.
several='--model resnet50 --stack pytorch-amp --batch 64 --gpus 1 -q --draws 0'
rent='--set gpu_cost.a100-sxm4-80.hour_price'
# shellcheck disable=SC2086 # lists of words
for order in dgx-h100,dgx-a100 dgx-a100,dgx-h100; do
	expect 0 '' sweep --topology dgx-h100 $several --vary case.topology=$order $rent=2
	expect 0 '' compare --topology $order $several $rent=2
	expect 2 "^--set: no case has the GPU or machine of 'gpu_cost.t4.price=2'" compare --topology $order $several $rent=2 \
		--set gpu_cost.t4.price=2
	expect 2 "^--set: no case has the GPU or machine of 'gpu_cost.t4.price=2'" sweep --topology dgx-h100 $several \
		--vary case.topology=$order $rent=2 --set gpu_cost.t4.price=2
	expect 2 "^--set: unknown parameter 'gpu_cost.a100-sxm4-80.hour_prise'" sweep --topology dgx-h100 $several \
		--vary case.topology=$order --set gpu_cost.a100-sxm4-80.hour_prise=2
done
# shellcheck disable=SC2086 # lists of words
expect 2 "'gpu_cost.a100-sxm4-80.hour_price' .did you mean 'gpu_cost.h100-sxm5.hour_price'" run --topology dgx-h100 $several $rent=2
verdict 'money.a_price_needs_a_row_with_its_gpu'

# Two guests of one machine have no cable between them. Those of two machines have one each to
# their switch, so four ends.
guests() { # TOPOLOGY WATTS: prints the power if each end of a cable has WATTS
	"$FARWIRE" run --topology "$1" --program client --runtime asynchronous --model resnet50 --stack pytorch --batch 16 \
		-q --draws 0 --format csv --set 'gpu.*.power=300 W' --set cost.facility=1 --set cost.port_rate_power=0W \
		--set "cost.port_power=${2}W" >found.csv
	column power_W
}
without=$(guests t320-same-esxi 0) with=$(guests t320-same-esxi 1000)
[ "${without:-none}" = "$with" ] || complain "two guests of one machine: $without W, and with ports $with W"
awk "BEGIN { x = $(guests t320-same-lan 1000) - $(guests t320-same-lan 0); exit !(x > 3999.9 && x < 4000.1) }" ||
	complain 'two cables have not four ends of 1000 W'
verdict 'money.guests_of_one_machine_have_no_cable'

# One of 16 equal machines is simulated. All 128 GPUs cost a rent, and take 0.1 x 700 W. Their machines take 16 x 100 W.
# Each end of a cable takes 1 W: of 128 adapters, of the uplinks of 8 rails, and of the file server.
for symmetry in on off; do
	"$FARWIRE" run --topology dgx-h100 --gpus 128 --exchange nccl-2.18 --collective all_reduce --set library.algorithm=ring \
		--set case.symmetry=$symmetry -q --draws 0 --format csv --set gpu_cost.h100-sxm5.hour_price=2 \
		--set gpu_cost.h100-sxm5.idle=0.1 --set cost.facility=1 --set cost.port_power=1W --set cost.port_rate_power=0W \
		--set machine_cost.dgx-h100.power=100W >found.csv
	is cost_per_hour '128 * 2'
	is power_W '16 * 100 + 128 * 70 + 2 * (128 + 8 + 1)'
done
verdict 'money.machines_that_are_not_simulated_cost_as_much'

# Three machines, of which the case uses 1 of 4, 1 of 4 and 1 of 8 GPUs. Two are of one kind, but one of them has another
# GPU. So machines take 100 / 4 + 100 / 4 + 160 / 8 W, and idle GPUs 0.1, 0.2 and 0.1 of 100 W.
cat >three.cfg <<'END'
topology = { name = "three"; cluster = { network = "ethernet-100"; machines = (
	{ name = "a"; machine = "xe8545"; count = 1; }, { name = "b"; machine = "xe8545"; count = 1; },
	{ name = "c"; machine = "dgx-a100-80"; count = 1; } ); }; };
END
cat >mixed.cfg <<'END'
case = { topology = "three.cfg"; calls = "null-call"; settings = ["cost.facility=1", "cost.port_power=0 W",
	"cost.port_rate_power=0 W", "machine_cost.xe8545.power=100 W", "machine_cost.dgx-a100-80.power=160 W",
	"gpu_cost.a100-sxm4-80.idle=0.1", "gpu_cost.h100-sxm5.idle=0.2", "gpu.*.power=100 W", "gpu.b-gpu0.profile=h100-sxm5"];
	clients = ( { gpu = "a0.gpu0"; }, { gpu = "b0.gpu0"; }, { gpu = "c0.gpu0"; } ); };
END
mixed() {
	"$FARWIRE" run mixed.cfg -q --draws 0 --format csv "$@" >found.csv
}
mixed
is power_W '70 + 40'
mixed --set gpu_cost.a100-sxm4-80.hour_price=2 --set gpu_cost.h100-sxm5.hour_price=3
is cost_per_hour '2 + 3 + 2'
# A machine has one price, and its GPUs have none of their own. 87660 hours are 10 years.
mixed --set machine_cost.xe8545.price=87660 --set machine_cost.dgx-a100-80.price=175320 --set cost.years=10 --set cost.used=1 \
	--set cost.kwh_price=0 --set cost.port_price=0
is cost_per_hour '1 / 4 + 1 / 4 + 2 / 8'
expect 0 '' run mixed.cfg -q --draws 0 --format json
for key in machine_cost.xe8545.power machine_cost.dgx-a100-80.power gpu_cost.a100-sxm4-80.idle gpu_cost.h100-sxm5.idle; do
	[ "$(grep -cF "\"key\": \"$key\"" "$scratch.out")" = 1 ] || complain "$key is listed $(grep -cF "\"$key\"" "$scratch.out") times"
done
# both guests of a program are in one kind of machine without a GPU of its own
cat >hosts.cfg <<'END'
topology = { name = "hosts"; hosts = ( { name = "box"; }, { name = "left"; }, { name = "right"; } );
	guests = ( { name = "s"; host = "box"; }, { name = "l"; host = "left"; }, { name = "r"; host = "right"; } );
	gpus = ( { name = "gpu0"; host = "box"; profile = "t4"; } ); switches = ["sw"];
	links = ( { name = "slot"; kind = "pcie"; ends = ["box", "gpu0"]; }, { name = "x"; kind = "ethernet"; ends = ["s", "sw"]; },
		{ name = "y"; kind = "ethernet"; ends = ["l", "sw"]; }, { name = "z"; kind = "ethernet"; ends = ["r", "sw"]; } ); };
END
"$FARWIRE" run --topology hosts.cfg --calls null-call --runtime asynchronous --program spread --set case.copies=2 -q --draws 0 \
	--format csv --set cost.facility=1 --set cost.port_power=0W --set cost.port_rate_power=0W --set 'machine_cost.*.power=100W' \
	--set gpu.t4.power=50W --set gpu_cost.t4.idle=0.1 >found.csv
is power_W '3 * 100 + 5'
verdict 'money.each_kind_of_machine_and_gpu_counts_once'
