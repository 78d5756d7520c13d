/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages through memory that two guests of one host share: the sender copies a message into it,
 * the receiver polls a flag and reads the message in place. */
#pragma once

struct shm_params {
	double post_s, notify_s, inline_B;
};
