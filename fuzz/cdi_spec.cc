// CDI specification files, as JSON and as YAML, and the names of devices.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cdi/names.h"
#include "cdi/spec.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace cdi = plimsoll::cdi;
  const absl::string_view text = Text(data, size);
  for (const cdi::SpecFormat format : {cdi::SpecFormat::kJson, cdi::SpecFormat::kYaml}) {
    cdi::Spec spec;
    const absl::Status status = cdi::ParseSpec(text, format, "input", &spec);
    if (!spec.kind.empty()) FUZZ_CHECK(cdi::CheckKind(spec.kind).ok(), spec.kind);
    if (!status.ok()) {
      CheckRefusal(status);
      FUZZ_CHECK(absl::StartsWith(status.message(), "input: "), status.ToString());
      continue;
    }
    FUZZ_CHECK(!spec.devices.empty(), "a file without devices");
    for (const auto& [name, edits] : spec.devices) {
      const std::string full = absl::StrCat(spec.kind, "=", name);
      FUZZ_CHECK(cdi::ParseDeviceName(full).ok(), full);
      FUZZ_CHECK(!edits.empty(), full);
      for (const cdi::DeviceNode& node : edits.device_nodes) {
        FUZZ_CHECK(absl::StartsWith(node.path, "/"), node.path);
      }
      for (const std::string& variable : edits.env) {
        FUZZ_CHECK(variable.find('=') != std::string::npos, variable);
      }
    }
  }
  const auto names = cdi::DevicesInAnnotations({{"cdi.k8s.io/x", std::string(text)}});
  if (!names.ok()) CheckRefusal(names.status());
  return 0;
}
