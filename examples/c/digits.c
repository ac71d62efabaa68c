/* The digits classifier with lazyloom_nn.h: a captured step, an accuracy, a file of the weights.

     cc digits.c $(python -m lazyloom_capi --cflags --libs) -o digits
     ./digits [DATA_FOLDER [EPOCHS [WEIGHTS.safetensors]]]

   64 - 64 - 32 - 10 with ReLU between, cross entropy, SGD with momentum, batches of 32. The
   program ../digits.c does it with the functions of lazyloom.h alone. */
#include "lazyloom_nn.h"

enum { PIXELS = 64, CLASSES = 10, BATCH = 32, INPUTS = 40 };

#define TRY(call)                                                           \
  do {                                                                      \
    if ((call) != LOOM_OK) {                                                \
      fprintf(stderr, "%s: %s\n", loom_error_site(), loom_error_message()); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

typedef struct digits {
  size_t count;
  float *images;   /* [count, 64], 0 to 1 */
  int64_t *labels; /* [count] */
} digits;

/* The bytes of an IDX file, after its header. */
static unsigned char *bytes_of(const char *folder, const char *name, size_t header, size_t *count) {
  char path[1000];
  unsigned char *bytes = (unsigned char *)malloc(1 << 20);
  FILE *file;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  file = fopen(path, "rb");
  if (file == NULL || bytes == NULL || fread(bytes, 1, header, file) != header) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(1);
  }
  *count = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

static digits read_digits(const char *folder, const char *images, const char *labels) {
  digits d;
  size_t i, pixels;
  unsigned char *x = bytes_of(folder, images, 16, &pixels);
  unsigned char *y = bytes_of(folder, labels, 8, &d.count);
  d.images = (float *)malloc(pixels * sizeof *d.images);
  d.labels = (int64_t *)malloc(d.count * sizeof *d.labels);
  if (d.images == NULL || d.labels == NULL || pixels != d.count * PIXELS) exit(1);
  for (i = 0; i < pixels; ++i) d.images[i] = (float)x[i] / 16.0f;
  for (i = 0; i < d.count; ++i) d.labels[i] = y[i];
  free(x);
  free(y);
  return d;
}

static loom_nn_list net;
static loom_nn_optimizer sgd;
static loom_nn_scope temporaries;

static loom_tensor layer(const char *name, loom_tensor x, bool last) {
  loom_tensor y;
  TRY(loom_nn_linear(&net, name, x, &y));
  TRY(loom_nn_keep(&temporaries, y));
  if (last) return y;
  TRY(loom_relu(y, &y));
  TRY(loom_nn_keep(&temporaries, y));
  return y;
}

static loom_tensor scores_of(loom_tensor x) {
  return layer("fc3", layer("fc2", layer("fc1", x, false), false), true);
}

/* What is recorded once and then run: one step; gives the loss before it. */
static loom_tensor step(loom_tensor x, loom_tensor y) {
  loom_tensor loss, result;
  TRY(loom_nn_cross_entropy(scores_of(x), y, &loss));
  TRY(loom_nn_keep(&temporaries, loss));
  TRY(loom_backward(&loss, 1, NULL));
  TRY(loom_nn_step(&sgd));
  TRY(loom_tensor_detach(loss, &result));
  loom_nn_scope_end(&temporaries);
  return result;
}

static double accuracy_of(const digits *d) {
  const int64_t axis = 1;
  int64_t shape[2], *guessed = (int64_t *)malloc(d->count * sizeof *guessed);
  size_t i, right = 0;
  bool recording;
  loom_tensor x, guesses;
  if (guessed == NULL) exit(1);
  shape[0] = (int64_t)d->count;
  shape[1] = PIXELS;
  TRY(loom_tensor_from_host(d->images, d->count * PIXELS * sizeof *d->images, LOOM_FLOAT32, shape,
                            2, &x));
  TRY(loom_set_grad_enabled(false, &recording));
  TRY(loom_argmax(scores_of(x), &axis, false, &guesses));
  TRY(loom_set_grad_enabled(recording, NULL));
  loom_nn_scope_end(&temporaries);
  TRY(loom_tensor_read(guesses, guessed, d->count * sizeof *guessed));
  TRY(loom_tensor_release(guesses));
  TRY(loom_tensor_release(x));
  for (i = 0; i < d->count; ++i) right += guessed[i] == d->labels[i];
  free(guessed);
  return (double)right / (double)d->count;
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : "examples/data/digits";
  const int epochs = argc > 2 ? atoi(argv[2]) : 20;
  const digits train = read_digits(folder, "train-images.idx3-ubyte", "train-labels.idx1-ubyte");
  const digits test = read_digits(folder, "test-images.idx3-ubyte", "test-labels.idx1-ubyte");
  const int64_t shape[2] = {BATCH, PIXELS}, batch = BATCH;
  loom_nn_random random = loom_nn_random_from(2024);
  loom_capture capture = {0};
  int epoch;

  TRY(loom_initialize());
  TRY(loom_nn_linear_new(&net, "fc1", PIXELS, 64, true, &random));
  TRY(loom_nn_linear_new(&net, "fc2", 64, 32, true, &random));
  TRY(loom_nn_linear_new(&net, "fc3", 32, CLASSES, true, &random));
  TRY(loom_nn_sgd(&sgd, &net, 0.05, 0.9, false, 0));

  for (epoch = 1; epoch <= epochs; ++epoch) {
    double mean = 0;
    size_t at;
    /* the training part is shuffled as it is shipped */
    for (at = 0; at + BATCH <= train.count; at += BATCH) {
      loom_tensor given[INPUTS], loss, x, y;
      float value;
      TRY(loom_tensor_from_host(train.images + at * PIXELS, BATCH * PIXELS * sizeof(float),
                                LOOM_FLOAT32, shape, 2, &x));
      TRY(loom_tensor_from_host(train.labels + at, BATCH * sizeof(int64_t), LOOM_INT64, &batch, 1,
                                &y));
      /* parameters and state, which each run writes, and a batch of its own */
      memcpy(given, net.tensors, net.count * sizeof *given);
      given[net.count] = x;
      given[net.count + 1] = y;
      if (capture.bits == 0) {
        TRY(loom_capture_begin(given, net.count + 2));
        loss = step(x, y);
        TRY(loom_capture_end(&loss, 1, &capture));
      } else {
        TRY(loom_capture_run(capture, given, net.count + 2, &loss, 1));
      }
      TRY(loom_tensor_read(loss, &value, sizeof value));
      TRY(loom_tensor_release(loss));
      TRY(loom_tensor_release(x));
      TRY(loom_tensor_release(y));
      mean += (double)value / (double)(train.count / BATCH);
    }
    printf("epoch %2d  loss %.6f  test accuracy %.4f\n", epoch, mean, accuracy_of(&test));
    fflush(stdout);
  }
  if (argc > 3) TRY(loom_nn_save(&net, argv[3]));

  if (capture.bits != 0) TRY(loom_capture_release(capture));
  loom_nn_scope_free(&temporaries);
  loom_nn_optimizer_free(&sgd);
  loom_nn_list_free(&net);
  loom_nn_random_free(&random);
  TRY(loom_shutdown());
  free(train.images);
  free(train.labels);
  free(test.images);
  free(test.labels);
  return 0;
}
