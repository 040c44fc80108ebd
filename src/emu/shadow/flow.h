// SPDX-License-Identifier: Apache-2.0
//
// How values flow through an instruction: which registers it reads and writes, and what becomes of
// a value that nobody wrote. Made from the instruction table and the operands; no instruction has
// an entry of its own anywhere else.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "decode/program.h"

namespace pyptx::emu {

/// Registers by id.
struct Touched {
  std::vector<u32> reads;
  std::vector<u32> writes;
  /// The accumulators of a wgmma: read where scale-d says so, and written.
  std::vector<u32> accumulators;
};

Touched touched_by(const ir::Function& function, const ir::Instruction& instruction);
/// Appends the registers of an operand: those that are written go to `writes`, all others (the
/// address of what is written is read) to `reads`.
void collect(const ir::Function& function, const ir::Operand& operand, bool is_write,
             Touched& touched);

/// What a value without definition does in an instruction.
struct Flow {
  enum class Kind : u8 {
    Use,          // it is reported
    Compute,      // the results depend on it; running it again changes nothing else
    Load,         // ld
    Store,        // st
    LoadMatrix,   // ldmatrix
    StoreMatrix,  // stmatrix
    Product,      // wgmma
    TensorLoad,   // tcgen05.ld: the handler marks the results
    TensorStore,  // tcgen05.st: the handler marks tensor memory
  };
  Kind kind = Kind::Use;
  bool reads_carry = false;
  bool writes_carry = false;
  u32 guard = ~0U;             // register id
  std::vector<u32> addresses;  // reported in every kind
  std::vector<u32> uses;       // reported: member masks, descriptors, all of Use
  std::vector<u32> sources;    // carried on
  std::vector<u32> results;
  std::vector<u64> literals;  // values that a source may be compared with
};

/// The flows of a program, made when somebody first asks. Thread-safe.
class Flows {
 public:
  const Flow& at(const Program& program, u32 pc);

 private:
  std::once_flag once_;
  std::vector<Flow> flows_;
};

}  // namespace pyptx::emu
