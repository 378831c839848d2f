/* math.c: exp, log, sine and cosine in a fixed order of IEEE operations. See math.h.
 *
 * The polynomials are Taylor series, long enough that what is cut off lies below the rounding error. */
#include "base/math.h"

#include <math.h>

float sh_exp_f32(float x) {
    if (x != x) return x;
    if (x > 88.8f) return INFINITY;
    if (x < -104.0f) return 0.0f;
    /* Adding and subtracting 1.5 * 2^23 rounds to the nearest integer. */
    float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
    /* ln 2 in two parts; the first has 9 bits, so that n times it is exact. */
    float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    /* 2^n in two factors: n goes down to -150, where the result is subnormal, and up to 128. */
    int32_t whole = (int32_t)n, half = whole / 2;
    float low = sh_float_from_bits((uint32_t)(half + 127) << 23);
    float high = sh_float_from_bits((uint32_t)(whole - half + 127) << 23);
    return p * low * high;
}

double sh_exp_f64(double x) {
    double n = nearbyint(x * 1.4426950408889634074);
    double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    double p = 1.0, term = 1.0;
    for (int k = 1; k <= 14; k++) {
        term = term * r / k;
        p = p + term;
    }
    return ldexp(p, (int)n);
}

double sh_log_f64(double x) {
    int exponent;
    double m = frexp(x, &exponent); /* [0.5, 1) */
    if (m < 0.70710678118654752440) {
        m = m * 2;
        exponent--;
    }
    /* log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172 */
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
    for (int k = 23; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;
    return exponent * 6.93147180369123816490e-01 + (2 * s * sum + exponent * 1.90821492927058770002e-10);
}

void sh_sincos_f64(double x, double *sine, double *cosine) {
    double n = nearbyint(x * 0.63661977236758134308);
    /* pi / 2 in three parts, the first two of 33 bits: n times them is exact. */
    double r = ((x - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) - n * 2.02226624871116645580e-21;
    double r2 = r * r, s = 0, c = 0;
    for (int k = 19; k >= 3; k -= 2) s = (1.0 - s) * r2 / (k * (k - 1)); /* r2/6 (1 - r2/20 (1 - ...)) */
    for (int k = 20; k >= 2; k -= 2) c = (1.0 - c) * r2 / (k * (k - 1));
    s = r - r * s;
    c = 1.0 - c;
    switch ((int64_t)n & 3) {
    case 0: *sine = s, *cosine = c; break;
    case 1: *sine = c, *cosine = -s; break;
    case 2: *sine = -s, *cosine = -c; break;
    default: *sine = -c, *cosine = s; break;
    }
}
