#include "nri/ttrpc/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "nri/ttrpc/peer_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::Status FeedMessages(MessageDecoder* decoder, absl::string_view bytes, size_t piece,
                          std::vector<Message>* messages) {
  while (!bytes.empty()) {
    const absl::Status status = decoder->Feed(bytes.substr(0, piece), [&](Message message) {
      messages->push_back(std::move(message));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return absl::OkStatus();
}

auto MessageIs(uint32_t stream, int type, int flags, const std::string& body) {
  return AllOf(Field(&Message::stream, stream), Field(&Message::type, type),
               Field(&Message::flags, flags), Field(&Message::body, body),
               Field(&Message::too_long, 0u));
}

TEST(MessageBytesTest, WritesTheHeaderBigEndian) {
  EXPECT_EQ(MessageBytes(1, kRequestMessage, "abc"), Hex("00000003 00000001 01 00 616263"));
  EXPECT_EQ(MessageBytes(0x01020305, kResponseMessage, ""), Hex("00000000 01020305 02 00"));
}

TEST(MessageDecoderTest, TakesMessagesApartCutAtEachByte) {
  const std::string bytes =
      Hex("00000003 00000001 01 00 616263"
          "00000000 00000003 02 00"
          "00000001 ffffffff 09 ff 7a");
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    MessageDecoder decoder;
    std::vector<Message> messages;
    ASSERT_TRUE(FeedMessages(&decoder, bytes, piece, &messages).ok());
    EXPECT_THAT(messages, ElementsAre(MessageIs(1, 1, 0, "abc"), MessageIs(3, 2, 0, ""),
                                      MessageIs(0xffffffff, 9, 0xff, "z")));
    EXPECT_TRUE(decoder.IsBetweenMessages());
  }
}

TEST(MessageDecoderTest, KnowsWhetherAMessageIsCut) {
  const std::string bytes = Hex("00000003 00000001 01 00 616263");
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    MessageDecoder decoder;
    std::vector<Message> messages;
    ASSERT_TRUE(FeedMessages(&decoder, bytes.substr(0, cut), 100, &messages).ok());
    EXPECT_FALSE(decoder.IsBetweenMessages()) << cut;
    EXPECT_THAT(messages, IsEmpty());
  }
}

TEST(MessageDecoderTest, TakesABodyOfFourMebibytes) {
  const std::string body(kMaxMessageBytes, 'm');
  MessageDecoder decoder;
  std::vector<Message> messages;
  ASSERT_TRUE(FeedMessages(&decoder, MessageBytes(5, kRequestMessage, body), 4088, &messages).ok());
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].body, body);
}

TEST(MessageDecoderTest, LeavesOutALongerBodyAndReadsOn) {
  const std::string body(kMaxMessageBytes + 1, 'm');
  MessageDecoder decoder;
  std::vector<Message> messages;
  ASSERT_TRUE(FeedMessages(
                  &decoder,
                  MessageBytes(5, kRequestMessage, body) + MessageBytes(7, kRequestMessage, "next"),
                  4088, &messages)
                  .ok());
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].stream, 5u);
  EXPECT_EQ(messages[0].too_long, kMaxMessageBytes + 1);
  EXPECT_EQ(messages[0].body, "");
  EXPECT_THAT(messages[1], MessageIs(7, 1, 0, "next"));
}

TEST(MessageDecoderTest, RefusesALengthThatCantBeMeant) {
  MessageDecoder decoder;
  std::vector<Message> messages;
  const std::string bytes =
      Hex("00000001 00000001 01 00 61"
          "04000001 00000003 01 00");
  const absl::Status status = FeedMessages(&decoder, bytes, 3, &messages);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("byte 11: a message of 67108865 bytes, longer than 4194304"));
  EXPECT_EQ(messages.size(), 1u);
}

TEST(MessageDecoderTest, PassesOnTheErrorOfTheOneThatTakes) {
  MessageDecoder decoder;
  int taken = 0;
  const std::string message = MessageBytes(1, kRequestMessage, "a");
  const absl::Status status = decoder.Feed(message + message, [&](Message) {
    ++taken;
    return absl::DataLossError("no");
  });
  EXPECT_EQ(status, absl::DataLossError("no"));
  EXPECT_EQ(taken, 1);
}

}  // namespace
}  // namespace plimsoll::nri
