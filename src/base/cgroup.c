/* cgroup.c: the control groups that limit this process. See cgroup.h. */
#include "base/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void sh_cgroup_each(void (*visit)(const char *folder, void *user), void *user) {
    static const char root[] = "/sys/fs/cgroup";
    char folder[512], line[400] = "";
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return;
    bool found = false; /* version 2 is the line "0::/path" */
    while (!found && fgets(line, sizeof line, file)) found = strncmp(line, "0::/", 4) == 0;
    fclose(file);
    if (!found) return;
    line[strcspn(line, "\n")] = 0;
    snprintf(folder, sizeof folder, "%s%s", root, line + 3);
    for (;;) {
        size_t n = strlen(folder);
        while (n > sizeof root - 1 && folder[n - 1] == '/') folder[--n] = 0;
        /* In a namespace of its own a process may see a path that is not there; the root then is its group. */
        if (access(folder, F_OK) == 0) visit(folder, user);
        if (n <= sizeof root - 1) return;
        *strrchr(folder, '/') = 0;
    }
}
