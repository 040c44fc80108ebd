// SPDX-License-Identifier: Apache-2.0
//
// The parts of pyptx._core.layout.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "bind/runtime.h"
#include "pyptx/layout/tcgen05_descriptor.h"

namespace pyptx::python {

/// "none", "32B", "64B", "128B" or "128B_32B". Raises ValueError.
layout::Tcgen05Swizzle tcgen05_mode(const std::string& name);

/// Descriptors, tensor maps and what a copy brings.
void bind_layout_descriptors(nb::module_& m);

}  // namespace pyptx::python
