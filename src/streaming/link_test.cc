#include "streaming/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace plimsoll::streaming {
namespace {

constexpr size_t kMessage = Link::kEnoughBytes / 4;

// Takes one message at a time and keeps its first letter.
class LetterTransport final : public Transport {
 public:
  LetterTransport(asio::io_context& io, std::string* letters) : io_(io), letters_(letters) {}
  asio::awaitable<absl::StatusOr<std::string>> Receive() override {
    co_return absl::OutOfRangeError("nothing is received");
  }
  asio::awaitable<absl::Status> Send(std::string bytes) override {
    letters_->push_back(bytes[0]);
    co_await asio::post(io_, asio::use_awaitable);
    co_return absl::OkStatus();
  }
  bool HasUnsent() const override { return false; }
  bool HasLeft() const override { return false; }
  asio::awaitable<void> Finish() override { co_return; }
  void Abort() override {}

 private:
  asio::io_context& io_;
  std::string* const letters_;
};

// Sends messages as a session does for one stream.
asio::awaitable<void> Carry(Link* link, char letter, int messages, int* left) {
  for (; messages > 0; --messages) {
    const bool room = co_await link->RoomToSend();
    if (!room) break;
    link->Send(std::string(kMessage, letter));
  }
  if (--*left == 0) link->Close();
}

class LinkTest : public ::testing::Test {
 protected:
  void Spawn(asio::awaitable<void> task) {
    asio::co_spawn(io_, std::move(task), [](const std::exception_ptr&) {});
  }

  asio::io_context io_;
  std::string sent_;
  Link link_{io_,
             std::make_unique<LetterTransport>(io_, &sent_),
             {.idle = absl::Hours(1), .leave = absl::Hours(1)}};
};

TEST_F(LinkTest, WhoAlwaysHasSomethingToSendLeavesOthersTheirTurn) {
  int left = 3;
  Spawn(Carry(&link_, 'a', 100, &left));
  Spawn(Carry(&link_, 'b', 3, &left));
  Spawn(Carry(&link_, 'c', 3, &left));
  Spawn(link_.Write());
  io_.run();
  EXPECT_EQ(sent_.size(), 106u);
  // First what had room before the others came, then in turn.
  EXPECT_EQ(sent_.substr(0, 14), "aaaaabcabcabca");
}

TEST_F(LinkTest, RoomWakesOneOfThoseWhoWaitForIt) {
  constexpr int kMany = 1000;
  int left = kMany;
  for (int i = 0; i < kMany; ++i) Spawn(Carry(&link_, 'a', 1, &left));
  Spawn(link_.Write());
  const size_t steps = io_.run();
  EXPECT_EQ(sent_.size(), static_cast<size_t>(kMany));
  // A few steps each. Waking all of them each time would take half a million.
  EXPECT_LT(steps, size_t{20} * kMany);
}

TEST_F(LinkTest, ItsEndIsThatOfAllWhoWait) {
  int left = 4;  // one more: nobody closes the link
  for (const char letter : {'a', 'b', 'c'}) Spawn(Carry(&link_, letter, 100, &left));
  io_.poll();
  EXPECT_EQ(left, 4);
  link_.Abort();
  io_.run();
  EXPECT_EQ(left, 1);
  EXPECT_EQ(sent_, "");
}

}  // namespace
}  // namespace plimsoll::streaming
