// SPDX-License-Identifier: Apache-2.0
//
// `_core.Reg`, negated predicates and pairs, and the functions of pyptx.reg.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bind/reg_operators.h"
#include "pyptx/build/operators.h"
#include "pyptx/support/concat.h"
#include "trace/operands.h"
#include "trace/trace.h"
#include "trace/values.h"

namespace pyptx::python {

void bind_types(nb::module_& m);
void bind_reg_array(nb::module_& m);

std::string name_of(build::Reg reg) {
  const Trace* trace = innermost_trace();
  if (trace == nullptr || trace->tracer.tag() != reg.owner) return "a register of another trace";
  const ir::Module& module = trace->tracer.module();
  return module.name(trace->tracer.function().at(reg.id));
}

namespace {

using build::Reg;
using build::Tracer;
using build::Value;

void bind_register_classes(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Reg> reg(m, "Reg", "A register of the kernel being traced.");
  reg.def(nb::new_([](const std::string& name, nb::handle type) {
            return traced([&](Tracer& t) { return t.reg_by_name(to_type(type), name); });
          }),
          nb::arg("name"), nb::arg("dtype"));
  reg.def_prop_ro("name", [](Reg r) { return name_of(r); });
  reg.def_prop_ro("dtype", [](Reg r) { return type_object(r.type); });
  reg.def("__repr__", [](Reg r) { return support::concat("<Reg ", name_of(r), ">"); });
  reg.def(
      "set",
      [](nb::object self, nb::handle value) {
        const Reg destination = nb::cast<Reg>(self);
        write_register(destination, value);
        return self;
      },
      "value"_a, "Writes `value` into the register; gives the register.");
  bind_operators(reg);
  register_operand(reg, [](Tracer&, nb::handle v) -> ir::Operand { return nb::cast<Reg>(v); });

  nb::class_<NegPred> negated(m, "NegPred", "A predicate read as its opposite: ~p.");
  negated.def_ro("reg", &NegPred::reg).def("__invert__", [](const NegPred& n) { return n.reg; });
  bind_operators(negated);
  register_operand(negated, [](Tracer&, nb::handle v) {
    ir::Operand operand = nb::cast<NegPred&>(v).reg;
    operand.kind = ir::OperandKind::NotRegister;
    return operand;
  });

  nb::class_<PipeRef> pipe(m, "PipeRef",
                           "p | q: two destinations of an instruction, or the one predicate that "
                           "holds where either does.");
  pipe.def_ro("first", &PipeRef::first).def_ro("second", &PipeRef::second);
  bind_operators(pipe);
  register_operand(pipe, [](Tracer& t, nb::handle v) {
    const auto& pair = nb::cast<PipeRef&>(v);
    const ir::Operand first = to_operand(t, pair.first);
    return t.pipe(first, to_operand(t, pair.second));
  });
}

Reg make_scalar(nb::handle type, nb::handle init, const std::optional<std::string>& name) {
  return traced([&](Tracer& t) {
    std::optional<Value> value;
    if (!init.is_none()) value = need_value(t, init);
    return build::scalar(t, to_type(type), value, name.value_or(""));
  });
}

}  // namespace

void bind_reg(nb::module_& m) {
  using namespace nb::literals;
  bind_types(m);
  bind_register_classes(m);
  bind_reg_array(m);
  nb::module_ reg = m.def_submodule("reg", "Registers of the kernel being traced.");
  reg.def("scalar", &make_scalar, "dtype"_a, "init"_a = nb::none(), "name"_a = nb::none(),
          "A fresh register, holding `init` where it is given.");
  reg.def(
      "alloc", [](nb::handle type) { return make_scalar(type, nb::none(), {}); }, "dtype"_a,
      "A fresh register.");
  reg.def(
      "from_",
      [](nb::handle source, nb::handle type) {
        return traced(
            [&](Tracer& t) { return build::convert(t, need_value(t, source), to_type(type)); });
      },
      "src"_a, "dtype"_a, "`src` converted to `dtype`, in a fresh register.");
}

}  // namespace pyptx::python
