/* One of several processes: a collective, and a value on a mesh of all their devices. */

#include <stdlib.h>

#include "check.h"

int main(void) {
  int64_t rank, world, group[8], first = 0, i;
  static const float data[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const int64_t shape[] = {8};
  float sum;
  loom_tensor x, all, divided, total;
  OK(loom_initialize());
  OK(loom_distributed_initialize(NULL, -1, -1, 30));
  OK(loom_distributed_rank(&rank, &world));
  EXPECT(world == 2 && rank == atoi(getenv("RANK")));
  for (i = 0; i < world; ++i) group[i] = i;
  sum = (float)(rank + 1);
  OK(loom_tensor_from_host(&sum, sizeof sum, LOOM_FLOAT32, NULL, 0, &x));
  OK(loom_all_reduce(x, "sum", group, (size_t)world, world, "", &all));
  OK(loom_tensor_read(all, &sum, sizeof sum));
  EXPECT(sum == 3.0f);
  OK(loom_tensor_release(x));
  OK(loom_tensor_from_host(data, sizeof data, LOOM_FLOAT32, shape, 1, &x));
  OK(loom_tensor_shard(x, "data=4", NULL, "data", &divided));
  OK(loom_sum(divided, &first, 1, LOOM_DTYPE_NONE, false, &total));
  OK(loom_tensor_read(total, &sum, sizeof sum));
  EXPECT(sum == 36.0f);
  {
    /* each has half of what it divides, and gives half of another */
    float part[4];
    const int64_t half[] = {4};
    loom_tensor own, whole;
    OK(loom_tensor_local_part(divided, &own));
    OK(loom_tensor_read(own, part, sizeof part));
    EXPECT(part[0] == (float)(1 + 4 * rank) && part[3] == (float)(4 + 4 * rank));
    OK(loom_tensor_from_host(data + 4 * rank, sizeof part, LOOM_FLOAT32, half, 1, &own));
    OK(loom_tensor_from_local_part(own, "data=4", NULL, "data", &whole));
    OK(loom_sum(whole, &first, 1, LOOM_DTYPE_NONE, false, &total));
    OK(loom_tensor_read(total, &sum, sizeof sum));
    EXPECT(sum == 36.0f);
    FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_local_part(own, "x", NULL, "data", &whole));
    EXPECT(strstr(loom_error_message(), "loom_tensor_from_local_part: the mesh") != NULL);
    FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_local_part(own, NULL));
  }
  OK(loom_distributed_barrier(30));
  FAILS(LOOM_ERROR_ARGUMENT, loom_distributed_barrier(-1));
  OK(loom_distributed_finalize());
  OK(loom_shutdown());
  puts("processes work");
  return 0;
}
