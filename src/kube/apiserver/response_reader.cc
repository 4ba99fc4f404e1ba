#include "kube/apiserver/response_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/none.hpp>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dial/kept_body.h"

namespace plimsoll::kube {
namespace {

namespace http = boost::beast::http;

// A body that the caller takes away while it comes, and bounds.
using PieceBody = dial::KeptBody<std::numeric_limits<size_t>::max()>;

absl::Status ResponseFault(const boost::system::error_code& error) {
  if (error == http::error::header_limit) {
    return absl::UnavailableError("the HTTP response's header is too long");
  }
  return absl::UnavailableError(absl::StrCat("no whole HTTP response came: ", error.message()));
}

}  // namespace

struct ResponseReader::Parser : http::response_parser<PieceBody> {};

ResponseReader::ResponseReader(uint32_t most_header_bytes)
    : most_header_bytes_(most_header_bytes), parser_(std::make_unique<Parser>()) {
  parser_->header_limit(most_header_bytes);
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
  // A line that never ends, in the header or of a chunk, stays in the input.
  if (input->size() > most_header_bytes_) return ResponseFault(http::error::header_limit);
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

bool ResponseReader::begun() const {
  return parser_->got_some();
}

bool ResponseReader::header_done() const {
  return parser_->is_header_done();
}

int ResponseReader::code() const {
  return static_cast<int>(parser_->get().result_int());
}

std::string ResponseReader::retry_after() const {
  const auto field = parser_->get()[http::field::retry_after];
  return std::string(field.data(), field.size());
}

std::string ResponseReader::location() const {
  const auto field = parser_->get()[http::field::location];
  return std::string(field.data(), field.size());
}

bool ResponseReader::keeps_alive() const {
  return parser_->is_done() && parser_->keep_alive();
}

std::string ResponseReader::TakeBody() {
  return std::exchange(parser_->get().body(), std::string());
}

}  // namespace plimsoll::kube
