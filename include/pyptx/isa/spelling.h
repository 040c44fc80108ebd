// SPDX-License-Identifier: Apache-2.0
//
// A Spelling is an opcode with its modifiers, matched once against the table and kept for the life
// of the process: ld.global.f32 is looked up once, however many instructions use it. Everything
// that depends on the modifiers alone (which forms match, what each slot is bound to, what every
// operand must be, which version and targets it needs) is worked out here, so that judging and
// decoding an instruction involve no strings.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/isa/id.h"
#include "pyptx/isa/target.h"

namespace pyptx::isa {

/// The kinds of operand a place admits, as a bit set.
enum class Accept : std::uint16_t {
  Nothing = 0,
  Register = 1U << 0,
  Integer = 1U << 1,    // integer literal or constant expression
  Float = 1U << 2,      // floating-point literal
  Predicate = 1U << 3,  // predicate register
  NotPredicate = 1U << 4,
  Address = 1U << 5,  // [base+offset], [tensor map, {coordinates}]
  Vector = 1U << 6,   // {a, b, ...}
  Symbol = 1U << 7,   // variable or function name
  Label = 1U << 8,
  Special = 1U << 9,  // special register
  Sink = 1U << 10,    // _
  Parenthesized = 1U << 11,
  Pipe = 1U << 12,      // p|q
  Negated = 1U << 13,   // -r
  Selector = 1U << 14,  // r.b0, r.h1, r.b7610
};
constexpr Accept operator|(Accept a, Accept b) {
  return static_cast<Accept>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
constexpr bool has(Accept set, Accept bit) {
  return (static_cast<std::uint16_t>(set) & static_cast<std::uint16_t>(bit)) != 0;
}

/// Whether an operand is read or written.
enum class Role : std::uint8_t { Source, Destination, Both };

/// How a register's width may differ from the operand's type (PTX ISA, "Operand Size Exceeding
/// Instruction-Type Size": ld, st and cvt take wider registers).
enum class Width : std::uint8_t {
  Exact,
  AtLeast,
  Converted,  // wider integers of at most 64 bits, as cvt takes them
};

/// Which registers of the right size may hold the operand.
enum class Registers : std::uint8_t {
  Usual,  // the manual's type checking rules, and .f16x2 for a 32-bit integer or a predicate
  Fixed,  // the same without .f16x2: the type is the operand's own, no word of the instruction
  Plain,  // declared .bN only
  Exact,  // declared with the operand's type only
  Any,    // whatever they were declared as
};

/// The sizes that an address's register may have, on the targets that `needs` admits.
struct AddressWidths {
  std::uint16_t bits = 0;  // the sum of the sizes, which are powers of two
  std::optional<Availability> needs;
};

/// How a module names samplers (PTX ISA, "Texturing Modes"): with their textures, or apart.
enum class TextureMode : std::uint8_t { Any, Unified, Independent };

/// What one operand of a form must be, once the modifiers are known.
struct OperandSpec {
  std::string_view name;  // the manual's: "d", "a", "cache-policy", "d|p"
  Accept accept = Accept::Nothing;
  Accept odd = Accept::Nothing;  // of these, what the manual does not have
  Role role = Role::Source;
  Width width = Width::Exact;
  Registers registers = Registers::Usual;
  bool optional = false;
  bool unified = false;       // [a].unified is taken
  bool narrow = false;        // a 32-bit register may be a global or generic address
  bool power_of_two = false;  // which an integer literal must be
  bool cut = false;           // an integer literal is cut to 32 bits first
  bool nonzero = false;       // which an integer literal must be, all 64 bits of it
  bool share = false;         // a floating-point literal is above 0 and at most 1
  bool part = false;          // a literal is at most that of the next operand, both as 32 bits
  bool padded = false;        // a longer vector is taken, its tail ignored
  bool bare = false;          // may stand without its braces or brackets
  bool indexed = false;       // the vector's first element is an index: an integer
  bool strict = false;        // a vector takes neither _ nor special registers
  bool ordinary = false;      // a vector takes no special registers
  bool uncounted = false;     // a vector may stand there, of which one element is read
  bool unnamed = false;       // a register only: no variable has this address
  bool unseen = false;        // ptxas does not look at the register of this address
  bool loose = false;         // integer elements of a vector pass for floats
  bool typed = false;         // a register alone is not one declared .bN
  /// A sampler: there exactly in modules of that texture mode.
  TextureMode texmode = TextureMode::Any;
  Type type = Type::None;      // of the register or literal; of the elements of a vector
  std::array<Type, 3> also{};  // further types that will do
  std::uint16_t vector = 0;    // elements of a vector operand; 0: not a vector
  Slot space{};                // Address only: the slot that names the state space
  /// Address only: the state space itself, from that slot or fixed by the form; None: generic.
  Modifier state_space{};
  std::int64_t minimum = INT64_MIN;  // of an integer literal
  std::int64_t maximum = INT64_MAX;
  std::int64_t multiple = 1;  // which an integer literal must be a multiple of
  /// The highest literal for the last element of a vector, in place of `maximum` and `multiple`.
  std::int64_t last = INT64_MAX;
  /// When not empty, the only integer literals admitted (4, 8 or 16 bytes).
  std::span<const std::int64_t> literals;
  /// Selector only: the characters after the dot as little-endian numbers.
  std::span<const std::int64_t> selectors;
  /// What giving the operand needs beyond the form, and what .unified on it needs.
  std::optional<Availability> needs;
  std::optional<Availability> unified_needs;
  /// Address only: the first that the target admits holds; none: the sizes that are usual.
  std::vector<AddressWidths> widths;
  /// Where ptxas expands the instruction, and the operand is strict there only.
  std::optional<Availability> strict_needs;
  /// A further type that will do on the targets of also_needs.
  Type also_somewhere = Type::None;
  std::optional<Availability> also_needs;
  /// [base, part, ...] and d|p: each part, the first included. Empty for [base] alone.
  std::vector<OperandSpec> parts;
};

/// Where execution goes on when the instruction is not guarded.
enum class Flow : std::uint8_t {
  Next,
  Jump,  // to a label: bra, brx
  End,   // nowhere in this function: ret, exit, trap
  Call,  // to another function and back
};

/// What an instruction does besides giving its results.
enum class Effect : std::uint8_t {
  None,   // nothing: where nobody wants the results, nobody misses it
  Reads,  // it reads memory, which nobody else sees
  Acts,   // on memory, on other threads, on state that no operand names, or on where to go on
};

/// One row of the table.
struct Form {
  std::string_view opcode;
  std::string_view syntax;  // the syntax line as ptxas takes it
  std::string_view manual;  // anchor
  Sem sem{};                // the emulator's semantics
  std::string_view reason;  // why it has none
  std::string_view beyond;  // why ptxas takes what the manual lacks; empty: the manual has it
  Flow flow = Flow::Next;
  Effect effect = Effect::Acts;
  std::uint16_t id = 0;
};

/// A form that a spelling's modifiers match.
struct Candidate {
  const Form* form = nullptr;
  std::vector<OperandSpec> operands;
  std::uint16_t mandatory = 0;  // operands that are not optional
  bool is_bounded = false;      // an operand is a share or a part
  /// Every requirement of the form and of the modifier values used; all must be met.
  std::vector<Availability> needs;
  /// The modifier bound to each slot of the form, Modifier::None where left out.
  std::vector<std::pair<Slot, Modifier>> slots;
  /// False when the modifiers are legal but not in the manual's order (a lint).
  bool in_manual_order = true;
  /// What the manual says against this spelling although it assembles (lints).
  std::vector<std::string_view> against_manual;

  Modifier slot(Slot name) const {
    for (const auto& [slot, modifier] : slots) {
      if (slot == name) return modifier;
    }
    return {};
  }
};

/// An opcode with its modifiers.
class Spelling {
 public:
  Opcode opcode{};
  std::vector<Modifier> modifiers;
  std::string text;                   // "ld.global.f32", as written
  std::vector<Candidate> candidates;  // at least one
  /// A modifier stands there twice and counts once, as in add.sat.sat.s32 (a lint).
  bool is_doubled = false;
};

/// How much to say about a spelling that is not legal: its verdict (kind, focus and message), or
/// also the nearest legal spellings, whose search costs a thousand times as much.
enum class Detail : std::uint8_t { Verdict, Full };

/// The spelling of `opcode` with `modifiers` (without dots: "global", "shared::cta", "f32").
/// Interned: equal spellings give the same pointer, valid for the life of the process. Thread-safe.
/// Fails with UnknownOpcode, UnknownModifier, IllegalSpelling or CombinationRule, focused on the
/// opcode or modifier at fault, with at most three nearest legal spellings as fix-its.
diag::Result<const Spelling*> spell(std::string_view opcode,
                                    std::span<const std::string_view> modifiers,
                                    Detail detail = Detail::Full);
/// The same for text such as "ld.global.f32".
diag::Result<const Spelling*> spell(std::string_view text, Detail detail = Detail::Full);
/// The spelling that somebody spelled before with just this text; null: not yet, or not legal. A
/// look-up without lock or allocation.
const Spelling* find_spelling(std::string_view text);

/// An opcode and a modifier as PTX has them, and the other way.
std::string_view text(Opcode opcode);
std::string_view text(Modifier modifier);
std::optional<Opcode> find_opcode(std::string_view text);
std::optional<Modifier> find_modifier(std::string_view text);

}  // namespace pyptx::isa
