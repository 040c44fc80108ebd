// SPDX-License-Identifier: Apache-2.0
//
// Numbers that follow from sizes (see the header).
#include "pyptx/interop/size_expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "pyptx/support/concat.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using support::concat;

/// As deep as an expression nests, and as long as one is: more than any grid needs, and no text
/// that somebody made up can exhaust the stack.
constexpr std::size_t kMostDepth = 128;
constexpr std::size_t kMostNodes = 1 << 14;

constexpr std::array<std::string_view, 12> kWords = {"",  "",   "+",  "-", "*",  "//",
                                                     "%", "==", "!=", "<", "<=", "?"};

std::optional<std::int64_t> number_of(std::string_view word) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || stop != word.data() + word.size()) return std::nullopt;
  return concat(value) == word ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> floor_divided(std::int64_t a, std::int64_t b) {
  if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) return std::nullopt;
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

}  // namespace

SizeExpression::SizeExpression(Number number) : nodes_{{.number = number.value, .end = 1}} {}

SizeExpression SizeExpression::of(std::string_view dimension) {
  SizeExpression out;
  out.nodes_.push_back(
      {.what = Operator::Dimension, .dimension = std::string(dimension), .end = 1});
  return out;
}

SizeExpression SizeExpression::combined(Operator what, const SizeExpression& a,
                                        const SizeExpression& b) {
  SizeExpression out;
  out.nodes_.push_back({.what = what, .end = 1 + a.nodes_.size() + b.nodes_.size()});
  for (const SizeExpression* operand : {&a, &b}) {
    const std::size_t first = out.nodes_.size();
    for (Node node : operand->nodes_) {
      node.end += first;
      out.nodes_.push_back(std::move(node));
    }
  }
  return out;
}

SizeExpression operator+(const SizeExpression& a, const SizeExpression& b) {
  return SizeExpression::combined(SizeExpression::Operator::Add, a, b);
}
SizeExpression operator-(const SizeExpression& a, const SizeExpression& b) {
  return SizeExpression::combined(SizeExpression::Operator::Subtract, a, b);
}
SizeExpression operator*(const SizeExpression& a, const SizeExpression& b) {
  return SizeExpression::combined(SizeExpression::Operator::Multiply, a, b);
}
SizeExpression operator/(const SizeExpression& a, const SizeExpression& b) {
  return SizeExpression::combined(SizeExpression::Operator::Divide, a, b);
}
SizeExpression operator%(const SizeExpression& a, const SizeExpression& b) {
  return SizeExpression::combined(SizeExpression::Operator::Remainder, a, b);
}

std::size_t SizeExpression::operands_of(Operator what) {
  if (what == Operator::Constant || what == Operator::Dimension) return 0;
  return what == Operator::Choose ? 3 : 2;
}

diag::Result<SizeExpression> SizeExpression::from_text(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return diag::fail(Kind::SavedKernelBytes,
                      {concat("'", text.substr(0, 80), "' is no expression of sizes: ", why)});
  };
  SizeExpression out;
  std::vector<std::pair<std::size_t, std::size_t>> open;  // a node, and how many it still wants
  std::string_view rest = text;
  bool is_done = false;
  while (!is_done) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, space);
    if (word.empty()) return bad("an operand is missing");
    Node node;
    const auto found = std::ranges::find(kWords, word);
    if (found != kWords.end()) {
      node.what = static_cast<Operator>(found - kWords.begin());
    } else if (const auto number = number_of(word)) {
      node.number = *number;
    } else {
      node.what = Operator::Dimension;
      node.dimension = word;
    }
    if (operands_of(node.what) != 0) {
      open.emplace_back(out.nodes_.size(), operands_of(node.what));
    }
    out.nodes_.push_back(std::move(node));
    if (open.size() > kMostDepth || out.nodes_.size() > kMostNodes) return bad("it is too long");
    if (operands_of(out.nodes_.back().what) == 0) {
      // Closes itself, and all of whom it is the last operand.
      out.nodes_.back().end = out.nodes_.size();
      while (!open.empty() && --open.back().second == 0) {
        out.nodes_[open.back().first].end = out.nodes_.size();
        open.pop_back();
      }
      is_done = open.empty();
    }
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  if (!rest.empty() || text.ends_with(' ')) return bad("it goes on after its end");
  return out;
}

std::string SizeExpression::to_text() const {
  std::string out;
  for (const Node& node : nodes_) {
    if (!out.empty()) out += ' ';
    if (node.what == Operator::Constant) {
      out += concat(node.number);
    } else if (node.what == Operator::Dimension) {
      out += node.dimension;
    } else {
      out += kWords[static_cast<std::size_t>(node.what)];
    }
  }
  return out;
}

SizeExpression SizeExpression::with(const Sizes& sizes) const {
  SizeExpression out = *this;
  for (Node& node : out.nodes_) {
    if (node.what != Operator::Dimension) continue;
    if (const auto size = sizes.find(node.dimension)) {
      node = {.what = Operator::Constant, .number = *size, .end = node.end};
    }
  }
  return out;
}

std::vector<std::string> SizeExpression::dimensions() const {
  std::vector<std::string> out;
  for (const Node& node : nodes_) {
    if (node.what == Operator::Dimension && std::ranges::count(out, node.dimension) == 0) {
      out.push_back(node.dimension);
    }
  }
  return out;
}

diag::Result<std::int64_t> SizeExpression::value(const Sizes& sizes) const {
  return value_at(0, sizes);
}

diag::Result<std::int64_t> SizeExpression::value_at(std::size_t index, const Sizes& sizes) const {
  const Node& node = nodes_[index];
  if (node.what == Operator::Constant) return node.number;
  if (node.what == Operator::Dimension) {
    if (const auto size = sizes.find(node.dimension)) return *size;
    return diag::fail(Kind::UnknownSize, {concat("'", to_text(), "'"), node.dimension, ""});
  }
  auto first = value_at(index + 1, sizes);
  if (!first) return first;
  const std::size_t second_at = nodes_[index + 1].end;
  if (node.what == Operator::Choose) {
    return value_at(*first != 0 ? second_at : nodes_[second_at].end, sizes);
  }
  auto second = value_at(second_at, sizes);
  if (!second) return second;
  const bool divides = node.what == Operator::Divide || node.what == Operator::Remainder;
  if (const auto result = applied(node.what, *first, *second)) return *result;
  return diag::fail(
      Kind::SizeExpression,
      {to_text(), divides && *second == 0 ? "divides by zero" : "is more than 64 bits hold"});
}

std::optional<std::int64_t> SizeExpression::applied(Operator what, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool is_held = true;
  switch (what) {
    case Operator::Add:
      is_held = !__builtin_add_overflow(a, b, &result);
      break;
    case Operator::Subtract:
      is_held = !__builtin_sub_overflow(a, b, &result);
      break;
    case Operator::Multiply:
      is_held = !__builtin_mul_overflow(a, b, &result);
      break;
    case Operator::Divide:
      return floor_divided(a, b);
    case Operator::Remainder:
      if (b == 0) return std::nullopt;
      result = b == -1 ? 0 : a - *floor_divided(a, b) * b;
      break;
    case Operator::Equal:
      return a == b ? 1 : 0;
    case Operator::Unequal:
      return a != b ? 1 : 0;
    case Operator::Less:
      return a < b ? 1 : 0;
    default:
      return a <= b ? 1 : 0;
  }
  return is_held ? std::optional(result) : std::nullopt;
}

}  // namespace pyptx::interop
