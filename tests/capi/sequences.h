/* What the sequences of sequences.c are made of: random choices, handles that a sequence owns,
   functions of the caller's, and memory that the library is to give back. */
#ifndef SEQUENCES_H
#define SEQUENCES_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazyloom_ops.h"

enum { POOL = 24, FEW = 6, MOST_THREADS = 64 };

/* ---- what is to come out even at the end --------------------------------------- */

/* Contexts and memory that were given to the library, and those that it has given back. */
typedef enum lent_kind { OF_HOST, OF_DLPACK, OF_CUSTOM, OF_QUANTIZED, OF_READY, LENT } lent_kind;
static int64_t lent[LENT], returned[LENT];

static void lend(lent_kind kind) { __atomic_add_fetch(&lent[kind], 1, __ATOMIC_SEQ_CST); }
static void give_back(lent_kind kind) {
  __atomic_add_fetch(&returned[kind], 1, __ATOMIC_SEQ_CST);
}

/* ---- a sequence ------------------------------------------------------------------ */

typedef struct worker {
  uint64_t random;
  uint64_t sequence;        /* its number */
  const char *at;           /* the function that is called */
  uint64_t calls;           /* made so far, of all sequences of the thread */
  bool ended;
  uint64_t refused, succeeded;
  int depth;                /* of functions of the caller's */
  size_t tensors, buffers, programs, captures, maps, quantized, errors, exporteds;
  loom_tensor tensor[POOL];
  loom_buffer buffer[POOL];
  loom_program program[POOL];
  loom_capture capture[POOL];
  loom_linear_map map[POOL];
  loom_quantized quantize[POOL];
  loom_exported exported[POOL];
  loom_error *error[POOL];
} worker;

/* NULL on threads of the library's */
static __thread worker *own;

/* Members that another thread looks at. */
#define TELL(member, value) __atomic_store_n(&(member), (value), __ATOMIC_SEQ_CST)
#define SEEN(member) __atomic_load_n(&(member), __ATOMIC_SEQ_CST)

static uint64_t draw(worker *w) {
  /* splitmix64 */
  uint64_t z = (w->random += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static size_t below(worker *w, size_t n) { return (size_t)(draw(w) % n); }
static bool one_in(worker *w, size_t n) { return below(w, n) == 0; }

/* ---- handles ---------------------------------------------------------------------- */

/* Tensors that threads take from each other, and use while another may release them. */
static uint64_t shared[8];

/* Owned by the sequence from now on. */
static void keep(worker *w, loom_tensor tensor) {
  if (tensor.bits == 0) return;
  if (one_in(w, 16)) {
    const size_t i = below(w, sizeof shared / sizeof shared[0]);
    tensor.bits = __atomic_exchange_n(&shared[i], tensor.bits, __ATOMIC_SEQ_CST);
    if (tensor.bits == 0) return;
  }
  if (w->tensors == POOL) {
    const size_t i = below(w, POOL);
    (void)loom_tensor_release(w->tensor[i]);
    w->tensor[i] = tensor;
  } else {
    w->tensor[w->tensors++] = tensor;
  }
}

static void keep_all(worker *w, const loom_tensor *tensors, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) keep(w, tensors[i]);
}

/* Bits that are no handle: null, of another kind, spent long ago, anything. */
static uint64_t no_handle(worker *w) {
  switch (below(w, 5)) {
    case 0: return 0;
    case 1: return w->captures ? w->capture[below(w, w->captures)].bits : 1;
    case 2: return w->programs ? w->program[below(w, w->programs)].bits : UINT64_MAX;
    case 3: return draw(w);
    default: return UINT64_C(1) << below(w, 64);
  }
}

static loom_tensor some(worker *w) {
  loom_tensor tensor;
  const size_t choice = below(w, 32);
  tensor.bits = 0;
  if (choice == 0 || w->tensors == 0) tensor.bits = no_handle(w);
  else if (choice == 1)
    tensor.bits = __atomic_load_n(&shared[below(w, sizeof shared / sizeof shared[0])],
                                  __ATOMIC_SEQ_CST);
  else tensor = w->tensor[below(w, w->tensors)];
  return tensor;
}

static size_t several(worker *w, loom_tensor *tensors) {
  size_t i;
  for (i = 0; i < FEW; ++i) tensors[i] = some(w);
  return one_in(w, 16) ? 0 : 1 + below(w, 3);
}

/* A count that is right nearly always, and else more than anything can have. */
static size_t about(worker *w, size_t count) {
  return one_in(w, 40) ? (size_t)(UINT64_MAX >> below(w, 43)) : count;
}

/* ---- memory ------------------------------------------------------------------------ */

static const float numbers[64] = {1, 2, 3, -1, 0.5f, 0, 4, -2, 1, 1, 2, 3};
static const int64_t shapes[][3] = {{0}, {3}, {2, 3}, {3, 3}, {3, 1}, {0}, {2, 2, 3}, {1}};
static const size_t ndims[] = {0, 1, 2, 2, 2, 1, 3, 1};
enum { SHAPES = 8 };

static size_t elements_of(size_t shape) {
  size_t i, n = 1;
  for (i = 0; i < ndims[shape]; ++i) n *= (size_t)shapes[shape][i];
  return n;
}

static loom_dtype some_dtype(worker *w) {
  static const loom_dtype others[] = {LOOM_INT32, LOOM_BOOL, LOOM_FLOAT64, LOOM_BFLOAT16,
                                      LOOM_COMPLEX64, LOOM_UINT8, LOOM_FLOAT16};
  if (!one_in(w, 4)) return LOOM_FLOAT32;
  if (one_in(w, 8)) return (loom_dtype)below(w, 20);
  return others[below(w, sizeof others / sizeof others[0])];
}

/* A tensor that is there to begin with. */
static void fresh(worker *w) {
  const size_t shape = below(w, SHAPES);
  const loom_dtype dtype = some_dtype(w);
  loom_tensor made;
  if (loom_tensor_from_host(numbers, elements_of(shape) * loom_dtype_size(dtype), dtype,
                            shapes[shape], ndims[shape], &made) == LOOM_OK)
    keep(w, made);
}

static loom_status two_rows(loom_tensor *made) {
  return loom_tensor_from_host(numbers, 6 * sizeof numbers[0], LOOM_FLOAT32, shapes[2], 2, made);
}

/* The status of a call that may fail. */
static void either(loom_status status) { (void)status; }

static void memory_done(void *context) {
  (void)context;
  give_back(OF_HOST);
}

/* ---- DLPack, as dlpack.h has it ------------------------------------------------------ */

typedef struct {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;
typedef struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  dl_tensor tensor;
} dl_versioned;
typedef struct DLManagedTensor {
  dl_tensor tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} dl_unversioned;

static void dl_versioned_done(struct DLManagedTensorVersioned *self) {
  free(self->tensor.data);
  free(self);
  give_back(OF_DLPACK);
}

static void dl_unversioned_done(struct DLManagedTensor *self) {
  free(self->tensor.data);
  free(self);
  give_back(OF_DLPACK);
}

/* Memory of two rows of three numbers, or what cannot be. */
static void dl_fill(worker *w, dl_tensor *t) {
  static int64_t sizes[3] = {2, 3, 1}, steps[3] = {3, 1, 1}, odd[3] = {1, 2, -1};
  memset(t, 0, sizeof *t);
  t->data = calloc(16, sizeof(double));
  t->device_type = one_in(w, 16) ? (int32_t)below(w, 20) : 1;
  t->ndim = (int32_t)(one_in(w, 16) ? below(w, 4) - 1 : below(w, 3));
  t->code = one_in(w, 8) ? (uint8_t)below(w, 20) : 2;
  t->bits = one_in(w, 8) ? (uint8_t)(8u << below(w, 5)) : 32;
  t->lanes = one_in(w, 16) ? 2 : 1;
  t->shape = one_in(w, 16) ? NULL : sizes;
  t->strides = one_in(w, 3) ? NULL : one_in(w, 8) ? odd : steps;
  if (t->bits > 64 || (t->strides == odd && t->ndim > 2)) t->bits = 32;
}

/* ---- functions of the caller's --------------------------------------------------------- */

/* One of the caller's functions, and what it is to do. */
typedef struct plan {
  uint64_t random;
  lent_kind kind;
} plan;

static void act(worker *w);

static void plan_done(void *context) {
  give_back(((plan *)context)->kind);
  free(context);
}

/* One that stays until the library says that it is not needed any more. */
static plan *kept_plan(worker *w, lent_kind kind) {
  plan *p = (plan *)malloc(sizeof *p);
  if (p == NULL) abort();
  p->random = draw(w);
  p->kind = kind;
  lend(kind);
  return p;
}

/* Something computed of the inputs. */
static loom_status compute(worker *w, const loom_tensor *inputs, size_t count,
                           loom_tensor *output) {
  const loom_tensor x = inputs[below(w, count)];
  switch (below(w, 5)) {
    case 0: return loom_sin(x, output);
    case 1: return loom_multiply_with(loom_t(x), loom_scalar_real(0.5, LOOM_DTYPE_NONE), output);
    case 2: return loom_add(x, inputs[below(w, count)], output);
    case 3: return loom_sum(x, NULL, 0, LOOM_DTYPE_NONE, false, output);
    default: return loom_copy(x, output);
  }
}

/* A loom_function that does what its plan's random numbers say: what it should, with other calls
   between, or what it should not. */
static loom_status given(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                         size_t output_count, void *context) {
  worker *w = own, alone;
  const plan *p = (const plan *)context;
  uint64_t outer;
  loom_status status = LOOM_OK;
  size_t i, way;
  if (w == NULL) {
    memset(&alone, 0, sizeof alone);
    alone.depth = 1;
    w = &alone;
  }
  outer = w->random;
  w->random = p->random;
  ++w->depth;
  way = below(w, 24);
  if (w->depth < 4 && w != &alone && one_in(w, 3)) act(w);
  for (i = 0; i < output_count && status == LOOM_OK; ++i) {
    if (input_count == 0 || way == 0) {
      status = two_rows(&outputs[i]);
    } else if (way < 6) {
      outputs[i] = inputs[i % input_count];
      /* one that is given twice has an owner more */
      if (i >= input_count) status = loom_tensor_retain(outputs[i]);
    } else if (way == 6) {
      outputs[i].bits = no_handle(w);
    } else if (way == 7) {
      float back[64];
      status = loom_tensor_read(inputs[i % input_count], back, sizeof back);
    } else if (way == 8) {
      status = loom_tensor_release(inputs[i % input_count]);
      outputs[i] = inputs[i % input_count];
    } else {
      status = compute(w, inputs, input_count, &outputs[i]);
    }
  }
  if (way == 9) status = loom_set_error((loom_status)(2 + below(w, 12)), "a function that fails");
  if (way == 10) status = (loom_status)below(w, 20);
  if (way == 11 && w->depth < 4 && w != &alone) act(w);
  --w->depth;
  w->random = outer;
  return status;
}

/* The same of functions whose one output is a condition. */
static loom_status condition(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                             size_t output_count, void *context) {
  static const bool no = false;
  const plan *p = (const plan *)context;
  if (output_count != 1 || p->random % 8 == 0)
    return given(inputs, input_count, outputs, output_count, context);
  return loom_tensor_from_host(&no, sizeof no, LOOM_BOOL, NULL, 0, &outputs[0]);
}

/* A loom_ready_function. */
static void heard(loom_status status, void *context) {
  loom_tensor made = loom_null();
  size_t live;
  if (status != LOOM_OK && loom_error_message()[0] == 0) abort();
  either(loom_live_handles(&live));
  if (((plan *)context)->random % 4 == 0) {
    if (two_rows(&made) == LOOM_OK) (void)loom_tensor_release(made);
    if (loom_initialize() == LOOM_ERROR_INTERNAL || loom_shutdown() == LOOM_OK) abort();
  }
  plan_done(context);
}

static int64_t messages;

/* A loom_log_function. */
static void logged(loom_log_level level, const char *message, void *context) {
  (void)context;
  if ((int)level > 0 && message[0] != 0) __atomic_add_fetch(&messages, 1, __ATOMIC_SEQ_CST);
}

#endif
