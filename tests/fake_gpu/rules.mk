# SPDX-License-Identifier: Apache-2.0
# farwire-probe-fake: the probes with a fake device, for tests and for rehearsals of calib/measure.
# farwire-probe-forward: those of a real GPU. Both also have the probes of tests/forwarding.
FAKE_PROBE := $(BUILD)/tests/farwire-probe-fake
FORWARD_PROBE := $(if $(NVCC),$(BUILD)/tests/farwire-probe-forward)
PROBE_CUDA_ONLY := $(addprefix calib/probe/,main.c cublaslt.c nvml.c)
FORWARDING_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/forwarding/*.c)) \
	$(BUILD)/forwarding/calib/probe/run.o
PROBE_SHARED := $(filter-out %/probe/run.o,$(PROBE_OBJECTS)) $(FORWARDING_OBJECTS)
FAKE_PROBE_OBJECTS := $(filter-out $(PROBE_CUDA_ONLY:%.c=$(BUILD)/%.o),$(PROBE_SHARED)) \
	$(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fake_gpu/*.c))

$(FAKE_PROBE): $(FAKE_PROBE_OBJECTS)
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(PROBE_LIBS)

$(FORWARD_PROBE): $(PROBE_SHARED) $(PROBE_CU_OBJECTS)
	$(call say,NVLINK)
	$(Q)$(NVCC) -cudart static -o $@ $^ $(LINK_FLAGS:%=-Xcompiler %) $(PROBE_LIBS)

# The list of probes with those of tests/forwarding/kinds.
$(BUILD)/forwarding/%.o: KINDS := tests/forwarding
$(BUILD)/forwarding/%.o: %.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(FAKE_PROBE_OBJECTS:.o=.d)
