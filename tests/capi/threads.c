/* Threads: handles travel, errors and switches belong to a thread, races on one handle are
   errors at most, and the first call of many threads starts the runtime once. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 50 };

static loom_tensor handed[THREADS];
static loom_tensor contested;

static void *work(void *given) {
  const size_t me = *(size_t *)given;
  const float mine[2] = {(float)me, 1};
  loom_tensor t, sum, wrong;
  float back[2];
  bool before;
  char expected[40];
  int i;
  OK(loom_initialize());
  EXPECT(loom_error_status() == LOOM_OK);
  OK(loom_set_grad_enabled(me % 2 == 0, &before));
  EXPECT(before);
  for (i = 0; i < ROUNDS; ++i) {
    t = vector(mine, 2);
    OK(loom_add(t, t, &sum));
    OK(loom_tensor_read(sum, back, sizeof back));
    EXPECT(back[0] == 2 * (float)me && back[1] == 2);
    OK(loom_tensor_release(sum));
    snprintf(expected, sizeof expected, "op_of_thread_%u", (unsigned)me);
    FAILS(LOOM_ERROR_UNKNOWN_OP, loom_apply(expected, NULL, 0, NULL, 0, &wrong, 1, NULL));
    OK(loom_tensor_release(t));
    EXPECT(strstr(loom_error_message(), expected) != NULL);
    EXPECT(strcmp(loom_error_op(), expected) == 0);
  }
  OK(loom_set_grad_enabled(true, &before));
  EXPECT(before == (me % 2 == 0));
  handed[me] = vector(mine, 2);
  return NULL;
}

static void *use_and_release(void *given) {
  const size_t me = *(size_t *)given, other = (me + 1) % THREADS;
  float back[2];
  OK(loom_tensor_read(handed[other], back, sizeof back));
  EXPECT(back[0] == (float)other);
  OK(loom_tensor_release(handed[other]));
  return NULL;
}

/* Numbers, attributes and lines of each thread's own, recorded while the others do the same. */
static void *record_much(void *given) {
  const size_t me = *(size_t *)given;
  const float mine[2] = {1, 2};
  const int64_t shapes[2][2] = {{1, 2}, {2, 1}};
  loom_tensor z = vector(mine, 2), kept[5], old, total;
  loom_operand number;
  char expected[40];
  float back[2];
  int i, line;
  for (i = 0; i < 50; ++i) {
    old = z;
    number = me % 2 ? loom_scalar_real((double)me, LOOM_DTYPE_NONE)
                    : loom_scalar_int((int64_t)me, LOOM_FLOAT32);
    OK(loom_add_with(loom_t(old), number, &z));
    OK(loom_tensor_release(old));
    old = z;
    OK(loom_reshape(old, shapes[(me + (size_t)i) % 2], 2, &z));
    OK(loom_tensor_release(old));
    OK(loom_hardtanh(z, -(double)me, 1e6, &total));
    OK(loom_tensor_release(total));
    if (i % 10 == 0) {
      OK(loom_tensor_retain(z));
      kept[i / 10] = z;
    }
    FAILS(LOOM_ERROR_SHAPE, loom_matmul(z, z, &total)); line = __LINE__;
    snprintf(expected, sizeof expected, "threads.c:%d", line);
    EXPECT(strstr(loom_error_site(), expected) != NULL);
  }
  OK(loom_sum(z, NULL, 0, LOOM_DTYPE_NONE, false, &total));
  OK(loom_tensor_read(total, back, sizeof *back));
  EXPECT(back[0] == 3 + 2 * 50 * (float)me);
  OK(loom_tensor_read(kept[1], back, sizeof back));
  EXPECT(back[0] == 1 + 11 * (float)me);
  OK(loom_tensors_release(kept, 5));
  OK(loom_tensor_release(z));
  OK(loom_tensor_release(total));
  return NULL;
}

static void *race(void *given) {
  size_t *released = (size_t *)given;
  loom_tensor sum;
  loom_status status = loom_add(contested, contested, &sum);
  EXPECT(status == LOOM_OK || status == LOOM_ERROR_HANDLE);
  if (status == LOOM_OK) OK(loom_tensor_release(sum));
  status = loom_tensor_release(contested);
  EXPECT(status == LOOM_OK || status == LOOM_ERROR_HANDLE);
  *released = status == LOOM_OK;
  return NULL;
}

static void all(void *(*function)(void *)) {
  pthread_t threads[THREADS];
  size_t i, numbers[THREADS];
  for (i = 0; i < THREADS; ++i) {
    numbers[i] = i;
    EXPECT(pthread_create(&threads[i], NULL, function, &numbers[i]) == 0);
  }
  for (i = 0; i < THREADS; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
  size_t live, i, round, winners;
  all(work);
  all(use_and_release);
  all(record_much);
  all(record_much);
  for (round = 0; round < 20; ++round) {
    const float one[1] = {1};
    pthread_t threads[THREADS];
    size_t released[THREADS];
    contested = vector(one, 1);
    for (i = 0; i < THREADS; ++i)
      EXPECT(pthread_create(&threads[i], NULL, race, &released[i]) == 0);
    for (winners = i = 0; i < THREADS; ++i) {
      EXPECT(pthread_join(threads[i], NULL) == 0);
      winners += released[i];
    }
    EXPECT(winners == 1);
  }
  OK(loom_live_handles(&live));
  EXPECT(live == 0);
  OK(loom_shutdown());
  puts("threads work");
  return 0;
}
