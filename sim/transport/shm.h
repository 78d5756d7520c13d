/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages through memory that two guests of one host share: the sender copies
 * a message in, the receiver polls a flag and reads it in place. */
#ifndef FARWIRE_TRANSPORT_SHM_H
#define FARWIRE_TRANSPORT_SHM_H

struct shm_params {
	double post_s;   /* taking a slot and writing its header */
	double notify_s; /* until the polling receiver has seen it and taken it */
	double inline_B; /* larger messages use core and memory as flows */
};

#endif
