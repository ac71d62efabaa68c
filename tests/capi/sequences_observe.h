/* Calls of sequences.c: waiting, DLPack, devices, programs, options, errors, messages. */
#ifndef SEQUENCES_OBSERVE_H
#define SEQUENCES_OBSERVE_H

#include "sequences_compute.h"

/* ---- to wait ------------------------------------------------------------------------ */

ACTION(loom_sync) {
  loom_tensor tensors[FEW];
  const size_t count = several(w, tensors);
  return loom_sync(one_in(w, 40) ? NULL : tensors, about(w, count), one_in(w, 2));
}

ACTION(loom_wait) {
  static const double timeouts[] = {0, 1e-4, 1, -1, INFINITY, NAN, 1e300, -0.0};
  loom_tensor tensors[FEW];
  const size_t count = several(w, tensors);
  return loom_wait(tensors, about(w, count), timeouts[below(w, 8)]);
}

ACTION(loom_tensor_on_ready) {
  plan *p = kept_plan(w, OF_READY);
  const loom_status status = loom_tensor_on_ready(some(w), one_in(w, 40) ? NULL : heard, p);
  if (status != LOOM_OK) plan_done(p);
  return status;
}

ACTION(loom_finish_compiling) {
  bool finished;
  return loom_finish_compiling(one_in(w, 8) ? NAN : 1e-4 * (double)below(w, 20),
                               one_in(w, 3) ? NULL : &finished);
}

/* ---- DLPack -------------------------------------------------------------------------- */

/* Some of what was given out: its memory stays after loom_shutdown(). */
static struct DLManagedTensorVersioned *given_out[16];

static void delete_given_out(size_t i, struct DLManagedTensorVersioned *by) {
  by = __atomic_exchange_n(&given_out[i], by, __ATOMIC_SEQ_CST);
  if (by != NULL) by->deleter(by);
}

ACTION(loom_tensor_to_dlpack) {
  struct DLManagedTensorVersioned *made;
  loom_status status =
      loom_tensor_to_dlpack(some(w), one_in(w, 2), one_in(w, 40) ? NULL : &made);
  if (status == LOOM_OK) delete_given_out(below(w, 16), made);
  return status;
}

ACTION(loom_tensor_to_dlpack_unversioned) {
  struct DLManagedTensor *made;
  loom_status status = loom_tensor_to_dlpack_unversioned(some(w), &made);
  if (status == LOOM_OK) made->deleter(made);
  return status;
}

ACTION(loom_tensor_from_dlpack) {
  dl_versioned *m = (dl_versioned *)calloc(1, sizeof *m);
  loom_tensor made;
  loom_status status;
  if (m == NULL) abort();
  m->major = one_in(w, 16) ? 2 : 1;
  m->minor = (uint32_t)below(w, 4);
  m->deleter = dl_versioned_done;
  m->flags = below(w, 4);
  dl_fill(w, &m->tensor);
  lend(OF_DLPACK);
  status = loom_tensor_from_dlpack(m, one_in(w, 3), one_in(w, 40) ? NULL : &made);
  if (status == LOOM_OK) keep(w, made);
  else dl_versioned_done(m);
  return status;
}

ACTION(loom_tensor_from_dlpack_unversioned) {
  dl_unversioned *m = (dl_unversioned *)calloc(1, sizeof *m);
  loom_tensor made;
  loom_status status;
  if (m == NULL) abort();
  m->deleter = dl_unversioned_done;
  dl_fill(w, &m->tensor);
  lend(OF_DLPACK);
  status = loom_tensor_from_dlpack_unversioned(m, one_in(w, 3), one_in(w, 40) ? NULL : &made);
  if (status == LOOM_OK) keep(w, made);
  else dl_unversioned_done(m);
  return status;
}

/* ---- texts ---------------------------------------------------------------------------- */

/* Where a text goes: a buffer that is too small, or enough, or none. */
typedef struct text {
  char memory[4096];
  size_t capacity, needed;
} text;

static char *room(worker *w, text *t) {
  static const size_t sizes[] = {0, 1, 7, 4096};
  t->capacity = sizes[below(w, 4)];
  return one_in(w, 12) ? NULL : t->memory;
}

#define TEXT(name)                                                             \
  ACTION(name) {                                                               \
    text t;                                                                    \
    char *memory = room(w, &t);                                                \
    return name(memory, t.capacity, one_in(w, 3) ? NULL : &t.needed);          \
  }
#define TEXT_OF(name, of)                                                      \
  ACTION(name) {                                                               \
    text t;                                                                    \
    char *memory = room(w, &t);                                                \
    return name(of, memory, t.capacity, one_in(w, 3) ? NULL : &t.needed);      \
  }

static loom_program some_program(worker *w) {
  loom_program found;
  found.bits = w->programs && !one_in(w, 4) ? w->program[below(w, w->programs)].bits
                                            : no_handle(w);
  return found;
}

static const char *some_op(worker *w) { return one_in(w, 2) ? "add" : some_text(w); }

TEXT(loom_devices)
TEXT_OF(loom_tensor_placement, some(w))
TEXT(loom_codegen_in_use)
TEXT(loom_codegen_available)
TEXT(loom_codegen_failures)
TEXT_OF(loom_program_key, some_program(w))
TEXT_OF(loom_program_text, some_program(w))
TEXT_OF(loom_program_explain, some_program(w))
TEXT_OF(loom_program_collectives, some_program(w))
TEXT_OF(loom_program_picture, some_program(w))

ACTION(loom_tensor_picture) {
  text t;
  char *memory = room(w, &t);
  return loom_tensor_picture(some(w), one_in(w, 2), memory, t.capacity, &t.needed);
}

TEXT(loom_stats_json)
TEXT(loom_last_evaluation)
TEXT_OF(loom_evaluations_json, about(w, below(w, 4)))
TEXT(loom_options_json)
TEXT_OF(loom_op_describe, some_op(w))
TEXT(loom_platform)
TEXT(loom_cache_dir)
TEXT_OF(loom_quantized_json, some_quantized(w))

/* ---- programs, devices, figures ---------------------------------------------------------- */

static loom_status keep_program(worker *w, loom_program made) {
  if (made.bits == 0) return LOOM_OK;
  if (w->programs == POOL) return loom_program_release(made);
  w->program[w->programs++] = made;
  return LOOM_OK;
}

ACTION(loom_program_of) {
  loom_tensor tensors[FEW];
  const size_t count = several(w, tensors);
  loom_program made;
  const loom_status status = loom_program_of(tensors, about(w, count), &made);
  return status == LOOM_OK ? keep_program(w, made) : status;
}

ACTION(loom_programs_of) {
  loom_tensor tensors[FEW];
  const size_t count = several(w, tensors), capacity = below(w, 4);
  loom_program made[4];
  size_t i, found;
  const loom_status status = loom_programs_of(tensors, count, made, capacity, &found);
  for (i = 0; status == LOOM_OK && i < capacity && i < found; ++i)
    if (keep_program(w, made[i]) != LOOM_OK) return loom_error_status();
  return status;
}

ACTION(loom_last_program) {
  loom_program made;
  const loom_status status = loom_last_program(one_in(w, 40) ? NULL : &made);
  return status == LOOM_OK ? keep_program(w, made) : status;
}

ACTION(loom_program_op_count) {
  size_t count;
  return loom_program_op_count(some_program(w), &count);
}

ACTION(loom_program_release) {
  loom_program none;
  none.bits = no_handle(w);
  return w->programs && !one_in(w, 4) ? loom_program_release(w->program[--w->programs])
                                      : loom_program_release(none);
}

ACTION(loom_codegen_measure) { return loom_codegen_measure(some_program(w)); }

ACTION(loom_codegen_verify) {
  loom_status status = loom_codegen_verify(true);
  UNUSED;
  return status == LOOM_OK ? loom_codegen_verify(false) : status;
}

ACTION(loom_codegen_segmented) {
  loom_status status = loom_codegen_segmented(true);
  UNUSED;
  return status == LOOM_OK ? loom_codegen_segmented(false) : status;
}

ACTION(loom_codegen_use) {
  const char *names[2] = {"xla", NULL};
  if (one_in(w, 4)) return loom_codegen_use(one_in(w, 2) ? names : NULL, about(w, 2));
  return loom_codegen_use(names, below(w, 2));
}

static loom_status moved(worker *w, loom_status status, loom_tensor made) {
  if (status == LOOM_OK) keep(w, made);
  return status;
}

ACTION(loom_tensor_to_device) {
  loom_tensor made = loom_null();
  const char *device = one_in(w, 2) ? "cpu:0" : some_text(w);
  const loom_status status = loom_tensor_to_device(some(w), device, &made);
  return moved(w, status, made);
}

static const char *const meshes[] = {"data=1", "data=2", "x", "data=1,model=1", NULL};
static const char *const specs[] = {"", "data", ";model", ";;;;", "nope", NULL};

ACTION(loom_tensor_shard) {
  loom_tensor made = loom_null();
  const loom_status status =
      loom_tensor_shard(some(w), meshes[below(w, 5)], one_in(w, 2) ? NULL : "cpu:0",
                        specs[below(w, 6)], &made);
  return moved(w, status, made);
}

ACTION(loom_tensor_from_local_part) {
  loom_tensor made = loom_null();
  const loom_status status =
      loom_tensor_from_local_part(some(w), meshes[below(w, 5)], one_in(w, 2) ? NULL : "cpu:0",
                                  specs[below(w, 6)], &made);
  return moved(w, status, made);
}

ACTION(loom_tensor_local_part) {
  loom_tensor made = loom_null();
  const loom_status status = loom_tensor_local_part(some(w), &made);
  return moved(w, status, made);
}

/* With what cannot be: a process that has computed cannot become one of several. */
ACTION(loom_distributed_initialize) {
  return loom_distributed_initialize("127.0.0.1:1", 1 + (int64_t)below(w, 3), 7, 0.01);
}

ACTION(loom_distributed_rank) {
  int64_t rank, size;
  return loom_distributed_rank(one_in(w, 3) ? NULL : &rank, one_in(w, 3) ? NULL : &size);
}

ACTION(loom_distributed_finalize) {
  UNUSED;
  return loom_distributed_finalize();
}

ACTION(loom_distributed_barrier) {
  static const double timeouts[] = {0, 0.01, -1, NAN, INFINITY};
  return loom_distributed_barrier(timeouts[below(w, 5)]);
}

ACTION(loom_mark_dynamic) {
  return loom_mark_dynamic(some(w), (int64_t)below(w, 4) - 2, (int64_t)below(w, 6) - 2,
                           one_in(w, 4) ? INT64_MIN : (int64_t)below(w, 9) - 1);
}

ACTION(loom_mark_static) {
  static const int64_t axes[3] = {0, -1, 7};
  return loom_mark_static(some(w), one_in(w, 3) ? NULL : axes, below(w, 4));
}

ACTION(loom_memory) {
  loom_memory_figures figures;
  figures.size = one_in(w, 4) ? below(w, 20) : sizeof figures;
  return loom_memory(&figures);
}

ACTION(loom_stat) {
  int64_t value;
  return loom_stat(one_in(w, 2) ? "executions" : some_text(w), &value);
}

ACTION(loom_stats_reset) {
  UNUSED;
  return loom_stats_reset();
}

ACTION(loom_op_count) {
  size_t count;
  return loom_op_count(one_in(w, 8) ? NULL : &count);
}

ACTION(loom_op_name) {
  const char *name;
  return loom_op_name(about(w, below(w, 600)), &name);
}

/* ---- options ------------------------------------------------------------------------- */

ACTION(loom_set_option) {
  return loom_set_option((loom_option)below(w, 6), one_in(w, 8) ? INT64_MIN : (int64_t)below(w, 3));
}

ACTION(loom_get_option) {
  int64_t value;
  return loom_get_option((loom_option)below(w, 6), &value);
}

ACTION(loom_option_set) {
  static const char *const names[] = {"donate", "reads", "compiles", "reproducible"};
  static const char *const of_process[] = {"cut_ops", "records_kept", "programs_kept"};
  static const double values[] = {0, 1, 2, 0.5, -1, NAN, INFINITY, 1e300};
  double previous;
  if (one_in(w, 4)) {
    const char *name = of_process[below(w, 3)];
    const loom_status status = loom_option_set(name, 100 + (double)below(w, 1000), &previous);
    return status == LOOM_OK ? loom_option_set(name, previous, NULL) : status;
  }
  return loom_option_set(one_in(w, 4) ? some_text(w) : names[below(w, 4)], values[below(w, 8)],
                         one_in(w, 2) ? NULL : &previous);
}

ACTION(loom_option_get) {
  double value;
  return loom_option_get(one_in(w, 2) ? "donate" : some_text(w), &value);
}

/* The options of a thread as they are at first. */
static void usual_options(void) {
  bool before;
  if (loom_set_grad_enabled(true, &before) != LOOM_OK ||
      loom_set_option(LOOM_OPTION_DONATE, 1) != LOOM_OK ||
      loom_set_option(LOOM_OPTION_FORBID_READS, 0) != LOOM_OK ||
      loom_set_option(LOOM_OPTION_REPRODUCIBLE, 0) != LOOM_OK ||
      loom_option_set("compiles", 0, NULL) != LOOM_OK)
    abort();
}

/* ---- errors and messages ----------------------------------------------------------------- */

/* What these return is what they are asked for, or nothing. */
#define ASKED(name, call)  \
  ACTION(name) {           \
    UNUSED;                \
    (void)(call);          \
    return LOOM_OK;        \
  }
#define SAID(name, call)             \
  ACTION(name) {                     \
    UNUSED;                          \
    if ((call) == NULL) abort();     \
    return LOOM_OK;                  \
  }

ASKED(loom_error_status, loom_error_status())
SAID(loom_error_message, loom_error_message())
SAID(loom_error_op, loom_error_op())
SAID(loom_error_site, loom_error_site())
SAID(loom_version, loom_version())
SAID(loom_status_name, loom_status_name((loom_status)below(w, 200)))
SAID(loom_dtype_name, loom_dtype_name((loom_dtype)draw(w)))
ASKED(loom_dtype_size, loom_dtype_size((loom_dtype)draw(w)))
ASKED(loom_abi_version, loom_abi_version())
ASKED(loom_is_initialized, loom_is_initialized())
/* Of a function that the library calls, the message is that of the call. */
ASKED(loom_set_error,
      loom_set_error((loom_status)below(w, 20), w->depth ? "an error" : some_text(w)))
ASKED(loom_error_restore,
      loom_error_restore(w->errors ? w->error[below(w, w->errors)] : NULL))

ACTION(loom_error_clear) {
  UNUSED;
  loom_error_clear();
  return LOOM_OK;
}

ACTION(loom_error_take) {
  loom_error *taken = loom_error_take();
  if (taken != NULL && w->errors < POOL) w->error[w->errors++] = taken;
  else loom_error_free(taken);
  return LOOM_OK;
}

ACTION(loom_error_describe) {
  loom_error_details details;
  details.size = one_in(w, 4) ? below(w, 20) : sizeof details;
  return loom_error_describe(w->errors ? w->error[below(w, w->errors)] : NULL,
                             one_in(w, 20) ? NULL : &details);
}

ACTION(loom_error_free) {
  loom_error_free(w->errors ? w->error[--w->errors] : NULL);
  return LOOM_OK;
}

ACTION(loom_set_source_location) {
  loom_set_source_location(one_in(w, 2) ? NULL : "a line.c", (int)draw(w));
  return LOOM_OK;
}

ACTION(loom_copy_source_location) {
  char name[8] = "name0.c";
  name[4] = (char)('0' + below(w, 10));
  loom_copy_source_location(one_in(w, 4) ? NULL : name, (int)below(w, 1000));
  return LOOM_OK;
}

ACTION(loom_set_log) {
  return loom_set_log(one_in(w, 2) ? logged : NULL, NULL, (loom_log_level)below(w, 5));
}

ACTION(loom_initialize) {
  UNUSED;
  return loom_initialize();
}

/* No other thread may be inside a call: within a sequence it is asked of a function that the
   library calls (heard() in sequences.h), and by main() between rounds. */
ACTION(loom_shutdown) {
  UNUSED;
  return LOOM_OK;
}

#endif
