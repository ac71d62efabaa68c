// Files of named tensors: https://huggingface.co/docs/safetensors.
"use strict";
const fs = require("fs");
const { check, fail, note } = require("./library.js");
const { Tensor, handle, owned, room } = require("./tensors.js");
const { DTYPES, described, dtypeCode } = require("./values.js");

const CODES = {
  bool: "BOOL", int8: "I8", int16: "I16", int32: "I32", int64: "I64", uint8: "U8", uint16: "U16",
  uint32: "U32", uint64: "U64", float16: "F16", bfloat16: "BF16", float32: "F32", float64: "F64",
  complex64: "C64",
};

function bytesOf(tensor, C) {
  const nbytes = room(1);
  check(C.loom_tensor_nbytes(handle(tensor), nbytes));
  const bytes = Buffer.alloc(Number(nbytes[0]));
  check(C.loom_tensor_read(handle(tensor), bytes.length ? bytes : null, bytes.length));
  return bytes;
}

/** Writes tensors, an object of them by name, to a file, which is replaced when all is written.
 * metadata: an object of strings. */
function save(path, tensors, metadata = null) {
  const C = note(), parts = [], said = Object.entries(metadata ?? {}).sort();
  const header = metadata === null ? {} : { __metadata__: Object.fromEntries(said) };
  for (const [name, text] of said)
    if (typeof text !== "string")
      fail("LOOM_ERROR_ARGUMENT", `save: metadata has ${described(text)} for ${name}, expected a ` +
        `string`, "metadata");
  let at = 0;
  const named = Object.entries(tensors).map(([name, tensor]) => {
    if (!(tensor instanceof Tensor))
      fail("LOOM_ERROR_ARGUMENT", `save: ${name} is ${described(tensor)}, expected a Tensor`, name);
    if (name === "__metadata__")
      fail("LOOM_ERROR_ARGUMENT", `save: no tensor may be called __metadata__`, name);
    if (!(tensor.dtype in CODES))
      fail("LOOM_ERROR_DTYPE", `save: ${name} is ${tensor.dtype}, which the format has not`, name);
    return { name, tensor, dtype: tensor.dtype };
  });
  // the largest elements first, so that all are aligned
  named.sort((a, b) => C.loom_dtype_size(dtypeCode(b.dtype)) - C.loom_dtype_size(dtypeCode(a.dtype))
    || (a.name < b.name ? -1 : 1));
  for (const { name, tensor, dtype } of named) {
    const bytes = bytesOf(tensor, C);
    header[name] = {
      dtype: CODES[dtype], shape: tensor.shape, data_offsets: [at, at + bytes.length],
    };
    at += bytes.length;
    parts.push(bytes);
  }
  let text = Buffer.from(JSON.stringify(header));
  text = Buffer.concat([text, Buffer.alloc((8 - (text.length % 8)) % 8, " ")]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const beside = `${path}.${process.pid}.part`;
  try {
    fs.writeFileSync(beside, Buffer.concat([length, text, ...parts]));
    fs.renameSync(beside, path);
  } catch (error) {
    fs.rmSync(beside, { force: true });
    throw error;
  }
}

function broken(path, problem) {
  fail("LOOM_ERROR_ARGUMENT", `${path} is no safetensors file: ${problem}`, "path");
}

/** The tensors of a file by name, and its metadata: { tensors, metadata }. */
function load(path) {
  const C = note(), bytes = fs.readFileSync(path);
  if (bytes.length < 8) broken(path, `it has ${bytes.length} bytes, expected 8 and a header`);
  const length = bytes.readBigUInt64LE(0);
  if (length > BigInt(bytes.length - 8))
    broken(path, `its header is to have ${length} bytes, of which ${bytes.length - 8} are there`);
  const data = bytes.subarray(8 + Number(length));
  let header;
  try {
    header = JSON.parse(bytes.toString("utf8", 8, 8 + Number(length)));
  } catch (error) {
    broken(path, `its header is no JSON (${error.message})`);
  }
  if (header === null || typeof header !== "object" || Array.isArray(header))
    broken(path, "its header is no object of JSON");
  const { __metadata__: metadata = {}, ...entries } = header;
  const tensors = Object.create(null);
  for (const [name, entry] of Object.entries(entries)) {
    const dtype = Object.keys(CODES).find((d) => CODES[d] === entry?.dtype);
    const { shape, data_offsets: [begin, end] = [] } = entry ?? {};
    if (dtype === undefined) broken(path, `${name} has the dtype ${entry?.dtype}`);
    if (!Array.isArray(shape) || !shape.every((n) => Number.isSafeInteger(n) && n >= 0))
      broken(path, `${name} has the shape ${JSON.stringify(shape)}`);
    if (!(Number.isSafeInteger(begin) && begin >= 0 && end >= begin && end <= data.length))
      broken(path, `${name} lies from ${begin} to ${end} of ${data.length} bytes`);
    // a copy is aligned
    const own = Uint8Array.from(data.subarray(begin, end)), result = room(1);
    check(C.loom_tensor_from_host(own.length ? own : null, own.length, DTYPES.indexOf(dtype),
      BigInt64Array.from(shape.length ? shape : [0], BigInt), shape.length, result));
    tensors[name] = owned(result[0]);
  }
  return { tensors, metadata };
}

module.exports = { load, save };
