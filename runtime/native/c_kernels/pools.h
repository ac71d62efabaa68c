/* The gradient of maxima over windows, in float32 or bfloat16, of images with channels last. */
#include "threads.h"

/* the state: images, their extents and channels, those of what is pooled; of the window the size, the
   steps, the places before the image and how far its elements are apart; the numbers of the buffers;
   whether they are bfloat16 */
enum { IMAGES, ROWS_IN, COLUMNS_IN, CHANNELS, ROWS_OUT, COLUMNS_OUT, WINDOW, STEPS = WINDOW + 2,
       LOW = STEPS + 2, AWAY = LOW + 2, IMAGE = AWAY + 2, COTANGENT, GRADIENT_OF, HALF };

/* channels that go together */
#define TOGETHER 64

/* Where element k of a window lies in an image, or -1 outside of it. */
static i64 place_in_image(const i64 *s, i64 row, i64 column, i64 k)
{
    i64 y = row * s[STEPS] - s[LOW] + k / s[WINDOW + 1] * s[AWAY];
    i64 x = column * s[STEPS + 1] - s[LOW + 1] + k % s[WINDOW + 1] * s[AWAY + 1];
    if (y < 0 || y >= s[ROWS_IN] || x < 0 || x >= s[COLUMNS_IN]) return -1;
    return (y * s[COLUMNS_IN] + x) * s[CHANNELS];
}

/* What some channels of one result hand on to the elements of its window. Of equal elements the first
   is the largest, NaN is larger than what stands before it, and outside are negative infinities. */
WIDE static void hand_on(const i64 *places, i64 window, const float *image, const float *given,
                         float *out, i64 channels)
{
    float best[TOGETHER];
    int32_t at[TOGETHER];
    for (i64 c = 0; c < channels; c++) {
        best[c] = places[0] < 0 ? -__builtin_inff() : image[places[0] + c];
        at[c] = 0;
    }
    for (i64 k = 1; k < window; k++) {
        if (places[k] < 0) continue;
        const float *from = image + places[k];
        for (i64 c = 0; c < channels; c++) {
            float v = from[c], b = best[c];
            int better = (v > b) | (v != v);
            best[c] = better ? v : b;
            at[c] = better ? (int32_t)k : at[c];
        }
    }
    for (i64 k = 0; k < window; k++) {
        if (places[k] < 0) continue;
        float *to = out + places[k];
        for (i64 c = 0; c < channels; c++) to[c] += at[c] == (int32_t)k ? given[c] : 0.f;
    }
}

static void unpool_image(const i64 *s, i64 *places, const float *image, const float *given, float *out)
{
    i64 window = s[WINDOW] * s[WINDOW + 1];
    memset(out, 0, sizeof *out * (size_t)(s[ROWS_IN] * s[COLUMNS_IN] * s[CHANNELS]));
    for (i64 row = 0; row < s[ROWS_OUT]; row++)
        for (i64 column = 0; column < s[COLUMNS_OUT]; column++, given += s[CHANNELS]) {
            for (i64 k = 0; k < window; k++) places[k] = place_in_image(s, row, column, k);
            for (i64 c = 0; c < s[CHANNELS]; c += TOGETHER) {
                i64 left = s[CHANNELS] - c;
                hand_on(places, window, image + c, given + c, out + c,
                        left < TOGETHER ? left : TOGETHER);
            }
        }
}

WIDE static void widen_halves(const u16 *from, float *to, i64 n)
{
    for (i64 i = 0; i < n; i++) {
        u32 bits = (u32)from[i] << 16;
        memcpy(to + i, &bits, sizeof bits);
    }
}

/* Rounds to the nearest, halves to even; NaN stays. */
WIDE static void round_to_halves(const float *from, u16 *to, i64 n)
{
    for (i64 i = 0; i < n; i++) {
        u32 bits;
        memcpy(&bits, from + i, sizeof bits);
        u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        to[i] = (u16)(from[i] != from[i] ? bits >> 16 | 0x40 : rounded);
    }
}

static const char *unpool(void *state, void *const *buffers)
{
    const i64 *s = state;
    i64 size = s[ROWS_IN] * s[COLUMNS_IN] * s[CHANNELS];
    i64 results = s[ROWS_OUT] * s[COLUMNS_OUT] * s[CHANNELS];
    size_t room = sizeof(i64) * (size_t)(s[WINDOW] * s[WINDOW + 1]);
    i64 *places = malloc(room + (s[HALF] ? sizeof(float) * (size_t)(2 * size + results) : 0));
    if (!places) return "there was no memory";
    float *image = (float *)((char *)places + room), *out = image + size, *given = out + size;
    for (i64 n = 0; n < s[IMAGES]; n++) {
        if (s[HALF]) {
            widen_halves((const u16 *)buffers[s[IMAGE]] + n * size, image, size);
            widen_halves((const u16 *)buffers[s[COTANGENT]] + n * results, given, results);
            unpool_image(s, places, image, given, out);
            round_to_halves(out, (u16 *)buffers[s[GRADIENT_OF]] + n * size, size);
        } else
            unpool_image(s, places, (const float *)buffers[s[IMAGE]] + n * size,
                         (const float *)buffers[s[COTANGENT]] + n * results,
                         (float *)buffers[s[GRADIENT_OF]] + n * size);
    }
    free(places);
    return NULL;
}
