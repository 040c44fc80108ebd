// SPDX-License-Identifier: Apache-2.0
//
// The shadow of a warp, that of memory, and what is said about a use. See shadow.h.
#include "shadow/shadow.h"

#include <string>

#include "decode/label.h"
#include "machine/cluster.h"

namespace pyptx::emu {
namespace {

std::string birth_text(const Warp& warp, const Birth& birth) {
  if (birth.reg != ~0U) {
    const ir::Register& declared = warp.program->function->registers[birth.reg];
    return "'" + warp.program->module->name(declared) +
           "' is read here, and this thread has written nothing to it";
  }
  if (birth.space == Space::Tensor) {
    const TensorAddress at = TensorAddress::of(static_cast<u32>(birth.address));
    return "read here from " + tensor_text(at.lane, at.column) +
           " of tensor memory, where nothing was written";
  }
  const std::string_view space = birth.space == Space::Local    ? "local memory"
                                 : birth.space == Space::Global ? "global memory"
                                                                : "shared memory";
  return "read here from " + std::string(space) + " at " +
         describe_address(warp, birth.space, birth.address) + ", where nothing was written";
}

}  // namespace

Shadow::Shadow(const Warp& warp) : bits_(warp.program->register_bytes / sizeof(u64)) {
  for (std::size_t i = 0; i < warp.unwritten.size(); ++i) {
    const u32 lanes = warp.unwritten[i];
    if (lanes == 0) continue;
    const u32 id = warp.program->unwritten[i];
    const RegisterPlace& place = warp.program->registers[id];
    birth(place) = {~0U, id, Space::Generic, 0};
    if (place.bytes == 0) {
      predicate(place.offset) = lanes;
      continue;
    }
    for (u32 lane = 0; lane < kLanes; ++lane) {
      if (((lanes >> lane) & 1U) == 0) continue;
      if (place.bytes == 4) {
        lanes32(place.offset)[lane] = place.bits >= 32 ? ~0U : (1U << place.bits) - 1;
      } else {
        lanes64(place.offset)[lane] = ~0ULL;
        if (place.bytes == 16) lanes64(place.offset)[lane + kLanes] = ~0ULL;
      }
    }
  }
}

u32 Shadow::undefined(const RegisterPlace& place) {
  if (place.bytes == 0) return predicate(place.offset);
  u32 lanes = 0;
  if (place.bytes == 4) {
    const u32* bits = lanes32(place.offset);
    u32 any = 0;
    for (u32 lane = 0; lane < kLanes; ++lane) any |= bits[lane];
    if (any == 0) return 0;
    for (u32 lane = 0; lane < kLanes; ++lane) lanes |= (bits[lane] != 0 ? 1U : 0U) << lane;
    return lanes;
  }
  const u64* bits = lanes64(place.offset);
  for (u32 lane = 0; lane < kLanes * place.bytes / 8; ++lane) {
    lanes |= (bits[lane] != 0 ? 1U : 0U) << (lane % kLanes);
  }
  return lanes;
}

void Shadow::define(const RegisterPlace& place, u32 mask) {
  if (place.bytes == 0) {
    predicate(place.offset) &= ~mask;
    return;
  }
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (((mask >> lane) & 1U) == 0) continue;
    if (place.bytes == 4) {
      lanes32(place.offset)[lane] = 0;
    } else {
      lanes64(place.offset)[lane] = 0;
      if (place.bytes == 16) lanes64(place.offset)[lane + kLanes] = 0;
    }
  }
}

bool carries_undefined(Warp& warp) {
  if (warp.shadow) return true;
  warp.shadow = std::make_unique<Shadow>(warp);
  return false;
}

u32 undefined_bytes(Warp& warp, Space space, u64 address, u32 bytes, u32 lane) {
  if (space == Space::Generic) space = classify(address);
  switch (space) {
    case Space::Shared:
    case Space::SharedCluster: {
      const Cta& cta = *warp.cta->cluster->ctas[(address & 0xFFFFFFFFU) >> kRankShift];
      return cta.defined.undefined(static_cast<u32>(address) & kOffsetMask, bytes);
    }
    case Space::Local: {
      Cta& cta = *warp.cta;
      const std::byte* at = cta.local_of(warp.id, lane) + (address & ~kWindowMask);
      const u8* flags = cta.local_flags(at);
      u32 undefined = 0;
      for (u32 i = 0; i < bytes; ++i) undefined |= (flags[i] == 0 ? 1U : 0U) << i;
      return undefined;
    }
    case Space::Global:
      return warp.cta->cluster->memory->undefined(address, bytes);
    default:
      return 0;
  }
}

Step report_undefined(Warp& warp, const Inst& inst, u32 lane, std::string why, const Birth& birth) {
  const Program& program = *warp.program;
  diag::Diagnostic diagnostic(diag::Kind::EmuUninitialised,
                              {"'" + program.source(inst).spelling->text + "'", std::move(why)});
  if (birth.pc != ~0U) {
    const Inst& born = program.code[birth.pc];
    diagnostic->labels.push_back(label_at(program, born, birth_text(warp, birth)));
  }
  warp.active = 1U << lane;
  return warp.fail(inst, std::move(diagnostic));
}

}  // namespace pyptx::emu
