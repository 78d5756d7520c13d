/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/cfg/cfg.h"
#include "sim/result/write.h"

static const struct estimate not_available = {NAN, NAN, NAN};

static void put_estimate(struct json_writer *json, const char *key, struct estimate estimate,
			 const char *unit)
{
	jw_open_flat(json, key, '{');
	jw_real(json, "value", estimate.value);
	jw_real(json, "low", estimate.low);
	jw_real(json, "high", estimate.high);
	jw_text(json, "unit", unit);
	jw_close(json);
}

/* The four numbers that a prediction and each of its clients have. */
static void put_numbers(struct json_writer *json, bool ok, const char *unit,
			struct estimate throughput, struct estimate step_s, struct estimate ratio,
			struct estimate utilization)
{
	put_estimate(json, "throughput", ok ? throughput : not_available, unit);
	put_estimate(json, "step", ok ? step_s : not_available, "s");
	put_estimate(json, "ratio", ok ? ratio : not_available, "");
	put_estimate(json, "gpu_utilization", ok ? utilization : not_available, "");
}

static void put_origin(struct json_writer *json, const struct cfg_param *param)
{
	struct arena *scratch = arena_new();
	const char *text = param->origin.file;
	if (param->source == CFG_SOURCE_DRAW)
		text = "draw";
	else if (!text)
		text = param->source == CFG_SOURCE_SET ? "--set" : "default";
	else if (param->origin.line > 0)
		text = arena_printf(scratch, "%s:%d", text, param->origin.line);
	jw_text(json, "origin", text);
	arena_free(scratch);
}

static void put_parameter(struct json_writer *json, const struct cfg_param *param)
{
	jw_open_flat(json, NULL, '{');
	jw_text(json, "key", param->path);
	switch (param->row->kind) {
	case PARAM_KIND_BOOL:
		jw_flag(json, "value", param->value != 0);
		break;
	case PARAM_KIND_TEXT:
	case PARAM_KIND_CHOICE:
		jw_text(json, "value", param->text);
		break;
	case PARAM_KIND_NUMBER:
		jw_real(json, "value", param->value);
		break;
	}
	bool number = param->row->kind == PARAM_KIND_NUMBER;
	jw_text(json, "unit", number ? quantity_unit(param->row->quantity) : NULL);
	put_origin(json, param);
	if (number) {
		jw_real(json, "low", param->low);
		jw_real(json, "high", param->high);
		jw_text(json, "prior", param->prior ? prior_name(param->prior) : NULL);
	}
	jw_text(json, "status", param->status);
	jw_text(json, "note", param->note);
	jw_close(json);
}

void resolution_json(struct json_writer *json, const char *key,
		     const struct cfg_resolution *resolution)
{
	jw_open(json, key, '[');
	size_t count = resolution ? cfg_param_count(resolution) : 0;
	for (size_t i = 0; i < count; i++)
		put_parameter(json, cfg_param_at(resolution, i));
	jw_close(json);
}

static void put_count(struct json_writer *json, const char *key, bool ok, uint64_t count)
{
	if (ok)
		jw_count(json, key, count);
	else
		jw_null(json, key);
}

static void put_clients(struct json_writer *json, const struct prediction *prediction)
{
	jw_open(json, "clients", '[');
	for (size_t i = 0; i < prediction->client_count; i++) {
		const struct client_prediction *client = &prediction->clients[i];
		jw_open(json, NULL, '{');
		jw_text(json, "client", client->name);
		jw_text(json, "gpu", client->gpu);
		jw_text(json, "verdict", client->ok ? "ok" : "fail");
		jw_text(json, "reason", client->ok ? NULL : client->reason);
		put_numbers(json, client->ok, "images/s", client->throughput, client->step_s,
			    client->ratio, client->gpu_utilization);
		jw_close(json);
	}
	jw_close(json);
}

static void put_links(struct json_writer *json, const struct prediction *prediction)
{
	jw_open(json, "links", '[');
	for (size_t i = 0; i < prediction->link_count; i++) {
		const struct link_prediction *link = &prediction->links[i];
		jw_open_flat(json, NULL, '{');
		jw_text(json, "link", link->name);
		jw_real(json, "utilization", prediction->ok ? link->utilization : NAN);
		jw_real(json, "carried_B", prediction->ok ? link->carried_B : NAN);
		jw_close(json);
	}
	jw_close(json);
}

/* What only jobs have: null of anything else. */
static void put_job(struct json_writer *json, const struct prediction *prediction)
{
	bool job = prediction->gpu_count > 0, ok = job && prediction->ok;
	put_count(json, "gpus", job, prediction->gpu_count);
	put_estimate(json, "speedup", ok ? prediction->speedup : not_available, "");
	put_estimate(json, "training", ok ? prediction->training_s : not_available, "s");
	jw_real(json, "communication",
		ok && prediction->communication_s > 0 ? prediction->communication_s : NAN);
	jw_text(json, "collective", prediction->collective);
	jw_text(json, "choice", prediction->choice);
}

void prediction_json(struct json_writer *json, const struct prediction *prediction)
{
	bool ok = prediction->ok;
	jw_open(json, NULL, '{');
	jw_text(json, "case", prediction->name);
	jw_text(json, "verdict", ok ? "ok" : "fail");
	jw_text(json, "reason", ok ? NULL : prediction->reason);
	put_numbers(json, ok, prediction->collective ? "B/s" : "images/s", prediction->throughput,
		    prediction->step_s, prediction->ratio, prediction->gpu_utilization);
	jw_open_flat(json, "breakdown", '{');
	for (size_t i = 0; i < prediction->breakdown_count; i++)
		jw_real(json, prediction->breakdown[i].name,
			ok ? prediction->breakdown[i].seconds : NAN);
	jw_close(json);
	jw_text(json, "bottleneck", prediction->bottleneck);
	jw_count(json, "events", prediction->events_count);
	resolution_json(json, "parameters", prediction->resolution);
	jw_count(json, "seed", prediction->seed);
	jw_text(json, "version", FARWIRE_VERSION);
	jw_count(json, "draws", prediction->draws_count);
	jw_count(json, "failed_draws", prediction->failed_draws_count);
	put_count(json, "calls", ok, prediction->calls_count);
	put_count(json, "polls", ok, prediction->polls_count);
	jw_real(json, "retransmission_timeouts", ok ? prediction->retransmission_timeouts : NAN);
	jw_real(json, "connect", ok ? prediction->connect_s : NAN);
	jw_text(json, "transport", prediction->transport);
	put_job(json, prediction);
	put_clients(json, prediction);
	put_links(json, prediction);
	jw_close(json);
}
