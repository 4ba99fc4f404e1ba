// Manifests on record, which an older version may have taken.
#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "pod_runner/cri_requests/to_cri.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {
namespace {

using ::testing::HasSubstr;

std::string PodWith(const std::string& annotations, const std::string& spec,
                    const std::string& container) {
  return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {", annotations,
                      "}}, spec: {", spec, "containers: [{", container, "name: c, image: i}]}}");
}

std::string WithProfile(const std::string& path) {
  return PodWith("", "",
                 absl::StrCat("securityContext: {seccompProfile: {type: Localhost, "
                              "localhostProfile: ",
                              path, "}}, "));
}

absl::StatusOr<std::vector<Manifest>> OnRecord(const std::string& text) {
  return ParseManifests(text, "f", ManifestOrigin::kRecord);
}

::runtime::v1::SecurityProfile SeccompOf(const std::string& text) {
  const auto pods = OnRecord(text);
  EXPECT_TRUE(pods.ok()) << pods.status();
  if (!pods.ok()) return {};
  return ToCri(pods->front(), {})->containers[0].linux().security_context().seccomp();
}

TEST(ManifestOnRecord, AnAbsoluteSeccompProfileIsUsedAsItIs) {
  EXPECT_FALSE(ParseManifests(WithProfile("/etc/a.json"), "f").ok());
  EXPECT_EQ(SeccompOf(WithProfile("/etc/a.json")).localhost_ref(), "/etc/a.json");
  EXPECT_EQ(SeccompOf(WithProfile("a.json")).localhost_ref(), "/var/lib/kubelet/seccomp/a.json");
  EXPECT_THAT(std::string(OnRecord(WithProfile("a/../../b.json")).status().message()),
              HasSubstr("must be relative to the root of seccomp profiles and without \"..\""));
}

TEST(ManifestOnRecord, MountsMayLieTogetherAndPropagateWithoutPrivilege) {
  const std::string pod =
      PodWith("", "volumes: [{name: v, emptyDir: {}}], ",
              "volumeMounts: [{name: v, mountPath: /v}, {name: v, mountPath: /v, "
              "mountPropagation: Bidirectional}], ");
  EXPECT_FALSE(ParseManifests(pod, "f").ok());
  EXPECT_TRUE(OnRecord(pod).ok()) << OnRecord(pod).status();
}

TEST(ManifestOnRecord, AnnotationsOfKubernetesFailNoPod) {
  const std::string domain = "container.seccomp.security.alpha.kubernetes.io/";
  for (const std::string& annotation :
       {std::string("security.alpha.kubernetes.io/sysctls: a=b"),
        std::string("pod.beta.kubernetes.io/init-containers: x"), domain + "c: localhost/../a",
        domain + "c: what", domain + "none: unconfined", domain + "c: unconfined"}) {
    const std::string pod =
        PodWith(annotation, "", "securityContext: {seccompProfile: {type: RuntimeDefault}}, ");
    EXPECT_FALSE(ParseManifests(pod, "f").ok()) << annotation;
    EXPECT_EQ(SeccompOf(pod).profile_type(), ::runtime::v1::SecurityProfile::RuntimeDefault)
        << annotation;
  }
  EXPECT_EQ(SeccompOf(PodWith(domain + "c: localhost/a.json", "", "")).localhost_ref(),
            "/var/lib/kubelet/seccomp/a.json")
      << "a profile that was taken as an annotation stays";
}

TEST(ManifestOnRecord, OtherRulesHold) {
  EXPECT_THAT(
      std::string(OnRecord(PodWith("", "volumes: [{name: v, hostPath: {path: /a/../b}}], ", ""))
                      .status()
                      .message()),
      HasSubstr("spec.volumes[0].hostPath.path: must be without \"..\""));
  EXPECT_FALSE(OnRecord(PodWith("plimsoll.dev/cpuset: x", "", "")).ok());
  EXPECT_FALSE(OnRecord(PodWith("", "none: 1, ", "")).ok());
}

}  // namespace
}  // namespace plimsoll::pod
