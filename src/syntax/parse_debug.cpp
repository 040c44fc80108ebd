// SPDX-License-Identifier: Apache-2.0
//
// Debugging directives. Few of them have a terminator, so their extent follows from their grammar.
// PTX ISA, section 11.5 (Debugging Directives).
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "constant_expression.h"
#include "number.h"
#include "parse_directive.h"

namespace pyptx::syntax {
namespace {

std::optional<std::uint32_t> number(Cursor& cursor) {
  const std::uint32_t token = cursor.position();
  const auto value = parse_integer_literal(cursor);
  if (!value) return std::nullopt;
  if (*value <= std::numeric_limits<std::uint32_t>::max())
    return static_cast<std::uint32_t>(*value);
  cursor.fail(diag::Diagnostic(diag::Kind::DirectiveValue,
                               {"this number", "below 2^32", std::to_string(*value)}),
              {token, token + 1});
  return std::nullopt;
}

bool position(Cursor& cursor, ir::SourcePosition& to) {
  for (std::uint32_t* part : {&to.file, &to.line, &to.column}) {
    const auto value = number(cursor);
    if (!value) return false;
    *part = *value;
  }
  return true;
}

std::optional<ir::Symbol> string(ParseContext& context) {
  const auto text = context.cursor.take_string();
  if (!text) return std::nullopt;
  return context.intern(*text);
}

bool keyword(Cursor& cursor, std::string_view word) {
  if (!cursor.at_name(word)) return cursor.fail_expected("'" + std::string(word) + "'");
  cursor.next();
  return true;
}

std::uint8_t data_bytes(std::string_view word) {
  if (word == ".b8") return 1;
  if (word == ".b16") return 2;
  if (word == ".b32") return 4;
  return word == ".b64" ? 8 : 0;
}

class SectionParser {
 public:
  SectionParser(ParseContext& context, ir::Section& section)
      : context_(context), cursor_(context.cursor), section_(section) {}

  bool parse() {
    cursor_.next();
    if (!cursor_.at(TokenKind::DotWord)) return cursor_.fail_expected("the name of a section");
    section_.name = context_.intern(cursor_.text(cursor_.next()));
    const std::uint32_t open = cursor_.position();
    if (!cursor_.expect(TokenKind::BraceOpen)) return false;
    std::uint32_t close = open + 1;
    while (close < cursor_.last() && cursor_.token(close).kind != TokenKind::BraceClose) ++close;
    section_.entries.reserve((close - open) / 2);
    while (!cursor_.accept(TokenKind::BraceClose)) {
      if (cursor_.at(TokenKind::EndOfText)) {
        return cursor_.fail(diag::Diagnostic(diag::Kind::UnclosedBlock, {}), {open, open + 1});
      }
      if (!line()) return false;
    }
    return true;
  }

 private:
  bool line() {
    if (cursor_.at(TokenKind::Identifier) && cursor_.peek(1).kind == TokenKind::Colon) {
      ir::SectionEntry& label = section_.entries.emplace_back();
      label.kind = ir::SectionEntry::Kind::Label;
      label.a = context_.intern(cursor_.text(cursor_.next()));
      cursor_.next();
      return true;
    }
    const std::uint8_t bytes =
        cursor_.at(TokenKind::DotWord) ? data_bytes(cursor_.text()) : std::uint8_t{0};
    if (bytes == 0) return cursor_.fail_expected("'.b8', '.b16', '.b32', '.b64' or a label");
    cursor_.next();
    ir::SectionEntry first;
    first.bytes = bytes;
    const bool is_integer = cursor_.at(TokenKind::Integer) || cursor_.at(TokenKind::Minus);
    if (!(is_integer ? integer(first) : symbolic(first))) return false;
    section_.entries.push_back(first);
    // A list holds integers only.
    while (is_integer && cursor_.accept(TokenKind::Comma)) {
      ir::SectionEntry& entry = section_.entries.emplace_back();
      entry.bytes = bytes;
      entry.begins_directive = false;
      if (!integer(entry)) return false;
    }
    return true;
  }

  bool symbolic(ir::SectionEntry& entry) {
    if (entry.bytes < 4) return cursor_.fail_expected("an integer");
    switch (cursor_.kind()) {
      case TokenKind::Identifier:
        entry.kind = ir::SectionEntry::Kind::Symbol;
        entry.a = context_.intern(cursor_.text(cursor_.next()));
        if (!cursor_.accept(TokenKind::Minus)) return offset(entry);
        if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("a label");
        entry.kind = ir::SectionEntry::Kind::Difference;
        entry.b = context_.intern(cursor_.text(cursor_.next()));
        return true;
      case TokenKind::DotWord:
        entry.kind = ir::SectionEntry::Kind::Section;
        entry.a = context_.intern(cursor_.text(cursor_.next()));
        return offset(entry);
      default:
        return cursor_.fail_expected("a number, a label or the name of a section");
    }
  }

  bool integer(ir::SectionEntry& entry) {
    const bool negative = cursor_.accept(TokenKind::Minus);
    const auto value = parse_integer_literal(cursor_);
    if (!value) return false;
    entry.value = static_cast<std::int64_t>(negative ? 0 - *value : *value);
    return true;
  }

  bool offset(ir::SectionEntry& entry) {
    return !cursor_.accept(TokenKind::Plus) || integer(entry);
  }

  ParseContext& context_;
  Cursor& cursor_;
  ir::Section& section_;
};

// .code_block { .ir_name: "s" .sourceFileName: 1 .source_begin text .source_end }
bool code_block(ParseContext& context, ir::CodeBlock& block) {
  Cursor& cursor = context.cursor;
  const auto field = [&](std::string_view word) {
    if (!cursor.accept_word(word)) {
      return cursor.fail_expected("'" + std::string(word) + "'");
    }
    return cursor.expect(TokenKind::Colon);
  };
  cursor.next();
  if (!cursor.expect(TokenKind::BraceOpen) || !field(".ir_name")) return false;
  const auto name = string(context);
  if (!name || !field(".sourceFileName")) return false;
  const auto file = number(cursor);
  if (!file) return false;
  if (!cursor.accept_word(".source_begin")) return cursor.fail_expected("'.source_begin'");
  if (!cursor.at(TokenKind::RawText)) return cursor.fail_expected("the end of the line");
  block = {*name, *file, context.intern(cursor.text(cursor.next()))};
  if (!cursor.accept_word(".source_end")) return cursor.fail_expected("'.source_end'");
  return cursor.expect(TokenKind::BraceClose);
}

}  // namespace

// .loc file line column [, function_name label [+ offset], inlined_at file line column]
std::optional<ir::SourceLine> parse_line(ParseContext& context) {
  Cursor& cursor = context.cursor;
  ir::SourceLine line;
  line.intermediate = cursor.text(cursor.next()) == ".loc_intermediate";
  if (!position(cursor, line.position)) return std::nullopt;
  if (line.intermediate || !cursor.accept(TokenKind::Comma)) return line;
  if (!keyword(cursor, "function_name")) return std::nullopt;
  if (!cursor.at(TokenKind::Identifier)) {
    cursor.fail_expected("a label");
    return std::nullopt;
  }
  line.function_name = context.intern(cursor.text(cursor.next()));
  if (cursor.accept(TokenKind::Plus)) {
    const auto offset = parse_integer_literal(cursor);
    if (!offset) return std::nullopt;
    line.function_offset = static_cast<std::int64_t>(*offset);
  }
  if (!cursor.expect(TokenKind::Comma) || !keyword(cursor, "inlined_at") ||
      !position(cursor, line.inlined_at)) {
    return std::nullopt;
  }
  return line;
}

// .file number "name" [, time, size]
std::optional<ir::SourceFile> parse_file(ParseContext& context) {
  Cursor& cursor = context.cursor;
  cursor.next();
  ir::SourceFile file;
  const auto index = number(cursor);
  if (!index) return std::nullopt;
  file.number = *index;
  const auto name = string(context);
  if (!name) return std::nullopt;
  file.name = *name;
  if (!cursor.accept(TokenKind::Comma)) return file;
  const auto time = parse_integer_literal(cursor);
  if (!time || !cursor.expect(TokenKind::Comma)) return std::nullopt;
  const auto size = parse_integer_literal(cursor);
  if (!size) return std::nullopt;
  file.stamp = {*time, *size};
  return file;
}

std::optional<ir::Section> parse_section(ParseContext& context) {
  ir::Section section;
  if (!SectionParser(context, section).parse()) return std::nullopt;
  return section;
}

std::optional<ir::IntermediateSources> parse_intermediate_sources(ParseContext& context) {
  Cursor& cursor = context.cursor;
  cursor.next();
  ir::IntermediateSources sources;
  if (!cursor.expect(TokenKind::BraceOpen)) return std::nullopt;
  while (cursor.at_word(".code_block")) {
    if (!code_block(context, sources.blocks.emplace_back())) return std::nullopt;
  }
  if (!cursor.accept(TokenKind::BraceClose)) {
    cursor.fail_expected("'.code_block' or '}'");
    return std::nullopt;
  }
  return sources;
}

}  // namespace pyptx::syntax
