// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, chapter 5 (State Spaces, Types, and Variables) and chapter 11 (Directives).
#include "print_declaration.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pyptx/isa/type.h"

namespace pyptx::syntax {
namespace {

std::string_view text(ir::Space space) {
  switch (space) {
    case ir::Space::Register:
      return ".reg";
    case ir::Space::Const:
      return ".const";
    case ir::Space::Global:
      return ".global";
    case ir::Space::Local:
      return ".local";
    case ir::Space::Param:
      return ".param";
    case ir::Space::Shared:
      return ".shared";
  }
  return ".global";
}

std::string_view prefix(ir::Linkage linkage) {
  switch (linkage) {
    case ir::Linkage::None:
      return "";
    case ir::Linkage::Extern:
      return ".extern ";
    case ir::Linkage::Visible:
      return ".visible ";
    case ir::Linkage::Weak:
      return ".weak ";
    case ir::Linkage::Common:
      return ".common ";
  }
  return "";
}

void write_type(TextWriter& out, std::uint8_t vector, isa::Type type) {
  if (vector != 0) {
    out << " .v";
    out.decimal(unsigned{vector});
  }
  out << " ." << isa::info(type).name;
}

void write_value(TextWriter& out, isa::Type type, std::int64_t value) {
  if (type == isa::Type::F32) {
    out << "0f";
    out.hexadecimal(static_cast<std::uint64_t>(value) & 0xFFFFFFFFU, 8);
  } else if (type == isa::Type::F64) {
    out << "0d";
    out.hexadecimal(static_cast<std::uint64_t>(value), 16);
  } else {
    out.decimal(value);
  }
}

// The braces of an array follow its extents; a vector element is one more of them.
std::vector<std::uint64_t> extents_of(const ir::Variable& variable) {
  std::vector<std::uint64_t> extents = variable.dimensions;
  if (extents.empty() && variable.count) extents.push_back(*variable.count);
  if (variable.vector != 0) extents.push_back(variable.vector);
  return extents;
}

void write_values(TextWriter& out, isa::Type type, std::span<const std::int64_t> values,
                  std::span<const std::uint64_t> extents) {
  if (extents.empty()) return write_value(out, type, values.front());
  std::size_t step = 1;
  for (const std::uint64_t extent : extents.subspan(1)) step *= std::max<std::size_t>(extent, 1);
  out << '{';
  for (std::size_t i = 0; i < values.size(); i += step) {
    if (i != 0) out << ", ";
    const std::size_t size = std::min(step, values.size() - i);
    write_values(out, type, values.subspan(i, size), extents.subspan(1));
  }
  out << '}';
}

// .shared .align 128 .b8 tile[4096]
void write_declarator(TextWriter& out, const ir::Module& module, const ir::Variable& variable) {
  out << prefix(variable.linkage) << text(variable.space);
  if (variable.align != 0) {
    out << " .align ";
    out.decimal(variable.align);
  }
  write_type(out, variable.vector, variable.type);
  if (variable.pointer) {
    out << " .ptr";
    if (variable.pointer->space) out << ' ' << text(*variable.pointer->space);
    if (variable.pointer->align != 0) {
      out << " .align ";
      out.decimal(variable.pointer->align);
    }
  }
  out << ' ' << module.text(variable.name);
  if (!variable.dimensions.empty()) {
    for (const std::uint64_t extent : variable.dimensions) {
      out << '[';
      out.decimal(extent);
      out << ']';
    }
  } else if (variable.count) {
    out << '[';
    if (*variable.count != 0) out.decimal(*variable.count);
    out << ']';
  }
}

void write_parameters(TextWriter& out, const ir::Module& module,
                      const std::vector<ir::Variable>& parameters) {
  out << '(';
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i == 0) {
      out.end_line();
    } else {
      out << ',';
      out.end_line(parameters[i - 1].loc);
    }
    out.indent(1);
    write_declarator(out, module, parameters[i]);
  }
  if (!parameters.empty()) out.end_line(parameters.back().loc);
  out << ')';
}

void write_directive(TextWriter& out, const ir::Module& module, const ir::Directive& directive) {
  out << '.' << module.text(directive.name);
  for (std::size_t i = 0; i < directive.values.size(); ++i) {
    out << (i == 0 ? " " : ", ");
    out.decimal(directive.values[i]);
  }
  if (module.text(directive.name) == "pragma") {
    out << " \"" << module.text(directive.text) << "\";";
  }
}

}  // namespace

void write_header(TextWriter& out, const ir::Module& module) {
  out << ".version ";
  out.decimal(unsigned{module.version.major});
  out << '.';
  out.decimal(unsigned{module.version.minor});
  out.end_line();
  out << ".target " << module.target.text();
  for (const support::Symbol option : module.target_options) out << ", " << module.text(option);
  out.end_line();
  if (module.address_size != 0) {
    out << ".address_size ";
    out.decimal(unsigned{module.address_size});
    out.end_line();
  }
}

void write_variable(TextWriter& out, const ir::Module& module, const ir::Variable& variable) {
  write_declarator(out, module, variable);
  if (!variable.initializer.empty()) {
    out << " = ";
    write_values(out, variable.type, variable.initializer, extents_of(variable));
  }
  out << ';';
  out.end_line(variable.loc);
}

void write_register(TextWriter& out, const ir::Module& module, const ir::Register& reg,
                    unsigned depth) {
  out.indent(depth);
  out << ".reg";
  write_type(out, reg.vector, reg.declared);
  out << ' ' << module.text(reg.name) << ';';
  out.end_line();
}

void write_pool(TextWriter& out, const ir::Module& module, const ir::RegisterPool& pool,
                unsigned depth) {
  out.indent(depth);
  out << ".reg";
  write_type(out, pool.vector, pool.declared);
  out << ' ' << module.text(pool.prefix) << '<';
  out.decimal(pool.count);
  out << ">;";
  out.end_line();
}

void write_prototype(TextWriter& out, const ir::Module& module, const ir::Function& function) {
  out << prefix(function.linkage) << (function.is_entry ? ".entry " : ".func ");
  if (!function.returns.empty()) {
    write_parameters(out, module, function.returns);
    out << ' ';
  }
  out << module.text(function.name);
  write_parameters(out, module, function.parameters);
  for (const ir::Directive& directive : function.directives) {
    out.end_line();
    write_directive(out, module, directive);
  }
  if (function.is_declaration) out << ';';
  out.end_line(function.loc);
}

void write_comment(TextWriter& out, std::string_view comment, unsigned depth) {
  while (true) {
    const std::size_t end = comment.find('\n');
    const std::string_view line = comment.substr(0, end);
    out.indent(depth);
    out << "//";
    if (!line.empty() && line.front() != ' ') out << ' ';
    for (const char c : line) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x80) {
        out << '?';
      } else if (byte >= 0x20 || c == '\t') {
        out << c;
      }
    }
    out.end_line();
    if (end == std::string_view::npos) return;
    comment.remove_prefix(end + 1);
  }
}

void write_pragma(TextWriter& out, std::string_view pragma, unsigned depth) {
  out.indent(depth);
  out << ".pragma \"" << pragma << "\";";
  out.end_line();
}

}  // namespace pyptx::syntax
