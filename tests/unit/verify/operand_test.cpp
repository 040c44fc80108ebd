// SPDX-License-Identifier: Apache-2.0
//
// Operands against hand-made places: trees, optional places, register classes, literals.
#include "operand.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "one_function.h"
#include "pyptx/isa/ids.h"

namespace pyptx::verify {
namespace {

using ir::Operand;
using ir::OperandKind;
using isa::Accept;
using isa::OperandSpec;
using isa::Type;

class OperandTest : public OneFunctionTest {
 protected:
  OperandTest() : OneFunctionTest({100, 'a'}) {}

  Operand composite(OperandKind kind, std::vector<Operand> parts, std::int64_t offset = 0) {
    return function_->composite(kind, parts, offset);
  }
  static OperandSpec place(Accept accept, Type type = Type::None) {
    OperandSpec spec;
    spec.accept = accept;
    spec.type = type;
    return spec;
  }
  Misfit check(const OperandSpec& spec, const Operand& operand) {
    return verify::check({module_, *function_}, spec, operand);
  }
  Fit fit(std::vector<OperandSpec> specs, std::vector<Operand> operands) {
    specs_ = std::move(specs);
    return verify::fit({module_, *function_}, specs_, operands);
  }

  std::vector<OperandSpec> specs_;
};

TEST_F(OperandTest, AnAddressHasItsParts) {
  OperandSpec spec = place(Accept::Address);
  OperandSpec coordinates = place(Accept::Vector | Accept::Integer, Type::S32);
  coordinates.vector = 2;
  spec.parts = {place(Accept::Address), coordinates};
  const Operand base = reg(Type::B64);
  const Operand two = composite(OperandKind::Vector, {reg(Type::B32), Operand::integer(3)});
  const Operand one = composite(OperandKind::Vector, {reg(Type::B32)});
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {base, two}, 8)), Misfit::None);
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {base, one})), Misfit::Elements);
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {base})), Misfit::Elements);
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {base, base})), Misfit::Kind);
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {reg(Type::F32), two})), Misfit::Type);
}

TEST_F(OperandTest, ABracketMayStartWithARegister) {
  OperandSpec spec = place(Accept::Address);
  OperandSpec count = place(Accept::Register, Type::B64);
  count.optional = true;
  spec.parts = {place(Accept::Register, Type::B32), place(Accept::Register, Type::B64), count};
  const Operand id = reg(Type::B32);
  const Operand wide = reg(Type::B64);
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {id, wide})), Misfit::None);
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {id, wide, wide})), Misfit::None);
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {wide, wide})), Misfit::Type);
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {id, wide}, 4)), Misfit::Kind);
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {id, wide, id})), Misfit::Type);
}

TEST_F(OperandTest, APairHasTwoPlaces) {
  OperandSpec pair = place(Accept::Pipe | Accept::Register, Type::B32);
  pair.parts = {place(Accept::Register | Accept::Sink, Type::B32),
                place(Accept::Predicate, Type::Pred)};
  const Operand d = reg(Type::B32);
  const Operand p = reg(Type::Pred);
  EXPECT_EQ(check(pair, composite(OperandKind::Pipe, {d, p})), Misfit::None);
  EXPECT_EQ(check(pair, d), Misfit::None);
  EXPECT_EQ(check(pair, composite(OperandKind::Pipe, {Operand::sink(), p})), Misfit::None);
  EXPECT_EQ(check(pair, composite(OperandKind::Pipe, {d, Operand::sink()})), Misfit::Kind);
  EXPECT_EQ(check(pair, composite(OperandKind::Pipe, {d, d})), Misfit::Kind);
  EXPECT_EQ(check(pair, Operand::sink()), Misfit::Kind);
}

TEST_F(OperandTest, OptionalPlacesAreFilledByWhatFits) {
  OperandSpec returns = place(Accept::Parenthesized);
  returns.optional = true;
  OperandSpec arguments = returns;
  const OperandSpec callee = place(Accept::Symbol);
  const Operand list = composite(OperandKind::Parenthesized, {});
  const Operand name = Operand::symbol(module_.symbols.intern("f"));
  const std::vector<OperandSpec> call{returns, callee, arguments};
  EXPECT_TRUE(fit(call, {name}).ok());
  EXPECT_TRUE(fit(call, {name, list}).ok());
  EXPECT_TRUE(fit(call, {list, name}).ok());
  EXPECT_TRUE(fit(call, {list, name, list}).ok());
  EXPECT_FALSE(fit(call, {list, list}).ok());
  EXPECT_FALSE(fit(call, {list}).ok());
  EXPECT_FALSE(fit(call, {name, list, list, list}).has_count);
}

TEST_F(OperandTest, RegisterClassesNarrowOrWiden) {
  OperandSpec spec = place(Accept::Register, Type::U8x4);
  spec.registers = isa::Registers::Plain;
  EXPECT_EQ(check(spec, reg(Type::B32)), Misfit::None);
  EXPECT_EQ(check(spec, reg(Type::U32)), Misfit::Type);
  EXPECT_EQ(check(spec, reg(Type::B64)), Misfit::Type);
  spec.type = Type::B8;
  spec.registers = isa::Registers::Exact;
  EXPECT_EQ(check(spec, reg(Type::B8)), Misfit::None);
  EXPECT_EQ(check(spec, reg(Type::U8)), Misfit::Type);
  spec.type = Type::F32;
  spec.registers = isa::Registers::Any;
  EXPECT_EQ(check(spec, reg(Type::U32)), Misfit::None);
  EXPECT_EQ(check(spec, reg(Type::U64)), Misfit::Type);
  EXPECT_EQ(check(spec, reg(Type::Pred)), Misfit::Type);
}

TEST_F(OperandTest, AVectorIsTypedByItsNeighbours) {
  OperandSpec spec = place(Accept::Vector | Accept::Float, Type::Bf16x2);
  spec.vector = 2;
  const auto two = [&](Operand a, Operand b) { return composite(OperandKind::Vector, {a, b}); };
  const Operand bits = reg(Type::B32);
  const Operand predicate = reg(Type::Pred);
  EXPECT_EQ(check(spec, two(bits, predicate)), Misfit::None);
  EXPECT_EQ(check(spec, two(bits, Operand::integer(7))), Misfit::None);
  EXPECT_EQ(check(spec, two(predicate, predicate)), Misfit::Type);
  EXPECT_EQ(check(spec, two(reg(Type::F16x2), Operand::integer(7))), Misfit::Type);
  EXPECT_EQ(check(spec, two(bits, reg(Type::B64))), Misfit::Type);
}

TEST_F(OperandTest, ExpandedInstructionsTakeLess) {
  constexpr isa::TargetRule kHere[] = {{100, 0, 0}};
  constexpr isa::TargetRule kElsewhere[] = {{75, 0, 89}};
  OperandSpec spec = place(Accept::Vector, Type::B32);
  spec.role = isa::Role::Destination;
  spec.registers = isa::Registers::Any;
  spec.vector = 1;
  const auto one = [&](Operand a) { return composite(OperandKind::Vector, {a}); };
  const Operand special = Operand::special(isa::SpecialRegister::Tid, 1);
  EXPECT_EQ(check(spec, one(special)), Misfit::None);
  spec.ordinary = true;
  EXPECT_EQ(check(spec, one(special)), Misfit::Kind);
  spec.ordinary = false;
  spec.strict = true;
  spec.strict_needs = isa::Availability{.targets = kElsewhere};
  EXPECT_EQ(check(spec, one(special)), Misfit::None);
  spec.strict_needs->targets = kHere;
  EXPECT_EQ(check(spec, one(special)), Misfit::Kind);
  spec.also_somewhere = Type::Pred;
  spec.also_needs = isa::Availability{.targets = kElsewhere};
  EXPECT_EQ(check(spec, one(reg(Type::Pred))), Misfit::Type);
  spec.also_needs->targets = kHere;
  EXPECT_EQ(check(spec, one(reg(Type::Pred))), Misfit::None);
}

TEST_F(OperandTest, AVectorMayStandForOneRegister) {
  OperandSpec spec = place(Accept::Register | Accept::Vector, Type::B32);
  const auto of = [&](std::size_t n) {
    return composite(OperandKind::Vector, std::vector<Operand>(n, reg(Type::B32)));
  };
  EXPECT_EQ(check(spec, of(2)), Misfit::Elements);
  spec.uncounted = true;
  EXPECT_EQ(check(spec, of(2)), Misfit::None);
  EXPECT_EQ(check(spec, of(3)), Misfit::Elements);
  spec.strict = true;
  EXPECT_EQ(check(spec, of(2)), Misfit::Kind);
}

TEST_F(OperandTest, TheLastElementHasItsOwnRange) {
  OperandSpec spec = place(Accept::Vector | Accept::Integer, Type::B16);
  spec.vector = 2;
  spec.minimum = 0;
  spec.maximum = 3;
  spec.multiple = 2;
  spec.last = 1;
  const auto two = [&](std::int64_t a, std::int64_t b) {
    return composite(OperandKind::Vector, {Operand::integer(a), Operand::integer(b)});
  };
  EXPECT_EQ(check(spec, two(2, 1)), Misfit::None);
  EXPECT_EQ(check(spec, two(1, 1)), Misfit::Range);
  EXPECT_EQ(check(spec, two(2, 2)), Misfit::Range);
}

TEST_F(OperandTest, OneOfSeveralTypesIsEnough) {
  OperandSpec spec = place(Accept::Register | Accept::Integer | Accept::Float, Type::F32);
  spec.also[0] = Type::U64;
  EXPECT_EQ(check(spec, reg(Type::F32)), Misfit::None);
  EXPECT_EQ(check(spec, reg(Type::S64)), Misfit::None);
  EXPECT_EQ(check(spec, reg(Type::U32)), Misfit::Type);
  EXPECT_EQ(check(spec, Operand::integer(1)), Misfit::None);
  EXPECT_EQ(check(spec, Operand::f32(1.0F)), Misfit::None);
}

TEST_F(OperandTest, LiteralsMayBePowersOfTwo) {
  OperandSpec spec = place(Accept::Integer, Type::U32);
  spec.power_of_two = true;
  spec.minimum = 32;
  spec.maximum = 512;
  EXPECT_EQ(check(spec, Operand::integer(64)), Misfit::None);
  for (const std::int64_t bad : {16, 48, 1024, 0, -32}) {
    EXPECT_EQ(check(spec, Operand::integer(bad)), Misfit::Range) << bad;
  }
}

TEST_F(OperandTest, VideoSelectorsAreListed) {
  constexpr std::int64_t kB0 = 'b' + 256 * '0';
  constexpr std::int64_t kH1 = 'h' + 256 * '1';
  constexpr std::int64_t kListed[] = {kB0};
  OperandSpec spec = place(Accept::Register | Accept::Selector, Type::U32);
  spec.selectors = kListed;
  Operand selected = reg(Type::U32);
  EXPECT_EQ(check(spec, selected), Misfit::None);
  selected.component = ir::kVideoSelector;
  selected.value = kB0;
  EXPECT_EQ(check(spec, selected), Misfit::None);
  selected.value = kH1;
  EXPECT_EQ(check(spec, selected), Misfit::Kind);
  selected.value = kB0;
  selected.kind = OperandKind::NegatedRegister;
  EXPECT_EQ(check(spec, selected), Misfit::Kind);
  spec.accept = spec.accept | Accept::Negated;
  EXPECT_EQ(check(spec, selected), Misfit::None);
}

TEST_F(OperandTest, NarrowAddressesAreTakenWherePtxasWidensThem) {
  OperandSpec spec = place(Accept::Address);  // generic
  const auto base = [&](Type type) { return composite(OperandKind::Address, {reg(type)}); };
  EXPECT_EQ(check(spec, base(Type::U64)), Misfit::None);
  EXPECT_EQ(check(spec, base(Type::B16)), Misfit::None);
  EXPECT_EQ(check(spec, base(Type::B32)), Misfit::Type);
  spec.narrow = true;
  EXPECT_EQ(check(spec, base(Type::B32)), Misfit::None);
  EXPECT_EQ(check(spec, base(Type::F32)), Misfit::Type);
  const Scope traced{module_, *function_, nullptr, true};
  EXPECT_EQ(verify::check(traced, spec, base(Type::B32)), Misfit::Type);
  EXPECT_EQ(verify::check(traced, spec, base(Type::B16)), Misfit::Type);
  EXPECT_EQ(verify::check(traced, spec, base(Type::B64)), Misfit::None);
}

TEST_F(OperandTest, AnAddressRegisterHasOneOfTheSizesGiven) {
  OperandSpec spec = place(Accept::Address);
  const auto base = [&](Type type) { return composite(OperandKind::Address, {reg(type)}); };
  spec.widths = {{.bits = 8 + 32 + 64, .needs = std::nullopt}};
  EXPECT_EQ(check(spec, base(Type::B8)), Misfit::None);
  EXPECT_EQ(check(spec, base(Type::B16)), Misfit::Type);
  EXPECT_EQ(check(spec, base(Type::B32)), Misfit::None);
  spec.state_space = isa::Modifier::Shared;
  EXPECT_EQ(check(spec, base(Type::U16)), Misfit::Type);
  spec.widths.clear();
  EXPECT_EQ(check(spec, base(Type::U16)), Misfit::None);
}

TEST_F(OperandTest, WhatPtxasDoesNotLookAtIsTakenButNotTraced) {
  OperandSpec spec = place(Accept::Address);
  spec.unseen = true;
  const auto base = [&](Operand inner) { return composite(OperandKind::Address, {inner}); };
  EXPECT_EQ(check(spec, base(reg(Type::Pred))), Misfit::None);
  EXPECT_EQ(check(spec, base(reg(Type::F32))), Misfit::None);
  EXPECT_EQ(check(spec, base(Operand::integer(16))), Misfit::None);
  EXPECT_EQ(check(spec, base(reg(Type::B128))), Misfit::Type);
  const Scope traced{module_, *function_, nullptr, true};
  EXPECT_EQ(verify::check(traced, spec, base(reg(Type::F32))), Misfit::Type);
  EXPECT_EQ(verify::check(traced, spec, base(Operand::integer(16))), Misfit::Kind);
  EXPECT_EQ(verify::check(traced, spec, base(reg(Type::U64))), Misfit::None);
  OperandSpec map = place(Accept::Register, Type::U64);
  map.unseen = true;
  EXPECT_EQ(check(map, reg(Type::Pred)), Misfit::None);
  EXPECT_EQ(verify::check(traced, map, reg(Type::Pred)), Misfit::Type);
  map.widths = {{.bits = 64, .needs = std::nullopt}};  // there it looks
  EXPECT_EQ(check(map, reg(Type::U32)), Misfit::Type);
}

TEST_F(OperandTest, AnAddressMayLackItsBracketsWhereTheTableSaysSo) {
  OperandSpec spec = place(Accept::Address);
  EXPECT_EQ(check(spec, reg(Type::U64)), Misfit::Kind);
  spec.bare = true;
  EXPECT_EQ(check(spec, reg(Type::U64)), Misfit::None);
  EXPECT_EQ(check(spec, reg(Type::F16)), Misfit::None);
  EXPECT_EQ(check(spec, Operand::integer(7)), Misfit::Kind);
  spec.widths = {{.bits = 32 + 64, .needs = std::nullopt}};
  EXPECT_EQ(check(spec, reg(Type::U16)), Misfit::Type);
  const Scope traced{module_, *function_, nullptr, true};
  EXPECT_EQ(verify::check(traced, spec, reg(Type::U64)), Misfit::Kind);
}

TEST_F(OperandTest, WhatTheManualLacksIsTakenButNotTraced) {
  OperandSpec spec = place(Accept::Register | Accept::Vector, Type::U32);
  spec.odd = Accept::Vector;
  const Operand vector = composite(OperandKind::Vector, {reg(Type::U32)});
  const Scope traced{module_, *function_, nullptr, true};
  EXPECT_EQ(check(spec, vector), Misfit::None);
  EXPECT_EQ(verify::check(traced, spec, vector), Misfit::Kind);
  EXPECT_EQ(verify::check(traced, spec, reg(Type::U32)), Misfit::None);
}

TEST_F(OperandTest, AConvertedRegisterIsAWiderInteger) {
  OperandSpec spec = place(Accept::Register, Type::B16);
  spec.width = isa::Width::Converted;
  EXPECT_EQ(check(spec, reg(Type::F16)), Misfit::None);
  EXPECT_EQ(check(spec, reg(Type::U64)), Misfit::None);
  EXPECT_EQ(check(spec, reg(Type::F32)), Misfit::Type);
  EXPECT_EQ(check(spec, reg(Type::B128)), Misfit::Type);
  EXPECT_EQ(check(spec, reg(Type::B8)), Misfit::Type);
  spec.type = Type::F32;
  EXPECT_EQ(check(spec, reg(Type::B64)), Misfit::Type);
}

TEST_F(OperandTest, SomeAddressesHaveNoNameAndSomeNoRegister) {
  OperandSpec spec = place(Accept::Address);
  const Operand name = Operand::symbol(module_.symbols.intern("smem"));
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {name})), Misfit::None);
  spec.unnamed = true;
  EXPECT_EQ(check(spec, composite(OperandKind::Address, {name})), Misfit::Kind);
  spec.state_space = isa::Modifier::ParamFunc;
  const Operand base = composite(OperandKind::Address, {reg(Type::U64)});
  function_->is_entry = true;
  EXPECT_EQ(check(spec, base), Misfit::Space);
  function_->is_entry = false;
  EXPECT_EQ(check(spec, base), Misfit::None);
}

TEST_F(OperandTest, SomeLiteralsAreCutToThirtyTwoBits) {
  OperandSpec spec = place(Accept::Integer, Type::U32);
  spec.minimum = 0;
  spec.maximum = 15;
  EXPECT_EQ(check(spec, Operand::integer(0x100000003)), Misfit::Range);
  spec.cut = true;
  EXPECT_EQ(check(spec, Operand::integer(0x100000003)), Misfit::None);
  EXPECT_EQ(check(spec, Operand::integer(-1)), Misfit::Range);
  EXPECT_EQ(check(spec, Operand::integer(16)), Misfit::Range);
  spec.nonzero = true;
  EXPECT_EQ(check(spec, Operand::integer(0)), Misfit::Range);
  EXPECT_EQ(check(spec, Operand::integer(0x100000000)), Misfit::None);
}

TEST_F(OperandTest, UnifiedAddressesAreAskedFor) {
  OperandSpec spec = place(Accept::Address);
  Operand address = composite(OperandKind::Address, {reg(Type::B64)});
  address.component = ir::kUnified;
  EXPECT_EQ(check(spec, address), Misfit::Kind);
  spec.unified = true;
  spec.unified_needs = isa::Availability{{8, 0}, {}};
  Asked asked;
  EXPECT_EQ(verify::check({module_, *function_, &asked}, spec, address), Misfit::None);
  ASSERT_EQ(asked.all().size(), 1U);
  EXPECT_EQ(asked.all()[0]->version, (isa::Version{8, 0}));
}

TEST_F(OperandTest, WhatAnOptionalOperandNeedsCountsOnlyWhenItIsGiven) {
  OperandSpec extra = place(Accept::Register, Type::B64);
  extra.optional = true;
  extra.needs = isa::Availability{{9, 4}, {}};
  specs_ = {place(Accept::Register, Type::B32), extra};
  Asked asked;
  const std::vector<Operand> one{reg(Type::B32)};
  EXPECT_TRUE(verify::fit({module_, *function_, &asked}, specs_, one).ok());
  EXPECT_EQ(asked.size(), 0U);
  const std::vector<Operand> two{reg(Type::B32), reg(Type::B64)};
  EXPECT_TRUE(verify::fit({module_, *function_, &asked}, specs_, two).ok());
  EXPECT_EQ(asked.size(), 1U);
}

TEST_F(OperandTest, AVectorHasOneType) {
  OperandSpec spec = place(Accept::Register | Accept::Vector | Accept::Integer, Type::B32);
  spec.vector = 2;
  const auto pair = [&](Operand a, Operand b) { return composite(OperandKind::Vector, {a, b}); };
  EXPECT_EQ(check(spec, pair(reg(Type::B32), reg(Type::F32))), Misfit::None);
  EXPECT_EQ(check(spec, pair(reg(Type::U32), reg(Type::S32))), Misfit::None);
  EXPECT_EQ(check(spec, pair(reg(Type::S32), reg(Type::F32))), Misfit::Type);
  EXPECT_EQ(check(spec, pair(reg(Type::B32), Operand::integer(1))), Misfit::None);
  EXPECT_EQ(check(spec, pair(reg(Type::F32), Operand::integer(1))), Misfit::Kind);
  spec.width = isa::Width::AtLeast;
  EXPECT_EQ(check(spec, pair(reg(Type::B64), reg(Type::B64))), Misfit::None);
  EXPECT_EQ(check(spec, pair(reg(Type::B32), reg(Type::B64))), Misfit::Type);
}

TEST_F(OperandTest, NeighboursInAVectorAgree) {
  OperandSpec spec = place(Accept::Vector, Type::B32);
  spec.vector = 3;
  const auto three = [&](Type a, Type b, Type c) {
    return check(spec, composite(OperandKind::Vector, {reg(a), reg(b), reg(c)}));
  };
  EXPECT_EQ(three(Type::F32, Type::B32, Type::U32), Misfit::None);
  EXPECT_EQ(three(Type::B32, Type::U32, Type::F32), Misfit::Type);
  EXPECT_EQ(three(Type::B32, Type::F32, Type::F16x2), Misfit::Type);
}

TEST_F(OperandTest, AVectorMayLeaveElementsOutButNotAll) {
  OperandSpec spec = place(Accept::Vector, Type::B32);
  spec.vector = 2;
  const Operand some = composite(OperandKind::Vector, {reg(Type::B32), Operand::sink()});
  const Operand none = composite(OperandKind::Vector, {Operand::sink(), Operand::sink()});
  EXPECT_EQ(check(spec, some), Misfit::Kind);
  spec.role = isa::Role::Destination;
  EXPECT_EQ(check(spec, some), Misfit::None);
  EXPECT_EQ(check(spec, none), Misfit::Kind);
  spec.role = isa::Role::Source;
  spec.accept = Accept::Vector | Accept::Sink;
  EXPECT_EQ(check(spec, some), Misfit::None);
}

TEST_F(OperandTest, ALiteralVectorAsksOnceForWhatItsPlaceNeeds) {
  OperandSpec spec = place(Accept::Vector | Accept::Integer, Type::S32);
  spec.vector = 2;
  spec.needs = isa::Availability{{9, 4}, {}};
  const Operand pair = composite(OperandKind::Vector, {Operand::integer(1), Operand::integer(2)});
  Asked asked;
  EXPECT_EQ(verify::check({module_, *function_, &asked}, spec, pair), Misfit::None);
  ASSERT_LE(asked.size(), 1U);
  for (const isa::Availability* needs : asked.all()) EXPECT_EQ(needs, &*spec.needs);
}

TEST_F(OperandTest, OneElementIsAScalarWhereVectorsMayStand) {
  OperandSpec spec = place(Accept::Register | Accept::Vector, Type::B32);
  const Operand one = composite(OperandKind::Vector, {reg(Type::B32)});
  EXPECT_EQ(check(spec, one), Misfit::None);
  EXPECT_EQ(check(place(Accept::Register, Type::B32), one), Misfit::Kind);
}

TEST_F(OperandTest, ASamplerIsNamedInTheIndependentModeOnly) {
  OperandSpec sampler = place(Accept::Register, Type::U64);
  sampler.optional = true;
  sampler.texmode = isa::TextureMode::Independent;
  const OperandSpec layer = place(Accept::Register, Type::U32);
  const std::vector<Operand> named = {reg(Type::U64), reg(Type::U32)};
  const std::vector<Operand> unnamed = {reg(Type::U32)};
  EXPECT_TRUE(fit({sampler, layer}, unnamed).ok());
  EXPECT_FALSE(fit({sampler, layer}, named).ok());
  module_.target_options.push_back({module_.symbols.intern("texmode_independent")});
  EXPECT_FALSE(fit({sampler, layer}, unnamed).ok());
  EXPECT_TRUE(fit({sampler, layer}, named).ok());
  EXPECT_FALSE(fit({sampler, layer}, {reg(Type::U64)}).ok());  // a sampler, and no layer after it
  sampler.optional = false;
  sampler.texmode = isa::TextureMode::Unified;  // a row of the other mode
  EXPECT_FALSE(fit({sampler, layer}, named).ok());
  EXPECT_FALSE(fit({sampler, layer}, unnamed).ok());
}

TEST_F(OperandTest, BracesLetIntegersPassForFloatsWhereTheTableSaysSo) {
  OperandSpec spec = place(Accept::Register | Accept::Vector, Type::F32);
  spec.vector = 1;
  const Operand one = composite(OperandKind::Vector, {reg(Type::S32)});
  EXPECT_EQ(check(spec, one), Misfit::Type);
  spec.loose = true;
  EXPECT_EQ(check(spec, one), Misfit::None);
  EXPECT_EQ(check(spec, composite(OperandKind::Vector, {reg(Type::F16x2)})), Misfit::Type);
  EXPECT_EQ(check(spec, reg(Type::S32)), Misfit::Type);
  spec.type = Type::F16x2;  // a pair is no fundamental type
  EXPECT_EQ(check(spec, one), Misfit::Type);
}

TEST_F(OperandTest, ARegisterAloneMayHaveToBeTyped) {
  OperandSpec spec = place(Accept::Register | Accept::Vector, Type::S32);
  spec.vector = 4;
  spec.bare = true;
  EXPECT_EQ(check(spec, reg(Type::B32)), Misfit::None);
  spec.typed = true;
  EXPECT_EQ(check(spec, reg(Type::B32)), Misfit::Type);
  EXPECT_EQ(check(spec, reg(Type::U32)), Misfit::None);
}

TEST_F(OperandTest, LiteralsAloneHaveTheOperandsOwnType) {
  OperandSpec spec = place(Accept::Vector | Accept::Integer | Accept::Float, Type::F32);
  spec.also = {Type::S32};
  spec.vector = 2;
  const Operand whole = Operand::integer(1);
  const Operand real = Operand::f32(1.0F);
  EXPECT_EQ(check(spec, composite(OperandKind::Vector, {real, real})), Misfit::None);
  EXPECT_NE(check(spec, composite(OperandKind::Vector, {whole, whole})), Misfit::None);
  EXPECT_NE(check(spec, composite(OperandKind::Vector, {whole, real})), Misfit::None);
  spec.indexed = true;
  EXPECT_EQ(check(spec, composite(OperandKind::Vector, {whole, real})), Misfit::None);
  EXPECT_NE(check(spec, composite(OperandKind::Vector, {whole, whole})), Misfit::None);
}

TEST_F(OperandTest, BitsTakeFloatLiteralsOfTheirSize) {
  OperandSpec spec = place(Accept::Register | Accept::Float, Type::B32);
  EXPECT_EQ(check(spec, Operand::f32(1.0F)), Misfit::None);
  EXPECT_EQ(check(spec, Operand::f64(1.0)), Misfit::Type);
  spec.type = Type::B64;
  EXPECT_EQ(check(spec, Operand::f32(1.0F)), Misfit::Type);
  spec.type = Type::F32;
  EXPECT_EQ(check(spec, Operand::f64(1.0)), Misfit::None);
}

}  // namespace
}  // namespace pyptx::verify
