/* What arrays cost on their way in and out of C: `edges in N` or `edges out N`, N by N numbers.

   Reads a number of arrays a line from standard input, gives or reads that many, and answers with
   one line of JSON: seconds an array. In: it is given, and its first element doubled and read. Out:
   a computed result is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lazyloom_ops.h"

#define TRY(call)                                                            \
  do {                                                                       \
    if ((call) != LOOM_OK) {                                                 \
      fprintf(stderr, "%s: %s\n", loom_error_site(), loom_error_message());  \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float first_doubled(loom_tensor x) {
  static const int64_t starts[2] = {0, 0}, stops[2] = {1, 1}, steps[2] = {1, 1};
  loom_tensor part, doubled;
  float found;
  TRY(loom_slice(x, starts, 2, stops, 2, steps, 2, &part));
  TRY(loom_multiply_with(loom_t(part), loom_scalar_real(2, LOOM_DTYPE_NONE), &doubled));
  TRY(loom_tensor_read(doubled, &found, sizeof found));
  TRY(loom_tensor_release(part));
  TRY(loom_tensor_release(doubled));
  return found;
}

static double given(const float *numbers, size_t size, const int64_t *shape) {
  const double start = now();
  loom_tensor x;
  TRY(loom_tensor_from_host(numbers, size, LOOM_FLOAT32, shape, 2, &x));
  if (first_doubled(x) != 2 * numbers[0]) exit(1);
  TRY(loom_tensor_release(x));
  return now() - start;
}

static double taken(const float *numbers, size_t size, loom_tensor x) {
  loom_tensor y;
  float *found;
  double start, seconds;
  TRY(loom_add_with(loom_t(x), loom_scalar_real(1, LOOM_DTYPE_NONE), &y));
  TRY(loom_sync(&y, 1, true));
  start = now();
  /* memory of its own for each, as an array has */
  found = (float *)malloc(size);
  TRY(loom_tensor_read(y, found, size));
  seconds = now() - start;
  if (found[0] != numbers[0] + 1) exit(1);
  free(found);
  TRY(loom_tensor_release(y));
  return seconds;
}

int main(int argc, char **argv) {
  int64_t shape[2];
  size_t count, size, i;
  float *numbers;
  loom_tensor x;
  int arrays, n;
  if (argc != 3 || (strcmp(argv[1], "in") && strcmp(argv[1], "out"))) return 2;
  shape[0] = shape[1] = atoi(argv[2]);
  count = (size_t)(shape[0] * shape[1]);
  size = count * sizeof *numbers;
  numbers = (float *)malloc(size);
  if (numbers == NULL) return 2;
  for (i = 0; i < count; ++i) numbers[i] = (float)(i % 1000) / 1000;
  TRY(loom_initialize());
  TRY(loom_tensor_from_host(numbers, size, LOOM_FLOAT32, shape, 2, &x));
  while (scanf("%d", &arrays) == 1) {
    double seconds = 0;
    for (n = 0; n < arrays; ++n)
      seconds += strcmp(argv[1], "in") ? taken(numbers, size, x) : given(numbers, size, shape);
    printf("{\"\": %.6g}\n", seconds / arrays);
    fflush(stdout);
  }
  TRY(loom_tensor_release(x));
  free(numbers);
  return loom_shutdown() == LOOM_OK ? 0 : 1;
}
