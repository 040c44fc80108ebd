// SPDX-License-Identifier: Apache-2.0
//
// Our judge as a batch program, beside ptxas: reads PTX modules (the same files that ptxas gets)
// and prints, for each line with an error, the line number, the code and the message, separated by
// tabs; "=" alone ends the answer for a file. Paths come as arguments, or one per line on standard
// input when there are none, so that one process can serve a whole run.
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pyptx/isa/spelling.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/verify/instruction.h"
#include "pyptx/verify/module.h"

namespace {

/// An error and where it stands in the text.
struct Finding {
  std::size_t at;
  const pyptx::diag::Diagnostic* diagnostic;
};

void collect(const pyptx::diag::Diagnostics& diagnostics, const pyptx::ir::Module& module,
             std::vector<Finding>& findings) {
  for (const auto& diagnostic : diagnostics) {
    if (diagnostic.severity() != pyptx::diag::Severity::Error) continue;
    const auto range = module.locations.range(diagnostic.loc);
    findings.push_back({range ? range->begin : 0, &diagnostic});
  }
}

/// One row for each line with an error, the first error of the line. Lines are counted once.
void print(const std::string& text, std::vector<Finding> findings) {
  std::ranges::stable_sort(findings, {}, &Finding::at);
  std::ptrdiff_t line = 1;
  std::ptrdiff_t last_line = 0;
  std::size_t counted = 0;
  for (const Finding& finding : findings) {
    line += std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                       text.begin() + static_cast<std::ptrdiff_t>(finding.at), '\n');
    counted = finding.at;
    if (line == last_line) continue;
    last_line = line;
    std::cout << line << '\t' << finding.diagnostic->code() << '\t' << finding.diagnostic->message()
              << '\n';
  }
}

bool judge(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    std::cerr << "verdict: cannot read " << path << '\n';
    return false;
  }
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  pyptx::verify::InstructionJudge judge;
  pyptx::syntax::ParseOptions parsing;
  parsing.judge = &judge;
  parsing.detail = pyptx::isa::Detail::Verdict;
  parsing.max_diagnostics = std::numeric_limits<std::size_t>::max();
  parsing.detail = pyptx::isa::Detail::Verdict;
  const auto outcome = pyptx::syntax::parse_all(text, path, parsing);
  pyptx::verify::ModuleOptions options;
  options.warnings = false;
  options.lints = false;
  options.max_diagnostics = std::numeric_limits<std::size_t>::max();
  const auto whole = pyptx::verify::verify_module(*outcome.module, options);
  std::vector<Finding> findings;
  collect(outcome.diagnostics, *outcome.module, findings);
  collect(whole, *outcome.module, findings);
  print(text, std::move(findings));
  std::cout << "=" << std::endl;
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  bool is_ok = true;
  for (int i = 1; i < count; ++i) is_ok = judge(arguments[i]) && is_ok;
  std::string path;
  while (count < 2 && std::getline(std::cin, path)) is_ok = judge(path) && is_ok;
  return is_ok ? 0 : 1;
}
