// SPDX-License-Identifier: Apache-2.0
//
// Chooses the form that an instruction's operands fit, and checks guard, target and version.
#include "pyptx/verify/instruction.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "availability.h"
#include "operand.h"

namespace pyptx::verify {
namespace {

using isa::Candidate;

diag::Status refuse(diag::Diagnostic diagnostic, const ir::Instruction& instruction,
                    diag::Focus focus, std::string_view manual) {
  diagnostic.loc = instruction.loc;
  diagnostic.focus = focus;
  diagnostic->manual = manual;
  return diag::fail(std::move(diagnostic));
}

/// "3", "2 or 3": every count that some candidate takes.
std::string counts_text(const isa::Spelling& spelling) {
  std::vector<std::size_t> counts;
  for (const Candidate& candidate : spelling.candidates) {
    for (std::size_t n = candidate.mandatory; n <= candidate.operands.size(); ++n) {
      counts.push_back(n);
    }
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  std::string text;
  for (const std::size_t count : counts) {
    if (!text.empty()) text += " or ";
    text += std::to_string(count);
  }
  return text;
}

/// The value of a floating-point literal in the 32 bits that the instruction gets.
std::optional<float> float_literal(const ir::Operand& operand) {
  if (operand.kind == ir::OperandKind::Float32) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(operand.value));
  }
  if (operand.kind != ir::OperandKind::Float64) return std::nullopt;
  return static_cast<float>(std::bit_cast<double>(operand.value));
}

std::string shown(float value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// What a module's texture mode says about a sampler among the parts of an operand.
void note_texture_mode(const ir::Module& module, const isa::OperandSpec& spec,
                       diag::Diagnostic& diagnostic) {
  const auto is_sampler = [](const isa::OperandSpec& part) {
    return part.texmode != isa::TextureMode::Any;
  };
  if (std::ranges::none_of(spec.parts, is_sampler)) return;
  diagnostic->notes.push_back(
      texture_mode(module) == isa::TextureMode::Independent
          ? "after .target ..., texmode_independent a sampler is named"
          : "without texmode_independent after .target no sampler is named");
}

/// No candidate fits: the words of the one that came furthest.
diag::Status refuse_operands(const Scope& scope, const ir::Instruction& instruction) {
  const isa::Spelling& spelling = *instruction.spelling;
  const auto operands = scope.function.operands_of(instruction);
  const Candidate* best = nullptr;
  Fit best_fit;
  for (const Candidate& candidate : spelling.candidates) {
    const Fit here = fit(scope, candidate.operands, operands);
    if (!here.has_count) continue;
    // A wrong kind says less than a wrong length, and that less than a wrong type.
    const auto rank = [](const Fit& f) {
      const unsigned detail =
          f.misfit == Misfit::Kind ? 0U : (f.misfit == Misfit::Elements ? 1U : 2U);
      return f.operand * 3 + detail;
    };
    if (best == nullptr || rank(here) > rank(best_fit)) {
      best = &candidate;
      best_fit = here;
    }
  }
  if (best == nullptr) {
    diag::Diagnostic diagnostic(diag::Kind::OperandCount, {spelling.text, counts_text(spelling),
                                                           std::to_string(operands.size())});
    diagnostic->notes.push_back("form: " + std::string(spelling.candidates[0].form->syntax));
    return refuse(std::move(diagnostic), instruction, {}, spelling.candidates[0].form->manual);
  }
  diag::Diagnostic diagnostic = describe(scope, *best_fit.spec, operands[best_fit.operand],
                                         best_fit.misfit, best_fit.operand, spelling);
  diagnostic->notes.push_back("form: " + std::string(best->form->syntax));
  note_texture_mode(scope.module, *best_fit.spec, diagnostic);
  const diag::Focus focus{diag::Focus::Part::Operand, static_cast<std::uint16_t>(best_fit.operand)};
  return refuse(std::move(diagnostic), instruction, focus, best->form->manual);
}

}  // namespace

bool InstructionJudge::is_available(const ir::Module& module,
                                    const isa::Availability& needs) const {
  if (mode_ != VersionMode::Lowest) return verify::is_available(module, needs);
  // A traced module takes the lowest version in the end: nothing that later ones lack.
  return needs.admits(module.target) && needs.last == isa::kNoLastVersion;
}

const isa::Availability* InstructionJudge::lacking(
    const ir::Module& module, const Candidate& candidate,
    std::span<const isa::Availability* const> asked) const {
  for (const isa::Availability& needs : candidate.needs) {
    if (!is_available(module, needs)) return &needs;
  }
  for (const isa::Availability* needs : asked) {
    if (!is_available(module, *needs)) return needs;
  }
  return nullptr;
}

void InstructionJudge::raise_required(const ir::Module& module, const Candidate& candidate,
                                      std::span<const isa::Availability* const> asked) {
  if (module.target != last_target_) {
    last_target_ = module.target;
    required_ = std::max(required_, module.target.minimum_version());
  }
  for (const isa::Availability& needs : candidate.needs) {
    required_ = std::max(required_, needs.version);
  }
  for (const isa::Availability* needs : asked) required_ = std::max(required_, needs->version);
}

diag::Status InstructionJudge::judge_specials(const ir::Module& module,
                                              const ir::Function& function,
                                              const ir::Instruction& instruction) {
  const auto operands = function.operands_of(instruction);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].kind != ir::OperandKind::Special) continue;
    const auto special = static_cast<isa::SpecialRegister>(operands[i].index);
    const isa::Availability needs = isa::needs(special);
    required_ = std::max(required_, needs.version);
    if (is_available(module, needs)) continue;
    const diag::Focus focus{diag::Focus::Part::Operand, static_cast<std::uint16_t>(i)};
    return refuse(unavailable(module, needs, std::string(isa::info(special).name), mode_),
                  instruction, focus, "special-registers");
  }
  return diag::success();
}

diag::Status InstructionJudge::judge_bounds(const Candidate& candidate,
                                            const ir::Function& function,
                                            const ir::Instruction& instruction) {
  const auto operands = function.operands_of(instruction);
  const auto refuse_at = [&](std::size_t i, std::string within, std::string got) {
    const isa::OperandSpec& spec = candidate.operands[i];
    return refuse({diag::Kind::ImmediateRange,
                   {std::to_string(i + 1), std::string(spec.name), instruction.spelling->text,
                    std::move(within), std::move(got)}},
                  instruction, {diag::Focus::Part::Operand, static_cast<std::uint16_t>(i)},
                  candidate.form->manual);
  };
  for (std::size_t i = 0; i < std::min(operands.size(), candidate.operands.size()); ++i) {
    if (const auto share = float_literal(operands[i]); share && candidate.operands[i].share) {
      if (!(*share > 0 && *share <= 1)) return refuse_at(i, "0 (excluded) to 1", shown(*share));
    }
    if (!candidate.operands[i].part || i + 1 == operands.size()) continue;
    if (operands[i].kind != ir::OperandKind::Integer ||
        operands[i + 1].kind != ir::OperandKind::Integer) {
      continue;
    }
    // The low 32 bits, as ptxas compares them.
    const auto whole = static_cast<std::uint32_t>(operands[i + 1].value);
    if (static_cast<std::uint32_t>(operands[i].value) <= whole) continue;
    return refuse_at(i, "0 to the next operand, " + std::to_string(whole),
                     std::to_string(operands[i].value));
  }
  return diag::success();
}

diag::Status InstructionJudge::judge(const ir::Module& module, const ir::Function& function,
                                     ir::Instruction& instruction) {
  const isa::Spelling& spelling = *instruction.spelling;
  if (instruction.guard && function.at(*instruction.guard).declared != isa::Type::Pred) {
    const ir::Register& guard = function.at(*instruction.guard);
    const std::string type(isa::info(guard.type).name);
    return refuse({diag::Kind::GuardType, {module.name(guard) + ", a ." + type}}, instruction,
                  {diag::Focus::Part::Guard, 0}, "predicated-execution");
  }
  const auto operands = function.operands_of(instruction);
  const Candidate* fitting = nullptr;  // operands fit, but the target or version does not
  const isa::Availability* missing = nullptr;
  for (std::size_t i = 0; i < spelling.candidates.size(); ++i) {
    const Candidate& candidate = spelling.candidates[i];
    Asked asked;
    const Scope scope{module, function, &asked, mode_ == VersionMode::Lowest};
    if (!fit(scope, candidate.operands, operands).ok()) continue;
    const isa::Availability* lacks = lacking(module, candidate, asked.all());
    if (lacks == nullptr) {
      instruction.candidate = static_cast<std::uint8_t>(i);
      raise_required(module, candidate, asked.all());
      if (candidate.is_bounded) {
        if (auto status = judge_bounds(candidate, function, instruction); !status) return status;
      }
      return judge_specials(module, function, instruction);
    }
    if (fitting == nullptr) {
      fitting = &candidate;
      missing = lacks;
    }
  }
  if (fitting == nullptr)
    return refuse_operands({module, function, nullptr, mode_ == VersionMode::Lowest}, instruction);
  return refuse(unavailable(module, *missing, spelling.text, mode_), instruction,
                {diag::Focus::Part::Spelling, 0}, fitting->form->manual);
}

}  // namespace pyptx::verify
