// kubeconfig files.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "check.h"
#include "kube/apiserver/server_address.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace kube = plimsoll::kube;
  const auto address = kube::ParseKubeconfig(std::string(Text(data, size)), "/d/config");
  if (!address.ok()) {
    CheckRefusal(address.status());
    FUZZ_CHECK(absl::StartsWith(address.status().message(), "/d/config:"),
               address.status().ToString());
    return 0;
  }
  FUZZ_CHECK(!address->host.empty() && address->port != 0, address->host);
  // They stand in a request's first lines.
  for (const char each : absl::StrCat(address->host, address->prefix)) {
    FUZZ_CHECK(each > ' ' && each < '\x7f', absl::StrCat(address->host, address->prefix));
  }
  FUZZ_CHECK(address->certificate.empty() == address->key.empty(), "half a pair");
  for (const auto* each :
       {&address->token, &address->authorities, &address->certificate, &address->key}) {
    FUZZ_CHECK(each->file.empty() || each->file[0] == '/', each->file);
  }
  return 0;
}
