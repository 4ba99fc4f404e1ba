// The head of an HTTP message: what is read is written as it was read.
#include "image/registry/http_head.h"

#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace image = plimsoll::image;
  const auto head = image::ParseHttpHead(Text(data, size));
  if (!head.ok()) return CheckRefusal(head.status()), 0;
  const std::string text = head->ToString();
  const auto again = image::ParseHttpHead(absl::string_view(text).substr(0, text.size() - 4));
  FUZZ_CHECK(again.ok(), text);
  FUZZ_CHECK(again->first == head->first && again->fields == head->fields, text);
  return 0;
}
