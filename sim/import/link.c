/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derives the parameters of a link from logs that its users have: goodput of TCP in one or both
 * directions, round trips, RDMA. docs/import.md describes the rules.
 *
 * - The goodput and the headers give the rate on the wire. If it is that of a standard, the link
 * has that rate, and its loss stays unknown. Otherwise loss, the window or something else limits
 * it.
 * - A loss is that at which farwire's own TCP (tcp_loss_rate) has the measured goodput.
 * - A one-way latency is half a round trip without the work of both ends that farwire adds itself.
 */
#include "sim/cfg/cfg.h"
#include "sim/host/host.h"
#include "sim/import/importer.h"
#include "sim/import/reading.h"
#include "sim/result/result.h"
#include "sim/transport/rdma.h"
#include "sim/transport/tcp.h"

static const double TCP_MTU_B = 1500, ETHERNET_B = 38, RDMA_MTU_B = 4096, IB_B = 26, ROCE_B = 82;
/* A rate belongs to a standard up to so much below it, and above it: tbf and rounding. */
static const double BELOW_RATIO = 0.05, ABOVE_RATIO = 0.02;
/* The same if both directions ran at once, because they share the cores and acknowledgements. */
static const double BOTH_RATIO = 0.25;
/* Round trip between two machines of a room, if no log has one, and its range. */
static const double RTT_S = 250e-6, RTT_LOW_S = 100e-6, RTT_HIGH_S = 1e-3;
/* tcp_loss_rate is up to 1.7 times too fast (docs/models/tcp.md). */
static const double LAW_FAST = 1.7, LAW_SLOW = 1.2;
/* Fewer retransmissions than this part of a loss cannot be the cause of a goodput. */
static const double CAUSE_RATIO = 0.33;
/* The 95 % point of the prior of an Ethernet link's loss. */
static const double TINY_LOSS = 2e-5;

static const double standards_bit[] = {100e6, 1e9,    2.5e9, 5e9,   10e9,  25e9, 40e9,
				       50e9,  54.5e9, 100e9, 200e9, 400e9, 800e9};
enum { STANDARDS = sizeof standards_bit / sizeof standards_bit[0] };

enum limit { LIMIT_UNKNOWN, LIMIT_LINE, LIMIT_LOSS, LIMIT_WINDOW, LIMIT_OTHER };

struct link_way {                /* one direction */
	VEC(double) samples;     /* B/s */
	struct estimate goodput; /* B/s; 0: not measured */
	double wire_bit, standard_bit;
	double log_count, streams; /* number of its logs, and the mean of their streams */
	double retransmits_count, moved_count; /* packets of the logs that count both */
	struct estimate loss;
	enum limit limit;
	bool both; /* measured together with the other direction */
	const char *files;
};

struct link_fit {
	struct importing *importing;
	struct reading *reading; /* of the file to write */
	struct guest_params guest;
	struct tcp_params tcp;
	struct rdma_params rdma;
	struct link_way ways[2];
	struct estimate latency, rtt; /* s */
	bool rtt_known;
	bool queued;                  /* the round trip is that of a transfer */
	const char *how, *round_trip; /* where the latency comes from: a sentence, a file */
	double mtu_B;                 /* 0: not stated */
	double payload, wire;         /* bytes of a packet */
	size_t row;                   /* index of the line with the last parameter; 0: none */
};

static double within(double x, double low, double high)
{
	return fmin(fmax(x, low), high);
}

/* A file's name as it can stand between quotes. */
static const char *name_of(struct link_fit *f, const char *path)
{
	char *name = arena_strdup(f->importing->arena, reading_quote(f->reading, path));
	for (char *c = name; *c; c++)
		if (*c == '"' || *c == '\\')
			*c = '?';
	return name;
}

static void presets(struct link_fit *f, const struct param_table *table, void *params)
{
	struct arena *arena = f->importing->arena;
	cfg_params(cfg_resolution_new(arena), arena, f->importing->diag, NULL, table->name,
		   table->name, table, NULL, 0, params);
}

/* ---- latency ---- */

/* Sets the latency from a round trip with the work of both ends in each direction. */
static void set_latency(struct link_fit *f, double least_s, double middle_s, bool use_middle,
			double work_s)
{
	double unsure = prior_factor(PRIOR_ASSUMED), best_s = use_middle ? middle_s : least_s;
	f->latency.value = fmax(best_s / 2 - work_s, 0);
	f->latency.low = fmax(fmin(least_s, best_s) / 2 - work_s * unsure, 0);
	f->latency.high = fmax(middle_s / 2 - work_s / unsure, f->latency.value);
	if (f->latency.high <= 1e-6) /* the resolution of the tools: an interval of 0 would be
					certain */
		f->latency.high = fmax(1e-6, f->latency.value);
}

/* The tools by how near they are to the wire. */
struct round_trip_tool {
	const char *words, *what, *work;
	bool middle; /* the median is free of queueing, too */
};
static const struct round_trip_tool sources[] = {
	{"what=latency ", "RDMA", "post and completion", true},
	{"what=roundtrip ", "sockets", "send, receive and thread_wake", true},
	{"what=ping", "ping (kernels only)", "send and receive", false},
	{"what=stream ", "TCP's smallest round trip", "receive", false},
};
enum { SOURCES = sizeof sources / sizeof sources[0] };

static double work_of(const struct link_fit *f, size_t source)
{
	const double works[SOURCES] = {f->rdma.post_s + f->rdma.completion_s,
				       f->guest.send_s + f->guest.receive_s +
					       f->guest.thread_wake_s,
				       f->guest.send_s + f->guest.receive_s, f->guest.receive_s};
	return works[source];
}

/* Returns the smallest round trip of a point and its median; 0: it has none. */
static double least_of(const struct import_point *point, size_t source, double *middle_s)
{
	if (source == SOURCES - 1)
		return *middle_s = point->link.rtt_s;
	if (point->samples.count == 0 ||
	    strncmp(point->words, sources[source].words, strlen(sources[source].words)) != 0)
		return 0;
	/* perftest prints halves, except for reads */
	double scale = source == 0 && !strstr(point->words, "verb=read") ? 2 : 1,
	       least_s = INFINITY;
	for (size_t i = 0; i < point->samples.count; i++)
		least_s = fmin(least_s, scale * point->samples.items[i]);
	*middle_s = point->link.middle_s > 0
			    ? point->link.middle_s
			    : scale * num_quantile(point->samples.items, point->samples.count, 0.5);
	return least_s;
}

static void find_latency(struct link_fit *f)
{
	struct importing *importing = f->importing;
	for (size_t s = 0; s < SOURCES && !f->rtt_known; s++)
		for (size_t i = 0; i < importing->points.count; i++) {
			const struct import_point *point = &importing->points.items[i];
			double middle_s = 0, least_s = least_of(point, s, &middle_s);
			if (!(least_s > 0) || (f->rtt_known && least_s / 2 >= f->latency.high))
				continue;
			f->rtt_known = true;
			f->queued = s == SOURCES - 1 && point->link.loaded;
			double seen_s = middle_s; /* under load, the minimum is the best bound */
			middle_s = point->link.loaded ? least_s : middle_s;
			set_latency(f, least_s, middle_s, sources[s].middle, work_of(f, s));
			f->round_trip = name_of(f, point->path);
			f->how = arena_printf(
				importing->arena,
				"%s: a round trip of %.4g us (median %.4g us)%s by %s; half of it, "
				"without %.3g us for %s in each direction, which farwire adds",
				f->round_trip, least_s * 1e6, seen_s * 1e6,
				point->link.loaded ? " under load" : "", sources[s].what,
				work_of(f, s) * 1e6, sources[s].work);
		}
	double unsure = prior_factor(PRIOR_ASSUMED), ends_s = 2 * f->guest.receive_s;
	f->rtt = (struct estimate){RTT_S, RTT_LOW_S, RTT_HIGH_S};
	if (f->rtt_known)
		f->rtt = (struct estimate){2 * f->latency.value + ends_s,
					   2 * f->latency.low + ends_s / unsure,
					   2 * f->latency.high + ends_s * unsure};
}

/* ---- goodput ---- */

static double standard_near(double bit, double below_ratio)
{
	for (size_t i = 0; i < STANDARDS; i++)
		if (bit > standards_bit[i] * (1 - below_ratio) &&
		    bit < standards_bit[i] * (1 + ABOVE_RATIO))
			return standards_bit[i];
	return 0;
}

static double standard_above(double bit)
{
	for (size_t i = 0; i < STANDARDS; i++)
		if (standards_bit[i] > bit)
			return standards_bit[i];
	return bit;
}

/* Returns the loss at which one stream of farwire's TCP has the goodput. */
static double loss_at(const struct link_fit *f, double goodput_Bps, double rtt_s)
{
	double low = log(1e-12), high = 0;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;
		if (tcp_loss_rate(f->payload, rtt_s, rtt_s + f->tcp.rto_min_s, exp(middle)) >
		    goodput_Bps)
			low = middle;
		else
			high = middle;
	}
	return exp(low);
}

static void add_stream(struct link_fit *f, const struct import_point *point)
{
	struct link_way *way = &f->ways[point->link.back];
	struct arena *arena = f->importing->arena;
	double value = point->link.total_Bps > 0
			       ? point->link.total_Bps
			       : num_quantile(point->samples.items, point->samples.count, 0.5);
	for (size_t i = 0; i < point->samples.count; i++)
		*VEC_PUSH(arena, &way->samples) = point->samples.items[i];
	const char *name = name_of(f, point->path);
	way->files = way->files ? arena_printf(arena, "%s, %s", way->files, name) : name;
	double streams = 1;
	for (size_t i = 0; i < IMPORT_NUMBERS && point->x[i].key; i++)
		if (strcmp(point->x[i].key, "streams") == 0)
			streams = point->x[i].value;
	way->log_count++;
	way->goodput.value += (value - way->goodput.value) / way->log_count;
	way->streams += (streams - way->streams) / way->log_count;
	way->both = way->both || point->link.both;
	if (point->link.counts && point->link.moved_B > 0) {
		way->retransmits_count += point->link.retransmits_count;
		way->moved_count += point->link.moved_B / f->payload;
	}
}

/* Decides what limited one direction, if the other one has reached `line_bit`. */
static void judge(struct link_fit *f, struct link_way *way, double line_bit, bool both)
{
	double stream_Bps = way->goodput.value / way->streams;
	double window_B = fmin(f->tcp.send_buffer_B, f->tcp.receive_buffer_B);
	double loss = loss_at(f, stream_Bps, f->rtt.value);
	double seen = way->moved_count > 0 ? way->retransmits_count / way->moved_count : -1;
	way->loss = (struct estimate){
		loss,
		fmin(loss, loss_at(f, way->goodput.high / way->streams * LAW_FAST, f->rtt.high)),
		fmax(loss, loss_at(f, way->goodput.low / way->streams / LAW_SLOW, f->rtt.low))};
	if (way->standard_bit > 0)
		way->limit = LIMIT_LINE;
	else if (f->rtt_known && window_B / f->rtt.value < LAW_SLOW * stream_Bps)
		way->limit = LIMIT_WINDOW;
	else if (seen >= 0)
		way->limit = seen >= CAUSE_RATIO * loss ? LIMIT_LOSS : LIMIT_OTHER;
	else
		way->limit = line_bit > way->wire_bit || !both ? LIMIT_LOSS : LIMIT_OTHER;
	if (way->limit == LIMIT_LOSS && seen > 0) {
		way->loss.low = fmin(way->loss.low, seen);
		way->loss.high = fmax(way->loss.high, seen);
	}
	/* At the line's rate, retransmissions follow from full queues. If there are few, they bound
	 * the loss. Otherwise the prior of the default stays. */
	double most = seen + 3 / way->moved_count; /* 95 % of Poisson's distribution */
	if (way->limit == LIMIT_LINE)
		way->loss = (struct estimate){0, 0, seen >= 0 && most < TINY_LOSS ? most : 0};
}

static void find_goodputs(struct link_fit *f)
{
	struct importing *importing = f->importing;
	for (size_t i = 0; i < importing->points.count; i++)
		f->mtu_B = fmax(f->mtu_B,
				strncmp(importing->points.items[i].words, "what=stream", 11) == 0
					? importing->points.items[i].link.mtu_B
					: 0);
	double mtu_B = f->mtu_B > 0 ? f->mtu_B : TCP_MTU_B;
	f->payload = fmax(mtu_B - TCP_HEADER_B, 1);
	f->wire = mtu_B + ETHERNET_B;
	for (size_t i = 0; i < importing->points.count; i++)
		if (strncmp(importing->points.items[i].words, "what=stream", 11) == 0)
			add_stream(f, &importing->points.items[i]);
	for (size_t i = 0; i < 2; i++) {
		struct link_way *way = &f->ways[i];
		if (way->samples.count == 0)
			continue;
		double *items = way->samples.items, value = way->goodput.value;
		way->goodput.low = fmin(value, num_quantile(items, way->samples.count, 0.05));
		way->goodput.high = fmax(value, num_quantile(items, way->samples.count, 0.95));
		way->wire_bit = value * 8 * f->wire / f->payload;
		way->standard_bit =
			standard_near(way->wire_bit, way->both ? BOTH_RATIO : BELOW_RATIO);
	}
	bool both = f->ways[0].samples.count && f->ways[1].samples.count;
	for (size_t i = 0; i < 2; i++)
		if (f->ways[i].samples.count)
			judge(f, &f->ways[i], f->ways[1 - i].standard_bit, both);
}

/* ---- the file ---- */

static void write_row(struct link_fit *f, const char *key, struct estimate span, const char *unit,
		      const char *origin, const char *files)
{
	struct arena *arena = f->importing->arena;
	const char *ends = "interval = 0;";
	if (!isfinite(span.value + span.low + span.high))
		diag_error(
			f->importing->diag, (struct origin){files, 0},
			"the %s is not a finite number (import the unchanged output of the tool)",
			key);
	if (span.low < span.high)
		ends = arena_printf(arena, "low = \"%s%s\"; high = \"%s%s\";",
				    number_format(arena, 6, span.low), unit,
				    number_format(arena, 6, span.high), unit);
	if (f->row) { /* the comma after the row before */
		const char **row = &f->reading->lines.items[f->row];
		*row = arena_printf(arena, "%s,", *row);
	}
	f->row = f->reading->lines.count;
	reading_line(f->reading,
		     "\t{ path = \"link.%s.%s\";\n\t  fit = { value = \"%s%s\"; %s\n"
		     "\t    origin = \"%s\"; note = \"%s\"; }; }",
		     f->importing->link, key, number_format(arena, 6, span.value), unit, ends,
		     origin, files);
}

/* Returns the line's rate in Gbit/s. A loss hides the rate of the line, so the standard above the
 * measured one is only assumed. */
static struct estimate rate_of(const struct link_way *way, const struct link_way *other)
{
	double line_bit = other->standard_bit;
	double bit = way->standard_bit > 0 ? way->standard_bit : way->wire_bit, low = bit,
	       high = bit;
	if (way->limit == LIMIT_LOSS || way->limit == LIMIT_WINDOW) {
		bit = line_bit > way->wire_bit
			      ? line_bit
			      : standard_above(fmax(way->wire_bit, other->wire_bit));
		low = line_bit > way->wire_bit ? bit : way->wire_bit;
		high = bit;
	} else if (way->limit == LIMIT_OTHER) {
		low = bit * way->goodput.low / way->goodput.value;
		high = bit * way->goodput.high / way->goodput.value;
	}
	return (struct estimate){bit / 1e9, low / 1e9, high / 1e9};
}

static void write_way(struct link_fit *f, bool back)
{
	static const char own_limit[] = "no standard's and not explained by losses, so a limit of "
					"its own (a virtual switch, a "
					"shaper, a host)";
	static const char *const whys[] = {
		"", "that of a standard, so its loss is not identified",
		"below the line's rate, so a loss at which farwire's TCP has this goodput",
		"the window over the round trip, so the line's rate is only assumed", own_limit};
	struct link_way *way = &f->ways[back], *other = &f->ways[!back];
	const char *prefix = back ? "reverse_" : "";
	if (way->samples.count == 0)
		return;
	reading_line(f->reading,
		     "\t# %s: %.5g Mb/s of payload x %g / %g B = %.5g Mb/s on the wire: %s%s",
		     way->files, way->goodput.value * 8 / 1e6, f->wire, f->payload,
		     way->wire_bit / 1e6, whys[way->limit],
		     way->limit != LIMIT_LOSS ? ""
		     : f->rtt_known           ? ""
				    : " (assumption: a round trip of 0.1 to 1 ms, because no "
				      "log has one)");
	struct estimate rate = rate_of(way, other);
	bool same =
		back && other->samples.count && fabs(rate_of(other, way).value - rate.value) < 1e-9;
	if (!same)
		write_row(f,
			  back && !other->samples.count ? "bandwidth"
			  : back                        ? "reverse_bandwidth"
							: "bandwidth",
			  rate, " Gbit/s",
			  rate.low < rate.high && way->limit != LIMIT_OTHER ? "assumption"
									    : "derived",
			  way->files);
	if (way->limit == LIMIT_LOSS || (way->limit == LIMIT_LINE && way->loss.high > 0))
		write_row(f, arena_printf(f->importing->arena, "%sloss", prefix), way->loss, "",
			  "derived", way->files);
}

/* RDMA measures the port, whichever direction it is. */
static void write_rdma(struct link_fit *f)
{
	const struct import_point *best = NULL;
	double most_Bps = 0;
	for (size_t i = 0; i < f->importing->points.count; i++) {
		const struct import_point *point = &f->importing->points.items[i];
		for (size_t k = 0; k < point->samples.count; k++)
			if (strncmp(point->words, "what=rate", 9) == 0 &&
			    point->samples.items[k] > most_Bps) {
				best = point;
				most_Bps = point->samples.items[k];
			}
	}
	if (!best)
		return;
	double mtu_B = best->link.mtu_B > 0 ? best->link.mtu_B : RDMA_MTU_B;
	double header_B = best->link.roce ? ROCE_B : IB_B;
	double bit = most_Bps * 8 * (mtu_B + header_B) / mtu_B,
	       standard = standard_near(bit, BELOW_RATIO);
	const char *name = name_of(f, best->path);
	reading_line(f->reading, "\t# %s: %.4g Gb/s of data x %g / %g B = %.4g Gb/s on the wire%s",
		     name, most_Bps * 8 / 1e9, mtu_B + header_B, mtu_B, bit / 1e9,
		     standard > 0 ? ": that of a standard" : "; no standard's");
	double Gbit = (standard > 0 ? standard : bit) / 1e9;
	write_row(f, "bandwidth", (struct estimate){Gbit, Gbit, Gbit}, " Gbit/s", "derived", name);
	if (best->link.mtu_B > 0)
		write_row(f, "mtu", (struct estimate){mtu_B, mtu_B, mtu_B}, " B", "measured", name);
}

/* Losses of ping count if no log of TCP says more. Each packet and its answer can be lost. */
static void write_ping_loss(struct link_fit *f)
{
	double sent = 0, lost = 0;
	const char *name = NULL;
	for (size_t i = 0; i < f->importing->points.count; i++) {
		const struct import_point *point = &f->importing->points.items[i];
		sent += point->link.sent_count;
		lost += point->link.lost_count;
		name = point->link.sent_count > 0 ? name_of(f, point->path) : name;
	}
	if (!(lost > 0) || f->ways[0].samples.count || f->ways[1].samples.count)
		return;
	double z = num_normal_quantile(0.95),
	       ends[3] = {lost, fmax(lost - z * sqrt(lost), 0), lost + z * sqrt(lost) + 1};
	for (int i = 0; i < 3; i++)
		ends[i] = 1 - sqrt(1 - within(ends[i] / sent, 0, 0.99));
	reading_line(f->reading, "\t# %s: ping lost %g of %g; half of it in each direction", name,
		     lost, sent);
	write_row(f, "loss", (struct estimate){ends[0], ends[1], ends[2]}, "", "derived", name);
	write_row(f, "reverse_loss", (struct estimate){ends[0], ends[1], ends[2]}, "", "derived",
		  name);
}

static void write_latency(struct link_fit *f)
{
	bool empty = f->ways[0].limit == LIMIT_LOSS || f->ways[1].limit == LIMIT_LOSS;
	if (f->rtt_known && f->queued && !empty)
		reading_line(f->reading,
			     "\t# no latency: the only round trip, %.4g us, is that of a transfer, "
			     "which fills queues (add a log of ping)",
			     f->rtt.value * 1e6);
	if (!f->rtt_known || (f->queued && !empty))
		return;
	reading_line(f->reading, "\t# %s", f->how);
	struct estimate us = {f->latency.value * 1e6, f->latency.low * 1e6, f->latency.high * 1e6};
	write_row(f, "latency", us, " us", "derived", f->round_trip);
}

static bool is_name(const char *name)
{
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*") ==
	       strlen(name);
}

bool import_link_done(struct importing *importing, struct imported *imported)
{
	struct arena *arena = importing->arena;
	struct reading *reading = ARENA_NEW(arena, struct reading);
	*reading = (struct reading){.arena = arena, .diag = importing->diag};
	struct link_fit *f = ARENA_NEW(arena, struct link_fit);
	*f = (struct link_fit){.importing = importing, .reading = reading};
	if (!is_name(importing->link))
		return diag_error(
			importing->diag, (struct origin){"--link", 0},
			"'%s' is not the name of a link (write letters, digits, - and _, or "
			"* for all links)",
			reading_quote(reading, importing->link));
	presets(f, &guest_table, &f->guest);
	presets(f, transport_kind_find("tcp")->table, &f->tcp);
	presets(f, &rdma_table, &f->rdma);
	find_latency(f);
	find_goodputs(f);
	reading_line(reading,
		     "# Written by `farwire import log --link %s`. The first end of the link is "
		     "where the clients ran.\nparameters = (",
		     importing->link);
	write_rdma(f);
	if (f->row)
		f->ways[0].samples.count = f->ways[1].samples.count = 0; /* a part of the port */
	for (int back = 0; back < 2; back++)
		write_way(f, back);
	if (f->mtu_B > 0 && f->ways[0].samples.count + f->ways[1].samples.count > 0)
		write_row(f, "mtu", (struct estimate){f->mtu_B, f->mtu_B, f->mtu_B}, " B",
			  "measured", "TCP's segment size and headers");
	write_ping_loss(f);
	write_latency(f);
	reading_line(reading, ");");
	if (!f->row)
		return diag_error(
			importing->diag, (struct origin){"--link", 0},
			"the logs have neither a goodput nor a round trip of a link (name "
			"logs of iperf3, ping, sockperf, qperf or perftest)");
	reading->used_count = importing->used_count;
	reading->skipped_count = importing->skipped_count;
	reading_note(reading,
		     "write it with -o FILE.cfg and use it: farwire run --topology TOPOLOGY "
		     "--profile FILE.cfg, for a topology whose link has the name %s",
		     importing->link);
	return reading_done(reading, "results", imported);
}
