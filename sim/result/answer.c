/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/result/answer.h"

enum {
	CLIENTS = PREDICTION_PROGRAMS,
	TRAINING = PREDICTION_TRAINING,
	COLLECTIVE = PREDICTION_COLLECTIVE,
	SERVING = PREDICTION_SERVING,
	JOB = TRAINING | COLLECTIVE,
	NO_COLLECTIVE = CLIENTS | TRAINING | SERVING,
	ALL = CLIENTS | TRAINING | COLLECTIVE | SERVING,
	NO_LATENCY = CLIENTS | TRAINING,
};

#define TEXT(member)                                 true, offsetof(struct prediction, member), NULL
#define NUMBER(member)                               false, offsetof(struct prediction, member), NULL
#define PART(name)                                   false, 0, name
#define NOWHERE                                      false, 0, NULL /* marks answers that have no field in struct prediction */
#define ANSWER(id, name, heading, kinds, place, ...) {name, heading, kinds, place, __VA_ARGS__},
static const struct reported rows[] = {
#include "sim/result/answers.def"
};

const struct reported *answer_at(enum answer answer)
{
	return &rows[answer];
}

static const void *at(const struct reported *reported, const struct prediction *prediction)
{
	return (const char *)prediction + reported->offset;
}

struct estimate reported_of(const struct reported *reported, const struct prediction *prediction)
{
	double value = NAN;
	if (reported == answer_at(ANSWER_GPUS))
		value = (double)prediction->gpu_count;
	else if (prediction->ok && reported->part)
		value = prediction_part_s(prediction, reported->part);
	else if (prediction->ok)
		return *(const struct estimate *)at(reported, prediction);
	if (reported->part && reported->optional && !(value > 0))
		value = NAN;
	return (struct estimate){value, value, value};
}

const char *reported_text_of(const struct reported *reported, const struct prediction *prediction)
{
	if (reported == answer_at(ANSWER_VERDICT) && prediction->ok)
		return "ok";
	return *(const char *const *)at(reported, prediction);
}
