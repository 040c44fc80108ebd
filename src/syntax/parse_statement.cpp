// SPDX-License-Identifier: Apache-2.0
//
// The statements of a function body. PTX ISA, section 4.3 (Statements).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parse_declaration.h"
#include "parse_directive.h"
#include "parse_function.h"
#include "pyptx/isa/spelling.h"
#include "token_extents.h"

namespace pyptx::syntax {

using ir::StatementKind;

bool FunctionParser::statement() {
  switch (cursor_.kind()) {
    case TokenKind::Identifier:
      if (cursor_.peek(1).kind == TokenKind::Colon) return label_statement();
      return instruction_statement();
    case TokenKind::At:
      return instruction_statement();
    case TokenKind::DotWord:
      return directive_statement();
    default:
      return cursor_.fail_expected("a statement");
  }
}

bool FunctionParser::directive_statement() {
  const std::uint32_t first = cursor_.position();
  const std::string_view word = cursor_.text();
  if (word == ".loc" || word == ".loc_intermediate") {
    return add(StatementKind::Line, function_.lines, parse_line(context_), first);
  }
  if (word == ".reg") return register_statement();
  if (space_of(word)) return variable_statement();
  if (word == ".pragma") return pragma_statement();
  if (word == ".branchtargets") {
    return add(StatementKind::BranchTargets, function_.branch_targets,
               parse_branch_targets(context_), first);
  }
  if (word == ".calltargets") {
    return add(StatementKind::CallTargets, function_.call_targets, parse_call_targets(context_),
               first);
  }
  if (word == ".callprototype") {
    return add(StatementKind::CallPrototype, function_.prototypes, parse_call_prototype(context_),
               first);
  }
  return context_.unknown_directive();
}

// .reg .b32 a, %r<12>;
bool FunctionParser::register_statement() {
  std::uint32_t first = cursor_.position();
  const auto type = parse_register_type(context_);
  if (!type) return false;
  do {
    if (!declare_register(*type, first)) return false;
    first = cursor_.position() + 1;
  } while (cursor_.accept(TokenKind::Comma));
  if (cursor_.accept(TokenKind::Semicolon)) return true;
  return cursor_.fail_expected("',' or ';'");
}

// One name of the declaration, up to the comma or semicolon that is to follow.
bool FunctionParser::declare_register(const RegisterType& type, std::uint32_t first) {
  const std::uint32_t token = cursor_.position();
  if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("the name of a register");
  const support::Symbol name = context_.intern(cursor_.text(cursor_.next()));
  std::optional<std::uint32_t> count;
  if (cursor_.at(TokenKind::Less)) {
    count = parse_run(context_);
    if (!count) return false;
  }
  const auto index =
      static_cast<std::uint32_t>(count ? function_.pools.size() : function_.registers.size());
  const std::uint32_t begin = cursor_.token(token).begin;
  const auto earlier =
      count ? context_.names.declare_run(name, *count, Name::Kind::Register, index, begin)
            : context_.names.declare(name, Name::Kind::Register, index, begin);
  if (earlier) return context_.duplicate(name, {token, token + 1}, *earlier);
  const TokenRange tokens{first, cursor_.position() + 1};
  if (count) {
    function_.pools.push_back({name, type.type, *count, type.vector, true});
    add(StatementKind::Pool, index, tokens);
  } else {
    function_.registers.push_back({name, type.type, type.type, false, type.vector, 0});
    add(StatementKind::Registers, index, tokens);
  }
  return true;
}

bool FunctionParser::variable_statement() {
  auto variables = parse_variables(context_, ir::Linkage::None, cursor_.position());
  if (!variables) return false;
  for (DeclaredVariable& declared : *variables) {
    ir::Variable& variable = declared.variable;
    const auto index = static_cast<std::uint32_t>(function_.variables.size());
    const auto earlier = context_.declare(variable, Name::Kind::Variable, index);
    if (earlier) context_.duplicate(variable.name, declared.tokens, *earlier);
    function_.variables.push_back(std::move(variable));
    add(StatementKind::Variable, index, declared.tokens);
  }
  return true;
}

bool FunctionParser::pragma_statement() {
  const auto pragmas = parse_pragma(context_);
  if (!pragmas) return false;
  for (const PragmaText& one : *pragmas) {
    add(StatementKind::Pragma, context_.intern_index(one.text), one.tokens);
  }
  return true;
}

bool FunctionParser::label_statement() {
  const std::uint32_t first = cursor_.position();
  const Name name = context_.names.find(cursor_.text(cursor_.next()));
  cursor_.next();
  // Anything else was reported when the block was opened.
  const bool known = name.kind == Name::Kind::Label;
  add(known ? StatementKind::Label : StatementKind::Error, known ? name.index : 0,
      cursor_.since(first));
  return true;
}

bool FunctionParser::instruction_statement() {
  const std::uint32_t first = cursor_.position();
  ir::Instruction instruction;
  instruction.loc = diag::LocationTable::token(first);
  if (cursor_.accept(TokenKind::At)) {
    instruction.guard_negated = cursor_.accept(TokenKind::Exclamation);
    instruction.guard = operands_.parse_guard();
    if (!instruction.guard) return false;
    if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("an instruction");
  }
  instruction.spelling = spelling();
  if (instruction.spelling == nullptr) return false;
  const std::size_t pool = function_.operands.size();
  if (!operands_.parse_list(*instruction.spelling, instruction)) {
    function_.operands.resize(pool);
    return false;
  }
  add(StatementKind::Instruction, static_cast<std::uint32_t>(function_.instructions.size()),
      cursor_.since(first));
  function_.instructions.push_back(instruction);
  if (context_.options.judge != nullptr) judge(function_.instructions.back(), first);
  return true;
}

// The opcode and the modifiers, which blanks and comments may part.
const isa::Spelling* FunctionParser::spelling() {
  const std::uint32_t first = cursor_.position();
  const Token* last = &cursor_.next();
  bool contiguous = true;
  while (cursor_.at(TokenKind::DotWord)) {
    const Token& modifier = cursor_.next();
    contiguous = contiguous && modifier.begin == last->end;
    last = &modifier;
  }
  if (!contiguous) return spell(first);
  const std::string_view text = cursor_.text(cursor_.token(first), *last);
  SpellingCache::Slot& slot = spellings_.find(text);
  if (slot.spelling == nullptr) {
    const isa::Spelling* const found = spell(first);
    if (found != nullptr) spellings_.store(slot, text, found);
    return found;
  }
  return slot.spelling;
}

const isa::Spelling* FunctionParser::spell(std::uint32_t first) {
  std::vector<std::string_view> modifiers;
  for (std::uint32_t i = first + 1; i < cursor_.position(); ++i) {
    modifiers.push_back(cursor_.text(cursor_.token(i)).substr(1));
  }
  auto result = isa::spell(cursor_.text(cursor_.token(first)), modifiers, context_.options.detail);
  if (result) return *result;
  report_focused(std::move(result.error()), first);
  return nullptr;
}

// The statement has been read to its end: there is nothing to skip.
void FunctionParser::judge(ir::Instruction& instruction, std::uint32_t first) {
  auto status = context_.options.judge->judge(context_.module, function_, instruction);
  if (!status) report_focused(std::move(status.error()), first);
}

// Others say which part of the instruction is at fault, and which a fix-it replaces; here the
// tokens are known.
void FunctionParser::report_focused(diag::Diagnostic diagnostic, std::uint32_t first) {
  for (diag::FixIt& fixit : diagnostic.fixits) {
    if (fixit.loc == diag::Loc::None) fixit.loc = cursor_.loc(cursor_.focused(first, fixit.focus));
  }
  const TokenRange range = cursor_.focused(first, diagnostic.focus);
  cursor_.fail(std::move(diagnostic), range);
}

}  // namespace pyptx::syntax
