# What the layer adds to the C ABI: ownership, operators, conditions.
library(lazyloom)

error_of <- function(expression) {
  tryCatch({
    force(expression)
    stop("nothing was signalled")
  }, loom_error = identity)
}

stopifnot(error_of(loom_tensor(1))$status == "LOOM_ERROR_NOT_INITIALIZED")
loom_start()

ignored <- loom_scope({
  x <- loom_tensor(c(1, 2, 3), "float32")
  stopifnot(as.array(2 * x - 1) == c(1, 3, 5), as.array(-x / x) == -1)
  stopifnot(identical(as.array(x >= 2L), c(FALSE, TRUE, TRUE)))
  total <- loom_sum(x, dtype = "float64", keepdims = TRUE)
  stopifnot(as.array(total) == 6, loom_shape(total) == 1, loom_dtype(total) == "float64")
  parts <- loom_split(loom_concatenate(list(x, x)), c(2, 4))
  stopifnot(length(parts) == 2, as.array(parts[[2]]) == c(3, 1, 2, 3))
  stopifnot(as.array(loom_sort_with_indices(-x)[[2]]) == c(2, 1, 0))
  stopifnot(as.array(loom_clip(x, max = 2)) == c(1, 2, 2))
  stopifnot(as.array(loom_einsum(list(x, x), "i,i->")) == 14)
  # a matrix keeps its indices
  m <- matrix(1:6, 2)
  stopifnot(dim(loom_tensor(m)) == c(2, 3), as.array(loom_tensor(m)) == m)
  stopifnot(as.array(loom_sum(loom_tensor(m), axes = 1)) == rowSums(m))
  stopifnot(as.array(loom_tensor(1i) ^ 2) == -1, length(loom_shape(loom_sum(x))) == 0)
  NULL
})

ignored <- loom_scope({
  x <- loom_tensor(c(1, 2, 3))
  y <- loom_tensor(c(1, 2))
  problem <- error_of(x + y)
  stopifnot(problem$status == "LOOM_ERROR_SHAPE", problem$op == "add")
  stopifnot(error_of(loom_argmax(x, axis = 7))$argument == "axis")
  stopifnot(error_of(loom_tensor(1, "real"))$status == "LOOM_ERROR_DTYPE")
  stopifnot(error_of(x + c(1, 2))$status == "LOOM_ERROR_ARGUMENT")
  stopifnot(error_of(x + "1")$status == "LOOM_ERROR_ARGUMENT")
  loom_release(y)
  stopifnot(error_of(x + y)$status == "LOOM_ERROR_HANDLE")
  # the line, where R keeps the sources
  source <- file.path(tempdir(), "lines.R")
  writeLines(c("x <- loom_tensor(c(1, 2, 3))", "z <- loom_argmax(x,", "  axis = 7)"), source)
  problem <- error_of(base::source(source, local = TRUE, keep.source = TRUE))
  stopifnot(grepl("lines.R:2$", problem$site), startsWith(conditionMessage(problem), problem$site))
  NULL
})

ignored <- loom_scope({
  x <- loom_require_grad(loom_tensor(c(1, 2, 3)))
  loom_backward(loom_sum(x * x))
  stopifnot(as.array(loom_gradient(x)) == c(2, 4, 6))
  loom_clear_gradient(x)
  stopifnot(is.null(loom_gradient(x)))
  stopifnot(!loom_no_grad(loom_requires_grad(x * 2)), loom_requires_grad(x * 2))
  loom_no_grad(loom_assign(x, x + 1))
  stopifnot(as.array(x) == c(2, 3, 4))
  both <- loom_scope(list(loom_tensor(7), loom_tensor(8)))
  stopifnot(as.array(both[[2]]) == 8)
  NULL
})
stopifnot(loom_live_handles() == 0)
loom_stop()
cat("works\n")
