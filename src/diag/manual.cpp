// SPDX-License-Identifier: Apache-2.0
//
// Which section of the PTX manual a kind is about, and anchors in readable words. An anchor is made
// from titles (blanks and dots become dashes), so most of it can be read back; what cannot is which
// dashes were dots, which matters only for the instruction at the end of
// "...-instructions-cp-async-bulk".
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::diag {
namespace {

/// Words that titles write in a way of their own.
struct Word {
  std::string_view anchor;
  std::string_view title;
};
constexpr auto kWords = std::to_array<Word>({
    {"and", "and"},
    {"of", "of"},
    {"the", "the"},
    {"with", "with"},
    {"for", "for"},
    {"to", "to"},
    {"ptx", "PTX"},
    {"isa", "ISA"},
    {"cta", "CTA"},
    {"simd", "SIMD"},
    {"tensorcore", "TensorCore"},
    {"tcgen05", "tcgen05"},
    {"mbarrier", "mbarrier"},
});

std::string titled(std::string_view word) {
  for (const Word& known : kWords) {
    if (known.anchor == word) return std::string(known.title);
  }
  std::string title(word);
  if (!title.empty()) {
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  }
  return title;
}

std::string titled_words(std::string_view anchor) {
  std::string title;
  while (!anchor.empty()) {
    const std::size_t end = anchor.find('-');
    if (!title.empty()) title += ' ';
    title += titled(anchor.substr(0, end));
    if (end == std::string_view::npos) break;
    anchor.remove_prefix(end + 1);
  }
  return title;
}

/// "cp-async-bulk" -> "cp.async.bulk"; a second page on one instruction ends in "-2".
std::string dotted(std::string_view anchor) {
  if (anchor.size() > 2 && anchor[anchor.size() - 2] == '-' && anchor.back() >= '2' &&
      anchor.back() <= '9') {
    anchor.remove_suffix(2);
  }
  std::string text(anchor);
  for (char& c : text) {
    if (c == '-') c = '.';
  }
  return text;
}

}  // namespace

std::string_view section_of(Kind kind) {
  switch (kind) {
    case Kind::StrayByte:
    case Kind::UnknownCharacter:
    case Kind::UnterminatedString:
      return "source-format";
    case Kind::UnterminatedComment:
      return "comments";
    case Kind::MalformedNumber:
      return "constants";
    case Kind::IntegerTooLarge:
    case Kind::IntegerCut:
      return "integer-constants";
    case Kind::ExpectedToken:
    case Kind::UnclosedBlock:
      return "statements";
    case Kind::UnknownDirective:
    case Kind::DirectiveValue:
      return "directive-statements";
    case Kind::UnknownName:
    case Kind::DuplicateName:
      return "identifiers";
    case Kind::ConstantExpression:
      return "constant-expressions";
    case Kind::UnknownType:
      return "fundamental-types";
    case Kind::Initializer:
      return "initializers";
    case Kind::UnknownOpcode:
      return "instruction-statements";
    case Kind::UnknownTarget:
      return "ptx-module-directives-target";
    case Kind::UnknownVersion:
      return "ptx-module-directives-version";
    default:
      return {};
  }
}

std::string manual_title(std::string_view anchor) {
  for (const std::string_view chapter : {"-instructions-", "-directives-"}) {
    const std::size_t split = anchor.find(chapter);
    if (split == std::string_view::npos) continue;
    const std::string_view rest = anchor.substr(split + chapter.size());
    std::string title = titled_words(anchor.substr(0, split + chapter.size() - 1)) + ": ";
    if (chapter == "-directives-") title += '.';
    return title + dotted(rest);
  }
  return titled_words(anchor);
}

}  // namespace pyptx::diag
