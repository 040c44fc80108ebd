// SPDX-License-Identifier: Apache-2.0
//
// The choice between the two ways to add, and the room that the exact one needs.
#include "numerics/panel.h"

#include <vector>

namespace pyptx::emu {

void multiply(const Panels& panels, Numerics numerics, const SumRule& rule) {
  const PanelKernels& kernels = panel_kernels();
  if (numerics == Numerics::Fast) {
    kernels.multiply(panels);
    return;
  }
  const std::size_t a = std::size_t{panels.a_count} * panels.depth * kVector;
  const std::size_t b = std::size_t{panels.b_count} * panels.depth * kVector * 2;
  // Kept from call to call: a matrix instruction comes every few microseconds.
  thread_local std::vector<i16> values;
  thread_local std::vector<u8> special;
  if (values.size() < a + b) values.resize(a + b);
  if (special.size() < panels.a_count + panels.b_count) {
    special.resize(panels.a_count + panels.b_count);
  }
  const Exponents exponents{values.data(), values.data() + a, special.data(),
                            special.data() + panels.a_count};
  kernels.find_exponents(panels, rule, exponents);
  kernels.multiply_exact(panels, rule, exponents);
}

}  // namespace pyptx::emu
