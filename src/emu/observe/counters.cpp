// SPDX-License-Identifier: Apache-2.0
//
// Sums by instruction, opcode and line, and the tables that people read.
#include "pyptx/emu/counters.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "observe/observer.h"

namespace pyptx::emu {
namespace {

constexpr std::string_view kRoutes[] = {
    "global",          "shared",          "dsmem",
    "local",           "param",           "const",
    "async to shared", "async to global", "async shared to shared"};
static_assert(std::size(kRoutes) == static_cast<std::size_t>(Route::Count));

using Rows = std::vector<Counters::Row>;

/// Rows of equal key added up, the most executed first; equals in the order of their keys.
template <typename Key>
Rows summed(const Rows& rows, Key&& key) {
  std::map<decltype(key(rows[0])), Counters::Row> sums;
  for (const Counters::Row& row : rows) {
    auto [at, is_new] = sums.try_emplace(key(row));
    if (is_new) {
      std::tie(at->second.file, at->second.line, at->second.name) = key(row);
    }
    at->second.cost += row.cost;
  }
  Rows result;
  for (auto& [ignored, row] : sums) result.push_back(std::move(row));
  std::ranges::stable_sort(result, std::greater{},
                           [](const Counters::Row& row) { return row.cost.executed; });
  return result;
}

std::string opcode_of(const std::string& spelling) {
  return spelling.substr(0, spelling.find('.'));
}

std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

std::string tenths(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

double lanes_of(const Cost& cost) {
  if (cost.executed == 0) return 0;
  return static_cast<double>(cost.lanes) / static_cast<double>(cost.executed);
}

constexpr std::string_view kCostHead = "  executed  lanes       bytes  conflicts   sectors";

std::string cost_text(const Cost& cost) {
  return padded(grouped(cost.executed), 10) + padded(tenths(lanes_of(cost)), 7) +
         padded(grouped(cost.loaded + cost.stored), 12) + padded(grouped(cost.conflicts), 11) +
         padded(grouped(cost.sectors), 10);
}

std::string place_of(const Counters::Row& row) {
  if (row.line == 0) return "";
  return row.file.substr(row.file.find_last_of('/') + 1) + ":" + std::to_string(row.line);
}

std::string section(std::string_view title, const Rows& rows, std::size_t most) {
  std::string text = "\n" + std::string(kCostHead) + "  " + std::string(title) + "\n";
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const std::string place = place_of(rows[i]);
    text += cost_text(rows[i].cost) + "  " + rows[i].name;
    if (!rows[i].name.empty() && !place.empty()) text += "  ";
    text += place + "\n";
  }
  if (rows.size() > most) text += "  and " + std::to_string(rows.size() - most) + " more\n";
  return text;
}

}  // namespace

double Counters::average_lanes() const { return lanes_of(total); }

Counters make_counters(const Program& program, const Tally& tally,
                       const std::vector<u64>& issue_counts) {
  Counters counters;
  for (std::size_t pc = 0; pc + 1 < program.code.size(); ++pc) {
    const ir::Instruction& source = program.source(program.code[pc]);
    Counters::Row row;
    row.name = source.spelling->text;
    if (const auto line = program.module->locations.line(source.loc)) {
      row.file = line->file;
      row.line = line->line;
    }
    if (pc < tally.costs.size()) row.cost = tally.costs[pc];
    if (pc < issue_counts.size()) row.cost.skipped = issue_counts[pc] - row.cost.executed;
    counters.total += row.cost;
    counters.instructions.push_back(std::move(row));
  }
  for (const auto& [pc, use] : tally.banks) counters.banks.emplace(pc, use);
  counters.branches = tally.branches;
  counters.divergent_branches = tally.divergent_branches;
  for (std::size_t i = 0; i < tally.routes.size(); ++i) {
    const RouteCount& route = tally.routes[i];
    if (route.requests == 0) continue;
    counters.traffic.push_back(
        {std::string(kRoutes[i]), route.requests, route.loaded, route.stored});
  }
  if (counters.instructions.empty()) return counters;
  using Key = std::tuple<std::string, std::uint32_t, std::string>;
  counters.opcodes = summed(counters.instructions, [](const Counters::Row& row) {
    return Key("", 0, opcode_of(row.name));
  });
  counters.lines = summed(counters.instructions,
                          [](const Counters::Row& row) { return Key(row.file, row.line, ""); });
  return counters;
}

std::string to_text(const Counters& counters, std::size_t most) {
  const Cost& total = counters.total;
  std::string text = grouped(total.executed) + " warp instructions, " + grouped(total.lanes) +
                     " thread instructions, " + tenths(counters.average_lanes()) +
                     " lanes on average\n" + grouped(total.partial) + " with some lanes idle, " +
                     grouped(total.skipped) + " skipped by their guards, " +
                     grouped(counters.divergent_branches) + " of " + grouped(counters.branches) +
                     " branches diverged\n" + grouped(total.conflicts) + " bank conflicts in " +
                     grouped(total.wavefronts) + " wavefronts of shared memory, " +
                     grouped(total.sectors) + " sectors of global memory\n";
  if (!counters.traffic.empty()) {
    text += "\n    requests  bytes loaded  bytes stored  memory\n";
    for (const Counters::Traffic& row : counters.traffic) {
      text += padded(grouped(row.requests), 12) + padded(grouped(row.loaded), 14) +
              padded(grouped(row.stored), 14) + "  " + row.space + "\n";
    }
  }
  return text + section("opcode", counters.opcodes, most) + section("line", counters.lines, most);
}

std::string profile_text(const Counters& counters) {
  Rows rows;
  std::vector<std::size_t> places;  // of each row: how often the line made the instruction
  std::map<std::tuple<std::string, std::uint32_t, std::string>, std::size_t> known;
  for (const Counters::Row& one : counters.instructions) {
    const auto [at, is_new] = known.try_emplace({one.file, one.line, one.name}, rows.size());
    if (is_new) {
      rows.push_back(one);
      places.push_back(1);
      continue;
    }
    rows[at->second].cost += one.cost;
    ++places[at->second];
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (places[i] > 1) rows[i].name += " x" + std::to_string(places[i]);
  }
  return section("instruction", rows, rows.size()).substr(1);
}

}  // namespace pyptx::emu
