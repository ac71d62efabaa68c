/* The character transformer of transformer.c: its sizes, its parameters and one step of training.
   transformer_torch.py has the same model for the torch-like frontend, with the same names, first
   values and batches; a step of both is one program.

   Layers as in GPT-2: tokens + positions; in each block x + attention(norm1(x)), then
   x + down(gelu(up(norm2(x)))); a norm and a linear layer that gives a score per character. */
#ifndef TRANSFORMER_H
#define TRANSFORMER_H

#include "lazyloom_nn.h"

enum { WINDOW = 64, BATCH = 16, FEATURES = 64, HEADS = 4, BLOCKS = 2, MOST_CHARACTERS = 256 };

#define TRY(call)                                                           \
  do {                                                                      \
    if ((call) != LOOM_OK) {                                                \
      fprintf(stderr, "%s: %s\n", loom_error_site(), loom_error_message()); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

typedef struct transformer {
  loom_nn_list parameters; /* and the optimizer's state */
  loom_nn_optimizer optimizer;
  loom_nn_scope temporaries; /* of the step that is being recorded */
  int64_t characters;
} transformer;

/* The name of a layer of a block; valid until the next call, so not twice in one expression. */
static const char *of_block(int block, const char *layer) {
  static char name[40];
  snprintf(name, sizeof name, "blocks.%d.%s", block, layer);
  return name;
}

/* Makes the parameters, with their first values. */
static void start_network(transformer *model, int64_t characters) {
  const int64_t shape[2] = {WINDOW, FEATURES};
  loom_nn_list *net = &model->parameters;
  loom_nn_random random = loom_nn_random_from(2024);
  int i;
  memset(model, 0, sizeof *model);
  model->characters = characters;
  /* the order of PyTorch's parameters(), and that in which its modules draw their values */
  TRY(loom_nn_new(net, "positions", shape, 2, true, NULL));
  TRY(loom_nn_embedding_new(net, "tokens", characters, FEATURES, &random));
  TRY(loom_nn_normal(net, "positions", &random, 0, 0.02));
  for (i = 0; i < BLOCKS; ++i) {
    TRY(loom_nn_norm_new(net, of_block(i, "norm1"), FEATURES, true));
    TRY(loom_nn_self_attention_new(net, of_block(i, "attention"), FEATURES, &random));
    TRY(loom_nn_norm_new(net, of_block(i, "norm2"), FEATURES, true));
    TRY(loom_nn_linear_new(net, of_block(i, "up"), FEATURES, 4 * FEATURES, true, &random));
    TRY(loom_nn_linear_new(net, of_block(i, "down"), 4 * FEATURES, FEATURES, true, &random));
  }
  TRY(loom_nn_norm_new(net, "norm", FEATURES, true));
  TRY(loom_nn_linear_new(net, "head", FEATURES, characters, true, &random));
  loom_nn_random_free(&random);
}

/* The parameters and an optimizer, with torch.optim.AdamW's defaults but for the rate. */
static inline void start(transformer *model, int64_t characters, double rate) {
  start_network(model, characters);
  TRY(loom_nn_adamw(&model->optimizer, &model->parameters, rate, 0.9, 0.999, 1e-8, 0.01));
}

static inline void finish(transformer *model) {
  loom_nn_scope_free(&model->temporaries);
  loom_nn_optimizer_free(&model->optimizer);
  loom_nn_list_free(&model->parameters);
}

/* The handle, which is released when the step has been recorded. */
static loom_tensor kept(transformer *model, loom_tensor tensor) {
  TRY(loom_nn_keep(&model->temporaries, tensor));
  return tensor;
}

static loom_tensor sum(transformer *model, loom_tensor x, loom_tensor y) {
  loom_tensor z;
  TRY(loom_add(x, y, &z));
  return kept(model, z);
}

static loom_tensor linear(transformer *model, const char *name, loom_tensor x) {
  loom_tensor y;
  TRY(loom_nn_linear(&model->parameters, name, x, &y));
  return kept(model, y);
}

static loom_tensor norm(transformer *model, const char *name, loom_tensor x) {
  loom_tensor y;
  TRY(loom_nn_layer_norm(&model->parameters, name, x, 1e-5, &y));
  return kept(model, y);
}

/* The scores (N, WINDOW, characters) of what follows each of tokens, int64 (N, WINDOW). */
static loom_tensor scores_of(transformer *model, loom_tensor tokens) {
  loom_tensor x, y, positions;
  int i;
  TRY(loom_nn_embedding(&model->parameters, "tokens", tokens, &x));
  TRY(loom_nn_find(&model->parameters, "positions", &positions));
  x = sum(model, kept(model, x), positions);
  for (i = 0; i < BLOCKS; ++i) {
    y = norm(model, of_block(i, "norm1"), x);
    TRY(loom_nn_self_attention(&model->parameters, of_block(i, "attention"), y, HEADS, true, &y));
    x = sum(model, x, kept(model, y));
    y = norm(model, of_block(i, "norm2"), x);
    y = linear(model, of_block(i, "up"), y);
    TRY(loom_gelu(y, "none", &y));
    y = linear(model, of_block(i, "down"), kept(model, y));
    x = sum(model, x, y);
  }
  return linear(model, "head", norm(model, "norm", x));
}

/* Records one step on inputs (BATCH, WINDOW) and what follows each, (BATCH * WINDOW); gives the
   loss before it, a new handle without history. */
static inline loom_tensor step(transformer *model, loom_tensor inputs, loom_tensor targets) {
  int64_t shape[2];
  loom_tensor scores = scores_of(model, inputs), loss, result;
  shape[0] = BATCH * WINDOW;
  shape[1] = model->characters;
  TRY(loom_reshape(scores, shape, 2, &scores));
  TRY(loom_nn_cross_entropy(kept(model, scores), targets, &loss));
  TRY(loom_backward(&loss, 1, NULL));
  TRY(loom_nn_step(&model->optimizer));
  TRY(loom_tensor_detach(kept(model, loss), &result));
  loom_nn_scope_end(&model->temporaries);
  return result;
}

/* The tensors that a captured step is over: parameters, state, inputs and targets. Gives their
   number, at most that of places. */
static inline size_t captured_inputs(const transformer *model, loom_tensor inputs,
                                     loom_tensor targets, loom_tensor *places, size_t count) {
  const loom_nn_list *net = &model->parameters;
  if (net->count + 2 > count) exit(1);
  memcpy(places, net->tensors, net->count * sizeof *places);
  places[net->count] = inputs;
  places[net->count + 1] = targets;
  return net->count + 2;
}

/* ---- batches of a text ----------------------------------------------------------- */

typedef struct text {
  size_t length;
  unsigned char *bytes;
  int64_t characters;                    /* how many different ones there are */
  int64_t number[MOST_CHARACTERS];       /* of each byte, in the order of the bytes */
  unsigned char letter[MOST_CHARACTERS]; /* of each number */
  uint64_t state;                        /* of SplitMix64, which chooses the batches */
} text;

static text read_text(const char *path) {
  text t;
  size_t i, most = 1 << 24;
  FILE *file = fopen(path, "rb");
  memset(&t, 0, sizeof t);
  t.state = 2024;
  t.bytes = (unsigned char *)malloc(most);
  if (file == NULL || t.bytes == NULL) {
    fprintf(stderr, "%s cannot be opened\n", path);
    exit(1);
  }
  t.length = fread(t.bytes, 1, most, file);
  fclose(file);
  if (t.length <= WINDOW) {
    fprintf(stderr, "%s has %u bytes, expected more than %d\n", path, (unsigned)t.length, WINDOW);
    exit(1);
  }
  for (i = 0; i < t.length; ++i) t.number[t.bytes[i]] = 1;
  for (i = 0; i < MOST_CHARACTERS; ++i)
    if (t.number[i]) {
      t.letter[t.characters] = (unsigned char)i;
      t.number[i] = t.characters++;
    }
  return t;
}

static inline uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* Windows at random places, and what follows each of their characters. Both are new. */
static inline void next_batch(text *t, loom_tensor *inputs, loom_tensor *targets) {
  static const int64_t shape[2] = {BATCH, WINDOW};
  static const int64_t flat = BATCH * WINDOW;
  static int64_t x[BATCH * WINDOW], y[BATCH * WINDOW];
  int i, k;
  for (i = 0; i < BATCH; ++i) {
    const size_t at = (size_t)(next_random(&t->state) % (t->length - WINDOW));
    for (k = 0; k < WINDOW; ++k) {
      x[i * WINDOW + k] = t->number[t->bytes[at + (size_t)k]];
      y[i * WINDOW + k] = t->number[t->bytes[at + (size_t)k + 1]];
    }
  }
  TRY(loom_tensor_from_host(x, sizeof x, LOOM_INT64, shape, 2, inputs));
  TRY(loom_tensor_from_host(y, sizeof y, LOOM_INT64, &flat, 1, targets));
}

#endif
