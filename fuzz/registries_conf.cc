// registries.conf, and its resolution of a short name. The first line is the name.
#include "absl/strings/str_cat.h"
#include "check.h"
#include "image/names/short_names.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace image = plimsoll::image;
  const absl::string_view text = Text(data, size);
  const size_t end = text.find('\n');
  const absl::string_view name = text.substr(0, end);
  image::ShortNameConfig config;
  const absl::Status added = image::AddShortNames(
      end == absl::string_view::npos ? absl::string_view() : text.substr(end + 1), "input",
      &config);
  if (!added.ok()) return CheckRefusal(added), 0;
  if (!image::IsShortName(name)) return 0;
  const auto candidates = image::ShortNameCandidates(config, name);
  if (!candidates.ok()) return CheckRefusal(candidates.status()), 0;
  FUZZ_CHECK(!candidates->empty(), "none");
  // skopeo gets each as an argument.
  for (const image::Reference& each : *candidates) {
    const auto again = image::ParseReference(each.Canonical());
    FUZZ_CHECK(again.ok(), each.Canonical());
    FUZZ_CHECK(!image::IsShortName(each.Canonical()), each.Canonical());
  }
  return 0;
}
