#include "kubelet/read_pod.h"

#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "k8s.io/api/core/v1/generated.pb.h"
#include "kubelet/pods/v1alpha1/api.pb.h"
#include "protobuf/field_count.h"

namespace plimsoll::kubelet {
namespace {

namespace core = ::k8s::io::api::core::v1;
using Type = runtime::AnnouncedContainer::Type;
using QuantityMap =
    google::protobuf::Map<std::string, ::k8s::io::apimachinery::pkg::api::resource::Quantity>;

// A pod of the API server's largest size has fewer fields that are read here.
constexpr int kMostFields = 100'000;
constexpr size_t kMostShown = 100;

std::string Shown(const std::string& text) {
  return absl::StrCat("\"", Printable(text.substr(0, kMostShown)), "\"");
}

absl::Status CheckIs(absl::string_view member, const std::string& told, const std::string& asked) {
  if (told == asked) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("it is another pod's: its ", member, " is ",
                                                 Shown(told), ", asked was ", Shown(asked)));
}

std::map<std::string, std::string> ListFrom(const QuantityMap& told) {
  std::map<std::string, std::string> list;
  for (const auto& [name, quantity] : told) list[name] = quantity.string();
  return list;
}

runtime::KubernetesResources ResourcesFrom(bool is_there, const core::ResourceRequirements& told) {
  runtime::KubernetesResources resources;
  resources.requests = ListFrom(told.requests());
  resources.limits = ListFrom(told.limits());
  resources.is_given_empty = is_there && resources.empty();
  return resources;
}

// Kubernetes' own resources have no domain, or its own.
bool IsExtended(const std::string& resource) {
  return absl::StrContains(resource, '/') && !absl::StrContains(resource, "kubernetes.io/");
}

bool MayHaveDevices(const core::ResourceRequirements& resources) {
  const auto is_extended = [](const auto& entry) { return IsExtended(entry.first); };
  return !resources.claims().empty() || absl::c_any_of(resources.limits(), is_extended) ||
         absl::c_any_of(resources.requests(), is_extended);
}

void Add(const core::Container& told, Type type, ToldPod* pod) {
  runtime::AnnouncedContainer& container = pod->resources.containers.emplace_back();
  container.name = told.name();
  container.type = type;
  container.kubernetes_resources = ResourcesFrom(told.has_resources(), told.resources());
  if (type == Type::kInit && MayHaveDevices(told.resources())) {
    pod->untold_devices.insert(told.name());
  }
  pod->has_block_volumes = pod->has_block_volumes || !told.volumedevices().empty();
}

}  // namespace

absl::StatusOr<ToldPod> ReadPod(absl::string_view answer, const runtime::PodIdentity& pod) {
  ::v1alpha1::GetPodResponse response;
  PLIMSOLL_RETURN_IF_ERROR(ParseBounded(answer, kMostFields, &response));
  core::Pod told;
  PLIMSOLL_RETURN_IF_ERROR(ParseBounded(response.pod(), kMostFields, &told));
  PLIMSOLL_RETURN_IF_ERROR(CheckIs("uid", told.metadata().uid(), pod.uid));
  PLIMSOLL_RETURN_IF_ERROR(CheckIs("name", told.metadata().name(), pod.name));
  PLIMSOLL_RETURN_IF_ERROR(CheckIs("namespace", told.metadata().namespace_(), pod.pod_namespace));
  const core::PodSpec& spec = told.spec();
  if (spec.containers().empty()) {
    return absl::InvalidArgumentError("its pod has no container, and each pod has one");
  }
  ToldPod read;
  for (const core::Container& container : spec.initcontainers()) {
    Add(container, container.restartpolicy() == "Always" ? Type::kSidecar : Type::kInit, &read);
  }
  for (const core::Container& container : spec.containers())
    Add(container, Type::kContainer, &read);
  for (const core::EphemeralContainer& container : spec.ephemeralcontainers()) {
    runtime::AnnouncedContainer& added = read.resources.containers.emplace_back();
    added.name = container.ephemeralcontainercommon().name();
    added.type = Type::kContainer;
    read.ephemeral.push_back(added.name);
  }
  read.resources.kubernetes_resources = ResourcesFrom(spec.has_resources(), spec.resources());
  PLIMSOLL_RETURN_IF_ERROR(runtime::Validate(read.resources, "spec"));
  return read;
}

}  // namespace plimsoll::kubelet
