/* formats.h: the format table: one row for each layout in which a tensor's elements lie in a file.
 *
 * A format is a layout, not a GGUF type number: number 42 stands for three layouts, number 35 for two (see layout.h).
 * The decoders and encoders here are the reference: plain, one block at a time. docs/FORMATS.md draws every layout. */
#ifndef SH_FORMAT_FORMATS_H
#define SH_FORMAT_FORMATS_H

#include "base/status.h"

typedef enum sh_format {
    SH_F32,
    SH_F16,
    SH_BF16,
    SH_Q8_0,
    SH_Q4_0,
    SH_Q4_1,
    SH_Q6_K,
    SH_Q1_0,
    SH_Q2_0_G64,         /* type 42 of ggml */
    SH_Q2_0_G128,        /* type 42 of older PrismML files */
    SH_Q2_0_CODES_FIRST, /* type 42 of OxiBonsai */
    SH_PQ2_0,            /* the bytes of Q2_0_G128 under a number of its own */
    SH_PTQ1_0,
    SH_TQ1_0,
    SH_TQ2_0,
    SH_TQ2_0_OXI, /* type 35 of OxiBonsai: consecutive */
    SH_FORMATS,
} sh_format;

typedef struct sh_format_info {
    const char *name;       /* "Q1_0" */
    uint32_t ggml_type;     /* its number in a file */
    uint32_t group;         /* elements of a block */
    uint32_t bytes;         /* of a block */
    bool ternary_or_binary; /* its elements are -d, 0, +d (and +2d where a code 3 allows it) */
    /* bytes of one block -> `group` floats */
    void (*decode)(const uint8_t *block, float *x);
    /* `group` floats -> bytes of one block: the reference quantizer */
    void (*encode)(const float *x, uint8_t *block);
} sh_format_info;

/* Row `format` of the table; never NULL for a value below SH_FORMATS. */
const sh_format_info *sh_format_get(sh_format format);

/* Elements first, n a multiple of the group. */
void sh_format_decode(sh_format format, const uint8_t *bytes, size_t n, float *x);
void sh_format_encode(sh_format format, const float *x, size_t n, uint8_t *bytes);

/* Bytes of n elements. n must be a multiple of the group and the result fit in 64 bits (checked where a file says n). */
uint64_t sh_format_bytes(sh_format format, uint64_t n);

#endif
