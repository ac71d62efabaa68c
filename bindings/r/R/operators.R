# Operators of tensors and numbers.

OPERATORS <- list(
  "+" = loom_add, "-" = loom_subtract, "*" = loom_multiply, "/" = loom_divide, "^" = loom_power,
  "%%" = loom_remainder, "%/%" = loom_floor_divide, "==" = loom_equal, "!=" = loom_not_equal, "<" = loom_less,
  "<=" = loom_less_equal, ">" = loom_greater, ">=" = loom_greater_equal,
  "&" = loom_logical_and, "|" = loom_logical_or)

Ops.loom_tensor <- function(e1, e2) {
  if (missing(e2)) {
    return(switch(.Generic, "-" = loom_negative(e1), "!" = loom_logical_not(e1), "+" = e1,
                  stop(.Generic, " is no operator of one tensor")))
  }
  op <- OPERATORS[[.Generic]]
  if (is.null(op)) stop(.Generic, " is no operator of tensors")
  op(e1, e2)
}

FUNCTIONS <- list(
  abs = loom_abs, sign = loom_sign, sqrt = loom_sqrt, floor = loom_floor, ceiling = loom_ceil,
  trunc = loom_trunc, exp = loom_exp, expm1 = loom_expm1, log1p = loom_log1p, log2 = loom_log2,
  log10 = loom_log10, cos = loom_cos, sin = loom_sin, tan = loom_tan, acos = loom_acos,
  asin = loom_asin, atan = loom_atan, cosh = loom_cosh, sinh = loom_sinh, tanh = loom_tanh,
  acosh = loom_acosh, asinh = loom_asinh, atanh = loom_atanh, lgamma = loom_lgamma,
  digamma = loom_digamma)

Math.loom_tensor <- function(x, ...) {
  if (.Generic == "log") return(if (...length() == 0) loom_log(x) else loom_log(x) / log(...))
  op <- FUNCTIONS[[.Generic]]
  if (is.null(op)) stop(.Generic, " is no function of tensors")
  op(x)
}

SUMMARIES <- list(sum = loom_sum, prod = loom_prod, max = loom_max, min = loom_min,
                  all = loom_all, any = loom_any)

Summary.loom_tensor <- function(..., na.rm = FALSE) {
  op <- SUMMARIES[[.Generic]]
  if (is.null(op) || na.rm || ...length() != 1) {
    stop(.Generic, " of tensors takes one tensor, and nothing else")
  }
  op(..1)
}

mean.loom_tensor <- function(x, ...) loom_mean(x)
