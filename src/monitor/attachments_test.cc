#include "monitor/attachments.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::monitor {
namespace {

using ::testing::StartsWith;

class AttachmentsTest : public ::testing::Test {
 protected:
  // Attaches a client; returns its own end.
  UniqueFd Attach(bool has_input) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    attachments_->Add(ends[0], has_input);
    return UniqueFd(ends[1]);
  }
  // The read end of a pipe as input.
  UniqueFd PipeInput(bool once) {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    attachments_->SetInput(fds[1], /*is_terminal=*/false, once);
    return UniqueFd(fds[0]);
  }
  void Tell(char kind, const std::string& text) {
    attachments_->Tell(kind, text.data(), text.size());
  }
  void Serve() {
    pollfd polls[Attachments::kMaxPolls];
    const int count = attachments_->Poll(polls);
    if (poll(polls, static_cast<nfds_t>(count), 0) > 0) attachments_->Serve(polls, count);
  }
  // The next packet; empty at the end, "?" when none is there now.
  static std::string Hear(const UniqueFd& client) {
    std::string packet(kMaxPacket, '\0');
    const ssize_t n = recv(client.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (n < 0) return "?";
    packet.resize(static_cast<size_t>(n));
    return packet;
  }
  static void Say(const UniqueFd& client, const std::string& packet) {
    EXPECT_EQ(send(client.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL),
              static_cast<ssize_t>(packet.size()));
  }
  static std::string ReadPipe(const UniqueFd& pipe) {
    std::string text(1 << 20, '\0');
    const ssize_t n = read(pipe.get(), text.data(), text.size());
    if (n < 0) return "?";
    text.resize(static_cast<size_t>(n));
    return text;
  }

  std::unique_ptr<Attachments> attachments_ = std::make_unique<Attachments>();
};

TEST_F(AttachmentsTest, EveryClientHearsWhatIsWrittenAndTheEnd) {
  const UniqueFd first = Attach(false);
  const UniqueFd second = Attach(true);
  Tell(kPacketOutput, "out");
  Tell(kPacketErrors, "err");
  attachments_->End();
  for (const UniqueFd* client : {&first, &second}) {
    EXPECT_EQ(Hear(*client), "oout");
    EXPECT_EQ(Hear(*client), "eerr");
    EXPECT_EQ(Hear(*client), "x");
    EXPECT_EQ(Hear(*client), "");
  }
}

TEST_F(AttachmentsTest, WhatAClientDoesNotTakeIsLeftOutForItAlone) {
  const UniqueFd slow = Attach(false);
  const UniqueFd quick = Attach(false);
  const std::string block(64 * 1024, 'b');
  constexpr size_t kBlocks = 200;
  size_t quick_bytes = 0;
  for (size_t i = 0; i < kBlocks; ++i) {
    Tell(kPacketOutput, block);
    quick_bytes += Hear(quick).size() - 1;
  }
  EXPECT_EQ(quick_bytes, kBlocks * block.size());
  attachments_->End();
  size_t slow_bytes = 0;
  uint64_t lost = 0;
  std::string packet = Hear(slow);
  for (; packet != "x" && !packet.empty() && packet != "?"; packet = Hear(slow)) {
    if (packet[0] == kPacketLost) {
      lost += std::stoull(packet.substr(1));
    } else {
      slow_bytes += packet.size() - 1;
    }
  }
  EXPECT_EQ(packet, "x");
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(slow_bytes + lost, kBlocks * block.size());
}

TEST_F(AttachmentsTest, WhatWasLeftOutIsToldBeforeWhatFollows) {
  const UniqueFd client = Attach(false);
  const std::string block(64 * 1024, 'b');
  for (int i = 0; i < 200; ++i) Tell(kPacketOutput, block);
  while (Hear(client) != "?") {
  }
  Tell(kPacketOutput, "after");
  EXPECT_THAT(Hear(client), StartsWith("l"));
  EXPECT_EQ(Hear(client), "oafter");
}

TEST_F(AttachmentsTest, InputGoesToThePipe) {
  const UniqueFd pipe = PipeInput(false);
  const UniqueFd client = Attach(true);
  const UniqueFd silent = Attach(false);
  Say(client, "ihello");
  Say(silent, "iignored");
  Serve();
  EXPECT_EQ(ReadPipe(pipe), "hello");
  Say(client, "c");
  Serve();
  EXPECT_EQ(ReadPipe(pipe), "?") << "it stays open for the next client";
}

TEST_F(AttachmentsTest, InputOnceEndsWithThatOfItsFirstClient) {
  for (const bool leaves : {false, true}) {
    SCOPED_TRACE(leaves);
    attachments_ = std::make_unique<Attachments>();
    const UniqueFd pipe = PipeInput(true);
    UniqueFd client = Attach(true);
    const UniqueFd other = Attach(false);
    Say(client, "ihello");
    Serve();
    if (leaves) {
      client.Reset();
    } else {
      Say(client, "c");
    }
    Serve();
    EXPECT_EQ(ReadPipe(pipe), "hello");
    EXPECT_EQ(ReadPipe(pipe), "");
  }
}

TEST_F(AttachmentsTest, InputThatIsNotReadHoldsBackItsClientAndLosesNothing) {
  const UniqueFd pipe = PipeInput(true);
  const UniqueFd client = Attach(true);
  const std::string packet = "i" + std::string(kMaxInput, 'p');
  size_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    if (send(client.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
    sent += packet.size() - 1;
    Serve();
  }
  EXPECT_LT(sent, 1000 * kMaxInput) << "nobody was held back";
  // The container is served all the while.
  Tell(kPacketOutput, "out");
  EXPECT_EQ(Hear(client), "oout");
  size_t received = 0;
  for (int i = 0; i < 10'000 && received < sent; ++i) {
    const std::string text = ReadPipe(pipe);
    if (text != "?") received += text.size();
    Serve();
  }
  EXPECT_EQ(received, sent);
}

TEST_F(AttachmentsTest, WhoLeavesWithInputThatIsNotReadTakesNoRoom) {
  const UniqueFd pipe = PipeInput(false);
  const UniqueFd client = Attach(true);
  const std::string packet = "i" + std::string(kMaxInput, 'p');
  while (send(client.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
    Serve();
  while (!attachments_->full()) Attach(true);  // and leaves
  Serve();
  ASSERT_TRUE(attachments_->full());
  attachments_->DropGone();
  EXPECT_FALSE(attachments_->full());
  const UniqueFd other = Attach(false);
  Tell(kPacketOutput, "out");
  EXPECT_EQ(Hear(client), "oout") << "it is still there";
  EXPECT_EQ(Hear(other), "oout");
}

TEST_F(AttachmentsTest, InputAfterTheReaderHasGoneIsDropped) {
  { const UniqueFd pipe = PipeInput(false); }
  const UniqueFd client = Attach(true);
  const auto before = signal(SIGPIPE, SIG_IGN);  // as in the monitor
  for (int i = 0; i < 3; ++i) {
    Say(client, "ihello");
    Serve();
  }
  signal(SIGPIPE, before);
  Tell(kPacketOutput, "out");
  EXPECT_EQ(Hear(client), "oout");
}

TEST_F(AttachmentsTest, SizesAreTheTerminals) {
  const UniqueFd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(master.valid());
  attachments_->SetTerminal(master.get());
  const UniqueFd client = Attach(false);
  for (const char* packet : {"r37 101", "rgarbage", "r", "?"}) {
    Say(client, packet);
    Serve();
  }
  winsize size = {};
  ASSERT_EQ(ioctl(master.get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_row, 37);
  EXPECT_EQ(size.ws_col, 101);
}

TEST_F(AttachmentsTest, ThereIsALimit) {
  std::vector<UniqueFd> clients;
  for (int i = 0; i < kMaxAttached; ++i) {
    EXPECT_FALSE(attachments_->full());
    clients.push_back(Attach(false));
  }
  EXPECT_TRUE(attachments_->full());
  clients.pop_back();
  Serve();
  EXPECT_FALSE(attachments_->full());
}

}  // namespace
}  // namespace plimsoll::monitor
