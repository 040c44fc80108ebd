// SPDX-License-Identifier: Apache-2.0
//
// What a race is called and how it is told: the access, the address, the other access with its
// place in the source, and what would have ordered them.
#include <algorithm>
#include <string>

#include "decode/label.h"
#include "machine/cluster.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

diag::Kind kind_of(bool is_async, bool is_write, bool other_is_async, bool other_wrote,
                   bool only_fence) {
  if (only_fence) return diag::Kind::EmuProxyFence;
  if (other_is_async && other_wrote && !is_async) return diag::Kind::EmuMissingWait;
  if (other_is_async && other_wrote && !is_write) return diag::Kind::EmuMissingWait;
  if (other_is_async || (is_async && !other_wrote)) return diag::Kind::EmuReusedEarly;
  return diag::Kind::EmuRace;
}

}  // namespace

void RaceDetector::label(diag::Diagnostic& diagnostic, const Reader& other,
                         bool other_wrote) const {
  const u32 pc = other.stamp.pc();
  if (pc + 1 >= cluster_.program->code.size()) return;
  const Program& program = *cluster_.program;
  const Inst& by = program.code[pc];
  const std::string verb = other_wrote ? "written" : "read";
  diagnostic->labels.push_back(label_at(program, by, verb + " here"));
  std::string who = verb + " by " + program.source(by).spelling->text;
  const bool is_own = other.cluster == cluster_.index;
  const u32 actor = other.stamp.actor();
  const Channel channel = is_own                  ? channels_[actor]
                          : actor < warps_.size() ? Channel::Warp
                                                  : Channel::Transactions;
  const u32 warps = static_cast<u32>(cluster_.ctas[0]->warps.size());
  if (channel == Channel::Warp || channel == Channel::Copies || channel >= Channel::Tensor) {
    const u32 owner = is_own ? owners_[actor] : actor;
    who += " of warp " + std::to_string(owner % warps);
    if (is_own && cluster_.ctas.size() > 1) who += " of CTA " + std::to_string(owner / warps);
    if (!is_own) who += " of block " + block_text(other.cluster, owner / warps);
    if (other.stamp.lane() < kLanes) who += ", lane " + std::to_string(other.stamp.lane());
  } else if (!is_own) {
    who += " of cluster " + std::to_string(other.cluster);
  }
  diagnostic->notes.push_back(std::move(who));
}

/// "(1,0,0)": where CTA `rank` of a cluster lies in the grid.
std::string RaceDetector::block_text(u64 cluster, u32 rank) const {
  const std::array<u32, 3> at = block_of(*cluster_.launch, cluster, rank);
  return "(" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]) +
         ")";
}

std::string RaceDetector::text_of(const View& view, const StampedWord& place) const {
  if (place.cells.page != nullptr) return cluster_.memory->name(place.address());
  const u64 address = u64{place.cells.cta->rank} << kRankShift | place.address();
  return describe_address(view.warp, Space::Shared, address);
}

bool RaceDetector::report(const View& view, u32 lane, const StampedWord& place, const Reader& other,
                          bool other_wrote, bool only_fence) {
  const bool is_own = other.cluster == cluster_.index;
  const u32 actor = other.stamp.actor();
  const bool other_is_async = is_own ? !is_thread(actor) : actor >= warps_.size();
  const diag::Kind kind =
      kind_of(view.is_async, view.is_write, other_is_async, other_wrote, only_fence);
  if (cluster_.launch->options.is_ignored(kind)) return true;
  diag::Diagnostic diagnostic(kind, {std::string(view.what), text_of(view, place)});
  label(diagnostic, other, other_wrote);
  advise(diagnostic, view, lane, other, other_wrote);
  view.warp.active = 1U << (lane < kLanes ? lane : 0);
  view.warp.fail(view.inst, std::move(diagnostic));
  return false;
}

/// An access between two variables.
bool RaceDetector::report_gap(const View& view, u32 lane, const StampedWord& place) {
  const Warp& warp = view.warp;
  const auto& variables = warp.program->variables;
  const u64 at = place.address();
  const auto is_before = [&](const PlacedVariable& one) {
    return one.space == Space::Shared && one.offset + one.bytes <= at;
  };
  diag::Diagnostic diagnostic(diag::Kind::EmuOutOfBounds,
                              {"shared " + std::string(view.what), "4", text_of(view, place)});
  const PlacedVariable* last = nullptr;
  for (const PlacedVariable& one : variables) {
    if (is_before(one) && (last == nullptr || one.offset > last->offset)) last = &one;
  }
  if (last != nullptr) {
    diagnostic->notes.push_back("it is at " + last->name + "+" + std::to_string(at - last->offset) +
                                ", and '" + last->name + "' has " + std::to_string(last->bytes) +
                                " bytes");
  }
  view.warp.active = 1U << (lane < kLanes ? lane : 0);
  view.warp.fail(view.inst, std::move(diagnostic));
  return false;
}

bool RaceDetector::warn(diag::Kind kind, const View& view, u32 lane, const StampedWord& place,
                        const Reader& other, bool other_wrote) {
  if (cluster_.launch->options.is_ignored(kind)) return true;
  if (!warned_.insert(u64{view.pc} << 32 | other.stamp.pc()).second) return true;
  diag::Diagnostic diagnostic(kind, {std::string(view.what), text_of(view, place)});
  label(diagnostic, other, other_wrote);
  advise(diagnostic, view, lane, other, other_wrote);
  view.warp.place(view.inst, lane < kLanes ? lane : 0, diagnostic);
  cluster_.warnings.push_back(std::move(diagnostic));
  return true;
}

std::unique_ptr<diag::Diagnostic> RaceDetector::unfinished() {
  const auto is_seen = [&](const WarpState& state, Stamp stamp) {
    return state.all.base.covers(stamp) || (state.some_mask != 0 && state.some.base.covers(stamp));
  };
  const auto tell = [&](Warp& warp, const Inst& inst) {
    warp.active = 0;
    const std::string& text = cluster_.program->source(inst).spelling->text;
    warp.fail(inst, diag::Diagnostic(diag::Kind::EmuExitPending, {text}));
    return std::move(warp.fault);
  };
  for (const auto& cta : cluster_.ctas) {
    for (Warp& warp : cta->warps) {
      const WarpState& state = warps_[number(warp)];
      for (u32 lane = 0; lane < kLanes; ++lane) {
        if (state.bulk[lane] == 0) continue;
        const Stamp last = Stamp::make(state.bulk[lane], state.bulk_last[lane], 0, 0, 0);
        if (!is_seen(state, last)) return tell(warp, *state.bulk_inst[lane]);
      }
    }
    for (const auto& [address, phase] : ctas_[cta->rank].mbarriers) {
      if (phase.copy == nullptr) continue;
      const Stamp last = Stamp::make(phase.actor, phase.landed, 0, 0, 0);
      const bool is_known =
          std::ranges::any_of(warps_, [&](const WarpState& state) { return is_seen(state, last); });
      if (!is_known) return tell(cta->warps[0], *phase.copy);
    }
  }
  return nullptr;
}

}  // namespace pyptx::emu
