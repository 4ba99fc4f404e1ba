#include "agent/http/request.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::agent {

namespace http = boost::beast::http;

struct RequestReader::Parser : http::request_parser<http::string_body> {};

namespace {

absl::Status RequestFault(const boost::system::error_code& error) {
  if (error == http::error::header_limit) {
    return absl::ResourceExhaustedError("the header is too long");
  }
  if (error == http::error::body_limit) {
    return absl::OutOfRangeError("the body is too long");
  }
  return absl::InvalidArgumentError(absl::StrCat("no HTTP request: ", error.message()));
}

}  // namespace

RequestReader::RequestReader(const RequestLimits& limits) : parser_(std::make_unique<Parser>()) {
  parser_->header_limit(limits.header_bytes);
  parser_->body_limit(limits.body_bytes);
  parser_->eager(true);
}

RequestReader::~RequestReader() = default;

absl::StatusOr<bool> RequestReader::Take(std::string* input) {
  while (!parser_->is_done() && !input->empty()) {
    boost::system::error_code error;
    const size_t taken = parser_->put(boost::asio::buffer(*input), error);
    input->erase(0, taken);
    if (error == http::error::need_more) break;
    if (error) return RequestFault(error);
    if (taken == 0) break;
  }
  return parser_->is_done();
}

bool RequestReader::has_header() const {
  return parser_->is_header_done();
}

bool RequestReader::awaits_continue() const {
  const auto expected = parser_->get()[http::field::expect];
  return parser_->is_header_done() && !parser_->is_done() &&
         absl::EqualsIgnoreCase(absl::string_view(expected.data(), expected.size()),
                                "100-continue");
}

HttpRequest RequestReader::Release() {
  auto message = parser_->release();
  const auto text = [](boost::beast::string_view view) {
    return std::string(view.data(), view.size());
  };
  return {.method = text(message.method_string()),
          .target = text(message.target()),
          .body = std::move(message.body()),
          .keep_alive = message.keep_alive(),
          .takes_chunks = message.version() >= 11};
}

std::string FormatRequest(absl::string_view method, absl::string_view target,
                          absl::string_view body_type, absl::string_view body) {
  std::string text = absl::StrCat(method, " ", target,
                                  " HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
                                  "Connection: close\r\n");
  if (!body_type.empty()) {
    absl::StrAppend(&text, "Content-Type: ", body_type, "\r\nContent-Length: ", body.size(),
                    "\r\n");
  }
  return absl::StrCat(text, "\r\n", body);
}

}  // namespace plimsoll::agent
