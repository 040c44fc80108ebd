// SPDX-License-Identifier: Apache-2.0
//
// Chooses the subcommand. Each one lives in a file of its own.
#include "pyptx/cli/command.h"

#include <array>
#include <ostream>
#include <string_view>

#include "pyptx/diag/exception.h"
#include "pyptx/diag/render.h"
#include "pyptx/version.h"
#include "subcommands.h"

namespace pyptx::cli {
namespace {

using Run = int (*)(std::span<const std::string>, Streams&);

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  Run run;
};

constexpr std::array kSubcommands{
    Subcommand{"check", "verify PTX files and show what is wrong, with the place and the remedy",
               check},
    Subcommand{"fmt", "print PTX files in canonical form", fmt},
    Subcommand{"run", "run an entry of a PTX file on the CPU emulator", run_entry},
    Subcommand{"explain", "tell what a diagnostic code means", explain},
    Subcommand{"doctor", "tell what this machine has: driver, compilers, cache, and what to do",
               doctor_here},
    Subcommand{"view", "show a kernel as a page: source, PTX and SASS side by side",
               view_elsewhere},
    Subcommand{"sass", "print the machine code of a kernel or a file", sass_elsewhere},
    Subcommand{"isa", "tell what the instruction table knows of an instruction", isa},
    Subcommand{"layout", "draw where instructions, swizzles, descriptors and copies put elements",
               layout_elsewhere},
};

void help(std::ostream& out) {
  out << "usage: pyptx <command> [options]\n\n";
  for (const Subcommand& entry : kSubcommands) {
    out << "  " << entry.name << std::string(10 - entry.name.size(), ' ') << entry.summary << '\n';
  }
  out << "\n'pyptx <command> --help' tells the options of one.\n";
}

}  // namespace

int usage_error(Streams& streams, std::string_view command, std::string_view problem) {
  streams.err << "pyptx " << command << ": " << problem << "; see 'pyptx " << command
              << " --help'\n";
  return kUsageError;
}

int run(std::span<const std::string> words, Streams streams) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    help(words.empty() ? streams.err : streams.out);
    return words.empty() ? kUsageError : kSuccess;
  }
  if (words[0] == "--version") {
    streams.out << "pyptx " PYPTX_VERSION "\n";
    return kSuccess;
  }
  try {
    for (const Subcommand& entry : kSubcommands) {
      if (entry.name == words[0]) return entry.run(words.subspan(1), streams);
    }
  } catch (...) {
    streams.err << diag::words_of_current_exception().text << '\n';
    return kInputErrors;
  }
  streams.err << "pyptx: unknown command '" << words[0] << "'; see 'pyptx --help'\n";
  return kUsageError;
}

}  // namespace pyptx::cli
