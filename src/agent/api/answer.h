// The answer to one request, whole or as a stream.
#ifndef PLIMSOLL_AGENT_API_ANSWER_H_
#define PLIMSOLL_AGENT_API_ANSWER_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/api/connection_places.h"
#include "agent/http/request.h"
#include "agent/http/response.h"
#include "agent/http/status_object.h"
#include "base/connection.h"

namespace plimsoll::agent {

// Used by its connection's thread. Exactly one of Send, SendText, Fail and Begin is called. Writes
// wait for a slow client, who loses the connection after `patience` without progress; nothing is
// kept for it meanwhile.
class Answer {
 public:
  Answer(Connection* connection, ConnectionPlaces* places, const HttpRequest& request,
         absl::Duration patience);
  ~Answer();
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  void Send(const nlohmann::json& object);
  void SendText(int code, const std::string& type, absl::string_view text);
  // `fields`: further fields of the header, as "Allow: GET". Cuts a stream that has begun.
  void Fail(const ApiError& error, std::vector<std::string> fields = {});
  void Fail(const absl::Status& status) { Fail(ApiErrorOf(status)); }

  // Begins a stream. `lasting`: it may never end by itself, and is refused, with an answer, where
  // there are too many. False: it was refused, or the client has left.
  bool Begin(const std::string& type, bool lasting);
  // Sends a piece of the stream. False, also for each later call: the client has left, reads too
  // slowly, or the server stops.
  bool Write(absl::string_view text);
  // Waits. False, as soon as it is so: as of Write.
  bool Rest(absl::Duration time);
  // Ends the stream whole. Without this the client sees that it was cut.
  void End();

  // True: the connection may serve another request.
  bool reusable() const { return intact_ && keep_alive_; }

 private:
  void SendWhole(ResponseHead head, absl::string_view body);
  bool SendRaw(absl::string_view text);

  Connection* const connection_;
  ConnectionPlaces* const places_;
  const absl::Duration patience_;
  const bool chunked_;
  const bool keep_alive_;
  bool intact_ = true;  // the answer so far has been sent, and is whole once it ends
  bool begun_ = false;
  bool holds_stream_ = false;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_API_ANSWER_H_
