// SPDX-License-Identifier: Apache-2.0
//
// The CPU emulator's public face: decode a module once, run it on buffers of host memory. Global
// addresses are host addresses; an access outside the buffers named in the launch is an error, not
// a crash. The same seed gives the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/emu/counters.h"
#include "pyptx/emu/shown.h"
#include "pyptx/emu/tensor_memory_use.h"
#include "pyptx/ir/module.h"
#include "pyptx/layout/tensor_map.h"

namespace pyptx::emu {

/// Numbers of CTAs or threads.
struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

/// Host memory that the kernel may touch.
struct Buffer {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool writable = true;
  std::string name = {};  // what reports call it; empty: its number
  /// False: what is there is nobody's. Reading it gives a value that nobody wrote, and what the
  /// kernel leaves unwritten is said in Report::warnings.
  bool has_value = true;
  std::uint32_t element_bytes = 1;  // for messages
};

/// When an asynchronous operation's effects appear.
enum class Completion : std::uint8_t { Earliest, Latest, Random };

/// How the matrix instructions add: in f32, or bit for bit as a tensor core does.
enum class Numerics : std::uint8_t { Fast, Exact };

/// Whose tensor core Numerics::Exact follows. Target: the one that the module is for; a text for
/// sm_80 that runs on a Hopper adds like Hopper.
enum class TensorCore : std::uint8_t {
  Target,
  Turing,
  Ampere,
  Ada,
  Hopper,
  Blackwell,     // sm_100 to sm_110
  BlackwellRtx,  // sm_120
};

/// How far a run is.
struct Progress {
  std::uint64_t done = 0;  // CTAs
  std::uint64_t total = 0;
  double seconds = 0;
};
/// "emulating: 12 of 132 CTAs, 3.0 s, 4.0 per second, about 30.0 s left"
std::string progress_text(const Progress& progress);

/// Shows progress as one line that overwrites itself, for a terminal. Silent for the first seconds;
/// leaves nothing behind.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& out) : out_(out) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void operator()(const Progress& progress);

 private:
  static constexpr double kQuietSeconds = 3;
  static constexpr double kEverySeconds = 0.5;
  std::ostream& out_;
  double shown_ = -kEverySeconds;
  std::size_t width_ = 0;
};

/// Launches one after the other on the same memory, as in a CUDA stream: what a launch left behind
/// for a programmatic one that follows it. See pyptx/emu/stream.h.
class Stream;

/// What Options::races is at first: true, unless the environment has PYPTX_EMU_CHECKS=basic.
bool races_by_default();
/// What is wrong with that word, if anything; run() refuses it.
std::optional<std::string> environment_problem();

/// How a program is run, and what is checked.
struct Options {
  std::uint64_t seed = 0;
  Completion completion = Completion::Latest;
  Numerics numerics = Numerics::Fast;
  TensorCore tensor_core = TensorCore::Target;
  unsigned threads = 0;  // 0: one per core
  /// Judge shared and global memory for races, missing waits and fences. Shared memory that nobody
  /// wrote is no value without it too.
  bool races = races_by_default();
  /// Findings that are not reported and do not end the run; set_option("ignore") checks them.
  std::vector<diag::Kind> ignored{};
  bool is_ignored(diag::Kind kind) const {
    return std::find(ignored.begin(), ignored.end(), kind) != ignored.end();
  }
  /// The stream that the launch is part of, if any; not used by two launches at once.
  Stream* stream = nullptr;
  /// Starts as soon as every CTA of the stream's launch before has run
  /// griddepcontrol.launch_dependents or ended (programmatic dependent launch).
  bool is_programmatic = false;
  /// Count lanes, bytes, bank conflicts and more into Report::counters; about half as fast.
  bool counters = false;
  /// Where printf writes, cluster after cluster, when the run ends; null: standard output.
  std::ostream* output = nullptr;
  /// Where a Chrome trace (JSON, opened by Perfetto) of the run goes; slow.
  std::ostream* trace = nullptr;
  /// Events that the trace holds at most, shared evenly by the clusters; what is beyond is counted
  /// in its "events_left_out".
  std::uint64_t trace_events = 1'000'000;
  /// Warp instructions after which the run ends with an error; 0: none. An instruction that waits
  /// counts as often as it is tried.
  std::uint64_t limit_steps = 0;
  /// Seconds after which it does; 0: none.
  double limit_seconds = 0;
  /// Asked every few hundredths of a second, on the thread that called run(); true ends the run.
  bool (*interrupt)() = nullptr;
  /// Told as often, on the same thread.
  std::function<void(const Progress&)> progress{};
};

/// Sets "schedule", "numerics", "tensor_core", "checks", "ignore" or "limit" by the words of Python
/// and of the command ("latest", "exact", "hopper", "races", "PTX0919,PTX0931", "1000000" warp
/// instructions or "2.5s"). Gives what is wrong with them, if anything.
std::optional<std::string> set_option(Options& options, std::string_view name,
                                      std::string_view word);

/// The .global and .const variables of a program. Launches that get the same ones see what earlier
/// ones wrote, as those of a module that stays loaded do.
class Variables;

/// What is run: grid, parameters, memory.
struct Launch {
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  std::uint32_t dynamic_shared = 0;
  std::vector<std::byte> params;  // the parameter block, laid out as the entry declares it
  std::vector<Buffer> buffers;
  std::shared_ptr<Variables> variables;  // null: as they are when the module is loaded
  Options options;
};

/// What ran: one row per executed form, in descending count.
struct Report {
  struct Row {
    std::string spelling;
    std::uint64_t warp_instructions = 0;
  };
  std::uint64_t warp_instructions = 0;
  std::vector<Row> rows;
  std::optional<Counters> counters;  // where Options::counters asked for them
  /// What the kernel shows of shared memory, in the order of the clusters.
  std::vector<ShownTile> shown;
  /// What happened to tensor memory in the first cluster; where Options::counters asked for it.
  std::vector<TensorMemoryUse> tensor_uses;
  /// What may be right and is worth knowing: elements of an output that have no value, and, where
  /// Options::races asked for it, accesses that nothing orders and that do no harm by themselves.
  std::vector<diag::Diagnostic> warnings;
};

class Program;  // the decoded form of one entry

/// Decodes an entry (the only one when `entry` is empty). An instruction that the emulator cannot
/// run is an error here, before anything runs.
diag::Result<std::shared_ptr<const Program>> decode(std::shared_ptr<const ir::Module> module,
                                                    std::string_view entry = {});

/// The variables of a program (or of another entry of its module) with their initial values.
std::shared_ptr<Variables> make_variables(const Program& program);

/// Runs the whole grid. Thread-safe: a Program may run on several threads at once.
diag::Result<Report> run(const Program& program, const Launch& launch);

/// The offset and size of each parameter in the parameter block.
struct ParamPlace {
  std::string name;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};
std::span<const ParamPlace> params(const Program& program);

/// The emulator's own encoding of a tensor map (NVIDIA's is opaque); carries a magic word, so that
/// a map made by a driver is refused.
std::array<std::byte, 128> encode(const layout::TensorMap& map, std::uint64_t address);

/// A tensor map that was encoded.
struct DecodedMap {
  layout::TensorMap map;
  std::uint64_t address = 0;
};
/// What encode() made of it; nothing where the magic word is missing. Reads 128 bytes.
std::optional<DecodedMap> decode_map(const std::byte* bytes);

}  // namespace pyptx::emu
