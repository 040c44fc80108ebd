// SPDX-License-Identifier: Apache-2.0
//
// One element at a time; see reduce.h. The arithmetic is that of atom and red.
#include "async/reduce.h"

#include <array>
#include <cstring>

#include "sem/sync/atomic_op.h"

namespace pyptx::emu {
namespace {

/// In the order of ReduceOp, from Add on.
constexpr std::array kAtomic{AtomicOp::Add, AtomicOp::Min, AtomicOp::Max, AtomicOp::Inc,
                             AtomicOp::Dec, AtomicOp::And, AtomicOp::Or,  AtomicOp::Xor};

}  // namespace

ReduceOp reduce_op(std::string_view word) {
  constexpr std::array<std::string_view, 9> kWords{"",    "add", "min", "max", "inc",
                                                   "dec", "and", "or",  "xor"};
  for (std::size_t i = 1; i < kWords.size(); ++i) {
    if (kWords[i] == word) return static_cast<ReduceOp>(i);
  }
  return ReduceOp::None;
}

bool can_reduce(ReduceOp op, Ty type) {
  switch (type) {
    case Ty::F32:
    case Ty::F64:
      return op == ReduceOp::Add;
    case Ty::F16:
    case Ty::Bf16:
      return op == ReduceOp::Add || op == ReduceOp::Min || op == ReduceOp::Max;
    case Ty::U32:
    case Ty::S32:
    case Ty::U64:
    case Ty::S64:
    case Ty::B32:
    case Ty::B64:
      return op != ReduceOp::None;
    default:
      return false;
  }
}

void reduce(ReduceOp op, Ty type, bool keeps_subnormals, std::byte* to, const std::byte* from,
            u64 bytes) {
  const AtomicOp atomic = kAtomic[static_cast<std::size_t>(op) - 1];
  const u64 size = info(type).bits / 8;
  AtomicOperands operands;
  operands.flushes = !keeps_subnormals;
  for (u64 at = 0; at + size <= bytes; at += size) {
    std::memcpy(&operands.old, to + at, size);
    std::memcpy(&operands.b, from + at, size);
    const u64 result = apply(atomic, type, operands);
    std::memcpy(to + at, &result, size);
  }
}

}  // namespace pyptx::emu
