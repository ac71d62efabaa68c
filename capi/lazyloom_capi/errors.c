/* Errors of a thread, the state of the library, and what every exported function begins and
   ends with. Nothing here needs Python. */

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

/* COLD: nothing was tried yet. FAILED: a start was, in vain. ENDED: Python or the process is. */
enum { COLD, STARTING, RUNNING, STOPPED, FAILED, FORKED, ENDED };

static _Atomic int state = COLD;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
/* the destructors of this thread's C++ objects run or have run, XLA's among them */
static __thread bool thread_ended = false;
static bool python_ended = false;

/* ---- errors of a thread -------------------------------------------------------- */

/* The last failure of a thread, or one that was taken from it. */
typedef struct loom_error {
  loom_status status;
  char *message;
  char *op;
  char *site;
  char *argument;
  char *expected;
  int64_t index;
} error_record;

static pthread_key_t error_key;
static pthread_once_t error_once = PTHREAD_ONCE_INIT;
static __thread const char *source_file;
static __thread int source_line;
/* how many errors this thread has recorded */
static __thread uint32_t errors_made;

static void error_empty(error_record *e) {
  free(e->message);
  free(e->op);
  free(e->site);
  free(e->argument);
  free(e->expected);
  memset(e, 0, sizeof *e);
}

static void error_free(void *given) {
  error_empty((error_record *)given);
  free(given);
}

static void error_start(void) { pthread_key_create(&error_key, error_free); }

static error_record *error_of_thread(bool make) {
  error_record *e;
  pthread_once(&error_once, error_start);
  e = (error_record *)pthread_getspecific(error_key);
  if (e == NULL && make) {
    e = (error_record *)calloc(1, sizeof *e);
    if (e != NULL) pthread_setspecific(error_key, e);
  }
  return e;
}

static char *copied_part(const char *text, size_t n) {
  char *result = (char *)malloc(n + 1);
  if (result != NULL) {
    memcpy(result, text, n);
    result[n] = 0;
  }
  return result;
}

static char *copied(const char *text) { return copied_part(text, strlen(text)); }

/* How many bytes at the beginning of a text are one character of UTF-8, or as much of one as there
   is; *whole says which. */
static size_t character(const unsigned char *text, bool *whole) {
  const unsigned char first = text[0];
  const size_t wanted = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  /* no overlong form, no surrogate, nothing above U+10FFFF */
  unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  size_t n;
  *whole = first < 0x80;
  if (first < 0xC2 || first > 0xF4) return 1;
  for (n = 1; n < wanted && text[n] >= low && text[n] <= high; ++n) low = 0x80, high = 0xBF;
  *whole = n == wanted;
  return n;
}

/* A copy of a text that may hold what a caller gave: what is no UTF-8 becomes U+FFFD. */
static char *copied_as_utf8(const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  char *result = (char *)malloc(3 * strlen(text) + 1), *to = result;
  while (result != NULL && *at != 0) {
    bool whole;
    const size_t n = character(at, &whole);
    memcpy(to, whole ? (const char *)at : "\xEF\xBF\xBD", whole ? n : 3);
    to += whole ? n : 3;
    at += n;
  }
  if (result != NULL) *to = 0;
  return result;
}

/* What a message says was expected: all have the form "what was given, expected that; do this". */
static char *said_expected(const char *message) {
  const char *from = strstr(message, "expected "), *to;
  if (from == NULL) return NULL;
  from += strlen("expected ");
  to = strstr(from, "; ");
  return copied_part(from, to != NULL ? (size_t)(to - from) : strlen(from));
}

/* The calling thread's source location, which is known. */
static char *source_site(void) {
  char *file = copied_as_utf8(source_file);
  const size_t n = file != NULL ? strlen(file) + 16 : 0;
  char *site = file != NULL ? (char *)malloc(n) : NULL;
  if (site != NULL) snprintf(site, n, "%s:%d", file, source_line);
  free(file);
  return site;
}

/* Called by the entries too, with texts that live during the call. */
static void loomp_set_error(int status, const char *message, const char *op, const char *site) {
  error_record *e = error_of_thread(true);
  ++errors_made;
  if (e == NULL) return;
  error_empty(e);
  e->status = (loom_status)status;
  e->message = copied_as_utf8(message);
  e->op = copied_as_utf8(op);
  e->expected = e->message != NULL ? said_expected(e->message) : NULL;
  e->index = -1;
  e->site = site[0] == 0 && source_file != NULL ? source_site() : copied_as_utf8(site);
}

/* Which argument the recorded error is about: a parameter, an operand or an attribute, and which
   operand, or which entry of a list; -1 for none. */
static void loomp_set_argument(const char *name, int64_t index) {
  error_record *e = error_of_thread(false);
  if (e == NULL) return;
  free(e->argument);
  e->argument = copied_as_utf8(name);
  e->index = index;
}

/* The recorded error is at the calling thread's source location, whatever it says. */
static void error_at_source(void) {
  error_record *e = error_of_thread(false);
  char *site = e == NULL || source_file == NULL ? NULL : source_site();
  if (site == NULL) return;
  free(e->site);
  e->site = site;
}

static loom_status fail(loom_status status, const char *message) {
  loomp_set_error((int)status, message, "", "");
  return status;
}

loom_status loom_error_status(void) {
  error_record *e = error_of_thread(false);
  return e == NULL ? LOOM_OK : e->status;
}

const char *loom_error_message(void) {
  error_record *e = error_of_thread(false);
  return e == NULL || e->message == NULL ? "" : e->message;
}

const char *loom_error_op(void) {
  error_record *e = error_of_thread(false);
  return e == NULL || e->op == NULL ? "" : e->op;
}

const char *loom_error_site(void) {
  error_record *e = error_of_thread(false);
  return e == NULL || e->site == NULL ? "" : e->site;
}

/* Fails, for a parameter of a function. */
static loom_status fail_at(loom_status status, const char *message, const char *parameter) {
  (void)fail(status, message);
  loomp_set_argument(parameter, -1);
  return status;
}

/* Fails, for an entry of a list. */
static loom_status fail_entry(loom_status status, const char *message, const char *parameter,
                              size_t index) {
  (void)fail(status, message);
  loomp_set_argument(parameter, (int64_t)index);
  return status;
}

/* The status of a call whose parameter is a handle: an error about that names both. */
static loom_status about_handle(loom_status status, const char *function, const char *parameter) {
  const error_record *e = status == LOOM_ERROR_HANDLE ? error_of_thread(false) : NULL;
  char text[400];
  if (e == NULL || (e->argument != NULL && e->argument[0] != 0)) return status;
  snprintf(text, sizeof text, "%s: %s: %s", function, parameter, loom_error_message());
  return fail_at(status, text, parameter);
}

/* The same for an entry of a list of handles. */
static loom_status about_entry(loom_status status, const char *function, const char *parameter,
                               size_t index) {
  char text[400];
  if (status != LOOM_ERROR_HANDLE) return status;
  snprintf(text, sizeof text, "%s: %s[%zu]: %s", function, parameter, index, loom_error_message());
  return fail_entry(status, text, parameter, index);
}

loom_error *loom_error_take(void) {
  error_record *e = error_of_thread(false), *taken;
  if (e == NULL || e->status == LOOM_OK) return NULL;
  taken = (error_record *)malloc(sizeof *taken);
  if (taken == NULL) return NULL;
  *taken = *e;
  memset(e, 0, sizeof *e);
  return taken;
}

static const char *text_of(const char *text) { return text != NULL ? text : ""; }

loom_status loom_error_describe(const loom_error *error, loom_error_details *details) {
  const error_record *e = error != NULL ? error : error_of_thread(false);
  loom_error_details all;
  if (details == NULL)
    return fail_at(LOOM_ERROR_ARGUMENT, "loom_error_describe: details is NULL, expected a pointer",
                   "details");
  if (details->size < sizeof all.size || details->size > 1024)
    return fail_at(LOOM_ERROR_ARGUMENT,
                   "loom_error_describe: details->size is no size of a loom_error_details, "
                   "expected sizeof(loom_error_details)",
                   "details");
  memset(&all, 0, sizeof all);
  all.size = details->size;
  all.status = e != NULL ? e->status : LOOM_OK;
  all.index = e != NULL && e->status != LOOM_OK ? e->index : -1;
  all.message = text_of(e != NULL ? e->message : NULL);
  all.op = text_of(e != NULL ? e->op : NULL);
  all.site = text_of(e != NULL ? e->site : NULL);
  all.argument = text_of(e != NULL ? e->argument : NULL);
  all.expected = text_of(e != NULL ? e->expected : NULL);
  if (details->size > sizeof all)
    memset((char *)details + sizeof all, 0, details->size - sizeof all);
  memcpy(details, &all, details->size < sizeof all ? details->size : sizeof all);
  return LOOM_OK;
}

static char *copied_or_null(const char *text) { return text != NULL ? copied(text) : NULL; }

loom_status loom_error_restore(const loom_error *error) {
  error_record *e;
  if (error == NULL) {
    loom_error_clear();
    return LOOM_OK;
  }
  e = error_of_thread(true);
  ++errors_made;
  if (e == NULL) return error->status;
  error_empty(e);
  e->status = error->status;
  e->message = copied_or_null(error->message);
  e->op = copied_or_null(error->op);
  e->site = copied_or_null(error->site);
  e->argument = copied_or_null(error->argument);
  e->expected = copied_or_null(error->expected);
  e->index = error->index;
  return error->status;
}

void loom_error_free(loom_error *error) {
  if (error != NULL) error_free(error);
}

loom_status loom_set_error(loom_status status, const char *message) {
  char text[200];
  if (status == LOOM_OK) {
    snprintf(text, sizeof text, "loom_set_error: status is LOOM_OK, expected that of an error");
    return fail(LOOM_ERROR_ARGUMENT, text);
  }
  return fail(status, message != NULL ? message : "");
}

void loom_error_clear(void) {
  error_record *e = error_of_thread(false);
  if (e != NULL) error_empty(e);
}

const char *loom_status_name(loom_status status) {
  switch (status) {
    case LOOM_OK: return "LOOM_OK";
    case LOOM_ERROR: return "LOOM_ERROR";
    case LOOM_ERROR_ARGUMENT: return "LOOM_ERROR_ARGUMENT";
    case LOOM_ERROR_SHAPE: return "LOOM_ERROR_SHAPE";
    case LOOM_ERROR_DTYPE: return "LOOM_ERROR_DTYPE";
    case LOOM_ERROR_UNKNOWN_OP: return "LOOM_ERROR_UNKNOWN_OP";
    case LOOM_ERROR_EXECUTION: return "LOOM_ERROR_EXECUTION";
    case LOOM_ERROR_DONATED: return "LOOM_ERROR_DONATED";
    case LOOM_ERROR_GRADIENT: return "LOOM_ERROR_GRADIENT";
    case LOOM_ERROR_ALIAS: return "LOOM_ERROR_ALIAS";
    case LOOM_ERROR_HANDLE: return "LOOM_ERROR_HANDLE";
    case LOOM_ERROR_FORK: return "LOOM_ERROR_FORK";
    case LOOM_ERROR_READ_FORBIDDEN: return "LOOM_ERROR_READ_FORBIDDEN";
    case LOOM_ERROR_INDEX_RANGE: return "LOOM_ERROR_INDEX_RANGE";
    case LOOM_ERROR_OUT_OF_MEMORY: return "LOOM_ERROR_OUT_OF_MEMORY";
    case LOOM_ERROR_NOT_INITIALIZED: return "LOOM_ERROR_NOT_INITIALIZED";
    case LOOM_ERROR_START: return "LOOM_ERROR_START";
    case LOOM_ERROR_INTERNAL: return "LOOM_ERROR_INTERNAL";
    case LOOM_ERROR_STACK: return "LOOM_ERROR_STACK";
    case LOOM_ERROR_TIMEOUT: return "LOOM_ERROR_TIMEOUT";
  }
  return "unknown status";
}

void loom_set_source_location(const char *file, int line) {
  source_file = file;
  source_line = line;
}

/* Names that were copied, by their hash. They stay: nodes and records may name them. */
typedef struct name_copied {
  struct name_copied *next;
  char text[];
} name_copied;

static name_copied *names_copied[256];
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *copied_name(const char *text) {
  uint32_t hash = 2166136261u;
  const char *at;
  size_t n;
  name_copied *found;
  for (at = text; *at != 0; ++at) hash = (hash ^ (unsigned char)*at) * 16777619u;
  hash ^= hash >> 16;
  n = (size_t)(at - text) + 1;
  pthread_mutex_lock(&names_lock);
  for (found = names_copied[hash & 255]; found != NULL; found = found->next)
    if (strcmp(found->text, text) == 0) break;
  if (found == NULL) {
    found = (name_copied *)malloc(sizeof *found + n);
    if (found != NULL) {
      memcpy(found->text, text, n);
      found->next = names_copied[hash & 255];
      names_copied[hash & 255] = found;
    }
  }
  pthread_mutex_unlock(&names_lock);
  return found != NULL ? found->text : NULL;
}

void loom_copy_source_location(const char *file, int line) {
  loom_set_source_location(file != NULL ? copied_name(file) : NULL, line);
}

/* ---- messages ---------------------------------------------------------------------- */

static loom_log_function log_function = NULL;
static void *log_context = NULL;
static loom_log_level log_least = LOOM_LOG_INFO;
/* held while a function of the caller's is called, so that the one that is replaced has returned */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool logs = false;

loom_status loom_set_log(loom_log_function log, void *context, loom_log_level least) {
  if ((int)least < LOOM_LOG_INFO || (int)least > LOOM_LOG_ERROR)
    return fail_at(LOOM_ERROR_ARGUMENT,
                   "loom_set_log: least is no level, expected a loom_log_level (1 to 3)", "least");
  if (logs)
    return fail(LOOM_ERROR_ARGUMENT,
                "loom_set_log was called by a function that hears messages, expected another "
                "place; such a function must not call lazyloom");
  pthread_mutex_lock(&log_lock);
  log_function = log;
  log_context = context;
  log_least = least;
  pthread_mutex_unlock(&log_lock);
  return LOOM_OK;
}

/* Called by the entries: 1 if there is a function that hears messages. */
static int loomp_log(int level, const char *message) {
  int heard;
  if (logs) return 1;
  pthread_mutex_lock(&log_lock);
  heard = log_function != NULL;
  if (heard && level >= (int)log_least) {
    logs = true;
    log_function((loom_log_level)level, message, log_context);
    logs = false;
  }
  pthread_mutex_unlock(&log_lock);
  return heard;
}

/* ---- the end of a thread ----------------------------------------------------------- */

/* C++ objects of a thread are destroyed when it ends and, those of the thread that calls exit(),
   before the first handler of atexit(); what XLA computes with is among them. This is told in the
   same way. Objects are destroyed in the reverse order of their making, and XLA makes its own when
   it first needs them, so this is asked for again after a call that may have made some: after each
   of the first ones, and then more and more seldom. */
#define WATCHED_CALLS 64

extern int __cxa_thread_atexit_impl(void (*function)(void *), void *object, void *library)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));
static __thread uint32_t calls_made = 0;

/* how many waits and calls are at work on threads of the library's; the entries count them, in an
   interpreter that the library has opened */
static int64_t at_work = 0;
/* milliseconds for which the end of the process waits for them */
enum { LONGEST_END = 60000 };

static void loomp_at_work(int by) { __atomic_fetch_add(&at_work, by, __ATOMIC_SEQ_CST); }

/* On the thread that calls exit() this is the first of all that happens, and XLA's objects, which
   other threads may be at work with, are still there. */
static void thread_over(void *unused) {
  const struct timespec millisecond = {0, 1000000};
  int waited;
  (void)unused;
  thread_ended = true;
  if (state != RUNNING || (pid_t)syscall(SYS_gettid) != getpid()) return;
  for (waited = 0; waited < LONGEST_END; ++waited) {
    if (__atomic_load_n(&at_work, __ATOMIC_SEQ_CST) <= 0) return;
    (void)nanosleep(&millisecond, NULL);
  }
}

static void watch_thread(void) {
  ++calls_made;
  if (calls_made > WATCHED_CALLS && (calls_made & (calls_made - 1)) != 0) return;
  if (__cxa_thread_atexit_impl != NULL)
    (void)__cxa_thread_atexit_impl(thread_over, NULL, &__dso_handle);
}

/* ---- the stack of a thread ------------------------------------------------------- */

/* what a call must find left of it: three times what compiling was seen to use */
#define STACK_NEEDED ((size_t)192 << 10)

/* The ends of the calling thread's stack; equal where they are not known. */
static __thread char *stack_low = NULL, *stack_high = NULL;

static void find_stack(void) {
  static char unknown;
  pthread_attr_t attributes;
  void *low = NULL;
  size_t size = 0;
  stack_low = stack_high = &unknown;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    stack_low = (char *)low;
    stack_high = stack_low + size;
  }
  pthread_attr_destroy(&attributes);
}

/* What is left of the stack; SIZE_MAX on one that is not the thread's own (a coroutine's). */
static size_t stack_left(void) {
  char *here = (char *)__builtin_frame_address(0);
  if (stack_low == NULL) find_stack();
  return here > stack_low && here < stack_high ? (size_t)(here - stack_low) : SIZE_MAX;
}

/* ---- functions of the caller's ----------------------------------------------------- */

/* Where the innermost call of a function of the caller's was made, on this thread; NULL outside of
   one. The function may call the library, deeper in the stack. A call from above that place was
   made after longjmp(), or an exception, had left the function, and with it what the library does
   around it. */
static __thread char *function_called = NULL;

static bool function_left(void) {
  char *here = (char *)__builtin_frame_address(0);
  if (function_called == NULL) return false;
  if (stack_low == NULL) find_stack();
  return here > function_called && here < stack_high && function_called >= stack_low;
}

/* This thread calls functions that hear when tensors are ready, and a shutdown waits for it. */
static __thread bool calls_back = false;

static loom_status refused_to_callback(const char *function) {
  char text[200];
  snprintf(text, sizeof text,
           "%s was called by a function that hears when a tensor is ready, expected another "
           "thread; a shutdown waits for such functions", function);
  return fail(LOOM_ERROR_ARGUMENT, text);
}

static loom_status refused_to_function(const char *function) {
  char text[200];
  snprintf(text, sizeof text,
           "%s was called by a function that was given to lazyloom, to a loop or a transform, "
           "expected a call after it has returned", function);
  return fail(LOOM_ERROR_ARGUMENT, text);
}

/* ---- the floating-point environment ------------------------------------------------ */

/* What XLA computes is meant for C's default environment: with traps on it would end the process,
   another rounding or subnormals as zero would change its numbers. A caller that has another one
   finds it again after the call, without the exceptions that were raised meanwhile. */
typedef struct environment {
  bool other;
  unsigned flags; /* the exceptions that were raised before the call */
  fenv_t callers;
} environment;

static bool default_environment(void) {
#if defined(__x86_64__)
  unsigned short x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (__builtin_ia32_stmxcsr() & 0xffc0) == 0x1f80 && x87 == 0x037f;
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return control == 0;
#else
  return false;
#endif
}

/* The exceptions that were raised so far. Those of the x87, which nothing here computes with, are
   left alone: to look at them would take as long as a tenth of a call. */
static inline unsigned raised(void) {
#if defined(__x86_64__)
  return __builtin_ia32_stmxcsr() & 0x3f;
#else
  return (unsigned)fetestexcept(FE_ALL_EXCEPT);
#endif
}

static void environment_set(environment *e) {
  e->other = !default_environment();
  e->flags = raised();
  if (!e->other) return;
  fegetenv(&e->callers);
  fesetenv(FE_DFL_ENV);
}

static void environment_restore(const environment *e) {
  unsigned flags;
  if (e->other) {
    fesetenv(&e->callers);
    return;
  }
  flags = raised();
  if (flags == e->flags) return;
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x3fu) | e->flags);
#else
  /* nothing traps here: this is the default environment */
  feclearexcept((int)(flags & ~e->flags));
  if (e->flags & ~flags) feraiseexcept((int)(e->flags & ~flags));
#endif
}

/* ---- guards -------------------------------------------------------------------- */

static loom_status small_stack(void) {
  char text[200];
  snprintf(text, sizeof text,
           "%zu KB are left of this thread's stack, expected %zu or more; make the thread with a "
           "larger one (pthread_attr_setstacksize)",
           stack_left() >> 10, STACK_NEEDED >> 10);
  return fail(LOOM_ERROR_STACK, text);
}

static loom_status not_ready(void) {
  if (function_left())
    return fail(LOOM_ERROR,
                "a function that was given to lazyloom, to a loop or a transform, was left by "
                "longjmp() or an exception, expected it to return; this thread cannot call "
                "lazyloom any more");
  switch (state) {
    case FORKED:
      return fail(LOOM_ERROR_FORK,
                  "this process was forked after lazyloom had been initialised, or while it was, "
                  "so lazyloom cannot be used in it; fork before loom_initialize(), or start a new "
                  "program");
    case STOPPED:
      return fail(LOOM_ERROR_NOT_INITIALIZED,
                  "loom_shutdown() has been called; call loom_initialize() again first");
    case RUNNING:
    case ENDED:
      python_ended = python_ended || !Py_IsInitialized();
      if (thread_ended || (state == ENDED && !python_ended))
        return fail(LOOM_ERROR_NOT_INITIALIZED,
                    "the process or this thread is ending (exit() has been called, or the thread's "
                    "function has returned) and what XLA keeps for it is gone; call lazyloom "
                    "before that");
      if (python_ended)
        return fail(LOOM_ERROR_NOT_INITIALIZED,
                    "the Python interpreter of this process has ended (Py_Finalize), and lazyloom "
                    "with it; call lazyloom before that");
      return small_stack();
    default:
      return fail(LOOM_ERROR_NOT_INITIALIZED, "call loom_initialize() first");
  }
}

/* Whether this thread can go into Python, whatever the state of the library. */
static bool can_enter(void) {
  if (calls_made == 0) watch_thread();
  return !thread_ended && Py_IsInitialized() && stack_left() >= STACK_NEEDED && !function_left();
}

static bool ready(void) { return state == RUNNING && can_enter(); }

static loom_status null_pointer(const char *function, const char *parameter) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s is NULL, expected a pointer", function, parameter);
  return fail_at(LOOM_ERROR_ARGUMENT, text, parameter);
}

static loom_status null_entry(const char *function, const char *parameter, size_t index) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s[%zu] is NULL, expected a pointer", function, parameter,
           index);
  return fail_entry(LOOM_ERROR_ARGUMENT, text, parameter, index);
}

/* No call has a list as long as that: the number was not meant, and memory beyond what was given
   would be read or written. */
#define LONGEST ((size_t)1 << 20)

static loom_status too_long(const char *function, const char *parameter, size_t count) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s is %zu, expected at most %zu", function, parameter, count,
           LONGEST);
  return fail_at(LOOM_ERROR_ARGUMENT, text, parameter);
}

static loom_status finish(int answer) {
  if (answer == 1) return LOOM_OK;
  if (answer < 0) return (loom_status)-answer;
  return fail(LOOM_ERROR_INTERNAL, "a callback of the runtime died without saying why");
}

#define READY()                         \
  do {                                  \
    if (!ready()) return not_ready();   \
  } while (0)
/* for what does no more than count owners, which a thread that ends may still do */
#define OWNED()                                                              \
  do {                                                                       \
    if (state != RUNNING || !Py_IsInitialized() || function_left())          \
      return not_ready();                                                    \
  } while (0)
#define NEED(pointer)                                                   \
  do {                                                                  \
    if ((pointer) == NULL) return null_pointer(__func__, #pointer);     \
  } while (0)
#define NEED_IF(pointer, count)                                                          \
  do {                                                                                   \
    if ((count) != 0 && (pointer) == NULL) return null_pointer(__func__, #pointer);      \
  } while (0)
/* a list that is read, of a number that can be meant */
#define NEED_LIST(pointer, count)                                       \
  do {                                                                  \
    if ((count) > LONGEST) return too_long(__func__, #count, (count));  \
    NEED_IF(pointer, count);                                            \
  } while (0)
/* the caller's line, for an entry */
#define WHERE (uintptr_t) source_file, source_line
/* what was released before is gone before anything else is done */
#define CALL(answer)                    \
  __extension__({                       \
    environment floats_;                \
    loom_status status_;                \
    environment_set(&floats_);          \
    flush();                            \
    status_ = finish(answer);           \
    environment_restore(&floats_);      \
    watch_thread();                     \
    status_;                            \
  })
/* the same for what is about one handle, which calls no function of the caller's */
#define CALL_ABOUT(parameter, answer) about_handle(CALL(answer), __func__, #parameter)
