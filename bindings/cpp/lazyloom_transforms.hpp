// lazyloom_transforms.hpp: transforms of functions, waits, options and records; part of
// lazyloom.hpp, which includes it.
#ifndef LAZYLOOM_TRANSFORMS_HPP
#define LAZYLOOM_TRANSFORMS_HPP

namespace lazyloom {

// ---- transforms ------------------------------------------------------------------------------
// A function takes its inputs and gives count tensors. It runs once, on the inputs themselves, so
// that it may read and branch; but for that of vmap, whose inputs have no contents.

namespace detail {

// Calls C with a function and room for as many handles as are said.
template <class Call>
std::vector<Tensor> transform(Body function, std::size_t room, Call call) {
  Two functions{Callback(std::move(function)), Callback(nullptr)};
  std::vector<loom_tensor> found(room);
  functions.check_again(call(Two::call_first, &functions, found.data()));
  return owned(found);
}

inline std::vector<std::size_t> positions_of(Span<std::size_t> positions, std::size_t count) {
  std::vector<std::size_t> found(positions.begin(), positions.end());
  for (std::size_t i = 0; positions.size() == 0 && i < count; ++i) found.push_back(i);
  return found;
}

inline std::vector<Tensor> part(const std::vector<Tensor> &list, std::size_t begin,
                                std::size_t end) {
  return {list.begin() + static_cast<std::ptrdiff_t>(begin),
          list.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace detail

// The derivative of a function at its inputs.
class LinearMap {
 public:
  LinearMap(loom_linear_map owned, std::size_t gives) : handle_(owned), gives_(gives) {}
  LinearMap(LinearMap &&other) noexcept
      : handle_(std::exchange(other.handle_, loom_linear_map{0})), gives_(other.gives_) {}
  LinearMap(const LinearMap &) = delete;
  LinearMap &operator=(const LinearMap &) = delete;
  ~LinearMap() {
    if (handle_.bits) (void)(loom_linear_map_release)(handle_);
  }
  // Records it: of cotangents of the results for a pullback, of tangents of the inputs for a
  // pushforward, Tensor() for zero; gives tensors of the other side, null where there are none.
  std::vector<Tensor> operator()(Span<Tensor> given, Site at = Site::here()) const {
    const auto from = handles_of(given);
    std::vector<loom_tensor> found(gives_);
    at.note();
    check((loom_linear_map_apply)(handle_, from.data(), from.size(), found.data(), gives_));
    return owned(found);
  }

 private:
  loom_linear_map handle_;
  std::size_t gives_;
};

struct ValueAndMap {
  std::vector<Tensor> value;
  LinearMap map;
};

// The results of a function and the map that pulls cotangents back through it.
inline ValueAndMap vjp(Body function, Span<Tensor> inputs, std::size_t count = 1,
                       Site at = Site::here()) {
  const auto given = handles_of(inputs);
  loom_linear_map map = {0};
  at.note();
  auto value = detail::transform(
      std::move(function), count, [&](loom_function call, void *context, loom_tensor *found) {
        return (loom_vjp)(call, context, given.data(), given.size(), found, count, &map);
      });
  return {std::move(value), LinearMap(map, given.size())};
}

// The results of a function and the map that pushes tangents forward through it.
inline ValueAndMap linearize(Body function, Span<Tensor> inputs, std::size_t count = 1,
                             Site at = Site::here()) {
  const auto given = handles_of(inputs);
  loom_linear_map map = {0};
  at.note();
  auto value = detail::transform(
      std::move(function), count, [&](loom_function call, void *context, loom_tensor *found) {
        return (loom_linearize)(call, context, given.data(), given.size(), found, count, &map);
      });
  return {std::move(value), LinearMap(map, count)};
}

struct ValueAndTangents {
  std::vector<Tensor> value, tangents;
};

// The results of a function and their derivatives along tangents, Tensor() for zero.
inline ValueAndTangents jvp(Body function, Span<Tensor> inputs, Span<Tensor> tangents,
                            std::size_t count = 1, Site at = Site::here()) {
  if (tangents.size() != inputs.size())
    throw std::invalid_argument("jvp: " + std::to_string(tangents.size()) + " tangents, expected " +
                                std::to_string(inputs.size()) + ", one for each input");
  const auto given = handles_of(inputs), along = handles_of(tangents);
  at.note();
  const auto all = detail::transform(
      std::move(function), 2 * count, [&](loom_function call, void *context, loom_tensor *found) {
        return (loom_jvp)(call, context, given.data(), along.data(), given.size(), found,
                          found + count, count);
      });
  return {detail::part(all, 0, count), detail::part(all, count, 2 * count)};
}

struct ValueAndGradients {
  std::vector<Tensor> value, gradients;
};

// The results of a function, the first without dimensions, and the gradients of that by the inputs
// at positions, by all if none is given.
inline ValueAndGradients value_and_grad(Body function, Span<Tensor> inputs, std::size_t count = 1,
                                        Span<std::size_t> positions = {},
                                        Site at = Site::here()) {
  const auto given = handles_of(inputs);
  const auto by = detail::positions_of(positions, given.size());
  at.note();
  const auto all = detail::transform(
      std::move(function), count + by.size(),
      [&](loom_function call, void *context, loom_tensor *found) {
        return (loom_value_and_grad)(call, context, given.data(), given.size(), by.data(),
                                     by.size(), found, count, found + count);
      });
  return {detail::part(all, 0, count), detail::part(all, count, all.size())};
}

// The derivatives of each element of the results by each of the inputs, those of the first result
// first.
inline std::vector<Tensor> jacobian(Body function, Span<Tensor> inputs, std::size_t count = 1,
                                    Span<std::size_t> positions = {},
                                    loom_direction direction = LOOM_DIRECTION_ANY,
                                    bool holomorphic = false, Site at = Site::here()) {
  const auto given = handles_of(inputs);
  const auto by = detail::positions_of(positions, given.size());
  at.note();
  return detail::transform(
      std::move(function), count * by.size(),
      [&](loom_function call, void *context, loom_tensor *found) {
        return (loom_jacobian)(call, context, given.data(), given.size(), by.data(), by.size(),
                               count, direction, holomorphic, found);
      });
}

// The second derivatives, the last position varying first.
inline std::vector<Tensor> hessian(Body function, Span<Tensor> inputs, std::size_t count = 1,
                                   Span<std::size_t> positions = {}, Site at = Site::here()) {
  const auto given = handles_of(inputs);
  const auto by = detail::positions_of(positions, given.size());
  at.note();
  return detail::transform(
      std::move(function), count * by.size() * by.size(),
      [&](loom_function call, void *context, loom_tensor *found) {
        return (loom_hessian)(call, context, given.data(), given.size(), by.data(), by.size(),
                              count, found);
      });
}

// Does for each element of an axis what a function does for one. in_axes, out_axes: the axis of
// each input and result, LOOM_UNMAPPED for none; the first one if they are not given. axis_size:
// where no input has the axis.
inline std::vector<Tensor> vmap(Body function, Span<Tensor> inputs, Span<std::int64_t> in_axes = {},
                                std::size_t count = 1, Span<std::int64_t> out_axes = {},
                                std::int64_t axis_size = -1, Site at = Site::here()) {
  if ((in_axes.size() && in_axes.size() != inputs.size()) ||
      (out_axes.size() && out_axes.size() != count))
    throw std::invalid_argument("vmap: expected an axis for each input and each result, or none");
  const auto given = handles_of(inputs);
  at.note();
  return detail::transform(
      std::move(function), count, [&](loom_function call, void *context, loom_tensor *found) {
        return (loom_vmap)(call, context, given.data(), given.size(), in_axes.data(), axis_size,
                           out_axes.data(), found, count);
      });
}

// ---- waits -----------------------------------------------------------------------------------

// Waits until tensors have been computed, but no longer than seconds; whether they have.
inline bool wait_for(Span<Tensor> tensors, double seconds, Site at = Site::here()) {
  const auto handles = handles_of(tensors);
  at.note();
  const Status status = (loom_wait)(handles.data(), handles.size(), seconds);
  if (status != LOOM_ERROR_TIMEOUT) check(status);
  return status == LOOM_OK;
}

// Whether a read would not wait.
inline bool is_ready(const Tensor &tensor, Site at = Site::here()) {
  bool found = false;
  at.note();
  check((loom_tensor_is_ready)(tensor.handle(), &found));
  return found;
}

// ---- options and records ---------------------------------------------------------------------

// The value of an option by its name; 0 and 1 are false and true.
inline double option(const char *name, Site at = Site::here()) {
  double found = 0;
  at.note();
  check((loom_option_get)(name, &found));
  return found;
}

// Sets an option; gives its value before.
inline double set_option(const char *name, double value, Site at = Site::here()) {
  double before = 0;
  at.note();
  check((loom_option_set)(name, value, &before));
  return before;
}

// All options, counters, and the records of the newest evaluations (count at most, 0 for all that
// are kept), as JSON.
inline std::string options_json() {
  return detail::text([](char *buffer, std::size_t capacity, std::size_t *needed) {
    return (loom_options_json)(buffer, capacity, needed);
  });
}
inline std::string stats_json() {
  return detail::text([](char *buffer, std::size_t capacity, std::size_t *needed) {
    return (loom_stats_json)(buffer, capacity, needed);
  });
}
inline std::string evaluations_json(std::size_t count = 0) {
  return detail::text([count](char *buffer, std::size_t capacity, std::size_t *needed) {
    return (loom_evaluations_json)(count, buffer, capacity, needed);
  });
}

// A profile of the process, until end() or the end of this. path: a file for the report, written at
// the end, in the form that its name ends in (.html, .json, .trace.json, text); null for none.
// sources: whether it may have lines of the program's source.
class Profile {
 public:
  explicit Profile(const char *path = nullptr, bool sources = true, Site at = Site::here()) {
    at.note();
    check((loom_profile_begin)(path, sources));
  }
  ~Profile() {
    if (!running_) return;
    // whoever wants to know whether the file was written calls end()
    const Status status = (loom_profile_end)();
    static_cast<void>(status);
  }
  Profile(const Profile &) = delete;
  Profile &operator=(const Profile &) = delete;

  void end(Site at = Site::here()) {
    at.note();
    running_ = false;
    check((loom_profile_end)());
  }

 private:
  bool running_ = true;
};

// The report of the profile that ended last, as JSON; "{}" before the first.
inline std::string profile_json() {
  return detail::text([](char *buffer, std::size_t capacity, std::size_t *needed) {
    return (loom_profile_json)(buffer, capacity, needed);
  });
}

// What memory holds.
inline loom_memory_figures memory() {
  loom_memory_figures found = {};
  found.size = sizeof found;
  check((loom_memory)(&found));
  return found;
}

// The key of a seed, as random ops take one.
inline Tensor random_key(std::uint64_t seed, Site at = Site::here()) {
  loom_tensor found;
  at.note();
  check((loom_random_key)(seed, &found));
  return Tensor(found);
}

}  // namespace lazyloom

#endif  // LAZYLOOM_TRANSFORMS_HPP
