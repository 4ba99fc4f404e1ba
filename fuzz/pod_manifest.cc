// Pod manifests as `plimsoll run` and plimsoll-agent read them, and their objects on record.
#include "absl/strings/match.h"
#include "check.h"
#include "pod_runner/manifest/classes.h"
#include "pod_runner/manifest/manifest_objects.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  const auto pods = plimsoll::pod::ParsePodObjects(Text(data, size), "input.yaml");
  if (!pods.ok()) {
    CheckRefusal(pods.status());
    // Errors must say where in the file.
    FUZZ_CHECK(absl::StartsWith(pods.status().message(), "input.yaml"), pods.status().ToString());
    return 0;
  }
  for (const auto& [object, pod] : *pods) {
    const auto on_record = plimsoll::pod::PodOnRecord(object, "pod");
    FUZZ_CHECK(on_record.ok(), on_record.status().ToString());
    FUZZ_CHECK(on_record->object == object, object.dump());
    FUZZ_CHECK(plimsoll::pod::IsDnsName(pod.name, /*dots=*/true), pod.name);
    FUZZ_CHECK(plimsoll::pod::IsDnsName(pod.pod_namespace, /*dots=*/false), pod.pod_namespace);
    FUZZ_CHECK(!pod.containers.empty(), pod.name);
    for (const auto& container : pod.containers) {
      FUZZ_CHECK(plimsoll::pod::IsDnsName(container.name, /*dots=*/false), container.name);
      FUZZ_CHECK(!container.image.empty() && !container.pull_policy.empty(), container.name);
      for (const auto& [type, name] : container.classes) {
        FUZZ_CHECK(plimsoll::pod::IsClassTypeName(type), type);
        FUZZ_CHECK(plimsoll::pod::IsClassName(name), name);
      }
    }
  }
  return 0;
}
