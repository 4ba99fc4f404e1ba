#include "cri/image_handlers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "cri/registry_auth.h"
#include "cri/validate.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

std::string VerboseInfo(const image::Image& image) {
  nlohmann::json json;
  json["manifestDigest"] = image.record.manifest_digest;
  json["chainIDs"] = image.record.chain_ids;
  json["entrypoint"] = image.config.entrypoint;
  json["command"] = image.config.command;
  json["environment"] = image.config.environment;
  json["user"] = image.config.user;
  json["workingDirectory"] = image.config.working_directory;
  json["stopSignal"] = image.config.stop_signal;
  json["labels"] = image.config.labels;
  json["architecture"] = image.config.architecture;
  json["os"] = image.config.os;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void FillImage(const image::Image& image, v1::Image* out) {
  const image::ImageRecord& record = image.record;
  out->set_id(record.id);
  for (const std::string& tag : record.repo_tags) out->add_repo_tags(tag);
  for (const std::string& digest : record.repo_digests) out->add_repo_digests(digest);
  out->set_size(record.size_bytes);
  out->set_pinned(record.pinned);
  out->mutable_spec()->set_image(!record.repo_tags.empty()      ? record.repo_tags.front()
                                 : !record.repo_digests.empty() ? record.repo_digests.front()
                                                                : record.id);
  // "user:group", of which the CRI wants the user. An empty user is root, and says so.
  const std::string user = image.config.user.substr(0, image.config.user.find(':'));
  int64_t uid = 0;
  if (user.empty() || absl::SimpleAtoi(user, &uid)) {
    out->mutable_uid()->set_value(uid);
  } else {
    out->set_username(user);
  }
}

absl::StatusOr<image::PullOptions> PullOptionsFrom(const CallContext& call,
                                                   const v1::AuthConfig& auth,
                                                   absl::string_view reference) {
  image::PullOptions options;
  PLIMSOLL_ASSIGN_OR_RETURN(options.credentials, CredentialsFrom(auth, reference));
  options.timeout = std::min(options.timeout, call.deadline - absl::Now());
  options.cancelled = [cancellation = call.cancellation] { return cancellation->cancelled(); };
  return options;
}

absl::Status ImageHandlers::ListImages(const v1::ListImagesRequest& request,
                                       v1::ListImagesResponse* response) {
  const std::string& wanted = request.filter().image().image();
  if (wanted.empty()) {
    for (const image::Image& image : images_->List()) FillImage(image, response->add_images());
    return absl::OkStatus();
  }
  const absl::StatusOr<image::Image> image = images_->Find(wanted);
  if (image.ok()) FillImage(*image, response->add_images());
  return absl::IsNotFound(image.status()) ? absl::OkStatus() : image.status();
}

absl::Status ImageHandlers::ImageStatus(const v1::ImageStatusRequest& request,
                                        v1::ImageStatusResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckWord("image.image", request.image().image()));
  const absl::StatusOr<image::Image> image = images_->Find(request.image().image());
  if (absl::IsNotFound(image.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(image.status());
  FillImage(*image, response->mutable_image());
  if (request.verbose()) (*response->mutable_info())["info"] = VerboseInfo(*image);
  return absl::OkStatus();
}

absl::Status ImageHandlers::PullImage(const CallContext& call, const v1::PullImageRequest& request,
                                      v1::PullImageResponse* response) {
  const std::string& reference = request.image().image();
  PLIMSOLL_RETURN_IF_ERROR(CheckWord("image.image", reference));
  PLIMSOLL_ASSIGN_OR_RETURN(const image::PullOptions options,
                            PullOptionsFrom(call, request.auth(), reference));
  PLIMSOLL_ASSIGN_OR_RETURN(const image::Image image,
                            images_->Pull(reference, options, [](const image::Progress&) {}));
  response->set_image_ref(image.record.id);
  return absl::OkStatus();
}

absl::Status ImageHandlers::RemoveImage(const v1::RemoveImageRequest& request,
                                        v1::RemoveImageResponse*) {
  PLIMSOLL_RETURN_IF_ERROR(CheckWord("image.image", request.image().image()));
  return images_->Remove(request.image().image());
}

absl::Status ImageHandlers::ImageFsInfo(const v1::ImageFsInfoRequest&,
                                        v1::ImageFsInfoResponse* response) {
  PLIMSOLL_ASSIGN_OR_RETURN(const image::ImageUsage usage, images_->Usage());
  v1::FilesystemUsage* images = response->add_image_filesystems();
  images->set_timestamp(clock_->NowUnixNanos());
  images->mutable_fs_id()->set_mountpoint(images_->directory());
  images->mutable_used_bytes()->set_value(usage.bytes);
  images->mutable_inodes_used()->set_value(usage.inodes);
  // Writable layers are on the same file system; what they take of it is not counted here.
  v1::FilesystemUsage* containers = response->add_container_filesystems();
  containers->set_timestamp(images->timestamp());
  *containers->mutable_fs_id() = images->fs_id();
  containers->mutable_used_bytes()->set_value(0);
  containers->mutable_inodes_used()->set_value(0);
  return absl::OkStatus();
}

}  // namespace plimsoll::cri
