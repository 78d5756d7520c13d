/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire import plan: writes a case with the plan that a configuration describes.
 *
 * Values that a configuration leaves out have the defaults of its tool, not those of farwire. The
 * sources are those of fields.def. */
#include <strings.h>

#include "sim/import/settings.h"
#include "sim/training/plan.h"

struct plan_reader {
	struct settings *settings;
	struct reading *reading;
	VEC(const char *) plan; /* lines of the group */
	double tp, pp, cp, dp, micro, gpus;
	bool sharded;
	bool megatron; /* the configuration is one of Megatron-LM or NeMo */
	bool titan;    /* it is one of TorchTitan */
	bool assumed;  /* the number of GPUs */
};

static void put_line(struct plan_reader *p, const char *key, const char *value, const char *why)
{
	*VEC_PUSH(p->reading->arena, &p->plan) =
		arena_printf(p->reading->arena, "\t%s = %s; # %s", key, value, why);
}

static void put(struct plan_reader *p, const char *key, const char *value,
		enum settings_field field)
{
	put_line(p, key, value, settings_place(p->settings, field));
}

static void put_number(struct plan_reader *p, const char *key, double value,
		       enum settings_field field)
{
	if (value > 2e9)
		diag_error(p->reading->diag, (struct origin){p->reading->paths[0], 0},
			   "%s is %g, which is more than 2e9 (correct the numbers it follows from)",
			   key, value);
	put(p, key, arena_printf(p->reading->arena, "%.15g", value), field);
}

/* Reads a whole number of at least 1, and puts it. Returns false if it is missing. */
static bool put_count(struct plan_reader *p, const char *key, enum settings_field field,
		      double *value)
{
	bool found = settings_count(p->settings, field, 1, value);
	if (found)
		put_number(p, key, *value, field);
	return found;
}

/* Puts one of two words if the setting is there, and returns whether it is. */
static bool put_flag(struct plan_reader *p, const char *key, enum settings_field field,
		     const char *yes, const char *no)
{
	bool flag, found = settings_flag(p->settings, field, &flag);
	if (found)
		put(p, key, flag ? yes : no, field);
	return found;
}

static const char *refuse(struct plan_reader *p, const struct setting_read *item, const char *why)
{
	return diag_null(p->reading->diag, item->origin, "%s = %s %s",
			 reading_quote(p->reading, item->path),
			 reading_quote(p->reading, item->value), why);
}

struct word {
	const char *theirs, *ours;
};

/* Puts the plan's word for a setting and returns it, or NULL after an error. */
static const char *translate(struct plan_reader *p, const char *key, enum settings_field field,
			     const struct setting_read *item, const struct word *words,
			     const char *known)
{
	while (words->theirs && strcmp(words->theirs, item->value) != 0)
		words++;
	if (!words->theirs)
		return refuse(p, item,
			      arena_printf(p->reading->arena,
					   "has no counterpart (write one of: %s)", known));
	put(p, key, words->ours, field);
	return words->ours;
}

/* ---- groups of ranks ---- */

static void read_groups(struct plan_reader *p)
{
	struct settings *s = p->settings;
	double ep = 1, nodes = 1, each = 0, shards = 1, replicas = 1;
	p->tp = p->pp = p->cp = 1;
	put_count(p, "tp", FIELD_TP, &p->tp);
	put_count(p, "cp", FIELD_CP, &p->cp);
	/* Without a pipeline, DeepSpeed and GPT-NeoX write 0 stages. */
	if (settings_count(s, FIELD_PP, 0, &p->pp))
		put_number(p, "pp", p->pp = fmax(p->pp, 1), FIELD_PP);
	put_count(p, "ep", FIELD_EP, &ep);
	put_count(p, "dp", FIELD_DP, &p->dp);
	/* TorchTitan: -1 shards over all ranks that are left. */
	bool has_shards = settings_count(s, FIELD_SHARDS, -1, &shards);
	settings_count(s, FIELD_REPLICAS, 1, &replicas);
	p->sharded = has_shards && shards != 1; /* whole numbers */
	if (p->sharded && replicas > 1)
		put_number(p, "replicas", replicas, FIELD_REPLICAS);
	if (!(p->dp > 0) && shards > 0 && has_shards) {
		p->dp = shards * replicas;
		put_number(p, "dp", p->dp, replicas > 1 ? FIELD_REPLICAS : FIELD_SHARDS);
	}
	if (!settings_count(s, FIELD_WORLD, 1, &p->gpus) &&
	    settings_count(s, FIELD_NODE_GPUS, 1, &each)) {
		settings_count(s, FIELD_NODES, 1, &nodes);
		p->gpus = nodes * each;
	}
	double product = p->tp * p->cp * p->pp * fmax(p->dp, 1);
	if (fmax(p->gpus, product) > 2e9)
		diag_error(p->reading->diag, (struct origin){p->reading->paths[0], 0},
			   "the plan is for %g GPUs (correct the sizes of its groups)",
			   fmax(p->gpus, product));
	p->assumed = !(p->gpus > 0);
	if (p->assumed) /* experts are spread over data-parallel ranks */
		p->gpus = product * (p->dp > 0 ? 1 : ep);
	else if (fmod(p->gpus, product) > 0)
		diag_error(
			p->reading->diag, (struct origin){p->reading->paths[0], 0},
			"%g GPUs are not divisible by tp x cp x pp x dp = %g (correct the number "
			"of nodes, or the sizes of the groups)",
			p->gpus, product);
}

/* Reads the blocks of each part. Megatron-LM divides the parts by the stages, and has no setting
 * for chunks then. Layers that predict further tokens (m) are left out, as in networks. */
static void read_layout(struct plan_reader *p, const struct setting_read *layout)
{
	struct arena *arena = p->reading->arena;
	char *text = arena_strdup(arena, layout->value), *end = text;
	for (const char *from = layout->value; *from; from++)
		if (*from != 'm')
			*end++ = *from;
	*end = '\0';
	const char *why;
	size_t parts = plan_layout_parts(arena, text, &why), stages = (size_t)p->pp;
	if (strcmp(text, layout->value) != 0)
		reading_note(p->reading, "layers that predict further tokens (m) are left out");
	if (parts > 0 && parts % stages != 0)
		why = arena_printf(arena, "it has %zu parts, which %zu stages do not divide", parts,
				   stages);
	if (parts == 0 || parts % stages != 0) {
		refuse(p, layout, arena_printf(arena, "is not a layout: %s", why));
		return;
	}
	put(p, "layout", arena_printf(arena, "\"%s\"", text), FIELD_LAYOUT);
	size_t chunks = parts / stages;
	put_number(p, "chunks", (double)chunks, FIELD_LAYOUT);
}

static void read_chunks(struct plan_reader *p)
{
	static const struct word schedules[] = {{"1F1B", "\"1f1b\""},
						{"1f1b", "\"1f1b\""},
						{"GPipe", "\"gpipe\""},
						{"Interleaved1F1B", "\"interleaved\""},
						{NULL, NULL}};
	struct settings *s = p->settings;
	double chunks = 1, layers = 0, part = 0;
	const struct setting_read *layout = settings_find(s, FIELD_LAYOUT);
	if (layout)
		read_layout(p, layout);
	else if (!put_count(p, "chunks", FIELD_CHUNKS, &chunks) &&
		 settings_count(s, FIELD_CHUNK_LAYERS, 1, &part) &&
		 settings_need(s, FIELD_LAYERS, &layers)) {
		chunks = layers / p->pp / part;
		if (chunks > floor(chunks))
			refuse(p, settings_find(s, FIELD_CHUNK_LAYERS),
			       arena_printf(p->reading->arena,
					    "does not divide the %g layers of a stage (write a "
					    "number that does)",
					    layers / p->pp));
		put_number(p, "chunks", chunks, FIELD_CHUNK_LAYERS);
	}
	const struct setting_read *schedule = settings_find(s, FIELD_SCHEDULE);
	const char *ours = schedule && p->pp > 1
				   ? translate(p, "schedule", FIELD_SCHEDULE, schedule, schedules,
					       "1F1B, Interleaved1F1B, GPipe")
				   : NULL;
	/* TorchTitan's ranks have two stages each in such a schedule (distributed/pipeline.py). */
	if (ours && strcmp(ours, "\"interleaved\"") == 0 && !settings_place(s, FIELD_CHUNKS) &&
	    !settings_place(s, FIELD_CHUNK_LAYERS))
		put_number(p, "chunks", 2, FIELD_SCHEDULE);
	if (settings_is_true(s, FIELD_PP_FIRST))
		put(p, "order", "\"tp-cp-pp-dp\"", FIELD_PP_FIRST);
}

/* ---- batch ---- */

/* Reads the batch. DeepSpeed gives two of train_batch_size, train_micro_batch_size_per_gpu and
 * gradient_accumulation_steps. TorchTitan's local batch consists of micro-batches of one sample in
 * a pipeline. */
static void read_batch(struct plan_reader *p)
{
	struct settings *s = p->settings;
	double global = 0, accumulation = 0, local = 0;
	double copies = p->dp > 0 ? p->dp : p->gpus / (p->tp * p->cp * p->pp);
	enum settings_field micro_field = FIELD_MICRO_BATCH, global_field = FIELD_GLOBAL_BATCH;
	bool has_micro = settings_count(s, FIELD_MICRO_BATCH, 1, &p->micro);
	settings_count(s, FIELD_GLOBAL_BATCH, -1, &global);
	settings_count(s, FIELD_ACCUMULATION, 1, &accumulation);
	/* Scripts of PyTorch's FSDP mean the samples of a GPU. */
	bool fsdp = settings_place(s, FIELD_SHARDING) != NULL;
	if (fsdp && !has_micro && settings_count(s, FIELD_TRAIN_BATCH, 1, &p->micro)) {
		micro_field = FIELD_TRAIN_BATCH;
		has_micro = true;
	} else if (!(global > 0) && settings_count(s, FIELD_TRAIN_BATCH, 1, &global)) {
		global_field = FIELD_TRAIN_BATCH;
	}
	if (settings_count(s, FIELD_LOCAL_BATCH, 1, &local) && !has_micro) {
		p->micro = p->pp > 1 ? 1 : local;
		micro_field = FIELD_LOCAL_BATCH;
		has_micro = true;
		if (!(global > 0) && !p->assumed) {
			global = local * copies;
			global_field = FIELD_LOCAL_BATCH;
		}
	}
	if (global > 0 && accumulation > 0 && has_micro && p->assumed) {
		copies = global / accumulation / p->micro;
		p->gpus = copies * p->tp * p->cp * p->pp;
	}
	if (!has_micro && global > 0 && accumulation > 0) {
		p->micro = global / accumulation / copies;
		micro_field = FIELD_ACCUMULATION;
		has_micro = true;
	}
	if (!(global > 0) && accumulation > 0) {
		global = fmax(p->micro, 1) * accumulation * copies;
		global_field = FIELD_ACCUMULATION;
		if (p->assumed)
			reading_note(p->reading,
				     "global_batch is that of %g GPUs, and grows with their number",
				     p->gpus);
	}
	/* If the number of GPUs is given, read_groups has checked the copies. */
	if ((has_micro && p->micro > floor(p->micro)) || (p->assumed && copies > floor(copies)) ||
	    (global > 0 && accumulation > 0 &&
	     fabs((has_micro ? p->micro : 1) * accumulation * copies - global) > 0.5))
		diag_error(p->reading->diag, (struct origin){p->reading->paths[0], 0},
			   "%g samples of a step are not %g of a micro-batch x %g of accumulation "
			   "x %g copies (correct one of them, or the number of GPUs)",
			   global, p->micro, accumulation, copies);
	if (has_micro)
		put_number(p, "micro_batch", p->micro, micro_field);
	if (global > 0)
		put_number(p, "global_batch", global, global_field);
}

/* ---- sharding, recomputation and gradients ---- */

/* Reads a strategy of FSDP; Trainer writes "full_shard auto_wrap". Hybrid sharding has a copy on
 * each machine. */
static void read_strategy(struct plan_reader *p, const struct setting_read *strategy)
{
	static const struct word words[] = {{"full", "\"parameters\""},
					    {"FULL_SHARD", "\"parameters\""},
					    {"full_shard", "\"parameters\""},
					    {"1", "\"parameters\""},
					    {"hybrid_shard", "\"parameters\""},
					    {"HYBRID_SHARD", "\"parameters\""},
					    {"optim_grads_params", "\"parameters\""},
					    {"SHARD_GRAD_OP", "\"gradients\""},
					    {"shard_grad_op", "\"gradients\""},
					    {"2", "\"gradients\""},
					    {"optim_grads", "\"gradients\""},
					    {"optim", "\"optimizer\""},
					    {"NO_SHARD", "\"none\""},
					    {"no_shard", "\"none\""},
					    {NULL, NULL}};
	struct arena *arena = p->reading->arena;
	struct setting_read first = *strategy;
	first.value = arena_printf(arena, "%.*s", (int)strcspn(first.value, " "), first.value);
	const char *ours = translate(p, "sharding", FIELD_SHARDING, &first, words,
				     "FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD, NO_SHARD, "
				     "optim_grads_params, optim_grads, optim");
	double nodes = 1;
	p->sharded |= ours && strcmp(ours, "\"parameters\"") == 0;
	if (strcasecmp(first.value, "hybrid_shard") != 0)
		return;
	if (!put_count(p, "replicas", FIELD_NODES, &nodes))
		refuse(p, strategy,
		       "has a copy on each machine, whose number is missing (add num_machines, or "
		       "nnodes)");
}

/* FSDP2 shares out parameters, or only gradients and the optimizer's state if parameters remain
 * after forward. TorchTitan's default keeps them in a pipeline. */
static void read_reshard(struct plan_reader *p)
{
	static const struct word words[] = {{"true", "\"parameters\""},
					    {"True", "\"parameters\""},
					    {"always", "\"parameters\""},
					    {"FULL_SHARD", "\"parameters\""},
					    {"false", "\"gradients\""},
					    {"False", "\"gradients\""},
					    {"never", "\"gradients\""},
					    {"SHARD_GRAD_OP", "\"gradients\""},
					    {NULL, NULL}};
	struct setting_read item = *settings_find(p->settings, FIELD_RESHARD);
	if (strcmp(item.value, "default") == 0)
		item.value = p->pp > 1 ? "never" : "always";
	translate(p, "sharding", FIELD_RESHARD, &item, words,
		  "true, false, always, never, default");
	p->sharded = true;
}

static void read_sharding(struct plan_reader *p)
{
	static const char *const stages[] = {"\"none\"", "\"optimizer\"", "\"gradients\"",
					     "\"parameters\""};
	struct settings *s = p->settings;
	const struct setting_read *strategy = settings_find(s, FIELD_SHARDING);
	double stage = 0;
	if (settings_count(s, FIELD_ZERO, 0, &stage)) {
		if (stage > 3)
			refuse(p, settings_find(s, FIELD_ZERO),
			       "is not a stage (write 0, 1, 2 or 3)");
		else
			put(p, "sharding", stages[(size_t)stage], FIELD_ZERO);
		p->sharded |= stage > 2;
	} else if (strategy) {
		read_strategy(p, strategy);
	} else if (settings_find(s, FIELD_RESHARD) && (p->sharded || !p->megatron)) {
		read_reshard(p);
	} else if (p->sharded) {
		put(p, "sharding", stages[3], FIELD_SHARDS);
	} else {
		put_flag(p, "sharding", FIELD_DISTRIBUTED_OPTIMIZER, stages[1], stages[0]);
	}
}

/* Reads Megatron-LM's list, or its first argument. */
static void read_modules(struct plan_reader *p)
{
	const struct setting_read *item = settings_find(p->settings, FIELD_RECOMPUTE_MODULES);
	const char *text = NULL;
	if (!item)
		item = settings_item(p->settings, "recompute_modules", 0);
	for (size_t i = 1; item; i++) {
		if (strcmp(item->value, "core_attn") != 0 &&
		    strcmp(item->value, "layernorm") != 0 && strcmp(item->value, "moe_act") != 0)
			refuse(p, item,
			       "is computed again by no plan (write core_attn, layernorm or "
			       "moe_act)");
		text = text ? arena_printf(p->reading->arena, "%s+%s", text, item->value)
			    : item->value;
		item = settings_item(p->settings, "recompute_modules", i);
	}
	if (text)
		put_line(p, "recompute_modules", arena_printf(p->reading->arena, "\"%s\"", text),
			 "the list recompute_modules");
}

static void read_recomputation(struct plan_reader *p)
{
	static const struct word words[] = {{"full", "\"full\""},
					    {"selective", "\"selective\""},
					    {"none", "\"none\""},
					    {NULL, NULL}};
	const struct setting_read *item = settings_find(p->settings, FIELD_RECOMPUTE);
	read_modules(p);
	if (item)
		translate(p, "recompute", FIELD_RECOMPUTE, item, words, "full, selective, none");
	else if (!put_flag(p, "recompute", FIELD_RECOMPUTE_FLAG, "\"full\"", "\"none\""))
		put_flag(p, "recompute", FIELD_RECOMPUTE_SELECTIVE, "\"selective\"", "\"none\"");
}

static void read_gradients(struct plan_reader *p)
{
	struct settings *s = p->settings;
	double bucket;
	/* Norms of TorchTitan's tensor groups are SequenceParallel (infra/parallelize.py). */
	if (!put_flag(p, "sequence_parallel", FIELD_SEQUENCE_PARALLEL, "true", "false"))
		put_line(p, "sequence_parallel", p->titan && p->tp > 1 ? "true" : "false",
			 p->titan ? "assumed: TorchTitan's tensor groups do"
				  : "assumed: off by default in the tool");
	put_flag(p, "overlap_gradients", FIELD_OVERLAP, "true", "false");
	put_flag(p, "overlap_parameters", FIELD_OVERLAP_PARAMETERS, "true", "false");
	put_flag(p, "overlap_tensor", FIELD_OVERLAP_TENSOR, "\"all\"", "\"none\"");
	put_count(p, "bucket", FIELD_BUCKET, &bucket);
	const struct setting_read *reduce = settings_find(s, FIELD_REDUCE);
	if (reduce)
		put(p, "gradient_element", strstr(reduce->value, "32") ? "\"4 B\"" : "\"2 B\"",
		    FIELD_REDUCE);
	else if (!put_flag(p, "gradient_element", FIELD_BF16_REDUCE, "\"2 B\"", "\"4 B\""))
		put_flag(p, "gradient_element", FIELD_FP32_REDUCE, "\"4 B\"", "\"2 B\"");
}

/* ---- precision and what cannot be simulated ---- */

static bool is_on(struct plan_reader *p, enum settings_field field)
{
	static const char *const off[] = {"false", "0", "no", "off", "none", "no_fp8"};
	const struct setting_read *item = settings_find(p->settings, field);
	bool on = item;
	for (size_t i = 0; on && i < sizeof off / sizeof off[0]; i++)
		on = strcasecmp(item->value, off[i]) != 0;
	return on;
}

/* Refuses settings that change the time of a step by a mechanism that no plan has. */
static void refuse_missing(struct plan_reader *p)
{
	double split = 1;
	static const enum settings_field moved[] = {FIELD_OFFLOAD, FIELD_OFFLOAD_PARAMETERS};
	for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++)
		if (is_on(p, moved[i]))
			refuse(p, settings_find(p->settings, moved[i]),
			       "keeps states of the training in the host's memory, and no plan "
			       "simulates their copies (write none or false)");
	const struct setting_read *method = settings_find(p->settings, FIELD_RECOMPUTE_METHOD);
	if (method && strcmp(method->value, "block") == 0)
		refuse(p, method,
		       "computes only some blocks of a stage again, and no plan does (write "
		       "uniform "
		       "and one layer, or selective)");
	if (settings_count(p->settings, FIELD_RECOMPUTE_LAYERS, 0, &split) && split > 1)
		refuse(p, settings_find(p->settings, FIELD_RECOMPUTE_LAYERS),
		       "keeps the activations of one block of several, and no plan does (write 1)");
	if (settings_count(p->settings, FIELD_EXPERT_TP, 1, &split) && split > 1)
		refuse(p, settings_find(p->settings, FIELD_EXPERT_TP),
		       "splits each expert over GPUs, and no plan does (write 1, and a larger "
		       "expert parallelism)");
}

/* Returns the precision, or NULL if the configuration does not state it. */
static const char *precision_of(struct plan_reader *p, enum settings_field *from)
{
	static const struct {
		enum settings_field field;
		const char *precision;
	} flags[] = {{FIELD_FP4, "nvfp4"},
		     {FIELD_FP8, "fp8"},
		     {FIELD_FP16, "fp16"},
		     {FIELD_BF16, "bf16"}};
	static const struct word words[] = {
		{"fp16", "fp16"},     {"16", "fp16"},      {"16-mixed", "fp16"},
		{"float16", "fp16"},  {"bf16", "bf16"},    {"bf16-mixed", "bf16"},
		{"bfloat16", "bf16"}, {"no", "fp32"},      {"32", "fp32"},
		{"fp32", "fp32"},     {"float32", "fp32"}, {"32-true", "fp32"}};
	struct settings *s = p->settings;
	const struct setting_read *item = settings_find(s, FIELD_CONVERTERS);
	const struct setting_read *recipe = settings_find(s, FIELD_FP8_RECIPE);
	*from = FIELD_CONVERTERS;
	if (item && strstr(item->value, "mxfp8"))
		return "mxfp8";
	if (item && strstr(item->value, "float8"))
		return "fp8";
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
		*from = flags[i].field;
		if (is_on(p, *from))
			return *from == FIELD_FP8 && recipe && strstr(recipe->value, "mx")
				       ? "mxfp8"
				       : flags[i].precision;
	}
	*from = FIELD_PRECISION;
	item = settings_find(s, FIELD_PRECISION);
	for (size_t i = 0; item && i < sizeof words / sizeof words[0]; i++)
		if (strcasecmp(words[i].theirs, item->value) == 0)
			return words[i].ours;
	if (item && strstr(item->value, "fp8"))
		return "fp8";
	return item ? refuse(p, item, "is not a precision (write fp16, bf16, fp8 or fp32)") : NULL;
}

/* Names the stack, and sets its precision where the stack has another one. */
static void write_stack(struct plan_reader *p)
{
	static const struct word megatron[] = {{"bf16", "megatron-bf16"}, {"fp16", "megatron-fp16"},
					       {"fp8", "nemo-fp8"},       {"mxfp8", "nemo-mxfp8"},
					       {"nvfp4", "nemo-nvfp4"},   {NULL, NULL}};
	struct reading *r = p->reading;
	enum settings_field from;
	const char *precision = precision_of(p, &from);
	const char *stack = p->sharded ? "pytorch-fsdp-bf16" : "pytorch-bf16-adamw";
	bool set = precision && strcmp(precision, "bf16") != 0;
	for (const struct word *w = megatron; p->megatron && w->theirs; w++)
		if (strcmp(w->theirs, precision ? precision : "bf16") == 0) {
			stack = w->ours;
			set = false;
		}
	reading_line(r, "\tstack = \"%s\"; # assumed", stack);
	if (set)
		reading_line(r, "\tsettings = [\"stack.precision=%s\"]; # %s", precision,
			     settings_place(p->settings, from));
}

/* ---- the case ---- */

static void write_case(struct plan_reader *p)
{
	struct reading *r = p->reading;
	const struct setting_read *name = settings_find(p->settings, FIELD_NETWORK_NAME);
	const struct setting_read *flavor = settings_find(p->settings, FIELD_FLAVOR);
	reading_line(r,
		     "# SPDX-License-Identifier: GPL-3.0-or-later\n"
		     "# Written by farwire import plan. Name the machines, and the network that\n"
		     "# farwire import model writes:\n"
		     "#   farwire run CASE --topology dgx-h100 --model net.cfg\n"
		     "case = {\n\tname = \"imported plan\";");
	const char *place = settings_place(p->settings, FIELD_WORLD);
	place = place ? place : settings_place(p->settings, FIELD_NODE_GPUS);
	reading_line(r, "\tgpus = %.15g; # %s", p->gpus,
		     place ? place : "assumed: one copy of each group");
	if (name && flavor)
		reading_note(r, "the network is %s %s (write --model, for example llama3-8b)",
			     reading_quote(r, name->value), reading_quote(r, flavor->value));
	write_stack(p);
	reading_line(r, "\texchange = \"nccl-2.18\"; # assumed\n};\nplan = {");
	for (size_t i = 0; i < p->plan.count; i++)
		reading_line(r, "%s", p->plan.items[i]);
	reading_line(r, "};");
}

static bool names_any(const struct settings *settings, const char *const *words)
{
	for (size_t i = 0; i < settings->items.count; i++)
		for (const char *const *word = words; *word; word++)
			if (strstr(settings->items.items[i].path, *word))
				return true;
	return false;
}

static bool read_plan(struct arena *arena, struct diag *diag, const char *const *paths,
		      size_t count, struct imported *imported)
{
	struct reading *reading = ARENA_NEW(arena, struct reading);
	*reading =
		(struct reading){.arena = arena, .diag = diag, .paths = paths, .path_count = count};
	struct settings settings = {.reading = reading};
	struct plan_reader p = {.settings = &settings, .reading = reading};
	settings_read(&settings);
	if (diag_count(diag))
		return false;
	static const char *const megatron[] = {
		"tensor_model_parallel_size", "pipeline_model_parallel_size", "megatron_lm_", NULL};
	static const char *const titan[] = {"tensor_parallel_degree", "data_parallel_shard_degree",
					    NULL};
	p.megatron = names_any(&settings, megatron);
	p.titan = names_any(&settings, titan);
	refuse_missing(&p);
	read_groups(&p);
	read_chunks(&p);
	read_batch(&p);
	read_sharding(&p);
	read_recomputation(&p);
	if (p.plan.count == 0 && p.assumed && diag_count(diag) == 0)
		diag_error(
			diag, (struct origin){paths[0], 0},
			"no key of a plan was found (name the configuration of the training, for "
			"example with tensor_model_parallel_size)");
	read_gradients(&p);
	if (diag_count(diag))
		return false;
	write_case(&p);
	settings_account(&settings, FIELD_TYPE, FIELD_ATTENTION_DROPOUT, "model");
	return reading_done(reading, "settings", imported);
}

const struct importer import_plan = {
	.name = "plan",
	.help = "plan of Megatron-LM's arguments, NeMo, GPT-NeoX, DeepSpeed, TorchTitan, "
		"Hugging Face Trainer or Accelerate",
	.files = read_plan,
};
