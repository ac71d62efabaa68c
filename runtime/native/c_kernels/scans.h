/* Running sums, products and extrema along an axis, and where extrema are. */
#include "threads.h"

/* the state: what is done, the type of elements; rows of SCANNED elements that lie SPACED apart;
   whether from the end; the numbers of the buffers */
enum { DOES, TYPE, BEFORE, SCANNED, SPACED, FROM_LAST, SOURCE, TARGET };
enum { SUM, PRODUCT, MOST, LEAST };
enum { IS_I32, IS_U32, IS_I64, IS_U64, IS_F32, IS_F64 };

/* A row is done in blocks, so that what was read is read once more from the cache, and a block in parts
   side by side, so that no sum waits for the one before. */
#define BLOCK 4096
#define PARTS 8
/* columns that go together where a row does not lie in one piece */
#define ABREAST 256

#define ADD(a, v) ((a) + (v))
#define TIMES(a, v) ((a) * (v))
/* NaN stays */
#define LARGER(a, v) ((v) > (a) || (v) != (v) ? (v) : (a))
#define SMALLER(a, v) ((v) < (a) || (v) != (v) ? (v) : (a))

#define SCAN(name, T, A, OP, first)                                                                 \
    static A name##_row(const T *x, T *out, i64 n, i64 step, A sum)                                 \
    {                                                                                               \
        i64 part = n / PARTS;                                                                       \
        if (part < 16) {                                                                            \
            for (i64 i = 0; i < n; i++) out[i * step] = (T)(sum = OP(sum, (A)x[i * step]));         \
            return sum;                                                                             \
        }                                                                                           \
        A sums[PARTS];                                                                              \
        for (int p = 0; p < PARTS; p++) sums[p] = (A)x[p * part * step];                            \
        for (i64 i = 1; i < part; i++)                                                              \
            for (int p = 0; p < PARTS; p++)                                                         \
                sums[p] = OP(sums[p], (A)x[(p * part + i) * step]);                                 \
        for (int p = 0; p < PARTS; p++) {                                                           \
            A own = sums[p];                                                                        \
            sums[p] = sum;                                                                          \
            sum = OP(sum, own);                                                                     \
        }                                                                                           \
        for (i64 i = 0; i < part; i++)                                                              \
            for (int p = 0; p < PARTS; p++) {                                                       \
                i64 at = (p * part + i) * step;                                                     \
                out[at] = (T)(sums[p] = OP(sums[p], (A)x[at]));                                     \
            }                                                                                       \
        for (i64 i = part * PARTS; i < n; i++)                                                      \
            out[i * step] = (T)(sum = OP(sum, (A)x[i * step]));                                     \
        return sum;                                                                                 \
    }                                                                                               \
                                                                                                    \
    WIDE static void name##_abreast(const T *x, T *out, i64 n, i64 step, i64 columns)               \
    {                                                                                               \
        A sums[ABREAST];                                                                            \
        for (i64 c = 0; c < columns; c++) sums[c] = first;                                          \
        for (i64 i = 0; i < n; i++, x += step, out += step)                                         \
            for (i64 c = 0; c < columns; c++) out[c] = (T)(sums[c] = OP(sums[c], (A)x[c]));         \
    }                                                                                               \
                                                                                                    \
    static void name(const i64 *s, const T *x, T *out)                                              \
    {                                                                                               \
        i64 n = s[SCANNED], inner = s[SPACED], step = s[FROM_LAST] ? -inner : inner;                \
        for (i64 o = 0; o < s[BEFORE]; o++, x += n * inner, out += n * inner) {                     \
            i64 start = s[FROM_LAST] ? (n - 1) * inner : 0;                                         \
            A sum = first;                                                                          \
            if (inner == 1)                                                                         \
                for (i64 i = 0; i < n; i += BLOCK)                                                  \
                    sum = name##_row(x + start + i * step, out + start + i * step,                  \
                                     n - i < BLOCK ? n - i : BLOCK, step, sum);                     \
            else                                                                                    \
                for (i64 c = 0; c < inner; c += ABREAST)                                            \
                    name##_abreast(x + start + c, out + start + c, n, step,                         \
                                   inner - c < ABREAST ? inner - c : ABREAST);                      \
        }                                                                                           \
    }

#define SCANS(t, T, A, lowest, highest)                                                             \
    SCAN(sum_##t, T, A, ADD, 0)                                                                     \
    SCAN(product_##t, T, A, TIMES, 1)                                                               \
    SCAN(most_##t, T, T, LARGER, lowest)                                                            \
    SCAN(least_##t, T, T, SMALLER, highest)

SCANS(i32, int32_t, u32, INT32_MIN, INT32_MAX)
SCANS(u32, u32, u32, 0, UINT32_MAX)
SCANS(i64, i64, u64, INT64_MIN, INT64_MAX)
SCANS(u64, u64, u64, 0, UINT64_MAX)
/* sums of float32 are of float64, as PyTorch's are */
SCANS(f32, float, double, -__builtin_inff(), __builtin_inff())
SCANS(f64, double, double, -__builtin_inf(), __builtin_inf())

#define BY_TYPE(name)                                                                               \
    switch (s[TYPE]) {                                                                              \
    case IS_I32: name##_i32(s, x, out); break;                                                      \
    case IS_U32: name##_u32(s, x, out); break;                                                      \
    case IS_I64: name##_i64(s, x, out); break;                                                      \
    case IS_U64: name##_u64(s, x, out); break;                                                      \
    case IS_F32: name##_f32(s, x, out); break;                                                      \
    default: name##_f64(s, x, out);                                                                 \
    }

static const char *scan(void *state, void *const *buffers)
{
    const i64 *s = state;
    const void *x = buffers[s[SOURCE]];
    void *out = buffers[s[TARGET]];
    if (s[DOES] == SUM) BY_TYPE(sum)
    else if (s[DOES] == PRODUCT) BY_TYPE(product)
    else if (s[DOES] == MOST) BY_TYPE(most)
    else BY_TYPE(least)
    return NULL;
}

/* ---------------------------------------------------------------- where extrema are */

#define LANES 16
#define FIND(name, T, BETTER)                                                                       \
    /* The best of a block; *none says whether one is no number. */                                 \
    WIDE static T name##_best(const T *x, i64 n, int *none)                                         \
    {                                                                                               \
        T lanes[LANES];                                                                             \
        int nans[LANES] = {0};                                                                      \
        i64 i = 0;                                                                                  \
        for (int k = 0; k < LANES; k++) lanes[k] = x[0];                                            \
        for (; i + LANES <= n; i += LANES)                                                          \
            for (int k = 0; k < LANES; k++) {                                                       \
                T v = x[i + k];                                                                     \
                lanes[k] = v BETTER lanes[k] ? v : lanes[k];                                        \
                nans[k] |= v != v;                                                                  \
            }                                                                                       \
        for (; i < n; i++) {                                                                        \
            lanes[0] = x[i] BETTER lanes[0] ? x[i] : lanes[0];                                      \
            nans[0] |= x[i] != x[i];                                                                \
        }                                                                                           \
        for (int k = 0; k < LANES; k++) {                                                           \
            lanes[0] = lanes[k] BETTER lanes[0] ? lanes[k] : lanes[0];                              \
            *none |= nans[k];                                                                       \
        }                                                                                           \
        return lanes[0];                                                                            \
    }                                                                                               \
                                                                                                    \
    static i64 name##_row(const T *x, i64 n)                                                        \
    {                                                                                               \
        T best = x[0];                                                                              \
        i64 at = 0;                                                                                 \
        for (i64 i = 0; i < n; i += BLOCK / 4) {                                                    \
            int none = 0;                                                                           \
            T found = name##_best(x + i, n - i < BLOCK / 4 ? n - i : BLOCK / 4, &none);             \
            if (none) {                                                                             \
                while (x[i] == x[i]) i++;                                                           \
                return i;                                                                           \
            }                                                                                       \
            if (found BETTER best) best = found, at = i;                                            \
        }                                                                                           \
        while (x[at] != best) at++;                                                                 \
        return at;                                                                                  \
    }                                                                                               \
                                                                                                    \
    WIDE static void name##_abreast(const T *x, i64 *out, i64 n, i64 step, i64 columns)             \
    {                                                                                               \
        T best[ABREAST];                                                                            \
        i64 at[ABREAST];                                                                            \
        for (i64 c = 0; c < columns; c++) best[c] = x[c], at[c] = 0;                                \
        for (i64 i = 1; i < n; i++) {                                                               \
            x += step;                                                                              \
            for (i64 c = 0; c < columns; c++) {                                                     \
                T v = x[c], b = best[c];                                                            \
                int better = (v BETTER b) | ((v != v) & (b == b));                                  \
                best[c] = better ? v : b;                                                           \
                at[c] = better ? i : at[c];                                                         \
            }                                                                                       \
        }                                                                                           \
        memcpy(out, at, sizeof(i64) * columns);                                                     \
    }                                                                                               \
                                                                                                    \
    static void name(const i64 *s, const T *x, i64 *out)                                            \
    {                                                                                               \
        i64 n = s[SCANNED], inner = s[SPACED];                                                      \
        for (i64 o = 0; o < s[BEFORE]; o++, x += n * inner, out += inner) {                         \
            if (inner == 1) *out = name##_row(x, n);                                                \
            else                                                                                    \
                for (i64 c = 0; c < inner; c += ABREAST)                                            \
                    name##_abreast(x + c, out + c, n, inner,                                        \
                                   inner - c < ABREAST ? inner - c : ABREAST);                      \
        }                                                                                           \
    }

#define FINDS(t, T) FIND(largest_##t, T, >) FIND(smallest_##t, T, <)
FINDS(i32, int32_t)
FINDS(u32, u32)
FINDS(i64, i64)
FINDS(u64, u64)
FINDS(f32, float)
FINDS(f64, double)

static const char *find(void *state, void *const *buffers)
{
    const i64 *s = state;
    const void *x = buffers[s[SOURCE]];
    i64 *out = buffers[s[TARGET]];
    if (s[DOES] == MOST) BY_TYPE(largest)
    else BY_TYPE(smallest)
    return NULL;
}
