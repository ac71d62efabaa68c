// Options, counters, and the records of what ran.
"use strict";
const { check, koffi, note, textOf } = require("./library.js");
const { handles, owned, room } = require("./tensors.js");

/** All options by name: value, scope, and of numbers default, minimum, maximum, unit and doc. */
function options() {
  const C = note();
  return JSON.parse(textOf((...given) => C.loom_options_json(...given)));
}

/** The value of an option, a number; 0 and 1 are false and true. */
function option(name) {
  const found = new Float64Array(1);
  check(note().loom_option_get(name, found));
  return found[0];
}

/** Sets an option; gives its value before. */
function setOption(name, value) {
  const before = new Float64Array(1);
  check(note().loom_option_set(name, Number(value), before));
  return before[0];
}

/** A counter of the process, such as "programs_compiled". */
function stat(name) {
  const value = new BigInt64Array(1);
  check(note().loom_stat(name, value));
  return Number(value[0]);
}

/** All counters by name. */
function stats() {
  const C = note();
  return JSON.parse(textOf((...given) => C.loom_stats_json(...given)));
}

/** Has them count from 0 again. */
function resetStats() {
  check(note().loom_stats_reset());
}

/** The records of the newest evaluations, oldest first: count at most, 0 for all that are kept. */
function evaluations(count = 0) {
  const C = note();
  return JSON.parse(textOf((...given) => C.loom_evaluations_json(count, ...given)));
}

/** The record of the last evaluation, for people; "" if there was none. */
function lastEvaluation() {
  const C = note();
  return textOf((...given) => C.loom_last_evaluation(...given));
}

/**
 * Begins a profile of the process, until endProfile(). path: a file for the report, written at the
 * end, in the form that its name ends in (.html, .json, .trace.json, text); null for none. sources:
 * whether it may have lines of the program's source.
 */
function beginProfile(path = null, sources = true) {
  check(note().loom_profile_begin(path, sources));
}

/** Ends it; gives its report. */
function endProfile() {
  check(note().loom_profile_end());
  return profileReport();
}

/** The report of the profile that ended last: findings, lines, programs; {} before the first. */
function profileReport() {
  const C = note();
  return JSON.parse(textOf((...given) => C.loom_profile_json(...given)));
}

/** What a read of pending tensors would run: of each program its key and its text. */
function programsOf(tensors) {
  const given = handles(tensors, "tensors"), C = note(), count = room(1);
  let programs = room(Math.max(tensors.length, 16));
  check(C.loom_programs_of(given, tensors.length, programs, programs.length, count));
  const number = Math.min(Number(count[0]), programs.length);
  return Array.from(programs.subarray(0, number), (bits) => {
    try {
      return {
        key: textOf((...rest) => C.loom_program_key({ bits }, ...rest)),
        text: textOf((...rest) => C.loom_program_text({ bits }, ...rest)),
      };
    } finally {
      C.loom_program_release({ bits });
    }
  });
}

/** What memory holds, in numbers of tensors and in bytes. */
function memory() {
  const figures = { size: koffi.sizeof("loom_memory_figures") };
  check(note().loom_memory(figures));
  const { size, ...found } = figures;
  return Object.fromEntries(Object.entries(found).map(([name, n]) => [name, Number(n)]));
}

/** The kind of device that programs run on: "cpu", "gpu" or "tpu". */
function platform() {
  const C = note();
  return textOf((...given) => C.loom_platform(...given));
}

/** The folder of the disk cache. */
function cacheDir() {
  const C = note();
  return textOf((...given) => C.loom_cache_dir(...given));
}

/** The number of handles that are alive, for tests of leaks. */
function liveHandles() {
  const count = room(1);
  check(note().loom_live_handles(count));
  return Number(count[0]);
}

/** The key of a seed, an integer, as random ops take one. */
function randomKey(seed) {
  const found = room(1);
  check(note().loom_random_key(BigInt(seed), found));
  return owned(found[0]);
}

module.exports = {
  beginProfile, cacheDir, endProfile, evaluations, lastEvaluation, liveHandles, memory, option,
  options, platform, profileReport, programsOf, randomKey, resetStats, setOption, stat, stats,
};
