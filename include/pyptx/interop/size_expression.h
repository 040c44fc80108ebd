// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers that follow from the sizes of a call, as a grid does from the number of rows: plain
// data with a text form, so that a kernel for any size can be carried to where its author's
// function is not. Numbers divide as in Python: towards minus infinity.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/interop/sizes.h"

namespace pyptx::interop {

/// A whole number worked out of sizes: `(n + 127) / 128`.
class SizeExpression {
 public:
  SizeExpression(std::integral auto number)  // NOLINT: a number is written as one
      : SizeExpression(Number{static_cast<std::int64_t>(number)}) {}
  /// The size of a named dimension.
  static SizeExpression of(std::string_view dimension);

  /// Operators before operands, in words: "// + M 127 128" is (M + 127) // 128. The operators are
  /// + - * // %, the comparisons == != < <=, which give 0 or 1, and ?, which gives the second
  /// operand where the first is not 0, else the third. SavedKernelBytes.
  static diag::Result<SizeExpression> from_text(std::string_view text);
  std::string to_text() const;

  /// The number for these sizes: UnknownSize, SizeExpression for a division by zero and for what 64
  /// bits do not hold. The branch of a ? that is not taken is not worked out.
  diag::Result<std::int64_t> value(const Sizes& sizes) const;

  /// The same with these sizes put in for their names.
  SizeExpression with(const Sizes& sizes) const;
  /// The dimensions that it names, each once.
  std::vector<std::string> dimensions() const;
  bool operator==(const SizeExpression&) const = default;

  friend SizeExpression operator+(const SizeExpression& a, const SizeExpression& b);
  friend SizeExpression operator-(const SizeExpression& a, const SizeExpression& b);
  friend SizeExpression operator*(const SizeExpression& a, const SizeExpression& b);
  friend SizeExpression operator/(const SizeExpression& a, const SizeExpression& b);
  friend SizeExpression operator%(const SizeExpression& a, const SizeExpression& b);

 private:
  struct Number {
    std::int64_t value;
  };
  enum class Operator : std::uint8_t {
    Constant,
    Dimension,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Choose,
  };
  struct Node {
    Operator what = Operator::Constant;
    std::int64_t number = 0;
    std::string dimension = {};
    std::size_t end = 0;  // behind its last operand
    bool operator==(const Node&) const = default;
  };

  SizeExpression() = default;
  explicit SizeExpression(Number number);
  static SizeExpression combined(Operator what, const SizeExpression& a, const SizeExpression& b);
  static std::size_t operands_of(Operator what);
  /// Nothing where it has no value that 64 bits hold.
  static std::optional<std::int64_t> applied(Operator what, std::int64_t a, std::int64_t b);
  diag::Result<std::int64_t> value_at(std::size_t node, const Sizes& sizes) const;

  std::vector<Node> nodes_;  // a tree, each node in front of its operands
};

}  // namespace pyptx::interop
