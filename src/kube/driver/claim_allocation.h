// A ResourceClaim's allocation, as far as this driver and node are meant.
#ifndef PLIMSOLL_KUBE_DRIVER_CLAIM_ALLOCATION_H_
#define PLIMSOLL_KUBE_DRIVER_CLAIM_ALLOCATION_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::kube {

// A claim, named as kubelet names it.
struct ClaimRef {
  std::string claim_namespace;
  std::string name;
  std::string uid;
  bool operator==(const ClaimRef&) const = default;
};

// "claim default/c1 (uid 7)", for messages.
std::string Display(const ClaimRef& claim);
// INVALID_ARGUMENT: no such claim can exist, and its names must get into no path.
absl::Status CheckClaimRef(const ClaimRef& claim);
// The path of the claim's object.
std::string PathOf(const ClaimRef& claim);

struct AllocatedDevice {
  std::string request;  // of the claim's spec; of one with alternatives without the chosen one
  std::string device;
  std::string share_id;  // empty: not shared
  bool operator==(const AllocatedDevice&) const = default;
};

struct Allocation {
  std::vector<AllocatedDevice> devices;  // of this driver, at least one
  // Uids of pods that the claim is reserved for.
  std::vector<std::string> pods;
  bool other_consumers = false;  // it is reserved for objects other than pods, too
};

// FAILED_PRECONDITION: the object is another claim of the name, isn't allocated, is allocated from
// another node's devices, for administrative access, or has no device of this driver.
// INVALID_ARGUMENT: it isn't a ResourceClaim as the API has them. Messages don't name the claim.
absl::StatusOr<Allocation> ReadAllocation(const nlohmann::json& object, const ClaimRef& claim,
                                          const std::string& node);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_CLAIM_ALLOCATION_H_
