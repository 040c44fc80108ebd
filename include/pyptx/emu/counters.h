// SPDX-License-Identifier: Apache-2.0
//
// What a run cost, counted on request: instructions, lanes, bytes by state space, bank conflicts
// of shared memory and sectors of global memory; in all, by instruction and by source line.
//
// Shared memory is 32 banks of 4 bytes. A warp's access of up to 4 bytes per lane is one group of
// 32 lanes, of 8 bytes two groups of 16, of 16 bytes four of 8 (ldmatrix: a group per matrix); a
// group takes as many wavefronts as the most different words that one bank has to give. A conflict
// is a wavefront beyond the first of its group. Global memory is sectors of 32 bytes, counted from
// the start of each buffer. These are the models by which kernels are laid out; nothing here claims
// to be a GPU's own counter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pyptx::emu {

/// Counts that add up.
struct Cost {
  std::uint64_t executed = 0;    // warp instructions that ran with at least one lane
  std::uint64_t skipped = 0;     // issued with no lane that its guard admits
  std::uint64_t lanes = 0;       // thread instructions: active lanes over `executed`
  std::uint64_t partial = 0;     // of `executed`, those with fewer lanes than the warp has
  std::uint64_t loaded = 0;      // bytes, all state spaces
  std::uint64_t stored = 0;      // bytes; an atomic loads and stores
  std::uint64_t wavefronts = 0;  // of shared memory
  std::uint64_t conflicts = 0;   // of `wavefronts`, those that bank conflicts added
  std::uint64_t sectors = 0;     // of global memory

  Cost& operator+=(const Cost& other);
};

/// How an instruction used the banks of shared memory.
struct BankUse {
  std::array<std::uint64_t, 32> words{};  // different words that each bank gave, over all accesses
  /// The access that took the most wavefronts: its addresses by lane, and bytes of each.
  std::uint64_t worst_wavefronts = 0;
  std::array<std::uint32_t, 32> worst{};
  std::uint32_t worst_mask = 0;
  std::uint32_t bytes = 0;

  /// Sums up; of two that are as bad, the one at lower addresses is kept, whoever comes first.
  BankUse& operator+=(const BankUse& other);
};

/// The costs of a run.
struct Counters {
  /// One state space, or one direction of asynchronous copies.
  struct Traffic {
    std::string space;  // "global", "shared", "dsmem", "local", "param", "const", "async ..."
    std::uint64_t requests = 0;  // warp instructions; operations of asynchronous copies
    std::uint64_t loaded = 0;
    std::uint64_t stored = 0;
  };
  /// One instruction of the program, or all of one source line or opcode.
  struct Row {
    std::string name;  // the spelling; empty for a line
    std::string file;
    std::uint32_t line = 0;
    Cost cost;
  };

  Cost total;
  std::uint64_t branches = 0;
  std::uint64_t divergent_branches = 0;  // some lanes went, some stayed
  std::vector<Traffic> traffic;          // only what there was any of
  std::vector<Row> opcodes;              // "ld", "fma", ... by `executed`, descending
  std::vector<Row> instructions;         // in program order
  std::vector<Row> lines;                // by `executed`, descending
  std::map<std::size_t, BankUse> banks;  // by the number in `instructions`

  double average_lanes() const;
};

/// A table for people: totals, traffic, and the `most` costliest opcodes and lines.
std::string to_text(const Counters& counters, std::size_t most = 12);
/// A table with a row per instruction of the program, in order; those that one source line made
/// several times ("ld.global.f32 x8") share one.
std::string profile_text(const Counters& counters);

}  // namespace pyptx::emu
