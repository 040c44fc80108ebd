// SPDX-License-Identifier: Apache-2.0
//
// Versions, targets and availability (PTX ISA, "PTX Module Directives: .target"). The facts are in
// isa/common/targets.toml; this is their algebra.
#include "pyptx/isa/target.h"

#include <algorithm>
#include <vector>

#include "tables.h"

namespace pyptx::isa {
namespace {

const tables::TargetRow* find(Target target) {
  for (const tables::TargetRow& row : tables::kTargets) {
    if (row.target == target) return &row;
  }
  return nullptr;
}

std::uint16_t family(std::uint16_t sm) {
  for (const tables::TargetRow& row : tables::kTargets) {
    if (row.target.sm == sm) return row.family;
  }
  return 0;
}

}  // namespace

std::string Version::text() const { return std::to_string(major) + "." + std::to_string(minor); }

std::string Target::text() const {
  std::string text = "sm_" + std::to_string(sm);
  if (suffix != 0) text += suffix;
  return text;
}

std::optional<Target> Target::parse(std::string_view text) {
  for (const tables::TargetRow& row : tables::kTargets) {
    if (row.target.text() == text) return row.target;
  }
  return std::nullopt;
}

Version Target::minimum_version() const {
  const tables::TargetRow* row = find(*this);
  return row != nullptr ? row->minimum : Version{};
}

bool TargetRule::admits(Target target) const {
  if (suffix == 0) return target.sm >= sm && (last == 0 || target.sm <= last);
  if (suffix == 'a') return target.sm == sm && target.suffix == 'a';
  return target.suffix != 0 && target.sm >= sm && family(target.sm) == family(sm);
}

bool Availability::admits(Target target) const {
  return targets.empty() ||
         std::ranges::any_of(targets, [&](const TargetRule& rule) { return rule.admits(target); });
}

std::string Availability::targets_text() const {
  std::string text;
  for (const TargetRule& rule : targets) {
    if (!text.empty()) text += " or ";
    text += Target{rule.sm, rule.suffix}.text();
    if (rule.last != 0) {
      text += " to " + Target{rule.last, 0}.text();
    } else if (rule.suffix == 0) {
      text += " or later";
    }
  }
  return text;
}

std::span<const Version> all_versions() { return tables::kVersions; }

std::span<const Target> all_targets() {
  static const std::vector<Target> targets = [] {
    std::vector<Target> all;
    for (const tables::TargetRow& row : tables::kTargets) all.push_back(row.target);
    return all;
  }();
  return targets;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const Target& target : all_targets()) names.push_back(target.text());
  return names;
}

namespace tables {

Availability availability(std::uint16_t index) {
  const NeedsRow& row = kNeeds[index];
  return {row.version, slice(kTargetRules, row.targets), row.last};
}

}  // namespace tables
}  // namespace pyptx::isa
