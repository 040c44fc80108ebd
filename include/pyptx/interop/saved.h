// SPDX-License-Identifier: Apache-2.0
//
// A saved kernel: an image, the tensors and scalars it takes and, where asked for, its binaries, as
// one string of bytes or one file. The bytes name nothing of this process or machine, carry a
// version and a checksum, and are text as long as no binary is among them. A program needs nothing
// else to launch the kernel, and nothing is launched on tensors of other numbers or sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/emu/emulator.h"
#include "pyptx/interop/image.h"
#include "pyptx/interop/run.h"
#include "pyptx/interop/scalar.h"

namespace pyptx::interop {

/// One tensor, as the kernel was specialised for it.
struct SavedTensor {
  std::string name;
  std::string dtype;  // as in pyptx.types: "bf16"
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
  bool column_major = false;  // else row-major; dense either way
  bool operator==(const SavedTensor&) const = default;
};

/// Device memory of one tensor.
struct DeviceTensor {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// A kernel that is launched with tensors and scalars alone.
struct SavedKernel {
  /// Code for one target, so that launching there needs no compiler.
  struct Binary {
    std::string target;
    std::string cubin;
    bool operator==(const Binary&) const = default;
  };

  std::shared_ptr<KernelImage> image;
  std::vector<SavedTensor> inputs;
  std::vector<SavedTensor> outputs;
  std::vector<ScalarParameter> scalars = {};  // the plan's run-time scalars, in their order
  std::vector<Binary> binaries = {};
  /// A grid of no CTAs, as some size of an OpenKernel has: nothing is launched.
  bool is_empty = false;
  /// So many of the inputs, the last ones, are written, too.
  std::size_t inouts = 0;

  /// Assembles for `target`, with options of ptxas, and keeps the binary; what the assembler said.
  diag::Result<std::string> add_binary(const std::string& target,
                                       std::vector<std::string> flags = {});

  /// from_bytes(to_bytes()) is an equal kernel.
  diag::Result<std::string> to_bytes() const;
  /// Without binaries the image is the registry's: equal kernels share it, and what was loaded for
  /// it. With binaries it is the kernel's own.
  static diag::Result<SavedKernel> from_bytes(std::string_view bytes);

  /// A file has its name only once it is complete.
  diag::Status save(const std::string& path) const;
  static diag::Result<SavedKernel> load(const std::string& path);

  /// Loads the kernel for `device`, so that the first launch there has nothing left to do.
  diag::Status prepare(int device) const;
  /// Launches on `stream` of `device` (null: its default stream). Inputs, then outputs. `values`
  /// are those of all `scalars`; none are their defaults.
  diag::Status launch(void* stream, int device, std::span<const DeviceTensor> tensors,
                      std::span<const Number> values = {}) const;
  /// The same for bare addresses, whose sizes nobody can check.
  diag::Status launch(void* stream, int device, std::span<const std::uint64_t> pointers,
                      std::span<const Number> values = {}) const;
  /// Runs on the CPU emulator and returns when it is done.
  diag::Result<emu::Report> emulate(std::span<const HostTensor> tensors,
                                    const emu::Options& options = {},
                                    std::span<const Number> values = {}) const;
  /// The bits of `values`, or of the defaults where there are none: ScalarCount, ScalarValue.
  diag::Result<std::vector<std::uint64_t>> argument_bits(std::span<const Number> values) const;

  std::size_t tensor_count() const { return inputs.size() + outputs.size(); }
  /// By index over inputs, then outputs.
  const SavedTensor& tensor(std::size_t index) const {
    return index < inputs.size() ? inputs[index] : outputs[index - inputs.size()];
  }
  /// Whether the kernel may write it: an output, an in-out tensor, and any input of a kernel that
  /// has neither.
  bool is_written(std::size_t index) const {
    return index >= inputs.size() - inouts || (outputs.empty() && inouts == 0);
  }

 private:
  diag::Status check_count(std::size_t count) const;
  diag::Status check_bytes(std::size_t index, std::uint64_t bytes) const;
  diag::Status check_address(std::size_t index, std::uint64_t address) const;
};

}  // namespace pyptx::interop
