// SPDX-License-Identifier: Apache-2.0
//
// What other compilers and libraries write: vectors of one element, brkpt on paths that nobody
// takes, and variables of a module that stays loaded.
#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::HasSubstr;

TEST(Foreign, AVectorOfOneElementIsItsElement) {
  Bench bench(entry(R"(
    ld.param.u64 %rd0, [p0];
    ld.param.b64 {%rd1}, [p1];
    mov.u32 %r0, %laneid;
    mul.wide.u32 %rd2, %r0, 4;
    add.u64 %rd0, %rd0, %rd2;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.b32 {%r1}, [%rd1];
    ld.global.s8 {%r2}, [%rd1];
    st.shared.b32 [tile], {%r1};
    add.s32 %r1, %r1, %r2;
    st.global.b32 [%rd0], {%r1};
    st.global.b32 [%rd0+128], {7};
    ret;)",
                    ".shared .align 4 .b32 tile;\n"));
  std::vector<std::uint32_t> out(64);
  std::vector<std::uint32_t> in(32);
  for (std::uint32_t i = 0; i < 32; ++i) in[i] = 0x100 * i + 0x80;
  bench.buffer(0, out);
  bench.buffer(1, in, false);
  bench.launch.block = {32, 1, 1};
  bench.run();
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(out[i], in[i] - 128);
    EXPECT_EQ(out[i + 32], 7U);
  }
}

TEST(Foreign, AVectorOfMoreElementsIsNoScalar) {
  Bench bench(entry("ld.global.b32 {%r1, %r2}, [%rd1];\nret;"));
  EXPECT_NE(bench.problem(), "");
}

TEST(Foreign, BrkptEndsTheGridOnlyWhereItIsExecuted) {
  const std::string body = R"(
    ld.param.u32 %r0, [p0];
    setp.ne.u32 %p0, %r0, 0;
    @%p0 brkpt;
    ret;)";
  Bench bench(entry(body));
  bench.run();
  bench.value(0, 1);
  EXPECT_THAT(bench.failure(), HasSubstr("error[PTX0912]: the kernel executed brkpt"));
}

/// Every CTA takes a ticket from the module's counter and writes the table's word and the ticket.
const char* const kTickets = R"(.version 8.6
.target sm_90a
.address_size 64
.global .align 4 .u32 counter = 5;
.const .align 8 .u64 where[1] = { generic(counter) };
.visible .entry k(.param .u64 p0)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [p0];
  ld.const.u64 %rd1, [where];
  atom.add.u32 %r0, [%rd1], 1;
  st.global.u32 [%rd0], %r0;
  ret;
}
)";

TEST(Foreign, VariablesKeepTheirValuesFromLaunchToLaunch) {
  Bench bench(kTickets);
  std::vector<std::uint32_t> out(1);
  bench.buffer(0, out);
  bench.launch.params.resize(8);
  for (int i = 0; i < 2; ++i) {  // as they are when the module is loaded
    bench.run();
    EXPECT_EQ(out[0], 5U);
  }
  bench.launch.variables = make_variables(bench.program());
  for (std::uint32_t i = 0; i < 3; ++i) {
    bench.run();
    EXPECT_EQ(out[0], 5 + i);
  }
  bench.launch.variables = make_variables(bench.program());
  bench.run();
  EXPECT_EQ(out[0], 5U);
}

TEST(Foreign, VariablesOfAnotherProgramAreRefused) {
  Bench bench(kTickets);
  Bench other(entry("ret;"));
  std::vector<std::uint32_t> out(1);
  bench.buffer(0, out);
  bench.launch.variables = make_variables(other.program());
  EXPECT_THAT(bench.failure(), HasSubstr("its variables are those of another program"));
}

}  // namespace
}  // namespace pyptx::emu
