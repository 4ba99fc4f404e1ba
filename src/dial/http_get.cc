#include "dial/http_get.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/none.hpp>
#include <boost/optional.hpp>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "dial/kept_body.h"
#include "dial/redirect.h"
#include "dial/stream.h"

namespace plimsoll::dial {
namespace {

namespace http = boost::beast::http;

using Parser = http::response_parser<KeptBody<kMostBodyBytes>>;

// A space or a line break would end the request's target.
std::string EscapedPath(absl::string_view path) {
  std::string escaped = absl::StartsWith(path, "/") ? "" : "/";
  for (const char each : path.substr(0, path.find('#'))) {
    if (absl::ascii_isgraph(static_cast<unsigned char>(each))) {
      escaped += each;
    } else {
      absl::StrAppendFormat(&escaped, "%%%02X", static_cast<unsigned char>(each));
    }
  }
  return escaped;
}

// nullopt: the request doesn't say.
std::optional<std::string> HeaderOf(const HttpGetRequest& request, absl::string_view name) {
  for (const auto& [key, value] : request.headers) {
    if (absl::EqualsIgnoreCase(key, name)) return value;
  }
  return std::nullopt;
}

std::string FormatRequest(const HttpGetRequest& request) {
  std::string text = absl::StrCat("GET ", EscapedPath(request.path), " HTTP/1.1\r\n");
  std::string host = HeaderOf(request, "Host").value_or("");
  if (host.empty()) host = HostAndPort(request.host, request.port);
  absl::StrAppend(&text, "Host: ", host, "\r\n");
  const std::string agent = HeaderOf(request, "User-Agent").value_or(request.user_agent);
  const std::string accept = HeaderOf(request, "Accept").value_or("*/*");
  if (!agent.empty()) absl::StrAppend(&text, "User-Agent: ", agent, "\r\n");
  if (!accept.empty()) absl::StrAppend(&text, "Accept: ", accept, "\r\n");
  for (const auto& [name, value] : request.headers) {
    const bool is_own =
        absl::EqualsIgnoreCase(name, "Host") || absl::EqualsIgnoreCase(name, "User-Agent") ||
        absl::EqualsIgnoreCase(name, "Accept") || absl::EqualsIgnoreCase(name, "Connection");
    if (!is_own) absl::StrAppend(&text, name, ": ", value, "\r\n");
  }
  return absl::StrCat(text, "Connection: close\r\n\r\n");
}

absl::Status NoHttp(const boost::system::error_code& error) {
  return absl::UnavailableError(absl::StrCat("no whole HTTP answer came: ", error.message()));
}

// Feeds `input` to the parser. True: the answer is there, or enough of it.
absl::StatusOr<bool> Parse(Parser& parser, std::string& input) {
  while (!input.empty() && !parser.is_done()) {
    boost::system::error_code error;
    const size_t taken = parser.put(boost::asio::buffer(input), error);
    input.erase(0, taken);
    if (error == http::error::need_more) break;
    if (error) return NoHttp(error);
    if (taken == 0) break;
  }
  return parser.is_done() ||
         (parser.is_header_done() && parser.get().body().size() >= kMostBodyBytes);
}

// One answer. Answers of 1xx announce another and are passed over.
absl::StatusOr<std::unique_ptr<Parser>> ReadAnswer(Stream& stream) {
  std::string input;
  while (true) {
    auto parser = std::make_unique<Parser>();
    parser->body_limit(boost::none);
    parser->eager(true);
    while (true) {
      PLIMSOLL_ASSIGN_OR_RETURN(const bool is_enough, Parse(*parser, input));
      if (is_enough) break;
      const absl::Status received = stream.Receive(&input);
      if (!absl::IsOutOfRange(received)) {
        PLIMSOLL_RETURN_IF_ERROR(received);
        continue;
      }
      boost::system::error_code error;
      parser->put_eof(error);
      if (!parser->is_header_done()) error = http::error::partial_message;
      if (error) return NoHttp(error);
      break;
    }
    if (parser->get().result_int() >= 200) return parser;
  }
}

bool IsRedirect(int code) {
  return code == 301 || code == 302 || code == 303 || code == 307 || code == 308;
}

}  // namespace

absl::StatusOr<HttpAnswer> HttpGet(HttpGetRequest request, const Until& until) {
  const std::string what =
      absl::StrCat("GET ", request.tls ? "https" : "http", "://",
                   HostAndPort(request.host, request.port), EscapedPath(request.path));
  for (int redirects = 0; redirects < kMostRedirects; ++redirects) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream,
                              Stream::Open(request.tls, request.host, request.port, until));
    PLIMSOLL_RETURN_IF_ERROR(Annotate(stream->Send(FormatRequest(request)), what));
    const absl::StatusOr<std::unique_ptr<Parser>> parser = ReadAnswer(*stream);
    if (!parser.ok()) return Annotate(parser.status(), what);
    http::response<KeptBody<kMostBodyBytes>>& message = (*parser)->get();
    const int code = static_cast<int>(message.result_int());
    const auto location = message.find(http::field::location);
    if (IsRedirect(code) && location != message.end()) {
      const auto value = location->value();
      if (Redirect({value.data(), value.size()}, request)) continue;
    }
    return HttpAnswer{.code = code, .body = std::move(message.body())};
  }
  return absl::OutOfRangeError(
      absl::StrCat(what, ": stopped after ", kMostRedirects, " redirects"));
}

}  // namespace plimsoll::dial
