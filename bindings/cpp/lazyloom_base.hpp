// lazyloom_base.hpp: the user's line, errors, lists and dtypes; part of lazyloom.hpp, which
// includes it.
#ifndef LAZYLOOM_BASE_HPP
#define LAZYLOOM_BASE_HPP

#ifndef LAZYLOOM_H
// members of classes may be called loom_add, which the macros of the C header would replace
#define LOOM_NO_SOURCE_LOCATIONS
#endif
#include "lazyloom.h"

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lazyloom {

using Status = loom_status;

// ---- the user's line -------------------------------------------------------------------------

// A place in the user's source. Where it is the default of a last argument, it is the caller's.
struct Site {
  const char *file;
  int line;

  static constexpr Site here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  void note() const { (loom_set_source_location)(file, line); }
};

// ---- errors ----------------------------------------------------------------------------------

// A call that failed. what() is the message, with the line before it where it is known.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string &message, std::string op, std::string site,
        std::string argument, std::int64_t index)
      : std::runtime_error((site.empty() ? "" : site + ": ") + message),
        status_(status),
        op_(std::move(op)),
        site_(std::move(site)),
        argument_(std::move(argument)),
        index_(index) {}

  Status status() const noexcept { return status_; }
  const char *status_name() const noexcept { return (loom_status_name)(status_); }
  // "" if it is about none
  const std::string &op() const noexcept { return op_; }
  // the user's "file:line", "" if unknown
  const std::string &site() const noexcept { return site_; }
  // the parameter, operand or attribute that it is about, "" if not one
  const std::string &argument() const noexcept { return argument_; }
  // which operand, or entry of a list, it is; -1 if neither
  std::int64_t index() const noexcept { return index_; }

 private:
  Status status_;
  std::string op_, site_, argument_;
  std::int64_t index_;
};

// Throws what this thread's last failure was, unless status is LOOM_OK.
inline void check(Status status) {
  if (status == LOOM_OK) return;
  loom_error_details details = {};
  details.size = sizeof details;
  if ((loom_error_describe)(nullptr, &details) != LOOM_OK)
    throw Error(status, (loom_error_message)(), "", "", "", -1);
  throw Error(status, details.message, details.op, details.site, details.argument, details.index);
}

// ---- lists -----------------------------------------------------------------------------------

// Values that lie one after the other, for the duration of a call: a list in braces, a vector, an
// array, or a pointer and a count.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(const T *data, std::size_t size) : data_(data), size_(size) {}
  constexpr Span(std::initializer_list<T> list) : size_(list.size()) { data_ = list.begin(); }
  template <class Container, class = decltype(std::declval<const Container &>().data()),
            class = std::enable_if_t<std::is_convertible_v<
                decltype(std::declval<const Container &>().data()), const T *>>>
  constexpr Span(const Container &list) : data_(list.data()), size_(list.size()) {}

  constexpr const T *data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr const T *begin() const { return data_; }
  constexpr const T *end() const { return data_ + size_; }
  constexpr const T &operator[](std::size_t i) const { return data_[i]; }

 private:
  const T *data_ = nullptr;
  std::size_t size_ = 0;
};

// Axes, extents and other integers: a list, one number, or none at all (std::nullopt).
class Ints {
 public:
  Ints(std::nullopt_t) : given_(false) {}
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  Ints(T one) : one_(static_cast<std::int64_t>(one)), single_(true) {}
  Ints(std::initializer_list<std::int64_t> list) : list_(list) {}
  Ints(const std::vector<std::int64_t> &list) : list_(list) {}
  Ints(Span<std::int64_t> list) : list_(list) {}

  bool given() const { return given_; }
  const std::int64_t *data() const { return single_ || !list_.data() ? &one_ : list_.data(); }
  std::size_t size() const { return single_ ? 1 : list_.size(); }

 private:
  Span<std::int64_t> list_;
  std::int64_t one_ = 0;
  bool single_ = false, given_ = true;
};

using Shape = Span<std::int64_t>;

// ---- dtypes ----------------------------------------------------------------------------------

enum class DType : int {
  none = LOOM_DTYPE_NONE,
  bool_ = LOOM_BOOL,
  int8 = LOOM_INT8,
  int16 = LOOM_INT16,
  int32 = LOOM_INT32,
  int64 = LOOM_INT64,
  uint8 = LOOM_UINT8,
  uint16 = LOOM_UINT16,
  uint32 = LOOM_UINT32,
  uint64 = LOOM_UINT64,
  float16 = LOOM_FLOAT16,
  bfloat16 = LOOM_BFLOAT16,
  float32 = LOOM_FLOAT32,
  float64 = LOOM_FLOAT64,
  complex64 = LOOM_COMPLEX64,
  complex128 = LOOM_COMPLEX128
};

namespace detail {

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Divided by a power of two, rounded to the nearest, to even between two.
inline std::uint32_t shifted(std::uint32_t bits, int by) {
  return (bits + (1u << (by - 1)) - 1 + (bits >> by & 1)) >> by;
}

}  // namespace detail

inline loom_dtype c_dtype(DType dtype) { return static_cast<loom_dtype>(dtype); }

// The bits of a float16 or a bfloat16. A float becomes the nearest one, the even one between two.
struct float16_t {
  std::uint16_t bits = 0;

  float16_t() = default;
  explicit float16_t(float value) {
    const std::uint32_t all = detail::bits_of(value), sign = all >> 16 & 0x8000u;
    const std::uint32_t size = all & 0x7fffffffu;
    std::uint32_t found = detail::shifted(size - 0x38000000u, 13);
    // below the smallest normal number the unit is 2 to the power of -24
    if (size < 0x38800000u)
      found = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(std::fabs(value), 24)));
    if (size >= 0x47800000u) found = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    bits = static_cast<std::uint16_t>(sign | found);
  }
  explicit operator float() const {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float size = exponent ? std::ldexp(1024.0f + static_cast<float>(fraction), exponent - 25)
                          : std::ldexp(static_cast<float>(fraction), -24);
    if (exponent == 31)
      size = fraction ? std::numeric_limits<float>::quiet_NaN()
                      : std::numeric_limits<float>::infinity();
    return bits & 0x8000 ? -size : size;
  }
};

struct bfloat16_t {
  std::uint16_t bits = 0;

  bfloat16_t() = default;
  explicit bfloat16_t(float value) {
    const std::uint32_t all = detail::bits_of(value);
    const bool nan = (all & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>(nan ? (all >> 16 & 0x8000u) | 0x7fc0u
                                          : detail::shifted(all, 16));
  }
  explicit operator float() const {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

// The dtype of elements of a C++ type.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::bool_;
  } else if constexpr (std::is_same_v<T, float16_t>) {
    return DType::float16;
  } else if constexpr (std::is_same_v<T, bfloat16_t>) {
    return DType::bfloat16;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return DType::complex64;
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return DType::complex128;
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "there is no dtype of that size");
    return sizeof(T) == 4 ? DType::float32 : DType::float64;
  } else {
    static_assert(std::is_integral_v<T>, "no dtype has elements of that type");
    constexpr DType with_sign[] = {DType::int8, DType::int16, DType::int32, DType::int64};
    constexpr DType without[] = {DType::uint8, DType::uint16, DType::uint32, DType::uint64};
    constexpr int at = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? with_sign[at] : without[at];
  }
}

}  // namespace lazyloom

#endif  // LAZYLOOM_BASE_HPP
