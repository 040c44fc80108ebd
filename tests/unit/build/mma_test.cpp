// SPDX-License-Identifier: Apache-2.0
//
// mma.sync, ldmatrix and stmatrix from C++: the spellings, what is refused, and where each element
// of a stored accumulator ends up.
#include "pyptx/build/mma.h"

#include <vector>

#include "pyptx/layout/fragment.h"
#include "trace_support.h"

namespace pyptx::build {
namespace {

using isa::Type;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<ir::Operand> operands(const std::vector<Reg>& registers) {
  return {registers.begin(), registers.end()};
}

class MmaTest : public TraceTest {
 protected:
  MmaTest() = default;
  explicit MmaTest(Options options) : TraceTest(std::move(options)) {}

  std::vector<Reg> zeros(Type type, std::size_t count) {
    const auto registers = tracer.reg_array(type, count);
    for (const Reg& reg : registers) {
      const bool is_float = type == Type::F32;
      tracer.emit(is_float ? "mov.f32" : "mov.b32",
                  {reg, is_float ? ir::Operand::f32(0) : ir::Operand::integer(0)});
    }
    return registers;
  }
  mma::Arguments product(std::array<std::int64_t, 3> shape, Type type, std::size_t a,
                         std::size_t b) {
    mma::Arguments in;
    in.shape = shape;
    in.type_d = in.type_c = Type::F32;
    in.type_a = in.type_b = type;
    in.d = operands(tracer.reg_array(Type::F32, 4));
    in.c = operands(zeros(Type::F32, 4));
    in.a = operands(zeros(Type::B32, a));
    in.b = operands(zeros(Type::B32, b));
    return in;
  }
};

class ScaledMmaTest : public MmaTest {
 protected:
  static Options consumer() {
    Options options = kernel();
    options.target = isa::Target{120, 'a'};
    return options;
  }
  ScaledMmaTest() : MmaTest(consumer()) {}
};

TEST_F(MmaTest, dense_and_sparse) {
  mma::sync(tracer, product({16, 8, 16}, Type::Bf16, 4, 2));
  mma::Arguments sparse = product({16, 8, 32}, Type::F16, 4, 4);
  sparse.sparsity = mma::Sparsity{zeros(Type::B32, 1)[0], 1};
  mma::sync(tracer, sparse);
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f"));
  EXPECT_THAT(said,
              HasSubstr("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(MmaTest, single_bits_are_combined_by_xor_where_nothing_is_said) {
  mma::Arguments in = product({16, 8, 256}, Type::B1, 4, 2);
  in.type_d = in.type_c = Type::S32;
  in.d = operands(tracer.reg_array(Type::S32, 4));
  in.c = std::vector<ir::Operand>(4, ir::Operand::integer(0));
  mma::sync(tracer, in);
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr(".s32.b1.b1.s32.xor.popc"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(MmaTest, refuses_fragments_of_another_size) {
  mma::sync(tracer, product({16, 8, 16}, Type::Bf16, 2, 2));
  EXPECT_THAT(refusal(), StartsWith("PTX0207: operand 2 (a)"));
  mma::sync(tracer, product({16, 8, 12}, Type::Bf16, 2, 2));
  EXPECT_THAT(refusal(), StartsWith("PTX0202"));
  mma::Arguments in = product({16, 8, 16}, Type::Bf16, 4, 2);
  in.bit_op = "and";
  mma::sync(tracer, in);
  EXPECT_THAT(refusal(), StartsWith("PTX0237: bit_op"));
}

TEST_F(ScaledMmaTest, narrow_types_find_their_kind) {
  mma::Arguments narrow = product({16, 8, 32}, Type::E3m2, 4, 2);
  narrow.type_b = Type::E2m1;
  mma::sync(tracer, narrow);
  mma::Arguments scaled = product({16, 8, 64}, Type::E2m1, 4, 2);
  scaled.kind = "mxf4nvf4";
  const auto scales = zeros(Type::B32, 2);
  scaled.scale = mma::BlockScale{Type::Ue4m3, scales[0], scales[1], {0, 1}, {0, 2}, "4X"};
  mma::sync(tracer, scaled);
  scaled.scale->select_a = {0, 4};
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr(".kind::f8f6f4.f32.e3m2.e2m1.f32"));
  EXPECT_THAT(said, HasSubstr(".kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"));
  EXPECT_THAT(assemble(said, "sm_120a").value_or(""), IsEmpty());
}

TEST_F(ScaledMmaTest, refuses_a_scale_of_no_byte) {
  mma::Arguments scaled = product({16, 8, 64}, Type::E2m1, 4, 2);
  scaled.kind = "mxf4";
  const auto scales = zeros(Type::B32, 2);
  scaled.scale = mma::BlockScale{Type::Ue8m0, scales[0], scales[1], {0, 4}, {0, 0}, ""};
  mma::sync(tracer, scaled);
  EXPECT_THAT(refusal(), StartsWith("PTX0237: select_a"));
}

TEST_F(MmaTest, moves_of_matrices) {
  const std::array<std::uint64_t, 2> shape{64, 64};
  const SharedView tile = allocate(tracer, Type::Bf16, shape);
  mma::ldmatrix(tracer, tracer.reg_array(Type::B32, 4), tile.place);
  mma::stmatrix(tracer, tile.place.plus(128), zeros(Type::B32, 2), {.count = "x2"});
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r"));
  EXPECT_THAT(said, HasSubstr("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

/// The register that holds the address of the first stmatrix.
Reg stored_address(const Tracer& tracer) {
  const ir::Function& function = tracer.function();
  for (const ir::Instruction& instruction : function.instructions) {
    if (!instruction.spelling->text.starts_with("stmatrix")) continue;
    const auto address = function.operands_of(instruction)[0];
    return {function.children(address)[0].register_id(), Type::U32, tracer.tag()};
  }
  return {};
}

TEST_F(MmaTest, an_accumulator_is_stored_by_columns) {
  constexpr std::int64_t kStride = 144;
  const Reg base = tracer.reg(Type::U32);
  const Reg lane = tracer.reg(Type::U32);
  mma::stmatrix_x4_trans_f32_bf16(tracer, tracer.reg_array(Type::F32, 8),
                                  SharedPlace::of_register(base), lane, kStride);
  const Reg address = stored_address(tracer);
  const auto address_of_lane = [&](std::uint32_t id) -> std::int64_t {
    return evaluate(
        tracer, address,
        {{static_cast<std::uint32_t>(base.id), 4096}, {static_cast<std::uint32_t>(lane.id), id}});
  };
  const layout::Fragment held = layout::wgmma_accumulator(16, 32);
  const layout::Fragment stored = layout::ldmatrix_m8n8(4, true);
  for (std::uint32_t thread = 0; thread < 32; ++thread) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      const layout::FragmentPlace element = held.at(thread, i);
      const layout::FragmentPlace at = stored.at(thread, i / 2, i % 2);
      const std::int64_t written =
          address_of_lane(layout::ldmatrix_address_lane(at.matrix, at.row)) + 2 * at.column;
      ASSERT_EQ(written, 4096 + element.column * kStride + 2 * element.row);
    }
  }
}

}  // namespace
}  // namespace pyptx::build
