# SPDX-License-Identifier: Apache-2.0
# farwire-probe-fake: the probes with a fake device, for tests and for rehearsals of calib/measure.
FAKE_PROBE := $(BUILD)/tests/farwire-probe-fake
PROBE_CUDA_ONLY := $(addprefix calib/probe/,main.c cublaslt.c nvml.c)
FAKE_PROBE_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(PROBE_CUDA_ONLY),$(PROBE_C)) \
	$(wildcard tests/fake_gpu/*.c))

$(FAKE_PROBE): $(FAKE_PROBE_OBJECTS)
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(PROBE_LIBS)

-include $(FAKE_PROBE_OBJECTS:.o=.d)
