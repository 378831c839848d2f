/* cores.c: how many cores this process may use. See cores.h. */
#include "base/cores.h"

#include "base/cgroup.h"

#include <stdio.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif

#if defined(__linux__)
/* The lowest hardware thread of the core that `cpu` belongs to; itself if the machine does not say. */
static int first_sibling(int cpu) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    int first = cpu;
    FILE *file = fopen(path, "re");
    if (!file) return cpu;
    if (fscanf(file, "%d", &first) != 1) first = cpu;
    fclose(file);
    return first;
}

/* Whole cores that a group's quota pays for, rounded up, if they are fewer than *least. */
static void limit_by_group(const char *folder, void *least) {
    char path[640];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *file = fopen(path, "re");
    if (!file) return;
    unsigned long long used, period; /* "max 100000": no quota */
    uint32_t *cores = least;
    if (fscanf(file, "%llu %llu", &used, &period) == 2 && period > 0 && (used + period - 1) / period < *cores)
        *cores = (uint32_t)((used + period - 1) / period);
    fclose(file);
}

uint32_t sh_cores_allowed(void) {
    cpu_set_t allowed, seen;
    CPU_ZERO(&allowed);
    CPU_ZERO(&seen);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t cores = online > 0 ? (uint32_t)online : 1;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (!CPU_ISSET(cpu, &allowed)) continue;
            int core = first_sibling(cpu);
            if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &seen);
        }
        cores = (uint32_t)CPU_COUNT(&seen);
    }
    sh_cgroup_each(limit_by_group, &cores);
    return cores ? cores : 1;
}
#else
uint32_t sh_cores_allowed(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (uint32_t)cores : 1;
}
#endif
