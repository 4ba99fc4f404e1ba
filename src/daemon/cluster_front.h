// The daemon's side towards plimsoll-kube: pod-level classes that it sets, and the socket on which
// it follows the node.
#ifndef PLIMSOLL_DAEMON_CLUSTER_FRONT_H_
#define PLIMSOLL_DAEMON_CLUSTER_FRONT_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "cluster_socket/node_watch.h"
#include "cluster_socket/pod_classes.h"
#include "cluster_socket/report.h"
#include "cluster_socket/server.h"
#include "cri/node_info.h"
#include "daemon/config/config.h"
#include "daemon/node_resources.h"
#include "daemon/qos_classes.h"
#include "daemon/telemetry/activity.h"
#include "daemon/telemetry/metrics.h"
#include "runtime/engine.h"
#include "service/logging.h"

namespace plimsoll::daemon {

// One thread opens, serves and closes it; the rest is thread-safe.
class ClusterFront {
 public:
  // References and pointers outlive Close.
  struct Parts {
    const Config& config;
    std::string version;
    FsRoot host;   // "/"
    FsRoot state;  // keeps the told classes
    FsRoot run;    // has the socket's directory by default
    runtime::Engine* engine = nullptr;
    QosClasses* classes = nullptr;
    NodeResources* node = nullptr;
    Activity* activity = nullptr;
    Log* log = nullptr;
    // See cluster::ReportSources; null: no kubelet is asked.
    std::function<absl::StatusOr<kubelet::Grants>()> grants;
  };

  // Reads the told classes, which RunPodSandbox needs. Call before the CRI is served. A table that
  // can't be read is logged, and fails those calls.
  void Open(Parts parts);
  // Serves the socket; nothing where the configuration has none. By default the socket has a
  // directory of its own, which stays: others have it mounted.
  absl::Status Serve();
  // Serves the socket with its group as the machine knows it now: a package may have made the group
  // since. Cuts off its clients if the group is another; they connect again. If the group can't be
  // looked up, the socket keeps the one it has.
  absl::Status FollowGroup();
  // Cuts off its clients.
  void StopServing();
  // After the CRI's end.
  void Close();

  // The lookups of ClassSupport, for RunPodSandbox. Between Open and Close.
  cluster::PodClasses* classes() { return classes_.get(); }
  // Empty before Open and after Close.
  cri::ClusterState State() const;
  ClusterCounts Counts() const;

 private:
  cluster::ReportSources Sources() const;
  absl::StatusOr<cluster::ServerOptions> ServerOptionsFor(const std::string& path) const;
  absl::Status StartServer(cluster::ServerOptions options);
  void StopServer();

  std::unique_ptr<Parts> parts_;
  int subscription_ = 0;  // to topologies
  std::optional<gid_t> served_group_;
  // One thread changes them, with the mutex held.
  mutable absl::Mutex mutex_;
  std::unique_ptr<cluster::PodClasses> classes_;
  std::unique_ptr<cluster::NodeWatch> watch_;
  std::unique_ptr<cluster::Server> server_;  // asks both
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CLUSTER_FRONT_H_
