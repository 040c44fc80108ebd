// SPDX-License-Identifier: Apache-2.0
//
// Comparing clusters that ran by themselves. See ledger.h. Of every word the first cluster (by
// number) that wrote it and the first that read it are kept: of all pairs that race at a word, the
// one whose later cluster is the earliest is found whenever the second of them is entered.
#include "race/ledger.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "machine/cluster.h"
#include "race/advice.h"

namespace pyptx::emu {

bool Ledger::Pair::is_before(const Pair& other) const {
  const auto key = [](const Pair& pair) {
    return std::tuple(pair.later.cluster, pair.earlier.cluster, pair.address);
  };
  return key(*this) < key(other);
}

void Ledger::found(const Touch& one, const Touch& other, u64 address, bool is_same) {
  const diag::Kind kind = is_same ? diag::Kind::EmuSameValue : diag::Kind::EmuRace;
  if (launch_.options.is_ignored(kind)) return;
  const bool is_later = one.cluster > other.cluster;
  const Pair pair{is_later ? one : other, is_later ? other : one, address};
  std::optional<Pair>& best = is_same ? same_value_ : race_;
  if (!best || pair.is_before(*best)) best = pair;
}

void Ledger::enter(u64 address, u64 cluster, GlobalPage& from, u32 cell, Page& page) {
  const GlobalPage::Words& words = *from.words;
  const u8 wrote = words.touched[cell] & GlobalPage::kWritten;
  const u8 read = words.touched[cell] >> 4;
  const auto side = [&](const Page::Side& of, bool is_write) {
    return Touch{of.cluster[cell] - 1ULL, of.pc[cell], of.warp[cell], is_write};
  };
  const auto touch = [&](Stamp stamp, bool is_write) {
    return Touch{cluster, stamp.pc(), stamp.actor(), is_write};
  };
  const Touch writes = touch(words.writes[cell], true);
  // What was read before it was written is known by the writer's place.
  const bool has_reader = !words.reads[cell].empty() && !ReaderSets::is_set(words.reads[cell]);
  const Touch reads = touch(has_reader ? words.reads[cell] : words.writes[cell], false);
  if ((page.wrote.bytes[cell] & wrote) != 0) {
    const bool is_whole = wrote == 15 && page.wrote.bytes[cell] == 15;
    const bool is_same = is_whole && read == 0 && page.read.bytes[cell] == 0 &&
                         from.values[cell] == page.values[cell];
    found(writes, side(page.wrote, true), address, is_same);
  }
  if ((page.wrote.bytes[cell] & read) != 0) {
    found(reads, side(page.wrote, true), address, false);
  }
  if ((page.read.bytes[cell] & wrote) != 0) {
    found(writes, side(page.read, false), address, false);
  }
  const auto keep = [&](Page::Side& into, const Touch& mine, u8 bytes) {
    if (bytes == 0) return false;
    into.bytes[cell] |= bytes;
    if (into.cluster[cell] != 0 && into.cluster[cell] - 1 <= cluster) return false;
    into.cluster[cell] = static_cast<u32>(cluster) + 1;
    into.pc[cell] = static_cast<u16>(std::min(mine.pc, 0xFFFFU));
    into.warp[cell] = static_cast<u16>(mine.warp);
    return true;
  };
  if (keep(page.wrote, writes, wrote)) page.values[cell] = from.values[cell];
  keep(page.read, reads, read);
}

void Ledger::enter(u64 number, u64 cluster, GlobalPage& from, Page& page) {
  const GlobalPage::Words& words = from.in_words();
  for (u32 cell = 0; cell < GlobalPage::kCells; ++cell) {
    if (words.touched[cell] == 0) continue;
    enter((number << GlobalPage::kShift) + cell * 4ULL, cluster, from, cell, page);
  }
}

u64 Ledger::add(u64 cluster, GlobalShadow& shadow) {
  const std::lock_guard lock(mutex_);
  GlobalShadow::Pages touched = shadow.take_pages();
  soles_.merge(touched);
  for (const auto& [number, from] : touched) {
    // What is left: somebody has been here before.
    std::unique_ptr<GlobalPage>& sole = soles_[number];
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    if (sole) enter(number, sole->first, *sole, *page);
    sole = nullptr;
    enter(number, cluster, *from, *page);
  }
  return later_of_race();
}

std::optional<diag::Diagnostic> Ledger::tell(const std::optional<Pair>& pair,
                                             diag::Kind kind) const {
  if (!pair) return std::nullopt;
  const Touch& later = pair->later;
  const Touch& earlier = pair->earlier;
  diag::Diagnostic diagnostic(kind,
                              {later.is_write ? "store" : "load", memory_.name(pair->address)});
  const u32 ctas = launch_.cluster.x * launch_.cluster.y * launch_.cluster.z;
  const u32 threads = launch_.block.x * launch_.block.y * launch_.block.z;
  const u32 warps = (threads + kLanes - 1) / kLanes;
  const auto who = [&](const Touch& touch) {
    std::string text = touch.is_write ? "written" : "read";
    if (touch.pc + 1 < program_.code.size()) {
      text += " by " + program_.source(program_.code[touch.pc]).spelling->text;
    }
    if (touch.warp >= warps * ctas) return text + " of cluster " + std::to_string(touch.cluster);
    const std::array<u32, 3> at = block_of(launch_, touch.cluster, touch.warp / warps);
    return text + " of block (" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," +
           std::to_string(at[2]) + "), warp " + std::to_string(touch.warp % warps);
  };
  if (later.pc + 1 < program_.code.size()) {
    const ir::Instruction& source = program_.source(program_.code[later.pc]);
    diagnostic.loc = source.loc;
    diagnostic->place = program_.module->locations.resolve(source.loc);
  }
  if (earlier.pc + 1 < program_.code.size()) {
    const ir::Instruction& source = program_.source(program_.code[earlier.pc]);
    diag::Label label;
    label.text = earlier.is_write ? "written here" : "read here";
    label.loc = source.loc;
    label.place = program_.module->locations.resolve(source.loc);
    diagnostic->labels.push_back(std::move(label));
  }
  diagnostic->notes.push_back(who(earlier));
  diagnostic->notes.push_back(who(later));
  diagnostic->notes.push_back("nothing in the kernel orders its clusters");
  if (kind == diag::Kind::EmuSameValue) {
    advise_same_value(diagnostic);
  } else {
    advise_clusters(diagnostic);
  }
  return diagnostic;
}

}  // namespace pyptx::emu
