// The server itself: its socket, its queue, its end.
#include "cri/server.h"

#include <grpcpp/impl/client_unary_call.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"
#include "cri/calls/grpc_status.h"
#include "cri/mocks_for_test.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/wrappers.pb.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Invoke;
using ::testing::Return;

class ServerTest : public ServerFixture {
 protected:
  grpc::Status Version(const std::string& version = "v1") {
    v1::VersionRequest request;
    request.set_version(version);
    return Call(runtime_, &RuntimeStub::Version, request, &version_);
  }
  grpc::Status Stop(const std::string& id) {
    v1::StopContainerRequest request;
    request.set_container_id(id);
    v1::StopContainerResponse response;
    return Call(runtime_, &RuntimeStub::StopContainer, request, &response);
  }

  v1::VersionResponse version_;
};

TEST_F(ServerTest, SocketHasModeAndGroupAndGoesAtTheEnd) {
  options_.socket_group = getgid();
  Start();
  struct stat info;
  ASSERT_EQ(stat(options_.socket_path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0660u);
  EXPECT_EQ(info.st_gid, getgid());
  EXPECT_TRUE(Version().ok());
  EXPECT_EQ(dir_.root().List("")->size(), 1u) << "more than the socket is there";
  server_->Shutdown(absl::ZeroDuration());
  EXPECT_TRUE(dir_.root().List("")->empty());
}

TEST_F(ServerTest, ARemovedSocketIsMadeAgainAndWhatIsConnectedStaysSo) {
  options_.socket_mode = 0600;
  Start();
  ASSERT_TRUE(Version().ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(unlink(options_.socket_path.c_str()), 0);
    struct stat info = {};
    EXPECT_TRUE(WaitUntil([&] { return stat(options_.socket_path.c_str(), &info) == 0; }));
    EXPECT_EQ(info.st_mode & 07777, 0600u);
    EXPECT_TRUE(Version().ok()) << "by the connection from before";
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel = grpc::CreateCustomChannel("unix:" + options_.socket_path,
                                                   grpc::InsecureChannelCredentials(), own);
    const auto anew = v1::RuntimeService::NewStub(channel);
    v1::VersionResponse response;
    const grpc::Status called = Call(anew, &RuntimeStub::Version, {}, &response);
    EXPECT_TRUE(called.ok()) << called.error_message();
    EXPECT_EQ(response.runtime_name(), "plimsoll");
  }
  server_->Shutdown(absl::ZeroDuration());
  EXPECT_TRUE(dir_.root().List("")->empty());
}

TEST_F(ServerTest, WhatIsPutInTheSocketsPlaceIsLeftAlone) {
  Start();
  ASSERT_TRUE(dir_.root().ReplaceFile("other", "mine").ok());
  ASSERT_EQ(rename((dir_.path() + "/other").c_str(), options_.socket_path.c_str()), 0);
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_EQ(dir_.root().Read("plimsoll.sock").value_or(""), "mine");
  ASSERT_EQ(unlink(options_.socket_path.c_str()), 0);
  struct stat info = {};
  EXPECT_TRUE(WaitUntil([&] { return stat(options_.socket_path.c_str(), &info) == 0; }));
  EXPECT_TRUE(S_ISSOCK(info.st_mode));
}

TEST_F(ServerTest, TheEndLeavesAnothersFileInTheSocketsPlace) {
  Start();
  ASSERT_TRUE(dir_.root().ReplaceFile("other", "mine").ok());
  ASSERT_EQ(rename((dir_.path() + "/other").c_str(), options_.socket_path.c_str()), 0);
  server_->Shutdown(absl::ZeroDuration());
  EXPECT_EQ(dir_.root().Read("plimsoll.sock").value_or(""), "mine");
}

TEST_F(ServerTest, AnsweringSocketIsLeftAlone) {
  Start();
  const auto second = Server::Start(options_);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_TRUE(Version().ok());
}

TEST_F(ServerTest, DeadSocketIsReplaced) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  options_.socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  Start();
  EXPECT_TRUE(Version().ok());
}

TEST_F(ServerTest, FileInThePlaceOfTheSocketIsNotRemoved) {
  ASSERT_TRUE(dir_.root().ReplaceFile("plimsoll.sock", "precious").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Server::Start(options_).status()));
  EXPECT_EQ(*dir_.root().Read("plimsoll.sock"), "precious");
}

TEST_F(ServerTest, UnusablePathsAreErrors) {
  options_.socket_path = "relative.sock";
  EXPECT_TRUE(absl::IsInvalidArgument(Server::Start(options_).status()));
  options_.socket_path = "/" + std::string(120, 'a');
  EXPECT_TRUE(absl::IsInvalidArgument(Server::Start(options_).status()));
  options_.socket_path = dir_.path() + "/missing/plimsoll.sock";
  const absl::Status status = Server::Start(options_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(options_.socket_path));
}

TEST_F(ServerTest, NegotiatesTheVersion) {
  Start();
  for (const char* version : {"", "v1", "0.1.0"}) {
    EXPECT_TRUE(Version(version).ok()) << version;
    EXPECT_EQ(version_.version(), "0.1.0");
    EXPECT_EQ(version_.runtime_name(), "plimsoll");
    EXPECT_EQ(version_.runtime_version(), "1.2.3");
    EXPECT_EQ(version_.runtime_api_version(), "v1");
  }
  EXPECT_EQ(Version("v1alpha2").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, UnsupportedCallsSaySo) {
  Start();
  v1::CheckpointContainerRequest request;
  v1::CheckpointContainerResponse response;
  const grpc::Status status = Call(runtime_, &RuntimeStub::CheckpointContainer, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("method CheckpointContainer not implemented"));
}

// Every RPC of upstream must give an answer of ours: a method that isn't overridden has no message.
TEST_F(ServerTest, NoCallIsForgotten) {
  Start();
  const google::protobuf::FileDescriptor* file = v1::VersionRequest::descriptor()->file();
  for (int s = 0; s < file->service_count(); ++s) {
    const google::protobuf::ServiceDescriptor* service = file->service(s);
    for (int m = 0; m < service->method_count(); ++m) {
      const std::string name =
          absl::StrCat("/", service->full_name(), "/", service->method(m)->name());
      if (service->method(m)->name() == "GetContainerEvents") continue;  // never ends by itself
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
      google::protobuf::Empty request;
      google::protobuf::Empty response;
      const grpc::internal::RpcMethod method(name.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
      const grpc::Status status =
          grpc::internal::BlockingUnaryCall<google::protobuf::Empty, google::protobuf::Empty>(
              channel_.get(), method, &context, request, &response);
      if (status.error_code() != grpc::StatusCode::UNIMPLEMENTED) continue;
      // The client's own word for a stream that ended well, with nothing in it.
      if (service->method(m)->server_streaming() &&
          absl::StartsWith(status.error_message(), "No message returned")) {
        continue;
      }
      EXPECT_THAT(status.error_message(), HasSubstr("not implemented")) << name;
    }
  }
}

// On the wire, these two match requests and answers of grpc.health.v1.Health.
TEST_F(ServerTest, HealthIsToldAsGrpcToolsAskForIt) {
  enum { kServing = 1, kNotServing = 2 };
  Start();
  const auto ask = [this](const std::string& service, int* health) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    google::protobuf::StringValue request;
    google::protobuf::Int32Value response;
    request.set_value(service);
    const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check",
                                           grpc::internal::RpcMethod::NORMAL_RPC);
    const grpc::Status status = grpc::internal::BlockingUnaryCall<google::protobuf::StringValue,
                                                                  google::protobuf::Int32Value>(
        channel_.get(), method, &context, request, &response);
    *health = response.value();
    return status;
  };
  int health = 0;
  for (const char* service :
       {"", "runtime.v1.RuntimeService", "runtime.v1.ImageService", "plimsoll.v1.NodeService"}) {
    const grpc::Status status = ask(service, &health);
    EXPECT_TRUE(status.ok()) << service << ": " << status.error_message();
    EXPECT_EQ(health, kServing) << service;
  }
  EXPECT_EQ(ask("runtime.v1.Other", &health).error_code(), grpc::StatusCode::NOT_FOUND);

  // The server stops serving while it waits for the last calls.
  absl::Notification working;
  absl::Notification go_on;
  EXPECT_CALL(engine_, StopContainer(_, _)).WillOnce(Invoke([&](auto, auto) {
    working.Notify();
    go_on.WaitForNotification();
    return absl::OkStatus();
  }));
  std::thread caller([&] { EXPECT_TRUE(Stop("c").ok()); });
  working.WaitForNotification();
  std::thread stopper([&] { EXPECT_TRUE(server_->Shutdown(absl::Seconds(60))); });
  EXPECT_TRUE(WaitUntil([&] { return ask("", &health).ok() && health == kNotServing; }));
  go_on.Notify();
  caller.join();
  stopper.join();
}

TEST_F(ServerTest, WhatNoServiceHasIsNamedAndObserved) {
  absl::Mutex mutex;
  std::vector<std::string> seen;
  options_.calls.observer = [&](const FinishedCall& call) {
    absl::MutexLock lock(&mutex);
    const MethodName method = SplitMethod(call.method);
    seen.push_back(absl::StrCat(method.service, " ", method.name, " ", CodeName(call.code)));
  };
  Start();
  const auto ask = [this](const std::string& name) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const google::protobuf::Empty request;
    google::protobuf::Empty response;
    const grpc::internal::RpcMethod method(name.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
    return grpc::internal::BlockingUnaryCall<google::protobuf::Empty, google::protobuf::Empty>(
        channel_.get(), method, &context, request, &response);
  };
  const grpc::Status method = ask("/runtime.v1.RuntimeService/Teleport");
  EXPECT_EQ(method.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(method.error_message(),
              HasSubstr("there is no method /runtime.v1.RuntimeService/Teleport"));
  EXPECT_EQ(ask("/runtime.v1alpha2.RuntimeService/Version").error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(Version().ok());
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(seen, ElementsAre("unknown unknown UNIMPLEMENTED", "unknown unknown UNIMPLEMENTED",
                                "RuntimeService Version OK"));
}

// The request comes as bytes, which gRPC doesn't parse. On the wire, a BytesValue's value is a
// list's filter.
TEST_F(ServerTest, ListContainersRefusesWhatIsNoRequest) {
  std::vector<std::string> seen;
  absl::Mutex mutex;
  options_.calls.observer = [&](const FinishedCall& call) {
    absl::MutexLock lock(&mutex);
    seen.push_back(absl::StrCat(SplitMethod(call.method).name, " ", CodeName(call.code)));
  };
  std::vector<runtime::ContainerRecord> two(2);
  two[0].id = "a";
  two[1].id = "b";
  for (runtime::ContainerRecord& each : two) each.state = runtime::ContainerState::kRunning;
  ON_CALL(engine_, ListContainers).WillByDefault(Return(two));
  Start();
  v1::ListContainersResponse response;
  const auto ask = [&](const std::string& filter) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    google::protobuf::BytesValue request;
    request.set_value(filter);
    response.Clear();
    const grpc::internal::RpcMethod method("/runtime.v1.RuntimeService/ListContainers",
                                           grpc::internal::RpcMethod::NORMAL_RPC);
    return grpc::internal::BlockingUnaryCall<google::protobuf::BytesValue,
                                             v1::ListContainersResponse>(
        channel_.get(), method, &context, request, &response);
  };
  const std::string id = "\x0a";  // the filter's first field, a text, whose length follows
  const std::string cut_off = id + "\x05" + "a";
  const std::string no_utf8 = id + "\x01" + "\xff";
  const std::string no_field = "\xff";
  for (const std::string& garbage : {cut_off, no_utf8, no_field}) {
    const grpc::Status status = ask(garbage);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << absl::CEscape(garbage);
    EXPECT_THAT(status.error_message(), HasSubstr("no message of its type"));
  }
  EXPECT_TRUE(ask(id + "\x01" + "b").ok());
  ASSERT_EQ(response.containers_size(), 1);
  EXPECT_EQ(response.containers(0).id(), "b");
  EXPECT_TRUE(ask("").ok());
  EXPECT_EQ(response.containers_size(), 2);
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(
      seen,
      ElementsAre("ListContainers INVALID_ARGUMENT", "ListContainers INVALID_ARGUMENT",
                  "ListContainers INVALID_ARGUMENT", "ListContainers OK", "ListContainers OK"));
}

TEST_F(ServerTest, CallsRunSideBySide) {
  constexpr int kCallers = 8;
  // None returns before all have arrived.
  std::latch arrived(kCallers);
  EXPECT_CALL(engine_, StopContainer(_, _)).WillRepeatedly(Invoke([&](auto, auto) {
    arrived.arrive_and_wait();
    return absl::OkStatus();
  }));
  Start();
  std::atomic<int> ok{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] { ok += Stop(absl::StrCat("c", i)).ok(); });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(ok, kCallers);
}

TEST_F(ServerTest, FullQueueRefusesButQuickCallsGoOn) {
  options_.calls.lanes.waiting_threads = 1;
  options_.calls.lanes.max_queued = 1;
  absl::Notification working;
  absl::Notification go_on;
  EXPECT_CALL(engine_, StopContainer(absl::string_view("first"), _))
      .WillOnce(Invoke([&](auto, auto) {
        working.Notify();
        go_on.WaitForNotification();
        return absl::OkStatus();
      }));
  EXPECT_CALL(engine_, StopContainer(absl::string_view("next"), _))
      .WillRepeatedly(Return(absl::OkStatus()));
  Start();
  std::thread first([&] { EXPECT_TRUE(Stop("first").ok()); });
  working.WaitForNotification();
  // One waits in the queue, the other is refused: the network decides which.
  std::atomic<int> refused{0};
  std::vector<std::thread> next;
  for (int i = 0; i < 2; ++i) {
    next.emplace_back([&] {
      const grpc::Status status = Stop("next");
      if (status.ok()) return;
      EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      EXPECT_THAT(status.error_message(), HasSubstr("too many calls"));
      if (++refused == 1) go_on.Notify();
    });
  }
  EXPECT_TRUE(Version().ok());
  for (std::thread& caller : next) caller.join();
  first.join();
  EXPECT_EQ(refused, 1);
}

// Endless commands take the threads for commands, and no others.
TEST_F(ServerTest, CommandsHoldUpNothingElse) {
  options_.calls.lanes.waiting_threads = 1;
  std::atomic<int> exhausted{0};
  options_.calls.lanes.on_exhausted = [&](const LaneState& lane) {
    if (lane.lane != Lane::kExec) return;  // whose thread may be about to finish
    ++exhausted;
  };
  std::atomic<int> begun{0};
  EXPECT_CALL(engine_.mock_commands, ExecSync(_, _))
      .WillRepeatedly(Invoke([&](auto, const auto& request) {
        ++begun;
        pollfd gone = {request.cancellation->fd(), POLLIN, 0};
        EXPECT_EQ(poll(&gone, 1, 60'000), 1);
        return absl::StatusOr<runtime::ExecResult>(absl::CancelledError("gone"));
      }));
  EXPECT_CALL(engine_, StopContainer(_, _)).WillRepeatedly(Return(absl::OkStatus()));
  EXPECT_CALL(engine_, RemoveContainer(_)).WillRepeatedly(Return(absl::OkStatus()));
  EXPECT_CALL(engine_, Inspect()).WillOnce(Return(std::vector<runtime::Finding>()));
  Start();
  v1::ExecSyncRequest exec;
  exec.set_container_id("a");
  exec.add_cmd("sleep");
  grpc::ClientContext contexts[2];
  std::vector<std::thread> callers;
  for (grpc::ClientContext& context : contexts) {
    callers.emplace_back([&] {
      v1::ExecSyncResponse response;
      EXPECT_EQ(runtime_->ExecSync(&context, exec, &response).error_code(),
                grpc::StatusCode::CANCELLED);
    });
  }
  const auto exec_lane = [&] { return server_->Lanes()[static_cast<size_t>(Lane::kExec)]; };
  EXPECT_TRUE(WaitUntil([&] { return exec_lane().running == 1 && exec_lane().waiting == 1; }));
  // The observer is called a moment after the call is counted.
  EXPECT_TRUE(WaitUntil([&] { return exhausted >= 1; }));
  EXPECT_EQ(exhausted, 1);
  EXPECT_EQ(exec_lane().exhausted, 1u);
  EXPECT_TRUE(Version().ok());
  EXPECT_TRUE(Stop("a").ok());
  v1::RemoveContainerRequest remove;
  remove.set_container_id("a");
  v1::RemoveContainerResponse removed;
  EXPECT_TRUE(Call(runtime_, &RuntimeStub::RemoveContainer, remove, &removed).ok());
  ::plimsoll::v1::InspectResponse inspected;
  EXPECT_TRUE(Call(node_, &NodeStub::Inspect, {}, &inspected).ok());
  // A client that leaves frees its thread; a call whose client left while it waited never begins.
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(WaitUntil([&] { return exec_lane().running == 0 && exec_lane().waiting == 0; }));
  EXPECT_GE(begun, 1);
}

// Pods with hanging network plugins do too.
TEST_F(ServerTest, PodsInTheMakingHoldUpNothingElse) {
  options_.calls.lanes.waiting_threads = 1;
  absl::Notification working;
  absl::Notification go_on;
  EXPECT_CALL(engine_, RunSandbox(_, _)).WillOnce(Invoke([&](auto&&, auto&&) {
    working.Notify();
    go_on.WaitForNotification();
    return absl::StatusOr<std::string>("id");
  }));
  EXPECT_CALL(engine_, StartContainer(_)).WillOnce(Return(absl::OkStatus()));
  EXPECT_CALL(engine_, StopContainer(_, _)).WillRepeatedly(Return(absl::OkStatus()));
  Start();
  std::thread caller([&] {
    v1::RunPodSandboxRequest request;
    v1::PodSandboxMetadata* metadata = request.mutable_config()->mutable_metadata();
    metadata->set_name("pod");
    metadata->set_uid("uid");
    metadata->set_namespace_("default");
    v1::RunPodSandboxResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::RunPodSandbox, request, &response).ok());
  });
  working.WaitForNotification();
  v1::StartContainerRequest start;
  start.set_container_id("a");
  v1::StartContainerResponse started;
  EXPECT_TRUE(Call(runtime_, &RuntimeStub::StartContainer, start, &started).ok());
  EXPECT_TRUE(Stop("a").ok());
  EXPECT_TRUE(Version().ok());
  go_on.Notify();
  caller.join();
}

TEST_F(ServerTest, ObserverAndTracerSeeEveryCall) {
  absl::Mutex mutex;
  std::vector<std::string> seen;
  options_.calls.observer = [&](const FinishedCall& call) {
    absl::MutexLock lock(&mutex);
    EXPECT_GE(call.latency, absl::ZeroDuration());
    EXPECT_EQ(call.message.empty(), call.code == grpc::StatusCode::OK);
    seen.push_back(absl::StrCat(call.method, " ", CodeName(call.code), call.object));
  };
  options_.calls.tracer = [&](absl::string_view, const std::string& request) {
    absl::MutexLock lock(&mutex);
    seen.push_back(request);
  };
  Start();
  EXPECT_TRUE(Version().ok());
  EXPECT_FALSE(Version("v9").ok());
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(seen, ::testing::ElementsAre(
                        "version: \"v1\"", "/runtime.v1.RuntimeService/Version OK",
                        "version: \"v9\"", "/runtime.v1.RuntimeService/Version INVALID_ARGUMENT"));
}

TEST_F(ServerTest, AnAbandonedCallEndsWithItsOwnReason) {
  absl::Notification working;
  absl::Notification abandoned;
  options_.abandon_calls = [&] { abandoned.Notify(); };
  EXPECT_CALL(engine_, StopContainer(_, _)).WillOnce(Invoke([&](auto, auto) {
    working.Notify();
    abandoned.WaitForNotification();
    absl::SleepFor(absl::Milliseconds(50));
    return absl::UnavailableError("the daemon is stopping");
  }));
  Start();
  grpc::Status status;
  std::thread caller([&] { status = Stop("a"); });
  working.WaitForNotification();
  EXPECT_TRUE(server_->Shutdown(absl::ZeroDuration()));
  caller.join();
  EXPECT_EQ(status.error_message(), "the daemon is stopping");
}

// This includes sending the answers.
TEST_F(ServerTest, ShutdownWaitsForWorkInHand) {
  constexpr int kCallers = 16;
  absl::BlockingCounter working(kCallers);
  absl::Notification go_on;
  std::atomic<int> done{0};
  EXPECT_CALL(engine_, StopContainer(_, _)).Times(kCallers).WillRepeatedly(Invoke([&](auto, auto) {
    working.DecrementCount();
    go_on.WaitForNotification();
    ++done;
    return absl::OkStatus();
  }));
  Start();
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) callers.emplace_back([&] { EXPECT_TRUE(Stop("a").ok()); });
  working.Wait();
  std::thread stopper([&] {
    EXPECT_TRUE(server_->Shutdown(absl::Seconds(30)));
    EXPECT_EQ(done, kCallers);
  });
  go_on.Notify();
  for (std::thread& caller : callers) caller.join();
  stopper.join();
}

}  // namespace
}  // namespace plimsoll::cri
