// The digits classifier of examples/digits.c in C++:
//
//   ./digits [DATA_FOLDER [REPORT.json [EPOCHS]]]
//
// Everything that the classifiers share (random numbers, order, steps) is described in digits.c.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "lazyloom.hpp"

namespace loom = lazyloom;
using loom::Tensor;

constexpr std::int64_t kPixels = 64, kBatch = 32;
constexpr std::int64_t kSizes[] = {kPixels, 64, 32, 10};
constexpr double kBounds[] = {0.30618621784789724, 0.30618621784789724, 0.4330127018922193};

static std::uint64_t state = 2024;

static std::uint64_t next_random() {
  std::uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

struct Digits {
  std::int64_t count;
  std::vector<float> pixels;
  std::vector<std::int64_t> labels;
};

static std::vector<unsigned char> bytes_of(const std::string &path, int header) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  const std::vector<char> all{std::istreambuf_iterator<char>(file), {}};
  return {all.begin() + header, all.end()};
}

static Digits read_digits(const std::string &folder, const std::string &part) {
  const auto pixels = bytes_of(folder + "/" + part + "-images.idx3-ubyte", 16);
  const auto labels = bytes_of(folder + "/" + part + "-labels.idx1-ubyte", 8);
  Digits d{static_cast<std::int64_t>(labels.size()), {}, {labels.begin(), labels.end()}};
  for (unsigned char p : pixels) d.pixels.push_back(static_cast<float>(p) / 16.0f);
  return d;
}

struct Network {
  std::vector<Tensor> parameters, momenta;  // w1, b1, w2, b2, w3, b3

  Network() {
    for (int layer = 0; layer < 3; ++layer) {
      const std::int64_t inputs = kSizes[layer], outputs = kSizes[layer + 1];
      std::vector<float> weights(static_cast<std::size_t>(inputs * outputs));
      for (float &w : weights) {
        const double u = static_cast<double>(next_random() >> 40) / 16777216.0;
        w = static_cast<float>((2.0 * u - 1.0) * kBounds[layer]);
      }
      const std::vector<float> zeros(weights.size());
      const loom::Span<float> few(zeros.data(), static_cast<std::size_t>(outputs));
      parameters.push_back(loom::tensor(weights, {inputs, outputs}));
      parameters.push_back(loom::tensor(few, {outputs}));
      momenta.push_back(loom::tensor(zeros, {inputs, outputs}));
      momenta.push_back(loom::tensor(few, {outputs}));
    }
    for (Tensor &p : parameters) p.require_grad();
  }

  Tensor logits(Tensor h) const {
    for (std::size_t layer = 0; layer < 3; ++layer) {
      h = matmul(h, parameters[2 * layer]) + parameters[2 * layer + 1];
      if (layer < 2) h = relu(h);
    }
    return h;
  }

  // Records a step; gives the loss before it. What is temporary is gone when it returns.
  Tensor step(const Tensor &images, const Tensor &labels, loom::Span<std::int64_t> indices) {
    const Tensor chosen = loom::tensor(indices, {kBatch});
    const Tensor x = take(images, chosen, 0), y = take(labels, chosen, 0);
    Tensor loss = cross_entropy(logits(x), y);
    loss.backward();
    std::vector<Tensor> gradients;
    for (Tensor &p : parameters) {
      gradients.push_back(p.gradient());
      p.clear_gradient();
    }
    const loom::NoGrad frozen;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      momenta[i].assign(momenta[i] * 0.9 + gradients[i]);
      parameters[i] -= momenta[i] * 0.05;
    }
    return loss;
  }

  double accuracy(const Tensor &images, const Digits &d) const {
    const loom::NoGrad frozen;
    // a statement of its own: what lives at a read, as temporaries do, is computed by it as well
    const Tensor guesses = argmax(logits(images), 1);
    const auto guessed = guesses.read<std::int64_t>();
    double right = 0;
    for (std::size_t i = 0; i < guessed.size(); ++i) right += guessed[i] == d.labels[i];
    return right / static_cast<double>(d.count);
  }
};

static void write_report(const char *path, const std::vector<float> &losses, double accuracy) {
  std::ofstream file(path);
  file.precision(17);
  file << "{\"frontend\": \"c++\", \"programs_compiled\": " << loom::stat("programs_compiled")
       << ", \"final_loss\": " << losses.back() << ", \"test_accuracy\": " << accuracy
       << ", \"losses\": [";
  for (std::size_t i = 0; i < losses.size(); ++i) file << (i ? ", " : "") << losses[i];
  file << "]}\n";
}

int main(int argc, char **argv) try {
  const std::string folder = argc > 1 ? argv[1] : "examples/data/digits";
  const int epochs = argc > 3 ? std::atoi(argv[3]) : 20;
  const Digits train = read_digits(folder, "train"), test = read_digits(folder, "test");
  const loom::Runtime runtime;
  Network network;
  const Tensor images = loom::tensor(train.pixels, {train.count, kPixels});
  const Tensor labels = loom::tensor(train.labels, {train.count});
  const Tensor test_images = loom::tensor(test.pixels, {test.count, kPixels});
  std::vector<std::int64_t> order(static_cast<std::size_t>(train.count));
  std::iota(order.begin(), order.end(), 0);
  std::vector<float> losses;
  double accuracy = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    for (std::size_t i = order.size() - 1; i > 0; --i)
      std::swap(order[i], order[next_random() % (i + 1)]);
    double mean = 0;
    const std::size_t steps = order.size() / kBatch;
    for (std::size_t i = 0; i < steps; ++i) {
      losses.push_back(
          network.step(images, labels, {order.data() + i * kBatch, kBatch}).item<float>());
      mean += losses.back() / static_cast<double>(steps);
    }
    accuracy = network.accuracy(test_images, test);
    std::printf("c++: epoch %2d  loss %.6f  test accuracy %.4f\n", epoch, mean, accuracy);
  }
  if (argc > 2) write_report(argv[2], losses, accuracy);
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
