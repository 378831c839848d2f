/* test_math.c: half floats and the elementary functions, against libm in double precision and against exhaustive
 * tables. */
#include "support.h"

#include "base/math.h"

#include <float.h>
#include <math.h>

/* Every half is the value its fields say, and comes back from float32 with its bits. */
static void every_half(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        uint32_t exponent = h >> 10 & 31, mantissa = h & 1023;
        double value = exponent ? ldexp(1.0 + mantissa / 1024.0, (int)exponent - 15) : ldexp(mantissa / 1024.0, -14);
        if (h & 0x8000) value = -value;
        float found = sh_float_from_half((uint16_t)h);
        if (exponent == 31) {
            assert_true(mantissa ? isnan(found) : isinf(found));
            assert_true(mantissa || !signbit(found) == !(h >> 15));
            if (mantissa) assert_true((sh_half_from_float(found) & 0x7fff) > 0x7c00);
        } else {
            assert_true((double)found == value && !signbit(found) == !(h & 0x8000));
        }
        if (exponent != 31 || mantissa == 0) assert_int_equal(sh_half_from_float(found), h);
    }
}

/* Between two neighbouring halves: the nearer one, in the middle the even one. */
static void half_rounding(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x7bff; h++) {
        float low = sh_float_from_half((uint16_t)h), high = sh_float_from_half((uint16_t)(h + 1)),
              middle = (low + high) / 2;
        assert_int_equal(sh_half_from_float(middle), h & 1 ? h + 1 : h);
        assert_int_equal(sh_half_from_float(nextafterf(middle, 0)), h);
        assert_int_equal(sh_half_from_float(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(sh_half_from_float(-middle), 0x8000 | (h & 1 ? h + 1 : h));
    }
    assert_int_equal(sh_half_from_float(65519.996f), 0x7bff);
    assert_int_equal(sh_half_from_float(65520.0f), 0x7c00);
    assert_int_equal(sh_half_from_float(FLT_MAX), 0x7c00);
    assert_int_equal(sh_half_from_float(-INFINITY), 0xfc00);
    assert_true((sh_half_from_float(NAN) & 0x7fff) > 0x7c00);
}

static void bf16(void **state) {
    (void)state;
    assert_int_equal(sh_bf16_from_float(1.0f), 0x3f80);
    assert_int_equal(sh_bf16_from_float(sh_float_from_bits(0x3f808000)), 0x3f80); /* half way, even below */
    assert_int_equal(sh_bf16_from_float(sh_float_from_bits(0x3f818000)), 0x3f82); /* half way, even above */
    assert_int_equal(sh_bf16_from_float(sh_float_from_bits(0x3f808001)), 0x3f81);
    assert_true(isnan(sh_float_from_bf16(sh_bf16_from_float(sh_float_from_bits(0x7f800001)))));
    for (uint32_t h = 0; h < 65536; h++) {
        float value = sh_float_from_bf16((uint16_t)h);
        if (!isnan(value)) assert_int_equal(sh_bf16_from_float(value), h);
    }
}

/* Units in the last place between a float and the true value. */
static double ulps(float found, double truth) {
    if ((double)found == truth) return 0;
    double unit = fmax(ldexp(1, ilogb(truth) - 23), 0x1p-149);
    return fabs((double)found - truth) / unit;
}

static void exp_float(void **state) {
    (void)state;
    double worst = 0;
    for (float x = -103.9f; x < 88.7f; x += 0.00037f) worst = fmax(worst, ulps(sh_exp_f32(x), exp((double)x)));
    for (float x = 1e-30f; x < 1; x *= 1.01f)
        worst = fmax(worst, fmax(ulps(sh_exp_f32(x), exp((double)x)), ulps(sh_exp_f32(-x), exp(-(double)x))));
    print_message("  exp: at most %.2f units in the last place\n", worst);
    assert_true(worst < 2);
    assert_true(sh_exp_f32(0) == 1 && sh_exp_f32(-0.0f) == 1);
    assert_true(sh_exp_f32(-INFINITY) == 0 && sh_exp_f32(-200) == 0);
    assert_true(isinf(sh_exp_f32(INFINITY)) && isinf(sh_exp_f32(89)));
    assert_true(isnan(sh_exp_f32(NAN)));
}

static void doubles(void **state) {
    (void)state;
    double worst_exp = 0, worst_log = 0, worst_sine = 0;
    for (double x = -600; x < 600; x += 0.0137) worst_exp = fmax(worst_exp, fabs(sh_exp_f64(x) / exp(x) - 1));
    for (double x = 1e-12; x < 1e12; x *= 1.0007)
        worst_log = fmax(worst_log, fabs(sh_log_f64(x) - log(x)) / fmax(1, fabs(log(x))));
    for (double x = -1048575; x < 1048575; x += 3.14) {
        double s, c;
        sh_sincos_f64(x, &s, &c);
        worst_sine = fmax(worst_sine, fmax(fabs(s - sin(x)), fabs(c - cos(x))));
    }
    for (double x = -7; x < 7; x += 0.00011) {
        double s, c;
        sh_sincos_f64(x, &s, &c);
        worst_sine = fmax(worst_sine, fmax(fabs(s - sin(x)), fabs(c - cos(x))));
    }
    print_message("  double: exp %.2g, log %.2g, sine and cosine %.2g\n", worst_exp, worst_log, worst_sine);
    assert_true(worst_exp < 1e-15 && worst_log < 1e-15 && worst_sine < 1e-15);
    assert_true(sh_log_f64(1) == 0 && sh_exp_f64(0) == 1);
}

/* The fixed tree, on sums that round: over a hundred of them every other tree gives other bits somewhere. */
static void lanes(void **state) {
    (void)state;
    size_t in_order = 0, pairs = 0, halves = 0;
    for (int seed = 0; seed < 100; seed++) {
        float x[16], s[8], sum = 0;
        for (int i = 0; i < 16; i++) sum += x[i] = sinf((float)(16 * seed + 7 * i + 1)) * (float)(1 << i % 5);
        for (int i = 0; i < 8; i++) s[i] = x[i] + x[i + 8];
        float expected = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])), found = sh_sum16(x);
        assert_true(found == expected);
        in_order += found != sum;
        pairs += found != ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
        halves += found != ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
    }
    assert_true(in_order && pairs && halves);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half), cmocka_unit_test(half_rounding), cmocka_unit_test(bf16),
        cmocka_unit_test(exp_float),  cmocka_unit_test(doubles),       cmocka_unit_test(lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
