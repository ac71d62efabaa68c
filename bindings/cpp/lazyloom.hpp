// lazyloom.hpp: Lazyloom for C++17, in headers alone, over the C ABI of lazyloom.h.
//
//   c++ -std=c++17 program.cc -I FOLDER_OF_THIS_FILE $(python -m lazyloom_capi --cflags --libs)
//
//   #include "lazyloom.hpp"
//   namespace loom = lazyloom;
//   loom::Runtime runtime;                                   // starts; shuts down at its end
//   auto x = loom::tensor<float>({1, 2, 3}, {3}).require_grad();
//   auto y = sum((x + 1.0) * 2.0);                           // recorded
//   y.backward();
//   float value = y.item<float>();                           // compiled and run
//
// A Tensor owns a handle: a copy is another owner of the same tensor, a move takes it over. Every
// function of lazyloom_ops.hpp, which this header includes, is an op. What fails throws Error,
// which carries the status, the op, the argument and the user's file and line: functions take
// these by a default argument, operators by the conversion of their operands.
//
// Threads: as lazyloom.h says. A Tensor object is not locked: two threads may use copies of it at
// the same time, and one object as any const object of the standard library.
#ifndef LAZYLOOM_HPP
#define LAZYLOOM_HPP

#include <array>
#include <exception>
#include <functional>
#include <memory>

#include "lazyloom_base.hpp"

namespace lazyloom {

// ---- start and end ---------------------------------------------------------------------------

// The runtime is started while one of these lives.
class Runtime {
 public:
  explicit Runtime(Site at = Site::here()) {
    at.note();
    check((loom_initialize)());
  }
  ~Runtime() { (void)(loom_shutdown)(); }
  Runtime(const Runtime &) = delete;
  Runtime &operator=(const Runtime &) = delete;
};

// Gradients are not recorded on this thread while one of these lives.
class NoGrad {
 public:
  explicit NoGrad(Site at = Site::here()) {
    at.note();
    check((loom_set_grad_enabled)(false, &before_));
  }
  ~NoGrad() {
    // it fails after the end of the runtime alone, where there is nothing to switch
    const Status status = (loom_set_grad_enabled)(before_, nullptr);
    static_cast<void>(status);
  }
  NoGrad(const NoGrad &) = delete;
  NoGrad &operator=(const NoGrad &) = delete;

 private:
  bool before_ = true;
};

// ---- tensors ---------------------------------------------------------------------------------

// Host memory with a tensor's contents, row-major, until its end.
template <class T>
class Mapped {
 public:
  Mapped(loom_buffer buffer, const void *data, std::size_t nbytes)
      : buffer_(buffer), data_(static_cast<const T *>(data), nbytes / sizeof(T)) {}
  Mapped(Mapped &&other) noexcept
      : buffer_(std::exchange(other.buffer_, loom_buffer{0})), data_(other.data_) {}
  Mapped(const Mapped &) = delete;
  Mapped &operator=(const Mapped &) = delete;
  ~Mapped() {
    if (buffer_.bits) (void)(loom_buffer_release)(buffer_);
  }
  const T *data() const { return data_.data(); }
  std::size_t size() const { return data_.size(); }
  const T *begin() const { return data_.begin(); }
  const T *end() const { return data_.end(); }
  const T &operator[](std::size_t i) const { return data_[i]; }

 private:
  loom_buffer buffer_;
  Span<T> data_;
};

// An array whose contents may be pending. A Tensor without a handle is null: false as a bool.
class Tensor {
 public:
  Tensor() = default;
  // takes over what a C function gave
  explicit Tensor(loom_tensor owned) : handle_(owned) {}
  Tensor(const Tensor &other) : handle_(other.handle_) {
    if (handle_.bits) check((loom_tensor_retain)(handle_));
  }
  Tensor(Tensor &&other) noexcept : handle_(std::exchange(other.handle_, loom_tensor{0})) {}
  Tensor &operator=(Tensor other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_.bits) (void)(loom_tensor_release)(handle_);
  }

  explicit operator bool() const noexcept { return handle_.bits != 0; }
  // the handle, still owned by this object; release() gives it away
  loom_tensor handle() const noexcept { return handle_; }
  loom_tensor release() noexcept { return std::exchange(handle_, loom_tensor{0}); }

  DType dtype(Site at = Site::here()) const {
    loom_dtype found;
    at.note();
    check((loom_tensor_dtype)(handle_, &found));
    return static_cast<DType>(found);
  }
  std::vector<std::int64_t> shape(Site at = Site::here()) const {
    std::size_t ndim = 0;
    at.note();
    check((loom_tensor_ndim)(handle_, &ndim));
    std::vector<std::int64_t> found(ndim);
    // a pointer that is not null is asked for also where nothing is written
    std::int64_t none = 0;
    check((loom_tensor_shape)(handle_, ndim ? found.data() : &none, ndim, nullptr));
    return found;
  }
  std::size_t nbytes(Site at = Site::here()) const {
    std::size_t found = 0;
    at.note();
    check((loom_tensor_nbytes)(handle_, &found));
    return found;
  }
  bool is_pending(Site at = Site::here()) const {
    bool found = false;
    at.note();
    check((loom_tensor_is_pending)(handle_, &found));
    return found;
  }
  bool requires_grad(Site at = Site::here()) const {
    bool found = false;
    at.note();
    check((loom_tensor_requires_grad)(handle_, &found));
    return found;
  }

  // The contents, computed if they are pending. T has to be of the tensor's dtype.
  template <class T>
  std::vector<T> read(Site at = Site::here()) const {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> is packed: read into std::uint8_t");
    same_dtype<T>(at);
    std::vector<T> found(nbytes(at) / sizeof(T));
    check((loom_tensor_read)(handle_, found.data(), found.size() * sizeof(T)));
    return found;
  }
  // The one element of a tensor of one.
  template <class T>
  T item(Site at = Site::here()) const {
    T found{};
    same_dtype<T>(at);
    at.note();
    check((loom_tensor_read)(handle_, &found, sizeof found));
    return found;
  }
  // The contents in place, where the processor can see them.
  template <class T>
  Mapped<T> map(Site at = Site::here()) const {
    loom_buffer buffer;
    const void *data;
    std::size_t size;
    same_dtype<T>(at);
    at.note();
    check((loom_tensor_map)(handle_, &buffer, &data, &size));
    return Mapped<T>(buffer, data, size);
  }

  // Makes it a leaf that gradients are collected for, or ends that.
  Tensor &require_grad(bool required = true, Site at = Site::here()) & {
    at.note();
    check((loom_tensor_require_grad)(handle_, required));
    return *this;
  }
  Tensor require_grad(bool required = true, Site at = Site::here()) && {
    require_grad(required, at);  // of the object, which is an lvalue here
    return std::move(*this);
  }
  // Writes value's contents into it, in place.
  void assign(const Tensor &value, Site at = Site::here()) {
    at.note();
    check((loom_tensor_assign)(handle_, value.handle_));
  }
  Tensor detach(Site at = Site::here()) const {
    loom_tensor found;
    at.note();
    check((loom_tensor_detach)(handle_, &found));
    return Tensor(found);
  }
  // Adds its gradients to what the leaves have collected.
  void backward(Site at = Site::here()) const {
    at.note();
    check((loom_backward)(&handle_, 1, nullptr));
  }
  // What backward() collected for this leaf; null if nothing was.
  Tensor gradient(Site at = Site::here()) const {
    loom_tensor found;
    at.note();
    check((loom_tensor_gradient)(handle_, &found));
    return Tensor(found);
  }
  void clear_gradient(Site at = Site::here()) {
    at.note();
    check((loom_tensor_clear_gradient)(handle_));
  }
  // A copy on another device; nullptr for the default one.
  Tensor to_device(const char *device, Site at = Site::here()) const {
    loom_tensor found;
    at.note();
    check((loom_tensor_to_device)(handle_, device, &found));
    return Tensor(found);
  }

 private:
  template <class T>
  void same_dtype(Site at) const {
    const DType own = dtype(at);
    if (own == dtype_of<T>() || (own == DType::bool_ && sizeof(T) == 1)) return;
    at.note();
    const std::string message = std::string("read: the tensor's dtype is ") +
        (loom_dtype_name)(c_dtype(own)) + ", expected elements of that type, given " +
        (loom_dtype_name)(c_dtype(dtype_of<T>())) + "; cast() gives another dtype";
    check((loom_set_error)(LOOM_ERROR_DTYPE, message.c_str()));
  }

  loom_tensor handle_ = {0};
};

// A tensor with a copy of host memory, row-major.
template <class T>
Tensor tensor(Span<T> data, Shape shape, Site at = Site::here()) {
  loom_tensor found;
  at.note();
  check((loom_tensor_from_host)(data.data(), data.size() * sizeof(T), c_dtype(dtype_of<T>()),
                                shape.data(), shape.size(), &found));
  return Tensor(found);
}
template <class T>
Tensor tensor(const std::vector<T> &data, Shape shape, Site at = Site::here()) {
  return tensor(Span<T>(data), shape, at);
}
template <class T>
Tensor tensor(std::initializer_list<T> data, Shape shape, Site at = Site::here()) {
  return tensor(Span<T>(data), shape, at);
}
// A tensor of no dimensions.
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
Tensor tensor(T value, Site at = Site::here()) {
  return tensor(Span<T>(&value, 1), Shape(), at);
}
// Memory that is used in place where it can be; it lives as long as the tensor needs it.
template <class T>
Tensor share(std::vector<T> &&data, Shape shape, Site at = Site::here()) {
  auto *kept = new std::vector<T>(std::move(data));
  loom_tensor found;
  at.note();
  // done() is called also where this fails
  check((loom_tensor_share_host)(
      kept->data(), kept->size() * sizeof(T), c_dtype(dtype_of<T>()), shape.data(), shape.size(),
      [](void *context) { delete static_cast<std::vector<T> *>(context); }, kept, &found));
  return Tensor(found);
}

// ---- operands --------------------------------------------------------------------------------

// A tensor or a number. Numbers are run-time parameters of the program: another one does not
// compile again. Its line is that of the expression that it was made in.
class Operand {
 public:
  // an optional operand that is left out
  Operand(Site at = Site::here()) : operand_(loom_t(loom_null())), site_(at) {}
  Operand(const Tensor &tensor, Site at = Site::here())
      : operand_(loom_t(tensor.handle())), site_(at) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Operand(T value, Site at = Site::here()) : operand_(number(value)), site_(at) {}
  Operand(std::complex<double> value, Site at = Site::here())
      : operand_(loom_scalar_complex(value.real(), value.imag(), LOOM_DTYPE_NONE)), site_(at) {}
  // a number of a dtype of its own, which is else that of the tensors beside it
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Operand(T value, DType dtype, Site at = Site::here()) : operand_(number(value)), site_(at) {
    operand_.dtype = c_dtype(dtype);
  }

  const loom_operand &c() const { return operand_; }
  Site site() const { return site_; }

 private:
  template <class T>
  static loom_operand number(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return loom_scalar_bool(value);
    } else if constexpr (std::is_integral_v<T>) {
      return loom_scalar_int(static_cast<std::int64_t>(value), LOOM_DTYPE_NONE);
    } else {
      return loom_scalar_real(static_cast<double>(value), LOOM_DTYPE_NONE);
    }
  }

  loom_operand operand_;
  Site site_;
};

// Any number of operands: a list in braces, or a vector of tensors.
class Operands : public std::vector<Operand> {
 public:
  Operands(std::initializer_list<Operand> list) : std::vector<Operand>(list) {}
  Operands(const std::vector<Tensor> &list) : std::vector<Operand>(list.begin(), list.end()) {}
};

inline std::vector<loom_tensor> handles_of(Span<Tensor> tensors) {
  std::vector<loom_tensor> found;
  found.reserve(tensors.size());
  for (const Tensor &t : tensors) found.push_back(t.handle());
  return found;
}

inline std::vector<Tensor> owned(const std::vector<loom_tensor> &handles) {
  std::vector<Tensor> found;
  found.reserve(handles.size());
  for (loom_tensor t : handles) found.emplace_back(t);
  return found;
}

namespace detail {

inline loom_attr attribute(const char *name, bool value) { return loom_attr_bool(name, value); }
inline loom_attr attribute(const char *name, std::int64_t value) {
  return loom_attr_int(name, value);
}
inline loom_attr attribute(const char *name, double value) { return loom_attr_float(name, value); }
inline loom_attr attribute(const char *name, const char *value) {
  return loom_attr_str(name, value);
}
inline loom_attr attribute(const char *name, DType value) {
  return loom_attr_dtype(name, c_dtype(value));
}
inline loom_attr attribute(const char *name, const Ints &value) {
  return loom_attr_ints(name, value.given() ? value.data() : nullptr, value.size());
}
inline loom_attr attribute(const char *name, const Span<double> &value) {
  static const double none = 0;
  return loom_attr_floats(name, value.data() ? value.data() : &none, value.size());
}
template <class T>
loom_attr attribute(const char *name, const std::optional<T> &value) {
  return value ? attribute(name, *value) : loom_attr_none(name);
}

// Records an op of N results and a fixed number of operands.
template <std::size_t N>
std::array<Tensor, N> record(const char *op, std::initializer_list<loom_operand> operands,
                             std::initializer_list<loom_attr> attributes, Site at) {
  loom_tensor found[N];
  at.note();
  check((loom_apply)(op, operands.begin(), operands.size(), attributes.begin(), attributes.size(),
                     found, N, nullptr));
  std::array<Tensor, N> results;
  for (std::size_t i = 0; i < N; ++i) results[i] = Tensor(found[i]);
  return results;
}

// Records an op of any number of operands and at most capacity results.
inline std::vector<Tensor> record_many(const char *op, std::initializer_list<loom_operand> first,
                                       const Operands &more,
                                       std::initializer_list<loom_attr> attributes,
                                       std::size_t capacity, Site at) {
  std::vector<loom_operand> all(first);
  for (const Operand &o : more) all.push_back(o.c());
  std::vector<loom_tensor> found(capacity);
  std::size_t count = 0;
  at.note();
  check((loom_apply)(op, all.data(), all.size(), attributes.begin(), attributes.size(),
                     found.data(), found.size(), &count));
  found.resize(count);
  return owned(found);
}

// Gives a text whose length is found first.
template <class Call>
std::string text(Call call) {
  std::size_t needed = 0;
  check(call(nullptr, 0, &needed));
  std::string found(needed, '\0');
  check(call(found.data(), found.size(), &needed));
  found.resize(needed ? needed - 1 : 0);
  return found;
}

// A function of tensors that C calls; what it throws waits until the call has returned.
class Callback {
 public:
  using Function = std::function<std::vector<Tensor>(Span<Tensor>)>;

  explicit Callback(Function function) : function_(std::move(function)) {}

  static loom_status call(Callback &self, const loom_tensor *inputs, std::size_t input_count,
                          loom_tensor *outputs, std::size_t output_count) noexcept {
    try {
      std::vector<Tensor> given;
      for (std::size_t i = 0; i < input_count; ++i) {
        // the inputs stay the library's
        check((loom_tensor_retain)(inputs[i]));
        given.emplace_back(inputs[i]);
      }
      std::vector<Tensor> results = self.function_(given);
      if (results.size() != output_count) {
        const std::string message = "the function gave " + std::to_string(results.size()) +
            " tensors, expected " + std::to_string(output_count);
        return (loom_set_error)(LOOM_ERROR_ARGUMENT, message.c_str());
      }
      for (std::size_t i = 0; i < output_count; ++i) {
        outputs[i] = results[i].handle();
        bool own = false;
        for (std::size_t k = 0; k < input_count; ++k)
          own = own || inputs[k].bits == outputs[i].bits;
        // the library takes one owner of each; of its own inputs it has that already
        if (!own) results[i].release();
      }
      return LOOM_OK;
    } catch (const Error &error) {
      self.thrown_ = std::current_exception();
      return error.status();
    } catch (const std::exception &error) {
      self.thrown_ = std::current_exception();
      return (loom_set_error)(LOOM_ERROR, error.what());
    } catch (...) {
      self.thrown_ = std::current_exception();
      return (loom_set_error)(LOOM_ERROR, "the function threw what is no std::exception");
    }
  }
  void again() {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  Function function_;
  std::exception_ptr thrown_;
};

// Two functions that go through one context.
struct Two {
  Callback first, second;

  static loom_status call_first(const loom_tensor *inputs, std::size_t input_count,
                                loom_tensor *outputs, std::size_t output_count, void *context) {
    return Callback::call(static_cast<Two *>(context)->first, inputs, input_count, outputs,
                          output_count);
  }
  static loom_status call_second(const loom_tensor *inputs, std::size_t input_count,
                                 loom_tensor *outputs, std::size_t output_count, void *context) {
    return Callback::call(static_cast<Two *>(context)->second, inputs, input_count, outputs,
                          output_count);
  }
  void check_again(Status status) {
    if (status == LOOM_OK) return;
    first.again();
    second.again();
    check(status);
  }
};

}  // namespace detail

}  // namespace lazyloom

#include "lazyloom_ops.hpp"
#include "lazyloom_programs.hpp"
#include "lazyloom_transforms.hpp"

#endif  // LAZYLOOM_HPP
