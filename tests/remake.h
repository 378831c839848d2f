/* remake.h: writes a changed copy of a model file, for tests that need a file nobody ships: mixed formats, a wrong
 * shape, equal or NaN head rows. */
#ifndef SH_TESTS_REMAKE_H
#define SH_TESTS_REMAKE_H

#include "format/layout.h"

typedef struct remake {
    const char *from; /* below the source folder, or absolute */
    void *user;
    /* The format in which the copy has a tensor; NULL: as it is. Elements pass through float32. */
    sh_format (*format)(const sh_tensor *tensor, void *user);
    /* Changes a tensor's shape in the copy; its data is cut or filled with zeros. NULL: as it is. */
    void (*shape)(const sh_tensor *tensor, uint64_t dims[4], uint32_t *n_dims, void *user);
    /* Changes a tensor's elements, [dims[1]][dims[0]]. NULL: as they are. */
    void (*edit)(const sh_tensor *tensor, float *values, void *user);
    /* Leaves a tensor out. NULL: none. */
    bool (*leave_out)(const sh_tensor *tensor, void *user);
    /* Leaves a key out, or writes another in its place and returns true. NULL: none. */
    bool (*key)(const sh_gguf_key *key, sh_gguf_writer *w, void *user);
} remake;

/* A path in this process's temporary folder, valid to its end; the folder goes when the process does. */
const char *temporary_path(const char *name);

/* Fails the test if the copy cannot be written. Returns temporary_path(name). */
const char *remake_model(const remake *r, const char *name);

/* Formats for a file that mixes them: by tensor, every format whose group divides its rows. */
sh_format mixed_format(const sh_tensor *tensor, void *user);

#endif
