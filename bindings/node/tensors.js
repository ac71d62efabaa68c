// Tensors, scopes and ops.
"use strict";
const { AsyncLocalStorage } = require("async_hooks");
const { check, fail, lib, note } = require("./library.js");
const {
  ARRAYS, DTYPES, contents, described, dtypeCode, elements, isComplex, isInteger,
} = require("./values.js");
const declared = require("./ops.js");

const handle = (tensor) => ({ bits: tensor.bits });
// a typed array of nothing has no address
const room = (count) => new BigUint64Array(Math.max(count, 1));

function oneTensor(value, name) {
  if (!(value instanceof Tensor))
    fail("LOOM_ERROR_ARGUMENT", `${name} is ${described(value)}, expected a Tensor`, name);
  return handle(value);
}

// The handles of a list of tensors, with an address also where there are none.
function handles(tensors, name) {
  if (!Array.isArray(tensors))
    fail("LOOM_ERROR_ARGUMENT", `${name} is ${described(tensors)}, expected a list of Tensors`,
      name);
  const found = room(tensors.length);
  tensors.forEach((t, i) => {
    found[i] = oneTensor(t, `${name}[${i}]`).bits;
  });
  return found;
}

// ---- who releases what -----------------------------------------------------------------------

const RELEASES = {
  tensor: "loom_tensor_release", capture: "loom_capture_release",
  map: "loom_linear_map_release",
};
// What nothing refers to any more is released, at the next call and not while one runs.
const forgotten = [];
const registry = new FinalizationRegistry((held) => forgotten.push(held));
// The scope that a function runs in, also after it has waited for a promise.
const scopes = new AsyncLocalStorage();

function innermost() {
  let found = scopes.getStore();
  while (found && found.ended) found = found.outer;
  return found;
}

// Has a handle of a kind released with an object: by its release(), its scope or the collector.
function keep(object, kind, bits) {
  while (forgotten.length) {
    const held = forgotten.pop();
    lib.C[RELEASES[held.kind]]({ bits: held.bits });
  }
  const held = { kind, bits };
  registry.register(object, held, held);
  Object.defineProperty(object, "held", { value: held, writable: true });
  return object;
}

function release(object) {
  const { held } = object;
  if (held === null) return;
  object.held = null;
  registry.unregister(held);
  lib.C[RELEASES[held.kind]]({ bits: held.bits });
}

function owned(bits) {
  const tensor = keep(new Tensor(), "tensor", bits);
  innermost()?.made.add(tensor);
  return tensor;
}

const ownedList = (found, count) => Array.from(found.subarray(0, count), owned);

/** Calls f and releases what was made meanwhile, but for the tensors and the derivatives that it
 * returns, also in lists; of a function that gives a promise, when that has ended. The collector
 * would do so too late: what lives at a read is computed by it as well. */
function scope(f) {
  const here = { made: new Set(), outer: innermost(), ended: false };
  const end = (result) => {
    here.ended = true;
    const kept = [result].flat(Infinity).filter((x) => here.made.delete(x));
    for (const object of here.made) release(object);
    let { outer } = here;
    while (outer && outer.ended) outer = outer.outer;
    for (const object of kept) outer?.made.add(object);
    return result;
  };
  let result;
  try {
    result = scopes.run(here, f);
  } catch (error) {
    end();
    throw error;
  }
  if (typeof result?.then !== "function") return end(result);
  return result.then(end, (error) => {
    end();
    throw error;
  });
}

// ---- tensors ---------------------------------------------------------------------------------

/** An array whose contents may be pending. Ops are methods of it. */
class Tensor {
  /** The handle's bits, as C has them; 0 once it is released. */
  get bits() {
    return this.held === null ? 0n : this.held.bits;
  }

  /** Gives up its memory; scope() does it for what is made within. */
  release() {
    release(this);
  }

  get dtype() {
    const found = new Int32Array(1);
    check(note().loom_tensor_dtype(handle(this), found));
    return DTYPES[found[0]];
  }

  get shape() {
    const ndim = room(1), extents = new BigInt64Array(64);
    check(note().loom_tensor_shape(handle(this), extents, 64, ndim));
    return Array.from(extents.subarray(0, Number(ndim[0])), Number);
  }

  /** The contents as a typed array, row by row, computed if they are pending: complex numbers as
   * pairs, float16 and bfloat16 as float32. */
  read() {
    const C = note(), nbytes = room(1), { dtype } = this, Kind = ARRAYS[dtype];
    check(C.loom_tensor_nbytes(handle(this), nbytes));
    const size = Number(nbytes[0]), found = new Kind(size / Kind.BYTES_PER_ELEMENT);
    check(C.loom_tensor_read(handle(this), size ? found : null, size));
    return contents(found, dtype);
  }

  /** A promise of read(), which is computed on another thread. signal: an AbortSignal, whose reason
   * the promise is rejected with; what is computed goes on. */
  async readAsync({ signal } = {}) {
    // the handle lives while it is waited for, whatever becomes of this object
    check(note().loom_tensor_retain(handle(this)));
    const [own] = scopes.exit(() => ownedList(BigUint64Array.of(this.bits), 1));
    const [file, line] = lib.line();
    try {
      await ready([own], { signal });
      lib.C.loom_copy_source_location(file, line);
      return own.read();
    } finally {
      own.release();
    }
  }

  /** Whether read() would not wait. */
  get isReady() {
    const found = new Uint8Array(1);
    check(note().loom_tensor_is_ready(handle(this), found));
    return found[0] !== 0;
  }

  /** The one element of a tensor of one; a complex one as { re, im }. */
  item() {
    const found = this.read(), pair = isComplex(this.dtype);
    const count = found.length / (pair ? 2 : 1);
    if (count !== 1)
      fail("LOOM_ERROR_SHAPE", `item: the tensor has ${count} elements, expected one`);
    if (pair) return { re: found[0], im: found[1] };
    return this.dtype === "bool" ? found[0] !== 0 : found[0];
  }

  requireGrad() {
    check(note().loom_tensor_require_grad(handle(this), true));
    return this;
  }

  get requiresGrad() {
    const found = new Uint8Array(1);
    check(note().loom_tensor_requires_grad(handle(this), found));
    return found[0] !== 0;
  }

  /** Writes value's contents into it, in place. */
  assign(value) {
    check(note().loom_tensor_assign(handle(this), oneTensor(value, "value")));
  }

  detach() {
    const found = room(1);
    check(note().loom_tensor_detach(handle(this), found));
    return owned(found[0]);
  }

  /** Adds its gradients to what the leaves have collected. */
  backward() {
    check(note().loom_backward(handles([this], "outputs"), 1, null));
  }

  /** What backward() collected for this leaf; null if nothing was. */
  gradient() {
    const found = room(1);
    check(note().loom_tensor_gradient(handle(this), found));
    return found[0] === 0n ? null : owned(found[0]);
  }

  clearGradient() {
    check(note().loom_tensor_clear_gradient(handle(this)));
  }

  /** What it is, without its contents. */
  toString() {
    if (this.held === null) return "Tensor (released)";
    try {
      return `Tensor ${this.dtype}[${this.shape}]`;
    } catch {
      return "Tensor (of a runtime that has ended)";
    }
  }

  [Symbol.for("nodejs.util.inspect.custom")]() {
    return this.toString();
  }
}
if (Symbol.dispose)
  Object.defineProperty(Tensor.prototype, Symbol.dispose, { value: Tensor.prototype.release });

const idlers = [];

/** A promise that is kept when nothing is waited for on other threads, as after a wait that was
 * aborted. */
function idle() {
  return new Promise((resolve) => (lib.running === 0 ? resolve() : idlers.push(resolve)));
}

/** A promise that is kept when tensors have been computed, on another thread; rejected with the
 * first error of their runs. */
function ready(tensors, { signal } = {}) {
  const C = note(), given = handles(tensors, "tensors"), count = tensors.length;
  // what is pending is scheduled by a thread of the library's, with the options of this one
  const status = C.loom_wait(given, count, 0);
  if (C.loom_status_name(status) !== "LOOM_ERROR_TIMEOUT") {
    check(status);
    return Promise.resolve();
  }
  const where = lib.line();
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason);
    if (signal?.aborted) return void aborted();
    signal?.addEventListener("abort", aborted, { once: true });
    ++lib.running;
    C.loom_wait.async(given, count, 1e9, (problem, ended) => {
      if (--lib.running === 0) for (const f of idlers.splice(0)) f();
      signal?.removeEventListener("abort", aborted);
      if (problem) return void reject(problem);
      if (ended === 0) return void resolve();
      try {
        // an error is its thread's, and met again by who waits for what failed
        C.loom_copy_source_location(...where);
        check(C.loom_sync(given, count, true));
        resolve();
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** A tensor of a number, nested lists, or a typed array. dtype: that of the typed array, or
 * "float32"; shape: that of the lists. */
function tensor(values, { dtype, shape } = {}) {
  const made = elements(values, dtype, shape), result = room(1);
  const extents = BigInt64Array.from(made.shape.length ? made.shape : [0], BigInt);
  check(note().loom_tensor_from_host(made.memory.length ? made.memory : null,
    made.memory.byteLength, dtypeCode(made.dtype), extents, made.shape.length, result));
  return owned(result[0]);
}

// ---- ops -------------------------------------------------------------------------------------

const NUMBERS = { dtype: 0, tensor: 0n, integer: 0n, real: 0, imaginary: 0 };
const dtypeRoom = new Int32Array(1);

// JavaScript does not tell 1 from 1.0: beside tensors of integers, whole numbers are integers.
function besideIntegers(values) {
  if (!values.some(Number.isSafeInteger)) return false;
  return values.some((v) => v instanceof Tensor &&
    lib.C.loom_tensor_dtype(handle(v), dtypeRoom) === 0 && isInteger(dtypeRoom[0]));
}

function operand(value, op, integers) {
  if (value === null || value === undefined) return { ...NUMBERS, kind: 0 };
  if (value instanceof Tensor) return { ...NUMBERS, kind: 1, tensor: value.bits };
  switch (typeof value) {
    case "boolean": return { ...NUMBERS, kind: 2, integer: value ? 1n : 0n };
    case "bigint": return { ...NUMBERS, kind: 3, integer: value };
    case "number":
      return integers && Number.isSafeInteger(value)
        ? { ...NUMBERS, kind: 3, integer: BigInt(value) } : { ...NUMBERS, kind: 4, real: value };
    default:
      if (typeof value === "object" && "re" in value && "im" in value)
        return { ...NUMBERS, kind: 5, real: value.re, imaginary: value.im };
      return fail("LOOM_ERROR_ARGUMENT", `${op}: an operand is ${described(value)}, expected a ` +
        `Tensor, a number, a bigint, a boolean, { re, im } or null; tensor() makes one of a list`,
        "", op);
  }
}

const numberOf = (x) => (typeof x === "number" ? x : undefined);
const wholeOf = (x) => (typeof x === "bigint" || Number.isSafeInteger(x) ? BigInt(x) : undefined);
const listOf = (convert, Kind) => (x) => {
  const list = Array.isArray(x) || ArrayBuffer.isView(x) ? Array.from(x, convert) : [convert(x)];
  return list.includes(undefined) ? undefined : Kind.from(list);
};
// of each kind: its code in C, the member of the union, the value or undefined, what is expected
const VALUES = {
  bool: [1, "boolean", (x) => (typeof x === "boolean" ? x : undefined), "true or false"],
  int: [2, "integer", wholeOf, "an integer"],
  float: [3, "real", numberOf, "a number"],
  str: [4, "text", (x) => (typeof x === "string" ? x : undefined), "a string"],
  dtype: [5, "dtype", dtypeCode, "a dtype"],
  ints: [6, "integers", listOf(wholeOf, BigInt64Array), "an integer or a list of integers"],
  floats: [7, "reals", listOf(numberOf, Float64Array), "a number or a list of numbers"],
};

function attribute(op, name, kind, value) {
  if (value === null) return { name, kind: 0, count: 0, value: { integer: 0n } };
  const [code, member, convert, expected] = VALUES[kind];
  let given = kind === "dtype" ? convert(value, name) : convert(value);
  if (given === undefined)
    fail("LOOM_ERROR_ARGUMENT", `${op}: the attribute ${name} is ${described(value)}, expected ` +
      `${expected}, or null`, name, op);
  const count = ArrayBuffer.isView(given) ? given.length : 0;
  // an empty list has an address, where none would mean that it is absent
  if (ArrayBuffer.isView(given) && count === 0) given = new given.constructor(1);
  return { name, kind: code, count, value: { [member]: given } };
}

const isAttributes = (x) => typeof x === "object" && x !== null && !(x instanceof Tensor) &&
  !Array.isArray(x) && !ArrayBuffer.isView(x) && !("re" in x && "im" in x);

function apply(op, spec, given) {
  const values = [];
  let at = 0;
  // an object in an operand's place is the attributes, with the operands after it left out
  while (values.length < spec.operands.length && at < given.length && !isAttributes(given[at]))
    values.push(given[at++]);
  while (values.length < spec.operands.length) values.push(null);
  if (spec.list) {
    if (!Array.isArray(given[at]))
      fail("LOOM_ERROR_ARGUMENT", `${op}: ${spec.list} is ${described(given[at])}, expected a ` +
        `list of operands`, spec.list, op);
    values.push(...given[at++]);
  }
  const named = given[at++] ?? {};
  if (at < given.length || !isAttributes(named))
    fail("LOOM_ERROR_ARGUMENT", `${op}: ${described(at < given.length ? given[at] : named)} was ` +
      `given after the operands (${[...spec.operands, spec.list ?? []].flat().join(", ")}), ` +
      `expected one object of attributes`, "", op);
  const attributes = Object.entries(named).filter(([, v]) => v !== undefined).map(
    ([name, value]) => {
      if (!Object.hasOwn(spec.attributes, name))
        fail("LOOM_ERROR_ARGUMENT", `${op} has no attribute ${name}`, name, op);
      return attribute(op, name, spec.attributes[name], value);
    });
  const C = note(), integers = besideIntegers(values);
  const operands = values.map((v) => operand(v, op, integers));
  // where the number depends on the call: one for each operand and each entry of a list, some more
  const capacity = spec.results ||
    values.length + attributes.reduce((n, a) => n + a.count, 0) + 8;
  const found = room(capacity), count = room(1);
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

module.exports = {
  Tensor, handle, handles, idle, innermost, keep, oneTensor, ops, owned, ownedList, ready, release,
  room, scope, tensor,
};
