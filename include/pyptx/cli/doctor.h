// SPDX-License-Identifier: Apache-2.0
//
// `pyptx doctor`: what this machine has of what kernels need, and what to do about the rest. The
// core knows the driver, the compilers, the cache and the emulator; the Python package adds what it
// knows of itself and of the frameworks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/cli/command.h"

namespace pyptx::cli {

/// One thing that was looked for.
struct Finding {
  /// Absent: not there, which is no fault in itself. Broken: there, or asked for, and of no use.
  enum class State : std::uint8_t { Good, Absent, Broken };

  std::string part;     // "driver", "compiler", "cache", "framework", ...
  std::string subject;  // "ptxas 13.4.92"
  State state = State::Good;
  std::string detail;  // a line for people
  std::string remedy;  // what to do; empty when nothing need be done
  /// What a program may want of it: ("path", "/usr/bin/ptxas"), ("ptx", "9.4").
  std::vector<std::pair<std::string, std::string>> facts;
};

/// A word for it.
std::string_view text(Finding::State state);

/// What the core can tell. Asks the driver and runs compilers, so it takes a moment.
std::vector<Finding> examine();

/// Runs `pyptx doctor <words>` on what examine() and somebody else found. Exit status: 0 nothing is
/// broken and all that --require names is there, 1 otherwise, 2 wrong use.
int doctor(std::span<const std::string> words, Streams& streams, std::span<const Finding> more);

}  // namespace pyptx::cli
