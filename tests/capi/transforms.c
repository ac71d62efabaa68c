/* Transforms of functions: values, derivatives of both directions, nesting, errors, and that no
   handle is left. */

#include <math.h>

#include "check.h"

static bool near(double a, double b) { return fabs(a - b) < 1e-5 * (1 + fabs(b)); }

static void reads(loom_tensor t, float *data, size_t count) {
  OK(loom_tensor_read(t, data, count * sizeof *data));
}

static float number(loom_tensor t) {
  float x;
  reads(t, &x, 1);
  return x;
}

static loom_tensor scalar(float x) {
  loom_tensor result;
  OK(loom_tensor_from_host(&x, sizeof x, LOOM_FLOAT32, NULL, 0, &result));
  return result;
}

/* x * y, and sin(x). */
static loom_status pair(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                        size_t output_count, void *context) {
  (void)context;
  EXPECT(input_count == 2 && output_count == 2);
  OK(loom_multiply(inputs[0], inputs[1], &outputs[0]));
  return loom_sin(inputs[0], &outputs[1]);
}

/* sin(x) twice, whatever the other input is. */
static loom_status of_the_first(const loom_tensor *inputs, size_t input_count,
                                loom_tensor *outputs, size_t output_count, void *context) {
  (void)context;
  EXPECT(input_count == 2 && output_count == 2);
  OK(loom_sin(inputs[0], &outputs[0]));
  return loom_sin(inputs[0], &outputs[1]);
}

/* The sum of x cubed times w, which is the context. */
static loom_status energy(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                          size_t output_count, void *context) {
  loom_tensor square, cube, weighted;
  EXPECT(input_count == 1 && output_count >= 1);
  OK(loom_multiply(inputs[0], inputs[0], &square));
  OK(loom_multiply(square, inputs[0], &cube));
  OK(loom_multiply(cube, *(loom_tensor *)context, &weighted));
  OK(loom_sum(weighted, NULL, 0, LOOM_DTYPE_NONE, false, &outputs[0]));
  OK(loom_tensor_release(cube));
  OK(loom_tensor_release(weighted));
  if (output_count > 1) outputs[1] = square;
  else OK(loom_tensor_release(square));
  return LOOM_OK;
}

/* The gradient of energy, as a function of its own. */
static loom_status slope(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                         size_t output_count, void *context) {
  loom_tensor value;
  EXPECT(output_count == 1);
  OK(loom_value_and_grad(energy, context, inputs, input_count, NULL, 0, &value, 1, outputs));
  return loom_tensor_release(value);
}

/* The larger of x * x and x + x, by a read. */
static loom_status branching(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                             size_t output_count, void *context) {
  float x;
  loom_status status;
  (void)context;
  EXPECT(input_count == 1 && output_count == 1);
  status = loom_tensor_read(inputs[0], &x, sizeof x);
  if (status != LOOM_OK) return status;
  return x > 2 ? loom_multiply(inputs[0], inputs[0], outputs)
               : loom_add(inputs[0], inputs[0], outputs);
}

static loom_status writing(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                           size_t output_count, void *context) {
  (void)input_count, (void)outputs, (void)output_count;
  return loom_tensor_assign(*(loom_tensor *)context, inputs[0]);
}

/* Writes to its own input and gives it back. */
static loom_status writing_to_its_input(const loom_tensor *inputs, size_t input_count,
                                        loom_tensor *outputs, size_t output_count,
                                        void *context) {
  loom_tensor doubled;
  (void)context, (void)input_count, (void)output_count;
  OK(loom_add(inputs[0], inputs[0], &doubled));
  OK(loom_tensor_assign(inputs[0], doubled));
  OK(loom_tensor_release(doubled));
  outputs[0] = inputs[0];
  return LOOM_OK;
}

static loom_status failing(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                           size_t output_count, void *context) {
  (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)context;
  return loom_set_error(LOOM_ERROR_EXECUTION, "out of cheese");
}

static loom_status forgetting(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                              size_t output_count, void *context) {
  (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)context;
  return LOOM_OK;
}

static void linear_maps(loom_tensor x, loom_tensor y, loom_tensor whole) {
  const float two[2] = {1, 10};
  loom_tensor outputs[2], given[2], results[2], inputs[2] = {x, y};
  loom_linear_map map, again;
  float back[2];
  int i;
  OK(loom_vjp(pair, NULL, inputs, 2, outputs, 2, &map));
  reads(outputs[0], back, 2);
  EXPECT(back[0] == 2 && back[1] == 15);
  given[0] = vector(two, 2);
  given[1] = loom_null();
  for (i = 0; i < 2; ++i) {
    OK(loom_linear_map_apply(map, given, 2, results, 2));
    reads(results[0], back, 2);
    EXPECT(back[0] == 2 && back[1] == 50);
    reads(results[1], back, 2);
    EXPECT(back[0] == 1 && back[1] == 30);
    OK(loom_tensors_release(results, 2));
  }
  FAILS(LOOM_ERROR_ARGUMENT, loom_linear_map_apply(map, given, 1, results, 2));
  EXPECT(strstr(loom_error_message(), "given_count is 1, expected 2") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_linear_map_apply(map, given, 2, results, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_linear_map_apply(map, given, (size_t)1 << 40, results, 2));
  FAILS(LOOM_ERROR_ARGUMENT, loom_linear_map_apply(map, NULL, 2, results, 2));
  given[1] = whole;
  FAILS(LOOM_ERROR_GRADIENT, loom_linear_map_apply(map, given, 2, results, 2));
  EXPECT(loom_is_null(results[0]));
  OK(loom_tensors_release(outputs, 2));
  OK(loom_linear_map_release(map));
  FAILS(LOOM_ERROR_HANDLE, loom_linear_map_apply(map, given, 2, results, 2));
  EXPECT(strstr(loom_error_message(), "loom_linear_map") != NULL);
  FAILS(LOOM_ERROR_HANDLE, loom_linear_map_release(map));

  OK(loom_linearize(pair, NULL, inputs, 2, outputs, 2, &again));
  given[1] = loom_null();
  OK(loom_linear_map_apply(again, given, 2, results, 2));
  reads(results[0], back, 2);
  EXPECT(back[0] == 2 && back[1] == 50);
  reads(results[1], back, 2);
  EXPECT(near(back[0], cos(1)) && near(back[1], 10 * cos(3)));
  OK(loom_tensors_release(results, 2));
  OK(loom_tensors_release(outputs, 2));
  OK(loom_linear_map_release(again));

  OK(loom_jvp(pair, NULL, inputs, given, 2, outputs, results, 2));
  reads(results[0], back, 2);
  EXPECT(back[0] == 2 && back[1] == 50);
  OK(loom_tensors_release(results, 2));
  OK(loom_tensors_release(outputs, 2));
  OK(loom_tensor_release(given[0]));

  /* an input without derivative: its cotangent is the null handle, its tangent must be */
  inputs[1] = whole;
  OK(loom_vjp(of_the_first, NULL, inputs, 2, outputs, 2, &map));
  OK(loom_linear_map_apply(map, outputs, 2, results, 2));
  EXPECT(loom_is_null(results[1]) && !loom_is_null(results[0]));
  OK(loom_tensor_release(results[0]));
  OK(loom_linear_map_release(map));
  OK(loom_tensors_release(outputs, 2));
  given[0] = x;
  given[1] = whole;
  FAILS(LOOM_ERROR_GRADIENT, loom_jvp(of_the_first, NULL, inputs, given, 2, outputs, results, 2));
}

static void derivatives(loom_tensor x, loom_tensor w) {
  const size_t first = 0, wrong = 3, twice[2] = {0, 0};
  loom_tensor outputs[2], gradient, matrix, value, seconds;
  float back[4];
  OK(loom_value_and_grad(energy, &w, &x, 1, &first, 1, outputs, 2, &gradient));
  EXPECT(near(number(outputs[0]), 2 * 1 + 5 * 27));
  reads(outputs[1], back, 2);
  EXPECT(back[0] == 1 && back[1] == 9);
  reads(gradient, back, 2);
  EXPECT(near(back[0], 6) && near(back[1], 135));
  OK(loom_tensors_release(outputs, 2));
  OK(loom_tensor_release(gradient));
  OK(loom_hessian(energy, &w, &x, 1, NULL, 0, 1, &seconds));
  reads(seconds, back, 4);
  EXPECT(near(back[0], 12) && back[1] == 0 && back[2] == 0 && near(back[3], 90));
  OK(loom_tensor_release(seconds));
  /* the same, as the jacobian of a gradient, in each direction */
  {
    const loom_direction all[] = {LOOM_DIRECTION_ANY, LOOM_DIRECTION_FORWARD,
                                  LOOM_DIRECTION_REVERSE};
    size_t i;
    for (i = 0; i < 3; ++i) {
      OK(loom_jacobian(slope, &w, &x, 1, NULL, 0, 1, all[i], false, &matrix));
      reads(matrix, back, 4);
      EXPECT(near(back[0], 12) && back[1] == 0 && back[2] == 0 && near(back[3], 90));
      OK(loom_tensor_release(matrix));
    }
  }
  /* results can be differentiated by what the function uses beside its inputs */
  OK(loom_tensor_require_grad(w, true));
  OK(loom_value_and_grad(energy, &w, &x, 1, NULL, 0, &value, 1, &gradient));
  {
    loom_tensor total, back_to_w;
    OK(loom_sum(gradient, NULL, 0, LOOM_DTYPE_NONE, false, &total));
    OK(loom_grad(&total, 1, &w, 1, NULL, false, &back_to_w));
    reads(back_to_w, back, 2);
    EXPECT(near(back[0], 3) && near(back[1], 27));
    OK(loom_tensor_release(total));
    OK(loom_tensor_release(back_to_w));
  }
  OK(loom_tensor_release(value));
  OK(loom_tensor_release(gradient));

  FAILS(LOOM_ERROR_ARGUMENT,
        loom_value_and_grad(energy, &w, &x, 1, &wrong, 1, &value, 1, &gradient));
  EXPECT(strstr(loom_error_message(), "positions[0]: 3 was given") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_value_and_grad(energy, &w, &x, 1, twice, 2, &value, 1, outputs));
  FAILS(LOOM_ERROR_ARGUMENT, loom_value_and_grad(energy, &w, NULL, 0, NULL, 0, &value, 1, outputs));
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_value_and_grad(energy, &w, &x, 1, NULL, 0, NULL, 0, &gradient));
  FAILS(LOOM_ERROR_ARGUMENT, loom_value_and_grad(NULL, &w, &x, 1, NULL, 0, &value, 1, &gradient));
  FAILS(LOOM_ERROR_ARGUMENT, loom_value_and_grad(energy, &w, &x, (size_t)1 << 40, NULL, 0, &value,
                                                 1, &gradient));
  FAILS(LOOM_ERROR_ARGUMENT, loom_value_and_grad(energy, &w, &x, 1, &first, (size_t)1 << 40,
                                                 &value, 1, &gradient));
  FAILS(LOOM_ERROR_GRADIENT,
        loom_value_and_grad(slope, &w, &x, 1, NULL, 0, &value, 1, &gradient));
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_jacobian(slope, &w, &x, 1, NULL, 0, 1, (loom_direction)3, false, &matrix));
  FAILS(LOOM_ERROR_ARGUMENT, loom_jacobian(slope, &w, &x, 1 << 10, NULL, 0, 1 << 20,
                                           LOOM_DIRECTION_ANY, false, &matrix));
  FAILS(LOOM_ERROR_ARGUMENT, loom_hessian(slope, &w, &x, 1 << 15, NULL, 0, 1, &matrix));
}

static void host_code_inside(void) {
  loom_tensor x = scalar(3), value, gradient;
  OK(loom_value_and_grad(branching, NULL, &x, 1, NULL, 0, &value, 1, &gradient));
  EXPECT(number(value) == 9 && number(gradient) == 6);
  OK(loom_tensor_release(value));
  OK(loom_tensor_release(gradient));
  FAILS(LOOM_ERROR_EXECUTION, loom_value_and_grad(failing, NULL, &x, 1, NULL, 0, &value, 1,
                                                  &gradient));
  EXPECT(strcmp(loom_error_message(), "out of cheese") == 0);
  FAILS(LOOM_ERROR_HANDLE, loom_value_and_grad(forgetting, NULL, &x, 1, NULL, 0, &value, 1,
                                               &gradient));
  EXPECT(strstr(loom_error_message(), "loom_value_and_grad: output 0 of function") != NULL);
  EXPECT(loom_is_null(value) && loom_is_null(gradient));
  OK(loom_tensor_release(x));
}

static void mapped(void) {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[2] = {3, 2}, second[1] = {1}, unmapped[1] = {LOOM_UNMAPPED};
  const int64_t last[2] = {-1, 0}, far[1] = {7};
  loom_tensor xs, w, results[2], ys[2];
  float back[6], x;
  OK(loom_tensor_from_host(data, sizeof data, LOOM_FLOAT32, shape, 2, &xs));
  w = vector(data, 2);
  /* the gradient of each row; energy's weights are the same for all */
  OK(loom_vmap(slope, &w, &xs, 1, NULL, -1, NULL, results, 1));
  reads(results[0], back, 6);
  EXPECT(near(back[0], 3) && near(back[1], 24) && near(back[4], 75) && near(back[5], 216));
  OK(loom_tensor_release(results[0]));
  /* the same, with the axis put last */
  OK(loom_vmap(slope, &w, &xs, 1, NULL, 3, last, results, 1));
  reads(results[0], back, 6);
  EXPECT(near(back[1], 27) && near(back[3], 24));
  OK(loom_tensor_release(results[0]));
  ys[0] = xs;
  ys[1] = xs;
  OK(loom_vmap(pair, NULL, ys, 2, NULL, -1, last, results, 2));
  OK(loom_tensors_release(results, 2));
  OK(loom_vmap(writing_to_its_input, NULL, &xs, 1, second, -1, NULL, results, 1));
  reads(results[0], back, 6);
  EXPECT(back[0] == 2 && back[1] == 6 && back[3] == 4);
  OK(loom_tensor_release(results[0]));
  reads(xs, back, 6);
  EXPECT(back[0] == 1);

  FAILS(LOOM_ERROR_READ_FORBIDDEN, loom_vmap(branching, NULL, &w, 1, NULL, -1, NULL, results, 1));
  FAILS(LOOM_ERROR_ALIAS, loom_vmap(writing, &w, &xs, 1, NULL, -1, NULL, results, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_vmap(slope, &w, &xs, 1, unmapped, -1, NULL, results, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_vmap(slope, &w, &xs, 1, far, -1, NULL, results, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_vmap(slope, &w, &xs, 1, NULL, -5, NULL, results, 1));
  FAILS(LOOM_ERROR_SHAPE, loom_vmap(slope, &w, &xs, 1, NULL, 9, NULL, results, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_vmap(slope, &w, &xs, 1, NULL, -1, unmapped, results, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_vmap(slope, &w, NULL, 1, NULL, -1, NULL, results, 1));
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_vmap(slope, &w, &xs, 1, NULL, -1, NULL, results, (size_t)1 << 40));
  reads(w, &back[0], 2);
  EXPECT(back[0] == 1);
  x = back[1];
  EXPECT(x == 2);
  OK(loom_tensor_release(xs));
  OK(loom_tensor_release(w));
}

int main(void) {
  const float data[2] = {1, 3}, weights[2] = {2, 5};
  const int64_t numbers[2] = {4, 5}, shape = 2;
  loom_tensor x, y, whole, results[2];
  loom_linear_map map;
  size_t before, after;
  OK(loom_initialize());
  x = vector(data, 2);
  y = vector(weights, 2);
  OK(loom_tensor_from_host(numbers, sizeof numbers, LOOM_INT64, &shape, 1, &whole));
  OK(loom_live_handles(&before));
  FAILS(LOOM_ERROR_ARGUMENT, loom_vjp(pair, NULL, &x, 1, results, 2, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_linearize(NULL, NULL, &x, 1, results, 2, &map));
  EXPECT(map.bits == 0);
  linear_maps(x, y, whole);
  derivatives(x, y);
  host_code_inside();
  mapped();
  OK(loom_live_handles(&after));
  EXPECT(before == after);
  OK(loom_shutdown());
  puts("transforms work");
  return 0;
}
