/* Extents that are marked: programs that differ in them are padded to one; and the errors. */

#include <math.h>
#include <time.h>

#include "check.h"

#define WIDTH 512
#define LARGEST 48
#define CHAIN 8

/* Attention of x, [n, WIDTH], over its rows, erf CHAIN times, the mean of the rows; 16 ops. */
static loom_tensor attended(loom_tensor x, int64_t n) {
  static const int64_t swapped[] = {1, 0}, first = 0;
  loom_tensor t[16];
  int i, k = 6;
  OK(loom_tanh(x, &t[0]));
  OK(loom_transpose(t[0], swapped, 2, &t[1]));
  OK(loom_matmul(t[0], t[1], &t[2]));
  OK(loom_multiply_with(loom_t(t[2]), loom_scalar_real(0.125, LOOM_DTYPE_NONE), &t[3]));
  OK(loom_softmax(t[3], 1, &t[4]));
  OK(loom_matmul(t[4], t[0], &t[5]));
  for (; k < 6 + CHAIN; ++k) OK(loom_erf(t[k - 1], &t[k]));
  OK(loom_sum(t[k - 1], &first, 1, LOOM_DTYPE_NONE, false, &t[k]));
  OK(loom_multiply_with(loom_t(t[k]), loom_scalar_real(1.0 / (double)n, LOOM_DTYPE_NONE),
                        &t[k + 1]));
  for (i = 0; i <= k; ++i) OK(loom_tensor_release(t[i]));
  return t[k + 1];
}

/* The same in double. */
static void expected(const float *x, int n, double *result) {
  static double h[LARGEST][WIDTH], weights[LARGEST];
  int i, j, k, c;
  for (i = 0; i < n; ++i)
    for (c = 0; c < WIDTH; ++c) h[i][c] = tanh(x[i * WIDTH + c]);
  for (c = 0; c < WIDTH; ++c) result[c] = 0.0;
  for (i = 0; i < n; ++i) {
    double total = 0.0, largest = -HUGE_VAL;
    for (j = 0; j < n; ++j) {
      for (weights[j] = 0.0, c = 0; c < WIDTH; ++c) weights[j] += h[i][c] * h[j][c];
      weights[j] *= 0.125;
      if (weights[j] > largest) largest = weights[j];
    }
    for (j = 0; j < n; ++j) total += weights[j] = exp(weights[j] - largest);
    for (c = 0; c < WIDTH; ++c) {
      double y = 0.0;
      for (j = 0; j < n; ++j) y += weights[j] / total * h[j][c];
      for (k = 0; k < CHAIN; ++k) y = erf(y);
      result[c] += y / n;
    }
  }
}

static int64_t counted(const char *name) {
  int64_t value;
  OK(loom_stat(name, &value));
  return value;
}

static loom_tensor rows(const float *data, int64_t n) {
  const int64_t shape[2] = {n, WIDTH};
  loom_tensor x;
  OK(loom_tensor_from_host(data, (size_t)n * WIDTH * sizeof *data, LOOM_FLOAT32, shape, 2, &x));
  return x;
}

static float data[LARGEST * WIDTH];

/* Computes the first n rows, marked or not, and compares; how many runs were padded. */
static int64_t run(int64_t n, bool dynamic) {
  const int64_t first = 0, before = counted("runs_padded");
  float found[WIDTH];
  double wanted[WIDTH];
  int c;
  loom_tensor x = rows(data, n), y;
  if (dynamic)
    OK(loom_mark_dynamic(x, -2, 2, LARGEST));
  else
    OK(loom_mark_static(x, &first, 1));
  y = attended(x, n);
  OK(loom_tensor_read(y, found, sizeof found));
  expected(data, (int)n, wanted);
  for (c = 0; c < WIDTH; ++c) EXPECT(fabs(found[c] - wanted[c]) < 1e-4);
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(y));
  return counted("runs_padded") - before;
}

static void check_padding(void) {
  const time_t end = time(NULL) + 90;
  int64_t n, compiled;
  char text[2000];
  /* the second extent has it compiled, beside the program */
  for (n = 0; run(LARGEST - n % 2, true) == 0; ++n) EXPECT(time(NULL) < end);
  /* it is there for extents that were not seen before; the first six runs are compared with those
     op by op, and what is slower on a busy machine is given up */
  compiled = counted("programs_compiled");
  for (n = LARGEST - 6; n < LARGEST - 2; ++n) EXPECT(run(n, true) == 1);
  EXPECT(counted("programs_compiled") == compiled);
  OK(loom_last_evaluation(text, sizeof text, NULL));
  EXPECT(strstr(text, "padded") != NULL);
  /* and not for one of which that is said */
  EXPECT(run(LARGEST - 13, false) == 0);
  EXPECT(run(LARGEST - 14, true) == 1);
}

static void check_errors(void) {
  const int64_t wrong[] = {0, 2};
  loom_tensor x = rows(data, 5), none, pending;
  FAILS(LOOM_ERROR_ARGUMENT, loom_mark_dynamic(x, 2, -1, -1));
  EXPECT(strstr(loom_error_message(),
                "axis 2 of float32[5,512], expected an integer from -2 to 1") != NULL);
  EXPECT(strstr(loom_error_site(), "extents.c:") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_mark_dynamic(x, -3, -1, -1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_mark_dynamic(x, 0, 6, -1));
  EXPECT(strstr(loom_error_message(), "has 5 elements, expected at least min=6") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_mark_dynamic(x, 0, -1, 4));
  EXPECT(strstr(loom_error_message(), "has 5 elements, expected at most max=4") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_mark_dynamic(x, 0, -1, 0));
  EXPECT(strstr(loom_error_message(), "loom_mark_dynamic: maximum is 0, expected an extent of at "
                                      "least 1, or -1 if it is not known") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_mark_dynamic(x, 0, -2, 8));
  FAILS(LOOM_ERROR_ARGUMENT, loom_mark_static(x, wrong, 2));
  EXPECT(strstr(loom_error_message(), "mark_static: axis 2 of") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_mark_static(x, NULL, 2));
  none = loom_null();
  FAILS(LOOM_ERROR_HANDLE, loom_mark_dynamic(none, 0, -1, -1));
  FAILS(LOOM_ERROR_HANDLE, loom_mark_static(none, NULL, 0));
  /* what is right: bounds that are met, none, and what is pending, which is then computed */
  OK(loom_mark_dynamic(x, 0, 5, 5));
  OK(loom_mark_dynamic(x, 1, -1, -1));
  OK(loom_mark_static(x, wrong, 0));
  OK(loom_mark_static(x, NULL, 0));
  OK(loom_negative(x, &pending));
  OK(loom_mark_dynamic(pending, 0, -1, -1));
  {
    bool is_pending = true;
    OK(loom_tensor_is_pending(pending, &is_pending));
    EXPECT(!is_pending);
  }
  OK(loom_tensor_release(pending));
  OK(loom_tensor_release(x));
}

int main(void) {
  size_t live;
  int i;
  OK(loom_initialize());
  for (i = 0; i < LARGEST * WIDTH; ++i) data[i] = (float)sin(i * 0.7) * 0.3f;
  check_errors();
  check_padding();
  OK(loom_live_handles(&live));
  EXPECT(live == 0);
  OK(loom_shutdown());
  puts("extents work");
  return 0;
}
