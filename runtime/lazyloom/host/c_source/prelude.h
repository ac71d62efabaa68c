/* What the functions of kernels.c are written with. Functions of float32 are polynomials, free of
   branches so that compilers make vectors of them; the error of each is at most two units in the
   last place (tests/runtime/test_c_kernels.py). */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef int32_t i32;
typedef int64_t i64;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

#define INLINE static inline __attribute__((always_inline, unused))

INLINE i64 floordiv(i64 a, i64 b) { i64 q = a / b; return q - (a % b != 0 && (a < 0) != (b < 0)); }
INLINE i64 mod(i64 a, i64 b) { return a - floordiv(a, b) * b; }
INLINE i64 max(i64 a, i64 b) { return a > b ? a : b; }
INLINE i64 min(i64 a, i64 b) { return a < b ? a : b; }

INLINE f64 f64_of(u64 x) { f64 r; memcpy(&r, &x, 8); return r; }
INLINE u64 u64_of(f64 x) { u64 r; memcpy(&r, &x, 8); return r; }
INLINE f32 f32_of(u32 x) { f32 r; memcpy(&r, &x, 4); return r; }
INLINE u32 u32_of(f32 x) { u32 r; memcpy(&r, &x, 4); return r; }

#define NUMBERS(T) \
  INLINE T l_max_##T(T a, T b) { return a > b ? a : b; } \
  INLINE T l_min_##T(T a, T b) { return a < b ? a : b; }
NUMBERS(u8) NUMBERS(i32) NUMBERS(i64) NUMBERS(u32) NUMBERS(u64)
#undef NUMBERS
#define SIGNED(T) \
  INLINE T l_sign_##T(T a) { return (a > 0) - (a < 0); } \
  INLINE T l_abs_##T(T a) { return a < 0 ? -a : a; }
SIGNED(i32) SIGNED(i64)
#undef SIGNED
/* as XLA divides: by 0 gives -1, all bits set, and its remainder is the dividend */
#define WHOLE(T, L) \
  INLINE T l_div_##T(T a, T b) { return b == 0 ? (T)-1 : L && b == (T)-1 ? (T)(0 - a) : a / b; } \
  INLINE T l_rem_##T(T a, T b) { return b == 0 ? a : L && b == (T)-1 ? 0 : a % b; }
WHOLE(i32, 1) WHOLE(i64, 1) WHOLE(u32, 0) WHOLE(u64, 0)
#undef WHOLE
/* towards zero, what is out of range to the nearest, NaN to 0 */
#define TO_WHOLE(T, R, LOW, HIGH, LEAST, MOST) \
  INLINE T l_##T##_of_##R(R a) { \
    return a != a ? 0 : a <= LOW ? LEAST : a >= HIGH ? MOST : (T)a; }
TO_WHOLE(i32, f32, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX)
TO_WHOLE(i32, f64, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX)
TO_WHOLE(i64, f32, -0x1p63f, 0x1p63f, INT64_MIN, INT64_MAX)
TO_WHOLE(i64, f64, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX)
TO_WHOLE(u32, f32, 0.0f, 0x1p32f, 0, UINT32_MAX)
TO_WHOLE(u32, f64, 0.0, 0x1p32, 0, UINT32_MAX)
TO_WHOLE(u64, f32, 0.0f, 0x1p64f, 0, UINT64_MAX)
TO_WHOLE(u64, f64, 0.0, 0x1p64, 0, UINT64_MAX)
#undef TO_WHOLE
/* a NaN wherever one of the operands is; of zeros the positive one is the larger */
#define REALS(T, S, U) \
  INLINE T l_max_##T(T a, T b) { \
    return a == b ? T##_of(U##_of(a) & U##_of(b)) : a > b || a != a ? a : b; } \
  INLINE T l_min_##T(T a, T b) { \
    return a == b ? T##_of(U##_of(a) | U##_of(b)) : a < b || a != a ? a : b; } \
  /* a zero of its sign for a subnormal number, which C's functions take for one in some steps */ \
  INLINE T l_flushed_##T(T a) { return copysign##S(a + 0, a); } \
  INLINE T l_sign_##T(T a) { return a > 0 ? 1 : a < 0 ? -1 : l_flushed_##T(a); } \
  INLINE T l_abs_##T(T a) { return fabs##S(a); } \
  INLINE T l_sqrt_##T(T a) { return sqrt##S(a); } \
  INLINE T l_rsqrt_##T(T a) { return 1 / sqrt##S(a); } \
  INLINE T l_floor_##T(T a) { return floor##S(a); } \
  INLINE T l_ceil_##T(T a) { return ceil##S(a); } \
  INLINE T l_rint_##T(T a) { return rint##S(a); } \
  INLINE T l_fmod_##T(T a, T b) { return l_flushed_##T(fmod##S(a, l_flushed_##T(b))); } \
  INLINE T l_pow_##T(T a, T b) { return pow##S(l_flushed_##T(a), l_flushed_##T(b)); } \
  INLINE T l_atan2_##T(T a, T b) { return atan2##S(l_flushed_##T(a), l_flushed_##T(b)); }
REALS(f32, f, u32) REALS(f64, , u64)
#undef REALS
#define LIBRARY(name) \
  INLINE f32 l_##name##_f32(f32 a) { return name##f(l_flushed_f32(a)); } \
  INLINE f64 l_##name##_f64(f64 a) { return name(l_flushed_f64(a)); }
LIBRARY(exp2) LIBRARY(sin) LIBRARY(cos) LIBRARY(tan) LIBRARY(asin) LIBRARY(acos) LIBRARY(atan)
LIBRARY(sinh) LIBRARY(cosh) LIBRARY(asinh) LIBRARY(acosh) LIBRARY(atanh) LIBRARY(cbrt)
LIBRARY(erf) LIBRARY(erfc) LIBRARY(expm1)
#undef LIBRARY
INLINE f64 l_exp_f64(f64 a) { return exp(a); }
INLINE f64 l_log_f64(f64 a) { return log(l_flushed_f64(a)); }
INLINE f64 l_log1p_f64(f64 a) { return log1p(l_flushed_f64(a)); }
INLINE f64 l_tanh_f64(f64 a) { return tanh(l_flushed_f64(a)); }
INLINE f64 l_logistic_f64(f64 a) { return 1 / (1 + exp(-a)); }

/* e**x = 2**n e**r, |r| <= log(2) / 2; 2**n in two factors, so that none overflows */
INLINE f32 l_exp_f32(f32 x) {
  f32 c = x < -104.0f ? -104.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const f32 n = rintf(c * 0x1.715476p+0f);
  f32 r = c - n * 0x1.63p-1f;
  r = r + n * 0x1.bd0106p-13f;
  f32 y = 0x1.6db494p-10f;
  y = y * r + 0x1.123bacp-7f;
  y = y * r + 0x1.55545ep-5f;
  y = y * r + 0x1.55548ep-3f;
  y = y * r + 0.5f;
  y = y * r * r + r + 1.0f;
  const i32 whole = (i32)n, half = whole >> 1;
  return y * f32_of((u32)(half + 127) << 23) * f32_of((u32)(whole - half + 127) << 23);
}

/* log(2**n m), m from 0.7 to 1.4 */
INLINE f32 l_log_f32(f32 x) {
  const i32 tiny = x < 0x1p-126f;
  const f32 scaled = tiny ? x * 0x1p23f : x;
  const u32 bits = u32_of(scaled) - 0x3f3504f3u;
  const f32 n = (f32)((i32)bits >> 23) - (tiny ? 23.0f : 0.0f);
  const f32 f = f32_of((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  f32 y = 0x1.144042p-4f;
  y = y * f - 0x1.de3298p-4f;
  y = y * f + 0x1.e6f55ap-4f;
  y = y * f - 0x1.fc23eap-4f;
  y = y * f + 0x1.23373ap-3f;
  y = y * f - 0x1.555c3ep-3f;
  y = y * f + 0x1.99a4b6p-3f;
  y = y * f - 0x1.000006p-2f;
  y = y * f + 0x1.555548p-2f;
  f32 r = y * f * f * f - 0.5f * f * f;
  r = r - n * 0x1.bd0106p-13f;
  r = r + f + n * 0x1.63p-1f;
  r = x == 0.0f ? -INFINITY : r;
  r = x < 0.0f ? NAN : r;
  return x < INFINITY ? r : x;
}

INLINE f32 l_log1p_f32(f32 x) {
  const f32 u = 1.0f + x, d = u - 1.0f;
  const f32 r = l_log_f32(u) * (x / d);
  return d == 0.0f || x == INFINITY ? l_flushed_f32(x) : u <= 0.0f ? l_log_f32(u) : r;
}

INLINE f32 l_tanh_f32(f32 x) {
  const f32 a = fabsf(x), t = x * x;
  f32 y = 0x1.197d62p-9f;
  y = y * t - 0x1.0c21c4p-7f;
  y = y * t + 0x1.6394f0p-6f;
  y = y * t - 0x1.b9ef7ep-5f;
  y = y * t + 0x1.11106cp-3f;
  y = y * t - 0x1.555554p-2f;
  const f32 near = x + x * t * y;
  const f32 far = 1.0f - 2.0f / (l_exp_f32(2.0f * a) + 1.0f);
  return copysignf(a < 0.625f ? near : far, x);
}

INLINE f32 l_logistic_f32(f32 x) { return 1.0f / (1.0f + l_exp_f32(-x)); }

/* Giles 2012, "Approximating the erfinv function", single precision, as in error_functions.py */
INLINE f32 l_erf_inv_f32(f32 x) {
  f32 w = -l_log_f32((1.0f - x) * (1.0f + x));
  const int near = w < 5.0f;
  w = near ? w - 2.5f : sqrtf(w) - 3.0f;
  f32 y = (near ? 2.81022636e-08f : -0.000200214257f);
  y = y * w + (near ? 3.43273939e-07f : 0.000100950558f);
  y = y * w + (near ? -3.5233877e-06f : 0.00134934322f);
  y = y * w + (near ? -4.39150654e-06f : -0.00367342844f);
  y = y * w + (near ? 0.00021858087f : 0.00573950773f);
  y = y * w + (near ? -0.00125372503f : -0.0076224613f);
  y = y * w + (near ? -0.00417768164f : 0.00943887047f);
  y = y * w + (near ? 0.246640727f : 1.00167406f);
  y = y * w + (near ? 1.50140941f : 2.83297682f);
  return fabsf(x) == 1.0f ? x * INFINITY : y * x;
}

/* the same of double precision; l_inverse are its coefficients in error_functions.py */
INLINE f64 l_erf_inv_f64(f64 x) {
  const f64 w = -l_log_f64((1.0 - x) * (1.0 + x));
  const int piece = w < 6.25 ? 0 : w < 16.0 ? 1 : 2;
  const f64 t = piece ? sqrt(w) - (piece == 1 ? 3.25 : 5.05) : w - 3.125;
  f64 y = l_inverse[piece][0];
  for (int k = 1; k < 24; k++) y = y * t + l_inverse[piece][k];
  return fabs(x) == 1.0 ? x * INFINITY : y * x;
}

/* Matrices are in row-major order, n columns wide, where no strides are given. Not inlined: each is
   called at most a few times in a function, for a matrix at a time. */
#define ONCE static __attribute__((unused, noinline))

/* the order of rows that exchanges make of them */
ONCE void l_order(const i32 *pivots, i32 *order, i64 count, i64 m) {
  for (i64 i = 0; i < m; i++) order[i] = (i32)i;
  for (i64 i = 0; i < count; i++) {
    const i32 p = pivots[i], t = order[i];
    order[i] = order[p];
    order[p] = t;
  }
}

#define MATRICES(T) \
  /* L and U in place of a; the pivot of a column is its largest element, or its first NaN */ \
  ONCE void l_lu_##T(T *a, i32 *pivots, i32 *order, i64 m, i64 n) { \
    const i64 k = m < n ? m : n; \
    for (i64 i = 0; i < k; i++) { \
      i64 p = i; \
      T most = l_abs_##T(a[i * n + i]); \
      for (i64 r = i + 1; r < m && most == most; r++) { \
        const T x = l_abs_##T(a[r * n + i]); \
        if (x > most || x != x) { most = x; p = r; } \
      } \
      pivots[i] = (i32)p; \
      if (p != i) \
        for (i64 c = 0; c < n; c++) { \
          const T t = a[i * n + c]; \
          a[i * n + c] = a[p * n + c]; \
          a[p * n + c] = t; \
        } \
      const T d = a[i * n + i]; \
      for (i64 r = i + 1; r < m; r++) { \
        if (d != 0) a[r * n + i] /= d; \
        const T x = a[r * n + i]; \
        for (i64 c = i + 1; c < n; c++) a[r * n + c] -= x * a[i * n + c]; \
      } \
    } \
    l_order(pivots, order, k, m); \
  } \
  /* x in place of b in a x = b; a[i, j] is a[i * ar + j * ac], x[i, c] is x[i * xr + c * xc] */ \
  ONCE void l_solve_##T(const T *a, i64 ar, i64 ac, T *x, i64 xr, i64 xc, i64 n, i64 count, \
                        int lower, int unit) { \
    for (i64 s = 0; s < n; s++) { \
      const i64 i = lower ? s : n - 1 - s, first = lower ? 0 : i + 1, end = lower ? i : n; \
      for (i64 j = first; j < end; j++) { \
        const T y = a[i * ar + j * ac]; \
        for (i64 c = 0; c < count; c++) x[i * xr + c * xc] -= y * x[j * xr + c * xc]; \
      } \
      if (!unit) { \
        const T d = a[i * ar + i * ac]; \
        for (i64 c = 0; c < count; c++) x[i * xr + c * xc] /= d; \
      } \
    } \
  } \
  /* the lower factor in place of a; NaN for a matrix that has none */ \
  ONCE void l_cholesky_##T(T *a, i64 n) { \
    for (i64 i = 0; i < n; i++) { \
      for (i64 j = 0; j <= i; j++) { \
        T x = a[i * n + j]; \
        for (i64 k = 0; k < j; k++) x -= a[i * n + k] * a[j * n + k]; \
        if (j < i) { \
          a[i * n + j] = x / a[j * n + j]; \
        } else if (x > 0) { \
          a[i * n + i] = l_sqrt_##T(x); \
        } else { \
          for (i64 k = 0; k < n * n; k++) a[k] = NAN; \
          return; \
        } \
      } \
      for (i64 j = i + 1; j < n; j++) a[i * n + j] = 0; \
    } \
  }
MATRICES(f32) MATRICES(f64)
#undef MATRICES
