// SPDX-License-Identifier: Apache-2.0
//
// The table of element types.
#include "numerics/element.h"

#include <array>

namespace pyptx::emu {
namespace {

constexpr std::array<ElementInfo, 16> kElements{{
    {"", 0, 0, false},
    {"f16", 16, -14, false},
    {"bf16", 16, -126, false},
    {"tf32", 32, -126, false},
    {"e4m3", 8, -6, false},
    {"e5m2", 8, -14, false},
    {"e2m3", 8, 0, false},
    {"e3m2", 8, -2, false},
    {"e2m1", 8, 0, false},
    {"", 4, 0, false},
    {"s8", 8, 0, true},
    {"u8", 8, 0, true},
    {"s4", 4, 0, true},
    {"u4", 4, 0, true},
    {"b1", 1, 0, true},
    {"f64", 64, 0, false},
}};

}  // namespace

const ElementInfo& info(Element element) { return kElements[static_cast<std::size_t>(element)]; }

Element find_element(std::string_view name) {
  for (std::size_t i = 1; i < kElements.size(); ++i) {
    if (kElements[i].name == name && !name.empty()) return static_cast<Element>(i);
  }
  return Element::None;
}

}  // namespace pyptx::emu
