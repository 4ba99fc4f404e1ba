#include "kubelet/read_pod.h"

#include <functional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/pods_for_test.h"

namespace plimsoll::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Type = runtime::AnnouncedContainer::Type;

absl::Status Refusal(const std::string& answer) {
  return ReadPod(answer, kWeb).status();
}

TEST(ReadPodTest, TypesAndQuantitiesAreTheAuthors) {
  const auto read = ReadPod(AnswerOf(WebPod()), kWeb);
  ASSERT_TRUE(read.ok()) << read.status();
  const auto& containers = read->resources.containers;
  ASSERT_EQ(containers.size(), 3u);
  EXPECT_EQ(containers[0].name, "setup");
  EXPECT_EQ(containers[0].type, Type::kInit);
  EXPECT_THAT(containers[0].kubernetes_resources.limits, ElementsAre(Pair("cpu", "2")));
  EXPECT_THAT(containers[0].kubernetes_resources.requests, IsEmpty());
  EXPECT_EQ(containers[1].name, "proxy");
  EXPECT_EQ(containers[1].type, Type::kSidecar);
  EXPECT_THAT(containers[1].kubernetes_resources.requests, ElementsAre(Pair("memory", "0.5Gi")));
  EXPECT_EQ(containers[2].name, "web");
  EXPECT_EQ(containers[2].type, Type::kContainer);
  EXPECT_THAT(containers[2].kubernetes_resources.requests, ElementsAre(Pair("cpu", "0.50")));
  EXPECT_THAT(containers[2].kubernetes_resources.limits, ElementsAre(Pair("memory", "1024Mi")));
  EXPECT_TRUE(read->resources.kubernetes_resources.empty());
  EXPECT_THAT(read->untold_devices, IsEmpty());
  EXPECT_FALSE(read->has_block_volumes);
}

TEST(ReadPodTest, ThePodsOwnResources) {
  core::Pod pod = WebPod();
  (*pod.mutable_spec()->mutable_resources()->mutable_limits())["cpu"].set_string("4");
  const auto read = ReadPod(AnswerOf(pod), kWeb);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->resources.kubernetes_resources.limits, ElementsAre(Pair("cpu", "4")));
}

TEST(ReadPodTest, PresentButEmptyIsTold) {
  core::Pod pod = WebPod();
  FirstContainer(pod).mutable_resources()->Clear();
  const auto read = ReadPod(AnswerOf(pod), kWeb);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->resources.containers[2].kubernetes_resources.is_given_empty);
  EXPECT_FALSE(read->resources.kubernetes_resources.is_given());
}

TEST(ReadPodTest, EphemeralContainersAskForNothing) {
  core::Pod pod = WebPod();
  pod.mutable_spec()->add_ephemeralcontainers()->mutable_ephemeralcontainercommon()->set_name("sh");
  const auto read = ReadPod(AnswerOf(pod), kWeb);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->resources.containers.size(), 4u);
  EXPECT_EQ(read->resources.containers[3].name, "sh");
  EXPECT_THAT(read->ephemeral, ElementsAre("sh"));
  EXPECT_EQ(read->resources.containers[3].type, Type::kContainer);
  EXPECT_FALSE(read->resources.containers[3].kubernetes_resources.is_given());
}

TEST(ReadPodTest, NamesInitContainersThatMayHaveDevices) {
  core::Pod pod = WebPod();
  core::Container& setup = *pod.mutable_spec()->mutable_initcontainers(0);
  // Kubernetes' own domain has no devices.
  (*setup.mutable_resources()->mutable_limits())["alpha.kubernetes.io/nvidia"].set_string("1");
  EXPECT_THAT(ReadPod(AnswerOf(pod), kWeb)->untold_devices, IsEmpty());
  (*setup.mutable_resources()->mutable_limits())["example.com/gpu"].set_string("1");
  EXPECT_THAT(ReadPod(AnswerOf(pod), kWeb)->untold_devices, ElementsAre("setup"));
  setup.mutable_resources()->clear_limits();
  setup.mutable_resources()->add_claims()->set_name("gpu");
  EXPECT_THAT(ReadPod(AnswerOf(pod), kWeb)->untold_devices, ElementsAre("setup"));
  // PodResources shows sidecars.
  setup.set_restartpolicy("Always");
  EXPECT_THAT(ReadPod(AnswerOf(pod), kWeb)->untold_devices, IsEmpty());
}

TEST(ReadPodTest, BlockVolumesAreDevices) {
  core::Pod pod = WebPod();
  FirstContainer(pod).add_volumedevices()->set_name("disk");
  EXPECT_TRUE(ReadPod(AnswerOf(pod), kWeb)->has_block_volumes);
}

TEST(ReadPodTest, AnotherPodIsALie) {
  const std::pair<std::function<void(core::Pod&)>, const char*> lies[] = {
      {[](core::Pod& pod) { pod.mutable_metadata()->set_uid("uid-2"); }, "its uid is \"uid-2\""},
      {[](core::Pod& pod) { pod.mutable_metadata()->set_name("w\neb"); }, "its name is \"w\\neb\""},
      {[](core::Pod& pod) { pod.mutable_metadata()->set_namespace_("x"); }, "its namespace is"},
      {[](core::Pod& pod) { pod.clear_metadata(); }, "its uid is \"\", asked was \"uid-1\""},
  };
  for (const auto& [lie, reason] : lies) {
    core::Pod pod = WebPod();
    lie(pod);
    const absl::Status status = Refusal(AnswerOf(pod));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(reason));
  }
}

TEST(ReadPodTest, ResourcesThatNoApiServerAcceptsAreRefused) {
  const std::pair<std::function<void(core::Pod&)>, const char*> faults[] = {
      {[](core::Pod& pod) {
         (*FirstContainer(pod).mutable_resources()->mutable_limits())["cpu"].set_string("lots");
       },
       "limits[cpu]"},
      {[](core::Pod& pod) {
         (*FirstContainer(pod).mutable_resources()->mutable_requests())["cpu"].set_string("-1");
       },
       "cpu"},
      {[](core::Pod& pod) { (*FirstContainer(pod).mutable_resources()->mutable_limits())["cpu"]; },
       "limits[cpu]"},
      {[](core::Pod& pod) {
         (*pod.mutable_spec()->mutable_resources()->mutable_limits())["cpu"].set_string("1e");
       },
       "spec.kubernetes_resources"},
      {[](core::Pod& pod) { FirstContainer(pod).clear_name(); }, "name is empty"},
      {[](core::Pod& pod) { FirstContainer(pod).set_name("setup"); }, "is there twice"},
      {[](core::Pod& pod) { pod.mutable_spec()->clear_containers(); }, "no container"},
      {[](core::Pod& pod) { pod.clear_spec(); }, "no container"},
  };
  for (const auto& [spoil, reason] : faults) {
    core::Pod pod = WebPod();
    spoil(pod);
    const absl::Status status = Refusal(AnswerOf(pod));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << reason << status;
    EXPECT_THAT(status.message(), HasSubstr(reason));
  }
}

TEST(ReadPodTest, NoPodAtAll) {
  for (const std::string& answer : {std::string(), std::string("\xff"), std::string("\x0a\x05"),
                                    std::string("\x0a\x02\xff\xff", 4)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Refusal(answer))) << ::testing::PrintToString(answer);
  }
}

// Two bytes each on the wire, 200 in memory.
TEST(ReadPodTest, FieldsAreBounded) {
  core::Pod pod = WebPod();
  for (int i = 0; i < 200'000; ++i) pod.mutable_spec()->add_containers();
  const absl::Status status = Refusal(AnswerOf(pod));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST(ReadPodTest, ALargePodIsRead) {
  core::Pod pod = WebPod();
  for (int i = 0; i < 2000; ++i) {
    core::Container& container = *pod.mutable_spec()->add_containers();
    container.set_name("c" + std::to_string(i));
    (*container.mutable_resources()->mutable_requests())["cpu"].set_string("1m");
    // The container's environment, which isn't read: field 7.
    container.GetReflection()
        ->MutableUnknownFields(&container)
        ->AddLengthDelimited(7, std::string(500, 'e'));
  }
  const auto read = ReadPod(AnswerOf(pod), kWeb);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->resources.containers.size(), 2003u);
}

}  // namespace
}  // namespace plimsoll::kubelet
