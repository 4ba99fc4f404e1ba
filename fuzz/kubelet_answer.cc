// kubelet's answers: a pod by its Pods service, and grants by PodResources.
#include <string>

#include "check.h"
#include "kubelet/combine.h"
#include "kubelet/podresources/v1/api.pb.h"
#include "kubelet/pods/v1alpha1/api.pb.h"
#include "kubelet/read_grants.h"
#include "kubelet/read_pod.h"
#include "resources/cpu_set.h"

namespace plimsoll::fuzz {
namespace {

const runtime::PodIdentity kPod = {"u", "p", "n"};

// The input is a Pod: the answer around it is right.
absl::StatusOr<kubelet::ToldPod> CheckPod(absl::string_view pod) {
  ::v1alpha1::GetPodResponse response;
  response.set_pod(std::string(pod));
  auto told = kubelet::ReadPod(response.SerializeAsString(), kPod);
  if (!told.ok()) {
    CheckRefusal(told.status());
    return told;
  }
  const absl::Status valid = runtime::Validate(told->resources, "pod");
  FUZZ_CHECK(valid.ok(), valid.ToString());
  FUZZ_CHECK(!told->resources.empty(), "a pod without containers");
  return told;
}

absl::StatusOr<kubelet::ToldGrants> CheckGrants(absl::string_view answer) {
  auto told = kubelet::ReadGrants(answer, kPod);
  if (!told.ok()) {
    CheckRefusal(told.status());
    return told;
  }
  for (const auto& [name, grants] : *told) {
    FUZZ_CHECK(resources::CpuSet::Parse(grants.exclusive_cpus).ok(), grants.exclusive_cpus);
  }
  return told;
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  const absl::string_view bytes = Text(data, size);
  const auto whole = plimsoll::kubelet::ReadPod(bytes, kPod);
  if (!whole.ok()) CheckRefusal(whole.status());
  const auto all = plimsoll::kubelet::ReadAllGrants(bytes);
  if (!all.ok()) CheckRefusal(all.status());
  const auto totals = plimsoll::kubelet::ReadDeviceTotals(bytes);
  if (!totals.ok()) CheckRefusal(totals.status());
  const auto pod = CheckPod(bytes);
  const auto grants = CheckGrants(bytes);
  const auto facts = plimsoll::kubelet::Combine(pod, grants);
  FUZZ_CHECK(facts.ok() == (pod.ok() || grants.ok()), facts.status().ToString());
  FUZZ_CHECK(!facts.ok() || !facts->missing.empty(), "mounts are never known");
  return 0;
}
