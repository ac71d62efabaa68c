/* Runs primitives of oneDNN as a region of a program: in stages, each of lanes that threads share.

   Plan(functions, memories, stages, room, kept, owner): functions are addresses of
   dnnl_primitive_execute, dnnl_memory_set_data_handle, omp_get_max_threads and omp_set_num_threads,
   the last two 0 for a library without OpenMP. memories are (address, buffer, offset in bytes),
   where buffer is the number of an operand or result, -1 for room that lasts for a run, -2 for room
   that the plan keeps, whose sizes are room and kept, or -3 for a memory that has its data. stages are (threads of OpenMP in a lane,
   lanes), lanes (address of a stream, steps), and steps (address of a primitive, ((argument, number
   of a memory), ...)). The steps of a lane run one after the other, the lanes of a stage in any
   order or at once, and the stages one after the other. A step may also be ("unfold",
   "unfold_halves" or "fold", number of the images, number of the rows, numbers of a Window): what
   turns a convolution into a product, of float32 or, the second, of elements of two bytes; or ("loop", numbers of memories or -1, numbers of a Loop): the steps of a recurrent
   layer; or (kind, numbers of memories, (count, whether of bfloat16, eps)): what after.h does. A
   primitive's step may have a third part, true where it writes to kept room and is run in
   the first run alone. A plan is run by the function at Plan.function, given Plan.state. The
   library comes with neither headers nor a version of its own: what is called has not changed since
   oneDNN 1.

   Why lanes, where oneDNN has threads of its own: OpenMP gives each of XLA's threads that calls it a
   team of its own, whose sleeping members are waited for. Who runs a stage takes its lanes one by
   one, and so does a thread of the pool below that is awake in time; nobody waits for one that has
   yet to wake. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int argument;
    void *memory;
} Argument;

typedef int (*Execute)(void *primitive, void *stream, int count, const Argument *arguments);
typedef int (*SetHandle)(void *memory, void *handle);
typedef int (*GetThreads)(void);
typedef void (*SetThreads)(int);

typedef struct {
    void *memory;
    Py_ssize_t buffer, offset;
} Memory;

#define AXES 3
#define MOST_PLACES 64
#define MOST_CHANNELS 8192

/* Windows over images, channels last: a row for each place of a window, in which its
   elements lie as weights do, those of a channel together. */
typedef struct {
    /* which rows, counted over the batch; which channels; how far rows are apart */
    Py_ssize_t first, rows, channel, channels, row;
    Py_ssize_t in[AXES], out[AXES], window[AXES], stride[AXES], dilation[AXES], low[AXES];
    /* in elements; those of the batch first */
    Py_ssize_t strides[1 + AXES], batch;
} Window;
#define WINDOW_NUMBERS ((Py_ssize_t)(sizeof(Window) / sizeof(Py_ssize_t)))

#define MOST_ARRAYS 14

/* The steps of a recurrent layer for some rows of a batch; or what packs its weights before. */
typedef struct {
    Py_ssize_t arrays[MOST_ARRAYS];
    /* gates are 4 of an LSTM, 3 of a GRU */
    Py_ssize_t packs, backward, reverse, gates, steps, batch, first, rows, size;
    /* of packing: of every ``parts`` panels the one numbered ``part`` */
    Py_ssize_t part, parts;
} Loop;
#define LOOP_NUMBERS ((Py_ssize_t)(sizeof(Loop) / sizeof(Py_ssize_t)) - MOST_ARRAYS)

#include "after.h"

typedef struct {
    void *primitive;
    int count;
    Argument *arguments;
    /* of a step that is no primitive */
    Window *window;
    Loop *loop;
    After *after;
    int folds, halves;
    Py_ssize_t images, array;
    /* it is run once for all runs, and was */
    int once, done;
} Step;

typedef struct {
    void *stream;
    Py_ssize_t count;
    Step *steps;
} Lane;

typedef struct {
    int threads;
    Py_ssize_t count;
    Lane *lanes;
} Stage;

typedef struct {
    PyObject_HEAD
    Execute execute;
    SetHandle set_handle;
    GetThreads get_threads;
    SetThreads set_threads;
    Py_ssize_t memories, count, room;
    char *kept;
    Memory *memory;
    char **data; /* where the memories are in this run */
    Stage *stages;
    PyObject *owner;
    pthread_mutex_t turn; /* the memories are those of one run at a time */
} Plan;

#define WORDS 96

static const float nothing[MOST_CHANNELS];
static _Thread_local float anything[MOST_CHANNELS];

/* Where the elements of a row are, by places in the window, in elements; -1 for those of padding. */
static Py_ssize_t places(const Window *w, Py_ssize_t row, Py_ssize_t *found)
{
    Py_ssize_t at[AXES], count = 0;
    for (int d = AXES - 1; d >= 0; d--) {
        at[d] = row % w->out[d] * w->stride[d] - w->low[d];
        row /= w->out[d];
    }
    Py_ssize_t image = row * w->strides[0] + w->channel;
    for (Py_ssize_t a = 0; a < w->window[0]; a++)
        for (Py_ssize_t b = 0; b < w->window[1]; b++)
            for (Py_ssize_t c = 0; c < w->window[2]; c++) {
                Py_ssize_t x = at[0] + a * w->dilation[0], y = at[1] + b * w->dilation[1],
                           z = at[2] + c * w->dilation[2];
                int inside = x >= 0 && x < w->in[0] && y >= 0 && y < w->in[1] && z >= 0
                             && z < w->in[2];
                found[count++] = inside ? image + x * w->strides[1] + y * w->strides[2]
                                              + z * w->strides[3] : -1;
            }
    return count;
}

#define UNFOLD(name, type)                                                                          \
    static void name(const Window *w, const type *images, type *array)                              \
    {                                                                                               \
        Py_ssize_t at[MOST_PLACES];                                                                 \
        const type *found[MOST_PLACES];                                                             \
        for (Py_ssize_t r = 0; r < w->rows; r++) {                                                  \
            type *to = array + r * w->row;                                                          \
            Py_ssize_t count = places(w, w->first + r, at);                                         \
            for (Py_ssize_t k = 0; k < count; k++)                                                  \
                found[k] = at[k] < 0 ? (const type *)nothing : images + at[k];                      \
            if (count == 1) {                                                                       \
                memcpy(to, *found, (size_t)w->channels * sizeof *to);                               \
                continue;                                                                           \
            }                                                                                       \
            for (Py_ssize_t c = 0; c < w->channels; c++)                                            \
                for (Py_ssize_t k = 0; k < count; k++) *to++ = found[k][c];                         \
        }                                                                                           \
    }

UNFOLD(unfold, float)
UNFOLD(unfold_halves, uint16_t)

static void fold(const Window *w, float *images, const float *array)
{
    Py_ssize_t at[MOST_PLACES];
    float *found[MOST_PLACES];
    for (Py_ssize_t n = 0; n < w->batch; n++)
        for (Py_ssize_t x = 0; x < w->in[0]; x++)
            for (Py_ssize_t y = 0; y < w->in[1]; y++)
                for (Py_ssize_t z = 0; z < w->in[2]; z++)
                    memset(images + n * w->strides[0] + x * w->strides[1] + y * w->strides[2]
                               + z * w->strides[3] + w->channel,
                           0, (size_t)w->channels * sizeof *images);
    for (Py_ssize_t r = 0; r < w->rows; r++) {
        const float *from = array + r * w->row;
        Py_ssize_t count = places(w, w->first + r, at);
        for (Py_ssize_t k = 0; k < count; k++) found[k] = at[k] < 0 ? anything : images + at[k];
        for (Py_ssize_t c = 0; c < w->channels; c++)
            for (Py_ssize_t k = 0; k < count; k++) found[k][c] += *from++;
    }
}

#define ARRAY(data, loop, k) ((loop)->arrays[k] < 0 ? NULL : (float *)(data)[(loop)->arrays[k]])

#if defined(__x86_64__)
#define LEVEL(name) name##_avx512
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma")))
#define WIDTH 16
#define ROWS 6
#include "recurrent.h"
#define LEVEL(name) name##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define WIDTH 8
#define ROWS 2
#include "recurrent.h"
#endif
#define LEVEL(name) name##_base
#define TARGET
#define WIDTH 4
#define ROWS 2
#include "recurrent.h"

/* sets of instructions: of vectors of 4, 8 and 16 floats */
static int level_of_processor(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
    return 0;
}

static int level;

static void run_loop(const Loop *loop, char *const *data)
{
#if defined(__x86_64__)
    if (level == 2) loop_avx512(loop, data);
    else if (level == 1) loop_avx2(loop, data);
    else
#endif
        loop_base(loop, data);
}

static void run_lane(const Plan *plan, const Stage *stage, Py_ssize_t number, char *wrong)
{
    const Lane *lane = &stage->lanes[number];
    int before = plan->get_threads ? plan->get_threads() : 0;
    if (before && before != stage->threads) plan->set_threads(stage->threads);
    for (Py_ssize_t k = 0; k < lane->count; k++) {
        Step *s = &lane->steps[k];
        if (s->once && s->done) continue;
        if (s->window) {
            void *images = plan->data[s->images], *array = plan->data[s->array];
            if (s->folds) fold(s->window, images, array);
            else if (s->halves) unfold_halves(s->window, images, array);
            else unfold(s->window, images, array);
            continue;
        }
        if (s->loop) {
            run_loop(s->loop, plan->data);
            continue;
        }
        if (s->after) {
            const char *text = run_after(s->after, plan->data);
            if (!text) continue;
            snprintf(wrong, WORDS, "oneDNN: %s", text);
            break;
        }
        int status = plan->execute(s->primitive, lane->stream, s->count, s->arguments);
        s->done = !status;
        if (status) {
            snprintf(wrong, WORDS, "oneDNN: a primitive gave status %d", status);
            break;
        }
    }
    if (before && before != stage->threads) plan->set_threads(before);
}

/* A stage that is being run: its lanes are taken by number. It lives on the stack of who runs it, who
   waits for the helpers in it. */
typedef struct Job {
    const Plan *plan;
    const Stage *stage;
    atomic_long next;
    atomic_int helpers;
    char wrong[WORDS];
    struct Job *after;
} Job;

#define MOST_WORKERS 64
/* looks for work before a thread sleeps: some 20 us */
#define LOOKS 500

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t posted = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static Job *jobs;
static int workers, sleeping;
/* how often a job was posted */
static atomic_ulong postings;

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static void take_lanes(Job *job)
{
    char wrong[WORDS] = "";
    for (long k; (k = atomic_fetch_add(&job->next, 1)) < job->stage->count;)
        run_lane(job->plan, job->stage, k, wrong);
    if (*wrong) {
        pthread_mutex_lock(&pool);
        memcpy(job->wrong, wrong, WORDS);
        pthread_mutex_unlock(&pool);
    }
}

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&pool);
    for (;;) {
        Job *job = jobs;
        while (job && atomic_load(&job->next) >= job->stage->count) job = job->after;
        if (job) {
            atomic_fetch_add(&job->helpers, 1);
            pthread_mutex_unlock(&pool);
            take_lanes(job);
            pthread_mutex_lock(&pool);
            if (atomic_fetch_sub(&job->helpers, 1) == 1) pthread_cond_broadcast(&left);
            continue;
        }
        unsigned long seen = atomic_load(&postings);
        pthread_mutex_unlock(&pool);
        for (int k = 0; k < LOOKS && atomic_load(&postings) == seen; k++) relax();
        pthread_mutex_lock(&pool);
        sleeping++;
        while (atomic_load(&postings) == seen) pthread_cond_wait(&posted, &pool);
        sleeping--;
    }
    return NULL;
}

/* A thread of the pool, which takes no signals; the pool is locked. */
static void add_worker(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, work, NULL)) {
        pthread_detach(thread);
        workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void run_stage(const Plan *plan, const Stage *stage, char *wrong)
{
    if (stage->count == 1) {
        run_lane(plan, stage, 0, wrong);
        return;
    }
    Job job = {.plan = plan, .stage = stage};
    pthread_mutex_lock(&pool);
    while (workers < stage->count - 1 && workers < MOST_WORKERS) {
        int before = workers;
        add_worker();
        if (workers == before) break;
    }
    job.after = jobs;
    jobs = &job;
    atomic_fetch_add(&postings, 1);
    if (sleeping) {
        if (stage->count == 2) pthread_cond_signal(&posted);
        else pthread_cond_broadcast(&posted);
    }
    pthread_mutex_unlock(&pool);
    take_lanes(&job);
    for (int k = 0; k < LOOKS && atomic_load(&job.helpers); k++) relax();
    pthread_mutex_lock(&pool);
    Job **link = &jobs;
    while (*link != &job) link = &(*link)->after;
    *link = job.after;
    while (atomic_load(&job.helpers)) pthread_cond_wait(&left, &pool);
    if (*job.wrong) memcpy(wrong, job.wrong, WORDS);
    pthread_mutex_unlock(&pool);
}

/* Room for what lies between primitives: each thread that runs plans has its own, until it ends. */
static pthread_key_t rooms;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local char *room;
static _Thread_local Py_ssize_t roomy;
static _Thread_local char message[WORDS];

static void make_key(void)
{
    pthread_key_create(&rooms, free);
}

static int make_room(Py_ssize_t size)
{
    if (size <= roomy) return 0;
    pthread_once(&once, make_key);
    free(room);
    room = NULL;
    roomy = 0;
    void *found;
    if (posix_memalign(&found, 4096, (size_t)size)) found = NULL;
    pthread_setspecific(rooms, found);
    if (!found) return -1;
    room = found;
    roomy = size;
    return 0;
}

static const char *run(void *state, void *const *buffers)
{
    Plan *self = state;
    *message = 0;
    pthread_mutex_lock(&self->turn);
    if (make_room(self->room))
        snprintf(message, WORDS, "oneDNN: there is no memory for what lies between primitives");
    for (Py_ssize_t k = 0; !*message && k < self->memories; k++) {
        const Memory *m = &self->memory[k];
        if (m->buffer == -3) continue;
        char *begin = m->buffer == -2 ? self->kept : m->buffer < 0 ? room : buffers[m->buffer];
        self->data[k] = begin + m->offset;
        int status = self->set_handle(m->memory, self->data[k]);
        if (status) snprintf(message, WORDS, "oneDNN: memory %zd gave status %d", k, status);
    }
    for (Py_ssize_t k = 0; !*message && k < self->count; k++)
        run_stage(self, &self->stages[k], message);
    pthread_mutex_unlock(&self->turn);
    return *message ? message : NULL;
}

static void plan_dealloc(PyObject *object)
{
    Plan *self = (Plan *)object;
    for (Py_ssize_t s = 0; self->stages && s < self->count; s++) {
        Stage *stage = &self->stages[s];
        for (Py_ssize_t l = 0; stage->lanes && l < stage->count; l++) {
            Lane *lane = &stage->lanes[l];
            for (Py_ssize_t k = 0; lane->steps && k < lane->count; k++) {
                PyMem_Free(lane->steps[k].arguments);
                PyMem_Free(lane->steps[k].window);
                PyMem_Free(lane->steps[k].loop);
                PyMem_Free(lane->steps[k].after);
            }
            PyMem_Free(lane->steps);
        }
        PyMem_Free(stage->lanes);
    }
    PyMem_Free(self->stages);
    PyMem_Free(self->memory);
    PyMem_Free(self->data);
    free(self->kept);
    pthread_mutex_destroy(&self->turn);
    Py_XDECREF(self->owner);
    Py_TYPE(object)->tp_free(object);
}

static int read_window(Plan *self, Step *step, PyObject *given)
{
    const char *kind;
    PyObject *numbers;
    if (!PyArg_ParseTuple(given, "snnO!", &kind, &step->images, &step->array, &PyTuple_Type,
                          &numbers))
        return -1;
    step->folds = !strcmp(kind, "fold");
    step->halves = !strcmp(kind, "unfold_halves");
    if (PyTuple_GET_SIZE(numbers) != WINDOW_NUMBERS || step->images < 0 || step->array < 0
        || step->images >= self->memories || step->array >= self->memories) {
        PyErr_SetString(PyExc_ValueError, "a window is not what a window is made of");
        return -1;
    }
    step->window = PyMem_Calloc(1, sizeof *step->window);
    if (!step->window) return -1;
    Py_ssize_t *to = (Py_ssize_t *)step->window;
    for (Py_ssize_t k = 0; k < WINDOW_NUMBERS; k++) {
        to[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, k));
        if (to[k] == -1 && PyErr_Occurred()) return -1;
    }
    const Window *w = step->window;
    if (w->window[0] * w->window[1] * w->window[2] > MOST_PLACES || w->channels > MOST_CHANNELS) {
        PyErr_SetString(PyExc_ValueError, "a window has too many places, or channels");
        return -1;
    }
    return 0;
}

static int read_loop(Plan *self, Step *step, PyObject *given)
{
    const char *kind;
    PyObject *arrays, *numbers;
    if (!PyArg_ParseTuple(given, "sO!O!", &kind, &PyTuple_Type, &arrays, &PyTuple_Type, &numbers))
        return -1;
    if (strcmp(kind, "loop") || PyTuple_GET_SIZE(arrays) > MOST_ARRAYS
        || PyTuple_GET_SIZE(numbers) != LOOP_NUMBERS) {
        PyErr_SetString(PyExc_ValueError, "a loop is not what a loop is made of");
        return -1;
    }
    step->loop = PyMem_Calloc(1, sizeof *step->loop);
    if (!step->loop) return -1;
    Py_ssize_t *to = (Py_ssize_t *)step->loop, given_arrays = PyTuple_GET_SIZE(arrays);
    for (Py_ssize_t k = 0; k < MOST_ARRAYS; k++) {
        to[k] = k < given_arrays ? PyLong_AsSsize_t(PyTuple_GET_ITEM(arrays, k)) : -1;
        if (to[k] == -1 && PyErr_Occurred()) return -1;
        if (to[k] < -1 || to[k] >= self->memories) {
            PyErr_Format(PyExc_IndexError, "memory %zd of %zd", to[k], self->memories);
            return -1;
        }
    }
    for (Py_ssize_t k = 0; k < LOOP_NUMBERS; k++) {
        to[MOST_ARRAYS + k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, k));
        if (to[MOST_ARRAYS + k] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

static int read_step(Plan *self, Step *step, PyObject *given)
{
    if (PyTuple_Check(given) && PyTuple_GET_SIZE(given) == 3
        && PyUnicode_Check(PyTuple_GET_ITEM(given, 0))) {
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(given, 0), "loop"))
            return read_loop(self, step, given);
        step->after = read_after(given, self->memories);
        return step->after ? 0 : -1;
    }
    if (PyTuple_Check(given) && PyTuple_GET_SIZE(given) == 4)
        return read_window(self, step, given);
    unsigned long long primitive;
    PyObject *arguments;
    if (!PyArg_ParseTuple(given, "KO!|p", &primitive, &PyTuple_Type, &arguments, &step->once))
        return -1;
    step->primitive = (void *)(uintptr_t)primitive;
    step->count = (int)PyTuple_GET_SIZE(arguments);
    step->arguments = PyMem_Calloc((size_t)step->count + 1, sizeof *step->arguments);
    if (!step->arguments) return -1;
    for (int a = 0; a < step->count; a++) {
        int argument;
        Py_ssize_t memory;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(arguments, a), "in", &argument, &memory)) return -1;
        if (memory < 0 || memory >= self->memories) {
            PyErr_Format(PyExc_IndexError, "memory %zd of %zd", memory, self->memories);
            return -1;
        }
        step->arguments[a] = (Argument){argument, self->memory[memory].memory};
    }
    return 0;
}

static int read_lane(Plan *self, Lane *lane, PyObject *given)
{
    unsigned long long stream;
    PyObject *steps;
    if (!PyArg_ParseTuple(given, "KO!", &stream, &PyTuple_Type, &steps)) return -1;
    lane->stream = (void *)(uintptr_t)stream;
    lane->count = PyTuple_GET_SIZE(steps);
    lane->steps = PyMem_Calloc((size_t)lane->count + 1, sizeof *lane->steps);
    if (!lane->steps) return -1;
    for (Py_ssize_t k = 0; k < lane->count; k++)
        if (read_step(self, &lane->steps[k], PyTuple_GET_ITEM(steps, k))) return -1;
    return 0;
}

static int read_stage(Plan *self, Stage *stage, PyObject *given)
{
    PyObject *lanes;
    if (!PyArg_ParseTuple(given, "iO!", &stage->threads, &PyTuple_Type, &lanes)) return -1;
    stage->count = PyTuple_GET_SIZE(lanes);
    if (!stage->count || stage->threads < 1) {
        PyErr_SetString(PyExc_ValueError, "a stage has no lanes, or no threads");
        return -1;
    }
    stage->lanes = PyMem_Calloc((size_t)stage->count, sizeof *stage->lanes);
    if (!stage->lanes) return -1;
    for (Py_ssize_t k = 0; k < stage->count; k++)
        if (read_lane(self, &stage->lanes[k], PyTuple_GET_ITEM(lanes, k))) return -1;
    return 0;
}

static int read_plan(Plan *self, PyObject *memories, PyObject *stages)
{
    self->memories = PyTuple_GET_SIZE(memories);
    self->memory = PyMem_Calloc((size_t)self->memories + 1, sizeof *self->memory);
    if (!self->memory) return -1;
    for (Py_ssize_t k = 0; k < self->memories; k++) {
        unsigned long long address;
        Memory *m = &self->memory[k];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(memories, k), "Knn", &address, &m->buffer,
                              &m->offset))
            return -1;
        m->memory = (void *)(uintptr_t)address;
    }
    self->data = PyMem_Calloc((size_t)self->memories + 1, sizeof *self->data);
    if (!self->data) return -1;
    self->count = PyTuple_GET_SIZE(stages);
    self->stages = PyMem_Calloc((size_t)self->count + 1, sizeof *self->stages);
    if (!self->stages) return -1;
    for (Py_ssize_t k = 0; k < self->count; k++)
        if (read_stage(self, &self->stages[k], PyTuple_GET_ITEM(stages, k))) return -1;
    return 0;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    static char *known[] = {"functions", "memories", "stages", "room", "kept", "owner", NULL};
    unsigned long long execute, set_handle, get_threads, set_threads;
    PyObject *memories, *stages, *owner;
    Py_ssize_t size, kept;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "(KKKK)O!O!nnO:Plan", known, &execute,
                                     &set_handle, &get_threads, &set_threads, &PyTuple_Type,
                                     &memories, &PyTuple_Type, &stages, &size, &kept, &owner))
        return NULL;
    Plan *self = (Plan *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    pthread_mutex_init(&self->turn, NULL);
    self->execute = (Execute)(uintptr_t)execute;
    self->set_handle = (SetHandle)(uintptr_t)set_handle;
    if (get_threads && set_threads) {
        self->get_threads = (GetThreads)(uintptr_t)get_threads;
        self->set_threads = (SetThreads)(uintptr_t)set_threads;
    }
    self->room = size;
    Py_INCREF(owner);
    self->owner = owner;
    void *room_kept = NULL;
    if (kept > 0 && posix_memalign(&room_kept, 4096, (size_t)kept)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->kept = room_kept;
    if (read_plan(self, memories, stages)) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *plan_function(PyObject *Py_UNUSED(self), void *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)run);
}

static PyObject *plan_state(PyObject *self, void *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr(self);
}

static PyGetSetDef plan_attributes[] = {
    {"function", plan_function, NULL, "The address of what runs a plan.", NULL},
    {"state", plan_state, NULL, "The address that it is given.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject PlanType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazyloom._onednn.Plan",
    .tp_basicsize = sizeof(Plan),
    .tp_dealloc = plan_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Primitives that run in stages.",
    .tp_getset = plan_attributes,
    .tp_new = plan_new,
};

static PyObject *limit(PyObject *Py_UNUSED(self), PyObject *given)
{
    long most = PyLong_AsLong(given);
    if (most == -1 && PyErr_Occurred()) return NULL;
    level = level_of_processor();
    if (most < level) level = most < 0 ? 0 : (int)most;
    return PyLong_FromLong(level);
}

static PyMethodDef methods[] = {
    {"limit", limit, METH_O,
     "The set of vector instructions of loops, 0 to 2, is at most this one; gives the one in use."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "lazyloom._onednn", .m_doc = "Runs primitives of oneDNN.",
    .m_size = -1, .m_methods = methods,
};

PyMODINIT_FUNC PyInit__onednn(void)
{
    level = level_of_processor();
    if (PyType_Ready(&PlanType) < 0) return NULL;
    PyObject *made = PyModule_Create(&module);
    if (!made) return NULL;
    Py_INCREF(&PlanType);
    if (PyModule_AddObject(made, "Plan", (PyObject *)&PlanType) < 0) {
        Py_DECREF(&PlanType);
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
