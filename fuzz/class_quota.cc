// ResourceQuotas of QoS classes, as plimsoll-agent reads them beside Secrets.
#include "agent/pods/classes/class_quota.h"

#include "check.h"
#include "pod_runner/manifest/classes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  const auto quotas = plimsoll::agent::ParseClassQuotas(Text(data, size), "input.yaml");
  if (!quotas.ok()) {
    CheckRefusal(quotas.status());
    return 0;
  }
  for (const auto& quota : *quotas) {
    FUZZ_CHECK(!quota.key.name.empty(), quota.key.pod_namespace);
    for (const auto* level : {&quota.pod, &quota.container}) {
      if (!*level) continue;
      for (const auto& [type, classes] : **level) {
        FUZZ_CHECK(plimsoll::pod::IsClassTypeName(type), type);
        for (const auto& [name, places] : classes) {
          FUZZ_CHECK(plimsoll::pod::IsClassName(name), name);
        }
      }
    }
    // The object has the same lists.
    const auto object = plimsoll::agent::QuotaObject(quota, {});
    FUZZ_CHECK(object["spec"].contains("podClassResources") == quota.pod.has_value(),
               object.dump());
  }
  return 0;
}
