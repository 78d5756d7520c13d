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

/* Two rows of one measurement (equal numbers in a table) count as one with the mean of their
 * squared residuals, a. A third row has b. Two measurements have (a + b) / 2 on average, which is
 * also what each kind of case gets as three more measurements. So the error of each kind is its
 * root. */
static void rows_of_a_measurement_count_once(void)
{
	static const char table[] = "batch\trate\trole\n8\t40\tfit\n16\t40\tfit\n32\t50\tfit\n";
	const char *root = data_root_find(arena), *broken = NULL;
	double squares[3];
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
		   "\"case.runtime=asynchronous\"]; columns = ( { column = \"batch\"; setting = "
		   "\"case.batch\"; } ); };\n");
	diag = diag_new(arena);
	const struct dataset *dataset =
		dataset_read(arena, diag, folder, path_of("calib/measured/own.cfg"), NULL, 0);
	const struct model_errors *errors = fit_errors(arena, diag, folder, NULL, 0, 1, &broken);
	for (size_t i = 0; dataset && i < 3; i++) {
		const struct dataset_row *row = &dataset->rows[i];
		double value = dataset_point(arena, diag, row, folder, NULL, 0, 1, NULL, &broken);
		squares[i] = pow(log(value / row->measured), 2);
	}
	diag_print(diag, stdout);
	if (CHECK(dataset && errors && !broken)) {
		double sum = (squares[0] + squares[1]) / 2 + squares[2];
		size_t with = 0;
		for (size_t k = 0; k < CASE_KIND_COUNT; k++) {
			const struct kind_error *kind = &errors->kinds[k];
			with += kind->measurement_count;
			CHECK_NEAR(kind->error_ratio, sqrt(sum / 2), 1e-9);
			CHECK_NEAR(kind->freedom_count, (double)kind->measurement_count + 3, 1e-12);
		}
		CHECK(with == 2);
	}
	static const char *const made[] = {"calib/measured/own.tsv", "calib/measured/own.cfg",
					   "calib/profiles", "models", "topologies"};
	for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
		unlink(path_of(made[i]));
	rmdir(path_of("calib/measured"));
	rmdir(path_of("calib"));
}

static const struct test tests[] = {
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
