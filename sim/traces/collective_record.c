/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/collective_record.h"

static const double SIZE_MAX_B = 1e15;

struct collective_record collective_record_new(void)
{
	return (struct collective_record){.in_count = -1,
					  .out_count = -1,
					  .first = -1,
					  .stride = -1,
					  .peer = -1,
					  .shapes_B = -1};
}

const char *collective_function(const char *name)
{
	static const struct {
		const char *begin, *function;
	} rows[] = {
		{"allreduce", "ncclAllReduce"},
		{"allgather", "ncclAllGather"},
		{"reducescatter", "ncclReduceScatter"},
		{"alltoall", "ncclAlltoAll"},
		{"broadcast", "ncclBroadcast"},
		{"send", "ncclSend"},
		{"recv", "ncclRecv"},
	};
	char word[32];
	size_t length = 0;
	if (strncmp(name, "nccl:", 5) == 0)
		name += 5;
	for (; *name && length < sizeof word - 1; name++)
		if (*name != '_' && *name != ' ')
			word[length++] = (char)tolower((unsigned char)*name);
	word[length] = '\0';
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strncmp(word, rows[i].begin, strlen(rows[i].begin)) == 0)
			return rows[i].function;
	return NULL;
}

/* Returns the size of an element of a type of PyTorch, or 0. */
static double element_of(const char *type)
{
	static const struct {
		const char *names;
		double size_B;
	} rows[] = {
		{" Double double Long long int64 ComplexFloat ", 8},
		{" Float float Int int int32 ", 4},
		{" Half BFloat16 Short short c10::Half c10::BFloat16 half bfloat16 ", 2},
		{" Byte Char Bool bool char uint8 int8 Float8_e4m3fn Float8_e5m2 ", 1},
	};
	size_t length = strcspn(type, " ");
	if (strcmp(type, "long int") == 0)
		return 8;
	if (strcmp(type, "unsigned char") == 0 || strcmp(type, "signed char") == 0)
		return 1;
	for (size_t i = 0; length > 0 && i < sizeof rows / sizeof rows[0]; i++)
		for (const char *at = rows[i].names; (at = strstr(at, type)) != NULL; at++)
			if (at[-1] == ' ' && at[length] == ' ')
				return rows[i].size_B;
	return 0;
}

/* Reads ranks such as "[0, 8, 16]". A list that is cut off ("[0, 1, ...]") is ignored. */
static void take_ranks(struct collective_record *record, const char *text)
{
	unsigned long first = 0, stride = 1, last = 0, count = 0;
	for (text += strspn(text, "[ "); isdigit((unsigned char)*text);
	     text += strspn(text, ", ")) {
		char *end;
		unsigned long rank = strtoul(text, &end, 10);
		if (count == 0)
			first = rank;
		else if (count == 1)
			stride = rank - last;
		record->uneven |= count > 0 && (rank <= last || rank - last != stride);
		last = rank;
		count++;
		text = end;
	}
	if (count == 0 || *text != ']')
		return;
	record->first = (double)first;
	record->stride = (double)stride;
	record->group_count = (double)count;
}

/* Adds up the elements of tensors with shapes such as [[394241]] or [[[2, 3], [4]]]. */
static double elements_of(const struct json *shapes)
{
	double sum = 0, shape = -1;
	for (size_t i = 0; i < json_size(shapes); i++) {
		const struct json *item = json_at(shapes, i);
		if (item->kind == JP_NUMBER) {
			shape = fabs(shape) * item->number;
		} else if (item->kind == JP_ARRAY) {
			sum += elements_of(item);
			shape = -1;
		}
	}
	return sum + (shape > 0 ? shape : 0);
}

/* Takes the type of the first tensor from ["float", "Scalar"]. */
static void take_types(struct collective_record *record, const struct json *types)
{
	if (json_text_of(types) && !(record->element_B > 0))
		record->element_B = element_of(types->text);
	for (size_t i = 0; i < json_size(types); i++)
		take_types(record, json_at(types, i));
}

void collective_record_take(struct collective_record *record, const struct json *argument)
{
	const struct {
		const char *key;
		double *number;
	} numbers[] = {
		{"In msg nelems", &record->in_count},
		{"Out msg nelems", &record->out_count},
		{"Group size", &record->group_count},
		{"Global rank start", &record->first},
		{"Global rank stride", &record->stride},
		{"Dst Rank", &record->peer},
		{"Src Rank", &record->peer},
	};
	const char *key = argument->key, *text = json_text_of(argument);
	if (text && strcmp(key, "Collective name") == 0)
		record->function = collective_function(text);
	else if (text && strcmp(key, "dtype") == 0)
		record->element_B = element_of(text);
	else if (text && strcmp(key, "Process Group Ranks") == 0)
		take_ranks(record, text);
	else if (strcmp(key, "Input Dims") == 0)
		record->shapes_B = elements_of(argument);
	else if (strcmp(key, "Input type") == 0)
		take_types(record, argument);
	for (size_t i = 0; argument->kind == JP_NUMBER && i < sizeof numbers / sizeof numbers[0];
	     i++)
		if (strcmp(numbers[i].key, key) == 0 && argument->number >= 0 &&
		    argument->number <= SIZE_MAX_B)
			*numbers[i].number = argument->number;
}

static bool is(const struct collective_record *record, const char *function)
{
	return strcmp(record->function, function) == 0;
}

/* Returns the bytes of the larger buffer, or 0. */
static double size_of(const struct collective_record *record, double group_count)
{
	double elements = fmax(record->in_count, record->out_count);
	if (elements < 0 && is(record, "ncclAllGather"))
		elements = record->shapes_B * group_count; /* shapes are those of the input */
	else if (elements < 0)
		elements = record->shapes_B;
	double size_B = floor(elements * record->element_B);
	return size_B > 0 && size_B <= SIZE_MAX_B ? size_B : 0;
}

bool collective_record_apply(const struct collective_record *record, uint32_t world_count,
			     struct recorded_call *call)
{
	double count = record->group_count > 0 ? record->group_count : world_count;
	bool listed = record->first >= 0 && record->stride >= 1 && record->group_count > 0;
	if (record->uneven)
		return false;
	double size_B = size_of(record, count);
	bool message = is(record, "ncclSend") || is(record, "ncclRecv");
	if (!(size_B > 0) || (message && (record->peer < 0 || !listed)))
		return false;
	if (listed ? record->first + count * record->stride > RECORDED_RANKS_MAX
		   : count < world_count || count > world_count)
		return false;
	call->function = record->function;
	call->size_B = size_B;
	if (listed)
		call->group = (struct recorded_group){(uint32_t)record->first, (uint32_t)count,
						      (uint32_t)record->stride};
	if (message)
		call->peer = (uint32_t)fmin(record->first + record->peer * record->stride,
					    RECORDED_RANKS_MAX - 1);
	return true;
}
