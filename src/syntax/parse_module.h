// SPDX-License-Identifier: Apache-2.0
//
// The outermost level of a text. PTX ISA, section 11.1 (PTX Module Directives).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "parse_context.h"
#include "parse_function.h"

namespace pyptx::syntax {

class ModuleParser {
 public:
  explicit ModuleParser(ParseContext& context) : context_(context), cursor_(context.cursor) {}

  /// Reads everything; problems are reported and survived.
  void parse();

 private:
  bool header();
  void recover_header();
  bool header_part(bool (ModuleParser::*read)());
  bool version_part() { return header_part(&ModuleParser::version); }
  bool target_part() { return header_part(&ModuleParser::target); }
  bool address_size_part() { return header_part(&ModuleParser::address_size); }
  /// The directive that such a part begins with; empty for other parts.
  static std::string_view word_of(bool (ModuleParser::*read)());
  void skip_to_item(std::uint32_t first, std::string_view word);
  void unknown_header(diag::Diagnostic diagnostic);
  bool version();
  bool target();
  bool address_size();
  bool item();
  bool linked_item(ir::Linkage linkage);
  bool variables(ir::Linkage linkage, std::uint32_t first);
  bool function(ir::Linkage linkage, std::uint32_t first);
  bool pragma();
  void part(bool (ModuleParser::*read)());
  void error(std::uint32_t first);
  void add(ir::ItemKind kind, std::uint32_t index, TokenRange tokens) {
    context_.module.items.push_back({kind, index, tokens, ir::Mark{}});
  }
  /// Appends `value` to `list` and an item for it that was read since `first`.
  template <typename T>
  bool add(ir::ItemKind kind, std::vector<T>& list, std::optional<T> value, std::uint32_t first) {
    if (!value) return false;
    add(kind, static_cast<std::uint32_t>(list.size()), cursor_.since(first));
    list.push_back(std::move(*value));
    return true;
  }

  ParseContext& context_;
  Cursor& cursor_;
  SpellingCache spellings_;
};

}  // namespace pyptx::syntax
