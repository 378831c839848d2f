/* normalize.c: bytes -> valid UTF-8 -> Unicode normalization form C.
 *
 * Owns the two steps that stand before every other: a tokenizer never sees bytes that are not UTF-8, and models of the Qwen
 * family see text in NFC. Text that is well formed and normalized already, as nearly all is, is passed on without a
 * copy.
 *
 * Decomposition and composition are utf8proc's, through its calls that write to the caller's buffer. The ordering of combining marks
 * is ours: utf8proc_decompose sorts by neighbouring swaps, quadratic for a long run of marks in the wrong order, which
 * anyone may send to a server. */
#include "text/tokenizer.h"

#include <string.h>
#include <utf8proc.h>

#include "base/memory.h"
#include "base/utf8.h"

/* ---- valid UTF-8 ---------------------------------------------------------------------------------------- */

/* The offset of the first byte that is not part of a well-formed character, or n. */
static size_t valid_front(const uint8_t *s, size_t n) {
    size_t i = 0;
    while (i < n) {
        uint64_t word;
        while (i + sizeof word <= n) {
            memcpy(&word, s + i, sizeof word);
            if (word & UINT64_C(0x8080808080808080)) break;
            i += sizeof word;
        }
        while (i < n && s[i] < 0x80) i++;
        while (i < n && s[i] >= 0x80) {
            size_t length;
            if (sh_utf8_next(s + i, n - i, &length) != SH_UTF8_CHARACTER) return i;
            i += length;
        }
    }
    return n;
}

sh_status sh_sanitize(sh_view text, sh_bytes *buffer, sh_view *out) {
    const uint8_t *s = (const uint8_t *)text.data;
    size_t n = text.length, at = valid_front(s, n), copied = 0;
    *out = text;
    if (at == n) return SH_OK;
    sh_status status = SH_OK;
    while (at < n) {
        size_t length;
        sh_utf8_next(s + at, n - at, &length);
        if ((status = sh_bytes_add(buffer, s + copied, at - copied)) != SH_OK) return status;
        if ((status = sh_bytes_add(buffer, SH_UTF8_REPLACEMENT, SH_UTF8_REPLACEMENT_BYTES)) != SH_OK) return status;
        copied = at + length;
        at = copied + valid_front(s + copied, n - copied);
    }
    if ((status = sh_bytes_add(buffer, s + copied, n - copied)) != SH_OK) return status;
    *out = (sh_view){(const char *)buffer->data, buffer->n};
    return SH_OK;
}

/* ---- which characters may change ------------------------------------------------------------------------ */

/* Ideographs, Hangul syllables (composed already; vowels and final consonants behind them are not inert) and surrogates:
 * nothing here decomposes, or composes with what stands before. Left out to open quickly. */
static const struct {
    uint32_t first, last;
} plain[] = {{0x3400, 0xa66e}, {0xac00, 0xdfff}, {0x17000, 0x1bbff}, {0x20000, 0x2f7ff}};

enum { DECOMPOSED = 32 }; /* more than any one character decomposes to */

static bool is_inert_bit(const uint64_t *inert, uint32_t c) {
    return inert[c / 64] >> c % 64 & 1;
}

static void clear_inert(uint64_t *inert, uint32_t c) {
    inert[c / 64] &= ~(UINT64_C(1) << c % 64);
}

static bool is_inert(const uint64_t *inert, uint32_t c) {
    return c >= SH_INERT_END || is_inert_bit(inert, c);
}

/* The canonical decomposition of c, whose length is returned. */
static size_t decompose(int32_t c, int32_t *points) {
    int boundary = 0; /* of graphemes: not asked for */
    utf8proc_ssize_t n = utf8proc_decompose_char(c, points, DECOMPOSED, UTF8PROC_DECOMPOSE, &boundary);
    if (n < 1 || n > DECOMPOSED) { /* never, for a code point; then the character stands for itself */
        points[0] = c;
        return 1;
    }
    return (size_t)n;
}

static size_t compose(int32_t *points, size_t n) {
    utf8proc_ssize_t composed =
        utf8proc_normalize_utf32(points, (utf8proc_ssize_t)n, (utf8proc_option_t)(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    return composed < 0 ? n : (size_t)composed;
}

static uint32_t combining_class(int32_t c) {
    return (uint32_t)utf8proc_get_property(c)->combining_class;
}

sh_status sh_inert_open(uint64_t **out) {
    uint64_t *inert = sh_alloc(SH_INERT_END / 64, sizeof *inert);
    if (!inert) return sh_fail(SH_ERR_MEMORY, "out of memory for the table of characters that NFC leaves alone");
    memset(inert, 0xff, SH_INERT_END / 64 * sizeof *inert);
    size_t next = 0;
    for (uint32_t c = 0x300; c < SH_INERT_END; c++) { /* below: no combining marks, and composed letters are NFC */
        if (next < sizeof plain / sizeof plain[0] && c == plain[next].first) {
            c = plain[next++].last;
            continue;
        }
        if (combining_class((int32_t)c)) clear_inert(inert, c);
        int32_t points[DECOMPOSED];
        size_t n = decompose((int32_t)c, points);
        if (n == 1 && points[0] == (int32_t)c) continue;
        /* The last character of a decomposition is what composes with those before it. */
        int32_t last = points[n - 1];
        if (n > 1 && last < SH_INERT_END) clear_inert(inert, (uint32_t)last);
        if (compose(points, n) != 1 || points[0] != (int32_t)c) clear_inert(inert, c);
    }
    /* The loop misses composed letters below U+0300; the marks that make them are all of these. */
    for (uint32_t c = 0x300; c <= 0x36f; c++) clear_inert(inert, c);
    for (uint32_t c = 0x1161; c <= 0x1175; c++) clear_inert(inert, c); /* Hangul vowels: composed by arithmetic */
    for (uint32_t c = 0x11a8; c <= 0x11c2; c++) clear_inert(inert, c); /* final consonants */
    *out = inert;
    return SH_OK;
}

/* ---- composing a stretch -------------------------------------------------------------------------------- */

static sh_status points_reserve(int32_t **points, size_t *capacity, size_t wanted) {
    if (wanted <= *capacity) return SH_OK;
    size_t grown = *capacity ? *capacity * 2 : 64;
    if (grown < wanted) grown = wanted;
    int32_t *block = sh_realloc(*points, grown, sizeof *block);
    if (!block) return sh_fail(SH_ERR_MEMORY, "out of memory normalizing %zu characters", wanted);
    *points = block;
    *capacity = grown;
    return SH_OK;
}

/* Sorts a run of combining marks by class; marks of one class keep their order. */
static sh_status order_run(sh_normalizer *work, int32_t *run, size_t n) {
    if (n <= 32) {
        for (size_t i = 1; i < n; i++) {
            int32_t c = run[i];
            uint32_t class = combining_class(c);
            size_t j = i;
            for (; j > 0 && combining_class(run[j - 1]) > class; j--) run[j] = run[j - 1];
            run[j] = c;
        }
        return SH_OK;
    }
    size_t start[257] = {0}; /* a counting sort: there are 255 classes */
    for (size_t i = 0; i < n; i++) start[(combining_class(run[i]) & 0xff) + 1]++;
    for (size_t class = 0; class < 256; class ++) start[class + 1] += start[class];
    sh_status status = points_reserve(&work->sorted, &work->sorted_capacity, n);
    if (status != SH_OK) return status;
    for (size_t i = 0; i < n; i++) work->sorted[start[combining_class(run[i]) & 0xff]++] = run[i];
    memcpy(run, work->sorted, n * sizeof *run);
    return SH_OK;
}

/* work->stretch = NFC of n bytes. */
static sh_status compose_stretch(sh_normalizer *work, const uint8_t *s, size_t n) {
    sh_status status;
    size_t count = 0;
    for (size_t i = 0; i < n; i += sh_utf8_bytes(s[i])) {
        if ((status = points_reserve(&work->points, &work->capacity, count + DECOMPOSED)) != SH_OK) return status;
        count += decompose((int32_t)sh_utf8_value(s + i), work->points + count);
    }
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && combining_class(work->points[end])) end++;
        if (end - i > 1 && (status = order_run(work, work->points + i, end - i)) != SH_OK) return status;
        i = end + 1;
    }
    count = compose(work->points, count);
    work->stretch.n = 0;
    for (size_t i = 0; i < count; i++) {
        if ((status = sh_bytes_reserve(&work->stretch, 4)) != SH_OK) return status;
        work->stretch.n += sh_utf8_put((uint32_t)work->points[i], work->stretch.data + work->stretch.n);
    }
    return SH_OK;
}

/* The start of the next character that is not inert, or n. */
static size_t next_unsettled(const uint64_t *inert, const uint8_t *s, size_t i, size_t n) {
    for (;;) {
        /* Bytes below 0xcc are characters below U+0300, which are inert, or the insides of others. */
        while (i < n && s[i] < 0xcc) i++;
        if (i >= n || !is_inert(inert, sh_utf8_value(s + i))) return i;
        i += sh_utf8_bytes(s[i]);
    }
}

sh_status sh_normalize(const uint64_t *inert, sh_normalizer *work, sh_view text, sh_view *out) {
    const uint8_t *s = (const uint8_t *)text.data;
    size_t n = text.length, copied = 0;
    bool changed = false;
    sh_status status;
    *out = text;
    work->text.n = 0;
    for (size_t at = next_unsettled(inert, s, 0, n); at < n; at = next_unsettled(inert, s, at, n)) {
        /* A stretch: the character before, which this one may compose with, and all up to the next inert one. */
        size_t start = at;
        if (start > 0) {
            start--;
            while ((s[start] & 0xc0) == 0x80) start--;
        }
        while (at < n && !is_inert(inert, sh_utf8_value(s + at))) at += sh_utf8_bytes(s[at]);
        if ((status = compose_stretch(work, s + start, at - start)) != SH_OK) return status;
        if (work->stretch.n == at - start && memcmp(work->stretch.data, s + start, at - start) == 0) continue;
        if ((status = sh_bytes_add(&work->text, s + copied, start - copied)) != SH_OK) return status;
        if ((status = sh_bytes_add(&work->text, work->stretch.data, work->stretch.n)) != SH_OK) return status;
        copied = at;
        changed = true;
    }
    if (!changed) return SH_OK;
    if ((status = sh_bytes_add(&work->text, s + copied, n - copied)) != SH_OK) return status;
    *out = (sh_view){(const char *)work->text.data, work->text.n};
    return SH_OK;
}

void sh_normalizer_close(sh_normalizer *work) {
    sh_free(work->points);
    sh_free(work->sorted);
    sh_free(work->stretch.data);
    sh_free(work->text.data);
}
