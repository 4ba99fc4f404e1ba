// The engine's readings for statistics and metrics, beside those of control groups.
#include "absl/strings/str_cat.h"
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

class EngineCountersTest : public EngineTest {
 protected:
  // Writes a file of the container's group.
  void Put(const std::string& id, const char* file, const std::string& text) {
    cgroups_.files[absl::StrCat(engine_->GetContainer(id)->cgroup_path, "/", file)] = text;
  }
};

TEST_F(EngineCountersTest, APodsLinksAreItsOwn) {
  SandboxSpec on_host = PodSpec("on-host");
  on_host.namespaces.network = NamespaceMode::kNode;
  const std::string own = *engine_->RunSandbox(PodSpec(), "");
  const std::string host = *engine_->RunSandbox(on_host, "");
  std::vector<Readings::Links> links = engine_->readings().SandboxLinks({host, own, "none"});
  ASSERT_THAT(links, SizeIs(3));
  ASSERT_TRUE(links[0].ok()) << links[0].status();
  EXPECT_THAT(*links[0], IsEmpty());
  ASSERT_TRUE(links[1].ok()) << links[1].status();
  ASSERT_THAT(*links[1], SizeIs(1)) << "nobody has given it another";
  EXPECT_EQ(links[1]->front().name, "lo");
  EXPECT_TRUE(absl::IsNotFound(links[2].status())) << links[2].status();

  ASSERT_TRUE(engine_->StopSandbox(own).ok());
  links = engine_->readings().SandboxLinks({own});
  EXPECT_TRUE(absl::IsFailedPrecondition(links.front().status())) << links.front().status();
  EXPECT_THAT(engine_->readings().SandboxLinks({}), IsEmpty());
}

TEST_F(EngineCountersTest, AContainersAreOfAllThatCounts) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  cgroups_.oom_kills = 3;
  Put(id, "memory.stat", "file 700");
  Put(id, "io.stat", "4095:1048575 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0");
  const auto counters = engine_->readings().Counters(id);
  ASSERT_TRUE(counters.ok()) << counters.status();
  EXPECT_EQ(counters->more.cache_bytes, 700u);
  EXPECT_EQ(counters->oom_kills, 3u);
  EXPECT_THAT(counters->devices,
              ElementsAre(Pair(linux::DeviceNumber{4095, 1048575}, "4095:1048575")))
      << "there is no disk of that number";
  EXPECT_EQ(counters->processes, 0u) << "the stand-in's groups have none";
  EXPECT_EQ(counters->tasks, linux::TaskStates());
  EXPECT_EQ(counters->open_files, linux::OpenFiles());
  EXPECT_GT(counters->max_open_files.value_or(0), 0u);
}

TEST_F(EngineCountersTest, WhoHasNotUsedADiskHasUsedNoneOfIt) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  const auto counters = engine_->readings().Counters(id);
  ASSERT_TRUE(counters.ok()) << counters.status();
  ASSERT_THAT(counters->more.io, SizeIs(1));
  const linux::DeviceIo& io = counters->more.io.front();
  EXPECT_EQ(io, linux::DeviceIo{.device = io.device});
  EXPECT_TRUE(counters->devices.contains(io.device));
}

TEST_F(EngineCountersTest, WhatHasEndedIsNotCounted) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  runtime_.EndMonitor(id, ExitRecord{0, 1});
  Wait(id);
  const absl::Status ended = engine_->readings().Counters(id).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()),
              HasSubstr("is Exited; counting its use needs one that is Created or Running"));
  EXPECT_TRUE(absl::IsNotFound(engine_->readings().Counters("none").status()));
}

TEST_F(EngineCountersTest, TheLayersFileSystemIsThatOfTheState) {
  const auto file_system = engine_->readings().WritableLayersFileSystem();
  ASSERT_TRUE(file_system.ok()) << file_system.status();
  EXPECT_THAT(file_system->device, Not(IsEmpty()));
  EXPECT_GT(file_system->bytes, 0u);
  EXPECT_LE(file_system->inodes_free, file_system->inodes);
}

}  // namespace
}  // namespace plimsoll::runtime
