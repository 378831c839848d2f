/* test_pool.c: worker threads: every worker enters every job, barriers order what they do, and idle workers sleep. */
#include "support.h"

#include "base/cores.h"
#include "base/pool.h"

#include <stdatomic.h>
#include <time.h>

typedef struct relay {
    sh_pool *pool;
    uint32_t rounds;
    uint32_t *cells; /* [workers + 1]: plain memory, ordered by the barriers alone */
    atomic_uint entered;
} relay;

/* In each round every worker reads its neighbour's cell of the round before; without a barrier between reading and
 * writing the numbers (and ThreadSanitizer) would tell. */
static void pass_on(void *argument, uint32_t worker, uint32_t workers) {
    relay *r = argument;
    atomic_fetch_add(&r->entered, 1);
    for (uint32_t round = 0; round < r->rounds; round++) {
        uint32_t seen = r->cells[(worker + 1) % workers];
        sh_pool_barrier(r->pool);
        r->cells[worker] = seen + 1;
        sh_pool_barrier(r->pool);
    }
}

static void relays(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 8; threads++) {
        sh_pool *pool = NULL;
        assert_ok(sh_pool_open(threads, &pool));
        assert_int_equal(sh_pool_threads(pool), threads);
        uint32_t cells[8] = {0};
        relay r = {.pool = pool, .rounds = 300, .cells = cells};
        for (uint32_t job = 0; job < 20; job++) sh_pool_run(pool, pass_on, &r);
        assert_int_equal(atomic_load(&r.entered), 20 * threads);
        for (uint32_t i = 0; i < threads; i++) assert_int_equal(cells[i], 20 * 300);
        sh_pool_close(pool);
    }
    sh_pool_close(NULL);
}

static void shares(void **state) {
    (void)state;
    for (uint32_t workers = 1; workers <= 9; workers++)
        for (size_t n = 0; n < 40; n++) {
            size_t next = 0;
            for (uint32_t w = 0; w < workers; w++) {
                size_t begin, end;
                sh_pool_share(n, w, workers, &begin, &end);
                assert_int_equal(begin, next);
                assert_true(end >= begin && end - begin <= n / workers + 1);
                next = end;
            }
            assert_int_equal(next, n);
        }
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Between jobs nothing spins. */
static void idle(void **state) {
    (void)state;
    sh_pool *pool = NULL;
    uint32_t cells[4] = {0};
    assert_ok(sh_pool_open(4, &pool));
    relay r = {.pool = pool, .rounds = 3, .cells = cells};
    sh_pool_run(pool, pass_on, &r);
    double before = cpu_seconds();
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    assert_true(cpu_seconds() - before < 0.1);
    sh_pool_close(pool);
}

static void cores(void **state) {
    (void)state;
    assert_in_range(sh_cores_allowed(), 1, 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relays),
        cmocka_unit_test(shares),
        cmocka_unit_test(idle),
        cmocka_unit_test(cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
