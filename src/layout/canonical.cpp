// SPDX-License-Identifier: Apache-2.0
//
// Descriptor fields for operand tiles stored in blocks one swizzle row wide (PTX ISA, "Shared
// Memory Matrix Layout"). Chooses fields; matrix_descriptor.cpp says what they mean.
#include "pyptx/layout/canonical.h"

#include "pyptx/support/concat.h"

namespace pyptx::layout {
namespace {

using support::Failure;

std::string swizzle_words(Swizzle swizzle) {
  return swizzle == Swizzle::None ? std::string("no swizzle")
                                  : support::concat("the ", swizzle_span(swizzle), " B swizzle");
}

/// What no swizzle can mend.
std::string shape_problem(const OperandTile& tile) {
  const std::uint32_t bytes = tile.element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4) {
    return support::concat("an operand tile has elements of 1, 2 or 4 bytes, not ", bytes);
  }
  if (tile.major == Major::MN && bytes != 2 && !(tile.byte_mn && bytes == 1)) {
    return support::concat("an MN-major operand must have 16-bit ", tile.byte_mn ? "or 8-bit " : "",
                           "elements, not ", 8 * bytes, "-bit ones");
  }
  if (tile.mn == 0 || tile.mn % 8 != 0) {
    return support::concat("the rows of an operand tile are a multiple of 8, not ", tile.mn);
  }
  if (tile.k == 0 || tile.k % wgmma_k(bytes) != 0) {
    return support::concat("k of an operand tile of ", bytes, "-byte elements is a multiple of ",
                           wgmma_k(bytes), ", not ", tile.k);
  }
  return {};
}

}  // namespace

support::Result<CanonicalLayout, std::string> canonical_layout(const OperandTile& tile,
                                                               Swizzle swizzle) {
  if (std::string problem = shape_problem(tile); !problem.empty()) {
    return Failure{std::move(problem)};
  }
  const std::uint32_t span = swizzle_span(swizzle);
  if (tile.row_bytes() % span != 0) {
    return Failure{support::concat(swizzle_words(swizzle), " needs rows of a multiple of ", span,
                                   " bytes, the tile's have ", tile.row_bytes())};
  }
  const std::uint32_t group = 8 * span;            // eight rows of a block
  const std::uint32_t block = tile.rows() * span;  // one block
  CanonicalLayout layout{swizzle, 0, 0};
  if (tile.major == Major::K) {
    layout.leading_bytes = swizzle == Swizzle::None ? block : 16;
    layout.stride_bytes = group;
  } else {
    layout.leading_bytes = swizzle == Swizzle::None ? group : block;
    layout.stride_bytes = swizzle == Swizzle::None ? block : group;
  }
  constexpr std::uint32_t kFieldLimit = 0x3FFFU << 4;
  if (layout.leading_bytes > kFieldLimit || layout.stride_bytes > kFieldLimit) {
    return Failure{support::concat("a descriptor's offsets reach ", kFieldLimit,
                                   " bytes, a block of the tile has ", block)};
  }
  return layout;
}

support::Result<CanonicalLayout, std::string> pick_layout(const OperandTile& tile) {
  for (const Swizzle swizzle : {Swizzle::B128, Swizzle::B64, Swizzle::B32}) {
    if (tile.row_bytes() % swizzle_span(swizzle) == 0) return canonical_layout(tile, swizzle);
  }
  return canonical_layout(tile, Swizzle::None);
}

std::uint32_t k_advance(const OperandTile& tile, Swizzle swizzle, std::uint32_t k) {
  const std::uint32_t span = swizzle_span(swizzle);
  if (tile.major == Major::MN) return k * span;
  const std::uint32_t byte = k * tile.element_bytes;
  return (byte / span) * tile.rows() * span + byte % span;
}

std::uint32_t mn_advance(const OperandTile& tile, Swizzle swizzle, std::uint32_t mn) {
  const std::uint32_t span = swizzle_span(swizzle);
  if (tile.major == Major::K) return mn * span;
  const std::uint32_t byte = mn * tile.element_bytes;
  return (byte / span) * tile.rows() * span + byte % span;
}

}  // namespace pyptx::layout
