#include "base/programs/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

class PipeTest : public ::testing::Test {
 protected:
  PipeTest() { EXPECT_TRUE(SetNonBlocking(pipe_.reader).ok()); }

  size_t Read() {
    return ReadSome(&pipe_.reader, [&](absl::string_view part) { absl::StrAppend(&text_, part); });
  }

  Pipe pipe_ = *MakePipe();
  std::string text_;
};

TEST_F(PipeTest, NothingNowIsNotTheEnd) {
  EXPECT_EQ(Read(), 0);
  EXPECT_TRUE(pipe_.reader.valid());
  ASSERT_EQ(write(pipe_.writer.get(), "word", 4), 4);
  EXPECT_EQ(Read(), 4);
  EXPECT_EQ(text_, "word");
}

TEST_F(PipeTest, TheEndClosesTheReader) {
  ASSERT_EQ(write(pipe_.writer.get(), "last", 4), 4);
  pipe_.writer.Reset();
  EXPECT_EQ(Read(), 4);
  EXPECT_TRUE(pipe_.reader.valid());
  EXPECT_EQ(Read(), 0);
  EXPECT_FALSE(pipe_.reader.valid());
  EXPECT_EQ(Read(), 0);
}

TEST_F(PipeTest, TheOtherEndGoesOnBlocking) {
  EXPECT_NE(fcntl(pipe_.reader.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(fcntl(pipe_.writer.get(), F_GETFL) & O_NONBLOCK, 0);
  for (const UniqueFd* end : {&pipe_.reader, &pipe_.writer}) {
    EXPECT_EQ(fcntl(end->get(), F_GETFD), FD_CLOEXEC);
  }
}

}  // namespace
}  // namespace plimsoll
