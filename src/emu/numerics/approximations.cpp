// SPDX-License-Identifier: Apache-2.0
//
// See approximations.h. The exact value rounded once is inside every bound of the manual, and gives
// the special values of its tables.
#include "numerics/approximations.h"

#include <bit>
#include <cmath>

#include "numerics/convert.h"

namespace pyptx::emu {
namespace {

bool serves_all(const isa::Target&) { return true; }

u32 rounded_single(Fn fn, u32 bits) {
  return static_cast<u32>(narrow(evaluate(fn, std::bit_cast<float>(bits)), kF32, Round::Nearest));
}

constexpr ApproximationUnit kUnits[] = {{"rounded", &serves_all, &rounded_single}};

}  // namespace

double evaluate(Fn fn, double x) {
  switch (fn) {
    case Fn::Rcp:
      return 1.0 / x;
    case Fn::Sqrt:
      return std::sqrt(x);
    case Fn::Rsqrt:
      return 1.0 / std::sqrt(x);
    case Fn::Ex2:
      return std::exp2(x);
    case Fn::Lg2:
      return std::log2(x);
    case Fn::Sin:
      return std::sin(x);
    case Fn::Cos:
      return std::cos(x);
    case Fn::Tanh:
      return std::tanh(x);
  }
  return x;
}

std::span<const ApproximationUnit> approximation_units() { return kUnits; }

u32 approximation_unit(const isa::Target& target) {
  for (u32 i = 0; i < std::size(kUnits); ++i) {
    if (kUnits[i].serves(target)) return i;
  }
  return std::size(kUnits) - 1;
}

}  // namespace pyptx::emu
