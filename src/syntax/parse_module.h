// SPDX-License-Identifier: Apache-2.0
//
// The outermost level of a text. PTX ISA, section 11.1 (PTX Module Directives).
#pragma once

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
  bool version();
  bool target();
  bool address_size();
  bool item();
  bool linked_item(ir::Linkage linkage);
  bool variables(ir::Linkage linkage, std::uint32_t first);
  bool function(ir::Linkage linkage, std::uint32_t first);
  bool pragma(std::uint32_t first);
  void comments();
  void add(ir::ItemKind kind, std::uint32_t index, std::uint32_t first);

  ParseContext& context_;
  Cursor& cursor_;
  SpellingCache spellings_;
};

}  // namespace pyptx::syntax
