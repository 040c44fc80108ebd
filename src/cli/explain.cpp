// SPDX-License-Identifier: Apache-2.0
//
// pyptx explain: the long story of a diagnostic code, or the list of all codes.
#include <algorithm>
#include <cctype>
#include <ostream>

#include "arguments.h"
#include "pyptx/diag/explain.h"
#include "subcommands.h"

namespace pyptx::cli {
namespace {

constexpr std::string_view kExplainHelp =
    "usage: pyptx explain [CODE...]\n\n"
    "Tells what a code such as PTX0206, or 0206, means, with an example and the remedy; without\n"
    "a code, lists them all.\n";

void list_codes(std::ostream& out) {
  for (const diag::Kind kind : diag::all_kinds()) {
    out << diag::info(kind).code << "  " << diag::explanation(kind).title << '\n';
  }
}

}  // namespace

int explain(std::span<const std::string> words, Streams& streams) {
  std::string problem;
  const auto arguments = read_arguments(words, {{"--help"}, {}}, problem);
  if (!arguments) return usage_error(streams, "explain", problem);
  if (arguments->has("--help")) {
    streams.out << kExplainHelp;
    return kSuccess;
  }
  if (arguments->positional.empty()) list_codes(streams.out);
  for (std::string code : arguments->positional) {
    std::ranges::transform(code, code.begin(), [](unsigned char c) { return std::toupper(c); });
    const auto kind = diag::kind_from_code(code.starts_with("PTX") ? code : "PTX" + code);
    if (!kind) {
      return usage_error(streams, "explain", "there is no code '" + code + "'");
    }
    streams.out << diag::explain(*kind);
  }
  return kSuccess;
}

}  // namespace pyptx::cli
