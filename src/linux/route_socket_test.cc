#include "linux/route_socket.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The part behind the netlink header.
std::string PayloadOf(const RouteMessage& message) {
  return message.Finish(1).substr(sizeof(nlmsghdr));
}

TEST(RouteMessageTest, IsAlignedAndKnowsItsLength) {
  RouteMessage message(RTM_GETLINK, NLM_F_ACK, ifinfomsg{});
  message.AddName(IFLA_IFNAME, "eth0");  // five bytes with its end
  const std::string text = message.Finish(7);
  nlmsghdr header = {};
  memcpy(&header, text.data(), sizeof(header));
  EXPECT_EQ(header.nlmsg_len, text.size());
  EXPECT_EQ(header.nlmsg_seq, 7u);
  EXPECT_EQ(header.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
  EXPECT_EQ(text.size(), sizeof(nlmsghdr) + sizeof(ifinfomsg) + 12);
  const auto attributes = RouteAttributes(text.substr(sizeof(header)), sizeof(ifinfomsg));
  EXPECT_EQ(attributes.at(IFLA_IFNAME), std::string("eth0\0", 5));
}

TEST(RouteMessageTest, NamesWithinAnAttributeAreReadAgain) {
  RouteMessage message(RTM_NEWLINKPROP, 0, ifinfomsg{});
  message.AddNamesWithin(IFLA_PROP_LIST, IFLA_ALT_IFNAME, "other name");
  const auto attributes = RouteAttributes(PayloadOf(message), sizeof(ifinfomsg));
  EXPECT_THAT(RouteNames(attributes.at(IFLA_PROP_LIST), IFLA_ALT_IFNAME),
              ElementsAre("other name"));
  EXPECT_THAT(RouteNames(attributes.at(IFLA_PROP_LIST), IFLA_IFNAME), IsEmpty());
}

TEST(RouteMessageTest, AttributesThatAreCutOffAreLeftOut) {
  RouteMessage message(RTM_GETLINK, 0, ifinfomsg{});
  message.AddNumber(IFLA_MTU, 1500);
  message.AddName(IFLA_IFNAME, "eth0");
  const std::string whole = PayloadOf(message);
  for (size_t size = 0; size < whole.size() - 3; ++size) {
    EXPECT_FALSE(RouteAttributes(whole.substr(0, size), sizeof(ifinfomsg)).contains(IFLA_IFNAME))
        << size;
  }
  EXPECT_THAT(RouteAttributes(whole, sizeof(ifinfomsg)), SizeIs(2));
  std::string lies = whole;
  lies[sizeof(ifinfomsg)] = 1;  // less than an attribute's own header
  EXPECT_THAT(RouteAttributes(lies, sizeof(ifinfomsg)), IsEmpty());
}

TEST(RouteSocketTest, TheKernelsErrorSaysWhatWasAsked) {
  auto socket = RouteSocket::Open("");
  ASSERT_TRUE(socket.ok()) << socket.status();
  RouteMessage message(RTM_GETLINK, 0, ifinfomsg{});
  message.AddName(IFLA_IFNAME, "no such one");
  const auto answer = socket->Ask(message, "look for it");
  EXPECT_TRUE(absl::IsNotFound(answer.status())) << answer.status();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("look for it: "));
  const auto links = socket->Ask(RouteMessage(RTM_GETLINK, NLM_F_DUMP, ifinfomsg{}), "list");
  ASSERT_TRUE(links.ok()) << links.status();
  EXPECT_THAT(*links, ::testing::Not(IsEmpty())) << "there is a loopback device at least";
  EXPECT_TRUE(absl::IsNotFound(RouteSocket::Open("/no/such/file").status()));
}

}  // namespace
}  // namespace plimsoll::linux
