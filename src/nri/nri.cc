#include "nri/nri.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "base/socket_file.h"
#include "base/status.h"
#include "nri/caretaker.h"
#include "nri/container_hooks.h"
#include "nri/dispatcher.h"
#include "nri/joiner.h"
#include "nri/launcher.h"
#include "nri/listener.h"
#include "nri/parts.h"
#include "nri/plugin_name.h"
#include "nri/pod_hooks.h"
#include "nri/runtime_service.h"
#include "nri/update_applier.h"

namespace plimsoll::nri {
namespace {

constexpr absl::Duration kShutdownPatience = absl::Milliseconds(500);
constexpr size_t kMostAtOnce = 64;

absl::Status CheckConfig(const NriSettings& config) {
  for (const auto& [name, policy] : config.policies) {
    const absl::Status named =
        ParsePluginName(name).ok() ? absl::OkStatus() : MakePluginName("00", name).status();
    PLIMSOLL_RETURN_IF_ERROR(named);
    if (policy.strikes.value_or(0) < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "policy of plugin \"", name, "\": strikes are ", *policy.strikes, ": must be 0 or more"));
    }
  }
  for (const auto& [what, milliseconds] :
       {std::pair("registration_timeout_ms", config.registration_timeout_ms),
        std::pair("request_timeout_ms", config.request_timeout_ms)}) {
    if (milliseconds > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", milliseconds, ": must be above 0"));
  }
  return absl::OkStatus();
}

class NriImpl : public Nri {
 public:
  explicit NriImpl(Options options)
      : parts_(std::move(options)),
        applier_(&parts_),
        dispatcher_(&parts_, &applier_),
        joiner_(&parts_, &dispatcher_, &applier_),
        service_(&parts_, &applier_),
        launcher_(&parts_, &service_, {}),
        pods_(&parts_, &dispatcher_),
        containers_(&parts_, &dispatcher_, &applier_) {}

  ~NriImpl() override { Stop(); }

  absl::Status Start(runtime::Engine* engine) override {
    parts_.engine = engine;
    if (!parts_.options.config.enabled) return absl::OkStatus();
    listening_ = parts_.options.events->Listen(
        [this](const runtime::Event& event, const runtime::EventSubject& subject) {
          Hear(event, subject);
        });
    launcher_.Find();
    launcher_.StartDue();
    const PluginList started = parts_.roster.All();
    caretaker_.emplace(&parts_, &dispatcher_, &joiner_, &service_, &launcher_);
    AwaitSettled(started);
    if (!parts_.options.config.external || parts_.options.socket.empty()) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(listener_, Listener::Start(&parts_, &service_));
    return absl::OkStatus();
  }

  void Stop() override {
    if (parts_.stopping.exchange(true)) return;
    listener_.reset();
    if (listening_.has_value()) parts_.options.events->Unlisten(*listening_);
    Disconnect(parts_.roster.All());  // joins and hooks under way end with it
    caretaker_.reset();
    PluginList plugins = parts_.roster.All();
    Disconnect(plugins);                      // one may have been started meanwhile
    { const TurnHolder turn(&parts_.turn); }  // hooks under way have ended after this
    for (const auto& plugin : plugins) {
      parts_.roster.Remove(plugin.get());
      service_.Withdraw(*plugin);
    }
    plugins.clear();
    launcher_.Stop();
    applier_.Stop();
    parts_.engine = nullptr;
  }

  std::vector<PluginReport> Report() const override { return parts_.roster.Report(); }

  bool Active() const override {
    return parts_.options.config.enabled && !parts_.stopping && parts_.roster.IsActive();
  }
  std::shared_ptr<void> Making(const std::string& id) override { return parts_.makings.Begin(id); }
  absl::Status RunSandbox(const runtime::HookedPod& pod) override { return pods_.Run(pod); }
  void UndoSandbox(const std::string& id) override { pods_.Undo(id); }
  absl::Status UpdateSandbox(const runtime::HookedPod& pod,
                             const runtime::SandboxUpdate& update) override {
    return pods_.Update(pod, update);
  }
  void SandboxUpdated(const runtime::HookedPod& pod) override { pods_.Updated(pod); }
  void StopSandbox(const runtime::HookedPod& pod) override { pods_.Stop(pod); }
  absl::StatusOr<runtime::ContainerSpec> CreateContainer(
      const runtime::HookedPod& pod, const runtime::HookedContainer& container) override {
    return containers_.Create(pod, container);
  }
  void UndoContainer(const std::string& id) override { containers_.Undo(id); }
  absl::Status StartContainer(const runtime::HookedPod& pod,
                              const runtime::HookedContainer& container) override {
    return containers_.Start(pod, container);
  }
  absl::Status UpdateContainer(const runtime::HookedPod& pod,
                               const runtime::HookedContainer& container,
                               const runtime::ResourceUpdate& update, ApplyFn apply) override {
    return containers_.Update(pod, container, update, apply);
  }

 private:
  // In the thread of the event, which may have the engine's locks.
  void Hear(const runtime::Event& event, const runtime::EventSubject& subject) {
    if (!parts_.roster.IsActive()) return;
    std::optional<Notification> notification = Notification::Of(event, subject);
    if (!notification.has_value()) return;
    if (parts_.queue.Push(*std::move(notification))) parts_.news.Tell();
  }

  static void Disconnect(const PluginList& plugins) {
    EachAtOnce(plugins.size(), kMostAtOnce, [&](size_t i) {
      plugins[i]->SayShutdown(kShutdownPatience);
      plugins[i]->Close(absl::CancelledError("plimsolld ends"));
    });
  }

  // Waits until each of the plugins is ready or has ended. Their time limits end this.
  void AwaitSettled(const PluginList& plugins) {
    for (const auto& plugin : plugins) {
      while (true) {
        const uint64_t seen = parts_.news.count();
        if (plugin->is_closed() || plugin->step() == Step::kReady) break;
        parts_.news.Await(seen, kNever);
      }
    }
  }

  Parts parts_;
  UpdateApplier applier_;
  Dispatcher dispatcher_;
  Joiner joiner_;
  RuntimeService service_;
  Launcher launcher_;
  PodHooks pods_;
  ContainerHooks containers_;
  std::optional<int> listening_;
  std::optional<Caretaker> caretaker_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace

const char* PluginStateName(PluginState state) {
  switch (state) {
    case PluginState::kConnecting:
      return "connecting";
    case PluginState::kReady:
      return "ready";
    case PluginState::kAbsent:
      return "absent";
  }
  return "unknown";
}

absl::StatusOr<std::unique_ptr<Nri>> Nri::Make(Options options) {
  PLIMSOLL_RETURN_IF_ERROR(CheckConfig(options.config));
  if (options.config.enabled && options.config.external && !options.socket.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(options.socket));
  }
  if (options.events == nullptr) return absl::InvalidArgumentError("NRI needs an event log");
  return std::make_unique<NriImpl>(std::move(options));
}

}  // namespace plimsoll::nri
