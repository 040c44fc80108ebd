// SPDX-License-Identifier: Apache-2.0
#include "pyptx/interop/report.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "pyptx/driver/disassemble.h"
#include "pyptx/support/concat.h"
#include "pyptx/syntax/printer.h"

namespace pyptx::interop {
namespace {

using support::concat;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

/// The number that stands in front of these words.
std::optional<std::uint32_t> number_before(std::string_view text, std::string_view words) {
  for (std::size_t at = text.find(words); at != std::string_view::npos;
       at = text.find(words, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    std::uint32_t number = 0;
    const auto read = std::from_chars(text.data() + begin, text.data() + at, number);
    if (begin != at && read.ec == std::errc()) return number;
  }
  return std::nullopt;
}

template <typename F>
void for_each_line(std::string_view text, const F& f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// "FADD" of "        /*0010*/  @!P0 FADD R1, R2, R3 ;"; empty of what is no instruction.
std::string_view mnemonic(std::string_view line) {
  std::size_t at = line.find("/*");
  if (at == std::string_view::npos) return {};
  at += 2;
  const std::size_t digits = at;
  while (at < line.size() && is_hexadecimal(line[at])) ++at;
  if (at - digits < 4 || !line.substr(at).starts_with("*/")) return {};
  line.remove_prefix(at + 2);
  const auto skip_blanks = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_blanks();
  if (line.starts_with('@')) {
    line.remove_prefix(std::min(line.find_first_of(" \t"), line.size()));
    skip_blanks();
  }
  if (line.empty() || !is_capital(line.front())) return {};
  std::size_t end = 0;
  while (end < line.size() && (is_capital(line[end]) || is_digit(line[end]) || line[end] == '_')) {
    ++end;
  }
  return line.substr(0, end);
}

using AuthorsLine = std::pair<std::string, std::uint32_t>;

/// The author's line of '//## File "some.cpp", line 3'.
std::optional<AuthorsLine> authors_line(std::string_view line) {
  constexpr std::string_view kFile = "//## File \"";
  constexpr std::string_view kLine = "\", line ";
  const std::size_t begin = line.find(kFile);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t name = begin + kFile.size();
  const std::size_t end = line.find(kLine, name);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view digits = line.substr(end + kLine.size());
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return AuthorsLine{std::string(line.substr(name, end - name)), number};
}

}  // namespace

void Report::count(std::string_view sass) {
  std::map<AuthorsLine, LineCost> by_line;
  for (LineCost& cost : lines) by_line[{cost.file, cost.line}] = std::move(cost);
  instructions.clear();
  std::map<std::string, std::size_t, std::less<>> places;  // in order of appearance
  std::optional<AuthorsLine> where;
  for_each_line(sass, [&](std::string_view line) {
    if (auto found = authors_line(line)) {
      where = std::move(found);
    } else if (const std::string_view name = mnemonic(line); !name.empty()) {
      const auto [place, is_new] = places.try_emplace(std::string(name), instructions.size());
      if (is_new) instructions.emplace_back(name, 0);
      ++instructions[place->second].second;
      if (where) ++by_line[*where].sass;
    }
  });
  std::ranges::stable_sort(instructions, std::greater<>(),
                           &std::pair<std::string, std::uint32_t>::second);
  lines.clear();
  for (auto& [line, cost] : by_line) {
    std::tie(cost.file, cost.line) = line;
    lines.push_back(std::move(cost));
  }
}

namespace {

std::string known(const std::optional<std::uint32_t>& value, std::string_view unit = "") {
  return value ? concat(*value, unit) : "unknown";
}

}  // namespace

std::vector<SourceLine> source_lines(const ir::Module& module) {
  std::vector<diag::Loc> locs;
  syntax::print(module, &locs);
  std::vector<SourceLine> out;
  for (std::size_t i = 0; i < locs.size(); ++i) {
    const auto point = module.locations.point(locs[i]);
    if (!point) continue;
    const auto helpers = module.locations.expansions(locs[i]);
    out.push_back({static_cast<std::uint32_t>(i + 1), std::string(point->file), point->line,
                   point->column, std::vector<std::string>(helpers.begin(), helpers.end())});
  }
  return out;
}

AssemblerCosts AssemblerCosts::of(std::string_view log) {
  AssemblerCosts out;
  out.registers = number_before(log, " registers");
  out.spill_stores = number_before(log, " bytes spill stores");
  out.spill_loads = number_before(log, " bytes spill loads");
  out.stack = number_before(log, " bytes stack frame");
  out.barriers = number_before(log, " barriers");
  out.static_shared = number_before(log, " bytes smem").value_or(0);
  for_each_line(log, [&](std::string_view line) {
    for (const std::string_view word : {"warning", "erformance", "erializ", "dvisory"}) {
      if (line.find(word) == std::string_view::npos) continue;
      out.advice.emplace_back(line);
      return;
    }
  });
  return out;
}

std::string Report::text() const {
  std::string out = concat(kernel, " for ", target, ", by ", compiler, "\n");
  out += concat("  registers      ", known(costs.registers), " per thread, ", threads,
                " threads per CTA\n");
  out += concat("  spills         ", known(costs.spill_stores, " B"), " stored, ",
                known(costs.spill_loads, " B"), " loaded; stack ", known(costs.stack, " B"), "\n");
  out += concat("  shared memory  ", costs.static_shared, " B static, ", dynamic_shared,
                " B dynamic\n");
  if (occupancy) {
    out += concat("  occupancy      ", occupancy->ctas, " CTAs, ", occupancy->warps, " of ",
                  occupancy->max_warps, " warps per multiprocessor, limited by ",
                  driver::text(occupancy->limited_by), "\n");
  }
  if (!instructions.empty()) {
    std::uint64_t total = 0;
    std::string mix;
    constexpr std::size_t kShown = 12;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const auto& [name, times] = instructions[i];
      total += times;
      if (i < kShown) mix += concat(i == 0 ? "" : ", ", name, " ", times);
    }
    out += concat("  SASS           ", total, " instructions: ", mix, "\n");
  }
  for (const std::string& line : costs.advice) out += concat("  ", line, "\n");
  for (const LineCost& cost : lines) {
    out += concat("  ", cost.file, ":", cost.line, ": ", cost.ptx, " PTX, ", cost.sass, " SASS\n");
  }
  return out;
}

diag::Result<Report> make_report(const KernelImage& image) {
  auto assembled = image.assemble(image.target(), {"-v"});
  if (!assembled) return assembled.failure();
  const driver::LaunchPlan& plan = image.plan();
  Report out;
  out.kernel = plan.entry;
  out.target = image.target();
  out.compiler = assembled->compiler;
  out.costs = AssemblerCosts::of(assembled->log);
  out.dynamic_shared = plan.dynamic_shared;
  out.threads = plan.block.x * plan.block.y * plan.block.z;
  if (out.costs.registers) {
    out.occupancy = driver::occupancy(out.target, *out.costs.registers,
                                      out.costs.static_shared + out.dynamic_shared, out.threads,
                                      out.costs.barriers.value_or(0));
  }
  std::map<AuthorsLine, std::uint32_t> ptx;
  if (const auto module = image.module()) {
    for (const SourceLine& line : source_lines(*module)) ++ptx[{line.file, line.line}];
  }
  for (const auto& [line, times] : ptx) out.lines.push_back({line.first, line.second, times, 0});
  if (const auto sass = driver::disassemble(assembled->cubin, true)) out.count(*sass);
  return out;
}

}  // namespace pyptx::interop
