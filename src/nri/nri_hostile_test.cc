// Peers that break the protocol, or the patience.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "base/connection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nri/nri_fixture_for_test.h"
#include "nri/ttrpc/connection.h"

namespace plimsoll::nri {
namespace {

using ::testing::HasSubstr;

// A plugin at the level of calls.
class RawPlugin {
 public:
  using Answer = std::function<absl::StatusOr<std::string>(absl::string_view method)>;

  RawPlugin(const std::string& socket, Answer answer) {
    ConnectionOptions options;
    options.calls = kRuntimeConnection;
    options.serves = kPluginConnection;
    options.service = "nri.pkg.api.v1alpha1.Plugin";
    options.serve = [answer = std::move(answer)](absl::string_view method, absl::string_view) {
      return answer(method);
    };
    connection_ = *TtrpcConnection::Start(*ConnectToSocket(socket), std::move(options));
  }
  absl::StatusOr<std::string> Call(absl::string_view method, const std::string& payload) {
    return connection_->Call("nri.pkg.api.v1alpha1.Runtime", method, payload, absl::Seconds(30));
  }
  absl::Status Register(const std::string& index, const std::string& name) {
    api::RegisterPluginRequest request;
    request.set_plugin_idx(index);
    request.set_plugin_name(name);
    return Call("RegisterPlugin", request.SerializeAsString()).status();
  }
  bool IsClosed() const { return connection_->IsClosed(); }

 private:
  std::unique_ptr<TtrpcConnection> connection_;
};

absl::StatusOr<std::string> AnswerNothing(absl::string_view) {
  return std::string();
}

class NriHostileTest : public NriFixture {
 protected:
  absl::Notification end_;
  bool ReadsEnd(int socket) {
    char byte;
    return WaitUntil([&] {
      const ssize_t n = recv(socket, &byte, 1, MSG_DONTWAIT);
      return n == 0 || (n < 0 && errno == ECONNRESET);
    });
  }
};

TEST_F(NriHostileTest, TheSocketIsForItsOwnerAlone) {
  Start();
  struct stat info;
  ASSERT_EQ(stat(options_.socket.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat((dir_.path() + "/nri").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  // A second daemon doesn't take it away.
  absl::StatusOr<std::unique_ptr<Nri>> second = Nri::Make(options_);
  ASSERT_TRUE(second.ok());
  EXPECT_THAT((*second)->Start(&engine_).message(), HasSubstr("another process listens"));
  (*second)->Stop();
  nri_->Stop();
  EXPECT_NE(stat(options_.socket.c_str(), &info), 0);
}

TEST_F(NriHostileTest, ConnectionsFromOutsideCanBeOff) {
  options_.config.external = false;
  Start();
  EXPECT_TRUE(absl::IsNotFound(ConnectToSocket(options_.socket).status()));
}

TEST_F(NriHostileTest, NamesAreChecked) {
  Start();
  RawPlugin plugin(options_.socket, AnswerNothing);
  for (const auto& [index, name] :
       std::vector<std::pair<std::string, std::string>>{{"1", "a"},
                                                        {"100", "a"},
                                                        {"1a", "a"},
                                                        {"", "a"},
                                                        {"10", ""},
                                                        {"10", "a/b"},
                                                        {"10", "a\n"},
                                                        {"10", std::string(1'000'000, 'a')}}) {
    const absl::Status refused = plugin.Register(index, name);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << index << "-" << name;
    EXPECT_LT(refused.message().size(), 1000u);
  }
  EXPECT_FALSE(nri_->Active());
  EXPECT_EQ(plugin.Register("10", "a"), absl::OkStatus());
  EXPECT_FALSE(plugin.Register("11", "b").ok()) << "it has a name";
}

TEST_F(NriHostileTest, CallsBeforeSynchronizeAreRefused) {
  Start();
  RawPlugin plugin(options_.socket, AnswerNothing);
  EXPECT_TRUE(absl::IsFailedPrecondition(plugin.Call("UpdateContainers", "").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(plugin.Call("UpdateNodeResources", "").status()));
  EXPECT_TRUE(absl::IsUnimplemented(plugin.Call("Reboot", "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(plugin.Call("RegisterPlugin", "\xff\xff").status()));
}

TEST_F(NriHostileTest, UnknownEventsRefuseThePlugin) {
  Start();
  RawPlugin plugin(options_.socket, [](absl::string_view method) -> absl::StatusOr<std::string> {
    api::ConfigureResponse response;
    response.set_events(1 << 20);
    return method == "Configure" ? response.SerializeAsString() : "";
  });
  // It may be refused before it has the answer.
  plugin.Register("10", "a").IgnoreError();
  EXPECT_TRUE(WaitUntil([&] { return plugin.IsClosed(); }));
  EXPECT_TRUE(WasTold("0x100000"));
}

TEST_F(NriHostileTest, AnAnswerThatIsNoMessageEndsTheConnection) {
  Start();
  RawPlugin plugin(options_.socket, [](absl::string_view method) -> absl::StatusOr<std::string> {
    return method == "CreateContainer" ? "\xff\xff\xff" : "";
  });
  ASSERT_EQ(plugin.Register("10", "a"), absl::OkStatus());
  ASSERT_TRUE(WaitUntil([&] { return StateOf("10-a") == PluginState::kReady; }));
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_EQ(Create("p1", "c1"), absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return plugin.IsClosed(); }));
  EXPECT_TRUE(WasTold("is not the message of this call"));
}

TEST_F(NriHostileTest, AStopWaitsForNoPluginThatJoins) {
  options_.config.request_timeout_ms = 300'000;
  Start();
  absl::Notification joins;
  RawPlugin plugin(options_.socket, [&](absl::string_view method) {
    if (method == "Synchronize") {
      joins.Notify();
      end_.WaitForNotification();
    }
    return std::string();
  });
  ASSERT_EQ(plugin.Register("10", "a"), absl::OkStatus());
  joins.WaitForNotification();
  nri_->Stop();
  EXPECT_TRUE(WaitUntil([&] { return plugin.IsClosed(); }));
  end_.Notify();
}

// Two bytes on the wire become a message of 200 bytes in memory.
TEST_F(NriHostileTest, MessagesOfMillionsOfEmptyMembersAreNotParsed) {
  std::string empty_updates;
  while (empty_updates.size() < 4'000'000) empty_updates += std::string("\x0a\x00", 2);
  Start();
  RawPlugin plugin(options_.socket, [&](absl::string_view method) -> absl::StatusOr<std::string> {
    return method == "CreateContainer" ? empty_updates : "";
  });
  ASSERT_EQ(plugin.Register("10", "a"), absl::OkStatus());
  ASSERT_TRUE(WaitUntil([&] { return StateOf("10-a") == PluginState::kReady; }));
  EXPECT_EQ(plugin.Call("UpdateContainers", empty_updates).status(),
            absl::ResourceExhaustedError("UpdateContainers: 4000000 bytes are not the message of "
                                         "this call: it has more than 100000 fields"));
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_EQ(Create("p1", "c1"), absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return plugin.IsClosed(); }));
  EXPECT_TRUE(WasTold("it has more than 100000 fields"));
}

// The daemon drops the connection within the plugin's own call, and goes on caring for others.
TEST_F(NriHostileTest, APluginThatIsDisconnectedWithinItsCallEndsThere) {
  options_.config.request_timeout_ms = 500;
  options_.config.default_policy.strikes = 1;
  absl::Notification updating;
  absl::Notification go_on;
  std::atomic<int> updates = 0;
  engine_.on_update = [&](const std::string&) {
    if (++updates == 1) {
      updating.Notify();
      go_on.WaitForNotification();
    }
    return absl::OkStatus();
  };
  Start();
  RawPlugin plugin(options_.socket, [this](absl::string_view method) {
    if (method == "CreateContainer") end_.WaitForNotification();
    return std::string();
  });
  ASSERT_EQ(plugin.Register("10", "a"), absl::OkStatus());
  ASSERT_TRUE(WaitUntil([&] { return StateOf("10-a") == PluginState::kReady; }));
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  engine_.PutContainer(Container("p1", "c1").record);
  std::thread call([&] {
    api::UpdateContainersRequest request;
    for (int i = 0; i < 1000; ++i) request.add_update()->set_container_id("c1");
    EXPECT_FALSE(plugin.Call("UpdateContainers", request.SerializeAsString()).ok());
  });
  updating.WaitForNotification();
  EXPECT_EQ(Create("p1", "c2"), absl::OkStatus());  // not answered: the only strike
  ASSERT_TRUE(WaitUntil([&] { return nri_->Report().empty(); }));
  go_on.Notify();
  call.join();
  end_.Notify();
  Join("20-b");
  nri_->Stop();
  EXPECT_EQ(updates, 1);
}

TEST_F(NriHostileTest, APluginThatCanNotTakePartsIsRefused) {
  Start();
  for (int i = 0; i < 300; ++i) {
    runtime::HookedPod pod = Pod(absl::StrCat("pod-", i));
    pod.record.spec.cgroup_parent = std::string(4000, 'x');
    engine_.PutSandbox(pod.record);
  }
  RawPlugin plugin(options_.socket, AnswerNothing);
  plugin.Register("10", "a").IgnoreError();  // as above
  EXPECT_TRUE(WaitUntil([&] { return plugin.IsClosed(); }));
  EXPECT_TRUE(WasTold("doesn't know \"more\""));
}

TEST_F(NriHostileTest, GarbageEndsItsConnectionAlone) {
  Start();
  Join("10-a");
  for (const std::string& garbage :
       std::vector<std::string>{std::string("GET / HTTP/1.1\r\n\r\n"), std::string(10'000, '\xff'),
                                std::string("\0\0\0\2\xff\xff\xff\xff", 8),
                                std::string("\0\0\0\2\0\0\0\x0a", 8) +
                                    std::string("\xff\xff\xff\xff\0\0\0\1\1\0", 10)}) {
    const UniqueFd socket = *ConnectToSocket(options_.socket);
    ASSERT_GT(send(socket.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    shutdown(socket.get(), SHUT_WR);
    EXPECT_TRUE(ReadsEnd(socket.get()));
  }
  EXPECT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_EQ(log_.Count("10-a RunPodSandbox p1"), 1u);
}

TEST_F(NriHostileTest, APeerThatDoesNotRegisterIsDisconnected) {
  options_.config.registration_timeout_ms = 50;
  Start();
  const UniqueFd socket = *ConnectToSocket(options_.socket);
  EXPECT_TRUE(ReadsEnd(socket.get()));
  EXPECT_TRUE(WasTold("did not register within 50 ms"));
}

TEST_F(NriHostileTest, SilentConnectionsAreBounded) {
  options_.config.registration_timeout_ms = 60'000;
  Start();
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < 100; ++i) sockets.push_back(*ConnectToSocket(options_.socket));
  const auto count_open = [&] {
    return std::count_if(sockets.begin(), sockets.end(), [](const UniqueFd& socket) {
      char byte;
      return recv(socket.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    });
  };
  EXPECT_TRUE(WaitUntil([&] { return count_open() <= 16; }));
  EXPECT_GE(count_open(), 1);
  EXPECT_TRUE(WasTold("are refused"));
  // Closed connections make room.
  sockets.clear();
  EXPECT_TRUE(WaitUntil([&] {
    TestPlugin& plugin = Add("10-a");
    return Connect(plugin).ok();
  }));
}

TEST_F(NriHostileTest, APluginThatFloodsUpdatesHoldsNothingUp) {
  Start();
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
  TestPlugin& flood = Join("10-flood");
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      api::ContainerUpdate update;
      update.set_container_id("c1");
      while (!end && flood.session->UpdateContainers({update, update}, {}).ok()) {
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Create("p1", absl::StrCat("new-", i)), absl::OkStatus());
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NriHostileTest, APluginThatHoldsUpThousandsOfEventsIsDisconnected) {
  options_.config.request_timeout_ms = 300'000;
  Start();
  TestPlugin& plugin = Join("10-slow");
  Join("20-b");
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
  plugin.SetOnCall([&](const std::string& call) {
    if (call == "StopContainer c1") end_.WaitForNotification();
    return absl::OkStatus();
  });
  Exit("c1");
  ASSERT_TRUE(WaitUntil([&] { return log_.Count("10-slow StopContainer c1") == 1; }));
  for (int i = 0; i < 10'000; ++i) RemovePod("unknown");
  EXPECT_TRUE(WaitUntil([&] { return StateOf("10-slow") == PluginState::kAbsent; }));
  EXPECT_TRUE(WasTold("10000 events wait"));
  Flush();
  EXPECT_EQ(log_.Count("20-b StopContainer c1"), 1u);
  EXPECT_EQ(StateOf("20-b"), PluginState::kReady);
  end_.Notify();
}

TEST_F(NriHostileTest, WhenEventsWereDroppedAllPluginsJoinAnew) {
  Start();
  TestPlugin& plugin = Join("10-a");
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
  // The engine holds the turn for long, and no plugin is at fault.
  const absl::Status updated = nri_->UpdateContainer(Pod("p1"), Container("p1", "c1"), {},
                                                     [&](const runtime::ResourceUpdate&) {
                                                       for (int i = 0; i < 20'001; ++i)
                                                         RemovePod("unknown");
                                                       return absl::OkStatus();
                                                     });
  EXPECT_EQ(updated, absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return nri_->Report().empty(); }));
  EXPECT_TRUE(WasTold("events had to be dropped"));
  EXPECT_FALSE(plugin.session->Wait().ok());
  ASSERT_EQ(RunPod("p2"), absl::OkStatus());
  Join("30-c");
  EXPECT_EQ(log_.Count("30-c Synchronize p1 p2 c1"), 1u);
}

TEST_F(NriHostileTest, APluginThatNeverReadsIsLeftOut) {
  options_.config.request_timeout_ms = 500;
  options_.config.default_policy.strikes = 2;
  Start();
  // Registers by hand, answers Configure and Synchronize, and then reads no more.
  RawPlugin plugin(options_.socket, [this](absl::string_view method) {
    if (method != "Configure" && method != "Synchronize") end_.WaitForNotification();
    return std::string();
  });
  ASSERT_EQ(plugin.Register("10", "deaf"), absl::OkStatus());
  ASSERT_TRUE(WaitUntil([&] { return StateOf("10-deaf") == PluginState::kReady; }));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(RunPod(absl::StrCat("p", i)), absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return nri_->Report().empty(); }));
  end_.Notify();
}

}  // namespace
}  // namespace plimsoll::nri
