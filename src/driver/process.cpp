// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace pyptx::driver {
namespace {

void read_all(int descriptor, std::string& out) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got > 0) {
      out.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return;
    }
  }
}

int spawn(const std::vector<std::string>& arguments, int output, pid_t& child) {
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (const int error = posix_spawn_file_actions_init(&actions); error != 0) return error;
  int error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  if (error == 0) {
    error = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

std::optional<ProcessResult> run_process(const std::vector<std::string>& arguments,
                                         std::string& why) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    why = std::strerror(errno);
    return std::nullopt;
  }
  pid_t child = 0;
  const int error = spawn(arguments, ends[1], child);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    why = std::strerror(error);
    return std::nullopt;
  }
  ProcessResult out;
  read_all(ends[0], out.output);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return out;  // ECHILD: its status is gone
  }
  if (WIFSIGNALED(status)) {
    out.signal = WTERMSIG(status);
  } else {
    out.exit_code = WEXITSTATUS(status);
  }
  return out;
}

}  // namespace pyptx::driver
