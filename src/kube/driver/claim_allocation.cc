#include "kube/driver/claim_allocation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "kube/apiserver/json_fields.h"
#include "qos/class_devices.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

// The API's own limits are 32 results and 256 consumers (k8s.io/api/resource/v1).
constexpr size_t kMaxResults = 128;
constexpr size_t kMaxConsumers = 1024;
constexpr size_t kMaxNameBytes = 253;
constexpr size_t kMaxUidBytes = 128;

// Names of objects, and uids: no "/", no "%", no "..".
bool IsPathWord(absl::string_view text, size_t longest) {
  const auto is_plain = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_isalnum(byte) || c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= longest && text.front() != '.' && text.back() != '.' &&
         std::all_of(text.begin(), text.end(), is_plain);
}

absl::Status CheckText(absl::string_view what, absl::string_view text, bool needed) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  if ((!needed || !text.empty()) && plain && text.size() <= 2 * kMaxNameBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("status.allocation.devices.results: ", what, " is ", Quoted(text),
                   "; expected printable text of at most ", 2 * kMaxNameBytes, " bytes"));
}

absl::StatusOr<AllocatedDevice> DeviceOfResult(const Json& result, const std::string& node) {
  const std::string pool = TextOf(result, "pool");
  if (pool != node) {
    return absl::FailedPreconditionError(
        absl::StrCat("is allocated from pool ", Quoted(pool), "; this node's pool is \"", node,
                     "\": its pod was bound to a node past the scheduler"));
  }
  AllocatedDevice device{TextOf(result, "request"), TextOf(result, "device"),
                         TextOf(result, "shareID")};
  if (FieldOf(result, {"adminAccess"}) == true) {
    return absl::FailedPreconditionError(
        absl::StrCat("request ", Quoted(device.request),
                     " has adminAccess, which means nothing for a class: ask without it"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckText("request", device.request, true));
  PLIMSOLL_RETURN_IF_ERROR(CheckText("device", device.device, true));
  PLIMSOLL_RETURN_IF_ERROR(CheckText("shareID", device.share_id, false));
  // A request with alternatives is "request/alternative" here; containers name the request.
  device.request = device.request.substr(0, device.request.find('/'));
  return device;
}

absl::Status ReadConsumers(const Json& object, Allocation& allocation) {
  const Json& consumers = ElementsOf(object, {"status", "reservedFor"});
  if (consumers.size() > kMaxConsumers) {
    return absl::InvalidArgumentError(absl::StrCat("status.reservedFor has ", consumers.size(),
                                                   " entries; at most ", kMaxConsumers));
  }
  for (const Json& each : consumers) {
    const std::string uid = TextOf(each, "uid");
    if (TextOf(each, "apiGroup").empty() && TextOf(each, "resource") == "pods" &&
        IsPathWord(uid, kMaxUidBytes)) {
      allocation.pods.push_back(uid);
    } else {
      allocation.other_consumers = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string Display(const ClaimRef& claim) {
  return absl::StrCat("claim ", absl::CHexEscape(claim.claim_namespace), "/",
                      absl::CHexEscape(claim.name), " (uid ", absl::CHexEscape(claim.uid), ")");
}

absl::Status CheckClaimRef(const ClaimRef& claim) {
  const std::pair<const char*, const std::string*> words[] = {
      {"namespace", &claim.claim_namespace}, {"name", &claim.name}, {"uid", &claim.uid}};
  for (const auto& [what, text] : words) {
    if (IsPathWord(*text, kMaxNameBytes)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a claim's ", what, " is ", Quoted(*text),
                     "; expected letters, digits, \"-\" and \".\", at most ", kMaxNameBytes));
  }
  return absl::OkStatus();
}

std::string PathOf(const ClaimRef& claim) {
  return absl::StrCat("/apis/resource.k8s.io/v1/namespaces/", claim.claim_namespace,
                      "/resourceclaims/", claim.name);
}

absl::StatusOr<Allocation> ReadAllocation(const Json& object, const ClaimRef& claim,
                                          const std::string& node) {
  const std::string uid = TextOf(object, {"metadata", "uid"});
  if (uid != claim.uid) {
    return absl::FailedPreconditionError(
        absl::StrCat("the claim of this name has uid ", Quoted(uid),
                     " now: the one that kubelet means was deleted, and another made"));
  }
  if (!FieldOf(object, {"status", "allocation"}).is_object()) {
    return absl::FailedPreconditionError(
        "is not allocated: the scheduler allocates it before its pod is bound");
  }
  const Json& results = ElementsOf(object, {"status", "allocation", "devices", "results"});
  if (results.size() > kMaxResults) {
    return absl::InvalidArgumentError(absl::StrCat("status.allocation.devices.results has ",
                                                   results.size(), " entries; at most ",
                                                   kMaxResults));
  }
  Allocation allocation;
  for (const Json& each : results) {
    if (TextOf(each, "driver") != qos::kClassDriver) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(AllocatedDevice device, DeviceOfResult(each, node));
    allocation.devices.push_back(std::move(device));
  }
  if (allocation.devices.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("is allocated without a device of driver ", qos::kClassDriver));
  }
  PLIMSOLL_RETURN_IF_ERROR(ReadConsumers(object, allocation));
  return allocation;
}

}  // namespace plimsoll::kube
