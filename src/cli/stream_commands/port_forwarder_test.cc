#include "cli/stream_commands/port_forwarder.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "base/no_descriptors_for_test.h"
#include "base/unique_fd.h"
#include "base/wait_until_for_test.h"
#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

TEST(ParsePortPair, TakesPairsAndSinglePorts) {
  const auto pair = ParsePortPair("8080:80");
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->local, 8080);
  EXPECT_EQ(pair->pod, 80);
  EXPECT_EQ(ParsePortPair("80")->local, 80);
  EXPECT_EQ(ParsePortPair(":80")->local, 0);
  EXPECT_EQ(ParsePortPair(":80")->pod, 80);
}

TEST(ParsePortPair, RefusesWhatIsNone) {
  for (const char* text : {"", ":", "0", "80:", "80:0", "a:80", "80:b", "65536", "1:2:3", "-1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParsePortPair(text).status())) << text;
  }
}

// A port without a listener.
uint16_t FreePort() {
  const UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(probe.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

bool Connect(const UniqueFd& client, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

TEST(ForwardPorts, GoesOnWhenItHasDescriptorsAgain) {
  const UniqueFd ended(eventfd(0, EFD_CLOEXEC));
  const uint16_t port = FreePort();
  std::atomic<int> asked = 0;
  const auto url_of = [&asked](uint16_t) -> absl::StatusOr<std::string> {
    ++asked;
    return absl::UnavailableError("there is no pod in this test");
  };
  std::thread forwarder([&] { EXPECT_TRUE(ForwardPorts({{port, 80}}, url_of, ended.get()).ok()); });
  UniqueFd first;
  EXPECT_TRUE(WaitUntil([&] {
    first.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return Connect(first, port);
  }));
  EXPECT_TRUE(WaitUntil([&] { return asked == 1; }));
  const UniqueFd second(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  {
    const NoDescriptors none;
    EXPECT_TRUE(Connect(second, port));
    absl::SleepFor(absl::Milliseconds(300));  // time for the forwarder to fail
    EXPECT_EQ(asked, 1);
  }
  EXPECT_TRUE(WaitUntil([&] { return asked == 2; }));
  eventfd_write(ended.get(), 1);
  forwarder.join();
}

TEST(ForwardPorts, APortThatIsTakenIsNotBlamedOnTheDaemon) {
  const UniqueFd holder(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(holder.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(holder.get(), 1), 0);
  ASSERT_EQ(getsockname(holder.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const UniqueFd ended(eventfd(1, EFD_CLOEXEC));
  const auto none = [](uint16_t) { return absl::UnavailableError("there is no pod"); };
  const absl::Status status = ForwardPorts({{ntohs(address.sin_port), 80}}, none, ended.get());
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(HintOf(status), ::testing::HasSubstr("another port of this machine"));
}

}  // namespace
}  // namespace plimsoll::cli
