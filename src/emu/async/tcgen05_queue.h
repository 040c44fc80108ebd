// SPDX-License-Identifier: Apache-2.0
//
// tcgen05.mma, cp and commit on their way (PTX ISA, "Memory Consistency Model for 5th generation of
// TensorCore operations"). An operation is checked when it is issued and done when it completes.
// All of a cluster complete in the order of their issue: that keeps every order that the manual
// promises, inside a thread and across threads; when they do is the launch's completion policy.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/tcgen05_form.h"
#include "decode/program.h"
#include "pyptx/diag/diagnostic.h"
#include "pyptx/layout/tcgen05_descriptor.h"
#include "sem/tcgen05/tcgen05.h"

namespace pyptx::emu {

struct Cluster;
struct Cta;
struct Warp;
struct Knowledge;

struct TensorOp {
  enum class Kind : u8 { Multiply, Copy, Commit };
  Kind kind = Kind::Multiply;
  const Inst* inst = nullptr;
  Warp* warp = nullptr;  // the issuer
  u32 lane = 0;
  u32 cta_group = 1;
  // Multiply; a copy has its destination in `d` and its source in `a`.
  Tcgen05Form form;
  layout::InstructionDescriptor instruction;
  u32 d = 0;
  u64 a = 0;  // descriptor, or address in tensor memory
  u64 b = 0;
  u32 scale_a = 0;
  u32 scale_b = 0;
  bool reads_d = false;
  std::array<u32, 8> disabled{};
  layout::TmemCopy copy{};
  u8 packed_bits = 0;  // 4 or 6: elements of a copy that become bytes
  // Commit
  u32 barrier = 0;                   // shared address with the rank
  u32 cta_mask = 0;                  // 0: that barrier alone
  std::shared_ptr<Knowledge> known;  // what the arrival tells; null: nobody asked
  u64 ticket = 0;                    // of the observer
  std::size_t first_use = 0;         // what it has noted of tensor memory
  std::size_t use_count = 0;

  /// CTAs that take part, the even one of a pair first.
  std::vector<Cta*> ctas() const;
  layout::AccumulatorLayout layout() const {
    return {instruction.m, instruction.n, static_cast<int>(cta_group), form.is_ws,
            instruction.sparse};
  }
  /// Columns of tensor memory that D takes in a lane.
  u32 d_columns() const;
};

/// An access to tensor memory by an operation.
struct TensorUse {
  TensorRegion region;
  bool is_write = false;
};
/// What the operation touches in all its CTAs.
std::vector<TensorUse> tensor_uses(const TensorOp& op);
/// Calls visit(cta, address) for each 16 bytes of shared memory that the operation reads; stops
/// where it says so.
bool each_shared_chunk(const TensorOp& op, const std::function<bool(Cta&, u32)>& visit);

class TensorQueue {
 public:
  static constexpr std::size_t kMostPending = 1U << 14;
  bool empty() const { return ops_.empty(); }
  /// Queues it, or runs it now when the policy says so. False: fault recorded in the warp.
  bool issue(Cluster& cluster, const TensorOp& op);
  bool complete_oldest(Cluster& cluster);

 private:
  std::deque<TensorOp> ops_;
};

/// D = A * B + D (tcgen05_compute.cpp), a copy to tensor memory (tcgen05_copy.cpp). Each gives what
/// is wrong, with the kind of its report; empty: nothing.
struct TensorProblem {
  diag::Kind kind{};
  std::vector<std::string> arguments;  // behind the instruction's text
  bool empty() const { return arguments.empty(); }
};
TensorProblem multiply(const TensorOp& op);
TensorProblem multiply_scaled(const TensorOp& op);
TensorProblem copy(const TensorOp& op);

}  // namespace pyptx::emu
