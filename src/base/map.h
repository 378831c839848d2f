/* map.h: a file mapped read-only. */
#ifndef SH_BASE_MAP_H
#define SH_BASE_MAP_H

#include "base/status.h"

typedef struct sh_map {
    const uint8_t *data; /* NULL for an empty file */
    size_t size;
} sh_map;

/* Refuses what is not a regular file. The error names the path. */
sh_status sh_map_open(const char *path, sh_map *out);
void sh_map_close(sh_map *map);

#endif
