// SPDX-License-Identifier: Apache-2.0
//
// pyptx fmt: the canonical text of PTX files. A file with syntax errors is shown, never rewritten.
#include <ostream>

#include "arguments.h"
#include "color.h"
#include "file.h"
#include "pyptx/diag/render.h"
#include "pyptx/text/text.h"
#include "subcommands.h"

namespace pyptx::cli {
namespace {

constexpr std::string_view kFmtHelp =
    "usage: pyptx fmt [options] FILE...      ('-' reads standard input)\n\n"
    "Prints PTX in canonical form: one statement per line, instructions indented by a tab, labels\n"
    "at column 0, integers in decimal, floating-point literals in their exact hexadecimal form.\n\n"
    "  -i, --in-place  rewrite the files instead of printing\n"
    "  --check         print the names of files that are not in canonical form\n"
    "  --color WHEN    auto (default), always, never\n\n"
    "Exit status: 0 done (with --check: all canonical), 1 syntax errors or not canonical,\n"
    "2 wrong use or an unreadable file.\n";

enum class Mode { Print, InPlace, Check };

int format_file(const std::string& path, Mode mode, bool is_colored, Streams& streams) {
  const auto bytes = read_file(path, streams);
  if (!bytes) return kUsageError;
  const syntax::Document document = text::parse(*bytes, path == "-" ? "<stdin>" : path);
  if (!document.diagnostics().empty()) {
    streams.err << diag::render(document.diagnostics(), &document.module().locations,
                                {.color = is_colored})
                << '\n';
    return kInputErrors;
  }
  const std::string canonical = text::format(document);
  switch (mode) {
    case Mode::Print:
      streams.out << canonical;
      return kSuccess;
    case Mode::InPlace:
      if (canonical == *bytes) return kSuccess;
      return replace_file(path, canonical, streams) ? kSuccess : kUsageError;
    case Mode::Check:
      if (canonical == *bytes) return kSuccess;
      streams.out << path << '\n';
      return kInputErrors;
  }
  return kSuccess;
}

}  // namespace

int fmt(std::span<const std::string> words, Streams& streams) {
  std::string problem;
  const auto arguments =
      read_arguments(words, {{"-i", "--in-place", "--check", "--help"}, {"--color"}}, problem);
  if (!arguments) return usage_error(streams, "fmt", problem);
  if (arguments->has("--help")) {
    streams.out << kFmtHelp;
    return kSuccess;
  }
  if (arguments->positional.empty()) return usage_error(streams, "fmt", "no file was named");
  const auto is_colored = wants_color(arguments->option("--color").value_or("auto"), streams);
  if (!is_colored) return usage_error(streams, "fmt", "--color is auto, always or never");
  const bool is_in_place = arguments->has("-i") || arguments->has("--in-place");
  if (is_in_place && arguments->has("--check")) {
    return usage_error(streams, "fmt", "--in-place and --check exclude each other");
  }
  const Mode mode =
      arguments->has("--check") ? Mode::Check : (is_in_place ? Mode::InPlace : Mode::Print);
  int status = kSuccess;
  for (const std::string& path : arguments->positional) {
    if (mode == Mode::InPlace && path == "-") {
      return usage_error(streams, "fmt", "standard input cannot be rewritten in place");
    }
    status = std::max(status, format_file(path, mode, *is_colored, streams));
  }
  return status;
}

}  // namespace pyptx::cli
