/* types.h: GGUF type numbers: what each stands for, how large its blocks are, and why some are not run.
 *
 * Several programs number their types apart from each other, so one number may have two meanings; those that can be told
 * apart are told apart in layout.c and q2.c. Sources: ggml.h of ggml, of PrismML's fork of llama.cpp, of
 * ik_llama.cpp and of BitNet. */
#ifndef SH_FORMAT_TYPES_H
#define SH_FORMAT_TYPES_H

#include "format/formats.h"

typedef enum sh_type_family {
    SH_FAMILY_OURS,    /* run here */
    SH_FAMILY_GGML,    /* llama.cpp's */
    SH_FAMILY_REMOVED, /* llama.cpp's once */
    SH_FAMILY_NUMBERS, /* plain integers and doubles, which no weight has */
    SH_FAMILY_BITNET,  /* of BitNet: layout depends on the program that wrote it */
    SH_FAMILY_MXFP4,   /* 39: llama.cpp's or BitNet's */
    SH_FAMILY_NVFP4,   /* 40: llama.cpp's or an early one of PrismML's */
    SH_FAMILY_IK,      /* of ik_llama.cpp */
    SH_FAMILY_UNKNOWN,
} sh_type_family;

typedef struct sh_type_info {
    uint32_t type;
    const char *name;
    uint32_t group; /* elements of a block; 0 if its size is not known */
    uint32_t bytes; /* of a block */
    sh_type_family family;
    sh_format format; /* if OURS; of 42 and 35, ggml's reading */
} sh_type_info;

/* Never NULL: numbers that nobody is known to use have the family UNKNOWN and the name "unknown". */
const sh_type_info *sh_type_get(uint32_t type);

/* Why tensors of this family are not run, and what to do instead. */
const char *sh_type_refusal(sh_type_family family);

#endif
