// SPDX-License-Identifier: Apache-2.0
//
// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and their prefetches (PTX ISA, "Data Movement
// and Conversion Instructions: Tensor copy"): tiles, im2col, four gathered or scattered rows. The
// rows themselves are async/tensor_copy.cpp.
#include "decode/select.h"
#include "machine/cluster.h"
#include "pyptx/emu/emulator.h"
#include "race/detector.h"
#include "sem/lanes.h"
#include "sem/memory/bulk.h"

namespace pyptx::emu {
namespace {

/// What prefetches are: a copy that is checked and not made.
constexpr u8 kPrefetch = 0xFF;

bool bad_map(Warp& warp, const Inst& inst, u32 lane, const std::string& why) {
  warp.active = 1U << lane;
  warp.fail(inst, diag::Diagnostic(diag::Kind::EmuTensorMap, {why}));
  return false;
}

bool read_map(Warp& warp, const Inst& inst, u32 lane, BulkOp& op) {
  AccessRequest request{Space::Generic,
                        bulk_address(warp, inst, kOther, lane),
                        128,
                        64,
                        lane,
                        false,
                        "tensor map read",
                        AccessOrder::Asynchronous};
  const Space space = classify(request.address);
  if (space == Space::SharedCluster || space == Space::Local) {
    return bad_map(warp, inst, lane,
                   "it lies in " + std::string(space == Space::Local ? "local" : "shared") +
                       " memory, where no copy finds it; tensormap.cp_fenceproxy takes it to "
                       "global memory");
  }
  const std::byte* bytes = resolve(warp, inst, request);
  if (bytes == nullptr) return false;
  if (space == Space::Global) {
    RaceDetector* races = warp.cta->cluster->races.get();
    if (races != nullptr && !races->use_map(warp, inst, lane, request.address)) return false;
    op.map_address = request.address;
  }
  const std::optional<DecodedMap> decoded = decode_map(bytes);
  if (!decoded) {
    return bad_map(warp, inst, lane,
                   "the 128 bytes at " + hex(request.address) +
                       " were not made by the emulator; a map made by a CUDA driver is opaque");
  }
  op.map = decoded->map;
  op.global = decoded->address;
  if (op.map.rank != inst.element_bytes) {
    return bad_map(warp, inst, lane,
                   "it has " + std::to_string(op.map.rank) + " dimensions, the instruction names " +
                       std::to_string(inst.element_bytes));
  }
  if (op.map.is_im2col() != (op.mode == TileMode::Im2col)) {
    return bad_map(warp, inst, lane,
                   op.map.is_im2col() ? "it is an im2col map, the instruction copies tiles"
                                      : "it is a tiled map, the instruction copies by im2col");
  }
  if (const auto problem = op.map.problem(op.global)) return bad_map(warp, inst, lane, *problem);
  if (op.mode == TileMode::Rows4 && op.map.box[1] != 1) {
    return bad_map(warp, inst, lane, "four rows are gathered one by one: box[1] must be 1");
  }
  op.type = element_type(op.map.type);
  if (op.reduce != ReduceOp::None && !can_reduce(op.reduce, op.type)) {
    return bad_map(warp, inst, lane, "its elements cannot be combined by this reduction");
  }
  return true;
}

/// A device answers a first coordinate that is not a multiple of 16 bytes with "illegal
/// instruction" (no manual says so; an H200 does, inside the tensor and outside).
bool check_first_coordinate(Warp& warp, const Inst& inst, u32 lane, const BulkOp& op) {
  const i64 bytes = i64{op.coordinates[0]} * op.map.unit_bytes();
  if (bytes % 16 == 0) return true;
  warp.active = 1U << lane;
  warp.fail(inst, diag::Diagnostic(
                      diag::Kind::EmuOperandValue,
                      {warp.program->source(inst).spelling->text,
                       "coordinate 0 is " + std::to_string(op.coordinates[0]) + ", " +
                           std::to_string(bytes) + " bytes; it must be a multiple of 16 bytes"}));
  return false;
}

/// The global bytes that the in-bounds part touches must lie in buffers.
bool check_global(Warp& warp, const Inst& inst, u32 lane, const BulkOp& op, bool is_write) {
  if (op.mode != TileMode::Tile) {
    for (const auto& [address, bytes] : global_spans(op)) {
      const AccessRequest row{Space::Global, address,  bytes,         1,
                              lane,          is_write, "tensor copy", AccessOrder::Elsewhere};
      if (resolve(warp, inst, row) == nullptr) return false;
    }
    return true;
  }
  bool is_huge = false;  // a map may name a tensor larger than any memory
  u64 low = op.global;
  u64 high = op.global + op.map.unit_bytes();
  for (u32 d = 0; d < op.map.rank; ++d) {
    const i64 first = std::max<i64>(op.coordinates[d], 0);
    const i64 box = op.map.box_count(d) == 1 ? 1 : op.map.box[d];
    i64 last = std::min<i64>(op.coordinates[d] + box, static_cast<i64>(op.map.dims[d])) - 1;
    if (last < first) return true;  // all of it is out of bounds: no access
    if (d == 0 && is_write) last |= std::max(16 / op.map.unit_bytes(), 1U) - 1;  // whole pieces
    const u64 stride = d == 0 ? op.map.unit_bytes() : op.map.strides[d - 1];
    u64 span = 0;
    is_huge = is_huge || __builtin_mul_overflow(static_cast<u64>(last), stride, &span) ||
              __builtin_add_overflow(high, span, &high);
    low += static_cast<u64>(first) * stride;
  }
  const u64 bytes = is_huge ? ~0ULL : high - low;
  const AccessRequest request{Space::Global, low,      bytes,         1,
                              lane,          is_write, "tensor copy", AccessOrder::Elsewhere};
  return resolve(warp, inst, request) != nullptr;
}

/// kind: BulkOp::Kind or kPrefetch; kind2: ReduceOp; element_bytes: dimensions; e: TileMode; c:
/// offsets of im2col in the list.
Step tensor(Warp& warp, const Inst& inst, u32 mask) {
  Cluster& cluster = *warp.cta->cluster;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    BulkOp op = issued_by(warp, inst, lane);
    op.mode = static_cast<TileMode>(inst.e);
    if (!read_map(warp, inst, lane, op)) return Step::Fault;
    const u32 count = op.mode == TileMode::Rows4 ? 5U : op.map.rank;
    for (u32 d = 0; d < count; ++d) {
      op.coordinates[d] = static_cast<i32>(bulk_word(warp, inst, kCoordinates + d, lane));
    }
    for (u32 d = 0; d < inst.c; ++d) {
      op.offsets[d] = bulk_word(warp, inst, kCoordinates + count + d, lane) & 0xFFFFU;
    }
    if (!check_first_coordinate(warp, inst, lane, op)) return Step::Fault;
    op.bytes = op.tile_bytes();
    op.extent = op.tile_extent();
    const bool is_load = op.kind != BulkOp::Kind::TensorStore;
    if (!check_global(warp, inst, lane, op, !is_load)) return Step::Fault;
    if (inst.kind == kPrefetch) continue;
    AccessRequest request{is_load ? Space::SharedCluster : Space::Shared,
                          bulk_address(warp, inst, kShared, lane),
                          op.extent,
                          128,
                          lane,
                          is_load,
                          "tensor copy"};
    if (!shared_place(warp, inst, request, op.shared)) return Step::Fault;
    if (is_load && !set_completion(warp, inst, lane, op)) return Step::Fault;
    op.has_group = !is_load;
    if (!cluster.bulk.issue(cluster, op)) return Step::Fault;
  }
  return Step::Next;
}

std::optional<TileMode> take_mode(Lowering& low) {
  const std::string_view mode =
      low.take_any({"tile", "tile::gather4", "tile::scatter4", "im2col", "im2col_no_offs"});
  if (mode.empty() && (low.has("im2col::w") || low.has("im2col::w::128"))) return std::nullopt;
  if (mode.starts_with("tile::")) return TileMode::Rows4;
  return mode.starts_with("im2col") ? TileMode::Im2col : TileMode::Tile;
}

enum class Direction : u8 { Load, Store, Prefetch };

Handler choose(Lowering& low, Direction direction) {
  Inst& out = low.out;
  low.ignore({"async", "bulk", "tensor", "reduce", "prefetch", "global", "L2", "bulk_group",
              "mbarrier::complete_tx::bytes", "applypriority", "gather"});
  const std::optional<TileMode> mode = take_mode(low);
  const std::string_view dim = low.take_any({"1d", "2d", "3d", "4d", "5d"});
  if (!mode) return low.refuse("im2col::w is not emulated");
  if (dim.empty()) return nullptr;
  out.element_bytes = static_cast<u8>(dim[0] - '0');
  out.e = static_cast<u32>(*mode);
  out.flag = low.take("multicast::cluster");
  out.flag2 = low.take("cta_group::2");
  low.ignore({"shared::cluster", "shared::cta", "cta_group::1"});
  low.ignore_prefix("L2::");
  const bool is_load = direction == Direction::Load;
  out.kind = direction == Direction::Prefetch
                 ? kPrefetch
                 : static_cast<u8>(is_load ? BulkOp::Kind::TensorLoad : BulkOp::Kind::TensorStore);
  const ir::Operand& map = low.operand(is_load ? 1 : 0);
  const auto parts = low.children(map);
  if (map.kind != ir::OperandKind::Address || parts.size() != 2) return nullptr;
  std::vector<u32> list;
  list.reserve(kCoordinates + 8);
  if (direction == Direction::Prefetch) {
    list.insert(list.end(), {0, 4, 0});
  } else {
    add_bulk_address(list, low, low.operand(is_load ? 0 : 1));
  }
  add_bulk_address(list, low, map);
  std::size_t next = direction == Direction::Prefetch ? 1 : 2;
  if (is_load) {
    add_bulk_address(list, low, low.operand(next++));
  } else {
    list.insert(list.end(), {0, 4, 0});
  }
  // im2col offsets come before the mask.
  std::span<const ir::Operand> offsets;
  if (*mode == TileMode::Im2col && next < low.count() &&
      low.operand(next).kind == ir::OperandKind::Vector) {
    offsets = low.children(low.operand(next++));
    if (offsets.size() + 2U > out.element_bytes) return low.refuse("it has too many offsets");
  }
  list.push_back(0);
  list.push_back(out.flag ? low.source(next, Ty::U16) : 0);
  const auto coordinates = low.children(parts[1]);
  const std::size_t needed = *mode == TileMode::Rows4 ? 5 : out.element_bytes;
  if (coordinates.size() != needed) {
    return low.refuse("it needs " + std::to_string(needed) + " coordinates");
  }
  for (const ir::Operand& coordinate : coordinates) {
    list.push_back(low.source(coordinate, Ty::S32));
  }
  for (const ir::Operand& offset : offsets) list.push_back(low.source(offset, Ty::U16));
  out.c = static_cast<u32>(offsets.size());
  low.set_list(list);
  return &tensor;
}

}  // namespace

Handler select_cp_async_bulk_tensor(Lowering& low) {
  return choose(low, low.has("bulk_group") ? Direction::Store : Direction::Load);
}

Handler select_cp_reduce_async_bulk_tensor(Lowering& low) {
  low.out.kind2 = static_cast<u8>(take_reduce_op(low));
  low.program().is_ordered = true;
  return choose(low, Direction::Store);
}

Handler select_bulk_prefetch_tensor(Lowering& low) { return choose(low, Direction::Prefetch); }

}  // namespace pyptx::emu
