// plimsoll-kube's link to plimsolld: the node as it reports it, and pod-level classes.
#ifndef PLIMSOLL_KUBE_LINK_RUNTIME_LINK_H_
#define PLIMSOLL_KUBE_LINK_RUNTIME_LINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "qos/class_type.h"
#include "qos/classes.h"
#include "topology/zones/zone.h"

namespace plimsoll::kube {

struct NodeClass {
  std::string name;
  uint64_t capacity = 0;  // most holders at once; 0: any number
  uint64_t holders = 0;
  std::string meaning;             // on this machine, one line
  std::vector<std::string> drift;  // one sentence each, ten at most
  bool operator==(const NodeClass&) const = default;
};

struct NodeClassType {
  std::string name;
  qos::Level level = qos::Level::kContainer;
  bool immutable = false;
  std::string default_class;  // empty: none
  std::vector<NodeClass> classes;
  std::string unavailable;  // why this machine can't have it; empty: it can
  bool operator==(const NodeClassType&) const = default;
};

// Resources on some NUMA nodes that kubelet has given out.
struct Taken {
  std::string resource;  // "memory", "hugepages-2Mi", "vendor.com/nic"
  std::vector<uint32_t> numa_nodes;
  uint64_t amount = 0;  // bytes, or devices
  bool operator==(const Taken&) const = default;
};

struct Exclusive {
  std::string cpus;  // kernel's list format
  std::vector<Taken> memory;
  std::vector<Taken> devices;
  // All devices that kubelet may give out, taken or not; empty: not told.
  std::vector<Taken> device_totals;
  bool operator==(const Exclusive&) const = default;
};

struct Trouble {
  std::string reason;  // in CamelCase: "PartitionLost"
  std::string message;
  bool operator==(const Trouble&) const = default;
};

struct NodeReport {
  std::string runtime_version;
  std::vector<NodeClassType> types;
  std::optional<topology::Topology> topology;
  uint64_t topology_edition = 0;
  std::optional<Exclusive> exclusive;  // nullopt: kubelet doesn't tell
  std::vector<Trouble> troubles;
  bool operator==(const NodeReport&) const = default;
};

struct PodClasses {
  std::string pod_uid;
  std::string claim_uid;
  qos::ClassNames classes;
  bool operator==(const PodClasses&) const = default;
};

struct LinkOptions {
  absl::Duration patience = absl::Seconds(10);  // with a call, and with a stream's first report
  absl::Duration first_pause = absl::Milliseconds(200);
  absl::Duration longest_pause = absl::Seconds(10);
  // Rest after each report, so that a runaway plimsolld can't take a whole CPU.
  absl::Duration rest = absl::Milliseconds(200);
};

// Thread-safe. Calls end after ten seconds at most; UNAVAILABLE: plimsolld doesn't answer.
class RuntimeLink {
 public:
  // Called with each report, from one thread; nullptr: the link broke, and plimsolld is looked for
  // again with growing pauses of at most ten seconds. One nullptr stands for all attempts in a row
  // that fail, also for the first ones of all. It may call the link, but not end it.
  using OnReport = std::function<void(std::shared_ptr<const NodeReport>)>;
  // Follows the node at once. `socket`: plimsolld's cluster socket, absolute.
  static std::unique_ptr<RuntimeLink> Open(const std::string& socket, OnReport on_report,
                                           LinkOptions options = LinkOptions());
  // Waits for a callback under way; none comes later.
  virtual ~RuntimeLink() = default;

  // Errors as of ClusterService (plimsoll/v1/cluster.proto).
  virtual absl::Status SetPodClasses(const PodClasses& pod) = 0;
  virtual absl::Status DropPodClasses(const std::string& claim_uid) = 0;
  virtual absl::StatusOr<std::vector<PodClasses>> ListPodClasses() = 0;
  virtual absl::Status SetScheduled(bool scheduled) = 0;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_LINK_RUNTIME_LINK_H_
