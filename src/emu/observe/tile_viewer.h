// SPDX-License-Identifier: Apache-2.0
//
// Looks at the tiles that a program shows, each before the instruction that stands behind it. A CTA
// makes a pass when the first of its warps comes by for that time.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "decode/program.h"
#include "pyptx/emu/shown.h"

namespace pyptx::emu {

struct Cta;

class TileViewer {
 public:
  /// The program counters that something is shown before.
  static std::vector<u32> places(const Program& program);

  /// The warp is about to run the instruction at `pc`; one that it waited at is no pass.
  void before(Warp& warp, u32 pc, u32 mask);
  void after(const Warp& warp, u32 pc, u32 mask, Step step);
  std::vector<ShownTile> take() { return std::move(shown_); }

 private:
  void look(Warp& warp, const ir::ShownTile& tile, u32 mask, u32 pass);

  std::map<std::pair<const Warp*, u32>, u32> waiting_;  // lanes, by program counter
  std::map<std::pair<const Warp*, const ir::ShownTile*>, u32> passes_;
  std::map<std::pair<const Cta*, const ir::ShownTile*>, u32> most_;
  std::vector<ShownTile> shown_;
};

}  // namespace pyptx::emu
