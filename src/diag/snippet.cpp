// SPDX-License-Identifier: Apache-2.0
#include "snippet.h"

#include <algorithm>
#include <vector>

#include "printable.h"

namespace pyptx::diag {
namespace {

/// One underlined stretch of one line. A place over several lines gives two: its first and its last
/// line.
struct Mark {
  std::uint32_t line = 0;
  std::string_view source;
  std::size_t begin = 0;  // bytes of the line
  std::size_t end = 0;
  std::string_view text;
  bool is_primary = false;
  bool has_column = true;
  bool is_cut = false;  // the line goes on before `source`
};

/// Column of a line, as a byte of the part of the line that is at hand.
std::size_t byte_of(std::uint32_t column, std::uint32_t skipped, std::size_t size) {
  return column <= skipped + 1 ? 0 : std::min<std::size_t>(column - 1 - skipped, size);
}

void add_marks(const Annotation& annotation, std::vector<Mark>& marks) {
  const Place& place = annotation.place;
  const std::string_view first = place.source_line;
  const std::size_t begin = byte_of(place.column, place.source_skipped, first.size());
  Mark mark{place.line,
            first,
            begin,
            first.size(),
            annotation.text,
            annotation.is_primary,
            place.column != 0,
            place.source_skipped != 0};
  const bool has_last_line = place.end_line > place.line && !place.end_source_line.empty();
  if (place.end_line <= place.line && place.end_column != 0) {
    mark.end = std::max(begin, byte_of(place.end_column, place.source_skipped, first.size()));
  }
  if (has_last_line) mark.text = {};
  marks.push_back(mark);
  if (!has_last_line) return;
  const std::string_view last = place.end_source_line;
  const std::size_t end = byte_of(place.end_column, place.end_source_skipped, last.size());
  const std::size_t indent = std::min(last.find_first_not_of(" \t"), end);
  marks.push_back({place.end_line, last, indent, end, annotation.text, annotation.is_primary, true,
                   place.end_source_skipped != 0});
}

/// The bytes of a long line that are shown: some before the mark, the rest after it.
struct Window {
  std::size_t begin = 0;
  std::size_t end = 0;
};

Window window_of(const Mark& mark, std::size_t columns) {
  const std::string_view line = mark.source;
  if (columns == 0 || line.size() <= columns) return {0, line.size()};
  const std::size_t before = columns / 3;
  std::size_t begin = mark.begin > before ? mark.begin - before : 0;
  begin = std::min(begin, line.size() - columns);
  std::size_t end = begin + columns;
  const auto splits = [&](std::size_t at) {
    return at > 0 && at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U;
  };
  while (splits(begin)) --begin;
  while (splits(end)) ++end;
  return {begin, end};
}

class Snippet {
 public:
  Snippet(std::size_t digits, const Palette& palette, std::uint32_t columns, std::string& out)
      : margin_(digits, ' '), palette_(palette), columns_(columns), out_(out) {}

  void open() { line("", "", true); }

  /// The source line, unless the mark before it stood on the same one and could be shown whole.
  void mark(const Mark& mark) {
    const Window window = window_of(mark, columns_);
    const bool is_whole = !is_cut(mark, window) && window.end == mark.source.size();
    const bool is_shown = previous_ == mark.line && is_whole;
    if (!is_shown) {
      if (previous_ != 0 && mark.line > previous_ + 1) line("...", "", false);
      const std::string cut =
          printable(mark.source.substr(window.begin, window.end - window.begin));
      line(std::to_string(mark.line),
           (is_cut(mark, window) ? "..." : "") + cut +
               (window.end < mark.source.size() ? "..." : ""),
           true);
    }
    previous_ = mark.line;
    if (mark.has_column) underline(mark, window);
  }

 private:
  static bool is_cut(const Mark& mark, Window window) { return window.begin > 0 || mark.is_cut; }

  void underline(const Mark& mark, Window window) {
    const std::size_t begin = std::clamp(mark.begin, window.begin, window.end);
    const std::size_t end = std::clamp(mark.end, begin, window.end);
    const std::string pad = (is_cut(mark, window) ? "   " : "") +
                            blank_like(mark.source.substr(window.begin, begin - window.begin));
    const std::size_t width =
        std::max<std::size_t>(column_count(mark.source.substr(begin, end - begin)), 1);
    std::string text = pad;
    text += mark.is_primary ? palette_.severity : palette_.secondary;
    text += std::string(width, mark.is_primary ? '^' : '-');
    if (!mark.text.empty()) text += " " + printable(mark.text);
    text += palette_.reset;
    line("", text, true);
  }

  void line(std::string_view number, std::string_view text, bool has_bar) {
    out_ += palette_.margin;
    out_ += number;
    if (has_bar) {
      out_ += margin_.substr(std::min(number.size(), margin_.size()));
      out_ += " |";
    }
    out_ += palette_.reset;
    if (!text.empty()) out_ += " ";
    out_ += text;
    out_ += "\n";
  }

  std::string margin_;
  const Palette& palette_;
  std::uint32_t columns_;
  std::string& out_;
  std::uint32_t previous_ = 0;
};

void append_file(std::span<const Annotation* const> annotations, const Palette& palette,
                 std::uint32_t columns, std::string& out) {
  std::vector<Mark> marks;
  for (const Annotation* annotation : annotations) add_marks(*annotation, marks);
  std::ranges::stable_sort(marks, {}, &Mark::line);
  std::uint32_t highest = 0;
  for (const Mark& mark : marks) highest = std::max(highest, mark.line);
  Snippet snippet(std::to_string(highest).size(), palette, columns, out);
  snippet.open();
  for (const Mark& mark : marks) snippet.mark(mark);
}

}  // namespace

void append_snippets(std::span<const Annotation> annotations, const Palette& palette,
                     std::uint32_t line_columns, std::string& out) {
  std::vector<bool> is_done(annotations.size(), false);
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    if (is_done[i]) continue;
    const Place& place = annotations[i].place;
    if (i != 0) {
      out += "  ::: " + printable(place.file) + ":" + std::to_string(place.line) + "\n";
    }
    std::vector<const Annotation*> same;
    for (std::size_t j = i; j < annotations.size(); ++j) {
      if (annotations[j].place.file != place.file) continue;
      is_done[j] = true;
      if (!annotations[j].place.source_line.empty()) same.push_back(&annotations[j]);
    }
    if (!same.empty()) append_file(same, palette, line_columns, out);
  }
}

}  // namespace pyptx::diag
