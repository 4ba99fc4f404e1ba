#include "topology/discover.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "topology/hwloc_reader.h"
#include "topology/identity.h"

namespace plimsoll::topology {
namespace {

constexpr char kNodes[] = "sys/devices/system/node";

absl::StatusOr<Machine> ReadCaptured(const FsRoot& root, const std::string& hwloc_program) {
  Command command;
  command.argv = {hwloc_program};
  command.environment.push_back(absl::StrCat("HWLOC_FSROOT=", root.path()));
  // The files and no more: not what the processor that runs this says of itself.
  command.environment.emplace_back("HWLOC_COMPONENTS=linux,stop");
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string xml,
                            RunChecked(command, {.max_output_bytes = 64 * 1024 * 1024}));
  auto machine = ReadHwlocXml(xml);
  if (!machine.ok()) return Annotate(machine.status(), root.path());
  return machine;
}

// A line of a file that has many; empty when there is none.
std::string Line(const FsRoot& root, const std::string& file, absl::string_view word) {
  const auto text = root.Read(file);
  if (!text.ok()) return "";
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::StrContains(line, word)) return std::string(line);
  }
  return "";
}

std::string NodeSignature(const FsRoot& root, const std::string& node) {
  std::string signature = Line(root, node + "/meminfo", "MemTotal:");
  const std::string pools = node + "/hugepages";
  const auto sizes = root.List(pools);
  if (!sizes.ok()) return signature;
  for (const std::string& size : *sizes) {
    absl::StrAppend(&signature, " ", size, "=",
                    root.Read(absl::StrCat(pools, "/", size, "/nr_hugepages")).value_or(""));
  }
  return signature;
}

}  // namespace

absl::StatusOr<Machine> Discover(const FsRoot& root, const std::string& hwloc_program) {
  auto machine = root.path() == "/" ? ReadWithHwloc() : ReadCaptured(root, hwloc_program);
  PLIMSOLL_RETURN_IF_ERROR(machine.status());
  ReadIdentity(root, *machine);
  ReadCpuFeatures(root, *machine);
  ReadHybridKinds(root, *machine);
  ReadSwap(root, *machine);
  return machine;
}

std::string Signature(const FsRoot& root) {
  std::string signature =
      absl::StrCat("online ", root.Read("sys/devices/system/cpu/online").value_or(""),
                   Line(root, "proc/self/status", "Cpus_allowed_list:"), "\n",
                   Line(root, "proc/self/status", "Mems_allowed_list:"), "\n",
                   Line(root, "proc/meminfo", "SwapTotal:"), "\n");
  const auto nodes = root.List(kNodes);
  if (!nodes.ok()) {  // a kernel without NUMA
    absl::StrAppend(&signature, Line(root, "proc/meminfo", "MemTotal:"));
    return signature;
  }
  for (const std::string& node : *nodes) {
    if (!absl::StartsWith(node, "node") || node.size() < 5 || !absl::ascii_isdigit(node[4]))
      continue;
    absl::StrAppend(&signature, node, " ", NodeSignature(root, absl::StrCat(kNodes, "/", node)),
                    "\n");
  }
  return signature;
}

}  // namespace plimsoll::topology
