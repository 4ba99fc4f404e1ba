#include "harness/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "service/exposition_for_test.h"

namespace plimsoll::testing {
namespace {

constexpr int kMetricsPort = 9464;

std::string MetricsHost() {
  const int pid = getpid();
  return absl::StrCat("127.", 64 + (pid >> 16 & 63), ".", pid >> 8 & 255, ".", pid & 255);
}

}  // namespace

std::string MetricsConfig() {
  return absl::StrCat("metrics: {address: \"", MetricsHost(), ":", kMetricsPort, "\"}\n");
}

UniqueFd ConnectToPages() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(kMetricsPort);
  inet_pton(AF_INET, MetricsHost().c_str(), &address.sin_addr);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

std::string ReadPage(const std::string& path) {
  const UniqueFd fd = ConnectToPages();
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[65536];
  ssize_t n = 0;
  while ((n = recv(fd.get(), buffer, sizeof(buffer), 0)) > 0) {
    answer.append(buffer, static_cast<size_t>(n));
  }
  return answer;
}

double MetricValue(const std::string& line) {
  const std::string answer = ReadMetrics();
  EXPECT_THAT(answer, ::testing::StartsWith("HTTP/1.1 200 "));
  const size_t end = answer.find("\r\n\r\n");
  const Exposition metrics =
      ParseExposition(end == std::string::npos ? "" : answer.substr(end + 4));
  for (const auto& [name, family] : metrics) {
    const auto value = family.values.find(line);
    if (value != family.values.end()) return value->second;
  }
  return -1;
}

}  // namespace plimsoll::testing
