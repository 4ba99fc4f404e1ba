// A container's log as the stream of an answer.
#ifndef PLIMSOLL_AGENT_API_LOG_STREAM_H_
#define PLIMSOLL_AGENT_API_LOG_STREAM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "agent/api/answer.h"
#include "agent/pods/status/pod_service.h"

namespace plimsoll::agent {

struct LogRequest {
  PodKey pod;
  std::string container;  // empty: the pod's only one
  bool follow = false;    // until the container's present run ends
  bool previous = false;  // the run before the present one
  bool timestamps = false;
  std::optional<int64_t> tail_lines;
};

// Answers with the lines of the log, or an error.
void SendLog(const PodService& pods, const LogRequest& request, Answer& answer);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_API_LOG_STREAM_H_
