// SPDX-License-Identifier: Apache-2.0
//
// pyptx._core.smem: shared allocations, slices and elements. See pyptx/build/shared.h.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string>

#include "bind/async.h"
#include "pyptx/build/mbarrier.h"
#include "pyptx/build/shared.h"
#include "trace/operands.h"
#include "trace/trace.h"
#include "trace/values.h"

namespace pyptx::python {
namespace {

using namespace nb::literals;
using build::SharedView;
using build::Tracer;

/// The offset in the dynamic array, None where a register decides.
nb::object byte_offset(const build::SharedPlace& place) {
  const Trace* trace = innermost_trace();
  if (!place.block) return nb::none();
  if (trace == nullptr || trace->tracer.tag() != place.owner) return nb::none();
  const auto block = static_cast<std::int64_t>(trace->tracer.shared_block(*place.block).offset);
  return nb::int_(block + place.offset);
}

build::SharedOptions options_of(Tracer& tracer, nb::handle swizzle,
                                std::optional<std::int64_t> align,
                                const std::optional<std::string>& name) {
  build::SharedOptions options;
  options.swizzle = to_swizzle(tracer, swizzle);
  if (align && (*align <= 0 || *align > (1 << 17))) {
    tracer.report(diag::Diagnostic(diag::Kind::BadArgument,
                                   {"align", "a power of two up to 131072", std::to_string(*align)})
                      .about("align"));
  } else if (align) {
    options.align = static_cast<std::uint32_t>(*align);
  }
  if (name) options.name = *name;
  return options;
}

SharedAlloc alloc(nb::handle type, nb::handle shape, nb::handle swizzle,
                  std::optional<std::int64_t> align, const std::optional<std::string>& name) {
  const isa::Type element = to_type(type);
  return traced([&](Tracer& t) {
    const auto extents = to_shape(t, shape);
    return SharedAlloc{build::allocate(t, element, extents, options_of(t, swizzle, align, name))};
  });
}

SharedAlloc wgmma_tile(nb::handle type, nb::handle shape, nb::handle major,
                       std::optional<std::int64_t> align, const std::optional<std::string>& name) {
  const isa::Type element = to_type(type);
  return traced([&](Tracer& t) {
    const auto extents = to_shape(t, shape);
    return SharedAlloc{build::allocate_tile(t, element, extents, to_major(t, major),
                                            options_of(t, nb::none(), align, name))};
  });
}

nb::object get_view_item(const SharedView& view, nb::handle key) {
  return traced([&](Tracer& t) -> nb::object {
    const auto indices = to_indices(t, key, {"an index of shared memory", "key"});
    if (indices.size() == view.shape.size()) return nb::cast(build::load_element(t, view, indices));
    return nb::cast(SharedSlice{build::slice(t, view, indices)});
  });
}

void set_view_item(const SharedView& view, nb::handle key, nb::handle value) {
  traced([&](Tracer& t) {
    const auto indices = to_indices(t, key, {"an index of shared memory", "key"});
    // A number takes the element's type, as it does beside a register.
    const bool is_number = PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr());
    const ir::Operand stored = is_number ? build::operand(t, need_value(t, value), view.type, "=")
                                         : to_operand(t, value, diag::Focus::argument("value"));
    if (!t.has_error()) build::store_element(t, view, indices, stored);
  });
}

nb::object apply_swizzle(nb::handle offset, nb::handle swizzle) {
  if (PyLong_Check(offset.ptr()) && nb::isinstance<nb::str>(swizzle)) {
    if (const auto found = build::find_swizzle(nb::cast<std::string>(swizzle))) {
      return nb::int_(layout::apply_swizzle(*found, nb::cast<std::uint32_t>(offset)));
    }
  }
  if (PyLong_Check(offset.ptr()) && swizzle.is_none()) return nb::borrow(offset);
  return traced([&](Tracer& t) -> nb::object {
    const build::Index result = build::apply_swizzle(t, to_swizzle(t, swizzle),
                                                     to_index(t, offset, {"the offset", "offset"}));
    return result.reg ? nb::cast(*result.reg) : nb::object(nb::int_(result.value));
  });
}

ir::Operand view_operand(Tracer& tracer, nb::handle value) {
  return build::memory_at(tracer, nb::cast<SharedView&>(value).place);
}

void bind_views(nb::module_& m) {
  nb::class_<SharedView>(m, "SharedView", "Shared memory with a type and a shape.")
      .def_prop_ro("name", [](const SharedView& v) { return v.name; })
      .def_prop_ro("dtype", [](const SharedView& v) { return type_object(v.type); })
      .def_prop_ro("shape",
                   [](const SharedView& v) {
                     nb::list extents;
                     for (const std::uint64_t extent : v.shape) extents.append(extent);
                     return nb::tuple(extents);
                   })
      .def_prop_ro("swizzle",
                   [](const SharedView& v) -> nb::object {
                     if (v.swizzle == layout::Swizzle::None) return nb::none();
                     return nb::cast(build::swizzle_text(v.swizzle));
                   })
      .def_prop_ro("align", [](const SharedView& v) { return v.align; })
      .def_prop_ro("nbytes", [](const SharedView& v) { return v.bytes(); })
      .def_prop_ro(
          "byte_offset", [](const SharedView& v) { return byte_offset(v.place); },
          "Offset in dynamic shared memory; None where a register index decides.")
      .def(
          "address",
          [](const SharedView& v) {
            return traced([&](Tracer& t) { return build::address_of(t, v.place); });
          },
          "The shared address in a 32-bit register.")
      .def("__getitem__", &get_view_item, "key"_a)
      .def("__setitem__", &set_view_item, "key"_a, "value"_a);
  const nb::class_<SharedAlloc, SharedView> alloc(m, "SharedAlloc",
                                                  "An allocation in shared memory.");
  const nb::class_<SharedSlice, SharedView> slice(m, "SharedSlice",
                                                  "A stage of a shared allocation.");
  register_operand(alloc, view_operand);
  register_operand(slice, view_operand);
}

}  // namespace

void bind_smem(nb::module_& core) {
  nb::module_ m = core.def_submodule("smem", "Shared memory.");
  bind_views(m);
  m.def("alloc", &alloc, "T"_a, "shape"_a, "swizzle"_a = nb::none(), "align"_a = nb::none(),
        "name"_a = nb::none(),
        "Allocates shared memory. A swizzled allocation is stored in blocks one swizzle row wide.");
  m.def("wgmma_tile", &wgmma_tile, "T"_a, "shape"_a, "major"_a = "K", nb::kw_only(),
        "align"_a = nb::none(), "name"_a = nb::none(),
        "Allocates a tile for wgmma with the widest swizzle its last dimension fills. The shape is "
        "as stored: (..., mn, k) for major K, (..., k, mn) for major MN.");
  m.def(
      "alloc_with_layout",
      [](nb::handle type, nb::handle shape, nb::handle layout, std::optional<std::int64_t> align,
         const std::optional<std::string>& name) {
        return alloc(type, shape, layout.attr("smem_swizzle"), align, name);
      },
      "T"_a, "shape"_a, "layout"_a, nb::kw_only(), "align"_a = nb::none(), "name"_a = nb::none(),
      "Allocates with the swizzle of a GmmaLayout.");
  m.def(
      "base",
      [](std::optional<std::string> name) {
        return traced([&](Tracer& t) { return build::shared_base(t, name.value_or("")); });
      },
      "name"_a = nb::none(), "The address of dynamic shared memory, or of a named block.");
  m.def(
      "load",
      [](nb::handle type, nb::handle addr, nb::handle pred) {
        const isa::Type element = to_type(type);
        return traced([&](Tracer& t) {
          return build::load_shared(t, element, to_place(t, addr, {"the address", "addr|taddr"}),
                                    to_guard(t, pred));
        });
      },
      "T"_a, "addr"_a, "pred"_a = nb::none(), "ld.shared into a fresh register.");
  m.def(
      "store",
      [](nb::handle type, nb::handle addr, nb::handle value, nb::handle pred) {
        const isa::Type element = to_type(type);
        traced([&](Tracer& t) {
          build::store_shared(t, element, to_place(t, addr, {"the address", "addr|taddr"}),
                              to_operand(t, value, diag::Focus::argument("value")),
                              to_guard(t, pred));
        });
      },
      "T"_a, "addr"_a, "value"_a, "pred"_a = nb::none(), "st.shared.");
  m.def("apply_swizzle", &apply_swizzle, "offset"_a, "swizzle"_a.none(),
        "The byte offset under a swizzle whose pattern starts at offset 0.");
}

}  // namespace pyptx::python
