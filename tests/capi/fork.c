/* After a fork the child meets an error in every call and can end; the parent goes on. */
#define _POSIX_C_SOURCE 200112L

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void wait_for(pid_t child) {
  int ended = 0;
  EXPECT(waitpid(child, &ended, 0) == child);
  EXPECT(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
}

int main(void) {
  const float two[1] = {2};
  float back = 0;
  loom_tensor t, sum;
  size_t n;
  pid_t child;

  /* before the start a fork is nobody's business */
  child = fork();
  if (child == 0) {
    OK(loom_initialize());
    t = vector(two, 1);
    OK(loom_tensor_read(t, &back, sizeof back));
    EXPECT(back == 2);
    return 0;
  }
  wait_for(child);

  OK(loom_initialize());
  t = vector(two, 1);
  OK(loom_add(t, t, &sum));
  OK(loom_tensor_read(sum, &back, sizeof back));
  child = fork();
  if (child == 0) {
    EXPECT(!loom_is_initialized());
    FAILS(LOOM_ERROR_FORK, loom_tensor_read(sum, &back, sizeof back));
    FAILS(LOOM_ERROR_FORK, loom_add(t, t, &sum));
    FAILS(LOOM_ERROR_FORK, loom_tensor_ndim(t, &n));
    FAILS(LOOM_ERROR_FORK, loom_tensor_release(t));
    FAILS(LOOM_ERROR_FORK, loom_initialize());
    FAILS(LOOM_ERROR_FORK, loom_shutdown());
    EXPECT(strstr(loom_error_message(), "fork") != NULL);
    return 0;
  }
  wait_for(child);

  OK(loom_tensor_read(t, &back, sizeof back));
  EXPECT(back == 2);
  puts("forks work");
  return 0;
}
