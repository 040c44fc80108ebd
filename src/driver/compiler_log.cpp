// SPDX-License-Identifier: Apache-2.0
#include "compiler_log.h"

#include <charconv>
#include <optional>

#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

using diag::Diagnostic;
using diag::Kind;
using support::concat;

constexpr std::size_t kMaxNotes = 20;

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

/// The line number after ", line " and before ";", or 0.
std::uint32_t line_number(std::string_view text) {
  static constexpr std::string_view kBefore = ", line ";
  const auto at = text.find(kBefore);
  if (at == std::string_view::npos) return 0;
  std::uint32_t number = 0;
  const char* begin = text.data() + at + kBefore.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  return error == std::errc{} && end != text.data() + text.size() && *end == ';' ? number : 0;
}

/// What follows "error   : " or "fatal   : " in a line of the log; nothing for other lines.
std::optional<std::string_view> complaint(std::string_view text) {
  for (const std::string_view severity : {"error", "fatal"}) {
    const auto at = text.find(severity);
    if (at == std::string_view::npos) continue;
    const auto colon = text.find_first_not_of(' ', at + severity.size());
    if (colon == std::string_view::npos || text[colon] != ':') continue;
    return trim(text.substr(colon + 1));
  }
  if (text.starts_with("ERROR") || text.starts_with("unrecognized option")) return text;
  return std::nullopt;
}

/// Lines that only say that the lines before them were errors.
bool is_epilogue(std::string_view text) {
  return text.find("Ptx assembly aborted") != std::string_view::npos ||
         text.find("NVJITLINK_ERROR_PTX_COMPILE") != std::string_view::npos;
}

/// The text between `before` and `after` in `log`.
std::optional<std::string_view> between(std::string_view log, std::string_view before,
                                        std::string_view after) {
  const auto at = log.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  const auto begin = at + before.size();
  const auto end = log.find(after, begin);
  if (end == std::string_view::npos) return std::nullopt;
  return log.substr(begin, end - begin);
}

std::optional<Diagnostic> special(std::string_view compiler, std::string_view target,
                                  std::string_view log) {
  if (const auto version = between(log, "Unsupported .version ", ";")) {
    const auto known = between(log, "current version is '", "'").value_or("an older one");
    return Diagnostic(Kind::CompilerTooOld,
                      {std::string(*version), std::string(compiler), std::string(known)})
        .note("pin a lower version, or install a newer compiler (nvidia-nvjitlink)");
  }
  if (const auto unknown = between(log, "Unsupported .target '", "'")) {
    return Diagnostic(Kind::CompilerTarget, {std::string(compiler), std::string(*unknown)});
  }
  if (log.find("_ARCH: ") != std::string_view::npos ||
      log.find("for option 'gpu-name'") != std::string_view::npos ||
      log.find("cannot be compiled to future architecture") != std::string_view::npos) {
    return Diagnostic(Kind::CompilerTarget, {std::string(compiler), std::string(target)});
  }
  if (const auto option = between(log, "Unknown option '", "'")) {
    return Diagnostic(Kind::CompilerOption, {std::string(compiler), std::string(*option)});
  }
  if (const auto option = between(log, "unrecognized option: ", "\n")) {
    return Diagnostic(Kind::CompilerOption, {std::string(compiler), std::string(*option)});
  }
  return std::nullopt;
}

std::vector<CompilerMessage> messages_of(std::string_view log) {
  std::vector<CompilerMessage> out;
  while (!log.empty()) {
    const auto end = log.find('\n');
    const std::string_view text = trim(log.substr(0, end));
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    if (is_epilogue(text)) continue;
    if (const auto words = complaint(text)) {
      out.push_back({line_number(text), std::string(*words)});
    }
  }
  return out;
}

}  // namespace

AssembleFailure refusal(std::string_view compiler, std::string_view target, std::string_view log) {
  AssembleFailure out;
  out.messages = messages_of(log);
  for (const CompilerMessage& message : out.messages) {
    if (out.ptx_line == 0) out.ptx_line = message.ptx_line;
  }
  if (auto found = special(compiler, target, log)) {
    out.diagnostic = std::move(*found);
  } else if (!out.messages.empty()) {
    out.diagnostic =
        Diagnostic(Kind::CompilerRefused, {std::string(compiler), out.messages.front().text});
  } else {
    const std::string_view words = trim(log);
    out.diagnostic = Diagnostic(
        Kind::CompilerRefused,
        {std::string(compiler), words.empty() ? "it gave no reason" : std::string(words)});
  }
  std::size_t quoted = 0;
  for (const CompilerMessage& message : out.messages) {
    if (++quoted > kMaxNotes) {
      out.diagnostic->notes.push_back(
          concat("and ", out.messages.size() - kMaxNotes, " more messages"));
      break;
    }
    out.diagnostic->notes.push_back(message.ptx_line != 0
                                        ? concat("PTX line ", message.ptx_line, ": ", message.text)
                                        : message.text);
  }
  return out;
}

AssembleFailure breakdown(std::string_view compiler, std::string why) {
  AssembleFailure out;
  out.diagnostic = Diagnostic(Kind::CompilerFailed, {std::string(compiler), std::move(why)});
  return out;
}

}  // namespace pyptx::driver
