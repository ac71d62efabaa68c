/* DLPack in and out: values, sharing, flags, when deleters are called, and what is refused. */

#include <pthread.h>

#include "check.h"

/* as dlpack.h has them */
typedef struct {
  int32_t device_type, device_id;
} DLDevice;
typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

static void counted(DLManagedTensorVersioned *self) { ++*(int *)self->manager_ctx; }
static void counted_too(DLManagedTensor *self) { ++*(int *)self->manager_ctx; }

static const DLDataType float32 = {2, 32, 1};

static DLManagedTensorVersioned of(void *data, int32_t ndim, int64_t *shape, int64_t *strides,
                                   int *count) {
  DLManagedTensorVersioned m;
  memset(&m, 0, sizeof m);
  m.version.major = 1;
  m.version.minor = 1;
  m.manager_ctx = count;
  m.deleter = counted;
  m.dl_tensor.data = data;
  m.dl_tensor.device.device_type = 1;
  m.dl_tensor.ndim = ndim;
  m.dl_tensor.dtype = float32;
  m.dl_tensor.shape = shape;
  m.dl_tensor.strides = strides;
  return m;
}

/* What was used last is let go of by the calls that follow. */
static void settle(void) {
  const float one = 1;
  float back;
  loom_tensor t = vector(&one, 1), u;
  OK(loom_add(t, t, &u));
  OK(loom_tensor_read(u, &back, sizeof back));
  OK(loom_tensor_release(u));
  OK(loom_tensor_release(t));
}

static void in(void) {
  static float memory[64 + 16];
  /* as XLA wants it, so that it is taken in place */
  float *data = (float *)(((uintptr_t)memory + 63) / 64 * 64), back[6];
  int64_t shape[2] = {2, 3}, columns[2] = {1, 2}, back_to_front[2] = {-3, 1}, zero[2] = {0, 3};
  int64_t repeated[2] = {0, 1}, huge[2] = {INT64_MAX, INT64_MAX}, negative[2] = {2, -1};
  int count = 0, i;
  loom_tensor t, sum;
  DLManagedTensorVersioned m = of(data, 2, shape, NULL, &count);
  DLManagedTensor old;
  for (i = 0; i < 6; ++i) data[i] = (float)i;

  OK(loom_tensor_from_dlpack(&m, false, &t));
  OK(loom_add(t, t, &sum));
  OK(loom_tensor_read(sum, back, sizeof back));
  EXPECT(back[5] == 10 && count == 0);
  {
    loom_buffer buffer;
    const void *mapped;
    size_t n;
    OK(loom_tensor_map(t, &buffer, &mapped, &n));
    EXPECT(mapped == (const void *)data);
    OK(loom_buffer_release(buffer));
  }
  OK(loom_tensor_release(sum));
  OK(loom_tensor_release(t));
  settle();
  EXPECT(count == 1);
  OK(loom_tensor_from_dlpack(&m, true, &t));
  EXPECT(count == 2);
  data[5] = 7;
  OK(loom_tensor_read(t, back, sizeof back));
  EXPECT(back[5] == 5);
  OK(loom_tensor_release(t));
  data[5] = 5;

  /* strides of all kinds, and an offset */
  m.dl_tensor.strides = columns;
  OK(loom_tensor_from_dlpack(&m, false, &t));
  OK(loom_tensor_read(t, back, sizeof back));
  EXPECT(back[0] == 0 && back[1] == 2 && back[3] == 1 && back[5] == 5);
  OK(loom_tensor_release(t));
  m.dl_tensor.strides = back_to_front;
  m.dl_tensor.byte_offset = 3 * sizeof(float);
  OK(loom_tensor_from_dlpack(&m, false, &t));
  OK(loom_tensor_read(t, back, sizeof back));
  EXPECT(back[0] == 3 && back[3] == 0 && back[5] == 2);
  OK(loom_tensor_release(t));
  m.dl_tensor.strides = repeated;
  OK(loom_tensor_from_dlpack(&m, false, &t));
  OK(loom_tensor_read(t, back, sizeof back));
  EXPECT(back[0] == 3 && back[3] == 3 && back[5] == 5);
  OK(loom_tensor_release(t));
  m.dl_tensor.byte_offset = 0;
  m.dl_tensor.strides = NULL;
  m.dl_tensor.shape = zero;
  m.dl_tensor.data = NULL;
  OK(loom_tensor_from_dlpack(&m, false, &t));
  OK(loom_tensor_release(t));
  EXPECT(count == 6);

  /* a failure leaves it to the caller */
  m.dl_tensor.shape = shape;
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack(&m, false, &t));
  EXPECT(strstr(loom_error_message(), "data is NULL") != NULL);
  m.dl_tensor.data = data;
  m.dl_tensor.shape = NULL;
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack(&m, false, &t));
  m.dl_tensor.shape = negative;
  FAILS(LOOM_ERROR_SHAPE, loom_tensor_from_dlpack(&m, false, &t));
  m.dl_tensor.shape = huge;
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack(&m, false, &t));
  m.dl_tensor.shape = shape;
  m.dl_tensor.strides = huge;
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack(&m, false, &t));
  m.dl_tensor.strides = NULL;
  m.dl_tensor.ndim = 1 << 20;
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack(&m, false, &t));
  m.dl_tensor.ndim = -1;
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack(&m, false, &t));
  m.dl_tensor.ndim = 2;
  m.dl_tensor.device.device_type = 2;
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack(&m, false, &t));
  m.dl_tensor.device.device_type = 1;
  m.dl_tensor.dtype.lanes = 4;
  FAILS(LOOM_ERROR_DTYPE, loom_tensor_from_dlpack(&m, false, &t));
  m.dl_tensor.dtype.lanes = 1;
  m.version.major = 2;
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack(&m, false, &t));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack(NULL, false, &t));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack(&m, false, NULL));
  EXPECT(count == 6);

  old.dl_tensor = m.dl_tensor;
  old.manager_ctx = &count;
  old.deleter = counted_too;
  OK(loom_tensor_from_dlpack_unversioned(&old, false, &t));
  OK(loom_tensor_release(t));
  EXPECT(count == 7);
  old.deleter = NULL;
  OK(loom_tensor_from_dlpack_unversioned(&old, false, &t));
  OK(loom_tensor_release(t));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_from_dlpack_unversioned(NULL, false, &t));
}

static void *delete_it(void *given) {
  DLManagedTensorVersioned *m = (DLManagedTensorVersioned *)given;
  m->deleter(m);
  return NULL;
}

static void out(DLManagedTensorVersioned **last) {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[2] = {2, 3};
  DLManagedTensorVersioned *m, *own;
  DLManagedTensor *old;
  loom_tensor t, u;
  size_t before, after;
  pthread_t thread;
  OK(loom_tensor_from_host(data, sizeof data, LOOM_FLOAT32, shape, 2, &t));
  OK(loom_add(t, t, &u));
  OK(loom_live_handles(&before));
  OK(loom_tensor_to_dlpack(u, false, &m));
  EXPECT(m->version.major == 1 && m->flags == 1 && m->dl_tensor.ndim == 2);
  EXPECT(m->dl_tensor.shape[1] == 3 && m->dl_tensor.strides[0] == 3);
  EXPECT(m->dl_tensor.strides[1] == 1 && m->dl_tensor.device.device_type == 1);
  EXPECT(memcmp(&m->dl_tensor.dtype, &float32, sizeof float32) == 0);
  OK(loom_tensor_assign(u, t));
  EXPECT(((float *)m->dl_tensor.data)[5] == 12);
  OK(loom_tensor_to_dlpack(u, true, &own));
  EXPECT(own->flags == 2);
  ((float *)own->dl_tensor.data)[0] = 99;
  own->deleter(own);
  EXPECT(pthread_create(&thread, NULL, delete_it, m) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  OK(loom_tensor_to_dlpack_unversioned(u, &old));
  EXPECT(((float *)old->dl_tensor.data)[0] == 1);
  /* what one gives the other takes */
  {
    loom_tensor again;
    float back[6];
    OK(loom_tensor_from_dlpack_unversioned(old, false, &again));
    OK(loom_tensor_read(again, back, sizeof back));
    EXPECT(memcmp(back, data, sizeof data) == 0);
    OK(loom_tensor_release(again));
  }
  OK(loom_live_handles(&after));
  EXPECT(before == after);
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_to_dlpack(u, false, NULL));
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_to_dlpack_unversioned(u, NULL));
  OK(loom_tensor_to_dlpack(t, false, last));
  OK(loom_tensor_release(t));
  OK(loom_tensor_release(u));
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_to_dlpack(u, false, &m));
  EXPECT(m == NULL);
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_to_dlpack_unversioned(u, &old));
}

static void given_back(void *count) { ++*(int *)count; }

/* Memory that goes through lazyloom to another library, and outlives the library: whose it is gets
   it back as soon as the other library has let go of it. */
static void after_the_end(void) {
  static const float data[4096] = {1, 2};
  const int64_t shape = 4096;
  int count = 0;
  loom_tensor t;
  DLManagedTensorVersioned *m;
  OK(loom_initialize());
  OK(loom_tensor_share_host(data, sizeof data, LOOM_FLOAT32, &shape, 1, given_back, &count, &t));
  OK(loom_tensor_to_dlpack(t, false, &m));
  OK(loom_tensor_release(t));
  OK(loom_shutdown());
  EXPECT(count == 0 && ((float *)m->dl_tensor.data)[1] == 2);
  m->deleter(m);
  EXPECT(count == 1);
}

int main(void) {
  DLManagedTensorVersioned *last, *never;
  loom_tensor t;
  const float one = 1;
  size_t live;
  OK(loom_initialize());
  in();
  out(&last);
  t = vector(&one, 1);
  OK(loom_tensor_to_dlpack(t, false, &never));
  OK(loom_shutdown());
  /* the memory is still there, and can be let go of */
  EXPECT(((float *)last->dl_tensor.data)[5] == 6);
  last->deleter(last);
  OK(loom_initialize());
  OK(loom_live_handles(&live));
  EXPECT(live == 1);
  EXPECT(((float *)never->dl_tensor.data)[0] == 1);
  never->deleter(never);
  OK(loom_live_handles(&live));
  EXPECT(live == 0);
  OK(loom_shutdown());
  after_the_end();
  puts("dlpack works");
  return 0;
}
