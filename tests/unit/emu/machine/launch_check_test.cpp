// SPDX-License-Identifier: Apache-2.0
//
// What no target has is refused before anything runs: sizes whose sums would pass 32 bits, launches
// whose products would pass 64, and what belongs to other targets.
#include "bench.h"

namespace pyptx::emu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string module(const std::string& target, const std::string& items) {
  return ".version 9.4\n.target " + target + "\n.address_size 64\n" + items;
}

std::string body(const std::string& declarations) {
  return module("sm_90a", ".visible .entry k()\n{\n" + declarations + "\nret;\n}\n");
}

TEST(Limits, LocalMemoryOfAThread) {
  EXPECT_EQ(Bench(body(".local .align 16 .b8 a[524288];")).problem(), "");
  for (const char* size : {"524304", "4294967296", "4294967312", "18446744073709551615"}) {
    EXPECT_THAT(Bench(body(".local .align 16 .b8 a[" + std::string(size) + "];")).problem(),
                AllOf(HasSubstr("PTX0307"), HasSubstr("of local memory per thread")))
        << size;
  }
  // Each alone is below 32 bits, together they pass them.
  EXPECT_THAT(Bench(body(".local .b8 a[4294967288]; .local .b8 b[4294967288];")).problem(),
              HasSubstr("PTX0307"));
  EXPECT_THAT(Bench(body(".local .align 2147483648 .b8 a[8]; .local .align 2147483648 .b8 b[8];"
                         ".local .align 2147483648 .b8 c[8];"))
                  .problem(),
              HasSubstr("PTX0307"));
  // Slots of calls lie there too.
  EXPECT_THAT(Bench(body("{ .param .b8 a[4294967288]; .param .b8 b[64]; }")).problem(),
              HasSubstr("PTX0307"));
}

TEST(Limits, SharedMemoryOfAnEntry) {
  EXPECT_EQ(Bench(body(".shared .align 16 .b8 a[232448];")).problem(), "");
  const std::string plain = ".visible .entry k()\n{\n.shared .b8 a[SIZE];\nret;\n}\n";
  const auto sized = [&](const char* size) {
    std::string text = plain;
    return module("sm_90", text.replace(text.find("SIZE"), 4, size));
  };
  EXPECT_EQ(Bench(sized("49152")).problem(), "");
  EXPECT_THAT(Bench(sized("49153")).problem(), HasSubstr("PTX0307"));
  for (const char* size : {"232449", "4294967296", "8589934592", "18446744073709551615"}) {
    EXPECT_THAT(Bench(body(".shared .align 16 .b8 a[" + std::string(size) + "];")).problem(),
                AllOf(HasSubstr("PTX0307"), HasSubstr("in .shared")))
        << size;
  }
}

TEST(Limits, SharedMemoryOfAModuleIsThatOfTheEntriesThatNameIt) {
  const std::string items =
      ".shared .b8 large[40000];\n"
      ".visible .entry k()\n{\n.shared .b8 own[30000];\nst.shared.u8 [own], 1;\nret;\n}\n";
  EXPECT_EQ(Bench(module("sm_90", items)).problem(), "");
  const std::string both =
      ".shared .b8 large[40000];\n"
      ".visible .entry k()\n{\n.shared .b8 own[30000];\nst.shared.u8 [own], 1;\n"
      "st.shared.u8 [large], 1;\nret;\n}\n";
  EXPECT_THAT(Bench(module("sm_90", both)).problem(), HasSubstr("70000 bytes in .shared"));
}

TEST(Limits, ConstantsAndParameters) {
  const std::string kernel = ".visible .entry k()\n{\nret;\n}\n";
  EXPECT_EQ(Bench(module("sm_90a", ".const .b8 a[65536];\n" + kernel)).problem(), "");
  EXPECT_THAT(Bench(module("sm_90a", ".const .b8 a[65537];\n" + kernel)).problem(),
              AllOf(HasSubstr("PTX0307"), HasSubstr("in .const")));
  EXPECT_THAT(Bench(module("sm_90a", ".visible .entry k(.param .b8 a[4294967296])\n{\nret;\n}\n"))
                  .problem(),
              AllOf(HasSubstr("PTX0307"), HasSubstr("of parameters")));
}

TEST(Limits, MemoryThatTheMachineDoesNotHave) {
  Bench bench(
      module("sm_90a", ".global .b8 a[4611686018427387904];\n.visible .entry k()\n{\nret;\n}\n"));
  ASSERT_EQ(bench.problem(), "");
  EXPECT_THAT(bench.failure(), AllOf(HasSubstr("PTX0903"), HasSubstr("this machine has")));
}

TEST(Limits, GridsAndBlocks) {
  Bench bench(entry("ret;"));
  bench.launch.grid = {4194304, 2097152, 2097152};
  EXPECT_THAT(bench.failure(), AllOf(HasSubstr("PTX0903"), HasSubstr("the grid has 2097152 in y")));
  bench.launch.grid = {0x80000000U, 1, 1};
  EXPECT_THAT(bench.failure(), HasSubstr("the grid has 2147483648 in x"));
  bench.launch.grid = {1, 1, 65536};
  EXPECT_THAT(bench.failure(), HasSubstr("the grid has 65536 in z"));
  bench.launch.grid = {1, 1, 0};
  EXPECT_THAT(bench.failure(), HasSubstr("the grid has 0 in z"));
  bench.launch.grid = {1, 1, 1};
  bench.launch.block = {1, 1, 65};
  EXPECT_THAT(bench.failure(), HasSubstr("the block has 65 in z"));
  bench.launch.block = {65536, 65536, 1};
  EXPECT_THAT(bench.failure(), HasSubstr("the block has 65536 in x"));
  bench.launch.block = {64, 33, 1};
  EXPECT_THAT(bench.failure(), HasSubstr("1 to 1024 threads, got 2112"));
  bench.launch.block = {32, 1, 1};
  bench.launch.cluster = {65536, 65536, 1};
  EXPECT_THAT(bench.failure(), HasSubstr("the cluster has 65536 in x"));
  bench.launch.grid = bench.launch.cluster = {3, 3, 2};
  EXPECT_THAT(bench.failure(), HasSubstr("1 to 16 CTAs, got 18"));
}

TEST(Limits, ClustersAndSharedMemoryAreTheTargets) {
  const std::string kernel = ".visible .entry k()\n{\nret;\n}\n";
  const struct {
    const char* target;
    std::uint32_t shared;
    bool has_clusters;
  } rows[] = {{"sm_75", 64, false},  {"sm_80", 163, false}, {"sm_86", 99, false},
              {"sm_88", 99, false},  {"sm_90", 227, true},  {"sm_100", 227, true},
              {"sm_107", 227, true}, {"sm_120", 99, true}};
  for (const auto& row : rows) {
    Bench bench(module(row.target, kernel));
    bench.launch.dynamic_shared = row.shared << 10;
    EXPECT_EQ(bench.failure(), "") << row.target;
    ++bench.launch.dynamic_shared;
    EXPECT_THAT(bench.failure(), AllOf(HasSubstr("PTX0903"), HasSubstr("bytes of shared memory")));
    bench.launch.dynamic_shared = ~0U;
    EXPECT_THAT(bench.failure(), HasSubstr("PTX0903"));
    bench.launch.dynamic_shared = 0;
    bench.launch.grid = bench.launch.cluster = {2, 1, 1};
    EXPECT_EQ(bench.failure().empty(), row.has_clusters) << row.target;
  }
}

TEST(Limits, AMaximumOfThreadsWhoseProductPasses32Bits) {
  Bench bench(entry("ret;", "", ".maxntid 65536, 65536, 65536\n"));
  ASSERT_EQ(bench.problem(), "");
  bench.launch.block = {1024, 1, 1};
  EXPECT_EQ(bench.failure(), "");
}

}  // namespace
}  // namespace pyptx::emu
