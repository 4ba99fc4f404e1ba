#include "nri/ttrpc/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "nri/ttrpc/peer_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Parts = std::vector<std::pair<uint32_t, std::string>>;

// Parts of one connection that follow each other are put together.
absl::Status FeedInPieces(FrameDecoder* decoder, absl::string_view stream, size_t piece,
                          Parts* parts) {
  while (!stream.empty()) {
    const absl::Status status = decoder->Feed(
        stream.substr(0, piece), [parts](uint32_t connection, absl::string_view part) {
          EXPECT_FALSE(part.empty());
          if (parts->empty() || parts->back().first != connection) {
            parts->emplace_back(connection, "");
          }
          parts->back().second.append(part.data(), part.size());
          return absl::OkStatus();
        });
    if (!status.ok()) return status;
    stream.remove_prefix(std::min(piece, stream.size()));
  }
  return absl::OkStatus();
}

std::string Frames(uint32_t connection, absl::string_view bytes) {
  std::string frames;
  AppendFrames(connection, bytes, &frames);
  return frames;
}

TEST(AppendFramesTest, WritesIdAndLengthBigEndian) {
  EXPECT_EQ(Frames(1, "abc"), Hex("00000001 00000003 616263"));
  EXPECT_EQ(Frames(0x01020304, "x"), Hex("01020304 00000001 78"));
}

TEST(AppendFramesTest, MakesNoFrameLongerThanAGoPeerReads) {
  EXPECT_EQ(Frames(2, std::string(4088, 'a')).size(), 4096u);
  const std::string two = Frames(2, std::string(4089, 'a'));
  EXPECT_EQ(two.substr(0, 8), Hex("00000002 00000ff8"));
  EXPECT_EQ(two.substr(4096), Hex("00000002 00000001 61"));
}

TEST(AppendFramesTest, MakesNoFrameOfNothing) {
  EXPECT_EQ(Frames(1, ""), "");
}

TEST(FrameDecoderTest, TakesInterleavedConnectionsApartCutAtEachByte) {
  const std::string stream =
      Hex("00000001 00000003 616263"
          "00000002 00000002 7879"
          "00000001 00000000"
          "00000007 00000001 21"
          "00000002 00000001 7a");
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameDecoder decoder;
    Parts parts;
    ASSERT_TRUE(FeedInPieces(&decoder, stream, piece, &parts).ok());
    EXPECT_THAT(parts, ElementsAre(Pair(1, "abc"), Pair(2, "xy"), Pair(7, "!"), Pair(2, "z")));
    EXPECT_TRUE(decoder.IsBetweenFrames());
  }
}

TEST(FrameDecoderTest, KnowsWhetherAFrameIsCut) {
  const std::string stream = Hex("00000001 00000003 616263");
  for (size_t cut = 1; cut < stream.size(); ++cut) {
    FrameDecoder decoder;
    Parts parts;
    ASSERT_TRUE(FeedInPieces(&decoder, stream.substr(0, cut), 100, &parts).ok());
    EXPECT_FALSE(decoder.IsBetweenFrames()) << cut;
  }
}

TEST(FrameDecoderTest, TakesWhatItMakes) {
  const std::string bytes(100'000, 'b');
  FrameDecoder decoder;
  Parts parts;
  ASSERT_TRUE(FeedInPieces(&decoder, Frames(2, bytes), 1000, &parts).ok());
  EXPECT_THAT(parts, ElementsAre(Pair(2, bytes)));
}

TEST(FrameDecoderTest, TakesFramesAsLongAsAWholeMessage) {
  FrameDecoder decoder;
  Parts parts;
  EXPECT_TRUE(FeedInPieces(&decoder, Hex("00000001 0040000a"), 8, &parts).ok());
}

TEST(FrameDecoderTest, NamesTheByteOfALongerFrame) {
  for (size_t piece : {1, 3, 11, 100}) {
    FrameDecoder decoder;
    Parts parts;
    const absl::Status status =
        FeedInPieces(&decoder, Hex("00000001 00000003 616263 00000002 0040000b 61"), piece, &parts);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("byte 11 of the stream: a frame of 4194315 bytes for connection 2"));
    EXPECT_THAT(parts, ElementsAre(Pair(1, "abc")));
  }
}

TEST(FrameDecoderTest, RefusesTheReservedConnection) {
  FrameDecoder decoder;
  Parts parts;
  const absl::Status status = FeedInPieces(&decoder, std::string(64, '\0'), 64, &parts);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("byte 0 of the stream: a frame for"));
}

TEST(FrameDecoderTest, RefusesAnotherProtocol) {
  FrameDecoder decoder;
  Parts parts;
  EXPECT_FALSE(FeedInPieces(&decoder, "GET / HTTP/1.1\r\n", 64, &parts).ok());
}

TEST(FrameDecoderTest, PassesOnTheErrorOfTheOneThatTakes) {
  FrameDecoder decoder;
  const absl::Status status =
      decoder.Feed(Hex("00000001 00000001 61 00000001 00000001 61"),
                   [](uint32_t, absl::string_view) { return absl::DataLossError("no"); });
  EXPECT_EQ(status, absl::DataLossError("no"));
}

}  // namespace
}  // namespace plimsoll::nri
