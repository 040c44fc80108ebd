// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the runtime bindings share: how Python spells dimensions, the element types and
// swizzles of tensor maps.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <string>

#include "pyptx/driver/plan.h"
#include "pyptx/layout/tensor_map.h"

namespace pyptx::python {

namespace nb = nanobind;

using Triple = std::array<std::uint32_t, 3>;
inline driver::Dim3 dim3(const Triple& t) { return {t[0], t[1], t[2]}; }
inline nb::tuple triple(const driver::Dim3& d) { return nb::make_tuple(d.x, d.y, d.z); }

/// By PTX name: "bf16", "e4m3" (moved as bytes). Raises ValueError.
layout::MapType map_type(const std::string& dtype);
/// "none", "32B", "64B", "128B". Raises ValueError.
layout::Swizzle map_swizzle(const std::string& name);
/// Of "none", "16B" or "32B"; throws ValueError.
layout::Interleave map_interleave(const std::string& name);

/// What the machine offers: driver, devices, compilers, descriptors.
void bind_runtime_device(nb::module_& m);
/// The disk cache of cubins.
void bind_cache(nb::module_& m);
/// Running an image on the emulator.
void bind_emulator(nb::module_& m);
/// Handles of this process, and the XLA targets.
void bind_runtime_handles(nb::module_& m);
/// Saved kernels, and loading an image before its first launch.
void bind_saved(nb::module_& m);
/// Kernels for any size.
void bind_open_kernel(nb::module_& m);
/// Memory, streams and events.
void bind_stream(nb::module_& m);
/// Kernels of torch graphs, and the operators that launch them.
void bind_torch_op(nb::module_& m);

}  // namespace pyptx::python
