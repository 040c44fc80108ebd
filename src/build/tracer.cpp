// SPDX-License-Identifier: Apache-2.0
//
// Insertion: an instruction goes in whole and judged, or not at all. See tracer.h.
#include "pyptx/build/tracer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "literals.h"
#include "types.h"

namespace pyptx::build {
namespace {

/// Tags only tell tracers that are alive at the same time apart; 0 means "not checked".
std::uint16_t next_tag() {
  static std::atomic<std::uint16_t> last{0};
  std::uint16_t tag = ++last;
  while (tag == 0) tag = ++last;
  return tag;
}

bool is_register(const ir::Operand& operand) {
  return operand.kind == ir::OperandKind::Register || operand.kind == ir::OperandKind::NotRegister;
}

/// Whether a register operand is one of the `count` registers of the tracer with that tag.
bool is_of(const ir::Operand& operand, std::uint16_t tag, std::size_t count) {
  return (operand.count == 0 || operand.count == tag) && operand.index < count;
}

/// Word number `index` after the opcode.
std::string_view modifier_of(std::string_view spelling, std::size_t index) {
  for (std::size_t i = 0; i <= index; ++i) {
    spelling.remove_prefix(std::min(spelling.find('.') + 1, spelling.size()));
  }
  return spelling.substr(0, spelling.find('.'));
}

}  // namespace

Tracer::Tracer(Options options, ir::Judge* judge)
    : options_(std::move(options)), judge_(judge), tag_(next_tag()) {
  begin_module();
  const auto versions = isa::all_versions();
  module_->version = options_.version.value_or(versions.back());
  function_->name = module_->symbols.intern(unique_name(options_.entry));
  if (!isa::Target::parse(options_.target.text())) {
    report(diag::Diagnostic(diag::Kind::UnknownTarget, {options_.target.text()})
               .suggest(options_.target.text(), isa::target_names()));
  }
  if (!options_.version) return;
  const isa::Version lowest = options_.target.minimum_version();
  if (std::ranges::find(versions, *options_.version) == versions.end()) {
    report({diag::Kind::UnknownVersion, {options_.version->text()}});
  } else if (*options_.version < lowest) {
    report({diag::Kind::VersionForTarget,
            {options_.target.text(), lowest.text(), options_.version->text()}});
  }
}

void Tracer::begin_module() {
  module_ = std::make_unique<ir::Module>();
  module_->target = options_.target;
  module_->functions.emplace_back(std::make_unique<ir::Function>());
  function_ = module_->functions.back().get();
  author_labels_.clear();
  label_placed_.clear();
  text_constants_.clear();
  local_scratch_.reset();
  launch_values_.clear();
  tensor_pointers_.clear();
  large_pointers_.clear();
  chain_.reset();
  std::ranges::fill(shared_addresses_, std::nullopt);
}

std::optional<diag::Diagnostic> Tracer::take_error() { return std::exchange(error_, std::nullopt); }

void Tracer::report(diag::Diagnostic error) {
  if (error_) return;
  if (error.loc == diag::Loc::None) error.loc = caller_.value_or(loc_);
  error_ = std::move(error);
}

bool Tracer::claim(ir::Operand& operand, diag::Focus focus) {
  if (!is_register(operand)) return true;
  const bool is_ours = is_of(operand, tag_, function_->registers.size());
  operand.count = 0;
  if (is_ours) return true;
  report(diag::Diagnostic(diag::Kind::ForeignRegister, {}).at(caller_.value_or(loc_), focus));
  return false;
}

void Tracer::emit(const isa::Spelling* spelling, std::span<const ir::Operand> operands,
                  Guard guard) {
  if (error_ || spelling == nullptr) return;
  if (finished_ != nullptr) return report({diag::Kind::NoTrace, {}});
  const std::size_t mark = function_->operands.size();
  ir::Instruction& instruction = function_->append(spelling, operands, loc_);
  const std::size_t registers = function_->registers.size();
  for (std::uint16_t i = 0; i < instruction.operand_count; ++i) {
    ir::Operand& operand = function_->operands[mark + i];
    if (!is_register(operand)) continue;
    if (is_of(operand, tag_, registers)) {
      operand.count = 0;  // what claim() does, without the call
    } else {
      claim(operand, {diag::Focus::Part::Operand, i});
    }
  }
  if (guard.predicate) {
    ir::Operand predicate = *guard.predicate;
    claim(predicate, {diag::Focus::Part::Guard, 0});
    instruction.guard = guard.predicate->id;
    instruction.guard_negated = guard.negated;
  }
  if (!error_) fit_literals(*spelling, instruction);
  if (!error_) {
    if (judge_ == nullptr) return;
    diag::Status status = judge_->judge(*module_, *function_, instruction);
    if (status) return;
    report(std::move(status.error()));
  }
  function_->instructions.pop_back();
  function_->body.pop_back();
  function_->operands.resize(mark);
}

void Tracer::emit(std::string_view spelling, std::initializer_list<ir::Operand> operands,
                  Guard guard) {
  emit(lookup(spelling), std::span(operands.begin(), operands.size()), guard);
}

void Tracer::emit(std::string_view spelling, std::span<const ir::Operand> operands, Guard guard) {
  emit(lookup(spelling), operands, guard);
}

const isa::Spelling* Tracer::lookup(std::string_view spelling) {
  if (error_) return nullptr;
  const auto known = spellings_.find(spelling);
  if (known != spellings_.end()) return known->second;
  auto found = isa::spell(spelling);
  if (!found) {
    diag::Diagnostic error = std::move(found.error());
    if (error.focus.part == diag::Focus::Part::Modifier) {
      // The call of a helper has the word in one of its arguments; the module keeps it.
      const std::string_view word = modifier_of(spelling, error.focus.index);
      error.focus.parameter = module_->text(module_->symbols.intern(word));
    }
    error.loc = loc_;
    report(std::move(error));
    return nullptr;
  }
  spellings_.emplace(spelling, *found);
  return *found;
}

void Tracer::fit_literals(const isa::Spelling& spelling, ir::Instruction& instruction) {
  const auto candidate = std::ranges::find_if(spelling.candidates, [&](const isa::Candidate& c) {
    return c.operands.size() == instruction.operand_count;
  });
  if (candidate == spelling.candidates.end()) return;
  for (std::uint16_t i = 0; i < instruction.operand_count; ++i) {
    ir::Operand& operand = function_->operands[instruction.first_operand + i];
    const isa::Type type = candidate->operands[i].type;
    fit_literal(operand, type, i);
    if (operand.kind != ir::OperandKind::Vector) continue;
    for (std::uint16_t child = 0; child < operand.count; ++child) {
      fit_literal(function_->operands[operand.index + child], type, i);
    }
  }
}

void Tracer::fit_literal(ir::Operand& operand, isa::Type type, std::uint16_t index) {
  std::string lost;
  if (operand.kind == ir::OperandKind::Float64) {
    const auto value = std::bit_cast<double>(operand.value);
    if (overflows(value, type)) lost = text_of(value);
    operand = fit_float(operand, type);
  } else if (operand.kind == ir::OperandKind::Integer && is_integer(type)) {
    // An assembler would cut it to the type's width without a word.
    if (!fits(operand.value, type)) lost = std::to_string(operand.value);
  }
  if (lost.empty()) return;
  report(diag::Diagnostic(diag::Kind::LiteralRange, {lost, type_text(type)})
             .at(loc_, {diag::Focus::Part::Operand, index}));
}

bool Tracer::is_fresh(Reg temporary) const {
  const auto& instructions = function_->instructions;
  const auto& registers = function_->registers;
  if (error_ || temporary.owner != tag_ || instructions.empty()) return false;
  if (function_->body.empty()) return false;  // all there is went into the prologue
  if (static_cast<std::size_t>(temporary.id) + 1 != registers.size()) return false;
  if (!registers.back().pooled) return false;
  if (newest_register_made_at_ + 1 != instructions.size()) return false;
  const ir::Instruction& last = instructions.back();
  const ir::Statement& statement = function_->body.back();
  if (statement.kind != ir::StatementKind::Instruction ||
      statement.index + 1 != instructions.size() || last.guard) {
    return false;
  }
  const auto operands = function_->operands_of(last);
  if (operands.empty() || operands[0] != ir::Operand::reg(temporary.id)) return false;
  return std::ranges::none_of(operands.subspan(1), [&](const ir::Operand& operand) {
    return operand.is_composite() || operand == operands[0];
  });
}

void Tracer::drop_newest_register() {
  for (ir::RegisterPool& pool : function_->pools) {
    if (pool.prefix == function_->registers.back().stem) --pool.count;
  }
  function_->registers.pop_back();
}

bool Tracer::retarget(Reg temporary, Reg destination) {
  if (!is_fresh(temporary) || destination.owner != tag_ || destination.id == temporary.id) {
    return false;
  }
  if (!is_move(destination.type, temporary.type)) return false;
  if (function_->registers.back().declared != function_->at(destination.id).declared) return false;
  function_->operands[function_->instructions.back().first_operand] =
      ir::Operand::reg(destination.id);
  drop_newest_register();
  return true;
}

bool Tracer::discard(Reg temporary) {
  if (!is_fresh(temporary)) return false;
  function_->operands.resize(function_->instructions.back().first_operand);
  function_->instructions.pop_back();
  function_->body.pop_back();
  drop_newest_register();
  return true;
}

ir::Operand Tracer::composite(ir::OperandKind kind, std::span<const ir::Operand> children,
                              std::int64_t value) {
  const ir::Operand result = function_->composite(kind, children, value);
  for (std::uint16_t i = 0; i < result.count; ++i) {
    claim(function_->operands[result.index + i], {});
  }
  return result;
}

ir::Operand Tracer::address(ir::Operand base, std::int64_t offset) {
  if (base.kind == ir::OperandKind::Symbol) {
    offset += std::exchange(base.value, 0);
  }
  if (offset != static_cast<std::int32_t>(offset)) {
    report({diag::Kind::BadArgument,
            {"the byte offset of an address", "a signed 32-bit number", std::to_string(offset)}});
  }
  return composite(ir::OperandKind::Address, std::span(&base, 1), offset);
}

ir::Operand Tracer::address(std::span<const ir::Operand> parts) {
  return composite(ir::OperandKind::Address, parts);
}

ir::Operand Tracer::tensor_address(ir::Operand map, std::span<const ir::Operand> coordinates) {
  const std::array parts{map, vector(coordinates)};
  return address(parts);
}

ir::Operand Tracer::vector(std::span<const ir::Operand> elements) {
  return composite(ir::OperandKind::Vector, elements);
}

ir::Operand Tracer::parenthesized(std::span<const ir::Operand> elements) {
  return composite(ir::OperandKind::Parenthesized, elements);
}

ir::Operand Tracer::pipe(ir::Operand first, ir::Operand second) {
  const std::array children{first, second};
  return composite(ir::OperandKind::Pipe, children);
}

ir::Operand Tracer::symbol(std::string_view name, std::int64_t offset) {
  return ir::Operand::symbol(module_->symbols.intern(name), offset);
}

}  // namespace pyptx::build
