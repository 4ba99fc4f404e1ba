// A pod's announced container resources (KEP-4112): as a message and as an annotation.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "check.h"
#include "cri/messages/translate_pod_resources.h"
#include "runtime/announcement/messages.h"
#include "runtime/requests/pod_picture.h"
#include "runtime/spec/json.h"

namespace plimsoll::fuzz {
namespace {

void CheckAnnounced(const ::runtime::v1::PodSandboxConfig& config) {
  std::vector<std::string> warnings;
  const auto announced = cri::PodResourcesOf(config, &warnings);
  if (!announced.ok()) {
    CheckRefusal(announced.status());
    return;
  }
  ::runtime::v1::PodResourceConfig told;
  runtime::FillPodResources(*announced, &told);
  const auto again = cri::PodResourcesFrom(told, "told", &warnings);
  FUZZ_CHECK(again.ok() && *again == *announced, again.status().ToString());

  runtime::SandboxSpec pod;
  pod.pod_resources = *announced;
  const runtime::PodPicture picture = runtime::MakePicture(pod, {});
  FUZZ_CHECK(picture.now == *announced, "the picture is another");
  FUZZ_CHECK(announced->empty() == (picture.is == runtime::PictureIs::kAbsent),
             runtime::PictureIsName(picture.is));
  const std::string shown = runtime::ToJson(picture);
  FUZZ_CHECK(nlohmann::json::parse(shown, nullptr, false).is_object(), shown);
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using plimsoll::fuzz::CheckAnnounced;
  ::runtime::v1::PodSandboxConfig by_message;
  if (by_message.mutable_pod_resources()->ParseFromArray(data, static_cast<int>(size))) {
    CheckAnnounced(by_message);
  }
  ::runtime::v1::PodSandboxConfig by_annotation;
  (*by_annotation.mutable_annotations())[plimsoll::cri::kPodResourcesAnnotation] =
      std::string(plimsoll::fuzz::Text(data, size));
  CheckAnnounced(by_annotation);
  return 0;
}
