/* Loops and branches: values, gradients, errors, and that no handle is left. */

#include <math.h>

#include "check.h"

/* h' = tanh(w * h + x); gives h' * h' as well. context: w. */
static loom_status step(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                        size_t output_count, void *context) {
  const loom_tensor w = *(loom_tensor *)context;
  loom_tensor product, sum;
  EXPECT(input_count == 2 && output_count == 2);
  OK(loom_multiply(w, inputs[0], &product));
  OK(loom_add(product, inputs[1], &sum));
  OK(loom_tanh(sum, &outputs[0]));
  OK(loom_multiply(outputs[0], outputs[0], &outputs[1]));
  OK(loom_tensor_release(product));
  OK(loom_tensor_release(sum));
  return LOOM_OK;
}

static loom_status below(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                         size_t output_count, void *context) {
  const double limit = *(double *)context;
  EXPECT(input_count == 2 && output_count == 1);
  return loom_less_with(loom_t(inputs[0]), loom_scalar_real(limit, LOOM_DTYPE_NONE), outputs);
}

/* Doubles the first and hands the second back. */
static loom_status doubled(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                           size_t output_count, void *context) {
  (void)context;
  EXPECT(input_count == 2 && output_count == 2);
  outputs[1] = inputs[1];
  return loom_multiply(inputs[0], inputs[1], &outputs[0]);
}

static loom_status squared(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                           size_t output_count, void *context) {
  (void)context;
  EXPECT(input_count == 1 && output_count == 1);
  return loom_multiply(inputs[0], inputs[0], outputs);
}

static loom_status negated(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                           size_t output_count, void *context) {
  (void)context;
  EXPECT(input_count == 1 && output_count == 1);
  return loom_negative(inputs[0], outputs);
}

/* A branch in a loop: squares what is below 0. */
static loom_status branching(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                             size_t output_count, void *context) {
  loom_tensor negative;
  EXPECT(input_count == 1 && output_count == 1);
  OK(loom_less_with(loom_t(inputs[0]), loom_scalar_real(0.0, LOOM_DTYPE_NONE), &negative));
  OK(loom_cond(negative, squared, negated, context, inputs, 1, outputs, 1));
  return loom_tensor_release(negative);
}

static loom_status reading(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                           size_t output_count, void *context) {
  float data;
  (void)input_count, (void)outputs, (void)output_count, (void)context;
  return loom_tensor_read(inputs[0], &data, sizeof data);
}

static loom_status writing(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                           size_t output_count, void *context) {
  (void)input_count, (void)outputs, (void)output_count;
  return loom_tensor_assign(*(loom_tensor *)context, inputs[0]);
}

static loom_status with_an_error_of_its_own(const loom_tensor *inputs, size_t input_count,
                                            loom_tensor *outputs, size_t output_count,
                                            void *context) {
  (void)inputs, (void)input_count, (void)outputs, (void)output_count;
  return loom_set_error(LOOM_ERROR_EXECUTION, (const char *)context);
}

static loom_status without_end(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                               size_t output_count, void *context) {
  EXPECT(input_count == 1 && output_count == 1);
  return loom_scan(without_end, context, inputs, 1, NULL, 0, 3, 0, false, outputs);
}

/* Gives one new tensor twice, with an owner for each. */
static loom_status the_same_twice(const loom_tensor *inputs, size_t input_count,
                                  loom_tensor *outputs, size_t output_count, void *context) {
  (void)context;
  EXPECT(input_count == 2 && output_count == 2);
  OK(loom_add(inputs[0], inputs[1], &outputs[0]));
  outputs[1] = outputs[0];
  return loom_tensor_retain(outputs[1]);
}

/* Gives an input twice, with an owner for the second time. */
static loom_status an_input_twice(const loom_tensor *inputs, size_t input_count,
                                  loom_tensor *outputs, size_t output_count, void *context) {
  (void)context;
  EXPECT(input_count == 2 && output_count == 2);
  outputs[0] = outputs[1] = inputs[1];
  return loom_tensor_retain(outputs[1]);
}

static loom_status giving_up(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                             size_t output_count, void *context) {
  (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)context;
  return LOOM_ERROR_SHAPE;
}

static loom_status forgetting(const loom_tensor *inputs, size_t input_count,
                              loom_tensor *outputs, size_t output_count, void *context) {
  (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)context;
  return LOOM_OK;
}

static float number(loom_tensor tensor) {
  float found;
  OK(loom_tensor_read(tensor, &found, sizeof found));
  return found;
}

static bool near(double a, double b) { return fabs(a - b) < 1e-5 * (1 + fabs(b)); }

static loom_tensor scalar(float x) {
  loom_tensor result;
  OK(loom_tensor_from_host(&x, sizeof x, LOOM_FLOAT32, NULL, 0, &result));
  return result;
}

int main(void) {
  const float data[4] = {0.5f, -1.0f, 2.0f, 0.25f};
  double limit = 100.0;
  loom_tensor w, h, xs, results[2], total, gradients[2], init[2];
  size_t live_before, live_after;
  int i, reverse;
  OK(loom_initialize());
  w = scalar(0.75f);
  h = scalar(0.1f);
  xs = vector(data, 4);
  OK(loom_live_handles(&live_before));

  /* a scan, both ways, and its gradients */
  for (reverse = 0; reverse < 2; ++reverse) {
    double expected = 0.1, sum = 0.0;
    float given[4];
    OK(loom_scan(step, &w, &h, 1, &xs, 1, -1, 1, reverse, results));
    for (i = 0; i < 4; ++i) {
      expected = tanh(0.75 * expected + data[reverse ? 3 - i : i]);
      sum += expected * expected;
    }
    EXPECT(near(number(results[0]), expected));
    OK(loom_tensor_read(results[1], given, sizeof given));
    EXPECT(near(given[reverse ? 0 : 3], expected * expected));
    EXPECT(near(given[0] + given[1] + given[2] + given[3], sum));
    OK(loom_tensors_release(results, 2));
  }
  OK(loom_tensor_require_grad(w, true));
  OK(loom_scan(step, &w, &h, 1, &xs, 1, 4, 1, false, results));
  OK(loom_sum(results[1], NULL, 0, LOOM_DTYPE_NONE, false, &total));
  OK(loom_grad(&total, 1, &w, 1, NULL, false, gradients));
  {
    double sums[2];
    for (i = 0; i < 2; ++i) {
      const double weight = 0.75 + (i ? 1e-6 : -1e-6);
      double state = 0.1;
      int k;
      sums[i] = 0.0;
      for (k = 0; k < 4; ++k) {
        state = tanh(weight * state + data[k]);
        sums[i] += state * state;
      }
    }
    EXPECT(near(number(gradients[0]), (sums[1] - sums[0]) / 2e-6));
  }
  OK(loom_tensors_release(results, 2));
  OK(loom_tensor_release(total));
  OK(loom_tensor_release(gradients[0]));

  /* a loop: how often it turns depends on data */
  init[0] = scalar(3.0f);
  init[1] = scalar(2.0f);
  OK(loom_while_loop(below, doubled, &limit, init, 2, -1, results));
  EXPECT(number(results[0]) == 192.0f && number(results[1]) == 2.0f);
  OK(loom_tensors_release(results, 2));
  OK(loom_while_loop(below, doubled, &limit, init, 2, 3, results));
  EXPECT(number(results[0]) == 24.0f);
  OK(loom_tensors_release(results, 2));

  /* a gradient through one needs a bound */
  OK(loom_tensor_require_grad(init[1], true));
  OK(loom_while_loop(below, doubled, &limit, init, 2, 10, results));
  OK(loom_grad(results, 1, &init[1], 1, NULL, false, gradients));
  EXPECT(near(number(gradients[0]), 6 * 3.0 * 32.0));
  OK(loom_tensors_release(results, 2));
  OK(loom_tensor_release(gradients[0]));
  OK(loom_while_loop(below, doubled, &limit, init, 2, -1, results));
  FAILS(LOOM_ERROR_GRADIENT, loom_grad(results, 1, &init[1], 1, NULL, false, gradients));
  EXPECT(strstr(loom_error_message(), "give max_steps") != NULL);
  OK(loom_tensors_release(results, 2));

  /* a branch in a loop over no elements but a number of steps */
  OK(loom_scan(branching, NULL, init, 1, NULL, 0, 3, 0, false, results));
  EXPECT(number(results[0]) == -9.0f);
  OK(loom_tensor_release(results[0]));

  /* errors */
  FAILS(LOOM_ERROR_READ_FORBIDDEN, loom_scan(reading, NULL, &h, 1, NULL, 0, 3, 0, false, results));
  EXPECT(strstr(loom_error_message(), "inside the function step, which lazyloom.scan") != NULL);
  EXPECT(strstr(loom_error_site(), "loops.c:") != NULL);
  EXPECT(loom_is_null(results[0]));
  FAILS(LOOM_ERROR_ALIAS, loom_scan(writing, &h, &h, 1, NULL, 0, 3, 0, false, results));
  FAILS(LOOM_ERROR_ARGUMENT, loom_scan(giving_up, NULL, &h, 1, NULL, 0, 3, 0, false, results));
  EXPECT(strstr(loom_error_message(), "returned the status 3 (LOOM_ERROR_SHAPE)") != NULL);
  {
    static char words[] = "out of cheese";
    const loom_tensor pair[2] = {h, h};
    size_t before, after;
    FAILS(LOOM_ERROR_EXECUTION, loom_scan(with_an_error_of_its_own, words, &h, 1, NULL, 0, 3, 0,
                                          false, results));
    EXPECT(strcmp(loom_error_message(), words) == 0);
    FAILS(LOOM_ERROR_ARGUMENT, loom_set_error(LOOM_OK, "nothing"));
    FAILS(LOOM_ERROR_STACK, loom_scan(without_end, NULL, &h, 1, NULL, 0, 3, 0, false, results));
    OK(loom_live_handles(&before));
    OK(loom_scan(the_same_twice, NULL, pair, 2, NULL, 0, 3, 0, false, results));
    OK(loom_tensors_release(results, 2));
    OK(loom_scan(an_input_twice, NULL, pair, 2, NULL, 0, 3, 0, false, results));
    OK(loom_tensors_release(results, 2));
    OK(loom_live_handles(&after));
    EXPECT(before == after);
  }
  FAILS(LOOM_ERROR_HANDLE, loom_scan(forgetting, NULL, &h, 1, NULL, 0, 3, 0, false, results));
  EXPECT(strstr(loom_error_message(), "output 0 of function step is the null handle") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_scan(step, &w, &h, 1, NULL, 0, -1, 1, false, results));
  FAILS(LOOM_ERROR_SHAPE, loom_scan(step, &w, &h, 1, &h, 1, -1, 1, false, results));
  FAILS(LOOM_ERROR_ARGUMENT, loom_scan(NULL, NULL, &h, 1, NULL, 0, 3, 0, false, results));
  FAILS(LOOM_ERROR_ARGUMENT, loom_cond(xs, squared, negated, NULL, &h, 1, results, 1));
  FAILS(LOOM_ERROR_HANDLE, loom_cond(loom_null(), squared, negated, NULL, &h, 1, results, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_while_loop(squared, squared, NULL, &h, 1, -1, results));
  OK(loom_tensors_release(init, 2));
  OK(loom_live_handles(&live_after));
  EXPECT(live_after == live_before);
  OK(loom_shutdown());
  puts("loops work");
  return 0;
}
