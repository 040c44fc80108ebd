// SPDX-License-Identifier: Apache-2.0
//
// The elementwise families and the panels of matrices for any host, and the choice of the variant.
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "lanes.h"
#include "numerics/panel.h"
#include "sem/elementwise.h"

namespace pyptx::emu {

namespace baseline {
#include "numerics/panels.inc"
#include "sem/elementwise.inc"
}  // namespace baseline

#if defined(PYPTX_EMU_HAS_AVX2)
namespace {
bool has_avx2() {
  static const bool kHas = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return kHas;
}
}  // namespace

Handler integer_handler(Op op, Ty type) {
  return has_avx2() ? avx2::integer_handler(op, type) : baseline::integer_handler(op, type);
}
Handler float_handler(Op op, Ty type, bool ftz) {
  return has_avx2() ? avx2::float_handler(op, type, ftz) : baseline::float_handler(op, type, ftz);
}
const PanelKernels& panel_kernels() {
  return has_avx2() ? avx2::kPanelKernels : baseline::kPanelKernels;
}
#else
const PanelKernels& panel_kernels() { return baseline::kPanelKernels; }
Handler integer_handler(Op op, Ty type) { return baseline::integer_handler(op, type); }
Handler float_handler(Op op, Ty type, bool ftz) { return baseline::float_handler(op, type, ftz); }
#endif

}  // namespace pyptx::emu
