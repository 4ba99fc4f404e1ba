#include "agent/api/log_stream.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "pod_runner/pod_files/cri_log.h"
#include "pod_runner/pod_files/log_tail.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

// Text is sent in pieces of about this size.
constexpr size_t kPieceBytes = 32 * 1024;
constexpr absl::Duration kPollInterval = absl::Milliseconds(100);
// Every so many polls without a line, the run's end is looked for.
constexpr int kPollsPerLook = 5;

bool HasEnded(const Json& status) {
  const Json state = status.value("state", Json::object());
  if (state.contains("terminated")) return true;
  return state.contains("waiting") &&
         status.value("lastState", Json::object()).contains("terminated");
}

// The status of the named container, or of the only one; null: there is none.
Json ContainerStatusOf(const Json& pod, const std::string& container) {
  const Json status = pod.value("status", Json::object());
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& each : status.value(list, Json::array())) {
      if (container.empty() || each.value("name", "") == container) return each;
    }
  }
  return {};
}

class LogStream {
 public:
  LogStream(const PodService& pods, const LogRequest& request, FsRoot root, std::string path,
            Answer& answer)
      : pods_(pods),
        request_(request),
        root_(std::move(root)),
        path_(std::move(path)),
        answer_(answer),
        reader_(root_, path_) {}

  void Run() {
    if (!answer_.Begin(kTextType, request_.follow)) return;
    // The header has promised text: a later error can only cut the stream.
    if (!ReadWhatIsThere().ok() || !SendPiece()) return;
    if (request_.follow && !Follow()) return;
    reader_.Flush(Sink());
    if (SendPiece()) answer_.End();
  }

 private:
  pod::LogReader::Sink Sink() {
    return [this](const pod::LogLine& line) {
      if (cut_) return;
      if (request_.timestamps) {
        absl::StrAppend(&piece_,
                        absl::FormatTime(absl::RFC3339_full, line.time, absl::UTCTimeZone()), " ");
      }
      absl::StrAppend(&piece_, line.text, line.unfinished ? "" : "\n");
      if (piece_.size() >= kPieceBytes) SendPiece();
    };
  }

  absl::Status ReadWhatIsThere() {
    if (!request_.tail_lines.has_value()) return reader_.ReadAll(Sink());
    const auto lines = static_cast<uint64_t>(*request_.tail_lines);
    const bool flush = !request_.follow;
    const auto any = [](absl::Time) { return true; };
    PLIMSOLL_ASSIGN_OR_RETURN(pod::LogTail tail, pod::FindTail(root_, path_, lines, flush, any));
    return pod::ReadTail(std::move(tail), lines, flush, any, reader_, Sink());
  }

  // Until the run has ended. False: the stream was cut.
  bool Follow() {
    int idle_polls = 0;
    while (true) {
      const bool ended = idle_polls % kPollsPerLook == 0 && IsOver();
      const absl::StatusOr<bool> more = reader_.Poll(Sink());
      if (!more.ok() || !SendPiece()) return false;
      if (*more) continue;
      if (ended) return true;
      ++idle_polls;
      if (!answer_.Rest(kPollInterval)) return false;
    }
  }

  bool IsOver() const {
    if (request_.previous) return true;
    const absl::StatusOr<std::string> now = pods_.LogPath(request_.pod, request_.container, false);
    if (!now.ok() || *now != path_) return true;
    const absl::StatusOr<Json> pod = pods_.Get(request_.pod);
    return !pod.ok() || HasEnded(ContainerStatusOf(*pod, request_.container));
  }

  // Sends the text so far. False: the stream is cut.
  bool SendPiece() {
    cut_ = cut_ || !answer_.Write(piece_);
    piece_.clear();
    return !cut_;
  }

  const PodService& pods_;
  const LogRequest& request_;
  const FsRoot root_;
  const std::string path_;
  Answer& answer_;
  pod::LogReader reader_;
  std::string piece_;
  bool cut_ = false;
};

}  // namespace

void SendLog(const PodService& pods, const LogRequest& request, Answer& answer) {
  absl::StatusOr<std::string> path = pods.LogPath(request.pod, request.container, request.previous);
  if (!path.ok()) return answer.Fail(path.status());
  absl::StatusOr<FsRoot> root = FsRoot::Open("/");
  if (!root.ok()) return answer.Fail(root.status());
  LogStream(pods, request, *std::move(root), *std::move(path), answer).Run();
}

}  // namespace plimsoll::agent
