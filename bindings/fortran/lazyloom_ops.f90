! A function for every op: operands are tensors or numbers.
! Written by bindings/generate.py from lazyloom_api.json; do not edit.
module lazyloom_ops
  use, intrinsic :: iso_fortran_env, only: real64
  use lazyloom_core, only: tensor
  use lazyloom_recording, only: recording
  implicit none
  private
  public :: loom_abs
  public :: loom_acos
  public :: loom_acosh
  public :: loom_adaptive_avg_pool
  public :: loom_adaptive_max_pool
  public :: loom_add
  public :: loom_addcdiv
  public :: loom_addcmul
  public :: loom_airy_ai
  public :: loom_all
  public :: loom_all_gather
  public :: loom_all_reduce
  public :: loom_all_to_all
  public :: loom_angle
  public :: loom_any
  public :: loom_apply_at
  public :: loom_arange
  public :: loom_argmax
  public :: loom_argmin
  public :: loom_argsort
  public :: loom_asin
  public :: loom_asinh
  public :: loom_atan
  public :: loom_atan2
  public :: loom_atanh
  public :: loom_avg_pool
  public :: loom_await_all
  public :: loom_axis_index
  public :: loom_barrier
  public :: loom_batch_norm_infer
  public :: loom_batch_norm_train
  public :: loom_bessel_i0
  public :: loom_bessel_i0e
  public :: loom_bessel_i1
  public :: loom_bessel_i1e
  public :: loom_bessel_j0
  public :: loom_bessel_j1
  public :: loom_bessel_k0e
  public :: loom_bessel_k1e
  public :: loom_bessel_y0
  public :: loom_bessel_y1
  public :: loom_betainc
  public :: loom_binary_cross_entropy
  public :: loom_binary_cross_entropy_with_logits
  public :: loom_bincount
  public :: loom_bitcast
  public :: loom_bitwise_and
  public :: loom_bitwise_not
  public :: loom_bitwise_or
  public :: loom_bitwise_xor
  public :: loom_broadcast_to
  public :: loom_call_module
  public :: loom_cast
  public :: loom_cbrt
  public :: loom_ceil
  public :: loom_celu
  public :: loom_chebyshev_polynomial
  public :: loom_checked
  public :: loom_cholesky
  public :: loom_cholesky_failure
  public :: loom_clip
  public :: loom_collective_broadcast
  public :: loom_collective_permute
  public :: loom_complex
  public :: loom_concatenate
  public :: loom_conj
  public :: loom_conv
  public :: loom_conv_transpose
  public :: loom_copy
  public :: loom_copysign
  public :: loom_cos
  public :: loom_cosh
  public :: loom_count_nonzero
  public :: loom_cross
  public :: loom_cross_entropy
  public :: loom_ctc_loss
  public :: loom_cummax
  public :: loom_cummin
  public :: loom_cumprod
  public :: loom_cumsum
  public :: loom_custom
  public :: loom_dequantize
  public :: loom_det
  public :: loom_diag_embed
  public :: loom_diagonal
  public :: loom_diagonal_update
  public :: loom_digamma
  public :: loom_divide
  public :: loom_dot_general
  public :: loom_dropout
  public :: loom_dynamic_slice
  public :: loom_dynamic_update_slice
  public :: loom_eig
  public :: loom_eigh
  public :: loom_eigvals
  public :: loom_eigvalsh
  public :: loom_einsum
  public :: loom_elu
  public :: loom_embedding
  public :: loom_entr
  public :: loom_equal
  public :: loom_erf
  public :: loom_erfc
  public :: loom_erfcx
  public :: loom_erfinv
  public :: loom_exp
  public :: loom_exp2
  public :: loom_expand_dims
  public :: loom_expm1
  public :: loom_eye
  public :: loom_fake_quantize
  public :: loom_fft
  public :: loom_first_invalid_label
  public :: loom_first_out_of_range
  public :: loom_flat_nonzero
  public :: loom_flip
  public :: loom_float_status
  public :: loom_floor
  public :: loom_floor_divide
  public :: loom_fmax
  public :: loom_fmin
  public :: loom_fmod
  public :: loom_fold
  public :: loom_full
  public :: loom_gammainc
  public :: loom_gammaincc
  public :: loom_gcd
  public :: loom_gelu
  public :: loom_greater
  public :: loom_greater_equal
  public :: loom_grid_sample
  public :: loom_group_norm
  public :: loom_gru
  public :: loom_hardshrink
  public :: loom_hardsigmoid
  public :: loom_hardswish
  public :: loom_hardtanh
  public :: loom_heaviside
  public :: loom_householder_product
  public :: loom_huber_loss
  public :: loom_hypot
  public :: loom_identity
  public :: loom_imag
  public :: loom_index
  public :: loom_index_update
  public :: loom_integer_power
  public :: loom_inv
  public :: loom_iota
  public :: loom_irfft
  public :: loom_is_singular
  public :: loom_isfinite
  public :: loom_isinf
  public :: loom_isnan
  public :: loom_kl_div
  public :: loom_kron
  public :: loom_l1_loss
  public :: loom_layer_norm
  public :: loom_lbfgs_direction
  public :: loom_lcm
  public :: loom_ldexp
  public :: loom_leaky_relu
  public :: loom_lerp
  public :: loom_less
  public :: loom_less_equal
  public :: loom_lgamma
  public :: loom_linspace
  public :: loom_log
  public :: loom_log10
  public :: loom_log1p
  public :: loom_log2
  public :: loom_log_ndtr
  public :: loom_log_sigmoid
  public :: loom_log_softmax
  public :: loom_logaddexp
  public :: loom_logaddexp2
  public :: loom_logcumsumexp
  public :: loom_logical_and
  public :: loom_logical_not
  public :: loom_logical_or
  public :: loom_logical_xor
  public :: loom_logit
  public :: loom_logsumexp
  public :: loom_lstm
  public :: loom_lu_factor
  public :: loom_masked_fill
  public :: loom_matmul
  public :: loom_matrix_exp
  public :: loom_matrix_power
  public :: loom_max
  public :: loom_max_pool
  public :: loom_max_pool_indices
  public :: loom_maximum
  public :: loom_mean
  public :: loom_min
  public :: loom_minimum
  public :: loom_mish
  public :: loom_moveaxis
  public :: loom_mse_loss
  public :: loom_multiply
  public :: loom_nan_to_num
  public :: loom_ndtri
  public :: loom_negative
  public :: loom_nextafter
  public :: loom_nll_loss
  public :: loom_norm
  public :: loom_not_equal
  public :: loom_one_hot
  public :: loom_orthogonal_polynomial
  public :: loom_outer
  public :: loom_pad
  public :: loom_patches
  public :: loom_patches_sum
  public :: loom_pinv
  public :: loom_pinv_within
  public :: loom_pivots_to_permutation
  public :: loom_place
  public :: loom_polygamma
  public :: loom_population_count
  public :: loom_positive
  public :: loom_power
  public :: loom_prelu
  public :: loom_prod
  public :: loom_qr
  public :: loom_qr_raw
  public :: loom_quantize
  public :: loom_random_bernoulli
  public :: loom_random_beta
  public :: loom_random_binomial
  public :: loom_random_bits
  public :: loom_random_categorical
  public :: loom_random_cauchy
  public :: loom_random_exponential
  public :: loom_random_fold_in
  public :: loom_random_gamma
  public :: loom_random_geometric
  public :: loom_random_gumbel
  public :: loom_random_hypergeometric
  public :: loom_random_integers
  public :: loom_random_laplace
  public :: loom_random_logistic
  public :: loom_random_multinomial
  public :: loom_random_multivariate_hypergeometric
  public :: loom_random_normal
  public :: loom_random_permutation
  public :: loom_random_poisson
  public :: loom_random_split
  public :: loom_random_truncated_normal
  public :: loom_random_uniform
  public :: loom_random_von_mises
  public :: loom_random_zipf
  public :: loom_real
  public :: loom_reciprocal
  public :: loom_reduce_scatter
  public :: loom_relu
  public :: loom_relu6
  public :: loom_remainder
  public :: loom_repeat
  public :: loom_reshape
  public :: loom_rfft
  public :: loom_rms_norm
  public :: loom_rnn
  public :: loom_roll
  public :: loom_round
  public :: loom_rsqrt
  public :: loom_running_fold
  public :: loom_running_moments
  public :: loom_scaled_dot_product_attention
  public :: loom_scatter_along_axis
  public :: loom_searchsorted
  public :: loom_segment_fold
  public :: loom_select_all
  public :: loom_selu
  public :: loom_shift_left
  public :: loom_shift_right
  public :: loom_sigmoid
  public :: loom_sign
  public :: loom_signbit
  public :: loom_silu
  public :: loom_sin
  public :: loom_sinc
  public :: loom_sinh
  public :: loom_slice
  public :: loom_slice_update
  public :: loom_slogdet
  public :: loom_soft_cross_entropy
  public :: loom_softmax
  public :: loom_softplus
  public :: loom_softshrink
  public :: loom_softsign
  public :: loom_solve
  public :: loom_sort
  public :: loom_sort_with_indices
  public :: loom_spherical_bessel_j0
  public :: loom_split
  public :: loom_sqrt
  public :: loom_square
  public :: loom_squeeze
  public :: loom_stack
  public :: loom_std
  public :: loom_step_adadelta
  public :: loom_step_adafactor
  public :: loom_step_adagrad
  public :: loom_step_adam
  public :: loom_step_adamax
  public :: loom_step_asgd
  public :: loom_step_muon
  public :: loom_step_nadam
  public :: loom_step_radam
  public :: loom_step_rmsprop
  public :: loom_step_rprop
  public :: loom_step_sgd
  public :: loom_straight_through
  public :: loom_subtract
  public :: loom_sum
  public :: loom_svd
  public :: loom_svd_full
  public :: loom_svdvals
  public :: loom_swapaxes
  public :: loom_take
  public :: loom_take_along_axis
  public :: loom_tan
  public :: loom_tanh
  public :: loom_tanhshrink
  public :: loom_threshold
  public :: loom_tile
  public :: loom_top_k
  public :: loom_transpose
  public :: loom_triangular_solve
  public :: loom_tril
  public :: loom_triu
  public :: loom_trunc
  public :: loom_unscale
  public :: loom_var
  public :: loom_vecdot
  public :: loom_where
  public :: loom_xlog1py
  public :: loom_xlogy
  public :: loom_zeta

contains

  ! |x|; complex operands give their modulus, of the real dtype.
  function loom_abs(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("abs")
  end function

  ! Inverse cosine, in radians; NaN outside [-1, 1] for real x.
  function loom_acos(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("acos")
  end function

  ! Inverse hyperbolic cosine; NaN below 1 for real x.
  function loom_acosh(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("acosh")
  end function

  ! The mean of parts of the last axes, output of them in each, as even as possible.
  function loom_adaptive_avg_pool(x, output) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: output(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("output", output)
    found = call_%one("adaptive_avg_pool")
  end function

  ! The largest element of parts of the last axes; parts as for adaptive_avg_pool.
  function loom_adaptive_max_pool(x, output) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: output(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("output", output)
    found = call_%one("adaptive_max_pool")
  end function

  ! x + y. For bool, logical or, as in NumPy.
  function loom_add(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("add")
  end function

  ! x + value * y / z; value is 1 if absent.
  function loom_addcdiv(x, y, z, value) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    class(*), intent(in) :: z
    class(*), intent(in), optional :: value
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    call call_%operand(z)
    call call_%operand(value)
    found = call_%one("addcdiv")
  end function

  ! x + value * y * z; value is 1 if absent.
  function loom_addcmul(x, y, z, value) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    class(*), intent(in) :: z
    class(*), intent(in), optional :: value
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    call call_%operand(z)
    call call_%operand(value)
    found = call_%one("addcmul")
  end function

  ! The Airy function that vanishes at infinity.
  function loom_airy_ai(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("airy_ai")
  end function

  ! Whether no element is 0 (NaN counts as not 0); true of none.
  function loom_all(x, axes, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("all")
  end function

  ! The operands of all processes of a group, one after the other along axis.
  function loom_all_gather(x, group, world, axis, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: group(:)
    integer, intent(in) :: world
    integer, intent(in), optional :: axis
    character(*), intent(in), optional :: axes
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("group", group)
    call call_%attribute("world", world)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("all_gather")
  end function

  ! The reduction of the operands of all processes of a group, in each of them.
  function loom_all_reduce(x, group, world, reduction, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: group(:)
    integer, intent(in) :: world
    character(*), intent(in), optional :: reduction
    character(*), intent(in), optional :: axes
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("group", group)
    call call_%attribute("world", world)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("all_reduce")
  end function

  ! Parts of the operands of a group: each process sends one along split_axis to each.
  function loom_all_to_all(x, group, world, split_axis, concat_axis, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: group(:)
    integer, intent(in) :: world
    integer, intent(in), optional :: split_axis
    integer, intent(in), optional :: concat_axis
    character(*), intent(in), optional :: axes
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("group", group)
    call call_%attribute("world", world)
    if (present(split_axis)) call call_%attribute("split_axis", split_axis)
    if (present(concat_axis)) call call_%attribute("concat_axis", concat_axis)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("all_to_all")
  end function

  ! The argument of x in radians; 0 or pi for real x, whose gradient is 0. So is that at 0.
  function loom_angle(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("angle")
  end function

  ! Whether an element is not 0 (NaN counts as not 0); false of none.
  function loom_any(x, axes, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("any")
  end function

  ! The vector x with f(x[p], u) written to each position p in turn; f(x[p]) without an update.
  function loom_apply_at(x, positions, function, update, dtype) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: positions
    class(*), intent(in), optional :: update
    character(*), intent(in) :: function
    integer, intent(in), optional :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(positions)
    call call_%operand(update)
    call call_%attribute("function", function)
    if (present(dtype)) call call_%dtype("dtype", dtype)
    found = call_%one("apply_at")
  end function

  ! start, start + step, ...: length elements start + i * step.
  function loom_arange(start, step, length) result(found)
    class(*), intent(in) :: start
    class(*), intent(in) :: step
    integer, intent(in) :: length
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(start)
    call call_%operand(step)
    call call_%attribute("length", length)
    found = call_%one("arange")
  end function

  ! The index (int64) of the first largest element, a NaN counting as larger than all.
  function loom_argmax(x, axis, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axis
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("argmax")
  end function

  ! The index (int64) of the first smallest element, a NaN counting as smaller than all.
  function loom_argmin(x, axis, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axis
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("argmin")
  end function

  ! The positions (int64) that put x in order along an axis. Raises ArgumentError.
  function loom_argsort(x, axis, descending, stable) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axis
    logical, intent(in), optional :: descending
    logical, intent(in), optional :: stable
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(descending)) call call_%attribute("descending", descending)
    if (present(stable)) call call_%attribute("stable", stable)
    found = call_%one("argsort")
  end function

  ! Inverse sine, in radians; NaN outside [-1, 1] for real x.
  function loom_asin(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("asin")
  end function

  ! Inverse hyperbolic sine.
  function loom_asinh(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("asinh")
  end function

  ! Inverse tangent, in radians.
  function loom_atan(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("atan")
  end function

  ! The angle of the point (x, y), in radians. The gradient at (0, 0) is 0.
  function loom_atan2(y, x) result(found)
    class(*), intent(in) :: y
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(y)
    call call_%operand(x)
    found = call_%one("atan2")
  end function

  ! Inverse hyperbolic tangent; NaN outside [-1, 1] for real x.
  function loom_atanh(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("atanh")
  end function

  ! The mean of each place of a window that moves over the last axes.
  function loom_avg_pool(x, window, strides, padding_low, padding_high, dilation, &
        count_include_pad) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: window(:)
    integer, intent(in), optional :: strides(:)
    integer, intent(in), optional :: padding_low(:)
    integer, intent(in), optional :: padding_high(:)
    integer, intent(in), optional :: dilation(:)
    logical, intent(in), optional :: count_include_pad
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("window", window)
    if (present(strides)) call call_%attribute("strides", strides)
    if (present(padding_low)) call call_%attribute("padding_low", padding_low)
    if (present(padding_high)) call call_%attribute("padding_high", padding_high)
    if (present(dilation)) call call_%attribute("dilation", dilation)
    if (present(count_include_pad)) call call_%attribute("count_include_pad", count_include_pad)
    found = call_%one("avg_pool")
  end function

  ! The first results operands, and not before the others are there as well.
  function loom_await_all(operands, results) result(found)
    type(tensor), intent(in) :: operands(:)
    integer, intent(in) :: results
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operands(operands)
    call call_%attribute("results", results)
    found = call_%list("await_all")
  end function

  ! The position of a device along axes of a mesh, an int32; inside shard_map.
  function loom_axis_index(group, world, axes) result(found)
    integer, intent(in) :: group(:)
    integer, intent(in) :: world
    character(*), intent(in), optional :: axes
    type(tensor) :: found
    type(recording) :: call_
    call call_%attribute("group", group)
    call call_%attribute("world", world)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("axis_index")
  end function

  ! The operands themselves; what is computed from them is not merged with the same computation
  ! elsewhere, nor begun before all of them are there.
  function loom_barrier(operands) result(found)
    type(tensor), intent(in) :: operands(:)
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operands(operands)
    found = call_%list("barrier")
  end function

  ! (x - mean) / sqrt(variance + eps) * weight + bias, a number of each per channel.
  function loom_batch_norm_infer(x, mean, variance, weight, bias, eps) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: mean
    class(*), intent(in) :: variance
    class(*), intent(in), optional :: weight
    class(*), intent(in), optional :: bias
    real(real64), intent(in), optional :: eps
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(mean)
    call call_%operand(variance)
    call call_%operand(weight)
    call call_%operand(bias)
    if (present(eps)) call call_%attribute("eps", eps)
    found = call_%one("batch_norm_infer")
  end function

  ! Each channel (axis 1) over all samples and positions gets mean 0 and variance 1.
  ! Gives y, mean, variance.
  function loom_batch_norm_train(x, weight, bias, eps) result(found)
    class(*), intent(in) :: x
    class(*), intent(in), optional :: weight
    class(*), intent(in), optional :: bias
    real(real64), intent(in), optional :: eps
    type(tensor) :: found(3)
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(weight)
    call call_%operand(bias)
    if (present(eps)) call call_%attribute("eps", eps)
    found = call_%several("batch_norm_train", 3)
  end function

  ! The modified Bessel function of the first kind of order 0.
  function loom_bessel_i0(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bessel_i0")
  end function

  ! exp(-|x|) times the modified Bessel function of the first kind of order 0.
  function loom_bessel_i0e(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bessel_i0e")
  end function

  ! The modified Bessel function of the first kind of order 1.
  function loom_bessel_i1(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bessel_i1")
  end function

  ! exp(-|x|) times the modified Bessel function of the first kind of order 1.
  function loom_bessel_i1e(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bessel_i1e")
  end function

  ! The Bessel function of the first kind of order 0; 0 at the infinities.
  function loom_bessel_j0(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bessel_j0")
  end function

  ! The Bessel function of the first kind of order 1; 0 at the infinities.
  function loom_bessel_j1(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bessel_j1")
  end function

  ! exp(x) times the modified Bessel function of the second kind of order 0; inf at 0, NaN below.
  function loom_bessel_k0e(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bessel_k0e")
  end function

  ! exp(x) times the modified Bessel function of the second kind of order 1; inf at 0, NaN below.
  function loom_bessel_k1e(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bessel_k1e")
  end function

  ! The Bessel function of the second kind of order 0; -inf at 0, NaN below.
  function loom_bessel_y0(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bessel_y0")
  end function

  ! The Bessel function of the second kind of order 1; -inf at 0, NaN below.
  function loom_bessel_y1(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bessel_y1")
  end function

  ! The regularised incomplete beta function, for positive a and b and x in [0, 1].
  function loom_betainc(a, b, x) result(found)
    class(*), intent(in) :: a
    class(*), intent(in) :: b
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(a)
    call call_%operand(b)
    call call_%operand(x)
    found = call_%one("betainc")
  end function

  ! -(t * log(x) + (1 - t) * log(1 - x)) * w for probabilities x, logarithms at least -100.
  function loom_binary_cross_entropy(x, target, weight, reduction) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: target
    class(*), intent(in), optional :: weight
    character(*), intent(in), optional :: reduction
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(target)
    call call_%operand(weight)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    found = call_%one("binary_cross_entropy")
  end function

  ! -(p * t * log(sigmoid(x)) + (1 - t) * log(1 - sigmoid(x))) * w, without overflow.
  function loom_binary_cross_entropy_with_logits(logits, targets, weight, positive_weight, &
        reduction) result(found)
    class(*), intent(in) :: logits
    class(*), intent(in) :: targets
    class(*), intent(in), optional :: weight
    class(*), intent(in), optional :: positive_weight
    character(*), intent(in), optional :: reduction
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(logits)
    call call_%operand(targets)
    call call_%operand(weight)
    call call_%operand(positive_weight)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    found = call_%one("binary_cross_entropy_with_logits")
  end function

  ! How often each of 0 .. length - 1 occurs in x (1-d), or the sum of its weights.
  function loom_bincount(x, length, weights) result(found)
    class(*), intent(in) :: x
    class(*), intent(in), optional :: weights
    integer, intent(in) :: length
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(weights)
    call call_%attribute("length", length)
    found = call_%one("bincount")
  end function

  ! The bytes of x read as dtype.
  function loom_bitcast(x, dtype) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%dtype("dtype", dtype)
    found = call_%one("bitcast")
  end function

  ! x & y.
  function loom_bitwise_and(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("bitwise_and")
  end function

  ! All bits of x inverted; logical not for bool.
  function loom_bitwise_not(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("bitwise_not")
  end function

  ! x | y.
  function loom_bitwise_or(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("bitwise_or")
  end function

  ! x ^ y.
  function loom_bitwise_xor(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("bitwise_xor")
  end function

  ! x repeated to shape by NumPy's broadcasting rules. Raises ShapeError.
  function loom_broadcast_to(x, shape) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("shape", shape)
    found = call_%one("broadcast_to")
  end function

  ! The results of the function main of a StableHLO module, which is given as text.
  function loom_call_module(operands, module) result(found)
    type(tensor), intent(in) :: operands(:)
    character(*), intent(in) :: module
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operands(operands)
    call call_%attribute("module", module)
    found = call_%list("call_module")
  end function

  ! x converted to dtype.
  function loom_cast(x, dtype) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%dtype("dtype", dtype)
    found = call_%one("cast")
  end function

  ! The real cube root, of the sign of x.
  function loom_cbrt(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("cbrt")
  end function

  ! The smallest integer not below x.
  function loom_ceil(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("ceil")
  end function

  ! x for x > 0, alpha * (exp(x / alpha) - 1) elsewhere.
  function loom_celu(x, alpha) result(found)
    class(*), intent(in) :: x
    real(real64), intent(in), optional :: alpha
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(alpha)) call call_%attribute("alpha", alpha)
    found = call_%one("celu")
  end function

  ! The Chebyshev polynomial of degree n (rounded towards zero) of the first (kind "t"), second
  ! ("u"), third ("v") or fourth ("w") kind; 0 for a negative degree.
  function loom_chebyshev_polynomial(x, n, kind) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: n
    character(*), intent(in) :: kind
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(n)
    call call_%attribute("kind", kind)
    found = call_%one("chebyshev_polynomial")
  end function

  ! x itself, and flag, which is looked at before anything that depends on x is read.
  ! Gives result, looked_at.
  function loom_checked(x, flag, kind, of, info) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: flag
    character(*), intent(in) :: kind
    character(*), intent(in), optional :: of
    integer, intent(in), optional :: info(:)
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(flag)
    call call_%attribute("kind", kind)
    if (present(of)) call call_%attribute("of", of)
    if (present(info)) call call_%attribute("info", info)
    found = call_%several("checked", 2)
  end function

  ! The lower triangular L with L @ L.conj().T == x, or its upper counterpart.
  function loom_cholesky(x, upper) result(found)
    class(*), intent(in) :: x
    logical, intent(in), optional :: upper
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(upper)) call call_%attribute("upper", upper)
    found = call_%one("cholesky")
  end function

  ! The order of the first leading minor that is not positive, 0 where there is none; int32.
  function loom_cholesky_failure(x, upper) result(found)
    class(*), intent(in) :: x
    logical, intent(in), optional :: upper
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(upper)) call call_%attribute("upper", upper)
    found = call_%one("cholesky_failure")
  end function

  ! x limited to [min, max], NaN where any is; max where min > max.
  function loom_clip(x, min, max) result(found)
    class(*), intent(in) :: x
    class(*), intent(in), optional :: min
    class(*), intent(in), optional :: max
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(min)
    call call_%operand(max)
    found = call_%one("clip")
  end function

  ! The operand of the process at position source of a group, in each of its processes.
  function loom_collective_broadcast(x, group, world, source, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: group(:)
    integer, intent(in) :: world
    integer, intent(in), optional :: source
    character(*), intent(in), optional :: axes
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("group", group)
    call call_%attribute("world", world)
    if (present(source)) call call_%attribute("source", source)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("collective_broadcast")
  end function

  ! The operand of the process that sends to this one; zeros in one that receives from none.
  function loom_collective_permute(x, sources, targets, group, world, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: sources(:)
    integer, intent(in) :: targets(:)
    integer, intent(in) :: group(:)
    integer, intent(in) :: world
    character(*), intent(in), optional :: axes
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("sources", sources)
    call call_%attribute("targets", targets)
    call call_%attribute("group", group)
    call call_%attribute("world", world)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("collective_permute")
  end function

  ! real + i imag, complex64 of float32 or complex128 of float64 operands.
  function loom_complex(real, imag) result(found)
    class(*), intent(in) :: real
    class(*), intent(in) :: imag
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(real)
    call call_%operand(imag)
    found = call_%one("complex")
  end function

  ! The operands joined along an existing axis; their other sizes are equal.
  function loom_concatenate(xs, axis) result(found)
    type(tensor), intent(in) :: xs(:)
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operands(xs)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("concatenate")
  end function

  ! The complex conjugate; x itself if it is real.
  function loom_conj(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("conj")
  end function

  ! x (N, C, spatial...) convolved with weight (O, C / groups, spatial...).
  function loom_conv(x, weight, strides, padding_low, padding_high, dilation, &
        input_dilation, groups) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: weight
    integer, intent(in), optional :: strides(:)
    integer, intent(in), optional :: padding_low(:)
    integer, intent(in), optional :: padding_high(:)
    integer, intent(in), optional :: dilation(:)
    integer, intent(in), optional :: input_dilation(:)
    integer, intent(in), optional :: groups
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(weight)
    if (present(strides)) call call_%attribute("strides", strides)
    if (present(padding_low)) call call_%attribute("padding_low", padding_low)
    if (present(padding_high)) call call_%attribute("padding_high", padding_high)
    if (present(dilation)) call call_%attribute("dilation", dilation)
    if (present(input_dilation)) call call_%attribute("input_dilation", input_dilation)
    if (present(groups)) call call_%attribute("groups", groups)
    found = call_%one("conv")
  end function

  ! The derivative of conv with respect to its input, as an op: weight (C, O / groups, ...).
  function loom_conv_transpose(x, weight, strides, padding_low, padding_high, &
        output_padding, dilation, groups) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: weight
    integer, intent(in), optional :: strides(:)
    integer, intent(in), optional :: padding_low(:)
    integer, intent(in), optional :: padding_high(:)
    integer, intent(in), optional :: output_padding(:)
    integer, intent(in), optional :: dilation(:)
    integer, intent(in), optional :: groups
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(weight)
    if (present(strides)) call call_%attribute("strides", strides)
    if (present(padding_low)) call call_%attribute("padding_low", padding_low)
    if (present(padding_high)) call call_%attribute("padding_high", padding_high)
    if (present(output_padding)) call call_%attribute("output_padding", output_padding)
    if (present(dilation)) call call_%attribute("dilation", dilation)
    if (present(groups)) call call_%attribute("groups", groups)
    found = call_%one("conv_transpose")
  end function

  ! x as a value of its own, for frontends that tell row-major copies from what they copy.
  function loom_copy(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("copy")
  end function

  ! The magnitude of x with the sign of y, zeros included. The gradient is 0 where x is.
  function loom_copysign(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("copysign")
  end function

  ! Cosine of x in radians.
  function loom_cos(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("cos")
  end function

  ! Hyperbolic cosine.
  function loom_cosh(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("cosh")
  end function

  ! The number of elements that are not 0, as int64.
  function loom_count_nonzero(x, axes, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("count_nonzero")
  end function

  ! The cross product of vectors of 3 elements along an axis; the other axes broadcast.
  function loom_cross(x, y, axis) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("cross")
  end function

  ! -log_softmax(logits)[label], per element of labels.
  function loom_cross_entropy(logits, labels, weight, axis, label_smoothing, ignore_index, &
        reduction) result(found)
    class(*), intent(in) :: logits
    class(*), intent(in) :: labels
    class(*), intent(in), optional :: weight
    integer, intent(in), optional :: axis
    real(real64), intent(in), optional :: label_smoothing
    integer, intent(in), optional :: ignore_index
    character(*), intent(in), optional :: reduction
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(logits)
    call call_%operand(labels)
    call call_%operand(weight)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(label_smoothing)) call call_%attribute("label_smoothing", label_smoothing)
    if (present(ignore_index)) call call_%attribute("ignore_index", ignore_index)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    found = call_%one("cross_entropy")
  end function

  ! -log of the probability of all alignments of a target with an input, for each of N.
  function loom_ctc_loss(log_probabilities, targets, input_lengths, target_lengths, blank) &
        result(found)
    class(*), intent(in) :: log_probabilities
    class(*), intent(in) :: targets
    class(*), intent(in) :: input_lengths
    class(*), intent(in) :: target_lengths
    integer, intent(in), optional :: blank
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(log_probabilities)
    call call_%operand(targets)
    call call_%operand(input_lengths)
    call call_%operand(target_lengths)
    if (present(blank)) call call_%attribute("blank", blank)
    found = call_%one("ctc_loss")
  end function

  ! The largest element up to each one; NaN from the first NaN on.
  function loom_cummax(x, axis, reverse) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: axis
    logical, intent(in), optional :: reverse
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("axis", axis)
    if (present(reverse)) call call_%attribute("reverse", reverse)
    found = call_%one("cummax")
  end function

  ! The smallest element up to each one; NaN from the first NaN on.
  function loom_cummin(x, axis, reverse) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: axis
    logical, intent(in), optional :: reverse
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("axis", axis)
    if (present(reverse)) call call_%attribute("reverse", reverse)
    found = call_%one("cummin")
  end function

  ! The products of the elements up to each one; integers wrap.
  function loom_cumprod(x, axis, reverse) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: axis
    logical, intent(in), optional :: reverse
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("axis", axis)
    if (present(reverse)) call call_%attribute("reverse", reverse)
    found = call_%one("cumprod")
  end function

  ! The sums of the elements up to each one; integers wrap.
  function loom_cumsum(x, axis, reverse) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: axis
    logical, intent(in), optional :: reverse
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("axis", axis)
    if (present(reverse)) call call_%attribute("reverse", reverse)
    found = call_%one("cumsum")
  end function

  ! The first results operands; the others are what these were computed from.
  function loom_custom(operands, results) result(found)
    type(tensor), intent(in) :: operands(:)
    integer, intent(in) :: results
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operands(operands)
    call call_%attribute("results", results)
    found = call_%list("custom")
  end function

  ! (x - zero_point) * scale, in the dtype of scale; x is int8, uint8 or int32.
  function loom_dequantize(x, scale, zero_point, axis) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: scale
    class(*), intent(in), optional :: zero_point
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(scale)
    call call_%operand(zero_point)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("dequantize")
  end function

  ! The determinant of square matrices. Raises ShapeError, DTypeError.
  function loom_det(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("det")
  end function

  ! Square planes, zero but for the diagonal, which is the last axis of x.
  function loom_diag_embed(x, offset, axis1, axis2) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: offset
    integer, intent(in), optional :: axis1
    integer, intent(in), optional :: axis2
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(offset)) call call_%attribute("offset", offset)
    if (present(axis1)) call call_%attribute("axis1", axis1)
    if (present(axis2)) call call_%attribute("axis2", axis2)
    found = call_%one("diag_embed")
  end function

  ! The diagonals of the planes of two axes: those axes go, the diagonal comes last.
  function loom_diagonal(x, offset, axis1, axis2) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: offset
    integer, intent(in), optional :: axis1
    integer, intent(in), optional :: axis2
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(offset)) call call_%attribute("offset", offset)
    if (present(axis1)) call call_%attribute("axis1", axis1)
    if (present(axis2)) call call_%attribute("axis2", axis2)
    found = call_%one("diagonal")
  end function

  ! x with the elements that diagonal of the same attributes takes replaced.
  function loom_diagonal_update(x, update, offset, axis1, axis2) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: update
    integer, intent(in), optional :: offset
    integer, intent(in), optional :: axis1
    integer, intent(in), optional :: axis2
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(update)
    if (present(offset)) call call_%attribute("offset", offset)
    if (present(axis1)) call call_%attribute("axis1", axis1)
    if (present(axis2)) call call_%attribute("axis2", axis2)
    found = call_%one("diagonal_update")
  end function

  ! The derivative of lgamma; infinite at 0, with the sign of -x.
  function loom_digamma(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("digamma")
  end function

  ! x / y, of floating-point or complex operands; by IEEE 754 for a zero y.
  function loom_divide(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("divide")
  end function

  ! The sum of products over pairs of axes; pairs of batch axes stay, and come first.
  function loom_dot_general(x, y, lhs_contract, rhs_contract, lhs_batch, rhs_batch, &
        accumulate) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    integer, intent(in) :: lhs_contract(:)
    integer, intent(in) :: rhs_contract(:)
    integer, intent(in), optional :: lhs_batch(:)
    integer, intent(in), optional :: rhs_batch(:)
    integer, intent(in), optional :: accumulate
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    call call_%attribute("lhs_contract", lhs_contract)
    call call_%attribute("rhs_contract", rhs_contract)
    if (present(lhs_batch)) call call_%attribute("lhs_batch", lhs_batch)
    if (present(rhs_batch)) call call_%attribute("rhs_batch", rhs_batch)
    if (present(accumulate)) call call_%dtype("accumulate", accumulate)
    found = call_%one("dot_general")
  end function

  ! x with each element zero with probability rate, and divided by 1 - rate else.
  function loom_dropout(x, key, rate) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: key
    real(real64), intent(in) :: rate
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(key)
    call call_%attribute("rate", rate)
    found = call_%one("dropout")
  end function

  ! A block of attribute sizes that begins at the 0-d operands starts.
  function loom_dynamic_slice(x, starts, sizes) result(found)
    class(*), intent(in) :: x
    type(tensor), intent(in) :: starts(:)
    integer, intent(in) :: sizes(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operands(starts)
    call call_%attribute("sizes", sizes)
    found = call_%one("dynamic_slice")
  end function

  ! x with the block that begins at the 0-d operands starts replaced by update.
  function loom_dynamic_update_slice(x, update, starts) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: update
    type(tensor), intent(in) :: starts(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(update)
    call call_%operands(starts)
    found = call_%one("dynamic_update_slice")
  end function

  ! Eigenvalues of square matrices, and eigenvectors as columns; both complex.
  ! Gives eigenvalues, eigenvectors.
  function loom_eig(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    found = call_%several("eig", 2)
  end function

  ! Ascending eigenvalues of Hermitian matrices, and eigenvectors as columns.
  ! Gives eigenvalues, eigenvectors.
  function loom_eigh(x, upper) result(found)
    class(*), intent(in) :: x
    logical, intent(in), optional :: upper
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    if (present(upper)) call call_%attribute("upper", upper)
    found = call_%several("eigh", 2)
  end function

  ! Eigenvalues of square matrices, complex; see eig.
  function loom_eigvals(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("eigvals")
  end function

  ! Ascending eigenvalues of Hermitian matrices; see eigh.
  function loom_eigvalsh(x, upper) result(found)
    class(*), intent(in) :: x
    logical, intent(in), optional :: upper
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(upper)) call call_%attribute("upper", upper)
    found = call_%one("eigvalsh")
  end function

  ! Einstein's sum: letters name axes, letters that the result lacks are summed over.
  function loom_einsum(xs, equation) result(found)
    type(tensor), intent(in) :: xs(:)
    character(*), intent(in) :: equation
    type(tensor) :: found
    type(recording) :: call_
    call call_%operands(xs)
    call call_%attribute("equation", equation)
    found = call_%one("einsum")
  end function

  ! x for x > 0, alpha * (exp(x) - 1) elsewhere.
  function loom_elu(x, alpha) result(found)
    class(*), intent(in) :: x
    real(real64), intent(in), optional :: alpha
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(alpha)) call call_%attribute("alpha", alpha)
    found = call_%one("elu")
  end function

  ! The rows of weight (rows, features) at indices, of any shape.
  function loom_embedding(weight, indices, padding_index) result(found)
    class(*), intent(in) :: weight
    class(*), intent(in) :: indices
    integer, intent(in), optional :: padding_index
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(weight)
    call call_%operand(indices)
    if (present(padding_index)) call call_%attribute("padding_index", padding_index)
    found = call_%one("embedding")
  end function

  ! -x log(x), 0 at 0 and -inf below.
  function loom_entr(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("entr")
  end function

  ! x == y.
  function loom_equal(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("equal")
  end function

  ! The error function.
  function loom_erf(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("erf")
  end function

  ! 1 - erf(x), accurate for large x.
  function loom_erfc(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("erfc")
  end function

  ! exp(x * x) erfc(x), without underflow for large x.
  function loom_erfcx(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("erfcx")
  end function

  ! The inverse of erf; infinite at -1 and 1.
  function loom_erfinv(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("erfinv")
  end function

  ! e ** x.
  function loom_exp(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("exp")
  end function

  ! 2 ** x; exact where x is an integer and the result is normal.
  function loom_exp2(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("exp2")
  end function

  ! x with axes of size 1 put in, at these positions of the result.
  function loom_expand_dims(x, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: axes(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("axes", axes)
    found = call_%one("expand_dims")
  end function

  ! e ** x - 1, accurate near 0.
  function loom_expm1(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("expm1")
  end function

  ! An n by m (n by n for None) matrix with ones on diagonal k and zeros elsewhere.
  function loom_eye(n, dtype, m, k) result(found)
    integer, intent(in) :: n
    integer, intent(in) :: dtype
    integer, intent(in), optional :: m
    integer, intent(in), optional :: k
    type(tensor) :: found
    type(recording) :: call_
    call call_%attribute("n", n)
    call call_%dtype("dtype", dtype)
    if (present(m)) call call_%attribute("m", m)
    if (present(k)) call call_%attribute("k", k)
    found = call_%one("eye")
  end function

  ! What x becomes by quantisation to the integers low to high and back.
  function loom_fake_quantize(x, scale, zero_point, low, high, axis) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: scale
    class(*), intent(in) :: zero_point
    integer, intent(in) :: low
    integer, intent(in) :: high
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(scale)
    call call_%operand(zero_point)
    call call_%attribute("low", low)
    call call_%attribute("high", high)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("fake_quantize")
  end function

  ! The discrete Fourier transform along the axes, or the inverse one.
  function loom_fft(x, axes, inverse, norm) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: axes(:)
    logical, intent(in), optional :: inverse
    character(*), intent(in), optional :: norm
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("axes", axes)
    if (present(inverse)) call call_%attribute("inverse", inverse)
    if (present(norm)) call call_%attribute("norm", norm)
    found = call_%one("fft")
  end function

  ! One of the labels that is neither in 0 .. size - 1 nor ignore_index, int64; or 0.
  function loom_first_invalid_label(labels, size, ignore_index) result(found)
    class(*), intent(in) :: labels
    integer, intent(in) :: size
    integer, intent(in), optional :: ignore_index
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(labels)
    call call_%attribute("size", size)
    if (present(ignore_index)) call call_%attribute("ignore_index", ignore_index)
    found = call_%one("first_invalid_label")
  end function

  ! One of the indices that is not in -size .. size - 1, int64; 0 where all are.
  function loom_first_out_of_range(indices, size, negative) result(found)
    class(*), intent(in) :: indices
    integer, intent(in) :: size
    logical, intent(in), optional :: negative
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(indices)
    call call_%attribute("size", size)
    if (present(negative)) call call_%attribute("negative", negative)
    found = call_%one("first_out_of_range")
  end function

  ! The first size positions (int64), in row-major order, where x is not zero.
  function loom_flat_nonzero(x, size) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: size
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("size", size)
    found = call_%one("flat_nonzero")
  end function

  ! x with the order along these axes (all of them if None) reversed.
  function loom_flip(x, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("flip")
  end function

  ! Which floating-point exceptions a function met: 1 divide by zero, 2 overflow, 4 underflow, 8
  ! invalid, added up, uint8.
  function loom_float_status(result_, operands, function) result(found)
    class(*), intent(in) :: result_
    type(tensor), intent(in) :: operands(:)
    character(*), intent(in) :: function
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(result_)
    call call_%operands(operands)
    call call_%attribute("function", function)
    found = call_%one("float_status")
  end function

  ! The largest integer not above x.
  function loom_floor(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("floor")
  end function

  ! x // y, rounded down.
  function loom_floor_divide(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("floor_divide")
  end function

  ! The larger of x and y; the other one where one of them is NaN. At ties x has the gradient.
  function loom_fmax(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("fmax")
  end function

  ! The smaller of x and y; the other one where one of them is NaN. At ties x has the gradient.
  function loom_fmin(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("fmin")
  end function

  ! The remainder of x / y with the sign of x. Integers give 0 where y is 0.
  function loom_fmod(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("fmod")
  end function

  ! f(f(x0, x1), x2) ... along an axis, from the first element to the last.
  function loom_fold(x, function, axis) result(found)
    class(*), intent(in) :: x
    character(*), intent(in) :: function
    integer, intent(in) :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("function", function)
    call call_%attribute("axis", axis)
    found = call_%one("fold")
  end function

  ! A tensor of that shape, every element the 0-d value, of its dtype.
  function loom_full(value, shape) result(found)
    class(*), intent(in) :: value
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(value)
    call call_%attribute("shape", shape)
    found = call_%one("full")
  end function

  ! The regularised lower incomplete gamma function, for a and x from 0 on.
  function loom_gammainc(a, x) result(found)
    class(*), intent(in) :: a
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(a)
    call call_%operand(x)
    found = call_%one("gammainc")
  end function

  ! 1 - gammainc(a, x), accurate where it is small.
  function loom_gammaincc(a, x) result(found)
    class(*), intent(in) :: a
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(a)
    call call_%operand(x)
    found = call_%one("gammaincc")
  end function

  ! The greatest common divisor of |x| and |y|; gcd(0, 0) is 0.
  function loom_gcd(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("gcd")
  end function

  ! x times the normal distribution function of x; approximate "none" or "tanh".
  function loom_gelu(x, approximate) result(found)
    class(*), intent(in) :: x
    character(*), intent(in), optional :: approximate
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(approximate)) call call_%attribute("approximate", approximate)
    found = call_%one("gelu")
  end function

  ! x > y.
  function loom_greater(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("greater")
  end function

  ! x >= y.
  function loom_greater_equal(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("greater_equal")
  end function

  ! x (N, C, H, W) or (N, C, D, H, W) at the places of grid (N, ..., 2 or 3).
  function loom_grid_sample(x, grid, mode, padding, align_corners) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: grid
    character(*), intent(in), optional :: mode
    character(*), intent(in), optional :: padding
    logical, intent(in), optional :: align_corners
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(grid)
    if (present(mode)) call call_%attribute("mode", mode)
    if (present(padding)) call call_%attribute("padding", padding)
    if (present(align_corners)) call call_%attribute("align_corners", align_corners)
    found = call_%one("grid_sample")
  end function

  ! Channels (axis 1) in groups; each group of each sample gets mean 0 and variance 1.
  function loom_group_norm(x, groups, weight, bias, eps) result(found)
    class(*), intent(in) :: x
    class(*), intent(in), optional :: weight
    class(*), intent(in), optional :: bias
    integer, intent(in) :: groups
    real(real64), intent(in), optional :: eps
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(weight)
    call call_%operand(bias)
    call call_%attribute("groups", groups)
    if (present(eps)) call call_%attribute("eps", eps)
    found = call_%one("group_norm")
  end function

  ! A gated recurrent unit for each step in turn: h' = n + z * (h - n).
  ! Gives output, state.
  function loom_gru(x, h, w_input, w_hidden, b_input, b_hidden, lengths, reverse) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: h
    class(*), intent(in) :: w_input
    class(*), intent(in) :: w_hidden
    class(*), intent(in), optional :: b_input
    class(*), intent(in), optional :: b_hidden
    class(*), intent(in), optional :: lengths
    logical, intent(in), optional :: reverse
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(h)
    call call_%operand(w_input)
    call call_%operand(w_hidden)
    call call_%operand(b_input)
    call call_%operand(b_hidden)
    call call_%operand(lengths)
    if (present(reverse)) call call_%attribute("reverse", reverse)
    found = call_%several("gru", 2)
  end function

  ! x, but 0 where |x| <= lambd. The gradient at NaN is 0.
  function loom_hardshrink(x, lambd) result(found)
    class(*), intent(in) :: x
    real(real64), intent(in), optional :: lambd
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(lambd)) call call_%attribute("lambd", lambd)
    found = call_%one("hardshrink")
  end function

  ! relu6(x + 3) / 6.
  function loom_hardsigmoid(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("hardsigmoid")
  end function

  ! x * relu6(x + 3) / 6. The gradient is 0 up to -3, and 1 from 3 on and at NaN.
  function loom_hardswish(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("hardswish")
  end function

  ! x limited to [min, max]. The gradient at the limits is 0.
  function loom_hardtanh(x, min, max) result(found)
    class(*), intent(in) :: x
    real(real64), intent(in), optional :: min
    real(real64), intent(in), optional :: max
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(min)) call call_%attribute("min", min)
    if (present(max)) call call_%attribute("max", max)
    found = call_%one("hardtanh")
  end function

  ! 0 for negative x, 1 for positive x, y where x is 0, NaN for NaN.
  function loom_heaviside(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("heaviside")
  end function

  ! The first n columns of a product of reflections I - tau_i v_i v_i^H.
  function loom_householder_product(a, taus) result(found)
    class(*), intent(in) :: a
    class(*), intent(in) :: taus
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(a)
    call call_%operand(taus)
    found = call_%one("householder_product")
  end function

  ! d**2 / 2 where d = abs(x - target) is below delta, else delta * (d - delta / 2).
  function loom_huber_loss(x, target, delta, reduction) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: target
    real(real64), intent(in), optional :: delta
    character(*), intent(in), optional :: reduction
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(target)
    if (present(delta)) call call_%attribute("delta", delta)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    found = call_%one("huber_loss")
  end function

  ! sqrt(x*x + y*y) without overflow, infinite if x or y is. The gradient at (0, 0) is 0, and
  ! where the result is infinite.
  function loom_hypot(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("hypot")
  end function

  ! x itself, as a value of its own. The gradient passes through.
  function loom_identity(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("identity")
  end function

  ! The imaginary part, of the real dtype; 0 if x is real.
  function loom_imag(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("imag")
  end function

  ! The elements of x at broadcast indices, one operand for each of axes.
  function loom_index(x, indices, axes) result(found)
    class(*), intent(in) :: x
    type(tensor), intent(in) :: indices(:)
    integer, intent(in) :: axes(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operands(indices)
    call call_%attribute("axes", axes)
    found = call_%one("index")
  end function

  ! x with the elements that index of the same indices takes changed.
  function loom_index_update(x, value, indices, axes, mode) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: value
    type(tensor), intent(in) :: indices(:)
    integer, intent(in) :: axes(:)
    character(*), intent(in), optional :: mode
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(value)
    call call_%operands(indices)
    call call_%attribute("axes", axes)
    if (present(mode)) call call_%attribute("mode", mode)
    found = call_%one("index_update")
  end function

  ! x ** exponent for an integer known beforehand, by repeated multiplication.
  function loom_integer_power(x, exponent) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: exponent
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("exponent", exponent)
    found = call_%one("integer_power")
  end function

  ! The inverse of square matrices; solve is faster and more exact where it serves.
  function loom_inv(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("inv")
  end function

  ! A tensor whose elements are their own index along axis.
  function loom_iota(shape, dtype, axis) result(found)
    integer, intent(in) :: shape(:)
    integer, intent(in) :: dtype
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%attribute("shape", shape)
    call call_%dtype("dtype", dtype)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("iota")
  end function

  ! The inverse of rfft: real numbers, length along the last of the axes.
  function loom_irfft(x, axes, length, norm) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: axes(:)
    integer, intent(in) :: length
    character(*), intent(in), optional :: norm
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("axes", axes)
    call call_%attribute("length", length)
    if (present(norm)) call call_%attribute("norm", norm)
    found = call_%one("irfft")
  end function

  ! Whether elimination finds a pivot that is exactly 0, for each square matrix.
  function loom_is_singular(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("is_singular")
  end function

  ! Whether x, with all its parts, is neither infinite nor NaN.
  function loom_isfinite(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("isfinite")
  end function

  ! Whether x, or a part of it, is infinite.
  function loom_isinf(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("isinf")
  end function

  ! Whether x, or a part of it, is NaN.
  function loom_isnan(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("isnan")
  end function

  ! target * (log(target) - x), where x holds log-probabilities; 0 where target is 0.
  function loom_kl_div(x, target, log_target, reduction) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: target
    logical, intent(in), optional :: log_target
    character(*), intent(in), optional :: reduction
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(target)
    if (present(log_target)) call call_%attribute("log_target", log_target)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    found = call_%one("kl_div")
  end function

  ! Kronecker's product: each element of x times the whole of y, side by side.
  function loom_kron(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("kron")
  end function

  ! abs(x - target); the derivative is 0 where both are equal.
  function loom_l1_loss(x, target, reduction) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: target
    character(*), intent(in), optional :: reduction
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(target)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    found = call_%one("l1_loss")
  end function

  ! (x - mean) / sqrt(var + eps) * weight + bias over the last normalized_ndim axes.
  function loom_layer_norm(x, weight, bias, normalized_ndim, eps) result(found)
    class(*), intent(in) :: x
    class(*), intent(in), optional :: weight
    class(*), intent(in), optional :: bias
    integer, intent(in), optional :: normalized_ndim
    real(real64), intent(in), optional :: eps
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(weight)
    call call_%operand(bias)
    if (present(normalized_ndim)) call call_%attribute("normalized_ndim", normalized_ndim)
    if (present(eps)) call call_%attribute("eps", eps)
    found = call_%one("layer_norm")
  end function

  ! Minus the product of the gradient and the inverse Hessian that L-BFGS estimates.
  function loom_lbfgs_direction(scale, gradient, history) result(found)
    class(*), intent(in) :: scale
    class(*), intent(in) :: gradient
    type(tensor), intent(in) :: history(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(scale)
    call call_%operand(gradient)
    call call_%operands(history)
    found = call_%one("lbfgs_direction")
  end function

  ! The least common multiple of |x| and |y|; 0 if either is 0.
  function loom_lcm(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("lcm")
  end function

  ! x * 2**exponent, exact unless the result overflows or underflows.
  function loom_ldexp(x, exponent) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: exponent
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(exponent)
    found = call_%one("ldexp")
  end function

  ! x for x > 0, negative_slope * x elsewhere.
  function loom_leaky_relu(x, negative_slope) result(found)
    class(*), intent(in) :: x
    real(real64), intent(in), optional :: negative_slope
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(negative_slope)) call call_%attribute("negative_slope", negative_slope)
    found = call_%one("leaky_relu")
  end function

  ! x + weight * (y - x), computed from the nearer end so that weight 1 gives y.
  function loom_lerp(x, y, weight) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    class(*), intent(in) :: weight
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    call call_%operand(weight)
    found = call_%one("lerp")
  end function

  ! x < y.
  function loom_less(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("less")
  end function

  ! x <= y.
  function loom_less_equal(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("less_equal")
  end function

  ! The logarithm of the absolute value of the gamma function.
  function loom_lgamma(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("lgamma")
  end function

  ! num evenly spaced numbers from start to stop, which endpoint includes.
  function loom_linspace(start, stop, num, endpoint) result(found)
    class(*), intent(in) :: start
    class(*), intent(in) :: stop
    integer, intent(in) :: num
    logical, intent(in), optional :: endpoint
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(start)
    call call_%operand(stop)
    call call_%attribute("num", num)
    if (present(endpoint)) call call_%attribute("endpoint", endpoint)
    found = call_%one("linspace")
  end function

  ! Natural logarithm; -inf at 0, NaN for negative real x.
  function loom_log(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("log")
  end function

  ! Logarithm to base 10.
  function loom_log10(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("log10")
  end function

  ! log(1 + x), accurate near 0.
  function loom_log1p(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("log1p")
  end function

  ! Logarithm to base 2.
  function loom_log2(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("log2")
  end function

  ! The logarithm of the normal distribution function, accurate where that is tiny.
  function loom_log_ndtr(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("log_ndtr")
  end function

  ! log(sigmoid(x)) without underflow.
  function loom_log_sigmoid(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("log_sigmoid")
  end function

  ! x minus the logarithm of the sum of exp(x) along an axis, without overflow.
  function loom_log_softmax(x, axis) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("log_softmax")
  end function

  ! log(exp(x) + exp(y)) without overflow.
  function loom_logaddexp(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("logaddexp")
  end function

  ! log2(2**x + 2**y) without overflow.
  function loom_logaddexp2(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("logaddexp2")
  end function

  ! log(cumsum(exp(x))) without overflow, with the principal logarithm.
  function loom_logcumsumexp(x, axis, reverse) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: axis
    logical, intent(in), optional :: reverse
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("axis", axis)
    if (present(reverse)) call call_%attribute("reverse", reverse)
    found = call_%one("logcumsumexp")
  end function

  ! Whether x and y are both not zero.
  function loom_logical_and(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("logical_and")
  end function

  ! Whether x is zero.
  function loom_logical_not(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("logical_not")
  end function

  ! Whether x or y is not zero.
  function loom_logical_or(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("logical_or")
  end function

  ! Whether exactly one of x and y is not zero.
  function loom_logical_xor(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("logical_xor")
  end function

  ! log(x / (1 - x)), infinite at 0 and 1, where the gradient is too; NaN outside of [0, 1].
  function loom_logit(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("logit")
  end function

  ! log(sum(exp(x))) without overflow, with the principal logarithm; -inf of no element.
  function loom_logsumexp(x, axes, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("logsumexp")
  end function

  ! Long short-term memory for each step in turn: c' = f * c + i * g, h' = o * tanh(c').
  ! Gives output, state, cell.
  function loom_lstm(x, h, c, w_input, w_hidden, b_input, b_hidden, w_project, lengths, &
        reverse) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: h
    class(*), intent(in) :: c
    class(*), intent(in) :: w_input
    class(*), intent(in) :: w_hidden
    class(*), intent(in), optional :: b_input
    class(*), intent(in), optional :: b_hidden
    class(*), intent(in), optional :: w_project
    class(*), intent(in), optional :: lengths
    logical, intent(in), optional :: reverse
    type(tensor) :: found(3)
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(h)
    call call_%operand(c)
    call call_%operand(w_input)
    call call_%operand(w_hidden)
    call call_%operand(b_input)
    call call_%operand(b_hidden)
    call call_%operand(w_project)
    call call_%operand(lengths)
    if (present(reverse)) call call_%attribute("reverse", reverse)
    found = call_%several("lstm", 3)
  end function

  ! The factors of P @ x = L @ U in one matrix, and the exchanges of rows.
  ! Gives lu, pivots.
  function loom_lu_factor(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    found = call_%several("lu_factor", 2)
  end function

  ! x where mask is false, value where it is true; both broadcast to x.
  function loom_masked_fill(x, mask, value) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: mask
    class(*), intent(in) :: value
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(mask)
    call call_%operand(value)
    found = call_%one("masked_fill")
  end function

  ! The matrix product (..., m, k) @ (..., k, n) -> (..., m, n).
  function loom_matmul(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("matmul")
  end function

  ! The exponential of square matrices. Raises ShapeError, DTypeError.
  function loom_matrix_exp(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("matrix_exp")
  end function

  ! Square matrices multiplied by themselves; the inverse for a negative exponent.
  function loom_matrix_power(x, exponent) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: exponent
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("exponent", exponent)
    found = call_%one("matrix_power")
  end function

  ! The largest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.
  function loom_max(x, axes, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("max")
  end function

  ! The largest element in each place of a window that moves over the last axes.
  function loom_max_pool(x, window, strides, padding_low, padding_high, dilation) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: window(:)
    integer, intent(in), optional :: strides(:)
    integer, intent(in), optional :: padding_low(:)
    integer, intent(in), optional :: padding_high(:)
    integer, intent(in), optional :: dilation(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("window", window)
    if (present(strides)) call call_%attribute("strides", strides)
    if (present(padding_low)) call call_%attribute("padding_low", padding_low)
    if (present(padding_high)) call call_%attribute("padding_high", padding_high)
    if (present(dilation)) call call_%attribute("dilation", dilation)
    found = call_%one("max_pool")
  end function

  ! Where max_pool finds its results: positions (int64) in the axes moved over, flat.
  function loom_max_pool_indices(x, window, strides, padding_low, padding_high, dilation) &
        result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: window(:)
    integer, intent(in), optional :: strides(:)
    integer, intent(in), optional :: padding_low(:)
    integer, intent(in), optional :: padding_high(:)
    integer, intent(in), optional :: dilation(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("window", window)
    if (present(strides)) call call_%attribute("strides", strides)
    if (present(padding_low)) call call_%attribute("padding_low", padding_low)
    if (present(padding_high)) call call_%attribute("padding_high", padding_high)
    if (present(dilation)) call call_%attribute("dilation", dilation)
    found = call_%one("max_pool_indices")
  end function

  ! The larger of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
  ! each gets all of it.
  function loom_maximum(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("maximum")
  end function

  ! The arithmetic mean; NaN of no element.
  function loom_mean(x, axes, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("mean")
  end function

  ! The smallest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.
  function loom_min(x, axes, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("min")
  end function

  ! The smaller of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
  ! each gets all of it.
  function loom_minimum(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("minimum")
  end function

  ! x * tanh(log(1 + exp(x))).
  function loom_mish(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("mish")
  end function

  ! x with axis source[i] at position destination[i], the others in order.
  function loom_moveaxis(x, source, destination) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: source(:)
    integer, intent(in) :: destination(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("source", source)
    call call_%attribute("destination", destination)
    found = call_%one("moveaxis")
  end function

  ! (x - target) ** 2. Raises ShapeError, ArgumentError.
  function loom_mse_loss(x, target, reduction) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: target
    character(*), intent(in), optional :: reduction
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(target)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    found = call_%one("mse_loss")
  end function

  ! x * y. For bool, logical and, as in NumPy.
  function loom_multiply(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("multiply")
  end function

  ! x with NaN and infinities replaced; infinities by the largest numbers for None.
  function loom_nan_to_num(x, nan, posinf, neginf) result(found)
    class(*), intent(in) :: x
    real(real64), intent(in), optional :: nan
    real(real64), intent(in), optional :: posinf
    real(real64), intent(in), optional :: neginf
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(nan)) call call_%attribute("nan", nan)
    if (present(posinf)) call call_%attribute("posinf", posinf)
    if (present(neginf)) call call_%attribute("neginf", neginf)
    found = call_%one("nan_to_num")
  end function

  ! The inverse of the normal distribution function; infinite at 0 and 1, NaN outside.
  function loom_ndtri(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("ndtri")
  end function

  ! -x; unsigned integers wrap.
  function loom_negative(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("negative")
  end function

  ! The next number after x in the direction of y.
  function loom_nextafter(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("nextafter")
  end function

  ! -log_probabilities[label], per element of labels; else as cross_entropy.
  function loom_nll_loss(log_probabilities, labels, weight, axis, ignore_index, reduction) &
        result(found)
    class(*), intent(in) :: log_probabilities
    class(*), intent(in) :: labels
    class(*), intent(in), optional :: weight
    integer, intent(in), optional :: axis
    integer, intent(in), optional :: ignore_index
    character(*), intent(in), optional :: reduction
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(log_probabilities)
    call call_%operand(labels)
    call call_%operand(weight)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(ignore_index)) call call_%attribute("ignore_index", ignore_index)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    found = call_%one("nll_loss")
  end function

  ! The vector norm sum(|x|**order)**(1/order).
  function loom_norm(x, axes, order, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    real(real64), intent(in), optional :: order
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(order)) call call_%attribute("order", order)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("norm")
  end function

  ! x != y.
  function loom_not_equal(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("not_equal")
  end function

  ! A new last axis of size depth: one at the index, zero elsewhere.
  function loom_one_hot(indices, depth, dtype) result(found)
    class(*), intent(in) :: indices
    integer, intent(in) :: depth
    integer, intent(in) :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(indices)
    call call_%attribute("depth", depth)
    call call_%dtype("dtype", dtype)
    found = call_%one("one_hot")
  end function

  ! The polynomial of degree n (rounded towards zero) of Hermite (kind "hermite_h", or
  ! "hermite_he" of the probabilists), Laguerre ("laguerre_l") or Legendre ("legendre_p"); 0 for a
  ! negative degree.
  function loom_orthogonal_polynomial(x, n, kind) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: n
    character(*), intent(in) :: kind
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(n)
    call call_%attribute("kind", kind)
    found = call_%one("orthogonal_polynomial")
  end function

  ! All products of an element of x and one of y: the axes of x, then those of y.
  function loom_outer(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("outer")
  end function

  ! x with value (0-d) before, after and between its elements, counts per axis.
  function loom_pad(x, value, low, high, interior) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: value
    integer, intent(in) :: low(:)
    integer, intent(in) :: high(:)
    integer, intent(in), optional :: interior(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(value)
    call call_%attribute("low", low)
    call call_%attribute("high", high)
    if (present(interior)) call call_%attribute("interior", interior)
    found = call_%one("pad")
  end function

  ! The elements that a window sees in each of its places, as it moves over the last axes.
  function loom_patches(x, window, strides, padding_low, padding_high, dilation) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: window(:)
    integer, intent(in), optional :: strides(:)
    integer, intent(in), optional :: padding_low(:)
    integer, intent(in), optional :: padding_high(:)
    integer, intent(in), optional :: dilation(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("window", window)
    if (present(strides)) call call_%attribute("strides", strides)
    if (present(padding_low)) call call_%attribute("padding_low", padding_low)
    if (present(padding_high)) call call_%attribute("padding_high", padding_high)
    if (present(dilation)) call call_%attribute("dilation", dilation)
    found = call_%one("patches")
  end function

  ! The transpose of patches: each element of an array of last axes sizes is the sum of what x
  ! holds for it in the windows that see it.
  function loom_patches_sum(x, sizes, window, strides, padding_low, padding_high, dilation) &
        result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: sizes(:)
    integer, intent(in) :: window(:)
    integer, intent(in), optional :: strides(:)
    integer, intent(in), optional :: padding_low(:)
    integer, intent(in), optional :: padding_high(:)
    integer, intent(in), optional :: dilation(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("sizes", sizes)
    call call_%attribute("window", window)
    if (present(strides)) call call_%attribute("strides", strides)
    if (present(padding_low)) call call_%attribute("padding_low", padding_low)
    if (present(padding_high)) call call_%attribute("padding_high", padding_high)
    if (present(dilation)) call call_%attribute("dilation", dilation)
    found = call_%one("patches_sum")
  end function

  ! The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
  function loom_pinv(x, rtol) result(found)
    class(*), intent(in) :: x
    real(real64), intent(in), optional :: rtol
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(rtol)) call call_%attribute("rtol", rtol)
    found = call_%one("pinv")
  end function

  ! The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).
  function loom_pinv_within(x, atol, rtol, hermitian) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: atol
    class(*), intent(in) :: rtol
    logical, intent(in), optional :: hermitian
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(atol)
    call call_%operand(rtol)
    if (present(hermitian)) call call_%attribute("hermitian", hermitian)
    found = call_%one("pinv_within")
  end function

  ! Where each of size rows comes from after the exchanges of lu_factor; int32.
  function loom_pivots_to_permutation(pivots, size) result(found)
    class(*), intent(in) :: pivots
    integer, intent(in) :: size
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(pivots)
    call call_%attribute("size", size)
    found = call_%one("pivots_to_permutation")
  end function

  ! x on the devices, and divided over them, that the text of a placement names.
  function loom_place(x, placement) result(found)
    class(*), intent(in) :: x
    character(*), intent(in), optional :: placement
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(placement)) call call_%attribute("placement", placement)
    found = call_%one("place")
  end function

  ! Derivative number order of digamma; infinite at 0 and, of order 1 and more, at the negative
  ! integers.
  function loom_polygamma(x, order) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: order
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("order", order)
    found = call_%one("polygamma")
  end function

  ! The number of one bits of x in two's complement, of the dtype of x.
  function loom_population_count(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("population_count")
  end function

  ! +x, which is x.
  function loom_positive(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("positive")
  end function

  ! x ** y.
  function loom_power(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("power")
  end function

  ! x for x > 0, slope * x elsewhere; the slope is an operand and gets a gradient.
  function loom_prelu(x, slope) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: slope
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(slope)
    found = call_%one("prelu")
  end function

  ! The product of the elements, cast to dtype first if that is given; 1 of none.
  function loom_prod(x, axes, dtype, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    integer, intent(in), optional :: dtype
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(dtype)) call call_%dtype("dtype", dtype)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("prod")
  end function

  ! x (..., m, n) as a product of q with orthonormal columns and upper triangular r.
  ! Gives q, r.
  function loom_qr(x, mode) result(found)
    class(*), intent(in) :: x
    character(*), intent(in), optional :: mode
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    if (present(mode)) call call_%attribute("mode", mode)
    found = call_%several("qr", 2)
  end function

  ! The factors of qr as LAPACK keeps them, the first transposed.
  ! Gives h, tau.
  function loom_qr_raw(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    found = call_%several("qr_raw", 2)
  end function

  ! x / scale, rounded, plus zero_point, as dtype, int8 or uint8.
  function loom_quantize(x, scale, dtype, zero_point, axis) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: scale
    class(*), intent(in), optional :: zero_point
    integer, intent(in) :: dtype
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(scale)
    call call_%operand(zero_point)
    call call_%dtype("dtype", dtype)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("quantize")
  end function

  ! True with probability p.
  function loom_random_bernoulli(key, p, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: p
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(p)
    call call_%attribute("shape", shape)
    found = call_%one("random_bernoulli")
  end function

  ! Beta numbers of parameters a and b.
  function loom_random_beta(key, a, b, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: a
    class(*), intent(in) :: b
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(a)
    call call_%operand(b)
    call call_%attribute("shape", shape)
    found = call_%one("random_beta")
  end function

  ! Numbers (int64) of successes of probability p in n trials, n rounded down.
  function loom_random_binomial(key, n, p, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: n
    class(*), intent(in) :: p
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(n)
    call call_%operand(p)
    call call_%attribute("shape", shape)
    found = call_%one("random_binomial")
  end function

  ! Unsigned integers, every bit of which is random.
  function loom_random_bits(key, shape, dtype) result(found)
    class(*), intent(in) :: key
    integer, intent(in) :: shape(:)
    integer, intent(in), optional :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%attribute("shape", shape)
    if (present(dtype)) call call_%dtype("dtype", dtype)
    found = call_%one("random_bits")
  end function

  ! Indices (int64) into the last axis of logits, of probability softmax(logits).
  function loom_random_categorical(key, logits, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: logits
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(logits)
    call call_%attribute("shape", shape)
    found = call_%one("random_categorical")
  end function

  ! Cauchy numbers of location 0 and scale 1.
  function loom_random_cauchy(key, shape, dtype) result(found)
    class(*), intent(in) :: key
    integer, intent(in) :: shape(:)
    integer, intent(in), optional :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%attribute("shape", shape)
    if (present(dtype)) call call_%dtype("dtype", dtype)
    found = call_%one("random_cauchy")
  end function

  ! Exponential numbers of mean 1.
  function loom_random_exponential(key, shape, dtype) result(found)
    class(*), intent(in) :: key
    integer, intent(in) :: shape(:)
    integer, intent(in), optional :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%attribute("shape", shape)
    if (present(dtype)) call call_%dtype("dtype", dtype)
    found = call_%one("random_exponential")
  end function

  ! A key made of a key and a 0-d integer (its low 32 bits), such as a step's number.
  function loom_random_fold_in(key, data) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: data
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(data)
    found = call_%one("random_fold_in")
  end function

  ! Gamma numbers of shape parameter a and scale 1. There is no second derivative.
  function loom_random_gamma(key, a, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: a
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(a)
    call call_%attribute("shape", shape)
    found = call_%one("random_gamma")
  end function

  ! The number (int64) of trials up to the first success of probability p, 1 or more.
  function loom_random_geometric(key, p, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: p
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(p)
    call call_%attribute("shape", shape)
    found = call_%one("random_geometric")
  end function

  ! Gumbel numbers of location 0 and scale 1.
  function loom_random_gumbel(key, shape, dtype) result(found)
    class(*), intent(in) :: key
    integer, intent(in) :: shape(:)
    integer, intent(in), optional :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%attribute("shape", shape)
    if (present(dtype)) call call_%dtype("dtype", dtype)
    found = call_%one("random_gumbel")
  end function

  ! Numbers (int64) of good ones among drawn of good + bad, without replacement.
  function loom_random_hypergeometric(key, good, bad, drawn, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: good
    class(*), intent(in) :: bad
    class(*), intent(in) :: drawn
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(good)
    call call_%operand(bad)
    call call_%operand(drawn)
    call call_%attribute("shape", shape)
    found = call_%one("random_hypergeometric")
  end function

  ! Integers from low to high - 1, to high with endpoint; low where there are none.
  function loom_random_integers(key, low, high, shape, endpoint) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: low
    class(*), intent(in) :: high
    integer, intent(in) :: shape(:)
    logical, intent(in), optional :: endpoint
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(low)
    call call_%operand(high)
    call call_%attribute("shape", shape)
    if (present(endpoint)) call call_%attribute("endpoint", endpoint)
    found = call_%one("random_integers")
  end function

  ! Laplace numbers of location 0 and scale 1.
  function loom_random_laplace(key, shape, dtype) result(found)
    class(*), intent(in) :: key
    integer, intent(in) :: shape(:)
    integer, intent(in), optional :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%attribute("shape", shape)
    if (present(dtype)) call call_%dtype("dtype", dtype)
    found = call_%one("random_laplace")
  end function

  ! Logistic numbers of location 0 and scale 1.
  function loom_random_logistic(key, shape, dtype) result(found)
    class(*), intent(in) :: key
    integer, intent(in) :: shape(:)
    integer, intent(in), optional :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%attribute("shape", shape)
    if (present(dtype)) call call_%dtype("dtype", dtype)
    found = call_%one("random_logistic")
  end function

  ! How often (int64) each class was met in n draws; a class each along the last axis of p.
  function loom_random_multinomial(key, n, p, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: n
    class(*), intent(in) :: p
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(n)
    call call_%operand(p)
    call call_%attribute("shape", shape)
    found = call_%one("random_multinomial")
  end function

  ! How many (int64) of each color are among drawn without replacement.
  function loom_random_multivariate_hypergeometric(key, drawn, colors, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: drawn
    class(*), intent(in) :: colors
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(drawn)
    call call_%operand(colors)
    call call_%attribute("shape", shape)
    found = call_%one("random_multivariate_hypergeometric")
  end function

  ! Normal numbers; mean is 0 and std 1 if absent. Complex parts have variance 1/2 each.
  function loom_random_normal(key, shape, mean, std, dtype) result(found)
    class(*), intent(in) :: key
    class(*), intent(in), optional :: mean
    class(*), intent(in), optional :: std
    integer, intent(in) :: shape(:)
    integer, intent(in), optional :: dtype
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(mean)
    call call_%operand(std)
    call call_%attribute("shape", shape)
    if (present(dtype)) call call_%dtype("dtype", dtype)
    found = call_%one("random_normal")
  end function

  ! The integers from 0 to n - 1 (int64) in random order.
  function loom_random_permutation(key, n) result(found)
    class(*), intent(in) :: key
    integer, intent(in) :: n
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%attribute("n", n)
    found = call_%one("random_permutation")
  end function

  ! Poisson numbers (int64) of mean rate; -1 where that is negative or NaN.
  function loom_random_poisson(key, rate, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: rate
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(rate)
    call call_%attribute("shape", shape)
    found = call_%one("random_poisson")
  end function

  ! num keys (uint32[num, 2]) whose numbers are independent of each other's.
  function loom_random_split(key, num) result(found)
    class(*), intent(in) :: key
    integer, intent(in), optional :: num
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    if (present(num)) call call_%attribute("num", num)
    found = call_%one("random_split")
  end function

  ! Numbers of the standard normal distribution limited to [low, high].
  function loom_random_truncated_normal(key, low, high, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: low
    class(*), intent(in) :: high
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(low)
    call call_%operand(high)
    call call_%attribute("shape", shape)
    found = call_%one("random_truncated_normal")
  end function

  ! Numbers between low and high; high itself only by rounding.
  function loom_random_uniform(key, low, high, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: low
    class(*), intent(in) :: high
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(low)
    call call_%operand(high)
    call call_%attribute("shape", shape)
    found = call_%one("random_uniform")
  end function

  ! Angles from -pi to pi, von Mises of mean 0; NaN where kappa is negative or NaN.
  function loom_random_von_mises(key, kappa, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: kappa
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(kappa)
    call call_%attribute("shape", shape)
    found = call_%one("random_von_mises")
  end function

  ! Zipf numbers (int64), of probability proportional to k**-a, limited to 2**63 - 1.
  function loom_random_zipf(key, a, shape) result(found)
    class(*), intent(in) :: key
    class(*), intent(in) :: a
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(key)
    call call_%operand(a)
    call call_%attribute("shape", shape)
    found = call_%one("random_zipf")
  end function

  ! The real part, of the real dtype; x itself if it is real.
  function loom_real(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("real")
  end function

  ! 1 / x.
  function loom_reciprocal(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("reciprocal")
  end function

  ! This process's part, along axis, of the reduction of the operands of a group.
  function loom_reduce_scatter(x, group, world, reduction, axis, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: group(:)
    integer, intent(in) :: world
    character(*), intent(in), optional :: reduction
    integer, intent(in), optional :: axis
    character(*), intent(in), optional :: axes
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("group", group)
    call call_%attribute("world", world)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("reduce_scatter")
  end function

  ! max(x, 0), NaN for NaN. The gradient at 0 is 0.
  function loom_relu(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("relu")
  end function

  ! x limited to [0, 6]. The gradient at the limits is 0.
  function loom_relu6(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("relu6")
  end function

  ! x % y with the sign of y, as Python's.
  function loom_remainder(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("remainder")
  end function

  ! x with every element taken repeats times in a row, along an axis.
  function loom_repeat(x, repeats, axis) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: repeats
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("repeats", repeats)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("repeat")
  end function

  ! The elements of x, in row-major order, in another shape.
  function loom_reshape(x, shape) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: shape(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("shape", shape)
    found = call_%one("reshape")
  end function

  ! The Fourier transform of real numbers: the half of it that tells the other.
  function loom_rfft(x, axes, norm) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: axes(:)
    character(*), intent(in), optional :: norm
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("axes", axes)
    if (present(norm)) call call_%attribute("norm", norm)
    found = call_%one("rfft")
  end function

  ! x / sqrt(mean(x**2) + eps) * weight over the last normalized_ndim axes.
  function loom_rms_norm(x, weight, normalized_ndim, eps) result(found)
    class(*), intent(in) :: x
    class(*), intent(in), optional :: weight
    integer, intent(in), optional :: normalized_ndim
    real(real64), intent(in), optional :: eps
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(weight)
    if (present(normalized_ndim)) call call_%attribute("normalized_ndim", normalized_ndim)
    if (present(eps)) call call_%attribute("eps", eps)
    found = call_%one("rms_norm")
  end function

  ! h' = f(x @ w_input.T + b_input + h @ w_hidden.T + b_hidden) for each step in turn.
  ! Gives output, state.
  function loom_rnn(x, h, w_input, w_hidden, b_input, b_hidden, lengths, activation, reverse) &
        result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: h
    class(*), intent(in) :: w_input
    class(*), intent(in) :: w_hidden
    class(*), intent(in), optional :: b_input
    class(*), intent(in), optional :: b_hidden
    class(*), intent(in), optional :: lengths
    character(*), intent(in), optional :: activation
    logical, intent(in), optional :: reverse
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(h)
    call call_%operand(w_input)
    call call_%operand(w_hidden)
    call call_%operand(b_input)
    call call_%operand(b_hidden)
    call call_%operand(lengths)
    if (present(activation)) call call_%attribute("activation", activation)
    if (present(reverse)) call call_%attribute("reverse", reverse)
    found = call_%several("rnn", 2)
  end function

  ! x shifted around along axes: element i moves to (i + shift) % size.
  function loom_roll(x, shifts, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: shifts(:)
    integer, intent(in), optional :: axes(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("shifts", shifts)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("roll")
  end function

  ! x rounded to decimals decimal places, halves to the even neighbour.
  function loom_round(x, decimals) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: decimals
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(decimals)) call call_%attribute("decimals", decimals)
    found = call_%one("round")
  end function

  ! 1 / sqrt(x).
  function loom_rsqrt(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("rsqrt")
  end function

  ! All the results of fold on its way along an axis, the first element included.
  function loom_running_fold(x, function, axis) result(found)
    class(*), intent(in) :: x
    character(*), intent(in) :: function
    integer, intent(in) :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("function", function)
    call call_%attribute("axis", axis)
    found = call_%one("running_fold")
  end function

  ! Means and variances kept over batches: (1 - momentum) * old + momentum * new, of each.
  ! Gives mean, variance.
  function loom_running_moments(mean, variance, new_mean, new_variance, momentum, num) &
        result(found)
    class(*), intent(in) :: mean
    class(*), intent(in) :: variance
    class(*), intent(in) :: new_mean
    class(*), intent(in) :: new_variance
    class(*), intent(in) :: momentum
    integer, intent(in), optional :: num
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(mean)
    call call_%operand(variance)
    call call_%operand(new_mean)
    call call_%operand(new_variance)
    call call_%operand(momentum)
    if (present(num)) call call_%attribute("num", num)
    found = call_%several("running_moments", 2)
  end function

  ! softmax(q @ k.T * scale + mask) @ v for q (..., L, E), k (..., S, E), v (..., S, V).
  function loom_scaled_dot_product_attention(q, k, v, mask, causal, scale) result(found)
    class(*), intent(in) :: q
    class(*), intent(in) :: k
    class(*), intent(in) :: v
    class(*), intent(in), optional :: mask
    logical, intent(in), optional :: causal
    real(real64), intent(in), optional :: scale
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(q)
    call call_%operand(k)
    call call_%operand(v)
    call call_%operand(mask)
    if (present(causal)) call call_%attribute("causal", causal)
    if (present(scale)) call call_%attribute("scale", scale)
    found = call_%one("scaled_dot_product_attention")
  end function

  ! x[i, indices[i, j, k], k] = updates[i, j, k] for axis 1, and so on, in a copy.
  function loom_scatter_along_axis(x, indices, updates, axis, mode) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: indices
    class(*), intent(in) :: updates
    integer, intent(in), optional :: axis
    character(*), intent(in), optional :: mode
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(indices)
    call call_%operand(updates)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(mode)) call call_%attribute("mode", mode)
    found = call_%one("scatter_along_axis")
  end function

  ! Where each of values would go into sorted, which ascends along its last axis, int64.
  function loom_searchsorted(sorted, values, side) result(found)
    class(*), intent(in) :: sorted
    class(*), intent(in) :: values
    character(*), intent(in), optional :: side
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(sorted)
    call call_%operand(values)
    if (present(side)) call call_%attribute("side", side)
    found = call_%one("searchsorted")
  end function

  ! fold of segments along an axis: from each of starts to the next one.
  function loom_segment_fold(x, starts, function, axis) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: starts
    character(*), intent(in) :: function
    integer, intent(in) :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(starts)
    call call_%attribute("function", function)
    call call_%attribute("axis", axis)
    found = call_%one("segment_fold")
  end function

  ! The first half of the tensors if the condition holds, otherwise the second half.
  function loom_select_all(condition, tensors) result(found)
    class(*), intent(in) :: condition
    type(tensor), intent(in) :: tensors(:)
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(condition)
    call call_%operands(tensors)
    found = call_%list("select_all")
  end function

  ! 1.0507... * elu(x, 1.6733...).
  function loom_selu(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("selu")
  end function

  ! x << y; 0 where y is negative or not below the number of bits.
  function loom_shift_left(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("shift_left")
  end function

  ! x >> y, keeping the sign; 0 or -1 where y is negative or not below the number of bits.
  function loom_shift_right(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("shift_right")
  end function

  ! 1 / (1 + exp(-x)).
  function loom_sigmoid(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("sigmoid")
  end function

  ! -1, 0 or 1; x / |x| for complex operands, NaN for NaN; 0 for -0.0.
  function loom_sign(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("sign")
  end function

  ! Whether x is negative; for floating-point x its sign bit, of -0.0 and NaN too.
  function loom_signbit(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("signbit")
  end function

  ! x * sigmoid(x).
  function loom_silu(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("silu")
  end function

  ! Sine of x in radians.
  function loom_sin(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("sin")
  end function

  ! sin(pi x) / (pi x), 1 at 0.
  function loom_sinc(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("sinc")
  end function

  ! Hyperbolic sine.
  function loom_sinh(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("sinh")
  end function

  ! The elements at range(start, stop, stride) along each axis.
  function loom_slice(x, starts, stops, strides) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: starts(:)
    integer, intent(in) :: stops(:)
    integer, intent(in), optional :: strides(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("starts", starts)
    call call_%attribute("stops", stops)
    if (present(strides)) call call_%attribute("strides", strides)
    found = call_%one("slice")
  end function

  ! x with the elements that slice of the same attributes takes replaced.
  function loom_slice_update(x, update, starts, stops, strides) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: update
    integer, intent(in) :: starts(:)
    integer, intent(in) :: stops(:)
    integer, intent(in), optional :: strides(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(update)
    call call_%attribute("starts", starts)
    call call_%attribute("stops", stops)
    if (present(strides)) call call_%attribute("strides", strides)
    found = call_%one("slice_update")
  end function

  ! Sign (or phase) of the determinant, and the logarithm of its absolute value.
  ! Gives sign, logabsdet.
  function loom_slogdet(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    found = call_%several("slogdet", 2)
  end function

  ! -sum(targets * log_softmax(logits)) along axis, the classes.
  function loom_soft_cross_entropy(logits, targets, axis, label_smoothing, reduction) &
        result(found)
    class(*), intent(in) :: logits
    class(*), intent(in) :: targets
    integer, intent(in), optional :: axis
    real(real64), intent(in), optional :: label_smoothing
    character(*), intent(in), optional :: reduction
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(logits)
    call call_%operand(targets)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(label_smoothing)) call call_%attribute("label_smoothing", label_smoothing)
    if (present(reduction)) call call_%attribute("reduction", reduction)
    found = call_%one("soft_cross_entropy")
  end function

  ! exp(x) divided by its sum along an axis; the largest element is taken off first.
  function loom_softmax(x, axis) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("softmax")
  end function

  ! log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold.
  function loom_softplus(x, beta, threshold) result(found)
    class(*), intent(in) :: x
    real(real64), intent(in), optional :: beta
    real(real64), intent(in), optional :: threshold
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(beta)) call call_%attribute("beta", beta)
    if (present(threshold)) call call_%attribute("threshold", threshold)
    found = call_%one("softplus")
  end function

  ! x moved towards 0 by lambd, 0 within lambd of it; NaN, of gradient 0, for NaN.
  function loom_softshrink(x, lambd) result(found)
    class(*), intent(in) :: x
    real(real64), intent(in), optional :: lambd
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(lambd)) call call_%attribute("lambd", lambd)
    found = call_%one("softshrink")
  end function

  ! x / (1 + |x|).
  function loom_softsign(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("softsign")
  end function

  ! The x with a @ x == b, for square a (..., n, n) and b (..., n, k).
  function loom_solve(a, b) result(found)
    class(*), intent(in) :: a
    class(*), intent(in) :: b
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(a)
    call call_%operand(b)
    found = call_%one("solve")
  end function

  ! The elements of x in order along an axis. Raises ArgumentError.
  function loom_sort(x, axis, descending, stable) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axis
    logical, intent(in), optional :: descending
    logical, intent(in), optional :: stable
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(descending)) call call_%attribute("descending", descending)
    if (present(stable)) call call_%attribute("stable", stable)
    found = call_%one("sort")
  end function

  ! What sort and argsort give, by one sort. Raises ArgumentError.
  ! Gives values, indices.
  function loom_sort_with_indices(x, axis, descending, stable) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axis
    logical, intent(in), optional :: descending
    logical, intent(in), optional :: stable
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(descending)) call call_%attribute("descending", descending)
    if (present(stable)) call call_%attribute("stable", stable)
    found = call_%several("sort_with_indices", 2)
  end function

  ! sin(x) / x, the spherical Bessel function of order 0; 1 at 0, and 0 at the infinities.
  function loom_spherical_bessel_j0(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("spherical_bessel_j0")
  end function

  ! x cut along an axis into parts of these sizes: one result for each.
  function loom_split(x, sizes, axis) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: sizes(:)
    integer, intent(in), optional :: axis
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("sizes", sizes)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%list("split")
  end function

  ! Square root; NaN for negative real x. The gradient at 0 is infinite.
  function loom_sqrt(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("sqrt")
  end function

  ! x * x.
  function loom_square(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("square")
  end function

  ! x without these axes of size 1; without any such axis if axes is None.
  function loom_squeeze(x, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("squeeze")
  end function

  ! The operands, all of one shape, joined along a new axis at position axis.
  function loom_stack(xs, axis) result(found)
    type(tensor), intent(in) :: xs(:)
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operands(xs)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("stack")
  end function

  ! The square root of var. The gradient is 0 where the variance is 0, as PyTorch's.
  function loom_std(x, axes, correction, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    real(real64), intent(in), optional :: correction
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(correction)) call call_%attribute("correction", correction)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("std")
  end function

  ! Adadelta; the state is the means of squared gradients and of squared moves.
  function loom_step_adadelta(step, lr, rho, eps, weight_decay, tensors, decays, maximize) &
        result(found)
    class(*), intent(in) :: step
    class(*), intent(in) :: lr
    class(*), intent(in) :: rho
    class(*), intent(in) :: eps
    class(*), intent(in) :: weight_decay
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: decays
    logical, intent(in), optional :: maximize
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(step)
    call call_%operand(lr)
    call call_%operand(rho)
    call call_%operand(eps)
    call call_%operand(weight_decay)
    call call_%operands(tensors)
    if (present(decays)) call call_%attribute("decays", decays)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    found = call_%list("step_adadelta")
  end function

  ! Adafactor; with factored the variances are those of rows and those of columns.
  function loom_step_adafactor(step, lr, beta2_decay, eps1, eps2, d, weight_decay, tensors, &
        factored, decays, maximize) result(found)
    class(*), intent(in) :: step
    class(*), intent(in) :: lr
    class(*), intent(in) :: beta2_decay
    class(*), intent(in) :: eps1
    class(*), intent(in) :: eps2
    class(*), intent(in) :: d
    class(*), intent(in) :: weight_decay
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: factored
    logical, intent(in), optional :: decays
    logical, intent(in), optional :: maximize
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(step)
    call call_%operand(lr)
    call call_%operand(beta2_decay)
    call call_%operand(eps1)
    call call_%operand(eps2)
    call call_%operand(d)
    call call_%operand(weight_decay)
    call call_%operands(tensors)
    if (present(factored)) call call_%attribute("factored", factored)
    if (present(decays)) call call_%attribute("decays", decays)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    found = call_%list("step_adafactor")
  end function

  ! Adagrad; the state is the sums of squared gradients. Raises ShapeError, ArgumentError.
  function loom_step_adagrad(step, lr, eps, weight_decay, lr_decay, tensors, decays, &
        maximize) result(found)
    class(*), intent(in) :: step
    class(*), intent(in) :: lr
    class(*), intent(in) :: eps
    class(*), intent(in) :: weight_decay
    class(*), intent(in) :: lr_decay
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: decays
    logical, intent(in), optional :: maximize
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(step)
    call call_%operand(lr)
    call call_%operand(eps)
    call call_%operand(weight_decay)
    call call_%operand(lr_decay)
    call call_%operands(tensors)
    if (present(decays)) call call_%attribute("decays", decays)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    found = call_%list("step_adagrad")
  end function

  ! Adam and AdamW; the state is the means of gradients and of their squares.
  function loom_step_adam(step, lr, beta1, beta2, eps, weight_decay, tensors, amsgrad, &
        decays, decoupled, maximize) result(found)
    class(*), intent(in) :: step
    class(*), intent(in) :: lr
    class(*), intent(in) :: beta1
    class(*), intent(in) :: beta2
    class(*), intent(in) :: eps
    class(*), intent(in) :: weight_decay
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: amsgrad
    logical, intent(in), optional :: decays
    logical, intent(in), optional :: decoupled
    logical, intent(in), optional :: maximize
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(step)
    call call_%operand(lr)
    call call_%operand(beta1)
    call call_%operand(beta2)
    call call_%operand(eps)
    call call_%operand(weight_decay)
    call call_%operands(tensors)
    if (present(amsgrad)) call call_%attribute("amsgrad", amsgrad)
    if (present(decays)) call call_%attribute("decays", decays)
    if (present(decoupled)) call call_%attribute("decoupled", decoupled)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    found = call_%list("step_adam")
  end function

  ! AdaMax; the state is the means of gradients and the decaying largest moduli.
  function loom_step_adamax(step, lr, beta1, beta2, eps, weight_decay, tensors, decays, &
        maximize) result(found)
    class(*), intent(in) :: step
    class(*), intent(in) :: lr
    class(*), intent(in) :: beta1
    class(*), intent(in) :: beta2
    class(*), intent(in) :: eps
    class(*), intent(in) :: weight_decay
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: decays
    logical, intent(in), optional :: maximize
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(step)
    call call_%operand(lr)
    call call_%operand(beta1)
    call call_%operand(beta2)
    call call_%operand(eps)
    call call_%operand(weight_decay)
    call call_%operands(tensors)
    if (present(decays)) call call_%attribute("decays", decays)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    found = call_%list("step_adamax")
  end function

  ! Averaged SGD: a step of rate eta, whose results mu moves the averages to.
  function loom_step_asgd(step, eta, mu, lr, lambd, alpha, t0, weight_decay, tensors, &
        decays, maximize) result(found)
    class(*), intent(in) :: step
    class(*), intent(in) :: eta
    class(*), intent(in) :: mu
    class(*), intent(in) :: lr
    class(*), intent(in) :: lambd
    class(*), intent(in) :: alpha
    class(*), intent(in) :: t0
    class(*), intent(in) :: weight_decay
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: decays
    logical, intent(in), optional :: maximize
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(step)
    call call_%operand(eta)
    call call_%operand(mu)
    call call_%operand(lr)
    call call_%operand(lambd)
    call call_%operand(alpha)
    call call_%operand(t0)
    call call_%operand(weight_decay)
    call call_%operands(tensors)
    if (present(decays)) call call_%attribute("decays", decays)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    found = call_%list("step_asgd")
  end function

  ! Momentum whose matrix is brought near an orthogonal one by a few Newton-Schulz steps.
  function loom_step_muon(lr, weight_decay, momentum, eps, tensors, coefficients, steps, &
        nesterov, adjust) result(found)
    class(*), intent(in) :: lr
    class(*), intent(in) :: weight_decay
    class(*), intent(in) :: momentum
    class(*), intent(in) :: eps
    type(tensor), intent(in) :: tensors(:)
    real(real64), intent(in) :: coefficients(:)
    integer, intent(in) :: steps
    logical, intent(in), optional :: nesterov
    character(*), intent(in), optional :: adjust
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(lr)
    call call_%operand(weight_decay)
    call call_%operand(momentum)
    call call_%operand(eps)
    call call_%operands(tensors)
    call call_%attribute("coefficients", coefficients)
    call call_%attribute("steps", steps)
    if (present(nesterov)) call call_%attribute("nesterov", nesterov)
    if (present(adjust)) call call_%attribute("adjust", adjust)
    found = call_%list("step_muon")
  end function

  ! NAdam; product is that of the momenta beta1 * (1 - 0.96**(t * momentum_decay) / 2).
  function loom_step_nadam(step, product, lr, beta1, beta2, eps, weight_decay, &
        momentum_decay, tensors, decays, decoupled, maximize) result(found)
    class(*), intent(in) :: step
    class(*), intent(in) :: product
    class(*), intent(in) :: lr
    class(*), intent(in) :: beta1
    class(*), intent(in) :: beta2
    class(*), intent(in) :: eps
    class(*), intent(in) :: weight_decay
    class(*), intent(in) :: momentum_decay
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: decays
    logical, intent(in), optional :: decoupled
    logical, intent(in), optional :: maximize
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(step)
    call call_%operand(product)
    call call_%operand(lr)
    call call_%operand(beta1)
    call call_%operand(beta2)
    call call_%operand(eps)
    call call_%operand(weight_decay)
    call call_%operand(momentum_decay)
    call call_%operands(tensors)
    if (present(decays)) call call_%attribute("decays", decays)
    if (present(decoupled)) call call_%attribute("decoupled", decoupled)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    found = call_%list("step_nadam")
  end function

  ! RAdam: without the squares as long as their means are of too few steps.
  function loom_step_radam(step, lr, beta1, beta2, eps, weight_decay, tensors, decays, &
        decoupled, maximize) result(found)
    class(*), intent(in) :: step
    class(*), intent(in) :: lr
    class(*), intent(in) :: beta1
    class(*), intent(in) :: beta2
    class(*), intent(in) :: eps
    class(*), intent(in) :: weight_decay
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: decays
    logical, intent(in), optional :: decoupled
    logical, intent(in), optional :: maximize
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(step)
    call call_%operand(lr)
    call call_%operand(beta1)
    call call_%operand(beta2)
    call call_%operand(eps)
    call call_%operand(weight_decay)
    call call_%operands(tensors)
    if (present(decays)) call call_%attribute("decays", decays)
    if (present(decoupled)) call call_%attribute("decoupled", decoupled)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    found = call_%list("step_radam")
  end function

  ! RMSprop; with momentous a momentum, with centered the mean gradient is state, too.
  function loom_step_rmsprop(step, lr, alpha, eps, weight_decay, momentum, tensors, &
        momentous, centered, decays, maximize) result(found)
    class(*), intent(in) :: step
    class(*), intent(in) :: lr
    class(*), intent(in) :: alpha
    class(*), intent(in) :: eps
    class(*), intent(in) :: weight_decay
    class(*), intent(in) :: momentum
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: momentous
    logical, intent(in), optional :: centered
    logical, intent(in), optional :: decays
    logical, intent(in), optional :: maximize
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(step)
    call call_%operand(lr)
    call call_%operand(alpha)
    call call_%operand(eps)
    call call_%operand(weight_decay)
    call call_%operand(momentum)
    call call_%operands(tensors)
    if (present(momentous)) call call_%attribute("momentous", momentous)
    if (present(centered)) call call_%attribute("centered", centered)
    if (present(decays)) call call_%attribute("decays", decays)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    found = call_%list("step_rmsprop")
  end function

  ! Resilient propagation: step sizes that grow while a gradient keeps its sign.
  function loom_step_rprop(step, shrink, grow, least, most, tensors, maximize) result(found)
    class(*), intent(in) :: step
    class(*), intent(in) :: shrink
    class(*), intent(in) :: grow
    class(*), intent(in) :: least
    class(*), intent(in) :: most
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: maximize
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(step)
    call call_%operand(shrink)
    call call_%operand(grow)
    call call_%operand(least)
    call call_%operand(most)
    call call_%operands(tensors)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    found = call_%list("step_rprop")
  end function

  ! Stochastic gradient descent; with momentous the momenta are part of the tensors.
  function loom_step_sgd(lr, weight_decay, momentum, share, tensors, momentous, nesterov, &
        decays, maximize, detached) result(found)
    class(*), intent(in) :: lr
    class(*), intent(in) :: weight_decay
    class(*), intent(in) :: momentum
    class(*), intent(in) :: share
    type(tensor), intent(in) :: tensors(:)
    logical, intent(in), optional :: momentous
    logical, intent(in), optional :: nesterov
    logical, intent(in), optional :: decays
    logical, intent(in), optional :: maximize
    logical, intent(in), optional :: detached
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(lr)
    call call_%operand(weight_decay)
    call call_%operand(momentum)
    call call_%operand(share)
    call call_%operands(tensors)
    if (present(momentous)) call call_%attribute("momentous", momentous)
    if (present(nesterov)) call call_%attribute("nesterov", nesterov)
    if (present(decays)) call call_%attribute("decays", decays)
    if (present(maximize)) call call_%attribute("maximize", maximize)
    if (present(detached)) call call_%attribute("detached", detached)
    found = call_%list("step_sgd")
  end function

  ! The data of y with the gradient of x: the cotangent passes to x unchanged.
  function loom_straight_through(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("straight_through")
  end function

  ! x - y.
  function loom_subtract(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("subtract")
  end function

  ! The sum of the elements, cast to dtype first if that is given; 0 of none.
  function loom_sum(x, axes, dtype, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    integer, intent(in), optional :: dtype
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(dtype)) call call_%dtype("dtype", dtype)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("sum")
  end function

  ! x (..., m, n) as u @ diag(s) @ vh; s is real, not negative and descending.
  ! Gives u, s, vh.
  function loom_svd(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found(3)
    type(recording) :: call_
    call call_%operand(x)
    found = call_%several("svd", 3)
  end function

  ! As svd, but with square u (..., m, m) and vh (..., n, n).
  ! Gives u, s, vh.
  function loom_svd_full(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found(3)
    type(recording) :: call_
    call call_%operand(x)
    found = call_%several("svd_full", 3)
  end function

  ! The singular values of matrices, descending. Raises ShapeError, DTypeError.
  function loom_svdvals(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("svdvals")
  end function

  ! x with two axes exchanged. Raises ArgumentError for an axis out of range.
  function loom_swapaxes(x, axis1, axis2) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: axis1
    integer, intent(in) :: axis2
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("axis1", axis1)
    call call_%attribute("axis2", axis2)
    found = call_%one("swapaxes")
  end function

  ! The slices of x at indices along an axis; the indices' axes take its place.
  function loom_take(x, indices, axis) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: indices
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(indices)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("take")
  end function

  ! result[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on.
  function loom_take_along_axis(x, indices, axis) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: indices
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(indices)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("take_along_axis")
  end function

  ! Tangent of x in radians.
  function loom_tan(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("tan")
  end function

  ! Hyperbolic tangent.
  function loom_tanh(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("tanh")
  end function

  ! x - tanh(x).
  function loom_tanhshrink(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("tanhshrink")
  end function

  ! x, but value where x <= threshold.
  function loom_threshold(x, threshold, value) result(found)
    class(*), intent(in) :: x
    real(real64), intent(in) :: threshold
    real(real64), intent(in) :: value
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("threshold", threshold)
    call call_%attribute("value", value)
    found = call_%one("threshold")
  end function

  ! x laid side by side, repeats[i] times along axis i.
  function loom_tile(x, repeats) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: repeats(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("repeats", repeats)
    found = call_%one("tile")
  end function

  ! The k largest elements along an axis, in descending order, and their positions.
  ! Gives values, indices.
  function loom_top_k(x, k, axis, largest) result(found)
    class(*), intent(in) :: x
    integer, intent(in) :: k
    integer, intent(in), optional :: axis
    logical, intent(in), optional :: largest
    type(tensor) :: found(2)
    type(recording) :: call_
    call call_%operand(x)
    call call_%attribute("k", k)
    if (present(axis)) call call_%attribute("axis", axis)
    if (present(largest)) call call_%attribute("largest", largest)
    found = call_%several("top_k", 2)
  end function

  ! x with its axes permuted: axis i of the result is axis axes[i] of x.
  function loom_transpose(x, axes) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    found = call_%one("transpose")
  end function

  ! The x with op(a) @ x == b, or x @ op(a) == b, for triangular a (..., n, n).
  function loom_triangular_solve(a, b, left_side, lower, transpose, conjugate, unit_diagonal) &
        result(found)
    class(*), intent(in) :: a
    class(*), intent(in) :: b
    logical, intent(in), optional :: left_side
    logical, intent(in), optional :: lower
    logical, intent(in), optional :: transpose
    logical, intent(in), optional :: conjugate
    logical, intent(in), optional :: unit_diagonal
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(a)
    call call_%operand(b)
    if (present(left_side)) call call_%attribute("left_side", left_side)
    if (present(lower)) call call_%attribute("lower", lower)
    if (present(transpose)) call call_%attribute("transpose", transpose)
    if (present(conjugate)) call call_%attribute("conjugate", conjugate)
    if (present(unit_diagonal)) call call_%attribute("unit_diagonal", unit_diagonal)
    found = call_%one("triangular_solve")
  end function

  ! The lower triangles of matrices (..., m, n): zero above the k-th diagonal.
  function loom_tril(x, k) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: k
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(k)) call call_%attribute("k", k)
    found = call_%one("tril")
  end function

  ! The upper triangles of matrices (..., m, n): zero below the k-th diagonal.
  function loom_triu(x, k) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: k
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(k)) call call_%attribute("k", k)
    found = call_%one("triu")
  end function

  ! x rounded towards zero.
  function loom_trunc(x) result(found)
    class(*), intent(in) :: x
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    found = call_%one("trunc")
  end function

  ! The tensors times factor, and before them 1 if any has an infinity or NaN, else 0.
  function loom_unscale(factor, tensors) result(found)
    class(*), intent(in) :: factor
    type(tensor), intent(in) :: tensors(:)
    type(tensor), allocatable :: found(:)
    type(recording) :: call_
    call call_%operand(factor)
    call call_%operands(tensors)
    found = call_%list("unscale")
  end function

  ! The mean squared distance from the mean, by the two-pass formula.
  function loom_var(x, axes, correction, keepdims) result(found)
    class(*), intent(in) :: x
    integer, intent(in), optional :: axes(:)
    real(real64), intent(in), optional :: correction
    logical, intent(in), optional :: keepdims
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    if (present(axes)) call call_%attribute("axes", axes)
    if (present(correction)) call call_%attribute("correction", correction)
    if (present(keepdims)) call call_%attribute("keepdims", keepdims)
    found = call_%one("var")
  end function

  ! The sum of conj(x) * y along an axis, a negative one; the other axes broadcast.
  function loom_vecdot(x, y, axis) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    integer, intent(in), optional :: axis
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    if (present(axis)) call call_%attribute("axis", axis)
    found = call_%one("vecdot")
  end function

  ! x where condition, y elsewhere. Each gets the gradient only where it was taken.
  function loom_where(condition, x, y) result(found)
    class(*), intent(in) :: condition
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(condition)
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("where")
  end function

  ! x * log1p(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
  function loom_xlog1py(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("xlog1py")
  end function

  ! x * log(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite.
  function loom_xlogy(x, y) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: y
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(y)
    found = call_%one("xlogy")
  end function

  ! The Hurwitz zeta function, the sum of (k + q)**-x over k from 0; inf for x = 1.
  function loom_zeta(x, q) result(found)
    class(*), intent(in) :: x
    class(*), intent(in) :: q
    type(tensor) :: found
    type(recording) :: call_
    call call_%operand(x)
    call call_%operand(q)
    found = call_%one("zeta")
  end function

end module
