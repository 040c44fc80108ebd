// SPDX-License-Identifier: Apache-2.0
//
// Reads lines "sm_90a 9.4 @%p1 ld.global.f32 %f1, [%rd1+4]" and prints "ok" or the diagnostic's
// code and message for each. Not a PTX parser: it knows the example vocabulary only, where a
// register's name says its type (%r b32, %rd b64, %f f32, ...) and smem, gmem, cmem, lmem and
// param0 are declared.
#include <array>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "pyptx/ir/module.h"
#include "pyptx/verify/instruction.h"

namespace {

using pyptx::ir::Operand;
using pyptx::ir::OperandKind;
using pyptx::isa::Type;

constexpr std::array<std::pair<std::string_view, Type>, 18> kPrefixes{{{"rb", Type::B8},
                                                                       {"rs", Type::B16},
                                                                       {"r", Type::B32},
                                                                       {"rd", Type::B64},
                                                                       {"rq", Type::B128},
                                                                       {"h", Type::F16},
                                                                       {"hh", Type::F16x2},
                                                                       {"f", Type::F32},
                                                                       {"fd", Type::F64},
                                                                       {"p", Type::Pred},
                                                                       {"ub", Type::U8},
                                                                       {"us", Type::U16},
                                                                       {"u", Type::U32},
                                                                       {"ud", Type::U64},
                                                                       {"sb", Type::S8},
                                                                       {"ss", Type::S16},
                                                                       {"s", Type::S32},
                                                                       {"sd", Type::S64}}};

class Reader {
 public:
  Reader(pyptx::ir::Module& module, pyptx::ir::Function& function, std::string text)
      : module_(module), function_(function), text_(std::move(text)) {}

  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool at_end() {
    skip_blanks();
    return at_ >= text_.size();
  }
  std::string word() {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
            std::string_view("_%.:$").find(text_[at_]) != std::string::npos)) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  std::optional<pyptx::ir::RegisterId> register_named(const std::string& name) {
    const std::size_t digits = name.find_first_of("0123456789");
    if (name.size() < 3 || name[0] != '%' || digits == std::string::npos) return std::nullopt;
    for (const auto& [prefix, type] : kPrefixes) {
      if (name.substr(1, digits - 1) != prefix) continue;
      const auto symbol = module_.symbols.intern(name);
      for (std::uint32_t i = 0; i < function_.registers.size(); ++i) {
        if (function_.registers[i].name == symbol) return pyptx::ir::RegisterId{i};
      }
      return function_.add_named(symbol, type);
    }
    return std::nullopt;
  }

  Operand operand() {
    const Operand first = single();
    if (!take('|')) return first;
    const std::array<Operand, 2> halves{first, single()};
    return function_.composite(OperandKind::Pipe, halves);
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::vector<Operand> list(char close) {
    std::vector<Operand> items;
    while (!take(close)) {
      items.push_back(operand());
      take(',');
    }
    return items;
  }
  std::int64_t integer() {
    const bool is_negative = take('-');
    const std::string digits = word();
    const auto value = static_cast<std::int64_t>(std::strtoull(digits.c_str(), nullptr, 0));
    return is_negative ? -value : value;
  }
  Operand address() {
    std::vector<Operand> parts{single()};
    const std::int64_t offset = take('+') ? integer() : 0;
    if (take(',')) {
      const std::vector<Operand> rest = list(']');
      parts.insert(parts.end(), rest.begin(), rest.end());
    } else {
      take(']');
    }
    return function_.composite(OperandKind::Address, parts, offset);
  }
  Operand named(const std::string& name) {
    if (name == "_") return Operand::sink();
    if (name == "L0") return Operand::label(pyptx::ir::LabelId{0});
    if (const auto id = register_named(name)) return Operand::reg(*id);
    if (name[0] == '%') {
      const std::size_t dot = name.find('.');
      const auto special = pyptx::isa::find_special_register(name.substr(0, dot));
      std::uint8_t component = 0;
      if (dot != std::string::npos) component = static_cast<std::uint8_t>(name.back() - 'x' + 1);
      if (special) return Operand::special(*special, component);
    }
    return Operand::symbol(module_.symbols.intern(name));
  }
  Operand single() {
    if (take('[')) return address();
    if (take('{')) return function_.composite(OperandKind::Vector, list('}'));
    if (take('(')) return function_.composite(OperandKind::Parenthesized, list(')'));
    if (take('!')) return Operand::not_reg(register_named(word()).value());
    skip_blanks();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (text_.compare(at_, 2, "0f") == 0) {
      word();
      return Operand::f32(1.0F);
    }
    if (text_.compare(at_, 2, "0d") == 0) {
      word();
      return Operand::f64(1.0);
    }
    if (c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0) {
      return Operand::integer(integer());
    }
    const std::string name = word();
    if (name.empty()) {
      std::cerr << "cannot read '" << text_ << "'\n";
      std::exit(2);
    }
    return named(name);
  }

  pyptx::ir::Module& module_;
  pyptx::ir::Function& function_;
  std::string text_;
  std::size_t at_ = 0;
};

void declare(pyptx::ir::Module& module, std::vector<pyptx::ir::Variable>& list,
             std::string_view name, pyptx::ir::Space space) {
  pyptx::ir::Variable variable;
  variable.name = module.symbols.intern(name);
  variable.space = space;
  variable.type = Type::B8;
  list.push_back(variable);
}

std::string judge(const std::string& target, const std::string& version, std::string text) {
  pyptx::ir::Module module;
  module.target = pyptx::isa::Target::parse(target).value();
  module.version = {static_cast<std::uint8_t>(version[0] - '0'),
                    static_cast<std::uint8_t>(version[2] - '0')};
  module.functions.push_back(std::make_unique<pyptx::ir::Function>());
  pyptx::ir::Function& function = *module.functions.back();
  function.add_label(module.symbols.intern("L0"));
  declare(module, module.variables, "gmem", pyptx::ir::Space::Global);
  declare(module, module.variables, "cmem", pyptx::ir::Space::Const);
  declare(module, function.variables, "smem", pyptx::ir::Space::Shared);
  declare(module, function.variables, "lmem", pyptx::ir::Space::Local);
  declare(module, function.parameters, "param0", pyptx::ir::Space::Param);

  Reader reader(module, function, std::move(text));
  std::optional<pyptx::ir::RegisterId> guard;
  const bool is_guarded = reader.take('@');
  const bool is_negated = is_guarded && reader.take('!');
  if (is_guarded) guard = reader.register_named(reader.word());
  auto spelling = pyptx::isa::spell(reader.word());
  if (!spelling) return std::string(spelling.error().code()) + " " + spelling.error().message();
  std::vector<Operand> operands;
  while (!reader.at_end()) {
    operands.push_back(reader.operand());
    reader.take(',');
  }
  auto& instruction = function.append(*spelling, operands, pyptx::diag::Loc::None);
  instruction.guard = guard;
  instruction.guard_negated = is_negated;
  pyptx::verify::InstructionJudge verifier;
  const auto status = verifier.judge(module, function, instruction);
  if (status) return "ok";
  return std::string(status.error().code()) + " " + status.error().message();
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string target;
    std::string version;
    words >> target >> version;
    std::string text;
    std::getline(words, text);
    std::cout << judge(target, version, text) << '\n';
  }
  return 0;
}
