// lazyloom_ops.hpp: a function for every op; part of lazyloom.hpp, which includes it.
// Written by bindings/generate.py from lazyloom_api.json; do not edit.
#ifndef LAZYLOOM_OPS_HPP
#define LAZYLOOM_OPS_HPP

namespace lazyloom {

// |x|; complex operands give their modulus, of the real dtype.
inline Tensor abs(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("abs", {x.c()}, {}, at)[0];
}

// Inverse cosine, in radians; NaN outside [-1, 1] for real x.
inline Tensor acos(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("acos", {x.c()}, {}, at)[0];
}

// Inverse hyperbolic cosine; NaN below 1 for real x.
inline Tensor acosh(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("acosh", {x.c()}, {}, at)[0];
}

// The mean of parts of the last axes, output of them in each, as even as possible.
inline Tensor adaptive_avg_pool(const Operand &x, const Ints &output, Site at = Site::here()) {
  return detail::record<1>(
      "adaptive_avg_pool", {x.c()}, {detail::attribute("output", output)}, at)[0];
}

// The largest element of parts of the last axes; parts as for adaptive_avg_pool.
inline Tensor adaptive_max_pool(const Operand &x, const Ints &output, Site at = Site::here()) {
  return detail::record<1>(
      "adaptive_max_pool", {x.c()}, {detail::attribute("output", output)}, at)[0];
}

// x + y. For bool, logical or, as in NumPy.
inline Tensor add(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("add", {x.c(), y.c()}, {}, at)[0];
}

// x + value * y / z; value is 1 if absent.
inline Tensor addcdiv(
    const Operand &x, const Operand &y, const Operand &z, const Operand &value = {},
    Site at = Site::here()) {
  return detail::record<1>("addcdiv", {x.c(), y.c(), z.c(), value.c()}, {}, at)[0];
}

// x + value * y * z; value is 1 if absent.
inline Tensor addcmul(
    const Operand &x, const Operand &y, const Operand &z, const Operand &value = {},
    Site at = Site::here()) {
  return detail::record<1>("addcmul", {x.c(), y.c(), z.c(), value.c()}, {}, at)[0];
}

// The Airy function that vanishes at infinity.
inline Tensor airy_ai(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("airy_ai", {x.c()}, {}, at)[0];
}

// Whether no element is 0 (NaN counts as not 0); true of none.
inline Tensor all(
    const Operand &x, const Ints &axes = std::nullopt, bool keepdims = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "all", {x.c()}, {detail::attribute("axes", axes), detail::attribute("keepdims", keepdims)},
      at)[0];
}

// The operands of all processes of a group, one after the other along axis.
inline Tensor all_gather(
    const Operand &x, const Ints &group, std::int64_t world, std::int64_t axis = 0,
    const char *axes = "", Site at = Site::here()) {
  return detail::record<1>(
      "all_gather", {x.c()},
      {detail::attribute("group", group), detail::attribute("world", world), detail::attribute("axis", axis), detail::attribute("axes", axes)},
      at)[0];
}

// The reduction of the operands of all processes of a group, in each of them.
inline Tensor all_reduce(
    const Operand &x, const Ints &group, std::int64_t world, const char *reduction = "sum",
    const char *axes = "", Site at = Site::here()) {
  return detail::record<1>(
      "all_reduce", {x.c()},
      {detail::attribute("group", group), detail::attribute("world", world), detail::attribute("reduction", reduction), detail::attribute("axes", axes)},
      at)[0];
}

// Parts of the operands of a group: each process sends one along split_axis to each.
inline Tensor all_to_all(
    const Operand &x, const Ints &group, std::int64_t world, std::int64_t split_axis = 0,
    std::int64_t concat_axis = 0, const char *axes = "", Site at = Site::here()) {
  return detail::record<1>(
      "all_to_all", {x.c()},
      {detail::attribute("group", group), detail::attribute("world", world), detail::attribute("split_axis", split_axis), detail::attribute("concat_axis", concat_axis), detail::attribute("axes", axes)},
      at)[0];
}

// The argument of x in radians; 0 or pi for real x, whose gradient is 0. So is that at 0.
inline Tensor angle(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("angle", {x.c()}, {}, at)[0];
}

// Whether an element is not 0 (NaN counts as not 0); false of none.
inline Tensor any(
    const Operand &x, const Ints &axes = std::nullopt, bool keepdims = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "any", {x.c()}, {detail::attribute("axes", axes), detail::attribute("keepdims", keepdims)},
      at)[0];
}

// The vector x with f(x[p], u) written to each position p in turn; f(x[p]) without an update.
inline Tensor apply_at(
    const Operand &x, const Operand &positions, const Operand &update, const char *function,
    DType dtype = DType::none, Site at = Site::here()) {
  return detail::record<1>(
      "apply_at", {x.c(), positions.c(), update.c()},
      {detail::attribute("function", function), detail::attribute("dtype", dtype)}, at)[0];
}

// start, start + step, ...: length elements start + i * step.
inline Tensor arange(
    const Operand &start, const Operand &step, std::int64_t length, Site at = Site::here()) {
  return detail::record<1>(
      "arange", {start.c(), step.c()}, {detail::attribute("length", length)}, at)[0];
}

// The index (int64) of the first largest element, a NaN counting as larger than all.
inline Tensor argmax(
    const Operand &x, std::optional<std::int64_t> axis = std::nullopt, bool keepdims = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "argmax", {x.c()},
      {detail::attribute("axis", axis), detail::attribute("keepdims", keepdims)}, at)[0];
}

// The index (int64) of the first smallest element, a NaN counting as smaller than all.
inline Tensor argmin(
    const Operand &x, std::optional<std::int64_t> axis = std::nullopt, bool keepdims = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "argmin", {x.c()},
      {detail::attribute("axis", axis), detail::attribute("keepdims", keepdims)}, at)[0];
}

// The positions (int64) that put x in order along an axis. Raises ArgumentError.
inline Tensor argsort(
    const Operand &x, std::int64_t axis = -1, bool descending = false, bool stable = true,
    Site at = Site::here()) {
  return detail::record<1>(
      "argsort", {x.c()},
      {detail::attribute("axis", axis), detail::attribute("descending", descending), detail::attribute("stable", stable)},
      at)[0];
}

// Inverse sine, in radians; NaN outside [-1, 1] for real x.
inline Tensor asin(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("asin", {x.c()}, {}, at)[0];
}

// Inverse hyperbolic sine.
inline Tensor asinh(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("asinh", {x.c()}, {}, at)[0];
}

// Inverse tangent, in radians.
inline Tensor atan(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("atan", {x.c()}, {}, at)[0];
}

// The angle of the point (x, y), in radians. The gradient at (0, 0) is 0.
inline Tensor atan2(const Operand &y, const Operand &x, Site at = Site::here()) {
  return detail::record<1>("atan2", {y.c(), x.c()}, {}, at)[0];
}

// Inverse hyperbolic tangent; NaN outside [-1, 1] for real x.
inline Tensor atanh(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("atanh", {x.c()}, {}, at)[0];
}

// The mean of each place of a window that moves over the last axes.
inline Tensor avg_pool(
    const Operand &x, const Ints &window, const Ints &strides = std::nullopt,
    const Ints &padding_low = std::nullopt, const Ints &padding_high = std::nullopt,
    const Ints &dilation = std::nullopt, bool count_include_pad = true, Site at = Site::here()) {
  return detail::record<1>(
      "avg_pool", {x.c()},
      {detail::attribute("window", window), detail::attribute("strides", strides), detail::attribute("padding_low", padding_low), detail::attribute("padding_high", padding_high), detail::attribute("dilation", dilation), detail::attribute("count_include_pad", count_include_pad)},
      at)[0];
}

// The first results operands, and not before the others are there as well.
// Gives the first of the operands
inline std::vector<Tensor> await_all(
    const Operands &operands, std::int64_t results, Site at = Site::here()) {
  return detail::record_many(
      "await_all", {}, operands, {detail::attribute("results", results)}, 9 + operands.size(), at);
}

// The position of a device along axes of a mesh, an int32; inside shard_map.
inline Tensor axis_index(
    const Ints &group, std::int64_t world, const char *axes = "", Site at = Site::here()) {
  return detail::record<1>(
      "axis_index", {},
      {detail::attribute("group", group), detail::attribute("world", world), detail::attribute("axes", axes)},
      at)[0];
}

// The operands themselves; what is computed from them is not merged with the same computation
// elsewhere, nor begun before all of them are there.
// Gives one for each operand
inline std::vector<Tensor> barrier(const Operands &operands, Site at = Site::here()) {
  return detail::record_many("barrier", {}, operands, {}, 9 + operands.size(), at);
}

// (x - mean) / sqrt(variance + eps) * weight + bias, a number of each per channel.
inline Tensor batch_norm_infer(
    const Operand &x, const Operand &mean, const Operand &variance, const Operand &weight = {},
    const Operand &bias = {}, double eps = 1e-05, Site at = Site::here()) {
  return detail::record<1>(
      "batch_norm_infer", {x.c(), mean.c(), variance.c(), weight.c(), bias.c()},
      {detail::attribute("eps", eps)}, at)[0];
}

// Each channel (axis 1) over all samples and positions gets mean 0 and variance 1.
// Gives y, mean, variance.
inline std::array<Tensor, 3> batch_norm_train(
    const Operand &x, const Operand &weight = {}, const Operand &bias = {}, double eps = 1e-05,
    Site at = Site::here()) {
  return detail::record<3>(
      "batch_norm_train", {x.c(), weight.c(), bias.c()}, {detail::attribute("eps", eps)}, at);
}

// The modified Bessel function of the first kind of order 0.
inline Tensor bessel_i0(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bessel_i0", {x.c()}, {}, at)[0];
}

// exp(-|x|) times the modified Bessel function of the first kind of order 0.
inline Tensor bessel_i0e(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bessel_i0e", {x.c()}, {}, at)[0];
}

// The modified Bessel function of the first kind of order 1.
inline Tensor bessel_i1(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bessel_i1", {x.c()}, {}, at)[0];
}

// exp(-|x|) times the modified Bessel function of the first kind of order 1.
inline Tensor bessel_i1e(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bessel_i1e", {x.c()}, {}, at)[0];
}

// The Bessel function of the first kind of order 0; 0 at the infinities.
inline Tensor bessel_j0(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bessel_j0", {x.c()}, {}, at)[0];
}

// The Bessel function of the first kind of order 1; 0 at the infinities.
inline Tensor bessel_j1(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bessel_j1", {x.c()}, {}, at)[0];
}

// exp(x) times the modified Bessel function of the second kind of order 0; inf at 0, NaN below.
inline Tensor bessel_k0e(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bessel_k0e", {x.c()}, {}, at)[0];
}

// exp(x) times the modified Bessel function of the second kind of order 1; inf at 0, NaN below.
inline Tensor bessel_k1e(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bessel_k1e", {x.c()}, {}, at)[0];
}

// The Bessel function of the second kind of order 0; -inf at 0, NaN below.
inline Tensor bessel_y0(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bessel_y0", {x.c()}, {}, at)[0];
}

// The Bessel function of the second kind of order 1; -inf at 0, NaN below.
inline Tensor bessel_y1(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bessel_y1", {x.c()}, {}, at)[0];
}

// The regularised incomplete beta function, for positive a and b and x in [0, 1].
inline Tensor betainc(
    const Operand &a, const Operand &b, const Operand &x, Site at = Site::here()) {
  return detail::record<1>("betainc", {a.c(), b.c(), x.c()}, {}, at)[0];
}

// -(t * log(x) + (1 - t) * log(1 - x)) * w for probabilities x, logarithms at least -100.
inline Tensor binary_cross_entropy(
    const Operand &x, const Operand &target, const Operand &weight = {},
    const char *reduction = "mean", Site at = Site::here()) {
  return detail::record<1>(
      "binary_cross_entropy", {x.c(), target.c(), weight.c()},
      {detail::attribute("reduction", reduction)}, at)[0];
}

// -(p * t * log(sigmoid(x)) + (1 - t) * log(1 - sigmoid(x))) * w, without overflow.
inline Tensor binary_cross_entropy_with_logits(
    const Operand &logits, const Operand &targets, const Operand &weight = {},
    const Operand &positive_weight = {}, const char *reduction = "mean", Site at = Site::here()) {
  return detail::record<1>(
      "binary_cross_entropy_with_logits",
      {logits.c(), targets.c(), weight.c(), positive_weight.c()},
      {detail::attribute("reduction", reduction)}, at)[0];
}

// How often each of 0 .. length - 1 occurs in x (1-d), or the sum of its weights.
inline Tensor bincount(
    const Operand &x, const Operand &weights, std::int64_t length, Site at = Site::here()) {
  return detail::record<1>(
      "bincount", {x.c(), weights.c()}, {detail::attribute("length", length)}, at)[0];
}

// The bytes of x read as dtype.
inline Tensor bitcast(const Operand &x, DType dtype, Site at = Site::here()) {
  return detail::record<1>("bitcast", {x.c()}, {detail::attribute("dtype", dtype)}, at)[0];
}

// x & y.
inline Tensor bitwise_and(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("bitwise_and", {x.c(), y.c()}, {}, at)[0];
}

// All bits of x inverted; logical not for bool.
inline Tensor bitwise_not(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("bitwise_not", {x.c()}, {}, at)[0];
}

// x | y.
inline Tensor bitwise_or(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("bitwise_or", {x.c(), y.c()}, {}, at)[0];
}

// x ^ y.
inline Tensor bitwise_xor(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("bitwise_xor", {x.c(), y.c()}, {}, at)[0];
}

// x repeated to shape by NumPy's broadcasting rules. Raises ShapeError.
inline Tensor broadcast_to(const Operand &x, const Ints &shape, Site at = Site::here()) {
  return detail::record<1>("broadcast_to", {x.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// The results of the function main of a StableHLO module, which is given as text.
// Gives what the function gives
inline std::vector<Tensor> call_module(
    const Operands &operands, const char *module, Site at = Site::here()) {
  return detail::record_many(
      "call_module", {}, operands, {detail::attribute("module", module)}, 9 + operands.size(), at);
}

// x converted to dtype.
inline Tensor cast(const Operand &x, DType dtype, Site at = Site::here()) {
  return detail::record<1>("cast", {x.c()}, {detail::attribute("dtype", dtype)}, at)[0];
}

// The real cube root, of the sign of x.
inline Tensor cbrt(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("cbrt", {x.c()}, {}, at)[0];
}

// The smallest integer not below x.
inline Tensor ceil(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("ceil", {x.c()}, {}, at)[0];
}

// x for x > 0, alpha * (exp(x / alpha) - 1) elsewhere.
inline Tensor celu(const Operand &x, double alpha = 1.0, Site at = Site::here()) {
  return detail::record<1>("celu", {x.c()}, {detail::attribute("alpha", alpha)}, at)[0];
}

// The Chebyshev polynomial of degree n (rounded towards zero) of the first (kind "t"), second
// ("u"), third ("v") or fourth ("w") kind; 0 for a negative degree.
inline Tensor chebyshev_polynomial(
    const Operand &x, const Operand &n, const char *kind, Site at = Site::here()) {
  return detail::record<1>(
      "chebyshev_polynomial", {x.c(), n.c()}, {detail::attribute("kind", kind)}, at)[0];
}

// x itself, and flag, which is looked at before anything that depends on x is read.
// Gives result, looked_at.
inline std::array<Tensor, 2> checked(
    const Operand &x, const Operand &flag, const char *kind, const char *of = "",
    const Ints &info = Ints(Shape()), Site at = Site::here()) {
  return detail::record<2>(
      "checked", {x.c(), flag.c()},
      {detail::attribute("kind", kind), detail::attribute("of", of), detail::attribute("info", info)},
      at);
}

// The lower triangular L with L @ L.conj().T == x, or its upper counterpart.
inline Tensor cholesky(const Operand &x, bool upper = false, Site at = Site::here()) {
  return detail::record<1>("cholesky", {x.c()}, {detail::attribute("upper", upper)}, at)[0];
}

// The order of the first leading minor that is not positive, 0 where there is none; int32.
inline Tensor cholesky_failure(const Operand &x, bool upper = false, Site at = Site::here()) {
  return detail::record<1>(
      "cholesky_failure", {x.c()}, {detail::attribute("upper", upper)}, at)[0];
}

// x limited to [min, max], NaN where any is; max where min > max.
inline Tensor clip(
    const Operand &x, const Operand &min = {}, const Operand &max = {}, Site at = Site::here()) {
  return detail::record<1>("clip", {x.c(), min.c(), max.c()}, {}, at)[0];
}

// The operand of the process at position source of a group, in each of its processes.
inline Tensor collective_broadcast(
    const Operand &x, const Ints &group, std::int64_t world, std::int64_t source = 0,
    const char *axes = "", Site at = Site::here()) {
  return detail::record<1>(
      "collective_broadcast", {x.c()},
      {detail::attribute("group", group), detail::attribute("world", world), detail::attribute("source", source), detail::attribute("axes", axes)},
      at)[0];
}

// The operand of the process that sends to this one; zeros in one that receives from none.
inline Tensor collective_permute(
    const Operand &x, const Ints &sources, const Ints &targets, const Ints &group,
    std::int64_t world, const char *axes = "", Site at = Site::here()) {
  return detail::record<1>(
      "collective_permute", {x.c()},
      {detail::attribute("sources", sources), detail::attribute("targets", targets), detail::attribute("group", group), detail::attribute("world", world), detail::attribute("axes", axes)},
      at)[0];
}

// real + i imag, complex64 of float32 or complex128 of float64 operands.
inline Tensor complex(const Operand &real, const Operand &imag, Site at = Site::here()) {
  return detail::record<1>("complex", {real.c(), imag.c()}, {}, at)[0];
}

// The operands joined along an existing axis; their other sizes are equal.
inline Tensor concatenate(const Operands &xs, std::int64_t axis = 0, Site at = Site::here()) {
  return detail::record_many("concatenate", {}, xs, {detail::attribute("axis", axis)}, 1, at)[0];
}

// The complex conjugate; x itself if it is real.
inline Tensor conj(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("conj", {x.c()}, {}, at)[0];
}

// x (N, C, spatial...) convolved with weight (O, C / groups, spatial...).
inline Tensor conv(
    const Operand &x, const Operand &weight, const Ints &strides = std::nullopt,
    const Ints &padding_low = std::nullopt, const Ints &padding_high = std::nullopt,
    const Ints &dilation = std::nullopt, const Ints &input_dilation = std::nullopt,
    std::int64_t groups = 1, Site at = Site::here()) {
  return detail::record<1>(
      "conv", {x.c(), weight.c()},
      {detail::attribute("strides", strides), detail::attribute("padding_low", padding_low), detail::attribute("padding_high", padding_high), detail::attribute("dilation", dilation), detail::attribute("input_dilation", input_dilation), detail::attribute("groups", groups)},
      at)[0];
}

// The derivative of conv with respect to its input, as an op: weight (C, O / groups, ...).
inline Tensor conv_transpose(
    const Operand &x, const Operand &weight, const Ints &strides = std::nullopt,
    const Ints &padding_low = std::nullopt, const Ints &padding_high = std::nullopt,
    const Ints &output_padding = std::nullopt, const Ints &dilation = std::nullopt,
    std::int64_t groups = 1, Site at = Site::here()) {
  return detail::record<1>(
      "conv_transpose", {x.c(), weight.c()},
      {detail::attribute("strides", strides), detail::attribute("padding_low", padding_low), detail::attribute("padding_high", padding_high), detail::attribute("output_padding", output_padding), detail::attribute("dilation", dilation), detail::attribute("groups", groups)},
      at)[0];
}

// x as a value of its own, for frontends that tell row-major copies from what they copy.
inline Tensor copy(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("copy", {x.c()}, {}, at)[0];
}

// The magnitude of x with the sign of y, zeros included. The gradient is 0 where x is.
inline Tensor copysign(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("copysign", {x.c(), y.c()}, {}, at)[0];
}

// Cosine of x in radians.
inline Tensor cos(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("cos", {x.c()}, {}, at)[0];
}

// Hyperbolic cosine.
inline Tensor cosh(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("cosh", {x.c()}, {}, at)[0];
}

// The number of elements that are not 0, as int64.
inline Tensor count_nonzero(
    const Operand &x, const Ints &axes = std::nullopt, bool keepdims = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "count_nonzero", {x.c()},
      {detail::attribute("axes", axes), detail::attribute("keepdims", keepdims)}, at)[0];
}

// The cross product of vectors of 3 elements along an axis; the other axes broadcast.
inline Tensor cross(
    const Operand &x, const Operand &y, std::int64_t axis = -1, Site at = Site::here()) {
  return detail::record<1>("cross", {x.c(), y.c()}, {detail::attribute("axis", axis)}, at)[0];
}

// -log_softmax(logits)[label], per element of labels.
inline Tensor cross_entropy(
    const Operand &logits, const Operand &labels, const Operand &weight = {},
    std::int64_t axis = -1, double label_smoothing = 0.0,
    std::optional<std::int64_t> ignore_index = -100, const char *reduction = "mean",
    Site at = Site::here()) {
  return detail::record<1>(
      "cross_entropy", {logits.c(), labels.c(), weight.c()},
      {detail::attribute("axis", axis), detail::attribute("label_smoothing", label_smoothing), detail::attribute("ignore_index", ignore_index), detail::attribute("reduction", reduction)},
      at)[0];
}

// -log of the probability of all alignments of a target with an input, for each of N.
inline Tensor ctc_loss(
    const Operand &log_probabilities, const Operand &targets, const Operand &input_lengths,
    const Operand &target_lengths, std::int64_t blank = 0, Site at = Site::here()) {
  return detail::record<1>(
      "ctc_loss", {log_probabilities.c(), targets.c(), input_lengths.c(), target_lengths.c()},
      {detail::attribute("blank", blank)}, at)[0];
}

// The largest element up to each one; NaN from the first NaN on.
inline Tensor cummax(
    const Operand &x, std::int64_t axis, bool reverse = false, Site at = Site::here()) {
  return detail::record<1>(
      "cummax", {x.c()}, {detail::attribute("axis", axis), detail::attribute("reverse", reverse)},
      at)[0];
}

// The smallest element up to each one; NaN from the first NaN on.
inline Tensor cummin(
    const Operand &x, std::int64_t axis, bool reverse = false, Site at = Site::here()) {
  return detail::record<1>(
      "cummin", {x.c()}, {detail::attribute("axis", axis), detail::attribute("reverse", reverse)},
      at)[0];
}

// The products of the elements up to each one; integers wrap.
inline Tensor cumprod(
    const Operand &x, std::int64_t axis, bool reverse = false, Site at = Site::here()) {
  return detail::record<1>(
      "cumprod", {x.c()},
      {detail::attribute("axis", axis), detail::attribute("reverse", reverse)}, at)[0];
}

// The sums of the elements up to each one; integers wrap.
inline Tensor cumsum(
    const Operand &x, std::int64_t axis, bool reverse = false, Site at = Site::here()) {
  return detail::record<1>(
      "cumsum", {x.c()}, {detail::attribute("axis", axis), detail::attribute("reverse", reverse)},
      at)[0];
}

// The first results operands; the others are what these were computed from.
// Gives the first of the operands
inline std::vector<Tensor> custom(
    const Operands &operands, std::int64_t results, Site at = Site::here()) {
  return detail::record_many(
      "custom", {}, operands, {detail::attribute("results", results)}, 9 + operands.size(), at);
}

// (x - zero_point) * scale, in the dtype of scale; x is int8, uint8 or int32.
inline Tensor dequantize(
    const Operand &x, const Operand &scale, const Operand &zero_point = {},
    std::optional<std::int64_t> axis = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "dequantize", {x.c(), scale.c(), zero_point.c()}, {detail::attribute("axis", axis)}, at)[0];
}

// The determinant of square matrices. Raises ShapeError, DTypeError.
inline Tensor det(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("det", {x.c()}, {}, at)[0];
}

// Square planes, zero but for the diagonal, which is the last axis of x.
inline Tensor diag_embed(
    const Operand &x, std::int64_t offset = 0, std::int64_t axis1 = -2, std::int64_t axis2 = -1,
    Site at = Site::here()) {
  return detail::record<1>(
      "diag_embed", {x.c()},
      {detail::attribute("offset", offset), detail::attribute("axis1", axis1), detail::attribute("axis2", axis2)},
      at)[0];
}

// The diagonals of the planes of two axes: those axes go, the diagonal comes last.
inline Tensor diagonal(
    const Operand &x, std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1,
    Site at = Site::here()) {
  return detail::record<1>(
      "diagonal", {x.c()},
      {detail::attribute("offset", offset), detail::attribute("axis1", axis1), detail::attribute("axis2", axis2)},
      at)[0];
}

// x with the elements that diagonal of the same attributes takes replaced.
inline Tensor diagonal_update(
    const Operand &x, const Operand &update, std::int64_t offset = 0, std::int64_t axis1 = 0,
    std::int64_t axis2 = 1, Site at = Site::here()) {
  return detail::record<1>(
      "diagonal_update", {x.c(), update.c()},
      {detail::attribute("offset", offset), detail::attribute("axis1", axis1), detail::attribute("axis2", axis2)},
      at)[0];
}

// The derivative of lgamma; infinite at 0, with the sign of -x.
inline Tensor digamma(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("digamma", {x.c()}, {}, at)[0];
}

// x / y, of floating-point or complex operands; by IEEE 754 for a zero y.
inline Tensor divide(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("divide", {x.c(), y.c()}, {}, at)[0];
}

// The sum of products over pairs of axes; pairs of batch axes stay, and come first.
inline Tensor dot_general(
    const Operand &x, const Operand &y, const Ints &lhs_contract, const Ints &rhs_contract,
    const Ints &lhs_batch = Ints(Shape()), const Ints &rhs_batch = Ints(Shape()),
    DType accumulate = DType::none, Site at = Site::here()) {
  return detail::record<1>(
      "dot_general", {x.c(), y.c()},
      {detail::attribute("lhs_contract", lhs_contract), detail::attribute("rhs_contract", rhs_contract), detail::attribute("lhs_batch", lhs_batch), detail::attribute("rhs_batch", rhs_batch), detail::attribute("accumulate", accumulate)},
      at)[0];
}

// x with each element zero with probability rate, and divided by 1 - rate else.
inline Tensor dropout(const Operand &x, const Operand &key, double rate, Site at = Site::here()) {
  return detail::record<1>("dropout", {x.c(), key.c()}, {detail::attribute("rate", rate)}, at)[0];
}

// A block of attribute sizes that begins at the 0-d operands starts.
inline Tensor dynamic_slice(
    const Operand &x, const Operands &starts, const Ints &sizes, Site at = Site::here()) {
  return detail::record_many(
      "dynamic_slice", {x.c()}, starts, {detail::attribute("sizes", sizes)}, 1, at)[0];
}

// x with the block that begins at the 0-d operands starts replaced by update.
inline Tensor dynamic_update_slice(
    const Operand &x, const Operand &update, const Operands &starts, Site at = Site::here()) {
  return detail::record_many("dynamic_update_slice", {x.c(), update.c()}, starts, {}, 1, at)[0];
}

// Eigenvalues of square matrices, and eigenvectors as columns; both complex.
// Gives eigenvalues, eigenvectors.
inline std::array<Tensor, 2> eig(const Operand &x, Site at = Site::here()) {
  return detail::record<2>("eig", {x.c()}, {}, at);
}

// Ascending eigenvalues of Hermitian matrices, and eigenvectors as columns.
// Gives eigenvalues, eigenvectors.
inline std::array<Tensor, 2> eigh(const Operand &x, bool upper = false, Site at = Site::here()) {
  return detail::record<2>("eigh", {x.c()}, {detail::attribute("upper", upper)}, at);
}

// Eigenvalues of square matrices, complex; see eig.
inline Tensor eigvals(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("eigvals", {x.c()}, {}, at)[0];
}

// Ascending eigenvalues of Hermitian matrices; see eigh.
inline Tensor eigvalsh(const Operand &x, bool upper = false, Site at = Site::here()) {
  return detail::record<1>("eigvalsh", {x.c()}, {detail::attribute("upper", upper)}, at)[0];
}

// Einstein's sum: letters name axes, letters that the result lacks are summed over.
inline Tensor einsum(const Operands &xs, const char *equation, Site at = Site::here()) {
  return detail::record_many(
      "einsum", {}, xs, {detail::attribute("equation", equation)}, 1, at)[0];
}

// x for x > 0, alpha * (exp(x) - 1) elsewhere.
inline Tensor elu(const Operand &x, double alpha = 1.0, Site at = Site::here()) {
  return detail::record<1>("elu", {x.c()}, {detail::attribute("alpha", alpha)}, at)[0];
}

// The rows of weight (rows, features) at indices, of any shape.
inline Tensor embedding(
    const Operand &weight, const Operand &indices,
    std::optional<std::int64_t> padding_index = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "embedding", {weight.c(), indices.c()}, {detail::attribute("padding_index", padding_index)},
      at)[0];
}

// -x log(x), 0 at 0 and -inf below.
inline Tensor entr(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("entr", {x.c()}, {}, at)[0];
}

// x == y.
inline Tensor equal(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("equal", {x.c(), y.c()}, {}, at)[0];
}

// The error function.
inline Tensor erf(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("erf", {x.c()}, {}, at)[0];
}

// 1 - erf(x), accurate for large x.
inline Tensor erfc(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("erfc", {x.c()}, {}, at)[0];
}

// exp(x * x) erfc(x), without underflow for large x.
inline Tensor erfcx(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("erfcx", {x.c()}, {}, at)[0];
}

// The inverse of erf; infinite at -1 and 1.
inline Tensor erfinv(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("erfinv", {x.c()}, {}, at)[0];
}

// e ** x.
inline Tensor exp(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("exp", {x.c()}, {}, at)[0];
}

// 2 ** x; exact where x is an integer and the result is normal.
inline Tensor exp2(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("exp2", {x.c()}, {}, at)[0];
}

// x with axes of size 1 put in, at these positions of the result.
inline Tensor expand_dims(const Operand &x, const Ints &axes, Site at = Site::here()) {
  return detail::record<1>("expand_dims", {x.c()}, {detail::attribute("axes", axes)}, at)[0];
}

// e ** x - 1, accurate near 0.
inline Tensor expm1(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("expm1", {x.c()}, {}, at)[0];
}

// An n by m (n by n for None) matrix with ones on diagonal k and zeros elsewhere.
inline Tensor eye(
    std::int64_t n, DType dtype, std::optional<std::int64_t> m = std::nullopt, std::int64_t k = 0,
    Site at = Site::here()) {
  return detail::record<1>(
      "eye", {},
      {detail::attribute("n", n), detail::attribute("dtype", dtype), detail::attribute("m", m), detail::attribute("k", k)},
      at)[0];
}

// What x becomes by quantisation to the integers low to high and back.
inline Tensor fake_quantize(
    const Operand &x, const Operand &scale, const Operand &zero_point, std::int64_t low,
    std::int64_t high, std::optional<std::int64_t> axis = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "fake_quantize", {x.c(), scale.c(), zero_point.c()},
      {detail::attribute("low", low), detail::attribute("high", high), detail::attribute("axis", axis)},
      at)[0];
}

// The discrete Fourier transform along the axes, or the inverse one.
inline Tensor fft(
    const Operand &x, const Ints &axes, bool inverse = false, const char *norm = "backward",
    Site at = Site::here()) {
  return detail::record<1>(
      "fft", {x.c()},
      {detail::attribute("axes", axes), detail::attribute("inverse", inverse), detail::attribute("norm", norm)},
      at)[0];
}

// One of the labels that is neither in 0 .. size - 1 nor ignore_index, int64; or 0.
inline Tensor first_invalid_label(
    const Operand &labels, std::int64_t size, std::optional<std::int64_t> ignore_index = -100,
    Site at = Site::here()) {
  return detail::record<1>(
      "first_invalid_label", {labels.c()},
      {detail::attribute("size", size), detail::attribute("ignore_index", ignore_index)}, at)[0];
}

// One of the indices that is not in -size .. size - 1, int64; 0 where all are.
inline Tensor first_out_of_range(
    const Operand &indices, std::int64_t size, bool negative = true, Site at = Site::here()) {
  return detail::record<1>(
      "first_out_of_range", {indices.c()},
      {detail::attribute("size", size), detail::attribute("negative", negative)}, at)[0];
}

// The first size positions (int64), in row-major order, where x is not zero.
inline Tensor flat_nonzero(const Operand &x, std::int64_t size, Site at = Site::here()) {
  return detail::record<1>("flat_nonzero", {x.c()}, {detail::attribute("size", size)}, at)[0];
}

// x with the order along these axes (all of them if None) reversed.
inline Tensor flip(const Operand &x, const Ints &axes = std::nullopt, Site at = Site::here()) {
  return detail::record<1>("flip", {x.c()}, {detail::attribute("axes", axes)}, at)[0];
}

// Which floating-point exceptions a function met: 1 divide by zero, 2 overflow, 4 underflow, 8
// invalid, added up, uint8.
inline Tensor float_status(
    const Operand &result, const Operands &operands, const char *function, Site at = Site::here()) {
  return detail::record_many(
      "float_status", {result.c()}, operands, {detail::attribute("function", function)}, 1, at)[0];
}

// The largest integer not above x.
inline Tensor floor(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("floor", {x.c()}, {}, at)[0];
}

// x // y, rounded down.
inline Tensor floor_divide(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("floor_divide", {x.c(), y.c()}, {}, at)[0];
}

// The larger of x and y; the other one where one of them is NaN. At ties x has the gradient.
inline Tensor fmax(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("fmax", {x.c(), y.c()}, {}, at)[0];
}

// The smaller of x and y; the other one where one of them is NaN. At ties x has the gradient.
inline Tensor fmin(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("fmin", {x.c(), y.c()}, {}, at)[0];
}

// The remainder of x / y with the sign of x. Integers give 0 where y is 0.
inline Tensor fmod(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("fmod", {x.c(), y.c()}, {}, at)[0];
}

// f(f(x0, x1), x2) ... along an axis, from the first element to the last.
inline Tensor fold(
    const Operand &x, const char *function, std::int64_t axis, Site at = Site::here()) {
  return detail::record<1>(
      "fold", {x.c()}, {detail::attribute("function", function), detail::attribute("axis", axis)},
      at)[0];
}

// A tensor of that shape, every element the 0-d value, of its dtype.
inline Tensor full(const Operand &value, const Ints &shape, Site at = Site::here()) {
  return detail::record<1>("full", {value.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// The regularised lower incomplete gamma function, for a and x from 0 on.
inline Tensor gammainc(const Operand &a, const Operand &x, Site at = Site::here()) {
  return detail::record<1>("gammainc", {a.c(), x.c()}, {}, at)[0];
}

// 1 - gammainc(a, x), accurate where it is small.
inline Tensor gammaincc(const Operand &a, const Operand &x, Site at = Site::here()) {
  return detail::record<1>("gammaincc", {a.c(), x.c()}, {}, at)[0];
}

// The greatest common divisor of |x| and |y|; gcd(0, 0) is 0.
inline Tensor gcd(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("gcd", {x.c(), y.c()}, {}, at)[0];
}

// x times the normal distribution function of x; approximate "none" or "tanh".
inline Tensor gelu(const Operand &x, const char *approximate = "none", Site at = Site::here()) {
  return detail::record<1>(
      "gelu", {x.c()}, {detail::attribute("approximate", approximate)}, at)[0];
}

// x > y.
inline Tensor greater(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("greater", {x.c(), y.c()}, {}, at)[0];
}

// x >= y.
inline Tensor greater_equal(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("greater_equal", {x.c(), y.c()}, {}, at)[0];
}

// x (N, C, H, W) or (N, C, D, H, W) at the places of grid (N, ..., 2 or 3).
inline Tensor grid_sample(
    const Operand &x, const Operand &grid, const char *mode = "bilinear",
    const char *padding = "zeros", bool align_corners = false, Site at = Site::here()) {
  return detail::record<1>(
      "grid_sample", {x.c(), grid.c()},
      {detail::attribute("mode", mode), detail::attribute("padding", padding), detail::attribute("align_corners", align_corners)},
      at)[0];
}

// Channels (axis 1) in groups; each group of each sample gets mean 0 and variance 1.
inline Tensor group_norm(
    const Operand &x, const Operand &weight, const Operand &bias, std::int64_t groups,
    double eps = 1e-05, Site at = Site::here()) {
  return detail::record<1>(
      "group_norm", {x.c(), weight.c(), bias.c()},
      {detail::attribute("groups", groups), detail::attribute("eps", eps)}, at)[0];
}

// A gated recurrent unit for each step in turn: h' = n + z * (h - n).
// Gives output, state.
inline std::array<Tensor, 2> gru(
    const Operand &x, const Operand &h, const Operand &w_input, const Operand &w_hidden,
    const Operand &b_input = {}, const Operand &b_hidden = {}, const Operand &lengths = {},
    bool reverse = false, Site at = Site::here()) {
  return detail::record<2>(
      "gru", {x.c(), h.c(), w_input.c(), w_hidden.c(), b_input.c(), b_hidden.c(), lengths.c()},
      {detail::attribute("reverse", reverse)}, at);
}

// x, but 0 where |x| <= lambd. The gradient at NaN is 0.
inline Tensor hardshrink(const Operand &x, double lambd = 0.5, Site at = Site::here()) {
  return detail::record<1>("hardshrink", {x.c()}, {detail::attribute("lambd", lambd)}, at)[0];
}

// relu6(x + 3) / 6.
inline Tensor hardsigmoid(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("hardsigmoid", {x.c()}, {}, at)[0];
}

// x * relu6(x + 3) / 6. The gradient is 0 up to -3, and 1 from 3 on and at NaN.
inline Tensor hardswish(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("hardswish", {x.c()}, {}, at)[0];
}

// x limited to [min, max]. The gradient at the limits is 0.
inline Tensor hardtanh(
    const Operand &x, double min = -1.0, double max = 1.0, Site at = Site::here()) {
  return detail::record<1>(
      "hardtanh", {x.c()}, {detail::attribute("min", min), detail::attribute("max", max)}, at)[0];
}

// 0 for negative x, 1 for positive x, y where x is 0, NaN for NaN.
inline Tensor heaviside(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("heaviside", {x.c(), y.c()}, {}, at)[0];
}

// The first n columns of a product of reflections I - tau_i v_i v_i^H.
inline Tensor householder_product(const Operand &a, const Operand &taus, Site at = Site::here()) {
  return detail::record<1>("householder_product", {a.c(), taus.c()}, {}, at)[0];
}

// d**2 / 2 where d = abs(x - target) is below delta, else delta * (d - delta / 2).
inline Tensor huber_loss(
    const Operand &x, const Operand &target, double delta = 1.0, const char *reduction = "mean",
    Site at = Site::here()) {
  return detail::record<1>(
      "huber_loss", {x.c(), target.c()},
      {detail::attribute("delta", delta), detail::attribute("reduction", reduction)}, at)[0];
}

// sqrt(x*x + y*y) without overflow, infinite if x or y is. The gradient at (0, 0) is 0, and
// where the result is infinite.
inline Tensor hypot(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("hypot", {x.c(), y.c()}, {}, at)[0];
}

// x itself, as a value of its own. The gradient passes through.
inline Tensor identity(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("identity", {x.c()}, {}, at)[0];
}

// The imaginary part, of the real dtype; 0 if x is real.
inline Tensor imag(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("imag", {x.c()}, {}, at)[0];
}

// The elements of x at broadcast indices, one operand for each of axes.
inline Tensor index(
    const Operand &x, const Operands &indices, const Ints &axes, Site at = Site::here()) {
  return detail::record_many(
      "index", {x.c()}, indices, {detail::attribute("axes", axes)}, 1, at)[0];
}

// x with the elements that index of the same indices takes changed.
inline Tensor index_update(
    const Operand &x, const Operand &value, const Operands &indices, const Ints &axes,
    const char *mode = "set", Site at = Site::here()) {
  return detail::record_many(
      "index_update", {x.c(), value.c()}, indices,
      {detail::attribute("axes", axes), detail::attribute("mode", mode)}, 1, at)[0];
}

// x ** exponent for an integer known beforehand, by repeated multiplication.
inline Tensor integer_power(const Operand &x, std::int64_t exponent, Site at = Site::here()) {
  return detail::record<1>(
      "integer_power", {x.c()}, {detail::attribute("exponent", exponent)}, at)[0];
}

// The inverse of square matrices; solve is faster and more exact where it serves.
inline Tensor inv(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("inv", {x.c()}, {}, at)[0];
}

// A tensor whose elements are their own index along axis.
inline Tensor iota(
    const Ints &shape, DType dtype, std::int64_t axis = 0, Site at = Site::here()) {
  return detail::record<1>(
      "iota", {},
      {detail::attribute("shape", shape), detail::attribute("dtype", dtype), detail::attribute("axis", axis)},
      at)[0];
}

// The inverse of rfft: real numbers, length along the last of the axes.
inline Tensor irfft(
    const Operand &x, const Ints &axes, std::int64_t length, const char *norm = "backward",
    Site at = Site::here()) {
  return detail::record<1>(
      "irfft", {x.c()},
      {detail::attribute("axes", axes), detail::attribute("length", length), detail::attribute("norm", norm)},
      at)[0];
}

// Whether elimination finds a pivot that is exactly 0, for each square matrix.
inline Tensor is_singular(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("is_singular", {x.c()}, {}, at)[0];
}

// Whether x, with all its parts, is neither infinite nor NaN.
inline Tensor isfinite(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("isfinite", {x.c()}, {}, at)[0];
}

// Whether x, or a part of it, is infinite.
inline Tensor isinf(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("isinf", {x.c()}, {}, at)[0];
}

// Whether x, or a part of it, is NaN.
inline Tensor isnan(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("isnan", {x.c()}, {}, at)[0];
}

// target * (log(target) - x), where x holds log-probabilities; 0 where target is 0.
inline Tensor kl_div(
    const Operand &x, const Operand &target, bool log_target = false,
    const char *reduction = "mean", Site at = Site::here()) {
  return detail::record<1>(
      "kl_div", {x.c(), target.c()},
      {detail::attribute("log_target", log_target), detail::attribute("reduction", reduction)}, at)[0];
}

// Kronecker's product: each element of x times the whole of y, side by side.
inline Tensor kron(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("kron", {x.c(), y.c()}, {}, at)[0];
}

// abs(x - target); the derivative is 0 where both are equal.
inline Tensor l1_loss(
    const Operand &x, const Operand &target, const char *reduction = "mean",
    Site at = Site::here()) {
  return detail::record<1>(
      "l1_loss", {x.c(), target.c()}, {detail::attribute("reduction", reduction)}, at)[0];
}

// (x - mean) / sqrt(var + eps) * weight + bias over the last normalized_ndim axes.
inline Tensor layer_norm(
    const Operand &x, const Operand &weight = {}, const Operand &bias = {},
    std::int64_t normalized_ndim = 1, double eps = 1e-05, Site at = Site::here()) {
  return detail::record<1>(
      "layer_norm", {x.c(), weight.c(), bias.c()},
      {detail::attribute("normalized_ndim", normalized_ndim), detail::attribute("eps", eps)}, at)[0];
}

// Minus the product of the gradient and the inverse Hessian that L-BFGS estimates.
inline Tensor lbfgs_direction(
    const Operand &scale, const Operand &gradient, const Operands &history, Site at = Site::here()) {
  return detail::record_many("lbfgs_direction", {scale.c(), gradient.c()}, history, {}, 1, at)[0];
}

// The least common multiple of |x| and |y|; 0 if either is 0.
inline Tensor lcm(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("lcm", {x.c(), y.c()}, {}, at)[0];
}

// x * 2**exponent, exact unless the result overflows or underflows.
inline Tensor ldexp(const Operand &x, const Operand &exponent, Site at = Site::here()) {
  return detail::record<1>("ldexp", {x.c(), exponent.c()}, {}, at)[0];
}

// x for x > 0, negative_slope * x elsewhere.
inline Tensor leaky_relu(const Operand &x, double negative_slope = 0.01, Site at = Site::here()) {
  return detail::record<1>(
      "leaky_relu", {x.c()}, {detail::attribute("negative_slope", negative_slope)}, at)[0];
}

// x + weight * (y - x), computed from the nearer end so that weight 1 gives y.
inline Tensor lerp(
    const Operand &x, const Operand &y, const Operand &weight, Site at = Site::here()) {
  return detail::record<1>("lerp", {x.c(), y.c(), weight.c()}, {}, at)[0];
}

// x < y.
inline Tensor less(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("less", {x.c(), y.c()}, {}, at)[0];
}

// x <= y.
inline Tensor less_equal(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("less_equal", {x.c(), y.c()}, {}, at)[0];
}

// The logarithm of the absolute value of the gamma function.
inline Tensor lgamma(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("lgamma", {x.c()}, {}, at)[0];
}

// num evenly spaced numbers from start to stop, which endpoint includes.
inline Tensor linspace(
    const Operand &start, const Operand &stop, std::int64_t num, bool endpoint = true,
    Site at = Site::here()) {
  return detail::record<1>(
      "linspace", {start.c(), stop.c()},
      {detail::attribute("num", num), detail::attribute("endpoint", endpoint)}, at)[0];
}

// Natural logarithm; -inf at 0, NaN for negative real x.
inline Tensor log(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("log", {x.c()}, {}, at)[0];
}

// Logarithm to base 10.
inline Tensor log10(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("log10", {x.c()}, {}, at)[0];
}

// log(1 + x), accurate near 0.
inline Tensor log1p(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("log1p", {x.c()}, {}, at)[0];
}

// Logarithm to base 2.
inline Tensor log2(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("log2", {x.c()}, {}, at)[0];
}

// The logarithm of the normal distribution function, accurate where that is tiny.
inline Tensor log_ndtr(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("log_ndtr", {x.c()}, {}, at)[0];
}

// log(sigmoid(x)) without underflow.
inline Tensor log_sigmoid(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("log_sigmoid", {x.c()}, {}, at)[0];
}

// x minus the logarithm of the sum of exp(x) along an axis, without overflow.
inline Tensor log_softmax(const Operand &x, std::int64_t axis = -1, Site at = Site::here()) {
  return detail::record<1>("log_softmax", {x.c()}, {detail::attribute("axis", axis)}, at)[0];
}

// log(exp(x) + exp(y)) without overflow.
inline Tensor logaddexp(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("logaddexp", {x.c(), y.c()}, {}, at)[0];
}

// log2(2**x + 2**y) without overflow.
inline Tensor logaddexp2(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("logaddexp2", {x.c(), y.c()}, {}, at)[0];
}

// log(cumsum(exp(x))) without overflow, with the principal logarithm.
inline Tensor logcumsumexp(
    const Operand &x, std::int64_t axis, bool reverse = false, Site at = Site::here()) {
  return detail::record<1>(
      "logcumsumexp", {x.c()},
      {detail::attribute("axis", axis), detail::attribute("reverse", reverse)}, at)[0];
}

// Whether x and y are both not zero.
inline Tensor logical_and(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("logical_and", {x.c(), y.c()}, {}, at)[0];
}

// Whether x is zero.
inline Tensor logical_not(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("logical_not", {x.c()}, {}, at)[0];
}

// Whether x or y is not zero.
inline Tensor logical_or(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("logical_or", {x.c(), y.c()}, {}, at)[0];
}

// Whether exactly one of x and y is not zero.
inline Tensor logical_xor(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("logical_xor", {x.c(), y.c()}, {}, at)[0];
}

// log(x / (1 - x)), infinite at 0 and 1, where the gradient is too; NaN outside of [0, 1].
inline Tensor logit(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("logit", {x.c()}, {}, at)[0];
}

// log(sum(exp(x))) without overflow, with the principal logarithm; -inf of no element.
inline Tensor logsumexp(
    const Operand &x, const Ints &axes = std::nullopt, bool keepdims = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "logsumexp", {x.c()},
      {detail::attribute("axes", axes), detail::attribute("keepdims", keepdims)}, at)[0];
}

// Long short-term memory for each step in turn: c' = f * c + i * g, h' = o * tanh(c').
// Gives output, state, cell.
inline std::array<Tensor, 3> lstm(
    const Operand &x, const Operand &h, const Operand &c, const Operand &w_input,
    const Operand &w_hidden, const Operand &b_input = {}, const Operand &b_hidden = {},
    const Operand &w_project = {}, const Operand &lengths = {}, bool reverse = false,
    Site at = Site::here()) {
  return detail::record<3>(
      "lstm",
      {x.c(), h.c(), c.c(), w_input.c(), w_hidden.c(), b_input.c(), b_hidden.c(), w_project.c(), lengths.c()},
      {detail::attribute("reverse", reverse)}, at);
}

// The factors of P @ x = L @ U in one matrix, and the exchanges of rows.
// Gives lu, pivots.
inline std::array<Tensor, 2> lu_factor(const Operand &x, Site at = Site::here()) {
  return detail::record<2>("lu_factor", {x.c()}, {}, at);
}

// x where mask is false, value where it is true; both broadcast to x.
inline Tensor masked_fill(
    const Operand &x, const Operand &mask, const Operand &value, Site at = Site::here()) {
  return detail::record<1>("masked_fill", {x.c(), mask.c(), value.c()}, {}, at)[0];
}

// The matrix product (..., m, k) @ (..., k, n) -> (..., m, n).
inline Tensor matmul(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("matmul", {x.c(), y.c()}, {}, at)[0];
}

// The exponential of square matrices. Raises ShapeError, DTypeError.
inline Tensor matrix_exp(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("matrix_exp", {x.c()}, {}, at)[0];
}

// Square matrices multiplied by themselves; the inverse for a negative exponent.
inline Tensor matrix_power(const Operand &x, std::int64_t exponent, Site at = Site::here()) {
  return detail::record<1>(
      "matrix_power", {x.c()}, {detail::attribute("exponent", exponent)}, at)[0];
}

// The largest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.
inline Tensor max(
    const Operand &x, const Ints &axes = std::nullopt, bool keepdims = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "max", {x.c()}, {detail::attribute("axes", axes), detail::attribute("keepdims", keepdims)},
      at)[0];
}

// The largest element in each place of a window that moves over the last axes.
inline Tensor max_pool(
    const Operand &x, const Ints &window, const Ints &strides = std::nullopt,
    const Ints &padding_low = std::nullopt, const Ints &padding_high = std::nullopt,
    const Ints &dilation = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "max_pool", {x.c()},
      {detail::attribute("window", window), detail::attribute("strides", strides), detail::attribute("padding_low", padding_low), detail::attribute("padding_high", padding_high), detail::attribute("dilation", dilation)},
      at)[0];
}

// Where max_pool finds its results: positions (int64) in the axes moved over, flat.
inline Tensor max_pool_indices(
    const Operand &x, const Ints &window, const Ints &strides = std::nullopt,
    const Ints &padding_low = std::nullopt, const Ints &padding_high = std::nullopt,
    const Ints &dilation = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "max_pool_indices", {x.c()},
      {detail::attribute("window", window), detail::attribute("strides", strides), detail::attribute("padding_low", padding_low), detail::attribute("padding_high", padding_high), detail::attribute("dilation", dilation)},
      at)[0];
}

// The larger of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
// each gets all of it.
inline Tensor maximum(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("maximum", {x.c(), y.c()}, {}, at)[0];
}

// The arithmetic mean; NaN of no element.
inline Tensor mean(
    const Operand &x, const Ints &axes = std::nullopt, bool keepdims = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "mean", {x.c()}, {detail::attribute("axes", axes), detail::attribute("keepdims", keepdims)},
      at)[0];
}

// The smallest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.
inline Tensor min(
    const Operand &x, const Ints &axes = std::nullopt, bool keepdims = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "min", {x.c()}, {detail::attribute("axes", axes), detail::attribute("keepdims", keepdims)},
      at)[0];
}

// The smaller of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
// each gets all of it.
inline Tensor minimum(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("minimum", {x.c(), y.c()}, {}, at)[0];
}

// x * tanh(log(1 + exp(x))).
inline Tensor mish(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("mish", {x.c()}, {}, at)[0];
}

// x with axis source[i] at position destination[i], the others in order.
inline Tensor moveaxis(
    const Operand &x, const Ints &source, const Ints &destination, Site at = Site::here()) {
  return detail::record<1>(
      "moveaxis", {x.c()},
      {detail::attribute("source", source), detail::attribute("destination", destination)}, at)[0];
}

// (x - target) ** 2. Raises ShapeError, ArgumentError.
inline Tensor mse_loss(
    const Operand &x, const Operand &target, const char *reduction = "mean",
    Site at = Site::here()) {
  return detail::record<1>(
      "mse_loss", {x.c(), target.c()}, {detail::attribute("reduction", reduction)}, at)[0];
}

// x * y. For bool, logical and, as in NumPy.
inline Tensor multiply(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("multiply", {x.c(), y.c()}, {}, at)[0];
}

// x with NaN and infinities replaced; infinities by the largest numbers for None.
inline Tensor nan_to_num(
    const Operand &x, double nan = 0.0, std::optional<double> posinf = std::nullopt,
    std::optional<double> neginf = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "nan_to_num", {x.c()},
      {detail::attribute("nan", nan), detail::attribute("posinf", posinf), detail::attribute("neginf", neginf)},
      at)[0];
}

// The inverse of the normal distribution function; infinite at 0 and 1, NaN outside.
inline Tensor ndtri(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("ndtri", {x.c()}, {}, at)[0];
}

// -x; unsigned integers wrap.
inline Tensor negative(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("negative", {x.c()}, {}, at)[0];
}

// The next number after x in the direction of y.
inline Tensor nextafter(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("nextafter", {x.c(), y.c()}, {}, at)[0];
}

// -log_probabilities[label], per element of labels; else as cross_entropy.
inline Tensor nll_loss(
    const Operand &log_probabilities, const Operand &labels, const Operand &weight = {},
    std::int64_t axis = -1, std::optional<std::int64_t> ignore_index = -100,
    const char *reduction = "mean", Site at = Site::here()) {
  return detail::record<1>(
      "nll_loss", {log_probabilities.c(), labels.c(), weight.c()},
      {detail::attribute("axis", axis), detail::attribute("ignore_index", ignore_index), detail::attribute("reduction", reduction)},
      at)[0];
}

// The vector norm sum(|x|**order)**(1/order).
inline Tensor norm(
    const Operand &x, const Ints &axes = std::nullopt, double order = 2.0, bool keepdims = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "norm", {x.c()},
      {detail::attribute("axes", axes), detail::attribute("order", order), detail::attribute("keepdims", keepdims)},
      at)[0];
}

// x != y.
inline Tensor not_equal(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("not_equal", {x.c(), y.c()}, {}, at)[0];
}

// A new last axis of size depth: one at the index, zero elsewhere.
inline Tensor one_hot(
    const Operand &indices, std::int64_t depth, DType dtype, Site at = Site::here()) {
  return detail::record<1>(
      "one_hot", {indices.c()},
      {detail::attribute("depth", depth), detail::attribute("dtype", dtype)}, at)[0];
}

// The polynomial of degree n (rounded towards zero) of Hermite (kind "hermite_h", or
// "hermite_he" of the probabilists), Laguerre ("laguerre_l") or Legendre ("legendre_p"); 0 for a
// negative degree.
inline Tensor orthogonal_polynomial(
    const Operand &x, const Operand &n, const char *kind, Site at = Site::here()) {
  return detail::record<1>(
      "orthogonal_polynomial", {x.c(), n.c()}, {detail::attribute("kind", kind)}, at)[0];
}

// All products of an element of x and one of y: the axes of x, then those of y.
inline Tensor outer(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("outer", {x.c(), y.c()}, {}, at)[0];
}

// x with value (0-d) before, after and between its elements, counts per axis.
inline Tensor pad(
    const Operand &x, const Operand &value, const Ints &low, const Ints &high,
    const Ints &interior = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "pad", {x.c(), value.c()},
      {detail::attribute("low", low), detail::attribute("high", high), detail::attribute("interior", interior)},
      at)[0];
}

// The elements that a window sees in each of its places, as it moves over the last axes.
inline Tensor patches(
    const Operand &x, const Ints &window, const Ints &strides = std::nullopt,
    const Ints &padding_low = std::nullopt, const Ints &padding_high = std::nullopt,
    const Ints &dilation = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "patches", {x.c()},
      {detail::attribute("window", window), detail::attribute("strides", strides), detail::attribute("padding_low", padding_low), detail::attribute("padding_high", padding_high), detail::attribute("dilation", dilation)},
      at)[0];
}

// The transpose of patches: each element of an array of last axes sizes is the sum of what x
// holds for it in the windows that see it.
inline Tensor patches_sum(
    const Operand &x, const Ints &sizes, const Ints &window, const Ints &strides = std::nullopt,
    const Ints &padding_low = std::nullopt, const Ints &padding_high = std::nullopt,
    const Ints &dilation = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "patches_sum", {x.c()},
      {detail::attribute("sizes", sizes), detail::attribute("window", window), detail::attribute("strides", strides), detail::attribute("padding_low", padding_low), detail::attribute("padding_high", padding_high), detail::attribute("dilation", dilation)},
      at)[0];
}

// The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
inline Tensor pinv(const Operand &x, double rtol = 1e-15, Site at = Site::here()) {
  return detail::record<1>("pinv", {x.c()}, {detail::attribute("rtol", rtol)}, at)[0];
}

// The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
inline Tensor pinv_within(
    const Operand &x, const Operand &atol, const Operand &rtol, bool hermitian = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "pinv_within", {x.c(), atol.c(), rtol.c()}, {detail::attribute("hermitian", hermitian)}, at)[0];
}

// Where each of size rows comes from after the exchanges of lu_factor; int32.
inline Tensor pivots_to_permutation(
    const Operand &pivots, std::int64_t size, Site at = Site::here()) {
  return detail::record<1>(
      "pivots_to_permutation", {pivots.c()}, {detail::attribute("size", size)}, at)[0];
}

// x on the devices, and divided over them, that the text of a placement names.
inline Tensor place(
    const Operand &x, const char *placement = "default:0/whole/row-major/device",
    Site at = Site::here()) {
  return detail::record<1>("place", {x.c()}, {detail::attribute("placement", placement)}, at)[0];
}

// Derivative number order of digamma; infinite at 0 and, of order 1 and more, at the negative
// integers.
inline Tensor polygamma(const Operand &x, std::int64_t order, Site at = Site::here()) {
  return detail::record<1>("polygamma", {x.c()}, {detail::attribute("order", order)}, at)[0];
}

// The number of one bits of x in two's complement, of the dtype of x.
inline Tensor population_count(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("population_count", {x.c()}, {}, at)[0];
}

// +x, which is x.
inline Tensor positive(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("positive", {x.c()}, {}, at)[0];
}

// x ** y.
inline Tensor power(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("power", {x.c(), y.c()}, {}, at)[0];
}

// x for x > 0, slope * x elsewhere; the slope is an operand and gets a gradient.
inline Tensor prelu(const Operand &x, const Operand &slope, Site at = Site::here()) {
  return detail::record<1>("prelu", {x.c(), slope.c()}, {}, at)[0];
}

// The product of the elements, cast to dtype first if that is given; 1 of none.
inline Tensor prod(
    const Operand &x, const Ints &axes = std::nullopt, DType dtype = DType::none,
    bool keepdims = false, Site at = Site::here()) {
  return detail::record<1>(
      "prod", {x.c()},
      {detail::attribute("axes", axes), detail::attribute("dtype", dtype), detail::attribute("keepdims", keepdims)},
      at)[0];
}

// x (..., m, n) as a product of q with orthonormal columns and upper triangular r.
// Gives q, r.
inline std::array<Tensor, 2> qr(
    const Operand &x, const char *mode = "reduced", Site at = Site::here()) {
  return detail::record<2>("qr", {x.c()}, {detail::attribute("mode", mode)}, at);
}

// The factors of qr as LAPACK keeps them, the first transposed.
// Gives h, tau.
inline std::array<Tensor, 2> qr_raw(const Operand &x, Site at = Site::here()) {
  return detail::record<2>("qr_raw", {x.c()}, {}, at);
}

// x / scale, rounded, plus zero_point, as dtype, int8 or uint8.
inline Tensor quantize(
    const Operand &x, const Operand &scale, const Operand &zero_point, DType dtype,
    std::optional<std::int64_t> axis = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "quantize", {x.c(), scale.c(), zero_point.c()},
      {detail::attribute("dtype", dtype), detail::attribute("axis", axis)}, at)[0];
}

// True with probability p.
inline Tensor random_bernoulli(
    const Operand &key, const Operand &p, const Ints &shape, Site at = Site::here()) {
  return detail::record<1>(
      "random_bernoulli", {key.c(), p.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// Beta numbers of parameters a and b.
inline Tensor random_beta(
    const Operand &key, const Operand &a, const Operand &b, const Ints &shape,
    Site at = Site::here()) {
  return detail::record<1>(
      "random_beta", {key.c(), a.c(), b.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// Numbers (int64) of successes of probability p in n trials, n rounded down.
inline Tensor random_binomial(
    const Operand &key, const Operand &n, const Operand &p, const Ints &shape,
    Site at = Site::here()) {
  return detail::record<1>(
      "random_binomial", {key.c(), n.c(), p.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// Unsigned integers, every bit of which is random.
inline Tensor random_bits(
    const Operand &key, const Ints &shape, DType dtype = DType::uint32, Site at = Site::here()) {
  return detail::record<1>(
      "random_bits", {key.c()},
      {detail::attribute("shape", shape), detail::attribute("dtype", dtype)}, at)[0];
}

// Indices (int64) into the last axis of logits, of probability softmax(logits).
inline Tensor random_categorical(
    const Operand &key, const Operand &logits, const Ints &shape, Site at = Site::here()) {
  return detail::record<1>(
      "random_categorical", {key.c(), logits.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// Cauchy numbers of location 0 and scale 1.
inline Tensor random_cauchy(
    const Operand &key, const Ints &shape, DType dtype = DType::float32, Site at = Site::here()) {
  return detail::record<1>(
      "random_cauchy", {key.c()},
      {detail::attribute("shape", shape), detail::attribute("dtype", dtype)}, at)[0];
}

// Exponential numbers of mean 1.
inline Tensor random_exponential(
    const Operand &key, const Ints &shape, DType dtype = DType::float32, Site at = Site::here()) {
  return detail::record<1>(
      "random_exponential", {key.c()},
      {detail::attribute("shape", shape), detail::attribute("dtype", dtype)}, at)[0];
}

// A key made of a key and a 0-d integer (its low 32 bits), such as a step's number.
inline Tensor random_fold_in(const Operand &key, const Operand &data, Site at = Site::here()) {
  return detail::record<1>("random_fold_in", {key.c(), data.c()}, {}, at)[0];
}

// Gamma numbers of shape parameter a and scale 1. There is no second derivative.
inline Tensor random_gamma(
    const Operand &key, const Operand &a, const Ints &shape, Site at = Site::here()) {
  return detail::record<1>(
      "random_gamma", {key.c(), a.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// The number (int64) of trials up to the first success of probability p, 1 or more.
inline Tensor random_geometric(
    const Operand &key, const Operand &p, const Ints &shape, Site at = Site::here()) {
  return detail::record<1>(
      "random_geometric", {key.c(), p.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// Gumbel numbers of location 0 and scale 1.
inline Tensor random_gumbel(
    const Operand &key, const Ints &shape, DType dtype = DType::float32, Site at = Site::here()) {
  return detail::record<1>(
      "random_gumbel", {key.c()},
      {detail::attribute("shape", shape), detail::attribute("dtype", dtype)}, at)[0];
}

// Numbers (int64) of good ones among drawn of good + bad, without replacement.
inline Tensor random_hypergeometric(
    const Operand &key, const Operand &good, const Operand &bad, const Operand &drawn,
    const Ints &shape, Site at = Site::here()) {
  return detail::record<1>(
      "random_hypergeometric", {key.c(), good.c(), bad.c(), drawn.c()},
      {detail::attribute("shape", shape)}, at)[0];
}

// Integers from low to high - 1, to high with endpoint; low where there are none.
inline Tensor random_integers(
    const Operand &key, const Operand &low, const Operand &high, const Ints &shape,
    bool endpoint = false, Site at = Site::here()) {
  return detail::record<1>(
      "random_integers", {key.c(), low.c(), high.c()},
      {detail::attribute("shape", shape), detail::attribute("endpoint", endpoint)}, at)[0];
}

// Laplace numbers of location 0 and scale 1.
inline Tensor random_laplace(
    const Operand &key, const Ints &shape, DType dtype = DType::float32, Site at = Site::here()) {
  return detail::record<1>(
      "random_laplace", {key.c()},
      {detail::attribute("shape", shape), detail::attribute("dtype", dtype)}, at)[0];
}

// Logistic numbers of location 0 and scale 1.
inline Tensor random_logistic(
    const Operand &key, const Ints &shape, DType dtype = DType::float32, Site at = Site::here()) {
  return detail::record<1>(
      "random_logistic", {key.c()},
      {detail::attribute("shape", shape), detail::attribute("dtype", dtype)}, at)[0];
}

// How often (int64) each class was met in n draws; a class each along the last axis of p.
inline Tensor random_multinomial(
    const Operand &key, const Operand &n, const Operand &p, const Ints &shape,
    Site at = Site::here()) {
  return detail::record<1>(
      "random_multinomial", {key.c(), n.c(), p.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// How many (int64) of each color are among drawn without replacement.
inline Tensor random_multivariate_hypergeometric(
    const Operand &key, const Operand &drawn, const Operand &colors, const Ints &shape,
    Site at = Site::here()) {
  return detail::record<1>(
      "random_multivariate_hypergeometric", {key.c(), drawn.c(), colors.c()},
      {detail::attribute("shape", shape)}, at)[0];
}

// Normal numbers; mean is 0 and std 1 if absent. Complex parts have variance 1/2 each.
inline Tensor random_normal(
    const Operand &key, const Operand &mean, const Operand &std_, const Ints &shape,
    DType dtype = DType::float32, Site at = Site::here()) {
  return detail::record<1>(
      "random_normal", {key.c(), mean.c(), std_.c()},
      {detail::attribute("shape", shape), detail::attribute("dtype", dtype)}, at)[0];
}

// The integers from 0 to n - 1 (int64) in random order.
inline Tensor random_permutation(const Operand &key, std::int64_t n, Site at = Site::here()) {
  return detail::record<1>("random_permutation", {key.c()}, {detail::attribute("n", n)}, at)[0];
}

// Poisson numbers (int64) of mean rate; -1 where that is negative or NaN.
inline Tensor random_poisson(
    const Operand &key, const Operand &rate, const Ints &shape, Site at = Site::here()) {
  return detail::record<1>(
      "random_poisson", {key.c(), rate.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// num keys (uint32[num, 2]) whose numbers are independent of each other's.
inline Tensor random_split(const Operand &key, std::int64_t num = 2, Site at = Site::here()) {
  return detail::record<1>("random_split", {key.c()}, {detail::attribute("num", num)}, at)[0];
}

// Numbers of the standard normal distribution limited to [low, high].
inline Tensor random_truncated_normal(
    const Operand &key, const Operand &low, const Operand &high, const Ints &shape,
    Site at = Site::here()) {
  return detail::record<1>(
      "random_truncated_normal", {key.c(), low.c(), high.c()},
      {detail::attribute("shape", shape)}, at)[0];
}

// Numbers between low and high; high itself only by rounding.
inline Tensor random_uniform(
    const Operand &key, const Operand &low, const Operand &high, const Ints &shape,
    Site at = Site::here()) {
  return detail::record<1>(
      "random_uniform", {key.c(), low.c(), high.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// Angles from -pi to pi, von Mises of mean 0; NaN where kappa is negative or NaN.
inline Tensor random_von_mises(
    const Operand &key, const Operand &kappa, const Ints &shape, Site at = Site::here()) {
  return detail::record<1>(
      "random_von_mises", {key.c(), kappa.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// Zipf numbers (int64), of probability proportional to k**-a, limited to 2**63 - 1.
inline Tensor random_zipf(
    const Operand &key, const Operand &a, const Ints &shape, Site at = Site::here()) {
  return detail::record<1>(
      "random_zipf", {key.c(), a.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// The real part, of the real dtype; x itself if it is real.
inline Tensor real(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("real", {x.c()}, {}, at)[0];
}

// 1 / x.
inline Tensor reciprocal(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("reciprocal", {x.c()}, {}, at)[0];
}

// This process's part, along axis, of the reduction of the operands of a group.
inline Tensor reduce_scatter(
    const Operand &x, const Ints &group, std::int64_t world, const char *reduction = "sum",
    std::int64_t axis = 0, const char *axes = "", Site at = Site::here()) {
  return detail::record<1>(
      "reduce_scatter", {x.c()},
      {detail::attribute("group", group), detail::attribute("world", world), detail::attribute("reduction", reduction), detail::attribute("axis", axis), detail::attribute("axes", axes)},
      at)[0];
}

// max(x, 0), NaN for NaN. The gradient at 0 is 0.
inline Tensor relu(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("relu", {x.c()}, {}, at)[0];
}

// x limited to [0, 6]. The gradient at the limits is 0.
inline Tensor relu6(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("relu6", {x.c()}, {}, at)[0];
}

// x % y with the sign of y, as Python's.
inline Tensor remainder(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("remainder", {x.c(), y.c()}, {}, at)[0];
}

// x with every element taken repeats times in a row, along an axis.
inline Tensor repeat(
    const Operand &x, std::int64_t repeats, std::optional<std::int64_t> axis = std::nullopt,
    Site at = Site::here()) {
  return detail::record<1>(
      "repeat", {x.c()}, {detail::attribute("repeats", repeats), detail::attribute("axis", axis)},
      at)[0];
}

// The elements of x, in row-major order, in another shape.
inline Tensor reshape(const Operand &x, const Ints &shape, Site at = Site::here()) {
  return detail::record<1>("reshape", {x.c()}, {detail::attribute("shape", shape)}, at)[0];
}

// The Fourier transform of real numbers: the half of it that tells the other.
inline Tensor rfft(
    const Operand &x, const Ints &axes, const char *norm = "backward", Site at = Site::here()) {
  return detail::record<1>(
      "rfft", {x.c()}, {detail::attribute("axes", axes), detail::attribute("norm", norm)}, at)[0];
}

// x / sqrt(mean(x**2) + eps) * weight over the last normalized_ndim axes.
inline Tensor rms_norm(
    const Operand &x, const Operand &weight = {}, std::int64_t normalized_ndim = 1,
    double eps = 1e-05, Site at = Site::here()) {
  return detail::record<1>(
      "rms_norm", {x.c(), weight.c()},
      {detail::attribute("normalized_ndim", normalized_ndim), detail::attribute("eps", eps)}, at)[0];
}

// h' = f(x @ w_input.T + b_input + h @ w_hidden.T + b_hidden) for each step in turn.
// Gives output, state.
inline std::array<Tensor, 2> rnn(
    const Operand &x, const Operand &h, const Operand &w_input, const Operand &w_hidden,
    const Operand &b_input = {}, const Operand &b_hidden = {}, const Operand &lengths = {},
    const char *activation = "tanh", bool reverse = false, Site at = Site::here()) {
  return detail::record<2>(
      "rnn", {x.c(), h.c(), w_input.c(), w_hidden.c(), b_input.c(), b_hidden.c(), lengths.c()},
      {detail::attribute("activation", activation), detail::attribute("reverse", reverse)}, at);
}

// x shifted around along axes: element i moves to (i + shift) % size.
inline Tensor roll(
    const Operand &x, const Ints &shifts, const Ints &axes = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "roll", {x.c()}, {detail::attribute("shifts", shifts), detail::attribute("axes", axes)}, at)[0];
}

// x rounded to decimals decimal places, halves to the even neighbour.
inline Tensor round(const Operand &x, std::int64_t decimals = 0, Site at = Site::here()) {
  return detail::record<1>("round", {x.c()}, {detail::attribute("decimals", decimals)}, at)[0];
}

// 1 / sqrt(x).
inline Tensor rsqrt(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("rsqrt", {x.c()}, {}, at)[0];
}

// All the results of fold on its way along an axis, the first element included.
inline Tensor running_fold(
    const Operand &x, const char *function, std::int64_t axis, Site at = Site::here()) {
  return detail::record<1>(
      "running_fold", {x.c()},
      {detail::attribute("function", function), detail::attribute("axis", axis)}, at)[0];
}

// Means and variances kept over batches: (1 - momentum) * old + momentum * new, of each.
// Gives mean, variance.
inline std::array<Tensor, 2> running_moments(
    const Operand &mean, const Operand &variance, const Operand &new_mean,
    const Operand &new_variance, const Operand &momentum, std::int64_t num = 0,
    Site at = Site::here()) {
  return detail::record<2>(
      "running_moments", {mean.c(), variance.c(), new_mean.c(), new_variance.c(), momentum.c()},
      {detail::attribute("num", num)}, at);
}

// softmax(q @ k.T * scale + mask) @ v for q (..., L, E), k (..., S, E), v (..., S, V).
inline Tensor scaled_dot_product_attention(
    const Operand &q, const Operand &k, const Operand &v, const Operand &mask = {},
    bool causal = false, std::optional<double> scale = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "scaled_dot_product_attention", {q.c(), k.c(), v.c(), mask.c()},
      {detail::attribute("causal", causal), detail::attribute("scale", scale)}, at)[0];
}

// x[i, indices[i, j, k], k] = updates[i, j, k] for axis 1, and so on, in a copy.
inline Tensor scatter_along_axis(
    const Operand &x, const Operand &indices, const Operand &updates, std::int64_t axis = -1,
    const char *mode = "set", Site at = Site::here()) {
  return detail::record<1>(
      "scatter_along_axis", {x.c(), indices.c(), updates.c()},
      {detail::attribute("axis", axis), detail::attribute("mode", mode)}, at)[0];
}

// Where each of values would go into sorted, which ascends along its last axis, int64.
inline Tensor searchsorted(
    const Operand &sorted, const Operand &values, const char *side = "left",
    Site at = Site::here()) {
  return detail::record<1>(
      "searchsorted", {sorted.c(), values.c()}, {detail::attribute("side", side)}, at)[0];
}

// fold of segments along an axis: from each of starts to the next one.
inline Tensor segment_fold(
    const Operand &x, const Operand &starts, const char *function, std::int64_t axis,
    Site at = Site::here()) {
  return detail::record<1>(
      "segment_fold", {x.c(), starts.c()},
      {detail::attribute("function", function), detail::attribute("axis", axis)}, at)[0];
}

// The first half of the tensors if the condition holds, otherwise the second half.
// Gives half as many as tensors
inline std::vector<Tensor> select_all(
    const Operand &condition, const Operands &tensors, Site at = Site::here()) {
  return detail::record_many("select_all", {condition.c()}, tensors, {}, 10 + tensors.size(), at);
}

// 1.0507... * elu(x, 1.6733...).
inline Tensor selu(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("selu", {x.c()}, {}, at)[0];
}

// x << y; 0 where y is negative or not below the number of bits.
inline Tensor shift_left(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("shift_left", {x.c(), y.c()}, {}, at)[0];
}

// x >> y, keeping the sign; 0 or -1 where y is negative or not below the number of bits.
inline Tensor shift_right(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("shift_right", {x.c(), y.c()}, {}, at)[0];
}

// 1 / (1 + exp(-x)).
inline Tensor sigmoid(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("sigmoid", {x.c()}, {}, at)[0];
}

// -1, 0 or 1; x / |x| for complex operands, NaN for NaN; 0 for -0.0.
inline Tensor sign(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("sign", {x.c()}, {}, at)[0];
}

// Whether x is negative; for floating-point x its sign bit, of -0.0 and NaN too.
inline Tensor signbit(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("signbit", {x.c()}, {}, at)[0];
}

// x * sigmoid(x).
inline Tensor silu(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("silu", {x.c()}, {}, at)[0];
}

// Sine of x in radians.
inline Tensor sin(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("sin", {x.c()}, {}, at)[0];
}

// sin(pi x) / (pi x), 1 at 0.
inline Tensor sinc(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("sinc", {x.c()}, {}, at)[0];
}

// Hyperbolic sine.
inline Tensor sinh(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("sinh", {x.c()}, {}, at)[0];
}

// The elements at range(start, stop, stride) along each axis.
inline Tensor slice(
    const Operand &x, const Ints &starts, const Ints &stops, const Ints &strides = std::nullopt,
    Site at = Site::here()) {
  return detail::record<1>(
      "slice", {x.c()},
      {detail::attribute("starts", starts), detail::attribute("stops", stops), detail::attribute("strides", strides)},
      at)[0];
}

// x with the elements that slice of the same attributes takes replaced.
inline Tensor slice_update(
    const Operand &x, const Operand &update, const Ints &starts, const Ints &stops,
    const Ints &strides = std::nullopt, Site at = Site::here()) {
  return detail::record<1>(
      "slice_update", {x.c(), update.c()},
      {detail::attribute("starts", starts), detail::attribute("stops", stops), detail::attribute("strides", strides)},
      at)[0];
}

// Sign (or phase) of the determinant, and the logarithm of its absolute value.
// Gives sign, logabsdet.
inline std::array<Tensor, 2> slogdet(const Operand &x, Site at = Site::here()) {
  return detail::record<2>("slogdet", {x.c()}, {}, at);
}

// -sum(targets * log_softmax(logits)) along axis, the classes.
inline Tensor soft_cross_entropy(
    const Operand &logits, const Operand &targets, std::int64_t axis = -1,
    double label_smoothing = 0.0, const char *reduction = "mean", Site at = Site::here()) {
  return detail::record<1>(
      "soft_cross_entropy", {logits.c(), targets.c()},
      {detail::attribute("axis", axis), detail::attribute("label_smoothing", label_smoothing), detail::attribute("reduction", reduction)},
      at)[0];
}

// exp(x) divided by its sum along an axis; the largest element is taken off first.
inline Tensor softmax(const Operand &x, std::int64_t axis = -1, Site at = Site::here()) {
  return detail::record<1>("softmax", {x.c()}, {detail::attribute("axis", axis)}, at)[0];
}

// log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold.
inline Tensor softplus(
    const Operand &x, double beta = 1.0, double threshold = 20.0, Site at = Site::here()) {
  return detail::record<1>(
      "softplus", {x.c()},
      {detail::attribute("beta", beta), detail::attribute("threshold", threshold)}, at)[0];
}

// x moved towards 0 by lambd, 0 within lambd of it; NaN, of gradient 0, for NaN.
inline Tensor softshrink(const Operand &x, double lambd = 0.5, Site at = Site::here()) {
  return detail::record<1>("softshrink", {x.c()}, {detail::attribute("lambd", lambd)}, at)[0];
}

// x / (1 + |x|).
inline Tensor softsign(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("softsign", {x.c()}, {}, at)[0];
}

// The x with a @ x == b, for square a (..., n, n) and b (..., n, k).
inline Tensor solve(const Operand &a, const Operand &b, Site at = Site::here()) {
  return detail::record<1>("solve", {a.c(), b.c()}, {}, at)[0];
}

// The elements of x in order along an axis. Raises ArgumentError.
inline Tensor sort(
    const Operand &x, std::int64_t axis = -1, bool descending = false, bool stable = true,
    Site at = Site::here()) {
  return detail::record<1>(
      "sort", {x.c()},
      {detail::attribute("axis", axis), detail::attribute("descending", descending), detail::attribute("stable", stable)},
      at)[0];
}

// What sort and argsort give, by one sort. Raises ArgumentError.
// Gives values, indices.
inline std::array<Tensor, 2> sort_with_indices(
    const Operand &x, std::int64_t axis = -1, bool descending = false, bool stable = true,
    Site at = Site::here()) {
  return detail::record<2>(
      "sort_with_indices", {x.c()},
      {detail::attribute("axis", axis), detail::attribute("descending", descending), detail::attribute("stable", stable)},
      at);
}

// sin(x) / x, the spherical Bessel function of order 0; 1 at 0, and 0 at the infinities.
inline Tensor spherical_bessel_j0(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("spherical_bessel_j0", {x.c()}, {}, at)[0];
}

// x cut along an axis into parts of these sizes: one result for each.
// Gives one for each size
inline std::vector<Tensor> split(
    const Operand &x, const Ints &sizes, std::int64_t axis = 0, Site at = Site::here()) {
  return detail::record_many(
      "split", {x.c()}, {}, {detail::attribute("sizes", sizes), detail::attribute("axis", axis)},
      9 + sizes.size(), at);
}

// Square root; NaN for negative real x. The gradient at 0 is infinite.
inline Tensor sqrt(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("sqrt", {x.c()}, {}, at)[0];
}

// x * x.
inline Tensor square(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("square", {x.c()}, {}, at)[0];
}

// x without these axes of size 1; without any such axis if axes is None.
inline Tensor squeeze(const Operand &x, const Ints &axes = std::nullopt, Site at = Site::here()) {
  return detail::record<1>("squeeze", {x.c()}, {detail::attribute("axes", axes)}, at)[0];
}

// The operands, all of one shape, joined along a new axis at position axis.
inline Tensor stack(const Operands &xs, std::int64_t axis = 0, Site at = Site::here()) {
  return detail::record_many("stack", {}, xs, {detail::attribute("axis", axis)}, 1, at)[0];
}

// The square root of var. The gradient is 0 where the variance is 0, as PyTorch's.
inline Tensor std_(
    const Operand &x, const Ints &axes = std::nullopt, double correction = 0.0,
    bool keepdims = false, Site at = Site::here()) {
  return detail::record<1>(
      "std", {x.c()},
      {detail::attribute("axes", axes), detail::attribute("correction", correction), detail::attribute("keepdims", keepdims)},
      at)[0];
}

// Adadelta; the state is the means of squared gradients and of squared moves.
// Gives step, then n parameters, then n squares, then n moves; all new, in the order of the
// parameters
inline std::vector<Tensor> step_adadelta(
    const Operand &step, const Operand &lr, const Operand &rho, const Operand &eps,
    const Operand &weight_decay, const Operands &tensors, bool decays = false,
    bool maximize = false, Site at = Site::here()) {
  return detail::record_many(
      "step_adadelta", {step.c(), lr.c(), rho.c(), eps.c(), weight_decay.c()}, tensors,
      {detail::attribute("decays", decays), detail::attribute("maximize", maximize)},
      14 + tensors.size(), at);
}

// Adafactor; with factored the variances are those of rows and those of columns.
// Gives step, then n parameters, then n variances (with factored first n of the rows, then n of
// the columns); all new, in the order of the parameters
inline std::vector<Tensor> step_adafactor(
    const Operand &step, const Operand &lr, const Operand &beta2_decay, const Operand &eps1,
    const Operand &eps2, const Operand &d, const Operand &weight_decay, const Operands &tensors,
    bool factored = true, bool decays = false, bool maximize = false, Site at = Site::here()) {
  return detail::record_many(
      "step_adafactor",
      {step.c(), lr.c(), beta2_decay.c(), eps1.c(), eps2.c(), d.c(), weight_decay.c()}, tensors,
      {detail::attribute("factored", factored), detail::attribute("decays", decays), detail::attribute("maximize", maximize)},
      16 + tensors.size(), at);
}

// Adagrad; the state is the sums of squared gradients. Raises ShapeError, ArgumentError.
// Gives step, then n parameters, then n sums; all new, in the order of the parameters
inline std::vector<Tensor> step_adagrad(
    const Operand &step, const Operand &lr, const Operand &eps, const Operand &weight_decay,
    const Operand &lr_decay, const Operands &tensors, bool decays = false, bool maximize = false,
    Site at = Site::here()) {
  return detail::record_many(
      "step_adagrad", {step.c(), lr.c(), eps.c(), weight_decay.c(), lr_decay.c()}, tensors,
      {detail::attribute("decays", decays), detail::attribute("maximize", maximize)},
      14 + tensors.size(), at);
}

// Adam and AdamW; the state is the means of gradients and of their squares.
// Gives step, then n parameters, then n means, then n squares, then n largest (only with
// amsgrad); all new, in the order of the parameters
inline std::vector<Tensor> step_adam(
    const Operand &step, const Operand &lr, const Operand &beta1, const Operand &beta2,
    const Operand &eps, const Operand &weight_decay, const Operands &tensors,
    bool amsgrad = false, bool decays = false, bool decoupled = false, bool maximize = false,
    Site at = Site::here()) {
  return detail::record_many(
      "step_adam", {step.c(), lr.c(), beta1.c(), beta2.c(), eps.c(), weight_decay.c()}, tensors,
      {detail::attribute("amsgrad", amsgrad), detail::attribute("decays", decays), detail::attribute("decoupled", decoupled), detail::attribute("maximize", maximize)},
      15 + tensors.size(), at);
}

// AdaMax; the state is the means of gradients and the decaying largest moduli.
// Gives step, then n parameters, then n means, then n largest; all new, in the order of the
// parameters
inline std::vector<Tensor> step_adamax(
    const Operand &step, const Operand &lr, const Operand &beta1, const Operand &beta2,
    const Operand &eps, const Operand &weight_decay, const Operands &tensors, bool decays = false,
    bool maximize = false, Site at = Site::here()) {
  return detail::record_many(
      "step_adamax", {step.c(), lr.c(), beta1.c(), beta2.c(), eps.c(), weight_decay.c()}, tensors,
      {detail::attribute("decays", decays), detail::attribute("maximize", maximize)},
      15 + tensors.size(), at);
}

// Averaged SGD: a step of rate eta, whose results mu moves the averages to.
// Gives step, then eta, then mu, then n parameters, then n averages; all new, in the order of
// the parameters
inline std::vector<Tensor> step_asgd(
    const Operand &step, const Operand &eta, const Operand &mu, const Operand &lr,
    const Operand &lambd, const Operand &alpha, const Operand &t0, const Operand &weight_decay,
    const Operands &tensors, bool decays = false, bool maximize = false, Site at = Site::here()) {
  return detail::record_many(
      "step_asgd",
      {step.c(), eta.c(), mu.c(), lr.c(), lambd.c(), alpha.c(), t0.c(), weight_decay.c()},
      tensors, {detail::attribute("decays", decays), detail::attribute("maximize", maximize)},
      17 + tensors.size(), at);
}

// Momentum whose matrix is brought near an orthogonal one by a few Newton-Schulz steps.
// Gives n parameters, then n momenta; all new, in the order of the parameters
inline std::vector<Tensor> step_muon(
    const Operand &lr, const Operand &weight_decay, const Operand &momentum, const Operand &eps,
    const Operands &tensors, Span<double> coefficients, std::int64_t steps, bool nesterov = true,
    const char *adjust = "original", Site at = Site::here()) {
  return detail::record_many(
      "step_muon", {lr.c(), weight_decay.c(), momentum.c(), eps.c()}, tensors,
      {detail::attribute("coefficients", coefficients), detail::attribute("steps", steps), detail::attribute("nesterov", nesterov), detail::attribute("adjust", adjust)},
      13 + tensors.size(), at);
}

// NAdam; product is that of the momenta beta1 * (1 - 0.96**(t * momentum_decay) / 2).
// Gives step, then product, then n parameters, then n means, then n squares; all new, in the
// order of the parameters
inline std::vector<Tensor> step_nadam(
    const Operand &step, const Operand &product, const Operand &lr, const Operand &beta1,
    const Operand &beta2, const Operand &eps, const Operand &weight_decay,
    const Operand &momentum_decay, const Operands &tensors, bool decays = false,
    bool decoupled = false, bool maximize = false, Site at = Site::here()) {
  return detail::record_many(
      "step_nadam",
      {step.c(), product.c(), lr.c(), beta1.c(), beta2.c(), eps.c(), weight_decay.c(), momentum_decay.c()},
      tensors,
      {detail::attribute("decays", decays), detail::attribute("decoupled", decoupled), detail::attribute("maximize", maximize)},
      17 + tensors.size(), at);
}

// RAdam: without the squares as long as their means are of too few steps.
// Gives step, then n parameters, then n means, then n squares; all new, in the order of the
// parameters
inline std::vector<Tensor> step_radam(
    const Operand &step, const Operand &lr, const Operand &beta1, const Operand &beta2,
    const Operand &eps, const Operand &weight_decay, const Operands &tensors, bool decays = false,
    bool decoupled = false, bool maximize = false, Site at = Site::here()) {
  return detail::record_many(
      "step_radam", {step.c(), lr.c(), beta1.c(), beta2.c(), eps.c(), weight_decay.c()}, tensors,
      {detail::attribute("decays", decays), detail::attribute("decoupled", decoupled), detail::attribute("maximize", maximize)},
      15 + tensors.size(), at);
}

// RMSprop; with momentous a momentum, with centered the mean gradient is state, too.
// Gives step, then n parameters, then n squares, then n momenta (only with momentous), then n
// means (only with centered); all new, in the order of the parameters
inline std::vector<Tensor> step_rmsprop(
    const Operand &step, const Operand &lr, const Operand &alpha, const Operand &eps,
    const Operand &weight_decay, const Operand &momentum, const Operands &tensors,
    bool momentous = false, bool centered = false, bool decays = false, bool maximize = false,
    Site at = Site::here()) {
  return detail::record_many(
      "step_rmsprop", {step.c(), lr.c(), alpha.c(), eps.c(), weight_decay.c(), momentum.c()},
      tensors,
      {detail::attribute("momentous", momentous), detail::attribute("centered", centered), detail::attribute("decays", decays), detail::attribute("maximize", maximize)},
      15 + tensors.size(), at);
}

// Resilient propagation: step sizes that grow while a gradient keeps its sign.
// Gives step, then n parameters, then n previous, then n sizes; all new, in the order of the
// parameters
inline std::vector<Tensor> step_rprop(
    const Operand &step, const Operand &shrink, const Operand &grow, const Operand &least,
    const Operand &most, const Operands &tensors, bool maximize = false, Site at = Site::here()) {
  return detail::record_many(
      "step_rprop", {step.c(), shrink.c(), grow.c(), least.c(), most.c()}, tensors,
      {detail::attribute("maximize", maximize)}, 14 + tensors.size(), at);
}

// Stochastic gradient descent; with momentous the momenta are part of the tensors.
// Gives n parameters, then n momenta (only with momentous); all new, in the order of the
// parameters
inline std::vector<Tensor> step_sgd(
    const Operand &lr, const Operand &weight_decay, const Operand &momentum, const Operand &share,
    const Operands &tensors, bool momentous = false, bool nesterov = false, bool decays = false,
    bool maximize = false, bool detached = false, Site at = Site::here()) {
  return detail::record_many(
      "step_sgd", {lr.c(), weight_decay.c(), momentum.c(), share.c()}, tensors,
      {detail::attribute("momentous", momentous), detail::attribute("nesterov", nesterov), detail::attribute("decays", decays), detail::attribute("maximize", maximize), detail::attribute("detached", detached)},
      13 + tensors.size(), at);
}

// The data of y with the gradient of x: the cotangent passes to x unchanged.
inline Tensor straight_through(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("straight_through", {x.c(), y.c()}, {}, at)[0];
}

// x - y.
inline Tensor subtract(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("subtract", {x.c(), y.c()}, {}, at)[0];
}

// The sum of the elements, cast to dtype first if that is given; 0 of none.
inline Tensor sum(
    const Operand &x, const Ints &axes = std::nullopt, DType dtype = DType::none,
    bool keepdims = false, Site at = Site::here()) {
  return detail::record<1>(
      "sum", {x.c()},
      {detail::attribute("axes", axes), detail::attribute("dtype", dtype), detail::attribute("keepdims", keepdims)},
      at)[0];
}

// x (..., m, n) as u @ diag(s) @ vh; s is real, not negative and descending.
// Gives u, s, vh.
inline std::array<Tensor, 3> svd(const Operand &x, Site at = Site::here()) {
  return detail::record<3>("svd", {x.c()}, {}, at);
}

// As svd, but with square u (..., m, m) and vh (..., n, n).
// Gives u, s, vh.
inline std::array<Tensor, 3> svd_full(const Operand &x, Site at = Site::here()) {
  return detail::record<3>("svd_full", {x.c()}, {}, at);
}

// The singular values of matrices, descending. Raises ShapeError, DTypeError.
inline Tensor svdvals(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("svdvals", {x.c()}, {}, at)[0];
}

// x with two axes exchanged. Raises ArgumentError for an axis out of range.
inline Tensor swapaxes(
    const Operand &x, std::int64_t axis1, std::int64_t axis2, Site at = Site::here()) {
  return detail::record<1>(
      "swapaxes", {x.c()}, {detail::attribute("axis1", axis1), detail::attribute("axis2", axis2)},
      at)[0];
}

// The slices of x at indices along an axis; the indices' axes take its place.
inline Tensor take(
    const Operand &x, const Operand &indices, std::int64_t axis = 0, Site at = Site::here()) {
  return detail::record<1>(
      "take", {x.c(), indices.c()}, {detail::attribute("axis", axis)}, at)[0];
}

// result[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on.
inline Tensor take_along_axis(
    const Operand &x, const Operand &indices, std::int64_t axis = -1, Site at = Site::here()) {
  return detail::record<1>(
      "take_along_axis", {x.c(), indices.c()}, {detail::attribute("axis", axis)}, at)[0];
}

// Tangent of x in radians.
inline Tensor tan(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("tan", {x.c()}, {}, at)[0];
}

// Hyperbolic tangent.
inline Tensor tanh(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("tanh", {x.c()}, {}, at)[0];
}

// x - tanh(x).
inline Tensor tanhshrink(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("tanhshrink", {x.c()}, {}, at)[0];
}

// x, but value where x <= threshold.
inline Tensor threshold(
    const Operand &x, double threshold, double value, Site at = Site::here()) {
  return detail::record<1>(
      "threshold", {x.c()},
      {detail::attribute("threshold", threshold), detail::attribute("value", value)}, at)[0];
}

// x laid side by side, repeats[i] times along axis i.
inline Tensor tile(const Operand &x, const Ints &repeats, Site at = Site::here()) {
  return detail::record<1>("tile", {x.c()}, {detail::attribute("repeats", repeats)}, at)[0];
}

// The k largest elements along an axis, in descending order, and their positions.
// Gives values, indices.
inline std::array<Tensor, 2> top_k(
    const Operand &x, std::int64_t k, std::int64_t axis = -1, bool largest = true,
    Site at = Site::here()) {
  return detail::record<2>(
      "top_k", {x.c()},
      {detail::attribute("k", k), detail::attribute("axis", axis), detail::attribute("largest", largest)},
      at);
}

// x with its axes permuted: axis i of the result is axis axes[i] of x.
inline Tensor transpose(
    const Operand &x, const Ints &axes = std::nullopt, Site at = Site::here()) {
  return detail::record<1>("transpose", {x.c()}, {detail::attribute("axes", axes)}, at)[0];
}

// The x with op(a) @ x == b, or x @ op(a) == b, for triangular a (..., n, n).
inline Tensor triangular_solve(
    const Operand &a, const Operand &b, bool left_side = true, bool lower = true,
    bool transpose = false, bool conjugate = false, bool unit_diagonal = false,
    Site at = Site::here()) {
  return detail::record<1>(
      "triangular_solve", {a.c(), b.c()},
      {detail::attribute("left_side", left_side), detail::attribute("lower", lower), detail::attribute("transpose", transpose), detail::attribute("conjugate", conjugate), detail::attribute("unit_diagonal", unit_diagonal)},
      at)[0];
}

// The lower triangles of matrices (..., m, n): zero above the k-th diagonal.
inline Tensor tril(const Operand &x, std::int64_t k = 0, Site at = Site::here()) {
  return detail::record<1>("tril", {x.c()}, {detail::attribute("k", k)}, at)[0];
}

// The upper triangles of matrices (..., m, n): zero below the k-th diagonal.
inline Tensor triu(const Operand &x, std::int64_t k = 0, Site at = Site::here()) {
  return detail::record<1>("triu", {x.c()}, {detail::attribute("k", k)}, at)[0];
}

// x rounded towards zero.
inline Tensor trunc(const Operand &x, Site at = Site::here()) {
  return detail::record<1>("trunc", {x.c()}, {}, at)[0];
}

// The tensors times factor, and before them 1 if any has an infinity or NaN, else 0.
// Gives found, then a gradient for each tensor
inline std::vector<Tensor> unscale(
    const Operand &factor, const Operands &tensors, Site at = Site::here()) {
  return detail::record_many("unscale", {factor.c()}, tensors, {}, 10 + tensors.size(), at);
}

// The mean squared distance from the mean, by the two-pass formula.
inline Tensor var(
    const Operand &x, const Ints &axes = std::nullopt, double correction = 0.0,
    bool keepdims = false, Site at = Site::here()) {
  return detail::record<1>(
      "var", {x.c()},
      {detail::attribute("axes", axes), detail::attribute("correction", correction), detail::attribute("keepdims", keepdims)},
      at)[0];
}

// The sum of conj(x) * y along an axis, a negative one; the other axes broadcast.
inline Tensor vecdot(
    const Operand &x, const Operand &y, std::int64_t axis = -1, Site at = Site::here()) {
  return detail::record<1>("vecdot", {x.c(), y.c()}, {detail::attribute("axis", axis)}, at)[0];
}

// x where condition, y elsewhere. Each gets the gradient only where it was taken.
inline Tensor where(
    const Operand &condition, const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("where", {condition.c(), x.c(), y.c()}, {}, at)[0];
}

// x * log1p(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
inline Tensor xlog1py(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("xlog1py", {x.c(), y.c()}, {}, at)[0];
}

// x * log(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
inline Tensor xlogy(const Operand &x, const Operand &y, Site at = Site::here()) {
  return detail::record<1>("xlogy", {x.c(), y.c()}, {}, at)[0];
}

// The Hurwitz zeta function, the sum of (k + q)**-x over k from 0; inf for x = 1.
inline Tensor zeta(const Operand &x, const Operand &q, Site at = Site::here()) {
  return detail::record<1>("zeta", {x.c(), q.c()}, {}, at)[0];
}

}  // namespace lazyloom

#endif  // LAZYLOOM_OPS_HPP
