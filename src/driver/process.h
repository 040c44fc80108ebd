// SPDX-License-Identifier: Apache-2.0
//
// Running a program and reading what it prints. posix_spawn, not fork: the process may hold
// gigabytes and a hundred threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pyptx::driver {

struct ProcessResult {
  std::optional<int> exit_code;  // none where a signal ended it, or nobody can tell how it ended
  int signal = 0;                // that ended it, or 0
  std::string output;            // stdout and stderr together
};

/// Where the process ignores SIGCHLD, or somebody else in it collects every child, how the program
/// ended cannot be told, and what it printed and wrote is all there is. Nothing when the program
/// could not be started; `why` then says why.
std::optional<ProcessResult> run_process(const std::vector<std::string>& arguments,
                                         std::string& why);

}  // namespace pyptx::driver
