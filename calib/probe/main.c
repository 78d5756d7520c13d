/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/probe/probe.h"

int main(int count, char **words)
{
	return probe_command(&gpu_cuda, count, words);
}
