// SPDX-License-Identifier: Apache-2.0
//
// Tensor copies: the bytes of a layout::TensorBox on their way, and what has to have a value.
#include <algorithm>
#include <bit>
#include <cstring>

#include "async/bulk_queue.h"
#include "machine/cluster.h"
#include "memory/relaxed.h"

namespace pyptx::emu {
namespace {

using layout::BoxRange;
using layout::BoxRow;

BoxRange inside(const BulkOp& op) { return op.inside(op.kind == BulkOp::Kind::TensorStore); }

u64 host_address(const BulkOp& op, const BoxRow& row, u64 i) {
  return op.global + op.global_offset(row, i);
}

/// Calls body(number, bytes) for each piece of a row that is contiguous in the tensor.
template <typename F>
void each_piece(const BulkOp& op, BoxRange range, F&& body) {
  const u64 count = op.column_step() == 1 ? range.end - range.begin : 1;
  for (u64 i = range.begin; i < range.end; i += count) body(i, count * op.map.unit_bytes());
}

/// A load rounds TF32 to the nearest, ties to even; a NaN becomes the canonical one. The types that
/// are named after flushing flush nothing on their way (both seen on an H200).
void round_tf32(layout::MapType type, std::byte* bytes, u64 count) {
  if (type != layout::MapType::TF32 && type != layout::MapType::TF32Ftz) return;
  for (u64 i = 0; i < count; ++i) {
    u32 bits = 0;
    std::memcpy(&bits, bytes + 4 * i, 4);
    const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
    bits = is_nan ? 0x7FFFE000U : (bits + 0xFFFU + ((bits >> 13) & 1U)) & ~0x1FFFU;
    std::memcpy(bytes + 4 * i, &bits, 4);
  }
}

constexpr u64 kLongestRow = u64{256} * 32;  // of the largest box, in the largest slices

/// Copies between a row's line and its swizzled chunks in shared memory.
template <typename F>
void each_chunk(const BulkOp& op, u32 offset, const BoxRow& row, F&& body) {
  const u64 row_bytes = op.map.row_bytes();
  for (u64 k = 0; k < row_bytes; k += 16) body(op.shared_offset(offset, row, k), k);
}

/// Whether bytes [first, first + bytes) of a row of the tile have values.
bool has_source(const BulkOp& op, const Cta& cta, u32 offset, const BoxRow& row, u64 first,
                u64 bytes) {
  bool is_good = true;
  each_chunk(op, offset, row, [&](u32 at, u64 k) {
    const u64 from = std::max(first, k);
    const u64 to = std::min(first + bytes, k + 16);
    if (!is_good || from >= to) return;
    const u32 begin = at + static_cast<u32>(from - k);
    const u32 end = at + static_cast<u32>(to - k);
    if (!cta.defined.holds(begin, end)) {
      is_good = fail_source(op, cta, cta.defined.missing(begin, end));
    }
  });
  return is_good;
}

/// Whether a reduction finds values to add to.
bool has_target(const BulkOp& op, const GlobalMemory& memory, u64 address, u64 bytes) {
  if (op.reduce == ReduceOp::None) return true;
  for (u64 at = 0; at < bytes; at += 32) {
    const u32 missing =
        memory.undefined(address + at, static_cast<u32>(std::min<u64>(bytes - at, 32)));
    if (missing == 0) continue;
    fail_uninitialised(*op.warp, *op.inst, op.lane, "tensor copy", Space::Global,
                       address + at + Warp::first_lane(missing));
    return false;
  }
  return true;
}

}  // namespace

std::vector<std::pair<u64, u64>> global_spans(const BulkOp& op) {
  const BoxRange range = inside(op);
  std::vector<std::pair<u64, u64>> spans;
  op.each_row([&](const BoxRow& row) {
    if (!row.in_bounds) return;
    each_piece(op, range,
               [&](u64 i, u64 bytes) { spans.emplace_back(host_address(op, row, i), bytes); });
  });
  return spans;
}

Ty element_type(layout::MapType type) {
  switch (type) {
    case layout::MapType::U32:
      return Ty::U32;
    case layout::MapType::S32:
      return Ty::S32;
    case layout::MapType::U64:
      return Ty::U64;
    case layout::MapType::S64:
      return Ty::S64;
    case layout::MapType::F16:
      return Ty::F16;
    case layout::MapType::BF16:
      return Ty::Bf16;
    case layout::MapType::F64:
      return Ty::F64;
    case layout::MapType::U8:
      return Ty::U8;
    case layout::MapType::U16:
      return Ty::U16;
    default:
      return Ty::F32;
  }
}

void load_tile(const BulkOp& op, std::byte* shared, u32 offset) {
  const u32 unit = op.map.unit_bytes();
  const u64 row_bytes = op.map.row_bytes();
  const BoxRange range = inside(op);
  const u64 fill = op.map.oob_nan ? layout::kOutsideNan : 0;
  std::byte line[kLongestRow];
  op.each_row([&](const BoxRow& row) {
    const BoxRange valid = row.in_bounds ? range : BoxRange{};
    if ((valid.end - valid.begin) * unit != row_bytes) {
      for (u64 k = 0; k < row_bytes; k += 8) std::memcpy(line + k, &fill, 8);
    }
    each_piece(op, valid, [&](u64 i, u64 bytes) {
      copy_from_global(line + i * unit,
                       reinterpret_cast<const std::byte*>(host_address(op, row, i)), bytes);
      round_tf32(op.map.type, line + i * unit, bytes / 4);
    });
    each_chunk(op, offset, row, [&](u32 at, u64 k) { std::memcpy(shared + at, line + k, 16); });
  });
}

bool store_tile(const BulkOp& op, const Cta& cta, u32 offset) {
  const u32 unit = op.map.unit_bytes();
  const BoxRange range = inside(op);
  const GlobalMemory& memory = *op.warp->cta->cluster->memory;
  const bool is_whole = cta.defined.holds(offset, offset + static_cast<u32>(op.tile_extent()));
  if (range.end == range.begin) return true;
  std::byte line[kLongestRow];
  bool is_good = true;
  op.each_row([&](const BoxRow& row) {
    if (!row.in_bounds || !is_good) return;
    each_chunk(op, offset, row,
               [&](u32 at, u64 k) { std::memcpy(line + k, cta.shared.data() + at, 16); });
    each_piece(op, range, [&](u64 i, u64 bytes) {
      auto* to = reinterpret_cast<std::byte*>(host_address(op, row, i));
      const std::byte* from = line + i * unit;
      is_good = is_good && (is_whole || has_source(op, cta, offset, row, i * unit, bytes)) &&
                has_target(op, memory, reinterpret_cast<u64>(to), bytes);
      if (!is_good) return;
      memory.define(reinterpret_cast<u64>(to), bytes);
      if (op.reduce == ReduceOp::None) {
        copy_to_global(to, from, bytes);
      } else {
        reduce(op.reduce, op.type, op.keeps_subnormals, to, from, bytes);
      }
    });
  });
  return is_good;
}

}  // namespace pyptx::emu
