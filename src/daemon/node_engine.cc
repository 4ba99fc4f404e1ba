#include "daemon/node_engine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "daemon/describe_node.h"
#include "daemon/preconditions.h"
#include "daemon/telemetry/counts.h"
#include "image/image_service.h"
#include "runtime/objects/image_events.h"

namespace plimsoll::daemon {

absl::StatusOr<std::unique_ptr<NodeEngine>> NodeEngine::Open(Surroundings surroundings) {
  std::unique_ptr<NodeEngine> node(new NodeEngine(std::move(surroundings)));
  PLIMSOLL_RETURN_IF_ERROR(node->OpenParts());
  return node;
}

NodeEngine::NodeEngine(Surroundings surroundings)
    : in_(std::move(surroundings)),
      events_(static_cast<size_t>(in_.config.event_log_capacity)),
      cdi_(in_.host, in_.config.cdi_spec_dirs) {}

NodeEngine::~NodeEngine() {
  EndAllButRuntime();
}

std::unique_ptr<runtime::ContainerRuntime> NodeEngine::EndAllButRuntime() {
  if (classes_ != nullptr) classes_->StopFollowing();
  images_.reset();
  engine_.reset();
  classes_.reset();
  return std::move(runtime_);
}

absl::Status NodeEngine::OpenParts() {
  PLIMSOLL_RETURN_IF_ERROR(WithRemedy(OpenState(), "state directory", in_.config.state_dir));
  PLIMSOLL_RETURN_IF_ERROR(OpenRuntime());
  PLIMSOLL_ASSIGN_OR_RETURN(
      classes_,
      QosClasses::Open(in_.host, in_.config, in_.driver.cgroups.get(), store_.get(), in_.log));
  // The network's records are in the state directory.
  return WithRemedy(OpenNetwork(), "state directory", in_.config.state_dir);
}

// Opens the database and the images.
absl::Status NodeEngine::OpenState() {
  PLIMSOLL_ASSIGN_OR_RETURN(store_, runtime::Store::Open(in_.state, in_.sandboxes));
  return OpenImages();
}

absl::Status NodeEngine::OpenImages() {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::OpenOrCreate(in_.state.PathOf("images")));
  image::ImageServiceOptions options{.host = in_.host,
                                     .registries_conf = in_.config.registries_file,
                                     .share_layers = in_.config.share_layers};
  options.on_pull_start = [metrics = in_.metrics] { metrics->ObservePullStart(); };
  options.on_pull_end = [metrics = in_.metrics](const image::FinishedPull& pull) {
    metrics->ObservePullEnd(pull.status, pull.duration, pull.bytes);
  };
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<image::ImageService> images,
                            image::ImageService::Open(root, store_.get(), options));
  images_ = std::make_unique<ConfiguredImages>(
      runtime::WithImageEvents(std::move(images), &events_), ImageSettingsOf(in_.config));
  return absl::OkStatus();
}

absl::Status NodeEngine::OpenRuntime() {
  runtime::OciOptions options{.host = in_.host,
                              .state = in_.state,
                              .run = in_.run,
                              .crun = in_.config.crun,
                              .restrict_oom_score_adj = in_.config.restrict_oom_score_adj,
                              .cgroups = in_.driver.cgroups.get(),
                              .monitor_cgroup = in_.driver.monitors,
                              .descriptor_limit = in_.descriptor_limit,
                              .runs_image_volumes = in_.config.image_volumes == "exec",
                              .has_declared_volumes = in_.config.volumes == "mount",
                              .enters_directly = in_.config.exec == "direct"};
  for (const auto& [name, handler] : in_.config.runtime_handlers) {
    if (!handler.program.empty()) options.programs.insert(handler.program);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(runtime_, runtime::ContainerRuntime::Create(std::move(options)));
  if (in_.standalone) return absl::OkStatus();
  for (const std::string& limitation : runtime_->Limitations()) {
    in_.log->Write(LogLevel::kWarning, "this machine has a limitation", {{"what", limitation}});
  }
  return absl::OkStatus();
}

absl::Status NodeEngine::OpenNetwork() {
  const PodNetworkConfig& config = in_.config.network;
  network::Options options{.host = in_.host, .state = in_.state};
  options.config_directory = config.config_dir;
  options.plugin_directories = config.plugin_dirs;
  options.plugin_timeout = absl::Seconds(config.plugin_timeout);
  options.interfaces = config.interfaces;
  options.is_optional = in_.standalone;
  options.tell = [log = in_.log](const std::string& text) {
    log->WriteLimited(LogLevel::kInfo, absl::StrCat("network: ", text), {});
  };
  PLIMSOLL_ASSIGN_OR_RETURN(network_, network::Network::Open(std::move(options)));
  return absl::OkStatus();
}

absl::Status NodeEngine::Recover(std::shared_ptr<runtime::Hooks> hooks) {
  const absl::Time start = absl::Now();
  hooks_ = std::move(hooks);
  runtime::EngineOptions options{
      .host = in_.host,
      .state = in_.state,
      .run = in_.run,
      .default_cgroup_parent = in_.driver.pod_parent,
      .store = store_.get(),
      .images = images_.get(),
      .cgroups = in_.driver.cgroups.get(),
      .runtime = runtime_.get(),
      .events = &events_,
      .classes = classes_->registry(),
      .devices = &cdi_,
      .handlers = &in_.config.runtime_handlers,
      .network = network_.get(),
      .network_rights = {.ports = in_.config.network.unprivileged_ports,
                         .ping = in_.config.network.unprivileged_ping},
      .hooks = hooks_.get(),
      .collect_network_garbage = in_.config.network.collect_garbage && !in_.standalone,
      .show_pictures = PicturesAreOn(in_.config),
      .assign_classes = ClassesAreOn(in_.config)};
  options.observe_phase = [metrics = in_.metrics](const char* phase, absl::Duration duration) {
    metrics->ObservePhase(phase, duration);
  };
  PLIMSOLL_ASSIGN_OR_RETURN(engine_, runtime::Engine::Create(std::move(options)));
  in_.metrics->ObserveRecovery(CountRecovered(*engine_, absl::Now() - start));
  classes_->Follow();
  return absl::OkStatus();
}

}  // namespace plimsoll::daemon
