// SPDX-License-Identifier: Apache-2.0
//
// Launches as Python objects: TensorMap, LaunchPlan and KernelImage, running them, and the callable
// Entry. Bindings only: a definition is one expression over interop, driver or emu.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/runtime.h"
#include "bind/tile.h"
#include "call/entry.h"
#include "call/guards.h"
#include "call/keywords.h"
#include "call/operator_base.h"
#include "call/table.h"
#include "errors.h"
#include "interrupts.h"
#include "pyptx/interop/compose.h"
#include "pyptx/interop/registry.h"
#include "pyptx/interop/run.h"
#include "pyptx/interop/scalar.h"
#include "trace/trace.h"

namespace pyptx::python {
namespace {

using interop::KernelImage;
using Extents = std::vector<std::uint64_t>;

std::shared_ptr<KernelImage> make_image(std::string ptx, std::string target,
                                        const driver::LaunchPlan& plan,
                                        const ModuleObject* module) {
  // A module that was read is judged with its text, before it runs; a traced one has been.
  const bool is_judged = module != nullptr && module->document == nullptr;
  return interop::Registry::instance().intern(std::move(ptx), std::move(target), plan,
                                              is_judged ? module->module : nullptr);
}

layout::TensorMap make_map(const std::string& dtype, const Extents& dims, const Extents& strides,
                           const std::vector<std::uint32_t>& box,
                           const std::optional<std::string>& swizzle, bool oob_nan,
                           const std::vector<std::uint32_t>& element_strides,
                           const std::string& interleave) {
  if (dims.empty() || dims.size() > 5 || strides.size() + 1 != dims.size() ||
      box.size() != dims.size()) {
    throw nb::value_error(
        "a map of n dimensions (1 to 5) takes n dims, n - 1 strides, n box sizes");
  }
  layout::TensorMap map;
  map.type = map_type(dtype);
  map.rank = static_cast<std::uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), map.dims.begin());
  std::copy(strides.begin(), strides.end(), map.strides.begin());
  std::copy(box.begin(), box.end(), map.box.begin());
  map.swizzle = map_swizzle(swizzle.value_or("none"));
  map.interleave = map_interleave(interleave);
  map.oob_nan = oob_nan;
  if (!element_strides.empty() && element_strides.size() != dims.size()) {
    throw nb::value_error("a map of n dimensions takes n element strides");
  }
  std::copy(element_strides.begin(), element_strides.end(), map.element_strides.begin());
  return map;
}

void set_im2col(layout::TensorMap& map, const std::vector<std::int32_t>& lower,
                const std::vector<std::int32_t>& upper, std::uint32_t channels,
                std::uint32_t pixels) {
  if (map.rank < 3 || lower.size() + 2 != map.rank || upper.size() + 2 != map.rank) {
    throw nb::value_error("an im2col map of n dimensions (3 to 5) takes corners of n - 2");
  }
  std::copy(lower.begin(), lower.end(), map.im2col.lower.begin());
  std::copy(upper.begin(), upper.end(), map.im2col.upper.begin());
  map.im2col.channels = channels;
  map.im2col.pixels = pixels;
}

driver::LaunchPlan make_plan(std::string entry, Triple grid, Triple block, Triple cluster,
                             std::uint32_t dynamic_shared, std::uint32_t tensor_count) {
  driver::LaunchPlan plan;
  plan.entry = std::move(entry);
  plan.grid = dim3(grid);
  plan.block = dim3(block);
  plan.cluster = dim3(cluster);
  plan.dynamic_shared = dynamic_shared;
  plan.tensor_count = tensor_count;
  return plan;
}

void add_slot(driver::LaunchPlan& plan, driver::ParamSlot::Kind kind, std::uint32_t tensor,
              std::uint32_t size, std::uint64_t bits, const layout::TensorMap& map) {
  const bool is_scalar = kind == driver::ParamSlot::Kind::Scalar;
  if (!is_scalar && tensor >= plan.tensor_count) {
    throw nb::index_error("the plan counts fewer tensors");
  }
  if (is_scalar && size != 1 && size != 2 && size != 4 && size != 8) {
    throw nb::value_error("a scalar takes 1, 2, 4 or 8 bytes");
  }
  plan.params.push_back({kind, tensor, size, bits, map});
}

using SlotBits = std::pair<std::uint64_t, std::uint32_t>;
using SlotMap = std::pair<std::uint32_t, layout::TensorMap>;

void add_parameters(driver::LaunchPlan& plan, const std::vector<SlotBits>& scalars,
                    const std::vector<SlotMap>& maps) {
  std::vector<interop::ScalarSlot> slots;
  slots.reserve(scalars.size());
  for (const auto& [bits, size] : scalars) slots.push_back({bits, size});
  std::vector<interop::MapSlot> mapped;
  mapped.reserve(maps.size());
  for (const auto& [tensor, map] : maps) mapped.push_back({tensor, map});
  interop::add_parameters(plan, slots, mapped, false);
}

/// The bits of a float or int as a parameter of that type, or None where it cannot hold the number.
std::optional<std::uint64_t> scalar_bits(const std::string& type, const nb::object& number) {
  const interop::ScalarType* found = interop::find_scalar_type(type);
  if (found == nullptr) throw nb::value_error(("no parameter has the type " + type).c_str());
  if (!PyFloat_Check(number.ptr()) && !PyLong_Check(number.ptr())) {
    throw nb::type_error("a scalar is a float or an int");
  }
  return bits_of(number.ptr(), *found);
}

nb::tuple scalar_types() {
  nb::list names;
  for (const interop::ScalarType& type : interop::scalar_types()) {
    names.append(nb::str(type.name.data(), type.name.size()));
  }
  return nb::tuple(names);
}

void launch(KernelImage& image, int device, std::uint64_t stream,
            const std::vector<std::uint64_t>& pointers, const std::vector<std::uint64_t>& scalars,
            std::optional<Triple> grid) {
  driver::LaunchArguments arguments{.pointers = pointers, .scalars = scalars};
  if (grid) arguments.grid = dim3(*grid);
  auto launched = [&] {
    nb::gil_scoped_release release;
    return interop::launch(image, device, reinterpret_cast<void*>(stream), arguments);
  }();
  unwrap(launched, image.locations().get());
}

nb::bytes cubin(KernelImage& image) {
  auto assembled = [&] {
    nb::gil_scoped_release release;
    return image.cubin();
  }();
  const std::string_view bytes = unwrap(std::move(assembled), image.locations().get());
  return nb::bytes(bytes.data(), bytes.size());
}

/// (cubin, log, compiler), with options of ptxas that launches do not have.
std::tuple<nb::bytes, std::string, std::string> assemble_image(const KernelImage& image,
                                                               std::vector<std::string> flags) {
  auto assembled = [&] {
    nb::gil_scoped_release release;
    return image.assemble(image.target(), std::move(flags));
  }();
  const driver::Assembled made = unwrap(std::move(assembled), image.locations().get());
  return {nb::bytes(made.cubin.data(), made.cubin.size()), made.log, made.compiler};
}

/// Loads the kernel for the current device and gives its CUkernel, which the driver takes as a
/// CUfunction.
std::uint64_t cu_function(KernelImage& image) {
  auto launcher = [&]() -> diag::Result<const driver::Launcher*> {
    nb::gil_scoped_release release;
    auto device = driver::current_device();
    if (!device) return device.failure();
    auto loaded = image.launcher(*device);
    if (!loaded) return loaded.failure();
    // Whoever launches it by itself has no other chance to be allowed that much shared memory.
    auto prepared = (*loaded)->kernel().prepare(*device, image.plan().dynamic_shared, 1);
    if (!prepared) return prepared.failure();
    return *loaded;
  }();
  return reinterpret_cast<std::uintptr_t>(
      unwrap(std::move(launcher), image.locations().get())->kernel().handle());
}

void bind_plan(nb::module_& m) {
  using driver::LaunchPlan;
  using SlotKind = driver::ParamSlot::Kind;
  nb::class_<layout::TensorMap>(m, "TensorMap")
      .def(
          "__init__",
          [](layout::TensorMap* self, const std::string& dtype, const Extents& dims,
             const Extents& strides, const std::vector<std::uint32_t>& box,
             const std::optional<std::string>& swizzle, bool oob_nan,
             const std::vector<std::uint32_t>& element_strides, const std::string& interleave) {
            new (self) layout::TensorMap(
                make_map(dtype, dims, strides, box, swizzle, oob_nan, element_strides, interleave));
          },
          nb::arg("dtype"), nb::arg("dims"), nb::arg("strides"), nb::arg("box"),
          nb::arg("swizzle") = "none", nb::arg("oob_nan") = false,
          nb::arg("element_strides") = std::vector<std::uint32_t>{}, nb::arg("interleave") = "none")
      .def("set_im2col", &set_im2col, nb::arg("lower"), nb::arg("upper"), nb::arg("channels"),
           nb::arg("pixels"))
      .def_prop_ro("box_bytes", &layout::TensorMap::box_bytes)
      .def("problem", &layout::TensorMap::problem, nb::arg("address") = 0)
      .def("__eq__", [](const layout::TensorMap& a, const layout::TensorMap& b) { return a == b; });

  nb::class_<LaunchPlan>(m, "LaunchPlan")
      .def(
          "__init__",
          [](LaunchPlan* self, std::string entry, Triple grid, Triple block, Triple cluster,
             std::uint32_t dynamic_shared, std::uint32_t tensor_count) {
            new (self) LaunchPlan(
                make_plan(std::move(entry), grid, block, cluster, dynamic_shared, tensor_count));
          },
          nb::arg("entry"), nb::arg("grid"), nb::arg("block"), nb::arg("cluster") = Triple{1, 1, 1},
          nb::arg("dynamic_shared") = 0, nb::arg("tensor_count") = 0)
      .def_static("from_text",
                  [](const std::string& text) { return unwrap(LaunchPlan::from_text(text)); })
      .def(
          "add_pointer",
          [](LaunchPlan& p, std::uint32_t t) { add_slot(p, SlotKind::Pointer, t, 8, 0, {}); },
          nb::arg("tensor"))
      .def(
          "add_scalar",
          [](LaunchPlan& p, std::uint64_t bits, std::uint32_t size) {
            add_slot(p, SlotKind::Scalar, 0, size, bits, {});
          },
          nb::arg("bits"), nb::arg("size"))
      .def(
          "add_map_pointer",
          [](LaunchPlan& p, std::uint32_t t, const layout::TensorMap& map) {
            add_slot(p, SlotKind::MapPointer, t, 8, 0, map);
          },
          nb::arg("tensor"), nb::arg("map"))
      .def(
          "add_map_value",
          [](LaunchPlan& p, std::uint32_t t, const layout::TensorMap& map) {
            add_slot(p, SlotKind::MapValue, t, 128, 0, map);
          },
          nb::arg("tensor"), nb::arg("map"))
      .def("add_parameters", &add_parameters, nb::arg("scalars"), nb::arg("maps"),
           "The parameters of a kernel: addresses of its tensors, then scalars (bits, size), then "
           "maps (tensor, map) behind pointers.")
      .def_prop_ro("text", &LaunchPlan::to_text)
      .def_ro("entry", &LaunchPlan::entry)
      .def_prop_ro("grid", [](const LaunchPlan& p) { return triple(p.grid); })
      .def_prop_ro("block", [](const LaunchPlan& p) { return triple(p.block); })
      .def_prop_ro("cluster", [](const LaunchPlan& p) { return triple(p.cluster); })
      .def_ro("dynamic_shared", &LaunchPlan::dynamic_shared)
      .def_ro("is_programmatic", &LaunchPlan::is_programmatic)
      .def_ro("tensor_count", &LaunchPlan::tensor_count)
      .def_prop_ro("argument_count", &driver::LaunchPlan::argument_count)
      .def_prop_ro("map_tensors", &driver::LaunchPlan::map_tensors)
      .def("__eq__", [](const LaunchPlan& a, const LaunchPlan& b) { return a == b; });
}

void bind_image(nb::module_& m) {
  nb::class_<KernelImage>(m, "KernelImage")
      .def(nb::new_(&make_image), nb::arg("ptx"), nb::arg("target"), nb::arg("plan"),
           nb::arg("module").none() = nb::none())
      .def_prop_ro("ptx", &KernelImage::ptx)
      .def_prop_ro("target", &KernelImage::target)
      .def_prop_ro("plan", &KernelImage::plan, nb::rv_policy::reference_internal)
      .def_prop_ro("hash", &KernelImage::hash)
      .def_prop_ro("handle",
                   [](const std::shared_ptr<KernelImage>& image) {
                     return interop::Registry::instance().handle_of(image);
                   })
      .def("cubin", &cubin)
      .def("assemble", &assemble_image, nb::arg("flags"))
      .def("cu_function", &cu_function);
  m.attr("SCALAR_TYPES") = scalar_types();
  m.attr("MAX_TENSORS") = driver::kMaxTensors;
  m.attr("MAX_SPECIALISATIONS") = kMaxSpecialisations;
  m.def("scalar_bits", &scalar_bits, nb::arg("type"), nb::arg("number"));
  m.def("launch", &launch, nb::arg("image"), nb::arg("device"), nb::arg("stream"),
        nb::arg("pointers"), nb::arg("scalars") = std::vector<std::uint64_t>{},
        nb::arg("grid") = nb::none());
}

}  // namespace

void bind_runtime(nb::module_& m) {
  bind_plan(m);
  bind_image(m);
  bind_tile(m);
  bind_signature(m);
  bind_interrupts(m);
  bind_emulator(m);
  bind_runtime_device(m);
  bind_cache(m);
  bind_runtime_handles(m);
  bind_saved(m);
  bind_open_kernel(m);
  bind_stream(m);
  bind_torch_op(m);
  bind_guards(m);
  bind_entry(m);
  bind_operator_base(m);
  bind_kernel_base(m);
}

}  // namespace pyptx::python
