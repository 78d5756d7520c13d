/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/host/team.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "calib/host/sock.h"

struct member {
	struct team *team;
	size_t index;
	pthread_t thread;
	double start_s, end_s;
	int code;
};

struct team {
	size_t count, started; /* threads in addition to the caller */
	int (*work)(void *context, size_t member);
	void *context;
	pthread_mutex_t lock;
	pthread_cond_t begin, done;
	size_t round, working;
	bool over;
	struct member members[TEAM_MOST];
};

static void work(struct member *member)
{
	struct team *team = member->team;
	member->start_s = sock_now_s();
	member->code = team->work(team->context, member->index);
	member->end_s = sock_now_s();
}

static void *run(void *context)
{
	struct member *member = context;
	struct team *team = member->team;
	size_t round = 0;
	pthread_mutex_lock(&team->lock);
	for (;;) {
		while (team->round == round && !team->over)
			pthread_cond_wait(&team->begin, &team->lock);
		if (team->over)
			break;
		round = team->round;
		pthread_mutex_unlock(&team->lock);
		work(member);
		pthread_mutex_lock(&team->lock);
		if (--team->working == 0)
			pthread_cond_signal(&team->done);
	}
	pthread_mutex_unlock(&team->lock);
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
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->begin, NULL);
	pthread_cond_init(&team->done, NULL);
	for (size_t i = 0; i < team->count; i++) {
		struct member *member = &team->members[i];
		*member = (struct member){.team = team, .index = i};
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
	pthread_mutex_lock(&team->lock);
	team->working = team->started;
	team->round++;
	pthread_cond_broadcast(&team->begin);
	pthread_mutex_unlock(&team->lock);
	work(&team->members[0]);
	pthread_mutex_lock(&team->lock);
	while (team->working > 0)
		pthread_cond_wait(&team->done, &team->lock);
	pthread_mutex_unlock(&team->lock);
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
	pthread_mutex_lock(&team->lock);
	team->over = true;
	pthread_cond_broadcast(&team->begin);
	pthread_mutex_unlock(&team->lock);
	for (size_t i = 1; i <= team->started; i++)
		pthread_join(team->members[i].thread, NULL);
	pthread_mutex_destroy(&team->lock);
	pthread_cond_destroy(&team->begin);
	pthread_cond_destroy(&team->done);
	free(team);
}
