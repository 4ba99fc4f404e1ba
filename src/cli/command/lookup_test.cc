#include "cli/command/lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

cri::PodSandbox Pod(const std::string& id, const std::string& name) {
  cri::PodSandbox pod;
  pod.set_id(id);
  pod.mutable_metadata()->set_name(name);
  pod.mutable_metadata()->set_namespace_("default");
  return pod;
}

cri::Container Container(const std::string& id, const std::string& pod, const std::string& name,
                         uint32_t attempt = 0) {
  cri::Container container;
  container.set_id(id);
  container.set_pod_sandbox_id(pod);
  container.mutable_metadata()->set_name(name);
  container.mutable_metadata()->set_attempt(attempt);
  return container;
}

TEST(Lookup, NamesAndPrefixes) {
  const std::vector<cri::PodSandbox> pods = {Pod("aa11", "web"), Pod("bb22", "db")};
  const std::vector<cri::Container> containers = {
      Container("cc1", "aa11", "app"), Container("cc2", "aa11", "app", 1),
      Container("dd1", "bb22", "app"), Container("ee1", "bb22", "backup")};
  EXPECT_EQ(FindPod(pods, "web")->id(), "aa11");
  EXPECT_EQ(FindPod(pods, "default/db")->id(), "bb22");
  EXPECT_EQ(FindPod(pods, "bb")->id(), "bb22");
  EXPECT_EQ(FindContainer(containers, pods, "web/app")->id(), "cc2") << "the newest attempt";
  EXPECT_EQ(FindContainer(containers, pods, "backup")->id(), "ee1");
  EXPECT_EQ(FindContainer(containers, pods, "cc1")->id(), "cc1");
  const absl::Status ambiguous = FindContainer(containers, pods, "app").status();
  EXPECT_THAT(std::string(ambiguous.message()), AllOf(HasSubstr("web/app"), HasSubstr("db/app")));
  EXPECT_TRUE(absl::IsInvalidArgument(FindContainer(containers, pods, "cc").status()));
  const absl::Status missing = FindPod(pods, "wb").status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(HintOf(FindContainer(containers, pods, "bakcup").status()),
              HasSubstr("Did you mean \"backup\"?"));
  EXPECT_THAT(HintOf(FindPodOrContainer(pods, containers, "bac").status()),
              HasSubstr("Did you mean \"backup\"?"));
  const absl::Status none = FindPodOrContainer(pods, containers, "db/nosuch").status();
  EXPECT_THAT(std::string(none.message()), HasSubstr("pod db has no container \"nosuch\""));
  EXPECT_THAT(HintOf(none), HasSubstr("app, backup"));
  const absl::Status a_pod = FindContainer(containers, pods, "db").status();
  EXPECT_THAT(std::string(a_pod.message()), HasSubstr("\"db\" is a pod"));
  EXPECT_THAT(HintOf(a_pod), HasSubstr("db/app, db/backup"));
  EXPECT_EQ(FindContainer(containers, pods, "web")->id(), "cc2") << "the only one of its pod";
}

TEST(Lookup, AContainerIsNamedWithItsPodOrByItsOption) {
  const std::vector<cri::PodSandbox> pods = {Pod("aa11", "web"), Pod("bb22", "db")};
  const std::vector<cri::Container> containers = {
      Container("cc1", "aa11", "app"), Container("cc2", "aa11", "app", 1),
      Container("cc3", "aa11", "side"), Container("dd1", "bb22", "app")};
  const auto found = [&](const std::string& text, const std::string& container) {
    const auto one = FindPodOrContainer(pods, containers, text, container);
    if (!one.ok()) return std::string(one.status().message());
    const auto* const pod = std::get_if<cri::PodSandbox>(&*one);
    return pod != nullptr ? pod->id() : std::get<cri::Container>(*one).id();
  };
  EXPECT_EQ(found("web/app", ""), "cc2");
  EXPECT_EQ(found("web", "app"), "cc2") << "the newest attempt";
  EXPECT_EQ(found("default/db", "app"), "dd1");
  EXPECT_EQ(found("aa", "side"), "cc3");
  EXPECT_EQ(found("web", ""), "aa11");
  EXPECT_EQ(found("web/app", "app"), "cc2") << "said twice";
  EXPECT_EQ(found("web", "sied"), "pod web has no container \"sied\"");
  const absl::Status two = FindPodOrContainer(pods, containers, "web/app", "side").status();
  EXPECT_THAT(std::string(two.message()),
              HasSubstr("\"web/app\" means the container app, and --container the container side"));
  EXPECT_TRUE(IsUsageError(two));
  EXPECT_THAT(HintOf(FindPodOrContainer(pods, containers, "web", "x").status()),
              HasSubstr("It has: app, side"));
  EXPECT_EQ(FindPodOrContainer({Pod("ee55", "empty")}, {}, "empty", "app").status().message(),
            "pod empty has no containers");
}

TEST(Lookup, ANameWinsOverTheBeginningOfAnId) {
  const std::vector<cri::PodSandbox> pods = {Pod("db11", "web"), Pod("db22", "api"),
                                             Pod("ca33", "ee")};
  const std::vector<cri::Container> containers = {Container("cc1", "db11", "db"),
                                                  Container("cc2", "db11", "ca"),
                                                  Container("ee1", "db22", "app")};
  const auto id_of = [&](const char* text) {
    const auto found = FindPodOrContainer(pods, containers, text);
    if (!found.ok()) return std::string(found.status().message());
    return std::visit([](const auto& item) { return item.id(); }, *found);
  };
  EXPECT_EQ(id_of("db"), "cc1");
  EXPECT_EQ(id_of("ca"), "cc2");
  EXPECT_EQ(id_of("ca3"), "ca33");
  EXPECT_EQ(id_of("ee"), "ca33");
  EXPECT_EQ(id_of("ee1"), "ee1");
  EXPECT_THAT(id_of("nope"), HasSubstr("no pod or container \"nope\""));
  std::vector<cri::PodSandbox> namesakes = {Pod("aa11", "web"), Pod("bb22", "web")};
  namesakes[1].mutable_metadata()->set_namespace_("other");
  EXPECT_TRUE(absl::IsInvalidArgument(FindPodOrContainer(namesakes, {}, "web").status()));
}

TEST(Lookup, APodsNameIsNoContainerOfAnotherPod) {
  const std::vector<cri::PodSandbox> pods = {Pod("aa11", "hello"), Pod("bb22", "web"),
                                             Pod("cc33", "db"), Pod("dd44", "log")};
  const std::vector<cri::Container> containers = {
      Container("c1", "aa11", "web"), Container("c2", "bb22", "app"), Container("c3", "cc33", "db"),
      Container("c4", "cc33", "log"), Container("c5", "dd44", "a"),   Container("c6", "dd44", "b")};
  EXPECT_EQ(FindContainer(containers, pods, "web")->id(), "c2");
  EXPECT_EQ(FindContainer(containers, pods, "hello/web")->id(), "c1");
  EXPECT_EQ(FindContainer(containers, pods, "db")->id(), "c3");
  const absl::Status two = FindContainer(containers, pods, "log").status();
  EXPECT_TRUE(absl::IsNotFound(two)) << two;
  EXPECT_THAT(HintOf(two), HasSubstr("log/a, log/b"));
}

// After a reboot the old sandbox stays until somebody removes it.
TEST(Lookup, TheRunningSandboxIsMeant) {
  std::vector<cri::PodSandbox> pods = {Pod("aa11", "web"), Pod("bb22", "web"), Pod("cc33", "web"),
                                       Pod("dd44", "db")};
  for (size_t i = 0; i < pods.size(); ++i) {
    pods[i].set_created_at(static_cast<int64_t>(i));
    pods[i].set_state(cri::SANDBOX_NOTREADY);
  }
  pods[1].set_state(cri::SANDBOX_READY);
  const std::vector<cri::Container> containers = {
      Container("c1", "aa11", "app", 7), Container("c2", "bb22", "app"),
      Container("c3", "bb22", "app", 1), Container("c4", "cc33", "app"),
      Container("c5", "gone", "app"),    Container("c6", "dd44", "job")};
  EXPECT_EQ(FindPod(pods, "web")->id(), "bb22");
  EXPECT_EQ(FindPod(pods, "default/web")->id(), "bb22");
  EXPECT_EQ(FindPod(pods, "aa11")->id(), "aa11") << "the id says which";
  EXPECT_EQ(FindContainer(containers, pods, "web/app")->id(), "c3");
  EXPECT_EQ(FindContainer(containers, pods, "web")->id(), "c3") << "the only one of its pod";
  EXPECT_EQ(std::get<cri::PodSandbox>(*FindPodOrContainer(pods, containers, "web")).id(), "bb22");
  EXPECT_EQ(std::get<cri::Container>(*FindPodOrContainer(pods, containers, "web/app")).id(), "c3");
  // Without one that runs, the newest.
  pods[1].set_state(cri::SANDBOX_NOTREADY);
  EXPECT_EQ(FindPod(pods, "web")->id(), "cc33");
  EXPECT_EQ(FindContainer(containers, pods, "web/app")->id(), "c4");
  // Pods of another namespace are other pods.
  pods[2].mutable_metadata()->set_namespace_("other");
  EXPECT_TRUE(absl::IsInvalidArgument(FindPod(pods, "web").status()));
  EXPECT_EQ(FindPod(pods, "other/web")->id(), "cc33");
}

}  // namespace
}  // namespace plimsoll::cli
