// The engine's calls of its hooks: each in its place, once, and everything undone after an error.
#include <thread>

#include "runtime/engine_hooks_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(EngineHooksTest, EachIsCalledInTheOrderOfALife) {
  const std::string pod = Pod();
  const std::string id = Started(pod);
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 200}}).ok());
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 300}}).ok());
  ASSERT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_THAT(plugins_.calls(),
              ElementsAre("RunSandbox pod", "CreateContainer container", "StartContainer container",
                          "UpdateContainer container", "UpdateSandbox pod", "SandboxUpdated pod",
                          "StopSandbox pod"));
  EXPECT_EQ(plugins_.makings(), 0u);
  ExpectNothingLeft();
}

TEST_F(EngineHooksTest, WithoutPluginsOnlyMakingsAreTold) {
  plugins_.is_active = false;
  size_t makings = 0;
  runtime_.on_create = [&] { makings = plugins_.makings(); };
  const std::string pod = Pod();
  const std::string id = Started(pod);
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 200}}).ok());
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 300}}).ok());
  runtime_.faults.FailNext("Create", absl::InternalError("no"));
  EXPECT_FALSE(engine_->CreateContainer(pod, Spec("b"), "").ok());
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_EQ(makings, 1u);
  EXPECT_EQ(plugins_.makings(), 0u);
  EXPECT_THAT(plugins_.calls(), IsEmpty());
}

TEST_F(EngineHooksTest, ASandboxIsSeenOnceItsHookHasEnded) {
  plugins_.on_hook = [&](const std::string& hook, const std::string& id) {
    if (hook != "RunSandbox") return;
    EXPECT_TRUE(absl::IsNotFound(engine_->GetSandbox(id).status()));
    EXPECT_TRUE(absl::IsNotFound(engine_->Picture(id).status()));
    EXPECT_TRUE(absl::IsNotFound(engine_->StopSandbox(id)));
    EXPECT_TRUE(absl::IsNotFound(engine_->CreateContainer(id, Spec(), "").status()));
    EXPECT_THAT(engine_->ListSandboxes(), IsEmpty());
    EXPECT_THAT(Told(), IsEmpty());
    EXPECT_EQ(plugins_.makings(), 1u);
    // The pod's namespaces and its control group are there.
    const HookedPod pod = plugins_.last_pod();
    EXPECT_TRUE(host_.Exists(pod.place.network_namespace.substr(1))) << pod.place.network_namespace;
    EXPECT_TRUE(cgroups_.groups().contains(pod.record.cgroup_path));
  };
  const std::string pod = Pod();
  EXPECT_EQ(plugins_.last_pod().record.id, pod);
  EXPECT_THAT(engine_->ListSandboxes(), SizeIs(1));
}

TEST_F(EngineHooksTest, APodOnTheHostsNetworkHasNoPin) {
  SandboxSpec spec = PodSpec();
  spec.namespaces.network = NamespaceMode::kNode;
  ASSERT_TRUE(engine_->RunSandbox(spec, "").ok());
  EXPECT_EQ(plugins_.last_pod().place.network_namespace, "");
}

TEST_F(EngineHooksTest, ARefusedSandboxIsUndone) {
  for (const bool shares_pid : {false, true}) {
    SandboxSpec spec = shares_pid ? SharedPid() : PodSpec();
    spec.classes = {{"net", "bronze"}};  // has room for one
    bool is_gone = false;
    plugins_.on_undo = [&](const std::string&) { is_gone = cgroups_.groups().size() <= 1; };
    plugins_.faults.FailNext("RunSandbox", absl::PermissionDeniedError("plugin 10-a: no"));
    const absl::Status refused = engine_->RunSandbox(spec, "").status();
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("plugin 10-a: no"));
    EXPECT_THAT(plugins_.calls(), ElementsAre("RunSandbox pod", "UndoSandbox pod"));
    EXPECT_TRUE(is_gone) << "the hooks are told once it is undone";
    EXPECT_EQ(plugins_.makings(), 0u);
    EXPECT_THAT(Told(), IsEmpty());
    EXPECT_THAT(net_.members, IsEmpty());
    ExpectNothingLeft();
    plugins_.Forget();
  }
  SandboxSpec spec = PodSpec();
  spec.classes = {{"net", "bronze"}};
  EXPECT_TRUE(engine_->RunSandbox(spec, "").ok()) << "a retry works";
}

TEST_F(EngineHooksTest, ASandboxThatFailsAfterItsHookIsUndone) {
  plugins_.on_hook = [&](const std::string&, const std::string&) {
    store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("disk full"));
  };
  const absl::Status failed = engine_->RunSandbox(PodSpec(), "").status();
  EXPECT_TRUE(absl::IsResourceExhausted(failed)) << failed;
  EXPECT_THAT(plugins_.calls(), ElementsAre("RunSandbox pod", "UndoSandbox pod"));
  plugins_.on_hook = nullptr;
  EXPECT_TRUE(engine_->RunSandbox(PodSpec(), "").ok());
  EXPECT_EQ(plugins_.makings(), 0u);
}

TEST_F(EngineHooksTest, ASandboxThatFailsBeforeItsHookIsNoMatterOfPlugins) {
  cgroups_.faults.FailNext("Create", absl::ResourceExhaustedError("no room"));
  EXPECT_FALSE(engine_->RunSandbox(PodSpec(), "").ok());
  EXPECT_THAT(plugins_.calls(), IsEmpty());
  EXPECT_EQ(plugins_.makings(), 0u);
}

TEST_F(EngineHooksTest, AContainerIsSeenOnceItIsMade) {
  const std::string pod = Pod();
  ContainerSpec spec = Spec("web");
  spec.kubernetes_resources = {.requests = {{"cpu", "1"}}};
  plugins_.on_hook = [&](const std::string& hook, const std::string& id) {
    if (hook != "CreateContainer") return;
    EXPECT_TRUE(absl::IsNotFound(engine_->GetContainer(id).status()));
    EXPECT_TRUE(absl::IsNotFound(engine_->UpdateForPlugin(id, {})));
    EXPECT_THAT(engine_->ListContainers(), IsEmpty());
    EXPECT_THAT(*store_.LoadContainers(), IsEmpty()) << "nothing of it exists";
    EXPECT_THAT(*runtime_.ListTraces(), IsEmpty());
    EXPECT_EQ(plugins_.makings(), 1u);
    absl::Status second;
    std::thread([&] { second = engine_->CreateContainer(pod, Spec("web"), "").status(); }).join();
    EXPECT_TRUE(absl::IsAlreadyExists(second)) << second << ": its name is taken";
    EXPECT_NE(plugins_.last_container().image, nullptr);
    const HookedPod shown = plugins_.last_pod();
    EXPECT_EQ(shown.record.id, pod);
    ASSERT_THAT(shown.picture.now.containers, SizeIs(1));
    EXPECT_EQ(shown.picture.now.containers[0].kubernetes_resources.requests.at("cpu"), "1");
  };
  const std::string id = *engine_->CreateContainer(pod, spec, "");
  EXPECT_EQ(plugins_.last_container().record.id, id);
  EXPECT_THAT(plugins_.calls(), ElementsAre("RunSandbox pod", "CreateContainer web"));
  EXPECT_EQ(plugins_.makings(), 0u);
}

TEST_F(EngineHooksTest, ARefusedContainerIsUndone) {
  const std::string pod = Pod();
  for (const char* step : {"CreateContainer", "Create", "Register", "PutCreated", "PutContainer"}) {
    plugins_.Forget();
    for (Faults* faults : {&plugins_.faults, &runtime_.faults, &cgroups_.faults, &store_.faults}) {
      const bool is_hook = faults == &plugins_.faults;
      if (is_hook != (step == std::string("CreateContainer"))) continue;
      if (step == std::string("Create") && faults != &runtime_.faults) continue;
      faults->FailNext(step, absl::InternalError("no"));
    }
    ContainerSpec spec = Spec();
    spec.classes = {{"rdt", "bronze"}};
    size_t traces = 1;
    plugins_.on_undo = [&](const std::string&) { traces = runtime_.ListTraces()->size(); };
    EXPECT_FALSE(engine_->CreateContainer(pod, spec, "").ok()) << step;
    EXPECT_THAT(plugins_.calls(),
                ElementsAre("CreateContainer container", "UndoContainer container"))
        << step;
    EXPECT_EQ(traces, 0u) << step;
    EXPECT_THAT(engine_->ListContainers(), IsEmpty()) << step;
    EXPECT_THAT(*store_.LoadContainers(), IsEmpty()) << step;
    EXPECT_THAT(rdt_.members, IsEmpty()) << step;
    EXPECT_EQ(plugins_.makings(), 0u) << step;
  }
  ContainerSpec spec = Spec();
  spec.classes = {{"rdt", "bronze"}};
  EXPECT_TRUE(engine_->CreateContainer(pod, spec, "").ok()) << "a retry works";
  EXPECT_THAT(Told(), ElementsAre("SandboxStarted default/pod", "ContainerCreated container"));
}

// Plugins are not asked about containers that could not be made in any case.
TEST_F(EngineHooksTest, TheClientsOwnMistakesAreRefusedFirst) {
  const std::string pod = Pod();
  plugins_.Forget();
  const auto refuse = [&](const char* what, const std::function<void(ContainerSpec*)>& change) {
    ContainerSpec spec = Spec();
    change(&spec);
    EXPECT_FALSE(engine_->CreateContainer(pod, spec, "").ok()) << what;
    EXPECT_THAT(plugins_.calls(), IsEmpty()) << what;
  };
  refuse("image", [](ContainerSpec* spec) { spec->image = "none"; });
  refuse("privileged", [](ContainerSpec* spec) { spec->security.privileged = true; });
  refuse("class", [](ContainerSpec* spec) { spec->classes = {{"rdt", "lead"}}; });
  refuse("device", [](ContainerSpec* spec) { spec->cdi_devices = {"vendor.com/gpu=0"}; });
  refuse("mounted image", [](ContainerSpec* spec) { spec->mounts = {{.image = "none"}}; });
  refuse("cpuset", [](ContainerSpec* spec) { spec->resources.cpuset_cpus = "4000"; });
  refuse("PID namespace",
         [](ContainerSpec* spec) { spec->security.namespaces.pid = NamespaceMode::kPod; });
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  plugins_.Forget();
  refuse("a stopped sandbox", [](ContainerSpec*) {});
  EXPECT_EQ(plugins_.makings(), 0u);
}

// No place of a class is held while plugins are asked: they may choose another.
TEST_F(EngineHooksTest, AFullClassIsRefusedBeforeTheHook) {
  const std::string pod = Pod();
  ASSERT_TRUE(Make(pod, "a", {{"rdt", "bronze"}}).ok());
  plugins_.Forget();
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "b", {{"rdt", "bronze"}}).status()));
  EXPECT_THAT(plugins_.calls(), IsEmpty());
}

TEST_F(EngineHooksTest, ARefusedStartLeavesTheContainerCreated) {
  const std::string pod = Pod();
  const std::string id = Container(pod);
  plugins_.faults.FailNext("StartContainer", absl::InternalError("plugin 10-a: not now"));
  const absl::Status refused = engine_->StartContainer(id);
  EXPECT_THAT(refused.message(), HasSubstr("plugin 10-a: not now"));
  EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kCreated);
  EXPECT_TRUE(engine_->StartContainer(id).ok()) << "a retry works";
  EXPECT_EQ(plugins_.last_container().record.id, id);
  EXPECT_THAT(Told(), ElementsAre("SandboxStarted default/pod", "ContainerCreated container",
                                  "ContainerStarted container"));
}

TEST_F(EngineHooksTest, AStartThatCannotBeIsNoMatterOfPlugins) {
  const std::string pod = Pod();
  const std::string id = Started(pod);
  runtime_.faults.FailNext("Refuse", absl::NotFoundError("no such program"));
  const std::string refused = Container(pod, "refused");
  plugins_.Forget();
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->StartContainer(id))) << "it runs already";
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->StartContainer(refused)));
  EXPECT_THAT(plugins_.calls(), IsEmpty());
}

// The hook is called without a lock of the container's.
TEST_F(EngineHooksTest, AContainerMayEndWhileItsStartIsAsked) {
  const std::string pod = Pod();
  const std::string id = Container(pod);
  plugins_.on_hook = [&](const std::string& hook, const std::string&) {
    if (hook == "StartContainer") {
      EXPECT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
    }
  };
  const absl::Status refused = engine_->StartContainer(id);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kExited);
}

TEST_F(EngineHooksTest, ARefusedUpdateChangesNothing) {
  const std::string pod = Pod();
  const std::string id = Started(pod);
  plugins_.faults.FailNext("UpdateContainer", absl::InternalError("plugin 10-a: no"));
  EXPECT_FALSE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 200}}).ok());
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.cpu_shares, std::nullopt);
  plugins_.faults.FailNext("UpdateSandbox", absl::InternalError("plugin 10-a: no"));
  const absl::Status refused =
      engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 300}});
  EXPECT_THAT(refused.message(), HasSubstr("plugin 10-a: no"));
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.resources.cpu_shares, std::nullopt);
  EXPECT_TRUE(engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 300}}).ok());
}

TEST_F(EngineHooksTest, AnUpdateThatCannotBeIsNoMatterOfPlugins) {
  const std::string pod = Pod();
  const std::string id = Started(pod);
  const std::string ended = Started(pod, "ended");
  ASSERT_TRUE(engine_->StopContainer(ended, absl::ZeroDuration()).ok());
  plugins_.Forget();
  EXPECT_FALSE(engine_->UpdateResources(ended, {.cgroup = {.cpu_shares = 200}}).ok());
  EXPECT_FALSE(engine_->UpdateResources(id, {.cgroup = {.cpuset_cpus = "4000"}}).ok());
  EXPECT_FALSE(engine_->UpdateResources(id, {.classes = {{"rdt", "lead"}}}).ok());
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  plugins_.Forget();
  EXPECT_FALSE(engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 300}}).ok());
  EXPECT_THAT(plugins_.calls(), IsEmpty());
}

TEST_F(EngineHooksTest, AFailedUpdateOfAPodIsNotToldAsDone) {
  const std::string pod = Pod();
  plugins_.Forget();
  cgroups_.faults.FailNext("Apply", absl::InternalError("no"));
  EXPECT_FALSE(engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 300}}).ok());
  EXPECT_THAT(plugins_.calls(), ElementsAre("UpdateSandbox pod"));
}

TEST_F(EngineHooksTest, HooksOfUpdatesSeeTheValuesInForce) {
  const std::string pod = Pod();
  std::map<std::string, std::optional<uint64_t>> shares;
  plugins_.on_hook = [&](const std::string& hook, const std::string&) {
    const linux::CgroupSettings now = plugins_.last_pod().record.spec.resources;
    shares[hook] = now.cpu_shares;
  };
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 300}}).ok());
  EXPECT_EQ(shares["UpdateSandbox"], std::nullopt);
  EXPECT_EQ(shares["SandboxUpdated"], 300u);
}

TEST_F(EngineHooksTest, AtTheStopOfAPodItsContainersHaveEndedAndItIsThere) {
  const std::string pod = *engine_->RunSandbox(SharedPid(), "");
  const std::string id = Started(pod);
  int stops = 0;
  plugins_.on_hook = [&](const std::string& hook, const std::string&) {
    if (hook != "StopSandbox") return;
    ++stops;
    EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kExited);
    EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kReady);
    EXPECT_TRUE(engine_->Picture(pod).ok());
    EXPECT_TRUE(engine_->ReadSandboxResources(pod).ok());
    EXPECT_TRUE(host_.Exists(plugins_.last_pod().place.network_namespace.substr(1)));
    EXPECT_EQ(Told().back(), "ContainerStopped container: Unknown, exit code 255");
  };
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_EQ(stops, 1);
}

TEST_F(EngineHooksTest, ARemovalStopsWithItsHook) {
  const std::string pod = Pod();
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_THAT(plugins_.calls(), ElementsAre("RunSandbox pod", "StopSandbox pod"));
}

TEST_F(EngineHooksTest, AStopThatIsRepeatedIsToldOnce) {
  const std::string pod = *engine_->RunSandbox(SharedPid(), "");
  cgroups_.faults.FailNext("KillAll", absl::DeadlineExceededError("it survives"));
  EXPECT_FALSE(engine_->StopSandbox(pod).ok());
  EXPECT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_THAT(plugins_.calls(), ElementsAre("RunSandbox pod", "StopSandbox pod"));
}

TEST_F(EngineHooksTest, APodStoppedWithoutPluginsIsNotStoppedForThemLater) {
  const std::string pod = Pod();
  plugins_.is_active = false;
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  plugins_.is_active = true;
  plugins_.Forget();
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  Restart();
  ASSERT_TRUE(engine_->StopSandbox(pod).ok()) << "nor after a restart";
  EXPECT_THAT(plugins_.calls(), IsEmpty());
}

// The plugins of a new daemon have been told of it, so they are told of its end.
TEST_F(EngineHooksTest, APodThatOutlivesTheDaemonIsStoppedWithItsHook) {
  const std::string pod = Pod();
  Restart();
  plugins_.Forget();
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_THAT(plugins_.calls(), ElementsAre("StopSandbox pod"));
}

}  // namespace
}  // namespace plimsoll::runtime
