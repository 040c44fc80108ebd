// SPDX-License-Identifier: Apache-2.0
//
// Conversions for the async bindings, and the list of their modules. See bind/async.h.
#include "bind/async.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>

#include "pyptx/support/concat.h"
#include "trace/operands.h"
#include "trace/values.h"

namespace pyptx::python {
namespace {

using build::Index;
using build::Reg;
using build::SharedPlace;
using diag::Kind;

std::string python_type(nb::handle value) {
  return support::concat("'", nb::type_name(value.type()).c_str(), "'");
}

void refuse(build::Tracer& tracer, const build::Argument& what, std::string_view wanted,
            std::string got) {
  tracer.report(diag::Diagnostic(Kind::BadArgument,
                                 {std::string(what.words), std::string(wanted), std::move(got)})
                    .about(what.parameter, what.element));
}

void refuse(build::Tracer& tracer, const build::Argument& what, std::string_view wanted,
            nb::handle got) {
  refuse(tracer, what, wanted, got.is_none() ? std::string("None") : python_type(got));
}

/// What a conversion that takes several kinds of object may still take: an operand.
ir::Operand as_operand(build::Tracer& tracer, nb::handle value, const build::Argument& what) {
  return value.is_none() ? ir::Operand{} : to_operand(tracer, value, what.focus());
}

bool is_integer(nb::handle value) {
  return PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr());
}

}  // namespace

std::optional<Reg> to_reg(build::Tracer& tracer, nb::handle value, const build::Argument& what) {
  const ir::Operand operand = as_operand(tracer, value, what);
  if (operand.kind == ir::OperandKind::Register) return tracer.reg_of(operand);
  refuse(tracer, what, "a register", value);
  return std::nullopt;
}

Index to_index(build::Tracer& tracer, nb::handle value, const build::Argument& what) {
  if (is_integer(value)) return nb::cast<std::int64_t>(value);
  const ir::Operand operand = as_operand(tracer, value, what);
  if (operand.kind == ir::OperandKind::Register) return tracer.reg_of(operand);
  if (operand.kind == ir::OperandKind::Integer) return operand.value;
  refuse(tracer, what, "an integer or a register", value);
  return 0;
}

std::vector<Index> to_indices(build::Tracer& tracer, nb::handle value,
                              const build::Argument& what) {
  std::vector<Index> indices;
  if (nb::isinstance<nb::tuple>(value) || nb::isinstance<nb::list>(value)) {
    std::uint16_t element = 0;
    for (nb::handle item : value) {
      build::Argument one = what;
      one.element = element++;
      indices.push_back(to_index(tracer, item, one));
    }
  } else {
    indices.push_back(to_index(tracer, value, what));
  }
  return indices;
}

/// Whether it can be gone over. A register says something when it is asked.
bool is_sequence(nb::handle value) {
  return !nb::isinstance<Reg>(value) && nb::hasattr(value, "__iter__");
}

std::vector<Reg> to_regs(build::Tracer& tracer, nb::handle value, const build::Argument& what) {
  std::vector<Reg> registers;
  if (!is_sequence(value)) {
    refuse(tracer, what, "a sequence of registers", value);
    return registers;
  }
  for (nb::handle item : value) {
    if (const auto reg = to_reg(tracer, item, what)) registers.push_back(*reg);
  }
  return registers;
}

SharedPlace to_place(build::Tracer& tracer, nb::handle value, const build::Argument& what) {
  if (nb::isinstance<build::SharedView>(value)) return nb::cast<build::SharedView&>(value).whole();
  if (nb::isinstance<build::MbarrierRef>(value)) return nb::cast<build::MbarrierRef&>(value).place;
  if (nb::isinstance<build::MbarrierArray>(value)) {
    const auto& barriers = nb::cast<build::MbarrierArray&>(value);
    if (barriers.count != 1) {
      refuse(tracer, what, support::concat("one mbarrier of '", barriers.name, "'"),
             support::concat("all ", barriers.count));
    }
    return barriers.place;
  }
  const ir::Operand operand = as_operand(tracer, value, what);
  if (const auto place = SharedPlace::of_operand(tracer, operand)) return *place;
  if (operand.kind == ir::OperandKind::Symbol) {
    const Reg address = tracer.reg(isa::Type::U32);
    tracer.emit("mov.u32", {address, operand});
    return SharedPlace::of_register(address);
  }
  refuse(tracer, what, "shared memory, an mbarrier or a register with a shared address", value);
  return {};
}

std::vector<ir::Operand> to_fragment(build::Tracer& tracer, nb::handle value,
                                     const char* parameter) {
  const diag::Focus focus = diag::Focus::argument(parameter);
  if (is_sequence(value)) return to_operands(tracer, value, focus);
  return {to_operand(tracer, value, focus)};
}

std::variant<bool, Reg> to_flag(build::Tracer& tracer, nb::handle value,
                                const build::Argument& what) {
  if (PyLong_Check(value.ptr())) return nb::cast<std::int64_t>(nb::int_(value)) != 0;
  if (const auto found = to_value(tracer, value); found && found->reg() != nullptr) {
    return *found->reg();
  }
  return to_reg(tracer, value, what).value_or(Reg{});
}

build::tcgen05::TmemPlace to_tmem(build::Tracer& tracer, nb::handle value,
                                  const build::Argument& what) {
  const bool is_shared =
      nb::isinstance<build::SharedView>(value) || nb::isinstance<build::MbarrierRef>(value);
  const ir::Operand operand = is_shared ? ir::Operand{} : as_operand(tracer, value, what);
  if (operand.kind == ir::OperandKind::Register) return {tracer.reg_of(operand), 0};
  if (operand.kind == ir::OperandKind::Address && operand.count == 1) {
    ir::Operand base = tracer.function().children(operand).front();
    if (base.kind == ir::OperandKind::Register) {
      base.count = tracer.tag();
      return {tracer.reg_of(base), operand.value};
    }
  }
  refuse(tracer, what, "a 32-bit register or ptx.addr(register, offset)", value);
  return {};
}

std::optional<build::tcgen05::TmemPlace> to_maybe_tmem(build::Tracer& tracer, nb::handle value,
                                                       const build::Argument& what) {
  if (value.is_none()) return std::nullopt;
  return to_tmem(tracer, value, what);
}

std::optional<Reg> to_maybe_reg(build::Tracer& tracer, nb::handle value,
                                const build::Argument& what) {
  if (value.is_none()) return std::nullopt;
  return to_reg(tracer, value, what);
}

std::optional<Index> to_maybe_index(build::Tracer& tracer, nb::handle value,
                                    const build::Argument& what) {
  if (value.is_none()) return std::nullopt;
  return to_index(tracer, value, what);
}

ir::Operand to_global(build::Tracer& tracer, nb::handle value, const char* parameter) {
  const build::Argument what{"the global address", parameter};
  const ir::Operand operand = as_operand(tracer, value, what);
  if (operand.kind == ir::OperandKind::Address) return operand;
  if (operand.kind == ir::OperandKind::Register || operand.kind == ir::OperandKind::Symbol) {
    return tracer.address(operand);
  }
  refuse(tracer, what, "a register or ptx.addr(...)", value);
  return {};
}

build::wgmma::Source to_source(build::Tracer& tracer, nb::handle value,
                               const build::Argument& what) {
  if (nb::isinstance<build::SharedView>(value)) return nb::cast<build::SharedView&>(value);
  if (is_sequence(value)) return to_regs(tracer, value, what);
  return to_reg(tracer, value, what).value_or(Reg{});
}

layout::Swizzle to_swizzle(build::Tracer& tracer, nb::handle value) {
  if (value.is_none()) return layout::Swizzle::None;
  if (nb::isinstance<nb::str>(value)) {
    if (const auto found = build::find_swizzle(nb::cast<std::string>(value))) return *found;
  }
  refuse(tracer, {"a swizzle", "swizzle"}, "None, \"32B\", \"64B\" or \"128B\"",
         std::string(nb::repr(value).c_str()));
  return layout::Swizzle::None;
}

layout::Major to_major(build::Tracer& tracer, nb::handle value) {
  const nb::object name = nb::getattr(value, "name", nb::borrow(value));
  if (nb::isinstance<nb::str>(name)) {
    const auto text = nb::cast<std::string>(name);
    if (text == "K") return layout::Major::K;
    if (text == "MN") return layout::Major::MN;
  }
  refuse(tracer, {"the major of a tile", "major"}, "\"K\" or \"MN\"",
         std::string(nb::repr(value).c_str()));
  return layout::Major::K;
}

std::vector<std::uint64_t> to_shape(build::Tracer& tracer, nb::handle value) {
  std::vector<std::uint64_t> shape;
  const auto add = [&](nb::handle extent) {
    if (is_integer(extent) && nb::cast<std::int64_t>(extent) > 0) {
      shape.push_back(nb::cast<std::uint64_t>(extent));
      return;
    }
    refuse(tracer, {"a shape", "shape"}, "positive integers",
           std::string(nb::repr(extent).c_str()));
  };
  if (is_integer(value)) {
    add(value);
  } else {
    for (nb::handle extent : value) add(extent);
  }
  return shape;
}

void bind_async_barriers(nb::module_& core, nb::module_& ptx);
void bind_async_copies(nb::module_& ptx);
void bind_async_wgmma(nb::module_& core, nb::module_& ptx);
void bind_matrix(nb::module_& ptx);
void bind_tcgen05(nb::module_& ptx);

void bind_async(nb::module_& m) {
  auto ptx = nb::cast<nb::module_>(m.attr("ptx"));
  bind_async_barriers(m, ptx);
  bind_async_copies(ptx);
  bind_async_wgmma(m, ptx);
  bind_matrix(ptx);
  bind_tcgen05(ptx);
}

}  // namespace pyptx::python
