// Written by bindings/generate.py from lazyloom_api.json; do not edit.
import type { DType, Ints, Numbers, Operand, Tensor } from "./index";

/**
 * |x|; complex operands give their modulus, of the real dtype.
 */
export function abs(x: Operand): Tensor;
/**
 * Inverse cosine, in radians; NaN outside [-1, 1] for real x.
 */
export function acos(x: Operand): Tensor;
/**
 * Inverse hyperbolic cosine; NaN below 1 for real x.
 */
export function acosh(x: Operand): Tensor;
/**
 * The mean of parts of the last axes, output of them in each, as even as possible.
 */
export function adaptive_avg_pool(x: Operand, attributes: { output: number | Ints }): Tensor;
/**
 * The largest element of parts of the last axes; parts as for adaptive_avg_pool.
 */
export function adaptive_max_pool(x: Operand, attributes: { output: number | Ints }): Tensor;
/**
 * x + y. For bool, logical or, as in NumPy.
 */
export function add(x: Operand, y: Operand): Tensor;
/**
 * x + value * y / z; value is 1 if absent.
 */
export function addcdiv(x: Operand, y: Operand, z: Operand, value?: Operand | null): Tensor;
/**
 * x + value * y * z; value is 1 if absent.
 */
export function addcmul(x: Operand, y: Operand, z: Operand, value?: Operand | null): Tensor;
/**
 * The Airy function that vanishes at infinity.
 */
export function airy_ai(x: Operand): Tensor;
/**
 * Whether no element is 0 (NaN counts as not 0); true of none.
 * Defaults: axes: null, keepdims: false
 */
export function all(x: Operand, attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
/**
 * The operands of all processes of a group, one after the other along axis.
 * Defaults: axis: 0, axes: ""
 */
export function all_gather(x: Operand, attributes: { axis?: number | bigint; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
/**
 * The reduction of the operands of all processes of a group, in each of them.
 * Defaults: reduction: "sum", axes: ""
 */
export function all_reduce(x: Operand, attributes: { reduction?: string; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
/**
 * Parts of the operands of a group: each process sends one along split_axis to each.
 * Defaults: split_axis: 0, concat_axis: 0, axes: ""
 */
export function all_to_all(x: Operand, attributes: { split_axis?: number | bigint; concat_axis?: number | bigint; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
/**
 * The argument of x in radians; 0 or pi for real x, whose gradient is 0. So is that at 0.
 */
export function angle(x: Operand): Tensor;
/**
 * Whether an element is not 0 (NaN counts as not 0); false of none.
 * Defaults: axes: null, keepdims: false
 */
export function any(x: Operand, attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
/**
 * The vector x with f(x[p], u) written to each position p in turn; f(x[p]) without an
 * update.
 * Defaults: dtype: null
 */
export function apply_at(x: Operand, positions: Operand, update: Operand | null, attributes: { function: string; dtype?: DType | null }): Tensor;
/**
 * start, start + step, ...: length elements start + i * step.
 */
export function arange(start: Operand, step: Operand, attributes: { length: number | bigint }): Tensor;
/**
 * The index (int64) of the first largest element, a NaN counting as larger than all.
 * Defaults: axis: null, keepdims: false
 */
export function argmax(x: Operand, attributes?: { axis?: number | bigint | null; keepdims?: boolean }): Tensor;
/**
 * The index (int64) of the first smallest element, a NaN counting as smaller than all.
 * Defaults: axis: null, keepdims: false
 */
export function argmin(x: Operand, attributes?: { axis?: number | bigint | null; keepdims?: boolean }): Tensor;
/**
 * The positions (int64) that put x in order along an axis. Raises ArgumentError.
 * Defaults: axis: -1, descending: false, stable: true
 */
export function argsort(x: Operand, attributes?: { axis?: number | bigint; descending?: boolean; stable?: boolean }): Tensor;
/**
 * Inverse sine, in radians; NaN outside [-1, 1] for real x.
 */
export function asin(x: Operand): Tensor;
/**
 * Inverse hyperbolic sine.
 */
export function asinh(x: Operand): Tensor;
/**
 * Inverse tangent, in radians.
 */
export function atan(x: Operand): Tensor;
/**
 * The angle of the point (x, y), in radians. The gradient at (0, 0) is 0.
 */
export function atan2(y: Operand, x: Operand): Tensor;
/**
 * Inverse hyperbolic tangent; NaN outside [-1, 1] for real x.
 */
export function atanh(x: Operand): Tensor;
/**
 * The mean of each place of a window that moves over the last axes.
 * Defaults: strides: null, padding_low: null, padding_high: null, dilation: null, count_include_pad: true
 */
export function avg_pool(x: Operand, attributes: { window: number | Ints; strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null; count_include_pad?: boolean }): Tensor;
/**
 * The first results operands, and not before the others are there as well.
 */
export function await_all(operands: Operand[], attributes: { results: number | bigint }): Tensor[];
/**
 * The position of a device along axes of a mesh, an int32; inside shard_map.
 * Defaults: axes: ""
 */
export function axis_index(attributes: { group: number | Ints; world: number | bigint; axes?: string }): Tensor;
/**
 * The operands themselves; what is computed from them is not merged with the same
 * computation elsewhere, nor begun before all of them are there.
 */
export function barrier(operands: Operand[]): Tensor[];
/**
 * (x - mean) / sqrt(variance + eps) * weight + bias, a number of each per channel.
 * Defaults: eps: 1e-05
 */
export function batch_norm_infer(x: Operand, mean: Operand, variance: Operand, weight?: Operand | null, bias?: Operand | null, attributes?: { eps?: number }): Tensor;
/**
 * Each channel (axis 1) over all samples and positions gets mean 0 and variance 1.
 * Defaults: eps: 1e-05
 */
export function batch_norm_train(x: Operand, weight?: Operand | null, bias?: Operand | null, attributes?: { eps?: number }): [y: Tensor, mean: Tensor, variance: Tensor];
/**
 * The modified Bessel function of the first kind of order 0.
 */
export function bessel_i0(x: Operand): Tensor;
/**
 * exp(-|x|) times the modified Bessel function of the first kind of order 0.
 */
export function bessel_i0e(x: Operand): Tensor;
/**
 * The modified Bessel function of the first kind of order 1.
 */
export function bessel_i1(x: Operand): Tensor;
/**
 * exp(-|x|) times the modified Bessel function of the first kind of order 1.
 */
export function bessel_i1e(x: Operand): Tensor;
/**
 * The Bessel function of the first kind of order 0; 0 at the infinities.
 */
export function bessel_j0(x: Operand): Tensor;
/**
 * The Bessel function of the first kind of order 1; 0 at the infinities.
 */
export function bessel_j1(x: Operand): Tensor;
/**
 * exp(x) times the modified Bessel function of the second kind of order 0; inf at 0, NaN
 * below.
 */
export function bessel_k0e(x: Operand): Tensor;
/**
 * exp(x) times the modified Bessel function of the second kind of order 1; inf at 0, NaN
 * below.
 */
export function bessel_k1e(x: Operand): Tensor;
/**
 * The Bessel function of the second kind of order 0; -inf at 0, NaN below.
 */
export function bessel_y0(x: Operand): Tensor;
/**
 * The Bessel function of the second kind of order 1; -inf at 0, NaN below.
 */
export function bessel_y1(x: Operand): Tensor;
/**
 * The regularised incomplete beta function, for positive a and b and x in [0, 1].
 */
export function betainc(a: Operand, b: Operand, x: Operand): Tensor;
/**
 * -(t * log(x) + (1 - t) * log(1 - x)) * w for probabilities x, logarithms at least -100.
 * Defaults: reduction: "mean"
 */
export function binary_cross_entropy(x: Operand, target: Operand, weight?: Operand | null, attributes?: { reduction?: string }): Tensor;
/**
 * -(p * t * log(sigmoid(x)) + (1 - t) * log(1 - sigmoid(x))) * w, without overflow.
 * Defaults: reduction: "mean"
 */
export function binary_cross_entropy_with_logits(logits: Operand, targets: Operand, weight?: Operand | null, positive_weight?: Operand | null, attributes?: { reduction?: string }): Tensor;
/**
 * How often each of 0 .. length - 1 occurs in x (1-d), or the sum of its weights.
 */
export function bincount(x: Operand, weights: Operand | null, attributes: { length: number | bigint }): Tensor;
/**
 * The bytes of x read as dtype.
 */
export function bitcast(x: Operand, attributes: { dtype: DType }): Tensor;
/**
 * x & y.
 */
export function bitwise_and(x: Operand, y: Operand): Tensor;
/**
 * All bits of x inverted; logical not for bool.
 */
export function bitwise_not(x: Operand): Tensor;
/**
 * x | y.
 */
export function bitwise_or(x: Operand, y: Operand): Tensor;
/**
 * x ^ y.
 */
export function bitwise_xor(x: Operand, y: Operand): Tensor;
/**
 * x repeated to shape by NumPy's broadcasting rules. Raises ShapeError.
 */
export function broadcast_to(x: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * The results of the function main of a StableHLO module, which is given as text.
 */
export function call_module(operands: Operand[], attributes: { module: string }): Tensor[];
/**
 * x converted to dtype.
 */
export function cast(x: Operand, attributes: { dtype: DType }): Tensor;
/**
 * The real cube root, of the sign of x.
 */
export function cbrt(x: Operand): Tensor;
/**
 * The smallest integer not below x.
 */
export function ceil(x: Operand): Tensor;
/**
 * x for x > 0, alpha * (exp(x / alpha) - 1) elsewhere.
 * Defaults: alpha: 1.0
 */
export function celu(x: Operand, attributes?: { alpha?: number }): Tensor;
/**
 * The Chebyshev polynomial of degree n (rounded towards zero) of the first (kind "t"),
 * second ("u"), third ("v") or fourth ("w") kind; 0 for a negative degree.
 */
export function chebyshev_polynomial(x: Operand, n: Operand, attributes: { kind: string }): Tensor;
/**
 * x itself, and flag, which is looked at before anything that depends on x is read.
 * Defaults: of: "", info: []
 */
export function checked(x: Operand, flag: Operand, attributes: { kind: string; of?: string; info?: number | Ints }): [result: Tensor, looked_at: Tensor];
/**
 * The lower triangular L with L @ L.conj().T == x, or its upper counterpart.
 * Defaults: upper: false
 */
export function cholesky(x: Operand, attributes?: { upper?: boolean }): Tensor;
/**
 * The order of the first leading minor that is not positive, 0 where there is none; int32.
 * Defaults: upper: false
 */
export function cholesky_failure(x: Operand, attributes?: { upper?: boolean }): Tensor;
/**
 * x limited to [min, max], NaN where any is; max where min > max.
 */
export function clip(x: Operand, min?: Operand | null, max?: Operand | null): Tensor;
/**
 * The operand of the process at position source of a group, in each of its processes.
 * Defaults: source: 0, axes: ""
 */
export function collective_broadcast(x: Operand, attributes: { source?: number | bigint; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
/**
 * The operand of the process that sends to this one; zeros in one that receives from none.
 * Defaults: axes: ""
 */
export function collective_permute(x: Operand, attributes: { sources: number | Ints; targets: number | Ints; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
/**
 * real + i imag, complex64 of float32 or complex128 of float64 operands.
 */
export function complex(real: Operand, imag: Operand): Tensor;
/**
 * The operands joined along an existing axis; their other sizes are equal.
 * Defaults: axis: 0
 */
export function concatenate(xs: Operand[], attributes?: { axis?: number | bigint }): Tensor;
/**
 * The complex conjugate; x itself if it is real.
 */
export function conj(x: Operand): Tensor;
/**
 * x (N, C, spatial...) convolved with weight (O, C / groups, spatial...).
 * Defaults: strides: null, padding_low: null, padding_high: null, dilation: null, input_dilation: null, groups: 1
 */
export function conv(x: Operand, weight: Operand, attributes?: { strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null; input_dilation?: number | Ints | null; groups?: number | bigint }): Tensor;
/**
 * The derivative of conv with respect to its input, as an op: weight (C, O / groups, ...).
 * Defaults: strides: null, padding_low: null, padding_high: null, output_padding: null, dilation: null, groups: 1
 */
export function conv_transpose(x: Operand, weight: Operand, attributes?: { strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; output_padding?: number | Ints | null; dilation?: number | Ints | null; groups?: number | bigint }): Tensor;
/**
 * x as a value of its own, for frontends that tell row-major copies from what they copy.
 */
export function copy(x: Operand): Tensor;
/**
 * The magnitude of x with the sign of y, zeros included. The gradient is 0 where x is.
 */
export function copysign(x: Operand, y: Operand): Tensor;
/**
 * Cosine of x in radians.
 */
export function cos(x: Operand): Tensor;
/**
 * Hyperbolic cosine.
 */
export function cosh(x: Operand): Tensor;
/**
 * The number of elements that are not 0, as int64.
 * Defaults: axes: null, keepdims: false
 */
export function count_nonzero(x: Operand, attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
/**
 * The cross product of vectors of 3 elements along an axis; the other axes broadcast.
 * Defaults: axis: -1
 */
export function cross(x: Operand, y: Operand, attributes?: { axis?: number | bigint }): Tensor;
/**
 * -log_softmax(logits)[label], per element of labels.
 * Defaults: axis: -1, label_smoothing: 0.0, ignore_index: -100, reduction: "mean"
 */
export function cross_entropy(logits: Operand, labels: Operand, weight?: Operand | null, attributes?: { axis?: number | bigint; label_smoothing?: number; ignore_index?: number | bigint | null; reduction?: string }): Tensor;
/**
 * -log of the probability of all alignments of a target with an input, for each of N.
 * Defaults: blank: 0
 */
export function ctc_loss(log_probabilities: Operand, targets: Operand, input_lengths: Operand, target_lengths: Operand, attributes?: { blank?: number | bigint }): Tensor;
/**
 * The largest element up to each one; NaN from the first NaN on.
 * Defaults: reverse: false
 */
export function cummax(x: Operand, attributes: { axis: number | bigint; reverse?: boolean }): Tensor;
/**
 * The smallest element up to each one; NaN from the first NaN on.
 * Defaults: reverse: false
 */
export function cummin(x: Operand, attributes: { axis: number | bigint; reverse?: boolean }): Tensor;
/**
 * The products of the elements up to each one; integers wrap.
 * Defaults: reverse: false
 */
export function cumprod(x: Operand, attributes: { axis: number | bigint; reverse?: boolean }): Tensor;
/**
 * The sums of the elements up to each one; integers wrap.
 * Defaults: reverse: false
 */
export function cumsum(x: Operand, attributes: { axis: number | bigint; reverse?: boolean }): Tensor;
/**
 * The first results operands; the others are what these were computed from.
 */
export function custom(operands: Operand[], attributes: { results: number | bigint }): Tensor[];
/**
 * (x - zero_point) * scale, in the dtype of scale; x is int8, uint8 or int32.
 * Defaults: axis: null
 */
export function dequantize(x: Operand, scale: Operand, zero_point?: Operand | null, attributes?: { axis?: number | bigint | null }): Tensor;
/**
 * The determinant of square matrices. Raises ShapeError, DTypeError.
 */
export function det(x: Operand): Tensor;
/**
 * Square planes, zero but for the diagonal, which is the last axis of x.
 * Defaults: offset: 0, axis1: -2, axis2: -1
 */
export function diag_embed(x: Operand, attributes?: { offset?: number | bigint; axis1?: number | bigint; axis2?: number | bigint }): Tensor;
/**
 * The diagonals of the planes of two axes: those axes go, the diagonal comes last.
 * Defaults: offset: 0, axis1: 0, axis2: 1
 */
export function diagonal(x: Operand, attributes?: { offset?: number | bigint; axis1?: number | bigint; axis2?: number | bigint }): Tensor;
/**
 * x with the elements that diagonal of the same attributes takes replaced.
 * Defaults: offset: 0, axis1: 0, axis2: 1
 */
export function diagonal_update(x: Operand, update: Operand, attributes?: { offset?: number | bigint; axis1?: number | bigint; axis2?: number | bigint }): Tensor;
/**
 * The derivative of lgamma; infinite at 0, with the sign of -x.
 */
export function digamma(x: Operand): Tensor;
/**
 * x / y, of floating-point or complex operands; by IEEE 754 for a zero y.
 */
export function divide(x: Operand, y: Operand): Tensor;
/**
 * The sum of products over pairs of axes; pairs of batch axes stay, and come first.
 * Defaults: lhs_batch: [], rhs_batch: [], accumulate: null
 */
export function dot_general(x: Operand, y: Operand, attributes: { lhs_contract: number | Ints; rhs_contract: number | Ints; lhs_batch?: number | Ints; rhs_batch?: number | Ints; accumulate?: DType | null }): Tensor;
/**
 * x with each element zero with probability rate, and divided by 1 - rate else.
 */
export function dropout(x: Operand, key: Operand, attributes: { rate: number }): Tensor;
/**
 * A block of attribute sizes that begins at the 0-d operands starts.
 */
export function dynamic_slice(x: Operand, starts: Operand[], attributes: { sizes: number | Ints }): Tensor;
/**
 * x with the block that begins at the 0-d operands starts replaced by update.
 */
export function dynamic_update_slice(x: Operand, update: Operand, starts: Operand[]): Tensor;
/**
 * Eigenvalues of square matrices, and eigenvectors as columns; both complex.
 */
export function eig(x: Operand): [eigenvalues: Tensor, eigenvectors: Tensor];
/**
 * Ascending eigenvalues of Hermitian matrices, and eigenvectors as columns.
 * Defaults: upper: false
 */
export function eigh(x: Operand, attributes?: { upper?: boolean }): [eigenvalues: Tensor, eigenvectors: Tensor];
/**
 * Eigenvalues of square matrices, complex; see eig.
 */
export function eigvals(x: Operand): Tensor;
/**
 * Ascending eigenvalues of Hermitian matrices; see eigh.
 * Defaults: upper: false
 */
export function eigvalsh(x: Operand, attributes?: { upper?: boolean }): Tensor;
/**
 * Einstein's sum: letters name axes, letters that the result lacks are summed over.
 */
export function einsum(xs: Operand[], attributes: { equation: string }): Tensor;
/**
 * x for x > 0, alpha * (exp(x) - 1) elsewhere.
 * Defaults: alpha: 1.0
 */
export function elu(x: Operand, attributes?: { alpha?: number }): Tensor;
/**
 * The rows of weight (rows, features) at indices, of any shape.
 * Defaults: padding_index: null
 */
export function embedding(weight: Operand, indices: Operand, attributes?: { padding_index?: number | bigint | null }): Tensor;
/**
 * -x log(x), 0 at 0 and -inf below.
 */
export function entr(x: Operand): Tensor;
/**
 * x == y.
 */
export function equal(x: Operand, y: Operand): Tensor;
/**
 * The error function.
 */
export function erf(x: Operand): Tensor;
/**
 * 1 - erf(x), accurate for large x.
 */
export function erfc(x: Operand): Tensor;
/**
 * exp(x * x) erfc(x), without underflow for large x.
 */
export function erfcx(x: Operand): Tensor;
/**
 * The inverse of erf; infinite at -1 and 1.
 */
export function erfinv(x: Operand): Tensor;
/**
 * e ** x.
 */
export function exp(x: Operand): Tensor;
/**
 * 2 ** x; exact where x is an integer and the result is normal.
 */
export function exp2(x: Operand): Tensor;
/**
 * x with axes of size 1 put in, at these positions of the result.
 */
export function expand_dims(x: Operand, attributes: { axes: number | Ints }): Tensor;
/**
 * e ** x - 1, accurate near 0.
 */
export function expm1(x: Operand): Tensor;
/**
 * An n by m (n by n for None) matrix with ones on diagonal k and zeros elsewhere.
 * Defaults: m: null, k: 0
 */
export function eye(attributes: { n: number | bigint; m?: number | bigint | null; k?: number | bigint; dtype: DType }): Tensor;
/**
 * What x becomes by quantisation to the integers low to high and back.
 * Defaults: axis: null
 */
export function fake_quantize(x: Operand, scale: Operand, zero_point: Operand, attributes: { axis?: number | bigint | null; low: number | bigint; high: number | bigint }): Tensor;
/**
 * The discrete Fourier transform along the axes, or the inverse one.
 * Defaults: inverse: false, norm: "backward"
 */
export function fft(x: Operand, attributes: { axes: number | Ints; inverse?: boolean; norm?: string }): Tensor;
/**
 * One of the labels that is neither in 0 .. size - 1 nor ignore_index, int64; or 0.
 * Defaults: ignore_index: -100
 */
export function first_invalid_label(labels: Operand, attributes: { size: number | bigint; ignore_index?: number | bigint | null }): Tensor;
/**
 * One of the indices that is not in -size .. size - 1, int64; 0 where all are.
 * Defaults: negative: true
 */
export function first_out_of_range(indices: Operand, attributes: { size: number | bigint; negative?: boolean }): Tensor;
/**
 * The first size positions (int64), in row-major order, where x is not zero.
 */
export function flat_nonzero(x: Operand, attributes: { size: number | bigint }): Tensor;
/**
 * x with the order along these axes (all of them if None) reversed.
 * Defaults: axes: null
 */
export function flip(x: Operand, attributes?: { axes?: number | Ints | null }): Tensor;
/**
 * Which floating-point exceptions a function met: 1 divide by zero, 2 overflow, 4
 * underflow, 8 invalid, added up, uint8.
 */
export function float_status(result: Operand, operands: Operand[], attributes: { function: string }): Tensor;
/**
 * The largest integer not above x.
 */
export function floor(x: Operand): Tensor;
/**
 * x // y, rounded down.
 */
export function floor_divide(x: Operand, y: Operand): Tensor;
/**
 * The larger of x and y; the other one where one of them is NaN. At ties x has the
 * gradient.
 */
export function fmax(x: Operand, y: Operand): Tensor;
/**
 * The smaller of x and y; the other one where one of them is NaN. At ties x has the
 * gradient.
 */
export function fmin(x: Operand, y: Operand): Tensor;
/**
 * The remainder of x / y with the sign of x. Integers give 0 where y is 0.
 */
export function fmod(x: Operand, y: Operand): Tensor;
/**
 * f(f(x0, x1), x2) ... along an axis, from the first element to the last.
 */
export function fold(x: Operand, attributes: { function: string; axis: number | bigint }): Tensor;
/**
 * A tensor of that shape, every element the 0-d value, of its dtype.
 */
export function full(value: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * The regularised lower incomplete gamma function, for a and x from 0 on.
 */
export function gammainc(a: Operand, x: Operand): Tensor;
/**
 * 1 - gammainc(a, x), accurate where it is small.
 */
export function gammaincc(a: Operand, x: Operand): Tensor;
/**
 * The greatest common divisor of |x| and |y|; gcd(0, 0) is 0.
 */
export function gcd(x: Operand, y: Operand): Tensor;
/**
 * x times the normal distribution function of x; approximate "none" or "tanh".
 * Defaults: approximate: "none"
 */
export function gelu(x: Operand, attributes?: { approximate?: string }): Tensor;
/**
 * x > y.
 */
export function greater(x: Operand, y: Operand): Tensor;
/**
 * x >= y.
 */
export function greater_equal(x: Operand, y: Operand): Tensor;
/**
 * x (N, C, H, W) or (N, C, D, H, W) at the places of grid (N, ..., 2 or 3).
 * Defaults: mode: "bilinear", padding: "zeros", align_corners: false
 */
export function grid_sample(x: Operand, grid: Operand, attributes?: { mode?: string; padding?: string; align_corners?: boolean }): Tensor;
/**
 * Channels (axis 1) in groups; each group of each sample gets mean 0 and variance 1.
 * Defaults: eps: 1e-05
 */
export function group_norm(x: Operand, weight: Operand | null, bias: Operand | null, attributes: { groups: number | bigint; eps?: number }): Tensor;
/**
 * A gated recurrent unit for each step in turn: h' = n + z * (h - n).
 * Defaults: reverse: false
 */
export function gru(x: Operand, h: Operand, w_input: Operand, w_hidden: Operand, b_input?: Operand | null, b_hidden?: Operand | null, lengths?: Operand | null, attributes?: { reverse?: boolean }): [output: Tensor, state: Tensor];
/**
 * x, but 0 where |x| <= lambd. The gradient at NaN is 0.
 * Defaults: lambd: 0.5
 */
export function hardshrink(x: Operand, attributes?: { lambd?: number }): Tensor;
/**
 * relu6(x + 3) / 6.
 */
export function hardsigmoid(x: Operand): Tensor;
/**
 * x * relu6(x + 3) / 6. The gradient is 0 up to -3, and 1 from 3 on and at NaN.
 */
export function hardswish(x: Operand): Tensor;
/**
 * x limited to [min, max]. The gradient at the limits is 0.
 * Defaults: min: -1.0, max: 1.0
 */
export function hardtanh(x: Operand, attributes?: { min?: number; max?: number }): Tensor;
/**
 * 0 for negative x, 1 for positive x, y where x is 0, NaN for NaN.
 */
export function heaviside(x: Operand, y: Operand): Tensor;
/**
 * The first n columns of a product of reflections I - tau_i v_i v_i^H.
 */
export function householder_product(a: Operand, taus: Operand): Tensor;
/**
 * d**2 / 2 where d = abs(x - target) is below delta, else delta * (d - delta / 2).
 * Defaults: delta: 1.0, reduction: "mean"
 */
export function huber_loss(x: Operand, target: Operand, attributes?: { delta?: number; reduction?: string }): Tensor;
/**
 * sqrt(x*x + y*y) without overflow, infinite if x or y is. The gradient at (0, 0) is 0,
 * and where the result is infinite.
 */
export function hypot(x: Operand, y: Operand): Tensor;
/**
 * x itself, as a value of its own. The gradient passes through.
 */
export function identity(x: Operand): Tensor;
/**
 * The imaginary part, of the real dtype; 0 if x is real.
 */
export function imag(x: Operand): Tensor;
/**
 * The elements of x at broadcast indices, one operand for each of axes.
 */
export function index(x: Operand, indices: Operand[], attributes: { axes: number | Ints }): Tensor;
/**
 * x with the elements that index of the same indices takes changed.
 * Defaults: mode: "set"
 */
export function index_update(x: Operand, value: Operand, indices: Operand[], attributes: { axes: number | Ints; mode?: string }): Tensor;
/**
 * x ** exponent for an integer known beforehand, by repeated multiplication.
 */
export function integer_power(x: Operand, attributes: { exponent: number | bigint }): Tensor;
/**
 * The inverse of square matrices; solve is faster and more exact where it serves.
 */
export function inv(x: Operand): Tensor;
/**
 * A tensor whose elements are their own index along axis.
 * Defaults: axis: 0
 */
export function iota(attributes: { shape: number | Ints; axis?: number | bigint; dtype: DType }): Tensor;
/**
 * The inverse of rfft: real numbers, length along the last of the axes.
 * Defaults: norm: "backward"
 */
export function irfft(x: Operand, attributes: { axes: number | Ints; length: number | bigint; norm?: string }): Tensor;
/**
 * Whether elimination finds a pivot that is exactly 0, for each square matrix.
 */
export function is_singular(x: Operand): Tensor;
/**
 * Whether x, with all its parts, is neither infinite nor NaN.
 */
export function isfinite(x: Operand): Tensor;
/**
 * Whether x, or a part of it, is infinite.
 */
export function isinf(x: Operand): Tensor;
/**
 * Whether x, or a part of it, is NaN.
 */
export function isnan(x: Operand): Tensor;
/**
 * target * (log(target) - x), where x holds log-probabilities; 0 where target is 0.
 * Defaults: log_target: false, reduction: "mean"
 */
export function kl_div(x: Operand, target: Operand, attributes?: { log_target?: boolean; reduction?: string }): Tensor;
/**
 * Kronecker's product: each element of x times the whole of y, side by side.
 */
export function kron(x: Operand, y: Operand): Tensor;
/**
 * abs(x - target); the derivative is 0 where both are equal.
 * Defaults: reduction: "mean"
 */
export function l1_loss(x: Operand, target: Operand, attributes?: { reduction?: string }): Tensor;
/**
 * (x - mean) / sqrt(var + eps) * weight + bias over the last normalized_ndim axes.
 * Defaults: normalized_ndim: 1, eps: 1e-05
 */
export function layer_norm(x: Operand, weight?: Operand | null, bias?: Operand | null, attributes?: { normalized_ndim?: number | bigint; eps?: number }): Tensor;
/**
 * Minus the product of the gradient and the inverse Hessian that L-BFGS estimates.
 */
export function lbfgs_direction(scale: Operand, gradient: Operand, history: Operand[]): Tensor;
/**
 * The least common multiple of |x| and |y|; 0 if either is 0.
 */
export function lcm(x: Operand, y: Operand): Tensor;
/**
 * x * 2**exponent, exact unless the result overflows or underflows.
 */
export function ldexp(x: Operand, exponent: Operand): Tensor;
/**
 * x for x > 0, negative_slope * x elsewhere.
 * Defaults: negative_slope: 0.01
 */
export function leaky_relu(x: Operand, attributes?: { negative_slope?: number }): Tensor;
/**
 * x + weight * (y - x), computed from the nearer end so that weight 1 gives y.
 */
export function lerp(x: Operand, y: Operand, weight: Operand): Tensor;
/**
 * x < y.
 */
export function less(x: Operand, y: Operand): Tensor;
/**
 * x <= y.
 */
export function less_equal(x: Operand, y: Operand): Tensor;
/**
 * The logarithm of the absolute value of the gamma function.
 */
export function lgamma(x: Operand): Tensor;
/**
 * num evenly spaced numbers from start to stop, which endpoint includes.
 * Defaults: endpoint: true
 */
export function linspace(start: Operand, stop: Operand, attributes: { num: number | bigint; endpoint?: boolean }): Tensor;
/**
 * Natural logarithm; -inf at 0, NaN for negative real x.
 */
export function log(x: Operand): Tensor;
/**
 * Logarithm to base 10.
 */
export function log10(x: Operand): Tensor;
/**
 * log(1 + x), accurate near 0.
 */
export function log1p(x: Operand): Tensor;
/**
 * Logarithm to base 2.
 */
export function log2(x: Operand): Tensor;
/**
 * The logarithm of the normal distribution function, accurate where that is tiny.
 */
export function log_ndtr(x: Operand): Tensor;
/**
 * log(sigmoid(x)) without underflow.
 */
export function log_sigmoid(x: Operand): Tensor;
/**
 * x minus the logarithm of the sum of exp(x) along an axis, without overflow.
 * Defaults: axis: -1
 */
export function log_softmax(x: Operand, attributes?: { axis?: number | bigint }): Tensor;
/**
 * log(exp(x) + exp(y)) without overflow.
 */
export function logaddexp(x: Operand, y: Operand): Tensor;
/**
 * log2(2**x + 2**y) without overflow.
 */
export function logaddexp2(x: Operand, y: Operand): Tensor;
/**
 * log(cumsum(exp(x))) without overflow, with the principal logarithm.
 * Defaults: reverse: false
 */
export function logcumsumexp(x: Operand, attributes: { axis: number | bigint; reverse?: boolean }): Tensor;
/**
 * Whether x and y are both not zero.
 */
export function logical_and(x: Operand, y: Operand): Tensor;
/**
 * Whether x is zero.
 */
export function logical_not(x: Operand): Tensor;
/**
 * Whether x or y is not zero.
 */
export function logical_or(x: Operand, y: Operand): Tensor;
/**
 * Whether exactly one of x and y is not zero.
 */
export function logical_xor(x: Operand, y: Operand): Tensor;
/**
 * log(x / (1 - x)), infinite at 0 and 1, where the gradient is too; NaN outside of [0, 1].
 */
export function logit(x: Operand): Tensor;
/**
 * log(sum(exp(x))) without overflow, with the principal logarithm; -inf of no element.
 * Defaults: axes: null, keepdims: false
 */
export function logsumexp(x: Operand, attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
/**
 * Long short-term memory for each step in turn: c' = f * c + i * g, h' = o * tanh(c').
 * Defaults: reverse: false
 */
export function lstm(x: Operand, h: Operand, c: Operand, w_input: Operand, w_hidden: Operand, b_input?: Operand | null, b_hidden?: Operand | null, w_project?: Operand | null, lengths?: Operand | null, attributes?: { reverse?: boolean }): [output: Tensor, state: Tensor, cell: Tensor];
/**
 * The factors of P @ x = L @ U in one matrix, and the exchanges of rows.
 */
export function lu_factor(x: Operand): [lu: Tensor, pivots: Tensor];
/**
 * x where mask is false, value where it is true; both broadcast to x.
 */
export function masked_fill(x: Operand, mask: Operand, value: Operand): Tensor;
/**
 * The matrix product (..., m, k) @ (..., k, n) -> (..., m, n).
 */
export function matmul(x: Operand, y: Operand): Tensor;
/**
 * The exponential of square matrices. Raises ShapeError, DTypeError.
 */
export function matrix_exp(x: Operand): Tensor;
/**
 * Square matrices multiplied by themselves; the inverse for a negative exponent.
 */
export function matrix_power(x: Operand, attributes: { exponent: number | bigint }): Tensor;
/**
 * The largest element; NaN if there is one. Elements that tie, or are NaN, share the
 * gradient.
 * Defaults: axes: null, keepdims: false
 */
export function max(x: Operand, attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
/**
 * The largest element in each place of a window that moves over the last axes.
 * Defaults: strides: null, padding_low: null, padding_high: null, dilation: null
 */
export function max_pool(x: Operand, attributes: { window: number | Ints; strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null }): Tensor;
/**
 * Where max_pool finds its results: positions (int64) in the axes moved over, flat.
 * Defaults: strides: null, padding_low: null, padding_high: null, dilation: null
 */
export function max_pool_indices(x: Operand, attributes: { window: number | Ints; strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null }): Tensor;
/**
 * The larger of x and y; NaN if either is. At ties each gets half of the gradient, with a
 * NaN each gets all of it.
 */
export function maximum(x: Operand, y: Operand): Tensor;
/**
 * The arithmetic mean; NaN of no element.
 * Defaults: axes: null, keepdims: false
 */
export function mean(x: Operand, attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
/**
 * The smallest element; NaN if there is one. Elements that tie, or are NaN, share the
 * gradient.
 * Defaults: axes: null, keepdims: false
 */
export function min(x: Operand, attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
/**
 * The smaller of x and y; NaN if either is. At ties each gets half of the gradient, with a
 * NaN each gets all of it.
 */
export function minimum(x: Operand, y: Operand): Tensor;
/**
 * x * tanh(log(1 + exp(x))).
 */
export function mish(x: Operand): Tensor;
/**
 * x with axis source[i] at position destination[i], the others in order.
 */
export function moveaxis(x: Operand, attributes: { source: number | Ints; destination: number | Ints }): Tensor;
/**
 * (x - target) ** 2. Raises ShapeError, ArgumentError.
 * Defaults: reduction: "mean"
 */
export function mse_loss(x: Operand, target: Operand, attributes?: { reduction?: string }): Tensor;
/**
 * x * y. For bool, logical and, as in NumPy.
 */
export function multiply(x: Operand, y: Operand): Tensor;
/**
 * x with NaN and infinities replaced; infinities by the largest numbers for None.
 * Defaults: nan: 0.0, posinf: null, neginf: null
 */
export function nan_to_num(x: Operand, attributes?: { nan?: number; posinf?: number | null; neginf?: number | null }): Tensor;
/**
 * The inverse of the normal distribution function; infinite at 0 and 1, NaN outside.
 */
export function ndtri(x: Operand): Tensor;
/**
 * -x; unsigned integers wrap.
 */
export function negative(x: Operand): Tensor;
/**
 * The next number after x in the direction of y.
 */
export function nextafter(x: Operand, y: Operand): Tensor;
/**
 * -log_probabilities[label], per element of labels; else as cross_entropy.
 * Defaults: axis: -1, ignore_index: -100, reduction: "mean"
 */
export function nll_loss(log_probabilities: Operand, labels: Operand, weight?: Operand | null, attributes?: { axis?: number | bigint; ignore_index?: number | bigint | null; reduction?: string }): Tensor;
/**
 * The vector norm sum(|x|**order)**(1/order).
 * Defaults: axes: null, order: 2.0, keepdims: false
 */
export function norm(x: Operand, attributes?: { axes?: number | Ints | null; order?: number; keepdims?: boolean }): Tensor;
/**
 * x != y.
 */
export function not_equal(x: Operand, y: Operand): Tensor;
/**
 * A new last axis of size depth: one at the index, zero elsewhere.
 */
export function one_hot(indices: Operand, attributes: { depth: number | bigint; dtype: DType }): Tensor;
/**
 * The polynomial of degree n (rounded towards zero) of Hermite (kind "hermite_h", or
 * "hermite_he" of the probabilists), Laguerre ("laguerre_l") or Legendre ("legendre_p"); 0
 * for a negative degree.
 */
export function orthogonal_polynomial(x: Operand, n: Operand, attributes: { kind: string }): Tensor;
/**
 * All products of an element of x and one of y: the axes of x, then those of y.
 */
export function outer(x: Operand, y: Operand): Tensor;
/**
 * x with value (0-d) before, after and between its elements, counts per axis.
 * Defaults: interior: null
 */
export function pad(x: Operand, value: Operand, attributes: { low: number | Ints; high: number | Ints; interior?: number | Ints | null }): Tensor;
/**
 * The elements that a window sees in each of its places, as it moves over the last axes.
 * Defaults: strides: null, padding_low: null, padding_high: null, dilation: null
 */
export function patches(x: Operand, attributes: { window: number | Ints; strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null }): Tensor;
/**
 * The transpose of patches: each element of an array of last axes sizes is the sum of what
 * x holds for it in the windows that see it.
 * Defaults: strides: null, padding_low: null, padding_high: null, dilation: null
 */
export function patches_sum(x: Operand, attributes: { sizes: number | Ints; window: number | Ints; strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null }): Tensor;
/**
 * The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
 * Defaults: rtol: 1e-15
 */
export function pinv(x: Operand, attributes?: { rtol?: number }): Tensor;
/**
 * The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
 * Defaults: hermitian: false
 */
export function pinv_within(x: Operand, atol: Operand, rtol: Operand, attributes?: { hermitian?: boolean }): Tensor;
/**
 * Where each of size rows comes from after the exchanges of lu_factor; int32.
 */
export function pivots_to_permutation(pivots: Operand, attributes: { size: number | bigint }): Tensor;
/**
 * x on the devices, and divided over them, that the text of a placement names.
 * Defaults: placement: "default:0/whole/row-major/device"
 */
export function place(x: Operand, attributes?: { placement?: string }): Tensor;
/**
 * Derivative number order of digamma; infinite at 0 and, of order 1 and more, at the
 * negative integers.
 */
export function polygamma(x: Operand, attributes: { order: number | bigint }): Tensor;
/**
 * The number of one bits of x in two's complement, of the dtype of x.
 */
export function population_count(x: Operand): Tensor;
/**
 * +x, which is x.
 */
export function positive(x: Operand): Tensor;
/**
 * x ** y.
 */
export function power(x: Operand, y: Operand): Tensor;
/**
 * x for x > 0, slope * x elsewhere; the slope is an operand and gets a gradient.
 */
export function prelu(x: Operand, slope: Operand): Tensor;
/**
 * The product of the elements, cast to dtype first if that is given; 1 of none.
 * Defaults: axes: null, dtype: null, keepdims: false
 */
export function prod(x: Operand, attributes?: { axes?: number | Ints | null; dtype?: DType | null; keepdims?: boolean }): Tensor;
/**
 * x (..., m, n) as a product of q with orthonormal columns and upper triangular r.
 * Defaults: mode: "reduced"
 */
export function qr(x: Operand, attributes?: { mode?: string }): [q: Tensor, r: Tensor];
/**
 * The factors of qr as LAPACK keeps them, the first transposed.
 */
export function qr_raw(x: Operand): [h: Tensor, tau: Tensor];
/**
 * x / scale, rounded, plus zero_point, as dtype, int8 or uint8.
 * Defaults: axis: null
 */
export function quantize(x: Operand, scale: Operand, zero_point: Operand | null, attributes: { axis?: number | bigint | null; dtype: DType }): Tensor;
/**
 * True with probability p.
 */
export function random_bernoulli(key: Operand, p: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * Beta numbers of parameters a and b.
 */
export function random_beta(key: Operand, a: Operand, b: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * Numbers (int64) of successes of probability p in n trials, n rounded down.
 */
export function random_binomial(key: Operand, n: Operand, p: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * Unsigned integers, every bit of which is random.
 * Defaults: dtype: "uint32"
 */
export function random_bits(key: Operand, attributes: { shape: number | Ints; dtype?: DType }): Tensor;
/**
 * Indices (int64) into the last axis of logits, of probability softmax(logits).
 */
export function random_categorical(key: Operand, logits: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * Cauchy numbers of location 0 and scale 1.
 * Defaults: dtype: "float32"
 */
export function random_cauchy(key: Operand, attributes: { shape: number | Ints; dtype?: DType }): Tensor;
/**
 * Exponential numbers of mean 1.
 * Defaults: dtype: "float32"
 */
export function random_exponential(key: Operand, attributes: { shape: number | Ints; dtype?: DType }): Tensor;
/**
 * A key made of a key and a 0-d integer (its low 32 bits), such as a step's number.
 */
export function random_fold_in(key: Operand, data: Operand): Tensor;
/**
 * Gamma numbers of shape parameter a and scale 1. There is no second derivative.
 */
export function random_gamma(key: Operand, a: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * The number (int64) of trials up to the first success of probability p, 1 or more.
 */
export function random_geometric(key: Operand, p: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * Gumbel numbers of location 0 and scale 1.
 * Defaults: dtype: "float32"
 */
export function random_gumbel(key: Operand, attributes: { shape: number | Ints; dtype?: DType }): Tensor;
/**
 * Numbers (int64) of good ones among drawn of good + bad, without replacement.
 */
export function random_hypergeometric(key: Operand, good: Operand, bad: Operand, drawn: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * Integers from low to high - 1, to high with endpoint; low where there are none.
 * Defaults: endpoint: false
 */
export function random_integers(key: Operand, low: Operand, high: Operand, attributes: { shape: number | Ints; endpoint?: boolean }): Tensor;
/**
 * Laplace numbers of location 0 and scale 1.
 * Defaults: dtype: "float32"
 */
export function random_laplace(key: Operand, attributes: { shape: number | Ints; dtype?: DType }): Tensor;
/**
 * Logistic numbers of location 0 and scale 1.
 * Defaults: dtype: "float32"
 */
export function random_logistic(key: Operand, attributes: { shape: number | Ints; dtype?: DType }): Tensor;
/**
 * How often (int64) each class was met in n draws; a class each along the last axis of p.
 */
export function random_multinomial(key: Operand, n: Operand, p: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * How many (int64) of each color are among drawn without replacement.
 */
export function random_multivariate_hypergeometric(key: Operand, drawn: Operand, colors: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * Normal numbers; mean is 0 and std 1 if absent. Complex parts have variance 1/2 each.
 * Defaults: dtype: "float32"
 */
export function random_normal(key: Operand, mean: Operand | null, std: Operand | null, attributes: { shape: number | Ints; dtype?: DType }): Tensor;
/**
 * The integers from 0 to n - 1 (int64) in random order.
 */
export function random_permutation(key: Operand, attributes: { n: number | bigint }): Tensor;
/**
 * Poisson numbers (int64) of mean rate; -1 where that is negative or NaN.
 */
export function random_poisson(key: Operand, rate: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * num keys (uint32[num, 2]) whose numbers are independent of each other's.
 * Defaults: num: 2
 */
export function random_split(key: Operand, attributes?: { num?: number | bigint }): Tensor;
/**
 * Numbers of the standard normal distribution limited to [low, high].
 */
export function random_truncated_normal(key: Operand, low: Operand, high: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * Numbers between low and high; high itself only by rounding.
 */
export function random_uniform(key: Operand, low: Operand, high: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * Angles from -pi to pi, von Mises of mean 0; NaN where kappa is negative or NaN.
 */
export function random_von_mises(key: Operand, kappa: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * Zipf numbers (int64), of probability proportional to k**-a, limited to 2**63 - 1.
 */
export function random_zipf(key: Operand, a: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * The real part, of the real dtype; x itself if it is real.
 */
export function real(x: Operand): Tensor;
/**
 * 1 / x.
 */
export function reciprocal(x: Operand): Tensor;
/**
 * This process's part, along axis, of the reduction of the operands of a group.
 * Defaults: reduction: "sum", axis: 0, axes: ""
 */
export function reduce_scatter(x: Operand, attributes: { reduction?: string; axis?: number | bigint; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
/**
 * max(x, 0), NaN for NaN. The gradient at 0 is 0.
 */
export function relu(x: Operand): Tensor;
/**
 * x limited to [0, 6]. The gradient at the limits is 0.
 */
export function relu6(x: Operand): Tensor;
/**
 * x % y with the sign of y, as Python's.
 */
export function remainder(x: Operand, y: Operand): Tensor;
/**
 * x with every element taken repeats times in a row, along an axis.
 * Defaults: axis: null
 */
export function repeat(x: Operand, attributes: { repeats: number | bigint; axis?: number | bigint | null }): Tensor;
/**
 * The elements of x, in row-major order, in another shape.
 */
export function reshape(x: Operand, attributes: { shape: number | Ints }): Tensor;
/**
 * The Fourier transform of real numbers: the half of it that tells the other.
 * Defaults: norm: "backward"
 */
export function rfft(x: Operand, attributes: { axes: number | Ints; norm?: string }): Tensor;
/**
 * x / sqrt(mean(x**2) + eps) * weight over the last normalized_ndim axes.
 * Defaults: normalized_ndim: 1, eps: 1e-05
 */
export function rms_norm(x: Operand, weight?: Operand | null, attributes?: { normalized_ndim?: number | bigint; eps?: number }): Tensor;
/**
 * h' = f(x @ w_input.T + b_input + h @ w_hidden.T + b_hidden) for each step in turn.
 * Defaults: activation: "tanh", reverse: false
 */
export function rnn(x: Operand, h: Operand, w_input: Operand, w_hidden: Operand, b_input?: Operand | null, b_hidden?: Operand | null, lengths?: Operand | null, attributes?: { activation?: string; reverse?: boolean }): [output: Tensor, state: Tensor];
/**
 * x shifted around along axes: element i moves to (i + shift) % size.
 * Defaults: axes: null
 */
export function roll(x: Operand, attributes: { shifts: number | Ints; axes?: number | Ints | null }): Tensor;
/**
 * x rounded to decimals decimal places, halves to the even neighbour.
 * Defaults: decimals: 0
 */
export function round(x: Operand, attributes?: { decimals?: number | bigint }): Tensor;
/**
 * 1 / sqrt(x).
 */
export function rsqrt(x: Operand): Tensor;
/**
 * All the results of fold on its way along an axis, the first element included.
 */
export function running_fold(x: Operand, attributes: { function: string; axis: number | bigint }): Tensor;
/**
 * Means and variances kept over batches: (1 - momentum) * old + momentum * new, of each.
 * Defaults: num: 0
 */
export function running_moments(mean: Operand, variance: Operand, new_mean: Operand, new_variance: Operand, momentum: Operand, attributes?: { num?: number | bigint }): [mean: Tensor, variance: Tensor];
/**
 * softmax(q @ k.T * scale + mask) @ v for q (..., L, E), k (..., S, E), v (..., S, V).
 * Defaults: causal: false, scale: null
 */
export function scaled_dot_product_attention(q: Operand, k: Operand, v: Operand, mask?: Operand | null, attributes?: { causal?: boolean; scale?: number | null }): Tensor;
/**
 * x[i, indices[i, j, k], k] = updates[i, j, k] for axis 1, and so on, in a copy.
 * Defaults: axis: -1, mode: "set"
 */
export function scatter_along_axis(x: Operand, indices: Operand, updates: Operand, attributes?: { axis?: number | bigint; mode?: string }): Tensor;
/**
 * Where each of values would go into sorted, which ascends along its last axis, int64.
 * Defaults: side: "left"
 */
export function searchsorted(sorted: Operand, values: Operand, attributes?: { side?: string }): Tensor;
/**
 * fold of segments along an axis: from each of starts to the next one.
 */
export function segment_fold(x: Operand, starts: Operand, attributes: { function: string; axis: number | bigint }): Tensor;
/**
 * The first half of the tensors if the condition holds, otherwise the second half.
 */
export function select_all(condition: Operand, tensors: Operand[]): Tensor[];
/**
 * 1.0507... * elu(x, 1.6733...).
 */
export function selu(x: Operand): Tensor;
/**
 * x << y; 0 where y is negative or not below the number of bits.
 */
export function shift_left(x: Operand, y: Operand): Tensor;
/**
 * x >> y, keeping the sign; 0 or -1 where y is negative or not below the number of bits.
 */
export function shift_right(x: Operand, y: Operand): Tensor;
/**
 * 1 / (1 + exp(-x)).
 */
export function sigmoid(x: Operand): Tensor;
/**
 * -1, 0 or 1; x / |x| for complex operands, NaN for NaN; 0 for -0.0.
 */
export function sign(x: Operand): Tensor;
/**
 * Whether x is negative; for floating-point x its sign bit, of -0.0 and NaN too.
 */
export function signbit(x: Operand): Tensor;
/**
 * x * sigmoid(x).
 */
export function silu(x: Operand): Tensor;
/**
 * Sine of x in radians.
 */
export function sin(x: Operand): Tensor;
/**
 * sin(pi x) / (pi x), 1 at 0.
 */
export function sinc(x: Operand): Tensor;
/**
 * Hyperbolic sine.
 */
export function sinh(x: Operand): Tensor;
/**
 * The elements at range(start, stop, stride) along each axis.
 * Defaults: strides: null
 */
export function slice(x: Operand, attributes: { starts: number | Ints; stops: number | Ints; strides?: number | Ints | null }): Tensor;
/**
 * x with the elements that slice of the same attributes takes replaced.
 * Defaults: strides: null
 */
export function slice_update(x: Operand, update: Operand, attributes: { starts: number | Ints; stops: number | Ints; strides?: number | Ints | null }): Tensor;
/**
 * Sign (or phase) of the determinant, and the logarithm of its absolute value.
 */
export function slogdet(x: Operand): [sign: Tensor, logabsdet: Tensor];
/**
 * -sum(targets * log_softmax(logits)) along axis, the classes.
 * Defaults: axis: -1, label_smoothing: 0.0, reduction: "mean"
 */
export function soft_cross_entropy(logits: Operand, targets: Operand, attributes?: { axis?: number | bigint; label_smoothing?: number; reduction?: string }): Tensor;
/**
 * exp(x) divided by its sum along an axis; the largest element is taken off first.
 * Defaults: axis: -1
 */
export function softmax(x: Operand, attributes?: { axis?: number | bigint }): Tensor;
/**
 * log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold.
 * Defaults: beta: 1.0, threshold: 20.0
 */
export function softplus(x: Operand, attributes?: { beta?: number; threshold?: number }): Tensor;
/**
 * x moved towards 0 by lambd, 0 within lambd of it; NaN, of gradient 0, for NaN.
 * Defaults: lambd: 0.5
 */
export function softshrink(x: Operand, attributes?: { lambd?: number }): Tensor;
/**
 * x / (1 + |x|).
 */
export function softsign(x: Operand): Tensor;
/**
 * The x with a @ x == b, for square a (..., n, n) and b (..., n, k).
 */
export function solve(a: Operand, b: Operand): Tensor;
/**
 * The elements of x in order along an axis. Raises ArgumentError.
 * Defaults: axis: -1, descending: false, stable: true
 */
export function sort(x: Operand, attributes?: { axis?: number | bigint; descending?: boolean; stable?: boolean }): Tensor;
/**
 * What sort and argsort give, by one sort. Raises ArgumentError.
 * Defaults: axis: -1, descending: false, stable: true
 */
export function sort_with_indices(x: Operand, attributes?: { axis?: number | bigint; descending?: boolean; stable?: boolean }): [values: Tensor, indices: Tensor];
/**
 * sin(x) / x, the spherical Bessel function of order 0; 1 at 0, and 0 at the infinities.
 */
export function spherical_bessel_j0(x: Operand): Tensor;
/**
 * x cut along an axis into parts of these sizes: one result for each.
 * Defaults: axis: 0
 */
export function split(x: Operand, attributes: { sizes: number | Ints; axis?: number | bigint }): Tensor[];
/**
 * Square root; NaN for negative real x. The gradient at 0 is infinite.
 */
export function sqrt(x: Operand): Tensor;
/**
 * x * x.
 */
export function square(x: Operand): Tensor;
/**
 * x without these axes of size 1; without any such axis if axes is None.
 * Defaults: axes: null
 */
export function squeeze(x: Operand, attributes?: { axes?: number | Ints | null }): Tensor;
/**
 * The operands, all of one shape, joined along a new axis at position axis.
 * Defaults: axis: 0
 */
export function stack(xs: Operand[], attributes?: { axis?: number | bigint }): Tensor;
/**
 * The square root of var. The gradient is 0 where the variance is 0, as PyTorch's.
 * Defaults: axes: null, correction: 0.0, keepdims: false
 */
export function std(x: Operand, attributes?: { axes?: number | Ints | null; correction?: number; keepdims?: boolean }): Tensor;
/**
 * Adadelta; the state is the means of squared gradients and of squared moves.
 * Defaults: decays: false, maximize: false
 */
export function step_adadelta(step: Operand, lr: Operand, rho: Operand, eps: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; maximize?: boolean }): Tensor[];
/**
 * Adafactor; with factored the variances are those of rows and those of columns.
 * Defaults: factored: true, decays: false, maximize: false
 */
export function step_adafactor(step: Operand, lr: Operand, beta2_decay: Operand, eps1: Operand, eps2: Operand, d: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { factored?: boolean; decays?: boolean; maximize?: boolean }): Tensor[];
/**
 * Adagrad; the state is the sums of squared gradients. Raises ShapeError, ArgumentError.
 * Defaults: decays: false, maximize: false
 */
export function step_adagrad(step: Operand, lr: Operand, eps: Operand, weight_decay: Operand, lr_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; maximize?: boolean }): Tensor[];
/**
 * Adam and AdamW; the state is the means of gradients and of their squares.
 * Defaults: amsgrad: false, decays: false, decoupled: false, maximize: false
 */
export function step_adam(step: Operand, lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { amsgrad?: boolean; decays?: boolean; decoupled?: boolean; maximize?: boolean }): Tensor[];
/**
 * AdaMax; the state is the means of gradients and the decaying largest moduli.
 * Defaults: decays: false, maximize: false
 */
export function step_adamax(step: Operand, lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; maximize?: boolean }): Tensor[];
/**
 * Averaged SGD: a step of rate eta, whose results mu moves the averages to.
 * Defaults: decays: false, maximize: false
 */
export function step_asgd(step: Operand, eta: Operand, mu: Operand, lr: Operand, lambd: Operand, alpha: Operand, t0: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; maximize?: boolean }): Tensor[];
/**
 * Momentum whose matrix is brought near an orthogonal one by a few Newton-Schulz steps.
 * Defaults: nesterov: true, adjust: "original"
 */
export function step_muon(lr: Operand, weight_decay: Operand, momentum: Operand, eps: Operand, tensors: Operand[], attributes: { coefficients: number | Numbers; steps: number | bigint; nesterov?: boolean; adjust?: string }): Tensor[];
/**
 * NAdam; product is that of the momenta beta1 * (1 - 0.96**(t * momentum_decay) / 2).
 * Defaults: decays: false, decoupled: false, maximize: false
 */
export function step_nadam(step: Operand, product: Operand, lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weight_decay: Operand, momentum_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; decoupled?: boolean; maximize?: boolean }): Tensor[];
/**
 * RAdam: without the squares as long as their means are of too few steps.
 * Defaults: decays: false, decoupled: false, maximize: false
 */
export function step_radam(step: Operand, lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; decoupled?: boolean; maximize?: boolean }): Tensor[];
/**
 * RMSprop; with momentous a momentum, with centered the mean gradient is state, too.
 * Defaults: momentous: false, centered: false, decays: false, maximize: false
 */
export function step_rmsprop(step: Operand, lr: Operand, alpha: Operand, eps: Operand, weight_decay: Operand, momentum: Operand, tensors: Operand[], attributes?: { momentous?: boolean; centered?: boolean; decays?: boolean; maximize?: boolean }): Tensor[];
/**
 * Resilient propagation: step sizes that grow while a gradient keeps its sign.
 * Defaults: maximize: false
 */
export function step_rprop(step: Operand, shrink: Operand, grow: Operand, least: Operand, most: Operand, tensors: Operand[], attributes?: { maximize?: boolean }): Tensor[];
/**
 * Stochastic gradient descent; with momentous the momenta are part of the tensors.
 * Defaults: momentous: false, nesterov: false, decays: false, maximize: false, detached: false
 */
export function step_sgd(lr: Operand, weight_decay: Operand, momentum: Operand, share: Operand, tensors: Operand[], attributes?: { momentous?: boolean; nesterov?: boolean; decays?: boolean; maximize?: boolean; detached?: boolean }): Tensor[];
/**
 * The data of y with the gradient of x: the cotangent passes to x unchanged.
 */
export function straight_through(x: Operand, y: Operand): Tensor;
/**
 * x - y.
 */
export function subtract(x: Operand, y: Operand): Tensor;
/**
 * The sum of the elements, cast to dtype first if that is given; 0 of none.
 * Defaults: axes: null, dtype: null, keepdims: false
 */
export function sum(x: Operand, attributes?: { axes?: number | Ints | null; dtype?: DType | null; keepdims?: boolean }): Tensor;
/**
 * x (..., m, n) as u @ diag(s) @ vh; s is real, not negative and descending.
 */
export function svd(x: Operand): [u: Tensor, s: Tensor, vh: Tensor];
/**
 * As svd, but with square u (..., m, m) and vh (..., n, n).
 */
export function svd_full(x: Operand): [u: Tensor, s: Tensor, vh: Tensor];
/**
 * The singular values of matrices, descending. Raises ShapeError, DTypeError.
 */
export function svdvals(x: Operand): Tensor;
/**
 * x with two axes exchanged. Raises ArgumentError for an axis out of range.
 */
export function swapaxes(x: Operand, attributes: { axis1: number | bigint; axis2: number | bigint }): Tensor;
/**
 * The slices of x at indices along an axis; the indices' axes take its place.
 * Defaults: axis: 0
 */
export function take(x: Operand, indices: Operand, attributes?: { axis?: number | bigint }): Tensor;
/**
 * result[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on.
 * Defaults: axis: -1
 */
export function take_along_axis(x: Operand, indices: Operand, attributes?: { axis?: number | bigint }): Tensor;
/**
 * Tangent of x in radians.
 */
export function tan(x: Operand): Tensor;
/**
 * Hyperbolic tangent.
 */
export function tanh(x: Operand): Tensor;
/**
 * x - tanh(x).
 */
export function tanhshrink(x: Operand): Tensor;
/**
 * x, but value where x <= threshold.
 */
export function threshold(x: Operand, attributes: { threshold: number; value: number }): Tensor;
/**
 * x laid side by side, repeats[i] times along axis i.
 */
export function tile(x: Operand, attributes: { repeats: number | Ints }): Tensor;
/**
 * The k largest elements along an axis, in descending order, and their positions.
 * Defaults: axis: -1, largest: true
 */
export function top_k(x: Operand, attributes: { k: number | bigint; axis?: number | bigint; largest?: boolean }): [values: Tensor, indices: Tensor];
/**
 * x with its axes permuted: axis i of the result is axis axes[i] of x.
 * Defaults: axes: null
 */
export function transpose(x: Operand, attributes?: { axes?: number | Ints | null }): Tensor;
/**
 * The x with op(a) @ x == b, or x @ op(a) == b, for triangular a (..., n, n).
 * Defaults: left_side: true, lower: true, transpose: false, conjugate: false, unit_diagonal: false
 */
export function triangular_solve(a: Operand, b: Operand, attributes?: { left_side?: boolean; lower?: boolean; transpose?: boolean; conjugate?: boolean; unit_diagonal?: boolean }): Tensor;
/**
 * The lower triangles of matrices (..., m, n): zero above the k-th diagonal.
 * Defaults: k: 0
 */
export function tril(x: Operand, attributes?: { k?: number | bigint }): Tensor;
/**
 * The upper triangles of matrices (..., m, n): zero below the k-th diagonal.
 * Defaults: k: 0
 */
export function triu(x: Operand, attributes?: { k?: number | bigint }): Tensor;
/**
 * x rounded towards zero.
 */
export function trunc(x: Operand): Tensor;
/**
 * The tensors times factor, and before them 1 if any has an infinity or NaN, else 0.
 */
export function unscale(factor: Operand, tensors: Operand[]): Tensor[];
/**
 * The mean squared distance from the mean, by the two-pass formula.
 * Defaults: axes: null, correction: 0.0, keepdims: false
 */
declare function var_(x: Operand, attributes?: { axes?: number | Ints | null; correction?: number; keepdims?: boolean }): Tensor;
export { var_ as var };
/**
 * The sum of conj(x) * y along an axis, a negative one; the other axes broadcast.
 * Defaults: axis: -1
 */
export function vecdot(x: Operand, y: Operand, attributes?: { axis?: number | bigint }): Tensor;
/**
 * x where condition, y elsewhere. Each gets the gradient only where it was taken.
 */
export function where(condition: Operand, x: Operand, y: Operand): Tensor;
/**
 * x * log1p(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
 */
export function xlog1py(x: Operand, y: Operand): Tensor;
/**
 * x * log(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
 */
export function xlogy(x: Operand, y: Operand): Tensor;
/**
 * The Hurwitz zeta function, the sum of (k + q)**-x over k from 0; inf for x = 1.
 */
export function zeta(x: Operand, q: Operand): Tensor;

/** The same, of the first operand. */
export interface Methods {
  abs(): Tensor;
  acos(): Tensor;
  acosh(): Tensor;
  adaptive_avg_pool(attributes: { output: number | Ints }): Tensor;
  adaptive_max_pool(attributes: { output: number | Ints }): Tensor;
  add(y: Operand): Tensor;
  addcdiv(y: Operand, z: Operand, value?: Operand | null): Tensor;
  addcmul(y: Operand, z: Operand, value?: Operand | null): Tensor;
  airy_ai(): Tensor;
  all(attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
  all_gather(attributes: { axis?: number | bigint; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
  all_reduce(attributes: { reduction?: string; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
  all_to_all(attributes: { split_axis?: number | bigint; concat_axis?: number | bigint; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
  angle(): Tensor;
  any(attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
  apply_at(positions: Operand, update: Operand | null, attributes: { function: string; dtype?: DType | null }): Tensor;
  arange(step: Operand, attributes: { length: number | bigint }): Tensor;
  argmax(attributes?: { axis?: number | bigint | null; keepdims?: boolean }): Tensor;
  argmin(attributes?: { axis?: number | bigint | null; keepdims?: boolean }): Tensor;
  argsort(attributes?: { axis?: number | bigint; descending?: boolean; stable?: boolean }): Tensor;
  asin(): Tensor;
  asinh(): Tensor;
  atan(): Tensor;
  atan2(x: Operand): Tensor;
  atanh(): Tensor;
  avg_pool(attributes: { window: number | Ints; strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null; count_include_pad?: boolean }): Tensor;
  batch_norm_infer(mean: Operand, variance: Operand, weight?: Operand | null, bias?: Operand | null, attributes?: { eps?: number }): Tensor;
  batch_norm_train(weight?: Operand | null, bias?: Operand | null, attributes?: { eps?: number }): [y: Tensor, mean: Tensor, variance: Tensor];
  bessel_i0(): Tensor;
  bessel_i0e(): Tensor;
  bessel_i1(): Tensor;
  bessel_i1e(): Tensor;
  bessel_j0(): Tensor;
  bessel_j1(): Tensor;
  bessel_k0e(): Tensor;
  bessel_k1e(): Tensor;
  bessel_y0(): Tensor;
  bessel_y1(): Tensor;
  betainc(b: Operand, x: Operand): Tensor;
  binary_cross_entropy(target: Operand, weight?: Operand | null, attributes?: { reduction?: string }): Tensor;
  binary_cross_entropy_with_logits(targets: Operand, weight?: Operand | null, positive_weight?: Operand | null, attributes?: { reduction?: string }): Tensor;
  bincount(weights: Operand | null, attributes: { length: number | bigint }): Tensor;
  bitcast(attributes: { dtype: DType }): Tensor;
  bitwise_and(y: Operand): Tensor;
  bitwise_not(): Tensor;
  bitwise_or(y: Operand): Tensor;
  bitwise_xor(y: Operand): Tensor;
  broadcast_to(attributes: { shape: number | Ints }): Tensor;
  cast(attributes: { dtype: DType }): Tensor;
  cbrt(): Tensor;
  ceil(): Tensor;
  celu(attributes?: { alpha?: number }): Tensor;
  chebyshev_polynomial(n: Operand, attributes: { kind: string }): Tensor;
  checked(flag: Operand, attributes: { kind: string; of?: string; info?: number | Ints }): [result: Tensor, looked_at: Tensor];
  cholesky(attributes?: { upper?: boolean }): Tensor;
  cholesky_failure(attributes?: { upper?: boolean }): Tensor;
  clip(min?: Operand | null, max?: Operand | null): Tensor;
  collective_broadcast(attributes: { source?: number | bigint; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
  collective_permute(attributes: { sources: number | Ints; targets: number | Ints; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
  complex(imag: Operand): Tensor;
  conj(): Tensor;
  conv(weight: Operand, attributes?: { strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null; input_dilation?: number | Ints | null; groups?: number | bigint }): Tensor;
  conv_transpose(weight: Operand, attributes?: { strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; output_padding?: number | Ints | null; dilation?: number | Ints | null; groups?: number | bigint }): Tensor;
  copy(): Tensor;
  copysign(y: Operand): Tensor;
  cos(): Tensor;
  cosh(): Tensor;
  count_nonzero(attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
  cross(y: Operand, attributes?: { axis?: number | bigint }): Tensor;
  cross_entropy(labels: Operand, weight?: Operand | null, attributes?: { axis?: number | bigint; label_smoothing?: number; ignore_index?: number | bigint | null; reduction?: string }): Tensor;
  ctc_loss(targets: Operand, input_lengths: Operand, target_lengths: Operand, attributes?: { blank?: number | bigint }): Tensor;
  cummax(attributes: { axis: number | bigint; reverse?: boolean }): Tensor;
  cummin(attributes: { axis: number | bigint; reverse?: boolean }): Tensor;
  cumprod(attributes: { axis: number | bigint; reverse?: boolean }): Tensor;
  cumsum(attributes: { axis: number | bigint; reverse?: boolean }): Tensor;
  dequantize(scale: Operand, zero_point?: Operand | null, attributes?: { axis?: number | bigint | null }): Tensor;
  det(): Tensor;
  diag_embed(attributes?: { offset?: number | bigint; axis1?: number | bigint; axis2?: number | bigint }): Tensor;
  diagonal(attributes?: { offset?: number | bigint; axis1?: number | bigint; axis2?: number | bigint }): Tensor;
  diagonal_update(update: Operand, attributes?: { offset?: number | bigint; axis1?: number | bigint; axis2?: number | bigint }): Tensor;
  digamma(): Tensor;
  divide(y: Operand): Tensor;
  dot_general(y: Operand, attributes: { lhs_contract: number | Ints; rhs_contract: number | Ints; lhs_batch?: number | Ints; rhs_batch?: number | Ints; accumulate?: DType | null }): Tensor;
  dropout(key: Operand, attributes: { rate: number }): Tensor;
  dynamic_slice(starts: Operand[], attributes: { sizes: number | Ints }): Tensor;
  dynamic_update_slice(update: Operand, starts: Operand[]): Tensor;
  eig(): [eigenvalues: Tensor, eigenvectors: Tensor];
  eigh(attributes?: { upper?: boolean }): [eigenvalues: Tensor, eigenvectors: Tensor];
  eigvals(): Tensor;
  eigvalsh(attributes?: { upper?: boolean }): Tensor;
  elu(attributes?: { alpha?: number }): Tensor;
  embedding(indices: Operand, attributes?: { padding_index?: number | bigint | null }): Tensor;
  entr(): Tensor;
  equal(y: Operand): Tensor;
  erf(): Tensor;
  erfc(): Tensor;
  erfcx(): Tensor;
  erfinv(): Tensor;
  exp(): Tensor;
  exp2(): Tensor;
  expand_dims(attributes: { axes: number | Ints }): Tensor;
  expm1(): Tensor;
  fake_quantize(scale: Operand, zero_point: Operand, attributes: { axis?: number | bigint | null; low: number | bigint; high: number | bigint }): Tensor;
  fft(attributes: { axes: number | Ints; inverse?: boolean; norm?: string }): Tensor;
  first_invalid_label(attributes: { size: number | bigint; ignore_index?: number | bigint | null }): Tensor;
  first_out_of_range(attributes: { size: number | bigint; negative?: boolean }): Tensor;
  flat_nonzero(attributes: { size: number | bigint }): Tensor;
  flip(attributes?: { axes?: number | Ints | null }): Tensor;
  float_status(operands: Operand[], attributes: { function: string }): Tensor;
  floor(): Tensor;
  floor_divide(y: Operand): Tensor;
  fmax(y: Operand): Tensor;
  fmin(y: Operand): Tensor;
  fmod(y: Operand): Tensor;
  fold(attributes: { function: string; axis: number | bigint }): Tensor;
  full(attributes: { shape: number | Ints }): Tensor;
  gammainc(x: Operand): Tensor;
  gammaincc(x: Operand): Tensor;
  gcd(y: Operand): Tensor;
  gelu(attributes?: { approximate?: string }): Tensor;
  greater(y: Operand): Tensor;
  greater_equal(y: Operand): Tensor;
  grid_sample(grid: Operand, attributes?: { mode?: string; padding?: string; align_corners?: boolean }): Tensor;
  group_norm(weight: Operand | null, bias: Operand | null, attributes: { groups: number | bigint; eps?: number }): Tensor;
  gru(h: Operand, w_input: Operand, w_hidden: Operand, b_input?: Operand | null, b_hidden?: Operand | null, lengths?: Operand | null, attributes?: { reverse?: boolean }): [output: Tensor, state: Tensor];
  hardshrink(attributes?: { lambd?: number }): Tensor;
  hardsigmoid(): Tensor;
  hardswish(): Tensor;
  hardtanh(attributes?: { min?: number; max?: number }): Tensor;
  heaviside(y: Operand): Tensor;
  householder_product(taus: Operand): Tensor;
  huber_loss(target: Operand, attributes?: { delta?: number; reduction?: string }): Tensor;
  hypot(y: Operand): Tensor;
  identity(): Tensor;
  imag(): Tensor;
  index(indices: Operand[], attributes: { axes: number | Ints }): Tensor;
  index_update(value: Operand, indices: Operand[], attributes: { axes: number | Ints; mode?: string }): Tensor;
  integer_power(attributes: { exponent: number | bigint }): Tensor;
  inv(): Tensor;
  irfft(attributes: { axes: number | Ints; length: number | bigint; norm?: string }): Tensor;
  is_singular(): Tensor;
  isfinite(): Tensor;
  isinf(): Tensor;
  isnan(): Tensor;
  kl_div(target: Operand, attributes?: { log_target?: boolean; reduction?: string }): Tensor;
  kron(y: Operand): Tensor;
  l1_loss(target: Operand, attributes?: { reduction?: string }): Tensor;
  layer_norm(weight?: Operand | null, bias?: Operand | null, attributes?: { normalized_ndim?: number | bigint; eps?: number }): Tensor;
  lbfgs_direction(gradient: Operand, history: Operand[]): Tensor;
  lcm(y: Operand): Tensor;
  ldexp(exponent: Operand): Tensor;
  leaky_relu(attributes?: { negative_slope?: number }): Tensor;
  lerp(y: Operand, weight: Operand): Tensor;
  less(y: Operand): Tensor;
  less_equal(y: Operand): Tensor;
  lgamma(): Tensor;
  linspace(stop: Operand, attributes: { num: number | bigint; endpoint?: boolean }): Tensor;
  log(): Tensor;
  log10(): Tensor;
  log1p(): Tensor;
  log2(): Tensor;
  log_ndtr(): Tensor;
  log_sigmoid(): Tensor;
  log_softmax(attributes?: { axis?: number | bigint }): Tensor;
  logaddexp(y: Operand): Tensor;
  logaddexp2(y: Operand): Tensor;
  logcumsumexp(attributes: { axis: number | bigint; reverse?: boolean }): Tensor;
  logical_and(y: Operand): Tensor;
  logical_not(): Tensor;
  logical_or(y: Operand): Tensor;
  logical_xor(y: Operand): Tensor;
  logit(): Tensor;
  logsumexp(attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
  lstm(h: Operand, c: Operand, w_input: Operand, w_hidden: Operand, b_input?: Operand | null, b_hidden?: Operand | null, w_project?: Operand | null, lengths?: Operand | null, attributes?: { reverse?: boolean }): [output: Tensor, state: Tensor, cell: Tensor];
  lu_factor(): [lu: Tensor, pivots: Tensor];
  masked_fill(mask: Operand, value: Operand): Tensor;
  matmul(y: Operand): Tensor;
  matrix_exp(): Tensor;
  matrix_power(attributes: { exponent: number | bigint }): Tensor;
  max(attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
  max_pool(attributes: { window: number | Ints; strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null }): Tensor;
  max_pool_indices(attributes: { window: number | Ints; strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null }): Tensor;
  maximum(y: Operand): Tensor;
  mean(attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
  min(attributes?: { axes?: number | Ints | null; keepdims?: boolean }): Tensor;
  minimum(y: Operand): Tensor;
  mish(): Tensor;
  moveaxis(attributes: { source: number | Ints; destination: number | Ints }): Tensor;
  mse_loss(target: Operand, attributes?: { reduction?: string }): Tensor;
  multiply(y: Operand): Tensor;
  nan_to_num(attributes?: { nan?: number; posinf?: number | null; neginf?: number | null }): Tensor;
  ndtri(): Tensor;
  negative(): Tensor;
  nextafter(y: Operand): Tensor;
  nll_loss(labels: Operand, weight?: Operand | null, attributes?: { axis?: number | bigint; ignore_index?: number | bigint | null; reduction?: string }): Tensor;
  norm(attributes?: { axes?: number | Ints | null; order?: number; keepdims?: boolean }): Tensor;
  not_equal(y: Operand): Tensor;
  one_hot(attributes: { depth: number | bigint; dtype: DType }): Tensor;
  orthogonal_polynomial(n: Operand, attributes: { kind: string }): Tensor;
  outer(y: Operand): Tensor;
  pad(value: Operand, attributes: { low: number | Ints; high: number | Ints; interior?: number | Ints | null }): Tensor;
  patches(attributes: { window: number | Ints; strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null }): Tensor;
  patches_sum(attributes: { sizes: number | Ints; window: number | Ints; strides?: number | Ints | null; padding_low?: number | Ints | null; padding_high?: number | Ints | null; dilation?: number | Ints | null }): Tensor;
  pinv(attributes?: { rtol?: number }): Tensor;
  pinv_within(atol: Operand, rtol: Operand, attributes?: { hermitian?: boolean }): Tensor;
  pivots_to_permutation(attributes: { size: number | bigint }): Tensor;
  place(attributes?: { placement?: string }): Tensor;
  polygamma(attributes: { order: number | bigint }): Tensor;
  population_count(): Tensor;
  positive(): Tensor;
  power(y: Operand): Tensor;
  prelu(slope: Operand): Tensor;
  prod(attributes?: { axes?: number | Ints | null; dtype?: DType | null; keepdims?: boolean }): Tensor;
  qr(attributes?: { mode?: string }): [q: Tensor, r: Tensor];
  qr_raw(): [h: Tensor, tau: Tensor];
  quantize(scale: Operand, zero_point: Operand | null, attributes: { axis?: number | bigint | null; dtype: DType }): Tensor;
  random_bernoulli(p: Operand, attributes: { shape: number | Ints }): Tensor;
  random_beta(a: Operand, b: Operand, attributes: { shape: number | Ints }): Tensor;
  random_binomial(n: Operand, p: Operand, attributes: { shape: number | Ints }): Tensor;
  random_bits(attributes: { shape: number | Ints; dtype?: DType }): Tensor;
  random_categorical(logits: Operand, attributes: { shape: number | Ints }): Tensor;
  random_cauchy(attributes: { shape: number | Ints; dtype?: DType }): Tensor;
  random_exponential(attributes: { shape: number | Ints; dtype?: DType }): Tensor;
  random_fold_in(data: Operand): Tensor;
  random_gamma(a: Operand, attributes: { shape: number | Ints }): Tensor;
  random_geometric(p: Operand, attributes: { shape: number | Ints }): Tensor;
  random_gumbel(attributes: { shape: number | Ints; dtype?: DType }): Tensor;
  random_hypergeometric(good: Operand, bad: Operand, drawn: Operand, attributes: { shape: number | Ints }): Tensor;
  random_integers(low: Operand, high: Operand, attributes: { shape: number | Ints; endpoint?: boolean }): Tensor;
  random_laplace(attributes: { shape: number | Ints; dtype?: DType }): Tensor;
  random_logistic(attributes: { shape: number | Ints; dtype?: DType }): Tensor;
  random_multinomial(n: Operand, p: Operand, attributes: { shape: number | Ints }): Tensor;
  random_multivariate_hypergeometric(drawn: Operand, colors: Operand, attributes: { shape: number | Ints }): Tensor;
  random_normal(mean: Operand | null, std: Operand | null, attributes: { shape: number | Ints; dtype?: DType }): Tensor;
  random_permutation(attributes: { n: number | bigint }): Tensor;
  random_poisson(rate: Operand, attributes: { shape: number | Ints }): Tensor;
  random_split(attributes?: { num?: number | bigint }): Tensor;
  random_truncated_normal(low: Operand, high: Operand, attributes: { shape: number | Ints }): Tensor;
  random_uniform(low: Operand, high: Operand, attributes: { shape: number | Ints }): Tensor;
  random_von_mises(kappa: Operand, attributes: { shape: number | Ints }): Tensor;
  random_zipf(a: Operand, attributes: { shape: number | Ints }): Tensor;
  real(): Tensor;
  reciprocal(): Tensor;
  reduce_scatter(attributes: { reduction?: string; axis?: number | bigint; group: number | Ints; world: number | bigint; axes?: string }): Tensor;
  relu(): Tensor;
  relu6(): Tensor;
  remainder(y: Operand): Tensor;
  repeat(attributes: { repeats: number | bigint; axis?: number | bigint | null }): Tensor;
  reshape(attributes: { shape: number | Ints }): Tensor;
  rfft(attributes: { axes: number | Ints; norm?: string }): Tensor;
  rms_norm(weight?: Operand | null, attributes?: { normalized_ndim?: number | bigint; eps?: number }): Tensor;
  rnn(h: Operand, w_input: Operand, w_hidden: Operand, b_input?: Operand | null, b_hidden?: Operand | null, lengths?: Operand | null, attributes?: { activation?: string; reverse?: boolean }): [output: Tensor, state: Tensor];
  roll(attributes: { shifts: number | Ints; axes?: number | Ints | null }): Tensor;
  round(attributes?: { decimals?: number | bigint }): Tensor;
  rsqrt(): Tensor;
  running_fold(attributes: { function: string; axis: number | bigint }): Tensor;
  running_moments(variance: Operand, new_mean: Operand, new_variance: Operand, momentum: Operand, attributes?: { num?: number | bigint }): [mean: Tensor, variance: Tensor];
  scaled_dot_product_attention(k: Operand, v: Operand, mask?: Operand | null, attributes?: { causal?: boolean; scale?: number | null }): Tensor;
  scatter_along_axis(indices: Operand, updates: Operand, attributes?: { axis?: number | bigint; mode?: string }): Tensor;
  searchsorted(values: Operand, attributes?: { side?: string }): Tensor;
  segment_fold(starts: Operand, attributes: { function: string; axis: number | bigint }): Tensor;
  select_all(tensors: Operand[]): Tensor[];
  selu(): Tensor;
  shift_left(y: Operand): Tensor;
  shift_right(y: Operand): Tensor;
  sigmoid(): Tensor;
  sign(): Tensor;
  signbit(): Tensor;
  silu(): Tensor;
  sin(): Tensor;
  sinc(): Tensor;
  sinh(): Tensor;
  slice(attributes: { starts: number | Ints; stops: number | Ints; strides?: number | Ints | null }): Tensor;
  slice_update(update: Operand, attributes: { starts: number | Ints; stops: number | Ints; strides?: number | Ints | null }): Tensor;
  slogdet(): [sign: Tensor, logabsdet: Tensor];
  soft_cross_entropy(targets: Operand, attributes?: { axis?: number | bigint; label_smoothing?: number; reduction?: string }): Tensor;
  softmax(attributes?: { axis?: number | bigint }): Tensor;
  softplus(attributes?: { beta?: number; threshold?: number }): Tensor;
  softshrink(attributes?: { lambd?: number }): Tensor;
  softsign(): Tensor;
  solve(b: Operand): Tensor;
  sort(attributes?: { axis?: number | bigint; descending?: boolean; stable?: boolean }): Tensor;
  sort_with_indices(attributes?: { axis?: number | bigint; descending?: boolean; stable?: boolean }): [values: Tensor, indices: Tensor];
  spherical_bessel_j0(): Tensor;
  split(attributes: { sizes: number | Ints; axis?: number | bigint }): Tensor[];
  sqrt(): Tensor;
  square(): Tensor;
  squeeze(attributes?: { axes?: number | Ints | null }): Tensor;
  std(attributes?: { axes?: number | Ints | null; correction?: number; keepdims?: boolean }): Tensor;
  step_adadelta(lr: Operand, rho: Operand, eps: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; maximize?: boolean }): Tensor[];
  step_adafactor(lr: Operand, beta2_decay: Operand, eps1: Operand, eps2: Operand, d: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { factored?: boolean; decays?: boolean; maximize?: boolean }): Tensor[];
  step_adagrad(lr: Operand, eps: Operand, weight_decay: Operand, lr_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; maximize?: boolean }): Tensor[];
  step_adam(lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { amsgrad?: boolean; decays?: boolean; decoupled?: boolean; maximize?: boolean }): Tensor[];
  step_adamax(lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; maximize?: boolean }): Tensor[];
  step_asgd(eta: Operand, mu: Operand, lr: Operand, lambd: Operand, alpha: Operand, t0: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; maximize?: boolean }): Tensor[];
  step_muon(weight_decay: Operand, momentum: Operand, eps: Operand, tensors: Operand[], attributes: { coefficients: number | Numbers; steps: number | bigint; nesterov?: boolean; adjust?: string }): Tensor[];
  step_nadam(product: Operand, lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weight_decay: Operand, momentum_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; decoupled?: boolean; maximize?: boolean }): Tensor[];
  step_radam(lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weight_decay: Operand, tensors: Operand[], attributes?: { decays?: boolean; decoupled?: boolean; maximize?: boolean }): Tensor[];
  step_rmsprop(lr: Operand, alpha: Operand, eps: Operand, weight_decay: Operand, momentum: Operand, tensors: Operand[], attributes?: { momentous?: boolean; centered?: boolean; decays?: boolean; maximize?: boolean }): Tensor[];
  step_rprop(shrink: Operand, grow: Operand, least: Operand, most: Operand, tensors: Operand[], attributes?: { maximize?: boolean }): Tensor[];
  step_sgd(weight_decay: Operand, momentum: Operand, share: Operand, tensors: Operand[], attributes?: { momentous?: boolean; nesterov?: boolean; decays?: boolean; maximize?: boolean; detached?: boolean }): Tensor[];
  straight_through(y: Operand): Tensor;
  subtract(y: Operand): Tensor;
  sum(attributes?: { axes?: number | Ints | null; dtype?: DType | null; keepdims?: boolean }): Tensor;
  svd(): [u: Tensor, s: Tensor, vh: Tensor];
  svd_full(): [u: Tensor, s: Tensor, vh: Tensor];
  svdvals(): Tensor;
  swapaxes(attributes: { axis1: number | bigint; axis2: number | bigint }): Tensor;
  take(indices: Operand, attributes?: { axis?: number | bigint }): Tensor;
  take_along_axis(indices: Operand, attributes?: { axis?: number | bigint }): Tensor;
  tan(): Tensor;
  tanh(): Tensor;
  tanhshrink(): Tensor;
  threshold(attributes: { threshold: number; value: number }): Tensor;
  tile(attributes: { repeats: number | Ints }): Tensor;
  top_k(attributes: { k: number | bigint; axis?: number | bigint; largest?: boolean }): [values: Tensor, indices: Tensor];
  transpose(attributes?: { axes?: number | Ints | null }): Tensor;
  triangular_solve(b: Operand, attributes?: { left_side?: boolean; lower?: boolean; transpose?: boolean; conjugate?: boolean; unit_diagonal?: boolean }): Tensor;
  tril(attributes?: { k?: number | bigint }): Tensor;
  triu(attributes?: { k?: number | bigint }): Tensor;
  trunc(): Tensor;
  unscale(tensors: Operand[]): Tensor[];
  var(attributes?: { axes?: number | Ints | null; correction?: number; keepdims?: boolean }): Tensor;
  vecdot(y: Operand, attributes?: { axis?: number | bigint }): Tensor;
  where(x: Operand, y: Operand): Tensor;
  xlog1py(y: Operand): Tensor;
  xlogy(y: Operand): Tensor;
  zeta(q: Operand): Tensor;
}
