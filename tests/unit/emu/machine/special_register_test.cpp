// SPDX-License-Identifier: Apache-2.0
//
// Special registers: those that the table says are emulated run, and have their values; the others
// are refused.
#include <map>

#include "bench.h"
#include "pyptx/isa/ids.h"
#include "pyptx/isa/type.h"

namespace pyptx::emu {
namespace {

using isa::Emulated;

/// Every thread writes the register, or its .x, to its own word.
std::string reading(const isa::SpecialRegisterInfo& info) {
  const std::string name = std::string(info.name) + (info.is_vector ? ".x" : "");
  std::string read = "mov.u32 %r1, " + name + ";";
  if (info.type == isa::Type::U64) read = "mov.u64 %rd1, " + name + "; cvt.u32.u64 %r1, %rd1;";
  if (info.type == isa::Type::Pred) read = "mov.pred %p1, " + name + "; selp.u32 %r1, 1, 0, %p1;";
  return entry(read +
               "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;"
               "mad.lo.u32 %r2, %r3, %r4, %r2; ld.param.u64 %rd2, [p0];"
               "mad.wide.u32 %rd2, %r2, 4, %rd2; st.global.u32 [%rd2], %r1; ret;");
}

template <typename F>
void each_register(F&& body) {
  for (std::size_t i = 1; i < isa::kSpecialRegisterCount; ++i) {
    body(isa::info(static_cast<isa::SpecialRegister>(i)));
  }
}

TEST(SpecialRegisters, RunWhereTheTableSaysSo) {
  each_register([](const isa::SpecialRegisterInfo& info) {
    const bool runs = Bench(reading(info)).problem().empty();
    EXPECT_EQ(runs, info.emulated != Emulated::No) << info.name;
  });
}

TEST(SpecialRegisters, HaveTheValuesOfTheirThread) {
  // Of thread 37 of CTA 3: four CTAs of 64 threads, in clusters of two.
  const std::map<std::string_view, std::uint32_t> expected{
      {"%tid", 37},
      {"%ntid", 64},
      {"%ctaid", 3},
      {"%nctaid", 4},
      {"%clusterid", 1},
      {"%nclusterid", 2},
      {"%cluster_ctaid", 1},
      {"%cluster_nctaid", 2},
      {"%cluster_ctarank", 1},
      {"%cluster_nctarank", 2},
      {"%is_explicit_cluster", 1},
      {"%laneid", 5},
      {"%warpid", 1},
      {"%nwarpid", 2},
      {"%smid", 1},
      {"%nsmid", 132},
      {"%gridid", 0},
      {"%lanemask_eq", 0x20},
      {"%lanemask_le", 0x3F},
      {"%lanemask_lt", 0x1F},
      {"%lanemask_ge", 0xFFFFFFE0},
      {"%lanemask_gt", 0xFFFFFFC0},
      {"%total_smem_size", 256},
      {"%aggr_smem_size", 256},
      {"%dynamic_smem_size", 256},
  };
  each_register([&](const isa::SpecialRegisterInfo& info) {
    if (info.emulated != Emulated::Warp && info.emulated != Emulated::Lane) return;
    ASSERT_TRUE(expected.contains(info.name)) << info.name;
    Bench bench(reading(info));
    std::vector<std::uint32_t> out(256, 0xDEAD);
    bench.buffer(0, out);
    bench.launch.grid = {4, 1, 1};
    bench.launch.block = {64, 1, 1};
    bench.launch.cluster = {2, 1, 1};
    bench.launch.dynamic_shared = 256;
    bench.run();
    EXPECT_EQ(out[3 * 64 + 37], expected.at(info.name)) << info.name;
    const bool differs = out[3 * 64 + 38] != out[3 * 64 + 37];
    EXPECT_EQ(differs, info.emulated == Emulated::Lane) << info.name;
  });
}

}  // namespace
}  // namespace pyptx::emu
