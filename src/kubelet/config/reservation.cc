#include "kubelet/config/reservation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/human_bytes.h"

namespace plimsoll::kubelet {
namespace {

uint64_t LessThan(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

// The node's memory beside huge pages that kubelet would give to pods, if nothing were reserved.
uint64_t PlainOf(const NumaShare& node) {
  return LessThan(node.memory, node.hugepages);
}

// The part that isn't reported. Huge pages that pods lack are not theirs as plain memory either.
uint64_t LeftOf(const NumaShare& node) {
  return LessThan(PlainOf(node), LessThan(node.told_memory, node.told_hugepages));
}

absl::Status ReserveCpus(const KubeletShare& share, Reservation* made) {
  made->cpus = share.LeftOut().ToString();
  if (!share.has_numbers) {
    made->cpu_count = LessThan(share.cpus.Size(), share.told_cpu_count);
    if (made->cpu_count > 0) {
      made->notes.push_back(
          "The topology says how many CPUs pods have and not which: they are reserved by number.");
    }
  }
  if (made->static_cpus && made->cpus.empty()) {
    return absl::FailedPreconditionError(
        "with static CPUs kubelet starts only if CPUs are reserved, and plimsolld leaves none out "
        "of the pods' part; its configuration names some by nodeResources: {cpus: {reserved: 0}}");
  }
  return absl::OkStatus();
}

// Takes what eviction and kubelet need beyond the untold memory from the largest nodes.
void TakeFromNodes(const KubeletShare& share, uint64_t bytes, Reservation* made) {
  while (bytes > 0) {
    uint32_t largest = 0;
    uint64_t free = 0;
    for (const auto& [id, node] : share.nodes) {
      const uint64_t left = LessThan(PlainOf(node), made->node_bytes[id]);
      if (left > free) {
        largest = id;
        free = left;
      }
    }
    if (free == 0) return;
    const uint64_t taken = std::min(free, bytes);
    made->node_bytes[largest] += taken;
    bytes -= taken;
  }
}

absl::Status ReserveNodes(const KubeletShare& share, uint64_t beyond, Reservation* made) {
  if (share.has_hidden_nodes) {
    return absl::FailedPreconditionError(
        "static memory is reserved by NUMA node, and the topology has memory outside of NUMA "
        "nodes; nodeResources.show hides them");
  }
  for (const auto& [id, node] : share.nodes) made->node_bytes[id] = LeftOf(node);
  TakeFromNodes(share, beyond, made);
  for (const auto& [id, node] : share.nodes) {
    if (node.file_memory == 0 || node.file_memory == node.memory) continue;
    if (made->node_bytes[id] + node.hugepages > node.file_memory) {
      return absl::FailedPreconditionError(absl::StrCat(
          "kubelet's static memory counts ", BytesInWords(node.file_memory), " in NUMA node ", id,
          ", by the node's own file, and more is to be reserved; use memory policy None"));
    }
    made->notes.push_back(absl::StrCat(
        "Of NUMA node ", id, " kubelet's static memory counts ", HumanBytes(node.file_memory),
        ", by the node's own file, and the machine has ", HumanBytes(node.memory), "."));
  }
  std::erase_if(made->node_bytes, [](const auto& entry) { return entry.second == 0; });
  if (made->node_bytes.empty()) {
    return absl::FailedPreconditionError(
        "with static memory kubelet starts only if memory is reserved, and nothing is: neither by "
        "plimsolld's nodeResources, nor for eviction, nor by kubeReserved");
  }
  return absl::OkStatus();
}

uint64_t LeftMemory(const KubeletShare& share) {
  if (share.has_hidden_nodes) return LessThan(share.PlainMemory(), share.ToldPlainMemory());
  uint64_t left = 0;
  for (const auto& [id, node] : share.nodes) left += LeftOf(node);
  return left;
}

absl::Status ReserveMemory(const KubeletShare& share, const ReservationOptions& options,
                           Reservation* made) {
  const uint64_t left = LeftMemory(share);
  const uint64_t others = options.eviction_bytes + options.kube_bytes;
  made->system_bytes = LessThan(left, others);
  const uint64_t beyond = LessThan(others, left);
  if (beyond > 0) {
    made->notes.push_back(absl::StrCat(
        "kubelet keeps ", HumanBytes(others), " for eviction and itself, ", HumanBytes(beyond),
        " more than plimsolld leaves out: pods get so much less than the topology says."));
  }
  for (const auto& [id, node] : share.nodes) {
    const uint64_t told = LessThan(node.told_memory, node.told_hugepages);
    if (told > PlainOf(node)) {
      made->notes.push_back(absl::StrCat(
          "NUMA node ", id, " has ", HumanBytes(told - PlainOf(node)),
          " less than the topology says, since kubelet gives no huge page as memory."));
    }
  }
  return options.static_memory ? ReserveNodes(share, beyond, made) : absl::OkStatus();
}

void NoteWhatStays(const KubeletShare& share, Reservation* made) {
  for (const auto& [name, bytes] : share.left_hugepages) {
    made->notes.push_back(absl::StrCat(name,
                                       ": kubelet can't reserve huge pages. Pods may get the ",
                                       HumanBytes(bytes), " that plimsolld doesn't tell."));
  }
  if (share.swap > 0) {
    made->notes.push_back(
        absl::StrCat("swap: kubelet can't reserve it. Its memorySwap decides "
                     "whether pods use the machine's ",
                     HumanBytes(share.swap), "."));
  }
}

}  // namespace

absl::StatusOr<Reservation> Reserve(const KubeletShare& share, const ReservationOptions& options) {
  Reservation made{.endpoint = options.endpoint,
                   .static_cpus = options.static_cpus,
                   .static_memory = options.static_memory};
  PLIMSOLL_RETURN_IF_ERROR(ReserveCpus(share, &made));
  PLIMSOLL_RETURN_IF_ERROR(ReserveMemory(share, options, &made));
  NoteWhatStays(share, &made);
  return made;
}

}  // namespace plimsoll::kubelet
