// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/render.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pyptx::diag {
namespace {

std::string_view severity_text(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Lint:
      return "lint";
  }
  return "error";
}

std::optional<Place> place_of(const Diagnostic& diagnostic, const LocationTable* table) {
  if (diagnostic.place) return diagnostic.place;
  return table ? table->resolve(diagnostic.loc, diagnostic.focus) : std::nullopt;
}

void append_source(const Place& place, std::string& out) {
  const std::string number = std::to_string(place.line);
  const std::string margin(number.size(), ' ');
  out += margin + " |\n" + number + " | " + place.source_line + "\n";
  if (place.column == 0) return;
  const auto width = static_cast<std::uint32_t>(place.source_line.size());
  const std::uint32_t begin = std::min(place.column - 1, width);
  std::uint32_t end = place.end_line == place.line ? place.end_column - 1 : width;
  end = std::clamp(end, begin + 1, std::max(width, begin + 1));
  std::string pad;
  // Tabs stay tabs, so that the carets line up whatever the terminal's tab width.
  for (std::uint32_t i = 0; i < begin; ++i) pad += place.source_line[i] == '\t' ? '\t' : ' ';
  out += margin + " | " + pad + std::string(end - begin, '^') + "\n";
}

std::string json_list(std::span<const std::string> items) {
  std::string out = "[";
  for (const std::string& item : items) {
    if (out.size() > 1) out += ",";
    out += json_quote(item);
  }
  return out + "]";
}

}  // namespace

std::string render(const Diagnostic& diagnostic, const LocationTable* table) {
  std::string out(severity_text(diagnostic.severity()));
  out += "[" + std::string(diagnostic.code()) + "]: " + diagnostic.message() + "\n";
  if (const auto place = place_of(diagnostic, table)) {
    out += "  --> " + place->file + ":" + std::to_string(place->line);
    if (place->column != 0) out += ":" + std::to_string(place->column);
    out += "\n";
    if (!place->source_line.empty()) append_source(*place, out);
  }
  for (const std::string& note : diagnostic.notes) out += "  note: " + note + "\n";
  for (const FixIt& fixit : diagnostic.fixits) {
    out += "  help: " + fixit.reason + ": " + fixit.replacement + "\n";
  }
  if (!diagnostic.manual.empty()) out += "  see: PTX ISA, " + diagnostic.manual + "\n";
  return out;
}

std::string render(std::span<const Diagnostic> diagnostics, const LocationTable* table) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!out.empty()) out += "\n";
    out += render(diagnostic, table);
  }
  return out;
}

std::string json_quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string to_json(const Diagnostic& diagnostic, const LocationTable* table) {
  std::string out = "{\"code\":" + json_quote(diagnostic.code());
  out += ",\"severity\":" + json_quote(severity_text(diagnostic.severity()));
  out += ",\"message\":" + json_quote(diagnostic.message());
  if (const auto place = place_of(diagnostic, table)) {
    out += ",\"file\":" + json_quote(place->file) + ",\"line\":" + std::to_string(place->line) +
           ",\"column\":" + std::to_string(place->column) +
           ",\"end_column\":" + std::to_string(place->end_column);
  }
  out += ",\"notes\":" + json_list(diagnostic.notes) + ",\"fixits\":[";
  for (std::size_t i = 0; i < diagnostic.fixits.size(); ++i) {
    if (i > 0) out += ",";
    out += "{\"replacement\":" + json_quote(diagnostic.fixits[i].replacement) +
           ",\"reason\":" + json_quote(diagnostic.fixits[i].reason) + "}";
  }
  out += "],\"manual\":" + json_quote(diagnostic.manual) + "}";
  return out;
}

}  // namespace pyptx::diag
