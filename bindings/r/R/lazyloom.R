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
loom_line <- function() {
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

loom_stop_with <- function(failure, call) {
  message <- failure$message
  if (nzchar(failure$site)) message <- paste0(failure$site, ": ", message)
  index <- if (failure$index < 0) NULL else failure$index
  stop(structure(
    list(message = message, call = call, status = failure$status, op = failure$op,
         site = failure$site, argument = failure$argument, index = index),
    class = c("loom_error", "error", "condition")))
}

# Calls C for the function that the user called, with the user's line noted.
call_c <- function(entry, ..., note = FALSE) {
  if (note) {
    line <- loom_line()
    .Call(lr_line, line[[1]], line[[2]])
  }
  found <- .Call(entry, ...)
  if (inherits(found, "loom_failure")) loom_stop_with(found, sys.call(-1))
  found
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

# Evaluates an expression and releases what it makes, but for its value: a tensor, or a list of
# them. The collector would do so too late: what lives at a read is computed by it as well.
loom_scope <- function(expression) {
  scope <- new.env()
  scope$made <- list()
  state$scopes <- c(state$scopes, scope)
  value <- NULL
  on.exit({
    state$scopes <- state$scopes[-length(state$scopes)]
    wanted <- if (inherits(value, "loom_tensor")) list(value) else if (is.list(value)) value
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
  code <- match(dtype, DTYPES)
  if (is.na(code)) {
    loom_stop_with(list(status = "LOOM_ERROR_DTYPE", op = "", site = "", argument = "dtype",
                        index = -1L, message = paste0(
                          dtype, " is no dtype, expected one such as \"float32\"")),
                   sys.call(-1))
  }
  code
}

# An array in the order of a tensor's elements, which lie by rows, and back.
by_rows <- function(values) {
  if (length(dim(values)) > 1) aperm(values) else values
}

# A tensor with a copy of a vector, matrix or array, which keeps its indices; of a vector of values
# by rows, with shape. dtype: "float64", "bool" for logical values, "complex128" for complex ones.
# shape: integer(0) for a tensor without dimensions.
loom_tensor <- function(values, dtype = NULL, shape = NULL) {
  if (is.null(dtype)) {
    dtype <- if (is.logical(values)) "bool" else if (is.complex(values)) "complex128" else "float64"
  }
  code <- dtype_code(dtype)
  if (is.null(shape)) shape <- if (is.null(dim(values))) length(values) else dim(values)
  values <- by_rows(values)
  values <- if (is.complex(values)) as.complex(values) else as.double(values)
  kept(call_c(lr_tensor, values, code, as.double(shape), note = TRUE))
}

loom_dtype <- function(x) call_c(lr_dtype, x)
loom_shape <- function(x) call_c(lr_shape, x)
dim.loom_tensor <- function(x) {
  shape <- call_c(lr_shape, x)
  if (length(shape) > 0) shape
}
print.loom_tensor <- function(x, ...) {
  cat("<loom_tensor ", loom_dtype(x), " [", paste(loom_shape(x), collapse = ", "), "]>\n", sep = "")
  invisible(x)
}

# The contents, computed if they are pending: a vector, or an array with the same indices.
as.array.loom_tensor <- function(x, ...) {
  values <- call_c(lr_read, x, note = TRUE)
  shape <- loom_shape(x)
  if (length(shape) < 2) return(values)
  aperm(array(values, rev(shape)))
}
# The contents by rows.
as.double.loom_tensor <- function(x, ...) as.double(call_c(lr_read, x, note = TRUE))

loom_require_grad <- function(x, required = TRUE) {
  call_c(lr_require_grad, x, required, note = TRUE)
  invisible(x)
}
loom_requires_grad <- function(x) call_c(lr_requires_grad, x)
# Writes value's contents into target, in place: every name of it sees them.
loom_assign <- function(target, value) invisible(call_c(lr_assign, target, value, note = TRUE))
loom_detach <- function(x) kept(call_c(lr_detach, x))
# Adds its gradients to what the leaves have collected.
loom_backward <- function(x) invisible(call_c(lr_backward, x, note = TRUE))
# What loom_backward() collected for a leaf; NULL if nothing was.
loom_gradient <- function(x) kept(call_c(lr_gradient, x))
loom_clear_gradient <- function(x) invisible(call_c(lr_clear_gradient, x))

# Evaluates an expression without recording gradients.
loom_no_grad <- function(expression) {
  before <- call_c(lr_grad_enabled, FALSE)
  on.exit(call_c(lr_grad_enabled, before))
  force(expression)
}

# A counter of the process, such as "programs_compiled".
loom_stat <- function(name) call_c(lr_stat, name)
# The number of handles that are alive, for tests of leaks.
loom_live_handles <- function() call_c(lr_live_handles)

# ---- ops -----------------------------------------------------------------------------------------

# Records an op: operands, then attributes by name, kind and value. results: their number, 0 where
# it depends on the call, of which there is then a list.
loom_record <- function(op, operands, names = character(0), kinds = character(0), values = list(),
                        results = 1L) {
  for (i in seq_along(values)) {
    if (is.null(values[[i]])) next
    if (kinds[i] == "dtype") values[[i]] <- dtype_code(values[[i]])
    if (kinds[i] %in% c("ints", "floats")) values[[i]] <- as.double(values[[i]])
  }
  line <- loom_line()
  .Call(lr_line, line[[1]], line[[2]])
  found <- .Call(lr_apply, op, operands, names, kinds, values, results)
  if (inherits(found, "loom_failure")) loom_stop_with(found, sys.call(-1))
  for (t in found) kept(t)
  if (results == 1L) found[[1]] else found
}
