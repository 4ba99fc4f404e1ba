#include "monitor/control.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "monitor/local_socket.h"
#include "monitor/protocol.h"

namespace plimsoll::monitor {

int Control::Listen() {
  listener_ = ListenLocally(kControlSocket, SOCK_SEQPACKET);
  return listener_ < 0 ? errno : 0;
}

void Control::Serve() {
  if (client_ < 0) {
    client_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return;
  }
  char request[kMaxMessage];
  const ssize_t n = recv(client_, request, sizeof(request) - 1, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) {
    request[n] = '\0';
    Answer(request);
  }
  if (client_ >= 0) close(client_);
  client_ = -1;
}

void Control::Attach(bool has_input) {
  if (attachments_->full()) attachments_->DropGone();
  if (attachments_->full()) {
    char text[128];
    snprintf(text, sizeof(text), "error attach: %s", kTooManyAttached);
    send(client_, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  Reply("attach", 0);
  attachments_->Add(client_, has_input);
  client_ = -1;
}

void Control::Answer(const char* request) {
  unsigned short rows = 0;
  unsigned short columns = 0;
  if (strcmp(request, "reopen-log") == 0) {
    Reply("open the log", log_path_ == nullptr ? 0 : log_->Open(log_path_, log_directory_));
  } else if (strcmp(request, "attach") == 0 || strcmp(request, "attach stdin") == 0) {
    Attach(strcmp(request, "attach stdin") == 0);
  } else if (sscanf(request, "resize %hu %hu", &rows, &columns) == 2) {
    winsize size = {};
    size.ws_row = rows;
    size.ws_col = columns;
    Reply("resize the terminal", ioctl(terminal_, TIOCSWINSZ, &size) == 0 ? 0 : errno);
  } else {
    Reply("understand the request", EINVAL);
  }
}

void Control::Reply(const char* what, int error) {
  char text[256] = "ok";
  if (error != 0) snprintf(text, sizeof(text), "error %s: %s", what, strerror(error));
  send(client_, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace plimsoll::monitor
