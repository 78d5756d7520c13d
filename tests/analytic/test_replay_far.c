/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that was recorded on a local GPU is played with a remote one. The test records a
 * modelled program locally and forwards the recording. The same program must take as long if it is
 * forwarded directly. So the replay must find out from times which thread waits for which. Runs
 * from the root. */
#include "tests/case_points.h"

#define world_run small_world_run /* the scenario has a function of this name, too */
#include "tests/recording.h"

static const struct settings beside = {
	{"case.topology=t320-same-esxi", "case.server=server", TUNED}};
static const struct settings lan = {{"case.topology=t320-same-lan", "case.server=server", TUNED}};

/* Records the case's program on a local GPU. */
static void record(struct arena *arena, const char *const *program, const char *path)
{
	const struct scenario *scenario = scenario_of(arena, &beside, program);
	if (!scenario)
		return;
	const struct job_entry *entry = &scenario->jobs[0];
	const struct topology *topology = &scenario->topology;
	memset(&w, 0, sizeof w);
	world_presets(&w);
	w.gpu_params = topology->gpus[entry->gpus[0]].params;
	w.host_params = topology->hosts[topology->gpus[entry->gpus[0]].host].params;
	w.driver_params = scenario->driver;
	w.dma_params = scenario->dma;
	world_build(&w);
	play(framework_at((size_t)entry->stack->framework)
		     ->program(arena,
			       &(struct step_spec){entry->network, (size_t)entry->batch_count,
						   entry->stack, &w.gpu_params, entry->efficiency,
						   NULL, NULL}),
	     9, true);
	recording_write(arena, path);
	world_release(&w);
}

static void far(const char *const *program, const char *runtime, double tolerance)
{
	struct arena *arena = arena_new();
	char path[64];
	snprintf(path, sizeof path, "/tmp/farwire-test-far.%ld", (long)getpid());
	record(arena, program, path);
	const char *itself[20] = {runtime, "case.program=client"};
	for (size_t i = 0; program[i]; i++)
		itself[2 + i] = program[i];
	const char *const replayed[] = {arena_printf(arena, "case.calls=%s", path), runtime,
					"case.program=client", NULL};
	double itself_s = step_of(&lan, itself), replayed_s = step_of(&lan, replayed);
	if (!CHECK_NEAR(replayed_s, itself_s, tolerance))
		printf("  %s, %s, %s\n", program[0], program[2], runtime);
	unlink(path);
	arena_free(arena);
}

/* On the local GPU, where the program is recorded, the calls around a launch are part of the
 * executor's work, so the recording does not contain them. */
#define NO_CALLS_AROUND_LAUNCHES                                                                   \
	"stack.get_device_per_launch=0", "stack.set_device_per_launch=0",                          \
		"stack.get_last_error_per_launch=0", "stack.record_per_launch=0",                  \
		"stack.memset_per_launch=0", "stack.handle_calls=0", "stack.dispatch=5 us",        \
		"stack.autograd=1"
static const char *const pytorch[] = {"case.stack=pytorch", "case.batch=1",
				      "stack.real_input=false", NO_CALLS_AROUND_LAUNCHES, NULL};
static const char *const pytorch_input[] = {"case.stack=pytorch", "case.batch=1",
					    "stack.real_input=true", NO_CALLS_AROUND_LAUNCHES,
					    NULL};
static const char *const tensorflow[] = {"case.stack=tf-1.12", "case.batch=8",
					 "stack.real_input=false", NULL};
static const char *const tensorflow_input[] = {"case.stack=tf-1.12", "case.batch=8",
					       "stack.real_input=true", NULL};

static void forwarded_pytorch_recording_takes_as_long_as_its_program(void)
{
	far(pytorch, "case.runtime=synchronous", 0.01);
	far(pytorch, "case.runtime=asynchronous", 0.01);
	far(pytorch_input, "case.runtime=asynchronous", 0.01);
}

static void forwarded_tensorflow_recording_takes_as_long_as_its_program(void)
{
	far(tensorflow, "case.runtime=batched", 0.01);
	far(tensorflow, "case.runtime=flexdirect-1.11", 0.01);
	far(tensorflow_input, "case.runtime=synchronous", 0.01);
}

/* A recorded step counts as one sample, unless the case says how many it has. */
static void a_recorded_step_is_one_sample(void)
{
	struct arena *arena = arena_new();
	char path[64];
	snprintf(path, sizeof path, "/tmp/farwire-test-far.%ld", (long)getpid());
	record(arena, tensorflow, path);
	for (int given = 0; given < 2; given++) {
		struct setting settings[] = {
			{"case.topology=t320-same-esxi", {"--set", 0}},
			{"case.server=server", {"--set", 0}},
			{arena_printf(arena, "case.calls=%s", path), {"--set", 0}},
			{"case.batch=8", {"--set", 0}}};
		const struct case_request request = {.settings = settings,
						     .setting_count = given ? 4 : 3,
						     .data_root = data_root_find(arena)};
		struct diag *diag = diag_new(arena);
		const struct scenario *scenario = case_read(arena, diag, &request);
		diag_print(diag, stdout);
		if (!CHECK(scenario != NULL))
			continue;
		struct point point = predict_point(arena, scenario, 1, false, NULL, NULL);
		CHECK_NEAR(point.throughput * point.step_s, given ? 8 : 1, 1e-12);
	}
	unlink(path);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(a_recorded_step_is_one_sample),
	TEST(forwarded_pytorch_recording_takes_as_long_as_its_program),
	TEST(forwarded_tensorflow_recording_takes_as_long_as_its_program)};

int main(void)
{
	return TEST_MAIN(tests);
}
