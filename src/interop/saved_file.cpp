// SPDX-License-Identifier: Apache-2.0
//
// Files of saved kernels: read whole, and written so that a name never stands for half of one.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "pyptx/support/concat.h"
#include "pyptx/support/file.h"
#include "saved_text.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using support::concat;

support::Failure<diag::Diagnostic> file_error(const std::string& path, std::string_view what,
                                              int reason) {
  return diag::fail(Kind::SavedKernelFile, {path, std::string(what), std::strerror(reason)});
}

/// Where a file is written: what a link names is replaced, not the link, and a device or a pipe is
/// written to, not replaced.
struct OutputFile {
  std::string path;
  bool is_replaced = true;
};

OutputFile output_file(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return {path};
  OutputFile output{resolved};
  free(resolved);
  struct stat status{};
  output.is_replaced = stat(output.path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  return output;
}

}  // namespace

diag::Status write_saved_file(const std::string& path, std::string_view bytes) {
  const OutputFile output = output_file(path);
  // Its own: threads may save to one path at the same time.
  const std::string temporary =
      concat(output.path, ".", getpid(), ".", support::unlikely_number(), ".tmp");
  const int file = output.is_replaced
                       ? open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                       : open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return file_error(path, "written", errno);
  const bool written = support::write_all(file, bytes);
  const bool closed = close(file) == 0;  // a network disk may say only now that it is full
  if (written && closed &&
      (!output.is_replaced || std::rename(temporary.c_str(), output.path.c_str()) == 0)) {
    return diag::success();
  }
  auto failure = file_error(path, "written", errno);
  if (output.is_replaced) unlink(temporary.c_str());
  return failure;
}

diag::Result<std::string> read_saved_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return file_error(path, "read", errno);
  std::string bytes;
  char chunk[1 << 16];
  ssize_t got = 0;
  while ((got = read(file, chunk, sizeof(chunk))) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    bytes.append(chunk, static_cast<std::size_t>(got));
  }
  const int reason = got < 0 ? errno : 0;
  close(file);
  if (got < 0) return file_error(path, "read", reason);
  return bytes;
}

}  // namespace pyptx::interop
