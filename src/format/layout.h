/* layout.h: which format each tensor of a file has, and where its bytes are.
 *
 * The one place that turns a GGUF type number into a format. It tells the three readings of number 42 and the two of 35 apart,
 * names what is not run, and checks that every tensor lies inside its file and apart from the others. */
#ifndef SH_FORMAT_LAYOUT_H
#define SH_FORMAT_LAYOUT_H

#include "format/formats.h"
#include "format/gguf.h"

typedef enum sh_q2_layout {
    SH_Q2_AUTO,
    SH_Q2_64,
    SH_Q2_128,
    SH_Q2_CODES_FIRST,
} sh_q2_layout;

/* "auto", "64", "128", "codes-first"; NULL is auto. */
sh_status sh_q2_layout_from_text(const char *text, sh_q2_layout *out);

typedef struct sh_tensor {
    sh_view name;
    sh_format format;        /* SH_FORMATS if it is none of ours: then the file has a refusal */
    const char *format_name; /* also of formats that are known but not run: "Q5_K" */
    uint32_t type;
    uint32_t n_dims;
    uint64_t dims[4];
    const uint8_t *data; /* in the map; aligned as the file aligned it, maybe not at all */
    uint64_t bytes;      /* 0 if the format's size is not known */
    uint64_t offset;     /* in its part's file */
    uint32_t part;
} sh_tensor;

typedef struct sh_layout {
    const sh_gguf *gguf; /* outlives the layout */
    sh_tensor *tensors;  /* in file order */
    uint64_t n;
    sh_q2_layout q2; /* SH_Q2_AUTO if the file has no tensor of type 42 */
    char q2_reason[256];
    char refusal[1024]; /* "" if every tensor's format is run and no key stands against it */
} sh_layout;

/* Fails if the file is damaged (a tensor outside its file, overlaps, a row that is no multiple of the group, ...) or if no reading of
 * type 42 fits. What is sound but not run (I2_S, a prism.hadamard key, ...) is no failure here: it fills `refusal` with reason and way out. */
sh_status sh_layout_open(const sh_gguf *gguf, sh_q2_layout wanted, sh_layout *out);
void sh_layout_close(sh_layout *layout);

/* NULL if there is none. */
const sh_tensor *sh_layout_find(const sh_layout *layout, const char *name);

#endif
