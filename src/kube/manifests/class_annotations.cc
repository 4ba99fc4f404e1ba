#include "kube/manifests/class_annotations.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kube/manifests/text.h"

namespace plimsoll::kube {
namespace {

constexpr absl::string_view kOurs = ".class.plimsoll.dev/";

std::string With(absl::string_view expression, absl::string_view key) {
  return absl::StrReplaceAll(expression, {{"KEY", key}});
}

}  // namespace

std::string IsClassKey(absl::string_view key) {
  return With(
      "KEY.matches('^((rdt|blockio)[.]resources[.](beta|alpha)[.]kubernetes[.]io|"
      "[^/]+[.]class[.]plimsoll[.]dev)/')",
      key);
}

std::string HasKnownPlace(absl::string_view key) {
  return With(
      "KEY.matches('^(([^/]+[.]class[.]plimsoll[.]dev/(default|sandbox|container[.].+))|"
      "([^/]+[.]beta[.]kubernetes[.]io/(pod|container[.].+))|"
      "([^/]+[.]alpha[.]kubernetes[.]io/(default|container[.].+)))$')",
      key);
}

std::string TypeOfKey(absl::string_view key) {
  return With(
      "(KEY.contains('.class.plimsoll.dev/') "
      "? KEY.substring(0, KEY.lastIndexOf('.class.plimsoll.dev/')) "
      ": KEY.substring(0, KEY.indexOf('.')))",
      key);
}

std::vector<std::string> ContainerKeysInCel(absl::string_view type, absl::string_view name) {
  std::vector<std::string> keys;
  const auto of_container = [&](absl::string_view prefix) {
    keys.push_back(absl::StrCat(CelString(absl::StrCat(prefix, "container.")), " + ", name));
  };
  if (type == "rdt" || type == "blockio") {
    const std::string beta = absl::StrCat(type, ".resources.beta.kubernetes.io/");
    const std::string alpha = absl::StrCat(type, ".resources.alpha.kubernetes.io/");
    of_container(beta);
    of_container(alpha);
    keys.push_back(CelString(absl::StrCat(beta, "pod")));
    keys.push_back(CelString(absl::StrCat(alpha, "default")));
  }
  const std::string ours = absl::StrCat(type, kOurs);
  of_container(ours);
  keys.push_back(CelString(absl::StrCat(ours, "default")));
  return keys;
}

std::string PodKey(absl::string_view type) {
  return absl::StrCat(type, kOurs, "sandbox");
}

bool CanBeInKey(absl::string_view type) {
  // The part of a key before the slash is a DNS name, in any case.
  return absl::c_all_of(type, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.';
  });
}

}  // namespace plimsoll::kube
