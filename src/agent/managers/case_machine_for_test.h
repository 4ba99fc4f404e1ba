// For tests: the machines of tests/allocation, each a YAML file of one of two kinds.
//
//   kernel:              # the kernel's files of such a machine are written, and discovered
//     sockets: 2
//     cores: 4           # of each socket
//     threads: 2
//     nodes: [{cpus: "0-3,8-11", memory: 16Gi, distances: "10 21"}, ...]
//     caches: ["0-1,8-9", ...]
//
//   zones: [...]         # the topology itself, as a document (topology/topology_file.h)
#ifndef PLIMSOLL_AGENT_MANAGERS_CASE_MACHINE_FOR_TEST_H_
#define PLIMSOLL_AGENT_MANAGERS_CASE_MACHINE_FOR_TEST_H_

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "resources/cpu_set.h"
#include "resources/quantity.h"
#include "topology/machine/discover.h"
#include "topology/machine/machine_files_for_test.h"
#include "topology/make_zones.h"
#include "topology/topology_file.h"
#include "topology/zones/maps.h"
#include "topology/zones/zone_tree.h"
#include "yaml/reader.h"

namespace plimsoll::agent {

struct KernelMachine {
  struct Node {
    uint32_t id = 0;
    std::string cpus;
    int64_t memory_bytes = 0;
    std::string distances;
    std::map<uint64_t, uint64_t> hugepages_kib;
  };
  std::string architecture = "x86_64";
  uint32_t sockets = 1, cores = 1, threads = 1;
  uint32_t efficient_cores = 0;  // of each socket, with one thread each
  // How Linux numbers the CPUs. "apart": all first threads, then all second ones. "together": the
  // threads of a core one after the other. "alternating": as "apart", from socket to socket.
  std::string numbering = "apart";
  std::string offline;
  std::vector<Node> nodes;
  std::vector<std::string> caches;  // CPUs of each L3
};

// CPUs of one core of a machine.
struct KernelCore {
  uint32_t socket = 0;
  std::vector<uint32_t> cpus;
};

inline std::vector<KernelCore> CoresOf(const KernelMachine& machine) {
  const uint32_t all = machine.sockets * machine.cores;
  std::vector<KernelCore> cores;
  for (uint32_t socket = 0; socket < machine.sockets; ++socket) {
    for (uint32_t core = 0; core < machine.cores; ++core) {
      KernelCore made{socket, {}};
      for (uint32_t thread = 0; thread < machine.threads; ++thread) {
        const uint32_t place = socket * machine.cores + core;
        made.cpus.push_back(machine.numbering == "together" ? place * machine.threads + thread
                            : machine.numbering == "alternating"
                                ? core * machine.sockets + socket + thread * all
                                : place + thread * all);
      }
      cores.push_back(std::move(made));
    }
    for (uint32_t core = 0; core < machine.efficient_cores; ++core) {
      cores.push_back({socket, {all * machine.threads + socket * machine.efficient_cores + core}});
    }
  }
  return cores;
}

inline void WriteCpus(const KernelMachine& machine, topology::MachineFiles& files) {
  const resources::CpuSet offline = *resources::CpuSet::Parse(machine.offline);
  const std::vector<KernelCore> cores = CoresOf(machine);
  std::map<uint32_t, resources::CpuSet> sockets;
  resources::CpuSet present;
  for (const KernelCore& core : cores) {
    for (const uint32_t cpu : core.cpus) {
      present.Add(cpu);
      if (!offline.Contains(cpu)) sockets[core.socket].Add(cpu);
    }
  }
  files.Cpus(present.Difference(offline).ToString(), present.ToString());
  for (size_t index = 0; index < cores.size(); ++index) {
    resources::CpuSet siblings;
    for (const uint32_t cpu : cores[index].cpus) siblings.Add(cpu);
    siblings = siblings.Difference(offline);
    for (const uint32_t cpu : siblings.ToVector()) {
      files.Add({.cpu = cpu,
                 .package = static_cast<int>(cores[index].socket),
                 .core = static_cast<int>(index),
                 .siblings = siblings.ToString(),
                 .package_cpus = sockets[cores[index].socket].ToString()});
    }
  }
}

inline absl::StatusOr<topology::Topology> TopologyOf(const KernelMachine& machine) {
  topology::MachineFiles files(machine.architecture);
  WriteCpus(machine, files);
  std::vector<topology::FakeCache> caches;
  for (size_t index = 0; index < machine.caches.size(); ++index) {
    caches.push_back({3, 32768, machine.caches[index], static_cast<int>(index)});
  }
  files.AddCaches(caches);
  for (const KernelMachine::Node& node : machine.nodes) {
    files.AddNode({node.id, node.cpus, static_cast<uint64_t>(node.memory_bytes) >> 10,
                   node.distances, node.hugepages_kib});
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine found,
                            topology::Discover(files.root(), PLIMSOLL_HWLOC_PROGRAM));
  return topology::MakeZones(found);
}

// Bytes of "16Gi"; 0 after a failure.
inline int64_t BytesOf(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  const auto text = reader.AsText(node, path);
  const auto quantity = resources::Quantity::Parse(text.value_or("0"));
  if (!quantity.ok()) reader.Fail(node, path, quantity.status().message());
  return quantity.ok() ? quantity->Value() : 0;
}

inline KernelMachine::Node ReadNode(YamlReader& reader, const YAML::Node& yaml,
                                    const std::string& path, uint32_t id) {
  KernelMachine::Node node;
  YamlMapping mapping(reader, yaml, path);
  std::optional<int64_t> number;
  mapping.Int("id", number, 0, 1023);
  node.id = static_cast<uint32_t>(number.value_or(id));
  mapping.String("cpus", node.cpus);
  mapping.String("distances", node.distances);
  if (const auto memory = mapping.Get("memory")) {
    node.memory_bytes = BytesOf(reader, *memory, mapping.PathOf("memory"));
  }
  if (const auto pages = mapping.Get("hugepages")) {
    reader.Entries(*pages, mapping.PathOf("hugepages"),
                   [&](const std::string& size, const YAML::Node& count, const std::string& at) {
                     const auto bytes = resources::Quantity::Parse(size);
                     if (!bytes.ok()) return reader.Fail(count, at, "no size of a page");
                     node.hugepages_kib[static_cast<uint64_t>(bytes->Value()) >> 10] =
                         static_cast<uint64_t>(reader.AsInt(count, at).value_or(0));
                   });
  }
  mapping.Finish();
  return node;
}

inline KernelMachine ReadKernelMachine(YamlReader& reader, const YAML::Node& yaml) {
  KernelMachine machine;
  YamlMapping mapping(reader, yaml, "kernel");
  const auto number = [&](const char* key, uint32_t& out) {
    std::optional<int64_t> value;
    mapping.Int(key, value, 0, 1024);
    if (value) out = static_cast<uint32_t>(*value);
  };
  number("sockets", machine.sockets);
  number("cores", machine.cores);
  number("threads", machine.threads);
  number("efficientCores", machine.efficient_cores);
  mapping.String("architecture", machine.architecture);
  mapping.OneOf("numbering", machine.numbering, {"apart", "together", "alternating"});
  mapping.String("offline", machine.offline);
  mapping.Strings("caches", machine.caches);
  mapping.Each("nodes", [&](const YAML::Node& node, const std::string& path) {
    machine.nodes.push_back(
        ReadNode(reader, node, path, static_cast<uint32_t>(machine.nodes.size())));
  });
  mapping.Finish();
  return machine;
}

inline absl::StatusOr<std::string> TextOf(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) return absl::NotFoundError(absl::StrCat("can't open ", file));
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline absl::StatusOr<topology::Topology> ReadMachineFile(const std::string& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, TextOf(file));
  const YAML::Node yaml = YAML::Load(text);
  if (!yaml["kernel"]) return topology::ParseTopology(text, file);
  YamlReader reader(file);
  const KernelMachine machine = ReadKernelMachine(reader, yaml["kernel"]);
  PLIMSOLL_RETURN_IF_ERROR(reader.status());
  return TopologyOf(machine);
}

inline absl::StatusOr<std::shared_ptr<const topology::MachineMaps>> MakeCaseMaps(
    topology::Topology topology) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto tree, topology::ZoneTree::Build(std::move(topology)));
  PLIMSOLL_ASSIGN_OR_RETURN(auto maps, topology::MakeMaps(tree));
  return std::make_shared<const topology::MachineMaps>(std::move(maps));
}

// The machine of machines/NAME.yaml in `directory`, which is tests/allocation. Discovered once.
inline absl::StatusOr<std::shared_ptr<const topology::MachineMaps>> CaseMachine(
    const std::string& directory, const std::string& name) {
  static std::map<std::string, std::shared_ptr<const topology::MachineMaps>> known;
  const std::string file = absl::StrCat(directory, "/machines/", name, ".yaml");
  if (!known.contains(file)) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto topology, ReadMachineFile(file));
    PLIMSOLL_ASSIGN_OR_RETURN(known[file], MakeCaseMaps(std::move(topology)));
  }
  return known[file];
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_CASE_MACHINE_FOR_TEST_H_
