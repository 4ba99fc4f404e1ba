// A client's bytes to the streaming server, through the server's own connection: the HTTP request
// or, after a successful upgrade, the frames of a WebSocket.
//
// The first byte chooses the request (kScenes; 0x80: the container ends before its client leaves),
// the second the size of the pieces into which the rest is cut (0: uncut). In a request, the word
// TOKEN stands for the token.
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/unique_fd.h"
#include "base/worker_pool.h"
#include "check.h"
#include "monitor/protocol.h"
#include "streaming/channel_protocol.h"
#include "streaming/http_front.h"
#include "streaming/routes.h"

namespace {

using namespace plimsoll::fuzz;
namespace asio = boost::asio;
namespace monitor = plimsoll::monitor;
namespace streaming = plimsoll::streaming;
using plimsoll::UniqueFd;
using streaming::StreamKind;

// Limit of a message, see docs/streaming.md.
constexpr uint64_t kMaxMessageBytes = 1024 * 1024;
constexpr size_t kMaxPieces = 64;
// Limit of the server's answers: this for a request, plus some for each of the client's bytes.
constexpr size_t kAnswerBytes = 8192;
constexpr size_t kAnswersPerByte = 64;
constexpr absl::Duration kNever = absl::Hours(1000);
// Time for a client to close after the server: short, as some frames make the server wait for it.
constexpr absl::Duration kLeave = absl::Milliseconds(50);
// For an end that only waits for a thread.
constexpr int kPatienceSeconds = 60;

struct Scene {
  StreamKind kind = StreamKind::kAttach;
  const char* protocol = nullptr;  // the WebSocket's; null: the input is the request
  bool terminal = false;
};
constexpr Scene kScenes[] = {
    {StreamKind::kAttach, nullptr},
    {StreamKind::kAttach, "v5.channel.k8s.io"},
    {StreamKind::kAttach, "v5.channel.k8s.io", true},
    {StreamKind::kAttach, "v4.channel.k8s.io"},
    {StreamKind::kAttach, "v4.base64.channel.k8s.io"},
    {StreamKind::kAttach, "channel.k8s.io"},
    {StreamKind::kAttach, ""},
    {StreamKind::kExec, "v5.channel.k8s.io"},
    {StreamKind::kPortForward, "v4.channel.k8s.io"},
    {StreamKind::kPortForward, "v4.base64.channel.k8s.io"},
    {StreamKind::kPortForward, streaming::kTunnelProtocol},
    {StreamKind::kExec, nullptr},
    {StreamKind::kPortForward, nullptr},
};

// A container whose monitor the fuzzer plays. Commands and ports are refused, so the server ends
// those streams.
class Backend final : public streaming::Backend {
 public:
  absl::StatusOr<std::unique_ptr<plimsoll::runtime::RunningCommand>> Exec(
      const streaming::StreamRequest& /*request*/) override {
    ++calls;
    return absl::NotFoundError("no such container");
  }
  absl::StatusOr<plimsoll::runtime::AttachedContainer> Attach(
      const streaming::StreamRequest& request) override {
    int ends[2];
    const int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
    FUZZ_CHECK(socketpair(AF_UNIX, type, 0, ends) == 0, "a socket pair");
    monitor_end.Reset(ends[0]);
    ++calls;
    return plimsoll::runtime::AttachedContainer{UniqueFd(ends[1]), request.terminal};
  }
  absl::StatusOr<UniqueFd> PodSocket(const std::string& /*sandbox_id*/, int /*family*/) override {
    ++calls;
    return absl::NotFoundError("no such pod");
  }

  std::atomic<int> calls = 0;
  UniqueFd monitor_end;  // from Attach; valid once `calls` has counted it
};

uint64_t BigEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

struct Frame {
  bool last = false;
  bool reserved = false;  // has reserved bits
  bool masked = false;
  int opcode = 0;
  bool short_length = true;  // the length is encoded in as few bytes as possible
  uint64_t size = 0;
  std::string payload;
  bool whole = false;  // the payload is complete
};
constexpr int kContinuation = 0;
constexpr int kText = 1;
constexpr int kBinary = 2;
constexpr int kClose = 8;
constexpr int kPing = 9;
constexpr int kPong = 10;

// Takes a frame (RFC 6455, section 5.2) from the front of `bytes`. False: its head is incomplete.
bool TakeFrame(absl::string_view* bytes, Frame* frame) {
  if (bytes->size() < 2) return false;
  const auto first = static_cast<uint8_t>((*bytes)[0]);
  const auto second = static_cast<uint8_t>((*bytes)[1]);
  const size_t more = (second & 0x7f) == 127 ? 8 : (second & 0x7f) == 126 ? 2 : 0;
  const size_t head = 2 + more + ((second & 0x80) != 0 ? 4 : 0);
  if (bytes->size() < head) return false;
  *frame = Frame();
  frame->last = (first & 0x80) != 0;
  frame->reserved = (first & 0x70) != 0;
  frame->masked = (second & 0x80) != 0;
  frame->opcode = first & 0x0f;
  frame->size = more == 0 ? second & 0x7f : BigEndian(bytes->substr(2, more));
  if (more > 0) frame->short_length = frame->size >= (more == 2 ? 126u : 65536u);
  const absl::string_view mask = bytes->substr(frame->masked ? head - 4 : 0, 4);
  bytes->remove_prefix(head);
  frame->whole = bytes->size() >= frame->size;
  frame->payload = std::string(bytes->substr(0, frame->whole ? frame->size : bytes->size()));
  bytes->remove_prefix(frame->payload.size());
  for (size_t i = 0; frame->masked && i < frame->payload.size(); ++i) {
    frame->payload[i] = static_cast<char>(frame->payload[i] ^ mask[i % 4]);
  }
  return true;
}

// The input a container must get from a client that sends these frames.
struct Expected {
  std::string input;
  bool input_ended = false;
  // The client says goodbye or breaks a rule. Bytes just before that may be lost.
  bool broken = false;
};

bool BreaksARule(const Frame& frame, bool in_message, size_t so_far) {
  if (frame.reserved || !frame.masked || !frame.short_length) return true;
  switch (frame.opcode) {
    case kContinuation:
      return !in_message || frame.size > kMaxMessageBytes - so_far;
    case kText:
    case kBinary:
      return in_message || frame.size > kMaxMessageBytes;
    case kPing:
    case kPong:
      return !frame.last || frame.size > 125;
    default:
      return true;
  }
}

// False: the server no longer listens.
bool TakeMessage(const streaming::ChannelProtocol& protocol, const std::string& message,
                 Expected* expected) {
  if (message.empty()) return true;
  const auto decoded = streaming::DecodeChannelMessage(protocol, message);
  if (!decoded.ok()) return false;
  if (decoded->channel != streaming::kStdin || expected->input_ended) return true;
  if (decoded->close) {
    expected->input_ended = true;
  } else {
    expected->input += decoded->data;
  }
  return true;
}

Expected Understand(const streaming::ChannelProtocol& protocol, absl::string_view bytes) {
  Expected expected;
  std::string message;
  bool in_message = false;
  bool text = false;
  Frame frame;
  while (TakeFrame(&bytes, &frame)) {
    if (BreaksARule(frame, in_message, message.size())) {
      expected.broken = true;
      break;
    }
    if (frame.opcode == kPing || frame.opcode == kPong) continue;
    if (frame.opcode != kContinuation) text = frame.opcode == kText;
    message += frame.payload;
    in_message = !(frame.last && frame.whole);
    // Text must be UTF-8: non-ASCII text may be refused as soon as it comes.
    expected.broken |= text && std::any_of(message.begin(), message.end(),
                                           [](char each) { return (each & 0x80) != 0; });
    if (in_message) continue;
    if (!TakeMessage(protocol, message, &expected)) {
      expected.broken = true;
      break;
    }
    message.clear();
  }
  return expected;
}

// One connection to the server, both ends in this thread.
class Run {
 public:
  Run(const Scene& scene, bool container_ends_first)
      : scene_(scene), container_ends_first_(container_ends_first) {
    int ends[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0,
               "a socket pair");
    client_.Reset(ends[0]);
    asio::ip::tcp::socket server(io_);
    server.assign(asio::ip::tcp::v4(), ends[1]);
    const streaming::FrontContext context = {
        {io_, Pool(), backend_, kNever, stopping_, stopping_, streams_},
        tokens_,
        {.idle = kNever, .leave = kLeave}};
    asio::co_spawn(io_, streaming::ServeConnection(context, streaming::Socket(std::move(server))),
                   [this](const std::exception_ptr& thrown) {
                     FUZZ_CHECK(thrown == nullptr, "an exception");
                     ended_ = true;
                   });
  }

  void Serve(absl::string_view input, size_t piece) {
    const std::string token = *tokens_.Add(Wanted());
    if (scene_.protocol == nullptr) {
      const std::string request = absl::StrReplaceAll(input, {{"TOKEN", token}});
      Feed(request, piece);
      Leave();
      FUZZ_CHECK(answer_.size() <= kAnswerBytes + kAnswersPerByte * request.size(),
                 absl::StrCat(answer_.size()));
      return;
    }
    Upgrade(token);
    Feed(input, piece);
    const bool attached = scene_.kind == StreamKind::kAttach;
    if (attached) CheckInput(input);
    if (attached && container_ends_first_) SayAsMonitor(std::string(1, monitor::kPacketEnd));
    Pump();
    Leave();
    if (attached) FUZZ_CHECK(detached_, "the container's monitor still has a client");
    FUZZ_CHECK(answer_.size() <= kAnswerBytes + kAnswersPerByte * input.size(),
               absl::StrCat(answer_.size()));
    CheckFrames(input);
  }

 private:
  // Kept: threads are expensive.
  static plimsoll::WorkerPool& Pool() {
    static auto* const pool = new plimsoll::WorkerPool(1, 1024, absl::Hours(1));
    return *pool;
  }
  streaming::StreamRequest Wanted() const {
    streaming::StreamRequest wanted = {.kind = scene_.kind, .id = "c", .argv = {"true"}};
    wanted.input = wanted.output = true;
    wanted.errors = !scene_.terminal;
    wanted.terminal = scene_.terminal;
    if (scene_.kind == StreamKind::kPortForward) wanted.ports = {80, 8080};
    return wanted;
  }

  void Upgrade(const std::string& token) {
    std::string request = absl::StrCat(
        "GET /", streaming::PathOf(scene_.kind), "/", token,
        " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
    if (scene_.protocol[0] != '\0') {
      absl::StrAppend(&request, "Sec-WebSocket-Protocol: ", scene_.protocol, "\r\n");
    }
    Feed(request + "\r\n", request.size() + 2);
    FUZZ_CHECK(absl::StartsWith(answer_, "HTTP/1.1 101 "), answer_);
    FUZZ_CHECK(scene_.kind != StreamKind::kAttach || backend_.calls == 1, "nobody is attached");
    if (scene_.kind == StreamKind::kAttach) {
      SayAsMonitor(std::string(1, monitor::kPacketOutput) + "hello");
      Pump();
    }
  }

  void SayAsMonitor(const std::string& packet) {
    // Fails if the session has ended.
    static_cast<void>(send(backend_.monitor_end.get(), packet.data(), packet.size(), MSG_NOSIGNAL));
  }

  // Sends all of it, as far as the server takes it.
  void Feed(absl::string_view bytes, size_t piece) {
    const size_t most = std::max(piece, bytes.size() / kMaxPieces + 1);
    bool moved = true;
    while (!bytes.empty() && moved) {
      const size_t now = std::min(most, bytes.size());
      const ssize_t n = send(client_.get(), bytes.data(), now, MSG_NOSIGNAL);
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
      if (n < 0 && errno != EAGAIN) break;
      moved = Pump() || n > 0;
    }
    Pump();
  }

  // Runs until nothing moves, here or in the pool's thread. True if something did.
  bool Pump() {
    bool any = false;
    int calls = -1;
    do {
      calls = backend_.calls;
      AwaitPool();
      while (io_.poll() > 0 || Drain()) any = true;
    } while (calls != backend_.calls);
    return any;
  }
  // Waits until the pool's only thread has posted all its results.
  void AwaitPool() {
    bool done = false;
    const bool scheduled =
        Pool().TrySchedule([this, &done] { asio::post(io_, [&done] { done = true; }); });
    FUZZ_CHECK(scheduled, "the pool takes no work");
    while (!done) {
      io_.restart();
      io_.run_one();
    }
    io_.restart();
  }
  // Takes the server's bytes for the client and for the monitor. True if there were some.
  bool Drain() {
    bool any = false;
    ssize_t n = 0;
    while ((n = recv(client_.get(), buffer_.data(), buffer_.size(), 0)) > 0) {
      answer_.append(buffer_, 0, static_cast<size_t>(n));
      any = true;
    }
    while (!detached_ && backend_.calls > 0 && backend_.monitor_end.valid()) {
      n = recv(backend_.monitor_end.get(), buffer_.data(), buffer_.size(), 0);
      if (n < 0) break;
      any = true;
      detached_ = n == 0;
      if (n > 0) TakePacket(absl::string_view(buffer_).substr(0, static_cast<size_t>(n)));
    }
    return any;
  }
  void TakePacket(absl::string_view packet) {
    const absl::string_view data = packet.substr(1);
    FUZZ_CHECK(!input_closed_ || packet[0] == monitor::kPacketSize, "input after its end");
    switch (packet[0]) {
      case monitor::kPacketInput:
        FUZZ_CHECK(!data.empty() && data.size() <= monitor::kMaxInput, absl::StrCat(data.size()));
        absl::StrAppend(&input_, data);
        break;
      case monitor::kPacketCloseInput:
        input_closed_ = true;
        break;
      case monitor::kPacketSize: {
        const std::vector<absl::string_view> numbers = absl::StrSplit(data, ' ');
        uint32_t rows = 0;
        uint32_t columns = 0;
        FUZZ_CHECK(scene_.terminal && numbers.size() == 2 && absl::SimpleAtoi(numbers[0], &rows) &&
                       rows > 0 && rows <= UINT16_MAX && absl::SimpleAtoi(numbers[1], &columns) &&
                       columns > 0 && columns <= UINT16_MAX,
                   data);
        break;
      }
      default:
        FUZZ_CHECK(false, packet);
    }
  }

  // The client stops sending: everything must come to its end.
  void Leave() {
    shutdown(client_.get(), SHUT_WR);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceSeconds);
    while (!ended_) {
      if (Pump()) continue;
      FUZZ_CHECK(std::chrono::steady_clock::now() < deadline, "the session does not end");
      io_.run_one_for(std::chrono::milliseconds(1));
    }
    Pump();
  }

  // The container's input must be what the client has sent.
  void CheckInput(absl::string_view sent) const {
    const auto protocol = streaming::ChooseCommandProtocol(
        scene_.protocol[0] == '\0' ? std::vector<std::string>()
                                   : std::vector<std::string>{scene_.protocol});
    const Expected expected = Understand(*protocol, sent);
    FUZZ_CHECK(absl::StartsWith(expected.input, input_),
               absl::StrCat(input_.size(), " bytes, not the ", expected.input.size(), " sent"));
    FUZZ_CHECK(expected.input_ended || !input_closed_, "an end that nobody sent");
    if (expected.broken) return;
    FUZZ_CHECK(input_ == expected.input,
               absl::StrCat(input_.size(), " of ", expected.input.size()));
    FUZZ_CHECK(input_closed_ == expected.input_ended, "the end of the input");
    FUZZ_CHECK(!ended_, "the session has ended by itself");
  }

  // The server's bytes must be a WebSocket's frames, up to the end.
  void CheckFrames(absl::string_view sent) const {
    const size_t head = answer_.find("\r\n\r\n");
    FUZZ_CHECK(head != std::string::npos, answer_);
    absl::string_view left = absl::string_view(answer_).substr(head + 4);
    bool closed = false;
    std::string output;
    size_t ponged = 0;
    Frame frame;
    while (TakeFrame(&left, &frame)) {
      FUZZ_CHECK(!closed, "a frame after the last one");
      FUZZ_CHECK(!frame.masked && !frame.reserved && frame.last && frame.whole &&
                     frame.short_length && frame.size <= kMaxMessageBytes,
                 absl::StrCat("a frame of opcode ", frame.opcode, " and size ", frame.size));
      closed = frame.opcode == kClose;
      if (frame.opcode == kPong) ponged += frame.size;
      const bool data = frame.opcode == kText || frame.opcode == kBinary;
      FUZZ_CHECK(data || closed || frame.opcode == kPong, absl::StrCat(frame.opcode));
      if (data && !frame.payload.empty() && (frame.payload[0] & 0x0f) == streaming::kStdout) {
        output += frame.payload.substr(1);
      }
    }
    FUZZ_CHECK(left.empty(), "half a frame");
    FUZZ_CHECK(ponged <= sent.size(), "more pongs than pings");
    if (scene_.kind != StreamKind::kAttach) return;
    const bool base64 = absl::StrContains(scene_.protocol, "base64");
    FUZZ_CHECK(output == (base64 ? "aGVsbG8=" : "hello"), output);
  }

  const Scene scene_;
  const bool container_ends_first_;
  streaming::Tokens tokens_;
  Backend backend_;
  const std::atomic<bool> stopping_ = false;
  bool streams_ = false;
  asio::io_context io_{1};
  UniqueFd client_;
  bool ended_ = false;
  std::string buffer_ = std::string(monitor::kMaxPacket, '\0');
  std::string answer_;  // all of the server's bytes
  std::string input_;   // the container's input
  bool input_closed_ = false;
  bool detached_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const Scene& scene = kScenes[(data[0] & 0x7f) % std::size(kScenes)];
  const size_t piece = data[1] == 0 ? size : data[1];
  Run run(scene, (data[0] & 0x80) != 0);
  run.Serve(Text(data + 2, size - 2), piece);
  return 0;
}
