/* Calls of sequences.c: tensors, recording, gradients, loops, transforms, captures. */
#ifndef SEQUENCES_COMPUTE_H
#define SEQUENCES_COMPUTE_H

#include <math.h>

#include "sequences.h"

#define ACTION(name) static loom_status name##_(worker *w)
#define UNUSED (void)w

static char words[4][24] = {"none", "\xff\xfe", "ij,jk->ik", "->"};

static const char *some_text(worker *w) {
  return one_in(w, 12) ? NULL : words[below(w, sizeof words / sizeof words[0])];
}

/* ---- tensors and host memory -------------------------------------------------------- */

ACTION(loom_tensor_from_host) {
  const size_t shape = below(w, SHAPES);
  const loom_dtype dtype = some_dtype(w);
  const size_t size = elements_of(shape) * loom_dtype_size(dtype);
  loom_tensor made;
  loom_status status = loom_tensor_from_host(
      one_in(w, 16) ? NULL : numbers, one_in(w, 8) ? below(w, 100) : size, dtype,
      one_in(w, 16) ? NULL : shapes[shape], about(w, ndims[shape]), one_in(w, 40) ? NULL : &made);
  if (status == LOOM_OK) keep(w, made);
  return status;
}

ACTION(loom_tensor_share_host) {
  const size_t shape = below(w, SHAPES);
  loom_tensor made;
  loom_status status;
  lend(OF_HOST);
  status = loom_tensor_share_host(
      one_in(w, 16) ? NULL : numbers, one_in(w, 8) ? below(w, 100) : elements_of(shape) * 4,
      LOOM_FLOAT32, shapes[shape], about(w, ndims[shape]), memory_done, NULL,
      one_in(w, 40) ? NULL : &made);
  if (status == LOOM_OK) keep(w, made);
  return status;
}

ACTION(loom_tensor_read) {
  double back[64];
  const loom_tensor x = some(w);
  size_t size = 0;
  if (loom_tensor_nbytes(x, &size) != LOOM_OK || one_in(w, 8)) size = below(w, sizeof back);
  return loom_tensor_read(x, one_in(w, 20) ? NULL : back, size > sizeof back ? 8 : size);
}

ACTION(loom_tensors_read) {
  double back[FEW][64];
  void *buffers[FEW];
  size_t sizes[FEW], i;
  loom_tensor tensors[FEW];
  const size_t count = several(w, tensors);
  for (i = 0; i < FEW; ++i) {
    buffers[i] = one_in(w, 20) ? NULL : back[i];
    if (loom_tensor_nbytes(tensors[i], &sizes[i]) != LOOM_OK || sizes[i] > sizeof back[i])
      sizes[i] = 4;
  }
  return loom_tensors_read(tensors, buffers, one_in(w, 30) ? NULL : sizes, about(w, count));
}

ACTION(loom_tensor_map) {
  const void *data;
  size_t size;
  loom_buffer made;
  loom_status status =
      loom_tensor_map(some(w), &made, one_in(w, 30) ? NULL : &data, one_in(w, 30) ? NULL : &size);
  if (status == LOOM_OK && w->buffers < POOL) w->buffer[w->buffers++] = made;
  else if (status == LOOM_OK) status = loom_buffer_release(made);
  return status;
}

ACTION(loom_buffer_release) {
  loom_buffer none;
  none.bits = no_handle(w);
  return w->buffers && !one_in(w, 4) ? loom_buffer_release(w->buffer[--w->buffers])
                                     : loom_buffer_release(none);
}

ACTION(loom_tensor_retain) {
  const loom_tensor x = some(w);
  loom_status status = loom_tensor_retain(x);
  if (status == LOOM_OK) keep(w, x);
  return status;
}

ACTION(loom_tensor_release) {
  loom_tensor none;
  none.bits = no_handle(w);
  return w->tensors && !one_in(w, 4) ? loom_tensor_release(w->tensor[--w->tensors])
                                     : loom_tensor_release(none);
}

ACTION(loom_tensors_release) {
  loom_tensor some_of[FEW];
  size_t i, count = below(w, 3);
  if (one_in(w, 40)) return loom_tensors_release(NULL, 1 + count);
  for (i = 0; i < count; ++i) {
    some_of[i] = loom_null();
    if (w->tensors) some_of[i] = w->tensor[--w->tensors];
  }
  if (one_in(w, 8)) some_of[count++].bits = no_handle(w);
  return loom_tensors_release(some_of, count);
}

#define GETTER(name, type)                        \
  ACTION(name) {                                  \
    type value;                                   \
    return name(some(w), one_in(w, 40) ? NULL : &value); \
  }
GETTER(loom_tensor_dtype, loom_dtype)
GETTER(loom_tensor_ndim, size_t)
GETTER(loom_tensor_nbytes, size_t)
GETTER(loom_tensor_is_pending, bool)
GETTER(loom_tensor_requires_grad, bool)
GETTER(loom_tensor_is_ready, bool)

ACTION(loom_tensor_shape) {
  int64_t dims[8];
  size_t ndim;
  return loom_tensor_shape(some(w), one_in(w, 20) ? NULL : dims, below(w, 9),
                           one_in(w, 3) ? NULL : &ndim);
}

ACTION(loom_tensor_detach) {
  loom_tensor made;
  loom_status status = loom_tensor_detach(some(w), &made);
  if (status == LOOM_OK) keep(w, made);
  return status;
}

ACTION(loom_boundary) { return loom_boundary(some(w)); }
ACTION(loom_tensor_assign) { return loom_tensor_assign(some(w), some(w)); }

ACTION(loom_tensors_assign) {
  loom_tensor targets[FEW], values[FEW];
  const size_t count = several(w, targets);
  (void)several(w, values);
  return loom_tensors_assign(targets, one_in(w, 30) ? NULL : values, about(w, count));
}

ACTION(loom_live_handles) {
  size_t live;
  return loom_live_handles(one_in(w, 8) ? NULL : &live);
}

ACTION(loom_random_key) {
  loom_tensor made;
  loom_status status = loom_random_key(draw(w), &made);
  if (status == LOOM_OK) keep(w, made);
  return status;
}

/* ---- recording ------------------------------------------------------------------------ */

typedef loom_status (*recorder)(const char *, const loom_operand *, size_t, const loom_attr *,
                                size_t, loom_tensor *, size_t, size_t *);

static loom_status recorded(worker *w, recorder apply) {
  static const char *const ops[] = {"add", "multiply", "matmul", "sin", "exp", "sum", "less",
                                    "reshape", "concat", "maximum", "where", "abs"};
  static const int64_t axes[2] = {0, -1};
  loom_operand operands[4];
  loom_attr attributes[2];
  loom_tensor results[8];
  size_t i, found = 0, operand_count = 1 + below(w, 3), attribute_count = 0;
  const bool any = one_in(w, 4);
  const char *op = ops[below(w, sizeof ops / sizeof ops[0])];
  loom_status status;
  if (any) either(loom_op_name(below(w, 400), &op));
  for (i = 0; i < 4; ++i) {
    operands[i] = one_in(w, 5) ? loom_scalar_real(2.5, (loom_dtype)(one_in(w, 3) * below(w, 20)))
                               : loom_t(some(w));
    if (one_in(w, 40)) operands[i].kind = (loom_operand_kind)below(w, 10);
  }
  if (one_in(w, 6)) attributes[attribute_count++] = loom_attr_ints("axes", axes, below(w, 3));
  if (one_in(w, 12)) attributes[attribute_count++] = loom_attr_int("axis", -1);
  if (attribute_count && one_in(w, 12)) attributes[0].kind = (loom_attr_kind)below(w, 10);
  if (attribute_count && attributes[0].kind == LOOM_ATTR_STR) attributes[0].value.text = "nan";
  status = apply(one_in(w, 60) ? NULL : op, operands, about(w, operand_count), attributes,
                 about(w, attribute_count), results, one_in(w, 40) ? 0 : 8,
                 one_in(w, 3) ? NULL : &found);
  for (i = 0; status == LOOM_OK && i < 8; ++i) {
    /* what any op computes may take long to compile */
    if (any) (void)loom_tensor_release(results[i]);
    else keep(w, results[i]);
  }
  return status;
}

ACTION(loom_apply) { return recorded(w, (loom_apply)); }
ACTION(loom_source) { return recorded(w, (loom_source)); }

/* ---- gradients --------------------------------------------------------------------------- */

ACTION(loom_tensor_require_grad) { return loom_tensor_require_grad(some(w), !one_in(w, 4)); }

ACTION(loom_set_grad_enabled) {
  bool before;
  return loom_set_grad_enabled(!one_in(w, 3), one_in(w, 3) ? NULL : &before);
}

ACTION(loom_grad) {
  loom_tensor outputs[FEW], inputs[FEW], cotangents[FEW], made[FEW];
  const size_t output_count = several(w, outputs), input_count = several(w, inputs);
  loom_status status;
  (void)several(w, cotangents);
  status = loom_grad(outputs, about(w, output_count), inputs, input_count,
                     one_in(w, 2) ? NULL : cotangents, one_in(w, 3), one_in(w, 40) ? NULL : made);
  if (status == LOOM_OK && input_count) keep_all(w, made, input_count);
  return status;
}

ACTION(loom_backward) {
  loom_tensor outputs[FEW], cotangents[FEW];
  const size_t count = several(w, outputs);
  (void)several(w, cotangents);
  return loom_backward(outputs, about(w, count), one_in(w, 2) ? NULL : cotangents);
}

ACTION(loom_tensor_gradient) {
  loom_tensor made;
  loom_status status = loom_tensor_gradient(some(w), &made);
  if (status == LOOM_OK) keep(w, made);
  return status;
}

ACTION(loom_tensor_clear_gradient) { return loom_tensor_clear_gradient(some(w)); }

/* ---- loops, branches, transforms ----------------------------------------------------------- */

static loom_function some_function(worker *w) { return one_in(w, 40) ? NULL : given; }

ACTION(loom_scan) {
  plan p = {draw(w), LENT};
  loom_tensor init[FEW], xs[FEW], made[2 * FEW];
  const size_t carry = several(w, init), rows = below(w, 2), ys = below(w, 3);
  loom_status status;
  (void)several(w, xs);
  status = loom_scan(some_function(w), &p, init, carry, xs, about(w, rows),
                     rows && one_in(w, 2) ? -1 : (int64_t)below(w, 4), ys, one_in(w, 2),
                     one_in(w, 40) ? NULL : made);
  if (status == LOOM_OK) keep_all(w, made, carry + ys);
  return status;
}

ACTION(loom_while_loop) {
  plan p = {draw(w), LENT};
  loom_tensor init[FEW], made[FEW];
  const size_t carry = several(w, init);
  loom_status status =
      loom_while_loop(one_in(w, 40) ? NULL : condition, some_function(w), &p, init, carry,
                      one_in(w, 2) ? -1 : (int64_t)below(w, 4), made);
  if (status == LOOM_OK) keep_all(w, made, carry);
  return status;
}

ACTION(loom_cond) {
  plan p = {draw(w), LENT};
  loom_tensor operands[FEW], made[FEW], which = some(w);
  const size_t count = several(w, operands), results = below(w, 3);
  loom_status status;
  if (!one_in(w, 8)) {
    status = loom_tensor_from_host(numbers, 1, LOOM_BOOL, NULL, 0, &which);
    if (status != LOOM_OK) return status;
    keep(w, which);
  }
  status = loom_cond(which, some_function(w), some_function(w), &p, operands, about(w, count),
                     made, results);
  if (status == LOOM_OK) keep_all(w, made, results);
  return status;
}

static loom_status linear(worker *w, bool reverse) {
  plan p = {draw(w), LENT};
  loom_tensor inputs[FEW], made[FEW];
  const size_t count = several(w, inputs), results = below(w, 3);
  loom_linear_map map;
  const loom_status status =
      reverse ? loom_vjp(some_function(w), &p, inputs, about(w, count), made, results, &map)
              : loom_linearize(some_function(w), &p, inputs, about(w, count), made, results, &map);
  if (status != LOOM_OK) return status;
  keep_all(w, made, results);
  if (w->maps < POOL) w->map[w->maps++] = map;
  else return loom_linear_map_release(map);
  return status;
}

ACTION(loom_vjp) { return linear(w, true); }
ACTION(loom_linearize) { return linear(w, false); }

ACTION(loom_linear_map_apply) {
  loom_linear_map map;
  loom_tensor inputs[FEW], made[FEW];
  const size_t count = several(w, inputs), results = below(w, 3);
  loom_status status;
  map.bits = w->maps && !one_in(w, 8) ? w->map[below(w, w->maps)].bits : no_handle(w);
  status = loom_linear_map_apply(map, inputs, about(w, count), made, results);
  if (status == LOOM_OK) keep_all(w, made, results);
  return status;
}

ACTION(loom_linear_map_release) {
  loom_linear_map none;
  none.bits = no_handle(w);
  return w->maps && !one_in(w, 4) ? loom_linear_map_release(w->map[--w->maps])
                                  : loom_linear_map_release(none);
}

ACTION(loom_jvp) {
  plan p = {draw(w), LENT};
  loom_tensor inputs[FEW], tangents[FEW], made[FEW], moved[FEW];
  const size_t count = several(w, inputs), results = below(w, 3);
  loom_status status;
  size_t i;
  for (i = 0; i < FEW; ++i) tangents[i] = one_in(w, 3) ? some(w) : inputs[i];
  status = loom_jvp(some_function(w), &p, inputs, tangents, about(w, count), made, moved, results);
  if (status == LOOM_OK) {
    keep_all(w, made, results);
    keep_all(w, moved, results);
  }
  return status;
}

static const size_t positions[2][2] = {{0, 1}, {1, 7}};

ACTION(loom_value_and_grad) {
  plan p = {draw(w), LENT};
  loom_tensor inputs[FEW], made[FEW], gradients[FEW];
  const size_t count = several(w, inputs), results = below(w, 3);
  const size_t *of = one_in(w, 2) ? NULL : positions[below(w, 2)];
  const size_t chosen = of == NULL ? count : 1 + below(w, 2);
  loom_status status = loom_value_and_grad(some_function(w), &p, inputs, count, of, chosen, made,
                                           results, gradients);
  if (status == LOOM_OK) {
    keep_all(w, made, results);
    keep_all(w, gradients, chosen);
  }
  return status;
}

static loom_status matrices(worker *w, bool second) {
  plan p = {draw(w), LENT};
  loom_tensor inputs[FEW], made[64];
  const size_t count = several(w, inputs), outputs = below(w, 3);
  const size_t *of = one_in(w, 2) ? NULL : positions[below(w, 2)];
  const size_t chosen = of == NULL ? count : 1 + below(w, 2);
  const loom_status status =
      second ? loom_hessian(some_function(w), &p, inputs, count, of, chosen, outputs, made)
             : loom_jacobian(some_function(w), &p, inputs, count, of, chosen, outputs,
                             (loom_direction)below(w, 4), one_in(w, 6), made);
  if (status == LOOM_OK) keep_all(w, made, outputs * chosen * (second ? chosen : 1));
  return status;
}

ACTION(loom_jacobian) { return matrices(w, false); }
ACTION(loom_hessian) { return matrices(w, true); }

ACTION(loom_vmap) {
  static const int64_t axes[4][2] = {{0, 0}, {-1, 1}, {LOOM_UNMAPPED, 0}, {9, INT64_MAX}};
  plan p = {draw(w), LENT};
  loom_tensor inputs[FEW], made[FEW];
  const size_t count = 1 + below(w, 2), results = below(w, 3);
  loom_status status;
  (void)several(w, inputs);
  status = loom_vmap(some_function(w), &p, inputs, count, one_in(w, 2) ? NULL : axes[below(w, 4)],
                     one_in(w, 2) ? -1 : (int64_t)below(w, 4),
                     one_in(w, 2) ? NULL : axes[below(w, 4)], made, results);
  if (status == LOOM_OK) keep_all(w, made, results);
  return status;
}

ACTION(loom_apply_custom) {
  loom_custom_op op;
  loom_tensor inputs[FEW], made[FEW];
  const size_t count = several(w, inputs), results = below(w, 3);
  loom_status status;
  memset(&op, 0, sizeof op);
  op.size = one_in(w, 20) ? below(w, 8) : sizeof op;
  op.forward = some_function(w);
  op.vjp = one_in(w, 6) ? NULL : given;
  op.jvp = one_in(w, 6) ? NULL : given;
  op.context = kept_plan(w, OF_CUSTOM);
  op.done = plan_done;
  op.name = some_text(w);
  status = loom_apply_custom(&op, inputs, about(w, count), made, results);
  /* of a wrong size nothing is looked at */
  if (op.size != sizeof op) plan_done(op.context);
  if (status == LOOM_OK) keep_all(w, made, results);
  return status;
}

ACTION(loom_quantize_function) {
  static const int64_t skip[2] = {0, -9};
  plan *p = kept_plan(w, OF_QUANTIZED);
  loom_tensor batches[FEW];
  loom_quantize_options options = {sizeof options, 0, skip, 0};
  loom_quantized made;
  loom_status status;
  (void)several(w, batches);
  if (one_in(w, 8)) options.size = below(w, 8);
  if (one_in(w, 4)) options.percentile = one_in(w, 2) ? 99.0 : NAN;
  options.skip_count = about(w, below(w, 3));
  status = loom_quantize_function(some_function(w), p, plan_done, batches, 1 + below(w, 2),
                                  1 + below(w, 2), 1, one_in(w, 2) ? NULL : &options, &made);
  if (status == LOOM_OK && w->quantized < POOL) w->quantize[w->quantized++] = made;
  else if (status == LOOM_OK) status = loom_quantized_release(made);
  return status;
}

static loom_quantized some_quantized(worker *w) {
  loom_quantized found;
  found.bits = w->quantized && !one_in(w, 4) ? w->quantize[below(w, w->quantized)].bits
                                             : no_handle(w);
  return found;
}

ACTION(loom_quantized_run) {
  loom_tensor inputs[FEW], made[FEW];
  const size_t count = several(w, inputs);
  loom_status status = loom_quantized_run(some_quantized(w), inputs, about(w, count), made, 1);
  if (status == LOOM_OK) keep_all(w, made, 1);
  return status;
}

ACTION(loom_quantized_release) {
  loom_quantized none;
  none.bits = no_handle(w);
  return w->quantized ? loom_quantized_release(w->quantize[--w->quantized])
                      : loom_quantized_release(none);
}

/* ---- capture ----------------------------------------------------------------------------- */

ACTION(loom_capture_begin) {
  loom_tensor inputs[FEW];
  const size_t count = several(w, inputs);
  return loom_capture_begin(inputs, about(w, count));
}

ACTION(loom_capture_end) {
  loom_tensor results[FEW];
  const size_t count = several(w, results);
  loom_capture made;
  loom_status status = loom_capture_end(results, about(w, count), &made);
  if (status == LOOM_OK && w->captures < POOL) w->capture[w->captures++] = made;
  else if (status == LOOM_OK) status = loom_capture_release(made);
  return status;
}

ACTION(loom_capture_cancel) {
  UNUSED;
  return loom_capture_cancel();
}

/* A step from its beginning to its runs. */
ACTION(loom_capture_run) {
  loom_tensor inputs[2], results[2] = {{0}, {0}};
  loom_capture capture;
  loom_status status = LOOM_OK;
  size_t i;
  inputs[0] = some(w);
  inputs[1] = some(w);
  capture.bits = w->captures && one_in(w, 2) ? w->capture[below(w, w->captures)].bits : 0;
  if (capture.bits == 0 && !one_in(w, 8)) {
    status = loom_capture_begin(inputs, 2);
    if (status != LOOM_OK) return status;
    for (i = below(w, 3); i > 0; --i) act(w);
    status = loom_add(inputs[0], inputs[1], &results[0]);
    if (status == LOOM_OK && one_in(w, 2)) status = loom_tensor_assign(inputs[0], results[0]);
    if (status == LOOM_OK) status = loom_capture_end(results, 1, &capture);
    else if (!one_in(w, 4)) either(loom_capture_cancel());
    keep(w, results[0]);
    results[0] = loom_null();
    if (status != LOOM_OK) return status;
    if (w->captures < POOL) w->capture[w->captures++] = capture;
    else return loom_capture_release(capture);
  }
  for (i = 1 + below(w, 3); i > 0; --i) {
    if (one_in(w, 4)) inputs[1] = some(w);
    status = loom_capture_run(capture, inputs, about(w, 2), results, 1);
    if (status != LOOM_OK) return status;
    keep(w, results[0]);
  }
  return status;
}

ACTION(loom_capture_release) {
  loom_capture none;
  none.bits = no_handle(w);
  return w->captures && !one_in(w, 4) ? loom_capture_release(w->capture[--w->captures])
                                      : loom_capture_release(none);
}

#endif
