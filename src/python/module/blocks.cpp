// SPDX-License-Identifier: Apache-2.0
#include "module/blocks.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "pyptx/analysis/operands.h"

namespace pyptx::python {

std::vector<InstructionPart> BlockPart::instructions() const {
  std::vector<InstructionPart> all;
  for (std::uint32_t i = block().first; i < block().last; ++i) {
    const ir::Statement& statement = function->body[i];
    if (is_instruction(statement)) {
      all.push_back(instruction_part(document, *function, statement));
    }
  }
  return all;
}

std::vector<std::string> BlockPart::live() const {
  const analysis::RegisterSet& set = graph->liveness.live_in(id);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < function->registers.size(); ++i) {
    if (set.contains(ir::RegisterId{i})) {
      names.push_back(document->module().name(function->registers[i]));
    }
  }
  return names;
}

std::optional<std::size_t> BlockPart::dominator() const {
  const analysis::BlockId found = graph->flow.dominator(id);
  if (found == analysis::kNoBlock) return std::nullopt;
  return static_cast<std::size_t>(found);
}

std::vector<BlockPart> blocks_of(const FunctionPart& part) {
  const auto graph = std::make_shared<const FunctionGraph>(part.document->module(), *part.function);
  std::vector<BlockPart> all;
  for (std::size_t i = 0; i < graph->flow.blocks().size(); ++i) {
    all.push_back({part.document, part.function, graph, static_cast<analysis::BlockId>(i)});
  }
  return all;
}

std::optional<std::vector<std::string>> registers_of(const InstructionPart& part, Wanted wanted) {
  if (part.resolved == nullptr) return std::nullopt;
  const ir::Module& module = part.document->module();
  std::vector<std::string> names;
  for (const auto& use : analysis::registers_of(module, *part.function, *part.resolved)) {
    if (!(wanted == Wanted::Read ? use.reads() : use.writes())) continue;
    std::string name = module.name(part.function->at(use.operand.register_id()));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::string_view effect_of(const InstructionPart& part) {
  if (part.resolved == nullptr) return "acts";
  switch (analysis::effect_of(part.document->module(), *part.function, *part.resolved)) {
    case isa::Effect::None:
      return "none";
    case isa::Effect::Reads:
      return "reads";
    case isa::Effect::Acts:
      return "acts";
  }
  return "acts";
}

}  // namespace pyptx::python
