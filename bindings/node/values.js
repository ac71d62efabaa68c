// Elements and their dtypes: JavaScript's numbers, lists and typed arrays as tensors have them.
"use strict";
const { fail } = require("./library.js");

const DTYPES = ["", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
  "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"];
// the memory of each: complex numbers are pairs, float16 and bfloat16 are bits
const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  float16: Uint16Array, bfloat16: Uint16Array, float32: Float32Array, float64: Float64Array,
  complex64: Float32Array, complex128: Float64Array,
};

function dtypeCode(name, argument = "dtype") {
  const code = DTYPES.indexOf(name);
  if (code < 1)
    fail("LOOM_ERROR_DTYPE", `${name} is no dtype, expected one such as "float32"`, argument);
  return code;
}

const isInteger = (code) => code >= 2 && code <= 9;
const isComplex = (dtype) => dtype.startsWith("complex");
const isHalf = (dtype) => dtype === "float16" || dtype === "bfloat16";

// ---- float16 and bfloat16 --------------------------------------------------------------------

const one = new Float32Array(1), bitsOfOne = new Uint32Array(one.buffer);

// x divided by a power of two, rounded to the nearest integer, to even between two.
function rounded(x, shift) {
  const half = 2 ** (shift - 1), rest = x % 2 ** shift, whole = Math.floor(x / 2 ** shift);
  return whole + (rest > half || (rest === half && whole % 2 === 1) ? 1 : 0);
}

function halfBits(value, dtype) {
  one[0] = value;
  const bits = bitsOfOne[0], sign = (bits >>> 16) & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return sign | (dtype === "float16" ? 0x7e00 : 0x7fc0);
  if (dtype === "bfloat16") return sign | rounded(size, 16);
  if (size >= 0x47800000) return sign | 0x7c00;
  // below the smallest normal number the unit is 2 to the power of -24
  if (size < 0x38800000) {
    const scaled = Math.abs(one[0]) * 2 ** 24, whole = Math.floor(scaled), rest = scaled - whole;
    return sign | (whole + (rest > 0.5 || (rest === 0.5 && whole % 2 === 1) ? 1 : 0));
  }
  return sign | rounded(size - 0x38000000, 13);
}

function halfValue(bits, dtype) {
  if (dtype === "bfloat16") {
    bitsOfOne[0] = bits << 16;
    return one[0];
  }
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24);
}

// ---- to memory -------------------------------------------------------------------------------

const described = (value) => (typeof value === "string" ? JSON.stringify(value)
  : Array.isArray(value) ? "a list" : value !== null && typeof value === "object"
    ? `an object (${value.constructor?.name})` : `${String(value)}`);

function wrong(value, dtype, expected) {
  fail("LOOM_ERROR_ARGUMENT",
    `an element is ${described(value)}, expected ${expected} for ${dtype}`, "values");
}

const RANGES = {
  int8: [-128n, 127n], int16: [-32768n, 32767n], int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n], uint8: [0n, 255n], uint16: [0n, 65535n],
  uint32: [0n, 2n ** 32n - 1n], uint64: [0n, 2n ** 64n - 1n],
};

function integerOf(value, dtype) {
  const exact = typeof value === "bigint" || typeof value === "boolean" || Number.isInteger(value);
  const [least, most] = RANGES[dtype];
  if (!exact || value < least || value > most)
    wrong(value, dtype, `an integer from ${least} to ${most}`);
  return dtype.endsWith("int64") ? BigInt(value) : Number(value);
}

function realOf(value, dtype) {
  if (typeof value !== "number" && typeof value !== "bigint" && typeof value !== "boolean")
    wrong(value, dtype, "a number");
  return Number(value);
}

// The memory of a list of elements without lists in it.
function memoryOf(list, dtype) {
  const Kind = ARRAYS[dtype];
  if (dtype === "bool") return Kind.from(list, (x) => (realOf(x, dtype) !== 0 ? 1 : 0));
  if (dtype in RANGES) return Kind.from(list, (x) => integerOf(x, dtype));
  if (isHalf(dtype)) return Kind.from(list, (x) => halfBits(realOf(x, dtype), dtype));
  if (!isComplex(dtype)) return Kind.from(list, (x) => realOf(x, dtype));
  const found = new Kind(2 * list.length);
  list.forEach((x, i) => {
    const pair = x !== null && typeof x === "object" && "re" in x;
    found[2 * i] = realOf(pair ? x.re : x, dtype);
    found[2 * i + 1] = pair ? realOf(x.im ?? 0, dtype) : 0;
  });
  return found;
}

function flatten(values, shape, depth, flat) {
  if (ArrayBuffer.isView(values) && !(values instanceof DataView)) values = Array.from(values);
  if (!Array.isArray(values)) {
    if (depth !== shape.length)
      fail("LOOM_ERROR_SHAPE", "an element stands beside a list, expected lists of one depth",
        "values");
    return void flat.push(values);
  }
  if (depth === shape.length) {
    if (flat.length)
      fail("LOOM_ERROR_SHAPE", "a list stands beside an element, expected lists of one depth",
        "values");
    shape.push(values.length);
  }
  if (shape[depth] !== values.length)
    fail("LOOM_ERROR_SHAPE",
      `a list of ${values.length} entries beside one of ${shape[depth]}, expected as many`,
      "values");
  for (const v of values) flatten(v, shape, depth + 1, flat);
}

const dtypeOfArray = (values) =>
  Object.keys(ARRAYS).find((name) => name !== "bool" && values instanceof ARRAYS[name]);

/* What a tensor is made of: dtype, memory, and shape. A typed array of the dtype's own kind is
   taken as it lies; the elements of another are converted, as those of lists are. */
function elements(values, dtype, shape) {
  let flat, own = [];
  if (dtype !== undefined) dtypeCode(dtype);
  if (ArrayBuffer.isView(values)) {
    const found = values instanceof Uint8ClampedArray ? "uint8" : dtypeOfArray(values);
    if (found === undefined)
      fail("LOOM_ERROR_ARGUMENT", `the values are ${described(values)}, expected a typed array ` +
        `of numbers, or a list`, "values");
    dtype ??= found;
    const asItLies = values instanceof ARRAYS[dtype];
    flat = asItLies ? values : memoryOf(Array.from(values), dtype);
    own = [values.length / (isComplex(dtype) && asItLies ? 2 : 1)];
  } else {
    dtype ??= "float32";
    const list = [];
    flatten(values, own, 0, list);
    flat = memoryOf(list, dtype);
  }
  const extents = shape === undefined ? own : Array.from(shape, Number);
  const count = flat.length / (isComplex(dtype) ? 2 : 1);
  const size = extents.reduce((n, extent) => n * extent, 1);
  if (extents.some((n) => !Number.isInteger(n) || n < 0) || size !== count)
    fail("LOOM_ERROR_SHAPE", `${count} elements were given for the shape [${extents}], which has ` +
      `${size}`, "shape");
  return { dtype, memory: flat, shape: extents };
}

// The contents of memory as they are given to users: float16 and bfloat16 as float32.
function contents(memory, dtype) {
  return isHalf(dtype) ? Float32Array.from(memory, (bits) => halfValue(bits, dtype)) : memory;
}

module.exports = { ARRAYS, DTYPES, contents, described, dtypeCode, elements, isComplex, isInteger };
