/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/calibration.h"
#include "calib/fit/calibrating.h"

/* Probability of intervals in files (cfg.h). */
static const double CONFIDENCE = 0.9;

const struct calibration *calibration_run(struct arena *arena, struct diag *diag,
					  const char *data_root, const struct recording *recording,
					  uint64_t seed)
{
	struct calibrating c = {.arena = arena,
				.data_root = data_root,
				.recording = recording,
				.seed = seed,
				.confidence = CONFIDENCE};
	c.result = ARENA_NEW(arena, struct calibration);
	c.result->recording = recording;
	calibrate_gpu_name(&c);
	c.result->pcie_generation_count = c.pcie_generation_count;
	c.result->pcie_width_count = c.pcie_width_count;
	if (c.result->gpu) {
		calibrate_calls(&c);
		calibrate_copies(&c);
		calibrate_compute(&c);
	}
	calibrate_host(&c);
	struct calibration *result = c.result;
	if (result->parameters.count || result->series.count || result->remarks.count)
		return result;
	diag_error(diag, (struct origin){recording->path, 0},
		   "this recording determines no parameter (%zu points, %zu samples)",
		   recording->points.count, recording->sample_count);
	for (size_t i = 0; i < result->left_out.count; i++)
		diag_error(diag, (struct origin){recording->path, 0}, "%s: %s",
			   result->left_out.items[i].what, result->left_out.items[i].why);
	return NULL;
}

const char *calibration_name(const struct calibration *calibration)
{
	return calibration->gpu ? calibration->gpu : "host";
}

const char *calibration_unfitted(struct arena *arena, const struct calibration *calibration)
{
	static const struct {
		const char *prefix, *words;
		bool gpu;
	} parts[] = {{"driver.", "calls", true},
		     {"gpu.*.kernel", "kernels", true},
		     {"dma.", "copies", true},
		     {"gpu.*.memory", "GPU memory", true},
		     {"kernels.", "matrix products", true},
		     {"guest.", "TCP", false},
		     {"host.", "copies in host memory", false},
		     {"storage.", "storage", false}};
	const char *text = "";
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		const char *prefix = parts[i].prefix;
		bool found = false;
		if (parts[i].gpu != (calibration->gpu != NULL))
			continue;
		if (strncmp(prefix, "gpu.*.", 6) == 0)
			prefix = arena_printf(arena, "gpu.%s.%s", calibration->gpu, prefix + 6);
		for (size_t k = 0; k < calibration->parameters.count; k++)
			found |= strncmp(calibration->parameters.items[k].path, prefix,
					 strlen(prefix)) == 0;
		if (!found)
			text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "",
					    parts[i].words);
	}
	return text;
}

/* ---- the profile ---- */

/* Returns a text that is safe inside quotes and on one line. */
static const char *plain(struct arena *arena, const char *text)
{
	char *copy = arena_strdup(arena, text);
	for (char *c = copy; *c; c++)
		if (*c == '"' || *c == '\\')
			*c = '\'';
		else if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	return copy;
}

static const char *value_text(struct arena *arena, enum quantity quantity, double value)
{
	const char *unit = quantity_unit(quantity);
	return arena_printf(arena, "\"%s%s%s\"", number_format(arena, 6, value), unit[0] ? " " : "",
			    unit);
}

static void write_interval(FILE *out, struct arena *arena, enum quantity quantity,
			   struct estimate value)
{
	fprintf(out, "value = %s;", value_text(arena, quantity, value.value));
	if (isnan(value.low) || isnan(value.high))
		return;
	fprintf(out, " low = %s; high = %s;", value_text(arena, quantity, value.low),
		value_text(arena, quantity, value.high));
}

static void write_head(FILE *out, struct arena *arena, const struct recording *r)
{
	fprintf(out,
		"# origin: measured by %s, %s, %s: %zu passes, %zu samples, %zu of them outliers "
		"(kept), seed %.0f%s\n",
		plain(arena, r->tool), plain(arena, r->date), plain(arena, r->mode), r->pass_count,
		r->sample_count, r->outlier_count, r->seed_count, r->ended ? "" : "; interrupted");
	fprintf(out, "# machine: %s, %.0f cores, Linux %s, hypervisor %s\n", plain(arena, r->cpu),
		r->cores_count, plain(arena, r->kernel), plain(arena, r->hypervisor));
	if (r->gpu)
		fprintf(out, "# GPU: %s, driver %s, CUDA %s\n", plain(arena, r->gpu),
			plain(arena, r->driver), plain(arena, r->cuda));
	fprintf(out, "# sha256 of the recording: %s\n", r->hash);
	if (r->drift_most_ratio > RECORD_DRIFT_MOST)
		fprintf(out,
			"# the machine drifted by %.1f %% during the measurement, so it is not "
			"reliable\n",
			100 * r->drift_most_ratio);
}

static void write_lines(FILE *out, struct arena *arena, const struct calibration *calibration,
			const char **comma)
{
	for (size_t i = 0; i < calibration->series.count; i++) {
		const struct calibration_series *series = &calibration->series.items[i];
		for (size_t k = 0; k < series->segments.count; k++) {
			fprintf(out, "%s\t{ of = \"%s\"; %s_from = %s;\n\t  start = { ", *comma,
				plain(arena, series->label), series->x_name,
				number_format(arena, 9, series->segments.from[k]));
			write_interval(out, arena, QUANTITY_TIME, series->start_s[k]);
			fputs(" };\n\t  slope = { ", out);
			write_interval(out, arena, QUANTITY_TIME, series->slope[k]);
			fputs(" }; }", out);
			*comma = ",\n";
		}
	}
}

static void write_left_out(FILE *out, struct arena *arena, const struct calibration *calibration)
{
	for (size_t i = 0; i < calibration->left_out.count; i++)
		fprintf(out, "# left out: %s: %s\n",
			plain(arena, calibration->left_out.items[i].what),
			plain(arena, calibration->left_out.items[i].why));
	for (size_t i = 0; i < calibration->recording->waived.count; i++)
		fprintf(out, "# waived: %s: %s\n",
			plain(arena, calibration->recording->waived.items[i].test),
			plain(arena, calibration->recording->waived.items[i].why));
}

static void write_parameters(FILE *out, struct arena *arena, const struct calibration *calibration,
			     const char **comma)
{
	for (size_t i = 0; i < calibration->parameters.count; i++) {
		const struct calibrated *p = &calibration->parameters.items[i];
		fprintf(out, "%s\t{ path = \"%s\";\n\t  fit = { ", *comma, p->path);
		write_interval(out, arena, p->quantity, p->value);
		fprintf(out, "\n\t    origin = \"measured\"; note = \"%s\"; }; }",
			plain(arena, p->note));
		*comma = ",\n";
	}
}

void calibration_write(FILE *out, struct arena *arena,
		       const struct calibration *const *calibrations, size_t count)
{
	const char *comma = "";
	fputs("# Written by `farwire fit` from recordings; do not edit.\n", out);
	for (size_t i = 0; i < count; i++) {
		write_head(out, arena, calibrations[i]->recording);
		for (size_t k = 0; k < calibrations[i]->remarks.count; k++)
			fprintf(out, "# %s\n", plain(arena, calibrations[i]->remarks.items[k]));
		write_left_out(out, arena, calibrations[i]);
	}
	fputs("# Host times belong to this machine: use them with host.clock at its default.\n"
	      "# Intervals are 90 %.\n"
	      "parameters = (\n",
	      out);
	for (size_t i = 0; i < count; i++)
		write_parameters(out, arena, calibrations[i], &comma);
	fputs("\n"
	      ");\n"
	      "# The fitted lines: time = start + x * slope, from the given x on.\n"
	      "lines = (\n",
	      out);
	comma = "";
	for (size_t i = 0; i < count; i++)
		write_lines(out, arena, calibrations[i], &comma);
	fputs("\n);\n", out);
}
