// A node as Kubernetes' v1 Node.
#ifndef PLIMSOLL_AGENT_NODE_NODE_OBJECT_H_
#define PLIMSOLL_AGENT_NODE_NODE_OBJECT_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "agent/node/conditions.h"
#include "agent/node/machine_facts.h"
#include "agent/node/node_options.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

// The facts about the machine that a Node shows.
struct NodePicture {
  ResourceList capacity;     // empty: unknown yet
  ResourceList allocatable;  // as capacity
  std::map<std::string, std::string> zone_labels;
  // From any zone's attributes; an empty one is the machine's own.
  std::string machine_id, boot_id, system_uuid;
  std::optional<int64_t> swap_bytes;
  std::string runtime_version;  // "plimsoll://0.1.0"; empty: unknown yet
};

// "kubernetes.io/hostname", "/os" and "/arch" are labels of every node. Of labels with one key, the
// configuration's wins, then these, then the zones'.
nlohmann::json NodeObject(const NodeOptions& options, const MachineFacts& facts,
                          const NodePicture& picture, const Conditions& conditions,
                          absl::Time created, absl::Time now);

// The configured name, else the machine's.
std::string NodeName(const NodeOptions& options, const MachineFacts& facts);
// The node's InternalIP: the configured address, else the machine's; empty: it has none.
std::string NodeAddress(const NodeOptions& options, const MachineFacts& facts);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_NODE_OBJECT_H_
