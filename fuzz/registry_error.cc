// skopeo's messages for failed pulls, which quote the registry: its JSON errors, its answers to
// logins.
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "check.h"
#include "image/skopeo_errors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace image = plimsoll::image;
  image::Credentials secrets;
  secrets.username = "stoker";
  secrets.password = "coal-4-all";
  secrets.identity_token = "refresh-me";
  const absl::Status status =
      image::TranslateSkopeoError(Text(data, size), "registry.example/team/app:1", secrets);
  FUZZ_CHECK(!status.ok(), "a failure became a success");
  const std::string message(status.message());
  FUZZ_CHECK(absl::StartsWith(message, "pull registry.example/team/app:1: "), message);
  FUZZ_CHECK(message.size() <= 4096, absl::StrCat(message.size(), " bytes"));
  const std::string basic =
      absl::Base64Escape(absl::StrCat(secrets.username, ":", secrets.password));
  for (const std::string& secret : {secrets.password, secrets.identity_token, basic}) {
    FUZZ_CHECK(!absl::StrContains(message, secret), message);
  }
  return 0;
}
