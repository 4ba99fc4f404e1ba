// Plugins with a runtime that is a connection.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/dir_for_test.h"
#include "base/socket_file.h"
#include "nri/plugin/plugin.h"
#include "nri/ttrpc/connection.h"

namespace plimsoll::nri {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(60);

// Registers any plugin, and records its calls.
class FakeRuntime {
 public:
  explicit FakeRuntime(UniqueFd socket) {
    ConnectionOptions options;
    options.service = "nri.pkg.api.v1alpha1.Runtime";
    options.serve = [this](absl::string_view method, absl::string_view payload) {
      return Serve(method, payload);
    };
    connection_ = *TtrpcConnection::Start(std::move(socket), std::move(options));
  }
  absl::StatusOr<std::string> Call(absl::string_view method, absl::string_view payload = "") {
    return connection_->Call("nri.pkg.api.v1alpha1.Plugin", method, payload, kPatience);
  }
  // After a call of the plugin.
  api::RegisterPluginRequest registration;
  api::UpdateContainersRequest update;
  api::UpdateNodeResourcesRequest topology;
  absl::Status refusal;
  std::string bytes;  // instead of the answer to UpdateContainers
  absl::Notification registered;

  void Close() { connection_->Close(); }

 private:
  absl::StatusOr<std::string> Serve(absl::string_view method, absl::string_view payload) {
    const std::string text(payload);
    if (!refusal.ok()) return refusal;
    if (method == "RegisterPlugin") {
      registration.ParseFromString(text);
      registered.Notify();
      return "";
    }
    if (method == "UpdateContainers") {
      update.ParseFromString(text);
      if (!bytes.empty()) return bytes;
      api::UpdateContainersResponse response;
      if (update.update_size() > 1) *response.add_failed() = update.update(1);
      return response.SerializeAsString();
    }
    if (method == "UpdateNodeResources") {
      topology.ParseFromString(text);
      return "";
    }
    return absl::UnimplementedError(absl::StrCat("method ", method));
  }

  std::unique_ptr<TtrpcConnection> connection_;
};

class TestPlugin : public Plugin {
 public:
  // Calls back from within a hook.
  absl::StatusOr<api::StopContainerResponse> StopContainer(
      const api::StopContainerRequest&) override {
    const absl::Status status = session->UpdateContainers({}, {}).status();
    if (!status.ok()) return status;
    return api::StopContainerResponse();
  }
  absl::Status Configure(const api::ConfigureRequest& request) override {
    return request.config() == "bad" ? absl::InvalidArgumentError("cpus is missing")
                                     : absl::OkStatus();
  }
  void Shutdown() override { ++shutdowns; }

  Session* session = nullptr;
  int shutdowns = 0;
};

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("NRI_PLUGIN_SOCKET");
    unsetenv("NRI_PLUGIN_NAME");
    unsetenv("NRI_PLUGIN_IDX");
    int ends[2] = {-1, -1};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket_.Reset(ends[0]);
    runtime_ = std::make_unique<FakeRuntime>(UniqueFd(ends[1]));
  }
  void TearDown() override { SetUp(); }

  PluginOptions Options() {
    PluginOptions options;
    options.name = "test";
    options.index = "42";
    options.connected = std::move(socket_);
    return options;
  }
  void Start() {
    auto session = Session::Start(plugin_, Options());
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    plugin_.session = session_.get();
  }

  UniqueFd socket_;
  TestPlugin plugin_;
  std::unique_ptr<FakeRuntime> runtime_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, RegistersWithNameIndexAndVersion) {
  Start();
  EXPECT_EQ(runtime_->registration.plugin_name(), "test");
  EXPECT_EQ(runtime_->registration.plugin_idx(), "42");
  EXPECT_EQ(runtime_->registration.nri_version(), "0.12.0");
}

TEST_F(SessionTest, SaysThatTheRuntimeRefusesIt) {
  runtime_->refusal = absl::PermissionDeniedError("connections from outside are off");
  EXPECT_EQ(
      Session::Start(plugin_, Options()).status(),
      absl::PermissionDeniedError("register plugin 42-test: connections from outside are off"));
}

TEST_F(SessionTest, IsNamedByTheEnvironment) {
  setenv("NRI_PLUGIN_NAME", "from-env", 1);
  setenv("NRI_PLUGIN_IDX", "07", 1);
  Start();
  EXPECT_EQ(runtime_->registration.plugin_name(), "from-env");
  EXPECT_EQ(runtime_->registration.plugin_idx(), "07");
}

TEST_F(SessionTest, RefusesWrongNamesAndIndices) {
  for (const char* name : {"", "a b", "a/b", "\xc3\xa4"}) {
    PluginOptions options = Options();
    options.name = name;
    EXPECT_EQ(Session::Start(plugin_, std::move(options)).status(),
              absl::InvalidArgumentError(absl::StrCat("the plugin's name \"", name,
                                                      "\" must be letters, digits and \"-_.+\"")));
  }
  for (const char* index : {"", "1", "123", "1a", "-1"}) {
    PluginOptions options = Options();
    options.index = index;
    EXPECT_EQ(Session::Start(plugin_, std::move(options)).status(),
              absl::InvalidArgumentError(
                  absl::StrCat("the index \"", index, "\" of plugin test must be two digits")));
  }
}

TEST_F(SessionTest, TakesTheSocketOfTheEnvironment) {
  const int number = socket_.Release();
  setenv("NRI_PLUGIN_SOCKET", absl::StrCat(number).c_str(), 1);
  Start();
  EXPECT_EQ(runtime_->registration.plugin_name(), "test");
  EXPECT_EQ(fcntl(number, F_GETFD), FD_CLOEXEC);
}

TEST_F(SessionTest, RefusesNumbersThatAreNoSockets) {
  socket_.Reset();
  const UniqueFd file(dup(STDERR_FILENO));
  for (const std::string& number :
       {std::string("x"), std::string("3x"), std::string("-1"), std::string("0"), std::string("2"),
        std::string("99999"), absl::StrCat(file.get())}) {
    setenv("NRI_PLUGIN_SOCKET", number.c_str(), 1);
    EXPECT_EQ(Session::Start(plugin_, Options()).status(),
              absl::InvalidArgumentError(absl::StrCat(
                  "NRI_PLUGIN_SOCKET \"", number,
                  "\" is not the number of a stream socket that the runtime has left open")));
  }
}

TEST_F(SessionTest, ConnectsToTheRuntimesSocket) {
  const TestDir dir;
  const std::string path = dir.path() + "/nri.sock";
  socket_.Reset();
  PluginOptions options = Options();
  options.socket = path;
  EXPECT_EQ(Session::Start(plugin_, std::move(options)).status().code(),
            absl::StatusCode::kUnavailable);
  const UniqueFd listener = *ListenAt({path, 0600, {}});
  std::thread acceptor([&] {
    UniqueFd socket;
    while (!socket.valid()) socket.Reset(accept(listener.get(), nullptr, nullptr));
    runtime_ = std::make_unique<FakeRuntime>(std::move(socket));
  });
  options = Options();
  options.socket = path;
  const auto session = Session::Start(plugin_, std::move(options));
  acceptor.join();
  EXPECT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(runtime_->registration.plugin_name(), "test");
}

TEST_F(SessionTest, SaysWhyItCantConnect) {
  const TestDir dir;
  socket_.Reset();
  PluginOptions options = Options();
  options.socket = dir.path() + "/none.sock";
  EXPECT_EQ(Session::Start(plugin_, std::move(options)).status(),
            absl::UnavailableError(absl::StrCat("no runtime takes plugins at ", dir.path(),
                                                "/none.sock: No such file or directory")));
  options = Options();
  options.socket = std::string(200, 'x');
  EXPECT_EQ(Session::Start(plugin_, std::move(options)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(SessionTest, ServesThePluginAndNothingElse) {
  Start();
  EXPECT_TRUE(runtime_->Call("Configure").ok());
  EXPECT_EQ(runtime_->Call("StartContainer").status(), absl::UnimplementedError("StartContainer"));
}

TEST_F(SessionTest, UpdatesContainersAlsoWithinAHook) {
  Start();
  std::vector<api::ContainerUpdate> updates(2);
  updates[0].set_container_id("good");
  updates[1].set_container_id("bad");
  std::vector<api::ContainerEviction> evictions(1);
  evictions[0].set_container_id("gone");
  const auto failed = session_->UpdateContainers(updates, evictions);
  ASSERT_TRUE(failed.ok()) << failed.status();
  ASSERT_EQ(failed->size(), 1u);
  EXPECT_EQ((*failed)[0].container_id(), "bad");
  EXPECT_EQ(runtime_->update.evict(0).container_id(), "gone");
  EXPECT_TRUE(runtime_->Call("StopContainer").ok());
}

TEST_F(SessionTest, PassesTheRuntimesErrorsOn) {
  Start();
  runtime_->bytes = "\xff";
  EXPECT_EQ(session_->UpdateContainers({}, {}).status(),
            absl::InternalError("the runtime's answer is no UpdateContainersResponse"));
  runtime_->refusal = absl::FailedPreconditionError("not now");
  EXPECT_EQ(session_->UpdateContainers({}, {}).status(), absl::FailedPreconditionError("not now"));
  EXPECT_EQ(session_->UpdateNodeResources({}), absl::FailedPreconditionError("not now"));
}

TEST_F(SessionTest, ProvidesTheNodesTopology) {
  Start();
  api::UpdateNodeResourcesRequest request;
  request.mutable_resource_topology()->add_zones()->set_name("zone");
  EXPECT_TRUE(session_->UpdateNodeResources(request).ok());
  EXPECT_EQ(runtime_->topology.resource_topology().zones(0).name(), "zone");
}

TEST_F(SessionTest, EndsAsItWasAsked) {
  Start();
  session_->Close();
  EXPECT_TRUE(session_->Wait().ok());
  EXPECT_TRUE(session_->Wait().ok());
  EXPECT_TRUE(absl::IsUnavailable(session_->UpdateContainers({}, {}).status()));
}

TEST_F(SessionTest, EndsWellAfterShutdown) {
  Start();
  EXPECT_TRUE(runtime_->Call("Shutdown").ok());
  runtime_->Close();
  EXPECT_TRUE(session_->Wait().ok());
  EXPECT_EQ(plugin_.shutdowns, 1);
}

TEST_F(SessionTest, SaysThatTheRuntimeIsGone) {
  Start();
  runtime_->Close();
  EXPECT_EQ(session_->Wait(), absl::UnavailableError("the other side closed the connection"));
}

// The runtime only hangs up then.
TEST_F(SessionTest, SaysWhyThePluginCouldNotJoin) {
  Start();
  api::ConfigureRequest request;
  request.set_config("bad");
  EXPECT_TRUE(
      absl::IsInvalidArgument(runtime_->Call("Configure", request.SerializeAsString()).status()));
  runtime_->Close();
  const absl::Status end = session_->Wait();
  EXPECT_TRUE(absl::IsInvalidArgument(end)) << end;
  EXPECT_THAT(std::string(end.message()), HasSubstr("Configure: cpus is missing"));
}

TEST_F(SessionTest, RunsUntilASignalComes) {
  for (const int signal : {SIGTERM, SIGINT}) {
    // A thread of the runtime's would take the signal, and the program end.
    sigset_t signals;
    sigset_t before;
    sigemptyset(&signals);
    sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    SetUp();
    std::thread sender([&] {
      runtime_->registered.WaitForNotification();
      kill(getpid(), signal);
    });
    EXPECT_TRUE(RunPlugin(plugin_, Options()).ok());
    sender.join();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
}

TEST_F(SessionTest, RunsUntilTheRuntimeIsGone) {
  std::thread closer([&] {
    runtime_->registered.WaitForNotification();
    runtime_->Close();
  });
  const absl::Status status = RunPlugin(plugin_, Options());
  closer.join();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(SessionTest, RunsNothingThatCantStart) {
  PluginOptions options = Options();
  options.index = "1";
  EXPECT_THAT(std::string(RunPlugin(plugin_, std::move(options)).message()),
              HasSubstr("must be two digits"));
}

}  // namespace
}  // namespace plimsoll::nri
