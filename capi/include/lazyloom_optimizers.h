/* lazyloom_optimizers.h: SGD and AdamW over lists of parameters. Part of lazyloom_nn.h, which says
   the rules; include that. */
#ifndef LAZYLOOM_OPTIMIZERS_H
#define LAZYLOOM_OPTIMIZERS_H

#include "lazyloom_parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- optimizers -------------------------------------------------------------- */

typedef enum loom_nn_rule_ { LOOM_NN_SGD_ = 1, LOOM_NN_ADAMW_ = 2 } loom_nn_rule_;

/* SGD or AdamW over the trained parameters of a list. Its numbers may be changed between steps;
   they are run-time parameters of the program, but stay what they are in a capture, where
   lr_tensor can be an input. */
typedef struct loom_nn_optimizer {
  double lr, weight_decay;
  double momentum;          /* of SGD; its being 0 or not is fixed at the start */
  bool nesterov;            /* of SGD */
  double beta1, beta2, eps; /* of AdamW */
  loom_tensor lr_tensor;    /* null, or one number, float64, that is taken for lr; borrowed */
  size_t count;             /* parameters that it steps */
  loom_nn_list *list_;
  loom_nn_rule_ rule_;
  size_t states_;           /* tensors of state of each parameter */
  size_t *at_;              /* where in the list: parameters, then each kind of state */
  size_t step_at_;          /* where the counter is, if the rule has one */
  loom_operand *operands_;
  loom_tensor *targets_, *results_, *gradients_;
} loom_nn_optimizer;

/* Frees what an optimizer owns. Its state stays, in the list. */
static inline void loom_nn_optimizer_free(loom_nn_optimizer *optimizer) {
  free(optimizer->at_);
  free(optimizer->operands_);
  free(optimizer->targets_);
  free(optimizer->results_);
  free(optimizer->gradients_);
  memset(optimizer, 0, sizeof *optimizer);
}

/* Finds the parameters, which must be of one dtype, and makes room for a step. */
static inline LOOM_CHECK loom_status loom_nn_gather_(loom_nn_optimizer *o, loom_nn_list *list) {
  loom_dtype dtype = LOOM_DTYPE_NONE, first = LOOM_DTYPE_NONE;
  const size_t n = list->count + 1;
  loom_status status = LOOM_OK;
  size_t i;
  o->list_ = list;
  o->at_ = (size_t *)malloc(3 * n * sizeof *o->at_);
  o->operands_ = (loom_operand *)malloc(4 * n * sizeof *o->operands_);
  o->targets_ = (loom_tensor *)malloc(4 * n * sizeof *o->targets_);
  o->results_ = (loom_tensor *)malloc(4 * n * sizeof *o->results_);
  o->gradients_ = (loom_tensor *)malloc(n * sizeof *o->gradients_);
  if (!o->at_ || !o->operands_ || !o->targets_ || !o->results_ || !o->gradients_)
    return loom_no_memory_("an optimizer");
  for (i = 0; i < list->count && status == LOOM_OK; ++i) {
    if (!list->trained[i]) continue;
    status = (loom_tensor_dtype)(list->tensors[i], &dtype);
    if (o->count == 0) first = dtype;
    if (status == LOOM_OK && dtype != first)
      return loom_fail_(LOOM_ERROR_DTYPE, "an optimizer: parameter '%s' is %s, expected %s as "
                        "'%s': those of another dtype need a list of their own", list->names[i],
                        loom_dtype_name(dtype), loom_dtype_name(first), list->names[o->at_[0]]);
    o->at_[o->count++] = i;
  }
  if (status == LOOM_OK && o->count == 0)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "an optimizer: none of the %llu tensors of the list is "
                      "trained", (unsigned long long)list->count);
  return status;
}

/* Adds "optimizer.NAME.KIND" to the list for each parameter, zeros of its shape and dtype. */
static inline LOOM_CHECK loom_status loom_nn_state_(loom_nn_optimizer *o, const char *kind) {
  const size_t base = ++o->states_ * o->count;
  size_t i;
  for (i = 0; i < o->count; ++i) {
    const char *name = o->list_->names[o->at_[i]];
    char text[LOOM_NN_LONGEST_NAME + 64];
    loom_nn_extents_ p;
    loom_tensor made;
    loom_status status = loom_nn_extents_of_(o->list_, name, &p);
    (void)snprintf(text, sizeof text, "optimizer.%s.%s", name, kind);
    if (status == LOOM_OK) status = loom_nn_filled_(0, p.dtype, p.shape, p.ndim, &made);
    if (status != LOOM_OK) return status;
    o->at_[base + i] = o->list_->count;
    status = loom_nn_add(o->list_, text, made, false);
    (void)(loom_tensor_release)(made);
    if (status != LOOM_OK) return status;
  }
  return LOOM_OK;
}

/* What a constructor ends with: after a failure the list is as it was, of that count. */
static inline loom_status loom_nn_started_(loom_nn_optimizer *o, loom_nn_list *list,
                                           size_t count, loom_status status) {
  if (status == LOOM_OK) return LOOM_OK;
  while (list->count > count) {
    (void)(loom_tensor_release)(list->tensors[--list->count]);
    free(list->names[list->count]);
  }
  loom_nn_optimizer_free(o);
  return status;
}

static inline LOOM_CHECK loom_status loom_nn_check_(const char *name, double value, double most) {
  if (value >= 0 && value <= most) return LOOM_OK;
  return loom_fail_(LOOM_ERROR_ARGUMENT, "an optimizer: %s is %g, expected %s", name, value,
                    most < 1 ? "0 or more and less than 1" : "0 or more");
}

/* Stochastic gradient descent over the trained parameters that a list has now, torch.optim.SGD:
     g = gradient + weight_decay * p
     m = momentum * m + g             with momentum; m is 0 at first
     p = p - lr * m                   with nesterov p - lr * (g + momentum * m), without momentum g
   optimizer: out; freed by loom_nn_optimizer_free(). list: kept, must outlive it and only grow;
   with momentum it gets "optimizer.NAME.momentum_buffer" for each parameter.
   Errors: LOOM_ERROR_ARGUMENT for negative numbers, nesterov without momentum, and if nothing is
   trained; LOOM_ERROR_DTYPE for parameters of several dtypes. */
static inline LOOM_CHECK loom_status loom_nn_sgd(loom_nn_optimizer *optimizer, loom_nn_list *list,
                                                 double lr, double momentum, bool nesterov,
                                                 double weight_decay) {
  const size_t before = list->count;
  loom_status status = loom_nn_check_("lr", lr, HUGE_VAL);
  memset(optimizer, 0, sizeof *optimizer);
  if (status == LOOM_OK) status = loom_nn_check_("momentum", momentum, HUGE_VAL);
  if (status == LOOM_OK) status = loom_nn_check_("weight_decay", weight_decay, HUGE_VAL);
  if (status == LOOM_OK && nesterov && momentum == 0)
    status = loom_fail_(LOOM_ERROR_ARGUMENT, "loom_nn_sgd: nesterov, and momentum is 0, expected "
                        "more than 0");
  if (status == LOOM_OK) status = loom_nn_gather_(optimizer, list);
  optimizer->rule_ = LOOM_NN_SGD_;
  optimizer->lr = lr;
  optimizer->momentum = momentum;
  optimizer->nesterov = nesterov;
  optimizer->weight_decay = weight_decay;
  if (status == LOOM_OK && momentum != 0) status = loom_nn_state_(optimizer, "momentum_buffer");
  return loom_nn_started_(optimizer, list, before, status);
}

/* AdamW (Loshchilov, Hutter, 2019) over the trained parameters that a list has now,
   torch.optim.AdamW, whose defaults are 0.9, 0.999, 1e-8 and 0.01; of step t = 1, 2, ...:
     p = p - lr * weight_decay * p
     m = beta1 * m + (1 - beta1) * gradient
     v = beta2 * v + (1 - beta2) * gradient^2
     p = p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
   optimizer, list: as in loom_nn_sgd(); the list gets "optimizer.step", and for each parameter
   "optimizer.NAME.exp_avg" and "optimizer.NAME.exp_avg_sq". Errors as loom_nn_sgd(). */
static inline LOOM_CHECK loom_status loom_nn_adamw(loom_nn_optimizer *optimizer,
                                                   loom_nn_list *list, double lr, double beta1,
                                                   double beta2, double eps,
                                                   double weight_decay) {
  const double below_one = 1 - 1e-16;
  loom_tensor step = loom_null();
  const size_t before = list->count;
  loom_status status = loom_nn_check_("lr", lr, HUGE_VAL);
  memset(optimizer, 0, sizeof *optimizer);
  if (status == LOOM_OK) status = loom_nn_check_("beta1", beta1, below_one);
  if (status == LOOM_OK) status = loom_nn_check_("beta2", beta2, below_one);
  if (status == LOOM_OK) status = loom_nn_check_("eps", eps, HUGE_VAL);
  if (status == LOOM_OK) status = loom_nn_check_("weight_decay", weight_decay, HUGE_VAL);
  if (status == LOOM_OK) status = loom_nn_gather_(optimizer, list);
  optimizer->rule_ = LOOM_NN_ADAMW_;
  optimizer->lr = lr;
  optimizer->beta1 = beta1;
  optimizer->beta2 = beta2;
  optimizer->eps = eps;
  optimizer->weight_decay = weight_decay;
  if (status == LOOM_OK) status = loom_nn_filled_(0, LOOM_FLOAT32, NULL, 0, &step);
  if (status == LOOM_OK) {
    optimizer->step_at_ = list->count;
    status = loom_nn_add(list, "optimizer.step", step, false);
  }
  (void)(loom_tensor_release)(step);
  if (status == LOOM_OK) status = loom_nn_state_(optimizer, "exp_avg");
  if (status == LOOM_OK) status = loom_nn_state_(optimizer, "exp_avg_sq");
  return loom_nn_started_(optimizer, list, before, status);
}

/* Takes what loom_backward() collected for each parameter into gradients_. */
static inline LOOM_CHECK loom_status loom_nn_take_gradients_(loom_nn_optimizer *o) {
  loom_status status = LOOM_OK;
  size_t i, taken = 0;
  for (i = 0; i < o->count && status == LOOM_OK; ++i) {
    status = (loom_tensor_gradient)(o->list_->tensors[o->at_[i]], &o->gradients_[i]);
    taken = i + 1;
    if (status == LOOM_OK && loom_is_null(o->gradients_[i]))
      status = loom_fail_(LOOM_ERROR_GRADIENT, "loom_nn_step: parameter '%s' has no gradient: "
                          "loom_backward() comes first, and what a loss does not depend on is not "
                          "to be trained", o->list_->names[o->at_[i]]);
  }
  if (status != LOOM_OK) {
    (void)(loom_tensors_release)(o->gradients_, taken);
    return status;
  }
  for (i = 0; i < o->count && status == LOOM_OK; ++i)
    status = (loom_tensor_clear_gradient)(o->list_->tensors[o->at_[i]]);
  return status;
}

/* Records the op of a step, whose results are those of targets_; *count is their number. */
static inline LOOM_CHECK loom_status loom_nn_record_step_(loom_nn_optimizer *o, size_t *count) {
  const loom_operand lr = loom_is_null(o->lr_tensor) ? loom_scalar_real(o->lr, LOOM_FLOAT64) :
      loom_t(o->lr_tensor);
  const loom_operand decay = loom_scalar_real(o->weight_decay, LOOM_FLOAT64);
  const loom_tensor *tensors = o->list_->tensors;
  const bool adam = o->rule_ == LOOM_NN_ADAMW_;
  const size_t n = o->count, held = (1 + o->states_) * n;
  size_t i, made = 0;
  if (adam) o->targets_[made++] = tensors[o->step_at_];
  for (i = 0; i < held; ++i) {
    const loom_tensor tensor = tensors[o->at_[i]];
    o->targets_[made++] = tensor;
    o->operands_[i < n ? i : i + n] = loom_t(tensor);
  }
  for (i = 0; i < n; ++i) o->operands_[n + i] = loom_t(o->gradients_[i]);
  *count = made;
  if (adam)
    return (loom_step_adam_with)(
        loom_t(tensors[o->step_at_]), lr, loom_scalar_real(o->beta1, LOOM_FLOAT64),
        loom_scalar_real(o->beta2, LOOM_FLOAT64), loom_scalar_real(o->eps, LOOM_FLOAT64), decay,
        o->operands_, held + n, false, o->weight_decay != 0, true, false, o->results_, made);
  return (loom_step_sgd_with)(
      lr, decay, loom_scalar_real(o->momentum, LOOM_FLOAT64), loom_scalar_real(1, LOOM_FLOAT64),
      o->operands_, held + n, o->states_ != 0, o->states_ != 0 && o->nesterov,
      o->weight_decay != 0, false, false, o->results_, made);
}

/* Steps all parameters by what loom_backward() collected for them, and forgets that. One op is
   recorded, and its results are assigned to parameters and state; nothing is computed.
   Errors: LOOM_ERROR_GRADIENT, naming it, for a parameter that has no gradient. */
static inline LOOM_CHECK loom_status loom_nn_step(loom_nn_optimizer *optimizer) {
  size_t count = 0;
  bool recording = true;
  loom_status status = loom_nn_take_gradients_(optimizer);
  if (status != LOOM_OK) return status;
  status = (loom_set_grad_enabled)(false, &recording);
  if (status == LOOM_OK) {
    status = loom_nn_record_step_(optimizer, &count);
    if (status == LOOM_OK) {
      status = (loom_tensors_assign)(optimizer->targets_, optimizer->results_, count);
      (void)(loom_tensors_release)(optimizer->results_, count);
    }
    status = loom_nn_switch_back_(recording, status);
  }
  (void)(loom_tensors_release)(optimizer->gradients_, optimizer->count);
  return status;
}

#ifdef __cplusplus
}
#endif

#endif /* LAZYLOOM_OPTIMIZERS_H */
