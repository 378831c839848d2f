/* pool.h: worker threads that enter a job together and meet at barriers inside it.
 *
 * A pass is one job: the workers wake once, walk its op list, and sleep. Between jobs nothing spins. */
#ifndef SH_BASE_POOL_H
#define SH_BASE_POOL_H

#include "base/status.h"

typedef struct sh_pool sh_pool;

/* `worker` is 0 to workers - 1; 0 is the thread that called sh_pool_run. */
typedef void sh_pool_job(void *job, uint32_t worker, uint32_t workers);

/* threads >= 1, of which one is the caller's own. */
sh_status sh_pool_open(uint32_t threads, sh_pool **out);
void sh_pool_close(sh_pool *pool);
uint32_t sh_pool_threads(const sh_pool *pool);

/* Runs `job` on every worker and returns when all have left it. One caller at a time. */
void sh_pool_run(sh_pool *pool, sh_pool_job *run, void *job);

/* Inside a job: returns when every worker has called it; what each wrote before is then seen by all. */
void sh_pool_barrier(sh_pool *pool);

/* The part [*begin, *end) of n things that falls to `worker`. */
static inline void sh_pool_share(size_t n, uint32_t worker, uint32_t workers, size_t *begin, size_t *end) {
    size_t each = n / workers, extra = n % workers;
    *begin = worker * each + (worker < extra ? worker : extra);
    *end = *begin + each + (worker < extra);
}

#endif
