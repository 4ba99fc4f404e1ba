#include "agent/api/connection_places.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <memory>
#include <thread>

#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

// A connection and its other end.
struct Pair {
  explicit Pair(int stop) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    connection = std::make_unique<Connection>(UniqueFd(ends[0]), stop);
    peer = UniqueFd(ends[1]);
  }
  bool IsRefused() const { return send(peer.get(), "x", 1, MSG_NOSIGNAL) < 0; }

  std::unique_ptr<Connection> connection;
  UniqueFd peer;
};

TEST(ConnectionPlacesTest, TheLongestIdleGivesWay) {
  const UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  const Pair first(stop.get());
  const Pair second(stop.get());
  ConnectionPlaces places(/*connections=*/2, /*streams=*/1, absl::Milliseconds(1));
  ASSERT_TRUE(places.Enter());
  ASSERT_TRUE(places.Enter());
  const ConnectionPlaces::Idle idle(&places, first.connection.get());
  const ConnectionPlaces::Idle other(&places, second.connection.get());
  std::thread third([&] { EXPECT_TRUE(places.Enter()); });
  // The refusal ends the wait.
  EXPECT_TRUE(first.connection->AwaitInput(SteadyAfter(absl::Minutes(1))).ok());
  EXPECT_TRUE(first.IsRefused());
  EXPECT_FALSE(second.IsRefused());
  places.Leave();
  third.join();
}

TEST(ConnectionPlacesTest, AnEndEndsTheWait) {
  ConnectionPlaces places(/*connections=*/1, /*streams=*/1, absl::Hours(1));
  ASSERT_TRUE(places.Enter());
  std::thread waiting([&] { EXPECT_FALSE(places.Enter()); });
  places.Stop();
  waiting.join();
  EXPECT_FALSE(places.Enter());
}

}  // namespace
}  // namespace plimsoll::agent
