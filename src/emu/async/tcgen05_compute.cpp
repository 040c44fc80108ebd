// SPDX-License-Identifier: Apache-2.0
//
// D = A * B + D of one tcgen05.mma without block scales (PTX ISA, "TensorCore 5th Generation Matrix
// Multiply and accumulate Operations") in the panels of numerics/panel.h. Eight neighbouring
// columns of a lane are a vector, so an f32 accumulator is added to where it lies.
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "async/tcgen05_product.h"
#include "machine/cluster.h"
#include "numerics/half.h"
#include "numerics/panel.h"

namespace pyptx::emu {

TensorProblem Tcgen05Operands::read(const TensorOp& op) {
  depth = layout::tcgen05_k(op.instruction.kind, false);
  const std::vector<Cta*> ctas = op.ctas();
  const u32 m = op.instruction.m / op.cta_group;
  const u32 n = op.instruction.n / op.cta_group;
  a.resize(std::size_t{op.instruction.m} * depth);
  b.resize(std::size_t{op.instruction.n} * depth);
  a_gaps.assign(op.instruction.m, 0);
  b_gaps.assign(op.instruction.n, 0);
  const std::vector<SharedOperand> shared = shared_operands(op);
  for (u32 i = 0; i < ctas.size(); ++i) {
    float* rows = a.data() + std::size_t{i} * m * depth;
    if (op.form.a_in_tensor_memory) {
      TensorProblem problem = read_tensor(*ctas[i], op, depth, rows, a_gaps, i * m);
      if (!problem.empty()) return problem;
    } else if (!read_shared(*ctas[i], shared.front(), depth, rows, a_gaps, i * m)) {
      return {diag::Kind::EmuDescriptor, {"the A tile leaves the CTA's shared memory"}};
    }
    if (!read_shared(*ctas[i], shared.back(), depth, b.data() + std::size_t{i} * n * depth, b_gaps,
                     i * n)) {
      return {diag::Kind::EmuDescriptor, {"the B tile leaves the CTA's shared memory"}};
    }
  }
  return {};
}

bool is_disabled(const TensorOp& op, u32 cta, u32 lane) {
  return op.form.disabled_words != 0 &&
         ((op.disabled[cta * 4 + lane / 32] >> (lane % 32)) & 1U) != 0;
}

TensorProblem check_accumulator(const TensorOp& op) {
  if (!op.reads_d) return {};
  const layout::AccumulatorLayout layout = op.layout();
  const std::vector<Cta*> ctas = op.ctas();
  const TensorAddress base = TensorAddress::of(op.d);
  for (u32 row = 0; row < op.instruction.m; ++row) {
    for (u32 column = 0; column < op.instruction.n; column += kVector) {
      const layout::TmemPlace at = layout::accumulator_place(layout, row, column);
      const u32 lane = base.lane + at.lane;
      const u32 first = base.column + at.column;
      const u32 found = ctas[at.cta]->tensor.first_unwritten(lane, first, kVector);
      if (found == kVector) continue;
      return {diag::Kind::EmuTensorUninitialised,
              {tensor_text(lane, first + found),
               "the product is added to D, and nothing was written there"}};
    }
  }
  return {};
}

void mark_accumulator(const TensorOp& op, const Tcgen05Operands& operands) {
  const layout::AccumulatorLayout layout = op.layout();
  const std::vector<Cta*> ctas = op.ctas();
  const TensorAddress base = TensorAddress::of(op.d);
  for (u32 row = 0; row < op.instruction.m; ++row) {
    for (u32 column = 0; column < op.instruction.n; column += kVector) {
      const layout::TmemPlace at = layout::accumulator_place(layout, row, column);
      const u32 lane = base.lane + at.lane;
      if (is_disabled(op, at.cta, lane)) continue;
      TensorMemory& memory = ctas[at.cta]->tensor;
      const u32 first = base.column + at.column;
      if (!op.reads_d) memory.mark(lane, first, kVector);  // else it has what it had
      for (u32 i = 0; i < kVector; ++i) {
        if ((operands.a_gaps[row] | operands.b_gaps[column + i]) != 0) {
          memory.undefine(lane, first + i, 1);
        }
      }
    }
  }
}

namespace {

/// What a thread keeps from one product to the next.
struct Tcgen05Room {
  Tcgen05Operands operands;
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> sums;
  std::vector<float*> vectors;
};

class Tcgen05Product {
 public:
  Tcgen05Product(const TensorOp& op, Tcgen05Room& room)
      : op_(op), room_(room), layout_(op.layout()), ctas_(op.ctas()), i_(op.instruction) {}

  TensorProblem run() {
    TensorProblem problem = check_accumulator(op_);
    if (problem.empty()) problem = room_.operands.read(op_);
    if (!problem.empty()) return problem;
    fill_panels();
    start();
    const bool is_integer = i_.kind == layout::MmaKind::I8;
    const Cluster& cluster = *op_.warp->cta->cluster;
    const Numerics numerics = is_integer ? Numerics::Fast : cluster.launch->options.numerics;
    const SumRule rule =
        sum_rule({cluster.tensor_core, MatrixUnit::Tcgen05, element_of(i_.a, i_.kind),
                  element_of(i_.b, i_.kind), i_.d == layout::ElementFormat::F16, depth()});
    multiply({room_.a.data(), room_.b.data(), room_.vectors.data(), i_.m, columns(), depth()},
             numerics, rule);
    finish();
    mark_accumulator(op_, room_.operands);
    return {};
  }

 private:
  u32 depth() const { return room_.operands.depth; }
  /// Panels of B, an even number: eight columns to each.
  u32 columns() const { return (i_.n / kVector + 1) / 2 * 2; }

  void fill_panels() {
    room_.a.resize(std::size_t{i_.m} * depth() * kVector);
    room_.b.assign(std::size_t{columns()} * depth() * kVector, 0.0F);
    for (std::size_t i = 0; i < std::size_t{i_.m} * depth(); ++i) {
      for (u32 v = 0; v < kVector; ++v) room_.a[i * kVector + v] = room_.operands.a[i];
    }
    for (u32 n = 0; n < i_.n; ++n) {
      float* to = room_.b.data() + std::size_t{n / kVector} * depth() * kVector + n % kVector;
      for (u32 k = 0; k < depth(); ++k) to[k * kVector] = room_.operands.b[n * depth() + k];
    }
  }

  u32* words(u32 row, u32 column, bool& is_kept) {
    const layout::TmemPlace at = layout::accumulator_place(layout_, row, column);
    const TensorAddress base = TensorAddress::of(op_.d);
    is_kept = is_disabled(op_, at.cta, base.lane + at.lane);
    return ctas_[at.cta]->tensor.row(base.lane + at.lane) + base.column + at.column;
  }

  float c_of(u32 word) const {
    if (!op_.reads_d || i_.kind == layout::MmaKind::I8) return 0;
    const float value = i_.d == layout::ElementFormat::F16 ? half_to_float(static_cast<u16>(word))
                                                           : std::bit_cast<float>(word);
    return op_.form.scale_d == 0 ? value : std::ldexp(value, -int{op_.form.scale_d});
  }

  /// Points at the accumulators and puts C there.
  void start() {
    const std::size_t count = std::size_t{i_.m} * columns();
    room_.vectors.resize(count);
    room_.sums.resize(count * kVector);
    const bool is_float = i_.d == layout::ElementFormat::F32;
    for (u32 row = 0; row < i_.m; ++row) {
      for (u32 q = 0; q < columns(); ++q) {
        const std::size_t at = std::size_t{row} * columns() + q;
        float* to = room_.sums.data() + at * kVector;
        if (q * kVector < i_.n) {
          bool is_kept = false;
          u32* d = words(row, q * kVector, is_kept);
          if (is_float && !is_kept) to = reinterpret_cast<float*>(d);
          for (u32 v = 0; v < kVector; ++v) to[v] = c_of(d[v]);
        }
        room_.vectors[at] = to;
      }
    }
  }

  u32 result(u32 old, float sum) const {
    if (i_.d == layout::ElementFormat::F16) return Half::from(sum).bits;
    // The product alone is exact in f32; only adding D can pass the range.
    const i64 total = (op_.reads_d ? static_cast<i32>(old) : 0) + static_cast<i64>(sum);
    const i64 limited = total > INT32_MAX ? INT32_MAX : total < INT32_MIN ? INT32_MIN : total;
    return static_cast<u32>(i_.saturate ? limited : total);
  }

  void finish() {
    if (i_.d == layout::ElementFormat::F32) return;
    for (u32 row = 0; row < i_.m; ++row) {
      for (u32 q = 0; q < i_.n / kVector; ++q) {
        bool is_kept = false;
        u32* d = words(row, q * kVector, is_kept);
        const float* sums = room_.vectors[std::size_t{row} * columns() + q];
        for (u32 v = 0; v < kVector && !is_kept; ++v) d[v] = result(d[v], sums[v]);
      }
    }
  }

  const TensorOp& op_;
  Tcgen05Room& room_;
  layout::AccumulatorLayout layout_;
  std::vector<Cta*> ctas_;
  const layout::InstructionDescriptor& i_;
};

}  // namespace

TensorProblem multiply(const TensorOp& op) {
  thread_local Tcgen05Room room;
  return Tcgen05Product(op, room).run();
}

}  // namespace pyptx::emu
