// SPDX-License-Identifier: Apache-2.0
//
// atom and red (PTX ISA, "Parallel Synchronization and Communication Instructions: atom, red").
// Lanes take effect in lane order. Clusters that use global atomics run in turns on one thread, so
// a plain read-modify-write is atomic.
#include <cmath>
#include <cstring>

#include "cluster.h"
#include "lanes.h"
#include "select.h"

namespace pyptx::emu {
namespace {

template <typename T>
struct Plus {
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(a + b);
    else {
      const T sum = a + b;
      if (!std::isnan(sum)) return sum;
      return from_raw<T>(static_cast<Raw<T>>(sizeof(T) == 4 ? 0x7FFFFFFFU : 0xFFF8000000000000ULL));
    }
  }
};
/// atom.add.f32 on global memory flushes subnormal inputs and results; on shared it does not.
struct PlusFlush : Plus<float> {
  static float flush(float v) {
    const u32 bits = std::bit_cast<u32>(v);
    return (bits & 0x7F800000U) == 0 ? std::bit_cast<float>(bits & 0x80000000U) : v;
  }
  float flushed(float a, float b) const { return flush((*this)(flush(a), flush(b))); }
};

bool is_shared(const AccessRequest& request) {
  return request.space == Space::Shared || request.space == Space::SharedCluster ||
         (request.space == Space::Generic && (request.address & kWindowMask) == kSharedWindow);
}

template <typename Fn, typename T>
Step update(Warp& warp, const Inst& inst, u32 mask) {
  const Fn fn{};
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    AccessRequest request;
    request.space = inst.space;
    request.address = lane_address(warp, inst, lane);
    request.bytes = request.align = sizeof(T);
    request.lane = lane;
    request.is_write = true;
    request.what = "atomic";
    std::byte* at = resolve(warp, inst, request);
    if (at == nullptr) return Step::Fault;
    T old;
    std::memcpy(&old, at, sizeof(T));
    const T value = from_raw<T>(lanes_of<T>(warp, inst.b)[lane]);
    T next = fn(old, value);
    if constexpr (std::is_same_v<Fn, PlusFlush>) {
      // A generic address says only now where it points.
      if (!is_shared(request)) next = fn.flushed(old, value);
    }
    std::memcpy(at, &next, sizeof(T));
    if (inst.flag) lanes_of<T>(warp, inst.d)[lane] = to_raw<T>(old);
  }
  ++warp.cta->cluster->progress;
  return Step::Next;
}

Handler choose(Lowering& low, bool has_result) {
  Inst& out = low.out;
  low.ignore({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys"});
  low.ignore_prefix("L2::");
  const Space space = take_space(low);
  if (space != Space::Shared && space != Space::SharedCluster) low.program().is_ordered = true;
  const Ty type = low.take_type();
  if (!low.take("add")) return low.refuse("only .add can run");
  out.flag = has_result && low.operand(0).kind != ir::OperandKind::Sink;
  const std::size_t first = has_result ? 1 : 0;
  if (out.flag) out.d = low.dest(0, type);
  set_address(low, low.address(low.operand(first)), space);
  out.b = low.source(first + 1, type);
  switch (type) {
    case Ty::U32:
    case Ty::S32:
      return &update<Plus<u32>, u32>;
    case Ty::U64:
    case Ty::S64:
      return &update<Plus<u64>, u64>;
    case Ty::F32:
      return &update<PlusFlush, float>;
    case Ty::F64:
      return &update<Plus<double>, double>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler select_atom(Lowering& low) { return choose(low, true); }
Handler select_red(Lowering& low) { return choose(low, false); }

}  // namespace pyptx::emu
