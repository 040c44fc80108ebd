// SPDX-License-Identifier: Apache-2.0
#include "pyptx/syntax/document.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "document_part.h"

namespace pyptx::syntax {
namespace {

using ir::StatementKind;

/// Names that share a declaration are edited together: each gets a declaration of its own.
template <typename Parts>
void touch_group(const TokenBuffer& tokens, Parts& parts, std::size_t at) {
  parts[at].mark.edited = true;
  for (std::size_t i = at; i > 0 && is_continued(tokens, parts[i - 1]); --i) {
    parts[i - 1].mark.edited = true;
  }
  for (std::size_t i = at; i + 1 < parts.size() && is_continued(tokens, parts[i]); ++i) {
    parts[i + 1].mark.edited = true;
  }
}

template <typename Part>
diag::TextRange range_of(const TokenBuffer& tokens, const Part& part) {
  if (part.tokens.empty()) return {};
  if (is_comment(part.kind)) {
    const Comment& comment = tokens.comments[part.tokens.first];
    return {comment.begin, comment.end};
  }
  return {tokens.tokens[part.tokens.first].begin, tokens.tokens[part.tokens.last - 1].end};
}

/// What an inner comment was found in.
template <typename Parts>
std::size_t owner_of(const Parts& parts, std::size_t at) {
  while (at + 1 < parts.size() && parts[at].mark.inner) ++at;
  return at;
}

/// Whether a part is the first on its line.
template <typename Part>
bool begins_line(const TokenBuffer& tokens, std::string_view text, const Part& part) {
  if (part.tokens.empty()) return true;
  const bool comment = is_comment(part.kind);
  const std::uint32_t token =
      comment ? tokens.comments[part.tokens.first].token : part.tokens.first;
  const std::uint32_t end = token == 0 ? 0 : tokens.tokens[token - 1].end;
  const std::uint32_t begin =
      comment ? tokens.comments[part.tokens.first].begin : tokens.tokens[token].begin;
  return end == 0 || text.substr(end, begin - end).find_first_of("\r\n") != std::string_view::npos;
}

// A comment inside a part goes with it; one behind it loses what it trails.
template <typename Parts>
void erase_part(const TokenBuffer& tokens, std::string_view text, Parts& parts, std::size_t at) {
  if (!parts[at].mark.inner && at + 1 < parts.size() && begins_line(tokens, text, parts[at])) {
    parts[at + 1].mark.trailing = false;
  }
  std::size_t first = at;
  if (parts[at].mark.inner) {
    touch_group(tokens, parts, owner_of(parts, at));
  } else if (!is_comment(parts[at].kind)) {
    touch_group(tokens, parts, at);
    const bool is_alone =
        !is_continued(tokens, parts[at]) && (at == 0 || !is_continued(tokens, parts[at - 1]));
    while (is_alone && first > 0 && parts[first - 1].mark.inner) --first;
  }
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(first),
              parts.begin() + static_cast<std::ptrdiff_t>(at + 1));
}

bool uses(const ir::Function& function, std::span<const ir::Operand> operands, const auto& is_it) {
  return std::ranges::any_of(operands, [&](const ir::Operand& operand) {
    return is_it(operand) ||
           (operand.is_composite() && uses(function, function.children(operand), is_it));
  });
}

}  // namespace

Document::Document(ParseOutcome outcome)
    : module_(std::move(outcome.module)),
      tokens_(std::move(outcome.tokens)),
      diagnostics_(std::move(outcome.diagnostics)) {}

Document Document::read(std::string_view text, std::string_view file, const ParseOptions& options) {
  return Document(parse_all(text, file, options));
}

diag::TextRange Document::range(const ir::Item& item) const { return range_of(*tokens_, item); }

diag::TextRange Document::range(const ir::Statement& statement) const {
  return range_of(*tokens_, statement);
}

std::uint32_t Document::store(ir::Function& function, const NewInstruction& instruction) {
  ir::Instruction made;
  made.spelling = instruction.spelling;
  made.first_operand = static_cast<std::uint32_t>(function.operands.size());
  made.operand_count = static_cast<std::uint16_t>(instruction.operands.size());
  made.guard = instruction.guard;
  made.guard_negated = instruction.guard_negated;
  // The operands may lie in the pool that grows.
  const std::vector<ir::Operand> operands(instruction.operands.begin(), instruction.operands.end());
  function.operands.append(operands);
  function.instructions.push_back(made);
  return static_cast<std::uint32_t>(function.instructions.size() - 1);
}

void Document::put(std::size_t index, std::size_t at, ir::Statement statement) {
  ir::Function& owner = function(index);
  // A list of names is no place for a statement, nor is the middle of one: the parts come apart.
  if (at > 0 && is_continued(*tokens_, owner.body[at - 1])) touch(index, at - 1);
  while (at > 0 && owner.body[at - 1].mark.inner) --at;
  owner.body.insert(owner.body.begin() + static_cast<std::ptrdiff_t>(at), statement);
  owner.edited = true;
}

void Document::insert(std::size_t index, std::size_t at, const NewInstruction& instruction) {
  const std::uint32_t stored = store(function(index), instruction);
  put(index, at, {StatementKind::Instruction, stored});
}

void Document::replace(std::size_t index, std::size_t at, const NewInstruction& instruction) {
  touch(index, at);
  ir::Function& owner = function(index);
  ir::Statement& statement = owner.body[at];
  statement.kind = StatementKind::Instruction;
  statement.index = store(owner, instruction);
}

void Document::insert_comment(std::size_t index, std::size_t at, std::string_view text) {
  put(index, at, {StatementKind::Comment, static_cast<std::uint32_t>(edit().symbols.intern(text))});
}

ir::RegisterId Document::insert_register(std::size_t index, std::size_t at, std::string_view name,
                                         isa::Type type) {
  ir::Function& owner = function(index);
  const auto id = static_cast<std::uint32_t>(owner.registers.size());
  owner.registers.push_back({edit().symbols.intern(name), type, type, false, 0, 0});
  put(index, at, {StatementKind::Registers, id});
  return static_cast<ir::RegisterId>(id);
}

ir::LabelId Document::insert_label(std::size_t index, std::size_t at, std::string_view name) {
  const ir::LabelId id = function(index).add_label(edit().symbols.intern(name));
  put(index, at, {StatementKind::Label, static_cast<std::uint32_t>(id)});
  return id;
}

void Document::erase(std::size_t index, std::size_t at) {
  ir::Function& owner = function(index);
  erase_part(*tokens_, text(), owner.body, at);
  owner.edited = true;
}

ir::Operand Document::composite(std::size_t index, ir::OperandKind kind,
                                std::span<const ir::Operand> children, std::int64_t value) {
  const std::vector<ir::Operand> copied(children.begin(), children.end());
  return function(index).composite(kind, copied, value);
}

void Document::set_operand(std::size_t index, std::size_t at, std::size_t operand_index,
                           const ir::Operand& operand) {
  touch(index, at);
  ir::Function& owner = function(index);
  const ir::Instruction& instruction = owner.instructions[owner.body[at].index];
  owner.operands[instruction.first_operand + operand_index] = operand;
}

void Document::set_guard(std::size_t index, std::size_t at, std::optional<ir::RegisterId> guard,
                         bool negated) {
  touch(index, at);
  ir::Function& owner = function(index);
  ir::Instruction& instruction = owner.instructions[owner.body[at].index];
  instruction.guard = guard;
  instruction.guard_negated = negated;
}

void Document::rename(std::size_t index, ir::RegisterId id, std::string_view name) {
  ir::Function& owner = function(index);
  ir::Register& renamed = owner.registers[static_cast<std::uint32_t>(id)];
  const ir::Register before = renamed;
  renamed.stem = edit().symbols.intern(name);
  renamed.pooled = false;
  renamed.number = 0;
  const auto is_it = [&](const ir::Operand& operand) {
    return operand.is_register() && operand.register_id() == id;
  };
  std::optional<std::size_t> pool;
  for (std::size_t i = 0; i < owner.body.size(); ++i) {
    const ir::Statement& statement = owner.body[i];
    if (statement.kind == StatementKind::Instruction) {
      const ir::Instruction& instruction = owner.instructions[statement.index];
      if (instruction.guard == id || uses(owner, owner.operands_of(instruction), is_it)) {
        touch(index, i);
      }
    } else if (statement.kind == StatementKind::Unresolved) {
      const ir::UnresolvedInstruction& instruction = owner.unresolved[statement.index];
      if (is_it(instruction.guard) || uses(owner, owner.operands_of(instruction), is_it)) {
        touch(index, i);
      }
    } else if (statement.kind == StatementKind::Registers &&
               statement.index == static_cast<std::uint32_t>(id)) {
      touch(index, i);
    } else if (statement.kind == StatementKind::Pool &&
               owner.pools[statement.index].prefix == before.stem &&
               before.number < owner.pools[statement.index].count && !pool) {
      pool = i;
    }
  }
  if (!before.pooled) return;
  put(index, pool ? *pool + 1 : 0, {StatementKind::Registers, static_cast<std::uint32_t>(id)});
}

void Document::rename(std::size_t index, ir::LabelId id, std::string_view name) {
  ir::Function& owner = function(index);
  owner.labels[static_cast<std::uint32_t>(id)] = edit().symbols.intern(name);
  const auto is_it = [&](const ir::Operand& operand) {
    return operand.kind == ir::OperandKind::Label &&
           operand.index == static_cast<std::uint32_t>(id);
  };
  for (std::size_t i = 0; i < owner.body.size(); ++i) {
    const ir::Statement& statement = owner.body[i];
    const bool named =
        (statement.kind == StatementKind::Label &&
         statement.index == static_cast<std::uint32_t>(id)) ||
        (statement.kind == StatementKind::Instruction &&
         uses(owner, owner.operands_of(owner.instructions[statement.index]), is_it)) ||
        (statement.kind == StatementKind::Unresolved &&
         uses(owner, owner.operands_of(owner.unresolved[statement.index]), is_it)) ||
        (statement.kind == StatementKind::BranchTargets &&
         std::ranges::count(owner.branch_targets[statement.index], id) != 0);
    if (named) touch(index, i);
  }
}

void Document::erase_item(std::size_t at) {
  ir::Module& module = edit();
  erase_part(*tokens_, module.locations.text(), module.items, at);
}

void Document::insert_item_comment(std::size_t at, std::string_view text) {
  std::vector<ir::Item>& items = edit().items;
  if (at > 0 && is_continued(*tokens_, items[at - 1])) touch_item(at - 1);
  while (at > 0 && items[at - 1].mark.inner) --at;
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at),
               {ir::ItemKind::Comment, static_cast<std::uint32_t>(edit().symbols.intern(text))});
}

void Document::touch(std::size_t index, std::size_t at) {
  ir::Function& owner = function(index);
  touch_group(*tokens_, owner.body, owner_of(owner.body, at));
  owner.body[at].mark.edited = true;
  owner.edited = true;
}

void Document::touch_head(std::size_t index) {
  function(index).edited = true;
  function(index).head_edited = true;
}

void Document::touch_item(std::size_t at) {
  std::vector<ir::Item>& items = edit().items;
  const ir::Item& item = items[at];
  touch_group(*tokens_, items, owner_of(items, at));
  if (item.kind == ir::ItemKind::Function) touch_head(item.index);
}

}  // namespace pyptx::syntax
