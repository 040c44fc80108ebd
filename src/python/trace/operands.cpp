// SPDX-License-Identifier: Apache-2.0
#include "trace/operands.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pyptx/build/names.h"
#include "pyptx/support/concat.h"
#include "trace/values.h"

namespace pyptx::python {
namespace {

using support::concat;

/// Filled while the module is imported, read-only afterwards.
std::unordered_map<PyTypeObject*, OperandConverter>& converters() {
  static std::unordered_map<PyTypeObject*, OperandConverter> table;
  return table;
}

OperandConverter converter_of(PyTypeObject* type) {
  const auto& table = converters();
  if (const auto found = table.find(type); found != table.end()) return found->second;
  PyObject* order = type->tp_mro;
  for (Py_ssize_t i = 1; order != nullptr && i < PyTuple_GET_SIZE(order); ++i) {
    const auto base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
    if (const auto found = table.find(base); found != table.end()) return found->second;
  }
  return nullptr;
}

diag::Diagnostic refused(const build::Tracer& tracer, const std::string& what, diag::Focus focus) {
  return diag::Diagnostic(diag::Kind::NotAnOperand, {what}).at(tracer.loc(), focus);
}

std::string described(nb::handle value) {
  return concat("a value of type '", nb::type_name(value.type()).c_str(), "'");
}

/// A tensor of the kernel stands for itself in no instruction: which of its addresses is meant?
void refuse_object(build::Tracer& tracer, nb::handle value, diag::Focus focus) {
  diag::Diagnostic problem = refused(tracer, described(value), focus);
  if (nb::hasattr(value, "tma_desc") && nb::hasattr(value, "name")) {
    const auto name = nb::cast<std::string>(nb::str(value.attr("name")));
    problem->notes.push_back(concat("a tensor copy takes ", name,
                                    ".tma_desc(); its address is ptx.global_ptrs(", name, ")"));
  }
  tracer.report(std::move(problem));
}

/// 64 bits, signed or unsigned; nullopt where more are needed.
std::optional<std::int64_t> to_int64(nb::handle value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) return number;
  if (overflow < 0) return std::nullopt;
  const unsigned long long wide = PyLong_AsUnsignedLongLong(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return static_cast<std::int64_t>(wide);
}

/// Python's ints and floats, and what behaves like them (NumPy's scalars).
std::optional<ir::Operand> number(build::Tracer& tracer, nb::handle value, diag::Focus focus) {
  if (PyFloat_Check(value.ptr())) return ir::Operand::f64(PyFloat_AS_DOUBLE(value.ptr()));
  const auto integer = [&](nb::handle exact) {
    const auto bits = to_int64(exact);
    if (!bits)
      tracer.report(refused(tracer, concat("the integer ", nb::str(exact).c_str()), focus));
    return ir::Operand::integer(bits.value_or(0));
  };
  if (PyLong_Check(value.ptr())) return integer(value);
  if (PyIndex_Check(value.ptr()) != 0) {
    const nb::object exact = nb::steal(PyNumber_Index(value.ptr()));
    if (exact.is_valid()) return integer(exact);
    PyErr_Clear();
  }
  const PyNumberMethods* methods = Py_TYPE(value.ptr())->tp_as_number;
  if (methods != nullptr && methods->nb_float != nullptr) {
    const double real = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred() == nullptr) return ir::Operand::f64(real);
    PyErr_Clear();
  }
  return std::nullopt;
}

}  // namespace

void register_operand(nb::handle type, OperandConverter converter) {
  converters()[reinterpret_cast<PyTypeObject*>(type.ptr())] = converter;
}

ir::Operand to_operand(build::Tracer& tracer, nb::handle value, diag::Focus focus) {
  if (const OperandConverter converter = converter_of(Py_TYPE(value.ptr()))) {
    return converter(tracer, value);
  }
  if (PyUnicode_Check(value.ptr()))
    return build::named(tracer, nb::cast<std::string>(value), focus);
  if (PyList_Check(value.ptr())) return tracer.vector(to_operands(tracer, value, focus));
  if (PyTuple_Check(value.ptr())) return tracer.parenthesized(to_operands(tracer, value, focus));
  if (const auto literal = number(tracer, value, focus)) return *literal;
  refuse_object(tracer, value, focus);
  return {};
}

std::vector<ir::Operand> to_operands(build::Tracer& tracer, nb::handle sequence,
                                     diag::Focus focus) {
  std::vector<ir::Operand> operands;
  for (nb::handle item : sequence) operands.push_back(to_operand(tracer, item, focus));
  return operands;
}

build::Guard to_guard(build::Tracer& tracer, nb::handle value) {
  if (value.is_none()) return {};
  if (nb::isinstance<build::Reg>(value)) return {nb::cast<build::Reg>(value), false};
  if (nb::isinstance<NegPred>(value)) return {nb::cast<NegPred&>(value).reg, true};
  if (nb::isinstance<PipeRef>(value))
    return {disjunction(tracer, nb::cast<PipeRef&>(value)), false};
  tracer.report(diag::Diagnostic(diag::Kind::GuardType, {described(value)})
                    .at(tracer.loc(), {diag::Focus::Part::Guard, 0}));
  return {};
}

isa::Type to_type(nb::handle value) {
  if (nb::isinstance<TypeObject>(value)) return nb::cast<TypeObject&>(value).type;
  std::string name;
  if (nb::isinstance<nb::str>(value)) {
    name = nb::cast<std::string>(value);
  } else if (nb::hasattr(value, "name")) {
    name = nb::cast<std::string>(nb::str(value.attr("name")));
  }
  if (const auto type = isa::find_type(name)) return *type;
  const std::string got = nb::cast<std::string>(nb::repr(value));
  throw nb::type_error(concat("expected a type of pyptx.types, got ", got).c_str());
}

std::string to_name(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::hasattr(value, "name")) return nb::cast<std::string>(nb::str(value.attr("name")));
  const std::string got = nb::cast<std::string>(nb::repr(value));
  throw nb::type_error(concat("expected a name or something that has one, got ", got).c_str());
}

build::Reg disjunction(build::Tracer& tracer, const PipeRef& pair) {
  const auto of_predicate = [&](nb::handle part) {
    return nb::isinstance<build::Reg>(part) && nb::cast<build::Reg>(part).type == isa::Type::Pred;
  };
  if (of_predicate(pair.first) && of_predicate(pair.second)) {
    return build::binary(tracer, build::BinaryOp::Or, nb::cast<build::Reg>(pair.first),
                         nb::cast<build::Reg>(pair.second));
  }
  tracer.report(diag::Diagnostic(diag::Kind::NotAnOperand, {"a pair p|q of destinations"})
                    .note("as one predicate, `p | q` is of two predicate registers"));
  return {};
}

ir::Operand to_operand_of(build::Tracer& tracer, const isa::Spelling& spelling, std::size_t index,
                          nb::handle value) {
  // The class itself: asked of every operand, so without the question of what derives from it.
  static const PyObject* const pair = nb::type<PipeRef>().ptr();
  if (reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())) == pair) {
    const auto takes_pair = [&](const isa::Candidate& candidate) {
      return index < candidate.operands.size() &&
             isa::has(candidate.operands[index].accept, isa::Accept::Pipe);
    };
    if (std::ranges::none_of(spelling.candidates, takes_pair)) {
      return disjunction(tracer, nb::cast<PipeRef&>(value));
    }
  }
  return to_operand(tracer, value, {diag::Focus::Part::Operand, static_cast<std::uint16_t>(index)});
}

bool is_value(nb::handle value) {
  return nb::isinstance<build::Reg>(value) || nb::isinstance<NegPred>(value) ||
         nb::isinstance<PipeRef>(value) || PyFloat_Check(value.ptr()) ||
         PyIndex_Check(value.ptr()) != 0;
}

std::optional<build::Value> to_value(build::Tracer& tracer, nb::handle value) {
  if (nb::isinstance<build::Reg>(value)) return nb::cast<build::Reg>(value);
  if (nb::isinstance<NegPred>(value)) {
    return build::complement(tracer, nb::cast<NegPred&>(value).reg);
  }
  if (nb::isinstance<PipeRef>(value)) return disjunction(tracer, nb::cast<PipeRef&>(value));
  const auto literal = number(tracer, value, {});
  if (!literal) return std::nullopt;
  if (literal->kind == ir::OperandKind::Integer) return build::Value(literal->value);
  return build::Value(std::bit_cast<double>(literal->value));
}

build::Value need_value(build::Tracer& tracer, nb::handle value) {
  if (const auto found = to_value(tracer, value)) return *found;
  refuse_object(tracer, value, {diag::Focus::Part::Operand, 0});
  return 0;
}

}  // namespace pyptx::python
