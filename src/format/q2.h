/* q2.h: telling apart the three layouts that files keep under GGUF type 42, and whose program wrote a file. */
#ifndef SH_FORMAT_Q2_H
#define SH_FORMAT_Q2_H

#include "format/layout.h"

/* The room a tensor has: from its offset to that of the next, or to the end of its part. */
typedef struct sh_extent {
    uint64_t room;
    uint64_t next; /* index of the tensor that follows in the part; SH_NO_TENSOR if none does */
} sh_extent;

#define SH_NO_TENSOR UINT64_MAX

/* Bytes that n elements take in blocks, UINT64_MAX if that is not a 64-bit number. */
uint64_t sh_extent_bytes(uint64_t n, uint32_t group, uint32_t bytes);

/* Whether a tensor of so many bytes fills its room: with less than `alignment` bytes behind it, or with none if offsets
 * are not padded (at the end of a part some may follow all the same). */
bool sh_extent_fits(const sh_extent *extent, uint64_t bytes, uint32_t alignment, bool padded);

/* Elements of a tensor. */
uint64_t sh_tensor_elements(const sh_gguf_tensor *tensor);

/* The key by which a file is known as OxiBonsai's, NULL if it has none. */
const sh_gguf_key *sh_oxibonsai_key(const sh_gguf *gguf);

typedef struct sh_q2_question {
    const sh_gguf *gguf;
    const sh_extent *extents; /* one a tensor */
    bool padded;              /* offsets are multiples of the alignment */
    sh_q2_layout wanted;
} sh_q2_question;

/* Sets out->q2 and out->q2_reason: SH_Q2_AUTO and "" if no tensor has type 42. */
sh_status sh_q2_decide(const sh_q2_question *question, sh_layout *out);

#endif
