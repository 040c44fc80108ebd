// SPDX-License-Identifier: Apache-2.0
//
// pyptx view and pyptx sass: they run kernels written in Python and NVIDIA's disassembler, which
// the Python package knows how to find. Here they say where they are.
#include <ostream>

#include "subcommands.h"

namespace pyptx::cli {
namespace {

int elsewhere(std::string_view command, Streams& streams) {
  streams.err << "pyptx " << command
              << ": this command is part of the Python package; python -m pyptx " << command
              << " runs it\n";
  return kUsageError;
}

}  // namespace

int view_elsewhere(std::span<const std::string> /*words*/, Streams& streams) {
  return elsewhere("view", streams);
}

int sass_elsewhere(std::span<const std::string> /*words*/, Streams& streams) {
  return elsewhere("sass", streams);
}

}  // namespace pyptx::cli
