// SPDX-License-Identifier: Apache-2.0
//
// `_core.Entry`: a kernel as a callable. A call whose tensors match a prepared specialisation goes
// from the interpreter to the driver (or the emulator) through C++ alone; every other call goes to
// slow_path(args, kwargs), in Python. It judges nothing and explains nothing.
#pragma once

#include <nanobind/nanobind.h>

namespace pyptx::python {

/// Makes the type and adds it to the module.
void bind_entry(nanobind::module_& m);
/// _core.KernelBase, what a kernel object derives from (kernel_base.cpp).
void bind_kernel_base(nanobind::module_& m);

}  // namespace pyptx::python
