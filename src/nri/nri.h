// The Node Resource Interface: plugins that observe and adjust pods.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<Nri> nri, Nri::Make(options));
//   engine_options.hooks = nri.get();
//   ... make the engine ...
//   PLIMSOLL_RETURN_IF_ERROR(nri->Start(engine));
//   ... serve ...
//   nri->Stop();
#ifndef PLIMSOLL_NRI_NRI_H_
#define PLIMSOLL_NRI_NRI_H_

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
#include "base/fs_root.h"
#include "image/image_service.h"
#include "nri/config.h"
#include "nri/v1alpha1/api.pb.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"
#include "runtime/pod/hooks.h"

namespace plimsoll::nri {

// Pointers must outlive the object.
struct Options {
  NriSettings config;
  std::string socket;   // the socket's path, for `config.socket`; empty: none
  std::string version;  // of plimsolld
  FsRoot host;          // "/"
  // The engine's run directory; nullopt: pods' namespaces aren't told.
  std::optional<FsRoot> run;
  image::ImageService* images = nullptr;
  runtime::EventLog* events = nullptr;
  // A line for people: a plugin came, went, failed, was refused.
  std::function<void(bool is_warning, const std::string& plugin, const std::string& text)> tell;
  // Takes a topology that a plugin provides; an empty function refuses it. `plugin`: its name.
  std::function<absl::Status(const std::string& plugin,
                             const ::nri::pkg::api::v1alpha1::UpdateNodeResourcesRequest& request)>
      provide;
  // A plugin that has provided a topology is gone.
  std::function<void(const std::string& plugin)> withdraw;
};

enum class PluginState {
  kConnecting,  // not configured and synchronised yet
  kReady,
  kAbsent,  // required or pre-installed, and not there
};
const char* PluginStateName(PluginState state);  // "ready"

// Requests of one kind to one plugin.
struct RequestCounts {
  uint64_t count = 0;
  uint64_t errors = 0;  // it answered an error
  uint64_t strikes = 0;
  absl::Duration total;
  absl::Duration longest;
};

// A plugin as `plimsoll nri` and the metrics show it.
struct PluginReport {
  std::string name;  // "10-name"
  PluginState state = PluginState::kAbsent;
  bool required = false;
  bool pre_installed = false;        // started by the daemon
  int64_t pid = 0;                   // 0: unknown
  std::string nri_version;           // as it said; empty: it didn't
  std::vector<std::string> events;   // "CreateContainer", in the order of their numbers
  int strikes = 0;                   // in a row
  int restarts = 0;                  // of a pre-installed one, in this run of the daemon
  int64_t connected_unix_nanos = 0;  // 0: it isn't
  std::string last_error;
  std::map<std::string, RequestCounts> requests;  // by the protocol's name: "CreateContainer"
  uint64_t adjusted_containers = 0;
  uint64_t updated_containers = 0;
  uint64_t evicted_containers = 0;
};

// Thread-safe; Start and Stop are called once, by one thread.
class Nri : public runtime::Hooks {
 public:
  // INVALID_ARGUMENT names the mistake in the configuration. Starts nothing.
  static absl::StatusOr<std::unique_ptr<Nri>> Make(Options options);

  // Starts the pre-installed plugins, waits until each has synchronised or failed, then listens.
  // A plugin's failure is logged and is no error; a socket that can't be had is one.
  virtual absl::Status Start(runtime::Engine* engine) = 0;
  // Disconnects all plugins and ends those that it started. Hooks do nothing from now on.
  virtual void Stop() = 0;

  // Every plugin that is there or should be, by name.
  virtual std::vector<PluginReport> Report() const = 0;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_NRI_H_
