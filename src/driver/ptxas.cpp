// SPDX-License-Identifier: Apache-2.0
//
// ptxas as a process: text and cubin travel through a private temporary folder that is gone when
// the call returns.
#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "compiler_identity.h"
#include "compiler_log.h"
#include "compilers.h"
#include "process.h"
#include "pyptx/support/concat.h"
#include "temporary_folder.h"

namespace pyptx::driver {
namespace {

using support::concat;

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out.good();
}

bool read_file(const std::string& path, std::string& out) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  out = std::move(text).str();
  return in.good() && !out.empty();
}

/// Whether a cubin is all there. ptxas writes none when it refuses a text, but one that was ended
/// while it wrote leaves the beginning; the tables of headers are the end of the file.
bool is_whole(const std::string& cubin) {
  Elf64_Ehdr header{};
  if (cubin.size() < sizeof header) return false;
  std::memcpy(&header, cubin.data(), sizeof header);
  const auto has = [&](std::uint64_t offset, std::uint64_t count, std::uint64_t size) {
    return offset <= cubin.size() && count * size <= cubin.size() - offset;
  };
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         has(header.e_shoff, header.e_shnum, header.e_shentsize) &&
         has(header.e_phoff, header.e_phnum, header.e_phentsize);
}

class Ptxas final : public PtxCompiler {
 public:
  explicit Ptxas(CompilerInfo info) : PtxCompiler(std::move(info)) {}

  CompileResult compile(const std::string& ptx, const AssembleOptions& options) override {
    const TemporaryFolder folder;
    const auto failed = [this](std::string why) {
      return support::Failure{breakdown(info().name, std::move(why))};
    };
    if (!folder.ok()) return failed("no temporary folder could be made");
    const std::string input = folder.file("kernel.ptx");
    const std::string output = folder.file("kernel.cubin");
    if (!write_file(input, ptx)) return failed("the text could not be written to a file");
    std::vector<std::string> words{info().path, concat("-arch=", options.target)};
    words.insert(words.end(), options.flags.begin(), options.flags.end());
    words.insert(words.end(), {"-o", output, input});
    std::string why;
    const auto run = run_process(words, why);
    if (!run) return failed(concat(info().path, ": ", why));
    if (run->signal != 0) return failed(concat("it was ended by signal ", run->signal));
    if (run->exit_code.value_or(0) != 0) {
      return support::Failure{refusal(info().name, options.target, run->output)};
    }
    Compiled out;
    out.log = run->output;
    const bool wrote = read_file(output, out.cubin);
    if (!run->exit_code && !(wrote && is_whole(out.cubin))) return unfinished(options, out.log);
    if (!wrote) return failed("it wrote no cubin");
    return out;
  }

 private:
  /// The failure of a run whose status nobody can tell: what it complained of, if anything.
  support::Failure<AssembleFailure> unfinished(const AssembleOptions& options,
                                               const std::string& log) const {
    AssembleFailure said = refusal(info().name, options.target, log);
    if (!said.messages.empty()) return support::Failure{std::move(said)};
    return support::Failure{
        breakdown(info().name,
                  "it wrote no whole cubin; how it ended cannot be told where SIGCHLD is ignored")};
  }
};

/// "13.4" out of "... release 13.4, V13.4.92"; empty when it is not ptxas's.
std::string version_of(const std::string& path) {
  std::string why;
  const auto run = run_process({path, "--version"}, why);
  if (!run || run->signal != 0 || run->exit_code.value_or(0) != 0) return {};
  static constexpr std::string_view kBefore = ", V";
  const auto at = run->output.rfind(kBefore);
  if (at == std::string::npos) return {};
  const auto begin = at + kBefore.size();
  return run->output.substr(begin, run->output.find_first_not_of("0123456789.", begin) - begin);
}

}  // namespace

std::string locate_ptxas() {
  const std::vector<std::string> files = tool_files("ptxas");
  return files.empty() ? std::string() : compiler_identity(files.front());
}

std::shared_ptr<PtxCompiler> find_ptxas(std::vector<std::string>& tried) {
  for (const std::string& path : tool_files("ptxas")) {
    const std::string version = version_of(path);
    if (version.empty()) continue;
    return std::make_shared<Ptxas>(
        CompilerInfo{Compiler::Ptxas, concat("ptxas ", version), path, compiler_identity(path)});
  }
  const char* chosen = std::getenv("PYPTX_PTXAS");
  tried.push_back(chosen != nullptr && *chosen != '\0'
                      ? concat("ptxas: ", chosen, ", which PYPTX_PTXAS names, does not run")
                      : std::string("ptxas: not on PATH nor in the folders given"));
  return nullptr;
}

}  // namespace pyptx::driver
