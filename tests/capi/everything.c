/* Calls every public function, each at least once in success and most in failure. */
#include "check.h"

static void before_start(void) {
  loom_tensor t;
  size_t n;
  EXPECT(!loom_is_initialized());
  EXPECT(loom_abi_version() >> 16 == LOOM_ABI_MAJOR);
  EXPECT((loom_abi_version() & 0xFFFF) == LOOM_ABI_MINOR);
  EXPECT(strlen(loom_version()) > 0);
  EXPECT(loom_error_status() == LOOM_OK);
  EXPECT(strcmp(loom_error_message(), "") == 0);
  EXPECT(strcmp(loom_status_name(LOOM_ERROR_SHAPE), "LOOM_ERROR_SHAPE") == 0);
  EXPECT(strcmp(loom_status_name((loom_status)77), "unknown status") == 0);
  EXPECT(loom_dtype_size(LOOM_COMPLEX128) == 16 && loom_dtype_size((loom_dtype)99) == 0);
  EXPECT(strcmp(loom_dtype_name(LOOM_BFLOAT16), "bfloat16") == 0);
  t.bits = 5;
  FAILS(LOOM_ERROR_NOT_INITIALIZED, loom_tensor_ndim(t, &n));
  FAILS(LOOM_ERROR_NOT_INITIALIZED, loom_tensor_from_host(NULL, 0, LOOM_BOOL, NULL, 0, &t));
  EXPECT(loom_is_null(t));
  OK(loom_shutdown());
}

static void host_memory(void) {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[2] = {2, 3}, wrong[2] = {2, -3};
  const void *mapped;
  float back[6];
  int64_t dims[2];
  size_t n;
  bool flag;
  loom_dtype dtype;
  loom_buffer buffer;
  loom_tensor t, u;

  OK(loom_tensor_from_host(data, sizeof data, LOOM_FLOAT32, shape, 2, &t));
  OK(loom_tensor_dtype(t, &dtype));
  EXPECT(dtype == LOOM_FLOAT32);
  OK(loom_tensor_ndim(t, &n));
  EXPECT(n == 2);
  OK(loom_tensor_shape(t, dims, 2, &n));
  EXPECT(n == 2 && dims[0] == 2 && dims[1] == 3);
  OK(loom_tensor_shape(t, dims, 0, &n));
  EXPECT(n == 2);
  OK(loom_tensor_nbytes(t, &n));
  EXPECT(n == sizeof data);
  OK(loom_tensor_is_pending(t, &flag));
  EXPECT(!flag);
  OK(loom_tensor_requires_grad(t, &flag));
  EXPECT(!flag);
  OK(loom_tensor_read(t, back, sizeof back));
  EXPECT(memcmp(data, back, sizeof data) == 0);
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_read(t, back, 4));
  EXPECT(strstr(loom_error_message(), "expected 24") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_read(t, NULL, sizeof back));

  OK(loom_tensor_map(t, &buffer, &mapped, &n));
  EXPECT(n == sizeof data && memcmp(mapped, data, n) == 0);
  OK(loom_tensor_release(t));
  EXPECT(memcmp(mapped, data, n) == 0);
  OK(loom_buffer_release(buffer));
  FAILS(LOOM_ERROR_HANDLE, loom_buffer_release(buffer));

  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_host(data, 20, LOOM_FLOAT32, shape, 2, &u));
  EXPECT(loom_is_null(u));
  FAILS(LOOM_ERROR_SHAPE, loom_tensor_from_host(data, 24, LOOM_FLOAT32, wrong, 2, &u));
  FAILS(LOOM_ERROR_DTYPE, loom_tensor_from_host(data, 24, (loom_dtype)40, shape, 2, &u));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_host(data, 24, LOOM_FLOAT32, NULL, 2, &u));
  OK(loom_tensor_from_host(NULL, 0, LOOM_FLOAT32, (const int64_t[]){0}, 1, &u));
  OK(loom_tensor_read(u, NULL, 0));
  OK(loom_tensor_release(u));
}

static void count_done(void *context) { ++*(int *)context; }

static void shared_memory(void) {
  static const float data[4] = {1, 2, 3, 4};
  const int64_t shape = 4;
  float back[4];
  int done = 0, refused = 0;
  loom_tensor t, sum;
  OK(loom_tensor_share_host(data, sizeof data, LOOM_FLOAT32, &shape, 1, count_done, &done, &t));
  OK(loom_add(t, t, &sum));
  OK(loom_tensor_read(sum, back, sizeof back));
  EXPECT(back[3] == 8 && data[3] == 4);
  OK(loom_tensor_release(t));
  OK(loom_tensor_release(sum));
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_tensor_share_host(data, 3, LOOM_FLOAT32, &shape, 1, count_done, &refused, &t));
  EXPECT(refused == 1);
  EXPECT(done <= 1);
}

static void owners(void) {
  const float one[1] = {1};
  loom_tensor t = vector(one, 1), both[2];
  loom_program wrong;
  size_t n, live, after;
  OK(loom_live_handles(&live));
  OK(loom_tensor_retain(t));
  OK(loom_tensor_release(t));
  OK(loom_tensor_ndim(t, &n));
  OK(loom_tensor_release(t));
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_ndim(t, &n));
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_release(t));
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_retain(t));
  OK(loom_live_handles(&after));
  EXPECT(after == live - 1);
  OK(loom_tensor_release(loom_null()));
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_ndim(loom_null(), &n));

  both[0] = vector(one, 1);
  both[1] = loom_null();
  wrong.bits = both[0].bits;
  FAILS(LOOM_ERROR_HANDLE, loom_program_release(wrong));
  EXPECT(strstr(loom_error_message(), "a loom_tensor was given") != NULL);
  OK(loom_tensors_release(both, 2));
  EXPECT(loom_is_null(both[0]));
  t.bits = 0xDEADBEEF12345678u;
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_ndim(t, &n));
}

/* A released handle is gone at once, whenever the library lets go of what it stood for. */
static void released(void) {
  const float data[2] = {1, 2};
  loom_tensor x = vector(data, 2), inner, unwanted, wanted, many[200];
  int64_t before, after;
  size_t live, count, i;
  float back[2];
  OK(loom_exp(x, &inner));
  OK(loom_sin(inner, &unwanted));
  OK(loom_multiply(inner, x, &wanted));
  OK(loom_live_handles(&live));
  OK(loom_tensor_release(unwanted));
  OK(loom_live_handles(&count));
  EXPECT(count == live - 1);
  FAILS(LOOM_ERROR_HANDLE, loom_sin(unwanted, &many[0]));
  EXPECT(strstr(loom_error_message(), "stale") != NULL);
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_release(unwanted));
  OK(loom_stat("ops_executed", &before));
  OK(loom_sync(&wanted, 1, true));
  OK(loom_stat("ops_executed", &after));
  EXPECT(after - before == 2);
  for (i = 0; i < 200; ++i) OK(loom_add(x, i ? many[i - 1] : x, &many[i]));
  OK(loom_tensor_retain(many[199]));
  OK(loom_tensors_release(many, 199));
  OK(loom_live_handles(&count));
  EXPECT(count == live);
  OK(loom_tensor_release(many[199]));
  OK(loom_tensor_read(many[199], back, sizeof back));
  EXPECT(back[0] == 201 && back[1] == 402);
  OK(loom_tensor_release(many[199]));
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(inner));
  OK(loom_tensor_release(wanted));
}

static void recording(void) {
  const float data[3] = {1, 2, 3};
  const int64_t axes[1] = {0}, bad_axes[1] = {4};
  loom_tensor x = vector(data, 3), y, total, parts[2], zeros;
  loom_operand operands[2];
  loom_attr attribute;
  float back[3];
  size_t count;
  bool pending;

  operands[0] = loom_t(x);
  operands[1] = loom_scalar_real(0.5, LOOM_DTYPE_NONE);
  OK(loom_apply("multiply", operands, 2, NULL, 0, &y, 1, &count));
  EXPECT(count == 1);
  OK(loom_tensor_is_pending(y, &pending));
  EXPECT(pending);
  attribute = loom_attr_ints("axes", axes, 1);
  operands[0] = loom_t(y);
  OK(loom_apply("sum", operands, 1, &attribute, 1, &total, 1, NULL));
  OK(loom_tensor_read(total, back, sizeof(float)));
  EXPECT(back[0] == 3);
  OK(loom_tensor_release(total));

  FAILS(LOOM_ERROR_UNKNOWN_OP, loom_apply("summ", operands, 1, NULL, 0, &total, 1, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_sum(y, bad_axes, 1, LOOM_DTYPE_NONE, false, &total));
  EXPECT(strcmp(loom_error_op(), "sum") == 0);
  EXPECT(strstr(loom_error_site(), "everything.c:") != NULL);
  EXPECT(loom_is_null(total));
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply("sum", operands, 1, &attribute, 1, &total, 0, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply(NULL, operands, 1, &attribute, 1, &total, 1, NULL));
  attribute = loom_attr_str("axes", "all");
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply("sum", operands, 1, &attribute, 1, &total, 1, NULL));
  FAILS(LOOM_ERROR_DTYPE, loom_bitwise_not(x, &total));
  FAILS(LOOM_ERROR_DTYPE,
        loom_add_with(loom_t(x), loom_scalar_complex(1, 2, LOOM_DTYPE_NONE), &total));
  FAILS(LOOM_ERROR_HANDLE, loom_add(x, (loom_tensor){99}, &total));
  EXPECT(strstr(loom_error_message(), "operand 'y'") != NULL);

  {
    const int64_t sizes[2] = {1, 2};
    OK(loom_split(x, sizes, 2, 0, parts, 2));
    OK(loom_tensor_read(parts[1], back, 2 * sizeof(float)));
    EXPECT(back[0] == 2 && back[1] == 3);
    OK(loom_tensors_release(parts, 2));
  }
  {
    const loom_tensor xs[2] = {x, y};
    OK(loom_concatenate(xs, 2, 0, &total));
    OK(loom_tensor_ndim(total, &count));
    OK(loom_tensor_release(total));
  }
  operands[0] = loom_scalar_int(7, LOOM_FLOAT32);
  attribute = loom_attr_ints("shape", axes, 1);
  OK(loom_source("full", operands, 1, &attribute, 1, &zeros, 1, NULL));
  OK(loom_boundary(y));
  OK(loom_tensor_detach(y, &total));
  OK(loom_tensor_read(total, back, sizeof back));
  EXPECT(back[2] == 1.5f);
  OK(loom_tensor_release(total));

  OK(loom_add_with(loom_t(x), loom_scalar_bool(true), &total));
  OK(loom_tensor_assign(x, total));
  OK(loom_tensor_read(x, back, sizeof back));
  EXPECT(back[0] == 2);
  FAILS(LOOM_ERROR_SHAPE, loom_tensor_assign(x, zeros));
  OK(loom_tensor_release(zeros));
  OK(loom_tensor_release(total));
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(y));
}

/* What NumPy warns of, a number that a dtype does not hold, is printed by nobody. */
static void quiet(void) {
  const float data[2] = {1, -1};
  float back[2];
  loom_tensor t = vector(data, 2), u;
  OK(loom_leaky_relu(t, 1e308, &u));
  OK(loom_tensor_read(u, back, sizeof back));
  EXPECT(back[0] == 1 && back[1] < -1e38f);
  OK(loom_tensor_release(u));
  OK(loom_tensor_release(t));
}

/* Lists that are NULL, or of a length that nobody means: nothing beyond them is looked at. */
static void no_lists(void) {
  const float data[4] = {4, 1, 2, 3};
  const size_t huge = (size_t)1 << 62;
  const loom_operand number = loom_scalar_real(1, LOOM_FLOAT32);
  loom_tensor t = vector(data, 4), u, both[2];
  loom_operand operand = loom_t(t);
  loom_attr attribute = loom_attr_int("axis", 0);
  size_t n;
  both[0] = both[1] = t;

  FAILS(LOOM_ERROR_ARGUMENT, loom_apply("tanh", &operand, huge, NULL, 0, &u, 1, NULL));
  EXPECT(strstr(loom_error_message(), "operand_count is 4611686018427387904") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply("cumsum", &operand, 1, &attribute, huge, &u, 1, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply("tanh", &operand, 1, NULL, 0, &u, huge, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply("tanh", &operand, 1, NULL, 0, NULL, 1, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply("tanh", &operand, 1000000, NULL, 0, &u, 1, NULL));
  EXPECT(strstr(loom_error_message(), "1000000 operands were given, expected 1") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply("cumsum", &operand, 1, &attribute, 1000000, &u, 1, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_sync(&t, huge, true));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensors_release(&t, huge));
  FAILS(LOOM_ERROR_ARGUMENT, loom_grad(&t, 1, &t, huge, NULL, false, &u));
  FAILS(LOOM_ERROR_ARGUMENT, loom_grad(&t, huge, &t, 1, NULL, false, &u));
  FAILS(LOOM_ERROR_ARGUMENT, loom_backward(&t, huge, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_host(data, 16, LOOM_FLOAT32, NULL, huge, &u));

  FAILS(LOOM_ERROR_ARGUMENT, loom_stack(NULL, 2, 0, &u));
  FAILS(LOOM_ERROR_ARGUMENT, loom_stack(both, huge, 0, &u));
  FAILS(LOOM_ERROR_ARGUMENT, loom_stack(both, huge + 1, 0, &u));
  FAILS(LOOM_ERROR_ARGUMENT, loom_dynamic_slice_with(operand, &number, SIZE_MAX, NULL, 0, &u));
  FAILS(LOOM_ERROR_ARGUMENT, loom_reshape(t, NULL, 2, &u));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tanh(t, NULL));
  EXPECT(loom_is_null(u));

  OK(loom_live_handles(&n));
  OK(loom_top_k(t, 2, -1, true, &u, NULL));
  OK(loom_tensor_release(u));
  OK(loom_top_k(t, 2, -1, true, NULL, &u));
  OK(loom_tensor_release(u));
  OK(loom_top_k(t, 2, -1, true, NULL, NULL));
  OK(loom_tensor_release(t));
  {
    size_t after;
    OK(loom_live_handles(&after));
    EXPECT(after == n - 1);
  }
}

static void gradients(void) {
  const float data[2] = {3, 4}, ones[2] = {1, 10};
  loom_tensor x = vector(data, 2), weights = vector(ones, 2), y, total, g, gg, inside;
  float back[2];
  bool flag;
  FAILS(LOOM_ERROR_GRADIENT, loom_tensor_gradient(x, &g));
  OK(loom_tensor_require_grad(x, true));
  OK(loom_tensor_requires_grad(x, &flag));
  EXPECT(flag);
  OK(loom_multiply(x, x, &y));
  OK(loom_grad(&y, 1, &x, 1, &weights, true, &g));
  OK(loom_tensor_read(g, back, sizeof back));
  EXPECT(back[0] == 6 && back[1] == 80);
  OK(loom_grad(&g, 1, &x, 1, &weights, false, &gg));
  OK(loom_tensor_read(gg, back, sizeof back));
  EXPECT(back[0] == 2 && back[1] == 200);
  OK(loom_tensor_release(g));
  OK(loom_tensor_release(gg));
  FAILS(LOOM_ERROR_GRADIENT, loom_grad(&y, 1, &weights, 1, &weights, false, &g));

  OK(loom_sum(y, NULL, 0, LOOM_DTYPE_NONE, false, &total));
  OK(loom_tensor_gradient(x, &g));
  EXPECT(loom_is_null(g));
  OK(loom_backward(&total, 1, NULL));
  OK(loom_tensor_release(total));
  OK(loom_sum(x, NULL, 0, LOOM_DTYPE_NONE, false, &total));
  OK(loom_backward(&total, 1, NULL));
  OK(loom_tensor_gradient(x, &g));
  OK(loom_tensor_read(g, back, sizeof back));
  EXPECT(back[0] == 7 && back[1] == 9);
  OK(loom_tensor_release(g));
  OK(loom_tensor_clear_gradient(x));
  OK(loom_tensor_gradient(x, &g));
  EXPECT(loom_is_null(g));

  OK(loom_set_grad_enabled(false, &flag));
  EXPECT(flag);
  OK(loom_add(x, x, &inside));
  OK(loom_set_grad_enabled(flag, NULL));
  OK(loom_tensor_requires_grad(inside, &flag));
  EXPECT(!flag);
  OK(loom_tensor_assign(x, inside));
  OK(loom_tensor_requires_grad(x, &flag));
  EXPECT(flag);
  OK(loom_tensor_require_grad(x, false));
  OK(loom_tensor_requires_grad(x, &flag));
  EXPECT(!flag);
  {
    const int64_t numbers[1] = {1};
    const int64_t shape = 1;
    loom_tensor whole;
    OK(loom_tensor_from_host(numbers, sizeof numbers, LOOM_INT64, &shape, 1, &whole));
    FAILS(LOOM_ERROR_GRADIENT, loom_tensor_require_grad(whole, true));
    OK(loom_tensor_release(whole));
  }
  OK(loom_tensor_release(inside));
  OK(loom_tensor_release(total));
  OK(loom_tensor_release(y));
  OK(loom_tensor_release(weights));
  OK(loom_tensor_release(x));
}

static void code_generators(void) {
  const float data[2] = {1, 2};
  const char *const nobody[] = {"xla", "nobody"}, *const nothing[] = {"xla", NULL};
  const char *const xla[] = {"xla"}, *chosen[1];
  char first[1000], names[1000], text[1000];
  loom_tensor x = vector(data, 2), y, z;
  loom_program program;
  size_t needed;

  OK(loom_codegen_available(names, sizeof names, &needed));
  EXPECT(needed == strlen(names) + 1);
  /* the one that wins and all others are known */
  OK(loom_codegen_in_use(first, sizeof first, &needed));
  EXPECT(needed == strlen(first) + 1 && needed > 1);
  chosen[0] = strtok(first, ",");
  EXPECT(strcmp(chosen[0], "xla") == 0 || strstr(names, chosen[0]) != NULL);
  OK(loom_codegen_use(xla, 1));
  OK(loom_codegen_in_use(text, sizeof text, NULL));
  EXPECT(strcmp(text, "xla") == 0);
  OK(loom_codegen_use(chosen, 1));
  OK(loom_codegen_in_use(text, sizeof text, NULL));
  EXPECT(strcmp(text, chosen[0]) == 0);
  FAILS(LOOM_ERROR_ARGUMENT, loom_codegen_use(nobody, 2));
  EXPECT(strstr(loom_error_message(), "'nobody' is not known, expected ") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_codegen_use(nothing, 2));
  FAILS(LOOM_ERROR_ARGUMENT, loom_codegen_use(NULL, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_codegen_use(xla, (size_t)1 << 40));
  OK(loom_codegen_in_use(text, sizeof text, NULL));
  EXPECT(strcmp(text, chosen[0]) == 0);
  OK(loom_codegen_use(NULL, 0));
  OK(loom_codegen_in_use(text, 2, &needed));
  EXPECT(strcmp(text, "x") == 0 && needed == 4);

  OK(loom_exp(x, &y));
  OK(loom_tanh(y, &z));
  OK(loom_program_of(&z, 1, &program));
  OK(loom_program_explain(program, text, sizeof text, &needed));
  EXPECT(needed == strlen(text) + 1);
  EXPECT(strstr(text, "%1 = tanh : float32[2] -> xla\n") != NULL);
  EXPECT(strstr(text, "2 ops: xla 2; 0 regions") != NULL);
  OK(loom_program_release(program));
  FAILS(LOOM_ERROR_HANDLE, loom_program_explain(program, text, sizeof text, NULL));
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(y));
  OK(loom_tensor_release(z));
}

static void observation(void) {
  const float data[2] = {1, 2};
  loom_tensor x = vector(data, 2), y, z;
  loom_program program;
  char key[200], last_key[200], *text;
  const char *name;
  int64_t runs, after, value;
  size_t needed, count, i;
  bool pending, found = false;

  OK(loom_exp(x, &y));
  OK(loom_tanh(y, &z));
  OK(loom_program_of(&z, 1, &program));
  OK(loom_program_op_count(program, &count));
  EXPECT(count == 2);
  OK(loom_program_key(program, key, sizeof key, &needed));
  EXPECT(needed == strlen(key) + 1);
  OK(loom_program_text(program, NULL, 0, &needed));
  text = (char *)malloc(needed);
  OK(loom_program_text(program, text, needed, NULL));
  EXPECT(strlen(text) == needed - 1 && strstr(text, "tanh") != NULL);
  OK(loom_program_text(program, text, 4, &count));
  EXPECT(strlen(text) == 3 && count == needed);
  free(text);
  OK(loom_program_release(program));
  FAILS(LOOM_ERROR_HANDLE, loom_program_op_count(program, &count));

  OK(loom_stat("executions", &runs));
  OK(loom_sync(&z, 1, true));
  OK(loom_tensor_is_pending(z, &pending));
  EXPECT(!pending);
  OK(loom_stat("executions", &after));
  EXPECT(after == runs + 1);
  FAILS(LOOM_ERROR_ARGUMENT, loom_stat("executionz", &value));
  OK(loom_last_program(&program));
  OK(loom_program_key(program, last_key, sizeof last_key, NULL));
  EXPECT(strcmp(key, last_key) == 0);
  OK(loom_program_release(program));
  OK(loom_last_evaluation(NULL, 0, &needed));
  text = (char *)malloc(needed + 100);
  OK(loom_last_evaluation(text, needed + 100, NULL));
  EXPECT(strstr(text, "everything.c:") != NULL);
  OK(loom_stats_json(NULL, 0, &needed));
  free(text);

  OK(loom_op_count(&count));
  EXPECT(count >= 200);
  for (i = 0; i < count; ++i) {
    OK(loom_op_name(i, &name));
    OK(loom_op_describe(name, NULL, 0, &needed));
    EXPECT(needed > 50);
    found = found || strcmp(name, "matmul") == 0;
  }
  EXPECT(found);
  FAILS(LOOM_ERROR_ARGUMENT, loom_op_name(count, &name));
  FAILS(LOOM_ERROR_UNKNOWN_OP, loom_op_describe("nothing", NULL, 0, &needed));
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(y));
  OK(loom_tensor_release(z));
}

static void options(void) {
  const float one[1] = {1};
  loom_tensor x = vector(one, 1), y;
  float back;
  int64_t value;
  OK(loom_get_option(LOOM_OPTION_DONATE, &value));
  EXPECT(value == 1);
  OK(loom_set_option(LOOM_OPTION_FORBID_READS, 1));
  OK(loom_get_option(LOOM_OPTION_FORBID_READS, &value));
  EXPECT(value == 1);
  OK(loom_add(x, x, &y));
  FAILS(LOOM_ERROR_READ_FORBIDDEN, loom_tensor_read(y, &back, sizeof back));
  OK(loom_set_option(LOOM_OPTION_FORBID_READS, 0));
  loom_set_source_location("given.c", 42);
  OK((loom_tensor_read)(y, &back, sizeof back));
  FAILS(LOOM_ERROR_ARGUMENT, (loom_set_option)((loom_option)9, 1));
  EXPECT(strcmp(loom_error_site(), "given.c:42") == 0);
  FAILS(LOOM_ERROR_ARGUMENT, loom_set_option(LOOM_OPTION_DONATE, 2));
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(y));
}

int main(void) {
  const float one[1] = {1};
  loom_tensor left;
  size_t live;
  before_start();
  OK(loom_initialize());
  OK(loom_initialize());
  EXPECT(loom_is_initialized());
  host_memory();
  shared_memory();
  owners();
  released();
  recording();
  no_lists();
  quiet();
  gradients();
  code_generators();
  observation();
  options();
  OK(loom_live_handles(&live));
  EXPECT(live == 0);

  left = vector(one, 1);
  OK(loom_shutdown());
  EXPECT(!loom_is_initialized());
  FAILS(LOOM_ERROR_NOT_INITIALIZED, loom_live_handles(&live));
  EXPECT(strstr(loom_error_message(), "loom_shutdown() has been called") != NULL);
  OK(loom_initialize());
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_release(left));
  OK(loom_shutdown());
  puts("everything works");
  return 0;
}
