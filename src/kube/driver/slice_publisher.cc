#include "kube/driver/slice_publisher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "kube/apiserver/api_path.h"
#include "kube/apiserver/json_fields.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

std::string PathOfSlice(const std::string& name) {
  return absl::StrCat(kSlicesPath, "/", EscapedForUrl(name));
}

bool AnyDrift(const std::vector<PoolDevice>& devices) {
  return std::any_of(devices.begin(), devices.end(),
                     [](const PoolDevice& each) { return !each.drift.empty(); });
}

ReconcilerOptions LoopOptions(const SlicePublisherOptions& options) {
  ReconcilerOptions loop;
  loop.rest = options.rest;
  loop.retry = options.retry;
  return loop;
}

}  // namespace

SlicePublisher::SlicePublisher(ApiClient& api, SlicePublisherOptions options)
    : api_(api),
      options_(std::move(options)),
      frame_{options_.node, "", true},
      copy_(
          api, options_.node, [this] { Wake(); },
          [this](const absl::Status& status) { HearWatch(status); }),
      reconciler_([this] { return Run(); }, LoopOptions(options_)) {
  {
    const absl::MutexLock lock(&mutex_);
    loop_ = &reconciler_;
  }
  // For what the copy told before.
  Wake();
}

SlicePublisher::~SlicePublisher() {
  const absl::MutexLock lock(&mutex_);
  loop_ = nullptr;
}

void SlicePublisher::HearWatch(const absl::Status& status) {
  // After an outage, a run finds out whether the slices are as they should be.
  if (status.ok()) return Wake();
  options_.on_state(status);
}

void SlicePublisher::Wake() {
  const absl::MutexLock lock(&mutex_);
  if (loop_ != nullptr) loop_->Wake();
}

void SlicePublisher::SetDevices(std::vector<PoolDevice> devices) {
  {
    const absl::MutexLock lock(&mutex_);
    if (devices_ == devices) return;
    devices_ = std::move(devices);
  }
  Wake();
}

absl::Status SlicePublisher::Run() {
  const absl::StatusOr<bool> published = Publish();
  if (!published.ok() || *published) options_.on_state(published.status());
  return published.status();
}

absl::StatusOr<bool> SlicePublisher::Publish() {
  if (!copy_.is_whole()) return false;  // its list wakes this
  std::optional<std::vector<PoolDevice>> devices;
  {
    const absl::MutexLock lock(&mutex_);
    devices = devices_;
  }
  if (!devices) return false;
  const Slices present = copy_.Slices();
  if (IsPublished(SlicesOf(*devices, frame_), present)) return true;
  // A Node that was made again has another uid, and its old slices go.
  PLIMSOLL_ASSIGN_OR_RETURN(frame_.node_uid, NodeUid());
  if (IsPublished(SlicesOf(*devices, frame_), present)) return true;
  const absl::Status written = Write(SlicesOf(*devices, frame_), present);
  if (absl::IsInvalidArgument(written) && frame_.taints && AnyDrift(*devices)) {
    PLIMSOLL_RETURN_IF_ERROR(WriteWithoutTaints(*devices, written));
    return true;
  }
  PLIMSOLL_RETURN_IF_ERROR(written);
  return true;
}

absl::Status SlicePublisher::WriteWithoutTaints(const std::vector<PoolDevice>& devices,
                                                const absl::Status& refusal) {
  PoolFrame frame = frame_;
  frame.taints = false;
  PLIMSOLL_RETURN_IF_ERROR(Write(SlicesOf(devices, frame), copy_.Slices()));
  frame_.taints = false;
  options_.warn(absl::StrCat(
      "the API server refuses device taints, so classes that drift are given to pods as before: ",
      refusal.message()));
  return absl::OkStatus();
}

bool SlicePublisher::IsPublished(const std::vector<Json>& wanted, const Slices& present) const {
  if (wanted.size() != present.size()) return false;
  for (const Json& each : wanted) {
    const auto found = present.find(TextOf(each, {"metadata", "name"}));
    if (found == present.end()) return false;
    // Only the slices of a pool's newest generation count.
    if (GenerationOf(found->second) != GenerationOf(present.begin()->second)) return false;
    const Json part = OwnPart(each);
    const Json seen = OwnPart(found->second);
    if (seen == part) continue;
    const auto accepted = accepted_.find(found->first);
    if (accepted == accepted_.end() || accepted->second.sent != part ||
        accepted->second.answer != seen) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<std::string> SlicePublisher::NodeUid() {
  const absl::StatusOr<Json> node =
      api_.Call({.path = absl::StrCat("/api/v1/nodes/", EscapedForUrl(options_.node))});
  if (absl::IsNotFound(node.status())) {
    return absl::UnavailableError(
        absl::StrCat("there is no Node \"", options_.node,
                     "\": either kubelet hasn't registered it yet, or nodeName is wrong"));
  }
  PLIMSOLL_RETURN_IF_ERROR(node.status());
  std::string uid = TextOf(*node, {"metadata", "uid"});
  if (!uid.empty()) return uid;
  return absl::UnavailableError(absl::StrCat("Node \"", options_.node, "\" has no uid"));
}

absl::Status SlicePublisher::Write(std::vector<Json> wanted, Slices present) {
  int64_t generation = 0;
  for (const auto& [name, slice] : present) generation = std::max(generation, GenerationOf(slice));
  for (Json& each : wanted) {
    SetGeneration(each, generation + 1);
    const auto found = present.find(TextOf(each, {"metadata", "name"}));
    const bool is_new = found == present.end();
    PLIMSOLL_RETURN_IF_ERROR(WriteOne(std::move(each), is_new ? nullptr : &found->second));
    if (!is_new) present.erase(found);
  }
  for (const auto& [name, slice] : present) PLIMSOLL_RETURN_IF_ERROR(Delete(name));
  return absl::OkStatus();
}

absl::Status SlicePublisher::WriteOne(Json wanted, const Json* present) {
  const std::string name = TextOf(wanted, {"metadata", "name"});
  ApiRequest request;
  request.method = present == nullptr ? "POST" : "PUT";
  request.path = present == nullptr ? kSlicesPath : PathOfSlice(name);
  request.body = wanted;
  if (present != nullptr) {
    // Labels and annotations of others stay.
    Json metadata = FieldOf(*present, {"metadata"});
    metadata.erase("managedFields");
    metadata["ownerReferences"] = wanted["metadata"]["ownerReferences"];
    request.body["metadata"] = std::move(metadata);
  }
  const absl::StatusOr<Json> answer = api_.Call(request);
  if (absl::IsNotFound(answer.status()) && present != nullptr) copy_.Forget(name);
  PLIMSOLL_RETURN_IF_ERROR(answer.status());
  ++writes_;
  copy_.Remember(*answer);
  Note(wanted, *answer);
  accepted_[name] = {OwnPart(wanted), OwnPart(*answer)};
  return absl::OkStatus();
}

absl::Status SlicePublisher::Delete(const std::string& name) {
  const absl::Status deleted = api_.Call({.method = "DELETE", .path = PathOfSlice(name)}).status();
  if (!deleted.ok() && !absl::IsNotFound(deleted)) return deleted;
  ++writes_;
  copy_.Forget(name);
  accepted_.erase(name);
  return absl::OkStatus();
}

void SlicePublisher::Note(const Json& sent, const Json& answer) {
  const Dropped dropped = DroppedOf(sent, answer);
  if (dropped.multiple_allocations && !std::exchange(told_.multiple_allocations, true)) {
    options_.warn(
        "the API server drops allowMultipleAllocations: each class of this node goes to one claim "
        "at a time. Switch on its feature gate DRAConsumableCapacity");
  }
  if (dropped.taints && !std::exchange(told_.taints, true)) {
    options_.warn(
        "the API server drops device taints: classes that drift are given to pods as before. "
        "Switch on its feature gate DRADeviceTaints");
  }
}

absl::StatusOr<int> RemoveSlices(ApiClient& api, const std::string& node) {
  const std::string path =
      ApiPathWith(kSlicesPath, {{"fieldSelector", SlicesOfNodeSelector(node)}});
  PLIMSOLL_ASSIGN_OR_RETURN(const Json list, api.Call({.path = path}));
  int removed = 0;
  for (const Json& each : ElementsOf(list, {"items"})) {
    const std::string name = TextOf(each, {"metadata", "name"});
    const absl::Status deleted = api.Call({.method = "DELETE", .path = PathOfSlice(name)}).status();
    if (!deleted.ok() && !absl::IsNotFound(deleted)) return deleted;
    ++removed;
  }
  return removed;
}

}  // namespace plimsoll::kube
