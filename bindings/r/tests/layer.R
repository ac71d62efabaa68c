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

# numbers, elements and what is none
ignored <- loom_scope({
  i <- loom_tensor(1:3, "int32")
  stopifnot(loom_dtype(i + 1) == "int32", as.array(i + 1) == 2:4, length(i) == 3)
  stopifnot(error_of(i + 1.5)$status == "LOOM_ERROR_DTYPE")
  for (wrong in list(list(300, "int8"), list(1.5, "int64"), list(NA, "bool"), list(-1, "uint8"),
                     list(c(1L, NA), "int32"), list(2^63, "int64"), list("1", "float32"),
                     list(1i, "float64"), list(factor("a"), "int32"))) {
    stopifnot(error_of(loom_tensor(wrong[[1]], wrong[[2]]))$status == "LOOM_ERROR_ARGUMENT")
  }
  stopifnot(error_of(i + NA_integer_)$status == "LOOM_ERROR_ARGUMENT")
  stopifnot(error_of(loom_tensor(1:3, shape = 2))$argument == "shape")
  # float16 and bfloat16 round to the nearest, to even between two, as casts do
  many <- c(0, 1, 65504, 65519.99, 65520, 1e-8, 2^-25, 3 * 2^-25, 1 / 3, 6.1e-5, 2^-14, 1 + 2^-11,
            1 + 3 * 2^-11, -1e30, -Inf, 3.4e38, NaN)
  for (dtype in c("float16", "bfloat16")) {
    cast <- loom_cast(loom_cast(loom_tensor(many, "float32"), dtype), "float64")
    stopifnot(identical(as.array(loom_tensor(many, dtype)), as.array(cast)))
  }
  stopifnot(dim(as.array(loom_tensor(matrix(0, 0, 3)))) == c(0, 3))
  stopifnot(as.array(i %/% 2) == c(0, 1, 1), as.array(sum(i)) == 6, as.array(max(i)) == 3)
  x <- loom_tensor(c(1, 4))
  stopifnot(as.array(sqrt(x)) == c(1, 2), as.array(log(x, 2)) == c(0, 2), as.array(mean(x)) == 2.5)
  for (wrong in list(quote(loom_sum(x, axes = 0.5)), quote(loom_sum(x, keepdims = NA)),
                     quote(loom_argmax(x, axis = "a")), quote(loom_assign(x, 3)),
                     quote(loom_release(1)), quote(loom_backward(3)), quote(loom_stat(3)))) {
    stopifnot(error_of(eval(wrong))$status %in% c("LOOM_ERROR_ARGUMENT", "LOOM_ERROR_HANDLE"))
  }
  NULL
})

ignored <- loom_scope({
  x <- loom_tensor(c(1, 2, 3))
  zero <- loom_tensor(0, shape = integer(0))
  # the second of what is given back is the function's own input
  ends <- loom_scan(function(carry, element) list(carry[[1]] + element[[1]], carry[[1]]), zero, x,
                    1, reverse = TRUE)
  stopifnot(as.array(ends[[1]]) == 6, as.array(ends[[2]]) == c(5, 3, 0))
  stopifnot(as.array(loom_scan(function(carry, ...) carry[[1]] + 1, zero, length = 4)[[1]]) == 4)
  three <- loom_tensor(3, shape = integer(0))
  doubled <- loom_while_loop(function(a) a < 100, function(a) a * 2, three)
  stopifnot(as.array(doubled[[1]]) == 192)
  yes <- loom_tensor(TRUE, shape = integer(0))
  stopifnot(as.array(loom_cond(yes, function(a) a + 1, function(a) a - 1, x)[[1]]) == c(2, 3, 4))
  # what a function signals arrives as it was, and a jump out of one is an error
  mine <- tryCatch(loom_scan(function(...) stop(structure(
    class = c("mine", "error", "condition"), list(message = "mine", call = NULL))), zero, x),
    mine = identity)
  stopifnot(inherits(mine, "mine"))
  jumped <- tryCatch(callCC(function(k) loom_scan(function(...) k(1), zero, x)), error = identity)
  stopifnot(grepl("jump", conditionMessage(jumped)))
  stopifnot(grepl("gave 2 tensors, expected 1", conditionMessage(error_of(
    loom_cond(yes, function() list(x, x), function() x)))))
  stopifnot(error_of(loom_scan(function(...) zero, zero, 3))$argument == "xs")
  stopifnot(error_of(loom_scan(function(c, e) c[[1]] + as.array(e[[1]]), zero, x))$status ==
              "LOOM_ERROR_READ_FORBIDDEN")

  a <- loom_tensor(1)
  b <- loom_tensor(2)
  run <- loom_capture(list(a, b), function() {
    loom_assign(a, a + b)
    a * 10
  })
  before <- as.array(a)
  stopifnot(as.array(run(list(a, loom_tensor(5)))[[1]]) == 10 * (before + 5))
  stopifnot(as.array(a) == before + 5)
  stopifnot(conditionMessage(tryCatch(loom_capture(a, function() stop("mine")),
                                      error = identity)) == "mine")
  stopifnot(error_of(run(list(a)))$status == "LOOM_ERROR_ARGUMENT", as.array(a + 1) > 0)
  NULL
})

ignored <- loom_scope({
  x <- loom_tensor(c(1, 2, 3))
  one <- loom_tensor(c(1, 0, 0))
  square <- function(x) sum(x * x)
  pulled <- loom_vjp(square, x)
  stopifnot(as.array(pulled$value[[1]]) == 14)
  stopifnot(as.array(pulled$pullback(loom_tensor(2, shape = integer(0)))[[1]]) == c(4, 8, 12))
  stopifnot(as.array(loom_jvp(square, x, one)$tangents[[1]]) == 2)
  stopifnot(as.array(loom_linearize(square, x)$pushforward(one)[[1]]) == 2)
  both <- loom_value_and_grad(function(x, y) list(square(x), x * y), list(x, one), 1, count = 2)
  stopifnot(as.array(both$value[[2]]) == c(1, 0, 0), as.array(both$gradients[[1]]) == c(2, 4, 6))
  stopifnot(loom_shape(loom_jacobian(sin, x)[[1]][[1]]) == c(3, 3))
  stopifnot(as.array(loom_hessian(square, x)[[1]][[1]][[1]]) == diag(2, 3))
  rows <- loom_tensor(matrix(1:4, 2, byrow = TRUE))
  two <- loom_tensor(2, shape = integer(0))
  scaled <- loom_vmap(function(row, by) sum(row * by), list(rows, two), in_axes = c(1, NA))
  stopifnot(as.array(scaled[[1]]) == c(8, 12))
  w <- loom_require_grad(loom_tensor(c(1, 2, 3)))
  stopifnot(as.array(loom_grad(w * w, w, one)[[1]]) == c(2, 0, 0))
  loom_backward(w * w, one)
  stopifnot(as.array(loom_gradient(w)) == c(2, 0, 0))

  before <- loom_set_option("reads", 2)
  problem <- error_of(as.array(x + 7))
  loom_set_option("reads", before)
  stopifnot(problem$status == "LOOM_ERROR_READ_FORBIDDEN", loom_option("reads") == 0)
  y <- x + 1
  stopifnot(grepl("add", loom_program_text(y)), loom_wait(y, 60), loom_is_ready(y))
  stopifnot(loom_profile_json() == "{}")
  loom_profile_begin()
  stopifnot(as.array(y + 1) == as.array(x) + 2)
  loom_profile_end()
  stopifnot(grepl("\"findings\"", loom_profile_json(), fixed = TRUE))
  stopifnot(startsWith(loom_evaluations_json(1), "[{"), startsWith(loom_options_json(), "{"),
            startsWith(loom_stats_json(), "{"), nzchar(loom_last_evaluation()),
            loom_memory()[["tensors"]] > 0, nzchar(loom_platform()), nzchar(loom_cache_dir()))
  stopifnot(as.array(loom_random_key(2^32 + 7)) == c(1, 7))
  file <- tempfile()
  loom_save(file, list(w = rows, none = loom_tensor(numeric(0))), c(made = "by a test"))
  found <- loom_load(file)
  stopifnot(identical(names(found), c("none", "w")), as.array(found$w) == as.array(rows),
            attr(found, "metadata") == c(made = "by a test"))
  writeLines("no tensors", file)
  stopifnot(grepl("damaged|header|safetensors|bytes", conditionMessage(error_of(loom_load(file)))))
  NULL
})
rm(run, pulled)
invisible(gc())
stopifnot(loom_live_handles() == 0)
loom_stop()
cat("works\n")
