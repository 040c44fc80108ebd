// SPDX-License-Identifier: Apache-2.0
//
// Tiles that a kernel shows: which pass of whom, through which swizzle, in which words.
#include <sstream>

#include "bench.h"
#include "pyptx/layout/stored_tile.h"

namespace pyptx::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Each of 64 threads stores its number; a loop of `passes` goes by the tile.
std::string body(int passes) {
  return entry(
      "mov.u32 %r0, %tid.x;\nmov.u32 %r2, tile;\nshl.b32 %r1, %r0, 2;\n"
      "add.u32 %r1, %r1, %r2;\nmov.u32 %r3, 0;\n"
      "AGAIN:\nst.shared.b32 [%r1], %r0;\nbar.sync 0;\n"  // instructions 5 and 6
      "add.u32 %r0, %r0, 100;\nadd.u32 %r3, %r3, 1;\nbar.sync 0;\n"
      "setp.lt.u32 %p0, %r3, " +
          std::to_string(passes) + ";\n@%p0 bra AGAIN;\n",
      ".shared .align 1024 .b8 tile[1024];\n");
}

std::vector<ShownTile> shown(const std::string& text, ir::ShownTile tile, std::string* said) {
  verify::InstructionJudge judge;
  syntax::ParseOptions options;
  options.judge = &judge;
  auto module = syntax::parse(text, "shown.ptx", options);
  EXPECT_TRUE(module.ok());
  tile.variable = (*module)->functions[0]->variables[0].name;
  (*module)->functions[0]->shown.push_back(std::move(tile));
  auto program = decode(std::move(*module), {});
  EXPECT_TRUE(program.ok());
  std::ostringstream out;
  Launch launch;
  launch.block = {64, 1, 1};
  launch.grid = {2, 1, 1};
  launch.params.resize(32);
  launch.options.output = &out;
  auto report = run(**program, launch);
  EXPECT_TRUE(report.ok());
  if (said != nullptr) *said = out.str();
  return report.ok() ? report->shown : std::vector<ShownTile>();
}

ir::ShownTile small() {
  ir::ShownTile tile;
  tile.before = 7;  // behind the barrier
  tile.type = isa::Type::U32;
  tile.shape = {2, 4};
  tile.label = "it";
  return tile;
}

TEST(Shown, ATileIsShownOnceBeforeItsInstruction) {
  std::string said;
  const auto tiles = shown(body(3), small(), &said);
  ASSERT_EQ(tiles.size(), 1U);
  EXPECT_THAT(tiles[0].elements, ElementsAre("0", "1", "2", "3", "4", "5", "6", "7"));
  EXPECT_THAT(said, HasSubstr("it: u32 2 x 4, CTA (0,0,0)\n     0 |  0  1  2  3\n"));
}

TEST(Shown, PassesAreThoseOfTheCta) {
  ir::ShownTile tile = small();
  tile.times = 2;
  tile.cta = {1, 0, 0};
  const auto tiles = shown(body(3), tile, nullptr);
  ASSERT_EQ(tiles.size(), 2U);
  EXPECT_EQ(tiles[1].pass, 2U);
  EXPECT_EQ(tiles[1].cta[0], 1U);
  EXPECT_EQ(tiles[1].elements[3], "103");
}

TEST(Shown, WhatNobodyWroteIsSaid) {
  ir::ShownTile tile = small();
  tile.shape = {2, 2, 32};
  const auto tiles = shown(body(1), tile, nullptr);
  ASSERT_EQ(tiles.size(), 1U);
  EXPECT_EQ(tiles[0].elements[63], "63");
  EXPECT_EQ(tiles[0].elements[64], "?");
}

TEST(Shown, ASwizzleIsUndone) {
  ir::ShownTile tile = small();
  tile.shape = {2, 32};
  tile.swizzle = static_cast<std::uint8_t>(layout::Swizzle::B128);
  const auto tiles = shown(body(1), tile, nullptr);
  ASSERT_EQ(tiles.size(), 1U);
  const layout::StoredTile stored{layout::Swizzle::B128, 2, 128};
  for (std::uint32_t row = 0; row < 2; ++row) {
    for (std::uint32_t column = 0; column < 32; ++column) {
      const std::uint32_t at = stored.address(1024, row, 4 * column) - 1024;
      EXPECT_EQ(tiles[0].elements[row * 32 + column], std::to_string(at / 4));
    }
  }
}

TEST(Shown, TheEndOfTheBodyIsAPlaceToo) {
  ir::ShownTile tile = small();
  tile.before = 1000;
  EXPECT_EQ(shown(body(1), tile, nullptr).size(), 1U);
}

}  // namespace
}  // namespace pyptx::emu
