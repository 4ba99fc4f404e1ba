// Resources of whole pods and as their authors wrote them, over stand-ins; tests/ asks the kernel.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_fixture_for_test.h"
#include "runtime/spec/json.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;

PodResources Announcing(const std::string& cpu) {
  AnnouncedContainer web = {.name = "container", .type = AnnouncedContainer::Type::kContainer};
  web.kubernetes_resources.limits["cpu"] = cpu;
  return {.containers = {web}};
}

class EnginePassDownTest : public EngineTest {
 protected:
  std::string Pod(SandboxSpec spec) {
    const auto pod = engine_->RunSandbox(spec, "");
    EXPECT_TRUE(pod.ok()) << pod.status();
    return pod.value_or("");
  }
  std::string Pod() {
    SandboxSpec spec = PodSpec();
    spec.pod_resources = Announcing("1");
    spec.resources.cpu_shares = 1024;
    return Pod(spec);
  }
  std::string Create(const std::string& pod, const ContainerSpec& spec) {
    const auto id = engine_->CreateContainer(pod, spec, "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  std::string FileOf(const std::string& pod) {
    return "sandboxes/" + pod + "/picture/pod-resources.json";
  }
  // The picture for hooks and wrappers; "" if there is no file.
  std::string Shown(const std::string& pod) { return run_.Read(FileOf(pod)).value_or(""); }
  SandboxSpec SpecOf(const std::string& pod) { return engine_->GetSandbox(pod)->spec; }
};

TEST_F(EnginePassDownTest, HooksAndWrappersAreShownThePicture) {
  const std::string pod = Pod();
  EXPECT_THAT(Shown(pod), HasSubstr(R"({"picture":"complete","total":{"requests":{"cpu":"1"})"));
  ContainerSpec spec = Spec();
  spec.kubernetes_resources.limits["cpu"] = "1500m";
  const std::string id = Create(pod, spec);
  const std::string now = runtime_.last_annotations["plimsoll.dev/pod-resources"];
  EXPECT_THAT(now, HasSubstr(R"("total":{"requests":{"cpu":"1500m"})"));
  EXPECT_EQ(Shown(pod), now + "\n");
  EXPECT_EQ(runtime_.last_annotations["plimsoll.dev/pod-resources-file"], run_.PathOf(FileOf(pod)));
  // The client's own annotations don't change.
  EXPECT_TRUE(engine_->GetContainer(id)->spec.annotations.empty());
  EXPECT_EQ(ToJson(*engine_->Picture(pod)) + "\n", Shown(pod));
}

TEST_F(EnginePassDownTest, TheFileFollowsEveryChange) {
  const std::string pod = Pod();
  const std::string id = Create(pod, Spec());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_
                  ->UpdateResources(
                      id, {.kubernetes_resources = KubernetesResources{.limits = {{"cpu", "2"}}}})
                  .ok());
  EXPECT_THAT(Shown(pod), HasSubstr(R"("total":{"requests":{"cpu":"2"})"));
  ContainerSpec debug = Spec("debug");
  debug.kubernetes_resources.limits["cpu"] = "1";
  const std::string other = Create(pod, debug);
  EXPECT_THAT(Shown(pod), HasSubstr(R"("total":{"requests":{"cpu":"3"})"));
  ASSERT_TRUE(engine_->RemoveContainer(other).ok());
  EXPECT_THAT(Shown(pod), HasSubstr(R"("total":{"requests":{"cpu":"2"})"));
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing("7")}).ok());
  EXPECT_THAT(Shown(pod), HasSubstr(R"("total":{"requests":{"cpu":"7"})"));
  const std::string before = Shown(pod);
  ASSERT_TRUE(run_.RemoveTree(FileOf(pod)).ok());
  StartEngine();
  EXPECT_EQ(Shown(pod), before);
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
}

TEST_F(EnginePassDownTest, WhatIsNotAsAnnouncedIsAnEvent) {
  const auto warnings = [&] {
    std::vector<std::string> messages;
    for (const Event& event : events_.Since(0)) {
      if (event.type == EventType::kWarning) messages.push_back(event.message);
    }
    return messages;
  };
  const std::string pod = Pod();
  ContainerSpec spec = Spec();
  spec.kubernetes_resources.limits["cpu"] = "1000m";
  const std::string id = Create(pod, spec);
  EXPECT_THAT(warnings(), ::testing::IsEmpty());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  // The next attempt is held to the values of the update.
  ASSERT_TRUE(engine_
                  ->UpdateResources(
                      id, {.kubernetes_resources = KubernetesResources{.limits = {{"cpu", "2"}}}})
                  .ok());
  spec.attempt = 1;
  Create(pod, spec);
  EXPECT_THAT(warnings(),
              ::testing::ElementsAre("container container is not as it was announced: request of "
                                     "cpu is 1, announced was 2; limit of cpu is 1, announced was "
                                     "2"));
}

TEST_F(EnginePassDownTest, OfAPodThatAnnouncesNothingThereIsTheAnnotationAlone) {
  const std::string pod = Pod(PodSpec());
  ContainerSpec spec = Spec();
  spec.resources.cpu_shares = 512;
  Create(pod, spec);
  EXPECT_EQ(Shown(pod), "");
  EXPECT_THAT(runtime_.last_annotations["plimsoll.dev/pod-resources"],
              HasSubstr(R"({"picture":"partial","total":{"requests":{"cpu":"500m"})"));
  EXPECT_EQ(runtime_.last_annotations.count("plimsoll.dev/pod-resources-file"), 0u);
}

TEST_F(EnginePassDownTest, WithoutTheGateNothingIsShown) {
  show_pictures_ = false;
  StartEngine();
  const std::string pod = Pod();
  Create(pod, Spec());
  EXPECT_EQ(Shown(pod), "");
  EXPECT_TRUE(runtime_.last_annotations.empty());
}

TEST_F(EnginePassDownTest, APodsUpdateIsWrittenAndKept) {
  const std::string pod = Pod();
  SandboxUpdate update;
  update.resources = {.cpu_quota_us = 200000, .memory_limit_bytes = 1 << 30};
  update.overhead.memory_limit_bytes = 4096;
  update.pod_resources = Announcing("2");
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, update).ok());
  linux::CgroupSettings with_overhead = update.resources;
  *with_overhead.memory_limit_bytes += 4096;
  EXPECT_EQ(*cgroups_.Read(engine_->GetSandbox(pod)->cgroup_path), with_overhead);
  for (int restarts = 0; restarts < 2; ++restarts) {
    const SandboxSpec spec = SpecOf(pod);
    EXPECT_EQ(spec.resources,
              (linux::CgroupSettings{
                  .cpu_shares = 1024, .cpu_quota_us = 200000, .memory_limit_bytes = 1 << 30}));
    EXPECT_EQ(spec.overhead.memory_limit_bytes, 4096);
    EXPECT_EQ(spec.pod_resources, Announcing("2"));
    StartEngine();
  }
}

TEST_F(EnginePassDownTest, WhatAnUpdateDoesNotNameStays) {
  const std::string pod = Pod();
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {}).ok());
  EXPECT_EQ(SpecOf(pod).pod_resources, Announcing("1"));
  EXPECT_EQ(SpecOf(pod).resources.cpu_shares, 1024u);
}

TEST_F(EnginePassDownTest, ARefusedUpdateOfAPodChangesNothing) {
  const std::string pod = Pod();
  SandboxUpdate update = {.resources = {.cpu_shares = 2}, .pod_resources = Announcing("2")};
  cgroups_.faults.FailNext("Apply", absl::PermissionDeniedError("cpu.weight: no"));
  const absl::Status refused = engine_->UpdateSandboxResources(pod, update);
  EXPECT_TRUE(absl::IsPermissionDenied(refused));
  EXPECT_THAT(refused.message(), HasSubstr("update sandbox " + pod + ": cpu.weight: no"));
  EXPECT_EQ(SpecOf(pod).resources.cpu_shares, 1024u);
  EXPECT_EQ(SpecOf(pod).pod_resources, Announcing("1"));
  store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("disk full"));
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->UpdateSandboxResources(pod, update)));
  EXPECT_EQ(SpecOf(pod).resources.cpu_shares, 1024u);
  StartEngine();
  EXPECT_EQ(SpecOf(pod).resources.cpu_shares, 1024u);
}

TEST_F(EnginePassDownTest, AGroupOfTheClientsMakingIsTheClientsToWrite) {
  cgroups_.AddGroup("/kubepods");
  cgroups_.AddGroup("/kubepods/pod1");
  SandboxSpec spec = PodSpec();
  spec.cgroup_parent = "/kubepods/pod1";
  const std::string pod = Pod(spec);
  const linux::CgroupSettings before = *cgroups_.Read("/kubepods/pod1");
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 7}}).ok());
  EXPECT_EQ(*cgroups_.Read("/kubepods/pod1"), before);
  EXPECT_EQ(SpecOf(pod).resources.cpu_shares, 7u);
}

TEST_F(EnginePassDownTest, APodThatEndedIsNotUpdated) {
  const std::string pod = Pod();
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  const absl::Status refused = engine_->UpdateSandboxResources(pod, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(refused.message(), HasSubstr("an update needs one that is Ready"));
  EXPECT_TRUE(absl::IsNotFound(engine_->UpdateSandboxResources("none", {})));
}

TEST_F(EnginePassDownTest, WhatTheAuthorWroteFollowsUpdatesOfAContainer) {
  const std::string pod = Pod();
  ContainerSpec spec = Spec();
  spec.kubernetes_resources.limits["cpu"] = "1.0";
  const std::string id = *engine_->CreateContainer(pod, spec, "");
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const auto written = [&] { return engine_->GetContainer(id)->spec.kubernetes_resources.limits; };
  ResourceUpdate update;
  update.cgroup.cpu_shares = 100;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(written().at("cpu"), "1.0");
  update.kubernetes_resources = KubernetesResources{.limits = {{"cpu", "2000m"}}};
  cgroups_.faults.FailNext("Apply", absl::PermissionDeniedError("cpu.weight: no"));
  EXPECT_FALSE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(written().at("cpu"), "1.0");
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(written().at("cpu"), "2000m");
}

TEST_F(EnginePassDownTest, AnUpdateThatWasCutOffIsFinishedAtTheNextStart) {
  const std::string id = Create(Pod(), Spec());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const std::string mark = "updates/" + id;
  bool marked = false;
  cgroups_.on_apply = [&] { marked = run_.Exists(mark); };
  const linux::CgroupSettings asked = {
      .cpu_shares = 100, .memory_limit_bytes = 1 << 30, .memory_swap_limit_bytes = 1 << 30};
  linux::CgroupSettings pinned = asked;
  pinned.cpuset_cpus = "0";
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = pinned}).ok());
  EXPECT_TRUE(marked);
  EXPECT_FALSE(run_.Exists(mark));
  // A kill between the row and the kernel's files.
  const std::string group = engine_->GetContainer(id)->cgroup_path;
  ASSERT_TRUE(cgroups_.Apply(group, {.cpu_shares = 2}).ok());
  StartEngine();
  EXPECT_EQ(*cgroups_.Read(group), linux::CgroupSettings{.cpu_shares = 2}) << "not without a mark";
  ASSERT_TRUE(run_.ReplaceFile(mark, "").ok());
  StartEngine();
  EXPECT_EQ(*cgroups_.Read(group), asked) << "without CPUs that this node may not give to pods";
  EXPECT_FALSE(run_.Exists(mark));
  // An update that can't be finished is reported.
  ASSERT_TRUE(run_.ReplaceFile(mark, "").ok());
  cgroups_.faults.FailNext("Apply", absl::PermissionDeniedError("memory.max: no"));
  StartEngine();
  EXPECT_THAT(engine_->RecoveryTroubles(),
              ::testing::ElementsAre(HasSubstr("finish an interrupted update: memory.max: no")));
  // The next start finishes it.
  EXPECT_TRUE(run_.Exists(mark));
  StartEngine();
  EXPECT_THAT(engine_->RecoveryTroubles(), ::testing::IsEmpty());
  EXPECT_FALSE(run_.Exists(mark));
}

TEST_F(EnginePassDownTest, ALimitThatAStartCouldNotPutBackIsByTheNext) {
  const std::string pod = Pod();
  const std::string id = Create(pod, Spec());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const std::pair<std::string, std::string> marks[] = {
      {"updates/" + id, engine_->GetContainer(id)->cgroup_path},
      {"updates/" + pod + ".room", engine_->GetSandbox(pod)->cgroup_path}};
  for (const auto& [mark, group] : marks) {
    const std::string high = group + "/memory.high";
    cgroups_.files = {{group + "/memory.current", "2147483648\n"}, {high, "1073741824"}};
    ASSERT_TRUE(run_.ReplaceFile(mark, "max").ok());
    cgroups_.faults.FailNext("WriteFile", absl::InternalError("I/O error"));
    StartEngine();
    EXPECT_EQ(cgroups_.files[high], "1073741824");
    EXPECT_TRUE(run_.Exists(mark));
    StartEngine();
    EXPECT_EQ(cgroups_.files[high], "max");
    EXPECT_FALSE(run_.Exists(mark));
  }
}

// The container is made with such files: updates take none with limits in v1.
TEST_F(EnginePassDownTest, WhereLimitsAreInVersionOneNoFileOfVersionTwoIsFinished) {
  ContainerSpec spec = Spec();
  spec.resources.unified = {{"memory.low", "4096"}};
  const std::string id = Create(Pod(), spec);
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 100}}).ok());
  const std::string group = engine_->GetContainer(id)->cgroup_path;
  const linux::CgroupSettings limits = {.cpu_shares = 100};
  linux::CgroupSettings all = limits;
  all.unified = spec.resources.unified;
  for (const auto& [machine, finished] : {std::pair(linux::CgroupLayout::kV2, all),
                                          std::pair(linux::CgroupLayout::kHybrid, limits)}) {
    cgroups_.machine = machine;
    ASSERT_TRUE(run_.ReplaceFile("updates/" + id, "").ok());
    StartEngine();
    EXPECT_EQ(*cgroups_.Read(group), finished);
    EXPECT_EQ(engine_->GetContainer(id)->spec.resources, all);
  }
}

// Changes that are legal only in sequence: memory beyond the sum of memory and swap, which stays,
// and a file written both by name and by member.
TEST_F(EnginePassDownTest, UpdatesOneAfterTheOtherAreFinishedAtOnce) {
  constexpr int64_t kMiB = 1 << 20;
  const std::string pod = Pod();
  const std::string id = Create(pod, Spec());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const std::string group = engine_->GetContainer(id)->cgroup_path;
  const std::vector<linux::CgroupSettings> updates = {
      {.memory_limit_bytes = 64 * kMiB,
       .memory_swap_limit_bytes = 64 * kMiB,
       .unified = {{"cpu.max", "50000 200000"}}},
      {.cpu_quota_us = 20000, .memory_limit_bytes = 128 * kMiB}};
  for (const linux::CgroupSettings& update : updates) {
    ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = update}).ok());
    ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.resources = update}).ok());
  }
  const linux::CgroupSettings whole = {.cpu_quota_us = 20000,
                                       .cpu_period_us = 200000,
                                       .memory_limit_bytes = 128 * kMiB,
                                       .memory_swap_limit_bytes = 128 * kMiB};
  linux::CgroupSettings of_pod = whole;
  of_pod.cpu_shares = 1024;
  EXPECT_EQ(SpecOf(pod).resources, of_pod);
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources, whole);
  ASSERT_TRUE(run_.ReplaceFile("updates/" + id, "").ok());
  StartEngine();
  EXPECT_EQ(*cgroups_.Read(group), whole);
}

// An earlier build wrote such rows, and so does a creation: the OCI runtime writes the files last.
TEST_F(EnginePassDownTest, WhatIsThereTwiceIsFinishedOnce) {
  ContainerSpec spec = Spec();
  spec.resources = {.cpu_quota_us = 20000,
                    .memory_limit_bytes = 128 << 20,
                    .memory_swap_limit_bytes = 64 << 20,
                    .unified = {{"cpu.max", "max 50000"}, {"cpuset.cpus", "0"}}};
  const std::string id = Create(Pod(), spec);
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(run_.ReplaceFile("updates/" + id, "").ok());
  StartEngine();
  EXPECT_EQ(*cgroups_.Read(engine_->GetContainer(id)->cgroup_path),
            (linux::CgroupSettings{.memory_limit_bytes = 128 << 20,
                                   .unified = {{"cpu.max", "max 50000"}}}));
}

TEST_F(EnginePassDownTest, AKillWhileMemoryIsTakenOutLeavesNoLimit) {
  const std::string id = Create(Pod(), Spec());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const std::string group = engine_->GetContainer(id)->cgroup_path;
  const std::string high = group + "/memory.high";
  const std::string mark = "updates/" + id;
  cgroups_.files = {{group + "/memory.current", "2147483648\n"}, {high, "max\n"}};
  std::string marked;
  cgroups_.on_write = [&] { marked = run_.Read(mark).value_or("no mark"); };
  ResourceUpdate update;
  update.cgroup.memory_limit_bytes = 1 << 30;
  update.shrink_memory = true;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(marked, "max");
  EXPECT_EQ(cgroups_.files[high], "max");
  EXPECT_FALSE(run_.Exists(mark));
  // A kill in between.
  cgroups_.files[high] = "1073741824";
  ASSERT_TRUE(run_.ReplaceFile(mark, marked).ok());
  StartEngine();
  EXPECT_EQ(cgroups_.files[high], "max");
  EXPECT_FALSE(run_.Exists(mark));
}

// Memory is taken out of the pod's own group, not of one that a client made.
TEST_F(EnginePassDownTest, AKillWhileMemoryIsTakenOutOfAPodLeavesNoLimit) {
  const std::string pod = Pod();
  const std::string group = engine_->GetSandbox(pod)->cgroup_path;
  const std::string high = group + "/memory.high";
  const std::string mark = "updates/" + pod + ".room";
  cgroups_.files = {{group + "/memory.current", "2147483648\n"}, {high, "max\n"}};
  std::vector<std::string> writes;
  std::string marked;
  cgroups_.on_write = [&] {
    marked = run_.Read(mark).value_or("no mark");
    writes.push_back(marked);
  };
  SandboxUpdate update = {.resources = {.memory_limit_bytes = 1 << 30}};
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, update).ok());
  EXPECT_EQ(writes.size(), 0u) << "nobody asked for it";
  update.shrink_memory = true;
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, update).ok());
  EXPECT_EQ(writes.size(), 2u) << "down, and back";
  EXPECT_EQ(marked, "max");
  EXPECT_EQ(cgroups_.files[high], "max");
  EXPECT_FALSE(run_.Exists(mark));
  // A kill in between.
  for (const bool by_update : {true, false}) {
    cgroups_.files[high] = "1073741824";
    ASSERT_TRUE(run_.ReplaceFile(mark, marked).ok());
    if (by_update) {
      EXPECT_TRUE(engine_->UpdateSandboxResources(pod, {}).ok());
    } else {
      StartEngine();
    }
    EXPECT_EQ(cgroups_.files[high], "max");
    EXPECT_FALSE(run_.Exists(mark));
  }
}

TEST_F(EnginePassDownTest, AnUpdatesAnnotationsAreKeptUntilTheNext) {
  const std::string pod = Pod();
  const std::map<std::string, std::string> annotations = {{"example.com/option", "fast"}};
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.annotations = annotations}).ok());
  EXPECT_EQ(SpecOf(pod).update_annotations, annotations);
  StartEngine();
  EXPECT_EQ(SpecOf(pod).update_annotations, annotations);
  cgroups_.faults.FailNext("Apply", absl::PermissionDeniedError("cpu.weight: no"));
  EXPECT_FALSE(engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 2}}).ok());
  EXPECT_EQ(SpecOf(pod).update_annotations, annotations);
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {}).ok());
  EXPECT_TRUE(SpecOf(pod).update_annotations.empty()) << "they are the last update's";
}

TEST_F(EnginePassDownTest, ALimitThatCouldNotBePutBackIsByTheNextUpdateOrStart) {
  const std::string id = Create(Pod(), Spec());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const std::string group = engine_->GetContainer(id)->cgroup_path;
  const std::string high = group + "/memory.high";
  const std::string mark = "updates/" + id;
  cgroups_.files = {{group + "/memory.current", "2147483648\n"}, {high, "max\n"}};
  int writes = 0;
  cgroups_.on_write = [&] {
    if (++writes == 2) cgroups_.faults.FailNext("WriteFile", absl::InternalError("I/O error"));
  };
  ResourceUpdate update;
  update.cgroup.memory_limit_bytes = 1 << 30;
  update.shrink_memory = true;
  for (const bool by_update : {true, false}) {
    writes = 0;
    const absl::Status failed = engine_->UpdateResources(id, update);
    EXPECT_THAT(std::string(failed.message()),
                HasSubstr("memory.high is 1073741824 now and could not be put back to max"));
    EXPECT_THAT(std::string(failed.message()), HasSubstr("the next update or start"));
    EXPECT_EQ(cgroups_.files[high], "1073741824");
    EXPECT_EQ(run_.Read(mark).value_or("no mark"), "max");
    if (by_update) {
      EXPECT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 100}}).ok());
    } else {
      StartEngine();
    }
    EXPECT_EQ(cgroups_.files[high], "max");
    EXPECT_FALSE(run_.Exists(mark));
  }
}

TEST_F(EnginePassDownTest, APodsUpdateThatWasCutOffIsFinishedAtTheNextStart) {
  const std::string pod = Pod();
  const std::string mark = "updates/" + pod;
  std::string marked;
  cgroups_.on_apply = [&] { marked = run_.Read(mark).value_or("no mark"); };
  const linux::CgroupSettings asked = {.memory_limit_bytes = 1 << 30};
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.resources = asked}).ok());
  cgroups_.on_apply = nullptr;
  EXPECT_EQ(marked, ToJson(asked)) << "without the pod's shares, which are nobody's to write";
  EXPECT_FALSE(run_.Exists(mark));
  // A kill between the row and the kernel's files.
  const std::string group = engine_->GetSandbox(pod)->cgroup_path;
  const linux::CgroupSettings before = {.memory_limit_bytes = 1 << 20};
  ASSERT_TRUE(cgroups_.Apply(group, before).ok());
  ASSERT_TRUE(run_.ReplaceFile(mark, marked).ok());
  StartEngine();
  EXPECT_EQ(*cgroups_.Read(group), asked);
  EXPECT_FALSE(run_.Exists(mark));
  // A kill before the row.
  ASSERT_TRUE(cgroups_.Apply(group, before).ok());
  ASSERT_TRUE(
      run_.ReplaceFile(mark, ToJson(linux::CgroupSettings{.memory_limit_bytes = 1 << 25})).ok());
  StartEngine();
  EXPECT_EQ(*cgroups_.Read(group), before);
  EXPECT_FALSE(run_.Exists(mark));
  ASSERT_TRUE(run_.ReplaceFile(mark, "{").ok());
  StartEngine();
  EXPECT_THAT(engine_->RecoveryTroubles(),
              ::testing::ElementsAre(HasSubstr("finish an interrupted update of a pod")));
}

}  // namespace
}  // namespace plimsoll::runtime
