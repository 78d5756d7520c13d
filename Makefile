# SPDX-License-Identifier: GPL-3.0-or-later
# farwire: one non-recursive Makefile. `make help` lists the targets.
#
#   make run            installs what is missing, builds, predicts the shipped cases, writes the report
#   make test           builds and runs the tests (ends with "N passed, M failed")
#   make VARIANT=asan   release (default), debug, asan, tsan: each in build/, build-debug/ ...

VARIANT ?= release
BUILD := build$(if $(filter-out release,$(VARIANT)),-$(VARIANT))
CC ?= gcc
PKGS := libconfig gsl cairo jansson expat

CFLAGS_release := -O2 -g
CFLAGS_debug := -O0 -g3
CFLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan := -O1 -g -fsanitize=thread
CFLAGS_all := -std=c17 -D_POSIX_C_SOURCE=200809L -I. -ffp-contract=off -pthread \
	-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror \
	$(shell pkg-config --cflags $(PKGS) 2>/dev/null)
CFLAGS += $(CFLAGS_$(VARIANT)) $(CFLAGS_all)
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm -lpthread
LDFLAGS += $(filter -fsanitize=%,$(CFLAGS_$(VARIANT)))

SOURCES := $(sort $(wildcard sim/*/*.c plots/*.c calib/fit/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
TESTS := $(sort $(wildcard tests/unit/*.c tests/analytic/*.c tests/property/*.c tests/golden/*.c tests/reject/*.c tests/recorded/*.c))
TEST_PROGRAMS := $(TESTS:%.c=$(BUILD)/%)

.PHONY: all
all: $(BUILD)/farwire

$(BUILD)/farwire: $(BUILD)/sim/main.o $(BUILD)/libfarwire.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libfarwire.a: $(OBJECTS)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(TEST_PROGRAMS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libfarwire.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: clean
clean:
	rm -rf build build-*

-include $(OBJECTS:.o=.d) $(BUILD)/sim/main.d $(TEST_PROGRAMS:=.d)
.SECONDARY:
