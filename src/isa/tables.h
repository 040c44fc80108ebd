// SPDX-License-Identifier: Apache-2.0
//
// The shape of the generated tables. Rows refer to each other by index into flat arrays; nothing
// here is worked out at run time. Only src/isa includes this: others see spelling.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "pyptx/isa/directive.h"
#include "pyptx/isa/form_info.h"
#include "pyptx/isa/id.h"
#include "pyptx/isa/limits.h"
#include "pyptx/isa/spelling.h"
#include "pyptx/isa/target.h"
#include "pyptx/isa/type.h"

namespace pyptx::isa::tables {

/// [first, first + count) of the array the field's comment names.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// A modifier value of a slot.
struct ValueRow {
  Modifier modifier{};
  std::uint16_t needs = 0;  // into kNeeds; 0 needs nothing
};

struct SlotRow {
  Slot slot{};
  bool optional = false;
  bool ignored = false;  // ptxas drops what stands there
  /// Slots of one group are told apart by order (.dtype.atype, .dst.src); 0: order is free.
  std::uint8_t group = 0;
  Range values;  // kValues
};

/// What an operand property is when its slot is bound to `modifier`.
struct ByModifier {
  Modifier modifier{};
  std::uint16_t value = 0;  // a Type, or a number of elements
};

/// A property of an operand: what slot `slot` (index in the form) holds looks it up; `fixed` when
/// the slot is left out, or when there is none (-1).
struct PropertyRow {
  std::uint16_t fixed = 0;
  std::int8_t slot = -1;
  Range values;  // kByModifier
};

/// A number of elements in postfix order: Number and Slot push, the others take two and push one.
enum class CountOp : std::uint8_t {
  Number,
  Slot,
  Add,
  Subtract,
  Multiply,
  Divide,
  Ceiling,
  Minimum,
  Maximum,
};
struct CountStep {
  CountOp op{};
  PropertyRow value;
};

/// The sizes that an address's register may have, where the terms and the availability hold.
struct WidthRow {
  std::uint16_t bits = 0;  // the sum of the sizes
  Range condition;         // kTerms
  std::uint16_t needs = 0;
};

struct OperandRow {
  std::string_view name;
  Accept accept{};
  Accept odd{};
  Role role = Role::Source;
  Width width = Width::Exact;
  Registers registers = Registers::Usual;
  bool optional = false;
  bool is_pair = false;  // d|p
  bool unified = false;
  bool narrow = false;
  bool power_of_two = false;
  bool cut = false;
  bool nonzero = false;
  bool share = false;
  bool part = false;
  bool padded = false;
  bool bare = false;
  bool indexed = false;
  bool strict = false;
  Range strict_when{};  // kTerms: strict only when all hold
  bool loose = false;
  bool typed = false;
  bool unseen = false;
  TextureMode texmode = TextureMode::Any;
  bool ordinary = false;
  bool uncounted = false;
  std::int8_t space_slot = -1;  // index of the form's slot that names the state space
  Modifier space{};             // a fixed state space
  Range unnamed{};              // kTerms: no variable when there are some and all hold
  Range condition{};            // kTerms: there only when all hold
  Range types{};                // kProperties
  Range count{};                // kCountSteps
  std::int64_t minimum = INT64_MIN;
  std::int64_t maximum = INT64_MAX;
  std::int64_t multiple = 1;
  Range multiple_count{};  // kCountSteps, where slots give it
  std::int64_t last = INT64_MAX;
  Range literals{};   // kLiterals
  Range selectors{};  // kLiterals
  std::uint16_t needs = 0;
  std::uint16_t unified_needs = 0;
  Range widths{};  // kWidths
  std::uint16_t strict_needs = 0;
  Type also{};  // a further type, where also_needs holds
  std::uint16_t also_needs = 0;
  Range parts{};  // kOperands
};

/// True when the slot is bound (to one of `values`, when there are any), or not so when negated.
struct TermRow {
  std::uint8_t slot = 0;
  bool negated = false;
  Range values;  // kTermValues
};

/// All terms of `when` imply one of `then`; or, with needs != 0, that availability. A lint is what
/// the manual says and ptxas does not hold to.
struct RuleRow {
  Range when;  // kTerms
  Range then;  // kTerms
  std::uint16_t needs = 0;
  bool is_lint = false;
  std::string_view message;
};

struct FormRow {
  Opcode opcode{};
  Range slots;     // kSlots
  Range operands;  // kOperands
  Range rules;     // kRules
  std::uint16_t needs = 0;
  /// The first slots belong to a compound opcode (mbarrier.try_wait): filled first and in order.
  std::uint8_t head = 0;
  Range examples;  // kExamples
};

struct NeedsRow {
  Version version;
  Version last;
  Range targets;  // kTargetRules
};

struct TargetRow {
  Target target;
  Version minimum;
  std::uint16_t family = 0;
  Limits limits;
};

struct DirectiveRow {
  std::string_view name;
  std::string_view manual;
  DirectivePlace places{};
  DirectiveArguments arguments{};
  std::uint8_t minimum = 0;
  std::uint8_t maximum = 0;
  std::uint16_t needs = 0;
};

struct PragmaRow {
  std::string_view name;
  std::string_view manual;
  DirectivePlace places{};
  bool takes_value = false;
  bool is_checked = false;
  std::uint16_t needs = 0;
};

struct TargetOptionRow {
  std::string_view name;
  std::string_view group;
  std::uint16_t needs = 0;
};

struct SpecialRow {
  SpecialRegisterInfo info;
  std::uint16_t needs = 0;
};

extern const std::span<const std::string_view> kOpcodes;    // by Opcode
extern const std::span<const std::string_view> kModifiers;  // by Modifier
extern const std::span<const Modifier> kRepeatable;         // may stand there twice
extern const std::span<const Type> kModifierTypes;          // by Modifier
extern const std::span<const std::string_view> kSlotNames;  // by Slot
extern const std::span<const TypeInfo> kTypes;              // by Type
extern const std::span<const ElementInfo> kElements;        // by Type
extern const std::span<const SpecialRow> kSpecials;         // by SpecialRegister
extern const std::span<const Version> kVersions;
extern const std::span<const DirectiveRow> kDirectives;
extern const std::span<const PragmaRow> kPragmas;
extern const std::span<const TargetOptionRow> kTargetOptions;
extern const std::span<const TargetRow> kTargets;
extern const std::span<const TargetRule> kTargetRules;
extern const std::span<const NeedsRow> kNeeds;
extern const std::span<const Range> kOpcodeForms;  // by Opcode, into kForms and kFormRows
extern const std::span<const Form> kForms;
extern const std::span<const FormRow> kFormRows;
extern const std::span<const ExampleInfo> kExamples;
extern const std::span<const SlotRow> kSlots;
extern const std::span<const ValueRow> kValues;
extern const std::span<const OperandRow> kOperands;
extern const std::span<const std::int64_t> kLiterals;
extern const std::span<const PropertyRow> kProperties;
extern const std::span<const CountStep> kCountSteps;
extern const std::span<const WidthRow> kWidths;
extern const std::span<const ByModifier> kByModifier;
extern const std::span<const RuleRow> kRules;
extern const std::span<const TermRow> kTerms;
extern const std::span<const Modifier> kTermValues;

template <typename T>
std::span<const T> slice(std::span<const T> all, Range range) {
  return all.subspan(range.first, range.count);
}

/// Availability `index` of kNeeds.
Availability availability(std::uint16_t index);

}  // namespace pyptx::isa::tables
