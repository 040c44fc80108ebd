// SPDX-License-Identifier: Apache-2.0
//
// A PTX module as data: functions, registers, variables, statements. Storage and traversal only;
// judging is verify's, text is syntax's, authoring is build's. Those layers never include each
// other: they meet here, and an authoring layer reaches the validator through `Judge`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/diag/loc.h"
#include "pyptx/ir/operand.h"
#include "pyptx/isa/spelling.h"
#include "pyptx/isa/target.h"
#include "pyptx/isa/type.h"
#include "pyptx/support/symbol.h"

namespace pyptx::ir {

using support::Symbol;

struct Register {
  Symbol name{};
  isa::Type type{};         // what the author said; signedness matters to build, not to ptxas
  isa::Type declared{};     // what .reg says: pooled registers are declared by width (.b32, .f32)
  bool pooled = false;      // part of `.reg .type prefix<count>;`: name is prefix + number
  std::uint8_t vector = 0;  // 2, 4: .reg .v2 .v4
};

/// A run of numbered registers declared at once: .reg .b32 %r<12>;
struct RegisterPool {
  Symbol prefix{};
  isa::Type declared{};
  std::uint32_t count = 0;
  std::uint8_t vector = 0;  // 2, 4: .reg .v2 .v4
  /// Declared by a statement of the body (StatementKind::Pool), so that it may belong to a nested
  /// block; otherwise declared at the top of the function.
  bool placed = false;
};

enum class Space : std::uint8_t { Register, Const, Global, Local, Param, Shared };
enum class Linkage : std::uint8_t { None, Extern, Visible, Weak, Common };

/// What a kernel parameter says about the pointer it holds: .ptr .global .align 16
struct PointerAttribute {
  std::optional<Space> space;  // nullopt: generic
  std::uint32_t align = 0;     // 0: not stated
};

/// A variable or parameter: .shared .align 128 .b8 tile[4096];
struct Variable {
  Symbol name{};
  Space space = Space::Global;
  Linkage linkage = Linkage::None;
  isa::Type type{};
  std::uint32_t align = 0;  // 0: the type's own
  std::uint8_t vector = 0;  // 2, 4: .v2 .v4
  /// Elements; nullopt for a scalar, 0 for `name[]`.
  std::optional<std::uint64_t> count;
  /// Element values as written, printed as they are; empty: none.
  std::vector<std::int64_t> initializer;
  diag::Loc loc{};
  /// The extents of an array of two or more dimensions, whose product is `count`; else empty.
  std::vector<std::uint64_t> dimensions;
  std::optional<PointerAttribute> pointer;  // parameters only

  /// Bytes it occupies (0 for `name[]`).
  std::uint64_t size() const;
  std::uint32_t alignment() const;
};

/// A directive between a function's parameters and its body: .maxntid 384, 1, 1
struct Directive {
  Symbol name{};  // without the dot
  std::vector<std::int64_t> values;
  Symbol text{};  // of .pragma: what is between the quotes
};

struct Instruction {
  const isa::Spelling* spelling = nullptr;
  std::uint32_t first_operand = 0;
  std::uint16_t operand_count = 0;
  std::uint8_t candidate = 0;  // the form the operands match, set by the judge
  bool guard_negated = false;
  std::optional<RegisterId> guard;
  diag::Loc loc{};

  const isa::Candidate& form() const { return spelling->candidates[candidate]; }
};

enum class StatementKind : std::uint8_t {
  Instruction,  // index into instructions
  Label,        // LabelId
  Variable,     // index into variables
  Registers,    // index into registers: a named register declared here
  Comment,      // Symbol: text after //
  Raw,          // Symbol: text printed as it is, judged by nobody (ptx.raw)
  Pragma,       // Symbol: text between the quotes
  BlockOpen,    // {
  BlockClose,   // }
  Pool,         // index into pools: a pool declared here
  Verbatim,     // Symbol: a directive the IR does not model (.loc, .section, ...), printed as it is
};

struct Statement {
  StatementKind kind{};
  std::uint32_t index = 0;
  diag::Loc loc{};  // of raw text; an instruction has its own
};

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
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;  // pool; see Instruction::first_operand and Operand::index
  std::vector<Statement> body;
  bool is_declaration = false;
  diag::Loc loc{};

  std::span<const Operand> operands_of(const Instruction& instruction) const {
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
  /// A register with a name of its own, declared at the current end of the body.
  RegisterId add_named(Symbol register_name, isa::Type type);
  LabelId add_label(Symbol label_name);
  void place_label(LabelId label);
  /// Appends an instruction and its statement.
  Instruction& append(const isa::Spelling* spelling, std::span<const Operand> operands_in,
                      diag::Loc where);
};

enum class ItemKind : std::uint8_t {
  Header,    // .version, .target, .address_size
  Variable,  // index into variables
  Function,  // index into functions
  Comment,   // Symbol: text after //
  Pragma,    // Symbol: text between the quotes
  Verbatim,  // Symbol: a directive the IR does not model (.file, .section, .alias, ...)
};

/// A part of a module at its place in the text.
struct Item {
  ItemKind kind{};
  std::uint32_t index = 0;
};

class Module {
 public:
  isa::Version version{};
  isa::Target target{};
  std::vector<Symbol> target_options;  // .target sm_90a, debug
  std::uint8_t address_size = 64;      // 0: not stated
  support::SymbolTable symbols;
  std::vector<Variable> variables;
  std::vector<std::unique_ptr<Function>> functions;
  diag::LocationTable locations;
  /// The order of the parts as written. What it does not name comes where it always does: the
  /// header first, then variables, then functions. An authoring layer may leave it empty.
  std::vector<Item> items;

  /// The entry with this name; the only entry when `entry` is empty; else null.
  const Function* entry(std::string_view entry_name = {}) const;
  std::string_view text(Symbol symbol) const { return symbols.text(symbol); }
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
