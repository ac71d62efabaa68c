// What the layer adds to the C ABI: ownership, operators, errors, callbacks, captures.
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "lazyloom.hpp"

namespace loom = lazyloom;
using loom::Tensor;

static void expect(bool holds, const char *what, int line) {
  if (holds) return;
  std::fprintf(stderr, "layer.cc:%d: %s does not hold\n", line, what);
  std::exit(1);
}
#define EXPECT(...) expect((__VA_ARGS__), #__VA_ARGS__, __LINE__)

template <class F>
static loom::Error error_of(F call) {
  try {
    call();
  } catch (const loom::Error &error) {
    return error;
  }
  std::fprintf(stderr, "nothing was thrown\n");
  std::exit(1);
}

// a class may have members that are called as C functions are
struct Named {
  int loom_add(int x) { return x + 1; }
};

static void operators() {
  const Tensor x = loom::tensor<float>({1, 2, 3}, {3});
  EXPECT((2 * x - 1.0).read<float>() == (std::vector<float>{1, 3, 5}));
  EXPECT((-x / x).read<float>() == (std::vector<float>{-1, -1, -1}));
  EXPECT((x >= 2).read<std::uint8_t>() == (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT(sum(x).item<float>() == 6 && max(x).item<float>() == 3);
  EXPECT(sum(x, std::nullopt, loom::DType::float64, true).shape() == std::vector<std::int64_t>{1});
  EXPECT(reshape(x, {3, 1}).shape() == (std::vector<std::int64_t>{3, 1}));
  EXPECT(loom::concatenate({x, x}, 0).shape() == std::vector<std::int64_t>{6});
  const auto parts = loom::split(loom::concatenate({x, x}, 0), {2, 4});
  EXPECT(parts.size() == 2 && parts[1].read<float>() == (std::vector<float>{3, 1, 2, 3}));
  const auto [sorted, order] = sort_with_indices(-x);
  EXPECT(order.read<std::int64_t>() == (std::vector<std::int64_t>{2, 1, 0}) && sorted);
  EXPECT(clip(x, loom::Operand(), 2).read<float>() == (std::vector<float>{1, 2, 2}));
  const Tensor z = loom::tensor<std::complex<float>>({{0, 1}}, {1});
  EXPECT((z * z).read<std::complex<float>>()[0] == std::complex<float>(-1, 0));
  Tensor shared = loom::share(std::vector<float>{1, 2}, {2});
  const Tensor other = shared;
  shared += 1;
  EXPECT(other.read<float>() == (std::vector<float>{2, 3}) && other.map<float>()[1] == 3);
}

static void errors() {
  const Tensor x = loom::tensor<float>({1, 2, 3}, {3}), y = loom::tensor<float>({1, 2}, {2});
  const auto shapes = error_of([&] { x + y; });
  EXPECT(shapes.status() == LOOM_ERROR_SHAPE && shapes.op() == "add");
  EXPECT(shapes.site() == std::string(__FILE__) + ":" + std::to_string(__LINE__ - 2));
  EXPECT(std::string(shapes.what()).find(shapes.site()) == 0);
  const auto axis = error_of([&] { argmax(x, 7); });
  EXPECT(axis.status() == LOOM_ERROR_ARGUMENT && axis.argument() == "axis");
  EXPECT(axis.site() == std::string(__FILE__) + ":" + std::to_string(__LINE__ - 2));
  EXPECT(error_of([&] { x.item<double>(); }).status() == LOOM_ERROR_DTYPE);
  EXPECT(error_of([&] { Tensor().shape(); }).status() == LOOM_ERROR_HANDLE);
}

static void programs() {
  const Tensor x = loom::tensor<float>({1, 2, 3}, {3}).require_grad();
  const auto gradients = loom::grad({sum(x * x)}, {x});
  EXPECT(gradients[0].read<float>() == (std::vector<float>{2, 4, 6}));
  {
    const loom::NoGrad frozen;
    EXPECT(!(x * 2).requires_grad());
  }
  EXPECT((x * 2).requires_grad() && !x.detach().requires_grad());
  const auto ends = loom::scan(
      [](loom::Span<Tensor> given) {
        const Tensor total = given[0] + given[1];
        return std::vector<Tensor>{total, total};
      },
      {loom::tensor(0.0f)}, {x.detach()}, 1);
  EXPECT(ends[0].item<float>() == 6 && ends[1].read<float>() == (std::vector<float>{1, 3, 6}));
  const auto doubled = loom::while_loop(
      [](loom::Span<Tensor> given) { return given[0] < 100; },
      [](loom::Span<Tensor> given) { return std::vector<Tensor>{given[0] * 2}; },
      {loom::tensor(3.0f)});
  EXPECT(doubled[0].item<float>() == 192);
  const auto either = loom::cond(
      loom::tensor(true), [](loom::Span<Tensor> given) { return std::vector<Tensor>{given[0] + 1}; },
      [](loom::Span<Tensor> given) { return std::vector<Tensor>{given[0] - 1}; },
      {loom::tensor(3.0f)});
  EXPECT(either[0].item<float>() == 4);
  const auto same = [](loom::Span<Tensor> given) { return std::vector<Tensor>{given[0], given[0]}; };
  const auto twice = loom::cond(loom::tensor(true), same, same, {loom::tensor(3.0f)}, 2);
  EXPECT(twice[1].item<float>() == 3);
  try {
    loom::scan([](loom::Span<Tensor>) -> std::vector<Tensor> { throw std::logic_error("mine"); },
               {loom::tensor(0.0f)}, {x.detach()});
    EXPECT(!"thrown");
  } catch (const std::logic_error &error) {
    EXPECT(error.what() == std::string("mine"));
  }
  Tensor total = loom::tensor(0.0f);
  total.read<float>();
  std::vector<Tensor> inputs{total, loom::tensor(2.0f)};
  const loom::Capture step(inputs, [&] {
    total.assign(total + inputs[1]);
    return std::vector<Tensor>{total * 10};
  });
  const float before = total.item<float>();
  EXPECT(step.run(inputs)[0].item<float>() == 10 * (before + 2));
  EXPECT(total.item<float>() == before + 2);
}

static void transforms() {
  const Tensor x = loom::tensor<float>({1, 2, 3}, {3}), one = loom::tensor<float>({1, 0, 0}, {3});
  const auto square = [](loom::Span<Tensor> in) { return std::vector<Tensor>{sum(in[0] * in[0])}; };
  const auto pulled = loom::vjp(square, {x});
  EXPECT(pulled.value[0].item<float>() == 14);
  EXPECT(pulled.map({loom::tensor(2.0f)})[0].read<float>() == (std::vector<float>{4, 8, 12}));
  EXPECT(loom::jvp(square, {x}, {one}).tangents[0].item<float>() == 2);
  EXPECT(loom::linearize(square, {x}).map({one})[0].item<float>() == 2);
  const auto both = loom::value_and_grad(
      [&](loom::Span<Tensor> in) {
        return std::vector<Tensor>{sum(in[0] * in[0]), in[0] * in[1]};
      },
      {x, one}, 2, {std::size_t(0)});
  EXPECT(both.value[1].read<float>() == (std::vector<float>{1, 0, 0}));
  EXPECT(both.gradients.size() == 1);
  EXPECT(both.gradients[0].read<float>() == (std::vector<float>{2, 4, 6}));
  EXPECT(loom::jacobian(square, {x})[0].shape() == (std::vector<std::int64_t>{3}));
  EXPECT(sum(loom::hessian(square, {x})[0], 0).read<float>() == (std::vector<float>{2, 2, 2}));
  const Tensor rows = loom::tensor<float>({1, 2, 3, 4}, {2, 2});
  const auto scaled = loom::vmap(
      [](loom::Span<Tensor> in) { return std::vector<Tensor>{sum(in[0] * in[1])}; },
      {rows, loom::tensor(2.0f)}, {1, LOOM_UNMAPPED});
  EXPECT(scaled[0].read<float>() == (std::vector<float>{8, 12}));
  // the second of what is given back is the function's own input
  const auto ends = loom::scan(
      [](loom::Span<Tensor> in) { return std::vector<Tensor>{in[0] + in[1], in[0]}; },
      {loom::tensor(0.0f)}, {x}, 1, -1, true);
  EXPECT(ends[1].read<float>() == (std::vector<float>{5, 3, 0}));
  const std::vector<float> many = {0, 1, 65504, 65519.99f, 65520, 1e-8f, 8.940697e-8f, 1 / 3.0f,
                                   6.1e-5f, 1 + 1 / 2048.0f, 1 + 3 / 2048.0f, -1e30f, 3.4e38f};
  std::vector<loom::float16_t> half;
  std::vector<loom::bfloat16_t> brain;
  for (const float value : many) half.emplace_back(value), brain.emplace_back(value);
  const auto count = static_cast<std::int64_t>(many.size());
  const Tensor wide = loom::tensor(many, {count});
  const auto halves = cast(wide, loom::DType::float16).read<loom::float16_t>();
  const auto brains = cast(wide, loom::DType::bfloat16).read<loom::bfloat16_t>();
  const auto again = cast(loom::tensor(half, {count}), loom::DType::float32).read<float>();
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT(halves[i].bits == half[i].bits && brains[i].bits == brain[i].bits);
    EXPECT(again[i] == static_cast<float>(half[i]));
  }
  const double before = loom::set_option("reads", 2);
  EXPECT(error_of([&] { (x + 7).read<float>(); }).status() == LOOM_ERROR_READ_FORBIDDEN);
  EXPECT(loom::set_option("reads", before) == 2 && loom::option("reads") == 0);
  const Tensor y = x + 1;
  EXPECT(loom::wait_for({y}, 60) && loom::is_ready(y));
  EXPECT(loom::evaluations_json(1).find("layer.cc") != std::string::npos);
  EXPECT(loom::options_json()[0] == '{' && loom::stats_json()[0] == '{');
  EXPECT(loom::profile_json() == "{}");
  {
    loom::Profile profile;
    EXPECT((y + 1).read<float>().size() == x.read<float>().size());
    bool refused = false;
    try {
      loom::Profile second;
    } catch (const loom::Error &error) {
      refused = error.status() == LOOM_ERROR_ARGUMENT;
    }
    EXPECT(refused);
    profile.end();
  }
  EXPECT(loom::profile_json().find("\"findings\"") != std::string::npos &&
         loom::profile_json().find("layer.cc") != std::string::npos);
  { loom::Profile to_its_end; }
  { loom::Profile again; }
  EXPECT(loom::memory().tensors > 0);
  EXPECT(loom::random_key(7).read<std::uint32_t>() == (std::vector<std::uint32_t>{0, 7}));
  const auto null = error_of([] { Tensor().shape(); });
  EXPECT(null.site() == std::string(__FILE__) + ":" + std::to_string(__LINE__ - 1));
}

int main() {
  const loom::Runtime runtime;
  operators();
  errors();
  programs();
  transforms();
  EXPECT(Named().loom_add(1) == 2);
  std::size_t alive = 1;
  loom::check((loom_live_handles)(&alive));
  EXPECT(alive == 0);
  std::puts("works");
}
