/* What a host that sets nothing finds changed by the library: host NAME looks at one thing. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define RESTORER 0x04000000

extern char **environ;

/* ---- the state of the process ------------------------------------------------------ */

typedef struct state {
  struct sigaction actions[65];
  sigset_t blocked;
  mode_t mask;
  char locale[300], environment[1 << 16];
  struct stat streams[3];
} state;

static void look(state *s) {
  size_t used = 0;
  int i;
  memset(s, 0, sizeof *s);
  for (i = 1; i < 65; ++i) (void)sigaction(i, NULL, &s->actions[i]);
  EXPECT(sigprocmask(SIG_SETMASK, NULL, &s->blocked) == 0);
  s->mask = umask(0);
  (void)umask(s->mask);
  snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
  for (i = 0; environ != NULL && environ[i] != NULL; ++i) {
    used += (size_t)snprintf(s->environment + used, sizeof s->environment - used, "%s\n",
                             environ[i]);
    EXPECT(used < sizeof s->environment);
  }
  for (i = 0; i < 3; ++i) EXPECT(fstat(i, &s->streams[i]) == 0);
  /* there is no child to wait for */
  errno = 0;
  EXPECT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void same(const state *before) {
  static state now;
  int i;
  look(&now);
  for (i = 1; i < 65; ++i) {
    if (now.actions[i].sa_handler != before->actions[i].sa_handler)
      fprintf(stderr, "the handler of signal %d is another one\n", i);
    EXPECT(now.actions[i].sa_handler == before->actions[i].sa_handler);
    /* the C library adds one of its own to what it sets, the default action too */
    EXPECT(((now.actions[i].sa_flags ^ before->actions[i].sa_flags) & ~RESTORER) == 0);
    EXPECT(sigismember(&now.blocked, i) == sigismember(&before->blocked, i));
  }
  EXPECT(now.mask == before->mask);
  EXPECT(strcmp(now.locale, before->locale) == 0);
  EXPECT(strcmp(now.environment, before->environment) == 0);
  for (i = 0; i < 3; ++i)
    EXPECT(now.streams[i].st_dev == before->streams[i].st_dev &&
           now.streams[i].st_ino == before->streams[i].st_ino);
}

static void work(void) {
  float data[64] = {1}, back[64];
  const int64_t shape[2] = {8, 8};
  loom_tensor x, y, z;
  OK(loom_tensor_from_host(data, sizeof data, LOOM_FLOAT32, shape, 2, &x));
  OK(loom_matmul(x, x, &y));
  OK(loom_tanh(y, &z));
  OK(loom_tensor_read(z, back, sizeof back));
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(y));
  OK(loom_tensor_release(z));
}

static void state_is_kept(void) {
  static state before;
  look(&before);
  OK(loom_initialize());
  same(&before);
  work();
  same(&before);
  OK(loom_shutdown());
  same(&before);
  OK(loom_initialize());
  work();
  same(&before);
}

/* ---- counts and places ------------------------------------------------------------- */

static void counts_have_bounds(void) {
  const size_t counts[] = {((size_t)1 << 20) + 1, (size_t)1 << 30, (size_t)1 << 40, SIZE_MAX};
  const float two[2] = {1, 2};
  const int64_t axes[1] = {0};
  const double reals[1] = {0};
  loom_tensor x = vector(two, 2), y;
  const loom_operand operand = loom_t(x);
  size_t i, n;
  for (i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    const loom_attr ints = loom_attr_ints("axis", axes, counts[i]);
    const loom_attr floats = loom_attr_floats("axis", reals, counts[i]);
    FAILS(LOOM_ERROR_ARGUMENT, loom_apply("sum", &operand, 1, &ints, 1, &y, 1, &n));
    EXPECT(strstr(loom_error_message(), "'axis'") != NULL);
    FAILS(LOOM_ERROR_ARGUMENT, loom_apply("sum", &operand, 1, &floats, 1, &y, 1, &n));
  }
}

static void errors_name_their_line(void) {
  const float two[2] = {1, 2};
  const loom_tensor none = {0};
  loom_tensor list[3], found[3];
  loom_program program;
  char here[40];
  size_t n;
  list[0] = list[2] = vector(two, 2);
  list[1].bits = 12345;
  loom_set_source_location("elsewhere.c", 1);
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_ndim(none, &n));
  snprintf(here, sizeof here, "host.c:%d", __LINE__ - 1);
  EXPECT(strstr(loom_error_site(), here) != NULL);
  FAILS(LOOM_ERROR_HANDLE, loom_sync(list, 3, true));
  EXPECT(strstr(loom_error_message(), "tensors[1]") != NULL);
  FAILS(LOOM_ERROR_HANDLE, loom_grad(list, 1, list, 3, NULL, false, found));
  EXPECT(strstr(loom_error_message(), "inputs[1]") != NULL);
  FAILS(LOOM_ERROR_HANDLE, loom_backward(list, 3, NULL));
  EXPECT(strstr(loom_error_message(), "outputs[1]") != NULL);
  FAILS(LOOM_ERROR_HANDLE, loom_grad(list, 1, list, 1, &list[1], false, found));
  EXPECT(strstr(loom_error_message(), "cotangents[0]") != NULL);
  FAILS(LOOM_ERROR_HANDLE, loom_tensors_assign(list, &list[2], 1) == LOOM_OK
                               ? loom_tensors_assign(&list[1], list, 1) : LOOM_OK);
  EXPECT(strstr(loom_error_message(), "targets[0]") != NULL);
  FAILS(LOOM_ERROR_HANDLE, loom_program_of(list, 2, &program));
  EXPECT(strstr(loom_error_message(), "tensors[1]") != NULL);
}

static void names_are_copied(void) {
  const loom_tensor none = {0};
  char name[2][16] = {"gone.c", "also.c"};
  size_t n;
  int i;
  for (i = 0; i < 2; ++i) {
    loom_copy_source_location(name[i], 7);
    name[i][0] = 'x';
    FAILS(LOOM_ERROR_HANDLE, (loom_tensor_ndim)(none, &n));
    EXPECT(strcmp(loom_error_site(), i == 0 ? "gone.c:7" : "also.c:7") == 0);
  }
  loom_copy_source_location(NULL, 0);
  FAILS(LOOM_ERROR_HANDLE, (loom_tensor_ndim)(none, &n));
  EXPECT(strcmp(loom_error_site(), "") == 0);
}

/* ---- errors as objects, messages ---------------------------------------------------- */

static void *elsewhere(void *given) {
  loom_error_details details;
  details.size = sizeof details;
  /* this thread has none of its own */
  OK(loom_error_describe(NULL, &details));
  EXPECT(details.status == LOOM_OK && details.index == -1 && details.message[0] == 0);
  EXPECT(loom_error_restore((loom_error *)given) == LOOM_ERROR_SHAPE);
  EXPECT(loom_error_status() == LOOM_ERROR_SHAPE);
  EXPECT(strstr(loom_error_site(), "host.c:") != NULL);
  loom_error_free((loom_error *)given);
  EXPECT(strcmp(loom_error_op(), "add") == 0);
  OK(loom_error_restore(NULL));
  OK(loom_error_status());
  return NULL;
}

static void errors_are_objects(void) {
  const float numbers[3] = {1, 2, 3};
  const loom_tensor none = {12345}, x = vector(numbers, 3), y = vector(numbers, 2);
  const loom_attr wrong = loom_attr_int("axes", 3);
  const loom_operand operands[2] = {loom_t(x), loom_t(none)};
  loom_error_details details;
  loom_tensor list[2], z;
  loom_error *error;
  pthread_t thread;
  struct { loom_error_details known; int64_t later; } newer;
  loom_error_clear();
  EXPECT(loom_error_take() == NULL);
  EXPECT(loom_add(x, y, &z) == LOOM_ERROR_SHAPE);
  error = loom_error_take();
  EXPECT(error != NULL && loom_error_status() == LOOM_OK && loom_error_take() == NULL);
  details.size = sizeof details;
  OK(loom_error_describe(error, &details));
  EXPECT(details.status == LOOM_ERROR_SHAPE && strcmp(details.op, "add") == 0);
  EXPECT(strstr(details.site, "host.c:") != NULL && strstr(details.message, "(3,)") != NULL);
  EXPECT(strstr(details.expected, "equal sizes") != NULL);
  EXPECT(details.argument[0] == 0 && details.index == -1);
  EXPECT(pthread_create(&thread, NULL, elsewhere, error) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);

  /* an entry of a list, an operand, an attribute, a parameter */
  list[0] = x, list[1] = none;
  FAILS(LOOM_ERROR_HANDLE, loom_sync(list, 2, true));
  OK(loom_error_describe(NULL, &details));
  EXPECT(strcmp(details.argument, "tensors") == 0 && details.index == 1);
  FAILS(LOOM_ERROR_HANDLE, loom_apply("add", operands, 2, NULL, 0, &z, 1, NULL));
  OK(loom_error_describe(NULL, &details));
  EXPECT(strcmp(details.argument, "y") == 0 && details.index == 1);
  FAILS(LOOM_ERROR_ARGUMENT, loom_apply("sum", operands, 1, &wrong, 1, &z, 1, NULL));
  OK(loom_error_describe(NULL, &details));
  EXPECT(strcmp(details.argument, "axes") == 0 && details.index == -1);
  FAILS(LOOM_ERROR_ARGUMENT, loom_tensor_nbytes(x, NULL));
  OK(loom_error_describe(NULL, &details));
  EXPECT(strcmp(details.argument, "nbytes") == 0 && strcmp(details.expected, "a pointer") == 0);

  /* a header that was older, and one that will be newer */
  memset(&newer, 7, sizeof newer);
  newer.known.size = offsetof(loom_error_details, op);
  OK(loom_error_describe(NULL, &newer.known));
  EXPECT(newer.known.status == LOOM_ERROR_ARGUMENT && newer.known.expected != details.expected);
  newer.known.size = sizeof newer;
  OK(loom_error_describe(NULL, &newer.known));
  EXPECT(newer.known.expected == details.expected && newer.later == 0);
  newer.known.size = 3;
  FAILS(LOOM_ERROR_ARGUMENT, loom_error_describe(NULL, &newer.known));
  FAILS(LOOM_ERROR_ARGUMENT, loom_error_describe(NULL, NULL));
  loom_error_free(NULL);
}

static int messages_heard = 0;

static void hear(loom_log_level level, const char *message, void *context) {
  EXPECT(context == &messages_heard && level == LOOM_LOG_WARNING);
  EXPECT(strstr(message, "cache") != NULL && strchr(message, '\n') == NULL);
  EXPECT(loom_set_log(NULL, NULL, LOOM_LOG_INFO) == LOOM_ERROR_ARGUMENT);
  ++messages_heard;
}

static void messages_are_heard(void) {
  FAILS(LOOM_ERROR_ARGUMENT, loom_set_log(hear, NULL, (loom_log_level)4));
  OK(loom_set_log(hear, &messages_heard, LOOM_LOG_WARNING));
  OK(loom_initialize());
  work();
  EXPECT(messages_heard == 1);
  OK(loom_set_log(NULL, NULL, LOOM_LOG_INFO));
}

/* ---- rights of somebody else ------------------------------------------------------- */

static bool secure = false;

/* In the place of the C library's. */
unsigned long getauxval(unsigned long type) {
  static unsigned long (*real)(unsigned long) = NULL;
  if (type == AT_SECURE && secure) return 1;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "getauxval");
  return real(type);
}

static void other_rights(void) {
  secure = true;
  FAILS(LOOM_ERROR_START, loom_initialize());
  EXPECT(strstr(loom_error_message(), "set-user-ID") != NULL);
  secure = false;
  OK(loom_initialize());
  work();
}

/* ---- functions of the caller's ----------------------------------------------------- */

static jmp_buf out;

static loom_status leaves(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                          size_t output_count, void *context) {
  (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)context;
  longjmp(out, 1);
}

static jmp_buf out_of_thread;

static loom_status leaves_thread(const loom_tensor *inputs, size_t input_count,
                                 loom_tensor *outputs, size_t output_count, void *context) {
  (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)context;
  longjmp(out_of_thread, 1);
}

/* The same of a transform, on a thread of its own: other threads go on. */
static void *transform_that_is_left(void *given) {
  static loom_tensor y, z;
  const loom_tensor *x = (const loom_tensor *)given;
  if (setjmp(out_of_thread) == 0) {
    (void)!loom_value_and_grad(leaves_thread, NULL, x, 1, NULL, 0, &y, 1, &z);
    EXPECT(false);
  }
  FAILS(LOOM_ERROR, loom_add(*x, *x, &y));
  FAILS(LOOM_ERROR, loom_wait(x, 1, 1));
  return NULL;
}

static void functions_that_are_left(void) {
  static loom_tensor x;
  const float two[2] = {1, 2};
  loom_tensor y;
  pthread_t thread;
  x = vector(two, 2);
  EXPECT(pthread_create(&thread, NULL, transform_that_is_left, &x) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  work();
  if (setjmp(out) == 0) {
    (void)!loom_scan(leaves, NULL, &x, 1, NULL, 0, 3, 0, false, &y);
    EXPECT(false);
  }
  FAILS(LOOM_ERROR, loom_add(x, x, &y));
  EXPECT(strstr(loom_error_message(), "longjmp") != NULL);
  FAILS(LOOM_ERROR, loom_tensor_release(x));
  FAILS(LOOM_ERROR, loom_initialize());
  FAILS(LOOM_ERROR, loom_shutdown());
}

/* ---- another copy of the library ---------------------------------------------------- */

static void another_copy(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  loom_status (*start)(void);
  const char *(*message)(void);
  EXPECT(library != NULL);
  *(void **)&start = dlsym(library, "loom_initialize");
  *(void **)&message = dlsym(library, "loom_error_message");
  EXPECT(start() == LOOM_ERROR_START);
  EXPECT(strstr(message(), path) != NULL);
  EXPECT(strstr(message(), "another copy") != NULL);
  work();
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  if (strcmp(name, "state") == 0) {
    state_is_kept();
  } else if (strcmp(name, "rights") == 0) {
    other_rights();
  } else if (strcmp(name, "messages") == 0) {
    messages_are_heard();
  } else {
    OK(loom_initialize());
    if (strcmp(name, "counts") == 0) counts_have_bounds();
    else if (strcmp(name, "lines") == 0) {
      errors_name_their_line();
      names_are_copied();
    }
    else if (strcmp(name, "errors") == 0) errors_are_objects();
    else if (strcmp(name, "functions") == 0) functions_that_are_left();
    else if (strcmp(name, "copies") == 0) another_copy(argv[2]);
    else if (strcmp(name, "interrupt") == 0) {
      work();
      puts("host works");
      fflush(stdout);
      (void)raise(SIGINT);
      puts("it is still there");
    }
    else EXPECT(false);
  }
  puts("host works");
  return 0;
}
