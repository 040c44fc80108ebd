// SPDX-License-Identifier: Apache-2.0
//
// The host's rounding mode for the length of a scope.
#pragma once

#include <cfenv>

#include "decode/program.h"

namespace pyptx::emu {

class HostRounding {
 public:
  explicit HostRounding(Round mode) : is_changed_(mode != Round::Nearest) {
    if (!is_changed_) return;
    std::fesetround(mode == Round::Zero ? FE_TOWARDZERO
                    : mode == Round::Up ? FE_UPWARD
                                        : FE_DOWNWARD);
  }
  ~HostRounding() {
    if (is_changed_) std::fesetround(FE_TONEAREST);
  }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  bool is_changed_;
};

}  // namespace pyptx::emu
