/* Steps of SGD and of Adam for all parameters, in one pass over each. Results may lie where the values
   of before do. */
#include "threads.h"
#include <math.h>
#include <stdalign.h>

/* the state: which optimizer, its choices, the type of tensors, how many parameters, how many pieces
   they have together, numbers and kinds of state; then for each number its buffer or -1, its type, and
   the bits of a double where it is a constant; where Adam's new count is written or -1, and its type;
   then for each parameter its elements, the number of its first piece, whether its gradient is of
   bfloat16 though it is not, and the buffers of itself, its gradient and its states, and of the new
   parameter and the new states, -1 where nobody wants them */
enum { WHICH, CHOICES, TENSORS, PARAMETERS, PIECES, NUMBERS, STATES, COUNTED, COUNTED_TYPE, NUMBER };
enum { SGD, ADAM };
enum { DECAYS = 1, DECOUPLED = 2, MAXIMIZES = 4, NESTEROV = 8 };
enum { OF_F32, OF_BF16, OF_F64, OF_F16 };
#define MOST_NUMBERS 6
#define MOST_STATES 2

/* elements that a thread takes at a time, and those that go through its buffers at a time */
#define PIECE 16384
#define STRIP 1024

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* Subnormal numbers are zeros, as for what XLA compiles. Returns the mode from before. */
static u64 subnormals_off(void)
{
    u64 before = 0;
#if defined(__x86_64__)
    before = _mm_getcsr();
    _mm_setcsr((unsigned)before | 0x8040u);
#elif defined(__aarch64__)
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(before));
    __asm__ __volatile__("msr fpcr, %0" : : "r"(before | (u64)1 << 24));
#endif
    return before;
}

static void subnormals_as(u64 mode)
{
#if defined(__x86_64__)
    _mm_setcsr((unsigned)mode);
#elif defined(__aarch64__)
    __asm__ __volatile__("msr fpcr, %0" : : "r"(mode));
#else
    (void)mode;
#endif
}

/* Elements do not depend on each other, also where results lie where operands do. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

/* What a step does with numbers that all parameters share. */
typedef struct {
    int choices;
    double rate, decay;               /* of Adam the rate with its correction */
    double keep, part;                /* of SGD: of the momentum, and of the gradient */
    double root, new1, old2, new2, small;
} Step;

static inline float widened(u16 bits)
{
    u32 wide = (u32)bits << 16;
    float found;
    memcpy(&found, &wide, sizeof found);
    return found;
}

#define STEPS_OF(name, T, G, GIVEN, root_of)                                                        \
    WIDE static void sgd_##name(const Step *s, i64 n, const T *p, const G *g, const T *b, T *to,    \
                             T *to_b)                                                               \
    {                                                                                               \
        const T rate = (T)s->rate, decay = (T)s->decay, keep = (T)s->keep, part = (T)s->part;       \
        const T sign = s->choices & MAXIMIZES ? -1 : 1;                                             \
        if (!b) {                                                                                   \
            if (s->choices & DECAYS) {                                                              \
                INDEPENDENT                                                                         \
                for (i64 i = 0; i < n; i++)                                                         \
                    to[i] = p[i] - rate * (sign * GIVEN(g[i]) + decay * p[i]);                      \
            } else {                                                                                \
                INDEPENDENT                                                                         \
                for (i64 i = 0; i < n; i++) to[i] = p[i] - rate * (sign * GIVEN(g[i]));             \
            }                                                                                       \
            return;                                                                                 \
        }                                                                                           \
        const int decays = s->choices & DECAYS, nesterov = s->choices & NESTEROV;                   \
        if (decays && nesterov) SGD_LOOP(T, sign * GIVEN(g[i]) + decay * p[i], d + keep * m)        \
        else if (decays) SGD_LOOP(T, sign * GIVEN(g[i]) + decay * p[i], m)                          \
        else if (nesterov) SGD_LOOP(T, sign * GIVEN(g[i]), d + keep * m)                            \
        else SGD_LOOP(T, sign * GIVEN(g[i]), m)                                                     \
    }                                                                                               \
                                                                                                    \
    WIDE static void adam_##name(const Step *s, i64 n, const T *p, const G *g, const T *m,          \
                                 const T *v, T *to, T *to_m, T *to_v)                               \
    {                                                                                               \
        const T rate = (T)s->rate, decay = (T)s->decay, root = (T)s->root, new1 = (T)s->new1;       \
        const T old2 = (T)s->old2, new2 = (T)s->new2, small = (T)s->small;                          \
        const T sign = s->choices & MAXIMIZES ? -1 : 1;                                             \
        if ((s->choices & (DECAYS | DECOUPLED)) == DECAYS)                                          \
            ADAM_LOOP(T, root_of, p[i], sign * GIVEN(g[i]) + decay * p[i])                          \
        else if (s->choices & DECAYS) ADAM_LOOP(T, root_of, decay * p[i], sign * GIVEN(g[i]))       \
        else ADAM_LOOP(T, root_of, p[i], sign * GIVEN(g[i]))                                        \
    }

#define SGD_LOOP(T, gradient, direction)                                                            \
    {                                                                                               \
        INDEPENDENT                                                                                 \
        for (i64 i = 0; i < n; i++) {                                                               \
            const T d = gradient, m = keep * b[i] + part * d;                                       \
            to[i] = p[i] - rate * (direction);                                                      \
            to_b[i] = m;                                                                            \
        }                                                                                           \
    }

#define ADAM_LOOP(T, root_of, parameter, gradient)                                                  \
    {                                                                                               \
        INDEPENDENT                                                                                 \
        for (i64 i = 0; i < n; i++) {                                                               \
            const T from = parameter, d = gradient;                                                 \
            const T mean = m[i] + new1 * (d - m[i]), square = old2 * v[i] + new2 * (d * d);         \
            to[i] = from - rate * (mean / (root_of(square) / root + small));                        \
            to_m[i] = mean;                                                                         \
            to_v[i] = square;                                                                       \
        }                                                                                           \
    }

#define SAME(x) (x)
STEPS_OF(float, float, float, SAME, sqrtf)
STEPS_OF(double, double, double, SAME, sqrt)
STEPS_OF(narrow, float, u16, widened, sqrtf)

#define TAKE(name, T, G)                                                                            \
    do {                                                                                            \
        const T *x[2 + MOST_STATES] = {0};                                                          \
        T *to[1 + MOST_STATES] = {0};                                                               \
        for (i64 k = 0; k < 2 + states; k++) x[k] = (const T *)buffers[t[3 + k]] + at;              \
        for (i64 k = 0; k < 1 + states; k++)                                                        \
            to[k] = t[5 + states + k] < 0 ? (T *)unwanted                                           \
                                          : (T *)buffers[t[5 + states + k]] + at;                   \
        const G *g = (const G *)buffers[t[4]] + at;                                                 \
        if (which == ADAM) adam_##name(step, n, x[0], g, x[2], x[3], to[0], to[1], to[2]);          \
        else sgd_##name(step, n, x[0], g, x[2], to[0], to[1]);                                      \
    } while (0)

/* Some elements of a parameter; t are its numbers. In half precision they go through float32. */
static void take_strip(const i64 *state, const Step *step, const i64 *t, void *const *buffers,
                       i64 at, i64 n)
{
    alignas(64) double unwanted[STRIP];
    const i64 which = state[WHICH], states = state[STATES];
    if (state[TENSORS] == OF_F64) TAKE(double, double, double);
    else if (state[TENSORS] == OF_F32 && t[2]) TAKE(narrow, float, u16);
    else if (state[TENSORS] == OF_F32) TAKE(float, float, float);
    else {
        alignas(64) float x[2 + MOST_STATES][STRIP], to[1 + MOST_STATES][STRIP];
        for (i64 k = 0; k < 2 + states; k++)
            widen_halves((const u16 *)buffers[t[3 + k]] + at, x[k], n);
        if (which == ADAM) adam_float(step, n, x[0], x[1], x[2], x[3], to[0], to[1], to[2]);
        else sgd_float(step, n, x[0], x[1], states ? x[2] : NULL, to[0], to[1]);
        for (i64 k = 0; k < 1 + states; k++)
            if (t[5 + states + k] >= 0)
                round_to_halves(to[k], (u16 *)buffers[t[5 + states + k]] + at, n);
    }
}

typedef struct {
    const i64 *state, *tensors;
    void *const *buffers;
    Step step;
    atomic_llong next;
} Stepping;

static void *take_pieces(void *given)
{
    Stepping *all = given;
    const i64 *s = all->state;
    const i64 width = 6 + 2 * s[STATES];
    const i64 *t = all->tensors, *last = t + width * (s[PARAMETERS] - 1);
    const u64 mode = subnormals_off();
    for (i64 k; (k = atomic_fetch_add(&all->next, 1)) < s[PIECES];) {
        /* numbers only grow for a thread */
        while (t < last && t[width + 1] <= k) t += width;
        i64 at = (k - t[1]) * PIECE, end = at + PIECE < t[0] ? at + PIECE : t[0];
        for (; at < end; at += STRIP)
            take_strip(s, &all->step, t, all->buffers, at, end - at < STRIP ? end - at : STRIP);
    }
    subnormals_as(mode);
    return NULL;
}

static double half_precision(u16 bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent ? ldexp(1024 + fraction, exponent - 25)
                                   : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

static double number_of(const i64 *n, void *const *buffers)
{
    double found;
    if (n[0] < 0) {
        memcpy(&found, n + 2, sizeof found);
        return found;
    }
    const void *from = buffers[n[0]];
    if (n[1] == OF_F64) return *(const double *)from;
    if (n[1] == OF_F32) return (double)*(const float *)from;
    if (n[1] == OF_F16) return half_precision(*(const u16 *)from);
    float wide;
    widen_halves(from, &wide, 1);
    return (double)wide;
}

static const char *optimize(void *state, void *const *buffers)
{
    const i64 *s = state;
    Stepping all = {.state = s, .buffers = buffers, .tensors = s + NUMBER + 3 * s[NUMBERS]};
    const u64 mode = subnormals_off();
    double number[MOST_NUMBERS];
    for (i64 k = 0; k < s[NUMBERS]; k++) number[k] = number_of(s + NUMBER + 3 * k, buffers);
    Step *step = &all.step;
    step->choices = (int)s[CHOICES];
    if (s[WHICH] == ADAM) {
        const double count = number[0] + 1, first = number[2], second = number[3];
        step->rate = number[1] / (1 - pow(first, count));
        step->root = sqrt(1 - pow(second, count));
        step->new1 = 1 - first;
        step->old2 = second;
        step->new2 = 1 - second;
        step->small = number[4];
        step->decay = step->choices & DECOUPLED ? 1 - number[1] * number[5] : number[5];
        if (s[COUNTED] >= 0) {
            if (s[COUNTED_TYPE] == OF_F64) *(double *)buffers[s[COUNTED]] = count;
            else *(float *)buffers[s[COUNTED]] = (float)count;
        }
    } else {
        step->rate = number[0];
        step->decay = number[1];
        step->keep = number[2];
        step->part = number[3];
    }
    subnormals_as(mode);
    int count = enlist(s[PIECES] / 8), started = 1;
    pthread_t others[MOST_THREADS];
    while (started < count && !pthread_create(&others[started], NULL, take_pieces, &all)) started++;
    take_pieces(&all);
    for (int k = 1; k < started; k++) pthread_join(others[k], NULL);
    atomic_fetch_sub(&busy, count);
    return NULL;
}
