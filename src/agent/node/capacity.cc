#include "agent/node/capacity.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "topology/make_zones.h"
#include "topology/zones/zone.h"

namespace plimsoll::agent {
namespace {

using resources::Quantity;

// A product that is too large is the largest number.
int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

Quantity Bytes(int64_t bytes) {
  return Quantity::FromInt(bytes, Quantity::Format::kBinarySi);
}

absl::Status TooMuch(const std::string& resource, const NodeOptions& options,
                     const Quantity& there) {
  std::string parts;
  for (const auto& [option, reserved] : {std::pair("systemReserved", &options.system_reserved),
                                         std::pair("kubeReserved", &options.kube_reserved)}) {
    const auto amount = reserved->find(resource);
    if (amount == reserved->end()) continue;
    absl::StrAppend(&parts, parts.empty() ? "" : " and ", option, " ", amount->second.text());
  }
  return absl::FailedPreconditionError(
      absl::StrCat(resource, ": reserved are ", parts, ", of a capacity of ", there.Canonical()));
}

ResourceList Reserved(const NodeOptions& options) {
  ResourceList sums = options.system_reserved;
  for (const auto& [resource, amount] : options.kube_reserved) {
    sums[resource] = sums[resource] + amount;
  }
  sums.erase("pid");
  return sums;
}

void TakeHugePages(const ResourceList& capacity, Quantity& memory) {
  for (const auto& [resource, amount] : capacity) {
    if (!absl::StartsWith(resource, topology::kHugepagesPrefix)) continue;
    memory = amount > memory ? Bytes(0) : memory - amount;
  }
}

}  // namespace

ResourceList CapacityOf(const topology::MachineMaps& maps, int64_t storage_bytes,
                        int64_t max_pods) {
  ResourceList capacity = {{topology::kCpu, Quantity::FromInt(maps.cpu_count)},
                           {topology::kMemory, Bytes(maps.memory_bytes)},
                           {kEphemeralStorage, Bytes(storage_bytes)},
                           {kPods, Quantity::FromInt(max_pods)}};
  for (const auto& [page_bytes, count] : maps.hugepages) {
    capacity[topology::HugepagesName(static_cast<uint64_t>(page_bytes))] =
        Bytes(Times(page_bytes, count));
  }
  return capacity;
}

absl::StatusOr<ResourceList> AllocatableOf(const ResourceList& capacity,
                                           const NodeOptions& options) {
  ResourceList allocatable = capacity;
  for (const auto& [resource, amount] : Reserved(options)) {
    const auto there = allocatable.find(resource);
    if (there == allocatable.end()) {
      if (!amount.IsZero()) return TooMuch(resource, options, Quantity());
      continue;
    }
    if (amount > there->second) return TooMuch(resource, options, there->second);
    there->second = there->second - amount;
  }
  const auto memory = allocatable.find(topology::kMemory);
  if (memory != allocatable.end()) TakeHugePages(capacity, memory->second);
  return allocatable;
}

absl::StatusOr<int64_t> FilesystemBytes(const std::string& path) {
  struct statvfs filesystem = {};
  if (statvfs(path.c_str(), &filesystem) != 0) {
    return ErrnoStatus(errno, absl::StrCat("statvfs ", path));
  }
  return Times(static_cast<int64_t>(filesystem.f_blocks),
               static_cast<int64_t>(filesystem.f_frsize));
}

}  // namespace plimsoll::agent
