#include "nri/joiner.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "nri/adjust/adjust.h"
#include "nri/synchronize_chunks.h"

namespace plimsoll::nri {
namespace {

// A creation lasts seconds; one that hangs, on a network plugin say, shall not keep plugins out for
// ever. The plugin may connect again.
constexpr absl::Duration kCreationPatience = absl::Minutes(2);

absl::Status SendChunks(PluginConnection& plugin,
                        const std::vector<api::SynchronizeRequest>& requests,
                        api::SynchronizeResponse* last) {
  const SteadyTime until = plugin.SynchronizeUntil();
  for (const api::SynchronizeRequest& request : requests) {
    PLIMSOLL_ASSIGN_OR_RETURN(*last, plugin.Synchronize(request, until));
    if (!request.more()) continue;
    if (!last->more() || last->update_size() > 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("the node's pods and containers take ", requests.size(),
                       " Synchronize requests, and the plugin doesn't know \"more\": use one for "
                       "protocol 0.7 or later"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void Joiner::Join(const std::shared_ptr<PluginConnection>& plugin) {
  const absl::Status joined = TryJoin(*plugin);
  parts_->roster.Changed();
  if (!joined.ok()) return plugin->Close(Annotate(joined, "the plugin can't join"));
  PluginReport report;
  plugin->Fill(&report);
  parts_->Tell(/*is_warning=*/false, plugin->name(),
               absl::StrCat("joined as process ", plugin->pid(),
                            "; its events: ", absl::StrJoin(report.events, ", ")));
}

absl::Status Joiner::TryJoin(PluginConnection& plugin) {
  PLIMSOLL_RETURN_IF_ERROR(plugin.Configure(parts_->options.version));
  // If the last plugin's traces are being removed at this moment (Makings::ForgetHooked), that has
  // ended once this has had the turn.
  { const TurnHolder turn(&parts_->turn); }
  const auto give_up = [&] { return plugin.is_closed() || parts_->stopping; };
  if (!parts_->makings.AwaitUnhooked(SteadyAfter(kCreationPatience), give_up)) {
    if (plugin.is_closed()) return plugin.why_closed();
    return absl::DeadlineExceededError(
        absl::StrCat("pods or containers whose making began without plugins are not finished "
                     "after ",
                     absl::FormatDuration(kCreationPatience)));
  }
  const TurnHolder turn(&parts_->turn);
  dispatcher_->HasTurn();
  if (parts_->stopping) return absl::CancelledError("plimsolld ends");
  dispatcher_->Flush();
  return Synchronize(plugin);
}

SeenObjects Joiner::Look() {
  SeenObjects picture = parts_->view.Look();
  absl::flat_hash_set<std::string> visible;
  for (const SeenPod& pod : picture.pods) visible.insert(pod.message.id());
  for (const SeenContainer& container : picture.containers) visible.insert(container.message.id());
  for (api::PodSandbox& pod : parts_->objects.PodsInMaking()) {
    if (!visible.contains(pod.id())) picture.pods.push_back({std::move(pod), Stage::kMaking});
  }
  for (api::Container& container : parts_->objects.ContainersInMaking()) {
    if (visible.contains(container.id())) continue;
    picture.containers.push_back({std::move(container), Stage::kMaking});
  }
  return picture;
}

absl::Status Joiner::Synchronize(PluginConnection& plugin) {
  std::vector<api::PodSandbox> pods;
  std::vector<api::Container> containers;
  SeenObjects picture = Look();
  for (SeenPod& pod : picture.pods) {
    plugin.known().Add(pod.message.id(), pod.stage);
    if (pod.stage != Stage::kMaking) parts_->objects.Keep(pod.message);
    pods.push_back(std::move(pod.message));
  }
  for (SeenContainer& container : picture.containers) {
    plugin.known().Add(container.message.id(), container.stage);
    if (container.stage != Stage::kMaking) parts_->objects.Keep(container.message);
    containers.push_back(std::move(container.message));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<api::SynchronizeRequest> requests,
                            ChunksOf(std::move(pods), std::move(containers)));
  if (!plugin.MoveTo(Step::kTold)) return plugin.why_closed();
  api::SynchronizeResponse response;
  PLIMSOLL_RETURN_IF_ERROR(SendChunks(plugin, requests, &response));
  Updates updates("");
  PLIMSOLL_RETURN_IF_ERROR(updates.Take(plugin.name(), response.update(), {}));
  applier_->TellIgnored(updates.ignored());
  applier_->ApplyOrTell(updates.updates());
  return plugin.MoveTo(Step::kReady) ? absl::OkStatus() : plugin.why_closed();
}

}  // namespace plimsoll::nri
