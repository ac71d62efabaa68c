/* What recording costs from C: `record chain` or `record mix`.

   Reads a number of passes a line from standard input, records that many chains of 1,000 adds or
   as many bodies of 30 kinds of op, and answers with one line of JSON: seconds an op. What only
   waits for the results of one pass is outside the clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lazyloom_ops.h"

#define CHAIN 1000
#define KINDS 30
#define BODIES 20

#define TRY(call)                                                            \
  do {                                                                       \
    if ((call) != LOOM_OK) {                                                 \
      fprintf(stderr, "%s: %s\n", loom_error_site(), loom_error_message());  \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Replaces *z, whose handle is released, by the result of a call. */
#define NEXT(z, call)             \
  do {                            \
    loom_tensor old_ = (z);       \
    TRY(call);                    \
    TRY(loom_tensor_release(old_)); \
  } while (0)

static loom_tensor chain(loom_tensor x, loom_tensor y) {
  loom_tensor z;
  int i;
  TRY(loom_add(x, y, &z));
  for (i = 1; i < CHAIN; ++i) NEXT(z, loom_add(old_, y, &z));
  return z;
}

static loom_tensor body(loom_tensor z, loom_tensor y) {
  static const int64_t zero[1] = {0}, one[1] = {1}, swapped[2] = {1, 0};
  static const int64_t starts[2] = {0, 0}, stops[2] = {4, 4}, strides[2] = {1, 1};
  loom_tensor floored, sign, mean, total, largest, less, greater, either, pair[2];
  NEXT(z, loom_tanh(old_, &z));
  NEXT(z, loom_add(old_, y, &z));
  NEXT(z, loom_sqrt(old_, &z));
  NEXT(z, loom_sin(old_, &z));
  NEXT(z, loom_multiply(old_, y, &z));
  NEXT(z, loom_exp(old_, &z));
  NEXT(z, loom_subtract(old_, y, &z));
  NEXT(z, loom_square(old_, &z));
  NEXT(z, loom_log1p(old_, &z));
  NEXT(z, loom_divide(old_, y, &z));
  NEXT(z, loom_maximum(old_, y, &z));
  NEXT(z, loom_cos(old_, &z));
  NEXT(z, loom_negative(old_, &z));
  NEXT(z, loom_abs(old_, &z));
  NEXT(z, loom_minimum(old_, y, &z));
  NEXT(z, loom_expm1(old_, &z));
  TRY(loom_floor(z, &floored));
  TRY(loom_sign(z, &sign));
  NEXT(z, loom_matmul(old_, y, &z));
  NEXT(z, loom_transpose(old_, swapped, 2, &z));
  TRY(loom_mean(z, one, 1, true, &mean));
  TRY(loom_sum(z, zero, 1, LOOM_DTYPE_NONE, false, &total));
  TRY(loom_max(z, zero, 1, false, &largest));
  TRY(loom_less(floored, sign, &less));
  TRY(loom_greater(mean, total, &greater));
  TRY(loom_logical_or(less, greater, &either));
  NEXT(z, loom_where(either, old_, largest, &z));
  NEXT(z, loom_cumsum(old_, 0, false, &z));
  pair[0] = z;
  pair[1] = y;
  NEXT(z, loom_concatenate(pair, 2, 0, &z));
  NEXT(z, loom_slice(old_, starts, 2, stops, 2, strides, 2, &z));
  TRY(loom_tensor_release(floored));
  TRY(loom_tensor_release(sign));
  TRY(loom_tensor_release(mean));
  TRY(loom_tensor_release(total));
  TRY(loom_tensor_release(largest));
  TRY(loom_tensor_release(less));
  TRY(loom_tensor_release(greater));
  TRY(loom_tensor_release(either));
  return z;
}

static loom_tensor mix(loom_tensor x, loom_tensor y) {
  loom_tensor z;
  int i;
  TRY(loom_tensor_retain(x));
  z = x;
  for (i = 0; i < BODIES; ++i) z = body(z, y);
  return z;
}

/* Seconds that the newest evaluation spent on everything after the key was looked up. */
static double after_the_key(void) {
  static char record[65536];
  const char *at;
  double seconds = 0, found;
  TRY(loom_last_evaluation(record, sizeof record, NULL));
  at = strstr(record, "dispatch ");
  if (at != NULL && sscanf(at, "dispatch %lf ms", &found) == 1) seconds = found * 1e-3;
  at = strstr(record, ", op by op ");
  if (at != NULL && sscanf(at, ", op by op %lf ms", &found) == 1) seconds = found * 1e-3;
  /* the name in records of the versions that others are compared with */
  at = strstr(record, ", pieces ");
  if (at != NULL && sscanf(at, ", pieces %lf ms", &found) == 1) seconds = found * 1e-3;
  return seconds;
}

int main(int argc, char **argv) {
  float ones[16];
  const int64_t shape[2] = {4, 4};
  loom_tensor x, y;
  int mixed, passes, i;
  if (argc != 2 || (strcmp(argv[1], "chain") && strcmp(argv[1], "mix"))) return 2;
  mixed = !strcmp(argv[1], "mix");
  for (i = 0; i < 16; ++i) ones[i] = 1;
  TRY(loom_initialize());
  TRY(loom_tensor_from_host(ones, sizeof ones, LOOM_FLOAT32, shape, 2, &x));
  TRY(loom_tensor_from_host(ones, sizeof ones, LOOM_FLOAT32, shape, 2, &y));
  while (scanf("%d", &passes) == 1) {
    double recording = 0, keying = 0, syncing = 0;
    double ops = (double)passes * (mixed ? KINDS * BODIES : CHAIN);
    for (i = 0; i < passes; ++i) {
      double start, recorded, synced;
      loom_tensor z;
      start = now();
      z = mixed ? mix(x, y) : chain(x, y);
      recorded = now();
      TRY(loom_sync(&z, 1, false));
      synced = now();
      TRY(loom_sync(&z, 1, true));
      recording += recorded - start;
      syncing += synced - start;
      keying += synced - start - after_the_key();
      TRY(loom_tensor_release(z));
    }
    printf("{\"record\": %.6g, \"record and key\": %.6g, \"record and sync\": %.6g}\n",
           recording / ops, keying / ops, syncing / ops);
    fflush(stdout);
  }
  TRY(loom_shutdown());
  return 0;
}
