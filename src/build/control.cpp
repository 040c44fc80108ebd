// SPDX-License-Identifier: Apache-2.0
//
// Labels and branches for structured constructs. See control.h.
#include "pyptx/build/control.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "arguments.h"
#include "branches.h"
#include "pyptx/support/concat.h"
#include "types.h"

namespace pyptx::build {
namespace {

constexpr const char* kRange = "ptx.range_(...)";

}  // namespace

void branch_to(Tracer& tracer, ir::LabelId label, Guard guard) {
  tracer.emit("bra", {ir::Operand::label(label)}, guard);
}

Guard inverse(Guard guard) {
  guard.negated = !guard.negated;
  return guard;
}

void branch(Tracer& tracer, std::string_view label, Guard guard) {
  branch_to(tracer, tracer.named_label(label), guard);
}

void place_label(Tracer& tracer, std::string_view name) { tracer.place(tracer.named_label(name)); }

void ret(Tracer& tracer, Guard guard) { tracer.emit("ret", {}, guard); }
void trap(Tracer& tracer, Guard guard) { tracer.emit("trap", {}, guard); }

isa::Type Range::counter_type() const {
  for (const Value* bound : {&start_, &stop_, &step_}) {
    if (bound->reg() != nullptr) return bound->reg()->type;
  }
  for (const Value* bound : {&start_, &stop_, &step_}) {
    if (bound->integer() != nullptr && *bound->integer() < 0) return isa::Type::S32;
  }
  return isa::Type::U32;
}

bool Range::is_entered() const {
  if (start_.integer() == nullptr || stop_.integer() == nullptr) return false;
  return is_downward() ? *start_.integer() > *stop_.integer()
                       : *start_.integer() < *stop_.integer();
}

Reg Range::begin(Tracer& tracer) {
  const bool has_floats =
      start_.real() != nullptr || stop_.real() != nullptr || step_.real() != nullptr;
  if (has_floats || !is_integer(counter_type())) {
    const char* bound = start_.real() != nullptr ? "start" : "stop|start";
    refuse(tracer, {"a bound of range_", bound}, "an integer", "a float");
    return {};
  }
  if (step_.integer() != nullptr && *step_.integer() == 0) {
    refuse(tracer, {"the step of range_", "step"}, "other than 0", "0");
    return {};
  }
  for (const Value* bound : {&start_, &stop_}) {
    const std::int64_t* literal = bound->integer();
    if (literal == nullptr || is_in_range(*literal, counter_type())) continue;
    tracer.report(diag::Diagnostic(diag::Kind::LiteralRange,
                                   {std::to_string(*literal), type_text(counter_type())})
                      .note("a bound in a register of another type changes the counter's type"));
    return {};
  }
  {
    const Expansion here(tracer, kRange);
    counter_ = scalar(tracer, counter_type(), start_);
    top_ = tracer.label("$L_range");
    after_ = tracer.label("$L_endrange");
    if (!is_entered()) {
      const Reg is_done =
          compare(tracer, is_downward() ? Comparison::Le : Comparison::Ge, counter_, stop_);
      branch_to(tracer, *after_, {is_done, false});
    }
    tracer.place(*top_);
  }
  if (!tracer.has_error()) tracer.enter_loop("range_", {after_, {}});
  return counter_;
}

void Range::end(Tracer& tracer) {
  const Tracer::LoopLabels labels = tracer.leave_loop("range_");
  if (tracer.has_error()) return;
  const Expansion here(tracer, kRange);
  if (labels.next) tracer.place(*labels.next);
  Reg again;
  if (is_downward() && kind(counter_.type) != isa::TypeKind::Signed) {
    // A step past zero would wrap to a large number, so the distance decides before it is taken.
    const Reg left = binary(tracer, BinaryOp::Sub, counter_, stop_);
    again = compare(tracer, Comparison::Gt, left, -*step_.integer());
    update(tracer, BinaryOp::Add, counter_, step_);
  } else {
    update(tracer, BinaryOp::Add, counter_, step_);
    again = compare(tracer, is_downward() ? Comparison::Gt : Comparison::Lt, counter_, stop_);
  }
  branch_to(tracer, *top_, {again, false});
  tracer.place(*after_);
}

void Scope::begin(Tracer& tracer) {
  tracer.open_block();
  tracer.enter_construct("scope", Tracer::Runs::Straight);
}

void Scope::end(Tracer& tracer) {
  tracer.leave_construct("scope");
  tracer.close_block();
}

namespace {

constexpr std::string_view kKloop = "kloop";

/// One trip of an unrolled loop: the counter itself, then counter + 1, ...
void unrolled_trip(Tracer& tracer, Reg counter, std::int64_t unroll,
                   const std::function<void(Value)>& body) {
  for (std::int64_t i = 0; i < unroll && !tracer.has_error(); ++i) {
    body(i == 0 ? counter : binary(tracer, BinaryOp::Add, counter, i));
  }
}

/// A loop that runs while counter + step <= total.
void counted(Tracer& tracer, Reg counter, Value total, std::int64_t step, std::string_view label,
             const std::function<void(Value)>& body) {
  const ir::LabelId top = tracer.label(label);
  const ir::LabelId after = tracer.label(support::concat(label, "_end"));
  const auto last = [&]() -> Reg {
    const Reg next = binary(tracer, BinaryOp::Add, counter, step);
    return compare(tracer, Comparison::Gt, next, total);
  };
  branch_to(tracer, after, {last(), false});
  tracer.place(top);
  tracer.enter_construct(kKloop);
  unrolled_trip(tracer, counter, step, body);
  tracer.leave_construct(kKloop);
  update(tracer, BinaryOp::Add, counter, step);
  branch_to(tracer, top, {last(), true});
  tracer.place(after);
}

}  // namespace

void kloop(Tracer& tracer, Value total, std::int64_t unroll,
           const std::function<void(Value)>& authors, std::string_view label) {
  const Expansion here(tracer, "ptx.kloop(...)");
  const auto body = [&](Value at) {
    tracer.enter_construct(kKloop, Tracer::Runs::Straight);  // which no break_ leaves
    here.leave_for([&] { authors(at); });
    tracer.leave_construct(kKloop);
  };
  if (unroll < 1) {
    refuse(tracer, {"unroll of kloop", "unroll"}, "at least 1", std::to_string(unroll));
    return;
  }
  if (total.real() != nullptr || (total.reg() != nullptr && !is_integer(total.reg()->type))) {
    refuse(tracer, {"the total of kloop", "total"}, "an integer", "a float");
    return;
  }
  if (total.reg() != nullptr) {
    const Reg counter = scalar(tracer, total.reg()->type, 0);
    counted(tracer, counter, total, unroll, label, body);
    if (unroll > 1) counted(tracer, counter, total, 1, support::concat(label, "_rest"), body);
    return;
  }
  const std::int64_t trips = *total.integer() / unroll;
  std::int64_t written_out = 0;
  if (trips > 1) {
    Range range(0, trips * unroll, unroll);
    const Reg counter = range.begin(tracer);
    unrolled_trip(tracer, counter, unroll, body);
    range.end(tracer);
    written_out = trips * unroll;
  }
  for (std::int64_t i = written_out; i < *total.integer() && !tracer.has_error(); ++i) body(i);
}

}  // namespace pyptx::build
