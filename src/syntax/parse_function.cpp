// SPDX-License-Identifier: Apache-2.0
//
// Prototypes and the skeleton of bodies: blocks, labels, comments. What stands between them is in
// parse_statement.cpp.
#include "parse_function.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "constant_expression.h"
#include "parse_declaration.h"

namespace pyptx::syntax {
namespace {

constexpr std::uint64_t kMaxValue = 0x7FFFFFFF;

struct DirectiveRule {
  std::string_view word;
  std::uint8_t least;
  std::uint8_t most;
};

constexpr auto kDirectives = std::to_array<DirectiveRule>({
    {".maxnreg", 1, 1},
    {".maxntid", 1, 3},
    {".reqntid", 1, 3},
    {".minnctapersm", 1, 1},
    {".maxnctapersm", 1, 1},
    {".noreturn", 0, 0},
    {".reqnctapercluster", 1, 3},
    {".explicitcluster", 0, 0},
    {".maxclusterrank", 1, 1},
    {".blocksareclusters", 0, 0},
    {".abi_preserve", 1, 1},
    {".abi_preserve_control", 1, 1},
});

}  // namespace

bool FunctionParser::parse() {
  const std::uint32_t first = cursor_.position();
  if (!prototype()) return false;
  context_.names.enter(&function_);
  context_.names.open_scope();
  declare_parameters();
  const bool ok = directives();
  if (ok) {
    function_.loc = cursor_.loc(cursor_.since(first));
    body();
  }
  context_.names.close_scope();
  context_.names.enter(nullptr);
  return ok;
}

bool FunctionParser::prototype() {
  function_.is_entry = cursor_.text(cursor_.next()) == ".entry";
  if (!function_.is_entry && cursor_.at(TokenKind::ParenOpen)) {
    auto returns = parse_parameters(context_);
    if (!returns) return false;
    function_.returns = std::move(*returns);
  }
  if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("the name of the function");
  function_.name = context_.intern(cursor_.text(cursor_.next()));
  // Known from here on, for recursion; a function may also be declared before it is defined.
  const auto index = static_cast<std::uint32_t>(context_.module.functions.size() - 1);
  context_.names.declare(function_.name, Name::Kind::Function, index);
  if (cursor_.at(TokenKind::ParenOpen)) {
    auto parameters = parse_parameters(context_);
    if (!parameters) return false;
    function_.parameters = std::move(*parameters);
  }
  return true;
}

void FunctionParser::declare_parameters() {
  std::uint32_t index = 0;
  for (const auto* list : {&function_.parameters, &function_.returns}) {
    for (const ir::Variable& parameter : *list) {
      const std::string_view name = context_.module.text(parameter.name);
      // A .reg parameter is a register of the function; it is declared by the prototype alone.
      if (parameter.space == ir::Space::Register) {
        const auto id = static_cast<std::uint32_t>(function_.registers.size());
        function_.registers.push_back(
            {parameter.name, parameter.type, parameter.type, false, parameter.vector});
        context_.names.declare(parameter.name, Name::Kind::Register, id);
      } else if (name != "_" &&
                 !context_.names.declare(parameter.name, Name::Kind::Parameter, index)) {
        cursor_.fail(diag::Diagnostic(diag::Kind::DuplicateName, {std::string(name)}));
      }
      ++index;
    }
  }
}

bool FunctionParser::directives() {
  while (cursor_.at(TokenKind::DotWord)) {
    if (!directive()) return false;
  }
  if (cursor_.at(TokenKind::Semicolon) || cursor_.at(TokenKind::BraceOpen)) return true;
  return cursor_.fail_expected("'{' or ';'");
}

bool FunctionParser::directive() {
  const std::string_view word = cursor_.text();
  if (word == ".pragma") {
    const auto texts = parse_pragma(cursor_);
    if (!texts) return false;
    for (const std::string_view text : *texts) {
      function_.directives.push_back({context_.intern("pragma"), {}, context_.intern(text)});
    }
    return true;
  }
  for (const DirectiveRule& rule : kDirectives) {
    if (rule.word != word) continue;
    const std::uint32_t first = cursor_.position();
    cursor_.next();
    ir::Directive made{context_.intern(word.substr(1)), {}, {}};
    while (cursor_.at(TokenKind::Integer)) {
      const std::uint64_t value = parse_integer_literal(cursor_).value_or(0);
      if (value > kMaxValue) {
        return cursor_.fail(
            diag::Diagnostic(diag::Kind::DirectiveValue,
                             {std::string(word), "below 2^31", std::to_string(value)}),
            cursor_.since(first));
      }
      made.values.push_back(static_cast<std::int64_t>(value));
      if (!cursor_.at(TokenKind::Comma)) break;
      cursor_.next();
      if (!cursor_.at(TokenKind::Integer)) return cursor_.fail_expected("an integer");
    }
    if (made.values.size() < rule.least || made.values.size() > rule.most) {
      const std::string wanted =
          "given " + std::to_string(rule.least) +
          (rule.least == rule.most ? "" : " to " + std::to_string(rule.most)) + " values";
      return cursor_.fail(
          diag::Diagnostic(diag::Kind::DirectiveValue,
                           {std::string(word), wanted, std::to_string(made.values.size())}),
          cursor_.since(first));
    }
    function_.directives.push_back(std::move(made));
    return true;
  }
  return cursor_.fail(diag::Diagnostic(diag::Kind::UnknownDirective, {std::string(word)}));
}

// Labels are known before the statements of their block are read. A `:` belongs to a label unless
// a `?` waits for it.
void FunctionParser::find_labels(std::uint32_t open) {
  std::vector<std::uint32_t> stack{open};
  std::uint32_t questions = 0;
  for (std::uint32_t i = open + 1; i < cursor_.last() && !stack.empty(); ++i) {
    switch (cursor_.token(i).kind) {
      case TokenKind::BraceOpen:
        stack.push_back(i);
        break;
      case TokenKind::BraceClose:
        stack.pop_back();
        break;
      case TokenKind::Question:
        ++questions;
        break;
      case TokenKind::Semicolon:
        questions = 0;
        break;
      case TokenKind::Colon:
        if (questions != 0) {
          --questions;
        } else if (cursor_.token(i - 1).kind == TokenKind::Identifier) {
          labels_[stack.back()].push_back(
              {context_.intern(cursor_.text(cursor_.token(i - 1))), i - 1});
        }
        break;
      default:
        break;
    }
  }
}

void FunctionParser::open_block(std::uint32_t open) {
  blocks_.push_back(open);
  context_.names.open_scope();
  const auto found = labels_.find(open);
  if (found == labels_.end()) return;
  for (const LabelToken& label : found->second) {
    const auto id = static_cast<std::uint32_t>(function_.labels.size());
    if (!context_.names.declare(label.name, Name::Kind::Label, id)) {
      const std::string text(context_.module.text(label.name));
      cursor_.fail(diag::Diagnostic(diag::Kind::DuplicateName, {text}),
                   {label.token, label.token + 1});
      continue;
    }
    function_.add_label(label.name);
  }
}

void FunctionParser::body() {
  if (cursor_.accept(TokenKind::Semicolon)) {
    function_.is_declaration = true;
    return;
  }
  const std::uint32_t open = cursor_.position();
  find_labels(open);
  cursor_.next();
  open_block(open);
  while (!blocks_.empty()) {
    comments();
    const std::uint32_t first = cursor_.position();
    if (cursor_.at(TokenKind::EndOfText)) {
      cursor_.fail(diag::Diagnostic(diag::Kind::UnclosedBlock, {}),
                   {blocks_.back(), blocks_.back() + 1});
      for (; !blocks_.empty(); blocks_.pop_back()) context_.names.close_scope();
    } else if (cursor_.accept(TokenKind::BraceClose)) {
      blocks_.pop_back();
      context_.names.close_scope();
      if (!blocks_.empty()) add(ir::StatementKind::BlockClose, 0, first);
    } else if (cursor_.accept(TokenKind::BraceOpen)) {
      add(ir::StatementKind::BlockOpen, 0, first);
      open_block(first);
    } else if (!statement()) {
      cursor_.skip_statement(first);
    }
  }
}

void FunctionParser::comments() {
  cursor_.take_comments([&](const Comment& comment, std::string_view text) {
    comment_lines(comment, text, [&](bool is_marker, std::string_view line) {
      add(is_marker ? ir::StatementKind::Verbatim : ir::StatementKind::Comment,
          context_.intern_index(line), cursor_.position());
    });
  });
}

void FunctionParser::add(ir::StatementKind kind, std::uint32_t index, std::uint32_t first) {
  function_.body.push_back({kind, index});
  tokens_.statements.push_back(cursor_.since(first));
}

}  // namespace pyptx::syntax
