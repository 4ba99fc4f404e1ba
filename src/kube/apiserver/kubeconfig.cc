// The kubeconfig format: k8s.io/client-go/tools/clientcmd/api/v1.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "dial/certificates.h"
#include "kube/apiserver/server_address.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::kube {
namespace {

constexpr size_t kMostKubeconfigBytes = 1024 * 1024;

class KubeconfigReader {
 public:
  KubeconfigReader(YamlReader& reader, const std::string& path)
      : reader_(reader), directory_(path.substr(0, path.rfind('/') + 1)) {}

  void Read(const YAML::Node& node, const std::string& context, ApiServerAddress& address) {
    YamlMapping config(reader_, node, "");
    std::string kind = "Config";
    std::string wanted = context;
    config.OneOf("kind", kind, {"Config"});
    config.Get("apiVersion");
    config.Get("preferences");
    config.Get("extensions");
    const auto current = config.Get("current-context");
    if (wanted.empty() && current)
      wanted = reader_.AsText(*current, "current-context").value_or("");
    if (wanted.empty()) {
      reader_.Fail(node, "current-context", "is missing, and no context is named");
      return;
    }
    std::string cluster;
    std::string user;
    Named(config, "contexts", "context", wanted, [&](YamlMapping& found) {
      found.Required("cluster", cluster);
      found.String("user", user);
      found.String("namespace", address.space);
      found.Get("extensions");
    });
    if (!reader_.status().ok()) return;
    Named(config, "clusters", "cluster", cluster,
          [&](YamlMapping& found) { ReadCluster(found, address); });
    if (!user.empty()) {
      Named(config, "users", "user", user, [&](YamlMapping& found) { ReadUser(found, address); });
    } else {
      config.Get("users");
    }
    config.Finish();
  }

 private:
  // Calls `read` for the element of the list `lists` whose name is `wanted`; it is an error if
  // there is none. The others may hold what this client doesn't know.
  template <typename Visit>
  void Named(YamlMapping& config, const std::string& lists, const std::string& key,
             const std::string& wanted, const Visit& read) {
    std::vector<std::string> names;
    bool found = false;
    config.Each(lists, [&](const YAML::Node& node, const std::string& path) {
      YamlMapping element(reader_, node, path);
      const auto name = element.Get("name");
      const auto value = element.Get(key);
      if (!name || found) return;
      names.push_back(reader_.AsText(*name, element.PathOf("name")).value_or(""));
      if (names.back() != wanted) return;
      found = true;
      if (!value) {
        reader_.Fail(node, path, absl::StrCat("\"", key, "\" is missing"));
        return;
      }
      YamlMapping mapping(reader_, *value, element.PathOf(key));
      read(mapping);
      mapping.Finish();
    });
    if (!found && reader_.status().ok()) {
      if (names.size() > 10) names.resize(10);
      reader_.Fail(config.node(), lists,
                   absl::StrCat("there is no ", key, " \"", wanted, "\"; there is ",
                                names.empty() ? "none" : absl::StrJoin(names, ", ")));
    }
  }

  void ReadCluster(YamlMapping& cluster, ApiServerAddress& address) {
    std::string server;
    cluster.Required("server", server);
    if (!server.empty()) {
      const absl::Status status = SetServerUrl(server, address);
      if (!status.ok()) reader_.Fail(cluster.node(), cluster.PathOf("server"), status.message());
    }
    cluster.String("tls-server-name", address.server_name);
    cluster.Refuse("insecure-skip-tls-verify",
                   "a server that isn't verified could take the token; name the certificate of its "
                   "authority by certificate-authority");
    cluster.Refuse("proxy-url", "calls go to the server itself; name a server that can be reached");
    cluster.Get("disable-compression");
    cluster.Get("extensions");
    address.authorities = FileOrData(cluster, "certificate-authority");
    CheckAuthorities(cluster, address.authorities.text);
  }

  void CheckAuthorities(YamlMapping& cluster, const std::string& text) {
    if (text.empty() || dial::HasCertificate(text)) return;
    const std::string key = "certificate-authority-data";
    reader_.Fail(cluster.Get(key).value_or(cluster.node()), cluster.PathOf(key),
                 "holds no PEM certificate; right would be the base64 of a text that has the lines "
                 "\"-----BEGIN CERTIFICATE-----\" and \"-----END CERTIFICATE-----\"");
  }

  void ReadUser(YamlMapping& user, ApiServerAddress& address) {
    user.Refuse("exec",
                "no program is run for credentials; use tokenFile with a service account's token, "
                "or client-certificate and client-key");
    user.Refuse("auth-provider",
                "providers are gone from Kubernetes; use tokenFile with a service account's token, "
                "or client-certificate and client-key");
    for (const char* key : {"username", "password"}) {
      user.Refuse(key, "API servers take no passwords; use tokenFile or client-certificate");
    }
    for (const char* key : {"as", "as-uid", "as-groups", "as-user-extra"}) {
      user.Refuse(key, "the client acts as itself; give its own account the rights");
    }
    user.Get("extensions");
    // A token is never quoted in a message, as String would for a number.
    if (const auto token = user.Get("token")) {
      address.token.text = reader_.AsText(*token, user.PathOf("token")).value_or("");
    }
    user.String("tokenFile", address.token.file);
    MakeAbsolute(address.token.file);
    address.certificate = FileOrData(user, "client-certificate");
    address.key = FileOrData(user, "client-key");
    if (address.certificate.empty() != address.key.empty()) {
      reader_.Fail(user.node(), user.path(), "client-certificate and client-key need each other");
    }
  }

  // KEY names a file, KEY-data is its content in base64 and counts where both are there.
  FileOrText FileOrData(YamlMapping& mapping, const std::string& key) {
    FileOrText value;
    mapping.String(key, value.file);
    MakeAbsolute(value.file);
    const std::string data_key = key + "-data";
    const auto data = mapping.Get(data_key);
    if (!data) return value;
    const auto text = reader_.AsText(*data, mapping.PathOf(data_key));
    if (text && !absl::Base64Unescape(*text, &value.text)) {
      reader_.Fail(*data, mapping.PathOf(data_key), "is not base64");
    }
    if (!value.text.empty()) value.file.clear();
    return value;
  }

  void MakeAbsolute(std::string& file) const {
    if (!file.empty() && file[0] != '/') file = absl::StrCat(directory_, file);
  }

  YamlReader& reader_;
  const std::string directory_;  // with a slash at the end
};

}  // namespace

absl::StatusOr<ApiServerAddress> ParseKubeconfig(const std::string& text, const std::string& path,
                                                 const std::string& context) {
  ApiServerAddress address;
  YamlReader reader(path);
  try {
    bool more = false;
    const YAML::Node node = LoadFirstYamlDocument(text, &more);
    KubeconfigReader(reader, path).Read(node, context, address);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", error.mark.line + 1, ":",
                                                   error.mark.column + 1, ": ", YamlFault(error)));
  }
  if (reader.errors().empty()) return address;
  return absl::InvalidArgumentError(absl::StrJoin(reader.errors(), "\n"));
}

absl::StatusOr<ApiServerAddress> KubeconfigAddress(const std::string& path,
                                                   const std::string& context) {
  if (path.empty() || path[0] != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("kubeconfig \"", path, "\": must be an absolute path"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  const absl::StatusOr<std::string> text = ReadRegularFile(host, path, kMostKubeconfigBytes);
  if (!text.ok()) return Annotate(text.status(), "kubeconfig");
  return ParseKubeconfig(*text, path, context);
}

}  // namespace plimsoll::kube
