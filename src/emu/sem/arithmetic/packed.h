// SPDX-License-Identifier: Apache-2.0
//
// The rarer elementwise handlers: packed 8- and 16-bit integers, saturating s32, predicates.
#pragma once

#include "sem/arithmetic/elementwise.h"

namespace pyptx::emu {

Handler packed_handler(Lowering& low, Op op, Ty type);
Handler saturating_handler(Op op, Ty type);
Handler relu_handler(Op op);
Handler predicate_logic_handler(Op op);

}  // namespace pyptx::emu
