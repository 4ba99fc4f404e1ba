// Text that an API server sends: answers, errors and the events of a watch, however the network
// cuts them.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "check.h"
#include "kube/apiserver/api_error.h"
#include "kube/apiserver/event_of.h"
#include "kube/apiserver/json_frames.h"
#include "kube/apiserver/response_reader.h"

namespace {

using plimsoll::fuzz::Text;
namespace kube = plimsoll::kube;

constexpr kube::JsonLimits kLimits = {.bytes = 4096, .depth = 20, .values = 500};

struct Found {
  std::vector<nlohmann::json> frames;
  absl::Status status;
};

Found FramesOf(absl::string_view text, size_t step) {
  Found found;
  kube::JsonFrames frames(kLimits);
  for (size_t at = 0; at < text.size() && found.status.ok(); at += step) {
    frames.Feed(text.substr(at, step));
    while (true) {
      auto next = frames.Next();
      found.status = next.status();
      if (!next.ok() || !next->has_value()) break;
      found.frames.push_back(**std::move(next));
    }
  }
  return found;
}

std::string BodyOf(absl::string_view text, size_t step, bool* is_whole) {
  kube::ResponseReader reader(1024);
  std::string input;
  std::string body;
  for (size_t at = 0; at < text.size(); at += step) {
    input += std::string(text.substr(at, step));
    const auto whole = reader.Take(&input);
    if (!whole.ok()) return body;
    FUZZ_CHECK(input.size() <= 1024 + step, "the input grows");
    body += reader.TakeBody();
    *is_whole = *whole;
    if (*whole) break;
  }
  return body;
}

void CheckError(const absl::Status& status) {
  FUZZ_CHECK(!status.ok(), "an error became a success");
  FUZZ_CHECK(status.message().size() < 8192, status.ToString());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text = Text(data, size);
  const Found at_once = FramesOf(text, std::max<size_t>(size, 1));
  for (const size_t step : {1u, 7u}) {
    const Found in_pieces = FramesOf(text, step);
    FUZZ_CHECK(in_pieces.frames == at_once.frames, "the cut changes the frames");
    FUZZ_CHECK(in_pieces.status.code() == at_once.status.code(), in_pieces.status.ToString());
  }
  for (const nlohmann::json& frame : at_once.frames) {
    FUZZ_CHECK(frame.is_object(), frame.dump());
    FUZZ_CHECK(kube::ParseObject(frame.dump(), {}).ok(), frame.dump());
    const auto event = kube::EventOf(frame);
    if (!event.ok()) CheckError(event.status());
    if (event.ok()) FUZZ_CHECK(event->object.is_object() && event->type != "ERROR", frame.dump());
    CheckError(kube::ErrorOfStatus("GET", frame));
  }
  for (const int code : {409, 500}) CheckError(kube::ErrorOfAnswer("POST", code, text));
  const auto wait = kube::RetryAfter(text, absl::UnixEpoch());
  if (wait.has_value()) {
    FUZZ_CHECK(*wait >= absl::ZeroDuration() && *wait <= absl::Hours(24), text);
  }
  bool is_whole = false;
  bool is_whole_in_pieces = false;
  const std::string body = BodyOf(text, std::max<size_t>(size, 1), &is_whole);
  const std::string pieces = BodyOf(text, 1, &is_whole_in_pieces);
  FUZZ_CHECK(!is_whole || (is_whole_in_pieces && body == pieces), body);
  return 0;
}
