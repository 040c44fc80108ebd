// SPDX-License-Identifier: Apache-2.0
//
// The elementwise families for any host, and the choice of the variant.
#include <cmath>

#include "lanes.h"
#include "sem/elementwise.h"
#include "sem/multiply.h"

namespace pyptx::emu {

namespace baseline {
#include "sem/elementwise.inc"
#include "sem/multiply.inc"
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
void multiply(const MultiplyArgs<float>& args) {
  has_avx2() ? avx2::multiply(args) : baseline::multiply(args);
}
void multiply(const MultiplyArgs<i32>& args) {
  has_avx2() ? avx2::multiply(args) : baseline::multiply(args);
}
#else
void multiply(const MultiplyArgs<float>& args) { baseline::multiply(args); }
void multiply(const MultiplyArgs<i32>& args) { baseline::multiply(args); }
Handler integer_handler(Op op, Ty type) { return baseline::integer_handler(op, type); }
Handler float_handler(Op op, Ty type, bool ftz) { return baseline::float_handler(op, type, ftz); }
#endif

}  // namespace pyptx::emu
