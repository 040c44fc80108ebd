// SPDX-License-Identifier: Apache-2.0
//
// What a kernel, a launch and a multiprocessor can have at most: the one place that the verifier,
// the emulator and the launches read. What differs by target is in isa/common/targets.toml; none of
// it is asked of a device, so that a kernel is judged before there is one. CUDA C++ Programming
// Guide, "Technical Specifications per Compute Capability".
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "pyptx/isa/target.h"

namespace pyptx::isa {

/// Blocks of a grid and threads of a block in each direction, and threads of a block together.
inline constexpr std::array<std::uint32_t, 3> kLargestGrid{0x7FFFFFFF, 65535, 65535};
inline constexpr std::array<std::uint32_t, 3> kLargestBlock{1024, 1024, 64};
inline constexpr std::uint32_t kBlockThreads = 1024;
/// CTAs of the largest cluster of any target (8 without the opt-in that every launch here makes).
inline constexpr std::uint32_t kClusterCtas = 16;

/// Bytes of the variables in .const, as ptxas has it, and of local memory of a thread.
inline constexpr std::uint64_t kConstBytes = 64 << 10;
inline constexpr std::uint64_t kLocalBytes = 512 << 10;
/// Of the parameters of an entry, and before PTX ISA 8.1.
inline constexpr std::uint64_t kParameterBytes = 32764;
inline constexpr std::uint64_t kOldParameterBytes = 4352;
/// Registers of a thread.
inline constexpr std::uint32_t kThreadRegisters = 255;

/// What one multiprocessor holds at once; shared memory is in bytes.
struct Multiprocessor {
  std::uint32_t warps = 0;
  std::uint32_t ctas = 0;
  std::uint32_t shared = 0;
  std::uint32_t shared_reserved = 0;  // of every CTA, by the system
  std::uint32_t cluster_ctas = 1;     // of the largest cluster

  /// The most that one CTA can have.
  std::uint32_t shared_of_cta() const { return shared - shared_reserved; }
};

/// None where that is not published.
std::optional<Multiprocessor> multiprocessor(Target target);
/// The same, with what the largest has where nothing is published.
Multiprocessor multiprocessor_or_largest(Target target);

/// Bytes of the variables of an entry in .shared: 48 KiB, and all that a CTA can have for code that
/// runs on one architecture only (sm_90a), as ptxas has it.
std::uint64_t static_shared_bytes(Target target);

}  // namespace pyptx::isa
