/* Errors of a thread, the state of the library, and what every exported function begins and
   ends with. Nothing here needs Python. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLD, RUNNING, STOPPED, FORKED };

static volatile int state = COLD;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- errors of a thread -------------------------------------------------------- */

typedef struct error_record {
  loom_status status;
  char *message;
  char *op;
  char *site;
} error_record;

static pthread_key_t error_key;
static pthread_once_t error_once = PTHREAD_ONCE_INIT;
static __thread const char *source_file;
static __thread int source_line;

static void error_empty(error_record *e) {
  free(e->message);
  free(e->op);
  free(e->site);
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

static char *copied(const char *text) {
  size_t n = strlen(text) + 1;
  char *result = (char *)malloc(n);
  if (result != NULL) memcpy(result, text, n);
  return result;
}

/* Called by the entries too, with texts that live during the call. */
static void loomp_set_error(int status, const char *message, const char *op, const char *site) {
  error_record *e = error_of_thread(true);
  if (e == NULL) return;
  error_empty(e);
  e->status = (loom_status)status;
  e->message = copied(message);
  e->op = copied(op);
  if (site[0] == 0 && source_file != NULL) {
    size_t n = strlen(source_file) + 16;
    e->site = (char *)malloc(n);
    if (e->site != NULL) snprintf(e->site, n, "%s:%d", source_file, source_line);
  } else {
    e->site = copied(site);
  }
}

/* The recorded error is at the calling thread's source location, whatever it says. */
static void error_at_source(void) {
  error_record *e = error_of_thread(false);
  const size_t n = source_file == NULL ? 0 : strlen(source_file) + 16;
  char *site = e == NULL || n == 0 ? NULL : (char *)malloc(n);
  if (site == NULL) return;
  snprintf(site, n, "%s:%d", source_file, source_line);
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
    case LOOM_ERROR_NOT_INITIALIZED: return "LOOM_ERROR_NOT_INITIALIZED";
    case LOOM_ERROR_START: return "LOOM_ERROR_START";
    case LOOM_ERROR_INTERNAL: return "LOOM_ERROR_INTERNAL";
  }
  return "unknown status";
}

void loom_set_source_location(const char *file, int line) {
  source_file = file;
  source_line = line;
}

/* ---- guards -------------------------------------------------------------------- */

static loom_status not_ready(void) {
  switch (state) {
    case FORKED:
      return fail(LOOM_ERROR_FORK,
                  "this process was forked after lazyloom had been initialised, so lazyloom "
                  "cannot be used in it; fork before loom_initialize(), or start a new program");
    case STOPPED:
      return fail(LOOM_ERROR_NOT_INITIALIZED,
                  "loom_shutdown() has been called; call loom_initialize() again first");
    default:
      return fail(LOOM_ERROR_NOT_INITIALIZED, "call loom_initialize() first");
  }
}

static loom_status null_pointer(const char *function, const char *parameter) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s is NULL, expected a pointer", function, parameter);
  return fail(LOOM_ERROR_ARGUMENT, text);
}

static loom_status finish(int answer) {
  if (answer == 1) return LOOM_OK;
  if (answer < 0) return (loom_status)-answer;
  return fail(LOOM_ERROR_INTERNAL, "a callback of the runtime died without saying why");
}

#define READY()                                  \
  do {                                           \
    if (state != RUNNING) return not_ready();    \
  } while (0)
#define NEED(pointer)                                                   \
  do {                                                                  \
    if ((pointer) == NULL) return null_pointer(__func__, #pointer);     \
  } while (0)
#define NEED_IF(pointer, count)                                                          \
  do {                                                                                   \
    if ((count) != 0 && (pointer) == NULL) return null_pointer(__func__, #pointer);      \
  } while (0)
