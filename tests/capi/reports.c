/* Keys, options by name, reports of what ran, and quantisation. */

#include <math.h>

#include "check.h"

static char text[1 << 20];

static void keys(void) {
  uint32_t words[2];
  loom_tensor key, next, draws[2];
  float first[4], again[4];
  const int64_t shape[1] = {4};
  int i;
  OK(loom_random_key(0x123456789abcdef0u, &key));
  OK(loom_tensor_read(key, words, sizeof words));
  EXPECT(words[0] == 0x12345678u && words[1] == 0x9abcdef0u);
  for (i = 0; i < 2; ++i) {
    OK(loom_random_fold_in_with(loom_t(key), loom_scalar_int(2, LOOM_INT64), &next));
    OK(loom_random_uniform_with(loom_t(next), loom_scalar_real(0, LOOM_FLOAT32),
                                loom_scalar_real(1, LOOM_FLOAT32), shape, 1, &draws[i]));
    OK(loom_tensor_release(next));
  }
  OK(loom_tensor_read(draws[0], first, sizeof first));
  OK(loom_tensor_read(draws[1], again, sizeof again));
  EXPECT(memcmp(first, again, sizeof first) == 0 && first[0] != first[1]);
  OK(loom_tensors_release(draws, 2));
  OK(loom_tensor_release(key));
  FAILS(LOOM_ERROR_ARGUMENT, loom_random_key(1, NULL));
}

static void options(void) {
  double before, now;
  int64_t value;
  size_t needed;
  OK(loom_option_set("reproducible", 1, &before));
  OK(loom_option_get("reproducible", &now));
  EXPECT(now == 1);
  OK(loom_get_option(LOOM_OPTION_REPRODUCIBLE, &value));
  EXPECT(value == 1);
  OK(loom_set_option(LOOM_OPTION_REPRODUCIBLE, 0));
  OK(loom_option_set("reproducible", before, &now));
  EXPECT(now == 0);
  OK(loom_option_set("cut_ops", 500, &before));
  OK(loom_option_set("cut_ops", before, &now));
  EXPECT(now == 500);
  FAILS(LOOM_ERROR_ARGUMENT, loom_option_set("reproducible", 2, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_option_set("reproducible", NAN, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_option_set("cut_ops", 0.5, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_option_set("cut_ops", -3, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_option_set("cut_ops", INFINITY, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_option_set("no such", 1, NULL));
  EXPECT(strstr(loom_error_message(), "'no such' is not known, expected one of donate") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_option_get(NULL, &now));
  FAILS(LOOM_ERROR_ARGUMENT, loom_option_get("donate", NULL));
  OK(loom_options_json(text, sizeof text, &needed));
  EXPECT(needed == strlen(text) + 1 && strstr(text, "\"cut_ops\": {\"value\": ") != NULL);
}

/* A step whose shape is another one than before. */
static void new_programs(void) {
  static float data[77];
  float back[77];
  double before;
  loom_tensor x = vector(data, 77), y, z;
  OK(loom_cosh(x, &y));
  OK(loom_tanh(y, &z));
  OK(loom_option_set("compiles", 2, &before));
  EXPECT(before == 0);
  FAILS(LOOM_ERROR_EXECUTION, loom_tensor_read(z, back, sizeof back));
  EXPECT(strstr(loom_error_message(), "a new program of 2 ops was to run for a read") != NULL);
  OK(loom_option_set("compiles", 0, &before));
  EXPECT(before == 2);
  FAILS(LOOM_ERROR_ARGUMENT, loom_option_set("compiles", 3, NULL));
  EXPECT(strstr(loom_error_message(), "expected 0 (allow), 1 (warn), 2 (error)") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_option_set("compiles", 0.5, NULL));
  OK(loom_tensor_release(y));
  OK(loom_tensor_release(z));
  OK(loom_tensor_release(x));
}

static void memory(void) {
  static float data[1000];
  struct {
    loom_memory_figures known;
    size_t later;
  } figures;
  loom_tensor x = vector(data, 1000), y, again;
  figures.known.size = sizeof figures.known;
  OK(loom_add(x, x, &y));
  OK(loom_tensor_detach(x, &again));
  OK(loom_memory(&figures.known));
  EXPECT(figures.known.tensors == 3 && figures.known.tensor_bytes == sizeof data);
  EXPECT(figures.known.pending == 1 && figures.known.peak >= figures.known.resident / 2);
  EXPECT(figures.known.resident > 1 << 20);
  OK(loom_sync(&y, 1, true));
  figures.known.size = sizeof figures;
  figures.later = 7;
  OK(loom_memory(&figures.known));
  EXPECT(figures.known.tensor_bytes == 2 * sizeof data && figures.known.pending == 0);
  EXPECT(figures.later == 0);
  figures.known.size = 1;
  FAILS(LOOM_ERROR_ARGUMENT, loom_memory(&figures.known));
  FAILS(LOOM_ERROR_ARGUMENT, loom_memory(NULL));
  OK(loom_tensor_release(again));
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(y));
}

/* The cache in a file, beside its folder. */
static void carried(void) {
  char path[4096];
  size_t entries = 0, usable = 0, refused = 1, needed;
  FILE *file;
  OK(loom_cache_report_json(text, sizeof text, NULL));
  EXPECT(strcmp(text, "{}") == 0);
  OK(loom_cache_dir(path, sizeof path - 20, NULL));
  strcat(path, "-carried");
  OK(loom_cache_save(path, -1, &entries));
  EXPECT(entries > 0);
  OK(loom_cache_report_json(text, sizeof text, &needed));
  EXPECT(strstr(text, "\"status\": \"saved\"") != NULL && strstr(text, path) != NULL);
  OK(loom_cache_load(path, &usable, &refused));
  EXPECT(usable == entries && refused == 0);
  OK(loom_cache_load(path, NULL, NULL));
  OK(loom_cache_save(path, 0.5, NULL));
  OK(loom_cache_report_json(NULL, 0, &needed));
  EXPECT(needed > 100);
  OK(loom_cache_list_json(path, text, sizeof text, &needed));
  EXPECT(strstr(text, "\"artifacts\"") != NULL && strstr(text, "\"fingerprint\"") != NULL);
  file = fopen(path, "wb");
  EXPECT(file != NULL && fputs("something else", file) >= 0 && fclose(file) == 0);
  FAILS(LOOM_ERROR_ARGUMENT, loom_cache_load(path, &usable, &refused));
  EXPECT(strstr(loom_error_message(), "is no file of lazyloom.cache.save") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_cache_list_json(path, text, sizeof text, NULL));
  EXPECT(remove(path) == 0);
  FAILS(LOOM_ERROR_ARGUMENT, loom_cache_load(path, &usable, &refused));
  EXPECT(strstr(loom_error_message(), "No such file") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_cache_save("/none/of/these/folders", 0, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_cache_save(path, NAN, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_cache_save(NULL, 0, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_cache_load(NULL, NULL, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_cache_list_json(NULL, text, sizeof text, NULL));
}

/* A profile of this process, with this file's lines. */
static void profiled(void) {
  const float data[4] = {1, 2, 3, 4};
  float back[4];
  char path[4096], page[64] = "";
  char *whole;
  int i;
  size_t needed, again;
  FILE *file;
  loom_tensor x = vector(data, 4), y;
  OK(loom_profile_json(text, sizeof text, &needed));
  EXPECT(strcmp(text, "{}") == 0);
  FAILS(LOOM_ERROR_ARGUMENT, loom_profile_end());
  EXPECT(strstr(loom_error_message(), "loom_profile_begin()") != NULL);
  OK(loom_cache_dir(path, sizeof path - 20, NULL));
  strcat(path, "-profile.html");
  OK(loom_profile_begin(path, true));
  FAILS(LOOM_ERROR_ARGUMENT, loom_profile_begin(NULL, false));
  EXPECT(strstr(loom_error_message(), "another profile") != NULL);
  for (i = 0; i < 3; ++i) {
    OK(loom_sinh(x, &y));
    OK(loom_tensor_read(y, back, sizeof back)); /* noted in a profile */
    OK(loom_tensor_release(y));
  }
  OK(loom_profile_end());
  FAILS(LOOM_ERROR_ARGUMENT, loom_profile_end());
  OK(loom_profile_json(NULL, 0, &needed));
  whole = (char *)malloc(needed);
  EXPECT(whole != NULL);
  OK(loom_profile_json(whole, needed, &again));
  EXPECT(again == needed && whole[0] == '{' && strlen(whole) + 1 == needed);
  EXPECT(strstr(whole, "\"runs\": 3") != NULL && strstr(whole, "reports.c") != NULL);
  EXPECT(strstr(whole, "/* noted in a profile */") != NULL);
  EXPECT(strstr(whole, "sinh") != NULL && strstr(whole, "\"memory\": ") != NULL);
  free(whole);
  file = fopen(path, "rb");
  EXPECT(file != NULL && fread(page, 1, 15, file) == 15 && fclose(file) == 0);
  EXPECT(strcmp(page, "<!doctype html>") == 0 && remove(path) == 0);
  /* without lines of the source, and to a file that cannot be written */
  OK(loom_profile_begin("/none/of/these/folders/run.json", false));
  OK(loom_cosh(x, &y));
  OK(loom_tensor_read(y, back, sizeof back)); /* not to be told */
  OK(loom_tensor_release(y));
  FAILS(LOOM_ERROR_ARGUMENT, loom_profile_end());
  OK(loom_profile_json(NULL, 0, &needed));
  whole = (char *)malloc(needed);
  EXPECT(whole != NULL);
  OK(loom_profile_json(whole, needed, NULL));
  EXPECT(strstr(whole, "cosh") != NULL && strstr(whole, "not to be told") == NULL);
  free(whole);
  OK(loom_tensor_release(x));
  /* the end of the library ends it */
  OK(loom_profile_begin(NULL, true));
}

static void records(void) {
  const float data[2] = {1, 2};
  loom_tensor x = vector(data, 2), y, z;
  loom_program programs[2], one;
  char key[100], other[100];
  float back[2];
  int64_t count;
  size_t n, needed;
  bool finished = false;
  OK(loom_tanh(x, &y));
  OK(loom_exp(y, &z));
  OK(loom_programs_of(&z, 1, programs, 2, &n));
  EXPECT(n == 1 && programs[1].bits == 0);
  OK(loom_program_of(&z, 1, &one));
  OK(loom_program_key(one, key, sizeof key, NULL));
  OK(loom_program_key(programs[0], other, sizeof other, NULL));
  EXPECT(strcmp(key, other) == 0);
  OK(loom_program_collectives(one, text, sizeof text, &needed));
  EXPECT(needed > 1);
  OK(loom_programs_of(&z, 1, NULL, 0, &n));
  EXPECT(n == 1);
  OK(loom_stats_reset());
  OK(loom_stat("ops_executed", &count));
  EXPECT(count == 0);
  OK(loom_tensor_read(z, back, sizeof back));
  OK(loom_stat("ops_executed", &count));
  EXPECT(count == 2);
  OK(loom_evaluations_json(1, text, sizeof text, &needed));
  EXPECT(text[0] == '[' && strstr(text, key) != NULL && strstr(text, "reports.c:") != NULL);
  EXPECT(strstr(text, "\"cause\": \"read\"") != NULL && strstr(text, "\"changes\": [") != NULL);
  OK(loom_evaluations_json(0, text, 0, &needed));
  OK(loom_finish_compiling(60, &finished));
  EXPECT(finished);
  OK(loom_finish_compiling(-1, NULL));
  OK(loom_platform(text, sizeof text, NULL));
  EXPECT(strcmp(text, "cpu") == 0);
  OK(loom_cache_dir(text, sizeof text, NULL));
  EXPECT(text[0] == '/');
  carried();
  OK(loom_tensor_picture(z, false, text, sizeof text, NULL));
  EXPECT(text[0] != 0);
  OK(loom_tensor_picture(z, true, text, sizeof text, NULL));
  EXPECT(strstr(text, "<svg") != NULL);
  OK(loom_program_picture(one, text, sizeof text, NULL));
  EXPECT(strstr(text, "<svg") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_codegen_load("no/such/library.so", text, sizeof text, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_cache_load(__FILE__, NULL, NULL));
  EXPECT(strncmp(loom_error_message(), "loom_cache_load: ", 17) == 0);
  OK(loom_codegen_segmented(true));
  OK(loom_codegen_segmented(false));
  OK(loom_codegen_verify(true));
  OK(loom_codegen_verify(false));
  OK(loom_codegen_measure(one));
  OK(loom_codegen_failures(text, sizeof text, NULL));
  EXPECT(strcmp(text, "[]") == 0);

  OK(loom_program_release(programs[0]));
  FAILS(LOOM_ERROR_HANDLE, loom_codegen_measure(programs[0]));
  FAILS(LOOM_ERROR_HANDLE, loom_program_collectives(programs[0], text, 10, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_programs_of(&x, 1, programs, 2, &n));
  FAILS(LOOM_ERROR_ARGUMENT, loom_programs_of(&z, (size_t)1 << 40, programs, 2, &n));
  FAILS(LOOM_ERROR_ARGUMENT, loom_programs_of(&z, 1, programs, (size_t)1 << 40, &n));
  FAILS(LOOM_ERROR_ARGUMENT, loom_programs_of(&z, 1, NULL, 1, &n));
  FAILS(LOOM_ERROR_ARGUMENT, loom_finish_compiling(NAN, NULL));
  OK(loom_program_release(one));
  OK(loom_tensor_release(z));
  OK(loom_tensor_release(y));
  OK(loom_tensor_release(x));
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_picture(x, false, text, sizeof text, NULL));
}

typedef struct model {
  loom_tensor weights;
  int done;
} model;

static loom_status run_model(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                             size_t output_count, void *context) {
  loom_tensor product;
  EXPECT(input_count == 1 && output_count == 1);
  OK(loom_matmul(inputs[0], ((model *)context)->weights, &product));
  OK(loom_relu(product, outputs));
  return loom_tensor_release(product);
}

static loom_status failing(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                           size_t output_count, void *context) {
  (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)context;
  return loom_set_error(LOOM_ERROR_EXECUTION, "out of cheese");
}

static void finished_with(void *context) { ++((model *)context)->done; }

static loom_tensor matrix(int64_t rows, int64_t columns) {
  static float data[64 * 64];
  const int64_t shape[2] = {rows, columns};
  loom_tensor result;
  int64_t i;
  for (i = 0; i < rows * columns; ++i) data[i] = (float)((i * 7) % 13 - 6) / 6;
  OK(loom_tensor_from_host(data, (size_t)(rows * columns) * 4, LOOM_FLOAT32, shape, 2, &result));
  return result;
}

static void quantisation(void) {
  const int64_t skip[1] = {0};
  model m = {{0}, 0};
  loom_quantize_options how = {sizeof how, 99.9, NULL, 0}, none_left = {sizeof how, 0, skip, 1};
  loom_tensor batches[2], other, results[1], exact;
  loom_quantized q;
  float a[16 * 8], b[16 * 8];
  int i;
  m.weights = matrix(32, 8);
  batches[0] = matrix(16, 32);
  batches[1] = matrix(16, 32);
  OK(loom_quantize_function(run_model, &m, finished_with, batches, 2, 1, 1, &how, &q));
  OK(loom_quantized_run(q, batches, 1, results, 1));
  OK(loom_tensor_read(results[0], a, sizeof a));
  OK(run_model(batches, 1, &exact, 1, &m));
  OK(loom_tensor_read(exact, b, sizeof b));
  for (i = 0; i < 16 * 8; ++i) EXPECT(fabsf(a[i] - b[i]) < 0.3f);
  EXPECT(memcmp(a, b, sizeof a) != 0);
  OK(loom_tensor_release(results[0]));
  OK(loom_tensor_release(exact));
  OK(loom_quantized_json(q, text, sizeof text, NULL));
  EXPECT(strstr(text, "\"shape\": [16, 32]") != NULL && strstr(text, "int8") != NULL);
  /* other shapes, for which the function is called again */
  other = matrix(4, 32);
  OK(loom_quantized_run(q, &other, 1, results, 1));
  OK(loom_tensor_release(results[0]));
  FAILS(LOOM_ERROR_ARGUMENT, loom_quantized_run(q, &other, 0, results, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_quantized_run(q, &other, 1, results, 0));
  FAILS(LOOM_ERROR_ARGUMENT, loom_quantized_run(q, &other, (size_t)1 << 40, results, 1));
  EXPECT(m.done == 0);
  OK(loom_quantized_release(q));
  EXPECT(m.done == 1);
  FAILS(LOOM_ERROR_HANDLE, loom_quantized_run(q, &other, 1, results, 1));
  FAILS(LOOM_ERROR_HANDLE, loom_quantized_release(q));
  FAILS(LOOM_ERROR_HANDLE, loom_quantized_json(q, text, sizeof text, NULL));

  FAILS(LOOM_ERROR_EXECUTION,
        loom_quantize_function(failing, &m, finished_with, batches, 2, 1, 1, NULL, &q));
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_quantize_function(run_model, &m, finished_with, batches, 2, 1, 1, &none_left, &q));
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_quantize_function(run_model, &m, finished_with, NULL, 2, 1, 1, NULL, &q));
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_quantize_function(run_model, &m, finished_with, batches, 0, 1, 1, NULL, &q));
  FAILS(LOOM_ERROR_ARGUMENT, loom_quantize_function(run_model, &m, finished_with, batches,
                                           (size_t)1 << 19, (size_t)1 << 19, 1, NULL, &q));
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_quantize_function(run_model, &m, finished_with, batches, 1, 1, 1, NULL, NULL));
  how.size = 1;
  FAILS(LOOM_ERROR_ARGUMENT,
        loom_quantize_function(run_model, &m, finished_with, batches, 1, 1, 1, &how, &q));
  EXPECT(m.done == 8 && q.bits == 0);
  OK(loom_tensor_release(other));
  OK(loom_tensors_release(batches, 2));
  OK(loom_tensor_release(m.weights));
}

int main(void) {
  size_t live;
  OK(loom_initialize());
  keys();
  options();
  new_programs();
  memory();
  records();
  quantisation();
  profiled();
  OK(loom_live_handles(&live));
  EXPECT(live == 0);
  OK(loom_shutdown());
  puts("reports work");
  return 0;
}
