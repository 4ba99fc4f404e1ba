// The state of pods after an absent network, a power cut and a power-off, in a virtual machine that
// systemd runs, started by systemd.py.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "systemd_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A network of one plugin, a script that fails while the file `kOutage` exists.
class OutageTest : public SystemdTest {
 protected:
  static constexpr char kOutage[] = "run/outage";
  static constexpr char kConfig[] = "etc/cni/net.d/10-test.conflist";
  static constexpr int kHostPort = 18080;

  OutageTest() {
    EXPECT_TRUE(Host().MakeDirs("opt/cni/bin", 0755).ok());
    EXPECT_TRUE(Host().MakeDirs("etc/cni/net.d", 0755).ok());
    EXPECT_TRUE(Host()
                    .ReplaceFile("opt/cni/bin/test", R"(#!/bin/sh
cat >/dev/null
[ ! -e /run/outage ] || { echo '{"code": 11, "msg": "the network is away"}'; exit 1; }
[ "$CNI_COMMAND" != ADD ] || echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.2/24"}]}'
)",
                                 0755)
                    .ok());
    EXPECT_TRUE(Host()
                    .ReplaceFile(kConfig, R"({"cniVersion": "1.0.0", "name": "test",
"disableCheck": true, "plugins": [{"type": "test", "capabilities": {"portMappings": true}}]})",
                                 0644)
                    .ok());
  }
  void TearDown() override {
    SetOutage(false);
    SystemdTest::TearDown();
    EXPECT_TRUE(Host().RemoveFile(kConfig).ok());
  }

  static void SetOutage(bool is_on) {
    const absl::Status status =
        is_on ? Host().ReplaceFile(kOutage, "") : Host().RemoveFile(kOutage);
    EXPECT_TRUE(status.ok() || absl::IsNotFound(status)) << status;
  }
  // A pod with a host port. Its next attempts have the same name.
  cri::PodSandboxConfig WithPort() {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_linux()->set_cgroup_parent("kubepods-podE.slice");
    config.add_port_mappings()->set_container_port(8080);
    config.mutable_port_mappings(0)->set_host_port(kHostPort);
    return config;
  }
  std::vector<std::string> Sandboxes() {
    grpc::ClientContext context;
    cri::ListPodSandboxResponse pods;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &pods).ok());
    std::vector<std::string> ids;
    for (const cri::PodSandbox& each : pods.items()) ids.push_back(each.id());
    return ids;
  }
};

// Follows kubelet: it stops what is left, and makes the next attempt once that has succeeded.
TEST_F(OutageTest, APodWithAHostPortComesBackAfterIt) {
  const std::string slice = StartSlice("kubepods-podE.slice");
  cri::PodSandboxConfig config = WithPort();
  SetOutage(true);
  std::string id;
  EXPECT_EQ(TryRunPod(config, &id).error_code(), grpc::StatusCode::UNAVAILABLE);
  ASSERT_EQ(Sandboxes().size(), 1u);
  const std::string failed = Sandboxes()[0];
  EXPECT_THAT(StopPod(failed).error_message(), HasSubstr("the network is away"));
  // Neither a restart nor a reload lets go of it, or keeps it for good.
  Run({"systemctl", "restart", "plimsolld"});
  Run({"systemctl", "daemon-reload"});
  AwaitDaemon();
  config.mutable_metadata()->set_attempt(1);
  EXPECT_THAT(TryRunPod(config, &id).error_message(), HasSubstr("the network is away"));
  SetOutage(false);
  EXPECT_TRUE(StopPod(failed).ok());
  config.mutable_metadata()->set_attempt(2);
  const std::string pod = RunPod(config);
  EXPECT_EQ(PodStatus(pod).network().ip(), "10.9.0.2");
  const std::string container = StartLimited(pod);
  ExpectLimited(absl::StrCat(slice, "/plimsoll-", container, ".scope"));
  EXPECT_THAT(TryRunPod(WithPort(), &id).error_message(), HasSubstr(absl::StrCat(kHostPort)))
      << "the port is the running pod's";
  EXPECT_TRUE(RemovePod(failed).ok());
  EXPECT_TRUE(RemovePod(pod).ok());
  EXPECT_TRUE(Eventually([&] { return Sandboxes().empty(); })) << "remains of the second attempt";
  ExpectNoUnits("plimsoll-");
}

// Two boots on one disk, which is plimsolld's state; systemd.py pulls the plug between them.
class PulledPlugTest : public SystemdTest {
 protected:
  static constexpr char kSlice[] = "kubepods-podF.slice";

  cri::PodSandboxConfig Attempt(uint32_t attempt) {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_metadata()->set_name("old");
    config.mutable_metadata()->set_uid("uid-old");
    config.mutable_metadata()->set_attempt(attempt);
    config.mutable_linux()->set_cgroup_parent(kSlice);
    (*config.mutable_class_resources()->mutable_class_())["pod-tier"] = "single";
    return config;
  }
  void ExpectNothingFound() {
    plimsoll::v1::InspectResponse found;
    grpc::ClientContext context;
    ASSERT_TRUE(node_.node().Inspect(&context, {}, &found).ok());
    EXPECT_EQ(found.findings_size() + found.troubles_size(), 0) << found.ShortDebugString();
  }
};

TEST_F(PulledPlugTest, Before) {
  StartSlice(kSlice);
  StartLimited(RunPod(Attempt(0)));
  StartLimited(RunPod());
  ASSERT_FALSE(HasFailure());
  ExpectNothingFound();
  sync();
  std::cout << "pull the plug" << std::endl;
  while (true) pause();
}

TEST_F(PulledPlugTest, After) {
  cri::ListContainersResponse containers;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().ListContainers(&context, {}, &containers).ok());
  EXPECT_EQ(containers.containers_size(), 2);
  for (const auto& each : containers.containers()) {
    const cri::ContainerStatus status = Status(each.id());
    EXPECT_EQ(status.state(), cri::CONTAINER_EXITED);
    EXPECT_EQ(absl::StrCat(status.reason(), " ", status.exit_code()), "Unknown 255");
    EXPECT_EQ(PodStatus(each.pod_sandbox_id()).state(), cri::SANDBOX_NOTREADY);
  }
  ExpectNoUnits("plimsoll-");
  EXPECT_THAT(MountsBelow("/run/plimsoll"), ElementsAre("/run/plimsoll"));
  EXPECT_THAT(MountsBelow("/var/lib/plimsoll"), ElementsAre("/var/lib/plimsoll"));
  ExpectNothingFound();
  // The pod comes back: in its slice, with the only place of its class.
  const std::string slice = StartSlice(kSlice);
  const std::string pod = RunPod(Attempt(1));
  EXPECT_EQ(PodStatus(pod).class_resources().class_().at("pod-tier"), "single");
  const std::string container = StartLimited(pod);
  ExpectLimited(absl::StrCat(slice, "/plimsoll-", container, ".scope"));
  ExpectNothingFound();
}

// In a boot of its own, whose end systemd.py judges. An init without a handler ignores SIGTERM.
class PowerOffTest : public SystemdTest {};

TEST_F(PowerOffTest, WithPodsThatIgnoreSigterm) {
  for (int i = 0; i < 3; ++i) Start(RunPod(), Shell("sleep 100000"));
  std::cout << "powering off" << std::endl;
  Run({"systemctl", "poweroff"});
  pause();  // systemd ends this job too
}

}  // namespace
}  // namespace plimsoll::testing
