// The daemon's side of the Node Resource Interface: its plugins' words go to the log, their
// topologies to the node's resources, and its state to clients and metrics.
#ifndef PLIMSOLL_DAEMON_NODE_NRI_H_
#define PLIMSOLL_DAEMON_NODE_NRI_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "daemon/config/config.h"
#include "daemon/node_resources.h"
#include "daemon/telemetry/nri_state.h"
#include "image/image_service.h"
#include "nri/nri.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"
#include "runtime/pod/hooks.h"
#include "service/logging.h"

namespace plimsoll::daemon {

// One thread opens, starts and stops it; State and Troubles are for any thread, after Open.
class NodeNri {
 public:
  // References and pointers outlive the hooks.
  struct Parts {
    const Config& config;
    std::string version;
    FsRoot host;  // "/"
    FsRoot run;
    image::ImageService* images = nullptr;
    runtime::EventLog* events = nullptr;
    Log* log = nullptr;
  };
  // Reads the configuration and starts nothing. INVALID_ARGUMENT.
  absl::Status Open(Parts parts);
  // For the engine; null: the interface is switched off. After Stop they do nothing.
  std::shared_ptr<runtime::Hooks> hooks() const { return nri_; }

  // Starts plugins and listens; both outlive Stop. Without its socket of `nri.socket: auto`, which
  // another runtime may have, the interface goes on with the plugins that it started: a warning,
  // since the node must come up. A socket that the configuration names is one that it needs.
  absl::Status Start(runtime::Engine* engine, const NodeResources* node);
  // Disconnects all plugins. May be called again, and without Start.
  void Stop();

  NriState State() const;
  // Troubles for pods and administrators, a sentence each.
  std::vector<std::string> Troubles() const;

 private:
  // A plugin's topology, as a provider gives it.
  absl::Status Provide(const std::string& plugin,
                       const ::nri::pkg::api::v1alpha1::UpdateNodeResourcesRequest& request);
  void Withdraw(const std::string& plugin);

  std::unique_ptr<Parts> parts_;
  std::shared_ptr<nri::Nri> nri_;
  const NodeResources* node_ = nullptr;  // set before there is a plugin
  mutable absl::Mutex mutex_;
  std::string trouble_ ABSL_GUARDED_BY(mutex_);   // of the socket
  std::string provider_ ABSL_GUARDED_BY(mutex_);  // the plugin of `session_`
  std::unique_ptr<topology::ProviderSource::Session> session_ ABSL_GUARDED_BY(mutex_);
};

// Checks for --check-config and a start; the error names the key.
absl::Status CheckNri(const Config& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_NODE_NRI_H_
