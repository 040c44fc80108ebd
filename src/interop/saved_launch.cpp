// SPDX-License-Identifier: Apache-2.0
//
// Saved kernels as files, and running them (see the header).
#include <utility>

#include "pyptx/interop/saved.h"
#include "pyptx/support/concat.h"
#include "saved_text.h"

namespace pyptx::interop {

using diag::Kind;
using support::concat;

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
  return write_saved_file(path, *bytes);
}

diag::Result<SavedKernel> SavedKernel::load(const std::string& path) {
  return read_saved(path, &SavedKernel::from_bytes);
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
  if (is_empty) return diag::success();
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
  if (is_empty) return emu::Report();
  std::vector<HostTensor> memory(tensors.begin(), tensors.end());
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i].writable &= is_written(i);
  return interop::emulate(*image, memory, options, *bits);
}

}  // namespace pyptx::interop
