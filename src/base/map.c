/* map.c: a file mapped read-only. See map.h. */
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

sh_status sh_map_open(const char *path, sh_map *out) {
    *out = (sh_map){0};
    sh_status status = SH_OK;
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: opening a pipe must not wait */
    if (fd < 0 || fstat(fd, &about) != 0) {
        status = sh_fail(SH_ERR_IO, "%s: %s", path, strerror(errno));
        goto done;
    }
    if (!S_ISREG(about.st_mode)) {
        status = sh_fail(SH_ERR_IO, "%s: not a regular file", path);
        goto done;
    }
    if ((uintmax_t)about.st_size > SIZE_MAX) {
        status = sh_fail(SH_ERR_IO, "%s: %jd bytes do not fit into this machine's address space", path,
                         (intmax_t)about.st_size);
        goto done;
    }
    if (about.st_size > 0) {
        void *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED) {
            status = sh_fail(SH_ERR_IO, "%s: cannot map %jd bytes: %s", path, (intmax_t)about.st_size, strerror(errno));
            goto done;
        }
        out->data = data;
        out->size = (size_t)about.st_size;
    }
done:
    if (fd >= 0) close(fd);
    return status;
}

void sh_map_close(sh_map *map) {
    if (map->data) munmap((void *)(uintptr_t)map->data, map->size);
    *map = (sh_map){0};
}
