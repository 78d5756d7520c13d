/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which GPU, and which machine, a rule of the case is about. */
#include <stdlib.h>

#include "tests/case_points.h"

static struct arena *arena;
static struct diag *diag;

static const struct scenario *read(const char *const *texts)
{
	enum { SETTINGS_MAX = 12 };
	struct setting settings[SETTINGS_MAX];
	size_t count = 0;
	for (; texts[count]; count++)
		settings[count] = (struct setting){.text = texts[count]};
	diag = diag_new(arena);
	const struct case_request request = {
		.settings = settings, .setting_count = count, .data_root = data_root_find(arena)};
	return case_read(arena, diag, &request);
}
#define READ(...) read((const char *const[]){__VA_ARGS__, NULL})

/* Two clients with 60 % each fit on two GPUs that MIG splits, but not on one. */
static void instances_of_each_gpu_are_summed_by_themselves(void)
{
#define SPLIT                                                                                      \
	"case.topology=dgx-h100", "case.model=resnet50", "case.copies=2", "case.fraction=0.6",     \
		"gpu.*.sharing=mig"
	const struct scenario *s = READ(SPLIT, "case.gpu=spread");
	CHECK(s && s->jobs[0].gpus[0] == 0 && s->jobs[1].gpus[0] == 1);
	CHECK(!READ(SPLIT));
	CHECK_PART(diag_at(diag, 0), "GPU 'n0.gpu0' is split by MIG, but its clients together have "
				     "1.2 of its SMs and 1.2 of its memory");
	CHECK(diag_count(diag) == 1);
}

static double capacity_of(const struct scenario *s, const char *link)
{
	for (size_t i = 0; s && i < s->topology.link_count; i++)
		if (strcmp(s->topology.links[i].name, link) == 0)
			return s->topology.links[i].traits.capacity_Bps[0];
	return 0;
}

/* A fault of machine n1 does not change n10. */
static void a_fault_of_a_machine_leaves_those_with_longer_names(void)
{
#define ELEVEN "case.topology=dgx1-v100", "case.gpus=88", "case.model=resnet50", "case.symmetry=off"
	const struct scenario *whole = READ(ELEVEN), *slow = READ(ELEVEN, "case.degrade=n1=0.5");
	if (!CHECK(whole && slow) ||
	    !CHECK(whole->topology.link_count == slow->topology.link_count))
		return;
	size_t halves = 0;
	for (size_t i = 0; i < whole->topology.link_count; i++) {
		const struct link_entry *link = &whole->topology.links[i];
		bool own = strncmp(link->ends[0], "n1.", 3) == 0 ||
			   strncmp(link->ends[1], "n1.", 3) == 0 ||
			   strcmp(link->ends[0], "n1") == 0 || strcmp(link->ends[1], "n1") == 0;
		CHECK_NEAR(capacity_of(slow, link->name),
			   link->traits.capacity_Bps[0] * (own ? 0.5 : 1), 1e-12);
		halves += own;
	}
	CHECK(halves > 8);
	for (size_t i = 0; i < whole->topology.gpu_count; i++)
		CHECK_NEAR(slow->topology.gpus[i].lost_ratio, i / 8 == 1 ? 0.5 : 0, 1e-12);
}

/* Machine rack1 has guest server1 and three of the four GPUs. */
static void a_fault_of_a_machine_is_one_of_its_guests(void)
{
#define LOCAL_AND_REMOTE "case.topology=local-and-remote", "case.model=resnet50"
	static const char *const links[][2] = {{"port-s1", "port-c"}, {"slot1", "slot0"}};
	const struct scenario *whole = READ(LOCAL_AND_REMOTE);
	const struct scenario *slow = READ(LOCAL_AND_REMOTE, "case.degrade=rack1=0.5");
	if (!CHECK(whole && slow))
		return;
	for (size_t i = 0; i < 2; i++) {
		CHECK_NEAR(capacity_of(slow, links[i][0]), capacity_of(whole, links[i][0]) / 2,
			   1e-12);
		CHECK_NEAR(capacity_of(slow, links[i][1]), capacity_of(whole, links[i][1]), 1e-12);
	}
	for (size_t i = 0; i < 4; i++)
		CHECK_NEAR(slow->topology.gpus[i].lost_ratio, i > 0 ? 0.5 : 0, 1e-12);
}

/* One of two guests in an own template has a link to the host. Only the other one gets a link with
 * the bandwidth of the memory. */
static void guests_with_a_link_get_no_second_one(void)
{
	char folder[] = "/tmp/farwire-places-XXXXXX";
	if (!CHECK(mkdtemp(folder) != NULL))
		return;
	const char *path = arena_printf(arena, "%s/own.cfg", folder);
	FILE *out = fopen(path, "w");
	if (CHECK(out != NULL)) {
		fputs("machine = { host = { }; guests = ( { name = \"os\"; }, { name = \"vm\"; } "
		      ");\n"
		      "gpus = ( { name = \"gpu0\"; profile = \"v100-sxm2\"; } ); switches = "
		      "[\"nic0\"]; ports = [\"nic0\"];\n"
		      "links = ( { name = \"slot\"; kind = \"pcie\"; ends = [\"host\", \"gpu0\"]; "
		      "},\n"
		      "{ name = \"bus\"; kind = \"pcie\"; ends = [\"host\", \"nic0\"]; },\n"
		      "{ name = \"virtual\"; kind = \"pcie\"; ends = [\"host\", \"vm\"]; } ); };\n"
		      "topology = { name = \"own\"; cluster = { machine = \"own\"; network = "
		      "\"ethernet-10\"; }; };\n",
		      out);
		fclose(out);
	}
	const struct scenario *s =
		READ(arena_printf(arena, "case.topology=%s", path), "case.model=resnet50");
	diag_print(diag, stdout);
	CHECK(s && s->topology.link_count == 4);
	CHECK(capacity_of(s, "n0.os-host") > 0 && capacity_of(s, "n0.vm-host") == 0);
	remove(path);
	remove(folder);
}

static const struct test tests[] = {
	TEST(guests_with_a_link_get_no_second_one),
	TEST(a_fault_of_a_machine_is_one_of_its_guests),
	TEST(instances_of_each_gpu_are_summed_by_themselves),
	TEST(a_fault_of_a_machine_leaves_those_with_longer_names),
};

int main(void)
{
	num_init();
	arena = arena_new();
	int result = TEST_MAIN(tests);
	arena_free(arena);
	return result;
}
