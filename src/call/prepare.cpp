// SPDX-License-Identifier: Apache-2.0
//
// A call that no specialisation is known for: checked, traced, composed and remembered. Nothing has
// been launched when it is refused.
#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call_words.h"
#include "core.h"
#include "order.h"
#include "pyptx/driver/device.h"
#include "pyptx/interop/strides.h"
#include "pyptx/support/concat.h"

namespace pyptx::call {
namespace {

using diag::Kind;
using interop::ReadTensor;
using support::concat;

/// Where a kernel for any device runs on the emulator.
constexpr const char* kEmulatedTarget = "sm_90a";

interop::Shape strides_of(const interop::Array& array) {
  return {array.strides->begin(), array.strides->end()};
}

/// As the entry compares it.
interop::TensorShape tensor_shape(const interop::Tile& tile, const interop::Array& array,
                                  dlpack::DataType type, const interop::Shape& strides) {
  interop::TensorShape out(type, array.shape, tile.is_column());
  out.bytes = array.bytes;
  out.rows = interop::ByteRows::dense(out.bytes);
  if (!strides.empty() && strides != interop::dense_strides(array.shape)) {
    out.strides = strides;
    out.rows = interop::ByteRows::of(array.shape, strides, interop::element_bits(array.dtype) / 8);
    out.bytes = out.rows.bytes;
  }
  return out;
}

std::string known_text(const interop::Bound& bound) {
  std::string out;
  for (const auto& [name, size] : bound.sizes) out += concat(out.empty() ? "" : ", ", name);
  for (const auto& [name, type] : bound.types) out += concat(out.empty() ? "" : ", ", name);
  return out.empty() ? "none" : out;
}

}  // namespace

diag::Result<std::array<std::int64_t, 3>> Core::grid_for(const interop::Bound& bound,
                                                         const void* values) const {
  const Dims dims(bound);
  const GridSize size = declared_.grid(dims, values);
  const std::string what = concat(signature_.title(), ": grid");
  if (!dims.missing().empty()) {
    return diag::fail(Kind::KeywordName, {what, concat("asks for '", dims.missing(),
                                                       "', which this call has not (it has ",
                                                       known_text(bound), ")")});
  }
  std::array<std::int64_t, 3> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto extent = size.extents[i].value(bound.sizes);
    if (!extent) {
      if (extent.error().kind == Kind::UnknownSize) extent.error()->arguments[0] = what;
      return extent.failure();
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (*extent < 0 || *extent > kMost) {
      return diag::fail(Kind::DimensionsValue,
                        {what, concat(*extent),
                         *extent < 0 ? "negative size"
                                     : concat("size above ", kMost, ", the most there can be")});
    }
    out[i] = *extent;
  }
  return out;
}

/// The values of raw parameters that follow from the tensors.
std::vector<interop::KernelLaunch::Scalar> Core::fixed_scalars(const interop::Bound& bound,
                                                               const interop::Facts& facts) const {
  std::vector<interop::KernelLaunch::Scalar> out;
  for (const interop::RawParameter& raw : signature_.scalars) {
    if (const auto size = bound.sizes.find(raw.name)) out.push_back({raw.name, *size, true});
  }
  for (std::size_t i = 0; i < facts.strides.size(); ++i) {
    for (std::size_t axis = 0; axis < facts.strides[i].size(); ++axis) {
      if (auto name = stride_name(i, axis)) {
        out.push_back({std::move(*name), facts.strides[i][axis], true});
      }
    }
  }
  return out;
}

diag::Result<std::string> Core::target_for(const dlpack::Device& device) const {
  if (declared_.spec.arch != "auto") return declared_.spec.arch;
  if (device.type == dlpack::DeviceType::Cuda) {
    auto info = driver::device(device.id);
    if (!info) return info.failure();
    return (*info)->target;
  }
  if (!driver::available()) return std::string(kEmulatedTarget);
  const auto current = driver::current_device();
  if (!current) return std::string(kEmulatedTarget);
  const auto info = driver::device(*current);
  return info ? (*info)->target : std::string(kEmulatedTarget);
}

diag::Result<std::shared_ptr<const Entry>> Core::prepare(const Arguments& call,
                                                         std::uint64_t hash) {
  if (refused_) return diag::fail(*refused_);
  std::array<ReadTensor, driver::kMaxTensors> memory;
  auto order = ordered(*this, call, memory);
  if (!order) return order.failure();
  const std::span<const ReadTensor> views = *order;
  const auto device = device_of(*this, call, views);
  if (!device) return diag::fail(device.error());

  std::vector<interop::Array> arrays;
  for (const ReadTensor& view : views) arrays.push_back(array_of(view, device_text(view.device)));
  const std::span<const interop::Array> all(arrays);
  auto bound = interop::bind_inputs(signature_, all.first(input_count()));
  if (!bound) return bound.failure();
  const std::string place = device_text(*device);
  if (auto status = interop::bind_outputs(signature_, all.subspan(input_count()), *bound, place);
      !status) {
    return status.failure();
  }
  if (auto status = check_memory(*this, call, views, all); !status) return status.failure();

  interop::Facts facts;
  std::vector<author::TracedTensor> traced;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    facts.shapes.push_back(arrays[i].shape);
    facts.dtypes.push_back(arrays[i].dtype);
    const bool is_strided = signature_.tensor(i).tile.strided;
    facts.strides.push_back(is_strided
                                ? interop::row_strides(arrays[i].shape, strides_of(arrays[i]))
                                : interop::Shape());
    traced.push_back(traced_tensor(i, arrays[i].shape, arrays[i].dtype));
  }
  const void* values = values_or_default(call.values);
  const auto grid = grid_for(*bound, values);
  if (!grid) return diag::fail(grid.error());
  auto target = target_for(*device);
  if (!target) return target.failure();
  const auto kept_values = copy_of(call.values);
  auto trace_of = trace({std::move(traced), std::move(*target), kept_values});
  if (!trace_of) return trace_of.failure();
  const TraceSlot& slot = **trace_of;

  auto entry = std::make_shared<Entry>();
  entry->device = device->type;
  if (declared_.spec.arch == "auto") entry->ordinal = device->id;
  entry->values = kept_values;
  entry->hash = hash;
  entry->has_work = std::ranges::count(*grid, 0) == 0;
  const std::span outputs = std::span(facts.shapes).subspan(input_count());
  if (auto status = interop::check_empty_grid(signature_, *grid, outputs); !status) {
    return status.failure();
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto& [name, tile] = signature_.tensor(i);
    std::uint64_t alignment = 1;
    if (std::ranges::count(slot.traced->map_tensors, name) != 0) {
      alignment = driver::kMappedAlignment;
      if (auto status = interop::check_mapped(signature_.kernel, name, arrays[i].pointer);
          !status) {
        return status.failure();
      }
    }
    entry->tensors.push_back(tensor_shape(tile, arrays[i], views[i].dtype, facts.strides[i]));
    entry->expected.add(entry->tensors.back(), alignment);
  }
  if (entry->has_work) {
    auto image = interop::make_image(slot.text, signature_, facts,
                                     launch_of(slot, *grid, fixed_scalars(*bound, facts)));
    if (!image) return image.failure();
    entry->image = std::move(*image);
  }
  keep(entry);
  return std::shared_ptr<const Entry>(std::move(entry));
}

interop::KernelLaunch Core::launch_of(const TraceSlot& slot,
                                      const std::array<std::int64_t, 3>& grid,
                                      std::vector<interop::KernelLaunch::Scalar> scalars) const {
  const KernelSpec<>& spec = declared_.spec;
  const auto extent = [&](std::size_t i) { return static_cast<std::uint32_t>(grid[i]); };
  interop::KernelLaunch out{
      .grid = {extent(0), extent(1), extent(2)},
      .block = spec.block,
      .cluster = spec.cluster,
      .dynamic_shared =
          std::max(spec.shared, static_cast<std::uint32_t>(slot.traced->dynamic_shared_bytes)),
      .scalars = std::move(scalars),
      .maps_by_value = spec.maps_by_value,
      .is_programmatic = spec.programmatic};
  for (const std::string& tensor : slot.traced->map_tensors) out.maps.push_back({tensor});
  return out;
}

void Core::keep(const std::shared_ptr<const Entry>& entry) {
  const std::unique_lock lock(entries_mutex_);
  const auto is_for_the_same = [&](const std::shared_ptr<const Entry>& known) {
    return known->hash == entry->hash && known->device == entry->device &&
           known->ordinal == entry->ordinal && known->tensors == entry->tensors &&
           are_same(known->values.get(), entry->values.get());
  };
  if (std::ranges::any_of(entries_, is_for_the_same)) return;
  // The oldest goes: a call that needs it again is prepared again.
  if (entries_.size() >= interop::kMaxSpecialisations) entries_.erase(entries_.begin());
  entries_.push_back(entry);
}

}  // namespace pyptx::call
