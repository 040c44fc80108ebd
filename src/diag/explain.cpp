// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/explain.h"

#include <array>
#include <cstddef>

namespace pyptx::diag {
namespace {

constexpr std::size_t kKindCount = 0
#define PYPTX_DIAGNOSTIC(name, code, severity, format) +1
#include "pyptx/diag/kinds.def"
#undef PYPTX_DIAGNOSTIC
    ;

constexpr std::array<Explanation, kKindCount> make_explanations() {
  using enum Example;
  std::array<Explanation, kKindCount> table{};
#define PYPTX_EXPLANATION(kind, ...) \
  table[static_cast<std::size_t>(Kind::kind)] = Explanation{__VA_ARGS__};
#include "explanations/assembler.def"
#include "explanations/calls.def"
#include "explanations/emulator.def"
#include "explanations/flow.def"
#include "explanations/interop.def"
#include "explanations/launch.def"
#include "explanations/layout.def"
#include "explanations/lexical.def"
#include "explanations/memory.def"
#include "explanations/operands.def"
#include "explanations/syntax.def"
#include "explanations/targets.def"
#include "explanations/tuning.def"
#undef PYPTX_EXPLANATION
  return table;
}

constexpr auto kExplanations = make_explanations();
constexpr std::size_t kPageColumns = 80;

void append_wrapped(std::string_view words, std::string& out) {
  std::size_t column = 0;
  while (!words.empty()) {
    const std::size_t length = std::min(words.find(' '), words.size());
    if (column != 0 && column + 1 + length > kPageColumns) {
      out += '\n';
      column = 0;
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    out += words.substr(0, length);
    column += length;
    words.remove_prefix(std::min(length + 1, words.size()));
  }
  out += '\n';
}

void append_example(std::string_view heading, std::string_view text, std::string& out) {
  out += '\n';
  out += heading;
  out += ":\n";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += "    ";
    out += text.substr(0, end);
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

const Explanation& explanation(Kind kind) { return kExplanations[static_cast<std::size_t>(kind)]; }

std::string explain(Kind kind) {
  const Explanation& page = explanation(kind);
  std::string out(text(info(kind).severity));
  out += "[" + std::string(info(kind).code) + "] " + std::string(page.title) + "\n";
  out += "  \"" + std::string(info(kind).format) + "\"\n\n";
  append_wrapped(page.meaning, out);
  append_example("Wrong", page.wrong, out);
  append_example("Right", page.right, out);
  out += "\nWhat to do: ";
  std::string remedy;
  append_wrapped(page.remedy, remedy);
  out += remedy;
  if (const std::string_view section = section_of(kind); !section.empty()) {
    out += "See: PTX ISA, " + manual_title(section) + " (" + std::string(section) + ")\n";
  }
  return out;
}

}  // namespace pyptx::diag
