//! A function for every op.
//!
//! Written by bindings/generate.py from lazyloom_api.json; do not edit.

use crate::record::{record, record_list, record_one, Attr, Operand};
use crate::{DType, Result, Tensor};

/// |x|; complex operands give their modulus, of the real dtype.
#[track_caller]
pub fn abs<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"abs", &[x.into()], &[])
}

/// Inverse cosine, in radians; NaN outside \[-1, 1\] for real x.
#[track_caller]
pub fn acos<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"acos", &[x.into()], &[])
}

/// Inverse hyperbolic cosine; NaN below 1 for real x.
#[track_caller]
pub fn acosh<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"acosh", &[x.into()], &[])
}

/// The mean of parts of the last axes, output of them in each, as even as possible.
#[track_caller]
pub fn adaptive_avg_pool<'a>(x: impl Into<Operand<'a>>, output: &[i64]) -> Result<Tensor> {
    record_one(c"adaptive_avg_pool", &[x.into()], &[Attr::new(c"output", output)])
}

/// The largest element of parts of the last axes; parts as for adaptive_avg_pool.
#[track_caller]
pub fn adaptive_max_pool<'a>(x: impl Into<Operand<'a>>, output: &[i64]) -> Result<Tensor> {
    record_one(c"adaptive_max_pool", &[x.into()], &[Attr::new(c"output", output)])
}

/// x + y. For bool, logical or, as in NumPy.
#[track_caller]
pub fn add<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"add", &[x.into(), y.into()], &[])
}

/// What [`addcdiv`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct AddcdivOptions<'a> {
    pub value: Operand<'a>,
}

impl Default for AddcdivOptions<'_> {
    fn default() -> Self {
        Self {
            value: Operand::none(),
        }
    }
}

/// x + value * y / z; value is 1 if absent.
#[track_caller]
pub fn addcdiv<'a>(
    x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>, z: impl Into<Operand<'a>>,
    options: AddcdivOptions<'a>) -> Result<Tensor> {
    record_one(c"addcdiv", &[x.into(), y.into(), z.into(), options.value], &[])
}

/// What [`addcmul`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct AddcmulOptions<'a> {
    pub value: Operand<'a>,
}

impl Default for AddcmulOptions<'_> {
    fn default() -> Self {
        Self {
            value: Operand::none(),
        }
    }
}

/// x + value * y * z; value is 1 if absent.
#[track_caller]
pub fn addcmul<'a>(
    x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>, z: impl Into<Operand<'a>>,
    options: AddcmulOptions<'a>) -> Result<Tensor> {
    record_one(c"addcmul", &[x.into(), y.into(), z.into(), options.value], &[])
}

/// The Airy function that vanishes at infinity.
#[track_caller]
pub fn airy_ai<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"airy_ai", &[x.into()], &[])
}

/// What [`all`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct AllOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub keepdims: bool,
}

impl Default for AllOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            keepdims: false,
        }
    }
}

/// Whether no element is 0 (NaN counts as not 0); true of none.
#[track_caller]
pub fn all<'a>(x: impl Into<Operand<'a>>, options: AllOptions<'a>) -> Result<Tensor> {
    record_one(
        c"all", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`all_gather`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct AllGatherOptions<'a> {
    pub axis: i64,
    pub axes: &'a str,
}

impl Default for AllGatherOptions<'_> {
    fn default() -> Self {
        Self {
            axis: 0,
            axes: "",
        }
    }
}

/// The operands of all processes of a group, one after the other along axis.
#[track_caller]
pub fn all_gather<'a>(
    x: impl Into<Operand<'a>>, group: &[i64], world: i64, options: AllGatherOptions<'a>) -> Result<Tensor> {
    record_one(
        c"all_gather", &[x.into()],
        &[Attr::new(c"group", group), Attr::new(c"world", world), Attr::new(c"axis", options.axis), Attr::new(c"axes", options.axes)])
}

/// What [`all_reduce`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct AllReduceOptions<'a> {
    pub reduction: &'a str,
    pub axes: &'a str,
}

impl Default for AllReduceOptions<'_> {
    fn default() -> Self {
        Self {
            reduction: "sum",
            axes: "",
        }
    }
}

/// The reduction of the operands of all processes of a group, in each of them.
#[track_caller]
pub fn all_reduce<'a>(
    x: impl Into<Operand<'a>>, group: &[i64], world: i64, options: AllReduceOptions<'a>) -> Result<Tensor> {
    record_one(
        c"all_reduce", &[x.into()],
        &[Attr::new(c"group", group), Attr::new(c"world", world), Attr::new(c"reduction", options.reduction), Attr::new(c"axes", options.axes)])
}

/// What [`all_to_all`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct AllToAllOptions<'a> {
    pub split_axis: i64,
    pub concat_axis: i64,
    pub axes: &'a str,
}

impl Default for AllToAllOptions<'_> {
    fn default() -> Self {
        Self {
            split_axis: 0,
            concat_axis: 0,
            axes: "",
        }
    }
}

/// Parts of the operands of a group: each process sends one along split_axis to each.
#[track_caller]
pub fn all_to_all<'a>(
    x: impl Into<Operand<'a>>, group: &[i64], world: i64, options: AllToAllOptions<'a>) -> Result<Tensor> {
    record_one(
        c"all_to_all", &[x.into()],
        &[Attr::new(c"group", group), Attr::new(c"world", world), Attr::new(c"split_axis", options.split_axis), Attr::new(c"concat_axis", options.concat_axis), Attr::new(c"axes", options.axes)])
}

/// The argument of x in radians; 0 or pi for real x, whose gradient is 0. So is that at 0.
#[track_caller]
pub fn angle<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"angle", &[x.into()], &[])
}

/// What [`any`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct AnyOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub keepdims: bool,
}

impl Default for AnyOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            keepdims: false,
        }
    }
}

/// Whether an element is not 0 (NaN counts as not 0); false of none.
#[track_caller]
pub fn any<'a>(x: impl Into<Operand<'a>>, options: AnyOptions<'a>) -> Result<Tensor> {
    record_one(
        c"any", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`apply_at`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ApplyAtOptions<'a> {
    pub update: Operand<'a>,
    pub dtype: Option<DType>,
}

impl Default for ApplyAtOptions<'_> {
    fn default() -> Self {
        Self {
            update: Operand::none(),
            dtype: None,
        }
    }
}

/// The vector x with f(x\[p\], u) written to each position p in turn; f(x\[p\]) without an update.
#[track_caller]
pub fn apply_at<'a>(
    x: impl Into<Operand<'a>>, positions: impl Into<Operand<'a>>, function: &str,
    options: ApplyAtOptions<'a>) -> Result<Tensor> {
    record_one(
        c"apply_at", &[x.into(), positions.into(), options.update],
        &[Attr::new(c"function", function), Attr::new(c"dtype", options.dtype)])
}

/// start, start + step, ...: length elements start + i * step.
#[track_caller]
pub fn arange<'a>(
    start: impl Into<Operand<'a>>, step: impl Into<Operand<'a>>, length: i64) -> Result<Tensor> {
    record_one(c"arange", &[start.into(), step.into()], &[Attr::new(c"length", length)])
}

/// What [`argmax`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ArgmaxOptions {
    pub axis: Option<i64>,
    pub keepdims: bool,
}

impl Default for ArgmaxOptions {
    fn default() -> Self {
        Self {
            axis: None,
            keepdims: false,
        }
    }
}

/// The index (int64) of the first largest element, a NaN counting as larger than all.
#[track_caller]
pub fn argmax<'a>(x: impl Into<Operand<'a>>, options: ArgmaxOptions) -> Result<Tensor> {
    record_one(
        c"argmax", &[x.into()],
        &[Attr::new(c"axis", options.axis), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`argmin`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ArgminOptions {
    pub axis: Option<i64>,
    pub keepdims: bool,
}

impl Default for ArgminOptions {
    fn default() -> Self {
        Self {
            axis: None,
            keepdims: false,
        }
    }
}

/// The index (int64) of the first smallest element, a NaN counting as smaller than all.
#[track_caller]
pub fn argmin<'a>(x: impl Into<Operand<'a>>, options: ArgminOptions) -> Result<Tensor> {
    record_one(
        c"argmin", &[x.into()],
        &[Attr::new(c"axis", options.axis), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`argsort`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ArgsortOptions {
    pub axis: i64,
    pub descending: bool,
    pub stable: bool,
}

impl Default for ArgsortOptions {
    fn default() -> Self {
        Self {
            axis: -1,
            descending: false,
            stable: true,
        }
    }
}

/// The positions (int64) that put x in order along an axis. Raises ArgumentError.
#[track_caller]
pub fn argsort<'a>(x: impl Into<Operand<'a>>, options: ArgsortOptions) -> Result<Tensor> {
    record_one(
        c"argsort", &[x.into()],
        &[Attr::new(c"axis", options.axis), Attr::new(c"descending", options.descending), Attr::new(c"stable", options.stable)])
}

/// Inverse sine, in radians; NaN outside \[-1, 1\] for real x.
#[track_caller]
pub fn asin<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"asin", &[x.into()], &[])
}

/// Inverse hyperbolic sine.
#[track_caller]
pub fn asinh<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"asinh", &[x.into()], &[])
}

/// Inverse tangent, in radians.
#[track_caller]
pub fn atan<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"atan", &[x.into()], &[])
}

/// The angle of the point (x, y), in radians. The gradient at (0, 0) is 0.
#[track_caller]
pub fn atan2<'a>(y: impl Into<Operand<'a>>, x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"atan2", &[y.into(), x.into()], &[])
}

/// Inverse hyperbolic tangent; NaN outside \[-1, 1\] for real x.
#[track_caller]
pub fn atanh<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"atanh", &[x.into()], &[])
}

/// What [`avg_pool`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct AvgPoolOptions<'a> {
    pub strides: Option<&'a [i64]>,
    pub padding_low: Option<&'a [i64]>,
    pub padding_high: Option<&'a [i64]>,
    pub dilation: Option<&'a [i64]>,
    pub count_include_pad: bool,
}

impl Default for AvgPoolOptions<'_> {
    fn default() -> Self {
        Self {
            strides: None,
            padding_low: None,
            padding_high: None,
            dilation: None,
            count_include_pad: true,
        }
    }
}

/// The mean of each place of a window that moves over the last axes.
#[track_caller]
pub fn avg_pool<'a>(
    x: impl Into<Operand<'a>>, window: &[i64], options: AvgPoolOptions<'a>) -> Result<Tensor> {
    record_one(
        c"avg_pool", &[x.into()],
        &[Attr::new(c"window", window), Attr::new(c"strides", options.strides), Attr::new(c"padding_low", options.padding_low), Attr::new(c"padding_high", options.padding_high), Attr::new(c"dilation", options.dilation), Attr::new(c"count_include_pad", options.count_include_pad)])
}

/// The first results operands, and not before the others are there as well.
#[track_caller]
pub fn await_all<'a>(
    operands: impl IntoIterator<Item = impl Into<Operand<'a>>>, results: i64) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![];
    given.extend(operands.into_iter().map(Into::into));
    record_list(c"await_all", &given, &[Attr::new(c"results", results)])
}

/// What [`axis_index`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct AxisIndexOptions<'a> {
    pub axes: &'a str,
}

impl Default for AxisIndexOptions<'_> {
    fn default() -> Self {
        Self {
            axes: "",
        }
    }
}

/// The position of a device along axes of a mesh, an int32; inside shard_map.
#[track_caller]
pub fn axis_index<'a>(
    group: &[i64], world: i64, options: AxisIndexOptions<'a>) -> Result<Tensor> {
    record_one(
        c"axis_index", &[],
        &[Attr::new(c"group", group), Attr::new(c"world", world), Attr::new(c"axes", options.axes)])
}

/// The operands themselves; what is computed from them is not merged with the same computation
/// elsewhere, nor begun before all of them are there.
#[track_caller]
pub fn barrier<'a>(
    operands: impl IntoIterator<Item = impl Into<Operand<'a>>>) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![];
    given.extend(operands.into_iter().map(Into::into));
    record_list(c"barrier", &given, &[])
}

/// What [`batch_norm_infer`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct BatchNormInferOptions<'a> {
    pub weight: Operand<'a>,
    pub bias: Operand<'a>,
    pub eps: f64,
}

impl Default for BatchNormInferOptions<'_> {
    fn default() -> Self {
        Self {
            weight: Operand::none(),
            bias: Operand::none(),
            eps: 1e-05,
        }
    }
}

/// (x - mean) / sqrt(variance + eps) * weight + bias, a number of each per channel.
#[track_caller]
pub fn batch_norm_infer<'a>(
    x: impl Into<Operand<'a>>, mean: impl Into<Operand<'a>>, variance: impl Into<Operand<'a>>,
    options: BatchNormInferOptions<'a>) -> Result<Tensor> {
    record_one(
        c"batch_norm_infer",
        &[x.into(), mean.into(), variance.into(), options.weight, options.bias],
        &[Attr::new(c"eps", options.eps)])
}

/// What [`batch_norm_train`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct BatchNormTrainOptions<'a> {
    pub weight: Operand<'a>,
    pub bias: Operand<'a>,
    pub eps: f64,
}

impl Default for BatchNormTrainOptions<'_> {
    fn default() -> Self {
        Self {
            weight: Operand::none(),
            bias: Operand::none(),
            eps: 1e-05,
        }
    }
}

/// Each channel (axis 1) over all samples and positions gets mean 0 and variance 1.
/// Gives y, mean, variance.
#[track_caller]
pub fn batch_norm_train<'a>(
    x: impl Into<Operand<'a>>, options: BatchNormTrainOptions<'a>) -> Result<[Tensor; 3]> {
    record(
        c"batch_norm_train", &[x.into(), options.weight, options.bias],
        &[Attr::new(c"eps", options.eps)])
}

/// The modified Bessel function of the first kind of order 0.
#[track_caller]
pub fn bessel_i0<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bessel_i0", &[x.into()], &[])
}

/// exp(-|x|) times the modified Bessel function of the first kind of order 0.
#[track_caller]
pub fn bessel_i0e<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bessel_i0e", &[x.into()], &[])
}

/// The modified Bessel function of the first kind of order 1.
#[track_caller]
pub fn bessel_i1<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bessel_i1", &[x.into()], &[])
}

/// exp(-|x|) times the modified Bessel function of the first kind of order 1.
#[track_caller]
pub fn bessel_i1e<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bessel_i1e", &[x.into()], &[])
}

/// The Bessel function of the first kind of order 0; 0 at the infinities.
#[track_caller]
pub fn bessel_j0<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bessel_j0", &[x.into()], &[])
}

/// The Bessel function of the first kind of order 1; 0 at the infinities.
#[track_caller]
pub fn bessel_j1<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bessel_j1", &[x.into()], &[])
}

/// exp(x) times the modified Bessel function of the second kind of order 0; inf at 0, NaN
/// below.
#[track_caller]
pub fn bessel_k0e<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bessel_k0e", &[x.into()], &[])
}

/// exp(x) times the modified Bessel function of the second kind of order 1; inf at 0, NaN
/// below.
#[track_caller]
pub fn bessel_k1e<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bessel_k1e", &[x.into()], &[])
}

/// The Bessel function of the second kind of order 0; -inf at 0, NaN below.
#[track_caller]
pub fn bessel_y0<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bessel_y0", &[x.into()], &[])
}

/// The Bessel function of the second kind of order 1; -inf at 0, NaN below.
#[track_caller]
pub fn bessel_y1<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bessel_y1", &[x.into()], &[])
}

/// The regularised incomplete beta function, for positive a and b and x in \[0, 1\].
#[track_caller]
pub fn betainc<'a>(
    a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>, x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"betainc", &[a.into(), b.into(), x.into()], &[])
}

/// What [`binary_cross_entropy`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct BinaryCrossEntropyOptions<'a> {
    pub weight: Operand<'a>,
    pub reduction: &'a str,
}

impl Default for BinaryCrossEntropyOptions<'_> {
    fn default() -> Self {
        Self {
            weight: Operand::none(),
            reduction: "mean",
        }
    }
}

/// -(t * log(x) + (1 - t) * log(1 - x)) * w for probabilities x, logarithms at least -100.
#[track_caller]
pub fn binary_cross_entropy<'a>(
    x: impl Into<Operand<'a>>, target: impl Into<Operand<'a>>,
    options: BinaryCrossEntropyOptions<'a>) -> Result<Tensor> {
    record_one(
        c"binary_cross_entropy", &[x.into(), target.into(), options.weight],
        &[Attr::new(c"reduction", options.reduction)])
}

/// What [`binary_cross_entropy_with_logits`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct BinaryCrossEntropyWithLogitsOptions<'a> {
    pub weight: Operand<'a>,
    pub positive_weight: Operand<'a>,
    pub reduction: &'a str,
}

impl Default for BinaryCrossEntropyWithLogitsOptions<'_> {
    fn default() -> Self {
        Self {
            weight: Operand::none(),
            positive_weight: Operand::none(),
            reduction: "mean",
        }
    }
}

/// -(p * t * log(sigmoid(x)) + (1 - t) * log(1 - sigmoid(x))) * w, without overflow.
#[track_caller]
pub fn binary_cross_entropy_with_logits<'a>(
    logits: impl Into<Operand<'a>>, targets: impl Into<Operand<'a>>,
    options: BinaryCrossEntropyWithLogitsOptions<'a>) -> Result<Tensor> {
    record_one(
        c"binary_cross_entropy_with_logits",
        &[logits.into(), targets.into(), options.weight, options.positive_weight],
        &[Attr::new(c"reduction", options.reduction)])
}

/// What [`bincount`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct BincountOptions<'a> {
    pub weights: Operand<'a>,
}

impl Default for BincountOptions<'_> {
    fn default() -> Self {
        Self {
            weights: Operand::none(),
        }
    }
}

/// How often each of 0 .. length - 1 occurs in x (1-d), or the sum of its weights.
#[track_caller]
pub fn bincount<'a>(
    x: impl Into<Operand<'a>>, length: i64, options: BincountOptions<'a>) -> Result<Tensor> {
    record_one(c"bincount", &[x.into(), options.weights], &[Attr::new(c"length", length)])
}

/// The bytes of x read as dtype.
#[track_caller]
pub fn bitcast<'a>(x: impl Into<Operand<'a>>, dtype: DType) -> Result<Tensor> {
    record_one(c"bitcast", &[x.into()], &[Attr::new(c"dtype", dtype)])
}

/// x & y.
#[track_caller]
pub fn bitwise_and<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bitwise_and", &[x.into(), y.into()], &[])
}

/// All bits of x inverted; logical not for bool.
#[track_caller]
pub fn bitwise_not<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bitwise_not", &[x.into()], &[])
}

/// x | y.
#[track_caller]
pub fn bitwise_or<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bitwise_or", &[x.into(), y.into()], &[])
}

/// x ^ y.
#[track_caller]
pub fn bitwise_xor<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"bitwise_xor", &[x.into(), y.into()], &[])
}

/// x repeated to shape by NumPy's broadcasting rules. Raises ShapeError.
#[track_caller]
pub fn broadcast_to<'a>(x: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(c"broadcast_to", &[x.into()], &[Attr::new(c"shape", shape)])
}

/// The results of the function main of a StableHLO module, which is given as text.
#[track_caller]
pub fn call_module<'a>(
    operands: impl IntoIterator<Item = impl Into<Operand<'a>>>, module: &str) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![];
    given.extend(operands.into_iter().map(Into::into));
    record_list(c"call_module", &given, &[Attr::new(c"module", module)])
}

/// x converted to dtype.
#[track_caller]
pub fn cast<'a>(x: impl Into<Operand<'a>>, dtype: DType) -> Result<Tensor> {
    record_one(c"cast", &[x.into()], &[Attr::new(c"dtype", dtype)])
}

/// The real cube root, of the sign of x.
#[track_caller]
pub fn cbrt<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"cbrt", &[x.into()], &[])
}

/// The smallest integer not below x.
#[track_caller]
pub fn ceil<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"ceil", &[x.into()], &[])
}

/// What [`celu`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CeluOptions {
    pub alpha: f64,
}

impl Default for CeluOptions {
    fn default() -> Self {
        Self {
            alpha: 1.0,
        }
    }
}

/// x for x > 0, alpha * (exp(x / alpha) - 1) elsewhere.
#[track_caller]
pub fn celu<'a>(x: impl Into<Operand<'a>>, options: CeluOptions) -> Result<Tensor> {
    record_one(c"celu", &[x.into()], &[Attr::new(c"alpha", options.alpha)])
}

/// The Chebyshev polynomial of degree n (rounded towards zero) of the first (kind "t"), second
/// ("u"), third ("v") or fourth ("w") kind; 0 for a negative degree.
#[track_caller]
pub fn chebyshev_polynomial<'a>(
    x: impl Into<Operand<'a>>, n: impl Into<Operand<'a>>, kind: &str) -> Result<Tensor> {
    record_one(c"chebyshev_polynomial", &[x.into(), n.into()], &[Attr::new(c"kind", kind)])
}

/// What [`checked`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CheckedOptions<'a> {
    pub of: &'a str,
    pub info: &'a [i64],
}

impl Default for CheckedOptions<'_> {
    fn default() -> Self {
        Self {
            of: "",
            info: &[],
        }
    }
}

/// x itself, and flag, which is looked at before anything that depends on x is read.
/// Gives result, looked_at.
#[track_caller]
pub fn checked<'a>(
    x: impl Into<Operand<'a>>, flag: impl Into<Operand<'a>>, kind: &str,
    options: CheckedOptions<'a>) -> Result<[Tensor; 2]> {
    record(
        c"checked", &[x.into(), flag.into()],
        &[Attr::new(c"kind", kind), Attr::new(c"of", options.of), Attr::new(c"info", options.info)])
}

/// What [`cholesky`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CholeskyOptions {
    pub upper: bool,
}

impl Default for CholeskyOptions {
    fn default() -> Self {
        Self {
            upper: false,
        }
    }
}

/// The lower triangular L with L @ L.conj().T == x, or its upper counterpart.
#[track_caller]
pub fn cholesky<'a>(x: impl Into<Operand<'a>>, options: CholeskyOptions) -> Result<Tensor> {
    record_one(c"cholesky", &[x.into()], &[Attr::new(c"upper", options.upper)])
}

/// What [`cholesky_failure`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CholeskyFailureOptions {
    pub upper: bool,
}

impl Default for CholeskyFailureOptions {
    fn default() -> Self {
        Self {
            upper: false,
        }
    }
}

/// The order of the first leading minor that is not positive, 0 where there is none; int32.
#[track_caller]
pub fn cholesky_failure<'a>(
    x: impl Into<Operand<'a>>, options: CholeskyFailureOptions) -> Result<Tensor> {
    record_one(c"cholesky_failure", &[x.into()], &[Attr::new(c"upper", options.upper)])
}

/// What [`clip`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ClipOptions<'a> {
    pub min: Operand<'a>,
    pub max: Operand<'a>,
}

impl Default for ClipOptions<'_> {
    fn default() -> Self {
        Self {
            min: Operand::none(),
            max: Operand::none(),
        }
    }
}

/// x limited to \[min, max\], NaN where any is; max where min > max.
#[track_caller]
pub fn clip<'a>(x: impl Into<Operand<'a>>, options: ClipOptions<'a>) -> Result<Tensor> {
    record_one(c"clip", &[x.into(), options.min, options.max], &[])
}

/// What [`collective_broadcast`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CollectiveBroadcastOptions<'a> {
    pub source: i64,
    pub axes: &'a str,
}

impl Default for CollectiveBroadcastOptions<'_> {
    fn default() -> Self {
        Self {
            source: 0,
            axes: "",
        }
    }
}

/// The operand of the process at position source of a group, in each of its processes.
#[track_caller]
pub fn collective_broadcast<'a>(
    x: impl Into<Operand<'a>>, group: &[i64], world: i64, options: CollectiveBroadcastOptions<'a>) -> Result<Tensor> {
    record_one(
        c"collective_broadcast", &[x.into()],
        &[Attr::new(c"group", group), Attr::new(c"world", world), Attr::new(c"source", options.source), Attr::new(c"axes", options.axes)])
}

/// What [`collective_permute`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CollectivePermuteOptions<'a> {
    pub axes: &'a str,
}

impl Default for CollectivePermuteOptions<'_> {
    fn default() -> Self {
        Self {
            axes: "",
        }
    }
}

/// The operand of the process that sends to this one; zeros in one that receives from none.
#[track_caller]
pub fn collective_permute<'a>(
    x: impl Into<Operand<'a>>, sources: &[i64], targets: &[i64], group: &[i64], world: i64,
    options: CollectivePermuteOptions<'a>) -> Result<Tensor> {
    record_one(
        c"collective_permute", &[x.into()],
        &[Attr::new(c"sources", sources), Attr::new(c"targets", targets), Attr::new(c"group", group), Attr::new(c"world", world), Attr::new(c"axes", options.axes)])
}

/// real + i imag, complex64 of float32 or complex128 of float64 operands.
#[track_caller]
pub fn complex<'a>(real: impl Into<Operand<'a>>, imag: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"complex", &[real.into(), imag.into()], &[])
}

/// What [`concatenate`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ConcatenateOptions {
    pub axis: i64,
}

impl Default for ConcatenateOptions {
    fn default() -> Self {
        Self {
            axis: 0,
        }
    }
}

/// The operands joined along an existing axis; their other sizes are equal.
#[track_caller]
pub fn concatenate<'a>(
    xs: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: ConcatenateOptions) -> Result<Tensor> {
    let mut given: Vec<Operand<'a>> = vec![];
    given.extend(xs.into_iter().map(Into::into));
    record_one(c"concatenate", &given, &[Attr::new(c"axis", options.axis)])
}

/// The complex conjugate; x itself if it is real.
#[track_caller]
pub fn conj<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"conj", &[x.into()], &[])
}

/// What [`conv`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ConvOptions<'a> {
    pub strides: Option<&'a [i64]>,
    pub padding_low: Option<&'a [i64]>,
    pub padding_high: Option<&'a [i64]>,
    pub dilation: Option<&'a [i64]>,
    pub input_dilation: Option<&'a [i64]>,
    pub groups: i64,
}

impl Default for ConvOptions<'_> {
    fn default() -> Self {
        Self {
            strides: None,
            padding_low: None,
            padding_high: None,
            dilation: None,
            input_dilation: None,
            groups: 1,
        }
    }
}

/// x (N, C, spatial...) convolved with weight (O, C / groups, spatial...).
#[track_caller]
pub fn conv<'a>(
    x: impl Into<Operand<'a>>, weight: impl Into<Operand<'a>>, options: ConvOptions<'a>) -> Result<Tensor> {
    record_one(
        c"conv", &[x.into(), weight.into()],
        &[Attr::new(c"strides", options.strides), Attr::new(c"padding_low", options.padding_low), Attr::new(c"padding_high", options.padding_high), Attr::new(c"dilation", options.dilation), Attr::new(c"input_dilation", options.input_dilation), Attr::new(c"groups", options.groups)])
}

/// What [`conv_transpose`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ConvTransposeOptions<'a> {
    pub strides: Option<&'a [i64]>,
    pub padding_low: Option<&'a [i64]>,
    pub padding_high: Option<&'a [i64]>,
    pub output_padding: Option<&'a [i64]>,
    pub dilation: Option<&'a [i64]>,
    pub groups: i64,
}

impl Default for ConvTransposeOptions<'_> {
    fn default() -> Self {
        Self {
            strides: None,
            padding_low: None,
            padding_high: None,
            output_padding: None,
            dilation: None,
            groups: 1,
        }
    }
}

/// The derivative of conv with respect to its input, as an op: weight (C, O / groups, ...).
#[track_caller]
pub fn conv_transpose<'a>(
    x: impl Into<Operand<'a>>, weight: impl Into<Operand<'a>>, options: ConvTransposeOptions<'a>) -> Result<Tensor> {
    record_one(
        c"conv_transpose", &[x.into(), weight.into()],
        &[Attr::new(c"strides", options.strides), Attr::new(c"padding_low", options.padding_low), Attr::new(c"padding_high", options.padding_high), Attr::new(c"output_padding", options.output_padding), Attr::new(c"dilation", options.dilation), Attr::new(c"groups", options.groups)])
}

/// x as a value of its own, for frontends that tell row-major copies from what they copy.
#[track_caller]
pub fn copy<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"copy", &[x.into()], &[])
}

/// The magnitude of x with the sign of y, zeros included. The gradient is 0 where x is.
#[track_caller]
pub fn copysign<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"copysign", &[x.into(), y.into()], &[])
}

/// Cosine of x in radians.
#[track_caller]
pub fn cos<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"cos", &[x.into()], &[])
}

/// Hyperbolic cosine.
#[track_caller]
pub fn cosh<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"cosh", &[x.into()], &[])
}

/// What [`count_nonzero`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CountNonzeroOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub keepdims: bool,
}

impl Default for CountNonzeroOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            keepdims: false,
        }
    }
}

/// The number of elements that are not 0, as int64.
#[track_caller]
pub fn count_nonzero<'a>(
    x: impl Into<Operand<'a>>, options: CountNonzeroOptions<'a>) -> Result<Tensor> {
    record_one(
        c"count_nonzero", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`cross`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CrossOptions {
    pub axis: i64,
}

impl Default for CrossOptions {
    fn default() -> Self {
        Self {
            axis: -1,
        }
    }
}

/// The cross product of vectors of 3 elements along an axis; the other axes broadcast.
#[track_caller]
pub fn cross<'a>(
    x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>, options: CrossOptions) -> Result<Tensor> {
    record_one(c"cross", &[x.into(), y.into()], &[Attr::new(c"axis", options.axis)])
}

/// What [`cross_entropy`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CrossEntropyOptions<'a> {
    pub weight: Operand<'a>,
    pub axis: i64,
    pub label_smoothing: f64,
    pub ignore_index: Option<i64>,
    pub reduction: &'a str,
}

impl Default for CrossEntropyOptions<'_> {
    fn default() -> Self {
        Self {
            weight: Operand::none(),
            axis: -1,
            label_smoothing: 0.0,
            ignore_index: Some(-100),
            reduction: "mean",
        }
    }
}

/// -log_softmax(logits)\[label\], per element of labels.
#[track_caller]
pub fn cross_entropy<'a>(
    logits: impl Into<Operand<'a>>, labels: impl Into<Operand<'a>>,
    options: CrossEntropyOptions<'a>) -> Result<Tensor> {
    record_one(
        c"cross_entropy", &[logits.into(), labels.into(), options.weight],
        &[Attr::new(c"axis", options.axis), Attr::new(c"label_smoothing", options.label_smoothing), Attr::new(c"ignore_index", options.ignore_index), Attr::new(c"reduction", options.reduction)])
}

/// What [`ctc_loss`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CtcLossOptions {
    pub blank: i64,
}

impl Default for CtcLossOptions {
    fn default() -> Self {
        Self {
            blank: 0,
        }
    }
}

/// -log of the probability of all alignments of a target with an input, for each of N.
#[track_caller]
pub fn ctc_loss<'a>(
    log_probabilities: impl Into<Operand<'a>>, targets: impl Into<Operand<'a>>,
    input_lengths: impl Into<Operand<'a>>, target_lengths: impl Into<Operand<'a>>,
    options: CtcLossOptions) -> Result<Tensor> {
    record_one(
        c"ctc_loss",
        &[log_probabilities.into(), targets.into(), input_lengths.into(), target_lengths.into()],
        &[Attr::new(c"blank", options.blank)])
}

/// What [`cummax`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CummaxOptions {
    pub reverse: bool,
}

impl Default for CummaxOptions {
    fn default() -> Self {
        Self {
            reverse: false,
        }
    }
}

/// The largest element up to each one; NaN from the first NaN on.
#[track_caller]
pub fn cummax<'a>(
    x: impl Into<Operand<'a>>, axis: i64, options: CummaxOptions) -> Result<Tensor> {
    record_one(
        c"cummax", &[x.into()],
        &[Attr::new(c"axis", axis), Attr::new(c"reverse", options.reverse)])
}

/// What [`cummin`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CumminOptions {
    pub reverse: bool,
}

impl Default for CumminOptions {
    fn default() -> Self {
        Self {
            reverse: false,
        }
    }
}

/// The smallest element up to each one; NaN from the first NaN on.
#[track_caller]
pub fn cummin<'a>(
    x: impl Into<Operand<'a>>, axis: i64, options: CumminOptions) -> Result<Tensor> {
    record_one(
        c"cummin", &[x.into()],
        &[Attr::new(c"axis", axis), Attr::new(c"reverse", options.reverse)])
}

/// What [`cumprod`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CumprodOptions {
    pub reverse: bool,
}

impl Default for CumprodOptions {
    fn default() -> Self {
        Self {
            reverse: false,
        }
    }
}

/// The products of the elements up to each one; integers wrap.
#[track_caller]
pub fn cumprod<'a>(
    x: impl Into<Operand<'a>>, axis: i64, options: CumprodOptions) -> Result<Tensor> {
    record_one(
        c"cumprod", &[x.into()],
        &[Attr::new(c"axis", axis), Attr::new(c"reverse", options.reverse)])
}

/// What [`cumsum`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct CumsumOptions {
    pub reverse: bool,
}

impl Default for CumsumOptions {
    fn default() -> Self {
        Self {
            reverse: false,
        }
    }
}

/// The sums of the elements up to each one; integers wrap.
#[track_caller]
pub fn cumsum<'a>(
    x: impl Into<Operand<'a>>, axis: i64, options: CumsumOptions) -> Result<Tensor> {
    record_one(
        c"cumsum", &[x.into()],
        &[Attr::new(c"axis", axis), Attr::new(c"reverse", options.reverse)])
}

/// The first results operands; the others are what these were computed from.
#[track_caller]
pub fn custom<'a>(
    operands: impl IntoIterator<Item = impl Into<Operand<'a>>>, results: i64) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![];
    given.extend(operands.into_iter().map(Into::into));
    record_list(c"custom", &given, &[Attr::new(c"results", results)])
}

/// What [`dequantize`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct DequantizeOptions<'a> {
    pub zero_point: Operand<'a>,
    pub axis: Option<i64>,
}

impl Default for DequantizeOptions<'_> {
    fn default() -> Self {
        Self {
            zero_point: Operand::none(),
            axis: None,
        }
    }
}

/// (x - zero_point) * scale, in the dtype of scale; x is int8, uint8 or int32.
#[track_caller]
pub fn dequantize<'a>(
    x: impl Into<Operand<'a>>, scale: impl Into<Operand<'a>>, options: DequantizeOptions<'a>) -> Result<Tensor> {
    record_one(
        c"dequantize", &[x.into(), scale.into(), options.zero_point],
        &[Attr::new(c"axis", options.axis)])
}

/// The determinant of square matrices. Raises ShapeError, DTypeError.
#[track_caller]
pub fn det<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"det", &[x.into()], &[])
}

/// What [`diag_embed`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct DiagEmbedOptions {
    pub offset: i64,
    pub axis1: i64,
    pub axis2: i64,
}

impl Default for DiagEmbedOptions {
    fn default() -> Self {
        Self {
            offset: 0,
            axis1: -2,
            axis2: -1,
        }
    }
}

/// Square planes, zero but for the diagonal, which is the last axis of x.
#[track_caller]
pub fn diag_embed<'a>(x: impl Into<Operand<'a>>, options: DiagEmbedOptions) -> Result<Tensor> {
    record_one(
        c"diag_embed", &[x.into()],
        &[Attr::new(c"offset", options.offset), Attr::new(c"axis1", options.axis1), Attr::new(c"axis2", options.axis2)])
}

/// What [`diagonal`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct DiagonalOptions {
    pub offset: i64,
    pub axis1: i64,
    pub axis2: i64,
}

impl Default for DiagonalOptions {
    fn default() -> Self {
        Self {
            offset: 0,
            axis1: 0,
            axis2: 1,
        }
    }
}

/// The diagonals of the planes of two axes: those axes go, the diagonal comes last.
#[track_caller]
pub fn diagonal<'a>(x: impl Into<Operand<'a>>, options: DiagonalOptions) -> Result<Tensor> {
    record_one(
        c"diagonal", &[x.into()],
        &[Attr::new(c"offset", options.offset), Attr::new(c"axis1", options.axis1), Attr::new(c"axis2", options.axis2)])
}

/// What [`diagonal_update`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct DiagonalUpdateOptions {
    pub offset: i64,
    pub axis1: i64,
    pub axis2: i64,
}

impl Default for DiagonalUpdateOptions {
    fn default() -> Self {
        Self {
            offset: 0,
            axis1: 0,
            axis2: 1,
        }
    }
}

/// x with the elements that diagonal of the same attributes takes replaced.
#[track_caller]
pub fn diagonal_update<'a>(
    x: impl Into<Operand<'a>>, update: impl Into<Operand<'a>>, options: DiagonalUpdateOptions) -> Result<Tensor> {
    record_one(
        c"diagonal_update", &[x.into(), update.into()],
        &[Attr::new(c"offset", options.offset), Attr::new(c"axis1", options.axis1), Attr::new(c"axis2", options.axis2)])
}

/// The derivative of lgamma; infinite at 0, with the sign of -x.
#[track_caller]
pub fn digamma<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"digamma", &[x.into()], &[])
}

/// x / y, of floating-point or complex operands; by IEEE 754 for a zero y.
#[track_caller]
pub fn divide<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"divide", &[x.into(), y.into()], &[])
}

/// What [`dot_general`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct DotGeneralOptions<'a> {
    pub lhs_batch: &'a [i64],
    pub rhs_batch: &'a [i64],
    pub accumulate: Option<DType>,
}

impl Default for DotGeneralOptions<'_> {
    fn default() -> Self {
        Self {
            lhs_batch: &[],
            rhs_batch: &[],
            accumulate: None,
        }
    }
}

/// The sum of products over pairs of axes; pairs of batch axes stay, and come first.
#[track_caller]
pub fn dot_general<'a>(
    x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>, lhs_contract: &[i64],
    rhs_contract: &[i64], options: DotGeneralOptions<'a>) -> Result<Tensor> {
    record_one(
        c"dot_general", &[x.into(), y.into()],
        &[Attr::new(c"lhs_contract", lhs_contract), Attr::new(c"rhs_contract", rhs_contract), Attr::new(c"lhs_batch", options.lhs_batch), Attr::new(c"rhs_batch", options.rhs_batch), Attr::new(c"accumulate", options.accumulate)])
}

/// x with each element zero with probability rate, and divided by 1 - rate else.
#[track_caller]
pub fn dropout<'a>(
    x: impl Into<Operand<'a>>, key: impl Into<Operand<'a>>, rate: f64) -> Result<Tensor> {
    record_one(c"dropout", &[x.into(), key.into()], &[Attr::new(c"rate", rate)])
}

/// A block of attribute sizes that begins at the 0-d operands starts.
#[track_caller]
pub fn dynamic_slice<'a>(
    x: impl Into<Operand<'a>>, starts: impl IntoIterator<Item = impl Into<Operand<'a>>>,
    sizes: &[i64]) -> Result<Tensor> {
    let mut given: Vec<Operand<'a>> = vec![x.into()];
    given.extend(starts.into_iter().map(Into::into));
    record_one(c"dynamic_slice", &given, &[Attr::new(c"sizes", sizes)])
}

/// x with the block that begins at the 0-d operands starts replaced by update.
#[track_caller]
pub fn dynamic_update_slice<'a>(
    x: impl Into<Operand<'a>>, update: impl Into<Operand<'a>>,
    starts: impl IntoIterator<Item = impl Into<Operand<'a>>>) -> Result<Tensor> {
    let mut given: Vec<Operand<'a>> = vec![x.into(), update.into()];
    given.extend(starts.into_iter().map(Into::into));
    record_one(c"dynamic_update_slice", &given, &[])
}

/// Eigenvalues of square matrices, and eigenvectors as columns; both complex.
/// Gives eigenvalues, eigenvectors.
#[track_caller]
pub fn eig<'a>(x: impl Into<Operand<'a>>) -> Result<[Tensor; 2]> {
    record(c"eig", &[x.into()], &[])
}

/// What [`eigh`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct EighOptions {
    pub upper: bool,
}

impl Default for EighOptions {
    fn default() -> Self {
        Self {
            upper: false,
        }
    }
}

/// Ascending eigenvalues of Hermitian matrices, and eigenvectors as columns.
/// Gives eigenvalues, eigenvectors.
#[track_caller]
pub fn eigh<'a>(x: impl Into<Operand<'a>>, options: EighOptions) -> Result<[Tensor; 2]> {
    record(c"eigh", &[x.into()], &[Attr::new(c"upper", options.upper)])
}

/// Eigenvalues of square matrices, complex; see eig.
#[track_caller]
pub fn eigvals<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"eigvals", &[x.into()], &[])
}

/// What [`eigvalsh`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct EigvalshOptions {
    pub upper: bool,
}

impl Default for EigvalshOptions {
    fn default() -> Self {
        Self {
            upper: false,
        }
    }
}

/// Ascending eigenvalues of Hermitian matrices; see eigh.
#[track_caller]
pub fn eigvalsh<'a>(x: impl Into<Operand<'a>>, options: EigvalshOptions) -> Result<Tensor> {
    record_one(c"eigvalsh", &[x.into()], &[Attr::new(c"upper", options.upper)])
}

/// Einstein's sum: letters name axes, letters that the result lacks are summed over.
#[track_caller]
pub fn einsum<'a>(
    xs: impl IntoIterator<Item = impl Into<Operand<'a>>>, equation: &str) -> Result<Tensor> {
    let mut given: Vec<Operand<'a>> = vec![];
    given.extend(xs.into_iter().map(Into::into));
    record_one(c"einsum", &given, &[Attr::new(c"equation", equation)])
}

/// What [`elu`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct EluOptions {
    pub alpha: f64,
}

impl Default for EluOptions {
    fn default() -> Self {
        Self {
            alpha: 1.0,
        }
    }
}

/// x for x > 0, alpha * (exp(x) - 1) elsewhere.
#[track_caller]
pub fn elu<'a>(x: impl Into<Operand<'a>>, options: EluOptions) -> Result<Tensor> {
    record_one(c"elu", &[x.into()], &[Attr::new(c"alpha", options.alpha)])
}

/// What [`embedding`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingOptions {
    pub padding_index: Option<i64>,
}

impl Default for EmbeddingOptions {
    fn default() -> Self {
        Self {
            padding_index: None,
        }
    }
}

/// The rows of weight (rows, features) at indices, of any shape.
#[track_caller]
pub fn embedding<'a>(
    weight: impl Into<Operand<'a>>, indices: impl Into<Operand<'a>>, options: EmbeddingOptions) -> Result<Tensor> {
    record_one(
        c"embedding", &[weight.into(), indices.into()],
        &[Attr::new(c"padding_index", options.padding_index)])
}

/// -x log(x), 0 at 0 and -inf below.
#[track_caller]
pub fn entr<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"entr", &[x.into()], &[])
}

/// x == y.
#[track_caller]
pub fn equal<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"equal", &[x.into(), y.into()], &[])
}

/// The error function.
#[track_caller]
pub fn erf<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"erf", &[x.into()], &[])
}

/// 1 - erf(x), accurate for large x.
#[track_caller]
pub fn erfc<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"erfc", &[x.into()], &[])
}

/// exp(x * x) erfc(x), without underflow for large x.
#[track_caller]
pub fn erfcx<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"erfcx", &[x.into()], &[])
}

/// The inverse of erf; infinite at -1 and 1.
#[track_caller]
pub fn erfinv<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"erfinv", &[x.into()], &[])
}

/// e ** x.
#[track_caller]
pub fn exp<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"exp", &[x.into()], &[])
}

/// 2 ** x; exact where x is an integer and the result is normal.
#[track_caller]
pub fn exp2<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"exp2", &[x.into()], &[])
}

/// x with axes of size 1 put in, at these positions of the result.
#[track_caller]
pub fn expand_dims<'a>(x: impl Into<Operand<'a>>, axes: &[i64]) -> Result<Tensor> {
    record_one(c"expand_dims", &[x.into()], &[Attr::new(c"axes", axes)])
}

/// e ** x - 1, accurate near 0.
#[track_caller]
pub fn expm1<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"expm1", &[x.into()], &[])
}

/// What [`eye`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct EyeOptions {
    pub m: Option<i64>,
    pub k: i64,
}

impl Default for EyeOptions {
    fn default() -> Self {
        Self {
            m: None,
            k: 0,
        }
    }
}

/// An n by m (n by n for None) matrix with ones on diagonal k and zeros elsewhere.
#[track_caller]
pub fn eye(n: i64, dtype: DType, options: EyeOptions) -> Result<Tensor> {
    record_one(
        c"eye", &[],
        &[Attr::new(c"n", n), Attr::new(c"dtype", dtype), Attr::new(c"m", options.m), Attr::new(c"k", options.k)])
}

/// What [`fake_quantize`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct FakeQuantizeOptions {
    pub axis: Option<i64>,
}

impl Default for FakeQuantizeOptions {
    fn default() -> Self {
        Self {
            axis: None,
        }
    }
}

/// What x becomes by quantisation to the integers low to high and back.
#[track_caller]
pub fn fake_quantize<'a>(
    x: impl Into<Operand<'a>>, scale: impl Into<Operand<'a>>, zero_point: impl Into<Operand<'a>>,
    low: i64, high: i64, options: FakeQuantizeOptions) -> Result<Tensor> {
    record_one(
        c"fake_quantize", &[x.into(), scale.into(), zero_point.into()],
        &[Attr::new(c"low", low), Attr::new(c"high", high), Attr::new(c"axis", options.axis)])
}

/// What [`fft`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct FftOptions<'a> {
    pub inverse: bool,
    pub norm: &'a str,
}

impl Default for FftOptions<'_> {
    fn default() -> Self {
        Self {
            inverse: false,
            norm: "backward",
        }
    }
}

/// The discrete Fourier transform along the axes, or the inverse one.
#[track_caller]
pub fn fft<'a>(
    x: impl Into<Operand<'a>>, axes: &[i64], options: FftOptions<'a>) -> Result<Tensor> {
    record_one(
        c"fft", &[x.into()],
        &[Attr::new(c"axes", axes), Attr::new(c"inverse", options.inverse), Attr::new(c"norm", options.norm)])
}

/// What [`first_invalid_label`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct FirstInvalidLabelOptions {
    pub ignore_index: Option<i64>,
}

impl Default for FirstInvalidLabelOptions {
    fn default() -> Self {
        Self {
            ignore_index: Some(-100),
        }
    }
}

/// One of the labels that is neither in 0 .. size - 1 nor ignore_index, int64; or 0.
#[track_caller]
pub fn first_invalid_label<'a>(
    labels: impl Into<Operand<'a>>, size: i64, options: FirstInvalidLabelOptions) -> Result<Tensor> {
    record_one(
        c"first_invalid_label", &[labels.into()],
        &[Attr::new(c"size", size), Attr::new(c"ignore_index", options.ignore_index)])
}

/// What [`first_out_of_range`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct FirstOutOfRangeOptions {
    pub negative: bool,
}

impl Default for FirstOutOfRangeOptions {
    fn default() -> Self {
        Self {
            negative: true,
        }
    }
}

/// One of the indices that is not in -size .. size - 1, int64; 0 where all are.
#[track_caller]
pub fn first_out_of_range<'a>(
    indices: impl Into<Operand<'a>>, size: i64, options: FirstOutOfRangeOptions) -> Result<Tensor> {
    record_one(
        c"first_out_of_range", &[indices.into()],
        &[Attr::new(c"size", size), Attr::new(c"negative", options.negative)])
}

/// The first size positions (int64), in row-major order, where x is not zero.
#[track_caller]
pub fn flat_nonzero<'a>(x: impl Into<Operand<'a>>, size: i64) -> Result<Tensor> {
    record_one(c"flat_nonzero", &[x.into()], &[Attr::new(c"size", size)])
}

/// What [`flip`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct FlipOptions<'a> {
    pub axes: Option<&'a [i64]>,
}

impl Default for FlipOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
        }
    }
}

/// x with the order along these axes (all of them if None) reversed.
#[track_caller]
pub fn flip<'a>(x: impl Into<Operand<'a>>, options: FlipOptions<'a>) -> Result<Tensor> {
    record_one(c"flip", &[x.into()], &[Attr::new(c"axes", options.axes)])
}

/// Which floating-point exceptions a function met: 1 divide by zero, 2 overflow, 4 underflow, 8
/// invalid, added up, uint8.
#[track_caller]
pub fn float_status<'a>(
    result: impl Into<Operand<'a>>, operands: impl IntoIterator<Item = impl Into<Operand<'a>>>,
    function: &str) -> Result<Tensor> {
    let mut given: Vec<Operand<'a>> = vec![result.into()];
    given.extend(operands.into_iter().map(Into::into));
    record_one(c"float_status", &given, &[Attr::new(c"function", function)])
}

/// The largest integer not above x.
#[track_caller]
pub fn floor<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"floor", &[x.into()], &[])
}

/// x // y, rounded down.
#[track_caller]
pub fn floor_divide<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"floor_divide", &[x.into(), y.into()], &[])
}

/// The larger of x and y; the other one where one of them is NaN. At ties x has the gradient.
#[track_caller]
pub fn fmax<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"fmax", &[x.into(), y.into()], &[])
}

/// The smaller of x and y; the other one where one of them is NaN. At ties x has the gradient.
#[track_caller]
pub fn fmin<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"fmin", &[x.into(), y.into()], &[])
}

/// The remainder of x / y with the sign of x. Integers give 0 where y is 0.
#[track_caller]
pub fn fmod<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"fmod", &[x.into(), y.into()], &[])
}

/// f(f(x0, x1), x2) ... along an axis, from the first element to the last.
#[track_caller]
pub fn fold<'a>(x: impl Into<Operand<'a>>, function: &str, axis: i64) -> Result<Tensor> {
    record_one(
        c"fold", &[x.into()], &[Attr::new(c"function", function), Attr::new(c"axis", axis)])
}

/// A tensor of that shape, every element the 0-d value, of its dtype.
#[track_caller]
pub fn full<'a>(value: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(c"full", &[value.into()], &[Attr::new(c"shape", shape)])
}

/// The regularised lower incomplete gamma function, for a and x from 0 on.
#[track_caller]
pub fn gammainc<'a>(a: impl Into<Operand<'a>>, x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"gammainc", &[a.into(), x.into()], &[])
}

/// 1 - gammainc(a, x), accurate where it is small.
#[track_caller]
pub fn gammaincc<'a>(a: impl Into<Operand<'a>>, x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"gammaincc", &[a.into(), x.into()], &[])
}

/// The greatest common divisor of |x| and |y|; gcd(0, 0) is 0.
#[track_caller]
pub fn gcd<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"gcd", &[x.into(), y.into()], &[])
}

/// What [`gelu`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct GeluOptions<'a> {
    pub approximate: &'a str,
}

impl Default for GeluOptions<'_> {
    fn default() -> Self {
        Self {
            approximate: "none",
        }
    }
}

/// x times the normal distribution function of x; approximate "none" or "tanh".
#[track_caller]
pub fn gelu<'a>(x: impl Into<Operand<'a>>, options: GeluOptions<'a>) -> Result<Tensor> {
    record_one(c"gelu", &[x.into()], &[Attr::new(c"approximate", options.approximate)])
}

/// x > y.
#[track_caller]
pub fn greater<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"greater", &[x.into(), y.into()], &[])
}

/// x >= y.
#[track_caller]
pub fn greater_equal<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"greater_equal", &[x.into(), y.into()], &[])
}

/// What [`grid_sample`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct GridSampleOptions<'a> {
    pub mode: &'a str,
    pub padding: &'a str,
    pub align_corners: bool,
}

impl Default for GridSampleOptions<'_> {
    fn default() -> Self {
        Self {
            mode: "bilinear",
            padding: "zeros",
            align_corners: false,
        }
    }
}

/// x (N, C, H, W) or (N, C, D, H, W) at the places of grid (N, ..., 2 or 3).
#[track_caller]
pub fn grid_sample<'a>(
    x: impl Into<Operand<'a>>, grid: impl Into<Operand<'a>>, options: GridSampleOptions<'a>) -> Result<Tensor> {
    record_one(
        c"grid_sample", &[x.into(), grid.into()],
        &[Attr::new(c"mode", options.mode), Attr::new(c"padding", options.padding), Attr::new(c"align_corners", options.align_corners)])
}

/// What [`group_norm`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct GroupNormOptions<'a> {
    pub weight: Operand<'a>,
    pub bias: Operand<'a>,
    pub eps: f64,
}

impl Default for GroupNormOptions<'_> {
    fn default() -> Self {
        Self {
            weight: Operand::none(),
            bias: Operand::none(),
            eps: 1e-05,
        }
    }
}

/// Channels (axis 1) in groups; each group of each sample gets mean 0 and variance 1.
#[track_caller]
pub fn group_norm<'a>(
    x: impl Into<Operand<'a>>, groups: i64, options: GroupNormOptions<'a>) -> Result<Tensor> {
    record_one(
        c"group_norm", &[x.into(), options.weight, options.bias],
        &[Attr::new(c"groups", groups), Attr::new(c"eps", options.eps)])
}

/// What [`gru`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct GruOptions<'a> {
    pub b_input: Operand<'a>,
    pub b_hidden: Operand<'a>,
    pub lengths: Operand<'a>,
    pub reverse: bool,
}

impl Default for GruOptions<'_> {
    fn default() -> Self {
        Self {
            b_input: Operand::none(),
            b_hidden: Operand::none(),
            lengths: Operand::none(),
            reverse: false,
        }
    }
}

/// A gated recurrent unit for each step in turn: h' = n + z * (h - n).
/// Gives output, state.
#[track_caller]
pub fn gru<'a>(
    x: impl Into<Operand<'a>>, h: impl Into<Operand<'a>>, w_input: impl Into<Operand<'a>>,
    w_hidden: impl Into<Operand<'a>>, options: GruOptions<'a>) -> Result<[Tensor; 2]> {
    record(
        c"gru",
        &[x.into(), h.into(), w_input.into(), w_hidden.into(), options.b_input, options.b_hidden, options.lengths],
        &[Attr::new(c"reverse", options.reverse)])
}

/// What [`hardshrink`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct HardshrinkOptions {
    pub lambd: f64,
}

impl Default for HardshrinkOptions {
    fn default() -> Self {
        Self {
            lambd: 0.5,
        }
    }
}

/// x, but 0 where |x| <= lambd. The gradient at NaN is 0.
#[track_caller]
pub fn hardshrink<'a>(x: impl Into<Operand<'a>>, options: HardshrinkOptions) -> Result<Tensor> {
    record_one(c"hardshrink", &[x.into()], &[Attr::new(c"lambd", options.lambd)])
}

/// relu6(x + 3) / 6.
#[track_caller]
pub fn hardsigmoid<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"hardsigmoid", &[x.into()], &[])
}

/// x * relu6(x + 3) / 6. The gradient is 0 up to -3, and 1 from 3 on and at NaN.
#[track_caller]
pub fn hardswish<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"hardswish", &[x.into()], &[])
}

/// What [`hardtanh`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct HardtanhOptions {
    pub min: f64,
    pub max: f64,
}

impl Default for HardtanhOptions {
    fn default() -> Self {
        Self {
            min: -1.0,
            max: 1.0,
        }
    }
}

/// x limited to \[min, max\]. The gradient at the limits is 0.
#[track_caller]
pub fn hardtanh<'a>(x: impl Into<Operand<'a>>, options: HardtanhOptions) -> Result<Tensor> {
    record_one(
        c"hardtanh", &[x.into()],
        &[Attr::new(c"min", options.min), Attr::new(c"max", options.max)])
}

/// 0 for negative x, 1 for positive x, y where x is 0, NaN for NaN.
#[track_caller]
pub fn heaviside<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"heaviside", &[x.into(), y.into()], &[])
}

/// The first n columns of a product of reflections I - tau_i v_i v_i^H.
#[track_caller]
pub fn householder_product<'a>(
    a: impl Into<Operand<'a>>, taus: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"householder_product", &[a.into(), taus.into()], &[])
}

/// What [`huber_loss`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct HuberLossOptions<'a> {
    pub delta: f64,
    pub reduction: &'a str,
}

impl Default for HuberLossOptions<'_> {
    fn default() -> Self {
        Self {
            delta: 1.0,
            reduction: "mean",
        }
    }
}

/// d**2 / 2 where d = abs(x - target) is below delta, else delta * (d - delta / 2).
#[track_caller]
pub fn huber_loss<'a>(
    x: impl Into<Operand<'a>>, target: impl Into<Operand<'a>>, options: HuberLossOptions<'a>) -> Result<Tensor> {
    record_one(
        c"huber_loss", &[x.into(), target.into()],
        &[Attr::new(c"delta", options.delta), Attr::new(c"reduction", options.reduction)])
}

/// sqrt(x*x + y*y) without overflow, infinite if x or y is. The gradient at (0, 0) is 0, and
/// where the result is infinite.
#[track_caller]
pub fn hypot<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"hypot", &[x.into(), y.into()], &[])
}

/// x itself, as a value of its own. The gradient passes through.
#[track_caller]
pub fn identity<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"identity", &[x.into()], &[])
}

/// The imaginary part, of the real dtype; 0 if x is real.
#[track_caller]
pub fn imag<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"imag", &[x.into()], &[])
}

/// The elements of x at broadcast indices, one operand for each of axes.
#[track_caller]
pub fn index<'a>(
    x: impl Into<Operand<'a>>, indices: impl IntoIterator<Item = impl Into<Operand<'a>>>,
    axes: &[i64]) -> Result<Tensor> {
    let mut given: Vec<Operand<'a>> = vec![x.into()];
    given.extend(indices.into_iter().map(Into::into));
    record_one(c"index", &given, &[Attr::new(c"axes", axes)])
}

/// What [`index_update`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct IndexUpdateOptions<'a> {
    pub mode: &'a str,
}

impl Default for IndexUpdateOptions<'_> {
    fn default() -> Self {
        Self {
            mode: "set",
        }
    }
}

/// x with the elements that index of the same indices takes changed.
#[track_caller]
pub fn index_update<'a>(
    x: impl Into<Operand<'a>>, value: impl Into<Operand<'a>>,
    indices: impl IntoIterator<Item = impl Into<Operand<'a>>>, axes: &[i64],
    options: IndexUpdateOptions<'a>) -> Result<Tensor> {
    let mut given: Vec<Operand<'a>> = vec![x.into(), value.into()];
    given.extend(indices.into_iter().map(Into::into));
    record_one(
        c"index_update", &given, &[Attr::new(c"axes", axes), Attr::new(c"mode", options.mode)])
}

/// x ** exponent for an integer known beforehand, by repeated multiplication.
#[track_caller]
pub fn integer_power<'a>(x: impl Into<Operand<'a>>, exponent: i64) -> Result<Tensor> {
    record_one(c"integer_power", &[x.into()], &[Attr::new(c"exponent", exponent)])
}

/// The inverse of square matrices; solve is faster and more exact where it serves.
#[track_caller]
pub fn inv<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"inv", &[x.into()], &[])
}

/// What [`iota`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct IotaOptions {
    pub axis: i64,
}

impl Default for IotaOptions {
    fn default() -> Self {
        Self {
            axis: 0,
        }
    }
}

/// A tensor whose elements are their own index along axis.
#[track_caller]
pub fn iota(shape: &[i64], dtype: DType, options: IotaOptions) -> Result<Tensor> {
    record_one(
        c"iota", &[],
        &[Attr::new(c"shape", shape), Attr::new(c"dtype", dtype), Attr::new(c"axis", options.axis)])
}

/// What [`irfft`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct IrfftOptions<'a> {
    pub norm: &'a str,
}

impl Default for IrfftOptions<'_> {
    fn default() -> Self {
        Self {
            norm: "backward",
        }
    }
}

/// The inverse of rfft: real numbers, length along the last of the axes.
#[track_caller]
pub fn irfft<'a>(
    x: impl Into<Operand<'a>>, axes: &[i64], length: i64, options: IrfftOptions<'a>) -> Result<Tensor> {
    record_one(
        c"irfft", &[x.into()],
        &[Attr::new(c"axes", axes), Attr::new(c"length", length), Attr::new(c"norm", options.norm)])
}

/// Whether elimination finds a pivot that is exactly 0, for each square matrix.
#[track_caller]
pub fn is_singular<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"is_singular", &[x.into()], &[])
}

/// Whether x, with all its parts, is neither infinite nor NaN.
#[track_caller]
pub fn isfinite<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"isfinite", &[x.into()], &[])
}

/// Whether x, or a part of it, is infinite.
#[track_caller]
pub fn isinf<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"isinf", &[x.into()], &[])
}

/// Whether x, or a part of it, is NaN.
#[track_caller]
pub fn isnan<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"isnan", &[x.into()], &[])
}

/// What [`kl_div`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct KlDivOptions<'a> {
    pub log_target: bool,
    pub reduction: &'a str,
}

impl Default for KlDivOptions<'_> {
    fn default() -> Self {
        Self {
            log_target: false,
            reduction: "mean",
        }
    }
}

/// target * (log(target) - x), where x holds log-probabilities; 0 where target is 0.
#[track_caller]
pub fn kl_div<'a>(
    x: impl Into<Operand<'a>>, target: impl Into<Operand<'a>>, options: KlDivOptions<'a>) -> Result<Tensor> {
    record_one(
        c"kl_div", &[x.into(), target.into()],
        &[Attr::new(c"log_target", options.log_target), Attr::new(c"reduction", options.reduction)])
}

/// Kronecker's product: each element of x times the whole of y, side by side.
#[track_caller]
pub fn kron<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"kron", &[x.into(), y.into()], &[])
}

/// What [`l1_loss`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct L1LossOptions<'a> {
    pub reduction: &'a str,
}

impl Default for L1LossOptions<'_> {
    fn default() -> Self {
        Self {
            reduction: "mean",
        }
    }
}

/// abs(x - target); the derivative is 0 where both are equal.
#[track_caller]
pub fn l1_loss<'a>(
    x: impl Into<Operand<'a>>, target: impl Into<Operand<'a>>, options: L1LossOptions<'a>) -> Result<Tensor> {
    record_one(
        c"l1_loss", &[x.into(), target.into()], &[Attr::new(c"reduction", options.reduction)])
}

/// What [`layer_norm`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct LayerNormOptions<'a> {
    pub weight: Operand<'a>,
    pub bias: Operand<'a>,
    pub normalized_ndim: i64,
    pub eps: f64,
}

impl Default for LayerNormOptions<'_> {
    fn default() -> Self {
        Self {
            weight: Operand::none(),
            bias: Operand::none(),
            normalized_ndim: 1,
            eps: 1e-05,
        }
    }
}

/// (x - mean) / sqrt(var + eps) * weight + bias over the last normalized_ndim axes.
#[track_caller]
pub fn layer_norm<'a>(
    x: impl Into<Operand<'a>>, options: LayerNormOptions<'a>) -> Result<Tensor> {
    record_one(
        c"layer_norm", &[x.into(), options.weight, options.bias],
        &[Attr::new(c"normalized_ndim", options.normalized_ndim), Attr::new(c"eps", options.eps)])
}

/// Minus the product of the gradient and the inverse Hessian that L-BFGS estimates.
#[track_caller]
pub fn lbfgs_direction<'a>(
    scale: impl Into<Operand<'a>>, gradient: impl Into<Operand<'a>>,
    history: impl IntoIterator<Item = impl Into<Operand<'a>>>) -> Result<Tensor> {
    let mut given: Vec<Operand<'a>> = vec![scale.into(), gradient.into()];
    given.extend(history.into_iter().map(Into::into));
    record_one(c"lbfgs_direction", &given, &[])
}

/// The least common multiple of |x| and |y|; 0 if either is 0.
#[track_caller]
pub fn lcm<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"lcm", &[x.into(), y.into()], &[])
}

/// x * 2**exponent, exact unless the result overflows or underflows.
#[track_caller]
pub fn ldexp<'a>(x: impl Into<Operand<'a>>, exponent: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"ldexp", &[x.into(), exponent.into()], &[])
}

/// What [`leaky_relu`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct LeakyReluOptions {
    pub negative_slope: f64,
}

impl Default for LeakyReluOptions {
    fn default() -> Self {
        Self {
            negative_slope: 0.01,
        }
    }
}

/// x for x > 0, negative_slope * x elsewhere.
#[track_caller]
pub fn leaky_relu<'a>(x: impl Into<Operand<'a>>, options: LeakyReluOptions) -> Result<Tensor> {
    record_one(
        c"leaky_relu", &[x.into()], &[Attr::new(c"negative_slope", options.negative_slope)])
}

/// x + weight * (y - x), computed from the nearer end so that weight 1 gives y.
#[track_caller]
pub fn lerp<'a>(
    x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>, weight: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"lerp", &[x.into(), y.into(), weight.into()], &[])
}

/// x < y.
#[track_caller]
pub fn less<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"less", &[x.into(), y.into()], &[])
}

/// x <= y.
#[track_caller]
pub fn less_equal<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"less_equal", &[x.into(), y.into()], &[])
}

/// The logarithm of the absolute value of the gamma function.
#[track_caller]
pub fn lgamma<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"lgamma", &[x.into()], &[])
}

/// What [`linspace`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct LinspaceOptions {
    pub endpoint: bool,
}

impl Default for LinspaceOptions {
    fn default() -> Self {
        Self {
            endpoint: true,
        }
    }
}

/// num evenly spaced numbers from start to stop, which endpoint includes.
#[track_caller]
pub fn linspace<'a>(
    start: impl Into<Operand<'a>>, stop: impl Into<Operand<'a>>, num: i64,
    options: LinspaceOptions) -> Result<Tensor> {
    record_one(
        c"linspace", &[start.into(), stop.into()],
        &[Attr::new(c"num", num), Attr::new(c"endpoint", options.endpoint)])
}

/// Natural logarithm; -inf at 0, NaN for negative real x.
#[track_caller]
pub fn log<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"log", &[x.into()], &[])
}

/// Logarithm to base 10.
#[track_caller]
pub fn log10<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"log10", &[x.into()], &[])
}

/// log(1 + x), accurate near 0.
#[track_caller]
pub fn log1p<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"log1p", &[x.into()], &[])
}

/// Logarithm to base 2.
#[track_caller]
pub fn log2<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"log2", &[x.into()], &[])
}

/// The logarithm of the normal distribution function, accurate where that is tiny.
#[track_caller]
pub fn log_ndtr<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"log_ndtr", &[x.into()], &[])
}

/// log(sigmoid(x)) without underflow.
#[track_caller]
pub fn log_sigmoid<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"log_sigmoid", &[x.into()], &[])
}

/// What [`log_softmax`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct LogSoftmaxOptions {
    pub axis: i64,
}

impl Default for LogSoftmaxOptions {
    fn default() -> Self {
        Self {
            axis: -1,
        }
    }
}

/// x minus the logarithm of the sum of exp(x) along an axis, without overflow.
#[track_caller]
pub fn log_softmax<'a>(x: impl Into<Operand<'a>>, options: LogSoftmaxOptions) -> Result<Tensor> {
    record_one(c"log_softmax", &[x.into()], &[Attr::new(c"axis", options.axis)])
}

/// log(exp(x) + exp(y)) without overflow.
#[track_caller]
pub fn logaddexp<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"logaddexp", &[x.into(), y.into()], &[])
}

/// log2(2**x + 2**y) without overflow.
#[track_caller]
pub fn logaddexp2<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"logaddexp2", &[x.into(), y.into()], &[])
}

/// What [`logcumsumexp`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct LogcumsumexpOptions {
    pub reverse: bool,
}

impl Default for LogcumsumexpOptions {
    fn default() -> Self {
        Self {
            reverse: false,
        }
    }
}

/// log(cumsum(exp(x))) without overflow, with the principal logarithm.
#[track_caller]
pub fn logcumsumexp<'a>(
    x: impl Into<Operand<'a>>, axis: i64, options: LogcumsumexpOptions) -> Result<Tensor> {
    record_one(
        c"logcumsumexp", &[x.into()],
        &[Attr::new(c"axis", axis), Attr::new(c"reverse", options.reverse)])
}

/// Whether x and y are both not zero.
#[track_caller]
pub fn logical_and<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"logical_and", &[x.into(), y.into()], &[])
}

/// Whether x is zero.
#[track_caller]
pub fn logical_not<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"logical_not", &[x.into()], &[])
}

/// Whether x or y is not zero.
#[track_caller]
pub fn logical_or<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"logical_or", &[x.into(), y.into()], &[])
}

/// Whether exactly one of x and y is not zero.
#[track_caller]
pub fn logical_xor<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"logical_xor", &[x.into(), y.into()], &[])
}

/// log(x / (1 - x)), infinite at 0 and 1, where the gradient is too; NaN outside of \[0, 1\].
#[track_caller]
pub fn logit<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"logit", &[x.into()], &[])
}

/// What [`logsumexp`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct LogsumexpOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub keepdims: bool,
}

impl Default for LogsumexpOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            keepdims: false,
        }
    }
}

/// log(sum(exp(x))) without overflow, with the principal logarithm; -inf of no element.
#[track_caller]
pub fn logsumexp<'a>(x: impl Into<Operand<'a>>, options: LogsumexpOptions<'a>) -> Result<Tensor> {
    record_one(
        c"logsumexp", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`lstm`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct LstmOptions<'a> {
    pub b_input: Operand<'a>,
    pub b_hidden: Operand<'a>,
    pub w_project: Operand<'a>,
    pub lengths: Operand<'a>,
    pub reverse: bool,
}

impl Default for LstmOptions<'_> {
    fn default() -> Self {
        Self {
            b_input: Operand::none(),
            b_hidden: Operand::none(),
            w_project: Operand::none(),
            lengths: Operand::none(),
            reverse: false,
        }
    }
}

/// Long short-term memory for each step in turn: c' = f * c + i * g, h' = o * tanh(c').
/// Gives output, state, cell.
#[track_caller]
pub fn lstm<'a>(
    x: impl Into<Operand<'a>>, h: impl Into<Operand<'a>>, c: impl Into<Operand<'a>>,
    w_input: impl Into<Operand<'a>>, w_hidden: impl Into<Operand<'a>>, options: LstmOptions<'a>) -> Result<[Tensor; 3]> {
    record(
        c"lstm",
        &[x.into(), h.into(), c.into(), w_input.into(), w_hidden.into(), options.b_input, options.b_hidden, options.w_project, options.lengths],
        &[Attr::new(c"reverse", options.reverse)])
}

/// The factors of P @ x = L @ U in one matrix, and the exchanges of rows.
/// Gives lu, pivots.
#[track_caller]
pub fn lu_factor<'a>(x: impl Into<Operand<'a>>) -> Result<[Tensor; 2]> {
    record(c"lu_factor", &[x.into()], &[])
}

/// x where mask is false, value where it is true; both broadcast to x.
#[track_caller]
pub fn masked_fill<'a>(
    x: impl Into<Operand<'a>>, mask: impl Into<Operand<'a>>, value: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"masked_fill", &[x.into(), mask.into(), value.into()], &[])
}

/// The matrix product (..., m, k) @ (..., k, n) -> (..., m, n).
#[track_caller]
pub fn matmul<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"matmul", &[x.into(), y.into()], &[])
}

/// The exponential of square matrices. Raises ShapeError, DTypeError.
#[track_caller]
pub fn matrix_exp<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"matrix_exp", &[x.into()], &[])
}

/// Square matrices multiplied by themselves; the inverse for a negative exponent.
#[track_caller]
pub fn matrix_power<'a>(x: impl Into<Operand<'a>>, exponent: i64) -> Result<Tensor> {
    record_one(c"matrix_power", &[x.into()], &[Attr::new(c"exponent", exponent)])
}

/// What [`max`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct MaxOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub keepdims: bool,
}

impl Default for MaxOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            keepdims: false,
        }
    }
}

/// The largest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.
#[track_caller]
pub fn max<'a>(x: impl Into<Operand<'a>>, options: MaxOptions<'a>) -> Result<Tensor> {
    record_one(
        c"max", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`max_pool`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct MaxPoolOptions<'a> {
    pub strides: Option<&'a [i64]>,
    pub padding_low: Option<&'a [i64]>,
    pub padding_high: Option<&'a [i64]>,
    pub dilation: Option<&'a [i64]>,
}

impl Default for MaxPoolOptions<'_> {
    fn default() -> Self {
        Self {
            strides: None,
            padding_low: None,
            padding_high: None,
            dilation: None,
        }
    }
}

/// The largest element in each place of a window that moves over the last axes.
#[track_caller]
pub fn max_pool<'a>(
    x: impl Into<Operand<'a>>, window: &[i64], options: MaxPoolOptions<'a>) -> Result<Tensor> {
    record_one(
        c"max_pool", &[x.into()],
        &[Attr::new(c"window", window), Attr::new(c"strides", options.strides), Attr::new(c"padding_low", options.padding_low), Attr::new(c"padding_high", options.padding_high), Attr::new(c"dilation", options.dilation)])
}

/// What [`max_pool_indices`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct MaxPoolIndicesOptions<'a> {
    pub strides: Option<&'a [i64]>,
    pub padding_low: Option<&'a [i64]>,
    pub padding_high: Option<&'a [i64]>,
    pub dilation: Option<&'a [i64]>,
}

impl Default for MaxPoolIndicesOptions<'_> {
    fn default() -> Self {
        Self {
            strides: None,
            padding_low: None,
            padding_high: None,
            dilation: None,
        }
    }
}

/// Where max_pool finds its results: positions (int64) in the axes moved over, flat.
#[track_caller]
pub fn max_pool_indices<'a>(
    x: impl Into<Operand<'a>>, window: &[i64], options: MaxPoolIndicesOptions<'a>) -> Result<Tensor> {
    record_one(
        c"max_pool_indices", &[x.into()],
        &[Attr::new(c"window", window), Attr::new(c"strides", options.strides), Attr::new(c"padding_low", options.padding_low), Attr::new(c"padding_high", options.padding_high), Attr::new(c"dilation", options.dilation)])
}

/// The larger of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
/// each gets all of it.
#[track_caller]
pub fn maximum<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"maximum", &[x.into(), y.into()], &[])
}

/// What [`mean`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct MeanOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub keepdims: bool,
}

impl Default for MeanOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            keepdims: false,
        }
    }
}

/// The arithmetic mean; NaN of no element.
#[track_caller]
pub fn mean<'a>(x: impl Into<Operand<'a>>, options: MeanOptions<'a>) -> Result<Tensor> {
    record_one(
        c"mean", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`min`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct MinOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub keepdims: bool,
}

impl Default for MinOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            keepdims: false,
        }
    }
}

/// The smallest element; NaN if there is one. Elements that tie, or are NaN, share the
/// gradient.
#[track_caller]
pub fn min<'a>(x: impl Into<Operand<'a>>, options: MinOptions<'a>) -> Result<Tensor> {
    record_one(
        c"min", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"keepdims", options.keepdims)])
}

/// The smaller of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
/// each gets all of it.
#[track_caller]
pub fn minimum<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"minimum", &[x.into(), y.into()], &[])
}

/// x * tanh(log(1 + exp(x))).
#[track_caller]
pub fn mish<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"mish", &[x.into()], &[])
}

/// x with axis source\[i\] at position destination\[i\], the others in order.
#[track_caller]
pub fn moveaxis<'a>(
    x: impl Into<Operand<'a>>, source: &[i64], destination: &[i64]) -> Result<Tensor> {
    record_one(
        c"moveaxis", &[x.into()],
        &[Attr::new(c"source", source), Attr::new(c"destination", destination)])
}

/// What [`mse_loss`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct MseLossOptions<'a> {
    pub reduction: &'a str,
}

impl Default for MseLossOptions<'_> {
    fn default() -> Self {
        Self {
            reduction: "mean",
        }
    }
}

/// (x - target) ** 2. Raises ShapeError, ArgumentError.
#[track_caller]
pub fn mse_loss<'a>(
    x: impl Into<Operand<'a>>, target: impl Into<Operand<'a>>, options: MseLossOptions<'a>) -> Result<Tensor> {
    record_one(
        c"mse_loss", &[x.into(), target.into()], &[Attr::new(c"reduction", options.reduction)])
}

/// x * y. For bool, logical and, as in NumPy.
#[track_caller]
pub fn multiply<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"multiply", &[x.into(), y.into()], &[])
}

/// What [`nan_to_num`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct NanToNumOptions {
    pub nan: f64,
    pub posinf: Option<f64>,
    pub neginf: Option<f64>,
}

impl Default for NanToNumOptions {
    fn default() -> Self {
        Self {
            nan: 0.0,
            posinf: None,
            neginf: None,
        }
    }
}

/// x with NaN and infinities replaced; infinities by the largest numbers for None.
#[track_caller]
pub fn nan_to_num<'a>(x: impl Into<Operand<'a>>, options: NanToNumOptions) -> Result<Tensor> {
    record_one(
        c"nan_to_num", &[x.into()],
        &[Attr::new(c"nan", options.nan), Attr::new(c"posinf", options.posinf), Attr::new(c"neginf", options.neginf)])
}

/// The inverse of the normal distribution function; infinite at 0 and 1, NaN outside.
#[track_caller]
pub fn ndtri<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"ndtri", &[x.into()], &[])
}

/// -x; unsigned integers wrap.
#[track_caller]
pub fn negative<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"negative", &[x.into()], &[])
}

/// The next number after x in the direction of y.
#[track_caller]
pub fn nextafter<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"nextafter", &[x.into(), y.into()], &[])
}

/// What [`nll_loss`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct NllLossOptions<'a> {
    pub weight: Operand<'a>,
    pub axis: i64,
    pub ignore_index: Option<i64>,
    pub reduction: &'a str,
}

impl Default for NllLossOptions<'_> {
    fn default() -> Self {
        Self {
            weight: Operand::none(),
            axis: -1,
            ignore_index: Some(-100),
            reduction: "mean",
        }
    }
}

/// -log_probabilities\[label\], per element of labels; else as cross_entropy.
#[track_caller]
pub fn nll_loss<'a>(
    log_probabilities: impl Into<Operand<'a>>, labels: impl Into<Operand<'a>>,
    options: NllLossOptions<'a>) -> Result<Tensor> {
    record_one(
        c"nll_loss", &[log_probabilities.into(), labels.into(), options.weight],
        &[Attr::new(c"axis", options.axis), Attr::new(c"ignore_index", options.ignore_index), Attr::new(c"reduction", options.reduction)])
}

/// What [`norm`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct NormOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub order: f64,
    pub keepdims: bool,
}

impl Default for NormOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            order: 2.0,
            keepdims: false,
        }
    }
}

/// The vector norm sum(|x|**order)**(1/order).
#[track_caller]
pub fn norm<'a>(x: impl Into<Operand<'a>>, options: NormOptions<'a>) -> Result<Tensor> {
    record_one(
        c"norm", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"order", options.order), Attr::new(c"keepdims", options.keepdims)])
}

/// x != y.
#[track_caller]
pub fn not_equal<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"not_equal", &[x.into(), y.into()], &[])
}

/// A new last axis of size depth: one at the index, zero elsewhere.
#[track_caller]
pub fn one_hot<'a>(indices: impl Into<Operand<'a>>, depth: i64, dtype: DType) -> Result<Tensor> {
    record_one(
        c"one_hot", &[indices.into()], &[Attr::new(c"depth", depth), Attr::new(c"dtype", dtype)])
}

/// The polynomial of degree n (rounded towards zero) of Hermite (kind "hermite_h", or
/// "hermite_he" of the probabilists), Laguerre ("laguerre_l") or Legendre ("legendre_p"); 0 for
/// a negative degree.
#[track_caller]
pub fn orthogonal_polynomial<'a>(
    x: impl Into<Operand<'a>>, n: impl Into<Operand<'a>>, kind: &str) -> Result<Tensor> {
    record_one(c"orthogonal_polynomial", &[x.into(), n.into()], &[Attr::new(c"kind", kind)])
}

/// All products of an element of x and one of y: the axes of x, then those of y.
#[track_caller]
pub fn outer<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"outer", &[x.into(), y.into()], &[])
}

/// What [`pad`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct PadOptions<'a> {
    pub interior: Option<&'a [i64]>,
}

impl Default for PadOptions<'_> {
    fn default() -> Self {
        Self {
            interior: None,
        }
    }
}

/// x with value (0-d) before, after and between its elements, counts per axis.
#[track_caller]
pub fn pad<'a>(
    x: impl Into<Operand<'a>>, value: impl Into<Operand<'a>>, low: &[i64], high: &[i64],
    options: PadOptions<'a>) -> Result<Tensor> {
    record_one(
        c"pad", &[x.into(), value.into()],
        &[Attr::new(c"low", low), Attr::new(c"high", high), Attr::new(c"interior", options.interior)])
}

/// What [`patches`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct PatchesOptions<'a> {
    pub strides: Option<&'a [i64]>,
    pub padding_low: Option<&'a [i64]>,
    pub padding_high: Option<&'a [i64]>,
    pub dilation: Option<&'a [i64]>,
}

impl Default for PatchesOptions<'_> {
    fn default() -> Self {
        Self {
            strides: None,
            padding_low: None,
            padding_high: None,
            dilation: None,
        }
    }
}

/// The elements that a window sees in each of its places, as it moves over the last axes.
#[track_caller]
pub fn patches<'a>(
    x: impl Into<Operand<'a>>, window: &[i64], options: PatchesOptions<'a>) -> Result<Tensor> {
    record_one(
        c"patches", &[x.into()],
        &[Attr::new(c"window", window), Attr::new(c"strides", options.strides), Attr::new(c"padding_low", options.padding_low), Attr::new(c"padding_high", options.padding_high), Attr::new(c"dilation", options.dilation)])
}

/// What [`patches_sum`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct PatchesSumOptions<'a> {
    pub strides: Option<&'a [i64]>,
    pub padding_low: Option<&'a [i64]>,
    pub padding_high: Option<&'a [i64]>,
    pub dilation: Option<&'a [i64]>,
}

impl Default for PatchesSumOptions<'_> {
    fn default() -> Self {
        Self {
            strides: None,
            padding_low: None,
            padding_high: None,
            dilation: None,
        }
    }
}

/// The transpose of patches: each element of an array of last axes sizes is the sum of what x
/// holds for it in the windows that see it.
#[track_caller]
pub fn patches_sum<'a>(
    x: impl Into<Operand<'a>>, sizes: &[i64], window: &[i64], options: PatchesSumOptions<'a>) -> Result<Tensor> {
    record_one(
        c"patches_sum", &[x.into()],
        &[Attr::new(c"sizes", sizes), Attr::new(c"window", window), Attr::new(c"strides", options.strides), Attr::new(c"padding_low", options.padding_low), Attr::new(c"padding_high", options.padding_high), Attr::new(c"dilation", options.dilation)])
}

/// What [`pinv`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct PinvOptions {
    pub rtol: f64,
}

impl Default for PinvOptions {
    fn default() -> Self {
        Self {
            rtol: 1e-15,
        }
    }
}

/// The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
#[track_caller]
pub fn pinv<'a>(x: impl Into<Operand<'a>>, options: PinvOptions) -> Result<Tensor> {
    record_one(c"pinv", &[x.into()], &[Attr::new(c"rtol", options.rtol)])
}

/// What [`pinv_within`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct PinvWithinOptions {
    pub hermitian: bool,
}

impl Default for PinvWithinOptions {
    fn default() -> Self {
        Self {
            hermitian: false,
        }
    }
}

/// The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
#[track_caller]
pub fn pinv_within<'a>(
    x: impl Into<Operand<'a>>, atol: impl Into<Operand<'a>>, rtol: impl Into<Operand<'a>>,
    options: PinvWithinOptions) -> Result<Tensor> {
    record_one(
        c"pinv_within", &[x.into(), atol.into(), rtol.into()],
        &[Attr::new(c"hermitian", options.hermitian)])
}

/// Where each of size rows comes from after the exchanges of lu_factor; int32.
#[track_caller]
pub fn pivots_to_permutation<'a>(pivots: impl Into<Operand<'a>>, size: i64) -> Result<Tensor> {
    record_one(c"pivots_to_permutation", &[pivots.into()], &[Attr::new(c"size", size)])
}

/// What [`place`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct PlaceOptions<'a> {
    pub placement: &'a str,
}

impl Default for PlaceOptions<'_> {
    fn default() -> Self {
        Self {
            placement: "default:0/whole/row-major/device",
        }
    }
}

/// x on the devices, and divided over them, that the text of a placement names.
#[track_caller]
pub fn place<'a>(x: impl Into<Operand<'a>>, options: PlaceOptions<'a>) -> Result<Tensor> {
    record_one(c"place", &[x.into()], &[Attr::new(c"placement", options.placement)])
}

/// Derivative number order of digamma; infinite at 0 and, of order 1 and more, at the negative
/// integers.
#[track_caller]
pub fn polygamma<'a>(x: impl Into<Operand<'a>>, order: i64) -> Result<Tensor> {
    record_one(c"polygamma", &[x.into()], &[Attr::new(c"order", order)])
}

/// The number of one bits of x in two's complement, of the dtype of x.
#[track_caller]
pub fn population_count<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"population_count", &[x.into()], &[])
}

/// +x, which is x.
#[track_caller]
pub fn positive<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"positive", &[x.into()], &[])
}

/// x ** y.
#[track_caller]
pub fn power<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"power", &[x.into(), y.into()], &[])
}

/// x for x > 0, slope * x elsewhere; the slope is an operand and gets a gradient.
#[track_caller]
pub fn prelu<'a>(x: impl Into<Operand<'a>>, slope: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"prelu", &[x.into(), slope.into()], &[])
}

/// What [`prod`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ProdOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub dtype: Option<DType>,
    pub keepdims: bool,
}

impl Default for ProdOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            dtype: None,
            keepdims: false,
        }
    }
}

/// The product of the elements, cast to dtype first if that is given; 1 of none.
#[track_caller]
pub fn prod<'a>(x: impl Into<Operand<'a>>, options: ProdOptions<'a>) -> Result<Tensor> {
    record_one(
        c"prod", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"dtype", options.dtype), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`qr`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct QrOptions<'a> {
    pub mode: &'a str,
}

impl Default for QrOptions<'_> {
    fn default() -> Self {
        Self {
            mode: "reduced",
        }
    }
}

/// x (..., m, n) as a product of q with orthonormal columns and upper triangular r.
/// Gives q, r.
#[track_caller]
pub fn qr<'a>(x: impl Into<Operand<'a>>, options: QrOptions<'a>) -> Result<[Tensor; 2]> {
    record(c"qr", &[x.into()], &[Attr::new(c"mode", options.mode)])
}

/// The factors of qr as LAPACK keeps them, the first transposed.
/// Gives h, tau.
#[track_caller]
pub fn qr_raw<'a>(x: impl Into<Operand<'a>>) -> Result<[Tensor; 2]> {
    record(c"qr_raw", &[x.into()], &[])
}

/// What [`quantize`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct QuantizeOptions<'a> {
    pub zero_point: Operand<'a>,
    pub axis: Option<i64>,
}

impl Default for QuantizeOptions<'_> {
    fn default() -> Self {
        Self {
            zero_point: Operand::none(),
            axis: None,
        }
    }
}

/// x / scale, rounded, plus zero_point, as dtype, int8 or uint8.
#[track_caller]
pub fn quantize<'a>(
    x: impl Into<Operand<'a>>, scale: impl Into<Operand<'a>>, dtype: DType,
    options: QuantizeOptions<'a>) -> Result<Tensor> {
    record_one(
        c"quantize", &[x.into(), scale.into(), options.zero_point],
        &[Attr::new(c"dtype", dtype), Attr::new(c"axis", options.axis)])
}

/// True with probability p.
#[track_caller]
pub fn random_bernoulli<'a>(
    key: impl Into<Operand<'a>>, p: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(c"random_bernoulli", &[key.into(), p.into()], &[Attr::new(c"shape", shape)])
}

/// Beta numbers of parameters a and b.
#[track_caller]
pub fn random_beta<'a>(
    key: impl Into<Operand<'a>>, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>,
    shape: &[i64]) -> Result<Tensor> {
    record_one(c"random_beta", &[key.into(), a.into(), b.into()], &[Attr::new(c"shape", shape)])
}

/// Numbers (int64) of successes of probability p in n trials, n rounded down.
#[track_caller]
pub fn random_binomial<'a>(
    key: impl Into<Operand<'a>>, n: impl Into<Operand<'a>>, p: impl Into<Operand<'a>>,
    shape: &[i64]) -> Result<Tensor> {
    record_one(
        c"random_binomial", &[key.into(), n.into(), p.into()], &[Attr::new(c"shape", shape)])
}

/// What [`random_bits`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RandomBitsOptions {
    pub dtype: DType,
}

impl Default for RandomBitsOptions {
    fn default() -> Self {
        Self {
            dtype: DType::Uint32,
        }
    }
}

/// Unsigned integers, every bit of which is random.
#[track_caller]
pub fn random_bits<'a>(
    key: impl Into<Operand<'a>>, shape: &[i64], options: RandomBitsOptions) -> Result<Tensor> {
    record_one(
        c"random_bits", &[key.into()],
        &[Attr::new(c"shape", shape), Attr::new(c"dtype", options.dtype)])
}

/// Indices (int64) into the last axis of logits, of probability softmax(logits).
#[track_caller]
pub fn random_categorical<'a>(
    key: impl Into<Operand<'a>>, logits: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(c"random_categorical", &[key.into(), logits.into()], &[Attr::new(c"shape", shape)])
}

/// What [`random_cauchy`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RandomCauchyOptions {
    pub dtype: DType,
}

impl Default for RandomCauchyOptions {
    fn default() -> Self {
        Self {
            dtype: DType::Float32,
        }
    }
}

/// Cauchy numbers of location 0 and scale 1.
#[track_caller]
pub fn random_cauchy<'a>(
    key: impl Into<Operand<'a>>, shape: &[i64], options: RandomCauchyOptions) -> Result<Tensor> {
    record_one(
        c"random_cauchy", &[key.into()],
        &[Attr::new(c"shape", shape), Attr::new(c"dtype", options.dtype)])
}

/// What [`random_exponential`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RandomExponentialOptions {
    pub dtype: DType,
}

impl Default for RandomExponentialOptions {
    fn default() -> Self {
        Self {
            dtype: DType::Float32,
        }
    }
}

/// Exponential numbers of mean 1.
#[track_caller]
pub fn random_exponential<'a>(
    key: impl Into<Operand<'a>>, shape: &[i64], options: RandomExponentialOptions) -> Result<Tensor> {
    record_one(
        c"random_exponential", &[key.into()],
        &[Attr::new(c"shape", shape), Attr::new(c"dtype", options.dtype)])
}

/// A key made of a key and a 0-d integer (its low 32 bits), such as a step's number.
#[track_caller]
pub fn random_fold_in<'a>(
    key: impl Into<Operand<'a>>, data: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"random_fold_in", &[key.into(), data.into()], &[])
}

/// Gamma numbers of shape parameter a and scale 1. There is no second derivative.
#[track_caller]
pub fn random_gamma<'a>(
    key: impl Into<Operand<'a>>, a: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(c"random_gamma", &[key.into(), a.into()], &[Attr::new(c"shape", shape)])
}

/// The number (int64) of trials up to the first success of probability p, 1 or more.
#[track_caller]
pub fn random_geometric<'a>(
    key: impl Into<Operand<'a>>, p: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(c"random_geometric", &[key.into(), p.into()], &[Attr::new(c"shape", shape)])
}

/// What [`random_gumbel`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RandomGumbelOptions {
    pub dtype: DType,
}

impl Default for RandomGumbelOptions {
    fn default() -> Self {
        Self {
            dtype: DType::Float32,
        }
    }
}

/// Gumbel numbers of location 0 and scale 1.
#[track_caller]
pub fn random_gumbel<'a>(
    key: impl Into<Operand<'a>>, shape: &[i64], options: RandomGumbelOptions) -> Result<Tensor> {
    record_one(
        c"random_gumbel", &[key.into()],
        &[Attr::new(c"shape", shape), Attr::new(c"dtype", options.dtype)])
}

/// Numbers (int64) of good ones among drawn of good + bad, without replacement.
#[track_caller]
pub fn random_hypergeometric<'a>(
    key: impl Into<Operand<'a>>, good: impl Into<Operand<'a>>, bad: impl Into<Operand<'a>>,
    drawn: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(
        c"random_hypergeometric", &[key.into(), good.into(), bad.into(), drawn.into()],
        &[Attr::new(c"shape", shape)])
}

/// What [`random_integers`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RandomIntegersOptions {
    pub endpoint: bool,
}

impl Default for RandomIntegersOptions {
    fn default() -> Self {
        Self {
            endpoint: false,
        }
    }
}

/// Integers from low to high - 1, to high with endpoint; low where there are none.
#[track_caller]
pub fn random_integers<'a>(
    key: impl Into<Operand<'a>>, low: impl Into<Operand<'a>>, high: impl Into<Operand<'a>>,
    shape: &[i64], options: RandomIntegersOptions) -> Result<Tensor> {
    record_one(
        c"random_integers", &[key.into(), low.into(), high.into()],
        &[Attr::new(c"shape", shape), Attr::new(c"endpoint", options.endpoint)])
}

/// What [`random_laplace`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RandomLaplaceOptions {
    pub dtype: DType,
}

impl Default for RandomLaplaceOptions {
    fn default() -> Self {
        Self {
            dtype: DType::Float32,
        }
    }
}

/// Laplace numbers of location 0 and scale 1.
#[track_caller]
pub fn random_laplace<'a>(
    key: impl Into<Operand<'a>>, shape: &[i64], options: RandomLaplaceOptions) -> Result<Tensor> {
    record_one(
        c"random_laplace", &[key.into()],
        &[Attr::new(c"shape", shape), Attr::new(c"dtype", options.dtype)])
}

/// What [`random_logistic`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RandomLogisticOptions {
    pub dtype: DType,
}

impl Default for RandomLogisticOptions {
    fn default() -> Self {
        Self {
            dtype: DType::Float32,
        }
    }
}

/// Logistic numbers of location 0 and scale 1.
#[track_caller]
pub fn random_logistic<'a>(
    key: impl Into<Operand<'a>>, shape: &[i64], options: RandomLogisticOptions) -> Result<Tensor> {
    record_one(
        c"random_logistic", &[key.into()],
        &[Attr::new(c"shape", shape), Attr::new(c"dtype", options.dtype)])
}

/// How often (int64) each class was met in n draws; a class each along the last axis of p.
#[track_caller]
pub fn random_multinomial<'a>(
    key: impl Into<Operand<'a>>, n: impl Into<Operand<'a>>, p: impl Into<Operand<'a>>,
    shape: &[i64]) -> Result<Tensor> {
    record_one(
        c"random_multinomial", &[key.into(), n.into(), p.into()], &[Attr::new(c"shape", shape)])
}

/// How many (int64) of each color are among drawn without replacement.
#[track_caller]
pub fn random_multivariate_hypergeometric<'a>(
    key: impl Into<Operand<'a>>, drawn: impl Into<Operand<'a>>, colors: impl Into<Operand<'a>>,
    shape: &[i64]) -> Result<Tensor> {
    record_one(
        c"random_multivariate_hypergeometric", &[key.into(), drawn.into(), colors.into()],
        &[Attr::new(c"shape", shape)])
}

/// What [`random_normal`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RandomNormalOptions<'a> {
    pub mean: Operand<'a>,
    pub std: Operand<'a>,
    pub dtype: DType,
}

impl Default for RandomNormalOptions<'_> {
    fn default() -> Self {
        Self {
            mean: Operand::none(),
            std: Operand::none(),
            dtype: DType::Float32,
        }
    }
}

/// Normal numbers; mean is 0 and std 1 if absent. Complex parts have variance 1/2 each.
#[track_caller]
pub fn random_normal<'a>(
    key: impl Into<Operand<'a>>, shape: &[i64], options: RandomNormalOptions<'a>) -> Result<Tensor> {
    record_one(
        c"random_normal", &[key.into(), options.mean, options.std],
        &[Attr::new(c"shape", shape), Attr::new(c"dtype", options.dtype)])
}

/// The integers from 0 to n - 1 (int64) in random order.
#[track_caller]
pub fn random_permutation<'a>(key: impl Into<Operand<'a>>, n: i64) -> Result<Tensor> {
    record_one(c"random_permutation", &[key.into()], &[Attr::new(c"n", n)])
}

/// Poisson numbers (int64) of mean rate; -1 where that is negative or NaN.
#[track_caller]
pub fn random_poisson<'a>(
    key: impl Into<Operand<'a>>, rate: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(c"random_poisson", &[key.into(), rate.into()], &[Attr::new(c"shape", shape)])
}

/// What [`random_split`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RandomSplitOptions {
    pub num: i64,
}

impl Default for RandomSplitOptions {
    fn default() -> Self {
        Self {
            num: 2,
        }
    }
}

/// num keys (uint32\[num, 2\]) whose numbers are independent of each other's.
#[track_caller]
pub fn random_split<'a>(
    key: impl Into<Operand<'a>>, options: RandomSplitOptions) -> Result<Tensor> {
    record_one(c"random_split", &[key.into()], &[Attr::new(c"num", options.num)])
}

/// Numbers of the standard normal distribution limited to \[low, high\].
#[track_caller]
pub fn random_truncated_normal<'a>(
    key: impl Into<Operand<'a>>, low: impl Into<Operand<'a>>, high: impl Into<Operand<'a>>,
    shape: &[i64]) -> Result<Tensor> {
    record_one(
        c"random_truncated_normal", &[key.into(), low.into(), high.into()],
        &[Attr::new(c"shape", shape)])
}

/// Numbers between low and high; high itself only by rounding.
#[track_caller]
pub fn random_uniform<'a>(
    key: impl Into<Operand<'a>>, low: impl Into<Operand<'a>>, high: impl Into<Operand<'a>>,
    shape: &[i64]) -> Result<Tensor> {
    record_one(
        c"random_uniform", &[key.into(), low.into(), high.into()], &[Attr::new(c"shape", shape)])
}

/// Angles from -pi to pi, von Mises of mean 0; NaN where kappa is negative or NaN.
#[track_caller]
pub fn random_von_mises<'a>(
    key: impl Into<Operand<'a>>, kappa: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(c"random_von_mises", &[key.into(), kappa.into()], &[Attr::new(c"shape", shape)])
}

/// Zipf numbers (int64), of probability proportional to k**-a, limited to 2**63 - 1.
#[track_caller]
pub fn random_zipf<'a>(
    key: impl Into<Operand<'a>>, a: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(c"random_zipf", &[key.into(), a.into()], &[Attr::new(c"shape", shape)])
}

/// The real part, of the real dtype; x itself if it is real.
#[track_caller]
pub fn real<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"real", &[x.into()], &[])
}

/// 1 / x.
#[track_caller]
pub fn reciprocal<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"reciprocal", &[x.into()], &[])
}

/// What [`reduce_scatter`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ReduceScatterOptions<'a> {
    pub reduction: &'a str,
    pub axis: i64,
    pub axes: &'a str,
}

impl Default for ReduceScatterOptions<'_> {
    fn default() -> Self {
        Self {
            reduction: "sum",
            axis: 0,
            axes: "",
        }
    }
}

/// This process's part, along axis, of the reduction of the operands of a group.
#[track_caller]
pub fn reduce_scatter<'a>(
    x: impl Into<Operand<'a>>, group: &[i64], world: i64, options: ReduceScatterOptions<'a>) -> Result<Tensor> {
    record_one(
        c"reduce_scatter", &[x.into()],
        &[Attr::new(c"group", group), Attr::new(c"world", world), Attr::new(c"reduction", options.reduction), Attr::new(c"axis", options.axis), Attr::new(c"axes", options.axes)])
}

/// max(x, 0), NaN for NaN. The gradient at 0 is 0.
#[track_caller]
pub fn relu<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"relu", &[x.into()], &[])
}

/// x limited to \[0, 6\]. The gradient at the limits is 0.
#[track_caller]
pub fn relu6<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"relu6", &[x.into()], &[])
}

/// x % y with the sign of y, as Python's.
#[track_caller]
pub fn remainder<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"remainder", &[x.into(), y.into()], &[])
}

/// What [`repeat`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RepeatOptions {
    pub axis: Option<i64>,
}

impl Default for RepeatOptions {
    fn default() -> Self {
        Self {
            axis: None,
        }
    }
}

/// x with every element taken repeats times in a row, along an axis.
#[track_caller]
pub fn repeat<'a>(
    x: impl Into<Operand<'a>>, repeats: i64, options: RepeatOptions) -> Result<Tensor> {
    record_one(
        c"repeat", &[x.into()],
        &[Attr::new(c"repeats", repeats), Attr::new(c"axis", options.axis)])
}

/// The elements of x, in row-major order, in another shape.
#[track_caller]
pub fn reshape<'a>(x: impl Into<Operand<'a>>, shape: &[i64]) -> Result<Tensor> {
    record_one(c"reshape", &[x.into()], &[Attr::new(c"shape", shape)])
}

/// What [`rfft`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RfftOptions<'a> {
    pub norm: &'a str,
}

impl Default for RfftOptions<'_> {
    fn default() -> Self {
        Self {
            norm: "backward",
        }
    }
}

/// The Fourier transform of real numbers: the half of it that tells the other.
#[track_caller]
pub fn rfft<'a>(
    x: impl Into<Operand<'a>>, axes: &[i64], options: RfftOptions<'a>) -> Result<Tensor> {
    record_one(
        c"rfft", &[x.into()], &[Attr::new(c"axes", axes), Attr::new(c"norm", options.norm)])
}

/// What [`rms_norm`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RmsNormOptions<'a> {
    pub weight: Operand<'a>,
    pub normalized_ndim: i64,
    pub eps: f64,
}

impl Default for RmsNormOptions<'_> {
    fn default() -> Self {
        Self {
            weight: Operand::none(),
            normalized_ndim: 1,
            eps: 1e-05,
        }
    }
}

/// x / sqrt(mean(x**2) + eps) * weight over the last normalized_ndim axes.
#[track_caller]
pub fn rms_norm<'a>(x: impl Into<Operand<'a>>, options: RmsNormOptions<'a>) -> Result<Tensor> {
    record_one(
        c"rms_norm", &[x.into(), options.weight],
        &[Attr::new(c"normalized_ndim", options.normalized_ndim), Attr::new(c"eps", options.eps)])
}

/// What [`rnn`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RnnOptions<'a> {
    pub b_input: Operand<'a>,
    pub b_hidden: Operand<'a>,
    pub lengths: Operand<'a>,
    pub activation: &'a str,
    pub reverse: bool,
}

impl Default for RnnOptions<'_> {
    fn default() -> Self {
        Self {
            b_input: Operand::none(),
            b_hidden: Operand::none(),
            lengths: Operand::none(),
            activation: "tanh",
            reverse: false,
        }
    }
}

/// h' = f(x @ w_input.T + b_input + h @ w_hidden.T + b_hidden) for each step in turn.
/// Gives output, state.
#[track_caller]
pub fn rnn<'a>(
    x: impl Into<Operand<'a>>, h: impl Into<Operand<'a>>, w_input: impl Into<Operand<'a>>,
    w_hidden: impl Into<Operand<'a>>, options: RnnOptions<'a>) -> Result<[Tensor; 2]> {
    record(
        c"rnn",
        &[x.into(), h.into(), w_input.into(), w_hidden.into(), options.b_input, options.b_hidden, options.lengths],
        &[Attr::new(c"activation", options.activation), Attr::new(c"reverse", options.reverse)])
}

/// What [`roll`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RollOptions<'a> {
    pub axes: Option<&'a [i64]>,
}

impl Default for RollOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
        }
    }
}

/// x shifted around along axes: element i moves to (i + shift) % size.
#[track_caller]
pub fn roll<'a>(
    x: impl Into<Operand<'a>>, shifts: &[i64], options: RollOptions<'a>) -> Result<Tensor> {
    record_one(
        c"roll", &[x.into()], &[Attr::new(c"shifts", shifts), Attr::new(c"axes", options.axes)])
}

/// What [`round`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RoundOptions {
    pub decimals: i64,
}

impl Default for RoundOptions {
    fn default() -> Self {
        Self {
            decimals: 0,
        }
    }
}

/// x rounded to decimals decimal places, halves to the even neighbour.
#[track_caller]
pub fn round<'a>(x: impl Into<Operand<'a>>, options: RoundOptions) -> Result<Tensor> {
    record_one(c"round", &[x.into()], &[Attr::new(c"decimals", options.decimals)])
}

/// 1 / sqrt(x).
#[track_caller]
pub fn rsqrt<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"rsqrt", &[x.into()], &[])
}

/// All the results of fold on its way along an axis, the first element included.
#[track_caller]
pub fn running_fold<'a>(x: impl Into<Operand<'a>>, function: &str, axis: i64) -> Result<Tensor> {
    record_one(
        c"running_fold", &[x.into()],
        &[Attr::new(c"function", function), Attr::new(c"axis", axis)])
}

/// What [`running_moments`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct RunningMomentsOptions {
    pub num: i64,
}

impl Default for RunningMomentsOptions {
    fn default() -> Self {
        Self {
            num: 0,
        }
    }
}

/// Means and variances kept over batches: (1 - momentum) * old + momentum * new, of each.
/// Gives mean, variance.
#[track_caller]
pub fn running_moments<'a>(
    mean: impl Into<Operand<'a>>, variance: impl Into<Operand<'a>>,
    new_mean: impl Into<Operand<'a>>, new_variance: impl Into<Operand<'a>>,
    momentum: impl Into<Operand<'a>>, options: RunningMomentsOptions) -> Result<[Tensor; 2]> {
    record(
        c"running_moments",
        &[mean.into(), variance.into(), new_mean.into(), new_variance.into(), momentum.into()],
        &[Attr::new(c"num", options.num)])
}

/// What [`scaled_dot_product_attention`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ScaledDotProductAttentionOptions<'a> {
    pub mask: Operand<'a>,
    pub causal: bool,
    pub scale: Option<f64>,
}

impl Default for ScaledDotProductAttentionOptions<'_> {
    fn default() -> Self {
        Self {
            mask: Operand::none(),
            causal: false,
            scale: None,
        }
    }
}

/// softmax(q @ k.T * scale + mask) @ v for q (..., L, E), k (..., S, E), v (..., S, V).
#[track_caller]
pub fn scaled_dot_product_attention<'a>(
    q: impl Into<Operand<'a>>, k: impl Into<Operand<'a>>, v: impl Into<Operand<'a>>,
    options: ScaledDotProductAttentionOptions<'a>) -> Result<Tensor> {
    record_one(
        c"scaled_dot_product_attention", &[q.into(), k.into(), v.into(), options.mask],
        &[Attr::new(c"causal", options.causal), Attr::new(c"scale", options.scale)])
}

/// What [`scatter_along_axis`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct ScatterAlongAxisOptions<'a> {
    pub axis: i64,
    pub mode: &'a str,
}

impl Default for ScatterAlongAxisOptions<'_> {
    fn default() -> Self {
        Self {
            axis: -1,
            mode: "set",
        }
    }
}

/// x\[i, indices\[i, j, k\], k\] = updates\[i, j, k\] for axis 1, and so on, in a copy.
#[track_caller]
pub fn scatter_along_axis<'a>(
    x: impl Into<Operand<'a>>, indices: impl Into<Operand<'a>>, updates: impl Into<Operand<'a>>,
    options: ScatterAlongAxisOptions<'a>) -> Result<Tensor> {
    record_one(
        c"scatter_along_axis", &[x.into(), indices.into(), updates.into()],
        &[Attr::new(c"axis", options.axis), Attr::new(c"mode", options.mode)])
}

/// What [`searchsorted`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SearchsortedOptions<'a> {
    pub side: &'a str,
}

impl Default for SearchsortedOptions<'_> {
    fn default() -> Self {
        Self {
            side: "left",
        }
    }
}

/// Where each of values would go into sorted, which ascends along its last axis, int64.
#[track_caller]
pub fn searchsorted<'a>(
    sorted: impl Into<Operand<'a>>, values: impl Into<Operand<'a>>,
    options: SearchsortedOptions<'a>) -> Result<Tensor> {
    record_one(
        c"searchsorted", &[sorted.into(), values.into()], &[Attr::new(c"side", options.side)])
}

/// fold of segments along an axis: from each of starts to the next one.
#[track_caller]
pub fn segment_fold<'a>(
    x: impl Into<Operand<'a>>, starts: impl Into<Operand<'a>>, function: &str, axis: i64) -> Result<Tensor> {
    record_one(
        c"segment_fold", &[x.into(), starts.into()],
        &[Attr::new(c"function", function), Attr::new(c"axis", axis)])
}

/// The first half of the tensors if the condition holds, otherwise the second half.
#[track_caller]
pub fn select_all<'a>(
    condition: impl Into<Operand<'a>>, tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![condition.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(c"select_all", &given, &[])
}

/// 1.0507... * elu(x, 1.6733...).
#[track_caller]
pub fn selu<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"selu", &[x.into()], &[])
}

/// x << y; 0 where y is negative or not below the number of bits.
#[track_caller]
pub fn shift_left<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"shift_left", &[x.into(), y.into()], &[])
}

/// x >> y, keeping the sign; 0 or -1 where y is negative or not below the number of bits.
#[track_caller]
pub fn shift_right<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"shift_right", &[x.into(), y.into()], &[])
}

/// 1 / (1 + exp(-x)).
#[track_caller]
pub fn sigmoid<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"sigmoid", &[x.into()], &[])
}

/// -1, 0 or 1; x / |x| for complex operands, NaN for NaN; 0 for -0.0.
#[track_caller]
pub fn sign<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"sign", &[x.into()], &[])
}

/// Whether x is negative; for floating-point x its sign bit, of -0.0 and NaN too.
#[track_caller]
pub fn signbit<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"signbit", &[x.into()], &[])
}

/// x * sigmoid(x).
#[track_caller]
pub fn silu<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"silu", &[x.into()], &[])
}

/// Sine of x in radians.
#[track_caller]
pub fn sin<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"sin", &[x.into()], &[])
}

/// sin(pi x) / (pi x), 1 at 0.
#[track_caller]
pub fn sinc<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"sinc", &[x.into()], &[])
}

/// Hyperbolic sine.
#[track_caller]
pub fn sinh<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"sinh", &[x.into()], &[])
}

/// What [`slice`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SliceOptions<'a> {
    pub strides: Option<&'a [i64]>,
}

impl Default for SliceOptions<'_> {
    fn default() -> Self {
        Self {
            strides: None,
        }
    }
}

/// The elements at range(start, stop, stride) along each axis.
#[track_caller]
pub fn slice<'a>(
    x: impl Into<Operand<'a>>, starts: &[i64], stops: &[i64], options: SliceOptions<'a>) -> Result<Tensor> {
    record_one(
        c"slice", &[x.into()],
        &[Attr::new(c"starts", starts), Attr::new(c"stops", stops), Attr::new(c"strides", options.strides)])
}

/// What [`slice_update`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SliceUpdateOptions<'a> {
    pub strides: Option<&'a [i64]>,
}

impl Default for SliceUpdateOptions<'_> {
    fn default() -> Self {
        Self {
            strides: None,
        }
    }
}

/// x with the elements that slice of the same attributes takes replaced.
#[track_caller]
pub fn slice_update<'a>(
    x: impl Into<Operand<'a>>, update: impl Into<Operand<'a>>, starts: &[i64], stops: &[i64],
    options: SliceUpdateOptions<'a>) -> Result<Tensor> {
    record_one(
        c"slice_update", &[x.into(), update.into()],
        &[Attr::new(c"starts", starts), Attr::new(c"stops", stops), Attr::new(c"strides", options.strides)])
}

/// Sign (or phase) of the determinant, and the logarithm of its absolute value.
/// Gives sign, logabsdet.
#[track_caller]
pub fn slogdet<'a>(x: impl Into<Operand<'a>>) -> Result<[Tensor; 2]> {
    record(c"slogdet", &[x.into()], &[])
}

/// What [`soft_cross_entropy`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SoftCrossEntropyOptions<'a> {
    pub axis: i64,
    pub label_smoothing: f64,
    pub reduction: &'a str,
}

impl Default for SoftCrossEntropyOptions<'_> {
    fn default() -> Self {
        Self {
            axis: -1,
            label_smoothing: 0.0,
            reduction: "mean",
        }
    }
}

/// -sum(targets * log_softmax(logits)) along axis, the classes.
#[track_caller]
pub fn soft_cross_entropy<'a>(
    logits: impl Into<Operand<'a>>, targets: impl Into<Operand<'a>>,
    options: SoftCrossEntropyOptions<'a>) -> Result<Tensor> {
    record_one(
        c"soft_cross_entropy", &[logits.into(), targets.into()],
        &[Attr::new(c"axis", options.axis), Attr::new(c"label_smoothing", options.label_smoothing), Attr::new(c"reduction", options.reduction)])
}

/// What [`softmax`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SoftmaxOptions {
    pub axis: i64,
}

impl Default for SoftmaxOptions {
    fn default() -> Self {
        Self {
            axis: -1,
        }
    }
}

/// exp(x) divided by its sum along an axis; the largest element is taken off first.
#[track_caller]
pub fn softmax<'a>(x: impl Into<Operand<'a>>, options: SoftmaxOptions) -> Result<Tensor> {
    record_one(c"softmax", &[x.into()], &[Attr::new(c"axis", options.axis)])
}

/// What [`softplus`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SoftplusOptions {
    pub beta: f64,
    pub threshold: f64,
}

impl Default for SoftplusOptions {
    fn default() -> Self {
        Self {
            beta: 1.0,
            threshold: 20.0,
        }
    }
}

/// log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold.
#[track_caller]
pub fn softplus<'a>(x: impl Into<Operand<'a>>, options: SoftplusOptions) -> Result<Tensor> {
    record_one(
        c"softplus", &[x.into()],
        &[Attr::new(c"beta", options.beta), Attr::new(c"threshold", options.threshold)])
}

/// What [`softshrink`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SoftshrinkOptions {
    pub lambd: f64,
}

impl Default for SoftshrinkOptions {
    fn default() -> Self {
        Self {
            lambd: 0.5,
        }
    }
}

/// x moved towards 0 by lambd, 0 within lambd of it; NaN, of gradient 0, for NaN.
#[track_caller]
pub fn softshrink<'a>(x: impl Into<Operand<'a>>, options: SoftshrinkOptions) -> Result<Tensor> {
    record_one(c"softshrink", &[x.into()], &[Attr::new(c"lambd", options.lambd)])
}

/// x / (1 + |x|).
#[track_caller]
pub fn softsign<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"softsign", &[x.into()], &[])
}

/// The x with a @ x == b, for square a (..., n, n) and b (..., n, k).
#[track_caller]
pub fn solve<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"solve", &[a.into(), b.into()], &[])
}

/// What [`sort`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SortOptions {
    pub axis: i64,
    pub descending: bool,
    pub stable: bool,
}

impl Default for SortOptions {
    fn default() -> Self {
        Self {
            axis: -1,
            descending: false,
            stable: true,
        }
    }
}

/// The elements of x in order along an axis. Raises ArgumentError.
#[track_caller]
pub fn sort<'a>(x: impl Into<Operand<'a>>, options: SortOptions) -> Result<Tensor> {
    record_one(
        c"sort", &[x.into()],
        &[Attr::new(c"axis", options.axis), Attr::new(c"descending", options.descending), Attr::new(c"stable", options.stable)])
}

/// What [`sort_with_indices`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SortWithIndicesOptions {
    pub axis: i64,
    pub descending: bool,
    pub stable: bool,
}

impl Default for SortWithIndicesOptions {
    fn default() -> Self {
        Self {
            axis: -1,
            descending: false,
            stable: true,
        }
    }
}

/// What sort and argsort give, by one sort. Raises ArgumentError.
/// Gives values, indices.
#[track_caller]
pub fn sort_with_indices<'a>(
    x: impl Into<Operand<'a>>, options: SortWithIndicesOptions) -> Result<[Tensor; 2]> {
    record(
        c"sort_with_indices", &[x.into()],
        &[Attr::new(c"axis", options.axis), Attr::new(c"descending", options.descending), Attr::new(c"stable", options.stable)])
}

/// sin(x) / x, the spherical Bessel function of order 0; 1 at 0, and 0 at the infinities.
#[track_caller]
pub fn spherical_bessel_j0<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"spherical_bessel_j0", &[x.into()], &[])
}

/// What [`split`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SplitOptions {
    pub axis: i64,
}

impl Default for SplitOptions {
    fn default() -> Self {
        Self {
            axis: 0,
        }
    }
}

/// x cut along an axis into parts of these sizes: one result for each.
#[track_caller]
pub fn split<'a>(
    x: impl Into<Operand<'a>>, sizes: &[i64], options: SplitOptions) -> Result<Vec<Tensor>> {
    record_list(
        c"split", &[x.into()], &[Attr::new(c"sizes", sizes), Attr::new(c"axis", options.axis)])
}

/// Square root; NaN for negative real x. The gradient at 0 is infinite.
#[track_caller]
pub fn sqrt<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"sqrt", &[x.into()], &[])
}

/// x * x.
#[track_caller]
pub fn square<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"square", &[x.into()], &[])
}

/// What [`squeeze`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SqueezeOptions<'a> {
    pub axes: Option<&'a [i64]>,
}

impl Default for SqueezeOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
        }
    }
}

/// x without these axes of size 1; without any such axis if axes is None.
#[track_caller]
pub fn squeeze<'a>(x: impl Into<Operand<'a>>, options: SqueezeOptions<'a>) -> Result<Tensor> {
    record_one(c"squeeze", &[x.into()], &[Attr::new(c"axes", options.axes)])
}

/// What [`stack`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StackOptions {
    pub axis: i64,
}

impl Default for StackOptions {
    fn default() -> Self {
        Self {
            axis: 0,
        }
    }
}

/// The operands, all of one shape, joined along a new axis at position axis.
#[track_caller]
pub fn stack<'a>(
    xs: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StackOptions) -> Result<Tensor> {
    let mut given: Vec<Operand<'a>> = vec![];
    given.extend(xs.into_iter().map(Into::into));
    record_one(c"stack", &given, &[Attr::new(c"axis", options.axis)])
}

/// What [`std`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StdOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub correction: f64,
    pub keepdims: bool,
}

impl Default for StdOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            correction: 0.0,
            keepdims: false,
        }
    }
}

/// The square root of var. The gradient is 0 where the variance is 0, as PyTorch's.
#[track_caller]
pub fn std<'a>(x: impl Into<Operand<'a>>, options: StdOptions<'a>) -> Result<Tensor> {
    record_one(
        c"std", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"correction", options.correction), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`step_adadelta`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepAdadeltaOptions {
    pub decays: bool,
    pub maximize: bool,
}

impl Default for StepAdadeltaOptions {
    fn default() -> Self {
        Self {
            decays: false,
            maximize: false,
        }
    }
}

/// Adadelta; the state is the means of squared gradients and of squared moves.
#[track_caller]
pub fn step_adadelta<'a>(
    step: impl Into<Operand<'a>>, lr: impl Into<Operand<'a>>, rho: impl Into<Operand<'a>>,
    eps: impl Into<Operand<'a>>, weight_decay: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StepAdadeltaOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![step.into(), lr.into(), rho.into(), eps.into(), weight_decay.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_adadelta", &given,
        &[Attr::new(c"decays", options.decays), Attr::new(c"maximize", options.maximize)])
}

/// What [`step_adafactor`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepAdafactorOptions {
    pub factored: bool,
    pub decays: bool,
    pub maximize: bool,
}

impl Default for StepAdafactorOptions {
    fn default() -> Self {
        Self {
            factored: true,
            decays: false,
            maximize: false,
        }
    }
}

/// Adafactor; with factored the variances are those of rows and those of columns.
#[track_caller]
pub fn step_adafactor<'a>(
    step: impl Into<Operand<'a>>, lr: impl Into<Operand<'a>>, beta2_decay: impl Into<Operand<'a>>,
    eps1: impl Into<Operand<'a>>, eps2: impl Into<Operand<'a>>, d: impl Into<Operand<'a>>,
    weight_decay: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StepAdafactorOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![step.into(), lr.into(), beta2_decay.into(), eps1.into(), eps2.into(), d.into(), weight_decay.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_adafactor", &given,
        &[Attr::new(c"factored", options.factored), Attr::new(c"decays", options.decays), Attr::new(c"maximize", options.maximize)])
}

/// What [`step_adagrad`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepAdagradOptions {
    pub decays: bool,
    pub maximize: bool,
}

impl Default for StepAdagradOptions {
    fn default() -> Self {
        Self {
            decays: false,
            maximize: false,
        }
    }
}

/// Adagrad; the state is the sums of squared gradients. Raises ShapeError, ArgumentError.
#[track_caller]
pub fn step_adagrad<'a>(
    step: impl Into<Operand<'a>>, lr: impl Into<Operand<'a>>, eps: impl Into<Operand<'a>>,
    weight_decay: impl Into<Operand<'a>>, lr_decay: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StepAdagradOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![step.into(), lr.into(), eps.into(), weight_decay.into(), lr_decay.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_adagrad", &given,
        &[Attr::new(c"decays", options.decays), Attr::new(c"maximize", options.maximize)])
}

/// What [`step_adam`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepAdamOptions {
    pub amsgrad: bool,
    pub decays: bool,
    pub decoupled: bool,
    pub maximize: bool,
}

impl Default for StepAdamOptions {
    fn default() -> Self {
        Self {
            amsgrad: false,
            decays: false,
            decoupled: false,
            maximize: false,
        }
    }
}

/// Adam and AdamW; the state is the means of gradients and of their squares.
#[track_caller]
pub fn step_adam<'a>(
    step: impl Into<Operand<'a>>, lr: impl Into<Operand<'a>>, beta1: impl Into<Operand<'a>>,
    beta2: impl Into<Operand<'a>>, eps: impl Into<Operand<'a>>,
    weight_decay: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StepAdamOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![step.into(), lr.into(), beta1.into(), beta2.into(), eps.into(), weight_decay.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_adam", &given,
        &[Attr::new(c"amsgrad", options.amsgrad), Attr::new(c"decays", options.decays), Attr::new(c"decoupled", options.decoupled), Attr::new(c"maximize", options.maximize)])
}

/// What [`step_adamax`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepAdamaxOptions {
    pub decays: bool,
    pub maximize: bool,
}

impl Default for StepAdamaxOptions {
    fn default() -> Self {
        Self {
            decays: false,
            maximize: false,
        }
    }
}

/// AdaMax; the state is the means of gradients and the decaying largest moduli.
#[track_caller]
pub fn step_adamax<'a>(
    step: impl Into<Operand<'a>>, lr: impl Into<Operand<'a>>, beta1: impl Into<Operand<'a>>,
    beta2: impl Into<Operand<'a>>, eps: impl Into<Operand<'a>>,
    weight_decay: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StepAdamaxOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![step.into(), lr.into(), beta1.into(), beta2.into(), eps.into(), weight_decay.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_adamax", &given,
        &[Attr::new(c"decays", options.decays), Attr::new(c"maximize", options.maximize)])
}

/// What [`step_asgd`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepAsgdOptions {
    pub decays: bool,
    pub maximize: bool,
}

impl Default for StepAsgdOptions {
    fn default() -> Self {
        Self {
            decays: false,
            maximize: false,
        }
    }
}

/// Averaged SGD: a step of rate eta, whose results mu moves the averages to.
#[track_caller]
pub fn step_asgd<'a>(
    step: impl Into<Operand<'a>>, eta: impl Into<Operand<'a>>, mu: impl Into<Operand<'a>>,
    lr: impl Into<Operand<'a>>, lambd: impl Into<Operand<'a>>, alpha: impl Into<Operand<'a>>,
    t0: impl Into<Operand<'a>>, weight_decay: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StepAsgdOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![step.into(), eta.into(), mu.into(), lr.into(), lambd.into(), alpha.into(), t0.into(), weight_decay.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_asgd", &given,
        &[Attr::new(c"decays", options.decays), Attr::new(c"maximize", options.maximize)])
}

/// What [`step_muon`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepMuonOptions<'a> {
    pub nesterov: bool,
    pub adjust: &'a str,
}

impl Default for StepMuonOptions<'_> {
    fn default() -> Self {
        Self {
            nesterov: true,
            adjust: "original",
        }
    }
}

/// Momentum whose matrix is brought near an orthogonal one by a few Newton-Schulz steps.
#[track_caller]
pub fn step_muon<'a>(
    lr: impl Into<Operand<'a>>, weight_decay: impl Into<Operand<'a>>,
    momentum: impl Into<Operand<'a>>, eps: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, coefficients: &[f64], steps: i64,
    options: StepMuonOptions<'a>) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![lr.into(), weight_decay.into(), momentum.into(), eps.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_muon", &given,
        &[Attr::new(c"coefficients", coefficients), Attr::new(c"steps", steps), Attr::new(c"nesterov", options.nesterov), Attr::new(c"adjust", options.adjust)])
}

/// What [`step_nadam`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepNadamOptions {
    pub decays: bool,
    pub decoupled: bool,
    pub maximize: bool,
}

impl Default for StepNadamOptions {
    fn default() -> Self {
        Self {
            decays: false,
            decoupled: false,
            maximize: false,
        }
    }
}

/// NAdam; product is that of the momenta beta1 * (1 - 0.96**(t * momentum_decay) / 2).
#[track_caller]
pub fn step_nadam<'a>(
    step: impl Into<Operand<'a>>, product: impl Into<Operand<'a>>, lr: impl Into<Operand<'a>>,
    beta1: impl Into<Operand<'a>>, beta2: impl Into<Operand<'a>>, eps: impl Into<Operand<'a>>,
    weight_decay: impl Into<Operand<'a>>, momentum_decay: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StepNadamOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![step.into(), product.into(), lr.into(), beta1.into(), beta2.into(), eps.into(), weight_decay.into(), momentum_decay.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_nadam", &given,
        &[Attr::new(c"decays", options.decays), Attr::new(c"decoupled", options.decoupled), Attr::new(c"maximize", options.maximize)])
}

/// What [`step_radam`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepRadamOptions {
    pub decays: bool,
    pub decoupled: bool,
    pub maximize: bool,
}

impl Default for StepRadamOptions {
    fn default() -> Self {
        Self {
            decays: false,
            decoupled: false,
            maximize: false,
        }
    }
}

/// RAdam: without the squares as long as their means are of too few steps.
#[track_caller]
pub fn step_radam<'a>(
    step: impl Into<Operand<'a>>, lr: impl Into<Operand<'a>>, beta1: impl Into<Operand<'a>>,
    beta2: impl Into<Operand<'a>>, eps: impl Into<Operand<'a>>,
    weight_decay: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StepRadamOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![step.into(), lr.into(), beta1.into(), beta2.into(), eps.into(), weight_decay.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_radam", &given,
        &[Attr::new(c"decays", options.decays), Attr::new(c"decoupled", options.decoupled), Attr::new(c"maximize", options.maximize)])
}

/// What [`step_rmsprop`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepRmspropOptions {
    pub momentous: bool,
    pub centered: bool,
    pub decays: bool,
    pub maximize: bool,
}

impl Default for StepRmspropOptions {
    fn default() -> Self {
        Self {
            momentous: false,
            centered: false,
            decays: false,
            maximize: false,
        }
    }
}

/// RMSprop; with momentous a momentum, with centered the mean gradient is state, too.
#[track_caller]
pub fn step_rmsprop<'a>(
    step: impl Into<Operand<'a>>, lr: impl Into<Operand<'a>>, alpha: impl Into<Operand<'a>>,
    eps: impl Into<Operand<'a>>, weight_decay: impl Into<Operand<'a>>,
    momentum: impl Into<Operand<'a>>, tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>,
    options: StepRmspropOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![step.into(), lr.into(), alpha.into(), eps.into(), weight_decay.into(), momentum.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_rmsprop", &given,
        &[Attr::new(c"momentous", options.momentous), Attr::new(c"centered", options.centered), Attr::new(c"decays", options.decays), Attr::new(c"maximize", options.maximize)])
}

/// What [`step_rprop`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepRpropOptions {
    pub maximize: bool,
}

impl Default for StepRpropOptions {
    fn default() -> Self {
        Self {
            maximize: false,
        }
    }
}

/// Resilient propagation: step sizes that grow while a gradient keeps its sign.
#[track_caller]
pub fn step_rprop<'a>(
    step: impl Into<Operand<'a>>, shrink: impl Into<Operand<'a>>, grow: impl Into<Operand<'a>>,
    least: impl Into<Operand<'a>>, most: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StepRpropOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![step.into(), shrink.into(), grow.into(), least.into(), most.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(c"step_rprop", &given, &[Attr::new(c"maximize", options.maximize)])
}

/// What [`step_sgd`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct StepSgdOptions {
    pub momentous: bool,
    pub nesterov: bool,
    pub decays: bool,
    pub maximize: bool,
    pub detached: bool,
}

impl Default for StepSgdOptions {
    fn default() -> Self {
        Self {
            momentous: false,
            nesterov: false,
            decays: false,
            maximize: false,
            detached: false,
        }
    }
}

/// Stochastic gradient descent; with momentous the momenta are part of the tensors.
#[track_caller]
pub fn step_sgd<'a>(
    lr: impl Into<Operand<'a>>, weight_decay: impl Into<Operand<'a>>,
    momentum: impl Into<Operand<'a>>, share: impl Into<Operand<'a>>,
    tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>, options: StepSgdOptions) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![lr.into(), weight_decay.into(), momentum.into(), share.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(
        c"step_sgd", &given,
        &[Attr::new(c"momentous", options.momentous), Attr::new(c"nesterov", options.nesterov), Attr::new(c"decays", options.decays), Attr::new(c"maximize", options.maximize), Attr::new(c"detached", options.detached)])
}

/// The data of y with the gradient of x: the cotangent passes to x unchanged.
#[track_caller]
pub fn straight_through<'a>(
    x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"straight_through", &[x.into(), y.into()], &[])
}

/// x - y.
#[track_caller]
pub fn subtract<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"subtract", &[x.into(), y.into()], &[])
}

/// What [`sum`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct SumOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub dtype: Option<DType>,
    pub keepdims: bool,
}

impl Default for SumOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            dtype: None,
            keepdims: false,
        }
    }
}

/// The sum of the elements, cast to dtype first if that is given; 0 of none.
#[track_caller]
pub fn sum<'a>(x: impl Into<Operand<'a>>, options: SumOptions<'a>) -> Result<Tensor> {
    record_one(
        c"sum", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"dtype", options.dtype), Attr::new(c"keepdims", options.keepdims)])
}

/// x (..., m, n) as u @ diag(s) @ vh; s is real, not negative and descending.
/// Gives u, s, vh.
#[track_caller]
pub fn svd<'a>(x: impl Into<Operand<'a>>) -> Result<[Tensor; 3]> {
    record(c"svd", &[x.into()], &[])
}

/// As svd, but with square u (..., m, m) and vh (..., n, n).
/// Gives u, s, vh.
#[track_caller]
pub fn svd_full<'a>(x: impl Into<Operand<'a>>) -> Result<[Tensor; 3]> {
    record(c"svd_full", &[x.into()], &[])
}

/// The singular values of matrices, descending. Raises ShapeError, DTypeError.
#[track_caller]
pub fn svdvals<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"svdvals", &[x.into()], &[])
}

/// x with two axes exchanged. Raises ArgumentError for an axis out of range.
#[track_caller]
pub fn swapaxes<'a>(x: impl Into<Operand<'a>>, axis1: i64, axis2: i64) -> Result<Tensor> {
    record_one(
        c"swapaxes", &[x.into()], &[Attr::new(c"axis1", axis1), Attr::new(c"axis2", axis2)])
}

/// What [`take`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct TakeOptions {
    pub axis: i64,
}

impl Default for TakeOptions {
    fn default() -> Self {
        Self {
            axis: 0,
        }
    }
}

/// The slices of x at indices along an axis; the indices' axes take its place.
#[track_caller]
pub fn take<'a>(
    x: impl Into<Operand<'a>>, indices: impl Into<Operand<'a>>, options: TakeOptions) -> Result<Tensor> {
    record_one(c"take", &[x.into(), indices.into()], &[Attr::new(c"axis", options.axis)])
}

/// What [`take_along_axis`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct TakeAlongAxisOptions {
    pub axis: i64,
}

impl Default for TakeAlongAxisOptions {
    fn default() -> Self {
        Self {
            axis: -1,
        }
    }
}

/// result\[i, j, k\] = x\[i, indices\[i, j, k\], k\] for axis 1, and so on.
#[track_caller]
pub fn take_along_axis<'a>(
    x: impl Into<Operand<'a>>, indices: impl Into<Operand<'a>>, options: TakeAlongAxisOptions) -> Result<Tensor> {
    record_one(
        c"take_along_axis", &[x.into(), indices.into()], &[Attr::new(c"axis", options.axis)])
}

/// Tangent of x in radians.
#[track_caller]
pub fn tan<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"tan", &[x.into()], &[])
}

/// Hyperbolic tangent.
#[track_caller]
pub fn tanh<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"tanh", &[x.into()], &[])
}

/// x - tanh(x).
#[track_caller]
pub fn tanhshrink<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"tanhshrink", &[x.into()], &[])
}

/// x, but value where x <= threshold.
#[track_caller]
pub fn threshold<'a>(x: impl Into<Operand<'a>>, threshold: f64, value: f64) -> Result<Tensor> {
    record_one(
        c"threshold", &[x.into()],
        &[Attr::new(c"threshold", threshold), Attr::new(c"value", value)])
}

/// x laid side by side, repeats\[i\] times along axis i.
#[track_caller]
pub fn tile<'a>(x: impl Into<Operand<'a>>, repeats: &[i64]) -> Result<Tensor> {
    record_one(c"tile", &[x.into()], &[Attr::new(c"repeats", repeats)])
}

/// What [`top_k`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct TopKOptions {
    pub axis: i64,
    pub largest: bool,
}

impl Default for TopKOptions {
    fn default() -> Self {
        Self {
            axis: -1,
            largest: true,
        }
    }
}

/// The k largest elements along an axis, in descending order, and their positions.
/// Gives values, indices.
#[track_caller]
pub fn top_k<'a>(x: impl Into<Operand<'a>>, k: i64, options: TopKOptions) -> Result<[Tensor; 2]> {
    record(
        c"top_k", &[x.into()],
        &[Attr::new(c"k", k), Attr::new(c"axis", options.axis), Attr::new(c"largest", options.largest)])
}

/// What [`transpose`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct TransposeOptions<'a> {
    pub axes: Option<&'a [i64]>,
}

impl Default for TransposeOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
        }
    }
}

/// x with its axes permuted: axis i of the result is axis axes\[i\] of x.
#[track_caller]
pub fn transpose<'a>(x: impl Into<Operand<'a>>, options: TransposeOptions<'a>) -> Result<Tensor> {
    record_one(c"transpose", &[x.into()], &[Attr::new(c"axes", options.axes)])
}

/// What [`triangular_solve`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct TriangularSolveOptions {
    pub left_side: bool,
    pub lower: bool,
    pub transpose: bool,
    pub conjugate: bool,
    pub unit_diagonal: bool,
}

impl Default for TriangularSolveOptions {
    fn default() -> Self {
        Self {
            left_side: true,
            lower: true,
            transpose: false,
            conjugate: false,
            unit_diagonal: false,
        }
    }
}

/// The x with op(a) @ x == b, or x @ op(a) == b, for triangular a (..., n, n).
#[track_caller]
pub fn triangular_solve<'a>(
    a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>, options: TriangularSolveOptions) -> Result<Tensor> {
    record_one(
        c"triangular_solve", &[a.into(), b.into()],
        &[Attr::new(c"left_side", options.left_side), Attr::new(c"lower", options.lower), Attr::new(c"transpose", options.transpose), Attr::new(c"conjugate", options.conjugate), Attr::new(c"unit_diagonal", options.unit_diagonal)])
}

/// What [`tril`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct TrilOptions {
    pub k: i64,
}

impl Default for TrilOptions {
    fn default() -> Self {
        Self {
            k: 0,
        }
    }
}

/// The lower triangles of matrices (..., m, n): zero above the k-th diagonal.
#[track_caller]
pub fn tril<'a>(x: impl Into<Operand<'a>>, options: TrilOptions) -> Result<Tensor> {
    record_one(c"tril", &[x.into()], &[Attr::new(c"k", options.k)])
}

/// What [`triu`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct TriuOptions {
    pub k: i64,
}

impl Default for TriuOptions {
    fn default() -> Self {
        Self {
            k: 0,
        }
    }
}

/// The upper triangles of matrices (..., m, n): zero below the k-th diagonal.
#[track_caller]
pub fn triu<'a>(x: impl Into<Operand<'a>>, options: TriuOptions) -> Result<Tensor> {
    record_one(c"triu", &[x.into()], &[Attr::new(c"k", options.k)])
}

/// x rounded towards zero.
#[track_caller]
pub fn trunc<'a>(x: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"trunc", &[x.into()], &[])
}

/// The tensors times factor, and before them 1 if any has an infinity or NaN, else 0.
#[track_caller]
pub fn unscale<'a>(
    factor: impl Into<Operand<'a>>, tensors: impl IntoIterator<Item = impl Into<Operand<'a>>>) -> Result<Vec<Tensor>> {
    let mut given: Vec<Operand<'a>> = vec![factor.into()];
    given.extend(tensors.into_iter().map(Into::into));
    record_list(c"unscale", &given, &[])
}

/// What [`var`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct VarOptions<'a> {
    pub axes: Option<&'a [i64]>,
    pub correction: f64,
    pub keepdims: bool,
}

impl Default for VarOptions<'_> {
    fn default() -> Self {
        Self {
            axes: None,
            correction: 0.0,
            keepdims: false,
        }
    }
}

/// The mean squared distance from the mean, by the two-pass formula.
#[track_caller]
pub fn var<'a>(x: impl Into<Operand<'a>>, options: VarOptions<'a>) -> Result<Tensor> {
    record_one(
        c"var", &[x.into()],
        &[Attr::new(c"axes", options.axes), Attr::new(c"correction", options.correction), Attr::new(c"keepdims", options.keepdims)])
}

/// What [`vecdot`] may be given besides.
#[derive(Clone, Copy, Debug)]
pub struct VecdotOptions {
    pub axis: i64,
}

impl Default for VecdotOptions {
    fn default() -> Self {
        Self {
            axis: -1,
        }
    }
}

/// The sum of conj(x) * y along an axis, a negative one; the other axes broadcast.
#[track_caller]
pub fn vecdot<'a>(
    x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>, options: VecdotOptions) -> Result<Tensor> {
    record_one(c"vecdot", &[x.into(), y.into()], &[Attr::new(c"axis", options.axis)])
}

/// x where condition, y elsewhere. Each gets the gradient only where it was taken.
#[track_caller]
pub fn where_<'a>(
    condition: impl Into<Operand<'a>>, x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"where", &[condition.into(), x.into(), y.into()], &[])
}

/// x * log1p(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
#[track_caller]
pub fn xlog1py<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"xlog1py", &[x.into(), y.into()], &[])
}

/// x * log(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
#[track_caller]
pub fn xlogy<'a>(x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"xlogy", &[x.into(), y.into()], &[])
}

/// The Hurwitz zeta function, the sum of (k + q)**-x over k from 0; inf for x = 1.
#[track_caller]
pub fn zeta<'a>(x: impl Into<Operand<'a>>, q: impl Into<Operand<'a>>) -> Result<Tensor> {
    record_one(c"zeta", &[x.into(), q.into()], &[])
}
