/* DLPack: the exported functions, as those of shims.c. The structures are DLPack's ABI, whose
   layout is fixed for a major version. */

typedef struct dl_device {
  int32_t type; /* 1: the host's memory; 3: likewise, pinned for CUDA */
  int32_t number;
} dl_device;

typedef struct dl_dtype {
  uint8_t code; /* 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool */
  uint8_t bits;
  uint16_t lanes;
} dl_dtype;

typedef struct dl_tensor {
  void *data;
  dl_device device;
  int32_t ndim;
  dl_dtype dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL for row-major */
  uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags; /* 1: read-only, 2: copied */
  dl_tensor tensor;
};

struct DLManagedTensor {
  dl_tensor tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
};

enum { DL_MAJOR = 1, DL_MINOR = 0, DL_READ_ONLY = 1, DL_COPIED = 2, DL_HOST = 1, DL_PINNED = 3 };
/* no library has as many dimensions; what is more was not meant */
enum { DL_MOST_DIMENSIONS = 64 };

static const struct {
  dl_dtype dtype;
  loom_dtype ours;
} dl_dtypes[] = {
    {{6, 8, 1}, LOOM_BOOL},      {{0, 8, 1}, LOOM_INT8},       {{0, 16, 1}, LOOM_INT16},
    {{0, 32, 1}, LOOM_INT32},    {{0, 64, 1}, LOOM_INT64},     {{1, 8, 1}, LOOM_UINT8},
    {{1, 16, 1}, LOOM_UINT16},   {{1, 32, 1}, LOOM_UINT32},    {{1, 64, 1}, LOOM_UINT64},
    {{2, 16, 1}, LOOM_FLOAT16},  {{4, 16, 1}, LOOM_BFLOAT16},  {{2, 32, 1}, LOOM_FLOAT32},
    {{2, 64, 1}, LOOM_FLOAT64},  {{5, 64, 1}, LOOM_COMPLEX64}, {{5, 128, 1}, LOOM_COMPLEX128},
};
#define DL_DTYPES (sizeof dl_dtypes / sizeof dl_dtypes[0])

static int dl_to_ours(dl_dtype given) {
  size_t i;
  for (i = 0; i < DL_DTYPES; ++i) {
    const dl_dtype known = dl_dtypes[i].dtype;
    if (known.code == given.code && known.bits == given.bits && known.lanes == given.lanes)
      return (int)dl_dtypes[i].ours;
  }
  return 0;
}

/* ---- in ------------------------------------------------------------------------------ */

/* What is wrong with a tensor before its memory is looked at; LOOM_OK if nothing is. */
static loom_status dl_wrong(const char *function, const dl_tensor *t) {
  char text[300];
  if (t->device.type != DL_HOST && t->device.type != DL_PINNED) {
    snprintf(text, sizeof text,
             "%s: the tensor is on a device of type %d, expected the host's memory (kDLCPU, 1); "
             "copy it there first", function, (int)t->device.type);
    return fail_at(LOOM_ERROR_ARGUMENT, text, "managed");
  }
  if (t->ndim < 0 || t->ndim > DL_MOST_DIMENSIONS) {
    snprintf(text, sizeof text, "%s: the tensor has %d dimensions, expected 0 to %d", function,
             (int)t->ndim, (int)DL_MOST_DIMENSIONS);
    return fail_at(LOOM_ERROR_ARGUMENT, text, "managed");
  }
  if (t->ndim != 0 && t->shape == NULL) return null_pointer(function, "the tensor's shape");
  if (dl_to_ours(t->dtype) == 0) {
    snprintf(text, sizeof text,
             "%s: the tensor has DLPack's dtype code %d of %d bits and %d lanes, expected one of "
             "loom_dtype with one lane", function, (int)t->dtype.code, (int)t->dtype.bits,
             (int)t->dtype.lanes);
    return fail_at(LOOM_ERROR_DTYPE, text, "managed");
  }
  return LOOM_OK;
}

static void dl_delete_versioned(void *managed) {
  struct DLManagedTensorVersioned *m = (struct DLManagedTensorVersioned *)managed;
  if (m->deleter != NULL) m->deleter(m);
}

static void dl_delete(void *managed) {
  struct DLManagedTensor *m = (struct DLManagedTensor *)managed;
  if (m->deleter != NULL) m->deleter(m);
}

static loom_status dl_take(const char *function, const dl_tensor *t, bool copy,
                           void (*deleter)(void *), void *managed, uint64_t *result) {
  loom_status status = dl_wrong(function, t);
  if (status != LOOM_OK) return status;
  return CALL(loomp_from_dlpack((char *)t->data, t->byte_offset, dl_to_ours(t->dtype), t->shape,
                                t->strides, (size_t)t->ndim, copy, deleter, managed, result,
                                WHERE));
}

loom_status loom_tensor_from_dlpack(struct DLManagedTensorVersioned *managed, bool copy,
                                    loom_tensor *result) {
  NEED(result);
  result->bits = 0;
  READY();
  NEED(managed);
  if (managed->major != DL_MAJOR) {
    char text[200];
    snprintf(text, sizeof text, "%s: the tensor is of DLPack %u.%u, expected %d.x", __func__,
             (unsigned)managed->major, (unsigned)managed->minor, (int)DL_MAJOR);
    return fail_at(LOOM_ERROR_ARGUMENT, text, "managed");
  }
  return dl_take(__func__, &managed->tensor, copy, dl_delete_versioned, managed, &result->bits);
}

loom_status loom_tensor_from_dlpack_unversioned(struct DLManagedTensor *managed, bool copy,
                                                loom_tensor *result) {
  NEED(result);
  result->bits = 0;
  READY();
  NEED(managed);
  return dl_take(__func__, &managed->tensor, copy, dl_delete, managed, &result->bits);
}

/* ---- out ----------------------------------------------------------------------------- */

/* Lets go of memory that another library had: a handle that only this side knows. */
static void dl_let_go(void *bits) {
  bool at_once = false;
  if (give_up(LOOMP_EXPORT, (uint64_t)(uintptr_t)bits, &at_once) == LOOM_OK) (void)let_go_now();
}

static void dl_end_versioned(struct DLManagedTensorVersioned *self) {
  void *bits = self->manager_ctx;
  free(self);
  dl_let_go(bits);
}

static void dl_end(struct DLManagedTensor *self) {
  void *bits = self->manager_ctx;
  free(self);
  dl_let_go(bits);
}

/* Fills in a tensor, whose shape and strides lie at ``dims``. */
static loom_status dl_give(uint64_t tensor, bool copy, dl_tensor *t, size_t ndim, int64_t *dims,
                           void **context) {
  uint64_t bits = 0;
  int64_t dtype = 0, elements = 1;
  size_t i;
  loom_status status = CALL(loomp_to_dlpack(tensor, copy, &t->data, &bits, WHERE));
  if (status != LOOM_OK) return status;
  *context = (void *)(uintptr_t)bits;
  status = CALL(loomp_info(tensor, LOOMP_DTYPE, &dtype));
  if (status == LOOM_OK) status = CALL(loomp_shape(tensor, dims, ndim, &i));
  if (status != LOOM_OK) {
    dl_let_go(*context);
    return status;
  }
  t->device.type = DL_HOST;
  t->device.number = 0;
  t->ndim = (int32_t)ndim;
  for (i = 0; i < DL_DTYPES; ++i)
    if ((int64_t)dl_dtypes[i].ours == dtype) t->dtype = dl_dtypes[i].dtype;
  t->shape = dims;
  t->strides = dims + ndim;
  for (i = ndim; i != 0; --i) {
    t->strides[i - 1] = elements;
    elements *= dims[i - 1] != 0 ? dims[i - 1] : 1;
  }
  t->byte_offset = 0;
  return LOOM_OK;
}

static loom_status no_memory(void) {
  return fail(LOOM_ERROR_OUT_OF_MEMORY, "there is no memory for a DLPack tensor");
}

loom_status loom_tensor_to_dlpack(loom_tensor tensor, bool copy,
                                  struct DLManagedTensorVersioned **result) {
  struct DLManagedTensorVersioned *m;
  int64_t ndim = 0;
  loom_status status;
  NEED(result);
  *result = NULL;
  READY();
  status = CALL(loomp_info(tensor.bits, LOOMP_NDIM, &ndim));
  if (status != LOOM_OK) return status;
  m = (struct DLManagedTensorVersioned *)calloc(
      1, sizeof *m + 2 * (size_t)ndim * sizeof(int64_t));
  if (m == NULL) return no_memory();
  m->major = DL_MAJOR;
  m->minor = DL_MINOR;
  m->deleter = dl_end_versioned;
  m->flags = copy ? DL_COPIED : DL_READ_ONLY;
  status = dl_give(tensor.bits, copy, &m->tensor, (size_t)ndim, (int64_t *)(m + 1),
                   &m->manager_ctx);
  if (status != LOOM_OK) free(m);
  else *result = m;
  return status;
}

loom_status loom_tensor_to_dlpack_unversioned(loom_tensor tensor,
                                              struct DLManagedTensor **result) {
  struct DLManagedTensor *m;
  int64_t ndim = 0;
  loom_status status;
  NEED(result);
  *result = NULL;
  READY();
  status = CALL(loomp_info(tensor.bits, LOOMP_NDIM, &ndim));
  if (status != LOOM_OK) return status;
  m = (struct DLManagedTensor *)calloc(1, sizeof *m + 2 * (size_t)ndim * sizeof(int64_t));
  if (m == NULL) return no_memory();
  m->deleter = dl_end;
  status = dl_give(tensor.bits, true, &m->tensor, (size_t)ndim, (int64_t *)(m + 1),
                   &m->manager_ctx);
  if (status != LOOM_OK) free(m);
  else *result = m;
  return status;
}
