// SPDX-License-Identifier: Apache-2.0
//
// tensormap.replace and tensormap.cp_fenceproxy (PTX ISA, "Data Movement and Conversion
// Instructions: tensormap.replace", "tensormap.cp_fenceproxy") on the emulator's own encoding.
#include <array>

#include "decode/select.h"
#include "machine/cluster.h"
#include "memory/relaxed.h"
#include "pyptx/emu/emulator.h"
#include "race/detector.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

enum class MapField : u8 {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  Interleave,
  Swizzle,
  SwizzleAtom,
  Fill
};
constexpr std::array<std::string_view, 11> kFields{
    "global_address", "rank",     "box_dim",           "global_dim",   "global_stride",
    "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity",
    "fill_mode"};

/// The manual numbers element types otherwise than the driver's enumeration.
constexpr std::array<layout::MapType, 13> kTypes{
    layout::MapType::U8,     layout::MapType::U16, layout::MapType::U32,  layout::MapType::S32,
    layout::MapType::U64,    layout::MapType::S64, layout::MapType::F16,  layout::MapType::F32,
    layout::MapType::F32Ftz, layout::MapType::F64, layout::MapType::BF16, layout::MapType::TF32,
    layout::MapType::TF32Ftz};

void replace_field(DecodedMap& decoded, MapField field, u32 ord, u64 value) {
  layout::TensorMap& map = decoded.map;
  switch (field) {
    case MapField::GlobalAddress:
      decoded.address = value;
      break;
    case MapField::Rank:  // one less than the rank
      map.rank = static_cast<u8>(value + 1);
      break;
    case MapField::BoxDim:
      map.box[ord] = static_cast<u32>(value);
      break;
    case MapField::GlobalDim:
      map.dims[ord] = static_cast<u32>(value);
      break;
    case MapField::GlobalStride:
      map.strides[ord] = value;
      break;
    case MapField::ElementStride:
      map.element_strides[ord] = static_cast<u32>(value);
      break;
    case MapField::ElementType:
      map.type = kTypes[value];
      break;
    case MapField::Swizzle:
      map.swizzle = static_cast<layout::Swizzle>(value);
      break;
    case MapField::Interleave:
      map.interleave = static_cast<layout::Interleave>(value);
      break;
    case MapField::Fill:
      map.oob_nan = value != 0;
      break;
    default:
      break;
  }
}

/// kind: MapField; imm is the address's offset; c: the new value (e: its lane bytes); target: ord.
Step replace(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    AccessRequest request;
    request.space = inst.space;
    request.address = lane_address(warp, inst, lane);
    request.bytes = 128;
    request.align = 64;
    request.lane = lane;
    request.is_write = true;
    request.what = "tensor map write";
    RaceDetector* races = warp.cta->cluster->races.get();
    if (races != nullptr && !races->change_map(warp, inst, lane, request.address)) {
      return Step::Fault;
    }
    std::byte* bytes = resolve(warp, inst, request);
    if (bytes == nullptr) return Step::Fault;
    std::optional<DecodedMap> decoded = decode_map(bytes);
    if (!decoded) {
      warp.active = 1U << lane;
      return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuTensorMap,
                                              {"the 128 bytes at " + hex(request.address) +
                                               " were not made by the emulator"}));
    }
    const u64 value = inst.e == 8 ? warp.lanes64(inst.c)[lane] : warp.lanes32(inst.c)[lane];
    if (static_cast<MapField>(inst.kind) == MapField::ElementType && value >= kTypes.size()) {
      warp.active = 1U << lane;
      return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuTensorMap,
                                              {"element type " + std::to_string(value) +
                                               " is not one of a tensor map's"}));
    }
    replace_field(*decoded, static_cast<MapField>(inst.kind), inst.target, value);
    const std::array<std::byte, 128> encoded = encode(decoded->map, decoded->address);
    copy_to_global(bytes, encoded.data(), encoded.size());
  }
  return Step::Next;
}

/// a: destination in global memory, b: source in shared memory (c: its lane bytes); e: Scope.
Step copy_map(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = warp.converge(inst, warp.live, mask);
  if (step != Step::Next) return step;
  const u32 lane = Warp::first_lane(mask);
  const u64 address = lane_address(warp, inst, lane);
  RaceDetector* races = warp.cta->cluster->races.get();
  if (races != nullptr && !races->change_map(warp, inst, lane, address)) return Step::Fault;
  AccessRequest request{Space::Global, address, 128, 128, lane, true, "tensor map copy"};
  std::byte* to = resolve(warp, inst, request);
  if (to == nullptr) return Step::Fault;
  request.space = Space::Shared;
  request.is_write = false;
  request.order = AccessOrder::Collective;
  request.address = (inst.c == 4 ? warp.lanes32(inst.b)[lane] : warp.lanes64(inst.b)[lane]) +
                    static_cast<u64>(static_cast<i64>(static_cast<i32>(inst.target)));
  const std::byte* from = resolve(warp, inst, request);
  if (from == nullptr) return Step::Fault;
  copy_to_global(to, from, 128);
  if (races != nullptr) races->copied_map(warp, address, static_cast<Scope>(inst.e));
  return Step::Next;
}

}  // namespace

Handler select_tensormap_replace(Lowering& low) {
  Inst& out = low.out;
  low.ignore({"replace", "tile", "b1024"});
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (low.is_word(kFields[i])) out.kind = static_cast<u8>(i);
  }
  const Space space = take_space(low);
  const Ty type = low.take_type();
  const MapField field = static_cast<MapField>(out.kind);
  if (low.count() < 2) return low.refuse("an operand is missing");
  const std::size_t last = low.count() - 1;
  if (last == 2) {
    const std::optional<i64> ord = low.literal(low.operand(1));
    const i64 limit = field == MapField::GlobalStride ? 3 : 4;
    if (!ord || *ord < 0 || *ord > limit) return low.refuse("its ordinal is not a dimension's");
    out.target = static_cast<u32>(*ord);
  }
  const std::optional<i64> choice = low.literal(low.operand(last));
  const bool is_plain = !choice || *choice == 0;
  if (field == MapField::SwizzleAtom && !is_plain) {
    return low.refuse("swizzles with other atoms than 16 bytes cannot run");
  }
  if (field == MapField::Swizzle && choice.value_or(0) > 3) {
    return low.refuse("the 96-byte swizzle cannot run");
  }
  if (field == MapField::ElementType && choice.value_or(0) > 12) {
    return low.refuse("elements of less than a byte cannot run");
  }
  set_address(low, low.address(low.operand(0)), space);
  out.c = low.source(last, type);
  out.e = lane_bytes(info(type).bits);
  return &replace;
}

Handler select_tensormap_copy(Lowering& low) {
  const std::string_view scope = low.take_any({"cta", "cluster", "gpu", "sys"});
  low.out.e = static_cast<u32>(scope == "cta"       ? Scope::Cta
                               : scope == "cluster" ? Scope::Cluster
                                                    : Scope::Gpu);
  low.ignore({"cp_fenceproxy", "global", "shared::cta", "tensormap::generic", "release", "sync",
              "aligned"});
  const AddressOperand from = low.address(low.operand(1));
  low.out.b = from.base;
  low.out.c = from.base_bytes;
  if (from.offset != static_cast<i32>(from.offset)) return low.refuse("its offset is too big");
  low.out.target = static_cast<u32>(from.offset);
  set_address(low, low.address(low.operand(0)), Space::Global);
  return &copy_map;
}

}  // namespace pyptx::emu
