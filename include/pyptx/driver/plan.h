// SPDX-License-Identifier: Apache-2.0
//
// A launch plan: everything about a launch that does not change from call to call. It is plain
// data with a text form, so that a compiled XLA program, a saved kernel and another process can
// carry it; nothing in it names this process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/layout/tensor_map.h"

namespace pyptx::driver {

/// Numbers of CTAs or threads.
struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  bool operator==(const Dim3&) const = default;
};

/// One kernel parameter and where its bytes come from at a launch.
struct ParamSlot {
  enum class Kind : std::uint8_t {
    Pointer,     // the address of tensor `tensor`
    Scalar,      // the low `size` bytes of `bits`
    MapPointer,  // the device address of a tensor map over tensor `tensor` (8 bytes)
    MapValue,    // that tensor map itself (128 bytes, 64-byte aligned)
    Argument,    // the low `size` bytes of a scalar that the call brings: the next one in order
  };
  Kind kind = Kind::Pointer;
  std::uint32_t tensor = 0;  // index over inputs, then outputs
  std::uint32_t size = 8;    // bytes
  std::uint64_t bits = 0;
  layout::TensorMap map;
  bool operator==(const ParamSlot&) const = default;
};

/// What a tensor holds when the kernel begins: `count` elements of these low `size` bytes.
struct Fill {
  std::uint32_t tensor = 0;
  std::uint32_t size = 4;  // 1, 2, 4 or 8
  std::uint64_t bits = 0;
  std::uint64_t count = 0;
  bool operator==(const Fill&) const = default;
};

/// Of the address of a tensor over which a map is made, in bytes.
inline constexpr std::uint32_t kMappedAlignment = 16;

/// Tensors that a call from a framework brings, at most: it keeps their addresses on the stack.
inline constexpr std::size_t kMaxTensors = 64;

/// All of a launch but its arguments.
struct LaunchPlan {
  std::string entry;
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  std::uint32_t dynamic_shared = 0;  // bytes
  /// A programmatic dependent launch: it may begin before the one in front of it on its stream has
  /// ended, and waits for that by griddepcontrol.wait.
  bool is_programmatic = false;
  std::uint32_t tensor_count = 0;
  /// Bytes of each tensor, or empty when not known: one with bytes must have an address.
  std::vector<std::uint64_t> tensor_bytes;
  std::vector<ParamSlot> params;
  /// Done on the launch's stream in front of it.
  std::vector<Fill> fills = {};
  bool operator==(const LaunchPlan&) const = default;

  /// Why no device could launch it (a tensor that is not counted, a scalar of three bytes, a
  /// cluster that does not divide the grid), or nothing.
  std::optional<diag::Diagnostic> problem() const;

  /// Why a call cannot launch it with this grid in place of its own, or nothing.
  std::optional<diag::Diagnostic> grid_problem(const Dim3& given) const;

  /// How many scalars a call brings.
  std::size_t argument_count() const;

  /// Tensors over which a map is made, one for each map. Their addresses are multiples of
  /// kMappedAlignment.
  std::vector<std::uint32_t> map_tensors() const;

  /// One line of ASCII; from_text(to_text()) == *this.
  std::string to_text() const;
  static diag::Result<LaunchPlan> from_text(std::string_view text);
};

}  // namespace pyptx::driver
