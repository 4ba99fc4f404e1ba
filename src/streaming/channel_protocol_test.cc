#include "streaming/channel_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::streaming {
namespace {

ChannelProtocol ProtocolOf(const std::string& name) {
  const auto protocol = ChooseCommandProtocol({name});
  EXPECT_TRUE(protocol.has_value()) << name;
  return protocol.value_or(ChannelProtocol());
}

TEST(ChannelProtocol, TakesTheFirstOfTheClientsThatItKnows) {
  const auto chosen =
      ChooseCommandProtocol({"v9.channel.k8s.io", "v4.channel.k8s.io", "v5.channel.k8s.io"});
  ASSERT_TRUE(chosen.has_value());
  EXPECT_STREQ(chosen->name, "v4.channel.k8s.io");
  EXPECT_FALSE(ChooseCommandProtocol({"v9.channel.k8s.io", ""}).has_value());
}

// These two exist over SPDY alone; see README.md.
TEST(ChannelProtocol, HasNoSecondAndThirdVersion) {
  for (const char* name : {"v2.channel.k8s.io", "v3.channel.k8s.io", "v2.base64.channel.k8s.io",
                           "v3.base64.channel.k8s.io"}) {
    EXPECT_FALSE(ChooseCommandProtocol({name}).has_value()) << name;
  }
  const auto chosen = ChooseCommandProtocol({"v3.channel.k8s.io", "channel.k8s.io"});
  ASSERT_TRUE(chosen.has_value());
  EXPECT_STREQ(chosen->name, "channel.k8s.io");
}

TEST(ChannelProtocol, KnowsWhatEachVersionCan) {
  EXPECT_TRUE(ProtocolOf("v5.channel.k8s.io").half_close);
  EXPECT_FALSE(ProtocolOf("v4.channel.k8s.io").half_close);
  EXPECT_TRUE(ProtocolOf("v4.channel.k8s.io").json_status);
  EXPECT_FALSE(ProtocolOf("channel.k8s.io").json_status);
  EXPECT_TRUE(ProtocolOf("v4.base64.channel.k8s.io").base64);
  EXPECT_TRUE(ProtocolOf("base64.channel.k8s.io").base64);
  EXPECT_FALSE(ChoosePortProtocol({"v5.channel.k8s.io"}).has_value());
  EXPECT_TRUE(ChoosePortProtocol({"v4.base64.channel.k8s.io"}).has_value());
}

TEST(ChannelProtocol, IsTheFirstVersionWhereNoneIsAskedFor) {
  const auto chosen = ChooseCommandProtocol({});
  ASSERT_TRUE(chosen.has_value());
  EXPECT_STREQ(chosen->name, "");
  EXPECT_FALSE(chosen->base64 || chosen->json_status || chosen->half_close);
}

TEST(ChannelProtocol, MessagesComeBackAsTheyWere) {
  const std::string bytes("a\0\xff", 3);
  for (const char* name : {"v5.channel.k8s.io", "v4.base64.channel.k8s.io"}) {
    const ChannelProtocol protocol = ProtocolOf(name);
    for (const std::string& data : {bytes, std::string()}) {
      const auto message =
          DecodeChannelMessage(protocol, EncodeChannelMessage(protocol, kStderr, data));
      ASSERT_TRUE(message.ok()) << message.status();
      EXPECT_EQ(message->channel, kStderr);
      EXPECT_EQ(message->data, data);
      EXPECT_FALSE(message->close);
    }
  }
}

TEST(ChannelProtocol, WritesAsKubernetesDoes) {
  EXPECT_EQ(EncodeChannelMessage(ProtocolOf("v4.channel.k8s.io"), 1, "hi"), "\x01hi");
  EXPECT_EQ(EncodeChannelMessage(ProtocolOf("base64.channel.k8s.io"), 1, "hi"), "1aGk=");
}

TEST(ChannelProtocol, ClosesChannelsFromTheFifthVersionOn) {
  const auto closed =
      DecodeChannelMessage(ProtocolOf("v5.channel.k8s.io"), std::string("\xff\0", 2));
  ASSERT_TRUE(closed.ok());
  EXPECT_TRUE(closed->close);
  EXPECT_EQ(closed->channel, kStdin);
  const auto fourth =
      DecodeChannelMessage(ProtocolOf("v4.channel.k8s.io"), std::string("\xff\0", 2));
  ASSERT_TRUE(fourth.ok());
  EXPECT_FALSE(fourth->close);
  EXPECT_EQ(fourth->channel, 255);
  EXPECT_FALSE(DecodeChannelMessage(ProtocolOf("v5.channel.k8s.io"), "\xff").ok());
}

TEST(ChannelProtocol, RefusesWhatIsNoMessage) {
  EXPECT_FALSE(DecodeChannelMessage(ProtocolOf("v4.channel.k8s.io"), "").ok());
  EXPECT_FALSE(DecodeChannelMessage(ProtocolOf("base64.channel.k8s.io"), "").ok());
  EXPECT_FALSE(DecodeChannelMessage(ProtocolOf("base64.channel.k8s.io"), "xaGk=").ok());
  EXPECT_FALSE(DecodeChannelMessage(ProtocolOf("base64.channel.k8s.io"), "0*").ok());
}

}  // namespace
}  // namespace plimsoll::streaming
