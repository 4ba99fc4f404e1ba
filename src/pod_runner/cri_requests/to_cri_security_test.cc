// Namespaces, privilege and the profiles of security modules in what ToCri makes.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pod_runner/cri_requests/to_cri_for_test.h"

namespace plimsoll::pod {
namespace {

using ::testing::HasSubstr;

TEST(PodToCri, SelinuxOptionsAreThePodsOrTheContainers) {
  const auto configs = ToCri(ParsePod(R"yaml(apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  securityContext: {seLinuxOptions: {level: "s0:c1,c2"}}
  volumes:
    - {name: own, emptyDir: {}}
    - {name: data, hostPath: {path: /srv}}
  containers:
    - name: a
      image: i
      volumeMounts: [{name: own, mountPath: /own}, {name: data, mountPath: /data}]
    - name: b
      image: i
      securityContext: {seLinuxOptions: {user: u, role: r, type: spc_t, level: s0}}
)yaml"),
                             [] {
                               PodContext context = UsualContext();
                               context.volumes["own"] = "/host/own";
                               return context;
                             }());
  ASSERT_TRUE(configs.ok()) << configs.status();
  EXPECT_EQ(configs->sandbox.linux().security_context().selinux_options().level(), "s0:c1,c2");
  ASSERT_EQ(configs->containers.size(), 2);
  const cri::ContainerConfig& a = configs->containers[0];
  EXPECT_EQ(a.linux().security_context().selinux_options().level(), "s0:c1,c2");
  EXPECT_TRUE(a.mounts(0).selinux_relabel());
  EXPECT_FALSE(a.mounts(1).selinux_relabel()) << "the host's";
  const auto& own = configs->containers[1].linux().security_context().selinux_options();
  EXPECT_EQ(own.user() + ":" + own.role() + ":" + own.type() + ":" + own.level(), "u:r:spc_t:s0");
}

TEST(PodToCri, HostNamespacesAndPrivilege) {
  std::string text =
      Replaced(kUsualPod, "spec:\n", "spec:\n  hostNetwork: true\n  hostPID: true\n");
  text = Replaced(text, "allowPrivilegeEscalation: false", "privileged: true");
  const auto configs = ToCri(ParsePod(text), UsualContext());
  ASSERT_TRUE(configs.ok()) << configs.status();
  EXPECT_EQ(configs->sandbox.hostname(), "");
  EXPECT_TRUE(configs->sandbox.linux().security_context().privileged());
  const auto& security = configs->containers[1].linux().security_context();
  EXPECT_EQ(security.namespace_options().network(), cri::NODE);
  EXPECT_EQ(security.namespace_options().pid(), cri::NODE);
  EXPECT_EQ(security.masked_paths_size(), 0);
}

// Kubernetes' own from before the fields. Where the kernel has no AppArmor, the runtime refuses the
// profile of an annotation as it does that of a field.
TEST(PodToCri, ProfilesOfAnnotationsAreThoseOfFields) {
  const auto with = [](const std::string& annotations, const std::string& spec,
                       const std::string& container) {
    return ParseManifests(
        absl::StrCat("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations: {",
                     annotations, "}\nspec:\n  securityContext: {", spec,
                     "}\n  containers:\n  - {name: a, image: i, securityContext: {", container,
                     "}}\n  - {name: b, image: i}\n"),
        "pod.yaml");
  };
  const auto security = [](const absl::StatusOr<std::vector<Manifest>>& pods, int container) {
    EXPECT_TRUE(pods.ok()) << pods.status();
    if (!pods.ok()) return cri::LinuxContainerSecurityContext();
    return ToCri(pods->front(), {})->containers[container].linux().security_context();
  };
  const std::string apparmor = "container.apparmor.security.beta.kubernetes.io/a: ";
  const auto named = with(apparmor + "localhost/mine", "", "");
  EXPECT_EQ(security(named, 0).apparmor().profile_type(), cri::SecurityProfile::Localhost);
  EXPECT_EQ(security(named, 0).apparmor().localhost_ref(), "mine");
  EXPECT_FALSE(security(named, 1).has_apparmor());
  const auto of_runtime =
      with(apparmor + "runtime/default", "appArmorProfile: {type: Unconfined}", "");
  EXPECT_EQ(security(of_runtime, 0).apparmor().profile_type(),
            cri::SecurityProfile::RuntimeDefault);
  EXPECT_EQ(security(of_runtime, 1).apparmor().profile_type(), cri::SecurityProfile::Unconfined);
  const auto seccomp = with(
      "seccomp.security.alpha.kubernetes.io/pod: docker/default, "
      "container.seccomp.security.alpha.kubernetes.io/a: localhost/x/a.json",
      "", "");
  EXPECT_EQ(security(seccomp, 0).seccomp().localhost_ref(), "/var/lib/kubelet/seccomp/x/a.json");
  EXPECT_EQ(security(seccomp, 1).seccomp().profile_type(), cri::SecurityProfile::RuntimeDefault);
  EXPECT_TRUE(with(apparmor + "unconfined", "", "appArmorProfile: {type: Unconfined}").ok());
  EXPECT_THAT(
      std::string(with(apparmor + "unconfined", "", "appArmorProfile: {type: RuntimeDefault}")
                      .status()
                      .message()),
      HasSubstr("contradicts its securityContext.appArmorProfile"));
  EXPECT_THAT(std::string(with("seccomp.security.alpha.kubernetes.io/pod: unconfined",
                               "seccompProfile: {type: RuntimeDefault}", "")
                              .status()
                              .message()),
              HasSubstr("contradicts spec.securityContext.seccompProfile"));
}

TEST(PodToCri, SeccompIsAsTheRulesSay) {
  Manifest pod = ParsePod(kUsualPod);
  PodContext context = UsualContext();
  const auto seccomp = [&](size_t index) {
    return ToCri(pod, context)->containers[index].linux().security_context().seccomp();
  };
  const auto has_seccomp = [&](size_t index) {
    return ToCri(pod, context)->containers[index].linux().security_context().has_seccomp();
  };
  EXPECT_FALSE(has_seccomp(0));
  context.seccomp.runtime_default = true;
  EXPECT_EQ(seccomp(0).profile_type(), cri::SecurityProfile::RuntimeDefault);
  pod.containers[0].security.privileged = true;
  pod.containers[0].security.apparmor = {.type = "Localhost", .localhost_profile = "mine"};
  EXPECT_FALSE(has_seccomp(0)) << "a privileged container has no filter";
  EXPECT_EQ(
      ToCri(pod, context)->containers[0].linux().security_context().apparmor().localhost_ref(),
      "mine");
  pod.security.seccomp = {.type = "Unconfined", .localhost_profile = ""};
  EXPECT_EQ(seccomp(1).profile_type(), cri::SecurityProfile::Unconfined) << "as it is asked for";
  context.seccomp.profile_root = "/profiles";
  pod.containers[1].security.seccomp = {.type = "Localhost", .localhost_profile = "a.json"};
  EXPECT_EQ(seccomp(1).localhost_ref(), "/profiles/a.json");
}

}  // namespace
}  // namespace plimsoll::pod
