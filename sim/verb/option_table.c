/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verb/options.h"
#include "sim/verb/verb.h"

#define FIELD(name) .offset = offsetof(struct command, name)
#define REPORTED                                                                                   \
	"words:ratio efficiency speedup throughput bus_bandwidth step time gpu_utilization "       \
	"training_time elapsed goodput failures gpu_hours exposed bubble input_wait tokens "       \
	"tokens_gpu tflops_gpu mfu hfu "                                                           \
	"latency_p50 latency_p99 first_token_p99 between_tokens_p99 slo_attainment"

static const struct option options[] = {
	{OPTION_HEADING, .name = "The case"},
	{OPTION_CASE, .name = "topology", .value = "NAME", .complete = "names:topologies",
	 .help = "topology, by the name of a shipped one or as a .cfg file; it replaces a case "
		 "file; `plan` and `compare` accept several: a,b,c"},
	{OPTION_CASE, .name = "model", .value = "NAME", .complete = "names:models",
	 .help = "neural network to train"},
	{OPTION_CASE, .name = "calls", .value = "FILE", .complete = "files:jsonl",
	 .help = "call file of a recorded program (farwire-trace, `farwire import kineto`) or name "
		 "of "
		 "a shipped one (`farwire list programs`), which replaces model and stack"},
	{OPTION_CASE, .name = "stack", .value = "NAME", .complete = "names:stacks",
	 .help = "framework and benchmark code that run the training"},
	{OPTION_CASE, .name = "engine", .value = "NAME", .complete = "names:engines",
	 .help = "model server that serves the requests, for example vllm"},
	{OPTION_CASE, .name = "runtime", .value = "NAME", .complete = "names:runtimes none",
	 .help = "remoting runtime that forwards the CUDA calls; none selects the local driver"},
	{OPTION_CASE, .name = "transport", .value = "NAME", .complete = "names:transports",
	 .help = "transport of forwarded calls and of gradients between hosts (`farwire list "
		 "transports`); auto selects rdma for jobs on InfiniBand or RoCE, and otherwise "
		 "tcp"},
	{OPTION_CASE, .name = "profile", .value = "NAME", .complete = "names:profiles",
	 .help = "profile with fitted parameters"},
	{OPTION_CASE, .name = "program", .value = "GUEST",
	 .help = "guest in which the program runs; by default the guest of its GPU"},
	{OPTION_CASE, .name = "server", .value = "GUEST",
	 .help = "guest in which the server of the remoting runtime runs; by default the first "
		 "guest of the GPU's host"},
	{OPTION_CASE, .name = "gpu", .value = "GPU", .help = "GPU that the program uses"},
	{OPTION_CASE, .name = "batch", .value = "N",
	 .help = "number of images in a step of one client or GPU"},
	{OPTION_CASE, .name = "fraction", .value = "X",
	 .help = "share of the GPU that the program may use, above 0 and up to 1"},
	{OPTION_CASE, .name = "copies", .value = "N",
	 .help = "number of identical clients, or replicas of a model server, that run at the same "
		 "time"},
	{OPTION_CASE, .name = "gpus", .value = "N",
	 .help = "number of GPUs of a data-parallel training job, which fills one machine after "
		 "the other"},
	{OPTION_CASE, .name = "tokens", .value = "N",
	 .help = "number of tokens of a whole training, for example 15e12, whose time is printed"},
	{OPTION_CASE, .name = "prices", .value = "NAME", .complete = "names:prices",
	 .help = "prices and power of machines and GPUs, from which costs and energy follow"},
	{OPTION_CASE, .name = "devices", .value = "0,2,...",
	 .help = "GPUs of each machine that the programs see, by index or name and in the order of "
		 "ranks, as in CUDA_VISIBLE_DEVICES"},
	{OPTION_CASE, .name = "adapters", .value = "NAME,...",
	 .help = "adapters of each machine that the programs use, as in NCCL_IB_HCA: "
		 "mlx5_0,mlx5_1, =mlx5_1 for a whole name, or ^mlx5_0 for all others"},
	{OPTION_CASE, .name = "fail", .value = "NAME,...",
	 .help = "links, GPUs, adapters or machines that have failed, by their names in the "
		 "topology: n0.nv0 of one machine, or nv0 of each"},
	{OPTION_CASE, .name = "degrade", .value = "NAME=FACTOR,...",
	 .help = "links, GPUs, adapters or machines with a part of their rate, for example "
		 "n0.nic0=0.5"},
	{OPTION_GROUP, .name = "plan", .value = "tp=8,pp=4,...",
	 .help = "splits a transformer over the job's GPUs; short for --set plan.tp=8 and so on "
		 "(`farwire list parameters` shows the keys); names of Megatron-LM and other tools "
		 "are allowed, too"},
	{OPTION_GROUP, .name = "serve", .value = "rate=10,prompt=512,...",
	 .help = "serves requests with the network, on as many replicas as --copies says; short "
		 "for --set serve.rate=10 and so on"},
	{OPTION_CASE, .name = "exchange", .value = "NAME", .complete = "names:exchanges",
	 .help = "library and policy by which the job exchanges gradients"},
	{OPTION_CASE, .name = "collective", .value = "NAME",
	 .complete = "words:all_reduce reduce_scatter all_gather broadcast all_to_all",
	 .help = "collective to repeat without any training"},
	{OPTION_CASE, .name = "events", .value = "N",
	 .help = "largest number of events of a run, 100 million by default; a run that needs more "
		 "has failed"},
	{OPTION_SETTING, .name = "set", .value = "KEY=VALUE",
	 .help = "sets a parameter, for example 'link.wire.latency=200 us'; repeatable"},
	{OPTION_HEADING, .name = "The question"},
	{OPTION_TEXT, .name = "gpus", .value = "1,2,4,...", FIELD(gpus),
	 .help = "numbers of GPUs to predict, as a list or a range such as 1:1024:log11; by "
		 "default 1, 2, 4 ... up to the case's own number or the whole topology"},
	{OPTION_TEXT, .name = "users", .value = "N|HOURS:N,...", FIELD(users),
	 .help = "number of users, or their numbers by hour of the day, for example "
		 "0-7:5,8-17:40"},
	{OPTION_TEXT, .name = "active", .value = "PERCENT|RATE", FIELD(active),
	 .help = "part of the time in which a user works with a GPU if no other user delays the "
		 "work; for a model server, requests/s of each user"},
	{OPTION_TEXTS, .name = "vary", .value = "KEY=a,b,c|lo:hi:logN|lo:hi:linN", FIELD(vary),
	 .help = "parameter and the values that it takes; each further --vary adds an axis to the "
		 "grid"},
	{OPTION_TEXT, .name = "target", .value = "NUMBER>=VALUE", FIELD(target),
	 .complete = REPORTED,
	 .help = "condition to satisfy, for example 'ratio>=0.95' or 'step<=250 ms'"},
	{OPTION_TEXT, .name = "of", .value = "NUMBER", FIELD(of), .complete = REPORTED,
	 .help = "result whose sensitivity is computed; by default the ratio, the efficiency of a "
		 "job or the bus bandwidth of a collective"},
	{OPTION_TEXTS, .name = "for", .value = "KEY", FIELD(keys),
	 .help = "for solve, the parameter to solve for; for sensitivity, a text that the names of "
		 "the ranked parameters contain (repeatable); for explore, a number to add to the "
		 "page (repeatable)"},
	{OPTION_TEXT, .name = "between", .value = "LO:HI", FIELD(between),
	 .help = "range to search, with units; by default a range around the current value"},
	{OPTION_PART, .name = "vary-all", .value = "PERCENT", FIELD(vary_all_ratio),
	 .help = "percentage by which each parameter is changed in turn, to compute elasticities "
		 "instead of the effect of its interval"},
	{OPTION_COUNT, .name = "best", .value = "N", FIELD(best_count), .least = 1, .most = 1000,
	 .initial = "10", .help = "number of plans to print; fewer are found sooner"},
	{OPTION_ON, .name = "exhaustive", FIELD(exhaustive),
	 .help = "simulates all plans that fit into memory, also those that cannot be among the "
		 "best"},
	{OPTION_HEADING, .name = "How it is predicted"},
	{OPTION_COUNT, .name = "seed", .value = "N", FIELD(seed), .most = UINT64_MAX / 2,
	 .initial = "1", .help = "seed of all random numbers; the same seed gives the same output"},
	{OPTION_COUNT, .name = "draws", .value = "N", FIELD(draws), .most = 100000, .initial = "24",
	 .swept = "8",
	 .help = "number of parameter draws behind each interval; 0 turns intervals off; the file "
		 "of a dataset can state a smaller default"},
	{OPTION_COUNT, .name = "jobs", .value = "N", FIELD(jobs), .most = 1024,
	 .help = "number of threads, without effect on results; by default one for each core"},
	{OPTION_ON, .name = "leave-out-systems", FIELD(leave_out_systems),
	 .help = "predicts the rows of each measured system without the parameters that were "
		 "fitted to it, and prints how many lie in their intervals; with DATASET, of its "
		 "systems only"},
	{OPTION_HEADING, .name = "Measurements"},
	{OPTION_PART, .name = "noise", .value = "PERCENT", FIELD(noise_ratio),
	 .help = "standard deviation of measured times around a right prediction, as a part of "
		 "them; by default what validation shows for such a machine (5 to 18 %)"},
	{OPTION_TEXT, .name = "step", .value = "TIME", FIELD(step),
	 .help = "measured step time of the case, for example 1.78s"},
	{OPTION_TEXT, .name = "gpu", .value = "NAME|NAME=GPU", FIELD(gpu),
	 .help = "GPU whose rows are imported; NAME=GPU names its file, as in h100_sxm=h100-sxm5"},
	{OPTION_TEXT, .name = "link", .value = "NAME", FIELD(link),
	 .help = "link of a topology that the logs measured: writes a profile with its bandwidth, "
		 "latency and loss instead of samples"},
	{OPTION_OFF, .name = "quick", FIELD(full),
	 .help = "measures three passes over some points in one or two minutes (the default)"},
	{OPTION_ON, .name = "full", FIELD(full),
	 .help = "measures ten passes over more points, within ten minutes"},
	{OPTION_SECONDS, .name = "budget", .value = "SECONDS", FIELD(budget_s),
	 .help = "time after which the measurement stops"},
	{OPTION_HEADING, .name = "Output"},
	{OPTION_CHOICE, .name = "format", .value = "table|csv|json|jsonl", FIELD(format),
	 .initial = "table", .help = "format of the results"},
	{OPTION_TEXT, .letter = 'o', .name = "output", .value = "FILE", FIELD(output),
	 .initial = "-", .complete = "files:*",
	 .help = "output file, written atomically, or a folder for several files; - is the "
		 "standard output"},
	{OPTION_IMAGE, .name = "plot", .value = "FILE.svg|pdf|png", FIELD(plot),
	 .complete = "files:@(svg|pdf|png)", .help = "image file for a chart of the result"},
	{OPTION_ON, .name = "no-data", FIELD(no_data),
	 .help = "writes no FILE.csv with the numbers of the image beside it"},
	{OPTION_TEXT, .name = "trace", .value = "FILE.json", FIELD(trace), .complete = "files:json",
	 .help = "file for the timeline of the first case, which ui.perfetto.dev can show"},
	{OPTION_IMAGE, .name = "timeline", .value = "FILE.svg|pdf|png", FIELD(timeline),
	 .complete = "files:@(svg|pdf|png)",
	 .help = "image file for one step of the first case's plan: passes, communication and "
		 "bubble of each stage over time"},
	{OPTION_ON, .name = "all-ranks", FIELD(all_ranks),
	 .help = "draws all ranks in --timeline, instead of one for each stage"},
	{OPTION_TEXT, .name = "title", .value = "TEXT", FIELD(title),
	 .help = "title of plots and reports, for example the question that they answer"},
	{OPTION_ON, .name = "links", FIELD(links),
	 .help = "prints the most used links of a single case"},
	{OPTION_ON, .name = "wide", FIELD(wide),
	 .help = "prints tables in one piece; on a terminal, columns beyond its width (COLUMNS) "
		 "otherwise follow below"},
	{OPTION_CHOICE, .name = "color", .value = "auto|always|never", FIELD(color),
	 .initial = "auto", .help = "use of colours on a terminal"},
	{OPTION_COUNT, .name = "port", .value = "N", FIELD(port), .most = 65535, .initial = "0",
	 .help = "port of 127.0.0.1 on which the page is served; 0 selects a free one"},
	{OPTION_ON, .letter = 'q', .name = "quiet", FIELD(quiet),
	 .help = "prints only results, warnings and errors: no progress, no notes, no report of "
		 "what was written or fitted, and no `would help` or `changes nothing here`"},
	{OPTION_ON, .name = "plain", FIELD(plain), .help = "prints only names, one per line"},
};

size_t option_count(void)
{
	return sizeof options / sizeof options[0];
}

const struct option *option_at(size_t index)
{
	return &options[index];
}

/* Finds the word prefix + name in a list, where "=value" may follow it. Returns a pointer to it in
 * the list, or NULL. */
static const char *find_word(const char *list, const char *prefix, const char *name)
{
	size_t before = strlen(prefix), length = strlen(name);
	for (const char *word = list; *word; word += strspn(word, " ")) {
		size_t size = strcspn(word, " =");
		if (size == before + length && memcmp(word, prefix, before) == 0 &&
		    memcmp(word + before, name, length) == 0)
			return word;
		word += strcspn(word, " ");
	}
	return NULL;
}

bool option_taken(const struct verb *verb, const struct option *option)
{
	bool own = find_word(verb->options, "", option->name);
	if (option->kind != OPTION_CASE)
		return own && option->kind != OPTION_HEADING;
	return verb_has_cases(verb) ? !own
				    : find_word(verb->options, "case.", option->name) != NULL;
}

const char *option_initial(struct arena *arena, const struct verb *verb,
			   const struct option *option)
{
	const char *word = find_word(verb->options, "", option->name);
	const char *text = word ? word + strlen(option->name) : "";
	if (*text != '=')
		return option->initial;
	return arena_printf(arena, "%.*s", (int)strcspn(text + 1, " "), text + 1);
}
