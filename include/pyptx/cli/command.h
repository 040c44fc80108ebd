// SPDX-License-Identifier: Apache-2.0
//
// The `pyptx` command as a function of its words and streams, so that the program, the Python
// console script and the tests run the same thing.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace pyptx::cli {

/// Where a command reads and writes.
struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool is_terminal = false;        // of `out`: colour unless told otherwise
  bool is_error_terminal = false;  // of `err`: a long run shows its progress there
  /// Asked now and then during a long run; true ends it.
  bool (*interrupt)() = nullptr;
};

/// Runs `pyptx <words>`. Returns the exit status: 0 all is well, 1 the input has errors (or, with
/// `fmt --check`, is not in canonical form), 2 the command itself was wrong or a file unreadable.
int run(std::span<const std::string> words, Streams streams);

}  // namespace pyptx::cli
