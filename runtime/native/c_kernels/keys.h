/* Elements as unsigned numbers of the same order, and back. */
#include "threads.h"

/* kinds of elements */
enum { UNSIGNED, SIGNED, FLOATING };

typedef struct {
    u64 least, most, varying; /* of numbers; bits that differ */
    i64 zeros, nans;          /* those that count as zero and are not it; those that are none */
} Range;

/* The least magnitude that is no zero in an order: subnormal numbers count as zeros, but those of
   float16, which is computed in float32. */
#define LEAST(U, infinity) \
    ((U)(sizeof(U) == 2 && (infinity) == 0x7C00 ? 1 : (infinity) & -(infinity)))

/* A number of floating point: the magnitude above or below that of zero. NaN is the largest.
   Small magnitudes go by a mask: GCC 12 makes no vectors of a loop with a third condition. */
#define FLOAT_KEY(U, b, infinity) ({                                                                \
    U m_ = (U)((b) & (U)((U)~(U)0 >> 1)), t_ = (U)((U)1 << (8 * sizeof(U) - 1));                    \
    m_ &= (U)-(m_ >= LEAST(U, infinity));                                                           \
    U k_ = (U)((b) & t_ ? t_ - m_ : t_ + m_);                                                       \
    m_ > (U)(infinity) ? (U)(t_ + (infinity) + ((infinity) & -(infinity)) / 2) : k_; })

#define KEYS(name, U, K, key)                                                                       \
    WIDE static void name(const U *restrict x, K *restrict out, i64 n, u64 infinity, u64 turned,    \
                          Range *range)                                                             \
    {                                                                                               \
        K least = (K)~(K)0, most = 0, turn = (K)turned, varying = 0, first = 0;                     \
        i64 zeros = 0, nans = 0;                                                                    \
        (void)infinity;                                                                             \
        if (n) {                                                                                    \
            U b = x[0];                                                                             \
            first = (K)((key) ^ turn);                                                              \
        }                                                                                           \
        for (i64 i = 0; i < n; i++) {                                                               \
            U b = x[i];                                                                             \
            K k = (K)((key) ^ turn);                                                                \
            out[i] = k;                                                                             \
            least = k < least ? k : least;                                                          \
            most = k > most ? k : most;                                                             \
            varying |= k ^ first;                                                                   \
            zeros += (b != 0) & ((U)(b & (U)((U)~(U)0 >> 1)) < LEAST(U, infinity));                \
            nans += (U)(b & (U)((U)~(U)0 >> 1)) > (U)infinity;                                      \
        }                                                                                           \
        *range = (Range){least, most, varying, zeros, nans};                                        \
    }

#define KEYS_OF(U, K, bits, to)                                                                     \
    KEYS(unsigned_##bits##_##to, U, K, b)                                                           \
    KEYS(signed_##bits##_##to, U, K, (U)(b ^ (U)((U)1 << (bits - 1))))                              \
    KEYS(floating_##bits##_##to, U, K, FLOAT_KEY(U, b, infinity))

KEYS_OF(u8, u32, 8, 32)
KEYS_OF(u16, u32, 16, 32)
KEYS_OF(u32, u32, 32, 32)
KEYS_OF(u8, u64, 8, 64)
KEYS_OF(u16, u64, 16, 64)
KEYS_OF(u32, u64, 32, 64)
KEYS_OF(u64, u64, 64, 64)

typedef struct {
    int kind, width;
    u64 infinity, turned; /* the bits of infinity; what turns a number round */
} Type;

#define OF_KIND(bits, K)                                                                            \
    (t->kind == UNSIGNED ? unsigned_##bits##_##K(x, out, n, t->infinity, t->turned, range)          \
     : t->kind == SIGNED ? signed_##bits##_##K(x, out, n, t->infinity, t->turned, range)            \
                         : floating_##bits##_##K(x, out, n, t->infinity, t->turned, range))

static void keys_32(const Type *t, const void *x, u32 *out, i64 n, Range *range)
{
    if (t->width == 1) OF_KIND(8, 32);
    else if (t->width == 2) OF_KIND(16, 32);
    else OF_KIND(32, 32);
}

static void keys_64(const Type *t, const void *x, u64 *out, i64 n, Range *range)
{
    if (t->width == 1) OF_KIND(8, 64);
    else if (t->width == 2) OF_KIND(16, 64);
    else if (t->width == 4) OF_KIND(32, 64);
    else OF_KIND(64, 64);
}

static u64 key_at(const Type *t, const void *x, i64 i)
{
    u64 key;
    Range range;
    keys_64(t, (const char *)x + i * t->width, &key, 1, &range);
    return key;
}

/* The bits of an element by its number, of those that are no NaN. */
static inline u64 bits_of(int kind, int width, u64 turned, u64 key)
{
    u64 top = (u64)1 << (8 * width - 1);
    key ^= turned;
    if (kind == SIGNED) return key ^ top;
    if (kind == FLOATING) return key & top ? key ^ top : (top - key) | top;
    return key;
}
