// A connection with other sides that send bytes of their own, from the protocol's facts.
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
#include "base/wait_until_for_test.h"
#include "nri/ttrpc/connection.h"
#include "nri/ttrpc/peer_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kAmple = absl::Seconds(60);

class PeerTest : public ::testing::Test {
 protected:
  ~PeerTest() override { connection_.reset(); }  // its threads use the other members
  void Connect(ConnectionOptions options = {}) {
    SocketPair sockets = MakeSocketPair();
    peer_.emplace(std::move(sockets.theirs));
    options.service = "Runtime";
    if (options.serve == nullptr) {
      options.serve = [](absl::string_view, absl::string_view payload) {
        return std::string(payload);
      };
    }
    options.closed = [this](const absl::Status& why) {
      why_ = why;
      closed_.Notify();
    };
    connection_ = *TtrpcConnection::Start(std::move(sockets.ours), std::move(options));
  }
  // Calls in a thread of its own; Answer joins it.
  void StartCall(absl::Duration timeout = kAmple) {
    caller_ = std::thread(
        [this, timeout] { answer_ = connection_->Call("P", "M", "abc", timeout, &answered_); });
  }
  const absl::StatusOr<std::string>& Answer() {
    caller_.join();
    return answer_;
  }
  const absl::Status& AwaitEnd() {
    closed_.WaitForNotification();
    return why_;
  }
  void ExpectServes(uint32_t stream) {
    ASSERT_TRUE(peer_->SendMessage(2, stream, kRequestMessage, RequestBody("Runtime", "M", "on")));
    ExpectAnswer(stream, "on");
  }
  void ExpectAnswer(uint32_t stream, absl::string_view payload) {
    const Message message = peer_->ReceiveMessage();
    EXPECT_EQ(message.stream, stream);
    EXPECT_EQ(message.type, kResponseMessage);
    EXPECT_EQ(message.body, ResponseBody(payload));
  }
  void ExpectRefusal(uint32_t stream, int code, const std::string& text) {
    const Message message = peer_->ReceiveMessage();
    EXPECT_EQ(message.stream, stream);
    EXPECT_EQ(message.type, kResponseMessage);
    ttrpc::Response response;
    ASSERT_TRUE(response.ParseFromString(message.body));
    EXPECT_EQ(response.status().code(), code);
    EXPECT_THAT(response.status().message(), HasSubstr(text));
  }

  std::optional<Peer> peer_;
  std::unique_ptr<TtrpcConnection> connection_;
  bool answered_ = false;

 private:
  absl::Notification closed_;
  absl::Status why_;
  std::thread caller_;
  absl::StatusOr<std::string> answer_ = absl::UnknownError("no call");
};

TEST_F(PeerTest, SendsCallsAsThePeerReadsThem) {
  Connect();
  StartCall(absl::Nanoseconds(60'000'000'000));
  // Connection 1, 27 bytes; 17 bytes on stream 1, a request; service, method, payload, timeout.
  const std::string call =
      Hex("00000001 0000001c"
          "00000012 00000001 01 00"
          "0a01 50 1201 4d 1a03 616263 20 80b0 9dc2 df01");
  EXPECT_EQ(peer_->Receive(call.size()), call);
  // Status is absent; payload "xyz".
  ASSERT_TRUE(peer_->Send(Hex("00000001 0000000f 00000005 00000001 02 00 1203 78797a")));
  EXPECT_EQ(*Answer(), "xyz");
  EXPECT_TRUE(answered_);
}

TEST_F(PeerTest, UsesOddStreamsThatGrow) {
  Connect();
  for (const uint32_t stream : {1u, 3u, 5u}) {
    StartCall();
    EXPECT_EQ(peer_->ReceiveMessage().stream, stream);
    ASSERT_TRUE(peer_->SendMessage(1, stream, kResponseMessage, ResponseBody("yes")));
    EXPECT_EQ(*Answer(), "yes");
  }
}

TEST_F(PeerTest, AnswersCallsAsThePeerReadsThem) {
  Connect();
  // "Runtime", "M", "hi"; stream 7.
  ASSERT_TRUE(
      peer_->Send(Hex("00000002 0000001a"
                      "00000010 00000007 01 00"
                      "0a07 52756e74696d65 1201 4d 1a02 6869")));
  const std::string answer = Hex("00000002 0000000e 00000004 00000007 02 00 1202 6869");
  EXPECT_EQ(peer_->Receive(answer.size()), answer);
}

TEST_F(PeerTest, ReadsAnswersCutAtEachByte) {
  Connect();
  const std::string answer = Hex("00000001 0000000f 00000005 00000001 02 00 1203 78797a");
  for (size_t cut = 1; cut < answer.size(); ++cut) {
    StartCall();
    const Message call = peer_->ReceiveMessage();
    std::string bytes = answer;
    bytes[15] = static_cast<char>(call.stream);
    ASSERT_TRUE(peer_->Send(bytes.substr(0, cut)));
    ASSERT_TRUE(WaitUntil([&] { return peer_->Unread() == 0; }));
    ASSERT_TRUE(peer_->Send(bytes.substr(cut)));
    EXPECT_EQ(*Answer(), "xyz") << cut;
  }
}

TEST_F(PeerTest, ReadsMessagesThatShareAFrameAndThoseCutByFrames) {
  Connect();
  const std::string both = MessageBytes(1, kRequestMessage, RequestBody("Runtime", "M", "one")) +
                           MessageBytes(3, kRequestMessage, RequestBody("Runtime", "M", "two"));
  std::string frame;
  AppendFrames(2, both, &frame);
  // Then a byte a frame, with frames of the other connection between.
  for (const char byte : MessageBytes(5, kRequestMessage, RequestBody("Runtime", "M", "three"))) {
    AppendFrames(2, std::string(1, byte), &frame);
    AppendFrames(9, "nobody's", &frame);
    frame += Hex("00000001 00000000");
  }
  ASSERT_TRUE(peer_->Send(frame));
  ExpectAnswer(1, "one");
  ExpectAnswer(3, "two");
  ExpectAnswer(5, "three");
}

TEST_F(PeerTest, RefusesACallThatBreaksTheRulesAndServesOn) {
  Connect();
  const std::string good = RequestBody("Runtime", "M", "hi");
  ASSERT_TRUE(peer_->SendMessage(2, 2, kRequestMessage, good));
  ExpectRefusal(2, 3, "a call on stream 2; a caller's streams have odd ids");
  ASSERT_TRUE(peer_->SendMessage(2, 0, kRequestMessage, good));
  ExpectRefusal(0, 3, "a call on stream 0");
  ASSERT_TRUE(peer_->SendMessage(2, 9, kRequestMessage, good));
  ExpectAnswer(9, "hi");
  ASSERT_TRUE(peer_->SendMessage(2, 9, kRequestMessage, good));
  ExpectRefusal(9, 3, "a call on stream 9 after one on 9; ids of streams must grow");
  ASSERT_TRUE(peer_->SendMessage(2, 7, kRequestMessage, good));
  ExpectRefusal(7, 3, "a call on stream 7 after one on 9");
  ASSERT_TRUE(peer_->SendMessage(2, 11, kDataMessage, "data"));
  ExpectRefusal(11, 3, "data for stream 11");
  ASSERT_TRUE(peer_->SendMessage(2, 11, kRequestMessage, "\xff"));
  ExpectRefusal(11, 3, "the request is no message of ttrpc");
  ASSERT_TRUE(peer_->SendMessage(2, 13, kRequestMessage, RequestBody("Other", "M", "")));
  ExpectRefusal(13, 12, "service Other");
  // Metadata: two bytes on the wire are a message each.
  std::string flood;
  while (flood.size() < 4'000'000) flood += std::string("\x2a\x00", 2);
  ASSERT_TRUE(peer_->SendMessage(2, 15, kRequestMessage, flood));
  ExpectRefusal(15, 3, "it has more than 1000 fields");
  ExpectServes(17);
}

TEST_F(PeerTest, RefusesACallThatIsTooLongAndServesOn) {
  Connect();
  std::thread sender([&] {
    EXPECT_TRUE(peer_->SendMessage(2, 1, kRequestMessage, std::string(kMaxMessageBytes + 1, 'x')));
  });
  ExpectRefusal(1, 8, "the request takes 4194305 bytes; a message holds 4194304");
  sender.join();
  ExpectServes(3);
}

TEST_F(PeerTest, IgnoresFlagsAndTypesOfALaterProtocol) {
  Connect();
  ASSERT_TRUE(peer_->SendMessage(2, 1, 4, "what is this"));
  ASSERT_TRUE(peer_->SendMessage(2, 1, kResponseMessage, ResponseBody("to nothing")));
  ASSERT_TRUE(peer_->SendMessage(1, 1, 4, "what is this"));
  ASSERT_TRUE(peer_->SendMessage(1, 1, 0, ""));
  std::string frame;
  std::string message = MessageBytes(1, kRequestMessage, RequestBody("Runtime", "M", "flags"));
  message[9] = '\x07';
  AppendFrames(2, message, &frame);
  ASSERT_TRUE(peer_->Send(frame));
  ExpectAnswer(1, "flags");
}

TEST_F(PeerTest, EndsWhatAnswersNoCall) {
  Connect();
  ASSERT_TRUE(peer_->SendMessage(1, 1, kResponseMessage, ResponseBody("")));
  EXPECT_EQ(AwaitEnd(), absl::InvalidArgumentError("connection 1: a response on stream 1, on which "
                                                   "no call waits for one"));
  EXPECT_TRUE(peer_->IsAtTheEnd());
}

TEST_F(PeerTest, EndsWhatAnswersACallTwice) {
  Connect();
  StartCall();
  EXPECT_EQ(peer_->ReceiveMessage().stream, 1u);
  ASSERT_TRUE(peer_->SendMessage(1, 1, kResponseMessage, ResponseBody("a")));
  EXPECT_EQ(*Answer(), "a");
  ASSERT_TRUE(peer_->SendMessage(1, 1, kResponseMessage, ResponseBody("b")));
  EXPECT_THAT(std::string(AwaitEnd().message()), HasSubstr("a response on stream 1"));
}

TEST_F(PeerTest, EndsWhatCallsWhereOnlyAnswersBelong) {
  Connect();
  StartCall();
  ASSERT_TRUE(peer_->SendMessage(1, 1, kRequestMessage, RequestBody("Runtime", "M", "")));
  EXPECT_EQ(AwaitEnd(),
            absl::InvalidArgumentError("connection 1: a message of type 1 on stream 1, on which "
                                       "only responses may come"));
  EXPECT_TRUE(absl::IsUnavailable(Answer().status())) << Answer().status();
  EXPECT_FALSE(answered_);
}

TEST_F(PeerTest, DropsOneLateAnswerOfACallThatTimedOut) {
  Connect();
  StartCall(absl::Milliseconds(5));
  EXPECT_EQ(peer_->ReceiveMessage().stream, 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Answer().status()));
  ASSERT_TRUE(peer_->SendMessage(1, 1, kResponseMessage, ResponseBody("late")));
  ExpectServes(1);
  ASSERT_TRUE(peer_->SendMessage(1, 1, kResponseMessage, ResponseBody("later")));
  EXPECT_THAT(std::string(AwaitEnd().message()), HasSubstr("a response on stream 1"));
}

TEST_F(PeerTest, SaysThatAnAnswerCantBeUsed) {
  Connect();
  StartCall();
  EXPECT_EQ(peer_->ReceiveMessage().stream, 1u);
  ASSERT_TRUE(peer_->SendMessage(1, 1, kResponseMessage, "\xff"));
  EXPECT_EQ(Answer().status(), absl::InternalError("the answer is no message of ttrpc: it is no "
                                                   "ttrpc.Response"));
  EXPECT_TRUE(answered_);
  StartCall();
  EXPECT_EQ(peer_->ReceiveMessage().stream, 3u);
  std::thread sender([&] {
    EXPECT_TRUE(peer_->SendMessage(1, 3, kResponseMessage, std::string(kMaxMessageBytes + 1, 'x')));
  });
  EXPECT_EQ(Answer().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(answered_);
  sender.join();
  ExpectServes(1);
}

TEST_F(PeerTest, MakesForeignErrorsHarmless) {
  Connect();
  StartCall();
  EXPECT_EQ(peer_->ReceiveMessage().stream, 1u);
  ASSERT_TRUE(peer_->SendMessage(
      1, 1, kResponseMessage, ResponseBody(absl::StrCat("\x1b[2J", std::string(10'000, 'e')), 77)));
  const absl::Status status = Answer().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(status.message(), absl::StrCat("\\x1b[2J", std::string(4092, 'e')));
}

TEST_F(PeerTest, EndsGarbageAndSaysWhere) {
  Connect();
  ExpectServes(1);
  // 8 bytes of a frame's header, 10 of the message's, and the body were in order.
  const size_t good = 18 + RequestBody("Runtime", "M", "on").size();
  ASSERT_TRUE(peer_->Send("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(AwaitEnd(), absl::InvalidArgumentError(
                            absl::StrCat("byte ", good,
                                         " of the stream: a frame of 790644820 bytes for "
                                         "connection 1195725856, longer than 4194314")));
  EXPECT_TRUE(peer_->IsAtTheEnd());
}

TEST_F(PeerTest, EndsAMessageOfALengthThatCantBeMeant) {
  Connect();
  ASSERT_TRUE(peer_->Send(Hex("00000002 0000000a ffffffff 00000001 01 00")));
  EXPECT_EQ(AwaitEnd(), absl::InvalidArgumentError("connection 2: byte 0: a message of 4294967295 "
                                                   "bytes, longer than 4194304"));
}

TEST_F(PeerTest, SaysThatAMessageWasCut) {
  Connect();
  ASSERT_TRUE(peer_->Send(Hex("00000002 00000003 000000")));
  peer_->Close();
  EXPECT_EQ(AwaitEnd(), absl::UnavailableError(
                            "the other side closed the connection in the middle of a message"));
}

TEST_F(PeerTest, TakesTheLastAnswerOfAPeerThatIsGone) {
  Connect();
  StartCall();
  EXPECT_EQ(peer_->ReceiveMessage().stream, 1u);
  ASSERT_TRUE(peer_->SendMessage(1, 1, kResponseMessage, ResponseBody("farewell")));
  peer_->Close();
  EXPECT_EQ(*Answer(), "farewell");
  EXPECT_TRUE(absl::IsUnavailable(AwaitEnd()));
}

TEST_F(PeerTest, SaysThatThePeerWentInTheMiddleOfACall) {
  Connect();
  std::thread caller([&] {
    const auto answer = connection_->Call("P", "M", std::string(1 << 20, 'x'), kAmple);
    EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
    EXPECT_THAT(std::string(answer.status().message()), HasSubstr("the connection has ended: "));
  });
  EXPECT_EQ(peer_->Receive(1).size(), 1u);
  peer_->Close();
  caller.join();
}

TEST_F(PeerTest, WaitsForASlowReader) {
  Connect();
  const std::string payload(600'000, 'x');
  std::thread caller([&] { EXPECT_EQ(*connection_->Call("P", "M", payload, kAmple), "read"); });
  // A frame at a time, of much more than the kernel holds.
  const Message call = peer_->ReceiveMessage();
  EXPECT_EQ(call.stream, 1u);
  EXPECT_GT(call.body.size(), payload.size());
  ASSERT_TRUE(peer_->SendMessage(1, 1, kResponseMessage, ResponseBody("read")));
  caller.join();
}

TEST_F(PeerTest, EndsWhatDoesntReadACallInTime) {
  Connect();
  bool answered = true;
  const absl::Status status =
      connection_->Call("P", "M", std::string(1 << 20, 'x'), absl::Milliseconds(20), &answered)
          .status();
  EXPECT_EQ(status, absl::UnavailableError("the connection has ended: the other side didn't read a "
                                           "message in time"));
  EXPECT_FALSE(answered);
  EXPECT_EQ(AwaitEnd(), absl::UnavailableError("the other side didn't read a message in time"));
}

TEST_F(PeerTest, HoldsNoCallPastItsTimeWhileAnotherIsBeingSent) {
  Connect();
  std::thread big([&] {
    const auto answer = connection_->Call("P", "M", std::string(1 << 20, 'x'), kAmple);
    EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
  });
  EXPECT_EQ(peer_->Receive(1).size(), 1u);  // the big one has its turn
  EXPECT_EQ(connection_->Call("P", "M", "", absl::Milliseconds(5)).status(),
            absl::DeadlineExceededError("other messages took all of the time to send it"));
  EXPECT_FALSE(connection_->IsClosed());
  connection_->Close();
  big.join();
}

TEST_F(PeerTest, EndsWhatDoesntReadItsAnswers) {
  ConnectionOptions options;
  options.answer_timeout = absl::Milliseconds(20);
  options.serve = [](absl::string_view, absl::string_view) { return std::string(1 << 20, 'x'); };
  Connect(options);
  ASSERT_TRUE(peer_->SendMessage(2, 1, kRequestMessage, RequestBody("Runtime", "M", "")));
  EXPECT_EQ(AwaitEnd(), absl::UnavailableError("the other side didn't read a message in time"));
}

TEST_F(PeerTest, EndsAFloodOfCalls) {
  absl::Notification go_on;
  std::atomic<int> served = 0;
  ConnectionOptions options;
  options.max_waiting_calls = 4;
  options.serve = [&](absl::string_view, absl::string_view) {
    ++served;
    go_on.WaitForNotification();
    return std::string();
  };
  Connect(options);
  // One is being served at most; the sixth is one too many in any case.
  for (uint32_t i = 0; i < 6; ++i) {
    peer_->SendMessage(2, 2 * i + 1, kRequestMessage, RequestBody("Runtime", "M", ""));
  }
  EXPECT_TRUE(peer_->IsAtTheEnd());
  go_on.Notify();
  EXPECT_EQ(AwaitEnd(), absl::ResourceExhaustedError(
                            "connection 2: the other side made a call while 4 of its calls were "
                            "waiting, the most that may"));
  EXPECT_LE(served, 5);
}

TEST_F(PeerTest, EndsAFloodOfBytes) {
  absl::Notification go_on;
  ConnectionOptions options;
  options.serve = [&](absl::string_view, absl::string_view) {
    go_on.WaitForNotification();
    return std::string();
  };
  Connect(options);
  const std::string body = RequestBody("Runtime", "M", std::string(3 << 20, 'x'));
  for (uint32_t i = 0; i < 8; ++i) {
    if (!peer_->SendMessage(2, 2 * i + 1, kRequestMessage, body)) break;
  }
  EXPECT_TRUE(peer_->IsAtTheEnd());
  go_on.Notify();
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(AwaitEnd().message()), HasSubstr("of its calls were waiting; 16777216"));
}

}  // namespace
}  // namespace plimsoll::nri
