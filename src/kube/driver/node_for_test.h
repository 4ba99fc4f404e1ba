// For tests: a node's report, and claims that are allocated from its classes.
#ifndef PLIMSOLL_KUBE_DRIVER_NODE_FOR_TEST_H_
#define PLIMSOLL_KUBE_DRIVER_NODE_FOR_TEST_H_

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kube/driver/claim_allocation.h"
#include "kube/link/runtime_link.h"

namespace plimsoll::kube {

inline constexpr char kNodeForTest[] = "n1";

// rdt: gold (two holders at most) and bronze, the default; of pods: lane fast and slow.
inline NodeReport ReportForTest() {
  NodeReport report;
  NodeClassType rdt;
  rdt.name = "rdt";
  rdt.default_class = "bronze";
  rdt.classes = {{"gold", 2, 1, "L3 0=0xff0", {}}, {"bronze", 0, 0, "", {}}};
  NodeClassType lane;
  lane.name = "lane";
  lane.level = qos::Level::kPod;
  lane.immutable = true;
  lane.classes = {{"fast", 0, 0, "", {}}, {"slow", 0, 0, "", {}}};
  report.types = {rdt, lane};
  return report;
}

inline ClaimRef ClaimForTest(const std::string& uid = "u1") {
  return {"default", "claim-" + uid, uid};
}

// The ResourceClaim's object. `devices`: request and device of each result.
inline nlohmann::json ClaimObject(const ClaimRef& claim,
                                  const std::vector<std::pair<std::string, std::string>>& devices,
                                  const std::vector<std::string>& pods = {"pod-1"}) {
  nlohmann::json object = {
      {"apiVersion", "resource.k8s.io/v1"},
      {"kind", "ResourceClaim"},
      {"metadata",
       {{"name", claim.name}, {"namespace", claim.claim_namespace}, {"uid", claim.uid}}}};
  nlohmann::json& results = object["status"]["allocation"]["devices"]["results"];
  results = nlohmann::json::array();
  for (const auto& [request, device] : devices) {
    results.push_back({{"request", request},
                       {"driver", "classes.plimsoll.dev"},
                       {"pool", kNodeForTest},
                       {"device", device}});
  }
  for (const std::string& pod : pods) {
    object["status"]["reservedFor"].push_back(
        {{"resource", "pods"}, {"name", "name-of-" + pod}, {"uid", pod}});
  }
  return object;
}

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_NODE_FOR_TEST_H_
