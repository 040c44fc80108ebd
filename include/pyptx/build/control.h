// SPDX-License-Identifier: Apache-2.0
//
// Structured control flow over labels and branches, resolved while tracing: nothing here survives
// in the text but `bra`, labels and predicates. Each construct is an object with begin() and end(),
// so that a host language's blocks map onto it. PTX ISA, "Control Flow Instructions".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pyptx/build/operators.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build {

/// Branches to the author's label.
void branch(Tracer& tracer, std::string_view label, Guard guard = {});
/// Places the author's label `name`.
void place_label(Tracer& tracer, std::string_view name);
/// Ends the thread.
void ret(Tracer& tracer, Guard guard = {});
/// Stops the launch with an error.
void trap(Tracer& tracer, Guard guard = {});

/// if (predicate) { ... }
class If {
 public:
  explicit If(Guard condition) : condition_(condition) {}
  void begin(Tracer& tracer);
  void end(Tracer& tracer);

 private:
  Guard condition_;
  std::optional<ir::LabelId> after_;
};

/// A condition that is worked out where it is asked: what it emits stands there.
using Condition = std::function<Guard()>;

/// else if (condition) { ... } of the `If` or `Elif` that ended just before. Between them may stand
/// only what the call of elif_ itself has emitted for its argument.
class Elif {
 public:
  explicit Elif(Condition condition) : condition_(std::move(condition)) {}
  void begin(Tracer& tracer);
  void end(Tracer& tracer);

 private:
  Condition condition_;
  std::optional<ir::LabelId> after_;
  std::optional<ir::LabelId> end_;  // of the chain
  bool is_end_placed_ = false;
};

/// else { ... } of the `If` or `Elif` that ended just before.
class Else {
 public:
  void begin(Tracer& tracer);
  void end(Tracer& tracer);

 private:
  std::optional<ir::LabelId> after_;
  bool is_end_placed_ = false;
};

/// label: ... @predicate bra label; the predicate is read where the block ends. Without one the
/// loop has no end of its own.
class Loop {
 public:
  Loop(std::string label, Guard again) : name_(std::move(label)), again_(again) {}
  void begin(Tracer& tracer);
  void end(Tracer& tracer);

 private:
  std::string name_;
  Guard again_;
  std::optional<ir::LabelId> top_;
};

/// while (condition) { ... }. A predicate that is given is read on every trip, and something in the
/// loop must write it (StuckLoop).
class While {
 public:
  explicit While(Condition condition) : condition_(std::move(condition)), is_evaluated_(true) {}
  explicit While(Guard given) : condition_([given] { return given; }) {}
  void begin(Tracer& tracer);
  void end(Tracer& tracer);

 private:
  /// Whether something in the loop names the condition, or leaves.
  bool may_end(const Tracer& tracer) const;

  Condition condition_;
  bool is_evaluated_ = false;
  std::optional<Reg> given_;
  diag::Loc begun_{};
  std::size_t first_instruction_ = 0;
  std::size_t first_operand_ = 0;
  std::size_t first_statement_ = 0;
};

/// Leaves the innermost while_, range_ or loop.
void break_loop(Tracer& tracer, Guard guard = {});
/// Goes on with the next trip of the innermost while_, range_ or loop.
void continue_loop(Tracer& tracer, Guard guard = {});

/// A run-time counted loop: start, start + step, ... while below stop (above it for a negative
/// literal step). The counter has the type of a register bound, else u32, else s32 where a literal
/// is negative. A register step counts upwards.
class Range {
 public:
  Range(Value start, Value stop, Value step) : start_(start), stop_(stop), step_(step) {}
  /// The counter; writing it changes the loop.
  Reg begin(Tracer& tracer);
  void end(Tracer& tracer);
  /// Whether both bounds are literals and the first trip certain.
  bool is_entered() const;

 private:
  isa::Type counter_type() const;
  bool is_downward() const { return step_.integer() != nullptr && *step_.integer() < 0; }

  Value start_;
  Value stop_;
  Value step_;
  Reg counter_;
  std::optional<ir::LabelId> top_;
  std::optional<ir::LabelId> after_;
};

/// { ... }: names declared inside end with it.
class Scope {
 public:
  void begin(Tracer& tracer);
  void end(Tracer& tracer);
};

/// A group of operators: nothing in the text, but it must be closed in its place like any
/// construct.
class Expression {
 public:
  void begin(Tracer& tracer) { tracer.enter_construct(kName, Tracer::Runs::Straight); }
  void end(Tracer& tracer) { tracer.leave_construct(kName); }

 private:
  static constexpr std::string_view kName = "expr";
};

/// Runs `body` for 0, 1, ... total - 1, `unroll` times per trip of a run-time loop; what is left
/// over runs after it. A loop of one trip or none is written out, with literal indices.
void kloop(Tracer& tracer, Value total, std::int64_t unroll,
           const std::function<void(Value index)>& body, std::string_view label = "kloop");

}  // namespace pyptx::build
