/* Loops of recurrent layers in float32, for one set of vector instructions: included once for each,
   with LEVEL(name), TARGET, WIDTH (floats in a vector) and ROWS (rows of a product at a time) set.

   A product is one of ROWS rows by 4 vectors of columns, which stay in registers. Its right operand
   was packed: for each 4 vectors of columns the rows of these lie together. */

typedef float LEVEL(Vector) __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef int32_t LEVEL(Bits) __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
#define V LEVEL(Vector)
#define B LEVEL(Bits)
#define INLINE static inline __attribute__((always_inline)) TARGET

INLINE V LEVEL(load)(const float *from, Py_ssize_t count)
{
    if (count >= WIDTH) return *(const V *)from;
    V found = {0};
    for (Py_ssize_t k = 0; k < count; k++) found[k] = from[k];
    return found;
}

INLINE void LEVEL(store)(float *to, Py_ssize_t count, V x)
{
    if (count >= WIDTH) {
        *(V *)to = x;
        return;
    }
    for (Py_ssize_t k = 0; k < count; k++) to[k] = x[k];
}

/* x, or the limit if x is beyond it; NaN stays */
INLINE V LEVEL(within)(V x, float limit)
{
    V above = (V){0} + limit;
    B over = x > above, under = x < -above;
    B found = (over & (B)above) | (under & (B)-above) | (~(over | under) & (B)x);
    return (V)found;
}

/* exp(x) is power * (1 + result), for x of at most 87 in magnitude: power is the nearest power of
   two, and the rest a Taylor polynomial on |r| <= log(2) / 2, off by 2e-8 of r at most */
INLINE V LEVEL(growth)(V x, V *power)
{
    const float shift = 12582912.f; /* 3 << 22: adding it leaves the nearest integer in the low bits */
    V shifted = x * 1.44269504f + shift, n = shifted - shift;
    V r = x - n * 0.693359375f;
    r += n * 2.12194440e-4f;
    *power = (V)(((B)shifted << 23) + (127 << 23));
    V p = r * (1.f / 5040) + 1.f / 720;
    p = p * r + 1.f / 120;
    p = p * r + 1.f / 24;
    p = p * r + 1.f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.f;
    return p * r;
}

INLINE V LEVEL(sigmoid)(V x)
{
    V power, grown = LEVEL(growth)(-LEVEL(within)(x, 87.f), &power);
    return 1.f / (1.f + (power + power * grown));
}

/* by exp(2 x) - 1, which is precise near 0 */
INLINE V LEVEL(tangent)(V x)
{
    V power, grown = LEVEL(growth)(LEVEL(within)(2.f * x, 40.f), &power);
    V less = power * grown + (power - 1.f);
    return less / (less + 2.f);
}

INLINE void LEVEL(block)(int rows, Py_ssize_t depth, const float *a, Py_ssize_t row, const float *b,
                         float *found)
{
    V sums[ROWS][4];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        for (int g = 0; g < 4; g++) sums[r][g] = (V){0};
    for (Py_ssize_t k = 0; k < depth; k++, b += 4 * WIDTH) {
        V b0 = *(const V *)b, b1 = *(const V *)(b + WIDTH), b2 = *(const V *)(b + 2 * WIDTH),
          b3 = *(const V *)(b + 3 * WIDTH);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            float x = a[r * row + k];
            sums[r][0] += x * b0;
            sums[r][1] += x * b1;
            sums[r][2] += x * b2;
            sums[r][3] += x * b3;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int g = 0; g < 4; g++) *(V *)(found + (r * 4 + g) * WIDTH) = sums[r][g];
}

/* Rows of a by 4 packed vectors of columns: found[row][vector][WIDTH]. */
static __attribute__((noinline)) TARGET void LEVEL(product)(
    int rows, Py_ssize_t depth, const float *a, Py_ssize_t row, const float *b, float *found)
{
    switch (rows) {
    case 1: LEVEL(block)(1, depth, a, row, b, found); break;
#if ROWS >= 2
    case 2: LEVEL(block)(2, depth, a, row, b, found); break;
#endif
#if ROWS >= 4
    case 3: LEVEL(block)(3, depth, a, row, b, found); break;
    case 4: LEVEL(block)(4, depth, a, row, b, found); break;
#endif
#if ROWS >= 6
    case 5: LEVEL(block)(5, depth, a, row, b, found); break;
    case 6: LEVEL(block)(6, depth, a, row, b, found); break;
#endif
    }
}

/* The hidden weights of a layer (gates H, H) for either direction: some of the panels. Forwards a panel
   has a vector of columns of each gate, and zeros for a fourth. */
static void LEVEL(pack)(const Loop *l, char *const *data)
{
    const float *weight = ARRAY(data, l, 0);
    float *to = ARRAY(data, l, 1);
    Py_ssize_t size = l->size, depth = l->backward ? l->gates * size : size;
    Py_ssize_t wide = l->backward ? 4 * WIDTH : WIDTH;
    Py_ssize_t panels = (size + wide - 1) / wide;
    for (Py_ssize_t p = l->part; p < panels; p += l->parts) {
        float *panel = to + p * depth * 4 * WIDTH;
        for (Py_ssize_t v = 0; v < 4 * WIDTH; v++) {
            Py_ssize_t column = p * wide + (l->backward ? v : v % WIDTH);
            int there = column < size && (l->backward || v / WIDTH < l->gates);
            /* a column of the right operand, and how far its elements are apart */
            const float *from = l->backward ? weight + column
                                            : weight + (v / WIDTH * size + column) * size;
            Py_ssize_t apart = l->backward ? size : 1;
            for (Py_ssize_t k = 0; k < depth; k++)
                panel[k * 4 * WIDTH + v] = there ? from[k * apart] : 0;
        }
    }
}

/* Steps of an LSTM for some rows of the batch. Where the gates are kept the input's part of them lies
   when it begins, without the biases. */
static TARGET void LEVEL(lstm_forward)(const Loop *l, char *const *data)
{
    Py_ssize_t size = l->size, batch = l->batch, all = 4 * size;
    const float *packed = ARRAY(data, l, 1), *bias[2] = {ARRAY(data, l, 4), ARRAY(data, l, 5)};
    float *gates = ARRAY(data, l, 0), *cells = ARRAY(data, l, 6), *output = ARRAY(data, l, 7);
    const float *h = ARRAY(data, l, 2), *c = ARRAY(data, l, 3);
    Py_ssize_t chunks = (l->rows + ROWS - 1) / ROWS, chunk = (l->rows + chunks - 1) / chunks;
    float found[ROWS * 4 * WIDTH];
    for (Py_ssize_t s = 0; s < l->steps; s++) {
        Py_ssize_t t = l->reverse ? l->steps - 1 - s : s;
        for (Py_ssize_t j = 0; j < size; j += WIDTH)
            for (Py_ssize_t first = l->first; first < l->first + l->rows; first += chunk) {
                Py_ssize_t count = l->first + l->rows - first, n = size - j;
                if (count > chunk) count = chunk;
                LEVEL(product)((int)count, size, h + first * size, size, packed + j * all, found);
                for (Py_ssize_t r = 0; r < count; r++) {
                    const float *z = found + r * 4 * WIDTH;
                    float *gate = gates + (t * batch + first + r) * all + j;
                    V in[4];
#pragma GCC unroll 4
                    for (int g = 0; g < 4; g++) {
                        in[g] = LEVEL(load)(gate + g * size, n) + *(const V *)(z + g * WIDTH);
                        for (int k = 0; k < 2; k++)
                            if (bias[k]) in[g] += LEVEL(load)(bias[k] + g * size + j, n);
                    }
                    V i = LEVEL(sigmoid)(in[0]), f = LEVEL(sigmoid)(in[1]),
                      g = LEVEL(tangent)(in[2]), o = LEVEL(sigmoid)(in[3]);
                    V cell = f * LEVEL(load)(c + (first + r) * size + j, n) + i * g;
                    Py_ssize_t at = (t * batch + first + r) * size + j;
                    LEVEL(store)(gate, n, i);
                    LEVEL(store)(gate + size, n, f);
                    LEVEL(store)(gate + 2 * size, n, g);
                    LEVEL(store)(gate + 3 * size, n, o);
                    LEVEL(store)(cells + at, n, cell);
                    LEVEL(store)(output + at, n, o * LEVEL(tangent)(cell));
                }
            }
        h = output + t * batch * size;
        c = cells + t * batch * size;
    }
    float *last[2] = {ARRAY(data, l, 8), ARRAY(data, l, 9)};
    Py_ssize_t begin = l->first * size, length = l->rows * size;
    if (last[0]) memcpy(last[0] + begin, h + begin, (size_t)length * sizeof *h);
    if (last[1]) memcpy(last[1] + begin, c + begin, (size_t)length * sizeof *c);
}

/* The LSTM's steps backwards: the cotangents of what goes into the gates, of the first states, of a bias, and
   the hidden state that each step began with. */
static TARGET void LEVEL(lstm_backward)(const Loop *l, char *const *data)
{
    Py_ssize_t size = l->size, batch = l->batch, all = 4 * size;
    const float *gates = ARRAY(data, l, 0), *packed = ARRAY(data, l, 1), *h = ARRAY(data, l, 2);
    const float *c = ARRAY(data, l, 3), *cells = ARRAY(data, l, 4), *d_out = ARRAY(data, l, 5);
    const float *d_last[2] = {ARRAY(data, l, 6), ARRAY(data, l, 7)};
    float *d_gates = ARRAY(data, l, 8), *before = ARRAY(data, l, 9);
    float *d_h = ARRAY(data, l, 10), *d_c = ARRAY(data, l, 11), *d_bias = ARRAY(data, l, 12);
    Py_ssize_t begin = l->first * size, length = l->rows * size;
    for (int k = 0; k < 2; k++) {
        float *to = (k ? d_c : d_h) + begin;
        if (d_last[k]) memcpy(to, d_last[k] + begin, (size_t)length * sizeof *to);
        else memset(to, 0, (size_t)length * sizeof *to);
    }
    if (d_bias) memset(d_bias, 0, (size_t)all * sizeof *d_bias);
    Py_ssize_t chunks = (l->rows + ROWS - 1) / ROWS, chunk = (l->rows + chunks - 1) / chunks;
    float found[ROWS * 4 * WIDTH];
    for (Py_ssize_t s = l->steps - 1; s >= 0; s--) {
        Py_ssize_t t = l->reverse ? l->steps - 1 - s : s;
        Py_ssize_t earlier = l->reverse ? t + 1 : t - 1, later = l->reverse ? t - 1 : t + 1;
        const float *from = s ? cells + earlier * batch * size : c;
        for (Py_ssize_t r = l->first; r < l->first + l->rows; r++) {
            if (before && !s)
                memcpy(before + (t * batch + r) * size, h + r * size, (size_t)size * sizeof *h);
            for (Py_ssize_t j = 0; j < size; j += WIDTH) {
                Py_ssize_t at = (t * batch + r) * size + j, state = r * size + j, n = size - j;
                const float *gate = gates + (t * batch + r) * all + j;
                float *d_gate = d_gates + (t * batch + r) * all + j;
                V i = LEVEL(load)(gate, n), f = LEVEL(load)(gate + size, n),
                  g = LEVEL(load)(gate + 2 * size, n), o = LEVEL(load)(gate + 3 * size, n);
                V tan = LEVEL(tangent)(LEVEL(load)(cells + at, n)), dh = LEVEL(load)(d_h + state, n);
                if (d_out) dh += LEVEL(load)(d_out + at, n);
                V dc = LEVEL(load)(d_c + state, n) + dh * o * (1.f - tan * tan);
                V d[4] = {dc * g * i * (1.f - i), dc * LEVEL(load)(from + state, n) * f * (1.f - f),
                          dc * i * (1.f - g * g), dh * tan * o * (1.f - o)};
#pragma GCC unroll 4
                for (int k = 0; k < 4; k++) {
                    LEVEL(store)(d_gate + k * size, n, d[k]);
                    if (d_bias) {
                        float *sum = d_bias + k * size + j;
                        LEVEL(store)(sum, n, LEVEL(load)(sum, n) + d[k]);
                    }
                }
                LEVEL(store)(d_c + state, n, dc * f);
                if (before && s < l->steps - 1)
                    LEVEL(store)(before + (later * batch + r) * size + j, n, o * tan);
            }
        }
        for (Py_ssize_t j = 0; j < size; j += 4 * WIDTH)
            for (Py_ssize_t first = l->first; first < l->first + l->rows; first += chunk) {
                Py_ssize_t count = l->first + l->rows - first;
                if (count > chunk) count = chunk;
                LEVEL(product)((int)count, all, d_gates + (t * batch + first) * all, all,
                               packed + j * all, found);
                for (Py_ssize_t r = 0; r < count; r++)
                    for (Py_ssize_t k = 0; k < 4 && j + k * WIDTH < size; k++)
                        LEVEL(store)(d_h + (first + r) * size + j + k * WIDTH, size - j - k * WIDTH,
                                     *(const V *)(found + (r * 4 + k) * WIDTH));
            }
    }
}

/* Steps of a GRU for some rows of the batch, as of an LSTM. The states are written twice where they
   are kept. */
static TARGET void LEVEL(gru_forward)(const Loop *l, char *const *data)
{
    Py_ssize_t size = l->size, batch = l->batch, all = 3 * size;
    const float *packed = ARRAY(data, l, 1), *h = ARRAY(data, l, 2);
    const float *bias[2] = {ARRAY(data, l, 4), ARRAY(data, l, 5)};
    float *gates = ARRAY(data, l, 0), *kept = ARRAY(data, l, 6), *output = ARRAY(data, l, 7);
    float *last = ARRAY(data, l, 8), *states = ARRAY(data, l, 9);
    Py_ssize_t chunks = (l->rows + ROWS - 1) / ROWS, chunk = (l->rows + chunks - 1) / chunks;
    float found[ROWS * 4 * WIDTH];
    for (Py_ssize_t s = 0; s < l->steps; s++) {
        Py_ssize_t t = l->reverse ? l->steps - 1 - s : s;
        for (Py_ssize_t j = 0; j < size; j += WIDTH)
            for (Py_ssize_t first = l->first; first < l->first + l->rows; first += chunk) {
                Py_ssize_t count = l->first + l->rows - first, n = size - j;
                if (count > chunk) count = chunk;
                LEVEL(product)((int)count, size, h + first * size, size, packed + 4 * j * size, found);
                for (Py_ssize_t r = 0; r < count; r++) {
                    float *gate = gates + (t * batch + first + r) * all + j;
                    V in[3], hidden[3];
#pragma GCC unroll 3
                    for (int g = 0; g < 3; g++) {
                        in[g] = LEVEL(load)(gate + g * size, n);
                        hidden[g] = *(const V *)(found + (r * 4 + g) * WIDTH);
                        if (bias[0]) in[g] += LEVEL(load)(bias[0] + g * size + j, n);
                        if (bias[1]) hidden[g] += LEVEL(load)(bias[1] + g * size + j, n);
                    }
                    V reset = LEVEL(sigmoid)(in[0] + hidden[0]), z = LEVEL(sigmoid)(in[1] + hidden[1]);
                    V made = LEVEL(tangent)(in[2] + reset * hidden[2]);
                    V before = LEVEL(load)(h + (first + r) * size + j, n);
                    V after = made + z * (before - made);
                    Py_ssize_t at = (t * batch + first + r) * size + j;
                    LEVEL(store)(gate, n, reset);
                    LEVEL(store)(gate + size, n, z);
                    LEVEL(store)(gate + 2 * size, n, made);
                    if (kept) LEVEL(store)(kept + at, n, hidden[2]);
                    if (states) LEVEL(store)(states + at, n, after);
                    LEVEL(store)(output + at, n, after);
                }
            }
        h = output + t * batch * size;
    }
    Py_ssize_t begin = l->first * size;
    if (last) memcpy(last + begin, h + begin, (size_t)(l->rows * size) * sizeof *h);
}

/* The GRU's steps backwards: the cotangents of the input's and of the hidden state's part of what goes
   into the gates, of the first state, of both biases, and the state that each step began with. */
static TARGET void LEVEL(gru_backward)(const Loop *l, char *const *data)
{
    Py_ssize_t size = l->size, batch = l->batch, all = 3 * size;
    const float *gates = ARRAY(data, l, 0), *packed = ARRAY(data, l, 1), *h = ARRAY(data, l, 2);
    const float *states = ARRAY(data, l, 3), *kept = ARRAY(data, l, 4);
    const float *d_out = ARRAY(data, l, 5), *d_last = ARRAY(data, l, 6);
    float *d_in = ARRAY(data, l, 8), *before = ARRAY(data, l, 9), *d_h = ARRAY(data, l, 10);
    float *d_hidden = ARRAY(data, l, 11), *bias[2] = {ARRAY(data, l, 12), ARRAY(data, l, 13)};
    Py_ssize_t begin = l->first * size, length = l->rows * size;
    if (d_last) memcpy(d_h + begin, d_last + begin, (size_t)length * sizeof *d_h);
    else memset(d_h + begin, 0, (size_t)length * sizeof *d_h);
    for (int k = 0; k < 2; k++)
        if (bias[k]) memset(bias[k], 0, (size_t)all * sizeof *bias[k]);
    Py_ssize_t chunks = (l->rows + ROWS - 1) / ROWS, chunk = (l->rows + chunks - 1) / chunks;
    float found[ROWS * 4 * WIDTH];
    for (Py_ssize_t s = l->steps - 1; s >= 0; s--) {
        Py_ssize_t t = l->reverse ? l->steps - 1 - s : s;
        const float *from = s ? states + (l->reverse ? t + 1 : t - 1) * batch * size : h;
        if (before)
            memcpy(before + t * batch * size + begin, from + begin, (size_t)length * sizeof *from);
        for (Py_ssize_t r = l->first; r < l->first + l->rows; r++)
            for (Py_ssize_t j = 0; j < size; j += WIDTH) {
                Py_ssize_t at = (t * batch + r) * size + j, state = r * size + j, n = size - j;
                Py_ssize_t gate = (t * batch + r) * all + j;
                V reset = LEVEL(load)(gates + gate, n), z = LEVEL(load)(gates + gate + size, n);
                V made = LEVEL(load)(gates + gate + 2 * size, n), d = LEVEL(load)(d_h + state, n);
                if (d_out) d += LEVEL(load)(d_out + at, n);
                V through = d * (1.f - z) * (1.f - made * made);
                V parts[4] = {through * LEVEL(load)(kept + at, n) * reset * (1.f - reset),
                              d * (LEVEL(load)(from + state, n) - made) * z * (1.f - z), through,
                              through * reset};
#pragma GCC unroll 3
                for (int g = 0; g < 3; g++) {
                    V both[2] = {parts[g], parts[g + g / 2]};
                    LEVEL(store)(d_in + gate + g * size, n, both[0]);
                    LEVEL(store)(d_hidden + gate + g * size, n, both[1]);
                    for (int k = 0; k < 2; k++) {
                        float *sum = bias[k] ? bias[k] + g * size + j : NULL;
                        if (sum) LEVEL(store)(sum, n, LEVEL(load)(sum, n) + both[k]);
                    }
                }
                LEVEL(store)(d_h + state, n, d * z);
            }
        for (Py_ssize_t j = 0; j < size; j += 4 * WIDTH)
            for (Py_ssize_t first = l->first; first < l->first + l->rows; first += chunk) {
                Py_ssize_t count = l->first + l->rows - first;
                if (count > chunk) count = chunk;
                LEVEL(product)((int)count, all, d_hidden + (t * batch + first) * all, all,
                               packed + j * all, found);
                for (Py_ssize_t r = 0; r < count; r++)
                    for (Py_ssize_t k = 0; k < 4 && j + k * WIDTH < size; k++) {
                        float *to = d_h + (first + r) * size + j + k * WIDTH;
                        Py_ssize_t n = size - j - k * WIDTH;
                        LEVEL(store)(to, n, LEVEL(load)(to, n)
                                                + *(const V *)(found + (r * 4 + k) * WIDTH));
                    }
            }
    }
}

static void LEVEL(loop)(const Loop *l, char *const *data)
{
    if (l->packs) LEVEL(pack)(l, data);
    else if (l->gates == 3 && l->backward) LEVEL(gru_backward)(l, data);
    else if (l->gates == 3) LEVEL(gru_forward)(l, data);
    else if (l->backward) LEVEL(lstm_backward)(l, data);
    else LEVEL(lstm_forward)(l, data);
}

#undef V
#undef B
#undef INLINE
#undef LEVEL
#undef TARGET
#undef WIDTH
#undef ROWS
