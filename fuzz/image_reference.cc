// Names of images, from users, manifests and archives.
#include "absl/strings/str_cat.h"
#include "check.h"
#include "image/names/reference.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  using plimsoll::image::ParseReference;
  const absl::string_view text = Text(data, size);
  const auto reference = ParseReference(text);
  if (!reference.ok()) {
    CheckRefusal(reference.status());
    return 0;
  }
  FUZZ_CHECK(!plimsoll::image::IsImageId(text), text);
  FUZZ_CHECK(!reference->registry.empty() && !reference->repository.empty(), text);
  FUZZ_CHECK(!reference->tag.empty() || !reference->digest.empty(), text);
  // The full forms name the same thing again.
  const auto canonical = ParseReference(reference->Canonical());
  FUZZ_CHECK(canonical.ok(), absl::StrCat(text, " -> ", reference->Canonical()));
  FUZZ_CHECK(canonical->Canonical() == reference->Canonical(), text);
  FUZZ_CHECK(canonical->Name() == reference->Name(), text);
  if (reference->digest.empty()) FUZZ_CHECK(*canonical == *reference, text);
  if (reference->tag.empty()) return 0;
  const auto tagged = ParseReference(reference->Tagged());
  FUZZ_CHECK(tagged.ok() && tagged->Tagged() == reference->Tagged(), text);
  return 0;
}
