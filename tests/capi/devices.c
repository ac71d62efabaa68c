/* Devices and meshes; the processor is divided into four by the environment. */

#include "check.h"

static void placed(loom_tensor tensor, const char *expected) {
  char text[200];
  size_t needed;
  OK(loom_tensor_placement(tensor, text, sizeof text, &needed));
  EXPECT(strcmp(text, expected) == 0 && needed == strlen(expected) + 1);
}

int main(void) {
  static const float data[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const int64_t shape[] = {8}, first = 0;
  char names[200];
  float sum = 0, elements[8];
  int64_t rank = -1, world = -1;
  size_t i, bytes;
  loom_tensor x, there, doubled, back, divided, total, target, gradient, none = {0};
  OK(loom_initialize());
  OK(loom_devices(names, sizeof names, NULL));
  EXPECT(strcmp(names, "cpu:0,cpu:1,cpu:2,cpu:3") == 0);
  OK(loom_tensor_from_host(data, sizeof data, LOOM_FLOAT32, shape, 1, &x));
  placed(x, "default:0");

  OK(loom_tensor_to_device(x, "cpu:2", &there));
  placed(there, "cpu:2");
  OK(loom_add(there, x, &doubled)); /* what the default device has goes along */
  placed(doubled, "cpu:2");
  OK(loom_tensor_to_device(doubled, NULL, &back));
  placed(back, "default:0");
  OK(loom_tensor_read(back, elements, sizeof elements));
  for (i = 0; i < 8; ++i) EXPECT(elements[i] == 2 * data[i]);
  OK(loom_tensor_release(doubled));

  OK(loom_tensor_shard(x, "data=2,model=2", NULL, "data", &divided));
  placed(divided, "cpu:0,1,2,3[data=2,model=2](data)");
  OK(loom_tensor_require_grad(divided, true));
  OK(loom_multiply(divided, divided, &doubled));
  placed(doubled, "cpu:0,1,2,3[data=2,model=2]");
  OK(loom_sum(doubled, &first, 1, LOOM_DTYPE_NONE, false, &total));
  OK(loom_tensor_read(total, &sum, sizeof sum));
  EXPECT(sum == 204.0f);
  placed(doubled, "cpu:0,1,2,3[data=2,model=2](data)");
  OK(loom_backward(&total, 1, NULL));
  OK(loom_tensor_gradient(divided, &gradient));
  OK(loom_tensor_nbytes(gradient, &bytes));
  EXPECT(bytes == sizeof elements);
  OK(loom_tensor_read(gradient, elements, sizeof elements));
  for (i = 0; i < 8; ++i) EXPECT(elements[i] == 2 * data[i]);

  /* what is written stays divided as it was */
  OK(loom_tensor_shard(x, "data=4", "cpu:3,cpu:2,cpu:1,cpu:0", "data", &target));
  placed(target, "cpu:3,2,1,0[data=4](data)");
  OK(loom_tensor_release(back));
  OK(loom_add(target, x, &back));
  OK(loom_tensor_assign(target, back));
  placed(target, "cpu:3,2,1,0[data=4](data)");
  OK(loom_tensor_read(target, elements, sizeof elements));
  for (i = 0; i < 8; ++i) EXPECT(elements[i] == 2 * data[i]);

  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_to_device(x, "cpu:9", &back));
  EXPECT(back.bits == 0 && strstr(loom_error_message(), "cpu:9") != NULL);
  FAILS(LOOM_ERROR_ARGUMENT, loom_add(there, divided, &back));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_shard(x, "data=3", NULL, "data", &back));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_shard(x, "data=8", NULL, "data", &back));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_shard(x, "data", NULL, "data", &back));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_shard(x, "data=2", NULL, "model", &back));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_shard(x, "data=2", NULL, ";;data", &back));
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_shard(none, "data=2", NULL, "data", &back));
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_placement(none, names, sizeof names, NULL));

  OK(loom_distributed_initialize(NULL, -1, -1, 0));
  OK(loom_distributed_rank(&rank, &world));
  EXPECT(rank == 0 && world == 1);
  OK(loom_distributed_rank(NULL, NULL));
  OK(loom_distributed_finalize());
  FAILS(LOOM_ERROR_ARGUMENT, loom_distributed_initialize("nowhere", 2, 0, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_distributed_initialize(NULL, 1, 0, -1));
  OK(loom_shutdown());
  puts("devices work");
  return 0;
}
