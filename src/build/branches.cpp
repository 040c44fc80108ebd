// SPDX-License-Identifier: Apache-2.0
//
// if_, elif_ and else_: a chain whose tail, one or two labels, moves on as it grows. See control.h.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "branches.h"
#include "pyptx/build/control.h"

namespace pyptx::build {
namespace {

constexpr std::string_view kElse = "$L_else";
constexpr std::string_view kEndif = "$L_endif";

/// Puts a branch over what follows in front of the chain's labels, which end the part before.
ir::LabelId jump_over(Tracer& tracer, const Tracer::Chain& chain) {
  const ir::LabelId after = chain.after ? *chain.after : tracer.label(kEndif);
  branch_to(tracer, after);
  auto& body = tracer.function().body;
  const auto tail = body.begin() + static_cast<std::ptrdiff_t>(chain.statements - chain.labels());
  std::rotate(tail, body.end() - 1, body.end());
  if (!chain.after) return after;
  // The end of the chain is further on now.
  const auto end = std::find_if(tail, body.end(), [&](const ir::Statement& statement) {
    return statement.kind == ir::StatementKind::Label &&
           statement.index == static_cast<std::uint32_t>(after);
  });
  body.erase(end, end + 1);
  return after;
}

void place_end(Tracer& tracer, ir::LabelId after, bool is_placed) {
  if (!is_placed) return tracer.place(after);
  tracer.function().body.push_back({ir::StatementKind::Label, static_cast<std::uint32_t>(after)});
}

/// Whether everything emitted since the chain stands within the call of elif_ itself, so that it is
/// its condition.
bool is_condition(const Tracer& tracer, const Tracer::Chain& chain) {
  const auto& locations = tracer.module().locations;
  const auto call = locations.line(tracer.loc());
  const auto& body = tracer.function().body;
  if (body.size() == chain.statements) return true;
  if (!call) return false;
  return std::all_of(body.begin() + static_cast<std::ptrdiff_t>(chain.statements), body.end(),
                     [&](const ir::Statement& statement) {
                       if (statement.kind != ir::StatementKind::Instruction) return false;
                       const auto& instruction = tracer.function().instructions[statement.index];
                       const auto at = locations.line(instruction.loc);
                       return at && at->file == call->file &&
                              std::pair(at->line, at->column) >=
                                  std::pair(call->line, call->column);
                     });
}

}  // namespace

void If::begin(Tracer& tracer) {
  after_ = tracer.label(kElse);
  branch_to(tracer, *after_, inverse(condition_));
  if (!tracer.has_error()) tracer.enter_construct("if_");
}

void If::end(Tracer& tracer) {
  tracer.leave_construct("if_");
  if (tracer.has_error()) return;
  tracer.place(*after_);
  tracer.end_chain({*after_, {}});
}

void Elif::begin(Tracer& tracer) {
  const auto chain = tracer.chain();
  const bool follows = chain && chain->statements <= tracer.function().body.size();
  if (!follows || !is_condition(tracer, *chain)) {
    diag::Diagnostic problem(diag::Kind::ElifWithoutIf, {});
    if (follows) {
      problem->notes.emplace_back(
          "a condition of several lines is a function: elif_(lambda: x > 3)");
    }
    tracer.report(std::move(problem));
    return;
  }
  is_end_placed_ = chain->after.has_value();
  end_ = jump_over(tracer, *chain);
  const diag::Loc here = tracer.loc();
  const Guard holds = condition_();
  tracer.set_loc(here);
  after_ = tracer.label(kElse);
  branch_to(tracer, *after_, inverse(holds));
  if (!tracer.has_error()) tracer.enter_construct("elif_");
}

void Elif::end(Tracer& tracer) {
  tracer.leave_construct("elif_");
  if (tracer.has_error()) return;
  tracer.place(*after_);
  place_end(tracer, *end_, is_end_placed_);
  tracer.end_chain({*after_, end_});
}

void Else::begin(Tracer& tracer) {
  const auto chain = tracer.chain();
  if (!chain || chain->statements != tracer.function().body.size()) {
    tracer.report({diag::Kind::ElseWithoutIf, {}});
    return;
  }
  is_end_placed_ = chain->after.has_value();
  after_ = jump_over(tracer, *chain);
  if (!tracer.has_error()) tracer.enter_construct("else_");
}

void Else::end(Tracer& tracer) {
  tracer.leave_construct("else_");
  if (!tracer.has_error()) place_end(tracer, *after_, is_end_placed_);
}

}  // namespace pyptx::build
