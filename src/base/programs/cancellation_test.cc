#include "base/programs/cancellation.h"

#include <poll.h>

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

bool Readable(int fd) {
  pollfd polled = {fd, POLLIN, 0};
  return poll(&polled, 1, 0) == 1;
}

TEST(CancellationTest, TellsWhoLooksAndWhoPolls) {
  Cancellation cancellation;
  EXPECT_FALSE(cancellation.cancelled());
  const int fd = cancellation.fd();
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(Readable(fd));
  cancellation.Cancel();
  cancellation.Cancel();
  EXPECT_TRUE(cancellation.cancelled());
  EXPECT_TRUE(Readable(fd));
  EXPECT_EQ(cancellation.fd(), fd);
}

TEST(CancellationTest, WhoComesLateHearsOfItToo) {
  Cancellation cancellation;
  cancellation.Cancel();
  EXPECT_TRUE(Readable(cancellation.fd()));
}

}  // namespace
}  // namespace plimsoll
