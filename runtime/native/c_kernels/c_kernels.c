/* Sorting on the processor, by digits.

   sorting() is the address of

       const char *sort(void *state, void *const *buffers)

   where state is a row of numbers, as the enumeration below names them, and buffers are an array and
   then what is asked for: values, positions (int64), positions for a gradient.

   Elements become unsigned numbers in the same order, all NaN the largest and both zeros the same
   one. Where positions are asked for, the upper bits of such a number and the position are one number
   of 64 bits, so that no two are equal. These are sorted by as many digits from the top as tell
   nearly all of them apart; what is left is runs of few elements, which are put in order one by one.
   Long rows are shared by threads, digit by digit; of many rows each thread takes some.

   scattering() is the address of such a function for the gradient of a sort, scanning(), finding(),
   unpooling() and optimizing() are those for what scans.h, pools.h and steps.h have. */
#include "digits.h"
#include "scans.h"
#include "pools.h"
#include "steps.h"
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* the state: what elements are, their bytes and the bits of infinity; rows of COUNT elements that lie
   INNER apart, of which TAKEN are asked for; the numbers of the buffers of values, positions and
   positions for a gradient, or 0; the bytes of one of these, whether they are those of the reverse of
   a row, whether values are written from the end, and whether nothing but all of them is asked for, in
   the order of the definition of `sort` */
enum { KIND, WIDTH, INFINITE, OUTER, COUNT, INNER, TAKEN, DESCENDING, VALUES, POSITIONS, GRADIENT,
       BYTES, REVERSED, TURNED, PLAIN };

/* elements of a thread's own part below which a row is not shared */
#define PART 131072
/* columns that are copied together where a row does not lie in one piece */
#define COLUMNS 16

/* ---------------------------------------------------------------- a row */

typedef struct {
    const i64 *state;
    Type type;
    i64 n, taken;
    const void *x;
    void *values;
    i64 *positions;
    void *gradient;
    /* a and b hold n numbers each, b perhaps in the results */
    void *a, *b;
    i64 chosen; /* how many may be among those taken */
} Row;

/* Zeros and NaN as they stood: among equal ones the order of the row, or its reverse. */
#define RESTORE(U)                                                                                  \
    do {                                                                                            \
        const U *x = r->x;                                                                          \
        U *out = r->values, top = (U)((U)1 << (8 * sizeof(U) - 1));                                 \
        const U least = LEAST(U, r->type.infinity);                                                 \
        int down = r->type.turned != 0;                                                             \
        i64 zero = -1, nan = down ? 0 : n - nans, step = down ? -1 : 1;                             \
        if (down) nan = nans - 1;                                                                   \
        if (zeros) {                                                                                \
            i64 total = 0;                                                                          \
            for (i64 i = 0; i < n; i++) total += (U)(x[i] & (U)~top) < least;                       \
            i64 low = 0, high = n;                                                                  \
            while (low < high) {                                                                    \
                i64 middle = low + (high - low) / 2;                                                \
                U b = out[middle];                                                                  \
                int before = middle < (down ? nans : 0) || (middle < n - (down ? 0 : nans) && (     \
                    (U)(b << 1) != 0 && ((b & top) != 0) != down));                                 \
                if (before) low = middle + 1;                                                       \
                else high = middle;                                                                 \
            }                                                                                       \
            zero = down ? low + total - 1 : low;                                                    \
        }                                                                                           \
        for (i64 i = 0; i < n; i++) {                                                               \
            U b = x[i];                                                                             \
            if (zeros && (U)(b & (U)~top) < least) out[zero] = b, zero += step;                     \
            else if ((U)(b & (U)~top) > (U)r->type.infinity) out[nan] = b, nan += step;             \
        }                                                                                           \
    } while (0)

static void restore(Row *r, i64 zeros, i64 nans)
{
    i64 n = r->n;
    if (r->type.width == 2) RESTORE(u16);
    else if (r->type.width == 4) RESTORE(u32);
    else if (r->type.width == 8) RESTORE(u64);
}

#define UNKEY(name, K, U, kind)                                                                     \
    WIDE static void name(const K *a, U *out, i64 n, K least, int up, u64 turned)                   \
    {                                                                                               \
        for (i64 i = 0; i < n; i++)                                                                 \
            out[i] = (U)bits_of(kind, sizeof(U), (U)turned, (U)((a[i] << up) + least));             \
    }
#define UNKEYS(bits, K, key)                                                                        \
    UNKEY(unkey_unsigned_##bits, K, u##bits, UNSIGNED)                                              \
    UNKEY(unkey_signed_##bits, K, u##bits, SIGNED)                                                  \
    UNKEY(unkey_floating_##bits, K, u##bits, FLOATING)
UNKEYS(8, u32, 32)
UNKEYS(16, u32, 32)
UNKEYS(32, u32, 32)
UNKEYS(64, u64, 64)
#define UNKEYED(bits, K)                                                                            \
    (t->kind == UNSIGNED ? unkey_unsigned_##bits(a, out, n, (K)least, up, t->turned)                \
     : t->kind == SIGNED ? unkey_signed_##bits(a, out, n, (K)least, up, t->turned)                  \
                         : unkey_floating_##bits(a, out, n, (K)least, up, t->turned))

static void unkey(const Type *t, const void *a, void *out, i64 n, u64 least, int up)
{
    if (t->width == 1) UNKEYED(8, u32);
    else if (t->width == 2) UNKEYED(16, u32);
    else if (t->width == 4) UNKEYED(32, u32);
    else UNKEYED(64, u64);
}

WIDE static void lessen_32(u32 *a, i64 n, u32 least, int down)
{
    for (i64 i = 0; i < n; i++) a[i] = (a[i] - least) >> down;
}

WIDE static void lessen_64(u64 *a, i64 n, u64 least, int down)
{
    for (i64 i = 0; i < n; i++) a[i] = (a[i] - least) >> down;
}

WIDE static void pack(u64 *a, i64 from, i64 to, u64 least, int down, int place)
{
    for (i64 i = from; i < to; i++) a[i] = (a[i] - least) >> down << place | (u64)i;
}

/* The range of the whole row, of those of its parts. */
static Range joined(Team *team)
{
    Range all = team->ranges[0];
    for (int m = 1; m < team->barrier.members; m++) {
        Range *r = &team->ranges[m];
        /* the lowest bit that differs is among those of the parts, or between two of them */
        all.varying |= r->varying | (r->least ^ all.least);
        if (r->least < all.least) all.least = r->least;
        if (r->most > all.most) all.most = r->most;
        all.zeros += r->zeros;
        all.nans += r->nans;
    }
    return all;
}

static int trailing(Range all)
{
    return all.varying ? __builtin_ctzll(all.varying) : 0;
}

/* Where a thread's part begins so that no run is shared. */
#define BEGIN(K)                                                                                    \
    static i64 begin_##K(const K *a, i64 n, int number, int members, int low)                       \
    {                                                                                               \
        i64 i = part(n, number, members);                                                           \
        while (i > 0 && i < n && (a[i - 1] >> low) == (a[i] >> low)) i++;                           \
        return i;                                                                                   \
    }
BEGIN(u32)
BEGIN(u64)

static __thread Team *own_team; /* of one, for runs; made by whoever sorts */

/* Values alone. */
static void row_values(Team *team, int number)
{
    Row *r = team->job;
    int members = team->barrier.members;
    i64 n = r->n, from = part(n, number, members), to = part(n, number + 1, members);
    const char *x = (const char *)r->x + from * r->type.width;
    int wide = r->type.width == 8;
    if (wide) keys_64(&r->type, x, (u64 *)r->a + from, to - from, &team->ranges[number]);
    else keys_32(&r->type, x, (u32 *)r->a + from, to - from, &team->ranges[number]);
    meet(&team->barrier);
    Range all = joined(team);
    int same = trailing(all), range = bits((all.most - all.least) >> same);
    Digits d = digits_of(n, range);
    void *found = r->a, *other;
    if (wide) {
        lessen_64((u64 *)r->a + from, to - from, all.least, same);
        if (n <= SHORT) radix_64_short(r->a, n);
        else found = radix_64(team, number, r->a, r->b, n, 0, d);
    } else {
        lessen_32((u32 *)r->a + from, to - from, (u32)all.least, same);
        if (n <= SHORT) radix_32_short(r->a, n);
        else found = radix_32(team, number, r->a, r->b, n, 0, d);
    }
    other = found == r->a ? r->b : r->a;
    if (d.low && n > SHORT) {
        i64 begin, end;
        if (wide) {
            begin = begin_u64(found, n, number, members, d.low);
            end = begin_u64(found, n, number + 1, members, d.low);
        } else {
            begin = begin_u32(found, n, number, members, d.low);
            end = begin_u32(found, n, number + 1, members, d.low);
        }
        meet(&team->barrier);
        if (wide) plain_64(own_team, found, other, begin, end, d.low);
        else plain_32(own_team, found, other, begin, end, d.low);
        meet(&team->barrier);
    }
    /* where b is in the results, these are written over what is read: element by element */
    unkey(&r->type, (char *)found + from * (wide ? 8 : 4), (char *)r->values + from * r->type.width,
          to - from, all.least, same);
    if (r->type.kind == FLOATING && (all.zeros || all.nans)) {
        meet(&team->barrier);
        if (number == 0) restore(r, all.zeros, all.nans);
    }
}

/* Of the first digit, as many of the least as `taken` needs: where its elements end. */
static i64 choose(Team *team, u64 *a, i64 n, i64 taken, int shift)
{
    u32 *counts = team->counts[0];
    memset(counts, 0, sizeof(u32) * MOST_DIGITS);
    for (i64 i = 0; i < n; i++) counts[a[i] >> shift]++;
    i64 sum = 0;
    u64 last = 0;
    while ((sum += counts[last]) < taken) last++;
    if (sum > n / 2) return n;
    i64 count = 0;
    for (i64 i = 0; i < n; i++) {
        u64 k = a[i];
        a[count] = k;
        count += k >> shift <= last;
    }
    return count;
}

#define GATHER(U)                                                                                   \
    do {                                                                                            \
        const U *x = r->x;                                                                          \
        U *out = r->values;                                                                         \
        int back = (int)r->state[TURNED];                                                           \
        for (i64 i = from; i < to; i++) out[back ? r->taken - 1 - i : i] = x[found[i] & mask];      \
    } while (0)

/* Positions, and perhaps values. */
static void row_packed(Team *team, int number)
{
    Row *r = team->job;
    int members = team->barrier.members;
    i64 n = r->n, from = part(n, number, members), to = part(n, number + 1, members);
    u64 *a = r->a, *b = r->b;
    keys_64(&r->type, (const char *)r->x + from * r->type.width, a + from, to - from,
            &team->ranges[number]);
    meet(&team->barrier);
    Range all = joined(team);
    int same = trailing(all), range = bits((all.most - all.least) >> same), place = bits((u64)n);
    Digits d = digits_of(n, range);
    if (range - d.low + place > 64) {
        d.count = (64 - place) / d.width;
        d.low = range - d.count * d.width;
    }
    Packed p = {&r->type, r->x, all.least, same, place, d.low};
    pack(a, from, to, all.least, same + d.low, place);
    int covered = range - d.low;
    d.low = 0;
    if (r->taken < n && r->taken * 4 <= n && covered > 0) {
        meet(&team->barrier);
        if (number == 0)
            r->chosen = choose(team, a, n, r->taken, place + (covered > 11 ? covered - 11 : 0));
        meet(&team->barrier);
        n = r->chosen;
    }
    u64 *found = a;
    if (n <= SHORT) {
        if (number == 0) radix_64_short(a, n);
        meet(&team->barrier);
    } else {
        /* with no digit nothing waits there for the other parts */
        if (!d.count) meet(&team->barrier);
        found = radix_64(team, number, a, b, n, place, d);
    }
    if (p.dropped) {
        i64 begin = begin_u64(found, n, number, members, place);
        i64 end = begin_u64(found, n, number + 1, members, place);
        meet(&team->barrier);
        packed_runs(&p, own_team, found, found == a ? b : a, begin, end);
        meet(&team->barrier);
    }
    from = part(r->taken, number, members);
    to = part(r->taken, number + 1, members);
    u64 mask = ((u64)1 << place) - 1;
    if (r->values) {
        if (r->type.width == 1) GATHER(u8);
        else if (r->type.width == 2) GATHER(u16);
        else if (r->type.width == 4) GATHER(u32);
        else GATHER(u64);
    }
    if (r->gradient) {
        /* as the definition has it, which sorts the reverse of the row and turns that round */
        int wide = r->state[BYTES] == 8, down = r->state[DESCENDING] && r->state[REVERSED];
        for (i64 i = from; i < to; i++) {
            i64 at = (i64)(found[i] & mask), to_ = down ? r->taken - 1 - i : i;
            if (down) at = r->n - 1 - at;
            if (wide) ((i64 *)r->gradient)[to_] = at;
            else ((u32 *)r->gradient)[to_] = (u32)at;
        }
    }
    if (r->positions)
        for (i64 i = from; i < to; i++) r->positions[i] = (i64)(found[i] & mask);
}

/* ---------------------------------------------------------------- all rows */

typedef struct {
    const i64 *state;
    Type type;
    const char *x;
    char *values, *positions, *gradient;
    char *room;      /* of all threads */
    size_t each;     /* bytes of one thread's */
    i64 units, columns;
    atomic_llong next;
} Rows;

static size_t rounded(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

static void run_row(Team *team, int number)
{
    Row *r = team->job;
    if (r->state[PLAIN]) row_values(team, number);
    else row_packed(team, number);
}

#define TRANSPOSED(U)                                                                               \
    do {                                                                                            \
        const U *from_ = from;                                                                      \
        U *to_ = to;                                                                                \
        for (i64 i = 0; i < n; i++)                                                                 \
            for (i64 c = 0; c < columns; c++) to_[i * row + c * column] = from_[i * prow + c * pcol];\
    } while (0)

static void moved(const void *from, i64 prow, i64 pcol, void *to, i64 row, i64 column, i64 n,
                  i64 columns, i64 width)
{
    if (width == 1) TRANSPOSED(u8);
    else if (width == 2) TRANSPOSED(u16);
    else if (width == 4) TRANSPOSED(u32);
    else TRANSPOSED(u64);
}

/* Some columns of rows, by one thread. */
static void unit(Rows *all, Team *team, char *room, i64 number)
{
    const i64 *s = all->state;
    i64 n = s[COUNT], taken = s[TAKEN], inner = s[INNER], width = s[WIDTH];
    i64 per = (inner + all->columns - 1) / all->columns;
    i64 outer = number / per, first = number % per * all->columns;
    i64 columns = inner - first < all->columns ? inner - first : all->columns;
    size_t keys = rounded(8 * n);
    char *a = room, *b = a + keys, *x = b + keys, *values = x + rounded(n * width) * all->columns;
    char *positions = values + rounded(taken * width) * all->columns;
    char *gradient = positions + rounded(8 * taken) * all->columns;
    i64 wide = s[BYTES];
    const char *source = all->x + (outer * n * inner + first) * width;
    i64 out = outer * taken * inner + first;
    if (inner > 1) moved(source, inner, 1, x, 1, rounded(n * width) / width, n, columns, width);
    for (i64 c = 0; c < columns; c++) {
        Row r = {.state = s, .type = all->type, .n = n, .taken = taken, .a = a, .b = b};
        if (inner > 1) {
            r.x = x + c * rounded(n * width);
            if (all->values) r.values = values + c * rounded(taken * width);
            if (all->positions) r.positions = (i64 *)(positions + c * rounded(8 * taken));
            if (all->gradient) r.gradient = gradient + c * rounded(8 * taken);
        } else {
            r.x = source;
            if (all->values) r.values = all->values + out * width;
            if (all->positions) r.positions = (i64 *)all->positions + out;
            if (all->gradient) r.gradient = all->gradient + out * wide;
        }
        team->job = &r;
        run_row(team, 0);
    }
    if (inner == 1) return;
    if (all->values)
        moved(values, 1, rounded(taken * width) / width, all->values + out * width, inner, 1, taken,
              columns, width);
    if (all->positions)
        moved(positions, 1, rounded(8 * taken) / 8, all->positions + out * 8, inner, 1, taken,
              columns, 8);
    if (all->gradient)
        moved(gradient, 1, rounded(8 * taken) / wide, all->gradient + out * wide, inner, 1, taken,
              columns, wide);
}

/* What the threads of a call share. */
typedef struct {
    Team *team, *alone[MOST_THREADS];
    Rows *rows; /* NULL where a row is shared */
    atomic_int ready;
} Call;

typedef struct {
    Call *call;
    int number;
    pthread_t thread;
} Member;

static void *member(void *given)
{
    Member *m = given;
    Call *call = m->call;
    while (!atomic_load_explicit(&call->ready, memory_order_acquire)) sched_yield();
    own_team = call->alone[m->number];
    if (call->rows) {
        i64 k;
        while ((k = atomic_fetch_add(&call->rows->next, 1)) < call->rows->units)
            unit(call->rows, own_team, call->rows->room + m->number * call->rows->each, k);
    } else {
        run_row(call->team, m->number);
    }
    return NULL;
}

/* Runs on this thread and as many others as can be started. */
static void together(Call *call, int count)
{
    Member members[MOST_THREADS];
    int started = 1;
    for (; started < count; started++) {
        members[started] = (Member){.call = call, .number = started};
        if (pthread_create(&members[started].thread, NULL, member, &members[started])) break;
    }
    call->team->barrier.members = started;
    atomic_store_explicit(&call->ready, 1, memory_order_release);
    members[0] = (Member){.call = call};
    member(&members[0]);
    for (int m = 1; m < started; m++) pthread_join(members[m].thread, NULL);
}

static const char *sort(void *state, void *const *buffers)
{
    const i64 *s = state;
    i64 outer = s[OUTER], n = s[COUNT], inner = s[INNER], taken = s[TAKEN], width = s[WIDTH];
    if (outer * n * inner == 0 || taken == 0) return NULL;
    int count = enlist(outer * n * inner / PART);
    u64 turned = s[DESCENDING] ? ~(u64)0 : 0;
    Rows rows = {.state = s, .type = {(int)s[KIND], (int)width, (u64)s[INFINITE], turned},
                 .x = buffers[0]};
    if (s[VALUES]) rows.values = buffers[s[VALUES]];
    if (s[POSITIONS]) rows.positions = buffers[s[POSITIONS]];
    if (s[GRADIENT]) rows.gradient = buffers[s[GRADIENT]];
    rows.columns = (inner + count - 1) / count;
    if (rows.columns > COLUMNS) rows.columns = COLUMNS;
    rows.units = outer * ((inner + rows.columns - 1) / rows.columns);
    int shared = inner == 1 && outer < count;
    rows.each = 2 * rounded(8 * n);
    if (inner > 1)
        rows.each += rows.columns * (rounded(n * width) + rounded(taken * width) +
                                     2 * rounded(8 * taken));
    size_t teams = rounded(sizeof(Team)) * (count + 1);
    Room *room = room_of(teams + rows.each * (shared ? 1 : count));
    if (!room) {
        atomic_fetch_sub(&busy, count);
        return "there is no memory to sort in";
    }
    char *at = (char *)(room + 1);
    Call call = {.rows = shared ? NULL : &rows};
    for (int m = 0; m <= count; m++, at += rounded(sizeof(Team))) {
        Team *team = (Team *)at;
        atomic_init(&team->barrier.arrived, 0);
        atomic_init(&team->barrier.round, 0);
        team->barrier.members = 1;
        if (m < count) call.alone[m] = team;
        else call.team = team;
    }
    rows.room = at;
    if (shared) {
        for (i64 k = 0; k < outer; k++) {
            Row row = {.state = s, .type = rows.type, .n = n, .taken = taken, .a = at,
                       .b = at + rounded(8 * n), .x = rows.x + k * n * width};
            if (rows.values) row.values = rows.values + k * taken * width;
            if (rows.positions) row.positions = (i64 *)rows.positions + k * taken;
            if (rows.gradient) row.gradient = rows.gradient + k * taken * s[BYTES];
            call.team->job = &row;
            atomic_store(&call.ready, 0);
            together(&call, count);
        }
    } else {
        together(&call, count);
    }
    give_back(room);
    atomic_fetch_sub(&busy, count);
    return NULL;
}

/* ---------------------------------------------------------------- gradients */

/* The state: bytes of an element; rows of LENGTH, INNER apart; of which GIVEN have a cotangent; bytes
   of a position; whether cotangents are in reverse, and whether positions count from the end; the
   numbers of the buffers of positions and cotangents */
enum { ELEMENT, ROWS, LENGTH, APART, GIVEN, POSITION, BACKWARD, FROM_END, KEPT_AT, GIVEN_AT };

#define SCATTER(U, P)                                                                               \
    do {                                                                                            \
        const P *positions = buffers[s[KEPT_AT]];                                                   \
        const U *given = buffers[s[GIVEN_AT]];                                                      \
        U *out = buffers[2], negative = (U)((U)1 << (8 * sizeof(U) - 1));                           \
        for (i64 o = 0; o < s[ROWS]; o++)                                                           \
            for (i64 j = 0; j < taken; j++)                                                         \
                for (i64 i = 0; i < inner; i++) {                                                   \
                    u64 at = positions[(o * taken + j) * inner + i];                                \
                    U v = given[(o * taken + (s[BACKWARD] ? taken - 1 - j : j)) * inner + i];       \
                    if (at >= (u64)n) continue;                                                     \
                    if (s[FROM_END]) at = (u64)n - 1 - at;                                          \
                    /* a sum with 0, which -0.0 is none of */                                       \
                    out[(o * n + (i64)at) * inner + i] = v == negative ? 0 : v;                     \
                }                                                                                   \
    } while (0)

/* Buffers are positions that differ within a row, cotangents, and what these are the gradient of. */
static const char *scatter(void *state, void *const *buffers)
{
    const i64 *s = state;
    i64 n = s[LENGTH], inner = s[APART], taken = s[GIVEN];
    if (taken < n) memset(buffers[2], 0, (size_t)(s[ROWS] * n * inner * s[ELEMENT]));
    if (s[POSITION] == 8) {
        if (s[ELEMENT] == 2) SCATTER(u16, u64);
        else if (s[ELEMENT] == 4) SCATTER(u32, u64);
        else SCATTER(u64, u64);
    } else {
        if (s[ELEMENT] == 2) SCATTER(u16, u32);
        else if (s[ELEMENT] == 4) SCATTER(u32, u32);
        else SCATTER(u64, u32);
    }
    return NULL;
}

static PyObject *sorting(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)sort);
}

static PyObject *scattering(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)scatter);
}

static PyObject *scanning(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)scan);
}

static PyObject *finding(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)find);
}

static PyObject *unpooling(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)unpool);
}

static PyObject *optimizing(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)optimize);
}

static PyMethodDef methods[] = {
    {"sorting", sorting, METH_NOARGS, "The address of what sorts."},
    {"scattering", scattering, METH_NOARGS, "The address of what gives gradients."},
    {"scanning", scanning, METH_NOARGS, "The address of what gives running sums and their like."},
    {"finding", finding, METH_NOARGS, "The address of what gives positions of extrema."},
    {"unpooling", unpooling, METH_NOARGS, "The address of what gives gradients of maxima."},
    {"optimizing", optimizing, METH_NOARGS, "The address of what does steps of optimizers."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "lazyloom._c_kernels", .m_doc = "Functions in C on arrays.",
    .m_size = -1, .m_methods = methods,
};

PyMODINIT_FUNC PyInit__c_kernels(void)
{
    return PyModule_Create(&module);
}
