#include "agent/device_manager/device_stock.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/topology_manager/mask_walk.h"
#include "agent/topology_manager/node_range.h"
#include "agent/topology_manager/node_sums.h"

namespace plimsoll::agent {
namespace {

// 2^20 hints are no help to anybody. kubelet has no limit, and hangs.
constexpr size_t kMostHintNodes = 20;

// Devices by their NUMA nodes.
class CountByNodes {
 public:
  explicit CountByNodes(const std::map<uint64_t, int64_t>& counts) : of_one_node_(Single(counts)) {
    for (const auto& [nodes, count] : counts) {
      if (std::popcount(nodes) > 1) of_several_.emplace_back(nodes, count);
    }
  }

  // Devices that are near any of the nodes. A walk over 65,535 sets asks for each.
  int64_t At(NodeMask mask) const {
    int64_t sum = of_one_node_.Of(mask);
    for (const auto& [nodes, count] : of_several_) {
      if ((nodes & mask.bits()) != 0) sum += count;
    }
    return sum;
  }

 private:
  static std::map<uint32_t, int64_t> Single(const std::map<uint64_t, int64_t>& counts) {
    std::map<uint32_t, int64_t> by_node;
    for (const auto& [nodes, count] : counts) {
      if (std::popcount(nodes) == 1)
        by_node[static_cast<uint32_t>(std::countr_zero(nodes))] = count;
    }
    return by_node;
  }

  NodeSums of_one_node_;
  std::vector<std::pair<uint64_t, int64_t>> of_several_;
};

bool AnyAt(const Device& device, NodeMask nodes) {
  return device.nodes && !(*device.nodes & nodes).Empty();
}

bool HasAlignment(const DeviceResource& resource) {
  return std::any_of(resource.devices.begin(), resource.devices.end(),
                     [](const Device& device) { return device.nodes.has_value(); });
}

bool IsAvailable(const DeviceRequest& request, const Device& device) {
  return device.healthy && !request.held.contains(device.id) &&
         !request.reusable.contains(device.id);
}

// Nodes that have devices, as far as the machine has them; none: the machine's.
std::vector<uint32_t> HintNodesOf(const DeviceResource& resource, NodeMask machine) {
  NodeMask with_devices;
  for (const Device& device : resource.devices) {
    if (device.nodes) with_devices = with_devices | (*device.nodes & machine);
  }
  return (with_devices.Empty() ? machine : with_devices).ToVector();
}

// The places of one resource's devices.
struct Places {
  CountByNodes all;
  CountByNodes available;
  CountByNodes reusable;
  int64_t reusable_count = 0;  // the sum of `reusable`

  // All of the reusable ones, and `count` with those available.
  bool Has(NodeMask mask, int64_t count) const {
    const int64_t again = reusable_count == 0 ? 0 : reusable.At(mask);
    return again >= reusable_count && again + available.At(mask) >= count;
  }
};

Places PlacesOf(const DeviceRequest& request) {
  std::map<uint64_t, int64_t> all, available, reusable;
  int64_t reusable_count = 0;
  for (const Device& device : request.devices->devices) {
    if (!device.nodes) continue;
    const uint64_t nodes = device.nodes->bits();
    ++all[nodes];
    if (IsAvailable(request, device)) ++available[nodes];
    if (request.reusable.contains(device.id)) {
      ++reusable[nodes];
      ++reusable_count;
    }
  }
  return {.all = CountByNodes(all),
          .available = CountByNodes(available),
          .reusable = CountByNodes(reusable),
          .reusable_count = reusable_count};
}

std::vector<NodeRange> RangesOf(const Places& places, int64_t count, std::vector<uint32_t> nodes) {
  std::stable_sort(nodes.begin(), nodes.end(), [&](uint32_t a, uint32_t b) {
    return places.available.At(NodeMask::Of(a)) > places.available.At(NodeMask::Of(b));
  });
  return RangesThatSuffice({}, nodes, [&](NodeMask mask) { return places.Has(mask, count); });
}

int64_t CountAvailable(const DeviceRequest& request) {
  const std::vector<Device>& devices = request.devices->devices;
  return std::count_if(devices.begin(), devices.end(),
                       [&](const Device& device) { return IsAvailable(request, device); });
}

// A container's devices while they are chosen.
class Choice {
 public:
  Choice(const DeviceRequest& request, const PreferDevices& prefer)
      : request_(request), prefer_(prefer), needed_(request.count) {}

  // True: the choice is complete.
  bool Take(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      if (needed_ == 0) return true;
      if (!taken_.insert(id).second) continue;
      chosen_.push_back(id);
      --needed_;
    }
    return needed_ == 0;
  }
  // Lets the plugin choose among these and those taken; of its answer only these are taken.
  absl::StatusOr<bool> TakePreferred(const std::vector<std::string>& ids) {
    if (!request_.devices->has_preference || prefer_ == nullptr) return needed_ == 0;
    std::vector<std::string> available = chosen_;
    available.insert(available.end(), ids.begin(), ids.end());
    absl::StatusOr<std::vector<std::string>> preferred =
        prefer_(request_.resource, available, chosen_, request_.count);
    if (!preferred.ok()) {
      return absl::Status(preferred.status().code(),
                          absl::StrCat("device plugin GetPreferredAllocation rpc failed with err: ",
                                       preferred.status().message()));
    }
    const DeviceIds among(ids.begin(), ids.end());
    std::erase_if(*preferred, [&](const std::string& id) { return !among.contains(id); });
    return Take(*preferred);
  }
  int64_t needed() const { return needed_; }
  std::vector<std::string> chosen() && { return std::move(chosen_); }

 private:
  const DeviceRequest& request_;
  const PreferDevices& prefer_;
  int64_t needed_;
  std::vector<std::string> chosen_;
  DeviceIds taken_;
};

// Free devices by their place.
struct FreeDevices {
  std::vector<std::string> aligned;
  std::vector<std::string> elsewhere;
  std::vector<std::string> anywhere;  // without NUMA nodes
  std::vector<std::string> all;
};

FreeDevices FreeDevicesOf(const DeviceRequest& request, std::optional<NodeMask> nodes) {
  const bool by_place = nodes && HasAlignment(*request.devices);
  FreeDevices free;
  for (const Device& device : request.devices->devices) {
    if (!IsAvailable(request, device)) continue;
    free.all.push_back(device.id);
    if (!by_place || !device.nodes) {
      free.anywhere.push_back(device.id);
    } else if (AnyAt(device, *nodes)) {
      free.aligned.push_back(device.id);
    } else {
      free.elsewhere.push_back(device.id);
    }
  }
  return free;
}

std::vector<std::string> ReusableOf(const DeviceRequest& request) {
  std::vector<std::string> ids;
  for (const Device& device : request.devices->devices) {
    if (device.healthy && request.reusable.contains(device.id)) ids.push_back(device.id);
  }
  return ids;
}

// Takes as many as are needed, of `free` that has enough.
absl::Status TakeRest(const FreeDevices& free, Choice& choice) {
  if (choice.needed() < static_cast<int64_t>(free.aligned.size())) {
    const absl::StatusOr<bool> complete = choice.TakePreferred(free.aligned);
    if (!complete.ok()) return complete.status();
    choice.Take(free.aligned);
    return absl::OkStatus();
  }
  if (choice.Take(free.aligned)) return absl::OkStatus();
  const absl::StatusOr<bool> complete = choice.TakePreferred(free.all);
  if (!complete.ok()) return complete.status();
  if (!choice.Take(free.elsewhere)) choice.Take(free.anywhere);
  return absl::OkStatus();
}

}  // namespace

std::optional<std::vector<Hint>> DeviceHints(const DeviceRequest& request, NodeMask nodes,
                                             HintChoice choice) {
  if (request.devices == nullptr || !HasAlignment(*request.devices)) return std::nullopt;
  const Places places = PlacesOf(request);
  std::vector<Hint> hints;
  if (CountAvailable(request) + static_cast<int64_t>(request.reusable.size()) < request.count) {
    return hints;
  }
  const std::vector<uint32_t> with_devices = HintNodesOf(*request.devices, nodes);
  if (with_devices.size() > kMostHintNodes) return std::nullopt;
  if (choice == HintChoice::kRanges) {
    return HintsOf(RangesOf(places, request.count, with_devices));
  }
  if (choice == HintChoice::kAll) hints.reserve(size_t{1} << with_devices.size());
  int fewest = static_cast<int>(with_devices.size());
  ForEachMask(with_devices, [&](NodeMask mask) {
    const int size = mask.Count();
    if (size < fewest && places.all.At(mask) >= request.count) fewest = size;
    const bool preferred = size == fewest;
    if (choice == HintChoice::kPreferred && !preferred) return size < fewest;
    if (!places.Has(mask, request.count)) return true;
    // Smaller sets had too few devices, free or not: `fewest` doesn't change any more.
    hints.push_back({.nodes = mask, .preferred = preferred});
    return true;
  });
  return hints;
}

absl::StatusOr<std::vector<std::string>> ChooseDevices(const DeviceRequest& request,
                                                       std::optional<NodeMask> nodes,
                                                       const PreferDevices& prefer) {
  if (request.devices == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate unregistered device ", request.resource));
  }
  const std::vector<Device>& devices = request.devices->devices;
  if (std::none_of(devices.begin(), devices.end(),
                   [](const Device& each) { return each.healthy; })) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no healthy devices present; cannot allocate unhealthy devices ", request.resource));
  }
  Choice choice(request, prefer);
  if (choice.needed() <= 0 || choice.Take(ReusableOf(request))) return std::move(choice).chosen();
  const FreeDevices free = FreeDevicesOf(request, nodes);
  if (static_cast<int64_t>(free.all.size()) < choice.needed()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("requested number of devices unavailable for ", request.resource,
                     ". Requested: ", choice.needed(), ", Available: ", free.all.size()));
  }
  if (absl::Status status = TakeRest(free, choice); !status.ok()) return status;
  return std::move(choice).chosen();
}

}  // namespace plimsoll::agent
