// SPDX-License-Identifier: Apache-2.0
//
// What a race is called and how it is told: the access, the address, the other access with its
// place in the source, and what would have ordered them.
#include <algorithm>
#include <string>

#include "cluster.h"
#include "label.h"
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

void RaceDetector::label(diag::Diagnostic& diagnostic, const Cta& cta, Stamp other,
                         bool other_wrote) const {
  if (other.pc() >= cluster_.program->code.size()) return;
  const Channel channel = channels_[other.actor()];
  const Program& program = *cluster_.program;
  const Inst& by = program.code[other.pc()];
  const std::string verb = other_wrote ? "written" : "read";
  diagnostic.labels.push_back(label_at(program, by, verb + " here"));
  std::string who = verb + " by " + program.source(by).spelling->text;
  const u32 owner = owners_[other.actor()];
  if (channel == Channel::Warp || channel == Channel::Copies || channel >= Channel::Tensor) {
    const u32 warps = static_cast<u32>(cta.warps.size());
    who += " of warp " + std::to_string(owner % warps);
    if (cluster_.ctas.size() > 1) who += " of CTA " + std::to_string(owner / warps);
    if (other.lane() < kLanes) who += ", lane " + std::to_string(other.lane());
  }
  diagnostic.notes.push_back(std::move(who));
}

bool RaceDetector::report(const View& view, u32 lane, const Place& place, Stamp other,
                          bool other_wrote, bool only_fence) {
  const bool other_is_async = channels_[other.actor()] != Channel::Warp;
  const diag::Kind kind =
      kind_of(view.is_async, view.is_write, other_is_async, other_wrote, only_fence);
  if (cluster_.launch->options.is_ignored(kind)) return true;
  const u32 address = place.cta.rank << kRankShift | place.offset;
  diag::Diagnostic diagnostic(
      kind, {std::string(view.what), describe_address(view.warp, Space::Shared, address)});
  label(diagnostic, place.cta, other, other_wrote);
  advise(diagnostic, view, lane, other, other_wrote);
  view.warp.active = 1U << (lane < kLanes ? lane : 0);
  view.warp.fail(view.inst, std::move(diagnostic));
  return false;
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
