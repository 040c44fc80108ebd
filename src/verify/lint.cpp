// SPDX-License-Identifier: Apache-2.0
//
// By-the-manual findings. All facts are the table's: order, lints, `beyond` rows and repeatable
// words (isa/README.md).
#include "pyptx/verify/lint.h"

#include <algorithm>
#include <optional>
#include <string>

#include "availability.h"
#include "operand.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::verify {
namespace {

using isa::Candidate;

std::size_t complaints(const Candidate& candidate) {
  return candidate.against_manual.size() + (candidate.in_manual_order ? 0 : 1);
}

bool suits(const ir::Module& module, const ir::Function& function, const Candidate& candidate,
           std::span<const ir::Operand> operands) {
  const auto available = [&](const isa::Availability& needs) {
    return is_available(module, needs);
  };
  Asked asked;
  return fit({module, function, &asked}, candidate.operands, operands).ok() &&
         std::ranges::all_of(candidate.needs, available) &&
         std::ranges::all_of(asked.all(), [&](const auto* needs) { return available(*needs); });
}

/// The form that the manual has least against: the judge's own choice, or another that fits too.
const Candidate& best(const ir::Module& module, const ir::Function& function,
                      const ir::Instruction& instruction) {
  const Candidate* chosen = &instruction.form();
  if (complaints(*chosen) == 0) return *chosen;
  const auto operands = function.operands_of(instruction);
  for (const Candidate& other : instruction.spelling->candidates) {
    if (complaints(other) >= complaints(*chosen)) continue;
    if (suits(module, function, other, operands)) chosen = &other;
  }
  return *chosen;
}

/// The manual's spelling of a candidate: its slots in the order of the syntax line.
std::string manual_spelling(const isa::Spelling& spelling, const Candidate& candidate) {
  std::string text(isa::text(spelling.opcode));
  for (const auto& [slot, modifier] : candidate.slots) {
    if (modifier != isa::Modifier{}) text.append(".").append(isa::text(modifier));
  }
  return text;
}

/// An operand that only ptxas takes: it widens some addresses, and does not look at others.
std::optional<diag::Diagnostic> odd_operand(const ir::Module& module, const ir::Function& function,
                                            const ir::Instruction& instruction) {
  const auto may_be_odd = [](const isa::OperandSpec& spec) {
    return isa::has(spec.accept, isa::Accept::Address) || spec.odd != isa::Accept::Nothing;
  };
  const auto& specs = instruction.form().operands;
  if (std::ranges::none_of(specs, may_be_odd)) return std::nullopt;
  const auto operands = function.operands_of(instruction);
  const Scope scope{module, function, nullptr, true};
  const Fit found = fit(scope, specs, operands);
  if (found.ok() || found.spec == nullptr) return std::nullopt;
  const std::string& text = instruction.spelling->text;
  const diag::Diagnostic refusal = describe(scope, *found.spec, operands[found.operand],
                                            found.misfit, found.operand, *instruction.spelling);
  diag::Diagnostic finding(diag::Kind::NotByManual, {text, refusal.message()});
  finding.focus = {diag::Focus::Part::Operand, static_cast<std::uint16_t>(found.operand)};
  return finding;
}

/// The first word that stands twice.
std::string_view doubled_word(std::string_view text) {
  for (std::size_t begin = text.find('.'); begin != std::string_view::npos;) {
    const std::size_t end = text.find('.', begin + 1);
    const std::string_view word = text.substr(begin, end - begin);
    for (std::size_t next = end; next != std::string_view::npos;) {
      const std::size_t after = text.find('.', next + 1);
      if (text.substr(next, after - next) == word) return word;
      next = after;
    }
    begin = end;
  }
  return {};
}

}  // namespace

void lint(const ir::Module& module, const ir::Function& function,
          const ir::Instruction& instruction, diag::Diagnostics& findings) {
  const isa::Spelling& spelling = *instruction.spelling;
  const Candidate& candidate = best(module, function, instruction);
  auto odd = odd_operand(module, function, instruction);
  if (complaints(candidate) == 0 && !spelling.is_doubled && !odd) return;
  const auto add = [&](diag::Diagnostic finding) {
    finding.loc = instruction.loc;
    finding->manual = candidate.form->manual;
    findings.push_back(std::move(finding));
  };
  const auto rewrite = [&](diag::Diagnostic finding) {
    diag::FixIt fix{manual_spelling(spelling, candidate), "the manual's spelling"};
    fix.loc = instruction.loc;
    fix.is_certain = true;
    finding.focus = fix.focus;
    finding->fixits.push_back(std::move(fix));
    return finding;
  };
  if (spelling.is_doubled) {
    add(rewrite(
        {diag::Kind::DoubledModifier, {std::string(doubled_word(spelling.text)), spelling.text}}));
  }
  if (!candidate.in_manual_order) {
    add(rewrite({diag::Kind::NotManualOrder, {spelling.text}}));
  }
  if (odd) add(std::move(*odd));
  for (const std::string_view reason : candidate.against_manual) {
    add({diag::Kind::NotByManual, {spelling.text, std::string(reason)}});
  }
}

diag::Diagnostics lint(const ir::Module& module) {
  diag::Diagnostics findings;
  for (const auto& function : module.functions) {
    for (const ir::Instruction& instruction : function->instructions) {
      lint(module, *function, instruction, findings);
    }
  }
  return findings;
}

}  // namespace pyptx::verify
