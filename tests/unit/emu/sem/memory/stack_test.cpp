// SPDX-License-Identifier: Apache-2.0
//
// The stack, cache operations and questions about addresses: what works, and the nearest thing that
// is refused.
#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::uint32_t>;

Words lanes(const std::string& body, const std::string& shared = {}) {
  Bench bench(
      entry("mov.u32 %r1, %tid.x;\nld.param.u64 %rd0, [p0];\n"
            "mad.wide.u32 %rd1, %r1, 4, %rd0;\n" +
                body + "\nst.global.b32 [%rd1], %r0;\nret;",
            shared));
  Words out(32, 0xEEEEEEEE);
  bench.buffer(0, out);
  bench.launch.block = {32, 1, 1};
  bench.run();
  return out;
}

TEST(Stack, AllocationsAreApartAndComeBack) {
  const Words out = lanes(R"(
    stacksave.u64 %rd2;
    alloca.u64 %rd3, 16, 64;
    alloca.u64 %rd4, 4;
    st.local.b32 [%rd3], %r1;
    mul.lo.u32 %r2, %r1, 3;
    st.local.b32 [%rd4], %r2;
    ld.local.b32 %r3, [%rd3];
    ld.local.b32 %r4, [%rd4];
    add.u32 %r0, %r3, %r4;
    stackrestore.u64 %rd2;
    alloca.u64 %rd5, 16, 64;
    setp.ne.u64 %p1, %rd5, %rd3;
    @%p1 trap;
    and.b64 %rd6, %rd3, 63;
    setp.ne.u64 %p2, %rd6, 0;
    @%p2 trap;)");
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 4 * i);
}

std::string failure(const std::string& body) {
  Bench bench(entry("ld.param.u64 %rd0, [p0];\n" + body + "\nret;"));
  Words out(64, 0);
  bench.buffer(0, out);
  return bench.failure();
}

TEST(Stack, OverflowAndForeignPointersAreErrors) {
  EXPECT_THAT(failure("alloca.u64 %rd1, 1000000;"), HasSubstr("PTX0904"));
  EXPECT_EQ(failure("alloca.u64 %rd1, 1000;"), "");
  EXPECT_THAT(failure("mov.u64 %rd1, 5;\nstackrestore.u64 %rd1;"), HasSubstr("PTX0914"));
}

TEST(Cache, LinesAreCheckedAndDiscardLeavesNothing) {
  alignas(128) static std::uint32_t memory[64];
  const auto run = [&](const std::string& body) {
    Bench bench(entry("ld.param.u64 %rd0, [p0];\n" + body + "\nret;"));
    bench.value(0, reinterpret_cast<std::uint64_t>(memory));
    bench.launch.buffers.push_back({reinterpret_cast<std::uint64_t>(memory), sizeof(memory), true});
    return bench.failure();
  };
  memory[0] = 7;
  EXPECT_EQ(run("applypriority.global.L2::evict_normal [%rd0], 128;"), "");
  EXPECT_EQ(memory[0], 7U);
  EXPECT_EQ(run("discard.global.L2 [%rd0], 128;"), "");
  EXPECT_NE(memory[0], 7U);
  EXPECT_THAT(run("discard.global.L2 [%rd0+64], 128;"), HasSubstr("PTX0905"));
  EXPECT_THAT(run("discard.global.L2 [%rd0+256], 128;"), HasSubstr("PTX0904"));
  EXPECT_EQ(run("createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;\n"
                "ld.global.L2::cache_hint.b32 %r1, [%rd0], %rd1;"),
            "");
}

TEST(Address, SpacesAreToldApart) {
  const Words out = lanes(R"(
    cvta.shared.u64 %rd2, cell;
    isspacep.shared %p1, %rd2;
    isspacep.global %p2, %rd2;
    isspacep.global %p3, %rd0;
    isspacep.local %p4, %rd0;
    getctarank.u64 %r5, %rd2;
    selp.u32 %r0, 1, 0, %p1;
    @%p2 add.u32 %r0, %r0, 2;
    @%p3 add.u32 %r0, %r0, 4;
    @%p4 add.u32 %r0, %r0, 8;
    mad.lo.u32 %r0, %r5, 16, %r0;)",
                          ".shared .align 4 .b8 cell[4];\n");
  EXPECT_EQ(out[0], 5U);
  EXPECT_THAT(failure("getctarank.u64 %r1, %rd0;"), HasSubstr("PTX0914"));
}

}  // namespace
}  // namespace pyptx::emu
