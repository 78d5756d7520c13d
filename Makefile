# SPDX-License-Identifier: GPL-3.0-or-later
# Everything is built in build/ (variants in build-debug/, build-asan/ ...). The flags for the
# libraries come from pkg-config and are kept in $(BUILD)/config.mk. If a library is missing,
# `make run` and `make test` install it, and every other target prints the command that does.

VARIANT ?= release
BUILD ?= build$(if $(filter-out release,$(VARIANT)),-$(VARIANT))
ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX ?= /usr/local
DESTDIR ?=
PKGS := libconfig gsl cairo yajl nettle yaml-0.1 expat sqlite3 zlib libmicrohttpd

.DEFAULT_GOAL := all
ifeq ($(MAKELEVEL),0) # a -j on the command line overrides it
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
MAKEFLAGS += --no-builtin-rules

# ---- flags ----

VARIANTS := release debug fast shared asan tsan coverage fuzz fuzz-fast
ifeq (,$(filter $(VARIANT),$(VARIANTS)))
$(error VARIANT=$(VARIANT) is unknown (write one of: $(VARIANTS)))
endif
# Tests are not optimised, because they would take four times as long to compile. -g1 gives backtraces
# their functions and lines, and VARIANT=debug has the rest, which makes compilers a sixth slower.
FLAGS_debug := -O0 -g3
FLAGS_fast := -O3 -g1
# For `make mutants`: programs take the library when they start, so they are linked only once.
FLAGS_shared := -O1 -fPIC
FLAGS_asan = $(if $(filter $(TESTS),$<),-O0,-O1) -g1 -DFARWIRE_SANITIZED -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS_tsan := -O1 -g1 -DFARWIRE_SANITIZED -fsanitize=thread
# Counts are right with threads, and counts of several programs are added.
FLAGS_coverage := -O1 -g --coverage -fprofile-update=atomic
# Only comparisons in readers depend on the bytes of a file, so only those are traced.
RUNNING := sim/engine/% sim/fabric/% sim/host/% sim/transport/% sim/gpu/% sim/cuda/% \
	sim/remoting/% sim/collective/% sim/training/% sim/workload/%
FLAGS_fuzz = $(FLAGS_asan) -O2 -fsanitize=fuzzer-no-link -DFARWIRE_LIBFUZZER \
	$(if $(filter $(RUNNING),$<),-fno-sanitize-coverage=trace-cmp)
# For the target `worlds`: several times as many runs per second. Numbers that overflow,
# assertions and violated invariants still end a run. Errors that only ASan finds do not.
ARITHMETIC := -fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow
FLAGS_fuzz-fast := -O2 -g -fsanitize=fuzzer-no-link $(ARITHMETIC) -fsanitize-trap=undefined \
	-fno-sanitize-coverage=trace-cmp -DFARWIRE_LIBFUZZER
# gcc optimises these folders across files when it links farwire and benchmarks, which makes the
# simulation of calls a tenth faster, and with -O3, which makes it another twentieth faster. Tests are linked without that, because it takes seconds.
LINKED := $(filter-out sim/collective/% sim/training/%,$(RUNNING)) sim/serving/%
LTO := $(if $(filter release,$(VARIANT)),$(findstring Free Software,$(shell $(CC) --version 2>/dev/null)))
FLAGS_release = $(if $(filter $(TESTS),$<),-O0,-O2) -g1 \
	$(if $(LTO),$(if $(filter $(LINKED),$<),-O3 -flto -ffat-lto-objects))
# Callbacks of one type need not use every parameter of it.
WARNINGS := -Wall -Wextra -Wno-unused-parameter -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla
WERROR := -Werror
# A folder with additional kinds: *.c files, and lists of them in kinds/ (sim/base/registry.h).
KINDS ?=
# CFLAGS and LDFLAGS of the user come after these, so they override them.
FLAGS = -std=c17 -D_POSIX_C_SOURCE=200809L -I. $(KINDS:%=-I%) -ffp-contract=off -pthread \
	$(WARNINGS) $(WERROR) $(FLAGS_$(VARIANT)) $(PKG_CFLAGS)
LINK_FLAGS = -pthread $(if $(LTO),$(LINK_LTO)) $(filter -fsanitize=% --coverage,$(FLAGS_$(VARIANT)))
# libconfig does not check its allocations (sim/base/memory.c). The linker takes the checks from
# libfarwire.a also for programs that call them nowhere: libgcov does.
WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup
CHECKED := -Wl,--undefined=__wrap_malloc $(WRAP) -l:libconfig.a
LIBS = $(if $(CONFIG_STATIC),$(PKG_LIBS:-lconfig=$(CHECKED)),$(PKG_LIBS)) -lm

# ---- sources, tests and data ----

SOURCES := $(sort $(wildcard sim/*/*.c plots/*.c calib/fit/*.c calib/sample/*.c $(KINDS:%=%/*.c)))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
TEST_FOLDERS := unit analytic property golden reject recorded fuzz
TESTS := $(sort $(wildcard $(TEST_FOLDERS:%=tests/%/*.c)))
TEST_PROGRAMS := $(TESTS:%.c=$(BUILD)/%)
# The report of `make run` shows datasets with measurements, then what-ifs without. Datasets whose
# intervals take long are left out: dlperf_v100, fsdp_mpt, nvidia_mxnet_dgx2, openmpi_tcp.
DATASETS := ddl_p100 c4140_v100 nvidia_mxnet_resnet50 mlperf_resnet50 \
	tensorflow_benchmarks_2017 \
	nccl_allreduce_a100_nvswitch nccl_allreduce_2nodes nccl_allreduce_p5 closer2018_gtx1080 \
	flexdirect_1050ti bitfusion_networks tensorflow_ec2_distributed \
	kernels_2017 kernels_v100 kernels_mxnet kernels_mpt \
	nccl_hopper_1node nccl_allreduce_v100_mesh
RECORDINGS := calib/measured/recorded/loopback-spin.jsonl
WHAT_IFS := $(sort $(basename $(notdir $(shell grep -L 'slow = true' topologies/what-ifs/*.cfg))))
DATA := topologies models calib

# farwire-probe needs nvcc, which takes half a minute, so only the default build has it.
ROOT := .
NVCC ?= $(if $(filter build,$(BUILD)),$(firstword $(shell command -v nvcc 2>/dev/null) \
	$(wildcard /usr/local/cuda/bin/nvcc)))
include calib/probe/rules.mk
include tests/fake_gpu/rules.mk
include tests/tcp_probe/rules.mk

.PHONY: all
all: $(BUILD)/farwire $(PROBES)

.PHONY: help
help:
	@echo 'make             builds build/farwire and, with nvcc and mpicc, farwire-probe and libfarwire-mpi.so'
	@echo 'make run         installs missing packages, builds, predicts every shipped measurement,'
	@echo '                 answers the shipped what-ifs, writes build/report.html'
	@echo 'make test        installs missing packages, builds and runs the tests (about 8 minutes on two cores)'
	@echo 'make test-long   runs tests with sanitizers and clang, and compares the bytes of all builds'
	@echo 'make core        builds the simulator without importers, reports, charts, fits and verbs, and'
	@echo '                 runs the tests that need no more'
	@echo 'make coverage    prints the share of lines that the tests run, by folder'
	@echo 'make mutants     changes over 1,200 places, one at a time, and prints which changes no test notices'
	@echo 'make fuzz        invents inputs for every reader, FUZZ_S seconds (60) each, and adds those'
	@echo '                 that reach new code to tests/fuzz/corpus; needs clang'
	@echo 'make bench       compares the core with other programs and predictions with TCP on this machine,'
	@echo '                 which should do no other work'
	@echo 'make mpi         builds build/libfarwire-mpi.so for sweeps over many machines; needs mpicc'
	@echo 'make install     installs into PREFIX (/usr/local), under DESTDIR if given; make uninstall removes it'
	@echo 'make deb         writes a Debian package into build/, which needs dpkg-dev'
	@echo 'make wheel       writes a Python wheel with the program and its data into build/'
	@echo 'make accuracy    writes the present predictions into docs/ACCURACY.md and the README'
	@echo 'make documents   does the same, and writes the outputs in docs and docs/images'
	@echo 'make tidy        checks the rules of the code: layers, sizes, licences, names (part of make test)'
	@echo 'make format      runs clang-format on all C files'
	@echo 'make clean       removes build/ and build-*/'
	@echo
	@echo 'VARIANT=release|debug|fast|shared|asan|tsan|coverage|fuzz|fuzz-fast   builds each in its own folder'
	@echo 'CC=clang BUILD=build-clang             builds with another compiler in another folder'
	@echo 'KINDS=FOLDER BUILD=build-more          also compiles the kinds of a folder (CONTRIBUTING.md)'
	@echo 'CFLAGS=... LDFLAGS=...                 adds these flags after those of the project'
	@echo 'WERROR=                                does not turn warnings into errors;  V=1  shows the commands'

# ---- set-up ----

GOALS := $(or $(MAKECMDGOALS),all)
NO_BUILD := help clean format tidy test-long uninstall fuzz coverage
ifneq (,$(filter-out $(NO_BUILD),$(GOALS)))
include $(BUILD)/config.mk
endif

# For the two commands of the README missing packages are installed. The other targets print the
# command that installs them.
DEPS_MODE := $(if $(filter run test,$(GOALS)),,--check)
$(BUILD)/config.mk: Makefile tools/install-deps
	@tools/install-deps $(DEPS_MODE)
	@mkdir -p $(@D)
	@printf 'PKG_CFLAGS := %s\nPKG_LIBS := %s\n' "$$(pkg-config --cflags $(PKGS))" \
		"$$(pkg-config --libs $(PKGS))" >$@.tmp
	@ls "$$(pkg-config --variable=libdir libconfig)"/libconfig.a 2>/dev/null | \
		sed 's/^/CONFIG_STATIC := /' >>$@.tmp
	@mv $@.tmp $@

# ---- building ----

BENCHES := queue_farwire fabric_farwire calls_farwire flows_farwire

# Each step prints a word and a file; V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@echo '  $1' $@)

LINK_LTO := -fno-lto
LIBRARY := $(BUILD)/libfarwire.$(if $(filter shared,$(VARIANT)),so,a)
$(BUILD)/farwire $(BENCHES:%=$(BUILD)/tests/bench/%): LINK_LTO := -flto=auto
$(BUILD)/farwire: $(BUILD)/sim/main.o $(LIBRARY)
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(LIBS)

# `farwire --version` prints the commit. Only main.o depends on it, so tests are not linked again.
# A package is built without Git and sets COMMIT=... itself.
COMMIT ?= $(if $(wildcard .git),$(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null))
$(BUILD)/sim/main.o: CPPFLAGS += $(if $(COMMIT),-DFARWIRE_COMMIT='" ($(COMMIT))"')
$(BUILD)/sim/main.o: $(BUILD)/commit
$(BUILD)/commit: always
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@
.PHONY: always

$(BUILD)/libfarwire.a: $(OBJECTS)
	$(call say,AR  )
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/libfarwire.so: $(OBJECTS)
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -shared -Wl,-soname,$(@F) $(if $(CONFIG_STATIC),$(WRAP)) -o $@ $^

$(BUILD)/%.o: %.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The program with one additional kind of each sort: only registries are compiled again.
TOYS := $(wildcard tests/toys/*.c) $(shell grep -l 'struct registry_row ' sim/*/*.c)
TOY_OBJECTS := $(TOYS:%.c=$(BUILD)/toys/%.o)

$(BUILD)/farwire-toys: $(BUILD)/sim/main.o $(TOY_OBJECTS) $(LIBRARY)
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(LIBS)

$(BUILD)/toys/%.o: KINDS := tests/toys
$(BUILD)/toys/%.o: %.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(TEST_PROGRAMS): $(BUILD)/%: $(BUILD)/%.o $(LIBRARY)
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(LIBS)

# The simulator without importers, reports, charts, fits and verbs, and the tests that need no more.
CORE := base engine cfg json fabric host transport gpu cuda remoting collective traces training \
	serving workload scenario result predict analysis
CORE_OBJECTS := $(filter $(CORE:%=$(BUILD)/sim/%/%) $(BUILD)/calib/sample/%,$(OBJECTS))
CORE_TESTS := $(shell grep -LE '"(sim/(import|report|verb)|plots|calib|tests/golden/sample.*)/?' $(TESTS))
CORE_PROGRAMS := $(CORE_TESTS:%.c=$(BUILD)/core/%)
$(BUILD)/libfarwire-core.a: $(CORE_OBJECTS)
	$(call say,AR  )
	$(Q)rm -f $@ && ar rcs $@ $^

$(CORE_PROGRAMS): $(BUILD)/core/%: $(BUILD)/%.o $(BUILD)/libfarwire-core.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(LIBS)

# Shows in one link that the core needs nothing else.
$(BUILD)/core/alone: $(BUILD)/libfarwire-core.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)echo 'int main(void) { return 0; }' | $(CC) $(LINK_FLAGS) -o $@ -x c - -x none \
		-Wl,--whole-archive $< -Wl,--no-whole-archive $(LDFLAGS) $(LIBS)

.PHONY: core core-programs
core-programs: $(CORE_PROGRAMS)
core: core-programs
	@tests/run --built $(BUILD)/core

# The sources of tests/fuzz, with libFuzzer's main function instead of the replay.
FUZZ_PROGRAMS := $(patsubst %,$(BUILD)/%_fuzzer,$(basename $(wildcard tests/fuzz/*.c)))
$(FUZZ_PROGRAMS): $(BUILD)/%_fuzzer: $(BUILD)/%.o $(BUILD)/libfarwire.a
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LDFLAGS) $(LIBS)

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_PROGRAMS)

# Programs that `make bench` compares with farwire, if this machine has them.
CXX_FLAGS := -std=c++17 -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror -I.
PEERS := $(if $(shell command -v g++ 2>/dev/null),queue_std \
	$(if $(wildcard /usr/include/simgrid/s4u.hpp),fabric_simgrid flows_simgrid))
BENCH_PROGRAMS := $(BENCHES:%=$(BUILD)/tests/bench/%) $(PEERS:%=$(BUILD)/tests/bench/%)

$(BENCHES:%=$(BUILD)/tests/bench/%): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libfarwire.a
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(LIBS)

$(PEERS:%=$(BUILD)/tests/bench/%): $(BUILD)/%: %.cc
	@mkdir -p $(@D)
	$(call say,CXX )
	$(Q)g++ $(CXX_FLAGS) -MMD -MP -MF $@.d -o $@ $< $(if $(filter %simgrid,$@),-lsimgrid)

.PHONY: bench-programs
bench-programs: $(BENCH_PROGRAMS) $(TCP_PROBE)

.PHONY: test-programs
test-programs: $(TEST_PROGRAMS) $(BUILD)/farwire $(BUILD)/farwire-toys

# ---- running ----

.PHONY: run
run: $(BUILD)/farwire
	@$(BUILD)/farwire report $(DATASETS) $(RECORDINGS) $(WHAT_IFS) -o $(BUILD)/report.html \
		--title 'What wires between GPUs and their work cost: measured, and never measured'; code=$$?; \
	test $$code = 0 || test $$code = 3 || exit $$code; \
	test $$code = 0 || echo 'Some claims are broken, as the report shows (docs/ACCURACY.md gives the reasons).'; \
	echo 'The report is $(BUILD)/report.html'

.PHONY: test
test: test-programs $(PROBES) $(FAKE_PROBE) $(FORWARD_PROBE) mpi
	@tests/run $(BUILD)

# Tests of `mpirun farwire sweep` need MPI and are skipped without it.
.PHONY: test-mpi
test-mpi:
	@tools/install-deps --mpi || echo 'skipped: tests that need MPI'
ifneq (,$(filter test,$(GOALS)))
mpi: test-mpi
endif

.PHONY: test-long
test-long:
	@tests/long/run

.PHONY: coverage
coverage:
	@$(MAKE) --no-print-directory VARIANT=coverage test-programs mpi
	@tests/long/lines build-coverage

.PHONY: mutants
mutants:
	@tests/mutants/run

.PHONY: fuzz
fuzz:
	@$(MAKE) --no-print-directory CC=clang BUILD=build-fuzz VARIANT=fuzz NVCC= fuzz-programs
	@tests/fuzz/run build-fuzz && tests/fuzz/run build-fuzz --merge

.PHONY: bench
bench: $(BUILD)/farwire $(FAKE_PROBE) bench-programs
	@FARWIRE=$(BUILD)/farwire tests/bench/run

.PHONY: accuracy
accuracy: $(BUILD)/farwire
	@FARWIRE=$(BUILD)/farwire tools/accuracy

.PHONY: documents
documents: accuracy $(BUILD)/tests/golden/test_options
	@FARWIRE_GOLDEN=write $(BUILD)/tests/golden/test_options
	@FARWIRE=$(BUILD)/farwire tests/analytic/what_ifs.sh --write
	@FARWIRE=$(BUILD)/farwire tests/recorded/questions.sh --write docs/questions.md docs/tutorial.md docs/recipes.md docs/diagnose.md
	@FARWIRE=$(BUILD)/farwire tools/images

.PHONY: tidy
tidy:
	@tests/run --tidy

.PHONY: format
format:
	clang-format -i $$(find sim plots calib mpi tests -name '*.[ch]')

# ---- installing ----

.PHONY: deb
deb: $(BUILD)/farwire mpi
	@command -v dpkg-shlibdeps >/dev/null || \
		{ echo 'make deb needs dpkg-dev: apt-get install dpkg-dev' >&2; exit 2; }
	@$(MAKE) --no-print-directory -sf packaging/debian/rules BUILD=$(BUILD)

# The wheel has the shared libraries that the program needs, so pip installs it without others.
.PHONY: wheel
wheel: $(BUILD)/farwire
	@command -v python3 >/dev/null || \
		{ echo 'make wheel needs python3: apt-get install python3' >&2; exit 2; }
	@python3 python/backend.py $(BUILD) $(BUILD) 2>$(BUILD)/wheel.log || { cat $(BUILD)/wheel.log >&2; exit 1; }

SHARE = $(DESTDIR)$(PREFIX)/share
.PHONY: install
install: $(BUILD)/farwire $(filter %/farwire-probe,$(PROBES))
	install -D -m 755 $(BUILD)/farwire $(DESTDIR)$(PREFIX)/bin/farwire
	$(if $(NVCC),install -D -m 755 $(BUILD)/farwire-probe $(DESTDIR)$(PREFIX)/bin/farwire-probe)
	find $(DATA) -name '*.cfg' -o -name '*.tsv' -o -name '*.md' -o -name '*.css' -o -name '*.html' -o -name '*.js' -o -path '*/measured/*.jsonl' -o -path '*/calls/*.jsonl.gz' | while read -r file; do \
		install -D -m 644 "$$file" "$(SHARE)/farwire/$$file" || exit 1; done
	install -D -m 644 docs/man/farwire.1 $(SHARE)/man/man1/farwire.1
	install -D -m 644 docs/man/farwire-probe.1 $(SHARE)/man/man1/farwire-probe.1
	install -D -m 644 tools/completion/farwire.bash $(SHARE)/bash-completion/completions/farwire

.PHONY: uninstall
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/farwire $(DESTDIR)$(PREFIX)/bin/farwire-probe \
		$(SHARE)/man/man1/farwire.1 $(SHARE)/man/man1/farwire-probe.1
	rm -f $(SHARE)/bash-completion/completions/farwire
	rm -rf $(SHARE)/farwire

.PHONY: clean
clean:
	rm -rf build build-*

include calib/trace/rules.mk
include mpi/rules.mk

-include $(OBJECTS:.o=.d) $(BUILD)/sim/main.d $(TEST_PROGRAMS:=.d) $(TOY_OBJECTS:.o=.d) $(BENCH_PROGRAMS:=.d)
.SECONDARY:
.DELETE_ON_ERROR:
