// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/smem.h"

#include <span>

#include "pyptx/author/operand.h"
#include "pyptx/build/memory.h"

namespace pyptx {
namespace {

std::span<const Index> all(const std::initializer_list<Index>& indices) {
  return {indices.begin(), indices.size()};
}

build::SharedPlace place_of(const Address& address, const std::source_location& where) {
  build::Tracer& tracer = author::at(where);
  if (const auto place = build::SharedPlace::of_operand(tracer, address.operand)) return *place;
  tracer.report({diag::Kind::BadArgument,
                 {"a shared address", "ptx::addr(register, offset)", "another address"}});
  return {};
}

}  // namespace

author::Place::Place(const Address& address, std::source_location where)
    : build::SharedPlace(place_of(address, where)) {}

Shared Shared::at(std::initializer_list<Index> indices, std::source_location where) const {
  return build::slice(author::at(where), *this, all(indices));
}

Reg Shared::load(std::initializer_list<Index> indices, std::source_location where) const {
  return build::load_element(author::at(where), *this, all(indices));
}

void Shared::store(std::initializer_list<Index> indices, const author::Right& value) const {
  build::store_element(author::at(value.where), *this, all(indices),
                       build::as_operand(value.value));
}

Reg Shared::address(std::source_location where) const {
  return build::address_of(author::at(where), place);
}

MbarrierRef Mbarriers::operator[](const author::Subscript& index) const {
  return build::mbarrier::at(author::at(index.where), *this, index.index);
}

namespace smem {

Shared alloc(isa::Type type, std::initializer_list<std::uint64_t> shape, SharedOptions options,
             std::source_location where) {
  return build::allocate(author::at(where), type, {shape.begin(), shape.size()}, options);
}

Shared wgmma_tile(isa::Type type, std::initializer_list<std::uint64_t> shape, layout::Major major,
                  SharedOptions options, std::source_location where) {
  return build::allocate_tile(author::at(where), type, {shape.begin(), shape.size()}, major,
                              options);
}

Mbarriers mbarrier(std::uint64_t count, std::string_view name, std::source_location where) {
  return build::mbarrier::allocate(author::at(where), count, name);
}

Reg base(std::string_view name, std::source_location where) {
  return build::shared_base(author::at(where), name);
}

Reg load(isa::Type type, const author::Place& place, const Guard& guard,
         std::source_location where) {
  return build::load_shared(author::at(where), type, place, guard);
}

void store(isa::Type type, const author::Place& place, const author::Right& value,
           const Guard& guard) {
  build::store_shared(author::at(value.where), type, place, build::as_operand(value.value), guard);
}

Reg apply_swizzle(const Reg& offset, Swizzle swizzle, std::source_location where) {
  const Index swizzled = build::apply_swizzle(author::at(where), swizzle, offset);
  return swizzled.reg ? *swizzled.reg : offset;
}

}  // namespace smem
void ptx::show(const Shared& tile, const ShowOptions& options, std::source_location where) {
  build::show(author::at(where), tile, options);
}

}  // namespace pyptx
