// For every N: the Nth action of a call fails. Then the call reports it, nothing is left behind,
// and the same call works the next time.
#include <optional>
#include <string>

#include "faults/faults_fixture.h"
#include "image/image_for_test.h"
#include "image/registry_for_test.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(FaultsTest, RunSandbox) {
  FailEach({.call = [&] { return engine_->RunSandbox(PodSpec(), "client").status(); },
            .undo =
                [&] {
                  for (const auto& pod : engine_->ListSandboxes()) {
                    ExpectOk(engine_->RemoveSandbox(pod.id));
                  }
                }});
}

TEST_F(FaultsTest, RunSandboxAndItsUndo) {
  FailEachUndo({.call = [&] { return engine_->RunSandbox(PodSpec(), "client").status(); },
                .undo =
                    [&] {
                      for (const auto& pod : engine_->ListSandboxes()) {
                        ExpectOk(engine_->RemoveSandbox(pod.id));
                      }
                    }});
}

TEST_F(FaultsTest, StopSandbox) {
  std::string pod;
  FailEach({.prepare = [&] { pod = RunPod(); },
            .call = [&] { return engine_->StopSandbox(pod); },
            .undo = [&] { ExpectOk(engine_->RemoveSandbox(pod)); },
            .leaves_nothing = false});
}

TEST_F(FaultsTest, UpdateSandboxResources) {
  std::string pod;
  linux::CgroupSettings before;
  const auto held = [&] { return *Cgroups().Read(engine_->GetSandbox(pod)->cgroup_path); };
  FailEach({.prepare =
                [&] {
                  pod = RunPod();
                  before = held();
                },
            .call =
                [&] {
                  const absl::Status updated = engine_->UpdateSandboxResources(
                      pod, {.resources = {.cpu_shares = 300,
                                          .cpu_quota_us = 50000,
                                          .memory_limit_bytes = 128 << 20}});
                  EXPECT_EQ(held() == before, !updated.ok());
                  EXPECT_EQ(engine_->GetSandbox(pod)->spec.resources == PodSpec().resources,
                            !updated.ok());
                  return updated;
                },
            .undo = [&] { ExpectOk(engine_->RemoveSandbox(pod)); }});
}

TEST_F(FaultsTest, RemoveSandbox) {
  ImportBusybox();
  std::string pod = RunPod();
  MakeGroups(pod);
  ExpectOk(engine_->RemoveSandbox(pod));
  FailEach({.prepare =
                [&] {
                  pod = RunPod();
                  Start(pod);
                },
            .call = [&] { return engine_->RemoveSandbox(pod); },
            .undo = [&] { EXPECT_THAT(engine_->ListSandboxes(), IsEmpty()); },
            .leaves_nothing = false});
}

// A network plugin keeps a file for each pod in the state directory, where a leftover shows.
class NetworkFaultsTest : public FaultsTest {
 protected:
  void OpenNetwork(const FsRoot& state) override {
    const std::string leases = state.PathOf("leases");
    for (const char* name : {"bin", "conf", "state/leases"}) {
      ASSERT_TRUE(dir_.root().MakeDirs(name, 0755).ok());
    }
    const std::string script = absl::StrCat(
        "#!/bin/sh\ncat > /dev/null\ncase $CNI_COMMAND in\nADD) : > ", leases,
        "/$CNI_CONTAINERID; echo '{\"ips\": [{\"address\": \"10.1.0.5/16\"}]}';;\nDEL) rm -f ",
        leases, "/$CNI_CONTAINERID;;\nesac\n");
    ASSERT_TRUE(dir_.root().ReplaceFile("bin/lease", script, 0755).ok());
    ASSERT_TRUE(
        dir_.root()
            .ReplaceFile("conf/10.conf", R"({"cniVersion": "1.0.0", "name": "n", "type": "lease"})")
            .ok());
    network::Options options{.host = Host(), .state = state};
    options.config_directory = dir_.path() + "/conf";
    options.plugin_directories = {dir_.path() + "/bin"};
    auto network = network::Network::Open(std::move(options));
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
  }
  void RemoveAll() {
    for (const auto& pod : engine_->ListSandboxes()) ExpectOk(engine_->RemoveSandbox(pod.id));
  }
};

TEST_F(NetworkFaultsTest, RunSandbox) {
  // The first look watches the directory, and the watch stays.
  ExpectOk(network_->Ready());
  FailEach({.call = [&] { return engine_->RunSandbox(PodSpec(), "client").status(); },
            .undo = [&] { RemoveAll(); }});
}

TEST_F(NetworkFaultsTest, RunSandboxAndItsUndo) {
  ExpectOk(network_->Ready());
  FailEachUndo({.call = [&] { return engine_->RunSandbox(PodSpec(), "client").status(); },
                .undo = [&] { RemoveAll(); }});
}

TEST_F(NetworkFaultsTest, StopSandbox) {
  ExpectOk(network_->Ready());
  std::string pod;
  FailEach({.prepare = [&] { pod = RunPod(); },
            .call = [&] { return engine_->StopSandbox(pod); },
            .undo = [&] { ExpectOk(engine_->RemoveSandbox(pod)); },
            .leaves_nothing = false});
}

TEST_F(ContainerFaultsTest, CreateContainer) {
  FailEach({.call = [&] { return engine_->CreateContainer(pod_, Spec(), "client").status(); },
            .undo = [&] { RemoveContainers(); }});
}

TEST_F(ContainerFaultsTest, CreateContainerAndItsUndo) {
  FailEachUndo({.call = [&] { return engine_->CreateContainer(pod_, Spec(), "client").status(); },
                .undo = [&] { RemoveContainers(); }});
}

// A failed start uses the container up, by the CRI: the next try is another container.
TEST_F(ContainerFaultsTest, StartContainer) {
  FailEach({.prepare = [&] { id_ = Create(pod_); },
            .call = [&] { return engine_->StartContainer(id_); },
            .undo = [&] { RemoveContainers(); },
            .leaves_nothing = false,
            .retry =
                [&] {
                  RemoveContainers();
                  id_ = Create(pod_);
                  return engine_->StartContainer(id_);
                }});
}

// If removing an exec's group failed, it goes with the container.
TEST_F(ContainerFaultsTest, Exec) {
  FailEach({.prepare = [&] { id_ = Start(pod_); },
            .call =
                [&] {
                  auto result = engine_->commands().ExecSync(
                      id_, {.argv = {"/bin/echo", "hello"}, .timeout = absl::Seconds(60)});
                  EXPECT_TRUE(!result.ok() || result->out == "hello\n");
                  return result.status();
                },
            .undo = [&] { RemoveContainers(); }});
}

TEST_F(ContainerFaultsTest, StopContainer) {
  FailEach({.prepare = [&] { id_ = Start(pod_); },
            .call = [&] { return engine_->StopContainer(id_, absl::ZeroDuration()); },
            .undo =
                [&] {
                  const auto record = engine_->GetContainer(id_);
                  EXPECT_TRUE(record.ok() && record->state == runtime::ContainerState::kExited &&
                              record->exit_code == 137)
                      << record.status();
                  RemoveContainers();
                },
            .leaves_nothing = false});
}

TEST_F(ContainerFaultsTest, RemoveContainer) {
  FailEach({.prepare = [&] { id_ = Start(pod_); },
            .call = [&] { return engine_->RemoveContainer(id_); },
            .undo = [&] { EXPECT_THAT(engine_->ListContainers(), IsEmpty()); },
            .leaves_nothing = false});
}

TEST_F(ContainerFaultsTest, UpdateResources) {
  linux::CgroupSettings before;
  FailEach({.prepare =
                [&] {
                  id_ = Start(pod_);
                  before = engine_->ReadResources(id_)->cgroup;
                },
            .call =
                [&] {
                  const absl::Status updated =
                      engine_->UpdateResources(id_, {.cgroup = {.cpu_shares = 300,
                                                                .cpu_quota_us = 50000,
                                                                .memory_limit_bytes = 64 << 20},
                                                     .oom_score_adj = 1000});
                  const auto now = engine_->ReadResources(id_);
                  EXPECT_EQ(now->cgroup == before, !updated.ok());
                  EXPECT_EQ(now->oom_score_adj == 1000, updated.ok());
                  EXPECT_EQ(engine_->GetContainer(id_)->spec.oom_score_adj == 1000, updated.ok());
                  return updated;
                },
            .undo = [&] { RemoveContainers(); }});
}

class ImageFaultsTest : public FaultsTest {
 protected:
  void SetUp() override {
    FaultsTest::SetUp();
    engine_.reset();  // it would use the images below
  }
  // Leftovers in work/ go when the store is opened again, a layer with the next garbage collection.
  void RemoveImages() {
    for (const auto& image : images_->List()) ExpectOk(images_->Remove(image.record.id));
    images_.reset();
    auto images = image::ImageService::Open(*FsRoot::Open(dir_.path() + "/state/images"),
                                            store_.get(), {.host = Host()});
    ASSERT_TRUE(images.ok()) << images.status();
    images_ = *std::move(images);
    ExpectOk(images_->CollectGarbage());
  }
};

TEST_F(ImageFaultsTest, Import) {
  FailEach({.call = [&] { return images_->Import(rootfs_, "busybox", nullptr).status(); },
            .undo = [&] { RemoveImages(); }});
}

TEST_F(ImageFaultsTest, Pull) {
  if (!FindProgram("docker-registry").ok()) {
    GTEST_SKIP() << "no docker-registry here: apt-get install docker-registry";
  }
  const FsRoot place = *FsRoot::OpenOrCreate(dir_.path() + "/registry");
  const image::Registry registry(place, /*with_password=*/false);
  image::TestLayout layout;
  layout.List(layout.AddImage({image::TarBuilder().File("bin/hello", "hi").Build(),
                               image::TarBuilder().File("etc/motd", "moored").Build()}),
              "v1");
  layout.WriteTo(place, "layout");
  const std::string name = registry.Name("hello:v1");
  ASSERT_TRUE(RunChecked({.argv = {"/usr/bin/skopeo", "--insecure-policy", "copy",
                                   "--dest-tls-verify=false",
                                   absl::StrCat("oci:", place.PathOf("layout"), ":v1"),
                                   absl::StrCat("docker://", name)}})
                  .ok());
  FailEach(
      {.call = [&] { return images_->Pull(name, {.insecure_registry = true}, nullptr).status(); },
       .undo = [&] { RemoveImages(); },
       .waits_for_threads = true});
}

}  // namespace
}  // namespace plimsoll::testing
