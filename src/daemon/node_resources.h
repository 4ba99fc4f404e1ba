// What of the node is pods' (`nodeResources`, KEP-5224): told to whoever asks, and kept to by the
// engine.
#ifndef PLIMSOLL_DAEMON_NODE_RESOURCES_H_
#define PLIMSOLL_DAEMON_NODE_RESOURCES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "cri/provider_server.h"
#include "daemon/logging.h"
#include "runtime/engine.h"
#include "topology/partition_config.h"
#include "topology/publisher.h"
#include "topology/tracker.h"

namespace plimsoll::daemon {

// Thread-safe.
class NodeResources {
 public:
  // `engine` and `log` outlive it. FAILED_PRECONDITION for a configuration that doesn't fit this
  // machine. A machine that can't be read must not keep pods from being run: that is an error only
  // when something is to be enforced, else it is logged and told by Troubles.
  // A provider's socket is there when it returns; `run_directory` is where, unless the
  // configuration says. `state`: where a provider's topology is kept until the next start.
  static absl::StatusOr<std::unique_ptr<NodeResources>> Start(
      const topology::NodeResourcesConfig& config, const FsRoot& host,
      const std::string& run_directory, const FsRoot& state, runtime::Engine* engine, Log* log);

  // On error what was in force before stays. The source and the poll's interval wait for a restart.
  absl::Status Reload(const topology::NodeResourcesConfig& config);
  // A client has the topology, and is held to it from now on, if the configuration leaves that to
  // the client.
  void TakenByClient();

  // Null: the machine could not be read at the start.
  topology::Publisher* publisher();
  std::vector<std::string> Troubles() const;
  // An error while something older is in force than what is configured, or nothing is told:
  // "<Reason>: <why>", as the CRI's conditions have it.
  absl::Status Ready() const;

 private:
  NodeResources(runtime::Engine* engine, Log* log) : engine_(engine), log_(log) {}
  absl::Status TryReload(const topology::NodeResourcesConfig& config);
  std::vector<std::string> Misfits() const;
  void AddRefusal(std::vector<std::string>& sentences) const;
  void Tell(const topology::TrackerNews& news);
  void SetPolicy() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  runtime::Engine* const engine_;
  Log* const log_;
  mutable absl::Mutex mutex_;
  topology::OutsidePartition outside_ ABSL_GUARDED_BY(mutex_) =
      topology::OutsidePartition::kByClient;
  std::string refused_ ABSL_GUARDED_BY(mutex_);  // why the last reload changed nothing
  bool is_taken_ ABSL_GUARDED_BY(mutex_) = false;
  topology::Publisher publisher_;
  std::unique_ptr<topology::Tracker> tracker_;      // before what it tells
  std::unique_ptr<cri::ProviderServer> providers_;  // null: the source is another
};

// Whether the configuration fits this machine, for --check-config.
absl::Status CheckNodeResources(const topology::NodeResourcesConfig& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_NODE_RESOURCES_H_
