/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tcp_probe/team.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>

#include "calib/sample/clock.h"

struct member {
	struct team *team;
	size_t index;
	pthread_t thread;
	sem_t begin;
	double start_s, end_s;
	int code;
};

struct team {
	size_t count, started; /* threads in addition to the caller */
	int (*work)(void *context, size_t member);
	void *context;
	sem_t done;
	_Atomic bool over;
	struct member members[TEAM_MOST];
};

static void work(struct member *member)
{
	struct team *team = member->team;
	member->start_s = clock_now_s();
	member->code = team->work(team->context, member->index);
	member->end_s = clock_now_s();
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0) /* a signal interrupted it */
		;
}

static void *run(void *context)
{
	struct member *member = context;
	struct team *team = member->team;
	for (wait_for(&member->begin); !team->over; wait_for(&member->begin)) {
		work(member);
		sem_post(&team->done);
	}
	return NULL;
}

struct team *team_new(size_t count, int (*do_work)(void *context, size_t member), void *context)
{
	struct team *team = calloc(1, sizeof(*team));
	if (!team)
		return NULL;
	team->count = count < TEAM_MOST ? count : TEAM_MOST;
	team->work = do_work;
	team->context = context;
	sem_init(&team->done, 0, 0);
	for (size_t i = 0; i < team->count; i++) {
		struct member *member = &team->members[i];
		*member = (struct member){.team = team, .index = i};
		sem_init(&member->begin, 0, 0);
		if (i > 0 && pthread_create(&member->thread, NULL, run, member) != 0) {
			team_free(team);
			return NULL;
		}
		team->started = i;
	}
	return team;
}

int team_round(struct team *team, double *span_s)
{
	for (size_t i = 1; i <= team->started; i++)
		sem_post(&team->members[i].begin);
	work(&team->members[0]);
	for (size_t i = 1; i <= team->started; i++)
		wait_for(&team->done);
	double start_s = team->members[0].start_s, end_s = team->members[0].end_s;
	for (size_t i = 0; i < team->count; i++) {
		const struct member *member = &team->members[i];
		if (member->code != 0)
			return member->code;
		start_s = member->start_s < start_s ? member->start_s : start_s;
		end_s = member->end_s > end_s ? member->end_s : end_s;
	}
	*span_s = end_s - start_s;
	return 0;
}

void team_free(struct team *team)
{
	if (!team)
		return;
	team->over = true;
	for (size_t i = 1; i <= team->started; i++) {
		sem_post(&team->members[i].begin);
		pthread_join(team->members[i].thread, NULL);
	}
	free(team);
}
