// SPDX-License-Identifier: Apache-2.0
//
// A saved kernel as a program of another framework carries it: a text among the constants of its
// graph, of a kernel for one size or for any. The first line of the text names the kernel by its
// content; in a process that has met the kernel that line says everything.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/interop/dlpack.h"
#include "pyptx/interop/open_kernel.h"
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

/// A kernel as a node of a compiled program.
class GraphKernel {
 public:
  /// SavedKernelBytes for elements that no tensor has.
  static diag::Result<std::shared_ptr<const GraphKernel>> make(SavedKernel kernel);

  const SavedKernel& saved() const { return saved_; }

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
  std::vector<const dlpack::ElementType*> elements_;
  std::vector<std::vector<std::int64_t>> strides_;
  std::vector<std::uint32_t> alignments_;
};

/// A kernel for any size, and what it is for those that were met.
class OpenGraphKernel {
 public:
  explicit OpenGraphKernel(OpenKernel kernel) : open_(std::move(kernel)) {}

  const OpenKernel& open() const { return open_; }
  /// The kernel for inputs, and outputs that are given, of these shapes: what OpenKernel::at and
  /// GraphKernel::make refuse. Thread-safe.
  diag::Result<std::shared_ptr<const GraphKernel>> at(
      std::span<const Shape> inputs, std::optional<std::span<const Shape>> outputs = {}) const;

 private:
  OpenKernel open_;
  mutable std::mutex mutex_;
  /// By all sizes, each shape behind its rank; the oldest goes.
  mutable std::map<Shape, std::shared_ptr<const GraphKernel>> known_;
  mutable std::deque<Shape> order_;
};

/// What a text holds: this or that.
struct Carried {
  std::shared_ptr<const GraphKernel> kernel;
  std::shared_ptr<const OpenGraphKernel> open;
};

/// The kernels of this process's graphs, by the first lines of their texts. Thread-safe. A kernel
/// stays: graphs refer to it by text, and nobody says when the last of them is gone.
class GraphKernels {
 public:
  static GraphKernels& instance();

  /// The kernel that a text holds, or that one of which it is the first line.
  diag::Result<Carried> find(std::string_view text);

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  std::shared_mutex mutex_;
  std::unordered_map<std::string, Carried, NameHash, std::equal_to<>> entries_;
};

}  // namespace pyptx::interop
