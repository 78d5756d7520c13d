# SPDX-License-Identifier: Apache-2.0
# farwire-tcp: measures TCP for benches.
TCP_PROBE := $(BUILD)/tests/farwire-tcp
TCP_PROBE_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/tcp_probe/*.c))

$(TCP_PROBE): $(TCP_PROBE_OBJECTS) $(BUILD)/libfarwire.a
	$(call say,LINK)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(LDFLAGS) $(LIBS)

-include $(TCP_PROBE_OBJECTS:.o=.d)
