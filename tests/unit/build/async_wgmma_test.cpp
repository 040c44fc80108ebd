// SPDX-License-Identifier: Apache-2.0
//
// Descriptors computed by instructions against the ones layout encodes, and wgmma.mma_async of
// every operand type.
#include "pyptx/build/wgmma.h"

#include <array>
#include <vector>

#include "trace_support.h"

namespace pyptx::build {
namespace {

using isa::Type;
using layout::Major;
using testing::HasSubstr;
using testing::IsEmpty;

class WgmmaTest : public TraceTest {
 protected:
  SharedView tile(Type type, std::vector<std::uint64_t> shape, Major major = Major::K) {
    return allocate_tile(tracer, type, shape, major, {{}, {}, 0, "tile"});
  }
  wgmma::MmaArguments product(Type d, Type a, Type b, std::int64_t n) {
    wgmma::MmaArguments in;
    in.shape = {64, n, 256 / isa::info(a).bits};
    in.type_d = d;
    in.type_a = a;
    in.type_b = b;
    const bool is_half = isa::info(d).bits == 16;
    const Type held = is_half ? Type::B32 : d;
    in.d = tracer.reg_array(held, wgmma::fragment_size(64, n, d));
    return in;
  }
  /// The 64 bits the emitted instructions give for a base at `address`.
  std::uint64_t bits_of(Reg descriptor, Reg base, std::uint32_t address) {
    const ir::Function& function = tracer.function();
    std::uint64_t constant = 0;
    for (const ir::Instruction& i : function.instructions) {
      const auto operands = function.operands_of(i);
      if (i.spelling->text == "or.b64" &&
          operands[0].index == static_cast<std::uint32_t>(descriptor.id)) {
        constant = static_cast<std::uint64_t>(operands[2].value);
      }
    }
    const std::uint32_t low =
        evaluate(tracer, descriptor, {{static_cast<std::uint32_t>(base.id), address}});
    return (constant & ~std::uint64_t{0xFFFFFFFF}) | low;
  }
};

TEST_F(WgmmaTest, make_descriptor_is_the_manuals_encoding) {
  const Reg base = tracer.reg(Type::U32);
  const Reg d = wgmma::make_descriptor(tracer, SharedPlace::of_register(base, 64),
                                       {8192, 1024, layout::LayoutType::B64, 3});
  const layout::MatrixDescriptor expected{0x9C40 + 64, 8192, 1024, 3, layout::LayoutType::B64};
  EXPECT_EQ(bits_of(d, base, 0x9C40), expected.encode());
}

TEST_F(WgmmaTest, auto_descriptor_walks_the_tile) {
  for (const Major major : {Major::K, Major::MN}) {
    const Reg base = tracer.reg(Type::U32);
    const std::array<std::uint64_t, 2> shape{128, 128};
    const Reg d = wgmma::auto_descriptor(tracer, SharedPlace::of_register(base), Type::F16, shape,
                                         major, std::nullopt, 80);
    const layout::OperandTile operand{2, 128, 128, major};
    const auto picked = layout::pick_layout(operand);
    const std::uint32_t start = 4096 + layout::k_advance(operand, picked->swizzle, 80);
    EXPECT_EQ(bits_of(d, base, 4096), picked->descriptor(start).encode());
  }
}

TEST_F(WgmmaTest, masked_descriptor_adds_after_the_mask) {
  const Reg base = tracer.reg(Type::U32);
  const Reg d = wgmma::masked_descriptor(tracer, SharedPlace::of_register(base), 32);
  const layout::MatrixDescriptor expected{0x2C00 + 32, 16, 1024, 0, layout::LayoutType::B128};
  EXPECT_EQ(bits_of(d, base, 0x2C00), expected.encode());
}

TEST_F(WgmmaTest, every_type_assembles) {
  struct Row {
    Type d, a, b;
  };
  for (const auto& [d, a, b] :
       {Row{Type::F32, Type::Bf16, Type::Bf16}, Row{Type::F32, Type::F16, Type::F16},
        Row{Type::F16, Type::F16, Type::F16}, Row{Type::F32, Type::Tf32, Type::Tf32},
        Row{Type::F32, Type::E4m3, Type::E5m2}, Row{Type::F16, Type::E5m2, Type::E4m3},
        Row{Type::S32, Type::S8, Type::S8}}) {
    auto in = product(d, a, b, 32);
    const std::uint64_t k = 2 * in.shape[2];
    in.a = tile(a, {64, k});
    in.b = tile(b, {32, k});
    in.k_offset_a = in.shape[2];
    in.k_offset_b = in.shape[2];
    wgmma::fence(tracer);
    wgmma::mma_async(tracer, in);
    in.a = tracer.reg_array(Type::B32, 4);
    in.k_offset_a = 0;
    in.scale_d = true;
    wgmma::mma_async(tracer, in);
    wgmma::commit_group(tracer);
    wgmma::wait_group(tracer, 0);
  }
  EXPECT_THAT(assemble(text()).value_or(""), IsEmpty());
}

TEST_F(WgmmaTest, an_mn_major_tile_is_transposed) {
  auto in = product(Type::F32, Type::Bf16, Type::Bf16, 128);
  in.a = tile(Type::Bf16, {64, 64});
  in.b = tile(Type::Bf16, {64, 128}, Major::MN);
  in.k_offset_b = 16;
  wgmma::mma_async(tracer, in);
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr(", 1, 1, 0, 1;"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(WgmmaTest, refuses_what_does_not_fit) {
  auto in = product(Type::F32, Type::Bf16, Type::Bf16, 64);
  in.a = tile(Type::Bf16, {64, 64});
  in.b = tile(Type::Bf16, {64, 64});
  auto bad = in;
  bad.d.pop_back();
  wgmma::mma_async(tracer, bad);
  EXPECT_THAT(refusal(), HasSubstr("must be 32 registers of 32 bits, got 31"));
  bad = in;
  bad.b = tile(Type::F32, {64, 64});
  wgmma::mma_async(tracer, bad);
  EXPECT_THAT(refusal(), HasSubstr("holds f32, the operand is bf16"));
  bad = in;
  bad.trans_b = 1;
  wgmma::mma_async(tracer, bad);
  EXPECT_THAT(refusal(), HasSubstr("is a K-major tile"));
  bad = in;
  bad.k_offset_a = 8;
  wgmma::mma_async(tracer, bad);
  EXPECT_THAT(refusal(), HasSubstr("a multiple of 16 below the tile's 64, got 8"));
  bad = in;
  bad.b = tracer.reg_array(Type::B32, 4);
  wgmma::mma_async(tracer, bad);
  EXPECT_THAT(refusal(), HasSubstr("in shared memory, got registers"));
  bad = in;
  bad.a = tracer.reg(Type::B32);
  wgmma::mma_async(tracer, bad);
  EXPECT_THAT(refusal(), HasSubstr("a 64-bit register, got a register of type b32"));
  bad = in;
  bad.scale_a = 2;
  wgmma::mma_async(tracer, bad);
  EXPECT_THAT(refusal(), HasSubstr("scale_a must be 1 or -1, got 2"));
  wgmma::wait_group(tracer, 8);
  EXPECT_THAT(refusal(), HasSubstr("0 to 7"));
  const std::array<std::uint64_t, 2> shape{64, 20};
  wgmma::auto_descriptor(tracer, SharedPlace::of_register(tracer.reg(Type::U32)), Type::Bf16, shape,
                         Major::K);
  EXPECT_THAT(refusal(), HasSubstr("PTX0506"));
}

TEST_F(WgmmaTest, refuses_a_shape_the_table_does_not_have) {
  auto in = product(Type::F32, Type::Bf16, Type::Bf16, 64);
  in.shape[1] = 260;
  in.d = tracer.reg_array(Type::F32, 130);
  in.a = tracer.reg(Type::B64);
  in.b = tracer.reg(Type::B64);
  wgmma::mma_async(tracer, in);
  EXPECT_THAT(refusal(), HasSubstr("PTX02"));
}

}  // namespace
}  // namespace pyptx::build
