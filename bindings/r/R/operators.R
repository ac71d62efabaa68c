# Operators of tensors and numbers.

OPERATORS <- list(
  "+" = loom_add, "-" = loom_subtract, "*" = loom_multiply, "/" = loom_divide, "^" = loom_power,
  "%%" = loom_remainder, "==" = loom_equal, "!=" = loom_not_equal, "<" = loom_less,
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
