// SPDX-License-Identifier: Apache-2.0
//
// Metadata of a sparse A, and products with it.
#include "numerics/sparse.h"

#include <cstring>
#include <vector>

#include "pyptx/layout/fragment.h"

namespace pyptx::emu {
namespace {

/// The 4 bits for chunk `chunk` of row `row`.
u32 index_bits(const SparsePattern& pattern, const u32* metadata, u32 row, u32 chunk) {
  const layout::BitsPlace at = layout::mma_metadata(info(pattern.element).bits, pattern.stored,
                                                    pattern.selector, row, chunk);
  return metadata[at.thread] >> at.bit & 0xFU;
}

/// The places that four bits name in a chunk, for each stored element of it; false for none.
bool places_of(Element element, u32 bits, bool is_ordered, u8 (&places)[4]) {
  if (info(element).bits == 32) {  // one of two, by all four bits
    if (bits != 0xEU && bits != 0x4U) return false;
    places[0] = bits == 0xEU ? 1 : 0;
    return true;
  }
  const u32 first = bits & 3U;
  const u32 second = bits >> 2;
  if (first == second || (is_ordered && first > second)) return false;
  if (info(element).bits == 4) {  // pairs of elements
    for (u32 i = 0; i < 4; ++i) places[i] = static_cast<u8>(2 * (i < 2 ? first : second) + i % 2);
    return true;
  }
  places[0] = static_cast<u8>(first);
  places[1] = static_cast<u8>(second);
  return true;
}

}  // namespace

bool has_metadata(const SparsePattern& pattern) {
  const u32 threads = layout::mma_metadata_threads(info(pattern.element).bits, pattern.stored);
  return (u64{pattern.selector} + 1) * threads <= 4;
}

bool sparse_places(const SparsePattern& pattern, const u32* metadata, u32 rows, u8* places) {
  const u32 kept = layout::mma_chunk(info(pattern.element).bits);
  for (u32 row = 0; row < rows; ++row) {
    const u32 panel = row / 8 * 4 + row % 8 / 2;
    for (u32 chunk = 0; chunk < pattern.stored / kept; ++chunk) {
      u8 local[4];
      if (!places_of(pattern.element, index_bits(pattern, metadata, row, chunk), pattern.is_ordered,
                     local)) {
        return false;
      }
      for (u32 i = 0; i < kept; ++i) {
        places[(panel * pattern.stored + chunk * kept + i) * 2 + row % 2] =
            static_cast<u8>(chunk * 2 * kept + local[i]);
      }
    }
  }
  return true;
}

void multiply_sparse(const Panels& panels, const u8* places, Numerics numerics,
                     const SumRule& rule) {
  const u32 stored = panels.depth / 2;
  const std::size_t one = std::size_t{stored} * kVector;
  thread_local std::vector<float> a;
  thread_local std::vector<float> b;
  thread_local std::vector<float*> d;
  a.assign(2 * one, 0.0F);  // panels come in twos: the second is nothing
  b.resize(panels.b_count * one);
  d.resize(std::size_t{2} * panels.b_count);
  alignas(32) float nowhere[kVector] = {};
  const bool is_apart = numerics == Numerics::Exact && rule.takes_pairs_apart;
  const auto slot = [&](u32 k) { return (is_apart ? place_apart(k, stored) : k) * kVector; };
  for (u32 p = 0; p < panels.a_count; ++p) {
    for (u32 k = 0; k < stored; ++k) {
      std::memcpy(a.data() + slot(k), panels.a + p * one + k * kVector, sizeof(float) * kVector);
    }
    const u8* at = places + std::size_t{p} * stored * 2;
    for (u32 q = 0; q < panels.b_count; ++q) {
      const float* dense = panels.b + std::size_t{q} * panels.depth * kVector;
      float* to = b.data() + q * one;
      for (u32 k = 0; k < stored; ++k) {
        std::memcpy(to + slot(k), dense + at[2 * k] * kVector, 4 * sizeof(float));
        std::memcpy(to + slot(k) + 4, dense + at[2 * k + 1] * kVector + 4, 4 * sizeof(float));
      }
      d[q] = panels.d[p * panels.b_count + q];
      d[panels.b_count + q] = nowhere;
    }
    multiply({a.data(), b.data(), d.data(), 2, panels.b_count, stored}, numerics, rule);
  }
}

}  // namespace pyptx::emu
