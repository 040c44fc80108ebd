// SPDX-License-Identifier: Apache-2.0
//
// The places of fields against those who encode: each bit of a number is in one field or means
// nothing, and a field alone changes nothing but itself.
#include "pyptx/layout/descriptor_fields.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace pyptx::layout {
namespace {

using Describe = std::function<DescriptorText(std::uint64_t)>;

/// Every bit of every field comes back from the encoder, and no other bit does.
void expect_fields(const Describe& describe, std::uint64_t always, const std::string& what) {
  const DescriptorText zero = describe(0);
  std::uint64_t covered = 0;
  for (const DescriptorField& field : zero.fields) {
    const std::uint64_t mask = ((std::uint64_t{1} << field.size) - 1) << field.at;
    EXPECT_EQ(covered & mask, 0U) << what << ": " << field.name << " overlaps";
    covered |= mask;
  }
  for (unsigned bit = 0; bit < zero.size; ++bit) {
    const std::uint64_t alone = std::uint64_t{1} << bit;
    const bool is_in_field = (covered & alone) != 0;
    const std::uint64_t encoded = describe(alone).encoded & ~always;
    if (!is_in_field) {
      EXPECT_EQ(encoded & alone, 0U) << what << ": bit " << bit << " is in no field";
    }
  }
}

TEST(DescriptorFields, cover_what_is_encoded) {
  expect_fields([](std::uint64_t bits) { return describe_wgmma(bits); }, 0, "wgmma");
  expect_fields([](std::uint64_t bits) { return describe_tcgen05(bits); }, std::uint64_t{1} << 46,
                "tcgen05");
  expect_fields([](std::uint64_t bits) { return describe_zero_columns(bits); }, 0, "zero columns");
  for (const MmaKind kind : {MmaKind::F16, MmaKind::Tf32, MmaKind::F8f6f4, MmaKind::I8,
                             MmaKind::Mxf8f6f4, MmaKind::Mxf4, MmaKind::Mxf4nvf4}) {
    const std::uint64_t always =
        describe_instruction(kind, 0, 1, false).encoded;  // types that have no 0
    expect_fields(
        [kind](std::uint64_t bits) {
          return describe_instruction(kind, static_cast<std::uint32_t>(bits), 1, false);
        },
        always, "instruction");
  }
}

const DescriptorField& find(const DescriptorText& text, std::string_view name) {
  for (const DescriptorField& field : text.fields) {
    if (field.name == name) return field;
  }
  ADD_FAILURE() << "no field " << name;
  return text.fields.front();
}

TEST(DescriptorFields, say_what_a_wgmma_descriptor_means) {
  const MatrixDescriptor descriptor{0x4000, 16, 1024, 3, LayoutType::B128};
  const DescriptorText text = describe_wgmma(descriptor.encode());
  EXPECT_EQ(find(text, "start address / 16").meaning, "byte 16384");
  EXPECT_EQ(find(text, "stride byte offset / 16").bits, 64U);
  EXPECT_EQ(find(text, "base offset").meaning, "3");
  EXPECT_EQ(find(text, "layout type").meaning, "swizzle 128 B");
  EXPECT_EQ(text.encoded, descriptor.encode());
  EXPECT_NE(describe_wgmma(descriptor.encode() | 1U << 15).encoded, descriptor.encode() | 1U << 15);
}

TEST(DescriptorFields, say_what_an_instruction_descriptor_means) {
  InstructionDescriptor i;
  i.n = 64;
  i.a = i.b = ElementFormat::F16;
  i.transpose_b = true;
  const DescriptorText text = describe_instruction(MmaKind::F16, i.encode(), 1, false);
  EXPECT_EQ(text.problem, "");
  EXPECT_EQ(find(text, "M / 16").meaning, "M = 128");
  EXPECT_EQ(find(text, "N / 8").meaning, "N = 64");
  EXPECT_EQ(find(text, "type of A").meaning, "f16");
  EXPECT_EQ(find(text, "transpose B").meaning, "MN-major");
  EXPECT_NE(describe_instruction(MmaKind::F16, i.encode() | 1U << 29, 1, false).problem, "");
}

TEST(DescriptorFields, a_zero_column_mask_comes_back) {
  const ZeroColumnMask mask{{1, 2, 3, 4}, {true, false, true, false}, true, 7, 256, 32};
  const ZeroColumnMask back = ZeroColumnMask::decode(mask.encode());
  EXPECT_EQ(back.encode(), mask.encode());
  EXPECT_EQ(back.zero_columns, 256U);
  EXPECT_EQ(back.column_shift, 32U);
  EXPECT_EQ(find(describe_zero_columns(mask.encode()), "skip span - 1").bits, 6U);
}

}  // namespace
}  // namespace pyptx::layout
