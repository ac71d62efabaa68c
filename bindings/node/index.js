// Lazyloom for Node: operations are recorded as they are called and compiled, as one program, when
// a value is needed.
//
//   const loom = require("lazyloom");
//   loom.start();
//   const x = loom.tensor([1, 2, 3]).requireGrad();
//   const y = x.add(1).multiply(2).sum();         // recorded, not computed
//   y.backward();
//   console.log(x.gradient().read(), y.item());   // compiled and run
//
// Every op is a function of the module, and a method of its first operand: operands in order, null
// for one that is left out, then an object of attributes: x.sum({ axes: 0, keepdims: true }). What
// fails throws a LoomError, with status, op, site, argument and index.
//
// LAZYLOOM_LIBRARY names liblazyloom.so; if it is not set, PYTHON -m lazyloom_capi --build is
// asked (python3 if PYTHON is not set).
"use strict";
const { execFileSync } = require("child_process");
const koffi = require("koffi");
const declared = require("./ops.js");

// ---- the library -----------------------------------------------------------------------------

for (const name of declared.enums) koffi.alias(name, "int");
for (const name of declared.handles) koffi.struct(name, { bits: "uint64_t" });
const FILLED_IN = ["loom_error_details", "loom_operand", "loom_attr"];
for (const name of declared.structs) if (!FILLED_IN.includes(name)) koffi.opaque(name);
koffi.struct("loom_error_details", {
  size: "size_t", status: "int", message: "const char *", op: "const char *",
  site: "const char *", argument: "const char *", index: "int64_t", expected: "const char *",
});
koffi.struct("loom_operand", {
  kind: "int", dtype: "int", tensor: "uint64_t", integer: "int64_t", real: "double",
  imaginary: "double",
});
koffi.union("loom_attr_value", {
  boolean: "bool", integer: "int64_t", real: "double", text: "const char *", dtype: "int",
  integers: "const int64_t *", reals: "const double *",
});
koffi.struct("loom_attr", {
  name: "const char *", kind: "int", count: "size_t", value: "loom_attr_value",
});
koffi.proto("int loom_function(const loom_tensor *inputs, size_t input_count, " +
  "loom_tensor *outputs, size_t output_count, void *context)");

// Its functions, once start() has opened it.
let C = null;

function libraryPath() {
  if (process.env.LAZYLOOM_LIBRARY) return process.env.LAZYLOOM_LIBRARY;
  const python = process.env.PYTHON || "python3";
  try {
    return execFileSync(python, ["-m", "lazyloom_capi", "--build"], { encoding: "utf8" }).trim();
  } catch (error) {
    throw new Error(`liblazyloom.so was not found by ${python}: set LAZYLOOM_LIBRARY to it, or ` +
      `PYTHON to the interpreter of the environment that Lazyloom is installed in`,
      { cause: error });
  }
}

function open() {
  const library = koffi.load(libraryPath());
  const found = {};
  for (const line of declared.functions) {
    const name = line.match(/(\w+)\(/)[1];
    // callbacks that may be called on other threads are not Node's to give
    const callback = (type) => type !== "loom_function" && line.includes(`${type} `);
    if (line.includes("(*") || declared.callbacks.some(callback)) continue;
    const out = name === "loom_error_describe"
      ? line.replace("loom_error_details *", "_Inout_ loom_error_details *") : line;
    found[name] = library.func(out.replace(/loom_function (\w+)/g, "loom_function *$1"));
  }
  return found;
}

// ---- errors ----------------------------------------------------------------------------------

/** A call that failed. */
class LoomError extends Error {
  constructor({ status, message, op = "", site = "", argument = "", index = null }) {
    super(site ? `${site}: ${message}` : message);
    Object.assign(this, { name: "LoomError", status, op, site, argument, index });
  }
}

// The line of the user's that is being run: the first one that is not in this file.
function userLine() {
  const prepare = Error.prepareStackTrace, limit = Error.stackTraceLimit, holder = {};
  Error.prepareStackTrace = (_, frames) => frames;
  Error.stackTraceLimit = 16;
  Error.captureStackTrace(holder, userLine);
  const frame = holder.stack.find((f) => f.getFileName() && f.getFileName() !== __filename &&
    !f.getFileName().startsWith("node:"));
  Error.prepareStackTrace = prepare;
  Error.stackTraceLimit = limit;
  return frame ? [frame.getFileName(), frame.getLineNumber()] : ["", 0];
}

function fail(status, message, argument) {
  const [file, line] = userLine();
  throw new LoomError({ status, message, argument, site: file ? `${file}:${line}` : "" });
}

function check(status) {
  if (status === 0) return;
  const details = { size: koffi.sizeof("loom_error_details") };
  if (C.loom_error_describe(null, details) !== 0)
    throw new LoomError({ status: "LOOM_ERROR_INTERNAL", message: C.loom_error_message() });
  const index = Number(details.index);
  throw new LoomError({
    ...details, status: C.loom_status_name(status), index: index < 0 ? null : index,
  });
}

function note() {
  if (C === null)
    fail("LOOM_ERROR_NOT_INITIALIZED", "nothing can be called before start()");
  const [file, line] = userLine();
  C.loom_copy_source_location(file, line);
}

// ---- start and end ---------------------------------------------------------------------------

/** Opens the library and starts the runtime; one that runs is joined. */
function start() {
  C ??= open();
  check(C.loom_initialize());
}

/** Ends it and releases everything. */
function shutdown() {
  check(C.loom_shutdown());
}

// ---- tensors ---------------------------------------------------------------------------------

const DTYPES = ["", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
  "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"];
// complex numbers are pairs, float16 and bfloat16 are bits
const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  float16: Uint16Array, bfloat16: Uint16Array, float32: Float32Array, float64: Float64Array,
  complex64: Float32Array, complex128: Float64Array,
};

function dtypeCode(name) {
  const code = DTYPES.indexOf(name);
  if (code < 1)
    fail("LOOM_ERROR_DTYPE", `${name} is no dtype, expected one such as "float32"`, "dtype");
  return code;
}

const handle = (tensor) => ({ bits: tensor.bits });
const handles = (tensors) => BigUint64Array.from(tensors, (t) => t.bits);
// a typed array of nothing has no address
const room = (count) => new BigUint64Array(Math.max(count, 1));

// What nothing refers to any more is released, at the next call and not while one runs.
const forgotten = [];
const registry = new FinalizationRegistry((bits) => forgotten.push(bits));
// Scopes within each other: what is made is released at the end of the innermost one.
const scopes = [];

function owned(bits) {
  while (forgotten.length) C.loom_tensor_release({ bits: forgotten.pop() });
  const tensor = new Tensor(bits);
  registry.register(tensor, bits, tensor);
  if (scopes.length) scopes[scopes.length - 1].add(tensor);
  return tensor;
}

const ownedList = (found, count) => Array.from(found.subarray(0, count), owned);

/** An array whose contents may be pending. Ops are methods of it. */
class Tensor {
  constructor(bits) {
    this.bits = bits;
  }

  /** Gives up its memory; scope() does it for what is made within. */
  release() {
    if (this.bits === 0n) return;
    registry.unregister(this);
    C.loom_tensor_release(handle(this));
    this.bits = 0n;
  }

  get dtype() {
    const found = new Int32Array(1);
    check(C.loom_tensor_dtype(handle(this), found));
    return DTYPES[found[0]];
  }

  get shape() {
    const ndim = room(1), extents = new BigInt64Array(32);
    check(C.loom_tensor_shape(handle(this), extents, 32, ndim));
    return Array.from(extents.subarray(0, Number(ndim[0])), Number);
  }

  /** The contents as a typed array, row by row; computed if they are pending. */
  read() {
    const nbytes = room(1), Kind = ARRAYS[this.dtype];
    check(C.loom_tensor_nbytes(handle(this), nbytes));
    const size = Number(nbytes[0]), found = new Kind(size / Kind.BYTES_PER_ELEMENT);
    note();
    check(C.loom_tensor_read(handle(this), size ? found : null, size));
    return found;
  }

  /** The one element of a tensor of one. */
  item() {
    const found = this.read();
    if (found.length !== 1)
      fail("LOOM_ERROR_SHAPE", `item: the tensor has ${found.length} elements, expected one`);
    return this.dtype === "bool" ? found[0] !== 0 : found[0];
  }

  requireGrad() {
    note();
    check(C.loom_tensor_require_grad(handle(this), true));
    return this;
  }

  get requiresGrad() {
    const found = new Uint8Array(1);
    check(C.loom_tensor_requires_grad(handle(this), found));
    return found[0] !== 0;
  }

  /** Writes value's contents into it, in place. */
  assign(value) {
    note();
    check(C.loom_tensor_assign(handle(this), handle(value)));
  }

  detach() {
    const found = room(1);
    note();
    check(C.loom_tensor_detach(handle(this), found));
    return owned(found[0]);
  }

  /** Adds its gradients to what the leaves have collected. */
  backward() {
    note();
    check(C.loom_backward(handles([this]), 1, null));
  }

  /** What backward() collected for this leaf; null if nothing was. */
  gradient() {
    const found = room(1);
    check(C.loom_tensor_gradient(handle(this), found));
    return found[0] === 0n ? null : owned(found[0]);
  }

  clearGradient() {
    check(C.loom_tensor_clear_gradient(handle(this)));
  }
}
if (Symbol.dispose)
  Object.defineProperty(Tensor.prototype, Symbol.dispose, { value: Tensor.prototype.release });

function flatten(values, shape, depth, flat) {
  if (!Array.isArray(values)) return void flat.push(values);
  shape[depth] ??= values.length;
  if (shape[depth] !== values.length)
    fail("LOOM_ERROR_SHAPE",
      `a list of ${values.length} entries beside one of ${shape[depth]}, expected as many`);
  for (const v of values) flatten(v, shape, depth + 1, flat);
}

/** A tensor of a number, nested lists, or a typed array. dtype: that of the typed array, or
 * "float32"; shape: that of the lists. */
function tensor(values, { dtype, shape } = {}) {
  let flat = values;
  const own = [];
  if (ArrayBuffer.isView(values)) {
    dtype ??= Object.keys(ARRAYS).find((name) => name !== "bool" && values instanceof ARRAYS[name]);
    own.push(values.length / (dtype && dtype.startsWith("complex") ? 2 : 1));
  } else {
    dtype ??= "float32";
    const list = [];
    flatten(values, own, 0, list);
    flat = null;
    dtypeCode(dtype);
    const wide = dtype.endsWith("int64");
    flat = ARRAYS[dtype].from(list, wide ? BigInt : Number);
  }
  const code = dtypeCode(dtype), extents = shape ?? own, result = room(1);
  note();
  check(C.loom_tensor_from_host(flat.length ? flat : null, flat.byteLength, code,
    BigInt64Array.from(extents.length ? extents : [0], BigInt), extents.length, result));
  return owned(result[0]);
}

/** Calls f and releases what was made meanwhile, but for a tensor that it returns, or those of a
 * list. The collector would do so too late: what lives at a read is computed by it as well. */
function scope(f) {
  const made = new Set();
  scopes.push(made);
  let result;
  try {
    result = f();
    for (const kept of Array.isArray(result) ? result : [result]) made.delete(kept);
  } finally {
    scopes.pop();
    for (const t of made) t.release();
  }
  const outer = scopes[scopes.length - 1];
  for (const kept of Array.isArray(result) ? result : [result])
    if (outer && kept instanceof Tensor) outer.add(kept);
  return result;
}

// ---- ops -------------------------------------------------------------------------------------

const NUMBERS = { dtype: 0, tensor: 0n, integer: 0n, real: 0, imaginary: 0 };

function operand(value, op) {
  if (value === null || value === undefined) return { ...NUMBERS, kind: 0 };
  if (value instanceof Tensor) return { ...NUMBERS, kind: 1, tensor: value.bits };
  switch (typeof value) {
    case "boolean": return { ...NUMBERS, kind: 2, integer: value ? 1n : 0n };
    case "bigint": return { ...NUMBERS, kind: 3, integer: value };
    case "number": return { ...NUMBERS, kind: 4, real: value };
    default:
      return fail("LOOM_ERROR_ARGUMENT", `${op}: an operand is a ${typeof value}, expected a ` +
        `Tensor, a number, a bigint, a boolean or null`);
  }
}

const VALUES = {
  bool: (x) => [1, { boolean: x }], int: (x) => [2, { integer: BigInt(x) }],
  float: (x) => [3, { real: x }], str: (x) => [4, { text: x }],
  dtype: (x) => [5, { dtype: dtypeCode(x) }],
  ints: (x) => [6, { integers: BigInt64Array.from([x].flat(), BigInt) }, [x].flat().length],
  floats: (x) => [7, { reals: Float64Array.from([x].flat()) }, [x].flat().length],
};

function attribute(name, kind, value) {
  if (value === null) return { name, kind: 0, count: 0, value: { integer: 0n } };
  const [code, given, count] = VALUES[kind](value);
  // an empty list has an address, where none would mean that it is absent
  if (count === 0) given[Object.keys(given)[0]] = kind === "ints" ? new BigInt64Array(1)
    : new Float64Array(1);
  return { name, kind: code, count: count ?? 0, value: given };
}

const isAttributes = (x) => typeof x === "object" && x !== null && !(x instanceof Tensor) &&
  !Array.isArray(x);

function apply(op, spec, given) {
  const values = [];
  let at = 0;
  // an object in an operand's place is the attributes, with the operands after it left out
  while (values.length < spec.operands.length && !isAttributes(given[at])) values.push(given[at++]);
  while (values.length < spec.operands.length) values.push(null);
  if (spec.list) {
    if (!Array.isArray(given[at]))
      fail("LOOM_ERROR_ARGUMENT", `${op}: ${spec.list} is a ${typeof given[at]}, expected a list ` +
        `of operands`, spec.list);
    values.push(...given[at++]);
  }
  const attributes = Object.entries(given[at] ?? {}).filter(([, v]) => v !== undefined).map(
    ([name, value]) => {
      if (!(name in spec.attributes))
        fail("LOOM_ERROR_ARGUMENT", `${op} has no attribute ${name}`, name);
      return attribute(name, spec.attributes[name], value);
    });
  const operands = values.map((v) => operand(v, op));
  // where the number depends on the call: one for each operand and each entry of a list, some more
  const capacity = spec.results ||
    values.length + attributes.reduce((n, a) => n + a.count, 0) + 8;
  const found = room(capacity), count = room(1);
  note();
  check(C.loom_apply(op, operands, operands.length, attributes, attributes.length, found,
    capacity, count));
  const results = ownedList(found, Number(count[0]));
  return spec.results === 1 ? results[0] : results;
}

const ops = {};
for (const [op, spec] of Object.entries(declared.ops)) {
  ops[op] = (...given) => apply(op, spec, given);
  // a method of the same name is not hidden
  if (spec.operands.length && !(op in Tensor.prototype))
    Object.defineProperty(Tensor.prototype, op, {
      value: function (...given) { return apply(op, spec, [this, ...given]); },
    });
}

// ---- programs --------------------------------------------------------------------------------

/** Calls f without recording gradients. */
function noGrad(f) {
  const before = new Uint8Array(1);
  check(C.loom_set_grad_enabled(false, before));
  try {
    return f();
  } finally {
    check(C.loom_set_grad_enabled(before[0] !== 0, null));
  }
}

/** The gradients of 0-d outputs with respect to inputs, both lists. */
function grad(outputs, inputs) {
  const found = room(inputs.length);
  note();
  check(C.loom_grad(handles(outputs), outputs.length, handles(inputs), inputs.length, null, false,
    found));
  return ownedList(found, inputs.length);
}

/** Schedules tensors; with wait, until they have been computed. */
function sync(tensors, wait = false) {
  note();
  check(C.loom_sync(handles(tensors), tensors.length, wait));
}

/** A step that was recorded once, as a function that runs it: see loom_capture_begin(). step
 * takes nothing and gives the list of results of each run. */
function capture(inputs, step) {
  note();
  check(C.loom_capture_begin(handles(inputs), inputs.length));
  const made = room(1);
  let count;
  try {
    const results = step();
    count = results.length;
    check(C.loom_capture_end(count ? handles(results) : room(1), count, made));
  } catch (error) {
    C.loom_capture_cancel();
    throw error;
  }
  const kept = { bits: made[0] };
  const run = (given) => {
    const found = room(count);
    note();
    check(C.loom_capture_run(kept, handles(given), given.length, found, count));
    return ownedList(found, count);
  };
  run.release = () => check(C.loom_capture_release(kept));
  return run;
}

// A function that C calls: f takes the list of its inputs and gives a list of tensors; what f
// throws is kept in failed.
const callbackOf = (f, failed) => (inputs, inputCount, outputs, outputCount) => {
  try {
    return scope(() => {
      const count = Number(inputCount);
      const bits = count ? koffi.decode(inputs, "uint64_t", count) : [];
      const given = Array.from(bits, (b) => {
        check(C.loom_tensor_retain({ bits: BigInt(b) })); // the inputs stay the library's
        return owned(BigInt(b));
      });
      const results = f(given);
      if (results.length !== Number(outputCount))
        fail("LOOM_ERROR_ARGUMENT",
          `the function gave ${results.length} tensors, expected ${outputCount}`);
      // of an input that is given back the library has an owner already
      const lent = new Set(Array.from(bits, BigInt));
      for (const t of results)
        if (!lent.delete(BigInt(t.bits))) check(C.loom_tensor_retain(handle(t)));
      koffi.encode(outputs, koffi.array("uint64_t", results.length), results.map((t) => t.bits));
      return 0;
    });
  } catch (error) {
    failed.first ??= { error }; // it must not cross C, and goes on after the call
    return C.loom_set_error(1, String(error.message ?? error));
  }
};

// Gives functions to C, and the list of the count tensors that the call fills in.
function withCallbacks(functions, count, call) {
  const failed = {}, found = room(count);
  note();
  const status = call(found, ...functions.map((f) => callbackOf(f, failed)));
  if (failed.first) throw failed.first.error;
  check(status);
  return ownedList(found, count);
}

const listOf = (tensors) => (tensors.length ? handles(tensors) : room(1));

/** The last carry, then what the steps gave, stacked. step takes the lists of the carry and of one
 * element of each of xs, and gives the list of the next carry and ysCount tensors. */
function scan(step, init, xs = [], ysCount = 0) {
  const both = (given) => step(given.slice(0, init.length), given.slice(init.length));
  return withCallbacks([both], init.length + ysCount, (found, callback) =>
    C.loom_scan(callback, null, listOf(init), init.length, listOf(xs), xs.length, -1, ysCount,
      false, found));
}

/** The last carry of a loop of body, which takes and gives the list of it, while condition gives a
 * bool tensor that is true. maxSteps: -1 for no bound. */
function whileLoop(condition, body, init, maxSteps = -1) {
  return withCallbacks([(given) => [condition(given)], body], init.length, (found, first, second) =>
    C.loom_while_loop(first, second, null, listOf(init), init.length, maxSteps, found));
}

/** The list of what one of two functions of the list of operands gives, count tensors each. */
function cond(which, ifTrue, ifFalse, operands, count = 1) {
  return withCallbacks([ifTrue, ifFalse], count, (found, first, second) =>
    C.loom_cond(handle(which), first, second, null, listOf(operands), operands.length, found,
      count));
}

/** A counter of the process, such as "programs_compiled". */
function stat(name) {
  const value = new BigInt64Array(1);
  check(C.loom_stat(name, value));
  return Number(value[0]);
}

/** The number of handles that are alive, for tests of leaks. */
function liveHandles() {
  const count = room(1);
  check(C.loom_live_handles(count));
  return Number(count[0]);
}

module.exports = {
  ...ops, Tensor, LoomError, capture, cond, grad, liveHandles, noGrad, scan, scope, shutdown, start,
  stat, sync, tensor, whileLoop,
};
