/* A first program: a line is fitted to four points by gradient descent.

     cc first.c $(python -m lazyloom_capi --cflags --libs) -o first && ./first */
#include "lazyloom_nn.h"

/* Every call that can fail returns a status; the thread keeps the message of its last failure. */
#define TRY(call) \
  if ((call) != LOOM_OK) return fprintf(stderr, "%s: %s\n", loom_error_site(), loom_error_message())

int main(void) {
  const float xs[4] = {0, 1, 2, 3}, ys[4] = {1, 3, 5, 7}; /* y = 2 x + 1 */
  const int64_t shape[2] = {4, 1};
  loom_nn_list net = loom_nn_list_of(LOOM_FLOAT32); /* parameters by name */
  loom_nn_random random = loom_nn_random_from(0);
  loom_nn_optimizer sgd;
  loom_tensor x, y, guess, loss, weight, bias;
  float value, line[2];
  int i;

  TRY(loom_initialize());
  TRY(loom_tensor_from_host(xs, sizeof xs, LOOM_FLOAT32, shape, 2, &x)); /* a copy of xs */
  TRY(loom_tensor_from_host(ys, sizeof ys, LOOM_FLOAT32, shape, 2, &y));
  TRY(loom_nn_linear_new(&net, "line", 1, 1, true, &random)); /* line.weight and line.bias */
  TRY(loom_nn_sgd(&sgd, &net, 0.1, 0, false, 0));

  for (i = 0; i < 200; ++i) {
    TRY(loom_nn_linear(&net, "line", x, &guess)); /* recorded, not computed */
    TRY(loom_mse_loss(guess, y, "mean", &loss));  /* each result is a new handle ... */
    TRY(loom_tensor_release(guess));              /* ... that the caller releases */
    TRY(loom_backward(&loss, 1, NULL));           /* gradients are recorded, too ... */
    TRY(loom_nn_step(&sgd));                      /* ... and what parameters become */
    TRY(loom_tensor_read(loss, &value, sizeof value)); /* compiles once, and runs all of that */
    TRY(loom_tensor_release(loss));
    if (i % 50 == 0) printf("step %3d  loss %.6f\n", i, (double)value);
  }
  TRY(loom_nn_find(&net, "line.weight", &weight)); /* lent by the list: not to be released */
  TRY(loom_nn_find(&net, "line.bias", &bias));
  TRY(loom_tensor_read(weight, &line[0], sizeof line[0]));
  TRY(loom_tensor_read(bias, &line[1], sizeof line[1]));
  printf("y = %.3f x + %.3f\n", (double)line[0], (double)line[1]);

  TRY(loom_tensor_release(x));
  TRY(loom_tensor_release(y));
  loom_nn_optimizer_free(&sgd);
  loom_nn_list_free(&net);
  loom_nn_random_free(&random);
  return loom_shutdown() != LOOM_OK;
}
