// SPDX-License-Identifier: Apache-2.0
//
// Copies by their bytes: cp.async with src-size and ignore-src, its groups and mbarrier arrivals;
// bulk copies in every direction, bulk groups, multicast; tensor stores.
#include <numeric>

#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Completion kPolicies[] = {Completion::Earliest, Completion::Latest, Completion::Random};

std::vector<std::uint32_t> counted(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> data(count);
  std::iota(data.begin(), data.end(), first);
  return data;
}

/// Runs one block over `in` and `out`, with every policy; `check` sees the output of each.
template <typename Check>
void for_policies(const std::string& text, std::uint32_t threads, std::size_t out_words,
                  Check&& check, std::uint32_t cluster = 1) {
  for (const Completion policy : kPolicies) {
    std::vector<std::uint32_t> in = counted(4096, 1);
    std::vector<std::uint32_t> out(out_words, 0xEEEEEEEEU);
    Bench bench(text);
    bench.buffer(0, in, false);
    bench.buffer(1, out);
    bench.launch.grid = {cluster, 1, 1};
    bench.launch.cluster = {cluster, 1, 1};
    bench.launch.block = {threads, 1, 1};
    bench.launch.options.completion = policy;
    bench.run();
    check(out);
  }
}

TEST(Copy, AsyncCopyFillsWithZerosBehindTheSource) {
  // Lane i copies i/2 of 16 bytes; the odd lanes ignore their source.
  const std::string text = entry(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    mul.wide.u32 %rd2, %r1, 16;
    add.u64 %rd0, %rd0, %rd2;
    add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 4;
    add.u32 %r2, %r2, %r3;
    shr.u32 %r4, %r1, 1;
    and.b32 %r5, %r1, 1;
    setp.ne.u32 %p1, %r5, 0;
    st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1};
    @!%p1 cp.async.cg.shared.global [%r2], [%rd0], 16, %r4;
    @%p1 cp.async.ca.shared.global [%r2+8], [%rd0+8], 8, %p1;
    cp.async.wait_all;
    ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2];
    st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};
    ret;)",
                                 ".shared .align 16 .b8 tile[512];\n");
  for_policies(text, 32, 128, [](const std::vector<std::uint32_t>& out) {
    const std::vector<std::uint32_t> in = counted(128, 1);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      std::array<std::uint32_t, 4> expected{};
      if (lane % 2 == 0) {
        std::memcpy(expected.data(), in.data() + 4 * lane, lane / 2);
      } else {
        expected = {lane, lane, 0, 0};
      }
      for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(out[4 * lane + i], expected[i]) << lane;
    }
  });
}

TEST(Copy, AsyncGroupsCompleteInOrder) {
  // Three groups; after wait_group 1 the first two are there, the third need not be.
  const std::string text = entry(R"(
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    mov.u32 %r2, tile;
    st.shared.v4.u32 [%r2], {7, 7, 7, 7};
    cp.async.ca.shared.global [%r2], [%rd0], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r2+4], [%rd0+4], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r2+8], [%rd0+8], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2];
    st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};
    cp.async.wait_group 0;
    ld.shared.u32 %r14, [%r2+8];
    st.global.u32 [%rd1+16], %r14;
    ret;)",
                                 ".shared .align 16 .b8 tile[16];\n");
  for_policies(text, 1, 5, [](const std::vector<std::uint32_t>& out) {
    EXPECT_THAT(out, ElementsAre(1, 2, testing::AnyOf(3, 7), 7, 3));
  });
}

TEST(Copy, AsyncCopiesArriveAtAnMbarrier) {
  for (const bool is_noinc : {false, true}) {
    // Without .noinc an arrival adds its own pending count: only the plain arrival was expected.
    const std::string text =
        entry(std::string(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    mov.u32 %r2, tile;
    mov.u32 %r3, bar;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd0, %rd0, %rd2;
    add.u64 %rd1, %rd1, %rd2;
    shl.b32 %r4, %r1, 2;
    add.u32 %r2, %r2, %r4;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r3], )") +
                  (is_noinc ? "128" : "64") + R"(;
    bar.sync 0;
    cp.async.ca.shared.global [%r2], [%rd0], 4;
    cp.async.mbarrier.arrive)" +
                  (is_noinc ? ".noinc" : "") +
                  R"(.shared.b64 [%r3];
    mbarrier.arrive.shared::cta.b64 _, [%r3];
  WAIT:
    mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r3], 0;
    @!%p2 bra WAIT;
    ld.shared.u32 %r5, [%r2];
    st.global.u32 [%rd1], %r5;
    ret;)",
              ".shared .align 16 .b8 tile[256];\n.shared .align 8 .b64 bar;\n");
    for_policies(text, 64, 64,
                 [](const std::vector<std::uint32_t>& out) { EXPECT_EQ(out, counted(64, 1)); });
  }
}

const std::string kBarrierAndTile =
    ".shared .align 128 .b8 tile[1024];\n.shared .align 128 .b8 other[1024];\n"
    ".shared .align 8 .b64 bar;\n";

TEST(Copy, BulkCopiesToSharedInsideSharedAndBack) {
  const std::string text = entry(R"(
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    mov.u32 %r2, tile;
    mov.u32 %r3, other;
    mov.u32 %r4, bar;
    mbarrier.init.shared::cta.b64 [%r4], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 272;
    mov.u32 %r5, 256;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0+64], %r5, [%r4];
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2+256], [%rd0], 16, [%r4];
  ONE:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0;
    @!%p1 bra ONE;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r3], [%r2+144], 128, [%r4];
  TWO:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 1;
    @!%p1 bra TWO;
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 128;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
    cp.async.bulk.wait_group 0;
    ld.global.u32 %r6, [%rd1+124];
    st.global.u32 [%rd1+128], %r6;
    ret;)",
                                 kBarrierAndTile);
  for_policies(text, 1, 33, [](const std::vector<std::uint32_t>& out) {
    // Words 36.. of the tile: 28 words of in[52..], then in[0..3].
    for (std::uint32_t i = 0; i < 28; ++i) EXPECT_EQ(out[i], 53 + i);
    for (std::uint32_t i = 28; i < 32; ++i) EXPECT_EQ(out[i], i - 27);
    EXPECT_EQ(out[32], 4U);
  });
}

TEST(Copy, BulkGroupsLeaveTheNewestOpen) {
  // The source is overwritten after wait_group.read 1: the first store must have read it.
  const std::string text = entry(R"(
    ld.param.u64 %rd1, [p1];
    mov.u32 %r2, tile;
    st.shared.v4.u32 [%r2], {1, 2, 3, 4};
    st.shared.v4.u32 [%r2+16], {5, 6, 7, 8};
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.global.shared::cta.bulk_group [%rd1+16], [%r2+16], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 1;
    st.shared.u32 [%r2], 9;
    ret;)",
                                 kBarrierAndTile);
  for_policies(text, 1, 8, [](const std::vector<std::uint32_t>& out) {
    EXPECT_THAT(out, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  });
}

TEST(Copy, MulticastWritesTheSameOffsetsOfTheNamedCtas) {
  // CTA 0 of four sends to CTAs 1 and 3; each writes its tile out.
  const std::string text = entry(R"(
    mov.u32 %r1, %cluster_ctarank;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    mov.u32 %r2, tile;
    mov.u32 %r4, bar;
    mbarrier.init.shared::cta.b64 [%r4], 1;
    fence.mbarrier_init.release.cluster;
    st.shared.u32 [%r2], 7;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    and.b32 %r5, %r1, 1;
    setp.eq.u32 %p2, %r5, 0;
    @!%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 64;
    setp.eq.u32 %p1, %r1, 0;
    mov.b16 %h1, 10;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%rd0], 64, [%r4], %h1;
    @%p2 bra OUT;
  WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0;
    @!%p1 bra WAIT;
  OUT:
    ld.shared.u32 %r6, [%r2];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r6;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;)",
                                 kBarrierAndTile);
  const auto check = [](const std::vector<std::uint32_t>& out) {
    EXPECT_THAT(out, ElementsAre(7, 1, 7, 1));
  };
  for_policies(text, 1, 4, check, 4);
}

alignas(64) std::array<std::byte, 128> tensor_map;

std::string store_box(const std::string& coordinates) {
  return entry(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd0, [p0];
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 2;
    add.u32 %r3, %r2, %r3;
    st.shared.u32 [%r3], %r1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd0, {)" +
                   coordinates + R"(}], [%r2];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;)",
               kBarrierAndTile);
}

layout::TensorMap words_map(std::uint64_t columns, std::uint64_t rows) {
  layout::TensorMap map;
  map.type = layout::MapType::U32;
  map.rank = 2;
  map.dims = {columns, rows};
  map.strides = {columns * 4};
  map.box = {8, 8};
  return map;
}

TEST(Copy, TensorStoresSkipWhatIsOutside) {
  for (const Completion policy : kPolicies) {
    std::vector<std::uint32_t> out(12 * 10, 0xEEEEEEEEU);
    tensor_map = encode(words_map(12, 10), reinterpret_cast<std::uint64_t>(out.data()));
    Bench bench(store_box("-4, 5"));
    bench.value(0, reinterpret_cast<std::uint64_t>(tensor_map.data()));
    bench.launch.buffers.push_back(
        {reinterpret_cast<std::uint64_t>(out.data()), out.size() * 4, true});
    bench.launch.buffers.push_back(
        {reinterpret_cast<std::uint64_t>(tensor_map.data()), 128, false});
    bench.launch.block = {64, 1, 1};
    bench.launch.options.completion = policy;
    bench.run();
    for (std::uint32_t y = 0; y < 10; ++y) {
      for (std::uint32_t x = 0; x < 12; ++x) {
        const bool is_inside = y >= 5 && x < 4;
        EXPECT_EQ(out[12 * y + x], is_inside ? 8 * (y - 5) + x + 4 : 0xEEEEEEEEU);
      }
    }
  }
}

/// Stores a box into `out`, of which the launch knows `bytes`.
std::string store_failure(const layout::TensorMap& map, const std::string& coordinates,
                          std::vector<std::uint32_t>& out, std::uint64_t bytes) {
  tensor_map = encode(map, reinterpret_cast<std::uint64_t>(out.data()));
  Bench bench(store_box(coordinates));
  bench.value(0, reinterpret_cast<std::uint64_t>(tensor_map.data()));
  bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(out.data()), bytes, true});
  bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(tensor_map.data()), 128, false});
  bench.launch.block = {64, 1, 1};
  return bench.failure();
}

std::string store_failure(const layout::TensorMap& map, const std::string& coordinates) {
  std::vector<std::uint32_t> out(256);
  return store_failure(map, coordinates, out, 1024);
}

TEST(Copy, TheFirstCoordinateIsAMultipleOf16Bytes) {
  EXPECT_EQ(store_failure(words_map(16, 16), "4, 3"), "");
  for (const char* coordinates : {"3, 3", "-1, 3", "-6, 3"}) {
    EXPECT_THAT(store_failure(words_map(16, 16), coordinates),
                AllOf(HasSubstr("PTX0914"), HasSubstr("multiple of 16 bytes")));
  }
}

TEST(Copy, TensorStoresWriteWholePiecesOf16Bytes) {
  layout::TensorMap map = words_map(252, 1);
  map.dims[0] = 250;
  map.box = {8, 1};
  std::vector<std::uint32_t> out(256, 7);
  EXPECT_EQ(store_failure(map, "248, 0", out, 1008), "");
  EXPECT_THAT(std::span(out).subspan(247, 6), ElementsAre(7, 0, 1, 2, 3, 7));
  EXPECT_THAT(store_failure(map, "248, 0", out, 1000), HasSubstr("PTX0904"));
}

TEST(Copy, AMapOfMoreThanTheBufferIsOutOfBounds) {
  EXPECT_EQ(store_failure(words_map(16, 16), "8, 8"), "");
  EXPECT_THAT(store_failure(words_map(16, 17), "8, 10"), HasSubstr("PTX0904"));
  // Offsets that pass 64 bits must not come round to the buffer again.
  layout::TensorMap map = words_map(16, 1ULL << 32);
  map.box = {8, 1};
  map.strides = {1ULL << 39};
  EXPECT_THAT(store_failure(map, "0, 33554432"), HasSubstr("PTX0904"));
  EXPECT_THAT(store_failure(map, "0, 2147483647"), HasSubstr("PTX0904"));
  EXPECT_EQ(store_failure(map, "2147483644, -2147483648"), "");
  map = words_map(16, 16);
  map.swizzle = static_cast<layout::Swizzle>(77);
  EXPECT_THAT(store_failure(map, "0, 0"), AllOf(HasSubstr("PTX0908"), HasSubstr("swizzle")));
}

TEST(Copy, ABulkStoreReadsItsOwnSharedMemoryOnly) {
  Bench bench(entry(R"(
    ld.param.u64 %rd1, [p0];
    mov.u32 %r2, tile;
    mov.u32 %r1, %cluster_ctarank;
    xor.b32 %r1, %r1, 1;
    mapa.shared::cluster.u32 %r3, %r2, %r1;
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 16;
    ret;)",
                    kBarrierAndTile));
  std::vector<std::uint32_t> out(4);
  bench.buffer(0, out);
  bench.launch.grid = bench.launch.cluster = {2, 1, 1};
  bench.launch.block = {1, 1, 1};
  EXPECT_THAT(bench.failure(), HasSubstr("own shared memory"));
}

TEST(Copy, ABulkCopyOntoItsSourceIsRefused) {
  const auto failure = [](const std::string& to) {
    Bench bench(entry(R"(
    mov.u32 %r2, tile;
    mov.u32 %r4, bar;
    mbarrier.init.shared::cta.b64 [%r4], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 32;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2+)" +
                          to + R"(], [%r2+32], 32, [%r4];
    ret;)",
                      kBarrierAndTile));
    bench.launch.block = {1, 1, 1};
    return bench.failure();
  };
  EXPECT_EQ(failure("0"), "");
  EXPECT_EQ(failure("64"), "");
  for (const char* to : {"16", "32", "48"}) EXPECT_THAT(failure(to), HasSubstr("overlap"));
}

}  // namespace
}  // namespace pyptx::emu
