// The monitor's control socket (see protocol.h). A silent client holds up other clients, never the
// container.
#ifndef PLIMSOLL_MONITOR_CONTROL_H_
#define PLIMSOLL_MONITOR_CONTROL_H_

#include "monitor/attachments.h"
#include "monitor/log_file.h"

namespace plimsoll::monitor {

class Control {
 public:
  // `log_path` may be null: no log. `log_directory`: as `below` of LogFile::Open.
  Control(LogFile* log, const char* log_path, const char* log_directory, Attachments* attachments)
      : log_(log), log_path_(log_path), log_directory_(log_directory), attachments_(attachments) {}

  // Makes the socket in the working directory. 0 or an errno.
  int Listen();
  // The master of the terminal, if the container has one.
  void SetTerminal(int terminal) { terminal_ = terminal; }

  // The descriptor to poll for input; then call Serve.
  int fd() const { return client_ >= 0 ? client_ : listener_; }
  // Takes a client, or answers the present one.
  void Serve();

 private:
  void Answer(const char* request);
  void Attach(bool has_input);
  void Reply(const char* what, int error);

  LogFile* log_;
  const char* log_path_;
  const char* log_directory_;
  Attachments* attachments_;
  int terminal_ = -1;
  int listener_ = -1;
  int client_ = -1;
};

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_CONTROL_H_
