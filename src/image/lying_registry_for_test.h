// For tests: a minimal registry that may lie, be slow or break off.
#ifndef PLIMSOLL_IMAGE_LYING_REGISTRY_FOR_TEST_H_
#define PLIMSOLL_IMAGE_LYING_REGISTRY_FOR_TEST_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"
#include "image/image_for_test.h"
#include "image/names/digest.h"
#include "image/registry_for_test.h"

namespace plimsoll::image {

// Has one repository, under any name, and the manifest `top` under every tag.
class LyingRegistry {
 public:
  struct Answer {
    int code = 200;
    std::string type = "application/octet-stream";
    std::string body;
    std::string headers;           // further ones, each with its "\r\n"
    std::optional<size_t> length;  // the stated length; nullopt: the true one
    bool endless = false;  // states no length, and repeats the body as long as somebody reads
    bool hangs = false;    // after the body, until the registry ends
    // If not 0, the body is sent in pieces of this size, with a pause after each.
    size_t piece = 0;
    absl::Duration pause;
  };
  // Sees each answer before it is sent, with the requested digest or tag; may take its time. Called
  // in several threads.
  using Tamper = std::function<void(const std::string& wanted, Answer* answer)>;

  // With an `identity_token`, accepts only clients that have exchanged it for a token of its own
  // (OAuth 2, as in registries: distribution spec's token authentication).
  LyingRegistry(const TestLayout& layout, const TestJson& top, Tamper tamper,
                std::string identity_token = "")
      : identity_token_(std::move(identity_token)),
        files_(layout.files),
        top_(top["digest"].get<std::string>()),
        tamper_(std::move(tamper)) {
    struct sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    listener_.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<struct sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<struct sockaddr*>(&address), &size), 0);
    EXPECT_EQ(listen(listener_.get(), 64), 0);
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { Accept(); });
  }
  ~LyingRegistry() {
    {
      absl::MutexLock lock(&mutex_);
      gone_ = true;
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    }
    shutdown(listener_.get(), SHUT_RDWR);
    accepting_.join();
    for (std::thread& thread : threads_) thread.join();  // only Accept added any
  }

  // From now on accepts only clients with this login, by HTTP's Basic authentication. Call it
  // before the first request.
  void AskFor(const std::string& user, const std::string& password) {
    basic_ = absl::StrCat("Basic ", absl::Base64Escape(absl::StrCat(user, ":", password)));
  }
  // Lets everybody ask for /v2/. Call it before the first request.
  void OpenPing() { open_ping_ = true; }

  std::string host() const { return absl::StrCat("127.0.0.1:", port_); }
  std::string Name(absl::string_view repository) const {
    return absl::StrCat(host(), "/", repository);
  }
  // The number of requests for a blob.
  int Asked(const std::string& digest) const {
    absl::MutexLock lock(&mutex_);
    const auto it = asked_.find(digest);
    return it == asked_.end() ? 0 : it->second;
  }

 private:
  void Accept() {
    while (true) {
      const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      absl::MutexLock lock(&mutex_);
      open_.push_back(fd);
      if (gone_) shutdown(fd, SHUT_RDWR);
      threads_.emplace_back([this, fd] { Serve(fd); });
    }
  }

  void Serve(int fd) {
    std::string request;
    char buffer[4096];
    while (!IsWhole(request)) {
      const ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
      if (n <= 0) break;
      request.append(buffer, static_cast<size_t>(n));
      if (request.front() == kTlsHandshake) {  // unanswered, or the client would wait
        request.clear();                       // random bytes with spaces look like a request
        break;
      }
    }
    const std::vector<std::string> words =
        absl::StrSplit(request.substr(0, request.find('\r')), ' ');
    if (words.size() == 3) {
      const bool may =
          (identity_token_.empty() && basic_.empty()) || (open_ping_ && words[1] == "/v2/") ||
          absl::StrContains(request, absl::StrCat("Authorization: Bearer ", kOpen, "\r")) ||
          (!basic_.empty() && absl::StrContains(request, absl::StrCat(" ", basic_, "\r")));
      Send(fd, words[0] == "HEAD",
           words[1] == "/token" ? Exchange(request)
           : may                ? AnswerTo(words[1])
                                : Answer{.code = 401});
    }
    absl::MutexLock lock(&mutex_);
    std::erase(open_, fd);
    close(fd);
  }

  // skopeo sends its request bodies in chunks.
  static bool IsWhole(const std::string& request) {
    const bool has_body = absl::StrContains(request, "Transfer-Encoding: chunked");
    return has_body ? absl::EndsWith(request, "\r\n0\r\n\r\n")
                    : absl::StrContains(request, "\r\n\r\n");
  }

  Answer Exchange(const std::string& request) const {
    if (!absl::StrContains(request, absl::StrCat("refresh_token=", identity_token_))) {
      return Answer{.code = 401};
    }
    return Answer{.type = "application/json",
                  .body = absl::StrCat(R"({"access_token": ")", kOpen, R"(", "expires_in": 300})")};
  }

  Answer AnswerTo(const std::string& path) {
    Answer answer;
    const std::string wanted = path.substr(path.rfind('/') + 1);
    if (path == "/v2/") {
      answer.body = "{}";
      return answer;
    }
    const bool is_tag = !IsDigest(wanted);
    const auto file = files_.find(TestLayout::PathOf(is_tag ? top_ : wanted));
    if (file == files_.end()) return Answer{.code = 404};
    answer.body = file->second;
    if (absl::StrContains(path, "/manifests/")) {
      const TestJson json = TestJson::parse(answer.body, nullptr, /*allow_exceptions=*/false);
      answer.type = json.is_object() ? json.value("mediaType", kOciManifestType) : "text/plain";
    } else {
      absl::MutexLock lock(&mutex_);
      ++asked_[wanted];
    }
    tamper_(wanted, &answer);
    return answer;
  }

  static bool Write(int fd, absl::string_view text) {
    while (!text.empty()) {
      const ssize_t n = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  void Send(int fd, bool head, const Answer& answer) {
    std::string header =
        absl::StrCat("HTTP/1.1 ", answer.code, " Said\r\nContent-Type: ", answer.type,
                     "\r\nConnection: close\r\n", answer.headers);
    if (answer.code == 401) {
      const std::string bearer =
          absl::StrCat("Bearer realm=\"http://", host(), "/token\",service=\"test\"");
      absl::StrAppend(
          &header, "WWW-Authenticate: ", basic_.empty() ? bearer : "Basic realm=\"test\"", "\r\n");
    }
    if (!answer.endless) {
      absl::StrAppend(&header, "Content-Length: ", answer.length.value_or(answer.body.size()),
                      "\r\n");
    }
    if (!Write(fd, header + "\r\n") || head) return;
    if (answer.piece != 0) return Drip(fd, answer);
    while (Write(fd, answer.body) && answer.endless) {
    }
    if (!answer.hangs) return;
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&gone_));
  }

  void Drip(int fd, const Answer& answer) {
    for (absl::string_view left = answer.body; !left.empty();) {
      if (!Write(fd, left.substr(0, answer.piece))) return;
      left.remove_prefix(std::min(answer.piece, left.size()));
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&gone_), answer.pause)) return;
    }
  }

  static constexpr char kOpen[] = "opened-sesame";
  static constexpr char kTlsHandshake = 0x16;  // RFC 8446, section 5.1

  const std::string identity_token_;
  std::string basic_;
  bool open_ping_ = false;
  const std::map<std::string, std::string> files_;
  const std::string top_;
  const Tamper tamper_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  mutable absl::Mutex mutex_;
  bool gone_ = false;                 // mutex_
  std::map<std::string, int> asked_;  // mutex_
  std::vector<int> open_;             // mutex_
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LYING_REGISTRY_FOR_TEST_H_
