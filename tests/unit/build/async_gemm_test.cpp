// SPDX-License-Identifier: Apache-2.0
//
// A whole Hopper GEMM tile by the C++ builders: a producer thread that loads A and B with TMA into
// a ring of stages, a consumer warpgroup that multiplies them, and a bounds-checked store of the
// accumulators. C[M, N] = A[M, K] * B[N, K]^T, bf16 in, f32 out. ptxas takes the text.
#include <array>
#include <vector>

#include "pyptx/build/control.h"
#include "pyptx/build/fence.h"
#include "pyptx/build/mbarrier.h"
#include "pyptx/build/memory.h"
#include "pyptx/build/operators.h"
#include "pyptx/build/shared.h"
#include "pyptx/build/tma.h"
#include "pyptx/build/warp.h"
#include "pyptx/build/wgmma.h"
#include "trace_support.h"

namespace pyptx::build {
namespace {

using isa::Type;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kM = 64;
constexpr std::int64_t kN = 128;
constexpr std::int64_t kK = 64;
constexpr std::uint64_t kStages = 4;
constexpr std::int64_t kStageBytes = (kM + kN) * kK * 2;

class GemmTest : public TraceTest {
 protected:
  struct Tile {
    SharedView a, b;
    MbarrierArray full, empty;
    Reg row0, column0, k_tiles, tid;
  };

  Tile prologue() {
    for (const char* name : {"A", "B", "C"}) tracer.add_parameter(name, Type::U64);
    for (const char* name : {"M", "N", "K"}) tracer.add_parameter(name, Type::U32);
    Tile tile;
    const std::array<std::uint64_t, 3> shape_a{kStages, kM, kK};
    const std::array<std::uint64_t, 3> shape_b{kStages, kN, kK};
    tile.a = allocate_tile(tracer, Type::Bf16, shape_a, layout::Major::K, {{}, {}, 0, "sA"});
    tile.b = allocate_tile(tracer, Type::Bf16, shape_b, layout::Major::K, {{}, {}, 0, "sB"});
    tile.full = mbarrier::allocate(tracer, kStages, "full");
    tile.empty = mbarrier::allocate(tracer, kStages, "empty");
    tile.tid = special(tracer, "%tid.x");
    tile.row0 = binary(tracer, BinaryOp::Mul, special(tracer, "%ctaid.y"), kM);
    tile.column0 = binary(tracer, BinaryOp::Mul, special(tracer, "%ctaid.x"), kN);
    const Reg k = param(tracer, Type::U32, "K");
    tile.k_tiles = binary(tracer, BinaryOp::Shr, binary(tracer, BinaryOp::Add, k, kK - 1), 6);
    If first({compare(tracer, Comparison::Eq, tile.tid, 0), false});
    first.begin(tracer);
    mbarrier::init_all(tracer, tile.full, 1);
    mbarrier::init_all(tracer, tile.empty, 128);
    fence::mbarrier_init(tracer);
    first.end(tracer);
    bar_sync(tracer, 0);
    return tile;
  }

  SharedView stage_of(const SharedView& view, Reg stage) {
    const std::array<Index, 1> indices{stage};
    return slice(tracer, view, indices);
  }

  /// One thread keeps the ring full. Its first round must not wait: the parity starts at 1.
  void produce(const Tile& tile) {
    const mbarrier::Pipeline ring = mbarrier::pipeline(tracer, kStages, 0, 1);
    Range loop(0, tile.k_tiles, 1);
    const Reg i = loop.begin(tracer);
    const Reg k = binary(tracer, BinaryOp::Mul, i, kK);
    const SharedPlace full = mbarrier::at(tracer, tile.full, ring.stage).place;
    mbarrier::wait(tracer, mbarrier::at(tracer, tile.empty, ring.stage).place, ring.phase);
    mbarrier::arrive_expect_tx(tracer, full, kStageBytes);
    const std::vector<Index> at_a{k, tile.row0};
    const std::vector<Index> at_b{k, tile.column0};
    tma::load(tracer, 2, stage_of(tile.a, ring.stage).place, tracer.tensor_map("A", false), at_a,
              full);
    tma::load(tracer, 2, stage_of(tile.b, ring.stage).place, tracer.tensor_map("B", false), at_b,
              full);
    mbarrier::advance(tracer, ring);
    loop.end(tracer);
  }

  std::vector<Reg> consume(const Tile& tile) {
    const std::vector<Reg> accumulators = wgmma_fragment(tracer, kM, kN, Type::F32, "acc");
    for (const Reg reg : accumulators) assign(tracer, reg, 0.0);
    const mbarrier::Pipeline ring = mbarrier::pipeline(tracer, kStages);
    Range loop(0, tile.k_tiles, 1);
    loop.begin(tracer);
    mbarrier::wait(tracer, mbarrier::at(tracer, tile.full, ring.stage).place, ring.phase);
    wgmma::MmaArguments product;
    product.shape = {64, kN, 16};
    product.type_d = Type::F32;
    product.type_a = product.type_b = Type::Bf16;
    product.d = accumulators;
    product.a = stage_of(tile.a, ring.stage);
    product.b = stage_of(tile.b, ring.stage);
    product.scale_d = true;
    wgmma::fence(tracer);
    for (std::int64_t k = 0; k < kK; k += 16) {
      product.k_offset_a = product.k_offset_b = k;
      wgmma::mma_async(tracer, product);
    }
    wgmma::commit_group(tracer);
    wgmma::wait_group(tracer, 0);
    mbarrier::arrive(tracer, mbarrier::at(tracer, tile.empty, ring.stage).place);
    mbarrier::advance(tracer, ring);
    loop.end(tracer);
    return accumulators;
  }

  /// Register i of the fragment is row 16w + l/4 + 8((i>>1)&1), column 8(i>>2) + 2(l%4) + (i&1).
  void store_accumulators(const Tile& tile, const std::vector<Reg>& accumulators) {
    const Reg m = param(tracer, Type::U32, "M");
    const Reg n = param(tracer, Type::U32, "N");
    const Reg c = global_pointer(tracer, "C");
    const Reg thread = binary(tracer, BinaryOp::And, tile.tid, 127);
    const Reg lane = binary(tracer, BinaryOp::And, thread, 31);
    const Reg warp_row =
        binary(tracer, BinaryOp::Mul, binary(tracer, BinaryOp::Shr, thread, 5), 16);
    const Reg row =
        binary(tracer, BinaryOp::Add, binary(tracer, BinaryOp::Add, tile.row0, warp_row),
               binary(tracer, BinaryOp::Shr, lane, 2));
    const Reg pair = binary(tracer, BinaryOp::Mul, binary(tracer, BinaryOp::And, lane, 3), 2);
    const Reg column = binary(tracer, BinaryOp::Add, tile.column0, pair);
    for (int half = 0; half < 2; ++half) {
      const Reg r = binary(tracer, BinaryOp::Add, row, 8 * half);
      const Reg row_fits = compare(tracer, Comparison::Lt, r, m);
      const Reg start = tracer.reg(Type::U32);
      tracer.emit("mad.lo.u32", {start, r, n, column});
      const Reg address = tracer.reg(Type::U64);
      tracer.emit("mad.wide.u32", {address, start, ir::Operand::integer(4), c});
      for (std::size_t i = 0; i < accumulators.size(); ++i) {
        if (((i >> 1) & 1U) != static_cast<std::size_t>(half)) continue;
        const auto shift = static_cast<std::int64_t>(8 * (i >> 2) + (i & 1U));
        const Reg fits =
            compare(tracer, Comparison::Lt, binary(tracer, BinaryOp::Add, column, shift), n);
        const Reg both = binary(tracer, BinaryOp::And, row_fits, fits);
        tracer.emit("st.global.f32", {tracer.address(address, shift * 4), accumulators[i]},
                    {both, false});
      }
    }
  }
};

TEST_F(GemmTest, a_whole_tile_assembles) {
  const Tile tile = prologue();
  const Reg is_producer = compare(tracer, Comparison::Lt, tile.tid, 128);
  If producer({is_producer, false});
  producer.begin(tracer);
  fence::setmaxnreg(tracer, 40, false);
  If one({compare(tracer, Comparison::Eq, tile.tid, 0), false});
  one.begin(tracer);
  produce(tile);
  one.end(tracer);
  producer.end(tracer);
  Else consumer;
  consumer.begin(tracer);
  fence::setmaxnreg(tracer, 232, true);
  const std::vector<Reg> accumulators = consume(tile);
  store_accumulators(tile, accumulators);
  consumer.end(tracer);
  const std::array<std::int64_t, 3> threads{256, 1, 1};
  tracer.add_directive("maxntid", threads);

  const std::string said = text();
  EXPECT_EQ(tracer.map_tensors(), (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(tracer.dynamic_shared_bytes(), kStages * kStageBytes + 2 * 8 * kStages);
  EXPECT_THAT(said, HasSubstr("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"));
  EXPECT_THAT(said, HasSubstr(".extern .shared .align 1024 .b8 dyn_smem[]"));
  const auto messages = assemble(said);
  if (!messages) GTEST_SKIP() << "no ptxas";
  EXPECT_THAT(*messages, IsEmpty());
}

}  // namespace
}  // namespace pyptx::build
