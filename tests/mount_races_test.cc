// A container swaps a name of its volume for a symbolic link in a loop: what was checked is what is
// mounted, labelled and written to, never what the name leads to a moment later.
#include <sys/mount.h>
#include <unistd.h>

#include <functional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/swap_loop_for_test.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/namespaces/mounts.h"
#include "linux/namespaces/other_namespaces_for_test.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kAttack = absl::Seconds(4);
// Most creations are refused. On a slow machine all those of kAttack may be.
const absl::Duration kPatience = Patience(absl::Minutes(1));

class MountRacesTest : public NodeTest {
 protected:
  MountRacesTest() {
    EXPECT_TRUE(Host().MakeDirs(volume_ + "/d", 0755).ok());
    EXPECT_TRUE(Host().MakeDirs(secret_, 0755).ok());
    EXPECT_TRUE(Host().ReplaceFile(volume_ + "/d/mark", "own\n", 0644).ok());
    EXPECT_TRUE(Host().ReplaceFile(volume_ + "/f", "own\n", 0644).ok());
    EXPECT_TRUE(Host().ReplaceFile(secret_ + "/mark", "secret\n", 0644).ok());
    EXPECT_EQ(symlink(secret_.c_str(), (volume_ + "/e").c_str()), 0);
    EXPECT_EQ(symlink((secret_ + "/mark").c_str(), (volume_ + "/g").c_str()), 0);
  }
  // A mount of its own, so that a mount's propagation is a check that it passes or fails.
  static void MakeMount(const std::string& path, unsigned long propagation) {
    ASSERT_EQ(mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr), 0);
    ASSERT_EQ(mount(nullptr, path.c_str(), nullptr, propagation, nullptr), 0);
  }
  static cri::Mount* AddMount(cri::ContainerConfig* config, const std::string& from,
                              const std::string& to) {
    cri::Mount* added = config->add_mounts();
    added->set_host_path(from);
    added->set_container_path(to);
    return added;
  }
  // Makes containers from `config` for a while; `of` each that could be made. The first of these is
  // waited for, and there is a failure if none comes. A refusal is FAILED_PRECONDITION, or
  // `expected`.
  void Attack(
      const std::string& pod, cri::ContainerConfig config,
      const std::function<void(const std::string& id)>& of,
      const std::function<bool(const grpc::Status&)>& expected = [](const auto&) {
        return false;
      }) {
    int made = 0;
    const absl::Time start = absl::Now();
    for (uint32_t attempt = 0;
         absl::Now() < start + (made > 0 ? kAttack : kPatience) && !HasFailure(); ++attempt) {
      config.mutable_metadata()->set_attempt(attempt);
      std::string id;
      const grpc::Status status = TryCreate(pod, config, &id);
      if (!status.ok()) {
        EXPECT_TRUE(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION ||
                    expected(status))
            << status.error_message();
        continue;
      }
      ++made;
      of(id);
      EXPECT_TRUE(RemoveContainer(id).ok());
    }
    EXPECT_GT(made, 0);
  }

  const std::string volume_ = node_.directory() + "/volume";
  const std::string secret_ = node_.directory() + "/secret";
};

TEST_F(MountRacesTest, TheDirectoryThatWasCheckedIsMounted) {
  MakeMount(volume_, MS_SHARED);
  MakeMount(secret_, MS_PRIVATE);
  const absl::Cleanup unmount = [&] {
    linux::UnmountBelow(Host(), volume_).IgnoreError();
    linux::UnmountBelow(Host(), secret_).IgnoreError();
  };
  cri::ContainerConfig config = Shell("cat /v/mark /f");
  // Refused for the link's target, whose mount is private.
  AddMount(&config, volume_ + "/d", "/v")->set_propagation(cri::PROPAGATION_HOST_TO_CONTAINER);
  AddMount(&config, volume_ + "/f", "/f")->set_propagation(cri::PROPAGATION_HOST_TO_CONTAINER);
  const std::string pod = RunPod();
  const SwapLoopForTest directories(volume_, "d", "e");
  const SwapLoopForTest files(volume_, "f", "g");
  Attack(pod, config, [&](const std::string& id) {
    ASSERT_TRUE(TryStart(id).ok());
    AwaitExit(id);
    // The log has the output of the containers before, too.
    EXPECT_THAT(Output(id), AllOf(EndsWith("own\nown\n"), Not(HasSubstr("secret"))));
  });
}

// It is opened by its name again.
TEST_F(MountRacesTest, SoIsTheDirectoryWithAPinnedMountNamespace) {
  MakeMount(volume_, MS_SHARED);
  MakeMount(secret_, MS_PRIVATE);
  const std::string pins = volume_ + "/d/pins";
  ASSERT_TRUE(Host().MakeDirs(pins, 0755).ok());
  MakeMount(pins, MS_PRIVATE);
  const absl::Cleanup unmount = [&] {
    linux::UnmountBelow(Host(), volume_).IgnoreError();
    linux::UnmountBelow(Host(), secret_).IgnoreError();
  };
  ASSERT_TRUE(Host().ReplaceFile(pins + "/pin", "", 0644).ok());
  const auto pinned = linux::PinMountNamespaceForTest(pins + "/pin");
  if (pinned == nullptr) GTEST_SKIP() << "this process's mount namespace has too high a number";
  cri::ContainerConfig config = Shell("cat /v/mark");
  AddMount(&config, volume_ + "/d", "/v")->set_propagation(cri::PROPAGATION_HOST_TO_CONTAINER);
  const std::string pod = RunPod();
  const SwapLoopForTest swaps(volume_, "d", "e");
  Attack(
      pod, config,
      [&](const std::string& id) {
        ASSERT_TRUE(TryStart(id).ok());
        AwaitExit(id);
        EXPECT_THAT(Output(id), AllOf(EndsWith("own\n"), Not(HasSubstr("secret"))));
      },
      [](const grpc::Status& status) {
        return absl::StrContains(status.error_message(), "pinned mount namespace");
      });
}

TEST_F(MountRacesTest, AVolumeWithMappedIdsIsMountedWhateverItsNameLeadsTo) {
  cri::ContainerConfig config = Shell("cat /v/mark");
  cri::Mount* mount = AddMount(&config, volume_ + "/d", "/v");
  for (auto* ids : {mount->add_uidmappings(), mount->add_gidmappings()}) {
    ids->set_host_id(0);
    ids->set_container_id(100000);
    ids->set_length(65536);
  }
  const std::string pod = RunPod();
  const SwapLoopForTest swaps(volume_, "d", "e");
  int refused = 0;
  const absl::Time end = absl::Now() + kAttack;
  for (uint32_t attempt = 0; absl::Now() < end; ++attempt) {
    config.mutable_metadata()->set_attempt(attempt);
    std::string id;
    const grpc::Status status = TryCreate(pod, config, &id);
    refused += status.ok() ? 0 : 1;
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(RemoveContainer(id).ok());
  }
  EXPECT_EQ(refused, 0);
}

TEST_F(MountRacesTest, ALogStaysInItsDirectory) {
  const std::string logs = node_.directory() + "/logs";
  ASSERT_TRUE(Host().MakeDirs(logs + "/pod", 0755).ok());
  ASSERT_TRUE(Host().MakeDirs(secret_ + "/web", 0755).ok());
  ASSERT_EQ(symlink(secret_.c_str(), (logs + "/link").c_str()), 0);
  cri::PodSandboxConfig pod_config = PodConfig();
  pod_config.set_log_directory(logs + "/pod");
  const std::string pod = RunPod(pod_config);
  cri::ContainerConfig config = Shell("echo a line; sleep 1000");
  config.set_log_path("web/0.log");
  const std::string runs = Start(pod, config);
  config.mutable_metadata()->set_name("another");
  config.set_log_path("web/1.log");
  {
    const SwapLoopForTest swaps(logs, "pod", "link");
    Attack(pod, config, [&](const std::string&) {
      cri::ReopenContainerLogRequest request;
      request.set_container_id(runs);
      EXPECT_TRUE(Eventually([&] {
        grpc::ClientContext context;
        cri::ReopenContainerLogResponse response;
        return node_.runtime().ReopenContainerLog(&context, request, &response).ok();
      }));
      EXPECT_TRUE(Host().List(secret_ + "/web")->empty());
    });
  }
  EXPECT_TRUE(Host().List(secret_ + "/web")->empty());
}

}  // namespace
}  // namespace plimsoll::testing
