/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/msccl.h"
#include "sim/cfg/text.h"
#include "sim/cfg/xml.h"

enum { RANKS_MAX = 1024, CHANNELS_MAX = 64, CHUNKS_MAX = 65536, STEPS_MAX = 65536 };
enum { PASSES_MAX = 10000 }; /* over all thread blocks, each as far as it gets */

static const struct msccl_action {
	const char *name;
	bool receives, reduces, sends, local;
} actions[] = {
	{.name = "s", .sends = true},
	{.name = "r", .receives = true},
	{.name = "rcs", .receives = true, .sends = true},
	{.name = "rrc", .receives = true, .reduces = true},
	{.name = "rrs", .receives = true, .reduces = true, .sends = true},
	{.name = "rrcs", .receives = true, .reduces = true, .sends = true},
	{.name = "cpy", .local = true},
	{.name = "re", .local = true},
	{.name = "nop"},
};

struct block_step {
	const struct msccl_action *action;
	int line;
	long depends, number; /* thread block of its GPU (-1: none), and step there */
	size_t chunk_count;
	size_t first, end; /* once it is played: range in `ends` of what must have ended */
};

struct thread_block {                          /* a thread block */
	long rank, id, send, receive, channel; /* send, receive: peers, or -1 */
	int line;
	size_t next;               /* step */
	struct thread_block *from; /* the other rank's block that sends to it */
	size_t taken;              /* messages of `sent` that were received */
	VEC(struct block_step) steps;
	VEC(uint32_t) waits, sent; /* waits: steps that the next one follows */
};

struct msccl_reader {
	struct arena *arena;
	struct diag *diag;
	struct origin origin;
	struct msccl *msccl;
	long rank_count, channel_count, rank; /* rank: -1 before the first <gpu> */
	size_t chunk_count, chunk_most;
	VEC(struct thread_block *) blocks;
	VEC(uint32_t) ends;
	struct schedule_builder *builder;
};

static bool fail(const struct msccl_reader *p, int line, const char *why)
{
	return diag_error(p->diag, (struct origin){p->origin.file, line}, "%s", why);
}

/* ---- reading ---- */

static long number(const struct msccl_reader *p, const struct xml_element *e, const char *name,
		   long least, long most)
{
	double value;
	if (number_parse(xml_attribute(e, name), &value) && value >= (double)least &&
	    value <= (double)most && floor(value) >= value)
		return (long)value;
	diag_error(p->diag, e->origin, "%s of <%.20s> must be a whole number from %ld to %ld", name,
		   e->name, least, most);
	return least;
}

/* Returns whether the words are the same without underscores, so "allreduce" is "all_reduce". */
static bool is_name(const char *word, const char *name)
{
	for (; *name; name++)
		if (*name != '_' && *word++ != *name)
			return false;
	return !*word;
}

static size_t take_name(const struct msccl_reader *p, const struct xml_element *e,
			const char *attribute, const char *const *names, size_t count)
{
	const char *word = xml_attribute(e, attribute), *known = "";
	for (size_t i = 0; i < count; i++) {
		if (is_name(word, names[i]))
			return i;
		known = arena_printf(p->arena, "%s%s%s", known, i ? ", " : "", names[i]);
	}
	diag_error(p->diag, e->origin, "%s=\"%.40s\" of <algo> is not known (farwire reads %s)",
		   attribute, word, known);
	return 0;
}

static void take_algo(struct msccl_reader *p, const struct xml_element *e)
{
	const char *collectives[COLLECTIVE_COUNT], *protocols[PROTOCOL_COUNT];
	for (int i = 0; i < COLLECTIVE_COUNT; i++)
		collectives[i] = collective_name((enum collective)i);
	for (int i = 0; i < PROTOCOL_COUNT; i++)
		protocols[i] = protocol_name((enum protocol)i);
	double size_B;
	p->msccl->collective =
		(enum collective)take_name(p, e, "coll", collectives, COLLECTIVE_COUNT);
	p->msccl->protocol = (enum protocol)take_name(p, e, "proto", protocols, PROTOCOL_COUNT);
	p->rank_count = number(p, e, "ngpus", 2, RANKS_MAX);
	p->channel_count = number(p, e, "nchannels", 1, CHANNELS_MAX);
	p->chunk_count = (size_t)number(p, e, "nchunksperloop", 1, CHUNKS_MAX);
	p->msccl->least_B = number_parse(xml_attribute(e, "minBytes"), &size_B) ? size_B : 0;
	bool most = number_parse(xml_attribute(e, "maxBytes"), &size_B) && size_B > 0;
	p->msccl->most_B = most ? size_B : INFINITY;
}

static void take_block(struct msccl_reader *p, const struct xml_element *e)
{
	struct thread_block *block = ARENA_NEW(p->arena, struct thread_block);
	*block = (struct thread_block){
		.rank = p->rank,
		.id = number(p, e, "id", 0, STEPS_MAX),
		.send = number(p, e, "send", -1, p->rank_count - 1),
		.receive = number(p, e, "recv", -1, p->rank_count - 1),
		.channel = number(p, e, "chan", 0, p->channel_count - 1),
		.line = e->origin.line,
	};
	if (block->send == p->rank || block->receive == p->rank)
		fail(p, block->line, "a thread block cannot exchange data with its own GPU");
	*VEC_PUSH(p->arena, &p->blocks) = block;
}

static void take_step(struct msccl_reader *p, const struct xml_element *e)
{
	struct thread_block *block = p->blocks.items[p->blocks.count - 1];
	const char *type = xml_attribute(e, "type");
	size_t i = 0, count = sizeof actions / sizeof actions[0];
	while (i < count && strcmp(actions[i].name, type) != 0)
		i++;
	if (i == count) {
		diag_error(p->diag, e->origin,
			   "the step has the unknown type \"%.20s\" (farwire reads s, r, rcs, rrc, "
			   "rrs, rrcs, cpy, re and nop)",
			   type);
		return;
	}
	if ((actions[i].sends && block->send < 0) || (actions[i].receives && block->receive < 0))
		fail(p, e->origin.line,
		     "the thread block of this step has no such peer (write its "
		     "rank in send or recv of <tb>)");
	size_t chunks = (size_t)number(p, e, "cnt", 0, CHUNKS_MAX);
	if (strcmp(type, "nop") != 0 && chunks == 0)
		fail(p, e->origin.line, "cnt of a step that moves data must be at least 1");
	p->chunk_most = chunks > p->chunk_most ? chunks : p->chunk_most;
	*VEC_PUSH(p->arena, &block->steps) = (struct block_step){
		.action = &actions[i],
		.line = e->origin.line,
		.depends = number(p, e, "depid", -1, STEPS_MAX),
		.number = number(p, e, "deps", -1, STEPS_MAX),
		.chunk_count = chunks,
	};
}

static void on_open(void *ctx, const struct xml_element *e)
{
	struct msccl_reader *p = ctx;
	bool is_gpu = strcmp(e->name, "gpu") == 0, is_block = strcmp(e->name, "tb") == 0;
	if (p->rank_count == 0 && strcmp(e->name, "algo") == 0)
		take_algo(p, e);
	else if (p->rank_count == 0)
		fail(p, e->origin.line, "an algorithm of MSCCL begins with <algo> (name its file)");
	else if (is_gpu)
		p->rank = number(p, e, "id", 0, p->rank_count - 1);
	else if (is_block && p->rank >= 0)
		take_block(p, e);
	else if (strcmp(e->name, "step") == 0 && p->blocks.count > 0)
		take_step(p, e);
	else
		diag_error(p->diag, e->origin,
			   "<%.20s> does not belong here (an <algo> has <gpu>, which has <tb>, "
			   "which has <step>)",
			   e->name);
}

/* ---- the schedule ---- */

static struct thread_block *block_find(const struct msccl_reader *p, long rank, long id)
{
	for (size_t i = 0; i < p->blocks.count; i++)
		if (p->blocks.items[i]->rank == rank && p->blocks.items[i]->id == id)
			return p->blocks.items[i];
	return NULL;
}

/* Finds the thread blocks that send to those that receive. */
static bool join_blocks(struct msccl_reader *p)
{
	for (size_t i = 0; i < p->blocks.count; i++) {
		struct thread_block *to = p->blocks.items[i];
		for (size_t k = 0; k < p->blocks.count && to->receive >= 0 && !to->from; k++) {
			struct thread_block *from = p->blocks.items[k];
			if (from->rank == to->receive && from->send == to->rank &&
			    from->channel == to->channel)
				to->from = from;
		}
		if (to->receive >= 0 && !to->from)
			return fail(p, to->line,
				    "no thread block of the GPU in recv sends to this GPU on this "
				    "channel");
	}
	return true;
}

/* Adds what the step waits for in another thread block. Returns false if that has not ended. */
static bool depend(struct msccl_reader *p, struct thread_block *block,
		   const struct block_step *step)
{
	if (step->depends < 0)
		return true;
	const struct thread_block *other = block_find(p, block->rank, step->depends);
	if (!other || step->number < 0 || (size_t)step->number >= other->steps.count)
		return fail(p, step->line, "the step in depid and deps does not exist");
	if (other->next <= (size_t)step->number)
		return false;
	const struct block_step *before = &other->steps.items[step->number];
	for (size_t i = before->first; i < before->end; i++)
		*VEC_PUSH(p->arena, &block->waits) = p->ends.items[i];
	return true;
}

/* Adds the next step of a thread block. A send does not hold up the steps after it, because it
 * leaves from a buffer of the connection. Returns false if the step must wait for another one. */
static bool play(struct msccl_reader *p, struct thread_block *block)
{
	struct block_step *step = &block->steps.items[block->next];
	const struct msccl_action *action = step->action;
	size_t rank = (size_t)block->rank, channel = (size_t)block->channel;
	size_t chunk = step->chunk_count ? step->chunk_count - 1 : 0;
	if (action->receives && block->from->taken == block->from->sent.count)
		return false;
	if (!depend(p, block, step))
		return false;
	step->first = p->ends.count;
	if (action->receives || action->local) {
		uint32_t source =
			action->receives ? block->from->sent.items[block->from->taken++] : NO_STEP;
		uint32_t taken = (action->reduces ? schedule_reduce : schedule_copy)(
			p->builder, rank, chunk, channel, source, block->waits.items,
			block->waits.count);
		block->waits.count = 0;
		*VEC_PUSH(p->arena, &block->waits) = taken;
	}
	if (action->sends) {
		uint32_t sent = schedule_send(p->builder, rank, (size_t)block->send, chunk, channel,
					      block->waits.items, block->waits.count);
		*VEC_PUSH(p->arena, &block->sent) = sent;
		*VEC_PUSH(p->arena, &p->ends) = sent;
	} else {
		for (size_t i = 0; i < block->waits.count; i++)
			*VEC_PUSH(p->arena, &p->ends) = block->waits.items[i];
	}
	step->end = p->ends.count;
	block->next++;
	return true;
}

static bool play_all(struct msccl_reader *p)
{
	bool goes_on = true;
	for (int pass = 0; goes_on && pass < PASSES_MAX; pass++) {
		goes_on = false;
		for (size_t i = 0; i < p->blocks.count; i++)
			while (p->blocks.items[i]->next < p->blocks.items[i]->steps.count &&
			       diag_count(p->diag) == 0 && play(p, p->blocks.items[i]))
				goes_on = true;
	}
	for (size_t i = 0; i < p->blocks.count; i++) {
		const struct thread_block *block = p->blocks.items[i];
		if ((size_t)block->id >= p->msccl->block_count)
			p->msccl->block_count = (size_t)block->id + 1;
		if (diag_count(p->diag) == 0 && block->next < block->steps.count)
			fail(p, block->steps.items[block->next].line,
			     "this step waits for data or a step that never comes");
		if (diag_count(p->diag) == 0 && block->taken < block->sent.count)
			fail(p, block->line,
			     "the peer does not receive all data that this thread "
			     "block sends");
	}
	return diag_count(p->diag) == 0;
}

const struct msccl *msccl_read(struct arena *arena, struct diag *diag, struct origin origin,
			       const char *path)
{
	struct msccl *msccl = ARENA_NEW(arena, struct msccl);
	struct msccl_reader p = {arena, diag, {path, 0}, msccl, .rank = -1};
	struct cfg_file_identity identity;
	const char *wrong = NULL, *text = cfg_file_load(arena, path, &identity, &wrong);
	if (!text)
		return diag_null(diag, origin, "library.msccl: '%s' %s", path, wrong);
	if (text[strspn(text, " \t\r\n")] == '{') {
		fail(&p, 1,
		     "this is a plan of MSCCL++, whose steps (put, signal, wait ...) farwire "
		     "does not read (name an XML file of MSCCL)");
		return NULL;
	}
	if (!xml_read(arena, diag, path, text, strlen(text),
		      &(struct xml_reader){.open = on_open, .ctx = &p}))
		return NULL;
	double *chunk_B = ARENA_ARRAY(arena, p.chunk_most + 1, double);
	for (size_t i = 0; i <= p.chunk_most; i++)
		chunk_B[i] = (double)(i + 1) / (double)p.chunk_count;
	p.builder = schedule_builder_new(arena, msccl->collective, (size_t)p.rank_count,
					 (size_t)p.channel_count, p.chunk_most + 1, chunk_B);
	if (!join_blocks(&p) || !play_all(&p))
		return NULL;
	msccl->schedule = schedule_finish(p.builder);
	if (msccl->schedule->step_count > 0)
		return msccl;
	fail(&p, 1, "the algorithm has no step that moves data");
	return NULL;
}

/* ---- the algorithm ---- */

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	const struct schedule *script = spec->script;
	double *chunk_B = ARENA_ARRAY(arena, script->chunk_count, double);
	for (size_t i = 0; i < script->chunk_count; i++)
		chunk_B[i] = script->chunk_B[i] * spec->size_B;
	struct schedule_builder *builder =
		schedule_builder_new(arena, script->collective, script->rank_count,
				     script->channel_count, script->chunk_count, chunk_B);
	schedule_fold(builder, spec->fold);
	uint32_t *added = ARENA_ARRAY(arena, script->step_count, uint32_t);
	VEC(uint32_t) after = {0};
	for (size_t i = 0; i < script->step_count; i++) {
		const struct schedule_step *s = &script->steps[i];
		uint32_t source = s->source == NO_STEP ? NO_STEP : added[s->source];
		after.count = 0;
		for (uint32_t k = 0; k < s->after_count; k++)
			*VEC_PUSH(arena, &after) = added[script->after[s->after_first + k]];
		if (s->kind == STEP_SEND)
			added[i] = schedule_send(builder, s->rank, s->peer, s->chunk, s->channel,
						 after.items, after.count);
		else
			added[i] = (s->kind == STEP_REDUCE ? schedule_reduce : schedule_copy)(
				builder, s->rank, s->chunk, s->channel, source, after.items,
				after.count);
	}
	return schedule_finish(builder);
}

const struct algorithm algorithm_msccl = {
	.name = "msccl",
	.help = "the steps of the file that library.msccl names",
	.cost = COST_RING,
	.build = build,
};
