// SPDX-License-Identifier: Apache-2.0
//
// One instruction of a warp that has a shadow. A use of what has no value is reported; everything
// else carries it on. How a computation carries is found out by the computation itself: it runs
// again with other values in the bits that have none, and the bits of its results that change have
// none either. So a product with zero, a mask or a select that does not take it defines a value,
// in every instruction that there is, and what is told to depend on nothing really does.
#include <algorithm>
#include <string>

#include "machine/cluster.h"
#include "sem/lanes.h"
#include "shadow/flow.h"
#include "shadow/memory_flow.h"

namespace pyptx::emu {
namespace {

/// The lanes of a register, out of a register file or a shadow.
struct Lanes {
  alignas(64) std::byte bytes[16 * kLanes];

  static std::size_t size(const RegisterPlace& place) {
    return place.bytes == 0 ? 4U : std::size_t{place.bytes} * kLanes;
  }
  void take(const std::byte* file, const RegisterPlace& place) {
    std::copy_n(file + place.offset, size(place), bytes);
  }
  void put(std::byte* file, const RegisterPlace& place) const {
    std::copy_n(bytes, size(place), file + place.offset);
  }
};

/// What is tried in the bits that have no value: nothing, everything, the ends of signed and of
/// floating-point ranges, and two patterns that numbers of any size are made of.
constexpr u32 kTrials = 8;
u64 trial_value(u32 trial, u32 bits) {
  const u64 sign = bits == 0 ? 0 : 1ULL << (bits - 1);
  const u64 greatest = bits == 64   ? 0x7FEFFFFFFFFFFFFFULL
                       : bits == 32 ? 0x7F7FFFFFULL
                                    : 0x7BFFULL;  // of f16
  switch (trial) {
    case 0:
      return 0;
    case 1:
      return ~0ULL;
    case 2:
      return sign - 1;
    case 3:
      return sign;
    case 4:
      return greatest;
    case 5:
      return greatest | sign;
    case 6:
      return 0x5555555555555555ULL;
    default:
      return 0xAAAAAAAAAAAAAAAAULL;
  }
}

class Computation {
 public:
  Computation(Warp& warp, const Inst& inst, const Flow& flow, u32 pc)
      : warp_(warp), shadow_(*warp.shadow), inst_(inst), flow_(flow), pc_(pc) {}

  Step run(u32 mask) {
    if (!reads_undefined(mask)) {
      const Step step = inst_.run(warp_, inst_, mask);
      if (step == Step::Next) define_results(mask);
      return step;
    }
    keep(flow_.sources, sources_);
    const u32 carry = warp_.carry;
    const Step step = inst_.run(warp_, inst_, mask);
    if (step != Step::Next) return step;
    keep(flow_.results, results_);
    const u32 carried = warp_.carry;
    differences_.assign(flow_.results.size(), {});
    const u32 active = warp_.active;
    const u32 trials = kTrials + static_cast<u32>(flow_.sources.size() + flow_.literals.size());
    for (u32 trial = 0; trial < trials; ++trial) {
      fill(trial);
      warp_.carry = carry ^ (trial % 2 == 1 ? shadow_.carry : 0);
      warp_.program->handlers[pc_](warp_, inst_, mask);
      compare(carried, mask);
      warp_.fault.reset();  // of a value that nobody has
      warp_.active = active;
      put_back(flow_.sources, sources_);
    }
    put_back(flow_.results, results_);
    warp_.carry = carried;
    settle(mask);
    return step;
  }

 private:
  const RegisterPlace& place(u32 id) const { return warp_.program->registers[id]; }

  bool reads_undefined(u32 mask) {
    for (const u32 id : flow_.sources) {
      if ((shadow_.undefined(place(id)) & mask) == 0) continue;
      birth_ = read_birth(warp_, id, pc_);
      return true;
    }
    if (!flow_.reads_carry || (shadow_.carry & mask) == 0) return false;
    birth_ = shadow_.carry_birth;
    return true;
  }

  void define_results(u32 mask) {
    for (const u32 id : flow_.results) shadow_.define(place(id), mask);
    if (flow_.writes_carry) shadow_.carry &= ~mask;
  }

  void keep(const std::vector<u32>& ids, std::vector<Lanes>& to) const {
    to.resize(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) to[i].take(warp_.registers, place(ids[i]));
  }
  void put_back(const std::vector<u32>& ids, const std::vector<Lanes>& from) {
    for (std::size_t i = 0; i < ids.size(); ++i) from[i].put(warp_.registers, place(ids[i]));
  }

  /// Puts the trial's values into the undefined bits of the sources: first those of `trial_value`,
  /// then what each other source holds and each literal is, because an equality is decided there.
  void fill(u32 trial) {
    for (std::size_t i = 0; i < flow_.sources.size(); ++i) {
      const RegisterPlace& to = place(flow_.sources[i]);
      const std::size_t other = trial - kTrials;
      const bool copies = trial >= kTrials && other < flow_.sources.size();
      u64 value = trial_value(trial % kTrials, std::min<u32>(to.bits, 64));
      if (trial >= kTrials + flow_.sources.size()) {
        value = flow_.literals[other - flow_.sources.size()];
      }
      const RegisterPlace& from = place(flow_.sources[copies ? other : i]);
      fill(to, copies && from.bytes == to.bytes ? &sources_[other] : nullptr, value);
    }
  }
  void fill(const RegisterPlace& to, const Lanes* from, u64 value) {
    if (to.bytes == 0) {
      const u32 undefined = shadow_.predicate(to.offset);
      u32 bits = (value & 1U) != 0 ? kAllLanes : 0;
      if (from != nullptr) std::copy_n(from->bytes, 4, reinterpret_cast<std::byte*>(&bits));
      u32& now = warp_.predicate(to.offset);
      now = (now & ~undefined) | (bits & undefined);
      return;
    }
    const auto lanes = [&]<typename T>(T* now, const T* undefined, u32 count) {
      const T* given = from == nullptr ? nullptr : reinterpret_cast<const T*>(from->bytes);
      for (u32 i = 0; i < count; ++i) {
        const T bits = given == nullptr ? static_cast<T>(value) : given[i];
        now[i] = (now[i] & ~undefined[i]) | (bits & undefined[i]);
      }
    };
    if (to.bytes == 4) {
      lanes(warp_.lanes32(to.offset), shadow_.lanes32(to.offset), kLanes);
    } else {
      lanes(warp_.lanes64(to.offset), shadow_.lanes64(to.offset), kLanes * to.bytes / 8U);
    }
  }

  /// Adds what differs from the kept results. A trial that faults makes all of them undefined.
  void compare(u32 carried, u32 mask) {
    for (std::size_t i = 0; i < flow_.results.size(); ++i) {
      const RegisterPlace& at = place(flow_.results[i]);
      const std::byte* now = warp_.registers + at.offset;
      for (std::size_t k = 0; k < Lanes::size(at); ++k) {
        differences_[i].bytes[k] |= warp_.fault ? std::byte{0xFF} : now[k] ^ results_[i].bytes[k];
      }
    }
    if (flow_.writes_carry) carry_ |= (warp_.carry ^ carried) & mask;
  }

  void settle(u32 mask) {
    define_results(mask);
    for (std::size_t i = 0; i < flow_.results.size(); ++i) {
      const RegisterPlace& at = place(flow_.results[i]);
      const auto lanes = [&]<typename T>(T* to, u32 planes) {
        const T* from = reinterpret_cast<const T*>(differences_[i].bytes);
        const T bits = at.bits >= 8 * sizeof(T) ? ~T{0} : (T{1} << at.bits) - 1;
        for (u32 k = 0; k < kLanes * planes; ++k) {
          if (((mask >> k % kLanes) & 1U) != 0) to[k] |= from[k] & bits;
        }
      };
      if (at.bytes == 0) {
        u32 bits = 0;
        std::copy_n(differences_[i].bytes, 4, reinterpret_cast<std::byte*>(&bits));
        shadow_.predicate(at.offset) |= bits & mask;
      } else if (at.bytes == 4) {
        lanes(shadow_.lanes32(at.offset), 1);
      } else {
        lanes(shadow_.lanes64(at.offset), at.bytes / 8U);
      }
      if ((shadow_.undefined(at) & mask) != 0) shadow_.birth(at) = birth_;
    }
    if (!flow_.writes_carry) return;
    shadow_.carry |= carry_;
    shadow_.carry_birth = birth_;
  }

  Warp& warp_;
  Shadow& shadow_;
  const Inst& inst_;
  const Flow& flow_;
  u32 pc_;
  Birth birth_;
  u32 carry_ = 0;
  std::vector<Lanes> sources_;
  std::vector<Lanes> results_;
  std::vector<Lanes> differences_;
};

/// Reports the first register of `ids` that has no value in a lane of `mask`.
Step check_uses(Warp& warp, const Inst& inst, const std::vector<u32>& ids, std::string_view role,
                u32 pc, u32 mask) {
  for (const u32 id : ids) {
    const u32 lanes = warp.shadow->undefined(warp.program->registers[id]) & mask;
    if (lanes == 0) continue;
    const ir::Register& declared = warp.program->function->registers[id];
    return report_undefined(warp, inst, Warp::first_lane(lanes),
                            std::string(role) + " '" + warp.program->module->name(declared) +
                                "' is a value that nobody wrote",
                            read_birth(warp, id, pc));
  }
  return Step::Next;
}

/// A use runs as ever, and its results have values.
Step run_use(Warp& warp, const Inst& inst, const Flow& flow, u32 mask) {
  const Step step = inst.run(warp, inst, mask);
  if (step == Step::Next || step == Step::Yield) {
    for (const u32 id : flow.results) warp.shadow->define(warp.program->registers[id], mask);
  }
  return step;
}

}  // namespace

Birth read_birth(Warp& warp, u32 id, u32 pc) {
  Birth& birth = warp.shadow->birth(warp.program->registers[id]);
  if (birth.pc == ~0U) birth.pc = pc;
  return birth;
}

Step run_carrying(Warp& warp, const Inst& inst) {
  const Program& program = *warp.program;
  const u32 pc = static_cast<u32>(&inst - program.code.data());
  const Flow& flow = program.flows->at(program, pc);
  u32 mask = warp.active;
  if (flow.guard != ~0U) {
    if (check_uses(warp, inst, {flow.guard}, "its guard", pc, mask) != Step::Next) {
      return Step::Fault;
    }
    const u32 predicate = warp.predicate(program.registers[flow.guard].offset);
    mask &= predicate ^ (program.source(inst).guard_negated ? kAllLanes : 0);
    if (mask == 0) return Step::Next;
  }
  // Of ldmatrix and stmatrix, the lowest lanes give the addresses.
  const u32 rows = program.accesses[pc].rows;
  const u32 addressing = rows == 0 || rows >= kLanes ? mask : (1U << rows) - 1;
  if (check_uses(warp, inst, flow.addresses, "its address", pc, addressing) != Step::Next ||
      check_uses(warp, inst, flow.uses, "its operand", pc, mask) != Step::Next) {
    return Step::Fault;
  }
  switch (flow.kind) {
    case Flow::Kind::Compute:
      return Computation(warp, inst, flow, pc).run(mask);
    case Flow::Kind::Load:
      return carry_load(warp, inst, flow, mask);
    case Flow::Kind::Store:
      return carry_store(warp, inst, flow, mask);
    case Flow::Kind::LoadMatrix:
      return carry_load_matrix(warp, inst, flow, mask);
    case Flow::Kind::StoreMatrix:
      return carry_store_matrix(warp, inst, flow, mask);
    case Flow::Kind::Product:
      return carry_product(warp, inst, flow, mask);
    case Flow::Kind::TensorLoad:
      for (const u32 id : flow.results) warp.shadow->define(program.registers[id], mask);
      return inst.run(warp, inst, mask);
    case Flow::Kind::TensorStore:
      return inst.run(warp, inst, mask);
    default:
      return run_use(warp, inst, flow, mask);
  }
}

}  // namespace pyptx::emu
