// SPDX-License-Identifier: Apache-2.0
//
// Shared memory as authors see it: typed, shaped, perhaps swizzled allocations, their stages and
// their elements (PTX ISA, "Shared State Space" and "Swizzling Modes"). Where a block ends up, a
// static variable or a place in the one dynamic array, is Tracer::finish's business; here a block
// is its address register, made once in the prologue, so every use is dominated by it.
//
// A swizzled allocation is stored as wgmma and TMA see it: its last two dimensions are a tile, cut
// into blocks one swizzle row (32, 64 or 128 bytes) wide and as long as the tile has rows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pyptx/build/argument.h"
#include "pyptx/build/tracer.h"
#include "pyptx/layout/matrix_descriptor.h"
#include "pyptx/layout/swizzle.h"

namespace pyptx::build {

/// A number the author wrote, or a register.
struct Index {
  std::optional<Reg> reg;
  std::int64_t value = 0;

  Index(Reg r) : reg(r) {}  // NOLINT(*-explicit-*)
  template <typename T>
    requires std::is_integral_v<T>
  Index(T number) : value(static_cast<std::int64_t>(number)) {}  // NOLINT(*-explicit-*)

  bool is_constant() const { return !reg.has_value(); }
  ir::Operand operand() const { return reg ? ir::Operand(*reg) : ir::Operand::integer(value); }
};

/// Whether `value` is a constant or a register of 32 bits; reports `what` otherwise.
bool check_word(Tracer& tracer, const Index& value, const Argument& what);

/// A shared address: a block or a 32-bit register, plus a constant.
struct SharedPlace {
  std::optional<std::size_t> block;
  std::optional<Reg> base;
  std::int64_t offset = 0;
  std::uint16_t owner =
      0;  // of a block: Tracer::tag, so that one kept from another trace is refused
  /// What begins here, where that is known: what a copy may fill, and how it is laid out.
  struct Extent {
    std::string name;
    std::uint64_t bytes = 0;
    layout::Swizzle swizzle = layout::Swizzle::None;
  };
  std::optional<Extent> extent = std::nullopt;

  static SharedPlace of_block(const Tracer& tracer, std::size_t index) {
    return {index, std::nullopt, 0, tracer.tag()};
  }
  static SharedPlace of_register(Reg base, std::int64_t offset = 0) {
    return {std::nullopt, base, offset, 0};
  }
  /// Of a register or of [register+offset]; nothing for any other operand.
  static std::optional<SharedPlace> of_operand(const Tracer& tracer, const ir::Operand& operand);
  SharedPlace plus(std::int64_t bytes) const { return {block, base, offset + bytes, owner}; }
};

/// The address in a 32-bit register; the block's own where nothing is to be added.
Reg address_of(Tracer& tracer, const SharedPlace& place);
/// [base+offset]
ir::Operand memory_at(Tracer& tracer, const SharedPlace& place);
/// The place `index` times `stride` bytes further on.
SharedPlace advanced(Tracer& tracer, const SharedPlace& place, const Index& index,
                     std::int64_t stride);

/// An allocation, or a part of one that leading indices have chosen.
struct SharedView {
  SharedPlace place;
  std::string name;
  isa::Type type{};
  std::vector<std::uint64_t> shape;
  layout::Swizzle swizzle = layout::Swizzle::None;
  std::optional<layout::Major> major;  // what wgmma_tile() was told
  std::uint32_t align = 0;             // of `place`, as far as it is known

  std::uint64_t bytes() const;
  /// The place with what is known of it, for copies.
  SharedPlace whole() const;
  std::uint32_t element_bytes() const { return isa::info(type).bits / 8U; }
  /// Rows and columns of the tile: the last two dimensions (one row where there is one).
  std::uint64_t rows() const { return shape.size() < 2 ? 1 : shape[shape.size() - 2]; }
  std::uint64_t columns() const { return shape.empty() ? 1 : shape.back(); }
};

/// How shared memory is allocated.
struct SharedOptions {
  layout::Swizzle swizzle = layout::Swizzle::None;
  std::optional<layout::Major> major{};
  std::uint32_t align = 0;  // 0: 128, or what the swizzle needs
  std::string_view name{};  // empty: "smem"
};

/// Allocates `shape` elements.
SharedView allocate(Tracer& tracer, isa::Type type, std::span<const std::uint64_t> shape,
                    SharedOptions options = {});
/// A tile for wgmma with the widest swizzle its contiguous (last) dimension fills. `shape` is as
/// stored: (..., mn, k) for a K-major tile, (..., k, mn) for an MN-major one.
SharedView allocate_tile(Tracer& tracer, isa::Type type, std::span<const std::uint64_t> shape,
                         layout::Major major, SharedOptions options = {});

/// `view[i, j, ...]` with fewer indices than dimensions: that stage.
SharedView slice(Tracer& tracer, const SharedView& view, std::span<const Index> indices);
/// Where the element with these indices, one per dimension, lies; the swizzle is applied.
SharedPlace element(Tracer& tracer, const SharedView& view, std::span<const Index> indices);

/// Where and how often a tile is shown; see show().
struct ShowOptions {
  std::string_view label{};  // empty: the name of the allocation
  std::array<std::uint32_t, 3> cta{};
  std::uint32_t times = 1;  // passes of that CTA
};
/// Shows the tile where a run on the emulator comes by. Emits nothing: on a GPU nothing happens.
void show(Tracer& tracer, const SharedView& view, const ShowOptions& options = {});

/// `view[row, column]`, loaded into a fresh register.
Reg load_element(Tracer& tracer, const SharedView& view, std::span<const Index> indices,
                 Guard guard = {});
void store_element(Tracer& tracer, const SharedView& view, std::span<const Index> indices,
                   ir::Operand value, Guard guard = {});

/// ld.shared / st.shared of one `type` at `place`.
Reg load_shared(Tracer& tracer, isa::Type type, const SharedPlace& place, Guard guard = {});
void store_shared(Tracer& tracer, isa::Type type, const SharedPlace& place, ir::Operand value,
                  Guard guard = {});

/// The byte offset `offset` under a swizzle whose pattern starts at offset 0.
Index apply_swizzle(Tracer& tracer, layout::Swizzle swizzle, const Index& offset);

/// The address of the dynamic array (the empty name or its own), or of the block called `name`.
Reg shared_base(Tracer& tracer, std::string_view name = {});

/// "32B", "64B", "128B"; "none" and the empty text mean no swizzle.
std::optional<layout::Swizzle> find_swizzle(std::string_view text);
std::string_view swizzle_text(layout::Swizzle swizzle);

}  // namespace pyptx::build
