/* Goes on with the training that resume_torch.py began, from the checkpoint that it saved.

     python resume_torch.py CHECKPOINT.safetensors REPORT.json [STEPS]
     cc resume.c $(python -m lazyloom_capi --cflags --libs) -o resume
     ./resume CHECKPOINT.safetensors [TEXT [STEPS [GOES_ON.safetensors]]]

   The checkpoint has the model's parameters by the names of its state_dict(), AdamW's state as
   "optimizer.NAME.exp_avg" and so on, and in its metadata the number of batches that were taken.
   The losses that are printed are those of the frontend where it goes on itself, to the last bit
   on the same machine. */
#include "transformer.h"

int main(int argc, char **argv) {
  const int steps = argc > 3 ? atoi(argv[3]) : 20;
  loom_safetensors file;
  const char *taken;
  transformer model;
  text t;
  int i, before;
  if (argc < 2) {
    fprintf(stderr, "usage: resume CHECKPOINT [TEXT [STEPS [GOES_ON]]]\n");
    return 2;
  }
  t = read_text(argc > 2 ? argv[2] : "examples/data/text/coriolanus.txt");
  TRY(loom_initialize());
  TRY(loom_safetensors_open(argv[1], &file));
  taken = loom_safetensors_metadata(&file, "batches");
  before = taken != NULL ? atoi(taken) : 0;
  loom_safetensors_close(&file);

  start(&model, t.characters, 2e-3);
  TRY(loom_nn_load(&model.parameters, argv[1], true, NULL)); /* all names must be the same */
  for (i = 0; i < before + steps; ++i) {
    loom_tensor inputs, targets, loss;
    float value;
    next_batch(&t, &inputs, &targets);
    if (i >= before) {
      loss = step(&model, inputs, targets);
      TRY(loom_tensor_read(loss, &value, sizeof value));
      TRY(loom_tensor_release(loss));
      printf("%.9g\n", (double)value);
    }
    TRY(loom_tensor_release(inputs));
    TRY(loom_tensor_release(targets));
  }
  if (argc > 4) TRY(loom_nn_save(&model.parameters, argv[4]));
  finish(&model);
  TRY(loom_shutdown());
  free(t.bytes);
  return 0;
}
