// SPDX-License-Identifier: Apache-2.0
//
// What a fault and a deadlock say: the place in the source, the block and thread, the address with
// the name of its variable, and for a deadlock who waits for what.
#include <bit>
#include <string>

#include "machine/cluster.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

std::string position(const std::array<u32, 3>& at) {
  return "(" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]) +
         ")";
}

std::string thread_name(const Warp& warp, u32 lane) {
  const Dim3& block = warp.cta->cluster->launch->block;
  const u32 thread = warp.id * kLanes + lane;
  return position({thread % block.x, thread / block.x % block.y, thread / block.x / block.y});
}

std::string lanes_text(u32 mask) {
  if (mask == kAllLanes) return "";
  if (std::popcount(mask) == 1) return " lane " + std::to_string(Warp::first_lane(mask));
  return " lanes " + hex(mask);
}

std::string transactions_text(const Mbarrier& barrier) {
  return std::to_string(barrier.came) + " of " + std::to_string(barrier.awaited) +
         " expected bytes have come";
}

std::string mbarrier_text(const Warp& warp, const Wait& wait) {
  const Cta& cta = *warp.cta->cluster->ctas[wait.rank];
  std::string text = "the mbarrier at " + describe_address(warp, Space::Shared, wait.address);
  const Mbarrier* barrier = cta.mbarriers.find(wait.address);
  if (barrier == nullptr) return text + ", which is not initialised";
  text += ": phase " + std::to_string(barrier->phase) + ", " + std::to_string(barrier->pending) +
          " of " + std::to_string(barrier->expected) + " arrivals pending";
  if (barrier->tx != 0) text += ", " + transactions_text(*barrier);
  return text;
}

std::string wait_text(const Warp& warp, const Split& split) {
  const Wait& wait = split.wait;
  switch (wait.kind) {
    case Wait::Kind::Converge:
      return "lanes " + hex(wait.mask & warp.live & ~split.mask) +
             " of its warp to come to the same instruction";
    case Wait::Kind::Barrier: {
      const NamedBarrier& barrier = warp.cta->barriers[wait.address];
      std::string text = "barrier " + std::to_string(wait.address) + ": " +
                         std::to_string(barrier.arrived) + " threads arrived";
      if (!barrier.whole_cta) text += " of " + std::to_string(barrier.expected);
      return text;
    }
    case Wait::Kind::ClusterBarrier:
      return "the cluster barrier";
    case Wait::Kind::Mbarrier:
      return mbarrier_text(warp, wait);
    case Wait::Kind::WgmmaGroups:
      return "the other warps of its warpgroup to issue wgmma";
    case Wait::Kind::TensorColumns:
      return std::to_string(wait.value) + " columns of tensor memory, of which " +
             std::to_string(warp.cta->tensor.free_columns()) + " are free";
    case Wait::Kind::TensorPair: {
      const TensorMemory& pair = warp.cta->cluster->ctas[warp.cta->rank & ~1U]->tensor;
      const auto& calls = wait.address == 1 ? pair.frees : pair.allocates;
      if (calls[(warp.cta->rank & 1U) ^ 1U].warp == nullptr) {
        return std::string("a warp of the peer CTA to ") +
               (wait.address == 1 ? "free" : "allocate") + " tensor memory with it";
      }
      return std::to_string(calls[0].columns) + " columns of tensor memory, of which " +
             std::to_string(pair.free_columns()) + " are free";
    }
    default:
      return "nothing";
  }
}

}  // namespace

std::string place_text(const Program& program, const Inst& inst) {
  const ir::Instruction& source = program.source(inst);
  std::string text = source.spelling->text;
  if (const auto place = program.module->locations.resolve(source.loc)) {
    text += " (" + place->file + ":" + std::to_string(place->line) + ")";
  }
  return text;
}

std::string hex(u64 value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[value & 15U]);
    value >>= 4;
  } while (value != 0);
  return "0x" + text;
}

std::string describe_address(const Warp& warp, Space space, u64 address) {
  std::string text = hex(address);
  if (space == Space::Global) return warp.cta->cluster->memory->describe(address);
  if (space != Space::Shared && space != Space::SharedCluster) return text;
  const u64 offset = address & kOffsetMask;
  for (const PlacedVariable& place : warp.program->variables) {
    if (place.space != Space::Shared || offset < place.offset) continue;
    const bool is_dynamic = place.bytes == 0;
    if (!is_dynamic && offset >= place.offset + place.bytes) continue;
    return text + " (" + place.name + "+" + std::to_string(offset - place.offset) + ")";
  }
  return text;
}

void Warp::place(const Inst& inst, u32 lane, diag::Diagnostic& diagnostic) const {
  const ir::Instruction& source = program->source(inst);
  diagnostic.loc = source.loc;
  diagnostic->place = program->module->locations.resolve(source.loc);
  std::string where = "in " + source.spelling->text + ", block " + position(cta->position) +
                      ", thread " + thread_name(*this, lane) + " (warp " + std::to_string(id) +
                      ", lane " + std::to_string(lane) + ")";
  diagnostic->notes.push_back(std::move(where));
}

Step Warp::fail(const Inst& inst, diag::Diagnostic diagnostic) {
  if (fault) return Step::Fault;
  place(inst, active == 0 ? 0 : first_lane(active), diagnostic);
  fault = std::make_unique<diag::Diagnostic>(std::move(diagnostic));
  return Step::Fault;
}

std::unique_ptr<diag::Diagnostic> Cluster::leak() {
  for (const auto& cta : ctas) {
    if (cta->tensor.allocations().empty()) continue;
    const TensorMemory::Allocation& left = cta->tensor.allocations().front();
    Warp& warp = cta->warps[0];
    warp.active = 0;
    warp.fail(*left.inst,
              diag::Diagnostic(diag::Kind::EmuTensorLeak,
                               {std::to_string(left.columns), std::to_string(left.first)}));
    return std::move(warp.fault);
  }
  return nullptr;
}

std::unique_ptr<diag::Diagnostic> Cluster::unbalanced() {
  for (const auto& cta : ctas) {
    const Mbarrier* barrier = cta->mbarriers.unbalanced();
    if (barrier == nullptr) continue;
    const u32 address = cta->rank << kRankShift | barrier->address;
    Warp& warp = cta->warps[0];
    warp.fail(*barrier->last_tx, diag::Diagnostic(diag::Kind::EmuTransactions,
                                                  {describe_address(warp, Space::Shared, address),
                                                   transactions_text(*barrier)}));
    return std::move(warp.fault);
  }
  return nullptr;
}

std::unique_ptr<diag::Diagnostic> Cluster::leftover() {
  using Check = std::unique_ptr<diag::Diagnostic> (Cluster::*)();
  constexpr std::pair<diag::Kind, Check> kChecks[] = {
      {diag::Kind::EmuTensorLeak, &Cluster::leak},
      {diag::Kind::EmuTransactions, &Cluster::unbalanced},
      {diag::Kind::EmuLaunchControl, &Cluster::lost},
      {diag::Kind::EmuExitPending, &Cluster::in_flight},
      {diag::Kind::EmuPeerCta, &Cluster::outlived}};
  for (const auto& [kind, check] : kChecks) {
    if (launch->options.is_ignored(kind)) continue;
    if (auto found = (this->*check)()) return found;
  }
  return nullptr;
}

std::unique_ptr<diag::Diagnostic> Cluster::in_flight() {
  return races ? races->unfinished() : nullptr;
}

std::unique_ptr<diag::Diagnostic> Cluster::outlived() {
  return races ? races->outlived() : nullptr;
}

Standing Cluster::standing() const {
  Standing standing;
  for (const auto& cta : ctas) {
    for (const Warp& warp : cta->warps) {
      for (u32 i = 0; i < warp.split_count && !warp.done(); ++i) {
        const Split& split = warp.splits[i];
        if (standing.count++ == 0) {
          standing.first = program->source(program->code[split.pc]).loc;
        }
        if (standing.count > Standing::kMostLines) continue;
        const bool is_waiting = split.wait.kind != Wait::Kind::None;
        standing.lines.push_back("block " + position(cta->position) + " warp " +
                                 std::to_string(warp.id) + lanes_text(split.mask) +
                                 (is_waiting ? " in " : " is at ") +
                                 place_text(*program, program->code[split.pc]) +
                                 (is_waiting ? " waits for " + wait_text(warp, split) : ""));
      }
    }
  }
  return standing;
}

diag::Diagnostic Cluster::deadlock() {
  diag::Diagnostic diagnostic(diag::Kind::EmuDeadlock, {});
  show(standing(), *program->module, diagnostic);
  return diagnostic;
}

}  // namespace pyptx::emu
