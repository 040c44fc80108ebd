// SPDX-License-Identifier: Apache-2.0
//
// Products with block scales (PTX ISA, "Block Scaling for tcgen05.mma.sync"): each row of A and
// each column of B has a scale factor for every block along K. One output at a time.
#include <bit>
#include <cstring>

#include "async/tcgen05_product.h"
#include "machine/cluster.h"
#include "numerics/scaled_sum.h"

namespace pyptx::emu {
namespace {

class ScaledProduct {
 public:
  explicit ScaledProduct(const TensorOp& op)
      : op_(op), layout_(op.layout()), ctas_(op.ctas()), i_(op.instruction) {}

  TensorProblem run() {
    TensorProblem problem = check_accumulator(op_);
    if (problem.empty()) problem = operands_.read(op_);
    for (u32 cta = 0; problem.empty() && cta < ctas_.size(); ++cta) {
      problem = read_scales(cta, false, scales_a_[cta]);
      if (problem.empty()) problem = read_scales(cta, true, scales_b_[cta]);
    }
    if (!problem.empty()) return problem;
    for (u32 row = 0; row < i_.m; ++row) {
      for (u32 column = 0; column < i_.n; ++column) sum(row, column);
    }
    mark_accumulator(op_, operands_);
    return {};
  }

 private:
  /// The scales of the rows of a CTA, or of all columns as that CTA has them.
  TensorProblem read_scales(u32 cta, bool is_b, std::vector<u8>& to) {
    TensorMemory& memory = ctas_[cta]->tensor;
    const TensorAddress base = TensorAddress::of(is_b ? op_.scale_b : op_.scale_a);
    const u32 id = is_b ? i_.scale_b_id : i_.scale_a_id;
    const u32 count = is_b ? i_.n : i_.m / op_.cta_group;
    to.resize(std::size_t{count} * op_.form.scales);
    for (u32 i = 0; i < count; ++i) {
      const layout::ScalePlace place =
          is_b ? layout::scale_b_place(layout_, i) : layout::scale_a_place(layout_, i);
      const u32 column = base.column + place.column;
      const u32 first = place.first_lane + place.lane;
      for (u32 group = 0; group < place.groups; ++group) {
        const u32 lane = first + group * 32;
        if (!memory.is_written(lane, column)) {
          return {diag::Kind::EmuTensorUninitialised,
                  {tensor_text(lane, column), "the scale factors have no value there"}};
        }
        if (bytes_of(memory, lane, column, id) != bytes_of(memory, first, column, id)) {
          return {diag::Kind::EmuTensorAccess,
                  {tensor_text(lane, column),
                   "the scale factors differ from their copy in lane " + std::to_string(first) +
                       ": each group of 32 lanes multiplies with its own"}};
        }
      }
      const u32 bytes = bytes_of(memory, first, column, id);
      std::memcpy(to.data() + std::size_t{i} * op_.form.scales, &bytes, op_.form.scales);
    }
    return {};
  }

  u32 bytes_of(TensorMemory& memory, u32 lane, u32 column, u32 id) const {
    const u64 mask = (u64{1} << (8 * op_.form.scales)) - 1;
    return static_cast<u32>(memory.row(lane)[column] >> (8 * id) & mask);
  }

  void sum(u32 row, u32 column) {
    const layout::TmemPlace at = layout::accumulator_place(layout_, row, column);
    const TensorAddress base = TensorAddress::of(op_.d);
    u32& d = ctas_[at.cta]->tensor.row(base.lane + at.lane)[base.column + at.column];
    const u32 depth = operands_.depth;
    const u32 local = row % (i_.m / op_.cta_group);
    const Cluster& cluster = *op_.warp->cta->cluster;
    const ScaledTerms terms{operands_.a.data() + std::size_t{row} * depth,
                            operands_.b.data() + std::size_t{column} * depth,
                            1,
                            depth,
                            scales_a_[at.cta].data() + std::size_t{local} * op_.form.scales,
                            scales_b_[at.cta].data() + std::size_t{column} * op_.form.scales,
                            op_.form.scales,
                            i_.scale == layout::ElementFormat::Ue4m3,
                            op_.reads_d ? std::bit_cast<float>(d) : 0.0F};
    const SumRule rule =
        sum_rule({cluster.tensor_core, MatrixUnit::Tcgen05, element_of(i_.a, i_.kind),
                  element_of(i_.b, i_.kind), false, depth});
    d = std::bit_cast<u32>(scaled_sum(terms, cluster.launch->options.numerics, rule));
  }

  const TensorOp& op_;
  layout::AccumulatorLayout layout_;
  std::vector<Cta*> ctas_;
  const layout::InstructionDescriptor& i_;
  Tcgen05Operands operands_;
  std::vector<u8> scales_a_[2];
  std::vector<u8> scales_b_[2];
};

}  // namespace

TensorProblem multiply_scaled(const TensorOp& op) { return ScaledProduct(op).run(); }

}  // namespace pyptx::emu
