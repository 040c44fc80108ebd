// SPDX-License-Identifier: Apache-2.0
//
// The `pyptx` program: hands its arguments to the command, which knows no process.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "pyptx/cli/command.h"

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  return pyptx::cli::run(words, {std::cin, std::cout, std::cerr, isatty(STDOUT_FILENO) != 0,
                                 isatty(STDERR_FILENO) != 0});
}
