/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of the model from the residuals of fit rows, with a dataset that is written here. */
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calib/fit/errors.h"
#include "sim/analysis/dataset.h"
#include "tests/own_folder.h"

static void link_to(const char *root, const char *name)
{
	char here[PATH_MAX];
	CHECK(getcwd(here, sizeof here) != NULL);
	const char *whole = *root == '/' ? arena_printf(arena, "%s/%s", root, name)
					 : arena_printf(arena, "%s/%s/%s", here, root, name);
	CHECK(symlink(whole, path_of(name)) == 0);
}

/* A step of 100 s is predicted, of which forwarding adds 20 s. If it takes 120 s, forwarding adds
 * 40 s, twice as much. If it takes 90 s, the error of the whole is divided by the share. A ratio of
 * 0.5 instead of 0.8 means that 1 s is added to a local second, instead of 0.25 s. */
static void error_of_the_added_time_is_that_of_its_share(void)
{
	struct dataset_row row = {.measure = MEASURE_TIME, .measured = 120};
	CHECK_NEAR(fit_error_of_share(&row, 100, 0.2), log(2), 1e-12);
	row.measured = 90;
	CHECK_NEAR(fit_error_of_share(&row, 100, 0.2), log(0.9) / 0.2, 1e-12);
	row = (struct dataset_row){.measure = MEASURE_RATIO, .measured = 0.5};
	CHECK_NEAR(fit_error_of_share(&row, 0.8, 0.2), log(4), 1e-12);
	row = (struct dataset_row){.measure = MEASURE_THROUGHPUT, .measured = 50};
	CHECK_NEAR(fit_error_of_share(&row, 40, 1), log(0.8), 1e-12);
	CHECK(fit_error_of_share(&row, 40, 0) == 0);
}

/* Two rows of one measurement (equal numbers in a table) count as one. Their squared residuals are
 * averaged, and so are their weights, which are the squares of the added time's shares. The other
 * kinds have no row, so three more measurements have the error 0. */
static void rows_of_a_measurement_count_once(void)
{
	static const char table[] = "batch\trate\trole\n8\t40\tfit\n16\t40\tfit\n32\t50\tfit\n";
	const char *root = data_root_find(arena), *broken = NULL;
	double squares[3] = {0}, weights[3] = {0};
	mkdir(path_of("calib"), 0700);
	mkdir(path_of("calib/measured"), 0700);
	link_to(root, "topologies");
	link_to(root, "models");
	link_to(root, "calib/profiles");
	write_file("calib/measured/own.tsv", table);
	write_file("calib/measured/own.cfg",
		   "dataset = { name = \"own\"; title = \"t\"; source = \"s\"; table = "
		   "\"own.tsv\"; value = "
		   "\"rate\"; role_column = \"role\"; label = [\"batch\"]; settings = "
		   "[\"case.topology=t320-same-esxi\", \"case.program=client\", "
		   "\"case.server=server\", "
		   "\"case.runtime=synchronous\"]; columns = ( { column = \"batch\"; setting = "
		   "\"case.batch\"; } ); };\n");
	diag = diag_new(arena);
	const struct dataset *dataset =
		dataset_read(arena, diag, folder, path_of("calib/measured/own.cfg"), NULL, 0);
	const struct model_errors *errors = fit_errors(arena, diag, folder, NULL, 0, 1, &broken);
	for (size_t i = 0; dataset && i < 3; i++) {
		const struct dataset_row *row = &dataset->rows[i];
		double value = dataset_point(arena, diag, row, folder, NULL, 0, 1, NULL, &broken);
		struct dataset_row ratio = *row;
		ratio.measure = MEASURE_RATIO;
		double share =
			1 - dataset_point(arena, diag, &ratio, folder, NULL, 0, 1, NULL, &broken);
		CHECK(share > 0.05 && share < 1);
		squares[i] = pow(share * fit_error_of_share(row, value, share), 2);
		weights[i] = share * share;
	}
	diag_print(diag, stdout);
	if (CHECK(dataset && errors && !broken)) {
		double sum = (squares[0] + squares[1]) / 2 + squares[2];
		double weight = (weights[0] + weights[1]) / 2 + weights[2];
		const struct kind_error *forwarded = &errors->kinds[CASE_FORWARDED];
		CHECK(forwarded->measurement_count == 2);
		CHECK_NEAR(forwarded->error_ratio, sqrt(sum / (weight + 3)), 1e-9);
		CHECK_NEAR(forwarded->freedom_count, weight + 3, 1e-9);
		CHECK(errors->kinds[CASE_LOCAL].error_ratio == 0);
	}
	static const char *const made[] = {"calib/measured/own.tsv", "calib/measured/own.cfg",
					   "calib/profiles", "models", "topologies"};
	for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
		unlink(path_of(made[i]));
	rmdir(path_of("calib/measured"));
	rmdir(path_of("calib"));
}

static const struct test tests[] = {
	TEST(error_of_the_added_time_is_that_of_its_share),
	TEST(rows_of_a_measurement_count_once),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int failed = TEST_MAIN(tests);
	folder_end();
	return failed;
}
