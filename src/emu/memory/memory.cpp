// SPDX-License-Identifier: Apache-2.0
//
// Address resolution. See memory.h.
#include "memory/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "machine/cluster.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

std::string bytes_text(u64 bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string_view space_name(Space space) {
  switch (space) {
    case Space::Global:
      return "global";
    case Space::Shared:
      return "shared";
    case Space::SharedCluster:
      return "shared::cluster";
    case Space::Local:
      return "local";
    case Space::Param:
      return "param";
    case Space::Const:
      return "const";
    default:
      return "generic";
  }
}

Step out_of_bounds(Warp& warp, const Inst& inst, const AccessRequest& request,
                   const std::string& note) {
  diag::Diagnostic diagnostic(
      diag::Kind::EmuOutOfBounds,
      {std::string(space_name(request.space)) + " " + std::string(request.what),
       std::to_string(request.bytes), hex(request.address)});
  diagnostic->notes.push_back(note);
  warp.active = 1U << request.lane;
  return warp.fail(inst, std::move(diagnostic));
}

/// The judgement of memory that may have no value; false: the fault is recorded, or the access
/// starts again.
bool judge_undefined(Warp& warp, const Inst& inst, const AccessRequest& request, u64 address) {
  if (request.may_carry) return carries_undefined(warp);
  fail_uninitialised(warp, inst, request.lane, request.what, request.space, address);
  return false;
}

/// Of a buffer that started without a value; what is written gets one.
bool is_defined(Warp& warp, const Inst& inst, const AccessRequest& request) {
  const GlobalMemory& memory = *warp.cta->cluster->memory;
  if (request.order == AccessOrder::Elsewhere) return true;
  if (!request.is_write || request.reads_too) {
    for (u64 at = 0; at < request.bytes; at += 32) {
      const u32 count = static_cast<u32>(std::min<u64>(request.bytes - at, 32));
      const u32 missing = memory.undefined(request.address + at, count);
      if (missing == 0) continue;
      if (!judge_undefined(warp, inst, request, request.address + at + Warp::first_lane(missing))) {
        return false;
      }
      break;
    }
  }
  if (request.is_write) memory.define(request.address, request.bytes);
  return true;
}

std::byte* resolve_global(Warp& warp, const Inst& inst, const AccessRequest& request) {
  Cluster& cluster = *warp.cta->cluster;
  const std::ptrdiff_t found =
      cluster.memory->find(request.address, request.bytes, cluster.last_buffer);
  if (found < 0) {
    out_of_bounds(warp, inst, request, cluster.memory->nearest(request.address));
    return nullptr;
  }
  cluster.last_buffer = static_cast<std::size_t>(found);
  if (cluster.memory->is_tracked(cluster.last_buffer) && !is_defined(warp, inst, request)) {
    return nullptr;
  }
  if (request.is_write && !cluster.memory->buffer(cluster.last_buffer).writable &&
      !cluster.memory->is_writable(request.address, request.bytes)) {
    warp.active = 1U << request.lane;
    warp.fail(inst, diag::Diagnostic(diag::Kind::EmuReadOnly,
                                     {std::string(request.what),
                                      describe_address(warp, request.space, request.address)}));
    return nullptr;
  }
  RaceDetector* races = cluster.races.get();
  const bool is_here = request.order < AccessOrder::Asynchronous;
  if (races != nullptr && is_here && races->wants(cluster.last_buffer) &&
      !races->one(warp, inst, request)) {
    return nullptr;
  }
  return reinterpret_cast<std::byte*>(request.address);
}

/// An address of a space of its own: an offset, or the generic address of one.
bool is_in_window(u64 address, u64 window) {
  return (address & kWindowMask) == 0 || (address & kWindowMask) == window;
}

std::byte* resolve_local(Warp& warp, const Inst& inst, const AccessRequest& request) {
  const u64 offset = request.address & ~kWindowMask;
  const u64 size = warp.program->local_bytes;
  if (!is_in_window(request.address, kLocalWindow) || offset + request.bytes > size) {
    out_of_bounds(warp, inst, request,
                  "each thread has " + std::to_string(size) + " bytes of local memory");
    return nullptr;
  }
  Cta& cta = *warp.cta;
  std::byte* at = cta.local_of(warp.id, request.lane) + offset;
  u8* flags = cta.local_flags(at);
  if (!request.is_write || request.reads_too) {
    const void* missing = std::memchr(flags, 0, request.bytes);
    const u64 distance =
        missing == nullptr ? 0 : static_cast<u64>(static_cast<const u8*>(missing) - flags);
    if (missing != nullptr && !judge_undefined(warp, inst, request, request.address + distance)) {
      return nullptr;
    }
  }
  if (request.is_write) std::memset(flags, 1, request.bytes);
  return at;
}

std::byte* resolve_param(Warp& warp, const Inst& inst, const AccessRequest& request) {
  const u64 offset = request.address & ~kWindowMask;
  const auto params = warp.cta->cluster->memory->params();
  if (request.is_write || !is_in_window(request.address, kParamWindow) ||
      offset + request.bytes > params.size()) {
    out_of_bounds(
        warp, inst, request,
        "the parameter block has " + std::to_string(params.size()) + " bytes and is read-only");
    return nullptr;
  }
  return const_cast<std::byte*>(params.data()) + offset;
}

/// Whether an access may read, or write, what is there; false with the fault recorded.
bool is_sound(Warp& warp, const Inst& inst, const AccessRequest& request, Cta& cta, u32 offset) {
  RaceDetector* races = warp.cta->cluster->races.get();
  if (races != nullptr && request.order != AccessOrder::Asynchronous &&
      !races->one(warp, inst, request, cta, offset)) {
    return false;
  }
  const u32 end = offset + static_cast<u32>(request.bytes);
  if ((!request.is_write || request.reads_too) && !cta.defined.holds(offset, end)) {
    const u32 at = cta.defined.missing(offset, end);
    if (!judge_undefined(warp, inst, request, cta.rank << kRankShift | at)) return false;
  }
  if (request.is_write) cta.defined.add(offset, end);
  return true;
}

}  // namespace

void fail_uninitialised(Warp& warp, const Inst& inst, u32 lane, std::string_view what, Space space,
                        u64 address) {
  warp.active = 1U << (lane < kLanes ? lane : 0);
  const std::string where = space == Space::Global ? warp.cta->cluster->memory->place(address)
                                                   : describe_address(warp, space, address);
  warp.fail(inst,
            diag::Diagnostic(diag::Kind::EmuUninitialised,
                             {std::string(what) + " at " + where, "nothing was written there"}));
}

Space classify(u64 address) {
  switch (address & kWindowMask) {
    case kSharedWindow:
      return Space::SharedCluster;
    case kLocalWindow:
      return Space::Local;
    case kParamWindow:
      return Space::Param;
    default:
      return Space::Global;
  }
}

Variables::Variables(const Program& program)
    : module_(program.module), const_(program.const_bytes), global_(program.global_bytes) {
  initialise(const_, program, Space::Const);
  initialise(global_, program, Space::Global);
}

bool Variables::fit(const Program& program) const {
  return module_ == program.module && const_.size() == program.const_bytes &&
         global_.size() == program.global_bytes;
}

/// The value of one element; an address names a variable of the module, which decoding has checked.
u64 Variables::initial_value(const std::unordered_map<u32, const PlacedVariable*>& places,
                             const ir::InitialValue& given) const {
  if (!given.is_address()) return static_cast<u64>(given.value);
  const PlacedVariable* named = places.at(static_cast<u32>(given.symbol));
  const u64 base = named->space == Space::Const ? const_base() : global_base();
  const u64 address = base + named->offset + static_cast<u64>(given.value);
  return given.byte == 0 ? address : (address >> (8U * (given.byte - 1U))) & 0xFFU;
}

/// Rows that are given in part are packed as the assembler packs them: braces move nothing.
void Variables::initialise(AlignedBytes& storage, const Program& program, Space space) const {
  const auto places = program.addressable();
  for (const PlacedVariable& place : program.variables) {
    if (place.space != space) continue;
    const u32 element = isa::info(place.variable->type).bits / 8U;
    std::byte* to = storage.data() + place.offset;
    u64 left = place.bytes;
    for (const ir::InitialValue& given : place.variable->initializer) {
      if (given.is_brace()) continue;
      if (left < element) break;  // more values than elements: the verifier's to tell
      const u64 value = initial_value(places, given);
      std::memcpy(to, &value, std::min(element, 8U));
      to += element;
      left -= element;
    }
  }
}

std::shared_ptr<Variables> make_variables(const Program& program) {
  return std::make_shared<Variables>(program);
}

GlobalMemory::GlobalMemory(const Program& program, const Launch& launch)
    : variables_(launch.variables ? launch.variables : make_variables(program)),
      params_(launch.params.begin(), launch.params.end()) {
  std::vector<Buffer> all(launch.buffers.begin(), launch.buffers.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name.empty()) all[i].name = "buffer " + std::to_string(i);
  }
  const auto constants = variables_->constants();
  const auto globals = variables_->globals();
  if (!constants.empty()) {
    all.push_back({const_base(), constants.size(), false, "the module's constants"});
  }
  if (!globals.empty()) {
    all.push_back({global_base(), globals.size(), true, "the module's variables"});
  }
  std::ranges::stable_sort(all, {}, &Buffer::address);
  for (Buffer& buffer : all) {
    const u64 cells = buffer.bytes / kCell + 1;
    defined_.push_back(buffer.has_value ? nullptr : std::make_unique<std::atomic<u64>[]>(cells));
    buffers_.push_back(std::move(buffer));
  }
  for (const Buffer& buffer : buffers_) {
    may_change_.push_back(std::ranges::any_of(buffers_, [&](const Buffer& other) {
      return other.writable && other.address < buffer.address + buffer.bytes &&
             buffer.address < other.address + other.bytes;
    }));
  }
}

std::ptrdiff_t GlobalMemory::find(u64 address, u64 bytes, std::size_t hint) const {
  const auto holds = [&](const Buffer& buffer) {
    return address >= buffer.address && bytes <= buffer.bytes &&
           address - buffer.address <= buffer.bytes - bytes;
  };
  if (hint < buffers_.size() && holds(buffers_[hint])) return static_cast<std::ptrdiff_t>(hint);
  const auto after = std::ranges::upper_bound(buffers_, address, {}, &Buffer::address);
  // Buffers may overlap (two views of one tensor): look back while one could still reach here.
  for (auto it = after; it != buffers_.begin();) {
    --it;
    if (holds(*it)) return it - buffers_.begin();
  }
  return -1;
}

bool GlobalMemory::is_writable(u64 address, u64 bytes) const {
  return std::ranges::any_of(buffers_, [&](const Buffer& buffer) {
    return buffer.writable && address >= buffer.address && bytes <= buffer.bytes &&
           address - buffer.address <= buffer.bytes - bytes;
  });
}

std::string GlobalMemory::name(u64 address) const {
  const std::ptrdiff_t found = find(address, 1, buffers_.size());
  if (found < 0) return hex(address);
  const Buffer& buffer = buffers_[static_cast<std::size_t>(found)];
  return "byte " + std::to_string(address - buffer.address) + " of " + buffer.name;
}

std::string GlobalMemory::nearest(u64 address) const {
  if (address == 0) return "the address is null";
  if (buffers_.empty()) return "the launch has no buffers";
  u64 best = ~0ULL;
  std::string text;
  for (const Buffer& buffer : buffers_) {
    const u64 end = buffer.address + buffer.bytes;
    const u64 distance = address < buffer.address ? buffer.address - address
                         : address >= end         ? address - end
                                                  : 0;
    if (distance >= best) continue;
    best = distance;
    const std::string size = " (" + hex(buffer.address) + ", " + bytes_text(buffer.bytes) + ")";
    text = address < buffer.address ? bytes_text(distance) + " before " + buffer.name + size
           : address >= end ? bytes_text(distance) + " past the end of " + buffer.name + size
                            : "it begins in " + buffer.name + size + ", " +
                                  bytes_text(end - address) + " before its end";
  }
  return text;
}

std::string GlobalMemory::describe(u64 address) const {
  const std::ptrdiff_t found = find(address, 1, buffers_.size());
  if (found < 0) return hex(address);
  const Buffer& buffer = buffers_[static_cast<std::size_t>(found)];
  return hex(address) + " (" + buffer.name + "+" + std::to_string(address - buffer.address) + ")";
}

Cta* resolve_shared(Warp& warp, const Inst& inst, const AccessRequest& request, u32& offset) {
  Cluster& cluster = *warp.cta->cluster;
  const u32 rank = static_cast<u32>(request.address >> kRankShift);
  const bool is_local_space = request.space == Space::Shared;
  if (request.address >> 32 != 0 || rank >= cluster.ctas.size() ||
      (is_local_space && rank != warp.cta->rank)) {
    out_of_bounds(warp, inst, request,
                  is_local_space ? "this is not an address of the CTA's own shared memory"
                                 : "no CTA of the cluster has this address");
    return nullptr;
  }
  Cta& cta = *cluster.ctas[rank];
  offset = static_cast<u32>(request.address) & kOffsetMask;
  if (offset < kSharedReserved || offset + request.bytes > cta.shared.size()) {
    out_of_bounds(warp, inst, request,
                  offset < kSharedReserved
                      ? "null: the first kibibyte of shared memory is reserved"
                      : "the CTA's shared memory ends at " + hex(cta.shared.size()));
    return nullptr;
  }
  if (cta.done() && &cta != warp.cta &&
      !cluster.launch->options.is_ignored(diag::Kind::EmuPeerCta)) {
    warp.active = 1U << request.lane;
    warp.fail(inst, diag::Diagnostic(diag::Kind::EmuPeerCta,
                                     {std::string(request.what),
                                      describe_address(warp, Space::Shared, request.address),
                                      std::to_string(rank), "has ended"})
                        .fix("barrier.cluster.arrive and barrier.cluster.wait",
                             "behind the last access, in all CTAs"));
    return nullptr;
  }
  return &cta;
}

std::byte* resolve(Warp& warp, const Inst& inst, const AccessRequest& original) {
  AccessRequest request = original;
  if (request.space == Space::Generic) {
    request.space = classify(request.address);
    if (request.space == Space::SharedCluster) request.address &= 0xFFFFFFFFU;
  }
  if (request.address % request.align != 0) {
    warp.active = 1U << request.lane;
    warp.fail(inst, diag::Diagnostic(diag::Kind::EmuMisaligned,
                                     {std::string(request.what),
                                      describe_address(warp, request.space, request.address),
                                      std::to_string(request.align)}));
    return nullptr;
  }
  switch (request.space) {
    case Space::Shared:
    case Space::SharedCluster: {
      u32 offset = 0;
      Cta* cta = resolve_shared(warp, inst, request, offset);
      if (cta == nullptr) return nullptr;
      if (request.is_write && !cta->mbarriers.empty()) {
        if (const Mbarrier* hit = cta->mbarriers.overlap(offset, request.bytes)) {
          warp.active = 1U << request.lane;
          warp.fail(inst, diag::Diagnostic(diag::Kind::EmuMbarrier,
                                           {describe_address(warp, Space::Shared, hit->address),
                                            "a " + std::string(request.what) +
                                                " overwrites it while it is live"}));
          return nullptr;
        }
      }
      if (request.order != AccessOrder::Elsewhere && !is_sound(warp, inst, request, *cta, offset)) {
        return nullptr;
      }
      return cta->shared.data() + offset;
    }
    case Space::Local:
      return resolve_local(warp, inst, request);
    case Space::Param:
      return resolve_param(warp, inst, request);
    default:
      return resolve_global(warp, inst, request);
  }
}

}  // namespace pyptx::emu
