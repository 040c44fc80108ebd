// SPDX-License-Identifier: Apache-2.0
//
// Which registers hold a value that may still be read. A thread's way is one of the ways of the
// control-flow graph, so that what is dead here is dead in every thread.
#pragma once

#include <cstdint>
#include <vector>

#include "pyptx/analysis/accesses.h"
#include "pyptx/analysis/control_flow.h"
#include "pyptx/ir/module.h"

namespace pyptx::analysis {

/// Registers of one function, a bit each.
class RegisterSet {
 public:
  explicit RegisterSet(std::uint32_t registers = 0) : words_((registers + 63) / 64) {}

  bool contains(ir::RegisterId id) const { return (word(id) & bit(id)) != 0; }
  void insert(ir::RegisterId id) { word(id) |= bit(id); }
  void erase(ir::RegisterId id) { word(id) &= ~bit(id); }
  /// Adds what `other` has; whether that was anything new.
  bool unite(const RegisterSet& other) {
    bool is_new = false;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      is_new = is_new || (other.words_[i] & ~words_[i]) != 0;
      words_[i] |= other.words_[i];
    }
    return is_new;
  }
  std::uint32_t size() const;
  bool operator==(const RegisterSet&) const = default;

 private:
  static std::uint64_t bit(ir::RegisterId id) {
    return std::uint64_t{1} << (static_cast<std::uint32_t>(id) % 64);
  }
  std::uint64_t& word(ir::RegisterId id) { return words_[static_cast<std::uint32_t>(id) / 64]; }
  std::uint64_t word(ir::RegisterId id) const {
    return words_[static_cast<std::uint32_t>(id) / 64];
  }

  std::vector<std::uint64_t> words_;
};

/// Of a function whose graph is not complete every register is live everywhere.
class Liveness {
 public:
  Liveness(const Accesses& accesses, const ControlFlow& flow);

  const RegisterSet& live_in(BlockId id) const { return in_[static_cast<std::size_t>(id)]; }
  const RegisterSet& live_out(BlockId id) const { return out_[static_cast<std::size_t>(id)]; }

  /// From the registers that are live behind a statement to those that are live before it.
  static void step_back(const Accesses& accesses, std::uint32_t statement, RegisterSet& live);

 private:
  std::vector<RegisterSet> in_;
  std::vector<RegisterSet> out_;
};

}  // namespace pyptx::analysis
