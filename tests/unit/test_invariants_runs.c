/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Violates the invariants at the end of a run on purpose, and checks that a user can repeat the run
 * from the message. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/predict/baselines.h"
#include "sim/predict/predict.h"
#include "sim/predict/reproduce.h"
#include "sim/scenario/system.h"
#include "sim/verb/verb.h"
#include "tests/test.h"

/* ---- the end of a run ---- */

static const struct scenario *read_case(struct arena *arena, const struct case_request *request)
{
	struct diag *diag = diag_new(arena);
	const struct scenario *scenario = case_read(arena, diag, request);
	diag_print(diag, stdout);
	CHECK(scenario != NULL);
	return scenario;
}

static const struct setting same_lan[] = {{"case.topology=t320-same-lan", {0}},
					  {"case.model=resnet50", {0}},
					  {"case.runtime=asynchronous", {0}},
					  {"case.program=client", {0}},
					  {"case.batch=4", {0}}};

static struct case_request same_lan_request(struct arena *arena)
{
	return (struct case_request){.settings = same_lan,
				     .setting_count = sizeof same_lan / sizeof same_lan[0],
				     .data_root = data_root_find(arena)};
}

static struct world_outcome read_system(struct system *s, struct arena *arena,
					const struct scenario *scenario)
{
	struct world_outcome outcome = {0};
	system_build(s, arena, scenario, NULL);
	system_window_open(s);
	system_read(s, &outcome);
	outcome.end_s = outcome.window_s = 2;
	return outcome;
}

static void utilisation_above_one_stops_the_run(void)
{
	struct arena *arena = arena_new();
	const struct case_request request = same_lan_request(arena);
	const struct scenario *scenario = read_case(arena, &request);
	struct system s;
	struct world_outcome outcome = read_system(&s, arena, scenario);
	outcome.gpu_busy_s[0] = 2;
	system_check(&s, ENGINE_STOPPED, NULL, &outcome);
	CHECK(outcome.broken == NULL);
	outcome.gpu_busy_s[0] = 2.001;
	system_check(&s, ENGINE_STOPPED, NULL, &outcome);
	CHECK_PART(outcome.broken,
		   "GPU 'gpu0' was busy for 2.001000000000 s in a window of 2.0000");
	outcome = read_system(&s, arena, scenario);
	outcome.gpu_busy_s[0] = -0.1;
	system_check(&s, ENGINE_STOPPED, NULL, &outcome);
	CHECK_PART(outcome.broken, "GPU 'gpu0' was busy for -0.1");
	outcome = read_system(&s, arena, scenario);
	outcome.links[1].window_B = outcome.links[1].capacity_Bps * 2;
	system_check(&s, ENGINE_STOPPED, NULL, &outcome);
	CHECK(outcome.broken == NULL);
	outcome.links[1].window_B *= 1.001;
	system_check(&s, ENGINE_STOPPED, NULL, &outcome);
	CHECK_PART(outcome.broken, outcome.links[1].link);
	arena_free(arena);
}

static void run_without_end_names_what_is_waiting(void)
{
	struct arena *arena = arena_new();
	const struct case_request request = same_lan_request(arena);
	const struct scenario *scenario = read_case(arena, &request);
	struct system s;
	struct world_outcome outcome = read_system(&s, arena, scenario);
	system_check(&s, ENGINE_STOPPED, "client 'a' waits: for b", &outcome);
	CHECK(outcome.broken == NULL);
	const struct flow_spec flow = {.size = 5, .cap = 1};
	fabric_flow_start(s.fabric, &flow);
	system_check(&s, ENGINE_DRAINED, "client 'a' waits: for b", &outcome);
	CHECK_TEXT(outcome.broken, "at 0.000000000000 s (event 0): no event is left, but "
				   "client 'a' waits: for b; 1 flow, the first of 5 units");
	arena_free(arena);
}

/* ---- from the violation to the user ---- */

/* A TCP that does not count its bytes, in runs with this seed or a later one. */
static const struct transport_kind *tcp;
static void (*true_send)(struct connection *connection, int from, const struct message *message);
static struct connection *(*true_new)(const struct connection_spec *spec);
static uint64_t seed, bad_seed;

static struct connection *note_seed(const struct connection_spec *spec)
{
	seed = spec->seed;
	return true_new(spec);
}

static void forget(struct connection *connection, int from, const struct message *message)
{
	true_send(connection, from, message);
	if (seed >= bad_seed)
		((struct connection_counters *)connection_counters(connection))
			->messages_count[from]--;
}

/* Makes the page of the constant kinds of transports writable and then changes them. */
static void plant_tcp(uint64_t from_seed)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	tcp = transport_kind_find("tcp");
	struct transport_kind *kind = (struct transport_kind *)tcp;
	uintptr_t first = (uintptr_t)kind / page * page;
	size_t size = (uintptr_t)(kind + 1) - first;
	bad_seed = from_seed;
	if (!CHECK(mprotect((void *)first, size, PROT_READ | PROT_WRITE) == 0))
		return;
	true_send = kind->send;
	true_new = kind->new;
	kind->send = forget;
	kind->new = note_seed;
}

static void restore_tcp(void)
{
	struct transport_kind *kind = (struct transport_kind *)tcp;
	kind->send = true_send;
	kind->new = true_new;
}

static void check_broken(uint64_t from_seed, size_t draws, const char *command)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct case_request request = same_lan_request(arena);
	const struct predict_options options = {.seed = 7, .draws_count = draws};
	const char *broken = NULL;
	plant_tcp(from_seed);
	CHECK(predict_case(arena, diag, &request, &options, &broken) == NULL);
	restore_tcp();
	CHECK(diag_count(diag) == 0);
	CHECK_PART(broken, "at 0.00");
	CHECK_PART(broken, " s (event ");
	CHECK_PART(broken, "client>server 0: 1 messages of ");
	CHECK_PART(broken, command);
	arena_free(arena);
}

/* The violation is in the run itself or in the second of its draws. */
static void run_with_a_violation_gives_no_prediction(void)
{
	check_broken(7, 0,
		     "(farwire " FARWIRE_VERSION ": farwire run --seed 7 --draws 0 --set "
		     "'case.topology=t320-same-lan' --set 'case.model=resnet50' --set "
		     "'case.runtime=asynchronous' --set 'case.program=client' --set "
		     "'case.batch=4')");
	check_broken(9, 3, "farwire run --seed 9 --draws 0 --set 'case.topology=t320-same-lan'");
	check_broken(9, 3, " --set 'runtime.unmarshal=");
}

/* The exit code is 1, and no file is written. */
static void run_with_a_violation_writes_nothing(void)
{
	struct arena *arena = arena_new();
	char folder[] = "/tmp/farwire-broken-XXXXXX";
	CHECK(mkdtemp(folder) != NULL);
	char *text = arena_printf(arena,
				  "run --topology t320-same-lan --runtime asynchronous --program "
				  "client --batch 4 --draws 0 --output %s/out.json",
				  folder);
	char *argv[16];
	int argc = 0, code = -1;
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	const struct command *command = command_parse(arena, argc, argv, &code);
	plant_tcp(0);
	if (CHECK(command != NULL)) {
		CHECK(command->verb->run(command) == EXIT_FAILED);
		baselines_free(command->baselines);
	}
	restore_tcp();
	CHECK(rmdir(folder) == 0);
	arena_free(arena);
}

/* The command in the message, read again, gives exactly the case that failed. */
static void message_contains_a_command_that_repeats_the_case(void)
{
	struct arena *arena = arena_new();
	struct case_request request = same_lan_request(arena);
	const struct scenario *scenario = read_case(arena, &request);
	struct draw_value *draws = ARENA_ARRAY(arena, 1000, struct draw_value);
	struct rng rng = rng_named(1, "draws");
	size_t count = 0;
	for (size_t i = 0; i < cfg_param_count(scenario->resolution); i++) {
		const struct cfg_param *param = cfg_param_at(scenario->resolution, i);
		if (param->row->kind == PARAM_KIND_NUMBER && cfg_param_varies(param))
			draws[count++] = (struct draw_value){
				param->path,
				param_moved(param->row, param->value, rng_uniform(&rng) * 0.1)};
	}
	CHECK(count > 20);
	request.draws = draws;
	request.draw_count = count;
	const char *command = reproducible(arena, &request, scenario, 1, "it's");
	struct setting *settings = ARENA_ARRAY(arena, count + 8, struct setting);
	struct case_request again = {.settings = settings, .data_root = request.data_root};
	for (const char *at = strstr(command, "--set '"); at; at = strstr(at, "--set '")) {
		at += strlen("--set '");
		settings[again.setting_count++].text =
			arena_printf(arena, "%.*s", (int)strcspn(at, "'"), at);
	}
	CHECK(again.setting_count == count + request.setting_count);
	const struct scenario *drawn = read_case(arena, &request);
	const struct scenario *repeated = read_case(arena, &again);
	for (size_t i = 0; i < count && drawn && repeated; i++) {
		double a = cfg_param_find(drawn->resolution, draws[i].path)->value;
		double b = cfg_param_find(repeated->resolution, draws[i].path)->value;
		if (!CHECK(memcmp(&a, &b, sizeof a) == 0))
			printf("  %s: %.17g, %.17g\n", draws[i].path, a, b);
	}
	const struct setting odd = {"a='b'", {0}};
	const struct case_request quoted = {
		.path = "it's.cfg", .settings = &odd, .setting_count = 1};
	CHECK_PART(reproducible(arena, &quoted, scenario, 1, "what"),
		   "farwire run 'it'\\''s.cfg' --seed 1 --draws 0 --set 'a='\\''b'\\'''");
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(utilisation_above_one_stops_the_run),
	TEST(run_without_end_names_what_is_waiting),
	TEST(run_with_a_violation_gives_no_prediction),
	TEST(run_with_a_violation_writes_nothing),
	TEST(message_contains_a_command_that_repeats_the_case),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
