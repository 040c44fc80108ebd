// SPDX-License-Identifier: Apache-2.0
//
// Copies of boxes. PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor",
// "cp.async.bulk.prefetch.tensor". Copies of bytes are in tma_bytes.cpp.
#include "pyptx/build/tma.h"

#include <string>
#include <vector>

#include "arguments.h"
#include "pyptx/support/concat.h"

namespace pyptx::build::tma {
namespace {

using diag::Kind;
using ir::Operand;
using support::concat;

constexpr const char* kCoordinates = "coord|coords";
constexpr std::size_t kFourRows = 5;  // coordinates: a column and four rows

/// What one tensor copy names: its rank, its map and where in it.
struct Box {
  std::size_t rank = 0;
  Reg map;
  std::span<const Index> coordinates;
  std::size_t expected = 0;           // coordinates
  const char* map_parameter = "src";  // a store has it in dst
};

Box box_of(std::size_t rank, Reg map, std::span<const Index> coordinates,
           const char* map_parameter = "src") {
  return {rank, map, coordinates, rank, map_parameter};
}
Box rows_of(Reg map, std::span<const Index> coordinates, const char* map_parameter = "src") {
  return {2, map, coordinates, kFourRows, map_parameter};
}

/// "64 x 128 elements of 2 bytes"
std::string box_text(const layout::TensorMap& map) {
  std::string text;
  for (std::size_t i = map.rank; i-- > 0;) {
    text += concat(map.box_count(i), i == 0 ? "" : " x ");
  }
  return concat(text, " elements of ", map.unit_bytes(), " bytes");
}

bool check(Tracer& tracer, const Box& box) {
  if (!check_range(tracer, {"the rank of a tensor copy", ""}, static_cast<std::int64_t>(box.rank),
                   1, 5)) {
    return false;
  }
  if (box.coordinates.size() != box.expected) {
    tracer.report(
        diag::Diagnostic(Kind::TensorCoordinates,
                         {box.expected == box.rank
                              ? concat("a ", box.rank, "-dimensional tensor copy")
                              : std::string("a copy of four rows (the column, then each row)"),
                          std::to_string(box.coordinates.size()), std::to_string(box.expected)})
            .about(kCoordinates));
    return false;
  }
  if (!check_wide(tracer, {"the tensor map of a copy", box.map_parameter}, box.map)) return false;
  for (std::size_t i = 0; i < box.coordinates.size(); ++i) {
    if (!check_word(tracer, box.coordinates[i],
                    {concat("coordinate ", i, " of a tensor copy"), kCoordinates,
                     static_cast<std::uint16_t>(i)})) {
      return false;
    }
  }
  return true;
}

/// The shared side of a copy that is otherwise legal takes the box of the map, and has its swizzle,
/// as far as both are known. Rows and im2col columns are no boxes.
void check_side(Tracer& tracer, const Box& box, const SharedPlace& side, const char* parameter,
                bool is_column = false) {
  const layout::TensorMap* map = tracer.described_map(box.map);
  if (map == nullptr || !side.extent || is_column || box.expected != box.rank || tracer.has_error())
    return;
  const std::string name = concat("'", side.extent->name, "'");
  // In shared memory the rows of a swizzled box are as wide as the swizzle.
  const std::uint64_t bytes = map->box_bytes() / map->row_bytes() * map->row_pitch();
  if (bytes > side.extent->bytes) {
    tracer.report(diag::Diagnostic(Kind::TensorBox, {std::to_string(bytes), name,
                                                     std::to_string(side.extent->bytes)})
                      .about(parameter)
                      .note(concat("the box of the tensor map is ", box_text(*map))));
    return;
  }
  // A tile without one may be plain memory, whose bytes the author takes as they come.
  if (side.extent->swizzle == layout::Swizzle::None || map->swizzle == side.extent->swizzle) return;
  tracer.report(
      diag::Diagnostic(Kind::TensorSwizzle, {std::string(swizzle_text(map->swizzle)), name,
                                             std::string(swizzle_text(side.extent->swizzle))})
          .about(parameter)
          .note("give Tile(layout=) and smem.alloc(swizzle=) the same swizzle"));
}

ir::Operand address_of_box(Tracer& tracer, const Box& box) {
  std::vector<Operand> operands;
  for (const Index& coordinate : box.coordinates) operands.push_back(coordinate.operand());
  return tracer.tensor_address(box.map, operands);
}

/// What a load and a prefetch share after their own operands: offsets, mask, policy.
bool add_options(Tracer& tracer, const LoadOptions& options, std::string& spelling,
                 std::vector<Operand>& operands) {
  std::optional<Operand> mask;
  if (options.multicast_mask) {
    mask = cta_mask(tracer, *options.multicast_mask);
    if (!mask) return false;
    spelling += ".multicast::cluster";
  }
  if (options.cta_group == 2) spelling += ".cta_group::2";
  if (options.cache_policy) spelling += ".L2::cache_hint";
  if (!options.offsets.empty()) {
    for (const Index& offset : options.offsets) {
      if (offset.is_constant() || isa::info(offset.reg->type).bits == 16) continue;
      return refuse(tracer, {"an im2col offset", "offsets"}, "an integer or a 16-bit register",
                    words(offset));
    }
    operands.push_back(vector_of(tracer, std::span<const Index>(options.offsets)));
  }
  if (mask) operands.push_back(*mask);
  if (options.cache_policy) operands.push_back(*options.cache_policy);
  return true;
}

void load_box(Tracer& tracer, const Box& box, const SharedPlace& destination,
              const SharedPlace& barrier, const LoadOptions& options) {
  if (!check(tracer, box) || !check_place(tracer, destination, 128, {"a tensor copy", "dst"}) ||
      !check_choice(tracer, "cta_group", options.cta_group, 1, 2)) {
    return;
  }
  std::string spelling = concat("cp.async.bulk.tensor.", box.rank, "d.shared::cluster.global.",
                                options.mode, ".mbarrier::complete_tx::bytes");
  std::vector<Operand> operands{memory_at(tracer, destination), address_of_box(tracer, box),
                                memory_at(tracer, barrier)};
  if (!add_options(tracer, options, spelling, operands)) return;
  tracer.emit(spelling, operands, options.guard);
  const layout::TensorMap* map = tracer.described_map(box.map);
  const bool is_box = box.expected == box.rank && options.offsets.empty();
  if (map != nullptr && is_box && !options.multicast_mask && !tracer.has_error()) {
    tracer.note_copy(map->box_bytes());
  }
  check_side(tracer, box, destination, "dst", !options.offsets.empty());
}

void store_box(Tracer& tracer, std::string_view stem, const Box& box, const SharedPlace& source,
               const StoreOptions& options) {
  if (!check(tracer, box) || !check_place(tracer, source, 128, {"a tensor copy", "src"})) return;
  std::vector<Operand> operands{address_of_box(tracer, box), memory_at(tracer, source)};
  if (options.cache_policy) operands.push_back(*options.cache_policy);
  tracer.emit(
      concat(stem, options.mode, ".bulk_group", options.cache_policy ? ".L2::cache_hint" : ""),
      operands, options.guard);
  check_side(tracer, box, source, "src");
}

void prefetch_box(Tracer& tracer, const Box& box, const LoadOptions& options) {
  if (!check(tracer, box)) return;
  if (options.multicast_mask || options.cta_group != 1) {
    refuse(tracer, {"a prefetch", "multicast_mask|cta_group"}, "of one CTA",
           "a multicast mask or a CTA pair");
    return;
  }
  std::string spelling =
      concat("cp.async.bulk.prefetch.tensor.", box.rank, "d.L2.global.", options.mode);
  std::vector<Operand> operands{address_of_box(tracer, box)};
  if (!add_options(tracer, options, spelling, operands)) return;
  tracer.emit(spelling, operands, options.guard);
}

LoadOptions gathering(LoadOptions options) {
  options.mode = "tile::gather4";
  return options;
}

}  // namespace

void load(Tracer& tracer, std::size_t rank, const SharedPlace& destination, Reg map,
          std::span<const Index> coordinates, const SharedPlace& barrier,
          const LoadOptions& options) {
  load_box(tracer, box_of(rank, map, coordinates), destination, barrier, options);
}

void store(Tracer& tracer, std::size_t rank, Reg map, std::span<const Index> coordinates,
           const SharedPlace& source, const StoreOptions& options) {
  store_box(tracer, concat("cp.async.bulk.tensor.", rank, "d.global.shared::cta."),
            box_of(rank, map, coordinates, "dst"), source, options);
}

void reduce(Tracer& tracer, std::string_view op, std::size_t rank, Reg map,
            std::span<const Index> coordinates, const SharedPlace& source,
            const StoreOptions& options) {
  store_box(tracer, concat("cp.reduce.async.bulk.tensor.", rank, "d.global.shared::cta.", op, "."),
            box_of(rank, map, coordinates, "dst"), source, options);
}

void prefetch(Tracer& tracer, std::size_t rank, Reg map, std::span<const Index> coordinates,
              const LoadOptions& options) {
  prefetch_box(tracer, box_of(rank, map, coordinates), options);
}

void gather4(Tracer& tracer, const SharedPlace& destination, Reg map,
             std::span<const Index> coordinates, const SharedPlace& barrier,
             const LoadOptions& options) {
  load_box(tracer, rows_of(map, coordinates), destination, barrier, gathering(options));
}

void scatter4(Tracer& tracer, Reg map, std::span<const Index> coordinates,
              const SharedPlace& source, const StoreOptions& options) {
  StoreOptions scattering = options;
  scattering.mode = "tile::scatter4";
  store_box(tracer, "cp.async.bulk.tensor.2d.global.shared::cta.", rows_of(map, coordinates, "dst"),
            source, scattering);
}

void prefetch_gather4(Tracer& tracer, Reg map, std::span<const Index> coordinates,
                      const LoadOptions& options) {
  prefetch_box(tracer, rows_of(map, coordinates), gathering(options));
}

std::vector<Index> blocked_coordinates(Tracer& tracer, const Index& row, const Index& column) {
  constexpr int kShift = 6;  // 64 elements to a block
  if (column.is_constant()) return {0, row, column.value >> kShift};
  if (!check_word(tracer, column, {"the column of a tensor copy", "col"})) return {};
  const Reg block = tracer.reg(isa::Type::U32);
  tracer.emit("shr.u32", {block, *column.reg, Operand::integer(kShift)});
  return {0, row, block};
}

}  // namespace pyptx::build::tma
