// SPDX-License-Identifier: Apache-2.0
//
// Saved kernels as files, and running them (see the header).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "pyptx/interop/saved.h"
#include "pyptx/support/concat.h"
#include "pyptx/support/file.h"

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

diag::Result<std::string> SavedKernel::add_binary(const std::string& target,
                                                  std::vector<std::string> flags) {
  auto assembled = image->assemble(target, std::move(flags));
  if (!assembled) return assembled.failure();
  std::erase_if(binaries, [&](const Binary& known) { return known.target == target; });
  binaries.push_back({target, std::move(assembled->cubin)});
  return std::move(assembled->log);
}

diag::Status SavedKernel::save(const std::string& path) const {
  const auto bytes = to_bytes();
  if (!bytes) return diag::fail(bytes.error());
  const OutputFile output = output_file(path);
  // Its own: threads may save to one path at the same time.
  const std::string temporary =
      concat(output.path, ".", getpid(), ".", support::unlikely_number(), ".tmp");
  const int file = output.is_replaced
                       ? open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                       : open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return file_error(path, "written", errno);
  const bool written = support::write_all(file, *bytes);
  const bool closed = close(file) == 0;  // a network disk may say only now that it is full
  if (written && closed &&
      (!output.is_replaced || std::rename(temporary.c_str(), output.path.c_str()) == 0)) {
    return diag::success();
  }
  auto failure = file_error(path, "written", errno);
  if (output.is_replaced) unlink(temporary.c_str());
  return failure;
}

diag::Result<SavedKernel> SavedKernel::load(const std::string& path) {
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
  auto kernel = from_bytes(bytes);
  if (!kernel) return diag::fail(std::move(kernel.error()).note(concat("in the file ", path)));
  return kernel;
}

diag::Status SavedKernel::check_count(std::size_t count) const {
  if (count == tensor_count()) return diag::success();
  return diag::fail(Kind::TensorCount,
                    {image->plan().entry, concat(tensor_count()), concat(count)});
}

diag::Status SavedKernel::check_bytes(std::size_t index, std::uint64_t bytes) const {
  const SavedTensor& expected = tensor(index);
  if (bytes == expected.bytes) return diag::success();
  return diag::fail(Kind::TensorBytes,
                    {expected.name, image->plan().entry, concat(expected.bytes), concat(bytes)});
}

diag::Status SavedKernel::check_address(std::size_t index, std::uint64_t address) const {
  if (address != 0 || tensor(index).bytes == 0) return diag::success();
  return diag::fail(diag::Diagnostic(Kind::NullTensor, {concat(index), image->plan().entry})
                        .note(concat("it is '", tensor(index).name, "' and has ",
                                     tensor(index).bytes, " bytes")));
}

diag::Status SavedKernel::prepare(int device) const { return interop::prepare(*image, device); }

diag::Result<std::vector<std::uint64_t>> SavedKernel::argument_bits(
    std::span<const Number> values) const {
  const std::string& entry = image->plan().entry;
  const auto wrong_count = [&] {
    return diag::Diagnostic(Kind::ScalarCount,
                            {entry, concat(scalars.size()), concat(values.size())});
  };
  if (!values.empty() && values.size() != scalars.size()) return diag::fail(wrong_count());
  std::vector<std::uint64_t> bits;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (!values.empty()) {
      auto given = interop::argument_bits(scalars[i], values[i], entry);
      if (!given) return given.failure();
      bits.push_back(*given);
    } else if (scalars[i].value) {
      bits.push_back(*scalars[i].value);
    } else {
      return diag::fail(wrong_count().note(concat("'", scalars[i].name, "' has no default")));
    }
  }
  return bits;
}

diag::Status SavedKernel::launch(void* stream, int device, std::span<const std::uint64_t> pointers,
                                 std::span<const Number> values) const {
  if (auto status = check_count(pointers.size()); !status) return status;
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    if (auto status = check_address(i, pointers[i]); !status) return status;
  }
  const auto bits = argument_bits(values);
  if (!bits) return diag::fail(bits.error());
  return interop::launch(*image, device, stream, {.pointers = pointers, .scalars = *bits});
}

diag::Status SavedKernel::launch(void* stream, int device, std::span<const DeviceTensor> tensors,
                                 std::span<const Number> values) const {
  if (auto status = check_count(tensors.size()); !status) return status;
  std::vector<std::uint64_t> pointers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (auto status = check_bytes(i, tensors[i].bytes); !status) return status;
    pointers.push_back(tensors[i].address);
  }
  return launch(stream, device, pointers, values);
}

diag::Result<emu::Report> SavedKernel::emulate(std::span<const HostTensor> tensors,
                                               const emu::Options& options,
                                               std::span<const Number> values) const {
  if (auto status = check_count(tensors.size()); !status) return status.failure();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (auto status = check_bytes(i, tensors[i].bytes); !status) return status.failure();
    if (auto status = check_address(i, tensors[i].address); !status) return status.failure();
  }
  const auto bits = argument_bits(values);
  if (!bits) return diag::fail(bits.error());
  std::vector<HostTensor> memory(tensors.begin(), tensors.end());
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i].writable &= is_written(i);
  return interop::emulate(*image, memory, options, *bits);
}

}  // namespace pyptx::interop
