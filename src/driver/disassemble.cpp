// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/disassemble.h"

#include <unistd.h>

#include <fstream>
#include <vector>

#include "compilers.h"
#include "process.h"
#include "pyptx/support/concat.h"
#include "temporary_folder.h"

namespace pyptx::driver {

diag::Result<std::string> disassemble(std::string_view cubin, bool with_lines) {
  const std::vector<std::string> files = tool_files("nvdisasm");
  if (files.empty() || access(files.front().c_str(), X_OK) != 0) {
    return diag::fail(diag::Kind::NoDisassembler, {});
  }
  const auto failed = [&](std::string why) {
    return diag::fail(diag::Kind::DisassemblerFailed, {files.front(), std::move(why)});
  };
  const TemporaryFolder folder;
  if (!folder.ok()) return failed("no temporary folder could be made");
  const std::string input = folder.file("kernel.cubin");
  std::ofstream out(input, std::ios::binary);
  out << cubin;
  out.close();
  if (!out.good()) return failed("the machine code could not be written to a file");
  std::vector<std::string> words{files.front(), "-c"};
  // The analysis left out finds where indirect branches go, and takes a quarter of the time.
  if (with_lines) words.insert(words.end(), {"-g", "--no-dataflow"});
  words.push_back(input);
  std::string why;
  auto run = run_process(words, why);
  if (!run) return failed(std::move(why));
  if (run->signal != 0) return failed(support::concat("it was ended by signal ", run->signal));
  if (run->exit_code.value_or(0) != 0) {
    return failed(run->output.empty() ? support::concat("exit status ", *run->exit_code)
                                      : std::move(run->output));
  }
  return std::move(run->output);
}

}  // namespace pyptx::driver
