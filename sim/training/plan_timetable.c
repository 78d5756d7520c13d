/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The timetable of a plan's step: each pass begins when its stage has ended the pass before and its
 * input is there. Passes take the times of their units, all messages take the same time, and data
 * groups take the time of their bytes over the links of a machine or of a GPU. */
#include "sim/training/plan.h"

/* PASSES_MOST: passes of all stages, of which more are extended from periods of the schedule. */
enum { PASSES_MOST = 1 << 14 };

struct stage_row {
	struct slots slots;
	size_t next;          /* slot */
	double now_s, data_s; /* ends of its passes, and of its gathers and reductions */
};

struct timetable {
	const struct training_plan *plan;
	const struct unit_least *units;
	size_t unit_count, stage_count;
	double gather_s_per_B, reduce_s_per_B, message_s;
	double *done_s[2]; /* by direction, micro-batch and part of the network; 0: not done */
	struct stage_row *rows;
};

static bool shards_parameters(const struct timetable *t)
{
	return t->plan->params->sharding == SHARDING_PARAMETERS;
}

/* Returns true if parameters are gathered once in a step, because each rank updates a part. */
static bool gathers_updated(const struct timetable *t)
{
	int sharding = t->plan->params->sharding;
	return sharding == SHARDING_OPTIMIZER || sharding == SHARDING_GRADIENTS;
}

/* Moves the end of the stage's data collectives by one that begins at the stage's time or later. */
static void carry(struct stage_row *row, double time_s)
{
	row->data_s = fmax(row->data_s, row->now_s) + time_s;
}

/* Takes the stage through the units of a pass. Gathers of FSDP come before a pass can end.
 * Gradients are reduced beside the passes behind them. */
static void pass(const struct timetable *t, struct stage_row *row, const struct slot *slot,
		 size_t part)
{
	const struct training_plan *plan = t->plan;
	bool last = slot->micro + 1 == plan->played_count, fsdp = shards_parameters(t);
	bool gradients =
		slot->kind == (plan->schedule->splits_backward ? SLOT_WEIGHTS : SLOT_BACKWARD) &&
		(fsdp || last);
	double began_s = row->now_s, gathered_B = 0;
	for (size_t i = t->unit_count; i-- > 0;) {
		const struct unit_least *unit = &t->units[i];
		if (plan->parts[unit->first] != part)
			continue;
		row->now_s += slot->kind == SLOT_FORWARD    ? unit->forward_s
			      : slot->kind == SLOT_BACKWARD ? unit->backward_s
							    : unit->weights_s;
		gathered_B += unit->gathered_B;
		if (gradients)
			carry(row, unit->reduced_B * t->reduce_s_per_B);
	}
	if (fsdp && slot->kind != SLOT_WEIGHTS)
		row->now_s = fmax(row->now_s, began_s + gathered_B * t->gather_s_per_B);
}

/* Does the next pass of the stage if its input is there. */
static bool advance(const struct timetable *t, size_t stage)
{
	struct stage_row *row = &t->rows[stage];
	size_t parts = t->stage_count * t->plan->chunk_count;
	if (row->next == row->slots.count)
		return false;
	const struct slot *slot = &row->slots.items[row->next];
	size_t part = slot->chunk * t->stage_count + stage, at = slot->micro * parts + part;
	bool backward = slot->kind != SLOT_FORWARD;
	bool edge = slot->kind == SLOT_WEIGHTS || part == (backward ? parts - 1 : 0);
	double input_s = edge ? row->now_s : t->done_s[backward][backward ? at + 1 : at - 1];
	if (!edge && !(input_s > 0))
		return false;
	if (!edge && t->plan->chunk_count == 1) /* the stage posts its receive only now */
		input_s = fmax(row->now_s, input_s);
	row->now_s = fmax(row->now_s, input_s + (edge ? 0 : t->message_s));
	pass(t, row, slot, part);
	if (slot->kind != SLOT_WEIGHTS)
		t->done_s[backward][at] = row->now_s;
	row->next++;
	return true;
}

/* Returns the end of the stage: its last reductions, and the gather of updated parameters. */
static double end_s(const struct timetable *t, size_t stage)
{
	const struct stage_row *row = &t->rows[stage];
	double gathered_B = 0;
	for (size_t i = 0; i < t->unit_count; i++)
		if (t->plan->parts[t->units[i].first] % t->stage_count == stage)
			gathered_B += t->units[i].gathered_B;
	bool gathers = gathers_updated(t) && !t->plan->params->overlap_parameters;
	return fmax(row->now_s, row->data_s) + (gathers ? gathered_B * t->gather_s_per_B : 0);
}

/* Returns the end of a step of the plan's played micro-batches. */
static double play(struct arena *arena, struct timetable *t)
{
	const struct training_plan *plan = t->plan;
	const struct pipeline_shape shape = {t->stage_count, plan->chunk_count, plan->played_count};
	double last_s = 0;
	for (int backward = 0; backward < 2; backward++)
		t->done_s[backward] = ARENA_ARRAY(
			arena, shape.micro_batch_count * shape.stage_count * shape.chunk_count,
			double);
	t->rows = ARENA_ARRAY(arena, t->stage_count, struct stage_row);
	for (size_t i = 0; i < t->stage_count; i++)
		plan->schedule->write(plan->schedule, arena, &shape, i, &t->rows[i].slots);
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < 2 * t->stage_count; i++) /* down the stages, and back */
			while (advance(t, i < t->stage_count ? i : 2 * t->stage_count - 1 - i))
				again = true;
	}
	for (size_t i = 0; i < t->stage_count; i++) {
		FW_ASSERT(t->rows[i].next == t->rows[i].slots.count);
		last_s = fmax(last_s, end_s(t, i));
	}
	return last_s;
}

double plan_timetable_s(struct arena *arena, const struct training_plan *plan,
			const struct unit_least *units, size_t count,
			const struct plan_links *links, double message_s)
{
	size_t stages = plan->sizes[AXIS_PIPELINE], passes = stages * plan->chunk_count;
	double machine_s = plan_data_s_per_B(plan, links, true), ends_s[2];
	double gpu_s = (1 - 1 / (double)plan_sharers(plan)) / links->gpu_Bps;
	bool whole = passes * plan->micro_batch_count <= PASSES_MOST;
	double all_reduce = plan->params->sharding == SHARDING_NONE ? 2 : 1;
	struct training_plan played[2] = {*plan, *plan};
	for (size_t i = 0; i < 2; i++) {
		if (!whole)
			played[i] = plan_shorter(plan, stages + i);
		struct timetable t = {
			.plan = &played[i],
			.units = units,
			.unit_count = count,
			.stage_count = stages,
			.gather_s_per_B = fmax(machine_s, gpu_s),
			.reduce_s_per_B = fmax(all_reduce * machine_s, gpu_s),
			.message_s = message_s,
		};
		ends_s[i] = play(arena, &t);
		if (played[i].played_count == plan->micro_batch_count)
			return ends_s[i];
	}
	double more = (double)(plan->micro_batch_count - played[1].played_count);
	double period = (double)(played[1].played_count - played[0].played_count);
	return ends_s[1] + (ends_s[1] - ends_s[0]) / period * more;
}
