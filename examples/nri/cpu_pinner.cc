#include "cpu_pinner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "configuration.h"
#include "resources/quantity.h"

namespace plimsoll::examples {
namespace {

using resources::CpuSet;

absl::StatusOr<CpuSet> ParseCpus(const char* key, const std::string& text) {
  const auto cpus = CpuSet::Parse(text);
  if (!cpus.ok()) return Annotate(cpus.status(), absl::StrCat("configuration: ", key));
  return cpus;
}

api::CreateContainerResponse RunOn(const CpuSet& cpus) {
  api::CreateContainerResponse response;
  response.mutable_adjust()->mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus(
      cpus.ToString());
  return response;
}

}  // namespace

int64_t WholeCpus(const api::Container& container) {
  const auto& requests = container.kubernetes_resources().requests();
  const auto cpu = requests.find("cpu");
  if (cpu == requests.end()) return 0;
  const auto quantity = resources::Quantity::Parse(cpu->second.string());
  if (!quantity.ok() || quantity->Sign() <= 0) return 0;
  const bool is_whole = *quantity == resources::Quantity::FromInt(quantity->Value());
  return is_whole ? quantity->Value() : 0;
}

absl::Status CpuPinner::Configure(const api::ConfigureRequest& request) {
  std::string cpus;
  std::string shared;
  PLIMSOLL_RETURN_IF_ERROR(
      ReadConfiguration(request.config(), [&](YamlReader& reader, YamlMapping& configuration) {
        for (const auto& [key, text] : {std::pair("cpus", &cpus), std::pair("shared", &shared)}) {
          // "3" is a number to YAML.
          if (const auto node = configuration.Get(key)) {
            *text = reader.AsText(*node, key).value_or("");
          }
        }
      }));
  PLIMSOLL_ASSIGN_OR_RETURN(pool_, ParseCpus("cpus", cpus));
  PLIMSOLL_ASSIGN_OR_RETURN(shared_, ParseCpus("shared", shared));
  if (pool_.Empty()) {
    return absl::InvalidArgumentError(
        "configuration: cpus is missing: the CPUs to hand out, as \"2-7\"");
  }
  const CpuSet both = pool_.Intersection(shared_);
  if (both.Empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("configuration: CPUs ", both.ToString(), " are in cpus and in shared"));
}

absl::StatusOr<std::vector<api::ContainerUpdate>> CpuPinner::Synchronize(
    const std::vector<api::PodSandbox>&, const std::vector<api::Container>& containers) {
  pinned_.clear();
  for (const api::Container& container : containers) {
    if (container.state() == api::CONTAINER_STOPPED) continue;
    const int64_t whole = WholeCpus(container);
    const auto cpus = CpuSet::Parse(container.linux().resources().cpu().cpus());
    const bool is_ours = whole > 0 && cpus.ok() && cpus->IsSubsetOf(pool_) &&
                         cpus->Size() == static_cast<size_t>(whole);
    if (is_ours) pinned_[container.id()] = *cpus;
  }
  return std::vector<api::ContainerUpdate>();
}

absl::StatusOr<api::CreateContainerResponse> CpuPinner::CreateContainer(
    const api::CreateContainerRequest& request) {
  const api::Container& container = request.container();
  pinned_.erase(container.id());
  const int64_t whole = WholeCpus(container);
  if (whole == 0) return shared_.Empty() ? api::CreateContainerResponse() : RunOn(shared_);
  const CpuSet free = Free();
  if (whole > static_cast<int64_t>(free.Size())) {
    return absl::ResourceExhaustedError(
        absl::StrCat("container ", request.pod().namespace_(), "/", request.pod().name(), "/",
                     container.name(), " asks for ", whole, " CPUs of its own; of ",
                     pool_.ToString(), ", free are ", free.Empty() ? "none" : free.ToString()));
  }
  CpuSet cpus;
  for (const uint32_t cpu : free.ToVector()) {
    if (static_cast<int64_t>(cpus.Size()) < whole) cpus.Add(cpu);
  }
  pinned_[container.id()] = cpus;
  return RunOn(cpus);
}

absl::StatusOr<api::StopContainerResponse> CpuPinner::StopContainer(
    const api::StopContainerRequest& request) {
  pinned_.erase(request.container().id());
  return api::StopContainerResponse();
}

absl::StatusOr<api::RemoveContainerResponse> CpuPinner::RemoveContainer(
    const api::RemoveContainerRequest& request) {
  pinned_.erase(request.container().id());
  return api::RemoveContainerResponse();
}

CpuSet CpuPinner::Free() const {
  CpuSet free = pool_;
  for (const auto& [container, cpus] : pinned_) free = free.Difference(cpus);
  return free;
}

}  // namespace plimsoll::examples
