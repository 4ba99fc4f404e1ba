#include "nri/adjust/updates.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "base/text/quoted.h"
#include "nri/adjust/overlay.h"
#include "nri/messages/messages.h"

namespace plimsoll::nri {
namespace {

// The updates of one answer, and of all together: more than a node has containers.
constexpr int kMaxUpdates = 4096;
constexpr size_t kMaxReason = 4096;
// The updates of one container, by all plugins together. Each costs as much as all before it.
constexpr int kMaxUpdatesOfOne = 64;

// "plugin 10-a: update of container 0123".
std::string Of(const std::string& plugin, absl::string_view what, const std::string& container) {
  return absl::StrCat("plugin ", plugin, ": ", what, " of container ",
                      Printable(Shorten(container)));
}

absl::Status TooMany(const std::string& plugin, absl::string_view what, size_t count) {
  return absl::ResourceExhaustedError(absl::StrCat("plugin ", plugin, ": with its answer, ", count,
                                                   " ", what, " are asked for; at most ",
                                                   kMaxUpdates, " are taken"));
}

}  // namespace

absl::Status Updates::TakeUpdate(const std::string& plugin, const api::ContainerUpdate& update,
                                 State* state) const {
  const std::string& id = update.container_id();
  const api::LinuxResources& resources = update.linux().resources();
  const std::string what = Of(plugin, "update", id);
  if (id.empty() || absl::StrContains(id, '\0')) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugin ", plugin, ": an update names no container in container_id"));
  }
  if (++state->counts[id] > kMaxUpdatesOfOne) {
    return absl::ResourceExhaustedError(absl::StrCat(
        what, ": it is one of more than ", kMaxUpdatesOfOne, " updates of this container"));
  }
  PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckShape({update, ""}), what));
  PLIMSOLL_RETURN_IF_ERROR(Annotate(ToUpdate(resources).status(), what));
  const Change change{resources, "linux.resources."};
  const auto present = state->owners.find(id);
  Owners owners = present == state->owners.end() ? Owners() : present->second;
  PLIMSOLL_RETURN_IF_ERROR(Annotate(Claim(plugin, change, &owners),
                                    absl::StrCat("update of container ", Printable(Shorten(id)))));
  const auto place = state->places.find(id);
  const bool is_new = place == state->places.end();
  AskedUpdate merged;
  if (!is_new) {
    merged = state->updates[place->second];
    merged.update.set_ignore_failure(merged.update.ignore_failure() && update.ignore_failure());
  } else {
    merged.plugin = plugin;
    merged.update.set_container_id(id);
    merged.update.set_ignore_failure(update.ignore_failure());
  }
  api::LinuxResources together =
      id == container_id_ ? state->own : merged.update.linux().resources();
  Overlay(change, /*keep_removals=*/false, &together);
  PLIMSOLL_RETURN_IF_ERROR(Annotate(ToUpdate(together).status(),
                                    absl::StrCat(what, ", with the updates before this one")));
  merged.changed_by = owners.Changes();
  state->owners[id] = std::move(owners);
  if (id == container_id_) {
    state->own = std::move(together);
    return absl::OkStatus();
  }
  *merged.update.mutable_linux()->mutable_resources() = std::move(together);
  if (is_new) {
    state->places[id] = state->updates.size();
    state->updates.push_back(std::move(merged));
  } else {
    state->updates[place->second] = std::move(merged);
  }
  return absl::OkStatus();
}

absl::Status Updates::TakeEviction(const std::string& plugin,
                                   const api::ContainerEviction& eviction, State* state) {
  const std::string& id = eviction.container_id();
  if (id.empty() || absl::StrContains(id, '\0')) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugin ", plugin, ": an eviction names no container in container_id"));
  }
  if (eviction.reason().size() > kMaxReason) {
    return absl::ResourceExhaustedError(absl::StrCat(Of(plugin, "eviction", id),
                                                     ": the reason has ", eviction.reason().size(),
                                                     " bytes; at most ", kMaxReason, " are taken"));
  }
  for (const AskedEviction& other : state->evictions) {
    if (other.eviction.container_id() == id) return absl::OkStatus();  // the first one does it
  }
  state->evictions.push_back({plugin, eviction});
  return absl::OkStatus();
}

absl::Status Updates::Take(
    const std::string& plugin,
    const google::protobuf::RepeatedPtrField<api::ContainerUpdate>& updates,
    const google::protobuf::RepeatedPtrField<api::ContainerEviction>& evictions) {
  if (updates.empty() && evictions.empty()) return absl::OkStatus();
  if (updates.size() > kMaxUpdates) return TooMany(plugin, "updates", updates.size());
  if (evictions.size() > kMaxUpdates) return TooMany(plugin, "evictions", evictions.size());
  State next = state_;
  for (const api::ContainerUpdate& update : updates) {
    const absl::Status taken = TakeUpdate(plugin, update, &next);
    if (taken.ok()) continue;
    if (!update.ignore_failure()) return taken;
    next.ignored.push_back({plugin, update, taken});
  }
  for (const api::ContainerEviction& eviction : evictions) {
    PLIMSOLL_RETURN_IF_ERROR(TakeEviction(plugin, eviction, &next));
  }
  const size_t most = std::max(next.updates.size(), next.ignored.size());
  if (most > kMaxUpdates) return TooMany(plugin, "updates", most);
  if (next.evictions.size() > kMaxUpdates) {
    return TooMany(plugin, "evictions", next.evictions.size());
  }
  state_ = std::move(next);
  return absl::OkStatus();
}

absl::StatusOr<runtime::ResourceUpdate> ToUpdate(const api::LinuxResources& resources) {
  runtime::ResourceUpdate update;
  PLIMSOLL_RETURN_IF_ERROR(ReadResources(resources, {&update.cgroup, &update.classes}));
  return update;
}

}  // namespace plimsoll::nri
