// SPDX-License-Identifier: Apache-2.0
//
// The table of selectors.
#include "decode/select.h"

#include <array>

namespace pyptx::emu {
namespace {

constexpr Selector kSelectors[] = {
    nullptr,  // Sem::None
#define PYPTX_SEM(name) &select_##name,
#include "pyptx/isa/sems.def"
#undef PYPTX_SEM
};

}  // namespace

Selector selector(isa::Sem sem) {
  const auto index = static_cast<std::size_t>(sem);
  return index < std::size(kSelectors) ? kSelectors[index] : nullptr;
}

}  // namespace pyptx::emu
