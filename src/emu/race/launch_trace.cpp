// SPDX-License-Identifier: Apache-2.0
//
// Traces of launches. See launch_trace.h.
#include "race/launch_trace.h"

#include <algorithm>

#include "pyptx/emu/stream.h"

namespace pyptx::emu {

Stream::Stream() = default;
Stream::~Stream() = default;
void Stream::set_last(std::unique_ptr<LaunchTrace> trace) { last_ = std::move(trace); }

void LaunchTrace::add(const GlobalShadow& shadow) {
  for (const auto& [number, from] : shadow.pages()) {
    std::unique_ptr<Page>& page = pages[number];
    if (!page) page = std::make_unique<Page>();
    const GlobalPage::Words& words = from->in_words();
    for (u32 cell = 0; cell < GlobalPage::kCells; ++cell) {
      page->touched[cell] |= words.touched[cell];
      if (const Stamp write = words.writes[cell]; !write.empty()) {
        page->writer[cell] = static_cast<u16>(write.pc());
      }
      if (const Stamp read = words.reads[cell]; !read.empty()) {
        page->reader[cell] = static_cast<u16>(read.pc());
      }
    }
  }
}

std::string_view LaunchTrace::conflict(u64 address, u64 bytes, bool is_write,
                                       std::string& by) const {
  for (u64 word = address & ~3ULL; word < address + bytes; word += 4) {
    const auto found = pages.find(word >> GlobalPage::kShift);
    if (found == pages.end()) continue;
    const Page& page = *found->second;
    const u32 cell = static_cast<u32>(word % GlobalPage::kBytes) / 4;
    const u64 from = std::max(address, word) - word;
    const u64 to = std::min(address + bytes, word + 4) - word;
    const u32 part = (15U << from) & (15U >> (4 - to));
    const auto name = [&](u16 pc) {
      by = pc < instructions.size() ? instructions[pc] : std::string();
    };
    if ((page.touched[cell] & part) != 0) {
      name(page.writer[cell]);
      return "writes";
    }
    if (is_write && ((page.touched[cell] >> 4) & part) != 0) {
      name(page.reader[cell]);
      return "reads";
    }
  }
  return {};
}

}  // namespace pyptx::emu
