#include "kube/driver/slices.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kube/apiserver/json_fields.h"
#include "qos/class_devices.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

// The bound of a Node's name: an object's has 253 bytes; "-classes-" and a number follow.
constexpr size_t kMaxNodeBytes = 220;

// FNV-1a: the same in every build, as slices outlive the program.
uint64_t StableHash(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

Json DeviceObject(const PoolDevice& device, bool taints) {
  Json object = device.object;
  if (taints && !device.drift.empty()) {
    object["taints"] = Json::array({{{"key", kDriftTaint}, {"effect", "NoSchedule"}}});
  }
  return object;
}

Json SliceObject(const PoolFrame& frame, size_t index, size_t count) {
  const Json owner = {
      {"apiVersion", "v1"}, {"kind", "Node"}, {"name", frame.node}, {"uid", frame.node_uid}};
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceSlice"},
          {"metadata",
           {{"name", SliceName(frame.node, index)}, {"ownerReferences", Json::array({owner})}}},
          {"spec",
           {{"driver", qos::kClassDriver},
            {"nodeName", frame.node},
            {"pool", {{"name", frame.node}, {"resourceSliceCount", count}}},
            {"devices", Json::array()}}}};
}

// The members of an owner that we set.
Json OwnersOf(const Json& slice) {
  Json owners = Json::array();
  for (const Json& each : ElementsOf(slice, {"metadata", "ownerReferences"})) {
    owners.push_back({{"kind", TextOf(each, "kind")},
                      {"name", TextOf(each, "name")},
                      {"uid", TextOf(each, "uid")}});
  }
  return owners;
}

void DropTimesOfTaints(Json& devices) {
  for (Json& device : devices) {
    if (!device.is_object() || !device.contains("taints")) continue;
    for (Json& taint : device["taints"]) {
      if (taint.is_object()) taint.erase("timeAdded");
    }
  }
}

}  // namespace

std::string SliceName(const std::string& node, size_t index) {
  if (node.size() <= kMaxNodeBytes) return absl::StrCat(node, "-classes-", index);
  std::string begin = node.substr(0, kMaxNodeBytes - 17);
  while (!begin.empty() && (begin.back() == '.' || begin.back() == '-')) begin.pop_back();
  return absl::StrFormat("%s-%016x-classes-%d", begin, StableHash(node), index);
}

std::vector<Json> SlicesOf(const std::vector<PoolDevice>& devices, const PoolFrame& frame) {
  const size_t count = (devices.size() + kMaxSliceDevices - 1) / kMaxSliceDevices;
  std::vector<Json> slices;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i % kMaxSliceDevices == 0) slices.push_back(SliceObject(frame, slices.size(), count));
    slices.back()["spec"]["devices"].push_back(DeviceObject(devices[i], frame.taints));
  }
  return slices;
}

void SetGeneration(Json& slice, int64_t generation) {
  slice["spec"]["pool"]["generation"] = generation;
}

int64_t GenerationOf(const Json& slice) {
  const Json& value = FieldOf(slice, {"spec", "pool", "generation"});
  // Another may have written a number after which there is none.
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max() - 1;
  if (!value.is_number_integer()) return 0;
  const auto number = value.get<uint64_t>();  // one below 0 is a large one here
  return number > kMost ? 0 : static_cast<int64_t>(number);
}

Json OwnPart(const Json& slice) {
  Json spec = FieldOf(slice, {"spec"});
  if (!spec.is_object()) spec = Json::object();
  if (spec.contains("pool") && spec["pool"].is_object()) spec["pool"].erase("generation");
  if (spec.contains("devices")) DropTimesOfTaints(spec["devices"]);
  return {{"name", FieldOf(slice, {"metadata", "name"})},
          {"owners", OwnersOf(slice)},
          {"spec", std::move(spec)}};
}

Dropped DroppedOf(const Json& sent, const Json& answer) {
  Dropped dropped;
  const Json& ours = ElementsOf(sent, {"spec", "devices"});
  const Json& theirs = ElementsOf(answer, {"spec", "devices"});
  for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    if (!theirs[i].is_object()) continue;
    const auto lacks = [&](const char* key) {
      return ours[i].contains(key) && !theirs[i].contains(key);
    };
    dropped.multiple_allocations |= lacks("allowMultipleAllocations");
    dropped.taints |= lacks("taints");
  }
  return dropped;
}

}  // namespace plimsoll::kube
