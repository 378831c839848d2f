/* sampler.c: from logits to a token. See sampler.h.
 *
 * The vocabulary is never sorted: the k best are kept in a heap while the logits pass by, or, where no k is given, the
 * likeliest are taken one by one from a heap of all until top_p is reached. */
#include "engine/sampler.h"

#include "base/math.h"
#include "base/memory.h"

#include <math.h>

sh_status sh_sampler_open(sh_sampler *sampler, uint32_t vocabulary) {
    if (sampler->vocabulary == vocabulary) return SH_OK;
    sh_candidate *candidates = sh_alloc(vocabulary, sizeof *candidates);
    if (!candidates) return sh_fail(SH_ERR_MEMORY, "out of memory to sample from a vocabulary of %u", vocabulary);
    sh_free(sampler->candidates);
    *sampler = (sh_sampler){candidates, vocabulary};
    return SH_OK;
}

void sh_sampler_close(sh_sampler *sampler) {
    sh_free(sampler->candidates);
    *sampler = (sh_sampler){0};
}

sh_status sh_sampling_check(const sh_sampling *s) {
    if (!(s->temperature >= 0 && s->temperature <= 100))
        return sh_fail(SH_ERR_ARGUMENT, "temperature %g is outside 0 to 100", (double)s->temperature);
    if (!(s->top_p > 0 && s->top_p <= 1))
        return sh_fail(SH_ERR_ARGUMENT, "top_p %g is outside 0 (excluded) to 1", (double)s->top_p);
    if (!(s->min_p >= 0 && s->min_p <= 1))
        return sh_fail(SH_ERR_ARGUMENT, "min_p %g is outside 0 to 1", (double)s->min_p);
    return SH_OK;
}

void sh_philox(uint64_t key, uint64_t counter_low, uint64_t counter_high, uint32_t out[4]) {
    uint32_t c[4] = {(uint32_t)counter_low, (uint32_t)(counter_low >> 32), (uint32_t)counter_high,
                     (uint32_t)(counter_high >> 32)};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        for (int i = 0; i < 4; i++) c[i] = next[i];
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

/* [0, 1), 53 bits. */
static double uniform(const sh_sampling *s, uint64_t index) {
    uint32_t bits[4];
    sh_philox(s->seed, index, s->choice, bits);
    return (double)(((uint64_t)bits[0] << 32 | bits[1]) >> 11) * 0x1p-53;
}

/* True if a is less likely than b. */
static bool worse(sh_candidate a, sh_candidate b) {
    return a.logit < b.logit || (a.logit == b.logit && a.id > b.id);
}

/* Restores a heap below `at`. least: the least likely is on top; otherwise the likeliest. */
static void sift(sh_candidate *heap, size_t n, size_t at, bool least) {
    sh_candidate moving = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && worse(heap[child + 1], heap[child]) == least) child++;
        if (worse(heap[child], moving) != least) break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static void make_heap(sh_candidate *heap, size_t n, bool least) {
    for (size_t i = n / 2; i-- > 0;) sift(heap, n, i, least);
}

/* The k likeliest to the front, likeliest first; how many there are (fewer where logits are NaN). */
static size_t take_top(sh_candidate *best, const float *logits, size_t vocabulary, size_t k) {
    size_t n = 0;
    for (size_t i = 0; i < vocabulary; i++) {
        sh_candidate c = {logits[i], (int32_t)i};
        if (isnan(c.logit)) continue;
        if (n < k) {
            best[n++] = c;
            if (n == k) make_heap(best, n, true);
        } else if (worse(best[0], c)) {
            best[0] = c;
            sift(best, n, 0, true);
        }
    }
    if (n < k) make_heap(best, n, true);
    for (size_t left = n; left > 1; left--) { /* the least likely of what is left goes behind it */
        sh_candidate least = best[0];
        best[0] = best[left - 1];
        sift(best, left - 1, 0, true);
        best[left - 1] = least;
    }
    return n;
}

/* exp(logit - largest), so that infinities leave no NaN behind. */
static double weight_of(float logit, float largest, float temperature) {
    if (logit == largest) return 1;
    return (double)sh_exp_f32((logit - largest) / temperature);
}

/* Without a k: the likeliest, one by one, until they reach top_p of all. They are moved to the back of the array;
 * returns how many. */
static size_t take_until(sh_candidate *all, size_t n, float top_p) {
    make_heap(all, n, false);
    float largest = all[0].logit;
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++) total += weight_of(all[i].logit, largest, 1);
    size_t taken = 0;
    while (taken < n) {
        sh_candidate likeliest = all[0];
        size_t left = n - taken - 1;
        all[0] = all[left];
        sift(all, left, 0, false);
        all[left] = likeliest;
        taken++;
        sum += weight_of(likeliest.logit, largest, 1);
        if (sum >= top_p * total) break;
    }
    for (size_t i = 0; i < taken / 2; i++) { /* likeliest first */
        sh_candidate swapped = all[n - 1 - i];
        all[n - 1 - i] = all[n - taken + i];
        all[n - taken + i] = swapped;
    }
    return taken;
}

int32_t sh_sampler_draw(sh_sampler *sampler, const sh_sampling *s, const float *logits, uint64_t index) {
    sh_candidate *c = sampler->candidates;
    size_t vocabulary = sampler->vocabulary, n;
    bool greedy = s->temperature == 0;
    if (greedy || (s->top_k > 0 && s->top_k < vocabulary)) {
        n = take_top(c, logits, vocabulary, greedy ? 1 : s->top_k);
        if (n && s->top_p < 1 && !greedy) {
            double total = 0, sum = 0;
            for (size_t i = 0; i < n; i++) total += weight_of(c[i].logit, c[0].logit, 1);
            for (size_t i = 0; i < n; i++)
                if ((sum += weight_of(c[i].logit, c[0].logit, 1)) >= s->top_p * total) n = i + 1;
        }
    } else {
        n = 0;
        for (size_t i = 0; i < vocabulary; i++)
            if (!isnan(logits[i])) c[n++] = (sh_candidate){logits[i], (int32_t)i};
        if (n && s->top_p < 1) {
            size_t taken = take_until(c, n, s->top_p);
            c += n - taken;
            n = taken;
        }
    }
    if (n == 0) return -1;
    if (greedy) return c[0].id;
    float largest = c[0].logit;
    for (size_t i = 1; i < n; i++) largest = c[i].logit > largest ? c[i].logit : largest;
    double total = 0, sum = 0;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (s->min_p > 0 && weight_of(c[i].logit, largest, 1) < (double)s->min_p) continue;
        c[kept++] = c[i];
        total += weight_of(c[i].logit, largest, s->temperature);
    }
    double target = uniform(s, index) * total;
    int32_t id = -1; /* of the last that has a weight: where rounding makes the target the total */
    for (size_t i = 0; i < kept; i++) {
        double weight = weight_of(c[i].logit, largest, s->temperature);
        sum += weight;
        if (weight > 0) id = c[i].id;
        if (sum > target) break;
    }
    return id;
}
