// SPDX-License-Identifier: Apache-2.0
//
// Where something came from. A Loc is a 32-bit number into a LocationTable; the table stores two
// words per entry, and columns and source lines are worked out only when a diagnostic is rendered.
// Lines end where PTX lines end: at LF, CRLF or a lone CR.
// An External entry belongs to a host language: the host registers a LocationResolver (the Python
// bindings store a code object and an instruction index there). This layer knows no host.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/support/growing_array.h"

namespace pyptx::diag {

/// A place: an entry of a LocationTable.
enum class Loc : std::uint32_t { None = 0 };

/// Which part of an instruction, or of the call that wrote it, a diagnostic is about; the renderer
/// narrows the caret to it.
struct Focus {
  enum class Part : std::uint8_t { Whole, Opcode, Modifier, Operand, Guard, Spelling, Argument };
  /// Of an argument: all of it, not one of its elements.
  static constexpr std::uint16_t kWholeArgument = 0xFFFF;

  Part part = Part::Whole;
  std::uint16_t index = 0;  // of the modifier or operand; of the element of an argument
  /// The parameter's name, or the modifier, as a caller writes it; must outlive the location table.
  std::string_view parameter{};

  static Focus argument(std::string_view parameter, std::uint16_t element = kWholeArgument) {
    return {Part::Argument, element, parameter};
  }
};

/// Bytes [begin, end) of a text.
struct TextRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const TextRange&) const = default;
};

/// A resolved place. Lines and columns count from 1, columns in bytes; end_column is one past the
/// last column, on line end_line. column == 0 means that only the line is known.
struct Place {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t end_line = 0;
  std::uint32_t end_column = 0;
  std::string source_line;      // empty when the source is not at hand
  std::string end_source_line;  // of end_line, when that is another line
  /// Of a line of many kilobytes only the part around the column is kept: bytes left out before it.
  std::uint32_t source_skipped = 0;
  std::uint32_t end_source_skipped = 0;
};

/// A line of a source file, and a column or 0: what a line table wants, many times over.
struct SourcePoint {
  std::string_view file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// Turns a host's two words into a place.
class LocationResolver {
 public:
  virtual ~LocationResolver() = default;
  /// Without reading any source. The file's name lives as long as the resolver.
  virtual std::optional<SourcePoint> point(std::uint64_t handle, std::uint32_t position) const = 0;
  virtual std::optional<Place> resolve(std::uint64_t handle, std::uint32_t position,
                                       Focus focus) const = 0;
};

/// Tells which bytes of a text the part that begins with a token covers: the parser knows, and a
/// module of a million statements needs no entry for any of them.
class TokenExtents {
 public:
  virtual ~TokenExtents() = default;
  virtual TextRange extent(std::uint32_t token, Focus focus) const = 0;
};

class LineIndex;

/// The places of one module.
class LocationTable {
 public:
  LocationTable();

  /// A place in a text that this table holds (see add_text): byte range [begin, end).
  Loc text(std::uint32_t begin, std::uint32_t end);
  /// The part of that text that begins with token `index`; see set_tokens.
  static Loc token(std::uint32_t index) {
    return index < kTokenBit ? static_cast<Loc>(kTokenBit | index) : Loc::None;
  }
  /// A place in the host language.
  Loc external(std::uint64_t handle, std::uint32_t position) {
    return recent({handle, position, Kind::External});
  }
  /// A place in C++ source; `file` must outlive the table (std::source_location's does). Column 0,
  /// and one beyond the 16 bits kept of it: only the line is known. Of a call that writes one
  /// instruction a focus on an operand is one on the argument of that number.
  Loc native(const char* file, std::uint32_t line, std::uint32_t column = 0,
             bool is_instruction = false) {
    const auto kept = column > 0xFFFF ? std::uint16_t{0} : static_cast<std::uint16_t>(column);
    const Kind kind = is_instruction ? Kind::NativeInstruction : Kind::Native;
    return recent({reinterpret_cast<std::uintptr_t>(file), line, kind, kept});
  }

  /// What a helper wrote for `author`, a place of this table: it is there, too, and remembers the
  /// helper. `helper` ("ptx.mbarrier.wait(...)") must outlive the table.
  Loc expansion(Loc author, const char* helper) {
    return recent({reinterpret_cast<std::uintptr_t>(helper), static_cast<std::uint32_t>(author),
                   Kind::Expansion});
  }
  /// The helpers between the author's place and `loc`, the innermost first.
  std::vector<std::string_view> expansions(Loc loc) const;

  /// The one text that text() entries point into.
  void set_text(std::string file, std::string text);
  std::string_view text() const { return text_; }
  /// The name of the text.
  std::string_view file() const { return file_; }
  void set_tokens(std::shared_ptr<const TokenExtents> tokens) { tokens_ = std::move(tokens); }
  void set_resolver(std::shared_ptr<const LocationResolver> resolver) {
    resolver_ = std::move(resolver);
  }

  std::optional<Place> resolve(Loc loc, Focus focus = {}) const;
  /// The place of some bytes of the text.
  Place place(TextRange bytes) const { return text_place(bytes.begin, bytes.end); }
  /// Where a location of a host language or of C++ source is; nothing for those of a text.
  std::optional<SourcePoint> point(Loc loc) const;
  /// The line on which any location begins, without reading a host's source and without copying:
  /// what a table with a row per instruction wants. A text's has no column. The file's name lives
  /// as long as the table.
  std::optional<SourcePoint> line(Loc loc) const;
  /// The bytes that a text() or token() location names; nothing for others. Unlike resolve() it
  /// does not count lines.
  std::optional<TextRange> range(Loc loc, Focus focus = {}) const;
  std::size_t size() const { return entries_.size(); }

 private:
  enum class Kind : std::uint8_t { None, Text, External, Native, NativeInstruction, Expansion };
  struct Record {
    std::uint64_t a = 0;
    std::uint32_t b = 0;
    Kind kind = Kind::None;
    std::uint16_t column = 0;  // of C++ source
    bool operator==(const Record&) const = default;
  };
  static constexpr std::uint32_t kTokenBit = std::uint32_t{1} << 31;
  Place text_place(std::uint64_t begin, std::uint64_t end) const;
  /// The entry behind every expansion; null where there is none.
  const Record* author(Loc loc) const;
  /// The entry that was made for the same place lately, or a new one: an unrolled loop comes by the
  /// same lines over and over.
  Loc recent(const Record& entry) {
    std::uint32_t& slot = recent_[(entry.a / 8 + entry.b + entry.column) % recent_.size()];
    if (entries_[slot] != entry) {
      slot = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back(entry);
    }
    return static_cast<Loc>(slot);
  }

  support::GrowingArray<Record> entries_;
  std::array<std::uint32_t, 64> recent_{};  // the first entry is nobody's
  std::string file_;
  std::string text_;
  std::shared_ptr<const LineIndex> lines_;  // of text_
  std::shared_ptr<const LocationResolver> resolver_;
  std::shared_ptr<const TokenExtents> tokens_;
};

}  // namespace pyptx::diag
