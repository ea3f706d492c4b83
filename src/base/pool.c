#define _GNU_SOURCE /* sched_getaffinity, where there is one */

#include "base/pool.h"
#include "base/mem.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t done, room;
    void (*job)(void *ctx, size_t i);
    void *ctx;
    size_t n, next, waited, ahead;
    bool stop;
    bool *is_done;      /* n */
    pthread_t *threads; /* n_threads */
    size_t n_threads;
};

static void *work(void *arg)
{
    struct pool *p = arg;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->stop && p->next < p->n && p->next > p->waited + p->ahead)
            pthread_cond_wait(&p->room, &p->lock);
        if (p->stop || p->next == p->n)
            break;
        size_t i = p->next++;
        pthread_mutex_unlock(&p->lock);
        p->job(p->ctx, i);
        pthread_mutex_lock(&p->lock);
        p->is_done[i] = true;
        pthread_cond_broadcast(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct pool *pool_new(size_t threads, size_t n, size_t ahead, void (*job)(void *ctx, size_t i), void *ctx)
{
    struct pool *p = mem_zero(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->done, NULL);
    pthread_cond_init(&p->room, NULL);
    p->job = job;
    p->ctx = ctx;
    p->n = n;
    p->ahead = ahead;
    p->is_done = mem_zero(n, sizeof *p->is_done);
    p->threads = mem_zero(threads, sizeof *p->threads);
    /* signals are for the thread that knows what is unfinished */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < threads && i < n; i++)
        if (pthread_create(&p->threads[p->n_threads], NULL, work, p) == 0)
            p->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->n_threads)
        return p;
    pool_free(p);
    return NULL;
}

void pool_wait(struct pool *p, size_t i)
{
    pthread_mutex_lock(&p->lock);
    p->waited = i;
    pthread_cond_broadcast(&p->room);
    while (!p->is_done[i])
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->room);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->n_threads; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->room);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p->is_done);
    free(p);
}

size_t pool_processors(void)
{
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (size_t)CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (size_t)n : 1;
}
