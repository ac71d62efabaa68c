/* Sorting numbers by digits, and what digits leave one by one. */
#include "keys.h"

/* rows that are no longer are sorted by insertion */
#define SHORT 40
#define MOST_DIGITS 2048

typedef struct {
    int low, width, count; /* the lowest bit that a digit has, the bits of one, how many there are */
} Digits;

static int bits(u64 x)
{
    return x ? 64 - __builtin_clzll(x) : 0;
}

/* Enough digits for n elements of `range` bits to be nearly told apart, from the top. */
static Digits digits_of(i64 n, int range)
{
    int widest = n < 3000 ? 8 : 11;
    int wanted = bits((u64)n) + 12;
    if (wanted > range) wanted = range;
    Digits d = {range, 0, (wanted + widest - 1) / widest};
    if (d.count) d.width = (wanted + d.count - 1) / d.count;
    int covered = d.count * d.width;
    d.low = covered < range ? range - covered : 0;
    return d;
}

typedef struct {
    Barrier barrier;
    u32 counts[MOST_THREADS][MOST_DIGITS];
    Range ranges[MOST_THREADS];
    void *job;
} Team;

static i64 part(i64 n, int number, int members)
{
    return (i64)((__int128)n * number / members);
}

/* Sort between a and b, from digit to digit; the array where the result is. Elements have `shift`
   bits below those that digits are of. */
#define RADIX(name, K)                                                                              \
    static K *name(Team *team, int number, K *a, K *b, i64 n, int shift, Digits d)                  \
    {                                                                                               \
        int members = team->barrier.members;                                                        \
        i64 from = part(n, number, members), to = part(n, number + 1, members);                     \
        int size = 1 << d.width;                                                                    \
        K mask = (K)(size - 1);                                                                     \
        for (int digit = 0; digit < d.count; digit++) {                                             \
            int at = shift + d.low + digit * d.width;                                               \
            u32 *counts = team->counts[number], place[MOST_DIGITS];                                 \
            memset(counts, 0, sizeof(u32) * size);                                                  \
            for (i64 i = from; i < to; i++) counts[(a[i] >> at) & mask]++;                          \
            meet(&team->barrier);                                                                   \
            u32 sum = 0;                                                                            \
            int single = 0;                                                                         \
            if (members == 1) {                                                                     \
                for (int k = 0; k < size; k++) {                                                    \
                    place[k] = sum;                                                                 \
                    sum += counts[k];                                                               \
                    single |= counts[k] == n;                                                       \
                }                                                                                   \
            } else {                                                                                \
                for (int k = 0; k < size; k++) {                                                    \
                    u32 before = sum, own = sum;                                                    \
                    for (int m = 0; m < members; m++) {                                             \
                        if (m == number) own = sum;                                                 \
                        sum += team->counts[m][k];                                                  \
                    }                                                                               \
                    place[k] = own;                                                                 \
                    single |= sum - before == n;                                                    \
                }                                                                                   \
            }                                                                                       \
            if (!single) {                                                                          \
                for (i64 i = from; i < to; i++) {                                                   \
                    K k = a[i];                                                                     \
                    b[place[(k >> at) & mask]++] = k;                                               \
                }                                                                                   \
                K *other = a;                                                                       \
                a = b;                                                                              \
                b = other;                                                                          \
            }                                                                                       \
            meet(&team->barrier);                                                                   \
        }                                                                                           \
        return a;                                                                                   \
    }                                                                                               \
                                                                                                    \
    static void name##_short(K *a, i64 n)                                                           \
    {                                                                                               \
        for (i64 i = 1; i < n; i++) {                                                               \
            K k = a[i];                                                                             \
            i64 j = i;                                                                              \
            for (; j > 0 && a[j - 1] > k; j--) a[j] = a[j - 1];                                     \
            a[j] = k;                                                                               \
        }                                                                                           \
    }

RADIX(radix_32, u32)
RADIX(radix_64, u64)

/* ---------------------------------------------------------------- runs */

static void sort_alone(Team *alone, u64 *a, u64 *room, i64 n, int range);

/* Put runs of equal digits in order, between `from` and `to`, of numbers that are their own keys. */
#define RUNS(name, K)                                                                               \
    static void name(Team *alone, K *a, K *room, i64 from, i64 to, int low)                         \
    {                                                                                               \
        for (i64 i = from + 1; i < to; i++) {                                                       \
            if ((a[i - 1] >> low) != (a[i] >> low)) continue;                                       \
            i64 begin = i - 1;                                                                      \
            while (i < to && (a[begin] >> low) == (a[i] >> low)) i++;                               \
            name##_run(alone, a + begin, room + begin, i - begin, low);                             \
        }                                                                                           \
    }

static void plain_64_run(Team *alone, u64 *a, u64 *room, i64 n, int low)
{
    if (n <= SHORT) {
        radix_64_short(a, n);
        return;
    }
    u64 top = a[0] >> low << low;
    for (i64 i = 0; i < n; i++) a[i] -= top;
    sort_alone(alone, a, room, n, low);
    for (i64 i = 0; i < n; i++) a[i] += top;
}

static void plain_32_run(Team *alone, u32 *a, u32 *room, i64 n, int low)
{
    if (n <= SHORT) {
        radix_32_short(a, n);
        return;
    }
    /* all of the bits that are left */
    Digits d = {0, (low + (low + 10) / 11 - 1) / ((low + 10) / 11), (low + 10) / 11};
    u32 *found = radix_32(alone, 0, a, room, n, 0, d);
    if (found != a) memcpy(a, found, n * sizeof *a);
}

RUNS(plain_64, u64)
RUNS(plain_32, u32)

/* The whole order of numbers of `range` bits, by one thread. */
static void sort_alone(Team *alone, u64 *a, u64 *room, i64 n, int range)
{
    if (n <= SHORT) {
        radix_64_short(a, n);
        return;
    }
    Digits d = digits_of(n, range);
    u64 *found = radix_64(alone, 0, a, room, n, 0, d);
    if (found != a) memcpy(a, found, n * sizeof *a);
    if (d.low) plain_64(alone, a, room, 0, n, d.low);
}

/* What is sorted where positions are asked for. */
typedef struct {
    const Type *type;
    const void *x;
    u64 least;
    int trailing; /* lower bits of keys that are all the same */
    int place;   /* bits of a position */
    int dropped; /* lower bits of a key that are not there */
} Packed;

/* The same of keys with positions: what was dropped is looked up. */
static void packed_runs(const Packed *p, Team *alone, u64 *a, u64 *room, i64 from, i64 to)
{
    if (!p->dropped) return;
    u64 mask = ((u64)1 << p->place) - 1, rest = ((u64)1 << p->dropped) - 1;
    for (i64 i = from + 1; i < to; i++) {
        if ((a[i - 1] >> p->place) != (a[i] >> p->place)) continue;
        i64 begin = i - 1;
        u64 top = a[begin] >> p->place << p->place;
        while (i < to && (a[begin] >> p->place) == (a[i] >> p->place)) i++;
        int equal = 1;
        u64 first = 0;
        for (i64 j = begin; j < i; j++) {
            u64 low = (key_at(p->type, p->x, (i64)(a[j] & mask)) - p->least) >>
                      p->trailing & rest;
            if (j == begin) first = low;
            equal &= low == first;
            a[j] = low << p->place | (a[j] & mask);
        }
        /* with equal keys they are in order */
        if (!equal) sort_alone(alone, a + begin, room + begin, i - begin, p->dropped + p->place);
        for (i64 j = begin; j < i; j++) a[j] = top | (a[j] & mask);
    }
}
