// The library: its types and functions as koffi has them, its start, and errors with the user's
// line.
"use strict";
const { execFileSync } = require("child_process");
const koffi = require("koffi");
const declared = require("./ops.js");

for (const name of declared.enums) koffi.alias(name, "int");
for (const name of declared.handles) koffi.struct(name, { bits: "uint64_t" });
const FILLED_IN = ["loom_error_details", "loom_operand", "loom_attr", "loom_memory_figures"];
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
koffi.struct("loom_memory_figures", {
  size: "size_t", tensors: "size_t", tensor_bytes: "size_t", pending: "size_t",
  resident: "size_t", peak: "size_t",
});
koffi.proto("int loom_function(const loom_tensor *inputs, size_t input_count, " +
  "loom_tensor *outputs, size_t output_count, void *context)");

// Its functions, C, once start() has opened it; how many of them run on other threads.
const lib = { C: null, running: 0, line: userLine };

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

const FILLED_BY_C = /(loom_error_details|loom_memory_figures) \*/;

function open() {
  const library = koffi.load(libraryPath());
  const found = {};
  for (const line of declared.functions) {
    const name = line.match(/(\w+)\(/)[1];
    // callbacks that may be called on other threads are not Node's to give
    const callback = (type) => type !== "loom_function" && line.includes(`${type} `);
    if (line.includes("(*") || declared.callbacks.some(callback)) continue;
    found[name] = library.func(
      line.replace(FILLED_BY_C, "_Inout_ $&").replace(/loom_function (\w+)/g, "loom_function *$1"));
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

const OWN_FILES = new Set(
  ["index", "library", "tensors", "values", "programs", "transforms", "reports", "safetensors"].map(
    (name) => require("path").join(__dirname, `${name}.js`)));

// The line of the user's that is being run: the first one that is not in this package.
function userLine() {
  const prepare = Error.prepareStackTrace, limit = Error.stackTraceLimit, holder = {};
  Error.prepareStackTrace = (_, frames) => frames;
  Error.stackTraceLimit = 24;
  Error.captureStackTrace(holder, userLine);
  const frame = holder.stack.find((f) => f.getFileName() && !OWN_FILES.has(f.getFileName()) &&
    !f.getFileName().startsWith("node:"));
  Error.prepareStackTrace = prepare;
  Error.stackTraceLimit = limit;
  return frame ? [frame.getFileName(), frame.getLineNumber()] : ["", 0];
}

function fail(status, message, argument, op) {
  const [file, line] = userLine();
  throw new LoomError({ status, message, argument, op, site: file ? `${file}:${line}` : "" });
}

function check(status) {
  if (status === 0) return;
  const { C } = lib, details = { size: koffi.sizeof("loom_error_details") };
  if (C.loom_error_describe(null, details) !== 0)
    throw new LoomError({ status: "LOOM_ERROR_INTERNAL", message: C.loom_error_message() });
  const index = Number(details.index);
  throw new LoomError({
    ...details, status: C.loom_status_name(status), index: index < 0 ? null : index,
  });
}

// Says which line of the user's the next call stands for; gives the functions of the library.
function note() {
  if (lib.C === null)
    fail("LOOM_ERROR_NOT_INITIALIZED", "nothing can be called before start()");
  const [file, line] = userLine();
  lib.C.loom_copy_source_location(file, line);
  return lib.C;
}

// A text of the library's, whose length is asked for first.
function textOf(call) {
  const needed = new BigUint64Array(1);
  check(call(null, 0, needed));
  const bytes = Buffer.alloc(Math.max(Number(needed[0]), 1));
  check(call(bytes, bytes.length, needed));
  return bytes.toString("utf8", 0, bytes.indexOf(0));
}

/** Opens the library and starts the runtime; one that runs is joined. */
function start() {
  lib.C ??= open();
  check(note().loom_initialize());
}

/** Ends it and releases everything. No promise of readAsync() or ready() may be open:
 * await them, or idle(). */
function shutdown() {
  if (lib.C === null) return;
  if (lib.running > 0)
    fail("LOOM_ERROR_ARGUMENT", `shutdown: ${lib.running} tensors are waited for, expected none; ` +
      `await the promises of readAsync() and ready(), or idle(), before`);
  check(note().loom_shutdown());
}

module.exports = { LoomError, check, fail, koffi, lib, note, shutdown, start, textOf };
