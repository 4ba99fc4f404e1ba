#include "linux/uevents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::string_view Datagram(const char* text, size_t size) {
  return absl::string_view(text, size - 1);
}

TEST(ParseUevent, ReadsWhatTheKernelSays) {
  const char text[] =
      "add@/devices/virtual/block/loop0\0ACTION=add\0DEVPATH=/devices/virtual/block/loop0\0"
      "SUBSYSTEM=block\0MAJOR=7\0MINOR=0\0DEVNAME=loop0\0ODD=a=b\0SEQNUM=5\0";
  const auto event = ParseUevent(Datagram(text, sizeof(text)));
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->action, "add");
  EXPECT_EQ(event->path, "/devices/virtual/block/loop0");
  EXPECT_EQ(event->subsystem, "block");
  EXPECT_EQ(event->properties.at("DEVNAME"), "loop0");
  EXPECT_EQ(event->properties.at("ODD"), "a=b");
}

TEST(ParseUevent, RefusesWhatIsNotTheKernels) {
  const char udevd[] = "libudev\0\xfe\xed\xca\xfe\0\0\0\x28";
  const char two_heads[] = "add@/a\0ACTION=remove\0DEVPATH=/a\0SUBSYSTEM=block\0";
  const char bare[] = "add@/a";
  EXPECT_FALSE(ParseUevent("").ok());
  EXPECT_FALSE(ParseUevent(Datagram(udevd, sizeof(udevd))).ok());
  EXPECT_FALSE(ParseUevent(Datagram(bare, sizeof(bare))).ok());
  const auto refused = ParseUevent(Datagram(two_heads, sizeof(two_heads)));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("add@/a"));
}

// Real events of an existing device: the kernel sends "change" on request.
class UeventsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto names = root_.List("sys/class/block");
    if (names.ok() && !names->empty()) device_ = names->front();
    if (device_.empty()) GTEST_SKIP() << "this machine has no block device";
    auto socket = UeventSocket::Open({.subsystems = {"block"}});
    ASSERT_TRUE(socket.ok()) << socket.status();
    const absl::Status asked = Provoke();
    if (!asked.ok()) GTEST_SKIP() << "no event can be provoked: " << asked;
    struct pollfd poll_one = {socket->fd(), POLLIN, 0};
    if (poll(&poll_one, 1, 10000) != 1) {
      GTEST_SKIP()
          << "the kernel notifies this network namespace of no devices (its user namespace "
             "is not the first)";
    }
  }
  absl::Status Provoke(int times = 1) {
    absl::Status status;
    for (int i = 0; i < times && status.ok(); ++i) {
      status = root_.Write(absl::StrCat("sys/class/block/", device_, "/uevent"), "change");
    }
    return status;
  }
  bool IsOurs(const Uevent& event) const {
    const auto name = event.properties.find("DEVNAME");
    return event.action == "change" && name != event.properties.end() && name->second == device_;
  }
  static UeventNews ReadFor(UeventSocket& socket,
                            const std::function<bool(const UeventNews&)>& done) {
    UeventNews news;
    for (const absl::Time end = absl::Now() + absl::Minutes(1); absl::Now() < end && !done(news);) {
      struct pollfd poll_one = {socket.fd(), POLLIN, 0};
      poll(&poll_one, 1, 100);
      EXPECT_TRUE(socket.Read(&news).ok());
    }
    return news;
  }

  const FsRoot root_ = *FsRoot::Open("/");
  std::string device_;
};

TEST_F(UeventsTest, TellsOfTheSubsystemThatIsAskedFor) {
  auto block = UeventSocket::Open({.subsystems = {"block"}});
  auto cpu = UeventSocket::Open({.subsystems = {"cpu"}});
  ASSERT_TRUE(block.ok() && cpu.ok());
  ASSERT_TRUE(Provoke().ok());
  const UeventNews news = ReadFor(*block, [&](const UeventNews& some) {
    return std::any_of(some.events.begin(), some.events.end(),
                       [&](const Uevent& event) { return IsOurs(event); });
  });
  ASSERT_FALSE(news.events.empty());
  EXPECT_EQ(news.events.back().subsystem, "block");
  EXPECT_FALSE(news.overrun);
  UeventNews none;
  ASSERT_TRUE(cpu->Read(&none).ok());
  EXPECT_THAT(none.events, IsEmpty());
}

TEST_F(UeventsTest, WhatDoesNotFitIsToldAsAnOverrun) {
  auto small = UeventSocket::Open({.subsystems = {"block"}, .buffer_bytes = 1});
  ASSERT_TRUE(small.ok());
  ASSERT_TRUE(Provoke(100).ok());
  const UeventNews news = ReadFor(*small, [](const UeventNews& some) { return some.overrun; });
  EXPECT_TRUE(news.overrun);
  EXPECT_LT(news.events.size(), 100u);
  // The socket goes on working.
  ASSERT_TRUE(Provoke().ok());
  EXPECT_FALSE(
      ReadFor(*small, [](const UeventNews& some) { return !some.events.empty(); }).events.empty());
}

// A watcher's reports so far.
class Told {
 public:
  std::function<void(const UeventNews&)> Listener() {
    return [this](const UeventNews& news) {
      absl::MutexLock lock(&mutex_);
      all_.push_back(news);
    };
  }
  bool Await(const std::function<bool(const std::vector<UeventNews>&)>& enough) {
    const auto done = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return enough(all_); };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&done), absl::Minutes(1));
  }

 private:
  absl::Mutex mutex_;
  std::vector<UeventNews> all_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(UeventsTest, ManyAtOnceAreToldAsOne) {
  Told told;
  const auto watcher = UeventWatcher::Start(
      {.subsystems = {"block"}, .quiet = absl::Seconds(1), .at_most = absl::Seconds(20)},
      told.Listener());
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  ASSERT_TRUE(Provoke(20).ok());
  EXPECT_TRUE(told.Await([](const auto& all) {
    return !all.empty() && (all[0].overrun || all[0].events.size() >= 2);
  }));
  ASSERT_TRUE(Provoke().ok());
  EXPECT_TRUE(told.Await([](const auto& all) { return all.size() >= 2; }));
}

TEST_F(UeventsTest, TooManyAreAnOverrun) {
  Told told;
  const auto watcher =
      UeventWatcher::Start({.subsystems = {"block"}, .most_events = 3}, told.Listener());
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  ASSERT_TRUE(Provoke(10).ok());
  EXPECT_TRUE(told.Await([](const auto& all) { return !all.empty() && all[0].overrun; }));
}

// A device that never rests is reported all the same.
TEST_F(UeventsTest, ANoisyDeviceDoesNotHideWhatHappened) {
  Told told;
  const auto watcher = UeventWatcher::Start(
      {.subsystems = {"block"}, .quiet = absl::Minutes(10), .at_most = absl::Milliseconds(100)},
      told.Listener());
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  ASSERT_TRUE(Provoke().ok());
  EXPECT_TRUE(told.Await([](const auto& all) { return !all.empty(); }));
}

TEST(UeventWatcherTest, EndsAtOnce) {
  for (int i = 0; i < 20; ++i) {
    const auto watcher = UeventWatcher::Start({}, [](const UeventNews&) {});
    ASSERT_TRUE(watcher.ok()) << watcher.status();
  }
}

}  // namespace
}  // namespace plimsoll::linux
