// Clients that are attached to the container: see protocol.h, "Attached clients".
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
  // Entries that Poll fills at most.
  static constexpr int kMaxPolls = kMaxAttached + 1;

  // Where clients' input goes from now on: the writer of a pipe, which this owns, or with
  // `is_terminal` a terminal's master, which it doesn't. -1: nowhere. `once`: the pipe is closed
  // with the input of the first client that had some.
  void SetInput(int fd, bool is_terminal, bool once);
  // Whose size clients may set; -1: none.
  void SetTerminal(int master) { terminal_ = master; }

  bool full() const { return count_ == kMaxAttached; }
  // Lets go of clients that have left. Serve sees that itself, but not while the container doesn't
  // take the input of those that had some: what they sent last waits with them.
  void DropGone();
  // Takes the connection, unless it is full.
  void Add(int connection, bool has_input);
  // What the container has written. `kind`: kPacketOutput or kPacketErrors.
  void Tell(char kind, const char* bytes, size_t size);
  // The container has ended: tells so and closes all.
  void End();

  // Fills entries to poll for; how many. Then Serve takes them.
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
  bool closing_input_ = false;  // once what is pending has been written
  size_t pending_at_ = 0;       // of what pending_ holds, this is written
  size_t pending_size_ = 0;
  char pending_[kMaxInput];
};

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_ATTACHMENTS_H_
