// SPDX-License-Identifier: Apache-2.0
//
// mbarrier objects of one CTA (PTX ISA, "Parallel Synchronization and Communication Instructions:
// mbarrier"): phase, pending and expected arrivals, transaction count, and every misuse that the
// manual calls undefined. The object's eight bytes in shared memory are opaque; the state is here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decode/program.h"

namespace pyptx::emu {

inline constexpr i64 kMbarrierCountLimit = (1 << 20) - 1;

struct Mbarrier {
  u32 address = 0;  // offset in shared memory
  u64 phase = 0;
  i64 pending = 0;
  i64 expected = 0;
  i64 tx = 0;
  i64 awaited = 0;                // bytes that the current phase was told to expect
  i64 came = 0;                   // of the current phase
  u64 arrivals_seen = 0;          // in all phases
  const Inst* last_tx = nullptr;  // that changed the transaction count
};

class MbarrierTable {
 public:
  /// Null when no live mbarrier is at `address`.
  Mbarrier* find(u32 address);
  const Mbarrier* find(u32 address) const {
    return const_cast<MbarrierTable*>(this)->find(address);
  }
  /// A live mbarrier that overlaps [address, address + bytes).
  const Mbarrier* overlap(u32 address, u64 bytes) const;
  bool empty() const { return live_ == 0; }
  /// Dead ones, too, which have address 0.
  const std::vector<Mbarrier>& all() const { return barriers_; }
  /// A live mbarrier whose expected and copied bytes do not agree.
  const Mbarrier* unbalanced() const;

  /// Each returns what the manual forbids about it, or nothing.
  std::optional<std::string> init(u32 address, u32 count);
  std::optional<std::string> invalidate(u32 address);
  static std::optional<std::string> arrive(Mbarrier& barrier, u32 count, bool is_drop);
  static std::optional<std::string> expect(Mbarrier& barrier, i64 bytes);
  static std::optional<std::string> complete(Mbarrier& barrier, i64 bytes);

 private:
  static void finish_phase(Mbarrier& barrier);
  static std::optional<std::string> transact(Mbarrier& barrier, i64 bytes);

  std::vector<Mbarrier> barriers_;  // dead ones have address 0
  std::size_t live_ = 0;
  std::size_t last_ = 0;
  u32 low_ = ~0U;
  u32 high_ = 0;
};

}  // namespace pyptx::emu
