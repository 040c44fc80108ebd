// SPDX-License-Identifier: Apache-2.0
//
// What an assembled kernel costs: registers, spills, shared memory, occupancy, machine code, by the
// author's lines. The numbers are the assembler's and the disassembler's own; the occupancy is
// worked out from the limits of a multiprocessor. What no tool here can tell is nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/occupancy.h"
#include "pyptx/interop/image.h"
#include "pyptx/ir/module.h"

namespace pyptx::interop {

/// A line of PTX text and the author's line that made it. `expansions` names the helpers and
/// intrinsics in between, the innermost first.
struct SourceLine {
  std::uint32_t ptx_line = 0;
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::vector<std::string> expansions;
};
/// For every line of a module's text that came from a line of the author's.
std::vector<SourceLine> source_lines(const ir::Module& module);

/// What an assembler says with -v.
struct AssemblerCosts {
  std::optional<std::uint32_t> registers;
  std::optional<std::uint32_t> spill_stores;
  std::optional<std::uint32_t> spill_loads;
  std::optional<std::uint32_t> stack;
  std::optional<std::uint32_t> barriers;
  std::uint32_t static_shared = 0;
  std::vector<std::string> advice;  // its warnings and remarks, in its words

  static AssemblerCosts of(std::string_view log);
};

/// How many instructions a line of the author's became.
struct LineCost {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t ptx = 0;
  std::uint32_t sass = 0;
};

/// What a kernel costs.
struct Report {
  std::string kernel;
  std::string target;
  std::string compiler;
  AssemblerCosts costs;
  std::uint64_t dynamic_shared = 0;
  std::uint32_t threads = 0;
  std::optional<driver::Occupancy> occupancy;
  /// Machine instructions by their names, the most frequent first; none without a disassembler.
  std::vector<std::pair<std::string, std::uint32_t>> instructions;
  std::vector<LineCost> lines;

  /// Counts the instructions of a disassembly, and the lines that made them.
  void count(std::string_view sass);
  /// A few lines of text and a table of lines.
  std::string text() const;
};

/// Assembles an image and counts what came of it: what assembling refuses.
diag::Result<Report> make_report(const KernelImage& image);

}  // namespace pyptx::interop
