#include "agent/pods/life/pod_resizer.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/dir_for_test.h"
#include "cri/runtime/v1/api.grpc.pb.h"

namespace plimsoll::agent {
namespace {

namespace cri = ::runtime::v1;
using Kind = ResizeStep::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A runtime that notes updates, and fails those that the test names. Thread-safe.
class NotingCri : public cri::RuntimeService::Service {
 public:
  // `call`: as noted. OK: no failure.
  void Fail(const std::string& call, const grpc::Status& status) {
    const absl::MutexLock lock(&mutex_);
    failures_[call] = status;
  }
  std::vector<std::string> TakeCalls() {
    const absl::MutexLock lock(&mutex_);
    return std::exchange(calls_, {});
  }
  void Note(const std::string& call) {
    const absl::MutexLock lock(&mutex_);
    calls_.push_back(call);
  }
  cri::UpdateContainerResourcesRequest container() {
    const absl::MutexLock lock(&mutex_);
    return container_;
  }
  cri::UpdatePodSandboxResourcesRequest pod() {
    const absl::MutexLock lock(&mutex_);
    return pod_;
  }

  grpc::Status UpdateContainerResources(grpc::ServerContext*,
                                        const cri::UpdateContainerResourcesRequest* request,
                                        cri::UpdateContainerResourcesResponse*) override {
    const absl::MutexLock lock(&mutex_);
    container_ = *request;
    return Take(absl::StrCat("update ", request->container_id()));
  }
  grpc::Status UpdatePodSandboxResources(grpc::ServerContext*,
                                         const cri::UpdatePodSandboxResourcesRequest* request,
                                         cri::UpdatePodSandboxResourcesResponse*) override {
    const absl::MutexLock lock(&mutex_);
    pod_ = *request;
    return Take(absl::StrCat("announce ", request->pod_sandbox_id()));
  }
  grpc::Status StopContainer(grpc::ServerContext*, const cri::StopContainerRequest* request,
                             cri::StopContainerResponse*) override {
    const absl::MutexLock lock(&mutex_);
    return Take(absl::StrCat("stop ", request->container_id()));
  }

 private:
  grpc::Status Take(const std::string& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    calls_.push_back(call);
    const auto failure = failures_.find(call);
    return failure == failures_.end() ? grpc::Status::OK : failure->second;
  }

  absl::Mutex mutex_;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, grpc::Status> failures_ ABSL_GUARDED_BY(mutex_);
  cri::UpdateContainerResourcesRequest container_ ABSL_GUARDED_BY(mutex_);
  cri::UpdatePodSandboxResourcesRequest pod_ ABSL_GUARDED_BY(mutex_);
};

std::unique_ptr<grpc::Server> Serve(grpc::Service& service, const std::string& address) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

// Containers "a" and "b" that limit so much CPU.
pod::Manifest PodWith(const std::string& a, const std::string& b, const std::string& policy = "") {
  const auto pods = pod::ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, "
                   "image: i, resources: {limits: {cpu: ",
                   a, "}}, resizePolicy: [", policy,
                   "]}, {name: b, image: i, resources: {limits: {cpu: ", b, "}}}]}}"),
      "p.yaml");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front();
}

class PodResizerTest : public testing::Test {
 protected:
  PodResizerTest() {
    record_.uid = "u";
    record_.key = {"default", "p"};
    record_.allocated_generation = 2;
    observed_.sandboxes = {{.id = "s", .attempt = 0, .ready = true, .ips = {}}};
    for (const char* name : {"a", "b"}) {
      ObservedContainer run;
      run.id = name;
      run.name = name;
      run.sandbox_id = "s";
      run.state = ObservedState::kRunning;
      observed_.containers.push_back(run);
    }
    host_.resize_group = [this](const PodRecord&, const pod::Manifest&, GroupStep step,
                                const std::function<absl::Status()>& announce) {
      const absl::Status announced = announce();
      runtime_.Note(step == GroupStep::kRaise ? "raise" : "settle");
      return announced;
    };
  }
  // The runtime reports this much CPU of the run.
  void Report(size_t index, int64_t cpus) {
    observed_.containers[index].resources = ReportedResources{.cpu_shares = 1024 * cpus,
                                                              .cpu_quota_us = 100'000 * cpus,
                                                              .cpu_period_us = 100'000,
                                                              .memory_limit_bytes = 0,
                                                              .written = std::nullopt};
  }
  absl::Status Go(const pod::Manifest& before, const pod::Manifest& after) {
    PodStopper stopper(host_, after);
    PodResizer resizer(host_, record_, before, after, stopper);
    return resizer.Go(observed_, [this](const std::string& container, const std::string& id) {
      runtime_.Note(absl::StrCat("keep ", container, " ", id));
      return absl::OkStatus();
    });
  }
  // Limits of CPU, as last announced.
  std::vector<std::string> AnnouncedCpus() {
    std::vector<std::string> cpus;
    const cri::UpdatePodSandboxResourcesRequest announced = runtime_.pod();
    for (const auto& container : announced.pod_resources().containers()) {
      cpus.push_back(container.kubernetes_resources().limits().at("cpu").string());
    }
    return cpus;
  }
  size_t EventsOf(const std::string& reason) {
    size_t count = 0;
    for (const auto& each : events_.List(std::nullopt)) {
      if (each["reason"] == reason) count += each["count"].get<size_t>();
    }
    return count;
  }

  const TestDir dir_;
  const std::string address_ = absl::StrCat("unix://", dir_.path(), "/cri.sock");
  const FsRoot root_ = *FsRoot::Open("/");
  NotingCri runtime_;
  const std::unique_ptr<grpc::Server> server_ = Serve(runtime_, address_);
  const std::unique_ptr<pod::Client> client_ = *pod::Client::Open({.address = address_});
  KubeEventLog events_{Clock::Real(), "node"};
  PodBoard board_;
  const std::unique_ptr<PodStore> store_ = *PodStore::Open(dir_.root());
  PodHost host_{.client = *client_,
                .root = root_,
                .clock = Clock::Real(),
                .events = events_,
                .board = board_,
                .store = *store_,
                .node = {.name = "node", .host_ip = ""},
                .state_directory = dir_.path()};
  PodRecord record_;
  ObservedPod observed_;
};

TEST_F(PodResizerTest, ThePodIsAnnouncedBeforeEachChangeOfItsGroup) {
  Report(0, 1);
  Report(1, 2);
  ASSERT_TRUE(Go(PodWith("1", "2"), PodWith("2", "1")).ok());
  EXPECT_THAT(runtime_.TakeCalls(),
              ElementsAre("announce s", "raise", "update b", "update a", "announce s", "settle"));
  const cri::PodResourceConfig all = runtime_.pod().pod_resources();
  ASSERT_EQ(all.containers_size(), 2);
  EXPECT_EQ(all.containers(0).name(), "a");
  EXPECT_EQ(all.containers(0).kubernetes_resources().limits().at("cpu").string(), "2");
  EXPECT_EQ(all.containers(1).kubernetes_resources().limits().at("cpu").string(), "1");
}

// The message of RunPodSandbox, so that a runtime can size a virtual machine by it.
TEST_F(PodResizerTest, TheSumOfLimitsIsTold) {
  host_.make_group = [](const PodRecord&, const pod::Manifest&) { return std::string("/group"); };
  ASSERT_TRUE(Go(PodWith("1", "2"), PodWith("1500m", "2")).ok());
  EXPECT_EQ(runtime_.pod().resources().cpu_quota(), 350'000);
  EXPECT_EQ(runtime_.pod().resources().cpu_period(), 100'000);
  EXPECT_EQ(runtime_.pod().resources().cpu_shares(), 3584);
}

TEST_F(PodResizerTest, BothSpellingsOfLimitsAreTheSame) {
  Report(0, 1);
  Report(1, 1);
  ASSERT_TRUE(Go(PodWith("1", "1"), PodWith("3", "1")).ok());
  const cri::UpdateContainerResourcesRequest request = runtime_.container();
  EXPECT_EQ(request.container_id(), "a");
  EXPECT_EQ(request.linux().cpu_quota(), 300'000);
  EXPECT_EQ(request.linux().cpu_shares(), 3072);
  EXPECT_EQ(request.linux().SerializeAsString(), request.resources().linux().SerializeAsString());
  EXPECT_FALSE(request.resources().has_windows());
  EXPECT_EQ(request.kubernetes_resources().requests().at("cpu").string(), "3");
}

TEST_F(PodResizerTest, NothingIsWrittenDownWithTheGateOff) {
  host_.passes_resources_down = false;
  Report(0, 1);
  Report(1, 1);
  ASSERT_TRUE(Go(PodWith("1", "1"), PodWith("3", "1")).ok());
  EXPECT_FALSE(runtime_.container().has_kubernetes_resources());
  EXPECT_FALSE(runtime_.pod().has_pod_resources());
}

TEST_F(PodResizerTest, ARefusedAnnouncementIsTheOnlyCall) {
  runtime_.Fail("announce s", {grpc::StatusCode::RESOURCE_EXHAUSTED, "the machine is full"});
  const absl::Status status = Go(PodWith("1", "2"), PodWith("2", "1"));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the machine is full"));
  EXPECT_THAT(runtime_.TakeCalls(), ElementsAre("announce s"));
}

TEST_F(PodResizerTest, ARuntimeWithoutAnnouncementsIsNotedOnceAndServed) {
  runtime_.Fail("announce s", {grpc::StatusCode::UNIMPLEMENTED, ""});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Go(PodWith("1", "1"), PodWith("2", "1")).ok());
  EXPECT_EQ(EventsOf("NoPodUpdates"), 1u);
  EXPECT_THAT(runtime_.TakeCalls(), testing::Contains("update a").Times(2));
}

TEST_F(PodResizerTest, AFailedContainerLeavesTheRestForTheNextTry) {
  Report(0, 1);
  Report(1, 2);
  runtime_.Fail("update a", {grpc::StatusCode::FAILED_PRECONDITION, "uses more"});
  EXPECT_EQ(Go(PodWith("1", "2"), PodWith("2", "1")).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(runtime_.TakeCalls(),
              ElementsAre("announce s", "raise", "update b", "update a", "announce s"));
  EXPECT_THAT(AnnouncedCpus(), ElementsAre("1", "1")) << "a has the old amount, b the new one";
  runtime_.Fail("update a", grpc::Status::OK);
  Report(1, 1);
  ASSERT_TRUE(Go(PodWith("1", "2"), PodWith("2", "1")).ok());
  EXPECT_THAT(runtime_.TakeCalls(),
              ElementsAre("announce s", "raise", "update a", "announce s", "settle"));
}

// A virtual machine must not stay at the size of amounts that no container has.
TEST_F(PodResizerTest, AfterAnErrorTheOldAmountsAreAnnouncedAgain) {
  Report(0, 2);
  Report(1, 2);
  runtime_.Fail("update b", {grpc::StatusCode::FAILED_PRECONDITION, "uses more"});
  EXPECT_EQ(Go(PodWith("2", "2"), PodWith("1", "1")).message(), "uses more");
  EXPECT_THAT(runtime_.TakeCalls(),
              ElementsAre("announce s", "raise", "update a", "update b", "announce s"));
  EXPECT_THAT(AnnouncedCpus(), ElementsAre("1", "2"));
  Report(0, 1);
  EXPECT_FALSE(Go(PodWith("2", "2"), PodWith("1", "1")).ok());
  EXPECT_THAT(runtime_.TakeCalls(), ElementsAre("announce s", "raise", "update b", "announce s"));
  EXPECT_THAT(AnnouncedCpus(), ElementsAre("1", "2")) << "a has its new amount by an earlier try";
}

TEST_F(PodResizerTest, AnErrorAfterTheContainersAnnouncesNothingOld) {
  Report(0, 2);
  Report(1, 1);
  host_.resize_group = [](const PodRecord&, const pod::Manifest&, GroupStep step,
                          const std::function<absl::Status()>& announce) {
    const absl::Status announced = announce();
    return step == GroupStep::kRaise ? announced : absl::InternalError("cpu.max: EBUSY");
  };
  EXPECT_FALSE(Go(PodWith("2", "1"), PodWith("1", "1")).ok());
  EXPECT_THAT(runtime_.TakeCalls(), ElementsAre("announce s", "update a", "announce s"));
  EXPECT_THAT(AnnouncedCpus(), ElementsAre("1", "1"));
}

TEST_F(PodResizerTest, ARuntimeThatIsAwayIsToldByTheNextTry) {
  Report(0, 2);
  Report(1, 1);
  runtime_.Fail("update a", {grpc::StatusCode::UNAVAILABLE, "it starts"});
  EXPECT_FALSE(Go(PodWith("2", "1"), PodWith("1", "1")).ok());
  EXPECT_THAT(runtime_.TakeCalls(), ElementsAre("announce s", "raise", "update a"));
}

TEST_F(PodResizerTest, ARestartIsOnRecordBeforeTheRunEnds) {
  const std::string policy = "{resourceName: cpu, restartPolicy: RestartContainer}";
  Report(1, 1);
  ASSERT_TRUE(Go(PodWith("1", "1", policy), PodWith("2", "1", policy)).ok());
  EXPECT_THAT(runtime_.TakeCalls(),
              ElementsAre("announce s", "raise", "keep a a", "stop a", "announce s", "settle"));
}

TEST_F(PodResizerTest, ARuntimesOwnGroupIsRaisedAndThenSettledByAnnouncements) {
  host_.resize_group = nullptr;
  const auto pod_of = [](int cpus) {
    return pod::ParseManifests(
               absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resources: "
                            "{limits: {cpu: ",
                            cpus, "}}, containers: [{name: a, image: i}]}}"),
               "p.yaml")
        ->front();
  };
  ASSERT_TRUE(Go(pod_of(1), pod_of(2)).ok());
  EXPECT_EQ(runtime_.TakeCalls().size(), 2u) << "announced once, and a updated";
  EXPECT_EQ(runtime_.pod().resources().cpu_quota(), 200'000);
  runtime_.Fail("update a", {grpc::StatusCode::INTERNAL, ""});
  EXPECT_FALSE(Go(pod_of(2), pod_of(1)).ok());
  EXPECT_EQ(runtime_.pod().resources().cpu_quota(), 200'000) << "containers first";
  runtime_.Fail("update a", grpc::Status::OK);
  ASSERT_TRUE(Go(pod_of(2), pod_of(1)).ok());
  EXPECT_EQ(runtime_.pod().resources().cpu_quota(), 100'000);
}

TEST_F(PodResizerTest, ARuntimeThatReportsOtherResourcesIsNotBelieved) {
  const pod::Manifest before = PodWith("1", "1"), after = PodWith("2", "1");
  PodStopper stopper(host_, after);
  const PodResizer resizer(host_, record_, before, after, stopper);
  Report(0, 2);
  Report(1, 1);
  EXPECT_TRUE(resizer.Verify(observed_).ok());
  Report(0, 1);
  const absl::Status status = resizer.Verify(observed_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("container a"));
}

TEST_F(PodResizerTest, WithoutASandboxNothingIsAsked) {
  observed_.sandboxes.clear();
  ASSERT_TRUE(Go(PodWith("1", "1"), PodWith("2", "1")).ok());
  EXPECT_THAT(runtime_.TakeCalls(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::agent
