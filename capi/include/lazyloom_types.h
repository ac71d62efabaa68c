/* lazyloom_types.h: the constants, handles and structures of the C ABI, and short ways to fill in
   the structures. Part of the contract that lazyloom.h begins with; include that. */
#ifndef LAZYLOOM_TYPES_H
#define LAZYLOOM_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
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
  LOOM_ERROR_OUT_OF_MEMORY = 14,   /* as LOOM_ERROR_EXECUTION, for want of memory */
  LOOM_ERROR_NOT_INITIALIZED = 100, /* before loom_initialize() or after loom_shutdown() */
  LOOM_ERROR_START = 101,          /* the interpreter or the runtime could not be started */
  LOOM_ERROR_INTERNAL = 102,       /* a defect of lazyloom; the message says where */
  LOOM_ERROR_STACK = 103,          /* too little is left of the calling thread's stack */
  LOOM_ERROR_TIMEOUT = 104         /* loom_wait() waited as long as it was to */
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
  LOOM_OPTION_FORBID_READS = 2, /* a read is LOOM_ERROR_READ_FORBIDDEN (default 0) */
  LOOM_OPTION_REPRODUCIBLE = 3  /* programs are compiled whole before they run, so that results
                                   depend on what was recorded alone (default 0, or as
                                   LAZYLOOM_REPRODUCIBLE says) */
} loom_option;

typedef enum loom_log_level {
  LOOM_LOG_INFO = 1,    /* nothing is wrong: what was compiled, or loaded from disk */
  LOOM_LOG_WARNING = 2, /* something is slower than it could be, as a program that waits for its
                           compiler, or will change */
  LOOM_LOG_ERROR = 3    /* something failed that no call could report */
} loom_log_level;

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

typedef struct loom_capture {
  uint64_t bits;
} loom_capture; /* a recorded program that runs again; loom_capture_release() */

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
   LOOM_INT64, LOOM_FLOAT64 or LOOM_COMPLEX128 by its kind: of an op whose attribute dtype says that
   of the result, as loom_random_normal_with(), numbers are given with that one. */
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

/* NULL with count 0 gives the attribute as absent; an empty list is another pointer with it. */
static inline loom_attr loom_attr_ints(const char *name, const int64_t *values, size_t count) {
  loom_attr attribute = loom_attr_none(name);
  attribute.kind = values || count ? LOOM_ATTR_INTS : LOOM_ATTR_NONE;
  attribute.count = count;
  attribute.value.integers = values;
  return attribute;
}

static inline loom_attr loom_attr_floats(const char *name, const double *values, size_t count) {
  loom_attr attribute = loom_attr_none(name);
  attribute.kind = values || count ? LOOM_ATTR_FLOATS : LOOM_ATTR_NONE;
  attribute.count = count;
  attribute.value.reals = values;
  return attribute;
}

#ifdef __cplusplus
}
#endif

#endif /* LAZYLOOM_TYPES_H */
