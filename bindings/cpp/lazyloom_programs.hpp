// lazyloom_programs.hpp: operators, gradients, loops, captures and observation; part of
// lazyloom.hpp, which includes it.
#ifndef LAZYLOOM_PROGRAMS_HPP
#define LAZYLOOM_PROGRAMS_HPP

namespace lazyloom {

// ---- operators -------------------------------------------------------------------------------

inline Tensor operator+(Operand x, Operand y) { return add(x, y, x.site()); }
inline Tensor operator-(Operand x, Operand y) { return subtract(x, y, x.site()); }
inline Tensor operator*(Operand x, Operand y) { return multiply(x, y, x.site()); }
inline Tensor operator/(Operand x, Operand y) { return divide(x, y, x.site()); }
inline Tensor operator-(Operand x) { return negative(x, x.site()); }
inline Tensor operator<(Operand x, Operand y) { return less(x, y, x.site()); }
inline Tensor operator<=(Operand x, Operand y) { return less_equal(x, y, x.site()); }
inline Tensor operator>(Operand x, Operand y) { return greater(x, y, x.site()); }
inline Tensor operator>=(Operand x, Operand y) { return greater_equal(x, y, x.site()); }
inline Tensor operator==(Operand x, Operand y) { return equal(x, y, x.site()); }
inline Tensor operator!=(Operand x, Operand y) { return not_equal(x, y, x.site()); }
// In place, as everywhere where tensors are written: every owner of the tensor sees it.
inline Tensor &operator+=(Tensor &x, Operand y) { return x.assign(add(x, y, y.site()), y.site()), x; }
inline Tensor &operator-=(Tensor &x, Operand y) {
  return x.assign(subtract(x, y, y.site()), y.site()), x;
}
inline Tensor &operator*=(Tensor &x, Operand y) {
  return x.assign(multiply(x, y, y.site()), y.site()), x;
}
inline Tensor &operator/=(Tensor &x, Operand y) {
  return x.assign(divide(x, y, y.site()), y.site()), x;
}

// ---- evaluation and gradients ----------------------------------------------------------------

// Schedules everything given, as one program each; with wait, until it has been computed.
inline void sync(Span<Tensor> tensors, bool wait = false, Site at = Site::here()) {
  const auto handles = handles_of(tensors);
  at.note();
  check((loom_sync)(handles.data(), handles.size(), wait));
}

// The gradients of outputs with respect to inputs, one of each input's shape and dtype.
// cotangents: one for each output, or none for ones of 0-d outputs.
inline std::vector<Tensor> grad(Span<Tensor> outputs, Span<Tensor> inputs,
                                Span<Tensor> cotangents = {}, bool create_graph = false,
                                Site at = Site::here()) {
  const auto from = handles_of(outputs), to = handles_of(inputs), by = handles_of(cotangents);
  if (!by.empty() && by.size() != from.size())
    throw std::invalid_argument("grad: " + std::to_string(by.size()) + " cotangents, expected " +
                                std::to_string(from.size()) + ", one for each output");
  std::vector<loom_tensor> found(to.size());
  at.note();
  check((loom_grad)(from.data(), from.size(), to.data(), to.size(),
                    by.empty() ? nullptr : by.data(), create_graph, found.data()));
  return owned(found);
}

// Writes values into targets, one call for all.
inline void assign(Span<Tensor> targets, Span<Tensor> values, Site at = Site::here()) {
  if (targets.size() != values.size())
    throw std::invalid_argument("assign: " + std::to_string(targets.size()) + " targets and " +
                                std::to_string(values.size()) + " values, expected as many");
  const auto to = handles_of(targets), from = handles_of(values);
  at.note();
  check((loom_tensors_assign)(to.data(), from.data(), to.size()));
}

// ---- loops and branches ----------------------------------------------------------------------

using Body = detail::Callback::Function;

// The last carry, then what the steps gave, stacked. step: takes the carry and one element of each
// of xs; gives the next carry and ys_count tensors. length: -1 for that of xs.
inline std::vector<Tensor> scan(Body step, Span<Tensor> init, Span<Tensor> xs = {},
                                std::size_t ys_count = 0, std::int64_t length = -1,
                                bool reverse = false, Site at = Site::here()) {
  detail::Two functions{detail::Callback(std::move(step)), detail::Callback(nullptr)};
  const auto carry = handles_of(init), over = handles_of(xs);
  std::vector<loom_tensor> found(carry.size() + ys_count);
  at.note();
  functions.check_again((loom_scan)(detail::Two::call_first, &functions, carry.data(),
                                    carry.size(), over.data(), over.size(), length, ys_count,
                                    reverse, found.data()));
  return owned(found);
}

// The last carry of a loop of body while condition gives true. max_steps: -1 for no bound.
inline std::vector<Tensor> while_loop(std::function<Tensor(Span<Tensor>)> condition, Body body,
                                      Span<Tensor> init, std::int64_t max_steps = -1,
                                      Site at = Site::here()) {
  const auto one = [condition](Span<Tensor> given) {
    return std::vector<Tensor>{condition(given)};
  };
  detail::Two functions{detail::Callback(one), detail::Callback(std::move(body))};
  const auto carry = handles_of(init);
  std::vector<loom_tensor> found(carry.size());
  at.note();
  functions.check_again((loom_while_loop)(detail::Two::call_first, detail::Two::call_second,
                                          &functions, carry.data(), carry.size(), max_steps,
                                          found.data()));
  return owned(found);
}

// One of two functions of the operands, each of which gives result_count tensors.
inline std::vector<Tensor> cond(const Tensor &which, Body if_true, Body if_false,
                                Span<Tensor> operands, std::size_t result_count = 1,
                                Site at = Site::here()) {
  detail::Two functions{detail::Callback(std::move(if_true)),
                        detail::Callback(std::move(if_false))};
  const auto given = handles_of(operands);
  std::vector<loom_tensor> found(result_count);
  at.note();
  functions.check_again((loom_cond)(which.handle(), detail::Two::call_first,
                                    detail::Two::call_second, &functions, given.data(),
                                    given.size(), found.data(), result_count));
  return owned(found);
}

// ---- capture ---------------------------------------------------------------------------------

// A step that was recorded once: see loom_capture_begin() in lazyloom.h.
class Capture {
 public:
  // Records step, a function of nothing that uses the inputs and gives the results of each run.
  Capture(Span<Tensor> inputs, const std::function<std::vector<Tensor>()> &step,
          Site at = Site::here()) {
    const auto given = handles_of(inputs);
    at.note();
    check((loom_capture_begin)(given.data(), given.size()));
    try {
      const std::vector<Tensor> results = step();
      const auto ends = handles_of(results);
      count_ = ends.size();
      at.note();
      check((loom_capture_end)(ends.data(), ends.size(), &handle_));
    } catch (...) {
      const Status status = (loom_capture_cancel)();
      static_cast<void>(status);  // what was thrown says more
      throw;
    }
  }
  Capture(Capture &&other) noexcept
      : handle_(std::exchange(other.handle_, loom_capture{0})), count_(other.count_) {}
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;
  ~Capture() {
    if (handle_.bits) (void)(loom_capture_release)(handle_);
  }

  // Runs it over what the inputs hold; gives its results.
  std::vector<Tensor> run(Span<Tensor> inputs, Site at = Site::here()) const {
    const auto given = handles_of(inputs);
    std::vector<loom_tensor> found(count_);
    at.note();
    check((loom_capture_run)(handle_, given.data(), given.size(), found.data(), found.size()));
    return owned(found);
  }

 private:
  loom_capture handle_ = {0};
  std::size_t count_ = 0;
};

// ---- observation -----------------------------------------------------------------------------

// A counter of the process, such as "programs_compiled".
inline std::int64_t stat(const char *name) {
  std::int64_t value = 0;
  check((loom_stat)(name, &value));
  return value;
}

// The record of the last evaluation, for people; "" if there was none.
inline std::string last_evaluation() {
  return detail::text([](char *buffer, std::size_t capacity, std::size_t *needed) {
    return (loom_last_evaluation)(buffer, capacity, needed);
  });
}

// The key of the program that computes pending tensors: equal for equal ones of all languages.
inline std::string program_key(Span<Tensor> tensors, Site at = Site::here()) {
  const auto handles = handles_of(tensors);
  loom_program program;
  at.note();
  check((loom_program_of)(handles.data(), handles.size(), &program));
  const std::unique_ptr<loom_program, void (*)(loom_program *)> kept(
      &program, [](loom_program *p) { (void)(loom_program_release)(*p); });
  return detail::text([&](char *buffer, std::size_t capacity, std::size_t *needed) {
    return (loom_program_key)(program, buffer, capacity, needed);
  });
}

inline void set_option(loom_option option, std::int64_t value) {
  check((loom_set_option)(option, value));
}

}  // namespace lazyloom

#endif  // LAZYLOOM_PROGRAMS_HPP
