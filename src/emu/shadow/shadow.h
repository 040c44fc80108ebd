// SPDX-License-Identifier: Apache-2.0
//
// Values that nobody wrote, as MemorySanitizer sees them: for each bit of each lane of each
// register of a warp, whether it has a value. A warp gets a shadow when it first reads something
// without one, and runs every instruction through `run_carrying` from there on; no other warp pays
// for it. What is without a value may be moved, computed with and thrown away. It is reported where
// it decides something or where it stays: see carry.cpp and docs/design/0016.
#pragma once

#include <unordered_map>
#include <vector>

#include "decode/program.h"

namespace pyptx::emu {

/// Where a value should have come from: the instruction that first read it, and what it read.
struct Birth {
  u32 pc = ~0U;   // ~0: nobody has read it yet
  u32 reg = ~0U;  // the id of a register; ~0: memory
  Space space = Space::Generic;
  u64 address = 0;
};

class Shadow {
 public:
  /// Everything has a value but the registers that the warp has not written; see Warp::unwritten.
  explicit Shadow(const Warp& warp);

  // Bits that are set have no value. Offsets are those of the register file.
  u32* lanes32(u32 offset) { return reinterpret_cast<u32*>(bytes(offset)); }
  u64* lanes64(u32 offset) { return reinterpret_cast<u64*>(bytes(offset)); }
  u32& predicate(u32 offset) { return *lanes32(offset); }
  std::byte* bytes(u32 offset) { return reinterpret_cast<std::byte*>(bits_.data()) + offset; }
  /// The lanes in which some bit of the register has no value.
  u32 undefined(const RegisterPlace& place);
  /// The lanes of `mask` have values.
  void define(const RegisterPlace& place, u32 mask);

  Birth& birth(const RegisterPlace& place) { return births_[place.offset]; }
  Birth& local_birth(u32 lane, u64 offset) { return local_births_[offset / 4 * kLanes + lane]; }

  u32 carry = 0;  // of the condition code
  Birth carry_birth;

 private:
  std::vector<u64> bits_;
  std::unordered_map<u32, Birth> births_;
  std::unordered_map<u64, Birth> local_births_;
};

/// Runs an instruction of a warp that has a shadow.
Step run_carrying(Warp& warp, const Inst& inst);

/// The warp is about to read what has no value, and goes on with it: true when it has its shadow.
/// False: it has now got one, and the instruction must not take effect; it runs again.
bool carries_undefined(Warp& warp);

/// The diagnostic of a use, with the place where the value was born.
Step report_undefined(Warp& warp, const Inst& inst, u32 lane, std::string why, const Birth& birth);

/// The bytes without a value among up to 32 of memory, a bit each.
u32 undefined_bytes(Warp& warp, Space space, u64 address, u32 bytes, u32 lane);

}  // namespace pyptx::emu
