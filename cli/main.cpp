// SPDX-License-Identifier: Apache-2.0
//
// The `pyptx` program: hands its arguments to the command, which knows no process. Ctrl-C ends an
// emulation with a word about where it stood; a second one ends the process.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "pyptx/cli/command.h"

namespace {

std::atomic<bool> is_interrupted = false;

void listen_to_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { is_interrupted = true; };
  action.sa_flags = SA_RESETHAND;
  struct sigaction before{};
  sigaction(SIGINT, nullptr, &before);
  // A parent that ignores it, as a shell does for what runs in the background, goes on to.
  if (before.sa_handler != SIG_IGN) sigaction(SIGINT, &action, nullptr);
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const bool emulates = !words.empty() && words[0] == "run";
  if (emulates) listen_to_interrupts();
  const int status =
      pyptx::cli::run(words, {std::cin, std::cout, std::cerr, isatty(STDOUT_FILENO) != 0,
                              isatty(STDERR_FILENO) != 0, [] { return is_interrupted.load(); }});
  constexpr int kInterrupted = 130;  // as a shell says it
  return is_interrupted ? kInterrupted : status;
}
