// Clients attached to the container: see protocol.h, "Attached clients".
#ifndef PLIMSOLL_MONITOR_ATTACHMENTS_H_
#define PLIMSOLL_MONITOR_ATTACHMENTS_H_

#include <poll.h>

#include <cstddef>
#include <cstdint>

#include "monitor/protocol.h"

namespace plimsoll::monitor {

// Used by one thread. No method blocks.
class Attachments {
 public:
  // The most entries that Poll fills.
  static constexpr int kMaxPolls = kMaxAttached + 1;

  // Sets the destination of clients' input: the writer of a pipe, which this owns, or with
  // `is_terminal` a terminal's master, which it doesn't. -1: none. `once`: the pipe is closed at
  // the end of the input of the first client that had some.
  void SetInput(int fd, bool is_terminal, bool once);
  // Sets the terminal whose size clients may set; -1: none.
  void SetTerminal(int master) { terminal_ = master; }

  bool full() const { return count_ == kMaxAttached; }
  // Drops clients that have left. Serve does that itself, but not for clients with input while the
  // container takes none: the input they sent last waits with them.
  void DropGone();
  // Takes the connection, unless it is full.
  void Add(int connection, bool has_input);
  // Passes on output of the container. `kind`: kPacketOutput or kPacketErrors.
  void Tell(char kind, const char* bytes, size_t size);
  // The container has ended: notifies the clients and closes all connections.
  void End();

  // Fills entries to poll and returns their number. Then call Serve with them.
  int Poll(pollfd* polls) const;
  void Serve(const pollfd* polls, int count);

 private:
  struct Client {
    int fd = -1;
    bool has_input = false;
    uint64_t lost_bytes = 0;
  };

  // False when the client is gone.
  bool SendTo(Client* client, char kind, const char* bytes, size_t size);
  bool TellLost(Client* client);
  // False when the client is gone.
  bool Receive(Client* client);
  void TakeInput(const char* bytes, size_t size);
  void FlushInput();
  void EndInputOf(Client* client);
  void CloseInput();
  void Resize(const char* size) const;
  void Remove(int index);

  Client clients_[kMaxAttached];
  int count_ = 0;
  int terminal_ = -1;
  int input_ = -1;
  bool input_is_terminal_ = false;
  bool once_ = false;
  bool closing_input_ = false;  // once pending_ has been written
  size_t pending_at_ = 0;       // bytes of pending_ already written
  size_t pending_size_ = 0;
  char pending_[kMaxInput];
};

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_ATTACHMENTS_H_
