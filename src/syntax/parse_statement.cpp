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
               parse_branch_targets(context_, function_), first);
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
  if (earlier) context_.duplicate(name, {token, token + 1}, *earlier);
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

// A statement has one finding: an unknown name or word is told only where the syntax is right.
bool FunctionParser::instruction_statement() {
  const std::uint32_t first = cursor_.position();
  ir::Instruction instruction;
  instruction.loc = diag::LocationTable::token(first);
  operands_.begin();
  ir::Operand guard;
  if (cursor_.accept(TokenKind::At)) {
    if (!operands_.parse_guard(guard)) return false;
    if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("an instruction");
    instruction.guard = guard.register_id();
    instruction.guard_negated = guard.kind == ir::OperandKind::NotRegister;
  }
  const std::uint32_t opcode = cursor_.position();
  instruction.spelling = spelling();
  const std::uint32_t words_end = cursor_.position();
  const std::size_t pool = function_.operands.size();
  if (!operands_.parse_list(instruction.spelling, instruction)) {
    function_.operands.resize(pool);
    return false;
  }
  if (operands_.is_unresolved()) {
    unresolved(instruction, guard, {opcode, words_end}, first);
    return true;
  }
  add(StatementKind::Instruction, static_cast<std::uint32_t>(function_.instructions.size()),
      cursor_.since(first));
  function_.instructions.push_back(instruction);
  if (context_.judge != nullptr) judge(function_.instructions.back(), first);
  return true;
}

void FunctionParser::unresolved(const ir::Instruction& instruction, const ir::Operand& guard,
                                TokenRange words, std::uint32_t first) {
  std::string spelling;
  for (std::uint32_t i = words.first; i < words.last; ++i) {
    spelling += cursor_.text(cursor_.token(i));
  }
  add(StatementKind::Unresolved, static_cast<std::uint32_t>(function_.unresolved.size()),
      cursor_.since(first));
  function_.unresolved.push_back({context_.intern(spelling), instruction.first_operand,
                                  instruction.operand_count, guard, instruction.loc});
  if (auto finding = operands_.take_finding()) {
    cursor_.report(std::move(finding->diagnostic), finding->tokens);
  }
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
  // What nobody will be told costs no search for the nearest spelling.
  const bool is_told = cursor_.keeps_findings() && !operands_.is_unresolved();
  auto result = isa::spell(cursor_.text(cursor_.token(first)), modifiers,
                           is_told ? context_.options.detail : isa::Detail::Verdict);
  if (result) return *result;
  operands_.note(placed(std::move(result.error()), first));
  return nullptr;
}

// The statement has been read to its end: there is nothing to skip.
void FunctionParser::judge(ir::Instruction& instruction, std::uint32_t first) {
  auto status = context_.judge->judge(context_.module, function_, instruction);
  if (status) return;
  ReadingFinding found = placed(std::move(status.error()), first);
  cursor_.report_judged(std::move(found.diagnostic), found.tokens);
}

// Others say which part of the instruction is at fault, and which a fix-it replaces; here the
// tokens are known.
ReadingFinding FunctionParser::placed(diag::Diagnostic diagnostic, std::uint32_t first) {
  for (diag::FixIt& fixit : diagnostic->fixits) {
    if (fixit.loc == diag::Loc::None) fixit.loc = cursor_.loc(cursor_.focused(first, fixit.focus));
  }
  const TokenRange range = cursor_.focused(first, diagnostic.focus);
  return {std::move(diagnostic), range};
}

}  // namespace pyptx::syntax
