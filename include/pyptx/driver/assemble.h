// SPDX-License-Identifier: Apache-2.0
//
// PTX text to cubin. Three compilers, the first that is found: nvJitLink in this process, a
// ptxas process, the driver's own JIT. A text with setmaxnreg goes to ptxas first, since nvJitLink
// leaves that instruction without effect. Results are kept on disk (cubin_cache.h). This is no
// verifier: what a compiler refuses is reported in the compiler's own words, with the PTX line, so
// that a caller who knows where that line came from can say so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/support/result.h"

namespace pyptx::driver {

/// Who turns PTX into machine code.
enum class Compiler : std::uint8_t { Any, NvJitLink, Ptxas, DriverJit };

/// What to assemble for, and how.
struct AssembleOptions {
  std::string target;  // "sm_90a"
  /// Options of ptxas, in its spelling: "-O1", "--maxrregcount=64", "-v".
  std::vector<std::string> flags;
  /// The text has a line table (.file, .loc), which the cubin is to keep.
  bool line_info = false;
  Compiler compiler = Compiler::Any;
  bool use_cache = true;
};

/// Machine code, and what was said of it.
struct Assembled {
  std::string cubin;
  std::string compiler;  // name and version: "nvJitLink 13.5"
  std::string log;       // what the compiler said beside the cubin: registers, spills, warnings
  bool from_cache = false;
};

/// One line of a compiler's log that names a line of the PTX text.
struct CompilerMessage {
  std::uint32_t ptx_line = 0;  // from 1; 0 when the compiler named none
  std::string text;
};

/// Why there is none.
struct AssembleFailure {
  diag::Diagnostic diagnostic;  // group 06; the compiler's words are its notes
  std::uint32_t ptx_line = 0;   // of the first message that names one, else 0
  std::vector<CompilerMessage> messages;
};

/// What an assembler gives.
using AssembleResult = support::Result<Assembled, AssembleFailure>;

/// Assembles `ptx`. Thread-safe; nvJitLink is used by one thread at a time.
AssembleResult assemble(std::string_view ptx, const AssembleOptions& options);

/// Adds a folder in which compilers are looked for: a Python site-packages folder (its
/// nvidia/cu13, nvidia/nvjitlink and nvidia/cuda_nvcc are searched), a CUDA toolkit, or the folder
/// that holds the file itself. Later calls of assemble() see it.
void add_compiler_folder(std::string folder);

/// The compiler that assemble() would use, by name, version and path, or why there is none.
struct CompilerInfo {
  Compiler kind = Compiler::Any;
  std::string name;      // "nvJitLink 13.5"
  std::string path;      // empty for the driver's
  std::string identity;  // which build it is; goes into the keys of the cache
};
diag::Result<CompilerInfo> find_compiler(Compiler wanted = Compiler::Any);

/// The newest PTX ISA that a compiler takes, "9.4", by its own words; empty when it cannot be told.
std::string newest_ptx(Compiler wanted);

/// The identity of the compiler that assemble() would use: what CacheKey::compiler holds. Opens no
/// compiler that can be told apart without.
diag::Result<std::string> current_compiler(Compiler wanted = Compiler::Any);

}  // namespace pyptx::driver
