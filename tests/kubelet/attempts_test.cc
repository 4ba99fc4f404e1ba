// Several attempts of one container: kubelet takes the first of a name for the latest.
#include "gmock/gmock.h"
#include "kubelet/kubelet_test.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;

class KubeletAttemptsTest : public KubeletTest {
 protected:
  // Attempts 0 to 4 of container "main", each but the last one ended.
  std::string PodWithAttempts() {
    const std::string pod = KubeletsPod("job", kubelet::BestEffort());
    for (uint32_t attempt = 0; attempt < 5; ++attempt) {
      const std::string script = attempt < 4 ? "exit 1" : "sleep 1000";
      last_ = Start(pod, kubelet::Container("main", attempt, script, kubelet::BestEffort()));
      if (attempt < 4) AwaitExit(last_);
    }
    return pod;
  }
  template <typename List>
  static std::vector<uint32_t> Attempts(const List& list) {
    std::vector<uint32_t> attempts;
    for (const auto& each : list) attempts.push_back(each.metadata().attempt());
    return attempts;
  }
  std::string last_;
};

TEST_F(KubeletAttemptsTest, EveryListHasTheNewestFirst) {
  const std::string pod = PodWithAttempts();
  cri::PodSandboxStatusRequest status_request;
  status_request.set_pod_sandbox_id(pod);
  cri::PodSandboxStatusResponse status;
  grpc::ClientContext status_context;
  ASSERT_TRUE(node_.runtime().PodSandboxStatus(&status_context, status_request, &status).ok());
  EXPECT_THAT(Attempts(status.containers_statuses()), ElementsAre(4, 3, 2, 1, 0));

  cri::ListContainersResponse list;
  grpc::ClientContext list_context;
  ASSERT_TRUE(node_.runtime().ListContainers(&list_context, {}, &list).ok());
  EXPECT_THAT(Attempts(list.containers()), ElementsAre(4, 3, 2, 1, 0));

  grpc::ClientContext stream_context;
  const auto stream = node_.runtime().StreamContainers(&stream_context, {});
  cri::StreamContainersResponse part;
  std::vector<uint32_t> streamed;
  while (stream->Read(&part)) {
    for (const uint32_t attempt : Attempts(part.containers())) streamed.push_back(attempt);
  }
  EXPECT_THAT(streamed, ElementsAre(4, 3, 2, 1, 0));
  // The order of creation outlives the daemon.
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  grpc::ClientContext again_context;
  ASSERT_TRUE(node_.runtime().ListContainers(&again_context, {}, &list).ok());
  EXPECT_THAT(Attempts(list.containers()), ElementsAre(4, 3, 2, 1, 0));
}

// kubelet lists every second, so older attempts were listed before, and the newest wasn't.
TEST_F(KubeletAttemptsTest, OneThatIsListedForTheFirstTimeIsFirst) {
  const std::string pod = PodWithAttempts();
  cri::ListContainersResponse list;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().ListContainers(&context, {}, &list).ok());
  Create(pod, kubelet::Container("main", 5, "true", kubelet::BestEffort()));
  grpc::ClientContext again;
  ASSERT_TRUE(node_.runtime().ListContainers(&again, {}, &list).ok());
  EXPECT_THAT(Attempts(list.containers()), ElementsAre(5, 4, 3, 2, 1, 0));
}

// With the gate EventedPLEG kubelet looks only at the event.
TEST_F(KubeletAttemptsTest, AnEventHasTheNewestFirst) {
  PodWithAttempts();
  grpc::ClientContext context;
  const auto events = node_.runtime().GetContainerEvents(&context, {});
  events->WaitForInitialMetadata();
  ASSERT_TRUE(StopContainer(last_, 0).ok());
  cri::ContainerEventResponse event;
  ASSERT_TRUE(events->Read(&event));
  EXPECT_EQ(event.container_event_type(), cri::CONTAINER_STOPPED_EVENT);
  EXPECT_THAT(Attempts(event.containers_statuses()), ElementsAre(4, 3, 2, 1, 0));
  context.TryCancel();
  while (events->Read(&event)) {
  }
  events->Finish();
}

TEST_F(KubeletAttemptsTest, PodsToo) {
  cri::PodSandboxConfig config;
  for (uint32_t attempt = 0; attempt < 4; ++attempt) {
    if (attempt == 0) {
      KubeletsPod("again", kubelet::BestEffort());
      continue;
    }
    config = kubelet::PodSandbox("again", GroupOf("again"), "", kubelet::BestEffort());
    config.mutable_metadata()->set_attempt(attempt);
    RunPod(config);
  }
  cri::ListPodSandboxResponse list;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &list).ok());
  EXPECT_THAT(Attempts(list.items()), ElementsAre(3, 2, 1, 0));
}

}  // namespace
}  // namespace plimsoll::testing
