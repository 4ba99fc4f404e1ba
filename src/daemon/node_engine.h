// The engine of this node with the parts that it is made from.
#ifndef PLIMSOLL_DAEMON_NODE_ENGINE_H_
#define PLIMSOLL_DAEMON_NODE_ENGINE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "cdi/registry.h"
#include "daemon/cgroup_driver.h"
#include "daemon/config/config.h"
#include "daemon/configured_images.h"
#include "daemon/qos_classes.h"
#include "daemon/telemetry/metrics.h"
#include "network/network.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/pod/hooks.h"
#include "runtime/store/store.h"
#include "service/logging.h"

namespace plimsoll::daemon {

// Opens store, events, images, OCI runtime, classes, CDI devices and network, and makes the engine
// of them. Opened, recovered and destroyed by one thread; the parts themselves are thread-safe.
class NodeEngine {
 public:
  // References and pointers outlive it.
  struct Surroundings {
    const Config& config;
    bool standalone = false;  // DaemonOptions::standalone
    FsRoot host;              // "/"
    FsRoot state;
    FsRoot run;
    size_t sandboxes = 0;  // CountSandboxes
    const CgroupSetup& driver;
    runtime::DescriptorLimit descriptor_limit;  // for containers
    Log* log = nullptr;
    Metrics* metrics = nullptr;
  };
  // Opens the parts; there is no engine yet. Errors are those of the part that can't be opened.
  static absl::StatusOr<std::unique_ptr<NodeEngine>> Open(Surroundings surroundings);
  // The engine ends before the parts that it uses. Containers that go on keep their layers, also
  // those of a removed image: images end first, and the engine no longer asks them for anything.
  ~NodeEngine();
  NodeEngine(const NodeEngine&) = delete;
  NodeEngine& operator=(const NodeEngine&) = delete;

  // Ends like the destructor, but leaves the OCI runtime, which commands with open streams use.
  std::unique_ptr<runtime::ContainerRuntime> EndAllButRuntime();

  // Makes the engine, which finds every sandbox and container again. Once. `hooks`, which may be
  // null, live as long as the engine.
  absl::Status Recover(std::shared_ptr<runtime::Hooks> hooks);

  runtime::Engine* engine() { return engine_.get(); }  // null before Recover
  runtime::EventLog* events() { return &events_; }
  ConfiguredImages* images() { return images_.get(); }
  runtime::ContainerRuntime* runtime() { return runtime_.get(); }
  QosClasses* classes() { return classes_.get(); }
  cdi::Registry* cdi() { return &cdi_; }
  network::Network* network() { return network_.get(); }

 private:
  explicit NodeEngine(Surroundings surroundings);

  absl::Status OpenParts();
  absl::Status OpenState();
  absl::Status OpenImages();
  absl::Status OpenRuntime();
  absl::Status OpenNetwork();

  const Surroundings in_;
  // Each uses those above it.
  std::unique_ptr<runtime::Store> store_;
  runtime::EventLog events_;
  std::unique_ptr<ConfiguredImages> images_;
  std::unique_ptr<runtime::ContainerRuntime> runtime_;
  std::unique_ptr<QosClasses> classes_;
  cdi::Registry cdi_;
  std::unique_ptr<network::Network> network_;
  std::shared_ptr<runtime::Hooks> hooks_;
  std::unique_ptr<runtime::Engine> engine_;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_NODE_ENGINE_H_
