/* The digits classifier as a C program, with the public functions of Lazyloom only.

     cc -std=c99 digits.c $(python -m lazyloom_capi --cflags --libs) -o digits
     ./digits [DATA_FOLDER [REPORT.json [DEVICES]]]

   With DEVICES, each batch is divided over as many; JAX_NUM_CPU_DEVICES divides the processor.

   It trains what digits_numpy.py and digits_torch.py train, so everything that the three
   must share is fixed here:

   Data       images / 16 as float32 [n, 64]; labels as int64 [n].
   Network    64 - 64 - 32 - 10, ReLU between: h = relu(x @ w + b); cross-entropy, mean.
   Random     SplitMix64 from the seed 2024 (Steele, Lea and Flood, 2014), one stream for all:
                state += 0x9E3779B97F4A7C15; z = state;
                z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
                z = (z ^ z >> 27) * 0x94D049BB133111EB; return z ^ z >> 31.
   Weights    w1, w2, w3 in this order, row by row: (2 u - 1) * sqrt(6 / inputs) in double,
              stored as float32, u = (next() >> 40) / 2^24; biases are 0 and draw nothing.
   Order      0, 1, ..., n - 1 once; each of 20 epochs shuffles it further, in place, by
              Fisher and Yates: for i = n - 1 down to 1, swap i and next() % (i + 1).
              Batches of 32 in that order; what is left over at the end is not used.
   Step       x = take(images, chosen), y = take(labels, chosen), loss, its six gradients g;
              for each parameter p with its momentum m, which starts as 0:
                m = m * 0.9; m = m + g; p = p - m * 0.05.
              The loss is read after all of that has been recorded and everything
              temporary released, so that a step is one program and one run. */
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lazyloom_ops.h"

enum { PIXELS = 64, CLASSES = 10, LAYERS = 3, PARAMETERS = 2 * LAYERS, EPOCHS = 20, BATCH = 32 };

static const size_t sizes[LAYERS + 1] = {PIXELS, 64, 32, CLASSES};
/* sqrt(6 / inputs) of each layer, written out to be the same bits everywhere */
static const double bounds[LAYERS] = {0.30618621784789724, 0.30618621784789724,
                                      0.4330127018922193};
static const double learning_rate = 0.05, momentum = 0.9;

static void check(loom_status status, const char *call) {
  if (status == LOOM_OK) return;
  fprintf(stderr, "%s\nfailed at %s: %s: %s\n", call, loom_error_site(),
          loom_status_name(status), loom_error_message());
  exit(1);
}

#define TRY(call) check((call), #call)

/* the mesh over which batches are divided, such as "data=2", or "" for one device */
static char mesh[40] = "";

/* Puts a tensor onto the mesh, if there is one. */
static void place(loom_tensor *tensor, const char *spec) {
  loom_tensor placed;
  if (mesh[0] == 0) return;
  TRY(loom_tensor_shard(*tensor, mesh, NULL, spec, &placed));
  TRY(loom_tensor_release(*tensor));
  *tensor = placed;
}

/* ---- random numbers ------------------------------------------------------------- */

static uint64_t state = 2024;

static uint64_t next_random(void) {
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static void shuffle(int64_t *order, size_t count) {
  size_t i, j;
  for (i = count - 1; i > 0; --i) {
    int64_t kept = order[i];
    j = (size_t)(next_random() % (i + 1));
    order[i] = order[j];
    order[j] = kept;
  }
}

/* ---- data ------------------------------------------------------------------------ */

typedef struct {
  size_t count;
  unsigned char *pixels; /* [count, 64], 0 to 16 */
  unsigned char *labels; /* [count] */
} digits;

/* The bytes of an IDX file, as MNIST's files are: *count times `each` of them. */
static unsigned char *read_idx(const char *folder, const char *name, size_t each, size_t *count) {
  char path[1000];
  unsigned char header[16];
  unsigned char *bytes;
  size_t dimensions = each > 1 ? 3 : 1, length;
  FILE *file;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  file = fopen(path, "rb");
  if (file == NULL) {
    fprintf(stderr, "%s cannot be opened\n", path);
    exit(1);
  }
  length = 4 + 4 * dimensions;
  if (fread(header, 1, length, file) != length || header[2] != 8 || header[3] != dimensions) {
    fprintf(stderr, "%s is not an IDX file of unsigned bytes\n", path);
    exit(1);
  }
  *count = (size_t)header[4] << 24 | (size_t)header[5] << 16 | (size_t)header[6] << 8 | header[7];
  bytes = (unsigned char *)malloc(*count * each);
  if (bytes == NULL || fread(bytes, each, *count, file) != *count) {
    fprintf(stderr, "%s is cut short\n", path);
    exit(1);
  }
  fclose(file);
  return bytes;
}

static digits read_digits(const char *folder, const char *part) {
  digits d;
  char name[100];
  size_t labels;
  snprintf(name, sizeof name, "%s-images.idx3-ubyte", part);
  d.pixels = read_idx(folder, name, PIXELS, &d.count);
  snprintf(name, sizeof name, "%s-labels.idx1-ubyte", part);
  d.labels = read_idx(folder, name, 1, &labels);
  if (labels != d.count) {
    fprintf(stderr, "%s: %u images and %u labels\n", part, (unsigned)d.count, (unsigned)labels);
    exit(1);
  }
  return d;
}

static loom_tensor floats(const float *data, const int64_t *shape, size_t ndim) {
  size_t i, nbytes = sizeof(float);
  loom_tensor result;
  for (i = 0; i < ndim; ++i) nbytes *= (size_t)shape[i];
  TRY(loom_tensor_from_host(data, nbytes, LOOM_FLOAT32, shape, ndim, &result));
  return result;
}

static loom_tensor integers(const int64_t *data, size_t count) {
  const int64_t shape = (int64_t)count;
  loom_tensor result;
  TRY(loom_tensor_from_host(data, count * sizeof *data, LOOM_INT64, &shape, 1, &result));
  return result;
}

static loom_tensor images_of(const digits *d) {
  size_t i, n = d->count * PIXELS;
  int64_t shape[2];
  float *scaled = (float *)malloc(n * sizeof *scaled);
  loom_tensor result;
  if (scaled == NULL) exit(1);
  for (i = 0; i < n; ++i) scaled[i] = (float)d->pixels[i] / 16.0f;
  shape[0] = (int64_t)d->count;
  shape[1] = PIXELS;
  result = floats(scaled, shape, 2);
  free(scaled);
  return result;
}

static loom_tensor labels_of(const digits *d) {
  size_t i;
  int64_t *wide = (int64_t *)malloc(d->count * sizeof *wide);
  loom_tensor result;
  if (wide == NULL) exit(1);
  for (i = 0; i < d->count; ++i) wide[i] = d->labels[i];
  result = integers(wide, d->count);
  free(wide);
  return result;
}

/* ---- the network ------------------------------------------------------------------ */

typedef struct {
  loom_tensor parameters[PARAMETERS]; /* w1, b1, w2, b2, w3, b3 */
  loom_tensor momenta[PARAMETERS];
} network;

static void initialise(network *net) {
  size_t layer, i;
  for (layer = 0; layer < LAYERS; ++layer) {
    const size_t inputs = sizes[layer], outputs = sizes[layer + 1];
    float *weights = (float *)malloc(inputs * outputs * sizeof *weights);
    float *zeros = (float *)calloc(inputs * outputs, sizeof *zeros);
    int64_t shape[2];
    if (weights == NULL || zeros == NULL) exit(1);
    for (i = 0; i < inputs * outputs; ++i) {
      const double u = (double)(next_random() >> 40) / 16777216.0;
      weights[i] = (float)((2.0 * u - 1.0) * bounds[layer]);
    }
    shape[0] = (int64_t)inputs;
    shape[1] = (int64_t)outputs;
    net->parameters[2 * layer] = floats(weights, shape, 2);
    net->parameters[2 * layer + 1] = floats(zeros, shape + 1, 1);
    net->momenta[2 * layer] = floats(zeros, shape, 2);
    net->momenta[2 * layer + 1] = floats(zeros, shape + 1, 1);
    free(weights);
    free(zeros);
  }
  for (i = 0; i < PARAMETERS; ++i) {
    place(&net->parameters[i], "");
    place(&net->momenta[i], "");
  }
  for (i = 0; i < PARAMETERS; ++i) TRY(loom_tensor_require_grad(net->parameters[i], true));
}

static loom_tensor logits_of(const network *net, loom_tensor x) {
  loom_tensor product, sum, h = x;
  size_t layer;
  for (layer = 0; layer < LAYERS; ++layer) {
    TRY(loom_matmul(h, net->parameters[2 * layer], &product));
    TRY(loom_add(product, net->parameters[2 * layer + 1], &sum));
    TRY(loom_tensor_release(product));
    if (layer > 0) TRY(loom_tensor_release(h));
    if (layer == LAYERS - 1) break;
    TRY(loom_relu(sum, &h));
    TRY(loom_tensor_release(sum));
  }
  return sum;
}

/* *target = result, and result's handle is no longer needed. */
static void store(loom_tensor target, loom_tensor result) {
  TRY(loom_tensor_assign(target, result));
  TRY(loom_tensor_release(result));
}

static void update(loom_tensor parameter, loom_tensor velocity, loom_tensor gradient) {
  const loom_operand kept = loom_scalar_real(momentum, LOOM_DTYPE_NONE);
  const loom_operand rate = loom_scalar_real(learning_rate, LOOM_DTYPE_NONE);
  loom_tensor faded, faster, change, moved;
  TRY(loom_multiply_with(loom_t(velocity), kept, &faded));
  TRY(loom_add(faded, gradient, &faster));
  store(velocity, faster);
  TRY(loom_multiply_with(loom_t(velocity), rate, &change));
  TRY(loom_subtract(parameter, change, &moved));
  store(parameter, moved);
  TRY(loom_tensor_release(faded));
  TRY(loom_tensor_release(change));
}

/* One step on the examples with these indices; gives the loss before it. */
static float train_step(network *net, loom_tensor images, loom_tensor labels,
                        const int64_t *indices) {
  loom_tensor chosen = integers(indices, BATCH), x, y, logits, loss;
  loom_tensor gradients[PARAMETERS];
  loom_operand pair[2];
  bool recording;
  float result;
  size_t i;
  place(&chosen, "data");
  TRY(loom_take(images, chosen, 0, &x));
  TRY(loom_take(labels, chosen, 0, &y));
  logits = logits_of(net, x);
  pair[0] = loom_t(logits);
  pair[1] = loom_t(y);
  TRY(loom_apply("cross_entropy", pair, 2, NULL, 0, &loss, 1, NULL));
  /* backward, unlike grad, frees the history, which would keep the old parameters alive */
  TRY(loom_backward(&loss, 1, NULL));
  for (i = 0; i < PARAMETERS; ++i) {
    TRY(loom_tensor_gradient(net->parameters[i], &gradients[i]));
    TRY(loom_tensor_clear_gradient(net->parameters[i]));
  }

  TRY(loom_set_grad_enabled(false, &recording));
  for (i = 0; i < PARAMETERS; ++i) update(net->parameters[i], net->momenta[i], gradients[i]);
  TRY(loom_set_grad_enabled(recording, NULL));

  TRY(loom_tensors_release(gradients, PARAMETERS));
  TRY(loom_tensor_release(logits));
  TRY(loom_tensor_release(x));
  TRY(loom_tensor_release(y));
  TRY(loom_tensor_release(chosen));
  TRY(loom_tensor_read(loss, &result, sizeof result));
  TRY(loom_tensor_release(loss));
  return result;
}

static double accuracy_of(const network *net, loom_tensor images, const digits *d) {
  const int64_t axis = 1;
  loom_tensor logits, guesses;
  int64_t *guessed = (int64_t *)malloc(d->count * sizeof *guessed);
  size_t i, right = 0;
  bool recording;
  if (guessed == NULL) exit(1);
  TRY(loom_set_grad_enabled(false, &recording));
  logits = logits_of(net, images);
  TRY(loom_argmax(logits, &axis, false, &guesses));
  TRY(loom_tensor_release(logits));
  TRY(loom_set_grad_enabled(recording, NULL));
  TRY(loom_tensor_read(guesses, guessed, d->count * sizeof *guessed));
  TRY(loom_tensor_release(guesses));
  for (i = 0; i < d->count; ++i) right += guessed[i] == d->labels[i];
  free(guessed);
  return (double)right / (double)d->count;
}

/* ---- the report ------------------------------------------------------------------- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t counter(const char *name) {
  int64_t value;
  TRY(loom_stat(name, &value));
  return value;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void write_report(const char *path, const float *losses, double *seconds, size_t steps,
                         const char *key, int64_t ops, int64_t executions, double accuracy) {
  FILE *file = fopen(path, "w");
  size_t i;
  if (file == NULL) {
    fprintf(stderr, "%s cannot be written\n", path);
    exit(1);
  }
  qsort(seconds, steps, sizeof *seconds, by_size);
  fprintf(file, "{\"frontend\": \"c\", \"programs_compiled\": %ld, \"programs_from_disk\": %ld, ",
          (long)counter("programs_compiled"), (long)counter("programs_from_disk"));
  fprintf(file, "\"step_key\": \"%s\", \"final_loss\": %.17g, \"test_accuracy\": %.17g, ", key,
          (double)losses[steps - 1], accuracy);
  fprintf(file, "\"seconds_per_step\": %.9g, \"ops_per_step\": %ld, \"executions_per_step\": %ld, ",
          seconds[steps / 2], (long)ops, (long)executions);
  fprintf(file, "\"losses\": [");
  for (i = 0; i < steps; ++i) fprintf(file, "%s%.17g", i ? ", " : "", (double)losses[i]);
  fprintf(file, "]}\n");
  fclose(file);
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : "examples/data/digits";
  const digits train = read_digits(folder, "train"), test = read_digits(folder, "test");
  const size_t per_epoch = train.count / BATCH, steps = per_epoch * EPOCHS;
  int64_t *order = (int64_t *)malloc(train.count * sizeof *order);
  float *losses = (float *)malloc(steps * sizeof *losses);
  double *seconds = (double *)malloc(steps * sizeof *seconds);
  int64_t ops = 0, executions = 0;
  char key[200] = "";
  double accuracy = 0;
  size_t epoch, i, step = 0;
  network net;
  loom_tensor images, labels, test_images;
  loom_program program;

  if (order == NULL || losses == NULL || seconds == NULL) return 1;
  if (argc > 3) snprintf(mesh, sizeof mesh, "data=%u", (unsigned)strtoul(argv[3], NULL, 10));
  TRY(loom_initialize());
  initialise(&net);
  images = images_of(&train);
  labels = labels_of(&train);
  test_images = images_of(&test);
  for (i = 0; i < train.count; ++i) order[i] = (int64_t)i;

  for (epoch = 1; epoch <= EPOCHS; ++epoch) {
    double mean = 0;
    shuffle(order, train.count);
    for (i = 0; i < per_epoch; ++i, ++step) {
      const int64_t ops_before = counter("ops_executed"), runs_before = counter("executions");
      const double start = now();
      losses[step] = train_step(&net, images, labels, order + i * BATCH);
      seconds[step] = now() - start;
      ops = counter("ops_executed") - ops_before;
      executions = counter("executions") - runs_before;
      mean += losses[step] / (double)per_epoch;
    }
    TRY(loom_last_program(&program));
    TRY(loom_program_key(program, key, sizeof key, NULL));
    TRY(loom_program_release(program));
    accuracy = accuracy_of(&net, test_images, &test);
    printf("c: epoch %2u  loss %.6f  test accuracy %.4f\n", (unsigned)epoch, mean, accuracy);
    fflush(stdout);
  }
  if (argc > 2) write_report(argv[2], losses, seconds, steps, key, ops, executions, accuracy);

  TRY(loom_tensors_release(net.parameters, PARAMETERS));
  TRY(loom_tensors_release(net.momenta, PARAMETERS));
  TRY(loom_tensor_release(images));
  TRY(loom_tensor_release(labels));
  TRY(loom_tensor_release(test_images));
  TRY(loom_shutdown());
  free(order);
  free(losses);
  free(seconds);
  free(train.pixels);
  free(train.labels);
  free(test.pixels);
  free(test.labels);
  return 0;
}
