// SPDX-License-Identifier: Apache-2.0
//
// Time of one matrix instruction on the emulator, on one core, with both ways to add:
// matrix_bench [--rounds N]
// Each figure is the median of rounds that take turns, in microseconds of this thread's processor
// time, decode and launch left out by the difference of a long run and a short one.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/emu/emulator.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/verify/instruction.h"

namespace {

using pyptx::emu::Numerics;

double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

[[noreturn]] void give_up(const pyptx::diag::Diagnostic& error) {
  std::fputs(pyptx::diag::render(error, nullptr).c_str(), stderr);
  std::exit(1);
}

std::string registers(const std::string& name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + name + std::to_string(i);
  return text + "}";
}

/// A loop of `count` times the instructions, over operands near one.
std::string looped(const std::string& declarations, const std::string& body, int count) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
         ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<128>;\n" +
         declarations + "mov.u32 %r1, 0;\nagain:\n" + body +
         "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, " + std::to_string(count) +
         ";\n@%p1 bra again;\nret;\n}\n";
}

struct Job {
  std::string name;
  std::string declarations;
  std::string body;
  int instructions;  // of the loop's body
  unsigned threads;
};

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
  return {name, fill, body + "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
          4, 128};
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
  return {name, declarations, body, 16, 32};
}

class Timed {
 public:
  explicit Timed(const Job& job) : job_(job) {
    for (int i = 0; i < 2; ++i) {
      pyptx::verify::InstructionJudge judge;
      pyptx::syntax::ParseOptions options;
      options.judge = &judge;
      auto module =
          pyptx::syntax::parse(looped(job.declarations, job.body, kLoops[i]), job.name, options);
      if (!module) give_up(module.error());
      auto program = pyptx::emu::decode(*module, {});
      if (!program) give_up(program.error());
      programs_[i] = *program;
    }
  }

  double once(Numerics numerics) const {
    double spent[2];
    for (int i = 0; i < 2; ++i) {
      pyptx::emu::Launch launch;
      launch.block = {job_.threads, 1, 1};
      launch.options.threads = 1;
      launch.options.numerics = numerics;
      const double start = now();
      auto report = pyptx::emu::run(*programs_[i], launch);
      spent[i] = now() - start;
      if (!report) give_up(report.error());
    }
    return (spent[1] - spent[0]) / ((kLoops[1] - kLoops[0]) * job_.instructions);
  }

 private:
  static constexpr int kLoops[2] = {2, 40};
  const Job& job_;
  std::shared_ptr<const pyptx::emu::Program> programs_[2];
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
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
  std::vector<Timed> timed(std::begin(jobs), std::end(jobs));
  std::vector<std::vector<double>> results(2 * timed.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < timed.size(); ++i) {
      results[2 * i].push_back(timed[i].once(Numerics::Fast));
      results[2 * i + 1].push_back(timed[i].once(Numerics::Exact));
    }
  }
  std::printf("%-40s %10s %10s  (us each, median of %d)\n", "", "fast", "exact", rounds);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    std::printf("%-40s %10.2f %10.2f\n", jobs[i].name.c_str(), median(results[2 * i]),
                median(results[2 * i + 1]));
  }
  return 0;
}
