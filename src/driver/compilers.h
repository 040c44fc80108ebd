// SPDX-License-Identifier: Apache-2.0
//
// The three compilers behind assemble(), and where they are looked for. Each is looked for anew
// when a folder is added, and opened at most once. A compiler in a file can be told from its other
// builds without opening it, which is all that a hit in the cache needs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/driver/assemble.h"

namespace pyptx::driver {

/// The flag that keeps the line table of a text, in the cubin.
inline constexpr std::string_view kLineInfo = "-lineinfo";

/// What a compiler makes of one text.
struct Compiled {
  std::string cubin;
  std::string log;
};
using CompileResult = support::Result<Compiled, AssembleFailure>;

class PtxCompiler {
 public:
  virtual ~PtxCompiler() = default;
  virtual CompileResult compile(const std::string& ptx, const AssembleOptions& options) = 0;

  const CompilerInfo& info() const { return info_; }

 protected:
  explicit PtxCompiler(CompilerInfo info) : info_(std::move(info)) {
    if (info_.identity.empty()) info_.identity = info_.name;  // its version, then
  }

 private:
  CompilerInfo info_;
};

/// A folder list: those added by the caller, then CUDA_HOME, CUDA_PATH and /usr/local/cuda.
std::vector<std::string> compiler_folders();
/// The executables of that name, best first: the one that PYPTX_<NAME> names, or those in the
/// folders and on PATH.
std::vector<std::string> tool_files(std::string_view name);
/// Grows with every folder added; compilers found for an older number are looked for again.
std::uint64_t folder_generation();

/// The identity of the file that find_nvjitlink() or find_ptxas() will try first; empty when it
/// cannot be told without trying.
std::string locate_nvjitlink();
std::string locate_ptxas();

/// Each returns null when its compiler is not there; `tried` then gets a line saying why.
std::shared_ptr<PtxCompiler> find_nvjitlink(std::vector<std::string>& tried);
std::shared_ptr<PtxCompiler> find_ptxas(std::vector<std::string>& tried);
std::shared_ptr<PtxCompiler> find_driver_jit(std::vector<std::string>& tried);

}  // namespace pyptx::driver
