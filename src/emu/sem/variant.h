// SPDX-License-Identifier: Apache-2.0
//
// What is compiled once for every instruction set of the host: the elementwise families,
// approximate functions, loads and stores, and the panels of matrices. A variant's file includes
// this, and with it every header that its parts need, before it names its target, so that no
// function shared with other files is compiled for a processor that may not be there.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "machine/cluster.h"
#include "memory/relaxed.h"
#include "numerics/half.h"
#include "numerics/panel.h"
#include "numerics/special_function_tables.h"
#include "race/detector.h"
#include "sem/arithmetic/compare.h"
#include "sem/arithmetic/elementwise.h"
#include "sem/arithmetic/functions.h"
#include "sem/lanes.h"
#include "sem/memory/access.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define PYPTX_EMU_HAS_X86_VARIANTS 1
#endif

namespace pyptx::emu {

struct Variant {
  Handler (*integer)(Op op, Ty type);
  Handler (*floating)(Op op, Ty type, bool ftz);
  Handler (*compare)(Cmp cmp, Ty type);
  Handler (*choose)(u32 lane_size);
  Handler (*function)(Fn fn, Ty type, bool ftz);
  Handler (*wide_function)(Fn fn, bool ftz);
  Handler (*quotient)(bool full, bool ftz);
  Handler (*access)(Space space, Ty type, u32 elements, bool is_load);
  const PanelKernels* panels;
};

namespace baseline {
extern const Variant kVariant;
}
namespace avx2 {
extern const Variant kVariant;
}
namespace avx512 {
Handler access_handler(Space space, Ty type, u32 elements, bool is_load);
}

struct NamedVariant {
  std::string_view name;
  const Variant* variant;
};
/// Those that this processor can run, the best last.
std::vector<NamedVariant> host_variants();

}  // namespace pyptx::emu
