// SPDX-License-Identifier: Apache-2.0
//
// pyptx isa: what the table knows of an opcode, of a spelling, or of everything that has room for
// some modifiers.

#include <ostream>
#include <vector>

#include "arguments.h"
#include "pyptx/diag/diagnostic.h"
#include "pyptx/diag/render.h"
#include "pyptx/isa/form_info.h"
#include "subcommands.h"

namespace pyptx::cli {
namespace {

using pyptx::isa::Form;

constexpr std::string_view kIsaHelp =
    "usage: pyptx isa [--json] [WORDS...]\n\n"
    "Shows the forms of an instruction that have room for the modifiers given: 'pyptx isa ld',\n"
    "'pyptx isa ld.global.v4', 'pyptx isa mma.sync.m16n8k16'. Without words, lists the opcodes.\n";

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    words.push_back(text.substr(0, dot));
    text.remove_prefix(dot + 1);
  }
  words.push_back(text);
  return words;
}

bool is_open(const pyptx::isa::Availability& needs) {
  return needs.version <= pyptx::isa::Version{1, 0} && needs.targets.empty();
}

void show_slot(const pyptx::isa::SlotInfo& slot, std::ostream& out) {
  out << "  ." << slot.name << (slot.optional ? " (optional):" : ":");
  for (const auto& value : slot.values) {
    out << " ." << value.text;
    if (!is_open(value.needs)) out << " [" << pyptx::isa::text(value.needs) << "]";
  }
  out << '\n';
}

void show(const Form& form, std::ostream& out) {
  out << form.syntax << '\n';
  const pyptx::isa::Availability needs = pyptx::isa::needs(form);
  if (!is_open(needs)) out << "  needs: " << pyptx::isa::text(needs) << '\n';
  for (const auto& slot : pyptx::isa::slots(form)) {
    // A slot with one value of its own name is a fixed word of the syntax line.
    const bool is_fixed = slot.values.size() == 1 && slot.values[0].text == slot.name;
    if (!is_fixed || !is_open(slot.values[0].needs)) show_slot(slot, out);
  }
  for (const auto& rule : pyptx::isa::rules(form)) {
    out << (rule.is_lint ? "  manual: " : "  rule: ") << rule.message << '\n';
  }
  if (!form.beyond.empty()) out << "  manual: " << form.beyond << '\n';
  if (!form.reason.empty()) out << "  emulator: " << form.reason << '\n';
  for (const auto& example : pyptx::isa::examples(form)) {
    if (example.code.empty()) out << "  example: " << example.text << '\n';
  }
  out << "  see: PTX ISA, " << diag::manual_title(form.manual) << "\n\n";
}

std::string json_list(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += (text.size() > 1 ? "," : "") + item;
  return text + "]";
}

void show_json(const Form& form, std::ostream& out) {
  std::vector<std::string> slots;
  for (const auto& slot : pyptx::isa::slots(form)) {
    std::vector<std::string> values;
    values.reserve(slot.values.size());
    for (const auto& value : slot.values) {
      values.push_back("{\"value\":" + diag::json_quote(value.text) +
                       ",\"needs\":" + diag::json_quote(pyptx::isa::text(value.needs)) + "}");
    }
    slots.push_back("{\"name\":" + diag::json_quote(slot.name) + ",\"optional\":" +
                    (slot.optional ? "true" : "false") + ",\"values\":" + json_list(values) + "}");
  }
  std::vector<std::string> rules;
  for (const auto& rule : pyptx::isa::rules(form)) rules.push_back(diag::json_quote(rule.message));
  std::vector<std::string> examples;
  for (const auto& example : pyptx::isa::examples(form)) {
    if (example.code.empty()) examples.push_back(diag::json_quote(example.text));
  }
  out << "{\"syntax\":" << diag::json_quote(form.syntax)
      << ",\"needs\":" << diag::json_quote(pyptx::isa::text(pyptx::isa::needs(form)))
      << ",\"slots\":" << json_list(slots) << ",\"rules\":" << json_list(rules)
      << ",\"examples\":" << json_list(examples) << ",\"manual\":" << diag::json_quote(form.manual)
      << "}\n";
}

/// The forms that `text` may be a part of; none when a word is unknown.
std::vector<const Form*> forms_of(const std::string& text) {
  const std::vector<std::string_view> words = split(text);
  const auto opcode = pyptx::isa::find_opcode(words[0]);
  if (!opcode) return {};
  std::vector<pyptx::isa::Modifier> modifiers;
  for (const std::string_view word : std::span(words).subspan(1)) {
    const auto modifier = pyptx::isa::find_modifier(word);
    if (!modifier) return {};
    modifiers.push_back(*modifier);
  }
  return pyptx::isa::forms_with_room(*opcode, modifiers);
}

}  // namespace

int isa(std::span<const std::string> words, Streams& streams) {
  std::string problem;
  const auto arguments = read_arguments(words, {{"--json", "--help"}, {}}, problem);
  if (!arguments) return usage_error(streams, "isa", problem);
  if (arguments->has("--help")) {
    streams.out << kIsaHelp;
    return kSuccess;
  }
  if (arguments->positional.empty()) {
    for (const std::string_view opcode : pyptx::isa::all_opcodes()) streams.out << opcode << '\n';
  }
  int status = kSuccess;
  for (const std::string& text : arguments->positional) {
    const std::vector<const Form*> forms = forms_of(text);
    for (const Form* form : forms) {
      arguments->has("--json") ? show_json(*form, streams.out) : show(*form, streams.out);
    }
    if (!forms.empty()) continue;
    status = kInputErrors;
    const auto spelling = pyptx::isa::spell(text);
    streams.err << (spelling ? "pyptx isa: no form has room for '" + text + "'\n"
                             : diag::render(spelling.error(), nullptr));
  }
  return status;
}

}  // namespace pyptx::cli
