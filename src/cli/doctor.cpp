// SPDX-License-Identifier: Apache-2.0
//
// pyptx doctor: the findings of examine(), and of the Python package where it runs, as text or
// JSON.
#include "pyptx/cli/doctor.h"

#include <algorithm>
#include <ostream>

#include "arguments.h"
#include "color.h"
#include "pyptx/diag/render.h"
#include "pyptx/version.h"
#include "subcommands.h"

namespace pyptx::cli {
namespace {

using State = Finding::State;

constexpr std::string_view kDoctorHelp =
    "usage: pyptx doctor [options]\n\n"
    "Tells what was found of what kernels need, and how to get what is missing: the driver and "
    "its\n"
    "devices, the compilers, the disk cache, the emulator; as `python -m pyptx` or the console\n"
    "script also the Python side: NumPy, torch, JAX, and which of their ways to a kernel work.\n\n"
    "  --json          one JSON object: version, ok, findings [{part, subject, state, detail,\n"
    "                  remedy, facts}]; state is good, absent or broken\n"
    "  --require NAME  it is an error when this is not there: device, compiler, cache, torch, "
    "jax,\n"
    "                  numpy; may be given several times\n"
    "  --color WHEN    auto (default), always, never\n\n"
    "Exit status: 0 nothing is broken and all that is required is there, 1 otherwise, 2 wrong\n"
    "use. What is absent (a GPU, a framework) is no error unless it is required.\n";

/// Whether a finding is one of those that --require names so.
bool is_named(const Finding& finding, std::string_view name) {
  if (finding.part == name) return true;
  return finding.part == "framework" &&
         finding.subject.substr(0, finding.subject.find(' ')) == name;
}

/// The names that are required and were not found good.
std::vector<std::string> missing(std::span<const std::string> names,
                                 std::span<const Finding> findings) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const bool is_there = std::ranges::any_of(findings, [&](const Finding& finding) {
      return is_named(finding, name) && finding.state == State::Good;
    });
    if (!is_there) out.push_back(name);
  }
  return out;
}

void write_json(std::span<const Finding> findings, bool is_well, std::ostream& out) {
  out << "{\"version\":" << diag::json_quote(PYPTX_VERSION)
      << ",\"ok\":" << (is_well ? "true" : "false") << ",\"findings\":[";
  const char* comma = "";
  for (const Finding& finding : findings) {
    out << comma << "{\"part\":" << diag::json_quote(finding.part)
        << ",\"subject\":" << diag::json_quote(finding.subject)
        << ",\"state\":" << diag::json_quote(text(finding.state))
        << ",\"detail\":" << diag::json_quote(finding.detail)
        << ",\"remedy\":" << diag::json_quote(finding.remedy) << ",\"facts\":{";
    const char* inner = "";
    for (const auto& [name, value] : finding.facts) {
      out << inner << diag::json_quote(name) << ':' << diag::json_quote(value);
      inner = ",";
    }
    out << "}}";
    comma = ",";
  }
  out << "]}\n";
}

std::string_view color_of(State state) {
  if (state == State::Good) return "\033[32m";
  return state == State::Broken ? "\033[31m" : "\033[33m";
}

void write_text(std::span<const Finding> findings, bool is_colored, std::ostream& out) {
  out << "pyptx " PYPTX_VERSION "\n";
  std::string_view part;
  for (const Finding& finding : findings) {
    if (finding.part != part) out << '\n' << finding.part << '\n';
    part = finding.part;
    const std::string_view state = text(finding.state);
    out << "  " << (is_colored ? color_of(finding.state) : "") << state
        << (is_colored ? "\033[0m" : "") << std::string(8 - state.size(), ' ') << finding.subject
        << ": " << finding.detail << '\n';
    if (!finding.remedy.empty()) out << "          -> " << finding.remedy << '\n';
  }
}

}  // namespace

std::string_view text(State state) {
  if (state == State::Good) return "good";
  return state == State::Broken ? "broken" : "absent";
}

int doctor(std::span<const std::string> words, Streams& streams, std::span<const Finding> more) {
  std::string problem;
  const auto arguments =
      read_arguments(words, {{"--help", "--json"}, {"--require", "--color"}}, problem);
  if (!arguments) return usage_error(streams, "doctor", problem);
  if (arguments->has("--help")) {
    streams.out << kDoctorHelp;
    return kSuccess;
  }
  const auto is_colored = wants_color(arguments->option("--color").value_or("auto"), streams);
  if (!is_colored) return usage_error(streams, "doctor", "--color is auto, always or never");
  static constexpr std::string_view kNames[] = {"device", "compiler", "cache",
                                                "torch",  "jax",      "numpy"};
  for (const std::string& name : arguments->every("--require")) {
    if (std::ranges::find(kNames, name) == std::end(kNames)) {
      return usage_error(streams, "doctor", "--require does not know '" + name + "'");
    }
  }
  if (!arguments->positional.empty()) {
    return usage_error(streams, "doctor", "it takes no '" + arguments->positional[0] + "'");
  }
  std::vector<Finding> findings = examine();
  findings.insert(findings.end(), more.begin(), more.end());
  const auto lacking = missing(arguments->every("--require"), findings);
  const auto broken = std::ranges::count(findings, State::Broken, &Finding::state);
  const bool is_well = lacking.empty() && broken == 0;
  if (arguments->has("--json")) {
    write_json(findings, is_well, streams.out);
  } else {
    write_text(findings, *is_colored, streams.out);
    if (broken != 0) streams.out << '\n' << broken << " broken\n";
    for (const std::string& name : lacking) streams.out << "\nrequired and not there: " << name;
    if (!lacking.empty()) streams.out << '\n';
  }
  return is_well ? kSuccess : kInputErrors;
}

int doctor_here(std::span<const std::string> words, Streams& streams) {
  return doctor(words, streams, {});
}

}  // namespace pyptx::cli
