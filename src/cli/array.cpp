// SPDX-License-Identifier: Apache-2.0
//
// Element types, values and the spelling of arguments. See array.h.
#include "array.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "element_type.h"

namespace pyptx::cli {
namespace {

constexpr ElementType kTypes[] = {
    {"f32", "<f4", 4, 'f'}, {"f64", "<f8", 8, 'f'}, {"f16", "<f2", 2, 'f'}, {"bf16", "<u2", 2, 'h'},
    {"u8", "|u1", 1, 'u'},  {"u16", "<u2", 2, 'u'}, {"u32", "<u4", 4, 'u'}, {"u64", "<u8", 8, 'u'},
    {"s8", "|i1", 1, 's'},  {"s16", "<i2", 2, 's'}, {"s32", "<i4", 4, 's'}, {"s64", "<i8", 8, 's'},
};

/// The bits of the binary format with `mantissa` and `exponent` bits, rounded to nearest even.
std::uint64_t narrow(double value, int mantissa, int exponent) {
  const int bias = (1 << (exponent - 1)) - 1;
  const std::uint64_t sign = std::signbit(value) ? 1ULL << (mantissa + exponent) : 0;
  const std::uint64_t infinity = ((1ULL << exponent) - 1) << mantissa;
  if (std::isnan(value)) return infinity | 1ULL << (mantissa - 1);
  value = std::fabs(value);
  if (std::isinf(value)) return sign | infinity;
  int power = 0;
  std::frexp(value, &power);
  power = std::max(power - 1, 1 - bias);  // subnormals share the lowest exponent
  const double steps = std::nearbyint(std::ldexp(value, mantissa - power));
  if (steps == 0) return sign;
  // A carry out of the mantissa moves into the exponent by itself.
  const std::uint64_t base = static_cast<std::uint64_t>(power + bias - 1) << mantissa;
  const std::uint64_t bits = base + static_cast<std::uint64_t>(steps);
  return sign | std::min(bits, infinity);
}

double widen(std::uint64_t bits, int mantissa, int exponent) {
  const int bias = (1 << (exponent - 1)) - 1;
  const int power = static_cast<int>(bits >> mantissa) & ((1 << exponent) - 1);
  const auto fraction = static_cast<double>(bits & ((1ULL << mantissa) - 1));
  double value = std::ldexp(fraction, 1 - bias - mantissa);
  if (power != 0) value = std::ldexp(std::ldexp(1.0, mantissa) + fraction, power - bias - mantissa);
  if (power == (1 << exponent) - 1) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits >> (mantissa + exponent) & 1U) != 0 ? -value : value;
}

std::uint64_t float_bits(const ElementType& type, double value) {
  if (type.kind == 'h') return narrow(value, 7, 8);
  if (type.bytes == 2) return narrow(value, 10, 5);
  if (type.bytes == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

bool is_float(const ElementType& type) { return type.kind == 'f' || type.kind == 'h'; }

void append(Array& array, std::uint64_t bits) {
  const std::size_t at = array.bytes.size();
  array.bytes.resize(at + array.type->bytes);
  std::memcpy(array.bytes.data() + at, &bits, array.type->bytes);
}

/// SplitMix64: the same everywhere.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

template <typename T>
bool read_number(std::string_view text, T& value, int base = 10) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  if constexpr (std::is_floating_point_v<T>) {
    const auto [stop, error] = std::from_chars(begin, end, value);
    return error == std::errc() && stop == end && !text.empty();
  } else {
    const auto [stop, error] = std::from_chars(begin, end, value, base);
    return error == std::errc() && stop == end && !text.empty();
  }
}

bool is_in_range(const ElementType& type, std::uint64_t magnitude, bool is_negative) {
  const std::uint32_t bits = 8 * type.bytes;
  if (type.kind == 'u') return !is_negative && (bits == 64 || magnitude >> bits == 0);
  const std::uint64_t most = (1ULL << (bits - 1)) - (is_negative ? 0 : 1);
  return magnitude <= most;
}

bool read_value(std::string_view text, Array& array, std::string& problem) {
  const ElementType& type = *array.type;
  if (is_float(type)) {
    double value = 0;
    if (!read_number(text, value)) {
      problem = "'" + std::string(text) + "' is not a number";
      return false;
    }
    append(array, float_bits(type, value));
    return true;
  }
  const bool is_negative = text.starts_with('-');
  std::string_view digits = text.substr(is_negative ? 1 : 0);
  const bool is_hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (is_hex) digits.remove_prefix(2);
  std::uint64_t magnitude = 0;
  if (!read_number(digits, magnitude, is_hex ? 16 : 10)) {
    problem = "'" + std::string(text) + "' is not an integer";
    return false;
  }
  if (!is_in_range(type, magnitude, is_negative)) {
    problem = std::string(text) + " does not fit " + std::string(type.name);
    return false;
  }
  append(array, is_negative ? ~magnitude + 1 : magnitude);
  return true;
}

bool fill(std::string_view how, std::uint64_t count, Array& array, std::string& problem) {
  const ElementType& type = *array.type;
  std::uint64_t state = 0;
  const bool is_random = how == "random" || how.starts_with("random:");
  if (how.starts_with("random:") && !read_number(how.substr(7), state)) {
    problem = "the seed '" + std::string(how.substr(7)) + "' is not an integer";
    return false;
  }
  if (!is_random && how != "zeros" && how != "ones" && how != "arange") {
    problem =
        "a buffer is filled with zeros, ones, arange, random, random:SEED or @FILE.npy, not '" +
        std::string(how) + "'";
    return false;
  }
  array.bytes.reserve(count * type.bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t value = how == "ones" ? 1 : how == "arange" ? i : 0;
    double real = static_cast<double>(value);
    if (is_random) {
      const std::uint64_t bits = next_random(state);
      value = (bits >> 32) * 100 >> 32;
      real = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
    }
    append(array, is_float(type) ? float_bits(type, real) : value);
  }
  return true;
}

bool read_shape(std::string_view text, std::vector<std::uint64_t>& shape) {
  constexpr std::uint64_t kMost = 1ULL << 36;
  std::uint64_t count = 1;
  while (true) {
    const std::size_t cross = text.find('x');
    std::uint64_t extent = 0;
    if (!read_number(text.substr(0, cross), extent) || extent == 0 || extent > kMost / count) {
      return false;
    }
    count *= extent;
    shape.push_back(extent);
    if (cross == std::string_view::npos) return true;
    text.remove_prefix(cross + 1);
  }
}

std::uint64_t product(const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

/// `f32[64]:@x.npy`: the file's bytes, seen as the type says.
bool load(const std::string& path, Array& array, std::string& problem) {
  auto file = read_npy(path, problem);
  if (!file) return false;
  if (file->type->bytes != array.type->bytes || file->count() != product(array.shape)) {
    problem = path + " holds " + file->describe() + ", not " + array.describe();
    return false;
  }
  array.bytes = std::move(file->bytes);
  return true;
}

}  // namespace

const ElementType* element_by_name(std::string_view name) {
  if (name.starts_with('b') && name != "bf16") {  // untyped bits are unsigned numbers here
    return element_by_name("u" + std::string(name.substr(1)));
  }
  for (const ElementType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

const ElementType* element_by_npy(std::string_view npy) {
  if (npy == "|b1") npy = "|u1";
  for (const ElementType& type : kTypes) {
    if (type.npy == npy && type.kind != 'h') return &type;
  }
  return nullptr;
}

std::string Array::text(std::uint64_t i) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * type->bytes, type->bytes);
  char out[40];
  if (is_float(*type)) {
    const double value = type->kind == 'h'  ? widen(bits, 7, 8)
                         : type->bytes == 2 ? widen(bits, 10, 5)
                         : type->bytes == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                            : std::bit_cast<double>(bits);
    std::snprintf(out, sizeof out, type->bytes == 8 ? "%.17g" : "%.9g", value);
    return out;
  }
  if (type->kind == 'u') return std::to_string(bits);
  const std::uint32_t unused = 64 - 8 * type->bytes;
  return std::to_string(static_cast<std::int64_t>(bits << unused) >> unused);
}

std::string Array::describe() const {
  std::string out(type->name);
  out += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) out += 'x';
    out += std::to_string(shape[i]);
  }
  return out + ']';
}

std::optional<KernelArgument> read_argument(std::string_view text, std::string& problem) {
  KernelArgument argument;
  if (text.starts_with('@')) {
    auto array = read_npy(std::string(text.substr(1)), problem);
    if (!array) return std::nullopt;
    argument.is_buffer = true;
    argument.array = std::move(*array);
    return argument;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    problem = "an argument is TYPE:VALUE, TYPE[SHAPE]:FILL or @FILE.npy";
    return std::nullopt;
  }
  std::string_view type = text.substr(0, colon);
  const std::string_view value = text.substr(colon + 1);
  const std::size_t bracket = type.find('[');
  if (bracket != std::string_view::npos) {
    argument.is_buffer = true;
    if (!type.ends_with(']') ||
        !read_shape(type.substr(bracket + 1, type.size() - bracket - 2), argument.array.shape)) {
      problem = "'" + std::string(type) + "' is not TYPE[N] or TYPE[NxM]";
      return std::nullopt;
    }
    type = type.substr(0, bracket);
  }
  argument.array.type = element_by_name(type);
  if (argument.array.type == nullptr) {
    problem =
        "there is no type '" + std::string(type) + "': f16 bf16 f32 f64, u, s and b of 8 to 64";
    return std::nullopt;
  }
  const bool is_good = !argument.is_buffer ? read_value(value, argument.array, problem)
                       : value.starts_with('@')
                           ? load(std::string(value.substr(1)), argument.array, problem)
                           : fill(value, product(argument.array.shape), argument.array, problem);
  if (!is_good) return std::nullopt;
  return argument;
}

}  // namespace pyptx::cli
