# SPDX-License-Identifier: GPL-3.0-or-later
# farwire: one non-recursive Makefile. `make help` lists the targets.
#
# Everything that is built lies in build/ (build-debug/, build-asan/ ... for the
# variants). The compiler's and linker's flags for the libraries are asked of
# pkg-config once and kept in $(BUILD)/config.mk; where something is missing,
# `make run` and `make test` install it and every other target says how.

VARIANT ?= release
BUILD ?= build$(if $(filter-out release,$(VARIANT)),-$(VARIANT))
ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX ?= /usr/local
DESTDIR ?=
PKGS := libconfig gsl cairo jansson yajl nettle

.DEFAULT_GOAL := all
ifeq ($(MAKELEVEL),0) # a -j of the command line wins
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
MAKEFLAGS += --no-builtin-rules

# ---- flags ----

VARIANTS := release debug fast asan tsan coverage fuzz fuzz-fast
ifeq (,$(filter $(VARIANT),$(VARIANTS)))
$(error VARIANT=$(VARIANT) is none of: $(VARIANTS))
endif
FLAGS_release := -O2 -g
FLAGS_debug := -O0 -g3
FLAGS_fast := -O3 -g
FLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS_tsan := -O1 -g -fsanitize=thread
# Threads count, too, and what is counted of several programs adds up.
FLAGS_coverage := -O1 -g --coverage -fprofile-update=atomic
# No comparison in a run leads back to the bytes of a file: they are traced in readers alone.
RUNNING := sim/engine/% sim/fabric/% sim/host/% sim/transport/% sim/gpu/% sim/cuda/% \
	sim/remoting/% sim/collective/% sim/training/% sim/workload/%
FLAGS_fuzz = $(FLAGS_asan) -O2 -fsanitize=fuzzer-no-link -DFARWIRE_LIBFUZZER \
	$(if $(filter $(RUNNING),$<),-fno-sanitize-coverage=trace-cmp)
# For worlds: several times as many a second. Numbers that overflow, assertions and broken
# invariants still end them; what ASan finds does not.
ARITHMETIC := -fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow
FLAGS_fuzz-fast := -O2 -g -fsanitize=fuzzer-no-link $(ARITHMETIC) -fsanitize-trap=undefined \
	-fno-sanitize-coverage=trace-cmp -DFARWIRE_LIBFUZZER
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
WERROR := -Werror
# A folder with further kinds: *.c files, and in kinds/ lists of them (sim/base/registry.h).
KINDS ?=
# The user's CFLAGS and LDFLAGS come after these, so that they win.
FLAGS = -std=c17 -D_POSIX_C_SOURCE=200809L -I. $(KINDS:%=-I%) -ffp-contract=off -pthread \
	$(WARNINGS) $(WERROR) $(FLAGS_$(VARIANT)) $(PKG_CFLAGS)
LINK_FLAGS = -pthread $(filter -fsanitize=% --coverage,$(FLAGS_$(VARIANT)))
LIBS = $(PKG_LIBS) -lm

# ---- what there is ----

SOURCES := $(sort $(wildcard sim/*/*.c plots/*.c calib/fit/*.c calib/sample/*.c calib/host/*.c $(KINDS:%=%/*.c)))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
TEST_FOLDERS := unit analytic property golden reject recorded fuzz
TESTS := $(sort $(wildcard $(TEST_FOLDERS:%=tests/%/*.c)))
TEST_PROGRAMS := $(TESTS:%.c=$(BUILD)/%)
# The report of `make run` shows datasets with measurements, then what-ifs without.
DATASETS := ddl_p100 c4140_v100 nvidia_mxnet_resnet50 tensorflow_benchmarks_2017 \
	nccl_allreduce_a100_nvswitch nccl_allreduce_2nodes closer2018_gtx1080 \
	flexdirect_1050ti bitfusion_networks
RECORDINGS := calib/measured/recorded/loopback-spin.jsonl
WHAT_IFS := $(sort $(basename $(notdir $(wildcard topologies/what-ifs/*.cfg))))
DATA := topologies models calib

# farwire-probe wants nvcc, which takes half a minute: not for every variant.
ROOT := .
NVCC ?= $(if $(filter build,$(BUILD)),$(firstword $(shell command -v nvcc 2>/dev/null) \
	$(wildcard /usr/local/cuda/bin/nvcc)))
include calib/probe/rules.mk

.PHONY: all
all: $(BUILD)/farwire $(PROBES)

.PHONY: help
help:
	@echo 'make             builds build/farwire and, where there are nvcc and mpicc, what needs them'
	@echo 'make run         installs what is missing, builds, predicts every shipped measurement,'
	@echo '                 answers the shipped what-ifs, writes build/report.html'
	@echo 'make test        installs what is missing, builds and runs the tests (a minute or two)'
	@echo 'make test-long   the same under sanitizers and with clang; the same bytes from every build'
	@echo 'make coverage    how many lines the tests run, by folder'
	@echo 'make fuzz        invents inputs for every reader, FUZZ_S seconds (60) each, and adds those'
	@echo '                 that reach new code to tests/fuzz/corpus; wants clang'
	@echo 'make bench       measures this machine, on which nothing else should run: the core beside others,'
	@echo '                 predictions beside TCP'
	@echo 'make mpi         builds build/libfarwire-mpi.so where mpicc is: sweeps over many machines'
	@echo 'make install     into PREFIX (/usr/local), under DESTDIR if given; make uninstall removes it'
	@echo 'make accuracy    puts what is predicted now into docs/ACCURACY.md and the README'"'"'s table'
	@echo 'make documents   that, the outputs in docs and docs/images'
	@echo 'make tidy        the house rules: layers, sizes, licences, names (also part of make test)'
	@echo 'make format      clang-format over all C files'
	@echo 'make clean       removes build/ and build-*/'
	@echo
	@echo 'VARIANT=release|debug|fast|asan|tsan|coverage|fuzz|fuzz-fast   each in a folder of its own'
	@echo 'CC=clang BUILD=build-clang             another compiler, beside'
	@echo 'KINDS=FOLDER BUILD=build-more          compiles the kinds of a folder, too (CONTRIBUTING.md)'
	@echo 'CFLAGS=... LDFLAGS=...                 added after the own flags'
	@echo 'WERROR=                                warnings stay warnings;  V=1  shows the commands'

# ---- set-up ----

GOALS := $(or $(MAKECMDGOALS),all)
NO_BUILD := help clean format tidy test-long uninstall fuzz coverage
ifneq (,$(filter-out $(NO_BUILD),$(GOALS)))
include $(BUILD)/config.mk
endif

# A machine that lacks something gets it for the two commands of the README, and
# a line to type for the others.
DEPS_MODE := $(if $(filter run test,$(GOALS)),,--check)
$(BUILD)/config.mk: Makefile tools/install-deps
	@tools/install-deps $(DEPS_MODE)
	@mkdir -p $(@D)
	@printf 'PKG_CFLAGS := %s\nPKG_LIBS := %s\n' "$$(pkg-config --cflags $(PKGS))" \
		"$$(pkg-config --libs $(PKGS))" >$@.tmp
	@mv $@.tmp $@

# ---- building ----

# One word and a file for each step; V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@echo '  $1' $@)

$(BUILD)/farwire: $(BUILD)/sim/main.o $(BUILD)/libfarwire.a
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(LIBS)

$(BUILD)/libfarwire.a: $(OBJECTS)
	$(call say,AR  )
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/%.o: %.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The program with one further kind of each thing: only registries are compiled again.
TOYS := $(wildcard tests/toys/*.c) $(shell grep -l 'struct registry_row ' sim/*/*.c calib/fit/*.c)
TOY_OBJECTS := $(TOYS:%.c=$(BUILD)/toys/%.o)

$(BUILD)/farwire-toys: $(BUILD)/sim/main.o $(TOY_OBJECTS) $(BUILD)/libfarwire.a
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(LIBS)

$(BUILD)/toys/%.o: KINDS := tests/toys
$(BUILD)/toys/%.o: %.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(TEST_PROGRAMS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libfarwire.a
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(LIBS)

# The same sources as the tests of tests/fuzz, with libFuzzer's main in place of replaying.
FUZZ_PROGRAMS := $(patsubst %,$(BUILD)/%_fuzzer,$(basename $(wildcard tests/fuzz/*.c)))
$(FUZZ_PROGRAMS): $(BUILD)/%_fuzzer: $(BUILD)/%.o $(BUILD)/libfarwire.a
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LDFLAGS) $(LIBS)

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_PROGRAMS)

# Programs that `make bench` compares with farwire, if this machine has them.
CXX_FLAGS := -std=c++17 -O2 -g -Wall -Wextra -Werror -I.
BENCHES := queue_farwire fabric_farwire calls_farwire flows_farwire
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
bench-programs: $(BENCH_PROGRAMS)

.PHONY: test-programs
test-programs: $(TEST_PROGRAMS) $(BUILD)/farwire $(BUILD)/farwire-toys

# ---- running ----

.PHONY: run
run: $(BUILD)/farwire
	@$(BUILD)/farwire report $(DATASETS) $(RECORDINGS) $(WHAT_IFS) -o $(BUILD)/report.html \
		--title 'What wires between GPUs and their work cost: measured, and never measured'; code=$$?; \
	test $$code = 0 || test $$code = 3 || exit $$code; \
	test $$code = 0 || echo 'Some stated bounds are broken, which the report shows (docs/ACCURACY.md says why).'; \
	echo 'The report: $(BUILD)/report.html'

.PHONY: test
test: test-programs $(PROBES) mpi
	@tests/run $(BUILD)

# Tests of `mpirun farwire sweep` want MPI, and are skipped without it.
.PHONY: test-mpi
test-mpi:
	@tools/install-deps --mpi || echo 'skipped: what needs MPI'
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

.PHONY: fuzz
fuzz:
	@$(MAKE) --no-print-directory CC=clang BUILD=build-fuzz VARIANT=fuzz NVCC= fuzz-programs
	@tests/fuzz/run build-fuzz && tests/fuzz/run build-fuzz --merge

.PHONY: bench
bench: $(BUILD)/farwire $(PROBES) bench-programs
	@FARWIRE=$(BUILD)/farwire tests/bench/run

.PHONY: accuracy
accuracy: $(BUILD)/farwire
	@FARWIRE=$(BUILD)/farwire tools/accuracy

.PHONY: documents
documents: accuracy $(BUILD)/tests/golden/test_options
	@FARWIRE_GOLDEN=write $(BUILD)/tests/golden/test_options
	@FARWIRE=$(BUILD)/farwire tests/analytic/what_ifs.sh --write
	@FARWIRE=$(BUILD)/farwire tests/recorded/questions.sh --write docs/questions.md docs/recipes.md
	@FARWIRE=$(BUILD)/farwire tools/images

.PHONY: tidy
tidy:
	@tests/run --tidy

.PHONY: format
format:
	clang-format -i $$(find sim plots calib mpi tests -name '*.[ch]')

# ---- installing ----

SHARE = $(DESTDIR)$(PREFIX)/share
.PHONY: install
install: $(BUILD)/farwire $(filter %/farwire-probe,$(PROBES))
	install -D -m 755 $(BUILD)/farwire $(DESTDIR)$(PREFIX)/bin/farwire
	$(if $(NVCC),install -D -m 755 $(BUILD)/farwire-probe $(DESTDIR)$(PREFIX)/bin/farwire-probe)
	find $(DATA) -name '*.cfg' -o -name '*.tsv' -o -name '*.md' | while read -r file; do \
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
