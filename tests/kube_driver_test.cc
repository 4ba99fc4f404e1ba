// plimsoll-kube between a kubelet, an API server and a real plimsolld: classes are published,
// claims prepared, and any part may be killed or away.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "classes_fixture.h"
#include "harness/api_server.h"
#include "harness/drivers_kubelet.h"
#include "harness/kernel.h"
#include "harness/kube.h"
#include "qos/class_devices.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Json = nlohmann::json;

constexpr char kSoonDevice[] = "oom-soon";
constexpr char kSoonCdi[] = "classes.plimsoll.dev/oom=soon";

class KubeDriverTest : public ClassesTest {
 protected:
  KubeDriverTest() : ClassesTest(kLaneOfPods) {}

  void SetUp() override {
    ClassesTest::SetUp();
    if (IsSkipped()) return;
    directory_ = files_.path() + "/kube";
    ASSERT_TRUE(Host().MakeDirs(directory_).ok());
    ASSERT_TRUE(Host().MakeDirs(kubelet_root() + "/plugins_registry").ok());
    kubelet_.emplace(kubelet_root());
    api_.emplace(directory_);
    api_->objects().Put("/api/v1/nodes/n1", {{"kind", "Node"}, {"metadata", {{"uid", "node-1"}}}});
    kube_.emplace(KubePlaces{directory_, api_->kubeconfig(),
                             node_.run_directory() + "/cluster/cluster.sock", kubelet_root()});
  }
  void TearDown() override {
    kube_.reset();
    api_.reset();
    ClassesTest::TearDown();
  }

  std::string kubelet_root() const { return files_.path() + "/kube/kubelet"; }
  void StartKube() {
    const absl::Status started = kube_->Start();
    ASSERT_TRUE(started.ok()) << started;
    const grpc::Status registered = kubelet_->Register();
    ASSERT_TRUE(registered.ok()) << registered.error_message();
  }

  // Follows the systemd units: sockets of systemd's, no root.
  void InheritAsNobody() {
    const std::string driver = kubelet_root() + "/plugins/classes.plimsoll.dev";
    ASSERT_TRUE(Host().MakeDirs(driver).ok());
    std::vector<UniqueFd> sockets;
    sockets.push_back(ListenAsSystemd(driver + "/dra.sock"));
    sockets.push_back(ListenAsSystemd(kubelet_->registration_socket()));
    kube_->InheritAsNobody(std::move(sockets));
    const std::string state = directory_ + "/kube-state";
    ASSERT_TRUE(Host().MakeDirs(state).ok());
    for (const std::string& path :
         {state, api_->kubeconfig(), directory_ + "/plimsoll-kube.yaml"}) {
      ASSERT_EQ(chown(path.c_str(), kNobody, kNobody), 0) << path;
    }
    // plimsolld's own setting is kube.socket_group.
    for (const char* path : {"/cluster", "/cluster/cluster.sock"}) {
      ASSERT_EQ(chown((node_.run_directory() + path).c_str(), 0, kNobody), 0) << path;
    }
    for (const std::string& path :
         {files_.path(), directory_, node_.directory(), node_.run_directory()}) {
      ASSERT_EQ(chmod(path.c_str(), 0711), 0) << path;
    }
  }

  // The devices of this node, as its slices have them; null: there is none of the name.
  Json Device(const std::string& name) {
    for (const Json& slice : api_->objects().All(kSlices)) {
      for (const Json& device : slice["spec"]["devices"]) {
        if (device["name"] == name) return device;
      }
    }
    return Json();
  }
  bool AwaitDevice(const std::string& name) {
    return Eventually([&] { return !Device(name).is_null(); });
  }
  static std::string PodDevice(const std::string& type, const std::string& name) {
    return qos::DeviceName({qos::Level::kPod, type, name});
  }
  // A claim that is allocated the device for the pod.
  ClaimName Allocate(const std::string& uid, const std::string& device,
                     const std::string& pod = "pod-1") {
    const ClaimName claim{"default", "claim-" + uid, uid};
    const Json result = {{"request", "class"},
                         {"driver", "classes.plimsoll.dev"},
                         {"pool", "n1"},
                         {"device", device}};
    const Json object = {
        {"metadata", {{"uid", uid}}},
        {"status",
         {{"allocation", {{"devices", {{"results", Json::array({result})}}}}},
          {"reservedFor", Json::array({{{"resource", "pods"}, {"name", "p"}, {"uid", pod}}})}}}};
    api_->objects().Put(PathOf(claim), object);
    return claim;
  }
  static std::string PathOf(const ClaimName& claim) {
    return absl::StrCat("/apis/resource.k8s.io/v1/namespaces/", claim.claim_namespace,
                        "/resourceclaims/", claim.name);
  }
  // Prepared, as kubelet tries: again after an error.
  bool AwaitPrepared(const ClaimName& claim) {
    std::string error;
    const bool prepared = Eventually([&] {
      error = kubelet_->Prepare(claim, &prepared_);
      return error.empty();
    });
    EXPECT_TRUE(prepared) << error << "\n" << kube_->Log();
    return prepared;
  }
  // Likewise: a driver that has just started may not have reached plimsolld.
  bool AwaitUnprepared(const ClaimName& claim) {
    std::string error;
    const bool unprepared = Eventually([&] {
      error = kubelet_->Unprepare(claim);
      return error.empty();
    });
    EXPECT_TRUE(unprepared) << error << "\n" << kube_->Log();
    return unprepared;
  }
  uint32_t ToldClaims() {
    plimsoll::v1::DaemonStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.node().DaemonStatus(&context, {}, &response).ok());
    return response.told_claims();
  }
  std::string LaneOf(const std::string& pod) {
    const auto classes = PodStatus(pod).class_resources().class_();
    const auto at = classes.find("lane");
    return at == classes.end() ? "" : at->second;
  }

  std::string directory_;
  std::optional<DriversKubelet> kubelet_;
  std::optional<ApiServer> api_;
  std::optional<KubeProcess> kube_;
  DriversKubelet::Prepared prepared_;
};

TEST_F(KubeDriverTest, AClaimsClassIsTheContainers) {
  StartKube();
  ASSERT_TRUE(AwaitDevice(kSoonDevice)) << kube_->Log();
  EXPECT_EQ(kubelet_->info().name(), "classes.plimsoll.dev");
  const Json medium = Device("blockio-medium");
  EXPECT_EQ(medium["attributes"]["type"]["string"], "blockio");
  EXPECT_EQ(medium["capacity"]["holders"]["value"], "1");
  EXPECT_EQ(kubelet_->Health(kSoonDevice), v1alpha1::HEALTHY);
  const ClaimName claim = Allocate("u1", kSoonDevice);
  ASSERT_TRUE(AwaitPrepared(claim));
  EXPECT_THAT(prepared_, ElementsAre(Pair("class", ElementsAre(kSoonCdi))));
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("cat /proc/self/oom_score_adj");
  config.add_cdi_devices()->set_name(prepared_["class"][0]);
  const std::string id = Start(pod, config);
  EXPECT_EQ(AwaitExit(id).exit_code(), 0);
  EXPECT_EQ(Output(id), "300\n");
  EXPECT_EQ(kubelet_->Unprepare(claim), "");
}

TEST_F(KubeDriverTest, AClaimsPodLevelClassIsTheSandboxs) {
  StartKube();
  const std::string device = PodDevice("lane", "fast");
  ASSERT_TRUE(AwaitDevice(device)) << kube_->Log();
  EXPECT_EQ(Device(device)["attributes"]["class"]["string"], "fast");
  EXPECT_TRUE(Device(PodDevice("pod-qos", "Guaranteed")).is_null()) << "it only informs";
  cri::PodSandboxConfig config = PodConfig();
  const ClaimName claim = Allocate("u1", device, config.metadata().uid());
  ASSERT_TRUE(AwaitPrepared(claim));
  EXPECT_THAT(prepared_, ElementsAre(Pair("class", IsEmpty())));
  EXPECT_EQ(ToldClaims(), 1u);
  EXPECT_EQ(LaneOf(RunPod(config)), "fast");
  EXPECT_EQ(kubelet_->Unprepare(claim), "");
  EXPECT_EQ(ToldClaims(), 0u);
}

TEST_F(KubeDriverTest, AClaimForTwoPodsIsRefused) {
  StartKube();
  const std::string of_pods = PodDevice("lane", "fast");
  ASSERT_TRUE(AwaitDevice(of_pods)) << kube_->Log();
  for (const std::string& device : {of_pods, std::string(kSoonDevice)}) {
    const ClaimName claim = Allocate(device, device);
    Json object = api_->objects().Get(PathOf(claim));
    object["status"]["reservedFor"].push_back({{"resource", "pods"}, {"name", "q"}, {"uid", "q1"}});
    api_->objects().Put(PathOf(claim), object);
    EXPECT_THAT(kubelet_->Prepare(claim, &prepared_), HasSubstr("is reserved for pod-1 and q1"));
  }
  EXPECT_EQ(ToldClaims(), 0u);
}

// Each of the three is killed after each step.
TEST_F(KubeDriverTest, WhateverIsKilledNothingIsLost) {
  const auto kill_kube = [&] {
    kube_->Kill();
    StartKube();
  };
  const auto kill_daemon = [&] {
    node_.KillDaemon();
    ASSERT_TRUE(node_.StartDaemon().ok());
  };
  StartKube();
  const std::string device = PodDevice("lane", "fast");
  ASSERT_TRUE(AwaitDevice(device)) << kube_->Log();
  const auto generation = [&] {
    return api_->objects().All(kSlices).at(0)["spec"]["pool"]["generation"].get<int>();
  };
  const int before = generation();
  kill_kube();
  kill_daemon();
  cri::PodSandboxConfig config = PodConfig();
  const ClaimName claim = Allocate("u1", device, config.metadata().uid());
  const ClaimName container = Allocate("u2", kSoonDevice);
  ASSERT_TRUE(AwaitPrepared(claim));
  ASSERT_TRUE(AwaitPrepared(container));
  kill_kube();
  kill_daemon();
  api_->objects().EndWatches();
  ASSERT_TRUE(AwaitPrepared(claim));
  ASSERT_TRUE(AwaitPrepared(container));
  EXPECT_THAT(prepared_, ElementsAre(Pair("class", ElementsAre(kSoonCdi))));
  EXPECT_EQ(LaneOf(RunPod(config)), "fast");
  kill_kube();
  EXPECT_TRUE(AwaitUnprepared(claim));
  EXPECT_TRUE(AwaitUnprepared(container));
  kill_kube();
  EXPECT_TRUE(AwaitUnprepared(claim));
  EXPECT_EQ(ToldClaims(), 0u);
  EXPECT_EQ(generation(), before) << "no class has changed";
}

// kubelet has no claim prepared twice, so the driver has to tell what plimsolld has lost.
TEST_F(KubeDriverTest, ALostTableOfPlimsolldIsFilledAgain) {
  StartKube();
  const std::string device = PodDevice("lane", "fast");
  ASSERT_TRUE(AwaitDevice(device)) << kube_->Log();
  cri::PodSandboxConfig config = PodConfig();
  const ClaimName claim = Allocate("u1", device, config.metadata().uid());
  ASSERT_TRUE(AwaitPrepared(claim));
  node_.KillDaemon();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    Host().RemoveFile(absl::StrCat(node_.state_directory(), "/cluster.db", suffix)).IgnoreError();
  }
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(Eventually([&] { return ToldClaims() == 1; }, absl::Seconds(60))) << kube_->Log();
  EXPECT_EQ(LaneOf(RunPod(config)), "fast");
}

TEST_F(KubeDriverTest, AnApiServerThatIsAwayStopsNoPreparedClaim) {
  StartKube();
  ASSERT_TRUE(AwaitDevice(kSoonDevice)) << kube_->Log();
  const ClaimName claim = Allocate("u1", kSoonDevice);
  ASSERT_TRUE(AwaitPrepared(claim));
  api_->GoAway();
  EXPECT_EQ(kubelet_->Prepare(claim, &prepared_), "");
  kube_->Kill();
  StartKube();
  ASSERT_TRUE(AwaitPrepared(claim)) << "it is on the disk";
  const ClaimName unknown = Allocate("u2", kSoonDevice);
  EXPECT_THAT(kubelet_->Prepare(unknown, &prepared_), HasSubstr("claim default/claim-u2 (uid u2)"));
  EXPECT_EQ(kubelet_->Unprepare(claim), "");
  api_->objects().Remove(absl::StrCat(kSlices, "/n1-classes-0"));
  api_->ComeBack();
  EXPECT_TRUE(Eventually([&] { return !Device(kSoonDevice).is_null(); }, absl::Seconds(60)))
      << kube_->Log();
  ASSERT_TRUE(AwaitPrepared(unknown));
}

TEST_F(KubeDriverTest, AClassThatTheNodeLosesLeavesItsSlices) {
  WriteClasses("  extra: []\n");
  ASSERT_TRUE(Reload().ok());
  StartKube();
  ASSERT_TRUE(AwaitDevice("blockio-extra")) << kube_->Log();
  const ClaimName claim = Allocate("u1", "blockio-extra");
  ASSERT_TRUE(AwaitPrepared(claim));
  WriteClasses("");
  ASSERT_TRUE(Reload().ok());
  EXPECT_TRUE(Eventually([&] { return Device("blockio-extra").is_null(); })) << kube_->Log();
  EXPECT_FALSE(Device("blockio-medium").is_null());
  EXPECT_THAT(kubelet_->Prepare(claim, &prepared_),
              HasSubstr("device \"blockio-extra\" is no class of this node now; it has "));
  EXPECT_EQ(kubelet_->Unprepare(claim), "");
}

TEST_F(KubeDriverTest, WhatOthersDoToSlicesIsPutRight) {
  StartKube();
  ASSERT_TRUE(AwaitDevice(kSoonDevice)) << kube_->Log();
  const std::string path = absl::StrCat(kSlices, "/n1-classes-0");
  api_->objects().Remove(path);  // as kubelet does for a driver that it takes for gone
  ASSERT_TRUE(AwaitDevice(kSoonDevice)) << kube_->Log();
  Json slice = api_->objects().Get(path);
  slice["spec"]["devices"] = Json::array();
  api_->objects().Put(path, slice);
  EXPECT_TRUE(AwaitDevice(kSoonDevice)) << kube_->Log();
}

TEST_F(KubeDriverTest, OnceRegisteredAnnotationsNeedTheirClaim) {
  StartKube();
  ASSERT_TRUE(AwaitDevice(kSoonDevice)) << kube_->Log();
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["blockio.resources.beta.kubernetes.io/pod"] = "slow";
  const std::string pod = RunPod(config);
  std::string id;
  EXPECT_TRUE(Eventually([&] { return !TryCreate(pod, Shell("sleep 1000"), &id).ok(); }));
  ASSERT_TRUE(kube_->Stop().ok());
  const auto removed = kube_->Run({"remove"});
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->exit.code, 0) << removed->err;
  EXPECT_TRUE(api_->objects().All(kSlices).empty());
  EXPECT_TRUE(TryCreate(pod, Shell("sleep 1000"), &id).ok()) << "annotations count again";
  EXPECT_EQ(ClassOf(id), "slow");
}

TEST_F(KubeDriverTest, RemoveWaitsForPodsThatUseClaims) {
  StartKube();
  ASSERT_TRUE(AwaitDevice(kSoonDevice)) << kube_->Log();
  const ClaimName claim = Allocate("u1", kSoonDevice);
  ASSERT_TRUE(AwaitPrepared(claim));
  const auto while_it_runs = kube_->Run({"remove", "--force"});
  ASSERT_TRUE(while_it_runs.ok());
  EXPECT_EQ(while_it_runs->exit.code, 1);
  EXPECT_THAT(while_it_runs->err, HasSubstr("stop plimsoll-kube first"));
  ASSERT_TRUE(kube_->Stop().ok());
  const auto used = kube_->Run({"remove"});
  EXPECT_EQ(used->exit.code, 1);
  EXPECT_THAT(used->err, HasSubstr("1 claim is prepared"));
  EXPECT_FALSE(api_->objects().All(kSlices).empty());
  EXPECT_EQ(kube_->Run({"remove", "--force"})->exit.code, 0);
  EXPECT_TRUE(api_->objects().All(kSlices).empty());
}

TEST_F(KubeDriverTest, ManifestsAreOfThisNodesClasses) {
  const auto printed =
      kube_->Run({"--socket", node_.run_directory() + "/cluster/cluster.sock", "manifests"});
  ASSERT_TRUE(printed.ok()) << printed.status();
  EXPECT_EQ(printed->exit.code, 0) << printed->err;
  EXPECT_THAT(printed->out, HasSubstr("oom.soon.classes.plimsoll.dev"));
}

// The systemd units have it so.
TEST_F(KubeDriverTest, WithInheritedSocketsItNeedsNoRoot) {
  InheritAsNobody();
  StartKube();
  ASSERT_TRUE(AwaitDevice(kSoonDevice)) << kube_->Log();
  const auto owner = Host().Stat(absl::StrCat("proc/", kube_->pid()));
  ASSERT_TRUE(owner.ok());
  EXPECT_EQ(owner->st_uid, kNobody);
  const std::string device = PodDevice("lane", "fast");
  const ClaimName claim = Allocate("u1", device);
  ASSERT_TRUE(AwaitPrepared(claim));
  EXPECT_EQ(ToldClaims(), 1u);
  kube_->Kill();
  StartKube();
  EXPECT_TRUE(AwaitUnprepared(claim));
  ASSERT_TRUE(kube_->Stop().ok());
  EXPECT_TRUE(Host().Exists(kubelet_->registration_socket())) << "it is systemd's";
}

// Filters of systemd's answer ENOSYS to openat2 (RestrictSUIDSGID=) and clone3
// (RestrictNamespaces=); others, and older kernels, lack every call that is newer than Linux 5.0,
// statx and rseq.
TEST_F(KubeDriverTest, WorksBelowAFilterOfNewerSystemCalls) {
  constexpr int kFirstNewer = SYS_pidfd_send_signal;
  InheritAsNobody();
  kube_->StartBy({ProgramPath("without-calls"), absl::StrCat(kFirstNewer, "+=", ENOSYS),
                  absl::StrCat(SYS_openat2, "=", EPERM), absl::StrCat(SYS_statx, "=", EPERM),
                  absl::StrCat(SYS_rseq, "=", ENOSYS), "--"});
  StartKube();
  EXPECT_THAT(Host().Read(absl::StrCat("proc/", kube_->pid(), "/status")).value_or(""),
              HasSubstr("Seccomp:\t2"));
  ASSERT_TRUE(AwaitDevice(kSoonDevice)) << kube_->Log();
  const ClaimName claim = Allocate("u1", PodDevice("lane", "fast"));
  ASSERT_TRUE(AwaitPrepared(claim));
  EXPECT_EQ(ToldClaims(), 1u);
  EXPECT_TRUE(AwaitUnprepared(claim));
  ASSERT_TRUE(kube_->Stop().ok());
}

TEST_F(KubeDriverTest, NoTokenIsInTheLog) {
  StartKube();
  ASSERT_TRUE(AwaitDevice(kSoonDevice)) << kube_->Log();
  ASSERT_TRUE(kube_->Stop().ok());
  EXPECT_FALSE(absl::StrContains(kube_->Log(), "token-of-the-test"));
}

}  // namespace
}  // namespace plimsoll::testing
