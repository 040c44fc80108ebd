// SPDX-License-Identifier: Apache-2.0
//
// mbarriers, copies, clusters and fences: the text they make, that ptxas takes it, and what is
// refused.
#include <array>
#include <vector>

#include "pyptx/build/cluster.h"
#include "pyptx/build/cp_async.h"
#include "pyptx/build/fence.h"
#include "pyptx/build/mbarrier.h"
#include "pyptx/build/tma.h"
#include "trace_support.h"

namespace pyptx::build {
namespace {

using isa::Type;
using testing::HasSubstr;
using testing::IsEmpty;

class ProtocolTest : public TraceTest {
 protected:
  SharedView tile() {
    const std::array<std::uint64_t, 3> shape{2, 64, 64};
    return allocate(tracer, Type::Bf16, shape, {layout::Swizzle::B128, {}, 0, "tile"});
  }
  SharedPlace stage(const SharedView& view, const Index& index) {
    const std::array<Index, 1> indices{index};
    return slice(tracer, view, indices).place;
  }
  Reg map() { return tracer.tensor_map("A", false); }
};

TEST_F(ProtocolTest, an_error_names_the_helpers_around_it) {
  Options options = kernel();
  options.target = {80, 0};
  Tracer old(options, &judge_);
  old.set_loc(old.module().locations.native("author.cpp", 7));
  const MbarrierArray bars = mbarrier::allocate(old, 1, "empty");
  cluster::arrive_multicast(old, bars.place, 3, 1);
  auto error = old.take_error();
  ASSERT_TRUE(error);
  error->resolve(old.module().locations);
  error->resolve(old.module().locations);  // tells them once
  EXPECT_EQ((*error)->place->line, 7U);
  EXPECT_THAT((*error)->notes,
              testing::ElementsAre("in expansion of ptx.mbarrier.arrive_remote(...)",
                                   "in expansion of ptx.cluster.arrive_multicast(...)"));
  old.emit("bar.sync", {ir::Operand::integer(99)});  // the author's own again
  error = old.take_error();
  ASSERT_TRUE(error);
  error->resolve(old.module().locations);
  EXPECT_THAT((*error)->notes, testing::Not(testing::Contains(HasSubstr("expansion"))));
}

TEST_F(ProtocolTest, mbarrier_life) {
  const MbarrierArray bars = mbarrier::allocate(tracer, 2, "full");
  mbarrier::init_all(tracer, bars, 3);
  fence::mbarrier_init(tracer);
  const Reg i = tracer.reg(Type::U32);
  tracer.emit("mov.u32", {i, ir::Operand::integer(1)});
  const SharedPlace second = mbarrier::at(tracer, bars, i).place;
  mbarrier::arrive(tracer, bars.place);
  mbarrier::arrive(tracer, second, 2);
  mbarrier::arrive_expect_tx(tracer, second, 4096);
  mbarrier::expect_tx(tracer, bars.place, i);
  mbarrier::wait(tracer, second, 0);
  mbarrier::wait(tracer, second, i);
  mbarrier::inval(tracer, mbarrier::at(tracer, bars, 1).place);
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("mbarrier.init.shared::cta.b64 [%r"));
  EXPECT_THAT(said, HasSubstr("+8], 3;"));
  EXPECT_THAT(said, HasSubstr("mbar_wait:"));
  EXPECT_THAT(said, HasSubstr("mbar_wait_1:"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(ProtocolTest, a_ring_of_stages) {
  mbarrier::Pipeline ring = mbarrier::pipeline(tracer, 3, 0, 1);
  mbarrier::advance(tracer, ring);
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("setp.eq.u32"));
  EXPECT_THAT(said, HasSubstr("@%p0 xor.b32"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(ProtocolTest, a_ring_keeps_the_registers_it_is_given) {
  const Reg cursor = tracer.reg(Type::U32);
  const Reg phase = tracer.reg(Type::U32);
  const mbarrier::Pipeline ring = mbarrier::pipeline(tracer, 4, cursor, phase);
  EXPECT_EQ(ring.stage.id, cursor.id);
  EXPECT_EQ(ring.phase.id, phase.id);
  EXPECT_TRUE(tracer.function().instructions.empty());
}

TEST_F(ProtocolTest, tensor_copies_of_every_rank) {
  const SharedView view = tile();
  const MbarrierArray bar = mbarrier::allocate(tracer, 1);
  const Reg x = tracer.reg(Type::S32);
  tracer.emit("mov.s32", {x, ir::Operand::integer(0)});
  std::vector<Index> coordinates;
  for (std::size_t rank = 1; rank <= 5; ++rank) {
    coordinates.emplace_back(x);
    tma::load(tracer, rank, stage(view, 1), map(), coordinates, bar.place);
    tma::load(tracer, rank, stage(view, x), map(), coordinates, bar.place,
              {.multicast_mask = 3, .cta_group = 1, .guard = {}});
    tma::store(tracer, rank, map(), coordinates, view.place);
  }
  tma::commit_group(tracer);
  tma::wait_group(tracer, 1, true);
  tma::wait_group(tracer, 0);
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("+8192], [%rd"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(ProtocolTest, byte_copies_and_thread_copies) {
  tracer.add_parameter("source", Type::U64);
  const Reg source = tracer.reg(Type::U64);
  tracer.emit("ld.param.u64", {source, tracer.address(tracer.symbol("source"))});
  const SharedView view = tile();
  const MbarrierArray bar = mbarrier::allocate(tracer, 1);
  tma::load_bytes(tracer, view.place, tracer.address(source), 256, bar.place);
  tma::store_bytes(tracer, tracer.address(source, 16), view.place, 256);
  const Reg left = tracer.reg(Type::U32);
  tracer.emit("mov.u32", {left, ir::Operand::integer(2)});
  cp_async::copy(tracer, cp_async::Cache::All, view.place, tracer.address(source), 4, left);
  cp_async::copy(tracer, cp_async::Cache::Global, view.place.plus(16), tracer.address(source), 16);
  cp_async::commit_group(tracer);
  cp_async::wait_group(tracer, 0);
  cp_async::wait_all(tracer);
  EXPECT_THAT(assemble(text()).value_or(""), IsEmpty());
}

TEST_F(ProtocolTest, columns_become_blocks) {
  const Reg column = tracer.reg(Type::U32);
  const auto constant = tma::blocked_coordinates(tracer, 5, 192);
  EXPECT_EQ(constant[2].value, 3);
  const auto moving = tma::blocked_coordinates(tracer, 5, column);
  EXPECT_EQ(evaluate(tracer, *moving[2].reg, {{static_cast<std::uint32_t>(column.id), 192}}), 3U);
}

TEST_F(ProtocolTest, clusters_and_fences) {
  const MbarrierArray bar = mbarrier::allocate(tracer, 2);
  cluster::sync(tracer);
  cluster::sync(tracer, true);
  const Reg rank = cluster::rank(tracer);
  cluster::map_shared(tracer, bar.place, rank);
  mbarrier::arrive_remote(tracer, bar.place.plus(8), rank, 2);
  cluster::arrive_multicast(tracer, bar.place, 5);
  cluster::arrive_multicast(tracer, bar.place, rank);
  fence::proxy_async(tracer);
  fence::proxy_async_shared_cta(tracer);
  fence::setmaxnreg(tracer, 40, false);
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("%cluster_ctarank"));
  EXPECT_THAT(said, HasSubstr(", 2;"));  // CTA 2 of the mask 0b101
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(ProtocolTest, compares_boxes_and_swizzles_with_tiles) {
  layout::TensorMap described;
  described.type = layout::MapType::BF16;
  described.rank = 2;
  described.dims = {64, 256};
  described.strides = {128};
  described.box = {64, 128};
  described.swizzle = layout::Swizzle::B128;
  tracer.describe_map("x", described);
  const Reg known = tracer.tensor_map("x", false);
  const Reg unknown = tracer.tensor_map("y", false);
  const std::vector<Index> at{0, 0};
  const MbarrierArray bar = mbarrier::allocate(tracer, 1);
  const std::uint64_t shape[] = {2, 64, 64};
  const auto view = [&](layout::Swizzle swizzle) {
    return allocate(tracer, Type::Bf16, shape, {swizzle, std::nullopt, 0, "tile"});
  };
  const SharedView same = view(layout::Swizzle::B128);
  const SharedView other = view(layout::Swizzle::B64);
  tma::load(tracer, 2, same.whole(), known, at, bar.place);
  tma::store(tracer, 2, known, at, same.whole());
  tma::load(tracer, 2, other.whole(), unknown, at, bar.place);
  tma::load(tracer, 2, other.place, known, at, bar.place);
  EXPECT_EQ(refusal(), "");
  const Index first[] = {0};
  tma::load(tracer, 2, slice(tracer, same, first).whole(), known, at, bar.place);
  EXPECT_THAT(refusal(), HasSubstr("PTX0511"));
  tma::store(tracer, 2, known, at, slice(tracer, same, first).whole());
  EXPECT_THAT(refusal(),
              HasSubstr("a box of 16384 bytes does not fit into 'tile', which has 8192"));
  tma::load(tracer, 2, other.whole(), known, at, bar.place);
  EXPECT_THAT(refusal(), HasSubstr("PTX0512"));
}

TEST_F(ProtocolTest, refuses_copies_that_do_not_fit_their_map) {
  const SharedView view = tile();
  const MbarrierArray bar = mbarrier::allocate(tracer, 1);
  const std::vector<Index> two{0, 0};
  tma::load(tracer, 3, view.place, map(), two, bar.place);
  EXPECT_EQ(refusal(), "PTX0505: a 3-dimensional tensor copy takes 3 coordinates, got 2");
  tma::load(tracer, 2, view.place.plus(64), map(), two, bar.place);
  EXPECT_EQ(refusal(), "PTX0504: 'tile' lies at a multiple of 64 bytes, a tensor copy needs 128");
  tma::store(tracer, 2, tracer.reg(Type::U32), two, view.place);
  EXPECT_THAT(refusal(), HasSubstr("64-bit register, got a register of type u32"));
  tma::load(tracer, 2, view.place, map(), two, bar.place, {.multicast_mask = 0, .guard = {}});
  EXPECT_THAT(refusal(), HasSubstr("1 to 65535"));
  tma::load(tracer, 2, view.place, map(), two, bar.place,
            {.multicast_mask = {}, .cta_group = 3, .guard = {}});
  EXPECT_THAT(refusal(), HasSubstr("cta_group must be 1 or 2, got 3"));
  tma::load_bytes(tracer, view.place, tracer.address(map()), 24, bar.place);
  EXPECT_THAT(refusal(), HasSubstr("a multiple of 16, got 24"));
  cp_async::copy(tracer, cp_async::Cache::Global, view.place, tracer.address(map()), 8);
  EXPECT_THAT(refusal(), HasSubstr("cp.async.cg must be 16, got 8"));
}

TEST_F(ProtocolTest, refuses_misused_barriers) {
  const MbarrierArray bar = mbarrier::allocate(tracer, 2, "full");
  mbarrier::at(tracer, bar, 2);
  EXPECT_EQ(refusal(), "PTX0502: index 0 of 'full' must be within 0 to 1, got 2");
  mbarrier::wait(tracer, bar.place, tracer.reg(Type::U64));
  EXPECT_THAT(refusal(), HasSubstr("0, 1 or a 32-bit register, got a register of type u64"));
  mbarrier::wait(tracer, bar.place, 2);
  EXPECT_THAT(refusal(), HasSubstr("got 2"));
  mbarrier::try_wait(tracer, bar.place, 0, false);
  EXPECT_THAT(refusal(), HasSubstr("a 64-bit register, got 0"));
  mbarrier::init(tracer, bar.place, 0);
  EXPECT_THAT(refusal(), HasSubstr("1 to 1048575, got 0"));
  mbarrier::init(tracer, bar.place, 1 << 20);
  EXPECT_THAT(refusal(), HasSubstr("got 1048576"));
  mbarrier::array(tracer, tracer.reg(Type::U32), 12, 2);
  EXPECT_THAT(refusal(), HasSubstr("a multiple of 4 bytes, an mbarrier needs 8"));
  mbarrier::allocate(tracer, 0);
  EXPECT_THAT(refusal(), HasSubstr("0 mbarriers"));
  mbarrier::pipeline(tracer, 0);
  EXPECT_THAT(refusal(), HasSubstr("at least 1, got 0"));
  fence::setmaxnreg(tracer, 100, true);
  EXPECT_THAT(refusal(), HasSubstr("a multiple of 8 within 24 to 256, got 100"));
  cluster::arrive_multicast(tracer, bar.place, 0);
  EXPECT_THAT(refusal(), HasSubstr("the CTA mask must be 1 to 65535"));
}

class OldTargetTest : public TraceTest {
 protected:
  OldTargetTest() : TraceTest(old_target()) {}
  static Options old_target() {
    Options options = kernel();
    options.target = {80, 0};
    return options;
  }
};

TEST_F(OldTargetTest, a_target_without_tma_says_so) {
  const MbarrierArray bar = mbarrier::allocate(tracer, 1);
  const std::vector<Index> at{0};
  tma::load(tracer, 1, bar.place, tracer.tensor_map("A", false), at, bar.place);
  EXPECT_THAT(refusal(), HasSubstr("PTX0302"));
}

}  // namespace
}  // namespace pyptx::build
