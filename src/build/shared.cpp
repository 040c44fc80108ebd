// SPDX-License-Identifier: Apache-2.0
//
// Shared allocations, their addresses and their stages. Elements are in shared_element.cpp.
// PTX ISA, "Shared State Space".
#include "pyptx/build/shared.h"

#include <algorithm>
#include <bit>
#include <string>

#include "arguments.h"
#include "pyptx/layout/canonical.h"
#include "pyptx/support/concat.h"

namespace pyptx::build {
namespace {

using diag::Kind;
using ir::Operand;
using support::concat;

constexpr std::uint32_t kDefaultAlign = 128;

bool check_shape(Tracer& tracer, std::string_view name, isa::Type type,
                 std::span<const std::uint64_t> shape) {
  const std::uint32_t bits = isa::info(type).bits;
  if (bits < 8) {
    tracer.report(
        diag::Diagnostic(Kind::SharedAllocation,
                         {std::string(name),
                          concat("elements of type ", isa::info(type).name, " have no address")})
            .about("dtype|T"));
    return false;
  }
  constexpr std::uint64_t kWindow = std::uint64_t{1} << 32;  // shared addresses have 32 bits
  std::uint64_t bytes = bits / 8;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) {
      tracer.report(diag::Diagnostic(Kind::SharedAllocation,
                                     {std::string(name), concat("dimension ", i, " is 0")})
                        .about("shape", static_cast<std::uint16_t>(i)));
      return false;
    }
    if (shape[i] >= kWindow / bytes) {
      tracer.report(diag::Diagnostic(Kind::SharedAllocation,
                                     {std::string(name), "more than shared memory can address"})
                        .about("shape"));
      return false;
    }
    bytes *= shape[i];
  }
  return true;
}

bool check_swizzle(Tracer& tracer, const SharedView& view) {
  const std::uint32_t span = layout::swizzle_span(view.swizzle);
  const std::uint32_t period = layout::swizzle_period(view.swizzle);
  if (view.align % period != 0) {
    tracer.report(diag::Diagnostic(Kind::SharedAlignment,
                                   {concat("'", view.name, "'"), std::to_string(view.align),
                                    concat("the ", swizzle_text(view.swizzle), " swizzle"),
                                    std::to_string(period)})
                      .about("align"));
    return false;
  }
  const std::uint64_t row = view.columns() * view.element_bytes();
  if (row % span != 0) {
    tracer.report(diag::Diagnostic(Kind::SharedAllocation,
                                   {view.name, concat("a row has ", row, " bytes, the ",
                                                      swizzle_text(view.swizzle),
                                                      " swizzle needs a multiple of ", span)})
                      .about("shape"));
    return false;
  }
  const std::uint64_t tile = view.rows() * row;
  if (view.shape.size() > 2 && tile % period != 0) {
    tracer.report(
        diag::Diagnostic(
            Kind::SharedAllocation,
            {view.name,
             concat("a stage has ", tile, " bytes, so the next one would not start on ", "the ",
                    period, " bytes that the ", swizzle_text(view.swizzle), " swizzle needs")})
            .about("shape"));
    return false;
  }
  return true;
}

/// A view whose allocation was refused has no base; nothing is emitted after the refusal anyway.
Reg base_of(Tracer& tracer, const SharedPlace& place) {
  if (!place.block) return place.base.value_or(Reg{});
  if (place.owner == tracer.tag()) return tracer.shared_address(*place.block);
  tracer.report({Kind::ForeignShared, {}});
  return {};
}

}  // namespace

bool check_word(Tracer& tracer, const Index& value, const Argument& what) {
  if (value.is_constant() || isa::info(value.reg->type).bits == 32) return true;
  return refuse(tracer, what, "an integer or a 32-bit register", words(value));
}

std::optional<SharedPlace> SharedPlace::of_operand(const Tracer& tracer, const Operand& operand) {
  if (operand.kind == ir::OperandKind::Register) return of_register(tracer.reg_of(operand));
  if (operand.kind != ir::OperandKind::Address || operand.count != 1) return std::nullopt;
  Operand base = tracer.function().children(operand).front();
  if (base.kind != ir::OperandKind::Register) return std::nullopt;
  base.count = tracer.tag();
  return of_register(tracer.reg_of(base), operand.value);
}

Reg address_of(Tracer& tracer, const SharedPlace& place) {
  const Reg base = base_of(tracer, place);
  if (place.offset == 0) return base;
  const Reg sum = tracer.reg(isa::Type::U32);
  tracer.emit("add.u32", {sum, base, Operand::integer(place.offset)});
  return sum;
}

ir::Operand memory_at(Tracer& tracer, const SharedPlace& place) {
  const Reg base = base_of(tracer, place);
  return tracer.address(base, place.offset);
}

SharedPlace advanced(Tracer& tracer, const SharedPlace& place, const Index& index,
                     std::int64_t stride) {
  if (index.is_constant()) return place.plus(index.value * stride);
  const Reg base = base_of(tracer, place);
  const Reg sum = tracer.reg(isa::Type::U32);
  if (stride == 1) {
    tracer.emit("add.u32", {sum, base, *index.reg});
  } else {
    tracer.emit("mad.lo.u32", {sum, *index.reg, Operand::integer(stride), base});
  }
  return SharedPlace::of_register(sum, place.offset);
}

void show(Tracer& tracer, const SharedView& view, const ShowOptions& options) {
  const Expansion here(tracer, "show(...)");
  if (options.times == 0) {
    tracer.report(diag::Diagnostic(Kind::BadArgument, {"times", "at least 1", "0"}).about("times"));
    return;
  }
  const SharedPlace& place = view.place;
  if (place.block && place.owner != tracer.tag()) {
    tracer.report({Kind::ForeignShared, {}});
    return;
  }
  ir::ShownTile tile;
  if (place.base) tile.address = place.base->id;
  tile.offset = place.offset;
  tile.type = view.type;
  tile.swizzle = static_cast<std::uint8_t>(view.swizzle);
  tile.is_matrix = view.major.has_value();
  tile.shape = view.shape;
  tile.label = options.label.empty() ? view.name : std::string(options.label);
  tile.cta = options.cta;
  tile.times = options.times;
  tracer.show(std::move(tile), place.block);
}

std::uint64_t SharedView::bytes() const {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count * element_bytes();
}

SharedPlace SharedView::whole() const {
  SharedPlace all = place;
  all.extent = SharedPlace::Extent{name, bytes(), swizzle};
  return all;
}

SharedView allocate(Tracer& tracer, isa::Type type, std::span<const std::uint64_t> shape,
                    SharedOptions options) {
  SharedView view;
  view.name = options.name.empty() ? "smem" : std::string(options.name);
  view.type = type;
  view.shape.assign(shape.begin(), shape.end());
  view.swizzle = options.swizzle;
  view.major = options.major;
  view.align = options.align != 0
                   ? options.align
                   : std::max(kDefaultAlign, layout::swizzle_period(options.swizzle));
  if (!check_shape(tracer, view.name, type, shape)) return view;
  if (!std::has_single_bit(view.align)) {
    tracer.report(diag::Diagnostic(
                      Kind::SharedAllocation,
                      {view.name, concat("the alignment ", view.align, " is not a power of two")})
                      .about("align"));
    return view;
  }
  if (view.swizzle != layout::Swizzle::None && !check_swizzle(tracer, view)) return view;
  const std::size_t block = tracer.allocate_shared(view.bytes(), view.align, view.name);
  if (tracer.has_error()) return view;
  view.place = SharedPlace::of_block(tracer, block);
  view.name = tracer.shared_block(block).name;
  return view;
}

SharedView allocate_tile(Tracer& tracer, isa::Type type, std::span<const std::uint64_t> shape,
                         layout::Major major, SharedOptions options) {
  const std::string name = options.name.empty() ? "smem" : std::string(options.name);
  if (shape.size() < 2) {
    tracer.report(diag::Diagnostic(Kind::SharedAllocation,
                                   {name, concat("a matrix tile has at least two dimensions, got ",
                                                 shape.size())})
                      .about("shape"));
    return {};
  }
  const auto rows = static_cast<std::uint32_t>(shape[shape.size() - 2]);
  const auto columns = static_cast<std::uint32_t>(shape.back());
  const bool is_k = major == layout::Major::K;
  const auto picked = layout::pick_layout(
      {isa::info(type).bits / 8U, is_k ? rows : columns, is_k ? columns : rows, major});
  if (!picked) {
    tracer.report(diag::Diagnostic(Kind::SharedAllocation, {name, picked.error()}).about("shape"));
    return {};
  }
  options.swizzle = picked->swizzle;
  options.major = major;
  return allocate(tracer, type, shape, options);
}

SharedView slice(Tracer& tracer, const SharedView& view, std::span<const Index> indices) {
  if (indices.size() >= view.shape.size()) {
    tracer.report(diag::Diagnostic(Kind::SharedRank, {view.name, std::to_string(view.shape.size()),
                                                      std::to_string(indices.size())})
                      .about("key"));
    return view;
  }
  const std::size_t left = view.shape.size() - indices.size();
  if ((view.swizzle != layout::Swizzle::None || view.major) && left < 2) {
    tracer.report({Kind::SharedAllocation,
                   {view.name,
                    "a row of a swizzled tile has no address of its own; index it by "
                    "row and column together"}});
    return view;
  }
  SharedView part = view;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    part.shape.erase(part.shape.begin());
    const Index& index = indices[i];
    if (!check_word(
            tracer, index,
            {concat("index ", i, " of '", view.name, "'"), "key", static_cast<std::uint16_t>(i)})) {
      return view;
    }
    const std::uint64_t extent = view.shape[i];
    if (index.is_constant() &&
        (index.value < 0 || static_cast<std::uint64_t>(index.value) >= extent)) {
      tracer.report(diag::Diagnostic(Kind::SharedIndex,
                                     {std::to_string(i), view.name, std::to_string(extent - 1),
                                      std::to_string(index.value)})
                        .about("key", static_cast<std::uint16_t>(i)));
      return view;
    }
    const auto stride = static_cast<std::int64_t>(part.bytes());
    part.place = advanced(tracer, part.place, index, stride);
    part.align = std::min(part.align, 1U << std::countr_zero(static_cast<std::uint64_t>(stride)));
  }
  return part;
}

Reg shared_base(Tracer& tracer, std::string_view name) {
  const Options& options = tracer.options();
  const Reg result = tracer.reg(isa::Type::U32);
  if ((name.empty() || name == options.dynamic_shared_name) && options.force_dynamic_shared) {
    tracer.emit("mov.u32", {result, tracer.symbol(options.dynamic_shared_name)});
    return result;
  }
  if (name.empty()) {
    tracer.report(
        diag::Diagnostic(Kind::SharedAllocation,
                         {options.dynamic_shared_name, "the kernel has no dynamic shared memory"})
            .note("give the kernel smem= or extern_smem="));
    return result;
  }
  tracer.emit("mov.u32", {result, tracer.symbol(name)});
  return result;
}

std::optional<layout::Swizzle> find_swizzle(std::string_view text) {
  if (text.empty() || text == "none") return layout::Swizzle::None;
  for (const auto swizzle : {layout::Swizzle::B32, layout::Swizzle::B64, layout::Swizzle::B128}) {
    if (text == swizzle_text(swizzle)) return swizzle;
  }
  return std::nullopt;
}

std::string_view swizzle_text(layout::Swizzle swizzle) {
  switch (swizzle) {
    case layout::Swizzle::None:
      return "none";
    case layout::Swizzle::B32:
      return "32B";
    case layout::Swizzle::B64:
      return "64B";
    case layout::Swizzle::B128:
      return "128B";
  }
  return "none";
}

}  // namespace pyptx::build
