// The description of node and daemon for the CRI services, gathered from its parts.
#ifndef PLIMSOLL_DAEMON_DESCRIBE_NODE_H_
#define PLIMSOLL_DAEMON_DESCRIBE_NODE_H_

#include "cdi/registry.h"
#include "cri/node_info.h"
#include "daemon/cgroup_driver.h"
#include "daemon/cluster_front.h"
#include "daemon/daemon.h"
#include "daemon/node_nri.h"
#include "daemon/node_resources.h"
#include "daemon/qos_classes.h"
#include "daemon/telemetry/telemetry.h"
#include "network/network.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::daemon {

// All of it outlives the description's users.
struct NodeParts {
  const DaemonOptions& options;
  const CgroupSetup& driver;
  const runtime::ContainerRuntime* runtime = nullptr;
  QosClasses* classes = nullptr;
  cdi::Registry* cdi = nullptr;
  network::Network* network = nullptr;
  const NodeResources* node = nullptr;
  ClusterFront* cluster = nullptr;
  const NodeNri* nri = nullptr;
  const NodeHealth* health = nullptr;
};
cri::NodeInfo DescribeNode(const NodeParts& parts);

// Feature gates: hooks are shown a pod's needs; there are QoS classes.
bool PicturesAreOn(const Config& config);
bool ClassesAreOn(const Config& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_DESCRIBE_NODE_H_
