#include "pictures/capture.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "topology/machine/kernel_files.h"
#include "topology/machine/lxcfs.h"
#include "topology/machine/machine_file.h"
#include "topology/machine/node_memory.h"
#include "topology/zones/zone.h"

namespace plimsoll::pictures {
namespace {

using topology::IsByLxcfs;
using topology::kBootId;
using topology::kCpuFiles;
using topology::kMachineId;
using topology::kNodeFiles;
using topology::kSystemUuid;
using topology::ListMachineFiles;
using topology::ListNumbered;
using topology::Machine;
using topology::MachineFile;
using topology::NodeFilesDisagree;
using topology::NumaNode;
using topology::ReadMachineFile;

constexpr char kDax[] = "sys/bus/dax";
constexpr size_t kMaxCaptureBytes = 64 * 1024 * 1024;

class Capturer {
 public:
  Capturer(const FsRoot& host, const FsRoot& out) : host_(host), out_(out) {}

  absl::Status Put(const std::string& file, absl::string_view text) const {
    const size_t slash = file.rfind('/');
    if (slash != std::string::npos) {
      PLIMSOLL_RETURN_IF_ERROR(out_.MakeDirs(file.substr(0, slash), 0755));
    }
    return out_.ReplaceFile(file, text, 0644);
  }
  absl::Status Link(const std::string& directory, const std::string& name,
                    const std::string& target) const {
    PLIMSOLL_RETURN_IF_ERROR(out_.MakeDirs(directory, 0755));
    const std::string file = absl::StrCat(directory, "/", name);
    if (symlinkat(target.c_str(), out_.fd(), file.c_str()) == 0) return absl::OkStatus();
    return ErrnoStatus(errno, absl::StrCat("make link ", out_.PathOf(file)));
  }
  // Leaves out a file that doesn't exist or that this machine won't show.
  absl::Status Copy(const std::string& file) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile read,
                              ReadMachineFile(host_, file, kMaxCaptureBytes));
    if (read.text.empty() && (!read.why_not.empty() || !host_.Exists(file))) {
      return absl::OkStatus();
    }
    return Put(file, read.text);
  }
  absl::Status CopyAll(const std::string& directory, const std::vector<const char*>& files) const {
    for (const char* file : files) {
      PLIMSOLL_RETURN_IF_ERROR(Copy(absl::StrCat(directory, "/", file)));
    }
    return absl::OkStatus();
  }
  // Copies files and, `depth` levels down, directories; no links, which in sysfs lead to other
  // devices.
  absl::Status CopyTree(const std::string& directory, int depth) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                              ListMachineFiles(host_, directory));
    for (const std::string& name : names) {
      const std::string path = absl::StrCat(directory, "/", name);
      if (host_.ReadLink(path).ok()) continue;
      const auto info = host_.Stat(path);
      if (!info.ok()) continue;
      if (S_ISREG(info->st_mode)) PLIMSOLL_RETURN_IF_ERROR(Copy(path));
      if (S_ISDIR(info->st_mode) && depth > 0) {
        PLIMSOLL_RETURN_IF_ERROR(CopyTree(path, depth - 1));
      }
    }
    return absl::OkStatus();
  }
  // Copies page counts; the other files there describe usage.
  absl::Status CopyPools(const std::string& directory) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> sizes,
                              ListMachineFiles(host_, directory));
    for (const std::string& size : sizes) {
      PLIMSOLL_RETURN_IF_ERROR(Copy(absl::StrCat(directory, "/", size, "/nr_hugepages")));
    }
    return absl::OkStatus();
  }

  absl::Status CopyCpus() const {
    PLIMSOLL_RETURN_IF_ERROR(CopyAll(kCpuFiles, {"online", "offline", "possible", "present"}));
    PLIMSOLL_ASSIGN_OR_RETURN(const auto numbers, ListNumbered(host_, kCpuFiles, "cpu"));
    for (const uint32_t number : numbers) {
      const std::string cpu = absl::StrCat(kCpuFiles, "/cpu", number);
      PLIMSOLL_RETURN_IF_ERROR(CopyAll(
          cpu, {"online", "regs/identification/midr_el1", "cpu_capacity", "cpufreq/base_frequency",
                "cpufreq/cpuinfo_max_freq", "cpufreq/cpuinfo_min_freq", "cpufreq/scaling_driver",
                "acpi_cppc/nominal_freq", "acpi_cppc/nominal_perf", "acpi_cppc/highest_perf"}));
      PLIMSOLL_RETURN_IF_ERROR(CopyTree(cpu + "/topology", 0));
      PLIMSOLL_RETURN_IF_ERROR(CopyTree(cpu + "/cache", 1));
      PLIMSOLL_RETURN_IF_ERROR(CopyNames(cpu, "node"));
    }
    return CopyAll("sys/devices", {"cpu_core/cpus", "cpu_atom/cpus", "cpu_lowpower/cpus"});
  }
  absl::Status CopyNodes() const {
    PLIMSOLL_RETURN_IF_ERROR(CopyTree(kNodeFiles, 0));
    PLIMSOLL_ASSIGN_OR_RETURN(const auto numbers, ListNumbered(host_, kNodeFiles, "node"));
    for (const uint32_t number : numbers) {
      const std::string node = absl::StrCat(kNodeFiles, "/node", number);
      PLIMSOLL_RETURN_IF_ERROR(CopyAll(node, {"cpumap", "cpulist", "meminfo", "distance"}));
      PLIMSOLL_RETURN_IF_ERROR(CopyPools(node + "/hugepages"));
      PLIMSOLL_RETURN_IF_ERROR(CopyInitiators(node + "/access0/initiators"));
      PLIMSOLL_RETURN_IF_ERROR(CopyInitiators(node + "/access1/initiators"));
    }
    return CopyPools("sys/kernel/mm/hugepages");
  }
  // Copies links "node3" as names: their targets are captured elsewhere.
  absl::Status CopyNames(const std::string& directory, const char* word) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto numbers, ListNumbered(host_, directory, word));
    for (const uint32_t number : numbers) {
      PLIMSOLL_RETURN_IF_ERROR(out_.MakeDirs(absl::StrCat(directory, "/", word, number), 0755));
    }
    return absl::OkStatus();
  }
  absl::Status CopyInitiators(const std::string& directory) const {
    PLIMSOLL_RETURN_IF_ERROR(CopyTree(directory, 0));
    return CopyNames(directory, "node");
  }
  // Memory blocks are many on a large machine, and few machines need them.
  absl::Status CopyMemoryBlocks(const Machine& machine) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool needed, NodeFilesDisagree(host_));
    if (!needed || machine.nodes.size() < 2) return absl::OkStatus();
    for (const NumaNode& node : machine.nodes) {
      const std::string directory = absl::StrCat(kNodeFiles, "/node", node.id);
      PLIMSOLL_ASSIGN_OR_RETURN(const auto blocks, ListNumbered(host_, directory, "memory"));
      for (const uint32_t block : blocks) {
        PLIMSOLL_RETURN_IF_ERROR(Copy(absl::StrCat(directory, "/memory", block, "/state")));
      }
    }
    return absl::OkStatus();
  }
  // Captures the memory nodes of GPUs, without their bus addresses.
  absl::Status CopyGpus() const {
    const std::string gpus = "proc/driver/nvidia/gpus";
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListMachineFiles(host_, gpus));
    int number = 0;
    for (const std::string& name : names) {
      PLIMSOLL_ASSIGN_OR_RETURN(
          const MachineFile status,
          ReadMachineFile(host_, absl::StrCat(gpus, "/", name, "/numa_status")));
      if (status.text.empty()) continue;
      PLIMSOLL_RETURN_IF_ERROR(
          Put(absl::StrCat(gpus, "/gpu", number++, "/numa_status"), status.text));
    }
    return absl::OkStatus();
  }
  // Captures devices whose memory is a node: their place below sys/devices shows their kind.
  absl::Status CopyDax() const {
    const std::string devices = absl::StrCat(kDax, "/devices");
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                              ListMachineFiles(host_, devices));
    for (const std::string& name : names) {
      const auto target = host_.ReadLink(absl::StrCat(devices, "/", name));
      absl::string_view place = target.ok() ? absl::string_view(*target) : absl::string_view();
      if (!absl::ConsumePrefix(&place, "../../../devices/")) continue;
      PLIMSOLL_RETURN_IF_ERROR(Copy(absl::StrCat("sys/devices/", place, "/target_node")));
      PLIMSOLL_RETURN_IF_ERROR(Link(devices, name, *target));
      const std::string driver = absl::StrCat(kDax, "/drivers/kmem");
      if (host_.Exists(absl::StrCat(driver, "/", name))) {
        PLIMSOLL_RETURN_IF_ERROR(Link(driver, name, absl::StrCat("../", *target)));
      }
    }
    return absl::OkStatus();
  }

  // Puts anonymous ids where the machine has ids.
  absl::Status PutIdentity(const Machine& machine) const {
    for (const auto& [attribute, file, text] :
         {std::tuple(kMachineId, "etc/machine-id", "00000000000000000000000000000000\n"),
          {kBootId, "proc/sys/kernel/random/boot_id", "00000000-0000-0000-0000-000000000000\n"},
          {kSystemUuid, "sys/class/dmi/id/product_uuid",
           "00000000-0000-0000-0000-000000000000\n"}}) {
      if (!machine.attributes.contains(attribute)) continue;
      PLIMSOLL_RETURN_IF_ERROR(Put(file, text));
    }
    const auto architecture = machine.attributes.find("architecture");
    // hwloc's own file, in place of uname(2).
    return Put("proc/hwloc-nofile-info",
               absl::StrCat("OSName: Linux\n",
                            architecture == machine.attributes.end()
                                ? ""
                                : absl::StrCat("Architecture: ", architecture->second, "\n")));
  }

  // Puts the mounts that say which file systems these files belong to.
  absl::Status PutMounts() const {
    std::string mounts = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
    for (const char* file : {"/proc/cpuinfo", "/proc/meminfo"}) {
      PLIMSOLL_ASSIGN_OR_RETURN(const bool is_by_lxcfs, IsByLxcfs(host_, file));
      if (is_by_lxcfs) absl::StrAppend(&mounts, "lxcfs ", file, " fuse.lxcfs rw 0 0\n");
    }
    return Put("proc/mounts", mounts);
  }

  // Reduces all cgroups to one that limits, in a v2 hierarchy of its own.
  absl::Status PutLimits(const Machine& machine) const {
    resources::CpuSet nodes;
    for (const NumaNode& node : machine.nodes) nodes.Add(node.id);
    PLIMSOLL_RETURN_IF_ERROR(PutMounts());
    PLIMSOLL_RETURN_IF_ERROR(Put("proc/self/cgroup", "0::/\n"));
    const std::string cpus = machine.cpus.ToString() + "\n";
    const std::string memory = nodes.ToString() + "\n";
    PLIMSOLL_RETURN_IF_ERROR(Put("proc/self/status", absl::StrCat("Cpus_allowed_list:\t", cpus,
                                                                  "Mems_allowed_list:\t", memory)));
    PLIMSOLL_RETURN_IF_ERROR(Put("sys/fs/cgroup/cgroup.controllers", "cpuset\n"));
    PLIMSOLL_RETURN_IF_ERROR(Put("sys/fs/cgroup/cpuset.cpus.effective", cpus));
    return Put("sys/fs/cgroup/cpuset.mems.effective", memory);
  }

 private:
  const FsRoot& host_;
  const FsRoot& out_;
};

}  // namespace

absl::Status Capture(const FsRoot& host, const Machine& machine, const FsRoot& out) {
  const Capturer capturer(host, out);
  PLIMSOLL_RETURN_IF_ERROR(capturer.CopyCpus());
  PLIMSOLL_RETURN_IF_ERROR(capturer.CopyNodes());
  PLIMSOLL_RETURN_IF_ERROR(capturer.CopyDax());
  PLIMSOLL_RETURN_IF_ERROR(capturer.CopyMemoryBlocks(machine));
  PLIMSOLL_RETURN_IF_ERROR(capturer.CopyGpus());
  PLIMSOLL_RETURN_IF_ERROR(capturer.CopyAll("proc", {"cpuinfo", "meminfo"}));
  PLIMSOLL_RETURN_IF_ERROR(capturer.PutIdentity(machine));
  return capturer.PutLimits(machine);
}

}  // namespace plimsoll::pictures
