/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/sample/machine.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sim/json/write.h"

/* Reads the first line of a small file, without its end. Returns false if there is none. */
static bool read_line(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bool got = fgets(text, (int)room, file) != NULL;
	fclose(file);
	if (got)
		text[strcspn(text, "\n")] = '\0';
	return got && *text;
}

/* Reads from /proc/cpuinfo the value of the first line with one of the two keys. */
static bool cpu_field(const char *key, const char *other, char *value, size_t room)
{
	char line[4096];
	bool found = false;
	FILE *file = fopen("/proc/cpuinfo", "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');
		if (!colon || (strncmp(line, key, strlen(key)) != 0 &&
			       strncmp(line, other, strlen(other)) != 0))
			continue;
		line[strcspn(line, "\n")] = '\0';
		colon += 1 + strspn(colon + 1, " ");
		snprintf(value, room, "%.*s", (int)room - 1, colon);
		found = *value != '\0';
	}
	fclose(file);
	return found;
}

static void put_hypervisor(struct json_writer *json)
{
	static const struct {
		const char *words, *name;
	} makers[] = {
		{"QEMU", "kvm"},      {"KVM", "kvm"},
		{"Google", "kvm"},    {"Amazon EC2", "nitro"},
		{"VMware", "vmware"}, {"Microsoft", "hyper-v"},
		{"Xen", "xen"},       {"innotek", "virtualbox"},
	};
	char text[4096];
	const char *name = NULL;
	if (read_line("/sys/hypervisor/type", text, sizeof(text))) {
		jw_text(json, "hypervisor", text);
		return;
	}
	bool inside = cpu_field("flags", "Features", text, sizeof(text)) &&
		      strstr(text, " hypervisor") != NULL;
	if (inside && read_line("/sys/class/dmi/id/sys_vendor", text, sizeof(text)))
		for (size_t i = 0; !name && i < sizeof(makers) / sizeof(makers[0]); i++)
			if (strstr(text, makers[i].words))
				name = makers[i].name;
	jw_text(json, "hypervisor", name ? name : inside ? "unknown" : "none");
}

void machine_cpu(char *name, size_t room)
{
	if (!cpu_field("model name", "Model", name, room) &&
	    !cpu_field("CPU implementer", "Hardware", name, room))
		snprintf(name, room, "unknown");
}

void machine_write(struct json_writer *json, const char *key)
{
	static const struct {
		const char *name, *path;
	} settings[] = {
		{"governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
		{"turbo_off", "/sys/devices/system/cpu/intel_pstate/no_turbo"},
		{"idle_driver", "/sys/devices/system/cpu/cpuidle/current_driver"},
		{"smt", "/sys/devices/system/cpu/smt/control"},
		{"huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled"},
		{"numa_balancing", "/proc/sys/kernel/numa_balancing"},
		{"clock_source",
		 "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{"tcp_congestion", "/proc/sys/net/ipv4/tcp_congestion_control"},
		{"tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem"},
		{"tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem"},
		{"rmem_max", "/proc/sys/net/core/rmem_max"},
		{"wmem_max", "/proc/sys/net/core/wmem_max"},
		{"busy_poll", "/proc/sys/net/core/busy_poll"},
	};
	char text[512];
	struct utsname kernel;
	jw_open(json, key, '{');
	machine_cpu(text, sizeof(text));
	jw_text(json, "cpu", text);
	jw_real(json, "cores", (double)sysconf(_SC_NPROCESSORS_ONLN));
	if (uname(&kernel) == 0) {
		jw_text(json, "kernel", kernel.release);
		jw_text(json, "architecture", kernel.machine);
	}
	put_hypervisor(json);
	jw_open(json, "settings", '{');
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (read_line(settings[i].path, text, sizeof(text)))
			jw_text(json, settings[i].name, text);
	jw_close(json);
	jw_close(json);
}
