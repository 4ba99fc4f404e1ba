#include "topology/machine/discover.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "topology/machine/confinement.h"
#include "topology/machine/contradictions.h"
#include "topology/machine/core_kinds.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/machine/identity.h"
#include "topology/machine/kernel_files.h"
#include "topology/machine/kernel_nodes.h"
#include "topology/machine/machine_file.h"
#include "topology/machine/node_memory.h"

namespace plimsoll::topology {
namespace {

absl::StatusOr<Machine> ReadCaptured(const FsRoot& root, const std::string& hwloc_program) {
  Command command;
  command.argv = {hwloc_program};
  command.environment.push_back(absl::StrCat("HWLOC_FSROOT=", root.path()));
  // Only the files count, not the processor that runs this.
  command.environment.emplace_back("HWLOC_COMPONENTS=linux,stop");
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string xml,
                            RunChecked(command, {.max_output_bytes = 64 * 1024 * 1024}));
  auto machine = ReadHwlocXml(xml);
  if (!machine.ok()) return Annotate(machine.status(), root.path());
  return machine;
}

// A file as part of the signature: all of it, or why it can't be read.
absl::StatusOr<std::string> Part(const FsRoot& root, const std::string& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile read, ReadMachineFile(root, file));
  return absl::StrCat(read.text, read.why_not);
}

// One line of a file that has many; empty without such a line.
absl::StatusOr<std::string> Line(const FsRoot& root, const std::string& file,
                                 absl::string_view word) {
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile read, ReadMachineFile(root, file));
  for (const absl::string_view line : absl::StrSplit(read.text, '\n')) {
    if (absl::StrContains(line, word)) return std::string(line);
  }
  return read.why_not;
}

absl::StatusOr<std::string> PoolsSignature(const FsRoot& root, const std::string& pools) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> sizes, ListMachineFiles(root, pools));
  std::string signature;
  for (const std::string& size : sizes) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string count,
                              Part(root, absl::StrCat(pools, "/", size, "/nr_hugepages")));
    absl::StrAppend(&signature, " ", size, "=", count);
  }
  return signature;
}

absl::StatusOr<std::string> NodesSignature(const FsRoot& root, const std::vector<uint32_t>& nodes) {
  std::string signature;
  for (const uint32_t node : nodes) {
    const std::string directory = absl::StrCat(kNodeFiles, "/node", node);
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string memory,
                              Line(root, directory + "/meminfo", "MemTotal:"));
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string pools,
                              PoolsSignature(root, directory + "/hugepages"));
    absl::StrAppend(&signature, "node", node, " ", memory, pools, "\n");
  }
  return signature;
}

absl::StatusOr<Machine> ReadHwlocsPart(const FsRoot& root, const std::string& hwloc_program) {
  // Checks before and after, since hwloc silently skips files that it can't open.
  PLIMSOLL_RETURN_IF_ERROR(CheckHeadroom(root));
  auto machine = root.path() == "/" ? ReadWithHwloc() : ReadCaptured(root, hwloc_program);
  PLIMSOLL_RETURN_IF_ERROR(machine.status());
  PLIMSOLL_RETURN_IF_ERROR(CheckHeadroom(root));
  return machine;
}

// Where the kernel's files say more than hwloc, they decide.
absl::Status CompleteProcessors(const FsRoot& root, Machine& machine) {
  PLIMSOLL_RETURN_IF_ERROR(RestorePackages(root, machine));
  PLIMSOLL_RETURN_IF_ERROR(RestoreCaches(root, machine));
  PLIMSOLL_RETURN_IF_ERROR(ReadCoreKinds(root, machine));
  PLIMSOLL_RETURN_IF_ERROR(ReadIdentity(root, machine));
  return ReadCpuFeatures(root, machine);
}

}  // namespace

absl::Status AddMemory(const FsRoot& root, Machine& machine) {
  PLIMSOLL_RETURN_IF_ERROR(ReadKernelNodes(root, machine));
  PlaceRest(machine);
  TellOverlaps(machine);
  PLIMSOLL_RETURN_IF_ERROR(DecideMemory(root, machine));
  PLIMSOLL_RETURN_IF_ERROR(Confine(root, machine));
  return ReadSwap(root, machine);
}

absl::Status CompleteFromFiles(const FsRoot& root, Machine& machine) {
  PLIMSOLL_RETURN_IF_ERROR(CompleteProcessors(root, machine));
  return AddMemory(root, machine);
}

absl::StatusOr<Machine> DiscoverProcessors(const FsRoot& root, const std::string& hwloc_program) {
  PLIMSOLL_ASSIGN_OR_RETURN(Machine machine, ReadHwlocsPart(root, hwloc_program));
  PLIMSOLL_RETURN_IF_ERROR(CompleteProcessors(root, machine));
  return machine;
}

absl::StatusOr<Machine> Discover(const FsRoot& root, const std::string& hwloc_program) {
  PLIMSOLL_ASSIGN_OR_RETURN(Machine machine, DiscoverProcessors(root, hwloc_program));
  PLIMSOLL_RETURN_IF_ERROR(AddMemory(root, machine));
  return machine;
}

absl::StatusOr<MachineSignature> Signature(const FsRoot& root) {
  MachineSignature signature;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string online, Part(root, "sys/devices/system/cpu/online"));
  absl::StrAppend(&signature.processors, "online ", online);
  PLIMSOLL_ASSIGN_OR_RETURN(const Limits limits, ReadLimits(root));
  for (const auto& limit : {limits.cpus, limits.memory_nodes}) {
    absl::StrAppend(&signature.memory, "allowed ", limit ? limit->ToString() : "all", "\n");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string swap, Line(root, "proc/meminfo", "SwapTotal:"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string total, Line(root, "proc/meminfo", "MemTotal:"));
  absl::StrAppend(&signature.memory, swap, "\n", total, "\n");
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<uint32_t> nodes,
                            ListNumbered(root, kNodeFiles, "node"));
  if (!nodes.empty()) {
    absl::StrAppend(&signature.processors, "nodes ", absl::StrJoin(nodes, ","), "\n");
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string all, NodesSignature(root, nodes));
    signature.memory += all;
    return signature;
  }
  // On a kernel without NUMA, hwloc alone provides the memory.
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string pools,
                            PoolsSignature(root, "sys/kernel/mm/hugepages"));
  absl::StrAppend(&signature.processors, total, "\n", pools);
  return signature;
}

}  // namespace plimsoll::topology
