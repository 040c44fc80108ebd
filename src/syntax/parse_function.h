// SPDX-License-Identifier: Apache-2.0
//
// Functions: prototype, directives, body. PTX ISA, section 4.3 (Statements) and chapter 11
// (Directives).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parse_context.h"
#include "parse_declaration.h"
#include "parse_operand.h"
#include "pyptx/ir/module.h"
#include "spelling_cache.h"

namespace pyptx::syntax {

class FunctionParser {
 public:
  FunctionParser(ParseContext& context, ir::Function& function, SpellingCache& spellings)
      : context_(context),
        cursor_(context.cursor),
        function_(function),
        spellings_(spellings),
        operands_(context, function) {}

  /// From `.entry` or `.func` to the `;` or `}` that ends it; `first` is the token of the linkage
  /// before it. False after a report that leaves the position unknown; errors inside the body are
  /// survived.
  bool parse(std::uint32_t first);

 private:
  bool prototype();
  void declare_parameters();
  void body();
  void close_block(std::uint32_t first);
  void unclosed();
  bool begins_item() const;

  bool statement();
  bool directive_statement();
  bool register_statement();
  bool declare_register(const RegisterType& type, std::uint32_t first);
  bool variable_statement();
  bool pragma_statement();
  bool label_statement();
  bool instruction_statement();
  /// Null for what the table lacks, which is noted.
  const isa::Spelling* spelling();
  const isa::Spelling* spell(std::uint32_t first);
  [[gnu::cold]] void unresolved(const ir::Instruction& instruction, const ir::Operand& guard,
                                TokenRange words, std::uint32_t first);
  void judge(ir::Instruction& instruction, std::uint32_t first);

  void find_labels(std::uint32_t open);
  bool open_block(std::uint32_t open);
  void comments();
  void inner_comments(std::uint32_t first, std::size_t statement);
  void error(std::uint32_t first);
  void add(ir::StatementKind kind, std::uint32_t index, TokenRange tokens) {
    function_.body.push_back({kind, index, diag::LocationTable::token(tokens.first), tokens});
  }
  /// Appends `value` to `list` and a statement for it that was read since `first`.
  template <typename T>
  bool add(ir::StatementKind kind, std::vector<T>& list, std::optional<T> value,
           std::uint32_t first) {
    if (!value) return false;
    add(kind, static_cast<std::uint32_t>(list.size()), cursor_.since(first));
    list.push_back(std::move(*value));
    return true;
  }
  ReadingFinding placed(diag::Diagnostic diagnostic, std::uint32_t first);

  struct LabelToken {
    support::Symbol name{};
    std::uint32_t token = 0;
  };

  ParseContext& context_;
  Cursor& cursor_;
  ir::Function& function_;
  SpellingCache& spellings_;
  OperandParser operands_;
  std::vector<std::uint32_t> blocks_;  // tokens of the open `{`
  /// The labels of each block, by the token that opens it: a branch may go forward.
  std::unordered_map<std::uint32_t, std::vector<LabelToken>> labels_;
};

}  // namespace pyptx::syntax
