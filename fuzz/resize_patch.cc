// The body of a resize, put over a pod: it is refused, or changes what a living pod takes.
#include "agent/pods/resizing/resize_patch.h"

#include <nlohmann/json.hpp>

#include "agent/pods/records/pod_change.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  using Json = nlohmann::json;
  namespace agent = plimsoll::agent;
  // The API parses the body so.
  const Json patch = Json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
  if (!patch.is_object()) return 0;
  static const auto* const kPod = new Json(Json::parse(R"({"metadata": {"name": "p"}, "spec": {
      "containers": [{"name": "a", "image": "i"},
                     {"name": "b", "resources": {"requests": {"cpu": "1"}, "limits": {}}}],
      "initContainers": [{"name": "s", "restartPolicy": "Always"}]}})"));
  const auto resized = agent::ResizedObject(*kPod, patch);
  if (!resized.ok()) {
    CheckRefusal(resized.status());
    return 0;
  }
  const agent::PodChange change = agent::ChangeOf(*kPod, *resized);
  FUZZ_CHECK(change.fixed.empty(), change.fixed + " of " + resized->dump());
  return 0;
}
