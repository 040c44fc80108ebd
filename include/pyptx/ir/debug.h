// SPDX-License-Identifier: Apache-2.0
//
// Debugging information as data: files, lines, DWARF sections and intermediate sources. Storage
// only; nobody here knows DWARF. PTX ISA, section 11.5 (Debugging Directives).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pyptx/support/symbol.h"

namespace pyptx::ir {

using support::Symbol;

/// .file 1 "kernel.cu", 1700000000, 4096
struct SourceFile {
  std::uint32_t number = 0;
  Symbol name{};
  /// Time of the last change, and size.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> stamp;
  bool operator==(const SourceFile&) const = default;
};

/// A place in a source file.
struct SourcePosition {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool operator==(const SourcePosition&) const = default;
};

/// .loc 1 10 5, function_name $L__info_string0+4, inlined_at 1 20 3
struct SourceLine {
  SourcePosition position;
  /// Of code that was inlined: the label of the function's name in a debugging section.
  Symbol function_name{};
  std::int64_t function_offset = 0;
  SourcePosition inlined_at;
  bool intermediate = false;  // .loc_intermediate, which has no function and is never inlined
  bool operator==(const SourceLine&) const = default;
};

/// One element of a debugging section.
struct SectionEntry {
  enum class Kind : std::uint8_t {
    Label,       // a:
    Integer,     // value
    Symbol,      // a + value: a label, a variable or a function
    Section,     // a + value: the name of a section, with its dot
    Difference,  // a - b
  };
  Kind kind = Kind::Integer;
  std::uint8_t bytes = 1;        // 1, 2, 4, 8: .b8 .b16 .b32 .b64
  bool begins_directive = true;  // false: it follows the previous element after a comma
  Symbol a{};
  Symbol b{};
  std::int64_t value = 0;
  bool operator==(const SectionEntry&) const = default;
};

/// .section .debug_str { ... }
struct Section {
  Symbol name{};  // with its dot
  std::vector<SectionEntry> entries;
  bool operator==(const Section&) const = default;
};

/// A `.code_block` of `.nv_intermediate_source_section`.
struct CodeBlock {
  Symbol ir_name{};
  std::uint32_t file = 0;
  Symbol text{};  // the lines between .source_begin and .source_end
  bool operator==(const CodeBlock&) const = default;
};

/// Sources between the author's and PTX.
struct IntermediateSources {
  std::vector<CodeBlock> blocks;
  bool operator==(const IntermediateSources&) const = default;
};

}  // namespace pyptx::ir
