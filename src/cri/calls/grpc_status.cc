#include "cri/calls/grpc_status.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::cri {
namespace {

constexpr size_t kMaxMessageBytes = 4 * 1024;
constexpr absl::string_view kCut = " [cut] ";

// Encoded size in a grpc-message (gRPC over HTTP2, "Responses").
size_t BytesInTrailer(char c) {
  return absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '%' ? 1 : 3;
}

bool ContinuesCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The longest beginning of whole characters that fits `room` bytes.
absl::string_view Beginning(absl::string_view text, size_t room) {
  size_t end = 0;
  for (; end < text.size() && BytesInTrailer(text[end]) <= room; ++end) {
    room -= BytesInTrailer(text[end]);
  }
  while (end > 0 && end < text.size() && ContinuesCharacter(text[end])) --end;
  return text.substr(0, end);
}

absl::string_view End(absl::string_view text, size_t room) {
  size_t begin = text.size();
  for (; begin > 0 && BytesInTrailer(text[begin - 1]) <= room; --begin) {
    room -= BytesInTrailer(text[begin - 1]);
  }
  while (begin < text.size() && ContinuesCharacter(text[begin])) ++begin;
  return text.substr(begin);
}

std::string Shorten(absl::string_view message) {
  if (Beginning(message, kMaxMessageBytes).size() == message.size()) return std::string(message);
  const size_t half = (kMaxMessageBytes - kCut.size()) / 2;
  return absl::StrCat(Beginning(message, half), kCut, End(message, half));
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()), Shorten(status.message()));
}

absl::string_view CodeName(grpc::StatusCode code) {
  static constexpr absl::string_view kNames[] = {"OK",
                                                 "CANCELLED",
                                                 "UNKNOWN",
                                                 "INVALID_ARGUMENT",
                                                 "DEADLINE_EXCEEDED",
                                                 "NOT_FOUND",
                                                 "ALREADY_EXISTS",
                                                 "PERMISSION_DENIED",
                                                 "RESOURCE_EXHAUSTED",
                                                 "FAILED_PRECONDITION",
                                                 "ABORTED",
                                                 "OUT_OF_RANGE",
                                                 "UNIMPLEMENTED",
                                                 "INTERNAL",
                                                 "UNAVAILABLE",
                                                 "DATA_LOSS",
                                                 "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "UNKNOWN";
}

}  // namespace plimsoll::cri
