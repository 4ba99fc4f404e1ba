#include "streaming/spdy_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace plimsoll::streaming {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Records the calls of its session.
class Recorder : public SpdySession::Handler {
 public:
  absl::Status OnStream(uint32_t id, const SpdyHeaders& headers) override {
    told.push_back(absl::StrCat("open ", id, " ", HeaderOf(headers, "streamtype")));
    return refuse ? absl::InvalidArgumentError("no") : absl::OkStatus();
  }
  void OnData(uint32_t id, absl::string_view data) override {
    told.push_back(absl::StrCat("data ", id, " ", data));
  }
  void OnEnd(uint32_t id) override { told.push_back(absl::StrCat("end ", id)); }
  void OnReset(uint32_t id) override { told.push_back(absl::StrCat("reset ", id)); }

  std::vector<std::string> told;
  bool refuse = false;
};

class SpdySessionTest : public ::testing::Test {
 protected:
  std::string SynStream(uint32_t id, const SpdyHeaders& headers, uint8_t flags = 0) {
    std::string frame;
    AppendSynStream(id, flags, *client_headers_.Write(headers), &frame);
    return frame;
  }
  std::string Data(uint32_t id, absl::string_view data, uint8_t flags = 0) {
    std::string frame;
    AppendData(id, flags, data, &frame);
    return frame;
  }
  void Open(uint32_t id) {
    ASSERT_TRUE(session_.Receive(SynStream(id, {{"streamType", "stdin"}})).ok());
    recorder_.told.clear();
    out_.clear();
  }
  // The frames in `out_`: "reply 1", "data 1 fin".
  std::vector<std::string> Sent() {
    std::vector<std::string> frames;
    absl::string_view left = out_;
    while (left.size() >= kSpdyFrameHeaderBytes) {
      const SpdyFrameHeader header = ParseSpdyFrameHeader(left);
      left.remove_prefix(kSpdyFrameHeaderBytes);
      const absl::string_view payload = left.substr(0, header.length);
      left.remove_prefix(header.length);
      if (!header.control) {
        frames.push_back(absl::StrCat("data ", header.stream_id, header.flags != 0 ? " fin" : "",
                                      payload.empty() ? "" : " ", payload));
      } else {
        frames.push_back(absl::StrCat("type ", header.type, " ", ReadUint32(payload)));
      }
    }
    EXPECT_TRUE(left.empty());
    return frames;
  }

  Recorder recorder_;
  std::string out_;
  SpdySession session_{&recorder_, 2, &out_};
  SpdyHeaderWriter client_headers_;
};

TEST_F(SpdySessionTest, RepliesToAStreamAndTellsItsHeadersWithNamesInLowerCase) {
  ASSERT_TRUE(session_.Receive(SynStream(1, {{"streamType", "error"}, {"port", "80"}})).ok());
  EXPECT_THAT(recorder_.told, ElementsAre("open 1 error"));
  EXPECT_THAT(Sent(), ElementsAre("type 2 1"));
}

TEST_F(SpdySessionTest, TakesBytesInPiecesOfAnySize) {
  const std::string bytes = absl::StrCat(SynStream(1, {{"streamType", "stdin"}}), Data(1, "hello"),
                                         Data(1, "", kSpdyFlagFin));
  for (const char byte : bytes) {
    ASSERT_TRUE(session_.Receive(absl::string_view(&byte, 1)).ok());
  }
  EXPECT_THAT(recorder_.told, ElementsAre("open 1 stdin", "data 1 h", "data 1 e", "data 1 l",
                                          "data 1 l", "data 1 o", "end 1"));
}

TEST_F(SpdySessionTest, ReadsLaterHeaderBlocksWithWhatEarlierOnesLeft) {
  ASSERT_TRUE(session_.Receive(SynStream(1, {{"streamType", "stdin"}})).ok());
  ASSERT_TRUE(session_.Receive(SynStream(3, {{"streamType", "stdin"}})).ok());
  EXPECT_THAT(recorder_.told, ElementsAre("open 1 stdin", "open 3 stdin"));
}

TEST_F(SpdySessionTest, HalfClosedStreamsStillSend) {
  Open(1);
  ASSERT_TRUE(session_.Receive(Data(1, "last", kSpdyFlagFin)).ok());
  EXPECT_THAT(recorder_.told, ElementsAre("data 1 last", "end 1"));
  session_.Send(1, "answer");
  session_.End(1);
  EXPECT_THAT(Sent(), ElementsAre("data 1 answer", "data 1 fin"));
  EXPECT_EQ(session_.streams(), 0);
}

TEST_F(SpdySessionTest, SendsNothingOnWhatIsClosed) {
  Open(1);
  session_.End(1);
  out_.clear();
  session_.Send(1, "more");
  session_.End(1);
  session_.Send(99, "more");
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(SpdySessionTest, DropsWhatArrivesForAStreamThatWasReset) {
  Open(1);
  session_.Reset(1, SpdyReset::kCancel);
  ASSERT_TRUE(session_.Receive(Data(1, "late")).ok());
  EXPECT_THAT(recorder_.told, IsEmpty());
  EXPECT_THAT(Sent(), ElementsAre("type 3 1"));
}

TEST_F(SpdySessionTest, TellsOfAResetOnce) {
  Open(1);
  std::string reset;
  AppendRstStream(1, SpdyReset::kCancel, &reset);
  ASSERT_TRUE(session_.Receive(reset).ok());
  ASSERT_TRUE(session_.Receive(reset).ok());
  EXPECT_THAT(recorder_.told, ElementsAre("reset 1"));
}

TEST_F(SpdySessionTest, RefusesMoreStreamsThanItMayHave) {
  Open(1);
  Open(3);
  ASSERT_TRUE(session_.Receive(SynStream(5, {})).ok());
  EXPECT_THAT(recorder_.told, IsEmpty());
  EXPECT_THAT(Sent(), ElementsAre("type 3 5"));
}

TEST_F(SpdySessionTest, ResetsAStreamThatItsHandlerRefuses) {
  recorder_.refuse = true;
  ASSERT_TRUE(session_.Receive(SynStream(1, {})).ok());
  EXPECT_THAT(Sent(), ElementsAre("type 3 1"));
  EXPECT_EQ(session_.streams(), 0);
}

TEST_F(SpdySessionTest, AnswersPings) {
  std::string pings;
  AppendPing(7, &pings);
  AppendPing(8, &pings);  // an answer, if anything
  ASSERT_TRUE(session_.Receive(pings).ok());
  EXPECT_THAT(Sent(), ElementsAre("type 6 7"));
}

TEST_F(SpdySessionTest, GrantsWindowsForWhatWasReceived) {
  Open(1);
  ASSERT_TRUE(session_.Receive(Data(1, std::string(40'000, 'x'))).ok());
  EXPECT_THAT(Sent(), ElementsAre("type 9 1", "type 9 0"));
}

// Otherwise many short streams would use up the connection's window for good.
TEST_F(SpdySessionTest, GrantsTheConnectionsWindowForStreamsThatEndEarlyOrAreReset) {
  Open(1);
  ASSERT_TRUE(session_.Receive(Data(1, std::string(20'000, 'x'), kSpdyFlagFin)).ok());
  session_.End(1);
  Open(3);
  session_.Reset(3, SpdyReset::kCancel);
  out_.clear();
  ASSERT_TRUE(session_.Receive(Data(3, std::string(20'000, 'x'))).ok());
  ASSERT_EQ(out_.size(), 16);
  EXPECT_THAT(Sent(), ElementsAre("type 9 0"));
  EXPECT_EQ(ReadUint32(absl::string_view(out_).substr(12)), 40'000);
}

TEST_F(SpdySessionTest, CutsWhatItSendsIntoFrames) {
  Open(1);
  session_.Send(1, std::string(SpdySession::kMaxDataBytes + 1, 'x'));
  EXPECT_EQ(Sent().size(), 2);
}

TEST_F(SpdySessionTest, PassesOverFramesThatItDoesNotKnow) {
  std::string frame("\x80\x03\x00\x63\x00\x00\x00\x02xx", 10);
  AppendWindowUpdate(1, 100, &frame);
  ASSERT_TRUE(session_.Receive(absl::StrCat(frame, SynStream(1, {}))).ok());
  EXPECT_EQ(recorder_.told.size(), 1);
}

// Kubernetes' clients ping every five seconds, and may send nothing else for hours.
TEST_F(SpdySessionTest, AnswersPingsAsOftenAsTheyCome) {
  for (int i = 0; i < 10'000; ++i) {
    std::string ping;
    AppendPing(1, &ping);
    ASSERT_TRUE(session_.Receive(ping).ok()) << i;
  }
  EXPECT_EQ(Sent().size(), 10'000);
}

TEST_F(SpdySessionTest, RefusesStreamsOfWrongNumbersAndSaysGoodbye) {
  for (const uint32_t id : {2u, 1u}) {  // a server's id; one in use
    SCOPED_TRACE(id);
    out_.clear();
    Recorder recorder;
    SpdySession session(&recorder, 4, &out_);
    SpdyHeaderWriter headers;
    std::string bytes;
    AppendSynStream(1, 0, *headers.Write({}), &bytes);
    AppendSynStream(id, 0, *headers.Write({}), &bytes);
    const absl::Status status = session.Receive(bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("stream ", id)));
    EXPECT_THAT(Sent().back(), "type 7 1");
    EXPECT_FALSE(session.Receive("more").ok());
  }
}

TEST_F(SpdySessionTest, RefusesDataOfAStreamThatWasNeverOpened) {
  EXPECT_TRUE(absl::IsInvalidArgument(session_.Receive(Data(1, "x"))));
}

TEST_F(SpdySessionTest, RefusesControlFramesThatAreTooLong) {
  const std::string frame("\x80\x03\x00\x01\x00\xff\xff\xff", 8);
  EXPECT_TRUE(absl::IsResourceExhausted(session_.Receive(frame)));
}

TEST_F(SpdySessionTest, RefusesOtherVersions) {
  const std::string frame("\x80\x02\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01", 12);
  const absl::Status status = session_.Receive(frame);
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 2"));
}

TEST(SpdyHeaders, ComeBackAsTheyWere) {
  SpdyHeaderWriter writer;
  SpdyHeaderReader reader;
  const SpdyHeaders headers = {{"streamtype", "data"}, {"port", "8080"}, {"requestid", ""}};
  for (int i = 0; i < 3; ++i) {
    const auto block = writer.Write(headers);
    ASSERT_TRUE(block.ok());
    const auto again = reader.Read(*block);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, headers);
  }
  EXPECT_EQ(HeaderOf(headers, "port"), "8080");
  EXPECT_EQ(HeaderOf(headers, "none"), "");
}

TEST(SpdyHeaders, UseTheDictionary) {
  SpdyHeaderWriter writer;
  // zlib's header names the dictionary (RFC 1950).
  const auto block = writer.Write({});
  ASSERT_TRUE(block.ok());
  EXPECT_EQ((*block)[1] & 0x20, 0x20);
  EXPECT_EQ(ReadUint32(absl::string_view(*block).substr(2)), 0xe3c6a7c2);
}

TEST(SpdyHeaders, DoNotGrowWithoutEnd) {
  SpdyHeaderWriter writer;
  const auto block = writer.Write({{"a", std::string(1 << 20, 'x')}});
  ASSERT_TRUE(block.ok());
  ASSERT_LT(block->size(), 16 * 1024);
  SpdyHeaderReader reader;
  EXPECT_TRUE(absl::IsResourceExhausted(reader.Read(*block).status()));
  EXPECT_FALSE(reader.Read(*block).ok());
}

TEST(SpdyHeaders, RefuseWhatIsNoBlock) {
  for (const absl::string_view text : {"", "x", "hello, world"}) {
    SpdyHeaderReader reader;
    EXPECT_TRUE(absl::IsInvalidArgument(reader.Read(text).status())) << text;
  }
}

}  // namespace
}  // namespace plimsoll::streaming
