// SPDX-License-Identifier: Apache-2.0
//
// See tile_viewer.h.
#include "observe/tile_viewer.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "machine/cluster.h"
#include "numerics/convert.h"
#include "pyptx/isa/type.h"
#include "pyptx/layout/stored_tile.h"

namespace pyptx::emu {
namespace {

constexpr std::string_view kSwizzles[] = {"none", "32B", "64B", "128B"};

std::string printed(const char* format, double value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

const Format* format_of(isa::Type type) {
  switch (type) {
    case isa::Type::F64:
      return &kF64;
    case isa::Type::F32:
    case isa::Type::Tf32:
      return &kF32;
    case isa::Type::F16:
      return &kF16;
    case isa::Type::Bf16:
      return &kBF16;
    case isa::Type::E4m3:
      return &kE4M3;
    case isa::Type::E5m2:
      return &kE5M2;
    default:
      return nullptr;
  }
}

/// The element whose bytes these are.
std::string element_text(isa::Type type, const std::byte* bytes) {
  const isa::TypeInfo& facts = isa::info(type);
  u64 low = 0;
  u64 high = 0;
  std::memcpy(&low, bytes, std::min<std::size_t>(8, facts.bits / 8U));
  if (facts.bits == 128) std::memcpy(&high, bytes + 8, 8);
  if (const Format* format = format_of(type)) {
    return printed(facts.bits == 64 ? "%.10g" : "%.6g", widen(low, *format));
  }
  if (facts.kind == isa::TypeKind::Unsigned) return std::to_string(low);
  if (facts.kind == isa::TypeKind::Signed) {
    const unsigned shift = 64U - facts.bits;
    return std::to_string(static_cast<i64>(low << shift) >> shift);
  }
  char text[40];
  if (high != 0) {
    std::snprintf(text, sizeof text, "0x%llx%016llx", static_cast<unsigned long long>(high),
                  static_cast<unsigned long long>(low));
  } else {
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(low));
  }
  return text;
}

/// Where the tile begins in the shared memory of the CTA.
u32 start_of(Warp& warp, const ir::ShownTile& tile, u32 mask) {
  if (tile.address) {
    const RegisterPlace& place = warp.program->registers[static_cast<u32>(*tile.address)];
    const u32 base = warp.lanes32(place.offset)[Warp::first_lane(mask)];
    return (base + static_cast<u32>(tile.offset)) & kOffsetMask;
  }
  for (const PlacedVariable& place : warp.program->variables) {
    if (place.space == Space::Shared && place.variable->name == tile.variable) {
      return static_cast<u32>(place.offset) + static_cast<u32>(tile.offset);
    }
  }
  return 0;
}

std::string place_of(const Program& program, const ir::ShownTile& tile) {
  const auto line = program.module->locations.line(tile.loc);
  if (!line) return {};
  const std::string_view file = line->file;
  return std::string(file.substr(file.find_last_of('/') + 1)) + ":" + std::to_string(line->line);
}

std::vector<std::string> elements_of(const Cta& cta, const ir::ShownTile& tile, u32 start) {
  const u32 size = isa::info(tile.type).bits / 8U;
  const u64 columns = tile.shape.empty() ? 1 : tile.shape.back();
  const u64 rows = tile.shape.size() < 2 ? 1 : tile.shape[tile.shape.size() - 2];
  u64 stages = 1;
  for (std::size_t i = 0; i + 2 < tile.shape.size(); ++i) stages *= tile.shape[i];
  const layout::StoredTile stored{static_cast<layout::Swizzle>(tile.swizzle), rows, columns * size,
                                  tile.is_matrix};
  std::vector<std::string> words;
  words.reserve(stages * rows * columns);
  for (u64 stage = 0; stage < stages; ++stage) {
    const u32 base = start + static_cast<u32>(stage * stored.bytes());
    for (u64 row = 0; row < rows; ++row) {
      for (u64 column = 0; column < columns; ++column) {
        const u32 at = stored.address(base, row, column * size);
        const bool is_inside = u64{at} + size <= cta.shared.size();
        const bool has_value = is_inside && cta.defined.holds(at, at + size);
        words.push_back(has_value ? element_text(tile.type, cta.shared.data() + at) : "?");
      }
    }
  }
  return words;
}

}  // namespace

std::vector<u32> TileViewer::places(const Program& program) {
  std::vector<u32> all;
  if (program.function->edited) return all;  // nobody knows where they are now
  all.reserve(program.function->shown.size());
  const u32 last = program.code.empty() ? 0 : static_cast<u32>(program.code.size() - 1);
  for (const ir::ShownTile& tile : program.function->shown) {
    all.push_back(std::min(tile.before, last));
  }
  return all;
}

void TileViewer::before(Warp& warp, u32 pc, u32 mask) {
  const auto waited = waiting_.find({&warp, pc});
  if (waited != waiting_.end() && (waited->second & mask) != 0) return;
  const Cta& cta = *warp.cta;
  const std::vector<u32> all = places(*warp.program);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ir::ShownTile& tile = warp.program->function->shown[i];
    if (all[i] != pc || mask == 0 || cta.position != tile.cta) continue;
    const u32 pass = ++passes_[{&warp, &tile}];
    u32& most = most_[{&cta, &tile}];
    if (pass <= most || pass > tile.times) continue;
    most = pass;
    look(warp, tile, mask, pass);
  }
}

void TileViewer::after(const Warp& warp, u32 pc, u32 mask, Step step) {
  u32& lanes = waiting_[{&warp, pc}];
  lanes = step == Step::Wait ? lanes | mask : lanes & ~mask;
}

void TileViewer::look(Warp& warp, const ir::ShownTile& tile, u32 mask, u32 pass) {
  ShownTile seen;
  seen.name = tile.label;
  seen.place = place_of(*warp.program, tile);
  seen.type = isa::info(tile.type).name;
  seen.swizzle = kSwizzles[tile.swizzle & 3U];
  seen.shape = tile.shape;
  seen.cta = tile.cta;
  seen.pass = pass;
  seen.address = start_of(warp, tile, mask);
  seen.elements = elements_of(*warp.cta, tile, seen.address);
  warp.cta->cluster->print(to_text(seen));
  shown_.push_back(std::move(seen));
}

}  // namespace pyptx::emu
