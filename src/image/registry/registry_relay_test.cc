#include "image/registry/registry_relay.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/steady_time.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/registry_for_test.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kAway[] = "127.0.0.1:1";  // nobody listens there

class AwayRegistryTest : public ::testing::Test {
 protected:
  AwayRegistryTest() {
    auto relay = RegistryRelay::Start({.address = {.registry = kAway, .plain = true}});
    EXPECT_TRUE(relay.ok()) << relay.status();
    relay_ = *std::move(relay);
  }
  void ConnectToRelay() {
    const std::string host = relay_->host();
    struct sockaddr_in address =
        Loopback(static_cast<uint16_t>(std::stoi(host.substr(host.find(':') + 1))));
    ASSERT_EQ(connect(client_.get(), reinterpret_cast<struct sockaddr*>(&address), sizeof(address)),
              0);
  }
  std::string Ask(const std::string& first) {
    const std::string request = first + " HTTP/1.1\r\n\r\n";
    EXPECT_EQ(send(client_.get(), request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    char bytes[4096];
    for (ssize_t n = 0; (n = recv(client_.get(), bytes, sizeof(bytes), 0)) > 0;) {
      answer.append(bytes, static_cast<size_t>(n));
    }
    return answer;
  }

  std::unique_ptr<RegistryRelay> relay_;
  const UniqueFd client_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

TEST_F(AwayRegistryTest, IsNamedWithTheReason) {
  ConnectToRelay();
  EXPECT_THAT(Ask("GET /v2/"), AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr(kAway),
                                     HasSubstr("Connection refused")));
}

absl::Duration CpuTime(clockid_t of) {
  struct timespec used = {};
  EXPECT_EQ(clock_gettime(of, &used), 0);
  return absl::DurationFromTimespec(used);
}

// On a busy machine a thread that never rests has as much as this one, and both may have little.
TEST_F(AwayRegistryTest, ItsRelayRestsWithoutADescriptorAndServesLater) {
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(client_.get());
  ASSERT_EQ(close(next), 0);
  const struct rlimit none = {static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  absl::Cleanup restore = [&] { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0); };
  ConnectToRelay();
  const absl::Duration all = CpuTime(CLOCK_PROCESS_CPUTIME_ID);
  const absl::Duration own = CpuTime(CLOCK_THREAD_CPUTIME_ID);
  for (const SteadyTime end = SteadyAfter(absl::Seconds(1)); SteadyNow() < end;) {
  }
  const absl::Duration used = CpuTime(CLOCK_THREAD_CPUTIME_ID) - own;
  EXPECT_LT(CpuTime(CLOCK_PROCESS_CPUTIME_ID) - all - used, used / 4);
  std::move(restore).Invoke();
  EXPECT_THAT(Ask("PUT /v2/"), StartsWith("HTTP/1.1 405 "));
}

}  // namespace
}  // namespace plimsoll::image
