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
#include "runtime/node_share.h"
#include "topology/partition_config.h"
#include "topology/publisher.h"
#include "topology/tracker.h"

namespace plimsoll::daemon {

// Thread-safe.
class NodeResources {
 public:
  // `engine` and `log` outlive it. A configuration that doesn't fit this machine, a source without
  // a topology that can be used, and a machine that can't be read just now or can't be watched are
  // no errors: after a reboot the node would lose exec, stop and probes by them. What is left of
  // the configuration is in force, Ready and Troubles say so. A provider's socket is there when it
  // returns; `run_directory` is where, unless the configuration says. `state`: where a provider's
  // topology is kept until the next start.
  static absl::StatusOr<std::unique_ptr<NodeResources>> Start(
      const topology::NodeResourcesConfig& config, const FsRoot& host,
      const std::string& run_directory, const FsRoot& state, runtime::Engine* engine, Log* log);

  // On error what was in force before stays. The source and the poll's interval wait for a restart.
  absl::Status Reload(const topology::NodeResourcesConfig& config);
  // A client has the topology (true), or one of them has gone. While there is one, clients are held
  // to it, if the configuration leaves that to them. A topology that stands in for another
  // (TrackerNews) counts as told from then on.
  void ClientTakes(bool is_there);

  topology::Publisher* publisher() { return &publisher_; }
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
  // Has the engine keep to what was told last, and count it as told or not.
  void TellEngine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(news_mutex_);
  void SetPolicy() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  runtime::Engine* const engine_;
  Log* const log_;
  // Held while the engine is told, so that it has the newest last. Taken before mutex_.
  absl::Mutex news_mutex_;
  runtime::NodeShare share_ ABSL_GUARDED_BY(news_mutex_);  // no CPUs: nothing yet
  bool is_stand_in_ ABSL_GUARDED_BY(news_mutex_) = false;
  mutable absl::Mutex mutex_;
  topology::OutsidePartition outside_ ABSL_GUARDED_BY(mutex_) =
      topology::OutsidePartition::kByClient;
  std::string refused_ ABSL_GUARDED_BY(mutex_);  // why the last reload changed nothing
  int clients_ ABSL_GUARDED_BY(mutex_) = 0;      // that have the topology
  topology::Publisher publisher_;
  std::unique_ptr<topology::Tracker> tracker_;      // before what it tells
  std::unique_ptr<cri::ProviderServer> providers_;  // null: the source is another
};

// Whether the configuration fits this machine, for --check-config.
absl::Status CheckNodeResources(const topology::NodeResourcesConfig& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_NODE_RESOURCES_H_
