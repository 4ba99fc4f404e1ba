#include "conformance/images.h"

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "image/manifest.h"
#include "image/names/digest.h"
#include "image/tar_for_test.h"
#include "nlohmann/json.hpp"

namespace plimsoll::conformance {
namespace {

using Json = nlohmann::json;

constexpr const char* kCommands[] = {
    "cat",    "chmod",   "chown",    "cp",    "cut",      "date",  "dd",     "df",   "echo",
    "env",    "false",   "grep",     "head",  "hostname", "httpd", "id",     "ip",   "kill",
    "ln",     "ls",      "mkdir",    "mknod", "mount",    "mv",    "nc",     "od",   "printf",
    "ps",     "pwd",     "readlink", "rm",    "sed",      "seq",   "setsid", "sh",   "sleep",
    "sort",   "stat",    "sync",     "tail",  "test",     "touch", "tr",     "true", "tty",
    "umount", "unshare", "usleep",   "wc",    "wget",     "yes"};

// The layers that all images share, made once: busybox is two megabytes.
absl::StatusOr<std::string> BusyboxLayer() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, FindProgram("busybox"));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string program, host.Read(path));
  image::TarBuilder tar;
  for (const char* directory : {"bin", "dev", "etc", "home", "proc", "root", "sys", "var"}) {
    tar.Dir(directory);
  }
  tar.Dir("tmp", {.mode = 01777});
  tar.File("bin/busybox", program, {.mode = 0755});
  for (const char* command : kCommands) tar.Symlink(absl::StrCat("bin/", command), "busybox");
  tar.File("etc/passwd", "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000:app:/home/app:/bin/sh\n");
  tar.File("etc/group", "root:x:0:\napp:x:1000:\nextra:x:2000:app\n");
  return tar.Build();
}

// A layout in the making: blobs by path.
class Layout {
 public:
  explicit Layout(bool zstd) : filter_(zstd ? "zstd" : "gzip") {}

  Json AddBlob(const std::string& content, const std::string& type) {
    const std::string digest = image::DigestOf(content);
    files_[absl::StrCat("blobs/sha256/", image::DigestHex(digest))] = content;
    return {{"mediaType", type}, {"digest", digest}, {"size", content.size()}};
  }
  Json AddImage(const std::vector<std::string>& tars, const Json& config,
                const image::Platform& platform) {
    Json layers = Json::array();
    Json diff_ids = Json::array();
    for (const std::string& tar : tars) {
      diff_ids.push_back(image::DigestOf(tar));
      layers.push_back(AddBlob(image::Compress(tar, filter_.c_str()),
                               absl::StrCat("application/vnd.oci.image.layer.v1.tar+", filter_)));
    }
    const Json file = {{"os", platform.os},
                       {"architecture", platform.architecture},
                       {"config", config},
                       {"rootfs", {{"type", "layers"}, {"diff_ids", diff_ids}}}};
    const Json manifest = {
        {"schemaVersion", 2},
        {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
        {"config", AddBlob(file.dump(), "application/vnd.oci.image.config.v1+json")},
        {"layers", layers}};
    Json descriptor = AddBlob(manifest.dump(), "application/vnd.oci.image.manifest.v1+json");
    descriptor["platform"] = {{"os", platform.os}, {"architecture", platform.architecture}};
    return descriptor;
  }
  Json AddIndex(const Json& manifests) {
    const Json index = {{"schemaVersion", 2},
                        {"mediaType", "application/vnd.oci.image.index.v1+json"},
                        {"manifests", manifests}};
    return AddBlob(index.dump(), "application/vnd.oci.image.index.v1+json");
  }
  absl::Status WriteTo(const FsRoot& directory, const std::string& name, Json top) {
    top["annotations"]["org.opencontainers.image.ref.name"] = "v1";
    const Json index = {{"schemaVersion", 2}, {"manifests", Json::array({top})}};
    files_["oci-layout"] = R"({"imageLayoutVersion": "1.0.0"})";
    files_["index.json"] = index.dump();
    PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs(absl::StrCat(name, "/blobs/sha256")));
    for (const auto& [path, content] : files_) {
      PLIMSOLL_RETURN_IF_ERROR(directory.ReplaceFile(absl::StrCat(name, "/", path), content));
    }
    return absl::OkStatus();
  }

 private:
  const std::string filter_;
  std::map<std::string, std::string> files_;
};

Json ConfigOf(const Recipe& recipe, const std::string& run) {
  Json config = {{"Labels", {{"plimsoll.conformance", run}}}};
  std::vector<std::string> environment = {"PATH=/bin"};
  environment.insert(environment.end(), recipe.environment.begin(), recipe.environment.end());
  config["Env"] = environment;
  if (!recipe.entrypoint.empty()) config["Entrypoint"] = recipe.entrypoint;
  if (!recipe.command.empty()) config["Cmd"] = recipe.command;
  if (!recipe.user.empty()) config["User"] = recipe.user;
  if (!recipe.working_directory.empty()) config["WorkingDir"] = recipe.working_directory;
  if (!recipe.stop_signal.empty()) config["StopSignal"] = recipe.stop_signal;
  return config;
}

}  // namespace

absl::Status WriteImage(const Recipe& recipe, const std::string& run, const FsRoot& directory,
                        const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string busybox, BusyboxLayer());
  std::vector<std::string> tars = {busybox};
  if (!recipe.files.empty()) {
    image::TarBuilder tar;
    for (const auto& [path, content] : recipe.files) tar.File(path, content);
    tars.push_back(tar.Build());
  }
  const Json config = ConfigOf(recipe, run);
  Layout layout(recipe.zstd);
  Json top = layout.AddImage(tars, config, image::HostPlatform());
  if (recipe.index) {
    image::Platform foreign = image::HostPlatform();
    foreign.architecture = foreign.architecture == "s390x" ? "amd64" : "s390x";
    const std::string tar = image::TarBuilder().File("foreign", "not for here\n").Build();
    top = layout.AddIndex(Json::array({layout.AddImage({tar}, config, foreign), top}));
  }
  return layout.WriteTo(directory, name, std::move(top));
}

}  // namespace plimsoll::conformance
