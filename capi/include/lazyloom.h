/* lazyloom.h: the C ABI of Lazyloom, a lazy tensor runtime.

   This file is the contract, with lazyloom_types.h and lazyloom_runtime.h, which it includes: what
   is not declared in them is not public.

   Lazyloom records operations as they are called and compiles what was recorded,
   as one program, when a value is needed. loom_apply() and the typed wrappers of
   lazyloom_ops.h check shapes and dtypes at once and compute nothing;
   loom_tensor_read(), loom_tensor_map() and loom_sync() compute.

   Language. Plain C99, also valid C11, C17, C23 and C++11 to C++23. Needs <stdbool.h>,
   <stddef.h>, <stdint.h>.

   Status. Every function that can fail returns a loom_status, LOOM_OK (0) for
   success. The message of the last failure of a thread is kept for that thread
   (loom_error_message()); success does not clear it. No function prints, exits or
   aborts, and a message is data, never a format.

   Handles. loom_tensor, loom_buffer, loom_program, loom_capture, loom_linear_map,
   loom_quantized and loom_exported are 64-bit values, a type of their own each. A value
   is given out once and never again, so a stale handle, a handle released twice, a
   handle of another kind and arbitrary bits are all LOOM_ERROR_HANDLE and nothing
   worse. All bits zero is the null handle.

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

   A thread needs 192 KB of stack at a call, else the call is LOOM_ERROR_STACK (memory
   that is not the thread's own stack, as coroutines have, is not measured). Any
   floating-point environment may be set, with traps, another rounding or subnormals as
   zero: lazyloom computes in C's default one, and the caller's is there again after the
   call, its exception flags unchanged.

   fork(). After a fork every call in the child is LOOM_ERROR_FORK if loom_initialize()
   had been called before it, on any thread, and returned or not.

   The end. Where exit() has been called (handlers of atexit(), destructors of static
   objects), on a thread whose thread_local objects are destroyed, and after
   Py_Finalize(), calls are LOOM_ERROR_NOT_INITIALIZED, loom_shutdown() is LOOM_OK and
   does nothing, and a handle may be released or not. While a thread calls exit() or
   Py_Finalize(), no other may be inside a call.

   Numbers of things. A list that is given has at most 2^20 entries (operands,
   attributes and their values, tensors, results, dimensions); a larger count is
   LOOM_ERROR_ARGUMENT. One of no entries may be NULL.

   Loading. The library may be linked with, or opened with dlopen(), also with RTLD_LOCAL;
   it stays loaded after dlclose(). One copy of it can be started in a process; the start of
   another one is LOOM_ERROR_START, with the paths of both. It is linked with no Python:
   loom_initialize() takes the one that the process has, or opens libpython of the environment
   that the library's file lies in, or that the file liblazyloom.python beside it names.

   Environment. These variables have code loaded that they name, or run what they name:
   LAZYLOOM_BACKEND, LAZYLOOM_CODEGEN, LAZYLOOM_CODEGEN_PLUGINS, LAZYLOOM_COMPILER,
   LAZYLOOM_CACHE_DIR (of which machine code is loaded; it must be the user's own), XDG_CACHE_HOME
   and HOME (for its place), CC, PATH (for a C compiler), PJRT_NAMES_AND_LIBRARY_PATHS and
   JAX_PLATFORMS (by JAX), and the dynamic linker's. A program that runs with other rights than
   its user's (AT_SECURE) cannot be initialised: LOOM_ERROR_START.

   ABI changes, newest first (major: something was removed or changed its meaning;
   minor: something was added):
     1.9  loom_error_take(), _describe(), _restore(), _free(); loom_set_log();
          LOOM_TARGET_VERSION; lazyloom_runtime.h: loom_linear_map, loom_vjp(),
          loom_linearize(), loom_linear_map_apply(), _release(), loom_jvp(),
          loom_value_and_grad(), loom_jacobian(), loom_hessian(), loom_vmap(), loom_apply_custom(),
          loom_tensor_from_dlpack(), _unversioned(), loom_tensor_to_dlpack(), _unversioned(),
          loom_tensors_read(), loom_tensor_is_ready(), loom_wait(), loom_tensor_on_ready(),
          LOOM_ERROR_TIMEOUT; LOOM_OPTION_REPRODUCIBLE, loom_option_set(), loom_option_get(),
          loom_options_json(), loom_random_key(), loom_programs_of(), loom_evaluations_json(),
          loom_stats_reset(), loom_finish_compiling(), loom_platform(), loom_cache_dir(),
          loom_program_collectives(), loom_tensor_picture(), loom_codegen_measure(), _verify(),
          _segmented(), _failures(), _load(), loom_quantized, loom_quantize_function(),
          loom_quantized_run(), _json(), _release(), loom_program_picture(), loom_save_repro(),
          loom_distributed_barrier(), loom_tensor_local_part(), loom_tensor_from_local_part(),
          loom_memory(), loom_cache_save(), _load(), _report_json(), _list_json(),
          loom_profile_begin(), _end(), _json(), loom_exported, loom_export(), loom_export_with(),
          loom_load_program(), _with_engines(), loom_exported_run(), _seed(), _json(), _release()
     1.8  loom_set_error(), loom_copy_source_location()
     1.7  loom_devices(), loom_tensor_to_device(), loom_tensor_shard(), loom_tensor_placement(),
          loom_distributed_initialize(), _rank(), _finalize()
     1.6  loom_capture, loom_capture_begin(), _end(), _cancel(), _run(), _release(),
          loom_tensors_assign()
     1.5  loom_codegen_use(), _in_use(), _available(), loom_program_explain()
     1.4  loom_mark_dynamic(), loom_mark_static()
     1.3  loom_function, loom_scan(), loom_while_loop(), loom_cond()
     1.2  LOOM_ERROR_STACK, LOOM_ERROR_OUT_OF_MEMORY
     1.1  LOOM_ERROR_INDEX_RANGE
     1.0  first version
*/
#ifndef LAZYLOOM_H
#define LAZYLOOM_H

#include "lazyloom_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LOOM_ABI_MAJOR 1
#define LOOM_ABI_MINOR 9

/* A program that is to run with libraries of an older version defines LOOM_TARGET_VERSION as that
   one, LOOM_VERSION(1, 5), before it includes a header: what came later is then not declared. */
#define LOOM_VERSION(major, minor) ((major) << 16 | (minor))
#ifndef LOOM_TARGET_VERSION
#define LOOM_TARGET_VERSION LOOM_VERSION(LOOM_ABI_MAJOR, LOOM_ABI_MINOR)
#endif
#if LOOM_TARGET_VERSION < LOOM_VERSION(1, 0) || \
    LOOM_TARGET_VERSION > LOOM_VERSION(LOOM_ABI_MAJOR, LOOM_ABI_MINOR)
#error LOOM_TARGET_VERSION is no version of the ABI that this header knows: see LOOM_VERSION
#endif

#if defined(__GNUC__)
#define LOOM_API __attribute__((visibility("default")))
#define LOOM_CHECK __attribute__((warn_unused_result))
#else
#define LOOM_API
#define LOOM_CHECK
#endif

/* ---- version, start and end -------------------------------------------------- */

/* LOOM_ABI_MAJOR << 16 | LOOM_ABI_MINOR of the library. A program built against this
   header can use it if the majors are equal and the library's minor is not smaller.
   May be called at any time. */
LOOM_API uint32_t loom_abi_version(void);

/* The package's version, such as "0.1.0". Static. May be called at any time. */
LOOM_API const char *loom_version(void);

/* Starts the runtime. In a process without a Python interpreter this opens the
   environment that the library belongs to, without reading any environment
   variable of Python's and without installing signal handlers; in a Python process
   it joins the interpreter that runs, and shares its lazyloom. Calling it again is
   LOOM_OK and does nothing. Errors: LOOM_ERROR_START, LOOM_ERROR_FORK. */
LOOM_API LOOM_CHECK loom_status loom_initialize(void);

/* Releases every handle and waits for what is running. Later calls are
   LOOM_ERROR_NOT_INITIALIZED until loom_initialize() is called again; the
   interpreter itself stays loaded until the process ends. No other thread may be
   inside a call. LOOM_OK if nothing was started. Errors: LOOM_ERROR_ARGUMENT in a
   loom_function or a loom_ready_function. */
LOOM_API loom_status loom_shutdown(void);

/* Whether calls can be made: initialised, not shut down, not the child of a fork. */
LOOM_API bool loom_is_initialized(void);

/* Sets an option for the evaluations that this thread starts from now on.
   Errors: LOOM_ERROR_ARGUMENT. */
LOOM_API LOOM_CHECK loom_status loom_set_option(loom_option option, int64_t value);

/* Reads this thread's value of an option. value: out. */
LOOM_API LOOM_CHECK loom_status loom_get_option(loom_option option, int64_t *value);

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 9)
/* A function that hears what a person may want to know: a program that was compiled or waits for
   its compiler, a cache that cannot be written, what a strict mode or Python's modules warn of. message: in, UTF-8, one message
   without an end of line. It may be called on any thread, one call at a time, until the
   loom_set_log() that replaces it has returned; it must return, and not call lazyloom. */
typedef void (*loom_log_function)(loom_log_level level, const char *message, void *context);

/* Gives the messages of the process to a function. log: kept; NULL for none, as it is at first:
   then nothing is said, but on stderr what LAZYLOOM_LOG asks for. context: as given. least: the
   least level that is heard. In a process whose Python was there before, warnings and what other
   modules log stay where they are, and the levels of Python's logging hold.
   Errors: LOOM_ERROR_ARGUMENT for another level. */
LOOM_API LOOM_CHECK loom_status loom_set_log(loom_log_function log, void *context,
                                             loom_log_level least);
#endif

/* ---- errors of the calling thread -------------------------------------------- */

/* The status of this thread's last failure, LOOM_OK if there was none. */
LOOM_API loom_status loom_error_status(void);

/* The texts of this thread's last failure: what was wrong, what was given and
   expected; the op ("" if none); the user's file:line ("" if unknown). Owned by the
   library, valid until the next failure or loom_error_clear() on this thread. */
LOOM_API const char *loom_error_message(void);
LOOM_API const char *loom_error_op(void);
LOOM_API const char *loom_error_site(void);

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 8)
/* Makes an error of the caller's own this thread's last failure: for a loom_function that fails,
   which returns what this returns. message: in, copied; NULL is "". Returns status, or
   LOOM_ERROR_ARGUMENT for LOOM_OK. May be called at any time. */
LOOM_API loom_status loom_set_error(loom_status status, const char *message);
#endif

/* Forgets this thread's last failure. */
LOOM_API void loom_error_clear(void);

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 9)
/* A failure as an object, for who may go on on another thread than the one that the call failed on
   (goroutines, green threads), or keeps it. Its functions may be called at any time, on any
   thread, without loom_initialize(); two threads may read one at the same time. */
typedef struct loom_error loom_error;

/* What a failure is. New members are added at the end. */
typedef struct loom_error_details {
  size_t size;          /* in: sizeof(loom_error_details), of the header compiled with */
  loom_status status;
  const char *message;  /* as loom_error_message(); no text is NULL */
  const char *op;       /* as loom_error_op() */
  const char *site;     /* as loom_error_site() */
  const char *argument; /* which parameter, operand or attribute it is about, "" if not one */
  int64_t index;        /* which operand, or entry of a list, it is; -1 if neither */
  const char *expected; /* what the message says was expected, "" if it does not */
} loom_error_details;

/* Takes this thread's last failure away from it, which has none then. Gives an object that the
   caller owns, or NULL if there was no failure, or no memory (the failure then stays). */
LOOM_API loom_error *loom_error_take(void);

/* What a failure is. error: in; NULL for this thread's last one. details: in and out, its size is
   set; the texts are owned by the error: valid until it is freed, those of the thread as
   loom_error_message(). Errors: LOOM_ERROR_ARGUMENT for a size that cannot be. */
LOOM_API LOOM_CHECK loom_status loom_error_describe(const loom_error *error,
                                                    loom_error_details *details);

/* Makes a copy of it the last failure of the calling thread, as where it was found. error: in; NULL
   is loom_error_clear(). Returns its status. */
LOOM_API loom_status loom_error_restore(const loom_error *error);

/* Frees it. error: in; NULL does nothing. */
LOOM_API void loom_error_free(loom_error *error);
#endif

/* The name of a status, such as "LOOM_ERROR_SHAPE"; static, never NULL. */
LOOM_API const char *loom_status_name(loom_status status);

/* Says which line the calls that follow on this thread stand for: errors and
   evaluation records name it. file: kept, so it must stay valid and unchanged until the
   process ends (a literal does), or NULL for "unknown". The macros at the end of this
   header call this with __FILE__ and __LINE__. */
LOOM_API void loom_set_source_location(const char *file, int line);

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 8)
/* The same for a name that may change or go. file: in, copied, once for each name, and the copy
   stays until the process ends; NULL for "unknown". May be called at any time. */
LOOM_API void loom_copy_source_location(const char *file, int line);
#endif

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
   happens exactly once, on any thread, also if this call fails. done: kept; NULL for
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
   the library's (on a processor the tensor's own: not to be written), row-major, valid
   until loom_buffer_release(result); nbytes: out.
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
   entries, not NULL; result_count: out, how many the op has, may be NULL. Fails with
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
   stays a leaf, cut off from value's history. Any other target has value's history, and with it
   that of all earlier values that value was computed of: the state of an optimizer that is to
   have none is computed with the gradient switch off (loom_set_grad_enabled()), or detached.
   Errors: LOOM_ERROR_SHAPE, LOOM_ERROR_DTYPE, LOOM_ERROR_ALIAS. */
LOOM_API LOOM_CHECK loom_status loom_tensor_assign(loom_tensor target, loom_tensor value);

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 6)
/* loom_tensor_assign() of count tensors, each its value, in order. targets, values: in.
   After an error those before it are written. Errors as loom_tensor_assign(). */
LOOM_API LOOM_CHECK loom_status loom_tensors_assign(const loom_tensor *targets,
                                                    const loom_tensor *values, size_t count);
#endif

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

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 3)
/* ---- loops and branches ------------------------------------------------------ */

/* A function that a loop or a branch records. It is called once, on the calling thread and
   before the call that it was given to returns, with tensors that have a shape and a dtype
   and no contents; what it records with them is done in every step. To read them is
   LOOM_ERROR_READ_FORBIDDEN, and to write to tensors from outside LOOM_ERROR_ALIAS. It may
   use any tensor, and calls of this section.
   inputs: in, released after the function returns. outputs: output_count entries to fill,
   each a new handle that the caller of the function takes, or one of the inputs; of a tensor
   that is to stay, or is given twice, loom_tensor_retain() the handle. context: as given.
   Returns LOOM_OK, or the status of a call that failed, which is then that of the loop, with
   its message, or what loom_set_error() returns, for an error of its own.
   It must return: longjmp() out of it, an exception that leaves it, the end of its thread are
   errors that cannot be undone. Later calls of the thread are then LOOM_ERROR, and other
   threads may wait for ever. Functions in functions may be some dozens deep, beyond that
   LOOM_ERROR_STACK. loom_shutdown() in one is LOOM_ERROR_ARGUMENT.
   The function runs in C's default floating-point environment. */
typedef loom_status (*loom_function)(const loom_tensor *inputs, size_t input_count,
                                     loom_tensor *outputs, size_t output_count, void *context);

/* Records a loop over the elements of the first axis of xs, each step going on from the last.
   step: its inputs are the carry (carry_count) and one element of each of xs, its outputs
   the next carry, of the same shapes and dtypes, and what the step gives (ys_count).
   init: in, carry_count, the first carry. xs: in, xs_count, of equal first dimension.
   length: the number of steps, or -1 for that of xs. reverse: begin with the last element.
   results: new, carry_count + ys_count entries: the last carry, then what the steps gave,
   stacked along a new first axis. Gradients pass through it.
   Errors: LOOM_ERROR_ARGUMENT, _SHAPE, _HANDLE, and those of step. */
LOOM_API LOOM_CHECK loom_status loom_scan(loom_function step, void *context,
                                          const loom_tensor *init, size_t carry_count,
                                          const loom_tensor *xs, size_t xs_count, int64_t length,
                                          size_t ys_count, bool reverse, loom_tensor *results);

/* Records a loop of body while condition is true. condition: its inputs are the carry, its
   one output a bool without dimensions. body: takes the carry and gives the next one, of the
   same shapes and dtypes. init: in, carry_count, the first carry. max_steps: stop after so
   many, or -1. Gradients pass only with max_steps, and take as long as that many steps.
   results: new, carry_count entries: the last carry.
   Errors: LOOM_ERROR_ARGUMENT, _SHAPE, _HANDLE, and those of the functions. */
LOOM_API LOOM_CHECK loom_status loom_while_loop(loom_function condition, loom_function body,
                                                void *context, const loom_tensor *init,
                                                size_t carry_count, int64_t max_steps,
                                                loom_tensor *results);

/* Records one of two functions of the operands; the other one does not run. which: without
   dimensions, false if it is 0. The functions give tensors of the same shapes and dtypes.
   operands: in, operand_count. results: new, result_count entries. Gradients pass through it.
   Errors: LOOM_ERROR_ARGUMENT, _HANDLE, and those of the functions. */
LOOM_API LOOM_CHECK loom_status loom_cond(loom_tensor which, loom_function if_true,
                                          loom_function if_false, void *context,
                                          const loom_tensor *operands, size_t operand_count,
                                          loom_tensor *results, size_t result_count);
#endif

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 6)
/* ---- capture ----------------------------------------------------------------- */

/* A step that is the same each time can be recorded once and then run in one call, without being
   recorded:

     loom_capture_begin(inputs, 14);                  parameters, momenta, a batch
     ...                                              the step: ops, loom_grad(), assignments
     loom_capture_end(&loss, 1, &step);
     loom_capture_run(step, inputs, 14, &loss, 1);    with another batch in its place

   What is recorded between is recorded as ever, once, and its results may be read after the end.
   A run does the same over what its inputs hold then, and assigns to those of them that were
   assigned to: their memory of before is used again where nothing else can see it, so that
   nothing has to be given up or handed back. Results of a run, and what it assigns, have no
   history: gradients are taken inside. What a run gives equals what recording would have given;
   its program is the same one. */

/* Begins a capture on this thread. Until its end the thread may record from the inputs, and from
   tensors that it makes from host memory meanwhile, which stay as they are in every run; numbers
   stay, too, so that what changes from run to run has to be an input, as the counter of a random
   op. To read, map or sync is LOOM_ERROR_READ_FORBIDDEN, and to write to any other tensor from
   before LOOM_ERROR_ALIAS; so it is for other threads to write to its inputs meanwhile, since
   each run would do that again. inputs: in, count, each once; pending ones are scheduled; a leaf
   must not have collected a gradient.
   Errors: LOOM_ERROR_ARGUMENT, also inside another capture or a function of a loop; _HANDLE. */
LOOM_API LOOM_CHECK loom_status loom_capture_begin(const loom_tensor *inputs, size_t count);

/* Ends the capture of this thread, also where it fails. results: in, count, what each run gives.
   capture: new. Errors: LOOM_ERROR_ARGUMENT if none was begun, or what was recorded cannot run
   again: a tensor from before that is no input was used, an input has collected a gradient or
   become a leaf, the gradient switch is another than at the beginning. */
LOOM_API LOOM_CHECK loom_status loom_capture_end(const loom_tensor *results, size_t count,
                                                 loom_capture *capture);

/* Ends the capture of this thread and keeps nothing of it, as after a call that failed. What was
   recorded stays recorded. LOOM_OK if there is none. */
LOOM_API LOOM_CHECK loom_status loom_capture_cancel(void);

/* Runs it. inputs: in, input_count, of the number, shapes and dtypes that it was captured with,
   leaves where those were leaves; one that is assigned to must be given once. results: new,
   result_count, of the number that it was captured with. What the run fails with is the error of
   those who read its results. A capture may be run by several threads at a time; inputs that it
   assigns to must be each thread's own, others may be shared. Not between loom_capture_begin() and its end.
   Errors: LOOM_ERROR_ARGUMENT, _SHAPE, _DTYPE, naming the input; _HANDLE. */
LOOM_API LOOM_CHECK loom_status loom_capture_run(loom_capture capture, const loom_tensor *inputs,
                                                 size_t input_count, loom_tensor *results,
                                                 size_t result_count);

/* Ends the use of a capture. Results of its runs stay. Errors: LOOM_ERROR_HANDLE. */
LOOM_API loom_status loom_capture_release(loom_capture capture);
#endif

/* ---- evaluation -------------------------------------------------------------- */

/* Schedules everything given, with the pending work connected to it, as one program
   each; with wait, returns when it has been computed, or with the run's error.
   tensors: in. */
LOOM_API LOOM_CHECK loom_status loom_sync(const loom_tensor *tensors, size_t count, bool wait);

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 4)
/* Says that an extent of an input changes from run to run. Programs that differ in it alone
   are then padded to one as soon as a second extent is seen; without it, once that has paid.
   To be said of each new input; what is pending is computed first. Results are those without
   padding, up to the order of sums. axis: may count from the end. minimum, maximum: the
   smallest and the largest extent that there will be, -1 for one that is not known; where the
   largest is known, one program serves all extents.
   Errors: LOOM_ERROR_ARGUMENT if there is no such axis, or its extent is not within the
   bounds. */
LOOM_API LOOM_CHECK loom_status loom_mark_dynamic(loom_tensor tensor, int64_t axis,
                                                  int64_t minimum, int64_t maximum);

/* Says that extents of an input are never padded. axes: in, axis_count; NULL with 0 for all.
   What is pending is computed first. Errors: LOOM_ERROR_ARGUMENT if there is no such axis. */
LOOM_API LOOM_CHECK loom_status loom_mark_static(loom_tensor tensor, const int64_t *axes,
                                                 size_t axis_count);
#endif

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 5)
/* Chooses the code generators of the process, those that win first, for programs compiled from
   then on. "xla" is XLA, which gets what they leave; no name is "xla" alone. names: in, count.
   Errors: LOOM_ERROR_ARGUMENT for a name that is not known; the choice is then as before. */
LOOM_API LOOM_CHECK loom_status loom_codegen_use(const char *const *names, size_t count);

/* The code generators in use, those that win first, separated by commas; "xla" if there is none. */
LOOM_API LOOM_CHECK loom_status loom_codegen_in_use(char *buffer, size_t capacity, size_t *needed);

/* All code generators beside XLA, separated by commas. */
LOOM_API LOOM_CHECK loom_status loom_codegen_available(char *buffer, size_t capacity,
                                                       size_t *needed);
#endif

/* ---- observation ------------------------------------------------------------- */

/* The program that computes these pending tensors; LOOM_ERROR_ARGUMENT if none of them is
   pending, or more than one program computes them. tensors: in. result: new. */
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

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 5)
/* Which code generator in use gets which op of a program, or why none does; for people. Of more
   than 32 ops they are grouped. Errors: LOOM_ERROR_ARGUMENT if needed is NULL and it is cut. */
LOOM_API LOOM_CHECK loom_status loom_program_explain(loom_program program, char *buffer,
                                                     size_t capacity, size_t *needed);
#endif

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

#ifdef __cplusplus
}
#endif

#include "lazyloom_runtime.h"

/* Calls that can fail note the caller's line first. A name in parentheses, (loom_apply)(...), and a
   function pointer skip that. Where a member of a class or a structure has such a name, #undef it
   after the include; (LOOM_HERE, loom_apply(...)) notes the line by hand then. None is defined
   with LOOM_NO_SOURCE_LOCATIONS, defined before the include. */
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
#define loom_tensors_assign(...) (LOOM_HERE, loom_tensors_assign(__VA_ARGS__))
#define loom_tensor_detach(...) (LOOM_HERE, loom_tensor_detach(__VA_ARGS__))
#define loom_tensor_require_grad(...) (LOOM_HERE, loom_tensor_require_grad(__VA_ARGS__))
#define loom_grad(...) (LOOM_HERE, loom_grad(__VA_ARGS__))
#define loom_backward(...) (LOOM_HERE, loom_backward(__VA_ARGS__))
#define loom_scan(...) (LOOM_HERE, loom_scan(__VA_ARGS__))
#define loom_while_loop(...) (LOOM_HERE, loom_while_loop(__VA_ARGS__))
#define loom_cond(...) (LOOM_HERE, loom_cond(__VA_ARGS__))
#define loom_capture_begin(...) (LOOM_HERE, loom_capture_begin(__VA_ARGS__))
#define loom_capture_end(...) (LOOM_HERE, loom_capture_end(__VA_ARGS__))
#define loom_capture_run(...) (LOOM_HERE, loom_capture_run(__VA_ARGS__))
#define loom_sync(...) (LOOM_HERE, loom_sync(__VA_ARGS__))
#define loom_mark_dynamic(...) (LOOM_HERE, loom_mark_dynamic(__VA_ARGS__))
#define loom_mark_static(...) (LOOM_HERE, loom_mark_static(__VA_ARGS__))
#define loom_program_of(...) (LOOM_HERE, loom_program_of(__VA_ARGS__))
#define loom_buffer_release(...) (LOOM_HERE, loom_buffer_release(__VA_ARGS__))
#define loom_capture_cancel(...) (LOOM_HERE, loom_capture_cancel(__VA_ARGS__))
#define loom_capture_release(...) (LOOM_HERE, loom_capture_release(__VA_ARGS__))
#define loom_codegen_available(...) (LOOM_HERE, loom_codegen_available(__VA_ARGS__))
#define loom_codegen_in_use(...) (LOOM_HERE, loom_codegen_in_use(__VA_ARGS__))
#define loom_codegen_use(...) (LOOM_HERE, loom_codegen_use(__VA_ARGS__))
#define loom_get_option(...) (LOOM_HERE, loom_get_option(__VA_ARGS__))
#define loom_initialize(...) (LOOM_HERE, loom_initialize(__VA_ARGS__))
#define loom_last_evaluation(...) (LOOM_HERE, loom_last_evaluation(__VA_ARGS__))
#define loom_last_program(...) (LOOM_HERE, loom_last_program(__VA_ARGS__))
#define loom_live_handles(...) (LOOM_HERE, loom_live_handles(__VA_ARGS__))
#define loom_op_count(...) (LOOM_HERE, loom_op_count(__VA_ARGS__))
#define loom_op_describe(...) (LOOM_HERE, loom_op_describe(__VA_ARGS__))
#define loom_op_name(...) (LOOM_HERE, loom_op_name(__VA_ARGS__))
#define loom_program_explain(...) (LOOM_HERE, loom_program_explain(__VA_ARGS__))
#define loom_program_key(...) (LOOM_HERE, loom_program_key(__VA_ARGS__))
#define loom_program_op_count(...) (LOOM_HERE, loom_program_op_count(__VA_ARGS__))
#define loom_program_release(...) (LOOM_HERE, loom_program_release(__VA_ARGS__))
#define loom_program_text(...) (LOOM_HERE, loom_program_text(__VA_ARGS__))
#define loom_set_grad_enabled(...) (LOOM_HERE, loom_set_grad_enabled(__VA_ARGS__))
#define loom_set_log(...) (LOOM_HERE, loom_set_log(__VA_ARGS__))
#define loom_set_option(...) (LOOM_HERE, loom_set_option(__VA_ARGS__))
#define loom_shutdown(...) (LOOM_HERE, loom_shutdown(__VA_ARGS__))
#define loom_stat(...) (LOOM_HERE, loom_stat(__VA_ARGS__))
#define loom_stats_json(...) (LOOM_HERE, loom_stats_json(__VA_ARGS__))
#define loom_tensor_clear_gradient(...) (LOOM_HERE, loom_tensor_clear_gradient(__VA_ARGS__))
#define loom_tensor_dtype(...) (LOOM_HERE, loom_tensor_dtype(__VA_ARGS__))
#define loom_tensor_gradient(...) (LOOM_HERE, loom_tensor_gradient(__VA_ARGS__))
#define loom_tensor_is_pending(...) (LOOM_HERE, loom_tensor_is_pending(__VA_ARGS__))
#define loom_tensor_nbytes(...) (LOOM_HERE, loom_tensor_nbytes(__VA_ARGS__))
#define loom_tensor_ndim(...) (LOOM_HERE, loom_tensor_ndim(__VA_ARGS__))
#define loom_tensor_release(...) (LOOM_HERE, loom_tensor_release(__VA_ARGS__))
#define loom_tensor_requires_grad(...) (LOOM_HERE, loom_tensor_requires_grad(__VA_ARGS__))
#define loom_tensor_retain(...) (LOOM_HERE, loom_tensor_retain(__VA_ARGS__))
#define loom_tensor_shape(...) (LOOM_HERE, loom_tensor_shape(__VA_ARGS__))
#define loom_tensors_release(...) (LOOM_HERE, loom_tensors_release(__VA_ARGS__))
#endif

#endif /* LAZYLOOM_H */
