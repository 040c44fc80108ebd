// SPDX-License-Identifier: Apache-2.0
//
// The operators of registers and predicates. Every operator is one build function; what it takes
// besides registers are Python's numbers.
#include "bind/reg_operators.h"

#include <cstdint>
#include <optional>
#include <string>

#include "pyptx/build/division.h"
#include "pyptx/build/operators.h"
#include "pyptx/support/concat.h"
#include "trace/operands.h"
#include "trace/trace.h"

namespace pyptx::python {
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

/// p | q of two predicates is a pair where an instruction takes one, as setp p|q does, and one
/// predicate everywhere else; on numbers it is or.
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

/// What Python asks a value for, and what an author writes instead.
[[noreturn]] void refuse_value(const char* use, const char* advice) {
  raise_here(diag::Diagnostic(diag::Kind::RegisterValue, {use}).note(advice));
}

/// The comparison that only made this predicate is taken back, so that catching the error leaves no
/// trace of it.
bool truth(Reg a) {
  if (Trace* trace = innermost_trace()) trace->tracer.discard(a);
  refuse_value(
      "decide a Python `if`, `while`, `and`, `or`, `not`, `in`, min() or max()",
      "write `with ptx.if_(p):` or `ptx.while_(...)`, `p & q`, `p | q` and `~p`, a.min(b), "
      "ptx.select(p, a, b), or pred=p of one instruction");
}

std::int64_t as_index(Reg) {
  refuse_value("be a Python index, length or bound",
               "a loop over it is ptx.range_(n), a table indexed by it is smem.alloc(...)[i]");
}
std::int64_t as_integer(Reg) {
  refuse_value("be a Python int", "to convert it: reg.from_(value, s32)");
}
double as_float(Reg) {
  refuse_value("be a Python float, nor go into a function of math",
               "to convert it: reg.from_(value, f32); to compute: ptx.inst.sqrt.approx.f32(d, x) "
               "and the like");
}

/// An operator that registers have not, whatever their type.
nb::object missing(Reg a, const char* what) {
  traced([&](Tracer& t) { build::refuse_operator(t, what, a.type); });
  return nb::none();
}

/// a // b and its like: integers by whatever their divisor asks for.
using Whole = Reg (*)(Tracer&, build::Quotient, Value, Value);

void whole(nb::class_<Reg>& cls, const Names& names, Whole f) {
  constexpr build::Quotient kHow = build::Quotient::Floor;
  const Other other{names.symbol, names.reflected};
  cls.def(
      names.forward,
      [f, other](Reg a, nb::handle b) {
        return with_value(b, other, [&](Tracer& t, Value v) { return f(t, kHow, a, v); });
      },
      nb::arg("other").none());
  cls.def(
      names.reflected,
      [f, symbol = names.symbol](Reg a, nb::handle b) {
        return with_value(b, {symbol}, [&](Tracer& t, Value v) { return f(t, kHow, v, a); });
      },
      nb::arg("other").none());
  cls.def(
      names.in_place,
      [f, other](nb::object self, nb::handle b) {
        const Reg a = nb::cast<Reg>(self);
        const nb::object result = with_value(b, other, [&](Tracer& t, Value v) {
          Reg found = f(t, kHow, a, v);
          if (t.has_error() || t.retarget(found, a)) return a;
          if (found.type != a.type) found = build::convert(t, found, a.type);  // of 8 bits
          build::assign(t, a, found);
          return a;
        });
        return result.is(nb::handle(Py_NotImplemented)) ? result : self;
      },
      nb::arg("other").none());
}

nb::tuple quotient_and_rest(Reg a, nb::handle b) {
  return traced([&](Tracer& t) {
    const Value by = need_value(t, b);
    const Reg quotient = build::divide(t, build::Quotient::Floor, a, by);
    const Reg rest = build::remainder(t, build::Quotient::Floor, a, by);
    return nb::make_tuple(quotient, rest);
  });
}

/// a op b of predicates of which one is no register of its own: ~p & q, (p | q) & r.
template <typename Class>
void combining(nb::class_<Class>& cls, const char* symbol, const char* forward,
               const char* reflected, BinaryOp op) {
  const Other other{symbol, reflected};
  cls.def(
      forward,
      [op, other](nb::object self, nb::handle b) {
        return traced([&](Tracer& t) -> nb::object {
          if (!is_value(b)) return declined(b, other);
          const Value left = need_value(t, self);
          return nb::cast(build::binary(t, op, left, need_value(t, b)));
        });
      },
      nb::arg("other").none());
}

template <typename Class>
void combining(nb::class_<Class>& cls) {
  combining(cls, "&", "__and__", "__rand__", BinaryOp::And);
  combining(cls, "|", "__or__", "__ror__", BinaryOp::Or);
  combining(cls, "^", "__xor__", "__rxor__", BinaryOp::Xor);
}

}  // namespace

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
  whole(cls, {"//", "__floordiv__", "__rfloordiv__", "__ifloordiv__"}, &build::divide);
  whole(cls, {"%", "__mod__", "__rmod__", "__imod__"}, &build::remainder);
  arithmetic(cls, {"/", "__truediv__", "__rtruediv__", "__itruediv__"}, BinaryOp::Div);
  cls.def("__divmod__", &quotient_and_rest, nb::arg("other"));
  for (const char* name : {"__pow__", "__rpow__", "__ipow__"}) {
    cls.def(name, [](Reg a, nb::handle) { return missing(a, "**"); }, nb::arg("other").none());
  }
  for (const char* name : {"__matmul__", "__rmatmul__", "__imatmul__"}) {
    cls.def(name, [](Reg a, nb::handle) { return missing(a, "@"); }, nb::arg("other").none());
  }
  cls.def(
      "__getitem__", [](Reg a, nb::handle) { return missing(a, "[...]"); },
      nb::arg("index").none());
  cls.def(
      "__setitem__", [](Reg a, nb::handle, nb::handle) { missing(a, "[...]"); },
      nb::arg("index").none(), nb::arg("value").none());
  cls.def("__iter__", [](Reg a) { return missing(a, "for ... in"); });
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

void bind_operators(nb::class_<NegPred>& cls) {
  combining(cls);
  cls.def("__bool__", [](const NegPred& n) { return truth(n.reg); });
}

void bind_operators(nb::class_<PipeRef>& cls) {
  combining(cls);
  cls.def("__invert__", [](nb::object self) {
    return traced([&](Tracer& t) {
      const Value either_holds = need_value(t, self);
      return NegPred{either_holds.reg() != nullptr ? *either_holds.reg() : Reg{}};
    });
  });
  cls.def("__bool__", [](nb::handle) { return truth(Reg{}); });
}

}  // namespace pyptx::python
