// SPDX-License-Identifier: Apache-2.0
//
// What the emulator's tests share: a module from PTX text, buffers, and a launch.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/emu/emulator.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/verify/instruction.h"

namespace pyptx::emu {

/// One entry with up to four .u64 parameters p0..p3 and the usual registers.
inline std::string entry(const std::string& body, const std::string& shared = {},
                         const std::string& directives = {}) {
  return ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p0, "
         ".param .u64 p1, .param .u64 p2, .param .u64 p3)\n" +
         directives + "{\n" + shared +
         ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n"
         ".reg .f32 %f<300>;\n.reg .f64 %fd<16>;\n" +
         body + "\n}\n";
}

class Bench {
 public:
  explicit Bench(const std::string& text, std::string_view file = "test.ptx") {
    verify::InstructionJudge judge;
    syntax::ParseOptions options;
    options.judge = &judge;
    auto module = syntax::parse(text, file, options);
    if (!module) {
      refuse(module.error());
      return;
    }
    auto program = decode(std::move(*module), {});
    if (!program) {
      refuse(program.error());
      return;
    }
    program_ = *program;
    launch.params.resize(32);
    launch.options.races = false;  // most tests are of what an instruction does
  }

  template <typename T>
  void buffer(std::size_t param, std::vector<T>& data, bool writable = true) {
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(data.data());
    value(param, address);
    launch.buffers.push_back({address, data.size() * sizeof(T), writable});
  }
  void value(std::size_t param, std::uint64_t bits) {
    if (launch.params.size() < 8 * param + 8) launch.params.resize(8 * param + 8);
    std::memcpy(launch.params.data() + 8 * param, &bits, 8);
  }

  /// Runs; an error is a test failure.
  void run() {
    ASSERT_TRUE(program_ != nullptr) << problem_;
    auto report = emu::run(*program_, launch);
    ASSERT_TRUE(report.ok()) << diag::render(report.error(), nullptr);
    last = *report;
  }
  /// Runs and gives the error, if there was one.
  std::optional<diag::Diagnostic> refusal() {
    if (program_ == nullptr) return error_;
    auto report = emu::run(*program_, launch);
    if (!report.ok()) return report.error();
    last = *report;
    return std::nullopt;
  }
  /// The same rendered; "" when there was none.
  std::string failure() {
    const auto error = refusal();
    return error ? diag::render(*error, nullptr) : problem_;
  }
  const std::string& problem() const { return problem_; }
  const Program& program() const { return *program_; }

  Launch launch;
  Report last;

 private:
  void refuse(const diag::Diagnostic& error) {
    error_ = error;
    problem_ = diag::render(error, nullptr);
  }

  std::shared_ptr<const Program> program_;
  std::optional<diag::Diagnostic> error_;
  std::string problem_;
};

}  // namespace pyptx::emu
