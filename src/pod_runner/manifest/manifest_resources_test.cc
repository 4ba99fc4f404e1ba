#include "pod_runner/manifest/manifest_resources.h"

#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "pod_runner/cri_requests/to_cri.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `spec`: further fields, each with a comma behind it.
std::string PodAsking(const std::string& resources, const std::string& spec = "") {
  return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {", spec,
                      "containers: [{name: c, image: i, resources: ", resources, "}]}}");
}

Manifest Parsed(const std::string& text, ManifestOrigin origin = ManifestOrigin::kUser) {
  const auto pods = ParseManifests(text, "f", origin);
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods.ok() ? pods->front() : Manifest();
}

std::string FaultIn(const std::string& text) {
  return std::string(ParseManifests(text, "f").status().message());
}

// KEP-4112: "unmodified requests and limits".
TEST(ManifestResources, EphemeralStorageIsPassedDownAsWritten) {
  const Manifest pod = Parsed(
      PodAsking("{requests: {ephemeral-storage: 1.5Gi}, limits: {ephemeral-storage: 4096Mi}}"));
  const auto configs = ToCri(pod, {});
  ASSERT_TRUE(configs.ok()) << configs.status();
  for (const auto& sent : {configs->containers[0].kubernetes_resources(),
                           configs->sandbox.pod_resources().containers(0).kubernetes_resources(),
                           WrittenToCri(pod, 0)}) {
    EXPECT_EQ(sent.requests().at("ephemeral-storage").string(), "1.5Gi");
    EXPECT_EQ(sent.limits().at("ephemeral-storage").string(), "4096Mi");
  }
  EXPECT_THAT(pod.notes, ElementsAre(HasSubstr("limits.ephemeral-storage: not enforced: ")));
  EXPECT_THAT(Parsed(PodAsking("{requests: {ephemeral-storage: 1Gi}}")).notes, IsEmpty());
}

TEST(ManifestResources, EphemeralStorageIsChecked) {
  EXPECT_THAT(
      FaultIn(PodAsking("{requests: {ephemeral-storage: 2Gi}, limits: {ephemeral-storage: 1Gi}}")),
      HasSubstr("ephemeral-storage: the request 2Gi is above the limit 1Gi"));
  EXPECT_THAT(FaultIn(PodAsking("{requests: {ephemeral-storage: much}}")),
              HasSubstr("requests.ephemeral-storage: "));
  EXPECT_THAT(FaultIn(PodAsking("{requests: {ephemeral-storag: 1Gi}}")),
              HasSubstr("did you mean \"ephemeral-storage\"?"));
}

TEST(ManifestResources, ThePodsOwnEphemeralStorageIsIgnored) {
  const Manifest pod =
      Parsed(PodAsking("{}", "resources: {requests: {ephemeral-storage: 1Gi, cpu: 1}}, "));
  EXPECT_EQ(pod.resources->requests.size(), 1u);
  EXPECT_THAT(pod.notes, ElementsAre(HasSubstr("ephemeral-storage is of containers only")));
  EXPECT_FALSE(
      Parsed(PodAsking("{}", "resources: {requests: {ephemeral-storage: 1Gi}}, ")).resources)
      << "nothing is left";
}

// Older versions took any value.
TEST(ManifestResources, OddAmountsOnRecordCountForNothing) {
  for (const char* odd :
       {"{requests: {ephemeral-storage: much, cpu: 1}}",
        "{requests: {ephemeral-storage: [1], cpu: 1}}",
        "{requests: {ephemeral-storage: 2Gi, cpu: 1}, limits: {ephemeral-storage: 1Gi}}",
        "{requests: {ephemeral-storage: -1, cpu: 1}}"}) {
    EXPECT_FALSE(ParseManifests(PodAsking(odd), "f").ok()) << odd;
    const Manifest pod = Parsed(PodAsking(odd), ManifestOrigin::kRecord);
    ASSERT_EQ(pod.containers.size(), 1u) << odd;
    EXPECT_EQ(pod.containers[0].resources.requests.size(), 1u) << odd;
    EXPECT_THAT(pod.containers[0].resources.limits, IsEmpty()) << odd;
  }
  const Manifest good =
      Parsed(PodAsking("{requests: {ephemeral-storage: 1Gi}}"), ManifestOrigin::kRecord);
  EXPECT_EQ(good.containers[0].resources.requests.size(), 1u);
}

}  // namespace
}  // namespace plimsoll::pod
