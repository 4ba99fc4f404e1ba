#include "pod_runner/cri_requests/pod_level.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pod_runner/cri_requests/to_cri.h"

namespace plimsoll::pod {
namespace {

constexpr int64_t kMi = 1 << 20;

Manifest PodOf(const std::string& spec) {
  const auto pods = ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {", spec, "}}"), "f");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods.ok() ? pods->front() : Manifest();
}

std::string Limiting(const std::string& name, const std::string& limits,
                     const std::string& more = "") {
  return absl::StrCat("{name: ", name, ", image: i, ", more, "resources: {limits: {", limits,
                      "}}}");
}

// "quota period memory"; 0 is none.
std::string ToldOf(const std::string& spec, SandboxLimits limits,
                   std::map<std::string, ContainerPlace> places = {}) {
  PodContext context;
  context.sandbox_limits = limits;
  context.places = std::move(places);
  const auto configs = ToCri(PodOf(spec), context);
  EXPECT_TRUE(configs.ok()) << configs.status();
  if (!configs.ok()) return "";
  const auto& told = configs->sandbox.linux().resources();
  return absl::StrCat(told.cpu_quota(), " ", told.cpu_period(), " ", told.memory_limit_in_bytes());
}

// The same as kubelet's calculateSandboxResources.
TEST(PodLevel, ASandboxIsToldTheSumOfItsContainersLimits) {
  const std::string two = absl::StrCat("containers: [", Limiting("a", "cpu: 500m, memory: 64Mi"),
                                       ", ", Limiting("b", "cpu: 1, memory: 32Mi"), "]");
  const std::string sum = absl::StrCat("150000 100000 ", 96 * kMi);
  EXPECT_EQ(ToldOf(two, SandboxLimits::kSums), sum);
  EXPECT_EQ(ToldOf(two, SandboxLimits::kBounds), sum);
  EXPECT_EQ(ToldOf(two, SandboxLimits::kOwn), "0 0 0");
  // An init container runs beside the sidecars before it.
  const std::string starts =
      absl::StrCat("initContainers: [", Limiting("s", "memory: 10Mi", "restartPolicy: Always, "),
                   ", ", Limiting("i", "memory: 300Mi"), "], ", two);
  EXPECT_EQ(ToldOf(starts, SandboxLimits::kSums), absl::StrCat("150000 100000 ", 310 * kMi));
}

// kubelet sends it all the same; a group of the runtime's would hold "b" to the limit of "a".
TEST(PodLevel, AContainerWithoutALimitIsHeldToNoneOfItsSiblings) {
  const std::string one = absl::StrCat("containers: [", Limiting("a", "cpu: 1, memory: 64Mi"), ", ",
                                       Limiting("b", "cpu: 2, memory: 0"), "]");
  EXPECT_EQ(ToldOf(one, SandboxLimits::kSums), absl::StrCat("300000 100000 ", 64 * kMi));
  EXPECT_EQ(ToldOf(one, SandboxLimits::kBounds), "300000 100000 0");
  EXPECT_EQ(ToldOf("containers: [{name: a, image: i}]", SandboxLimits::kSums), "0 0 0");
}

TEST(PodLevel, ThePodsOwnLimitsStandBeforeTheSum) {
  const std::string own =
      absl::StrCat("resources: {limits: {cpu: 2}}, containers: [", Limiting("a", "memory: 64Mi"),
                   ", ", Limiting("b", "cpu: 500m"), "]");
  EXPECT_EQ(ToldOf(own, SandboxLimits::kSums), absl::StrCat("200000 100000 ", 64 * kMi));
  EXPECT_EQ(ToldOf(own, SandboxLimits::kBounds), "200000 100000 0");
  EXPECT_EQ(ToldOf(own, SandboxLimits::kOwn), "200000 100000 0");
}

TEST(PodLevel, ExclusiveCpusHaveNoQuota) {
  const std::string one = absl::StrCat("containers: [", Limiting("a", "cpu: 2, memory: 64Mi"), "]");
  ContainerPlace own;
  own.cpus = "2-3";
  own.exclusive = true;
  EXPECT_EQ(ToldOf(one, SandboxLimits::kSums, {{"a", own}}), absl::StrCat("-1 100000 ", 64 * kMi));
}

TEST(PodLevel, ASumThatTheKernelCantHoldIsNone) {
  const std::string huge = absl::StrCat("containers: [", Limiting("a", "memory: 7Ei"), ", ",
                                        Limiting("b", "memory: 7Ei"), "]");
  EXPECT_EQ(ToldOf(huge, SandboxLimits::kSums), "0 0 0");
}

}  // namespace
}  // namespace plimsoll::pod
