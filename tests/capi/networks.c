/* lazyloom_nn.h, as test_networks.py asks: layers and optimizers over what a file holds, first
   values, errors, and files that are well or badly made. */
#include "check.h"
#include "lazyloom_nn.h"

static loom_nn_list net, results;
static loom_safetensors given;

static loom_tensor input(const char *name) {
  loom_tensor x;
  OK(loom_safetensors_read(&given, name, &x));
  return x;
}

static void keep(const char *name, loom_tensor x) {
  OK(loom_nn_add(&results, name, x, false));
  OK(loom_tensor_release(x));
}

/* ---- layers ----------------------------------------------------------------------- */

static loom_tensor total;

/* Keeps what a layer gives and adds the mean of its squares to the loss. */
static void use(const char *name, loom_tensor y) {
  loom_tensor square, mean, sum, detached;
  OK(loom_multiply(y, y, &square));
  OK(loom_mean(square, NULL, 0, false, &mean));
  OK(loom_tensor_release(square));
  if (loom_is_null(total)) {
    total = mean;
  } else {
    OK(loom_add(total, mean, &sum));
    OK(loom_tensor_release(total));
    OK(loom_tensor_release(mean));
    total = sum;
  }
  OK(loom_tensor_detach(y, &detached));
  OK(loom_tensor_release(y));
  keep(name, detached);
}

static void layers(const char *in, const char *out) {
  const int64_t window[2] = {3, 2}, one = 4;
  loom_nn_conv_options options = {{2, 1, 0}, {1, 2, 0}, {1, 2, 0}, 2};
  loom_nn_random random = loom_nn_random_from(5);
  loom_tensor x, y, q, k, v, mask, labels, loss;
  size_t i, loaded, parameters;
  OK(loom_nn_linear_new(&net, "linear", 5, 3, true, &random));
  OK(loom_nn_linear_new(&net, "plain", 5, 3, false, &random));
  OK(loom_nn_conv_new(&net, "conv2", 4, 6, window, 2, 2, true, &random));
  OK(loom_nn_conv_new(&net, "conv1", 4, 3, &one, 1, 1, false, &random));
  OK(loom_nn_embedding_new(&net, "embedding", 7, 5, &random));
  OK(loom_nn_norm_new(&net, "layer", 5, true));
  OK(loom_nn_norm_new(&net, "rms", 5, false));
  OK(loom_nn_batch_norm_new(&net, "batch", 4));
  OK(loom_nn_self_attention_new(&net, "attention", 8, &random));
  parameters = net.count;
  OK(loom_safetensors_open(in, &given));
  OK(loom_nn_load(&net, in, false, &loaded));
  EXPECT(loaded == parameters);

  x = input("x.rows");
  OK(loom_nn_linear(&net, "linear", x, &y));
  use("linear", y);
  OK(loom_nn_linear(&net, "plain", x, &y));
  use("plain", y);
  OK(loom_nn_layer_norm(&net, "layer", x, 1e-5, &y));
  use("layer", y);
  OK(loom_nn_rms_norm(&net, "rms", x, 1e-6, &y));
  use("rms", y);
  OK(loom_nn_dropout(x, 0.5, false, &random, &y));
  EXPECT(y.bits == x.bits);
  OK(loom_tensor_release(y));
  OK(loom_nn_dropout(x, 0.5, true, &random, &y));
  keep("dropout", y);
  OK(loom_tensor_release(x));
  x = input("x.image");
  OK(loom_nn_conv(&net, "conv2", x, &options, &y));
  use("conv2", y);
  OK(loom_nn_batch_norm(&net, "batch", x, false, 0.1, 1e-5, &y));
  use("batch.evaluated", y);
  OK(loom_nn_batch_norm(&net, "batch", x, true, 0.1, 1e-5, &y));
  use("batch", y);
  OK(loom_tensor_release(x));
  x = input("x.signal");
  OK(loom_nn_conv(&net, "conv1", x, NULL, &y));
  use("conv1", y);
  OK(loom_tensor_release(x));
  x = input("x.numbers");
  OK(loom_nn_embedding(&net, "embedding", x, &y));
  use("embedding", y);
  OK(loom_tensor_release(x));
  x = input("x.sequence");
  OK(loom_nn_self_attention(&net, "attention", x, 2, true, &y));
  use("attention", y);
  OK(loom_nn_self_attention(&net, "attention", x, 4, false, &y));
  use("attention.whole", y);
  OK(loom_tensor_release(x));
  q = input("x.q");
  k = input("x.k");
  v = input("x.v");
  mask = input("x.mask");
  OK(loom_nn_attention(q, k, v, mask, false, &y));
  use("attention.masked", y);
  OK(loom_tensor_release(q));
  OK(loom_tensor_release(k));
  OK(loom_tensor_release(v));
  OK(loom_tensor_release(mask));
  x = input("x.scores");
  labels = input("x.labels");
  OK(loom_nn_cross_entropy(x, labels, &loss));
  keep("cross_entropy", loss);
  OK(loom_tensor_release(x));
  OK(loom_tensor_release(labels));

  OK(loom_backward(&total, 1, NULL));
  for (i = 0; i < parameters; ++i) {
    char name[300];
    snprintf(name, sizeof name, "%s.%s", net.trained[i] ? "gradient" : "state", net.names[i]);
    if (!net.trained[i]) {
      OK(loom_nn_add(&results, name, net.tensors[i], false));
      continue;
    }
    OK(loom_tensor_gradient(net.tensors[i], &y));
    EXPECT(!loom_is_null(y));
    keep(name, y);
    OK(loom_tensor_clear_gradient(net.tensors[i]));
  }
  OK(loom_tensor_release(total));
  OK(loom_nn_save(&results, out));
  loom_nn_random_free(&random);
}

/* ---- optimizers ------------------------------------------------------------------- */

/* Three steps from p, by the loss sum((p - target)^2 * scale), of each rule. */
static void optimizers(const char *in, const char *out) {
  static const char *const rules[] = {"plain", "momentum", "nesterov", "adamw", "scheduled"};
  size_t r;
  int i;
  OK(loom_safetensors_open(in, &given));
  for (r = 0; r < sizeof rules / sizeof rules[0]; ++r) {
    loom_nn_list list = loom_nn_list_of(LOOM_DTYPE_NONE);
    loom_nn_optimizer o;
    loom_tensor target = input("target"), scale = input("scale"), rate = input("rate");
    loom_tensor p = input("p");
    char name[100];
    size_t k;
    OK(loom_nn_add(&list, "p", p, true));
    OK(loom_tensor_release(p));
    if (r == 0) OK(loom_nn_sgd(&o, &list, 0.1, 0, false, 0));
    if (r == 1) OK(loom_nn_sgd(&o, &list, 0.1, 0.9, false, 0.01));
    if (r == 2) OK(loom_nn_sgd(&o, &list, 0.1, 0.8, true, 0));
    if (r >= 3) OK(loom_nn_adamw(&o, &list, 0.05, 0.8, 0.95, 1e-6, 0.1));
    for (i = 0; i < 3; ++i) {
      loom_tensor d, e, f, loss;
      OK(loom_subtract(p, target, &d));
      OK(loom_multiply(d, d, &e));
      OK(loom_multiply(e, scale, &f));
      OK(loom_sum(f, NULL, 0, LOOM_DTYPE_NONE, false, &loss));
      OK(loom_tensor_release(d));
      OK(loom_tensor_release(e));
      OK(loom_tensor_release(f));
      OK(loom_backward(&loss, 1, NULL));
      OK(loom_tensor_release(loss));
      if (r == 4 && i == 1) o.lr_tensor = rate;
      if (r == 4 && i == 2) {
        o.lr_tensor = loom_null();
        o.lr = 0.125;
      }
      OK(loom_nn_step(&o));
    }
    for (k = 0; k < list.count; ++k) {
      snprintf(name, sizeof name, "%s.%.80s", rules[r], list.names[k]);
      OK(loom_nn_add(&results, name, list.tensors[k], false));
    }
    OK(loom_tensor_release(target));
    OK(loom_tensor_release(scale));
    OK(loom_tensor_release(rate));
    loom_nn_optimizer_free(&o);
    loom_nn_list_free(&list);
  }
  OK(loom_nn_save(&results, out));
}

/* ---- first values ----------------------------------------------------------------- */

static void first_values(const char *out) {
  static const char *const names[] = {"uniform", "normal", "xavier_uniform", "xavier_normal",
                                      "kaiming_uniform", "kaiming_normal", "constant"};
  const int64_t shape[3] = {6, 4, 3};
  float host[72] = {1, 2};
  double in, by, gain;
  loom_nn_random random = loom_nn_random_from(0x123456789ABCDEFu);
  size_t i;
  for (i = 0; i < sizeof names / sizeof names[0]; ++i)
    OK(loom_nn_new(&results, names[i], shape, 3, true, NULL));
  OK(loom_nn_uniform(&results, names[0], &random, -0.25, 2));
  OK(loom_nn_normal(&results, names[1], &random, 1, 0.5));
  OK(loom_nn_xavier_uniform(&results, names[2], &random, 5.0 / 3));
  OK(loom_nn_xavier_normal(&results, names[3], &random, 1));
  OK(loom_nn_kaiming_uniform(&results, names[4], &random, 0.2, false, "leaky_relu"));
  OK(loom_nn_kaiming_normal(&results, names[5], &random, 0, true, "relu"));
  OK(loom_nn_constant(&results, names[6], 0.75));
  OK(loom_nn_new(&results, "host", shape, 3, false, NULL));
  OK(loom_nn_from_host(&results, "host", host, sizeof host));
  OK(loom_nn_linear_new(&results, "linear", 5, 3, true, &random));
  OK(loom_nn_self_attention_new(&results, "attention", 8, &random));
  OK(loom_nn_fans(&results, "uniform", &in, &by));
  EXPECT(in == 12 && by == 18);
  OK(loom_nn_gain("tanh", 0, &gain));
  EXPECT(gain == 5.0 / 3);
  EXPECT(loom_nn_index(&results, "normal") == 1);
  EXPECT(loom_nn_index(&results, "none") == results.count);
  OK(loom_nn_save(&results, out));
  loom_nn_random_free(&random);
}

/* ---- errors ----------------------------------------------------------------------- */

#define SAYS(status, call, text)                                            \
  do {                                                                      \
    FAILS(status, call);                                                    \
    EXPECT(strstr(loom_error_message(), text) != NULL);                     \
    EXPECT(strstr(loom_error_site(), "networks.c") != NULL);                \
  } while (0)

static void errors(const char *folder) {
  const int64_t shape[2] = {2, 3}, flat = 3;
  const float x3[3] = {1, 2, 3};
  char path[1000], long_name[300];
  loom_nn_random random = loom_nn_random_from(0);
  loom_nn_optimizer o;
  loom_nn_scope scope = {0, NULL, 0};
  loom_nn_list other = loom_nn_list_of(LOOM_FLOAT64);
  loom_tensor x = vector(x3, 3), y, key, next;
  uint32_t before[2], after[2];
  size_t count;
  snprintf(path, sizeof path, "%s/errors.safetensors", folder);
  OK(loom_nn_linear_new(&net, "fc", 3, 2, true, &random));
  count = net.count;

  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_find(&net, "fd.weight", &y), "'fd.weight'");
  EXPECT(loom_is_null(y));
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_new(&net, "fc.bias", shape, 2, true, NULL), "'fc.bias'");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_add(&net, "", x, false), "0 bytes");
  memset(long_name, 'a', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = 0;
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_add(&net, long_name, x, false), "299 bytes");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_norm_new(&net, long_name, 3, true), "'aaaa");
  SAYS(LOOM_ERROR_HANDLE, loom_nn_add(&net, "null", loom_null(), false), "'null'");
  SAYS(LOOM_ERROR_SHAPE, loom_nn_kaiming_normal(&net, "fc.bias", &random, 0, false, "relu"),
       "'fc.bias' has shape (2,)");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_kaiming_normal(&net, "fc.weight", &random, 0, false, "sin"),
       "'sin'");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_from_host(&net, "fc.weight", x3, sizeof x3), "'fc.weight'");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_linear(&net, "gc", x, &y), "'gc.weight'");
  OK(loom_nn_norm_new(&net, "norm", 4, true));
  SAYS(LOOM_ERROR_SHAPE, loom_nn_layer_norm(&net, "norm", x, 1e-5, &y), "layer norm 'norm'");
  EXPECT(loom_is_null(y));
  SAYS(LOOM_ERROR_SHAPE, loom_nn_conv(&net, "fc", x, NULL, &y), "float32 of shape (2, 3)");
  SAYS(LOOM_ERROR_SHAPE, loom_nn_batch_norm(&net, "norm", x, true, 0.1, 1e-5, &y),
       "float32 of shape (3,)");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_dropout(x, 1.5, true, &random, &y), "1.5");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_conv_new(&net, "c", 4, 4, &flat, 1, 3, true, &random),
       "3 groups");
  random.next = (uint64_t)UINT32_MAX + 1;
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_key(&random, &key), "another seed");

  /* a failed optimizer leaves the list as it was; a step needs each gradient */
  count = net.count;
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_sgd(&o, &net, -1, 0, false, 0), "lr is -1");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_sgd(&o, &net, 1, 0, true, 0), "nesterov");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_adamw(&o, &net, 1, 1, 0.9, 0, 0), "beta1 is 1");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_sgd(&o, &other, 1, 0, false, 0), "none of the 0");
  OK(loom_nn_find(&net, "fc.bias", &y));
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_add(&net, "tied", y, true), "the same tensor as 'fc.bias'");
  OK(loom_nn_new(&net, "optimizer.fc.bias.exp_avg", &flat, 1, false, NULL));
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_adamw(&o, &net, 1, 0.9, 0.9, 0, 0),
       "'optimizer.fc.bias.exp_avg'");
  EXPECT(net.count == count + 1);
  OK(loom_nn_sgd(&o, &net, 1, 0, false, 0));
  SAYS(LOOM_ERROR_GRADIENT, loom_nn_step(&o), "'fc.weight' has no gradient");
  loom_nn_optimizer_free(&o);
  OK(loom_nn_new(&other, "wide", &flat, 1, true, NULL));
  OK(loom_nn_find(&net, "fc.bias", &y));
  OK(loom_nn_add(&other, "narrow", y, true));
  SAYS(LOOM_ERROR_DTYPE, loom_nn_sgd(&o, &other, 1, 0, false, 0), "'narrow' is float32");
  loom_nn_list_free(&other);

  /* files */
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_load(&net, path, true, NULL), "cannot be opened");
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_save(&net, folder), folder);
  OK(loom_nn_save(&net, path));
  OK(loom_nn_load(&net, path, true, &count));
  EXPECT(count == net.count);
  OK(loom_nn_new(&net, "new", &flat, 1, true, NULL));
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_load(&net, path, true, NULL), "no parameter 'new'");
  other.dtype = LOOM_FLOAT32;
  OK(loom_nn_new(&other, "fc.weight", shape, 2, true, NULL));
  SAYS(LOOM_ERROR_ARGUMENT, loom_nn_load(&other, path, true, NULL), "'fc.bias', which is no");
  loom_nn_list_free(&other);
  OK(loom_nn_new(&other, "fc.weight", &flat, 1, true, NULL));
  SAYS(LOOM_ERROR_SHAPE, loom_nn_load(&other, path, false, NULL), "float32 of shape (2, 3)");
  loom_nn_list_free(&other);
  other.dtype = LOOM_COMPLEX128;
  OK(loom_nn_new(&other, "complex", &flat, 1, true, NULL));
  SAYS(LOOM_ERROR_DTYPE, loom_nn_save(&other, path), "'complex' is complex128");
  loom_nn_list_free(&other);
  OK(loom_safetensors_open(path, &given));
  SAYS(LOOM_ERROR_ARGUMENT, loom_safetensors_read(&given, "nothing", &y), "'nothing'");
  loom_safetensors_close(&given);
  SAYS(LOOM_ERROR_ARGUMENT, loom_safetensors_read(&given, "nothing", &y), "closed");

  /* keys that a capture can hold, and temporaries */
  loom_nn_random_free(&random);
  random = loom_nn_random_from(1);
  OK(loom_nn_key(&random, &key));
  OK(loom_tensor_read(key, before, sizeof before));
  OK(loom_nn_split_key(key, &next));
  OK(loom_nn_keep(&scope, next));
  OK(loom_tensor_read(key, after, sizeof after));
  EXPECT(memcmp(before, after, sizeof after) != 0);
  OK(loom_tensor_read(next, before, sizeof before));
  EXPECT(memcmp(before, after, sizeof after) != 0);
  loom_nn_scope_end(&scope);
  FAILS(LOOM_ERROR_HANDLE, loom_tensor_read(next, before, sizeof before));
  OK(loom_tensor_release(key));
  OK(loom_tensor_release(x));
  loom_nn_scope_free(&scope);
  loom_nn_random_free(&random);
}

/* ---- captures --------------------------------------------------------------------- */

typedef struct training {
  loom_nn_list list;
  loom_nn_optimizer optimizer;
  loom_nn_scope temporaries;
  loom_tensor key;
} training;

static void begin(training *t) {
  loom_nn_random random = loom_nn_random_from(9);
  memset(t, 0, sizeof *t);
  OK(loom_nn_linear_new(&t->list, "in", 3, 8, true, &random));
  OK(loom_nn_batch_norm_new(&t->list, "norm", 8));
  OK(loom_nn_linear_new(&t->list, "out", 8, 2, true, &random));
  OK(loom_nn_adamw(&t->optimizer, &t->list, 0.1, 0.9, 0.99, 1e-8, 0.01));
  OK(loom_nn_key(&random, &t->key));
  loom_nn_random_free(&random);
}

/* A step with dropout by a key that each step moves on, and a rate that is a tensor. */
static loom_tensor train(training *t, loom_tensor x, loom_tensor labels, loom_tensor rate) {
  loom_tensor y, key, loss, result;
  OK(loom_nn_linear(&t->list, "in", x, &y));
  OK(loom_nn_keep(&t->temporaries, y));
  OK(loom_nn_batch_norm(&t->list, "norm", y, true, 0.1, 1e-5, &y));
  OK(loom_nn_keep(&t->temporaries, y));
  OK(loom_nn_split_key(t->key, &key));
  OK(loom_nn_keep(&t->temporaries, key));
  OK(loom_dropout(y, key, 0.5, &y));
  OK(loom_nn_keep(&t->temporaries, y));
  OK(loom_nn_linear(&t->list, "out", y, &y));
  OK(loom_nn_keep(&t->temporaries, y));
  OK(loom_nn_cross_entropy(y, labels, &loss));
  OK(loom_nn_keep(&t->temporaries, loss));
  OK(loom_backward(&loss, 1, NULL));
  t->optimizer.lr_tensor = rate;
  OK(loom_nn_step(&t->optimizer));
  OK(loom_tensor_detach(loss, &result));
  loom_nn_scope_end(&t->temporaries);
  return result;
}

static void end(training *t) {
  OK(loom_tensor_release(t->key));
  loom_nn_scope_free(&t->temporaries);
  loom_nn_optimizer_free(&t->optimizer);
  loom_nn_list_free(&t->list);
}

/* A step that is recorded each time and one that is captured give the same numbers. */
static void captures(void) {
  static const int64_t shape[2] = {4, 3}, many = 4;
  training recorded, captured;
  loom_capture step = {0};
  size_t i;
  int k;
  begin(&recorded);
  begin(&captured);
  for (k = 0; k < 4; ++k) {
    const double rate_now = 0.1 / (k + 1);
    float numbers[12], losses[2];
    int64_t labels_now[4];
    loom_tensor x, labels, rate, one, other, inputs[60];
    for (i = 0; i < 12; ++i) numbers[i] = (float)((i * 7 + (size_t)k * 5) % 11) / 5;
    for (i = 0; i < 4; ++i) labels_now[i] = (int64_t)(i + (size_t)k) % 2;
    OK(loom_tensor_from_host(numbers, sizeof numbers, LOOM_FLOAT32, shape, 2, &x));
    OK(loom_tensor_from_host(labels_now, sizeof labels_now, LOOM_INT64, &many, 1, &labels));
    OK(loom_tensor_from_host(&rate_now, sizeof rate_now, LOOM_FLOAT64, NULL, 0, &rate));
    one = train(&recorded, x, labels, rate);
    i = captured.list.count;
    memcpy(inputs, captured.list.tensors, i * sizeof *inputs);
    inputs[i++] = captured.key;
    inputs[i++] = x;
    inputs[i++] = labels;
    inputs[i++] = rate;
    if (k == 0) {
      OK(loom_capture_begin(inputs, i));
      other = train(&captured, x, labels, rate);
      OK(loom_capture_end(&other, 1, &step));
    } else {
      OK(loom_capture_run(step, inputs, i, &other, 1));
    }
    OK(loom_tensor_read(one, &losses[0], sizeof losses[0]));
    OK(loom_tensor_read(other, &losses[1], sizeof losses[1]));
    EXPECT(losses[0] == losses[1]);
    OK(loom_tensor_release(one));
    OK(loom_tensor_release(other));
    OK(loom_tensor_release(x));
    OK(loom_tensor_release(labels));
    OK(loom_tensor_release(rate));
  }
  for (i = 0; i < captured.list.count; ++i) {
    float a[24], b[24];
    size_t nbytes;
    OK(loom_tensor_nbytes(recorded.list.tensors[i], &nbytes));
    EXPECT(nbytes <= sizeof a);
    OK(loom_tensor_read(recorded.list.tensors[i], a, nbytes));
    OK(loom_tensor_read(captured.list.tensors[i], b, nbytes));
    EXPECT(memcmp(a, b, nbytes) == 0);
  }
  end(&recorded);
  end(&captured);
  OK(loom_capture_release(step));
}

/* ---- files ------------------------------------------------------------------------ */

/* Copies a file by what was read of it. */
static void copy(const char *in, const char *out) {
  const char **names;
  loom_tensor *tensors;
  size_t i;
  OK(loom_safetensors_open(in, &given));
  names = (const char **)malloc((given.count + 1) * sizeof *names);
  tensors = (loom_tensor *)malloc((given.count + 1) * sizeof *tensors);
  EXPECT(names != NULL && tensors != NULL);
  EXPECT(loom_safetensors_find(&given, "none") == NULL);
  EXPECT(loom_safetensors_metadata(&given, "none") == NULL);
  for (i = 0; i < given.count; ++i) {
    names[i] = given.entries[i].name;
    EXPECT(loom_safetensors_find(&given, names[i]) == &given.entries[i]);
    tensors[i] = input(names[i]);
  }
  OK(loom_safetensors_save(out, names, tensors, given.count,
                           given.metadata_count ? given.metadata : NULL, given.metadata_count));
  if (given.count) {
    names[given.count] = names[0];
    OK(loom_tensor_retain(tensors[0]));
    tensors[given.count] = tensors[0];
    FAILS(LOOM_ERROR_ARGUMENT,
          loom_safetensors_save(out, names, tensors, given.count + 1, NULL, 0));
    OK(loom_tensor_release(tensors[given.count]));
  }
  OK(loom_tensors_release(tensors, given.count));
  free((void *)names);
  free(tensors);
}

/* Opens files, without starting lazyloom, and says what is wrong with each. */
static int headers(int count, char **paths) {
  int i;
  for (i = 0; i < count; ++i) {
    if (loom_safetensors_open(paths[i], &given) == LOOM_OK) {
      printf("%u tensors\n", (unsigned)given.count);
      loom_safetensors_close(&given);
    } else {
      printf("%s\n", loom_error_message());
    }
  }
  return 0;
}

/* Opens a file with bytes changed, many times: nothing may be worse than an error. */
static int changed(const char *in, const char *out) {
  static unsigned char bytes[4096], with[4096];
  uint64_t state = 1;
  size_t length, i;
  int k, opened = 0;
  FILE *file = fopen(in, "rb");
  EXPECT(file != NULL);
  length = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  for (k = 0; k < 1000; ++k) {
    static const char likely[] = "{}[]\",:\\u0019-";
    memcpy(with, bytes, length);
    for (i = 0; i < 1 + (size_t)(k % 4); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      with[(state >> 33) % length] = (unsigned char)(
          k % 2 ? (unsigned char)likely[(state >> 20) % (sizeof likely - 1)] : state >> 56);
    }
    file = fopen(out, "wb");
    EXPECT(file != NULL && fwrite(with, 1, length, file) == length);
    fclose(file);
    if (loom_safetensors_open(out, &given) == LOOM_OK) {
      ++opened;
      loom_safetensors_close(&given);
    } else {
      EXPECT(strstr(loom_error_message(), out) != NULL);
    }
  }
  printf("%d of %d opened\n", opened, k);
  return 0;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  size_t left;
  if (!strcmp(what, "headers")) return headers(argc - 2, argv + 2);
  if (!strcmp(what, "changed")) return changed(argv[2], argv[3]);
  OK(loom_initialize());
  if (!strcmp(what, "layers")) layers(argv[2], argv[3]);
  if (!strcmp(what, "optimizers")) optimizers(argv[2], argv[3]);
  if (!strcmp(what, "values")) first_values(argv[2]);
  if (!strcmp(what, "errors")) errors(argv[2]);
  if (!strcmp(what, "captures")) captures();
  if (!strcmp(what, "copy")) copy(argv[2], argv[3]);
  loom_safetensors_close(&given);
  loom_nn_list_free(&net);
  loom_nn_list_free(&results);
  OK(loom_live_handles(&left));
  EXPECT(left == 0);
  OK(loom_shutdown());
  printf("networks work\n");
  return 0;
}
