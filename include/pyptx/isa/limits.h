// SPDX-License-Identifier: Apache-2.0
//
// What a launch, a multiprocessor, a CTA and a thread can have at most: the one place that the
// verifier, the tracer, the emulator, occupancy and launches read. The numbers, and where they come
// from, are in isa/common/targets.toml; none of them is asked of a device, so that a kernel is
// judged before there is one.
#pragma once

#include <array>
#include <cstdint>

#include "pyptx/isa/target.h"

namespace pyptx::isa {

/// Memory is in bytes, registers are of 32 bits.
struct Limits {
  // Of a launch.
  std::array<std::uint32_t, 3> grid{};   // CTAs in each direction
  std::array<std::uint32_t, 3> block{};  // threads of a CTA in each direction
  std::uint32_t threads = 0;             // of a CTA
  std::uint32_t cluster = 0;             // CTAs of the largest cluster
  // Of a multiprocessor.
  std::uint32_t warps = 0;
  std::uint32_t ctas = 0;
  std::uint32_t barriers = 0;    // 0: they do not limit its CTAs
  std::uint32_t registers = 0;   // a CTA may have them all
  std::uint32_t partitions = 0;  // each has its share of the registers
  std::uint32_t shared = 0;
  // Of a CTA.
  std::uint32_t cta_barriers = 0;
  std::uint32_t cta_shared = 0;       // static and dynamic together
  std::uint32_t static_shared = 0;    // in .shared: as ptxas has it
  std::uint32_t shared_reserved = 0;  // of every CTA, by the system
  std::uint32_t shared_unit = 0;      // shared memory is given in these
  // Of a thread.
  std::uint32_t thread_registers = 0;
  std::uint32_t register_unit = 0;  // registers are given to a warp in these
  std::uint32_t local = 0;
  // Of a module and of an entry.
  std::uint32_t constant = 0;
  std::uint32_t parameters = 0;
  std::uint32_t old_parameters = 0;  // before PTX ISA 8.1
};

/// Of each the most that any target has.
inline constexpr Limits kLargestLimits{
#include "pyptx/isa/largest_limits.def"
};

/// kLargestLimits for a target that the table does not list.
const Limits& limits(Target target);

}  // namespace pyptx::isa
