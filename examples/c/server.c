/* Serves a character transformer from several threads: one captured program, one set of
   parameters, a queue of requests.

     cc server.c $(python -m lazyloom_capi --cflags --libs) -pthread -o server
     ./server CHECKPOINT.safetensors [TEXT [THREADS [CHARACTERS]]] < beginnings

   Each line of standard input is a request: the beginning of a text, which is continued by
   CHARACTERS (32), the likeliest each time. Answers go to standard output as they are ready,
   "number<TAB>text", and at the end requests per second to standard error. CHECKPOINT is what
   loom_nn_save() or the torch-like frontend wrote; an optimizer's state in it is left alone. */
#define _POSIX_C_SOURCE 199309L

#include <pthread.h>
#include <time.h>

#include "transformer.h"

enum { LONGEST_REQUEST = 4096, WAITING = 64, MOST_THREADS = 64 };

/* ---- the queue -------------------------------------------------------------------- */

typedef struct request {
  int number;
  char beginning[LONGEST_REQUEST];
} request;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  request waiting[WAITING];
  int first, count;
  bool closed;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {{0, ""}}, 0, 0, false};

static void put(const request *given) {
  pthread_mutex_lock(&queue.lock);
  while (queue.count == WAITING) pthread_cond_wait(&queue.changed, &queue.lock);
  queue.waiting[(queue.first + queue.count++) % WAITING] = *given;
  pthread_cond_broadcast(&queue.changed);
  pthread_mutex_unlock(&queue.lock);
}

/* The next request; false when there will be none. */
static bool get(request *taken) {
  bool there;
  pthread_mutex_lock(&queue.lock);
  while (queue.count == 0 && !queue.closed) pthread_cond_wait(&queue.changed, &queue.lock);
  there = queue.count > 0;
  if (there) {
    *taken = queue.waiting[queue.first];
    queue.first = (queue.first + 1) % WAITING;
    --queue.count;
    pthread_cond_broadcast(&queue.changed);
  }
  pthread_mutex_unlock(&queue.lock);
  return there;
}

static void close_queue(void) {
  pthread_mutex_lock(&queue.lock);
  queue.closed = true;
  pthread_cond_broadcast(&queue.changed);
  pthread_mutex_unlock(&queue.lock);
}

/* ---- serving ---------------------------------------------------------------------- */

static transformer model;
static text letters;
static loom_capture forward; /* parameters and a window in; scores out */
static int characters = 32;

static loom_tensor window_of(const int64_t *numbers) {
  static const int64_t shape[2] = {1, WINDOW};
  loom_tensor result;
  TRY(loom_tensor_from_host(numbers, WINDOW * sizeof *numbers, LOOM_INT64, shape, 2, &result));
  return result;
}

/* The inputs of the program: the parameters, which all threads share since no run writes them,
   and a window, which is this run's own. */
static size_t inputs_of(loom_tensor window, loom_tensor *places) {
  const size_t count = model.parameters.count;
  memcpy(places, model.parameters.tensors, count * sizeof *places);
  places[count] = window;
  return count + 1;
}

static void capture(void) {
  const int64_t numbers[WINDOW] = {0};
  loom_tensor given[256], window = window_of(numbers), result;
  const size_t count = inputs_of(window, given);
  TRY(loom_capture_begin(given, count));
  result = scores_of(&model, window);
  TRY(loom_tensor_retain(result));
  loom_nn_scope_end(&model.temporaries);
  TRY(loom_capture_end(&result, 1, &forward));
  TRY(loom_sync(&result, 1, true)); /* run once before the first request comes */
  TRY(loom_tensor_release(result));
  TRY(loom_tensor_release(window));
}

/* Goes on with a beginning, by the likeliest character each time. */
static void answer(const char *beginning, float *scores, char *out) {
  const int64_t count = model.characters;
  int64_t numbers[WINDOW] = {0}, chosen, i;
  size_t length = strlen(beginning), from = length > WINDOW ? length - WINDOW : 0;
  int used = 0, k;
  for (; from < length; ++from) numbers[used++] = letters.number[(unsigned char)beginning[from]];
  if (used == 0) used = 1;
  for (k = 0; k < characters; ++k) {
    loom_tensor given[256], window = window_of(numbers), result;
    const size_t n = inputs_of(window, given);
    const float *last;
    TRY(loom_capture_run(forward, given, n, &result, 1));
    TRY(loom_tensor_read(result, scores, (size_t)count * WINDOW * sizeof *scores));
    TRY(loom_tensor_release(result));
    TRY(loom_tensor_release(window));
    last = scores + (used - 1) * count;
    for (chosen = 0, i = 1; i < count; ++i)
      if (last[i] > last[chosen]) chosen = i;
    out[k] = letters.letter[chosen] == '\n' ? ' ' : (char)letters.letter[chosen];
    if (used == WINDOW) memmove(numbers, numbers + 1, (size_t)--used * sizeof *numbers);
    numbers[used++] = chosen;
  }
  out[k] = 0;
}

static void *serve(void *unused) {
  static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;
  float *scores = (float *)malloc((size_t)model.characters * WINDOW * sizeof *scores);
  char *out = (char *)malloc((size_t)characters + 1);
  request *taken = (request *)malloc(sizeof *taken);
  if (scores == NULL || out == NULL || taken == NULL) exit(1);
  while (get(taken)) {
    answer(taken->beginning, scores, out);
    pthread_mutex_lock(&output);
    printf("%d\t%s%s\n", taken->number, taken->beginning, out);
    fflush(stdout);
    pthread_mutex_unlock(&output);
  }
  free(scores);
  free(out);
  free(taken);
  return unused;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  const int count = argc > 3 ? atoi(argv[3]) : 4;
  pthread_t threads[MOST_THREADS];
  request *next = (request *)calloc(1, sizeof *next);
  size_t loaded;
  double began;
  int i, number = 0;
  if (argc < 2 || count < 1 || count > MOST_THREADS || next == NULL) {
    fprintf(stderr, "usage: server CHECKPOINT [TEXT [THREADS [CHARACTERS]]], 1 to %d threads\n",
            MOST_THREADS);
    return 2;
  }
  if (argc > 4 && atoi(argv[4]) > 0) characters = atoi(argv[4]);
  letters = read_text(argc > 2 ? argv[2] : "examples/data/text/coriolanus.txt");
  TRY(loom_initialize());
  start_network(&model, letters.characters);
  TRY(loom_nn_load(&model.parameters, argv[1], false, &loaded));
  if (loaded < model.parameters.count) {
    fprintf(stderr, "%s has %u of the %u parameters\n", argv[1], (unsigned)loaded,
            (unsigned)model.parameters.count);
    return 1;
  }
  capture();

  began = now();
  for (i = 0; i < count; ++i)
    if (pthread_create(&threads[i], NULL, serve, NULL) != 0) return 1;
  while (fgets(next->beginning, sizeof next->beginning, stdin) != NULL) {
    next->beginning[strcspn(next->beginning, "\n")] = 0;
    next->number = number++;
    put(next);
  }
  close_queue();
  for (i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  fprintf(stderr, "%d requests by %d threads: %.1f a second\n", number, count,
          number / (now() - began));

  TRY(loom_capture_release(forward));
  finish(&model);
  TRY(loom_shutdown());
  free(letters.bytes);
  free(next);
  return 0;
}
