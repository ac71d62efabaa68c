/* lazyloom_nn.h: neural networks in C, over lazyloom.h and lazyloom_ops.h.

   Lists of named parameters, their first values, layers, SGD and AdamW, safetensors files.
   Header-only, C99 and C++11: nothing of it is part of the ABI, and all of it is made of public
   functions. Needs the library of C's mathematics (-lm), which `--libs` names.

     loom_nn_list net = loom_nn_list_of(LOOM_FLOAT32);
     loom_nn_random random = loom_nn_random_from(0);
     loom_nn_optimizer sgd;
     loom_nn_linear_new(&net, "fc", 64, 10, true, &random);        fc.weight, fc.bias
     loom_nn_sgd(&sgd, &net, 0.05, 0.9, false, 0);
     ...
     loom_nn_linear(&net, "fc", x, &logits);
     loom_nn_cross_entropy(logits, labels, &loss);
     loom_backward(&loss, 1, NULL);
     loom_nn_step(&sgd);

   Layers. A layer NAME is the parameters NAME.weight, NAME.bias and so on of a list, with the
   names, shapes and first values that PyTorch's module of that kind has, so that a file of its
   state_dict() can be read. loom_nn_LAYER_new() adds them, loom_nn_LAYER() records the layer by
   them; a bias that is not in the list is left out. Definitions are those of torch.nn, computed by
   the ops that the torch-like frontend records: equal networks are equal programs.

   Rules are those of lazyloom.h: new, in and out as it says, a loom_status from all that can fail,
   whose message names the parameter or the layer; results are null after a failure. Handles that
   a list lends are the list's. A list, a scope, an optimizer and a random are used by one thread
   at a time. */
#ifndef LAZYLOOM_NN_H
#define LAZYLOOM_NN_H

#include "lazyloom_optimizers.h"
#include "lazyloom_parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- temporaries ------------------------------------------------------------- */

/* Handles that are released together, at the end of a step. All zeros is an empty scope. */
typedef struct loom_nn_scope {
  size_t count;
  loom_tensor *tensors;
  size_t capacity_;
} loom_nn_scope;

/* Gives a handle to a scope, which owns it from then on; after a failure it is released.
   Errors: LOOM_ERROR_OUT_OF_MEMORY. */
static inline LOOM_CHECK loom_status loom_nn_keep(loom_nn_scope *scope, loom_tensor tensor) {
  void *tensors = scope->tensors;
  const bool there =
      loom_grow_(&tensors, sizeof *scope->tensors, scope->count, &scope->capacity_);
  scope->tensors = (loom_tensor *)tensors;
  if (!there) {
    (void)(loom_tensor_release)(tensor);
    return loom_no_memory_("loom_nn_keep");
  }
  scope->tensors[scope->count++] = tensor;
  return LOOM_OK;
}

/* Releases what a scope owns and keeps its memory for the next step. */
static inline void loom_nn_scope_end(loom_nn_scope *scope) {
  (void)(loom_tensors_release)(scope->tensors, scope->count);
  scope->count = 0;
}

/* Releases what a scope owns, and its memory. */
static inline void loom_nn_scope_free(loom_nn_scope *scope) {
  loom_nn_scope_end(scope);
  free(scope->tensors);
  memset(scope, 0, sizeof *scope);
}

/* ---- private: the parameters of a layer -------------------------------------- */

/* NAME.part; the text is the caller's. */
static inline LOOM_CHECK loom_status loom_nn_part_(char *text, const char *layer,
                                                   const char *part) {
  const size_t before = strlen(layer), after = strlen(part) + 1;
  if (before + after > LOOM_NN_LONGEST_NAME)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "the name '%.40s...' of a layer is too long, expected "
                      "names of parameters of at most %d bytes", layer, (int)LOOM_NN_LONGEST_NAME);
  memcpy(text, layer, before);
  text[before] = '.';
  memcpy(text + before + 1, part, after);
  return LOOM_OK;
}

/* A parameter of a layer; with optional, the null handle if the list has none. */
static inline LOOM_CHECK loom_status loom_nn_of_(const loom_nn_list *list, const char *layer,
                                                 const char *part, bool optional,
                                                 loom_tensor *tensor) {
  char name[LOOM_NN_LONGEST_NAME + 1];
  const loom_status status = loom_nn_part_(name, layer, part);
  *tensor = loom_null();
  if (status != LOOM_OK || (optional && loom_nn_index(list, name) == list->count)) return status;
  return loom_nn_find(list, name, tensor);
}

/* The status of a layer's call; after a failure the message names layer, operand and weight. */
static inline LOOM_CHECK loom_status loom_nn_done_(loom_status status, const char *kind,
                                                   const char *layer, loom_tensor x,
                                                   loom_tensor weight) {
  char message[600];
  if (status == LOOM_OK) return LOOM_OK;
  (void)snprintf(message, sizeof message, "%s", loom_error_message());
  return loom_fail_(status, "%s '%s', of an operand that is %s and a weight that is %s: %s", kind,
                    layer, loom_nn_say_(x).text, loom_nn_say_(weight).text, message);
}

/* x + y in place of x, whose handle is released. */
static inline LOOM_CHECK loom_status loom_nn_plus_(loom_tensor *x, loom_tensor y) {
  loom_tensor sum;
  const loom_status status = (loom_add)(*x, y, &sum);
  (void)(loom_tensor_release)(*x);
  *x = sum;
  return status;
}

/* Adds NAME.part with what PyTorch's layers begin with: uniform on +-1 / sqrt(fan). */
static inline LOOM_CHECK loom_status loom_nn_uniform_part_(loom_nn_list *list, const char *layer,
                                                           const char *part, const int64_t *shape,
                                                           size_t ndim, double fan,
                                                           loom_nn_random *random) {
  char name[LOOM_NN_LONGEST_NAME + 1];
  const double bound = fan > 0 ? 1 / sqrt(fan) : 0;
  loom_status status = loom_nn_part_(name, layer, part);
  if (status == LOOM_OK) status = loom_nn_new(list, name, shape, ndim, true, NULL);
  if (status != LOOM_OK) return status;
  /* the weight's bound as PyTorch computes it, by Kaiming's rule: the same but for rounding */
  if (ndim > 1) return loom_nn_kaiming_uniform(list, name, random, sqrt(5.0), false, "leaky_relu");
  return loom_nn_uniform(list, name, random, -bound, bound);
}

/* Adds NAME.part with one number everywhere. */
static inline LOOM_CHECK loom_status loom_nn_constant_part_(loom_nn_list *list, const char *layer,
                                                            const char *part, int64_t size,
                                                            double value, bool trained) {
  char name[LOOM_NN_LONGEST_NAME + 1];
  loom_status status = loom_nn_part_(name, layer, part);
  if (status == LOOM_OK) status = loom_nn_new(list, name, &size, 1, trained, NULL);
  if (status == LOOM_OK && value != 0) status = loom_nn_constant(list, name, value);
  return status;
}

/* ---- layers ------------------------------------------------------------------ */

/* NAME.weight (outputs, inputs), uniform on +-1 / sqrt(inputs), and with bias NAME.bias (outputs),
   likewise: torch.nn.Linear. Errors as loom_nn_new(). */
static inline LOOM_CHECK loom_status loom_nn_linear_new(loom_nn_list *list, const char *name,
                                                        int64_t inputs, int64_t outputs,
                                                        bool bias, loom_nn_random *random) {
  int64_t shape[2];
  loom_status status;
  shape[0] = outputs;
  shape[1] = inputs;
  status = loom_nn_uniform_part_(list, name, "weight", shape, 2, (double)inputs, random);
  if (status == LOOM_OK && bias)
    status = loom_nn_uniform_part_(list, name, "bias", shape, 1, (double)inputs, random);
  return status;
}

/* y = x @ weight.T + bias over the last axis of x. x: in, (..., inputs). y: new, (..., outputs).
   Errors: LOOM_ERROR_ARGUMENT if there is no such layer, LOOM_ERROR_SHAPE, LOOM_ERROR_DTYPE, as
   for all layers. */
static inline LOOM_CHECK loom_status loom_nn_linear(const loom_nn_list *list, const char *name,
                                                    loom_tensor x, loom_tensor *y) {
  loom_tensor weight = loom_null(), bias;
  int64_t last, one = 1;
  size_t ndim = 0;
  loom_status status = loom_nn_of_(list, name, "weight", false, &weight);
  *y = loom_null();
  if (status == LOOM_OK) status = loom_nn_of_(list, name, "bias", true, &bias);
  if (status != LOOM_OK) return status;
  status = (loom_tensor_ndim)(x, &ndim);
  last = ndim ? (int64_t)ndim - 1 : 0;
  if (status == LOOM_OK)
    status = (loom_dot_general)(x, weight, &last, 1, &one, 1, NULL, 0, NULL, 0, LOOM_DTYPE_NONE, y);
  if (status == LOOM_OK && !loom_is_null(bias)) status = loom_nn_plus_(y, bias);
  return loom_nn_done_(status, "linear", name, x, weight);
}

/* How a convolution goes over up to three spatial axes; 0 is the default, which all zeros is. */
typedef struct loom_nn_conv_options {
  int64_t stride[3];   /* default 1 */
  int64_t padding[3];  /* zeros before and after, default 0 */
  int64_t dilation[3]; /* default 1 */
  int64_t groups;      /* default 1 */
} loom_nn_conv_options;

/* NAME.weight (outputs, inputs / groups, window...), window of 1 to 3 axes, uniform on
   +-1 / sqrt(inputs / groups * window), and with bias NAME.bias (outputs), likewise:
   torch.nn.Conv1d, Conv2d, Conv3d. Errors as loom_nn_new(). */
static inline LOOM_CHECK loom_status loom_nn_conv_new(loom_nn_list *list, const char *name,
                                                      int64_t inputs, int64_t outputs,
                                                      const int64_t *window, size_t axes,
                                                      int64_t groups, bool bias,
                                                      loom_nn_random *random) {
  int64_t shape[5];
  double fan;
  size_t i;
  loom_status status;
  if (axes < 1 || axes > 3 || groups < 1 || inputs % groups || outputs % groups)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "loom_nn_conv_new: layer '%s': a window of %llu axes "
                      "and %lld groups of %lld inputs and %lld outputs, expected 1 to 3 axes, and "
                      "groups that divide both", name, (unsigned long long)axes, (long long)groups,
                      (long long)inputs, (long long)outputs);
  shape[0] = outputs;
  shape[1] = inputs / groups;
  fan = (double)shape[1];
  for (i = 0; i < axes; ++i) fan *= (double)(shape[2 + i] = window[i]);
  status = loom_nn_uniform_part_(list, name, "weight", shape, axes + 2, fan, random);
  if (status == LOOM_OK && bias)
    status = loom_nn_uniform_part_(list, name, "bias", shape, 1, fan, random);
  return status;
}

/* The convolution (cross-correlation) of x with weight, + bias per channel. x: in, (N, inputs,
   spatial...). options: in, or NULL for the defaults. y: new, (N, outputs, spatial...), each
   (size + 2 padding - dilation (window - 1) - 1) / stride + 1, rounded down. */
static inline LOOM_CHECK loom_status loom_nn_conv(const loom_nn_list *list, const char *name,
                                                  loom_tensor x,
                                                  const loom_nn_conv_options *options,
                                                  loom_tensor *y) {
  loom_tensor weight = loom_null(), bias = loom_null(), wide;
  int64_t stride[3], padding[3], dilation[3], channels[4], shape[5];
  size_t ndim = 0, axes, i;
  loom_status status = loom_nn_of_(list, name, "weight", false, &weight);
  *y = loom_null();
  if (status == LOOM_OK) status = loom_nn_of_(list, name, "bias", true, &bias);
  if (status == LOOM_OK) status = (loom_tensor_shape)(weight, shape, 5, &ndim);
  if (status != LOOM_OK) return status;
  if (ndim < 3 || ndim > 5)
    return loom_fail_(LOOM_ERROR_SHAPE, "conv '%s' has a weight that is %s, expected 3 to 5 "
                      "dimensions", name, loom_nn_say_(weight).text);
  axes = ndim - 2;
  for (i = 0; i < axes; ++i) {
    stride[i] = options != NULL && options->stride[i] ? options->stride[i] : 1;
    padding[i] = options != NULL ? options->padding[i] : 0;
    dilation[i] = options != NULL && options->dilation[i] ? options->dilation[i] : 1;
    channels[1 + i] = 1;
  }
  status = (loom_conv)(x, weight, stride, axes, padding, axes, padding, axes, dilation, axes, NULL,
                       0, options != NULL && options->groups ? options->groups : 1, y);
  if (status == LOOM_OK && !loom_is_null(bias)) {
    channels[0] = shape[0];
    status = (loom_reshape)(bias, channels, axes + 1, &wide);
    if (status == LOOM_OK) {
      status = loom_nn_plus_(y, wide);
      (void)(loom_tensor_release)(wide);
    }
  }
  if (status != LOOM_OK) {
    (void)(loom_tensor_release)(*y);
    *y = loom_null();
  }
  return loom_nn_done_(status, "conv", name, x, weight);
}

/* NAME.weight (rows, features), normal: torch.nn.Embedding. Errors as loom_nn_new(). */
static inline LOOM_CHECK loom_status loom_nn_embedding_new(loom_nn_list *list, const char *name,
                                                           int64_t rows, int64_t features,
                                                           loom_nn_random *random) {
  char text[LOOM_NN_LONGEST_NAME + 1];
  int64_t shape[2];
  loom_status status = loom_nn_part_(text, name, "weight");
  shape[0] = rows;
  shape[1] = features;
  if (status == LOOM_OK) status = loom_nn_new(list, text, shape, 2, true, NULL);
  if (status == LOOM_OK) status = loom_nn_normal(list, text, random, 0, 1);
  return status;
}

/* The rows of weight at indices. indices: in, integers of any shape from 0 to rows - 1; others are
   taken as loom_embedding() says. y: new, (..., features). */
static inline LOOM_CHECK loom_status loom_nn_embedding(const loom_nn_list *list, const char *name,
                                                       loom_tensor indices, loom_tensor *y) {
  loom_tensor weight;
  loom_status status = loom_nn_of_(list, name, "weight", false, &weight);
  *y = loom_null();
  if (status != LOOM_OK) return status;
  status = (loom_embedding)(weight, indices, NULL, y);
  return loom_nn_done_(status, "embedding", name, indices, weight);
}

/* NAME.weight and, with bias, NAME.bias, (features), ones and zeros: torch.nn.LayerNorm, and
   without bias torch.nn.RMSNorm. Errors as loom_nn_new(). */
static inline LOOM_CHECK loom_status loom_nn_norm_new(loom_nn_list *list, const char *name,
                                                      int64_t features, bool bias) {
  loom_status status = loom_nn_constant_part_(list, name, "weight", features, 1, true);
  if (status == LOOM_OK && bias)
    status = loom_nn_constant_part_(list, name, "bias", features, 0, true);
  return status;
}

/* (x - mean) / sqrt(variance + eps) * weight + bias over the last axis, the variance that of the
   whole (biased). eps: PyTorch's default is 1e-5. x: in, (..., features). y: new. */
static inline LOOM_CHECK loom_status loom_nn_layer_norm(const loom_nn_list *list, const char *name,
                                                        loom_tensor x, double eps,
                                                        loom_tensor *y) {
  loom_tensor weight = loom_null(), bias;
  loom_status status = loom_nn_of_(list, name, "weight", false, &weight);
  *y = loom_null();
  if (status == LOOM_OK) status = loom_nn_of_(list, name, "bias", true, &bias);
  if (status != LOOM_OK) return status;
  status = (loom_layer_norm)(x, weight, bias, 1, eps, y);
  return loom_nn_done_(status, "layer norm", name, x, weight);
}

/* x / sqrt(mean(x^2) + eps) * weight over the last axis. eps: PyTorch's default is the dtype's
   epsilon, 1.1920928955078125e-07 for float32. x: in, (..., features). y: new. */
static inline LOOM_CHECK loom_status loom_nn_rms_norm(const loom_nn_list *list, const char *name,
                                                      loom_tensor x, double eps, loom_tensor *y) {
  loom_tensor weight;
  loom_status status = loom_nn_of_(list, name, "weight", false, &weight);
  *y = loom_null();
  if (status != LOOM_OK) return status;
  status = (loom_rms_norm)(x, weight, 1, eps, y);
  return loom_nn_done_(status, "RMS norm", name, x, weight);
}

/* NAME.weight, NAME.bias, NAME.running_mean and NAME.running_var (channels), ones, zeros, zeros
   and ones, and NAME.num_batches_tracked, an int64 without dimensions, 0: torch.nn.BatchNorm. Only
   the first two are trained. Errors as loom_nn_new(). */
static inline LOOM_CHECK loom_status loom_nn_batch_norm_new(loom_nn_list *list, const char *name,
                                                            int64_t channels) {
  char text[LOOM_NN_LONGEST_NAME + 1];
  loom_status status = loom_nn_norm_new(list, name, channels, true);
  if (status == LOOM_OK)
    status = loom_nn_constant_part_(list, name, "running_mean", channels, 0, false);
  if (status == LOOM_OK)
    status = loom_nn_constant_part_(list, name, "running_var", channels, 1, false);
  if (status == LOOM_OK) status = loom_nn_part_(text, name, "num_batches_tracked");
  if (status == LOOM_OK) {
    const loom_dtype dtype = list->dtype;
    list->dtype = LOOM_INT64;
    status = loom_nn_new(list, text, NULL, 0, false, NULL);
    list->dtype = dtype;
  }
  return status;
}

/* Moves the running moments towards those of a batch, and counts it. */
static inline LOOM_CHECK loom_status loom_nn_moments_(const loom_nn_list *list, const char *name,
                                                      loom_tensor mean, loom_tensor variance,
                                                      double momentum, int64_t count) {
  loom_tensor targets[3], values[3];
  loom_dtype dtype = LOOM_DTYPE_NONE;
  bool recording = true;
  size_t i, n = 2;
  loom_status status = loom_nn_of_(list, name, "running_mean", false, &targets[0]);
  for (i = 0; i < 3; ++i) values[i] = loom_null();
  if (status == LOOM_OK) status = loom_nn_of_(list, name, "running_var", false, &targets[1]);
  if (status == LOOM_OK)
    status = loom_nn_of_(list, name, "num_batches_tracked", true, &targets[2]);
  if (status == LOOM_OK) status = (loom_tensor_dtype)(targets[0], &dtype);
  if (status == LOOM_OK) status = (loom_set_grad_enabled)(false, &recording);
  if (status != LOOM_OK) return status;
  status = (loom_running_moments_with)(
      loom_t(targets[0]), loom_t(targets[1]), loom_t(mean), loom_t(variance),
      loom_scalar_real(momentum, dtype), count, &values[0], &values[1]);
  if (status == LOOM_OK && !loom_is_null(targets[2])) {
    n = 3;
    status = (loom_add_with)(loom_t(targets[2]), loom_scalar_int(1, LOOM_INT64), &values[2]);
  }
  if (status == LOOM_OK) status = (loom_tensors_assign)(targets, values, n);
  (void)(loom_tensors_release)(values, 3);
  return loom_nn_switch_back_(recording, status);
}

/* (x - mean) / sqrt(variance + eps) * weight + bias of each channel, axis 1. In training by mean
   and biased variance of the batch, which move the running ones, the variance unbiased:
   running = (1 - momentum) running + momentum of the batch's, in place; else by the running ones.
   PyTorch's defaults are momentum 0.1 and eps 1e-5. x: in, (N, channels, ...). y: new.
   Errors: in training LOOM_ERROR_SHAPE for one value per channel. */
static inline LOOM_CHECK loom_status loom_nn_batch_norm(const loom_nn_list *list, const char *name,
                                                        loom_tensor x, bool training,
                                                        double momentum, double eps,
                                                        loom_tensor *y) {
  loom_tensor weight = loom_null(), bias, mean, variance;
  int64_t shape[LOOM_NN_MOST_DIMENSIONS], count = 1;
  size_t ndim = 0, i;
  loom_status status = loom_nn_of_(list, name, "weight", false, &weight);
  *y = loom_null();
  if (status == LOOM_OK) status = loom_nn_of_(list, name, "bias", true, &bias);
  if (status == LOOM_OK)
    status = (loom_tensor_shape)(x, shape, LOOM_NN_MOST_DIMENSIONS, &ndim);
  if (status != LOOM_OK) return status;
  if (training) {
    for (i = 0; i < ndim && i < LOOM_NN_MOST_DIMENSIONS; ++i) count *= i == 1 ? 1 : shape[i];
    if (ndim < 2 || ndim > LOOM_NN_MOST_DIMENSIONS || count == 1)
      return loom_fail_(LOOM_ERROR_SHAPE, "batch norm '%s' in training, of an operand that is %s: "
                        "expected (N, channels, ...) with more than one value per channel", name,
                        loom_nn_say_(x).text);
    status = (loom_batch_norm_train)(x, weight, bias, eps, y, &mean, &variance);
    if (status == LOOM_OK) {
      status = loom_nn_moments_(list, name, mean, variance, momentum, count);
      (void)(loom_tensor_release)(mean);
      (void)(loom_tensor_release)(variance);
    }
  } else {
    status = loom_nn_of_(list, name, "running_mean", false, &mean);
    if (status == LOOM_OK) status = loom_nn_of_(list, name, "running_var", false, &variance);
    if (status == LOOM_OK)
      status = (loom_batch_norm_infer)(x, mean, variance, weight, bias, eps, y);
  }
  if (status != LOOM_OK) {
    (void)(loom_tensor_release)(*y);
    *y = loom_null();
  }
  return loom_nn_done_(status, "batch norm", name, x, weight);
}

/* x with each element zero with probability rate, and divided by 1 - rate else; x itself if not in
   training, or rate is 0. random: moves on by one draw. Inside a capture use loom_dropout() with a
   key of loom_nn_split_key(). y: new. Errors: LOOM_ERROR_ARGUMENT for a rate outside 0 to 1. */
static inline LOOM_CHECK loom_status loom_nn_dropout(loom_tensor x, double rate, bool training,
                                                     loom_nn_random *random, loom_tensor *y) {
  loom_tensor key;
  loom_status status;
  *y = loom_null();
  if (!(rate >= 0 && rate <= 1))
    return loom_fail_(LOOM_ERROR_ARGUMENT, "loom_nn_dropout: the rate is %g, expected 0 to 1",
                      rate);
  if (!training || rate == 0) {
    status = (loom_tensor_retain)(x);
    if (status == LOOM_OK) *y = x;
    return status;
  }
  status = loom_nn_key(random, &key);
  if (status != LOOM_OK) return status;
  status = (loom_dropout)(x, key, rate, y);
  (void)(loom_tensor_release)(key);
  return status;
}

/* softmax(q @ k.T / sqrt(E) + mask) @ v over the last two axes: scaled dot-product attention.
   q: in, (..., L, E); k: in, (..., S, E); v: in, (..., S, V). mask: in, (..., L, S), bool, true
   where a position is seen, or of q's dtype, added; null for none. causal: position i of q sees
   positions 0 to i of k. y: new, (..., L, V). */
static inline LOOM_CHECK loom_status loom_nn_attention(loom_tensor q, loom_tensor k, loom_tensor v,
                                                       loom_tensor mask, bool causal,
                                                       loom_tensor *y) {
  return (loom_scaled_dot_product_attention)(q, k, v, mask, causal, NULL, y);
}

/* NAME.in_proj_weight (3 features, features), NAME.in_proj_bias (3 features),
   NAME.out_proj.weight (features, features) and NAME.out_proj.bias (features):
   torch.nn.MultiheadAttention. The first is Xavier's uniform, the biases are 0, the third as in
   loom_nn_linear_new(). Errors as loom_nn_new(). */
static inline LOOM_CHECK loom_status loom_nn_self_attention_new(loom_nn_list *list,
                                                                const char *name,
                                                                int64_t features,
                                                                loom_nn_random *random) {
  char text[LOOM_NN_LONGEST_NAME + 1], out[LOOM_NN_LONGEST_NAME + 1];
  int64_t shape[2];
  loom_status status = loom_nn_part_(text, name, "in_proj_weight");
  shape[0] = 3 * features;
  shape[1] = features;
  if (status == LOOM_OK) status = loom_nn_new(list, text, shape, 2, true, NULL);
  if (status == LOOM_OK)
    status = loom_nn_constant_part_(list, name, "in_proj_bias", 3 * features, 0, true);
  if (status == LOOM_OK) status = loom_nn_part_(out, name, "out_proj");
  if (status == LOOM_OK)
    status = loom_nn_linear_new(list, out, features, features, true, random);
  if (status == LOOM_OK) status = loom_nn_xavier_uniform(list, text, random, 1);
  if (status == LOOM_OK) status = loom_nn_part_(text, name, "out_proj.bias");
  if (status == LOOM_OK) status = loom_nn_constant(list, text, 0);
  return status;
}

/* A third of what in_proj gave, (N, L, features), as heads: (N, heads, L, features / heads). */
static inline LOOM_CHECK loom_status loom_nn_heads_(loom_tensor x, const int64_t *by_head,
                                                    loom_tensor *y) {
  static const int64_t axes[4] = {0, 2, 1, 3};
  loom_tensor parts;
  loom_status status = (loom_reshape)(x, by_head, 4, &parts);
  *y = loom_null();
  if (status != LOOM_OK) return status;
  status = (loom_transpose)(parts, axes, 4, y);
  (void)(loom_tensor_release)(parts);
  return status;
}

/* The heads of projected, (N, L, 3 features), with each other, side by side again. */
static inline LOOM_CHECK loom_status loom_nn_attend_(loom_tensor projected, const int64_t *by_head,
                                                     bool causal, loom_tensor *y) {
  static const int64_t axes[4] = {0, 2, 1, 3};
  loom_tensor thirds[3], heads[3], seen = loom_null(), turned = loom_null();
  int64_t sizes[3], shape[3];
  size_t i;
  loom_status status;
  for (i = 0; i < 3; ++i) {
    sizes[i] = by_head[2] * by_head[3];
    thirds[i] = heads[i] = loom_null();
  }
  shape[0] = by_head[0];
  shape[1] = by_head[1];
  shape[2] = sizes[0];
  status = (loom_split)(projected, sizes, 3, 2, thirds, 3);
  for (i = 0; status == LOOM_OK && i < 3; ++i)
    status = loom_nn_heads_(thirds[i], by_head, &heads[i]);
  if (status == LOOM_OK)
    status = loom_nn_attention(heads[0], heads[1], heads[2], loom_null(), causal, &seen);
  if (status == LOOM_OK) status = (loom_transpose)(seen, axes, 4, &turned);
  if (status == LOOM_OK) status = (loom_reshape)(turned, shape, 3, y);
  (void)(loom_tensors_release)(thirds, 3);
  (void)(loom_tensors_release)(heads, 3);
  (void)(loom_tensor_release)(seen);
  (void)(loom_tensor_release)(turned);
  return status;
}

/* Attention of x to itself in heads, each over features / heads of three projections of x:
   out_proj(heads side by side), as torch.nn.MultiheadAttention, batch first, without dropout.
   x: in, (N, L, features). heads: must divide features. causal: position i sees positions 0 to i.
   y: new, (N, L, features). */
static inline LOOM_CHECK loom_status loom_nn_self_attention(const loom_nn_list *list,
                                                            const char *name, loom_tensor x,
                                                            int64_t heads, bool causal,
                                                            loom_tensor *y) {
  char out[LOOM_NN_LONGEST_NAME + 1];
  loom_tensor weight = loom_null(), bias, projected = loom_null(), attended = loom_null();
  int64_t shape[3], by_head[4], last = 2, one = 1;
  size_t ndim = 0;
  loom_status status = loom_nn_of_(list, name, "in_proj_weight", false, &weight);
  *y = loom_null();
  if (status == LOOM_OK) status = loom_nn_of_(list, name, "in_proj_bias", true, &bias);
  if (status == LOOM_OK) status = loom_nn_part_(out, name, "out_proj");
  if (status == LOOM_OK) status = (loom_tensor_shape)(x, shape, 3, &ndim);
  if (status != LOOM_OK) return status;
  if (ndim != 3 || heads < 1 || shape[2] % heads)
    return loom_fail_(LOOM_ERROR_SHAPE, "self-attention '%s' of an operand that is %s in %lld "
                      "heads: expected (N, L, features), and features a multiple of the heads",
                      name, loom_nn_say_(x).text, (long long)heads);
  by_head[0] = shape[0];
  by_head[1] = shape[1];
  by_head[2] = heads;
  by_head[3] = shape[2] / heads;
  status = (loom_dot_general)(x, weight, &last, 1, &one, 1, NULL, 0, NULL, 0, LOOM_DTYPE_NONE,
                              &projected);
  if (status == LOOM_OK && !loom_is_null(bias)) status = loom_nn_plus_(&projected, bias);
  if (status == LOOM_OK) status = loom_nn_attend_(projected, by_head, causal, &attended);
  status = loom_nn_done_(status, "self-attention", name, x, weight);
  (void)(loom_tensor_release)(projected);
  if (status == LOOM_OK) status = loom_nn_linear(list, out, attended, y);
  (void)(loom_tensor_release)(attended);
  return status;
}

/* -log_softmax(logits)[label], the mean over all labels. logits: in, (N, classes, ...), or
   (classes). labels: in, integers from 0 to classes - 1, of the other axes; -100 does not count.
   Weights, smoothing and sums: loom_cross_entropy(). loss: new, without dimensions. */
static inline LOOM_CHECK loom_status loom_nn_cross_entropy(loom_tensor logits, loom_tensor labels,
                                                           loom_tensor *loss) {
  const int64_t ignored = -100;
  size_t ndim = 0;
  const loom_status status = (loom_tensor_ndim)(logits, &ndim);
  *loss = loom_null();
  if (status != LOOM_OK) return status;
  return (loom_cross_entropy)(logits, labels, loom_null(), ndim > 2 ? 1 : -1, 0, &ignored, "mean",
                              loss);
}

#ifndef LOOM_NO_SOURCE_LOCATIONS
#define loom_nn_find(...) (LOOM_HERE, loom_nn_find(__VA_ARGS__))
#define loom_nn_add(...) (LOOM_HERE, loom_nn_add(__VA_ARGS__))
#define loom_nn_new(...) (LOOM_HERE, loom_nn_new(__VA_ARGS__))
#define loom_nn_key(...) (LOOM_HERE, loom_nn_key(__VA_ARGS__))
#define loom_nn_split_key(...) (LOOM_HERE, loom_nn_split_key(__VA_ARGS__))
#define loom_nn_constant(...) (LOOM_HERE, loom_nn_constant(__VA_ARGS__))
#define loom_nn_from_host(...) (LOOM_HERE, loom_nn_from_host(__VA_ARGS__))
#define loom_nn_uniform(...) (LOOM_HERE, loom_nn_uniform(__VA_ARGS__))
#define loom_nn_normal(...) (LOOM_HERE, loom_nn_normal(__VA_ARGS__))
#define loom_nn_fans(...) (LOOM_HERE, loom_nn_fans(__VA_ARGS__))
#define loom_nn_gain(...) (LOOM_HERE, loom_nn_gain(__VA_ARGS__))
#define loom_nn_xavier_uniform(...) (LOOM_HERE, loom_nn_xavier_uniform(__VA_ARGS__))
#define loom_nn_xavier_normal(...) (LOOM_HERE, loom_nn_xavier_normal(__VA_ARGS__))
#define loom_nn_kaiming_uniform(...) (LOOM_HERE, loom_nn_kaiming_uniform(__VA_ARGS__))
#define loom_nn_kaiming_normal(...) (LOOM_HERE, loom_nn_kaiming_normal(__VA_ARGS__))
#define loom_nn_save(...) (LOOM_HERE, loom_nn_save(__VA_ARGS__))
#define loom_nn_load(...) (LOOM_HERE, loom_nn_load(__VA_ARGS__))
#define loom_nn_keep(...) (LOOM_HERE, loom_nn_keep(__VA_ARGS__))
#define loom_nn_linear_new(...) (LOOM_HERE, loom_nn_linear_new(__VA_ARGS__))
#define loom_nn_linear(...) (LOOM_HERE, loom_nn_linear(__VA_ARGS__))
#define loom_nn_conv_new(...) (LOOM_HERE, loom_nn_conv_new(__VA_ARGS__))
#define loom_nn_conv(...) (LOOM_HERE, loom_nn_conv(__VA_ARGS__))
#define loom_nn_embedding_new(...) (LOOM_HERE, loom_nn_embedding_new(__VA_ARGS__))
#define loom_nn_embedding(...) (LOOM_HERE, loom_nn_embedding(__VA_ARGS__))
#define loom_nn_norm_new(...) (LOOM_HERE, loom_nn_norm_new(__VA_ARGS__))
#define loom_nn_layer_norm(...) (LOOM_HERE, loom_nn_layer_norm(__VA_ARGS__))
#define loom_nn_rms_norm(...) (LOOM_HERE, loom_nn_rms_norm(__VA_ARGS__))
#define loom_nn_batch_norm_new(...) (LOOM_HERE, loom_nn_batch_norm_new(__VA_ARGS__))
#define loom_nn_batch_norm(...) (LOOM_HERE, loom_nn_batch_norm(__VA_ARGS__))
#define loom_nn_dropout(...) (LOOM_HERE, loom_nn_dropout(__VA_ARGS__))
#define loom_nn_attention(...) (LOOM_HERE, loom_nn_attention(__VA_ARGS__))
#define loom_nn_self_attention_new(...) (LOOM_HERE, loom_nn_self_attention_new(__VA_ARGS__))
#define loom_nn_self_attention(...) (LOOM_HERE, loom_nn_self_attention(__VA_ARGS__))
#define loom_nn_cross_entropy(...) (LOOM_HERE, loom_nn_cross_entropy(__VA_ARGS__))
#define loom_nn_sgd(...) (LOOM_HERE, loom_nn_sgd(__VA_ARGS__))
#define loom_nn_adamw(...) (LOOM_HERE, loom_nn_adamw(__VA_ARGS__))
#define loom_nn_step(...) (LOOM_HERE, loom_nn_step(__VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif

#endif /* LAZYLOOM_NN_H */
