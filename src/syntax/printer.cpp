// SPDX-License-Identifier: Apache-2.0
//
// The order of the parts of a module and the entry points of printing. What a part looks like is in
// print_part.cpp.
#include "pyptx/syntax/printer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "document_part.h"
#include "print_operand.h"
#include "print_part.h"
#include "text_writer.h"

namespace pyptx::syntax {
namespace {

using ir::ItemKind;

constexpr std::size_t kBytesPerStatement = 48;  // a typical line, to reserve the text once

class ModuleWriter {
 public:
  ModuleWriter(TextWriter& out, const ir::Module& module) : out_(out), module_(module) {}

  void write() {
    for (const ir::Item& item : module_.parts()) write_item(item);
  }

 private:
  // A blank line sets off the header and every function, with the comments right above it.
  void separate(const ir::Item& item) {
    if (item.mark.trailing) return;
    const ItemKind kind = item.kind;
    const bool header_next = kind == ItemKind::Header;
    const bool after_block = previous_ == ItemKind::Header || previous_ == ItemKind::Function;
    const bool before_function = kind == ItemKind::Function && !is_comment(previous_);
    if (!first_ && !header_next && (after_block || before_function)) out_.end_line();
    first_ = false;
    previous_ = kind;
  }

  void write_item(const ir::Item& item) {
    separate(item);
    syntax::write_item(out_, module_, item);
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
