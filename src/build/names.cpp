// SPDX-License-Identifier: Apache-2.0
#include "pyptx/build/names.h"

#include <optional>

#include "pyptx/build/memory.h"
#include "pyptx/ir/video_selector.h"
#include "pyptx/support/concat.h"

namespace pyptx::build {
namespace {

/// %r3, -%r3, !%p3, %r3.b0
std::optional<ir::Operand> register_named(const Tracer& tracer, std::string_view text) {
  ir::OperandKind kind = ir::OperandKind::Register;
  if (text.starts_with('-')) kind = ir::OperandKind::NegatedRegister;
  if (text.starts_with('!')) kind = ir::OperandKind::NotRegister;
  if (kind != ir::OperandKind::Register) text.remove_prefix(1);
  const std::string_view name = text.substr(0, text.find('.'));
  const auto id = tracer.function().find_register(tracer.module().symbols, name);
  if (!id) return std::nullopt;
  ir::Operand found = ir::Operand::reg(*id);
  found.kind = kind;
  if (name.size() == text.size()) return found;
  found.component = ir::kVideoSelector;
  found.value = ir::video_selector(text.substr(name.size() + 1));
  return found.value != 0 ? std::optional(found) : std::nullopt;
}

}  // namespace

ir::Operand named(Tracer& tracer, std::string_view text, diag::Focus focus) {
  if (text == "_") return ir::Operand::sink();
  const bool is_register =
      text.starts_with('%') || text.starts_with("-%") || text.starts_with("!%");
  if (!is_register) return tracer.symbol(text);
  if (const auto special = special_operand(text)) return *special;
  if (const auto found = register_named(tracer, text)) return *found;
  const std::string what = support::concat("'", text, "', which names no register,");
  tracer.report(diag::Diagnostic(diag::Kind::NotAnOperand, {what}).at(tracer.loc(), focus));
  return {};
}

}  // namespace pyptx::build
