// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "trace/values.h"

namespace pyptx::python {

/// Python's operators, and what is said where Python asks a register for a value.
void bind_operators(nb::class_<build::Reg>& cls);
void bind_operators(nb::class_<NegPred>& cls);
void bind_operators(nb::class_<PipeRef>& cls);

}  // namespace pyptx::python
