/* cgroup.h: the control groups (version 2) that limit this process: its own and those above it. */
#ifndef SH_BASE_CGROUP_H
#define SH_BASE_CGROUP_H

#include <stddef.h>

/* Calls `visit` with the folder of each, the innermost first; with none where there are no such groups. */
void sh_cgroup_each(void (*visit)(const char *folder, void *user), void *user);

#endif
