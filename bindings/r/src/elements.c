/* Elements: R's numbers as tensors have them, and back. */
#include "bridge.h"

#include <math.h>

/* ---- float16 and bfloat16 ------------------------------------------------------------------- */

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Divided by a power of two, rounded to the nearest, to even between two. */
static uint32_t shifted(uint32_t bits, int by) {
  return (bits + (1u << (by - 1)) - 1 + (bits >> by & 1)) >> by;
}

static uint16_t float16_of(float value) {
  const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (size >= 0x47800000) return (uint16_t)(sign | 0x7c00);
  /* below the smallest normal number the unit is 2 to the power of -24 */
  if (size < 0x38800000) return (uint16_t)(sign | (uint32_t)nearbyint(ldexp(fabs(value), 24)));
  return (uint16_t)(sign | shifted(size - 0x38000000, 13));
}

static double float16_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                      : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                     : ldexp(fraction, -24);
  return bits & 0x8000 ? -size : size;
}

static uint16_t bfloat16_of(float value) {
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)((bits >> 16 & 0x8000) | 0x7fc0);
  return (uint16_t)((bits >> 16 & 0x8000) | shifted(bits & 0x7fffffff, 16));
}

static double bfloat16_value(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* ---- to memory and back --------------------------------------------------------------------- */

/* Whether an integer of the dtype is x, which is not NA then; others are taken as they come. */
static bool holds(loom_dtype dtype, double x) {
  static const double least[] = {0, -128, -32768, -2147483648.0, -9223372036854775808.0,
                                 0, 0,    0,      0};
  static const double beyond[] = {2, 128, 32768, 2147483648.0, 9223372036854775808.0,
                                  256, 65536, 4294967296.0, 18446744073709551616.0};
  if (dtype == LOOM_BOOL) return !isnan(x);
  if (dtype > LOOM_UINT64) return true;
  return x >= least[dtype - LOOM_BOOL] && x < beyond[dtype - LOOM_BOOL] && x == floor(x);
}

/* R_alloc() gives memory that R frees after the call. */
SEXP lr_tensor(SEXP values, SEXP dtype, SEXP shape) {
  const loom_dtype kind = (loom_dtype)Rf_asInteger(dtype);
  const size_t count = (size_t)Rf_xlength(values), each = loom_dtype_size(kind);
  const size_t ndim = (size_t)Rf_xlength(shape);
  int64_t *extents = (int64_t *)R_alloc(ndim + 1, sizeof *extents);
  char *data = R_alloc(count + 1, 16);
  loom_tensor tensor;
  loom_status status;
  size_t i;
  for (i = 0; i < ndim; ++i) extents[i] = (int64_t)REAL(shape)[i];
  for (i = 0; i < count; ++i) {
    const Rcomplex z = TYPEOF(values) == CPLXSXP ? COMPLEX(values)[i]
                                                 : (Rcomplex){.r = REAL(values)[i], .i = 0};
    if (!holds(kind, z.r)) {
      if (ISNAN(z.r))
        return lr_fail(LOOM_ERROR_ARGUMENT, "loom_tensor: element %.0f is NA or NaN, which %s does "
                       "not hold", (double)i + 1, loom_dtype_name(kind));
      return lr_fail(LOOM_ERROR_ARGUMENT, "loom_tensor: element %.0f is %.15g, which %s does not "
                     "hold", (double)i + 1, z.r, loom_dtype_name(kind));
    }
    switch (kind) {
      case LOOM_BOOL: ((uint8_t *)data)[i] = z.r != 0; break;
      case LOOM_INT8: ((int8_t *)data)[i] = (int8_t)z.r; break;
      case LOOM_INT16: ((int16_t *)data)[i] = (int16_t)z.r; break;
      case LOOM_INT32: ((int32_t *)data)[i] = (int32_t)z.r; break;
      case LOOM_INT64: ((int64_t *)data)[i] = (int64_t)z.r; break;
      case LOOM_UINT8: ((uint8_t *)data)[i] = (uint8_t)z.r; break;
      case LOOM_UINT16: ((uint16_t *)data)[i] = (uint16_t)z.r; break;
      case LOOM_UINT32: ((uint32_t *)data)[i] = (uint32_t)z.r; break;
      case LOOM_UINT64: ((uint64_t *)data)[i] = (uint64_t)z.r; break;
      case LOOM_FLOAT16: ((uint16_t *)data)[i] = float16_of((float)z.r); break;
      case LOOM_BFLOAT16: ((uint16_t *)data)[i] = bfloat16_of((float)z.r); break;
      case LOOM_FLOAT32: ((float *)data)[i] = (float)z.r; break;
      case LOOM_FLOAT64: ((double *)data)[i] = z.r; break;
      case LOOM_COMPLEX64:
        ((float *)data)[2 * i] = (float)z.r;
        ((float *)data)[2 * i + 1] = (float)z.i;
        break;
      case LOOM_COMPLEX128: ((Rcomplex *)data)[i] = z; break;
      default:
        return lr_fail(LOOM_ERROR_DTYPE, "loom_tensor: %d is no dtype", (int)kind);
    }
  }
  status = loom_tensor_from_host(data, count * each, kind, extents, ndim, &tensor);
  return status == LOOM_OK ? lr_owned(tensor) : lr_failure(status);
}

/* The elements, row by row, as R's numbers. */
SEXP lr_read(SEXP pointer) {
  const loom_tensor tensor = lr_handle(pointer);
  loom_dtype kind = LOOM_DTYPE_NONE;
  size_t nbytes = 0, count, i;
  char *data;
  SEXP found;
  loom_status status = loom_tensor_dtype(tensor, &kind);
  if (status == LOOM_OK) status = loom_tensor_nbytes(tensor, &nbytes);
  if (status != LOOM_OK) return lr_failure(status);
  data = R_alloc(nbytes + 16, 1);
  status = loom_tensor_read(tensor, data, nbytes);
  if (status != LOOM_OK) return lr_failure(status);
  count = nbytes / loom_dtype_size(kind);
  found = PROTECT(Rf_allocVector(
      kind == LOOM_BOOL ? LGLSXP
      : kind == LOOM_COMPLEX64 || kind == LOOM_COMPLEX128 ? CPLXSXP : REALSXP,
      (R_xlen_t)count));
  for (i = 0; i < count; ++i) {
    double x = 0;
    switch (kind) {
      case LOOM_BOOL: LOGICAL(found)[i] = ((uint8_t *)data)[i]; continue;
      case LOOM_INT8: x = ((int8_t *)data)[i]; break;
      case LOOM_INT16: x = ((int16_t *)data)[i]; break;
      case LOOM_INT32: x = ((int32_t *)data)[i]; break;
      case LOOM_INT64: x = (double)((int64_t *)data)[i]; break;
      case LOOM_UINT8: x = ((uint8_t *)data)[i]; break;
      case LOOM_UINT16: x = ((uint16_t *)data)[i]; break;
      case LOOM_UINT32: x = ((uint32_t *)data)[i]; break;
      case LOOM_UINT64: x = (double)((uint64_t *)data)[i]; break;
      case LOOM_FLOAT16: x = float16_value(((uint16_t *)data)[i]); break;
      case LOOM_BFLOAT16: x = bfloat16_value(((uint16_t *)data)[i]); break;
      case LOOM_FLOAT32: x = ((float *)data)[i]; break;
      case LOOM_FLOAT64: x = ((double *)data)[i]; break;
      case LOOM_COMPLEX64:
        COMPLEX(found)[i].r = ((float *)data)[2 * i];
        COMPLEX(found)[i].i = ((float *)data)[2 * i + 1];
        continue;
      case LOOM_COMPLEX128: COMPLEX(found)[i] = ((Rcomplex *)data)[i]; continue;
      default:
        UNPROTECT(1);
        return lr_fail(LOOM_ERROR_DTYPE, "as.array: %d is no dtype", (int)kind);
    }
    REAL(found)[i] = x;
  }
  UNPROTECT(1);
  return found;
}

