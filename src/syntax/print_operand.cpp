// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, chapter 6 (Instruction Operands) and section 4.5 (Constants).
#include "print_operand.h"

#include <cstdint>
#include <span>
#include <string_view>

#include "pyptx/isa/type.h"

namespace pyptx::syntax {
namespace {

using ir::Operand;
using ir::OperandKind;

class OperandWriter {
 public:
  OperandWriter(TextWriter& out, const ir::Module& module, const ir::Function& function)
      : out_(out), module_(module), function_(function) {}

  void write(const Operand& operand) {
    switch (operand.kind) {
      case OperandKind::None:
        return;
      case OperandKind::Register:
        name(operand.register_id());
        component(operand);
        return;
      case OperandKind::NotRegister:
      case OperandKind::NegatedRegister:
        out_ << (operand.kind == OperandKind::NotRegister ? '!' : '-');
        name(operand.register_id());
        component(operand);
        return;
      case OperandKind::Special:
        out_ << isa::info(static_cast<isa::SpecialRegister>(operand.index)).name;
        component(operand);
        return;
      case OperandKind::Integer:
        out_.decimal(operand.value);
        return;
      case OperandKind::Float32:
        out_ << "0f";
        out_.hexadecimal(static_cast<std::uint64_t>(operand.value) & 0xFFFFFFFFU, 8);
        return;
      case OperandKind::Float64:
        out_ << "0d";
        out_.hexadecimal(static_cast<std::uint64_t>(operand.value), 16);
        return;
      case OperandKind::Symbol:
        symbol(operand, operand.value, operand.component);
        return;
      case OperandKind::Undeclared:
        undeclared(operand);
        return;
      case OperandKind::Label:
        out_ << module_.text(function_.labels[operand.index]);
        return;
      case OperandKind::Sink:
        out_ << '_';
        return;
      case OperandKind::Address:
      case OperandKind::Vector:
      case OperandKind::Parenthesized:
      case OperandKind::Pipe:
        composite(operand);
        return;
    }
  }

  /// The operands of an instruction and what ends it.
  void write_list(std::span<const Operand> operands) {
    char separator = ' ';
    for (const Operand& operand : operands) {
      // The first operand follows a blank, the others a comma and a blank.
      if (separator == ',') out_ << separator;
      out_ << ' ';
      write(operand);
      separator = ',';
    }
    out_ << ';';
  }

  void name(ir::RegisterId id) {
    const ir::Register& reg = function_.at(id);
    out_ << module_.text(reg.stem);
    if (reg.pooled) out_.decimal(reg.number);
  }

 private:
  void component(const Operand& operand) {
    if (operand.component == 0) return;
    out_ << '.';
    if (operand.component != ir::kVideoSelector) {
      out_ << "?xyzw"[operand.component];
      return;
    }
    for (std::int64_t left = operand.value; left != 0; left >>= 8) {
      out_ << static_cast<char>(left & 0x7F);
    }
  }

  void symbol(const Operand& operand, std::int64_t byte_offset, std::uint8_t marks) {
    out_ << module_.text(static_cast<support::Symbol>(operand.index));
    offset(byte_offset, marks);
  }

  void undeclared(const Operand& operand) {
    if ((operand.component & ir::kNotName) != 0) out_ << '!';
    if ((operand.component & ir::kMinusName) != 0) out_ << '-';
    out_ << module_.text(static_cast<support::Symbol>(operand.index));
    Operand selected = operand;
    selected.component &= ir::kSelectorBits;
    component(selected);
    if (selected.component != 0) return;
    if ((operand.component & ir::kIndexedName) == 0)
      return offset(operand.value, operand.component);
    out_ << '[';
    out_.decimal(operand.value);
    out_ << ']';
  }

  // PTX has no subtraction here: a negative offset is written +-8.
  void offset(std::int64_t bytes, std::uint8_t marks) {
    if (bytes == 0 && (marks & ir::kZeroOffset) == 0) return;
    out_ << '+';
    out_.decimal(bytes);
  }

  void list(std::span<const Operand> operands, std::string_view separator) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (i != 0) out_ << separator;
      write(operands[i]);
    }
  }

  void composite(const Operand& operand) {
    const std::span<const Operand> children = function_.children(operand);
    switch (operand.kind) {
      case OperandKind::Address:
        address(operand, children);
        return;
      case OperandKind::Vector:
        out_ << '{';
        list(children, ", ");
        out_ << '}';
        return;
      case OperandKind::Parenthesized:
        out_ << '(';
        list(children, ", ");
        out_ << ')';
        return;
      default:
        list(children, "|");
        return;
    }
  }

  void address(const Operand& operand, std::span<const Operand> children) {
    out_ << '[';
    if (!children.empty()) {
      const Operand& base = children.front();
      if (base.kind == OperandKind::Symbol) {
        symbol(base, base.value + operand.value, operand.component);
      } else {
        write(base);
        offset(operand.value, operand.component);
      }
      for (const Operand& child : children.subspan(1)) {
        out_ << ", ";
        write(child);
      }
    }
    out_ << ']';
    if ((operand.component & ir::kUnified) != 0) out_ << ".unified";
  }

  TextWriter& out_;
  const ir::Module& module_;
  const ir::Function& function_;
};

}  // namespace

void write_operand(TextWriter& out, const ir::Module& module, const ir::Function& function,
                   const ir::Operand& operand) {
  OperandWriter(out, module, function).write(operand);
}

void write_instruction(TextWriter& out, const ir::Module& module, const ir::Function& function,
                       const ir::Instruction& instruction) {
  OperandWriter writer(out, module, function);
  if (instruction.guard) {
    out << (instruction.guard_negated ? "@!" : "@");
    writer.name(*instruction.guard);
    out << ' ';
  }
  out << instruction.spelling->text;
  writer.write_list(function.operands_of(instruction));
}

void write_instruction(TextWriter& out, const ir::Module& module, const ir::Function& function,
                       const ir::UnresolvedInstruction& instruction) {
  OperandWriter writer(out, module, function);
  if (instruction.guard.kind != OperandKind::None) {
    out << '@';
    writer.write(instruction.guard);
    out << ' ';
  }
  out << module.text(instruction.spelling);
  writer.write_list(function.operands_of(instruction));
}

}  // namespace pyptx::syntax
