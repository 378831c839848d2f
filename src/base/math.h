/* math.h: the elementary functions whose bits must be the same on every machine.
 *
 * libm's differ from one version to the next; these are multiplications, additions and divisions in a fixed order, so
 * any machine with IEEE arithmetic, and any vector form of them, gives the same bits. Compiled without contraction. */
#ifndef SH_BASE_MATH_H
#define SH_BASE_MATH_H

#include "base/half.h"

/* e^x, within 2 units in the last place; 0 below -104, infinity above 88.8, NaN for NaN. Kernels that vectorize it keep
 * this order of operations. */
float sh_exp_f32(float x);

/* Double precision, within 1e-15 relative: for angles and tables, once a row. */
double sh_exp_f64(double x);                                /* |x| < 700 */
double sh_log_f64(double x);                                /* x > 0, normal */
void sh_sincos_f64(double x, double *sine, double *cosine); /* |x| < 2^20; absolute error below 1e-15 */

/* Adds the 16 partial sums of a dot product or a norm: the one tree in which every kernel adds its lanes. */
static inline float sh_sum16(const float lanes[16]) {
    float s[8];
    for (int i = 0; i < 8; i++) s[i] = lanes[i] + lanes[i + 8];
    for (int i = 0; i < 4; i++) s[i] = s[i] + s[i + 4];
    return (s[0] + s[2]) + (s[1] + s[3]);
}

#endif
