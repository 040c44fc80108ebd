// SPDX-License-Identifier: Apache-2.0
//
// Functions: prototype, directives, body. PTX ISA, section 4.3 (Statements) and chapter 11
// (Directives).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parse_context.h"
#include "parse_declaration.h"
#include "parse_operand.h"
#include "pyptx/ir/module.h"

namespace pyptx::syntax {

/// Spellings by their text in the source, so that the process-wide store is asked once per text.
using SpellingCache = std::unordered_map<std::string_view, const isa::Spelling*>;

/// A directive without meaning for the code, kept as text: its tokens, with one blank or line end
/// where the source has any. The extent of such a directive is known for these only.
bool is_verbatim_directive(std::string_view word);
/// Moves past one of them; false after a report.
bool skip_verbatim_directive(Cursor& cursor);

/// The strings of `.pragma "a", "b";` without their quotes.
std::optional<std::vector<std::string_view>> parse_pragma(Cursor& cursor);

class FunctionParser {
 public:
  FunctionParser(ParseContext& context, ir::Function& function, FunctionTokens& tokens,
                 SpellingCache& spellings)
      : context_(context),
        cursor_(context.cursor),
        function_(function),
        tokens_(tokens),
        spellings_(spellings),
        operands_(context, function) {}

  /// From `.entry` or `.func` to the `;` or `}` that ends it. False after a report that leaves the
  /// position unknown; errors inside the body are survived.
  bool parse();

 private:
  bool prototype();
  bool directives();
  bool directive();
  void body();
  void declare_parameters();

  bool statement();
  bool directive_statement();
  bool register_statement();
  bool declare_register(const RegisterType& type);
  bool declare_pool(const RegisterType& type, std::uint32_t name_token);
  bool variable_statement();
  bool pragma_statement();
  bool label_statement();
  bool instruction_statement();
  const isa::Spelling* spelling();
  bool operand_list(const isa::Spelling& spelling);
  bool judge(ir::Instruction& instruction, std::uint32_t first, std::uint32_t opcode);

  void find_labels(std::uint32_t open);
  void open_block(std::uint32_t open);
  void comments();
  void add(ir::StatementKind kind, std::uint32_t index, std::uint32_t first);
  void report_focused(diag::Diagnostic diagnostic, std::uint32_t first, std::uint32_t opcode);

  struct LabelToken {
    support::Symbol name{};
    std::uint32_t token = 0;
  };

  ParseContext& context_;
  Cursor& cursor_;
  ir::Function& function_;
  FunctionTokens& tokens_;
  SpellingCache& spellings_;
  OperandParser operands_;
  std::vector<std::uint32_t> blocks_;  // tokens of the open `{`
  /// The labels of each block, by the token that opens it: a branch may go forward.
  std::unordered_map<std::uint32_t, std::vector<LabelToken>> labels_;
  std::vector<ir::Operand> operand_buffer_;
  std::vector<TokenRange> operand_tokens_;
};

}  // namespace pyptx::syntax
