/* What functions in C on arrays share: threads, memory, instructions. */
#ifndef LAZYLOOM_C_THREADS
#define LAZYLOOM_C_THREADS
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../common/wide.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

#define MOST_THREADS 8
/* scratch that is kept between calls, bytes */
#define KEPT (64u << 20)

/* ---------------------------------------------------------------- threads */

/* threads of calls anywhere in this process */
static atomic_int busy;

static int processors(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
#endif
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 1 ? (int)count : 1;
}

/* This thread and up to `wanted` - 1 others, of the processors that no other call has. */
static int enlist(i64 wanted)
{
    int most = wanted < MOST_THREADS ? (int)wanted : MOST_THREADS;
    int before = atomic_fetch_add(&busy, 1), more = 0;
    if (most > 1) {
        int left = processors() - before - 1;
        more = most - 1 < left ? most - 1 : left;
        if (more > 0) atomic_fetch_add(&busy, more);
        else more = 0;
    }
    return 1 + more;
}

typedef struct {
    atomic_int arrived, round;
    int members;
} Barrier;

static void meet(Barrier *b)
{
    if (b->members == 1) return;
    int round = atomic_load(&b->round);
    if (atomic_fetch_add(&b->arrived, 1) + 1 == b->members) {
        atomic_store(&b->arrived, 0);
        atomic_store(&b->round, round + 1);
        return;
    }
    for (int spins = 0; atomic_load_explicit(&b->round, memory_order_acquire) == round; spins++) {
        if (spins > 2000) sched_yield();
#ifdef __x86_64__
        else __builtin_ia32_pause();
#endif
    }
}

/* ---------------------------------------------------------------- memory */

typedef struct {
    size_t size;
    char pad[56];
} Room;

static _Atomic(Room *) kept;

static Room *room_of(size_t size)
{
    Room *found = atomic_exchange(&kept, NULL);
    if (found && found->size >= size) return found;
    free(found);
    void *made = NULL;
    if (posix_memalign(&made, 64, sizeof(Room) + size)) return NULL;
    ((Room *)made)->size = size;
    return made;
}

static void give_back(Room *room)
{
    if (room->size <= KEPT) room = atomic_exchange(&kept, room);
    free(room);
}
#endif
