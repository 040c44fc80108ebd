// SPDX-License-Identifier: Apache-2.0
//
// Throughput of reading, verifying and printing PTX on one core, each as a user calls it:
// syntax_bench [--seconds S] file.ptx...
// Each figure is the best of several passes over all files, in megabytes of input per second.
// Nothing is read from disk while the clock runs.
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/loc.h"
#include "pyptx/syntax/document.h"
#include "pyptx/syntax/lexer.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/text/text.h"

namespace {

using pyptx::syntax::Document;

struct Input {
  std::string path;
  std::string text;
};

/// Processor time of this thread: the figures are per core, whatever else the machine does.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Runs `pass` until `seconds` are over, three times at least; the best rate in MB/s.
double best_rate(std::size_t bytes, double seconds, const std::function<void()>& pass) {
  double best = 0;
  const double start = now();
  for (int i = 0; i < 3 || now() - start < seconds; ++i) {
    const double begin = now();
    pass();
    best = std::max(best, static_cast<double>(bytes) / 1e6 / (now() - begin));
  }
  return best;
}

class Bench {
 public:
  Bench(std::vector<Input> inputs, double seconds) : inputs_(std::move(inputs)), seconds_(seconds) {
    for (const Input& input : inputs_) {
      bytes_ += input.text.size();
      documents_.push_back(Document::read(input.text, input.path));
    }
  }

  /// False when a text does not come back byte for byte.
  bool check() const {
    bool is_ok = true;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (print(documents_[i]) != inputs_[i].text) {
        std::printf("%s: the print differs from the text\n", inputs_[i].path.c_str());
        is_ok = false;
      }
      if (!documents_[i].diagnostics().empty()) {
        std::printf("%s: %zu problems, the first %s\n", inputs_[i].path.c_str(),
                    documents_[i].diagnostics().size(),
                    documents_[i].diagnostics().front().message().c_str());
      }
    }
    return is_ok;
  }

  void run() {
    std::printf("%zu files, %.2f MB\n", inputs_.size(), static_cast<double>(bytes_) / 1e6);
    show("lex", [&](std::size_t i) {
      pyptx::diag::LocationTable locations;
      pyptx::diag::Diagnostics diagnostics;
      return pyptx::syntax::lex(inputs_[i].text, locations, diagnostics).tokens.size();
    });
    show("parse", [&](std::size_t i) {
      return pyptx::syntax::parse_all(inputs_[i].text).module->items.size();
    });
    show("parse + verify", [&](std::size_t i) {
      return pyptx::text::check(inputs_[i].text).document.module().items.size();
    });
    show("lossless print", [&](std::size_t i) { return print(documents_[i]).size(); });
    show("canonical print",
         [&](std::size_t i) { return pyptx::syntax::print(documents_[i].module()).size(); });
  }

 private:
  template <typename Work>
  void show(const char* name, Work&& work) {
    std::size_t sum = 0;
    const double rate = best_rate(bytes_, seconds_, [&] {
      for (std::size_t i = 0; i < inputs_.size(); ++i) sum += work(i);
    });
    std::printf("%-16s %10.1f MB/s\n", name, sum == 0 ? 0.0 : rate);
  }

  std::vector<Input> inputs_;
  std::vector<Document> documents_;
  std::size_t bytes_ = 0;
  double seconds_;
};

}  // namespace

int main(int count, char** arguments) {
  std::vector<Input> inputs;
  double seconds = 1;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--seconds" && i + 1 < count) {
      seconds = std::atof(arguments[++i]);
      continue;
    }
    std::ifstream stream(arguments[i], std::ios::binary);
    if (!stream) {
      std::fprintf(stderr, "syntax_bench: cannot read %s\n", arguments[i]);
      return 1;
    }
    inputs.push_back(
        {arguments[i], {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()}});
  }
  if (inputs.empty()) {
    std::fprintf(stderr, "usage: syntax_bench [--seconds S] file.ptx...\n");
    return 1;
  }
  Bench bench(std::move(inputs), seconds);
  const bool is_ok = bench.check();
  bench.run();
  return is_ok ? 0 : 1;
}
