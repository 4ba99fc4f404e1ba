#include "streaming/routes.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plimsoll::streaming {
namespace {

constexpr std::array kKinds = {StreamKind::kExec, StreamKind::kAttach, StreamKind::kPortForward};

// The fifth version differs for WebSockets only.
std::vector<SpdyCommandProtocol> AllSpdyCommandProtocols() {
  return {{.name = "v5.channel.k8s.io", .resizes = true, .json_status = true},
          {.name = "v4.channel.k8s.io", .resizes = true, .json_status = true},
          {.name = "v3.channel.k8s.io", .resizes = true},
          {.name = "v2.channel.k8s.io"},
          {.name = "channel.k8s.io"}};
}

}  // namespace

absl::string_view PathOf(StreamKind kind) {
  switch (kind) {
    case StreamKind::kExec:
      return "exec";
    case StreamKind::kAttach:
      return "attach";
    case StreamKind::kPortForward:
      return "portforward";
  }
  return "";
}

std::optional<Route> ParseTarget(absl::string_view target) {
  target = target.substr(0, target.find('?'));
  if (!absl::ConsumePrefix(&target, "/")) return std::nullopt;
  for (const StreamKind kind : kKinds) {
    absl::string_view rest = target;
    if (!absl::ConsumePrefix(&rest, PathOf(kind)) || !absl::ConsumePrefix(&rest, "/")) continue;
    if (rest.empty() || rest.find('/') != absl::string_view::npos) return std::nullopt;
    return Route{kind, std::string(rest)};
  }
  return std::nullopt;
}

void AppendList(absl::string_view value, std::vector<std::string>* list) {
  for (absl::string_view element : absl::StrSplit(value, ',')) {
    element = absl::StripAsciiWhitespace(element);
    if (!element.empty()) list->emplace_back(element);
  }
}

std::optional<SpdyCommandProtocol> ChooseSpdyCommandProtocol(
    const std::vector<std::string>& offered) {
  const std::vector<SpdyCommandProtocol> supported = AllSpdyCommandProtocols();
  if (offered.empty()) return supported.back();
  for (const std::string& name : offered) {
    for (const SpdyCommandProtocol& protocol : supported) {
      if (protocol.name == name) return protocol;
    }
  }
  return std::nullopt;
}

std::vector<std::string> SpdyCommandProtocols() {
  std::vector<std::string> names;
  for (const SpdyCommandProtocol& protocol : AllSpdyCommandProtocols()) {
    names.push_back(protocol.name);
  }
  return names;
}

}  // namespace plimsoll::streaming
