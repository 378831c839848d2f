/* cores.c: how many cores this process may use. See cores.h. */
#include "base/cores.h"

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

/* Whole cores that the control group's quota pays for, rounded up; UINT32_MAX without a quota. */
static uint32_t quota(void) {
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (!file) return UINT32_MAX;
    unsigned long long used, period;
    uint32_t cores = UINT32_MAX; /* "max 100000": no quota */
    if (fscanf(file, "%llu %llu", &used, &period) == 2 && period > 0) cores = (uint32_t)((used + period - 1) / period);
    fclose(file);
    return cores;
}

uint32_t sh_cores_allowed(void) {
    cpu_set_t allowed, seen;
    CPU_ZERO(&allowed);
    CPU_ZERO(&seen);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        int core = first_sibling(cpu);
        if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &seen);
    }
    uint32_t cores = (uint32_t)CPU_COUNT(&seen), limit = quota();
    if (cores > limit) cores = limit;
    return cores ? cores : 1;
}
#else
uint32_t sh_cores_allowed(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (uint32_t)cores : 1;
}
#endif
