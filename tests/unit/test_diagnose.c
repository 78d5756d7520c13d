/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The likelihoods of faults: each distance is computed again by Cramer's rule from the covariance
 * of three points, and measurements that equal a prediction name it. The test must run from the
 * root folder. */
#include <math.h>

#include "sim/analysis/diagnose.h"
#include "tests/own_folder.h"

enum { POINTS = 3 };
#define NOISE 0.05

#define FROM                                                                                       \
	{                                                                                          \
		"test", 0                                                                          \
	}
#define POINT(size)                                                                                \
	{                                                                                          \
		{"case.topology=c4140-m", FROM}, {"case.exchange=nccl-2.8", FROM},                 \
			{"case.collective=all_reduce", FROM},                                      \
			{"case.collective_size=" size, FROM}, {"case.gpus=4", FROM},               \
		{                                                                                  \
			"case.fail=", FROM                                                         \
		}                                                                                  \
	}
static const struct setting settings[POINTS][6] = {POINT("1 KiB"), POINT("1 MiB"),
						   POINT("256 MiB")};

static const struct diagnosis *diagnosis_with(const struct setting (*cases)[6], size_t count,
					      const double *measured_s)
{
	struct sweep_fault fault;
	struct dataset_row *rows = ARENA_ARRAY(arena, count, struct dataset_row);
	diag = diag_new(arena);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct dataset_row){.label = "a point",
					       .measure = MEASURE_TIME,
					       .measured = measured_s[i],
					       .settings = cases[i],
					       .setting_count = 6};
	const struct dataset dataset = {
		.name = "test", .path = "test", .rows = rows, .row_count = count};
	const struct diagnose_request request = {
		.input = {.request = {.data_root = data_root_find(arena)},
			  .options = {.seed = 1, .draws_count = 4, .jobs = 1}},
		.dataset = &dataset,
		.measured = MEASURED_COLLECTIVE,
		.noise_ratio = NOISE};
	const struct diagnosis *d = diagnose(arena, diag, &request, &fault);
	diag_print(diag, stdout);
	CHECK(d && !fault.broken);
	return d;
}

static const struct diagnosis *diagnosis_of(const double measured_s[POINTS])
{
	return diagnosis_with(settings, POINTS, measured_s);
}

static double determinant(double m[3][3])
{
	return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
	       m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
	       m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* The covariance of two points has nine tenths of the prediction's variance in common, and the rest
 * falls by e for each factor of 32 between their sizes. */
static double distance(const struct diagnosis *d, const double *time_s)
{
	double c[3][3], r[3], sum = 0;
	for (size_t i = 0; i < 3; i++) {
		r[i] = log(d->rows[i]->measured / time_s[i]);
		for (size_t j = 0; j < 3; j++) {
			double s[2], apart = fabs(log(d->size_B[i] / d->size_B[j])) / log(32);
			for (size_t k = 0; k < 2; k++) {
				const struct estimate *e = &d->expected_s[k ? j : i];
				s[k] = (log(e->high) - log(e->low)) / (2 * 1.645);
			}
			c[i][j] = s[0] * s[1] * (0.9 + 0.1 * exp(-apart)) +
				  (i == j ? NOISE * NOISE : 0);
		}
	}
	for (size_t k = 0; k < 3; k++) {
		double m[3][3];
		for (size_t i = 0; i < 3; i++)
			for (size_t j = 0; j < 3; j++)
				m[i][j] = j == k ? r[i] : c[i][j];
		sum += r[k] * determinant(m) / determinant(c);
	}
	return sum;
}

static void expected(double expected_s[POINTS], double most_s[POINTS])
{
	const struct diagnosis *d = diagnosis_of((const double[POINTS]){1, 1, 1});
	for (size_t i = 0; d && i < POINTS; i++) {
		expected_s[i] = d->expected_s[i].value;
		most_s[i] = d->expected_s[i].high;
	}
}

static void distances_are_those_of_the_covariance(void)
{
	double expected_s[POINTS] = {1, 1, 1}, most_s[POINTS];
	expected(expected_s, most_s);
	const double measured_s[POINTS] = {1.3 * expected_s[0], 0.9 * expected_s[1],
					   1.7 * expected_s[2]};
	const struct diagnosis *d = diagnosis_of(measured_s);
	if (!d)
		return;
	double total = 0;
	CHECK(d->size_B[0] == 1024 && d->size_B[2] == 256 * 0x1p20);
	CHECK(d->suspect_count > 1 && d->simulated_count >= d->suspect_count - 1);
	for (size_t i = 0; i < d->suspect_count; i++) {
		const struct suspect *s = &d->suspects[i];
		CHECK_NEAR(s->distance, distance(d, s->time_s), 1e-6);
		CHECK(i == 0 || s->probability <= d->suspects[i - 1].probability);
		total += s->probability;
	}
	CHECK_NEAR(total, 1, 1e-9);
}

/* A tenth of the probability belongs to all visible faults together. Two classes of one member have
 * odds of their priors times exp(-distance / 2). */
static void measured_times_of_a_prediction_name_it(void)
{
	double expected_s[POINTS] = {1, 1, 1}, most_s[POINTS];
	expected(expected_s, most_s);
	const struct diagnosis *d = diagnosis_of(expected_s);
	if (!d)
		return;
	CHECK_TEXT(d->suspects[0].setting, "");
	CHECK(d->suspects[0].distance < 1e-9 && d->explained);
	for (size_t i = 1; i < d->suspect_count; i++)
		CHECK(d->suspects[i].distance > 0 && d->suspects[i].setting[0]);
	const struct suspect *fault = NULL;
	for (size_t i = 1; i < d->suspect_count; i++)
		if (!fault || d->suspects[i].distance > fault->distance)
			fault = &d->suspects[i];
	if (!CHECK(fault != NULL))
		return;
	const struct diagnosis *again = diagnosis_of(fault->time_s);
	CHECK(again && again->suspects[0].distance < 1e-9);
	CHECK_TEXT(again ? again->suspects[0].setting : "", fault->setting);
}

/* Small sizes have the latency, large ones the bandwidth. A point is outside of the interval if it
 * is above its upper end by more than the noise. */
static void ranges_count_points_outside_of_the_interval(void)
{
	double expected_s[POINTS] = {1, 1, 1}, most_s[POINTS] = {1, 1, 1};
	expected(expected_s, most_s);
	const double measured_s[POINTS] = {most_s[0] * (1 + NOISE / 2), expected_s[1],
					   most_s[2] * (1 + 2 * NOISE)};
	const struct diagnosis *d = diagnosis_of(measured_s);
	if (!d)
		return;
	const struct size_range *small = &d->ranges[0], *large = &d->ranges[2];
	CHECK(small->count >= 1 && small->from_B == 1024 && small->outside_count == 0);
	CHECK(large->count == 1 && large->from_B == 256 * 0x1p20 && large->outside_count == 1);
	CHECK(large->from_B == large->to_B);
	CHECK_NEAR(large->ratio, measured_s[2] / expected_s[2], 1e-9);
	CHECK(small->count + d->ranges[1].count + large->count == POINTS);
}

/* ---- suspects ---- */

/* Returns the diagnosis of one collective of 256 MiB on three GPUs, or on the GPUs of a shipped
 * machine. It takes 1 s, so each fault that makes it slower is more likely than none. */
static const struct diagnosis *diagnosis_on(const char *topology, const char *collective,
					    const char *gpus, const char *fail)
{
	const struct setting one[1][6] = {
		{{arena_printf(arena, "case.topology=%s", topology), FROM},
		 {"case.exchange=nccl-2.18", FROM},
		 {arena_printf(arena, "case.collective=%s", collective), FROM},
		 {"case.collective_size=256 MiB", FROM},
		 {arena_printf(arena, "case.gpus=%s", gpus), FROM},
		 {arena_printf(arena, "case.fail=%s", fail), FROM}}};
	return diagnosis_with(one, 1, (const double[]){1});
}

/* Returns the suspect whose words begin like this; NULL: there is none, or it has the curve of
 * another one. */
static const struct suspect *suspect(const struct diagnosis *d, const char *what)
{
	for (size_t i = 0; d && i < d->suspect_count; i++)
		if (strncmp(d->suspects[i].what, what, strlen(what)) == 0)
			return &d->suspects[i];
	return NULL;
}

static bool is_named(const struct diagnosis *d, const char *what)
{
	for (size_t i = 0; d && i < d->suspect_count; i++)
		if (d->suspects[i].alike && strstr(d->suspects[i].alike, what))
			return true;
	return suspect(d, what);
}

static void check_setting(const struct diagnosis *d, const char *what, const char *setting)
{
	const struct suspect *found = suspect(d, what);
	CHECK_TEXT(found ? found->setting : NULL, setting);
}

/* Three or four GPUs, each with an NVLink to each other one. Some names of links end or begin
 * alike. */
static const char *write_mesh(size_t gpus)
{
	static const struct {
		const char *name;
		int ends[2];
	} links[] = {{"nv10", {0, 1}}, {"nv1", {1, 2}}, {"v1", {2, 0}},
		     {"nv3", {3, 0}},  {"nv4", {3, 1}}, {"nv5", {3, 2}}};
	const char *text = "topology = { name = \"mesh\"; hosts = ( { name = \"h\"; } );\n"
			   "guests = ( { name = \"g\"; host = \"h\"; } ); gpus = (";
	for (size_t i = 0; i < gpus; i++)
		text = arena_printf(
			arena, "%s%s{ name = \"a%zu\"; profile = \"v100-sxm2\"; host = \"h\"; }",
			text, i ? "," : "", i);
	text = arena_printf(arena, "%s ); links = (", text);
	for (size_t i = 0; i < gpus; i++)
		text = arena_printf(
			arena, "%s{ name = \"s%zu\"; kind = \"pcie\"; ends = [\"a%zu\", \"h\"]; },",
			text, i, i);
	for (size_t i = 0; i < gpus * (gpus - 1) / 2; i++)
		text = arena_printf(
			arena,
			"%s%s{ name = \"%s\"; kind = \"nvlink\"; ends = [\"a%d\", \"a%d\"]; }",
			text, i ? "," : "", links[i].name, links[i].ends[0], links[i].ends[1]);
	write_file("mesh.cfg", arena_printf(arena, "%s ); };\n", text));
	return path_of("mesh.cfg");
}

/* The chains of a broadcast pass two of three links in one direction only. */
static void a_link_that_carries_bytes_in_one_direction_is_a_suspect(void)
{
	const char *path = write_mesh(3);
	const struct diagnosis *d = diagnosis_on(path, "broadcast", "3", "");
	CHECK(is_named(d, "link nv10 (nvlink, one of 3 alike) at half its rate"));
	remove(path);
}

/* It makes no difference which link of a mesh is missing, so only one is named. */
static void links_of_a_class_are_degraded_and_missing_once(void)
{
	const char *path = write_mesh(4);
	const struct diagnosis *d = diagnosis_on(path, "all_reduce", "4", "");
	check_setting(d, "all links like nv10 (nvlink, 6)",
		      "case.degrade=nv10=0.5,nv1=0.5,v1=0.5,nv3=0.5,nv4=0.5,nv5=0.5");
	CHECK(is_named(d, "link nv10 (nvlink, one of 6 alike) missing"));
	CHECK(!is_named(d, "link nv5 (nvlink, one of 6 alike) missing"));
	remove(path);
}

static void a_suspect_has_the_rate_that_its_words_state(void)
{
	const struct diagnosis *d = diagnosis_on("workstation-4", "all_reduce", "4", "");
	check_setting(d, "link n0.slot0 (pcie, one of 4 alike) at a quarter of its rate",
		      "case.degrade=n0.slot0=0.25");
}

/* Eight adapters of each of two machines do the same, so only the first one is named. */
static void equal_adapters_are_one_suspect(void)
{
	const struct diagnosis *d = diagnosis_on("dgx-h100", "all_reduce", "16", "");
	check_setting(d, "GPU n0.gpu0 (one of 16) at half its rate", "case.degrade=n0.gpu0=0.5");
	check_setting(d, "link fabric.n0.nic0 (infiniband, one of 16 alike) at half its rate",
		      "case.degrade=fabric.n0.nic0=0.5");
	CHECK(is_named(d, "adapter n0.nic0 is not used"));
	CHECK(!is_named(d, "adapter n1.nic7 is not used"));
}

/* Links that are known to have failed are missing in each diagnosis, too. */
static void faults_are_added_to_known_ones(void)
{
	const char *path = write_mesh(4);
	const struct diagnosis *d = diagnosis_on(path, "all_reduce", "4", "nv10");
	check_setting(d, "link nv1 (nvlink, one of 4 alike) missing", "case.fail=nv1,nv10");
	remove(path);
}

/* No fault has 9 tenths of the prior probability. A fault has a tenth divided by the number of
 * visible suspects, of which no fault is one. Likelihoods fall by exp(-distance / 2). */
static void odds_are_those_of_priors_and_distances(void)
{
	double expected_s[POINTS] = {1, 1, 1}, most_s[POINTS];
	expected(expected_s, most_s);
	const struct diagnosis *d = diagnosis_of(expected_s);
	const struct suspect *none = suspect(d, "no fault"), *fault = NULL;
	double visible = 0;
	for (size_t i = 0; d && i < d->suspect_count; i++) {
		visible += 1 + (double)d->suspects[i].alike_count;
		if (!fault && d->suspects[i].alike_count == 0 && d->suspects[i].setting[0])
			fault = &d->suspects[i];
	}
	if (CHECK(none && fault && none->alike_count == 0))
		CHECK_NEAR(fault->probability / none->probability,
			   0.1 / visible / 0.9 * exp(-(fault->distance - none->distance) / 2),
			   1e-9);
}

/* Three points without error have a mean squared distance of 3 and a deviation of sqrt(6). No fault
 * explains points that go up, down and up. */
static void a_curve_is_explained_up_to_three_deviations(void)
{
	double expected_s[POINTS] = {1, 1, 1}, most_s[POINTS];
	expected(expected_s, most_s);
	for (int far = 0; far < 2; far++) {
		const double by = far ? 1.5 : 1.1, most = 3 + 3 * sqrt(6);
		const struct diagnosis *d = diagnosis_of((const double[]){
			expected_s[0] * by, expected_s[1] / by, expected_s[2] * by});
		if (!d)
			return;
		CHECK(far ? d->suspects[0].distance > most
			  : d->suspects[0].distance > 3 && d->suspects[0].distance < most);
		CHECK(d->explained == !far);
	}
}

/* The measurement is below the lower end of the interval by half of the noise, or by twice it. */
static void a_fast_point_is_outside_below_the_noise(void)
{
	double measured_s[POINTS], least_s[POINTS];
	const struct diagnosis *d = diagnosis_of((const double[POINTS]){1, 1, 1});
	for (size_t i = 0; d && i < POINTS; i++) {
		measured_s[i] = d->expected_s[i].value;
		least_s[i] = d->expected_s[i].low;
	}
	for (int far = 0; d && far < 2; far++) {
		measured_s[2] = least_s[2] * (1 - (far ? 2 : 0.5) * NOISE);
		const struct diagnosis *fast = diagnosis_of(measured_s);
		CHECK(fast && fast->ranges[2].outside_count == (far ? 1 : 0));
	}
}

static const struct test tests[] = {
	TEST(a_fast_point_is_outside_below_the_noise),
	TEST(faults_are_added_to_known_ones),
	TEST(odds_are_those_of_priors_and_distances),
	TEST(a_curve_is_explained_up_to_three_deviations),
	TEST(a_link_that_carries_bytes_in_one_direction_is_a_suspect),
	TEST(links_of_a_class_are_degraded_and_missing_once),
	TEST(a_suspect_has_the_rate_that_its_words_state),
	TEST(equal_adapters_are_one_suspect),
	TEST(distances_are_those_of_the_covariance),
	TEST(measured_times_of_a_prediction_name_it),
	TEST(ranges_count_points_outside_of_the_interval),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int failed = TEST_MAIN(tests);
	folder_end();
	return failed;
}
