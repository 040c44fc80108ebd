// SPDX-License-Identifier: Apache-2.0
//
// The CPU emulator's public face: decode a module once, run it on buffers of host memory. Global
// addresses are host addresses; an access outside the buffers named in the launch is an error, not
// a crash. The same seed gives the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/layout/tensor_map.h"

namespace pyptx::emu {

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

struct Options {
  std::uint64_t seed = 0;
  Completion completion = Completion::Latest;
  Numerics numerics = Numerics::Fast;
  TensorCore tensor_core = TensorCore::Target;
  unsigned threads = 0;  // 0: one per core
  /// Judge shared memory for races, missing waits and fences, and reads of what nobody wrote.
  bool races = false;
  /// Asked every few hundredths of a second, on the thread that called run(); true ends the run.
  bool (*interrupt)() = nullptr;
};

struct Launch {
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  std::uint32_t dynamic_shared = 0;
  std::vector<std::byte> params;  // the parameter block, laid out as the entry declares it
  std::vector<Buffer> buffers;
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
};

class Program;  // the decoded form of one entry

/// Decodes an entry (the only one when `entry` is empty). An instruction that the emulator cannot
/// run is an error here, before anything runs.
diag::Result<std::shared_ptr<const Program>> decode(std::shared_ptr<const ir::Module> module,
                                                    std::string_view entry = {});

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

}  // namespace pyptx::emu
