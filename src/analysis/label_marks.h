// SPDX-License-Identifier: Apache-2.0
//
// Where the labels of a function stand, and whether they mark code or name a list of targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pyptx/ir/module.h"

namespace pyptx::analysis {

class LabelMarks {
 public:
  explicit LabelMarks(const ir::Function& function) : marks_(function.labels.size()) {
    constexpr std::uint32_t kNoLabel = UINT32_MAX;
    std::uint32_t label = kNoLabel;
    for (std::uint32_t i = 0; i < function.body.size(); ++i) {
      const ir::Statement& statement = function.body[i];
      switch (statement.kind) {
        case ir::StatementKind::Label:
          label = statement.index;
          marks_[label].statement = i;
          continue;
        case ir::StatementKind::Comment:
        case ir::StatementKind::BlockComment:
        case ir::StatementKind::LineMarker:
        case ir::StatementKind::Stray:
          continue;
        case ir::StatementKind::BranchTargets:
          if (label != kNoLabel) marks_[label].targets = &function.branch_targets[statement.index];
          [[fallthrough]];
        case ir::StatementKind::CallTargets:
        case ir::StatementKind::CallPrototype:
          if (label != kNoLabel) marks_[label].is_code = false;
          break;
        default:
          break;
      }
      label = kNoLabel;
    }
  }

  bool is_code(ir::LabelId label) const { return at(label).is_code; }
  /// None: the label is placed nowhere.
  std::optional<std::uint32_t> statement(ir::LabelId label) const { return at(label).statement; }
  /// The list that the label names; null: it names none.
  const std::vector<ir::LabelId>* branch_targets(ir::LabelId label) const {
    return at(label).targets;
  }

 private:
  struct Mark {
    std::optional<std::uint32_t> statement;
    const std::vector<ir::LabelId>* targets = nullptr;
    bool is_code = true;
  };
  const Mark& at(ir::LabelId label) const { return marks_[static_cast<std::size_t>(label)]; }

  std::vector<Mark> marks_;
};

}  // namespace pyptx::analysis
