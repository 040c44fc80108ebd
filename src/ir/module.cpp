// SPDX-License-Identifier: Apache-2.0
#include "pyptx/ir/module.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pyptx::ir {

std::uint64_t Variable::size() const {
  const std::uint64_t element = isa::info(type).bits / 8U * std::max<std::uint64_t>(vector, 1);
  const std::uint64_t elements = count.value_or(1);
  // What no memory holds stays too large: a sum of sizes must not become small again.
  if (element != 0 && elements > kGreatestSize / element) return kGreatestSize;
  return element * elements;
}

std::uint32_t Variable::alignment() const {
  if (align != 0) return align;
  return isa::info(type).bits / 8U * std::max<std::uint32_t>(vector, 1);
}

Operand Function::composite(OperandKind kind, std::span<const Operand> children,
                            std::int64_t value) {
  const auto first = static_cast<std::uint32_t>(operands.size());
  operands.append(children);
  return {kind, 0, static_cast<std::uint16_t>(children.size()), first, value};
}

RegisterId Function::add_pooled(support::SymbolTable& symbols, std::string_view prefix,
                                isa::Type type, isa::Type declared) {
  const Symbol prefix_symbol = symbols.intern(prefix);
  auto pool = std::ranges::find_if(
      pools, [&](const RegisterPool& p) { return p.prefix == prefix_symbol && !p.placed; });
  if (pool == pools.end()) {
    pools.push_back({prefix_symbol, declared, 0});
    pool = pools.end() - 1;
  }
  registers.push_back({prefix_symbol, type, declared, true, 0, pool->count++});
  return static_cast<RegisterId>(registers.size() - 1);
}

std::optional<RegisterId> Function::find_register(const support::SymbolTable& symbols,
                                                  std::string_view register_name) const {
  const auto is_named = [&](const Register& reg) {
    const std::string_view stem = symbols.text(reg.stem);
    if (!reg.pooled) return stem == register_name;
    return register_name.starts_with(stem) &&
           register_name.substr(stem.size()) == std::to_string(reg.number);
  };
  const auto found = std::ranges::find_if(registers, is_named);
  if (found == registers.end()) return std::nullopt;
  return static_cast<RegisterId>(found - registers.begin());
}

RegisterId Function::add_named(Symbol register_name, isa::Type type) {
  const auto index = static_cast<std::uint32_t>(registers.size());
  registers.push_back({register_name, type, isa::info(type).storage, false});
  body.push_back({StatementKind::Registers, index});
  return static_cast<RegisterId>(index);
}

LabelId Function::add_label(Symbol label_name) {
  labels.push_back(label_name);
  return static_cast<LabelId>(labels.size() - 1);
}

void Function::place_label(LabelId label) {
  body.push_back({StatementKind::Label, static_cast<std::uint32_t>(label)});
}

Instruction& Function::append(const isa::Spelling* spelling, std::span<const Operand> operands_in,
                              diag::Loc where) {
  Instruction instruction;
  instruction.spelling = spelling;
  instruction.first_operand = static_cast<std::uint32_t>(operands.size());
  instruction.operand_count = static_cast<std::uint16_t>(operands_in.size());
  instruction.loc = where;
  operands.append(operands_in);
  body.push_back({StatementKind::Instruction, static_cast<std::uint32_t>(instructions.size())});
  return instructions.push_back(instruction);
}

std::string Module::name(const Register& reg) const {
  std::string result(text(reg.stem));
  if (reg.pooled) result += std::to_string(reg.number);
  return result;
}

std::vector<Item> Module::parts() const {
  const auto is_named = [&](ItemKind kind, std::uint32_t index) {
    return std::ranges::any_of(
        items, [&](const Item& item) { return item.kind == kind && item.index == index; });
  };
  const auto was_read = [](const Item& item) { return !item.tokens.empty(); };
  if (std::ranges::any_of(items, was_read)) return items;
  std::vector<Item> all;
  if (!is_named(ItemKind::Header, 0)) all.push_back({ItemKind::Header});
  all.insert(all.end(), items.begin(), items.end());
  for (std::uint32_t i = 0; i < variables.size(); ++i) {
    if (!is_named(ItemKind::Variable, i)) all.push_back({ItemKind::Variable, i});
  }
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    if (!is_named(ItemKind::Function, i)) all.push_back({ItemKind::Function, i});
  }
  return all;
}

const Function* Module::entry(std::string_view entry_name) const {
  const Function* only = nullptr;
  for (const auto& function : functions) {
    if (!function->is_entry || function->is_declaration) continue;
    if (!entry_name.empty()) {
      if (text(function->name) == entry_name) return function.get();
    } else if (only != nullptr) {
      return nullptr;
    } else {
      only = function.get();
    }
  }
  return only;
}

}  // namespace pyptx::ir
