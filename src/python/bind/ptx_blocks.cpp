// SPDX-License-Identifier: Apache-2.0
//
// Control flow of pyptx.ptx in blocks: Python context managers; ptx.range_ is an iterator as well.
// Where a block that runs never or many times ends, the names of the author's function are held
// against those of its beginning.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "pyptx/build/control.h"
#include "trace/operands.h"
#include "trace/rebinding.h"
#include "trace/trace.h"
#include "trace/values.h"

namespace pyptx::python {

void bind_blocks(nb::module_& ptx);

namespace {

using namespace nb::literals;
using build::Guard;
using build::Reg;
using build::Tracer;
using build::Value;

/// A construct that goes with a `with` block; an exception leaves it open, and the trace with it.
template <typename Construct>
struct Block {
  Construct construct;
  Names::Block runs{};
  Names names{};
};

/// What stands in it runs just once.
template <typename Construct>
constexpr bool kIsStraight =
    std::is_same_v<Construct, build::Scope> || std::is_same_v<Construct, build::Expression>;

template <typename Construct>
void context_manager(nb::module_& ptx, const char* name) {
  using Held = Block<Construct>;
  nb::class_<Held>(ptx, name)
      .def("__enter__",
           [](Held& block) {
             traced([&](Tracer& t) {
               if constexpr (!kIsStraight<Construct>) block.names.begin();
               block.construct.begin(t);
             });
           })
      .def(
          "__exit__",
          [](Held& block, nb::handle type, nb::handle, nb::handle) {
            if (!type.is_none()) return;
            traced([&](Tracer& t) {
              if constexpr (!kIsStraight<Construct>) block.names.end(t, block.runs);
              block.construct.end(t);
            });
          },
          nb::arg().none(), nb::arg().none(), nb::arg().none());
}

/// range_ with what iteration needs to know.
struct RangeObject {
  build::Range range;
  enum class State : std::uint8_t { New, Open, Done } state = State::New;
  Names names{};
  Reg counter{};

  Reg begin(Tracer& t) {
    names.begin();
    counter = range.begin(t);
    return counter;
  }
  void end(Tracer& t) {
    names.end(t, {true, range.is_entered(), &counter});
    range.end(t);
  }
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

void bind_range(nb::module_& ptx) {
  nb::class_<RangeObject>(ptx, "Range")
      .def("__enter__",
           [](RangeObject& loop) { return traced([&](Tracer& t) { return loop.begin(t); }); })
      .def(
          "__exit__",
          [](RangeObject& loop, nb::handle type, nb::handle, nb::handle) {
            if (type.is_none()) traced([&](Tracer& t) { loop.end(t); });
          },
          nb::arg().none(), nb::arg().none(), nb::arg().none())
      // As with Python's range, every `for` is a loop of its own.
      .def("__iter__", [](const RangeObject& loop) { return RangeObject{loop.range}; })
      .def("__next__", &next_step);
}

/// A predicate that there must be.
Guard needed_guard(Tracer& t, nb::handle value) {
  const Guard guard = to_guard(t, value);
  if (value.is_none()) {
    t.report(diag::Diagnostic(diag::Kind::GuardType, {"None"})
                 .at(t.loc(), {diag::Focus::Part::Guard, 0}));
  }
  return guard;
}

Guard guard_of(nb::handle value) {
  return traced([&](Tracer& t) { return needed_guard(t, value); });
}

Value value_of(nb::handle value) {
  return traced([&](Tracer& t) { return need_value(t, value); });
}

bool is_function(nb::handle value) {
  return !is_value(value) && PyCallable_Check(value.ptr()) != 0;
}

/// What the author's function says where it is asked.
build::Condition asked(nb::object function) {
  return [function = std::move(function)]() -> Guard {
    Trace* trace = innermost_trace();
    if (trace == nullptr) return {};
    check(trace->tracer);
    const nb::object holds = function();
    return needed_guard(trace->tracer, holds);
  };
}

Block<build::While> make_while(nb::object cond) {
  constexpr Names::Block kRuns{true, false, nullptr};
  if (is_function(cond)) return {build::While(asked(std::move(cond))), kRuns};
  if (cond.ptr() == Py_True) return {build::While(Guard{}), kRuns};
  return {build::While(guard_of(cond)), kRuns};
}

Block<build::Elif> make_elif(nb::object pred) {
  if (is_function(pred)) return {build::Elif(asked(std::move(pred)))};
  return {build::Elif([given = guard_of(pred)] { return given; })};
}

build::Range make_range(nb::handle start, nb::handle stop, nb::handle step) {
  // range_(n) counts from 0, as Python's range does.
  if (stop.is_none()) return {0, value_of(start), value_of(step)};
  return {value_of(start), value_of(stop), value_of(step)};
}

void bind_branches(nb::module_& ptx) {
  ptx.def(
      "if_", [](nb::handle p) { return Block<build::If>{build::If(guard_of(p))}; },
      nb::arg("pred").none(), "with if_(p): what is inside runs where p holds.");
  ptx.def("elif_", &make_elif, nb::arg("pred").none(),
          "with elif_(q): where the if_ and elif_ just closed did not hold and q does. A condition "
          "that takes several lines is a function: elif_(lambda: ...).");
  ptx.def(
      "else_", []() { return Block<build::Else>{}; },
      "with else_(): the other side of the if_ or elif_ just closed.");
}

void bind_loops(nb::module_& ptx) {
  ptx.def("while_", &make_while, nb::arg("cond").none(),
          "with while_(lambda: i < n): repeats while the predicate holds that the function gives, "
          "worked out on every trip. A predicate register is read on every trip, and the loop "
          "writes it; while_(True) ends by break_().");
  ptx.def(
      "loop",
      [](std::string label, nb::handle p) {
        const Guard again = traced([&](Tracer& t) { return to_guard(t, p); });
        return Block<build::Loop>{build::Loop(std::move(label), again), {true, true, nullptr}};
      },
      "label"_a, "pred"_a = nb::none(),
      "with loop(label, p): repeats while p holds, once at least.");
  ptx.def(
      "range_",
      [](nb::handle start, nb::handle stop, nb::handle step) {
        return RangeObject{make_range(start, stop, step)};
      },
      "start"_a, "stop"_a = nb::none(), "step"_a = 1, "A loop at run time; gives its counter.");
}

}  // namespace

void bind_blocks(nb::module_& ptx) {
  context_manager<build::If>(ptx, "If");
  context_manager<build::Elif>(ptx, "Elif");
  context_manager<build::Else>(ptx, "Else");
  context_manager<build::Loop>(ptx, "Loop");
  context_manager<build::While>(ptx, "While");
  context_manager<build::Scope>(ptx, "Scope");
  context_manager<build::Expression>(ptx, "Expression");
  bind_range(ptx);
  bind_branches(ptx);
  bind_loops(ptx);
  ptx.def(
      "scope", []() { return Block<build::Scope>{}; }, "with scope(): a block { } in the text.");
  ptx.def(
      "expr", []() { return Block<build::Expression>{}; },
      "A group of operators; nothing in the text.");
}

}  // namespace pyptx::python
