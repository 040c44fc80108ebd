// SPDX-License-Identifier: Apache-2.0
//
// A saved kernel as a program of another framework carries it: a text among the constants of its
// graph. The first line of the text names the kernel by its content; in a process that knows the
// kernel that line says everything.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/interop/dlpack.h"
#include "pyptx/interop/saved.h"

namespace pyptx::interop {

/// A tensor that somebody wants to launch with.
struct TensorView {
  const dlpack::ElementType* element = nullptr;  // null: of a type that no kernel takes
  std::span<const std::int64_t> shape;
  std::span<const std::int64_t> strides;  // in elements
  std::uint64_t address = 0;
  std::int64_t room = std::numeric_limits<std::int64_t>::max();  // bytes of memory there
};

class GraphKernel {
 public:
  /// SavedKernelBytes for what cannot be written, or has elements that no tensor has.
  static diag::Result<std::shared_ptr<const GraphKernel>> make(SavedKernel kernel);

  const SavedKernel& saved() const { return saved_; }
  /// The first line of its text.
  const std::string& name() const { return name_; }
  /// SavedKernel::to_bytes().
  std::string text() const;

  const dlpack::ElementType& element(std::size_t tensor) const { return *elements_[tensor]; }
  /// The strides of a dense tensor of that shape, in elements.
  const std::vector<std::int64_t>& strides(std::size_t tensor) const { return strides_[tensor]; }
  /// TensorMismatch where `view` cannot be that tensor (an index over inputs, then outputs):
  /// element type, shape, strides, an address that a tensor map can be made over, and its memory.
  diag::Status check(std::size_t tensor, const TensorView& view) const;
  /// TensorMismatch about something of this kernel.
  diag::Diagnostic mismatch(std::string what, std::string expected, std::string got) const;
  /// "input 0 ('X')".
  std::string label(std::size_t tensor) const;

 private:
  GraphKernel() = default;

  SavedKernel saved_;
  std::string name_;
  std::vector<const dlpack::ElementType*> elements_;
  std::vector<std::vector<std::int64_t>> strides_;
  std::vector<std::uint32_t> alignments_;
};

/// Where a kernel of this process came from, while that is alive: asked before a launch by name,
/// because what the author's function reads may have changed since.
class KernelSource {
 public:
  KernelSource() = default;
  KernelSource(const KernelSource&) = delete;
  KernelSource& operator=(const KernelSource&) = delete;
  virtual ~KernelSource() = default;
  /// The kernel that a call would launch now.
  virtual diag::Result<std::shared_ptr<const GraphKernel>> current() = 0;
};

/// The kernels of this process's graphs, by name. Thread-safe. A kernel stays: graphs refer to it
/// by text, and nobody says when the last of them is gone.
class GraphKernels {
 public:
  static GraphKernels& instance();

  /// Makes `name` mean `kernel`, or what `source` says at the time of a launch.
  void add(std::string name, std::shared_ptr<const GraphKernel> kernel,
           std::shared_ptr<KernelSource> source = nullptr);
  /// The kernel that a text names or holds; one that is held is remembered.
  diag::Result<std::shared_ptr<const GraphKernel>> find(std::string_view text);

 private:
  struct Cached {
    std::shared_ptr<const GraphKernel> kernel;
    std::shared_ptr<KernelSource> source;
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  std::shared_mutex mutex_;
  std::unordered_map<std::string, Cached, NameHash, std::equal_to<>> entries_;
};

}  // namespace pyptx::interop
