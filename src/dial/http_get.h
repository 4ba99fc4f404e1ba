// One GET by HTTP/1.1, as kubelet's probes and hooks make it. Beast's parser and OpenSSL do: a
// request is a few lines here, and all waits have an end; libcurl would be one more library.
#ifndef PLIMSOLL_DIAL_HTTP_GET_H_
#define PLIMSOLL_DIAL_HTTP_GET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "dial/connect.h"

namespace plimsoll::dial {

// The part of a body that is read.
inline constexpr size_t kMostBodyBytes = 10 * 1024;
// The answer to the last of so many requests must not be a redirect.
inline constexpr int kMostRedirects = 10;

struct HttpGetRequest {
  bool tls = false;  // any certificate is taken
  std::string host;
  uint16_t port = 0;
  std::string path = "/";  // with a query; bytes that no URL may have are sent escaped
  // "Host", "User-Agent" and "Accept" replace the request's own; the last two, empty, leave it out.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string user_agent;
};

struct HttpAnswer {
  int code = 0;  // from 200 on
  std::string body;
};

// Follows redirects to the same host, to any port and scheme; an answer that leads to another host
// is returned. OUT_OF_RANGE: kMostRedirects; UNAVAILABLE: no whole answer came, or it
// isn't HTTP; errors of Connect.
absl::StatusOr<HttpAnswer> HttpGet(HttpGetRequest request, const Until& until);

}  // namespace plimsoll::dial

#endif  // PLIMSOLL_DIAL_HTTP_GET_H_
