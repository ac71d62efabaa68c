/* The training step of workloads/mlp.py in C: `mlp DATA recorded` or `mlp DATA captured`.

   DATA has, as float32, the parameters and the inputs of all batches, and after them the labels as
   int64. Reads a number of steps and whether each loss is read, 0 or 1, a line from standard input,
   and answers each line with the last loss. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazyloom_ops.h"

enum { LAYERS = 3, PARAMETERS = 2 * LAYERS, BATCH = 64, BATCHES = 16 };

static const int64_t sizes[LAYERS + 1] = {64, 128, 128, 10};
static const double rate = 0.05, momentum = 0.9;

#define TRY(call)                                                            \
  do {                                                                       \
    if ((call) != LOOM_OK) {                                                 \
      fprintf(stderr, "%s: %s\n", loom_error_site(), loom_error_message());  \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

/* the parameters, then their momenta */
static loom_tensor state[2 * PARAMETERS];
static loom_tensor inputs[BATCHES], labels[BATCHES];

static loom_tensor from_file(FILE *file, loom_dtype dtype, const int64_t *shape, size_t ndim) {
  size_t nbytes = loom_dtype_size(dtype), i;
  void *data;
  loom_tensor result;
  for (i = 0; i < ndim; ++i) nbytes *= (size_t)shape[i];
  data = malloc(nbytes);
  if (data == NULL || fread(data, 1, nbytes, file) != nbytes) exit(1);
  TRY(loom_tensor_from_host(data, nbytes, dtype, shape, ndim, &result));
  free(data);
  return result;
}

static void start(const char *path) {
  FILE *file = fopen(path, "rb");
  int64_t shape[2];
  size_t i;
  if (file == NULL) exit(1);
  for (i = 0; i < LAYERS; ++i) {
    state[2 * i] = from_file(file, LOOM_FLOAT32, sizes + i, 2);
    state[2 * i + 1] = from_file(file, LOOM_FLOAT32, sizes + i + 1, 1);
  }
  for (i = 0; i < PARAMETERS; ++i) {
    const loom_operand zero = loom_scalar_real(0, LOOM_DTYPE_NONE);
    loom_operand both[2];
    both[0] = loom_t(state[i]);
    both[1] = zero;
    TRY(loom_source("multiply", both, 2, NULL, 0, &state[PARAMETERS + i], 1, NULL));
    TRY(loom_tensor_require_grad(state[i], true));
  }
  shape[0] = BATCH;
  shape[1] = sizes[0];
  for (i = 0; i < BATCHES; ++i) inputs[i] = from_file(file, LOOM_FLOAT32, shape, 2);
  for (i = 0; i < BATCHES; ++i) labels[i] = from_file(file, LOOM_INT64, shape, 1);
  fclose(file);
}

static loom_tensor loss_of(loom_tensor x, loom_tensor y) {
  loom_tensor product, sum, h = x, loss;
  loom_operand pair[2];
  size_t i;
  for (i = 0; i < LAYERS; ++i) {
    TRY(loom_matmul(h, state[2 * i], &product));
    if (i > 0) TRY(loom_tensor_release(h));
    TRY(loom_add(product, state[2 * i + 1], &sum));
    TRY(loom_tensor_release(product));
    if (i == LAYERS - 1) break;
    TRY(loom_relu(sum, &h));
    TRY(loom_tensor_release(sum));
  }
  pair[0] = loom_t(sum);
  pair[1] = loom_t(y);
  TRY(loom_apply("cross_entropy", pair, 2, NULL, 0, &loss, 1, NULL));
  TRY(loom_tensor_release(sum));
  return loss;
}

/* Records one step; gives the loss before it. */
static loom_tensor step(loom_tensor x, loom_tensor y) {
  loom_tensor loss = loss_of(x, y), result, tensors[3 * PARAMETERS], next[2 * PARAMETERS];
  loom_operand given[3 * PARAMETERS];
  bool recording;
  size_t i;
  TRY(loom_grad(&loss, 1, state, PARAMETERS, NULL, false, tensors + PARAMETERS));
  TRY(loom_set_grad_enabled(false, &recording));
  for (i = 0; i < PARAMETERS; ++i) {
    given[i] = loom_t(state[i]);
    given[PARAMETERS + i] = loom_t(tensors[PARAMETERS + i]);
    given[2 * PARAMETERS + i] = loom_t(state[PARAMETERS + i]);
  }
  TRY(loom_step_sgd_with(loom_scalar_real(rate, LOOM_FLOAT32), loom_scalar_real(0, LOOM_FLOAT32),
                         loom_scalar_real(momentum, LOOM_FLOAT32),
                         loom_scalar_real(1, LOOM_FLOAT32), given, 3 * PARAMETERS, true, false,
                         false, false, false, next, 2 * PARAMETERS));
  TRY(loom_tensors_assign(state, next, 2 * PARAMETERS));
  TRY(loom_set_grad_enabled(recording, NULL));
  TRY(loom_tensors_release(tensors + PARAMETERS, PARAMETERS));
  TRY(loom_tensors_release(next, 2 * PARAMETERS));
  /* without its history, which would keep the parameters of before */
  TRY(loom_tensor_detach(loss, &result));
  TRY(loom_tensor_release(loss));
  return result;
}

/* The same, recorded once and then run. */
static loom_tensor captured(loom_tensor x, loom_tensor y) {
  static loom_capture capture;
  loom_tensor given[2 * PARAMETERS + 2], loss;
  memcpy(given, state, sizeof state);
  given[2 * PARAMETERS] = x;
  given[2 * PARAMETERS + 1] = y;
  if (capture.bits != 0) {
    TRY(loom_capture_run(capture, given, 2 * PARAMETERS + 2, &loss, 1));
    return loss;
  }
  TRY(loom_capture_begin(given, 2 * PARAMETERS + 2));
  loss = step(x, y);
  TRY(loom_capture_end(&loss, 1, &capture));
  return loss;
}

int main(int argc, char **argv) {
  unsigned at = 0;
  int steps, read, i;
  bool once;
  if (argc != 3 || (strcmp(argv[2], "recorded") && strcmp(argv[2], "captured"))) return 2;
  once = !strcmp(argv[2], "captured");
  TRY(loom_initialize());
  start(argv[1]);
  while (scanf("%d %d", &steps, &read) == 2) {
    float found = 0;
    for (i = 0; i < steps; ++i, at = (at + 1) % BATCHES) {
      loom_tensor loss = (once ? captured : step)(inputs[at], labels[at]);
      if (read || i == steps - 1) TRY(loom_tensor_read(loss, &found, sizeof found));
      TRY(loom_tensor_release(loss));
    }
    if (!read) TRY(loom_sync(state, 2 * PARAMETERS, true));
    printf("%.9g\n", (double)found);
    fflush(stdout);
  }
  TRY(loom_shutdown());
  return 0;
}
