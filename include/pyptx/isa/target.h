// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA versions, targets, and the algebra of availability: a form or modifier value needs a
// version and one of a list of target rules (PTX ISA, "PTX Module Directives: .target").
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pyptx::isa {

/// A PTX ISA version, as in `.version 8.7`.
struct Version {
  std::uint8_t major = 0;
  std::uint8_t minor = 0;
  auto operator<=>(const Version&) const = default;
  std::string text() const;
};

/// Of what every later version has.
inline constexpr Version kNoLastVersion{255, 255};

/// A target architecture: sm_90, sm_90a (architecture-specific), sm_100f (family-specific).
struct Target {
  std::uint16_t sm = 0;
  char suffix = 0;  // 0, 'a' or 'f'
  auto operator<=>(const Target&) const = default;
  /// "sm_90a"
  std::string text() const;
  /// Accepts only targets that the table lists.
  static std::optional<Target> parse(std::string_view text);
  /// The lowest PTX ISA version that knows this target.
  Version minimum_version() const;
};

/// One way for a target to qualify. Plain: sm >= this. 'a': exactly this target with suffix a.
/// 'f': this family, by targets with suffix f or a. `last`: no later target; 0: no end.
struct TargetRule {
  std::uint16_t sm = 0;
  char suffix = 0;
  std::uint16_t last = 0;
  bool admits(Target target) const;
};

/// What a form or modifier value needs. An empty rule list admits every target.
struct Availability {
  Version version{1, 0};
  std::span<const TargetRule> targets;
  Version last = kNoLastVersion;  // of those that still have it
  bool admits(Target target) const;
  /// "sm_90 or later", "sm_90a", "sm_100a or sm_110a", ...
  std::string targets_text() const;
};

/// Versions the table lists, ascending.
std::span<const Version> all_versions();
std::span<const Target> all_targets();
std::vector<std::string> target_names();

}  // namespace pyptx::isa
