/* Reads of several tensors, waits with a limit, and calls once a tensor is ready. */

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

typedef struct heard {
  pthread_mutex_t lock;
  pthread_cond_t more;
  int count;
  loom_status last;
  pthread_t thread;
  loom_tensor read;
  float number;
  int order[8];
} heard;

typedef struct numbered {
  heard *to;
  int number;
} numbered;

static void hear(loom_status status, void *context) {
  numbered *n = (numbered *)context;
  heard *h = n->to;
  pthread_mutex_lock(&h->lock);
  if (h->count < 8) h->order[h->count] = n->number;
  ++h->count;
  h->last = status;
  h->thread = pthread_self();
  if (status != LOOM_OK && status != LOOM_ERROR_NOT_INITIALIZED)
    EXPECT(loom_error_status() == status && loom_error_message()[0] != 0);
  /* it may call lazyloom, but not end it */
  if (!loom_is_null(h->read)) {
    loom_tensor sum;
    OK(loom_add(h->read, h->read, &sum));
    OK(loom_tensor_read(sum, &h->number, sizeof h->number));
    OK(loom_tensor_release(sum));
    FAILS(LOOM_ERROR_ARGUMENT, loom_shutdown());
  }
  pthread_cond_broadcast(&h->more);
  pthread_mutex_unlock(&h->lock);
}

static void wait_for(heard *h, int count) {
  pthread_mutex_lock(&h->lock);
  while (h->count < count) pthread_cond_wait(&h->more, &h->lock);
  pthread_mutex_unlock(&h->lock);
}

static bool same(void *const *a, const float *b) { return memcmp(a[0], b, sizeof(float)) == 0; }

static void batch(void) {
  const float data[3] = {1, 2, 3};
  float first[3], second[3], third = 0;
  void *buffers[3] = {first, second, &third};
  size_t sizes[3] = {sizeof first, sizeof second, sizeof third};
  loom_tensor x = vector(data, 3), all[3];
  OK(loom_add(x, x, &all[0]));
  OK(loom_multiply(all[0], x, &all[1]));
  OK(loom_sum(all[1], NULL, 0, LOOM_DTYPE_NONE, false, &all[2]));
  {
    int64_t before, after;
    OK(loom_stat("executions", &before));
    OK(loom_tensors_read(all, buffers, sizes, 3));
    OK(loom_stat("executions", &after));
    EXPECT(after - before <= 1);
  }
  EXPECT(first[2] == 6 && second[2] == 18 && third == 28);
  EXPECT(same(buffers, (const float[]){2}));
  OK(loom_tensors_read(NULL, NULL, NULL, 0));
  sizes[1] = 4;
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensors_read(all, buffers, sizes, 3));
  EXPECT(strstr(loom_error_message(), "nbytes[1]: 4 was given, expected 12") != NULL);
  sizes[1] = sizeof second;
  buffers[1] = NULL;
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensors_read(all, buffers, sizes, 3));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensors_read(all, NULL, sizes, 3));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensors_read(all, buffers, sizes, (size_t)1 << 40));
  buffers[1] = second;
  OK(loom_tensor_release(all[1]));
  FAILS(LOOM_ERROR_HANDLE, loom_tensors_read(all, buffers, sizes, 3));
  EXPECT(strstr(loom_error_message(), "loom_tensors_read: tensors[1]: ") != NULL);
  OK(loom_tensor_release(all[0]));
  OK(loom_tensor_release(all[2]));
  OK(loom_tensor_release(x));
}

/* Work that takes a while: products of a matrix with itself. */
static loom_tensor long_work(void) {
  static float data[256 * 256];
  const int64_t shape[2] = {256, 256};
  loom_tensor x, y;
  int i;
  for (i = 0; i < 256 * 256; ++i) data[i] = i % 256 == i / 256 ? 1.0f : 0.0f;
  OK(loom_tensor_from_host(data, sizeof data, LOOM_FLOAT32, shape, 2, &x));
  for (i = 0; i < 100; ++i) {
    OK(loom_matmul(x, x, &y));
    OK(loom_tensor_release(x));
    x = y;
  }
  return x;
}

static void waits(void) {
  const float one = 1;
  loom_tensor x = vector(&one, 1), y, late;
  bool ready;
  int timeouts = 0;
  OK(loom_tensor_is_ready(x, &ready));
  EXPECT(ready);
  OK(loom_add(x, x, &y));
  OK(loom_tensor_is_ready(y, &ready));
  EXPECT(!ready);
  OK(loom_wait(&y, 1, 60));
  OK(loom_tensor_is_ready(y, &ready));
  EXPECT(ready);
  OK(loom_wait(&y, 1, 0));
  OK(loom_wait(&y, 1, -1));
  OK(loom_wait(NULL, 0, 0));
  late = long_work();
  while (loom_wait(&late, 1, 0.0005) == LOOM_ERROR_TIMEOUT) ++timeouts;
  EXPECT(timeouts > 0 && loom_error_status() == LOOM_ERROR_TIMEOUT);
  EXPECT(strstr(loom_error_message(), "0.0005 s are over") != NULL);
  OK(loom_wait(&late, 1, INFINITY));
  OK(loom_tensor_is_ready(late, &ready));
  EXPECT(ready);
  FAILS(LOOM_ERROR_ARGUMENT, loom_wait(&y, 1, NAN));
  FAILS(LOOM_ERROR_ARGUMENT, loom_wait(NULL, 1, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_wait(&y, (size_t)1 << 40, 1));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_is_ready(y, NULL));
  OK(loom_tensor_release(late));
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(y));
  FAILS(LOOM_ERROR_HANDLE, loom_wait(&y, 1, 1));
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_is_ready(y, &ready));
}

static void calls(void) {
  static heard h = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, LOOM_ERROR, 0,
                    {0}, 0, {0}};
  static numbered all[8];
  const float one = 1;
  loom_tensor x = vector(&one, 1), y, late;
  int i;
  for (i = 0; i < 8; ++i) {
    all[i].to = &h;
    all[i].number = i;
  }
  OK(loom_add(x, x, &y));
  OK(loom_tensor_on_ready(y, hear, &all[0]));
  wait_for(&h, 1);
  EXPECT(h.last == LOOM_OK && !pthread_equal(h.thread, pthread_self()));
  /* released meanwhile, in order, and calling lazyloom */
  h.read = y;
  late = long_work();
  OK(loom_tensor_on_ready(late, hear, &all[1]));
  OK(loom_tensor_release(late));
  OK(loom_tensor_on_ready(x, hear, &all[2]));
  wait_for(&h, 3);
  EXPECT(h.order[1] == 1 && h.order[2] == 2 && h.number == 4);
  h.read = loom_null();
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_on_ready(y, NULL, NULL));
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(y));
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_on_ready(y, hear, &all[4]));
  /* a shutdown waits for what was asked for */
  {
    const int before = h.count;
    late = long_work();
    OK(loom_tensor_on_ready(late, hear, &all[4]));
    OK(loom_shutdown());
    EXPECT(h.count == before + 1);
    OK(loom_initialize());
  }
}

static void say(loom_status status, void *context) {
  (void)context;
  puts(status == LOOM_OK ? "heard at the end" : "not computed");
}

int main(int argc, char **argv) {
  size_t live;
  OK(loom_initialize());
  if (argc > 1 && strcmp(argv[1], "end") == 0) {
    /* work and a call that are left to the end of the process */
    loom_tensor late = long_work(), other = long_work();
    OK(loom_tensor_on_ready(late, say, NULL));
    EXPECT(loom_wait(&other, 1, 0) == LOOM_ERROR_TIMEOUT);
    return 0;
  }
  EXPECT(strcmp(loom_status_name(LOOM_ERROR_TIMEOUT), "LOOM_ERROR_TIMEOUT") == 0);
  batch();
  waits();
  calls();
  OK(loom_live_handles(&live));
  EXPECT(live == 0);
  OK(loom_shutdown());
  puts("waiting works");
  return 0;
}
