#include "base/connection_gate.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

class ConnectionGateTest : public ::testing::Test {
 protected:
  // The client's end; the server's goes through the gate.
  UniqueFd Connect(ConnectionGate& gate) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    gate.Admit(UniqueFd(ends[1]));
    return UniqueFd(ends[0]);
  }
  // Whether the other end is closed.
  static bool IsClosed(const UniqueFd& client) {
    char byte = 0;
    return recv(client.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }
  // Closes like gRPC.
  void CloseServed(size_t index) {
    shutdown(served_.at(index).get(), SHUT_RDWR);
    served_.at(index) = UniqueFd();
  }

  std::vector<UniqueFd> served_;
};

TEST_F(ConnectionGateTest, LetsInNoMoreThanTheMost) {
  ConnectionGate gate([this](UniqueFd one) { served_.push_back(std::move(one)); },
                      {.most = 2, .most_of_user = 2});
  const UniqueFd first = Connect(gate);
  const UniqueFd second = Connect(gate);
  const UniqueFd third = Connect(gate);
  EXPECT_EQ(served_.size(), 2u);
  EXPECT_FALSE(IsClosed(first));
  EXPECT_FALSE(IsClosed(second));
  EXPECT_TRUE(IsClosed(third));
  EXPECT_EQ(gate.open(), 2u);
}

TEST_F(ConnectionGateTest, APlaceIsFreeOnceAnEndHasClosed) {
  ConnectionGate gate([this](UniqueFd one) { served_.push_back(std::move(one)); },
                      {.most = 1, .most_of_user = 1});
  UniqueFd first = Connect(gate);
  first = UniqueFd();
  const UniqueFd second = Connect(gate);
  EXPECT_EQ(served_.size(), 2u);
  CloseServed(1);
  EXPECT_TRUE(IsClosed(second));
  const UniqueFd third = Connect(gate);
  EXPECT_EQ(served_.size(), 3u);
  EXPECT_FALSE(IsClosed(third));
}

TEST_F(ConnectionGateTest, OneUserDoesNotTakeAllPlaces) {
  ConnectionGate gate([this](UniqueFd one) { served_.push_back(std::move(one)); },
                      {.most = 8, .most_of_user = 1});
  const UniqueFd first = Connect(gate);
  const UniqueFd second = Connect(gate);
  EXPECT_FALSE(IsClosed(first));
  EXPECT_TRUE(IsClosed(second));
}

TEST_F(ConnectionGateTest, ThreeHundredInARowAllFindAPlace) {
  ConnectionGate gate([this](UniqueFd one) { served_.push_back(std::move(one)); },
                      {.most = 4, .most_of_user = 4});
  for (int i = 0; i < 300; ++i) {
    const UniqueFd client = Connect(gate);
    EXPECT_FALSE(IsClosed(client)) << i;
  }
  EXPECT_LE(gate.open(), 4u);
}

}  // namespace
}  // namespace plimsoll
