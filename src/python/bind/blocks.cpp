// SPDX-License-Identifier: Apache-2.0
//
// Basic blocks in Python, and what instructions read and write.
#include "bind/blocks.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace pyptx::python {
namespace {

using Names = Many<std::string>;

std::optional<Names> names(const InstructionPart& part, Wanted wanted) {
  const auto found = registers_of(part, wanted);
  if (!found) return std::nullopt;
  return many<std::string>(*found);
}

Many<std::size_t> numbers(const std::vector<analysis::BlockId>& blocks) {
  std::vector<std::size_t> all;
  all.reserve(blocks.size());
  for (const analysis::BlockId id : blocks) all.push_back(static_cast<std::size_t>(id));
  return many<std::size_t>(all);
}

std::string block_repr(const BlockPart& part) {
  return "<Block " + std::to_string(static_cast<std::size_t>(part.id)) + ": " +
         std::to_string(part.instructions().size()) + " instructions>";
}

}  // namespace

void bind_blocks(nb::module_& m, nb::class_<InstructionPart, Part>& instruction,
                 nb::class_<FunctionPart, Part>& function) {
  nb::class_<BlockPart>(m, "Block",
                        "Instructions that run one after the other. A call is one of them, since\n"
                        "execution comes back.")
      .def_prop_ro(
          "number", [](const BlockPart& p) { return static_cast<std::size_t>(p.id); },
          "Its place in `Function.blocks`.")
      .def_prop_ro("instructions",
                   [](const BlockPart& p) { return many<InstructionPart>(p.instructions()); })
      .def_prop_ro(
          "successors", [](const BlockPart& p) { return numbers(p.block().successors); },
          "Numbers of the blocks that may run next.")
      .def_prop_ro("predecessors",
                   [](const BlockPart& p) { return numbers(p.block().predecessors); })
      .def_prop_ro(
          "leaves", [](const BlockPart& p) { return p.block().leaves; },
          "Whether the function may end behind it.")
      .def_prop_ro("is_reachable",
                   [](const BlockPart& p) { return p.graph->flow.is_reachable(p.id); })
      .def_prop_ro("dominator", &BlockPart::dominator,
                   "The number of the last block that every way here goes through; None for the\n"
                   "first block, and where nothing comes.")
      .def_prop_ro(
          "live", [](const BlockPart& p) { return many<std::string>(p.live()); },
          "Names of the registers that may be read from here on, before they are written.")
      .def("__repr__", &block_repr);
  instruction
      .def_prop_ro(
          "reads", [](const InstructionPart& p) { return names(p, Wanted::Read); },
          "Names of the registers it reads, those of addresses and the guard among them;\n"
          "None where it is not resolved.")
      .def_prop_ro(
          "writes", [](const InstructionPart& p) { return names(p, Wanted::Written); },
          "Names of the registers it writes; None where it is not resolved.")
      .def_prop_ro(
          "effect", [](const InstructionPart& p) { return std::string(effect_of(p)); },
          "What it does besides giving its results: none, reads (memory), or acts.");
  function
      .def_prop_ro(
          "blocks", [](const FunctionPart& p) { return many<BlockPart>(blocks_of(p)); },
          "The control-flow graph, in the order of the text.")
      .def_prop_ro(
          "has_all_edges",
          [](const FunctionPart& p) { return analysis::ControlFlow(*p.function).is_complete(); },
          "False where something in it was not read or resolved, or branches nobody knows\n"
          "where to: the graph may lack edges, and every register counts as live.");
}

}  // namespace pyptx::python
