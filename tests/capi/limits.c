/* Where a process or a thread is not as usual: near its end, with little stack, with another
   floating-point environment, forked in the middle of the start. limits NAME tries one. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const char *name = "";
static loom_tensor x, pending;

static bool is(const char *given) { return strcmp(name, given) == 0; }

static void compute(void) {
  const float two[1] = {2};
  float back = 0;
  OK(loom_initialize());
  x = vector(two, 1);
  OK(loom_add(x, x, &pending));
  OK(loom_tensor_read(pending, &back, sizeof back));
  EXPECT(back == 4);
  OK(loom_tensor_release(pending));
  OK(loom_multiply(x, x, &pending));
}

/* Every kind of call is that error, and none is worse. */
static void refused(loom_status status, const char *word) {
  const float two[1] = {2};
  const int64_t shape = 1;
  float back = 0;
  size_t n;
  loom_tensor t;
  FAILS(status, loom_tensor_from_host(two, sizeof two, LOOM_FLOAT32, &shape, 1, &t));
  FAILS(status, loom_add(x, x, &t));
  FAILS(status, loom_tensor_read(pending, &back, sizeof back));
  FAILS(status, loom_tensor_ndim(x, &n));
  FAILS(status, loom_sync(&pending, 1, true));
  FAILS(status, loom_initialize());
  EXPECT(strstr(loom_error_message(), word) != NULL);
}

/* ---- the end of the process ------------------------------------------------------- */

static void at_the_end(void) {
  refused(LOOM_ERROR_NOT_INITIALIZED, "exit()");
  EXPECT(!loom_is_initialized());
  (void)loom_tensor_release(x);
  OK(loom_shutdown());
  puts("the end works");
}

__attribute__((destructor)) static void at_the_very_end(void) {
  if (is("destructor")) at_the_end();
}

/* What the host of an interpreter does, with Python's own functions. */
static void end_python(void) {
  int (*ensure)(void), (*finalize)(void);
  *(void **)&ensure = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
  *(void **)&finalize = dlsym(RTLD_DEFAULT, "Py_FinalizeEx");
  EXPECT(ensure != NULL && finalize != NULL);
  (void)ensure();
  (void)finalize();
  refused(LOOM_ERROR_NOT_INITIALIZED, "Py_Finalize");
  (void)loom_tensor_release(pending);
  OK(loom_shutdown());
  refused(LOOM_ERROR_NOT_INITIALIZED, "Py_Finalize");
}

/* ---- threads ----------------------------------------------------------------------- */

static pthread_key_t key;

static void after_the_thread(void *given) {
  float back = 0;
  FAILS(LOOM_ERROR_NOT_INITIALIZED, loom_tensor_read(pending, &back, sizeof back));
  EXPECT(strstr(loom_error_message(), "thread") != NULL);
  OK(loom_tensor_release(*(loom_tensor *)given));
}

static void *ends(void *unused) {
  compute();
  if (is("the end of a thread")) EXPECT(pthread_setspecific(key, &x) == 0);
  return unused;
}

static void *is_small(void *unused) {
  refused(LOOM_ERROR_STACK, "pthread_attr_setstacksize");
  OK(loom_tensor_release(x));
  return unused;
}

static void *starts(void *unused) {
  OK(loom_initialize());
  return unused;
}

static void on_a_thread(void *(*function)(void *), size_t stack) {
  pthread_attr_t attributes;
  pthread_t thread;
  EXPECT(pthread_attr_init(&attributes) == 0);
  EXPECT(pthread_attr_setstacksize(&attributes, stack) == 0);
  EXPECT(pthread_create(&thread, &attributes, function, NULL) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
}

static void fork_at_the_start(void) {
  pthread_t thread;
  int i, ended = 0;
  EXPECT(pthread_create(&thread, NULL, starts, NULL) == 0);
  for (i = 0; i < 4; ++i) {
    pid_t child;
    usleep(50000);
    child = fork();
    if (child == 0) {
      alarm(20);
      FAILS(LOOM_ERROR_FORK, loom_initialize());
      EXPECT(!loom_is_initialized());
      _exit(0);
    }
    EXPECT(waitpid(child, &ended, 0) == child);
    EXPECT(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
  }
  EXPECT(pthread_join(thread, NULL) == 0);
  compute();
}

/* ---- floating point ------------------------------------------------------------------ */

static void trapped(void) {
  const float given[2] = {0, -1};
  float back[2];
  loom_tensor t, root, quotient;
  OK(loom_initialize());
  feclearexcept(FE_ALL_EXCEPT);
  EXPECT(feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW) != -1);
  t = vector(given, 2);
  OK(loom_sqrt(t, &root));
  OK(loom_divide_with(loom_scalar_real(1, LOOM_FLOAT32), loom_t(t), &quotient));
  OK(loom_tensor_read(root, back, sizeof back));
  EXPECT(back[0] == 0 && back[1] != back[1]);
  OK(loom_tensor_read(quotient, back, sizeof back));
  EXPECT(back[0] > 1e38f && back[1] == -1);
  EXPECT(fegetexcept() == (FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW));
  EXPECT(fetestexcept(FE_DIVBYZERO | FE_INVALID) == 0);
}

/* The same numbers whatever the caller's rounding, which it finds again, and its flags. */
static void rounded(void) {
  const float one[1] = {1};
  const int directions[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  float first = 0, back = 0;
  loom_tensor t;
  size_t i;
  feclearexcept(FE_ALL_EXCEPT);
  OK(loom_initialize());
  EXPECT(fetestexcept(FE_ALL_EXCEPT) == 0);
  for (i = 0; i < 4; ++i) {
    loom_tensor third;
    EXPECT(fesetround(directions[i]) == 0);
    t = vector(one, 1);
    OK(loom_divide_with(loom_t(t), loom_scalar_real(3, LOOM_FLOAT32), &third));
    OK(loom_tensor_read(third, &back, sizeof back));
    if (i == 0) first = back;
    EXPECT(back == first);
    EXPECT(fegetround() == directions[i]);
    EXPECT(fetestexcept(FE_ALL_EXCEPT) == 0);
  }
  feraiseexcept(FE_OVERFLOW | FE_INEXACT);
  OK(loom_divide_with(loom_scalar_real(1, LOOM_FLOAT32), loom_scalar_real(0, LOOM_FLOAT32), &t));
  OK(loom_tensor_read(t, &back, sizeof back));
  EXPECT(fetestexcept(FE_ALL_EXCEPT) == (FE_OVERFLOW | FE_INEXACT));
  EXPECT(fesetround(FE_TONEAREST) == 0);
}

int main(int argc, char **argv) {
  name = argc > 1 ? argv[1] : "";
  if (is("atexit before the start")) EXPECT(atexit(at_the_end) == 0);
  if (is("fork at the start")) {
    fork_at_the_start();
  } else if (is("traps")) {
    trapped();
  } else if (is("rounding")) {
    rounded();
  } else if (is("the end of a thread")) {
    EXPECT(pthread_key_create(&key, after_the_thread) == 0);
    on_a_thread(ends, 1 << 20);
    compute();
  } else if (is("a small stack")) {
    compute();
    /* in this order, because a smaller thread may be given the stack of a larger one */
    on_a_thread(is_small, 1 << 16);
    on_a_thread(ends, 1 << 18);
  } else {
    compute();
    if (is("atexit after computing")) EXPECT(atexit(at_the_end) == 0);
    if (is("the end of Python")) end_python();
  }
  puts(argc > 1 ? "limits work" : "which?");
  return 0;
}
