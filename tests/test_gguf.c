/* test_gguf.c: the GGUF reader: what is read, what is refused and in which words.
 *
 * Broken files are built byte by byte (support/gguf_bytes.h); each refusal is held against its whole text, because a
 * person has to find the way out in it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/gguf.h"
#include "support/gguf_bytes.h"

/* ---- helpers -------------------------------------------------------------------------------------------- */

/* Parses a copy of exactly the bytes at hand, so that AddressSanitizer sees a read past them. */
static sh_status parse(const uint8_t *bytes, size_t n, sh_gguf **out, uint8_t **copy) {
    *copy = malloc(n ? n : 1);
    assert_non_null(*copy);
    if (n) memcpy(*copy, bytes, n);
    return sh_gguf_parse(*copy, n, out);
}

static void check_refused(gguf_bytes *b, sh_status expected, const char *text) {
    sh_gguf *gguf;
    uint8_t *copy;
    sh_status status = parse(b->data, b->n, &gguf, &copy);
    assert_string_equal(status ? sh_error_text() : "opened", text);
    assert_int_equal(status, expected);
    assert_null(gguf);
    free(copy);
    gb_free(b);
}

#define REFUSED(status, text, ...)                                                                                     \
    do {                                                                                                               \
        gguf_bytes b = {0};                                                                                            \
        __VA_ARGS__;                                                                                                   \
        check_refused(&b, status, text);                                                                               \
    } while (0)

#define FORMAT(text, ...)      REFUSED(SH_ERR_FORMAT, text, __VA_ARGS__)
#define UNSUPPORTED(text, ...) REFUSED(SH_ERR_UNSUPPORTED, text, __VA_ARGS__)

/* ---- what is read --------------------------------------------------------------------------------------- */

static void test_all_types(void **state) {
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        gguf_bytes b = {0};
        sh_gguf *gguf;
        uint8_t *copy;
        uint64_t n;
        uint32_t n_parts;
        gb_every_type(&b, version);
        assert_int_equal(parse(b.data, b.n, &gguf, &copy), SH_OK);
        assert_int_equal(sh_gguf_version(gguf), version);
        assert_int_equal(sh_gguf_alignment(gguf), 32);
        sh_gguf_keys(gguf, &n);
        assert_int_equal(n, 23);
        static const char *const ones[13] = {"254", "-2",   "65534",       "-2", "4294967294",           "-2",
                                             "1.5", "true", "caf\xc3\xa9", NULL, "18446744073709551614", "-2",
                                             "1.5"};
        static const char *const many[13] = {
            "[7, 254]",   "[7, -2]",       "[7, 65534]",    "[7, -2]", "[7, 4294967294]",           "[7, -2]",
            "[0, -2.25]", "[false, true]", "[\"x\", \"\"]", NULL,      "[7, 18446744073709551614]", "[7, -2]",
            NULL};
        for (int type = 0; type < 13; type++) {
            char name[16];
            snprintf(name, sizeof name, "one.%d", type);
            if (ones[type]) gb_check_value(gguf, name, ones[type]);
            snprintf(name, sizeof name, "many.%d", type);
            if (many[type]) gb_check_value(gguf, name, many[type]);
        }
        const sh_gguf_tensor *tensors = sh_gguf_tensors(gguf, &n);
        assert_int_equal(n, 2);
        assert_true(sh_view_is(tensors[0].name, "a.weight"));
        assert_true(sh_view_is(tensors[1].name, "b.weight"));
        assert_ptr_equal(sh_gguf_find_tensor(gguf, "b.weight"), &tensors[1]);
        assert_null(sh_gguf_find_tensor(gguf, "c.weight"));
        assert_null(sh_gguf_find(gguf, "one"));
        assert_int_equal(tensors[1].n_dims, 2);
        assert_int_equal(tensors[1].dims[0], 8);
        assert_int_equal(tensors[1].dims[1], 3);
        assert_int_equal(tensors[1].dims[2], 1);
        assert_int_equal(tensors[1].dims[3], 1);
        assert_int_equal(tensors[1].type, 1);
        assert_int_equal(tensors[1].offset, 32);
        const sh_gguf_part *part = sh_gguf_parts(gguf, &n_parts);
        assert_int_equal(n_parts, 1);
        assert_int_equal(part->start % 32, 0);
        assert_int_equal(part->start + part->size, b.n);
        assert_int_equal(part->data[0], 0x11);
        assert_int_equal(part->data[32], 0x22);
        assert_string_equal(part->path, "");
        sh_gguf_close(gguf);
        free(copy);
        gb_free(&b);
    }
}

static void test_typed_access(void **state) {
    (void)state;
    gguf_bytes b = {0};
    sh_gguf *gguf;
    uint8_t *copy;
    gb_every_type(&b, 3);
    assert_int_equal(parse(b.data, b.n, &gguf, &copy), SH_OK);

    uint32_t u = 77;
    uint64_t w = 77;
    float f = 77;
    bool t = false;
    sh_view s = {"default", 7};
    assert_int_equal(sh_gguf_get_u32(gguf, "absent", &u), SH_OK);
    assert_int_equal(sh_gguf_get_u64(gguf, "absent", &w), SH_OK);
    assert_int_equal(sh_gguf_get_f32(gguf, "absent", &f), SH_OK);
    assert_int_equal(sh_gguf_get_bool(gguf, "absent", &t), SH_OK);
    assert_int_equal(sh_gguf_get_string(gguf, "absent", &s), SH_OK);
    assert_true(u == 77 && w == 77 && f == 77 && !t && sh_view_is(s, "default"));

    assert_int_equal(sh_gguf_get_u32(gguf, "one.0", &u), SH_OK);
    assert_int_equal(u, 254);
    assert_int_equal(sh_gguf_get_u32(gguf, "one.4", &u), SH_OK);
    assert_int_equal(u, 4294967294u);
    assert_int_equal(sh_gguf_get_u64(gguf, "one.10", &w), SH_OK);
    assert_true(w == 18446744073709551614u);
    assert_int_equal(sh_gguf_get_f32(gguf, "one.6", &f), SH_OK);
    assert_true(f == 1.5f);
    assert_int_equal(sh_gguf_get_f32(gguf, "one.12", &f), SH_OK);
    assert_true(f == 1.5f);
    assert_int_equal(sh_gguf_get_f32(gguf, "one.3", &f), SH_OK);
    assert_true(f == -2.0f);
    assert_int_equal(sh_gguf_get_bool(gguf, "one.7", &t), SH_OK);
    assert_true(t);
    assert_int_equal(sh_gguf_get_string(gguf, "one.8", &s), SH_OK);
    assert_true(sh_view_is(s, "caf\xc3\xa9"));

    u = 77;
    assert_int_equal(sh_gguf_get_u32(gguf, "one.10", &u), SH_ERR_FORMAT);
    assert_string_equal(sh_error_text(),
                        "key 'one.10' is 18446744073709551614 (u64), but should be an integer from 0 to "
                        "4294967295: the file is damaged or made by a faulty tool");
    assert_int_equal(sh_gguf_get_u32(gguf, "one.5", &u), SH_ERR_FORMAT);
    assert_string_equal(sh_error_text(),
                        "key 'one.5' is -2 (i32), but should be an integer from 0 to 4294967295: the file "
                        "is damaged or made by a faulty tool");
    assert_int_equal(sh_gguf_get_u32(gguf, "one.7", &u), SH_ERR_FORMAT);
    assert_int_equal(sh_gguf_get_u32(gguf, "one.6", &u), SH_ERR_FORMAT);
    assert_int_equal(sh_gguf_get_u32(gguf, "many.4", &u), SH_ERR_FORMAT);
    assert_int_equal(u, 77);
    assert_int_equal(sh_gguf_get_u64(gguf, "one.11", &w), SH_ERR_FORMAT);
    assert_int_equal(sh_gguf_get_f32(gguf, "one.8", &f), SH_ERR_FORMAT);
    assert_string_equal(sh_error_text(),
                        "key 'one.8' is caf\xc3\xa9 (string), but should be a number: the file is damaged "
                        "or made by a faulty tool");
    assert_int_equal(sh_gguf_get_bool(gguf, "one.0", &t), SH_ERR_FORMAT);
    assert_int_equal(sh_gguf_get_string(gguf, "many.8", &s), SH_ERR_FORMAT);
    assert_string_equal(sh_error_text(),
                        "key 'many.8' is [\"x\", \"\"] (array), but should be a string: the file is damaged "
                        "or made by a faulty tool");

    const sh_gguf_key *strings = sh_gguf_find(gguf, "many.8");
    const uint8_t *cursor = strings->data;
    assert_true(sh_view_is(sh_gguf_next_string(&cursor), "x"));
    assert_true(sh_view_is(sh_gguf_next_string(&cursor), ""));
    assert_ptr_equal(cursor, strings->end);
    assert_true(sh_gguf_integer(sh_gguf_find(gguf, "many.1"), 1) == -2);
    assert_true(sh_gguf_integer(sh_gguf_find(gguf, "many.10"), 1) == INT64_MAX);
    assert_true(sh_gguf_integer(sh_gguf_find(gguf, "many.7"), 1) == 1);
    assert_true(sh_gguf_integer(sh_gguf_find(gguf, "many.6"), 1) == 0);
    sh_gguf_close(gguf);
    free(copy);
    gb_free(&b);
}

static void test_doubles_out_of_range(void **state) {
    (void)state;
    gguf_bytes b = {0};
    sh_gguf *gguf;
    float f = 3;
    gb_head(&b, 3, 0, 2);
    gb_key(&b, "large", 12);
    gb_u64(&b, 0x7e37e43c8800759cu); /* 1e300 */
    gb_key(&b, "infinite", 12);
    gb_u64(&b, 0x7ff0000000000000u);
    assert_int_equal(sh_gguf_parse(b.data, b.n, &gguf), SH_OK);
    assert_int_equal(sh_gguf_get_f32(gguf, "large", &f), SH_ERR_FORMAT);
    assert_string_equal(sh_error_text(),
                        "key 'large' is 1.0000000000000001e+300 (f64), but should be a number that a 32-bit "
                        "float holds: the file is damaged or made by a faulty tool");
    assert_true(f == 3);
    assert_int_equal(sh_gguf_get_f32(gguf, "infinite", &f), SH_OK);
    assert_true(isinf(f));
    sh_gguf_close(gguf);
    gb_free(&b);
}

static void test_value_text(void **state) {
    (void)state;
    gguf_bytes b = {0};
    sh_gguf *gguf;
    char text[32];
    gb_head(&b, 3, 0, 3);
    gb_key_string(&b, "s", "a\x1b[31m\xff\xe2\x82\xac\xed\xa0\x80\nb");
    gb_key(&b, "a", 9);
    gb_u32(&b, 4);
    gb_u64(&b, 100);
    for (uint32_t i = 0; i < 100; i++) gb_u32(&b, i);
    gb_key(&b, "none", 9);
    gb_u32(&b, 8);
    gb_u64(&b, 0);
    assert_int_equal(sh_gguf_parse(b.data, b.n, &gguf), SH_OK);
    sh_gguf_value_text(sh_gguf_find(gguf, "s"), text, sizeof text);
    assert_string_equal(text, "a?[31m?\xe2\x82\xac???\nb");
    sh_gguf_value_text(sh_gguf_find(gguf, "s"), text, 10); /* the euro sign does not fit: it is not cut in two */
    assert_string_equal(text, "a?[31m?");
    sh_gguf_value_text(sh_gguf_find(gguf, "s"), text, 1);
    assert_string_equal(text, "");
    char wide[64];
    sh_gguf_value_text(sh_gguf_find(gguf, "a"), wide, sizeof wide);
    assert_string_equal(wide, "[0, 1, 2, 3, 4, 5, 6, 7, ... 100 elements]");
    sh_gguf_value_text(sh_gguf_find(gguf, "none"), wide, sizeof wide);
    assert_string_equal(wide, "[]");
    sh_gguf_close(gguf);
    gb_free(&b);
}

static void test_alignments(void **state) {
    (void)state;
    for (uint32_t alignment = 8; alignment <= 4096; alignment *= 2) {
        gguf_bytes b = {0};
        sh_gguf *gguf;
        uint32_t n;
        gb_head(&b, 3, 1, 1);
        gb_key_u32(&b, "general.alignment", alignment);
        gb_tensor(&b, "t", 0, 1, 0, 0);
        gb_pad(&b, alignment);
        gb_f32(&b, 4);
        assert_int_equal(sh_gguf_parse(b.data, b.n, &gguf), SH_OK);
        assert_int_equal(sh_gguf_alignment(gguf), alignment);
        assert_int_equal(sh_gguf_parts(gguf, &n)[0].start % alignment, 0);
        assert_int_equal(sh_gguf_parts(gguf, &n)[0].size, 4);
        assert_int_equal(sh_gguf_parts(gguf, &n)[0].alignment, alignment);
        sh_gguf_close(gguf);
        gb_free(&b);
    }
}

/* ---- what is refused ------------------------------------------------------------------------------------ */

static void test_not_gguf(void **state) {
    (void)state;
    FORMAT("not a GGUF file: it is empty; download it again", (void)b);
    FORMAT("not a GGUF file: it looks like a zip archive, such as a PyTorch checkpoint; convert the model to GGUF",
           gb_bytes(&b, "PK\3\4----", 8));
    FORMAT("not a GGUF file: it looks like a Git LFS pointer, not the file itself; run git lfs pull",
           gb_bytes(&b, "version https://git-lfs.github.com/spec/v1\n", 43));
    FORMAT("not a GGUF file: it looks like an HTML page, so the download gave a web page; download the file itself",
           gb_bytes(&b, "<!DOCTYPE html>", 15));
    FORMAT("not a GGUF file: it looks like an HTML page, so the download gave a web page; download the file itself",
           gb_bytes(&b, "<html>", 6));
    FORMAT("not a GGUF file: it looks like an XML text, so the download gave an error; download it again",
           gb_bytes(&b, "<?xml version", 13));
    FORMAT("not a GGUF file: it looks like a JSON text, not a model", gb_bytes(&b, "{\"error\"", 8));
    FORMAT("not a GGUF file: it looks like gzip-compressed; decompress it", gb_bytes(&b, "\x1f\x8b\x08\x00", 4));
    FORMAT("not a GGUF file: it looks like zstd-compressed; decompress it", gb_bytes(&b, "\x28\xb5\x2f\xfd", 4));
    FORMAT("not a GGUF file: it looks like a safetensors file; convert the model to GGUF", gb_u64(&b, 2),
           gb_bytes(&b, "{}", 2));
    FORMAT("not a GGUF file: it looks like a GGML file of 2023, before GGUF; convert the original model to GGUF",
           gb_bytes(&b, "tjgg\1\0\0\0", 8));
    FORMAT("not a GGUF file: it looks like zeros, as an unfinished download; download it again", gb_fill(&b, 0, 100));
    FORMAT("not a GGUF file: it begins with 47 47 55 58, not with GGUF (47 47 55 46)", gb_bytes(&b, "GGUX1234", 8));
    FORMAT("not a GGUF file: it begins with 47 47, not with GGUF (47 47 55 46)", gb_bytes(&b, "GG", 2));
}

static void test_versions(void **state) {
    (void)state;
    UNSUPPORTED("GGUF version 1, but 2 and 3 are read; convert the original model again with a current tool",
                gb_head(&b, 1, 0, 0));
    UNSUPPORTED(
        "a big-endian GGUF file, but little-endian ones are read; take the little-endian file of this model or convert "
        "it (gguf_convert_endian)",
        gb_head(&b, 0x03000000, 0, 0));
    UNSUPPORTED("GGUF version 4, but 2 and 3 are read; look for a newer release of this program", gb_head(&b, 4, 0, 0));
    UNSUPPORTED("GGUF version 0, but 2 and 3 are read; look for a newer release of this program", gb_head(&b, 0, 0, 0));
}

static void test_counts(void **state) {
    (void)state;
    FORMAT(
        "GGUF version needs 4 bytes at byte 4, but the file ends at 6: it is cut short or damaged; download it again",
        gb_bytes(&b, "GGUF\3\0", 6));
    FORMAT("number of tensors needs 8 bytes at byte 8, but the file ends at 10: it is cut short or damaged; download "
           "it again",
           gb_bytes(&b, "GGUF\3\0\0\0\1\0", 10));
    FORMAT("0 keys and 18446744073709551615 tensors do not fit into a file of 24 bytes: it is cut short or damaged; "
           "download "
           "it again",
           gb_head(&b, 3, UINT64_MAX, 0));
    FORMAT("4611686018427387904 keys and 0 tensors do not fit into a file of 24 bytes: it is cut short or damaged; "
           "download it "
           "again",
           gb_head(&b, 3, 0, (uint64_t)1 << 62));
    FORMAT("72 keys and 0 tensors do not fit into a file of 1024 bytes: it is cut short or damaged; download it again",
           gb_head(&b, 3, 0, 72), gb_fill(&b, 0, 1000));
}

static void test_keys(void **state) {
    (void)state;
    FORMAT("key 1 of 1 at byte 24 has a name of 0 bytes, but 1 to 65535 are allowed: the file is damaged; download it "
           "again",
           gb_head(&b, 3, 0, 1), gb_key_u32(&b, "", 1));
    FORMAT(
        "key 1 of 1 at byte 24 has a name of 65536 bytes, but 1 to 65535 are allowed: the file is damaged; download it "
        "again",
        gb_head(&b, 3, 0, 1), gb_u64(&b, 65536), gb_fill(&b, 'k', 70000));
    FORMAT("key 1 of 1 at byte 24 has a name of 18446744073709551615 bytes, but 1 to 65535 are allowed: the file is "
           "damaged; "
           "download it again",
           gb_head(&b, 3, 0, 1), gb_u64(&b, UINT64_MAX), gb_fill(&b, 'k', 100));
    FORMAT("key 1 of 1 at byte 24 has a zero byte in its name: the file is damaged; download it again",
           gb_head(&b, 3, 0, 1), gb_u64(&b, 3), gb_bytes(&b, "a\0b", 3), gb_u32(&b, 4), gb_u32(&b, 1));
    FORMAT("key 'k' has a value of type 13, but types are 0 to 12: the file is damaged; download it again",
           gb_head(&b, 3, 0, 1), gb_key(&b, "k", 13), gb_u32(&b, 1));
    FORMAT("key 'k' is an array of type 99, but types are 0 to 12: the file is damaged; download it again",
           gb_head(&b, 3, 0, 1), gb_key(&b, "k", 9), gb_u32(&b, 99), gb_u64(&b, 1));
    UNSUPPORTED("key 'k' is an array of arrays, which no known model needs; remove the key", gb_head(&b, 3, 0, 1),
                gb_key(&b, "k", 9), gb_u32(&b, 9), gb_u64(&b, 1));
    FORMAT("key 'k' holds the truth value 2, but only 0 and 1 are allowed: the file is damaged; download it again",
           gb_head(&b, 3, 0, 1), gb_key(&b, "k", 7), gb_u8(&b, 2));
    FORMAT("key 'k' holds the truth value 255, but only 0 and 1 are allowed: the file is damaged; download it again",
           gb_head(&b, 3, 0, 1), gb_key(&b, "k", 9), gb_u32(&b, 7), gb_u64(&b, 2), gb_u8(&b, 1), gb_u8(&b, 255));
    FORMAT("value of key 'key' needs 8 bytes at byte 39, but the file ends at 43: it is cut short or damaged; download "
           "it again",
           gb_head(&b, 3, 0, 1), gb_key(&b, "key", 12), gb_u32(&b, 1));
    FORMAT("value of key 'key' needs 100 bytes at byte 47, but the file ends at 50: it is cut short or damaged; "
           "download it "
           "again",
           gb_head(&b, 3, 0, 1), gb_key(&b, "key", 8), gb_u64(&b, 100), gb_fill(&b, 'x', 3));
    FORMAT(
        "value of key 'key' needs 18446744073709551612 bytes at byte 51, but the file ends at 55: it is cut short or "
        "damaged; download it again",
        gb_head(&b, 3, 0, 1), gb_key(&b, "key", 9), gb_u32(&b, 4), gb_u64(&b, 0x3fffffffffffffffu), gb_u32(&b, 0));
    FORMAT(
        "value of key 'key' needs 18446744073709551615 bytes at byte 51, but the file ends at 55: it is cut short or "
        "damaged; download it again",
        gb_head(&b, 3, 0, 1), gb_key(&b, "key", 9), gb_u32(&b, 4), gb_u64(&b, 0x4000000000000001u), gb_u32(&b, 0));
    FORMAT(
        "value of key 'key' needs 18446744073709551615 bytes at byte 51, but the file ends at 55: it is cut short or "
        "damaged; download it again",
        gb_head(&b, 3, 0, 1), gb_key(&b, "key", 9), gb_u32(&b, 8), gb_u64(&b, UINT64_MAX), gb_u32(&b, 0));
    FORMAT("value of key 'key' needs 9223372036854775807 bytes at byte 59, but the file ends at 67: it is cut short or "
           "damaged; "
           "download it again",
           gb_head(&b, 3, 0, 1), gb_key(&b, "key", 9), gb_u32(&b, 8), gb_u64(&b, 2), gb_u64(&b, INT64_MAX),
           gb_u64(&b, 0));
    FORMAT("key 'k' occurs twice, as number 1 and 3: the file is damaged; download or convert it again",
           gb_head(&b, 3, 0, 3), gb_key_u32(&b, "k", 1), gb_key_u32(&b, "j", 1), gb_key_u32(&b, "k", 1));
}

static void test_alignment_key(void **state) {
    (void)state;
    static const uint32_t wrong[] = {0, 1, 4, 7, 24, 33, 1u << 25, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "key 'general.alignment' is %u, but should be a power of two from 8 to 16777216",
                 wrong[i]);
        FORMAT(text, gb_head(&b, 3, 0, 1), gb_key_u32(&b, "general.alignment", wrong[i]));
    }
    FORMAT("key 'general.alignment' should be an integer, but its type is string", gb_head(&b, 3, 0, 1),
           gb_key_string(&b, "general.alignment", "32"));
    FORMAT("key 'general.alignment' should be an integer, but its type is array", gb_head(&b, 3, 0, 1),
           gb_key(&b, "general.alignment", 9), gb_u32(&b, 4), gb_u64(&b, 0));
}

static void test_tensors(void **state) {
    (void)state;
    FORMAT("tensor 1 of 1 at byte 24 has a name of 65 bytes, but 1 to 64 are allowed: the file is damaged; download it "
           "again",
           gb_head(&b, 3, 1, 0),
           gb_tensor(&b, "0123456789012345678901234567890123456789012345678901234567890123x", 0, 1, 0, 0));
    FORMAT("tensor 1 of 1 at byte 24 has a name of 0 bytes, but 1 to 64 are allowed: the file is damaged; download it "
           "again",
           gb_head(&b, 3, 1, 0), gb_tensor(&b, "", 0, 1, 0, 0), gb_u64(&b, 0));
    FORMAT("tensor 't' has 0 dimensions, but 1 to 4 are allowed: the file is damaged; download it again",
           gb_head(&b, 3, 1, 0), gb_string(&b, "t"), gb_u32(&b, 0), gb_u32(&b, 0), gb_u64(&b, 0), gb_u64(&b, 0));
    FORMAT("tensor 't' has 5 dimensions, but 1 to 4 are allowed: the file is damaged; download it again",
           gb_head(&b, 3, 1, 0), gb_string(&b, "t"), gb_u32(&b, 5), gb_fill(&b, 1, 60));
    FORMAT("tensor 't': dimension 1 is 0: the file is damaged; download it again", gb_head(&b, 3, 1, 0),
           gb_string(&b, "t"), gb_u32(&b, 2), gb_u64(&b, 4), gb_u64(&b, 0), gb_u32(&b, 0), gb_u64(&b, 0));
    FORMAT("tensor 't' has more than 2^63 elements (dimension 1 is 4294967296): the file is damaged; download it again",
           gb_head(&b, 3, 1, 0), gb_tensor(&b, "t", 0, (uint64_t)1 << 32, (uint64_t)1 << 32, 0));
    FORMAT("tensor 't' has more than 2^63 elements (dimension 0 is 9223372036854775808): the file is damaged; download "
           "it again",
           gb_head(&b, 3, 1, 0), gb_tensor(&b, "t", 0, (uint64_t)1 << 63, 0, 0));
    FORMAT("offset of tensor 't' needs 8 bytes at byte 57, but the file ends at 61: it is cut short or damaged; "
           "download it "
           "again",
           gb_head(&b, 3, 1, 0), gb_string(&b, "t"), gb_u32(&b, 2), gb_u64(&b, 1), gb_u64(&b, 1), gb_u32(&b, 0),
           gb_u32(&b, 0));
    FORMAT("tensor 't' occurs twice, as number 1 and 2: the file is damaged; download or convert it again",
           gb_head(&b, 3, 2, 0), gb_tensor(&b, "t", 0, 1, 0, 0), gb_tensor(&b, "t", 0, 1, 0, 32), gb_pad(&b, 32),
           gb_fill(&b, 0, 64));
    FORMAT("tensor data begins at byte 64, but the file ends at 57: it is cut short; download it again",
           gb_head(&b, 3, 1, 0), gb_tensor(&b, "t", 0, 1, 0, 0));
    UNSUPPORTED("part 2 of 3 of a split file in memory; open it by its path", gb_head(&b, 3, 0, 2),
                gb_key_u32(&b, "split.count", 3), gb_key_u32(&b, "split.no", 1));
    FORMAT("key 'split.no' is 3 and 'split.count' 3, but parts are numbered from 0 and there are at most 65535: the "
           "file is "
           "damaged",
           gb_head(&b, 3, 0, 2), gb_key_u32(&b, "split.count", 3), gb_key_u32(&b, "split.no", 3));
}

/* Cut anywhere in its header, a file is refused; cut in its data, it still parses: the extents are the layout's. */
static void test_every_length(void **state) {
    (void)state;
    gguf_bytes b = {0};
    gb_every_type(&b, 3);
    sh_gguf *gguf;
    uint8_t *copy;
    uint32_t n_parts;
    assert_int_equal(parse(b.data, b.n, &gguf, &copy), SH_OK);
    uint64_t start = sh_gguf_parts(gguf, &n_parts)[0].start;
    sh_gguf_close(gguf);
    free(copy);
    for (size_t n = 0; n < b.n; n++) {
        sh_status status = parse(b.data, n, &gguf, &copy);
        if (n < start) {
            assert_int_equal(status, SH_ERR_FORMAT);
            assert_true(strlen(sh_error_text()) > 20);
            assert_null(gguf);
        } else {
            assert_int_equal(status, SH_OK);
        }
        sh_gguf_close(gguf);
        free(copy);
    }
    gb_free(&b);
}

/* Every bit of the header in turn: whatever comes out, it is a value or an error. */
static void test_every_bit(void **state) {
    (void)state;
    gguf_bytes b = {0};
    gb_every_type(&b, 3);
    int refused = 0, opened = 0;
    for (size_t bit = 0; bit < 8 * (b.n - 96); bit++) {
        sh_gguf *gguf;
        uint8_t *copy;
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (parse(b.data, b.n, &gguf, &copy) == SH_OK) {
            uint64_t n;
            char text[100];
            const sh_gguf_key *keys = sh_gguf_keys(gguf, &n);
            for (uint64_t i = 0; i < n; i++) sh_gguf_value_text(&keys[i], text, sizeof text);
            opened++;
        } else {
            refused++;
        }
        sh_gguf_close(gguf);
        free(copy);
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(refused > 1000 && opened > 1000);
    gb_free(&b);
}

/* A file of nothing but names takes n log n, not n squared: 200,000 keys within the test's time. */
static void test_many_keys(void **state) {
    (void)state;
    enum { KEYS = 200000 };
    gguf_bytes b = {0};
    sh_gguf *gguf;
    gb_head(&b, 3, 0, KEYS);
    for (int i = 0; i < KEYS; i++) {
        char name[64];
        snprintf(name, sizeof name, "a.long.and.common.beginning.of.a.key.%d", i);
        gb_key(&b, name, 0);
        gb_u8(&b, (uint8_t)i);
    }
    assert_int_equal(sh_gguf_parse(b.data, b.n, &gguf), SH_OK);
    for (int i = 0; i < KEYS; i += 7) {
        char name[64];
        uint32_t value = 1000;
        snprintf(name, sizeof name, "a.long.and.common.beginning.of.a.key.%d", i);
        assert_int_equal(sh_gguf_get_u32(gguf, name, &value), SH_OK);
        assert_int_equal(value, i & 255);
    }
    sh_gguf_close(gguf);
    gb_free(&b);
}

/* ---- files in parts ------------------------------------------------------------------------------------- */

static void build_part(gguf_bytes *b, uint16_t number, uint16_t count, uint32_t tensors, const char *name) {
    gb_head(b, 3, 1, number == 0 ? 4 : 3);
    gb_key(b, "split.no", 2);
    gb_u16(b, number);
    gb_key(b, "split.count", 2);
    gb_u16(b, count);
    gb_key(b, "split.tensors.count", 5);
    gb_u32(b, tensors);
    if (number == 0) gb_key_string(b, "general.name", "whole");
    gb_tensor(b, name, 0, 1, 0, 0);
    gb_pad(b, 32);
    gb_f32(b, (float)number);
}

static void save_part(const char *folder, const char *file, uint16_t number, uint16_t count, uint32_t tensors,
                      const char *name) {
    char path[400];
    gguf_bytes b = {0};
    build_part(&b, number, count, tensors, name);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    gb_save(&b, path);
    gb_free(&b);
}

/* Opens `file` of the folder, and holds the error, from behind the folder's name on, against `text`. */
static void check_open(const char *folder, const char *file, sh_status expected, const char *text) {
    char path[400], wanted[600];
    sh_gguf *gguf;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    sh_status status = sh_gguf_open(path, &gguf);
    const char *hole = strstr(text, "DIR");
    snprintf(wanted, sizeof wanted, "%.*s%s%s", (int)(hole - text), text, folder, hole + 3);
    assert_string_equal(status ? sh_error_text() : "opened", wanted);
    assert_int_equal(status, expected);
    assert_null(gguf);
}

static void test_parts(void **state) {
    (void)state;
    char folder[256], path[400];
    static const char *const names[] = {"a", "b", "c"};
    gb_folder_open(folder);
    for (uint16_t i = 0; i < 3; i++) {
        char file[64];
        snprintf(file, sizeof file, "m-%05d-of-00003.gguf", i + 1);
        save_part(folder, file, i, 3, 3, names[i]);
    }
    for (int i = 0; i < 3; i++) { /* by any of them */
        sh_gguf *gguf;
        uint64_t n;
        uint32_t n_parts;
        sh_view name = {"", 0};
        snprintf(path, sizeof path, "%s/m-%05d-of-00003.gguf", folder, i + 1);
        if (sh_gguf_open(path, &gguf)) fail_msg("%s", sh_error_text());
        const sh_gguf_part *parts = sh_gguf_parts(gguf, &n_parts);
        const sh_gguf_tensor *tensors = sh_gguf_tensors(gguf, &n);
        assert_int_equal(n_parts, 3);
        assert_int_equal(n, 3);
        for (uint32_t k = 0; k < 3; k++) {
            float value;
            assert_true(sh_view_is(tensors[k].name, names[k]));
            assert_int_equal(tensors[k].part, k);
            memcpy(&value, parts[k].data + tensors[k].offset, 4);
            assert_true(value == (float)k);
            assert_non_null(strstr(parts[k].path, "-of-00003.gguf"));
        }
        assert_ptr_equal(sh_gguf_find_tensor(gguf, "c"), &tensors[2]);
        assert_int_equal(sh_gguf_get_string(gguf, "general.name", &name), SH_OK);
        assert_true(sh_view_is(name, "whole"));
        sh_gguf_close(gguf);
    }

    snprintf(path, sizeof path, "%s/m-00002-of-00003.gguf", folder);
    assert_int_equal(unlink(path), 0);
    check_open(folder, "m-00001-of-00003.gguf", SH_ERR_IO,
               "part 2 of 3 is needed, but cannot be opened: DIR/m-00002-of-00003.gguf: No such file or directory");
    save_part(folder, "m-00002-of-00003.gguf", 1, 4, 3, "b");
    check_open(folder, "m-00001-of-00003.gguf", SH_ERR_FORMAT,
               "DIR/m-00002-of-00003.gguf: it says that it is part 2 of 4, but by its name it is part 2 of 3: the "
               "parts are not "
               "of one model; download them again");
    save_part(folder, "m-00002-of-00003.gguf", 1, 3, 3, "a");
    check_open(folder, "m-00003-of-00003.gguf", SH_ERR_FORMAT,
               "DIR/m-00003-of-00003.gguf: tensor 'a' occurs twice, as number 1 and 2: the file is damaged; download "
               "or convert "
               "it again");
    save_part(folder, "m-00001-of-00003.gguf", 0, 3, 4, "z");
    check_open(
        folder, "m-00001-of-00003.gguf", SH_ERR_FORMAT,
        "DIR/m-00001-of-00003.gguf: key 'split.tensors.count' is 4, but the 3 parts hold 3 tensors: the parts are not "
        "of one model; download them again");
    save_part(folder, "renamed.gguf", 1, 3, 3, "b");
    check_open(folder, "renamed.gguf", SH_ERR_FORMAT,
               "DIR/renamed.gguf: it says that it is part 2 of 3, so its name should end in -00002-of-00003.gguf for "
               "the other "
               "parts to be found; rename it");
    save_part(folder, "m-00003-of-00003.gguf", 1, 3, 3, "b"); /* a part under the name of another */
    check_open(
        folder, "m-00003-of-00003.gguf", SH_ERR_FORMAT,
        "DIR/m-00003-of-00003.gguf: it says that it is part 2 of 3, so its name should end in -00002-of-00003.gguf for "
        "the other parts to be found; rename it");
    gb_folder_close(folder);
}

static void test_open_errors(void **state) {
    (void)state;
    char folder[256], path[400];
    gb_folder_open(folder);
    check_open(folder, "absent.gguf", SH_ERR_IO, "DIR/absent.gguf: No such file or directory");
    gguf_bytes b = {0};
    snprintf(path, sizeof path, "%s/empty.gguf", folder);
    gb_save(&b, path);
    check_open(folder, "empty.gguf", SH_ERR_FORMAT, "DIR/empty.gguf: not a GGUF file: it is empty; download it again");
    sh_gguf *gguf;
    assert_int_equal(sh_gguf_open(folder, &gguf), SH_ERR_IO);
    gb_folder_close(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_types),
        cmocka_unit_test(test_typed_access),
        cmocka_unit_test(test_doubles_out_of_range),
        cmocka_unit_test(test_value_text),
        cmocka_unit_test(test_alignments),
        cmocka_unit_test(test_not_gguf),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_alignment_key),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_open_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
