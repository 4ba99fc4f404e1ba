#include "harness/api_server.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "harness/kernel.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;

constexpr char kToken[] = "token-of-the-test";

int CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 422;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kOutOfRange:
      return 410;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    default:
      return 503;
  }
}

Json FailureOf(const absl::Status& status) {
  const bool exists = status.code() == absl::StatusCode::kAlreadyExists;
  return kube::TestFailure(CodeOf(status), exists ? "AlreadyExists" : "Conflict",
                           std::string(status.message()));
}

std::string FieldOfHead(const std::string& request, const std::string& name) {
  const size_t end = request.find("\r\n\r\n");
  const std::string wanted = absl::StrCat("\r\n", name, ": ");
  const size_t at = request.find(wanted);
  if (at >= end) return "";
  const size_t begin = at + wanted.size();
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

}  // namespace

ApiServer::ApiServer(const std::string& directory) : kubeconfig_(directory + "/kubeconfig") {
  server_ = std::make_unique<kube::HttpsTestServer>(
      authority_.Issue("IP:127.0.0.1"),
      [this](kube::HttpsTestServer::Peer& peer, const std::string& request) {
        return Serve(peer, request);
      });
  const std::string text = absl::StrCat(
      "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
      "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
      "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:",
      server_->port(), "', certificate-authority-data: ", absl::Base64Escape(authority_.pem()),
      "}}]\nusers: [{name: u, user: {token: ", kToken, "}}]\n");
  EXPECT_TRUE(Host().ReplaceFile(kubeconfig_, text).ok());
}

void ApiServer::WriteAccount(const std::string& directory) const {
  EXPECT_TRUE(Host().ReplaceFile(directory + "/ca.crt", authority_.pem()).ok());
  EXPECT_TRUE(Host().ReplaceFile(directory + "/token", kToken).ok());
  EXPECT_TRUE(Host().ReplaceFile(directory + "/namespace", "plimsoll-system").ok());
}

ApiServer::~ApiServer() {
  objects_.Stop();
  server_.reset();
}

void ApiServer::GoAway() {
  is_away_ = true;
  server_->CloseAll();
  objects_.EndWatches();
}

bool ApiServer::Serve(kube::HttpsTestServer::Peer& peer, const std::string& request) {
  if (is_away_) return false;
  const std::vector<std::string> words =
      absl::StrSplit(request.substr(0, request.find("\r\n")), ' ');
  if (words.size() != 3) return false;
  if (FieldOfHead(request, "Authorization") != absl::StrCat("Bearer ", kToken)) {
    return peer.Send(kube::TestAnswer(401, FailureOf(absl::UnauthenticatedError("token"))));
  }
  if (absl::StrContains(words[1], "watch=true")) return ServeWatch(peer, words[1]);
  kube::ApiRequest call;
  call.method = words[0];
  call.path = words[1];
  call.content_type = FieldOfHead(request, "Content-Type");
  const std::string body = request.substr(request.find("\r\n\r\n") + 4);
  if (!body.empty()) call.body = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  const absl::StatusOr<Json> answer = objects_.Call(call);
  // An answer to a server that has ended meanwhile is lost, its change isn't.
  if (is_away_) return false;
  return peer.Send(answer.ok()
                       ? kube::TestAnswer(200, *answer)
                       : kube::TestAnswer(CodeOf(answer.status()), FailureOf(answer.status())));
}

bool ApiServer::ServeWatch(kube::HttpsTestServer::Peer& peer, const std::string& path) {
  if (!peer.Send(kube::kTestChunksHead)) return false;
  const absl::Status ended = objects_.Watch(path, [&](const kube::WatchEvent& event) {
    const Json line = {{"type", event.type}, {"object", event.object}};
    return peer.Send(kube::TestChunk(line.dump() + "\n"));
  });
  if (!ended.ok()) {
    const Json line = {{"type", "ERROR"}, {"object", FailureOf(ended)}};
    peer.Send(kube::TestChunk(line.dump() + "\n"));
  }
  return peer.Send(kube::kTestLastChunk) && !is_away_;
}

}  // namespace plimsoll::testing
