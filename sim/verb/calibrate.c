/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire calibrate: measures this machine's GPU, driver and links with farwire-probe, fits the
 * recording, and writes a profile and a page with the results. */
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/verb/calibration.h"
#include "sim/base/lines.h"
#include "sim/report/report.h"
#include "sim/verb/verbs.h"

extern char **environ;

enum { NO_GPU = 77, PATH_MAX_B = 4096, SPAWN_FAILED = 127 };

static bool is_there(const char *path)
{
	struct stat about;
	return stat(path, &about) == 0;
}

/* ---- measuring ---- */

/* Returns $FARWIRE_PROBE, or farwire-probe in the folder of this program, or NULL. */
static const char *probe_program(struct arena *arena)
{
	const char *given = getenv("FARWIRE_PROBE");
	char path[PATH_MAX_B];
	if (given && *given)
		return given;
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	char *slash = length > 0 ? (path[length] = '\0', strrchr(path, '/')) : NULL;
	if (!slash)
		return NULL;
	const char *program = arena_printf(arena, "%.*s/farwire-probe", (int)(slash - path), path);
	return access(program, X_OK) == 0 ? program : NULL;
}

/* Runs a program until it ends, and returns its exit code. After an interrupt (SIGINT) the probe
 * saves its samples and ends with this signal; this program then does the same. */
static int run_program(const char *program, char *const *words)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	pid_t child;
	int status = 0;
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGINT);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	sigaction(SIGINT, &ignored, &before);
	int error = posix_spawn(&child, program, NULL, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	if (error)
		fprintf(stderr, "farwire: cannot run '%s': %s\n", program, strerror(error));
	while (!error && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &before, NULL);
	if (error)
		return SPAWN_FAILED;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
		raise(SIGINT);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* Measures the GPU into the file `path`. If the file exists, the probe continues it. */
static int measure(const struct command *command, const char *path)
{
	const char *program = probe_program(command->arena);
	const char *words[12];
	size_t count = 0;
	if (!program)
		return NO_GPU;
	words[count++] = program;
	words[count++] = command->full ? "--full" : "--quick";
	words[count++] = is_there(path) ? "--continue" : "-o";
	words[count++] = path;
	words[count++] = "--seed";
	words[count++] = arena_printf(command->arena, "%llu", (unsigned long long)command->seed);
	if (command->budget_s > 0) {
		words[count++] = "--budget";
		words[count++] = arena_printf(command->arena, "%.9g", command->budget_s);
	}
	if (command->quiet)
		words[count++] = "-q";
	char **copy = ARENA_ARRAY(command->arena, count + 1, char *);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_strdup(command->arena, words[i]);
	return run_program(program, copy);
}

/* Returns whether the recording's last line is an end line. The probe writes one when the recording
 * is complete, and when the time of a run has passed. */
static bool has_end(const char *path)
{
	char tail[PATH_MAX_B] = "";
	const char *why;
	FILE *in = file_once(path, &why);
	if (!in)
		return false;
	if (fseek(in, 1 - (long)sizeof tail, SEEK_END) != 0)
		rewind(in);
	size_t length = fread(tail, 1, sizeof tail - 1, in);
	fclose(in);
	if (length > 0 && tail[length - 1] == '\n')
		tail[--length] = '\0';
	const char *newline = strrchr(tail, '\n');
	return newline && strncmp(newline + 1, "{\"end\":", 7) == 0;
}

/* ---- measuring and fitting ---- */

struct calibrating_machine {
	const struct command *command;
	struct report *report;
	const struct calibration *calibration; /* NULL: nothing was fitted */
	int gates;                             /* exit code of the gates */
	bool unfinished;
};

static int fit(struct calibrating_machine *m, const char *path)
{
	int code = EXIT_DONE;
	struct arena *arena = m->command->arena;
	const struct calibration *calibration = calibration_of(m->command, path, &code);
	if (!calibration)
		return code;
	if (!m->command->quiet)
		printf("%s: %s\n",
		       calibration->recording->gpu ? calibration->recording->gpu
						   : calibration->recording->cpu,
		       calibration_words(arena, calibration));
	const char *unfitted = calibration_unfitted(arena, calibration);
	if (*unfitted && !m->command->quiet)
		printf("  nothing was fitted of: %s\n", unfitted);
	report_calibration(m->report, calibration);
	m->calibration = calibration;
	m->gates = calibration_gates(calibration);
	return EXIT_DONE;
}

/* Fits a recording that has an end line, even if the time was too short or the machine drifted.
 * code is the exit code of the measurement. */
static int fit_measured(struct calibrating_machine *m, const char *path, int code)
{
	if (code == EXIT_FAILED && has_end(path)) {
		m->unfinished = true;
		code = EXIT_DONE;
	}
	if (code == EXIT_DONE)
		return fit(m, path);
	if (code == NO_GPU)
		return command_stop(EXIT_FAILED,
				    "there is no GPU to measure, or no farwire-probe in the folder "
				    "of this program (build it with nvcc, or set FARWIRE_PROBE; "
				    "docs/calibration.md names the tools that measure a host)");
	if (!is_there(path))
		return command_stop(
			EXIT_FAILED,
			"the measurement ended with exit code %d before its first sample", code);
	return command_stop(EXIT_FAILED,
			    "the measurement ended with exit code %d; %s keeps the samples, and "
			    "the same command continues",
			    code, path);
}

/* Warns before measuring if other programs kept cores busy during the last minute. */
static void warn_if_busy(void)
{
	const double most = 0.5;
	double load = 0;
	FILE *in = fopen("/proc/loadavg", "r");
	if (in && fscanf(in, "%lf", &load) == 1 && load > most)
		fprintf(stderr,
			"farwire: this machine is busy: %.1f threads ran on average in the last "
			"minute (stop other programs, because they distort measurements)\n",
			load);
	if (in)
		fclose(in);
}

static int run(const struct command *command)
{
	const char *folder = command->output;
	if (strcmp(folder, "-") == 0)
		return command_stop(EXIT_USAGE, "-o -: `farwire calibrate` writes into a folder, "
						"not to the standard output (write -o FOLDER)");
	if (mkdir(folder, 0777) != 0 && errno != EEXIST)
		return command_stop(EXIT_FAILED, "cannot create the folder '%s': %s", folder,
				    strerror(errno));
	struct calibrating_machine m = {.command = command};
	const struct report_request request = {.title = "How fast is this machine?",
					       .caption = command_caption_of(command),
					       .options = command_predict(command),
					       .data_root = command->data_root};
	m.report = report_begin(command->arena, &request);
	m.report->by = arena_printf(command->arena, "Measured by farwire %s.", FARWIRE_VERSION);
	if (!command->quiet)
		warn_if_busy();
	const char *recording = arena_printf(command->arena, "%s/gpu.jsonl", folder);
	int code = fit_measured(&m, recording, measure(command, recording));
	diag_print(m.report->diag, stderr);
	if (!m.calibration)
		return code == EXIT_DONE ? EXIT_FAILED : code;
	const char *page = arena_printf(command->arena, "%s/report.html", folder);
	const char *profile = arena_printf(command->arena, "%s/profile.cfg", folder);
	int saved = calibration_save(command, &m.calibration, 1, profile);
	if (saved == EXIT_DONE)
		saved = write_file(page, report_html, m.report);
	if (saved == EXIT_DONE && !command->quiet)
		printf("The profile: %s\nThe report: %s\n", profile, page);
	code = m.unfinished ? EXIT_FAILED : saved;
	return code == EXIT_DONE ? m.gates : code;
}

const struct verb verb_calibrate = {
	.name = "calibrate",
	.words = "",
	.help = "measures the GPU of this machine, fits a profile and writes a report",
	.examples = "  farwire calibrate                  # into the folder calibration/\n"
		    "  farwire calibrate --full -o my-server\n"
		    "  farwire run --topology dgx-h100 --profile calibration/profile.cfg\n",
	.options = "output=calibration quick full budget seed quiet",
	.run = run,
};
