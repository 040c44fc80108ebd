// SPDX-License-Identifier: Apache-2.0
//
// The fifth-generation TensorCore: tensor memory, tcgen05.mma and what moves data for it (PTX ISA,
// "TensorCore 5th Generation Family Instructions"). The table judges kinds, modifiers and register
// counts; the bits of descriptors are pyptx::layout's. Waiting in the right order is the author's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pyptx/build/argument.h"
#include "pyptx/build/shared.h"
#include "pyptx/build/tracer.h"
#include "pyptx/layout/canonical.h"
#include "pyptx/layout/tcgen05_descriptor.h"

namespace pyptx::build::tcgen05 {

/// An address in tensor memory: a 32-bit register (lane in the upper half, column in the lower)
/// plus a constant.
struct TmemPlace {
  Reg base;
  std::int64_t offset = 0;

  TmemPlace() = default;
  TmemPlace(Reg address, std::int64_t bytes = 0)  // NOLINT(*-explicit-*)
      : base(address), offset(bytes) {}
};

/// Allocates `columns` (32 to 512, a power of two; exclusive: a multiple of 32) and writes their
/// address to shared memory at `address`.
void alloc(Tracer& tracer, const SharedPlace& address, const Index& columns, int cta_group = 1,
           bool exclusive = false);
/// Frees columns of tensor memory.
void dealloc(Tracer& tracer, Reg address, const Index& columns, int cta_group = 1,
             bool exclusive = false);
/// This CTA will allocate no more.
void relinquish_alloc_permit(Tracer& tracer, int cta_group = 1);

/// A 64-bit register with the descriptor of the matrix at `place`; the fields' start is ignored.
Reg descriptor(Tracer& tracer, const SharedPlace& place,
               const layout::Tcgen05MatrixDescriptor& fields);
/// The descriptor of a tile with `shape` as stored ((mn, k) for K-major, (k, mn) for MN-major),
/// from column `k` on. A swizzle that is given is kept, else the widest fitting one.
Reg auto_descriptor(Tracer& tracer, const SharedPlace& place, isa::Type type,
                    std::span<const std::uint64_t> shape, layout::Major major,
                    std::optional<layout::Swizzle> swizzle = {}, std::uint32_t k = 0,
                    TileParameters parameters = {});
constexpr std::int64_t kAddressMask = 0x3FFF0;                     // 16-byte aligned, 18 bits
constexpr std::uint64_t kDescriptor128B = 0x4000'4040'0001'0000U;  // 128B swizzle, SBO 1024, LBO 16
/// ((address & mask) + byte_offset) >> 4 | const_bits
Reg masked_descriptor(Tracer& tracer, const SharedPlace& place, std::int64_t byte_offset = 0,
                      std::int64_t mask = kAddressMask, std::uint64_t const_bits = kDescriptor128B);

/// The element of an instruction descriptor that holds values of `type`; nothing where none does.
std::optional<layout::ElementFormat> element_format(isa::Type type);

/// A or B: a descriptor, a tile in shared memory, or (A only) a place in tensor memory.
using Source = std::variant<Reg, SharedView, TmemPlace>;

/// What a product takes.
struct MmaArguments {
  TmemPlace d{};
  Source a{};
  Source b{};
  Index instruction = 0;                           // the instruction descriptor
  std::string kind = "f16";                        // without "kind::"
  int cta_group = 1;                               // 2: a pair of CTAs
  std::variant<bool, Reg> enable_input_d = true;   // false: D = A*B, true: D += A*B
  std::optional<std::int64_t> scale_d{};           // D is multiplied by 2^-scale_d first
  std::optional<TmemPlace> metadata{};             // sparse A
  bool ashift = false;                             // A (in tensor memory) one row down
  std::string collector_a{};                       // "fill", "use", "lastuse", "discard"
  std::string collector_b{};                       // the same
  std::optional<std::int64_t> collector_buffer{};  // of .ws: 0 to 3
  bool ws = false;                                 // weight-stationary
  std::vector<Reg> disable_output_lane{};          // 4 masks of 32 lanes, 8 for a pair of CTAs
  std::optional<Index> zero_column_mask{};         // of .ws
  std::optional<TmemPlace> scale_a{};              // block scales
  std::optional<TmemPlace> scale_b{};
  std::string scale_vec{};         // "1X", "2X", "4X", "block16", "block32"
  std::optional<TmemPlace> lut{};  // .decompress::lut::b
  std::int64_t k_offset_a = 0;     // of tiles: the first column, in elements
  std::int64_t k_offset_b = 0;
  Guard guard{};
};
/// D = A * B (+ D), by one thread for the whole CTA or pair of CTAs.
void mma(Tracer& tracer, const MmaArguments& arguments);

/// Which part of tensor memory a thread moves, and how.
struct MoveOptions {
  std::string shape = "16x128b";        // 32x32b, 16x64b, 16x128b, 16x256b, 16x32bx2
  std::int64_t count = 1;               // repeats: 1 to 128
  bool pack = false;                    // 16-bit elements: two to a register (st: unpacked)
  std::optional<std::int64_t> split{};  // of 16x32bx2: columns to the second half
  Guard guard{};
};
/// Tensor memory to registers; wait_ld() before they are read.
void ld(Tracer& tracer, std::span<const Reg> destination, const TmemPlace& source,
        const MoveOptions& options);
/// Registers to tensor memory.
void st(Tracer& tracer, const TmemPlace& destination, std::span<const Reg> source,
        const MoveOptions& options);

/// What ld_red() works out besides.
struct Reduction {
  std::string op;  // "min", "max"
  isa::Type type{};
  bool abs = false;
  bool nan = false;  // NaN wins
  Reg result;
};
/// ld and, in `reduction.result`, the least or greatest of what each thread got.
void ld_red(Tracer& tracer, std::span<const Reg> destination, const TmemPlace& source,
            const Reduction& reduction, const MoveOptions& options);

/// How cp() copies.
struct CopyOptions {
  int cta_group = 1;
  std::string multicast{};      // "warpx4", "warpx2::02_13", "warpx2::01_23"
  std::string source_format{};  // "b6x16_p32", "b4x16_p64": widened to bytes
  Guard guard{};
};
/// Shared memory, by a matrix descriptor, to tensor memory. `shape` is "128x256b", "32x128b", ...
void cp(Tracer& tracer, const TmemPlace& destination, const Index& descriptor,
        std::string_view shape, const CopyOptions& options = {});
/// Moves the rows of 32 lanes down by one.
void shift(Tracer& tracer, const TmemPlace& place, int cta_group = 1, Guard guard = {});

/// Where commit() arrives.
struct CommitOptions {
  int cta_group = 1;
  std::optional<Index> multicast_mask{};  // 16 bits: a CTA of the cluster each
  std::string space = "cluster";          // of the mbarrier's address; empty: generic
  Guard guard{};
};
/// The mbarrier is arrived on once when everything this thread has started is complete.
void commit(Tracer& tracer, const SharedPlace& barrier, const CommitOptions& options = {});

/// Waits for the loads of this thread.
void wait_ld(Tracer& tracer);
/// Waits for the stores of this thread.
void wait_st(Tracer& tracer);
/// Orders tcgen05 work before a barrier that follows.
void fence_before_thread_sync(Tracer& tracer);
/// Orders tcgen05 work after a barrier that came before.
void fence_after_thread_sync(Tracer& tracer);

}  // namespace pyptx::build::tcgen05
