/* cores.h: how many cores this process may use. */
#ifndef SH_BASE_CORES_H
#define SH_BASE_CORES_H

#include <stdint.h>

/* Physical cores in the process's affinity mask (hyper-threads of one core count once), at most what its control
 * group's quota allows; at least 1. */
uint32_t sh_cores_allowed(void);

#endif
