/* Programs with one known fault of performance each, and without it: FILE NAME [faulty].

   The line that a report is to name ends with a comment, "fault" and the program's name. Without
   a name all programs run, without their faults. Each prints a number that does not depend on
   whether it is faulty. */
#include "../../capi/check.h"

enum { ROWS = 256, COLUMNS = 64 };

static float numbers[1024 * 4096];

static loom_tensor matrix(int64_t rows, int64_t columns) {
  const int64_t shape[] = {rows, columns};
  loom_tensor result;
  OK(loom_tensor_from_host(numbers, (size_t)(rows * columns) * sizeof *numbers, LOOM_FLOAT32,
                           shape, 2, &result));
  return result;
}

/* Takes the tensor. */
static loom_tensor then(loom_tensor made, loom_tensor before) {
  OK(loom_tensor_release(before));
  return made;
}

static loom_tensor tanh_of(loom_tensor x) {
  loom_tensor result;
  OK(loom_tanh(x, &result));
  return then(result, x);
}

static loom_tensor product(loom_tensor x, loom_tensor y) {
  loom_tensor result;
  OK(loom_matmul(x, y, &result));
  return result;
}

static loom_tensor scaled(loom_tensor x, double number) {
  loom_tensor result;
  OK(loom_multiply_with(loom_t(x), loom_scalar_real(number, LOOM_DTYPE_NONE), &result));
  return result;
}

/* Takes the tensor. */
static loom_tensor total_of(loom_tensor x) {
  loom_tensor result;
  OK(loom_sum(x, NULL, 0, LOOM_FLOAT32, false, &result));
  return then(result, x);
}

/* The program that is read in the middle of a step. */
static double read_in_step(bool faulty) {
  loom_tensor x = matrix(512, 512), w = scaled(x, 1e-3), h, sum, next;
  float now = 0;
  int n;
  for (n = 0; n < 100; ++n) {
    h = tanh_of(product(x, w));
    if (faulty) {
      OK(loom_max(h, NULL, 0, false, &sum));
      OK(loom_tensor_read(sum, &now, sizeof now)); /* fault read_in_step */
      OK(loom_tensor_release(sum));
    }
    next = product(h, w);
    OK(loom_tensor_release(h));
    h = tanh_of(next);
    OK(loom_add(x, h, &next));
    OK(loom_tensor_release(h));
    x = then(next, x);
    OK(loom_max(x, NULL, 0, false, &sum));
    OK(loom_tensor_read(sum, &now, sizeof now));
    OK(loom_tensor_release(sum));
  }
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(w));
  return now;
}

static double growing_shape(bool faulty) {
  const int64_t start[] = {0, 0}, column[] = {ROWS, 1};
  loom_tensor x = matrix(ROWS, COLUMNS), rows, seen, mask, part, sorted, added, most, sum;
  double total = 0;
  float now;
  int64_t n;
  OK(loom_iota(column, 2, 0, LOOM_INT64, &rows));
  for (n = 1; n < 250; ++n) {
    if (faulty) {
      const int64_t stop[] = {n, COLUMNS};
      OK(loom_slice(x, start, 2, stop, 2, NULL, 0, &part));
    } else {
      OK(loom_less_with(loom_t(rows), loom_scalar_int(n, LOOM_DTYPE_NONE), &seen));
      OK(loom_cast(seen, LOOM_FLOAT32, &mask));
      OK(loom_multiply(x, mask, &part));
      OK(loom_tensor_release(seen));
      OK(loom_tensor_release(mask));
    }
    OK(loom_argsort(part, 0, false, true, &seen));
    OK(loom_tensor_release(seen));
    /* each op is prepared for each shape */
    OK(loom_sort(part, 1, false, true, &sorted));
    OK(loom_cumsum(sorted, 1, false, &added));
    OK(loom_cummax(added, 1, false, &most));
    OK(loom_tensor_release(sorted));
    OK(loom_tensor_release(added));
    sum = total_of(tanh_of(most));
    OK(loom_tensor_release(part));
    OK(loom_tensor_read(sum, &now, sizeof now)); /* fault growing_shape */
    OK(loom_tensor_release(sum));
    total += now;
  }
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(rows));
  return total;
}

static double changing_attribute_of(bool faulty, int64_t columns) {
  const int64_t axis = 0, sizes[] = {ROWS, columns};
  loom_tensor x = matrix(ROWS, (int)columns), both[2], twice, moved, mixed, sum;
  double total = 0;
  float now;
  int64_t n;
  both[0] = both[1] = x;
  OK(loom_concatenate(both, 2, 0, &twice));
  for (n = 0; n < 250; ++n) {
    if (faulty) {
      OK(loom_roll(x, &n, 1, &axis, 1, &moved));
    } else {
      loom_operand starts[2];
      starts[0] = loom_scalar_int(ROWS - n, LOOM_INT64);
      starts[1] = loom_scalar_int(0, LOOM_INT64);
      OK(loom_dynamic_slice_with(loom_t(twice), starts, 2, sizes, 2, &moved));
    }
    OK(loom_multiply(moved, x, &mixed));
    OK(loom_tensor_release(moved));
    sum = total_of(tanh_of(mixed));
    OK(loom_tensor_read(sum, &now, sizeof now)); /* fault changing_attribute */
    OK(loom_tensor_release(sum));
    total += now;
  }
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(twice));
  return total;
}

static double changing_attribute(bool faulty) {
  double total = 0;
  int k;
  for (k = 0; k < 16; ++k) total += changing_attribute_of(faulty, COLUMNS - k);
  return total;
}

static double flipping_dtype(bool faulty) {
  loom_tensor x = matrix(384, 384), w = scaled(x, 1e-3), a, b, h, sum;
  double total = 0;
  float now;
  int n;
  for (n = 0; n < 90; ++n) {
    const loom_dtype dtype = faulty && n % 3 == 1 ? LOOM_FLOAT64 : LOOM_FLOAT32;
    OK(loom_cast(x, dtype, &a));
    OK(loom_cast(w, dtype, &b));
    h = scaled(a, n / 90.0);
    a = then(h, a);
    sum = total_of(tanh_of(product(a, b)));
    OK(loom_tensor_release(a));
    OK(loom_tensor_release(b));
    OK(loom_tensor_read(sum, &now, sizeof now)); /* fault flipping_dtype */
    OK(loom_tensor_release(sum));
    total += now;
  }
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(w));
  return total;
}

static double uploaded_array(bool faulty) {
  const int64_t shape[] = {1024, 4096};
  const size_t size = sizeof numbers;
  const loom_dtype type = LOOM_FLOAT32;
  loom_tensor row = matrix(1, 1024), table, once = matrix(1024, 4096), sum;
  double total = 0;
  float now;
  int n;
  for (n = 0; n < 200; ++n) {
    if (faulty)
      OK(loom_tensor_from_host(numbers, size, type, shape, 2, &table)); /* fault uploaded_array */
    sum = scaled(row, n / 200.0);
    sum = total_of(then(product(sum, faulty ? table : once), sum));
    if (faulty) OK(loom_tensor_release(table));
    OK(loom_tensor_read(sum, &now, sizeof now));
    OK(loom_tensor_release(sum));
    total += now;
  }
  OK(loom_tensor_release(row));
  OK(loom_tensor_release(once));
  return total;
}

/* h' = tanh(h @ w). context: w. */
static loom_status turn(const loom_tensor *inputs, size_t input_count, loom_tensor *outputs,
                        size_t output_count, void *context) {
  EXPECT(input_count == 1 && output_count == 1);
  outputs[0] = tanh_of(product(inputs[0], *(loom_tensor *)context));
  return LOOM_OK;
}

static double unrolled_loop(bool faulty) {
  /* small weights: rounding does not grow from turn to turn */
  loom_tensor x = matrix(8, 64), given = matrix(64, 64), w = scaled(given, 0.3), h, next, sum;
  double total = 0;
  float now;
  int n, t;
  for (n = 0; n < 240; ++n) {
    h = scaled(x, n / 240.0);
    if (faulty) {
      for (t = 0; t < 600; ++t) {
        OK(loom_matmul(h, w, &next)); /* fault unrolled_loop */
        h = then(tanh_of(next), h);
      }
    } else {
      OK(loom_scan(turn, &w, &h, 1, NULL, 0, 600, 0, false, &next));
      h = then(next, h);
    }
    sum = total_of(h);
    OK(loom_tensor_read(sum, &now, sizeof now));
    OK(loom_tensor_release(sum));
    total += now;
  }
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(w));
  OK(loom_tensor_release(given));
  return total;
}

static double reads_by_element(bool faulty) {
  static float all[ROWS * COLUMNS];
  const int64_t sizes[] = {1, 1};
  loom_tensor x = matrix(ROWS, COLUMNS), y, element;
  double total = 0;
  float now;
  int n, k;
  for (n = 0; n < 40; ++n) {
    y = tanh_of(scaled(x, n / 40.0));
    if (faulty) {
      for (k = 0; k < ROWS; ++k) {
        loom_operand starts[2];
        starts[0] = loom_scalar_int(k, LOOM_INT64);
        starts[1] = loom_scalar_int(k % COLUMNS, LOOM_INT64);
        OK(loom_dynamic_slice_with(loom_t(y), starts, 2, sizes, 2, &element));
        OK(loom_tensor_read(element, &now, sizeof now)); /* fault reads_by_element */
        OK(loom_tensor_release(element));
        total += now;
      }
    } else {
      OK(loom_tensor_read(y, all, sizeof all));
      for (k = 0; k < ROWS; ++k) total += all[k * COLUMNS + k % COLUMNS];
    }
    OK(loom_tensor_release(y));
  }
  OK(loom_tensor_release(x));
  return total;
}

static loom_tensor moved_by(loom_tensor x, loom_tensor w) {
  loom_tensor h = tanh_of(product(x, w)), result;
  int k;
  for (k = 0; k < 30; ++k) h = then(tanh_of(product(h, w)), h);
  OK(loom_add(x, h, &result));
  return then(result, h);
}

static double captured_anew(bool faulty) {
  loom_tensor inputs[2], found;
  loom_capture capture = {0};
  float now;
  double total = 0;
  int n;
  inputs[0] = matrix(64, 64);
  inputs[1] = scaled(inputs[0], 0.01);
  for (n = 0; n < 1500; ++n) {
    if (faulty || n == 0) {
      OK(loom_capture_begin(inputs, 2)); /* fault captured_anew */
      found = total_of(moved_by(inputs[0], inputs[1]));
      OK(loom_capture_end(&found, 1, &capture));
    } else {
      OK(loom_capture_run(capture, inputs, 2, &found, 1));
    }
    if (faulty || n == 1499) OK(loom_capture_release(capture));
    OK(loom_tensor_read(found, &now, sizeof now));
    OK(loom_tensor_release(found));
    total += now;
  }
  OK(loom_tensor_release(inputs[0]));
  OK(loom_tensor_release(inputs[1]));
  return total;
}

static const struct {
  const char *name;
  double (*run)(bool faulty);
} programs[] = {
    {"read_in_step", read_in_step},     {"growing_shape", growing_shape},
    {"changing_attribute", changing_attribute}, {"flipping_dtype", flipping_dtype},
    {"uploaded_array", uploaded_array}, {"unrolled_loop", unrolled_loop},
    {"reads_by_element", reads_by_element}, {"captured_anew", captured_anew},
};

int main(int count, char **arguments) {
  const bool faulty = count > 2 && strcmp(arguments[2], "faulty") == 0;
  size_t k;
  for (k = 0; k < sizeof numbers / sizeof *numbers; ++k)
    numbers[k] = (float)(k * 37 % 1013) / 1013.0f - 0.5f;
  OK(loom_initialize());
  for (k = 0; k < sizeof programs / sizeof *programs; ++k)
    if (count < 2 || strcmp(arguments[1], programs[k].name) == 0)
      printf("%s %.6g\n", programs[k].name, programs[k].run(faulty));
  return loom_shutdown() == LOOM_OK ? 0 : 1;
}
