// SPDX-License-Identifier: Apache-2.0
//
// Instructions of a loop on the emulator, timed on one core: this thread's processor time, decode
// and launch left out by the difference of a long run and a short one.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/emu/emulator.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/verify/instruction.h"

namespace pyptx::bench {

/// Microseconds of processor time that this thread has used.
inline double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

[[noreturn]] inline void give_up(const diag::Diagnostic& error) {
  std::fputs(diag::render(error, nullptr).c_str(), stderr);
  std::exit(1);
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Job {
  std::string name;
  std::string declarations;
  std::string body;
  int instructions;  // of the loop's body
  unsigned threads;
};

/// A loop of `count` times the instructions; %r1 and %p1 are the loop's.
inline std::string looped(const Job& job, int count) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
         ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<128>;\n" +
         job.declarations + "mov.u32 %r1, 0;\nagain:\n" + job.body +
         "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, " + std::to_string(count) +
         ";\n@%p1 bra again;\nret;\n}\n";
}

/// What a run of a job took beyond a shorter one.
struct Spent {
  double microseconds;
  double loops;              // of each thread
  double warp_instructions;  // all of them, the loop's own too
};

class Timed {
 public:
  Timed(const Job& job, int short_count, int long_count)
      : job_(job), counts_{short_count, long_count} {
    for (int i = 0; i < 2; ++i) {
      verify::InstructionJudge judge;
      syntax::ParseOptions options;
      options.judge = &judge;
      auto module = syntax::parse(looped(job, counts_[i]), job.name, options);
      if (!module) give_up(module.error());
      auto program = emu::decode(std::move(*module), {});
      if (!program) give_up(program.error());
      programs_[i] = *program;
    }
  }

  Spent once(const emu::Options& options) const {
    double spent[2];
    double ran[2];
    for (int i = 0; i < 2; ++i) {
      emu::Launch launch;
      launch.block = {job_.threads, 1, 1};
      launch.options = options;
      launch.options.threads = 1;
      const double start = now();
      auto report = emu::run(*programs_[i], launch);
      spent[i] = now() - start;
      if (!report) give_up(report.error());
      ran[i] = static_cast<double>(report->warp_instructions);
    }
    return {spent[1] - spent[0], static_cast<double>(counts_[1] - counts_[0]), ran[1] - ran[0]};
  }

 private:
  const Job& job_;
  int counts_[2];
  std::shared_ptr<const emu::Program> programs_[2];
};

}  // namespace pyptx::bench
