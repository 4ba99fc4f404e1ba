// One client's session with a pod's ports.
#ifndef PLIMSOLL_STREAMING_PORT_FORWARD_SESSION_H_
#define PLIMSOLL_STREAMING_PORT_FORWARD_SESSION_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "streaming/async.h"
#include "streaming/command_session.h"
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
        half_open_(context.io),
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
    explicit Port(asio::io_context& io) : changed(io) {}
    Signal changed;
    std::deque<std::string> input;
    size_t input_bytes = 0;
    bool input_ended = false;
    bool input_passed_on = false;  // all of it passed to the kernel, or dropped
    bool given_up = false;         // by the client or by this side
    Descriptor* target = nullptr;  // while connected
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
  // Asked from time to time once the client has left. False if the targets took nothing for the
  // leave timeout, or have been at it for the idle timeout.
  bool IsStillTaken();

  const SessionContext context_;
  const StreamRequest& request_;
  const bool lasts_;
  Link* const link_;
  Wire* wire_ = nullptr;
  Signal changed_;
  Signal room_;
  Sleep half_open_;
  // Pairs with one channel missing, and the time of the first.
  std::map<uint32_t, std::chrono::steady_clock::time_point> half_ports_;
  std::map<uint32_t, std::shared_ptr<Port>> ports_;
  Tasks ports_tasks_;
  bool gone_ = false;
  bool closed_ = false;
  uint64_t passed_on_ = 0;  // bytes of input passed to the kernel
  // After the client has left: the time that was noticed, and the targets' total at the last
  // progress.
  struct Leaving {
    std::chrono::steady_clock::time_point since;
    std::chrono::steady_clock::time_point moved;
    uint64_t taken = 0;
  };
  std::optional<Leaving> leaving_;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_PORT_FORWARD_SESSION_H_
