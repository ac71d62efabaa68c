# A function for every op.
# Written by bindings/generate.py from lazyloom_api.json; do not edit.

# |x|; complex operands give their modulus, of the real dtype.
loom_abs <- function(x)
  record_op("abs", list(x))

# Inverse cosine, in radians; NaN outside [-1, 1] for real x.
loom_acos <- function(x)
  record_op("acos", list(x))

# Inverse hyperbolic cosine; NaN below 1 for real x.
loom_acosh <- function(x)
  record_op("acosh", list(x))

# The mean of parts of the last axes, output of them in each, as even as possible.
loom_adaptive_avg_pool <- function(x, output)
  record_op("adaptive_avg_pool", list(x), c("output"), c("ints"), list(output))

# The largest element of parts of the last axes; parts as for adaptive_avg_pool.
loom_adaptive_max_pool <- function(x, output)
  record_op("adaptive_max_pool", list(x), c("output"), c("ints"), list(output))

# x + y. For bool, logical or, as in NumPy.
loom_add <- function(x, y)
  record_op("add", list(x, y))

# x + value * y / z; value is 1 if absent.
loom_addcdiv <- function(x, y, z, value = NULL)
  record_op("addcdiv", list(x, y, z, value))

# x + value * y * z; value is 1 if absent.
loom_addcmul <- function(x, y, z, value = NULL)
  record_op("addcmul", list(x, y, z, value))

# The Airy function that vanishes at infinity.
loom_airy_ai <- function(x)
  record_op("airy_ai", list(x))

# Whether no element is 0 (NaN counts as not 0); true of none.
loom_all <- function(x, axes = NULL, keepdims = FALSE)
  record_op("all", list(x), c("axes", "keepdims"), c("ints", "bool"), list(axes, keepdims))

# The operands of all processes of a group, one after the other along axis.
loom_all_gather <- function(x, group, world, axis = 0L, axes = "")
  record_op("all_gather", list(x), c("group", "world", "axis", "axes"),
    c("ints", "int", "int", "str"), list(group, world, axis, axes))

# The reduction of the operands of all processes of a group, in each of them.
loom_all_reduce <- function(x, group, world, reduction = "sum", axes = "")
  record_op("all_reduce", list(x), c("group", "world", "reduction", "axes"),
    c("ints", "int", "str", "str"), list(group, world, reduction, axes))

# Parts of the operands of a group: each process sends one along split_axis to each.
loom_all_to_all <- function(x, group, world, split_axis = 0L, concat_axis = 0L, axes = "")
  record_op("all_to_all", list(x), c("group", "world", "split_axis", "concat_axis", "axes"),
    c("ints", "int", "int", "int", "str"), list(group, world, split_axis, concat_axis, axes))

# The argument of x in radians; 0 or pi for real x, whose gradient is 0. So is that at 0.
loom_angle <- function(x)
  record_op("angle", list(x))

# Whether an element is not 0 (NaN counts as not 0); false of none.
loom_any <- function(x, axes = NULL, keepdims = FALSE)
  record_op("any", list(x), c("axes", "keepdims"), c("ints", "bool"), list(axes, keepdims))

# The vector x with f(x[p], u) written to each position p in turn; f(x[p]) without an update.
loom_apply_at <- function(x, positions, function_, update = NULL, dtype = NULL)
  record_op("apply_at", list(x, positions, update), c("function", "dtype"), c("str", "dtype"),
    list(function_, dtype))

# start, start + step, ...: length elements start + i * step.
loom_arange <- function(start, step, length)
  record_op("arange", list(start, step), c("length"), c("int"), list(length))

# The index (int64) of the first largest element, a NaN counting as larger than all.
loom_argmax <- function(x, axis = NULL, keepdims = FALSE)
  record_op("argmax", list(x), c("axis", "keepdims"), c("int", "bool"), list(axis, keepdims))

# The index (int64) of the first smallest element, a NaN counting as smaller than all.
loom_argmin <- function(x, axis = NULL, keepdims = FALSE)
  record_op("argmin", list(x), c("axis", "keepdims"), c("int", "bool"), list(axis, keepdims))

# The positions (int64) that put x in order along an axis. Raises ArgumentError.
loom_argsort <- function(x, axis = -1L, descending = FALSE, stable = TRUE)
  record_op("argsort", list(x), c("axis", "descending", "stable"), c("int", "bool", "bool"),
    list(axis, descending, stable))

# Inverse sine, in radians; NaN outside [-1, 1] for real x.
loom_asin <- function(x)
  record_op("asin", list(x))

# Inverse hyperbolic sine.
loom_asinh <- function(x)
  record_op("asinh", list(x))

# Inverse tangent, in radians.
loom_atan <- function(x)
  record_op("atan", list(x))

# The angle of the point (x, y), in radians. The gradient at (0, 0) is 0.
loom_atan2 <- function(y, x)
  record_op("atan2", list(y, x))

# Inverse hyperbolic tangent; NaN outside [-1, 1] for real x.
loom_atanh <- function(x)
  record_op("atanh", list(x))

# The mean of each place of a window that moves over the last axes.
loom_avg_pool <- function(x, window, strides = NULL, padding_low = NULL, padding_high = NULL,
  dilation = NULL, count_include_pad = TRUE)
  record_op("avg_pool", list(x),
    c("window", "strides", "padding_low", "padding_high", "dilation", "count_include_pad"),
    c("ints", "ints", "ints", "ints", "ints", "bool"),
    list(window, strides, padding_low, padding_high, dilation, count_include_pad))

# The first results operands, and not before the others are there as well.
loom_await_all <- function(operands, results)
  record_op("await_all", operands, c("results"), c("int"), list(results), results = 0L)

# The position of a device along axes of a mesh, an int32; inside shard_map.
loom_axis_index <- function(group, world, axes = "")
  record_op("axis_index", list(), c("group", "world", "axes"), c("ints", "int", "str"),
    list(group, world, axes))

# The operands themselves; what is computed from them is not merged with the same computation
# elsewhere, nor begun before all of them are there.
loom_barrier <- function(operands)
  record_op("barrier", operands, results = 0L)

# (x - mean) / sqrt(variance + eps) * weight + bias, a number of each per channel.
loom_batch_norm_infer <- function(x, mean, variance, weight = NULL, bias = NULL, eps = 1e-05)
  record_op("batch_norm_infer", list(x, mean, variance, weight, bias), c("eps"), c("float"),
    list(eps))

# Each channel (axis 1) over all samples and positions gets mean 0 and variance 1.
# Gives a list of y, mean, variance.
loom_batch_norm_train <- function(x, weight = NULL, bias = NULL, eps = 1e-05)
  record_op("batch_norm_train", list(x, weight, bias), c("eps"), c("float"), list(eps),
    results = 3L)

# The modified Bessel function of the first kind of order 0.
loom_bessel_i0 <- function(x)
  record_op("bessel_i0", list(x))

# exp(-|x|) times the modified Bessel function of the first kind of order 0.
loom_bessel_i0e <- function(x)
  record_op("bessel_i0e", list(x))

# The modified Bessel function of the first kind of order 1.
loom_bessel_i1 <- function(x)
  record_op("bessel_i1", list(x))

# exp(-|x|) times the modified Bessel function of the first kind of order 1.
loom_bessel_i1e <- function(x)
  record_op("bessel_i1e", list(x))

# The Bessel function of the first kind of order 0; 0 at the infinities.
loom_bessel_j0 <- function(x)
  record_op("bessel_j0", list(x))

# The Bessel function of the first kind of order 1; 0 at the infinities.
loom_bessel_j1 <- function(x)
  record_op("bessel_j1", list(x))

# exp(x) times the modified Bessel function of the second kind of order 0; inf at 0, NaN below.
loom_bessel_k0e <- function(x)
  record_op("bessel_k0e", list(x))

# exp(x) times the modified Bessel function of the second kind of order 1; inf at 0, NaN below.
loom_bessel_k1e <- function(x)
  record_op("bessel_k1e", list(x))

# The Bessel function of the second kind of order 0; -inf at 0, NaN below.
loom_bessel_y0 <- function(x)
  record_op("bessel_y0", list(x))

# The Bessel function of the second kind of order 1; -inf at 0, NaN below.
loom_bessel_y1 <- function(x)
  record_op("bessel_y1", list(x))

# The regularised incomplete beta function, for positive a and b and x in [0, 1].
loom_betainc <- function(a, b, x)
  record_op("betainc", list(a, b, x))

# -(t * log(x) + (1 - t) * log(1 - x)) * w for probabilities x, logarithms at least -100.
loom_binary_cross_entropy <- function(x, target, weight = NULL, reduction = "mean")
  record_op("binary_cross_entropy", list(x, target, weight), c("reduction"), c("str"),
    list(reduction))

# -(p * t * log(sigmoid(x)) + (1 - t) * log(1 - sigmoid(x))) * w, without overflow.
loom_binary_cross_entropy_with_logits <- function(logits, targets, weight = NULL,
  positive_weight = NULL, reduction = "mean")
  record_op("binary_cross_entropy_with_logits", list(logits, targets, weight, positive_weight),
    c("reduction"), c("str"), list(reduction))

# How often each of 0 .. length - 1 occurs in x (1-d), or the sum of its weights.
loom_bincount <- function(x, length, weights = NULL)
  record_op("bincount", list(x, weights), c("length"), c("int"), list(length))

# The bytes of x read as dtype.
loom_bitcast <- function(x, dtype)
  record_op("bitcast", list(x), c("dtype"), c("dtype"), list(dtype))

# x & y.
loom_bitwise_and <- function(x, y)
  record_op("bitwise_and", list(x, y))

# All bits of x inverted; logical not for bool.
loom_bitwise_not <- function(x)
  record_op("bitwise_not", list(x))

# x | y.
loom_bitwise_or <- function(x, y)
  record_op("bitwise_or", list(x, y))

# x ^ y.
loom_bitwise_xor <- function(x, y)
  record_op("bitwise_xor", list(x, y))

# x repeated to shape by NumPy's broadcasting rules. Raises ShapeError.
loom_broadcast_to <- function(x, shape)
  record_op("broadcast_to", list(x), c("shape"), c("ints"), list(shape))

# The results of the function main of a StableHLO module, which is given as text.
loom_call_module <- function(operands, module)
  record_op("call_module", operands, c("module"), c("str"), list(module), results = 0L)

# x converted to dtype.
loom_cast <- function(x, dtype)
  record_op("cast", list(x), c("dtype"), c("dtype"), list(dtype))

# The real cube root, of the sign of x.
loom_cbrt <- function(x)
  record_op("cbrt", list(x))

# The smallest integer not below x.
loom_ceil <- function(x)
  record_op("ceil", list(x))

# x for x > 0, alpha * (exp(x / alpha) - 1) elsewhere.
loom_celu <- function(x, alpha = 1.0)
  record_op("celu", list(x), c("alpha"), c("float"), list(alpha))

# The Chebyshev polynomial of degree n (rounded towards zero) of the first (kind "t"), second
# ("u"), third ("v") or fourth ("w") kind; 0 for a negative degree.
loom_chebyshev_polynomial <- function(x, n, kind)
  record_op("chebyshev_polynomial", list(x, n), c("kind"), c("str"), list(kind))

# x itself, and flag, which is looked at before anything that depends on x is read.
# Gives a list of result, looked_at.
loom_checked <- function(x, flag, kind, of = "", info = integer(0))
  record_op("checked", list(x, flag), c("kind", "of", "info"), c("str", "str", "ints"),
    list(kind, of, info), results = 2L)

# The lower triangular L with L @ L.conj().T == x, or its upper counterpart.
loom_cholesky <- function(x, upper = FALSE)
  record_op("cholesky", list(x), c("upper"), c("bool"), list(upper))

# The order of the first leading minor that is not positive, 0 where there is none; int32.
loom_cholesky_failure <- function(x, upper = FALSE)
  record_op("cholesky_failure", list(x), c("upper"), c("bool"), list(upper))

# x limited to [min, max], NaN where any is; max where min > max.
loom_clip <- function(x, min = NULL, max = NULL)
  record_op("clip", list(x, min, max))

# The operand of the process at position source of a group, in each of its processes.
loom_collective_broadcast <- function(x, group, world, source = 0L, axes = "")
  record_op("collective_broadcast", list(x), c("group", "world", "source", "axes"),
    c("ints", "int", "int", "str"), list(group, world, source, axes))

# The operand of the process that sends to this one; zeros in one that receives from none.
loom_collective_permute <- function(x, sources, targets, group, world, axes = "")
  record_op("collective_permute", list(x), c("sources", "targets", "group", "world", "axes"),
    c("ints", "ints", "ints", "int", "str"), list(sources, targets, group, world, axes))

# real + i imag, complex64 of float32 or complex128 of float64 operands.
loom_complex <- function(real, imag)
  record_op("complex", list(real, imag))

# The operands joined along an existing axis; their other sizes are equal.
loom_concatenate <- function(xs, axis = 0L)
  record_op("concatenate", xs, c("axis"), c("int"), list(axis))

# The complex conjugate; x itself if it is real.
loom_conj <- function(x)
  record_op("conj", list(x))

# x (N, C, spatial...) convolved with weight (O, C / groups, spatial...).
loom_conv <- function(x, weight, strides = NULL, padding_low = NULL, padding_high = NULL,
  dilation = NULL, input_dilation = NULL, groups = 1L)
  record_op("conv", list(x, weight),
    c("strides", "padding_low", "padding_high", "dilation", "input_dilation", "groups"),
    c("ints", "ints", "ints", "ints", "ints", "int"),
    list(strides, padding_low, padding_high, dilation, input_dilation, groups))

# The derivative of conv with respect to its input, as an op: weight (C, O / groups, ...).
loom_conv_transpose <- function(x, weight, strides = NULL, padding_low = NULL,
  padding_high = NULL, output_padding = NULL, dilation = NULL, groups = 1L)
  record_op("conv_transpose", list(x, weight),
    c("strides", "padding_low", "padding_high", "output_padding", "dilation", "groups"),
    c("ints", "ints", "ints", "ints", "ints", "int"),
    list(strides, padding_low, padding_high, output_padding, dilation, groups))

# x as a value of its own, for frontends that tell row-major copies from what they copy.
loom_copy <- function(x)
  record_op("copy", list(x))

# The magnitude of x with the sign of y, zeros included. The gradient is 0 where x is.
loom_copysign <- function(x, y)
  record_op("copysign", list(x, y))

# Cosine of x in radians.
loom_cos <- function(x)
  record_op("cos", list(x))

# Hyperbolic cosine.
loom_cosh <- function(x)
  record_op("cosh", list(x))

# The number of elements that are not 0, as int64.
loom_count_nonzero <- function(x, axes = NULL, keepdims = FALSE)
  record_op("count_nonzero", list(x), c("axes", "keepdims"), c("ints", "bool"),
    list(axes, keepdims))

# The cross product of vectors of 3 elements along an axis; the other axes broadcast.
loom_cross <- function(x, y, axis = -1L)
  record_op("cross", list(x, y), c("axis"), c("int"), list(axis))

# -log_softmax(logits)[label], per element of labels.
loom_cross_entropy <- function(logits, labels, weight = NULL, axis = -1L,
  label_smoothing = 0.0, ignore_index = -100L, reduction = "mean")
  record_op("cross_entropy", list(logits, labels, weight),
    c("axis", "label_smoothing", "ignore_index", "reduction"), c("int", "float", "int", "str"),
    list(axis, label_smoothing, ignore_index, reduction))

# -log of the probability of all alignments of a target with an input, for each of N.
loom_ctc_loss <- function(log_probabilities, targets, input_lengths, target_lengths, blank = 0L)
  record_op("ctc_loss", list(log_probabilities, targets, input_lengths, target_lengths),
    c("blank"), c("int"), list(blank))

# The largest element up to each one; NaN from the first NaN on.
loom_cummax <- function(x, axis, reverse = FALSE)
  record_op("cummax", list(x), c("axis", "reverse"), c("int", "bool"), list(axis, reverse))

# The smallest element up to each one; NaN from the first NaN on.
loom_cummin <- function(x, axis, reverse = FALSE)
  record_op("cummin", list(x), c("axis", "reverse"), c("int", "bool"), list(axis, reverse))

# The products of the elements up to each one; integers wrap.
loom_cumprod <- function(x, axis, reverse = FALSE)
  record_op("cumprod", list(x), c("axis", "reverse"), c("int", "bool"), list(axis, reverse))

# The sums of the elements up to each one; integers wrap.
loom_cumsum <- function(x, axis, reverse = FALSE)
  record_op("cumsum", list(x), c("axis", "reverse"), c("int", "bool"), list(axis, reverse))

# The first results operands; the others are what these were computed from.
loom_custom <- function(operands, results)
  record_op("custom", operands, c("results"), c("int"), list(results), results = 0L)

# (x - zero_point) * scale, in the dtype of scale; x is int8, uint8 or int32.
loom_dequantize <- function(x, scale, zero_point = NULL, axis = NULL)
  record_op("dequantize", list(x, scale, zero_point), c("axis"), c("int"), list(axis))

# The determinant of square matrices. Raises ShapeError, DTypeError.
loom_det <- function(x)
  record_op("det", list(x))

# Square planes, zero but for the diagonal, which is the last axis of x.
loom_diag_embed <- function(x, offset = 0L, axis1 = -2L, axis2 = -1L)
  record_op("diag_embed", list(x), c("offset", "axis1", "axis2"), c("int", "int", "int"),
    list(offset, axis1, axis2))

# The diagonals of the planes of two axes: those axes go, the diagonal comes last.
loom_diagonal <- function(x, offset = 0L, axis1 = 0L, axis2 = 1L)
  record_op("diagonal", list(x), c("offset", "axis1", "axis2"), c("int", "int", "int"),
    list(offset, axis1, axis2))

# x with the elements that diagonal of the same attributes takes replaced.
loom_diagonal_update <- function(x, update, offset = 0L, axis1 = 0L, axis2 = 1L)
  record_op("diagonal_update", list(x, update), c("offset", "axis1", "axis2"),
    c("int", "int", "int"), list(offset, axis1, axis2))

# The derivative of lgamma; infinite at 0, with the sign of -x.
loom_digamma <- function(x)
  record_op("digamma", list(x))

# x / y, of floating-point or complex operands; by IEEE 754 for a zero y.
loom_divide <- function(x, y)
  record_op("divide", list(x, y))

# The sum of products over pairs of axes; pairs of batch axes stay, and come first.
loom_dot_general <- function(x, y, lhs_contract, rhs_contract, lhs_batch = integer(0),
  rhs_batch = integer(0), accumulate = NULL)
  record_op("dot_general", list(x, y),
    c("lhs_contract", "rhs_contract", "lhs_batch", "rhs_batch", "accumulate"),
    c("ints", "ints", "ints", "ints", "dtype"),
    list(lhs_contract, rhs_contract, lhs_batch, rhs_batch, accumulate))

# x with each element zero with probability rate, and divided by 1 - rate else.
loom_dropout <- function(x, key, rate)
  record_op("dropout", list(x, key), c("rate"), c("float"), list(rate))

# A block of attribute sizes that begins at the 0-d operands starts.
loom_dynamic_slice <- function(x, starts, sizes)
  record_op("dynamic_slice", c(list(x), starts), c("sizes"), c("ints"), list(sizes))

# x with the block that begins at the 0-d operands starts replaced by update.
loom_dynamic_update_slice <- function(x, update, starts)
  record_op("dynamic_update_slice", c(list(x, update), starts))

# Eigenvalues of square matrices, and eigenvectors as columns; both complex.
# Gives a list of eigenvalues, eigenvectors.
loom_eig <- function(x)
  record_op("eig", list(x), results = 2L)

# Ascending eigenvalues of Hermitian matrices, and eigenvectors as columns.
# Gives a list of eigenvalues, eigenvectors.
loom_eigh <- function(x, upper = FALSE)
  record_op("eigh", list(x), c("upper"), c("bool"), list(upper), results = 2L)

# Eigenvalues of square matrices, complex; see eig.
loom_eigvals <- function(x)
  record_op("eigvals", list(x))

# Ascending eigenvalues of Hermitian matrices; see eigh.
loom_eigvalsh <- function(x, upper = FALSE)
  record_op("eigvalsh", list(x), c("upper"), c("bool"), list(upper))

# Einstein's sum: letters name axes, letters that the result lacks are summed over.
loom_einsum <- function(xs, equation)
  record_op("einsum", xs, c("equation"), c("str"), list(equation))

# x for x > 0, alpha * (exp(x) - 1) elsewhere.
loom_elu <- function(x, alpha = 1.0)
  record_op("elu", list(x), c("alpha"), c("float"), list(alpha))

# The rows of weight (rows, features) at indices, of any shape.
loom_embedding <- function(weight, indices, padding_index = NULL)
  record_op("embedding", list(weight, indices), c("padding_index"), c("int"), list(padding_index))

# -x log(x), 0 at 0 and -inf below.
loom_entr <- function(x)
  record_op("entr", list(x))

# x == y.
loom_equal <- function(x, y)
  record_op("equal", list(x, y))

# The error function.
loom_erf <- function(x)
  record_op("erf", list(x))

# 1 - erf(x), accurate for large x.
loom_erfc <- function(x)
  record_op("erfc", list(x))

# exp(x * x) erfc(x), without underflow for large x.
loom_erfcx <- function(x)
  record_op("erfcx", list(x))

# The inverse of erf; infinite at -1 and 1.
loom_erfinv <- function(x)
  record_op("erfinv", list(x))

# e ** x.
loom_exp <- function(x)
  record_op("exp", list(x))

# 2 ** x; exact where x is an integer and the result is normal.
loom_exp2 <- function(x)
  record_op("exp2", list(x))

# x with axes of size 1 put in, at these positions of the result.
loom_expand_dims <- function(x, axes)
  record_op("expand_dims", list(x), c("axes"), c("ints"), list(axes))

# e ** x - 1, accurate near 0.
loom_expm1 <- function(x)
  record_op("expm1", list(x))

# An n by m (n by n for None) matrix with ones on diagonal k and zeros elsewhere.
loom_eye <- function(n, dtype, m = NULL, k = 0L)
  record_op("eye", list(), c("n", "dtype", "m", "k"), c("int", "dtype", "int", "int"),
    list(n, dtype, m, k))

# What x becomes by quantisation to the integers low to high and back.
loom_fake_quantize <- function(x, scale, zero_point, low, high, axis = NULL)
  record_op("fake_quantize", list(x, scale, zero_point), c("low", "high", "axis"),
    c("int", "int", "int"), list(low, high, axis))

# The discrete Fourier transform along the axes, or the inverse one.
loom_fft <- function(x, axes, inverse = FALSE, norm = "backward")
  record_op("fft", list(x), c("axes", "inverse", "norm"), c("ints", "bool", "str"),
    list(axes, inverse, norm))

# One of the labels that is neither in 0 .. size - 1 nor ignore_index, int64; or 0.
loom_first_invalid_label <- function(labels, size, ignore_index = -100L)
  record_op("first_invalid_label", list(labels), c("size", "ignore_index"), c("int", "int"),
    list(size, ignore_index))

# One of the indices that is not in -size .. size - 1, int64; 0 where all are.
loom_first_out_of_range <- function(indices, size, negative = TRUE)
  record_op("first_out_of_range", list(indices), c("size", "negative"), c("int", "bool"),
    list(size, negative))

# The first size positions (int64), in row-major order, where x is not zero.
loom_flat_nonzero <- function(x, size)
  record_op("flat_nonzero", list(x), c("size"), c("int"), list(size))

# x with the order along these axes (all of them if None) reversed.
loom_flip <- function(x, axes = NULL)
  record_op("flip", list(x), c("axes"), c("ints"), list(axes))

# Which floating-point exceptions a function met: 1 divide by zero, 2 overflow, 4 underflow, 8
# invalid, added up, uint8.
loom_float_status <- function(result, operands, function_)
  record_op("float_status", c(list(result), operands), c("function"), c("str"), list(function_))

# The largest integer not above x.
loom_floor <- function(x)
  record_op("floor", list(x))

# x // y, rounded down.
loom_floor_divide <- function(x, y)
  record_op("floor_divide", list(x, y))

# The larger of x and y; the other one where one of them is NaN. At ties x has the gradient.
loom_fmax <- function(x, y)
  record_op("fmax", list(x, y))

# The smaller of x and y; the other one where one of them is NaN. At ties x has the gradient.
loom_fmin <- function(x, y)
  record_op("fmin", list(x, y))

# The remainder of x / y with the sign of x. Integers give 0 where y is 0.
loom_fmod <- function(x, y)
  record_op("fmod", list(x, y))

# f(f(x0, x1), x2) ... along an axis, from the first element to the last.
loom_fold <- function(x, function_, axis)
  record_op("fold", list(x), c("function", "axis"), c("str", "int"), list(function_, axis))

# A tensor of that shape, every element the 0-d value, of its dtype.
loom_full <- function(value, shape)
  record_op("full", list(value), c("shape"), c("ints"), list(shape))

# The regularised lower incomplete gamma function, for a and x from 0 on.
loom_gammainc <- function(a, x)
  record_op("gammainc", list(a, x))

# 1 - gammainc(a, x), accurate where it is small.
loom_gammaincc <- function(a, x)
  record_op("gammaincc", list(a, x))

# The greatest common divisor of |x| and |y|; gcd(0, 0) is 0.
loom_gcd <- function(x, y)
  record_op("gcd", list(x, y))

# x times the normal distribution function of x; approximate "none" or "tanh".
loom_gelu <- function(x, approximate = "none")
  record_op("gelu", list(x), c("approximate"), c("str"), list(approximate))

# x > y.
loom_greater <- function(x, y)
  record_op("greater", list(x, y))

# x >= y.
loom_greater_equal <- function(x, y)
  record_op("greater_equal", list(x, y))

# x (N, C, H, W) or (N, C, D, H, W) at the places of grid (N, ..., 2 or 3).
loom_grid_sample <- function(x, grid, mode = "bilinear", padding = "zeros", align_corners = FALSE)
  record_op("grid_sample", list(x, grid), c("mode", "padding", "align_corners"),
    c("str", "str", "bool"), list(mode, padding, align_corners))

# Channels (axis 1) in groups; each group of each sample gets mean 0 and variance 1.
loom_group_norm <- function(x, groups, weight = NULL, bias = NULL, eps = 1e-05)
  record_op("group_norm", list(x, weight, bias), c("groups", "eps"), c("int", "float"),
    list(groups, eps))

# A gated recurrent unit for each step in turn: h' = n + z * (h - n).
# Gives a list of output, state.
loom_gru <- function(x, h, w_input, w_hidden, b_input = NULL, b_hidden = NULL, lengths = NULL,
  reverse = FALSE)
  record_op("gru", list(x, h, w_input, w_hidden, b_input, b_hidden, lengths), c("reverse"),
    c("bool"), list(reverse), results = 2L)

# x, but 0 where |x| <= lambd. The gradient at NaN is 0.
loom_hardshrink <- function(x, lambd = 0.5)
  record_op("hardshrink", list(x), c("lambd"), c("float"), list(lambd))

# relu6(x + 3) / 6.
loom_hardsigmoid <- function(x)
  record_op("hardsigmoid", list(x))

# x * relu6(x + 3) / 6. The gradient is 0 up to -3, and 1 from 3 on and at NaN.
loom_hardswish <- function(x)
  record_op("hardswish", list(x))

# x limited to [min, max]. The gradient at the limits is 0.
loom_hardtanh <- function(x, min = -1.0, max = 1.0)
  record_op("hardtanh", list(x), c("min", "max"), c("float", "float"), list(min, max))

# 0 for negative x, 1 for positive x, y where x is 0, NaN for NaN.
loom_heaviside <- function(x, y)
  record_op("heaviside", list(x, y))

# The first n columns of a product of reflections I - tau_i v_i v_i^H.
loom_householder_product <- function(a, taus)
  record_op("householder_product", list(a, taus))

# d**2 / 2 where d = abs(x - target) is below delta, else delta * (d - delta / 2).
loom_huber_loss <- function(x, target, delta = 1.0, reduction = "mean")
  record_op("huber_loss", list(x, target), c("delta", "reduction"), c("float", "str"),
    list(delta, reduction))

# sqrt(x*x + y*y) without overflow, infinite if x or y is. The gradient at (0, 0) is 0, and
# where the result is infinite.
loom_hypot <- function(x, y)
  record_op("hypot", list(x, y))

# x itself, as a value of its own. The gradient passes through.
loom_identity <- function(x)
  record_op("identity", list(x))

# The imaginary part, of the real dtype; 0 if x is real.
loom_imag <- function(x)
  record_op("imag", list(x))

# The elements of x at broadcast indices, one operand for each of axes.
loom_index <- function(x, indices, axes)
  record_op("index", c(list(x), indices), c("axes"), c("ints"), list(axes))

# x with the elements that index of the same indices takes changed.
loom_index_update <- function(x, value, indices, axes, mode = "set")
  record_op("index_update", c(list(x, value), indices), c("axes", "mode"), c("ints", "str"),
    list(axes, mode))

# x ** exponent for an integer known beforehand, by repeated multiplication.
loom_integer_power <- function(x, exponent)
  record_op("integer_power", list(x), c("exponent"), c("int"), list(exponent))

# The inverse of square matrices; solve is faster and more exact where it serves.
loom_inv <- function(x)
  record_op("inv", list(x))

# A tensor whose elements are their own index along axis.
loom_iota <- function(shape, dtype, axis = 0L)
  record_op("iota", list(), c("shape", "dtype", "axis"), c("ints", "dtype", "int"),
    list(shape, dtype, axis))

# The inverse of rfft: real numbers, length along the last of the axes.
loom_irfft <- function(x, axes, length, norm = "backward")
  record_op("irfft", list(x), c("axes", "length", "norm"), c("ints", "int", "str"),
    list(axes, length, norm))

# Whether elimination finds a pivot that is exactly 0, for each square matrix.
loom_is_singular <- function(x)
  record_op("is_singular", list(x))

# Whether x, with all its parts, is neither infinite nor NaN.
loom_isfinite <- function(x)
  record_op("isfinite", list(x))

# Whether x, or a part of it, is infinite.
loom_isinf <- function(x)
  record_op("isinf", list(x))

# Whether x, or a part of it, is NaN.
loom_isnan <- function(x)
  record_op("isnan", list(x))

# target * (log(target) - x), where x holds log-probabilities; 0 where target is 0.
loom_kl_div <- function(x, target, log_target = FALSE, reduction = "mean")
  record_op("kl_div", list(x, target), c("log_target", "reduction"), c("bool", "str"),
    list(log_target, reduction))

# Kronecker's product: each element of x times the whole of y, side by side.
loom_kron <- function(x, y)
  record_op("kron", list(x, y))

# abs(x - target); the derivative is 0 where both are equal.
loom_l1_loss <- function(x, target, reduction = "mean")
  record_op("l1_loss", list(x, target), c("reduction"), c("str"), list(reduction))

# (x - mean) / sqrt(var + eps) * weight + bias over the last normalized_ndim axes.
loom_layer_norm <- function(x, weight = NULL, bias = NULL, normalized_ndim = 1L, eps = 1e-05)
  record_op("layer_norm", list(x, weight, bias), c("normalized_ndim", "eps"),
    c("int", "float"), list(normalized_ndim, eps))

# Minus the product of the gradient and the inverse Hessian that L-BFGS estimates.
loom_lbfgs_direction <- function(scale, gradient, history)
  record_op("lbfgs_direction", c(list(scale, gradient), history))

# The least common multiple of |x| and |y|; 0 if either is 0.
loom_lcm <- function(x, y)
  record_op("lcm", list(x, y))

# x * 2**exponent, exact unless the result overflows or underflows.
loom_ldexp <- function(x, exponent)
  record_op("ldexp", list(x, exponent))

# x for x > 0, negative_slope * x elsewhere.
loom_leaky_relu <- function(x, negative_slope = 0.01)
  record_op("leaky_relu", list(x), c("negative_slope"), c("float"), list(negative_slope))

# x + weight * (y - x), computed from the nearer end so that weight 1 gives y.
loom_lerp <- function(x, y, weight)
  record_op("lerp", list(x, y, weight))

# x < y.
loom_less <- function(x, y)
  record_op("less", list(x, y))

# x <= y.
loom_less_equal <- function(x, y)
  record_op("less_equal", list(x, y))

# The logarithm of the absolute value of the gamma function.
loom_lgamma <- function(x)
  record_op("lgamma", list(x))

# num evenly spaced numbers from start to stop, which endpoint includes.
loom_linspace <- function(start, stop, num, endpoint = TRUE)
  record_op("linspace", list(start, stop), c("num", "endpoint"), c("int", "bool"),
    list(num, endpoint))

# Natural logarithm; -inf at 0, NaN for negative real x.
loom_log <- function(x)
  record_op("log", list(x))

# Logarithm to base 10.
loom_log10 <- function(x)
  record_op("log10", list(x))

# log(1 + x), accurate near 0.
loom_log1p <- function(x)
  record_op("log1p", list(x))

# Logarithm to base 2.
loom_log2 <- function(x)
  record_op("log2", list(x))

# The logarithm of the normal distribution function, accurate where that is tiny.
loom_log_ndtr <- function(x)
  record_op("log_ndtr", list(x))

# log(sigmoid(x)) without underflow.
loom_log_sigmoid <- function(x)
  record_op("log_sigmoid", list(x))

# x minus the logarithm of the sum of exp(x) along an axis, without overflow.
loom_log_softmax <- function(x, axis = -1L)
  record_op("log_softmax", list(x), c("axis"), c("int"), list(axis))

# log(exp(x) + exp(y)) without overflow.
loom_logaddexp <- function(x, y)
  record_op("logaddexp", list(x, y))

# log2(2**x + 2**y) without overflow.
loom_logaddexp2 <- function(x, y)
  record_op("logaddexp2", list(x, y))

# log(cumsum(exp(x))) without overflow, with the principal logarithm.
loom_logcumsumexp <- function(x, axis, reverse = FALSE)
  record_op("logcumsumexp", list(x), c("axis", "reverse"), c("int", "bool"), list(axis, reverse))

# Whether x and y are both not zero.
loom_logical_and <- function(x, y)
  record_op("logical_and", list(x, y))

# Whether x is zero.
loom_logical_not <- function(x)
  record_op("logical_not", list(x))

# Whether x or y is not zero.
loom_logical_or <- function(x, y)
  record_op("logical_or", list(x, y))

# Whether exactly one of x and y is not zero.
loom_logical_xor <- function(x, y)
  record_op("logical_xor", list(x, y))

# log(x / (1 - x)), infinite at 0 and 1, where the gradient is too; NaN outside of [0, 1].
loom_logit <- function(x)
  record_op("logit", list(x))

# log(sum(exp(x))) without overflow, with the principal logarithm; -inf of no element.
loom_logsumexp <- function(x, axes = NULL, keepdims = FALSE)
  record_op("logsumexp", list(x), c("axes", "keepdims"), c("ints", "bool"), list(axes, keepdims))

# Long short-term memory for each step in turn: c' = f * c + i * g, h' = o * tanh(c').
# Gives a list of output, state, cell.
loom_lstm <- function(x, h, c, w_input, w_hidden, b_input = NULL, b_hidden = NULL,
  w_project = NULL, lengths = NULL, reverse = FALSE)
  record_op("lstm", list(x, h, c, w_input, w_hidden, b_input, b_hidden, w_project, lengths),
    c("reverse"), c("bool"), list(reverse), results = 3L)

# The factors of P @ x = L @ U in one matrix, and the exchanges of rows.
# Gives a list of lu, pivots.
loom_lu_factor <- function(x)
  record_op("lu_factor", list(x), results = 2L)

# x where mask is false, value where it is true; both broadcast to x.
loom_masked_fill <- function(x, mask, value)
  record_op("masked_fill", list(x, mask, value))

# The matrix product (..., m, k) @ (..., k, n) -> (..., m, n).
loom_matmul <- function(x, y)
  record_op("matmul", list(x, y))

# The exponential of square matrices. Raises ShapeError, DTypeError.
loom_matrix_exp <- function(x)
  record_op("matrix_exp", list(x))

# Square matrices multiplied by themselves; the inverse for a negative exponent.
loom_matrix_power <- function(x, exponent)
  record_op("matrix_power", list(x), c("exponent"), c("int"), list(exponent))

# The largest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.
loom_max <- function(x, axes = NULL, keepdims = FALSE)
  record_op("max", list(x), c("axes", "keepdims"), c("ints", "bool"), list(axes, keepdims))

# The largest element in each place of a window that moves over the last axes.
loom_max_pool <- function(x, window, strides = NULL, padding_low = NULL, padding_high = NULL,
  dilation = NULL)
  record_op("max_pool", list(x),
    c("window", "strides", "padding_low", "padding_high", "dilation"),
    c("ints", "ints", "ints", "ints", "ints"),
    list(window, strides, padding_low, padding_high, dilation))

# Where max_pool finds its results: positions (int64) in the axes moved over, flat.
loom_max_pool_indices <- function(x, window, strides = NULL, padding_low = NULL,
  padding_high = NULL, dilation = NULL)
  record_op("max_pool_indices", list(x),
    c("window", "strides", "padding_low", "padding_high", "dilation"),
    c("ints", "ints", "ints", "ints", "ints"),
    list(window, strides, padding_low, padding_high, dilation))

# The larger of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
# each gets all of it.
loom_maximum <- function(x, y)
  record_op("maximum", list(x, y))

# The arithmetic mean; NaN of no element.
loom_mean <- function(x, axes = NULL, keepdims = FALSE)
  record_op("mean", list(x), c("axes", "keepdims"), c("ints", "bool"), list(axes, keepdims))

# The smallest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.
loom_min <- function(x, axes = NULL, keepdims = FALSE)
  record_op("min", list(x), c("axes", "keepdims"), c("ints", "bool"), list(axes, keepdims))

# The smaller of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
# each gets all of it.
loom_minimum <- function(x, y)
  record_op("minimum", list(x, y))

# x * tanh(log(1 + exp(x))).
loom_mish <- function(x)
  record_op("mish", list(x))

# x with axis source[i] at position destination[i], the others in order.
loom_moveaxis <- function(x, source, destination)
  record_op("moveaxis", list(x), c("source", "destination"), c("ints", "ints"),
    list(source, destination))

# (x - target) ** 2. Raises ShapeError, ArgumentError.
loom_mse_loss <- function(x, target, reduction = "mean")
  record_op("mse_loss", list(x, target), c("reduction"), c("str"), list(reduction))

# x * y. For bool, logical and, as in NumPy.
loom_multiply <- function(x, y)
  record_op("multiply", list(x, y))

# x with NaN and infinities replaced; infinities by the largest numbers for None.
loom_nan_to_num <- function(x, nan = 0.0, posinf = NULL, neginf = NULL)
  record_op("nan_to_num", list(x), c("nan", "posinf", "neginf"), c("float", "float", "float"),
    list(nan, posinf, neginf))

# The inverse of the normal distribution function; infinite at 0 and 1, NaN outside.
loom_ndtri <- function(x)
  record_op("ndtri", list(x))

# -x; unsigned integers wrap.
loom_negative <- function(x)
  record_op("negative", list(x))

# The next number after x in the direction of y.
loom_nextafter <- function(x, y)
  record_op("nextafter", list(x, y))

# -log_probabilities[label], per element of labels; else as cross_entropy.
loom_nll_loss <- function(log_probabilities, labels, weight = NULL, axis = -1L,
  ignore_index = -100L, reduction = "mean")
  record_op("nll_loss", list(log_probabilities, labels, weight),
    c("axis", "ignore_index", "reduction"), c("int", "int", "str"),
    list(axis, ignore_index, reduction))

# The vector norm sum(|x|**order)**(1/order).
loom_norm <- function(x, axes = NULL, order = 2.0, keepdims = FALSE)
  record_op("norm", list(x), c("axes", "order", "keepdims"), c("ints", "float", "bool"),
    list(axes, order, keepdims))

# x != y.
loom_not_equal <- function(x, y)
  record_op("not_equal", list(x, y))

# A new last axis of size depth: one at the index, zero elsewhere.
loom_one_hot <- function(indices, depth, dtype)
  record_op("one_hot", list(indices), c("depth", "dtype"), c("int", "dtype"), list(depth, dtype))

# The polynomial of degree n (rounded towards zero) of Hermite (kind "hermite_h", or
# "hermite_he" of the probabilists), Laguerre ("laguerre_l") or Legendre ("legendre_p"); 0 for a
# negative degree.
loom_orthogonal_polynomial <- function(x, n, kind)
  record_op("orthogonal_polynomial", list(x, n), c("kind"), c("str"), list(kind))

# All products of an element of x and one of y: the axes of x, then those of y.
loom_outer <- function(x, y)
  record_op("outer", list(x, y))

# x with value (0-d) before, after and between its elements, counts per axis.
loom_pad <- function(x, value, low, high, interior = NULL)
  record_op("pad", list(x, value), c("low", "high", "interior"), c("ints", "ints", "ints"),
    list(low, high, interior))

# The elements that a window sees in each of its places, as it moves over the last axes.
loom_patches <- function(x, window, strides = NULL, padding_low = NULL, padding_high = NULL,
  dilation = NULL)
  record_op("patches", list(x),
    c("window", "strides", "padding_low", "padding_high", "dilation"),
    c("ints", "ints", "ints", "ints", "ints"),
    list(window, strides, padding_low, padding_high, dilation))

# The transpose of patches: each element of an array of last axes sizes is the sum of what x
# holds for it in the windows that see it.
loom_patches_sum <- function(x, sizes, window, strides = NULL, padding_low = NULL,
  padding_high = NULL, dilation = NULL)
  record_op("patches_sum", list(x),
    c("sizes", "window", "strides", "padding_low", "padding_high", "dilation"),
    c("ints", "ints", "ints", "ints", "ints", "ints"),
    list(sizes, window, strides, padding_low, padding_high, dilation))

# The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
loom_pinv <- function(x, rtol = 1e-15)
  record_op("pinv", list(x), c("rtol"), c("float"), list(rtol))

# The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
loom_pinv_within <- function(x, atol, rtol, hermitian = FALSE)
  record_op("pinv_within", list(x, atol, rtol), c("hermitian"), c("bool"), list(hermitian))

# Where each of size rows comes from after the exchanges of lu_factor; int32.
loom_pivots_to_permutation <- function(pivots, size)
  record_op("pivots_to_permutation", list(pivots), c("size"), c("int"), list(size))

# x on the devices, and divided over them, that the text of a placement names.
loom_place <- function(x, placement = "default:0/whole/row-major/device")
  record_op("place", list(x), c("placement"), c("str"), list(placement))

# Derivative number order of digamma; infinite at 0 and, of order 1 and more, at the negative
# integers.
loom_polygamma <- function(x, order)
  record_op("polygamma", list(x), c("order"), c("int"), list(order))

# The number of one bits of x in two's complement, of the dtype of x.
loom_population_count <- function(x)
  record_op("population_count", list(x))

# +x, which is x.
loom_positive <- function(x)
  record_op("positive", list(x))

# x ** y.
loom_power <- function(x, y)
  record_op("power", list(x, y))

# x for x > 0, slope * x elsewhere; the slope is an operand and gets a gradient.
loom_prelu <- function(x, slope)
  record_op("prelu", list(x, slope))

# The product of the elements, cast to dtype first if that is given; 1 of none.
loom_prod <- function(x, axes = NULL, dtype = NULL, keepdims = FALSE)
  record_op("prod", list(x), c("axes", "dtype", "keepdims"), c("ints", "dtype", "bool"),
    list(axes, dtype, keepdims))

# x (..., m, n) as a product of q with orthonormal columns and upper triangular r.
# Gives a list of q, r.
loom_qr <- function(x, mode = "reduced")
  record_op("qr", list(x), c("mode"), c("str"), list(mode), results = 2L)

# The factors of qr as LAPACK keeps them, the first transposed.
# Gives a list of h, tau.
loom_qr_raw <- function(x)
  record_op("qr_raw", list(x), results = 2L)

# x / scale, rounded, plus zero_point, as dtype, int8 or uint8.
loom_quantize <- function(x, scale, dtype, zero_point = NULL, axis = NULL)
  record_op("quantize", list(x, scale, zero_point), c("dtype", "axis"), c("dtype", "int"),
    list(dtype, axis))

# True with probability p.
loom_random_bernoulli <- function(key, p, shape)
  record_op("random_bernoulli", list(key, p), c("shape"), c("ints"), list(shape))

# Beta numbers of parameters a and b.
loom_random_beta <- function(key, a, b, shape)
  record_op("random_beta", list(key, a, b), c("shape"), c("ints"), list(shape))

# Numbers (int64) of successes of probability p in n trials, n rounded down.
loom_random_binomial <- function(key, n, p, shape)
  record_op("random_binomial", list(key, n, p), c("shape"), c("ints"), list(shape))

# Unsigned integers, every bit of which is random.
loom_random_bits <- function(key, shape, dtype = "uint32")
  record_op("random_bits", list(key), c("shape", "dtype"), c("ints", "dtype"), list(shape, dtype))

# Indices (int64) into the last axis of logits, of probability softmax(logits).
loom_random_categorical <- function(key, logits, shape)
  record_op("random_categorical", list(key, logits), c("shape"), c("ints"), list(shape))

# Cauchy numbers of location 0 and scale 1.
loom_random_cauchy <- function(key, shape, dtype = "float32")
  record_op("random_cauchy", list(key), c("shape", "dtype"), c("ints", "dtype"),
    list(shape, dtype))

# Exponential numbers of mean 1.
loom_random_exponential <- function(key, shape, dtype = "float32")
  record_op("random_exponential", list(key), c("shape", "dtype"), c("ints", "dtype"),
    list(shape, dtype))

# A key made of a key and a 0-d integer (its low 32 bits), such as a step's number.
loom_random_fold_in <- function(key, data)
  record_op("random_fold_in", list(key, data))

# Gamma numbers of shape parameter a and scale 1. There is no second derivative.
loom_random_gamma <- function(key, a, shape)
  record_op("random_gamma", list(key, a), c("shape"), c("ints"), list(shape))

# The number (int64) of trials up to the first success of probability p, 1 or more.
loom_random_geometric <- function(key, p, shape)
  record_op("random_geometric", list(key, p), c("shape"), c("ints"), list(shape))

# Gumbel numbers of location 0 and scale 1.
loom_random_gumbel <- function(key, shape, dtype = "float32")
  record_op("random_gumbel", list(key), c("shape", "dtype"), c("ints", "dtype"),
    list(shape, dtype))

# Numbers (int64) of good ones among drawn of good + bad, without replacement.
loom_random_hypergeometric <- function(key, good, bad, drawn, shape)
  record_op("random_hypergeometric", list(key, good, bad, drawn), c("shape"), c("ints"),
    list(shape))

# Integers from low to high - 1, to high with endpoint; low where there are none.
loom_random_integers <- function(key, low, high, shape, endpoint = FALSE)
  record_op("random_integers", list(key, low, high), c("shape", "endpoint"), c("ints", "bool"),
    list(shape, endpoint))

# Laplace numbers of location 0 and scale 1.
loom_random_laplace <- function(key, shape, dtype = "float32")
  record_op("random_laplace", list(key), c("shape", "dtype"), c("ints", "dtype"),
    list(shape, dtype))

# Logistic numbers of location 0 and scale 1.
loom_random_logistic <- function(key, shape, dtype = "float32")
  record_op("random_logistic", list(key), c("shape", "dtype"), c("ints", "dtype"),
    list(shape, dtype))

# How often (int64) each class was met in n draws; a class each along the last axis of p.
loom_random_multinomial <- function(key, n, p, shape)
  record_op("random_multinomial", list(key, n, p), c("shape"), c("ints"), list(shape))

# How many (int64) of each color are among drawn without replacement.
loom_random_multivariate_hypergeometric <- function(key, drawn, colors, shape)
  record_op("random_multivariate_hypergeometric", list(key, drawn, colors), c("shape"),
    c("ints"), list(shape))

# Normal numbers; mean is 0 and std 1 if absent. Complex parts have variance 1/2 each.
loom_random_normal <- function(key, shape, mean = NULL, std = NULL, dtype = "float32")
  record_op("random_normal", list(key, mean, std), c("shape", "dtype"), c("ints", "dtype"),
    list(shape, dtype))

# The integers from 0 to n - 1 (int64) in random order.
loom_random_permutation <- function(key, n)
  record_op("random_permutation", list(key), c("n"), c("int"), list(n))

# Poisson numbers (int64) of mean rate; -1 where that is negative or NaN.
loom_random_poisson <- function(key, rate, shape)
  record_op("random_poisson", list(key, rate), c("shape"), c("ints"), list(shape))

# num keys (uint32[num, 2]) whose numbers are independent of each other's.
loom_random_split <- function(key, num = 2L)
  record_op("random_split", list(key), c("num"), c("int"), list(num))

# Numbers of the standard normal distribution limited to [low, high].
loom_random_truncated_normal <- function(key, low, high, shape)
  record_op("random_truncated_normal", list(key, low, high), c("shape"), c("ints"), list(shape))

# Numbers between low and high; high itself only by rounding.
loom_random_uniform <- function(key, low, high, shape)
  record_op("random_uniform", list(key, low, high), c("shape"), c("ints"), list(shape))

# Angles from -pi to pi, von Mises of mean 0; NaN where kappa is negative or NaN.
loom_random_von_mises <- function(key, kappa, shape)
  record_op("random_von_mises", list(key, kappa), c("shape"), c("ints"), list(shape))

# Zipf numbers (int64), of probability proportional to k**-a, limited to 2**63 - 1.
loom_random_zipf <- function(key, a, shape)
  record_op("random_zipf", list(key, a), c("shape"), c("ints"), list(shape))

# The real part, of the real dtype; x itself if it is real.
loom_real <- function(x)
  record_op("real", list(x))

# 1 / x.
loom_reciprocal <- function(x)
  record_op("reciprocal", list(x))

# This process's part, along axis, of the reduction of the operands of a group.
loom_reduce_scatter <- function(x, group, world, reduction = "sum", axis = 0L, axes = "")
  record_op("reduce_scatter", list(x), c("group", "world", "reduction", "axis", "axes"),
    c("ints", "int", "str", "int", "str"), list(group, world, reduction, axis, axes))

# max(x, 0), NaN for NaN. The gradient at 0 is 0.
loom_relu <- function(x)
  record_op("relu", list(x))

# x limited to [0, 6]. The gradient at the limits is 0.
loom_relu6 <- function(x)
  record_op("relu6", list(x))

# x % y with the sign of y, as Python's.
loom_remainder <- function(x, y)
  record_op("remainder", list(x, y))

# x with every element taken repeats times in a row, along an axis.
loom_repeat <- function(x, repeats, axis = NULL)
  record_op("repeat", list(x), c("repeats", "axis"), c("int", "int"), list(repeats, axis))

# The elements of x, in row-major order, in another shape.
loom_reshape <- function(x, shape)
  record_op("reshape", list(x), c("shape"), c("ints"), list(shape))

# The Fourier transform of real numbers: the half of it that tells the other.
loom_rfft <- function(x, axes, norm = "backward")
  record_op("rfft", list(x), c("axes", "norm"), c("ints", "str"), list(axes, norm))

# x / sqrt(mean(x**2) + eps) * weight over the last normalized_ndim axes.
loom_rms_norm <- function(x, weight = NULL, normalized_ndim = 1L, eps = 1e-05)
  record_op("rms_norm", list(x, weight), c("normalized_ndim", "eps"), c("int", "float"),
    list(normalized_ndim, eps))

# h' = f(x @ w_input.T + b_input + h @ w_hidden.T + b_hidden) for each step in turn.
# Gives a list of output, state.
loom_rnn <- function(x, h, w_input, w_hidden, b_input = NULL, b_hidden = NULL, lengths = NULL,
  activation = "tanh", reverse = FALSE)
  record_op("rnn", list(x, h, w_input, w_hidden, b_input, b_hidden, lengths),
    c("activation", "reverse"), c("str", "bool"), list(activation, reverse), results = 2L)

# x shifted around along axes: element i moves to (i + shift) % size.
loom_roll <- function(x, shifts, axes = NULL)
  record_op("roll", list(x), c("shifts", "axes"), c("ints", "ints"), list(shifts, axes))

# x rounded to decimals decimal places, halves to the even neighbour.
loom_round <- function(x, decimals = 0L)
  record_op("round", list(x), c("decimals"), c("int"), list(decimals))

# 1 / sqrt(x).
loom_rsqrt <- function(x)
  record_op("rsqrt", list(x))

# All the results of fold on its way along an axis, the first element included.
loom_running_fold <- function(x, function_, axis)
  record_op("running_fold", list(x), c("function", "axis"), c("str", "int"),
    list(function_, axis))

# Means and variances kept over batches: (1 - momentum) * old + momentum * new, of each.
# Gives a list of mean, variance.
loom_running_moments <- function(mean, variance, new_mean, new_variance, momentum, num = 0L)
  record_op("running_moments", list(mean, variance, new_mean, new_variance, momentum),
    c("num"), c("int"), list(num), results = 2L)

# softmax(q @ k.T * scale + mask) @ v for q (..., L, E), k (..., S, E), v (..., S, V).
loom_scaled_dot_product_attention <- function(q, k, v, mask = NULL, causal = FALSE, scale = NULL)
  record_op("scaled_dot_product_attention", list(q, k, v, mask), c("causal", "scale"),
    c("bool", "float"), list(causal, scale))

# x[i, indices[i, j, k], k] = updates[i, j, k] for axis 1, and so on, in a copy.
loom_scatter_along_axis <- function(x, indices, updates, axis = -1L, mode = "set")
  record_op("scatter_along_axis", list(x, indices, updates), c("axis", "mode"),
    c("int", "str"), list(axis, mode))

# Where each of values would go into sorted, which ascends along its last axis, int64.
loom_searchsorted <- function(sorted, values, side = "left")
  record_op("searchsorted", list(sorted, values), c("side"), c("str"), list(side))

# fold of segments along an axis: from each of starts to the next one.
loom_segment_fold <- function(x, starts, function_, axis)
  record_op("segment_fold", list(x, starts), c("function", "axis"), c("str", "int"),
    list(function_, axis))

# The first half of the tensors if the condition holds, otherwise the second half.
loom_select_all <- function(condition, tensors)
  record_op("select_all", c(list(condition), tensors), results = 0L)

# 1.0507... * elu(x, 1.6733...).
loom_selu <- function(x)
  record_op("selu", list(x))

# x << y; 0 where y is negative or not below the number of bits.
loom_shift_left <- function(x, y)
  record_op("shift_left", list(x, y))

# x >> y, keeping the sign; 0 or -1 where y is negative or not below the number of bits.
loom_shift_right <- function(x, y)
  record_op("shift_right", list(x, y))

# 1 / (1 + exp(-x)).
loom_sigmoid <- function(x)
  record_op("sigmoid", list(x))

# -1, 0 or 1; x / |x| for complex operands, NaN for NaN; 0 for -0.0.
loom_sign <- function(x)
  record_op("sign", list(x))

# Whether x is negative; for floating-point x its sign bit, of -0.0 and NaN too.
loom_signbit <- function(x)
  record_op("signbit", list(x))

# x * sigmoid(x).
loom_silu <- function(x)
  record_op("silu", list(x))

# Sine of x in radians.
loom_sin <- function(x)
  record_op("sin", list(x))

# sin(pi x) / (pi x), 1 at 0.
loom_sinc <- function(x)
  record_op("sinc", list(x))

# Hyperbolic sine.
loom_sinh <- function(x)
  record_op("sinh", list(x))

# The elements at range(start, stop, stride) along each axis.
loom_slice <- function(x, starts, stops, strides = NULL)
  record_op("slice", list(x), c("starts", "stops", "strides"), c("ints", "ints", "ints"),
    list(starts, stops, strides))

# x with the elements that slice of the same attributes takes replaced.
loom_slice_update <- function(x, update, starts, stops, strides = NULL)
  record_op("slice_update", list(x, update), c("starts", "stops", "strides"),
    c("ints", "ints", "ints"), list(starts, stops, strides))

# Sign (or phase) of the determinant, and the logarithm of its absolute value.
# Gives a list of sign, logabsdet.
loom_slogdet <- function(x)
  record_op("slogdet", list(x), results = 2L)

# -sum(targets * log_softmax(logits)) along axis, the classes.
loom_soft_cross_entropy <- function(logits, targets, axis = -1L, label_smoothing = 0.0,
  reduction = "mean")
  record_op("soft_cross_entropy", list(logits, targets),
    c("axis", "label_smoothing", "reduction"), c("int", "float", "str"),
    list(axis, label_smoothing, reduction))

# exp(x) divided by its sum along an axis; the largest element is taken off first.
loom_softmax <- function(x, axis = -1L)
  record_op("softmax", list(x), c("axis"), c("int"), list(axis))

# log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold.
loom_softplus <- function(x, beta = 1.0, threshold = 20.0)
  record_op("softplus", list(x), c("beta", "threshold"), c("float", "float"),
    list(beta, threshold))

# x moved towards 0 by lambd, 0 within lambd of it; NaN, of gradient 0, for NaN.
loom_softshrink <- function(x, lambd = 0.5)
  record_op("softshrink", list(x), c("lambd"), c("float"), list(lambd))

# x / (1 + |x|).
loom_softsign <- function(x)
  record_op("softsign", list(x))

# The x with a @ x == b, for square a (..., n, n) and b (..., n, k).
loom_solve <- function(a, b)
  record_op("solve", list(a, b))

# The elements of x in order along an axis. Raises ArgumentError.
loom_sort <- function(x, axis = -1L, descending = FALSE, stable = TRUE)
  record_op("sort", list(x), c("axis", "descending", "stable"), c("int", "bool", "bool"),
    list(axis, descending, stable))

# What sort and argsort give, by one sort. Raises ArgumentError.
# Gives a list of values, indices.
loom_sort_with_indices <- function(x, axis = -1L, descending = FALSE, stable = TRUE)
  record_op("sort_with_indices", list(x), c("axis", "descending", "stable"),
    c("int", "bool", "bool"), list(axis, descending, stable), results = 2L)

# sin(x) / x, the spherical Bessel function of order 0; 1 at 0, and 0 at the infinities.
loom_spherical_bessel_j0 <- function(x)
  record_op("spherical_bessel_j0", list(x))

# x cut along an axis into parts of these sizes: one result for each.
loom_split <- function(x, sizes, axis = 0L)
  record_op("split", list(x), c("sizes", "axis"), c("ints", "int"), list(sizes, axis),
    results = 0L)

# Square root; NaN for negative real x. The gradient at 0 is infinite.
loom_sqrt <- function(x)
  record_op("sqrt", list(x))

# x * x.
loom_square <- function(x)
  record_op("square", list(x))

# x without these axes of size 1; without any such axis if axes is None.
loom_squeeze <- function(x, axes = NULL)
  record_op("squeeze", list(x), c("axes"), c("ints"), list(axes))

# The operands, all of one shape, joined along a new axis at position axis.
loom_stack <- function(xs, axis = 0L)
  record_op("stack", xs, c("axis"), c("int"), list(axis))

# The square root of var. The gradient is 0 where the variance is 0, as PyTorch's.
loom_std <- function(x, axes = NULL, correction = 0.0, keepdims = FALSE)
  record_op("std", list(x), c("axes", "correction", "keepdims"), c("ints", "float", "bool"),
    list(axes, correction, keepdims))

# Adadelta; the state is the means of squared gradients and of squared moves.
loom_step_adadelta <- function(step, lr, rho, eps, weight_decay, tensors, decays = FALSE,
  maximize = FALSE)
  record_op("step_adadelta", c(list(step, lr, rho, eps, weight_decay), tensors),
    c("decays", "maximize"), c("bool", "bool"), list(decays, maximize), results = 0L)

# Adafactor; with factored the variances are those of rows and those of columns.
loom_step_adafactor <- function(step, lr, beta2_decay, eps1, eps2, d, weight_decay, tensors,
  factored = TRUE, decays = FALSE, maximize = FALSE)
  record_op("step_adafactor",
    c(list(step, lr, beta2_decay, eps1, eps2, d, weight_decay), tensors),
    c("factored", "decays", "maximize"), c("bool", "bool", "bool"),
    list(factored, decays, maximize), results = 0L)

# Adagrad; the state is the sums of squared gradients. Raises ShapeError, ArgumentError.
loom_step_adagrad <- function(step, lr, eps, weight_decay, lr_decay, tensors, decays = FALSE,
  maximize = FALSE)
  record_op("step_adagrad", c(list(step, lr, eps, weight_decay, lr_decay), tensors),
    c("decays", "maximize"), c("bool", "bool"), list(decays, maximize), results = 0L)

# Adam and AdamW; the state is the means of gradients and of their squares.
loom_step_adam <- function(step, lr, beta1, beta2, eps, weight_decay, tensors, amsgrad = FALSE,
  decays = FALSE, decoupled = FALSE, maximize = FALSE)
  record_op("step_adam", c(list(step, lr, beta1, beta2, eps, weight_decay), tensors),
    c("amsgrad", "decays", "decoupled", "maximize"), c("bool", "bool", "bool", "bool"),
    list(amsgrad, decays, decoupled, maximize), results = 0L)

# AdaMax; the state is the means of gradients and the decaying largest moduli.
loom_step_adamax <- function(step, lr, beta1, beta2, eps, weight_decay, tensors,
  decays = FALSE, maximize = FALSE)
  record_op("step_adamax", c(list(step, lr, beta1, beta2, eps, weight_decay), tensors),
    c("decays", "maximize"), c("bool", "bool"), list(decays, maximize), results = 0L)

# Averaged SGD: a step of rate eta, whose results mu moves the averages to.
loom_step_asgd <- function(step, eta, mu, lr, lambd, alpha, t0, weight_decay, tensors,
  decays = FALSE, maximize = FALSE)
  record_op("step_asgd", c(list(step, eta, mu, lr, lambd, alpha, t0, weight_decay), tensors),
    c("decays", "maximize"), c("bool", "bool"), list(decays, maximize), results = 0L)

# Momentum whose matrix is brought near an orthogonal one by a few Newton-Schulz steps.
loom_step_muon <- function(lr, weight_decay, momentum, eps, tensors, coefficients, steps,
  nesterov = TRUE, adjust = "original")
  record_op("step_muon", c(list(lr, weight_decay, momentum, eps), tensors),
    c("coefficients", "steps", "nesterov", "adjust"), c("floats", "int", "bool", "str"),
    list(coefficients, steps, nesterov, adjust), results = 0L)

# NAdam; product is that of the momenta beta1 * (1 - 0.96**(t * momentum_decay) / 2).
loom_step_nadam <- function(step, product, lr, beta1, beta2, eps, weight_decay, momentum_decay,
  tensors, decays = FALSE, decoupled = FALSE, maximize = FALSE)
  record_op("step_nadam",
    c(list(step, product, lr, beta1, beta2, eps, weight_decay, momentum_decay), tensors),
    c("decays", "decoupled", "maximize"), c("bool", "bool", "bool"),
    list(decays, decoupled, maximize), results = 0L)

# RAdam: without the squares as long as their means are of too few steps.
loom_step_radam <- function(step, lr, beta1, beta2, eps, weight_decay, tensors, decays = FALSE,
  decoupled = FALSE, maximize = FALSE)
  record_op("step_radam", c(list(step, lr, beta1, beta2, eps, weight_decay), tensors),
    c("decays", "decoupled", "maximize"), c("bool", "bool", "bool"),
    list(decays, decoupled, maximize), results = 0L)

# RMSprop; with momentous a momentum, with centered the mean gradient is state, too.
loom_step_rmsprop <- function(step, lr, alpha, eps, weight_decay, momentum, tensors,
  momentous = FALSE, centered = FALSE, decays = FALSE, maximize = FALSE)
  record_op("step_rmsprop", c(list(step, lr, alpha, eps, weight_decay, momentum), tensors),
    c("momentous", "centered", "decays", "maximize"), c("bool", "bool", "bool", "bool"),
    list(momentous, centered, decays, maximize), results = 0L)

# Resilient propagation: step sizes that grow while a gradient keeps its sign.
loom_step_rprop <- function(step, shrink, grow, least, most, tensors, maximize = FALSE)
  record_op("step_rprop", c(list(step, shrink, grow, least, most), tensors), c("maximize"),
    c("bool"), list(maximize), results = 0L)

# Stochastic gradient descent; with momentous the momenta are part of the tensors.
loom_step_sgd <- function(lr, weight_decay, momentum, share, tensors, momentous = FALSE,
  nesterov = FALSE, decays = FALSE, maximize = FALSE, detached = FALSE)
  record_op("step_sgd", c(list(lr, weight_decay, momentum, share), tensors),
    c("momentous", "nesterov", "decays", "maximize", "detached"),
    c("bool", "bool", "bool", "bool", "bool"),
    list(momentous, nesterov, decays, maximize, detached), results = 0L)

# The data of y with the gradient of x: the cotangent passes to x unchanged.
loom_straight_through <- function(x, y)
  record_op("straight_through", list(x, y))

# x - y.
loom_subtract <- function(x, y)
  record_op("subtract", list(x, y))

# The sum of the elements, cast to dtype first if that is given; 0 of none.
loom_sum <- function(x, axes = NULL, dtype = NULL, keepdims = FALSE)
  record_op("sum", list(x), c("axes", "dtype", "keepdims"), c("ints", "dtype", "bool"),
    list(axes, dtype, keepdims))

# x (..., m, n) as u @ diag(s) @ vh; s is real, not negative and descending.
# Gives a list of u, s, vh.
loom_svd <- function(x)
  record_op("svd", list(x), results = 3L)

# As svd, but with square u (..., m, m) and vh (..., n, n).
# Gives a list of u, s, vh.
loom_svd_full <- function(x)
  record_op("svd_full", list(x), results = 3L)

# The singular values of matrices, descending. Raises ShapeError, DTypeError.
loom_svdvals <- function(x)
  record_op("svdvals", list(x))

# x with two axes exchanged. Raises ArgumentError for an axis out of range.
loom_swapaxes <- function(x, axis1, axis2)
  record_op("swapaxes", list(x), c("axis1", "axis2"), c("int", "int"), list(axis1, axis2))

# The slices of x at indices along an axis; the indices' axes take its place.
loom_take <- function(x, indices, axis = 0L)
  record_op("take", list(x, indices), c("axis"), c("int"), list(axis))

# result[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on.
loom_take_along_axis <- function(x, indices, axis = -1L)
  record_op("take_along_axis", list(x, indices), c("axis"), c("int"), list(axis))

# Tangent of x in radians.
loom_tan <- function(x)
  record_op("tan", list(x))

# Hyperbolic tangent.
loom_tanh <- function(x)
  record_op("tanh", list(x))

# x - tanh(x).
loom_tanhshrink <- function(x)
  record_op("tanhshrink", list(x))

# x, but value where x <= threshold.
loom_threshold <- function(x, threshold, value)
  record_op("threshold", list(x), c("threshold", "value"), c("float", "float"),
    list(threshold, value))

# x laid side by side, repeats[i] times along axis i.
loom_tile <- function(x, repeats)
  record_op("tile", list(x), c("repeats"), c("ints"), list(repeats))

# The k largest elements along an axis, in descending order, and their positions.
# Gives a list of values, indices.
loom_top_k <- function(x, k, axis = -1L, largest = TRUE)
  record_op("top_k", list(x), c("k", "axis", "largest"), c("int", "int", "bool"),
    list(k, axis, largest), results = 2L)

# x with its axes permuted: axis i of the result is axis axes[i] of x.
loom_transpose <- function(x, axes = NULL)
  record_op("transpose", list(x), c("axes"), c("ints"), list(axes))

# The x with op(a) @ x == b, or x @ op(a) == b, for triangular a (..., n, n).
loom_triangular_solve <- function(a, b, left_side = TRUE, lower = TRUE, transpose = FALSE,
  conjugate = FALSE, unit_diagonal = FALSE)
  record_op("triangular_solve", list(a, b),
    c("left_side", "lower", "transpose", "conjugate", "unit_diagonal"),
    c("bool", "bool", "bool", "bool", "bool"),
    list(left_side, lower, transpose, conjugate, unit_diagonal))

# The lower triangles of matrices (..., m, n): zero above the k-th diagonal.
loom_tril <- function(x, k = 0L)
  record_op("tril", list(x), c("k"), c("int"), list(k))

# The upper triangles of matrices (..., m, n): zero below the k-th diagonal.
loom_triu <- function(x, k = 0L)
  record_op("triu", list(x), c("k"), c("int"), list(k))

# x rounded towards zero.
loom_trunc <- function(x)
  record_op("trunc", list(x))

# The tensors times factor, and before them 1 if any has an infinity or NaN, else 0.
loom_unscale <- function(factor, tensors)
  record_op("unscale", c(list(factor), tensors), results = 0L)

# The mean squared distance from the mean, by the two-pass formula.
loom_var <- function(x, axes = NULL, correction = 0.0, keepdims = FALSE)
  record_op("var", list(x), c("axes", "correction", "keepdims"), c("ints", "float", "bool"),
    list(axes, correction, keepdims))

# The sum of conj(x) * y along an axis, a negative one; the other axes broadcast.
loom_vecdot <- function(x, y, axis = -1L)
  record_op("vecdot", list(x, y), c("axis"), c("int"), list(axis))

# x where condition, y elsewhere. Each gets the gradient only where it was taken.
loom_where <- function(condition, x, y)
  record_op("where", list(condition, x, y))

# x * log1p(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
loom_xlog1py <- function(x, y)
  record_op("xlog1py", list(x, y))

# x * log(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
loom_xlogy <- function(x, y)
  record_op("xlogy", list(x, y))

# The Hurwitz zeta function, the sum of (k + q)**-x over k from 0; inf for x = 1.
loom_zeta <- function(x, q)
  record_op("zeta", list(x, q))
