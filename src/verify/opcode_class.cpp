// SPDX-License-Identifier: Apache-2.0
#include "opcode_class.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/isa/spelling.h"

namespace pyptx::verify {
namespace {

constexpr auto kClasses = std::to_array<std::pair<std::string_view, OpcodeClass>>({
    {"bra", OpcodeClass::Branch},
    {"brx", OpcodeClass::TableBranch},
    {"brx.idx", OpcodeClass::TableBranch},
    {"call", OpcodeClass::Call},
    {"ret", OpcodeClass::Return},
    {"exit", OpcodeClass::Return},
    {"ld", OpcodeClass::Load},
    {"st", OpcodeClass::Store},
    {"mov", OpcodeClass::Move},
});

std::vector<OpcodeClass> make_table() {
  std::vector<OpcodeClass> table;
  for (const auto& [text, opcode_class] : kClasses) {
    const auto opcode = isa::find_opcode(text);
    if (!opcode) continue;
    const auto index = static_cast<std::size_t>(*opcode);
    if (index >= table.size()) table.resize(index + 1, OpcodeClass::Other);
    table[index] = opcode_class;
  }
  return table;
}

}  // namespace

OpcodeClass class_of(isa::Opcode opcode) {
  static const std::vector<OpcodeClass> table = make_table();
  const auto index = static_cast<std::size_t>(opcode);
  return index < table.size() ? table[index] : OpcodeClass::Other;
}

}  // namespace pyptx::verify
