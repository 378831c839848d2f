/* weight.h: a matrix or vector of the network: where it lies in the file, and what a device made of it. */
#ifndef SH_FORMAT_WEIGHT_H
#define SH_FORMAT_WEIGHT_H

#include "format/formats.h"

/* [rows][cols], each row contiguous in the file: y = W x has `rows` outputs and `cols` inputs. A vector has one row. */
typedef struct sh_weight {
    sh_view name;
    sh_format format;
    uint32_t rows, cols;
    const uint8_t *bytes; /* in the file map; any alignment; NULL if the file does not have it */
    void *packed;         /* the device's own, set and freed by its backend; NULL if it reads `bytes` */
} sh_weight;

#endif
