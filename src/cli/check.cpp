// SPDX-License-Identifier: Apache-2.0
//
// pyptx check: every finding of every file, for people (text with carets) or for machines (one JSON
// object per line).
#include <charconv>
#include <cstddef>
#include <ostream>

#include "arguments.h"
#include "color.h"
#include "file.h"
#include "pyptx/diag/render.h"
#include "pyptx/text/text.h"
#include "subcommands.h"

namespace pyptx::cli {
namespace {

constexpr std::string_view kCheckHelp =
    "usage: pyptx check [options] FILE...      ('-' reads standard input)\n\n"
    "Verifies PTX text: syntax, names, types, operands, targets and versions, calls and labels.\n\n"
    "  --lint         also what assembles but is not by the manual (order, spelling)\n"
    "  --json         one JSON object per finding and line\n"
    "  --max N        stop after N findings per file (default 100; 0: all)\n"
    "  --color WHEN   auto (default), always, never\n\n"
    "Exit status: 0 no errors, 1 errors, 2 wrong use or an unreadable file.\n";

struct Count {
  std::size_t errors = 0;
  std::size_t others = 0;
};

Count show(const text::Checked& checked, const Arguments& arguments, bool is_colored,
           Streams& streams) {
  Count count;
  const diag::LocationTable& locations = checked.document.module().locations;
  for (const diag::Diagnostic& diagnostic : checked.diagnostics) {
    const bool is_error = diagnostic.severity() == diag::Severity::Error;
    ++(is_error ? count.errors : count.others);
    if (arguments.has("--json")) {
      streams.out << diag::to_json(diagnostic, &locations) << '\n';
    } else {
      streams.out << diag::render(diagnostic, &locations, {.color = is_colored}) << '\n';
    }
  }
  return count;
}

void summarize(const Count& total, std::size_t files, Streams& streams) {
  streams.out << total.errors << (total.errors == 1 ? " error" : " errors");
  if (total.others > 0) {
    streams.out << " and " << total.others << (total.others == 1 ? " remark" : " remarks");
  }
  streams.out << " in " << files << (files == 1 ? " file" : " files") << '\n';
}

}  // namespace

int check(std::span<const std::string> words, Streams& streams) {
  std::string problem;
  const auto arguments =
      read_arguments(words, {{"--lint", "--json", "--help"}, {"--max", "--color"}}, problem);
  if (!arguments) return usage_error(streams, "check", problem);
  if (arguments->has("--help")) {
    streams.out << kCheckHelp;
    return kSuccess;
  }
  if (arguments->positional.empty()) return usage_error(streams, "check", "no file was named");
  const auto is_colored = wants_color(arguments->option("--color").value_or("auto"), streams);
  if (!is_colored) return usage_error(streams, "check", "--color is auto, always or never");
  text::CheckOptions options;
  options.lint = arguments->has("--lint");
  if (const auto limit = arguments->option("--max")) {
    const auto [end, error] =
        std::from_chars(limit->data(), limit->data() + limit->size(), options.max_diagnostics);
    if (error != std::errc() || end != limit->data() + limit->size()) {
      return usage_error(streams, "check", "--max is a number");
    }
  }

  Count total;
  bool is_readable = true;
  for (const std::string& path : arguments->positional) {
    const auto bytes = read_file(path, streams);
    if (!bytes) {
      is_readable = false;
      continue;
    }
    const text::Checked checked = text::check(*bytes, path == "-" ? "<stdin>" : path, options);
    const Count count = show(checked, *arguments, *is_colored, streams);
    total.errors += count.errors;
    total.others += count.others;
  }
  if (!arguments->has("--json")) summarize(total, arguments->positional.size(), streams);
  if (!is_readable) return kUsageError;
  return total.errors == 0 ? kSuccess : kInputErrors;
}

}  // namespace pyptx::cli
