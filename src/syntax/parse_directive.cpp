// SPDX-License-Identifier: Apache-2.0
//
// Directives of functions, pragmas, aliases and the tables of indirect control flow; debugging
// directives are in parse_debug.cpp.
#include "parse_directive.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constant_expression.h"
#include "parse_declaration.h"

namespace pyptx::syntax {
namespace {

constexpr std::uint64_t kMaxValue = 0xFFFFFFFF;
constexpr std::uint32_t kMaxTargets = 0xFFFF;  // as many as one list has operands

class DirectiveParser {
 public:
  DirectiveParser(ParseContext& context, std::vector<ir::Directive>& directives,
                  isa::DirectivePlace place)
      : context_(context), cursor_(context.cursor), directives_(directives), place_(place) {}

  bool parse() {
    while (cursor_.at(TokenKind::DotWord)) {
      if (!directive()) return false;
    }
    return true;
  }

 private:
  bool directive() {
    const isa::DirectiveInfo* const info = isa::find_directive(cursor_.text().substr(1), place_);
    if (info == nullptr) return context_.unknown_directive();
    if (info->name == "pragma") return pragma();
    return info->arguments == isa::DirectiveArguments::Own ? language() : numbers(*info);
  }

  bool pragma() {
    const auto pragmas = parse_pragma(context_);
    if (!pragmas) return false;
    for (const PragmaText& one : *pragmas) {
      directives_.push_back({context_.intern("pragma"), {}, context_.intern(one.text)});
    }
    return true;
  }

  // .language 5, "cuda c++" alone takes numbers and strings; each is a directive of its own to the
  // IR, as it may be repeated.
  bool language() {
    const ir::Symbol word = context_.intern(cursor_.text(cursor_.next()).substr(1));
    do {
      if (cursor_.at(TokenKind::String)) {
        directives_.push_back({word, {}, context_.intern(*cursor_.take_string())});
        continue;
      }
      if (!cursor_.at(TokenKind::Integer)) return cursor_.fail_expected("a number or a string");
      const auto value = parse_integer_literal(cursor_);
      directives_.push_back({word, {static_cast<std::int64_t>(value.value_or(0))}, {}});
    } while (cursor_.accept(TokenKind::Comma));
    return true;
  }

  bool numbers(const isa::DirectiveInfo& info) {
    const std::uint32_t first = cursor_.position();
    const std::string word(cursor_.text(cursor_.next()));
    ir::Directive made{context_.intern(info.name), {}, {}};
    while (cursor_.at(TokenKind::Integer)) {
      const std::uint64_t value = parse_integer_literal(cursor_).value_or(0);
      if (value > kMaxValue) {
        return cursor_.fail(diag::Diagnostic(diag::Kind::DirectiveValue,
                                             {word, "below 2^32", std::to_string(value)}),
                            cursor_.since(first));
      }
      made.values.push_back(static_cast<std::int64_t>(value));
      if (made.values.size() > info.maximum || !cursor_.accept(TokenKind::Comma)) break;
      if (!cursor_.at(TokenKind::Integer)) return cursor_.fail_expected("an integer");
    }
    const std::size_t given = made.values.size();
    if (given < info.minimum || given > info.maximum) {
      const std::string wanted =
          "given " + std::to_string(info.minimum) +
          (info.minimum == info.maximum ? "" : " to " + std::to_string(info.maximum)) + " values";
      const std::string count = given > info.maximum ? "more" : std::to_string(given);
      return cursor_.fail(diag::Diagnostic(diag::Kind::DirectiveValue, {word, wanted, count}),
                          cursor_.since(first));
    }
    directives_.push_back(std::move(made));
    return true;
  }

  ParseContext& context_;
  Cursor& cursor_;
  std::vector<ir::Directive>& directives_;
  isa::DirectivePlace place_;
};

}  // namespace

bool parse_function_directives(ParseContext& context, std::vector<ir::Directive>& directives,
                               isa::DirectivePlace place) {
  return DirectiveParser(context, directives, place).parse();
}

std::optional<std::vector<PragmaText>> parse_pragma(ParseContext& context) {
  Cursor& cursor = context.cursor;
  std::uint32_t first = cursor.position();
  cursor.next();
  std::vector<PragmaText> pragmas;
  do {
    const auto text = cursor.take_string();
    if (!text) return std::nullopt;
    pragmas.push_back({*text, {first, cursor.position() + 1}});
    first = cursor.position() + 1;
  } while (cursor.accept(TokenKind::Comma));
  if (!cursor.expect(TokenKind::Semicolon)) return std::nullopt;
  return pragmas;
}

std::optional<ir::Alias> parse_alias(ParseContext& context) {
  Cursor& cursor = context.cursor;
  ir::Alias alias;
  alias.loc = diag::LocationTable::token(cursor.position());
  cursor.next();
  for (ir::Symbol* name : {&alias.name, &alias.aliasee}) {
    const bool is_second = name == &alias.aliasee;
    if (is_second && !cursor.expect(TokenKind::Comma)) return std::nullopt;
    if (!cursor.at(TokenKind::Identifier)) {
      cursor.fail_expected("the name of a function");
      return std::nullopt;
    }
    *name = context.intern(cursor.text(cursor.next()));
  }
  if (!cursor.expect(TokenKind::Semicolon)) return std::nullopt;
  return alias;
}

// .branchtargets a, b; or .branchtargets base<N>; for base0 .. base(N-1)
std::optional<std::vector<ir::LabelId>> parse_branch_targets(ParseContext& context,
                                                             ir::Function& function) {
  Cursor& cursor = context.cursor;
  cursor.next();
  std::vector<ir::LabelId> targets;
  bool is_noted = false;
  const auto add = [&](const std::string& name, std::uint32_t token) {
    const Name found = context.names.find(name);
    if (found.kind == Name::Kind::Label) {
      targets.push_back(static_cast<ir::LabelId>(found.index));
      return;
    }
    if (!std::exchange(is_noted, true)) context.undeclared(name, {token, token + 1});
    targets.push_back(function.add_label(context.intern(name)));
  };
  do {
    const std::uint32_t token = cursor.position();
    if (!cursor.at(TokenKind::Identifier)) {
      cursor.fail_expected("a label");
      return std::nullopt;
    }
    const std::string base(cursor.text(cursor.next()));
    if (!cursor.at(TokenKind::Less)) {
      add(base, token);
      continue;
    }
    const auto count = parse_run(context);
    if (!count) return std::nullopt;
    if (*count > kMaxTargets) {
      cursor.fail(diag::Diagnostic(diag::Kind::TooManyOperands, {std::to_string(kMaxTargets)}),
                  {token, token + 1});
      return std::nullopt;
    }
    for (std::uint32_t i = 0; i < *count; ++i) add(base + std::to_string(i), token);
  } while (cursor.accept(TokenKind::Comma));
  if (!cursor.expect(TokenKind::Semicolon)) return std::nullopt;
  return targets;
}

std::optional<std::vector<ir::Symbol>> parse_call_targets(ParseContext& context) {
  Cursor& cursor = context.cursor;
  cursor.next();
  std::vector<ir::Symbol> targets;
  do {
    if (!cursor.at(TokenKind::Identifier)) {
      cursor.fail_expected("the name of a function");
      return std::nullopt;
    }
    const std::string_view name = cursor.text();
    if (context.names.find(name).kind != Name::Kind::Function) {
      context.undeclared(name, {cursor.position(), cursor.position() + 1});
    }
    targets.push_back(context.intern(name));
    cursor.next();
  } while (cursor.accept(TokenKind::Comma));
  if (!cursor.expect(TokenKind::Semicolon)) return std::nullopt;
  return targets;
}

// .callprototype (ret) _ (params) directives;
std::optional<ir::CallPrototype> parse_call_prototype(ParseContext& context) {
  Cursor& cursor = context.cursor;
  cursor.next();
  ir::CallPrototype prototype;
  const auto list = [&](std::vector<ir::Variable>& to) {
    if (!cursor.at(TokenKind::ParenOpen)) return true;
    auto parameters = parse_parameters(context, true);
    if (parameters) to = std::move(*parameters);
    return parameters.has_value();
  };
  if (!list(prototype.returns)) return std::nullopt;
  if (!cursor.accept(TokenKind::Underscore)) {
    cursor.fail_expected("'_'");
    return std::nullopt;
  }
  if (!list(prototype.parameters) ||
      !parse_function_directives(context, prototype.directives, isa::DirectivePlace::Prototype) ||
      !cursor.expect(TokenKind::Semicolon)) {
    return std::nullopt;
  }
  return prototype;
}

}  // namespace pyptx::syntax
