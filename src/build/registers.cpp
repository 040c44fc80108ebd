// SPDX-License-Identifier: Apache-2.0
//
// Registers and names. A register is declared by width and pooled under the prefix that readers of
// PTX expect (%r for 32 bits, %rd for 64, %f for f32, ...); the author's type stays beside it.
// PTX ISA, "Register State Space" and "Parameterized Variable Names".
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/build/tracer.h"
#include "pyptx/ir/name.h"

namespace pyptx::build {
namespace {

struct PoolOf {
  std::string_view prefix;
  isa::Type declared;
};

PoolOf pool_of(isa::Type type) {
  const isa::TypeInfo& facts = isa::info(type);
  if (facts.kind == isa::TypeKind::Predicate) return {"%p", isa::Type::Pred};
  if (type == isa::Type::F32) return {"%f", isa::Type::F32};
  if (type == isa::Type::F64) return {"%fd", isa::Type::F64};
  if (type == isa::Type::F16) return {"%h", isa::Type::B16};
  if (type == isa::Type::F16x2 || type == isa::Type::Bf16x2) return {"%hh", isa::Type::B32};
  if (facts.bits <= 16) return {"%rs", isa::Type::B16};
  if (facts.bits <= 32) return {"%r", isa::Type::B32};
  if (facts.bits <= 64) return {"%rd", isa::Type::B64};
  return {"%rq", isa::Type::B128};
}

/// What a named register of `type` is declared as: 8-bit values live in 16-bit registers.
isa::Type declared_for(isa::Type type) {
  const isa::TypeInfo& facts = isa::info(type);
  return facts.bits < 16 && type != isa::Type::Pred ? isa::Type::B16 : facts.storage;
}

/// Whether `name` is what a pool would call one of its registers, made or yet to be made.
bool is_pooled_name(const ir::Module& module, const ir::Function& function, std::string_view name) {
  const auto digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size()) return false;
  const std::string_view prefix = name.substr(0, digits);
  constexpr std::string_view kPrefixes[] = {"%p", "%rs", "%r", "%rd", "%rq",
                                            "%h", "%hh", "%f", "%fd"};
  return std::ranges::find(kPrefixes, prefix) != std::end(kPrefixes) ||
         std::ranges::any_of(function.pools, [&](const ir::RegisterPool& pool) {
           return module.text(pool.prefix) == prefix;
         });
}

/// Whether `text` has `name` as a whole word.
bool mentions(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const auto end = at + name.size();
    if (end == text.size() || (std::isalnum(static_cast<unsigned char>(text[end])) == 0 &&
                               text[end] != '_' && text[end] != '$')) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string Tracer::unique_name(std::string_view wanted) {
  if (!ir::is_identifier(wanted)) {
    report({diag::Kind::BadName, {std::string(wanted)}});
    return {};
  }
  std::string name(wanted);
  auto [entry, is_new] = names_.try_emplace(name, 0);
  if (is_new) return name;
  std::uint32_t& number = entry->second;  // references survive a rehash
  do {
    name = std::string(wanted) + "_" + std::to_string(++number);
  } while (!names_.try_emplace(name, 0).second);
  return name;
}

Reg Tracer::made(ir::RegisterId id, isa::Type type) {
  newest_register_made_at_ = function_->instructions.size();
  return {id, type, tag_};
}

Reg Tracer::reg(isa::Type type, std::string_view name) {
  const bool is_taken =
      is_pooled_name(*module_, *function_, name) || isa::find_special_register(name).has_value();
  if (!name.empty() && !is_taken) {
    const std::string taken = unique_name(name);
    if (taken.empty()) return {};
    // Its author may use it after the scope it was made in.
    const bool is_scoped = std::ranges::any_of(
        constructs_, [](const Construct& construct) { return construct.what == "scope"; });
    const auto add = [&] { return function_->add_named(module_->symbols.intern(taken), type); };
    const ir::RegisterId id = is_scoped ? in_prologue(add) : add();
    function_->registers.back().declared = declared_for(type);
    return made(id, type);
  }
  if (!name.empty()) report({diag::Kind::NameTaken, {std::string(name)}});
  const PoolOf pool = pool_of(type);
  return made(function_->add_pooled(module_->symbols, pool.prefix, type, pool.declared), type);
}

std::vector<Reg> Tracer::reg_array(isa::Type type, std::size_t count, std::string_view name) {
  std::vector<Reg> registers;
  registers.reserve(count);
  if (name.empty()) {
    for (std::size_t i = 0; i < count; ++i) registers.push_back(reg(type));
    keep_newest();
    return registers;
  }
  std::string prefix = unique_name(name);
  if (prefix.empty()) return registers;
  // acc1 + "0" and acc + "10" would meet: a prefix that ends in a digit gets an underscore.
  if (std::isdigit(static_cast<unsigned char>(prefix.back())) != 0)
    prefix = unique_name(prefix + "_");
  const isa::Type declared = declared_for(type);
  for (std::size_t i = 0; i < count; ++i) {
    registers.push_back(
        made(function_->add_pooled(module_->symbols, prefix, type, declared), type));
  }
  keep_newest();
  return registers;
}

bool Tracer::is_in_raw_text(std::string_view name) const {
  return std::ranges::any_of(function_->body, [&](const ir::Statement& s) {
    return s.kind == ir::StatementKind::Raw &&
           mentions(module_->text(static_cast<ir::Symbol>(s.index)), name);
  });
}

Reg Tracer::reg_by_name(isa::Type type, std::string_view name) {
  if (const auto known = function_->find_register(module_->symbols, name)) {
    keep_newest();
    return {*known, type, tag_};
  }
  if (!is_in_raw_text(name)) {
    const Reg named = reg(type, name);
    // Asked for by type and name, an 8-bit register is one: .reg .b8 name;
    const bool is_byte = isa::info(type).is_register && isa::info(type).bits == 8;
    if (is_byte && !has_error()) function_->registers.back().declared = type;
    return named;
  }
  const std::string taken = unique_name(name);
  if (taken.empty()) return {};
  function_->registers.push_back(
      {module_->symbols.intern(taken), type, isa::info(type).storage, false});
  return made(static_cast<ir::RegisterId>(function_->registers.size() - 1), type);
}

}  // namespace pyptx::build
