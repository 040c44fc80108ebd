// SPDX-License-Identifier: Apache-2.0
//
// See descriptor_fields.h. PTX ISA, "Matrix Descriptor Format", "Shared memory descriptor",
// "Instruction descriptor", "Zero-Column Mask Descriptor".
#include "pyptx/layout/descriptor_fields.h"

#include <span>

#include "pyptx/support/concat.h"

namespace pyptx::layout {
namespace {

using support::concat;

class Description {
 public:
  Description(std::uint64_t bits, unsigned size) : bits_(bits) { text_.size = size; }

  void add(unsigned at, unsigned size, std::string_view name, std::string meaning) {
    const std::uint64_t mask = (std::uint64_t{1} << size) - 1;
    text_.fields.push_back({at, size, name, bits_ >> at & mask, std::move(meaning)});
  }
  DescriptorText finish(std::uint64_t encoded, std::string problem) {
    text_.encoded = encoded;
    text_.problem = std::move(problem);
    return std::move(text_);
  }

 private:
  std::uint64_t bits_;
  DescriptorText text_;
};

std::string bytes(std::uint32_t count) { return concat(count, " bytes"); }

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string_view major_text(bool is_transposed) { return is_transposed ? "MN-major" : "K-major"; }

std::string swizzle_text(Swizzle swizzle) {
  return swizzle == Swizzle::None ? "none" : concat(swizzle_span(swizzle), " B");
}

std::string swizzle_text(Tcgen05Swizzle swizzle) {
  switch (swizzle) {
    case Tcgen05Swizzle::None:
      return "none";
    case Tcgen05Swizzle::B128Atom32:
      return "128 B in units of 32 B";
    case Tcgen05Swizzle::B128:
      return "128 B";
    case Tcgen05Swizzle::B64:
      return "64 B";
    case Tcgen05Swizzle::B32:
      return "32 B";
  }
  return "no mode";
}

std::string_view format_text(ElementFormat format) {
  constexpr std::string_view kNames[] = {"f16",  "bf16", "tf32", "e4m3", "e5m2", "e2m3",  "e3m2",
                                         "e2m1", "u8",   "s8",   "f32",  "s32",  "ue8m0", "ue4m3"};
  return kNames[static_cast<std::size_t>(format)];
}

std::string words(std::string_view text) { return std::string(text); }

void describe_scaled(Description& text, const InstructionDescriptor& i) {
  text.add(4, 2, "scale id of B", concat(int{i.scale_b_id}));
  text.add(23, 1, "scale type", words(format_text(i.scale)));
  text.add(27, 2, "M / 128", concat("M = ", i.m));
  text.add(29, 2, "scale id of A", concat(int{i.scale_a_id}));
  text.add(31, 1, "K = 96", yes_or_no(i.k96));
}

void describe_plain(Description& text, const InstructionDescriptor& i) {
  text.add(0, 2, "sparsity selector", concat(int{i.sparsity_selector}));
  text.add(3, 1, "saturate", yes_or_no(i.saturate));
  text.add(4, 2, "type of D", words(format_text(i.d)));
  text.add(24, 5, "M / 16", concat("M = ", i.m));
  text.add(30, 2, "largest shift of B", concat(int{i.max_shift}, " columns"));
}

}  // namespace

DescriptorText describe_wgmma(std::uint64_t bits) {
  const MatrixDescriptor d = MatrixDescriptor::decode(bits);
  Description text(bits, 64);
  text.add(0, 14, "start address / 16", concat("byte ", d.start));
  text.add(16, 14, "leading byte offset / 16", bytes(d.leading_bytes));
  text.add(32, 14, "stride byte offset / 16", bytes(d.stride_bytes));
  text.add(49, 3, "base offset", concat(int{d.base_offset}));
  text.add(62, 2, "layout type", concat("swizzle ", swizzle_text(swizzle_of(d.type))));
  return text.finish(d.encode(), {});
}

DescriptorText describe_tcgen05(std::uint64_t bits) {
  const Tcgen05MatrixDescriptor d = Tcgen05MatrixDescriptor::decode(bits);
  Description text(bits, 64);
  text.add(0, 14, "start address / 16", concat("byte ", d.start));
  text.add(16, 14, d.leading_is_address ? "leading address / 16" : "leading byte offset / 16",
           bytes(d.leading_bytes));
  text.add(32, 14, "stride byte offset / 16", bytes(d.stride_bytes));
  text.add(46, 3, "fixed: 0b001", (bits >> 46 & 7U) == 1 ? "as it must be" : "must be 0b001");
  text.add(49, 3, "base offset", concat(int{d.base_offset}));
  text.add(52, 1, "leading dimension", d.leading_is_address ? "an address" : "an offset");
  text.add(61, 3, "swizzle mode", concat("swizzle ", swizzle_text(d.swizzle)));
  return text.finish(d.encode(), d.problem().value_or(std::string()));
}

DescriptorText describe_instruction(MmaKind kind, std::uint32_t bits, int cta_group, bool is_ws) {
  const InstructionDescriptor i = InstructionDescriptor::decode(kind, bits);
  Description text(bits, 32);
  text.add(2, 1, "sparse", yes_or_no(i.sparse));
  text.add(7, 3, "type of A", words(format_text(i.a)));
  text.add(10, 3, "type of B", words(format_text(i.b)));
  text.add(13, 1, "negate A", yes_or_no(i.negate_a));
  text.add(14, 1, "negate B", yes_or_no(i.negate_b));
  text.add(15, 1, "transpose A", words(major_text(i.transpose_a)));
  text.add(16, 1, "transpose B", words(major_text(i.transpose_b)));
  text.add(17, 6, "N / 8", concat("N = ", i.n));
  is_block_scaled(kind) ? describe_scaled(text, i) : describe_plain(text, i);
  std::string problem = InstructionDescriptor::meaningless_field(kind, bits);
  if (problem.empty()) problem = i.problem(cta_group, is_ws).value_or(std::string());
  return text.finish(i.encode(), std::move(problem));
}

DescriptorText describe_zero_columns(std::uint64_t bits) {
  constexpr std::string_view kStarts[] = {"start count 0", "start count 1", "start count 2",
                                          "start count 3"};
  constexpr std::string_view kFirst[] = {"first span 0", "first span 1", "first span 2",
                                         "first span 3"};
  const ZeroColumnMask mask = ZeroColumnMask::decode(bits);
  Description text(bits, 64);
  for (unsigned i = 0; i < 4; ++i) {
    text.add(8 * i, 8, kStarts[i], concat(int{mask.start_count[i]}, " columns"));
  }
  for (unsigned i = 0; i < 4; ++i) {
    text.add(32 + i, 1, kFirst[i], mask.first_span[i] ? "zero columns" : "columns that are used");
  }
  text.add(39, 1, "non-zero mask", mask.is_used ? "some columns are zero" : "no column is zero");
  text.add(40, 8, "skip span - 1", concat(mask.skip_columns, " columns are used in a row"));
  text.add(48, 8, "non-zero span - 1", concat(mask.zero_columns, " columns are zero in a row"));
  text.add(56, 6, "column shift", concat(int{mask.column_shift}, " columns"));
  return text.finish(mask.encode(), mask.problem().value_or(std::string()));
}

}  // namespace pyptx::layout
