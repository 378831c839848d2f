/* file.h: an open model file: the container and the layout of its tensors, behind the public sh_file. */
#ifndef SH_FORMAT_FILE_H
#define SH_FORMAT_FILE_H

#include "format/layout.h"

struct sh_file {
    sh_gguf *gguf;
    sh_layout layout;
    char *architecture; /* terminated copies for the public description */
    char *name;
    uint64_t bytes;
};

#endif
