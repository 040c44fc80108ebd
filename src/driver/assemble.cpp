// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/assemble.h"

#include <array>
#include <memory>
#include <mutex>

#include "compilers.h"
#include "pyptx/driver/cubin_cache.h"
#include "pyptx/support/sha256.h"

namespace pyptx::driver {
namespace {

using diag::Diagnostic;
using diag::Kind;

using Finder = std::shared_ptr<PtxCompiler> (*)(std::vector<std::string>&);
constexpr std::array<Finder, 3> kFinders{find_nvjitlink, find_ptxas, find_driver_jit};

/// The compilers found so far. One that was found stays; one that was not is looked for again
/// once a folder is added.
class Toolbox {
 public:
  diag::Result<std::shared_ptr<PtxCompiler>> get(Compiler wanted) {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t generation = folder_generation();
    std::vector<std::string> tried;
    for (std::size_t i = 0; i < kFinders.size(); ++i) {
      if (wanted != Compiler::Any && static_cast<std::size_t>(wanted) != i + 1) continue;
      Place& place = places_[i];
      if (place.found == nullptr && place.generation != generation) {
        place.tried.clear();
        place.found = kFinders[i](place.tried);
        place.generation = generation;
      }
      if (place.found != nullptr) return place.found;
      tried.insert(tried.end(), place.tried.begin(), place.tried.end());
    }
    Diagnostic out(Kind::NoCompiler, {});
    out.notes = std::move(tried);
    out.notes.emplace_back("install one with: pip install nvidia-nvjitlink");
    return diag::fail(std::move(out));
  }

 private:
  struct Place {
    std::shared_ptr<PtxCompiler> found;
    std::uint64_t generation = 0;
    std::vector<std::string> tried;
  };
  std::mutex mutex_;
  std::array<Place, kFinders.size()> places_;
};

Toolbox& toolbox() {
  static auto* made = new Toolbox;  // never destroyed: threads may compile while the process ends
  return *made;
}

std::string cache_key(std::string_view ptx, const AssembleOptions& options,
                      const CompilerInfo& compiler) {
  support::Sha256 hash;
  hash.field("pyptx cubin");
  hash.field(ptx);
  hash.field(options.target);
  for (const std::string& flag : options.flags) hash.field(flag);
  hash.field(compiler.name);
  return support::Sha256::hex(hash.finish());
}

}  // namespace

diag::Result<CompilerInfo> find_compiler(Compiler wanted) {
  auto found = toolbox().get(wanted);
  if (!found) return found.failure();
  return (*found)->info();
}

AssembleResult assemble(std::string_view ptx, const AssembleOptions& asked) {
  AssembleOptions options = asked;
  if (options.line_info) options.flags.emplace_back(kLineInfo);
  auto found = toolbox().get(options.compiler);
  if (!found) return support::Failure{AssembleFailure{std::move(found.error()), 0, {}}};
  PtxCompiler& compiler = **found;
  // A compiler reads up to the first zero byte; the rest would go unseen.
  const std::string text(ptx.substr(0, ptx.find('\0')));
  if (text.size() != ptx.size()) {
    return support::Failure{AssembleFailure{
        Diagnostic(Kind::CompilerRefused, {compiler.info().name, "the text has a zero byte"}),
        0,
        {}}};
  }
  const CubinCache cache = CubinCache::from_environment();
  const std::string key = cache_key(text, options, compiler.info());
  if (options.use_cache) {
    if (auto entry = cache.get(key)) {
      return Assembled{std::move(entry->cubin), compiler.info().name, std::move(entry->log), true};
    }
  }
  auto compiled = compiler.compile(text, options);
  if (!compiled) return compiled.failure();
  if (options.use_cache) cache.put(key, {compiled->cubin, compiled->log});
  return Assembled{std::move(compiled->cubin), compiler.info().name, std::move(compiled->log),
                   false};
}

}  // namespace pyptx::driver
