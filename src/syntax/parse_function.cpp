// SPDX-License-Identifier: Apache-2.0
//
// Prototypes and the skeleton of bodies: blocks, labels, comments. What stands between them is in
// parse_statement.cpp.
#include "parse_function.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parse_declaration.h"
#include "parse_directive.h"

namespace pyptx::syntax {
namespace {

// Far beyond what any compiler writes; a text of nothing but `{` is refused before it fills memory.
constexpr std::size_t kMaxBlocks = 4096;

}  // namespace

bool FunctionParser::parse(std::uint32_t first) {
  if (!prototype()) return false;
  context_.names.enter(&function_);
  context_.names.open_scope();
  declare_parameters();
  const auto place = function_.is_entry ? isa::DirectivePlace::Entry : isa::DirectivePlace::Func;
  bool ok = parse_function_directives(context_, function_.directives, place);
  if (ok && !cursor_.at(TokenKind::Semicolon) && !cursor_.at(TokenKind::BraceOpen)) {
    ok = cursor_.fail_expected("'{' or ';'");
  }
  if (ok) {
    function_.loc = cursor_.loc(cursor_.since(first));
    function_.head = {first, cursor_.position() + 1};
    // What stands between the words of a prototype goes in front of the function.
    cursor_.take_comments(cursor_.position(), [&](const Comment& comment, std::uint32_t index) {
      context_.module.items.push_back(comment_part<ir::Item>(context_, comment, index, first));
    });
    body();
  }
  context_.names.close_scope();
  context_.names.enter(nullptr);
  return ok;
}

bool FunctionParser::prototype() {
  function_.is_entry = cursor_.text(cursor_.next()) == ".entry";
  if (!function_.is_entry && cursor_.at_word(".attribute") &&
      !parse_attributes(context_, function_.attributes)) {
    return false;
  }
  if (!function_.is_entry && cursor_.at(TokenKind::ParenOpen)) {
    auto returns = parse_parameters(context_, false);
    if (!returns) return false;
    function_.returns = std::move(*returns);
  }
  if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("the name of the function");
  const std::uint32_t token = cursor_.position();
  function_.name = context_.intern(cursor_.text(cursor_.next()));
  // Known from here on, for recursion; a function may also be declared before it is defined.
  const auto index = static_cast<std::uint32_t>(context_.module.functions.size() - 1);
  const auto earlier = context_.names.declare(function_.name, Name::Kind::Function, index,
                                              cursor_.token(token).begin);
  if (earlier &&
      context_.names.find(context_.module.text(function_.name)).kind != Name::Kind::Function) {
    context_.duplicate(function_.name, {token, token + 1}, *earlier);
  }
  if (cursor_.at(TokenKind::ParenOpen)) {
    auto parameters = parse_parameters(context_, false);
    if (!parameters) return false;
    function_.parameters = std::move(*parameters);
  }
  return true;
}

void FunctionParser::declare_parameters() {
  std::uint32_t index = 0;
  for (const auto* list : {&function_.parameters, &function_.returns}) {
    for (const ir::Variable& parameter : *list) {
      Name::Kind kind = Name::Kind::Parameter;
      std::uint32_t meaning = index++;
      // A .reg parameter is a register of the function; it is declared by the prototype alone.
      if (parameter.space == ir::Space::Register) {
        kind = Name::Kind::Register;
        meaning = static_cast<std::uint32_t>(function_.registers.size());
        function_.registers.push_back(
            {parameter.name, parameter.type, parameter.type, false, parameter.vector, 0});
      }
      if (const auto earlier = context_.declare(parameter, kind, meaning)) {
        context_.duplicate(parameter.name, {cursor_.position(), cursor_.position() + 1}, *earlier);
      }
    }
  }
}

// Labels are known before the statements of their block are read. A `:` belongs to a label unless
// a `?` waits for it. The statements are counted on the way, so that they are stored once.
void FunctionParser::find_labels(std::uint32_t open) {
  std::vector<std::uint32_t> stack{open};
  std::size_t deeper = 0;
  std::uint32_t questions = 0;
  std::size_t statements = 0;
  std::uint32_t i = open + 1;
  for (; i < cursor_.last() && !stack.empty(); ++i) {
    switch (cursor_.token(i).kind) {
      case TokenKind::BraceOpen:
        if (stack.size() <= kMaxBlocks) {
          stack.push_back(i);
        } else {
          ++deeper;
        }
        break;
      case TokenKind::BraceClose:
        if (deeper != 0) {
          --deeper;
        } else {
          stack.pop_back();
        }
        break;
      case TokenKind::Question:
        ++questions;
        break;
      case TokenKind::Semicolon:
        ++statements;
        questions = 0;
        break;
      case TokenKind::Colon:
        if (questions != 0) {
          --questions;
        } else if (cursor_.token(i - 1).kind == TokenKind::Identifier) {
          ++statements;
          labels_[stack.back()].push_back(
              {context_.intern(cursor_.text(cursor_.token(i - 1))), i - 1});
        }
        break;
      default:
        break;
    }
  }
  // A text of nothing but semicolons has fewer statements than that.
  statements = std::min<std::size_t>(statements, (i - open) / 3);
  function_.body.reserve(statements + 16);
  function_.instructions.reserve(statements);
  function_.operands.reserve(statements * 3);
}

bool FunctionParser::open_block(std::uint32_t open) {
  if (blocks_.size() == kMaxBlocks) {
    return cursor_.fail(diag::Diagnostic(diag::Kind::NestingTooDeep, {std::to_string(kMaxBlocks)}),
                        {open, open + 1});
  }
  blocks_.push_back(open);
  context_.names.open_scope();
  const auto found = labels_.find(open);
  if (found == labels_.end()) return true;
  for (const LabelToken& label : found->second) {
    const auto id = static_cast<std::uint32_t>(function_.labels.size());
    const auto earlier =
        context_.names.declare(label.name, Name::Kind::Label, id, cursor_.token(label.token).begin);
    if (!earlier) {
      function_.add_label(label.name);
    } else {
      context_.duplicate(label.name, {label.token, label.token + 1}, *earlier);
    }
  }
  return true;
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
    // What follows the last token belongs to the module.
    if (cursor_.has_comments(cursor_.position()) && !cursor_.at(TokenKind::EndOfText) &&
        !begins_item()) {
      comments();
    }
    const std::uint32_t first = cursor_.position();
    const std::size_t size = function_.body.size();
    if (cursor_.is_full()) {
      cursor_.give_up();
      error(first);
    }
    switch (cursor_.kind()) {
      case TokenKind::EndOfText:
        unclosed();
        break;
      case TokenKind::BraceClose:
        close_block(first);
        break;
      case TokenKind::BraceOpen:
        cursor_.next();
        if (!open_block(first)) {
          cursor_.skip_block(first);
          error(first);
          break;
        }
        add(ir::StatementKind::BlockOpen, 0, cursor_.since(first));
        break;
      default:
        if (begins_item()) {
          unclosed();
        } else if (statement()) {
          if (cursor_.has_comments(cursor_.position() - 1)) inner_comments(first, size);
        } else {
          function_.body.resize(size);
          cursor_.skip_statement(first);
          error(first);
        }
        break;
    }
  }
}

// No statement begins so: the `}` of the function is missing, and what follows is the module's.
bool FunctionParser::begins_item() const {
  if (!cursor_.at(TokenKind::DotWord)) return false;
  const Token& word = cursor_.peek(linkage_of(cursor_.text()) ? 1 : 0);
  const std::string_view text = cursor_.text(word);
  return word.kind == TokenKind::DotWord && (text == ".entry" || text == ".func");
}

void FunctionParser::unclosed() {
  cursor_.fail(diag::Diagnostic(diag::Kind::UnclosedBlock, {}),
               {blocks_.back(), blocks_.back() + 1});
  for (; !blocks_.empty(); blocks_.pop_back()) context_.names.close_scope();
}

void FunctionParser::close_block(std::uint32_t first) {
  cursor_.next();
  blocks_.pop_back();
  context_.names.close_scope();
  if (!blocks_.empty()) {
    add(ir::StatementKind::BlockClose, 0, cursor_.since(first));
  } else {
    function_.tail = cursor_.since(first);
  }
}

// What could not be read, with the comments in it.
void FunctionParser::error(std::uint32_t first) {
  if (cursor_.position() == first) return;
  add(ir::StatementKind::Error, 0, cursor_.since(first));
  cursor_.take_comments(cursor_.position() - 1, [](const Comment&, std::uint32_t) {});
}

void FunctionParser::comments() {
  cursor_.take_comments(cursor_.position(), [&](const Comment& comment, std::uint32_t index) {
    function_.body.push_back(
        comment_part<ir::Statement>(context_, comment, index, cursor_.position()));
  });
}

void FunctionParser::inner_comments(std::uint32_t first, std::size_t statement) {
  std::vector<ir::Statement> found;
  cursor_.take_comments(cursor_.position() - 1, [&](const Comment& comment, std::uint32_t index) {
    found.push_back(comment_part<ir::Statement>(context_, comment, index, first));
  });
  function_.body.insert(function_.body.begin() + statement, found);
}

}  // namespace pyptx::syntax
