// SPDX-License-Identifier: Apache-2.0
//
// Element types that have a name of the author's: `Tile{.dtype = "T"}` takes any, and every tile of
// that name the same. Such a name begins with a capital letter, which no type of PTX does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/interop/sizes.h"

namespace pyptx::interop {

/// Whether what stands for an element type is a name whose type each call gives.
bool is_type_name(std::string_view dtype);

/// The types of such names, as in pyptx.types, in the order in which they became known.
class Types {
 public:
  using Row = std::pair<std::string, std::string>;

  Types() = default;
  Types(std::initializer_list<Row> rows) : rows_(rows) {}

  std::optional<std::string_view> find(std::string_view name) const;
  /// For a name that has no type yet.
  void add(std::string_view name, std::string_view type) { rows_.emplace_back(name, type); }
  /// The type itself, or that of the name; nothing for a name that has none yet.
  std::optional<std::string_view> resolve(std::string_view dtype) const;

  std::size_t count() const { return rows_.size(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

 private:
  std::vector<Row> rows_;
};

/// What arrays say of the names in a signature.
struct Bound {
  Sizes sizes;
  Types types = {};
};

}  // namespace pyptx::interop
