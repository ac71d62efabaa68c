/* complex_product: a ufunc, NumPy's `multiply` of complex numbers but for one thing. The four products
   of their parts are rounded before two of them are added, where NumPy adds one of two unrounded if
   the processor can, so that (x + xi) ** 2 has a real part that is not 0, and infinity comes of what
   is not a number otherwise. To be compiled without contractions. */
#include "../common/wide.h"

#define BLOCK 256

#define PRODUCTS(NAME, T)                                                                           \
    /* Of numbers one behind the other, in vectors. Where both parts are written in one loop, gcc 12\
       makes one instruction of products and their sum, whatever it was told. */                    \
    WIDE static void NAME##_rows(const T *restrict a, const T *restrict b, T *restrict out,         \
                                 npy_intp n)                                                        \
    {                                                                                               \
        T real[BLOCK], imag[BLOCK];                                                                 \
        for (npy_intp start = 0; start < n; start += BLOCK, a += 2 * BLOCK, b += 2 * BLOCK) {       \
            const npy_intp count = n - start < BLOCK ? n - start : BLOCK;                           \
            for (npy_intp k = 0; k < count; k++) {                                                  \
                real[k] = a[2 * k] * b[2 * k] - a[2 * k + 1] * b[2 * k + 1];                        \
                imag[k] = a[2 * k] * b[2 * k + 1] + a[2 * k + 1] * b[2 * k];                        \
            }                                                                                       \
            for (npy_intp k = 0; k < count; k++, out += 2) {                                        \
                out[0] = real[k];                                                                   \
                out[1] = imag[k];                                                                   \
            }                                                                                       \
        }                                                                                           \
    }                                                                                               \
    static void NAME(char **given, const npy_intp *count, const npy_intp *steps, void *none)        \
    {                                                                                               \
        (void)none;                                                                                 \
        const char *a = given[0], *b = given[1];                                                    \
        char *out = given[2];                                                                       \
        const npy_intp n = count[0], size = 2 * sizeof(T);                                          \
        const int apart = (out + n * size <= a || a + n * size <= out) &&                           \
                          (out + n * size <= b || b + n * size <= out);                             \
        if (steps[0] == size && steps[1] == size && steps[2] == size && apart) {                    \
            NAME##_rows((const T *)a, (const T *)b, (T *)out, n);                                   \
            return;                                                                                 \
        }                                                                                           \
        for (npy_intp k = 0; k < n; k++, a += steps[0], b += steps[1], out += steps[2]) {           \
            const T ar = ((const T *)a)[0], ai = ((const T *)a)[1];                                 \
            const T br = ((const T *)b)[0], bi = ((const T *)b)[1];                                 \
            const T real = ar * br - ai * bi, imag = ar * bi + ai * br;                             \
            ((T *)out)[0] = real;                                                                   \
            ((T *)out)[1] = imag;                                                                   \
        }                                                                                           \
    }
PRODUCTS(products_single, float)
PRODUCTS(products_double, double)

static PyUFuncGenericFunction product_loops[] = {products_single, products_double};
static const char product_types[] = {NPY_CFLOAT, NPY_CFLOAT, NPY_CFLOAT,
                                     NPY_CDOUBLE, NPY_CDOUBLE, NPY_CDOUBLE};
static void *product_data[] = {NULL, NULL};

static PyObject *new_complex_product(void)
{
    return PyUFunc_FromFuncAndData(
        product_loops, product_data, (char *)product_types, 2, 2, 1, PyUFunc_One, "complex_product",
        "a * b of complex numbers: four products of parts, each rounded before it is added.", 0);
}
