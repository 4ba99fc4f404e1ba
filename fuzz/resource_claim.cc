// Objects of an API server: ResourceClaims as the DRA driver reads them, and its ResourceSlices as
// others left them.
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "check.h"
#include "kube/apiserver/json_fields.h"
#include "kube/driver/claim_allocation.h"
#include "kube/driver/slices.h"

namespace {

using namespace plimsoll::fuzz;
using namespace plimsoll::kube;
using Json = nlohmann::json;

void ReadClaim(const Json& object) {
  const auto allocation = ReadAllocation(object, {"default", "c", "u1"}, "n1");
  if (!allocation.ok()) return CheckRefusal(allocation.status());
  FUZZ_CHECK(!allocation->devices.empty(), object.dump());
  for (const AllocatedDevice& each : allocation->devices) {
    FUZZ_CHECK(!each.device.empty() && !absl::StrContains(each.request, '/'), each.request);
  }
  for (const std::string& pod : allocation->pods) {
    FUZZ_CHECK(CheckClaimRef({"default", "c", pod}).ok(), pod);
  }
}

void ReadSlice(const Json& object) {
  const Json part = OwnPart(object);
  FUZZ_CHECK(part.is_object(), part.dump());
  FUZZ_CHECK(!DroppedOf(object, object).any(), object.dump());
  Json raised = object;
  const Json& pool = FieldOf(object, {"spec", "pool"});
  if (!pool.is_object()) return;
  SetGeneration(raised, GenerationOf(object) / 2 + 1);
  FUZZ_CHECK(OwnPart(raised) == part, raised.dump());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Json object = Json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) return 0;
  ReadClaim(object);
  ReadSlice(object);
  return 0;
}
