// SPDX-License-Identifier: Apache-2.0
//
// Handles of this process's registry, launches from raw parts, and the XLA targets. Bindings only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bind/runtime.h"
#include "errors.h"
#include "pyptx/interop/registry.h"
#include "pyptx/interop/xla.h"

namespace pyptx::python {
namespace {

interop::Registry& registry() { return interop::Registry::instance(); }

void register_launch_config(std::int64_t handle, std::uint64_t function, Triple grid, Triple block,
                            Triple cluster, std::uint32_t smem_bytes) {
  interop::RawLaunch launch;
  launch.function = function;
  launch.grid = dim3(grid);
  launch.block = dim3(block);
  launch.cluster = dim3(cluster);
  launch.dynamic_shared = smem_bytes;
  unwrap(registry().set_raw(handle, std::move(launch)));
}

void launch_raw(std::int64_t handle, std::uint64_t stream, std::vector<std::uint64_t> pointers) {
  int device = 0;
  unwrap(registry().check(handle, pointers.size()));
  device = unwrap(driver::current_device());
  auto launched = [&] {
    nb::gil_scoped_release release;
    return registry().launch(handle, device, reinterpret_cast<void*>(stream), pointers);
  }();
  unwrap(launched);
}

/// {"CUDA": {"instantiate": capsule, "prepare": capsule, "execute": capsule}, "cpu": {...}}
nb::dict xla_target_capsules() {
  if (interop::xla::handlers().empty()) {
    throw nb::import_error(std::string(interop::xla::unavailable_reason()).c_str());
  }
  nb::dict platforms;
  for (const interop::xla::Handlers& handlers : interop::xla::handlers()) {
    nb::dict stages;
    stages["instantiate"] = nb::capsule(handlers.instantiate);
    if (handlers.prepare != nullptr) stages["prepare"] = nb::capsule(handlers.prepare);
    stages["execute"] = nb::capsule(handlers.execute);
    platforms[nb::str(handlers.platform.data(), handlers.platform.size())] = stages;
  }
  return platforms;
}

}  // namespace

void bind_runtime_handles(nb::module_& m) {
  m.def("new_handle", [] { return registry().new_handle(); });
  m.def("drop_handle", [](std::int64_t handle) { registry().drop(handle); }, nb::arg("handle"));
  m.def(
      "image_of", [](std::int64_t handle) { return unwrap(registry().image(handle)); },
      nb::arg("handle"));
  m.def(
      "find_image", [](const std::string& hash) { return registry().find(hash); }, nb::arg("hash"));
  m.def("register_launch_config", &register_launch_config, nb::arg("handle"),
        nb::arg("cu_function"), nb::arg("grid"), nb::arg("block"),
        nb::arg("cluster") = Triple{1, 1, 1}, nb::arg("smem_bytes") = 0);
  m.def(
      "add_scalar_param",
      [](std::int64_t handle, std::uint64_t bits, std::uint32_t size) {
        unwrap(registry().add_scalar(handle, {bits, size}));
      },
      nb::arg("handle"), nb::arg("bits"), nb::arg("size") = 4);
  m.def(
      "add_tma_spec",
      [](std::int64_t handle, std::uint32_t index, std::uint64_t host, std::uint64_t device) {
        unwrap(registry().add_map(handle, {index, host, device}));
      },
      nb::arg("handle"), nb::arg("arg_index"), nb::arg("host_blob"), nb::arg("device_blob"));
  m.def("launch_raw", &launch_raw, nb::arg("handle"), nb::arg("stream"), nb::arg("pointers"));
  m.def("xla_target_capsules", &xla_target_capsules);
  m.def("xla_ffi_version", [] {
    const auto [major, minor] = interop::xla::version();
    return nb::make_tuple(major, minor);
  });
}

}  // namespace pyptx::python
