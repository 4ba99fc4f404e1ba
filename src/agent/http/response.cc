#include "agent/http/response.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/none.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {

namespace http = boost::beast::http;

struct ResponseReader::Parser : http::response_parser<http::string_body> {};

namespace {

absl::Status ResponseFault(const boost::system::error_code& error) {
  return absl::UnavailableError(absl::StrCat("no whole HTTP response: ", error.message()));
}

}  // namespace

std::string FormatHead(const ResponseHead& head) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(head.code));
  std::string text =
      absl::StrCat("HTTP/1.1 ", head.code, " ", absl::string_view(reason.data(), reason.size()),
                   "\r\nContent-Type: ", head.type, "\r\n");
  for (const std::string& field : head.fields) absl::StrAppend(&text, field, "\r\n");
  if (head.length.has_value()) {
    absl::StrAppend(&text, "Content-Length: ", *head.length, "\r\n");
  } else if (head.chunked) {
    absl::StrAppend(&text, "Transfer-Encoding: chunked\r\n");
  }
  return absl::StrCat(text, head.keep_alive ? "" : "Connection: close\r\n", "\r\n");
}

std::string FormatChunk(absl::string_view text) {
  return absl::StrCat(absl::Hex(text.size()), "\r\n", text, "\r\n");
}

ResponseReader::ResponseReader() : parser_(std::make_unique<Parser>()) {
  parser_->body_limit(boost::none);
  parser_->eager(true);
}

ResponseReader::~ResponseReader() = default;

absl::StatusOr<bool> ResponseReader::Take(std::string* input) {
  while (!parser_->is_done() && !input->empty()) {
    boost::system::error_code error;
    const size_t taken = parser_->put(boost::asio::buffer(*input), error);
    input->erase(0, taken);
    if (error == http::error::need_more) break;
    if (error) return ResponseFault(error);
    if (taken == 0) break;
  }
  return parser_->is_done();
}

absl::Status ResponseReader::End() {
  if (parser_->is_done()) return absl::OkStatus();
  boost::system::error_code error;
  // Beast wants no end before the first byte.
  if (parser_->got_some()) parser_->put_eof(error);
  if (!parser_->is_header_done()) error = http::error::partial_message;
  return error ? ResponseFault(error) : absl::OkStatus();
}

bool ResponseReader::header_done() const {
  return parser_->is_header_done();
}

int ResponseReader::code() const {
  return static_cast<int>(parser_->get().result_int());
}

std::string ResponseReader::TakeBody() {
  return std::exchange(parser_->get().body(), std::string());
}

}  // namespace plimsoll::agent
