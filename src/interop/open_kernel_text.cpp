// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a kernel for any size. What is not told here is as in saved.cpp:
//   pyptx-kernel 3 LENGTH SHA256
//   target sm_90a
//   entry NAME
//   block [X,Y,Z]                         then `cluster`
//   shared BYTES                          of dynamic shared memory
//   launch plain|programmatic pointers|values     the last: of tensor maps
//   grid EXPRESSION                       three lines, in the words of SizeExpression
//   in DTYPE LAYOUT [D0,D1] [B0,B1] RANK padded|plain NAME   a tile, with its box; then `out` lines
//   multiple DIMENSION OF                 a size that is always such a multiple
//   raw TYPE size NAME EXPRESSION         one line per raw parameter: what follows from sizes,
//   raw TYPE fixed NAME BITS              what does not change,
//   raw TYPE launch NAME BITS|-           what each launch brings, and its default
//   map NAME                              a tensor that a map is passed of
//   ptx, cubin, end
// The reader is total: it accepts exactly what the writer writes.
#include <algorithm>
#include <utility>

#include "pyptx/interop/open_kernel.h"
#include "pyptx/support/concat.h"
#include "saved_text.h"

namespace pyptx::interop {
namespace {

using support::concat;

constexpr std::array<std::string_view, 6> kLayouts = {"rows",      "columns",   "swizzle128",
                                                      "swizzle64", "swizzle32", "interleaved"};

std::string numbers_text(std::span<const std::int64_t> numbers) {
  std::vector<std::string> words;
  words.reserve(numbers.size());
  for (const std::int64_t number : numbers) words.push_back(concat(number));
  return words_text(words);
}

std::optional<std::vector<std::int64_t>> read_numbers(std::string_view text) {
  const auto words = read_list(text);
  if (!words) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const std::string_view word : *words) {
    const auto found = read_number(word);
    if (!found || *found > std::uint64_t{1} << 62) return std::nullopt;
    out.push_back(static_cast<std::int64_t>(*found));
  }
  return out;
}

std::string dim3_text(const driver::Dim3& dim) {
  return concat("[", dim.x, ",", dim.y, ",", dim.z, "]");
}

std::optional<driver::Dim3> read_dim3(const std::optional<std::string_view>& text) {
  const auto numbers = text ? read_numbers(*text) : std::nullopt;
  if (!numbers || numbers->size() != 3 ||
      std::ranges::any_of(*numbers, [](std::int64_t n) { return n > 0xffffffff; })) {
    return std::nullopt;
  }
  const auto extent = [&](std::size_t i) { return static_cast<std::uint32_t>((*numbers)[i]); };
  return driver::Dim3{extent(0), extent(1), extent(2)};
}

std::string tile_line(std::string_view role, const Argument& argument) {
  const Tile& tile = argument.tile;
  std::vector<std::string> dims;
  dims.reserve(tile.dims.size());
  for (const Dimension& dim : tile.dims)
    dims.push_back(dim.is_named() ? dim.name : concat(dim.size));
  return concat(role, " ", tile.dtype, " ", kLayouts[static_cast<std::size_t>(tile.layout)], " ",
                words_text(dims), " ", numbers_text(tile.box), " ", tile.map_rank,
                tile.padded ? " padded " : " plain ", argument.name, "\n");
}

std::optional<Argument> read_tile(std::string_view line) {
  Argument out;
  Tile& tile = out.tile;
  tile.dtype = take(line, ' ');
  const auto layout = std::ranges::find(kLayouts, take(line, ' '));
  const auto dims = read_list(take(line, ' '));
  const auto box = read_numbers(take(line, ' '));
  const auto rank = read_number(take(line, ' '));
  const std::string_view padding = take(line, ' ');
  out.name = line;
  if (layout == kLayouts.end() || !dims || !box || !rank || *rank > 3 || !is_word(out.name) ||
      (padding != "padded" && padding != "plain") || element_bits(tile.dtype) == 0) {
    return std::nullopt;
  }
  for (const std::string_view dim : *dims) {
    const auto size = read_number(dim);
    if (!size) {
      tile.dims.emplace_back(std::string(dim));
    } else if (*size <= std::uint64_t{1} << 62) {
      tile.dims.emplace_back(*size);
    } else {
      return std::nullopt;
    }
  }
  tile.layout = static_cast<TileLayout>(layout - kLayouts.begin());
  tile.box = *box;
  tile.map_rank = static_cast<std::int64_t>(*rank);
  tile.padded = padding == "padded";
  return out;
}

std::string raw_line(const RawParameter& parameter, const OpenScalar& scalar) {
  const auto line = [&](std::string_view how, std::string_view value) {
    return concat("raw ", parameter.type, " ", how, " ", parameter.name, " ", value, "\n");
  };
  if (scalar.size) return line("size", scalar.size->to_text());
  if (scalar.is_fixed) return line("fixed", concat(*scalar.bits));
  return line("launch", scalar.bits ? concat(*scalar.bits) : "-");
}

/// Adds the parameter of a line, or says why there is none.
diag::Status read_raw(std::string_view line, OpenKernel& out) {
  const auto bad = [whole = line] {
    return bad_bytes(concat("'raw ", whole, "' describes no parameter"));
  };
  RawParameter parameter;
  OpenScalar scalar;
  parameter.type = take(line, ' ');
  const std::string_view how = take(line, ' ');
  parameter.name = take(line, ' ');
  if (find_scalar_type(parameter.type) == nullptr || !is_word(parameter.name)) return bad();
  if (how == "size") {
    auto size = SizeExpression::from_text(line);
    if (!size) return size.failure();
    scalar.size = std::move(*size);
  } else if (how == "fixed" || how == "launch") {
    scalar.is_fixed = how == "fixed";
    scalar.bits = read_number(line);
    if (!scalar.bits && (scalar.is_fixed || line != "-")) return bad();
  } else {
    return bad();
  }
  out.signature.scalars.push_back(std::move(parameter));
  out.launch.scalars.push_back(std::move(scalar));
  return diag::success();
}

diag::Status read_launch(LineReader& lines, OpenLaunch& out) {
  const auto block = read_dim3(lines.line("block"));
  const auto cluster = read_dim3(lines.line("cluster"));
  const auto shared = lines.line("shared");
  const auto bytes = shared ? read_number(*shared) : std::nullopt;
  auto how = lines.line("launch");
  if (!block || !cluster || !bytes || *bytes > 0xffffffff || !how) {
    return bad_bytes("it does not say how it is launched");
  }
  out.block = *block;
  out.cluster = *cluster;
  out.dynamic_shared = static_cast<std::uint32_t>(*bytes);
  const std::string_view kind = take(*how, ' ');
  if ((kind != "plain" && kind != "programmatic") || (*how != "pointers" && *how != "values")) {
    return bad_bytes("it does not say how it is launched");
  }
  out.is_programmatic = kind == "programmatic";
  out.maps_by_value = *how == "values";
  for (SizeExpression& extent : out.grid) {
    const auto text = lines.line("grid");
    if (!text) return bad_bytes("it has no grid of three expressions");
    auto read = SizeExpression::from_text(*text);
    if (!read) return read.failure();
    extent = std::move(*read);
  }
  return diag::success();
}

diag::Status read_tiles(LineReader& lines, std::string_view role, std::vector<Argument>& out) {
  while (const auto text = lines.line(role)) {
    auto argument = read_tile(*text);
    if (!argument) return bad_bytes(concat("'", role, " ", *text, "' describes no tensor"));
    out.push_back(std::move(*argument));
  }
  return diag::success();
}

diag::Status read_signature(LineReader& lines, OpenKernel& out) {
  Signature& signature = out.signature;
  if (auto status = read_tiles(lines, "in", signature.inputs); !status) return status;
  const std::size_t read_only = signature.inputs.size();
  if (auto status = read_tiles(lines, "inout", signature.inputs); !status) return status;
  signature.inouts = signature.inputs.size() - read_only;
  if (auto status = read_tiles(lines, "out", signature.outputs); !status) return status;
  if (const auto value = lines.line("init")) signature.out_init = *value;
  while (auto text = lines.line("multiple")) {
    Multiple multiple;
    multiple.dimension = take(*text, ' ');
    multiple.of = static_cast<std::int64_t>(read_number(*text).value_or(0) & 0x7fffffffffffffff);
    signature.multiples.push_back(std::move(multiple));
  }
  while (const auto text = lines.line("raw")) {
    if (auto status = read_raw(*text, out); !status) return status;
  }
  while (const auto text = lines.line("map")) out.launch.maps.emplace_back(*text);
  return diag::success();
}

/// Why it could not be read back, or nothing.
std::optional<std::string> problem(const OpenKernel& kernel) {
  const Signature& signature = kernel.signature;
  if (signature.inouts > signature.inputs.size()) return "it has more in-out tensors than inputs";
  if (!is_word(kernel.text.target) || !is_word(signature.kernel)) return "it has no name or target";
  if (kernel.launch.scalars.size() != signature.scalars.size()) {
    return concat("it declares ", signature.scalars.size(), " raw parameters and gives values to ",
                  kernel.launch.scalars.size());
  }
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    const auto& [name, tile] = signature.tensor(i);
    if (!is_word(name) || element_bits(tile.dtype) == 0 || tile.strided) {
      return concat("tensor ", i, " has no name or element type, or is not dense");
    }
  }
  for (const OpenScalar& scalar : kernel.launch.scalars) {
    if (scalar.is_fixed && !scalar.bits) return "a value that does not change is missing";
  }
  return std::nullopt;
}

}  // namespace

bool OpenKernel::has_bytes(std::string_view bytes) {
  std::string_view head = bytes.substr(0, bytes.find('\n'));
  take(head, ' ');
  const auto version = read_number(take(head, ' '));
  return version && is_open_version(*version);
}

diag::Result<std::string> OpenKernel::to_bytes() const {
  if (const auto why = problem(*this)) return bad_bytes(*why);
  std::string body = concat("target ", text.target, "\nentry ", signature.kernel, "\nblock ",
                            dim3_text(launch.block), "\ncluster ", dim3_text(launch.cluster),
                            "\nshared ", launch.dynamic_shared, "\nlaunch ",
                            launch.is_programmatic ? "programmatic " : "plain ",
                            launch.maps_by_value ? "values\n" : "pointers\n");
  for (const SizeExpression& extent : launch.grid) body += concat("grid ", extent.to_text(), "\n");
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const bool is_read_only = i < signature.inputs.size() - signature.inouts;
    body += tile_line(is_read_only ? "in" : "inout", signature.inputs[i]);
  }
  for (const Argument& output : signature.outputs) body += tile_line("out", output);
  if (!signature.out_init.empty()) body += concat("init ", signature.out_init, "\n");
  for (const auto& [dimension, of] : signature.multiples) {
    body += concat("multiple ", dimension, " ", of, "\n");
  }
  for (std::size_t i = 0; i < signature.scalars.size(); ++i) {
    body += raw_line(signature.scalars[i], launch.scalars[i]);
  }
  for (const std::string& tensor : launch.maps) body += concat("map ", tensor, "\n");
  const bool is_plain = signature.inouts == 0 && signature.out_init.empty();
  return with_first_line(is_plain ? kOpenVersion : kOpenInOutVersion,
                         body + text_lines(text.ptx, binaries));
}

diag::Result<OpenKernel> OpenKernel::from_bytes(std::string_view bytes) {
  const auto checked = checked_body(bytes);
  if (!checked) return diag::fail(checked.error());
  if (!is_open_version(checked->version)) {
    return bad_bytes("it is a kernel for one size, which SavedKernel reads");
  }
  OpenKernel out;
  LineReader lines(checked->body);
  const auto target = lines.line("target");
  const auto entry = lines.line("entry");
  if (!target || !entry) return bad_bytes("it names no target or no entry");
  out.signature.kernel = *entry;
  if (auto status = read_launch(lines, out.launch); !status) return status.failure();
  if (auto status = read_signature(lines, out); !status) return status.failure();
  if (auto status = out.signature.check(); !status) return status.failure();
  const auto ptx = lines.text(out.binaries);
  if (!ptx) return diag::fail(ptx.error());
  auto module = read_module(*ptx);
  if (!module) return module.failure();
  const ir::Function* function = (*module)->entry(out.signature.kernel);
  const std::size_t takes =
      out.signature.tensor_count() + out.signature.scalars.size() + out.launch.maps.size();
  if (function == nullptr || function->parameters.size() != takes) {
    return bad_bytes(
        concat("its text has no entry '", out.signature.kernel, "' with ", takes, " parameters"));
  }
  out.text = {std::move(*module), std::string(*ptx), std::string(*target)};
  const auto again = out.to_bytes();
  if (!again) return diag::fail(again.error());
  if (*again != bytes) return bad_bytes("it says the same in other words than this library");
  return out;
}

}  // namespace pyptx::interop
