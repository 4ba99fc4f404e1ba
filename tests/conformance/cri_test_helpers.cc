// The observing half of CriTest: commands in containers, logs, images, files of the host.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

const FsRoot& Host() {
  static const FsRoot& host = *new FsRoot(*FsRoot::Open("/"));
  return host;
}

}  // namespace

absl::StatusOr<cri::ExecSyncResponse> CriTest::TryExec(const std::string& container,
                                                       const std::vector<std::string>& command,
                                                       int64_t timeout_seconds) {
  cri::ExecSyncRequest request;
  request.set_container_id(container);
  for (const std::string& word : command) request.add_cmd(word);
  request.set_timeout(timeout_seconds);
  return client_.Ask<cri::ExecSyncResponse>(request);
}

std::string CriTest::Exec(const std::string& container, const std::string& script) {
  const auto response = TryExec(container, {"/bin/sh", "-c", script});
  EXPECT_OK(response) << "ExecSync of " << script;
  if (!response.ok()) return "";
  EXPECT_EQ(response->exit_code(), 0) << script << ": " << response->stderr();
  return response->stdout();
}

void CriTest::AwaitFile(const std::string& container, const std::string& path) {
  EXPECT_TRUE(Eventually([&] {
    const auto response = TryExec(container, {"/bin/sh", "-c", absl::StrCat("test -e ", path)});
    return (response.ok() && response->exit_code() == 0) || HasFailure();
  })) << "no "
      << path << " in " << container;
}

std::string CriTest::RunToEnd(const cri::ContainerConfig& config, const std::string& pod) {
  const std::string id = Start(pod, config);
  if (id.empty()) return "";
  AwaitExit(id);
  return Output(id);
}

std::vector<LogLine> CriTest::Log(const std::string& container) {
  const std::string path = Status(container).log_path();
  const auto text = Host().Read(path);
  EXPECT_OK(text) << "the log of " << container;
  std::vector<LogLine> lines;
  if (!text.ok()) return lines;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    EXPECT_EQ(fields.size(), 4u) << "not of the form \"time stream tag text\": " << line;
    if (fields.size() != 4) continue;
    lines.push_back({fields[0], fields[1], fields[2], fields[3]});
  }
  return lines;
}

std::string CriTest::Output(const std::string& container, const std::string& stream) {
  std::string output;
  const std::vector<LogLine> lines = Log(container);
  for (const LogLine& line : lines) {
    if (!stream.empty() && line.stream != stream) continue;
    absl::StrAppend(&output, line.text, line.tag == "F" ? "\n" : "");
  }
  return output;
}

cri::StatusResponse CriTest::RuntimeStatus() {
  const auto status = client_.Ask<cri::StatusResponse>(cri::StatusRequest());
  EXPECT_OK(status) << "Status";
  return status.value_or(cri::StatusResponse());
}

cri::RuntimeHandlerFeatures CriTest::DefaultHandlerFeatures() {
  const cri::StatusResponse status = RuntimeStatus();
  for (const cri::RuntimeHandler& handler : status.runtime_handlers()) {
    if (handler.name().empty()) return handler.features();
  }
  return {};
}

std::string CriTest::NoNetwork() {
  const cri::StatusResponse status = RuntimeStatus();
  for (const cri::RuntimeCondition& condition : status.status().conditions()) {
    if (condition.type() != "NetworkReady" || condition.status()) continue;
    return absl::StrCat("the runtime has no pod network: ", condition.reason(), ": ",
                        condition.message());
  }
  return "";
}

std::string CriTest::Publish(const Recipe& recipe, const std::string& repository, std::string* why,
                             RegistryKind kind) {
  const absl::StatusOr<std::string> name = session_.Publish(recipe, repository, kind);
  if (name.ok()) return *name;
  *why = std::string(name.status().message());
  // Anything but the lack of a program or a certificate is a fault of the suite.
  if (!absl::IsFailedPrecondition(name.status())) ADD_FAILURE() << *why;
  return "";
}

absl::StatusOr<std::string> CriTest::TryPull(const std::string& image,
                                             const cri::AuthConfig& auth) {
  cri::PullImageRequest request;
  request.mutable_image()->set_image(image);
  if (auth.ByteSizeLong() > 0) *request.mutable_auth() = auth;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response, client_.Ask<cri::PullImageResponse>(request));
  return response.image_ref();
}

cri::Image CriTest::ImageStatus(const std::string& image) {
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image(image);
  const auto response = client_.Ask<cri::ImageStatusResponse>(request);
  EXPECT_OK(response) << "ImageStatus of " << image;
  return response.ok() ? response->image() : cri::Image();
}

std::string CriTest::HostDirectory(const std::string& name) {
  const std::string path = absl::StrCat("volumes/", NextName(name));
  EXPECT_OK(session_.directory().MakeDirs(path, 0755));
  return session_.directory().PathOf(path);
}

std::string CriTest::ReadHostFile(const std::string& path) {
  return Host().Read(path).value_or("");
}

void CriTest::WriteHostFile(const std::string& path, const std::string& text) {
  EXPECT_OK(Host().ReplaceFile(path, text, 0644));
}

}  // namespace plimsoll::conformance
