#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "nri/messages/messages.h"
#include "nri/messages/messages_fixture_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kPodText[] = R"(
  id: "pod1" name: "web-1" uid: "uid1" namespace: "default"
  labels { key: "app" value: "web" }
  annotations { key: "example.com/note" value: "hello" }
  annotations { key: "plimsoll.dev/pod-resources" }
  runtime_handler: "kata"
  linux {
    pod_overhead { memory { limit { value: 1024 } } cpu { shares { value: 102 } } }
    pod_resources { memory { limit { value: 1048576 } } cpu { shares { value: 512 } } }
    cgroup_parent: "/kubepods/burstable/pod-uid1"
    cgroups_path: "/kubepods/burstable/pod-uid1"
    namespaces { type: "network" path: "/run/plimsoll/sandboxes/pod1/net" }
    namespaces { type: "ipc" path: "/run/plimsoll/sandboxes/pod1/ipc" }
    namespaces { type: "uts" path: "/run/plimsoll/sandboxes/pod1/uts" }
    namespaces { type: "pid" path: "/run/plimsoll/sandboxes/pod1/pid" }
    namespaces { type: "user" path: "/run/plimsoll/sandboxes/pod1/user" }
    resources {
      memory { limit { value: 1049600 } } cpu { shares { value: 614 } }
      blockio_class { value: "slow" } rdt_class { value: "half" }
    }
  }
  pid: 4711
  ips: "10.0.0.7" ips: "fd00::7"
  pod_resources {
    containers {
      name: "app" type: CONTAINER
      kubernetes_resources {
        requests { key: "cpu" value { string: "500m" } }
        limits { key: "cpu" value { string: "1" } }
      }
    }
  }
)";

TEST(MakePodTest, ShowsAllThatIsKnown) {
  api::PodSandbox expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kPodText, &expected));
  api::PodSandbox pod = MakePod(FullPod());
  std::string& picture = (*pod.mutable_annotations())["plimsoll.dev/pod-resources"];
  EXPECT_EQ(picture, runtime::ToJson(FullPod().picture));
  EXPECT_THAT(picture, HasSubstr(R"("picture":")"));
  EXPECT_THAT(picture, HasSubstr(R"("500m")"));
  picture.clear();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equivalent(pod, expected))
      << pod.DebugString();
}

TEST(MakePodTest, LeavesNoFieldEmptyButThese) {
  std::set<std::string> empty = EmptyFieldsOf(MakePod(FullPod()));
  // Parts of LinuxResources that a pod's group has not; a container's test has all of them.
  std::erase_if(empty, [](const std::string& path) {
    return path.starts_with("linux.pod_overhead.") || path.starts_with("linux.pod_resources.") ||
           path.starts_with("linux.resources.");
  });
  EXPECT_THAT(empty, ElementsAre());
}

TEST(MakePodTest, AHostsNamespaceIsNotListed) {
  runtime::HookedPod pod = FullPod();
  pod.place = runtime::SandboxPlace();
  EXPECT_EQ(MakePod(pod).linux().namespaces_size(), 0);
}

TEST(MakePodTest, AnUnreadableMessageOfTheClientCostsLabelsAlone) {
  runtime::HookedPod pod = FullPod();
  pod.record.client_config = "\xff\xff\xff";
  const api::PodSandbox message = MakePod(pod);
  EXPECT_EQ(message.labels_size(), 0);
  EXPECT_EQ(message.name(), "web-1");
  EXPECT_EQ(message.annotations_size(), 1);  // the picture
}

TEST(MakePodTest, SaysThatNothingWasTold) {
  runtime::HookedPod pod;
  pod.record.id = "pod1";
  pod.picture = runtime::MakePicture(pod.record.spec, {});
  const api::PodSandbox message = MakePod(pod);
  EXPECT_THAT(message.annotations().at("plimsoll.dev/pod-resources"),
              HasSubstr(R"("picture":"absent")"));
  EXPECT_TRUE(message.linux().has_pod_resources());
  EXPECT_TRUE(message.has_pod_resources());
  EXPECT_EQ(message.pod_resources().containers_size(), 0);
}

TEST(MakeUpdateOfPodTest, NewValuesStandBesideThePresentOnes) {
  const api::PodSandbox pod = MakePod(FullPod());
  runtime::SandboxUpdate update;
  update.resources.cpu_shares = 1024;
  update.overhead.memory_limit_bytes = 2048;
  update.pod_resources.emplace();
  update.pod_resources->containers.push_back(
      {.name = "app", .kubernetes_resources = {.requests = {{"cpu", "1"}}}});
  const api::UpdatePodSandboxRequest request = MakeUpdate(pod, update);
  EXPECT_THAT(EmptyFieldsOf(request).count("pod_resources"), 0u);
  EXPECT_EQ(request.linux_resources().cpu().shares().value(), 1024u);
  EXPECT_EQ(request.overhead_linux_resources().memory().limit().value(), 2048);
  const auto cpu = [](const ::runtime::v1::PodResourceConfig& config) {
    return config.containers(0).kubernetes_resources().requests().at("cpu").string();
  };
  EXPECT_EQ(cpu(request.pod_resources()), "1");
  EXPECT_EQ(cpu(request.pod().pod_resources()), "500m");
  EXPECT_EQ(request.pod().linux().pod_resources().cpu().shares().value(), 512u);
}

TEST(MakeUpdateOfPodTest, WithoutAnAnnouncementThereIsNone) {
  const api::UpdatePodSandboxRequest request =
      MakeUpdate(MakePod(FullPod()), runtime::SandboxUpdate());
  EXPECT_FALSE(request.has_pod_resources());
}

}  // namespace
}  // namespace plimsoll::nri
