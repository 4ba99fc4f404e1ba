// GetContainerEvents of the real daemon: kubelet's evented PLEG's input, and its order.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;

class EventStream {
 public:
  // Open when it returns: later events are told.
  explicit EventStream(Node& node) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          absl::ToChronoSeconds(Patience(absl::Seconds(60))));
    reader_ = node.runtime().GetContainerEvents(&context_, {});
    reader_->WaitForInitialMetadata();
  }
  cri::ContainerEventResponse Next() {
    cri::ContainerEventResponse event;
    if (!reader_->Read(&event)) {
      const grpc::Status status = reader_->Finish();
      ADD_FAILURE() << "the stream has ended: " << status.error_message();
    }
    return event;
  }
  grpc::Status Finish() {
    cri::ContainerEventResponse event;
    while (reader_->Read(&event)) {
    }
    return reader_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<cri::ContainerEventResponse>> reader_;
};

class EventsTest : public NodeTest {
 protected:
  // "STARTED pod READY, main RUNNING": the event, its object, and the pod at that moment.
  static std::string Text(const cri::ContainerEventResponse& event) {
    const std::string type = cri::ContainerEventType_Name(event.container_event_type());
    const cri::PodSandboxStatus& pod = event.pod_sandbox_status();
    std::string who = event.container_id() == pod.id() ? "pod" : "another container";
    std::string containers;
    for (const cri::ContainerStatus& status : event.containers_statuses()) {
      if (status.id() == event.container_id()) who = status.metadata().name();
      const std::string state = cri::ContainerState_Name(status.state());
      absl::StrAppend(&containers, ", ", status.metadata().name(), " ",
                      state.substr(std::string("CONTAINER_").size()));
    }
    const std::string state = cri::PodSandboxState_Name(pod.state());
    return absl::StrCat(type.substr(10, type.size() - 16), " ", who, ": ",
                        state.substr(std::string("SANDBOX_").size()), containers);
  }
  static std::vector<std::string> Texts(EventStream& stream, int count) {
    std::vector<std::string> texts;
    for (int i = 0; i < count; ++i) texts.push_back(Text(stream.Next()));
    return texts;
  }
  static cri::ContainerConfig Named(cri::ContainerConfig config, const std::string& name) {
    config.mutable_metadata()->set_name(name);
    return config;
  }
};

TEST_F(EventsTest, APodsLifeInOrder) {
  EventStream stream(node_);
  const int64_t before = absl::GetCurrentTimeNanos();
  const cri::PodSandboxConfig config = PodConfig();
  const std::string pod = RunPod(config);
  const std::string id = Start(pod, Named(Shell("exit 3"), "main"));
  AwaitExit(id);
  ASSERT_TRUE(RemoveContainer(id).ok());
  ASSERT_TRUE(StopPod(pod).ok());
  ASSERT_TRUE(RemovePod(pod).ok());

  std::vector<cri::ContainerEventResponse> events;
  std::vector<std::string> texts;
  for (int i = 0; i < 8; ++i) {
    events.push_back(stream.Next());
    texts.push_back(Text(events.back()));
  }
  // However late the messages are made and however soon the container exits, states are those of
  // the event.
  EXPECT_THAT(texts,
              ElementsAre("CREATED pod: READY", "STARTED pod: READY",
                          "CREATED main: READY, main CREATED", "STARTED main: READY, main RUNNING",
                          "STOPPED main: READY, main EXITED", "DELETED another container: READY",
                          "STOPPED pod: NOTREADY", "DELETED pod: NOTREADY"));
  int64_t last = before;
  for (const cri::ContainerEventResponse& event : events) {
    EXPECT_GE(event.created_at(), last);
    last = event.created_at();
    EXPECT_EQ(event.pod_sandbox_status().id(), pod);
    EXPECT_EQ(event.pod_sandbox_status().metadata().uid(), config.metadata().uid());
  }
  EXPECT_LE(last, absl::GetCurrentTimeNanos());
  EXPECT_EQ(events[5].container_id(), id);
  const cri::ContainerStatus& stopped = events[4].containers_statuses(0);
  EXPECT_EQ(stopped.exit_code(), 3);
  EXPECT_EQ(stopped.reason(), "Error");
  EXPECT_GT(stopped.finished_at(), stopped.started_at());
}

TEST_F(EventsTest, AnOomKillIsTheReasonOfAStop) {
  const std::string pod = RunPod();
  EventStream stream(node_);
  cri::ContainerConfig config = Named(Shell("tail -c 1000000000 /dev/zero > /dev/null"), "main");
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(16 * kMiB);
  Start(pod, config);
  stream.Next();
  stream.Next();
  const cri::ContainerEventResponse stopped = stream.Next();
  EXPECT_EQ(Text(stopped), "STOPPED main: READY, main EXITED");
  EXPECT_EQ(stopped.containers_statuses(0).exit_code(), 137);
  EXPECT_EQ(stopped.containers_statuses(0).reason(), "OOMKilled");
}

TEST_F(EventsTest, AFailedCreationIsNoEvent) {
  const std::string pod = RunPod();
  EventStream stream(node_);
  cri::ContainerConfig config = Named(Shell(""), "main");
  config.mutable_linux()->mutable_resources()->set_cpuset_cpus("4000-4001");
  std::string id;
  EXPECT_FALSE(TryCreate(pod, config, &id).ok());
  ASSERT_TRUE(StopPod(pod).ok());
  EXPECT_EQ(Text(stream.Next()), "STOPPED pod: NOTREADY");
}

TEST_F(EventsTest, AFailedStartIsAStopWithoutAStart) {
  const std::string pod = RunPod();
  EventStream stream(node_);
  const std::string id = Create(pod, Named(Shell("sleep 1000"), "main"));
  // Without the FIFO that its process waits at, the start fails.
  const std::string fifo = absl::StrCat(node_.run_directory(), "/oci/crun/", id, "/exec.fifo");
  ASSERT_TRUE(Host().Exists(fifo)) << fifo;
  ASSERT_TRUE(Host().RemoveFile(fifo).ok());
  EXPECT_EQ(TryStart(id).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Text(stream.Next()), "CREATED main: READY, main CREATED");
  const cri::ContainerEventResponse stopped = stream.Next();
  EXPECT_EQ(Text(stopped), "STOPPED main: READY, main EXITED");
  EXPECT_EQ(stopped.containers_statuses(0).exit_code(), 128);
  EXPECT_EQ(stopped.containers_statuses(0).reason(), "StartError");
}

TEST_F(EventsTest, EachContainerOfAPodAndAPodThatIsRemovedAtOnce) {
  const std::string pod = RunPod();
  EventStream stream(node_);
  Start(pod, Named(Shell("sleep 1000"), "a"));
  Start(pod, Named(Shell("sleep 1000"), "b"));
  EXPECT_THAT(Texts(stream, 4),
              ElementsAre("CREATED a: READY, a CREATED", "STARTED a: READY, a RUNNING",
                          "CREATED b: READY, b CREATED, a RUNNING",
                          "STARTED b: READY, b RUNNING, a RUNNING"));
  ASSERT_TRUE(RemovePod(pod).ok());
  std::vector<std::string> types;
  std::vector<size_t> containers;
  for (int i = 0; i < 6; ++i) {
    const cri::ContainerEventResponse event = stream.Next();
    types.push_back(Text(event).substr(0, 7));
    containers.push_back(static_cast<size_t>(event.containers_statuses_size()));
    EXPECT_EQ(event.pod_sandbox_status().id(), pod);
  }
  EXPECT_THAT(types, ElementsAre("STOPPED", "STOPPED", "STOPPED", "DELETED", "DELETED", "DELETED"));
  EXPECT_THAT(containers, ElementsAre(2, 2, 2, 1, 0, 0));
}

// A row of docs/resize.md.
TEST_F(EventsTest, AResizeIsNoEventAndLaterOnesShowItsValues) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Named(Shell("sleep 1000"), "main");
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(64 * kMiB);
  const std::string id = Start(pod, config);
  EventStream stream(node_);
  cri::LinuxContainerResources update;
  update.set_memory_limit_in_bytes(96 * kMiB);
  ASSERT_TRUE(TryUpdate(id, update).ok());
  Create(pod, Named(Shell("true"), "other"));
  const cri::ContainerEventResponse created = stream.Next();
  EXPECT_EQ(Text(created), "CREATED other: READY, other CREATED, main RUNNING");
  EXPECT_EQ(created.containers_statuses(1).resources().linux().memory_limit_in_bytes(), 96 * kMiB);
  ASSERT_TRUE(StopContainer(id, 0).ok());
  const cri::ContainerEventResponse stopped = stream.Next();
  EXPECT_EQ(Text(stopped), "STOPPED main: READY, other CREATED, main EXITED");
  EXPECT_EQ(stopped.containers_statuses(1).resources().linux().memory_limit_in_bytes(), 96 * kMiB)
      << "its last values";
}

// kubelet lists when a stream breaks, and opens another.
TEST_F(EventsTest, ARestartEndsTheStreamAndTheNextGoesOn) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Named(Shell("sleep 1000"), "main"));
  for (const bool killed : {true, false}) {
    EventStream before(node_);
    if (killed) {
      node_.KillDaemon();
    } else {
      ASSERT_TRUE(node_.StopDaemon().ok());
    }
    EXPECT_FALSE(before.Finish().ok());
    ASSERT_TRUE(node_.StartDaemon().ok());
  }
  EventStream stream(node_);
  ASSERT_TRUE(StopContainer(id, 0).ok());
  // The daemons' own starts and ends cause no events.
  const cri::ContainerEventResponse stopped = stream.Next();
  EXPECT_EQ(Text(stopped), "STOPPED main: READY, main EXITED");
  EXPECT_EQ(stopped.containers_statuses(0).exit_code(), 137);
}

// An end between two daemons is in the list or told, and told once.
TEST_F(EventsTest, WhatEndsBetweenTwoDaemonsIsInTheListOrTold) {
  const std::string gate = absl::StrCat(node_.directory(), "/gate");
  ASSERT_TRUE(Host().MakeDirs(gate, 0755).ok());
  cri::ContainerConfig config =
      Named(Shell("while [ ! -e /gate/open ]; do sleep 0.05; done; exit 9"), "main");
  cri::Mount* const mount = config.add_mounts();
  mount->set_host_path(gate);
  mount->set_container_path("/gate");
  const std::string pod = RunPod();
  const std::string ended = Start(pod, config);
  const std::string other = Start(pod, Named(Shell("sleep 1000"), "other"));
  node_.KillDaemon();
  ASSERT_TRUE(Host().ReplaceFile(gate + "/open", "").ok());
  ASSERT_TRUE(Eventually([&] { return ProcessesWith("/gate/open").empty(); }));
  ASSERT_TRUE(node_.StartDaemon().ok());

  EventStream stream(node_);
  const bool is_listed = Status(ended).state() == cri::CONTAINER_EXITED;
  ASSERT_EQ(AwaitExit(ended).exit_code(), 9);
  ASSERT_TRUE(StopContainer(other, 0).ok());
  int told = 0;
  while (!HasFailure()) {
    const cri::ContainerEventResponse event = stream.Next();
    EXPECT_EQ(event.container_event_type(), cri::CONTAINER_STOPPED_EVENT) << Text(event);
    if (event.container_id() == other) break;
    EXPECT_EQ(event.container_id(), ended) << Text(event);
    ++told;
  }
  EXPECT_LE(told, 1);
  EXPECT_TRUE(is_listed || told == 1);
}

TEST_F(EventsTest, AThousandStreamsTakeNoThreadsOfTheirOwn) {
  const auto threads = [this] {
    const auto tasks = Host().List(absl::StrCat("proc/", node_.daemon_pid(), "/task"));
    EXPECT_TRUE(tasks.ok()) << tasks.status();
    return tasks.ok() ? tasks->size() : 0;
  };
  RemovePod(RunPod()).IgnoreError();  // its workers exist from now on
  const size_t before = threads();
  std::vector<std::unique_ptr<EventStream>> streams;
  for (int i = 0; i < 1000; ++i) streams.push_back(std::make_unique<EventStream>(node_));
  const std::string pod = RunPod();
  for (const auto& stream : streams) {
    ASSERT_EQ(Texts(*stream, 2),
              (std::vector<std::string>{"CREATED pod: READY", "STARTED pod: READY"}));
  }
  EXPECT_LT(threads(), before + 100) << "where each stream had one they would be 1,000 more";
}

// kubelet reads this in place of an event's states when it lists.
TEST_F(EventsTest, APodsStatusHasItsContainersAndATime) {
  const std::string pod = RunPod();
  Start(pod, Named(Shell("sleep 1000"), "main"));
  cri::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(pod);
  cri::PodSandboxStatusResponse response;
  grpc::ClientContext context;
  const int64_t before = absl::GetCurrentTimeNanos();
  ASSERT_TRUE(node_.runtime().PodSandboxStatus(&context, request, &response).ok());
  EXPECT_GE(response.timestamp(), before);
  EXPECT_LE(response.timestamp(), absl::GetCurrentTimeNanos());
  ASSERT_EQ(response.containers_statuses_size(), 1);
  EXPECT_EQ(response.containers_statuses(0).state(), cri::CONTAINER_RUNNING);
}

}  // namespace
}  // namespace plimsoll::testing
