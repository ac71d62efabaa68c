/* Members of structures and classes that are named as functions of the library: what is undefined
   of its macros is a plain name again, and all others note their lines as ever. C and C++. */
#include "check.h"

#undef loom_sum
#undef loom_tensor_read

typedef struct table {
  int (*loom_sum)(int, int);
  int (*loom_tensor_read)(int);
} table;

static int sum(int x, int y) { return x + y; }
static int same(int x) { return x; }

#ifdef __cplusplus
class Total {
 public:
  explicit Total(int start) : total_(start) {}
  int loom_sum(int more) { return total_ += more; }
  int loom_tensor_read(int) const { return total_; }

 private:
  int total_;
};
#endif

static void site_is(int line) {
  char expected[32];
  (void)snprintf(expected, sizeof expected, "members.c:%d", line);
  EXPECT(strstr(loom_error_site(), expected) != NULL);
}

int main(void) {
  const float numbers[3] = {1, 2, 3};
  const loom_tensor none = {0};
  table functions;
  loom_tensor x, y;
  float read;
  functions.loom_sum = sum;
  functions.loom_tensor_read = same;
  EXPECT(functions.loom_sum(1, 2) == 3 && functions.loom_tensor_read(4) == 4);
#ifdef __cplusplus
  Total total(1);
  EXPECT(total.loom_sum(2) == 3 && total.loom_tensor_read(0) == 3);
#endif
  OK(loom_initialize());
  x = vector(numbers, 3);
  OK(loom_sum(x, NULL, 0, LOOM_DTYPE_NONE, false, &y));
  OK(loom_tensor_read(y, &read, sizeof read));
  EXPECT(read == 6);
  FAILS(LOOM_ERROR_ARGUMENT, loom_exp(none, &y));
  site_is(__LINE__ - 1);
  /* by hand, where the macro is gone */
  FAILS(LOOM_ERROR_ARGUMENT, (LOOM_HERE, loom_sum(none, NULL, 0, LOOM_DTYPE_NONE, false, &y)));
  site_is(__LINE__ - 1);
  OK(loom_tensor_release(x));
  OK(loom_shutdown());
  puts("members work");
  return 0;
}
