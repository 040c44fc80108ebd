// SPDX-License-Identifier: Apache-2.0
//
// pyptx._core.layout: where instructions, swizzles, descriptors and copies put elements, as plain
// numbers. What they mean is src/layout's; pyptx.layout draws them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/layout.h"
#include "pyptx/emu/fragments.h"
#include "pyptx/isa/form_info.h"
#include "pyptx/layout/banks.h"
#include "pyptx/layout/canonical.h"
#include "pyptx/layout/tcgen05_descriptor.h"

namespace pyptx::python {
namespace {

using namespace nb::literals;
using layout::Fragment;
using layout::FragmentPlace;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using Place = std::tuple<u32, u32, u32>;

Place as_tuple(const FragmentPlace& at) { return {at.row, at.column, at.matrix}; }

// --- fragments
// ------------------------------------------------------------------------------------

/// Forms of the opcode that have fragments; raises ValueError for a word that is no opcode.
std::vector<const isa::Form*> forms_with_fragments(std::string_view opcode) {
  const auto known = isa::find_opcode(opcode);
  std::vector<const isa::Form*> forms;
  if (!known) return forms;
  for (const isa::Form& form : isa::forms_of(*known)) {
    if (emu::has_fragments(form.sem)) forms.push_back(&form);
  }
  return forms;
}

std::vector<std::string> opcodes() {
  std::vector<std::string> names;
  for (const isa::Form& form : isa::all_forms()) {
    if (!emu::has_fragments(form.sem)) continue;
    const std::string name(form.opcode);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> spellings(const std::string& opcode,
                                   const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::vector<std::string> found;
  for (const isa::Form* form : forms_with_fragments(opcode)) {
    for (const isa::Spelling* spelling : isa::spellings(*form, views)) {
      if (std::ranges::find(found, spelling->text) == found.end()) found.push_back(spelling->text);
    }
  }
  return found;
}

using SlotWords = std::vector<std::pair<std::string_view, std::vector<std::string_view>>>;

/// What the slots of each form take.
std::vector<SlotWords> slots(const std::string& opcode) {
  std::vector<SlotWords> all;
  for (const isa::Form* form : forms_with_fragments(opcode)) {
    SlotWords words;
    for (const isa::SlotInfo& slot : isa::slots(*form)) {
      std::vector<std::string_view> values;
      values.reserve(slot.values.size());
      for (const auto& value : slot.values) values.push_back(value.text);
      words.emplace_back(slot.name, std::move(values));
    }
    all.push_back(std::move(words));
  }
  return all;
}

/// Of the form with the most of them: wgmma's A may be in registers, or not.
std::vector<emu::OperandFragment> fragments(const std::string& spelling) {
  const auto known = isa::spell(spelling);
  std::vector<emu::OperandFragment> most;
  if (!known) return most;
  for (const isa::Candidate& form : (*known)->candidates) {
    std::vector<emu::OperandFragment> these = emu::fragments(form);
    if (these.size() > most.size()) most = std::move(these);
  }
  return most;
}

constexpr std::string_view kAxes[] = {"mk", "kn", "mn", "memory", "tensor"};

using Bits = std::pair<u32, u32>;

Bits as_pair(const layout::BitsPlace& at) { return {at.thread, at.bit}; }

void bind_bits(nb::module_& m) {
  m.def(
      "metadata",
      [](u32 bits, u32 stored, u32 selector, u32 row, u32 chunk) {
        return as_pair(layout::mma_metadata(bits, stored, selector, row, chunk));
      },
      "bits"_a, "stored"_a, "selector"_a, "row"_a, "chunk"_a,
      "Thread and lowest bit of the metadata of a chunk of mma.sp.");
  m.def("metadata_threads", &layout::mma_metadata_threads, "bits"_a, "stored"_a);
  m.def("metadata_chunk", &layout::mma_chunk, "bits"_a);
  m.def(
      "scale_a",
      [](u32 row, u32 index, u32 byte, u32 thread) {
        return as_pair(layout::mma_scale_a(row, index, byte, thread));
      },
      "row"_a, "index"_a, "byte"_a = 0, "thread"_a = 0);
  m.def(
      "scale_b",
      [](u32 column, u32 index, u32 byte, u32 thread) {
        return as_pair(layout::mma_scale_b(column, index, byte, thread));
      },
      "column"_a, "index"_a, "byte"_a = 0, "thread"_a = 0,
      "Thread and lowest bit of a block scale of mma.");
}

void bind_fragments(nb::module_& m) {
  nb::class_<Fragment>(m, "Fragment", "Which element each register of each thread holds.")
      .def_ro("threads", &Fragment::threads)
      .def_ro("registers", &Fragment::registers)
      .def_ro("elements", &Fragment::elements, "Of one register, the lowest bits first.")
      .def(
          "at",
          [](const Fragment& f, u32 thread, u32 reg, u32 element) {
            if (thread >= f.threads || reg >= f.registers || element >= f.elements) {
              throw nb::index_error("no such thread, register or element");
            }
            return as_tuple(f.at(thread, reg, element));
          },
          "thread"_a, "register"_a, "element"_a = 0, "Row, column and matrix.")
      .def(
          "owner",
          [](const Fragment& f, u32 row, u32 column, u32 matrix) -> std::optional<Place> {
            const auto owner = f.owner({row, column, matrix});
            if (!owner) return std::nullopt;
            return Place{owner->thread, owner->reg, owner->element};
          },
          "row"_a, "column"_a, "matrix"_a = 0,
          "Thread, register and element that hold a place; None where nobody does.");
  using emu::OperandFragment;
  nb::class_<OperandFragment>(m, "OperandFragment", "An operand that is a fragment.")
      .def_ro("operand", &OperandFragment::operand)
      .def_prop_ro("axes",
                   [](const OperandFragment& f) { return kAxes[static_cast<std::size_t>(f.axes)]; })
      .def_ro("fragment", &OperandFragment::fragment)
      .def_ro("element_bits", &OperandFragment::element_bits)
      .def_ro("register_bits", &OperandFragment::register_bits)
      .def_ro("rows", &OperandFragment::rows)
      .def_ro("columns", &OperandFragment::columns)
      .def_ro("matrices", &OperandFragment::matrices)
      .def_ro("address_rows", &OperandFragment::address_rows)
      .def_ro("address_by_column", &OperandFragment::address_by_column)
      .def_ro("is_compressed", &OperandFragment::is_compressed);
  m.def("opcodes", &opcodes, "Opcodes whose instructions have fragments.");
  m.def("spellings", &spellings, "opcode"_a, "words"_a,
        "The legal spellings with fragments that have each of the words.");
  m.def("slots", &slots, "opcode"_a, "What the slots of its forms with fragments take.");
  m.def("fragments", &fragments, "spelling"_a, "Its operands that are fragments.");
}

// --- tensor memory
// --------------------------------------------------------------------------------

std::vector<Place> accumulator(u32 rows, u32 columns, int cta_group, bool is_ws, bool is_sparse) {
  const layout::AccumulatorLayout of{rows, columns, cta_group, is_ws, is_sparse};
  std::vector<Place> places;
  places.reserve(std::size_t{rows} * columns);
  for (u32 row = 0; row < rows; ++row) {
    for (u32 column = 0; column < columns; ++column) {
      const layout::TmemPlace at = layout::accumulator_place(of, row, column);
      places.emplace_back(at.cta, at.lane, at.column);
    }
  }
  return places;
}

// --- shared memory
// --------------------------------------------------------------------------------

std::vector<u32> addresses(const std::string& kind, u64 bits, bool is_mn_major, u32 element_bytes,
                           u32 rows, u32 depth) {
  const layout::Major major = is_mn_major ? layout::Major::MN : layout::Major::K;
  const auto wgmma = layout::MatrixDescriptor::decode(bits);
  const auto tcgen05 = layout::Tcgen05MatrixDescriptor::decode(bits);
  const bool is_wgmma = kind == "wgmma";  // one-place: a kind of descriptor, no instruction
  std::vector<u32> all;
  all.reserve(std::size_t{rows} * depth);
  for (u32 mn = 0; mn < rows; ++mn) {
    for (u32 k = 0; k < depth; ++k) {
      all.push_back(is_wgmma ? wgmma.address(major, element_bytes, mn, k)
                             : tcgen05.address(major, element_bytes, mn, k));
    }
  }
  return all;
}

using Canonical = std::tuple<std::string_view, u32, u32>;

Canonical canonical(u32 element_bytes, u32 mn, u32 k, bool is_mn_major,
                    const std::optional<std::string>& swizzle, bool byte_mn) {
  layout::OperandTile tile{element_bytes, mn, k, is_mn_major ? layout::Major::MN : layout::Major::K,
                           byte_mn};
  const auto found =
      swizzle ? layout::canonical_layout(tile, map_swizzle(*swizzle)) : layout::pick_layout(tile);
  if (!found) throw nb::value_error(found.error().c_str());
  constexpr std::string_view kNames[] = {"none", "32B", "64B", "128B"};
  return {kNames[static_cast<std::size_t>(found->swizzle)], found->leading_bytes,
          found->stride_bytes};
}

u32 k_advance(u32 element_bytes, u32 mn, u32 k, bool is_mn_major, const std::string& swizzle,
              u32 from) {
  const layout::OperandTile tile{element_bytes, mn, k,
                                 is_mn_major ? layout::Major::MN : layout::Major::K, true};
  return layout::k_advance(tile, map_swizzle(swizzle), from);
}

std::vector<u32> swizzled(const std::string& mode, const std::vector<u32>& at) {
  const layout::Tcgen05Swizzle known = tcgen05_mode(mode);
  std::vector<u32> all;
  all.reserve(at.size());
  for (const u32 address : at) all.push_back(layout::apply_swizzle(known, address));
  return all;
}

/// (first lane, lanes, words of each bank, wavefronts)
using Group = std::tuple<u32, u32, std::vector<std::vector<u64>>, u64>;

struct Lanes {
  std::array<u64, layout::kWarpLanes> addresses{};
  u32 mask = 0;
};

Lanes lanes_of(const std::vector<std::optional<u64>>& given) {
  if (given.size() > layout::kWarpLanes) throw nb::value_error("a warp has 32 lanes");
  Lanes lanes;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) continue;
    lanes.addresses[i] = *given[i];
    lanes.mask |= 1U << i;
  }
  return lanes;
}

std::vector<Group> bank_groups(const std::vector<std::optional<u64>>& given, u32 bytes) {
  const Lanes lanes = lanes_of(given);
  std::vector<Group> all;
  for (const auto& group : layout::bank_groups(lanes.addresses, lanes.mask, bytes)) {
    all.emplace_back(group.first_lane, group.lanes,
                     std::vector<std::vector<u64>>(group.words.begin(), group.words.end()),
                     group.wavefronts());
  }
  return all;
}

u64 sectors(const std::vector<std::optional<u64>>& given, u32 bytes) {
  const Lanes lanes = lanes_of(given);
  return layout::sectors(lanes.addresses, lanes.mask, bytes);
}

}  // namespace

layout::Tcgen05Swizzle tcgen05_mode(const std::string& name) {
  if (name == "128B_32B") return layout::Tcgen05Swizzle::B128Atom32;
  return layout::tcgen05_swizzle(map_swizzle(name));
}

void bind_layout(nb::module_& core) {
  nb::module_ m = core.def_submodule("layout", "Where instructions and copies put elements.");
  bind_fragments(m);
  bind_bits(m);
  m.def("accumulator", &accumulator, "m"_a, "n"_a, "cta_group"_a = 1, "ws"_a = false,
        "sparse"_a = false,
        "CTA, lane and column of each element of D of tcgen05.mma, row by row.");
  m.def("addresses", &addresses, "kind"_a, "bits"_a, "mn_major"_a, "element_bytes"_a, "rows"_a,
        "depth"_a, "The shared address of each element that a descriptor names, row by row.");
  m.def("canonical", &canonical, "element_bytes"_a, "mn"_a, "k"_a, "mn_major"_a = false,
        "swizzle"_a = nb::none(), "byte_mn"_a = false,
        "Swizzle, leading and stride bytes of an operand tile; ValueError where there are none.");
  m.def("k_advance", &k_advance, "element_bytes"_a, "mn"_a, "k"_a, "mn_major"_a, "swizzle"_a,
        "start"_a,
        "Bytes from a tile to where a descriptor of its columns from `start` on begins.");
  m.def("swizzled", &swizzled, "mode"_a, "addresses"_a, "Where the bytes at addresses lie.");
  m.def(
      "swizzle_span",
      [](const std::string& mode) { return layout::swizzle_span(tcgen05_mode(mode)); }, "mode"_a,
      "Bytes of one row of the pattern.");
  m.def("bank_groups", &bank_groups, "addresses"_a, "bytes"_a,
        "First lane, lanes, words of each bank and wavefronts of each group of lanes.");
  m.def("sectors", &sectors, "addresses"_a, "bytes"_a);
  bind_layout_descriptors(m);
}

}  // namespace pyptx::python
