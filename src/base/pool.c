/* pool.c: worker threads and their barrier. See pool.h.
 *
 * The barrier counts arrivals; the last to arrive turns the phase, the others watch it: for a few microseconds by
 * spinning, then asleep. Turning the phase and looking for sleepers, against falling asleep and looking at the phase,
 * are sequentially consistent, so that one of the two always sees the other. */
#include "base/pool.h"

#include "base/cores.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct sh_pool {
    uint32_t threads; /* workers, the caller among them */
    uint32_t started; /* threads that exist, without the caller */
    uint32_t spins;   /* of a waiting worker before it sleeps; 0 where cores are fewer than workers */
    pthread_t *ids;   /* [threads - 1] */

    pthread_mutex_t lock;
    pthread_cond_t wake; /* a job, a turned phase, or the end */
    sh_pool_job *run;    /* under lock, with job_number */
    void *job;
    uint64_t job_number;
    bool ending;

    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint phase;
    _Alignas(64) atomic_uint sleepers;
};

typedef struct start {
    sh_pool *pool;
    uint32_t worker;
} start;

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void sh_pool_barrier(sh_pool *pool) {
    if (pool->threads == 1) return;
    unsigned phase = atomic_load_explicit(&pool->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == pool->threads) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        atomic_store(&pool->phase, phase + 1);
        if (atomic_load(&pool->sleepers)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_broadcast(&pool->wake);
            pthread_mutex_unlock(&pool->lock);
        }
        return;
    }
    for (uint32_t i = 0; i < pool->spins; i++) {
        if (atomic_load_explicit(&pool->phase, memory_order_acquire) != phase) return;
        pause_briefly();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->phase) == phase) pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *argument) {
    start begin = *(start *)argument;
    sh_free(argument);
    sh_pool *pool = begin.pool;
    for (uint64_t done = 0;;) {
        pthread_mutex_lock(&pool->lock);
        while (pool->job_number == done && !pool->ending) pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->ending) {
            pthread_mutex_unlock(&pool->lock);
            return NULL;
        }
        done = pool->job_number;
        sh_pool_job *run = pool->run;
        void *job = pool->job;
        pthread_mutex_unlock(&pool->lock);
        run(job, begin.worker, pool->threads);
        sh_pool_barrier(pool);
    }
}

void sh_pool_run(sh_pool *pool, sh_pool_job *run, void *job) {
    if (pool->threads > 1) {
        pthread_mutex_lock(&pool->lock);
        pool->run = run;
        pool->job = job;
        pool->job_number++;
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
    run(job, 0, pool->threads);
    sh_pool_barrier(pool);
}

sh_status sh_pool_open(uint32_t threads, sh_pool **out) {
    *out = NULL;
    sh_pool *pool = sh_alloc_aligned(sizeof *pool);
    if (!pool) return sh_fail(SH_ERR_MEMORY, "out of memory for %u threads", threads);
    memset(pool, 0, sizeof *pool);
    pool->threads = threads;
    pool->spins = threads <= sh_cores_allowed() ? 2000 : 0;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    sh_status status = SH_OK;
    pool->ids = sh_alloc(threads, sizeof *pool->ids);
    if (!pool->ids) status = sh_fail(SH_ERR_MEMORY, "out of memory for %u threads", threads);
    while (status == SH_OK && pool->started + 1 < threads) {
        start *argument = sh_alloc(1, sizeof *argument);
        if (!argument) {
            status = sh_fail(SH_ERR_MEMORY, "out of memory for %u threads", threads);
            break;
        }
        *argument = (start){pool, pool->started + 1};
        int error = pthread_create(&pool->ids[pool->started], NULL, work, argument);
        if (error) {
            sh_free(argument);
            status = sh_fail(SH_ERR_MEMORY, "only %u of %u threads could be started: %s; ask for fewer (-t)",
                             pool->started + 1, threads, strerror(error));
        } else {
            pool->started++;
        }
    }
    if (status != SH_OK) {
        sh_pool_close(pool);
        return status;
    }
    *out = pool;
    return SH_OK;
}

void sh_pool_close(sh_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->started; i++) pthread_join(pool->ids[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    sh_free(pool->ids);
    sh_free(pool);
}

uint32_t sh_pool_threads(const sh_pool *pool) {
    return pool->threads;
}
