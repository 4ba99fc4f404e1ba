#include "kube/manifests/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "kube/manifests/documents_for_test.h"

namespace plimsoll::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string Refusal(const ManifestOptions& options) {
  const auto text = Manifests(options);
  EXPECT_TRUE(absl::IsInvalidArgument(text.status())) << text.status();
  return std::string(text.status().message());
}

ManifestOptions Only(ManifestPart part) {
  ManifestOptions options = ExampleClasses();
  options.parts = {part};
  return options;
}

// The file was tried on an API server of Kubernetes 1.36 as docs/kubernetes.md says. A change here
// is a change of what a cluster does: try it there before the file follows
// (`plimsoll-kube manifests --class rdt=gold --class rdt=bronze --class blockio=background
// --class oom=first --pod-class lane=fast`).
TEST(ManifestsTest, TheExampleIsWhatIsPrinted) {
  const auto root = FsRoot::Open(PLIMSOLL_SOURCE_DIR);
  ASSERT_TRUE(root.ok()) << root.status();
  const auto example = root->Read("packaging/kube/cluster.yaml");
  ASSERT_TRUE(example.ok()) << example.status();
  EXPECT_EQ(*example, Printed(ExampleClasses()));
}

TEST(ManifestsTest, EveryDocumentHasItsVersion) {
  const std::map<std::string, std::string> versions = {
      {"DeviceClass", "resource.k8s.io/v1"},
      {"MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1"},
      {"MutatingAdmissionPolicyBinding", "admissionregistration.k8s.io/v1"},
      {"ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1"},
      {"ValidatingAdmissionPolicyBinding", "admissionregistration.k8s.io/v1"},
      {"Namespace", "v1"},
      {"ServiceAccount", "v1"},
      {"ClusterRole", "rbac.authorization.k8s.io/v1"},
      {"ClusterRoleBinding", "rbac.authorization.k8s.io/v1"},
      {"Role", "rbac.authorization.k8s.io/v1"},
      {"RoleBinding", "rbac.authorization.k8s.io/v1"},
      {"DaemonSet", "apps/v1"},
      {"ResourceQuota", "v1"},
  };
  ManifestOptions options = ExampleClasses();
  for (const ManifestPart part :
       {ManifestPart::kClasses, ManifestPart::kPolicies, ManifestPart::kRbac,
        ManifestPart::kDaemonSet, ManifestPart::kQuota}) {
    options.parts.insert(part);
  }
  std::set<std::string> kinds;
  for (const auto& [name, document] : Documents(Printed(options))) {
    const std::string kind = document["kind"].as<std::string>();
    kinds.insert(kind);
    ASSERT_TRUE(versions.contains(kind)) << name;
    EXPECT_EQ(document["apiVersion"].as<std::string>(""), versions.at(kind)) << name;
    EXPECT_FALSE(document["metadata"]["name"].as<std::string>("").empty()) << name;
  }
  EXPECT_EQ(kinds.size(), versions.size());
}

TEST(ManifestsTest, EveryPolicyIsBound) {
  const auto documents = Documents(Printed(ExampleClasses()));
  size_t policies = 0;
  for (const auto& [name, document] : documents) {
    const std::string kind = document["kind"].as<std::string>();
    if (!absl::EndsWith(kind, "AdmissionPolicy")) continue;
    ++policies;
    const std::string own = document["metadata"]["name"].as<std::string>();
    const auto binding = documents.find(absl::StrCat(kind, "Binding ", own));
    ASSERT_NE(binding, documents.end()) << name;
    EXPECT_EQ(binding->second["spec"]["policyName"].as<std::string>(""), own);
    EXPECT_EQ(document["spec"]["failurePolicy"].as<std::string>(""), "Fail") << name;
  }
  EXPECT_EQ(policies, 12);
}

TEST(ManifestsTest, OrderAndRepetitionOfClassesDoNotCount) {
  ManifestOptions options = ExampleClasses();
  const std::string text = Printed(options);
  std::reverse(options.classes.begin(), options.classes.end());
  options.classes.push_back(options.classes.front());
  EXPECT_EQ(Printed(options), text);
}

TEST(ManifestsTest, PartsAreAlone) {
  const auto kinds = [](ManifestPart part) {
    std::set<std::string> found;
    for (const auto& [name, document] : Documents(Printed(Only(part)))) {
      found.insert(document["kind"].as<std::string>());
    }
    return found;
  };
  EXPECT_THAT(kinds(ManifestPart::kClasses), ElementsAre("DeviceClass"));
  EXPECT_THAT(kinds(ManifestPart::kDaemonSet), ElementsAre("DaemonSet"));
  EXPECT_THAT(kinds(ManifestPart::kQuota), ElementsAre("ResourceQuota"));
  EXPECT_EQ(kinds(ManifestPart::kPolicies).size(), 4);
  EXPECT_EQ(kinds(ManifestPart::kRbac).size(), 8);
}

TEST(ManifestsTest, AQuotaHasEveryKeyOfAClass) {
  const auto documents = Documents(Printed(Only(ManifestPart::kQuota)));
  const YAML::Node hard = documents.begin()->second["spec"]["hard"];
  EXPECT_EQ(hard.size(), 5 * 3);
  for (const char* key :
       {"requests.class.plimsoll.dev/rdt.gold",
        "requests.deviceclass.resource.kubernetes.io/rdt.gold.classes.plimsoll.dev",
        "rdt.gold.classes.plimsoll.dev.deviceclass.resource.k8s.io/devices",
        "requests.class.plimsoll.dev/pod.lane.fast"}) {
    EXPECT_EQ(hard[key].as<std::string>(""), "0") << key;
  }
}

TEST(ManifestsTest, ADeviceClassSelectsTheOneDevice) {
  const auto documents = Documents(Printed(Only(ManifestPart::kClasses)));
  const auto found = documents.find("DeviceClass pod.lane.fast.classes.plimsoll.dev");
  ASSERT_NE(found, documents.end());
  const YAML::Node spec = found->second["spec"];
  EXPECT_EQ(spec["extendedResourceName"].as<std::string>(""), "class.plimsoll.dev/pod.lane.fast");
  EXPECT_EQ(spec["selectors"][0]["cel"]["expression"].as<std::string>(""),
            "device.driver == 'classes.plimsoll.dev' && "
            "device.attributes['classes.plimsoll.dev'].device == 'pod-lane-fast'");
}

TEST(ManifestsTest, TheDaemonSetHasNoPowerThatItDoesNotNeed) {
  ManifestOptions options = Only(ManifestPart::kDaemonSet);
  options.image = "registry.example.com:5000/plimsoll-kube@sha256:ab";
  options.kubelet_root = "/var/lib/k0s/kubelet";
  options.node_label = "example.com/runtime=plimsoll";
  const YAML::Node pod = Documents(Printed(options)).begin()->second["spec"]["template"]["spec"];
  const YAML::Node container = pod["containers"][0];
  EXPECT_EQ(container["image"].as<std::string>(""), options.image);
  EXPECT_FALSE(pod["hostNetwork"].IsDefined() || pod["hostPID"].IsDefined());
  const YAML::Node security = container["securityContext"];
  EXPECT_FALSE(security["allowPrivilegeEscalation"].as<bool>(true));
  EXPECT_TRUE(security["readOnlyRootFilesystem"].as<bool>(false));
  EXPECT_EQ(security["capabilities"]["drop"][0].as<std::string>(""), "ALL");
  EXPECT_EQ(pod["nodeSelector"]["example.com/runtime"].as<std::string>(""), "plimsoll");
  std::set<std::string> paths;
  for (const auto& volume : pod["volumes"])
    paths.insert(volume["hostPath"]["path"].as<std::string>());
  EXPECT_THAT(
      paths,
      ElementsAre("/run/plimsoll/cluster", "/var/lib/k0s/kubelet/plugins/classes.plimsoll.dev",
                  "/var/lib/k0s/kubelet/plugins_registry", "/var/lib/plimsoll-kube"));
}

TEST(ManifestsTest, RolesReadClaimsOneByOneAndChangeNone) {
  for (const auto& [name, document] : Documents(Printed(Only(ManifestPart::kRbac)))) {
    if (document["kind"].as<std::string>() != "ClusterRole") continue;
    for (const auto& rule : document["rules"]) {
      const auto verbs = rule["verbs"].as<std::vector<std::string>>();
      for (const auto& resource : rule["resources"].as<std::vector<std::string>>()) {
        EXPECT_NE(resource, "*");
        EXPECT_NE(resource, "secrets");
        EXPECT_NE(resource, "pods");
        if (resource == "resourceclaims") {
          EXPECT_THAT(verbs, ElementsAre("get"));
        }
        if (resource == "nodes/status") {
          EXPECT_THAT(verbs, ElementsAre("patch"));
        }
        EXPECT_THAT(verbs, Not(testing::Contains("*")));
        EXPECT_THAT(verbs, Not(testing::Contains("deletecollection")));
      }
    }
  }
}

TEST(ManifestsTest, OptionsThatWouldBreakADocumentAreRefused) {
  ManifestOptions options;
  options.name_space = "a: b";
  EXPECT_THAT(Refusal(options), HasSubstr("namespace \"a: b\" is not valid"));
  options = {};
  options.image = "x\" \nfoo: bar";
  EXPECT_THAT(Refusal(options), HasSubstr("image \"x\" \\nfoo: bar\""));
  options = {};
  options.kubelet_root = "/var/../etc";
  EXPECT_THAT(Refusal(options), HasSubstr("kubelet's directory \"/var/../etc\""));
  options.kubelet_root = "var";
  EXPECT_THAT(Refusal(options), HasSubstr("absolute path"));
  options = {};
  options.socket_dir = "/run/plimsoll/";
  EXPECT_THAT(Refusal(options), HasSubstr("plimsolld's socket \"/run/plimsoll/\""));
  options = {};
  options.node_label = "a=b=c";
  EXPECT_THAT(Refusal(options), HasSubstr("KEY=VALUE"));
  options = {};
  options.classes = {{qos::Level::kContainer, "rdt", "a'b"}};
  EXPECT_THAT(Refusal(options), HasSubstr("class name \"a'b\" is not valid"));
  options.classes = {{qos::Level::kContainer, "r t", "a"}};
  EXPECT_THAT(Refusal(options), HasSubstr("class type name \"r t\""));
  options.classes.assign(kMostClasses + 1, {qos::Level::kContainer, "rdt", "a"});
  EXPECT_THAT(Refusal(options), HasSubstr("501 classes are given; 500 are possible"));
}

TEST(ManifestsTest, FlagsAreParsed) {
  EXPECT_EQ(*ParseManifestPart("rbac"), ManifestPart::kRbac);
  EXPECT_THAT(
      std::string(ParseManifestPart("role").status().message()),
      HasSubstr("part \"role\" is not valid: classes, policies, rbac, daemonset and quota"));
  EXPECT_EQ(*ParseClass(qos::Level::kPod, "example.com/lane=a"),
            (qos::ClassId{qos::Level::kPod, "example.com/lane", "a"}));
  for (const char* text : {"rdt", "", "rdt=", "=gold", "rdt=a=b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseClass(qos::Level::kContainer, text).status())) << text;
  }
}

TEST(ManifestsTest, OnlySomePartsNeedClasses) {
  ManifestOptions options;
  EXPECT_TRUE(NeedsClasses(options));
  options.parts = {ManifestPart::kRbac, ManifestPart::kDaemonSet};
  EXPECT_FALSE(NeedsClasses(options));
  for (const ManifestPart part :
       {ManifestPart::kClasses, ManifestPart::kPolicies, ManifestPart::kQuota}) {
    options.parts = {ManifestPart::kRbac, part};
    EXPECT_TRUE(NeedsClasses(options));
  }
}

TEST(ManifestsTest, AForeignNameIsShownAsItIsWritten) {
  const auto message = [](const char* text) {
    return std::string(ParseClass(qos::Level::kContainer, text).status().message());
  };
  EXPECT_THAT(message("rdt=gr\xc3\xbcn"), testing::HasSubstr("class name \"gr\xc3\xbcn\""));
  EXPECT_THAT(message("rdt=a\x1b"), testing::HasSubstr("class name \"a\\x1b\""));
}

}  // namespace
}  // namespace plimsoll::kube
