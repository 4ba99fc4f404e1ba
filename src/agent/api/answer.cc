#include "agent/api/answer.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {

Answer::Answer(Connection* connection, ConnectionPlaces* places, const HttpRequest& request,
               absl::Duration patience)
    : connection_(connection),
      places_(places),
      patience_(patience),
      chunked_(request.takes_chunks),
      keep_alive_(request.keep_alive) {}

Answer::~Answer() {
  if (holds_stream_) places_->EndStream();
}

void Answer::Send(const nlohmann::json& object) {
  SendText(200, kJsonType,
           object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void Answer::SendText(int code, const std::string& type, absl::string_view text) {
  SendWhole({.code = code, .type = type}, text);
}

void Answer::Fail(const ApiError& error, std::vector<std::string> fields) {
  if (begun_) {
    intact_ = false;
    return;
  }
  const std::string body =
      StatusObject(error).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  SendWhole({.code = error.code, .fields = std::move(fields)}, body);
}

void Answer::SendWhole(ResponseHead head, absl::string_view body) {
  head.length = body.size();
  head.keep_alive = keep_alive_;
  SendRaw(absl::StrCat(FormatHead(head), body));
}

bool Answer::Begin(const std::string& type, bool lasting) {
  if (lasting && !places_->BeginStream()) {
    Fail(absl::ResourceExhaustedError(
        "too many watches and followed logs are open; end one, or try again later"));
    return false;
  }
  holds_stream_ = lasting;
  begun_ = true;
  return SendRaw(
      FormatHead({.type = type, .chunked = chunked_, .keep_alive = keep_alive_ && chunked_}));
}

bool Answer::Write(absl::string_view text) {
  if (text.empty()) return intact_;
  return SendRaw(chunked_ ? FormatChunk(text) : std::string(text));
}

bool Answer::Rest(absl::Duration time) {
  intact_ = intact_ && connection_->Rest(time).ok();
  return intact_;
}

void Answer::End() {
  if (chunked_) SendRaw(kLastChunk);
  intact_ = intact_ && chunked_;
}

bool Answer::SendRaw(absl::string_view text) {
  intact_ = intact_ && connection_->Send(text, patience_).ok();
  return intact_;
}

}  // namespace plimsoll::agent
