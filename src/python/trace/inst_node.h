// SPDX-License-Identifier: Apache-2.0
//
// ptx.inst.<opcode>.<modifier>...(operands, pred=None): any instruction by its own name. A step is
// made once and kept as an attribute, and a node looks its spelling up once, so that writing an
// instruction again costs attribute reads and the conversion of its operands.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "pyptx/isa/spelling.h"

namespace pyptx::python {

struct InstNode {
  std::string text;                         // "ld.global.f32"; empty: ptx.inst itself
  const isa::Spelling* spelling = nullptr;  // once it was called
};

/// Python's spelling of a step as PTX has it: global_ -> global, shared__cta -> shared::cta,
/// _2d -> 2d, sp__2_4 -> sp::2:4.
std::string ptx_name(std::string_view attribute);

void bind_inst(nanobind::module_& m);

}  // namespace pyptx::python
