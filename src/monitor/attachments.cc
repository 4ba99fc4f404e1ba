#include "monitor/attachments.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace plimsoll::monitor {
namespace {

// Bytes that may wait in the kernel for one client: more where this process may ask for it.
constexpr int kBufferBytes = 4 * 1024 * 1024;
constexpr int kSmallBufferBytes = 96 * 1024;
// Room for the last packets to a client that has not taken the rest.
constexpr int kLastBytes = 64 * 1024;

void SetBuffer(int fd, int more) {
  const int large = kBufferBytes + more;
  if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &large, sizeof(large)) == 0) return;
  const int small = kSmallBufferBytes + more;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
}

}  // namespace

void Attachments::SetInput(int fd, bool is_terminal, bool once) {
  input_ = fd;
  input_is_terminal_ = is_terminal;
  once_ = once;
  if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void Attachments::Add(int connection, bool has_input) {
  if (full()) return;
  fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) | O_NONBLOCK);
  SetBuffer(connection, 0);
  clients_[count_++] = {connection, has_input, 0};
}

void Attachments::DropGone() {
  for (int i = count_ - 1; i >= 0; --i) {
    pollfd look = {clients_[i].fd, 0, 0};  // POLLHUP is always reported
    if (poll(&look, 1, 0) > 0) Remove(i);
  }
}

bool Attachments::SendTo(Client* client, char kind, const char* bytes, size_t size) {
  iovec parts[2] = {{&kind, 1}, {const_cast<char*>(bytes), size}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  while (true) {
    if (sendmsg(client->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM) return false;
    client->lost_bytes += size;
    return true;
  }
}

bool Attachments::TellLost(Client* client) {
  if (client->lost_bytes == 0) return true;
  const uint64_t lost = client->lost_bytes;
  char text[24];
  const int length = snprintf(text, sizeof(text), "%llu", static_cast<unsigned long long>(lost));
  client->lost_bytes = 0;
  if (!SendTo(client, kPacketLost, text, static_cast<size_t>(length))) return false;
  // The packet about the loss found no room either.
  if (client->lost_bytes > 0) client->lost_bytes = lost;
  return true;
}

void Attachments::Tell(char kind, const char* bytes, size_t size) {
  for (int i = 0; i < count_;) {
    Client* client = &clients_[i];
    bool there = TellLost(client);
    // Output never overtakes the packet about a loss before it.
    if (there && client->lost_bytes > 0) {
      client->lost_bytes += size;
    } else if (there) {
      there = SendTo(client, kind, bytes, size);
    }
    if (there) {
      ++i;
    } else {
      Remove(i);
    }
  }
}

void Attachments::End() {
  for (int i = 0; i < count_; ++i) {
    SetBuffer(clients_[i].fd, kLastBytes);
    TellLost(&clients_[i]);
    SendTo(&clients_[i], kPacketEnd, "", 0);
  }
  while (count_ > 0) Remove(count_ - 1);
}

int Attachments::Poll(pollfd* polls) const {
  const bool waiting = pending_size_ > pending_at_;
  for (int i = 0; i < count_; ++i) {
    // A client with input waits until there is room for it. Its leaving is noticed then too, or
    // when there is no room for others (DropGone).
    const bool waits = clients_[i].has_input && waiting;
    polls[i] = {waits ? -1 : clients_[i].fd, POLLIN, 0};
  }
  polls[count_] = {waiting ? input_ : -1, POLLOUT, 0};
  return count_ + 1;
}

void Attachments::Serve(const pollfd* polls, int count) {
  if (count != count_ + 1) return;  // the entries are of another moment
  if (polls[count - 1].revents != 0) FlushInput();
  for (int i = count - 2; i >= 0; --i) {
    // The first input fills the room; the other clients are polled again.
    const bool waits = clients_[i].has_input && pending_size_ > pending_at_;
    if (polls[i].revents == 0 || waits) continue;
    if (!Receive(&clients_[i])) Remove(i);
  }
}

bool Attachments::Receive(Client* client) {
  char packet[kMaxInput + 2];
  const ssize_t n = recv(client->fd, packet, sizeof(packet) - 1, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) return false;
  packet[n] = '\0';
  switch (packet[0]) {
    case kPacketInput:
      if (client->has_input) TakeInput(packet + 1, static_cast<size_t>(n) - 1);
      break;
    case kPacketCloseInput:
      EndInputOf(client);
      break;
    case kPacketSize:
      Resize(packet + 1);
      break;
    default:
      break;
  }
  return true;
}

void Attachments::TakeInput(const char* bytes, size_t size) {
  if (input_ < 0 || closing_input_ || size > sizeof(pending_)) return;
  memcpy(pending_, bytes, size);
  pending_at_ = 0;
  pending_size_ = size;
  FlushInput();
}

void Attachments::FlushInput() {
  while (pending_at_ < pending_size_) {
    const ssize_t n = write(input_, pending_ + pending_at_, pending_size_ - pending_at_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) {
      // Nobody will read the input. A terminal may be opened again.
      pending_at_ = pending_size_;
      if (!input_is_terminal_) CloseInput();
      return;
    }
    pending_at_ += static_cast<size_t>(n);
  }
  if (closing_input_) CloseInput();
}

void Attachments::EndInputOf(Client* client) {
  if (!client->has_input) return;
  client->has_input = false;
  if (!once_ || input_is_terminal_) return;
  closing_input_ = true;
  FlushInput();
}

void Attachments::CloseInput() {
  if (input_ >= 0 && !input_is_terminal_) close(input_);
  input_ = -1;
  pending_at_ = pending_size_ = 0;
}

void Attachments::Resize(const char* size) const {
  winsize window = {};
  if (terminal_ < 0 || sscanf(size, "%hu %hu", &window.ws_row, &window.ws_col) != 2) return;
  // It fails where the terminal is gone: the container soon is, too.
  static_cast<void>(ioctl(terminal_, TIOCSWINSZ, &window));
}

void Attachments::Remove(int index) {
  EndInputOf(&clients_[index]);
  close(clients_[index].fd);
  clients_[index] = clients_[--count_];
}

}  // namespace plimsoll::monitor
