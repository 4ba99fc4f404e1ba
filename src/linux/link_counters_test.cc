#include "linux/link_counters.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/mounts.h"
#include "linux/namespaces/namespaces.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kHeadings[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n";

TEST(ParseLinkCounters, KnowsTheColumns) {
  const auto links = ParseLinkCounters(
      std::string(kHeadings) +
      "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
      "eth0:18446744073709551615       0    0    0    0     0          0         0        0       "
      "0    0    0    0     0       0          0\n");
  ASSERT_TRUE(links.ok()) << links.status();
  EXPECT_THAT(*links, ElementsAre(LinkCounters{.name = "lo",
                                               .rx_bytes = 1,
                                               .rx_packets = 2,
                                               .rx_errors = 3,
                                               .rx_dropped = 4,
                                               .tx_bytes = 9,
                                               .tx_packets = 10,
                                               .tx_errors = 11,
                                               .tx_dropped = 12},
                                  LinkCounters{.name = "eth0", .rx_bytes = UINT64_MAX}));
  EXPECT_THAT(*ParseLinkCounters(kHeadings), IsEmpty());
}

TEST(ParseLinkCounters, RefusesOtherLines) {
  for (const char* line : {"eth0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", "eth0: 1 2 3",
                           "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 x"}) {
    const auto links = ParseLinkCounters(std::string(kHeadings) + line + "\n");
    EXPECT_TRUE(absl::IsInternal(links.status())) << line;
    EXPECT_THAT(links.status().message(), HasSubstr(line));
  }
}

// A pod that may make interfaces names them as it likes.
TEST(ParseLinkCounters, NamesAreHarmlessAndNotWithoutEnd) {
  constexpr char kZeros[] = ": 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
  const auto named = ParseLinkCounters(absl::StrCat(kHeadings, "\xff\x01\"", kZeros));
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->front().name, "\\xff\\x01\\\"");
  std::string many = kHeadings;
  for (size_t i = 0; i < 2 * kMostLinks; ++i) absl::StrAppend(&many, "d", i, kZeros);
  EXPECT_THAT(*ParseLinkCounters(many), SizeIs(kMostLinks));
}

class LinkCountersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    ASSERT_TRUE(MakePrivateMountPoint(host_, dir_.path()).ok());
    for (const char* pod : {"one", "two"}) {
      ASSERT_TRUE(directory().MakeDirs(pod).ok());
      ASSERT_TRUE(PinNamespaces(*directory().Sub(pod), {.network = true}).ok());
    }
  }
  void TearDown() override { EXPECT_TRUE(UnmountBelow(host_, dir_.path()).ok()); }
  // Opened again: dir_'s own root lies under the private mount.
  FsRoot directory() { return *FsRoot::Open(dir_.path()); }

  // Sends `datagrams` of a hundred bytes to the namespace itself over its loopback interface.
  void Send(const std::string& name, int datagrams) {
    std::thread([&] {
      const UniqueFd space = *directory().OpenFile(name, O_RDONLY);
      ASSERT_EQ(setns(space.get(), CLONE_NEWNET), 0);
      const UniqueFd out(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      struct sockaddr_in to = {};
      to.sin_family = AF_INET;
      to.sin_port = htons(9);
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const std::string text(100, 'x');
      for (int i = 0; i < datagrams; ++i) {
        // Nobody listens: the next send gets that error.
        sendto(out.get(), text.data(), text.size(), 0, reinterpret_cast<struct sockaddr*>(&to),
               sizeof(to));
      }
    }).join();
  }

  TestDir dir_;
  FsRoot host_ = *FsRoot::Open("/");
};

TEST_F(LinkCountersTest, AreEachNamespacesOwn) {
  Send("two/net", 20);
  struct stat before = {};
  ASSERT_EQ(stat("/proc/thread-self/ns/net", &before), 0);
  const auto links = ReadLinkCounters(host_, directory(), {"one/net", "two/net", "one/net"});
  struct stat after = {};
  ASSERT_EQ(stat("/proc/thread-self/ns/net", &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino) << "the caller stays where it was";
  ASSERT_THAT(links, SizeIs(3));
  for (const auto& each : links) {
    ASSERT_TRUE(each.ok()) << each.status();
    ASSERT_THAT(*each, SizeIs(1));
    EXPECT_EQ(each->front().name, "lo");
  }
  EXPECT_EQ(links[0]->front().tx_bytes, 0u);
  // At least ten get through: every other send only takes the error of the one before.
  EXPECT_GE(links[1]->front().tx_packets, 10u);
  EXPECT_GE(links[1]->front().rx_bytes, 10u * 100);
  EXPECT_EQ(*links[2], *links[0]);
}

TEST_F(LinkCountersTest, WhatIsNotPinnedIsNotFound) {
  ASSERT_TRUE(directory().ReplaceFile("plain", "").ok());
  const auto links = ReadLinkCounters(host_, directory(), {"none/net", "plain", "one/net"});
  ASSERT_THAT(links, SizeIs(3));
  EXPECT_TRUE(absl::IsNotFound(links[0].status())) << links[0].status();
  EXPECT_TRUE(absl::IsNotFound(links[1].status())) << links[1].status();
  EXPECT_TRUE(links[2].ok()) << links[2].status();
  EXPECT_THAT(ReadLinkCounters(host_, directory(), {}), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::linux
