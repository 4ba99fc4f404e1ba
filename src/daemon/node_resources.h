// The pods' share of the node (`nodeResources`, KEP-5224): served to clients, and enforced by the
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
#include "runtime/cgroups/node_share.h"
#include "runtime/engine.h"
#include "service/logging.h"
#include "topology/partition_config.h"
#include "topology/publisher.h"
#include "topology/source_provider.h"
#include "topology/tracker.h"

namespace plimsoll::daemon {

// Thread-safe.
class NodeResources {
 public:
  // `engine` and `log` outlive it. No errors: a configuration that doesn't fit this machine, a
  // source without a usable topology, a machine that can't be read just now or watched. After a
  // reboot an error would cost the node exec, stop and probes. The rest of the configuration is in
  // force; Ready and Troubles report the fault. A provider's socket exists when this returns, in
  // `run_directory` unless the configuration says otherwise. `state`: keeps a provider's topology
  // until the next start.
  static absl::StatusOr<std::unique_ptr<NodeResources>> Start(
      const topology::NodeResourcesConfig& config, const FsRoot& host,
      const std::string& run_directory, const FsRoot& state, runtime::Engine* engine, Log* log);

  // On error the previous configuration stays in force. The source and the poll's interval wait for
  // a restart.
  absl::Status Reload(const topology::NodeResourcesConfig& config);
  // A client has received the topology (true), or one of them has left. While there is one, clients
  // are held to the topology, if the configuration leaves that to them. A stand-in for another
  // topology (TrackerNews) counts as told from then on.
  void ClientTakes(bool is_there);

  // The session of a provider that doesn't come by the provider's socket. FAILED_PRECONDITION where
  // the configuration has another source, and while there is a provider.
  absl::StatusOr<std::unique_ptr<topology::ProviderSource::Session>> ConnectProvider(
      const std::string& name) const;

  topology::Publisher* publisher() { return &publisher_; }
  std::vector<std::string> Troubles() const;
  // An error while an older state than the configured one is in force, or no topology is served:
  // "<Reason>: <why>", as in the CRI's conditions.
  absl::Status Ready() const;

 private:
  NodeResources(runtime::Engine* engine, Log* log) : engine_(engine), log_(log) {}
  absl::Status TryReload(const topology::NodeResourcesConfig& config);
  std::vector<std::string> Misfits() const;
  void AddRefusal(std::vector<std::string>& sentences) const;
  void Tell(const topology::TrackerNews& news);
  // Gives the engine the latest share, marked as told or not.
  void TellEngine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(news_mutex_);
  void SetPolicy() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  runtime::Engine* const engine_;
  Log* const log_;
  // Held while the engine is notified, so that the newest share arrives last. Taken before mutex_.
  absl::Mutex news_mutex_;
  runtime::NodeShare share_ ABSL_GUARDED_BY(news_mutex_);  // no CPUs: none yet
  bool is_stand_in_ ABSL_GUARDED_BY(news_mutex_) = false;
  mutable absl::Mutex mutex_;
  topology::OutsidePartition outside_ ABSL_GUARDED_BY(mutex_) =
      topology::OutsidePartition::kByClient;
  std::string refused_ ABSL_GUARDED_BY(mutex_);  // the reason why the last reload changed nothing
  int clients_ ABSL_GUARDED_BY(mutex_) = 0;      // clients that have the topology
  topology::Publisher publisher_;
  std::unique_ptr<topology::Tracker> tracker_;  // destroyed before what it calls
  // Where providers give the topology; empty: another source. Set by Start.
  struct Providers {
    std::shared_ptr<topology::ProviderSource> source;
    std::unique_ptr<cri::ProviderServer> server;
  };
  Providers providers_;
};

// Checks for --check-config that the configuration fits this machine.
absl::Status CheckNodeResources(const topology::NodeResourcesConfig& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_NODE_RESOURCES_H_
