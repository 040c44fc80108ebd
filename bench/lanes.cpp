// SPDX-License-Identifier: Apache-2.0
//
// Warp instructions per second of the emulator, on one core:
// lanes_bench [--rounds N] [--only PART-OF-A-NAME] [--checks basic]
// Each figure is the best of rounds that take turns, in millions per second of processor time; all
// instructions of the loop count, its own three too. See emulated.h.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "emulated.h"

namespace {

using pyptx::bench::Job;
using pyptx::bench::Timed;

constexpr unsigned kThreads = 128;

std::string repeated(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// Integers, floats, comparisons and selections in about the shares of a kernel's inner loop.
Job alu_mix() {
  const std::string values =
      "mov.u32 %r2, %tid.x;\nmov.u32 %r3, 7;\nmov.u32 %r4, 11;\nmov.u32 %r5, 3;\n"
      "mov.f32 %f1, 0f3F800001;\nmov.f32 %f2, 0f3F7FFFFF;\nmov.f32 %f3, 0f3A800000;\n"
      "mov.f32 %f4, 0f00000000;\nmov.f32 %f5, 0f3F000000;\n";
  const std::string group =
      "mad.lo.u32 %r3, %r3, %r2, %r4;\nfma.rn.f32 %f4, %f1, %f2, %f4;\n"
      "add.u32 %r4, %r4, %r5;\nfma.rn.f32 %f5, %f5, %f2, %f3;\nxor.b32 %r6, %r3, %r4;\n"
      "shl.b32 %r7, %r6, 3;\nmul.f32 %f6, %f4, %f5;\nand.b32 %r5, %r7, 255;\n"
      "setp.gt.s32 %p2, %r6, %r4;\nselp.b32 %r4, %r6, %r4, %p2;\nadd.f32 %f7, %f6, %f1;\n"
      "max.s32 %r6, %r6, %r7;\nmin.f32 %f3, %f7, %f3;\nsub.u32 %r4, %r4, %r6;\n";
  return {"ALU mix", values, repeated(4, group), 56, kThreads};
}

/// Approximate functions of as many different numbers as there are lanes.
Job functions(const std::string& names) {
  std::string body;
  int count = 0;
  std::istringstream words(names);
  for (std::string word; words >> word; ++count) body += word + ".approx.f32 %f2, %f1;\n";
  return {names + ", approximate",
          "mov.u32 %r2, %tid.x;\ncvt.rn.f32.u32 %f1, %r2;\nfma.rn.f32 %f1, %f1, 0f3D4CCCCD, "
          "0f3DCCCCCD;\n",
          repeated(16 / count, body), 16, kThreads};
}

/// Writes the whole array, then makes an address of every thread: `lane` times 4 bytes.
std::string array_of(const std::string& lane) {
  return ".shared .align 16 .b8 tile[16384];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, tile;\n"
         "mad.lo.u32 %r4, %r2, 4, %r3;\nmov.u32 %r5, 0;\nfill:\n"
         "mad.lo.u32 %r6, %r5, 2654435761, %r2;\nst.shared.b32 [%r4], %r6;\n"
         "add.u32 %r4, %r4, 512;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 32;\n"
         "@%p1 bra fill;\nbar.sync 0;\n" +
         lane + "mad.lo.u32 %r4, %r2, 4, %r3;\n";
}

/// `form` with its value in braces where there are several, at offsets that are `step` bytes apart.
std::string accesses(const std::string& form, bool is_load, const std::string& value, int step) {
  std::string all;
  for (int i = 0; i < 16; ++i) {
    const std::string place = "[%r4+" + std::to_string(i * step) + "]";
    all += form + " " + (is_load ? value + ", " + place : place + ", " + value) + ";\n";
  }
  return all;
}

std::vector<Job> all_jobs() {
  const std::string rows = array_of("");
  // Thread t takes element 37 t modulo 128: no two neighbours are adjacent.
  const std::string scattered = array_of("mul.lo.u32 %r2, %r2, 37;\nand.b32 %r2, %r2, 127;\n");
  const std::string quads = array_of("mul.lo.u32 %r2, %r2, 4;\n");
  return {
      alu_mix(),
      functions("ex2"),
      functions("rcp rsqrt sqrt lg2"),
      functions("sin cos tanh ex2"),
      {"ld.shared, a row", rows, accesses("ld.shared.b32", true, "%r6", 512), 16, kThreads},
      {"ld.shared, scattered", scattered, accesses("ld.shared.b32", true, "%r6", 512), 16,
       kThreads},
      {"ld.shared.v4, a row", quads,
       accesses("ld.shared.v4.f32", true, "{%f1, %f2, %f3, %f4}", 512), 16, kThreads},
      {"st.shared, a row", rows, accesses("st.shared.b32", false, "%r6", 512), 16, kThreads},
      {"st.shared, scattered", scattered, accesses("st.shared.b32", false, "%r6", 512), 16,
       kThreads},
  };
}

/// Millions of warp instructions per second.
double once(const Timed& timed, bool races) {
  pyptx::emu::Options options;
  options.races = races;
  const auto spent = timed.once(options);
  return spent.warp_instructions / spent.microseconds;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 15;
  std::size_t modes = 2;  // without and with the race detector
  std::vector<Job> jobs = all_jobs();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--rounds") rounds = std::atoi(argv[i + 1]);
    if (option == "--checks") modes = 1;
    if (option == "--only") {
      std::erase_if(
          jobs, [&](const Job& job) { return job.name.find(argv[i + 1]) == std::string::npos; });
    }
  }
  std::vector<Timed> timed;
  for (const Job& job : jobs) timed.emplace_back(job, 100, 2100);
  std::vector<double> best(2 * jobs.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      for (std::size_t races = 0; races < modes; ++races) {
        best[2 * i + races] = std::max(best[2 * i + races], once(timed[i], races != 0));
      }
    }
  }
  std::printf("%-40s %10s %10s  (M warp instructions/s, best of %d)\n", "", "basic", "races",
              rounds);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::printf("%-40s %10.1f %10.1f\n", jobs[i].name.c_str(), best[2 * i], best[2 * i + 1]);
  }
  return 0;
}
