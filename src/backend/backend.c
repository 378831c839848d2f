/* backend.c: the backends of this build. See backend.h. */
#include "backend/backend.h"

#include <string.h>

static const sh_backend *const backends[] = {&sh_backend_ref};

const sh_backend *sh_backend_get(size_t index) {
    return index < sizeof backends / sizeof backends[0] ? backends[index] : NULL;
}

const sh_backend *sh_backend_first(void) {
    size_t i = 0;
    while (!backends[i]->available()) i++;
    return backends[i];
}

const sh_backend *sh_backend_find(const char *name) {
    size_t n = strcspn(name, ":");
    for (size_t i = 0; sh_backend_get(i); i++)
        if (strncmp(backends[i]->name, name, n) == 0 && !backends[i]->name[n]) return backends[i];
    return NULL;
}

const char *sh_device_name(size_t index) {
    const sh_backend *backend = sh_backend_get(index);
    return backend ? backend->name : NULL;
}
