// SPDX-License-Identifier: Apache-2.0
//
// print(parse(text)) is a fixed point, and prints what was read.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/ir/module.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/syntax/printer.h"
#include "samples.h"

namespace pyptx::syntax {
namespace {

std::string reprint(std::string_view text) {
  const ParseOutcome outcome = parse_all(text, "sample.ptx");
  EXPECT_TRUE(outcome.ok()) << diag::render(outcome.diagnostics, &outcome.module->locations);
  return print(*outcome.module);
}

class RoundTrip : public testing::TestWithParam<std::string_view> {};

TEST_P(RoundTrip, PrintedTextIsAFixedPoint) {
  const std::string once = reprint(GetParam());
  EXPECT_EQ(reprint(once), once);
}

INSTANTIATE_TEST_SUITE_P(Samples, RoundTrip, testing::ValuesIn(samples::kAll), samples::name_of);

// The sample is written canonically but for a blank line and the sign of a zero.
TEST(RoundTripText, CanonicalTextComesBackUnchanged) {
  std::string expected(samples::kReduce);
  for (const std::string_view before_gone : {"+-0", "\n\n\tld.param.u64 %rd0"}) {
    const std::size_t at = expected.find(before_gone);
    ASSERT_NE(at, std::string::npos);
    expected.erase(at + 1, 1);
  }
  EXPECT_EQ(reprint(samples::kReduce), expected);
}

TEST(RoundTripText, EverythingIsPrintedCanonically) {
  EXPECT_EQ(reprint(samples::kEverything), R"(// a banner
# 1 "everything.cu"
.version 8.7
.target sm_90a, texmode_independent
.address_size 64

.file 1 "everything.cu"
.pragma "nounroll";
.const .align 16 .f32 table[2][3] = {{0f3FC00000, 0f40000000, 0f3F000000}};
.visible .global .v4 .f32 four = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
.weak .global .align 8 .b8 bytes[4] = {1, 255, -2, 32};
.global .u64 big = -1;
.global .u64 small = -1;
.global .u64 plain[7];
.extern .shared .align 128 .b8 dyn[];

.extern .func (
	.param .b32 r
) callee(
	.param .b64 a,
	.param .align 8 .b8 s[16]
);

.visible .entry everything(
	.param .u64 p,
	.param .align 64 .b8 map[128]
)
.maxntid 128, 1, 1
.reqnctapercluster 2, 1, 1
.pragma "nounroll";
{
	.reg .pred %p<4>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	.reg .f32 %f<8>;
	.reg .f32 named;
	.reg .f32 %g;
	.reg .f64 %fd<2>;
	.reg .v4 .f32 vec;
	.local .align 16 .b8 frame[64];
	.local .align 16 .b8 other[4];
	.loc 1 10 5
	.pragma "nounroll";
	/* block
	   comment */
	mov.u32 %r1, %tid.x;
	/* inside */
	mov.u32 %r2, 7;
	mov.f32 vec.x, 0d3FF8000000000000;
	mov.f32 %f1, vec.x;
	mov.f64 %fd1, 0d3FF0000000000000;
	mov.u64 %rd1, frame+8;
	mov.u64 %rd2, plain+16;
	ld.global.u64 %rd3, [plain+8];
	ld.param.u64 %rd4, [p];
	ld.global.v2.f32 {%f1, %f2}, [%rd4+-16];
	@%p1 st.global.u32 [bytes+0], %r1;
	@!%p1 bra.uni $L_end;
	setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;
	setp.lt.s32 %p1|_, %r1, 16;
	shfl.sync.down.b32 %r3|%p1, %r1, 4, 31, -1;
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd4, {%r2, %r3}], [%r4];
	{
		{
			.reg .b32 %r<3>;
			.reg .b32 inner;
			mov.u32 %r1, inner; // shadows
$L_end:
			mov.u32 %r7, 1;
		}
	}
$L_other:
$L_end:
	ret;
}
)");
}

/// The printed lines of a body, from the first instruction on.
std::string reprint_body(const std::string& body) {
  const std::string text = reprint(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.global .b32 g[8];\n"
      ".entry k(.param .u64 p)\n{\n.reg .pred %p<4>;\n.reg .b64 %rd<8>;\n"
      ".reg .b32 %r<8>;\n" +
      body + "}\n");
  const std::string_view last_pool = ".reg .b32 %r<8>;\n";
  return text.substr(text.find(last_pool) + last_pool.size());
}

// ptxas -O0 makes an addition of [%rd1+0] and a move of [%rd1].
TEST(RoundTripText, AnOffsetOfZeroIsKeptWhereItWasWritten) {
  EXPECT_EQ(reprint_body("ld.u32 %r1, [%rd1+0];\nld.u32 %r1, [%rd1];\nld.u32 %r1, [%rd1+4-4];\n"
                         "ld.param.u64 %rd1, [p+0];\nld.param.u64 %rd1, [p];\n"
                         "ld.global.u32 %r1, [g+4];\n"
                         "mov.u64 %rd1, g+0;\nmov.u64 %rd1, g;\n"),
            "\tld.u32 %r1, [%rd1+0];\n\tld.u32 %r1, [%rd1];\n\tld.u32 %r1, [%rd1+0];\n"
            "\tld.param.u64 %rd1, [p+0];\n\tld.param.u64 %rd1, [p];\n"
            "\tld.global.u32 %r1, [g+4];\n"
            "\tmov.u64 %rd1, g+0;\n\tmov.u64 %rd1, g;\n}\n");
}

// %p1 is a register of its own in the block, not one of the run around it.
TEST(RoundTripText, ASingleRegisterHidesOneOfAnOuterRun) {
  const std::string body =
      "\tsetp.ne.u32 %p1, %r1, 0;\n"
      "\t{\n"
      "\t\t.reg .pred %p1;\n"
      "\t\t.reg .pred %p2;\n"
      "\t\tsetp.ne.u32 %p1, %r1, 0;\n"
      "\t\tbarrier.cta.red.or.pred %p2, 0, %p1;\n"
      "\t\tselp.u32 %r2, 1, 0, %p2;\n"
      "\t}\n"
      "\tselp.u32 %r3, 1, 0, %p1;\n"
      "}\n";
  EXPECT_EQ(reprint_body(body.substr(0, body.size() - 2)), body);
}

TEST(RoundTripText, LinesAreMappedToTheirOrigin) {
  const ParseOutcome outcome = parse_all(samples::kSaxpy, "saxpy.ptx");
  ASSERT_TRUE(outcome.ok());
  std::vector<diag::Loc> locs;
  const std::string text = print(*outcome.module, &locs);
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), locs.size());

  // Find the printed fma and ask where it was read from.
  const std::size_t at = text.find("fma.rn.f32");
  const auto line = static_cast<std::size_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  const auto place = outcome.module->locations.resolve(locs[line]);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->source_line, "\tfma.rn.f32 \t%f4, %f1, %f2, %f3;");
  EXPECT_EQ(locs.front(), diag::Loc::None);
}

}  // namespace
}  // namespace pyptx::syntax
