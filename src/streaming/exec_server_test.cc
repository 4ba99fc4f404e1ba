// Exec through a server on a real socket, with the tests' own clients.
#include <fcntl.h>
#include <signal.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "streaming/pod_for_test.h"
#include "streaming/server_fixture_for_test.h"
#include "streaming/spdy_frame.h"

namespace plimsoll::streaming {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExecServerTest : public ServerFixture {};

TEST_F(ExecServerTest, WebSocketsGiveBothStreamsAndTheExitCode) {
  for (const char* protocol :
       {"v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"}) {
    SCOPED_TRACE(protocol);
    auto client = WebSocket(Shell("echo out; echo err >&2; exit 3"), protocol);
    ASSERT_NE(client, nullptr);
    EXPECT_EQ(client->protocol(), protocol);
    ASSERT_TRUE(client->ReadToEnd().ok());
    EXPECT_EQ(client->received[1], "out\n");
    EXPECT_EQ(client->received[2], "err\n");
    EXPECT_EQ(ExitCodeOf(client->received[3]), 3);
    EXPECT_EQ(client->close_code, 1000);
  }
}

TEST_F(ExecServerTest, OldWebSocketsTellFailuresAsText) {
  for (const char* protocol : {"", "channel.k8s.io", "base64.channel.k8s.io"}) {
    SCOPED_TRACE(protocol);
    auto client = WebSocket(Shell("echo out; exit 3"), protocol);
    ASSERT_NE(client, nullptr);
    EXPECT_EQ(client->protocol(), protocol);
    ASSERT_TRUE(client->ReadToEnd().ok());
    EXPECT_EQ(client->received[1], "out\n");
    EXPECT_THAT(client->received[3], HasSubstr("exit status 3"));
    client = WebSocket(Shell("exit 0"), protocol);
    ASSERT_NE(client, nullptr);
    ASSERT_TRUE(client->ReadToEnd().ok());
    EXPECT_THAT(client->received[3], IsEmpty());
  }
}

TEST_F(ExecServerTest, InputReachesTheCommandAndEndsWithItsChannel) {
  StreamRequest request = Shell("cat; echo end");
  request.input = true;
  auto client = WebSocket(request);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Send(0, "hello\n").ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->received[1] == "hello\n"; }).ok());
  ASSERT_TRUE(client->CloseChannel(0).ok());
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(client->received[1], "hello\nend\n");
  EXPECT_EQ(ExitCodeOf(client->received[3]), 0);
}

// More in both directions at once than all buffers on the way hold.
TEST_F(ExecServerTest, MuchGoesThroughBothWays) {
  StreamRequest request = Shell("cat");
  request.input = true;
  auto client = Spdy(request);
  ASSERT_NE(client, nullptr);
  const auto error = client->Open({{"streamtype", "error"}});
  const auto in = client->Open({{"streamtype", "stdin"}});
  const auto out = client->Open({{"streamtype", "stdout"}});
  ASSERT_TRUE(client->Open({{"streamtype", "stderr"}}).ok());
  ASSERT_TRUE(error.ok() && in.ok() && out.ok());
  const std::string block(60'000, 'x');
  constexpr size_t kBlocks = 200;
  for (size_t i = 0; i < kBlocks; ++i) {
    ASSERT_TRUE(client->Send(*in, block, i + 1 == kBlocks).ok());
    // Read as it comes: a client that only writes is rightly held back.
    ASSERT_TRUE(
        client
            ->ReadUntil([&] { return client->received[*out].size() + 500'000 > i * block.size(); })
            .ok());
  }
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(client->received[*out].size(), kBlocks * block.size());
  EXPECT_EQ(ExitCodeOf(client->received[*error]), 0);
}

TEST_F(ExecServerTest, SpdyGivesStreamsAndStatusInEachVersion) {
  for (const char* protocol : {"v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io",
                               "v2.channel.k8s.io", "channel.k8s.io"}) {
    SCOPED_TRACE(protocol);
    auto client = Spdy(Shell("echo out; echo err >&2; exit 3"), protocol);
    ASSERT_NE(client, nullptr);
    EXPECT_EQ(client->protocol(), protocol);
    const auto error = client->Open({{"streamtype", "error"}});
    const auto out = client->Open({{"streamtype", "stdout"}});
    const auto err = client->Open({{"streamtype", "stderr"}});
    ASSERT_TRUE(error.ok() && out.ok() && err.ok());
    ASSERT_TRUE(client->ReadToEnd().ok());
    EXPECT_EQ(client->replied.size(), 3);
    EXPECT_EQ(client->received[*out], "out\n");
    EXPECT_EQ(client->received[*err], "err\n");
    if (std::string(protocol) >= "v4") {
      EXPECT_EQ(ExitCodeOf(client->received[*error]), 3);
    } else {
      EXPECT_THAT(client->received[*error], HasSubstr("exit status 3"));
    }
    EXPECT_TRUE(client->ended.contains(*error) && client->ended.contains(*out));
    EXPECT_TRUE(client->gone_away);
  }
}

TEST_F(ExecServerTest, ATerminalIsOneAndHasTheSizeThatTheClientSays) {
  StreamRequest request =
      Shell("test -t 0 && test -t 1 && echo terminal; read go; stty size; exit 4");
  request.input = true;
  request.errors = false;
  request.terminal = true;
  auto client = WebSocket(request);
  ASSERT_NE(client, nullptr);
  const auto has = [&](const char* text) {
    return [&client, text] { return client->received[1].find(text) != std::string::npos; };
  };
  ASSERT_TRUE(client->ReadUntil(has("terminal")).ok());
  ASSERT_TRUE(client->Send(4, "{\"Width\":101,\"Height\":37}").ok());
  ASSERT_TRUE(client->Send(0, "\n").ok());
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_THAT(client->received[1], HasSubstr("37 101"));
  EXPECT_EQ(ExitCodeOf(client->received[3]), 4);
}

TEST_F(ExecServerTest, AClientThatGoesEndsItsCommand) {
  StreamRequest request = Shell("echo here; sleep 1000");
  request.input = true;
  auto client = WebSocket(request);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->ReadUntil([&] { return client->received[1] == "here\n"; }).ok());
  EXPECT_EQ(backend_.running, 1);
  client.reset();
  EXPECT_TRUE(WaitUntil([&] { return backend_.running == 0; }));
  EXPECT_EQ(backend_.killed, 1);
  EXPECT_TRUE(WaitUntil([&] { return server_->connections() == 0; }));
}

// The client's end comes after input that the command doesn't take: either slightly more than pipe
// and session hold, or so much that the end can't arrive.
TEST_F(ExecServerTest, AClientThatGoesEndsACommandThatDoesNotRead) {
  for (const int messages : {90, 2000}) {
    SCOPED_TRACE(messages);
    StreamRequest request = Shell("sleep 1000");
    request.input = true;
    auto client = WebSocket(request);
    ASSERT_NE(client, nullptr);
    backend_.killed = 0;
    std::atomic<int> sent = 0;
    std::thread sender([&] {
      while (sent < messages && client->Send(0, std::string(4096, 'x')).ok()) ++sent;
    });
    EXPECT_TRUE(WaitUntil([&] { return backend_.running == 1; }));
    // Waits until nothing more goes in.
    int before = -1;
    EXPECT_TRUE(WaitUntil([&] {
      const int now = sent;
      return now == messages || (now > 81 && std::exchange(before, now) == now);
    }));
    client->connection().Shutdown();
    sender.join();
    client.reset();
    EXPECT_TRUE(WaitUntil([&] { return backend_.running == 0; }));
    EXPECT_EQ(backend_.killed, 1);
  }
}

// Stands for a machine that has given up on sending input that the command doesn't take.
TEST_F(ExecServerTest, AClientWhoseMachineKnowsNothingOfItIsMissed) {
  Start({.silence = absl::Seconds(1)});
  auto client = WebSocket(Shell("sleep 1000"));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(WaitUntil([&] { return backend_.running == 1; }));
  const absl::Status unseen = client->connection().TellNobodyAtClose();
  if (absl::IsPermissionDenied(unseen)) GTEST_SKIP() << unseen;
  ASSERT_TRUE(unseen.ok()) << unseen;
  client.reset();
  EXPECT_TRUE(WaitUntil([&] { return backend_.running == 0; }));
  EXPECT_EQ(backend_.killed, 1);
}

TEST_F(ExecServerTest, WhatTheCommandLeavesBehindHoldsNobodyUp) {
  auto client = WebSocket(Shell("sleep 30 & echo done"));
  ASSERT_NE(client, nullptr);
  const absl::Time before = absl::Now();
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_LT(absl::Now() - before, absl::Seconds(20));
  EXPECT_EQ(client->received[1], "done\n");
  EXPECT_EQ(ExitCodeOf(client->received[3]), 0);
}

TEST_F(ExecServerTest, FailuresToStartAreToldOnTheErrorChannel) {
  StreamRequest request = Shell("true");
  request.id = "gone";
  auto client = WebSocket(request);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->ReadToEnd().ok());
  const auto status = nlohmann::json::parse(client->received[3]);
  EXPECT_EQ(status["reason"], "NotFound");
  EXPECT_EQ(status["message"], "no container gone");
}

TEST_F(ExecServerTest, WhyACommandWasNotExecutedIsOnStandardError) {
  auto client = WebSocket(Shell("exit 127"));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(client->received[2], "exec: not found\n");
  EXPECT_EQ(ExitCodeOf(client->received[3]), 127);
}

TEST_F(ExecServerTest, TokensAreGoodOnce) {
  const std::string url = Url(Shell("true"));
  ASSERT_TRUE(WebSocketClient::Connect(url, "v5.channel.k8s.io").ok());
  const auto again = WebSocketClient::Connect(url, "v5.channel.k8s.io");
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("404"));
}

TEST_F(ExecServerTest, RefusalsSayWhyAndLeaveTheTokenGood) {
  const std::string url = Url(Shell("true"));
  const auto websocket = WebSocketClient::Connect(url, "v9.channel.k8s.io");
  EXPECT_THAT(std::string(websocket.status().message()), HasSubstr("400"));
  EXPECT_THAT(std::string(websocket.status().message()), HasSubstr("v9.channel.k8s.io"));
  const auto spdy = SpdyClient::Connect(url, "v9.channel.k8s.io");
  EXPECT_THAT(std::string(spdy.status().message()), HasSubstr("403"));
  auto plain = plimsoll::testing::StreamConnection::Connect(url);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ((*plain)->Request("GET", {})->code, 400);
  plain = plimsoll::testing::StreamConnection::Connect(url);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ((*plain)->Request("DELETE", {})->code, 405);
  // The path of another kind of stream.
  std::string other = url;
  other.replace(other.find("/exec/"), 6, "/attach/");
  const auto attach = WebSocketClient::Connect(other, "v5.channel.k8s.io");
  EXPECT_THAT(std::string(attach.status().message()), HasSubstr("404"));
  for (const auto& [version, key, code] : {std::tuple("13", "c2hvcnQ=", 400),
                                           {"13", "dGhlIHNhbXBsZSBub25jZSB0b28gbG9uZw==", 400},
                                           {"13", "", 400},
                                           {"12", "dGhlIHNhbXBsZSBub25jZQ==", 426}}) {
    plain = plimsoll::testing::StreamConnection::Connect(url);
    ASSERT_TRUE(plain.ok());
    const auto answer = (*plain)->Request("GET", {{"Connection", "Upgrade"},
                                                  {"Upgrade", "websocket"},
                                                  {"Sec-WebSocket-Version", version},
                                                  {"Sec-WebSocket-Key", key},
                                                  {"Sec-WebSocket-Protocol", "v5.channel.k8s.io"}});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->code, code) << key;
  }
  EXPECT_TRUE(WebSocketClient::Connect(url, "v5.channel.k8s.io").ok());
}

// An exit code beside lost output would be wrong.
TEST_F(ExecServerTest, ACommandWhoseOutputCannotBeWaitedForIsAnError) {
  // epoll_ctl(2) refuses a descriptor of O_PATH, as it would any descriptor without memory.
  backend_.output_that_nobody_can_wait_for.Reset(open("/", O_PATH | O_CLOEXEC));
  auto client = WebSocket(Shell("echo lost; exit 0"));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(ExitCodeOf(client->received[3]), -1);
  EXPECT_THAT(client->received[3], HasSubstr("no memory to watch the command's streams"));
  EXPECT_EQ(backend_.killed, 1);
  EXPECT_TRUE(WaitUntil([&] { return backend_.running == 0; }));
}

TEST_F(ExecServerTest, ASpdyClientMustOpenItsStreamsInTime) {
  // Far longer than opening one stream takes.
  Start({.creation_timeout = absl::Seconds(3)});
  auto client = Spdy(Shell("echo never"));
  ASSERT_NE(client, nullptr);
  const auto error = client->Open({{"streamtype", "error"}});
  ASSERT_TRUE(error.ok());
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_THAT(client->received[*error], HasSubstr("not all streams were opened"));
  EXPECT_EQ(backend_.running, 0);
}

TEST_F(ExecServerTest, IdleStreamsEnd) {
  Start({.idle_timeout = absl::Milliseconds(300)});
  auto client = WebSocket(Shell("sleep 1000"));
  ASSERT_NE(client, nullptr);
  EXPECT_TRUE(client->ReadToEnd().ok());
  EXPECT_TRUE(WaitUntil([&] { return backend_.running == 0; }));
}

// When the time is over, the session isn't reading from its client.
TEST_F(ExecServerTest, AnIdleStreamOfACommandThatDoesNotReadEnds) {
  Start({.idle_timeout = absl::Milliseconds(300)});
  StreamRequest request = Shell("sleep 1000");
  request.input = true;
  auto client = WebSocket(request);
  ASSERT_NE(client, nullptr);
  // Slightly more than pipe and session take. On a slow machine the end may come first.
  absl::Status sent;
  for (int i = 0; i < 90 && sent.ok(); ++i) sent = client->Send(0, std::string(4096, 'x'));
  EXPECT_TRUE(WaitUntil([&] { return backend_.killed == 1; }));
  EXPECT_TRUE(WaitUntil([&] { return server_->connections() == 0; }));
}

TEST_F(ExecServerTest, GarbageEndsItsConnectionAndNoOther) {
  StreamRequest waits = Shell("read go; echo fine");
  waits.input = true;
  auto good = WebSocket(waits);
  auto spdy = Spdy(Shell("sleep 1000"));
  auto websocket = WebSocket(Shell("sleep 1000"));
  ASSERT_TRUE(good != nullptr && spdy != nullptr && websocket != nullptr);
  for (const char* type : {"error", "stdout", "stderr"}) {
    ASSERT_TRUE(spdy->Open({{"streamtype", type}}).ok());
  }
  ASSERT_TRUE(WaitUntil([&] { return backend_.running == 3; }));
  ASSERT_TRUE(spdy->SendBytes(std::string(4096, '\xff')).ok());
  EXPECT_TRUE(spdy->ReadToEnd().ok());
  EXPECT_TRUE(spdy->gone_away);
  ASSERT_TRUE(websocket->connection().Write(std::string(4096, '\xff')).ok());
  EXPECT_TRUE(websocket->ReadToEnd().ok());
  ASSERT_TRUE(good->Send(0, "\n").ok());
  ASSERT_TRUE(good->ReadToEnd().ok());
  EXPECT_EQ(good->received[1], "fine\n");
  EXPECT_TRUE(WaitUntil([&] { return backend_.running == 0; }));
}

// The first message makes the server say goodbye; meanwhile it finds the broken frame.
TEST_F(ExecServerTest, ABrokenFrameDuringTheGoodbyeEndsTheConnection) {
  Start({.leave_timeout = absl::Milliseconds(50)});
  const auto client = WebSocket(Shell("sleep 1000"), "v4.base64.channel.k8s.io");
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(WaitUntil([&] { return backend_.running == 1; }));
  const auto frame = [](int opcode, const std::string& payload) {
    return absl::StrCat(std::string(1, static_cast<char>(0x80 | opcode)),
                        std::string(1, static_cast<char>(0x80 | payload.size())),
                        std::string(4, '\0'), payload);  // masked with zeros
  };
  std::string bytes = frame(1, "no digit");
  for (int i = 0; i < 4; ++i) bytes += frame(1, "0aGk=");
  ASSERT_TRUE(client->connection().Write(bytes + frame(7, "no opcode")).ok());
  EXPECT_TRUE(WaitUntil([&] { return server_->connections() == 0; }));
  EXPECT_EQ(backend_.running, 0);
}

TEST_F(ExecServerTest, ACommandWaitsForAClientThatDoesNotRead) {
  // Far more than the sockets between them hold.
  auto slow = WebSocket(Shell("head -c 300000000 /dev/zero; echo done >&2"));
  auto other = WebSocket(Shell("echo quick"));
  ASSERT_TRUE(slow != nullptr && other != nullptr);
  ASSERT_TRUE(other->ReadToEnd().ok());
  EXPECT_EQ(other->received[1], "quick\n");
  // The slow client's command still waits.
  EXPECT_TRUE(WaitUntil([&] { return backend_.running == 1; }));
  EXPECT_EQ(backend_.ended, 1);
  slow.reset();
  EXPECT_TRUE(WaitUntil([&] { return backend_.running == 0; }));
}

// Neither the command nor its output suffers from the wait.
TEST_F(ExecServerTest, ACommandWaitsForASpdyClientUntilThatReads) {
  // Lines of ten bytes, more in all than sockets, server and pipe hold.
  constexpr size_t kFirst = 100'000'001;
  const size_t end = kFirst + SocketBytes() / 10 + 200'000;
  auto slow = Spdy(Shell(absl::StrCat("seq ", kFirst, " ", end - 1, "; exit 7")));
  ASSERT_NE(slow, nullptr);
  const auto error = slow->Open({{"streamtype", "error"}});
  const auto out = slow->Open({{"streamtype", "stdout"}});
  ASSERT_TRUE(error.ok() && out.ok() && slow->Open({{"streamtype", "stderr"}}).ok());
  ASSERT_TRUE(WaitUntil([&] { return backend_.running == 1; }));
  auto other = WebSocket(Shell("echo quick"));
  ASSERT_NE(other, nullptr);
  ASSERT_TRUE(other->ReadToEnd().ok());
  EXPECT_EQ(other->received[1], "quick\n");
  EXPECT_EQ(backend_.ended, 1);  // the slow client's command waits
  ASSERT_TRUE(slow->ReadToEnd().ok());
  std::string lines;
  for (size_t line = kFirst; line < end; ++line) absl::StrAppend(&lines, line, "\n");
  EXPECT_EQ(slow->received[*out].size(), lines.size());
  EXPECT_TRUE(slow->received[*out] == lines);
  EXPECT_EQ(ExitCodeOf(slow->received[*error]), 7);
}

// The command has ended before its client reads anything, and the client still sends.
TEST_F(ExecServerTest, AClientThatReadsLateGetsEverything) {
  Start({.leave_timeout = absl::Milliseconds(50)});
  constexpr size_t kSize = 300'000;  // more than the client's socket holds unread
  auto client = Spdy(Shell(absl::StrCat("head -c ", kSize, " /dev/zero")));
  ASSERT_NE(client, nullptr);
  const auto error = client->Open({{"streamtype", "error"}});
  const auto out = client->Open({{"streamtype", "stdout"}});
  ASSERT_TRUE(error.ok() && out.ok() && client->Open({{"streamtype", "stderr"}}).ok());
  ASSERT_TRUE(WaitUntil([&] { return backend_.ended == 1; }));
  absl::SleepFor(absl::Milliseconds(500));  // far longer than the wait for a client that has
                                            // everything
  ASSERT_TRUE(client->Ping(1).ok());
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(client->received[*out].size(), kSize);
  EXPECT_EQ(ExitCodeOf(client->received[*error]), 0);
}

TEST_F(ExecServerTest, AClientThatNeverReadsIsLetGo) {
  Start({.idle_timeout = absl::Milliseconds(200), .leave_timeout = absl::Milliseconds(50)});
  for (const char* script : {"true", "head -c 300000 /dev/zero", "head -c 300000000 /dev/zero"}) {
    SCOPED_TRACE(script);
    const auto websocket = WebSocket(Shell(script));
    ASSERT_NE(websocket, nullptr);
    EXPECT_TRUE(WaitUntil([&] { return server_->connections() == 0; }));
    EXPECT_TRUE(WaitUntil([&] { return backend_.running == 0; }));
  }
}

TEST_F(ExecServerTest, AClientThatAsksAndTakesNoAnswersIsLetGo) {
  auto client = Spdy(Shell("true"));
  ASSERT_NE(client, nullptr);
  std::string pings;
  for (int i = 0; i < 1000; ++i) AppendPing(1, &pings);
  absl::Status sent;
  // Far more than the sockets between them hold.
  for (int i = 0; i < 8000 && sent.ok(); ++i) sent = client->SendBytes(pings);
  EXPECT_FALSE(sent.ok());
  EXPECT_TRUE(WaitUntil([&] { return server_->connections() == 0; }));
}

TEST_F(ExecServerTest, StoppingEndsEveryStream) {
  auto client = WebSocket(Shell("sleep 1000"));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(WaitUntil([&] { return backend_.running == 1; }));
  server_->Stop();
  EXPECT_EQ(backend_.running, 0);
  EXPECT_TRUE(client->ReadToEnd().ok());
  EXPECT_TRUE(absl::IsUnavailable(server_->Admit(Shell("true")).status()));
}

TEST_F(ExecServerTest, OpenStreamsCanOutliveTheServersClients) {
  StreamRequest request = Shell("cat; exit 3");
  request.input = true;
  auto websocket = WebSocket(request);
  StreamRequest on_terminal = Shell("read go; stty size; exit 4");
  on_terminal.input = on_terminal.terminal = true;
  on_terminal.errors = false;
  auto spdy = Spdy(on_terminal);
  ASSERT_TRUE(websocket != nullptr && spdy != nullptr);
  const auto error = spdy->Open({{"streamtype", "error"}});
  const auto in = spdy->Open({{"streamtype", "stdin"}});
  const auto out = spdy->Open({{"streamtype", "stdout"}});
  const auto size = spdy->Open({{"streamtype", "resize"}});
  ASSERT_TRUE(error.ok() && in.ok() && out.ok() && size.ok());
  ASSERT_TRUE(WaitUntil([&] { return backend_.running == 2; }));
  // A session whose streams are still to be opened.
  const std::string unused = Url(Shell("true"));
  auto half_open = Spdy(Shell("true"));
  ASSERT_NE(half_open, nullptr);
  ASSERT_TRUE(half_open->Open({{"streamtype", "error"}}).ok());
  std::atomic<int> ended = 0;
  ASSERT_EQ(server_->LeaveOpen([&] { ++ended; }), 2);
  EXPECT_TRUE(half_open->ReadToEnd().ok());
  EXPECT_FALSE(WebSocketClient::Connect(unused, "v5.channel.k8s.io").ok());
  EXPECT_TRUE(absl::IsUnavailable(server_->Admit(Shell("true")).status()));

  ASSERT_TRUE(websocket->Send(0, "late").ok());
  ASSERT_TRUE(websocket->CloseChannel(0).ok());
  ASSERT_TRUE(websocket->ReadToEnd().ok());
  EXPECT_EQ(websocket->received[1], "late");
  EXPECT_EQ(ExitCodeOf(websocket->received[3]), 3);
  EXPECT_EQ(ended, 0);
  ASSERT_TRUE(spdy->Send(*size, "{\"Width\":101,\"Height\":37}").ok());
  ASSERT_TRUE(spdy->Send(*in, "\n").ok());
  ASSERT_TRUE(spdy->ReadToEnd().ok());
  EXPECT_THAT(spdy->received[*out], HasSubstr("37 101"));
  EXPECT_EQ(ExitCodeOf(spdy->received[*error]), 4);
  websocket.reset();
  spdy.reset();
  EXPECT_TRUE(WaitUntil([&] { return ended == 1; }));
  EXPECT_EQ(server_->connections(), 0);
}

TEST_F(ExecServerTest, StreamsThatWereLeftOpenEndWithAStop) {
  auto client = WebSocket(Shell("sleep 1000"));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(WaitUntil([&] { return backend_.running == 1; }));
  std::atomic<int> ended = 0;
  ASSERT_EQ(server_->LeaveOpen([&] { ++ended; }), 1);
  server_->Stop();
  EXPECT_EQ(backend_.running, 0);
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(client->ReadToEnd().ok());
}

TEST_F(ExecServerTest, WithoutOpenStreamsNoneIsLeft) {
  EXPECT_EQ(server_->LeaveOpen([] { ADD_FAILURE() << "nothing can end"; }), 0);
  EXPECT_TRUE(absl::IsUnavailable(server_->Admit(Shell("true")).status()));
}

TEST_F(ExecServerTest, PingsOfSpdyAreAnswered) {
  auto client = Spdy(Shell("true"));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Ping(1).ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->pings.contains(1); }).ok());
}

}  // namespace
}  // namespace plimsoll::streaming
