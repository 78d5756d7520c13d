# SPDX-License-Identifier: Apache-2.0
# Rules for farwire-probe, which the Makefile of the project and calib/probe/Makefile include.
# ROOT contains calib/, BUILD gets the programs, OBJECTS_AT the objects. (Each Makefile has its
# own OBJECTS_AT, because its lists of headers contain its own paths.) The including Makefile
# has the rule for objects of C files.
#
# The machine code is for those of PROBE_GPUS that nvcc supports. The newest one is also added
# as PTX, from which drivers make code for later GPUs.

NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
PROBE_GPUS ?= 60 70 75 80 86 89 90

PROBE_C := $(sort $(patsubst $(ROOT)/%,%,$(wildcard $(ROOT)/calib/sample/*.c $(ROOT)/calib/probe/*.c))) \
	sim/json/write.c sim/base/utf8.c
PROBE_CU := $(sort $(patsubst $(ROOT)/%,%,$(wildcard $(ROOT)/calib/probe/*.cu)))
OBJECTS_AT ?= $(BUILD)
PROBE_OBJECTS := $(PROBE_C:%.c=$(OBJECTS_AT)/%.o)
PROBE_CU_OBJECTS := $(PROBE_CU:%.cu=$(OBJECTS_AT)/%.cu.o)
PROBE_LIBS := -lm -ldl -lrt -lpthread

PROBES := $(if $(NVCC),$(BUILD)/farwire-probe)

probe_codes = $(filter $(addprefix sm_,$(PROBE_GPUS)),$(shell $(NVCC) --list-gpu-code))
probe_gencode = $(foreach n,$(1:sm_%=%),-gencode arch=compute_$(n),code=sm_$(n)) \
	-gencode arch=compute_$(lastword $(1:sm_%=%)),code=compute_$(lastword $(1:sm_%=%))
PROBE_NVCC_FLAGS = -std=c++17 -O2 -I$(ROOT) -Werror all-warnings -Wno-deprecated-gpu-targets \
	-Xcompiler -Wall,-Wextra $(call probe_gencode,$(probe_codes))

$(BUILD)/farwire-probe: $(PROBE_OBJECTS) $(PROBE_CU_OBJECTS)
	@echo '  NVLINK' $@
	$(Q)$(NVCC) -cudart static -o $@ $^ $(LINK_FLAGS:%=-Xcompiler %) $(PROBE_LIBS)

$(OBJECTS_AT)/%.cu.o: $(ROOT)/%.cu $(ROOT)/calib/probe/rules.mk
	@mkdir -p $(@D)
	@echo '  NVCC' $@
	$(Q)$(NVCC) $(PROBE_NVCC_FLAGS) -MMD -MF $(@:.o=.d) -c -o $@ $<

-include $(PROBE_OBJECTS:.o=.d) $(PROBE_CU_OBJECTS:.o=.d)
