/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/collective_record.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Reads the shapes of the input tensors, [[394241]] or [[[2, 3], [4]]], and adds up their elements.
 */
static bool take_shapes(struct collective_record *record, struct jp_reader *json)
{
	unsigned depth = json->depth;
	double elements = 0, shape = -1;
	do {
		switch (jp_next(json)) {
		case JP_ARRAY:
			shape = -1;
			break;
		case JP_NUMBER:
			shape = fabs(shape) * json->number;
			break;
		case JP_ARRAY_END:
			elements += shape > 0 ? shape : 0;
			shape = -1;
			break;
		case JP_ERROR:
			return false;
		default:
			break;
		}
	} while (json->depth > depth);
	record->shapes_B = elements;
	return true;
}

/* Takes the type of the first tensor from ["float", "Scalar"]. */
static bool take_types(struct collective_record *record, struct jp_reader *json)
{
	unsigned depth = json->depth;
	do {
		enum jp_token token = jp_next(json);
		if (token == JP_ERROR)
			return false;
		if (token == JP_TEXT && !(record->element_B > 0))
			record->element_B = element_of(json->text);
	} while (json->depth > depth);
	return true;
}

static bool take_text(struct collective_record *record, struct jp_reader *json, const char *key)
{
	char which = key[0];
	enum jp_token token = jp_next(json);
	if (token == JP_OBJECT || token == JP_ARRAY)
		return jp_leave(json);
	if (token == JP_TEXT && which == 'C')
		record->function = collective_function(json->text);
	else if (token == JP_TEXT && which == 'd')
		record->element_B = element_of(json->text);
	else if (token == JP_TEXT)
		take_ranks(record, json->text);
	return token != JP_ERROR;
}

bool collective_record_take(struct collective_record *record, struct jp_reader *json, bool *known)
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
	static const char *const texts[] = {"Collective name", "dtype", "Process Group Ranks"};
	*known = true;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (strcmp(texts[i], json->text) == 0)
			return take_text(record, json, texts[i]);
	if (strcmp(json->text, "Input Dims") == 0)
		return take_shapes(record, json);
	if (strcmp(json->text, "Input type") == 0)
		return take_types(record, json);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (strcmp(numbers[i].key, json->text) == 0) {
			enum jp_token token = jp_next(json);
			if (token == JP_OBJECT || token == JP_ARRAY)
				return jp_leave(json);
			if (token == JP_NUMBER && json->number >= 0 && json->number <= SIZE_MAX_B)
				*numbers[i].number = json->number;
			return token != JP_ERROR;
		}
	*known = false;
	return true;
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
	if (!record->function || record->uneven)
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
