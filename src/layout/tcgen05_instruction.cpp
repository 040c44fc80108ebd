// SPDX-License-Identifier: Apache-2.0
//
// The instruction descriptor of tcgen05.mma: three bit layouts, chosen by the kind, and the shapes
// and types that each kind has. PTX ISA, "Instruction descriptor" and "Matrix Shape".
#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <string_view>

#include "pyptx/layout/tcgen05_descriptor.h"
#include "pyptx/support/concat.h"

namespace pyptx::layout {
namespace {

using Problem = std::optional<std::string>;
using support::concat;

struct Code {
  ElementFormat format;
  std::uint32_t bits;
};

constexpr Code kHalf[] = {{ElementFormat::F16, 0}, {ElementFormat::Bf16, 1}};
constexpr Code kTf32[] = {{ElementFormat::Tf32, 2}};
constexpr Code kNarrow[] = {{ElementFormat::E4m3, 0},
                            {ElementFormat::E5m2, 1},
                            {ElementFormat::E2m3, 3},
                            {ElementFormat::E3m2, 4},
                            {ElementFormat::E2m1, 5}};
constexpr Code kBytes[] = {{ElementFormat::U8, 0}, {ElementFormat::S8, 1}};
constexpr Code kFourBits[] = {{ElementFormat::E2m1, 1}};
constexpr Code kResults[] = {
    {ElementFormat::F16, 0}, {ElementFormat::F32, 1}, {ElementFormat::S32, 2}};
constexpr Code kScales[] = {{ElementFormat::Ue4m3, 0}, {ElementFormat::Ue8m0, 1}};

std::span<const Code> operand_codes(MmaKind kind) {
  switch (kind) {
    case MmaKind::F16:
      return kHalf;
    case MmaKind::Tf32:
      return kTf32;
    case MmaKind::F8f6f4:
    case MmaKind::Mxf8f6f4:
      return kNarrow;
    case MmaKind::I8:
      return kBytes;
    case MmaKind::Mxf4:
    case MmaKind::Mxf4nvf4:
      return kFourBits;
  }
  return {};
}

std::uint32_t code_of(std::span<const Code> codes, ElementFormat format) {
  const auto found = std::ranges::find(codes, format, &Code::format);
  return found == codes.end() ? 0 : found->bits;
}
bool has(std::span<const Code> codes, ElementFormat format) {
  return std::ranges::find(codes, format, &Code::format) != codes.end();
}
ElementFormat format_of(std::span<const Code> codes, std::uint32_t bits) {
  const auto found = std::ranges::find(codes, bits, &Code::bits);
  return found == codes.end() ? codes.front().format : found->format;
}

struct Field {
  unsigned at;
  unsigned size;
  std::string_view name;
};
constexpr Field kPlainFields[] = {{0, 2, "the sparsity selector"},
                                  {3, 1, "saturation"},
                                  {4, 2, "the type of D"},
                                  {7, 3, "the type of A"},
                                  {10, 3, "the type of B"},
                                  {17, 6, "N"},
                                  {24, 5, "M"},
                                  {30, 2, "the largest shift"}};
constexpr Field kScaledFields[] = {{4, 2, "the scale id of B"},       {7, 3, "the type of A"},
                                   {10, 3, "the type of B"},          {17, 6, "N"},
                                   {23, 1, "the type of the scales"}, {27, 2, "M"},
                                   {29, 2, "the scale id of A"}};

bool is_four_bit(MmaKind kind) { return kind == MmaKind::Mxf4 || kind == MmaKind::Mxf4nvf4; }

Problem type_problem(const InstructionDescriptor& i) {
  const auto codes = operand_codes(i.kind);
  if (!has(codes, i.a) || !has(codes, i.b)) return "the kind has no such type of A or B";
  if (i.kind == MmaKind::F16 && i.d == ElementFormat::F16 &&
      (i.a == ElementFormat::Bf16 || i.b == ElementFormat::Bf16)) {
    return "an f16 D takes f16 A and B, not bf16";
  }
  const bool takes_half = i.kind == MmaKind::F16 || i.kind == MmaKind::F8f6f4;
  const ElementFormat wanted = i.kind == MmaKind::I8 ? ElementFormat::S32 : ElementFormat::F32;
  if (i.d != wanted && !(takes_half && i.d == ElementFormat::F16)) {
    return "the kind has no such type of D";
  }
  if (!is_block_scaled(i.kind)) return std::nullopt;
  const bool takes_ue4m3 = i.kind == MmaKind::Mxf4nvf4;
  if (i.scale != ElementFormat::Ue8m0 && !(takes_ue4m3 && i.scale == ElementFormat::Ue4m3)) {
    return "the kind has no such type of scales";
  }
  return std::nullopt;
}

Problem field_problem(const InstructionDescriptor& i) {
  const bool is_scaled = is_block_scaled(i.kind);
  if ((i.negate_a || i.negate_b) && i.kind == MmaKind::I8) return "integers cannot be negated";
  if (i.saturate && i.kind != MmaKind::I8) return "only integers saturate";
  if ((i.transpose_a || i.transpose_b) && is_four_bit(i.kind)) {
    return "4-bit operands are K-major, they cannot be transposed";
  }
  if (i.sparsity_selector > 3) return "the sparsity selector is 0 to 3";
  if (i.sparsity_selector != 0 && (!i.sparse || is_scaled)) {
    return "a sparsity selector goes with a sparse product without scales";
  }
  if (i.max_shift != 0 && is_scaled) return "a product with scales has no shift";
  if (i.max_shift != 0 && i.max_shift != 8 && i.max_shift != 16 && i.max_shift != 32) {
    return concat("the largest shift is 0, 8, 16 or 32, not ", int{i.max_shift});
  }
  if (i.k96 && (!is_four_bit(i.kind) || i.sparse)) {
    return "K = 96 goes with dense 4-bit operands";
  }
  const auto is_id = [&](std::uint8_t id) {
    if (!is_scaled) return id == 0;
    return is_four_bit(i.kind) && !i.k96 ? id == 0 || id == 2 : id <= 3;
  };
  if (!is_id(i.scale_a_id) || !is_id(i.scale_b_id)) {
    if (!is_scaled) return "a product without scales has no scale ids";
    return is_four_bit(i.kind) ? "the scale ids of 4-bit operands are 0 or 2"
                               : "a scale id is 0 to 3";
  }
  return std::nullopt;
}

Problem m_problem(const InstructionDescriptor& i, int cta_group, bool is_ws) {
  const bool is_scaled = is_block_scaled(i.kind);
  if (cta_group == 2) {
    // Sparse block-scaled pairs have no M of 128.
    if (i.m == 256 || (i.m == 128 && !(is_scaled && i.sparse))) return std::nullopt;
    return concat("M of a pair of CTAs is ", is_scaled && i.sparse ? "256" : "128 or 256", ", not ",
                  i.m);
  }
  if (i.m == 128 || (i.m == 64 && !is_scaled) || (i.m == 32 && is_ws)) return std::nullopt;
  if (is_ws) return concat("M of a .ws product is 32, 64 or 128, not ", i.m);
  return concat("M is ", is_scaled ? "128" : "64 or 128", ", not ", i.m);
}

Problem n_problem(const InstructionDescriptor& i, int cta_group, bool is_ws) {
  if (is_ws) {
    if (i.n == 64 || i.n == 128 || (i.n == 256 && !i.sparse)) return std::nullopt;
    return concat("N of a .ws product is 64, 128", i.sparse ? "" : " or 256", ", not ", i.n);
  }
  const bool is_byte_transposed =
      i.transpose_b &&
      (i.kind == MmaKind::I8 || i.kind == MmaKind::F8f6f4 || i.kind == MmaKind::Mxf8f6f4);
  std::uint32_t step = cta_group == 2 ? 16 : 8;
  if (is_byte_transposed || (i.kind == MmaKind::I8 && (cta_group == 2 || i.n > 32))) step *= 2;
  const bool is_small_byte = i.kind == MmaKind::I8 && cta_group == 1 && i.n <= 32;
  if (i.n < step || i.n > 256 || i.n % step != 0) {
    return concat("N is a multiple of ", step, " up to ", is_small_byte ? "32, then of 16 to " : "",
                  "256, not ", i.n);
  }
  return std::nullopt;
}

}  // namespace

std::uint32_t InstructionDescriptor::encode() const {
  const auto bit = [](bool value, unsigned at) { return (value ? 1U : 0U) << at; };
  const auto codes = operand_codes(kind);
  std::uint32_t bits = bit(sparse, 2) | code_of(codes, a) << 7 | code_of(codes, b) << 10 |
                       bit(negate_a, 13) | bit(negate_b, 14) | bit(transpose_a, 15) |
                       bit(transpose_b, 16) | (n >> 3 & 0x3FU) << 17;
  if (is_block_scaled(kind)) {
    return bits | (scale_b_id & 3U) << 4 | code_of(kScales, scale) << 23 | (m >> 7 & 3U) << 27 |
           (scale_a_id & 3U) << 29 | bit(k96, 31);
  }
  std::uint32_t shift = 0;
  while (shift < 3 && (4U << shift) < max_shift) ++shift;  // 0, 8, 16, 32 -> 0..3
  return bits | (sparsity_selector & 3U) | bit(saturate, 3) | code_of(kResults, d) << 4 |
         (m >> 4 & 0x1FU) << 24 | shift << 30;
}

InstructionDescriptor InstructionDescriptor::decode(MmaKind kind, std::uint32_t bits) {
  const auto field = [bits](unsigned at, unsigned size) { return bits >> at & ((1U << size) - 1); };
  const auto codes = operand_codes(kind);
  InstructionDescriptor i;
  i.kind = kind;
  i.sparse = field(2, 1) != 0;
  i.a = format_of(codes, field(7, 3));
  i.b = format_of(codes, field(10, is_four_bit(kind) ? 2 : 3));
  i.negate_a = field(13, 1) != 0;
  i.negate_b = field(14, 1) != 0;
  i.transpose_a = field(15, 1) != 0;
  i.transpose_b = field(16, 1) != 0;
  i.n = field(17, 6) << 3;
  if (is_block_scaled(kind)) {
    i.scale_b_id = static_cast<std::uint8_t>(field(4, 2));
    i.scale = format_of(kScales, field(23, 1));
    i.m = field(27, 2) << 7;
    i.scale_a_id = static_cast<std::uint8_t>(field(29, 2));
    i.k96 = field(31, 1) != 0;
    return i;
  }
  i.sparsity_selector = static_cast<std::uint8_t>(field(0, 2));
  i.saturate = field(3, 1) != 0;
  i.d = format_of(kResults, field(4, 2));
  i.m = field(24, 5) << 4;
  const std::uint32_t shift = field(30, 2);
  i.max_shift = static_cast<std::uint8_t>(shift == 0 ? 0 : 4U << shift);
  return i;
}

std::string InstructionDescriptor::meaningless_field(MmaKind kind, std::uint32_t bits) {
  const std::uint32_t lost = decode(kind, bits).encode() ^ bits;
  if (lost == 0) return {};
  const auto fields = is_block_scaled(kind) ? std::span<const Field>(kScaledFields)
                                            : std::span<const Field>(kPlainFields);
  for (const Field& field : fields) {
    const std::uint32_t mask = (1U << field.size) - 1;
    if ((lost >> field.at & mask) == 0) continue;
    return concat(field.name, " (bits ", field.at, " to ", field.at + field.size - 1, ") is ",
                  bits >> field.at & mask);
  }
  return concat("a reserved bit (", std::countr_zero(lost), ") is 1");
}

std::optional<std::string> InstructionDescriptor::problem(int cta_group, bool is_ws,
                                                          const char** field) const {
  if (is_ws && (cta_group != 1 || is_block_scaled(kind))) {
    return "a .ws product has one CTA and no block scales";
  }
  if (Problem found = type_problem(*this)) return found;
  if (Problem found = field_problem(*this)) return found;
  const char* ignored = nullptr;
  const char*& guilty = field != nullptr ? *field : ignored;
  guilty = "m";
  if (Problem found = m_problem(*this, cta_group, is_ws)) return found;
  if (k96 && m != 256 && cta_group == 2) return "K = 96 of a pair of CTAs has an M of 256";
  guilty = "n";
  return n_problem(*this, cta_group, is_ws);
}

std::uint32_t tcgen05_k(MmaKind kind, bool is_sparse) {
  const std::uint32_t factor = is_sparse ? 2 : 1;
  switch (kind) {
    case MmaKind::F16:
      return 16 * factor;
    case MmaKind::Tf32:
      return 8 * factor;
    case MmaKind::F8f6f4:
    case MmaKind::I8:
    case MmaKind::Mxf8f6f4:
      return 32 * factor;
    case MmaKind::Mxf4:
    case MmaKind::Mxf4nvf4:
      return 64 * factor;
  }
  return 0;
}

}  // namespace pyptx::layout
