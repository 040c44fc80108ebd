// SPDX-License-Identifier: Apache-2.0
//
// What an analysis of a function says of its parts, for Python: registers by their names, blocks by
// their number.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/part.h"
#include "pyptx/analysis/control_flow.h"
#include "pyptx/analysis/liveness.h"

namespace pyptx::python {

/// Worked out once for all blocks of a function.
struct FunctionGraph {
  FunctionGraph(const ir::Module& module, const ir::Function& function)
      : flow(function), accesses(module, function), liveness(accesses, flow) {}

  analysis::ControlFlow flow;
  analysis::Accesses accesses;
  analysis::Liveness liveness;
};

struct BlockPart {
  DocumentPtr document;
  const ir::Function* function = nullptr;
  std::shared_ptr<const FunctionGraph> graph;
  analysis::BlockId id{};

  const analysis::Block& block() const { return graph->flow.at(id); }
  std::vector<InstructionPart> instructions() const;
  /// Names of the registers that may be read before they are written from here on.
  std::vector<std::string> live() const;
  std::optional<std::size_t> dominator() const;
};

std::vector<BlockPart> blocks_of(const FunctionPart& part);

enum class Wanted : bool { Read, Written };
/// The registers that an instruction reads or writes, each once; none where it is not resolved.
std::optional<std::vector<std::string>> registers_of(const InstructionPart& part, Wanted wanted);
std::string_view effect_of(const InstructionPart& part);

}  // namespace pyptx::python
