// SPDX-License-Identifier: Apache-2.0
//
// Scalars as kernels take them: the types that a parameter can have, and a number as the bits that
// are passed. A number given for a float type is that number, rounded to the nearest (ties to
// even) in one step; for other types it is an integer that fits.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::interop {

/// A type that a parameter can have.
struct ScalarType {
  enum class Kind : std::uint8_t { Unsigned, Signed, Float };
  std::string_view name;  // "f32"; bf16 and tf32, of which PTX has no parameters, are bits there
  Kind kind = Kind::Unsigned;
  std::uint32_t size = 4;  // bytes
  // Of a float: significant bits, and the exponents, as of std::frexp, of the least normal number
  // and of the greatest.
  int significant = 0;
  int least = 0;
  int most = 0;
};

/// Those that a parameter can have, and by name; null where there is none of that name.
std::span<const ScalarType> scalar_types();
const ScalarType* find_scalar_type(std::string_view name);

/// A number as a caller has it.
class Number {
 public:
  Number() = default;
  template <std::floating_point T>
  Number(T value) : kind_(Kind::Float), real_(value) {}  // NOLINT: a number is written as one
  template <std::signed_integral T>
  Number(T value)
      : kind_(Kind::Signed), bits_(static_cast<std::uint64_t>(std::int64_t{value})) {}  // NOLINT
  template <std::unsigned_integral T>
  Number(T value) : kind_(Kind::Unsigned), bits_(value) {}  // NOLINT

  /// The bits of a parameter, whatever its type, from who has worked them out.
  static Number of_bits(std::uint64_t bits);

  /// The low bytes of what a parameter of that type is passed, or nothing where it cannot hold the
  /// number: a fraction or a number out of range for an integer, one that a float type would round
  /// to infinity.
  std::optional<std::uint64_t> bits(const ScalarType& type) const;
  /// As messages show it.
  std::string text() const;

 private:
  enum class Kind : std::uint8_t { Float, Signed, Unsigned, Bits };
  Kind kind_ = Kind::Unsigned;
  double real_ = 0;
  std::uint64_t bits_ = 0;
};

/// The number that a text is: "12", "-1", "0.5", "-inf".
std::optional<Number> read_number_text(std::string_view text);

/// A parameter whose value each launch brings.
struct ScalarParameter {
  std::string name;
  const ScalarType* type = nullptr;
  std::optional<std::uint64_t> value = {};  // its bits where a launch brings none
  bool operator==(const ScalarParameter&) const = default;
};

/// The bits to launch `kernel` with, or ScalarValue.
diag::Result<std::uint64_t> argument_bits(const ScalarParameter& parameter, const Number& number,
                                          std::string_view kernel);

}  // namespace pyptx::interop
