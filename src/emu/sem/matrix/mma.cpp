// SPDX-License-Identifier: Apache-2.0
//
// mma and wmma (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions") in the panels of
// numerics/panel.h: dense, of floats and of integers that have more than one bit.
#include "sem/matrix/mma.h"

#include "sem/matrix/mma_tile.h"

namespace pyptx::emu {

const MmaForm& mma_form(const Warp& warp, const Inst& inst) {
  return *warp.program->mma_forms[inst.target];
}

Step converge_whole(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = warp.converge(inst, warp.live, mask);
  if (step != Step::Next || mask == kAllLanes) return step;
  return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuConvergence,
                                          {warp.program->source(inst).spelling->text,
                                           "not all 32 lanes of the warp are here"}));
}

Step run_mma(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const MmaForm& form = mma_form(warp, inst);
  const bool is_integer = info(form.a).is_integer;
  const Numerics numerics =
      is_integer ? Numerics::Fast : warp.cta->cluster->launch->options.numerics;
  const SumRule rule = rule_of(warp, form, form.depth);
  const bool apart = numerics == Numerics::Exact && rule.takes_pairs_apart;
  MmaTile tile(warp, inst, form);
  for (u32 i = 0; i < form.row_blocks; ++i) {
    tile.read_a(i, apart);
    for (u32 j = 0; j < form.column_blocks; ++j) {
      tile.read_b(j, apart);
      tile.read_c(i, j);
      multiply(tile.panels(form.depth), numerics, rule);
      tile.keep_d(i, j);
    }
  }
  tile.write_d();
  return Step::Next;
}

}  // namespace pyptx::emu
