// C++ objects that hold tensors, of every storage duration: their destructors run while, before and
// after those of what XLA computes with, and may call lazyloom all the same.
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "lazyloom_ops.h"

static void must(bool right, const char *what) {
  if (right) return;
  std::fprintf(stderr, "%s: %s\n", what, loom_error_message());
  std::_Exit(1);
}

struct Holder {
  loom_tensor pending{};

  void fill() {
    const float data[2] = {1, 2};
    const int64_t shape = 2;
    loom_tensor given;
    must(loom_tensor_from_host(data, sizeof data, LOOM_FLOAT32, &shape, 1, &given) == LOOM_OK,
         "from_host");
    must(loom_add(given, given, &pending) == LOOM_OK, "add");
    must(loom_tensor_release(given) == LOOM_OK, "release");
  }

  void read() {
    float back[2] = {0, 0};
    must(loom_tensor_read(pending, back, sizeof back) == LOOM_OK && back[1] == 4, "read");
  }

  ~Holder() {
    float back[2] = {0, 0};
    const loom_status status = loom_tensor_read(pending, back, sizeof back);
    must(status == LOOM_ERROR_NOT_INITIALIZED || (status == LOOM_OK && back[1] == 4), "at the end");
    (void)loom_tensor_release(pending);
  }
};

static Holder of_process;
static thread_local Holder of_thread;

int main() {
  must(loom_initialize() == LOOM_OK, "initialize");
  of_process.fill();
  // made before XLA has computed anything on this thread, destroyed after it
  of_thread.fill();
  of_process.read();
  of_process.fill();
  std::thread([] {
    of_thread.fill();
    of_thread.read();
    of_thread.fill();
  }).join();
  static Holder late;
  late.fill();
  static thread_local Holder late_of_thread;
  late_of_thread.fill();
  late_of_thread.read();
  std::puts("ends work");
  return 0;
}
