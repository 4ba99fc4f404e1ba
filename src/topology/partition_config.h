// The section `nodeResources` of plimsolld's configuration.
//
//   nodeResources:
//     cpus: {reserved: 0-1}            # or list: 2-7, count: 6, zones: [numa-1]
//     memory: {numa-0: 75%, numa-1: 16Gi}
//     hugepages-2Mi: {numa-0: 1Gi}
//     show:
//       hide: [Core, CacheGroup]
//       hideSiblings: true
//       cores: 6
//       attributes: {numa-1: {tier: slow}}
//     outsidePartition: refuse         # or clip
//     pollInterval: 5s
//     source:
//       file: /etc/plimsoll/topology.yaml    # or provider: {socket: ..., group: ..., hold: 5m}
//       ids: machine                         # or source
#ifndef PLIMSOLL_TOPOLOGY_PARTITION_CONFIG_H_
#define PLIMSOLL_TOPOLOGY_PARTITION_CONFIG_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "topology/partition.h"
#include "yaml/reader.h"

namespace plimsoll::topology {

// The treatment of a client's cpuset that reaches outside of the partition.
enum class OutsidePartition {
  kByClient,  // kClip until a client has taken the topology, kRefuse from then on
  kClip,      // use the part inside
  kRefuse,
};

// A provider: a program that connects and pushes the topology (source_provider.h).
struct ProviderConfig {
  std::string socket;                      // absolute; empty: topology.sock in the run directory
  std::string group;                       // may connect too; empty: root only
  absl::Duration hold = absl::Minutes(5);  // 0 to 1000h
  bool operator==(const ProviderConfig&) const = default;
};

// The source of the topology that the partition is cut from: one of these, or the kernel.
struct SourceConfig {
  std::string file;  // absolute; empty: none
  std::optional<ProviderConfig> provider;
  // True: machine-id, boot-id and system-uuid come from the source; false: from the machine.
  bool own_ids = false;
  bool operator==(const SourceConfig&) const = default;
};

struct NodeResourcesConfig {
  PartitionConfig partition;
  OutsidePartition outside = OutsidePartition::kByClient;
  absl::Duration poll_interval = absl::Seconds(5);  // 100ms to 1h
  SourceConfig source;
  bool operator==(const NodeResourcesConfig&) const = default;
};

// Reports mistakes to `reader`. `path` is the section's, for messages.
void ReadNodeResources(YamlReader& reader, const YAML::Node& node, const std::string& path,
                       NodeResourcesConfig* out);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_PARTITION_CONFIG_H_
