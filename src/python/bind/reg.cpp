// SPDX-License-Identifier: Apache-2.0
//
// `_core.Reg` and its operators, and the functions of pyptx.reg. Every operator is one build
// function; what it takes besides registers are Python's numbers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

using build::BinaryOp;
using build::Comparison;
using build::Reg;
using build::Tracer;
using build::Value;

/// An operator, and the method by which the other side may answer in our place.
struct Other {
  const char* symbol = "";
  const char* method = nullptr;  // null: nobody is asked after us
};

/// Whether the other side has an answer of its own. A list has none: it would ask the register for
/// a number, to repeat itself.
bool may_answer(nb::handle other, Other how) {
  if (how.method == nullptr) return false;
  const bool is_sequence = PyList_Check(other.ptr()) || PyTuple_Check(other.ptr()) ||
                           PyUnicode_Check(other.ptr()) || PyBytes_Check(other.ptr());
  return !is_sequence && nb::hasattr(other.type(), how.method);
}

/// NotImplemented, or our words where nobody else has any: Python's differ by version.
nb::object declined(nb::handle other, Other how) {
  if (may_answer(other, how)) return nb::borrow(Py_NotImplemented);
  const std::string what =
      other.is_none()
          ? std::string("None")
          : support::concat("a value of type '", nb::type_name(other.type()).c_str(), "'");
  throw nb::type_error(
      support::concat("'", how.symbol, "' takes registers and numbers, not ", what).c_str());
}

/// f(tracer, other) where `other` is a register or number.
template <typename F>
nb::object with_value(nb::handle other, Other how, F&& f) {
  return traced([&](Tracer& t) -> nb::object {
    const std::optional<Value> value = to_value(t, other);
    return value ? nb::cast(f(t, *value)) : declined(other, how);
  });
}

/// The names of a binary operator: a op b (unless `forward` is null), b op a, and a op= b in the
/// same register and object.
struct Names {
  const char* symbol;
  const char* forward;
  const char* reflected;
  const char* in_place;
};

void arithmetic(nb::class_<Reg>& cls, const Names& names, BinaryOp op) {
  const Other other{names.symbol, names.reflected};
  if (names.forward != nullptr) {
    cls.def(
        names.forward,
        [op, other](Reg a, nb::handle b) {
          return with_value(b, other,
                            [&](Tracer& t, Value v) { return build::binary(t, op, a, v); });
        },
        nb::arg("other").none());
  }
  cls.def(
      names.reflected,
      [op, symbol = names.symbol](Reg a, nb::handle b) {
        return with_value(b, {symbol},
                          [&](Tracer& t, Value v) { return build::binary(t, op, v, a); });
      },
      nb::arg("other").none());
  cls.def(
      names.in_place,
      [op, other](nb::object self, nb::handle b) {
        const Reg a = nb::cast<Reg>(self);
        const nb::object result =
            with_value(b, other, [&](Tracer& t, Value v) { return build::update(t, op, a, v); });
        return result.is(nb::handle(Py_NotImplemented)) ? result : self;
      },
      nb::arg("other").none());
}

void comparison(nb::class_<Reg>& cls, const char* symbol, const char* name, Comparison op) {
  // Anything may be asked whether it is the register: `reg == None`.
  const bool is_equality = op == Comparison::Eq || op == Comparison::Ne;
  cls.def(
      name,
      [op, symbol, is_equality](Reg a, nb::handle b) {
        return traced([&](Tracer& t) -> nb::object {
          const std::optional<Value> value = to_value(t, b);
          if (value) return nb::cast(build::compare(t, op, a, *value));
          return is_equality ? nb::borrow(Py_NotImplemented) : declined(b, {symbol});
        });
      },
      nb::arg("other").none());
}

/// An object that gives its register away holds one too.
void keep_newest() {
  if (Trace* trace = innermost_trace()) trace->tracer.keep_newest();
}

/// p | q names a pair of predicates, as in setp p|q; on numbers it is or.
nb::object either(Reg a, nb::handle b) {
  if (a.type == isa::Type::Pred && nb::isinstance<Reg>(b)) {
    keep_newest();
    return nb::cast(PipeRef{nb::cast(a), nb::borrow(b)});
  }
  return with_value(b, {"|", "__ror__"},
                    [&](Tracer& t, Value v) { return build::binary(t, BinaryOp::Or, a, v); });
}

nb::object inverted(Reg a) {
  if (a.type == isa::Type::Pred) {
    keep_newest();
    return nb::cast(NegPred{a});
  }
  return nb::cast(traced([&](Tracer& t) { return build::complement(t, a); }));
}

/// A register has no value while the kernel is traced. The comparison that only made this
/// predicate is taken back, so that catching the error leaves no trace of it.
bool truth(Reg a) {
  if (Trace* trace = innermost_trace()) trace->tracer.discard(a);
  throw nb::type_error(
      "a register has no value while the kernel is traced, so it cannot decide a Python "
      "`if`, `while`, `and`, `or`, `not` or `in`; use ptx.if_(p), ptx.loop(label, pred=p), "
      "pred=p, ptx.selp or `p & q`");
}

/// What Python asks for a number, in range(), math functions, a list's index, int() and float().
[[noreturn]] void refuse_number(std::string_view advice) {
  throw nb::type_error(support::concat("a register has no value while the kernel is traced, so it "
                                       "cannot be a Python ",
                                       advice)
                           .c_str());
}
std::int64_t as_index(Reg) {
  refuse_number(
      "index, length or bound; a loop over it is ptx.range_(n), a table indexed by it is "
      "smem.alloc(...)[i]");
}
std::int64_t as_integer(Reg) { refuse_number("int; to convert it, reg.from_(value, s32)"); }
double as_float(Reg) {
  refuse_number(
      "float, nor go into a function of math; to convert it, reg.from_(value, f32), to compute, "
      "ptx.inst.sqrt.approx.f32(d, x) and the like");
}

void bind_operators(nb::class_<Reg>& cls) {
  arithmetic(cls, {"+", "__add__", "__radd__", "__iadd__"}, BinaryOp::Add);
  arithmetic(cls, {"-", "__sub__", "__rsub__", "__isub__"}, BinaryOp::Sub);
  arithmetic(cls, {"*", "__mul__", "__rmul__", "__imul__"}, BinaryOp::Mul);
  arithmetic(cls, {"<<", "__lshift__", "__rlshift__", "__ilshift__"}, BinaryOp::Shl);
  arithmetic(cls, {">>", "__rshift__", "__rrshift__", "__irshift__"}, BinaryOp::Shr);
  arithmetic(cls, {"&", "__and__", "__rand__", "__iand__"}, BinaryOp::And);
  arithmetic(cls, {"^", "__xor__", "__rxor__", "__ixor__"}, BinaryOp::Xor);
  cls.def("__or__", &either, nb::arg("other").none());
  arithmetic(cls, {"|", nullptr, "__ror__", "__ior__"}, BinaryOp::Or);
  comparison(cls, "==", "__eq__", Comparison::Eq);
  comparison(cls, "!=", "__ne__", Comparison::Ne);
  comparison(cls, "<", "__lt__", Comparison::Lt);
  comparison(cls, "<=", "__le__", Comparison::Le);
  comparison(cls, ">", "__gt__", Comparison::Gt);
  comparison(cls, ">=", "__ge__", Comparison::Ge);
  cls.def("__neg__", [](Reg a) { return traced([&](Tracer& t) { return build::negate(t, a); }); });
  cls.def("__abs__",
          [](Reg a) { return traced([&](Tracer& t) { return build::absolute(t, a); }); });
  cls.def("__invert__", &inverted);
  cls.def("__bool__", &truth);
  cls.def("__index__", &as_index);
  cls.def("__int__", &as_integer);
  cls.def("__float__", &as_float);
  cls.def("__hash__", [](nb::handle self) { return reinterpret_cast<Py_hash_t>(self.ptr()) >> 4; });
  cls.def("max", [](Reg a, nb::handle b) {
    return traced([&](Tracer& t) { return binary(t, BinaryOp::Max, a, need_value(t, b)); });
  });
  cls.def("min", [](Reg a, nb::handle b) {
    return traced([&](Tracer& t) { return binary(t, BinaryOp::Min, a, need_value(t, b)); });
  });
}

void bind_register_classes(nb::module_& m) {
  nb::class_<Reg> reg(m, "Reg", "A register of the kernel being traced.");
  reg.def(nb::new_([](const std::string& name, nb::handle type) {
            return traced([&](Tracer& t) { return t.reg_by_name(to_type(type), name); });
          }),
          nb::arg("name"), nb::arg("dtype"));
  reg.def_prop_ro("name", [](Reg r) { return name_of(r); });
  reg.def_prop_ro("dtype", [](Reg r) { return type_object(r.type); });
  reg.def("__repr__", [](Reg r) { return support::concat("<Reg ", name_of(r), ">"); });
  bind_operators(reg);
  register_operand(reg, [](Tracer&, nb::handle v) -> ir::Operand { return nb::cast<Reg>(v); });

  nb::class_<NegPred> negated(m, "NegPred", "A predicate read as its opposite: ~p.");
  negated.def_ro("reg", &NegPred::reg).def("__invert__", [](const NegPred& n) { return n.reg; });
  negated.def("__bool__", [](const NegPred& n) { return truth(n.reg); });
  register_operand(negated, [](Tracer&, nb::handle v) {
    ir::Operand operand = nb::cast<NegPred&>(v).reg;
    operand.kind = ir::OperandKind::NotRegister;
    return operand;
  });

  nb::class_<PipeRef> pipe(m, "PipeRef", "Two destinations written p|q.");
  pipe.def_ro("first", &PipeRef::first).def_ro("second", &PipeRef::second);
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
