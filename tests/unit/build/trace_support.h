// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the builder share: a tracer, its text, its refusal, and the assembler.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pyptx/build/tracer.h"
#include "pyptx/ir/module.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/verify/instruction.h"

namespace pyptx::build {

inline Options kernel() {
  Options options;
  options.entry = "kernel";
  return options;
}

class TraceTest : public testing::Test {
 protected:
  TraceTest() : TraceTest(kernel()) {}
  explicit TraceTest(Options options) : tracer(std::move(options), &judge_) {}

  /// The finished module's text; fails the test where something was refused.
  static std::string text_of(Tracer& finished);
  std::string text() { return text_of(tracer); }
  /// The code and message of what was refused, taken from the tracer; empty where nothing was.
  std::string refusal();

  verify::InstructionJudge judge_{verify::VersionMode::Lowest};
  Tracer tracer;
};

/// What ptxas says about `text` for `target`: empty where it accepts it. Nothing where there is no
/// ptxas.
std::optional<std::string> assemble(const std::string& text, const std::string& target = "sm_90a");

/// The value of `wanted`, by the integer instructions that address arithmetic is made of.
std::uint32_t evaluate(const Tracer& tracer, Reg wanted,
                       std::unordered_map<std::uint32_t, std::uint64_t> values);

}  // namespace pyptx::build
