// SPDX-License-Identifier: Apache-2.0
//
// tcgen05 from C++: a whole life of tensor memory, descriptors against the ones layout encodes, and
// what is refused.
#include "pyptx/build/tcgen05.h"

#include <vector>

#include "pyptx/build/mbarrier.h"
#include "trace_support.h"

namespace pyptx::build {
namespace {

using isa::Type;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Tcgen05Test : public TraceTest {
 protected:
  static Options blackwell() {
    Options options = kernel();
    options.target = isa::Target{100, 'a'};
    return options;
  }
  Tcgen05Test() : TraceTest(blackwell()) {}

  SharedView tile(std::uint64_t rows) {
    const std::array<std::uint64_t, 2> shape{rows, 64};
    return allocate_tile(tracer, Type::Bf16, shape, layout::Major::K);
  }
  Reg word() {
    const Reg reg = tracer.reg(Type::B32);
    tracer.emit("mov.b32", {reg, ir::Operand::integer(0)});
    return reg;
  }
  tcgen05::MmaArguments product() {
    tcgen05::MmaArguments in;
    in.d = {word(), 0};
    in.a = tile(128);
    in.b = tile(64);
    layout::InstructionDescriptor shape;
    shape.n = 64;
    in.instruction = shape.encode();
    return in;
  }
};

TEST_F(Tcgen05Test, a_product_from_allocation_to_registers) {
  const std::array<std::uint64_t, 1> one{1};
  const SharedView slot = allocate(tracer, Type::U32, one);
  const MbarrierArray bar = mbarrier::allocate(tracer, 1);
  tcgen05::alloc(tracer, slot.place, 64);
  const Reg taddr = load_shared(tracer, Type::B32, slot.place);
  tcgen05::MmaArguments in = product();
  in.d = {taddr, 0};
  for (std::int64_t k = 0; k < 64; k += 16) {
    in.k_offset_a = in.k_offset_b = k;
    in.enable_input_d = k > 0;
    tcgen05::mma(tracer, in);
  }
  tcgen05::commit(tracer, bar.place);
  mbarrier::wait(tracer, bar.place, 0);
  tcgen05::fence_after_thread_sync(tracer);
  const auto values = tracer.reg_array(Type::F32, 64);
  tcgen05::ld(tracer, values, {taddr, 0}, {.shape = "32x32b", .count = 64});
  tcgen05::wait_ld(tracer);
  tcgen05::dealloc(tracer, taddr, 64);
  tcgen05::relinquish_alloc_permit(tracer);
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("tcgen05.mma.cta_group::1.kind::f16 [%r"));
  EXPECT_THAT(said, HasSubstr("tcgen05.ld.sync.aligned.32x32b.x64.b32 {%f0, %f1,"));
  EXPECT_THAT(assemble(said, "sm_100a").value_or(""), IsEmpty());
}

TEST_F(Tcgen05Test, descriptors_are_what_layout_encodes) {
  const Reg base = tracer.reg(Type::U32);
  const auto bits_of = [&](Reg made, std::uint32_t address) {
    std::uint64_t constant = 0;
    const ir::Function& function = tracer.function();
    for (const ir::Instruction& i : function.instructions) {
      const auto operands = function.operands_of(i);
      if (i.spelling->text == "or.b64" && operands[0] == ir::Operand::reg(made.id)) {
        constant = static_cast<std::uint64_t>(operands[2].value);
      }
    }
    const std::uint32_t low =
        evaluate(tracer, made, {{static_cast<std::uint32_t>(base.id), address}});
    return (constant & ~std::uint64_t{0xFFFFFFFF}) | low;
  };
  layout::Tcgen05MatrixDescriptor fields{0, 4096, 1024, 3, false, layout::Tcgen05Swizzle::B64};
  const Reg made = tcgen05::descriptor(tracer, SharedPlace::of_register(base, 64), fields);
  fields.start = 0x9C40 + 64;
  EXPECT_EQ(bits_of(made, 0x9C40), fields.encode());
  const Reg masked = tcgen05::masked_descriptor(tracer, SharedPlace::of_register(base), 32);
  const layout::Tcgen05MatrixDescriptor expected{0x9C40 + 32, 16,    1024,
                                                 0,           false, layout::Tcgen05Swizzle::B128};
  EXPECT_EQ(bits_of(masked, 0x9C4F), expected.encode());
  const std::array<std::uint64_t, 2> shape{128, 128};
  const Reg second = tcgen05::auto_descriptor(tracer, SharedPlace::of_register(base), Type::Bf16,
                                              shape, layout::Major::K, {}, 64 + 16);
  const layout::Tcgen05MatrixDescriptor block{0x8000 + 128 * 128 + 32,     16, 1024, 0, false,
                                              layout::Tcgen05Swizzle::B128};
  EXPECT_EQ(bits_of(second, 0x8000), block.encode());
}

TEST_F(Tcgen05Test, a_kernel_has_one_granularity) {
  tcgen05::relinquish_alloc_permit(tracer, 2);
  tcgen05::relinquish_alloc_permit(tracer, 1);
  EXPECT_EQ(refusal(), "PTX0237: cta_group must be 2, as elsewhere in this kernel, got 1");
}

TEST_F(Tcgen05Test, an_instruction_descriptor_is_held_against_the_instruction) {
  tcgen05::MmaArguments in = product();
  in.instruction = in.instruction.value | 1 << 23;
  tcgen05::mma(tracer, in);
  EXPECT_THAT(refusal(), StartsWith("PTX0509: the instruction descriptor of tcgen05.mma with"));
  in = product();
  in.kind = "tf32";
  tcgen05::mma(tracer, in);
  EXPECT_THAT(refusal(), HasSubstr("the type of A (bits 7 to 9) is 1, which means nothing to"));
  in = product();
  in.metadata = {word(), 0};
  tcgen05::mma(tracer, in);
  EXPECT_THAT(refusal(), HasSubstr("it is for a dense A"));
  layout::InstructionDescriptor wide;
  wide.m = 256;
  in = product();
  in.instruction = wide.encode();
  tcgen05::mma(tracer, in);
  EXPECT_THAT(refusal(), HasSubstr("M is 64 or 128, not 256"));
}

TEST_F(Tcgen05Test, a_refusal_names_the_parameter_it_is_about) {
  tcgen05::alloc(tracer, SharedPlace::of_register(word()), tracer.reg(Type::U64));
  const auto refused = tracer.take_error();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->focus.part, diag::Focus::Part::Argument);
  EXPECT_EQ(refused->focus.parameter, "ncols");
}

// Assemblers of CUDA 13.0 refuse a number there.
TEST_F(Tcgen05Test, the_mask_of_a_commit_is_in_a_register) {
  const MbarrierArray bar = mbarrier::allocate(tracer, 1);
  tcgen05::CommitOptions options;
  options.cta_group = 2;
  options.multicast_mask = 3;
  tcgen05::commit(tracer, bar.place, options);
  EXPECT_THAT(text(), HasSubstr("mov.b16 %rs0, 3;\n"));
}

TEST_F(Tcgen05Test, block_scales_of_the_default_size_need_the_version_that_brought_it) {
  const auto version = [](const std::string& scale_vec) {
    verify::InstructionJudge judge{verify::VersionMode::Lowest};
    Tracer own(blackwell(), &judge);
    const auto next = [&] { return own.reg(Type::B32); };
    tcgen05::MmaArguments in;
    in.kind = "mxf8f6f4";
    in.d = {next(), 0};
    in.a = own.reg(Type::B64);
    in.b = own.reg(Type::B64);
    in.instruction = next();
    in.scale_a = {next(), 0};
    in.scale_b = {next(), 0};
    in.scale_vec = scale_vec;
    tcgen05::mma(own, in);
    return text_of(own).substr(0, 12);
  };
  EXPECT_EQ(version(""), ".version 8.8");
  EXPECT_EQ(version("1X"), ".version 8.6");
}

TEST_F(Tcgen05Test, refuses_what_does_not_go_together) {
  const auto refused = [&](auto&& change) {
    tcgen05::MmaArguments in = product();
    change(in);
    tcgen05::mma(tracer, in);
    return refusal();
  };
  EXPECT_THAT(refused([](auto& in) { in.ashift = true; }), HasSubstr("in tensor memory"));
  EXPECT_THAT(refused([&](auto& in) { in.scale_a = {word(), 0}; }), HasSubstr("for A and B"));
  EXPECT_THAT(refused([](auto& in) { in.scale_vec = "2X"; }), HasSubstr("without block scales"));
  EXPECT_THAT(refused([](auto& in) { in.collector_buffer = 1; }), HasSubstr(".ws"));
  EXPECT_THAT(refused([](auto& in) { in.k_offset_a = 8; }), HasSubstr("multiple of 16"));
  EXPECT_THAT(refused([&](auto& in) { in.b = tcgen05::TmemPlace{word(), 0}; }),
              HasSubstr("in shared memory"));
}

}  // namespace
}  // namespace pyptx::build
