#include "streaming/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::streaming {
namespace {

using ::testing::ElementsAre;

TEST(Routes, AreAKindAndAToken) {
  const auto exec = ParseTarget("/exec/abc");
  ASSERT_TRUE(exec.has_value());
  EXPECT_EQ(exec->kind, StreamKind::kExec);
  EXPECT_EQ(exec->token, "abc");
  EXPECT_EQ(ParseTarget("/attach/abc?x=/y")->kind, StreamKind::kAttach);
  EXPECT_EQ(ParseTarget("/portforward/abc")->kind, StreamKind::kPortForward);
}

TEST(Routes, AreNothingElse) {
  for (const char* target : {"", "/", "exec/abc", "/exec", "/exec/", "/exec/a/b", "/execs/a",
                             "/metrics", "http://host/exec/abc", "/exec/?abc", "*"}) {
    EXPECT_FALSE(ParseTarget(target).has_value()) << target;
  }
}

TEST(Routes, ListsMayBeSpreadOverHeaders) {
  std::vector<std::string> list;
  AppendList("v4.channel.k8s.io, v3.channel.k8s.io", &list);
  AppendList(" channel.k8s.io,,", &list);
  EXPECT_THAT(list, ElementsAre("v4.channel.k8s.io", "v3.channel.k8s.io", "channel.k8s.io"));
}

TEST(Routes, TheFirstProtocolOfTheClientThatIsKnownIsChosen) {
  const auto chosen = ChooseSpdyCommandProtocol({"v9.channel.k8s.io", "v3.channel.k8s.io"});
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(chosen->name, "v3.channel.k8s.io");
  EXPECT_TRUE(chosen->resizes);
  EXPECT_FALSE(chosen->json_status);
  EXPECT_FALSE(ChooseSpdyCommandProtocol({"v9.channel.k8s.io"}).has_value());
  EXPECT_EQ(ChooseSpdyCommandProtocol({})->name, "channel.k8s.io");
  EXPECT_FALSE(ChooseSpdyCommandProtocol({"v2.channel.k8s.io"})->resizes);
  EXPECT_EQ(SpdyCommandProtocols().size(), 5);
}

}  // namespace
}  // namespace plimsoll::streaming
