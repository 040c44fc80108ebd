// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/assemble.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>

#include "compilers.h"
#include "pyptx/driver/cubin_cache.h"

namespace pyptx::driver {
namespace {

using diag::Diagnostic;
using diag::Kind;

/// How one kind of compiler is looked for: from outside where that is possible, and for use.
struct Search {
  std::string (*locate)();
  std::shared_ptr<PtxCompiler> (*find)(std::vector<std::string>& tried);
};
constexpr std::array<Search, 3> kCompilers{
    {{locate_nvjitlink, find_nvjitlink}, {locate_ptxas, find_ptxas}, {nullptr, find_driver_jit}}};

/// The compilers found so far. One that was found stays; one that was not is looked for again
/// once a folder is added.
class Toolbox {
 public:
  diag::Result<std::shared_ptr<PtxCompiler>> get(Compiler wanted) {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> tried;
    for (std::size_t i = 0; i < kCompilers.size(); ++i) {
      if (!is_wanted(wanted, i)) continue;
      if (find_locked(i)) return searches_[i].found;
      tried.insert(tried.end(), searches_[i].tried.begin(), searches_[i].tried.end());
    }
    Diagnostic out(Kind::NoCompiler, {});
    out->notes = std::move(tried);
    out->notes.emplace_back("install one with: pip install nvidia-nvjitlink");
    return diag::fail(std::move(out));
  }

  /// The identity of the compiler that get() would give, if that can be told without opening it
  /// (and is not a file that turns out to be none). Empty when there is no compiler.
  std::string identity(Compiler wanted) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < kCompilers.size(); ++i) {
      if (!is_wanted(wanted, i)) continue;
      const bool is_known = searches_[i].generation == folder_generation();
      if (searches_[i].found == nullptr && !is_known && kCompilers[i].locate != nullptr) {
        if (std::string located = kCompilers[i].locate(); !located.empty()) return located;
      }
      if (find_locked(i)) return searches_[i].found->info().identity;
    }
    return {};
  }

 private:
  struct Search {
    std::shared_ptr<PtxCompiler> found;
    std::uint64_t generation = 0;
    std::vector<std::string> tried;
  };

  static bool is_wanted(Compiler wanted, std::size_t i) {
    return wanted == Compiler::Any || static_cast<std::size_t>(wanted) == i + 1;
  }

  bool find_locked(std::size_t i) {
    Search& search = searches_[i];
    const std::uint64_t generation = folder_generation();
    if (search.found == nullptr && search.generation != generation) {
      search.tried.clear();
      search.found = kCompilers[i].find(search.tried);
      search.generation = generation;
    }
    return search.found != nullptr;
  }

  std::mutex mutex_;
  std::array<Search, kCompilers.size()> searches_;
};

Toolbox& toolbox() {
  static auto* made = new Toolbox;  // never destroyed: threads may compile while the process ends
  return *made;
}

CacheKey key_of(std::string_view ptx, const AssembleOptions& options, std::string compiler) {
  CacheKey key{std::string(ptx), options.target, options.flags, std::move(compiler)};
  if (options.line_info) key.options.emplace_back(kLineInfo);
  return key;
}

/// Whether a name has the form of a target, sm_90a. nvJitLink ends the process for some that have
/// not (sm_1), so none of those is handed on.
bool is_target_name(std::string_view name) {
  constexpr std::string_view kPrefix = "sm_";
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  if (name.ends_with('a') || name.ends_with('f')) name.remove_suffix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return name.size() >= 2 && name.front() != '0' && std::ranges::all_of(name, is_digit);
}

AssembleResult compile(PtxCompiler& compiler, const CacheKey& key, const AssembleOptions& asked) {
  if (!is_target_name(asked.target)) {
    return support::Failure{AssembleFailure{
        Diagnostic(Kind::CompilerTarget, {compiler.info().name, asked.target}), 0, {}}};
  }
  // A compiler reads up to the first zero byte; the rest would go unseen.
  if (key.ptx.find('\0') != std::string::npos) {
    return support::Failure{AssembleFailure{
        Diagnostic(Kind::CompilerRefused, {compiler.info().name, "the text has a zero byte"}),
        0,
        {}}};
  }
  AssembleOptions options = asked;
  options.flags = key.options;
  auto compiled = compiler.compile(key.ptx, options);
  if (!compiled) return compiled.failure();
  return Assembled{std::move(compiled->cubin), compiler.info().name, std::move(compiled->log),
                   false};
}

std::optional<Assembled> look_up(const CubinCache& cache, const CacheKey& key) {
  auto entry = cache.get(key.digest());
  if (!entry) return std::nullopt;
  return Assembled{std::move(entry->cubin), std::move(entry->compiler), std::move(entry->log),
                   true};
}

/// Whether a text may have the instruction. nvJitLink compiles for linking, and the instruction has
/// no effect then (ptxas C7504): accumulators that count on its registers are spilt, and the kernel
/// takes ten times as long. ptxas compiles whole programs.
bool has_setmaxnreg(std::string_view ptx) {
  // one-place: about compilers, not about what is legal.
  return ptx.find("setmaxnreg") != std::string_view::npos;
}

AssembleResult assemble_by(std::string_view ptx, const AssembleOptions& options) {
  const CubinCache cache = CubinCache::global();
  CacheKey key = key_of(ptx, options, "");
  if (options.use_cache) {
    key.compiler = toolbox().identity(options.compiler);
    if (auto hit = look_up(cache, key)) return std::move(*hit);
  }
  auto found = toolbox().get(options.compiler);
  if (!found) return support::Failure{AssembleFailure{std::move(found.error()), 0, {}}};
  PtxCompiler& compiler = **found;
  if (options.use_cache && key.compiler != compiler.info().identity) {
    key.compiler = compiler.info().identity;  // the file that was located did not open
    if (auto hit = look_up(cache, key)) return std::move(*hit);
  }
  auto made = compile(compiler, key, options);
  if (made && options.use_cache) cache.put(key.digest(), {made->cubin, made->log, made->compiler});
  return made;
}

}  // namespace

diag::Result<CompilerInfo> find_compiler(Compiler wanted) {
  auto found = toolbox().get(wanted);
  if (!found) return found.failure();
  return (*found)->info();
}

std::string newest_ptx(Compiler wanted) {
  AssembleOptions options;
  options.target = "sm_90";
  options.compiler = wanted;
  options.use_cache = false;
  const auto refused = assemble(".version 99.9\n.target sm_90\n.address_size 64\n", options);
  if (refused || refused.error().diagnostic.kind != Kind::CompilerTooOld) return {};
  return refused.error().diagnostic->arguments.back();
}

diag::Result<std::string> current_compiler(Compiler wanted) {
  std::string identity = toolbox().identity(wanted);
  if (identity.empty()) return toolbox().get(wanted).failure();
  return identity;
}

AssembleResult assemble(std::string_view ptx, const AssembleOptions& options) {
  if (options.compiler == Compiler::Any && has_setmaxnreg(ptx)) {
    AssembleOptions whole = options;
    whole.compiler = Compiler::Ptxas;
    // What a ptxas refuses, because it is old perhaps, the others may take.
    if (auto made = assemble_by(ptx, whole)) return made;
  }
  return assemble_by(ptx, options);
}

}  // namespace pyptx::driver
