// SPDX-License-Identifier: Apache-2.0
//
// printf and assertions: the calls, the buffer they share, and formats held against values.
#include "pyptx/build/print.h"

#include <vector>

#include "trace_support.h"

namespace pyptx::build {
namespace {

using isa::Type;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class PrintTest : public TraceTest {
 protected:
  Reg number(Type type) { return scalar(tracer, type, 1); }
  std::string refused(std::string_view format, const std::vector<Value>& values) {
    print(tracer, format, values);
    return refusal();
  }
};

TEST_F(PrintTest, values_lie_in_the_buffer_as_c_passes_them) {
  const std::vector<Value> values{number(Type::S32), number(Type::F32), number(Type::U16),
                                  number(Type::U64), 2.5};
  print(tracer, "%d %f %u %llu %g\n", values);
  print(tracer, "%d\n", std::vector<Value>{7});
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr(".extern .func (\n\t.param .b32 vprintf_result_0\n) vprintf("));
  EXPECT_THAT(said, HasSubstr(".local .align 8 .b8 $scratch[40];"));
  EXPECT_THAT(said, HasSubstr("st.local.s32 [%rd"));
  EXPECT_THAT(said, HasSubstr("+8], %fd"));   // a float is a double at the next multiple of 8
  EXPECT_THAT(said, HasSubstr("+16], %r"));   // 16 bits are an int
  EXPECT_THAT(said, HasSubstr("+24], %rd"));  // at a multiple of 8 again
  EXPECT_THAT(said, HasSubstr("+32], %fd"));
  EXPECT_THAT(said, HasSubstr("$str_1[4] = {37, 100, 10, 0};"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(PrintTest, equal_texts_are_one_constant_and_no_values_need_no_buffer) {
  for (int i = 0; i < 2; ++i) print(tracer, "100%%\n", {});
  const std::string said = text();
  EXPECT_THAT(said, Not(HasSubstr("$str_1")));
  EXPECT_THAT(said, Not(HasSubstr("$scratch")));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(PrintTest, a_guard_jumps_over_the_call) {
  const Reg p = compare(tracer, Comparison::Gt, number(Type::U32), 0);
  print(tracer, "x", {}, {p, true});
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("@%p0 bra $L_printf;"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(PrintTest, formats_are_held_against_values) {
  EXPECT_EQ(refused("%d", {number(Type::U64)}),
            "PTX0242: printf: '%d' takes an integer of up to 32 bits (64: ll), got a register of "
            "type .u64");
  EXPECT_THAT(refused("%f", {number(Type::U32)}), HasSubstr("takes a float"));
  EXPECT_THAT(refused("%f", {number(Type::F16x2)}), HasSubstr("takes a float"));
  EXPECT_THAT(refused("%lld", {number(Type::U32)}), HasSubstr("64 bits"));
  EXPECT_THAT(refused("%s", {number(Type::U32)}), HasSubstr("address"));
  EXPECT_THAT(refused("%d %d", {1}), HasSubstr("takes 2 values, got 1"));
  EXPECT_THAT(refused("%*d", {1}), HasSubstr("takes 2 values, got 1"));
  EXPECT_THAT(refused("%q", {1}), HasSubstr("'%q' is no conversion"));
  EXPECT_THAT(refused("%", {}), HasSubstr("no conversion"));
  EXPECT_THAT(refused("%d", {2.5}), HasSubstr("got a float"));
}

TEST_F(PrintTest, an_assertion_names_file_line_and_kernel) {
  tracer.set_loc(tracer.module().locations.native("here.cpp", 42));
  const Reg p = compare(tracer, Comparison::Gt, number(Type::U32), 0);
  assert_that(tracer, {p, false}, "positive");
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("@%p0 bra $L_assert;"));
  EXPECT_THAT(said, HasSubstr("st.param.b32 [assertfail_2], 42;"));
  EXPECT_THAT(said, HasSubstr("call.uni __assertfail, (assertfail_0, assertfail_1, assertfail_2"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(PrintTest, an_assertion_needs_a_predicate) {
  assert_that(tracer, {}, "nothing");
  EXPECT_THAT(refusal(), StartsWith("PTX0209"));
}

TEST_F(PrintTest, a_name_of_the_run_time_is_taken) {
  tracer.reg(Type::U32, "vprintf");
  print(tracer, "x", {});
  EXPECT_THAT(refusal(), StartsWith("PTX0238: the name 'vprintf'"));
}

}  // namespace
}  // namespace pyptx::build
