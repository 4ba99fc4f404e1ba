#include "streaming/port_forward_session.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "streaming/unsent.h"

namespace plimsoll::streaming {
namespace {

constexpr size_t kForwardBytes = 64 * 1024;
// A listener in the pod answers at once if it is up; one that doesn't accept keeps us waiting.
constexpr absl::Duration kConnect = absl::Seconds(20);
// Nothing reports when a socket has sent everything: check again, later each time.
constexpr absl::Duration kFirstLook = absl::Milliseconds(5);

uint32_t DataChannel(uint32_t pair) {
  return 2 * pair;
}
uint32_t ErrorChannel(uint32_t pair) {
  return 2 * pair + 1;
}

// Starts to connect a non-blocking socket. Returns 0 or an errno.
int BeginConnect(int fd, int family, uint16_t port) {
  sockaddr_storage address = {};
  socklen_t size = 0;
  if (family == AF_INET) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
    v4->sin_family = AF_INET;
    v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v4->sin_port = htons(port);
    size = sizeof(*v4);
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
    v6->sin6_family = AF_INET6;
    v6->sin6_addr = in6addr_loopback;
    v6->sin6_port = htons(port);
    size = sizeof(*v6);
  }
  return connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 ? 0 : errno;
}

int ErrorOf(int fd) {
  int error = 0;
  socklen_t size = sizeof(error);
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// 0 without a connection.
uint64_t UnsentOf(AsyncFd* socket) {
  if (socket == nullptr || !socket->open()) return 0;
  return static_cast<uint64_t>(UnsentBytes(socket->fd()));
}

}  // namespace

void PortForwardSession::Begin(Wire* wire) {
  wire_ = wire;
  wire_->Begin();
}

asio::awaitable<void> PortForwardSession::Run() {
  Tasks tasks(context_.io);
  tasks.Spawn(WatchHalfOpen());
  // A closed server can't connect: the client should ask the next one for a session.
  while (!end_.gone && !end_.closed && ((lasts_ && !context_.closed) || !ports_.empty())) {
    co_await changed_.Wait();
  }
  half_ports_.watch.End();
  if (end_.closed) co_await AwaitDelivery();
  co_await tasks.Join();
  co_await ports_tasks_.Join();
  wire_->GoAway();
  link_->Close();
}

asio::awaitable<bool> PortForwardSession::RoomForInput() {
  const auto full = [this] {
    return std::any_of(ports_.begin(), ports_.end(),
                       [](const auto& port) { return port.second->input.bytes() >= kEnoughInput; });
  };
  while (!end_.gone && full()) {
    if (link_->HasLeft() && (lasts_ || link_->over() || !IsStillTaken())) co_return false;
    co_await room_.WaitFor(Link::kLook);
  }
  co_return true;
}

void PortForwardSession::GiveUp(Port* port) {
  port->given_up = true;
  port->input.Drop();
  if (port->target != nullptr) port->target->Cancel();
  room_.Notify();
}

void PortForwardSession::OnGone() {
  if (end_.gone) return;
  end_.gone = true;
  for (auto& [pair, port] : ports_) GiveUp(port.get());
  half_ports_.watch.End();
  changed_.Notify();
  room_.Notify();
}

void PortForwardSession::OnClosed() {
  if (lasts_) {
    OnGone();
    return;
  }
  end_.closed = true;
  for (auto& [pair, port] : ports_) port->input.End();
  changed_.Notify();
}

asio::awaitable<void> PortForwardSession::AwaitDelivery() {
  absl::Duration look = kFirstLook;
  while (!end_.gone && !IsDelivered() && IsStillTaken()) {
    co_await changed_.WaitFor(look);
    look = std::min(2 * look, Link::kLook);
  }
  OnGone();
}

bool PortForwardSession::IsDelivered() const {
  // If the target sends anything after the close, the socket's unsent bytes are lost.
  return std::all_of(ports_.begin(), ports_.end(), [](const auto& port) {
    return port.second->input_passed_on && UnsentOf(port.second->target) == 0;
  });
}

bool PortForwardSession::IsStillTaken() {
  if (context_.stopping) return false;
  uint64_t unsent = 0;
  for (const auto& [pair, port] : ports_) unsent += UnsentOf(port->target);
  return delivery_.Moves(unsent, link_->limits());
}

void PortForwardSession::OnHalfPort(uint32_t pair) {
  half_ports_.since.emplace(pair, std::chrono::steady_clock::now());
}

asio::awaitable<void> PortForwardSession::WatchHalfOpen() {
  while (!end_.gone) {
    const bool slept = co_await half_ports_.watch.For(context_.creation_timeout);
    if (!slept) break;
    const auto too_old =
        std::chrono::steady_clock::now() - absl::ToChronoNanoseconds(context_.creation_timeout);
    for (auto at = half_ports_.since.begin(); at != half_ports_.since.end();) {
      if (at->second > too_old) {
        ++at;
        continue;
      }
      wire_->Send(ErrorChannel(at->first), "the stream that belongs to this one was not opened");
      wire_->DropPair(at->first);
      at = half_ports_.since.erase(at);
    }
  }
}

void PortForwardSession::OnPort(uint32_t pair, uint16_t port) {
  half_ports_.since.erase(pair);
  // A client that resets its streams may open others while their connections still end.
  if (ports_.size() >= kMaxPorts) {
    wire_->Send(ErrorChannel(pair),
                absl::StrCat("error forwarding port ", port, " to pod ", request_.id, ": ",
                             kMaxPorts, " connections are open or ending; try again later"));
    wire_->DropPair(pair);
    return;
  }
  auto state = std::make_shared<Port>(context_.io);
  ports_[pair] = state;
  context_.streams = true;
  ports_tasks_.Spawn(Forward(pair, port, state));
}

void PortForwardSession::OnData(uint32_t channel, absl::string_view data) {
  const auto port = ports_.find(channel / 2);
  if (channel % 2 != 0 || port == ports_.end()) return;
  port->second->input.Add(data);
}

void PortForwardSession::OnEnd(uint32_t channel) {
  const auto port = ports_.find(channel / 2);
  if (channel % 2 != 0 || port == ports_.end()) return;
  port->second->input.End();
}

void PortForwardSession::OnReset(uint32_t channel) {
  const uint32_t pair = channel / 2;
  const auto port = ports_.find(pair);
  if (port != ports_.end()) {
    // A reset error channel only means that errors go unheard: no reason to end.
    if (channel % 2 == 0) GiveUp(port->second.get());
    return;
  }
  half_ports_.since.erase(pair);
  wire_->DropPair(pair);
}

asio::awaitable<void> PortForwardSession::LimitConnect(Sleep* limit, std::shared_ptr<Port> state) {
  const bool slept = co_await limit->For(kConnect);
  if (slept && state->target != nullptr) state->target->Close();
}

asio::awaitable<absl::StatusOr<UniqueFd>> PortForwardSession::ConnectBy(
    int family, uint16_t port, std::shared_ptr<Port> state) {
  using Made = absl::StatusOr<UniqueFd>;
  Backend* const backend = &context_.backend;
  const std::string* const id = &request_.id;
  Made made = co_await RunBlocking<Made>(context_.io, context_.pool, [backend, id, family] {
    return backend->PodSocket(*id, family);
  });
  if (!made.ok()) co_return made.status();
  AsyncFd socket(context_.io, UniqueFd(fcntl(made->get(), F_DUPFD_CLOEXEC, 0)));
  if (!socket.open()) co_return ErrnoStatus(EMFILE, "connect");
  int error = BeginConnect(made->get(), family, port);
  if (error == EINPROGRESS) {
    state->target = &socket;
    Sleep limit(context_.io);
    Tasks tasks(context_.io);
    tasks.Spawn(LimitConnect(&limit, state));
    if (!state->given_up) co_await socket.Writable();
    limit.End();
    co_await tasks.Join();
    state->target = nullptr;
    error = !socket.open() ? ETIMEDOUT : ErrorOf(made->get());
    if (state->given_up) error = ECANCELED;
  }
  if (error != 0) {
    co_return ErrnoStatus(error, absl::StrCat("connect to port ", port, " of ",
                                              family == AF_INET ? "127.0.0.1" : "[::1]"));
  }
  co_return std::move(*made);
}

asio::awaitable<absl::StatusOr<UniqueFd>> PortForwardSession::Connect(uint16_t port,
                                                                      std::shared_ptr<Port> state) {
  absl::StatusOr<UniqueFd> v4 = co_await ConnectBy(AF_INET, port, state);
  if (v4.ok() || state->given_up) co_return std::move(v4);
  absl::StatusOr<UniqueFd> v6 = co_await ConnectBy(AF_INET6, port, state);
  if (v6.ok()) co_return std::move(v6);
  co_return AlsoSay(v4.status(), v6.status().message());
}

asio::awaitable<void> PortForwardSession::Forward(uint32_t pair, uint16_t port,
                                                  std::shared_ptr<Port> state) {
  absl::StatusOr<UniqueFd> connected = co_await Connect(port, state);
  std::string trouble;
  if (!connected.ok()) {
    trouble = absl::StrCat("error forwarding port ", port, " to pod ", request_.id, ": ",
                           connected.status().message());
  } else {
    AsyncFd target(context_.io, *std::move(connected));
    state->target = &target;
    Tasks input(context_.io);
    input.Spawn(PumpInput(state));
    trouble = co_await PumpOutput(pair, state);
    wire_->End(DataChannel(pair));
    // Such a client can't end its own direction, so the pod's end is the end of both. After the
    // client's close it isn't: what it left behind is still delivered.
    if ((!lasts_ && !end_.closed) || !trouble.empty()) GiveUp(state.get());
    // Some clients send until they know that nothing went wrong.
    if (trouble.empty()) wire_->End(ErrorChannel(pair));
    co_await input.Join();
    state->target = nullptr;
  }
  if (!trouble.empty()) wire_->Send(ErrorChannel(pair), trouble);
  wire_->End(ErrorChannel(pair));
  wire_->DropPair(pair);
  ports_.erase(pair);
  context_.streams = !ports_.empty();
  changed_.Notify();
  room_.Notify();
}

asio::awaitable<void> PortForwardSession::PumpInput(std::shared_ptr<Port> state) {
  bool taken = true;
  while (taken && !state->given_up) {
    const std::string next = co_await state->input.Next();
    if (next.empty()) break;
    absl::string_view left = next;
    while (!left.empty() && !state->given_up) {
      const ssize_t n = send(state->target->fd(), left.data(), left.size(), MSG_NOSIGNAL);
      if (n >= 0) {
        left.remove_prefix(static_cast<size_t>(n));
        delivery_.Passed(static_cast<size_t>(n));
      } else if (errno == EAGAIN) {
        co_await state->target->Writable();
      } else if (errno != EINTR) {
        taken = false;
        break;
      }
    }
    state->input.Passed(next.size());
    room_.Notify();
  }
  if (taken && !state->given_up) {
    shutdown(state->target->fd(), SHUT_WR);
    state->input_passed_on = true;
    changed_.Notify();
    co_return;
  }
  state->input.Drop();
  state->input_passed_on = true;
  changed_.Notify();
  room_.Notify();
}

asio::awaitable<std::string> PortForwardSession::PumpOutput(uint32_t pair,
                                                            std::shared_ptr<Port> state) {
  std::string buffer(kForwardBytes, '\0');
  std::string trouble;
  while (!state->given_up) {
    const bool room = co_await link_->RoomToSend();
    if ((!room && !end_.closed) || state->given_up) break;
    // With no client to hear it, the target's output is read and dropped: the target may have to
    // write before it reads on. Yields to other coroutines in between.
    if (!room) co_await asio::post(context_.io, asio::use_awaitable);
    if (state->given_up) break;
    const ssize_t n = recv(state->target->fd(), buffer.data(), buffer.size(), 0);
    if (n > 0) {
      wire_->Send(DataChannel(pair), absl::string_view(buffer.data(), static_cast<size_t>(n)));
    } else if (n == 0) {
      break;
    } else if (errno == EAGAIN) {
      co_await state->target->Readable();
    } else if (errno != EINTR) {
      trouble = absl::StrCat("the connection in the pod broke: ", strerror(errno));
      break;
    }
  }
  co_return trouble;
}

}  // namespace plimsoll::streaming
