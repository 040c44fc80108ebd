// SPDX-License-Identifier: Apache-2.0
//
// Reductions of the asynchronous proxy, im2col, gathered rows, words sent to other CTAs, edited
// tensor maps, and the rarer mbarrier and barrier instructions: each against what the manual says,
// and the nearest misuse.
#include <array>

#include "bench.h"

namespace pyptx::emu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Completion kPolicies[] = {Completion::Earliest, Completion::Latest, Completion::Random};
const char* const kTile =
    ".shared .align 128 .b8 tile[1024];\n.shared .align 8 .b64 bar;\n"
    ".shared .align 8 .b64 bar2;\n";
alignas(128) std::array<std::byte, 128> tensor_map;

/// The text for a Blackwell target.
std::string for_blackwell(std::string text) {
  const std::string from = ".target sm_90a";
  return text.replace(text.find(from), from.size(), ".target sm_100a");
}

void give_map(Bench& bench, const layout::TensorMap& map, std::vector<std::uint32_t>& data) {
  tensor_map = encode(map, reinterpret_cast<std::uint64_t>(data.data()));
  bench.value(0, reinterpret_cast<std::uint64_t>(tensor_map.data()));
  bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(tensor_map.data()), 128, true});
  bench.launch.buffers.push_back(
      {reinterpret_cast<std::uint64_t>(data.data()), data.size() * 4, true});
}

std::string reduce_text(const std::string& operation, const std::string& value) {
  return entry(R"(
    ld.param.u64 %rd0, [p0];
    mov.u32 %r1, tile;
    st.shared.v2.b64 [%r1], {)" +
                   value + ", " + value + R"(};
    fence.proxy.async.shared::cta;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.)" +
                   operation + R"( [%rd0], [%r1], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;)",
               kTile);
}

std::vector<std::uint32_t> reduced(const std::string& operation, const std::string& value,
                                   std::vector<std::uint32_t> start) {
  Bench bench(reduce_text(operation, value));
  bench.buffer(0, start);
  bench.launch.options.races = true;
  bench.run();
  return start;
}

TEST(BulkReduction, EveryOperation) {
  const std::vector<std::uint32_t> start{5, 0, 7, 0xFFFFFFFFU};
  const std::string three = "0x0000000300000003";
  EXPECT_THAT(reduced("add.u32", three, start), ElementsAre(8, 3, 10, 2));
  EXPECT_THAT(reduced("min.s32", three, start), ElementsAre(3, 0, 3, 0xFFFFFFFFU));
  EXPECT_THAT(reduced("max.u32", three, start), ElementsAre(5, 3, 7, 0xFFFFFFFFU));
  EXPECT_THAT(reduced("inc.u32", three, start), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(reduced("dec.u32", three, start), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(reduced("and.b32", three, start), ElementsAre(1, 0, 3, 3));
  EXPECT_THAT(reduced("or.b32", three, start), ElementsAre(7, 3, 7, 0xFFFFFFFFU));
  EXPECT_THAT(reduced("xor.b64", three, start), ElementsAre(6, 3, 4, 0xFFFFFFFCU));
  EXPECT_THAT(reduced("add.u64", "0xFFFFFFFFFFFFFFFF", start), ElementsAre(4, 0, 6, 0xFFFFFFFFU));
}

TEST(BulkReduction, FloatsRoundAndFlush) {
  // 1 + 2, a subnormal plus zero, in f32; halves and bfloats keep subnormals.
  EXPECT_THAT(reduced("add.f32", "0x0000000040000000", {0x3F800000U, 1, 0x3F800000U, 1}),
              ElementsAre(0x40400000U, 0, 0x40400000U, 0));
  EXPECT_THAT(reduced("add.noftz.f16", "0x0000000000003C00", {0x00013C00U, 1, 0, 0}),
              ElementsAre(0x00014000U, 1, 0x00003C00U, 0));
  EXPECT_THAT(reduced("max.bf16", "0x0000000000003F80", {0xBF800000U, 0x7FC0U, 0, 0}),
              ElementsAre(0x00003F80U, 0, 0x00003F80U, 0));
}

TEST(TensorReduction, AddsOnlyWhatIsInside) {
  for (const Completion policy : kPolicies) {
    std::vector<std::uint32_t> data(8 * 4, 100);
    layout::TensorMap map;
    map.type = layout::MapType::U32;
    map.rank = 2;
    map.dims = {8, 4};
    map.strides = {32};
    map.box = {4, 2};
    Bench bench(entry(R"(
      ld.param.u64 %rd0, [p0];
      mov.u32 %r1, tile;
      st.shared.v4.b32 [%r1], {1, 2, 3, 4};
      st.shared.v4.b32 [%r1+16], {5, 6, 7, 8};
      fence.proxy.async;
      cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd0, {4, 3}], [%r1];
      cp.async.bulk.commit_group;
      cp.async.bulk.wait_group 0;
      ret;)",
                      kTile));
    give_map(bench, map, data);
    bench.launch.options.completion = policy;
    bench.launch.options.races = true;
    bench.run();
    EXPECT_EQ(data[8 * 3 + 4], 101U);
    EXPECT_EQ(data[8 * 3 + 7], 104U);
    EXPECT_EQ(data[8 * 3 + 3], 100U);
    EXPECT_EQ(data[8 * 2 + 4], 100U);
  }
}

std::string load_text(const std::string& copy, const std::string& bytes) {
  return entry(R"(
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    mov.u32 %r1, tile;
    mov.u32 %r2, bar;
    mbarrier.init.shared.b64 [%r2], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r2], )" +
                   bytes + R"(;
    )" + copy + R"(
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;
    @!%p1 bra WAIT;
    mov.u32 %r3, 0;
  DUMP:
    ld.shared.u32 %r4, [%r1];
    st.global.u32 [%rd1], %r4;
    add.u32 %r1, %r1, 4;
    add.u64 %rd1, %rd1, 4;
    add.u32 %r3, %r3, 4;
    setp.lt.u32 %p1, %r3, )" +
                   bytes + R"(;
    @%p1 bra DUMP;
    ret;)",
               kTile);
}

TEST(TensorLoad, Im2colWalksTheBoundingBox) {
  // One image of 4 x 3 pixels (W x H) with four channels; the filter reaches one pixel outside.
  std::vector<std::uint32_t> data(4 * 4 * 3);
  for (std::uint32_t i = 0; i < data.size(); ++i) data[i] = i + 1;
  std::vector<std::uint32_t> out(4 * 6);
  layout::TensorMap map;
  map.type = layout::MapType::U32;
  map.rank = 4;
  map.dims = {4, 4, 3, 1};
  map.strides = {16, 64, 192};
  map.im2col = {{-1, -1, 0}, {-1, -1, 0}, 4, 6};
  const std::string text = load_text(
      "mov.b16 %h1, 1; mov.b16 %h2, 0;"
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[%r1], [%rd0, {0, 1, 0, 0}], [%r2], {%h1, %h2};",
      "96");
  Bench walk(text);
  give_map(walk, map, data);
  walk.buffer(1, out);
  walk.launch.options.races = true;
  walk.run();
  // Bases (1,0) (2,0) (-1,1) (0,1) (1,1) (2,1); each is read one pixel to the right.
  const auto pixel = [&](int w, int h) { return w < 0 || w > 3 ? 0 : data[4U * (4 * h + w)]; };
  EXPECT_THAT(
      (std::vector<std::uint32_t>{out[0], out[4], out[8], out[12], out[16], out[20]}),
      ElementsAre(pixel(2, 0), pixel(3, 0), pixel(0, 1), pixel(1, 1), pixel(2, 1), pixel(3, 1)));
}

TEST(TensorLoad, InterleavedChannelsComeSliceBySlice) {
  // W, C in slices, N: the slice 1 of both images, every other one of the places 1, 3 and 5.
  std::vector<std::uint32_t> data(4 * 5 * 2 * 2);
  for (std::uint32_t i = 0; i < data.size(); ++i) data[i] = i + 1;
  std::vector<std::uint32_t> out(4 * 2 * 2);
  layout::TensorMap map;
  map.type = layout::MapType::U32;
  map.interleave = layout::Interleave::B16;
  map.rank = 3;
  map.dims = {5, 2, 2};
  map.strides = {80, 160};
  map.box = {4, 8, 2};
  map.element_strides = {2, 1, 1, 1, 1};
  Bench bench(
      load_text("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[%r1], [%rd0, {3, 1, 0}], [%r2];",
                "64"));
  give_map(bench, map, data);
  bench.buffer(1, out);
  bench.launch.options.races = true;
  bench.run();
  const std::uint32_t first = 4 * (5 + 3) + 1;  // place 3 of slice 1; place 5 lies outside
  const std::uint32_t second = first + 40;
  EXPECT_THAT(out, ElementsAre(first, first + 1, first + 2, first + 3, 0, 0, 0, 0, second,
                               second + 1, second + 2, second + 3, 0, 0, 0, 0));
}

TEST(TensorLoad, FourRowsAreGathered) {
  std::vector<std::uint32_t> data(4 * 10);
  for (std::uint32_t i = 0; i < data.size(); ++i) data[i] = i;
  std::vector<std::uint32_t> out(16, 0xEEU);
  layout::TensorMap map;
  map.type = layout::MapType::U32;
  map.rank = 2;
  map.dims = {4, 10};
  map.strides = {16};
  map.box = {4, 1};
  const std::string copy =
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
      "[%r1], [%rd0, {0, 7, 2, 11, 0}], [%r2];";
  Bench bench(for_blackwell(load_text(copy, "64")));
  give_map(bench, map, data);
  bench.buffer(1, out);
  bench.run();
  EXPECT_THAT(out, ElementsAre(28, 29, 30, 31, 8, 9, 10, 11, 0, 0, 0, 0, 0, 1, 2, 3));
  map.box = {4, 2};
  Bench wrong(for_blackwell(load_text(copy, "64")));
  give_map(wrong, map, data);
  wrong.buffer(1, out);
  EXPECT_THAT(wrong.failure(), HasSubstr("PTX0908"));
}

TEST(TensorLoad, AMapSaysWhichModeItIsFor) {
  std::vector<std::uint32_t> data(64);
  layout::TensorMap map;
  map.type = layout::MapType::U32;
  map.rank = 3;
  map.dims = {4, 4, 4};
  map.strides = {16, 64};
  map.box = {4, 1, 1};
  const std::string tile =
      "cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%rd0, {0, 0, 0}]; ret;";
  Bench fits(entry("ld.param.u64 %rd0, [p0];" + tile));
  give_map(fits, map, data);
  EXPECT_EQ(fits.failure(), "");
  map.im2col = {{0, 0, 0}, {0, 0, 0}, 4, 4};
  Bench other(entry("ld.param.u64 %rd0, [p0];" + tile));
  give_map(other, map, data);
  EXPECT_THAT(other.failure(), HasSubstr("im2col map"));
}

TEST(AsyncWord, IsSeenWhenItsBytesHaveCome) {
  for (const Completion policy : kPolicies) {
    std::vector<std::uint32_t> out(2);
    Bench bench(entry(R"(
      mov.u32 %r1, %cluster_ctarank;
      ld.param.u64 %rd0, [p0];
      mov.u32 %r2, tile;
      mov.u32 %r3, bar;
      mov.b32 %r9, 40;
      st.shared.v2.b32 [%r2], {%r9, %r9};
      mbarrier.init.shared::cta.b64 [%r3], 1;
      fence.mbarrier_init.release.cluster;
      fence.proxy.async;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 8;
      barrier.cluster.arrive;
      barrier.cluster.wait;
      xor.b32 %r4, %r1, 1;
      mapa.shared::cluster.u32 %r5, %r2, %r4;
      mapa.shared::cluster.u32 %r6, %r3, %r4;
      add.u32 %r7, %r1, 1;
      st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r5], %r7, [%r6];
      add.u32 %r5, %r5, 4;
      red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], %r7, [%r6];
    WAIT:
      mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r3], 0;
      @!%p1 bra WAIT;
      ld.shared.v2.u32 {%r7, %r8}, [%r2];
      mad.lo.u32 %r8, %r8, 10, %r7;
      mad.wide.u32 %rd0, %r1, 4, %rd0;
      st.global.u32 [%rd0], %r8;
      barrier.cluster.arrive;
      barrier.cluster.wait;
      ret;)",
                      kTile));
    bench.buffer(0, out);
    bench.launch.grid = bench.launch.cluster = {2, 1, 1};
    bench.launch.block = {1, 1, 1};
    bench.launch.options.completion = policy;
    bench.launch.options.races = true;
    bench.run();
    EXPECT_THAT(out, ElementsAre(422, 411));
  }
}

TEST(TensorMapEdit, FieldsAreReplacedAndTheMapIsCopied) {
  std::vector<std::uint32_t> data{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::uint32_t> out(4);
  layout::TensorMap map;
  map.type = layout::MapType::U16;
  map.rank = 1;
  map.dims = {1};
  map.box = {8};
  const std::string edit = R"(
    tensormap.replace.tile.elemtype.global.b1024.b32 [%rd0], 2;
    tensormap.replace.tile.global_dim.global.b1024.b32 [%rd0], 0, 7;
    tensormap.replace.tile.box_dim.global.b1024.b32 [%rd0], 0, 4;
    cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd0, {4}], [%r2];)";
  Bench bench(load_text(edit, "16"));
  give_map(bench, map, data);
  bench.buffer(1, out);
  bench.run();
  EXPECT_THAT(out, ElementsAre(5, 6, 7, 0));
}

TEST(TensorMapEdit, IsUsedBehindItsFencesOnly) {
  std::vector<std::uint32_t> data{1, 2, 3, 4, 5, 6, 7, 8};
  layout::TensorMap map;
  map.type = layout::MapType::U32;
  map.rank = 1;
  map.dims = {8};
  map.box = {4};
  const std::string change = "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd0], 0, 2;\n";
  const std::string release = "fence.proxy.tensormap::generic.release.gpu;\n";
  const std::string acquire = "fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128;\n";
  const auto run = [&](const std::string& fences) {
    std::vector<std::uint32_t> out(4, 9);
    Bench bench(load_text(
        change + fences +
            "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%r1], [%rd0, {0}], [%r2];",
        "16"));
    give_map(bench, map, data);
    bench.buffer(1, out);
    bench.launch.options.races = true;
    std::string text = bench.failure();
    if (text.empty()) {
      EXPECT_THAT(out, ElementsAre(1, 2, 0, 0));
    }
    return text;
  };
  EXPECT_EQ(run(release + acquire), "");
  EXPECT_THAT(run(acquire), HasSubstr("not released to the tensormap proxy"));
  EXPECT_THAT(run(release), HasSubstr("no fence.proxy.tensormap::generic.acquire"));
  EXPECT_THAT(run(acquire + release), HasSubstr("PTX0946"));
}

TEST(Mbarrier, TransactionsDropsAndPendingCounts) {
  std::vector<std::uint32_t> out(4);
  Bench bench(entry(R"(
    ld.param.u64 %rd0, [p0];
    mov.u32 %r2, bar;
    mbarrier.init.shared.b64 [%r2], 3;
    mbarrier.expect_tx.relaxed.cta.shared.b64 [%r2], 64;
    mbarrier.arrive_drop.shared.b64 %rd1, [%r2];
    mbarrier.pending_count.b64 %r3, %rd1;
    mbarrier.arrive.shared.b64 %rd2, [%r2], 2;
    mbarrier.test_wait.shared.b64 %p1, [%r2], %rd2;
    selp.u32 %r4, 1, 0, %p1;
    mbarrier.complete_tx.relaxed.cta.shared.b64 [%r2], 64;
    mbarrier.test_wait.shared.b64 %p1, [%r2], %rd2;
    selp.u32 %r5, 1, 0, %p1;
    mbarrier.arrive.shared.b64 %rd3, [%r2], 2;
    mbarrier.test_wait.parity.shared.b64 %p1, [%r2], 1;
    selp.u32 %r6, 1, 0, %p1;
    st.global.v4.u32 [%rd0], {%r3, %r4, %r5, %r6};
    ret;)",
                    kTile));
  bench.buffer(0, out);
  bench.launch.options.races = true;
  bench.run();
  EXPECT_THAT(out, ElementsAre(3, 0, 1, 1));
}

TEST(Mbarrier, AStateOfAnOldPhaseCannotBeTested) {
  Bench bench(entry(R"(
    mov.u32 %r2, bar;
    mbarrier.init.shared.b64 [%r2], 1;
    mbarrier.arrive.shared.b64 %rd1, [%r2];
    mbarrier.test_wait.shared.b64 %p1, [%r2], %rd1;
    mbarrier.arrive.shared.b64 %rd2, [%r2];
    mbarrier.test_wait.shared.b64 %p1, [%r2], %rd1;
    ret;)",
                    kTile));
  EXPECT_THAT(bench.failure(), HasSubstr("the state is of phase 0, the current one is 2"));
}

TEST(Barrier, ReductionsOverThreads) {
  std::vector<std::uint32_t> out(64);
  Bench bench(entry(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd0, [p0];
    setp.lt.u32 %p1, %r1, 40;
    setp.lt.u32 %p2, %r1, 64;
    bar.red.popc.u32 %r2, 0, %p1;
    bar.red.and.pred %p3, 0, %p1;
    bar.red.and.pred %p4, 0, %p2;
    barrier.red.or.pred %p5, 1, 64, !%p2;
    selp.u32 %r3, 100, 0, %p3;
    selp.u32 %r4, 200, 0, %p4;
    selp.u32 %r5, 400, 0, %p5;
    add.u32 %r2, %r2, %r3;
    add.u32 %r2, %r2, %r4;
    add.u32 %r2, %r2, %r5;
    mad.wide.u32 %rd0, %r1, 4, %rd0;
    st.global.u32 [%rd0], %r2;
    ret;)"));
  bench.buffer(0, out);
  bench.launch.block = {64, 1, 1};
  bench.run();
  EXPECT_THAT(out, Each(240U));
}

}  // namespace
}  // namespace pyptx::emu
