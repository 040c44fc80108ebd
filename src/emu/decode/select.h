// SPDX-License-Identifier: Apache-2.0
//
// The dispatch: one selector per `sem` of the instruction table, generated from the table's list.
// A sem without a selector does not link.
#pragma once

#include "decode/lowering.h"
#include "pyptx/isa/ids.h"

namespace pyptx::emu {

#define PYPTX_SEM(name) Handler select_##name(Lowering& low);
#include "pyptx/isa/sems.def"
#undef PYPTX_SEM

using Selector = Handler (*)(Lowering&);
/// Null for a form that the table gives no semantics.
Selector selector(isa::Sem sem);

}  // namespace pyptx::emu
