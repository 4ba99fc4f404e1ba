#include "kubelet/config/check_memory.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/human_bytes.h"

namespace plimsoll::kubelet {
namespace {

constexpr char kSystemReserved[] = "systemReserved";
constexpr char kReservedMemory[] = "reservedMemory";

class MemoryChecks {
 public:
  MemoryChecks(const Configuration& configuration, const KubeletShare& share,
               std::vector<KubeletFinding>* findings)
      : configuration_(configuration), share_(share), findings_(findings) {}

  void Run() {
    uint64_t machine = 0;
    for (const auto& [id, node] : share_.nodes) machine += node.memory;
    const auto system = MemoryIn(configuration_.system_reserved);
    const auto kube = MemoryIn(configuration_.kube_reserved);
    const auto eviction = EvictionBytes(configuration_, machine);
    Refuse(kSystemReserved, system.status());
    Refuse("kubeReserved", kube.status());
    Refuse("evictionHard", eviction.status());
    if (system.ok() && kube.ok() && eviction.ok()) CheckSum(*system + *kube + *eviction);
    CheckWhatStays();
  }

 private:
  void Add(bool is_conflict, absl::string_view field, std::string message) {
    findings_->push_back({is_conflict, std::string(field), std::move(message)});
  }

  void Refuse(absl::string_view field, const absl::Status& status) {
    if (!status.ok()) Add(true, field, absl::StrCat("kubelet doesn't start: ", status.message()));
  }

  void CheckSum(uint64_t reserved) {
    const uint64_t machine = share_.PlainMemory();
    const uint64_t given = machine > reserved ? machine - reserved : 0;
    const uint64_t told = share_.ToldPlainMemory();
    if (given != told) {
      Add(given > told, kSystemReserved,
          absl::StrCat("with kubeReserved and evictionHard it leaves pods ", BytesInWords(given),
                       " of memory, and the pods' part has ", BytesInWords(told)));
    }
    if (configuration_.memory_manager_policy == "Static") CheckNodes(reserved);
  }

  // kubelet compares the sums for equality.
  void CheckNodes(uint64_t reserved) {
    uint64_t sum = 0;
    std::map<uint32_t, uint64_t> by_node;
    for (const Configuration::ReservedMemory& each : configuration_.reserved_memory) {
      const auto bytes = MemoryIn(each.limits);
      Refuse(kReservedMemory, bytes.status());
      if (!bytes.ok()) return;
      if (!share_.nodes.contains(each.numa_node)) {
        Add(true, kReservedMemory,
            absl::StrCat("kubelet doesn't start: the machine has no NUMA node ", each.numa_node));
      }
      sum += *bytes;
      by_node[each.numa_node] += *bytes;
    }
    if (sum != reserved || sum == 0) {
      Add(true, kReservedMemory,
          absl::StrCat("kubelet doesn't start: its nodes have ", BytesInWords(sum),
                       ", and systemReserved, kubeReserved and evictionHard have ",
                       BytesInWords(reserved), "; the two must be equal and not 0"));
    }
    for (const auto& [id, node] : share_.nodes) CheckNode(id, node, by_node[id]);
  }

  void CheckNode(uint32_t id, const NumaShare& node, uint64_t reserved) {
    if (share_.has_hidden_nodes) return;
    const auto minus = [](uint64_t a, uint64_t b) { return a > b ? a - b : 0; };
    const uint64_t given = minus(minus(node.memory, node.hugepages), reserved);
    const uint64_t told = minus(node.told_memory, node.told_hugepages);
    if (given > told) {
      Add(true, kReservedMemory,
          absl::StrCat("leaves pods ", BytesInWords(given), " of NUMA node ", id,
                       ", and the pods' part has ", BytesInWords(told), " of it"));
    }
  }

  void CheckWhatStays() {
    for (const auto& [name, bytes] : share_.left_hugepages) {
      Add(false, name,
          absl::StrCat("kubelet can't reserve huge pages, and pods may get ", BytesInWords(bytes),
                       " that the pods' part doesn't have"));
    }
    if (share_.swap > 0 && configuration_.swap_behavior == "LimitedSwap") {
      Add(false, "memorySwap",
          absl::StrCat("kubelet can't reserve swap, and pods may use the machine's ",
                       BytesInWords(share_.swap)));
    }
  }

  const Configuration& configuration_;
  const KubeletShare& share_;
  std::vector<KubeletFinding>* const findings_;
};

}  // namespace

void CheckMemory(const Configuration& configuration, const KubeletShare& share,
                 std::vector<KubeletFinding>* findings) {
  MemoryChecks(configuration, share, findings).Run();
}

}  // namespace plimsoll::kubelet
