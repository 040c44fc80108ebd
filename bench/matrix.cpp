// SPDX-License-Identifier: Apache-2.0
//
// Time of one matrix instruction on the emulator, on one core, with both ways to add:
// matrix_bench [--rounds N]
// Each figure is the median of rounds that take turns, in microseconds; see emulated.h.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "emulated.h"

namespace {

using pyptx::bench::Job;
using pyptx::bench::median;
using pyptx::bench::Timed;
using pyptx::emu::Numerics;

std::string registers(const std::string& name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + name + std::to_string(i);
  return text + "}";
}

/// Accumulators start with a value: what has none is followed, which is not what is timed.
std::string cleared(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
  return text;
}

Job wgmma(const std::string& name, const std::string& form, const std::string& tail) {
  // Two rows of 128 bytes repeated: small numbers of every type, and no row of zeros.
  const std::string fill =
      ".shared .align 1024 .b8 tile[49152];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, tile;\n"
      "mad.lo.u32 %r4, %r2, 4, %r3;\nmov.u32 %r5, 0;\nfill:\n"
      "mad.lo.u32 %r6, %r5, 2654435761, %r2;\nand.b32 %r6, %r6, 0x83FF83FF;\n"
      "or.b32 %r6, %r6, 0x38003800;\nst.shared.b32 [%r4], %r6;\nadd.u32 %r4, %r4, 512;\n"
      "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 96;\n@%p1 bra fill;\nbar.sync 0;\n"
      "shr.u32 %r3, %r3, 4;\ncvt.u64.u32 %rd1, %r3;\nor.b64 %rd1, %rd1, 4611686293305294848;\n"
      "add.u64 %rd2, %rd1, 1024;\nsetp.eq.u32 %p2, %r3, %r3;\n";
  std::string body = "wgmma.fence.sync.aligned;\n";
  for (int i = 0; i < 4; ++i) {
    body += form + " " + registers("f", 128) + ", %rd1, %rd2, %p2" + tail + ";\n";
  }
  return {name, cleared(128) + fill,
          body + "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n", 4, 128};
}

Job mma(const std::string& name, const std::string& form, int a, int b) {
  std::string declarations = ".reg .b32 %a<4>;\n.reg .b32 %b<2>;\n";
  for (int i = 0; i < a; ++i) declarations += "mov.b32 %a" + std::to_string(i) + ", 0x3F813F82;\n";
  for (int i = 0; i < b; ++i) declarations += "mov.b32 %b" + std::to_string(i) + ", 0x3F853F89;\n";
  std::string body;
  for (int i = 0; i < 16; ++i) {
    body += form + " " + registers("f", 4) + ", " + registers("a", a) + ", " + registers("b", b) +
            ", " + registers("f", 4) + ";\n";
  }
  return {name, cleared(4) + declarations, body, 16, 32};
}

/// Microseconds of one instruction.
double once(const Timed& timed, const Job& job, Numerics numerics) {
  pyptx::emu::Options options;
  options.numerics = numerics;
  options.races = false;
  const auto spent = timed.once(options);
  return spent.microseconds / (spent.loops * job.instructions);
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 15;
  if (argc == 3 && std::string_view(argv[1]) == "--rounds") rounds = std::atoi(argv[2]);
  const std::string dense = "wgmma.mma_async.sync.aligned.m64n256k";
  const Job jobs[] = {
      wgmma("wgmma m64n256k16 bf16", dense + "16.f32.bf16.bf16", ", 1, 1, 0, 0"),
      wgmma("wgmma m64n256k16 f16", dense + "16.f32.f16.f16", ", 1, 1, 0, 0"),
      wgmma("wgmma m64n256k16 bf16, B by columns", dense + "16.f32.bf16.bf16", ", 1, 1, 0, 1"),
      wgmma("wgmma m64n256k8 tf32", dense + "8.f32.tf32.tf32", ", 1, 1"),
      wgmma("wgmma m64n256k32 e4m3", dense + "32.f32.e4m3.e4m3", ", 1, 1"),
      mma("mma m16n8k16 bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2),
      mma("mma m16n8k16 f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 2),
  };
  std::vector<Timed> timed;
  for (const Job& job : jobs) timed.emplace_back(job, 2, 40);
  std::vector<std::vector<double>> results(2 * timed.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < timed.size(); ++i) {
      results[2 * i].push_back(once(timed[i], jobs[i], Numerics::Fast));
      results[2 * i + 1].push_back(once(timed[i], jobs[i], Numerics::Exact));
    }
  }
  std::printf("%-40s %10s %10s  (us each, median of %d)\n", "", "fast", "exact", rounds);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    std::printf("%-40s %10.2f %10.2f\n", jobs[i].name.c_str(), median(results[2 * i]),
                median(results[2 * i + 1]));
  }
  return 0;
}
