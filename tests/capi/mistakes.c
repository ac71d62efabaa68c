/* What a caller can do wrong: the error says which function, which argument and which entry it is
   about, in UTF-8 whatever was given, and nothing is left behind. */
#include "check.h"
#include "lazyloom_nn.h"

static const float numbers[3] = {1, 2, 3};

/* The last failure names this argument, and this entry of it. */
static void about(const char *function, const char *argument, int64_t index) {
  loom_error_details details;
  details.size = sizeof details;
  OK(loom_error_describe(NULL, &details));
  if (strcmp(details.argument, argument) != 0 || details.index != index) {
    fprintf(stderr, "'%s' is about %s, %lld, expected %s, %lld\n", details.message,
            details.argument, (long long)details.index, argument, (long long)index);
    exit(1);
  }
  EXPECT(strncmp(details.message, function, strlen(function)) == 0);
  EXPECT(details.expected[0] != 0);
}

#define WRONG(status, function, arguments, argument, index) \
  do {                                                      \
    FAILS(status, function arguments);                      \
    about(#function ": ", argument, index);                 \
  } while (0)
#define NO_HANDLE(function, arguments, argument) \
  WRONG(LOOM_ERROR_HANDLE, function, arguments, argument, -1)

static void handles_are_named(loom_tensor x) {
  const loom_tensor none = {0}, stale = {12345};
  const loom_program no_program = {0};
  const loom_capture no_capture = {77};
  const loom_buffer no_buffer = {77};
  const loom_linear_map no_map = {77};
  const loom_quantized no_quantized = {77};
  loom_tensor list[2], y;
  loom_buffer buffer;
  const void *data;
  void *memory[2] = {NULL, NULL};
  const size_t sizes[2] = {0, 12};
  const char *const names[2] = {"xla", NULL};
  int64_t shape[1];
  char text[8];
  float back[3];
  loom_dtype dtype;
  loom_capture capture;
  size_t n;
  bool is;
  NO_HANDLE(loom_tensor_read, (none, back, sizeof back), "tensor");
  NO_HANDLE(loom_tensor_map, (stale, &buffer, &data, &n), "tensor");
  NO_HANDLE(loom_tensor_dtype, (none, &dtype), "tensor");
  NO_HANDLE(loom_tensor_ndim, (none, &n), "tensor");
  NO_HANDLE(loom_tensor_shape, (none, shape, 1, &n), "tensor");
  NO_HANDLE(loom_tensor_nbytes, (stale, &n), "tensor");
  NO_HANDLE(loom_tensor_is_pending, (stale, &is), "tensor");
  NO_HANDLE(loom_tensor_requires_grad, (stale, &is), "tensor");
  NO_HANDLE(loom_tensor_is_ready, (stale, &is), "tensor");
  NO_HANDLE(loom_tensor_retain, (none), "tensor");
  NO_HANDLE(loom_tensor_release, (stale), "tensor");
  NO_HANDLE(loom_buffer_release, (no_buffer), "buffer");
  NO_HANDLE(loom_boundary, (none), "tensor");
  NO_HANDLE(loom_tensor_assign, (none, x), "target");
  NO_HANDLE(loom_tensor_assign, (x, stale), "value");
  NO_HANDLE(loom_tensor_detach, (none, &y), "tensor");
  NO_HANDLE(loom_tensor_require_grad, (none, true), "tensor");
  NO_HANDLE(loom_tensor_gradient, (none, &y), "tensor");
  NO_HANDLE(loom_tensor_clear_gradient, (none), "tensor");
  NO_HANDLE(loom_mark_dynamic, (none, 0, -1, -1), "tensor");
  NO_HANDLE(loom_mark_static, (none, NULL, 0), "tensor");
  NO_HANDLE(loom_program_text, (no_program, text, sizeof text, &n), "program");
  NO_HANDLE(loom_program_op_count, (no_program, &n), "program");
  NO_HANDLE(loom_codegen_measure, (no_program), "program");
  NO_HANDLE(loom_tensor_placement, (none, text, sizeof text, &n), "tensor");
  NO_HANDLE(loom_tensor_to_device, (none, NULL, &y), "tensor");
  NO_HANDLE(loom_capture_run, (no_capture, NULL, 0, NULL, 0), "capture");
  NO_HANDLE(loom_capture_release, (no_capture), "capture");
  NO_HANDLE(loom_linear_map_apply, (no_map, NULL, 0, NULL, 0), "map");
  NO_HANDLE(loom_quantized_run, (no_quantized, NULL, 0, NULL, 0), "quantized");
  NO_HANDLE(loom_quantized_json, (no_quantized, text, sizeof text, &n), "quantized");

  list[0] = x;
  list[1] = stale;
  WRONG(LOOM_ERROR_HANDLE, loom_capture_begin, (list, 2), "inputs", 1);
  list[1] = x;
  WRONG(LOOM_ERROR_ARGUMENT, loom_capture_begin, (list, 2), "inputs", 1);
  OK(loom_capture_begin(list, 1));
  WRONG(LOOM_ERROR_HANDLE, loom_capture_end, (&stale, 1, &capture), "results", 0);
  WRONG(LOOM_ERROR_ARGUMENT, loom_tensors_read, (list, memory, sizes, 2), "buffers", 1);
  WRONG(LOOM_ERROR_ARGUMENT, loom_codegen_use, (names, 2), "names", 1);
  OK(loom_tensor_retain(x));
  list[0] = x;
  list[1] = stale;
  WRONG(LOOM_ERROR_HANDLE, loom_tensors_release, (list, 2), "tensors", 1);
}

static void parameters_are_named(loom_tensor x) {
  int64_t shape[1] = {3}, axis[1] = {1};
  float back[3];
  loom_tensor y;
  WRONG(LOOM_ERROR_ARGUMENT, loom_tensor_from_host,
        (numbers, 11, LOOM_FLOAT32, shape, 1, &y), "nbytes", -1);
  WRONG(LOOM_ERROR_DTYPE, loom_tensor_from_host,
        (numbers, 12, (loom_dtype)99, shape, 1, &y), "dtype", -1);
  shape[0] = -3;
  WRONG(LOOM_ERROR_SHAPE, loom_tensor_share_host,
        (numbers, 12, LOOM_FLOAT32, shape, 1, NULL, NULL, &y), "shape", -1);
  WRONG(LOOM_ERROR_ARGUMENT, loom_tensor_read, (x, back, 4), "nbytes", -1);
  WRONG(LOOM_ERROR_ARGUMENT, loom_tensor_shard, (x, "data=1", NULL, "data;data", &y), "spec", -1);
  WRONG(LOOM_ERROR_ARGUMENT, loom_wait, (&x, 1, NAN), "timeout", -1);
  /* a list that there is no memory for is not taken for one that is left out */
  FAILS(LOOM_ERROR_ARGUMENT, loom_sum(x, NULL, 2, LOOM_DTYPE_NONE, false, &y));
  about("sum: ", "axes", -1);
  axis[0] = 0;
  OK(loom_sum(x, axis, 0, LOOM_DTYPE_NONE, false, &y));
  OK(loom_tensor_release(y));
  OK(loom_sum(x, NULL, 0, LOOM_DTYPE_NONE, false, &y));
  OK(loom_tensor_release(y));
}

/* ---- functions ----------------------------------------------------------------------- */

static loom_status gives(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                         size_t output_count, void *context) {
  (void)inputs, (void)input_count, (void)output_count;
  outputs[0] = *(const loom_tensor *)context;
  return LOOM_OK;
}

static loom_status square(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                          size_t output_count, void *context) {
  (void)input_count, (void)output_count, (void)context;
  return loom_square(inputs[0], &outputs[0]);
}

static loom_status shuts_down(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                              size_t output_count, void *context) {
  (void)input_count, (void)output_count;
  FAILS(LOOM_ERROR_ARGUMENT, loom_shutdown());
  EXPECT(strstr(loom_error_message(), "after it has returned") != NULL);
  *(bool *)context = true;
  return loom_square(inputs[0], &outputs[0]);
}

static void functions(loom_tensor x) {
  loom_tensor none = {0}, stale = {12345}, y, found[2];
  loom_custom_op op = {sizeof op, shuts_down, NULL, NULL, NULL, NULL, NULL};
  int64_t axes[1] = {1};
  bool was = false;
  FAILS(LOOM_ERROR_HANDLE, loom_scan(gives, &none, &x, 1, NULL, 0, 2, 0, false, &y));
  EXPECT(strstr(loom_error_message(), "loom_scan: output 0 of function step") != NULL);
  FAILS(LOOM_ERROR_HANDLE, loom_scan(gives, &stale, &x, 1, NULL, 0, 2, 0, false, &y));
  EXPECT(strstr(loom_error_message(), "loom_scan: output 0 of function step") != NULL);
  NO_HANDLE(loom_cond, (none, square, square, NULL, &x, 1, &y, 1), "which");
  WRONG(LOOM_ERROR_ARGUMENT, loom_scan, (square, NULL, &x, 1, NULL, 0, -1, 0, false, &y),
        "length", -1);
  WRONG(LOOM_ERROR_ARGUMENT, loom_vmap, (square, NULL, &x, 1, axes, -1, NULL, &y, 1), "in_axes",
        0);
  axes[0] = LOOM_UNMAPPED;
  WRONG(LOOM_ERROR_ARGUMENT, loom_vmap, (square, NULL, &x, 1, axes, -1, NULL, &y, 1), "axis_size",
        -1);
  OK(loom_vmap(square, NULL, &x, 1, axes, 4, NULL, &y, 1));
  OK(loom_tensor_release(y));

  OK(loom_scan(shuts_down, &was, &x, 1, NULL, 0, 2, 0, false, &y));
  EXPECT(was);
  OK(loom_tensor_release(y));
  op.context = &was;
  was = false;
  OK(loom_apply_custom(&op, &x, 1, &y, 1));
  EXPECT(was);
  found[0] = y;
  found[1] = none;
  OK(loom_tensors_release(found, 2));
}

/* What the runtime says of its functions in Python it says of those of the header. */
static void names_are_those_of_the_header(loom_tensor x) {
  const loom_quantize_options options = {sizeof options, 30, NULL, 0};
  float back[3];
  loom_quantized quantized;
  loom_program program;
  loom_tensor y;
  FAILS(LOOM_ERROR_ARGUMENT, loom_mark_dynamic(x, 9, -1, -1));
  EXPECT(strncmp(loom_error_message(), "loom_mark_dynamic: ", 19) == 0);
  FAILS(LOOM_ERROR_ARGUMENT, loom_program_of(&x, 1, &program));
  EXPECT(strncmp(loom_error_message(), "loom_program_of: ", 17) == 0);
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_to_device(x, "cpu:77", &y));
  EXPECT(strncmp(loom_error_message(), "loom_tensor_to_device: ", 23) == 0);
  WRONG(LOOM_ERROR_ARGUMENT, loom_quantize_function,
        (square, NULL, NULL, &x, 1, 1, 1, &options, &quantized), "percentile", -1);
  OK(loom_set_option(LOOM_OPTION_FORBID_READS, 1));
  FAILS(LOOM_ERROR_READ_FORBIDDEN, loom_tensor_read(x, back, sizeof back));
  EXPECT(strstr(loom_error_message(), "LOOM_OPTION_FORBID_READS") != NULL);
  OK(loom_set_option(LOOM_OPTION_FORBID_READS, 0));
  OK(loom_option_set("transfers", 2, NULL));
  FAILS(LOOM_ERROR, loom_tensor_read(x, back, sizeof back));
  EXPECT(strstr(loom_error_message(), "loom_option_set(\"transfers\", 2)") != NULL);
  OK(loom_option_set("transfers", 0, NULL));
}

/* ---- texts ---------------------------------------------------------------------------- */

static bool is_utf8(const char *text) { return loom_is_utf8_(text, strlen(text)); }

static void texts_are_utf8(loom_tensor x) {
  static const char *const given[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xf0\x9f\x98", "\xc3\xa9"};
  static char text[1 << 16];
  const loom_tensor none = {0};
  int64_t value;
  size_t i, n;
  loom_program program;
  loom_tensor y;
  for (i = 0; i < sizeof given / sizeof given[0]; ++i) {
    EXPECT(loom_set_error(LOOM_ERROR_SHAPE, given[i]) == LOOM_ERROR_SHAPE);
    EXPECT(is_utf8(loom_error_message()));
    EXPECT((strcmp(loom_error_message(), given[i]) == 0) == is_utf8(given[i]));
    FAILS(LOOM_ERROR_ARGUMENT, loom_stat(given[i], &value));
    EXPECT(is_utf8(loom_error_message()));
    loom_copy_source_location(given[i], 3);
    FAILS(LOOM_ERROR_HANDLE, (loom_tensor_ndim)(none, &n));
    EXPECT(is_utf8(loom_error_site()) && strstr(loom_error_site(), ":3") != NULL);
    FAILS(LOOM_ERROR_HANDLE, (loom_tensor_read)(none, NULL, 0));
    EXPECT(is_utf8(loom_error_site()) && strstr(loom_error_site(), ":3") != NULL);
    OK((loom_square)(x, &y));
    OK((loom_program_of)(&y, 1, &program));
    OK((loom_program_text)(program, text, sizeof text, &n));
    EXPECT(is_utf8(text));
    OK((loom_program_release)(program));
    OK((loom_tensor_read)(y, text, 12));
    OK((loom_tensor_release)(y));
    OK((loom_evaluations_json)(0, text, sizeof text, &n));
    EXPECT(is_utf8(text) && n <= sizeof text && strstr(text, ":3\"") != NULL);
  }
  loom_set_source_location(NULL, 0);
}

static void names_and_files(loom_tensor x) {
  loom_nn_list list = loom_nn_list_of(LOOM_FLOAT32);
  loom_safetensors file;
  FAILS(LOOM_ERROR_ARGUMENT, loom_nn_add(&list, "\xff", x, false));
  EXPECT(strstr(loom_error_message(), "UTF-8") != NULL && list.count == 0);
  FAILS(LOOM_ERROR_ARGUMENT, loom_safetensors_open("/", &file));
  EXPECT(strstr(loom_error_message(), "bytes") == NULL);
  EXPECT(strstr(loom_error_message(), "cannot be read") != NULL);
  loom_nn_list_free(&list);
}

/* Prints the folder of the cache, whose name the system need not have in UTF-8. */
static void folder(void) {
  char text[4096];
  size_t n;
  OK(loom_cache_dir(text, sizeof text, &n));
  EXPECT(n == strlen(text) + 1);
  puts(text);
}

int main(int argc, char **argv) {
  loom_tensor x;
  size_t live;
  OK(loom_initialize());
  if (argc > 1 && strcmp(argv[1], "folder") == 0) {
    folder();
    return 0;
  }
  x = vector(numbers, 3);
  handles_are_named(x);
  parameters_are_named(x);
  functions(x);
  names_are_those_of_the_header(x);
  texts_are_utf8(x);
  names_and_files(x);
  OK(loom_tensor_release(x));
  OK(loom_live_handles(&live));
  EXPECT(live == 0);
  OK(loom_shutdown());
  puts("mistakes work");
  return 0;
}
