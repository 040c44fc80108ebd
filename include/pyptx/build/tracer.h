// SPDX-License-Identifier: Apache-2.0
//
// The tracer: inserts instructions into one entry function of one module, judging each as it goes
// in. Every authoring helper (registers, shared memory, mbarriers, TMA, wgmma, ...) is a function
// of this class's emit(); nothing below it knows how text looks, nothing above it touches the IR.
//
// Errors are sticky: the first refused instruction is recorded and taken back, and what follows is
// ignored until take_error(). A helper is therefore a straight line of emits, and its caller (a
// language binding, or finish()) asks once. A tracer belongs to one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/isa/spelling.h"
#include "pyptx/isa/target.h"
#include "pyptx/layout/tensor_map.h"

namespace pyptx::build {

/// A register an author holds.
struct Reg {
  ir::RegisterId id{};
  isa::Type type{};  // the author's type: u32, s32, bf16, ...
  /// The tracer it belongs to (Tracer::tag), so that one kept from another trace is refused.
  std::uint16_t owner = 0;

  /// Carries the owner in the operand's child count, which a register does not use; emit() checks
  /// and clears it.
  operator ir::Operand() const {  // NOLINT(*-explicit-*)
    return {ir::OperandKind::Register, 0, owner, static_cast<std::uint32_t>(id), 0};
  }
};

/// @p or @!p; no guard when empty. A predicate register is one.
struct Guard {
  std::optional<Reg> predicate;
  bool negated = false;

  Guard() = default;
  Guard(Reg p, bool is_negated = false)
      : predicate(p), negated(is_negated) {}  // NOLINT(*-explicit-*)
};

/// What is traced.
struct Options {
  std::string entry;  // name of the entry function
  isa::Target target{90, 'a'};
  std::optional<isa::Version> version;  // default: the lowest that target and code allow
  bool force_dynamic_shared = false;    // smem= or extern_smem= was given
  std::string dynamic_shared_name = "dyn_smem";
  bool line_info = false;  // .file and .loc from the instructions' locations
};

/// Writes one entry function.
class Tracer {
 public:
  /// `judge` must outlive the tracer; null judges nothing (only tests do that). A version that is
  /// unknown or too low for the target is recorded as the first error.
  Tracer(Options options, ir::Judge* judge);

  ir::Module& module() { return *module_; }
  /// Also after finish(): what was written can be asked for, names of registers say.
  const ir::Module& module() const { return finished_ != nullptr ? *finished_ : *module_; }
  ir::Function& function() { return *function_; }
  const ir::Function& function() const {
    return finished_ != nullptr ? *finished_->functions.front() : *function_;
  }
  const Options& options() const { return options_; }
  /// Tells tracers apart (never 0); says nothing else and never reaches the text.
  std::uint16_t tag() const { return tag_; }

  // --- location and errors -------------------------------------------------------------------
  /// The location given to everything emitted from now on.
  void set_loc(diag::Loc loc) {
    loc_ = loc;
    caller_.reset();
  }
  diag::Loc loc() const { return loc_; }
  bool has_error() const { return error_.has_value(); }
  std::optional<diag::Diagnostic> take_error();
  /// Records `error` unless one is recorded already. Without a location of its own it is the
  /// mistake of whoever called the helper under way (see Expansion), or of the author.
  void report(diag::Diagnostic error);
  /// Adds to what is recorded, if anything is.
  void add_note(std::string note) {
    if (error_) (*error_)->notes.push_back(std::move(note));
  }

  // --- instructions --------------------------------------------------------------------------
  /// Appends one instruction and has it judged. Floating-point literals are fitted to the type of
  /// their place (0f, 0d, or the bits of a 16-bit format).
  void emit(const isa::Spelling* spelling, std::span<const ir::Operand> operands, Guard guard = {});
  /// The same by text ("add.u32"); the spelling is looked up once per tracer and text.
  void emit(std::string_view spelling, std::initializer_list<ir::Operand> operands,
            Guard guard = {});
  void emit(std::string_view spelling, std::span<const ir::Operand> operands, Guard guard = {});
  /// Makes the last instruction write `destination` instead of `temporary`, and gives the
  /// temporary's number back. Only where nothing else can have seen the temporary: it is the
  /// newest register, the last instruction is the only one since it was made and is not guarded,
  /// and a mov between them would change nothing. Otherwise false, and nothing changes. `temporary`
  /// is dead after.
  bool retarget(Reg temporary, Reg destination);
  /// Something other than one expression holds the newest register: retarget() leaves it alone.
  void keep_newest() { newest_register_made_at_ = kKept; }
  /// Takes the last instruction and the register it wrote back, under the same conditions.
  bool discard(Reg temporary);
  /// Everything `f` emits goes before the author's first instruction.
  template <typename F>
  auto in_prologue(F&& f) {
    const PrologueScope scope(*this);
    return f();
  }

  // --- operands ------------------------------------------------------------------------------
  ir::Operand address(ir::Operand base, std::int64_t offset = 0);
  /// [base, part, ...]
  ir::Operand address(std::span<const ir::Operand> parts);
  /// [map, {c0, c1, ...}]
  ir::Operand tensor_address(ir::Operand map, std::span<const ir::Operand> coordinates);
  ir::Operand vector(std::span<const ir::Operand> elements);
  ir::Operand parenthesized(std::span<const ir::Operand> elements);
  /// first|second
  ir::Operand pipe(ir::Operand first, ir::Operand second);
  ir::Operand symbol(std::string_view name, std::int64_t offset = 0);

  // --- registers -----------------------------------------------------------------------------
  /// A fresh register, pooled under the prefix of its type (%r, %rd, %f, %p, ...), or named. A
  /// number is added to a name that is taken.
  Reg reg(isa::Type type, std::string_view name = {});
  /// `count` fresh registers; a name makes them a pool of their own: .reg .f32 name<count>;
  std::vector<Reg> reg_array(isa::Type type, std::size_t count, std::string_view name = {});
  /// The register called `name`; declared here if nothing (no raw text either) declares it.
  Reg reg_by_name(isa::Type type, std::string_view name);
  isa::Type type_of(ir::RegisterId id) const { return function().at(id).type; }
  /// The register that an operand is, as its author holds it.
  Reg reg_of(const ir::Operand& operand) const {
    const bool is_known = operand.index < function().registers.size();
    return {operand.register_id(), is_known ? type_of(operand.register_id()) : isa::Type::None,
            operand.count};
  }

  // --- parameters and variables --------------------------------------------------------------
  void add_parameter(std::string_view name, isa::Type type);
  /// .param .align 64 .b8 name[128]
  void add_map_parameter(std::string_view name);
  void add_directive(std::string_view name, std::span<const std::int64_t> values);
  /// Declares a variable at the current place, or at module scope where PTX wants it there
  /// (.const, .global, .extern). The name must be free.
  ir::Operand add_variable(ir::Variable variable, std::string_view name);

  /// The address of a zero-terminated text in global memory; equal texts are one constant.
  ir::Operand text_constant(std::string_view text);
  /// The address of a .local buffer of at least `bytes`, 8-byte aligned. Everybody gets the same
  /// one: what it holds is dead when the helper that filled it returns.
  ir::Operand local_scratch(std::uint64_t bytes);
  /// Declares a function of the CUDA run time, `.extern .func (results) name (parameters)`, once.
  ir::Operand declare_function(std::string_view name, std::span<const isa::Type> results,
                               std::span<const isa::Type> parameters);

  /// Reserves shared memory; the address is the symbol `name` plus `offset`. Allocations become
  /// one `.extern .shared` array when they pass the static limit (see finish()).
  struct SharedBlock {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint32_t align = 0;
    std::uint64_t offset = 0;  // in the dynamic array, when everything moves there
  };
  std::size_t allocate_shared(std::uint64_t bytes, std::uint32_t align, std::string_view name);
  const SharedBlock& shared_block(std::size_t index) const { return shared_[index]; }
  const std::vector<SharedBlock>& shared_blocks() const { return shared_; }
  /// Shows a tile where the body stands now; `block` is the one that it lies in, if any.
  void show(ir::ShownTile tile, std::optional<std::size_t> block);
  /// A 32-bit register with the shared address of a block, made once per block in the prologue.
  Reg shared_address(std::size_t index);
  /// The address of a block plus `offset` as a symbol operand, which finish() turns into a place
  /// in the dynamic array where everything moves there.
  ir::Operand shared_symbol(std::size_t index, std::int64_t offset = 0);

  // --- labels and statements -----------------------------------------------------------------
  /// A new label of this function; a number is added where `stem` is taken.
  ir::LabelId label(std::string_view stem);
  /// The label the author calls `name`, made on first sight (a branch may come before it).
  ir::LabelId named_label(std::string_view name);
  /// Puts `label` here; once only.
  void place(ir::LabelId label);
  void comment(std::string_view text);
  void raw(std::string_view text);
  void pragma(std::string_view text);
  void open_block();
  void close_block();
  /// .file number "name"
  void file(std::uint32_t number, std::string_view name);
  /// .loc file line column, of a file that is declared
  void line(std::uint32_t file, std::uint32_t line, std::uint32_t column);

  /// Whether tcgen05 may work with groups of `cta_group` CTAs here: a kernel has one granularity,
  /// and the first to ask sets it.
  bool claim_cta_group(int cta_group) {
    if (cta_group_ == 0) cta_group_ = cta_group;
    return cta_group_ == cta_group;
  }

  // --- nesting (control.h) -------------------------------------------------------------------
  /// The value of a scalar parameter, loaded once in the prologue: a size that a launch brings.
  Reg launch_value(isa::Type type, std::string_view parameter);
  /// The global address of a tensor, loaded once in the prologue. Everybody gets the same register.
  Reg tensor_pointer(std::string_view tensor);

  /// Says how many bytes a tensor has: what adds 32-bit offsets to its address is told
  /// (NarrowOffset) where they cannot reach them all.
  void describe_bytes(std::string_view tensor, std::uint64_t bytes);
  /// `pointer` holds the address of tensor `name`.
  void note_pointer(Reg pointer, std::string_view tensor);
  /// `offset`, a register narrower than 64 bits, is added to `pointer`.
  void check_offset(Reg pointer, Reg offset);
  /// Whether there is a tensor that a 32-bit offset does not reach.
  bool has_large_tensors() const { return !large_tensors_.empty(); }
  /// Findings that are no errors, in the order of the body.
  const diag::Diagnostics& lints() const { return lints_; }
  /// A construct that is open: finish() refuses a function with one left, at the place it opened.
  /// What stands in it runs never, once or many times, or, in a `Straight` one, just once.
  enum class Runs : std::uint8_t { AsItMay, Straight };
  void enter_construct(std::string_view what, Runs runs = Runs::AsItMay);
  /// Closes the innermost construct, which must be a `what`.
  void leave_construct(std::string_view what);

  /// Of a construct that repeats: where break_ and continue_ go.
  struct LoopLabels {
    std::optional<ir::LabelId> after;
    std::optional<ir::LabelId> next;
    bool is_left = false;  // by a break_
  };
  void enter_loop(std::string_view what, LoopLabels labels);
  /// leave_construct(), with the labels as break_ and continue_ have left them.
  LoopLabels leave_loop(std::string_view what);
  /// Null where no loop is open, or where the body of a construct lies between that is written out
  /// several times: `barrier` is its name then.
  LoopLabels* innermost_loop(std::string_view& barrier);

  /// The if_ or elif_ that ended last, with the labels that stood at the body's end then.
  struct Chain {
    ir::LabelId otherwise{};
    std::optional<ir::LabelId> after;  // which the parts before branch to
    std::size_t statements = 0;        // of the body, these labels included

    std::size_t labels() const { return after ? 2 : 1; }
  };
  void end_chain(Chain chain);
  const std::optional<Chain>& chain() const { return chain_; }

  /// The innermost open construct that is not Straight, by number; 0 is the body itself.
  std::uint32_t block() const { return constructs_.empty() ? 0 : constructs_.back().block; }
  /// What is emitted now runs whenever what stood in block `earlier` has run, and as often.
  bool follows(std::uint32_t earlier) const;
  /// What block() is called.
  std::string_view block_name() const;

  /// Descriptor slots in first-use order: names of the tensors whose tma_desc() was taken.
  const std::vector<std::string>& map_tensors() const { return map_tensors_; }
  /// The register with the descriptor's address for tensor `name`; adds slot and prologue once.
  Reg tensor_map(std::string_view tensor, bool by_value);

  /// Says what map a launch will pass for tensor `name`.
  void describe_map(std::string_view tensor, const layout::TensorMap& map);
  /// The map behind a register of tensor_map(), where somebody has described it.
  const layout::TensorMap* described_map(Reg map) const;

  /// The last instruction is a copy that brings so many bytes to its mbarrier.
  void note_copy(std::uint64_t bytes) {
    copies_[static_cast<std::uint32_t>(function_->instructions.size() - 1)] = bytes;
  }

  /// The module needs at least this version, whatever its instructions say of themselves.
  void require_version(isa::Version version) { required_ = std::max(required_, version); }

  /// Completes the module: shared memory declarations, the version, whole-function checks. A body
  /// that can run off its end gets a `ret`. The module is given away: whoever gets it has it alone,
  /// and what is emitted after that is refused (NoTrace).
  diag::Result<std::shared_ptr<const ir::Module>> finish();
  /// Bytes of dynamic shared memory the finished module needs at launch.
  std::uint64_t dynamic_shared_bytes() const { return dynamic_shared_; }

 private:
  struct TextHash {  // lets a map of strings be asked with a view
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct Construct {
    std::string what;
    diag::Loc loc{};
    Runs runs{};
    std::uint32_t block = 0;
    std::optional<LoopLabels> loop{};
  };
  class PrologueScope {
   public:
    explicit PrologueScope(Tracer& tracer) : tracer_(tracer) { swap(); }
    PrologueScope(const PrologueScope&) = delete;
    PrologueScope& operator=(const PrologueScope&) = delete;
    ~PrologueScope() { swap(); }

   private:
    void swap() { tracer_.function_->body.swap(tracer_.prologue_); }
    Tracer& tracer_;
  };

  const isa::Spelling* lookup(std::string_view spelling);
  /// Checks and clears the owner a register operand carries.
  bool claim(ir::Operand& operand, diag::Focus focus);
  ir::Operand composite(ir::OperandKind kind, std::span<const ir::Operand> children,
                        std::int64_t value = 0);
  /// Whether only the last instruction, unguarded, has seen `temporary`, the newest register.
  bool is_fresh(Reg temporary) const;
  void drop_newest_register();
  void fit_literals(const isa::Spelling& spelling, ir::Instruction& instruction);
  /// Reports a literal that `type`, the type of operand number `index`, cannot hold.
  void fit_literal(ir::Operand& operand, isa::Type type, std::uint16_t index);
  Reg made(ir::RegisterId id, isa::Type type);
  /// `wanted`, or `wanted` with a number; records it. Empty where it is not an identifier.
  std::string unique_name(std::string_view wanted);
  diag::Status check_nesting() const;
  diag::Status check_labels() const;
  /// Every name an operand uses is declared, by the trace or in raw text.
  diag::Status check_symbols() const;
  bool is_in_raw_text(std::string_view name) const;
  /// What mbarriers expect can be what the copies bring.
  diag::Status check_transactions() const;
  void place_shared();
  void move_shared();
  void end_body();
  void add_line_info();
  isa::Version lowest_version() const;
  /// A module with an entry, both empty, and nothing in it that was made before.
  void begin_module();

  Options options_;
  ir::Judge* judge_;
  std::uint16_t tag_;
  std::unique_ptr<ir::Module> module_;
  std::shared_ptr<const ir::Module> finished_;  // module_ is another one then, which nobody sees
  ir::Function* function_ = nullptr;
  friend class Expansion;

  diag::Loc loc_{};
  std::optional<diag::Loc> caller_;  // of the innermost Expansion
  std::optional<diag::Diagnostic> error_;
  std::unordered_map<std::string, const isa::Spelling*, TextHash, std::equal_to<>> spellings_;
  std::unordered_map<std::string, std::uint32_t> names_;  // taken, with the last number added
  std::unordered_map<std::string, ir::LabelId> author_labels_;
  std::vector<bool> label_placed_;  // per label
  std::vector<Construct> constructs_;
  std::vector<std::uint32_t> block_parents_{0};  // by number
  std::optional<Chain> chain_;
  support::GrowingArray<ir::Statement> prologue_;
  static constexpr std::size_t kKept = static_cast<std::size_t>(-1);
  std::size_t newest_register_made_at_ = 0;  // instructions there were then
  std::unordered_map<std::string, ir::Operand> text_constants_;
  isa::Version required_{1, 0};
  int cta_group_ = 0;                         // of tcgen05; 0: not used yet
  std::optional<std::size_t> local_scratch_;  // index into the function's variables
  std::vector<SharedBlock> shared_;
  std::vector<std::optional<Reg>> shared_addresses_;
  std::vector<std::pair<std::string, Reg>> launch_values_;
  std::vector<std::pair<std::string, Reg>> tensor_pointers_;
  std::vector<std::pair<std::string, std::uint64_t>> large_tensors_;    // bytes
  std::vector<std::pair<ir::RegisterId, std::size_t>> large_pointers_;  // which of them
  diag::Diagnostics lints_;
  std::vector<std::string> map_tensors_;
  std::vector<Reg> map_registers_;
  std::unordered_map<std::string, layout::TensorMap> described_maps_;
  std::unordered_map<std::uint32_t, std::uint64_t> copies_;  // bytes, by instruction
  std::uint64_t dynamic_shared_ = 0;
};

/// While it lives, what `tracer` emits is the work of `helper`, a literal that errors, the
/// assembler's too, show after "in expansion of": "ptx.mbarrier.wait(...)". For helpers that write
/// more than the one instruction they are named after.
class Expansion {
 public:
  Expansion(Tracer& tracer, const char* helper)
      : tracer_(tracer), outer_loc_(tracer.loc_), outer_caller_(tracer.caller_) {
    tracer.loc_ = tracer.module().locations.expansion(outer_loc_, helper);
    tracer.caller_ = outer_loc_;
  }
  Expansion(const Expansion&) = delete;
  Expansion& operator=(const Expansion&) = delete;
  ~Expansion() { restore(outer_loc_, outer_caller_); }

  /// Runs `f`, which is the author's and not the helper's.
  template <typename F>
  void leave_for(F&& f) const {
    const diag::Loc loc = tracer_.loc_;
    const auto caller = tracer_.caller_;
    restore(outer_loc_, outer_caller_);
    std::forward<F>(f)();
    restore(loc, caller);
  }

 private:
  void restore(diag::Loc loc, std::optional<diag::Loc> caller) const {
    tracer_.loc_ = loc;
    tracer_.caller_ = caller;
  }

  Tracer& tracer_;
  diag::Loc outer_loc_;
  std::optional<diag::Loc> outer_caller_;
};

}  // namespace pyptx::build
