/* Programs in files: written and read by C, and one that Python wrote (the first argument, with the
   files of its input and of what it gives). */

#include "check.h"
#include "lazyloom_ops.h"

static const int64_t shape[] = {2, 3};

static loom_tensor matrix(float first) {
  float numbers[6];
  loom_tensor made;
  int i;
  for (i = 0; i < 6; ++i) numbers[i] = first + (float)i;
  OK(loom_tensor_from_host(numbers, sizeof numbers, LOOM_FLOAT32, shape, 2, &made));
  return made;
}

static void own_program(const char *path) {
  const char *const names[] = {"x", "key"}, *const parameter_names[] = {"weights"};
  char text[2000];
  const float zero = 0, one = 1;
  float numbers[6], again[6];
  loom_tensor inputs[2], weights = matrix(10), low, high, drawn, sum, product, results[2], wrong;
  loom_exported program;
  inputs[0] = matrix(1);
  OK(loom_random_key(3, &inputs[1]));
  OK(loom_tensor_from_host(&zero, sizeof zero, LOOM_FLOAT32, NULL, 0, &low));
  OK(loom_tensor_from_host(&one, sizeof one, LOOM_FLOAT32, NULL, 0, &high));
  OK(loom_random_uniform(inputs[1], low, high, shape, 2, &drawn));
  OK(loom_multiply(inputs[0], weights, &product));
  OK(loom_add(product, drawn, &sum));
  results[0] = sum, results[1] = product;
  OK(loom_export(path, inputs, names, 2, results, 2, &weights, parameter_names, 1));
  OK(loom_tensor_read(sum, numbers, sizeof numbers));
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_export(path, inputs, names, 2, results, 2, &weights, parameter_names, 1));
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_export("no/such/folder", inputs, names, 2, results, 2, NULL, NULL, 0));

  OK(loom_load_program(path, &program));
  OK(loom_exported_json(program, text, sizeof text, NULL));
  EXPECT(strstr(text, "\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [2, 3]") != NULL);
  OK(loom_exported_run(program, inputs, 2, results, 2));
  OK(loom_tensor_read(results[0], again, sizeof again));
  EXPECT(memcmp(numbers, again, sizeof again) == 0);
  OK(loom_exported_seed(program, 4)); /* it has no generators: its key is an input */

  FAILS(LOOM_ERROR_ARGUMENT, loom_exported_run(program, inputs, 1, results, 2));
  FAILS(LOOM_ERROR_ARGUMENT, loom_exported_run(program, inputs, 2, results, 1));
  wrong = inputs[0], inputs[0] = inputs[1];
  FAILS(LOOM_ERROR_DTYPE, loom_exported_run(program, inputs, 2, results, 2));
  EXPECT(strstr(loom_error_message(), "x is a uint32[2], expected float32[2,3]") != NULL);
  inputs[0] = wrong;
  OK(loom_exported_release(program));
  FAILS(LOOM_ERROR_HANDLE, loom_exported_run(program, inputs, 2, results, 2));
  FAILS(LOOM_ERROR_ARGUMENT, loom_load_program("no/such/file", &program));
  EXPECT(program.bits == 0);
  FAILS(LOOM_ERROR_ARGUMENT, loom_load_program(__FILE__, &program));
  EXPECT(strncmp(loom_error_message(), "loom_load_program: ", 19) == 0);
  OK(loom_exported_release(program));
}

static void differentiable_program(const char *path) {
  loom_export_options options = {sizeof options, 2, true};
  const char *const name = "w";
  char text[20000];
  float numbers[6];
  int i;
  loom_tensor x = matrix(1), w = matrix(2), product, y, total, gradients[2], again;
  loom_exported program;
  OK(loom_tensor_require_grad(x, true));
  OK(loom_tensor_require_grad(w, true));
  OK(loom_multiply(x, x, &product));
  OK(loom_multiply(product, w, &y));
  options.size = 3;
  FAILS(LOOM_ERROR_ARGUMENT, loom_export_with(path, &x, NULL, 1, &y, 1, &w, &name, 1, &options));
  options.size = sizeof options;
  options.vjp_order = -1;
  FAILS(LOOM_ERROR_ARGUMENT, loom_export_with(path, &x, NULL, 1, &y, 1, &w, &name, 1, &options));
  EXPECT(strncmp(loom_error_message(), "loom_export: vjp_order is -1", 28) == 0);
  options.vjp_order = 2;
  OK(loom_export_with(path, &x, NULL, 1, &y, 1, &w, &name, 1, &options));

  FAILS(LOOM_ERROR_ARGUMENT, loom_load_program_with_engines("no/such/file", &program));
  FAILS(LOOM_ERROR_ARGUMENT, loom_load_program_with_engines(__FILE__, &program));
  EXPECT(strncmp(loom_error_message(), "loom_load_program: ", 19) == 0);
  OK(loom_load_program_with_engines(path, &program));
  OK(loom_exported_json(program, text, sizeof text, NULL));
  EXPECT(strstr(text, "\"vjp_order\": 2") != NULL);
  EXPECT(strstr(text, "\"without_engines\": \"\"") != NULL);
  OK(loom_exported_run(program, &x, 1, &y, 1));
  OK(loom_sum(y, NULL, 0, LOOM_DTYPE_NONE, false, &total));
  OK(loom_grad(&total, 1, &x, 1, NULL, true, gradients));
  OK(loom_tensor_read(gradients[0], numbers, sizeof numbers));
  for (i = 0; i < 6; ++i) EXPECT(numbers[i] == (float)(2 * (1 + i) * (2 + i)));
  OK(loom_sum(gradients[0], NULL, 0, LOOM_DTYPE_NONE, false, &total));
  OK(loom_grad(&total, 1, &x, 1, NULL, false, &again));
  OK(loom_tensor_read(again, numbers, sizeof numbers));
  for (i = 0; i < 6; ++i) EXPECT(numbers[i] == (float)(2 * (2 + i)));
  OK(loom_exported_release(program));

  OK(loom_multiply(x, x, &y));
  OK(loom_export(path, &x, NULL, 1, &y, 1, NULL, NULL, 0));
  OK(loom_load_program(path, &program));
  FAILS(LOOM_ERROR_GRADIENT, loom_exported_run(program, &x, 1, &y, 1));
  EXPECT(strstr(loom_error_message(), "vjp_order=1") != NULL);
  OK(loom_multiply(x, w, &y));
  OK(loom_export_with(path, &x, NULL, 1, &y, 1, &w, &name, 1, &options));
  OK(loom_exported_release(program));
}

static void saved_program(const char *path) {
  loom_tensor x = matrix(2), values[2];
  float numbers[6];
  OK(loom_sin(x, &values[0]));
  OK(loom_multiply(values[0], x, &values[1]));
  OK(loom_save_repro(path, values, 2, false));
  OK(loom_tensor_read(values[1], numbers, sizeof numbers));
  FAILS(LOOM_ERROR_ARGUMENT, loom_save_repro(path, values, 2, true));
  EXPECT(strstr(loom_error_message(), "none of the values is pending") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_save_repro(NULL, values, 2, false));
  OK(loom_multiply(values[0], x, &values[1]));
  FAILS(LOOM_ERROR_ARGUMENT, loom_save_repro("no/such/folder/file", values + 1, 1, true));
  EXPECT(strstr(loom_error_message(), "no/such/folder/file") != NULL);
  OK(loom_tensor_release(x));
  FAILS(LOOM_ERROR_HANDLE, loom_save_repro(path, &x, 1, false));
}

static void *contents(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  void *data;
  EXPECT(file != NULL);
  EXPECT(fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  data = malloc(*size);
  EXPECT(data != NULL && fread(data, 1, *size, file) == *size);
  EXPECT(fclose(file) == 0);
  return data;
}

/* input: float32 of the shape of the images, or int64 of that of the tokens */
static void given_program(const char *path, const char *input, const char *expected, loom_dtype d,
                          const int64_t *sizes, size_t ndim) {
  size_t input_size, size;
  void *data = contents(input, &input_size), *numbers = contents(expected, &size);
  void *found = malloc(size);
  loom_tensor x, y;
  loom_exported program;
  EXPECT(found != NULL);
  OK(loom_tensor_from_host(data, input_size, d, sizes, ndim, &x));
  OK(loom_load_program(path, &program));
  OK(loom_exported_run(program, &x, 1, &y, 1));
  OK(loom_tensor_read(y, found, size));
  EXPECT(memcmp(found, numbers, size) == 0);
  OK(loom_exported_release(program));
  free(data), free(numbers), free(found);
}

int main(int count, char **given) {
  const int64_t images[] = {2, 3, 32, 32}, tokens[] = {1, 3};
  EXPECT(count == 2 || count == 3 || count == 5);
  OK(loom_initialize());
  if (count == 2) own_program(given[1]);
  else if (count == 3 && given[1][0] == 'd') differentiable_program(given[2]);
  else if (count == 3) saved_program(given[2]);
  else if (given[4][0] == 'i') given_program(given[1], given[2], given[3], LOOM_FLOAT32, images, 4);
  else given_program(given[1], given[2], given[3], LOOM_INT64, tokens, 2);
  OK(loom_shutdown());
  puts("exported programs work");
  return 0;
}
