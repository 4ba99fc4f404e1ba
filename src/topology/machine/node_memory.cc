#include "topology/machine/node_memory.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "topology/machine/kernel_files.h"
#include "topology/machine/lxcfs.h"
#include "topology/machine/machine_file.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

constexpr double kTolerance = 0.03;
constexpr uint64_t kPage = 4096;  // the least of any machine: the files may be of another one

// A rounded size for people: a sentence that changed with each page would be reported each time.
std::string Gib(uint64_t bytes) {
  return absl::StrFormat("%.1fGi", static_cast<double>(bytes) / (1 << 30));
}

absl::StatusOr<std::optional<uint64_t>> MemTotal(const FsRoot& root) {
  return ReadMemInfo(root, "proc/meminfo", "MemTotal:");
}

absl::StatusOr<uint64_t> OnlineBlocks(const FsRoot& root, uint32_t node) {
  const std::string directory = absl::StrCat(kNodeFiles, "/node", node);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<uint32_t> blocks,
                            ListNumbered(root, directory, "memory"));
  uint64_t online = 0;
  for (const uint32_t block : blocks) {
    PLIMSOLL_ASSIGN_OR_RETURN(
        const MachineFile state,
        ReadMachineFile(root, absl::StrCat(directory, "/memory", block, "/state")));
    if (absl::StartsWith(state.text, "online")) ++online;
  }
  return online;
}

// Nodes that the kernel only lists as having memory.
absl::StatusOr<CpuSet> UnseenNodes(const FsRoot& root, const Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<CpuSet> with_memory,
                            ReadList(root, absl::StrCat(kNodeFiles, "/has_memory")));
  CpuSet unseen = with_memory.value_or(CpuSet());
  for (const NumaNode& node : machine.nodes) unseen.Remove(node.id);
  return unseen;
}

// Online blocks by node; empty when no node has any.
absl::StatusOr<std::map<uint32_t, uint64_t>> BlocksOfNodes(const FsRoot& root,
                                                           const Machine& machine) {
  std::map<uint32_t, uint64_t> blocks;
  uint64_t all = 0;
  for (const NumaNode& node : machine.nodes) {
    PLIMSOLL_ASSIGN_OR_RETURN(blocks[node.id], OnlineBlocks(root, node.id));
    all += blocks[node.id];
  }
  if (all == 0) blocks.clear();
  return blocks;
}

// True when LXCFS shows a container's limit in place of the machine's memory.
absl::StatusOr<bool> IsLimitByLxcfs(const FsRoot& root, uint64_t total, const Machine& machine) {
  uint64_t memory = 0;
  for (const NumaNode& node : machine.nodes) memory += node.memory_bytes;
  if (total >= memory) return false;
  return IsByLxcfs(root, "/proc/meminfo");
}

// Divides `total` in proportion to the nodes' `shares`.
void ShareOut(uint64_t total, const std::map<uint32_t, uint64_t>& shares, Machine& machine) {
  uint64_t all = 0;
  for (const auto& [node, count] : shares) all += count;
  // Counts in pages; the last node gets the remainder.
  uint64_t left = total / kPage;
  for (NumaNode& node : machine.nodes) {
    const uint64_t count = shares.at(node.id);
    const uint64_t share = all == 0 ? 0 : left * count / all;
    node.memory_bytes = share * kPage;
    left -= share;
    all -= count;
  }
}

}  // namespace

absl::StatusOr<bool> NodeFilesDisagree(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> total, MemTotal(root));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<uint32_t> nodes,
                            ListNumbered(root, kNodeFiles, "node"));
  uint64_t sum = 0;
  for (const uint32_t node : nodes) {
    PLIMSOLL_ASSIGN_OR_RETURN(
        const std::optional<uint64_t> memory,
        ReadMemInfo(root, absl::StrCat(kNodeFiles, "/node", node, "/meminfo"), "MemTotal:"));
    sum += memory.value_or(0);
  }
  if (!total || *total == 0 || sum == 0) return false;
  const double ratio = static_cast<double>(sum) / static_cast<double>(*total);
  return ratio < 1 - kTolerance || ratio > 1 + kTolerance;
}

absl::Status DecideMemory(const FsRoot& root, Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool disagree, NodeFilesDisagree(root));
  if (!disagree) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> total, MemTotal(root));
  if (!total) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_limit, IsLimitByLxcfs(root, *total, machine));
  if (is_limit) {
    std::map<uint32_t, uint64_t> shares;
    for (const NumaNode& node : machine.nodes) shares[node.id] = node.memory_bytes >> 20;
    ShareOut(*total, shares, machine);
    machine.missing.push_back(absl::StrCat(
        "LXCFS provides MemTotal of /proc/meminfo, ", Gib(*total),
        ", this container's limit: the NUMA nodes share it in proportion to their own files"));
    return absl::OkStatus();
  }
  const std::string what =
      absl::StrCat("the NUMA nodes' files don't add up to MemTotal of /proc/meminfo, ", Gib(*total),
                   ", as where memory was added after boot: ");
  PLIMSOLL_ASSIGN_OR_RETURN(const CpuSet unseen, UnseenNodes(root, machine));
  if (!unseen.Empty()) {
    machine.missing.push_back(absl::StrCat(what, "nodes ", unseen.ToString(),
                                           " have memory and no files, and are not shown"));
    return absl::OkStatus();
  }
  if (machine.nodes.size() == 1) {
    machine.nodes[0].memory_bytes = *total;
    machine.missing.push_back(what + "the only node is shown with MemTotal");
    return absl::OkStatus();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto blocks, BlocksOfNodes(root, machine));
  if (blocks.empty()) {
    machine.missing.push_back(what +
                              "there are no memory blocks to decide by, so each node is "
                              "shown with the memory in its own file");
    return absl::OkStatus();
  }
  ShareOut(*total, blocks, machine);
  machine.missing.push_back(what +
                            "it is shared out among the nodes by their online memory blocks");
  return absl::OkStatus();
}

}  // namespace plimsoll::topology
