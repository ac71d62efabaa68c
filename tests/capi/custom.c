/* Ops of the caller's with derivatives of their own, and when their context is given back. */

#include <math.h>

#include "check.h"

typedef struct use {
  int forwards, vjps, jvps, dones;
} use;

static void done(void *context) { ++((use *)context)->dones; }

static bool near(double a, double b) { return fabs(a - b) < 1e-5 * (1 + fabs(b)); }

/* exp(x) * y, computed by the host. */
static loom_status by_host(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                           size_t output_count, void *context) {
  const void *x, *y;
  loom_buffer bx, by;
  size_t n, i;
  float z[16];
  int64_t shape;
  loom_status status;
  EXPECT(input_count == 2 && output_count == 1);
  ++((use *)context)->forwards;
  status = loom_tensor_map(inputs[0], &bx, &x, &n);
  if (status != LOOM_OK) return status;
  OK(loom_tensor_map(inputs[1], &by, &y, &n));
  shape = (int64_t)(n / sizeof(float));
  for (i = 0; i < (size_t)shape; ++i) z[i] = expf(((const float *)x)[i]) * ((const float *)y)[i];
  OK(loom_tensor_from_host(z, n, LOOM_FLOAT32, &shape, 1, outputs));
  OK(loom_buffer_release(bx));
  return loom_buffer_release(by);
}

/* The same by ops. */
static loom_status by_ops(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                          size_t output_count, void *context) {
  loom_tensor e;
  EXPECT(input_count == 2 && output_count == 1);
  ++((use *)context)->forwards;
  OK(loom_exp(inputs[0], &e));
  OK(loom_multiply(e, inputs[1], outputs));
  return loom_tensor_release(e);
}

/* Twice the cotangent times z for x, so that it is told from the true one; none for y. */
static loom_status vjp(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                       size_t output_count, void *context) {
  loom_tensor product;
  EXPECT(input_count == 4 && output_count == 2);
  ++((use *)context)->vjps;
  OK(loom_multiply(inputs[2], inputs[3], &product));
  OK(loom_add(product, product, &outputs[0]));
  return loom_tensor_release(product);
}

/* z times the tangent of x. */
static loom_status jvp(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                       size_t output_count, void *context) {
  EXPECT(input_count == 5 && output_count == 1);
  ++((use *)context)->jvps;
  return loom_multiply(inputs[2], inputs[3], outputs);
}

static loom_status failing(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                           size_t output_count, void *context) {
  (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)context;
  return loom_set_error(LOOM_ERROR_EXECUTION, "out of cheese");
}

static loom_status wrong_shape(const loom_tensor *inputs, size_t input_count,
                               loom_tensor *outputs, size_t output_count, void *context) {
  (void)input_count, (void)output_count, (void)context;
  return loom_sum(inputs[0], NULL, 0, LOOM_DTYPE_NONE, false, outputs);
}

/* The sum of the op of x and y, which is what context points to. */
static loom_status total(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                         size_t output_count, void *context) {
  const loom_custom_op *custom = *(loom_custom_op **)context;
  loom_tensor z;
  loom_status status;
  EXPECT(input_count == 2 && output_count == 1);
  status = loom_apply_custom(custom, inputs, 2, &z, 1);
  if (status != LOOM_OK) return status;
  OK(loom_sum(z, NULL, 0, LOOM_DTYPE_NONE, false, outputs));
  return loom_tensor_release(z);
}

/* What was recorded and released is let go of by the calls that follow. */
static void settle(void) {
  const float one = 1;
  loom_tensor t = vector(&one, 1), u;
  OK(loom_add(t, t, &u));
  OK(loom_tensor_read(u, (void *)&(float){0}, sizeof one));
  OK(loom_tensor_release(u));
  OK(loom_tensor_release(t));
}

int main(void) {
  const float data[2] = {0, 1}, factors[2] = {2, 3};
  use used = {0, 0, 0, 0};
  loom_custom_op op = {sizeof op, by_host, vjp, jvp, &used, done, "scaled_exp"}, *given = &op;
  loom_tensor inputs[2], z, sum, gradients[2], tangents[2], along;
  float back[2];
  size_t before, after;
  int64_t shape2[2] = {1, 2};
  OK(loom_initialize());
  inputs[0] = vector(data, 2);
  inputs[1] = vector(factors, 2);
  OK(loom_live_handles(&before));

  /* a function of the host, its gradient, and the context, which is let go of with both */
  OK(loom_tensor_require_grad(inputs[0], true));
  OK(loom_apply_custom(&op, inputs, 2, &z, 1));
  EXPECT(used.forwards == 1 && used.dones == 0);
  OK(loom_tensor_read(z, back, sizeof back));
  EXPECT(back[0] == 2 && near(back[1], 3 * exp(1)));
  OK(loom_sum(z, NULL, 0, LOOM_DTYPE_NONE, false, &sum));
  OK(loom_grad(&sum, 1, inputs, 1, NULL, false, gradients));
  EXPECT(used.vjps == 1 && used.dones == 0);
  OK(loom_tensor_read(gradients[0], back, sizeof back));
  EXPECT(back[0] == 4 && near(back[1], 6 * exp(1)));
  OK(loom_tensor_release(gradients[0]));
  OK(loom_tensor_release(sum));
  OK(loom_tensor_release(z));
  settle();
  OK(loom_live_handles(&after));
  EXPECT(before == after && used.dones == 1);

  /* nothing needs a gradient: it is let go of at once */
  OK(loom_tensor_require_grad(inputs[0], false));
  OK(loom_apply_custom(&op, inputs, 2, &z, 1));
  settle();
  EXPECT(used.dones == 2);
  OK(loom_tensor_release(z));

  /* in transforms of functions, forward, backward and mapped, and differentiated twice */
  op.forward = by_ops;
  OK(loom_value_and_grad(total, &given, inputs, 2, NULL, 0, &z, 1, gradients));
  OK(loom_tensor_read(gradients[0], back, sizeof back));
  EXPECT(back[0] == 4 && near(back[1], 6 * exp(1)));
  OK(loom_tensor_read(gradients[1], back, sizeof back));
  EXPECT(back[0] == 0 && back[1] == 0);
  OK(loom_tensor_release(z));
  OK(loom_tensors_release(gradients, 2));
  tangents[0] = inputs[1];
  tangents[1] = loom_null();
  OK(loom_jvp(total, &given, inputs, tangents, 2, &z, &along, 1));
  OK(loom_tensor_read(along, back, sizeof(float)));
  EXPECT(near(back[0], 2 * 2 + 3 * 3 * exp(1)) && used.jvps == 1);
  OK(loom_tensor_release(z));
  OK(loom_tensor_release(along));
  {
    loom_tensor rows[2], totals;
    OK(loom_reshape(inputs[0], shape2, 2, &rows[0]));
    OK(loom_reshape(inputs[1], shape2, 2, &rows[1]));
    OK(loom_tensor_require_grad(rows[0], true));
    OK(loom_vmap(total, &given, rows, 2, NULL, -1, NULL, &totals, 1));
    OK(loom_sum(totals, NULL, 0, LOOM_DTYPE_NONE, false, &sum));
    OK(loom_grad(&sum, 1, rows, 1, NULL, false, gradients));
    OK(loom_tensor_read(gradients[0], back, sizeof back));
    EXPECT(back[0] == 4 && near(back[1], 6 * exp(1)));
    OK(loom_tensor_release(gradients[0]));
    OK(loom_tensor_release(sum));
    OK(loom_tensor_release(totals));
    OK(loom_tensors_release(rows, 2));
  }
  settle();
  EXPECT(used.dones == used.forwards);

  /* errors: of the call, and of the pass; the context is given back in each case, once */
  used.dones = used.forwards = 0;
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply_custom(NULL, inputs, 2, &z, 1));
  op.size = 3;
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply_custom(&op, inputs, 2, &z, 1));
  EXPECT(used.dones == 0);
  op.size = sizeof op;
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply_custom(&op, NULL, 2, &z, 1));
  EXPECT(used.dones == 1);
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply_custom(&op, inputs, (size_t)1 << 40, &z, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply_custom(&op, inputs, 2, &z, (size_t)1 << 40));
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply_custom(&op, inputs, 2, NULL, 0));
  EXPECT(used.dones == 4);
  op.forward = NULL;
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply_custom(&op, inputs, 2, &z, 1));
  op.forward = failing;
  FAILS(LOOM_ERROR_EXECUTION, loom_apply_custom(&op, inputs, 2, &z, 1));
  EXPECT(strcmp(loom_error_message(), "out of cheese") == 0);
  tangents[1].bits = 5;
  op.forward = by_ops;
  FAILS(LOOM_ERROR_HANDLE, loom_apply_custom(&op, tangents, 2, &z, 1));
  EXPECT(used.dones == 7 && loom_is_null(z));
  op.vjp = failing;
  FAILS(LOOM_ERROR_EXECUTION,
        loom_value_and_grad(total, &given, inputs, 2, NULL, 0, &z, 1, gradients));
  EXPECT(strcmp(loom_error_message(), "out of cheese") == 0);
  op.vjp = wrong_shape;
  FAILS(LOOM_ERROR_GRADIENT,
        loom_value_and_grad(total, &given, inputs, 2, NULL, 0, &z, 1, gradients));
  EXPECT(strstr(loom_error_message(), "scaled_exp") != NULL);
  op.vjp = NULL;
  FAILS(LOOM_ERROR_GRADIENT,
        loom_value_and_grad(total, &given, inputs, 2, NULL, 0, &z, 1, gradients));
  EXPECT(strstr(loom_error_message(), "scaled_exp has no vjp") != NULL);
  op.jvp = NULL;
  FAILS(LOOM_ERROR_GRADIENT, loom_jvp(total, &given, inputs, inputs, 2, &z, &along, 1));
  settle();
  OK(loom_live_handles(&after));
  EXPECT(before == after && used.dones == 11);

  /* one that is still needed is given back by the shutdown */
  OK(loom_tensor_require_grad(inputs[0], true));
  op.vjp = vjp;
  OK(loom_apply_custom(&op, inputs, 2, &z, 1));
  EXPECT(used.dones == 11);
  OK(loom_shutdown());
  EXPECT(used.dones == 12);
  puts("custom ops work");
  return 0;
}
