// For tests: one request to a server on loopback.
#ifndef PLIMSOLL_SERVICE_HTTP_CLIENT_FOR_TEST_H_
#define PLIMSOLL_SERVICE_HTTP_CLIENT_FOR_TEST_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"

namespace plimsoll {

// The whole answer; empty if there is none.
inline std::string HttpGet(int port, const std::string& path) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return "";
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  if (write(fd.get(), request.data(), request.size()) < 0) return "";
  std::string answer;
  char buffer[4096];
  ssize_t length = 0;
  while ((length = read(fd.get(), buffer, sizeof(buffer))) > 0) {
    answer.append(buffer, static_cast<size_t>(length));
  }
  return answer;
}

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_HTTP_CLIENT_FOR_TEST_H_
