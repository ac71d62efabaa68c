/* The training step of examples/c/transformer.h: `characters TEXT recorded` or `... captured`.

   Reads a number of steps a line from standard input, makes them on 16 batches in turn, each loss
   read, and answers with the last loss. */
#include "../../examples/c/transformer.h"

enum { BATCHES = 16, MOST = 256 };

static transformer model;
static loom_tensor inputs[BATCHES], targets[BATCHES];

/* A step that is recorded once and then run. */
static loom_tensor captured(loom_tensor x, loom_tensor y) {
  static loom_capture capture;
  loom_tensor given[MOST], loss;
  const size_t count = captured_inputs(&model, x, y, given, MOST);
  if (capture.bits != 0) {
    TRY(loom_capture_run(capture, given, count, &loss, 1));
    return loss;
  }
  TRY(loom_capture_begin(given, count));
  loss = step(&model, x, y);
  TRY(loom_capture_end(&loss, 1, &capture));
  return loss;
}

int main(int argc, char **argv) {
  int steps, i, at = 0;
  bool once;
  text t;
  if (argc != 3 || (strcmp(argv[2], "recorded") && strcmp(argv[2], "captured"))) return 2;
  once = !strcmp(argv[2], "captured");
  t = read_text(argv[1]);
  TRY(loom_initialize());
  start(&model, t.characters, 2e-3);
  for (i = 0; i < BATCHES; ++i) next_batch(&t, &inputs[i], &targets[i]);
  while (scanf("%d", &steps) == 1) {
    float found = 0;
    for (i = 0; i < steps; ++i, at = (at + 1) % BATCHES) {
      loom_tensor loss = once ? captured(inputs[at], targets[at]) :
          step(&model, inputs[at], targets[at]);
      TRY(loom_tensor_read(loss, &found, sizeof found));
      TRY(loom_tensor_release(loss));
    }
    printf("%.9g\n", (double)found);
    fflush(stdout);
  }
  TRY(loom_shutdown());
  return 0;
}
