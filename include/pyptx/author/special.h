// SPDX-License-Identifier: Apache-2.0
//
// What the generated names of special registers are: ptx::special::tid.x() reads one.
#pragma once

#include <cstdint>
#include <source_location>

#include "pyptx/author/reg.h"
#include "pyptx/build/memory.h"
#include "pyptx/isa/ids.h"

namespace pyptx::author {

/// A special register, or with a component one number of it; a call reads it.
template <isa::SpecialRegister kWhich, std::uint8_t kComponent = 0>
struct Read {
  Reg operator()(std::source_location where = std::source_location::current()) const {
    return build::special(at(where), kWhich, kComponent);
  }
};

/// A special register of three numbers.
template <isa::SpecialRegister kWhich>
struct Components {
  static constexpr Read<kWhich, 1> x{};
  static constexpr Read<kWhich, 2> y{};
  static constexpr Read<kWhich, 3> z{};
};

}  // namespace pyptx::author
