/* backend.c: the backends of this build. See backend.h. */
#include "backend/backend.h"

#include <string.h>

static const sh_backend *const backends[] = {&sh_backend_ref};

const sh_backend *sh_backend_get(size_t index) {
    return index < sizeof backends / sizeof backends[0] ? backends[index] : NULL;
}

const sh_backend *sh_backend_find(const char *name) {
    for (size_t i = 0; sh_backend_get(i); i++)
        if (strcmp(backends[i]->name, name) == 0) return backends[i];
    return NULL;
}

const char *sh_device_name(size_t index) {
    const sh_backend *backend = sh_backend_get(index);
    return backend ? backend->name : NULL;
}
