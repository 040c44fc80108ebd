// SPDX-License-Identifier: Apache-2.0
#include "declaration.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "operand.h"
#include "pyptx/isa/type.h"

namespace pyptx::verify {
namespace {

using diag::Diagnostic;
using diag::Kind;
using ir::Linkage;
using ir::Space;
using isa::TypeKind;

constexpr unsigned kVectorBits = 128;

std::string_view text_of(Space space) {
  switch (space) {
    case Space::Register:
      return ".reg";
    case Space::Const:
      return ".const";
    case Space::Global:
      return ".global";
    case Space::Local:
      return ".local";
    case Space::Param:
      return ".param";
    case Space::Shared:
      return ".shared";
  }
  return "";
}

std::string type_text(isa::Type type) { return "." + std::string(isa::info(type).name); }

bool is_opaque(const ir::Variable& variable) {
  return isa::info(variable.type).kind == TypeKind::Opaque;
}

class VariableCheck {
 public:
  VariableCheck(Findings& findings, const ir::Variable& variable, Level level)
      : findings_(findings), variable_(variable), level_(level) {}

  void run() {
    place();
    linkage();
    size();
    initial_values();
    if (!is_opaque(variable_)) check_type(findings_, variable_);
  }

 private:
  void place() {
    const std::string space(text_of(variable_.space));
    if (is_opaque(variable_)) {
      opaque_place();
    } else if (level_ == Level::Module &&
               (variable_.space == Space::Local || variable_.space == Space::Param)) {
      misplaced(space, "at module level");
    }
    if (variable_.attributes.managed && variable_.space != Space::Global) {
      add({Kind::MisplacedDirective,
           {".attribute(.managed)", "only .global variables can be managed"}},
          "variables-variable-and-function-attribute-directive-attribute");
    }
  }

  void opaque_place() {
    const std::string type = type_text(variable_.type);
    if (level_ == Level::Body) {
      misplaced(type, "in a function");
    } else if (variable_.space != Space::Global) {
      misplaced(type, "in " + std::string(text_of(variable_.space)));
    } else if (isa::info(variable_.type).name == "samplerref" &&
               texture_mode(findings_.module()) != isa::TextureMode::Independent) {
      misplaced(type, "without texmode_independent after the target");
    }
  }

  void misplaced(std::string what, std::string where) {
    add({Kind::VariablePlace, {std::move(what), std::move(where)}}, "state-spaces");
  }

  void linkage() {
    if (variable_.linkage == Linkage::Common && variable_.space != Space::Global) {
      add({Kind::LinkageRule, {name(), ".common is for .global variables"}},
          "linking-directives-common");
    }
    if (variable_.linkage == Linkage::Extern && !variable_.initializer.empty()) {
      add({Kind::LinkageRule, {name(), "an .extern variable has its initial value elsewhere"}},
          "linking-directives-extern");
    }
  }

  void size() {
    const bool has_values = !variable_.initializer.empty();
    if (variable_.count == 0U && variable_.linkage != Linkage::Extern && !has_values) {
      add({Kind::IncompleteVariable, {name()}}, "variables-array-declarations");
    }
  }

  void initial_values() {
    if (variable_.initializer.empty()) return;
    if (variable_.space != Space::Global && variable_.space != Space::Const) {
      add({Kind::InitializerSpace, {name(), std::string(text_of(variable_.space))}},
          "variables-initializers");
      return;
    }
    for (const ir::InitialValue& value : variable_.initializer) {
      if (value.is_address() && !address(value)) return;
    }
  }

  /// An address is a .u64 or .u32, or byte by byte a .u8; it is that of a function or of a variable
  /// in .global or .const.
  bool address(const ir::InitialValue& value) {
    const std::string_view type = isa::info(variable_.type).name;
    const bool fits = value.byte != 0 ? type == "u8" : type == "u64" || type == "u32";
    if (!fits) {
      return bad_address("an address can be the value of a .u64 or .u32, not of a ." +
                         std::string(type));
    }
    const ir::Variable* target = findings_.variables.find(value.symbol);
    if (target != nullptr && target->space != Space::Global && target->space != Space::Const) {
      return bad_address("'" + findings_.name(value.symbol) + "' is in " +
                         std::string(text_of(target->space)) +
                         ", only addresses in .global and .const are known");
    }
    return true;
  }

  bool bad_address(std::string why) {
    add({Kind::Initializer, {name(), std::move(why)}}, "variables-initializers");
    return false;
  }

  std::string name() const { return findings_.name(variable_.name); }
  void add(Diagnostic diagnostic, std::string_view anchor) {
    findings_.add(std::move(diagnostic).at(variable_.loc).see(anchor));
  }

  Findings& findings_;
  const ir::Variable& variable_;
  Level level_;
};

}  // namespace

void check_variable(Findings& findings, const ir::Variable& variable, Level level) {
  VariableCheck(findings, variable, level).run();
}

void check_type(Findings& findings, const ir::Variable& variable) {
  const isa::TypeInfo& type = isa::info(variable.type);
  std::string wrong;
  // Instruction types such as .bf16 live in variables of their width.
  if (!type.is_register && type.kind != TypeKind::Opaque) {
    findings.add(Diagnostic(Kind::UnknownType, {type_text(variable.type), "a variable"})
                     .at(variable.loc)
                     .see("fundamental-types"));
    return;
  }
  if (variable.space == Space::Param) {
    if (variable.vector != 0) {
      wrong = ".v" + std::to_string(variable.vector) + " " + type_text(variable.type);
    } else if (type.name == "f16x2") {
      wrong = type_text(variable.type);
    }
  }
  if (!wrong.empty()) {
    findings.add(Diagnostic(Kind::UnknownType, {wrong, "a .param variable"})
                     .at(variable.loc)
                     .see("parameter-state-space"));
    return;
  }
  const unsigned bits = unsigned{type.bits} * variable.vector;
  if (bits > kVectorBits) {
    findings.add(
        Diagnostic(Kind::VectorTooWide, {findings.name(variable.name), std::to_string(bits)})
            .at(variable.loc)
            .see("variables-vectors"));
  }
}

void check_register(Findings& findings, ir::Symbol name, isa::Type type, std::uint8_t vector,
                    diag::Loc loc) {
  if (vector == 0) return;
  const unsigned bits = unsigned{isa::info(type).bits} * vector;
  if (isa::info(type).kind == TypeKind::Predicate) {
    findings.add(Diagnostic(Kind::UnknownType, {".pred", "a vector register"})
                     .at(loc)
                     .see("register-state-space"));
  } else if (bits > kVectorBits) {
    findings.add(Diagnostic(Kind::VectorTooWide, {findings.name(name), std::to_string(bits)})
                     .at(loc)
                     .see("variables-vectors"));
  }
}

}  // namespace pyptx::verify
