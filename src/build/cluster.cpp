// SPDX-License-Identifier: Apache-2.0
//
// Cluster instructions. PTX ISA, "barrier.cluster", "mapa", "%cluster_ctarank".
#include "pyptx/build/cluster.h"

#include <string>

#include "arguments.h"
#include "pyptx/build/mbarrier.h"

namespace pyptx::build::cluster {
namespace {

using ir::Operand;

constexpr std::int64_t kMaxMask = 0xFFFF;  // a cluster has at most 16 CTAs

}  // namespace

void arrive(Tracer& tracer, bool aligned) {
  tracer.emit(aligned ? "barrier.cluster.arrive.aligned" : "barrier.cluster.arrive", {});
}

void wait(Tracer& tracer, bool aligned) {
  tracer.emit(aligned ? "barrier.cluster.wait.aligned" : "barrier.cluster.wait", {});
}

void sync(Tracer& tracer, bool aligned) {
  const Expansion here(tracer, "ptx.cluster.sync(...)");
  arrive(tracer, aligned);
  wait(tracer, aligned);
}

Reg rank(Tracer& tracer, std::optional<Reg> destination) {
  const Reg result = destination ? *destination : tracer.reg(isa::Type::U32);
  const auto special = isa::find_special_register("%cluster_ctarank");
  if (special) tracer.emit("mov.u32", {result, Operand::special(*special, 0)});
  return result;
}

Reg map_shared(Tracer& tracer, const SharedPlace& place, const Index& cta) {
  const Expansion here(tracer, "ptx.cluster.map_shared_u32(...)");
  const Reg remote = tracer.reg(isa::Type::U32);
  if (!check_word(tracer, cta, {"the CTA of map_shared_u32", "cta"})) return remote;
  tracer.emit("mapa.shared::cluster.u32", {remote, address_of(tracer, place), cta.operand()});
  return remote;
}

void arrive_multicast(Tracer& tracer, const SharedPlace& barrier, const Index& mask,
                      const Index& count) {
  const Expansion here(tracer, "ptx.cluster.arrive_multicast(...)");
  if (mask.is_constant()) {
    if (mask.value <= 0 || mask.value > kMaxMask) {
      refuse(tracer, {"the CTA mask", "mask"}, "1 to 65535 or a 32-bit register",
             std::to_string(mask.value));
      return;
    }
    for (int cta = 0; cta < 16; ++cta) {
      if ((mask.value >> cta) & 1) mbarrier::arrive_remote(tracer, barrier, cta, count);
    }
    return;
  }
  if (!check_word(tracer, mask, {"the CTA mask", "mask"})) return;
  const SharedPlace local = SharedPlace::of_register(address_of(tracer, barrier));
  const Reg left = tracer.reg(isa::Type::U32);
  const Reg cta = tracer.reg(isa::Type::U32);
  const Reg bit = tracer.reg(isa::Type::U32);
  const Reg is_set = tracer.reg(isa::Type::Pred);
  const Reg more = tracer.reg(isa::Type::Pred);
  tracer.emit("and.b32", {left, *mask.reg, Operand::integer(kMaxMask)});
  tracer.emit("mov.u32", {cta, Operand::integer(0)});
  const ir::LabelId next = tracer.label("arrive_multicast");
  tracer.place(next);
  tracer.emit("and.b32", {bit, left, Operand::integer(1)});
  tracer.emit("setp.ne.u32", {is_set, bit, Operand::integer(0)});
  mbarrier::arrive_remote(tracer, local, cta, count, {is_set, false});
  tracer.emit("shr.u32", {left, left, Operand::integer(1)});
  tracer.emit("add.u32", {cta, cta, Operand::integer(1)});
  tracer.emit("setp.ne.u32", {more, left, Operand::integer(0)});
  tracer.emit("bra", {Operand::label(next)}, {more, false});
}

}  // namespace pyptx::build::cluster
