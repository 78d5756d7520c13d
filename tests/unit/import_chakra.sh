#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Execution traces of Chakra, written by hand in the encoding of protobuf: kinds of nodes, dependencies,
# fields of other types, and messages that are not nodes.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# All values below are texts for printf, with octal escapes.
byte() {
	printf '\\%03o' "$1"
}
size() {
	byte "$(printf "$1" | wc -c)"
}
message() {
	printf "$(size "$1")$1"
}
attribute() { # NAME VALUE: field 10 of a node
	inner="\\012$(size "$1")$1H$2"
	printf '%s' "R$(size "$inner")$inner"
}
node() { # ID TYPE DURATION_US REST: a node whose name is n and its number
	message "\\010$(byte "$1")\\022\\002n$1\\030$(byte "$2")\\070$(byte "$3")$4"
}
size_100="$(attribute comm_size d)" # d is 100

# Node 1 takes 50 us. Types of collectives are 0 all-reduce, 2 all-gather, 5 broadcast, 6 all-to-all, 7 reduce-scatter;
# others take only their time. A node without bytes or of type 8 is a kernel, whose stream is 4. Other nodes have a stream
# for each type.
{
	message '\012\0050.0.4'
	node 1 4 50
	node 2 7 20 "$(attribute comm_type '\001')$size_100"
	node 3 7 20 "$(attribute comm_type '\010')$size_100"
	node 4 8 20 "$size_100"
	node 5 7 20 "$(attribute comm_type '\000')"
	node 6 5 20 "$size_100$(attribute comm_dst '\310\001')"
	node 7 6 20 "$size_100$(attribute comm_src '\360\242\004')"
	node 8 7 20 "$size_100$(attribute comm_type '\005')"
	node 9 7 20 "$size_100$(attribute comm_type '\006')"
	# Fields of 8 and 4 bytes and an attribute without a name are left out; texts are numbers only in no attribute.
	message "\\010\\012\\022\\002na\\030\\007\\070\\024$size_100$(attribute comm_type '\007')y12345678}1234R\\002H\\001"
	# The node of the CPU lasts 3 us and waits for nodes 1 and 9 by two dependencies, of which 99 does not exist.
	message "\\010\\013\\022\\002nb\\030\\004\\070\\003$(attribute is_cpu_op '\001')\\050\\001\\052\\002\\011\\143"
	message "\\010\\014\\022\\002nc\\030\\004\\070\\002$(attribute is_cpu_op '\000')\\050\\013"
} >calls.et
expect 0 '^one rank of several: 5 collectives with bytes and group; 2 without' import chakra calls.et
sed -n 's/^{"thread":0,"call":"\([A-Za-z]*\)","start_s":0.000\([0-9]*\),"end_s":0.000\([0-9]*\)/\1 \2 \3/p' "$scratch.out" |
	sed 's/_s":0\.000/":/g;s/[{}"]//g' >got
cat >wanted <<'END'
cudaGetDevice 000000 000000
cudaLaunchKernel 000000 000000,stream:4,kernel:050000,label:n1
cudaEventRecord 000000 000000,stream:4,event:0
cudaLaunchKernel 000000 000000,stream:7,size_B:100,kernel:020000,label:n2
cudaLaunchKernel 000000 000000,stream:7,size_B:100,kernel:020000,label:n3
cudaLaunchKernel 000000 000000,stream:4,size_B:100,kernel:020000,label:n4
cudaLaunchKernel 000000 000000,stream:4,kernel:020000,label:n5
ncclSend 000000 000000,stream:5,size_B:100,peer:200,kernel:020000,label:n6
ncclRecv 000000 000000,stream:6,size_B:100,peer:65535,kernel:020000,label:n7
ncclBroadcast 000000 000000,stream:7,size_B:100,kernel:020000,label:n8
ncclAlltoAll 000000 000000,stream:7,size_B:100,kernel:020000,label:n9
cudaEventRecord 000000 000000,stream:7,event:8
ncclReduceScatter 000000 000000,stream:7,size_B:100,kernel:020000,label:na
cudaEventSynchronize 000000 000000,event:8
cudaEventSynchronize 000000 000000,event:0
cudaLaunchKernel 003000 003000,stream:4,kernel:002000,label:nc
cudaDeviceSynchronize 003000 003000
END
cmp -s got wanted || complain "the calls differ: $(diff got wanted)"
verdict import_chakra.nodes_become_the_listed_calls

# Others wait only for the begin of a send, but for the end of a receive and of a kernel. Node 1 comes after node 4, on which
# it depends, and so does node 5, which waits for both. Events have the places at which the file first names their nodes.
{
	message '\012\0050.0.4'
	node 1 4 10 '\050\004'
	node 2 5 20 "$size_100$(attribute comm_dst '\003')"
	node 3 4 30 '\050\002'
	node 4 6 40 "$size_100$(attribute comm_src '\005')"
	node 5 7 50 "$size_100$(attribute comm_type '\000')\\050\\001\\050\\004"
} >order.et
expect 0 '^one rank of several: 3 collectives with bytes and group; 0 without' import chakra order.et
sed -n 's/^{"thread":0,"call":"\([A-Za-z]*\)","start_s":0.000\([0-9]*\),"end_s":0.000\([0-9]*\)/\1/p' "$scratch.out" |
	sed 's/_s":0\.000/":/g;s/[{}"]//g' >got
cat >wanted <<'END'
cudaGetDevice
cudaEventRecord,stream:5,event:2
ncclSend,stream:5,size_B:100,peer:3,kernel:020000,label:n2
cudaStreamWaitEvent,stream:4,event:2
cudaLaunchKernel,stream:4,kernel:030000,label:n3
ncclRecv,stream:6,size_B:100,peer:5,kernel:040000,label:n4
cudaEventRecord,stream:6,event:0
cudaStreamWaitEvent,stream:4,event:0
cudaLaunchKernel,stream:4,kernel:010000,label:n1
cudaEventRecord,stream:4,event:1
cudaStreamWaitEvent,stream:7,event:0
cudaStreamWaitEvent,stream:7,event:1
ncclAllReduce,stream:7,size_B:100,kernel:050000,label:n5
cudaDeviceSynchronize
END
cmp -s got wanted || complain "the calls differ: $(diff got wanted)"
verdict import_chakra.nodes_follow_those_that_they_depend_on

# The size of an all-gather is that of one rank. The rank of a file is the number in its name, or its place.
{
	message '\012\0050.0.4'
	node 1 7 20 "$size_100$(attribute comm_type '\002')"
} >2.et
cp 2.et x.1.et
cp 2.et data
expect 0 '^3 ranks: 3 collectives' import chakra data x.1.et 2.et
[ "$(sed -n 's/.*"rank":\([0-9]*\),"ranks":\([0-9]*\).*/\1 of \2/p' "$scratch.out" | tr '\n' ',')" = '0 of 3,1 of 3,2 of 3,' ] ||
	complain "the ranks are $(grep '"rank"' "$scratch.out")"
[ "$(grep -c '"ncclAllGather",.*"size_B":300,' "$scratch.out")" = 3 ] || complain 'the all-gathers have not 3 times 100 B'
expect 2 '^2.et: message 2 .*the size of an all-gather is that of one rank, so import the files of all ranks together' import chakra 2.et
# Folders give no rank. A rank beyond those of the files, or that of another file, is refused.
mkdir -p 7.et.d
cp 2.et 7.et.d/data
cp 2.et 3.et
expect 0 '^3 ranks: 3 collectives' import chakra 7.et.d/data x.1.et 2.et
expect 2 '^3.et: the file is that of rank 3, but the ranks of 3 files are 0 to 2, and each has one file' import chakra data x.1.et 3.et
expect 2 '^data: the file is that of rank 1, but the ranks of 2 files are 0 to 1, ' import chakra x.1.et data
verdict import_chakra.files_of_several_ranks_are_one_job

refused() { # PATTERN BYTES: the file has the metadata and these bytes
	{
		message '\012\0050.0.4'
		printf "$2"
	} >bad.et
	expect 2 "^bad.et: message $1" import chakra bad.et
}
refused '1 .*: the file has no nodes' ''
refused '1 .*: it has no valid length' '\200'                # the file ends in the length
refused '1 .*: the file ends in it' '\200\200\200\010'       # 16 MiB
refused '1 .*: it has no valid length' '\201\200\200\010\010' # 1 B more
refused '1 .*: it is not a node' '\000'
refused '1 .*: it is not a node' '\002\013\001'              # a group, which protobuf of today lacks
refused '1 .*: it is not a node' '\002\010\200'              # a number that does not end
refused '1 .*: it is not a node' '\014\010\200\200\200\200\200\200\200\200\200\200\001'
refused '1 .*: it is not a node' '\003\022\002n'             # a text beyond the message
refused '1 .*: it is not a node' '\006\010\001\052\002\001\200' # dependencies that do not end
refused '1 .*: it is not a node' '\004R\002\012\010' # an attribute whose name is cut off
refused '3 .*: some nodes depend on each other' '\004\010\001\050\002\004\010\002\050\001'
: >empty.et
expect 2 '^empty.et: message 0 .*: the file has no nodes' import chakra empty.et
verdict import_chakra.messages_that_are_not_nodes_are_refused
