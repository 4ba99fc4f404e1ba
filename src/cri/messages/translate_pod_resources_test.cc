#include "cri/messages/translate_pod_resources.h"

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "runtime/announcement/messages.h"
#include "runtime/spec/json.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Every field is set.
v1::PodResourceConfig Message() {
  v1::PodResourceConfig config;
  config.add_containers()->set_name("setup");
  v1::ContainerResourceConfig* web = config.add_containers();
  web->set_name("web");
  web->set_type(v1::ContainerResourceConfig::CONTAINER);
  (*web->mutable_kubernetes_resources()->mutable_requests())["cpu"].set_string("0.50");
  (*web->mutable_kubernetes_resources()->mutable_limits())["memory"].set_string("1e9");
  v1::Mount* mount = web->add_mounts();
  mount->set_container_path("/data");
  mount->set_host_path("/srv/data");
  mount->set_readonly(true);
  mount->set_recursive_read_only(true);
  mount->set_selinux_relabel(true);
  mount->set_propagation(v1::PROPAGATION_BIDIRECTIONAL);
  v1::IDMapping* mapping = mount->add_uidmappings();
  mapping->set_host_id(1000);
  mapping->set_container_id(1);
  mapping->set_length(10);
  mount->add_gidmappings()->set_length(3);
  mount->mutable_image()->set_image("busybox");
  mount->mutable_image()->set_user_specified_image("docker.io/busybox");
  mount->mutable_image()->set_runtime_handler("vm");
  mount->mutable_image()->set_image_ref("sha256:1");
  (*mount->mutable_image()->mutable_annotations())["key"] = "value";
  mount->set_image_sub_path("bin");
  mount->add_mount_options("noexec");
  v1::Device* device = web->add_devices();
  device->set_container_path("/dev/fuse");
  device->set_host_path("/dev/fuse0");
  device->set_permissions("rw");
  web->add_cdi_devices()->set_name("example.com/gpu=0");
  (*config.mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string("4");
  // Present but empty, which differs from absent.
  config.add_containers()->set_name("best-effort");
  config.mutable_containers(2)->mutable_kubernetes_resources();
  config.mutable_containers(2)->set_type(v1::ContainerResourceConfig::CONTAINER);
  return config;
}

TEST(PodResourcesTranslationTest, EveryFieldComesBackAsItWas) {
  std::vector<std::string> warnings;
  const auto resources = PodResourcesFrom(Message(), "pod_resources", &warnings);
  ASSERT_TRUE(resources.ok()) << resources.status();
  EXPECT_THAT(warnings, IsEmpty());
  v1::PodResourceConfig back;
  FillPodResources(*resources, &back);
  std::string difference;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(Message(), back)) << difference;
}

// This JSON is stored, and shown to readers without gRPC.
TEST(PodResourcesTranslationTest, WhatIsEmptyStaysSoAsJson) {
  std::vector<std::string> warnings;
  v1::PodResourceConfig message = Message();
  message.clear_kubernetes_resources();
  message.mutable_kubernetes_resources();
  const runtime::PodResources resources = *PodResourcesFrom(message, "pod_resources", &warnings);
  const auto stored = runtime::PodResourcesFromJson(ToJson(resources));
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(*stored, resources);
  v1::PodResourceConfig back;
  FillPodResources(*stored, &back);
  EXPECT_FALSE(back.containers(0).has_kubernetes_resources());
  EXPECT_TRUE(back.containers(2).has_kubernetes_resources());
  EXPECT_TRUE(back.has_kubernetes_resources());
}

TEST(PodResourcesTranslationTest, ValuesOutsideOfEnumerationsAreRefused) {
  std::vector<std::string> warnings;
  v1::PodResourceConfig config = Message();
  config.mutable_containers(1)->set_type(
      static_cast<v1::ContainerResourceConfig::ContainerType>(9));
  EXPECT_THAT(PodResourcesFrom(config, "pod_resources", &warnings).status().message(),
              HasSubstr("pod_resources.containers[1].type is 9: must be INIT_CONTAINER (0)"));
  config = Message();
  config.mutable_containers(1)->mutable_mounts(0)->set_propagation(
      static_cast<v1::MountPropagation>(9));
  EXPECT_THAT(PodResourcesFrom(config, "pod_resources", &warnings).status().message(),
              HasSubstr("pod_resources.containers[1].mounts.propagation"));
}

TEST(PodResourcesTranslationTest, TypesThatCannotBeTrueAreWarnedOf) {
  v1::PodResourceConfig config;
  config.add_containers()->set_name("web");
  std::vector<std::string> warnings;
  EXPECT_TRUE(PodResourcesFrom(config, "pod_resources", &warnings).ok());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("pod_resources announces init containers alone")));
}

TEST(PodResourcesTranslationTest, AnAnnotationStandsForAMessageThatIsNotThere) {
  std::vector<std::string> warnings;
  v1::PodSandboxConfig config;
  EXPECT_TRUE(PodResourcesOf(config, &warnings)->empty());
  std::string* annotation = &(*config.mutable_annotations())[kPodResourcesAnnotation];
  *annotation = R"({"containers":[{"name":"web","type":"container",
      "kubernetes_resources":{"limits":{"cpu":"2"}}}]})";
  EXPECT_EQ(
      PodResourcesOf(config, &warnings)->containers.at(0).kubernetes_resources.limits.at("cpu"),
      "2");
  *config.mutable_pod_resources() = Message();
  EXPECT_EQ(PodResourcesOf(config, &warnings)->containers.size(), 3u);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(PodResourcesTranslationTest, AnAnnotationIsHeldToTheSameRules) {
  std::vector<std::string> warnings;
  v1::PodSandboxConfig config;
  std::string* annotation = &(*config.mutable_annotations())[kPodResourcesAnnotation];
  for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
           {"{", "annotation plimsoll.dev/pod-resources: pod resources: not valid JSON"},
           {R"({"containers":{}})", "member 'containers': expected a list"},
           {R"({"containers":[{"name":"a","type":"job"}]})", "valid: init_container, "},
           {R"({"containers":[{"name":"a","kind":"container"}]})",
            "unknown member 'containers[0].kind', there are: name, type, kubernetes_resources, "},
           {R"({"containers":[{"name":"a","kubernetes_resources":{"limits":{"cpu":"x"}}}]})",
            "annotation plimsoll.dev/pod-resources.containers[0] "
            "(\"a\").kubernetes_resources: "}}) {
    *annotation = text;
    EXPECT_THAT(PodResourcesOf(config, &warnings).status().message(), HasSubstr(error)) << text;
  }
}

TEST(PodResourcesTranslationTest, ThePicturesPlaceIsBelowTheContainersRoot) {
  v1::PodSandboxConfig config;
  EXPECT_EQ(*PictureDirectoryOf(config), "");
  std::string& place = (*config.mutable_annotations())["plimsoll.dev/pod-resources-mount"];
  place = "/etc/pod";
  EXPECT_EQ(*PictureDirectoryOf(config), "/etc/pod");
  for (const char* wrong : {"", "etc/pod", "/", "//"}) {
    place = wrong;
    const auto refused = PictureDirectoryOf(config);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << wrong;
    EXPECT_THAT(refused.status().message(), HasSubstr("annotation plimsoll.dev/pod-resources-m"));
  }
}

}  // namespace
}  // namespace plimsoll::cri
