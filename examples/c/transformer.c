/* A transformer that learns to write a play, character by character, and then writes some.

     cc transformer.c $(python -m lazyloom_capi --cflags --libs) -o transformer
     ./transformer [TEXT [STEPS [CHECKPOINT.safetensors [REPORT.json [recorded]]]]]

   The step is recorded once (loom_capture_begin) and then run; with "recorded" it is recorded
   each time, to compare. The checkpoint is what server.c takes, and "-" for none. The report says
   the losses, the step's key and the time it takes. */
#define _POSIX_C_SOURCE 199309L

#include <time.h>

#include "transformer.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One step by the capture, which the first call makes. */
static loom_tensor run(transformer *model, loom_capture *capture, loom_tensor inputs,
                       loom_tensor targets) {
  loom_tensor given[256], loss;
  const size_t count = captured_inputs(model, inputs, targets, given, 256);
  if (capture->bits != 0) {
    TRY(loom_capture_run(*capture, given, count, &loss, 1));
    return loss;
  }
  TRY(loom_capture_begin(given, count));
  loss = step(model, inputs, targets);
  TRY(loom_capture_end(&loss, 1, capture));
  return loss;
}

/* ---- writing ---------------------------------------------------------------------- */

/* A number drawn with probabilities softmax(scores / warmth). */
static int64_t drawn(const float *scores, int64_t count, double warmth, uint64_t *state) {
  double total = 0, u;
  int64_t i, best = 0;
  for (i = 0; i < count; ++i)
    if (scores[i] > scores[best]) best = i;
  for (i = 0; i < count; ++i) total += exp((scores[i] - scores[best]) / warmth);
  u = (double)(next_random(state) >> 11) / 9007199254740992.0 * total;
  for (i = 0; i < count; ++i) {
    u -= exp((scores[i] - scores[best]) / warmth);
    if (u < 0) return i;
  }
  return best;
}

/* Writes what the network thinks follows the beginning. The window is always as long: what comes
   after its last character is not seen by those before it. */
static void write_on(transformer *model, const text *t, const char *beginning, int length) {
  static const int64_t shape[2] = {1, WINDOW};
  const int64_t characters = model->characters;
  const size_t parameters = model->parameters.count;
  float *scores = (float *)malloc((size_t)characters * WINDOW * sizeof *scores);
  int64_t window[WINDOW] = {0};
  uint64_t state = 7;
  int used = 0, i;
  loom_capture forward = {0};
  if (scores == NULL) exit(1);
  for (i = 0; beginning[i]; ++i) window[used++] = t->number[(unsigned char)beginning[i]];
  printf("%s", beginning);
  for (i = 0; i < length; ++i) {
    loom_tensor given[256], result;
    int64_t chosen;
    memcpy(given, model->parameters.tensors, parameters * sizeof *given);
    TRY(loom_tensor_from_host(window, sizeof window, LOOM_INT64, shape, 2, &given[parameters]));
    if (forward.bits == 0) {
      TRY(loom_capture_begin(given, parameters + 1));
      result = scores_of(model, given[parameters]);
      TRY(loom_tensor_retain(result));
      loom_nn_scope_end(&model->temporaries);
      TRY(loom_capture_end(&result, 1, &forward));
    } else {
      TRY(loom_capture_run(forward, given, parameters + 1, &result, 1));
    }
    TRY(loom_tensor_read(result, scores, (size_t)characters * WINDOW * sizeof *scores));
    TRY(loom_tensor_release(result));
    TRY(loom_tensor_release(given[parameters]));
    chosen = drawn(scores + (used - 1) * characters, characters, 0.8, &state);
    putchar(t->letter[chosen]);
    if (used == WINDOW) memmove(window, window + 1, (size_t)--used * sizeof *window);
    window[used++] = chosen;
  }
  putchar('\n');
  TRY(loom_capture_release(forward));
  free(scores);
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void write_report(const char *path, const float *losses, double *seconds, int steps,
                         const char *key) {
  FILE *file = fopen(path, "w");
  int i;
  if (file == NULL) {
    fprintf(stderr, "%s cannot be written\n", path);
    exit(1);
  }
  fprintf(file, "{\"step_key\": \"%s\", \"losses\": [", key);
  for (i = 0; i < steps; ++i) fprintf(file, "%s%.9g", i ? ", " : "", (double)losses[i]);
  qsort(seconds, (size_t)steps, sizeof *seconds, by_size);
  fprintf(file, "], \"seconds_per_step\": %.9g}\n", seconds[steps / 2]);
  fclose(file);
}

int main(int argc, char **argv) {
  const int steps = argc > 2 ? atoi(argv[2]) : 1000;
  const bool captured = argc <= 5 || strcmp(argv[5], "recorded") != 0;
  text t = read_text(argc > 1 ? argv[1] : "examples/data/text/coriolanus.txt");
  float *losses = (float *)malloc((size_t)(steps > 0 ? steps : 1) * sizeof *losses);
  double *seconds = (double *)malloc((size_t)(steps > 0 ? steps : 1) * sizeof *seconds);
  char key[200] = "";
  transformer model;
  loom_capture capture = {0};
  loom_program program;
  int i;
  if (losses == NULL || seconds == NULL || steps < 1) return 1;
  TRY(loom_initialize());
  start(&model, t.characters, 2e-3);
  for (i = 0; i < steps; ++i) {
    const double begin = now();
    loom_tensor inputs, targets, loss;
    next_batch(&t, &inputs, &targets);
    loss = captured ? run(&model, &capture, inputs, targets) : step(&model, inputs, targets);
    TRY(loom_tensor_release(inputs));
    TRY(loom_tensor_release(targets));
    TRY(loom_tensor_read(loss, &losses[i], sizeof losses[i]));
    TRY(loom_tensor_release(loss));
    seconds[i] = now() - begin;
    if (i % 100 == 0 || i == steps - 1) printf("step %4d  loss %.4f\n", i, (double)losses[i]);
    fflush(stdout);
  }
  TRY(loom_last_program(&program));
  TRY(loom_program_key(program, key, sizeof key, NULL));
  TRY(loom_program_release(program));
  if (argc > 3 && strcmp(argv[3], "-") != 0) TRY(loom_nn_save(&model.parameters, argv[3]));
  if (argc > 4) write_report(argv[4], losses, seconds, steps, key);

  write_on(&model, &t, "First Citizen:\n", steps < 100 ? 40 : 400);
  if (capture.bits != 0) TRY(loom_capture_release(capture));
  finish(&model);
  TRY(loom_shutdown());
  free(losses);
  free(seconds);
  free(t.bytes);
  return 0;
}
