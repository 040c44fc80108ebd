// SPDX-License-Identifier: Apache-2.0
//
// Statements that are not instructions, and what a whole function must satisfy before it is given
// away: everything closed, every label in its place, shared memory placed, the version known.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "pyptx/build/tracer.h"
#include "pyptx/isa/directive.h"

namespace pyptx::build {

ir::LabelId Tracer::label(std::string_view stem) {
  label_placed_.push_back(false);
  return function_->add_label(module_->symbols.intern(unique_name(stem)));
}

ir::LabelId Tracer::named_label(std::string_view name) {
  const auto known = author_labels_.find(std::string(name));
  if (known != author_labels_.end()) return known->second;
  const ir::LabelId made_now = label(name);
  author_labels_.emplace(name, made_now);
  return made_now;
}

void Tracer::place(ir::LabelId label) {
  if (error_) return;
  const auto index = static_cast<std::uint32_t>(label);
  if (label_placed_[index]) {
    report({diag::Kind::LabelPlacedTwice, {std::string(module_->text(function_->labels[index]))}});
    return;
  }
  label_placed_[index] = true;
  function_->place_label(label);
}

void Tracer::comment(std::string_view text) {
  // One // per line: a newline inside would put the rest outside the comment.
  while (true) {
    const auto end = text.find('\n');
    function_->body.push_back(
        {ir::StatementKind::Comment,
         static_cast<std::uint32_t>(module_->symbols.intern(text.substr(0, end)))});
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

void Tracer::raw(std::string_view text) {
  function_->body.push_back(
      {ir::StatementKind::Raw, static_cast<std::uint32_t>(module_->symbols.intern(text)), loc_});
}

void Tracer::pragma(std::string_view text) {
  if (text.find_first_of("\"\n\\") != std::string_view::npos) {
    report({diag::Kind::BadArgument,
            {"a pragma", "free of quotes, backslashes and newlines", std::string(text)}});
    return;
  }
  function_->body.push_back(
      {ir::StatementKind::Pragma, static_cast<std::uint32_t>(module_->symbols.intern(text))});
}

void Tracer::open_block() { function_->body.push_back({ir::StatementKind::BlockOpen, 0}); }
void Tracer::close_block() { function_->body.push_back({ir::StatementKind::BlockClose, 0}); }

void Tracer::file(std::uint32_t number, std::string_view name) {
  if (number == 0) {
    report({diag::Kind::BadArgument, {"the number of a file", "at least 1", "0"}});
    return;
  }
  if (name.find_first_of("\"\n") != std::string_view::npos) {
    report({diag::Kind::BadArgument,
            {"the name of a file", "free of quotes and newlines", std::string(name)}});
    return;
  }
  const ir::SourceFile file{number, module_->symbols.intern(name), std::nullopt};
  const auto known = std::ranges::find(module_->files, number, &ir::SourceFile::number);
  if (known != module_->files.end()) {
    if (*known != file) report({diag::Kind::NameTaken, {"file " + std::to_string(number)}});
    return;
  }
  module_->items.push_back({ir::ItemKind::File, static_cast<std::uint32_t>(module_->files.size())});
  module_->files.push_back(file);
}

void Tracer::line(std::uint32_t file, std::uint32_t line, std::uint32_t column) {
  if (std::ranges::find(module_->files, file, &ir::SourceFile::number) == module_->files.end()) {
    report({diag::Kind::BadArgument,
            {"the file of a line", "the number of one that is declared", std::to_string(file)}});
    return;
  }
  function_->body.push_back(
      {ir::StatementKind::Line, static_cast<std::uint32_t>(function_->lines.size())});
  ir::SourceLine at;
  at.position = {file, line, column};
  function_->lines.push_back(at);
}

void Tracer::enter_construct(std::string_view what, Runs runs) {
  std::uint32_t inner = block();
  if (runs == Runs::AsItMay) {
    block_parents_.push_back(inner);
    inner = static_cast<std::uint32_t>(block_parents_.size() - 1);
  }
  constructs_.push_back({std::string(what), loc_, runs, inner});
}

void Tracer::enter_loop(std::string_view what, LoopLabels labels) {
  enter_construct(what);
  constructs_.back().loop = labels;
}

Tracer::LoopLabels Tracer::leave_loop(std::string_view what) {
  const LoopLabels labels =
      constructs_.empty() ? LoopLabels{} : constructs_.back().loop.value_or(LoopLabels{});
  leave_construct(what);
  return labels;
}

Tracer::LoopLabels* Tracer::innermost_loop(std::string_view& barrier) {
  for (auto open = constructs_.rbegin(); open != constructs_.rend(); ++open) {
    if (open->loop) return &*open->loop;
    if (open->what == "kloop") {
      barrier = open->what;
      return nullptr;
    }
  }
  return nullptr;
}

void Tracer::end_chain(Chain chain) {
  chain.statements = function_->body.size();
  chain_ = chain;
}

bool Tracer::follows(std::uint32_t earlier) const {
  while (earlier != block() && earlier != 0) earlier = block_parents_[earlier];
  return earlier == block();
}

std::string_view Tracer::block_name() const {
  for (auto open = constructs_.rbegin(); open != constructs_.rend(); ++open) {
    if (open->runs == Runs::AsItMay) return open->what;
  }
  return {};
}

void Tracer::leave_construct(std::string_view what) {
  if (constructs_.empty() || constructs_.back().what != what) {
    const std::string innermost = constructs_.empty() ? "nothing" : constructs_.back().what;
    report({diag::Kind::CrossedConstructs, {std::string(what), innermost}});
    return;
  }
  constructs_.pop_back();
}

diag::Status Tracer::check_nesting() const {
  if (constructs_.empty()) return diag::success();
  const Construct& open = constructs_.back();
  return diag::fail(diag::Diagnostic(diag::Kind::OpenConstruct, {open.what})
                        .at(open.loc)
                        .note("the block of a `with` or `for` must run to its end: no break, "
                              "return or exception may leave it"));
}

diag::Status Tracer::check_labels() const {
  if (function_->labels.empty()) return diag::success();
  for (const ir::Instruction& instruction : function_->instructions) {
    for (const ir::Operand& operand : function_->operands_of(instruction)) {
      if (operand.kind != ir::OperandKind::Label || label_placed_[operand.index]) continue;
      const std::string name(module_->text(function_->labels[operand.index]));
      std::vector<std::string> placed;
      for (const auto& [label, id] : author_labels_) {
        if (label_placed_[static_cast<std::uint32_t>(id)]) placed.push_back(label);
      }
      std::ranges::sort(placed);
      return diag::fail(diag::Diagnostic(diag::Kind::LabelNotPlaced, {name})
                            .at(instruction.loc, {diag::Focus::Part::Operand, 0})
                            .suggest(name, placed));
    }
  }
  return diag::success();
}

diag::Status Tracer::check_symbols() const {
  std::unordered_set<std::string_view> declared{options_.dynamic_shared_name};
  for (const auto* list : {&function_->parameters, &function_->variables, &module_->variables}) {
    for (const ir::Variable& variable : *list) declared.insert(module_->text(variable.name));
  }
  for (const SharedBlock& block : shared_) declared.insert(block.name);
  for (const auto& function : module_->functions) declared.insert(module_->text(function->name));
  const auto is_unknown = [&](const ir::Operand& operand) {
    if (operand.kind != ir::OperandKind::Symbol) return false;
    const std::string_view name = module_->text(static_cast<ir::Symbol>(operand.index));
    return !declared.contains(name) && !is_in_raw_text(name);
  };
  for (const ir::Instruction& instruction : function_->instructions) {
    const auto operands = function_->operands_of(instruction);
    for (std::uint16_t i = 0; i < instruction.operand_count; ++i) {
      const ir::Operand& named = operands[i].kind == ir::OperandKind::Address
                                     ? function_->children(operands[i])[0]
                                     : operands[i];
      if (!is_unknown(named)) continue;
      const std::string name(module_->text(static_cast<ir::Symbol>(named.index)));
      std::vector<std::string> known(declared.begin(), declared.end());
      std::ranges::sort(known);
      return diag::fail(diag::Diagnostic(diag::Kind::UnknownSymbol, {name})
                            .at(instruction.loc, {diag::Focus::Part::Operand, i})
                            .suggest(name, known));
    }
  }
  return diag::success();
}

void Tracer::end_body() {
  if (!function_->body.empty()) {
    const ir::Statement& last = function_->body.back();
    if (last.kind == ir::StatementKind::Instruction) {
      const ir::Instruction& instruction = function_->instructions[last.index];
      if (!instruction.guard && instruction.form().form->flow == isa::Flow::End) return;
    }
  }
  emit("ret", {});
}

isa::Version Tracer::lowest_version() const {
  constexpr isa::Version kWideRegisters{8, 3};  // .reg .b128, whatever uses it
  isa::Version version = std::max(options_.target.minimum_version(), required_);
  if (judge_ != nullptr) version = std::max(version, judge_->required_version());
  for (const ir::Directive& directive : function_->directives) {
    const auto* info =
        isa::find_directive(module_->text(directive.name), isa::DirectivePlace::Entry);
    if (info != nullptr) version = std::max(version, info->needs.version);
  }
  const bool has_wide = std::ranges::any_of(
      function_->registers, [](const ir::Register& r) { return r.declared == isa::Type::B128; });
  return has_wide ? std::max(version, kWideRegisters) : version;
}

diag::Result<std::shared_ptr<const ir::Module>> Tracer::finish() {
  if (error_) return diag::fail(*take_error());
  if (auto status = check_nesting(); !status) return status.failure();
  if (auto status = check_labels(); !status) return status.failure();
  if (auto status = check_symbols(); !status) return status.failure();
  if (auto status = check_transactions(); !status) return status.failure();
  set_loc(diag::Loc::None);
  end_body();
  if (error_) return diag::fail(*take_error());
  place_shared();
  function_->body.insert(function_->body.begin(), prologue_);
  for (const ir::Statement& statement : prologue_) {
    if (statement.kind != ir::StatementKind::Instruction) continue;
    for (ir::ShownTile& tile : function_->shown) ++tile.before;
  }
  prologue_.clear();
  if (options_.line_info) add_line_info();
  if (!options_.version) module_->version = lowest_version();
  finished_ = std::move(module_);
  begin_module();
  return finished_;
}

}  // namespace pyptx::build
