#include "nri/runtime_service.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/steady_time.h"

namespace plimsoll::nri {
namespace {

constexpr absl::Duration kLastConnectionEnds = absl::Milliseconds(500);

absl::Status CheckJoined(const PluginConnection& plugin, absl::string_view call) {
  if (plugin.step() >= Step::kTold) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(call, " before Synchronize: plugin \"", plugin.name(), "\" has not joined yet"));
}

}  // namespace

absl::Status RuntimeService::Register(PluginConnection& plugin,
                                      const api::RegisterPluginRequest& request) {
  // A plugin that was started goes by its file's name, whatever it says.
  if (plugin.pre_installed().has_value()) {
    return parts_->roster.Register(plugin, *plugin.pre_installed(), request.nri_version());
  }
  absl::StatusOr<PluginName> name = MakePluginName(request.plugin_idx(), request.plugin_name());
  absl::Status registered = name.status();
  // A plugin that comes back at once may be quicker than the end of its last connection here.
  const SteadyTime until = SteadyAfter(kLastConnectionEnds);
  while (name.ok()) {
    const uint64_t seen = parts_->news.count();
    registered = parts_->roster.Register(plugin, *name, request.nri_version());
    if (!absl::IsAlreadyExists(registered) || SteadyNow() >= until || plugin.is_closed()) break;
    parts_->news.Await(seen, until);
  }
  if (!registered.ok()) {
    parts_->Tell(/*is_warning=*/true, plugin.name(),
                 absl::StrCat("is refused: ", registered.message()));
  }
  return registered;
}

absl::StatusOr<api::UpdateContainersResponse> RuntimeService::UpdateContainers(
    PluginConnection& plugin, const api::UpdateContainersRequest& request) {
  PLIMSOLL_RETURN_IF_ERROR(CheckJoined(plugin, "UpdateContainers"));
  const std::string name = plugin.name();
  api::UpdateContainersResponse response;
  absl::Status first;
  int failures = 0;
  for (const api::ContainerUpdate& update : request.update()) {
    // The thread that drops the connection waits for this one.
    if (plugin.is_closed()) return absl::UnavailableError("the connection has ended");
    if (parts_->stopping) return absl::UnavailableError("plimsolld ends");
    const absl::Status applied = applier_->Apply({name, update});
    if (applied.ok()) continue;
    if (++failures == 1) first = applied;
    if (!update.ignore_failure()) *response.add_failed() = update;
  }
  if (failures > 0) {  // one line, however many there are
    parts_->Tell(/*is_warning=*/true, name,
                 absl::StrCat(failures, " of ", request.update_size(),
                              " updates failed; the first: ", first.message()));
  }
  for (const api::ContainerEviction& eviction : request.evict()) {
    if (plugin.is_closed()) return absl::UnavailableError("the connection has ended");
    applier_->Evict({{name, eviction}});
  }
  return response;
}

absl::Status RuntimeService::UpdateNodeResources(PluginConnection& plugin,
                                                 const api::UpdateNodeResourcesRequest& request) {
  PLIMSOLL_RETURN_IF_ERROR(CheckJoined(plugin, "UpdateNodeResources"));
  if (!parts_->options.provide) {
    return absl::UnimplementedError("this plimsolld takes no topology from plugins");
  }
  absl::MutexLock lock(&providing_);
  if (plugin.is_closed()) return absl::UnavailableError("the connection has ended");
  PLIMSOLL_RETURN_IF_ERROR(parts_->options.provide(plugin.name(), request));
  providers_[plugin.name()] = &plugin;
  return absl::OkStatus();
}

void RuntimeService::Withdraw(const PluginConnection& plugin) {
  const std::string name = plugin.name();
  absl::MutexLock lock(&providing_);
  const auto provider = providers_.find(name);
  if (provider == providers_.end() || provider->second != &plugin) return;
  providers_.erase(provider);
  if (parts_->options.withdraw) parts_->options.withdraw(name);
}

}  // namespace plimsoll::nri
