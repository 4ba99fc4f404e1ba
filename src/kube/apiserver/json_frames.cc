#include "kube/apiserver/json_frames.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/human_bytes.h"
#include "base/text/printable.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

absl::Status NoObject(absl::string_view text) {
  constexpr size_t kShown = 40;
  return absl::UnavailableError(absl::StrCat("the server sent no JSON object but \"",
                                             Printable(text.substr(0, kShown)), "\""));
}

}  // namespace

JsonFrames::Seen JsonFrames::LookOutsideText(char byte) {
  switch (byte) {
    case '"':
      in_text_ = true;
      return Seen::kMore;
    case '{':
    case '[':
      ++values_;
      return ++depth_ > limits_.depth ? Seen::kTooDeep : Seen::kMore;
    case '}':
    case ']':
      return --depth_ == 0 ? Seen::kEnd : Seen::kMore;
    case ',':
    case ':':
      return ++values_ > limits_.values ? Seen::kTooMany : Seen::kMore;
    default:
      return Seen::kMore;
  }
}

JsonFrames::Seen JsonFrames::Look(char byte) {
  if (!in_text_) return LookOutsideText(byte);
  if (escaped_) {
    escaped_ = false;
  } else if (byte == '\\') {
    escaped_ = true;
  } else if (byte == '"') {
    in_text_ = false;
  }
  return Seen::kMore;
}

absl::Status JsonFrames::Beyond(Seen limit) const {
  return absl::UnavailableError(
      limit == Seen::kTooDeep
          ? absl::StrCat("the server sent JSON that is nested more than ", limits_.depth,
                         " levels deep")
          : absl::StrCat("the server sent JSON of more than ", limits_.values, " values"));
}

absl::StatusOr<std::optional<Json>> JsonFrames::Next() {
  while (scanned_ < text_.size()) {
    const char byte = text_[scanned_];
    if (depth_ == 0) {
      if (absl::ascii_isspace(static_cast<unsigned char>(byte))) {
        ++scanned_;
        continue;
      }
      begin_ = scanned_;
      values_ = 0;
      if (byte != '{') return NoObject(absl::string_view(text_).substr(begin_));
    }
    const Seen seen = Look(byte);
    if (seen == Seen::kTooDeep || seen == Seen::kTooMany) return Beyond(seen);
    ++scanned_;
    if (scanned_ - begin_ > limits_.bytes) {
      return absl::UnavailableError(
          absl::StrCat("the server sent a JSON object of more than ", HumanBytes(limits_.bytes)));
    }
    if (seen != Seen::kEnd) continue;
    const absl::string_view frame = absl::string_view(text_).substr(begin_, scanned_ - begin_);
    Json object = Json::parse(frame.begin(), frame.end(), nullptr, /*allow_exceptions=*/false);
    if (object.is_discarded()) {
      depth_ = 0;
      scanned_ = begin_;
      return NoObject(frame);
    }
    DropTaken();
    return object;
  }
  if (depth_ == 0) DropTaken();
  return std::nullopt;
}

void JsonFrames::DropTaken() {
  // Not after each small object: what follows would be moved each time.
  if (scanned_ < text_.size() && scanned_ < text_.size() / 2) return;
  text_.erase(0, scanned_);
  // A large object's memory isn't kept for small ones.
  if (text_.empty()) text_.shrink_to_fit();
  scanned_ = 0;
  begin_ = 0;
}

absl::StatusOr<Json> ParseObject(absl::string_view text, const JsonLimits& limits) {
  JsonFrames frames(limits);
  frames.Feed(text);
  PLIMSOLL_ASSIGN_OR_RETURN(std::optional<Json> first, frames.Next());
  if (!first.has_value()) {
    if (frames.is_amid()) return absl::UnavailableError("the server's JSON object has no end");
    return absl::UnavailableError("the server sent nothing where a JSON object should be");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<Json> second, frames.Next());
  if (!second.has_value() && !frames.is_amid()) return *std::move(first);
  return absl::UnavailableError("the server sent more than one JSON object");
}

}  // namespace plimsoll::kube
