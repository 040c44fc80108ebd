// SPDX-License-Identifier: Apache-2.0
//
// The sizes of tensors, and the values of named dimensions. Most are numbers. Those of a tensor
// whose graph is traced for any length are not yet: numbers below zero, which no size is, stand for
// them, and whoever has the sizes compares and shows them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pyptx::interop {

/// Numbers of elements, outermost dimension first.
using Shape = std::vector<std::int64_t>;

/// The values of named dimensions, in the order in which they became known.
class Sizes {
 public:
  using Row = std::pair<std::string, std::int64_t>;

  Sizes() = default;
  Sizes(std::initializer_list<Row> rows) : rows_(rows) {}

  std::optional<std::int64_t> find(std::string_view name) const;
  /// For a name that has no value yet.
  void add(std::string_view name, std::int64_t size) { rows_.emplace_back(name, size); }

  std::size_t count() const { return rows_.size(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

 private:
  std::vector<Row> rows_;
};

/// How sizes are compared and shown; as it stands, those that are numbers.
class SizeRules {
 public:
  SizeRules() = default;
  SizeRules(const SizeRules&) = delete;
  SizeRules& operator=(const SizeRules&) = delete;
  virtual ~SizeRules() = default;
  virtual bool same(std::int64_t a, std::int64_t b) const { return a == b; }
  virtual std::string text(std::int64_t size) const { return std::to_string(size); }

  /// As a tuple: "(8, 64)", "(8,)".
  std::string text(std::span<const std::int64_t> shape) const;
};

/// The rules of numbers.
const SizeRules& plain_sizes();

/// "(a, b)", "(a,)": how messages show a list of parts.
std::string tuple_text(std::span<const std::string> parts);

}  // namespace pyptx::interop
