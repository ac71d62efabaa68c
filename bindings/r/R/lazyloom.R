# Lazyloom for R: operations are recorded as they are called and compiled, as one program, when a
# value is needed.
#
#   library(lazyloom)
#   loom_start()
#   x <- loom_require_grad(loom_tensor(c(1, 2, 3)))
#   y <- loom_sum((x + 1) * 2)          # recorded, not computed
#   loom_backward(y)
#   as.array(loom_gradient(x))          # compiled and run
#
# What fails is a condition of the class loom_error, with status, op, argument, index, and site, the
# line, where R keeps sources (options(keep.source = TRUE)).

state <- new.env()
state$scopes <- list()

DTYPES <- c("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
            "float16", "bfloat16", "float32", "float64", "complex64", "complex128")

# The line of the user's that is being run: the innermost one outside of this package.
user_line <- function() {
  for (i in rev(seq_len(sys.nframe()))) {
    line <- attr(sys.call(i), "srcref")
    caller <- topenv(sys.frame(sys.parents()[i]))
    if (!is.null(line) && !identical(caller, topenv())) {
      file <- attr(line, "srcfile")$filename
      return(list(file, as.integer(line)[1]))
    }
  }
  list(NULL, 0L)
}

stop_with <- function(failure, call) {
  message <- failure$message
  if (nzchar(failure$site)) message <- paste0(failure$site, ": ", message)
  index <- if (failure$index < 0) NULL else failure$index
  stop(structure(
    list(message = message, call = call, status = failure$status, op = failure$op,
         site = failure$site, argument = failure$argument, index = index),
    class = c("loom_error", "error", "condition")))
}

# An error of this package's own, as those of C are.
fail <- function(status, message, argument = "") {
  line <- user_line()
  site <- if (is.null(line[[1]])) "" else paste0(line[[1]], ":", line[[2]])
  stop_with(list(status = status, op = "", site = site, argument = argument, index = -1L,
                      message = message), sys.call(-2))
}

# Calls C for the function that the user called, with the user's line noted. What a function of the
# user's signalled within goes on as it was.
call_c <- function(entry, ...) {
  line <- user_line()
  .Call(lr_line, line[[1]], line[[2]])
  found <- .Call(entry, ...)
  if (inherits(found, "loom_failure")) stop_with(found, sys.call(-1))
  if (inherits(found, "condition")) stop(found)
  found
}

is_tensor <- function(x) inherits(x, "loom_tensor") && typeof(x) == "externalptr"

described <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.atomic(x) && length(x) == 1) return(deparse(x))
  paste0("a ", class(x)[1])
}

one_tensor <- function(x, name) {
  if (!is_tensor(x)) {
    fail("LOOM_ERROR_ARGUMENT", paste0(name, " is ", described(x), ", expected a tensor"), name)
  }
  x
}

# A list of tensors; one tensor is a list of it. NULL may stand for one where absent is TRUE.
tensors_of <- function(x, name, absent = FALSE) {
  if (is_tensor(x)) return(list(x))
  if (!is.list(x)) {
    fail("LOOM_ERROR_ARGUMENT",
         paste0(name, " is ", described(x), ", expected a tensor or a list of tensors"), name)
  }
  for (i in seq_along(x)) {
    if (!(absent && is.null(x[[i]]))) one_tensor(x[[i]], paste0(name, "[[", i, "]]"))
  }
  unname(x)
}

one_number <- function(x, name, least = -Inf) {
  if (!is.numeric(x) || length(x) != 1 || is.na(x) || x < least) {
    fail("LOOM_ERROR_ARGUMENT", paste0(name, " is ", described(x), ", expected one number",
                                       if (least > -Inf) paste(" of", least, "or more")), name)
  }
  as.double(x)
}

one_text <- function(x, name) {
  if (!is.character(x) || length(x) != 1 || is.na(x)) {
    fail("LOOM_ERROR_ARGUMENT", paste0(name, " is ", described(x), ", expected one string"), name)
  }
  x
}

loom_start <- function() invisible(call_c(lr_start))
loom_stop <- function() invisible(call_c(lr_stop))

# ---- scopes --------------------------------------------------------------------------------------

kept <- function(tensor) {
  n <- length(state$scopes)
  if (n > 0 && !is.null(tensor)) {
    scope <- state$scopes[[n]]
    scope$made[[length(scope$made) + 1]] <- tensor
  }
  tensor
}

begin_scope <- function() {
  scope <- new.env()
  scope$made <- list()
  state$scopes <- c(state$scopes, scope)
  scope
}

end_scope <- function() state$scopes <- state$scopes[-length(state$scopes)]

# The tensors of a value: of lists, also of lists in them.
tensors_in <- function(value) {
  if (inherits(value, "loom_tensor")) return(list(value))
  if (is.list(value)) do.call(c, lapply(unname(value), tensors_in)) else list()
}

# Evaluates an expression and releases what it makes, but for its value: a tensor, or a list of
# them. The collector would do so too late: what lives at a read is computed by it as well.
loom_scope <- function(expression) {
  scope <- begin_scope()
  value <- NULL
  on.exit({
    end_scope()
    wanted <- tensors_in(value)
    for (t in scope$made) {
      if (any(vapply(wanted, identical, logical(1), t))) kept(t) else .Call(lr_release, t)
    }
  })
  value <- force(expression)
  value
}

loom_release <- function(x) invisible(call_c(lr_release, x))

# ---- tensors -------------------------------------------------------------------------------------

dtype_code <- function(dtype) {
  code <- if (is.character(dtype) && length(dtype) == 1) match(dtype, DTYPES) else NA
  if (is.na(code)) {
    fail("LOOM_ERROR_DTYPE",
         paste0(described(dtype), " is no dtype, expected one such as \"float32\""), "dtype")
  }
  code
}

# An array in the order of a tensor's elements, which lie by rows, and back.
by_rows <- function(values) {
  if (length(dim(values)) > 1) aperm(values) else values
}

# A tensor with a copy of a vector, matrix or array, which keeps its indices; of a vector of values
# by rows, with shape. dtype: "float64", "bool" for logical values, "complex128" for complex ones.
# shape: integer(0) for a tensor without dimensions. What the dtype does not hold is an error.
loom_tensor <- function(values, dtype = NULL, shape = NULL) {
  if (!(is.numeric(values) || is.logical(values) || is.complex(values))) {
    fail("LOOM_ERROR_ARGUMENT", paste0("the values are ", described(values), ", expected numbers, ",
                                       "complex or logical values"), "values")
  }
  if (is.null(dtype)) {
    dtype <- if (is.logical(values)) "bool" else if (is.complex(values)) "complex128" else "float64"
  }
  code <- dtype_code(dtype)
  if (is.null(shape)) {
    shape <- if (is.null(dim(values))) length(values) else dim(values)
  } else if (!is.numeric(shape) || anyNA(shape) || prod(shape) != length(values)) {
    fail("LOOM_ERROR_SHAPE", paste0(length(values), " values were given for the shape (",
                                    paste(shape, collapse = ", "), ")"), "shape")
  }
  values <- by_rows(values)
  if (is.complex(values) && !startsWith(dtype, "complex")) {
    fail("LOOM_ERROR_ARGUMENT", paste0("the values are complex, which ", dtype, " does not hold"),
         "values")
  }
  values <- if (is.complex(values)) as.complex(values) else as.double(values)
  kept(call_c(lr_tensor, values, code, as.double(shape)))
}

loom_dtype <- function(x) call_c(lr_dtype, x)
loom_shape <- function(x) call_c(lr_shape, x)
dim.loom_tensor <- function(x) {
  shape <- call_c(lr_shape, x)
  if (length(shape) > 0) shape
}
length.loom_tensor <- function(x) as.integer(prod(loom_shape(x)))
print.loom_tensor <- function(x, ...) {
  cat("<loom_tensor ", loom_dtype(x), " [", paste(loom_shape(x), collapse = ", "), "]>\n", sep = "")
  invisible(x)
}

# The contents, computed if they are pending: a vector, or an array with the same indices.
as.array.loom_tensor <- function(x, ...) {
  values <- call_c(lr_read, x)
  shape <- loom_shape(x)
  if (length(shape) < 2) return(values)
  aperm(array(values, rev(shape)))
}
# The contents by rows.
as.double.loom_tensor <- function(x, ...) as.double(call_c(lr_read, x))

loom_require_grad <- function(x, required = TRUE) {
  call_c(lr_require_grad, x, required)
  invisible(x)
}
loom_requires_grad <- function(x) call_c(lr_requires_grad, x)
# Writes value's contents into target, in place: every name of it sees them.
loom_assign <- function(target, value) {
  invisible(call_c(lr_assign, one_tensor(target, "target"), one_tensor(value, "value")))
}
loom_detach <- function(x) kept(call_c(lr_detach, x))
# Adds its gradients to what the leaves have collected. cotangent: of its shape and dtype, needed
# where it has dimensions.
loom_backward <- function(x, cotangent = NULL) {
  if (!is.null(cotangent)) one_tensor(cotangent, "cotangent")
  invisible(call_c(lr_backward, one_tensor(x, "x"), cotangent))
}
# What loom_backward() collected for a leaf; NULL if nothing was.
loom_gradient <- function(x) kept(call_c(lr_gradient, x))
loom_clear_gradient <- function(x) invisible(call_c(lr_clear_gradient, x))

# Evaluates an expression without recording gradients.
loom_no_grad <- function(expression) {
  before <- call_c(lr_grad_enabled, FALSE)
  on.exit(call_c(lr_grad_enabled, before))
  force(expression)
}

# ---- ops -----------------------------------------------------------------------------------------

EXPECTED <- c(bool = "TRUE or FALSE", int = "a whole number", float = "a number", str = "a string",
              ints = "whole numbers", floats = "numbers")

# The value of an attribute as C takes it.
attribute_of <- function(op, name, kind, value) {
  if (kind == "dtype") return(dtype_code(value))
  fits <- switch(
    kind, bool = is.logical(value), str = is.character(value),
    float = , floats = is.numeric(value), is.numeric(value) && all(value == floor(value)))
  fits <- fits && !(kind != "float" && kind != "floats" && anyNA(value))
  if (!isTRUE(fits) || (!kind %in% c("ints", "floats") && length(value) != 1)) {
    fail("LOOM_ERROR_ARGUMENT", paste0(op, ": the attribute ", name, " is ", described(value),
                                       ", expected ", EXPECTED[[kind]], ", or NULL"), name)
  }
  if (kind %in% c("ints", "floats")) as.double(value) else value
}

# Records an op: operands, then attributes by name, kind and value. results: their number, 0 where
# it depends on the call, of which there is then a list.
record_op <- function(op, operands, names = character(0), kinds = character(0), values = list(),
                        results = 1L) {
  for (i in seq_along(values)) {
    if (!is.null(values[[i]])) values[[i]] <- attribute_of(op, names[i], kinds[i], values[[i]])
  }
  line <- user_line()
  .Call(lr_line, line[[1]], line[[2]])
  found <- .Call(lr_apply, op, operands, names, kinds, values, results)
  if (inherits(found, "loom_failure")) stop_with(found, sys.call(-1))
  for (t in found) kept(t)
  if (results == 1L) found[[1]] else found
}
