// Two connections with each other. peer_test.cc has the other sides that break the protocol.
#include "nri/ttrpc/connection.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "nri/ttrpc/peer_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);

// The end of one side.
class End {
 public:
  void Set(const absl::Status& why) {
    why_ = why;
    ++count_;
    ended_.Notify();
  }
  const absl::Status& Await() {
    ended_.WaitForNotification();
    return why_;
  }
  int count() const { return count_; }

 private:
  absl::Notification ended_;
  absl::Status why_;
  std::atomic<int> count_ = 0;
};

using ServeFn = decltype(ConnectionOptions::serve);

class ConnectionTest : public ::testing::Test {
 protected:
  void Connect(ServeFn plugin, ServeFn runtime = nullptr) {
    SocketPair sockets = MakeSocketPair();
    ConnectionOptions options;
    options.service = "Runtime";
    options.serve = std::move(runtime);
    options.closed = [this](const absl::Status& why) { runtime_end_.Set(why); };
    runtime_ = *TtrpcConnection::Start(std::move(sockets.ours), options);
    options.calls = kRuntimeConnection;
    options.serves = kPluginConnection;
    options.service = "Plugin";
    options.serve = std::move(plugin);
    options.closed = [this](const absl::Status& why) { plugin_end_.Set(why); };
    plugin_ = *TtrpcConnection::Start(std::move(sockets.theirs), options);
  }
  absl::StatusOr<std::string> CallPlugin(absl::string_view payload,
                                         absl::Duration timeout = kLong) {
    answered_ = false;
    return runtime_->Call("Plugin", "Echo", payload, timeout, &answered_);
  }

  // Outlive the threads that serve.
  absl::Notification called_;
  absl::Notification go_on_;
  End runtime_end_;
  End plugin_end_;
  std::unique_ptr<TtrpcConnection> runtime_;
  std::unique_ptr<TtrpcConnection> plugin_;
  bool answered_ = false;
};

absl::StatusOr<std::string> Echo(absl::string_view method, absl::string_view payload) {
  if (method != "Echo") return absl::UnimplementedError(absl::StrCat("method ", method));
  return std::string(payload);
}

TEST_F(ConnectionTest, CallsBothWays) {
  Connect(Echo, [](absl::string_view method, absl::string_view payload) {
    return absl::StrCat(method, " of ", payload);
  });
  EXPECT_EQ(*CallPlugin("a"), "a");
  EXPECT_TRUE(answered_);
  EXPECT_EQ(*plugin_->Call("Runtime", "Update", "b", kLong), "Update of b");
  EXPECT_EQ(*CallPlugin(""), "");
}

TEST_F(ConnectionTest, AnswersUnimplementedForUnknownServicesAndMethods) {
  Connect(Echo);
  bool answered = false;
  EXPECT_EQ(runtime_->Call("Plugin", "Sing", "", kLong, &answered).status(),
            absl::UnimplementedError("method Sing"));
  EXPECT_TRUE(answered);
  EXPECT_EQ(runtime_->Call("Runtime", "Echo", "", kLong).status(),
            absl::UnimplementedError("service Runtime"));
  // This side serves nothing at all.
  EXPECT_EQ(plugin_->Call("Runtime", "Echo", "", kLong).status(),
            absl::UnimplementedError("service Runtime"));
}

TEST_F(ConnectionTest, PassesErrorsOnWithTheirCodes) {
  const auto fail = [](absl::string_view, absl::string_view code) {
    return absl::StatusOr<std::string>(
        absl::Status(static_cast<absl::StatusCode>(code[0]), "it \"failed\" as \xc3\xa4lways"));
  };
  Connect(fail, fail);
  for (char code = 1; code <= 16; ++code) {
    const absl::Status expected(static_cast<absl::StatusCode>(code),
                                "it \"failed\" as \xc3\xa4lways");
    EXPECT_EQ(CallPlugin(std::string(1, code)).status(), expected);
    EXPECT_TRUE(answered_);
    EXPECT_EQ(plugin_->Call("Runtime", "Fail", std::string(1, code), kLong).status(), expected);
  }
}

TEST_F(ConnectionTest, AnswersCallsOfManyThreads) {
  Connect(Echo, Echo);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 50; ++j) {
        const std::string text =
            absl::StrCat(i, ".", j, std::string(static_cast<size_t>(j) * 400, 'x'));
        TtrpcConnection& caller = i % 2 == 0 ? *runtime_ : *plugin_;
        const auto answer = caller.Call(i % 2 == 0 ? "Plugin" : "Runtime", "Echo", text, kLong);
        if (answer.ok() && *answer == text) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 400);
}

TEST_F(ConnectionTest, MayCallTheOtherSideWhileItServes) {
  Connect(
      [this](absl::string_view, absl::string_view payload) {
        return plugin_->Call("Runtime", "Echo", absl::StrCat(payload, " from inside"), kLong);
      },
      Echo);
  EXPECT_EQ(*CallPlugin("a word"), "a word from inside");
}

// The payload with which a request of CallPlugin fills a message.
std::string FullPayload() {
  ttrpc::Request request;
  request.set_service("Plugin");
  request.set_method("Echo");
  request.set_timeout_nano(absl::ToInt64Nanoseconds(kLong));
  request.set_payload(std::string(kMaxMessageBytes / 2, 'p'));
  const size_t around = request.ByteSizeLong() - kMaxMessageBytes / 2;
  return std::string(kMaxMessageBytes - around, 'p');
}

TEST_F(ConnectionTest, CarriesMessagesOfFourMebibytesAndRefusesOneByteMore) {
  Connect(Echo);
  const std::string payload = FullPayload();
  EXPECT_EQ(*CallPlugin(payload), payload);
  const absl::Status status = CallPlugin(payload + "p").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("Echo: the request takes 4194305 bytes; a message holds 4194304"));
  EXPECT_FALSE(answered_);
  EXPECT_EQ(*CallPlugin("more"), "more");
}

TEST_F(ConnectionTest, SaysSoWhenItsAnswerIsTooLong) {
  Connect([](absl::string_view, absl::string_view) { return std::string(kMaxMessageBytes, 'a'); });
  const absl::Status status = CallPlugin("").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the answer takes 4194309 bytes"));
  EXPECT_TRUE(answered_);
  EXPECT_FALSE(runtime_->IsClosed());
}

TEST_F(ConnectionTest, DropsTheAnswerOfACallThatTimedOut) {
  absl::Notification go_on;
  std::atomic<bool> is_first = true;
  Connect([&](absl::string_view, absl::string_view payload) {
    if (is_first.exchange(false)) go_on.WaitForNotification();
    return std::string(payload);
  });
  EXPECT_EQ(CallPlugin("slow", absl::Milliseconds(5)).status(),
            absl::DeadlineExceededError("the other side didn't answer in time"));
  EXPECT_FALSE(answered_);
  go_on.Notify();
  EXPECT_EQ(*CallPlugin("next"), "next");
}

TEST_F(ConnectionTest, CallsNobodyWithoutTime) {
  Connect(Echo);
  EXPECT_EQ(CallPlugin("", absl::ZeroDuration()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(*CallPlugin("a", absl::InfiniteDuration()), "a");
}

TEST_F(ConnectionTest, CloseEndsCallsUnderWay) {
  Connect([&](absl::string_view, absl::string_view) {
    called_.Notify();
    go_on_.WaitForNotification();
    return std::string();
  });
  std::optional<absl::Status> status;
  std::thread caller([&] { status = CallPlugin("").status(); });
  called_.WaitForNotification();
  runtime_->Close();
  EXPECT_TRUE(runtime_->IsClosed());
  caller.join();
  EXPECT_EQ(status, absl::UnavailableError("the connection is closed"));
  EXPECT_FALSE(answered_);
  EXPECT_EQ(CallPlugin("").status(), absl::UnavailableError("the connection is closed"));
  go_on_.Notify();
  EXPECT_TRUE(runtime_end_.Await().ok());
}

TEST_F(ConnectionTest, TellsBothSidesOfTheEndOnce) {
  Connect(Echo);
  plugin_->Close();
  plugin_->Close();
  EXPECT_TRUE(plugin_end_.Await().ok());
  EXPECT_EQ(runtime_end_.Await(), absl::UnavailableError("the other side closed the connection"));
  EXPECT_EQ(CallPlugin("").status(), absl::UnavailableError("the connection has ended: the other "
                                                            "side closed the connection"));
  runtime_.reset();
  plugin_.reset();
  EXPECT_EQ(runtime_end_.count(), 1);
  EXPECT_EQ(plugin_end_.count(), 1);
}

TEST_F(ConnectionTest, TellsOfTheEndAfterTheLastCallIsServed) {
  absl::Notification called;
  absl::Notification go_on;
  std::atomic<bool> is_served = false;
  bool was_served = false;
  SocketPair sockets = MakeSocketPair();
  End end;
  ConnectionOptions options;
  options.service = "Runtime";
  options.serve = [&](absl::string_view, absl::string_view) {
    called.Notify();
    go_on.WaitForNotification();
    is_served = true;
    return std::string();
  };
  options.closed = [&](const absl::Status& why) {
    was_served = is_served;
    end.Set(why);
  };
  const auto connection = *TtrpcConnection::Start(std::move(sockets.ours), options);
  Peer peer(std::move(sockets.theirs));
  ASSERT_TRUE(peer.SendMessage(2, 1, kRequestMessage, RequestBody("Runtime", "Wait", "")));
  called.WaitForNotification();
  connection->Close();
  go_on.Notify();
  EXPECT_TRUE(end.Await().ok());
  EXPECT_TRUE(was_served);
}

TEST_F(ConnectionTest, EndsInTheMidstOfCallsOfBothSides) {
  for (int round = 0; round < 50; ++round) {
    SocketPair sockets = MakeSocketPair();
    ConnectionOptions options;
    options.service = "Any";
    options.serve = Echo;
    auto runtime = *TtrpcConnection::Start(std::move(sockets.ours), options);
    std::swap(options.calls, options.serves);
    auto plugin = *TtrpcConnection::Start(std::move(sockets.theirs), options);
    std::atomic<int> wrong = 0;
    const auto call = [&](TtrpcConnection& connection) {
      while (true) {
        const auto answer = connection.Call("Any", "Echo", "text", kLong);
        if (answer.ok() && *answer == "text") continue;
        if (!absl::IsUnavailable(answer.status())) ++wrong;
        return;
      }
    };
    std::thread one([&] { call(*runtime); });
    std::thread two([&] { call(*plugin); });
    std::thread closer([&] { (round % 2 == 0 ? runtime : plugin)->Close(); });
    closer.join();
    one.join();
    two.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(ConnectionStartTest, TakesASocketThatDoesntBlock) {
  SocketPair sockets = MakeSocketPair();
  fcntl(sockets.ours.get(), F_SETFL, O_NONBLOCK);
  ConnectionOptions options;
  options.service = "Any";
  options.serve = Echo;
  const auto runtime = *TtrpcConnection::Start(std::move(sockets.ours), options);
  std::swap(options.calls, options.serves);
  const auto plugin = *TtrpcConnection::Start(std::move(sockets.theirs), options);
  EXPECT_EQ(*runtime->Call("Any", "Echo", "a", kLong), "a");
  EXPECT_EQ(*plugin->Call("Any", "Echo", "b", kLong), "b");
}

TEST(ConnectionStartTest, NeedsASocket) {
  EXPECT_EQ(TtrpcConnection::Start(UniqueFd(), {}).status(),
            absl::InvalidArgumentError("a connection needs a socket"));
}

TEST(ConnectionStartTest, EndsAtOnceOnWhatIsNoSocket) {
  UniqueFd file(dup(STDERR_FILENO));
  End end;
  ConnectionOptions options;
  options.closed = [&](const absl::Status& why) { end.Set(why); };
  const auto connection = *TtrpcConnection::Start(std::move(file), options);
  EXPECT_THAT(std::string(end.Await().message()), HasSubstr("recv on the socket: "));
}

}  // namespace
}  // namespace plimsoll::nri
