/* The smallest whole C program: y = 2 * (x + 1), with its gradient.

   cc hello.c $(python -m lazyloom_capi --cflags --libs) -o hello */
#include <stdio.h>

#include "lazyloom_ops.h"

#define TRY(call)                                                          \
  do {                                                                     \
    if ((call) != LOOM_OK) {                                               \
      fprintf(stderr, "%s: %s\n", loom_error_site(), loom_error_message()); \
      return 1;                                                            \
    }                                                                      \
  } while (0)

int main(void) {
  const float numbers[3] = {1, 2, 3};
  const int64_t shape[1] = {3};
  float y[3], slope[3];
  char record[2000];
  loom_tensor x, sum, doubled, total, gradient;

  TRY(loom_initialize());

  /* A tensor with a copy of the numbers, which gradients are wanted for. */
  TRY(loom_tensor_from_host(numbers, sizeof numbers, LOOM_FLOAT32, shape, 1, &x));
  TRY(loom_tensor_require_grad(x, true));

  /* Recorded, not computed. The numbers 1 and 2 take x's dtype. */
  TRY(loom_add_with(loom_t(x), loom_scalar_int(1, LOOM_DTYPE_NONE), &sum));
  TRY(loom_multiply_with(loom_t(sum), loom_scalar_real(2, LOOM_DTYPE_NONE), &doubled));
  TRY(loom_sum(doubled, NULL, 0, LOOM_DTYPE_NONE, false, &total));
  TRY(loom_grad(&total, 1, &x, 1, NULL, false, &gradient));

  /* The first read compiles and runs all of it, as one program. */
  TRY(loom_tensor_read(doubled, y, sizeof y));
  TRY(loom_tensor_read(gradient, slope, sizeof slope));
  printf("y        = %g %g %g\n", y[0], y[1], y[2]);
  printf("gradient = %g %g %g\n", slope[0], slope[1], slope[2]);

  TRY(loom_last_evaluation(record, sizeof record, NULL));
  printf("%s\n", record);

  TRY(loom_tensor_release(x));
  TRY(loom_tensor_release(sum));
  TRY(loom_tensor_release(doubled));
  TRY(loom_tensor_release(total));
  TRY(loom_tensor_release(gradient));
  TRY(loom_shutdown());
  return 0;
}
