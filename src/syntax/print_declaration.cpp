// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, chapter 5 (State Spaces, Types, and Variables) and chapter 11 (Directives).
#include "print_declaration.h"

#include <cstddef>
#include <cstdint>
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

void write_initial_value(TextWriter& out, const ir::Module& module, const ir::Variable& variable,
                         const ir::InitialValue& value) {
  using InitialKind = ir::InitialValue::Kind;
  if (value.kind == InitialKind::Bits) return write_value(out, variable.type, value.value);
  if (value.byte != 0) {
    out << "0xFF";
    for (unsigned i = 1; i < value.byte; ++i) out << "00";
    out << '(';
  }
  if (value.kind == InitialKind::Generic) out << "generic(";
  out << module.text(value.symbol);
  if (value.kind == InitialKind::Generic) out << ')';
  if (value.value != 0) {
    out << '+';
    out.decimal(value.value);
  }
  if (value.byte != 0) out << ')';
}

void write_initializer(TextWriter& out, const ir::Module& module, const ir::Variable& variable) {
  using InitialKind = ir::InitialValue::Kind;
  bool first = true;
  for (const ir::InitialValue& value : variable.initializer) {
    if (value.kind == InitialKind::Close) {
      out << '}';
      first = false;
      continue;
    }
    if (!first) out << ", ";
    first = value.kind == InitialKind::Open;
    if (first) {
      out << '{';
    } else {
      write_initial_value(out, module, variable, value);
    }
  }
}

void write_properties(TextWriter& out, const ir::Module& module,
                      const std::vector<ir::Property>& properties) {
  out << '{';
  for (std::size_t i = 0; i < properties.size(); ++i) {
    if (i != 0) out << ", ";
    out << module.text(properties[i].name) << " = ";
    if (properties[i].word != support::Symbol::None) {
      out << module.text(properties[i].word);
    } else {
      out.decimal(properties[i].number);
    }
  }
  out << '}';
}

void write_attributes(TextWriter& out, const ir::Attributes& attributes) {
  if (!attributes.any()) return;
  out << " .attribute(";
  if (attributes.managed) out << ".managed";
  if (attributes.unified) {
    if (attributes.managed) out << ", ";
    out << ".unified(";
    out.decimal(attributes.unified->first);
    out << ", ";
    out.decimal(attributes.unified->second);
    out << ')';
  }
  out << ')';
}

// .shared .align 128 .b8 tile[4096]
void write_declarator(TextWriter& out, const ir::Module& module, const ir::Variable& variable) {
  out << prefix(variable.linkage) << text(variable.space);
  write_attributes(out, variable.attributes);
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
  if (variable.run) {
    out << '<';
    out.decimal(*variable.run);
    out << '>';
  }
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

// (.param .b32 _, .param .b64 _) on one line
void write_parameter_list(TextWriter& out, const ir::Module& module,
                          const std::vector<ir::Variable>& parameters) {
  out << '(';
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i != 0) out << ", ";
    write_declarator(out, module, parameters[i]);
  }
  out << ')';
}

void write_directive(TextWriter& out, const ir::Module& module, const ir::Directive& directive) {
  const std::string_view name = module.text(directive.name);
  out << '.' << name;
  for (std::size_t i = 0; i < directive.values.size(); ++i) {
    out << (i == 0 ? " " : ", ");
    out.decimal(directive.values[i]);
  }
  const bool is_pragma = name == "pragma";
  if (directive.values.empty() && (is_pragma || name == "language")) {
    out << " \"" << module.text(directive.text) << '"';
    if (is_pragma) out << ';';
  }
}

}  // namespace

void write_header(TextWriter& out, const ir::Module& module) {
  out << ".version ";
  out.decimal(unsigned{module.version.major});
  out << '.';
  out.decimal(unsigned{module.version.minor});
  out.end_line();
  out << ".target ";
  if (module.unknown_target == support::Symbol::None) {
    out << module.target.text();
  } else {
    out << module.text(module.unknown_target);
  }
  for (const ir::TargetOption& option : module.target_options) {
    out << ", " << module.text(option.name);
  }
  out.end_line();
  if (module.address_size != 0) {
    out << ".address_size ";
    out.decimal(unsigned{module.address_size});
    out.end_line();
  }
}

void write_variable(TextWriter& out, const ir::Module& module, const ir::Variable& variable) {
  write_declarator(out, module, variable);
  if (variable.has_properties) {
    out << " = ";
    write_properties(out, module, variable.properties);
  } else if (!variable.initializer.empty()) {
    out << " = ";
    write_initializer(out, module, variable);
  }
  out << ';';
  out.end_line(variable.loc);
}

void write_register(TextWriter& out, const ir::Module& module, const ir::Register& reg) {
  out << ".reg";
  write_type(out, reg.vector, reg.declared);
  out << ' ' << module.text(reg.stem) << ';';
  out.end_line();
}

void write_pool(TextWriter& out, const ir::Module& module, const ir::RegisterPool& pool) {
  out << ".reg";
  write_type(out, pool.vector, pool.declared);
  out << ' ' << module.text(pool.prefix) << '<';
  out.decimal(pool.count);
  out << ">;";
  out.end_line();
}

void write_prototype(TextWriter& out, const ir::Module& module, const ir::Function& function) {
  out << prefix(function.linkage) << (function.is_entry ? ".entry" : ".func");
  write_attributes(out, function.attributes);
  out << ' ';
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

void write_call_prototype(TextWriter& out, const ir::Module& module,
                          const ir::CallPrototype& prototype) {
  out << ".callprototype ";
  if (!prototype.returns.empty()) {
    write_parameter_list(out, module, prototype.returns);
    out << ' ';
  }
  out << "_ ";
  write_parameter_list(out, module, prototype.parameters);
  for (const ir::Directive& directive : prototype.directives) {
    out << ' ';
    write_directive(out, module, directive);
  }
  out << ';';
  out.end_line();
}

}  // namespace pyptx::syntax
