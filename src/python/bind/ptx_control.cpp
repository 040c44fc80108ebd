// SPDX-License-Identifier: Apache-2.0
//
// Control flow, statements, warp reductions and CTA barriers of pyptx.ptx. Constructs are Python
// context managers; ptx.range_ is an iterator as well.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "pyptx/build/control.h"
#include "pyptx/build/warp.h"
#include "trace/operands.h"
#include "trace/trace.h"
#include "trace/values.h"

namespace pyptx::python {

void bind_ptx_control(nb::module_& m);

namespace {

using namespace nb::literals;
using build::BinaryOp;
using build::Guard;
using build::Reg;
using build::Tracer;
using build::Value;

/// A construct that goes with a `with` block; an exception leaves it open, and the trace with it.
template <typename Construct>
void context_manager(nb::module_& ptx, const char* name) {
  nb::class_<Construct>(ptx, name)
      .def("__enter__", [](Construct& c) { return traced([&](Tracer& t) { return c.begin(t); }); })
      .def(
          "__exit__",
          [](Construct& c, nb::handle type, nb::handle, nb::handle) {
            if (type.is_none()) traced([&](Tracer& t) { c.end(t); });
          },
          nb::arg().none(), nb::arg().none(), nb::arg().none());
}

/// range_ with what iteration needs to know.
struct RangeObject {
  build::Range range;
  enum class State : std::uint8_t { New, Open, Done } state = State::New;

  Reg begin(Tracer& t) { return range.begin(t); }
  void end(Tracer& t) { range.end(t); }
};

/// The first step opens the loop and gives the counter, the second closes it.
Reg next_step(RangeObject& loop) {
  if (loop.state == RangeObject::State::New) {
    loop.state = RangeObject::State::Open;
    return traced([&](Tracer& t) { return loop.begin(t); });
  }
  if (loop.state == RangeObject::State::Open) {
    loop.state = RangeObject::State::Done;
    traced([&](Tracer& t) { loop.end(t); });
  }
  throw nb::stop_iteration();
}

Guard guard_of(nb::handle value) {
  return traced([&](Tracer& t) { return to_guard(t, value); });
}

Value value_of(nb::handle value) {
  return traced([&](Tracer& t) { return need_value(t, value); });
}

void run_kloop(nb::handle total, std::int64_t unroll, const nb::callable& body,
               const std::string& label) {
  traced([&](Tracer& t) {
    build::kloop(
        t, need_value(t, total), unroll,
        [&](Value index) {
          check(t);
          if (index.reg() != nullptr) {
            body(*index.reg());
          } else {
            body(*index.integer());
          }
        },
        label);
  });
}

void bind_constructs(nb::module_& ptx) {
  context_manager<build::If>(ptx, "If");
  context_manager<build::Else>(ptx, "Else");
  context_manager<build::Loop>(ptx, "Loop");
  context_manager<build::Scope>(ptx, "Scope");
  context_manager<build::Expression>(ptx, "Expression");
  context_manager<RangeObject>(ptx, "Range");
  nb::borrow<nb::class_<RangeObject>>(ptx.attr("Range"))
      // As with Python's range, every `for` is a loop of its own.
      .def("__iter__", [](const RangeObject& loop) { return RangeObject{loop.range}; })
      .def("__next__", &next_step);
  ptx.def(
      "if_", [](nb::handle p) { return build::If(guard_of(p)); }, "pred"_a,
      "with if_(p): what is inside runs where p holds.");
  ptx.def(
      "else_", []() { return build::Else(); },
      "with else_(): the other side of the if_ just closed.");
  ptx.def(
      "loop",
      [](std::string label, nb::handle p) { return build::Loop(std::move(label), guard_of(p)); },
      "label"_a, "pred"_a = nb::none(),
      "with loop(label, p): repeats while p holds, once at least.");
  ptx.def("scope", []() { return build::Scope(); }, "with scope(): a block { } in the text.");
  ptx.def(
      "expr", []() { return build::Expression(); }, "A group of operators; nothing in the text.");
  ptx.def(
      "range_",
      [](nb::handle start, nb::handle stop, nb::handle step) {
        // range_(n) counts from 0, as Python's range does.
        if (stop.is_none()) return RangeObject{{0, value_of(start), value_of(step)}};
        return RangeObject{{value_of(start), value_of(stop), value_of(step)}};
      },
      "start"_a, "stop"_a = nb::none(), "step"_a = 1, "A loop at run time; gives its counter.");
  ptx.def("kloop", &run_kloop, "total"_a, nb::kw_only(), "unroll"_a, "body"_a,
          "loop_label"_a = "kloop",
          "Runs body for 0 to total - 1, `unroll` times per trip of a loop.");
}

void bind_control_statements(nb::module_& ptx) {
  ptx.def(
      "label",
      [](const std::string& name) { traced([&](Tracer& t) { build::place_label(t, name); }); },
      "name"_a, "Puts a label here.");
  ptx.def(
      "bra",
      [](const std::string& label, nb::handle p) {
        traced([&](Tracer& t) { build::branch(t, label, to_guard(t, p)); });
      },
      "label"_a, "pred"_a = nb::none(), "Branches to a label.");
  ptx.def(
      "ret", [](nb::handle p) { traced([&](Tracer& t) { build::ret(t, to_guard(t, p)); }); },
      "pred"_a = nb::none(), "Ends the thread.");
  ptx.def(
      "trap", [](nb::handle p) { traced([&](Tracer& t) { build::trap(t, to_guard(t, p)); }); },
      "pred"_a = nb::none(), "Stops the kernel with an error.");
}

void reduction(nb::module_& warp, const char* name, BinaryOp op) {
  warp.def(
      name,
      [op](nb::object reg, std::int64_t width) {
        traced([&](Tracer& t) { build::warp_reduce(t, op, nb::cast<Reg>(reg), width); });
        return reg;
      },
      "reg"_a, nb::kw_only(), "width"_a = 32,
      "Combine a register over groups of `width` lanes, in place; gives the register.");
}

void barrier_sync(nb::handle id, nb::handle count) {
  traced([&](Tracer& t) {
    const Value barrier = need_value(t, id);
    build::bar_sync(t, barrier,
                    count.is_none() ? std::nullopt : std::optional(need_value(t, count)));
  });
}

/// A hardware barrier by number, for part of the CTA where a count is given.
struct NamedBarrier {
  nb::object id;
  nb::object count;
};

/// What may be written: a register, a vector of them, or nothing.
bool is_destination(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value) == "_";
  return nb::isinstance<Reg>(value) || nb::isinstance<nb::list>(value) ||
         nb::isinstance<RegArray>(value);
}

PipeRef make_pipe(nb::handle src, nb::handle second) {
  if (nb::isinstance<PipeRef>(src) && second.is_none()) return nb::cast<PipeRef>(src);
  const nb::object pair = second.is_none() ? nb::borrow(src) : nb::make_tuple(src, second);
  const bool is_pair = nb::isinstance<nb::tuple>(pair) || nb::isinstance<nb::list>(pair);
  if (is_pair && nb::len(pair) == 2) {
    const PipeRef made{nb::object(pair[0]), nb::object(pair[1])};
    if (is_destination(made.first) && is_destination(made.second)) return made;
  }
  raise_here(
      {diag::Kind::BadArgument,
       {"a pair p|q", "two registers, vectors or '_'", nb::cast<std::string>(nb::repr(pair))}});
}

void bind_barriers(nb::module_& ptx) {
  nb::module_ warp = ptx.def_submodule("warp", "Operations of a whole warp.");
  reduction(warp, "reduce_sum", BinaryOp::Add);
  reduction(warp, "reduce_max", BinaryOp::Max);
  reduction(warp, "reduce_min", BinaryOp::Min);
  nb::module_ bar = ptx.def_submodule("bar", "CTA barriers.");
  bar.def("sync", &barrier_sync, "n"_a = 0, "count"_a = nb::none(),
          "Waits for the threads of the CTA, or `count` of them.");
  bar.def(
      "arrive",
      [](nb::handle id, nb::handle count) {
        traced([&](Tracer& t) { build::bar_arrive(t, need_value(t, id), need_value(t, count)); });
      },
      "n"_a, "count"_a, "Arrives and goes on; `count` threads take part.");
  nb::class_<NamedBarrier>(ptx, "NamedBarrier")
      .def("sync", [](const NamedBarrier& b) { barrier_sync(b.id, b.count); })
      .def("arrive", [](const NamedBarrier& b) {
        traced(
            [&](Tracer& t) { build::bar_arrive(t, need_value(t, b.id), need_value(t, b.count)); });
      });
  ptx.def(
      "named_barrier",
      [](nb::object id, nb::object count) { return NamedBarrier{std::move(id), std::move(count)}; },
      "id"_a, nb::kw_only(), "count"_a = nb::none(),
      "The barrier `id` of the CTA, for `count` threads or all.");
  ptx.def(
      "elect_sync",
      [](std::optional<Reg> dst, Reg pred, nb::handle mask) {
        traced([&](Tracer& t) { build::elect_sync(t, dst, pred, need_value(t, mask)); });
        return pred;
      },
      nb::arg("dst").none(), "pred"_a, "mask"_a = 0xffffffffLL,
      "elect.sync dst|pred, mask; dst may be None.");
  ptx.def("pipe", &make_pipe, "src"_a, "second"_a = nb::none(),
          "p|q: of two registers, of a pair of them, or of what is one already.");
}

}  // namespace

void bind_ptx_control(nb::module_& m) {
  auto ptx = nb::borrow<nb::module_>(m.attr("ptx"));
  bind_constructs(ptx);
  bind_control_statements(ptx);
  bind_barriers(ptx);
}

}  // namespace pyptx::python
