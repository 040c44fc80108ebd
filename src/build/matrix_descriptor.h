// SPDX-License-Identifier: Apache-2.0
//
// The parts of a matrix descriptor that wgmma and tcgen05 have in common: the start address in the
// low bits, and the canonical layouts of tiles. Not an API.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "pyptx/build/shared.h"
#include "pyptx/layout/canonical.h"

namespace pyptx::build {

/// (address & 0x3FFFF) >> 4, widened, | bits
Reg encoded_descriptor(Tracer& tracer, const SharedPlace& place, std::uint64_t bits);
/// ((address & mask) + byte_offset) >> 4 | bits
Reg masked_descriptor(Tracer& tracer, const SharedPlace& place, std::int64_t byte_offset,
                      std::int64_t mask, std::uint64_t bits);

/// What a product takes of a tile in shared memory.
struct TileUse {
  std::string_view instruction;
  std::string_view what;     // "A", "B"
  std::int64_t mn = 0;       // rows of M or N
  std::int64_t columns = 0;  // of K, from `k` on
  std::int64_t k = 0;
  layout::Major major = layout::Major::K;

  TileParameters parameters() const { return TileParameters::of(what == "A"); }
};
/// Whether the tile has what the product takes; reports what is missing otherwise.
bool check_tile(Tracer& tracer, const SharedView& view, const TileUse& use);

struct CanonicalTile {
  layout::CanonicalLayout layout;
  std::uint32_t advance = 0;  // bytes from the tile's start to column k
};
/// How the tile with `shape` as stored lies; nothing, and a report, where no descriptor says it.
/// `byte_mn`: MN-major bytes will do.
std::optional<CanonicalTile> canonical_tile(Tracer& tracer, isa::Type type,
                                            std::span<const std::uint64_t> shape,
                                            layout::Major major,
                                            std::optional<layout::Swizzle> swizzle, std::uint32_t k,
                                            bool byte_mn, TileParameters parameters);

}  // namespace pyptx::build
