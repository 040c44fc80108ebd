// SPDX-License-Identifier: Apache-2.0
//
// Shared allocations: places, stages, swizzled elements and what is refused.
#include "pyptx/build/shared.h"

#include <array>
#include <vector>

#include "pyptx/layout/canonical.h"
#include "trace_support.h"

namespace pyptx::build {
namespace {

using isa::Type;
using layout::Major;
using layout::Swizzle;
using testing::HasSubstr;
using testing::IsEmpty;
using Shape = std::vector<std::uint64_t>;

class SharedTest : public TraceTest {
 protected:
  SharedView alloc(Type type, Shape shape, Swizzle swizzle = Swizzle::None,
                   std::uint32_t align = 0) {
    return allocate(tracer, type, shape, {swizzle, std::nullopt, align, "tile"});
  }
  std::int64_t offset_of(const SharedView& view, std::vector<Index> indices) {
    return element(tracer, view, indices).offset;
  }
};

TEST_F(SharedTest, elements_are_row_major_without_a_swizzle) {
  const SharedView view = alloc(Type::F32, {3, 5, 7});
  EXPECT_EQ(offset_of(view, {2, 4, 6}), (2 * 35 + 4 * 7 + 6) * 4);
  EXPECT_EQ(view.bytes(), 420U);
  EXPECT_EQ(view.align, 128U);
}

TEST_F(SharedTest, swizzled_elements_are_where_wgmma_reads_them) {
  for (const Swizzle swizzle : {Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    const SharedView view = alloc(Type::Bf16, {2, 64, 128}, swizzle);
    const layout::OperandTile tile{2, 64, 128, Major::K};
    const auto fields = layout::canonical_layout(tile, swizzle);
    for (std::uint32_t row = 0; row < 64; ++row) {
      for (std::uint32_t column = 0; column < 128; ++column) {
        const std::uint32_t k0 = column / 16 * 16;
        const auto descriptor = fields->descriptor(16384 + layout::k_advance(tile, swizzle, k0));
        ASSERT_EQ(offset_of(view, {1, row, column}),
                  descriptor.address(Major::K, 2, row, column - k0));
      }
    }
  }
}

TEST_F(SharedTest, register_indices_give_the_addresses_of_constant_ones) {
  for (const Swizzle swizzle : {Swizzle::None, Swizzle::B64, Swizzle::B128}) {
    const SharedView view = alloc(Type::Bf16, {2, 16, 128}, swizzle);
    const Reg stage = tracer.reg(Type::U32);
    const Reg row = tracer.reg(Type::U32);
    const Reg column = tracer.reg(Type::U32);
    const std::array<Index, 3> indices{stage, row, column};
    const Reg address = address_of(tracer, element(tracer, view, indices));
    for (std::uint32_t r = 0; r < 16; ++r) {
      for (std::uint32_t c = 0; c < 128; c += 5) {
        const std::uint32_t found = evaluate(tracer, address,
                                             {{static_cast<std::uint32_t>(stage.id), 1},
                                              {static_cast<std::uint32_t>(row.id), r},
                                              {static_cast<std::uint32_t>(column.id), c}});
        ASSERT_EQ(found, offset_of(view, {1, r, c})) << "row " << r << " column " << c;
      }
    }
  }
}

TEST_F(SharedTest, a_register_stage_is_one_instruction) {
  const SharedView view = alloc(Type::Bf16, {4, 64, 64}, Swizzle::B128);
  const Reg stage = tracer.reg(Type::U32);
  const std::size_t before = tracer.function().instructions.size();
  const std::array<Index, 1> indices{stage};
  const SharedView part = slice(tracer, view, indices);
  EXPECT_EQ(tracer.function().instructions.size(), before + 2);  // the block's mov and the mad
  EXPECT_EQ(part.shape, (Shape{64, 64}));
  EXPECT_EQ(evaluate(tracer, *part.place.base, {{static_cast<std::uint32_t>(stage.id), 3}}),
            3U * 8192U);
}

TEST_F(SharedTest, addresses_are_made_once_before_everything_else) {
  const SharedView view = alloc(Type::F32, {32});
  const ir::LabelId label = tracer.label("skip");
  const Reg p = tracer.reg(Type::Pred);
  tracer.emit("setp.eq.u32", {p, ir::Operand::integer(0), ir::Operand::integer(1)});
  tracer.emit("bra", {ir::Operand::label(label)}, {p, false});
  const std::array<Index, 1> first{0};
  store_element(tracer, view, first, ir::Operand::f32(1.0F));
  tracer.place(label);
  const std::array<Index, 1> second{1};
  store_element(tracer, view, second, ir::Operand::f32(2.0F));
  const std::string said = text();
  const auto address = said.find("mov.u32");
  EXPECT_LT(address, said.find("bra"));
  EXPECT_EQ(said.find("mov.u32", address + 1), std::string::npos);
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(SharedTest, past_the_limit_everything_is_one_dynamic_array) {
  const SharedView a = alloc(Type::Bf16, {4, 64, 64}, Swizzle::B128);
  const SharedView b = alloc(Type::Bf16, {4, 64, 64}, Swizzle::B128);
  const std::array<Index, 3> origin{1, 0, 0};
  store_element(tracer, a, origin, ir::Operand::integer(0));
  store_element(tracer, b, origin, ir::Operand::integer(0));
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr(".extern .shared .align 1024 .b8 dyn_smem[]"));
  EXPECT_THAT(said, HasSubstr("dyn_smem+32768"));
  EXPECT_EQ(tracer.dynamic_shared_bytes(), 65536U);
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

TEST_F(SharedTest, every_type_of_element_loads_and_stores) {
  for (const Type type :
       {Type::B8, Type::S8, Type::U8, Type::E4m3, Type::F16, Type::Bf16, Type::U16, Type::S32,
        Type::F32, Type::Tf32, Type::F16x2, Type::F64, Type::U64}) {
    const SharedView view = alloc(type, {8, 16});
    const std::array<Index, 2> from{1, 2};
    const std::array<Index, 2> to{3, 4};
    store_element(tracer, view, to, load_element(tracer, view, from));
  }
  EXPECT_THAT(assemble(text()).value_or(""), IsEmpty());
}

TEST_F(SharedTest, tiles_pick_their_swizzle) {
  const Shape wide{2, 128, 64};
  const SharedView a = allocate_tile(tracer, Type::Bf16, wide, Major::K);
  EXPECT_EQ(a.swizzle, Swizzle::B128);
  EXPECT_EQ(a.align, 1024U);
  const Shape narrow{16, 24};
  const SharedView b = allocate_tile(tracer, Type::Bf16, narrow, Major::MN);
  EXPECT_EQ(b.swizzle, Swizzle::None);
  EXPECT_EQ(offset_of(b, {3, 9}), 256 + 3 * 16 + 2);  // blocks of 16 bytes, k rows each
}

TEST_F(SharedTest, refuses_indices_that_do_not_fit) {
  const SharedView view = alloc(Type::F32, {2, 8, 8});
  const std::array<Index, 1> stage{2};
  slice(tracer, view, stage);
  EXPECT_EQ(refusal(), "PTX0502: index 0 of 'tile' must be within 0 to 1, got 2");
  const std::array<Index, 3> negative{0, -1, 0};
  element(tracer, view, negative);
  EXPECT_EQ(refusal(), "PTX0502: index 1 of 'tile' must be within 0 to 7, got -1");
  const std::array<Index, 4> many{0, 0, 0, 0};
  element(tracer, view, many);
  EXPECT_EQ(refusal(), "PTX0503: 'tile' has 3 dimensions, got 4 indices");
  const std::array<Index, 1> wide{tracer.reg(Type::U64)};
  slice(tracer, view, wide);
  EXPECT_THAT(refusal(), HasSubstr("32-bit register, got a register of type u64"));
}

TEST_F(SharedTest, refuses_what_a_swizzle_cannot_hold) {
  alloc(Type::Bf16, {64, 64}, Swizzle::B128, 256);
  EXPECT_EQ(refusal(),
            "PTX0504: 'tile' lies at a multiple of 256 bytes, the 128B swizzle needs 1024");
  alloc(Type::Bf16, {64, 40}, Swizzle::B128);
  EXPECT_THAT(refusal(), HasSubstr("a row has 80 bytes"));
  alloc(Type::Bf16, {4, 4, 64}, Swizzle::B128);
  EXPECT_THAT(refusal(), HasSubstr("a stage has 512 bytes"));
  const SharedView view = alloc(Type::Bf16, {64, 64}, Swizzle::B128);
  const std::array<Index, 1> row{3};
  slice(tracer, view, row);
  EXPECT_THAT(refusal(), HasSubstr("a row of a swizzled tile has no address of its own"));
}

TEST_F(SharedTest, refuses_odd_allocations) {
  alloc(Type::F32, {4, 0});
  EXPECT_THAT(refusal(), HasSubstr("dimension 1 is 0"));
  alloc(Type::F32, {4}, Swizzle::None, 48);
  EXPECT_THAT(refusal(), HasSubstr("48 is not a power of two"));
  alloc(Type::Pred, {4});
  EXPECT_THAT(refusal(), HasSubstr("elements of type pred have no address"));
}

TEST_F(SharedTest, refuses_memory_of_another_trace) {
  const SharedView view = alloc(Type::F32, {4});
  Tracer other(kernel(), nullptr);
  const std::array<Index, 1> first{0};
  load_element(other, view, first);
  const auto error = other.take_error();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), "PTX0508");
}

TEST_F(SharedTest, the_dynamic_array_has_an_address_only_where_there_is_one) {
  shared_base(tracer);
  EXPECT_THAT(refusal(), HasSubstr("the kernel has no dynamic shared memory"));
}

class DynamicTest : public TraceTest {
 protected:
  DynamicTest() : TraceTest(dynamic()) {}
  static Options dynamic() {
    Options options = kernel();
    options.force_dynamic_shared = true;
    return options;
  }
};

TEST_F(DynamicTest, the_base_is_the_array) {
  const Reg base = shared_base(tracer);
  store_shared(tracer, Type::U32, SharedPlace::of_register(base, 64), ir::Operand::integer(7));
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("dyn_smem[]"));
  EXPECT_THAT(assemble(said).value_or(""), IsEmpty());
}

}  // namespace
}  // namespace pyptx::build
