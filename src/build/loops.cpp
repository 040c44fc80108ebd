// SPDX-License-Identifier: Apache-2.0
//
// Loops that end by a condition, and ways out of all of them. See control.h.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "arguments.h"
#include "branches.h"
#include "pyptx/build/control.h"
#include "pyptx/support/concat.h"

namespace pyptx::build {

void Loop::begin(Tracer& tracer) {
  top_ = tracer.named_label(name_);
  tracer.place(*top_);
  if (!tracer.has_error()) tracer.enter_loop("loop", {});
}

void Loop::end(Tracer& tracer) {
  const Tracer::LoopLabels labels = tracer.leave_loop("loop");
  if (tracer.has_error()) return;
  if (labels.next) tracer.place(*labels.next);
  branch_to(tracer, *top_, again_);
  if (labels.after) tracer.place(*labels.after);
}

void While::begin(Tracer& tracer) {
  const diag::Loc here = tracer.loc();
  const ir::LabelId top = tracer.label("$L_while");
  const ir::LabelId after = tracer.label("$L_endwhile");
  tracer.place(top);
  const Guard holds = condition_();
  tracer.set_loc(here);
  if (holds.predicate) branch_to(tracer, after, inverse(holds));
  if (tracer.has_error()) return;
  given_ = holds.predicate;
  begun_ = here;
  first_instruction_ = tracer.function().instructions.size();
  first_operand_ = tracer.function().operands.size();
  first_statement_ = tracer.function().body.size();
  tracer.enter_loop("while_", {after, top});
}

bool While::may_end(const Tracer& tracer) const {
  const ir::Function& function = tracer.function();
  const auto is_raw = [](const ir::Statement& s) { return s.kind == ir::StatementKind::Raw; };
  // A branch of the tracer's own ends a part of a block.
  const auto is_own = [&](const ir::Operand& operand) {
    return operand.kind == ir::OperandKind::Label &&
           tracer.module().text(function.labels[operand.index]).starts_with("$L_");
  };
  const auto leaves = [&](const ir::Instruction& i) {
    const isa::Flow flow = i.form().form->flow;
    if (flow != isa::Flow::Jump) return flow != isa::Flow::Next;
    return !std::ranges::any_of(function.operands_of(i), is_own);
  };
  const auto is_condition = [&](const ir::Operand& operand) {
    const bool is_register = operand.kind == ir::OperandKind::Register;
    return is_register && given_ && operand.register_id() == given_->id;
  };
  const auto from = [](const auto& all, std::size_t first) {
    return std::span(all.begin() + static_cast<std::ptrdiff_t>(std::min(first, all.size())),
                     all.end());
  };
  return std::ranges::any_of(from(function.body, first_statement_), is_raw) ||
         std::ranges::any_of(from(function.instructions, first_instruction_), leaves) ||
         std::ranges::any_of(from(function.operands, first_operand_), is_condition);
}

void While::end(Tracer& tracer) {
  const Tracer::LoopLabels labels = tracer.leave_loop("while_");
  if (tracer.has_error()) return;
  if (!is_evaluated_ && !labels.is_left && !may_end(tracer)) {
    tracer.report(diag::Diagnostic(diag::Kind::StuckLoop, {})
                      .at(begun_, {diag::Focus::argument("cond")})
                      .note("the comparison was made once, before the loop; one that is made on "
                            "every trip is a function: while_(lambda: i < n)"));
    return;
  }
  branch_to(tracer, *labels.next);
  tracer.place(*labels.after);
}

namespace {

Tracer::LoopLabels* loop_to_leave(Tracer& tracer, std::string_view what) {
  std::string_view barrier;
  Tracer::LoopLabels* labels = tracer.innermost_loop(barrier);
  if (labels != nullptr) return labels;
  diag::Diagnostic problem(diag::Kind::OutsideLoop, {std::string(what)});
  if (!barrier.empty()) {
    problem->notes.push_back(support::concat(
        "the body of ", barrier, " stands there several times; write ptx.range_ where it is left"));
  }
  tracer.report(std::move(problem));
  return nullptr;
}

}  // namespace

void break_loop(Tracer& tracer, Guard guard) {
  Tracer::LoopLabels* labels = loop_to_leave(tracer, "break_");
  if (labels == nullptr) return;
  if (!labels->after) labels->after = tracer.label("$L_break");
  labels->is_left = true;
  branch_to(tracer, *labels->after, guard);
}

void continue_loop(Tracer& tracer, Guard guard) {
  Tracer::LoopLabels* labels = loop_to_leave(tracer, "continue_");
  if (labels == nullptr) return;
  if (!labels->next) labels->next = tracer.label("$L_continue");
  branch_to(tracer, *labels->next, guard);
}

}  // namespace pyptx::build
