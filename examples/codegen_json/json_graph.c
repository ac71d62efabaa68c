/* A code generator as a plug-in: the JSON runtime of "Bring Your Own Codegen" (arXiv 2105.03215).
   An engine is a region's graph as JSON, read once and computed node by node; see README.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lazyloom_codegen.h"
#include "lazyloom_codegen_json.h"

static const char *const OPS[] = {"add",  "subtract", "multiply", "maximum",
                                  "relu", "tanh",     "matmul"};
enum { ADD, SUBTRACT, MULTIPLY, MAXIMUM, RELU, TANH, MATMUL, OP_COUNT };

static int op_of(const char *node) {
  int op = 0;
  while (op < OP_COUNT && !loom_codegen_is(loom_codegen_member(node, "op"), OPS[op])) ++op;
  return op;
}

static size_t extent(const char *type, size_t axis) {
  return (size_t)loom_codegen_integer(
      loom_codegen_item(loom_codegen_member(type, "shape"), axis), 1);
}

static size_t size_of(const char *type) {
  size_t size = 1, axis = loom_codegen_count(loom_codegen_member(type, "shape"));
  while (axis-- > 0) size *= extent(type, axis);
  return size;
}

static loom_codegen_status supports(void *context, const char *call, loom_codegen_error *error) {
  const char *operands = loom_codegen_member(call, "operands");
  const char *result = loom_codegen_item(loom_codegen_member(call, "results"), 0);
  const int op = op_of(call);
  size_t k;
  (void)context;
  if (op == OP_COUNT) return loom_codegen_fail(error, LOOM_CODEGEN_NO, "not in its table");
  for (k = 0; k < loom_codegen_count(operands); ++k) {
    const char *type = loom_codegen_item(operands, k);
    const size_t rank = loom_codegen_count(loom_codegen_member(type, "shape"));
    if (!loom_codegen_is(loom_codegen_member(type, "dtype"), "float32"))
      return loom_codegen_fail(error, LOOM_CODEGEN_NO, "an operand is not float32");
    if (op == MATMUL ? rank != 2 : size_of(type) != 1 && size_of(type) != size_of(result))
      return loom_codegen_fail(error, LOOM_CODEGEN_NO, "an operand is broadcast, or no matrix");
  }
  return LOOM_CODEGEN_OK;
}

typedef struct {
  const char *kind; /* "operand", "node", or NULL for a constant */
  size_t number, step; /* step: 0 for one element, which all of the result's take */
  float constant;
} Input;

typedef struct {
  int op;
  size_t size, rows, inner, columns, input_count;
  Input inputs[2];
} Node;

typedef struct {
  char *json;
  Node *nodes;
  size_t *results; /* the node of each */
  size_t node_count, result_count;
} Engine;

static void destroy(void *given) {
  Engine *engine = given;
  if (engine != NULL) free(engine->json), free(engine->nodes), free(engine->results);
  free(engine);
}

static void read_node(Node *into, const char *region, const char *node) {
  const char *inputs = loom_codegen_member(node, "inputs"), *number;
  const char *result = loom_codegen_item(loom_codegen_member(node, "results"), 0);
  size_t k;
  *into = (Node){op_of(node), size_of(result), extent(result, 0), 1, extent(result, 1),
                 loom_codegen_count(inputs), {{0}}};
  for (k = 0; k < 2 && k < into->input_count; ++k) {
    const char *input = loom_codegen_item(inputs, k), *type = NULL;
    Input *to = &into->inputs[k];
    if ((number = loom_codegen_member(input, to->kind = "operand")) != NULL) {
      type = loom_codegen_item(loom_codegen_member(region, "operands"), (size_t)atoi(number));
    } else if ((number = loom_codegen_member(input, to->kind = "node")) != NULL) {
      type = loom_codegen_item(loom_codegen_member(region, "nodes"), (size_t)atoi(number));
      type = loom_codegen_item(loom_codegen_member(type, "results"), 0);
    } else {
      to->kind = NULL;
      to->constant = (float)loom_codegen_number(loom_codegen_member(input, "constant"), 0);
    }
    to->number = (size_t)loom_codegen_integer(number, 0);
    to->step = type != NULL && size_of(type) != 1;
    if (k == 0) into->inner = extent(type, 1);
  }
}

/* Also what an engine is made of again: its bytes are its JSON. */
static loom_codegen_status deserialize(void *context, const char *region, const void *data,
                                       size_t size, void **result, loom_codegen_error *error) {
  Engine *engine = calloc(1, sizeof *engine);
  size_t k;
  (void)context, (void)region;
  if (engine == NULL || (engine->json = calloc(size + 1, 1)) == NULL) goto failed;
  memcpy(engine->json, data, size);
  const char *nodes = loom_codegen_member(engine->json, "nodes");
  const char *results = loom_codegen_member(engine->json, "results");
  engine->node_count = loom_codegen_count(nodes);
  engine->result_count = loom_codegen_count(results);
  engine->nodes = calloc(engine->node_count + 1, sizeof *engine->nodes);
  engine->results = calloc(engine->result_count + 1, sizeof *engine->results);
  if (engine->nodes == NULL || engine->results == NULL) goto failed;
  for (k = 0; k < engine->node_count; ++k)
    read_node(&engine->nodes[k], engine->json, loom_codegen_item(nodes, k));
  for (k = 0; k < engine->result_count; ++k)
    engine->results[k] = (size_t)loom_codegen_integer(
        loom_codegen_member(loom_codegen_item(results, k), "node"), 0);
  *result = engine;
  return LOOM_CODEGEN_OK;
failed:
  destroy(engine);
  return loom_codegen_fail(error, LOOM_CODEGEN_OUT_OF_MEMORY, "no memory for a graph");
}

static loom_codegen_status compile(void *context, const char *region,
                                   const loom_codegen_array *const *operands, size_t operand_count,
                                   void **engine, loom_codegen_error *error) {
  (void)operands, (void)operand_count; /* no values are asked for */
  return deserialize(context, region, region, strlen(region), engine, error);
}

static loom_codegen_status serialize(void *given, void *data, size_t capacity, size_t *size,
                                     loom_codegen_error *error) {
  const Engine *engine = given;
  *size = strlen(engine->json);
  if (capacity >= *size) memcpy(data, engine->json, *size);
  (void)error;
  return LOOM_CODEGEN_OK;
}

static void compute(const Node *node, const float *a, const float *b, float *out) {
  size_t k, i, j;
  if (node->op == MATMUL) {
    memset(out, 0, node->size * sizeof *out);
    for (i = 0; i < node->rows; ++i)
      for (k = 0; k < node->inner; ++k)
        for (j = 0; j < node->columns; ++j)
          out[i * node->columns + j] += a[i * node->inner + k] * b[k * node->columns + j];
    return;
  }
  for (k = 0; k < node->size; ++k) {
    const float x = a[k * node->inputs[0].step], y = b ? b[k * node->inputs[1].step] : 0;
    switch (node->op) {
      case ADD: out[k] = x + y; break;
      case SUBTRACT: out[k] = x - y; break;
      case MULTIPLY: out[k] = x * y; break;
      case TANH: out[k] = tanhf(x); break;
      default: out[k] = x > y || x != x ? x : y; /* the larger, NaN if one is; relu has y = 0 */
    }
  }
}

static loom_codegen_status run(void *given, const loom_codegen_array *const *operands,
                               size_t operand_count, const loom_codegen_array *const *results,
                               size_t result_count, loom_codegen_error *error) {
  const Engine *engine = given;
  float **values = calloc(engine->node_count + 1, sizeof *values);
  loom_codegen_status status = LOOM_CODEGEN_OK;
  size_t n, k = operand_count;
  for (n = 0; values != NULL && n < engine->node_count; ++n) {
    const Node *node = &engine->nodes[n];
    const float *inputs[2] = {NULL, NULL};
    for (k = 0; k < node->input_count; ++k) {
      const Input *input = &node->inputs[k];
      inputs[k] = input->kind == NULL ? &input->constant :
                  *input->kind == 'o' ? operands[input->number]->data : values[input->number];
    }
    if ((values[n] = malloc(node->size * sizeof(float))) == NULL) break;
    compute(node, inputs[0], inputs[1], values[n]);
  }
  if (values == NULL || n < engine->node_count)
    status = loom_codegen_fail(error, LOOM_CODEGEN_OUT_OF_MEMORY, "no memory for a node");
  for (k = 0; status == LOOM_CODEGEN_OK && k < result_count; ++k)
    memcpy(results[k]->data, values[engine->results[k]],
           engine->nodes[engine->results[k]].size * sizeof(float));
  for (n = 0; values != NULL && n < engine->node_count; ++n) free(values[n]);
  free(values);
  return status;
}

static const loom_codegen_plugin PLUGIN = {
    .struct_size = sizeof PLUGIN, .major = LOOM_CODEGEN_MAJOR, .minor = LOOM_CODEGEN_MINOR,
    .name = "json_graph", .version = "1", .flags = LOOM_CODEGEN_PORTABLE_ENGINES,
    .supports = supports, .compile = compile, .run = run, .destroy = destroy,
    .serialize = serialize, .deserialize = deserialize};

const loom_codegen_plugin *loom_codegen_plugin_1(const loom_codegen_host *host,
                                                 loom_codegen_error *error) {
  return (void)host, (void)error, &PLUGIN;
}
