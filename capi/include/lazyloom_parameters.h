/* lazyloom_parameters.h: named lists of parameters, their first values and their files. Part of
   lazyloom_nn.h, which says the rules; include that. */
#ifndef LAZYLOOM_PARAMETERS_H
#define LAZYLOOM_PARAMETERS_H

#include <math.h>

#include "lazyloom_ops.h"
#include "lazyloom_safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LOOM_NN_LONGEST_NAME = 255, LOOM_NN_MOST_DIMENSIONS = 16 };

/* ---- lists of parameters ----------------------------------------------------- */

/* Tensors with names: what is trained, and what goes along with it (running moments, an
   optimizer's state). All zeros is an empty list. */
typedef struct loom_nn_list {
  size_t count;
  loom_dtype dtype;     /* of what is made for the list; LOOM_DTYPE_NONE is LOOM_FLOAT32 */
  loom_tensor *tensors; /* count, as loom_capture_begin() takes them; owned by the list */
  char **names;         /* count, UTF-8, in the order that they were added; owned by the list */
  bool *trained;        /* count; whether optimizers step it */
  size_t capacity_;
} loom_nn_list;

/* An empty list, for parameters of that dtype. Nothing is allocated until one is added. */
static inline loom_nn_list loom_nn_list_of(loom_dtype dtype) {
  loom_nn_list list;
  memset(&list, 0, sizeof list);
  list.dtype = dtype;
  return list;
}

/* Releases all tensors of a list and empties it. */
static inline void loom_nn_list_free(loom_nn_list *list) {
  size_t i;
  for (i = 0; i < list->count; ++i) {
    (void)(loom_tensor_release)(list->tensors[i]);
    free(list->names[i]);
  }
  free(list->tensors);
  free(list->names);
  free(list->trained);
  *list = loom_nn_list_of(list->dtype);
}

/* Where a name stands in a list; count if it does not. */
static inline size_t loom_nn_index(const loom_nn_list *list, const char *name) {
  size_t i;
  for (i = 0; i < list->count && strcmp(list->names[i], name); ++i) continue;
  return i;
}

/* The tensor of a name. tensor: out, owned by the list.
   Errors: LOOM_ERROR_ARGUMENT if there is none. */
static inline LOOM_CHECK loom_status loom_nn_find(const loom_nn_list *list, const char *name,
                                                  loom_tensor *tensor) {
  const size_t at = loom_nn_index(list, name);
  *tensor = loom_null();
  if (at == list->count)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "there is no parameter '%s' among the %llu of the list",
                      name, (unsigned long long)list->count);
  *tensor = list->tensors[at];
  return LOOM_OK;
}

/* Room for one more tensor; whether there was memory. */
static inline bool loom_nn_room_(loom_nn_list *list) {
  size_t capacity = list->capacity_;
  void *tensors = list->tensors, *names = (void *)list->names, *trained = list->trained;
  bool there = loom_grow_(&tensors, sizeof *list->tensors, list->count, &capacity);
  capacity = list->capacity_;
  there = loom_grow_(&names, sizeof *list->names, list->count, &capacity) && there;
  capacity = list->capacity_;
  there = loom_grow_(&trained, sizeof *list->trained, list->count, &capacity) && there;
  list->tensors = (loom_tensor *)tensors;
  list->names = (char **)names;
  list->trained = (bool *)trained;
  if (there) list->capacity_ = capacity;
  return there;
}

/* Adds a tensor to a list. name: in, 1 to 255 bytes of UTF-8. tensor: in; the list becomes an owner beside
   the caller. trained: it becomes a leaf (loom_tensor_require_grad()), which optimizers step.
   Errors: LOOM_ERROR_ARGUMENT for a name or a tensor that is in the list already (layers that share
   a weight are recorded with loom_nn_find() and an op); LOOM_ERROR_GRADIENT for a trained one whose
   dtype has no gradients. */
static inline LOOM_CHECK loom_status loom_nn_add(loom_nn_list *list, const char *name,
                                                 loom_tensor tensor, bool trained) {
  const size_t length = strlen(name);
  size_t i;
  char *copy;
  loom_status status;
  if (length == 0 || length > LOOM_NN_LONGEST_NAME)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "loom_nn_add: a name of %llu bytes, expected 1 to %d",
                      (unsigned long long)length, (int)LOOM_NN_LONGEST_NAME);
  if (!loom_is_utf8_(name, length))
    return loom_fail_(LOOM_ERROR_ARGUMENT, "loom_nn_add: the name '%s' is not UTF-8, as names in "
                      "files are expected to be", name);
  if (loom_nn_index(list, name) < list->count)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "loom_nn_add: parameter '%s' is in the list already",
                      name);
  for (i = 0; i < list->count; ++i)
    if (list->tensors[i].bits == tensor.bits)
      return loom_fail_(LOOM_ERROR_ARGUMENT, "loom_nn_add: parameter '%s' is the same tensor as "
                        "'%s', expected each once", name, list->names[i]);
  if (!loom_nn_room_(list)) return loom_no_memory_("loom_nn_add");
  status = (loom_tensor_retain)(tensor);
  if (status == LOOM_OK && trained) {
    status = (loom_tensor_require_grad)(tensor, true);
    if (status != LOOM_OK) (void)(loom_tensor_release)(tensor);
  }
  if (status != LOOM_OK)
    return loom_fail_(status, "parameter '%s': %s", name, loom_error_message());
  copy = loom_copy_text_(name);
  if (copy == NULL) {
    (void)(loom_tensor_release)(tensor);
    return loom_no_memory_("loom_nn_add");
  }
  list->tensors[list->count] = tensor;
  list->names[list->count] = copy;
  list->trained[list->count++] = trained;
  return LOOM_OK;
}

/* A tensor of one number everywhere, which a program starts from. */
static inline LOOM_CHECK loom_status loom_nn_filled_(double value, loom_dtype dtype,
                                                     const int64_t *shape, size_t ndim,
                                                     loom_tensor *result) {
  static const int64_t none = 0;
  const bool real = dtype >= LOOM_FLOAT16 && dtype <= LOOM_FLOAT64;
  loom_operand number = dtype >= LOOM_COMPLEX64 ? loom_scalar_complex(value, 0, dtype) :
      real ? loom_scalar_real(value, dtype) : loom_scalar_int((int64_t)value, dtype);
  loom_attr extents = loom_attr_ints("shape", ndim ? shape : &none, ndim);
  if (dtype == LOOM_BOOL) number = loom_scalar_bool(value != 0);
  return (loom_source)("full", &number, 1, &extents, 1, result, 1, NULL);
}

/* Makes a tensor of zeros, of the list's dtype, and adds it as loom_nn_add() does. shape: in,
   ndim entries. tensor: out, owned by the list; may be NULL. Errors as loom_nn_add(). */
static inline LOOM_CHECK loom_status loom_nn_new(loom_nn_list *list, const char *name,
                                                 const int64_t *shape, size_t ndim, bool trained,
                                                 loom_tensor *tensor) {
  const loom_dtype dtype = list->dtype ? list->dtype : LOOM_FLOAT32;
  loom_tensor made;
  loom_status status;
  if (tensor != NULL) *tensor = loom_null();
  status = loom_nn_filled_(0, dtype, shape, ndim, &made);
  if (status != LOOM_OK)
    return loom_fail_(status, "parameter '%s': %s", name, loom_error_message());
  status = loom_nn_add(list, name, made, trained);
  if (status == LOOM_OK && tensor != NULL) *tensor = made;
  (void)(loom_tensor_release)(made);
  return status;
}

/* What error messages say of a tensor: "float32 of shape (2, 3)". */
static inline loom_shape_text_ loom_nn_say_(loom_tensor tensor) {
  int64_t shape[LOOM_NN_MOST_DIMENSIONS];
  size_t ndim = 0;
  loom_dtype dtype = LOOM_DTYPE_NONE;
  loom_shape_text_ said, extents;
  if ((loom_tensor_dtype)(tensor, &dtype) != LOOM_OK ||
      (loom_tensor_shape)(tensor, shape, LOOM_NN_MOST_DIMENSIONS, &ndim) != LOOM_OK) {
    memcpy(said.text, "no tensor", 10);
    return said;
  }
  if (ndim > LOOM_NN_MOST_DIMENSIONS) ndim = LOOM_NN_MOST_DIMENSIONS;
  extents = loom_say_shape_(shape, ndim);
  (void)snprintf(said.text, sizeof said.text, "%s of shape %.120s", loom_dtype_name(dtype),
                 extents.text);
  return said;
}

/* ---- random numbers ---------------------------------------------------------- */

/* Keys of random ops, one after the other. With the same seed they are those of the torch-like
   frontend's Generator, manual_seed(seed), whose numbers are not PyTorch's. */
typedef struct loom_nn_random {
  uint64_t seed;
  uint64_t next;    /* the number of the next draw; the first one's is 2 */
  loom_tensor key_; /* of the seed; null until it is needed */
} loom_nn_random;

/* Keys from a seed on. Nothing is allocated until a key is drawn. */
static inline loom_nn_random loom_nn_random_from(uint64_t seed) {
  loom_nn_random random;
  random.seed = seed;
  random.next = 2;
  random.key_ = loom_null();
  return random;
}

/* Releases what it owns; it may be used again. */
static inline void loom_nn_random_free(loom_nn_random *random) {
  (void)(loom_tensor_release)(random->key_);
  random->key_ = loom_null();
}

/* The key of the next draw, for random ops and loom_nn_dropout(). key: new.
   Not inside a capture, whose runs would all draw with it: see loom_nn_split_key().
   Errors: LOOM_ERROR_ARGUMENT after 2^32 draws. */
static inline LOOM_CHECK loom_status loom_nn_key(loom_nn_random *random, loom_tensor *key) {
  const int64_t two = 2;
  uint32_t words[2];
  loom_status status = LOOM_OK;
  *key = loom_null();
  if (random->next > UINT32_MAX)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "loom_nn_key: all 2^32 draws of the seed %llu were "
                      "made: take another seed", (unsigned long long)random->seed);
  if (loom_is_null(random->key_)) {
    words[0] = (uint32_t)(random->seed >> 32);
    words[1] = (uint32_t)(random->seed & UINT32_MAX);
    status = (loom_tensor_from_host)(words, sizeof words, LOOM_UINT32, &two, 1, &random->key_);
  }
  if (status == LOOM_OK)
    status = (loom_random_fold_in_with)(
        loom_t(random->key_), loom_scalar_int((int64_t)random->next, LOOM_INT64), key);
  if (status == LOOM_OK) ++random->next;
  return status;
}

/* Draws a key from one that is a tensor, and writes the next one into that, so that each run of a
   capture that has it among its inputs draws anew. held: a key, uint32 of shape (2,), as
   loom_nn_key() gives. key: new. */
static inline LOOM_CHECK loom_status loom_nn_split_key(loom_tensor held, loom_tensor *key) {
  loom_tensor next = loom_null();
  loom_status status;
  *key = loom_null();
  status = (loom_random_fold_in_with)(loom_t(held), loom_scalar_int(0, LOOM_INT64), &next);
  if (status == LOOM_OK)
    status = (loom_random_fold_in_with)(loom_t(held), loom_scalar_int(1, LOOM_INT64), key);
  if (status == LOOM_OK) status = (loom_tensor_assign)(held, next);
  (void)(loom_tensor_release)(next);
  if (status != LOOM_OK) {
    (void)(loom_tensor_release)(*key);
    *key = loom_null();
  }
  return status;
}

/* ---- first values ------------------------------------------------------------ */

typedef struct loom_nn_extents_ {
  loom_tensor tensor;
  loom_dtype dtype;
  size_t ndim;
  int64_t shape[LOOM_NN_MOST_DIMENSIONS];
} loom_nn_extents_;

static inline LOOM_CHECK loom_status loom_nn_extents_of_(const loom_nn_list *list,
                                                         const char *name,
                                                         loom_nn_extents_ *found) {
  loom_status status = loom_nn_find(list, name, &found->tensor);
  if (status == LOOM_OK) status = (loom_tensor_dtype)(found->tensor, &found->dtype);
  if (status == LOOM_OK)
    status = (loom_tensor_shape)(found->tensor, found->shape, LOOM_NN_MOST_DIMENSIONS,
                                 &found->ndim);
  if (status == LOOM_OK && found->ndim > LOOM_NN_MOST_DIMENSIONS)
    return loom_fail_(LOOM_ERROR_SHAPE, "parameter '%s' has %llu dimensions, expected at most %d",
                      name, (unsigned long long)found->ndim, (int)LOOM_NN_MOST_DIMENSIONS);
  return status;
}

/* Sets the gradient switch again; gives the first failure. */
static inline loom_status loom_nn_switch_back_(bool recording, loom_status status) {
  const loom_status switched = (loom_set_grad_enabled)(recording, NULL);
  return status != LOOM_OK ? status : switched;
}

/* Writes what a call made into a tensor, as where programs start, and releases it. */
static inline LOOM_CHECK loom_status loom_nn_begin_with_(loom_status status, const char *name,
                                                         loom_tensor target, loom_tensor value) {
  bool recording = true;
  if (status == LOOM_OK) status = (loom_set_grad_enabled)(false, &recording);
  if (status == LOOM_OK) {
    bool pending = false;
    status = (loom_tensor_is_pending)(value, &pending);
    if (status == LOOM_OK && pending) status = (loom_boundary)(value);
    if (status == LOOM_OK) status = (loom_tensor_assign)(target, value);
    status = loom_nn_switch_back_(recording, status);
  }
  (void)(loom_tensor_release)(value);
  if (status == LOOM_OK) return LOOM_OK;
  return loom_fail_(status, "parameter '%s': %s", name, loom_error_message());
}

/* Fills a parameter with one number. Errors: LOOM_ERROR_ARGUMENT if there is none of that name,
   as for all functions of this section. */
static inline LOOM_CHECK loom_status loom_nn_constant(loom_nn_list *list, const char *name,
                                                      double value) {
  loom_nn_extents_ p;
  loom_tensor made = loom_null();
  loom_status status = loom_nn_extents_of_(list, name, &p);
  if (status != LOOM_OK) return status;
  status = loom_nn_filled_(value, p.dtype, p.shape, p.ndim, &made);
  return loom_nn_begin_with_(status, name, p.tensor, made);
}

/* Fills a parameter with the contents of host memory, row-major. data: in, nbytes bytes, which
   must be exactly loom_tensor_nbytes(). Errors: LOOM_ERROR_ARGUMENT for another size. */
static inline LOOM_CHECK loom_status loom_nn_from_host(loom_nn_list *list, const char *name,
                                                       const void *data, size_t nbytes) {
  loom_nn_extents_ p;
  loom_tensor made = loom_null();
  loom_status status = loom_nn_extents_of_(list, name, &p);
  if (status != LOOM_OK) return status;
  status = (loom_tensor_from_host)(data, nbytes, p.dtype, p.shape, p.ndim, &made);
  return loom_nn_begin_with_(status, name, p.tensor, made);
}

/* Numbers that are uniform on [low, high). random: moves on by one draw, as in all that follow. */
static inline LOOM_CHECK loom_status loom_nn_uniform(loom_nn_list *list, const char *name,
                                                     loom_nn_random *random, double low,
                                                     double high) {
  loom_nn_extents_ p;
  loom_tensor key, made = loom_null();
  loom_status status = loom_nn_extents_of_(list, name, &p);
  if (status != LOOM_OK) return status;
  status = loom_nn_key(random, &key);
  if (status != LOOM_OK) return status;
  status = (loom_random_uniform_with)(loom_t(key), loom_scalar_real(low, p.dtype),
                                      loom_scalar_real(high, p.dtype), p.shape, p.ndim, &made);
  (void)(loom_tensor_release)(key);
  return loom_nn_begin_with_(status, name, p.tensor, made);
}

/* Normal numbers of that mean and standard deviation. */
static inline LOOM_CHECK loom_status loom_nn_normal(loom_nn_list *list, const char *name,
                                                    loom_nn_random *random, double mean,
                                                    double std) {
  loom_nn_extents_ p;
  loom_tensor key, made = loom_null();
  loom_status status = loom_nn_extents_of_(list, name, &p);
  if (status != LOOM_OK) return status;
  status = loom_nn_key(random, &key);
  if (status != LOOM_OK) return status;
  status = (loom_random_normal_with)(loom_t(key), loom_scalar_real(mean, p.dtype),
                                     loom_scalar_real(std, p.dtype), p.shape, p.ndim, p.dtype,
                                     &made);
  (void)(loom_tensor_release)(key);
  return loom_nn_begin_with_(status, name, p.tensor, made);
}

/* The numbers of inputs and outputs of a weight (out, in, window...): in and out times the size
   of the window. fan_in, fan_out: out. Errors: LOOM_ERROR_SHAPE for fewer than 2 dimensions. */
static inline LOOM_CHECK loom_status loom_nn_fans(const loom_nn_list *list, const char *name,
                                                  double *fan_in, double *fan_out) {
  loom_nn_extents_ p;
  double window = 1;
  size_t i;
  loom_status status = loom_nn_extents_of_(list, name, &p);
  *fan_in = *fan_out = 0;
  if (status != LOOM_OK) return status;
  if (p.ndim < 2)
    return loom_fail_(LOOM_ERROR_SHAPE, "parameter '%s' has shape %s, expected 2 dimensions or "
                      "more, (out, in, window...)", name, loom_say_shape_(p.shape, p.ndim).text);
  for (i = 2; i < p.ndim; ++i) window *= (double)p.shape[i];
  *fan_in = (double)p.shape[1] * window;
  *fan_out = (double)p.shape[0] * window;
  return LOOM_OK;
}

/* The factor that keeps variances through a nonlinearity: 1 for "linear" and "sigmoid", 5/3 for
   "tanh", sqrt(2) for "relu", 3/4 for "selu", sqrt(2 / (1 + slope^2)) for "leaky_relu", the only
   one that takes its slope. gain: out. Errors: LOOM_ERROR_ARGUMENT for another one. */
static inline LOOM_CHECK loom_status loom_nn_gain(const char *nonlinearity, double slope,
                                                  double *gain) {
  *gain = 0;
  if (!strcmp(nonlinearity, "linear") || !strcmp(nonlinearity, "sigmoid")) *gain = 1;
  else if (!strcmp(nonlinearity, "tanh")) *gain = 5.0 / 3;
  else if (!strcmp(nonlinearity, "relu")) *gain = sqrt(2.0);
  else if (!strcmp(nonlinearity, "selu")) *gain = 3.0 / 4;
  else if (!strcmp(nonlinearity, "leaky_relu")) *gain = sqrt(2.0 / (1 + slope * slope));
  else
    return loom_fail_(LOOM_ERROR_ARGUMENT, "there is no gain for the nonlinearity '%s', expected "
                      "linear, sigmoid, tanh, relu, selu or leaky_relu", nonlinearity);
  return LOOM_OK;
}

/* Xavier's values (Glorot, Bengio, 2010), of variance gain^2 * 2 / (fan_in + fan_out): uniform on
   +-gain * sqrt(6 / (fan_in + fan_out)), or normal. gain: 1, or loom_nn_gain()'s. */
static inline LOOM_CHECK loom_status loom_nn_xavier_uniform(loom_nn_list *list, const char *name,
                                                            loom_nn_random *random, double gain) {
  double in, out, bound;
  const loom_status status = loom_nn_fans(list, name, &in, &out);
  if (status != LOOM_OK) return status;
  bound = gain * sqrt(6.0 / (in + out));
  return loom_nn_uniform(list, name, random, -bound, bound);
}

/* The same, from a normal distribution: as loom_nn_xavier_uniform(). */
static inline LOOM_CHECK loom_status loom_nn_xavier_normal(loom_nn_list *list, const char *name,
                                                           loom_nn_random *random, double gain) {
  double in, out;
  const loom_status status = loom_nn_fans(list, name, &in, &out);
  if (status != LOOM_OK) return status;
  return loom_nn_normal(list, name, random, 0, gain * sqrt(2.0 / (in + out)));
}

/* The standard deviation of Kaiming's values. */
static inline LOOM_CHECK loom_status loom_nn_kaiming_(const loom_nn_list *list, const char *name,
                                                      double slope, bool by_outputs,
                                                      const char *nonlinearity, double *std) {
  double in, out, gain = 0;
  loom_status status = loom_nn_fans(list, name, &in, &out);
  if (status == LOOM_OK) status = loom_nn_gain(nonlinearity, slope, &gain);
  *std = gain / sqrt(by_outputs ? out : in);
  return status;
}

/* Kaiming's values (He et al., 2015), of variance gain^2 / fan, the fan that of the inputs or that
   of the outputs: uniform on +-sqrt(3) * gain / sqrt(fan), or normal. slope, nonlinearity: as in
   loom_nn_gain(). A weight of PyTorch's layers begins with slope sqrt(5) and "leaky_relu". */
static inline LOOM_CHECK loom_status loom_nn_kaiming_uniform(loom_nn_list *list, const char *name,
                                                             loom_nn_random *random, double slope,
                                                             bool by_outputs,
                                                             const char *nonlinearity) {
  double std, bound;
  const loom_status status = loom_nn_kaiming_(list, name, slope, by_outputs, nonlinearity, &std);
  if (status != LOOM_OK) return status;
  bound = sqrt(3.0) * std;
  return loom_nn_uniform(list, name, random, -bound, bound);
}

/* The same, from a normal distribution: as loom_nn_kaiming_uniform(). */
static inline LOOM_CHECK loom_status loom_nn_kaiming_normal(loom_nn_list *list, const char *name,
                                                            loom_nn_random *random, double slope,
                                                            bool by_outputs,
                                                            const char *nonlinearity) {
  double std;
  const loom_status status = loom_nn_kaiming_(list, name, slope, by_outputs, nonlinearity, &std);
  if (status != LOOM_OK) return status;
  return loom_nn_normal(list, name, random, 0, std);
}

/* ---- files ------------------------------------------------------------------- */

/* Writes a list to a safetensors file, as loom_safetensors_save() does. */
static inline LOOM_CHECK loom_status loom_nn_save(const loom_nn_list *list, const char *path) {
  return (loom_safetensors_save)(path, (const char *const *)list->names, list->tensors,
                                 list->count, NULL, 0);
}

/* Whether what the file has of a name is of the dtype and shape of the list's. */
static inline LOOM_CHECK loom_status loom_nn_fits_(const loom_nn_list *list, size_t at,
                                                   const loom_safetensors_entry *e,
                                                   const char *path) {
  loom_nn_extents_ p;
  const loom_status status = loom_nn_extents_of_(list, list->names[at], &p);
  if (status != LOOM_OK) return status;
  if (p.dtype == e->dtype && p.ndim == e->ndim &&
      (p.ndim == 0 || memcmp(p.shape, e->shape, p.ndim * sizeof *p.shape) == 0))
    return LOOM_OK;
  return loom_fail_(p.dtype == e->dtype ? LOOM_ERROR_SHAPE : LOOM_ERROR_DTYPE,
                    "loom_nn_load: parameter '%s' is %s, and in %s it is %s of shape %s",
                    list->names[at], loom_nn_say_(p.tensor).text, path, loom_dtype_name(e->dtype),
                    loom_say_shape_(e->shape, e->ndim).text);
}

/* Reads a file's tensors into those of a list, by name; dtypes and shapes must be equal. Nothing
   is written unless all that is given fits. strict: the names must be the same; without it those
   that only one of them has stay as they are. loaded: out, how many were read; may be NULL.
   Errors: those of loom_safetensors_open(); LOOM_ERROR_ARGUMENT for a name that is missing,
   LOOM_ERROR_SHAPE, LOOM_ERROR_DTYPE, which name the parameter. */
static inline LOOM_CHECK loom_status loom_nn_load(loom_nn_list *list, const char *path, bool strict,
                                                  size_t *loaded) {
  loom_safetensors file;
  size_t i, found = 0;
  loom_status status = (loom_safetensors_open)(path, &file);
  if (loaded != NULL) *loaded = 0;
  if (status != LOOM_OK) return status;
  for (i = 0; status == LOOM_OK && i < list->count; ++i) {
    const loom_safetensors_entry *e = loom_safetensors_find(&file, list->names[i]);
    if (e != NULL)
      status = loom_nn_fits_(list, i, e, path);
    else if (strict)
      status = loom_fail_(LOOM_ERROR_ARGUMENT, "loom_nn_load: %s has no parameter '%s'", path,
                          list->names[i]);
  }
  for (i = 0; strict && status == LOOM_OK && i < file.count; ++i)
    if (loom_nn_index(list, file.entries[i].name) == list->count)
      status = loom_fail_(LOOM_ERROR_ARGUMENT, "loom_nn_load: %s has '%s', which is no parameter "
                          "of the list", path, file.entries[i].name);
  for (i = 0; status == LOOM_OK && i < list->count; ++i) {
    loom_tensor read;
    if (loom_safetensors_find(&file, list->names[i]) == NULL) continue;
    status = (loom_safetensors_read)(&file, list->names[i], &read);
    if (status != LOOM_OK) break;
    status = loom_nn_begin_with_(status, list->names[i], list->tensors[i], read);
    ++found;
  }
  loom_safetensors_close(&file);
  if (loaded != NULL && status == LOOM_OK) *loaded = found;
  return status;
}

#ifdef __cplusplus
}
#endif

#endif /* LAZYLOOM_PARAMETERS_H */
