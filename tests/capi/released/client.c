/* What a program did that was written for one version of the header, which is compiled with the
   header of that version: CLIENT is the name of its function. 0 is success. */
#include <stdio.h>
#include <string.h>

#include "lazyloom.h"

#define EXPECT(condition)                                                                  \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      fprintf(stderr, "%d.%d, line %d: expected %s (last error: %s: %s)\n", LOOM_ABI_MAJOR, \
              LOOM_ABI_MINOR, __LINE__, #condition, loom_status_name(loom_error_status()), \
              loom_error_message());                                                       \
      return 1;                                                                            \
    }                                                                                      \
  } while (0)
#define OK(call) EXPECT((call) == LOOM_OK)

int CLIENT(void);

static void count_one(void *context) { ++*(int *)context; }

#if LOOM_ABI_MINOR >= 3
static loom_status twice(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                         size_t output_count, void *context) {
  const loom_operand both[2] = {loom_t(inputs[0]), loom_t(inputs[0])};
  (void)input_count, (void)output_count, (void)context;
  return loom_apply("add", both, 2, NULL, 0, outputs, 1, NULL);
}
#endif

static int tensors_and_ops(void) {
  const float data[4] = {1, 2, 3, 4};
  float back[4], total;
  const int64_t four = 4, last = -1;
  static const float kept[4] = {1, 1, 1, 1};
  const void *mapped;
  int done = 0;
  int64_t shape[2], value;
  size_t ndim, n;
  bool flag;
  loom_dtype dtype;
  loom_tensor x, y, z, shared, gradient, replaced[1];
  loom_buffer buffer;
  loom_operand operands[2];
  loom_attr attributes[2];
  OK(loom_tensor_from_host(data, sizeof data, LOOM_FLOAT32, &four, 1, &x));
  OK(loom_tensor_share_host(kept, sizeof kept, LOOM_FLOAT32, &four, 1, count_one, &done, &shared));
  OK(loom_tensor_require_grad(x, true));
  operands[0] = loom_t(x);
  operands[1] = loom_scalar_real(2.0, LOOM_DTYPE_NONE);
  OK(loom_apply("multiply", operands, 2, NULL, 0, &y, 1, &n));
  EXPECT(n == 1);
  operands[0] = loom_t(y);
  operands[1] = loom_t(shared);
  OK(loom_apply("add", operands, 2, NULL, 0, &z, 1, NULL));
  OK(loom_tensor_is_pending(z, &flag));
  EXPECT(flag);
  attributes[0] = loom_attr_ints("axes", &last, 1);
  attributes[1] = loom_attr_bool("keepdims", false);
  operands[0] = loom_t(z);
  OK(loom_apply("sum", operands, 1, attributes, 2, &replaced[0], 1, NULL));
  OK(loom_grad(&replaced[0], 1, &x, 1, NULL, false, &gradient));
  OK(loom_tensor_read(replaced[0], &total, sizeof total));
  EXPECT(total == 24);
  OK(loom_tensor_read(gradient, back, sizeof back));
  EXPECT(back[0] == 2 && back[3] == 2);
  OK(loom_tensor_dtype(gradient, &dtype));
  EXPECT(dtype == LOOM_FLOAT32 && strcmp(loom_dtype_name(dtype), "float32") == 0);
  OK(loom_tensor_shape(gradient, shape, 2, &ndim));
  EXPECT(ndim == 1 && shape[0] == 4);
  OK(loom_tensor_map(z, &buffer, &mapped, &n));
  EXPECT(n == sizeof data && ((const float *)mapped)[3] == 9);
  OK(loom_buffer_release(buffer));
  OK(loom_backward(&replaced[0], 1, NULL));
  OK(loom_tensor_release(gradient));
  OK(loom_tensor_gradient(x, &gradient));
  EXPECT(gradient.bits != 0);
  OK(loom_tensor_clear_gradient(x));
  OK(loom_set_option(LOOM_OPTION_DONATE, 1));
  OK(loom_get_option(LOOM_OPTION_DONATE, &value));
  EXPECT(value == 1);
  OK(loom_stat("ops_traced", &value));
  EXPECT(value > 0);
  EXPECT(loom_tensor_read(z, back, 1) == LOOM_ERROR_ARGUMENT);
  EXPECT(strstr(loom_error_message(), "16") != NULL);
  EXPECT(strstr(loom_error_site(), "client.c:") != NULL);
  OK(loom_tensor_release(y));
  EXPECT(loom_apply("no such op", NULL, 0, NULL, 0, &y, 1, NULL) == LOOM_ERROR_UNKNOWN_OP);
  y.bits = 1;
  EXPECT(loom_tensor_retain(y) == LOOM_ERROR_HANDLE);
  {
    loom_tensor all[5];
    all[0] = x, all[1] = z, all[2] = shared, all[3] = gradient, all[4] = replaced[0];
    OK(loom_tensors_release(all, 5));
  }
  return 0;
}

#if LOOM_ABI_MINOR >= 1 && LOOM_ABI_MINOR < 3
/* An attribute that the op had in versions 1.1 and 1.2. */
static int ops_of_the_time(void) {
  const float one[1] = {1}, four[1] = {4}, tenth = 0.5f;
  const int64_t count = 1;
  float back;
  loom_tensor results[2];
  loom_operand operands[5];
  const loom_attr correction = loom_attr_float("correction", 1.25);
  int i;
  loom_tensor a, b, momentum;
  OK(loom_tensor_from_host(one, sizeof one, LOOM_FLOAT32, &count, 1, &a));
  OK(loom_tensor_from_host(four, sizeof four, LOOM_FLOAT32, &count, 1, &b));
  OK(loom_tensor_from_host(&tenth, sizeof tenth, LOOM_FLOAT32, NULL, 0, &momentum));
  for (i = 0; i < 4; ++i) operands[i] = loom_t(i < 2 ? a : b);
  operands[4] = loom_t(momentum);
  OK(loom_apply("running_moments", operands, 5, &correction, 1, results, 2, NULL));
  OK(loom_tensor_read(results[0], &back, sizeof back));
  EXPECT(back == 2.5f);
  OK(loom_tensor_read(results[1], &back, sizeof back));
  EXPECT(back == 3); /* half of 1, and half of 4 * 1.25 */
  OK(loom_tensors_release(results, 2));
  OK(loom_tensor_release(a));
  OK(loom_tensor_release(b));
  OK(loom_tensor_release(momentum));
  return 0;
}
#endif

static int newer_parts(void) {
#if LOOM_ABI_MINOR >= 3
  const float data[2] = {1, 2};
  float back[2];
  char text[400];
  const int64_t two = 2;
  size_t n;
  loom_tensor x, y;
  OK(loom_tensor_from_host(data, sizeof data, LOOM_FLOAT32, &two, 1, &x));
  OK(loom_scan(twice, NULL, &x, 1, NULL, 0, 3, 0, false, &y));
  OK(loom_tensor_read(y, back, sizeof back));
  EXPECT(back[0] == 8 && back[1] == 16);
  OK(loom_tensor_release(y));
#if LOOM_ABI_MINOR >= 4
  OK(loom_mark_dynamic(x, 0, -1, -1));
  OK(loom_mark_static(x, NULL, 0));
#endif
#if LOOM_ABI_MINOR >= 5
  OK(loom_codegen_in_use(text, sizeof text, &n));
#endif
#if LOOM_ABI_MINOR >= 6
  {
    loom_capture step;
    const loom_operand both[2] = {loom_t(x), loom_t(x)};
    OK(loom_capture_begin(&x, 1));
    OK(loom_apply("add", both, 2, NULL, 0, &y, 1, NULL));
    OK(loom_capture_end(&y, 1, &step));
    OK(loom_tensor_release(y));
    OK(loom_capture_run(step, &x, 1, &y, 1));
    OK(loom_tensor_read(y, back, sizeof back));
    EXPECT(back[0] == 2 && back[1] == 4);
    OK(loom_capture_release(step));
    OK(loom_tensor_release(y));
  }
#endif
#if LOOM_ABI_MINOR >= 7
  OK(loom_tensor_placement(x, text, sizeof text, &n));
  EXPECT(n > 1);
  OK(loom_tensor_to_device(x, NULL, &y));
  OK(loom_tensor_release(y));
#endif
#if LOOM_ABI_MINOR >= 8
  EXPECT(loom_set_error(LOOM_ERROR_SHAPE, "mine") == LOOM_ERROR_SHAPE);
  EXPECT(strcmp(loom_error_message(), "mine") == 0);
#endif
  OK(loom_tensor_release(x));
  (void)text, (void)n;
#endif
  return 0;
}

int CLIENT(void) {
  size_t before, after;
  EXPECT(loom_abi_version() >> 16 == LOOM_ABI_MAJOR);
  EXPECT((int)(loom_abi_version() & 0xffff) >= LOOM_ABI_MINOR);
  OK(loom_initialize());
  OK(loom_live_handles(&before));
  if (tensors_and_ops() != 0 || newer_parts() != 0) return 1;
#if LOOM_ABI_MINOR >= 1 && LOOM_ABI_MINOR < 3
  if (ops_of_the_time() != 0) return 1;
#endif
  OK(loom_live_handles(&after));
  EXPECT(before == after);
  return 0;
}
