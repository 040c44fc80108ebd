// SPDX-License-Identifier: Apache-2.0
//
// tcgen05's shared memory descriptors computed by instructions from a shared address. PTX ISA,
// "Shared memory descriptor".
#include <algorithm>
#include <array>
#include <utility>

#include "matrix_descriptor.h"
#include "pyptx/build/tcgen05.h"

namespace pyptx::build::tcgen05 {

using diag::Kind;

std::optional<layout::ElementFormat> element_format(isa::Type type) {
  using F = layout::ElementFormat;
  using T = isa::Type;
  constexpr std::array<std::pair<T, F>, 14> kFormats{{{T::F16, F::F16},
                                                      {T::Bf16, F::Bf16},
                                                      {T::Tf32, F::Tf32},
                                                      {T::E4m3, F::E4m3},
                                                      {T::E5m2, F::E5m2},
                                                      {T::E2m3, F::E2m3},
                                                      {T::E3m2, F::E3m2},
                                                      {T::E2m1, F::E2m1},
                                                      {T::U8, F::U8},
                                                      {T::S8, F::S8},
                                                      {T::F32, F::F32},
                                                      {T::S32, F::S32},
                                                      {T::Ue8m0, F::Ue8m0},
                                                      {T::Ue4m3, F::Ue4m3}}};
  const auto known = std::ranges::find(kFormats, type, [](const auto& pair) { return pair.first; });
  if (known == kFormats.end()) return std::nullopt;
  return known->second;
}

Reg descriptor(Tracer& tracer, const SharedPlace& place,
               const layout::Tcgen05MatrixDescriptor& fields) {
  const Expansion here(tracer, "ptx.tcgen05.descriptor(...)");
  layout::Tcgen05MatrixDescriptor constant = fields;
  constant.start = 0;
  if (const auto problem = constant.problem()) {
    tracer.report({Kind::MatrixLayout, {"a tcgen05 descriptor", *problem}});
    return {};
  }
  return encoded_descriptor(tracer, place, constant.encode());
}

Reg auto_descriptor(Tracer& tracer, const SharedPlace& place, isa::Type type,
                    std::span<const std::uint64_t> shape, layout::Major major,
                    std::optional<layout::Swizzle> swizzle, std::uint32_t k,
                    TileParameters parameters) {
  const Expansion here(tracer, "ptx.tcgen05.auto_descriptor(...)");
  const auto tile = canonical_tile(tracer, type, shape, major, swizzle, k, true, parameters);
  if (!tile) return {};
  return descriptor(tracer, place.plus(tile->advance),
                    {0, tile->layout.leading_bytes, tile->layout.stride_bytes, 0, false,
                     layout::tcgen05_swizzle(tile->layout.swizzle)});
}

Reg masked_descriptor(Tracer& tracer, const SharedPlace& place, std::int64_t byte_offset,
                      std::int64_t mask, std::uint64_t const_bits) {
  const Expansion here(tracer, "ptx.tcgen05.masked_descriptor(...)");
  return build::masked_descriptor(tracer, place, byte_offset, mask, const_bits);
}

}  // namespace pyptx::build::tcgen05
