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
  int exit_code = 0;   // when signal == 0
  int signal = 0;      // that ended it, or 0
  std::string output;  // stdout and stderr together
};

/// Nothing when the program could not be started; `why` then says why.
std::optional<ProcessResult> run_process(const std::vector<std::string>& arguments,
                                         std::string& why);

}  // namespace pyptx::driver
