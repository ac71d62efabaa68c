/* lazyloom_runtime.h: what the runtime can do beside recording and computing: devices and
   processes, transforms of functions, derivatives of the caller's own, DLPack, waiting,
   observation, quantisation. Part of the contract that lazyloom.h begins with; include that. */
#ifndef LAZYLOOM_H
#include "lazyloom.h"
#elif !defined(LAZYLOOM_RUNTIME_H)
#define LAZYLOOM_RUNTIME_H

#ifdef __cplusplus
extern "C" {
#endif

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 7)
/* ---- devices, meshes and processes ------------------------------------------- */

/* The names of this process's devices, such as "cpu:0", separated by commas. The environment
   variable JAX_NUM_CPU_DEVICES, set before anything is computed, divides the processor into
   several; LAZYLOOM_DEVICE names the default one. */
LOOM_API LOOM_CHECK loom_status loom_devices(char *buffer, size_t capacity, size_t *needed);

/* A copy on another device, or the same contents if they are there. It is recorded, not waited
   for, and gradients go back. What is computed of it is computed there; values of the default
   device go along. device: one of loom_devices(), or NULL for the default one. result: new.
   Errors: LOOM_ERROR_ARGUMENT if there is no such device. */
LOOM_API LOOM_CHECK loom_status loom_tensor_to_device(loom_tensor tensor, const char *device,
                                                      loom_tensor *result);

/* The same contents divided over a mesh of devices. On a mesh where they are already, this is a
   constraint of the program, which XLA divides. mesh: names and sizes of its axes, the outermost
   first, such as "data=4,model=2". devices: those of the mesh in that order, separated by
   commas; or NULL for the first ones of this process, or of all processes together after
   loom_distributed_initialize(). spec: for each dimension, separated by semicolons, the axes
   that divide it, separated by commas, such as "data" or ";model"; "" for whole on each
   device. result: new. Errors: LOOM_ERROR_ARGUMENT for axes and devices that are not there, and
   for a dimension that is no multiple of its parts. */
LOOM_API LOOM_CHECK loom_status loom_tensor_shard(loom_tensor tensor, const char *mesh,
                                                  const char *devices, const char *spec,
                                                  loom_tensor *result);

/* Where a tensor is or will be: "default:0", a device, or a mesh and how it is divided, such as
   "cpu:0,1[data=2](data)", or "cpu:0,1 of ranks 0,1[data=4](data)" on one of several processes.
   A result that XLA divides as it likes ends without parentheses until it is computed.
   Errors: LOOM_ERROR_HANDLE. */
LOOM_API LOOM_CHECK loom_status loom_tensor_placement(loom_tensor tensor, char *buffer,
                                                      size_t capacity, size_t *needed);

/* Makes this process one of several that compute together, before anything is computed; each of
   them calls it. The ops of collectives (loom_all_reduce() and its kin) then take ranks as their
   attribute group, and the number of processes as world. address: "host:port" of rank 0, or NULL
   for what MASTER_ADDR and MASTER_PORT say; world_size, rank: -1 for WORLD_SIZE and RANK, as
   torchrun sets them; timeout: seconds for which others are waited for, 0 for 300. Without any of
   them the process is alone. loom_sync() without wait hands work over where nothing is read.
   Errors: LOOM_ERROR_ARGUMENT; LOOM_ERROR_EXECUTION if the others do not come, naming them. */
LOOM_API LOOM_CHECK loom_status loom_distributed_initialize(const char *address,
                                                            int64_t world_size, int64_t rank,
                                                            double timeout);

/* The number of this process and of all that compute together; 0 and 1 if it is alone.
   rank, world_size: out, may be NULL. */
LOOM_API LOOM_CHECK loom_status loom_distributed_rank(int64_t *rank, int64_t *world_size);

/* Ends the connections to the others, once all have come here. What was computed can be read
   afterwards. LOOM_OK if the process is alone. */
LOOM_API LOOM_CHECK loom_status loom_distributed_finalize(void);
#endif

#if LOOM_TARGET_VERSION >= LOOM_VERSION(1, 9)
/* ---- transforms of functions --------------------------------------------------- */

/* These take a loom_function and give its derivatives, or what it does with a whole axis. It is
   called once, on the calling thread, before the call returns, as in a loop (what is said there of
   its inputs, outputs and ends holds here), but on the tensors that were given: it may read, write
   and branch on data, and the derivative is that of the way it took. Tensors that it uses beside
   its inputs are constants to it; results can be differentiated by them all the same, where they
   require a gradient. Transforms nest in any order, also in loops and branches. What is computed is
   recorded, not waited for. Results are computed once they are read.

   positions: in, position_count, the inputs to differentiate by, each once; NULL for all of them,
   and position_count is then that of the inputs.
   Errors of all: LOOM_ERROR_GRADIENT for a result, or an input of those, whose dtype has no
   derivative; LOOM_ERROR_ARGUMENT, _SHAPE, _HANDLE; those of the function. */

typedef struct loom_linear_map {
  uint64_t bits;
} loom_linear_map; /* the derivative of a function at its inputs; loom_linear_map_release() */

/* The results of a function and the map that pulls cotangents back through it.
   inputs: in, input_count. outputs: new, output_count, what the function gave. pullback: new; it
   takes a cotangent for each output and gives one for each input, the null handle for one whose
   dtype has no derivative. */
LOOM_API LOOM_CHECK loom_status loom_vjp(loom_function function, void *context,
                                         const loom_tensor *inputs, size_t input_count,
                                         loom_tensor *outputs, size_t output_count,
                                         loom_linear_map *pullback);

/* The results of a function and the map that pushes tangents forward through it, from one for each
   input to one for each output. pushforward: new; the others as loom_vjp(). */
LOOM_API LOOM_CHECK loom_status loom_linearize(loom_function function, void *context,
                                               const loom_tensor *inputs, size_t input_count,
                                               loom_tensor *outputs, size_t output_count,
                                               loom_linear_map *pushforward);

/* Records a linear map of tensors; any number of times, and the function is not called again.
   given: in, given_count, of the shapes and dtypes of the outputs for a pullback, of the inputs for
   a pushforward; the null handle is zero. results: new, result_count, of those of the other side.
   Errors: LOOM_ERROR_ARGUMENT for another number; _SHAPE, _GRADIENT, _HANDLE. */
LOOM_API LOOM_CHECK loom_status loom_linear_map_apply(loom_linear_map map,
                                                      const loom_tensor *given,
                                                      size_t given_count, loom_tensor *results,
                                                      size_t result_count);

/* Ends the use of a map, and of what it keeps of the computation. Errors: LOOM_ERROR_HANDLE. */
LOOM_API loom_status loom_linear_map_release(loom_linear_map map);

/* The results of a function and their derivatives along tangents. inputs, tangents: in,
   input_count; the null handle is a tangent that is zero, as that of an input whose dtype has no
   derivative must be. outputs, output_tangents: new, output_count. */
LOOM_API LOOM_CHECK loom_status loom_jvp(loom_function function, void *context,
                                         const loom_tensor *inputs, const loom_tensor *tangents,
                                         size_t input_count, loom_tensor *outputs,
                                         loom_tensor *output_tangents, size_t output_count);

/* The results of a function and the gradient of the first of them, a floating-point tensor without
   dimensions. outputs: new, output_count, 1 or more: what comes after the first is passed on as it
   is. gradients: new, position_count, each of its input's shape and dtype. */
LOOM_API LOOM_CHECK loom_status loom_value_and_grad(loom_function function, void *context,
                                                    const loom_tensor *inputs, size_t input_count,
                                                    const size_t *positions, size_t position_count,
                                                    loom_tensor *outputs, size_t output_count,
                                                    loom_tensor *gradients);

typedef enum loom_direction {
  LOOM_DIRECTION_ANY = 0,     /* the one of which there are fewer passes */
  LOOM_DIRECTION_FORWARD = 1, /* a pass for each element of the inputs, all at once */
  LOOM_DIRECTION_REVERSE = 2  /* a pass for each element of the outputs, all at once */
} loom_direction;

/* The derivatives of each element of the outputs by each element of the inputs. results: new,
   output_count times position_count, those of the first output first, each of the shape of the
   output followed by that of the input. holomorphic: the function has complex inputs and outputs
   and is complex-differentiable. */
LOOM_API LOOM_CHECK loom_status loom_jacobian(loom_function function, void *context,
                                              const loom_tensor *inputs, size_t input_count,
                                              const size_t *positions, size_t position_count,
                                              size_t output_count, loom_direction direction,
                                              bool holomorphic, loom_tensor *results);

/* The second derivatives. results: new, output_count times position_count times position_count,
   the last position varying first, each of the shape of the output followed by those of the two
   inputs. */
LOOM_API LOOM_CHECK loom_status loom_hessian(loom_function function, void *context,
                                             const loom_tensor *inputs, size_t input_count,
                                             const size_t *positions, size_t position_count,
                                             size_t output_count, loom_tensor *results);

/* As an entry of in_axes or out_axes: the tensor has no such axis. */
#define LOOM_UNMAPPED INT64_MIN

/* Does for each element of an axis what the function does for one. Here the function gets tensors
   without that axis and, where they had it, without contents: to read what depends on them is
   LOOM_ERROR_READ_FORBIDDEN, and to write to tensors from outside LOOM_ERROR_ALIAS.
   inputs: in, input_count. in_axes: in, input_count, the axis of each, which may count from the
   end, or LOOM_UNMAPPED; NULL for the first of all. axis_size: -1, or the size where no input has
   the axis. out_axes: in, result_count, where the axis is put; LOOM_UNMAPPED for a result that
   does not depend on it; NULL for first. results: new, result_count. */
LOOM_API LOOM_CHECK loom_status loom_vmap(loom_function function, void *context,
                                          const loom_tensor *inputs, size_t input_count,
                                          const int64_t *in_axes, int64_t axis_size,
                                          const int64_t *out_axes, loom_tensor *results,
                                          size_t result_count);

/* ---- derivatives of your own --------------------------------------------------- */

/* An op of the caller's: a function that computes, and its derivatives. New members are added at
   the end. */
typedef struct loom_custom_op {
  size_t size;           /* in: sizeof(loom_custom_op), of the header compiled with */
  loom_function forward; /* gives the outputs for the inputs, which have no history here; what it
                            records has no gradient of its own. Called once, by the call. It may
                            read, and may make its outputs from host memory: a function of the
                            host is an op so */
  loom_function vjp;     /* its inputs are those of forward, its outputs, and a cotangent for each
                            output, zero where there is none; it gives a cotangent for each input
                            of forward, or the null handle for none. Called once in each pass that
                            takes a gradient through it, on that thread, and recorded like
                            anything else, so that it can be differentiated again, and mapped.
                            NULL: such a pass is LOOM_ERROR_GRADIENT */
  loom_function jvp;     /* its inputs are those of forward, its outputs, and a tangent for each
                            input; it gives a tangent for each output, or the null handle for
                            none. NULL: such a pass is LOOM_ERROR_GRADIENT */
  void *context;         /* of the three */
  void (*done)(void *context); /* called exactly once, when no call will need the context any
                            more, on any thread, at the latest in loom_shutdown(); also if the
                            call fails. It must not call lazyloom. May be NULL */
  const char *name;      /* what messages call it; copied; NULL for "custom" */
} loom_custom_op;

/* Computes something of the caller's whose derivatives the caller gives. custom: in, not NULL; if
   it is of a wrong size, nothing of it is looked at and done is not called. inputs: in, input_count;
   they are kept for the derivatives. outputs: new, output_count, 1 or more. In a function of a loop
   or a branch no gradient passes through it: LOOM_ERROR_GRADIENT where one is to.
   Errors: LOOM_ERROR_ARGUMENT, _HANDLE, those of forward; those of the derivatives are errors of
   the call that takes them, LOOM_ERROR_GRADIENT for one of a wrong shape or dtype. */
LOOM_API LOOM_CHECK loom_status loom_apply_custom(const loom_custom_op *custom,
                                                  const loom_tensor *inputs, size_t input_count,
                                                  loom_tensor *outputs, size_t output_count);

/* ---- DLPack ---------------------------------------------------------------------- */

/* Tensors from other libraries and for them, by DLPack 1.x, in the memory of the host; the
   structures are those of dlpack.h, in C and C++ alike. */
struct DLManagedTensorVersioned;
struct DLManagedTensor;

/* A tensor of another library's, in place where it can be: row-major, aligned, not bool. managed:
   in; once the call has succeeded it belongs to lazyloom, which calls its deleter exactly once, on
   any thread, when nothing uses the memory any more (one of the calls that follow lets go of it),
   or in this call where it was copied;
   after a failure it is the caller's as before. Its memory is never written, whether its flags say
   read-only or not, and must not be changed until the deleter is called. copy: true for memory of
   lazyloom's own in any case. result: new.
   Errors: LOOM_ERROR_ARGUMENT for another major version, a device that is not the host, strides
   or a shape that cannot be; LOOM_ERROR_DTYPE, _SHAPE. */
LOOM_API LOOM_CHECK loom_status
loom_tensor_from_dlpack(struct DLManagedTensorVersioned *managed, bool copy, loom_tensor *result);

/* The same for the structure of before DLPack 1.0, as loom_tensor_from_dlpack(). result: new. */
LOOM_API LOOM_CHECK loom_status
loom_tensor_from_dlpack_unversioned(struct DLManagedTensor *managed, bool copy,
                                    loom_tensor *result);

/* Computes the tensor if it is pending and gives its contents to another library: row-major, with
   strides, version 1.0. On a processor they are the tensor's own memory, and flagged read-only:
   later writes to the tensor do not change them. copy: true for memory that the other library may
   write, flagged as copied. result: out, not NULL, owned by the caller, who calls its deleter; NULL
   after a failure. The memory stays until then, also after loom_shutdown(); the deleter may be called on
   any thread, at any time. loom_live_handles() counts it till then.
   Errors as loom_tensor_read(). */
LOOM_API LOOM_CHECK loom_status loom_tensor_to_dlpack(loom_tensor tensor, bool copy,
                                                      struct DLManagedTensorVersioned **result);

/* The same for the structure of before DLPack 1.0: always a copy, as it cannot say that memory is
   not to be written. */
LOOM_API LOOM_CHECK loom_status
loom_tensor_to_dlpack_unversioned(loom_tensor tensor, struct DLManagedTensor **result);

/* ---- to wait, and not to wait ---------------------------------------------------- */

/* loom_tensor_read() of several tensors, which are scheduled together first. tensors: in, count.
   buffers: in, count pointers to memory that is written; one may be NULL where nbytes is 0.
   nbytes: in, count, the size of each. If a number is wrong nothing is computed; after another
   failure the buffers before that of the tensor that it names are written. */
LOOM_API LOOM_CHECK loom_status loom_tensors_read(const loom_tensor *tensors,
                                                  void *const *buffers, const size_t *nbytes,
                                                  size_t count);

/* Whether a read would not wait: the contents are there, or what was to compute them has failed.
   Nothing is scheduled. result: out. */
LOOM_API LOOM_CHECK loom_status loom_tensor_is_ready(loom_tensor tensor, bool *result);

/* loom_sync() that waits no longer than timeout seconds; a negative one is no limit, and
   infinity none either. With a limit the work is scheduled on a thread of the library's, with this
   thread's options, and what is not ready in time goes on. tensors: in, count.
   Errors: LOOM_ERROR_TIMEOUT, as often as that happens; LOOM_ERROR_ARGUMENT for a NaN; those of
   loom_sync(). The end of the main thread waits for what goes on, and for calls of
   loom_tensor_on_ready(), up to a minute; before exit() on another thread, call loom_shutdown(). */
LOOM_API LOOM_CHECK loom_status loom_wait(const loom_tensor *tensors, size_t count,
                                          double timeout);

/* A function that hears that a tensor is ready. status: LOOM_OK, or the error of the run that was
   to compute it, which is then that thread's last failure. context: as given.
   It is called on a thread of the library's, one call at a time, in the order in which it was
   asked for, and may call lazyloom, but for loom_initialize() and loom_shutdown(), which are
   LOOM_ERROR_ARGUMENT there. It must return, as a loom_function. */
typedef void (*loom_ready_function)(loom_status status, void *context);

/* Schedules a tensor as loom_sync() without wait and has a function called, exactly once, when it
   is ready; the tensor may be released meanwhile. loom_shutdown() waits for all these calls, in
   which lazyloom is LOOM_ERROR_NOT_INITIALIZED by then. After a failure of this call the function
   is not called. Errors: LOOM_ERROR_ARGUMENT, _HANDLE, those of loom_sync(). */
LOOM_API LOOM_CHECK loom_status loom_tensor_on_ready(loom_tensor tensor,
                                                     loom_ready_function function,
                                                     void *context);

/* ---- random keys ----------------------------------------------------------------- */

/* The key of a seed, as random ops take one: uint32[2], the upper 32 bits of the seed and the lower
   ones. Equal keys draw equal numbers, in all frontends, so that each draw needs another one:
   loom_random_fold_in() of a key and the number of the draw, or loom_random_split(). In a captured
   step the number is an input. result: new. */
LOOM_API LOOM_CHECK loom_status loom_random_key(uint64_t seed, loom_tensor *result);

/* ---- options by name ------------------------------------------------------------- */

/* Sets an option by its name, for this thread if it is true or false (0 or 1), "warmup", or a
   strict mode ("reads", "compiles", "transfers", "fallbacks", "nan": 0 allows, 1 warns by
   loom_set_log(), 2 is an error of the call), for the process if it is another number; docs/options.md and
   loom_options_json() have them. previous: out, its value before, may be NULL. Errors:
   LOOM_ERROR_ARGUMENT for another name, or a value that it cannot have. */
LOOM_API LOOM_CHECK loom_status loom_option_set(const char *name, double value,
                                                double *previous);

/* Reads an option. value: out. */
LOOM_API LOOM_CHECK loom_status loom_option_get(const char *name, double *value);

/* All options as a JSON object: of each its "value" and "scope" ("thread" or "process"), and for a
   number "default", "minimum", "maximum" (or null), "unit" and "doc". */
LOOM_API LOOM_CHECK loom_status loom_options_json(char *buffer, size_t capacity, size_t *needed);

/* ---- more observation ------------------------------------------------------------ */

/* The programs that reading these pending tensors would run, in order; nothing runs. tensors: in,
   count. results: new, the first capacity of them; result_count: out, how many there are, may be
   NULL. Errors: LOOM_ERROR_ARGUMENT if none of the tensors is pending. */
LOOM_API LOOM_CHECK loom_status loom_programs_of(const loom_tensor *tensors, size_t count,
                                                 loom_program *results, size_t capacity,
                                                 size_t *result_count);

/* The records of the newest evaluations as a JSON array, oldest first: of each "number", "reason",
   "cause" (a code of it), "site", "library" (the line of an installed package through which it
   came, or null), "program" (its key), "ops", "found", "form", "why", "choice" (a code of that),
   "backend", "new" (true if its structure ran first), "difference" (or null), "changes" (each with
   "kind", "number", "op", "name", "now", "before" and "text"), "seconds" (by phase), "bytes_in",
   "bytes_uploaded", "bytes_out", "bytes_donated", "copied" and "error" (or null).
   count: how many at most, 0 for all that are kept (the option records_kept). */
LOOM_API LOOM_CHECK loom_status loom_evaluations_json(size_t count, char *buffer,
                                                      size_t capacity, size_t *needed);

/* Begins a profile of the process: until loom_profile_end() it notes, by the lines that calls
   come from, what runs, is read and uploaded, in all threads, and why that takes long. path: in, a
   file for the report, written at the end: a page for a name that ends in ".html", JSON for ".json",
   a timeline for Perfetto for ".trace.json", text for any other; NULL for none. sources: whether it
   may have lines of the program's source. Errors: LOOM_ERROR_ARGUMENT if one is being made. */
LOOM_API LOOM_CHECK loom_status loom_profile_begin(const char *path, bool sources);

/* Ends it; loom_shutdown() does, too. Errors: LOOM_ERROR_ARGUMENT if none was begun, and if the
   file cannot be written: then it has ended, and loom_profile_json() has the report. */
LOOM_API LOOM_CHECK loom_status loom_profile_end(void);

/* The report of the profile that ended last, as a JSON object: "format", "about", "machine",
   "findings", "failures", "restarts", "lines", "programs", "evaluations" and "counters". "{}" before
   the first. */
LOOM_API LOOM_CHECK loom_status loom_profile_json(char *buffer, size_t capacity, size_t *needed);

/* What memory holds. New members are added at the end. */
typedef struct loom_memory_figures {
  size_t size;         /* in: sizeof(loom_memory_figures), of the header compiled with */
  size_t tensors;      /* tensors with a live handle */
  size_t tensor_bytes; /* of those that are computed or being computed, each contents once */
  size_t pending;      /* of those that are recorded, and hold no memory of their own yet */
  size_t resident;     /* bytes of the process in memory, lazyloom's or not; 0 where unknown */
  size_t peak;         /* the most that it was */
} loom_memory_figures;

/* figures: in and out, its size is set. What gradients, loops and captures keep beside tensors with
   a handle is part of resident alone; what programs took and gave, loom_evaluations_json() has.
   Errors: LOOM_ERROR_ARGUMENT for a size that cannot be. */
LOOM_API LOOM_CHECK loom_status loom_memory(loom_memory_figures *figures);

/* Has loom_stat() and loom_stats_json() count from 0 again, for the process. */
LOOM_API LOOM_CHECK loom_status loom_stats_reset(void);

/* Waits until nothing is compiled beside the program, or waits to be, but no longer than timeout
   seconds; a negative one is no limit. finished: out, whether nothing was left; may be NULL. */
LOOM_API LOOM_CHECK loom_status loom_finish_compiling(double timeout, bool *finished);

/* The kind of device that programs run on: "cpu", "gpu" or "tpu". */
LOOM_API LOOM_CHECK loom_status loom_platform(char *buffer, size_t capacity, size_t *needed);

/* The folder of the disk cache, in the bytes that the system has for it. Programs of all languages are found in it; a copy of the folder, on
   a machine of the same kind, is a cache that is warm. */
LOOM_API LOOM_CHECK loom_status loom_cache_dir(char *buffer, size_t capacity, size_t *needed);

/* Writes what this process has used of the disk cache to one file, for loom_cache_load() on
   machines of the same kind: executables, kernels, lowerings, and what was learned of its programs.
   path: in. timeout: seconds to wait for programs that are compiled beside this one, negative for
   no limit; what is not compiled by then is left out. entries: out, how many were written, may be
   NULL. Errors: LOOM_ERROR_ARGUMENT if the file cannot be written, or the disk cache is off. */
LOOM_API LOOM_CHECK loom_status loom_cache_save(const char *path, double timeout,
                                                size_t *entries);

/* Takes such a file into the disk cache, before the first program runs. What is of no use here (of
   another version, processor, flag or code generator, or damaged) is refused, entry by entry, and
   compiled as without the file. Executables are machine code and are run: checksums find damage,
   not malice. path: in. usable: out, how many entries are of use here, may be NULL. refused: out,
   how many are not, may be NULL. Errors: LOOM_ERROR_ARGUMENT if it is no such file, its list of
   contents is damaged, it cannot be read, or the disk cache is off. */
LOOM_API LOOM_CHECK loom_status loom_cache_load(const char *path, size_t *usable,
                                                size_t *refused);

/* What this process's newest loom_cache_save() or loom_cache_load() has to say, as a JSON object:
   "file", "nbytes", "compiling" (programs that were left out), "artifacts", of each "kind", "name",
   "nbytes", "status" and "reason", and "environments", of each "scope", "fingerprint" and "about".
   Before the first it is {}. */
LOOM_API LOOM_CHECK loom_status loom_cache_report_json(char *buffer, size_t capacity,
                                                       size_t *needed);

/* The list of contents of a file of loom_cache_save(), likewise; nothing is loaded. path: in.
   Errors: LOOM_ERROR_ARGUMENT as for loom_cache_load(). */
LOOM_API LOOM_CHECK loom_status loom_cache_list_json(const char *path, char *buffer,
                                                     size_t capacity, size_t *needed);

/* What the devices or processes of a program do together, by op, for people. On a mesh it compiles
   the program, which a run then finds. Errors: LOOM_ERROR_HANDLE, those of compiling. */
LOOM_API LOOM_CHECK loom_status loom_program_collectives(loom_program program, char *buffer,
                                                         size_t capacity, size_t *needed);

/* A picture of how a tensor lies on devices, as text or as SVG. A pending result whose division XLA
   chooses is computed first. */
LOOM_API LOOM_CHECK loom_status loom_tensor_picture(loom_tensor tensor, bool svg, char *buffer,
                                                    size_t capacity, size_t *needed);

/* A program's graph as SVG, with the regions of code generators in use in their colours. */
LOOM_API LOOM_CHECK loom_status loom_program_picture(loom_program program, char *buffer,
                                                     size_t capacity, size_t *needed);

/* Compares the times of the regions of a program that code generators in use could run with XLA's,
   and decides by that from then on, also in later processes; loom_program_explain() then says how.
   It takes some 0.2 s a region. */
LOOM_API LOOM_CHECK loom_status loom_codegen_measure(loom_program program);

/* Whether each run of each region is compared with XLA's results for its ops. Where they differ by
   more than the generator may, the program gets XLA's, loom_set_log() hears of it, and from the
   next run on XLA does the region. For the process. */
LOOM_API LOOM_CHECK loom_status loom_codegen_verify(bool on);

/* Whether the regions of a program, and what XLA does between them, run one by one, each timed;
   loom_last_evaluation() has the times. For the process. */
LOOM_API LOOM_CHECK loom_status loom_codegen_segmented(bool on);

/* Loads the code generator of a shared library made with lazyloom_codegen.h and gives its name, for
   loom_codegen_use(). library: in, its path, or "mine" for what the dynamic linker finds as
   liblazyloom_codegen_mine.so; it is code that is run, and stays loaded. Errors:
   LOOM_ERROR_ARGUMENT if it cannot be loaded, or says that it cannot work here. */
LOOM_API LOOM_CHECK loom_status loom_codegen_load(const char *library, char *buffer,
                                                  size_t capacity, size_t *needed);

/* What code generators have failed to do, or verifying refused, as a JSON array, oldest first: of
   each "generator", "region" (a key), "ops", "when" ("build", "run", "verify" and others) and
   "error". */
LOOM_API LOOM_CHECK loom_status loom_codegen_failures(char *buffer, size_t capacity,
                                                      size_t *needed);

/* ---- quantisation ---------------------------------------------------------------- */

typedef struct loom_quantized {
  uint64_t bits;
} loom_quantized; /* a function in int8; loom_quantized_release() */

/* How a function is quantised. New members are added at the end. */
typedef struct loom_quantize_options {
  size_t size;         /* in: sizeof(loom_quantize_options), of the header compiled with */
  double percentile;   /* of a value's numbers that are within its range, more than 50; 0 for all */
  const int64_t *skip; /* convolutions and products that stay in float32, by their number in the
                          order in which they are recorded; negative ones count from the end */
  size_t skip_count;
} loom_quantize_options;

/* Makes of a function one that computes its convolutions and products of float32 in int8, where
   their weights depend on no input. function: as in a loop, of input_count inputs and output_count
   outputs; it gets tensors without contents, and is called again by a run with other shapes, on
   that thread, for which it must record the same ops. context: kept; done(context) is called
   exactly once, when it is not needed any more, on any thread, also if this call fails; it must not
   call lazyloom, and may be NULL. batches: in, batch_count times input_count tensors, the inputs of
   runs by whose values the scales are chosen. options: in, NULL for none. result: new.
   Errors: LOOM_ERROR_ARGUMENT, as where nothing can be quantised; _HANDLE; those of the function,
   and LOOM_ERROR_READ_FORBIDDEN. */
LOOM_API LOOM_CHECK loom_status
loom_quantize_function(loom_function function, void *context, void (*done)(void *context),
                       const loom_tensor *batches, size_t batch_count, size_t input_count,
                       size_t output_count, const loom_quantize_options *options,
                       loom_quantized *result);

/* Records it. inputs: in, input_count. results: new, result_count.
   Errors: LOOM_ERROR_ARGUMENT for other numbers or ops; _HANDLE; those of the function. */
LOOM_API LOOM_CHECK loom_status loom_quantized_run(loom_quantized quantized,
                                                   const loom_tensor *inputs, size_t input_count,
                                                   loom_tensor *results, size_t result_count);

/* What is quantised between ops, as a JSON array, in order: of each "made_by" (the op, "" for an
   input), "shape", "scale" (what the integer 1 stands for) and "dtype". */
LOOM_API LOOM_CHECK loom_status loom_quantized_json(loom_quantized quantized, char *buffer,
                                                    size_t capacity, size_t *needed);

/* Ends the use of it. Errors: LOOM_ERROR_HANDLE. */
LOOM_API loom_status loom_quantized_release(loom_quantized quantized);

/* ---- exported programs ------------------------------------------------------------- */

typedef struct loom_exported {
  uint64_t bits;
} loom_exported; /* a program from a file; loom_exported_release() */

/* Writes the program that computes pending tensors to a file, which loom_load_program(),
   lazyloom.load() of Python and any reader of StableHLO read. What it reads beside its inputs is
   stored with it, so sync what is still pending of it; all other pending work that leads to the
   results is part of the program, and so are random numbers: give a key as an input where each run
   is to draw anew. path: text, in the encoding of the system; a file that is there is replaced.
   inputs: in, input_count, each once. input_names: in, input_count, NULL for input0, input1.
   results: in, result_count, at least one of them pending. parameters, parameter_names: in,
   parameter_count, names for tensors that the program reads; others are named constant.0,
   constant.1. Errors: LOOM_ERROR_ARGUMENT, as for an op that cannot be exported, which it names,
   and where the file cannot be written; _HANDLE; _READ_FORBIDDEN. */
LOOM_API LOOM_CHECK loom_status loom_export(const char *path, const loom_tensor *inputs,
                                            const char *const *input_names, size_t input_count,
                                            const loom_tensor *results, size_t result_count,
                                            const loom_tensor *parameters,
                                            const char *const *parameter_names,
                                            size_t parameter_count);

/* What is written beside the program. New members are added at the end. */
typedef struct loom_export_options {
  size_t size;   /* in: sizeof(loom_export_options), of the header compiled with */
  int vjp_order; /* how often what is loaded can be differentiated, by the inputs and parameters
                    that require a gradient: 0 to 4 */
  bool engines;  /* what the code generators in use make of parts of the program, too */
} loom_export_options;

/* loom_export(), and what options say. path: text. inputs: in, input_count. input_names: in,
   input_count, or NULL. results: in, result_count. parameters, parameter_names: in,
   parameter_count. options: in, NULL for none. Errors: those of loom_export(); LOOM_ERROR_ARGUMENT
   where there is nothing to differentiate, or with engines where the disk cache is off. */
LOOM_API LOOM_CHECK loom_status
loom_export_with(const char *path, const loom_tensor *inputs, const char *const *input_names,
                 size_t input_count, const loom_tensor *results, size_t result_count,
                 const loom_tensor *parameters, const char *const *parameter_names,
                 size_t parameter_count, const loom_export_options *options);

/* Reads a program that loom_export() or lazyloom.export() of Python wrote. No byte of the file is
   used before its checksum was compared, and nothing of it is code of Python. path: text. program:
   new. Errors: LOOM_ERROR_ARGUMENT for a file that cannot be read, is none, is damaged, or is newer
   than this library. */
LOOM_API LOOM_CHECK loom_status loom_load_program(const char *path, loom_exported *program);

/* loom_load_program() with the engines of the file, so that nothing of them is built here. They are
   machine code and are run: read only files of those whose programs you would run. What does not
   fit this machine or these versions is built as without; loom_exported_json() says what became of
   each. path: text. program: new. Errors: as of loom_load_program(). */
LOOM_API LOOM_CHECK loom_status loom_load_program_with_engines(const char *path,
                                                               loom_exported *program);

/* Records it. Random numbers go on from where the last call ended. inputs: in, input_count, the
   tensors of loom_exported_json(), in order. results: new, result_count. Gradients
   pass where it was exported with a vjp_order. Errors: LOOM_ERROR_ARGUMENT, _SHAPE, _DTYPE, naming
   the input; _GRADIENT for one that requires a gradient and has none; _HANDLE. */
LOOM_API LOOM_CHECK loom_status loom_exported_run(loom_exported program, const loom_tensor *inputs,
                                                  size_t input_count, loom_tensor *results,
                                                  size_t result_count);

/* Starts its generators of random numbers again: the first from seed, the second from seed + 1 and
   so on. seed: as of torch.manual_seed() in the torch-like frontend. Errors: LOOM_ERROR_HANDLE. */
LOOM_API LOOM_CHECK loom_status loom_exported_seed(loom_exported program, uint64_t seed);

/* What it takes and gives, as a JSON object: "name", "inputs" (of each "name", "dtype" and "shape",
   with a text for an extent that varies), "specializations" (of each "extents" and "results"),
   "draws" of each generator, "vjp_order", "metadata"; where it was read with engines
   "without_engines" (why none was taken, or "") and "engines" (of each "kind", "name",
   "nbytes", "status" and "reason"). */
LOOM_API LOOM_CHECK loom_status loom_exported_json(loom_exported program, char *buffer,
                                                   size_t capacity, size_t *needed);

/* Ends the use of it. Results stay. Errors: LOOM_ERROR_HANDLE. */
LOOM_API loom_status loom_exported_release(loom_exported program);

/* Computes pending tensors and saves the program that does, or the first that fails, with the data
   of its inputs, for a report: python -m lazyloom repro FILE runs it, and makes it smaller. Without
   it, LAZYLOOM_REPRO=DIR in the environment saves each program that fails. path: text, in the
   encoding of the system; a file that is there is replaced. values: in, value_count, at least one
   of them pending. random_data: such of the same types, between the same bounds, are saved in the
   place of the inputs'. Errors: LOOM_ERROR_ARGUMENT, as where none is pending, an op cannot run in
   another process, or the file cannot be written; _HANDLE; _READ_FORBIDDEN. A failure of the program
   is none: it is saved, and is the error of whoever reads the values. */
LOOM_API LOOM_CHECK loom_status loom_save_repro(const char *path, const loom_tensor *values,
                                                size_t value_count, bool random_data);

/* ---- parts of processes ------------------------------------------------------------ */

/* Waits until all processes have come here, but no longer than timeout seconds, 0 for that of
   loom_distributed_initialize(). Errors: LOOM_ERROR_ARGUMENT; LOOM_ERROR_EXECUTION if some do not
   come, naming them. */
LOOM_API LOOM_CHECK loom_status loom_distributed_barrier(double timeout);

/* What this process's devices have of a tensor on a mesh, side by side, on its default device; of
   another tensor the same contents. It is computed, in all processes of the mesh; no gradient goes
   back. result: new. Errors: LOOM_ERROR_ARGUMENT where the parts do not lie side by side. */
LOOM_API LOOM_CHECK loom_status loom_tensor_local_part(loom_tensor tensor, loom_tensor *result);

/* The tensor on a mesh of all processes of which each of them has a part. tensor: this process's
   part, all of the contents along dimensions that no other process has a part of; what is pending
   of it is computed first. mesh, devices, spec: as loom_tensor_shard(), in all processes the same.
   result: new. Errors: LOOM_ERROR_ARGUMENT where the parts make no tensor. */
LOOM_API LOOM_CHECK loom_status loom_tensor_from_local_part(loom_tensor tensor, const char *mesh,
                                                            const char *devices,
                                                            const char *spec,
                                                            loom_tensor *result);
#endif

#ifdef __cplusplus
}
#endif

#ifndef LOOM_NO_SOURCE_LOCATIONS
#define loom_devices(...) (LOOM_HERE, loom_devices(__VA_ARGS__))
#define loom_tensor_to_device(...) (LOOM_HERE, loom_tensor_to_device(__VA_ARGS__))
#define loom_tensor_shard(...) (LOOM_HERE, loom_tensor_shard(__VA_ARGS__))
#define loom_tensor_placement(...) (LOOM_HERE, loom_tensor_placement(__VA_ARGS__))
#define loom_distributed_initialize(...) (LOOM_HERE, loom_distributed_initialize(__VA_ARGS__))
#define loom_distributed_rank(...) (LOOM_HERE, loom_distributed_rank(__VA_ARGS__))
#define loom_distributed_finalize(...) (LOOM_HERE, loom_distributed_finalize(__VA_ARGS__))
#define loom_vjp(...) (LOOM_HERE, loom_vjp(__VA_ARGS__))
#define loom_linearize(...) (LOOM_HERE, loom_linearize(__VA_ARGS__))
#define loom_linear_map_apply(...) (LOOM_HERE, loom_linear_map_apply(__VA_ARGS__))
#define loom_linear_map_release(...) (LOOM_HERE, loom_linear_map_release(__VA_ARGS__))
#define loom_jvp(...) (LOOM_HERE, loom_jvp(__VA_ARGS__))
#define loom_value_and_grad(...) (LOOM_HERE, loom_value_and_grad(__VA_ARGS__))
#define loom_jacobian(...) (LOOM_HERE, loom_jacobian(__VA_ARGS__))
#define loom_hessian(...) (LOOM_HERE, loom_hessian(__VA_ARGS__))
#define loom_vmap(...) (LOOM_HERE, loom_vmap(__VA_ARGS__))
#define loom_apply_custom(...) (LOOM_HERE, loom_apply_custom(__VA_ARGS__))
#define loom_tensor_from_dlpack(...) (LOOM_HERE, loom_tensor_from_dlpack(__VA_ARGS__))
#define loom_tensor_from_dlpack_unversioned(...) \
  (LOOM_HERE, loom_tensor_from_dlpack_unversioned(__VA_ARGS__))
#define loom_tensor_to_dlpack(...) (LOOM_HERE, loom_tensor_to_dlpack(__VA_ARGS__))
#define loom_random_key(...) (LOOM_HERE, loom_random_key(__VA_ARGS__))
#define loom_option_set(...) (LOOM_HERE, loom_option_set(__VA_ARGS__))
#define loom_option_get(...) (LOOM_HERE, loom_option_get(__VA_ARGS__))
#define loom_options_json(...) (LOOM_HERE, loom_options_json(__VA_ARGS__))
#define loom_programs_of(...) (LOOM_HERE, loom_programs_of(__VA_ARGS__))
#define loom_evaluations_json(...) (LOOM_HERE, loom_evaluations_json(__VA_ARGS__))
#define loom_profile_begin(...) (LOOM_HERE, loom_profile_begin(__VA_ARGS__))
#define loom_profile_end(...) (LOOM_HERE, loom_profile_end(__VA_ARGS__))
#define loom_profile_json(...) (LOOM_HERE, loom_profile_json(__VA_ARGS__))
#define loom_stats_reset(...) (LOOM_HERE, loom_stats_reset(__VA_ARGS__))
#define loom_finish_compiling(...) (LOOM_HERE, loom_finish_compiling(__VA_ARGS__))
#define loom_platform(...) (LOOM_HERE, loom_platform(__VA_ARGS__))
#define loom_cache_dir(...) (LOOM_HERE, loom_cache_dir(__VA_ARGS__))
#define loom_cache_save(...) (LOOM_HERE, loom_cache_save(__VA_ARGS__))
#define loom_cache_load(...) (LOOM_HERE, loom_cache_load(__VA_ARGS__))
#define loom_cache_report_json(...) (LOOM_HERE, loom_cache_report_json(__VA_ARGS__))
#define loom_cache_list_json(...) (LOOM_HERE, loom_cache_list_json(__VA_ARGS__))
#define loom_program_collectives(...) (LOOM_HERE, loom_program_collectives(__VA_ARGS__))
#define loom_tensor_picture(...) (LOOM_HERE, loom_tensor_picture(__VA_ARGS__))
#define loom_codegen_measure(...) (LOOM_HERE, loom_codegen_measure(__VA_ARGS__))
#define loom_codegen_verify(...) (LOOM_HERE, loom_codegen_verify(__VA_ARGS__))
#define loom_codegen_segmented(...) (LOOM_HERE, loom_codegen_segmented(__VA_ARGS__))
#define loom_codegen_load(...) (LOOM_HERE, loom_codegen_load(__VA_ARGS__))
#define loom_codegen_failures(...) (LOOM_HERE, loom_codegen_failures(__VA_ARGS__))
#define loom_quantize_function(...) (LOOM_HERE, loom_quantize_function(__VA_ARGS__))
#define loom_quantized_run(...) (LOOM_HERE, loom_quantized_run(__VA_ARGS__))
#define loom_quantized_release(...) (LOOM_HERE, loom_quantized_release(__VA_ARGS__))
#define loom_distributed_barrier(...) (LOOM_HERE, loom_distributed_barrier(__VA_ARGS__))
#define loom_tensor_local_part(...) (LOOM_HERE, loom_tensor_local_part(__VA_ARGS__))
#define loom_tensor_from_local_part(...) (LOOM_HERE, loom_tensor_from_local_part(__VA_ARGS__))
#define loom_export(...) (LOOM_HERE, loom_export(__VA_ARGS__))
#define loom_export_with(...) (LOOM_HERE, loom_export_with(__VA_ARGS__))
#define loom_load_program(...) (LOOM_HERE, loom_load_program(__VA_ARGS__))
#define loom_exported_run(...) (LOOM_HERE, loom_exported_run(__VA_ARGS__))
#define loom_exported_seed(...) (LOOM_HERE, loom_exported_seed(__VA_ARGS__))
#define loom_exported_json(...) (LOOM_HERE, loom_exported_json(__VA_ARGS__))
#define loom_exported_release(...) (LOOM_HERE, loom_exported_release(__VA_ARGS__))
#define loom_save_repro(...) (LOOM_HERE, loom_save_repro(__VA_ARGS__))
#define loom_quantized_json(...) (LOOM_HERE, loom_quantized_json(__VA_ARGS__))
#define loom_program_picture(...) (LOOM_HERE, loom_program_picture(__VA_ARGS__))
#define loom_memory(...) (LOOM_HERE, loom_memory(__VA_ARGS__))
#define loom_tensors_read(...) (LOOM_HERE, loom_tensors_read(__VA_ARGS__))
#define loom_tensor_is_ready(...) (LOOM_HERE, loom_tensor_is_ready(__VA_ARGS__))
#define loom_wait(...) (LOOM_HERE, loom_wait(__VA_ARGS__))
#define loom_tensor_on_ready(...) (LOOM_HERE, loom_tensor_on_ready(__VA_ARGS__))
#define loom_tensor_to_dlpack_unversioned(...) \
  (LOOM_HERE, loom_tensor_to_dlpack_unversioned(__VA_ARGS__))
#endif

#endif /* LAZYLOOM_RUNTIME_H */
