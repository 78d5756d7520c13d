# SPDX-License-Identifier: Apache-2.0
# Rules for libfarwire-trace.so, the recorder of CUDA calls. It is built if CUPTI's headers are
# in CUDA_HOME (default /usr/local/cuda); at run time it loads CUPTI. The Makefile of the
# project and calib/trace/Makefile include this file. ROOT contains calib/, BUILD gets the
# programs, OBJECTS_AT the objects.
CUDA_HOME ?= /usr/local/cuda
CUPTI_H := $(firstword $(wildcard $(CUDA_HOME)/include/cupti.h \
	$(CUDA_HOME)/extras/CUPTI/include/cupti.h))
TRACE_SOURCES := $(sort $(patsubst $(ROOT)/%,%,$(wildcard $(ROOT)/calib/trace/*.c)))
OBJECTS_AT ?= $(BUILD)
TRACE_OBJECTS := $(TRACE_SOURCES:%.c=$(OBJECTS_AT)/%.o)
TRACE_LIBRARIES := $(if $(filter x86_64,$(shell uname -m)),$(BUILD)/libfarwire-libraries.so)
TRACE := $(if $(CUPTI_H),$(BUILD)/libfarwire-trace.so $(TRACE_LIBRARIES) $(BUILD)/farwire-trace)

.PHONY: trace
trace: $(TRACE)
	$(if $(TRACE),,@echo 'skipped libfarwire-trace.so: cupti.h is not under $(CUDA_HOME)')

$(TRACE_OBJECTS): FLAGS += -fPIC -fvisibility=hidden \
	-isystem $(dir $(CUPTI_H)) -isystem $(CUDA_HOME)/include

$(BUILD)/libfarwire-trace.so: $(TRACE_OBJECTS)
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -shared -o $@ $^ $(LDFLAGS) -ldl

# The library has no sanitizer or profile, because the dynamic linker loads it before them.
$(BUILD)/libfarwire-libraries.so: $(ROOT)/calib/trace/audit/libraries.c
	$(call say,LINK)
	$(Q)$(CC) -std=gnu17 -O2 $(WARNINGS) -fPIC -fvisibility=hidden -shared -o $@ $< -ldl

$(BUILD)/farwire-trace: $(ROOT)/calib/trace/farwire-trace
	@mkdir -p $(@D)
	$(Q)cp $< $@

-include $(TRACE_OBJECTS:.o=.d)

all: $(TRACE)
test: $(TRACE)

install: install-trace
.PHONY: install-trace
install-trace: $(TRACE)
	$(if $(TRACE),install -D -m 755 $(BUILD)/farwire-trace $(DESTDIR)$(PREFIX)/bin/farwire-trace)
	$(if $(TRACE),install -D -m 755 $(BUILD)/libfarwire-trace.so \
		$(DESTDIR)$(PREFIX)/lib/farwire/libfarwire-trace.so)
	$(if $(and $(TRACE),$(TRACE_LIBRARIES)),install -D -m 755 $(TRACE_LIBRARIES) \
		$(DESTDIR)$(PREFIX)/lib/farwire/libfarwire-libraries.so)
	$(if $(TRACE),install -D -m 644 $(ROOT)/docs/man/farwire-trace.1 $(SHARE)/man/man1/farwire-trace.1)

uninstall: uninstall-trace
.PHONY: uninstall-trace
uninstall-trace:
	rm -f $(DESTDIR)$(PREFIX)/bin/farwire-trace $(SHARE)/man/man1/farwire-trace.1
	rm -rf $(DESTDIR)$(PREFIX)/lib/farwire
