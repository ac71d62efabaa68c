// Gradients, loops, branches and captures.
"use strict";
const { check, fail, koffi, lib, note } = require("./library.js");
const {
  Tensor, handle, handles, keep, oneTensor, owned, ownedList, release, room, scope,
} = require("./tensors.js");
const { described } = require("./values.js");

/** Calls f without recording gradients. f must not give a promise: the switch is the thread's. */
function noGrad(f) {
  const before = new Uint8Array(1), C = note();
  check(C.loom_set_grad_enabled(false, before));
  try {
    const result = f();
    if (typeof result?.then === "function")
      fail("LOOM_ERROR_ARGUMENT", "noGrad: the function gave a promise, expected one that does " +
        "not wait, since the switch is that of the whole thread", "f");
    return result;
  } finally {
    check(C.loom_set_grad_enabled(before[0] !== 0, null));
  }
}

/** The gradients of outputs with respect to inputs, both lists. cotangents: a list of one for each
 * output, null for ones of a 0-d output. createGraph: they can be differentiated again. */
function grad(outputs, inputs, { cotangents = null, createGraph = false } = {}) {
  const from = handles(outputs, "outputs"), to = handles(inputs, "inputs");
  const by = cotangents === null ? null : orNull(cotangents, "cotangents", outputs.length);
  const found = room(inputs.length);
  check(note().loom_grad(from, outputs.length, to, inputs.length, by, createGraph, found));
  return ownedList(found, inputs.length);
}

// The handles of a list in which null stands for the null handle.
function orNull(tensors, name, count) {
  if (!Array.isArray(tensors) || tensors.length !== count)
    fail("LOOM_ERROR_ARGUMENT", `${name} is ${described(tensors)} of ${tensors?.length}, ` +
      `expected a list of ${count}`, name);
  const found = room(count);
  tensors.forEach((t, i) => {
    found[i] = t === null ? 0n : oneTensor(t, `${name}[${i}]`).bits;
  });
  return found;
}

/** Schedules tensors; with wait, until they have been computed. */
function sync(tensors, wait = false) {
  const given = handles(tensors, "tensors");
  check(note().loom_sync(given, tensors.length, wait));
}

/** Waits until tensors have been computed, but no longer than timeout seconds; gives whether they
 * have. */
function wait(tensors, timeout) {
  const given = handles(tensors, "tensors"), C = note();
  const status = C.loom_wait(given, tensors.length, timeout);
  if (C.loom_status_name(status) === "LOOM_ERROR_TIMEOUT") return false;
  check(status);
  return true;
}

/** Writes values into targets, both lists, in one call. */
function assign(targets, values) {
  const to = handles(targets, "targets"), from = handles(values, "values");
  if (targets.length !== values.length)
    fail("LOOM_ERROR_ARGUMENT", `assign: ${targets.length} targets and ${values.length} values, ` +
      `expected as many`);
  check(note().loom_tensors_assign(to, from, targets.length));
}

/** A step that was recorded once, as a function that runs it: see loom_capture_begin(). step
 * takes nothing and gives the list of results of each run. */
function capture(inputs, step) {
  const given = handles(inputs, "inputs"), C = note();
  check(C.loom_capture_begin(given, inputs.length));
  const made = room(1);
  let count;
  try {
    const results = step();
    count = results?.length;
    const ends = handles(results, "the step's result");
    check(C.loom_capture_end(ends, count, made));
  } catch (error) {
    C.loom_capture_cancel();
    throw error;
  }
  const run = (inputs) => {
    const given = handles(inputs, "inputs"), found = room(count);
    check(note().loom_capture_run({ bits: run.held === null ? 0n : run.held.bits }, given,
      inputs.length, found, count));
    return ownedList(found, count);
  };
  keep(run, "capture", made[0]);
  run.release = () => release(run);
  return run;
}

// ---- functions that C calls ------------------------------------------------------------------

// f takes the list of its inputs and gives a list of tensors, or a tensor for one; what f throws is
// kept in failed.
const callbackOf = (f, failed) => (inputs, inputCount, outputs, outputCount) => {
  try {
    return scope(() => {
      const count = Number(inputCount), { C } = lib;
      const bits = count ? koffi.decode(inputs, "uint64_t", count) : [];
      const given = Array.from(bits, (b) => {
        check(C.loom_tensor_retain({ bits: BigInt(b) })); // the inputs stay the library's
        return owned(BigInt(b));
      });
      const result = f(given), results = result instanceof Tensor ? [result] : result;
      if (!Array.isArray(results))
        fail("LOOM_ERROR_ARGUMENT",
          `the function gave ${described(result)}, expected a list of ${outputCount} Tensors`);
      if (results.length !== Number(outputCount))
        fail("LOOM_ERROR_ARGUMENT",
          `the function gave ${results.length} tensors, expected ${outputCount}`);
      const ends = handles(results, "the function's result");
      // the library takes one owner of each; of its own inputs it has that already
      const made = results.filter((t) => !given.some((input) => input.bits === t.bits));
      made.forEach((t, i) => {
        const status = C.loom_tensor_retain(handle(t));
        if (status === 0) return;
        // of those before one that cannot be kept, nobody would let go
        for (const kept of made.slice(0, i)) C.loom_tensor_release(handle(kept));
        check(status);
      });
      if (results.length)
        koffi.encode(outputs, koffi.array("uint64_t", results.length), Array.from(ends));
      return 0;
    });
  } catch (error) {
    failed.first ??= { error }; // it must not cross C, and goes on after the call
    return lib.C.loom_set_error(1, String(error?.message ?? error));
  }
};

// Gives functions to C, and what the call fills in: throws what one of them threw.
function calling(functions, call) {
  const failed = {};
  for (const f of functions)
    if (typeof f !== "function")
      fail("LOOM_ERROR_ARGUMENT", `${described(f)} was given, expected a function`);
  const status = call(note(), ...functions.map((f) => callbackOf(f, failed)));
  if (failed.first) throw failed.first.error;
  check(status);
}

function withCallbacks(functions, count, call) {
  const found = room(count);
  calling(functions, (C, ...callbacks) => call(C, found, ...callbacks));
  return ownedList(found, count);
}

/** The last carry, then what the steps gave, stacked. step takes the lists of the carry and of one
 * element of each of xs, and gives the list of the next carry and ysCount tensors. length: the
 * number of steps, that of xs if it is not given; reverse: begins with the last element. */
function scan(step, init, xs = [], ysCount = 0, { length = -1, reverse = false } = {}) {
  const carry = handles(init, "init"), over = handles(xs, "xs");
  const both = typeof step !== "function" ? step
    : (given) => step(given.slice(0, init.length), given.slice(init.length));
  return withCallbacks([both], init.length + ysCount, (C, found, callback) =>
    C.loom_scan(callback, null, carry, init.length, over, xs.length, length, ysCount, reverse,
      found));
}

/** The last carry of a loop of body, which takes and gives the list of it, while condition gives a
 * bool tensor that is true. maxSteps: -1 for no bound. */
function whileLoop(condition, body, init, maxSteps = -1) {
  const carry = handles(init, "init");
  return withCallbacks([condition, body], init.length, (C, found, first, second) =>
    C.loom_while_loop(first, second, null, carry, init.length, maxSteps, found));
}

/** The list of what one of two functions of the list of operands gives, count tensors each. */
function cond(which, ifTrue, ifFalse, operands, count = 1) {
  const chosen = oneTensor(which, "which"), given = handles(operands, "operands");
  return withCallbacks([ifTrue, ifFalse], count, (C, found, first, second) =>
    C.loom_cond(chosen, first, second, null, given, operands.length, found, count));
}

module.exports = {
  assign, calling, capture, cond, grad, noGrad, orNull, scan, sync, wait, whileLoop,
};
