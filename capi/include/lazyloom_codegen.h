/* lazyloom_codegen.h: code generators as shared libraries, without Python.

   A library exports one function, loom_codegen_plugin_1(), which returns a table of functions. What
   runs programs loads it (lazyloom.codegen.load() in Python, loom_codegen_load() in C, the variable
   LAZYLOOM_CODEGEN_PLUGINS), asks it which ops it does, and has it compile regions: parts of
   programs. docs/codegen_plugin.md has the contract by example. This header needs no library.

   Structures begin with their size in bytes, and grow at their ends only. Who fills one in writes
   sizeof of it as compiled; who reads one reads no further than it says. A field that lies beyond
   is as if it were 0. A change that is none of this has a new major version, whose function has
   another name.

   Errors. A function returns a status; where that is not LOOM_CODEGEN_OK it may write a message, at
   most error->capacity bytes with the final 0, in UTF-8. A program does not depend on a plug-in's
   working: XLA does what it says no to or fails at. No exception of C++, no longjmp() and no
   signal may leave a function; what crashes takes the process with it.

   Threads. Functions are called on any thread, several at once, run() of one engine too. They must
   not call lazyloom.h: the program waits for them. fork() may have happened between two calls.

   Time. compile(), serialize() and deserialize() that take longer than the option build_seconds
   (30) are given up: they go on, and what they return is destroyed. What was not compiled XLA does,
   and what was not deserialised is compiled.

   JSON. Ops and regions are given as JSON in UTF-8, which ends with a 0 and is valid during the
   call alone. Numbers that JSON does not have are the texts "inf", "-inf" and "nan".
     type:    {"dtype": "float32", "shape": [2, 3]}
     call:    {"op": "add", "attributes": {...}, "operands": [type or null, ...],
               "values": [number, or null for what is no constant, ...], "results": [type, ...]}
     region:  {"version": 1, "operands": [array, ...], "nodes": [node, ...], "results": [...]}
     array:   a type with "strides": [12, 4], in bytes, one for each axis
     node:    {"op": "add", "attributes": {...}, "inputs": [input, ...], "results": [type, ...]}
     input:   {"operand": k}, {"node": n, "result": r}, {"constant": 1, "dtype": "float32"}, or null
              for an operand that is absent; a boolean is 0 or 1
     results: arrays with "node": n, "result": r
   Nodes are in an order in which they can run. docs/ops.md has the ops with their attributes.
   Members may be added. */
#ifndef LAZYLOOM_CODEGEN_H
#define LAZYLOOM_CODEGEN_H

#include "lazyloom_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LOOM_CODEGEN_MAJOR 1
#define LOOM_CODEGEN_MINOR 0

typedef enum loom_codegen_status {
  LOOM_CODEGEN_OK = 0,
  LOOM_CODEGEN_NO = 1,        /* it does not do this; the message is the reason in reports */
  LOOM_CODEGEN_TOO_SMALL = 2, /* it does, but XLA is better at it; the message is the reason */
  LOOM_CODEGEN_ERROR = 3,     /* it failed */
  LOOM_CODEGEN_OUT_OF_MEMORY = 4
} loom_codegen_status;

/* Where a function writes what went wrong; message has capacity bytes, the first of them 0. */
typedef struct loom_codegen_error {
  size_t struct_size;
  char *message;
  size_t capacity;
} loom_codegen_error;

/* An array. Element (i, j) lies at (char *)data + i * strides[0] + j * strides[1]. Operands are
   read only. data: aligned for its dtype; NULL in compile() where the values are not known. */
typedef struct loom_codegen_array {
  size_t struct_size;
  int32_t dtype; /* a loom_dtype */
  int32_t rank;
  const int64_t *shape;
  const int64_t *strides; /* in bytes */
  void *data;
} loom_codegen_array;

/* What loads the plug-in. */
typedef struct loom_codegen_host {
  size_t struct_size;
  int32_t major; /* of this interface */
  int32_t minor;
  const char *lazyloom; /* the version of Lazyloom */
} loom_codegen_host;

/* Bits of loom_codegen_plugin.flags. */
#define LOOM_CODEGEN_EACH_OP_ALONE 1u     /* a region is one op: none are merged */
#define LOOM_CODEGEN_PORTABLE_ENGINES 2u  /* serialised engines are right on every processor */

/* A plug-in; it lives as long as the process. Functions that are not said to be needed may be
   NULL. context is handed to them. */
typedef struct loom_codegen_plugin {
  size_t struct_size;
  int32_t major; /* LOOM_CODEGEN_MAJOR and _MINOR as compiled */
  int32_t minor;
  const char *name;         /* letters, digits, "_", "-", "."; "xla" is taken */
  const char *version;      /* such as "1.4", of what is generated, and of serialised engines;
                               the characters of names */
  const char *requirements; /* NULL, or what serialised engines need besides: "driver=12.4" */
  void *context;
  double tolerance; /* by how many units in the last place results may differ; 0 for 64 */
  int32_t priority; /* of two that do an op, the one of higher priority gets it */
  uint32_t flags;

  /* Needed. OK if it does an op by itself; depends on the call alone. */
  loom_codegen_status (*supports)(void *context, const char *call, loom_codegen_error *error);

  /* OK if a region is worth a call. */
  loom_codegen_status (*worthwhile)(void *context, const char *region, loom_codegen_error *error);

  /* An estimate of a run in seconds, for reports. */
  loom_codegen_status (*estimate)(void *context, const char *region, double *seconds,
                                  loom_codegen_error *error);

  /* The order in memory that it wants. axes: of each operand and then of each result its axes,
     slowest first; they are in logical order when it is called. */
  loom_codegen_status (*layouts)(void *context, const char *region, int64_t *axes, size_t count,
                                 loom_codegen_error *error);

  /* Which operands are the same for many runs, such as weights: is_constant[k] is set to 1. */
  loom_codegen_status (*constants)(void *context, const char *region, uint8_t *is_constant,
                                   size_t count, loom_codegen_error *error);

  /* Needed. Makes an engine of a region. operands: one for each; those whose data is not NULL have
     these values in all runs of this engine, as constants() asked for; others are known later.
     The data is valid during the call. */
  loom_codegen_status (*compile)(void *context, const char *region,
                                 const loom_codegen_array *const *operands, size_t operand_count,
                                 void **engine, loom_codegen_error *error);

  /* Needed. Runs a region: reads the operands, those with known values too, and writes all
     elements of the results, which overlap neither operands nor each other. */
  loom_codegen_status (*run)(void *engine, const loom_codegen_array *const *operands,
                             size_t operand_count, const loom_codegen_array *const *results,
                             size_t result_count, loom_codegen_error *error);

  /* Needed. Ends an engine, after its last run. */
  void (*destroy)(void *engine);

  /* Writes an engine that compile() made without known values as bytes: at most capacity of them,
     and their number into *size. It is called with capacity 0 first. NO: it has no such form. */
  loom_codegen_status (*serialize)(void *engine, void *data, size_t capacity, size_t *size,
                                   loom_codegen_error *error);

  /* Makes an engine of an equal region from bytes that the same version wrote, where requirements
     was the same. Where it fails the region is compiled. */
  loom_codegen_status (*deserialize)(void *context, const char *region, const void *data,
                                     size_t size, void **engine, loom_codegen_error *error);
} loom_codegen_plugin;

#if defined(__GNUC__) || defined(__clang__)
#define LOOM_CODEGEN_EXPORT __attribute__((visibility("default")))
#else
#define LOOM_CODEGEN_EXPORT
#endif

/* The function that a plug-in exports. NULL, with a message, if it cannot work here; then the
   plug-in is not there. host is valid during the call. */
typedef const loom_codegen_plugin *(*loom_codegen_plugin_function)(const loom_codegen_host *host,
                                                                   loom_codegen_error *error);
LOOM_CODEGEN_EXPORT const loom_codegen_plugin *loom_codegen_plugin_1(const loom_codegen_host *host,
                                                                     loom_codegen_error *error);

/* Writes a message, cut short where it is too long, and returns the status. */
static inline loom_codegen_status loom_codegen_fail(loom_codegen_error *error,
                                                    loom_codegen_status status,
                                                    const char *message) {
  size_t k = 0;
  if (error == NULL || error->message == NULL || error->capacity == 0) return status;
  while (k + 1 < error->capacity && message[k] != 0) {
    error->message[k] = message[k];
    ++k;
  }
  error->message[k] = 0;
  return status;
}

#ifdef __cplusplus
}
#endif

#endif
