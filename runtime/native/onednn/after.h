/* What follows a convolution and no primitive does as its definition says.

   oneDNN's ReLU of NaN is 0, as its maxima and limits are of NaN: here NaN stays. Batch
   normalisation by given statistics is ``x * scale + shift``, a number of each for a channel, which a
   convolution does itself once scale and shift are known. Arrays are of float32, or halves: of
   bfloat16; scale and shift are of float32 in either case. Before a quantised group, its scales are
   looked at: of what is not finite oneDNN makes other integers, as of NaN, which it divides by the
   scale of a summand, too. */

enum { RELU, RELU6, SCALE_SHIFT, SCALES };
static const char *const after_kinds[] = {"relu", "relu6", "scale_shift", "scales"};

/* the largest modulus of a scale: sums of products of two do not overflow, nor divided by a third */
#define LARGEST_SCALE 1e10f

#define MOST_OPERANDS 6

typedef struct {
    /* numbers of memories: of a limit the array, and of scales; of scale and shift mean, variance, weight and bias
       (-1 where there is none), scale, shift */
    Py_ssize_t arrays[MOST_OPERANDS];
    Py_ssize_t count, halves;
    float eps;
    int kind;
} After;

/* Bits of numbers: as integers, numbers of one sign are in order, and beyond infinity lie the NaN. */
#define LIMIT(name, type, largest, infinity, six)                                                   \
    typedef type name##_bits __attribute__((vector_size(16), aligned(sizeof(type)), may_alias));    \
    static inline name##_bits name##_one(name##_bits x, int top)                                    \
    {                                                                                               \
        name##_bits nan = (name##_bits)((x & largest) > infinity);                                  \
        name##_bits found = x & (~(name##_bits)(x < 0) | nan);                                      \
        if (!top) return found;                                                                     \
        name##_bits over = (name##_bits)(x > six) & ~nan;                                           \
        return (over & six) | (~over & found);                                                      \
    }                                                                                               \
    static void name(type *x, Py_ssize_t count, int top)                                            \
    {                                                                                               \
        const Py_ssize_t each = (Py_ssize_t)(sizeof(name##_bits) / sizeof(type));                   \
        Py_ssize_t k = 0;                                                                           \
        for (; k + each <= count; k += each)                                                        \
            *(name##_bits *)(x + k) = name##_one(*(name##_bits *)(x + k), top);                     \
        if (k == count) return;                                                                     \
        name##_bits rest = {0};                                                                     \
        memcpy(&rest, x + k, (size_t)(count - k) * sizeof *x);                                      \
        rest = name##_one(rest, top);                                                               \
        memcpy(x + k, &rest, (size_t)(count - k) * sizeof *x);                                      \
    }

LIMIT(limit_floats, int32_t, 0x7fffffff, 0x7f800000, 0x40c00000)
LIMIT(limit_halves, int16_t, (int16_t)0x7fff, (int16_t)0x7f80, (int16_t)0x40c0)

static float number_of(const char *array, Py_ssize_t k, int halves)
{
    if (!halves) return ((const float *)array)[k];
    union { uint32_t bits; float value; } wide = {(uint32_t)((const uint16_t *)array)[k] << 16};
    return wide.value;
}

static void scale_shift(const After *a, char *const *data)
{
    const char *of[MOST_OPERANDS];
    for (int n = 0; n < MOST_OPERANDS; n++) of[n] = a->arrays[n] < 0 ? NULL : data[a->arrays[n]];
    float *scales = (float *)of[4], *shifts = (float *)of[5];
    for (Py_ssize_t c = 0; c < a->count; c++) {
        float scale = 1.0f / sqrtf(number_of(of[1], c, (int)a->halves) + a->eps);
        if (of[2]) scale *= number_of(of[2], c, (int)a->halves);
        float shift = -(number_of(of[0], c, (int)a->halves) * scale);
        if (of[3]) shift += number_of(of[3], c, (int)a->halves);
        scales[c] = scale;
        shifts[c] = shift;
    }
}

/* Whether all moduli are at most the largest, and at least eps; NaN is not. */
static int usual(const float *scales, Py_ssize_t count, float eps)
{
    int all = 1;
    for (Py_ssize_t k = 0; k < count; k++) {
        float size = fabsf(scales[k]);
        all &= size >= eps && size <= LARGEST_SCALE;
    }
    return all;
}

/* Returns NULL, or what is wrong. */
static const char *run_after(const After *a, char *const *data)
{
    if (a->kind == SCALES)
        return usual((const float *)data[*a->arrays], a->count, a->eps)
                   ? NULL : "a scale or bias is 0, not finite, or too large or small for integers";
    if (a->kind == SCALE_SHIFT) scale_shift(a, data);
    else if (a->halves) limit_halves((int16_t *)data[*a->arrays], a->count, a->kind == RELU6);
    else limit_floats((int32_t *)data[*a->arrays], a->count, a->kind == RELU6);
    return NULL;
}

/* Of (kind, numbers of memories, (count, halves, eps)); NULL with an exception where that is no such. */
static After *read_after(PyObject *given, Py_ssize_t memories)
{
    const char *kind;
    PyObject *arrays;
    After found = {.kind = -1};
    if (!PyArg_ParseTuple(given, "sO!(nnf)", &kind, &PyTuple_Type, &arrays, &found.count,
                          &found.halves, &found.eps))
        return NULL;
    for (int k = 0; k <= SCALES; k++)
        if (!strcmp(kind, after_kinds[k])) found.kind = k;
    Py_ssize_t count = PyTuple_GET_SIZE(arrays);
    if (found.kind < 0 || count != (found.kind == SCALE_SHIFT ? MOST_OPERANDS : 1)) {
        PyErr_Format(PyExc_ValueError, "no step %s of %zd arrays", kind, count);
        return NULL;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(arrays, k));
        if (number == -1 && PyErr_Occurred()) return NULL;
        int absent = found.kind == SCALE_SHIFT && (k == 2 || k == 3);
        if (number < (absent ? -1 : 0) || number >= memories) {
            PyErr_Format(PyExc_IndexError, "memory %zd of %zd", number, memories);
            return NULL;
        }
        found.arrays[k] = number;
    }
    After *made = PyMem_Malloc(sizeof *made);
    if (!made) {
        PyErr_NoMemory();
        return NULL;
    }
    *made = found;
    return made;
}
