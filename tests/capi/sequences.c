/* Random sequences of calls of every exported function, valid and not, on several threads:

     sequences SEED FIRST COUNT THREADS ROUND

   Functions of the caller's call the library again, fail, give back what is no tensor; captures and
   options are left in the middle; threads use and release each other's tensors. No call may crash,
   hang or be a defect of the library's (LOOM_ERROR, LOOM_ERROR_INTERNAL). After each ROUND of
   sequences the library is shut down: no handle is left, and all that was lent was given back once.
   A sequence depends on its number and the seed alone, but for tensors of other threads.

     sequences names        the functions that it calls */
#include <signal.h>
#include <unistd.h>

#include "sequences_files.h"

typedef struct action {
  const char *name;
  loom_status (*call)(worker *w);
} action;

#define OF(name) {#name, name##_}
static const action actions[] = {
   OF(loom_tensor_from_host), OF(loom_tensor_share_host), OF(loom_tensor_read),
   OF(loom_tensors_read), OF(loom_tensor_map), OF(loom_buffer_release), OF(loom_tensor_retain),
   OF(loom_tensor_release), OF(loom_tensors_release), OF(loom_tensor_dtype),
   OF(loom_tensor_ndim), OF(loom_tensor_nbytes), OF(loom_tensor_is_pending),
   OF(loom_tensor_requires_grad), OF(loom_tensor_is_ready), OF(loom_tensor_shape),
   OF(loom_tensor_detach), OF(loom_boundary), OF(loom_tensor_assign), OF(loom_tensors_assign),
   OF(loom_live_handles), OF(loom_random_key), OF(loom_apply), OF(loom_source),
   OF(loom_tensor_require_grad), OF(loom_set_grad_enabled), OF(loom_grad), OF(loom_backward),
   OF(loom_tensor_gradient), OF(loom_tensor_clear_gradient), OF(loom_scan), OF(loom_while_loop),
   OF(loom_cond), OF(loom_vjp), OF(loom_linearize), OF(loom_linear_map_apply),
   OF(loom_linear_map_release), OF(loom_jvp), OF(loom_value_and_grad), OF(loom_jacobian),
   OF(loom_hessian), OF(loom_vmap), OF(loom_apply_custom), OF(loom_quantize_function),
   OF(loom_quantized_run), OF(loom_quantized_release), OF(loom_capture_begin),
   OF(loom_capture_end), OF(loom_capture_cancel), OF(loom_capture_run), OF(loom_capture_release),
   OF(loom_sync), OF(loom_wait), OF(loom_tensor_on_ready), OF(loom_tensor_to_dlpack),
   OF(loom_tensor_from_dlpack),
    /* less often */
   OF(loom_finish_compiling), OF(loom_tensor_to_dlpack_unversioned),
   OF(loom_tensor_from_dlpack_unversioned), OF(loom_devices), OF(loom_tensor_placement),
   OF(loom_codegen_in_use), OF(loom_codegen_available), OF(loom_codegen_failures),
   OF(loom_program_key), OF(loom_program_text), OF(loom_program_explain),
   OF(loom_program_collectives), OF(loom_program_picture), OF(loom_tensor_picture),
   OF(loom_stats_json), OF(loom_last_evaluation), OF(loom_evaluations_json),
   OF(loom_options_json), OF(loom_op_describe), OF(loom_platform), OF(loom_cache_dir),
   OF(loom_quantized_json), OF(loom_program_of), OF(loom_programs_of), OF(loom_last_program),
   OF(loom_program_op_count), OF(loom_program_release), OF(loom_codegen_measure),
   OF(loom_codegen_verify), OF(loom_codegen_segmented), OF(loom_codegen_use),
   OF(loom_codegen_load),
   OF(loom_tensor_to_device), OF(loom_tensor_shard), OF(loom_tensor_from_local_part),
   OF(loom_tensor_local_part), OF(loom_distributed_initialize), OF(loom_distributed_rank),
   OF(loom_distributed_finalize), OF(loom_distributed_barrier), OF(loom_mark_dynamic),
   OF(loom_mark_static), OF(loom_memory), OF(loom_stat), OF(loom_stats_reset), OF(loom_op_count),
   OF(loom_op_name), OF(loom_set_option), OF(loom_get_option), OF(loom_option_set),
   OF(loom_option_get), OF(loom_error_status), OF(loom_error_message), OF(loom_error_op),
   OF(loom_error_site), OF(loom_version), OF(loom_status_name), OF(loom_dtype_name),
   OF(loom_dtype_size), OF(loom_abi_version), OF(loom_is_initialized), OF(loom_set_error),
   OF(loom_error_restore), OF(loom_error_clear), OF(loom_error_take), OF(loom_error_describe),
   OF(loom_error_free), OF(loom_set_source_location), OF(loom_copy_source_location),
   OF(loom_set_log), OF(loom_export), OF(loom_export_with), OF(loom_load_program),
   OF(loom_load_program_with_engines), OF(loom_exported_run),
   OF(loom_exported_seed), OF(loom_exported_json), OF(loom_exported_release),
   OF(loom_save_repro),
   OF(loom_cache_save), OF(loom_cache_load), OF(loom_cache_report_json),
   OF(loom_cache_list_json), OF(loom_profile_begin), OF(loom_profile_end), OF(loom_profile_json),
   OF(loom_initialize), OF(loom_shutdown),
};
enum { OFTEN = 56 };
enum { ACTIONS = sizeof actions / sizeof actions[0] };

static uint64_t seed, next_sequence, last_sequence;
static uint64_t called[ACTIONS];
static int64_t defects;
/* whether each call is told of, as with SEQUENCES_TOLD in the environment */
static bool told;

/* A call, and what it may say. */
static void act(worker *w) {
  const char *const outer = w->at;
  /* what makes and computes something is called more often than what tells of it */
  const size_t n = one_in(w, 3) ? below(w, ACTIONS) : below(w, OFTEN);
  loom_status status;
  TELL(w->at, actions[n].name);
  TELL(w->calls, w->calls + 1);
  __atomic_add_fetch(&called[n], 1, __ATOMIC_RELAXED);
  status = actions[n].call(w);
  TELL(w->at, outer);
  if (told)
    fprintf(stderr, "%*s%s: %s\n", 2 * w->depth, "", actions[n].name,
            status == LOOM_OK ? "" : loom_error_message());
  if (status == LOOM_OK) {
    ++w->succeeded;
    return;
  }
  ++w->refused;
  if (status == LOOM_ERROR || status == LOOM_ERROR_INTERNAL || loom_error_message()[0] == 0) {
    if (__atomic_add_fetch(&defects, 1, __ATOMIC_SEQ_CST) <= 20)
      fprintf(stderr, "sequence %llu, %s: %s: %s\n", (unsigned long long)w->sequence,
              actions[n].name, loom_status_name(status), loom_error_message());
  }
}

/* Gives up all that a sequence owns, in the order of its making. */
static void end_sequence(worker *w) {
  size_t i;
  either(loom_capture_cancel());
  usual_options();
  (void)loom_tensors_release(w->tensor, w->tensors);
  for (i = 0; i < w->buffers; ++i) (void)loom_buffer_release(w->buffer[i]);
  for (i = 0; i < w->programs; ++i) (void)loom_program_release(w->program[i]);
  for (i = 0; i < w->captures; ++i) (void)loom_capture_release(w->capture[i]);
  for (i = 0; i < w->maps; ++i) (void)loom_linear_map_release(w->map[i]);
  for (i = 0; i < w->quantized; ++i) (void)loom_quantized_release(w->quantize[i]);
  for (i = 0; i < w->exporteds; ++i) (void)loom_exported_release(w->exported[i]);
  for (i = 0; i < w->errors; ++i) loom_error_free(w->error[i]);
  w->tensors = w->buffers = w->programs = w->captures = w->maps = w->quantized = w->errors = 0;
  w->exporteds = 0;
}

static void *work(void *given_worker) {
  worker *w = (worker *)given_worker;
  loom_tensor left = loom_null();
  size_t i;
  own = w;
  for (;;) {
    const uint64_t n = __atomic_fetch_add(&next_sequence, 1, __ATOMIC_SEQ_CST);
    if (n >= last_sequence) break;
    TELL(w->sequence, n);
    w->random = seed * UINT64_C(0x9E3779B97F4A7C15) + n;
    (void)draw(w);
    for (i = 1 + below(w, 4); i > 0; --i) fresh(w);
    for (i = 2 + below(w, 8); i > 0; --i) act(w);
    end_sequence(w);
  }
  /* a thread may end in a capture */
  if (w->sequence % 2 && two_rows(&left) == LOOM_OK) {
    either(loom_capture_begin(&left, 1));
    (void)loom_tensor_release(left);
  }
  TELL(w->ended, true);
  return NULL;
}

/* Where each thread is, for who looks for a hang or a crash. */
static worker *workers;
static size_t threads;

static void say_where(const char *what) {
  size_t i;
  fprintf(stderr, "%s\n", what);
  for (i = 0; i < threads; ++i) {
    const char *at = SEEN(workers[i].at);
    if (!SEEN(workers[i].ended))
      fprintf(stderr, "thread %d in sequence %llu, %s\n", (int)i,
              (unsigned long long)SEEN(workers[i].sequence), at != NULL ? at : "-");
  }
}

static void crashed(int number) {
  (void)signal(number, SIG_DFL);
  say_where("a crash");
  (void)raise(number);
}

/* Waits for all threads; no call takes longer than this many seconds. */
enum { LONGEST_CALL = 240 };

static void watch(pthread_t *started) {
  uint64_t before[MOST_THREADS];
  int still[MOST_THREADS];
  const struct timespec tenth = {0, 100000000};
  size_t i, ended = 0;
  memset(before, 0, sizeof before);
  memset(still, 0, sizeof still);
  while (ended < threads) {
    (void)nanosleep(&tenth, NULL);
    for (ended = i = 0; i < threads; ++i) {
      const uint64_t calls = SEEN(workers[i].calls);
      ended += SEEN(workers[i].ended);
      still[i] = calls == before[i] && !SEEN(workers[i].ended) ? still[i] + 1 : 0;
      before[i] = calls;
      if (still[i] > 10 * LONGEST_CALL) {
        say_where("a hang");
        abort();
      }
    }
  }
  for (i = 0; i < threads; ++i) (void)pthread_join(started[i], NULL);
}

/* Whether everything is given back; after some time, as another thread may let go of memory. */
static void all_returned(void) {
  static const char *const kinds[LENT] = {"loom_tensor_share_host", "DLPack", "loom_apply_custom",
                                          "loom_quantize_function", "loom_tensor_on_ready"};
  const struct timespec millisecond = {0, 1000000};
  int kind, waited;
  for (kind = 0; kind < LENT; ++kind) {
    int64_t given_back = 0, given = __atomic_load_n(&lent[kind], __ATOMIC_SEQ_CST);
    for (waited = 0; waited < 20000; ++waited) {
      given_back = __atomic_load_n(&returned[kind], __ATOMIC_SEQ_CST);
      if (given_back == given) break;
      (void)nanosleep(&millisecond, NULL);
    }
    if (given_back == given) continue;
    fprintf(stderr, "%s: %lld contexts were given and %lld were given back\n", kinds[kind],
            (long long)given, (long long)given_back);
    ++defects;
  }
}

static void check(loom_status status, const char *what) {
  if (status == LOOM_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, loom_status_name(status), loom_error_message());
  exit(1);
}

static void play_round(void) {
  pthread_t started[MOST_THREADS];
  size_t i, live = 0;
  check(loom_initialize(), "loom_initialize");
  memset(workers, 0, threads * sizeof *workers);
  for (i = 0; i < threads; ++i)
    if (pthread_create(&started[i], NULL, work, &workers[i]) != 0) abort();
  watch(started);
  for (i = 0; i < sizeof shared / sizeof shared[0]; ++i) {
    loom_tensor left;
    left.bits = __atomic_exchange_n(&shared[i], 0, __ATOMIC_SEQ_CST);
    (void)loom_tensor_release(left);
  }
  /* half of what was given out is ended now, half after the library */
  for (i = 0; i < 8; ++i) delete_given_out(i, NULL);
  check(loom_live_handles(&live), "loom_live_handles");
  for (i = 8; i < 16; ++i) live -= given_out[i] != NULL;
  if (live != 0) {
    fprintf(stderr, "%lld handles are left\n", (long long)live);
    ++defects;
  }
  check(loom_shutdown(), "loom_shutdown");
  for (i = 8; i < 16; ++i) delete_given_out(i, NULL);
  all_returned();
}

int main(int count, char **words_given) {
  uint64_t first, sequences, round, succeeded = 0, refused = 0;
  loom_memory_figures figures = {sizeof figures, 0, 0, 0, 0, 0};
  size_t i;
  if (count == 2 && strcmp(words_given[1], "names") == 0) {
    for (i = 0; i < ACTIONS; ++i) puts(actions[i].name);
    return 0;
  }
  if (count != 6) {
    fprintf(stderr, "expected SEED FIRST COUNT THREADS ROUND, or names\n");
    return 2;
  }
  seed = strtoull(words_given[1], NULL, 10);
  first = strtoull(words_given[2], NULL, 10);
  sequences = strtoull(words_given[3], NULL, 10);
  threads = (size_t)strtoull(words_given[4], NULL, 10);
  round = strtoull(words_given[5], NULL, 10);
  if (threads == 0 || threads > MOST_THREADS || round == 0) return 2;
  told = getenv("SEQUENCES_TOLD") != NULL;
  workers = (worker *)calloc(threads, sizeof *workers);
  if (workers == NULL) return 2;
  (void)signal(SIGSEGV, crashed);
  (void)signal(SIGBUS, crashed);
  (void)signal(SIGABRT, crashed);
  for (next_sequence = first; next_sequence < first + sequences && defects == 0;) {
    const uint64_t begun = next_sequence;
    last_sequence = begun + round < first + sequences ? begun + round : first + sequences;
    play_round();
    next_sequence = last_sequence;
    for (i = 0; i < threads; ++i) {
      succeeded += workers[i].succeeded;
      refused += workers[i].refused;
    }
    check(loom_initialize(), "loom_initialize");
    check(loom_memory(&figures), "loom_memory");
    printf("%llu sequences, %llu calls succeeded, %llu were refused, %zu MB resident\n",
           (unsigned long long)(next_sequence - first), (unsigned long long)succeeded,
           (unsigned long long)refused, figures.resident >> 20);
    (void)fflush(stdout);
  }
  check(loom_shutdown(), "loom_shutdown");
  for (i = 0; i < ACTIONS; ++i)
    if (called[i] == 0 && sequences >= 2000) {
      fprintf(stderr, "%s was never called\n", actions[i].name);
      ++defects;
    }
  free(workers);
  return defects == 0 ? 0 : 1;
}
