/* Checks of the C test programs: a failed one says where and ends the program. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazyloom_ops.h"

#define EXPECT(condition)                                                              \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "%s:%d: expected %s (last error: %s: %s)\n", __FILE__, __LINE__, \
              #condition, loom_status_name(loom_error_status()), loom_error_message()); \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)

#define OK(call) EXPECT((call) == LOOM_OK)

/* The call fails with that status, recorded as this thread's error. */
#define FAILS(status, call)                 \
  do {                                      \
    loom_error_clear();                     \
    EXPECT((call) == (status));             \
    EXPECT(loom_error_status() == (status)); \
    EXPECT(loom_error_message()[0] != 0);   \
  } while (0)

static inline loom_tensor vector(const float *data, size_t count) {
  const int64_t shape = (int64_t)count;
  loom_tensor result;
  OK(loom_tensor_from_host(data, count * sizeof *data, LOOM_FLOAT32, &shape, 1, &result));
  return result;
}

#endif
