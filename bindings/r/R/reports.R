# Options, counters, records of what ran, and files. Texts of JSON are for a package that reads
# them.

# The value of an option by its name, a number; 0 and 1 are false and true.
loom_option <- function(name) call_c(lr_option, one_text(name, "name"), NULL)
# Sets an option; gives its value before, invisibly.
loom_set_option <- function(name, value) {
  if (is.logical(value)) value <- as.double(value)
  invisible(call_c(lr_option, one_text(name, "name"), one_number(value, "value")))
}
# All options as an object of JSON: of each its value and scope, and what it may be.
loom_options_json <- function() call_c(lr_text, 0L, 0L)

# A counter of the process, such as "programs_compiled".
loom_stat <- function(name) call_c(lr_stat, one_text(name, "name"))
# All counters as an object of JSON.
loom_stats_json <- function() call_c(lr_text, 1L, 0L)
# Has them count from 0 again.
loom_stats_reset <- function() invisible(call_c(lr_stats_reset))

# The records of the newest evaluations as a list of JSON, oldest first: count at most, 0 for all.
loom_evaluations_json <- function(count = 0) {
  call_c(lr_text, 2L, as.integer(one_number(count, "count", 0)))
}
# The record of the last evaluation, for people; "" if there was none.
loom_last_evaluation <- function() call_c(lr_text, 3L, 0L)
# The program that computes pending tensors, for people.
loom_program_text <- function(tensors) call_c(lr_program_text, tensors_of(tensors, "tensors"))

# Begins a profile of the process, until loom_profile_end(). path: a file for the report, written at
# the end, in the form that its name ends in (.html, .json, .trace.json, text). sources: whether it
# may have lines of the program's source.
loom_profile_begin <- function(path = NULL, sources = TRUE) {
  if (!is.null(path)) path <- one_text(path, "path")
  invisible(call_c(lr_profile_begin, path, isTRUE(sources)))
}
# Ends it.
loom_profile_end <- function() invisible(call_c(lr_profile_end))
# The report of the profile that ended last as an object of JSON; "{}" before the first.
loom_profile_json <- function() call_c(lr_text, 6L, 0L)

# The kind of device that programs run on: "cpu", "gpu" or "tpu".
loom_platform <- function() call_c(lr_text, 4L, 0L)
# The folder of the disk cache.
loom_cache_dir <- function() call_c(lr_text, 5L, 0L)
# What memory holds, in numbers of tensors and in bytes.
loom_memory <- function() {
  stats::setNames(call_c(lr_memory), c("tensors", "tensor_bytes", "pending", "resident", "peak"))
}
# The number of handles that are alive, for tests of leaks.
loom_live_handles <- function() call_c(lr_live_handles)

# The key of a seed, a whole number below 2^53, as random ops take one.
loom_random_key <- function(seed) {
  seed <- one_number(seed, "seed", 0)
  kept(call_c(lr_random_key, seed %/% 2^32, seed %% 2^32))
}

# Writes tensors, a list with names, to a safetensors file, which takes the place of path when all
# is written. metadata: a vector of strings with names.
loom_save <- function(path, tensors, metadata = character(0)) {
  named <- function(x) length(x) == 0 || (!is.null(names(x)) && all(nzchar(names(x))))
  if (!named(tensors) || !named(metadata) || !is.character(metadata)) {
    fail("LOOM_ERROR_ARGUMENT", paste0(
      "loom_save: expected a list of tensors with names, and metadata of strings with names"))
  }
  said <- metadata[order(names(metadata))]
  pairs <- as.character(rbind(names(said), said))
  invisible(call_c(lr_save, one_text(path, "path"), tensors_of(tensors, "tensors"),
                   as.character(names(tensors)), pairs))
}

# The tensors of a safetensors file, a list with names; its metadata is an attribute of that name.
loom_load <- function(path) {
  found <- call_c(lr_load, one_text(path, "path"))
  kept_all(found[[1]])
  structure(found[[1]], metadata = found[[2]])
}
