// SPDX-License-Identifier: Apache-2.0
//
// ld and st of every width, vectors and strong accesses; atomics; mbarrier phases by state, parity
// and count; conversions at their edges.
#include <bit>

#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// One thread; the words that `body` wrote to p1 (%rd1); `in` lies at p0 (%rd0).
std::vector<std::uint32_t> run_one(const std::string& body, std::vector<std::uint32_t> in,
                                   std::size_t words, const std::string& shared = {}) {
  Bench bench(
      entry("ld.param.u64 %rd0, [p0];\nld.param.u64 %rd1, [p1];\n" + body + "\nret;", shared));
  std::vector<std::uint32_t> out(words, 0xEEEEEEEEU);
  bench.buffer(0, in);
  bench.buffer(1, out);
  bench.launch.block = {1, 1, 1};
  bench.run();
  return out;
}

TEST(Memory, NarrowLoadsExtendAndNarrowStoresCut) {
  EXPECT_THAT(
      run_one(R"(
    ld.global.s8 %r1, [%rd0];
    ld.global.u8 %r2, [%rd0];
    ld.global.s16 %r3, [%rd0+2];
    ld.relaxed.gpu.global.u16 %r4, [%rd0+2];
    ld.acquire.sys.global.s32 %rd2, [%rd0];
    st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
    st.release.gpu.global.u64 [%rd1+16], %rd2;
    st.volatile.global.u8 [%rd1+24], %r1;
    st.relaxed.cta.global.u16 [%rd1+26], %r3;)",
              {0x8765'43F2U}, 7),
      ElementsAre(0xFFFFFFF2U, 0xF2U, 0xFFFF8765U, 0x8765U, 0x876543F2U, 0xFFFFFFFFU, 0x8765EEF2U));
}

TEST(Memory, AWholeRowIsCheckedLikeItsLanes) {
  const auto failure = [](const std::string& body, bool writable = true) {
    Bench bench(entry(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd0, [p0];
    mul.wide.u32 %rd1, %r1, 4;
    add.u64 %rd1, %rd0, %rd1;
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 2;
    add.u32 %r2, %r2, %r3;
    mov.u32 %r4, bar;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r4], 1;
)" + body + "\nret;",
                      ".shared .align 16 .b8 tile[128];\n.shared .align 8 .b64 bar;\n"));
    std::vector<std::uint32_t> data(33);
    bench.buffer(0, data, writable);
    bench.launch.block = {32, 1, 1};
    return bench.failure();
  };
  EXPECT_EQ(failure("st.shared.u32 [%r2], %r1;\nld.shared.u32 %r5, [%r2+8];"), "");
  EXPECT_EQ(failure("st.global.u32 [%rd1], %r1;\nst.global.u32 [%rd1+4], %r1;"), "");
  const std::string onto = "sub.u32 %r5, %r4, 124;\nadd.u32 %r5, %r5, %r3;\n";  // lane 31: `bar`
  EXPECT_THAT(failure(onto + "st.shared.u32 [%r5], %r1;"),
              HasSubstr("overwrites it while it is live"));
  const std::string fill = "st.shared.u32 [%r2], %r1;\n";
  EXPECT_THAT(failure(fill + onto + "ld.shared.u32 %r6, [%r5+16];"),
              testing::AllOf(HasSubstr("PTX0904"), HasSubstr("thread (31,0,0)")));
  EXPECT_THAT(failure(fill + "ld.shared.u32 %r5, [%r2+2];"), HasSubstr("PTX0905"));
  EXPECT_THAT(failure(fill + "ld.shared.u32 %r5, [%r2+-2048];"), HasSubstr("PTX0904"));
  EXPECT_THAT(failure("st.global.u32 [%rd1+8], %r1;"),
              testing::AllOf(HasSubstr("PTX0904"), HasSubstr("thread (31,0,0)")));
  EXPECT_THAT(failure("ld.global.u32 %r5, [%rd1+1];"), HasSubstr("PTX0905"));
  EXPECT_THAT(failure("st.global.u32 [%rd1], %r1;", false), HasSubstr("PTX0906"));
}

TEST(Memory, VectorsOfEveryWidth) {
  EXPECT_THAT(run_one(R"(
    mov.u32 %r20, tile;
    ld.global.v2.u64 {%rd2, %rd3}, [%rd0];
    st.shared.v2.u64 [%r20], {%rd3, %rd2};
    ld.shared.v4.u8 {%r1, %r2, %r3, %r4}, [%r20];
    ld.shared.v2.s16 {%r5, %r6}, [%r20+4];
    ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [%r20];
    st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
    st.global.v2.u32 [%rd1+16], {%r5, %r6};
    st.global.v2.f32 [%rd1+24], {%f3, %f2};)",
                      {1, 2, 0x04030281U, 0x7FFF8000U}, 8, ".shared .align 16 .b8 tile[16];\n"),
              ElementsAre(0x81, 2, 3, 4, 0xFFFF8000U, 0x7FFF, 2, 1));
}

TEST(Memory, VariablesLieAsAlignedAsTheySay) {
  EXPECT_THAT(run_one(R"(
    mov.u64 %rd2, small;
    mov.u64 %rd3, wide;
    and.b64 %rd3, %rd3, 255;
    st.global.u64 [%rd1], %rd3;)",
                      {0}, 2, ".global .b8 small;\n.global .align 256 .b8 wide[256];\n"),
              ElementsAre(0U, 0U));
}

TEST(Memory, AtomicsOfAWarpInLaneOrder) {
  Bench bench(entry(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    mov.u32 %r2, slot;
    mov.u32 %r3, 0;
    st.shared.u32 [%r2], %r3;
    bar.sync 0;
    atom.shared.add.u32 %r4, [%r2], %r1;
    red.relaxed.gpu.global.add.u64 [%rd0], 0x100000001;
    atom.global.add.f32 %f0, [%rd0+8], 0f3F000000;
    red.global.add.s32 [%rd0+12], -1;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r4;
    ret;)",
                    ".shared .align 8 .b32 slot;\n"));
  std::vector<std::uint32_t> cells = {0xFFFFFFFFU, 0, std::bit_cast<std::uint32_t>(1.0F), 5};
  std::vector<std::uint32_t> out(32);
  bench.buffer(0, cells);
  bench.buffer(1, out);
  bench.launch.block = {32, 1, 1};
  bench.run();
  EXPECT_THAT(cells, ElementsAre(31, 33, std::bit_cast<std::uint32_t>(17.0F),
                                 static_cast<std::uint32_t>(5 - 32)));
  for (std::uint32_t i = 0, sum = 0; i < 32; sum += i++) EXPECT_EQ(out[i], sum);
}

TEST(Memory, AtomicAddOfSubnormalsFlushesInGlobalMemoryOnly) {
  const std::string body = R"(
    mov.u32 %r1, slot;
    ld.global.u32 %r2, [%rd0];
    ld.global.f32 %f0, [%rd0];
    cvta.shared.u64 %rd2, slot;
    st.shared.u32 [%r1], %r2;
    atom.shared::cta.add.f32 %f1, [%r1], %f0;
    atom.shared::cluster.add.f32 %f1, [%r1], %f0;
    atom.add.f32 %f1, [%rd2], %f0;
    ld.shared.u32 %r3, [%r1];
    red.add.f32 [%rd0], %f0;
    ld.global.u32 %r4, [%rd0];
    st.global.v2.u32 [%rd1], {%r3, %r4};)";
  EXPECT_THAT(run_one(body, {3}, 2, ".shared .align 8 .b32 slot;\n"), ElementsAre(12, 0));
}

TEST(Memory, LocalAddressesOfOtherWindowsAreRefused) {
  Bench bench(entry("mov.u64 %rd1, 0x100000000;\nld.local.u32 %r1, [%rd1];\nret;",
                    ".local .align 16 .b8 scratch[64];\n"));
  bench.launch.block = {1, 1, 1};
  EXPECT_THAT(bench.failure(), HasSubstr("local memory"));
}

TEST(Memory, MbarrierPhasesByStateParityAndCount) {
  EXPECT_THAT(run_one(R"(
    mov.u32 %r1, bar;
    mbarrier.init.shared::cta.b64 [%r1], 5;
    mbarrier.arrive.shared::cta.b64 %rd2, [%r1], 3;
    mbarrier.arrive.noComplete.shared::cta.b64 %rd3, [%r1], 1;
    mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd2;
    mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r1], 1;
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 16;
    mbarrier.arrive.shared::cta.b64 _, [%r1];
    mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r1], 0;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+16], [%rd0], 16, [%r1];
  WAIT:
    mbarrier.try_wait.shared::cta.b64 %p4, [%r1], %rd3, 1000;
    @!%p4 bra WAIT;
    mbarrier.test_wait.parity.shared::cta.b64 %p5, [%r1], 0;
    mbarrier.test_wait.parity.shared::cta.b64 %p6, [%r1], 1;
    mbarrier.arrive.shared::cta.b64 _, [%r1], 5;
    mbarrier.test_wait.parity.shared::cta.b64 %p7, [%r1], 1;
    selp.u32 %r2, 1, 0, %p1;
    selp.u32 %r3, 1, 0, %p2;
    selp.u32 %r4, 1, 0, %p3;
    selp.u32 %r5, 1, 0, %p5;
    selp.u32 %r6, 1, 0, %p6;
    selp.u32 %r7, 1, 0, %p7;
    st.global.v2.u32 [%rd1], {%r2, %r3};
    st.global.v4.u32 [%rd1+16], {%r4, %r5, %r6, %r7};)",
                      {1, 2, 3, 4}, 8, ".shared .align 16 .b8 bar[32];\n"),
              ElementsAre(0, 1, 0xEEEEEEEEU, 0xEEEEEEEEU, 0, 1, 0, 1));
}

struct Conversion {
  const char* spelling;
  std::uint32_t from;  // bits of an f32
  std::uint32_t to;
};

TEST(Memory, ConversionsOfF32AtTheirEdges) {
  constexpr Conversion kAll[] = {
      {"rni.s32.f32", 0x40200000U, 2},  // 2.5: ties to even
      {"rni.s32.f32", 0xC0600000U, 0xFFFFFFFCU},
      {"rzi.s32.f32", 0xC0200000U, 0xFFFFFFFEU},
      {"rmi.s32.f32", 0xC0200000U, 0xFFFFFFFDU},
      {"rpi.s32.f32", 0x40200000U, 3},
      {"rzi.s32.f32", 0x4F000000U, 0x7FFFFFFFU},  // 2^31 clamps
      {"rzi.s32.f32", 0xFF800000U, 0x80000000U},
      {"rzi.u32.f32", 0xBF800000U, 0},
      {"rzi.u32.f32", 0x7F800000U, 0xFFFFFFFFU},
      {"rzi.s32.f32", 0x7FC00000U, 0},  // NaN
      {"rni.f32.f32", 0x3FC00000U, 0x40000000U},
      {"sat.f32.f32", 0x40000000U, 0x3F800000U},
      {"sat.f32.f32", 0x7FC00000U, 0},
      {"ftz.f32.f32", 0x80000001U, 0x80000000U},
      {"rna.tf32.f32", 0x3F801000U, 0x3F802000U},  // half a unit: away from zero
      {"rna.tf32.f32", 0x3F800FFFU, 0x3F800000U},
      {"rn.bf16x2.f32", 0x3F818000U, 0x3F823F82U},  // ties to even
      {"rz.bf16x2.f32", 0x3F81FFFFU, 0x3F813F81U},
      {"rn.f16x2.f32", 0x477FF000U, 0x7C007C00U},  // 65520: to infinity
      {"rz.f16x2.f32", 0x477FF000U, 0x7BFF7BFFU},
      {"rn.relu.f16x2.f32", 0xBF800000U, 0},
      {"rn.f16x2.f32", 0x33000000U, 0},  // 2^-25: ties to zero
      {"rn.f16x2.f32", 0x33000001U, 0x00010001U},
  };
  for (const Conversion& one : kAll) {
    const std::string spelling = one.spelling;
    const bool is_pair = spelling.find("x2") != std::string::npos;
    const std::string type = spelling.substr(0, spelling.rfind('.'));
    const bool to_float = type.ends_with(".f32") || type == "f32";
    const std::string d = to_float ? "%f1" : "%r1";
    const std::string text = "ld.global.f32 %f0, [%rd0];\ncvt." + spelling + " " + d + ", %f0" +
                             (is_pair ? ", %f0" : "") + ";\nst.global." +
                             (to_float ? "f32" : "b32") + " [%rd1], " + d + ";";
    EXPECT_THAT(run_one(text, {one.from}, 1), ElementsAre(one.to)) << spelling;
  }
}

TEST(Memory, NarrowIntegersSaturateOrCut) {
  EXPECT_THAT(run_one(R"(
    ld.global.s32 %r0, [%rd0];
    cvt.sat.u8.s32 %r1, %r0;
    cvt.sat.s8.s32 %r2, %r0;
    cvt.s8.s32 %r3, %r0;
    cvt.sat.u32.s32 %r4, %r0;
    st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};)",
                      {0xFFFFFF38U}, 4),  // -200
              ElementsAre(0, 0xFFFFFF80U, 0x38, 0));
}

}  // namespace
}  // namespace pyptx::emu
