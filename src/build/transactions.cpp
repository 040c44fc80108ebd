// SPDX-License-Identifier: Apache-2.0
//
// Bytes that mbarriers expect against bytes that copies bring, over the whole function. Which
// thread runs what, how often and for which mbarrier is not known; but over a whole run both sums
// are the same. So they cannot be where every stretch of code without a branch errs in one
// direction.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pyptx/build/tracer.h"

namespace pyptx::build {
namespace {

/// What runs as often as the rest of it: instructions of one guard with no label or branch between.
struct Stretch {
  std::int64_t expected = 0;
  std::int64_t brought = 0;
  diag::Loc expects = diag::Loc::None;
  diag::Loc copies = diag::Loc::None;

  std::int64_t excess() const { return expected - brought; }
};

/// The number of the stretch, and its guard.
using Key = std::pair<std::uint32_t, std::pair<std::uint32_t, bool>>;

constexpr std::uint32_t kUnguarded = ~0U;

/// Whether the spelling has the word: the manual names what changes the count of an mbarrier so.
bool counts(const ir::Instruction& instruction, std::string_view word) {
  return instruction.spelling->text.find(word) != std::string_view::npos;
}

}  // namespace

diag::Status Tracer::check_transactions() const {
  if (copies_.empty()) return diag::success();
  std::map<Key, Stretch> stretches;
  std::uint32_t number = 0;
  bool is_expected = false;
  for (const ir::Statement& statement : function_->body) {
    if (statement.kind == ir::StatementKind::Raw) return diag::success();  // it may do anything
    if (statement.kind == ir::StatementKind::Label) ++number;
    if (statement.kind != ir::StatementKind::Instruction) continue;
    const ir::Instruction& instruction = function_->instructions[statement.index];
    if (instruction.form().form->flow != isa::Flow::Next) ++number;
    const bool expects = counts(instruction, "expect_tx");
    const bool copies = counts(instruction, "complete_tx");
    if (!expects && !copies) continue;
    const std::uint32_t guard =
        instruction.guard ? static_cast<std::uint32_t>(*instruction.guard) : kUnguarded;
    Stretch& stretch = stretches[{number, {guard, instruction.guard_negated}}];
    if (copies) {
      const auto bytes = copies_.find(statement.index);
      if (bytes == copies_.end()) return diag::success();  // nobody knows how many
      stretch.brought += static_cast<std::int64_t>(bytes->second);
      stretch.copies = instruction.loc;
    } else {
      const ir::Operand& bytes = function_->operands_of(instruction).back();
      if (bytes.kind != ir::OperandKind::Integer) return diag::success();
      stretch.expected += bytes.value;
      stretch.expects = instruction.loc;
      is_expected = true;
    }
  }
  if (!is_expected) return diag::success();  // a part of a kernel
  const Stretch* wrong = nullptr;
  for (const auto& [key, stretch] : stretches) {
    if (stretch.excess() == 0) continue;
    if (wrong != nullptr && (stretch.excess() > 0) != (wrong->excess() > 0)) {
      return diag::success();  // one may make up for the other
    }
    if (wrong == nullptr) wrong = &stretch;
  }
  if (wrong == nullptr) return diag::success();
  const bool has_expectation = wrong->expects != diag::Loc::None;
  diag::Diagnostic diagnostic(diag::Kind::TransactionBytes,
                              {std::to_string(wrong->expected), std::to_string(wrong->brought)});
  return diag::fail(std::move(diagnostic).at(has_expectation ? wrong->expects : wrong->copies));
}

}  // namespace pyptx::build
