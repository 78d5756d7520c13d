#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Databases of Nsight Systems, written by hand: columns that a release lacks, two processes, two GPUs,
# kinds of copies, events, marks and times out of range.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
command -v python3 >/dev/null || exit 77
cd "$scratch" || exit 2

# database FILE: notes the SQL of the standard input; write_databases runs it
database() {
	cat >"$1.sql"
}
write_databases() {
	python3 -c 'import sqlite3, sys
for name in sys.argv[1:]:
	db = sqlite3.connect(name[:-4])
	db.executescript(open(name).read())
	db.commit()' ./*.sql || complain 'python3 cannot write the databases'
	rm ./*.sql
}
# same: the calls without the names of their members are those of the standard input
same() {
	sed -n 's/^{"thread":\([0-9]*\),"call":/\1 /;s/"start_s":0\.000//;s/"end_s":0\.000//;s/_s":0\.000/":/g;s/[{}"]//g;s/^\(step\|[0-9]\)/\1/p' \
		"$scratch.out" >got
	cat >wanted
	cmp -s got wanted || complain "the calls differ: $(diff got wanted)"
}
runtime='CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, nameId INT, globalTid INT, correlationId INT);'
kernel='CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, shortName INT, deviceId INT, streamId INT, correlationId INT);'
strings="CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync_v3020'), (3, 'cudaEventRecord'),
(4, 'cudaStreamWaitEvent'), (5, 'gemm'), (6, 'step 7'), (7, 'pthread_create');"

# One call each 1,000 ns. The stream of GPU 1 is 2^20 + 7. Streams and GPUs out of range are unknown.
{
	echo "$runtime $kernel $strings"
	cat <<'END'
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
(1000, 1500, 1, 5, 1), (2000, 2500, 1, 5, 2), (3000, 3500, 1, 5, 3), (4000, 4500, 1, 5, 4), (5000, 5500, 1, 6, 5),
(6000, 5000, 7, 5, 6), (7000, 6000, 1, 5, 7), (8000, NULL, 1, 5, NULL), (NULL, 9500, 1, 5, 8),
(-1000000000000000001, 9500, 1, 5, 8), (1000000000000000001, 1000000000000000002, 1, 5, 8),
(9000, 1000000000000000001, 1, 5, 8);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
(1600, 1800, 5, 0, 7, 1), (2600, 2900, 5, 1, 7, 2), (3600, 4000, 5, 1024, 1048575, 3), (4600, 5100, 5, 1025, 7, 4),
(5600, 6200, 5, 0, 1048576, 5), (7600, 7700, 5, NULL, NULL, 7), (7600, 7700, 5, 0, 7, -1), (7600, 7700, 5, 0, 7, 99);
CREATE TABLE NVTX_EVENTS (start INT, end INT, text TEXT, textId INT, globalTid INT);
INSERT INTO NVTX_EVENTS VALUES (900, 3000, 'Iteration 3', NULL, 5), (3000, 5000, NULL, 6, 5), (5000, 6000, 'step x', 6, 5),
(5000, 6000, 'step :', 6, 5), (5000, 6000, 'step /', 6, 5), (5000, 6000, 'ProfilerStep#8', NULL, 6), (5000, 6000, NULL, NULL, 5);
CREATE TABLE TARGET_INFO_GPU (name TEXT);
INSERT INTO TARGET_INFO_GPU VALUES ('NVIDIA A'), ('NVIDIA B');
END
} | database streams.sqlite
write_databases
expect 0 'converted 7 calls of 2 threads with 4 step marks; 27 events read, 18 used, 9 skipped$' import nsys streams.sqlite
has_orphans='^2 kernels and copies were left out because the trace does not contain their calls$'
grep -q "$has_orphans" "$scratch.err" || complain 'the orphans are not counted'
shows '"gpu":"NVIDIA A"'
same <<'END'
step:3,t:000000,thread:0
0 cudaLaunchKernel,000100,000600,stream:7,kernel:000200,gpu_start:000700,label:gemm
0 cudaLaunchKernel,001100,001600,stream:1048583,kernel:000300,gpu_start:001700,label:gemm
step:7,t:002100,thread:0
0 cudaLaunchKernel,002100,002600,stream:1074790399,kernel:000400,gpu_start:002700,label:gemm
0 cudaLaunchKernel,003100,003600,stream:7,kernel:000500,gpu_start:003700,label:gemm
step:8,t:004100,thread:1
1 cudaLaunchKernel,004100,004600,kernel:000600,gpu_start:004700,label:gemm
step:9,t:005100,thread:1
0 cudaLaunchKernel,006100,006100,kernel:000100,gpu_start:006700,label:gemm
0 cudaLaunchKernel,007100,007100
END
verdict import_nsys.streams_marks_and_times_out_of_range_are_ignored

# Copies have the direction and the memory of the host, which is the source for 1 and the destination for 2. An event has
# a number only with eventId. Two ranks are two processes in the order of their numbers.
{
	echo "$runtime $strings"
	cat <<'END'
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
(1000, 1500, 2, 33554437, 1), (2000, 2500, 2, 33554437, 2), (3000, 3500, 2, 33554437, 3), (4000, 4500, 2, 33554437, 4),
(5000, 5500, 2, 33554437, 5), (6000, 6500, 2, 33554437, 6), (7000, 7500, 2, 33554437, 7), (8000, 8500, 2, 33554437, 8),
(9000, 9500, 2, 33554437, 9), (10000, 10500, 3, 33554437, 10), (11000, 11500, 4, 33554437, 11), (12000, 12500, 1, 33554437, 12),
(500, 700, 1, 16777217, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, streamId INT, correlationId INT, globalPid INT, bytes INT,
	copyKind INT, srcKind INT, dstKind INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
(1600, 1700, 7, 1, 33554432, 10, 1, 0, 2), (2600, 2700, 7, 2, 33554432, 20, 1, 1, 2), (3600, 3700, 7, 3, 33554432, 30, 1, 2, 1),
(4600, 4700, 7, 4, 33554432, 40, 2, 2, 0), (5600, 5700, 7, 5, 33554432, 50, 2, 2, 1), (6600, 6700, 7, 6, 33554432, 1000000000000000, 8, 2, 2),
(7600, 7700, 7, 7, 33554432, 1000000000000001, 9, 0, 0), (8600, 8700, 7, 8, 33554432, 80, 10, 2, 2), (9600, 9700, 7, 9, 33554432, 90, 11, 0, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, streamId INT, correlationId INT, globalPid INT, eventId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (11000, 11000, 7, 11, 33554432, 77), (12100, 12100, 9, 12, 33554432, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (start INT, end INT, streamId INT, correlationId INT, globalPid INT, eventId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (10100, 10100, 5, 10, 33554432, 77);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, shortName INT, streamId INT, correlationId INT, globalPid INT);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (12600, 12900, 5, 3, 12, 33554432), (800, 900, 5, 7, 1, 16777216);
CREATE TABLE NVTX_EVENTS (start INT, end INT, text TEXT, globalTid INT);
INSERT INTO NVTX_EVENTS VALUES (1000, 20000, 'step 1', 33554437), (5000, 9000, 'step 2', 33554437);
END
} | database copies.sqlite
write_databases
expect 0 'converted 13 calls of 2 threads with 3 step marks; 29 events read, 29 used, 0 skipped$' import nsys copies.sqlite
same <<'END'
0 cudaLaunchKernel,000000,000200,stream:7,kernel:000100,gpu_start:000300,label:gemm
step:1,t:000000,thread:0
0 cudaMemcpyAsync,000000,000500,stream:7,copy:h2d,memory:pageable,size_B:10,copy:000100,gpu_start:000600
0 cudaMemcpyAsync,001000,001500,stream:7,copy:h2d,memory:pinned,size_B:20,copy:000100,gpu_start:001600
0 cudaMemcpyAsync,002000,002500,stream:7,copy:h2d,size_B:30,copy:000100,gpu_start:002600
0 cudaMemcpyAsync,003000,003500,stream:7,copy:d2h,memory:pageable,size_B:40,copy:000100,gpu_start:003600
step:2,t:004000,thread:0
0 cudaMemcpyAsync,004000,004500,stream:7,copy:d2h,memory:pinned,size_B:50,copy:000100,gpu_start:004600
0 cudaMemcpyAsync,005000,005500,stream:7,copy:d2d,size_B:1000000000000000,copy:000100,gpu_start:005600
0 cudaMemcpyAsync,006000,006500,stream:7,copy:h2h,size_B:0,copy:000100,gpu_start:006600
0 cudaMemcpyAsync,007000,007500,stream:7,copy:p2p,size_B:80,copy:000100,gpu_start:007600
0 cudaMemcpyAsync,008000,008500,stream:7,copy:d2d,size_B:90,copy:000100,gpu_start:008600
0 cudaEventRecord,009000,009500,stream:5,event:77
0 cudaStreamWaitEvent,010000,010500,stream:7,event:77
0 cudaLaunchKernel,011000,011500,stream:3,kernel:000300,gpu_start:011600,label:gemm
step:2,t:019000,thread:0
END
[ "$(sed -n 's/.*"rank":\([0-9]*\),"ranks":\([0-9]*\).*/\1 of \2/p' "$scratch.out" | tr '\n' ',')" = '0 of 2,1 of 2,' ] ||
	complain 'the processes are not rank 0 and rank 1'
verdict import_nsys.copies_and_events_of_two_processes_have_the_listed_numbers

# Kernels are joined with their calls 65,536 at a time. A graph of 65,540 kernels of 1 ns, which begin each ns from 3,001 ns on,
# lasts as long. The call that begins first is the last one of its table, and its kernel is the last of all.
{
	echo "$runtime $kernel $strings"
	cat <<'END'
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2000, 2500, 1, 5, 2), (1000, 1500, 1, 5, 1);
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 65540)
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 3000 + n, 3001 + n, 5, 0, 7, 2 FROM c;
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1600, 1700, 5, 0, 8, 1);
END
} | database batches.sqlite
write_databases
expect 0 'converted 2 calls of 1 threads with 0 step marks .*; 65543 events read, 65543 used, 0 skipped$' import nsys batches.sqlite
same <<'END'
0 cudaLaunchKernel,000000,000500,stream:8,kernel:000100,gpu_start:000600,label:gemm
0 cudaLaunchKernel,001000,001500,stream:7,kernel:065540,gpu_start:002001,label:gemm
END
verdict import_nsys.works_of_several_batches_belong_to_their_calls

# Without StringIds a name is the number in its column, so this report has no call of CUDA.
{
	echo "$runtime $kernel"
	echo 'INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, 1, 5, 1);'
	echo 'INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1600, 1800, 5, 0, 7, 1);'
} | database names.sqlite
echo "$runtime $kernel $strings INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, 1, 5, 1);" | database kernels.sqlite
for count in 4096 4097; do
	{
		echo "$runtime $kernel $strings"
		echo "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < $count)
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT n * 1000, n * 1000 + 5, 1, n, n FROM c;"
		echo 'INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1600, 1800, 5, 0, 7, 1);'
	} | database threads$count.sqlite
done
write_databases
expect 2 'names.sqlite: the table CUPTI_ACTIVITY_KIND_RUNTIME has no usable row' import nsys names.sqlite
expect 2 'kernels.sqlite: the table CUPTI_ACTIVITY_KIND_KERNEL has no usable row' import nsys kernels.sqlite
expect 0 'converted 4096 calls of 4096 threads' import nsys threads4096.sqlite
expect 2 'threads4097.sqlite: the report has more than 4096 threads' import nsys threads4097.sqlite
verdict import_nsys.reports_without_names_or_kernels_or_with_too_many_threads_are_refused
