// SPDX-License-Identifier: Apache-2.0
//
// A PTX module as data: functions, registers, variables, statements. Storage and traversal only;
// judging is verify's, text is syntax's, authoring is build's. Those layers never include each
// other: they meet here, and an authoring layer reaches the validator through `Judge`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/diag/loc.h"
#include "pyptx/ir/debug.h"
#include "pyptx/ir/operand.h"
#include "pyptx/ir/source.h"
#include "pyptx/ir/variable.h"
#include "pyptx/isa/spelling.h"
#include "pyptx/isa/target.h"
#include "pyptx/support/copied.h"
#include "pyptx/support/growing_array.h"
#include "pyptx/support/symbol.h"

namespace pyptx::ir {

/// A directive between a function's parameters and its body: .maxntid 384, 1, 1
struct Directive {
  Symbol name{};  // without the dot
  std::vector<std::int64_t> values;
  Symbol text{};  // of .pragma and .language: what is between the quotes
};

/// An instruction: its spelling, its guard, and a run of operands in its function.
struct Instruction {
  const isa::Spelling* spelling = nullptr;
  std::uint32_t first_operand = 0;
  std::uint16_t operand_count = 0;
  std::uint8_t candidate = 0;  // the form the operands match, set by the judge
  bool guard_negated = false;
  OptionalRegister guard;
  diag::Loc loc{};

  const isa::Candidate& form() const { return spelling->candidates[candidate]; }
};
static_assert(sizeof(Instruction) == 24);

/// An instruction as it is written, where the table has no such form or a name in it is declared
/// nowhere. Nothing but text can be made of it.
struct UnresolvedInstruction {
  Symbol spelling{};  // "frobnicate.u32"
  std::uint32_t first_operand = 0;
  std::uint16_t operand_count = 0;
  Operand guard;  // None, Register, NotRegister or Undeclared
  diag::Loc loc{};
};

/// What stands in a body.
enum class StatementKind : std::uint8_t {
  Instruction,    // index into instructions
  Label,          // LabelId
  Variable,       // index into variables
  Registers,      // index into registers: a named register declared here
  Comment,        // Symbol: text after //
  BlockComment,   // Symbol: text between /* and */
  LineMarker,     // Symbol: a line of the preprocessor, # 12 "file"
  Raw,            // Symbol: text printed as it is, judged by nobody (ptx.raw)
  Pragma,         // Symbol: text between the quotes
  BlockOpen,      // {
  BlockClose,     // }
  Pool,           // index into pools: a pool declared here
  Line,           // index into lines: .loc, .loc_intermediate
  BranchTargets,  // index into branch_targets; the label before it names it
  CallTargets,    // index into call_targets; the label before it names it
  CallPrototype,  // index into prototypes; the label before it names it
  Error,          // what could not be read; it owns its tokens
  Unresolved,     // index into unresolved
  Stray,  // bytes that no PTX has; like a comment they stand before a token or inside a part
};

/// A part of a body: its kind, and which one of that kind.
struct Statement {
  StatementKind kind{};
  Mark mark{};
  std::uint32_t index = 0;
  diag::Loc loc{};  // of raw text; an instruction has its own
  /// Names that share a declaration (.reg .b32 a, b;) have a statement each; the ranges of all but
  /// the last end with the comma. Of a comment: its index among the comments of the text.
  TokenRange tokens{};

  Statement() = default;
  Statement(StatementKind of, std::uint32_t at, diag::Loc where = {}, TokenRange from = {})
      : kind(of), index(at), loc(where), tokens(from) {}
};
static_assert(sizeof(Statement) == 20);

/// `L: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;`
struct CallPrototype {
  std::vector<Variable> returns;
  std::vector<Variable> parameters;
  std::vector<Directive> directives;
};

/// A tile of shared memory that the author wants to see where a run on the emulator comes by
/// (ptx.show). No part of the text: what is shown changes no instruction.
struct ShownTile {
  std::uint32_t before = 0;  // instructions of the body that stand before it
  Symbol variable{};         // where it lies, `offset` bytes in; unless a register has the address
  OptionalRegister address;
  std::int64_t offset = 0;
  isa::Type type{};
  std::uint8_t swizzle = 0;  // layout::Swizzle
  bool is_matrix = false;    // as layout::StoredTile has it
  std::vector<std::uint64_t> shape;
  std::string label;
  std::array<std::uint32_t, 3> cta{};  // whose tile
  std::uint32_t times = 1;             // passes that are shown
  diag::Loc loc{};
};

/// A function with all that is declared in it.
class Function {
 public:
  Symbol name{};
  bool is_entry = true;
  Linkage linkage = Linkage::Visible;
  std::vector<Variable> returns;
  std::vector<Variable> parameters;
  std::vector<Directive> directives;
  std::vector<RegisterPool> pools;
  std::vector<Register> registers;
  std::vector<Variable> variables;
  std::vector<Symbol> labels;
  support::GrowingArray<Instruction> instructions;
  support::GrowingArray<Operand>
      operands;  // pool; see Instruction::first_operand and Operand::index
  support::GrowingArray<Statement> body;
  std::vector<UnresolvedInstruction> unresolved;
  std::vector<SourceLine> lines;
  std::vector<std::vector<LabelId>> branch_targets;
  std::vector<std::vector<Symbol>> call_targets;
  std::vector<CallPrototype> prototypes;
  std::vector<ShownTile> shown;  // of a function that was not edited
  Attributes attributes;
  bool is_declaration = false;
  diag::Loc loc{};
  /// From the linkage to the `;` of a declaration or to the `{` of the body, which it includes.
  TokenRange head;
  /// The `}` of the body; empty where it is missing.
  TokenRange tail;
  bool edited = false;       // something in it has changed since it was read
  bool head_edited = false;  // and that is the prototype or a directive

  std::span<const Operand> operands_of(const Instruction& instruction) const {
    return {operands.data() + instruction.first_operand, instruction.operand_count};
  }
  std::span<const Operand> operands_of(const UnresolvedInstruction& instruction) const {
    return {operands.data() + instruction.first_operand, instruction.operand_count};
  }
  std::span<const Operand> children(const Operand& operand) const {
    return {operands.data() + operand.index, operand.count};
  }
  const Register& at(RegisterId id) const { return registers[static_cast<std::uint32_t>(id)]; }

  /// Appends a child run to the pool and returns the composite that owns it.
  Operand composite(OperandKind kind, std::span<const Operand> children, std::int64_t value = 0);
  /// A register of a pool: `prefix` + the pool's next number.
  RegisterId add_pooled(support::SymbolTable& symbols, std::string_view prefix, isa::Type type,
                        isa::Type declared);
  /// The register of this name, if the function has one already.
  std::optional<RegisterId> find_register(const support::SymbolTable& symbols,
                                          std::string_view register_name) const;
  /// A register with a name of its own, declared at the current end of the body.
  RegisterId add_named(Symbol register_name, isa::Type type);
  LabelId add_label(Symbol label_name);
  void place_label(LabelId label);
  /// Appends an instruction and its statement.
  Instruction& append(const isa::Spelling* spelling, std::span<const Operand> operands_in,
                      diag::Loc where);
};

/// What stands at module scope.
enum class ItemKind : std::uint8_t {
  Header,               // .version, .target, .address_size
  Variable,             // index into variables
  Function,             // index into functions
  Comment,              // Symbol: text after //
  BlockComment,         // Symbol: text between /* and */
  LineMarker,           // Symbol: a line of the preprocessor, # 12 "file"
  Pragma,               // Symbol: text between the quotes
  File,                 // index into files
  Section,              // index into sections
  IntermediateSources,  // index into intermediate_sources
  Alias,                // index into aliases
  Error,                // what could not be read; it owns its tokens
  Stray,                // as StatementKind::Stray
};

/// A part of a module at its place in the text. For the tokens see Statement.
struct Item {
  ItemKind kind{};
  std::uint32_t index = 0;
  TokenRange tokens{};
  Mark mark{};
};

/// .alias name, aliasee;
struct Alias {
  Symbol name{};
  Symbol aliasee{};
  diag::Loc loc{};
};

/// What stands behind the target: .target sm_90a, debug
struct TargetOption {
  Symbol name{};
  diag::Loc loc{};
};

/// A module.
class Module {
 public:
  isa::Version version{};
  isa::Target target{};
  diag::Loc version_loc{};  // of the number
  diag::Loc target_loc{};   // of the name
  std::vector<TargetOption> target_options;
  std::uint8_t address_size = 64;  // 0: not stated
  support::SymbolTable symbols;
  std::vector<Variable> variables;
  std::vector<support::Owned<Function>> functions;  // each at a place of its own, which stays
  std::vector<SourceFile> files;
  std::vector<Section> sections;
  std::vector<IntermediateSources> intermediate_sources;
  std::vector<Alias> aliases;
  diag::LocationTable locations;
  /// The order of the parts as written, all of them where they were read from a text. An authoring
  /// layer names those that it cares about; see parts().
  std::vector<Item> items;
  /// What .target says where the table has no such target; `target` says nothing then.
  Symbol unknown_target{};
  /// What the reader of a text found wrong with its names and words: declared nowhere or twice, no
  /// instruction, no target. Reading goes on behind it, so that only `verify` shows it; nothing
  /// runs a module that has any.
  diag::Diagnostics findings;

  /// Every part in its order. What `items` of an authoring layer does not name comes where it
  /// always does: the header first, then variables and functions behind all else.
  std::vector<Item> parts() const;
  /// The entry with this name; the only entry when `entry` is empty; else null.
  const Function* entry(std::string_view entry_name = {}) const;
  std::string_view text(Symbol symbol) const { return symbols.text(symbol); }
  /// The name of a register: "%r12".
  std::string name(const Register& reg) const;
};

/// Judges an instruction as it is inserted. `verify` implements it; `build` only knows this.
class Judge {
 public:
  virtual ~Judge() = default;
  /// Checks the last appended instruction and sets its candidate. A failure leaves it to the
  /// caller to take the instruction back.
  virtual diag::Status judge(const Module& module, const Function& function,
                             Instruction& instruction) = 0;
  /// The lowest PTX ISA version that every instruction accepted so far allows. While a module is
  /// authored without a pinned version it carries the highest known one, and gets this in the end.
  virtual isa::Version required_version() const { return {1, 0}; }
};

}  // namespace pyptx::ir
