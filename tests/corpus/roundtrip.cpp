// SPDX-License-Identifier: Apache-2.0
//
// roundtrip INPUT CANONICAL: reads a PTX file, says on standard output what does not hold, one line
// each, and writes the canonical print to CANONICAL. What must hold: no error is found, the
// lossless print is the input byte for byte, and the canonical print reads back to itself. No
// assembler here: corpus.py compares the machine code of both texts.
#include <cstddef>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "pyptx/syntax/document.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/verify/instruction.h"
#include "pyptx/verify/module.h"

namespace {

using pyptx::diag::Diagnostics;

bool is_ok = true;

void complain(std::string_view what) {
  is_ok = false;
  for (const char c : what) std::cout << (c == '\n' ? ' ' : c);
  std::cout << '\n';
}

void complain(const pyptx::ir::Module& module, const Diagnostics& diagnostics,
              std::string_view what) {
  for (const auto& diagnostic : diagnostics) {
    if (diagnostic.severity() != pyptx::diag::Severity::Error) continue;
    const auto place = module.locations.resolve(diagnostic.loc, diagnostic.focus);
    complain(std::string(what) + " line " + std::to_string(place ? place->line : 0) + ": " +
             std::string(diagnostic.code()) + " " + diagnostic.message());
  }
}

pyptx::syntax::Document read(const std::string& text, const char* name, std::string_view what) {
  pyptx::verify::InstructionJudge judge;
  pyptx::syntax::ParseOptions options;
  options.judge = &judge;
  auto document = pyptx::syntax::Document::read(text, name, options);
  complain(document.module(), document.diagnostics(), what);
  return document;
}

void compare(std::string_view expected, std::string_view printed, std::string_view what) {
  if (expected == printed) return;
  std::size_t at = 0;
  while (at < expected.size() && at < printed.size() && expected[at] == printed[at]) ++at;
  complain(std::string(what) + " differs at byte " + std::to_string(at) + ": '" +
           std::string(expected.substr(at, 40)) + "' became '" +
           std::string(printed.substr(at, 40)) + "'");
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: roundtrip INPUT CANONICAL\n";
    return 2;
  }
  std::ifstream stream(arguments[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const auto document = read(text, arguments[1], "input");
  complain(document.module(), pyptx::verify::verify_module(document.module()), "input");
  compare(text, pyptx::syntax::print(document), "the lossless print");

  if (!is_ok) return 1;

  const std::string canonical = pyptx::syntax::print(document.module());
  std::ofstream(arguments[2], std::ios::binary) << canonical;
  const auto again = read(canonical, arguments[2], "canonical print");
  compare(canonical, pyptx::syntax::print(again.module()), "the canonical print of itself");
  return is_ok ? 0 : 1;
}
