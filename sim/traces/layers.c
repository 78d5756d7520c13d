/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/traces/graph.h"
#include "sim/traces/words.h"
#include "sim/traces/readers.h"

enum pass { FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, PASS_COUNT };
/* The update has a stream, because it waits for its collective, but kernels do not wait for it. */
enum stream { COMPUTE = 1, BLOCKING, GRADIENTS, UPDATE };
enum group { GROUP_NONE, GROUP_ALL, GROUP_TENSOR, GROUP_DATA, GROUP_EXPERT, GROUP_DATA_EXPERT };
enum { FIELDS = 12, LAYERS_MAX = 1 << 20, LISTED_MAX = WORDS_MAX };

struct layer {
	const char *name;
	double compute_s[PASS_COUNT], size_B[PASS_COUNT], update_s;
	const char *function[PASS_COUNT]; /* NULL: none */
	enum group group[PASS_COUNT];
	bool checkpoint, recomputes;
};

/* Which ranks exchange what in a policy. */
struct policy {
	const char *name;
	enum group forward, weights; /* the group of input gradients is that of the forward pass */
	bool blocks; /* weight gradients wait for the collective of the input gradients */
	bool data;   /* weight gradients before input gradients */
	bool recomputes;
};

static const struct policy policies[] = {
	{"MICRO", GROUP_ALL, GROUP_ALL, false, false, false},
	{"DATA", GROUP_NONE, GROUP_ALL, false, true, false},
	{"MODEL", GROUP_ALL, GROUP_NONE, false, false, false},
	{"HYBRID_TRANSFORMER", GROUP_TENSOR, GROUP_DATA, true, false, false},
	{"HYBRID_TRANSFORMER_FWD_IN_BCKWD", GROUP_TENSOR, GROUP_DATA, true, false, true},
	{"HYBRID_DLRM", GROUP_ALL, GROUP_ALL, false, false, false},
};

struct layers {
	struct graph graph;
	struct words words;
	const struct policy *policy;
	size_t layer_count;
	uint32_t tensor_count, expert_count, pipeline_count, world_count; /* 0: unknown */
	double pipeline_B;
	size_t checkpoints[LISTED_MAX], checkpoint_count, initiates[LISTED_MAX], initiate_count;
	struct layer *layers;
	size_t last[UPDATE + 1]; /* the last node of each stream, plus 1; 0: none */
	size_t alone_count;      /* collectives of groups of one rank */
	bool parts;
	struct profile_counts *counts;
};

/* ---- line 1 ---- */

static bool take_count(struct layers *w, size_t word, uint32_t *count)
{
	double value;
	if (!words_number(&w->words, word, RECORDED_RANKS_MAX, &value))
		return false;
	*count = (uint32_t)value;
	return true;
}

static bool take_list(struct layers *w, size_t *word, size_t *list, size_t *count)
{
	uint32_t listed, item;
	if (!take_count(w, ++*word, &listed))
		return false;
	for (*count = 0; *count < listed; (*count)++) {
		if (!take_count(w, ++*word, &item))
			return false;
		list[*count] = item;
	}
	return true;
}

static bool take_key(struct layers *w, size_t *word)
{
	struct {
		const char *key;
		uint32_t *count;
	} counts[] = {{"model_parallel_NPU_group", &w->tensor_count},
		      {"ep", &w->expert_count},
		      {"pp", &w->pipeline_count},
		      {"all_gpus", &w->world_count}};
	const char *text = w->words.at[*word];
	const char *key = arena_printf(w->graph.arena, "%.*s", (int)strcspn(text, ":"), text);
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		if (strcmp(key, counts[i].key) == 0)
			return take_count(w, ++*word, counts[i].count);
	if (strcmp(key, "checkpoints") == 0)
		return take_list(w, word, w->checkpoints, &w->checkpoint_count);
	if (strcmp(key, "checkpoint_initiates") == 0)
		return take_list(w, word, w->initiates, &w->initiate_count);
	if (strcmp(key, "pp_comm") == 0)
		return words_number(&w->words, ++*word, GRAPH_SIZE_MAX_B, &w->pipeline_B);
	return true; /* vpp and ga do not change the rows */
}

static bool take_policy(struct layers *w)
{
	w->policy = NULL;
	if (!words_line(&w->words) || w->words.count == 0)
		return diag_count(w->words.lines.diag) == 0 &&
		       words_fail(&w->words,
				  "the line must begin with the parallelism, for example "
				  "HYBRID_TRANSFORMER model_parallel_NPU_group: 8");
	for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
		if (strcmp(w->words.at[0], policies[i].name) == 0)
			w->policy = &policies[i];
	if (!w->policy)
		return diag_error(w->words.lines.diag, w->words.lines.origin,
				  "the parallelism '%.80s' does not say which ranks exchange what "
				  "(write MICRO, DATA, MODEL, HYBRID_DLRM, or HYBRID_TRANSFORMER "
				  "model_parallel_NPU_group: N)",
				  w->words.at[0]);
	for (size_t i = 1; i < w->words.count; i++)
		if (!take_key(w, &i))
			return false;
	if (w->policy->forward == GROUP_TENSOR && w->tensor_count == 0)
		return words_fail(&w->words,
				  "model_parallel_NPU_group is missing (write its number of ranks "
				  "behind model_parallel_NPU_group:)");
	w->tensor_count += w->tensor_count == 0;
	w->expert_count += w->expert_count == 0;
	w->pipeline_count += w->pipeline_count == 0;
	uint64_t product = (uint64_t)w->tensor_count * w->pipeline_count;
	if (product > RECORDED_RANKS_MAX || product * w->expert_count > RECORDED_RANKS_MAX / 2)
		return words_fail(
			&w->words,
			"the product of model_parallel_NPU_group, ep and pp must be at most "
			"32768");
	if (w->world_count % (product * w->expert_count) != 0)
		return words_fail(
			&w->words,
			"all_gpus must be a multiple of model_parallel_NPU_group * ep * pp");
	return true;
}

/* ---- layers ---- */

/* Reads a kind such as ALLGATHER_DP_EP. */
static bool take_kind(struct layers *w, const char *kind, const char **function, enum group *group)
{
	static const struct {
		const char *name, *function;
	} kinds[] = {{"ALLREDUCE", "ncclAllReduce"},
		     {"ALLGATHER", "ncclAllGather"},
		     {"REDUCESCATTER", "ncclReduceScatter"},
		     {"ALLTOALL", "ncclAlltoAll"},
		     {"BROADCAST", "ncclBroadcast"}};
	const char *suffix = strchr(kind, '_');
	size_t length = suffix ? (size_t)(suffix - kind) : strlen(kind);
	*function = NULL;
	if (strcmp(kind, "NONE") == 0)
		return true;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strncmp(kind, kinds[i].name, length) == 0 && !kinds[i].name[length])
			*function = kinds[i].function;
	if (suffix && strcmp(suffix, "_EP") == 0)
		*group = GROUP_EXPERT;
	else if (suffix && strcmp(suffix, "_DP_EP") == 0)
		*group = GROUP_DATA_EXPERT;
	else if (suffix)
		*function = NULL;
	return *function ||
	       diag_error(w->words.lines.diag, w->words.lines.origin,
			  "the kind of collective '%.80s' is unknown (write NONE, ALLREDUCE, "
			  "ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, with _EP or _DP_EP for "
			  "groups of experts)",
			  kind);
}

static bool take_layer(struct layers *w, struct layer *layer)
{
	if (w->words.count == FIELDS + 1)
		return diag_error(w->words.lines.diag, w->words.lines.origin,
				  "the layer has its own parallelism '%.80s', which is not "
				  "supported (write 12 columns, and one parallelism in line 1)",
				  w->words.at[FIELDS]);
	if (w->words.count != FIELDS)
		return diag_error(w->words.lines.diag, w->words.lines.origin,
				  "a layer must have 12 columns, not %zu (name, dependency, then "
				  "computation, collective and bytes of three passes, update)",
				  w->words.count);
	layer->name = arena_strdup(w->graph.arena, w->words.at[0]);
	for (int pass = 0; pass < PASS_COUNT; pass++) {
		size_t word = 2 + 3 * (size_t)pass;
		layer->group[pass] =
			pass == WEIGHT_GRADIENT ? w->policy->weights : w->policy->forward;
		if (!words_number(&w->words, word, 1e9 * GRAPH_DURATION_MAX_S,
				  &layer->compute_s[pass]) ||
		    !take_kind(w, w->words.at[word + 1], &layer->function[pass],
			       &layer->group[pass]) ||
		    !words_number(&w->words, word + 2, GRAPH_SIZE_MAX_B, &layer->size_B[pass]))
			return false;
		layer->compute_s[pass] *= 1e-9;
		if (layer->function[pass] && layer->group[pass] == GROUP_NONE)
			return diag_error(
				w->words.lines.diag, w->words.lines.origin,
				"%s has no collective in this pass (write NONE, or another "
				"parallelism in line 1)",
				w->policy->name);
		bool gathers = layer->function[pass] &&
			       strcmp(layer->function[pass], "ncclAllGather") == 0;
		if (gathers && w->parts && w->world_count == 0 &&
		    layer->group[pass] != GROUP_TENSOR)
			return words_fail(
				&w->words,
				"an all-gather of ASTRA-sim has the bytes of one rank, so "
				"the number of ranks must be known (write all_gpus: N at "
				"the end of line 1)");
	}
	if (!words_number(&w->words, FIELDS - 1, 1e9 * GRAPH_DURATION_MAX_S, &layer->update_s))
		return false;
	layer->update_s *= 1e-9;
	return true;
}

static bool take_layers(struct layers *w)
{
	double declared = 0;
	if (!take_policy(w) || !words_line(&w->words))
		return diag_count(w->words.lines.diag) == 0 &&
		       words_fail(&w->words, "line 2 must have the number of layers");
	if (w->words.count != 1)
		return words_fail(&w->words,
				  "line 2 must have the number of layers and nothing else");
	if (!words_number(&w->words, 0, LAYERS_MAX, &declared))
		return false;
	VEC(struct layer) layers = {0};
	while (words_line(&w->words)) {
		struct layer layer = {0};
		if (w->words.count == 0)
			continue;
		w->counts->events++;
		if ((double)layers.count >= declared)
			continue; /* ASTRA-sim reads as many rows as line 2 says */
		if (!take_layer(w, &layer))
			return false;
		*VEC_PUSH(w->graph.arena, &layers) = layer;
		if (arena_used_B(w->graph.arena) > RECORDED_MEMORY_MAX_B)
			return words_fail(&w->words, "the workload " RECORDED_TOO_LARGE);
	}
	if (diag_count(w->words.lines.diag) > 0)
		return false;
	if (layers.count == 0 || (double)layers.count < declared)
		return diag_error(w->words.lines.diag, w->words.lines.origin,
				  "line 2 declares %.0f layers, but the file has %zu (correct line "
				  "2)",
				  declared, layers.count);
	w->layers = layers.items;
	w->layer_count = w->counts->used = layers.count;
	for (size_t i = 0; i < w->checkpoint_count; i++)
		if (w->checkpoints[i] < w->layer_count)
			w->layers[w->checkpoints[i]].checkpoint = true;
	for (size_t i = 0; i < w->initiate_count; i++)
		if (w->initiates[i] < w->layer_count)
			w->layers[w->initiates[i]].recomputes = w->policy->recomputes;
	return true;
}

/* ---- the step ---- */

static struct graph_node *add_node(struct layers *w, enum stream stream, const char *label,
				   double lasts_s)
{
	struct graph_node *node = graph_add(&w->graph, w->graph.nodes.count);
	node->stream = (int)stream;
	node->label = label;
	node->lasts_s = lasts_s;
	w->last[stream] = w->graph.nodes.count;
	return node;
}

/* Lets a stream's next node wait for the last node of another stream. */
static void wait_for(struct layers *w, struct graph_node *node, enum stream stream)
{
	if (w->last[stream] > 0)
		graph_depend(&w->graph, node, w->last[stream] - 1);
}

static void compute(struct layers *w, const struct layer *layer, enum pass pass, bool waits)
{
	if (layer->compute_s[pass] <= 0)
		return;
	struct graph_node *node = add_node(w, COMPUTE, layer->name, layer->compute_s[pass]);
	if (waits)
		wait_for(w, node, BLOCKING);
}

static struct recorded_group group_of(const struct layers *w, enum group group)
{
	uint32_t tensor = w->tensor_count, replica = tensor * w->pipeline_count;
	/* An unknown job has two replicas, so its data parallelism grows with the job. */
	uint32_t world = w->world_count ? w->world_count : 2 * replica * w->expert_count;
	uint32_t data = world / replica;
	switch (group) {
	case GROUP_TENSOR:
		return (struct recorded_group){0, tensor, 1};
	case GROUP_DATA:
		return (struct recorded_group){0, data, tensor};
	case GROUP_EXPERT:
		return (struct recorded_group){0, w->expert_count, tensor};
	case GROUP_DATA_EXPERT:
		return (struct recorded_group){0, data / w->expert_count, tensor * w->expert_count};
	case GROUP_NONE:
	case GROUP_ALL:
		break;
	}
	return (struct recorded_group){0};
}

static void communicate(struct layers *w, const struct layer *layer, enum pass pass)
{
	if (!layer->function[pass] || layer->size_B[pass] <= 0)
		return;
	struct recorded_group group = group_of(w, layer->group[pass]);
	if (group.count == 1) {
		w->alone_count++;
		return;
	}
	struct graph_node *node =
		add_node(w, pass == WEIGHT_GRADIENT ? GRADIENTS : BLOCKING, layer->name, 0);
	wait_for(w, node, COMPUTE);
	node->function = layer->function[pass];
	node->group = group;
	node->size_B = layer->size_B[pass];
	if (w->parts && strcmp(node->function, "ncclAllGather") == 0)
		node->size_B = fmin(GRAPH_SIZE_MAX_B,
				    node->size_B * (group.count ? group.count : w->world_count));
	w->counts->collectives++;
	if (pass == WEIGHT_GRADIENT)
		wait_for(w, add_node(w, UPDATE, "update", layer->update_s), GRADIENTS);
}

static void forward(struct layers *w, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		compute(w, &w->layers[i], FORWARD, true);
		communicate(w, &w->layers[i], FORWARD);
	}
}

/* Computes again what the layers since the last checkpoint gave to the layer. */
static void recompute(struct layers *w, size_t layer)
{
	size_t first = layer;
	while (first > 0 && !w->layers[first].checkpoint)
		first--;
	forward(w, first, layer);
}

static void step(struct layers *w)
{
	forward(w, 0, w->layer_count);
	for (size_t i = w->layer_count; i-- > 0;) {
		const struct layer *layer = &w->layers[i];
		if (layer->recomputes)
			recompute(w, i);
		if (!w->policy->data) {
			compute(w, layer, INPUT_GRADIENT, true);
			communicate(w, layer, INPUT_GRADIENT);
		}
		compute(w, layer, WEIGHT_GRADIENT, w->policy->blocks || w->policy->data);
		communicate(w, layer, WEIGHT_GRADIENT);
		if (w->policy->data && i > 0)
			compute(w, layer, INPUT_GRADIENT, true);
	}
}

static struct recorded_calls *read_layers(struct arena *arena, struct diag *diag, FILE *in,
					  const char *path, bool parts,
					  struct profile_counts *counts)
{
	struct layers *w = ARENA_NEW(arena, struct layers);
	*w = (struct layers){.graph = {.arena = arena},
			     .words = words_begin(diag, in, path, " \t\r"),
			     .parts = parts,
			     .counts = counts};
	*counts = (struct profile_counts){0};
	if (!take_layers(w))
		return NULL;
	step(w);
	bool stages = w->pipeline_B > 0 && w->pipeline_count > 1;
	if (stages || w->alone_count > 0)
		counts->left_out = arena_printf(
			arena, "%zu collectives of groups of one rank were left out%s",
			w->alone_count,
			stages ? ", and pp_comm: the file does not say between which layers the "
				 "messages between pipeline stages are"
			       : "");
	uint32_t world = w->world_count ? w->world_count
					: 2 * w->tensor_count * w->pipeline_count * w->expert_count;
	return graph_program(&w->graph, parts ? "astrasim" : "simai", world);
}

const struct recorded_calls *simai_read(struct arena *arena, struct diag *diag, FILE *in,
					const char *path, const struct profile_watch *watch,
					struct profile_counts *counts)
{
	return read_layers(arena, diag, in, path, false, counts);
}

const struct recorded_calls *astrasim_read(struct arena *arena, struct diag *diag, FILE *in,
					   const char *path, const struct profile_watch *watch,
					   struct profile_counts *counts)
{
	return read_layers(arena, diag, in, path, true, counts);
}
