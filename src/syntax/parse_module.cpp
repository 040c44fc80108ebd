// SPDX-License-Identifier: Apache-2.0
#include "parse_module.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constant_expression.h"
#include "parse_declaration.h"
#include "parse_directive.h"
#include "pyptx/isa/directive.h"

namespace pyptx::syntax {
namespace {

bool begins_part(std::string_view word) {
  static constexpr std::string_view kWords[] = {
      ".version", ".target", ".address_size", ".entry", ".func",
      ".pragma",  ".file",   ".section",      ".alias", ".nv_intermediate_source_section"};
  return std::ranges::find(kWords, word) != std::end(kWords) || linkage_of(word) ||
         (space_of(word) && word != ".reg");
}

}  // namespace

void ModuleParser::parse() {
  context_.module.address_size = 0;
  if (context_.options.recover) {
    recover_header();
  } else {
    part(&ModuleParser::header);
  }
  while (!cursor_.at(TokenKind::EndOfText)) part(&ModuleParser::item);
  cursor_.take_comments(cursor_.position(), [&](const Comment& comment, std::uint32_t index) {
    context_.module.items.push_back(
        comment_part<ir::Item>(context_, comment, index, cursor_.position()));
  });
}

// One part of the module with the comments before and inside it.
void ModuleParser::part(bool (ModuleParser::*read)()) {
  std::vector<ir::Item>& items = context_.module.items;
  const std::uint32_t first = cursor_.position();
  const auto take = [&](std::uint32_t until, std::vector<ir::Item>& to) {
    cursor_.take_comments(until, [&](const Comment& comment, std::uint32_t index) {
      to.push_back(comment_part<ir::Item>(context_, comment, index, first));
    });
  };
  take(first, items);
  if (cursor_.is_full()) {
    cursor_.give_up();
    return error(first);
  }
  const std::size_t size = items.size();
  if (!(this->*read)()) {
    items.resize(size);
    // Without its header a text is something else: going on would only add noise.
    if (read == &ModuleParser::header) {
      cursor_.move_to(cursor_.last());
    } else if (context_.options.recover && !word_of(read).empty()) {
      skip_to_item(first, word_of(read));
    } else {
      cursor_.skip_item(first);
    }
    error(first);
  } else if (cursor_.position() != first && cursor_.has_comments(cursor_.position() - 1)) {
    std::vector<ir::Item> inner;
    take(cursor_.position() - 1, inner);
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(size), inner.begin(), inner.end());
  }
}

// What could not be read, with the comments in it.
void ModuleParser::error(std::uint32_t first) {
  if (cursor_.position() == first) return;
  add(ir::ItemKind::Error, 0, cursor_.since(first));
  cursor_.take_comments(cursor_.position() - 1, [](const Comment&, std::uint32_t) {});
}

// Where it cannot be read as a whole, each directive of the header for itself: a broken one says
// nothing about the others.
void ModuleParser::recover_header() {
  const Cursor::Mark begin = cursor_.mark();
  const bool reads = header();
  cursor_.go_back(begin);
  context_.module.items.clear();
  context_.module.target_options.clear();
  if (reads) return part(&ModuleParser::header);
  part(&ModuleParser::version_part);
  if (!cursor_.at(TokenKind::EndOfText)) part(&ModuleParser::target_part);
  if (cursor_.at_word(".address_size")) part(&ModuleParser::address_size_part);
}

std::string_view ModuleParser::word_of(bool (ModuleParser::*read)()) {
  if (read == &ModuleParser::version_part) return ".version";
  if (read == &ModuleParser::target_part) return ".target";
  return read == &ModuleParser::address_size_part ? ".address_size" : "";
}

// From a directive of the header that cannot be read to the next word that begins a part of a
// module. A directive that is missing takes nothing with it.
void ModuleParser::skip_to_item(std::uint32_t first, std::string_view word) {
  cursor_.move_to(first);
  if (cursor_.at_word(word)) cursor_.next();
  while (!cursor_.at(TokenKind::EndOfText)) {
    if (cursor_.at(TokenKind::DotWord) && begins_part(cursor_.text())) return;
    cursor_.next();
  }
}

bool ModuleParser::header_part(bool (ModuleParser::*read)()) {
  const std::uint32_t first = cursor_.position();
  if (!(this->*read)()) return false;
  add(ir::ItemKind::Header, 0, cursor_.since(first));
  return true;
}

bool ModuleParser::header() {
  const std::uint32_t first = cursor_.position();
  if (!version() || !target()) return false;
  if (cursor_.at_word(".address_size") && !address_size()) return false;
  add(ir::ItemKind::Header, 0, cursor_.since(first));
  return true;
}

// Without a version and a target there is nothing to judge instructions against.
void ModuleParser::unknown_header(diag::Diagnostic diagnostic) {
  cursor_.report(std::move(diagnostic), {cursor_.position(), cursor_.position() + 1});
  context_.judge = nullptr;
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
    unknown_header(diag::Diagnostic(diag::Kind::UnknownVersion, {text}));
  }
  context_.module.version = version;
  context_.module.version_loc = cursor_.loc_here();
  cursor_.next();
  return true;
}

bool ModuleParser::target() {
  if (!cursor_.accept_word(".target")) return cursor_.fail_expected("'.target'");
  if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("a target such as sm_90a");
  const auto target = isa::Target::parse(cursor_.text());
  if (!target) {
    const std::string text(cursor_.text());
    context_.module.unknown_target = context_.intern(text);
    unknown_header(
        diag::Diagnostic(diag::Kind::UnknownTarget, {text}).suggest(text, isa::target_names()));
  }
  context_.module.target = target.value_or(isa::Target{});
  context_.module.target_loc = cursor_.loc_here();
  cursor_.next();
  while (cursor_.accept(TokenKind::Comma)) {
    const std::string_view option = cursor_.text();
    if (isa::find_target_option(option) == nullptr) {
      return cursor_.fail_expected("a target option such as debug");
    }
    context_.module.target_options.push_back({context_.intern(option), cursor_.loc_here()});
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
  ir::Module& module = context_.module;
  if (const auto linkage = linkage_of(word)) {
    cursor_.next();
    return linked_item(*linkage);
  }
  if (word == ".entry" || word == ".func") return function(ir::Linkage::None, first);
  if (word == ".pragma") return pragma();
  if (word == ".file") return add(ir::ItemKind::File, module.files, parse_file(context_), first);
  if (word == ".section") {
    return add(ir::ItemKind::Section, module.sections, parse_section(context_), first);
  }
  if (word == ".alias") {
    return add(ir::ItemKind::Alias, module.aliases, parse_alias(context_), first);
  }
  if (word == ".nv_intermediate_source_section") {
    return add(ir::ItemKind::IntermediateSources, module.intermediate_sources,
               parse_intermediate_sources(context_), first);
  }
  if (space_of(word) && word != ".reg") return variables(ir::Linkage::None, first);
  return context_.unknown_directive();
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
  auto parsed = parse_variables(context_, linkage, first);
  if (!parsed) return false;
  for (DeclaredVariable& declared : *parsed) {
    ir::Variable& variable = declared.variable;
    const auto index = static_cast<std::uint32_t>(context_.module.variables.size());
    const auto earlier = context_.declare(variable, Name::Kind::ModuleVariable, index);
    // Whether a variable may be declared again is the verifier's business.
    if (earlier && context_.names.find(context_.module.text(variable.name)).kind !=
                       Name::Kind::ModuleVariable) {
      context_.duplicate(variable.name, declared.tokens, *earlier);
    }
    context_.module.variables.push_back(std::move(variable));
    add(ir::ItemKind::Variable, index, declared.tokens);
  }
  return true;
}

bool ModuleParser::function(ir::Linkage linkage, std::uint32_t first) {
  const auto index = static_cast<std::uint32_t>(context_.module.functions.size());
  auto made = std::make_unique<ir::Function>();
  made->linkage = linkage;
  ir::Function& parsed = *context_.module.functions.emplace_back(std::move(made));
  if (!FunctionParser(context_, parsed, spellings_).parse(first)) {
    context_.module.functions.pop_back();
    return false;
  }
  add(ir::ItemKind::Function, index, cursor_.since(first));
  return true;
}

bool ModuleParser::pragma() {
  const auto pragmas = parse_pragma(context_);
  if (!pragmas) return false;
  for (const PragmaText& one : *pragmas) {
    add(ir::ItemKind::Pragma, context_.intern_index(one.text), one.tokens);
  }
  return true;
}

}  // namespace pyptx::syntax
