#include "pod_runner/runtime_client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "base/dir_for_test.h"
#include "pod_runner/runtime_client/hint.h"

namespace plimsoll::pod {
namespace {

using ::testing::HasSubstr;

TEST(SocketPath, IsThatOfAUnixSocketFromTheRootOn) {
  EXPECT_EQ(*SocketPathOf("unix:///run/a.sock"), "/run/a.sock");
  EXPECT_EQ(*SocketPathOf("unix:/run/a.sock"), "/run/a.sock");
  EXPECT_EQ(*SocketPathOf("/run/a.sock"), "/run/a.sock");
  EXPECT_THAT(std::string(SocketPathOf("tcp://1.2.3.4:5").status().message()),
              HasSubstr("is no unix socket"));
  const absl::Status relative = SocketPathOf("unix://run/a.sock").status();
  EXPECT_TRUE(absl::IsInvalidArgument(relative)) << relative;
  EXPECT_THAT(AttachedHint(relative).value_or(""), HasSubstr("unix:///run/a.sock"));
}

// A keeper that counts its calls.
class CountingKeeper : public DaemonKeeper {
 public:
  explicit CountingKeeper(int& revived, int& left) : revived_(revived), left_(left) {}
  void Revive() override { ++revived_; }
  void LeaveUnused() override { ++left_; }

 private:
  int& revived_;
  int& left_;
};

TEST(Client, AKeeperIsAskedForTheDaemonThatIsGone) {
  const TestDir dir;
  int revived = 0;
  int left = 0;
  int lost = 0;
  {
    auto client = Client::Open({.address = "unix://" + dir.path() + "/none.sock",
                                .keeper = std::make_unique<CountingKeeper>(revived, left)});
    ASSERT_TRUE(client.ok()) << client.status();
    (*client)->SetPatience({.wait = absl::Seconds(2), .lost = [&lost] { ++lost; }});
    EXPECT_TRUE(absl::IsUnavailable((*client)->RuntimeStatus(false).status()));
    EXPECT_TRUE((*client)->stuck());
    EXPECT_GE(revived, 1);
    EXPECT_EQ(lost, 1);
    const int until_then = revived;
    EXPECT_TRUE(absl::IsUnavailable((*client)->RuntimeStatus(false).status()));
    EXPECT_EQ(revived, until_then) << "the patience is spent";
  }
  EXPECT_EQ(left, 0) << "pods may be left";
}

TEST(Client, AbandonedCallsAreCancelled) {
  const TestDir dir;
  auto client = Client::Open({.address = "unix://" + dir.path() + "/none.sock"});
  ASSERT_TRUE(client.ok()) << client.status();
  (*client)->Abandon();
  EXPECT_TRUE((*client)->abandoned());
  EXPECT_TRUE(absl::IsCancelled((*client)->StartContainer("a")));
}

TEST(Hint, TheInnermostStays) {
  const absl::Status inner = WithHint(absl::NotFoundError("none"), "look there");
  EXPECT_EQ(AttachedHint(WithHint(inner, "look elsewhere")), "look there");
  EXPECT_EQ(AttachedHint(WithHint(WithHint(absl::NotFoundError("none"), ""), "look")), "");
  EXPECT_EQ(AttachedHint(absl::NotFoundError("none")), std::nullopt);
  EXPECT_TRUE(WithHint(absl::OkStatus(), "nothing").ok());
}

}  // namespace
}  // namespace plimsoll::pod
