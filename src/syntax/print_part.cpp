// SPDX-License-Identifier: Apache-2.0
#include "print_part.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "print_debug.h"
#include "print_declaration.h"
#include "print_operand.h"

namespace pyptx::syntax {
namespace {

using ir::ItemKind;
using ir::StatementKind;

std::string_view text_of(const ir::Module& module, std::uint32_t symbol) {
  return module.text(static_cast<support::Symbol>(symbol));
}

// Given text keeps its own indentation; a text with none gets that of its surroundings.
void write_raw(TextWriter& out, std::string_view given, unsigned depth, diag::Loc loc) {
  const char first = given.empty() ? '\n' : given.front();
  if (first != ' ' && first != '\t' && first != '\n' && first != '#') out.indent(depth);
  out.lines(given, loc);
}

// A comment on the line of what stands before it stays there.
template <typename Part>
void write_comment(TextWriter& out, const ir::Module& module, const Part& part, unsigned depth,
                   bool is_block) {
  const std::string_view text = text_of(module, part.index);
  const bool is_trailing = part.mark.trailing && out.reopen_line();
  if (is_trailing) {
    out << ' ';
  } else {
    out.indent(depth);
  }
  const diag::Loc loc = is_trailing ? out.reopened() : diag::Loc::None;
  if (is_block) {
    write_block_comment(out, text, loc);
  } else {
    write_line_comment(out, text, depth, loc);
  }
}

void write_names(TextWriter& out, const ir::Module& module, std::string_view word,
                 const std::vector<ir::Symbol>& names) {
  out << word;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out << (i == 0 ? " " : ", ") << module.text(names[i]);
  }
  out << ';';
  out.end_line();
}

void write_branch_targets(TextWriter& out, const ir::Module& module, const ir::Function& function,
                          const std::vector<ir::LabelId>& targets) {
  std::vector<ir::Symbol> names;
  names.reserve(targets.size());
  for (const ir::LabelId target : targets) {
    names.push_back(function.labels[static_cast<std::uint32_t>(target)]);
  }
  write_names(out, module, ".branchtargets", names);
}

// Statements of one line that begin at the depth of their block.
void write_simple(TextWriter& out, const ir::Module& module, const ir::Function& function,
                  const ir::Statement& statement) {
  const std::uint32_t index = statement.index;
  switch (statement.kind) {
    case StatementKind::Instruction:
      write_instruction(out, module, function, function.instructions[index]);
      return out.end_line(function.instructions[index].loc);
    case StatementKind::Unresolved:
      write_instruction(out, module, function, function.unresolved[index]);
      return out.end_line(function.unresolved[index].loc);
    case StatementKind::Variable:
      return write_variable(out, module, function.variables[index]);
    case StatementKind::Registers:
      return write_register(out, module, function.registers[index]);
    case StatementKind::Pool:
      return write_pool(out, module, function.pools[index]);
    case StatementKind::Pragma:
      return write_pragma(out, text_of(module, index));
    case StatementKind::Line:
      return write_line(out, module, function.lines[index]);
    case StatementKind::BranchTargets:
      return write_branch_targets(out, module, function, function.branch_targets[index]);
    case StatementKind::CallTargets:
      return write_names(out, module, ".calltargets", function.call_targets[index]);
    case StatementKind::CallPrototype:
      return write_call_prototype(out, module, function.prototypes[index]);
    default:
      return;
  }
}

}  // namespace

void write_statement(TextWriter& out, const ir::Module& module, const ir::Function& function,
                     const ir::Statement& statement, unsigned& depth) {
  switch (statement.kind) {
    case StatementKind::Label:
      out << module.text(function.labels[statement.index]) << ':';
      return out.end_line();
    case StatementKind::Comment:
      return write_comment(out, module, statement, depth, false);
    case StatementKind::BlockComment:
      return write_comment(out, module, statement, depth, true);
    case StatementKind::LineMarker:
      out.lines(text_of(module, statement.index));
      return out.seal_line();
    case StatementKind::Raw:
      return write_raw(out, text_of(module, statement.index), depth, statement.loc);
    case StatementKind::BlockOpen:
      out.indent(depth++);
      out << '{';
      return out.end_line();
    case StatementKind::BlockClose:
      if (depth > 1) --depth;
      out.indent(depth);
      out << '}';
      return out.end_line();
    case StatementKind::Error:
    case StatementKind::Stray:
      return;
    default:
      out.indent(depth);
      return write_simple(out, module, function, statement);
  }
}

void write_pools(TextWriter& out, const ir::Module& module, const ir::Function& function) {
  for (const ir::RegisterPool& pool : function.pools) {
    if (pool.placed) continue;
    out.indent(1);
    write_pool(out, module, pool);
  }
}

void write_function(TextWriter& out, const ir::Module& module, const ir::Function& function) {
  write_prototype(out, module, function);
  if (function.is_declaration) return;
  out << '{';
  out.end_line();
  write_pools(out, module, function);
  unsigned depth = 1;
  for (const ir::Statement& statement : function.body) {
    write_statement(out, module, function, statement, depth);
  }
  out << '}';
  out.end_line();
}

void write_item(TextWriter& out, const ir::Module& module, const ir::Item& item) {
  const std::uint32_t index = item.index;
  switch (item.kind) {
    case ItemKind::Header:
      return write_header(out, module);
    case ItemKind::Variable:
      return write_variable(out, module, module.variables[index]);
    case ItemKind::Function:
      return write_function(out, module, *module.functions[index]);
    case ItemKind::Comment:
      return write_comment(out, module, item, 0, false);
    case ItemKind::BlockComment:
      return write_comment(out, module, item, 0, true);
    case ItemKind::LineMarker:
      out.lines(text_of(module, index));
      return out.seal_line();
    case ItemKind::Pragma:
      return write_pragma(out, text_of(module, index));
    case ItemKind::File:
      return write_file(out, module, module.files[index]);
    case ItemKind::Section:
      return write_section(out, module, module.sections[index]);
    case ItemKind::IntermediateSources:
      return write_sources(out, module, module.intermediate_sources[index]);
    case ItemKind::Alias:
      out << ".alias " << module.text(module.aliases[index].name) << ", "
          << module.text(module.aliases[index].aliasee) << ';';
      return out.end_line(module.aliases[index].loc);
    case ItemKind::Error:
    case ItemKind::Stray:
      return;
  }
}

}  // namespace pyptx::syntax
