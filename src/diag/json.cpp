// SPDX-License-Identifier: Apache-2.0
//
// The JSON of one diagnostic. Its keys are a contract with tools (see render.h): none is left out,
// none changes its meaning.
#include <optional>
#include <string>
#include <string_view>

#include "printable.h"
#include "pyptx/diag/render.h"

namespace pyptx::diag {
namespace {

std::string string_or_null(std::string_view text) {
  return text.empty() ? "null" : json_quote(text);
}

std::string number_or_null(std::uint32_t number) {
  return number == 0 ? "null" : std::to_string(number);
}

std::string position(const std::optional<Place>& place) {
  const Place at = place.value_or(Place{});
  return "\"line\":" + number_or_null(at.line) + ",\"column\":" + number_or_null(at.column) +
         ",\"end_line\":" + number_or_null(at.end_line) +
         ",\"end_column\":" + number_or_null(at.column == 0 ? 0 : at.end_column);
}

std::string file_of(const std::optional<Place>& place) {
  return "\"file\":" + (place ? json_quote(place->file) : "null");
}

std::string object(const Requirement& requirement) {
  if (requirement.is_empty()) return "null";
  return "{\"ptx\":" + string_or_null(requirement.version) +
         ",\"target\":" + string_or_null(requirement.target) + "}";
}

std::string object(const FixIt& fixit) {
  return "{\"replacement\":" + json_quote(fixit.replacement) +
         ",\"reason\":" + json_quote(fixit.reason) +
         ",\"certain\":" + (fixit.is_certain ? "true" : "false") +
         ",\"span\":" + (fixit.place ? "{" + position(fixit.place) + "}" : "null") + "}";
}

std::string object(const Label& label) {
  return "{\"text\":" + json_quote(label.text) + "," + file_of(label.place) + "," +
         position(label.place) + "}";
}

std::string object(const std::string& text) { return json_quote(text); }

template <typename Items>
std::string list(const Items& items) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ",";
    out += object(item);
  }
  return out + "]";
}

std::string manual_of(const Diagnostic& diagnostic) {
  if (diagnostic->manual.empty()) return "null";
  return "{\"anchor\":" + json_quote(diagnostic->manual) +
         ",\"title\":" + json_quote(manual_title(diagnostic->manual)) + "}";
}

}  // namespace

std::string json_quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text[0];
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (length == 0 || byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

std::string to_json(const Diagnostic& diagnostic, const LocationTable* table) {
  Diagnostic placed = diagnostic;
  if (table != nullptr) placed.resolve(*table);
  std::string out = "{\"code\":" + json_quote(placed.code());
  out += ",\"kind\":" + json_quote(info(placed.kind).name);
  out += ",\"severity\":" + json_quote(text(placed.severity()));
  out += ",\"message\":" + json_quote(placed.message());
  out += "," + file_of(placed->place) + "," + position(placed->place);
  out += ",\"labels\":" + list(placed->labels);
  out += ",\"notes\":" + list(placed->notes);
  out += ",\"fixits\":" + list(placed->fixits);
  out += ",\"manual\":" + manual_of(placed);
  out += ",\"needed\":" + object(placed->needed);
  out += ",\"present\":" + object(placed->present);
  return out + "}";
}

}  // namespace pyptx::diag
