/* lazyloom.h: the C ABI of Lazyloom, a lazy tensor runtime.

   This file is the contract: what is not declared here is not public.

   Lazyloom records operations as they are called and compiles what was recorded,
   as one program, when a value is needed. loom_apply() and the typed wrappers of
   lazyloom_ops.h check shapes and dtypes at once and compute nothing;
   loom_tensor_read(), loom_tensor_map() and loom_sync() compute.

   Language. Plain C99, also valid C++17. Needs <stdbool.h>, <stddef.h>, <stdint.h>.

   Status. Every function that can fail returns a loom_status, LOOM_OK (0) for
   success. The message of the last failure of a thread is kept for that thread
   (loom_error_message()); success does not clear it. No function prints, exits or
   aborts, and a message is data, never a format.

   Handles. loom_tensor, loom_buffer and loom_program are 64-bit values, a type of
   their own each. A value is given out once and never again, so a stale handle, a
   handle released twice, a handle of another kind and arbitrary bits are all
   LOOM_ERROR_HANDLE and nothing worse. All bits zero is the null handle.

   Ownership, said per parameter:
     in        read during the call, not kept; the caller may free it afterwards.
     out       written by the call; untouched unless said otherwise on failure.
     new       an out handle that the caller owns and must release. It is the null
               handle after a failure.
   Releasing a tensor never invalidates another: what is recorded keeps what it needs.
   Computed memory is given back at once; what was only recorded may be let go of by the
   next call.

   Strings. UTF-8, ending in a zero byte. A string result of unknown length is copied
   into the caller's buffer: *needed receives its length with the zero byte; a buffer
   that is too small (or NULL with capacity 0) receives what fits, always ended by a
   zero byte, and the call is still LOOM_OK. Call once with NULL to learn the size.

   Threads. Every function may be called from any thread, and a handle made on one
   thread may be used and released on another. Two threads may use one handle at
   the same time, except that loom_tensor_assign(), loom_tensor_require_grad() and
   the release of a handle must not race with another use of it: such a race gives
   an error or either order, never a crash. The error, the source location, the
   gradient switch and the options belong to the calling thread.

   fork(). After a fork every call in the child is LOOM_ERROR_FORK if lazyloom had
   been initialised before it.

   ABI changes, newest first (major: something was removed or changed its meaning;
   minor: something was added):
     1.1  LOOM_ERROR_INDEX_RANGE
     1.0  first version
*/
#ifndef LAZYLOOM_H
#define LAZYLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOOM_ABI_MAJOR 1
#define LOOM_ABI_MINOR 1

#if defined(__GNUC__)
#define LOOM_API __attribute__((visibility("default")))
#define LOOM_CHECK __attribute__((warn_unused_result))
#else
#define LOOM_API
#define LOOM_CHECK
#endif

/* ---- constants: fixed for ever, appended to, never renumbered ---------------- */

/* 1 to 99 are the codes of lazyloom.errors; from 100 on those that only C can meet. */
typedef enum loom_status {
  LOOM_OK = 0,
  LOOM_ERROR = 1,                  /* any other error of the runtime */
  LOOM_ERROR_ARGUMENT = 2,         /* an operand, attribute or argument has a wrong value */
  LOOM_ERROR_SHAPE = 3,            /* shapes do not fit */
  LOOM_ERROR_DTYPE = 4,            /* an element type is unknown or not taken */
  LOOM_ERROR_UNKNOWN_OP = 5,       /* no op of that name */
  LOOM_ERROR_EXECUTION = 6,        /* compiling or running failed; met again by each reader */
  LOOM_ERROR_DONATED = 7,          /* the buffer was lost in a run that failed */
  LOOM_ERROR_GRADIENT = 8,         /* that gradient does not exist */
  LOOM_ERROR_ALIAS = 9,            /* a write through a view that cannot be written */
  LOOM_ERROR_HANDLE = 10,          /* stale, null, or of another kind */
  LOOM_ERROR_FORK = 11,            /* called in the child of a fork */
  LOOM_ERROR_READ_FORBIDDEN = 12,  /* a read while LOOM_OPTION_FORBID_READS is set */
  LOOM_ERROR_INDEX_RANGE = 13,     /* an index that was computed is out of range */
  LOOM_ERROR_NOT_INITIALIZED = 100, /* before loom_initialize() or after loom_shutdown() */
  LOOM_ERROR_START = 101,          /* the interpreter or the runtime could not be started */
  LOOM_ERROR_INTERNAL = 102        /* a defect of lazyloom; the message says where */
} loom_status;

typedef enum loom_dtype {
  LOOM_DTYPE_NONE = 0, /* no dtype, where one may be left out */
  LOOM_BOOL = 1,       /* one byte, 0 or 1 */
  LOOM_INT8 = 2,
  LOOM_INT16 = 3,
  LOOM_INT32 = 4,
  LOOM_INT64 = 5,
  LOOM_UINT8 = 6,
  LOOM_UINT16 = 7,
  LOOM_UINT32 = 8,
  LOOM_UINT64 = 9,
  LOOM_FLOAT16 = 10,
  LOOM_BFLOAT16 = 11,
  LOOM_FLOAT32 = 12,
  LOOM_FLOAT64 = 13,
  LOOM_COMPLEX64 = 14, /* two float32: real, imaginary */
  LOOM_COMPLEX128 = 15 /* two float64: real, imaginary */
} loom_dtype;

typedef enum loom_option {
  LOOM_OPTION_DONATE = 1,      /* let programs reuse buffers nobody can see (default 1) */
  LOOM_OPTION_FORBID_READS = 2 /* a read is LOOM_ERROR_READ_FORBIDDEN (default 0) */
} loom_option;

/* ---- handles ----------------------------------------------------------------- */

typedef struct loom_tensor {
  uint64_t bits;
} loom_tensor; /* an array whose contents may be pending; loom_tensor_release() */

typedef struct loom_buffer {
  uint64_t bits;
} loom_buffer; /* host memory with a tensor's contents; loom_buffer_release() */

typedef struct loom_program {
  uint64_t bits;
} loom_program; /* the canonical program of pending values; loom_program_release() */

/* ---- operands and attributes of loom_apply() --------------------------------- */

typedef enum loom_operand_kind {
  LOOM_OPERAND_NONE = 0,    /* an optional operand that is left out */
  LOOM_OPERAND_TENSOR = 1,
  LOOM_OPERAND_BOOL = 2,    /* integer holds 0 or 1 */
  LOOM_OPERAND_INTEGER = 3, /* integer */
  LOOM_OPERAND_REAL = 4,    /* real */
  LOOM_OPERAND_COMPLEX = 5  /* real, imaginary */
} loom_operand_kind;

/* A tensor or a number. Numbers are run-time parameters of the program: another
   number does not compile again. With dtype LOOM_DTYPE_NONE a number takes the
   dtype of the tensors that must share it, and where there are none LOOM_BOOL,
   LOOM_INT64, LOOM_FLOAT64 or LOOM_COMPLEX128 by its kind. */
typedef struct loom_operand {
  loom_operand_kind kind;
  loom_dtype dtype;
  uint64_t tensor;
  int64_t integer;
  double real;
  double imaginary;
} loom_operand;

typedef enum loom_attr_kind {
  LOOM_ATTR_NONE = 0, /* the attribute is given as absent (Python's None) */
  LOOM_ATTR_BOOL = 1,
  LOOM_ATTR_INT = 2,
  LOOM_ATTR_FLOAT = 3,
  LOOM_ATTR_STR = 4,
  LOOM_ATTR_DTYPE = 5,
  LOOM_ATTR_INTS = 6,
  LOOM_ATTR_FLOATS = 7
} loom_attr_kind;

/* A named compile-time constant, part of the program's structure. count is the
   length of integers or reals and ignored for the other kinds. */
typedef struct loom_attr {
  const char *name;
  loom_attr_kind kind;
  size_t count;
  union {
    bool boolean;
    int64_t integer;
    double real;
    const char *text;
    loom_dtype dtype;
    const int64_t *integers;
    const double *reals;
  } value;
} loom_attr;

/* ---- version, start and end -------------------------------------------------- */

/* LOOM_ABI_MAJOR << 16 | LOOM_ABI_MINOR of the library. A program built against this
   header can use it if the majors are equal and the library's minor is not smaller.
   May be called at any time. */
LOOM_API uint32_t loom_abi_version(void);

/* The package's version, such as "0.1.0". Static. May be called at any time. */
LOOM_API const char *loom_version(void);

/* Starts the runtime. In a process without a Python interpreter this opens the
   environment that the library was built in, without reading any environment
   variable of Python's and without installing signal handlers; in a Python process
   it joins the interpreter that runs, and shares its lazyloom. Calling it again is
   LOOM_OK and does nothing. Errors: LOOM_ERROR_START, LOOM_ERROR_FORK. */
LOOM_API LOOM_CHECK loom_status loom_initialize(void);

/* Releases every handle and waits for what is running. Later calls are
   LOOM_ERROR_NOT_INITIALIZED until loom_initialize() is called again; the
   interpreter itself stays loaded until the process ends. No other thread may be
   inside a call. LOOM_OK if nothing was started. */
LOOM_API loom_status loom_shutdown(void);

/* Whether calls can be made: initialised, not shut down, not the child of a fork. */
LOOM_API bool loom_is_initialized(void);

/* Sets an option for the evaluations that this thread starts from now on.
   Errors: LOOM_ERROR_ARGUMENT. */
LOOM_API LOOM_CHECK loom_status loom_set_option(loom_option option, int64_t value);

/* Reads this thread's value of an option. value: out. */
LOOM_API LOOM_CHECK loom_status loom_get_option(loom_option option, int64_t *value);

/* ---- errors of the calling thread -------------------------------------------- */

/* The status of this thread's last failure, LOOM_OK if there was none. */
LOOM_API loom_status loom_error_status(void);

/* The texts of this thread's last failure: what was wrong, what was given and
   expected; the op ("" if none); the user's file:line ("" if unknown). Owned by the
   library, valid until the next failure or loom_error_clear() on this thread. */
LOOM_API const char *loom_error_message(void);
LOOM_API const char *loom_error_op(void);
LOOM_API const char *loom_error_site(void);

/* Forgets this thread's last failure. */
LOOM_API void loom_error_clear(void);

/* The name of a status, such as "LOOM_ERROR_SHAPE"; static, never NULL. */
LOOM_API const char *loom_status_name(loom_status status);

/* Says which line the calls that follow on this thread stand for: errors and
   evaluation records name it. file: kept, so it must stay valid and unchanged until the
   process ends (a literal does), or NULL for "unknown". The macros at the end of this
   header call this with __FILE__ and __LINE__. */
LOOM_API void loom_set_source_location(const char *file, int line);

/* ---- dtypes ------------------------------------------------------------------ */

/* Bytes of one element, 0 for an unknown dtype. */
LOOM_API size_t loom_dtype_size(loom_dtype dtype);

/* The array API name, such as "float32"; static, "" for an unknown dtype. */
LOOM_API const char *loom_dtype_name(loom_dtype dtype);

/* ---- tensors: host memory ---------------------------------------------------- */

/* A tensor with a copy of host memory: row-major, ndim dimensions.
   data: in, nbytes bytes, may be NULL if nbytes is 0. nbytes: must be the product of
   the shape times the element size. shape: in, ndim entries (NULL if ndim is 0).
   result: new. Errors: LOOM_ERROR_ARGUMENT, LOOM_ERROR_SHAPE, LOOM_ERROR_DTYPE. */
LOOM_API LOOM_CHECK loom_status loom_tensor_from_host(const void *data, size_t nbytes,
                                                      loom_dtype dtype, const int64_t *shape,
                                                      size_t ndim, loom_tensor *result);

/* Like loom_tensor_from_host(), but uses the caller's memory in place where it can.
   data: kept; it must stay valid and unchanged until done(context) is called, which
   happens exactly once, on any thread, also if this call fails. done may be NULL for
   memory that stays valid for ever; it must not call lazyloom. Shared memory is never
   written by lazyloom. */
LOOM_API LOOM_CHECK loom_status loom_tensor_share_host(const void *data, size_t nbytes,
                                                       loom_dtype dtype, const int64_t *shape,
                                                       size_t ndim, void (*done)(void *context),
                                                       void *context, loom_tensor *result);

/* Computes the tensor if it is pending and copies it out, row-major.
   buffer: out, nbytes bytes, which must be exactly loom_tensor_nbytes(); may be NULL
   if that is 0. Errors: LOOM_ERROR_ARGUMENT for another size, the error of the run
   that was to compute it (LOOM_ERROR_EXECUTION), LOOM_ERROR_READ_FORBIDDEN. */
LOOM_API LOOM_CHECK loom_status loom_tensor_read(loom_tensor tensor, void *buffer,
                                                 size_t nbytes);

/* Computes the tensor if it is pending and gives host memory with its contents,
   which later writes to the tensor do not change. result: new; data: out, memory of
   the library's, row-major, valid until loom_buffer_release(result); nbytes: out.
   Errors as loom_tensor_read(). */
LOOM_API LOOM_CHECK loom_status loom_tensor_map(loom_tensor tensor, loom_buffer *result,
                                                const void **data, size_t *nbytes);

/* Ends the use of mapped memory. Errors: LOOM_ERROR_HANDLE. */
LOOM_API loom_status loom_buffer_release(loom_buffer buffer);

/* ---- tensors: life and properties -------------------------------------------- */

/* Adds an owner: the handle must be released once more. */
LOOM_API LOOM_CHECK loom_status loom_tensor_retain(loom_tensor tensor);

/* Gives up one ownership; the last one makes the handle stale. The null handle is
   LOOM_OK and does nothing. */
LOOM_API loom_status loom_tensor_release(loom_tensor tensor);

/* Releases count tensors and sets each to the null handle; null handles are skipped.
   tensors: in and out. On a stale handle the others are released all the same. */
LOOM_API loom_status loom_tensors_release(loom_tensor *tensors, size_t count);

/* The element type, and the number of dimensions. dtype, ndim: out. */
LOOM_API LOOM_CHECK loom_status loom_tensor_dtype(loom_tensor tensor, loom_dtype *dtype);
LOOM_API LOOM_CHECK loom_status loom_tensor_ndim(loom_tensor tensor, size_t *ndim);

/* The dimensions. shape: out, capacity entries, of which ndim are written (fewer if
   they do not fit); ndim: out, may be NULL. */
LOOM_API LOOM_CHECK loom_status loom_tensor_shape(loom_tensor tensor, int64_t *shape,
                                                  size_t capacity, size_t *ndim);

/* Bytes of the contents on the host, row-major without gaps. */
LOOM_API LOOM_CHECK loom_status loom_tensor_nbytes(loom_tensor tensor, size_t *nbytes);

/* Whether the contents are recorded and not yet scheduled. */
LOOM_API LOOM_CHECK loom_status loom_tensor_is_pending(loom_tensor tensor, bool *pending);

/* Whether a gradient with respect to something can flow from it. */
LOOM_API LOOM_CHECK loom_status loom_tensor_requires_grad(loom_tensor tensor, bool *required);

/* Handles of all kinds that are alive, for tests of leaks. count: out. */
LOOM_API LOOM_CHECK loom_status loom_live_handles(size_t *count);

/* ---- recording --------------------------------------------------------------- */

/* Records an op. Nothing is computed; shapes, dtypes and attributes are checked.
   op: in, a name of the table. operands: in, operand_count. attributes: in,
   attribute_count, those left out take their default. results: new, capacity
   entries; result_count: out, how many the op has, may be NULL. Fails with
   LOOM_ERROR_ARGUMENT if capacity is smaller than that number.
   Errors: LOOM_ERROR_UNKNOWN_OP, _ARGUMENT, _SHAPE, _DTYPE, _HANDLE. */
LOOM_API LOOM_CHECK loom_status loom_apply(const char *op, const loom_operand *operands,
                                           size_t operand_count, const loom_attr *attributes,
                                           size_t attribute_count, loom_tensor *results,
                                           size_t capacity, size_t *result_count);

/* The same, for data that a program starts from (zeros, random parameters): the
   result is the boundary of a program of its own, so that the first iteration of a
   loop has the structure of the later ones. Parameters and errors as loom_apply(). */
LOOM_API LOOM_CHECK loom_status loom_source(const char *op, const loom_operand *operands,
                                            size_t operand_count, const loom_attr *attributes,
                                            size_t attribute_count, loom_tensor *results,
                                            size_t capacity, size_t *result_count);

/* Marks a pending tensor as such a boundary. */
LOOM_API LOOM_CHECK loom_status loom_boundary(loom_tensor tensor);

/* Writes value's contents into target, in place: every handle and view of target's
   storage sees them. value: same shape and dtype, recorded or computed. What was
   recorded from the old contents keeps them. A leaf (loom_tensor_require_grad())
   stays a leaf, cut off from value's history.
   Errors: LOOM_ERROR_SHAPE, LOOM_ERROR_DTYPE, LOOM_ERROR_ALIAS. */
LOOM_API LOOM_CHECK loom_status loom_tensor_assign(loom_tensor target, loom_tensor value);

/* The same contents without their history: no gradient flows through. result: new. */
LOOM_API LOOM_CHECK loom_status loom_tensor_detach(loom_tensor tensor, loom_tensor *result);

/* ---- gradients --------------------------------------------------------------- */

/* Makes a tensor a leaf that gradients are collected for, or ends that.
   Errors: LOOM_ERROR_GRADIENT for a dtype that has none. */
LOOM_API LOOM_CHECK loom_status loom_tensor_require_grad(loom_tensor tensor, bool required);

/* Switches the recording of gradients on this thread (on at first). previous: out,
   may be NULL. */
LOOM_API LOOM_CHECK loom_status loom_set_grad_enabled(bool enabled, bool *previous);

/* Records the gradients of outputs with respect to inputs (leaves or results on the
   way). outputs, inputs: in. cotangents: in, output_count entries of the outputs'
   shapes and dtypes, a null handle or NULL for ones of a 0-d output. gradients: new,
   input_count entries, each of its input's shape and dtype; of a complex input, the
   conjugate of the direction of steepest ascent. With create_graph the gradients can
   be differentiated again. What the outputs were computed from is kept for another
   gradient as long as the outputs are; loom_backward() lets go of it.
   Errors: LOOM_ERROR_GRADIENT if an input does not reach an output. */
LOOM_API LOOM_CHECK loom_status loom_grad(const loom_tensor *outputs, size_t output_count,
                                          const loom_tensor *inputs, size_t input_count,
                                          const loom_tensor *cotangents, bool create_graph,
                                          loom_tensor *gradients);

/* Records the gradients of outputs for every leaf they reach and adds them to what
   the leaves have collected. cotangents as in loom_grad(). */
LOOM_API LOOM_CHECK loom_status loom_backward(const loom_tensor *outputs, size_t output_count,
                                              const loom_tensor *cotangents);

/* What loom_backward() collected for a leaf. result: new; the null handle, with
   LOOM_OK, if nothing was. */
LOOM_API LOOM_CHECK loom_status loom_tensor_gradient(loom_tensor tensor, loom_tensor *result);

/* Forgets what loom_backward() collected for a leaf. */
LOOM_API LOOM_CHECK loom_status loom_tensor_clear_gradient(loom_tensor tensor);

/* ---- evaluation -------------------------------------------------------------- */

/* Schedules everything given, with the pending work connected to it, as one program
   each; with wait, returns when it has been computed, or with the run's error.
   tensors: in. */
LOOM_API LOOM_CHECK loom_status loom_sync(const loom_tensor *tensors, size_t count, bool wait);

/* ---- observation ------------------------------------------------------------- */

/* The program that reading any of these pending tensors would run. tensors: in.
   result: new. */
LOOM_API LOOM_CHECK loom_status loom_program_of(const loom_tensor *tensors, size_t count,
                                                loom_program *result);

/* The program that the newest evaluation of the process ran. result: new; the null
   handle, with LOOM_OK, if nothing has run. */
LOOM_API LOOM_CHECK loom_status loom_last_program(loom_program *result);

/* The key of a program, hexadecimal: equal for equal programs of all frontends. */
LOOM_API LOOM_CHECK loom_status loom_program_key(loom_program program, char *buffer,
                                                 size_t capacity, size_t *needed);

/* The readable form of a program. */
LOOM_API LOOM_CHECK loom_status loom_program_text(loom_program program, char *buffer,
                                                  size_t capacity, size_t *needed);

/* The number of ops in a program. */
LOOM_API LOOM_CHECK loom_status loom_program_op_count(loom_program program, size_t *count);

/* Ends the use of a program. Errors: LOOM_ERROR_HANDLE. */
LOOM_API loom_status loom_program_release(loom_program program);

/* A counter of the process: "ops_traced", "ops_executed", "programs_compiled",
   "programs_from_disk", "program_hits", "executions", "jax_traces" and others that
   loom_stats_json() lists. value: out. Errors: LOOM_ERROR_ARGUMENT for another name. */
LOOM_API LOOM_CHECK loom_status loom_stat(const char *name, int64_t *value);

/* All counters as a JSON object. */
LOOM_API LOOM_CHECK loom_status loom_stats_json(char *buffer, size_t capacity, size_t *needed);

/* The record of the last evaluation: why it ran, at which line, what was found in
   memory or on disk, how long each phase took. "" if there was none. */
LOOM_API LOOM_CHECK loom_status loom_last_evaluation(char *buffer, size_t capacity,
                                                     size_t *needed);

/* ---- the op table ------------------------------------------------------------ */

/* The number of ops. count: out. */
LOOM_API LOOM_CHECK loom_status loom_op_count(size_t *count);

/* The name of an op, in alphabetical order. name: out, owned by the library, valid
   until the process ends. Errors: LOOM_ERROR_ARGUMENT for an index out of range. */
LOOM_API LOOM_CHECK loom_status loom_op_name(size_t index, const char **name);

/* An op as a JSON object: name, doc, source, family, operands (name, dtypes,
   optional, variadic), attributes (name, kind, nullable, required, default),
   outputs, differentiable. Errors: LOOM_ERROR_UNKNOWN_OP. */
LOOM_API LOOM_CHECK loom_status loom_op_describe(const char *op, char *buffer, size_t capacity,
                                                 size_t *needed);

/* ---- conveniences that are part of the header, not of the ABI ---------------- */

static inline loom_tensor loom_null(void) {
  loom_tensor tensor;
  tensor.bits = 0;
  return tensor;
}

static inline bool loom_is_null(loom_tensor tensor) { return tensor.bits == 0; }

/* A tensor as an operand; the null handle becomes an operand left out. */
static inline loom_operand loom_t(loom_tensor tensor) {
  loom_operand operand = {LOOM_OPERAND_NONE, LOOM_DTYPE_NONE, 0, 0, 0.0, 0.0};
  operand.kind = tensor.bits ? LOOM_OPERAND_TENSOR : LOOM_OPERAND_NONE;
  operand.tensor = tensor.bits;
  return operand;
}

/* A real number as an operand. With LOOM_DTYPE_NONE it takes the dtype of the tensors
   beside it; so do the two that follow. */
static inline loom_operand loom_scalar_real(double value, loom_dtype dtype) {
  loom_operand operand = {LOOM_OPERAND_REAL, LOOM_DTYPE_NONE, 0, 0, 0.0, 0.0};
  operand.dtype = dtype;
  operand.real = value;
  return operand;
}

/* An integer as an operand. */
static inline loom_operand loom_scalar_int(int64_t value, loom_dtype dtype) {
  loom_operand operand = {LOOM_OPERAND_INTEGER, LOOM_DTYPE_NONE, 0, 0, 0.0, 0.0};
  operand.dtype = dtype;
  operand.integer = value;
  return operand;
}

/* A bool as an operand; of the dtype of the tensors beside it, or LOOM_BOOL. */
static inline loom_operand loom_scalar_bool(bool value) {
  loom_operand operand = {LOOM_OPERAND_BOOL, LOOM_DTYPE_NONE, 0, 0, 0.0, 0.0};
  operand.integer = value ? 1 : 0;
  return operand;
}

/* A complex number as an operand. */
static inline loom_operand loom_scalar_complex(double real, double imaginary,
                                               loom_dtype dtype) {
  loom_operand operand = {LOOM_OPERAND_COMPLEX, LOOM_DTYPE_NONE, 0, 0, 0.0, 0.0};
  operand.dtype = dtype;
  operand.real = real;
  operand.imaginary = imaginary;
  return operand;
}

/* Attributes by kind. Names, texts and arrays are kept by pointer. */
static inline loom_attr loom_attr_none(const char *name) {
  loom_attr attribute;
  attribute.name = name;
  attribute.kind = LOOM_ATTR_NONE;
  attribute.count = 0;
  attribute.value.integer = 0;
  return attribute;
}

static inline loom_attr loom_attr_bool(const char *name, bool value) {
  loom_attr attribute = loom_attr_none(name);
  attribute.kind = LOOM_ATTR_BOOL;
  attribute.value.boolean = value;
  return attribute;
}

static inline loom_attr loom_attr_int(const char *name, int64_t value) {
  loom_attr attribute = loom_attr_none(name);
  attribute.kind = LOOM_ATTR_INT;
  attribute.value.integer = value;
  return attribute;
}

static inline loom_attr loom_attr_float(const char *name, double value) {
  loom_attr attribute = loom_attr_none(name);
  attribute.kind = LOOM_ATTR_FLOAT;
  attribute.value.real = value;
  return attribute;
}

static inline loom_attr loom_attr_str(const char *name, const char *value) {
  loom_attr attribute = loom_attr_none(name);
  attribute.kind = value ? LOOM_ATTR_STR : LOOM_ATTR_NONE;
  attribute.value.text = value;
  return attribute;
}

/* LOOM_DTYPE_NONE gives the attribute as absent. */
static inline loom_attr loom_attr_dtype(const char *name, loom_dtype value) {
  loom_attr attribute = loom_attr_none(name);
  attribute.kind = value ? LOOM_ATTR_DTYPE : LOOM_ATTR_NONE;
  attribute.value.dtype = value;
  return attribute;
}

/* NULL gives the attribute as absent; an empty list is another pointer with count 0. */
static inline loom_attr loom_attr_ints(const char *name, const int64_t *values, size_t count) {
  loom_attr attribute = loom_attr_none(name);
  attribute.kind = values ? LOOM_ATTR_INTS : LOOM_ATTR_NONE;
  attribute.count = count;
  attribute.value.integers = values;
  return attribute;
}

static inline loom_attr loom_attr_floats(const char *name, const double *values, size_t count) {
  loom_attr attribute = loom_attr_none(name);
  attribute.kind = values ? LOOM_ATTR_FLOATS : LOOM_ATTR_NONE;
  attribute.count = count;
  attribute.value.reals = values;
  return attribute;
}

#ifdef __cplusplus
}
#endif

/* Calls that record or compute note the caller's line first. A name in parentheses,
   (loom_apply)(...), and a function pointer skip that; so does defining
   LOOM_NO_SOURCE_LOCATIONS before the header is included. */
#ifndef LOOM_NO_SOURCE_LOCATIONS
#define LOOM_HERE loom_set_source_location(__FILE__, __LINE__)
#define loom_tensor_from_host(...) (LOOM_HERE, loom_tensor_from_host(__VA_ARGS__))
#define loom_tensor_share_host(...) (LOOM_HERE, loom_tensor_share_host(__VA_ARGS__))
#define loom_tensor_read(...) (LOOM_HERE, loom_tensor_read(__VA_ARGS__))
#define loom_tensor_map(...) (LOOM_HERE, loom_tensor_map(__VA_ARGS__))
#define loom_apply(...) (LOOM_HERE, loom_apply(__VA_ARGS__))
#define loom_source(...) (LOOM_HERE, loom_source(__VA_ARGS__))
#define loom_boundary(...) (LOOM_HERE, loom_boundary(__VA_ARGS__))
#define loom_tensor_assign(...) (LOOM_HERE, loom_tensor_assign(__VA_ARGS__))
#define loom_tensor_detach(...) (LOOM_HERE, loom_tensor_detach(__VA_ARGS__))
#define loom_tensor_require_grad(...) (LOOM_HERE, loom_tensor_require_grad(__VA_ARGS__))
#define loom_grad(...) (LOOM_HERE, loom_grad(__VA_ARGS__))
#define loom_backward(...) (LOOM_HERE, loom_backward(__VA_ARGS__))
#define loom_sync(...) (LOOM_HERE, loom_sync(__VA_ARGS__))
#define loom_program_of(...) (LOOM_HERE, loom_program_of(__VA_ARGS__))
#endif

#endif /* LAZYLOOM_H */
