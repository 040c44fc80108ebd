// SPDX-License-Identifier: Apache-2.0
//
// The variant for any host, and the choice among all.
#include <cstdlib>

#include "pyptx/emu/host.h"
#include "sem/variant.h"

namespace pyptx::emu {

namespace baseline {
#include "sem/variant.inc"
}  // namespace baseline

namespace {

/// PYPTX_EMU_VARIANT names one that is not the best, to compare them.
NamedVariant choose_variant() {
  const std::vector<NamedVariant> all = host_variants();
  if (const char* wanted = std::getenv("PYPTX_EMU_VARIANT")) {
    for (const NamedVariant& one : all) {
      if (one.name == wanted) return one;
    }
  }
  return all.back();
}

const NamedVariant& chosen() {
  static const NamedVariant kChosen = choose_variant();
  return kChosen;
}

const Variant& variant() { return *chosen().variant; }

}  // namespace

std::string_view host_variant() { return chosen().name; }

std::vector<NamedVariant> host_variants() {
  std::vector<NamedVariant> all{{"baseline", &baseline::kVariant}};
#if defined(PYPTX_EMU_HAS_X86_VARIANTS)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    all.push_back({"avx2", &avx2::kVariant});
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      static const Variant kWithAvx512 = [] {
        Variant with = avx2::kVariant;
        with.access = &avx512::access_handler;
        return with;
      }();
      all.push_back({"avx512", &kWithAvx512});
    }
  }
#endif
  return all;
}

Handler integer_handler(Op op, Ty type) { return variant().integer(op, type); }
Handler float_handler(Op op, Ty type, bool ftz) { return variant().floating(op, type, ftz); }
Handler compare_handler(Cmp cmp, Ty type) { return variant().compare(cmp, type); }
Handler choose_handler(u32 lane_size) { return variant().choose(lane_size); }
Handler function_handler(Fn fn, Ty type, bool ftz) { return variant().function(fn, type, ftz); }
Handler wide_function_handler(Fn fn, bool ftz) { return variant().wide_function(fn, ftz); }
Handler quotient_handler(bool full, bool ftz) { return variant().quotient(full, ftz); }
Handler access_handler(Space space, Ty type, u32 elements, bool is_load) {
  return variant().access(space, type, elements, is_load);
}
const PanelKernels& panel_kernels() { return *variant().panels; }

}  // namespace pyptx::emu
