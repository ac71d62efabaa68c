/* A plug-in for tests: sums and products of float32 arrays of two axes, in the orders in memory that
   it asks for, with what tests make it do wrong. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lazyloom_codegen.h"
#include "lazyloom_codegen_json.h"

/* What a test sets, and what it reads. */
enum { WELL, NO_COMPILE, NO_MEMORY, NO_RUN, SILENT, NO_ENGINE, HANG, LONG_BYTES, STALE, SMALL,
       HANG_RESTORING, HANG_SERIALIZING, ENDLESS_BYTES };
LOOM_CODEGEN_EXPORT int test_mode, test_turned, test_constants;
LOOM_CODEGEN_EXPORT long test_compiled, test_restored, test_destroyed, test_runs, test_known;

typedef struct {
  size_t operands, nodes;
  int ops[8]; /* 1: a product */
  int kinds[8][2]; /* 0: an operand, 1: a node */
  size_t numbers[8][2];
} Engine;

static loom_codegen_status supports(void *context, const char *call, loom_codegen_error *error) {
  const char *operands = loom_codegen_member(call, "operands");
  size_t k;
  if (strcmp(context, "context")) return LOOM_CODEGEN_ERROR;
  if (!loom_codegen_is(loom_codegen_member(call, "op"), "add") &&
      !loom_codegen_is(loom_codegen_member(call, "op"), "multiply"))
    return loom_codegen_fail(error, LOOM_CODEGEN_NO, "neither a sum nor a product");
  for (k = 0; k < 2; ++k) {
    const char *type = loom_codegen_item(operands, k);
    if (loom_codegen_count(loom_codegen_member(type, "shape")) != 2 ||
        !loom_codegen_is(loom_codegen_member(type, "dtype"), "float32"))
      return LOOM_CODEGEN_NO;
  }
  return LOOM_CODEGEN_OK;
}

static loom_codegen_status worthwhile(void *context, const char *region,
                                      loom_codegen_error *error) {
  (void)context;
  if (loom_codegen_count(loom_codegen_member(region, "nodes")) > 8)
    return loom_codegen_fail(error, LOOM_CODEGEN_NO, "more than 8 ops");
  if (loom_codegen_count(loom_codegen_member(region, "results")) != 1)
    return loom_codegen_fail(error, LOOM_CODEGEN_NO, "more than one result");
  if (test_mode == SMALL) return loom_codegen_fail(error, LOOM_CODEGEN_TOO_SMALL, "too few ops");
  return LOOM_CODEGEN_OK;
}

static loom_codegen_status estimate(void *context, const char *region, double *seconds,
                                    loom_codegen_error *error) {
  (void)context, (void)region, (void)error;
  *seconds = 0.25;
  return LOOM_CODEGEN_OK;
}

static loom_codegen_status layouts(void *context, const char *region, int64_t *axes, size_t count,
                                   loom_codegen_error *error) {
  size_t k;
  (void)context, (void)region, (void)error;
  for (k = 0; test_turned && k < count; ++k) axes[k] = (int64_t)(1 - k % 2);
  return LOOM_CODEGEN_OK;
}

static loom_codegen_status constants(void *context, const char *region, uint8_t *is_constant,
                                     size_t count, loom_codegen_error *error) {
  (void)context, (void)region, (void)error;
  if (test_constants && count > 1) is_constant[1] = 1;
  return LOOM_CODEGEN_OK;
}

static loom_codegen_status make(const char *region, void **result) {
  Engine *engine = calloc(1, sizeof *engine);
  const char *nodes = loom_codegen_member(region, "nodes");
  size_t n, k;
  if (engine == NULL) return LOOM_CODEGEN_OUT_OF_MEMORY;
  engine->operands = loom_codegen_count(loom_codegen_member(region, "operands"));
  engine->nodes = loom_codegen_count(nodes);
  for (n = 0; n < engine->nodes; ++n) {
    const char *node = loom_codegen_item(nodes, n);
    engine->ops[n] = loom_codegen_is(loom_codegen_member(node, "op"), "multiply");
    for (k = 0; k < 2; ++k) {
      const char *input = loom_codegen_item(loom_codegen_member(node, "inputs"), k);
      const char *number = loom_codegen_member(input, "operand");
      engine->kinds[n][k] = number == NULL;
      if (number == NULL) number = loom_codegen_member(input, "node");
      engine->numbers[n][k] = (size_t)loom_codegen_integer(number, 0);
    }
  }
  *result = engine;
  return LOOM_CODEGEN_OK;
}

static loom_codegen_status compile(void *context, const char *region,
                                   const loom_codegen_array *const *operands, size_t operand_count,
                                   void **engine, loom_codegen_error *error) {
  size_t k;
  (void)context;
  ++test_compiled;
  if (test_mode == NO_COMPILE)
    return loom_codegen_fail(error, LOOM_CODEGEN_ERROR, "the compiler is not here");
  if (test_mode == NO_MEMORY) return LOOM_CODEGEN_OUT_OF_MEMORY;
  if (test_mode == NO_ENGINE) return LOOM_CODEGEN_OK;
  while (test_mode == HANG) usleep(1000);
  for (k = 0; k < operand_count; ++k)
    if (operands[k]->data != NULL) test_known += (long)*(float *)operands[k]->data;
  return make(region, engine);
}

static float at(const loom_codegen_array *array, int64_t i, int64_t j) {
  return *(const float *)((const char *)array->data + i * array->strides[0] +
                          j * array->strides[1]);
}

static loom_codegen_status run(void *given, const loom_codegen_array *const *operands,
                               size_t operand_count, const loom_codegen_array *const *results,
                               size_t result_count, loom_codegen_error *error) {
  const Engine *engine = given;
  const loom_codegen_array *result = results[0];
  int64_t i, j;
  size_t n, k;
  ++test_runs;
  if (test_mode == NO_RUN) return loom_codegen_fail(error, LOOM_CODEGEN_ERROR, "the device is off");
  if (test_mode == SILENT) return LOOM_CODEGEN_ERROR;
  if (operand_count != engine->operands || result_count != 1 || result->rank != 2 ||
      result->dtype != LOOM_FLOAT32 || result->struct_size < sizeof *result)
    return loom_codegen_fail(error, LOOM_CODEGEN_ERROR, "other arrays than it was compiled for");
  for (i = 0; i < result->shape[0]; ++i) {
    for (j = 0; j < result->shape[1]; ++j) {
      float values[8] = {0};
      for (n = 0; n < engine->nodes; ++n) {
        float inputs[2];
        for (k = 0; k < 2; ++k)
          inputs[k] = engine->kinds[n][k] ? values[engine->numbers[n][k]]
                                          : at(operands[engine->numbers[n][k]], i, j);
        values[n] = engine->ops[n] ? inputs[0] * inputs[1] : inputs[0] + inputs[1];
      }
      *(float *)((char *)result->data + i * result->strides[0] + j * result->strides[1]) =
          values[engine->nodes - 1];
    }
  }
  return LOOM_CODEGEN_OK;
}

static void destroy(void *engine) {
  ++test_destroyed;
  free(engine);
}

static loom_codegen_status serialize(void *engine, void *data, size_t capacity, size_t *size,
                                     loom_codegen_error *error) {
  (void)error;
  while (test_mode == HANG_SERIALIZING) usleep(1000);
  *size = test_mode == ENDLESS_BYTES ? (size_t)-1 : sizeof(Engine);
  if (capacity >= sizeof(Engine)) memcpy(data, engine, sizeof(Engine));
  if (capacity && test_mode == LONG_BYTES) ++*size;
  return LOOM_CODEGEN_OK;
}

static loom_codegen_status deserialize(void *context, const char *region, const void *data,
                                       size_t size, void **engine, loom_codegen_error *error) {
  (void)context, (void)region;
  while (test_mode == HANG_RESTORING) usleep(1000);
  if (test_mode == STALE || size != sizeof(Engine))
    return loom_codegen_fail(error, LOOM_CODEGEN_NO, "these bytes are of an older device");
  if ((*engine = malloc(sizeof(Engine))) == NULL) return LOOM_CODEGEN_OUT_OF_MEMORY;
  memcpy(*engine, data, size);
  ++test_restored;
  return LOOM_CODEGEN_OK;
}

#ifndef NAME
#define NAME "test_plugin"
#endif
#ifndef MAJOR
#define MAJOR LOOM_CODEGEN_MAJOR
#endif
#ifndef SIZE
#define SIZE sizeof(loom_codegen_plugin)
#endif

static const loom_codegen_plugin PLUGIN = {
    SIZE, MAJOR, LOOM_CODEGEN_MINOR, NAME, "3", "device=7", "context", 8, 4, 0, supports, worthwhile,
    estimate, layouts, constants, compile, run, destroy, serialize, deserialize};

#ifndef NO_SYMBOL
const loom_codegen_plugin *loom_codegen_plugin_1(const loom_codegen_host *host,
                                                 loom_codegen_error *error) {
  if (host->struct_size < sizeof *host || host->major != 1 || host->lazyloom == NULL) abort();
#ifdef NOT_HERE
  (void)loom_codegen_fail(error, LOOM_CODEGEN_ERROR, "there is no such device");
  return NULL;
#endif
  (void)error;
  return &PLUGIN;
}
#endif
