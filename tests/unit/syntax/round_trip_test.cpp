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

// The sample is written canonically but for blank lines and redundant zeros.
TEST(RoundTripText, CanonicalTextComesBackUnchanged) {
  std::string expected(samples::kReduce);
  for (const std::string_view gone : {"+-0", "\n\tld.param.u64 %rd0"}) {
    const std::size_t at = expected.find(gone);
    ASSERT_NE(at, std::string::npos);
    expected.erase(at, gone == "+-0" ? 3 : 1);
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
	// block
	// comment
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, 7;
	// inside
	mov.f32 vec.x, 0d3FF8000000000000;
	mov.f32 %f1, vec.x;
	mov.f64 %fd1, 0d3FF0000000000000;
	mov.u64 %rd1, frame+8;
	mov.u64 %rd2, plain+16;
	ld.global.u64 %rd3, [plain+8];
	ld.param.u64 %rd4, [p];
	ld.global.v2.f32 {%f1, %f2}, [%rd4+-16];
	@%p1 st.global.u32 [bytes], %r1;
	@!%p1 bra.uni $L_end;
	setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;
	setp.lt.s32 %p1|_, %r1, 16;
	shfl.sync.down.b32 %r3|%p1, %r1, 4, 31, -1;
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd4, {%r2, %r3}], [%r4];
	{
		{
			.reg .b32 %r<3>;
			.reg .b32 inner;
			mov.u32 %r1, inner;
			// shadows
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
