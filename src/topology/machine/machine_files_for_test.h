// For tests: a machine's sysfs and procfs, written from a short description; hwloc reads them as a
// captured machine. Formats are those of Documentation/admin-guide/cputopology.rst,
// Documentation/ABI/testing/sysfs-devices-system-cpu and sysfs-devices-node; of memory of several
// kinds Documentation/admin-guide/mm/numaperf.rst and Documentation/ABI/testing/sysfs-bus-dax.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_MACHINE_FILES_FOR_TEST_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_MACHINE_FILES_FOR_TEST_H_

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/dir_for_test.h"
#include "base/status.h"
#include "resources/cpu_set.h"

namespace plimsoll::topology {

struct FakeCache {
  uint32_t level;
  uint64_t size_kib;
  std::string cpus;
  int id = -1;  // -1: no id file
};

struct FakeCpu {
  uint32_t cpu;
  int package = 0;
  int core = 0;
  int die = -1;          // -1: no die_id file
  std::string siblings;  // CPUs of its core
  std::string package_cpus;
  std::map<std::string, int> groups;  // "book" -> book_id, "drawer" -> drawer_id (s390x)
};

struct FakeNode {
  uint32_t id;
  std::string cpus;
  uint64_t memory_kib;
  std::string distances;                       // "10 21"
  std::map<uint64_t, uint64_t> hugepages_kib;  // KiB per page -> number of pages
};

class MachineFiles {
 public:
  // `architecture`: uname(2)'s on that machine. hwloc has it from this file of its own.
  explicit MachineFiles(const std::string& architecture = "x86_64") {
    Put("proc/hwloc-nofile-info",
        absl::StrCat("OSName: Linux\nArchitecture: ", architecture, "\n"));
    Put("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
    Put("proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
    Put("sys/class/dmi/id/product_uuid", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee\n");
    PutMemTotal(16 << 20);
  }
  FsRoot root() { return dir_.root(); }
  const std::string& path() const { return dir_.path(); }
  void Put(const std::string& file, absl::string_view text) {
    const size_t slash = file.rfind('/');
    if (slash != std::string::npos) Check(root().MakeDirs(file.substr(0, slash), 0755));
    Check(root().ReplaceFile(file, text));
  }
  void Link(const std::string& file, const std::string& target) {
    Check(root().MakeDirs(file.substr(0, file.rfind('/')), 0755));
    if (symlinkat(target.c_str(), root().fd(), file.c_str()) != 0) {
      Check(ErrnoStatus(errno, file));
    }
  }

  // Lists of the CPUs online and of all CPUs.
  void Cpus(const std::string& online, const std::string& present) {
    Put("sys/devices/system/cpu/online", online + "\n");
    Put("sys/devices/system/cpu/present", present + "\n");
    Put("sys/devices/system/cpu/possible", present + "\n");
  }

  void Add(const FakeCpu& cpu) {
    const std::string topology = absl::StrCat(Directory(cpu.cpu), "/topology/");
    Put(topology + "physical_package_id", absl::StrCat(cpu.package, "\n"));
    Put(topology + "core_id", absl::StrCat(cpu.core, "\n"));
    PutCpus(topology, {"core_cpus", "thread_siblings"}, cpu.siblings);
    PutCpus(topology, {"package_cpus", "core_siblings"}, cpu.package_cpus);
    if (cpu.die >= 0) Put(topology + "die_id", absl::StrCat(cpu.die, "\n"));
    for (const auto& [group, id] : cpu.groups) {
      Put(absl::StrCat(topology, group, "_id"), absl::StrCat(id, "\n"));
    }
  }
  void AddGroup(uint32_t cpu, const std::string& group, const std::string& cpus) {
    PutCpus(absl::StrCat(Directory(cpu), "/topology/"), {group + "_siblings"}, cpus);
  }
  void AddDie(uint32_t cpu, const std::string& cpus) {
    PutCpus(absl::StrCat(Directory(cpu), "/topology/"), {"die_cpus"}, cpus);
  }

  void AddCaches(const std::vector<FakeCache>& caches) {
    std::map<uint32_t, int> next;
    for (const FakeCache& cache : caches) {
      for (const uint32_t cpu : resources::CpuSet::Parse(cache.cpus)->ToVector()) {
        const std::string index = absl::StrCat(Directory(cpu), "/cache/index", next[cpu]++, "/");
        Put(index + "level", absl::StrCat(cache.level, "\n"));
        Put(index + "type", "Unified\n");
        Put(index + "size", absl::StrCat(cache.size_kib, "K\n"));
        Put(index + "coherency_line_size", "64\n");
        Put(index + "physical_line_partition", "1\n");
        Put(index + "number_of_sets", "1024\n");
        PutCpus(index, {"shared_cpu"}, cache.cpus, "_map", "_list");
        if (cache.id >= 0) Put(index + "id", absl::StrCat(cache.id, "\n"));
      }
    }
  }

  void AddNode(const FakeNode& node) {
    const std::string directory = absl::StrCat("sys/devices/system/node/node", node.id);
    PutCpus(directory + "/", {"cpu"}, node.cpus, "map", "list");
    Put(directory + "/meminfo",
        absl::StrCat("Node ", node.id, " MemTotal:       ", node.memory_kib, " kB\n"));
    if (!node.distances.empty()) Put(directory + "/distance", node.distances + "\n");
    for (const auto& [size, count] : node.hugepages_kib) {
      Put(absl::StrCat(directory, "/hugepages/hugepages-", size, "kB/nr_hugepages"),
          absl::StrCat(count, "\n"));
    }
    memory_kib_ += node.memory_kib;
    PutMemTotal(memory_kib_);
    nodes_.push_back(absl::StrCat(node.id));
    Put("sys/devices/system/node/online", absl::StrJoin(nodes_, ",") + "\n");
    Put("sys/devices/system/node/possible", absl::StrJoin(nodes_, ",") + "\n");
  }

  // Writes /proc/meminfo. AddNode sets it to the sum of the nodes.
  void PutMemTotal(uint64_t kib) {
    Put("proc/meminfo",
        absl::StrCat("MemTotal:       ", kib, " kB\nSwapTotal:             0 kB\n"));
  }
  // Adds memory blocks to a node, numbered from `first` on.
  void AddBlocks(uint32_t node, uint32_t first, uint32_t count, const std::string& state) {
    for (uint32_t block = first; block < first + count; ++block) {
      Put(absl::StrCat("sys/devices/system/memory/memory", block, "/state"), state + "\n");
      Link(absl::StrCat("sys/devices/system/node/node", node, "/memory", block),
           absl::StrCat("../../memory/memory", block));
    }
  }
  // Sets the node that the kernel counts a CPU to, where several claim it.
  void LinkToNode(uint32_t cpu, uint32_t node) {
    Link(absl::StrCat(Directory(cpu), "/node", node), absl::StrCat("../../node/node", node));
  }

  // The firmware's HMAT data for the path from a node with CPUs to memory near to it.
  void AddInitiator(uint32_t node, uint32_t initiator, int mb_per_second, int nanoseconds) {
    const std::string directory =
        absl::StrCat("sys/devices/system/node/node", node, "/access0/initiators/");
    for (const char* way : {"read", "write"}) {
      Put(absl::StrCat(directory, way, "_bandwidth"), absl::StrCat(mb_per_second, "\n"));
      Put(absl::StrCat(directory, way, "_latency"), absl::StrCat(nanoseconds, "\n"));
    }
    Link(absl::StrCat(directory, "node", initiator), absl::StrCat("../../../node", initiator));
  }

  // Adds a device whose memory the driver kmem has made that node; `parent` is below sys/devices.
  void AddDax(const std::string& name, const std::string& parent, uint32_t node) {
    const std::string device = absl::StrCat("devices/", parent, "/", name);
    Put(absl::StrCat("sys/", device, "/target_node"), absl::StrCat(node, "\n"));
    Link("sys/bus/dax/devices/" + name, "../../../" + device);
    Link("sys/bus/dax/drivers/kmem/" + name, "../../../../" + device);
  }

  void Frequencies(uint32_t cpu, uint64_t base_khz, uint64_t max_khz) {
    const std::string directory = Directory(cpu) + "/cpufreq/";
    Put(directory + "base_frequency", absl::StrCat(base_khz, "\n"));
    Put(directory + "cpuinfo_max_freq", absl::StrCat(max_khz, "\n"));
  }

 private:
  // Aborts on an error: a benchmark may use this too.
  static void Check(const absl::Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::abort();
  }
  static std::string Directory(uint32_t cpu) {
    return absl::StrCat("sys/devices/system/cpu/cpu", cpu);
  }
  // The kernel's mask format: words of 32 bits in hex, highest first, separated by commas.
  static std::string Mask(const std::string& list) {
    const resources::CpuSet cpus = *resources::CpuSet::Parse(list);
    const uint32_t words = cpus.Empty() ? 1 : cpus.ToVector().back() / 32 + 1;
    std::vector<std::string> parts;
    for (uint32_t word = words; word-- > 0;) {
      uint32_t bits = 0;
      for (uint32_t bit = 0; bit < 32; ++bit) {
        if (cpus.Contains(word * 32 + bit)) bits |= 1u << bit;
      }
      parts.push_back(absl::StrCat(absl::Hex(bits, absl::kZeroPad8)));
    }
    return absl::StrJoin(parts, ",");
  }
  void PutCpus(const std::string& prefix, const std::vector<std::string>& names,
               const std::string& cpus, const std::string& mask = "",
               const std::string& list = "_list") {
    for (const std::string& name : names) {
      Put(absl::StrCat(prefix, name, mask), Mask(cpus) + "\n");
      Put(absl::StrCat(prefix, name, list), cpus + "\n");
    }
  }

  TestDir dir_;
  std::vector<std::string> nodes_;
  uint64_t memory_kib_ = 0;
};

// Adds `packages` of `cores` with `threads` each, numbered as Linux does on x86: all first threads
// before all second ones.
inline void AddCpus(MachineFiles& files, uint32_t packages, uint32_t cores, uint32_t threads) {
  const uint32_t all_cores = packages * cores;
  const auto cpus_of = [&](uint32_t first, uint32_t count) {
    resources::CpuSet cpus;
    for (uint32_t core = first; core < first + count; ++core) {
      for (uint32_t thread = 0; thread < threads; ++thread) cpus.Add(core + thread * all_cores);
    }
    return cpus;
  };
  for (uint32_t core = 0; core < all_cores; ++core) {
    const uint32_t package = core / cores;
    for (const uint32_t cpu : cpus_of(core, 1).ToVector()) {
      files.Add({.cpu = cpu,
                 .package = static_cast<int>(package),
                 .core = static_cast<int>(core % cores),
                 .siblings = cpus_of(core, 1).ToString(),
                 .package_cpus = cpus_of(package * cores, cores).ToString()});
    }
  }
  const std::string all = cpus_of(0, all_cores).ToString();
  files.Cpus(all, all);
}

// Two sockets, each with a node of DRAM and one of HBM without CPUs: "flat mode", in which the
// firmware marks HBM for special purposes and the driver hmem finds it.
inline void AddMachineWithHbm(MachineFiles& files) {
  AddCpus(files, 2, 1, 1);
  files.AddCaches({{3, 8192, "0", 0}, {3, 8192, "1", 1}});
  files.AddNode({0, "0", 64 << 20, "10 21 13 23", {}});
  files.AddNode({1, "1", 64 << 20, "21 10 23 13", {}});
  files.AddNode({2, "", 32 << 20, "13 23 10 23", {}});
  files.AddNode({3, "", 32 << 20, "23 13 23 10", {}});
  for (const uint32_t socket : {0, 1}) {
    files.AddInitiator(socket, socket, 131072, 100);
    files.AddInitiator(socket + 2, socket, 393216, 120);
    files.AddDax(absl::StrCat("dax", socket, ".0"), absl::StrCat("platform/hmem.", socket),
                 socket + 2);
  }
}

// Two sockets, each with persistent memory in use as memory: nodes without CPUs.
inline void AddMachineWithPmem(MachineFiles& files) {
  AddCpus(files, 2, 1, 1);
  files.AddCaches({{3, 8192, "0", 0}, {3, 8192, "1", 1}});
  files.AddNode({0, "0", 64 << 20, "10 21 17 28", {}});
  files.AddNode({1, "1", 64 << 20, "21 10 28 17", {}});
  files.AddNode({2, "", 256 << 20, "17 28 10 28", {}});
  files.AddNode({3, "", 256 << 20, "28 17 28 10", {}});
  for (const uint32_t socket : {0, 1}) {
    files.AddDax(absl::StrCat("dax", socket, ".0"),
                 absl::StrCat("LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region", socket),
                 socket + 2);
  }
}

// Two sockets with 128 cores each: per socket four NUMA nodes (NPS4), each with four caches of
// eight cores, and two threads per core.
inline void AddMachineOf512Cpus(MachineFiles& files) {
  constexpr uint32_t kCores = 256;
  AddCpus(files, 2, kCores / 2, 2);
  const auto threads = [](uint32_t first, uint32_t cores) {
    return absl::StrCat(first, "-", first + cores - 1, ",", first + kCores, "-",
                        first + kCores + cores - 1);
  };
  std::vector<FakeCache> caches;
  for (uint32_t core = 0; core < kCores; ++core) {
    caches.push_back({2, 1024, absl::StrCat(core, ",", core + kCores), static_cast<int>(core)});
  }
  for (uint32_t group = 0; group < kCores / 8; ++group) {
    caches.push_back({3, 32768, threads(group * 8, 8), static_cast<int>(group)});
  }
  files.AddCaches(caches);
  for (uint32_t node = 0; node < 8; ++node) {
    std::vector<int> distances;
    for (uint32_t other = 0; other < 8; ++other) {
      distances.push_back(node == other ? 10 : node / 4 == other / 4 ? 12 : 32);
    }
    files.AddNode(
        {node, threads(node * 32, 32), 64 << 20, absl::StrJoin(distances, " "), {{2048, 16}}});
  }
}

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_MACHINE_FILES_FOR_TEST_H_
