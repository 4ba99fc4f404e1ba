#include "nri/update_applier.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace plimsoll::nri {
namespace {

constexpr int kEvictionThreads = 4;
constexpr size_t kMostEvictions = 256;
// A container's own grace is known to its client alone. Not longer, since a daemon that ends waits
// for evictions under way.
constexpr absl::Duration kEvictionGrace = absl::Seconds(10);
constexpr size_t kLongestReason = 500;

// The fields that the update sets, each with its plugin.
std::vector<runtime::PluginChange> ChangesOf(const AskedUpdate& asked) {
  if (!asked.changed_by.empty()) return asked.changed_by;
  Updates alone("");
  google::protobuf::RepeatedPtrField<api::ContainerUpdate> update;
  *update.Add() = asked.update;
  if (!alone.Take(asked.plugin, update, {}).ok()) return {};  // ToUpdate has said why
  const auto owners = alone.owners().find(asked.update.container_id());
  return owners == alone.owners().end() ? std::vector<runtime::PluginChange>()
                                        : owners->second.Changes();
}

// The plugins that have a part in the update, each once.
std::set<std::string> PluginsOf(const AskedUpdate& asked) {
  std::set<std::string> plugins = {asked.plugin};
  for (const runtime::PluginChange& change : asked.changed_by) plugins.insert(change.plugin);
  return plugins;
}

std::string Described(const AskedUpdate& asked) {
  const std::set<std::string> plugins = PluginsOf(asked);
  return absl::StrCat(plugins.size() == 1 ? "plugin \"" : "plugins \"",
                      absl::StrJoin(plugins, "\" and \""), "\" asked for an update of container \"",
                      Printable(asked.update.container_id().substr(0, 64)), "\"");
}

// The engine's errors name the id in full.
constexpr size_t kLongestId = 256;

}  // namespace

UpdateApplier::UpdateApplier(Parts* parts)
    : parts_(parts), pool_(std::make_unique<WorkerPool>(kEvictionThreads, kMostEvictions)) {}

void UpdateApplier::Stop() {
  std::unique_ptr<WorkerPool> pool;  // joined without the lock
  {
    absl::MutexLock lock(&mutex_);
    pool = std::move(pool_);
  }
}

void UpdateApplier::Count(const std::string& plugin, void (PluginCounts::*count)()) {
  if (const auto counts = parts_->roster.CountsOfConnected(plugin); counts != nullptr) {
    ((*counts).*count)();
  }
}

void UpdateApplier::TellFailure(const std::string& plugin, const absl::Status& status) {
  parts_->Tell(/*is_warning=*/true, plugin, std::string(status.message()));
}

absl::Status UpdateApplier::Apply(const AskedUpdate& asked) {
  const std::string& id = asked.update.container_id();
  const auto annotate = [&](const absl::Status& status) {
    return Annotate(status, Described(asked));
  };
  if (id.empty() || id.size() > kLongestId) {
    return annotate(absl::InvalidArgumentError(
        absl::StrCat("container_id has ", id.size(), " bytes, not 1 to ", kLongestId)));
  }
  runtime::Engine* const engine = parts_->engine;
  if (engine == nullptr) return annotate(absl::UnavailableError("there is no engine yet"));
  absl::StatusOr<runtime::ResourceUpdate> update = ToUpdate(asked.update.linux().resources());
  if (!update.ok()) return annotate(update.status());
  update->changed_by = ChangesOf(asked);
  if (parts_->makings.Keep(asked)) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(annotate(engine->UpdateForPlugin(id, *update)));
  for (const std::string& plugin : PluginsOf(asked)) Count(plugin, &PluginCounts::Updated);
  return absl::OkStatus();
}

// Plugins of today update all containers of a pool, without ignore_failure, while some of them end.
bool UpdateApplier::HasEnded(const std::string& id) const {
  runtime::Engine* const engine = parts_->engine;
  if (engine == nullptr || id.empty()) return false;
  const absl::StatusOr<runtime::ContainerRecord> record = engine->GetContainer(id);
  if (!record.ok()) return absl::IsNotFound(record.status());
  return record->state != runtime::ContainerState::kCreated &&
         record->state != runtime::ContainerState::kRunning;
}

absl::Status UpdateApplier::ApplyAll(const std::vector<AskedUpdate>& asked) {
  absl::Status first;
  for (const AskedUpdate& one : asked) {
    const absl::Status applied = Apply(one);
    if (applied.ok()) continue;
    const bool may_fail = one.update.ignore_failure() || HasEnded(one.update.container_id());
    if (first.ok() && !may_fail) {
      first = applied;
    } else {
      TellFailure(one.plugin, applied);
    }
  }
  return first;
}

void UpdateApplier::ApplyOrTell(const std::vector<AskedUpdate>& asked) {
  for (const AskedUpdate& one : asked) {
    if (absl::Status applied = Apply(one); !applied.ok()) TellFailure(one.plugin, applied);
  }
}

void UpdateApplier::TellIgnored(const std::vector<IgnoredUpdate>& ignored) {
  for (const IgnoredUpdate& one : ignored) {
    TellFailure(one.plugin, Annotate(one.why, Described({one.plugin, one.update})));
  }
}

void UpdateApplier::Evict(const std::vector<AskedEviction>& evictions) {
  for (const AskedEviction& eviction : evictions) Evict(eviction);
}

void UpdateApplier::Evict(const AskedEviction& eviction) {
  const std::string id = eviction.eviction.container_id();
  const std::string shown = Printable(id.substr(0, 64));
  const std::string reason = Printable(eviction.eviction.reason().substr(0, kLongestReason));
  const std::string why =
      absl::StrCat("evicts container \"", shown, "\"", reason.empty() ? "" : ": ", reason);
  runtime::Engine* const engine = parts_->engine;
  const absl::StatusOr<runtime::ContainerRecord> record =
      engine == nullptr || id.empty() || id.size() > kLongestId
          ? absl::NotFoundError("there is no such container")
          : engine->GetContainer(id);
  if (!record.ok()) {
    return TellFailure(eviction.plugin, Annotate(record.status(), why));
  }
  parts_->Tell(/*is_warning=*/true, eviction.plugin, why);
  if (parts_->options.events != nullptr) {
    parts_->options.events->Add(runtime::EventType::kWarning, *record,
                                absl::StrCat("plugin \"", eviction.plugin, "\" ", why));
  }
  const auto work = [this, engine, plugin = eviction.plugin, whole = record->id, why] {
    if (parts_->stopping) return;
    const absl::Status stopped = engine->StopContainer(whole, kEvictionGrace);
    if (stopped.ok()) return Count(plugin, &PluginCounts::Evicted);
    TellFailure(plugin, Annotate(stopped, why));
  };
  {
    absl::MutexLock lock(&mutex_);
    if (pool_ == nullptr || pool_->TrySchedule(work)) return;
  }
  TellFailure(eviction.plugin,
              absl::ResourceExhaustedError(
                  absl::StrCat(why, ": not done, ", kMostEvictions, " evictions wait already")));
}

}  // namespace plimsoll::nri
