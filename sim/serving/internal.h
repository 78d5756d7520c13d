/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to sim/serving: the state of requests and replicas. */
#pragma once

#include "sim/engine/trace.h"
#include "sim/serving/serving.h"

struct shared_prefix { /* tokens with which prompts of a group begin, in the cache of a replica */
	uint32_t blocks, users_count; /* 0 blocks: they are not in the cache */
	int64_t used_ps;              /* when the last user left */
	struct stored_prefix *store;  /* its copy in host memory */
};
struct stored_prefix {
	uint32_t stored, storing; /* blocks in host memory, and on their way to it */
	int64_t used_ps;          /* when a user left last */
};
struct store { /* host memory for keys and values, of a replica or of a whole service */
	size_t free_blocks;
	struct stored_prefix *prefixes; /* by group; NULL: nothing is shared */
};

struct query { /* a request in the system */
	const struct serve_request *request;
	struct replica *replica; /* where it waits or runs */
	struct query *next;      /* in the queue of a replica */
	int64_t arrival_ps;      /* when its client sent it */
	int64_t begun_ps;        /* when it was admitted first; valid if it has ended */
	/* when its client gets its first token, and the last one of those sent so far; 0: none */
	int64_t first_ps, last_ps;
	int64_t end_ps;   /* 0: it has not ended */
	int64_t since_ps; /* begin of its present wait; in the front end: its end */
	/* the replica's sums when it was admitted */
	int64_t kernel_from_ps, exchange_from_ps, overhead_from_ps;
	int64_t parts_ps[SERVE_PART_COUNT];
	uint32_t cached;              /* tokens whose keys and values are in the cache */
	uint32_t produced;            /* generated tokens */
	uint32_t fresh;               /* tokens that the present iteration processes */
	uint32_t drafted;             /* further tokens that it checks */
	uint32_t blocks;              /* of the cache, without those of its prefix */
	struct shared_prefix *prefix; /* NULL: it has none */
	uint32_t prefix_blocks;       /* those of the prefix that it uses */
	uint32_t
		stored; /* tokens whose keys and values are in host memory, or on their way to it */
	uint32_t loading; /* tokens whose keys and values are on their way from it */
	uint32_t sent;    /* tokens that the front end has sent, or will send */
	bool storing, begun, measured, refused;
	bool late;   /* it was loaded during the present iteration, so it waits for the next one */
	bool missed; /* it is known to miss an objective; set only for verdicts */
};

struct service {
	const struct serving_service_spec *spec;
	struct serving *serving;
	struct query *queries; /* one for each request */
	/* called: their arrival is an event, or was one */
	size_t called_count, arrived_count, ended_count, refused_count, preempted_count;
	size_t first_measured, missed_count;
	int64_t warm_ps;   /* when as many requests had ended as belong to the warm-up */
	int64_t opened_ps; /* the first measured arrival */
	size_t opened_waiting, arrivals_end_waiting; /* requests in queues at it, and at the last */
	size_t turns[2]; /* of the router: for prompts and for replicas that only generate tokens */
	size_t group_count; /* of requests that share tokens */
	uint32_t *longest;  /* by group: the most tokens that are shared */
	bool continuous;
	uint32_t block;                /* tokens of a block */
	int64_t message_ps, merged_ps; /* work of the front end for a message */
	struct store *store;           /* of all replicas; NULL: each has its own */
	int64_t *free_ps;              /* when each process of the front end has done its work */
	int64_t front_end_ps;          /* work of all of them */
	size_t process_count;
	/* Times between tokens: how many fall into each bin of a logarithmic scale. */
	struct rng accepted; /* draws how many drafted tokens are right */
	uint64_t *gaps;
	int64_t gap_ps; /* equal times are counted together */
	uint64_t gap_count;
};

struct replica {
	const struct serving_replica_spec *spec;
	struct service *service;
	struct serving *serving;
	struct query **running; /* in the order of admission */
	size_t running_count, running_most;
	struct query *head, *tail; /* queue */
	size_t waiting_count, outstanding_count;
	size_t free_blocks;
	struct store *store;            /* for keys and values in host memory */
	size_t loading_count;           /* requests whose keys and values come from there */
	size_t leaving_blocks;          /* blocks whose keys and values are being sent */
	struct shared_prefix *prefixes; /* by group; NULL: nothing is shared */
	/* Whether a limit or memory has changed what it did; the most requests and tokens of an
	 * iteration, and the fewest free blocks. */
	bool limited;
	size_t most_running, least_blocks;
	double most_rows;
	bool busy;
	bool alarm;                             /* an event will end the wait of a dynamic batch */
	enum queue_cause cause;                 /* why its queue waits, or would wait */
	int64_t tallied_ps;                     /* waits up to this time are in queue_sums_s */
	double queue_sums_s[QUEUE_CAUSE_COUNT]; /* waits of all requests by cause */
	int64_t kernel_ps, exchange_ps, overhead_ps; /* of the present iteration */
	int64_t kernel_since_ps;                     /* when its kernels begin */
	const char *label;                           /* of the present iteration in timelines */
	/* Sums over iterations. */
	int64_t kernel_sum_ps, exchange_sum_ps, overhead_sum_ps;
	/* kernel_sum_ps when the window opened, with what had run of the present iteration */
	int64_t kernel_opened_ps;
	size_t ended_count; /* measured requests that ended in the window */
};

struct serving {
	struct serving_spec spec;
	struct service *services;
	struct replica *replicas;
	size_t closed_count; /* services whose requests have all ended */
	bool open, over;
	int64_t opened_ps;
};

/* ---- cache.c ---- */

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}
/* Gives a request that enters what the cache has of its prefix. */
void prefix_find(struct replica *r, struct query *q);
/* Gives what a request has processed of its prefix to its group, unless the cache has more. */
void prefix_keep(struct replica *r, struct query *q);
/* Gives the request the blocks for that many tokens. Returns false if they are not free. Then the
 * queue waits for transfers if their end would free enough blocks, and for memory otherwise. */
bool blocks_take(struct replica *r, struct query *q, uint32_t tokens);
void blocks_return(struct replica *r, struct query *q);
size_t blocks_of(const struct replica *r, uint32_t tokens);
/* Copies keys and values from host memory, or to it. */
void replica_offload(struct replica *r, double tokens, bool to_gpu, event_fn *fn, void *ctx);
/* Begins to copy the keys and values of a preempted request, if host memory has room. */
void query_store(struct replica *r, struct query *q);
/* Returns how many of a request's first tokens host memory has; 0: the GPU has as many. The GPU may
 * have some of a preempted request, those of its prefix. */
uint32_t tokens_stored(const struct replica *r, const struct query *q);
/* Leaves the prefix of the group, whose blocks stay. */
void prefix_leave(struct replica *r, struct query *q);

/* ---- scheduler.c ---- */

/* Begins an iteration if the replica is idle and has something to do. */
void replica_work(struct replica *replica);
/* Appends a request to the replica's queue. */
void replica_enqueue(struct replica *replica, struct query *query);

/* ---- serving.c ---- */

/* Gives work to the process of the front end that has the request. Returns when it is done. */
int64_t front_end_work(struct service *service, size_t index, int64_t work_ps);
/* Notes that the request misses an objective. This may end the run. */
void query_missed(struct query *query);
/* Called when the request's last token is there. The front end may still have to send it. */
void query_ended(struct query *query);
/* Called when a prompt is processed on a replica that generates no tokens. */
void query_hand_over(struct query *query);
static inline int64_t serving_now_ps(const struct serving *serving)
{
	return engine_now_ps(serving->spec.engine);
}
/* Returns true if no more requests will arrive at the replica's service. */
static inline bool service_is_closed(const struct service *service)
{
	return service->arrived_count == service->spec->requests.count;
}

/* ---- answers.c ---- */

/* Returns true if a request that has ended meets all objectives. */
bool query_meets(const struct query *query);
uint64_t *gaps_new(struct arena *arena);
/* Notes the time between two tokens of a request. */
void gap_note(struct service *service, int64_t gap_ps);
