# The digits classifier of examples/digits.c in R:
#
#   Rscript digits.R [DATA_FOLDER [REPORT.json [EPOCHS]]]
#
# Everything that the classifiers share (random numbers, order, steps) is described in digits.c.
library(lazyloom)

arguments <- commandArgs(trailingOnly = TRUE)
folder <- if (length(arguments) > 0) arguments[1] else "examples/data/digits"
epochs <- if (length(arguments) > 2) as.integer(arguments[3]) else 20L
PIXELS <- 64
BATCH <- 32

# ---- random numbers: R has no integers of 64 bits, so they are four of 16, the lowest first ------

words <- function(hexadecimal) {
  as.double(strtoi(substring(hexadecimal, c(13, 9, 5, 1), c(16, 12, 8, 4)), 16L))
}
carried <- function(sums) {
  for (i in 1:3) sums[i + 1] <- sums[i + 1] + sums[i] %/% 65536
  sums %% 65536
}
times <- function(x, y) {
  carried(c(x[1] * y[1], x[1] * y[2] + x[2] * y[1], x[1] * y[3] + x[2] * y[2] + x[3] * y[1],
            x[1] * y[4] + x[2] * y[3] + x[3] * y[2] + x[4] * y[1]))
}
# z ^ z >> n, for n from 16 to 31
mixed <- function(z, n) {
  upper <- c(z[-1], 0)
  next_one <- c(upper[-1], 0)
  shifted <- upper %/% 2^(n - 16) + (next_one * 2^(32 - n)) %% 65536
  as.double(bitwXor(as.integer(z), as.integer(shifted)))
}

state <- c(2024, 0, 0, 0)
increment <- words("9E3779B97F4A7C15")
first <- words("BF58476D1CE4E5B9")
second <- words("94D049BB133111EB")

next_random <- function() {
  state <<- carried(state + increment)
  mixed(times(mixed(times(mixed(state, 30), first), 27), second), 31)
}
below <- function(n) {
  rest <- 0
  for (w in rev(next_random())) rest <- (rest * 65536 + w) %% n
  rest
}
# the upper 24 bits as a fraction
uniform <- function() {
  z <- next_random()
  (z[4] * 256 + z[3] %/% 256) / 16777216
}

# ---- data and network ----------------------------------------------------------------------------

read_digits <- function(part) {
  bytes <- function(name, header) {
    path <- file.path(folder, paste0(part, "-", name))
    all <- as.integer(readBin(path, "raw", file.size(path)))
    all[-seq_len(header)]
  }
  labels <- bytes("labels.idx1-ubyte", 8)
  pixels <- bytes("images.idx3-ubyte", 16) / 16
  list(count = length(labels), expected = labels, labels = loom_tensor(labels, "int64"),
       images = loom_tensor(pixels, "float32", shape = c(length(labels), PIXELS)))
}

loom_start()
sizes <- c(PIXELS, 64, 32, 10)
bounds <- c(0.30618621784789724, 0.30618621784789724, 0.4330127018922193)
parameters <- list()
momenta <- list()
for (layer in 1:3) {
  shape <- sizes[layer:(layer + 1)]
  weights <- vapply(seq_len(prod(shape)), function(i) (2 * uniform() - 1) * bounds[layer], 0)
  zeros <- numeric(prod(shape))
  parameters <- c(parameters, loom_tensor(weights, "float32", shape),
                  loom_tensor(zeros[1:shape[2]], "float32"))
  momenta <- c(momenta, loom_tensor(zeros, "float32", shape),
               loom_tensor(zeros[1:shape[2]], "float32"))
}
for (p in parameters) loom_require_grad(p)

logits_of <- function(h) {
  for (layer in 1:3) {
    h <- loom_matmul(h, parameters[[2 * layer - 1]]) + parameters[[2 * layer]]
    if (layer < 3) h <- loom_relu(h)
  }
  h
}

# Records a step; gives the loss before it.
step <- function(indices) {
  chosen <- loom_tensor(indices, "int64")
  x <- loom_take(train$images, chosen)
  y <- loom_take(train$labels, chosen)
  loss <- loom_cross_entropy(logits_of(x), y)
  loom_backward(loss)
  gradients <- lapply(parameters, function(p) {
    gradient <- loom_gradient(p)
    loom_clear_gradient(p)
    gradient
  })
  loom_no_grad(for (i in seq_along(parameters)) {
    loom_assign(momenta[[i]], momenta[[i]] * 0.9 + gradients[[i]])
    loom_assign(parameters[[i]], parameters[[i]] - momenta[[i]] * 0.05)
  })
  loss
}

accuracy_of <- function(digits) {
  guesses <- loom_scope(loom_no_grad(loom_argmax(logits_of(digits$images), axis = 1)))
  mean(as.array(guesses) == digits$expected)
}

# ---- training ------------------------------------------------------------------------------------

train <- read_digits("train")
test <- read_digits("test")
order <- seq_len(train$count) - 1
losses <- numeric(0)
accuracy <- 0
for (epoch in seq_len(epochs)) {
  for (i in (train$count - 1):1) {
    j <- below(i + 1)
    order[c(i + 1, j + 1)] <- order[c(j + 1, i + 1)]
  }
  steps <- train$count %/% BATCH
  for (i in seq_len(steps)) {
    # what the step made is released before the loss is read, or it would be computed as well
    loss <- loom_scope(step(order[((i - 1) * BATCH + 1):(i * BATCH)]))
    losses <- c(losses, as.array(loss))
    loom_release(loss)
  }
  accuracy <- accuracy_of(test)
  cat(sprintf("r: epoch %2d  loss %.6f  test accuracy %.4f\n", epoch,
              mean(losses[length(losses) + 1 - seq_len(steps)]), accuracy))
}
if (length(arguments) > 1) {
  cat(sprintf(paste0('{"frontend": "r", "programs_compiled": %d, "final_loss": %.17g, ',
                     '"test_accuracy": %.17g, "losses": [%s]}\n'),
              as.integer(loom_stat("programs_compiled")), losses[length(losses)], accuracy,
              paste(sprintf("%.17g", losses), collapse = ", ")), file = arguments[2])
}
loom_stop()
