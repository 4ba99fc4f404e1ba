// Flow through forwarded ports: large amounts, and receivers that don't read.
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "streaming/pod_for_test.h"
#include "streaming/port_client_for_test.h"
#include "streaming/server_fixture_for_test.h"

namespace plimsoll::streaming {
namespace {

constexpr size_t kMiB = 1024 * 1024;

// Bytes that reveal any missing, doubled or misplaced part.
class Pattern {
 public:
  static constexpr size_t kPiece = 60'000;

  explicit Pattern(uint32_t seed) {
    std::mt19937 random(seed);
    while (text_.size() < kPeriod) text_.push_back(static_cast<char>(random()));
    text_ += text_.substr(0, kPiece);
  }
  // `size`: at most kPiece.
  absl::string_view At(size_t at, size_t size = kPiece) const {
    return absl::string_view(text_).substr(at % kPeriod, size);
  }
  // True if `data` is the pattern from `at` on.
  bool Holds(size_t at, absl::string_view data) const {
    for (; !data.empty(); at += kPiece) {
      const absl::string_view there = At(at, std::min(data.size(), kPiece));
      if (data.substr(0, there.size()) != there) return false;
      data.remove_prefix(there.size());
    }
    return true;
  }

 private:
  static constexpr size_t kPeriod = 1'000'003;  // a prime: no multiple of any buffer
  std::string text_;
};

bool Write(int target, const Pattern& pattern, size_t size) {
  for (size_t at = 0; at < size;) {
    const absl::string_view piece = pattern.At(at, std::min(Pattern::kPiece, size - at));
    const ssize_t n = send(target, piece.data(), piece.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

// Reads `size` bytes, fewer at the end or at the first wrong piece. Returns the number of right
// ones.
size_t Read(int target, const Pattern& pattern, size_t size) {
  std::string buffer(Pattern::kPiece, '\0');
  size_t at = 0;
  while (at < size) {
    const ssize_t n = recv(target, buffer.data(), std::min(buffer.size(), size - at), 0);
    if (n <= 0) break;
    if (!pattern.Holds(at, absl::string_view(buffer).substr(0, static_cast<size_t>(n)))) break;
    at += static_cast<size_t>(n);
  }
  return at;
}

// Waits until the number stands still, or reaches `most`. Too early, on a very slow machine, makes
// a test ask for less.
void AwaitRest(const std::atomic<size_t>& number, size_t most) {
  size_t before = 0;
  do {
    before = number;
    absl::SleepFor(absl::Milliseconds(300));
  } while (number != before && number < most);
}

class PortForwardFlowTest : public ServerFixture {
 protected:
  // Small buffers between the server and a target, which hold little.
  static constexpr int kSmallBuffer = 64 * 1024;

  // A client and its connection in the pod.
  struct Forwarded {
    std::unique_ptr<PortClient> client;
    UniqueFd target;
    bool there() const { return client != nullptr && target.valid(); }
  };

  // `buffer`: size of each buffer of the listener's connections and of the server's own, which the
  // kernel doubles; 0: the default. Fails the test if there is no connection.
  Forwarded Forward(const std::string& protocol, int buffer = 0) {
    Forwarded made;
    const LoopbackListener pod(AF_INET, 1);
    if (buffer > 0) SizeBuffers(pod.fd(), buffer);
    EXPECT_TRUE(pod.valid());
    backend_.pod_buffer_bytes = buffer;
    made.client = PortClient::Connect(
        Url({.kind = StreamKind::kPortForward, .id = "pod", .ports = {pod.port()}}), protocol,
        pod.port());
    if (made.client != nullptr) made.target = pod.Accept();
    backend_.pod_buffer_bytes = 0;
    EXPECT_TRUE(made.there());
    return made;
  }

  // Sends `size` bytes each way at once.
  static void Exchange(PortClient& client, int target, size_t size) {
    const Pattern to_pod(1);
    const Pattern from_pod(2);
    std::thread sender([&] {
      absl::Status sent;
      for (size_t at = 0; at < size && sent.ok(); at += Pattern::kPiece) {
        sent = client.Send(to_pod.At(at, std::min(Pattern::kPiece, size - at)));
      }
    });
    bool written = false;
    std::thread writer([&] { written = Write(target, from_pod, size); });
    size_t held = 0;
    std::thread reader([&] { held = Read(target, to_pod, size); });
    const absl::Status read = client.ReadUntil(size);
    writer.join();
    reader.join();
    // After a failure, unblock the writer of the rest.
    if (held < size) client.connection().Shutdown();
    sender.join();
    EXPECT_TRUE(read.ok()) << read;
    EXPECT_TRUE(written);
    EXPECT_EQ(held, size);
    EXPECT_EQ(client.Data().size(), size);
    EXPECT_TRUE(from_pod.Holds(0, client.Data()));
    EXPECT_EQ(client.Trouble(), "");
  }

  // Works whatever happens to the other sessions.
  void WorkInAnotherSession(const std::string& protocol) {
    const Forwarded made = Forward(protocol);
    ASSERT_TRUE(made.there());
    Exchange(*made.client, made.target.get(), 2 * kMiB);
  }
};

TEST_F(PortForwardFlowTest, MuchGoesBothWaysByteForByte) {
  for (const char* protocol : PortClient::kProtocols) {
    SCOPED_TRACE(protocol);
    Forwarded made = Forward(protocol);
    ASSERT_TRUE(made.there());
    std::unique_ptr<PortClient>& client = made.client;
    const UniqueFd& target = made.target;
    Exchange(*client, target.get(), 24 * kMiB);
    client.reset();
    EXPECT_TRUE(HasEnded(target.get()));
    EXPECT_TRUE(WaitUntil([&] { return server_->connections() == 0; }));
  }
}

TEST_F(PortForwardFlowTest, ATargetThatTakesNothingHoldsUpNoOtherSession) {
  // For clients whose end doesn't show a break.
  Start({.leave_timeout = absl::Seconds(1)});
  constexpr size_t kKept = kMiB;  // docs/streaming.md
  const size_t most = SocketBytes() + kKept + kMiB;
  const Pattern pattern(3);
  for (const char* protocol : PortClient::kProtocols) {
    SCOPED_TRACE(protocol);
    Forwarded made = Forward(protocol, kSmallBuffer);
    ASSERT_TRUE(made.there());
    std::unique_ptr<PortClient>& client = made.client;
    const UniqueFd& target = made.target;
    std::atomic<size_t> sent = 0;
    std::thread sender([&] {
      while (sent < 2 * most && client->Send(pattern.At(sent)).ok()) sent += Pattern::kPiece;
    });
    EXPECT_TRUE(WaitUntil([&] { return sent > kKept / 2; }));
    AwaitRest(sent, 2 * most);
    WorkInAnotherSession(protocol);
    EXPECT_LT(sent, most);
    client->connection().Shutdown();  // releases the waiting sender
    sender.join();
    client->connection().ResetAtClose();
    client.reset();
    EXPECT_TRUE(WaitUntil([&] { return server_->connections() == 0; }));
    // The target gets a prefix of the sent bytes, then the end.
    const size_t held = Read(target.get(), pattern, SIZE_MAX);
    EXPECT_GT(held, 0u);
    EXPECT_LT(held, most);
    char other;
    EXPECT_LE(recv(target.get(), &other, 1, 0), 0) << "other bytes after " << held;
    EXPECT_TRUE(HasEnded(target.get()));
  }
}

TEST_F(PortForwardFlowTest, AClientThatDoesNotReadHoldsUpItsTargetAlone) {
  constexpr size_t kKept = 256 * 1024;
  const size_t most = SocketBytes() + kKept + kMiB;
  const Pattern pattern(4);
  for (const char* protocol : PortClient::kProtocols) {
    SCOPED_TRACE(protocol);
    Forwarded made = Forward(protocol, kSmallBuffer);
    ASSERT_TRUE(made.there());
    std::unique_ptr<PortClient>& client = made.client;
    const UniqueFd& target = made.target;
    std::atomic<size_t> written = 0;
    int end = 0;
    std::thread writer([&] {
      while (end == 0 && written < 2 * most) {
        const absl::string_view piece = pattern.At(written);
        const ssize_t n = send(target.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
        if (n > 0) {
          written += static_cast<size_t>(n);
        } else {
          end = errno;
        }
      }
    });
    EXPECT_TRUE(WaitUntil([&] { return written > kKept / 2; }));
    AwaitRest(written, 2 * most);
    WorkInAnotherSession(protocol);
    EXPECT_LT(written, most);
    client.reset();
    writer.join();
    EXPECT_TRUE(end == ECONNRESET || end == EPIPE) << end;
    EXPECT_TRUE(WaitUntil([&] { return server_->connections() == 0; }));
  }
}

TEST_F(PortForwardFlowTest, AConnectionThatSendsWithoutEndLeavesTheOthersTheirTurn) {
  constexpr size_t kFar = 1024 * kMiB;
  const LoopbackListener pod(AF_INET, 2);
  ASSERT_TRUE(pod.valid());
  auto client = Spdy({.kind = StreamKind::kPortForward, .id = "pod"}, PortClient::kSpdy);
  ASSERT_NE(client, nullptr);
  uint32_t data[2] = {};
  UniqueFd targets[2];
  for (const int i : {0, 1}) {
    for (const char* type : {"error", "data"}) {
      const auto opened = client->Open({{"port", absl::StrCat(pod.port())},
                                        {"requestid", absl::StrCat(i)},
                                        {"streamtype", type}});
      ASSERT_TRUE(opened.ok()) << opened.status();
      data[i] = *opened;
    }
    targets[i] = pod.Accept();
    ASSERT_TRUE(targets[i].valid());
  }
  std::thread flood([&] {
    const std::string block(Pattern::kPiece, 'x');
    while (send(targets[0].get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) continue;
  });
  size_t flooded = 0;
  const auto until = [&](size_t limit) {
    return client->ReadUntil([&client, &data, &flooded, limit] {
      flooded += client->received[data[0]].size();
      client->received[data[0]].clear();
      return flooded > limit || client->received[data[1]] == "word";
    });
  };
  EXPECT_TRUE(until(SocketBytes()).ok());  // fills every buffer on the way
  EXPECT_EQ(send(targets[1].get(), "word", 4, MSG_NOSIGNAL), 4);
  EXPECT_TRUE(until(kFar).ok());
  EXPECT_EQ(client->received[data[1]], "word");
  client.reset();
  flood.join();
}

TEST_F(PortForwardFlowTest, AClientThatGoesEndsTheConnectionInThePod) {
  for (const char* protocol : PortClient::kProtocols) {
    SCOPED_TRACE(protocol);
    Forwarded made = Forward(protocol);
    ASSERT_TRUE(made.there());
    std::unique_ptr<PortClient>& client = made.client;
    const UniqueFd& target = made.target;
    ASSERT_TRUE(client->Send("ask").ok());
    char asked[3];
    ASSERT_EQ(recv(target.get(), asked, sizeof(asked), MSG_WAITALL), 3);
    ASSERT_EQ(send(target.get(), "half of", 7, MSG_NOSIGNAL), 7);
    ASSERT_TRUE(client->ReadUntil(7).ok());
    EXPECT_EQ(client->Data(), "half of");
    client.reset();
    EXPECT_TRUE(HasEnded(target.get()));
    EXPECT_TRUE(WaitUntil([&] { return server_->connections() == 0; }));
  }
}

// Clients that can end their input only by closing.
class PortForwardCloseTest : public PortForwardFlowTest {
 protected:
  // More than a small target's sockets hold, and too little to hold up the client.
  static constexpr size_t kSize = 900'000;
  static_assert(kSize < kMiB && kSize > 6 * kSmallBuffer);

  // A client that has read everything: otherwise its end would be a reset.
  Forwarded Greet() {
    Forwarded made = Forward(PortClient::kChannels, kSmallBuffer);
    if (!made.there()) return made;
    EXPECT_EQ(send(made.target.get(), "go", 2, MSG_NOSIGNAL), 2);
    EXPECT_TRUE(made.client->ReadUntil(2).ok());
    return made;
  }
  static absl::Status SendAndSayGoodbye(PortClient& client, const Pattern& pattern, size_t size,
                                        std::atomic<size_t>* sent) {
    for (size_t at = 0; at < size; *sent = at) {
      const absl::string_view piece = pattern.At(at, std::min(Pattern::kPiece, size - at));
      const absl::Status taken = client.Send(piece);
      if (!taken.ok()) return taken;
      at += piece.size();
    }
    return client.websocket()->SendFrame(/*close*/ 8, "\x03\xe8");
  }
  // The target of a client that has closed, to the server's knowledge, while the target has read
  // nothing. Invalid if the test has failed.
  UniqueFd LeaveInput(const Pattern& pattern) {
    Forwarded made = Greet();
    if (!made.there()) return UniqueFd();
    std::atomic<size_t> sent = 0;
    absl::Status closed = SendAndSayGoodbye(*made.client, pattern, kSize, &sent);
    if (closed.ok()) closed = made.client->ReadToEnd();
    EXPECT_TRUE(closed.ok()) << closed;
    EXPECT_NE(made.client->websocket()->close_code, 0);
    return closed.ok() ? std::move(made.target) : UniqueFd();
  }
  bool AwaitNoConnection() {
    return WaitUntil([&] { return server_->connections() == 0; });
  }
};

TEST_F(PortForwardCloseTest, ATargetGetsEverythingOfAClientThatHasClosed) {
  Start({.leave_timeout = absl::Minutes(10)});
  const Pattern pattern(5);
  const UniqueFd target = LeaveInput(pattern);
  ASSERT_TRUE(target.valid());
  // More than sockets hold, with no reader left.
  EXPECT_TRUE(Write(target.get(), Pattern(6), 4 * kMiB));
  EXPECT_EQ(Read(target.get(), pattern, SIZE_MAX), kSize);
  EXPECT_TRUE(HasEnded(target.get()));
  EXPECT_TRUE(AwaitNoConnection());
}

// Part of it is still on the client's machine when the client leaves.
TEST_F(PortForwardCloseTest, ATargetGetsEverythingOfAClientThatIsHeldUpAndCloses) {
  Start({.leave_timeout = absl::Minutes(10)});
  const size_t size = SocketBytes() + 2 * kMiB;
  const Pattern pattern(7);
  Forwarded made = Greet();
  ASSERT_TRUE(made.there());
  std::atomic<size_t> sent = 0;
  absl::Status closed;
  std::thread sender([&] {
    closed = SendAndSayGoodbye(*made.client, pattern, size, &sent);
    made.client.reset();
  });
  AwaitRest(sent, size);
  const size_t held = Read(made.target.get(), pattern, SIZE_MAX);
  EXPECT_EQ(held, size);
  if (held == size) {
    EXPECT_TRUE(HasEnded(made.target.get()));
  }
  made.target.Reset();  // on failure, releases the waiting sender
  sender.join();
  EXPECT_TRUE(closed.ok()) << closed;
  EXPECT_TRUE(AwaitNoConnection());
}

TEST_F(PortForwardCloseTest, ATargetThatTakesNothingIsNotWaitedForLong) {
  Start({.leave_timeout = absl::Seconds(1)});
  const Pattern pattern(8);
  const UniqueFd target = LeaveInput(pattern);
  ASSERT_TRUE(target.valid());
  EXPECT_TRUE(AwaitNoConnection());
  const size_t held = Read(target.get(), pattern, SIZE_MAX);
  EXPECT_GT(held, 0u);
  EXPECT_LT(held, kSize);
  EXPECT_TRUE(HasEnded(target.get()));
}

TEST_F(PortForwardCloseTest, AServerThatStopsWaitsForNoTarget) {
  Start({.leave_timeout = absl::Hours(1)});
  const Pattern pattern(9);
  const UniqueFd target = LeaveInput(pattern);
  ASSERT_TRUE(target.valid());
  EXPECT_EQ(server_->connections(), 1);
  server_.reset();  // must not take an hour
  EXPECT_LT(Read(target.get(), pattern, SIZE_MAX), kSize);
  EXPECT_TRUE(HasEnded(target.get()));
}

}  // namespace
}  // namespace plimsoll::streaming
