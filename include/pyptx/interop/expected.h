// SPDX-License-Identifier: Apache-2.0
//
// What a call's tensors are compared with, so that one that is known needs no words: element types,
// extents, strides, addresses and room, as numbers that lie close together. Calls from Python and
// from C++ alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pyptx/interop/dlpack.h"
#include "pyptx/interop/strides.h"

namespace pyptx::interop {

/// Specialisations of a kernel that calls know, and traces and launches that it keeps. Looking
/// through many would cost more than it saves.
inline constexpr std::size_t kMaxSpecialisations = 256;

/// A tensor as a call reads it.
struct ReadTensor : dlpack::Tensor {
  std::int64_t room;  // bytes from its first element to the end of its storage

  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(data) + byte_offset; }
};

/// A tensor of a call that was met.
struct TensorShape {
  dlpack::DataType type;
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;            // from the first element to the end of the last
  bool column_major = false;          // else row-major; dense either way, without strides
  std::vector<std::int64_t> strides;  // where dimensions lie in another order, or apart
  ByteRows rows;                      // of its memory
  std::uint64_t alignment = 1;        // of the address, a power of two

  TensorShape(dlpack::DataType element, std::vector<std::int64_t> extents, bool is_column);
  bool operator==(const TensorShape& other) const {
    return type == other.type && shape == other.shape && column_major == other.column_major &&
           strides == other.strides;
  }
};

/// All of a specialisation's lie one behind the other, with their extents behind them, so that they
/// are few lines of a cache that a launch has emptied.
class ExpectedTensors {
 public:
  /// Adds one that is aligned to a power of two.
  void add(const TensorShape& shape, std::uint64_t alignment);
  std::size_t size() const { return tensors_.size(); }
  /// Whether the views, from the tensor `first` on, are such tensors: type, shape, dense, aligned,
  /// with memory for them, on `device`.
  bool match(std::size_t first, std::span<const ReadTensor> views,
             const dlpack::Device& device) const;

 private:
  struct Tensor {
    dlpack::DataType type;
    std::int32_t rank;
    std::uint64_t bytes;
    std::uint32_t zero_bits;  // of the address
    std::uint32_t first;      // of its dimensions
  };
  struct Dimension {
    std::int64_t extent;
    std::int64_t stride;
  };
  std::vector<Tensor> tensors_;
  std::vector<Dimension> dimensions_;
};

}  // namespace pyptx::interop
