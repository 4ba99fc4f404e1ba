#include "network/result.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "network/json.h"

namespace plimsoll::network {
namespace {

constexpr size_t kMaxInterfaces = 256;
constexpr size_t kMaxIps = 256;
constexpr size_t kMaxRoutes = 1024;
constexpr size_t kMaxDns = 64;

absl::Status NotAn(const char* what, const char* key, const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": \"", OneLine(text), "\" is no ", what));
}

// Reads an address, or an empty text.
absl::Status ReadAddress(const Json& object, const char* key, std::string* out) {
  PLIMSOLL_RETURN_IF_ERROR(ReadText(object, key, out));
  if (out->empty() || IsAddress(*out)) return absl::OkStatus();
  return NotAn("IP address", key, *out);
}

absl::Status ReadCidr(const Json& object, const char* key, std::string* out) {
  PLIMSOLL_RETURN_IF_ERROR(ReadText(object, key, out));
  if (IsCidr(*out)) return absl::OkStatus();
  return NotAn("IP address with a prefix length", key, *out);
}

// True for 0.0.0.0, 255.255.255.255, multicast addresses and IPv6's equivalents, which belong to no
// single interface (RFC 6890, RFC 5771, RFC 4291).
bool IsNoInterfaces(const std::string& address) {
  const bool is_v6 = IsIpv6(address);
  unsigned char bytes[sizeof(in6_addr)] = {};
  if (inet_pton(is_v6 ? AF_INET6 : AF_INET, address.c_str(), bytes) != 1) return true;
  const auto all_are = [&](unsigned char value) {
    const size_t size = is_v6 ? sizeof(in6_addr) : sizeof(in_addr);
    return std::all_of(bytes, bytes + size, [=](unsigned char byte) { return byte == value; });
  };
  const bool is_multicast = is_v6 ? bytes[0] == 0xff : (bytes[0] & 0xf0) == 0xe0;
  return is_multicast || all_are(0) || all_are(0xff);
}

absl::Status Read(const Json& object, Interface* out) {
  PLIMSOLL_RETURN_IF_ERROR(ReadText(object, "name", &out->name));
  if (out->name.empty()) return absl::InvalidArgumentError("name: is missing");
  PLIMSOLL_RETURN_IF_ERROR(ReadText(object, "mac", &out->mac));
  PLIMSOLL_RETURN_IF_ERROR(ReadText(object, "sandbox", &out->sandbox));
  PLIMSOLL_RETURN_IF_ERROR(ReadInteger(object, "mtu", &out->mtu));
  PLIMSOLL_RETURN_IF_ERROR(ReadText(object, "socketPath", &out->socket_path));
  return ReadText(object, "pciID", &out->pci_id);
}

// Until 0.4.0 each has its family as a member too; the address shows it already.
absl::Status Read(const Json& object, size_t interfaces, IpConfig* out) {
  PLIMSOLL_RETURN_IF_ERROR(ReadCidr(object, "address", &out->address));
  if (IsNoInterfaces(out->address.substr(0, out->address.find('/')))) {
    return NotAn("address that an interface can have", "address", out->address);
  }
  PLIMSOLL_RETURN_IF_ERROR(ReadAddress(object, "gateway", &out->gateway));
  std::optional<int64_t> index;
  PLIMSOLL_RETURN_IF_ERROR(ReadInteger(object, "interface", &index));
  if (!index.has_value()) return absl::OkStatus();
  if (*index < 0 || static_cast<uint64_t>(*index) >= interfaces) {
    return absl::InvalidArgumentError(
        absl::StrCat("interface: ", *index, ", and there are ", interfaces, " interfaces"));
  }
  out->interface = static_cast<size_t>(*index);
  return absl::OkStatus();
}

absl::Status Read(const Json& object, Route* out) {
  PLIMSOLL_RETURN_IF_ERROR(ReadCidr(object, "dst", &out->dst));
  PLIMSOLL_RETURN_IF_ERROR(ReadAddress(object, "gw", &out->gw));
  PLIMSOLL_RETURN_IF_ERROR(ReadInteger(object, "mtu", &out->mtu));
  PLIMSOLL_RETURN_IF_ERROR(ReadInteger(object, "advmss", &out->advmss));
  PLIMSOLL_RETURN_IF_ERROR(ReadInteger(object, "priority", &out->priority));
  PLIMSOLL_RETURN_IF_ERROR(ReadInteger(object, "table", &out->table));
  return ReadInteger(object, "scope", &out->scope);
}

absl::Status Read(const Json& object, Dns* out) {
  PLIMSOLL_RETURN_IF_ERROR(ReadTexts(object, "nameservers", kMaxDns, &out->nameservers));
  PLIMSOLL_RETURN_IF_ERROR(ReadText(object, "domain", &out->domain));
  PLIMSOLL_RETURN_IF_ERROR(ReadTexts(object, "search", kMaxDns, &out->search));
  return ReadTexts(object, "options", kMaxDns, &out->options);
}

absl::Status CheckVersion(const Json& json) {
  std::string version;
  PLIMSOLL_RETURN_IF_ERROR(ReadText(json, "cniVersion", &version));
  if (version.empty()) return absl::OkStatus();
  return Annotate(ParseVersion(version).status(), "cniVersion");
}

template <typename T>
void Add(const std::optional<T>& value, const char* key, Json* object) {
  if (value.has_value()) (*object)[key] = *value;
}

void Add(const std::string& text, const char* key, Json* object) {
  if (!text.empty()) (*object)[key] = text;
}

void Add(const std::vector<std::string>& texts, const char* key, Json* object) {
  if (!texts.empty()) (*object)[key] = texts;
}

Json ToObject(const Interface& interface, bool all) {
  Json object = {{"name", interface.name}};
  Add(interface.mac, "mac", &object);
  Add(interface.sandbox, "sandbox", &object);
  if (!all) return object;
  Add(interface.mtu, "mtu", &object);
  Add(interface.socket_path, "socketPath", &object);
  Add(interface.pci_id, "pciID", &object);
  return object;
}

Json ToObject(const IpConfig& ip, bool with_version) {
  Json object = {{"address", ip.address}};
  if (with_version) object["version"] = IsIpv6(ip.address) ? "6" : "4";
  Add(ip.gateway, "gateway", &object);
  Add(ip.interface, "interface", &object);
  return object;
}

Json ToObject(const Route& route, bool all) {
  Json object = {{"dst", route.dst}};
  Add(route.gw, "gw", &object);
  if (!all) return object;
  Add(route.mtu, "mtu", &object);
  Add(route.advmss, "advmss", &object);
  Add(route.priority, "priority", &object);
  Add(route.table, "table", &object);
  Add(route.scope, "scope", &object);
  return object;
}

Json ToObject(const Dns& dns) {
  Json object = Json::object();
  Add(dns.nameservers, "nameservers", &object);
  Add(dns.domain, "domain", &object);
  Add(dns.search, "search", &object);
  Add(dns.options, "options", &object);
  return object;
}

absl::StatusCode CodeOf(int64_t code) {
  switch (code) {
    case 11:  // try again later
    case 50:  // the plugin is not available
    case 51:  // the plugin is not available, and pods have limited connectivity
      return absl::StatusCode::kUnavailable;
    case 1:  // incompatible version
    case 2:  // unsupported field
    case 6:  // failed to decode
    case 7:  // invalid network configuration
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

bool IsAddress(absl::string_view text) {
  const std::string address(text);
  if (address.find('\0') != std::string::npos) return false;
  unsigned char buffer[sizeof(in6_addr)];
  return inet_pton(IsIpv6(address) ? AF_INET6 : AF_INET, address.c_str(), buffer) == 1;
}

bool IsIpv6(absl::string_view text) {
  return text.find(':') != absl::string_view::npos;
}

bool IsCidr(absl::string_view text) {
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos || !IsAddress(text.substr(0, slash))) return false;
  const absl::string_view digits = text.substr(slash + 1);
  int length = 0;
  return !digits.empty() && digits.size() <= 3 &&
         absl::c_all_of(digits, [](char c) { return c >= '0' && c <= '9'; }) &&
         absl::SimpleAtoi(digits, &length) && length <= (IsIpv6(text) ? 128 : 32);
}

absl::StatusOr<Result> ParseResult(absl::string_view text) {
  if (text.size() > kMaxResultBytes) {
    return absl::InvalidArgumentError(absl::StrCat("larger than ", kMaxResultBytes, " bytes"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, ParseObject(text));
  PLIMSOLL_RETURN_IF_ERROR(CheckVersion(json));
  Result result;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto interfaces, ReadObjects(json, "interfaces", kMaxInterfaces));
  for (const Json* object : interfaces) {
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(Read(*object, &result.interfaces.emplace_back()), "interfaces"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto ips, ReadObjects(json, "ips", kMaxIps));
  for (const Json* object : ips) {
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(Read(*object, interfaces.size(), &result.ips.emplace_back()), "ips"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto routes, ReadObjects(json, "routes", kMaxRoutes));
  for (const Json* object : routes) {
    PLIMSOLL_RETURN_IF_ERROR(Annotate(Read(*object, &result.routes.emplace_back()), "routes"));
  }
  const auto dns = json.find("dns");
  if (dns == json.end() || dns->is_null()) return result;
  if (!dns->is_object()) return absl::InvalidArgumentError("dns: expected an object");
  PLIMSOLL_RETURN_IF_ERROR(Annotate(Read(*dns, &result.dns), "dns"));
  return result;
}

std::string ToJson(const Result& result, Version version) {
  const bool with_family = version < Version::k100;
  const bool all = version >= Version::k110;
  Json json;
  json["cniVersion"] = VersionName(version);
  for (const Interface& interface : result.interfaces) {
    json["interfaces"].push_back(ToObject(interface, all));
  }
  for (const IpConfig& ip : result.ips) json["ips"].push_back(ToObject(ip, with_family));
  for (const Route& route : result.routes) json["routes"].push_back(ToObject(route, all));
  json["dns"] = ToObject(result.dns);
  return Dump(json);
}

absl::Status ParseError(absl::string_view text) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, ParseObject(text));
  std::optional<int64_t> code;
  std::string message;
  std::string details;
  PLIMSOLL_RETURN_IF_ERROR(ReadInteger(json, "code", &code));
  PLIMSOLL_RETURN_IF_ERROR(ReadText(json, "msg", &message));
  PLIMSOLL_RETURN_IF_ERROR(ReadText(json, "details", &details));
  if (!code.has_value() && message.empty()) {
    return absl::InvalidArgumentError("has neither code nor msg");
  }
  std::string shown = OneLine(message);
  if (!details.empty()) absl::StrAppend(&shown, shown.empty() ? "" : "; ", OneLine(details));
  return absl::Status(CodeOf(code.value_or(0)), absl::StrCat(shown.empty() ? "no message" : shown,
                                                             " (code ", code.value_or(0), ")"));
}

std::vector<std::string> PodAddresses(const Result& result, const std::vector<std::string>& names,
                                      const std::string& first) {
  std::vector<std::string> addresses;
  for (const IpConfig& ip : result.ips) {
    std::string name = first;
    if (ip.interface.has_value()) {
      const Interface& interface = result.interfaces[*ip.interface];
      if (interface.sandbox.empty()) continue;
      name = interface.name;
    }
    if (!names.empty() && !absl::c_linear_search(names, name)) continue;
    std::string address = ip.address.substr(0, ip.address.find('/'));
    if (!absl::c_linear_search(addresses, address)) addresses.push_back(std::move(address));
  }
  return addresses;
}

}  // namespace plimsoll::network
