// SPDX-License-Identifier: Apache-2.0
//
// Warpgroup matrix multiplication (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Instructions"): descriptors and wgmma.mma_async. The layouts themselves are
// pyptx::layout's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "pyptx/build/argument.h"
#include "pyptx/build/shared.h"
#include "pyptx/build/tracer.h"
#include "pyptx/layout/canonical.h"

namespace pyptx::build::wgmma {

/// The fields of a matrix descriptor besides its address.
struct DescriptorFields {
  std::int64_t leading_bytes = 0;
  std::int64_t stride_bytes = 0;
  layout::LayoutType type = layout::LayoutType::Interleave;
  std::int64_t base_offset = 0;
};

/// A 64-bit register with the descriptor of the matrix at `place`.
Reg make_descriptor(Tracer& tracer, const SharedPlace& place, const DescriptorFields& fields);

/// The descriptor of a tile of `type` with `shape` as stored ((mn, k) for K-major, (k, mn) for
/// MN-major), from column `k` on. A swizzle that is given is kept, else the widest fitting one.
Reg auto_descriptor(Tracer& tracer, const SharedPlace& place, isa::Type type,
                    std::span<const std::uint64_t> shape, layout::Major major,
                    std::optional<layout::Swizzle> swizzle = {}, std::uint32_t k = 0,
                    TileParameters parameters = {});

/// What masked_descriptor() keeps of an address and adds, unless it is told otherwise.
constexpr std::int64_t kAddressMask = 0x3FF80;                     // 128-byte aligned, 18 bits
constexpr std::uint64_t kDescriptor128B = 0x4000'0040'0001'0000U;  // 128B swizzle, SBO 1024
/// ((address & mask) + byte_offset) >> 4 | const_bits
Reg masked_descriptor(Tracer& tracer, const SharedPlace& place, std::int64_t byte_offset = 0,
                      std::int64_t mask = kAddressMask, std::uint64_t const_bits = kDescriptor128B);

/// An A or B operand: a descriptor, a tile in shared memory (of bytes where the type is b1), or (A
/// only) a register fragment.
using Source = std::variant<Reg, SharedView, std::vector<Reg>>;

/// A is stored 2:4 sparse (K counts what it stands for); `selector` picks the threads whose
/// metadata counts.
struct Sparsity {
  Reg metadata;
  std::int64_t selector = 0;
};

/// What a product takes.
struct MmaArguments {
  std::array<std::int64_t, 3> shape{};  // m, n, k
  isa::Type type_d{};
  isa::Type type_a{};
  isa::Type type_b{};
  std::vector<Reg> d{};
  Source a{};
  Source b{};
  std::variant<bool, Reg> scale_d = false;  // false: D = A*B, true: D += A*B, or a predicate
  int scale_a = 1;                          // 1 or -1
  int scale_b = 1;
  int trans_a = 0;  // 1: MN-major; 16-bit types only
  int trans_b = 0;
  std::int64_t k_offset_a = 0;  // first column of the tile that is multiplied, in elements
  std::int64_t k_offset_b = 0;
  bool saturate = false;  // integer D
  std::optional<Sparsity> sparsity{};
};
/// D = A * B (+ D)
void mma_async(Tracer& tracer, const MmaArguments& arguments);

/// Before the first wgmma, and after registers of one were written.
void fence(Tracer& tracer);
/// Closes the group of the wgmmas issued so far.
void commit_group(Tracer& tracer);
/// Waits until at most `pending` groups are unfinished.
void wait_group(Tracer& tracer, std::int64_t pending);

/// Registers of an accumulator of m x n elements: 32-bit ones, or 16-bit ones in pairs.
std::size_t fragment_size(std::int64_t m, std::int64_t n, isa::Type type);

}  // namespace pyptx::build::wgmma
