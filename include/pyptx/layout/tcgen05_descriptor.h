// SPDX-License-Identifier: Apache-2.0
//
// The descriptors of tcgen05 (PTX ISA, "Matrix Descriptors" of the 5th generation TensorCore): of a
// matrix in shared memory, of the instruction, and of zero columns. Each is fields, their bits, and
// why a set of fields is not legal. The builder writes them; who reads them decodes them here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "pyptx/layout/matrix_descriptor.h"
#include "pyptx/layout/swizzle.h"

namespace pyptx::layout {

/// Bits 61 to 63 of a shared memory descriptor.
enum class Tcgen05Swizzle : std::uint8_t {
  None = 0,
  B128Atom32 = 1,  // 128 bytes in units of 32
  B128 = 2,
  B64 = 4,
  B32 = 6,
};
constexpr Tcgen05Swizzle tcgen05_swizzle(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::B32:
      return Tcgen05Swizzle::B32;
    case Swizzle::B64:
      return Tcgen05Swizzle::B64;
    case Swizzle::B128:
      return Tcgen05Swizzle::B128;
    case Swizzle::None:
      break;
  }
  return Tcgen05Swizzle::None;
}

/// Bytes of one row of the pattern, and where the byte at unswizzled address `address` lies.
std::uint32_t swizzle_span(Tcgen05Swizzle swizzle);
std::uint32_t apply_swizzle(Tcgen05Swizzle swizzle, std::uint32_t address);

/// A matrix in shared memory. Offsets and addresses are bytes, multiples of 16 below 2^18.
struct Tcgen05MatrixDescriptor {
  std::uint32_t start = 0;
  std::uint32_t leading_bytes = 0;  // an address where leading_is_address is set (sm_103a, K = 96)
  std::uint32_t stride_bytes = 0;
  std::uint8_t base_offset = 0;  // 0..7
  bool leading_is_address = false;
  Tcgen05Swizzle swizzle = Tcgen05Swizzle::None;

  std::uint64_t encode() const;
  static Tcgen05MatrixDescriptor decode(std::uint64_t bits);
  /// Why the manual forbids it, or nothing.
  std::optional<std::string> problem() const;
  /// Shared address of element (mn, k), as MatrixDescriptor's; the leading offset is relative.
  std::uint32_t address(Major major, std::uint32_t element_bytes, std::uint32_t mn,
                        std::uint32_t k) const;
  bool operator==(const Tcgen05MatrixDescriptor&) const = default;
};

/// .kind:: of tcgen05.mma.
enum class MmaKind : std::uint8_t { F16, Tf32, F8f6f4, I8, Mxf8f6f4, Mxf4, Mxf4nvf4 };
constexpr bool is_block_scaled(MmaKind kind) { return kind >= MmaKind::Mxf8f6f4; }

/// Types of the elements of A and B, of D, and of scales.
enum class ElementFormat : std::uint8_t {
  F16,
  Bf16,
  Tf32,
  E4m3,
  E5m2,
  E2m3,
  E3m2,
  E2m1,
  U8,
  S8,
  F32,
  S32,
  Ue8m0,
  Ue4m3,
};

/// The 32-bit instruction descriptor. Fields that a kind does not have keep their defaults.
struct InstructionDescriptor {
  MmaKind kind = MmaKind::F16;
  std::uint32_t m = 128;
  std::uint32_t n = 256;
  ElementFormat d = ElementFormat::F32;
  ElementFormat a = ElementFormat::Bf16;
  ElementFormat b = ElementFormat::Bf16;
  bool negate_a = false;
  bool negate_b = false;
  bool transpose_a = false;  // MN-major
  bool transpose_b = false;
  bool sparse = false;
  std::uint8_t sparsity_selector = 0;  // 0..3
  bool saturate = false;               // .kind::i8
  std::uint8_t max_shift = 0;          // .ws: B is reused up to 0, 8, 16 or 32 columns further on
  // Block scales.
  ElementFormat scale = ElementFormat::Ue8m0;
  std::uint8_t scale_a_id = 0;  // 0..3; 0 or 2 for the 4-bit kinds
  std::uint8_t scale_b_id = 0;
  bool k96 = false;  // sm_103a, the 4-bit kinds

  std::uint32_t encode() const;
  static InstructionDescriptor decode(MmaKind kind, std::uint32_t bits);
  /// The first field of `bits` that means nothing to `kind`, in words; empty where all do.
  static std::string meaningless_field(MmaKind kind, std::uint32_t bits);
  /// Why no instruction of `cta_group` CTAs (1 or 2), with `.ws` or without, is so; or nothing.
  /// `field` becomes "m" or "n" where the shape is at fault.
  std::optional<std::string> problem(int cta_group, bool is_ws, const char** field = nullptr) const;
  bool operator==(const InstructionDescriptor&) const = default;
};

/// The element of K that one tcgen05.mma takes: 16 for .kind::f16, ...; twice that when sparse.
std::uint32_t tcgen05_k(MmaKind kind, bool is_sparse);

/// The 64-bit zero-column mask of .ws: which columns of B count as zero.
struct ZeroColumnMask {
  std::array<std::uint8_t, 4> start_count{};
  std::array<bool, 4> first_span{};  // whether the sub-mask begins with zero columns
  bool is_used = true;               // false: no column is zero
  std::uint32_t skip_columns = 1;    // columns of B that are used in a row, 1..256
  std::uint32_t zero_columns = 1;    // columns in a row that are zero, 1..256
  std::uint8_t column_shift = 0;     // 0..32

  std::uint64_t encode() const;
  static ZeroColumnMask decode(std::uint64_t bits);
  std::optional<std::string> problem() const;
};

/// How tcgen05.mma spreads D over tensor memory (PTX ISA, "Data Path Layout Organization").
struct AccumulatorLayout {
  std::uint32_t m = 128;
  std::uint32_t n = 256;
  int cta_group = 1;
  bool is_ws = false;
  bool is_sparse = false;
};
/// A lane and a column of tensor memory.
struct TmemPlace {
  std::uint32_t cta = 0;  // of the pair
  std::uint32_t lane = 0;
  std::uint32_t column = 0;  // 32-bit columns from the accumulator's first
  bool operator==(const TmemPlace&) const = default;
};
/// Where element (row, column) of D lies. The layouts that use half of the lanes begin at lane 0.
TmemPlace accumulator_place(const AccumulatorLayout& layout, std::uint32_t row,
                            std::uint32_t column);
/// How many copies of a row of A in tensor memory such a product reads, and how far apart: each run
/// of lanes that has its own part of the columns has its own A.
struct OperandCopies {
  std::uint32_t count = 1;
  std::uint32_t lanes = 0;
};
OperandCopies operand_copies(const AccumulatorLayout& layout);
/// Where the scale factors of row `index` of A or column `index` of B lie (PTX ISA, "Scale Factor A
/// ID" and "Scale Factor B ID"): in 32 lanes, once for each group of 32 that multiplies with them.
struct ScalePlace {
  std::uint32_t first_lane = 0;  // of the first group
  std::uint32_t groups = 4;
  std::uint32_t lane = 0;  // inside a group
  std::uint32_t column = 0;
};
ScalePlace scale_a_place(const AccumulatorLayout& layout, std::uint32_t row);
ScalePlace scale_b_place(const AccumulatorLayout& layout, std::uint32_t column);

/// How tcgen05.cp spreads the rows of shared memory over lanes.
enum class TmemCopy : std::uint8_t {
  S128x256b,
  S4x256b,
  S128x128b,
  S64x128b02,
  S64x128b01,
  S32x128b
};
/// What a copy brings.
struct CopyShape {
  std::uint32_t rows = 0;
  std::uint32_t bytes = 0;  // of a row
  std::uint32_t copies = 1;
};
CopyShape copy_shape(TmemCopy copy);
/// The lane, from the address on, of the copy `which` of row `row`.
std::uint32_t copy_lane(TmemCopy copy, std::uint32_t row, std::uint32_t which);

}  // namespace pyptx::layout
