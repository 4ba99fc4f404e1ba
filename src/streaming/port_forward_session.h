// One client's session with a pod's ports.
#ifndef PLIMSOLL_STREAMING_PORT_FORWARD_SESSION_H_
#define PLIMSOLL_STREAMING_PORT_FORWARD_SESSION_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "streaming/async.h"
#include "streaming/command_session.h"
#include "streaming/delivery.h"
#include "streaming/input_queue.h"
#include "streaming/link.h"
#include "streaming/wire.h"

namespace plimsoll::streaming {

// Used in the loop's thread.
class PortForwardSession : public WireUser {
 public:
  // With this much input of one connection untaken by its target, the session stops reading from
  // the client. Such a target also holds up the client's other connections over the same wire.
  static constexpr size_t kEnoughInput = 1024 * 1024;
  // Connections at once.
  static constexpr size_t kMaxPorts = 256;

  // `request` outlives this. `lasts`: the client may open more ports for as long as it likes;
  // otherwise the session ends with its last port.
  PortForwardSession(const SessionContext& context, const StreamRequest& request, bool lasts,
                     Link* link)
      : context_(context),
        request_(request),
        lasts_(lasts),
        link_(link),
        changed_(context.io),
        room_(context.io),
        half_ports_(context.io),
        ports_tasks_(context.io) {}

  // Call before anything is read from the client. `wire` belongs to this session.
  void Begin(Wire* wire);
  // Runs until all ports are over, or the client has left and, if it closed properly, its input is
  // delivered.
  asio::awaitable<void> Run();
  // Returns when more may be read from the client. False: the client has left and no target takes
  // its input.
  asio::awaitable<bool> RoomForInput();
  void OnGone();
  // The client has closed properly, and all it sent was read. For a protocol that can't end a
  // single connection this is its end: the targets still get their outstanding input.
  void OnClosed();

  void OnHalfPort(uint32_t pair) override;
  void OnPort(uint32_t pair, uint16_t port) override;
  void OnData(uint32_t channel, absl::string_view data) override;
  void OnEnd(uint32_t channel) override;
  void OnReset(uint32_t channel) override;

 private:
  // A connection to a port of the pod.
  struct Port {
    explicit Port(asio::io_context& io) : input(io) {}
    InputQueue input;
    bool input_passed_on = false;  // all of it passed to the kernel, or dropped
    bool given_up = false;         // by the client or by this side
    AsyncFd* target = nullptr;     // while connected
  };

  asio::awaitable<void> Forward(uint32_t pair, uint16_t port, std::shared_ptr<Port> state);
  asio::awaitable<absl::StatusOr<UniqueFd>> Connect(uint16_t port, std::shared_ptr<Port> state);
  asio::awaitable<absl::StatusOr<UniqueFd>> ConnectBy(int family, uint16_t port,
                                                      std::shared_ptr<Port> state);
  asio::awaitable<void> LimitConnect(Sleep* limit, std::shared_ptr<Port> state);
  asio::awaitable<void> PumpInput(std::shared_ptr<Port> state);
  // The error; empty: none.
  asio::awaitable<std::string> PumpOutput(uint32_t pair, std::shared_ptr<Port> state);
  asio::awaitable<void> WatchHalfOpen();
  void GiveUp(Port* port);
  // After OnClosed: waits until the targets have everything, or waiting is useless.
  asio::awaitable<void> AwaitDelivery();
  bool IsDelivered() const;
  // See Delivery::Moves.
  bool IsStillTaken();

  const SessionContext context_;
  const StreamRequest& request_;
  const bool lasts_;
  Link* const link_;
  Wire* wire_ = nullptr;
  Signal changed_;
  Signal room_;
  // Pairs of which one channel is missing.
  struct HalfPorts {
    explicit HalfPorts(asio::io_context& io) : watch(io) {}
    std::map<uint32_t, std::chrono::steady_clock::time_point> since;
    Sleep watch;  // between looks at them
  };
  HalfPorts half_ports_;
  std::map<uint32_t, std::shared_ptr<Port>> ports_;
  Tasks ports_tasks_;
  // The client's end.
  struct End {
    bool closed = false;  // as it should
    bool gone = false;    // nobody hears anything any more
  };
  End end_;
  Delivery delivery_;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_PORT_FORWARD_SESSION_H_
