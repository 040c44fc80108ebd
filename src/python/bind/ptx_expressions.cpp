// SPDX-License-Identifier: Apache-2.0
//
// The functions of pyptx.ptx that stand in an expression, as operators do: a choice, a product with
// a sum, the smaller, the larger, the magnitude. Their results are fresh registers of the types
// that the operands ask for. Some share a name with a form that is told type and destination, which
// is asked first and leaves values to these.
#include <nanobind/nanobind.h>

#include "pyptx/build/operators.h"
#include "trace/operands.h"
#include "trace/trace.h"
#include "trace/values.h"

namespace pyptx::python {

void bind_expressions(nb::module_& ptx);

namespace {

using build::BinaryOp;
using build::Reg;
using build::Tracer;
using build::Value;

nb::object chosen(nb::handle pred, nb::handle a, nb::handle b) {
  return nb::cast(traced([&](Tracer& t) {
    const Value yes = need_value(t, a);
    const Value no = need_value(t, b);
    return build::select(t, to_guard(t, pred), yes, no);
  }));
}

void of_two(nb::module_& ptx, const char* name, const char* words, BinaryOp op) {
  ptx.def(
      name,
      [op](nb::handle a, nb::handle b) {
        return traced([&](Tracer& t) {
          const Value left = need_value(t, a);
          return build::binary(t, op, left, need_value(t, b));
        });
      },
      nb::arg("a").none(), nb::arg("b").none(), words);
}

}  // namespace

void bind_expressions(nb::module_& ptx) {
  ptx.def("select", &chosen, nb::arg("pred").none(), nb::arg("a").none(), nb::arg("b").none(),
          "a where `pred` holds, else b, in a fresh register.");
  of_two(ptx, "min", "The smaller of two, in a fresh register.", BinaryOp::Min);
  of_two(ptx, "max", "The larger of two, in a fresh register.", BinaryOp::Max);
  ptx.def(
      "abs",
      [](nb::handle a) {
        return traced([&](Tracer& t) -> Reg {
          const Value value = need_value(t, a);
          if (value.reg() != nullptr) return build::absolute(t, *value.reg());
          t.report({diag::Kind::BadArgument, {"the argument of abs", "a register", "a number"}});
          return {};
        });
      },
      nb::arg("a").none(), "The magnitude, in a fresh register.");
  ptx.def(
      "mad",
      [](nb::handle a, nb::handle b, nb::handle c) {
        return traced([&](Tracer& t) {
          const Value left = need_value(t, a);
          const Value right = need_value(t, b);
          return build::multiply_add(t, left, right, need_value(t, c));
        });
      },
      nb::arg("a").none(), nb::arg("b").none(), nb::arg("c").none(),
      "a * b + c by one instruction, in a fresh register: mad.lo, fma.rn of floats, and mad.wide "
      "where c is twice as wide.");
}

}  // namespace pyptx::python
