/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/readers.h"
#include "sim/traces/call_file.h"
#include "sim/traces/functions.h"
#include "sim/engine/names.h"

/* Larger correlations (32 bits in CUPTI) are ignored; larger sizes are refused. */
static const double CORRELATION_MAX = 0x1p53, SIZE_MAX_B = 1e15;
/* Longest duration (30 years), and the last start that allows it without overflow. */
static const int64_t LASTS_MAX_NS = INT64_C(1000000000000000000),
		     START_MAX_NS = INT64_MAX - LASTS_MAX_NS;
/* Streams of different GPUs can have the same number in a trace. Stream s of GPU d is stream
 * d * STREAMS_OF_A_DEVICE + s here. */
enum { STREAMS_OF_A_DEVICE = 1 << 20, DEVICES_MAX = 1 << 10 };

/* The used values of one event of the trace. */
struct kineto_event {
	enum category category;
	bool complete; /* ph is X: the event has a duration */
	bool of_gpu;   /* the event's category begins with gpu */
	const char *name;
	int64_t start_ns, lasts_ns;
	uint32_t thread;
	double correlation, stream, device, size_B;
	/* A wait has the correlation of the call that recorded the awaited event, and its stream.
	 */
	double awaited, recorded_on;
	struct collective_record record;
};

struct kineto {
	struct diag *diag;
	const char *path;
	const struct profile_watch *watch;
	struct jp_reader *json;
	struct names *names, *threads, *steps;
	struct profile p;
	bool failed;
};

static bool fail(struct kineto *k, const char *what)
{
	if (!k->failed)
		diag_error(k->diag, (struct origin){k->path, k->json->line}, "%s", what);
	k->failed = true;
	return false;
}

/* ---- one event ---- */

/* Converts a text in microseconds to nanoseconds. Times of today with decimals have more digits
 * than a double. */
static int64_t ns_of(const struct json *json)
{
	int64_t ns = 0;
	int decimals = -1;
	for (const char *c = json->text; *c; c++) {
		if (*c == '.') {
			decimals = 0;
		} else if (*c < '0' || *c > '9' || ns > INT64_MAX / 10 - 1) {
			double rough = json->number * 1e3;
			return rough >= 0 && rough < 9e18 ? (int64_t)rough : -1;
		} else if (decimals < 3) {
			ns = 10 * ns + (*c - '0');
			decimals += decimals >= 0;
		}
	}
	for (decimals = decimals < 0 ? 0 : decimals; decimals < 3 && ns >= 0; decimals++)
		ns = ns <= INT64_MAX / 10 ? 10 * ns : -1;
	return ns;
}

static enum category category_of(const char *text)
{
	static const struct {
		const char *name;
		enum category category;
	} rows[] = {
		{"cuda_runtime", CATEGORY_CALL}, {"cuda_driver", CATEGORY_CALL},
		{"Runtime", CATEGORY_CALL},      {"kernel", CATEGORY_KERNEL},
		{"Kernel", CATEGORY_KERNEL},     {"gpu_memcpy", CATEGORY_COPY},
		{"Memcpy", CATEGORY_COPY},       {"gpu_memset", CATEGORY_MEMSET},
		{"Memset", CATEGORY_MEMSET},     {"cuda_sync", CATEGORY_SYNC},
		{"cuda_event", CATEGORY_EVENT},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(rows[i].name, text) == 0)
			return rows[i].category;
	return CATEGORY_OTHER;
}

/* Takes a number, or a text that contains a number. Ignores all other values. */
static void take_number(const struct json *value, double *number)
{
	double read = value->kind == JP_NUMBER ? value->number
		      : value->kind == JP_TEXT ? strtod(value->text, NULL)
					       : -1;
	if (read >= 0)
		*number = read;
}

static void take_argument(struct kineto_event *event, const struct json *value)
{
	const struct {
		const char *key;
		double *number;
	} numbers[] = {
		{"correlation", &event->correlation},
		{"stream", &event->stream},
		{"device", &event->device},
		{"bytes", &event->size_B},
		{"wait_on_cuda_event_record_corr_id", &event->awaited},
		{"wait_on_stream", &event->recorded_on},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (strcmp(numbers[i].key, value->key) == 0) {
			take_number(value, numbers[i].number);
			return;
		}
	collective_record_take(&event->record, value);
}

/* Takes a member of an event. Its name is valid only while the event is read. */
static void take_member(struct kineto *k, struct kineto_event *event, const struct json *value)
{
	const char *key = value->key, *text = json_text_of(value);
	if (value->kind == JP_NUMBER && strcmp(key, "ts") == 0)
		event->start_ns = ns_of(value);
	else if (value->kind == JP_NUMBER && strcmp(key, "dur") == 0)
		event->lasts_ns = ns_of(value);
	else if (value->text && strcmp(key, "tid") == 0)
		event->thread = (uint32_t)names_add(k->threads, value->text);
	else if (text && strcmp(key, "name") == 0)
		event->name = text;
	else if (text && strcmp(key, "ph") == 0)
		event->complete = strcmp(text, "X") == 0;
	else if (text && strcmp(key, "cat") == 0) {
		event->category = category_of(text);
		event->of_gpu = strncmp(text, "gpu", 3) == 0;
	} else if (value->kind == JP_OBJECT && strcmp(key, "args") == 0)
		for (size_t i = 0; i < value->count; i++)
			take_argument(event, &value->items[i]);
}

/* ---- keeping events ---- */

static int64_t correlation_of(double number)
{
	return number >= 0 && number <= CORRELATION_MAX ? (int64_t)number : -1;
}

/* Keeps the first mark of a step. Further threads can mark the same step. */
static void keep_mark(struct kineto *k, const struct kineto_event *event)
{
	static const char prefix[] = "ProfilerStep#";
	uint32_t step = (uint32_t)strtoul(event->name + sizeof prefix - 1, NULL, 10);
	bool known = (size_t)names_add(k->steps, event->name) < k->p.marks.count;
	if (known)
		return;
	*VEC_PUSH(k->p.arena, &k->p.marks) = (struct profile_mark){
		event->start_ns, event->start_ns + event->lasts_ns, step, event->thread};
}

static void keep_call(struct kineto *k, const struct kineto_event *event)
{
	*VEC_PUSH(k->p.arena, &k->p.calls) = (struct profile_call){
		.call = {.gpu_start_s = -1,
			 .gpu_s = -1,
			 .function = event->name,
			 .stream = -1,
			 .event = -1,
			 .thread = event->thread},
		.start_ns = event->start_ns,
		.lasts_ns = event->lasts_ns,
		.correlation = correlation_of(event->correlation),
	};
}

static int64_t stream_of(const struct kineto_event *event, double number)
{
	int64_t stream = number >= 0 && number < STREAMS_OF_A_DEVICE ? (int64_t)number : -1;
	if (stream >= 0 && event->device > 0 && event->device < DEVICES_MAX)
		stream += (int64_t)event->device * STREAMS_OF_A_DEVICE;
	return stream;
}

static size_t keep_record(struct kineto *k, const struct kineto_event *event)
{
	*VEC_PUSH(k->p.arena, &k->p.records) = event->record;
	return k->p.records.count - 1;
}

static void keep_work(struct kineto *k, const struct kineto_event *event)
{
	*VEC_PUSH(k->p.arena, &k->p.works) = (struct profile_work){
		.correlation = correlation_of(event->correlation),
		.start_ns = event->start_ns,
		.lasts_ns = event->lasts_ns,
		.stream = stream_of(event, event->stream),
		.awaited = correlation_of(event->awaited),
		.recorded_on = stream_of(event, event->recorded_on),
		.size_B = event->size_B > 0 ? floor(event->size_B) : 0,
		.label = event->name,
		.category = event->category,
		.record = event->record.function ? keep_record(k, event) + 1 : 0,
	};
}

static void keep_span(struct kineto *k, const struct kineto_event *event)
{
	*VEC_PUSH(k->p.arena, &k->p.spans) =
		(struct profile_span){event->start_ns, event->start_ns + event->lasts_ns,
				      event->thread, keep_record(k, event)};
}

static bool take_event(struct kineto *k, const struct json *value)
{
	struct kineto_event event = {.name = "",
				     .record = collective_record_new(),
				     .category = CATEGORY_OTHER,
				     .start_ns = -1,
				     .correlation = -1,
				     .stream = -1,
				     .awaited = -1,
				     .recorded_on = -1};
	if (value->kind != JP_OBJECT)
		return fail(k,
			    "each element of traceEvents must be a JSON object (export the trace "
			    "again)");
	if (arena_used_B(k->p.arena) > RECORDED_MEMORY_MAX_B)
		return fail(k, RECORDED_TOO_LARGE);
	if (k->p.counts.events++ % 65536 == 65535 && k->watch)
		k->watch->tell(k->watch->ctx, 0, k->json->read_B / 1000000,
			       k->watch->size_B / 1000000);
	for (size_t i = 0; i < value->count; i++)
		take_member(k, &event, &value->items[i]);
	bool mark = strncmp(event.name, "ProfilerStep#", 13) == 0 && !event.of_gpu;
	if (strncmp(event.name, "nccl:", 5) == 0 && !event.record.function)
		event.record.function = collective_function(event.name);
	bool span = event.category == CATEGORY_OTHER && event.record.function && !event.of_gpu;
	if (!event.complete || (event.category == CATEGORY_OTHER && !mark && !span))
		return true;
	if (event.start_ns < 0 || event.lasts_ns < 0)
		return fail(k, "an event has no ts, or a negative one (export the trace again)");
	if (event.start_ns > START_MAX_NS || event.lasts_ns > LASTS_MAX_NS)
		return fail(k, "the ts or dur of an event is too large (export the trace again)");
	if (event.size_B > SIZE_MAX_B)
		return fail(k,
			    "the number of bytes of a copy is too large (export the trace again)");
	event.name = names_at(k->names, (size_t)names_add(k->names, event.name));
	if (mark)
		keep_mark(k, &event);
	else if (span)
		keep_span(k, &event);
	else if (event.category == CATEGORY_CALL && function_is_cuda(event.name))
		keep_call(k, &event);
	else if (event.category != CATEGORY_CALL)
		keep_work(k, &event);
	return true;
}

/* ---- the file ---- */

/* Reads the elements of an array that has begun. */
static bool take_events(struct kineto *k)
{
	bool fine = true, more = true;
	while (fine && more) {
		struct arena *scratch = arena_new();
		const struct json *event = json_next(scratch, k->json, JSON_MAX_B);
		more = event != NULL;
		fine = !event || take_event(k, event);
		arena_free(scratch);
	}
	return fine && !k->json->error;
}

/* Takes the name of the first GPU, or the rank and the number of ranks of the job. */
static bool take_part(struct kineto *k, bool devices)
{
	struct arena *scratch = arena_new();
	const struct json *part = json_next(scratch, k->json, JSON_MAX_B);
	for (size_t i = 0; devices && i < json_size(part) && !k->p.gpu[0]; i++) {
		const struct json *name = json_member(json_at(part, i), "name");
		if (json_text_of(name))
			k->p.gpu = arena_strdup(k->p.arena, name->text);
		else if (name)
			fail(k, "each name in deviceProperties must be a string (export the trace "
				"again)");
	}
	const struct json *rank = devices ? NULL : json_member(part, "rank"),
			  *world = devices ? NULL : json_member(part, "world_size");
	if (rank)
		take_number(rank, &k->p.rank);
	if (world)
		take_number(world, &k->p.world_count);
	arena_free(scratch);
	return !k->failed && !k->json->error;
}

static bool take_trace(struct kineto *k)
{
	enum jp_token token = jp_next(k->json);
	if (token == JP_ARRAY) /* Chrome's short form has only the events */
		return take_events(k);
	if (token != JP_OBJECT)
		return token != JP_ERROR &&
		       fail(k, "the file is not a trace, because it is neither a JSON object nor "
			       "an array (write it with prof.export_chrome_trace)");
	for (token = jp_next(k->json); token == JP_KEY; token = jp_next(k->json)) {
		bool fine;
		if (strcmp(k->json->text, "traceEvents") == 0)
			fine = jp_next(k->json) == JP_ARRAY
				       ? take_events(k)
				       : fail(k, "traceEvents must be an array (export the trace "
						 "again)");
		else if (strcmp(k->json->text, "deviceProperties") == 0)
			fine = take_part(k, true);
		else if (strcmp(k->json->text, "distributedInfo") == 0)
			fine = take_part(k, false);
		else
			fine = jp_skip(k->json);
		if (!fine)
			return false;
	}
	return token == JP_OBJECT_END;
}

const struct recorded_calls *kineto_read(struct arena *arena, struct diag *diag, FILE *in,
					 const char *path, const struct profile_watch *watch,
					 struct profile_counts *counts)
{
	struct kineto k = {.diag = diag,
			   .path = path,
			   .watch = watch,
			   .p = {.arena = arena, .tool = "kineto", .gpu = "", .rank = -1}};
	k.json = jp_open(arena, in);
	k.json->keeps_twins = true;
	k.names = names_new(arena);
	k.threads = names_new(arena);
	k.steps = names_new(arena);
	bool whole = take_trace(&k) && jp_next(k.json) == JP_END;
	if (k.json->error)
		fail(&k, arena_printf(arena, "the file is not JSON: %s (export the trace again)",
				      k.json->error));
	else if (!whole)
		fail(&k, "the file is not a trace of PyTorch's profiler (write it with "
			 "prof.export_chrome_trace)");
	else if (k.p.calls.count == 0)
		fail(&k, "the trace contains no CUDA call (profile with ProfilerActivity.CPU and "
			 ".CUDA)");
	else if (k.p.works.count == 0)
		fail(&k,
		     "the trace contains no work of the GPU (profile with ProfilerActivity.CUDA)");
	else if (names_count(k.threads) > RECORDED_THREADS_MAX)
		fail(&k, arena_printf(arena,
				      "the trace has more than %d threads (profile fewer of them)",
				      RECORDED_THREADS_MAX));
	const struct recorded_calls *recorded = k.failed ? NULL : profile_join(&k.p);
	*counts = k.p.counts;
	return recorded;
}
