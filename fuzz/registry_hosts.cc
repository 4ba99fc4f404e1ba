// hosts.toml of containerd, and its translation for skopeo.
#include "image/registry/registry_hosts.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "check.h"

namespace {

namespace image = plimsoll::image;

// Each is written into a file of registries.conf without quoting.
void CheckHost(const image::RegistryHost& host) {
  const std::string location = host.Location();
  FUZZ_CHECK(location.find_first_of("\"\\\n") == std::string::npos, location);
  if (location.empty()) return;
  const auto again = image::ParseReference(absl::StrCat(location, "/x"));
  FUZZ_CHECK(again.ok() && again->registry == host.host, location);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  const auto hosts = image::ParseRegistryHosts(Text(data, size), "/d", "a.example:5000");
  if (!hosts.ok()) return CheckRefusal(hosts.status()), 0;
  CheckHost(hosts->server);
  FUZZ_CHECK(!hosts->server.Location().empty(), "the server needs a relay");
  for (const image::RegistryHost& mirror : hosts->mirrors) CheckHost(mirror);
  return 0;
}
