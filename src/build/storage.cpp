// SPDX-License-Identifier: Apache-2.0
//
// Parameters, variables, shared memory blocks and tensor-map slots. Where shared memory ends up is
// not known before the last allocation, so blocks are named symbols until finish() decides.
// PTX ISA, "Kernel Function Parameters", "Shared State Space".
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/build/memory.h"
#include "pyptx/build/tracer.h"
#include "pyptx/isa/directive.h"
#include "pyptx/isa/limits.h"
#include "pyptx/support/concat.h"

namespace pyptx::build {
namespace {

using support::concat;

constexpr std::uint32_t kDynamicAlign = 128;
constexpr std::uint32_t kMapBytes = 128;
constexpr std::uint32_t kMapAlign = 64;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

/// Why a directive with so many values cannot stand at an entry of that target; or nothing.
std::optional<diag::Diagnostic> directive_problem(const isa::Target& target, std::string_view name,
                                                  std::size_t count) {
  constexpr auto kPlace = isa::DirectivePlace::Entry;
  const std::string dotted = concat(".", name);
  const isa::DirectiveInfo* info = isa::find_directive(name, kPlace);
  if (info == nullptr) {
    std::vector<std::string> known;
    for (const isa::DirectiveInfo& other : isa::all_directives()) {
      if (isa::has(other.places, kPlace)) known.push_back(concat(".", other.name));
    }
    return diag::Diagnostic(diag::Kind::UnknownDirective, {dotted}).suggest(dotted, known);
  }
  if (!info->needs.admits(target)) {
    diag::Diagnostic problem(diag::Kind::TargetTooLow,
                             {dotted, info->needs.targets_text(), target.text()});
    problem->needed = {info->needs.version.text(), info->needs.targets_text()};
    problem->present = {"", target.text()};
    return std::move(problem).see(info->manual);
  }
  const bool has_numbers = info->arguments == isa::DirectiveArguments::Integers;
  if (has_numbers && count >= info->minimum && count <= info->maximum) return std::nullopt;
  if (info->arguments == isa::DirectiveArguments::None && count == 0) return std::nullopt;
  std::string wanted = "given no values";
  if (has_numbers) {
    wanted = concat("given ", int{info->minimum});
    if (info->minimum != info->maximum) wanted += concat(" to ", int{info->maximum});
    wanted += " values";
  } else if (info->arguments != isa::DirectiveArguments::None) {
    wanted = "written with ptx.pragma or in ptx.raw";
  }
  return diag::Diagnostic(diag::Kind::DirectiveValue, {dotted, wanted, std::to_string(count)})
      .see(info->manual);
}

}  // namespace

void Tracer::add_parameter(std::string_view name, isa::Type type) {
  ir::Variable parameter;
  parameter.name = module_->symbols.intern(unique_name(name));
  parameter.space = ir::Space::Param;
  parameter.type = type;
  parameter.loc = loc_;
  function_->parameters.push_back(std::move(parameter));
}

void Tracer::add_map_parameter(std::string_view name) {
  add_parameter(name, isa::Type::B8);
  ir::Variable& parameter = function_->parameters.back();
  parameter.align = kMapAlign;
  parameter.count = kMapBytes;
}

void Tracer::add_directive(std::string_view name, std::span<const std::int64_t> values) {
  if (auto problem = directive_problem(options_.target, name, values.size())) {
    report(std::move(*problem));
    return;
  }
  ir::Directive directive;
  directive.name = module_->symbols.intern(name);
  directive.values.assign(values.begin(), values.end());
  function_->directives.push_back(std::move(directive));
}

ir::Operand Tracer::add_variable(ir::Variable variable, std::string_view name) {
  variable.name = module_->symbols.intern(unique_name(name));
  variable.loc = loc_;
  const ir::Operand address = ir::Operand::symbol(variable.name);
  const bool is_module_wide = variable.space == ir::Space::Const ||
                              variable.space == ir::Space::Global ||
                              variable.linkage != ir::Linkage::None;
  if (is_module_wide) {
    module_->variables.push_back(std::move(variable));
  } else {
    function_->body.push_back(
        {ir::StatementKind::Variable, static_cast<std::uint32_t>(function_->variables.size())});
    function_->variables.push_back(std::move(variable));
  }
  return address;
}

ir::Operand Tracer::text_constant(std::string_view text) {
  const auto known = text_constants_.find(std::string(text));
  if (known != text_constants_.end()) return known->second;
  ir::Variable constant;
  constant.space = ir::Space::Global;
  constant.type = isa::Type::B8;
  constant.align = 1;
  constant.count = text.size() + 1;
  constant.initializer.push_back({ir::InitialValue::Kind::Open, 0, {}, 0});
  for (const char c : text) {
    constant.initializer.push_back(ir::InitialValue::bits(static_cast<unsigned char>(c)));
  }
  constant.initializer.push_back(ir::InitialValue::bits(0));
  constant.initializer.push_back({ir::InitialValue::Kind::Close, 0, {}, 0});
  const ir::Operand address = add_variable(std::move(constant), "$str");
  text_constants_.emplace(text, address);
  return address;
}

ir::Operand Tracer::local_scratch(std::uint64_t bytes) {
  if (!local_scratch_) {
    ir::Variable buffer;
    buffer.space = ir::Space::Local;
    buffer.type = isa::Type::B8;
    buffer.align = 8;
    buffer.count = 0;
    local_scratch_ = function_->variables.size();
    in_prologue([&] { add_variable(std::move(buffer), "$scratch"); });
  }
  ir::Variable& buffer = function_->variables[*local_scratch_];
  buffer.count = std::max(*buffer.count, bytes);
  return ir::Operand::symbol(buffer.name);
}

ir::Operand Tracer::declare_function(std::string_view name, std::span<const isa::Type> results,
                                     std::span<const isa::Type> parameters) {
  const ir::Symbol symbol = module_->symbols.intern(name);
  const auto is_it = [&](const auto& known) { return known->name == symbol; };
  if (std::ranges::any_of(module_->functions, is_it)) return ir::Operand::symbol(symbol);
  if (unique_name(name) != name) {
    report({diag::Kind::NameTaken, {std::string(name)}});
    return {};
  }
  const auto list = [&](std::span<const isa::Type> types, std::string_view stem) {
    std::vector<ir::Variable> variables;
    for (std::size_t i = 0; i < types.size(); ++i) {
      ir::Variable variable;
      variable.name =
          module_->symbols.intern(std::string(name) + std::string(stem) + std::to_string(i));
      variable.space = ir::Space::Param;
      variable.type = types[i];
      variables.push_back(std::move(variable));
    }
    return variables;
  };
  auto function = std::make_unique<ir::Function>();
  function->name = symbol;
  function->is_entry = false;
  function->is_declaration = true;
  function->linkage = ir::Linkage::Extern;
  function->returns = list(results, "_result_");
  function->parameters = list(parameters, "_param_");
  module_->functions.insert(module_->functions.begin(), std::move(function));
  return ir::Operand::symbol(symbol);
}

std::size_t Tracer::allocate_shared(std::uint64_t bytes, std::uint32_t align,
                                    std::string_view name) {
  const std::string taken = unique_name(name.empty() ? "smem" : name);
  std::uint64_t end = 0;
  if (!shared_.empty()) end = shared_.back().offset + shared_.back().bytes;
  shared_.push_back({taken, bytes, std::max(align, 1U), round_up(end, std::max(align, 1U))});
  shared_addresses_.emplace_back();
  return shared_.size() - 1;
}

ir::Operand Tracer::shared_symbol(std::size_t index, std::int64_t offset) {
  return symbol(shared_[index].name, offset);
}

Reg Tracer::shared_address(std::size_t index) {
  if (!shared_addresses_[index]) {
    shared_addresses_[index] = in_prologue([&] {
      const Reg address = reg(isa::Type::U32);
      emit("mov.u32", {address, shared_symbol(index)});
      return address;
    });
  }
  return *shared_addresses_[index];
}

void Tracer::show(ir::ShownTile tile, std::optional<std::size_t> block) {
  for (const ir::Statement& statement : function_->body) {
    tile.before += statement.kind == ir::StatementKind::Instruction ? 1 : 0;
  }
  if (block) tile.variable = module_->symbols.intern(shared_[*block].name);
  tile.loc = loc_;
  function_->shown.push_back(std::move(tile));
}

Reg Tracer::launch_value(isa::Type type, std::string_view parameter) {
  const auto known =
      std::ranges::find(launch_values_, parameter, &std::pair<std::string, Reg>::first);
  if (known != launch_values_.end()) return known->second;
  const Reg value = in_prologue([&] { return build::param(*this, type, parameter, std::nullopt); });
  launch_values_.emplace_back(parameter, value);
  return value;
}

Reg Tracer::tensor_pointer(std::string_view tensor) {
  const auto known =
      std::ranges::find(tensor_pointers_, tensor, &std::pair<std::string, Reg>::first);
  if (known != tensor_pointers_.end()) return known->second;
  const Reg pointer = in_prologue([&] { return global_pointer(*this, tensor); });
  keep_newest();
  tensor_pointers_.emplace_back(tensor, pointer);
  return pointer;
}

void Tracer::describe_bytes(std::string_view tensor, std::uint64_t bytes) {
  if (bytes > std::uint64_t{1} << 31) large_tensors_.emplace_back(tensor, bytes);
}

void Tracer::note_pointer(Reg pointer, std::string_view tensor) {
  for (std::size_t i = 0; i < large_tensors_.size(); ++i) {
    if (large_tensors_[i].first == tensor) large_pointers_.emplace_back(pointer.id, i);
  }
}

void Tracer::check_offset(Reg pointer, Reg offset) {
  if (error_ || pointer.owner != tag_) return;
  const auto found = std::ranges::find(large_pointers_, pointer.id,
                                       &std::pair<ir::RegisterId, std::size_t>::first);
  if (found == large_pointers_.end()) return;
  const auto& [name, bytes] = large_tensors_[found->second];
  const bool is_signed = isa::info(offset.type).kind == isa::TypeKind::Signed;
  const std::uint64_t reach = std::uint64_t{1}
                              << (isa::info(offset.type).bits - (is_signed ? 1 : 0));
  if (bytes <= reach) return;
  const diag::Loc here = caller_.value_or(loc_);
  if (std::ranges::find(lints_, here, &diag::Diagnostic::loc) != lints_.end()) return;
  lints_.push_back(diag::Diagnostic(diag::Kind::NarrowOffset,
                                    {std::to_string(reach), std::to_string(bytes), name})
                       .at(here)
                       .note("ptx.at(" + name + ", i, ...) and " + name +
                             ".ptr(i, ...) count in 64 bits; by hand: px + reg.from_(i, u64) * 4"));
}

Reg Tracer::tensor_map(std::string_view tensor, bool by_value) {
  const auto known = std::ranges::find(map_tensors_, tensor);
  if (known != map_tensors_.end()) {
    return map_registers_[static_cast<std::size_t>(known - map_tensors_.begin())];
  }
  const std::string slot = std::string(tensor) + "_tma_desc";
  const Reg map = in_prologue([&] {
    const Reg address = reg(isa::Type::U64);
    if (by_value) {
      add_map_parameter(slot);
      emit("mov.b64", {address, symbol(slot)});
      emit("cvta.param.u64", {address, address});
    } else {
      add_parameter(slot, isa::Type::U64);
      emit("ld.param.u64", {address, this->address(symbol(slot))});
    }
    return address;
  });
  map_tensors_.emplace_back(tensor);
  map_registers_.push_back(map);
  return map;
}

void Tracer::describe_map(std::string_view tensor, const layout::TensorMap& map) {
  described_maps_.insert_or_assign(std::string(tensor), map);
}

const layout::TensorMap* Tracer::described_map(Reg map) const {
  for (std::size_t i = 0; i < map_registers_.size(); ++i) {
    if (map_registers_[i].id != map.id || map.owner != tag_) continue;
    const auto described = described_maps_.find(map_tensors_[i]);
    return described == described_maps_.end() ? nullptr : &described->second;
  }
  return nullptr;
}

void Tracer::place_shared() {
  std::uint64_t bytes = 0;
  if (!shared_.empty()) bytes = shared_.back().offset + shared_.back().bytes;
  // Of the plain target: an a target takes more, but the text is the same for every suffix.
  const std::uint64_t most = isa::limits({options_.target.sm, 0}).static_shared;
  if (options_.force_dynamic_shared || bytes > most) {
    dynamic_shared_ = bytes;
    move_shared();
    return;
  }
  std::vector<ir::Statement> declarations;
  for (const SharedBlock& block : shared_) {
    ir::Variable variable;
    variable.name = module_->symbols.intern(block.name);
    variable.space = ir::Space::Shared;
    variable.type = isa::Type::B8;
    variable.align = block.align;
    variable.count = block.bytes;
    declarations.push_back(
        {ir::StatementKind::Variable, static_cast<std::uint32_t>(function_->variables.size())});
    function_->variables.push_back(std::move(variable));
  }
  prologue_.insert(prologue_.begin(), declarations);
}

void Tracer::move_shared() {
  ir::Variable array;
  array.name = module_->symbols.intern(options_.dynamic_shared_name);
  array.space = ir::Space::Shared;
  array.linkage = ir::Linkage::Extern;
  array.type = isa::Type::B8;
  array.align = kDynamicAlign;
  array.count = 0;
  std::unordered_map<std::uint32_t, std::uint64_t> offsets;  // symbol -> place in the array
  for (const SharedBlock& block : shared_) {
    array.align = std::max(array.align, block.align);
    offsets.emplace(static_cast<std::uint32_t>(module_->symbols.intern(block.name)), block.offset);
  }
  const auto dynamic = static_cast<std::uint32_t>(array.name);
  module_->variables.push_back(std::move(array));
  const auto offset_of = [&](const ir::Operand& name) -> std::int64_t {
    const auto block = offsets.find(name.index);
    const bool is_block = name.kind == ir::OperandKind::Symbol && block != offsets.end();
    return is_block ? static_cast<std::int64_t>(block->second) : 0;
  };
  // An address carries the offset of the name in it, and several addresses may share that name:
  // all offsets first, then the names.
  std::vector<bool> is_base(function_->operands.size());
  for (ir::Operand& operand : function_->operands) {
    if (operand.kind != ir::OperandKind::Address || operand.count == 0) continue;
    operand.value += offset_of(function_->operands[operand.index]);
    is_base[operand.index] = true;
  }
  for (std::size_t i = 0; i < is_base.size(); ++i) {
    ir::Operand& name = function_->operands[i];
    if (name.kind != ir::OperandKind::Symbol || !offsets.contains(name.index)) continue;
    if (!is_base[i]) name.value += offset_of(name);
    name.index = dynamic;
  }
  for (ir::ShownTile& tile : function_->shown) {
    const auto block = offsets.find(static_cast<std::uint32_t>(tile.variable));
    if (tile.address || block == offsets.end()) continue;
    tile.offset += static_cast<std::int64_t>(block->second);
    tile.variable = static_cast<ir::Symbol>(dynamic);
  }
}

}  // namespace pyptx::build
