#include "daemon/telemetry/status_pages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace plimsoll::daemon {
namespace {

HttpResponse Healthz(const absl::Status& alive) {
  if (alive.ok()) return {200, "ok\n"};
  return {503, absl::StrCat(alive.message(), "\n")};
}

HttpResponse Readyz(const std::vector<HealthCondition>& conditions) {
  ReadinessPage page = DescribeReadiness(conditions);
  return {page.is_ready ? 200 : 503, std::move(page.text)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> ServeStatusPages(const std::string& address,
                                                             StatusSources sources,
                                                             HttpServer::Warn warn) {
  const auto answer = [sources = std::move(sources)](absl::string_view path) -> HttpResponse {
    if (path == "/metrics") return {200, sources.metrics()};
    if (path == "/healthz") return Healthz(sources.alive());
    if (path == "/readyz") return Readyz(sources.conditions());
    return {404, "there is /metrics, /healthz and /readyz\n"};
  };
  absl::StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Start(address, answer, {}, std::move(warn));
  if (server.ok()) return server;
  return absl::UnavailableError(absl::StrCat(
      "metrics.address: cannot listen on ", address,
      " (is it this machine's, and the port not in use?): ", server.status().message()));
}

}  // namespace plimsoll::daemon
