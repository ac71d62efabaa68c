# Gradients, loops, branches, captures and transforms of functions. A function of the user's gets
# tensors and gives one, or a list of them.

# ---- functions that C calls ----------------------------------------------------------------------

kept_all <- function(tensors) {
  for (t in tensors) kept(t)
  tensors
}

# A function for C: of the list of its inputs and the number of tensors that are expected. Gives a
# list of the list of them and of all tensors that were made, which C releases when it has its own
# owners; or one of a message and the condition that it is about.
for_c <- function(f, apply = do.call) {
  if (!is.function(f)) {
    fail("LOOM_ERROR_ARGUMENT", paste0(described(f), " was given, expected a function"))
  }
  function(inputs, count) {
    scope <- begin_scope()
    on.exit(end_scope())
    tryCatch({
      kept_all(inputs)
      given <- tensors_of(apply(f, inputs), "the function's result")
      if (length(given) != count) {
        fail("LOOM_ERROR_ARGUMENT", paste0("the function gave ", length(given),
                                           " tensors, expected ", count))
      }
      list(given, scope$made, NULL)
    }, error = function(problem) {
      for (t in scope$made) .Call(lr_release, t)
      list(conditionMessage(problem), problem)
    })
  }
}

count_of <- function(count) as.integer(one_number(count, "count", 0))

# The last carry, then what the steps gave, stacked. step: a function of the list of the carry and
# of that of one element of each of xs; gives a list of the next carry, and of ys_count tensors.
# length: the number of steps, where there are no xs. reverse: begins with the last element.
loom_scan <- function(step, init, xs = list(), ys_count = 0L, length = NULL, reverse = FALSE) {
  init <- tensors_of(init, "init")
  n <- base::length(init)
  apart <- function(f, inputs) f(inputs[seq_len(n)], inputs[-seq_len(n)])
  if (!is.null(length)) length <- one_number(length, "length", 0)
  kept_all(call_c(lr_scan, for_c(step, apart), init, tensors_of(xs, "xs"), count_of(ys_count),
                  length, reverse))
}

# The last carry of a loop of body, which takes the tensors of the carry and gives the next one,
# while condition, of the same tensors, gives a bool that is true. max_steps: NULL for no bound.
loom_while_loop <- function(condition, body, init, max_steps = NULL) {
  if (!is.null(max_steps)) max_steps <- one_number(max_steps, "max_steps", 0)
  kept_all(call_c(lr_while, for_c(condition), for_c(body), tensors_of(init, "init"), max_steps))
}

# What one of two functions of the operands gives, count tensors each.
loom_cond <- function(which, if_true, if_false, operands = list(), count = 1L) {
  kept_all(call_c(lr_cond, one_tensor(which, "which"), for_c(if_true), for_c(if_false),
                  tensors_of(operands, "operands"), count_of(count)))
}

# ---- evaluation and gradients --------------------------------------------------------------------

# The gradients of outputs with respect to inputs, tensors or lists of them. cotangents: one for
# each output, NULL for ones of an output without dimensions. create_graph: they can be
# differentiated.
loom_grad <- function(outputs, inputs, cotangents = NULL, create_graph = FALSE) {
  if (!is.null(cotangents)) cotangents <- tensors_of(cotangents, "cotangents", absent = TRUE)
  kept_all(call_c(lr_grad, tensors_of(outputs, "outputs"), tensors_of(inputs, "inputs"),
                  cotangents, create_graph))
}

# Schedules tensors; with wait, until they have been computed.
loom_sync <- function(tensors, wait = FALSE) {
  invisible(call_c(lr_sync, tensors_of(tensors, "tensors"), wait))
}

# Waits until tensors have been computed, but no longer than seconds; whether they have.
loom_wait <- function(tensors, seconds) {
  call_c(lr_wait, tensors_of(tensors, "tensors"), one_number(seconds, "seconds"))
}

# Whether a read would not wait.
loom_is_ready <- function(x) call_c(lr_is_ready, one_tensor(x, "x"))

# A step that was recorded once, as a function of the list of its inputs that runs it: see
# loom_capture_begin() in lazyloom.h. step: a function of nothing; gives what each run gives.
loom_capture <- function(inputs, step) {
  inputs <- tensors_of(inputs, "inputs")
  # as many as it gives
  step_once <- function() {
    tryCatch(list(loom_scope(tensors_of(step(), "the step's result"))),
             error = function(problem) list(conditionMessage(problem), problem))
  }
  made <- call_c(lr_capture, inputs, step_once)
  function(inputs) {
    kept_all(call_c(lr_capture_run, made[[1]], tensors_of(inputs, "inputs"), made[[2]]))
  }
}

# ---- transforms ----------------------------------------------------------------------------------

# The derivative of a function as a function of a list of tensors, NULL for zero.
linear_map <- function(map, takes, gives) {
  function(given) {
    given <- tensors_of(given, "given", absent = TRUE)
    if (length(given) != takes) {
      fail("LOOM_ERROR_ARGUMENT", paste0(length(given), " tensors were given, expected ", takes),
           "given")
    }
    kept_all(call_c(lr_linear_apply, map, given, as.integer(gives)))
  }
}

with_map <- function(f, inputs, count, forward) {
  inputs <- tensors_of(inputs, "inputs")
  found <- call_c(lr_linear, for_c(f), inputs, count_of(count), forward)
  takes <- if (forward) length(inputs) else count
  gives <- if (forward) count else length(inputs)
  map <- linear_map(found[[2]], takes, gives)
  stats::setNames(list(kept_all(found[[1]]), map),
                  c("value", if (forward) "pushforward" else "pullback"))
}

# The count results of f, as value, and the pullback: a function of the list of their cotangents
# that gives those of the inputs, NULL where there is none.
loom_vjp <- function(f, inputs, count = 1L) with_map(f, inputs, count, FALSE)

# The same with the pushforward: a function of the tangents of the inputs that gives those of the
# results.
loom_linearize <- function(f, inputs, count = 1L) with_map(f, inputs, count, TRUE)

# The count results of f, as value, and their derivatives along tangents, as tangents; NULL is zero.
loom_jvp <- function(f, inputs, tangents, count = 1L) {
  inputs <- tensors_of(inputs, "inputs")
  along <- tensors_of(tangents, "tangents", absent = TRUE)
  if (length(along) != length(inputs)) {
    fail("LOOM_ERROR_ARGUMENT", paste0(length(along), " tangents, expected ", length(inputs)),
         "tangents")
  }
  n <- count_of(count)
  found <- kept_all(call_c(lr_jvp, for_c(f), inputs, along, n))
  list(value = found[seq_len(n)], tangents = found[n + seq_len(n)])
}

positions_of <- function(positions, inputs) {
  if (is.null(positions)) return(as.double(seq_along(inputs)))
  if (!is.numeric(positions) || anyNA(positions) || !all(positions %in% seq_along(inputs))) {
    fail("LOOM_ERROR_ARGUMENT", paste0("positions has ", paste(positions, collapse = ", "), ", expected ",
                                       "numbers from 1 to ", length(inputs)), "positions")
  }
  as.double(positions)
}

# The count results of f, as value, the first without dimensions, and the gradients of that by the
# inputs at positions (from 1, all if NULL), as gradients.
loom_value_and_grad <- function(f, inputs, positions = NULL, count = 1L) {
  inputs <- tensors_of(inputs, "inputs")
  at <- positions_of(positions, inputs)
  n <- count_of(count)
  found <- kept_all(call_c(lr_value_and_grad, for_c(f), inputs, at, n))
  list(value = found[seq_len(n)], gradients = found[n + seq_along(at)])
}

# The derivatives of each element of the results by each of the inputs: a list for each result.
# direction: "any", "forward" or "reverse".
loom_jacobian <- function(f, inputs, positions = NULL, count = 1L, direction = "any") {
  inputs <- tensors_of(inputs, "inputs")
  at <- positions_of(positions, inputs)
  way <- match(direction, c("any", "forward", "reverse")) - 1L
  if (length(way) != 1 || is.na(way)) {
    fail("LOOM_ERROR_ARGUMENT", paste0("direction is ", described(direction), ", expected ",
                                       "\"any\", \"forward\" or \"reverse\""), "direction")
  }
  found <- kept_all(call_c(lr_jacobian, for_c(f), inputs, at, count_of(count), way))
  unname(split(found, rep(seq_len(count), each = length(at))))
}

# The second derivatives: of each result a list of a list for each input.
loom_hessian <- function(f, inputs, positions = NULL, count = 1L) {
  inputs <- tensors_of(inputs, "inputs")
  at <- positions_of(positions, inputs)
  n <- length(at)
  found <- kept_all(call_c(lr_jacobian, for_c(f), inputs, at, count_of(count), 3L))
  lapply(unname(split(found, rep(seq_len(count), each = n * n))),
         function(of_one) unname(split(of_one, rep(seq_len(n), each = n))))
}

axes_of <- function(axes, count, name) {
  if (length(axes) == 1) axes <- rep(axes, count)
  if (!(is.numeric(axes) || all(is.na(axes))) || length(axes) != count) {
    fail("LOOM_ERROR_ARGUMENT", paste0(name, " is ", described(axes), ", expected ", count,
                                       " axes, NA where there is none"), name)
  }
  as.double(axes)
}

# What f does for one element of an axis, for all of them: its count results. in_axes, out_axes: the
# axis of each input and result, from 0, NA for none. axis_size: where no input has the axis.
loom_vmap <- function(f, inputs, in_axes = 0, out_axes = 0, axis_size = NULL, count = 1L) {
  inputs <- tensors_of(inputs, "inputs")
  n <- count_of(count)
  kept_all(call_c(lr_vmap, for_c(f), inputs, axes_of(in_axes, length(inputs), "in_axes"),
                  axes_of(out_axes, n, "out_axes"), axis_size, n))
}
