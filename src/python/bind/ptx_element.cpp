// SPDX-License-Identifier: Apache-2.0
//
// Elements of a kernel's tensors by their indices: ptx.at, and what X.ptr() calls.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <vector>

#include "pyptx/build/element.h"
#include "pyptx/support/concat.h"
#include "trace/operands.h"
#include "trace/trace.h"
#include "trace/values.h"

namespace pyptx::python {

void bind_element(nb::module_& ptx);

namespace {

using namespace nb::literals;
using build::Tracer;
using build::Value;

/// What is said of a tensor whose elements nobody can count.
void refuse_tensor(Tracer& t, const std::string& what, std::string wanted, std::string got) {
  t.report(diag::Diagnostic(diag::Kind::BadArgument, {what, std::move(wanted), std::move(got)})
               .about("tensor"));
}

std::vector<Value> values_of(Tracer& t, nb::handle sequence) {
  std::vector<Value> values;
  for (const nb::handle value : sequence) values.push_back(need_value(t, value));
  return values;
}

/// A placeholder of the kernel's, see python/pyptx/_call/placeholders.py.
struct Tensor {
  std::string name;
  build::Elements elements;
};

bool read_tensor(Tracer& t, nb::handle tensor, Tensor& found) {
  if (!nb::hasattr(tensor, "counted") || !nb::hasattr(tensor, "name")) {
    refuse_tensor(t, "the first argument", "a tensor of the kernel",
                  support::concat("a value of type '", nb::type_name(tensor.type()).c_str(), "'"));
    return false;
  }
  found.name = nb::cast<std::string>(nb::str(tensor.attr("name")));
  const nb::object counted = tensor.attr("counted")();
  if (counted.is_none()) {
    refuse_tensor(t, support::concat("tensor '", found.name, "'"),
                  "one whose shape and element type its Tile says", "one without");
    return false;
  }
  const nb::object bits = counted[0];
  found.elements.bytes = nb::cast<std::uint32_t>(bits) / 8;
  if (nb::cast<std::uint32_t>(bits) % 8 != 0) {
    refuse_tensor(t, support::concat("the elements of '", found.name, "'"), "of whole bytes",
                  support::concat(nb::cast<std::uint32_t>(bits), " bits"));
    return false;
  }
  found.elements.sizes = values_of(t, counted[1]);
  found.elements.strides = values_of(t, counted[2]);
  found.elements.is_column_major = nb::cast<bool>(counted[3]);
  return !t.has_error();
}

Address element(nb::handle tensor, nb::args indices) {
  return traced([&](Tracer& t) -> Address {
    Tensor found;
    if (!read_tensor(t, tensor, found)) return {};
    found.elements.tensor = found.name;
    const std::vector<Value> at = values_of(t, indices);
    if (t.has_error()) return {};
    const build::ElementAddress place = build::element_address(t, found.elements, at);
    return {place.base, place.offset};
  });
}

build::Reg pointer(nb::handle tensor, nb::args indices) {
  return traced([&](Tracer& t) -> build::Reg {
    Tensor found;
    if (!read_tensor(t, tensor, found)) return {};
    found.elements.tensor = found.name;
    const std::vector<Value> at = values_of(t, indices);
    if (t.has_error()) return {};
    return build::element_pointer(t, found.elements, at);
  });
}

}  // namespace

void bind_element(nb::module_& ptx) {
  ptx.def(
      "at", &element, "tensor"_a, "indices"_a,
      "The place of an element of a tensor, at(X, i, j), as an address of ld and st: its shape, "
      "strides and element type are those of its Tile, and the sum has 64 bits. Indices left "
      "out are 0.");
  ptx.def("ptr", &pointer, "tensor"_a, "indices"_a,
          "The same address in a fresh 64-bit register; `X.ptr(i, j)` calls it.");
}

}  // namespace pyptx::python
