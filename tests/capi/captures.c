/* Captures: a step of training recorded once and run, what is refused, threads, no handle left. */
#include <pthread.h>

#include "check.h"

enum { STEPS = 6, THREADS = 4 };

/* w moves against the gradient of sum((x * w)^2), and the loss is that sum. */
static loom_tensor descend(loom_tensor w, loom_tensor x) {
  const int64_t axis = 0;
  loom_tensor product, square, total, gradient, change, moved, loss;
  OK(loom_multiply(x, w, &product));
  OK(loom_multiply(product, product, &square));
  OK(loom_sum(square, &axis, 1, LOOM_DTYPE_NONE, false, &total));
  OK(loom_grad(&total, 1, &w, 1, NULL, false, &gradient));
  OK(loom_multiply_with(loom_t(gradient), loom_scalar_real(0.125, LOOM_DTYPE_NONE), &change));
  OK(loom_subtract(w, change, &moved));
  OK(loom_tensors_assign(&w, &moved, 1));
  OK(loom_tensor_detach(total, &loss));
  OK(loom_tensor_release(product));
  OK(loom_tensor_release(square));
  OK(loom_tensor_release(total));
  OK(loom_tensor_release(gradient));
  OK(loom_tensor_release(change));
  OK(loom_tensor_release(moved));
  return loss;
}

/* The same by hand, of one element. */
static float by_hand(float *w, float x) {
  const float product = x * *w, loss = product * product;
  *w -= 0.125f * (2 * product * x);
  return loss;
}

static loom_capture captured_step(loom_tensor w, loom_tensor x, float *loss) {
  loom_tensor inputs[2], found;
  loom_capture capture;
  inputs[0] = w;
  inputs[1] = x;
  OK(loom_capture_begin(inputs, 2));
  found = descend(w, x);
  FAILS(LOOM_ERROR_READ_FORBIDDEN, loom_tensor_read(found, loss, sizeof *loss));
  OK(loom_capture_end(&found, 1, &capture));
  /* what was recorded is work as ever */
  OK(loom_tensor_read(found, loss, sizeof *loss));
  OK(loom_tensor_release(found));
  return capture;
}

static void train(void) {
  const float start = 2, rows[STEPS] = {0.5f, 1, 0.25f, -1, 1.5f, 0.75f};
  float w_by_hand = start, loss, now;
  loom_tensor inputs[2], found;
  loom_capture capture = {0};
  size_t i;
  inputs[0] = vector(&start, 1);
  OK(loom_tensor_require_grad(inputs[0], true));
  for (i = 0; i < STEPS; ++i) {
    inputs[1] = vector(&rows[i], 1);
    if (i == 0) {
      capture = captured_step(inputs[0], inputs[1], &loss);
    } else {
      OK(loom_capture_run(capture, inputs, 2, &found, 1));
      OK(loom_tensor_read(found, &loss, sizeof loss));
      OK(loom_tensor_release(found));
    }
    EXPECT(loss == by_hand(&w_by_hand, rows[i]));
    OK(loom_tensor_read(inputs[0], &now, sizeof now));
    EXPECT(now == w_by_hand);
    OK(loom_tensor_release(inputs[1]));
  }
  FAILS(LOOM_ERROR_ARGUMENT, loom_capture_run(capture, inputs, 1, &found, 1));
  EXPECT(strstr(loom_error_message(), "1 inputs are given, expected 2") != NULL);
  EXPECT(strstr(loom_error_site(), "captures.c") != NULL);
  inputs[1] = inputs[0];
  FAILS(LOOM_ERROR_ARGUMENT, loom_capture_run(capture, inputs, 2, &found, 1));
  EXPECT(loom_is_null(found));
  OK(loom_tensor_release(inputs[0]));
  OK(loom_capture_release(capture));
  FAILS(LOOM_ERROR_HANDLE, loom_capture_run(capture, inputs, 2, &found, 1));
  FAILS(LOOM_ERROR_HANDLE, loom_capture_release(capture));
}

static loom_capture shared;

static void *run_much(void *given) {
  const float start = *(float *)given, one = 0.5f;
  float mine = start, loss;
  loom_tensor inputs[2], found;
  int i;
  inputs[0] = vector(&start, 1);
  inputs[1] = vector(&one, 1);
  OK(loom_tensor_require_grad(inputs[0], true));
  for (i = 0; i < 40; ++i) {
    OK(loom_capture_run(shared, inputs, 2, &found, 1));
    OK(loom_tensor_read(found, &loss, sizeof loss));
    EXPECT(loss == by_hand(&mine, one));
    OK(loom_tensor_release(found));
  }
  OK(loom_tensors_release(inputs, 2));
  return NULL;
}

static void threads(void) {
  float starts[THREADS] = {1, 2, -3, 0.5f}, loss;
  loom_tensor w = vector(starts, 1), x = vector(starts + 3, 1);
  pthread_t ids[THREADS];
  int i;
  OK(loom_tensor_require_grad(w, true));
  shared = captured_step(w, x, &loss);
  OK(loom_tensor_release(w));
  OK(loom_tensor_release(x));
  for (i = 0; i < THREADS; ++i) EXPECT(!pthread_create(&ids[i], NULL, run_much, &starts[i]));
  for (i = 0; i < THREADS; ++i) EXPECT(!pthread_join(ids[i], NULL));
  OK(loom_capture_release(shared));
}

static void refused(void) {
  const float ones[2] = {1, 1};
  loom_tensor x = vector(ones, 2), other = vector(ones, 2), sum, twice[2];
  loom_capture capture;
  FAILS(LOOM_ERROR_ARGUMENT, loom_capture_end(NULL, 0, &capture));
  twice[0] = x;
  twice[1] = x;
  FAILS(LOOM_ERROR_ARGUMENT, loom_capture_begin(twice, 2));
  OK(loom_capture_begin(&x, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_capture_begin(&x, 1));
  FAILS(LOOM_ERROR_READ_FORBIDDEN, loom_sync(&x, 1, true));
  FAILS(LOOM_ERROR_ALIAS, loom_tensor_assign(other, x));
  OK(loom_add(x, other, &sum));
  FAILS(LOOM_ERROR_ARGUMENT, loom_capture_end(&sum, 1, &capture));
  EXPECT(strstr(loom_error_message(), "not among its inputs") != NULL);
  EXPECT(capture.bits == 0);
  /* a failed end is one, too, and so is this */
  OK(loom_tensor_assign(other, x));
  OK(loom_capture_begin(&x, 1));
  OK(loom_capture_cancel());
  OK(loom_sync(&sum, 1, true));
  OK(loom_tensor_release(sum));
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(other));
}

int main(void) {
  size_t left;
  OK(loom_initialize());
  train();
  threads();
  refused();
  OK(loom_live_handles(&left));
  EXPECT(left == 0);
  OK(loom_shutdown());
  puts("captures work");
  return 0;
}
