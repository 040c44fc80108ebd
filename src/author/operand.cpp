// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/operand.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "pyptx/author/call.h"
#include "pyptx/build/names.h"

namespace pyptx {
namespace author {
namespace {

std::vector<ir::Operand> all_resolved(build::Tracer& tracer, std::span<const Element> elements) {
  std::vector<ir::Operand> operands;
  for (const Element& element : elements) operands.push_back(resolved(tracer, element));
  return operands;
}

bool takes_label(const isa::Spelling& spelling, std::size_t index) {
  const auto& operands = spelling.candidates.front().operands;
  return index < operands.size() && isa::has(operands[index].accept, isa::Accept::Label);
}

}  // namespace

ir::Operand resolved(build::Tracer& tracer, const Operand& operand, std::uint16_t index) {
  return operand.name.empty() ? operand.operand : build::named(tracer, operand.name, index);
}

ir::Operand resolved(build::Tracer& tracer, const isa::Spelling& spelling, const Operand& operand,
                     std::uint16_t index) {
  const bool is_label = !operand.name.empty() && takes_label(spelling, index);
  return is_label ? ir::Operand::label(tracer.named_label(operand.name))
                  : resolved(tracer, operand, index);
}

ir::Operand vector(std::span<const Element> elements, const Where& where) {
  build::Tracer& tracer = at(where);
  return tracer.vector(all_resolved(tracer, elements));
}

ir::Operand vector(std::span<const build::Reg> regs, const Where& where) {
  return at(where).vector(std::vector<ir::Operand>(regs.begin(), regs.end()));
}

ir::Operand place(const build::SharedPlace& shared, const Where& where) {
  return build::memory_at(at(where), shared);
}

Spelling spell(isa::Opcode opcode, std::initializer_list<isa::Modifier> modifiers) {
  std::vector<std::string_view> words;
  for (const isa::Modifier modifier : modifiers) words.push_back(isa::text(modifier));
  return isa::spell(isa::text(opcode), words);
}

void emit(const Spelling& spelling, const Guard& guard, std::initializer_list<Operand> operands,
          const std::source_location& where) {
  build::Tracer& tracer = at_instruction(where);
  if (!spelling) return tracer.report(spelling.error());
  std::array<ir::Operand, 16> all;  // no instruction has so many
  std::uint16_t count = 0;
  for (const Operand& operand : operands) {
    all[count] = resolved(tracer, **spelling, operand, count);
    if (++count == all.size()) break;
  }
  tracer.emit(*spelling, std::span<const ir::Operand>(all.data(), count), guard);
}

Reg register_of(const Operand& operand) {
  if (!operand.name.empty() || operand.operand.kind != ir::OperandKind::Register) return {};
  build::Tracer& current = tracer();
  const auto id = operand.operand.register_id();
  if (static_cast<std::size_t>(id) >= current.function().registers.size()) return {};
  return build::Reg{id, current.type_of(id), current.tag()};
}

}  // namespace author

namespace ptx {

using author::at;

Address addr(const build::Reg& base, std::int64_t offset, author::Where where) {
  return {at(where).address(base, offset)};
}

Address addr(std::string_view variable, std::int64_t offset, author::Where where) {
  build::Tracer& tracer = at(where);
  return {tracer.address(tracer.symbol(variable), offset)};
}

Address addr(const build::SharedPlace& shared, std::int64_t offset, author::Where where) {
  return {author::place(shared.plus(offset), where)};
}

Address addr(const build::Reg& map, std::initializer_list<author::Element> coordinates,
             author::Where where) {
  build::Tracer& tracer = at(where);
  return {tracer.tensor_address(
      map, author::all_resolved(tracer, {coordinates.begin(), coordinates.size()}))};
}

Pair pipe(const author::Element& first, const author::Element& second, author::Where where) {
  build::Tracer& tracer = at(where);
  return {tracer.pipe(author::resolved(tracer, first), author::resolved(tracer, second))};
}

Parenthesized list(std::initializer_list<author::Element> elements, author::Where where) {
  build::Tracer& tracer = at(where);
  return {tracer.parenthesized(author::all_resolved(tracer, {elements.begin(), elements.size()}))};
}

}  // namespace ptx
}  // namespace pyptx
