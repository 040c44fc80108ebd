// SPDX-License-Identifier: Apache-2.0
//
// The statements of a function body. PTX ISA, section 4.3 (Statements).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constant_expression.h"
#include "parse_declaration.h"
#include "parse_function.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::syntax {
namespace {

constexpr std::size_t kMaxOperands = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kMaxPool = std::numeric_limits<std::int32_t>::max();

}  // namespace

bool FunctionParser::statement() {
  switch (cursor_.peek().kind) {
    case TokenKind::DotWord:
      return directive_statement();
    case TokenKind::Identifier:
      if (cursor_.peek(1).kind == TokenKind::Colon) return label_statement();
      return instruction_statement();
    case TokenKind::At:
      return instruction_statement();
    default:
      return cursor_.fail_expected("a statement");
  }
}

bool FunctionParser::directive_statement() {
  const std::string_view word = cursor_.text();
  if (word == ".reg") return register_statement();
  if (word == ".pragma") return pragma_statement();
  if (space_of(word)) return variable_statement();
  if (is_verbatim_directive(word)) {
    const std::uint32_t first = cursor_.position();
    if (!skip_verbatim_directive(cursor_)) return false;
    add(ir::StatementKind::Verbatim,
        context_.intern_index(cursor_.normalized(cursor_.since(first))), first);
    return true;
  }
  return cursor_.fail(diag::Diagnostic(diag::Kind::UnknownDirective, {std::string(word)}));
}

// .reg .b32 a, %r<12>;
bool FunctionParser::register_statement() {
  const auto type = parse_register_type(context_);
  if (!type) return false;
  do {
    if (!declare_register(*type)) return false;
  } while (cursor_.accept(TokenKind::Comma));
  return cursor_.expect(TokenKind::Semicolon);
}

bool FunctionParser::declare_register(const RegisterType& type) {
  const std::uint32_t token = cursor_.position();
  if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("the name of a register");
  const support::Symbol name = context_.intern(cursor_.text(cursor_.next()));
  if (cursor_.at(TokenKind::Less)) return declare_pool(type, token);
  const auto index = static_cast<std::uint32_t>(function_.registers.size());
  if (!context_.names.declare(name, Name::Kind::Register, index)) {
    const std::string text(context_.module.text(name));
    return cursor_.fail(diag::Diagnostic(diag::Kind::DuplicateName, {text}), {token, token + 1});
  }
  function_.registers.push_back({name, type.type, type.type, false, type.vector});
  add(ir::StatementKind::Registers, index, token);
  return true;
}

// Pools at the top of a function are declared there by the IR itself; any other is a statement.
bool FunctionParser::declare_pool(const RegisterType& type, std::uint32_t name_token) {
  const support::Symbol prefix = context_.intern(cursor_.text(cursor_.token(name_token)));
  cursor_.next();
  const std::uint32_t count_token = cursor_.position();
  const auto count = parse_integer_literal(cursor_);
  if (!count) return false;
  if (*count > kMaxPool) {
    return cursor_.fail(
        diag::Diagnostic(diag::Kind::DirectiveValue,
                         {"the number of registers", "at most " + std::to_string(kMaxPool),
                          std::to_string(*count)}),
        {count_token, count_token + 1});
  }
  if (!cursor_.expect(TokenKind::Greater)) return false;
  const auto index = static_cast<std::uint32_t>(function_.pools.size());
  if (!context_.names.declare_pool(prefix, index)) {
    const std::string text(context_.module.text(prefix));
    return cursor_.fail(diag::Diagnostic(diag::Kind::DuplicateName, {text}),
                        {name_token, name_token + 1});
  }
  const bool placed = !function_.body.empty();
  function_.pools.push_back(
      {prefix, type.type, static_cast<std::uint32_t>(*count), type.vector, placed});
  if (placed) add(ir::StatementKind::Pool, index, name_token);
  return true;
}

bool FunctionParser::variable_statement() {
  const std::uint32_t first = cursor_.position();
  auto variables = parse_variables(context_, ir::Linkage::None);
  if (!variables) return false;
  for (ir::Variable& variable : *variables) {
    const auto index = static_cast<std::uint32_t>(function_.variables.size());
    if (!context_.names.declare(variable.name, Name::Kind::Variable, index)) {
      const std::string text(context_.module.text(variable.name));
      cursor_.fail(diag::Diagnostic(diag::Kind::DuplicateName, {text}), cursor_.since(first));
      continue;
    }
    function_.variables.push_back(std::move(variable));
    add(ir::StatementKind::Variable, index, first);
  }
  return true;
}

bool FunctionParser::pragma_statement() {
  const std::uint32_t first = cursor_.position();
  const auto texts = parse_pragma(cursor_);
  if (!texts) return false;
  for (const std::string_view text : *texts) {
    add(ir::StatementKind::Pragma, context_.intern_index(text), first);
  }
  return true;
}

bool FunctionParser::label_statement() {
  const std::uint32_t first = cursor_.position();
  const Name name = context_.names.find(cursor_.text(cursor_.next()));
  cursor_.next();
  // Anything else was reported when the block was opened.
  if (name.kind == Name::Kind::Label) add(ir::StatementKind::Label, name.index, first);
  return true;
}

bool FunctionParser::instruction_statement() {
  const std::uint32_t first = cursor_.position();
  std::optional<ir::RegisterId> guard;
  bool negated = false;
  if (cursor_.accept(TokenKind::At)) {
    negated = cursor_.accept(TokenKind::Exclamation);
    guard = operands_.parse_guard();
    if (!guard) return false;
  }
  const std::uint32_t opcode = cursor_.position();
  if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("an instruction");
  const isa::Spelling* known = spelling();
  if (known == nullptr || !operand_list(*known)) return false;
  ir::Instruction& instruction =
      function_.append(known, operand_buffer_, cursor_.loc(cursor_.since(first)));
  instruction.guard = guard;
  instruction.guard_negated = negated;
  tokens_.statements.push_back(cursor_.since(first));
  return judge(instruction, first, opcode);
}

// The opcode and the modifiers, which blanks and comments may part.
const isa::Spelling* FunctionParser::spelling() {
  const std::uint32_t first = cursor_.position();
  const Token opcode = cursor_.next();
  std::uint32_t end = opcode.end;
  bool contiguous = true;
  while (cursor_.at(TokenKind::DotWord)) {
    const Token modifier = cursor_.next();
    contiguous = contiguous && modifier.begin == end;
    end = modifier.end;
  }
  const std::string_view whole =
      context_.module.locations.text().substr(opcode.begin, end - opcode.begin);
  if (contiguous) {
    const auto found = spellings_.find(whole);
    if (found != spellings_.end()) return found->second;
  }
  std::vector<std::string_view> modifiers;
  for (std::uint32_t i = first + 1; i < cursor_.position(); ++i) {
    modifiers.push_back(cursor_.text(cursor_.token(i)).substr(1));
  }
  auto result = isa::spell(cursor_.text(opcode), modifiers);
  if (!result) {
    report_focused(std::move(result.error()), first, first);
    return nullptr;
  }
  if (contiguous) spellings_.emplace(whole, *result);
  return *result;
}

bool FunctionParser::operand_list(const isa::Spelling& known) {
  operand_buffer_.clear();
  operand_tokens_.clear();
  if (cursor_.accept(TokenKind::Semicolon)) return true;
  do {
    const std::uint32_t first = cursor_.position();
    if (operand_buffer_.size() == kMaxOperands) {
      return cursor_.fail(
          diag::Diagnostic(diag::Kind::TooManyOperands, {std::to_string(kMaxOperands)}));
    }
    const auto operand = operands_.parse(known, operand_buffer_.size());
    if (!operand) return false;
    operand_buffer_.push_back(*operand);
    operand_tokens_.push_back(cursor_.since(first));
  } while (cursor_.accept(TokenKind::Comma));
  return cursor_.at(TokenKind::Semicolon) ? cursor_.accept(TokenKind::Semicolon)
                                          : cursor_.fail_expected("',' or ';'");
}

bool FunctionParser::judge(ir::Instruction& instruction, std::uint32_t first,
                           std::uint32_t opcode) {
  if (context_.options.judge == nullptr) return true;
  auto status = context_.options.judge->judge(context_.module, function_, instruction);
  // The statement has been read to its end: there is nothing to skip.
  if (!status) report_focused(std::move(status.error()), first, opcode);
  return true;
}

// Others say which part of the instruction is at fault; here its tokens are known.
void FunctionParser::report_focused(diag::Diagnostic diagnostic, std::uint32_t first,
                                    std::uint32_t opcode) {
  const std::uint32_t index = diagnostic.focus.index;
  TokenRange range{first, std::max(cursor_.position(), first + 1)};
  switch (diagnostic.focus.part) {
    case diag::Focus::Part::Whole:
      break;
    case diag::Focus::Part::Opcode:
      range = {opcode, opcode + 1};
      break;
    case diag::Focus::Part::Modifier:
      if (cursor_.token(opcode + 1 + index).kind == TokenKind::DotWord) {
        range = {opcode + 1 + index, opcode + 2 + index};
      }
      break;
    case diag::Focus::Part::Operand:
      if (index < operand_tokens_.size()) range = operand_tokens_[index];
      break;
    case diag::Focus::Part::Guard:
      if (opcode > first) range = {first, opcode};
      break;
  }
  cursor_.fail(std::move(diagnostic), range);
}

}  // namespace pyptx::syntax
