/* engine.h: a loaded model on one device. Read-only once open. */
#ifndef SH_ENGINE_ENGINE_H
#define SH_ENGINE_ENGINE_H

#include "backend/backend.h"
#include "format/file.h"
#include "model/config.h"
#include "model/rope.h"
#include "model/weights.h"

struct sh_engine {
    sh_file *file;
    sh_tokenizer *tokenizer;
    sh_config config;
    sh_params params;
    sh_rope rope;
    sh_oplist list; /* the pass: what every session compiles */
    const sh_backend *backend;
    sh_device *device;
    uint32_t weights_open; /* weights that the backend has; it gives them back in close */
    char *name;            /* of the model, terminated */
};

/* As sh_engine_open, on a backend of the caller's (tests put one that fails in front of another). */
sh_status sh_engine_open_on(const sh_backend *backend, const sh_engine_options *options, sh_engine **out);

#endif
