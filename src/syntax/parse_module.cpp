// SPDX-License-Identifier: Apache-2.0
#include "parse_module.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "constant_expression.h"
#include "parse_declaration.h"

namespace pyptx::syntax {
namespace {

constexpr auto kTargetOptions = std::to_array<std::string_view>(
    {"texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"});

}  // namespace

void ModuleParser::parse() {
  comments();
  const std::uint32_t header_token = cursor_.position();
  // Without its header a text is something else: going on would only add noise.
  if (!header()) return;
  add(ir::ItemKind::Header, 0, header_token);
  while (true) {
    comments();
    if (cursor_.at(TokenKind::EndOfText)) return;
    const std::uint32_t first = cursor_.position();
    if (!item()) cursor_.skip_item(first);
  }
}

void ModuleParser::comments() {
  cursor_.take_comments([&](const Comment& comment, std::string_view text) {
    comment_lines(comment, text, [&](bool is_marker, std::string_view line) {
      add(is_marker ? ir::ItemKind::Verbatim : ir::ItemKind::Comment, context_.intern_index(line),
          cursor_.position());
    });
  });
}

void ModuleParser::add(ir::ItemKind kind, std::uint32_t index, std::uint32_t first) {
  context_.module.items.push_back({kind, index});
  context_.tokens.items.push_back(cursor_.since(first));
}

bool ModuleParser::header() {
  if (!version() || !target()) return false;
  context_.module.address_size = 0;
  return !cursor_.at_word(".address_size") || address_size();
}

bool ModuleParser::version() {
  if (!cursor_.accept_word(".version")) return cursor_.fail_expected("'.version'");
  const std::string text(cursor_.text());
  isa::Version version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  const bool point = major.ec == std::errc{} && major.ptr != end && *major.ptr == '.';
  const auto minor = std::from_chars(point ? major.ptr + 1 : end, end, version.minor);
  if (!cursor_.at(TokenKind::Decimal) || !point || minor.ec != std::errc{} || minor.ptr != end) {
    return cursor_.fail_expected("a version such as 8.7");
  }
  const auto known = isa::all_versions();
  if (std::ranges::find(known, version) == known.end()) {
    return cursor_.fail(diag::Diagnostic(diag::Kind::UnknownVersion, {text}));
  }
  context_.module.version = version;
  cursor_.next();
  return true;
}

bool ModuleParser::target() {
  if (!cursor_.accept_word(".target")) return cursor_.fail_expected("'.target'");
  if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("a target such as sm_90a");
  const auto target = isa::Target::parse(cursor_.text());
  if (!target) {
    return cursor_.fail(diag::Diagnostic(diag::Kind::UnknownTarget, {std::string(cursor_.text())}));
  }
  context_.module.target = *target;
  cursor_.next();
  while (cursor_.accept(TokenKind::Comma)) {
    const std::string_view option = cursor_.text();
    if (std::ranges::find(kTargetOptions, option) == kTargetOptions.end()) {
      return cursor_.fail_expected("a target option such as debug");
    }
    context_.module.target_options.push_back(context_.intern(option));
    cursor_.next();
  }
  return true;
}

bool ModuleParser::address_size() {
  cursor_.next();
  const std::uint32_t token = cursor_.position();
  const auto size = parse_integer_literal(cursor_);
  if (!size) return false;
  if (*size != 32 && *size != 64) {
    return cursor_.fail(diag::Diagnostic(diag::Kind::DirectiveValue,
                                         {".address_size", "32 or 64", std::to_string(*size)}),
                        {token, token + 1});
  }
  context_.module.address_size = static_cast<std::uint8_t>(*size);
  return true;
}

bool ModuleParser::item() {
  if (!cursor_.at(TokenKind::DotWord)) return cursor_.fail_expected("a directive");
  const std::uint32_t first = cursor_.position();
  const std::string_view word = cursor_.text();
  if (const auto linkage = linkage_of(word)) {
    cursor_.next();
    return linked_item(*linkage);
  }
  if (word == ".entry" || word == ".func") return function(ir::Linkage::None, first);
  if (word == ".pragma") return pragma(first);
  if (is_verbatim_directive(word)) {
    if (!skip_verbatim_directive(cursor_)) return false;
    add(ir::ItemKind::Verbatim, context_.intern_index(cursor_.normalized(cursor_.since(first))),
        first);
    return true;
  }
  if (word == ".texref" || word == ".samplerref" || word == ".surfref") {
    return cursor_.fail(diag::Diagnostic(diag::Kind::UnsupportedSyntax,
                                         {"a '" + std::string(word) + "' variable"}));
  }
  if (space_of(word) && word != ".reg") return variables(ir::Linkage::None, first);
  return cursor_.fail(diag::Diagnostic(diag::Kind::UnknownDirective, {std::string(word)}));
}

bool ModuleParser::linked_item(ir::Linkage linkage) {
  const std::uint32_t first = cursor_.position() - 1;
  if (cursor_.at_word(".entry") || cursor_.at_word(".func")) return function(linkage, first);
  if (cursor_.at(TokenKind::DotWord) && space_of(cursor_.text()) && !cursor_.at_word(".reg")) {
    return variables(linkage, first);
  }
  return cursor_.fail_expected("'.entry', '.func' or a state space");
}

bool ModuleParser::variables(ir::Linkage linkage, std::uint32_t first) {
  auto parsed = parse_variables(context_, linkage);
  if (!parsed) return false;
  for (ir::Variable& variable : *parsed) {
    const auto index = static_cast<std::uint32_t>(context_.module.variables.size());
    const bool fresh = context_.names.declare(variable.name, Name::Kind::ModuleVariable, index);
    if (!fresh && linkage != ir::Linkage::Extern) {
      const std::string text(context_.module.text(variable.name));
      cursor_.fail(diag::Diagnostic(diag::Kind::DuplicateName, {text}), cursor_.since(first));
      continue;
    }
    context_.module.variables.push_back(std::move(variable));
    add(ir::ItemKind::Variable, index, first);
  }
  return true;
}

bool ModuleParser::function(ir::Linkage linkage, std::uint32_t first) {
  const auto index = static_cast<std::uint32_t>(context_.module.functions.size());
  auto made = std::make_unique<ir::Function>();
  made->linkage = linkage;
  FunctionTokens tokens;
  ir::Function& parsed = *context_.module.functions.emplace_back(std::move(made));
  const bool ok = FunctionParser(context_, parsed, tokens, spellings_).parse();
  if (!ok) {
    context_.module.functions.pop_back();
    return false;
  }
  tokens.whole = cursor_.since(first);
  context_.tokens.functions.push_back(std::move(tokens));
  add(ir::ItemKind::Function, index, first);
  return true;
}

bool ModuleParser::pragma(std::uint32_t first) {
  const auto texts = parse_pragma(cursor_);
  if (!texts) return false;
  for (const std::string_view text : *texts) {
    add(ir::ItemKind::Pragma, context_.intern_index(text), first);
  }
  return true;
}

}  // namespace pyptx::syntax
