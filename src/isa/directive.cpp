// SPDX-License-Identifier: Apache-2.0
//
// Access to the generated directives, pragmas and target options (isa/common/directives.toml).
#include "pyptx/isa/directive.h"

#include <algorithm>
#include <vector>

#include "tables.h"

namespace pyptx::isa {
namespace {

/// The rows of a generated array with their availability looked up, made on first use.
template <typename Info, typename Row, typename Make>
std::vector<Info> expand(std::span<const Row> rows, Make make) {
  std::vector<Info> all;
  all.reserve(rows.size());
  for (const Row& row : rows) all.push_back(make(row));
  return all;
}

template <typename Info>
const Info* find_named(std::span<const Info> all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Info::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::span<const DirectiveInfo> all_directives() {
  static const auto all =
      expand<DirectiveInfo>(tables::kDirectives, [](const tables::DirectiveRow& row) {
        return DirectiveInfo{row.name,
                             row.manual,
                             row.places,
                             row.arguments,
                             row.minimum,
                             row.maximum,
                             tables::availability(row.needs)};
      });
  return all;
}

const DirectiveInfo* find_directive(std::string_view name, DirectivePlace place) {
  for (const DirectiveInfo& info : all_directives()) {
    if (info.name == name && has(info.places, place)) return &info;
  }
  return nullptr;
}

bool is_directive(std::string_view name) { return find_named(all_directives(), name) != nullptr; }

std::span<const PragmaInfo> all_pragmas() {
  static const auto all = expand<PragmaInfo>(tables::kPragmas, [](const tables::PragmaRow& row) {
    return PragmaInfo{row.name,        row.manual,     row.places,
                      row.takes_value, row.is_checked, tables::availability(row.needs)};
  });
  return all;
}

const PragmaInfo* find_pragma(std::string_view first_word) {
  return find_named(all_pragmas(), first_word);
}

std::span<const TargetOptionInfo> all_target_options() {
  static const auto all =
      expand<TargetOptionInfo>(tables::kTargetOptions, [](const tables::TargetOptionRow& row) {
        return TargetOptionInfo{row.name, row.group, tables::availability(row.needs)};
      });
  return all;
}

const TargetOptionInfo* find_target_option(std::string_view name) {
  return find_named(all_target_options(), name);
}

}  // namespace pyptx::isa
