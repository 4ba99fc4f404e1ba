#include "image/registry/http_head.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::image {
namespace {

constexpr size_t kMaxHeadBytes = 64 * 1024;
constexpr char kEndOfHead[] = "\r\n\r\n";
constexpr absl::string_view kEnds("\r\n\0", 3);

}  // namespace

std::string HttpHead::Get(absl::string_view name) const {
  for (const auto& [field, value] : fields) {
    if (absl::EqualsIgnoreCase(field, name)) return value;
  }
  return "";
}

void HttpHead::Remove(absl::string_view name) {
  std::erase_if(fields,
                [name](const auto& field) { return absl::EqualsIgnoreCase(field.first, name); });
}

int HttpHead::Code() const {
  const std::vector<absl::string_view> words = absl::StrSplit(first, absl::MaxSplits(' ', 2));
  int code = 0;
  if (words.size() < 2 || !absl::StartsWith(words[0], "HTTP/1.") ||
      !absl::SimpleAtoi(words[1], &code) || code < 100 || code > 999) {
    return 0;
  }
  return code;
}

std::string HttpHead::ToString() const {
  std::string text = absl::StrCat(first, "\r\n");
  for (const auto& [name, value] : fields) absl::StrAppend(&text, name, ": ", value, "\r\n");
  return text + "\r\n";
}

absl::StatusOr<HttpHead> ParseHttpHead(absl::string_view text) {
  // A lone CR, LF or NUL may end a line or the text for another reader.
  for (size_t at = text.find_first_of(kEnds); at != absl::string_view::npos;
       at = text.find_first_of(kEnds, at + 2)) {
    if (text.substr(at, 2) != "\r\n") {
      return absl::InvalidArgumentError("malformed head of an HTTP message");
    }
  }
  HttpHead head;
  const std::vector<absl::string_view> lines = absl::StrSplit(text, "\r\n");
  head.first = std::string(lines.front());
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t colon = lines[i].find(':');
    // A folded line, which begins with a blank, is obsolete (RFC 9112, section 5.2).
    if (colon == absl::string_view::npos || colon == 0 ||
        lines[i].substr(0, colon).find_first_of(" \t") != absl::string_view::npos) {
      return absl::InvalidArgumentError("malformed head of an HTTP message");
    }
    head.fields.emplace_back(lines[i].substr(0, colon),
                             absl::StripAsciiWhitespace(lines[i].substr(colon + 1)));
  }
  return head;
}

absl::StatusOr<HttpHead> ReadHttpHead(dial::Stream& stream, std::string* rest) {
  size_t end = rest->find(kEndOfHead);
  while (end == std::string::npos) {
    if (rest->size() > kMaxHeadBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the head of an HTTP message is longer than ", kMaxHeadBytes, " bytes"));
    }
    PLIMSOLL_RETURN_IF_ERROR(stream.Receive(rest));
    end = rest->find(kEndOfHead);
  }
  absl::StatusOr<HttpHead> head = ParseHttpHead(absl::string_view(*rest).substr(0, end));
  rest->erase(0, end + sizeof(kEndOfHead) - 1);
  return head;
}

}  // namespace plimsoll::image
