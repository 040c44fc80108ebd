// SPDX-License-Identifier: Apache-2.0
//
// The statements of a function body and the entry points of printing. Declarations are in
// print_declaration.cpp, operands in print_operand.cpp.
#include "pyptx/syntax/printer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "print_declaration.h"
#include "print_operand.h"
#include "text_writer.h"

namespace pyptx::syntax {
namespace {

using ir::ItemKind;
using ir::StatementKind;

constexpr std::size_t kBytesPerStatement = 48;  // a typical line, to reserve the text once

class ModuleWriter {
 public:
  ModuleWriter(TextWriter& out, const ir::Module& module) : out_(out), module_(module) {}

  void write() {
    std::vector<bool> variables(module_.variables.size());
    std::vector<bool> functions(module_.functions.size());
    bool header = false;
    for (const ir::Item& item : module_.items) header |= item.kind == ItemKind::Header;
    if (!header) write_item({ItemKind::Header, 0});
    for (const ir::Item& item : module_.items) {
      if (item.kind == ItemKind::Variable) variables[item.index] = true;
      if (item.kind == ItemKind::Function) functions[item.index] = true;
      write_item(item);
    }
    for (std::uint32_t i = 0; i < variables.size(); ++i) {
      if (!variables[i]) write_item({ItemKind::Variable, i});
    }
    for (std::uint32_t i = 0; i < functions.size(); ++i) {
      if (!functions[i]) write_item({ItemKind::Function, i});
    }
  }

 private:
  std::string_view text(std::uint32_t symbol) const {
    return module_.text(static_cast<support::Symbol>(symbol));
  }

  // A blank line sets off the header and every function, with the comments right above it.
  void separate(ItemKind kind) {
    const bool header_next = kind == ItemKind::Header;
    const bool after_block = previous_ == ItemKind::Header || previous_ == ItemKind::Function;
    const bool before_function = kind == ItemKind::Function && previous_ != ItemKind::Comment;
    if (!first_ && !header_next && (after_block || before_function)) out_.end_line();
    first_ = false;
    previous_ = kind;
  }

  void write_item(const ir::Item& item) {
    separate(item.kind);
    switch (item.kind) {
      case ItemKind::Header:
        write_header(out_, module_);
        return;
      case ItemKind::Variable:
        write_variable(out_, module_, module_.variables[item.index]);
        return;
      case ItemKind::Function:
        write_function(*module_.functions[item.index]);
        return;
      case ItemKind::Comment:
        write_comment(out_, text(item.index), 0);
        return;
      case ItemKind::Pragma:
        write_pragma(out_, text(item.index), 0);
        return;
      case ItemKind::Verbatim:
        out_.lines(text(item.index));
        return;
    }
  }

  void write_function(const ir::Function& function) {
    write_prototype(out_, module_, function);
    if (function.is_declaration) return;
    out_ << '{';
    out_.end_line();
    for (const ir::RegisterPool& pool : function.pools) {
      if (!pool.placed) write_pool(out_, module_, pool, 1);
    }
    unsigned depth = 1;
    for (const ir::Statement& statement : function.body) {
      write_statement(function, statement, depth);
    }
    out_ << '}';
    out_.end_line();
  }

  void write_statement(const ir::Function& function, const ir::Statement& statement,
                       unsigned& depth) {
    switch (statement.kind) {
      case StatementKind::Instruction: {
        const ir::Instruction& instruction = function.instructions[statement.index];
        out_.indent(depth);
        write_instruction(out_, module_, function, instruction);
        out_.end_line(instruction.loc);
        return;
      }
      case StatementKind::Label:
        out_ << module_.text(function.labels[statement.index]) << ':';
        out_.end_line();
        return;
      case StatementKind::Variable:
        out_.indent(depth);
        write_variable(out_, module_, function.variables[statement.index]);
        return;
      case StatementKind::Registers:
        write_register(out_, module_, function.registers[statement.index], depth);
        return;
      case StatementKind::Pool:
        write_pool(out_, module_, function.pools[statement.index], depth);
        return;
      case StatementKind::Comment:
        write_comment(out_, text(statement.index), depth);
        return;
      case StatementKind::Pragma:
        write_pragma(out_, text(statement.index), depth);
        return;
      case StatementKind::Raw:
      case StatementKind::Verbatim:
        write_text(text(statement.index), depth, statement.loc);
        return;
      case StatementKind::BlockOpen:
        out_.indent(depth++);
        out_ << '{';
        out_.end_line();
        return;
      case StatementKind::BlockClose:
        if (depth > 1) --depth;
        out_.indent(depth);
        out_ << '}';
        out_.end_line();
        return;
    }
  }

  // Given text keeps its own indentation; a text with none gets that of its surroundings.
  void write_text(std::string_view given, unsigned depth, diag::Loc loc = diag::Loc::None) {
    const char first = given.empty() ? '\n' : given.front();
    if (first != ' ' && first != '\t' && first != '\n' && first != '#') out_.indent(depth);
    out_.lines(given, loc);
  }

  TextWriter& out_;
  const ir::Module& module_;
  ItemKind previous_ = ItemKind::Comment;
  bool first_ = true;
};

}  // namespace

std::string print(const ir::Module& module, std::vector<diag::Loc>* line_locs) {
  TextWriter out(line_locs);
  std::size_t statements = module.variables.size() + 16;
  for (const auto& function : module.functions) {
    statements += function->body.size() + function->parameters.size() + 16;
  }
  out.reserve(statements * kBytesPerStatement);
  ModuleWriter(out, module).write();
  return out.take();
}

std::string print(const ir::Module& module) { return print(module, nullptr); }

std::string print(const ir::Module& module, const ir::Function& function,
                  const ir::Instruction& instruction) {
  TextWriter out(nullptr);
  write_instruction(out, module, function, instruction);
  return out.take();
}

std::string print(const ir::Module& module, const ir::Function& function,
                  const ir::Operand& operand) {
  TextWriter out(nullptr);
  write_operand(out, module, function, operand);
  return out.take();
}

}  // namespace pyptx::syntax
