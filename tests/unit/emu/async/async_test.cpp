// SPDX-License-Identifier: Apache-2.0
//
// The asynchronous engine: TMA, mbarriers, wgmma, cp.async, clusters; every completion policy.
#include <bit>
#include <cmath>
#include <random>

#include "bench.h"
#include "numerics/half.h"

namespace pyptx::emu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Completion kEveryPolicy[] = {Completion::Earliest, Completion::Latest,
                                       Completion::Random};

alignas(64) std::array<std::byte, 128> map_a;
alignas(64) std::array<std::byte, 128> map_b;

layout::TensorMap tile_map(layout::MapType type, std::uint64_t rows, std::uint64_t columns,
                           std::uint32_t box_rows, std::uint32_t box_columns) {
  layout::TensorMap map;
  map.type = type;
  map.rank = 2;
  map.dims = {columns, rows};
  map.strides = {columns * layout::element_bytes(type)};
  map.box = {box_columns, box_rows};
  map.swizzle = layout::Swizzle::B128;
  return map;
}

std::string registers(const std::string& prefix, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + std::string("%") + prefix + std::to_string(i);
  }
  return text + "}";
}

/// One CTA computes 64 x 64 of C = A * B^T, A and B (64, K) bf16 row-major, K = 128 in two stages
/// of 64, through TMA with the 128-byte swizzle.
std::string gemm() {
  std::string text = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, sa;
    mov.u32 %r3, sb;
    mov.u32 %r4, bars;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    ld.param.u64 %rd2, [p2];
    setp.eq.u32 %p1, %r1, 0;
    @!%p1 bra READY;
    mbarrier.init.shared::cta.b64 [%r4], 1;
    mbarrier.init.shared::cta.b64 [%r4+8], 1;
    fence.mbarrier_init.release.cluster;
  READY:
    bar.sync 0;
    @!%p1 bra COMPUTE;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16384;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0, {0, 0}], [%r4];
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1, {0, 0}], [%r4];
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4+8], 16384;
    add.u32 %r5, %r2, 8192;
    add.u32 %r6, %r3, 8192;
    add.u32 %r7, %r4, 8;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd0, {64, 0}], [%r7];
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd1, {64, 0}], [%r7];
  COMPUTE:
    mov.u32 %r10, 0;
    setp.ne.u32 %p4, %r10, 0;
  STAGE:
    shl.b32 %r11, %r10, 3;
    add.u32 %r11, %r4, %r11;
  WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0;
    @!%p2 bra WAIT;
    shl.b32 %r12, %r10, 13;
    add.u32 %r13, %r2, %r12;
    add.u32 %r14, %r3, %r12;
    and.b32 %r13, %r13, 0x3FFFF;
    and.b32 %r14, %r14, 0x3FFFF;
    shr.u32 %r13, %r13, 4;
    shr.u32 %r14, %r14, 4;
    cvt.u64.u32 %rd5, %r13;
    cvt.u64.u32 %rd6, %r14;
    or.b64 %rd5, %rd5, 0x4000004000010000;
    or.b64 %rd6, %rd6, 0x4000004000010000;
    wgmma.fence.sync.aligned;
)";
  for (int k = 0; k < 4; ++k) {
    text += "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " + registers("f", 32) +
            ", %rd5, %rd6, %p4, 1, 1, 0, 0;\n";
    text += "add.u64 %rd5, %rd5, 2;\nadd.u64 %rd6, %rd6, 2;\nsetp.eq.u32 %p4, %r1, %r1;\n";
  }
  text += R"(
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p3, %r10, 2;
    @%p3 bra STAGE;
    shr.u32 %r20, %r1, 5;
    and.b32 %r21, %r1, 31;
    shl.b32 %r22, %r20, 4;
    shr.u32 %r23, %r21, 2;
    add.u32 %r22, %r22, %r23;
    shl.b32 %r22, %r22, 6;
    and.b32 %r24, %r21, 3;
    shl.b32 %r24, %r24, 1;
    add.u32 %r22, %r22, %r24;
    mul.wide.u32 %rd7, %r22, 4;
    add.u64 %rd7, %rd2, %rd7;
)";
  for (int i = 0; i < 32; i += 2) {
    const int offset = 4 * (8 * (i >> 2) + 64 * 8 * ((i >> 1) & 1));
    text += "st.global.v2.f32 [%rd7+" + std::to_string(offset) + "], {%f" + std::to_string(i) +
            ", %f" + std::to_string(i + 1) + "};\n";
  }
  return entry(text + "ret;",
               ".shared .align 1024 .b8 sa[16384];\n.shared .align 1024 .b8 sb[16384];\n"
               ".shared .align 8 .b64 bars[2];\n");
}

TEST(Async, TensorCopiesAndWgmmaGiveAMatrixProduct) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::uint16_t> a(64 * 128);
  std::vector<std::uint16_t> b(64 * 128);
  for (auto* m : {&a, &b}) {
    for (auto& v : *m) v = BFloat::from(uniform(random)).bits;
  }
  map_a = encode(tile_map(layout::MapType::BF16, 64, 128, 64, 64),
                 reinterpret_cast<std::uint64_t>(a.data()));
  map_b = encode(tile_map(layout::MapType::BF16, 64, 128, 64, 64),
                 reinterpret_cast<std::uint64_t>(b.data()));
  for (const Completion policy : kEveryPolicy) {
    for (const std::uint64_t seed : {0, 5}) {
      Bench bench(gemm());
      std::vector<float> c(64 * 64, -1);
      bench.value(0, reinterpret_cast<std::uint64_t>(map_a.data()));
      bench.value(1, reinterpret_cast<std::uint64_t>(map_b.data()));
      bench.buffer(2, c);
      bench.launch.buffers.push_back(
          {reinterpret_cast<std::uint64_t>(a.data()), 64 * 128 * 2, false});
      bench.launch.buffers.push_back(
          {reinterpret_cast<std::uint64_t>(b.data()), 64 * 128 * 2, false});
      bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(map_a.data()), 128, false});
      bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(map_b.data()), 128, false});
      bench.launch.block = {128, 1, 1};
      bench.launch.options.completion = policy;
      bench.launch.options.seed = seed;
      bench.run();
      for (std::size_t m = 0; m < 64; ++m) {
        for (std::size_t n = 0; n < 64; ++n) {
          double expected = 0;
          for (std::size_t k = 0; k < 128; ++k) {
            expected += BFloat{a[m * 128 + k]}.value() * BFloat{b[n * 128 + k]}.value();
          }
          ASSERT_NEAR(c[m * 64 + n], expected, 1e-4) << m << " " << n;
        }
      }
    }
  }
}

/// Loads one box at (c0, c1) of a 2-D f32 tensor and stores the shared tile to p1 linearly.
std::string load_box(const std::string& coordinates, std::uint32_t bytes) {
  return entry(R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mov.u32 %r4, bar;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r4], 1;
    bar.sync 0;
    @!%p1 bra WAIT;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], )" +
                   std::to_string(bytes) + R"(;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0, {)" +
                   coordinates + R"(}], [%r4];
  WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;
    @!%p2 bra WAIT;
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r2, %r5;
    ld.shared.u32 %r7, [%r6];
    cvt.u64.u32 %rd2, %r5;
    add.u64 %rd2, %rd1, %rd2;
    st.global.u32 [%rd2], %r7;
    ret;)",
               ".shared .align 1024 .b8 tile[2048];\n.shared .align 8 .b64 bar;\n");
}

TEST(Async, RowsOfASwizzledBoxAreAsFarApartAsItsSpan) {
  std::vector<float> in(8 * 8);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i + 1);
  layout::TensorMap map = tile_map(layout::MapType::TF32, 8, 8, 3, 4);
  map.swizzle = layout::Swizzle::B64;
  map_a = encode(map, reinterpret_cast<std::uint64_t>(in.data()));
  in[0] = std::bit_cast<float>(0x3F801000U);  // a tie, to even
  in[1] = std::bit_cast<float>(0x3F803000U);
  in[2] = std::bit_cast<float>(0xFF800001U);
  Bench bench(load_box("0, 0", 48));
  std::vector<float> out(64, -5);
  bench.value(0, reinterpret_cast<std::uint64_t>(map_a.data()));
  bench.buffer(1, out);
  bench.launch.buffers.push_back(
      {reinterpret_cast<std::uint64_t>(in.data()), in.size() * 4, false});
  bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(map_a.data()), 128, false});
  bench.launch.block = {48, 1, 1};
  bench.run();
  EXPECT_EQ(std::bit_cast<std::uint32_t>(out[0]), 0x3F800000U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(out[1]), 0x3F804000U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(out[2]), 0x7FFFE000U);
  EXPECT_EQ(out[16], in[8]);       // row 1 starts 64 bytes after row 0
  EXPECT_EQ(out[32 + 4], in[16]);  // row 2 lies in the next 128 bytes: its pieces change places
}

TEST(Async, OutOfBoundsElementsAreFilledAndBytesCountInFull) {
  std::vector<float> in(6 * 8);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i + 1);
  for (const bool oob_nan : {false, true}) {
    layout::TensorMap map = tile_map(layout::MapType::F32, 6, 8, 8, 8);
    map.swizzle = layout::Swizzle::None;
    map.oob_nan = oob_nan;
    map_a = encode(map, reinterpret_cast<std::uint64_t>(in.data()));
    Bench bench(load_box("4, -2", 256));
    std::vector<float> out(64, -5);
    bench.value(0, reinterpret_cast<std::uint64_t>(map_a.data()));
    bench.buffer(1, out);
    bench.launch.buffers.push_back(
        {reinterpret_cast<std::uint64_t>(in.data()), in.size() * 4, false});
    bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(map_a.data()), 128, false});
    bench.launch.block = {64, 1, 1};
    bench.run();
    for (int row = 0; row < 8; ++row) {
      for (int column = 0; column < 8; ++column) {
        const int y = row - 2;
        const int x = column + 4;
        const float got = out[static_cast<std::size_t>(row * 8 + column)];
        if (y >= 0 && y < 6 && x < 8) {
          EXPECT_EQ(got, in[static_cast<std::size_t>(y * 8 + x)]);
        } else if (oob_nan) {
          EXPECT_EQ(std::bit_cast<std::uint32_t>(got), 0x7FF77FF7U);
        } else {
          EXPECT_EQ(got, 0.0F);
        }
      }
    }
  }
}

TEST(Async, AMapThatADriverMadeIsRefused) {
  map_a.fill(std::byte{0x5A});
  Bench bench(load_box("0, 0", 256));
  std::vector<float> out(64);
  bench.value(0, reinterpret_cast<std::uint64_t>(map_a.data()));
  bench.buffer(1, out);
  bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(map_a.data()), 128, false});
  bench.launch.block = {64, 1, 1};
  EXPECT_THAT(bench.failure(), AllOf(HasSubstr("PTX0908"), HasSubstr("opaque")));
}

TEST(Async, AWrongByteCountIsADeadlockThatSaysSo) {
  std::vector<float> in(64);
  layout::TensorMap map = tile_map(layout::MapType::F32, 8, 8, 8, 8);
  map.swizzle = layout::Swizzle::None;
  map_a = encode(map, reinterpret_cast<std::uint64_t>(in.data()));
  Bench bench(load_box("0, 0", 272));
  std::vector<float> out(64);
  bench.value(0, reinterpret_cast<std::uint64_t>(map_a.data()));
  bench.buffer(1, out);
  bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(in.data()), 256, false});
  bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(map_a.data()), 128, false});
  bench.launch.block = {64, 1, 1};
  EXPECT_THAT(bench.failure(),
              AllOf(HasSubstr("PTX0911"), HasSubstr("256 of 272 expected bytes have come")));
}

TEST(Async, LatestCompletionShowsAMissingWait) {
  // Reads the destination of a cp.async before waiting for it.
  const std::string text = entry(R"(
    mov.u32 %r2, tile;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    st.shared.u32 [%r2], 7;
    cp.async.ca.shared.global [%r2], [%rd0], 4;
    cp.async.commit_group;
    ld.shared.u32 %r3, [%r2];
    cp.async.wait_group 0;
    ld.shared.u32 %r4, [%r2];
    st.global.v2.u32 [%rd1], {%r3, %r4};
    ret;)",
                                 ".shared .align 16 .b8 tile[16];\n");
  std::vector<std::uint32_t> in(1, 99);
  std::vector<std::uint32_t> out(2);
  Bench bench(text);
  bench.buffer(0, in);
  bench.buffer(1, out);
  bench.launch.block = {1, 1, 1};
  bench.run();
  EXPECT_THAT(out, testing::ElementsAre(7, 99));
  bench.launch.options.completion = Completion::Earliest;
  bench.run();
  EXPECT_THAT(out, testing::ElementsAre(99, 99));
}

TEST(Async, ClusterExchangesThroughDistributedSharedMemory) {
  // Each CTA writes its rank into its neighbour and arrives at the neighbour's mbarrier.
  Bench bench(entry(R"(
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, slot;
    mov.u32 %r3, bar;
    mbarrier.init.shared::cta.b64 [%r3], 1;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    add.u32 %r4, %r1, 1;
    and.b32 %r4, %r4, 3;
    mapa.shared::cluster.u32 %r5, %r2, %r4;
    mapa.shared::cluster.u32 %r6, %r3, %r4;
    add.u32 %r7, %r1, 100;
    st.shared::cluster.u32 [%r5], %r7;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
  WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r3], 0;
    @!%p1 bra WAIT;
    ld.shared.u32 %r8, [%r2];
    ld.param.u64 %rd0, [p0];
    mov.u32 %r9, %ctaid.x;
    mul.wide.u32 %rd1, %r9, 4;
    add.u64 %rd1, %rd0, %rd1;
    st.global.u32 [%rd1], %r8;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;)",
                    ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 slot;\n"));
  for (const unsigned threads : {1U, 2U}) {
    std::vector<std::uint32_t> out(16);
    bench.launch.buffers.clear();
    bench.buffer(0, out);
    bench.launch.grid = {16, 1, 1};
    bench.launch.cluster = {4, 1, 1};
    bench.launch.block = {1, 1, 1};
    bench.launch.options.threads = threads;
    bench.run();
    for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(out[i], 100 + (i + 3) % 4) << i;
  }
}

}  // namespace
}  // namespace pyptx::emu
