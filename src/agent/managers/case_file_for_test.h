// For tests: an allocation case, which is a node and what happens to it, with the outcome of each
// event. The files are in tests/allocation, whose README.md explains their keys.
#ifndef PLIMSOLL_AGENT_MANAGERS_CASE_FILE_FOR_TEST_H_
#define PLIMSOLL_AGENT_MANAGERS_CASE_FILE_FOR_TEST_H_

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "agent/device_manager/device_stock.h"
#include "agent/managers/case_machine_for_test.h"
#include "agent/managers/node_managers.h"
#include "base/status.h"
#include "pod_runner/manifest/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::agent {

// kubelet's configuration, as far as managers go by it.
struct CaseAgent {
  std::string cpu_policy = "none";
  std::map<std::string, std::string> cpu_options;
  std::optional<resources::CpuSet> reserved_cpus;
  resources::ResourceList system_reserved, kube_reserved;
  std::string memory_policy = "None";
  MemoryByNode reserved_memory;
  std::string topology_policy = "none", topology_scope = "container";
  std::map<std::string, std::string> topology_options;
  bool pod_level = true;
};

// The resources that a container has for itself.
struct Expected {
  std::string cpus;
  std::string mems;
  std::map<std::string, std::vector<std::string>> devices;
  bool operator==(const Expected&) const = default;
};
using ExpectedPod = std::map<std::string, Expected>;  // by container; those with nothing are absent

struct CaseEvent {
  std::string admit;     // name of the pod
  pod::Manifest pod;     // of `admit`
  std::string remove;    // name of a pod
  bool restart = false;  // of the agent
  std::string machine;   // the node is another from here on
  std::string unfit;     // words of CheckFit's fault with that machine
  // The outcome; absent: any.
  std::optional<ExpectedPod> get;
  std::map<std::string, ExpectedPod> has;  // of other pods, after the event
  std::optional<std::string> shared;
  std::string reason, message;  // of a rejection; `message` is a part of it
  std::string where;            // "x.yaml:12", for messages
};

struct AllocationCase {
  std::string file;
  std::string machine;
  CaseAgent agent;
  DeviceStock devices;
  std::string refused;  // words of the refusal to start
  std::vector<CaseEvent> events;
};

inline resources::CpuSet CpusOf(YamlReader& reader, const YAML::Node& node,
                                const std::string& path) {
  const auto cpus = resources::CpuSet::Parse(reader.AsText(node, path).value_or(""));
  if (!cpus.ok()) reader.Fail(node, path, cpus.status().message());
  return cpus.ok() ? *cpus : resources::CpuSet();
}

inline resources::ResourceList ReadAmounts(YamlReader& reader, const YAML::Node& node,
                                           const std::string& path) {
  resources::ResourceList amounts;
  reader.Entries(
      node, path, [&](const std::string& name, const YAML::Node& value, const std::string& at) {
        const auto quantity = resources::Quantity::Parse(reader.AsText(value, at).value_or("0"));
        if (!quantity.ok()) return reader.Fail(value, at, quantity.status().message());
        amounts.emplace(name, *quantity);
      });
  return amounts;
}

inline resources::ResourceList AmountsAt(YamlReader& reader, YamlMapping& mapping,
                                         const std::string& key) {
  const auto node = mapping.Get(key);
  return node ? ReadAmounts(reader, *node, mapping.PathOf(key)) : resources::ResourceList();
}

inline MemoryAmounts MemoryOf(const resources::ResourceList& list) {
  MemoryAmounts amounts;
  for (const auto& [name, quantity] : list) {
    if (name == "memory" || absl::StartsWith(name, "hugepages-")) {
      amounts[name] += quantity.Value();
    }
  }
  return amounts;
}

inline void ReadReservedMemory(YamlReader& reader, YamlMapping& mapping, MemoryByNode& out) {
  mapping.Each("reservedMemory", [&](const YAML::Node& node, const std::string& path) {
    YamlMapping entry(reader, node, path);
    std::optional<int64_t> number;
    entry.Int("numaNode", number, 0, 1023);
    for (const auto& [name, bytes] : MemoryOf(AmountsAt(reader, entry, "limits"))) {
      out[static_cast<uint32_t>(number.value_or(0))][name] += bytes;
    }
    entry.Finish();
  });
}

inline CaseAgent ReadAgent(YamlReader& reader, const YAML::Node& node) {
  CaseAgent agent;
  YamlMapping mapping(reader, node, "agent");
  mapping.String("cpuManagerPolicy", agent.cpu_policy);
  mapping.StringMap("cpuManagerPolicyOptions", agent.cpu_options);
  if (const auto cpus = mapping.Get("reservedSystemCPUs")) {
    agent.reserved_cpus = CpusOf(reader, *cpus, "agent.reservedSystemCPUs");
  }
  agent.system_reserved = AmountsAt(reader, mapping, "systemReserved");
  agent.kube_reserved = AmountsAt(reader, mapping, "kubeReserved");
  mapping.String("memoryManagerPolicy", agent.memory_policy);
  ReadReservedMemory(reader, mapping, agent.reserved_memory);
  mapping.String("topologyManagerPolicy", agent.topology_policy);
  mapping.String("topologyManagerScope", agent.topology_scope);
  mapping.StringMap("topologyManagerPolicyOptions", agent.topology_options);
  mapping.Bool("podLevel", agent.pod_level);
  mapping.Finish();
  return agent;
}

inline pod::ContainerManifest ReadContainer(YamlReader& reader, const YAML::Node& node,
                                            const std::string& path, bool init) {
  using Role = resources::ContainerRequirements::Role;
  pod::ContainerManifest container;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", container.name);
  bool sidecar = false;
  mapping.Bool("sidecar", sidecar);
  container.role = !init ? Role::kContainer : sidecar ? Role::kSidecar : Role::kInit;
  container.image = "image";
  container.pull_policy = "IfNotPresent";
  container.resources.requests = AmountsAt(reader, mapping, "requests");
  container.resources.limits = AmountsAt(reader, mapping, "limits");
  mapping.Finish();
  return container;
}

inline void ReadPod(YamlReader& reader, YamlMapping& mapping, pod::Manifest& pod) {
  for (const bool init : {true, false}) {
    mapping.Each(init ? "init" : "containers", [&](const YAML::Node& node, const std::string& at) {
      pod.containers.push_back(ReadContainer(reader, node, at, init));
    });
  }
  if (const auto node = mapping.Get("pod")) {
    YamlMapping amounts(reader, *node, mapping.PathOf("pod"));
    pod.resources.emplace();
    pod.resources->requests = AmountsAt(reader, amounts, "requests");
    pod.resources->limits = AmountsAt(reader, amounts, "limits");
    amounts.Finish();
  }
}

inline ExpectedPod ReadExpected(YamlReader& reader, const YAML::Node& node,
                                const std::string& path) {
  ExpectedPod pod;
  reader.Entries(
      node, path, [&](const std::string& name, const YAML::Node& value, const std::string& at) {
        reader.Entries(
            value, at,
            [&](const std::string& key, const YAML::Node& what, const std::string& inner) {
              if (key == "cpus") {
                pod[name].cpus = CpusOf(reader, what, inner).ToString();
              } else if (key == "mems") {
                pod[name].mems = CpusOf(reader, what, inner).ToString();
              } else {
                reader.Strings(what, inner, pod[name].devices[key]);
              }
            });
      });
  return pod;
}

inline CaseEvent ReadEvent(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  CaseEvent event;
  event.where = reader.Where(node, path);
  YamlMapping mapping(reader, node, path);
  mapping.String("admit", event.admit);
  event.pod.name = event.admit;
  ReadPod(reader, mapping, event.pod);
  mapping.String("remove", event.remove);
  mapping.Bool("restart", event.restart);
  mapping.String("machine", event.machine);
  mapping.String("unfit", event.unfit);
  if (const auto get = mapping.Get("get")) event.get = ReadExpected(reader, *get, path + ".get");
  if (const auto has = mapping.Get("has")) {
    reader.Entries(*has, path + ".has",
                   [&](const std::string& pod, const YAML::Node& value, const std::string& at) {
                     event.has[pod] = ReadExpected(reader, value, at);
                   });
  }
  if (const auto shared = mapping.Get("shared")) {
    event.shared = CpusOf(reader, *shared, path + ".shared").ToString();
  }
  if (const auto rejected = mapping.Get("rejected")) {
    YamlMapping words(reader, *rejected, path + ".rejected");
    words.Required("reason", event.reason);
    words.String("message", event.message);
    words.Finish();
  }
  mapping.Finish();
  return event;
}

inline DeviceResource ReadDevices(YamlReader& reader, const YAML::Node& node,
                                  const std::string& path) {
  DeviceResource devices;
  reader.Each(node, path, [&](const YAML::Node& one, const std::string& at) {
    YamlMapping mapping(reader, one, at);
    Device device;
    mapping.Required("id", device.id);
    mapping.Bool("healthy", device.healthy);
    if (const auto numa = mapping.Get("numa")) {
      reader.Each(*numa, at + ".numa", [&](const YAML::Node& number, const std::string& inner) {
        if (!device.nodes) device.nodes.emplace();
        device.nodes->Add(static_cast<uint32_t>(reader.AsInt(number, inner).value_or(0)));
      });
    }
    mapping.Finish();
    devices.devices.push_back(std::move(device));
  });
  return devices;
}

inline absl::StatusOr<AllocationCase> ReadCase(const YAML::Node& yaml, const std::string& file) {
  AllocationCase found;
  found.file = file;
  YamlReader reader(file);
  YamlMapping mapping(reader, yaml, "");
  std::string about;
  mapping.String("about", about);  // for readers
  mapping.String("name", about);
  mapping.Required("machine", found.machine);
  if (const auto agent = mapping.Get("agent")) found.agent = ReadAgent(reader, *agent);
  if (const auto devices = mapping.Get("devices")) {
    reader.Entries(*devices, "devices",
                   [&](const std::string& name, const YAML::Node& value, const std::string& at) {
                     found.devices[name] = ReadDevices(reader, value, at);
                   });
  }
  mapping.String("refused", found.refused);
  mapping.Each("events", [&](const YAML::Node& node, const std::string& path) {
    found.events.push_back(ReadEvent(reader, node, path));
  });
  mapping.Finish();
  PLIMSOLL_RETURN_IF_ERROR(reader.status());
  return found;
}

// The agent's options, made of its configuration.
inline absl::StatusOr<ManagerOptions> OptionsOf(const CaseAgent& agent) {
  ManagerOptions options;
  options.static_cpus = agent.cpu_policy == "static";
  PLIMSOLL_ASSIGN_OR_RETURN(options.cpu_options, ParseCpuOptions(agent.cpu_options));
  options.reserved_cpus.cpus = agent.reserved_cpus;
  options.static_memory = agent.memory_policy == "Static";
  options.reserved_memory = agent.reserved_memory;
  for (const auto* list : {&agent.system_reserved, &agent.kube_reserved}) {
    const auto cpu = list->find("cpu");
    if (cpu != list->end()) options.reserved_cpus.milli += cpu->second.MilliValue();
    for (const auto& [name, bytes] : MemoryOf(*list)) options.reserved_memory_sum[name] += bytes;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      options.topology,
      ParseTopologyOptions(agent.topology_policy, agent.topology_scope, agent.topology_options));
  options.pod_level = agent.pod_level;
  return options;
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_CASE_FILE_FOR_TEST_H_
