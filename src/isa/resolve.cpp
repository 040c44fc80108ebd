// SPDX-License-Identifier: Apache-2.0
//
// What every operand of a form must be, once its slots are bound: which are there, their types and
// numbers of elements, the parts of addresses and pairs. Says nothing about operands given: that
// is verify's.
#include <algorithm>
#include <array>

#include "match.h"

namespace pyptx::isa {
namespace {

using tables::CountOp;
using tables::slice;

/// One form under one binding.
class Resolver {
 public:
  Resolver(const tables::FormRow& form, const Binding& binding, std::span<const Modifier> modifiers)
      : form_(form), binding_(binding), modifiers_(modifiers) {}

  /// Those of `rows` whose conditions hold.
  std::vector<OperandSpec> operands(tables::Range rows) const {
    std::vector<OperandSpec> specs;
    for (const tables::OperandRow& row : slice(tables::kOperands, rows)) {
      if (holds_all(row.condition)) specs.push_back(operand(row));
    }
    return specs;
  }

 private:
  bool holds_all(tables::Range terms) const {
    return std::ranges::all_of(slice(tables::kTerms, terms), [&](const tables::TermRow& term) {
      return holds(term, binding_, modifiers_);
    });
  }

  std::uint16_t property(const tables::PropertyRow& row) const {
    const int bound = row.slot < 0 ? -1 : binding_[static_cast<std::size_t>(row.slot)];
    if (bound < 0) return row.fixed;
    for (const tables::ByModifier& entry : slice(tables::kByModifier, row.values)) {
      if (entry.modifier == modifiers_[static_cast<std::size_t>(bound)]) return entry.value;
    }
    return 0;
  }

  static int apply(CountOp op, int left, int right) {
    switch (op) {
      case CountOp::Add:
        return left + right;
      case CountOp::Subtract:
        return left - right;
      case CountOp::Multiply:
        return left * right;
      case CountOp::Divide:
        return right == 0 ? 0 : left / right;
      case CountOp::Ceiling:
        return right == 0 ? 0 : (left + right - 1) / right;
      case CountOp::Minimum:
        return std::min(left, right);
      case CountOp::Maximum:
        return std::max(left, right);
      case CountOp::Number:
      case CountOp::Slot:
        break;
    }
    return 0;
  }

  /// The generator refuses counts that need more than this stack.
  std::uint16_t count(tables::Range steps) const {
    std::array<int, 16> stack{};
    std::size_t depth = 0;
    for (const tables::CountStep& step : slice(tables::kCountSteps, steps)) {
      if (step.op == CountOp::Number || step.op == CountOp::Slot) {
        stack[depth++] = property(step.value);
      } else {
        --depth;
        stack[depth - 1] = apply(step.op, stack[depth - 1], stack[depth]);
      }
    }
    return static_cast<std::uint16_t>(depth == 0 ? 0 : std::max(stack[0], 0));
  }

  void set_types(OperandSpec& spec, tables::Range rows) const {
    std::size_t also = 0;
    for (const tables::PropertyRow& row : slice(tables::kProperties, rows)) {
      const auto type = static_cast<Type>(property(row));
      if (spec.type == Type::None) {
        spec.type = type;
      } else if (also < spec.also.size()) {
        spec.also[also++] = type;
      }
    }
  }

  void set_space(OperandSpec& spec, const tables::OperandRow& row) const {
    spec.state_space = row.space;
    if (row.space_slot < 0) return;
    const auto slot = static_cast<std::size_t>(static_cast<std::uint8_t>(row.space_slot));
    spec.space = slice(tables::kSlots, form_.slots)[slot].slot;
    if (binding_[slot] >= 0)
      spec.state_space = modifiers_[static_cast<std::size_t>(binding_[slot])];
  }

  void set_widths(OperandSpec& spec, tables::Range rows) const {
    for (const tables::WidthRow& row : slice(tables::kWidths, rows)) {
      if (!holds_all(row.condition)) continue;
      AddressWidths& widths = spec.widths.emplace_back();
      widths.bits = row.bits;
      if (row.needs != 0) widths.needs = tables::availability(row.needs);
    }
  }

  /// d{|p}: without p it is d alone; where p must be there, only the pair will do.
  static void settle_pair(OperandSpec& spec) {
    if (spec.parts.size() < 2) {
      spec.accept = spec.parts.front().accept;
      spec.parts.clear();
    } else if (!spec.parts[1].optional) {
      spec.accept = Accept::Pipe;
    }
  }

  OperandSpec operand(const tables::OperandRow& row) const {
    OperandSpec spec;
    spec.name = row.name;
    spec.accept = row.accept;
    spec.odd = row.odd;
    spec.role = row.role;
    spec.width = row.width;
    spec.registers = row.registers;
    spec.optional = row.optional;
    spec.unified = row.unified;
    spec.narrow = row.narrow;
    spec.power_of_two = row.power_of_two;
    spec.cut = row.cut;
    spec.nonzero = row.nonzero;
    spec.share = row.share;
    spec.part = row.part;
    spec.padded = row.padded;
    spec.bare = row.bare;
    spec.indexed = row.indexed;
    spec.strict = row.strict && holds_all(row.strict_when);
    spec.loose = row.loose;
    spec.typed = row.typed;
    spec.texmode = row.texmode;
    spec.ordinary = row.ordinary;
    spec.unseen = row.unseen;
    spec.uncounted = row.uncounted;
    set_types(spec, row.types);
    spec.vector = count(row.count);
    set_space(spec, row);
    spec.minimum = row.minimum;
    spec.maximum = row.maximum;
    spec.multiple = row.multiple_count.count != 0
                        ? std::max<std::uint16_t>(count(row.multiple_count), 1)
                        : row.multiple;
    spec.last = row.last;
    spec.literals = slice(tables::kLiterals, row.literals);
    spec.selectors = slice(tables::kLiterals, row.selectors);
    if (row.needs != 0) spec.needs = tables::availability(row.needs);
    if (row.unified_needs != 0) spec.unified_needs = tables::availability(row.unified_needs);
    set_widths(spec, row.widths);
    spec.unnamed = row.unnamed.count != 0 && holds_all(row.unnamed);
    if (row.strict_needs != 0) spec.strict_needs = tables::availability(row.strict_needs);
    spec.also_somewhere = row.also;
    if (row.also_needs != 0) spec.also_needs = tables::availability(row.also_needs);
    spec.parts = operands(row.parts);
    if (row.is_pair) settle_pair(spec);
    return spec;
  }

  const tables::FormRow& form_;
  const Binding& binding_;
  std::span<const Modifier> modifiers_;
};

}  // namespace

std::vector<OperandSpec> resolve_operands(const tables::FormRow& form, const Binding& binding,
                                          std::span<const Modifier> modifiers) {
  return Resolver(form, binding, modifiers).operands(form.operands);
}

}  // namespace pyptx::isa
