// Containers as plugins change them: checked like a client's own spec, and told apart from it.
#include "base/wait_until_for_test.h"
#include "runtime/engine_hooks_fixture_for_test.h"
#include "runtime/spec/json.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class EngineHooksSpecTest : public EngineHooksTest {
 protected:
  // A plugin that makes this change and says so.
  void Plugin(const std::string& field, const std::function<void(ContainerSpec*)>& change) {
    plugins_.adjust = [=](ContainerSpec* spec) {
      change(spec);
      spec->changed_by.push_back({field, "", "10-a"});
    };
  }
  // The error of a creation after the hook, which names the plugin and leaves nothing.
  absl::Status Refused(const std::string& pod) {
    const absl::Status refused = engine_->CreateContainer(pod, Spec("web"), "").status();
    EXPECT_FALSE(refused.ok());
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("(plugin 10-a has changed this request: "));
    EXPECT_EQ(plugins_.calls().back(), "UndoContainer web");
    EXPECT_THAT(*store_.LoadContainers(), IsEmpty());
    EXPECT_THAT(*runtime_.ListTraces(), IsEmpty());
    EXPECT_THAT(engine_->ListContainers(), IsEmpty());
    EXPECT_EQ(plugins_.makings(), 0u);
    plugins_.adjust = nullptr;
    const auto retried = engine_->CreateContainer(pod, Spec("web"), "");
    EXPECT_TRUE(retried.ok()) << retried.status();
    if (retried.ok()) {
      EXPECT_TRUE(engine_->RemoveContainer(*retried).ok());
    }
    return refused;
  }
};

TEST_F(EngineHooksSpecTest, ItIsMadeAsPluginsWantIt) {
  const std::string pod = Pod();
  Plugin("linux.resources.memory.limit", [](ContainerSpec* spec) {
    spec->resources.memory_limit_bytes = 1 << 30;
    spec->annotations["example.com/by"] = "plugin";
    spec->extras.rlimits = {{"RLIMIT_NOFILE", 10, 20}};
  });
  const std::string id = Container(pod);
  EXPECT_EQ(runtime_.last_created.memory_limit_bytes, 1 << 30);
  EXPECT_EQ(runtime_.last_annotations["example.com/by"], "plugin");
  const ContainerSpec spec = engine_->GetContainer(id)->spec;
  EXPECT_THAT(spec.extras.rlimits, SizeIs(1));
  EXPECT_THAT(spec.changed_by,
              ElementsAre(PluginChange{"linux.resources.memory.limit", "", "10-a"}));
  EXPECT_EQ(store_.LoadContainers()->front().spec, spec);
  Restart();
  EXPECT_EQ(engine_->GetContainer(id)->spec, spec);
}

TEST_F(EngineHooksSpecTest, WhatIsTheClientsAloneStays) {
  const std::string pod = Pod();
  Plugin("args", [](ContainerSpec* spec) {
    spec->name = "other";
    spec->attempt = 7;
    spec->image = "other";
    spec->log_path = "/etc/passwd";
    spec->kubernetes_resources.requests["cpu"] = "8";
    spec->said = {8, 9};
    spec->args = {"a"};
  });
  const ContainerRecord record = *engine_->GetContainer(Container(pod, "web"));
  EXPECT_EQ(record.spec.name, "web");
  EXPECT_EQ(record.spec.attempt, 0u);
  EXPECT_EQ(record.spec.image, "busybox");
  EXPECT_EQ(record.spec.log_path, "");
  EXPECT_TRUE(record.spec.kubernetes_resources.empty());
  EXPECT_EQ(record.spec.said.resources, 0u);
  EXPECT_THAT(record.spec.args, ElementsAre("a"));
}

TEST_F(EngineHooksSpecTest, ACpusetOfPluginsObeysThePartition) {
  NodeShare share = {.cpus = *resources::CpuSet::Parse("2-5"),
                     .memory_nodes = *resources::CpuSet::Parse("0"),
                     .is_whole = false};
  engine_->SetNodeShare(share);
  const std::string pod = Pod();
  Plugin("linux.resources.cpu.cpus",
         [](ContainerSpec* spec) { spec->resources.cpuset_cpus = "4-9"; });
  const std::string id = Container(pod, "clipped");
  EXPECT_EQ(runtime_.last_created.cpuset_cpus, "4-5");
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.cpuset_cpus, "4-9") << "its own";
  // It follows the share as a container does that asked for those CPUs itself.
  share.cpus = *resources::CpuSet::Parse("2-7");
  engine_->SetNodeShare(share);
  const std::string group = engine_->GetContainer(id)->cgroup_path;
  EXPECT_TRUE(WaitUntil([&] { return cgroups_.cpuset(group).first == "4-7"; }));
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
}

TEST_F(EngineHooksSpecTest, ACpusetOutsideThePartitionIsRefusedToPlugins) {
  engine_->SetNodeShare({.cpus = *resources::CpuSet::Parse("0"),
                         .memory_nodes = *resources::CpuSet::Parse("0"),
                         .is_whole = false});
  engine_->RefuseOutsideShare(true);
  Plugin("linux.resources.cpu.cpus",
         [](ContainerSpec* spec) { spec->resources.cpuset_cpus = "0-1"; });
  EXPECT_THAT(std::string(Refused(Pod()).message()),
              AllOf(HasSubstr("CPUs 1 are outside"), HasSubstr("linux.resources.cpu.cpus")));
}

TEST_F(EngineHooksSpecTest, AllThatAClientMayNotAskForIsRefused) {
  const std::string pod = Pod();
  Plugin("linux.resources.cpu.cpus",
         [](ContainerSpec* spec) { spec->resources.cpuset_cpus = "4000"; });
  EXPECT_TRUE(absl::IsInvalidArgument(Refused(pod)));
  Plugin("linux.resources.rdt_class", [](ContainerSpec* spec) { spec->classes["rdt"] = "lead"; });
  EXPECT_TRUE(absl::IsNotFound(Refused(pod)));
  Plugin("CDI_devices", [](ContainerSpec* spec) { spec->cdi_devices = {"vendor.com/gpu=0"}; });
  EXPECT_TRUE(absl::IsUnimplemented(Refused(pod)));
  Plugin("CDI_devices",
         [](ContainerSpec* spec) { spec->cdi_devices = {"classes.plimsoll.dev/rdt=gold"}; });
  EXPECT_TRUE(absl::IsInvalidArgument(Refused(pod)));
  Plugin("mounts", [](ContainerSpec* spec) { spec->mounts.push_back({.image = "none"}); });
  EXPECT_TRUE(absl::IsNotFound(Refused(pod)));
  Plugin("privileged", [](ContainerSpec* spec) { spec->security.privileged = true; });
  EXPECT_TRUE(absl::IsInvalidArgument(Refused(pod)));
  cgroups_.faults.FailNext("Register", absl::InternalError("no"));
  Plugin("env", [](ContainerSpec* spec) { spec->environment = {{"A", "1"}}; });
  EXPECT_TRUE(absl::IsInternal(Refused(pod))) << "later errors name it too";
}

TEST_F(EngineHooksSpecTest, AFullClassIsRefusedToPlugins) {
  const std::string pod = Pod();
  ASSERT_TRUE(Make(pod, "a", {{"rdt", "bronze"}}).ok());  // has room for one
  Plugin("linux.resources.rdt_class", [](ContainerSpec* spec) { spec->classes["rdt"] = "bronze"; });
  const absl::Status refused = engine_->CreateContainer(pod, Spec("b"), "").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("plugin 10-a"));
}

TEST_F(EngineHooksSpecTest, AClassOfPluginsIsTheContainers) {
  const std::string pod = Pod();
  Plugin("linux.resources.rdt_class", [](ContainerSpec* spec) { spec->classes["rdt"] = "silver"; });
  // The place of the client's own class stays free.
  const std::string id = *Make(pod, "a", {{"rdt", "bronze"}});
  EXPECT_EQ(rdt_.members[id], "silver");
  plugins_.adjust = nullptr;
  EXPECT_TRUE(Make(pod, "b", {{"rdt", "bronze"}}).ok());
}

TEST_F(EngineHooksSpecTest, ItsGroupLiesBelowThePods) {
  const std::string pod = Pod();
  const std::string parent = engine_->GetSandbox(pod)->cgroup_path;
  const auto wish = [this](const std::string& group) {
    Plugin("linux.cgroups_path", [=](ContainerSpec* spec) { spec->extras.cgroups_path = group; });
  };
  for (const std::string& wrong :
       {std::string("/"), std::string("/elsewhere/x"), parent, parent + "/a/b",
        parent + "/../other/x", parent + "/pause-" + pod}) {
    wish(wrong);
    const absl::Status refused = Refused(pod);
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << wrong << ": " << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("linux.cgroups_path"));
  }
  cgroups_.AddGroup(parent + "/there");
  wish(parent + "/there");
  EXPECT_THAT(std::string(Refused(pod).message()), HasSubstr("exists already"));
  ASSERT_TRUE(cgroups_.Remove(parent + "/there").ok());

  wish(parent + "/mine");
  const std::string id = Container(pod, "web");
  EXPECT_EQ(engine_->GetContainer(id)->cgroup_path, parent + "/mine");
  EXPECT_TRUE(cgroups_.groups().contains(parent + "/mine"));
  const absl::Status second = engine_->CreateContainer(pod, Spec("b"), "").status();
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr(id));
  Restart();
  EXPECT_FALSE(engine_->CreateContainer(pod, Spec("b"), "").ok()) << "nor after a restart";
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  EXPECT_TRUE(engine_->CreateContainer(pod, Spec("b"), "").ok()) << "it is free again";
}

TEST_F(EngineHooksSpecTest, PodsWithOneCgroupParentShareNoGroup) {
  std::vector<std::string> pods;
  for (const char* name : {"a", "b"}) {
    SandboxSpec spec = PodSpec(name);
    spec.cgroup_parent = "/shared";
    pods.push_back(*engine_->RunSandbox(spec, ""));
  }
  Plugin("linux.cgroups_path",
         [](ContainerSpec* spec) { spec->extras.cgroups_path = "/shared/mine"; });
  const std::string id = Started(pods[0]);
  ASSERT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
  Restart();
  const absl::Status second = engine_->CreateContainer(pods[1], Spec("web"), "").status();
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr(id));
}

// The picture says what was asked for (KEP-4112): a plugin that reads it must not find its own
// words.
TEST_F(EngineHooksSpecTest, PicturesKeepTheClientsWord) {
  const std::string pod = Pod();
  Plugin("mounts", [](ContainerSpec* spec) {
    spec->resources.cpu_shares = 4096;
    spec->mounts.insert(spec->mounts.begin(), {.container_path = "/p", .host_path = "/plugins"});
    spec->devices = {{"/dev/p", "/dev/p", "rw"}};
  });
  ContainerSpec spec = Spec("web");
  spec.resources.cpu_shares = 1024;
  spec.mounts = {{.container_path = "/c", .host_path = "/clients"}};
  const std::string id = *engine_->CreateContainer(pod, spec, "");
  const auto expect_asked = [&] {
    const PodPicture picture = *engine_->Picture(pod);
    ASSERT_THAT(picture.now.containers, SizeIs(1));
    const AnnouncedContainer& web = picture.now.containers[0];
    EXPECT_EQ(web.kubernetes_resources.requests.at("cpu"), "1") << "by linux";
    ASSERT_THAT(web.mounts, SizeIs(1));
    EXPECT_EQ(web.mounts[0].container_path, "/c");
    EXPECT_THAT(web.devices, IsEmpty());
  };
  expect_asked();
  const std::string shown = runtime_.last_annotations["plimsoll.dev/pod-resources"];
  EXPECT_EQ(shown, ToJson(*engine_->Picture(pod)));
  EXPECT_EQ(runtime_.last_created.cpu_shares, 4096u) << "the container has the plugin's";
  ASSERT_TRUE(engine_->UpdateForPlugin(id, {.cgroup = {.cpu_shares = 512}}).ok());
  expect_asked();
  Restart();
  expect_asked();
  // The client's next word counts.
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 2048}}).ok());
  EXPECT_EQ(engine_->Picture(pod)->now.containers[0].kubernetes_resources.requests.at("cpu"), "2");
}

TEST_F(EngineHooksSpecTest, AnnouncementsAreComparedWithTheClientsWord) {
  SandboxSpec pod = PodSpec();
  AnnouncedContainer web = {.name = "web", .type = AnnouncedContainer::Type::kContainer};
  web.mounts = {{.container_path = "/c", .host_path = "/clients"}};
  pod.pod_resources.containers = {web};
  const std::string id = *engine_->RunSandbox(pod, "");
  Plugin("mounts", [](ContainerSpec* spec) {
    spec->mounts.push_back({.container_path = "/p", .host_path = "/plugins"});
  });
  ContainerSpec spec = Spec("web");
  spec.mounts = {{.container_path = "/c", .host_path = "/clients"}};
  ASSERT_TRUE(engine_->CreateContainer(id, spec, "").ok());
  for (const Event& event : events_.Since(0)) {
    EXPECT_THAT(event.message, Not(HasSubstr("not as it was announced")));
  }
}

TEST_F(EngineHooksSpecTest, APluginIsNoContradictionOfTheAuthor) {
  const std::string pod = Pod();
  Plugin("linux.resources.cpu.shares",
         [](ContainerSpec* spec) { spec->resources.cpu_shares = 4096; });
  ContainerSpec spec = Spec("web");
  spec.resources.cpu_shares = 1024;
  spec.kubernetes_resources.requests["cpu"] = "1";
  const std::string id = *engine_->CreateContainer(pod, spec, "");
  ASSERT_TRUE(engine_->UpdateForPlugin(id, {.cgroup = {.cpu_shares = 512}}).ok());
  for (const Event& event : events_.Since(0)) {
    EXPECT_THAT(event.message, Not(HasSubstr("contradict")));
  }
}

TEST_F(EngineHooksSpecTest, AnUpdateIsMadeAsPluginsWantIt) {
  const std::string pod = Pod();
  const std::string id = Started(pod);
  plugins_.adjust_update = [](ResourceUpdate* update) {
    update->cgroup.cpu_shares = 4096;
    update->cgroup.pids_limit = 7;
    update->classes["rdt"] = "gold";
    update->kubernetes_resources.reset();
    update->changed_by = {{"linux.resources.pids", "", "10-a"}};
  };
  KubernetesResources written;
  written.requests["cpu"] = "2";
  ASSERT_TRUE(
      engine_
          ->UpdateResources(id, {.cgroup = {.cpu_shares = 2048}, .kubernetes_resources = written})
          .ok());
  const ContainerSpec spec = engine_->GetContainer(id)->spec;
  EXPECT_EQ(spec.resources.cpu_shares, 4096u);
  EXPECT_EQ(spec.resources.pids_limit, 7);
  EXPECT_EQ(spec.kubernetes_resources, written) << "no plugin's to change";
  EXPECT_THAT(spec.changed_by, ElementsAre(PluginChange{"linux.resources.pids", "", "10-a"}));
  EXPECT_EQ(rdt_.members[id], "gold");
  ASSERT_TRUE(spec.asked.has_value());
  EXPECT_EQ(spec.asked->resources.cpu_shares, 2048u);
  EXPECT_EQ(spec.asked->resources.pids_limit, std::nullopt);
  // The client's own word on that field ends the plugin's.
  plugins_.adjust_update = nullptr;
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.pids_limit = 9}}).ok());
  EXPECT_THAT(engine_->GetContainer(id)->spec.changed_by, IsEmpty());
}

TEST_F(EngineHooksSpecTest, ARefusedUpdateNamesThePluginsThatChangedIt) {
  const std::string id = Started(Pod());
  plugins_.adjust_update = [](ResourceUpdate* update) {
    update->cgroup.cpuset_cpus = "4000";
    update->changed_by = {{"linux.resources.cpu.cpus", "", "10-a"}};
  };
  const absl::Status refused = engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 2048}});
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("(plugin 10-a has changed this request: linux.resources.cpu.cpus)"));
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.cpu_shares, std::nullopt);
}

TEST_F(EngineHooksSpecTest, AnOomScoreThatCannotBeHadIsRefused) {
  runtime_.known.emplace();
  runtime_.known->lowers_oom_score_adj = false;
  const std::string pod = Pod();
  Plugin("linux.oom_score_adj", [](ContainerSpec* spec) { spec->oom_score_adj = -500; });
  ContainerSpec spec = Spec("web");
  const auto expect_refusal = [](const absl::Status& refused) {
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("plugin 10-a: linux.oom_score_adj can't be had here"));
  };
  expect_refusal(engine_->CreateContainer(pod, spec, "").status());
  spec.oom_score_adj = -500;
  const auto id = engine_->CreateContainer(pod, spec, "");
  ASSERT_TRUE(id.ok()) << id.status() << ": the client asks for it too";
  const ResourceUpdate update = {.oom_score_adj = -600,
                                 .changed_by = {{"linux.oom_score_adj", "", "10-a"}}};
  expect_refusal(engine_->UpdateForPlugin(*id, update));
}

TEST_F(EngineHooksSpecTest, UpdatesOfPluginsChangeClassesAndCallNoHook) {
  const std::string pod = Pod();
  const std::string created = Container(pod, "created");
  const std::string running = Started(pod, "running");
  plugins_.Forget();
  ASSERT_TRUE(engine_->UpdateForPlugin(created, {.classes = {{"rdt", "gold"}}}).ok());
  ASSERT_TRUE(engine_->UpdateForPlugin(running, {.classes = {{"rdt", "silver"}}}).ok());
  EXPECT_EQ(rdt_.members[created], "gold");
  EXPECT_EQ(rdt_.members[running], "silver");
  EXPECT_EQ(engine_->ContainerClasses(running, false)->at("rdt").name, "silver");
  EXPECT_TRUE(absl::IsNotFound(engine_->UpdateForPlugin(running, {.classes = {{"rdt", "lead"}}})));
  KubernetesResources written;
  written.requests["cpu"] = "2";
  ASSERT_TRUE(engine_->UpdateForPlugin(running, {.kubernetes_resources = written}).ok());
  EXPECT_TRUE(engine_->GetContainer(running)->spec.kubernetes_resources.empty());
  ASSERT_TRUE(engine_->StopContainer(running, absl::ZeroDuration()).ok());
  const absl::Status ended = engine_->UpdateForPlugin(running, {.cgroup = {.cpu_shares = 2}});
  EXPECT_TRUE(absl::IsFailedPrecondition(ended)) << ended;
  EXPECT_THAT(plugins_.calls(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime
