// SPDX-License-Identifier: Apache-2.0
//
// Wrong addresses, descriptors, counts and tensor maps must end in a diagnostic, never in a crash
// or a hang of the host. Worth most under the address and undefined-behaviour sanitizers.
#include <random>

#include "bench.h"

namespace pyptx::emu {
namespace {

/// What the random numbers may be: small, near the limits, windows of generic addresses, anything.
std::uint64_t garbage(std::mt19937_64& random, std::uint64_t good) {
  switch (random() % 8) {
    case 0:
      return good;
    case 1:
      return good + (random() % 64) * 8;
    case 2:
      return good ^ 1ULL << (random() % 64);
    case 3:
      return random() % 4096;
    case 4:
      return ~0ULL - random() % 64;
    case 5:
      return (0x7A + random() % 6) << 56 | (random() & 0xFFFFFFFFU);
    case 6:
      return random() & 0xFFFFFFFFU;
    default:
      return random();
  }
}

const std::string kShared =
    ".shared .align 1024 .b8 tile[4096];\n.shared .align 8 .b64 bar;\n.local .align 16 .b8 "
    "scratch[64];\n";

/// p0: shared-sized address, p1: 64-bit address, p2: a number. The mbarrier at `bar` is live.
const std::string kPrologue = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r20, bar;
    mov.u32 %r21, tile;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r20], 1;
    bar.sync 0;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    ld.param.u64 %rd2, [p2];
    cvt.u32.u64 %r2, %rd0;
    cvt.u32.u64 %r3, %rd2;
    cvt.u16.u32 %h1, %r3;
)";

const std::string kBodies[] = {
    "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];",
    "st.shared.u64 [%r2], %rd1;",
    "st.shared::cluster.u32 [%r2+4], %r3;",
    "ld.global.u32 %r4, [%rd1];",
    "ld.u64 %rd3, [%rd1+8];",
    "st.v2.u32 [%rd1], {%r3, %r3};",
    "ld.local.u32 %r4, [%rd1];",
    "st.local.u64 [%r2], %rd1;",
    "atom.add.u32 %r4, [%rd1], 1;",
    "atom.shared.add.u64 %rd3, [%r2], 1;",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r4, %r5};",
    "cp.async.cg.shared.global [%r2], [%rd1], 16, %r3;\ncp.async.wait_all;",
    "cp.async.mbarrier.arrive.b64 [%rd1];\ncp.async.wait_all;",
    "@%p1 mbarrier.init.shared::cta.b64 [%r2], %r3;",
    "@%p1 mbarrier.inval.shared::cta.b64 [%r2];",
    "@%p1 mbarrier.arrive.shared::cta.b64 %rd3, [%r2], %r3;",
    "@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], %r3;",
    "mbarrier.test_wait.shared::cta.b64 %p2, [%r2], %rd1;",
    "WAIT: mbarrier.try_wait.parity.b64 %p2, [%rd1], %r3;\n@!%p2 bra WAIT;",
    "mapa.shared::cluster.u32 %r4, %r2, %r3;\nst.shared::cluster.u32 [%r4], 1;",
    "bar.sync %r3;",
    "barrier.sync %r2, %r3;",
    "bar.arrive 1, %r3;",
    "shfl.sync.idx.b32 %r4, %r1, %r2, %r3, -1;",
    "vote.sync.ballot.b32 %r4, %p1, %r3;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], %r3, [%r20];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r21], [%rd1], 16, [%r2];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], "
    "[%rd1], 32, [%r20], %h1;",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r21], [%r2], %r3, "
    "[%r20];",
    "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], %r3;\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
    "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, "
    "%f2, %f3}, %rd0, %rd1, 1, 1, 1, 0, 1;\nwgmma.commit_group.sync.aligned;\n"
    "wgmma.wait_group.sync.aligned 0;",
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1, "
    "{%r3, %r3}], [%r20];",
};

TEST(Fuzz, GarbageOperandsEndInADiagnostic) {
  std::mt19937_64 random(3);
  std::vector<std::uint32_t> buffer(1024);
  std::size_t failures = 0;
  for (const std::string& body : kBodies) {
    Bench bench(entry(kPrologue + body + "\nret;", kShared));
    ASSERT_EQ(bench.problem(), "") << body;
    for (int round = 0; round < 60; ++round) {
      bench.launch.buffers.clear();
      bench.value(0, garbage(random, 1024 + random() % 64 * 16));
      bench.buffer(1, buffer);
      bench.value(1, garbage(random, reinterpret_cast<std::uint64_t>(buffer.data())));
      bench.value(2, garbage(random, random() % 4 * 16));
      bench.launch.block = {128, 1, 1};
      bench.launch.grid = bench.launch.cluster = {round % 2 == 0 ? 1U : 2U, 1, 1};
      bench.launch.options.completion = static_cast<Completion>(round % 3);
      bench.launch.options.seed = static_cast<std::uint64_t>(round);
      if (!bench.failure().empty()) ++failures;
    }
  }
  EXPECT_GT(failures, 500U);
}

TEST(Fuzz, GarbageTensorMaps) {
  const std::string load =
      "setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r21], [%rd1, "
      "{%r3, %r2}], [%r20];\n";
  const std::string store =
      "setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\n"
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r2, %r3}], [%r21];\n";
  alignas(64) static std::array<std::byte, 128> bytes;
  std::mt19937_64 random(4);
  std::vector<std::uint32_t> buffer(1024);
  layout::TensorMap map;
  map.type = layout::MapType::U32;
  map.rank = 2;
  map.dims = {32, 32};
  map.strides = {128};
  map.box = {16, 16};
  for (const std::string& body : {load, store}) {
    Bench bench(entry(kPrologue + body + "ret;", kShared));
    ASSERT_EQ(bench.problem(), "");
    for (int round = 0; round < 1500; ++round) {
      bytes = encode(map, reinterpret_cast<std::uint64_t>(buffer.data()));
      for (std::uint64_t i = random() % 4; i > 0; --i) {
        bytes[8 + random() % 120] ^= static_cast<std::byte>(1U << (random() % 8));
      }
      bench.launch.buffers.clear();
      bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(buffer.data()), 4096, true});
      bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(bytes.data()), 128, false});
      bench.value(0, random() % 2 == 0 ? random() % 32 : random());
      bench.value(1, reinterpret_cast<std::uint64_t>(bytes.data()));
      bench.value(2, random() % 2 == 0 ? random() % 32 : random());
      bench.launch.block = {32, 1, 1};
      bench.failure();
    }
  }
}

}  // namespace
}  // namespace pyptx::emu
