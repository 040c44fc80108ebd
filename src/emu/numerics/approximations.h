// SPDX-License-Identifier: Apache-2.0
//
// The units that answer approximate functions. The manual bounds their error and leaves the bits to
// the machine, so a unit is a function from bits to bits, chosen by target: the one that rounds the
// exact value serves every target, and a table recorded from a GPU is one more row.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace pyptx::emu {

enum class Fn : u8 { Rcp, Sqrt, Rsqrt, Ex2, Lg2, Sin, Cos, Tanh };

/// The function in double.
double evaluate(Fn fn, double x);

struct ApproximationUnit {
  std::string_view name;
  bool (*serves)(const isa::Target& target) = nullptr;
  /// f32: the bits of the result for the bits of an input; flushing is the caller's.
  u32 (*single)(Fn fn, u32 bits) = nullptr;
};

/// The first that serves a target counts; the last serves all.
std::span<const ApproximationUnit> approximation_units();
u32 approximation_unit(const isa::Target& target);

}  // namespace pyptx::emu
